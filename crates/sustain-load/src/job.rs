//! The part of one driver in a phase: its targets, their streams and windows, its memory and its
//! engine. All of it is set up and run in the driver's own thread.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crossbeam_channel::{Receiver, Sender};
use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::{Timestamp, thread_cpu_ns};
use sustain_disk::data::{DataKind, FreshData};
use sustain_disk::driver::{Driver, DriverProgress, DriverSetup, QueueSetup};
use sustain_disk::engine::{self, Engine, EngineChoice, Limits, Operation, SimulatedEngine};
use sustain_disk::error::Error;
use sustain_disk::layout::{Layout, Placement, Turns};
use sustain_disk::meter::Meter;
use sustain_disk::target::{DataPath, Direction, Passthrough};
use sustain_targets::Stop;

use crate::event::Phase;
use crate::feed::{Lane, Making, MeasureFeed, PhaseStop};
use crate::lap::{Flushing, LapEnd};
use crate::open_target::OpenTarget;
use crate::pacer::Pacer;
use crate::session::Session;
use crate::setup::{DriverOutcome, PhaseSetup, REPORT_EVERY_NS, StreamRegion};

/// A message to the collector.
pub enum CollectorMessage {
    Ready {
        engine: &'static str,
        why: String,
    },
    Progress {
        driver: usize,
        progress: DriverProgress,
        cpu_ns: u64,
    },
    Finished {
        driver: usize,
        meters: Vec<Meter>,
        outcome: DriverOutcome,
    },
    Failed(Error),
}

/// One driver's part of a phase.
pub struct DriverJob<'a> {
    pub driver: usize,
    pub session: &'a Session,
    pub setup: &'a PhaseSetup,
    /// Members of the setup, in the driver's own order: what reads beside comes last.
    pub members: Vec<usize>,
    pub user_stop: Stop,
    pub phase_stop: PhaseStop,
    pub pacer_start: Arc<OnceLock<Arc<Pacer>>>,
}

