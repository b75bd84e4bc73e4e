//! Queues that are fed in turns, on simulated disks.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use super::*;
use crate::buffer::BufferPool;
use crate::engine::{SharedMachine, SimulatedEngine, SimulatedTarget, Vector, Vectors, Waker};
use crate::layout::Turns;
use crate::meter::IntervalRule;
use crate::simulated::{Machine, MachineFile};

const RECORD: usize = 4096;
const DISKS: usize = 4;
const DEPTH: u32 = 4;

/// What an engine was given, in order: the target of each request.
type Given = Rc<RefCell<Vec<usize>>>;

/// Notes the order in which the engine within is given its requests.
struct Noting {
    inner: SimulatedEngine,
    given: Given,
}

impl Engine for Noting {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn submit(&mut self, request: Request) {
        self.given.borrow_mut().push(request.target);
        self.inner.submit(request);
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        self.inner.wait(until, completions)
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }
}

/// Gives each queue so many records, and none before its time.
struct Records {
    left: [u64; DISKS],
    not_before: [Timestamp; DISKS],
    pool: BufferPool,
}

impl Feed for Records {
    fn next(&mut self, queue: usize, now: Timestamp) -> Next {
        if self.left[queue] == 0 {
            return Next::Done(Ending::Bytes);
        }
        if now < self.not_before[queue] {
            return Next::WaitUntil(self.not_before[queue]);
        }
        self.left[queue] -= 1;
        let buffer = self.pool.take().expect("no more in flight than buffers");
        Next::Request(Request {
            operation: Operation::Write,
            offset_bytes: self.left[queue] * RECORD as u64,
            vectors: Vectors::One(Vector::new(buffer, 0, RECORD)),
            ..Request::flush(queue)
        })
    }

    fn complete(&mut self, _queue: usize, completion: Completion) {
        if let Vectors::One(vector) = completion.request.vectors {
            self.pool.give(vector.into_buffer());
        }
    }
}

struct Ran {
    given: Vec<usize>,
    meters: Vec<Meter>,
    endings: Vec<Option<Ending>>,
}

fn disk(name: &str, more: &str) -> String {
    format!("[[disk]]\nname = \"{name}\"\ncapacity = \"1GB\"\n{more}\n")
}

/// Four disks of these keys.
fn machine(keys: [&str; DISKS]) -> Machine {
    let disks = ["a", "b", "c", "d"].iter().zip(keys);
    let text: String = disks.map(|(name, more)| disk(name, more)).collect();
    Machine::new(
        &MachineFile::parse(&text, Path::new("test.toml")).unwrap(),
        1,
    )
}

/// Drives four disks, fed in turns in this order.
fn run(keys: [&str; DISKS], order: [usize; DISKS], left: [u64; DISKS], late_ns: u64) -> Ran {
    let clock = Clock::simulated();
    let given = Given::default();
    let target = |disk| SimulatedTarget { machine: 0, disk };
    let engine = Noting {
        inner: SimulatedEngine::new(
            vec![SharedMachine::new(machine(keys), &clock)],
            (0..DISKS).map(target).collect(),
            clock.clone(),
        ),
        given: Rc::clone(&given),
    };
    let queue = |target| QueueSetup {
        targets: vec![target],
        depth: DEPTH,
    };
    let start = clock.now();
    let setup = DriverSetup {
        start,
        interval: IntervalRule::Time(1_000_000),
        report_every_ns: 1_000_000,
        flush_at_end: false,
    };
    let mut feed = Records {
        left,
        // The second queue has nothing to submit before this.
        not_before: [start, start + late_ns, start, start],
        pool: BufferPool::new(DISKS * DEPTH as usize, RECORD).unwrap(),
    };
    let queues: Vec<QueueSetup> = (0..DISKS).map(queue).collect();
    let mut driver = Driver::new(Box::new(engine), clock, &queues, setup)
        .in_turns(vec![Turns::new(order.to_vec())]);
    let mut endings = vec![None; DISKS];
    let mut report = |progress: DriverProgress| {
        let targets = progress.targets.iter();
        targets.for_each(|target| endings[target.target] = target.ending);
    };
    driver.run(&mut feed, &mut report).unwrap();
    Ran {
        given: given.take(),
        meters: driver.into_meters(),
        endings,
    }
}

const FAST: &str = "write = \"100MB/s\"";
const SLOW: &str = "write = \"10MB/s\"";

#[test]
fn each_is_given_one_record_when_it_is_its_turn() {
    for order in [[0, 1, 2, 3], [0, 2, 1, 3], [3, 1, 0, 2]] {
        // However different the disks are.
        let ran = run(
            [FAST, SLOW, FAST, "write = \"300MB/s\""],
            order,
            [200; DISKS],
            0,
        );
        assert_eq!(ran.given, order.repeat(200));
        assert!(
            ran.meters
                .iter()
                .all(|meter| meter.depth_reached() <= DEPTH)
        );
    }
}

#[test]
fn a_slow_one_holds_the_others_to_its_rate() {
    let ran = run([FAST, FAST, SLOW, FAST], [0, 1, 2, 3], [200; DISKS], 0);
    let last_ns: Vec<u64> = ran.meters.iter().map(Meter::last_ns).collect();
    // Nobody is further ahead of the slow one than what that has in flight.
    let window_ns = u64::from(DEPTH + 1) * RECORD as u64 * 100;
    assert!(last_ns.iter().all(|at_ns| last_ns[2] - at_ns <= window_ns));
    assert_eq!(ran.meters[2].depth_reached(), DEPTH, "it is kept full");
}

#[test]
fn one_that_has_nothing_to_submit_yet_holds_the_others_too() {
    let late_ns = 50_000_000;
    let ran = run([FAST; DISKS], [0, 1, 2, 3], [20; DISKS], late_ns);
    assert_eq!(ran.given, [0, 1, 2, 3].repeat(20));
    // Twenty records of a fast disk take less than a millisecond.
    assert!(ran.meters.iter().all(|meter| meter.last_ns() > late_ns));
}

#[test]
fn one_that_has_ended_is_passed_over() {
    let ran = run([FAST; DISKS], [0, 1, 2, 3], [3, 1, 3, 2], 0);
    assert_eq!(ran.given, [0, 1, 2, 3, 0, 2, 3, 0, 2]);
    assert_eq!(ran.endings, [Some(Ending::Bytes); DISKS]);
}

#[test]
fn one_that_has_failed_is_passed_over() {
    // The last record of all disks, the first to be written, is where one fails.
    let at = 199 * RECORD;
    let failing = format!("{FAST}\nerror = {{ at = \"{at}\", kind = \"eio\" }}");
    let ran = run([FAST, &failing, FAST, FAST], [0, 1, 2, 3], [200; DISKS], 0);
    assert_eq!(ran.endings[1], Some(Ending::Error));
    for other in [0, 2, 3] {
        assert_eq!(ran.meters[other].requests(), 200);
        assert_eq!(ran.endings[other], Some(Ending::Bytes));
    }
    let after: Vec<usize> = ran.given.iter().copied().skip(16).collect();
    assert!(!after.contains(&1), "{:?}", ran.given);
    assert_eq!(after[after.len() - 6..], [0, 2, 3, 0, 2, 3]);
}
