//! The recordings of one run, one after the other: each is driven to its end, and where its sources
//! go on, the next one begins. The buffer and the locks are the same for all of them, and so is the
//! engine, unless a member keeps requests that nobody waits for any more.
//!
//! Between two of them the superblocks are written once: they tell of the end and of the next
//! begin. Meanwhile the sources fill the buffer.

use std::sync::Arc;

use sustain_disk::clock::{Timestamp, process_cpu_ns, thread_cpu_ns};
use sustain_disk::driver::{Driver, DriverSetup, Ending, QueueSetup};
use sustain_disk::engine::Engine;
use sustain_disk::error::Error;
use sustain_disk::meter::{BufferCurve, IntervalRule, Meter, RateGrid};
use sustain_disk::target::WriteLock;
use uuid::Uuid;

use super::board::RecordingBoard;
use super::channel::{ChannelInlet, Exchange};
use super::engine_setup::{EngineSetup, OpenEngine};
use super::feed::RecordFeed;
use super::hand_over::HandOver;
use super::recorded::{Recorded, RecordedBefore};
use super::superblock_writer::{SuperblockWriter, close_superblocks, what_to_do, write_all};
use crate::error::RecordError;
use crate::member_io::StepsPatience;
use crate::store::Store;

/// How often the recorder's thread reports on its members.
const REPORT_EVERY_NS: u64 = 100_000_000;
const INTERVAL_NS: u64 = 1_000_000_000;

/// Keeps members locked for as long as the process lives, unless it is known that nothing is in
/// flight on them. This holds even if the engine breaks or the recorder's thread panics.
pub(super) struct HeldLocks(Vec<Option<Arc<WriteLock>>>);

impl HeldLocks {
    pub(super) fn of(store: &Store) -> HeldLocks {
        let members = store.members.iter();
        HeldLocks(members.map(|member| member.target.lock.clone()).collect())
    }

    pub(super) fn release(&mut self, is_under_way: impl Fn(usize) -> bool) {
        for (member, lock) in self.0.iter_mut().enumerate() {
            if !is_under_way(member) {
                *lock = None;
            }
        }
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.0.drain(..).for_each(std::mem::forget);
    }
}

/// Ends the recording for everyone who waits for it, however its thread ends. After a panic, those
/// who fill memory and those who wait for a watermark would otherwise wait for ever.
pub(super) struct Closing {
    pub(super) exchange: Arc<Exchange>,
    pub(super) board: Arc<RecordingBoard>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.exchange.close();
        self.board.write(|standing| standing.is_over = true);
    }
}

/// What the recordings of one run have in common.
pub(super) struct RecorderRun {
    pub(super) store: Store,
    pub(super) superblocks: SuperblockWriter,
    pub(super) append_bytes: u32,
    pub(super) queues: Vec<QueueSetup>,
    pub(super) locks: HeldLocks,
    /// The engine, and a sentence about why it was chosen.
    pub(super) engine_words: (&'static str, String),
    pub(super) engine_setup: EngineSetup,
    pub(super) open_engine: Box<OpenEngine>,
}

/// What was seen of a recording while it was driven.
struct DrivenRecording {
    /// The engine, if nothing is in flight on it.
    engine: Option<Box<dyn Engine>>,
    meters: Vec<Meter>,
    curve: BufferCurve,
    end: Timestamp,
    cpu_share: f64,
    cpu_before_ns: u64,
}

impl RecorderRun {
    /// Drives a recording, and all that follow it.
    pub(super) fn record(
        &mut self,
        mut engine: Box<dyn Engine>,
        mut feed: RecordFeed<ChannelInlet>,
        closing: Closing,
    ) -> Result<Recorded, RecordError> {
        let mut closing = Some(closing);
        let mut before = Vec::new();
        loop {
            let (mut driven, ran) = self.drive(engine, &mut feed, &mut closing);
            if let Err(error) = ran {
                // What has ended before is told in any case.
                if before.is_empty() {
                    return Err(error.into());
                }
                feed.note_undriven(&error);
                return Ok(self.recorded(&mut feed, driven, before));
            }
            if !feed.is_cut() {
                feed.update_superblocks(&mut self.store);
                close_superblocks(&mut self.store, &self.superblocks, &feed);
                return Ok(self.recorded(&mut feed, driven, before));
            }
            let left = driven.engine.take();
            let recorded = self.recorded(&mut feed, driven, Vec::new());
            before.push(RecordedBefore::of(recorded));
            let mut next = self.go_on(feed);
            match self.engine_for(&mut next, left) {
                Some(left) => (engine, feed) = (left, next),
                None => {
                    let seen = self.end_unbegun(&mut next, &mut closing);
                    return Ok(self.recorded(&mut next, seen, before));
                }
            }
        }
    }

    /// Drives one recording to its end, which is an error if the engine breaks.
    fn drive(
        &mut self,
        engine: Box<dyn Engine>,
        feed: &mut RecordFeed<ChannelInlet>,
        closing: &mut Option<Closing>,
    ) -> (DrivenRecording, Result<(), Error>) {
        let clock = self.store.clock().clone();
        let start = feed.setup().start;
        let (cpu_before_ns, own_before) = (process_cpu_ns(), thread_cpu_ns());
        let mut curve = BufferCurve::new(RateGrid::default());
        let mut driver = Driver::new(engine, clock.clone(), &self.queues, driver_setup(start));
        let ran = driver.run(feed, &mut |progress| {
            for arrival in &progress.arrivals {
                curve.complete(arrival.at_ns, arrival.bytes);
            }
        });
        let end = clock.now();
        let is_last = ran.is_err() || !feed.is_cut();
        if is_last {
            feed.inlet_mut().drain();
        }
        feed.close(end);
        if is_last {
            // Dropping the driver waits for what is in flight. Everyone else learns before that the
            // recording is over.
            *closing = None;
            // Requests that a member has not answered may still be written there, so nobody else
            // may write to it.
            self.locks.release(|member| feed.is_under_way(member));
        }
        let elapsed_ns = end.since_ns(start).max(1);
        curve.finish(elapsed_ns);
        let (engine, meters) = driver.into_parts();
        let driven = DrivenRecording {
            engine,
            meters,
            curve,
            end,
            cpu_share: (thread_cpu_ns() - own_before) as f64 / elapsed_ns as f64,
            cpu_before_ns,
        };
        (driven, ran.map(|_| ()))
    }

