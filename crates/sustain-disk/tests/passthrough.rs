//! The engine of passthrough over a real NVMe driver: what it writes and reads is what the block
//! device has. This file runs twice: as a test it boots a guest of the lab (docs/lab.md), in which
//! its own program then runs again, over the guest's drive.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sustain_disk::buffer::{AlignedBytes, Buffer, BufferPool};
use sustain_disk::clock::Clock;
use sustain_disk::engine::{
    Completion, Engine, Limits, NvmeEngine, Operation, Request, Until, Vector, Vectors,
};
use sustain_disk::error::IoFault;
use sustain_disk::target::{
    DataPath, Direction, OpenRequest, Passthrough, PassthroughPlace, Target, open_path,
};
use sustain_testing::{Requirement, skip};

/// A name that only a guest of the lab has: nothing else must ever be written here.
const DRIVE: &str = "/dev/lab/whole";
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
    let ran = Command::new(lab)
        .args(["--time-limit", "300s", "--sustain"])
        .arg(std::env::current_exe().unwrap())
        .args(["nvme-passthrough", "--", "sustain", "in_the_guest::"])
        .args(["--ignored", "--nocapture", "--test-threads", "1"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    if ran.status.code() == Some(LACKS) {
        skip(Requirement::Guest, String::from_utf8_lossy(&ran.stderr));
        return;
    }
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}\n{errors}");
    assert!(said.contains("5 passed"), "{said}");
    assert!(errors.matches("NVMe commands").count() >= 5, "{errors}");
}

/// Over the guest's drive, which holds nothing.
mod in_the_guest {
    use super::*;

    struct Bench {
        engine: NvmeEngine,
        pool: BufferPool,
        clock: Clock,
        target: Target,
    }

    /// Elsewhere these tests do nothing, even if somebody runs all that are ignored.
    fn is_guest() -> bool {
        let is_there = Path::new(DRIVE).exists() && Path::new("/lab/command").exists();
        if !is_there {
            skip(
                Requirement::InsideGuest,
                "it is run by the test that boots one",
            );
        }
        is_there
    }

    fn passthrough(target: &Target, direction: Direction) -> Arc<Passthrough> {
        let drive = std::fs::canonicalize(DRIVE).unwrap();
        let commands = drive.to_str().unwrap().replace("nvme", "ng");
        let found = rustix::fs::stat(&commands).unwrap();
        let device = (
            rustix::fs::major(found.st_rdev),
            rustix::fs::minor(found.st_rdev),
        );
        let place = PassthroughPlace {
            path: commands.into(),
            device,
            // Less than a record, so that it is cut.
            command_bytes_max: 256 << 10,
        };
        Arc::new(Passthrough::open(target, &place, direction).unwrap())
    }

    fn bench(direction: Direction) -> Bench {
        let request = OpenRequest {
            direction,
            path: DataPath::Passthrough,
            create: false,
        };
        let target = open_path(DRIVE, Path::new(DRIVE), request, &mut |_| Ok(())).unwrap();
        let limits = Limits {
            depth: 16,
            in_flight_max: 16,
        };
        let namespaces = vec![passthrough(&target, direction)];
        let engine = NvmeEngine::open(namespaces, limits, Clock::Real).unwrap();
        eprintln!("{}", engine.describe());
        Bench {
            engine,
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
        let target = open_path(DRIVE, Path::new(DRIVE), request, &mut |_| Ok(())).unwrap();
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
        assert_eq!(completion.bytes, 512 << 10, "two commands of four");
        let words = completion.error.unwrap().to_string();
        assert!(words.contains("beyond the end of the namespace"), "{words}");
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
            open_path(DRIVE, Path::new(DRIVE), request, &mut |_| Ok(()))
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