impl DriverJob<'_> {
    /// The body of the thread of a real driver.
    pub fn run_thread(&self, start: &Receiver<Timestamp>, messages: &Sender<CollectorMessage>) {
        // A closed channel means that the collector has stopped; the stop flags end the run.
        let mut send = |message| drop(messages.send(message));
        if let Err(error) = self.drive(&mut || start.recv().ok(), &mut send) {
            send(CollectorMessage::Failed(error));
        }
    }

    /// Sets up, waits for the start, runs.
    pub fn drive(
        &self,
        start: &mut dyn FnMut() -> Option<Timestamp>,
        send: &mut dyn FnMut(CollectorMessage),
    ) -> Result<(), Error> {
        let clock = &self.session.clock;
        let mut feed = self.feed()?;
        let (engine, why) = self.engine(&feed.pool)?;
        let name = engine.name();
        send(CollectorMessage::Ready {
            engine: name,
            why: why.clone(),
        });
        let Some(start) = start() else { return Ok(()) };
        feed.deadline = self.setup.time_ns.map(|time_ns| start + time_ns);
        self.pace(&mut feed, start);
        let setup = DriverSetup {
            start,
            interval: self.setup.interval,
            report_every_ns: REPORT_EVERY_NS,
            flush_at_end: self.setup.flush_at_end,
        };
        let mut driver =
            Driver::new(engine, clock.clone(), &self.queues(), setup).in_turns(self.turns());
        let cpu_before = thread_cpu_ns();
        driver.run(&mut feed, &mut |progress| {
            let cpu_ns = thread_cpu_ns() - cpu_before;
            send(CollectorMessage::Progress {
                driver: self.driver,
                progress,
                cpu_ns,
            });
        })?;
        let elapsed_ns = clock.now().since_ns(start).max(1);
        let outcome = DriverOutcome {
            engine: name,
            why,
            cpu_share: (thread_cpu_ns() - cpu_before) as f64 / elapsed_ns as f64,
            making_share: feed
                .making
                .map_or(0.0, |making| making.busy_ns as f64 / elapsed_ns as f64),
            submit_blocked_ns: driver.engine().submit_blocked_ns(),
        };
        send(CollectorMessage::Finished {
            driver: self.driver,
            meters: driver.into_meters(),
            outcome,
        });
        Ok(())
    }

    fn target(&self, member: usize) -> &OpenTarget {
        &self.session.targets[self.setup.target_of(member)]
    }

    fn depth(&self) -> u32 {
        if self.setup.engine == EngineChoice::Sync && !self.is_simulated() {
            1
        } else {
            self.setup.depth
        }
    }

    fn is_simulated(&self) -> bool {
        self.members
            .iter()
            .any(|member| self.target(*member).simulated.is_some())
    }

    /// Paces the lanes by the source: all drivers share one pacer, which the first to start
    /// creates, and the dummy has one of its own.
    fn pace(&self, feed: &mut MeasureFeed, start: Timestamp) {
        let new = |rate| Arc::new(Pacer::new(start, rate, self.setup.record_bytes));
        if let Some(rate) = self.setup.rate_bytes_per_s {
            let pacer = self.pacer_start.get_or_init(|| new(rate));
            for lane in feed.lanes.iter_mut().take(self.own_lanes()) {
                lane.pacer = Some(Arc::clone(pacer));
            }
        }
        if let Some(dummy) = self.setup.dummy
            && let Some(lane) = self
                .members
                .iter()
                .position(|member| *member == dummy.member)
        {
            feed.lanes[lane].pacer = Some(new(dummy.rate_bytes_per_s));
        }
    }

    /// How many of the driver's lanes are the phase's own; the others read beside them.
    fn own_lanes(&self) -> usize {
        self.streams()
            .iter()
            .filter(|stream| !self.is_beside(stream))
            .count()
    }

    /// The driver's targets of each of its streams.
    fn streams(&self) -> Vec<Vec<usize>> {
        let targets = 0..self.members.len();
        if self.setup.layout.has_own_streams() {
            return targets.map(|target| vec![target]).collect();
        }
        let width = self.setup.targets.len();
        let (own, beside): (Vec<usize>, Vec<usize>) = targets.partition(|target| *target < width);
        [own, beside]
            .into_iter()
            .filter(|stream| !stream.is_empty())
            .collect()
    }

    /// Whether a stream over these of the driver's targets reads beside the phase's own.
    fn is_beside(&self, stream: &[usize]) -> bool {
        self.members[stream[0]] >= self.setup.targets.len()
    }

    fn queues(&self) -> Vec<QueueSetup> {
        let depth = self.depth();
        let queue = |targets: Vec<usize>| {
            // A stripe keeps its depth on every member; a span is on one member at a time.
            let width = match self.setup.layout {
                Layout::Stripe { .. } => targets.len() as u32,
                Layout::Independent | Layout::Turns | Layout::Span => 1,
            };
            QueueSetup {
                targets,
                depth: depth * width,
            }
        };
        self.streams().into_iter().map(queue).collect()
    }

    /// The queues that are fed in turns, in the order of the phase's targets. What reads beside
    /// them takes turns of its own.
    fn turns(&self) -> Vec<Turns> {
        match self.setup.layout {
            Layout::Turns => {
                let (own, all) = (self.own_lanes(), self.streams().len());
                [0..own, own..all]
                    .map(|queues| Turns::new(queues.collect()))
                    .to_vec()
            }
            Layout::Independent | Layout::Stripe { .. } | Layout::Span => Vec::new(),
        }
    }

    fn feed(&self) -> Result<MeasureFeed, Error> {
        let buffers: u32 = self.queues().iter().map(|queue| queue.depth).sum();
        let mut pool = BufferPool::new(buffers as usize, self.setup.record_bytes as usize)?;
        let writes = self.setup.operation == Operation::Write;
        // Each driver's data differs from that of the others.
        let seed = self.setup.data_seed.wrapping_add(self.driver as u64);
        let is_written = writes && !self.is_simulated();
        let mut data = FreshData::of_kind(self.setup.data, seed).filter(|_| is_written);
        if let Some(data) = &mut data {
            pool.free_mut()
                .iter_mut()
                .for_each(|buffer| data.fill(buffer.bytes_mut()));
        }
        Ok(MeasureFeed {
            lanes: self.lanes(),
            record_bytes: self.setup.record_bytes,
            pool,
            data,
            making: (is_written && self.setup.data == DataKind::Rewritten).then(|| Making {
                clock: self.session.clock.clone(),
                busy_ns: 0,
            }),
            deadline: None,
            user_stop: self.user_stop.clone(),
            phase_stop: self.phase_stop.clone(),
            scratch: Vec::new(),
            has_ended_lap: false,
            has_turns: self.setup.layout == Layout::Turns,
        })
    }

    /// Decides what a stream over these targets, in the driver's order, waits for before it goes
    /// over them again.
    fn lap_end(&self, targets: &[usize]) -> LapEnd {
        if self.setup.path != DataPath::Buffered {
            return LapEnd::Nothing;
        }
        match self.setup.operation_of(self.members[targets[0]]) {
            // Flushing would hold up a source that does not wait, though no recorder does that;
            // whether such a rate was held is therefore not decided.
            Operation::Write if self.setup.rate_bytes_per_s.is_some() => LapEnd::Nothing,
            Operation::Write => LapEnd::Flushed(Flushing::default()),
            Operation::Read | Operation::Flush => {
                let opened =
                    |target: &usize| self.target(self.members[*target]).target.file.clone();
                LapEnd::Forgotten(targets.iter().filter_map(opened).collect())
            }
        }
    }

    fn lanes(&self) -> Vec<Lane> {
        let streams = self.streams().into_iter();
        streams.map(|targets| self.lane(targets)).collect()
    }

    /// One stream over these of the driver's targets.
    fn lane(&self, targets: Vec<usize>) -> Lane {
        let setup = self.setup;
        let is_beside = self.is_beside(&targets);
        // For a stripe or span, the first entry counts.
        let first = self.members[targets[0]];
        let entry = first % setup.targets.len();
        let all = StreamRegion {
            from_bytes: 0,
            to_bytes: u64::MAX,
        };
        let regions = if is_beside {
            &setup.read_back
        } else {
            &setup.regions
        };
        let region = regions.get(entry).copied().unwrap_or(all);
        let bound = setup.bytes.filter(|_| !is_beside);
        Lane {
            operation: setup.operation_of(first),
            left_bytes: bound.map(|bytes| bytes.saturating_mul(targets.len() as u64)),
            lap_end: self.lap_end(&targets),
            placement: self.placement(&targets),
            position_bytes: match is_beside {
                true => region.from_bytes,
                false => setup.positions_bytes[entry],
            },
            wraps: is_beside || setup.wraps.unwrap_or(self.target(first).wraps),
            takes_rest: setup.phase == Phase::Prewrite,
            targets,
            region,
            pending: VecDeque::new(),
            due_at: None,
            pacer: None,
            in_flight: 0,
            is_held: false,
        }
    }

    /// How a stream lies on these of the driver's targets.
    fn placement(&self, targets: &[usize]) -> Placement {
        let extent = self.setup.extent_bytes.unwrap_or(u64::MAX);
        let size = |target: &usize| self.target(self.members[*target]).size_bytes.min(extent);
        let sizes_bytes: Vec<u64> = targets.iter().map(size).collect();
        match self.setup.layout {
            Layout::Independent | Layout::Turns | Layout::Span => Placement::Span { sizes_bytes },
            Layout::Stripe { chunk_bytes } => Placement::Stripe {
                chunk_bytes,
                members: sizes_bytes.len(),
                member_size_bytes: sizes_bytes.iter().copied().min().unwrap_or(0),
            },
        }
    }

    fn engine(&self, pool: &BufferPool) -> Result<(Box<dyn Engine>, String), Error> {
        let session = self.session;
        if self.is_simulated() {
            let targets = self
                .members
                .iter()
                .filter_map(|member| self.target(*member).simulated)
                .collect();
            let machines = session.machines.shared().to_vec();
            let engine = SimulatedEngine::new(machines, targets, session.clock.clone());
            let why = engine.describe();
            return Ok((Box::new(engine), why));
        }
        let in_flight_max = self.queues().iter().map(|queue| queue.depth).sum();
        let limits = Limits {
            depth: self.depth(),
            in_flight_max,
        };
        let (engine, why) = self.real_engine(limits, pool)?;
        if session.direction == Direction::Write {
            return Ok((engine, why));
        }
        let engine = session.recorders_beside().let_pass(engine, &session.clock);
        Ok((engine, why))
    }

    fn real_engine(
        &self,
        limits: Limits,
        pool: &BufferPool,
    ) -> Result<(Box<dyn Engine>, String), Error> {
        let session = self.session;
        if self.setup.path == DataPath::Passthrough {
            let disks = self.passed_through();
            let opened =
                engine::open_passthrough(self.setup.engine, &disks, limits, &session.clock)?;
            return Ok((opened.engine, opened.why));
        }
        let files = self
            .members
            .iter()
            .map(|member| {
                let file = self.target(*member).target.file.as_ref();
                Arc::clone(file.expect("a target that is not simulated is an open file"))
            })
            .collect();
        let opened = engine::open(
            self.setup.engine,
            files,
            limits,
            pool.regions(),
            &session.clock,
        )?;
        Ok((opened.engine, opened.why))
    }

    fn passed_through(&self) -> Vec<Passthrough> {
        let members = self.members.iter();
        members
            .map(|member| {
                let passthrough = self.target(*member).passthrough.clone();
                passthrough.expect("a target without passthrough is not driven by it")
            })
            .collect()
    }
}
