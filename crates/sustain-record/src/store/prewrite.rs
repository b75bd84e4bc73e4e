//! Prewrites new files: every byte is written once, so that the first recording is as fast as the
//! later ones, and so that the file system cannot run out of space later. `create` calls it.

use std::collections::BTreeSet;

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::data::FreshData;
use sustain_disk::driver::{
    Driver, DriverProgress, DriverSetup, Ending, FailedRequest, Feed, Next, QueueSetup,
};
use sustain_disk::engine::{
    Completion, Engine, EngineChoice, Limits, Operation, Request, Vector, Vectors, open,
};
use sustain_disk::error::{Error, RequestError};
use sustain_disk::meter::IntervalRule;
use sustain_disk::target::Target;
use sustain_targets::Stop;

use crate::error::RecordError;
use crate::member_io::{GIVEN_UP_AFTER_NS, words_of_silence};

const RECORD_BYTES: u64 = 1 << 20;
const DEPTH: u32 = 4;
const REPORT_EVERY_NS: u64 = 100_000_000;
const INTERVAL_NS: u64 = 1_000_000_000;
/// A flush may have all of the page cache to write.
const FLUSH_GIVEN_UP_AFTER_NS: u64 = 10 * GIVEN_UP_AFTER_NS;

/// How prewriting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prewritten {
    /// Everything was written and is durable.
    All,
    /// The user ended it.
    Interrupted,
}

/// Writes the given number of bytes to each file, and makes them durable. `progress` is called with
/// the bytes written so far in all files.
///
/// # Errors
/// [`RecordError::Request`] if a file cannot be written; [`RecordError::Silent`] if it does not
/// answer; [`RecordError::Engine`].
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
    let lanes = files.iter().map(|(target, size_bytes)| {
        let name = target.name.clone();
        PrewriteLane::new(name, *size_bytes, clock.now())
    });
    let feed = PrewriteFeed {
        lanes: lanes.collect(),
        pool,
        data,
        stop,
        silent: None,
    };
    run(feed, engine, clock, progress)
}

fn run(
    mut feed: PrewriteFeed<'_>,
    engine: Box<dyn Engine>,
    clock: Clock,
    progress: &mut dyn FnMut(u64),
) -> Result<Prewritten, RecordError> {
    let queues: Vec<QueueSetup> = (0..feed.lanes.len())
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
    let mut failures: Vec<FailedRequest> = Vec::new();
    let mut driver = Driver::new(engine, clock, &queues, setup);
    driver.run(&mut feed, &mut |report: DriverProgress| {
        progress(report.targets.iter().map(|target| target.bytes).sum());
        failures.extend(report.failures);
    })?;
    // Closing the engine would wait for a file that was given up.
    drop(driver.into_meters());
    if let Some(words) = feed.silent {
        return Err(RecordError::Silent(words));
    }
    if let Some(failure) = failures.first() {
        return Err(RecordError::Request(RequestError {
            target: feed.lanes[failure.target].name.clone(),
            operation: failure.operation,
            offset_bytes: failure.offset_bytes,
            fault: failure.fault,
        }));
    }
    let is_all = feed.lanes.iter().all(PrewriteLane::is_done);
    Ok(if is_all {
        Prewritten::All
    } else {
        Prewritten::Interrupted
    })
}

struct PrewriteFeed<'a> {
    /// One lane per file.
    lanes: Vec<PrewriteLane>,
    pool: BufferPool,
    data: FreshData,
    stop: &'a Stop,
    /// Of the first file that was given up.
    silent: Option<String>,
}

struct PrewriteLane {
    name: String,
    position_bytes: u64,
    size_bytes: u64,
    /// Where writes are under way.
    under_way: BTreeSet<u64>,
    /// When it last answered, or was asked with nothing under way.
    answered_at: Timestamp,
    /// The closing flush follows when nothing is under way any more.
    is_flush_awaited: bool,
    is_given_up: bool,
}

impl PrewriteLane {
    fn new(name: String, size_bytes: u64, now: Timestamp) -> PrewriteLane {
        PrewriteLane {
            name,
            position_bytes: 0,
            size_bytes,
            under_way: BTreeSet::new(),
            answered_at: now,
            is_flush_awaited: false,
            is_given_up: false,
        }
    }

    fn is_done(&self) -> bool {
        self.position_bytes == self.size_bytes
    }

