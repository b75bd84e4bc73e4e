//! One suite that every engine passes: the contract of `sustain_disk::engine`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test says why it stops or skips"
)]

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use sustain_disk::buffer::{AlignedBytes, Buffer, BufferPool, SharedPool, StableBytes};
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::driver::{Driver, DriverProgress, DriverSetup, Ending, Feed, Next, QueueSetup};
use sustain_disk::engine::{
    Completion, Engine, EngineChoice, Limits, Operation, Request, Until, Vector, Vectors, open,
};
use sustain_disk::error::{Error, IoFault};
use sustain_disk::meter::IntervalRule;
use sustain_testing::{Requirement, skip};

const BLOCK: usize = 4096;
/// Longer than any test takes: a wait that ends by it has failed.
const FAR_NS: u64 = 120_000_000_000;

const ENGINES: [EngineChoice; 5] = [
    EngineChoice::IoUring,
    EngineChoice::Libaio,
    EngineChoice::PosixAio,
    EngineChoice::Threads,
    EngineChoice::Sync,
];

/// For an engine that only takes the place of another.
const NO_LIMITS: Limits = Limits {
    depth: 1,
    in_flight_max: 1,
};

struct Bench {
    engine: Box<dyn Engine>,
    pool: BufferPool,
    clock: Clock,
    _directory: tempfile::TempDir,
    paths: Vec<std::path::PathBuf>,
}

/// An engine over `count` empty files, or none where this system refuses it.
fn bench(choice: EngineChoice, count: usize, depth: u32) -> Option<Bench> {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..count)
        .map(|index| directory.path().join(index.to_string()))
        .collect();
    let files = paths.iter().map(|path| read_write(path)).collect();
    bench_over(choice, files, depth, directory, paths)
}

fn read_write(path: &std::path::Path) -> Arc<OwnedFd> {
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap();
    Arc::new(file.into())
}

fn bench_over(
    choice: EngineChoice,
    files: Vec<Arc<OwnedFd>>,
    depth: u32,
    directory: tempfile::TempDir,
    paths: Vec<std::path::PathBuf>,
) -> Option<Bench> {
    let clock = Clock::Real;
    let in_flight_max = depth * files.len() as u32;
    let pool = BufferPool::new(in_flight_max as usize, 4 * BLOCK).unwrap();
    match open(
        choice,
        files,
        Limits {
            depth,
            in_flight_max,
        },
        pool.regions(),
        &clock,
    ) {
        Ok(opened) => Some(Bench {
            engine: opened.engine,
            pool,
            clock,
            _directory: directory,
            paths,
        }),
        Err(Error::EngineRefused { engine, why }) => {
            skip(Requirement::Engine(engine), why);
            None
        }
        Err(other) => panic!("{other}"),
    }
}

impl Bench {
    fn buffer(&mut self, fill: u8) -> Buffer {
        let mut buffer = self
            .pool
            .take()
            .expect("a test asks for no more than its pool has");
        buffer.bytes_mut().fill(fill);
        buffer
    }

