//! The work of the recorder's thread, from opening its engine to the outcome of the recording.

use std::sync::Arc;

use crossbeam_channel::Sender;
use sustain_disk::buffer::{Finder, Region};
use sustain_disk::clock::{Timestamp, thread_cpu_ns};
use sustain_disk::driver::{Driver, DriverSetup, Ending, QueueSetup};
use sustain_disk::engine::{self, Engine, Limits, SimulatedEngine};
use sustain_disk::meter::{BufferCurve, IntervalRule, RateGrid};
use sustain_disk::target::WriteLock;
use sustain_document::share::ShareResult;

use super::board::RecordingBoard;
use super::channel::{ChannelInlet, Exchange};
use super::feed::{Patience, RecordFeed, RecordSetup};
use super::member::MemberState;
use super::options::{RecordOptions, append_bytes};
use super::recorded::Recorded;
use super::share;
use crate::error::RecordError;
use crate::member_io::{MemberIo, StepsPatience};
use crate::store::{Renewal, Store};

/// Requests besides appends that a member may have in flight: a flush, and a start or end mark.
const DUTIES: u32 = 2;
/// How often the recorder's thread reports on its members.
const REPORT_EVERY_NS: u64 = 100_000_000;
const INTERVAL_NS: u64 = 1_000_000_000;

/// An engine, and a sentence about why it was chosen.
pub(super) type OpenedEngine = (Box<dyn Engine>, String);

/// Opens the I/O over which superblocks are written.
pub(super) type OpenIo = dyn Fn(&Store) -> Result<MemberIo, RecordError> + Send;

/// How superblocks are written, and how long members are waited for meanwhile.
pub(super) struct SuperblockWriter {
    pub(super) open_io: Box<OpenIo>,
    pub(super) patience: Patience,
}

/// Everything that the recorder's thread needs.
pub(super) struct RecorderJob {
    pub(super) store: Store,
    pub(super) setup: RecordSetup,
    pub(super) inlet: ChannelInlet,
    pub(super) exchange: Arc<Exchange>,
    pub(super) options: RecordOptions,
    pub(super) superblocks: SuperblockWriter,
}

/// What the recorder's thread says when it is ready.
pub(super) struct ReadyRecorder {
    pub(super) board: Arc<RecordingBoard>,
    pub(super) share: ShareResult,
}

/// Keeps members locked for as long as the process lives, unless it is known that nothing is in
/// flight on them. This holds even if the engine breaks or the recorder's thread panics.
struct HeldLocks(Vec<Option<Arc<WriteLock>>>);

impl HeldLocks {
    fn of(store: &Store) -> HeldLocks {
        let members = store.members.iter();
        HeldLocks(members.map(|member| member.target.lock.clone()).collect())
    }

