//! What a request costs besides the kernel: the driver's loop, the meter, and the dynamic call at
//! the seam, with an engine that completes everything at once.

use std::hint::black_box;

use sustain::disk::buffer::BufferPool;
use sustain::disk::clock::{Clock, Timestamp};
use sustain::disk::driver::{Driver, DriverSetup, Ending, Feed, Next, QueueSetup};
use sustain::disk::engine::{
    Completion, Engine, Operation, Request, SyncEngine, Until, Vector, Vectors, Waker,
};
use sustain::disk::error::Error;
use sustain::disk::meter::{IntervalRule, Meter};

use crate::group::Group;
use crate::progress::progress;
use crate::setting::Setting;
use crate::statistics::Median;
use crate::table::{Row, Section, Verdict};

const DEPTH: u32 = 64;
const RECORD_BYTES: usize = 4096;
/// Requests in one sample, in whole batches.
const REQUESTS: u64 = 1 << 20;
const INTERVAL_NS: u64 = 1_000_000_000;
const REPORT_EVERY_NS: u64 = 100_000_000;

/// Completes everything at once.
struct NullEngine {
    clock: Clock,
    now: Timestamp,
    complete: Vec<Completion>,
    /// Lends its waker: nothing waits here.
    sync: SyncEngine,
}

impl NullEngine {
    fn new() -> NullEngine {
        NullEngine {
            clock: Clock::Real,
            now: Clock::Real.now(),
            complete: Vec::new(),
            sync: SyncEngine::open(Vec::new(), Clock::Real),
        }
    }
}

impl Engine for NullEngine {
    fn name(&self) -> &'static str {
        "null"
    }

    fn describe(&self) -> String {
        "completes everything at once".to_owned()
    }

    fn submit(&mut self, request: Request) {
        let bytes = request.vectors.len_bytes();
        self.complete.push(Completion {
            request,
            submitted_at: self.now,
            completed_at: self.now,
            bytes,
            error: None,
        });
    }

    fn wait(&mut self, _until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        self.now = self.clock.now();
        for completion in &mut self.complete {
            completion.completed_at = self.now;
        }
        completions.append(&mut self.complete);
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.sync.waker()
    }
}

/// Hands out the same memory again and again.
struct NullFeed {
    pool: BufferPool,
    left: u64,
    offset_bytes: u64,
}

impl NullFeed {
    fn new() -> anyhow::Result<NullFeed> {
        Ok(NullFeed {
            pool: BufferPool::new(DEPTH as usize, RECORD_BYTES)?,
            left: REQUESTS,
            offset_bytes: 0,
        })
    }

    fn request(&mut self) -> Request {
        let buffer = self.pool.take().expect("a buffer for each in flight");
        self.offset_bytes += RECORD_BYTES as u64;
        Request {
            operation: Operation::Write,
            offset_bytes: self.offset_bytes,
            vectors: Vectors::One(Vector::new(buffer, 0, RECORD_BYTES)),
            ..Request::flush(0)
        }
    }
}

impl Feed for NullFeed {
    fn next(&mut self, _queue: usize, _now: Timestamp) -> Next {
        if self.left == 0 {
            return Next::Done(Ending::Bytes);
        }
        self.left -= 1;
        Next::Request(self.request())
    }

    fn complete(&mut self, _queue: usize, completion: Completion) {
        if let Vectors::One(vector) = completion.request.vectors {
            self.pool.give(vector.into_buffer());
        }
    }
}

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let [mut driver, mut meter, mut fixed, mut dynamic] = [const { Vec::new() }; 4];
    for _ in 0..setting.effort.pairs {
        setting.interrupt.check()?;
        driver.push(whole_driver()?);
        meter.push(meter_alone());
        fixed.push(engine_alone(&mut NullEngine::new())?);
        // The compiler must not see which engine it is.
        let mut engine: Box<dyn Engine> = black_box(Box::new(NullEngine::new()));
        dynamic.push(engine_alone(engine.as_mut())?);
    }
    let seam: Vec<f64> = dynamic
        .iter()
        .zip(&fixed)
        .map(|(dynamic, fixed)| dynamic - fixed)
        .collect();
    let rows = vec![
        row("driver's loop, metering and seam included", &driver),
        row("metering alone", &meter),
        row("`dyn` at the seam alone", &seam),
    ];
    rows.iter().for_each(|row| progress(&row.line()));
    Ok(Section {
        name: Group::NullEngine.name(),
        columns: ["", "per request", "", "interval [95 %]"],
        rows,
        notes: vec![
            "An engine that completes everything at once, 4 KiB at depth 64; one million requests \
             each time."
                .to_owned(),
        ],
    })
}

fn row(what: &str, nanoseconds: &[f64]) -> Row {
    let median = Median::of(nanoseconds);
    Row {
        what: what.to_owned(),
        ours: format!("{:.1} ns", median.value),
        other: String::new(),
        ratio: format!("[{:.1}, {:.1}] ns", median.low, median.high),
        goal: String::new(),
        verdict: Verdict::None,
    }
}

/// Nanoseconds per request of `work`, which does [`REQUESTS`].
fn per_request_ns(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let start = Clock::Real.now();
    work()?;
    Ok(Clock::Real.now().since_ns(start) as f64 / REQUESTS as f64)
}

fn whole_driver() -> anyhow::Result<f64> {
    let setup = DriverSetup {
        start: Clock::Real.now(),
        interval: IntervalRule::Time(INTERVAL_NS),
        report_every_ns: REPORT_EVERY_NS,
        flush_at_end: false,
    };
    let queue = QueueSetup {
        targets: vec![0],
        depth: DEPTH,
    };
    let mut driver = Driver::new(Box::new(NullEngine::new()), Clock::Real, &[queue], setup);
    let mut feed = NullFeed::new()?;
    per_request_ns(|| {
        driver.run(&mut feed, &mut |progress| drop(black_box(progress)))?;
        Ok(())
    })
}

fn meter_alone() -> f64 {
    let mut meter = Meter::new(0, Timestamp(0), IntervalRule::Time(INTERVAL_NS));
    let mut completion = Completion {
        request: Request::flush(0),
        submitted_at: Timestamp(0),
        completed_at: Timestamp(0),
        bytes: RECORD_BYTES as u64,
        error: None,
    };
    let start = Clock::Real.now();
    for batch in 0..REQUESTS / u64::from(DEPTH) {
        // A batch comes back 100 µs after it went, as from a fast disk.
        let now = Timestamp(batch * 100_000);
        for _ in 0..DEPTH {
            black_box(&mut meter).submitted(now);
        }
        completion.submitted_at = now;
        completion.completed_at = now + 100_000;
        for _ in 0..DEPTH {
            black_box(&mut meter).completed(black_box(&completion));
        }
    }
    Clock::Real.now().since_ns(start) as f64 / REQUESTS as f64
}

fn engine_alone<E: Engine + ?Sized>(engine: &mut E) -> anyhow::Result<f64> {
    let mut feed = NullFeed::new()?;
    let mut completions = Vec::new();
    per_request_ns(|| {
        for _ in 0..REQUESTS / u64::from(DEPTH) {
            for _ in 0..DEPTH {
                engine.submit(feed.request());
            }
            engine.wait(Until::Now, &mut completions)?;
            for completion in completions.drain(..) {
                feed.complete(0, completion);
            }
        }
        Ok(())
    })
}
