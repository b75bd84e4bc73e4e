//! One stretch of driving disks: prewriting, measuring or confirming. Sets up the drivers, runs
//! them together from one start, and collects what they tell.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::{Clock, Timestamp, process_cpu_ns, thread_cpu_ns};
use sustain_disk::data::FreshData;
use sustain_disk::driver::{Driver, DriverSetup, Progress, QueueSetup};
use sustain_disk::engine::{self, Engine, EngineChoice, Limits, Operation, SimulatedEngine};
use sustain_disk::error::Error;
use sustain_disk::layout::{Layout, Placement};
use sustain_disk::meter::{IntervalRule, Meter};

use crate::collect::{Collected, Collector};
use crate::event::{Event, Observer, Phase};
use crate::feed::{Lane, MeasureFeed, Stop};
use crate::pacer::Pacer;
use crate::session::{OpenTarget, Session};

/// Time between a driver's reports.
const REPORT_EVERY_NS: u64 = 100_000_000;
/// Reports that may wait for the collector.
const MESSAGES_MAX: usize = 64;

/// What a phase is to do.
#[derive(Clone)]
pub(crate) struct PhaseSetup {
    pub(crate) phase: Phase,
    /// Indices into the session's targets.
    pub(crate) targets: Vec<usize>,
    pub(crate) operation: Operation,
    pub(crate) record_bytes: u64,
    pub(crate) depth: u32,
    pub(crate) engine: EngineChoice,
    pub(crate) threads: u32,
    pub(crate) layout: Layout,
    pub(crate) flush_at_end: bool,
    pub(crate) interval: IntervalRule,
    pub(crate) time_ns: Option<u64>,
    /// Bound per target.
    pub(crate) bytes: Option<u64>,
    pub(crate) rate_bytes_per_s: Option<f64>,
    /// Seed of fresh data; none for zeros.
    pub(crate) data_seed: Option<u64>,
    /// Whether streams start again at 0; none leaves it to the target.
    pub(crate) wraps: Option<bool>,
    /// Where each target's stream begins; of a stripe or span the first entry counts.
    pub(crate) positions_bytes: Vec<u64>,
    /// After how many bytes each target comes back to its start, if it does.
    pub(crate) lap_bytes: Vec<Option<u64>>,
    /// End once every target is steady.
    pub(crate) until_steady: bool,
    /// Give up early if a driver is the limit and more drivers could help.
    pub(crate) may_start_anew: bool,
}

/// What came of a phase.
pub(crate) struct PhaseOutcome {
    pub(crate) collected: Collected,
    /// One per target of the phase.
    pub(crate) meters: Vec<Meter>,
    pub(crate) drivers: Vec<DriverOutcome>,
    /// CPU time of the whole process from start to end.
    pub(crate) cpu_ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) started_anew: bool,
}

/// What one driver says of itself.
#[derive(Debug, Clone)]
pub(crate) struct DriverOutcome {
    pub(crate) engine: &'static str,
    pub(crate) why: String,
    /// Its thread's CPU time over the wall clock.
    pub(crate) cpu_share: f64,
    pub(crate) submit_blocked_ns: u64,
}