    /// Begins the recording that follows one that has ended. A member that cannot be written is
    /// left out of it.
    fn go_on(&mut self, feed: RecordFeed<ChannelInlet>) -> RecordFeed<ChannelInlet> {
        let now = self.store.clock().now();
        let hand_over = HandOver::of(&feed, &self.store, Uuid::new_v4(), now);
        feed.update_superblocks(&mut self.store);
        let lost = self.write_superblocks(&hand_over);
        let mut next = hand_over.begin(feed, lost);
        next.know_superblocks(&self.store);
        next
    }

    /// The engine for a recording that is about to begin: the one that is left, or another one if a
    /// member that was given up keeps requests in that. Returns `None` where no member takes
    /// anything.
    fn engine_for(
        &mut self,
        next: &mut RecordFeed<ChannelInlet>,
        left: Option<Box<dyn Engine>>,
    ) -> Option<Box<dyn Engine>> {
        if !next.takes_anything() {
            return None;
        }
        if left.is_some() {
            return left;
        }
        match (self.open_engine)(&self.store, &self.engine_setup) {
            Ok((engine, why)) => {
                next.inlet_mut().exchange.set_waker(engine.waker());
                self.engine_words = (engine.name(), why);
                Some(engine)
            }
            Err(error) => {
                next.leave_all_out(&format!(
                    "a recording ended here, and there was no engine for the next one: {error}"
                ));
                None
            }
        }
    }

    /// Writes the superblocks between two recordings. Returns the members on which they are not
    /// written, with the reasons.
    fn write_superblocks(&mut self, hand_over: &HandOver) -> Vec<(usize, String)> {
        let patience = StepsPatience {
            for_others_ns: self.superblocks.patience.slow_after_ns,
            for_first_ns: self.superblocks.patience.given_up_after_ns,
        };
        let renewed = (hand_over.slots_begun(), hand_over.renewal());
        let left_out = hand_over.left_out();
        let writer = &self.superblocks;
        let lost = write_all(&mut self.store, writer, renewed, &left_out, patience);
        let lost = lost.into_iter().map(|(member, words)| {
            let name = &self.store.members[member].name;
            let what = what_to_do(name);
            let when = "where one recording had ended and the next one began";
            (member, format!("{words} {when}. {what}"))
        });
        lost.collect()
    }

    /// Ends a recording that could not begin: all that its sources have sent is lost, and counted.
    fn end_unbegun(
        &mut self,
        feed: &mut RecordFeed<ChannelInlet>,
        closing: &mut Option<Closing>,
    ) -> DrivenRecording {
        let cpu_before_ns = process_cpu_ns();
        let clock = self.store.clock().clone();
        feed.inlet_mut().drain();
        feed.end_unbegun(clock.now());
        let end = clock.now();
        feed.close(end);
        *closing = None;
        self.locks.release(|member| feed.is_under_way(member));
        let start = feed.setup().start;
        let meter = |target| Meter::new(target, start, IntervalRule::Time(INTERVAL_NS));
        let mut meters: Vec<Meter> = (0..self.queues.len()).map(meter).collect();
        meters.iter_mut().for_each(|meter| meter.finish(end));
        let mut curve = BufferCurve::new(RateGrid::default());
        curve.finish(end.since_ns(start).max(1));
        DrivenRecording {
            engine: None,
            meters,
            curve,
            end,
            cpu_share: 0.0,
            cpu_before_ns,
        }
    }

    fn recorded(
        &self,
        feed: &mut RecordFeed<ChannelInlet>,
        driven: DrivenRecording,
        before: Vec<RecordedBefore>,
    ) -> Recorded {
        let start = feed.setup().start;
        Recorded {
            store: self.store.id,
            recording: feed.setup().recording,
            started_ns: feed.setup().unix_clock.unix_ns(start),
            ended: feed.ending().unwrap_or(Ending::Error),
            standing: feed.board().read(),
            meters: driven.meters,
            slowness: feed.slowness(),
            written_latency: feed.take_written_latency(),
            durable_latency: feed.take_durable_latency(),
            frames: feed.take_frame_meters(),
            buffer_curve: driven.curve,
            append_bytes: self.append_bytes,
            parities: feed.setup().parity.map_or(0, |one| one.parities as u16),
            elapsed_ns: driven.end.since_ns(start).max(1),
            cpu_share: driven.cpu_share,
            path: self.store.path(),
            engine: self.engine_words.clone(),
            cpu_before_ns: driven.cpu_before_ns,
            begun_at: start,
            before,
        }
    }
}

fn driver_setup(start: Timestamp) -> DriverSetup {
    DriverSetup {
        start,
        interval: IntervalRule::Time(INTERVAL_NS),
        report_every_ns: REPORT_EVERY_NS,
        flush_at_end: false,
    }
}
