//! The engines of passthrough over real drivers: what they write and read is what the block device
//! has. This file runs twice: as a test it boots a guest of the lab (docs/lab.md), in which its own
//! program then runs again, over the guest's NVMe, SATA and SCSI disks in turn.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use sustain_disk::buffer::{AlignedBytes, Buffer, BufferPool};
use sustain_disk::clock::Clock;
use sustain_disk::engine::{
    Completion, Engine, EngineChoice, Limits, Operation, Request, Until, Vector, Vectors,
    open_passthrough,
};
use sustain_disk::error::IoFault;
use sustain_disk::target::{
    DataPath, Direction, GenericDevice, OpenRequest, Passthrough, PassthroughPlace, ScsiFacts,
    Target, open_path,
};
use sustain_testing::{Requirement, skip};

/// Names that only a guest of the lab has: nothing else must ever be written here.
const DRIVES: [&str; 3] = ["/dev/lab/whole", "/dev/lab/sata", "/dev/lab/scsi"];
const BLOCK: usize = 4096;
/// Longer than any test takes.
const FAR_NS: u64 = 120_000_000_000;
/// Exit status of `lab/run` where QEMU or a package cannot be had.
const LACKS: i32 = 123;

#[test]
#[ignore = "a minute in a guest"]
fn commands_do_on_a_real_driver_what_requests_do() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/run");
    let qemu = Command::new("qemu-system-x86_64").arg("--version").output();
    if qemu.is_err() {
        skip(Requirement::Guest, "there is no QEMU");
        return;
    }
    let all = DRIVES.join(" ");
    let script = format!(
        "for drive in {all}; do \
            LAB_DRIVE=$drive sustain in_the_guest:: --ignored --nocapture --test-threads 1 || exit 1
        done"
    );
    let ran = Command::new(lab)
        .args(["--time-limit", "300s", "--sustain"])
        .arg(std::env::current_exe().unwrap())
        .args(["passthrough", "--", "sh", "-c", &script])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    if ran.status.code() == Some(LACKS) {
        skip(Requirement::Guest, String::from_utf8_lossy(&ran.stderr));
        return;
    }
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}\n{errors}");
    assert_eq!(said.matches("6 passed").count(), 3, "{said}");
    assert!(errors.matches("NVMe commands").count() >= 5, "{errors}");
    assert!(errors.matches("SCSI commands").count() >= 10, "{errors}");
}

/// Over one of the guest's disks, which hold nothing.
mod in_the_guest {
    use super::*;

    struct Bench {
        engine: Box<dyn Engine>,
        pool: BufferPool,
        clock: Clock,
        target: Target,
    }

