//! Simulated disks that keep what is written, driven through the engine: what is read back, what a
//! flush promises, what a power cut leaves, and how waits end.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

use std::path::Path;

use sustain_disk::buffer::{AlignedBytes, Buffer, BufferPool};
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::engine::{
    Completion, Engine, Operation, Request, SharedMachine, SimulatedEngine, SimulatedTarget, Until,
    Vector, Vectors,
};
use sustain_disk::error::Error;
use sustain_disk::simulated::{Machine, MachineFile};

const BLOCK: usize = 4096;
const BLOCK_BYTES: u64 = BLOCK as u64;
const HOUR_NS: u64 = 3_600_000_000_000;

const PLAIN: &str = r#"
[[disk]]
name = "a"
capacity = "20TB"
write = "100MB/s"
[[disk]]
name = "b"
capacity = "20TB"
write = "100MB/s"
"#;

const CACHED: &str = r#"
[[disk]]
name = "a"
capacity = "1GB"
write = "100MB/s"
cache = "64MiB"
cache_rate = "1GB/s"
volatile_cache = true
"#;

const FAILING: &str = r#"
[[disk]]
name = "a"
capacity = "1GB"
write = "100MB/s"
error = { at = "4096", kind = "eio", once = true }
"#;

struct Bench {
    engine: SimulatedEngine,
    machine: SharedMachine,
    pool: BufferPool,
    clock: Clock,
}

fn machine(text: &str) -> Machine {
    let file = MachineFile::parse(text, Path::new("test.toml")).unwrap();
    Machine::new(&file, 1)
}

fn bench(text: &str) -> Bench {
    bench_on(text, Clock::simulated())
}

fn bench_on(text: &str, clock: Clock) -> Bench {
    let machine = SharedMachine::with_contents(machine(text), &clock);
    Bench {
        engine: engine(&machine, &clock),
        machine,
        pool: BufferPool::new(64, 16 * BLOCK).unwrap(),
        clock,
    }
}

/// Its targets 0 and 1 are the machine's first two disks; a machine with one never asks for 1.
fn engine(machine: &SharedMachine, clock: &Clock) -> SimulatedEngine {
    let target = |disk| SimulatedTarget { machine: 0, disk };
    SimulatedEngine::new(
        vec![machine.clone()],
        vec![target(0), target(1)],
        clock.clone(),
    )
}

impl Bench {
    fn buffer(&mut self, fill: u8) -> Buffer {
        let mut buffer = self.pool.take().unwrap();
        buffer.bytes_mut().fill(fill);
        buffer
    }

    fn request(&mut self, operation: Operation, block: u64, blocks: usize, fill: u8) -> Request {
        let vector = Vector::new(self.buffer(fill), 0, blocks * BLOCK);
        Request {
            operation,
            offset_bytes: block * BLOCK_BYTES,
            vectors: Vectors::One(vector),
            ..Request::flush(0)
        }
    }

    fn submit_write(&mut self, block: u64, blocks: usize, fill: u8) {
        let write = self.request(Operation::Write, block, blocks, fill);
        self.engine.submit(write);
    }

    fn wait(&mut self, count: usize) -> Vec<Completion> {
        let mut completions = Vec::new();
        while completions.len() < count {
            let until = Until::CompletionOr(self.clock.now() + HOUR_NS);
            self.engine.wait(until, &mut completions).unwrap();
        }
        assert_eq!(completions.len(), count);
        completions
    }

    fn one(&mut self, request: Request) -> Completion {
        self.engine.submit(request);
        self.wait(1).remove(0)
    }

    fn contents(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0xee; length];
        self.machine.read_contents(0, offset, &mut bytes);
        bytes
    }
}

fn bytes_of(completion: &Completion) -> Vec<u8> {
    let vectors = completion.request.vectors.as_slice().iter();
    vectors.flat_map(|vector| vector.bytes().to_vec()).collect()
}

#[test]
fn what_is_read_is_what_was_written_and_zeros_elsewhere() {
    let mut bench = bench(PLAIN);
    let write = bench.request(Operation::Write, 1, 2, 7);
    assert_eq!(bench.one(write).bytes, 2 * BLOCK_BYTES);
    let read = bench.request(Operation::Read, 0, 4, 0xee);
    let read = bench.one(read);
    let expected = [0, 7, 7, 0].map(|fill| [fill; BLOCK]).concat();
    assert_eq!((read.bytes, bytes_of(&read)), (4 * BLOCK_BYTES, expected));
    assert_eq!(bench.machine.bytes_read(0), 4 * BLOCK_BYTES);
    assert_eq!(bench.machine.bytes_read(1), 0);
}

