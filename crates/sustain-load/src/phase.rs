//! One phase of driving disks: prewriting, measuring or confirming. It sets up the drivers, runs
//! them together from one start, and collects their reports.

use std::sync::{Arc, OnceLock};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use sustain_disk::clock::{Clock, Timestamp, process_cpu_ns};
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_targets::Stop;

use crate::collect::{Collected, Collectors};
use crate::event::{Event, Observer, Phase};
use crate::feed::PhaseStop;
use crate::job::{CollectorMessage, DriverJob};
use crate::session::Session;
use crate::setup::{DriverOutcome, PhaseSetup, REPORT_EVERY_NS};

/// Number of reports that may wait for the collector.
const MESSAGES_MAX: usize = 64;

/// The outcome of a phase.
pub struct PhaseOutcome {
    /// The series, merged.
    pub collected: Collected,
    /// One meter per target of the phase.
    pub meters: Vec<Meter>,
    /// The report of each driver.
    pub drivers: Vec<DriverOutcome>,
    /// CPU time of the whole process from start to end.
    pub cpu_ns: u64,
    /// The time from start to end.
    pub elapsed_ns: u64,
    /// Whether it ended early, because a driver was the limit and more drivers may help.
    pub started_anew: bool,
    /// What the streams did that read beside the phase's own, if there were any.
    pub read_back: Option<Box<PhaseOutcome>>,
}

/// A function that is called once a second or more while real drivers run, for the figures of the
/// system. It is given the start, the time, and the bytes of each target of the phase so far. The
/// text that it returns is shown to the user.
pub type Ticker<'a> = dyn FnMut(Timestamp, Timestamp, &[u64]) -> Option<String> + 'a;