    /// What it has not answered for too long, in words.
    fn silence(&self, now: Timestamp) -> Option<String> {
        let waited_ns = now.since_ns(self.answered_at);
        let (operation, offset_bytes, patience_ns) = match self.under_way.first() {
            Some(offset_bytes) => (Operation::Write, *offset_bytes, GIVEN_UP_AFTER_NS),
            None if self.is_flush_awaited => (Operation::Flush, 0, FLUSH_GIVEN_UP_AFTER_NS),
            None => return None,
        };
        let seconds = now.since_s(self.answered_at);
        (waited_ns >= patience_ns)
            .then(|| words_of_silence(operation, &self.name, offset_bytes, seconds))
    }
}

impl Feed for PrewriteFeed<'_> {
    fn next(&mut self, queue: usize, now: Timestamp) -> Next {
        let lane = &mut self.lanes[queue];
        if self.silent.is_some() {
            return Next::Done(Ending::Error);
        }
        if lane.is_done() {
            lane.is_flush_awaited = true;
            return Next::Done(Ending::Bytes);
        }
        if let Some(ending) = self.stop.reason() {
            lane.is_flush_awaited = true;
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
        if lane.under_way.is_empty() {
            lane.answered_at = now;
        }
        lane.under_way.insert(offset_bytes);
        Next::Request(Request {
            operation: Operation::Write,
            offset_bytes,
            vectors: Vectors::One(Vector::new(buffer, 0, length)),
            ..Request::flush(queue)
        })
    }

    fn complete(&mut self, queue: usize, completion: Completion) {
        let lane = &mut self.lanes[queue];
        lane.answered_at = completion.completed_at;
        if completion.request.operation == Operation::Write {
            lane.under_way.remove(&completion.request.offset_bytes);
        } else {
            lane.is_flush_awaited = false;
        }
        if completion.error.is_some() {
            // Nothing is flushed behind it.
            lane.is_flush_awaited = false;
        }
        if let Vectors::One(vector) = completion.request.vectors {
            self.pool.give(vector.into_buffer());
        }
    }

    fn is_given_up(&self, queue: usize) -> bool {
        self.lanes[queue].is_given_up
    }

    fn has_news(&mut self, now: Timestamp) -> bool {
        for lane in self.lanes.iter_mut().filter(|lane| !lane.is_given_up) {
            if let Some(words) = lane.silence(now) {
                lane.is_given_up = true;
                self.silent.get_or_insert(words);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::superblocks::tests::{CAPACITY_BYTES, patchy_engine};
    use super::*;

    fn prewrite_both(silent: Option<Operation>) -> (Result<Prewritten, RecordError>, u64) {
        let (engine, clock) = patchy_engine(silent);
        let pool = BufferPool::new(2 * DEPTH as usize, RECORD_BYTES as usize).unwrap();
        let begun_at = clock.now();
        let lane = |name: &str| PrewriteLane::new(name.to_owned(), CAPACITY_BYTES, begun_at);
        let feed = PrewriteFeed {
            lanes: ["slow", "silent"].map(lane).into(),
            pool,
            data: FreshData::new(1),
            stop: &Stop::default(),
            silent: None,
        };
        let prewritten = run(feed, engine, clock.clone(), &mut |_| ());
        (prewritten, clock.now().since_ns(begun_at))
    }

    #[test]
    fn a_file_that_never_answers_is_given_up_and_named_when_files_are_written_once() {
        let patience = [
            (Operation::Write, GIVEN_UP_AFTER_NS),
            (Operation::Flush, FLUSH_GIVEN_UP_AFTER_NS),
        ];
        for (silent, patience_ns) in patience {
            let (prewritten, waited_ns) = prewrite_both(Some(silent));
            let error = prewritten.unwrap_err();
            assert!(matches!(error, RecordError::Silent(_)), "{error}");
            let told = error.to_string();
            let begin = format!("{silent} on silent at byte 0 has not returned");
            assert!(told.starts_with(&begin), "{told}");
            assert!(waited_ns >= patience_ns, "{waited_ns} ns");
        }
    }

    #[test]
    fn a_file_that_takes_long_is_written_once_all_the_same() {
        let (prewritten, waited_ns) = prewrite_both(None);
        assert_eq!(prewritten.unwrap(), Prewritten::All);
        assert!(waited_ns > GIVEN_UP_AFTER_NS, "it took long");
    }
}