#[test]
fn own_and_foreign_memory_make_one_write_and_the_foreign_comes_back() {
    let mut bench = bench(PLAIN);
    let mut payload = AlignedBytes::new(16 * BLOCK).unwrap();
    payload.fill(5);
    let address = payload.as_ptr();
    let vectors = vec![
        Vector::new(bench.buffer(1), 0, BLOCK),
        Vector::new(Buffer::foreign(Box::new(payload)).unwrap(), 0, 16 * BLOCK),
        Vector::new(bench.buffer(2), BLOCK, BLOCK),
    ];
    let write = bench.one(Request {
        operation: Operation::Write,
        vectors: Vectors::Many(vectors),
        ..Request::flush(0)
    });
    let expected = [vec![1; BLOCK], vec![5; 16 * BLOCK], vec![2; BLOCK]].concat();
    assert_eq!(bench.contents(0, 18 * BLOCK), expected);
    let Vectors::Many(mut vectors) = write.request.vectors else {
        panic!("as submitted")
    };
    let owner = vectors.remove(1).into_buffer().into_foreign().unwrap();
    assert_eq!(owner.bytes().as_ptr(), address);
}

#[test]
#[should_panic(expected = "a read needs buffers of a pool")]
fn a_read_into_foreign_memory_is_refused() {
    let mut bench = bench(PLAIN);
    let foreign = Buffer::foreign(Box::new(AlignedBytes::new(BLOCK).unwrap())).unwrap();
    bench.engine.submit(Request {
        operation: Operation::Read,
        vectors: Vectors::One(Vector::new(foreign, 0, BLOCK)),
        ..Request::flush(0)
    });
}

#[test]
fn a_read_at_the_end_of_a_disk_gets_what_is_there() {
    let mut bench = bench(PLAIN);
    let end = 20_000_000_000_000 - 512;
    bench.machine.write_contents(0, end, &[9; 512]);
    let mut read = bench.request(Operation::Read, 0, 1, 0xee);
    read.offset_bytes = end;
    let read = bench.one(read);
    assert_eq!(read.bytes, 512);
    assert_eq!(bytes_of(&read)[..512], [9; 512]);
    assert_eq!(bytes_of(&read)[512..], [0xee; BLOCK - 512]);
    assert_eq!(bench.machine.bytes_read(0), 512);
}

#[test]
fn a_read_sees_what_had_completed_before_it_and_not_what_completes_after() {
    let mut bench = bench(PLAIN);
    bench.submit_write(0, 1, 1);
    let read = bench.request(Operation::Read, 0, 1, 0xee);
    bench.engine.submit(read);
    bench.submit_write(0, 1, 2);
    // All three are taken at once, long after.
    bench.clock.wait_until(Timestamp(HOUR_NS));
    let mut completions = Vec::new();
    bench.engine.wait(Until::Now, &mut completions).unwrap();
    assert_eq!(completions.len(), 3);
    assert_eq!(bytes_of(&completions[1]), [1; BLOCK]);
    assert_eq!(bench.contents(0, BLOCK), [2; BLOCK]);
}

#[test]
fn a_machine_without_contents_leaves_a_readers_buffers_as_they_are() {
    let clock = Clock::simulated();
    let machine = SharedMachine::new(machine(PLAIN), &clock);
    let mut bench = Bench {
        engine: engine(&machine, &clock),
        machine,
        pool: BufferPool::new(2, 16 * BLOCK).unwrap(),
        clock,
    };
    let write = bench.request(Operation::Write, 0, 1, 1);
    bench.one(write);
    let read = bench.request(Operation::Read, 0, 1, 0xee);
    assert_eq!(bytes_of(&bench.one(read)), [0xee; BLOCK]);
}