/// Runs a phase to its end.
pub fn run(
    session: &Session,
    setup: &PhaseSetup,
    user_stop: &Stop,
    observer: &mut Observer<'_>,
    tick: &mut Ticker<'_>,
) -> Result<PhaseOutcome, Error> {
    let phase_stop = PhaseStop::default();
    let groups = group(session, setup);
    let pacer = Arc::new(OnceLock::new());
    let jobs: Vec<DriverJob<'_>> = groups
        .into_iter()
        .enumerate()
        .map(|(driver, members)| DriverJob {
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
    let name = |target: &usize| session.targets[*target].target.name.clone();
    let names: Vec<String> = setup.targets.iter().map(name).collect();
    let collectors = Collectors::new(setup, &names, &members, &phase_stop);
    if session.clock.is_virtual() {
        run_virtually(&jobs, collectors, observer)
    } else {
        run_really(&jobs, &session.clock, collectors, observer, tick)
    }
}

/// The targets of each driver. A stream over several targets has one driver, as have targets that
/// are fed in turns, and simulated targets share one of their own.
fn group(session: &Session, setup: &PhaseSetup) -> Vec<Vec<usize>> {
    let all = 0..setup.members();
    if setup.layout != Layout::Independent {
        return vec![all.collect()];
    }
    let is_simulated = |member: &usize| {
        session.targets[setup.target_of(*member)]
            .simulated
            .is_some()
    };
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
    jobs: &[DriverJob<'_>],
    mut collectors: Collectors,
    observer: &mut Observer<'_>,
) -> Result<PhaseOutcome, Error> {
    let [job] = jobs else {
        unreachable!("simulated targets share one driver")
    };
    let clock = &job.session.clock;
    let start = clock.now();
    let mut finished = Vec::new();
    job.drive(&mut || Some(start), &mut |message| match message {
        CollectorMessage::Progress {
            driver, progress, ..
        } => {
            collectors.take(driver, progress, 0.0, observer);
        }
        CollectorMessage::Finished {
            driver,
            meters,
            outcome,
        } => finished.push((driver, meters, outcome)),
        CollectorMessage::Ready { engine, why } => report_engine(job, engine, &why, observer),
        CollectorMessage::Failed(_) => {}
    })?;
    let elapsed_ns = clock.now().since_ns(start);
    Ok(assemble(jobs, collectors, finished, 0, elapsed_ns))
}

fn run_really(
    jobs: &[DriverJob<'_>],
    clock: &Clock,
    mut collectors: Collectors,
    observer: &mut Observer<'_>,
    tick: &mut Ticker<'_>,
) -> Result<PhaseOutcome, Error> {
    let (messages, inbox) = bounded(MESSAGES_MAX);
    std::thread::scope(|scope| {
        // The inbox is moved here, so that no driver waits for space in the channel if this
        // function ends early.
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
                .map_err(|error| Error::EngineFailed {
                    engine: "driver",
                    error,
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
        let finished = listen(&inbox, clock, start, &mut collectors, observer, tick)?;
        let cpu_ns = process_cpu_ns() - cpu_before;
        let elapsed_ns = clock.now().since_ns(start);
        Ok(assemble(jobs, collectors, finished, cpu_ns, elapsed_ns))
    })
}

/// Waits until every driver is set up.
fn await_ready(
    inbox: &Receiver<CollectorMessage>,
    jobs: &[DriverJob<'_>],
    observer: &mut Observer<'_>,
) -> Result<(), Error> {
    for index in 0..jobs.len() {
        match inbox.recv() {
            Ok(CollectorMessage::Ready { engine, why }) if index == 0 => {
                report_engine(&jobs[0], engine, &why, observer);
            }
            Ok(CollectorMessage::Ready { .. }) => {}
            Ok(CollectorMessage::Failed(error)) => return Err(error),
            Ok(_) | Err(_) => unreachable!("a driver says that it is ready before all else"),
        }
    }
    Ok(())
}

/// Reports which engine drives the run, and why, before the run begins.
fn report_engine(job: &DriverJob<'_>, engine: &str, why: &str, observer: &mut Observer<'_>) {
    if job.setup.phase == Phase::Measure {
        observer(Event::Note(format!("engine {engine}: {why}")));
    }
}

type Finished = Vec<(usize, Vec<Meter>, DriverOutcome)>;

/// Takes messages until the last driver is finished.
fn listen(
    inbox: &Receiver<CollectorMessage>,
    clock: &Clock,
    start: Timestamp,
    collectors: &mut Collectors,
    observer: &mut Observer<'_>,
    tick: &mut Ticker<'_>,
) -> Result<Finished, Error> {
    let mut finished = Vec::new();
    let patience = std::time::Duration::from_nanos(REPORT_EVERY_NS);
    loop {
        match inbox.recv_timeout(patience) {
            Ok(CollectorMessage::Progress {
                driver,
                progress,
                cpu_ns,
            }) => {
                let cpu_share = cpu_ns as f64 / progress.at_ns.max(1) as f64;
                collectors.take(driver, progress, cpu_share, observer);
            }
            Ok(CollectorMessage::Finished {
                driver,
                meters,
                outcome,
            }) => {
                finished.push((driver, meters, outcome));
            }
            Ok(CollectorMessage::Failed(error)) => {
                collectors.give_up();
                return Err(error);
            }
            Ok(CollectorMessage::Ready { .. }) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(finished),
        }
        if let Some(words) = tick(start, clock.now(), &collectors.bytes()) {
            observer(Event::Note(words));
        }
    }
}

fn assemble(
    jobs: &[DriverJob<'_>],
    collectors: Collectors,
    mut finished: Finished,
    cpu_ns: u64,
    elapsed_ns: u64,
) -> PhaseOutcome {
    finished.sort_by_key(|(driver, ..)| *driver);
    let started_anew = collectors.started_anew();
    let mut meters: Vec<(usize, Meter)> = Vec::new();
    let mut drivers = Vec::new();
    for (driver, own, outcome) in finished {
        meters.extend(jobs[driver].members.iter().copied().zip(own));
        drivers.push(outcome);
    }
    meters.sort_by_key(|(member, _)| *member);
    let mut meters: Vec<Meter> = meters.into_iter().map(|(_, meter)| meter).collect();
    let (own, read_back) = collectors.finish();
    let outcome = |collected: Collected, meters: Vec<Meter>| PhaseOutcome {
        collected,
        meters,
        drivers: drivers.clone(),
        cpu_ns,
        elapsed_ns,
        started_anew,
        read_back: None,
    };
    // What reads beside comes behind the phase's own members.
    let beside = meters.split_off(own.targets.len().min(meters.len()));
    PhaseOutcome {
        read_back: read_back.map(|collected| Box::new(outcome(collected, beside))),
        ..outcome(own, meters)
    }
}
