//! What the recorder's thread does, from its engine to what has become of the recording.

use std::sync::Arc;

use crossbeam_channel::Sender;
use sustain_disk::buffer::{Finder, Region};
use sustain_disk::clock::{Timestamp, thread_cpu_ns};
use sustain_disk::driver::{Driver, DriverSetup, Ending, QueueSetup};
use sustain_disk::engine::{self, Engine, Limits, SimulatedEngine};
use sustain_disk::meter::{BufferCurve, IntervalRule, RateGrid};

use super::board::Board;
use super::channel::{ChannelInlet, Exchange};
use super::feed::{RecordFeed, RecordSetup};
use super::recording::{RecordOptions, Recorded, append_bytes};
use crate::error::RecordError;
use crate::store::Store;

/// Requests besides appends that a member may have in flight: a flush, a mark.
const DUTIES: u32 = 2;
/// What the recorder thread tells of its members, so often.
const REPORT_EVERY_NS: u64 = 100_000_000;
const INTERVAL_NS: u64 = 1_000_000_000;

/// An engine, and how it came about.
pub(super) type OpenedEngine = (Box<dyn Engine>, String);

/// What runs in the recorder's thread.
pub(super) struct Job {
    pub(super) store: Store,
    pub(super) setup: RecordSetup,
    pub(super) inlet: ChannelInlet,
    pub(super) exchange: Arc<Exchange>,
    pub(super) options: RecordOptions,
}

/// Ends the recording for everyone who waits for it, whichever way its thread is left: whoever fills
/// memory, and whoever waits for a watermark, would else wait for ever after a panic.
struct Closing {
    exchange: Arc<Exchange>,
    board: Arc<Board>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.exchange.close();
        self.board.write(|standing| standing.is_over = true);
    }
}

impl Job {
    pub(super) fn run(
        mut self,
        open_engine: impl FnOnce(&Job) -> Result<OpenedEngine, RecordError>,
        ready: &Sender<Arc<Board>>,
    ) -> Result<Recorded, RecordError> {
        let append_bytes = append_bytes(&self.store, &self.options);
        let slots_begun = self.store.slots_begun_at_start(self.options.ring);
        // What is registered must be there; the rest is found while bytes come.
        let registered = self.exchange.pool.regions().iter();
        let registered_bytes = registered.map(|region| region.length()).sum();
        self.exchange.pool.find(registered_bytes)?;
        let (engine, why) = open_engine(&self)?;
        let _finder = Finder::start(self.exchange.pool.clone());
        self.exchange.set_waker(engine.waker());
        let name = engine.name();
        let clock = self.store.clock().clone();
        let queues = self.queues();
        let start = clock.now();
        self.setup.start = start;
        let mut feed = RecordFeed::new(self.setup, self.inlet)?;
        // Now bytes may come; whoever waits for it has asked for this recorder. A disk takes its time
        // for the superblocks, while a source that cannot wait fills the buffer.
        let _ = ready.send(feed.board());
        let preparing = Closing {
            exchange: self.exchange,
            board: feed.board(),
        };
        let silent = begin_superblocks(&mut self.store, &self.superblocks, &slots_begun)?;
        for (member, words) in silent {
            feed.leave_out(member, words);
        }
        let mut locks = HeldLocks::of(&self.store);
        let own_before = thread_cpu_ns();
        let mut curve = BufferCurve::new(RateGrid::default());
        let mut driver = Driver::new(engine, clock.clone(), &queues, driver_setup(start));
        // Before the driver, which waits for what is in flight, it is said that all is over.
        let closing = preparing;
        let driven = driver.run(&mut feed, &mut |progress| {
            for (at_ns, bytes) in &progress.arrivals {
                curve.complete(*at_ns, *bytes);
            }
        });
        let end = clock.now();
        feed.inlet_mut().drain();
        feed.close(end);
        drop(closing);
        driven?;
        for member in feed.given_up() {
            // What it has kept may still be written there, so nobody else may.
            std::mem::forget(self.store.members[member].target.lock.clone());
        }
        let wall_ns = end.since_ns(start).max(1);
        curve.finish(wall_ns);
        close_superblocks(&mut self.store, &feed)?;
        Ok(Recorded {
            store: self.store.id,
            recording: feed.setup().recording,
            started_ns: feed.setup().wall.unix_ns(start),
            ended: feed.ending().unwrap_or(Ending::Error),
            standing: feed.board().read(),
            meters: driver.into_meters(),
            slowness: feed.slowness(),
            written_latency: feed.take_written_latency(),
            durable_latency: feed.take_durable_latency(),
            buffer_curve: curve,
            append_bytes,
            wall_ns,
            cpu_share: (thread_cpu_ns() - own_before) as f64 / wall_ns as f64,
            engine: (name, why),
        })
    }

    fn queues(&self) -> Vec<QueueSetup> {
        (0..self.store.members.len())
            .map(|member| QueueSetup {
                targets: vec![member],
                depth: self.options.depth + DUTIES,
            })
            .collect()
    }

    /// The engine that the options ask for.
    pub(super) fn engine(&self) -> Result<OpenedEngine, RecordError> {
        let simulated: Vec<_> = self
            .store
            .members
            .iter()
            .filter_map(|member| member.simulated)
            .collect();
        if !simulated.is_empty() {
            let machines = self.store.machines().to_vec();
            let engine = SimulatedEngine::new(machines, simulated, self.store.clock().clone());
            let why = engine.describe();
            return Ok((Box::new(engine), why));
        }
        let members = self.store.members.iter();
        let files = members
            .filter_map(|member| member.target.file.clone())
            .collect();
        let depth = self.options.depth + DUTIES;
        let limits = Limits {
            depth,
            in_flight_max: depth * self.store.members.len() as u32,
        };
        let regions: Vec<Arc<Region>> = self.exchange.pool.regions().to_vec();
        let clock = self.store.clock();
        let opened = engine::open(self.options.engine, files, limits, &regions, clock)?;
        Ok((opened.engine, opened.why))
    }
}

/// The hint for the next opening. Of a member that has failed nothing more is asked.
fn close_superblocks(
    store: &mut Store,
    feed: &RecordFeed<ChannelInlet>,
) -> Result<(), RecordError> {
    if feed.has_failed_members() {
        return Ok(());
    }
    store.renew_superblocks(&feed.slots_begun())
}

fn driver_setup(start: Timestamp) -> DriverSetup {
    DriverSetup {
        start,
        interval: IntervalRule::Time(INTERVAL_NS),
        report_every_ns: REPORT_EVERY_NS,
        flush_at_end: false,
    }
}
