//! Writes every byte of new files once, so that the first recording is as fast as the later ones and
//! the file system has given all the space there is to give.

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::data::FreshData;
use sustain_disk::driver::{
    Driver, DriverSetup, Ending, Failure, Feed, Next, Progress, QueueSetup,
};
use sustain_disk::engine::{
    Completion, EngineChoice, Limits, Operation, Request, Vector, Vectors, open,
};
use sustain_disk::error::{Error, RequestError};
use sustain_disk::meter::IntervalRule;
use sustain_disk::target::Target;
use sustain_session::Stop;

use crate::error::RecordError;

const RECORD_BYTES: u64 = 1 << 20;
const DEPTH: u32 = 4;
const REPORT_EVERY_NS: u64 = 100_000_000;
const INTERVAL_NS: u64 = 1_000_000_000;

/// Whether all was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prewritten {
    /// Yes, and it is durable.
    All,
    /// The user ended it.
    Interrupted,
}

/// Writes so many bytes to each file, and makes them durable. `progress` hears how many bytes are
/// written in all.
///
/// # Errors
/// [`RecordError::Request`] if a file cannot be written; [`RecordError::Engine`].
pub(super) fn prewrite(
    files: &[(&Target, u64)],
    stop: &Stop,
    progress: &mut dyn FnMut(u64),
) -> Result<Prewritten, RecordError> {
    let clock = Clock::Real;
    let in_flight_max = DEPTH * files.len() as u32;
    let mut pool = BufferPool::new(in_flight_max as usize, RECORD_BYTES as usize)?;
    let mut data = FreshData::new(clock.now().0);
    for buffer in pool.free_mut() {
        data.fill(buffer.bytes_mut());
    }
    let limits = Limits {
        depth: DEPTH,
        in_flight_max,
    };
    let descriptors = files
        .iter()
        .map(|(target, _)| {
            let file = target.file.clone();
            file.ok_or_else(|| Error::target(&target.name, "it cannot be written"))
        })
        .collect::<Result<_, Error>>()?;
    let engine = open(
        EngineChoice::Auto,
        descriptors,
        limits,
        pool.regions(),
        &clock,
    )?
    .engine;
    let queues: Vec<QueueSetup> = (0..files.len())
        .map(|target| QueueSetup {
            targets: vec![target],
            depth: DEPTH,
        })
        .collect();
    let setup = DriverSetup {
        start: clock.now(),
        interval: IntervalRule::Time(INTERVAL_NS),
        report_every_ns: REPORT_EVERY_NS,
        flush_at_end: true,
    };
    let mut feed = PrewriteFeed {
        lanes: files
            .iter()
            .map(|(_, size_bytes)| Lane {
                position_bytes: 0,
                size_bytes: *size_bytes,
            })
            .collect(),
        pool,
        data,
        stop,
    };
    let mut failures: Vec<Failure> = Vec::new();
    Driver::new(engine, clock, &queues, setup).run(&mut feed, &mut |report: Progress| {
        progress(report.targets.iter().map(|target| target.bytes).sum());
        failures.extend(report.failures);
    })?;
    if let Some(failure) = failures.first() {
        return Err(RecordError::Request(RequestError {
            target: files[failure.target].0.name.clone(),
            operation: failure.operation,
            offset_bytes: failure.offset_bytes,
            errno: failure.errno,
        }));
    }
    let is_all = feed.lanes.iter().all(Lane::is_done);
    Ok(if is_all {
        Prewritten::All
    } else {
        Prewritten::Interrupted
    })
}

struct PrewriteFeed<'a> {
    /// One per file.
    lanes: Vec<Lane>,
    pool: BufferPool,
    data: FreshData,
    stop: &'a Stop,
}

struct Lane {
    position_bytes: u64,
    size_bytes: u64,
}

impl Lane {
    fn is_done(&self) -> bool {
        self.position_bytes == self.size_bytes
    }
}

impl Feed for PrewriteFeed<'_> {
    fn next(&mut self, queue: usize, _now: Timestamp) -> Next {
        let lane = &mut self.lanes[queue];
        if lane.is_done() {
            return Next::Done(Ending::Bytes);
        }
        if let Some(ending) = self.stop.reason() {
            return Next::Done(ending);
        }
        let length_bytes = RECORD_BYTES.min(lane.size_bytes - lane.position_bytes);
        let mut buffer = self
            .pool
            .take()
            .expect("a buffer for each request in the windows");
        let length = length_bytes as usize;
        self.data.stamp(&mut buffer.bytes_mut()[..length]);
        let offset_bytes = lane.position_bytes;
        lane.position_bytes += length_bytes;
        Next::Request(Request {
            operation: Operation::Write,
            offset_bytes,
            vectors: Vectors::One(Vector::new(buffer, 0, length)),
            ..Request::flush(queue)
        })
    }

    fn complete(&mut self, _queue: usize, completion: Completion) {
        if let Vectors::One(vector) = completion.request.vectors {
            self.pool.give(vector.into_buffer());
        }
    }
}