    fn release(&mut self, is_under_way: impl Fn(usize) -> bool) {
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
struct Closing {
    exchange: Arc<Exchange>,
    board: Arc<RecordingBoard>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.exchange.close();
        self.board.write(|standing| standing.is_over = true);
    }
}

impl RecorderJob {
    pub(super) fn run(
        mut self,
        open_engine: impl FnOnce(&RecorderJob) -> Result<OpenedEngine, RecordError>,
        ready: &Sender<ReadyRecorder>,
    ) -> Result<Recorded, RecordError> {
        let append_bytes = append_bytes(&self.store, &self.options);
        let slots_begun = self.store.slots_begun_at_start(self.options.ring);
        let share = share::take(
            self.options.share,
            !self.store.machines().is_empty(),
            &self.exchange.pool,
        );
        // Memory that is registered with the kernel must be there now; the rest is allocated while
        // bytes come.
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
        feed.declare_frame_rates(&self.options.frame_rates);
        // Bytes may come from now on, and those who wait for the recorder can go on. A disk may
        // take its time for the superblocks, while a source that cannot wait fills the buffer.
        let _ = ready.send(ReadyRecorder {
            board: feed.board(),
            share,
        });
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
        // Dropping the driver waits for what is in flight. Everyone else learns before that the
        // recording is over.
        let closing = preparing;
        let driven = driver.run(&mut feed, &mut |progress| {
            for arrival in &progress.arrivals {
                curve.complete(arrival.at_ns, arrival.bytes);
            }
        });
        let end = clock.now();
        feed.inlet_mut().drain();
        feed.close(end);
        drop(closing);
        // Requests that a member has not answered may still be written there, so nobody else may
        // write to it.
        locks.release(|member| feed.is_under_way(member));
        driven?;
        let wall_ns = end.since_ns(start).max(1);
        curve.finish(wall_ns);
        close_superblocks(&mut self.store, &self.superblocks, &feed)?;
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
            frames: feed.take_frame_meters(),
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

    /// Opens the engine that the options ask for.
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

/// Writes superblocks, and returns the members that did not answer. A simulated member always
/// answers, in its own time.
fn renew_superblocks(
    store: &mut Store,
    open_io: &OpenIo,
    patience: StepsPatience,
    slots_begun: &[u64],
    renewal: Renewal<'_>,
) -> Result<Vec<(usize, String)>, RecordError> {
    if store.machines().is_empty() {
        let io = open_io(store)?;
        return store.renew_superblocks_within(io, (slots_begun, renewal), patience);
    }
    store.renew_superblocks(slots_begun, renewal)?;
    Ok(Vec::new())
}

/// Makes the superblocks say, before the first write, that there will be one. Returns the members
/// on which they do not say so, with the reason: what is written there might not be found after a
/// crash.
fn begin_superblocks(
    store: &mut Store,
    writer: &SuperblockWriter,
    slots_begun: &[u64],
) -> Result<Vec<(usize, String)>, RecordError> {
    let patience = StepsPatience {
        for_others_ns: writer.patience.slow_after_ns,
        for_first_ns: writer.patience.given_up_after_ns,
    };
    let begins = Renewal::Begins;
    let mut silent = renew_superblocks(store, &*writer.open_io, patience, slots_begun, begins)?;
    for (member, words) in &mut silent {
        words.push_str(&format!(
            " before anything was recorded on it. {}",
            what_to_do(&store.members[*member].name)
        ));
    }
    if silent.len() == store.members.len() {
        let all: Vec<String> = silent.into_iter().map(|(_, words)| words).collect();
        return Err(RecordError::Silent(all.join("; ")));
    }
    Ok(silent)
}

/// Writes the hint for the next opening. If a member has failed, nothing more is asked of it.
fn close_superblocks(
    store: &mut Store,
    writer: &SuperblockWriter,
    feed: &RecordFeed<ChannelInlet>,
) -> Result<(), RecordError> {
    if feed.has_failed_members() {
        return Ok(());
    }
    let patience = StepsPatience {
        for_others_ns: writer.patience.given_up_after_ns,
        for_first_ns: writer.patience.given_up_after_ns,
    };
    let slots_begun = feed.slots_begun();
    let have_end = feed.have_end();
    let ended = Renewal::Ended(&have_end);
    let silent = renew_superblocks(store, &*writer.open_io, patience, &slots_begun, ended)?;
    for (member, words) in silent {
        let error = format!(
            "{words} after the whole recording was durable on it. {}",
            what_to_do(&store.members[member].name)
        );
        feed.board().write(|standing| {
            standing.members[member].state = MemberState::Failed;
            standing.members[member].error = Some(error);
        });
    }
    Ok(())
}

fn what_to_do(name: &str) -> String {
    format!(
        "Check the kernel log (dmesg) and the cable. Until the request returns, the kernel keeps \
         {name} locked"
    )
}

fn driver_setup(start: Timestamp) -> DriverSetup {
    DriverSetup {
        start,
        interval: IntervalRule::Time(INTERVAL_NS),
        report_every_ns: REPORT_EVERY_NS,
        flush_at_end: false,
    }
}
