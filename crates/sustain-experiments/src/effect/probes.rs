//! Starts the probe workloads, tells them which stretch is current, and ends them. Their results
//! are read only at the end; until then none of them can hold up the run.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use sustain_disk::clock::Clock;

use super::board::{Entries, ObservedPhase, ProbeBoard, ProbeLog};
use super::datagrams::{self, Received, Sent};
use super::latencies::Latencies;
use super::{timer, writes};

/// How long a probe workload may take to end: a write that hangs ends only when the disk lets it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The probe workloads that are active. They end when this value is dropped.
pub(super) struct Probes {
    clock: Clock,
    board: ProbeBoard,
    writes: Option<ProbeLog<Latencies>>,
    timer: Option<ProbeLog<Latencies>>,
    datagrams: Option<(ProbeLog<Sent>, ProbeLog<Received>)>,
    /// Reasons why some of them did not start.
    missing: Vec<String>,
    /// One receiver per thread, which closes when that thread ends.
    ends: Vec<Receiver<()>>,
}

/// What the probe workloads saw.
pub(super) struct ProbeObservations {
    pub(super) writes: Option<Entries<Latencies>>,
    pub(super) timer: Option<Entries<Latencies>>,
    pub(super) sent: Option<Entries<Sent>>,
    pub(super) received: Option<Entries<Received>>,
    /// What could not be measured, and why.
    pub(super) unmeasured: Vec<String>,
}

impl Probes {
    /// Starts every probe workload that this machine allows; the one that writes only if it has a
    /// file.
    pub(super) fn start(clock: &Clock, file: Option<Arc<OwnedFd>>) -> Probes {
        let mut victims = Probes {
            clock: clock.clone(),
            board: ProbeBoard::default(),
            writes: None,
            timer: None,
            datagrams: None,
            missing: Vec::new(),
            ends: Vec::new(),
        };
        victims.start_timer();
        victims.start_datagrams();
        if let Some(file) = file {
            victims.start_writes(file);
        }
        victims
    }

    /// Runs `body` in a thread. Returns whether the thread could be started.
    fn spawn(
        &mut self,
        name: &str,
        body: impl FnOnce(&Clock, &ProbeBoard) + Send + 'static,
    ) -> bool {
        let (end, ended): (Sender<()>, Receiver<()>) = bounded(0);
        let (clock, board) = (self.clock.clone(), self.board.clone());
        let spawned = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                body(&clock, &board);
                drop(end);
            });
        let is_there = spawned.is_ok();
        match spawned {
            Ok(_) => self.ends.push(ended),
            Err(error) => self.missing.push(format!(
                "its thread could not be started for {name}: {error}"
            )),
        }
        is_there
    }

    fn start_timer(&mut self) {
        let log = ProbeLog::new();
        let own = log.clone();
        if self.spawn("victim-timer", |clock, board| timer::run(clock, board, own)) {
            self.timer = Some(log);
        }
    }

    fn start_datagrams(&mut self) {
        let (receiver, sender) = match datagrams::sockets() {
            Ok(sockets) => sockets,
            Err(error) => {
                let why = format!("datagrams: the loopback interface cannot be used: {error}");
                return self.missing.push(why);
            }
        };
        let (sent, received) = (ProbeLog::new(), ProbeLog::new());
        let (own_sent, own_received) = (sent.clone(), received.clone());
        let receives = self.spawn("victim-receive", move |_, board| {
            datagrams::receive(&receiver, board, own_received);
        });
        let sends = receives
            && self.spawn("victim-send", move |clock, board| {
                datagrams::send(&sender, clock, board, own_sent);
            });
        if sends {
            self.datagrams = Some((sent, received));
        }
    }

    fn start_writes(&mut self, file: Arc<OwnedFd>) {
        let log = ProbeLog::new();
        let own = log.clone();
        let spawned = self.spawn("victim-write", move |clock, board| {
            writes::run(&file, clock, board, own);
        });
        if spawned {
            self.writes = Some(log);
        }
    }

    /// Begins a stretch.
    pub(super) fn begin(&self, is_load: bool) -> ObservedPhase {
        self.board.begin(is_load)
    }

    /// Ends the current stretch.
    pub(super) fn pause(&self) {
        self.board.pause();
    }

    /// Ends all probe workloads and returns what they saw. One that does not end in time is left
    /// behind: what it saw so far counts, and its current operation counts as having taken until
    /// now.
    pub(super) fn finish(mut self) -> ProbeObservations {
        self.board.pause();
        self.board.close();
        let hung = self
            .ends
            .iter()
            .filter(|ended| matches!(ended.recv_timeout(PATIENCE), Err(RecvTimeoutError::Timeout)));
        let hung = hung.count();
        let writes = self.writes.take().map(|log| {
            let mut entries = log.take();
            if let Some((start, stretch)) = entries.under_way.filter(|_| hung > 0) {
                let now = self.clock.now();
                let page = entries.pages.entry(stretch).or_default();
                page.seen.record(now.since_ns(start), now);
                entries.failed = Some("a write was still in flight at the end".to_owned());
            }
            entries
        });
        let timer = self.timer.take().map(|log| log.take());
        let datagrams = self.datagrams.take();
        let (sent, received) = datagrams.map_or((None, None), |(sent, received)| {
            (Some(sent.take()), Some(received.take()))
        });
        let mut unmeasured = std::mem::take(&mut self.missing);
        let failures = [
            ("writes", writes.as_ref().and_then(|all| all.failed.clone())),
            (
                "datagrams",
                received.as_ref().and_then(|all| all.failed.clone()),
            ),
        ];
        for (victim, why) in failures {
            unmeasured.extend(why.map(|why| format!("{victim}: {why}")));
        }
        ProbeObservations {
            writes,
            timer,
            sent,
            received,
            unmeasured,
        }
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.board.close();
    }
}