#[test]
fn flushed_writes_survive_every_cut_and_what_came_after_the_flush_may_not() {
    let mut later_lost = 0;
    for seed in 0..60 {
        let mut bench = bench(CACHED);
        bench.submit_write(0, 16, 1);
        bench.wait(1);
        bench.engine.submit(Request::flush(0));
        bench.submit_write(16, 16, 2);
        bench.wait(2);
        bench.submit_write(32, 16, 3);
        bench.machine.power_cut(seed);
        assert_eq!(bench.contents(0, 16 * BLOCK), [1; 16 * BLOCK]);
        let rest = bench.contents(16 * BLOCK_BYTES, 32 * BLOCK);
        let (second, third) = rest.split_at(16 * BLOCK);
        assert!(second.iter().all(|byte| [0, 2].contains(byte)));
        assert!(third.iter().all(|byte| [0, 3].contains(byte)));
        later_lost += usize::from(second.contains(&0));
    }
    assert!((1..60).contains(&later_lost), "{later_lost} of 60");
}

#[test]
fn a_durable_write_survives_every_cut() {
    for seed in 0..60 {
        let mut bench = bench(CACHED);
        let write = Request {
            durable: true,
            ..bench.request(Operation::Write, 0, 16, 1)
        };
        bench.one(write);
        bench.machine.power_cut(seed);
        assert_eq!(bench.contents(0, 16 * BLOCK), [1; 16 * BLOCK]);
    }
}

#[test]
fn after_a_cut_the_old_engine_fails_and_a_new_one_goes_on_in_the_same_time() {
    let mut bench = bench(CACHED);
    for block in 0..8 {
        bench.submit_write(block, 1, 1);
    }
    bench.wait(3);
    let cut_at = bench.clock.now();
    bench.machine.power_cut(1);
    let until = Until::CompletionOr(bench.clock.now() + HOUR_NS);
    let mut completions = Vec::new();
    let failure = bench.engine.wait(until, &mut completions).unwrap_err();
    assert!(matches!(failure, Error::EngineFailed { .. }), "{failure}");
    assert!(failure.to_string().contains("power"), "{failure}");
    bench.submit_write(9, 1, 9);
    assert!(bench.engine.wait(until, &mut completions).is_err());
    assert!(completions.is_empty(), "what was in flight never completes");

    bench.engine = engine(&bench.machine, &bench.clock);
    assert_eq!(bench.clock.now(), cut_at, "dropping it waited for nothing");
    bench.submit_write(20, 16, 2);
    let write = bench.wait(1).remove(0);
    assert!(write.submitted_at >= cut_at && write.completed_at > cut_at);
    assert_eq!(
        bench.contents(20 * BLOCK_BYTES, 16 * BLOCK),
        [2; 16 * BLOCK]
    );
    assert_eq!(bench.contents(9 * BLOCK_BYTES, BLOCK), [0; BLOCK]);
}

#[test]
fn a_cut_empties_the_cache_so_that_the_next_flush_waits_for_nothing() {
    let mut bench = bench(CACHED);
    for block in 0..64 {
        bench.submit_write(block * 16, 16, 1);
    }
    bench.wait(64);
    bench.machine.power_cut(1);
    bench.engine = engine(&bench.machine, &bench.clock);
    let before = bench.clock.now();
    bench.one(Request::flush(0));
    assert_eq!(bench.clock.now(), before);
}

#[test]
fn a_cut_forgets_what_each_stage_of_each_disk_was_doing() {
    for submitted in 1..6 {
        for steps in 0..8 {
            let mut bench = bench(PLAIN);
            for block in 0..submitted {
                bench.submit_write(block * 16, 16, 1);
            }
            let until = bench.clock.now() + steps * 200_000;
            let mut completions = Vec::new();
            while bench.clock.now() < until {
                bench
                    .engine
                    .wait(Until::CompletionOr(until), &mut completions)
                    .unwrap();
            }
            bench.machine.power_cut(steps);
            bench.engine = engine(&bench.machine, &bench.clock);
            let started = bench.clock.now();
            bench.submit_write(1000, 16, 2);
            bench.wait(1);
            let alone_ns = 16 * BLOCK_BYTES * 1_000_000_000 / 100_000_000;
            let took_ns = bench.clock.now().since_ns(started);
            assert!(took_ns.abs_diff(alone_ns) <= 1, "{took_ns} ns");
        }
    }
}

#[test]
fn a_failed_write_leaves_any_part_of_itself() {
    let mut bench = bench(FAILING);
    let write = bench.request(Operation::Write, 0, 16, 7);
    assert!(bench.one(write).error.is_some());
    let left = bench.contents(0, 16 * BLOCK);
    for sector in left.chunks(512) {
        assert!(sector == [0; 512] || sector == [7; 512]);
    }
}