/// What reaches the collector.
enum Message {
    Ready {
        engine: &'static str,
        why: String,
    },
    Progress {
        driver: usize,
        progress: Progress,
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
struct Job<'a> {
    driver: usize,
    session: &'a Session,
    setup: &'a PhaseSetup,
    /// Positions in `setup.targets`, in the driver's own order.
    members: Vec<usize>,
    user_stop: Stop,
    phase_stop: Stop,
    pacer_start: Arc<std::sync::OnceLock<Arc<Pacer>>>,
}

/// Called once or more a second while real drivers run; for the system's own figures.
pub(crate) type Ticker<'a> = dyn FnMut(Timestamp, Timestamp) + 'a;

/// Runs a phase to its end.
pub(crate) fn run(
    session: &Session,
    setup: &PhaseSetup,
    user_stop: &Stop,
    observer: &mut Observer<'_>,
    tick: &mut Ticker<'_>,
) -> Result<PhaseOutcome, Error> {
    let phase_stop = Stop::default();
    let groups = group(session, setup);
    let pacer = Arc::new(std::sync::OnceLock::new());
    let jobs: Vec<Job<'_>> = groups
        .into_iter()
        .enumerate()
        .map(|(driver, members)| Job {
            driver,
            session,
            setup,
            members,
            user_stop: user_stop.clone(),
            phase_stop: phase_stop.clone(),
            pacer_start: Arc::clone(&pacer),
        })
        .collect();
    let members: Vec<Vec<usize>> = jobs.iter().map(|job| job.members.clone()).collect();
    let names = setup
        .targets
        .iter()
        .map(|target| session.targets[*target].target.name.clone())
        .collect();
    let collector = Collector::new(setup, names, members, phase_stop.clone());
    if session.clock.is_virtual() {
        run_virtually(&jobs, collector, observer)
    } else {
        run_really(&jobs, &session.clock, collector, observer, tick)
    }
}

/// Which targets each driver gets. A stream over several targets has one driver; simulated
/// targets have one of their own.
fn group(session: &Session, setup: &PhaseSetup) -> Vec<Vec<usize>> {
    let all = 0..setup.targets.len();
    if setup.layout != Layout::Independent {
        return vec![all.collect()];
    }
    let is_simulated = |member: &usize| session.targets[setup.targets[*member]].simulated.is_some();
    let (simulated, real): (Vec<usize>, Vec<usize>) = all.partition(is_simulated);
    let mut groups = Vec::new();
    if !real.is_empty() {
        let count = (setup.threads.max(1) as usize).min(real.len());
        groups.resize(count, Vec::new());
        for (index, member) in real.into_iter().enumerate() {
            groups[index % count].push(member);
        }
    }
    if !simulated.is_empty() {
        groups.push(simulated);
    }
    groups
}

fn run_virtually(
    jobs: &[Job<'_>],
    mut collector: Collector,
    observer: &mut Observer<'_>,
) -> Result<PhaseOutcome, Error> {
    let [job] = jobs else {
        unreachable!("simulated targets share one driver")
    };
    let clock = &job.session.clock;
    let start = clock.now();
    let mut finished = Vec::new();
    job.drive(&mut || Some(start), &mut |message| match message {
        Message::Progress {
            driver, progress, ..
        } => {
            collector.take(driver, progress, 0.0, observer);
        }
        Message::Finished {
            driver,
            meters,
            outcome,
        } => finished.push((driver, meters, outcome)),
        Message::Ready { engine, why } => tell_engine(job, engine, &why, observer),
        Message::Failed(_) => {}
    })?;
    let wall_ns = clock.now().since_ns(start);
    Ok(assemble(jobs, collector, finished, 0, wall_ns))
}

fn run_really(
    jobs: &[Job<'_>],
    clock: &Clock,
    mut collector: Collector,
    observer: &mut Observer<'_>,
    tick: &mut Ticker<'_>,
) -> Result<PhaseOutcome, Error> {
    let (messages, inbox) = bounded(MESSAGES_MAX);
    std::thread::scope(|scope| {
        // Ours alone: when this ends early, no driver may wait for room in the channel.
        let inbox = inbox;
        let mut starters = Vec::new();
        for job in jobs {
            let (starter, start) = bounded::<Timestamp>(1);
            starters.push(starter);
            let messages = messages.clone();
            let body = move || job.run_thread(&start, &messages);
            std::thread::Builder::new()
                .name(format!("sustain-drv-{}", job.driver))
                .spawn_scoped(scope, body)
                .map_err(|source| Error::EngineFailed {
                    engine: "driver",
                    source,
                })?;
        }
        drop(messages);
        await_ready(&inbox, jobs, observer)?;
        let start = clock.now();
        let cpu_before = process_cpu_ns();
        for starter in &starters {
            starter
                .send(start)
                .expect("a driver that is ready waits for its start");
        }
        let finished = listen(&inbox, clock, start, &mut collector, observer, tick)?;
        let cpu_ns = process_cpu_ns() - cpu_before;
        let wall_ns = clock.now().since_ns(start);
        Ok(assemble(jobs, collector, finished, cpu_ns, wall_ns))
    })
}

/// Waits until every driver is set up.
fn await_ready(
    inbox: &Receiver<Message>,
    jobs: &[Job<'_>],
    observer: &mut Observer<'_>,
) -> Result<(), Error> {
    for index in 0..jobs.len() {
        match inbox.recv() {
            Ok(Message::Ready { engine, why }) if index == 0 => {
                tell_engine(&jobs[0], engine, &why, observer);
            }
            Ok(Message::Ready { .. }) => {}
            Ok(Message::Failed(error)) => return Err(error),
            Ok(_) | Err(_) => unreachable!("a driver says that it is ready before all else"),
        }
    }
    Ok(())
}

/// What drives the run, and why: before it begins.
fn tell_engine(job: &Job<'_>, engine: &str, why: &str, observer: &mut Observer<'_>) {
    if job.setup.phase == Phase::Measure {
        observer(Event::Note(format!("engine {engine}: {why}")));
    }
}

type Finished = Vec<(usize, Vec<Meter>, DriverOutcome)>;

/// Takes messages until the last driver is finished.
fn listen(
    inbox: &Receiver<Message>,
    clock: &Clock,
    start: Timestamp,
    collector: &mut Collector,
    observer: &mut Observer<'_>,
    tick: &mut Ticker<'_>,
) -> Result<Finished, Error> {
    let mut finished = Vec::new();
    let patience = std::time::Duration::from_nanos(REPORT_EVERY_NS);
    loop {
        match inbox.recv_timeout(patience) {
            Ok(Message::Progress {
                driver,
                progress,
                cpu_ns,
            }) => {
                let cpu_share = cpu_ns as f64 / progress.at_ns.max(1) as f64;
                collector.take(driver, progress, cpu_share, observer);
            }
            Ok(Message::Finished {
                driver,
                meters,
                outcome,
            }) => {
                finished.push((driver, meters, outcome));
            }
            Ok(Message::Failed(error)) => {
                collector.give_up();
                return Err(error);
            }
            Ok(Message::Ready { .. }) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(finished),
        }
        tick(start, clock.now());
    }
}

fn assemble(
    jobs: &[Job<'_>],
    collector: Collector,
    mut finished: Finished,
    cpu_ns: u64,
    wall_ns: u64,
) -> PhaseOutcome {
    finished.sort_by_key(|(driver, ..)| *driver);
    let started_anew = collector.started_anew();
    let mut meters: Vec<(usize, Meter)> = Vec::new();
    let mut drivers = Vec::new();
    for (driver, own, outcome) in finished {
        meters.extend(jobs[driver].members.iter().copied().zip(own));
        drivers.push(outcome);
    }
    meters.sort_by_key(|(member, _)| *member);
    PhaseOutcome {
        collected: collector.finish(),
        meters: meters.into_iter().map(|(_, meter)| meter).collect(),
        drivers,
        cpu_ns,
        wall_ns,
        started_anew,
    }
}

impl Job<'_> {
    fn run_thread(&self, start: &Receiver<Timestamp>, messages: &Sender<Message>) {
        // A closed channel means that the collector has given up; the stop flags end the run.
        let mut send = |message| drop(messages.send(message));
        if let Err(error) = self.drive(&mut || start.recv().ok(), &mut send) {
            send(Message::Failed(error));
        }
    }

    /// Sets up, waits for the start, runs.
    fn drive(
        &self,
        start: &mut dyn FnMut() -> Option<Timestamp>,
        send: &mut dyn FnMut(Message),
    ) -> Result<(), Error> {
        let clock = &self.session.clock;
        let mut feed = self.feed()?;
        let (engine, why) = self.engine(&feed.pool)?;
        let name = engine.name();
        send(Message::Ready {
            engine: name,
            why: why.clone(),
        });
        let Some(start) = start() else { return Ok(()) };
        feed.deadline = self.setup.time_ns.map(|time_ns| start + time_ns);
        feed.pacer = self.pacer(start);
        let setup = DriverSetup {
            start,
            interval: self.setup.interval,
            report_every_ns: REPORT_EVERY_NS,
            flush_at_end: self.setup.flush_at_end,
        };
        let mut driver = Driver::new(engine, clock.clone(), &self.queues(), setup);
        let cpu_before = thread_cpu_ns();
        driver.run(&mut feed, &mut |progress| {
            let cpu_ns = thread_cpu_ns() - cpu_before;
            send(Message::Progress {
                driver: self.driver,
                progress,
                cpu_ns,
            });
        })?;
        let wall_ns = clock.now().since_ns(start).max(1);
        let outcome = DriverOutcome {
            engine: name,
            why,
            cpu_share: (thread_cpu_ns() - cpu_before) as f64 / wall_ns as f64,
            submit_blocked_ns: driver.engine().submit_blocked_ns(),
        };
        send(Message::Finished {
            driver: self.driver,
            meters: driver.into_meters(),
            outcome,
        });
        Ok(())
    }

    fn target(&self, member: usize) -> &OpenTarget {
        &self.session.targets[self.setup.targets[member]]
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

    /// One pacer for all drivers, made by the first that starts.
    fn pacer(&self, start: Timestamp) -> Option<Arc<Pacer>> {
        let rate = self.setup.rate_bytes_per_s?;
        let record_bytes = self.setup.record_bytes;
        let pacer = self
            .pacer_start
            .get_or_init(|| Arc::new(Pacer::new(start, rate, record_bytes)));
        Some(Arc::clone(pacer))
    }

    fn queues(&self) -> Vec<QueueSetup> {
        let (depth, targets) = (self.depth(), 0..self.members.len());
        if self.setup.layout == Layout::Independent {
            return targets
                .map(|target| QueueSetup {
                    targets: vec![target],
                    depth,
                })
                .collect();
        }
        // A stripe keeps its depth on every member; a span is on one member at a time.
        let width = match self.setup.layout {
            Layout::Stripe { .. } => targets.len() as u32,
            Layout::Independent | Layout::Span => 1,
        };
        vec![QueueSetup {
            targets: targets.collect(),
            depth: depth * width,
        }]
    }

    fn feed(&self) -> Result<MeasureFeed, Error> {
        let buffers: u32 = self.queues().iter().map(|queue| queue.depth).sum();
        let mut pool = BufferPool::new(buffers as usize, self.setup.record_bytes as usize)?;
        let writes = self.setup.operation == Operation::Write;
        // Each driver's data differs from that of the others.
        let seed = self
            .setup
            .data_seed
            .map(|seed| seed.wrapping_add(self.driver as u64));
        let mut data = seed
            .filter(|_| writes && !self.is_simulated())
            .map(FreshData::new);
        if let Some(data) = &mut data {
            pool.free_mut()
                .iter_mut()
                .for_each(|buffer| data.fill(buffer.bytes_mut()));
        }
        Ok(MeasureFeed {
            lanes: self.lanes(),
            operation: self.setup.operation,
            record_bytes: self.setup.record_bytes,
            pool,
            data,
            pacer: None,
            deadline: None,
            user_stop: self.user_stop.clone(),
            phase_stop: self.phase_stop.clone(),
            scratch: Vec::new(),
        })
    }

    fn lanes(&self) -> Vec<Lane> {
        let sizes: Vec<u64> = self
            .members
            .iter()
            .map(|member| self.target(*member).size_bytes)
            .collect();
        let lane = |targets: Vec<usize>, placement: Placement, member: usize| Lane {
            left_bytes: self
                .setup
                .bytes
                .map(|bytes| bytes.saturating_mul(targets.len() as u64)),
            targets,
            placement,
            position_bytes: self.setup.positions_bytes[member],
            wraps: self.setup.wraps.unwrap_or(self.target(member).wraps),
            takes_rest: self.setup.phase == Phase::Prewrite,
            pending: VecDeque::new(),
            due_at: None,
        };
        let all = || (0..self.members.len()).collect();
        match self.setup.layout {
            Layout::Independent => self
                .members
                .iter()
                .enumerate()
                .map(|(index, member)| {
                    let sizes_bytes = vec![sizes[index]];
                    lane(vec![index], Placement::Span { sizes_bytes }, *member)
                })
                .collect(),
            Layout::Span => {
                vec![lane(
                    all(),
                    Placement::Span { sizes_bytes: sizes },
                    self.members[0],
                )]
            }
            Layout::Stripe { chunk_bytes } => {
                let member_size_bytes = sizes.iter().copied().min().unwrap_or(0);
                let members = self.members.len();
                let placement = Placement::Stripe {
                    chunk_bytes,
                    members,
                    member_size_bytes,
                };
                vec![lane(all(), placement, self.members[0])]
            }
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
            let machines = session.machines.clone();
            let engine = SimulatedEngine::new(machines, targets, session.clock.clone());
            let why = engine.describe();
            return Ok((Box::new(engine), why));
        }
        let files = self
            .members
            .iter()
            .map(|member| {
                let file = self.target(*member).target.file.as_ref();
                Arc::clone(file.expect("a target that is not simulated is an open file"))
            })
            .collect();
        let in_flight_max = self.queues().iter().map(|queue| queue.depth).sum();
        let limits = Limits {
            depth: self.depth(),
            in_flight_max,
        };
        let opened = engine::open(
            self.setup.engine,
            files,
            limits,
            pool.regions(),
            &session.clock,
        )?;
        Ok((opened.engine, opened.why))
    }
}