    fn request(&mut self, operation: Operation, target: usize, block: u64, fill: u8) -> Request {
        let vector = Vector::new(self.buffer(fill), 0, BLOCK);
        Request {
            operation,
            offset_bytes: block * BLOCK as u64,
            vectors: Vectors::One(vector),
            token: block,
            ..Request::flush(target)
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

fn for_each_engine(count: usize, depth: u32, test: impl Fn(&mut Bench)) {
    for choice in ENGINES {
        if let Some(mut bench) = bench(choice, count, depth) {
            eprintln!("engine {}", bench.engine.name());
            test(&mut bench);
        }
    }
}

#[test]
fn a_full_window_on_every_target_completes_and_each_completion_is_its_request() {
    for_each_engine(3, 16, |bench| {
        for round in 0..4u64 {
            for target in 0..3 {
                for slot in 0..16 {
                    let fill = (target * 64 + slot as usize) as u8;
                    let request = bench.request(Operation::Write, target, round * 16 + slot, fill);
                    bench.engine.submit(request);
                }
            }
            let completions = bench.wait_for(48);
            let mut seen = std::collections::HashSet::new();
            for completion in completions {
                assert_eq!(completion.error, None);
                assert_eq!(completion.bytes, BLOCK as u64);
                assert_eq!(
                    completion.request.offset_bytes,
                    completion.request.token * BLOCK as u64
                );
                assert!(completion.completed_at >= completion.submitted_at);
                assert!(seen.insert((completion.request.target, completion.request.token)));
                give_back(bench, completion);
            }
        }
        for target in 0..3 {
            let content = std::fs::read(&bench.paths[target]).unwrap();
            assert_eq!(content.len(), 64 * BLOCK);
            for (block, bytes) in content.chunks(BLOCK).enumerate() {
                let fill = (target * 64 + block % 16) as u8;
                assert!(
                    bytes.iter().all(|byte| *byte == fill),
                    "target {target} block {block}"
                );
            }
        }
    });
}

fn give_back(bench: &mut Bench, completion: Completion) {
    match completion.request.vectors {
        Vectors::None => {}
        Vectors::One(vector) => bench.pool.give(vector.into_buffer()),
        Vectors::Many(vectors) => {
            vectors
                .into_iter()
                .for_each(|vector| bench.pool.give(vector.into_buffer()));
        }
    }
}

#[test]
fn what_is_read_is_what_lies_there() {
    for_each_engine(1, 4, |bench| {
        std::fs::write(
            &bench.paths[0],
            [vec![1u8; BLOCK], vec![2u8; BLOCK]].concat(),
        )
        .unwrap();
        let request = bench.request(Operation::Read, 0, 1, 0);
        let completion = bench.one(request);
        assert_eq!(completion.bytes, BLOCK as u64);
        let Vectors::One(vector) = &completion.request.vectors else {
            panic!("one vector")
        };
        assert!(vector.bytes().iter().all(|byte| *byte == 2));
    });
}

#[test]
fn several_vectors_are_one_transfer_in_order() {
    for_each_engine(1, 4, |bench| {
        let parts = [(3u8, 0, BLOCK), (4, BLOCK, 2 * BLOCK), (5, 0, 4 * BLOCK)];
        let vectors = parts
            .iter()
            .map(|(fill, start, length)| Vector::new(bench.buffer(*fill), *start, *length))
            .collect();
        let write = Request {
            operation: Operation::Write,
            vectors: Vectors::Many(vectors),
            durable: true,
            ..Request::flush(0)
        };
        let completion = bench.one(write);
        assert_eq!(
            (completion.bytes, completion.error),
            (7 * BLOCK as u64, None)
        );
        let expected = parts.map(|(fill, _, length)| vec![fill; length]).concat();
        assert_eq!(std::fs::read(&bench.paths[0]).unwrap(), expected);
    });
}

/// What a recorder writes: a header of its own, the source's memory, a trailer of its own.
#[test]
fn own_and_foreign_memory_make_one_write_and_the_foreign_comes_back() {
    for_each_engine(1, 4, |bench| {
        let mut payload = AlignedBytes::new(16 * BLOCK).unwrap();
        for (index, bytes) in payload.chunks_mut(BLOCK).enumerate() {
            bytes.fill(index as u8 + 10);
        }
        let payload = Arc::new(payload);
        let address = payload.as_ptr();
        let lent: Box<dyn StableBytes> = Box::new(Arc::clone(&payload));
        let vectors = vec![
            Vector::new(bench.buffer(1), 0, BLOCK),
            Vector::new(Buffer::foreign(lent).unwrap(), 0, 16 * BLOCK),
            Vector::new(bench.buffer(2), BLOCK, BLOCK),
        ];
        let write = Request {
            operation: Operation::Write,
            vectors: Vectors::Many(vectors),
            ..Request::flush(0)
        };
        let completion = bench.one(write);
        assert_eq!(
            (completion.bytes, completion.error),
            (18 * BLOCK as u64, None)
        );
        let expected = [&[1; BLOCK][..], &payload, &[2; BLOCK]].concat();
        assert_eq!(std::fs::read(&bench.paths[0]).unwrap(), expected);

        let Vectors::Many(mut vectors) = completion.request.vectors else {
            panic!("the request comes back as it was")
        };
        let owner = vectors.remove(1).into_buffer().into_foreign().unwrap();
        assert_eq!(owner.bytes().as_ptr(), address, "the same allocation");
        let owner: Box<dyn std::any::Any> = owner;
        assert!(owner.downcast::<Arc<AlignedBytes>>().is_ok());
        assert_eq!(Arc::strong_count(&payload), 1, "nothing else holds it");
    });
}

#[test]
fn foreign_memory_alone_is_written_too() {
    for_each_engine(1, 4, |bench| {
        let mut payload = AlignedBytes::new(3 * BLOCK).unwrap();
        payload.fill(8);
        let buffer = Buffer::foreign(Box::new(payload)).unwrap();
        let write = Request {
            operation: Operation::Write,
            vectors: Vectors::One(Vector::new(buffer, BLOCK, 2 * BLOCK)),
            ..Request::flush(0)
        };
        assert_eq!(bench.one(write).error, None);
        assert_eq!(std::fs::read(&bench.paths[0]).unwrap(), [8; 2 * BLOCK]);
    });
}

#[test]
fn no_engine_reads_into_foreign_memory() {
    for_each_engine(1, 4, |bench| {
        let foreign = Buffer::foreign(Box::new(AlignedBytes::new(BLOCK).unwrap())).unwrap();
        let read = Request {
            operation: Operation::Read,
            vectors: Vectors::One(Vector::new(foreign, 0, BLOCK)),
            ..Request::flush(0)
        };
        let engine = &mut bench.engine;
        let attempt = std::panic::AssertUnwindSafe(|| engine.submit(read));
        assert!(std::panic::catch_unwind(attempt).is_err());
    });
}

/// Buffers beyond what was registered are written like the others.
#[test]
fn a_shared_pool_serves_an_engine_from_all_its_regions() {
    for choice in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0");
        let pool = SharedPool::new(66, 1 << 20).unwrap();
        let limits = Limits {
            depth: 2,
            in_flight_max: 2,
        };
        let files = vec![read_write(&path)];
        let opened = match open(choice, files, limits, pool.regions(), &Clock::Real) {
            Ok(opened) => opened,
            Err(Error::EngineRefused { engine, why }) => {
                skip(Requirement::Engine(engine), why);
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        let mut engine = opened.engine;
        let mut lent: Vec<Buffer> = std::iter::from_fn(|| pool.try_take()).collect();
        let (last, first) = (lent.pop().unwrap(), lent.swap_remove(0));
        for (index, mut buffer) in [first, last].into_iter().enumerate() {
            buffer.bytes_mut()[..BLOCK].fill(index as u8 + 1);
            engine.submit(Request {
                operation: Operation::Write,
                offset_bytes: (index * BLOCK) as u64,
                vectors: Vectors::One(Vector::new(buffer, 0, BLOCK)),
                ..Request::flush(0)
            });
        }
        drop(engine);
        let expected = [[1; BLOCK], [2; BLOCK]].concat();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
    }
}

#[test]
fn a_read_across_the_end_is_short_and_beyond_it_empty() {
    for_each_engine(1, 4, |bench| {
        std::fs::write(&bench.paths[0], vec![1u8; BLOCK + 512]).unwrap();
        let across = bench.request(Operation::Read, 0, 1, 0);
        let beyond = bench.request(Operation::Read, 0, 2, 0);
        let across = bench.one(across);
        assert_eq!((across.bytes, across.error), (512, None));
        let beyond = bench.one(beyond);
        assert_eq!((beyond.bytes, beyond.error), (0, None));
    });
}

/// A loop device that goes with the test.
struct LoopDevice(String);

impl LoopDevice {
    fn over(image: &std::path::Path) -> Option<LoopDevice> {
        let mut command = std::process::Command::new("losetup");
        let output = command
            .args(["--find", "--show"])
            .arg(image)
            .output()
            .ok()?;
        let name = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        output.status.success().then_some(LoopDevice(name))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let mut command = std::process::Command::new("losetup");
        let _ = command.args(["--detach", &self.0]).status();
    }
}

/// The kernel cuts what crosses the end of a device; the engine asks for the rest and is told.
#[test]
fn a_write_across_the_end_of_a_device_is_continued_and_says_so() {
    for choice in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        File::create(&image)
            .unwrap()
            .set_len(8 * BLOCK as u64)
            .unwrap();
        let Some(device) = LoopDevice::over(&image) else {
            skip(Requirement::LoopDevices, "none can be had here");
            return;
        };
        let paths = vec![std::path::PathBuf::from(&device.0)];
        let files = vec![read_write(&paths[0])];
        let Some(mut bench) = bench_over(choice, files, 4, directory, paths) else {
            continue;
        };
        let crossing = Request {
            operation: Operation::Write,
            offset_bytes: 6 * BLOCK as u64,
            vectors: Vectors::One(Vector::new(bench.buffer(7), 0, 4 * BLOCK)),
            ..Request::flush(0)
        };
        let completion = bench.one(crossing);
        assert_eq!(
            completion.bytes,
            2 * BLOCK as u64,
            "{}",
            bench.engine.name()
        );
        assert_eq!(
            completion.error.and_then(IoFault::of_kernel),
            Some(libc::ENOSPC)
        );
    }
}

#[test]
fn an_error_reaches_its_own_target_and_no_other() {
    for choice in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let paths = vec![directory.path().join("0"), directory.path().join("1")];
        File::create(&paths[1])
            .unwrap()
            .write_all(&[9; BLOCK])
            .unwrap();
        let read_only = Arc::new(OwnedFd::from(File::open(&paths[1]).unwrap()));
        let files = vec![read_write(&paths[0]), read_only];
        let Some(mut bench) = bench_over(choice, files, 4, directory, paths) else {
            continue;
        };
        let good = bench.request(Operation::Write, 0, 0, 1);
        let bad = bench.request(Operation::Write, 1, 0, 1);
        let after = bench.request(Operation::Write, 0, 1, 1);
        for request in [good, bad, after] {
            bench.engine.submit(request);
        }
        for completion in bench.wait_for(3) {
            let failed = completion.error.is_some();
            assert_eq!(failed, completion.request.target == 1, "{completion:?}");
            let expected = if failed { 0 } else { BLOCK as u64 };
            assert_eq!(completion.bytes, expected);
        }
        assert_eq!(std::fs::read(&bench.paths[1]).unwrap(), [9; BLOCK]);
    }
}

#[test]
fn a_flush_completes() {
    for_each_engine(1, 4, |bench| {
        let write = bench.request(Operation::Write, 0, 0, 1);
        assert_eq!(bench.one(write).error, None);
        let flush = bench.one(Request::flush(0));
        assert_eq!((flush.error, flush.bytes), (None, 0));
        assert_eq!(flush.request.operation, Operation::Flush);
    });
}

#[test]
fn a_waker_ends_a_wait_without_work() {
    for_each_engine(1, 4, |bench| {
        let waker = bench.engine.waker();
        let thread = std::thread::spawn(move || waker.wake());
        let mut completions = Vec::new();
        let far = bench.clock.now() + FAR_NS;
        bench
            .engine
            .wait(Until::CompletionOr(far), &mut completions)
            .unwrap();
        assert!(bench.clock.now() < far, "the wait was ended by the waker");
        assert!(completions.is_empty());
        thread.join().unwrap();
    });
}

#[test]
fn not_waiting_returns_at_once_and_a_passed_deadline_too() {
    for_each_engine(1, 4, |bench| {
        let mut completions = Vec::new();
        bench.engine.wait(Until::Now, &mut completions).unwrap();
        let past = bench.clock.now();
        bench
            .engine
            .wait(Until::CompletionOr(past), &mut completions)
            .unwrap();
        assert!(completions.is_empty());
    });
}

#[test]
fn dropping_an_engine_waits_for_what_is_in_flight() {
    for_each_engine(1, 16, |bench| {
        for block in 0..16 {
            let request = bench.request(Operation::Write, 0, block, 7);
            bench.engine.submit(request);
        }
        // Hands over without waiting; the engine alone owns the buffers now.
        bench.engine.wait(Until::Now, &mut Vec::new()).unwrap();
        let clock = bench.clock.clone();
        let files = vec![read_write(&bench.paths[0])];
        let limits = Limits {
            depth: 1,
            in_flight_max: 1,
        };
        let other = open(EngineChoice::Sync, files, limits, &[], &clock)
            .unwrap()
            .engine;
        drop(std::mem::replace(&mut bench.engine, other));
        let content = std::fs::read(&bench.paths[0]).unwrap();
        assert_eq!(content.len(), 16 * BLOCK);
        assert!(content.iter().all(|byte| *byte == 7));
    });
}

/// Writes so many blocks to each target, from the last to the first.
struct Blocks {
    left: [u64; 2],
    pool: BufferPool,
}

impl Feed for Blocks {
    fn next(&mut self, queue: usize, _now: Timestamp) -> Next {
        if self.left[queue] == 0 {
            return Next::Done(Ending::Bytes);
        }
        self.left[queue] -= 1;
        let buffer = self.pool.take().expect("no more in flight than buffers");
        Next::Request(Request {
            operation: Operation::Write,
            offset_bytes: self.left[queue] * BLOCK as u64,
            vectors: Vectors::One(Vector::new(buffer, 0, BLOCK)),
            ..Request::flush(queue)
        })
    }

    fn complete(&mut self, _queue: usize, completion: Completion) {
        if let Vectors::One(vector) = completion.request.vectors {
            self.pool.give(vector.into_buffer());
        }
    }
}

#[test]
fn every_target_keeps_its_stated_depth_under_a_driver() {
    for_each_engine(2, 8, |bench| {
        let clock = bench.clock.clone();
        let idle = open(EngineChoice::Sync, Vec::new(), NO_LIMITS, &[], &clock)
            .unwrap()
            .engine;
        let engine = std::mem::replace(&mut bench.engine, idle);
        let depth = if engine.name() == "sync" { 1 } else { 8 };
        let queues: Vec<QueueSetup> = (0..2)
            .map(|target| QueueSetup {
                targets: vec![target],
                depth,
            })
            .collect();
        let setup = DriverSetup {
            start: clock.now(),
            interval: IntervalRule::Time(1_000_000),
            report_every_ns: 1_000_000,
            flush_at_end: true,
        };
        let mut feed = Blocks {
            left: [100, 50],
            pool: BufferPool::new(16, BLOCK).unwrap(),
        };
        let mut driver = Driver::new(engine, clock, &queues, setup);
        let mut endings = vec![None; 2];
        let mut report = |progress: DriverProgress| {
            progress
                .targets
                .iter()
                .for_each(|target| endings[target.target] = target.ending);
        };
        driver.run(&mut feed, &mut report).unwrap();
        assert_eq!(endings, [Some(Ending::Bytes); 2]);
        for (meter, requests) in driver.meters().iter().zip([100, 50]) {
            assert_eq!(meter.requests(), requests);
            assert_eq!(meter.bytes(), requests * BLOCK as u64);
            assert_eq!(meter.depth_reached(), depth);
        }
    });
}