#[test]
fn an_old_state_of_a_disk_can_come_back() {
    let mut bench = bench(CACHED);
    bench.submit_write(0, 1, 1);
    bench.wait(1);
    let old = bench.machine.snapshot(0);
    bench.submit_write(0, 1, 2);
    bench.submit_write(1, 1, 2);
    bench.wait(2);
    assert_eq!(bench.contents(0, 2 * BLOCK), [2; 2 * BLOCK]);
    bench.submit_write(2, 1, 3);
    bench.machine.restore(0, old);
    assert_eq!(bench.wait(1)[0].bytes, BLOCK_BYTES);
    let expected = [1, 0, 0].map(|fill| [fill; BLOCK]).concat();
    assert_eq!(bench.contents(0, 3 * BLOCK), expected);
    for seed in 0..20 {
        bench.machine.power_cut(seed);
        assert_eq!(
            bench.contents(0, 3 * BLOCK),
            expected,
            "it had always been there"
        );
    }
}

#[test]
fn a_wrong_bit_can_be_put_on_a_disk() {
    let mut bench = bench(CACHED);
    bench.submit_write(0, 1, 1);
    bench.wait(1);
    bench.machine.write_contents(0, 100, &[3]);
    let read = bench.request(Operation::Read, 0, 1, 0);
    let bytes = bytes_of(&bench.one(read));
    assert_eq!(bytes[99..102], [1, 3, 1]);
}

#[test]
fn a_wait_for_nothing_takes_what_is_complete_and_moves_no_virtual_time() {
    let mut bench = bench(PLAIN);
    bench.submit_write(0, 1, 1);
    let mut completions = Vec::new();
    bench.engine.wait(Until::Now, &mut completions).unwrap();
    assert_eq!((completions.len(), bench.clock.now()), (0, Timestamp(0)));
    bench.clock.wait_until(Timestamp(HOUR_NS));
    bench.engine.wait(Until::Now, &mut completions).unwrap();
    assert_eq!(completions.len(), 1);
    assert_eq!(bench.clock.now(), Timestamp(HOUR_NS));
}

#[test]
fn a_wake_up_ends_the_next_wait_before_virtual_time_passes_and_only_that_one() {
    let mut bench = bench(PLAIN);
    bench.submit_write(0, 1, 1);
    bench.engine.waker().wake();
    let mut completions = Vec::new();
    let until = Until::CompletionOr(Timestamp(HOUR_NS));
    bench.engine.wait(until, &mut completions).unwrap();
    assert_eq!((completions.len(), bench.clock.now()), (0, Timestamp(0)));
    bench.engine.wait(until, &mut completions).unwrap();
    assert_eq!(completions.len(), 1);
}

/// The wait would last an hour: that the test ends at all is what it shows.
#[test]
fn a_wake_up_from_another_thread_ends_a_wait_in_real_time() {
    let mut bench = bench_on(PLAIN, Clock::Real);
    let waker = bench.engine.waker();
    let thread = std::thread::spawn(move || waker.wake());
    let mut completions = Vec::new();
    let until = Until::CompletionOr(bench.clock.now() + HOUR_NS);
    bench.engine.wait(until, &mut completions).unwrap();
    assert!(completions.is_empty());
    thread.join().unwrap();
}

#[test]
fn a_machine_in_real_time_keeps_contents_as_in_virtual_time() {
    let mut bench = bench_on(CACHED, Clock::Real);
    bench.submit_write(0, 1, 1);
    bench.wait(1);
    bench.one(Request::flush(0));
    let read = bench.request(Operation::Read, 0, 1, 0);
    assert_eq!(bytes_of(&bench.one(read)), [1; BLOCK]);
}

#[test]
fn dropping_an_engine_waits_for_what_is_in_flight_and_the_next_finds_it_there() {
    let mut bench = bench(PLAIN);
    for block in 0..8 {
        bench.submit_write(block, 1, 7);
    }
    bench.engine = engine(&bench.machine, &bench.clock);
    assert_eq!(bench.contents(0, 8 * BLOCK), [7; 8 * BLOCK]);
    let read = bench.request(Operation::Read, 0, 8, 0);
    assert_eq!(bytes_of(&bench.one(read)), [7; 8 * BLOCK]);
}