    /// The disk that this run is for.
    fn drive() -> &'static str {
        let named = std::env::var("LAB_DRIVE").unwrap_or_default();
        let found = DRIVES.into_iter().find(|drive| *drive == named);
        found.unwrap_or(DRIVES[0])
    }

    fn is_nvme() -> bool {
        drive() == DRIVES[0]
    }

    /// Elsewhere these tests do nothing, even if somebody runs all that are ignored.
    fn is_guest() -> bool {
        let is_there = Path::new(drive()).exists() && Path::new("/lab/command").exists();
        if !is_there {
            skip(
                Requirement::InsideGuest,
                "it is run by the test that boots one",
            );
        }
        is_there
    }

    fn place() -> PassthroughPlace {
        // Less than a record, so that it is cut. The guest's SATA disk takes no more.
        let command_bytes_max = if is_nvme() { 256 << 10 } else { 128 << 10 };
        if !is_nvme() {
            return PassthroughPlace::Scsi(ScsiFacts {
                command_bytes_max,
                scattered_bytes_max: command_bytes_max,
                block_bytes: 512,
                is_cache_volatile: true,
                // The emulated SCSI disk heeds it; libata has it switched off.
                can_force: drive().ends_with("scsi"),
            });
        }
        let drive = std::fs::canonicalize(drive()).unwrap();
        let commands = drive.to_str().unwrap().replace("nvme", "ng");
        let found = rustix::fs::stat(&commands).unwrap();
        let device = (
            rustix::fs::major(found.st_rdev),
            rustix::fs::minor(found.st_rdev),
        );
        PassthroughPlace::Nvme(GenericDevice {
            path: commands.into(),
            device,
            command_bytes_max,
        })
    }

    fn bench(direction: Direction) -> Bench {
        bench_at(&place(), direction)
    }

    fn bench_at(place: &PassthroughPlace, direction: Direction) -> Bench {
        let request = OpenRequest {
            direction,
            path: DataPath::Passthrough,
            create: false,
        };
        let target = open_path(drive(), Path::new(drive()), request, &mut |_| Ok(())).unwrap();
        let limits = Limits {
            depth: 16,
            in_flight_max: 16,
        };
        let disks = [Passthrough::open(&target, place, direction).unwrap()];
        let opened = open_passthrough(EngineChoice::Auto, &disks, limits, &Clock::Real).unwrap();
        eprintln!("{}", opened.why);
        Bench {
            engine: opened.engine,
            pool: BufferPool::new(20, 1 << 20).unwrap(),
            clock: Clock::Real,
            target,
        }
    }

    impl Bench {
        fn vector(&mut self, fill: u8, length: usize) -> Vector {
            let mut buffer = self.pool.take().unwrap();
            buffer.bytes_mut().fill(fill);
            Vector::new(buffer, 0, length)
        }

        fn request(
            &mut self,
            operation: Operation,
            offset: u64,
            fill: u8,
            length: usize,
        ) -> Request {
            Request {
                operation,
                offset_bytes: offset,
                vectors: Vectors::One(self.vector(fill, length)),
                ..Request::flush(0)
            }
        }

        fn wait_for(&mut self, count: usize) -> Vec<Completion> {
            let mut completions = Vec::new();
            while completions.len() < count {
                let until = Until::CompletionOr(self.clock.now() + FAR_NS);
                self.engine.wait(until, &mut completions).unwrap();
            }
            assert_eq!(completions.len(), count, "each request completes once");
            completions
        }

        fn one(&mut self, request: Request) -> Completion {
            self.engine.submit(request);
            self.wait_for(1).remove(0)
        }
    }

    /// What the block device has there, past its page cache.
    fn on_the_drive(offset: u64, length: usize) -> Vec<u8> {
        let request = OpenRequest {
            direction: Direction::Read,
            path: DataPath::Direct,
            create: false,
        };
        let target = open_path(drive(), Path::new(drive()), request, &mut |_| Ok(())).unwrap();
        let file = std::fs::File::from(target.file.unwrap().try_clone().unwrap());
        let mut bytes = AlignedBytes::new(length).unwrap();
        file.read_exact_at(&mut bytes, offset).unwrap();
        bytes.to_vec()
    }

    #[test]
    #[ignore = "runs in a guest"]
    fn a_window_of_large_records_lies_where_it_was_written() {
        if !is_guest() {
            return;
        }
        let mut bench = bench(Direction::Write);
        for record in 0..16u8 {
            let offset = u64::from(record) << 20;
            let request = bench.request(Operation::Write, offset, record + 1, 1 << 20);
            bench.engine.submit(request);
        }
        for completion in bench.wait_for(16) {
            assert_eq!((completion.error, completion.bytes), (None, 1 << 20));
        }
        let flush = bench.one(Request::flush(0));
        assert_eq!((flush.error, flush.bytes), (None, 0));
        for record in 0..16u8 {
            let content = on_the_drive(u64::from(record) << 20, 1 << 20);
            assert!(content.iter().all(|byte| *byte == record + 1), "{record}");
        }
    }

    #[test]
    #[ignore = "runs in a guest"]
    fn several_pieces_of_memory_are_one_durable_write_and_one_read() {
        if !is_guest() {
            return;
        }
        let mut bench = bench(Direction::Write);
        let lengths = [(3u8, BLOCK), (4, 300 << 10), (5, 512)];
        let foreign = AlignedBytes::new(BLOCK).unwrap();
        let mut vectors: Vec<Vector> = lengths
            .iter()
            .map(|(fill, length)| bench.vector(*fill, *length))
            .collect();
        vectors.push(Vector::new(
            Buffer::foreign(Box::new(foreign)).unwrap(),
            0,
            BLOCK,
        ));
        let offset = 32 << 20;
        let write = Request {
            operation: Operation::Write,
            offset_bytes: offset,
            vectors: Vectors::Many(vectors),
            durable: true,
            ..Request::flush(0)
        };
        let completion = bench.one(write);
        let parts = [(3u8, BLOCK), (4, 300 << 10), (5, 512), (0, BLOCK)];
        let expected = parts.map(|(fill, length)| vec![fill; length]).concat();
        assert_eq!(completion.error, None);
        assert_eq!(completion.bytes, expected.len() as u64);
        assert_eq!(on_the_drive(offset, expected.len()), expected);
        let vectors = [BLOCK, 512, 300 << 10, BLOCK]
            .map(|length| bench.vector(9, length))
            .into();
        let read = Request {
            operation: Operation::Read,
            offset_bytes: offset,
            vectors: Vectors::Many(vectors),
            ..Request::flush(0)
        };
        let completion = bench.one(read);
        assert_eq!(completion.error, None);
        let pieces = completion.request.vectors.as_slice();
        let read: Vec<u8> = pieces.iter().flat_map(Vector::bytes).copied().collect();
        assert_eq!(read, expected);
    }

    /// Pages between which others lie are more pieces than a command may have.
    #[test]
    #[ignore = "runs in a guest"]
    fn memory_that_lies_apart_is_moved_by_smaller_commands() {
        if !is_guest() || is_nvme() {
            return;
        }
        let PassthroughPlace::Scsi(facts) = place() else {
            unreachable!("the other disks are SATA and SCSI");
        };
        // The largest command that the drivers of the guest take.
        let is_sata = drive().ends_with("sata");
        let place = PassthroughPlace::Scsi(ScsiFacts {
            command_bytes_max: if is_sata { 128 << 10 } else { 4 << 20 },
            scattered_bytes_max: 64 << 10,
            ..facts
        });
        let mut bench = bench_at(&place, Direction::Write);
        bench.pool = BufferPool::new(512, 2 * BLOCK).unwrap();
        let vectors = |bench: &mut Bench| (0..512).map(|n| bench.vector(n as u8, BLOCK)).collect();
        let write = Request {
            operation: Operation::Write,
            offset_bytes: 96 << 20,
            vectors: Vectors::Many(vectors(&mut bench)),
            ..Request::flush(0)
        };
        let completion = bench.one(write);
        assert_eq!(completion.error, None);
        assert_eq!(completion.bytes, 512 * BLOCK as u64);
        let expected: Vec<u8> = (0..512).flat_map(|n| [n as u8; BLOCK]).collect();
        assert_eq!(on_the_drive(96 << 20, expected.len()), expected);
        let described = bench.engine.describe();
        assert!(is_sata || described.contains("64 KiB"), "{described}");
    }

    #[test]
    #[ignore = "runs in a guest"]
    fn the_end_of_the_drive_is_told_in_its_own_words_and_what_is_before_it_counts() {
        if !is_guest() {
            return;
        }
        let mut bench = bench(Direction::Write);
        let capacity = bench.target.capacity_bytes.unwrap();
        let crossing = capacity - (512 << 10);
        let write = bench.request(Operation::Write, crossing, 7, 1 << 20);
        let completion = bench.one(write);
        assert_eq!(
            completion.bytes,
            512 << 10,
            "the commands of the first half"
        );
        let words = completion.error.unwrap().to_string();
        let end = if is_nvme() { "namespace" } else { "disk" };
        let expected = format!("beyond the end of the {end}");
        assert!(words.contains(&expected), "{words}");
        assert!(
            on_the_drive(crossing, 512 << 10)
                .iter()
                .all(|byte| *byte == 7)
        );
        let odd = bench.request(Operation::Read, 100, 0, BLOCK);
        assert_eq!(
            bench.one(odd).error.and_then(IoFault::of_kernel),
            Some(libc::EINVAL)
        );
    }

    #[test]
    #[ignore = "runs in a guest"]
    fn what_was_opened_to_be_read_is_not_written_and_what_is_written_is_claimed() {
        if !is_guest() {
            return;
        }
        let mut reading = bench(Direction::Read);
        let before = on_the_drive(0, BLOCK);
        let write = reading.request(Operation::Write, 0, 0xaa, BLOCK);
        assert_eq!(
            reading.one(write).error.and_then(IoFault::of_kernel),
            Some(libc::EBADF)
        );
        let flush = reading.one(Request::flush(0));
        assert_eq!(flush.error.and_then(IoFault::of_kernel), Some(libc::EBADF));
        assert_eq!(on_the_drive(0, BLOCK), before);
        let read = reading.request(Operation::Read, 0, 1, BLOCK);
        let completion = reading.one(read);
        assert_eq!(completion.request.vectors.as_slice()[0].bytes(), before);

        let claim = || {
            let request = OpenRequest {
                direction: Direction::Write,
                path: DataPath::Direct,
                create: false,
            };
            open_path(drive(), Path::new(drive()), request, &mut |_| Ok(()))
        };
        let Bench { engine, target, .. } = bench(Direction::Write);
        drop(target);
        let refused = claim().unwrap_err().to_string();
        assert!(refused.contains("claimed"), "{refused}");
        drop(engine);
        claim().unwrap();
    }

    #[test]
    #[ignore = "runs in a guest"]
    fn dropping_the_engine_waits_and_a_waker_ends_a_wait() {
        if !is_guest() {
            return;
        }
        let mut bench = bench(Direction::Write);
        let waker = bench.engine.waker();
        let thread = std::thread::spawn(move || waker.wake());
        let far = bench.clock.now() + FAR_NS;
        let mut none = Vec::new();
        bench
            .engine
            .wait(Until::CompletionOr(far), &mut none)
            .unwrap();
        assert!(none.is_empty() && bench.clock.now() < far);
        thread.join().unwrap();
        for record in 0..16u8 {
            let offset = (64 << 20) + (u64::from(record) << 20);
            let request = bench.request(Operation::Write, offset, 0x55, 1 << 20);
            bench.engine.submit(request);
        }
        bench.engine.wait(Until::Now, &mut none).unwrap();
        drop(bench);
        let content = on_the_drive(64 << 20, 16 << 20);
        assert!(content.iter().all(|byte| *byte == 0x55));
    }
}
