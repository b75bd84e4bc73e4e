//! The collectors of a phase: one for its own streams, and one for those that read beside them,
//! whose bytes are in no figure of the phase's own.

use sustain_disk::driver::{Arrival, DriverProgress, FailedRequest, TargetProgress};
use sustain_disk::engine::Operation;

use super::{Collected, Collector};
use crate::event::{Event, Observer};
use crate::feed::PhaseStop;
use crate::setup::{PhaseSetup, StreamRegion};

/// Takes the reports of all drivers, and tells whose streams they are of.
pub(crate) struct Collectors {
    own: Collector,
    read_back: Option<Collector>,
    /// How many of each driver's targets are the phase's own; these come first.
    own_targets: Vec<usize>,
}

impl Collectors {
    /// Collectors for targets of these names. `members` has the setup's members of each driver.
    pub(crate) fn new(
        setup: &PhaseSetup,
        names: &[String],
        members: &[Vec<usize>],
        stop: &PhaseStop,
    ) -> Collectors {
        let width = names.len();
        let of_own = |of_driver: &Vec<usize>| {
            let members = of_driver.iter().copied();
            members.filter(|member| *member < width).collect()
        };
        let own: Vec<Vec<usize>> = members.iter().map(of_own).collect();
        let of_readers = |of_driver: &Vec<usize>| {
            let members = of_driver.iter();
            members
                .filter_map(|member| member.checked_sub(width))
                .collect()
        };
        let own_targets = own.iter().map(Vec::len).collect();
        let read_back = (!setup.read_back.is_empty()).then(|| {
            let readers = members.iter().map(of_readers).collect();
            let named = |name: &String| format!("{name}, read back");
            let names = names.iter().map(named).collect();
            Collector::new(&reading(setup), names, readers, stop.clone())
        });
        Collectors {
            own: Collector::new(setup, names.to_vec(), own, stop.clone()),
            read_back,
            own_targets,
        }
    }

    /// Takes the report of a driver, and reports the state of all targets.
    pub(crate) fn take(
        &mut self,
        driver: usize,
        progress: DriverProgress,
        cpu_share: f64,
        observer: &mut Observer<'_>,
    ) {
        let at_ns = progress.at_ns;
        let Some(readers) = &mut self.read_back else {
            self.own.take(driver, progress, cpu_share, observer);
            return observer(Event::Live(self.own.live(at_ns)));
        };
        let (own, beside) = split(progress, self.own_targets[driver]);
        self.own.take(driver, own, cpu_share, observer);
        readers.take(driver, beside, 0.0, observer);
        let mut live = self.own.live(at_ns);
        live.targets.extend(readers.live(at_ns).targets);
        let all: f64 = live
            .targets
            .iter()
            .map(|target| target.average_bytes_per_s)
            .sum();
        for target in &mut live.targets {
            target.share = target.average_bytes_per_s / all.max(1.0);
        }
        observer(Event::Live(live));
    }

    /// The bytes of each member so far.
    pub(crate) fn bytes(&self) -> Vec<u64> {
        let readers = self.read_back.iter().flat_map(Collector::bytes);
        self.own.bytes().into_iter().chain(readers).collect()
    }

    /// Ends the drivers after a failure.
    pub(crate) fn give_up(&self) {
        self.own.give_up();
    }

    /// Whether the phase was stopped so that it can be repeated with more drivers.
    pub(crate) fn started_anew(&self) -> bool {
        self.own.started_anew()
    }

    /// What was collected of the phase's own streams, and of those beside them.
    pub(crate) fn finish(self) -> (Collected, Option<Collected>) {
        (self.own.finish(), self.read_back.map(Collector::finish))
    }
}

/// The setup by which the streams that read beside are judged: nothing paces or ends them but the
/// time.
fn reading(setup: &PhaseSetup) -> PhaseSetup {
    PhaseSetup {
        operation: Operation::Read,
        bytes: None,
        rate_bytes_per_s: None,
        until_steady: false,
        may_start_anew: false,
        lap_bytes: setup
            .read_back
            .iter()
            .map(StreamRegion::length_bytes)
            .map(Some)
            .collect(),
        ..setup.clone()
    }
}

/// Parts a driver's report into that of its first `own_targets` targets, and that of the others,
/// which read beside them.
fn split(progress: DriverProgress, own_targets: usize) -> (DriverProgress, DriverProgress) {
    let (own, beside): (Vec<TargetProgress>, Vec<TargetProgress>) = progress
        .targets
        .into_iter()
        .partition(|one| one.target < own_targets);
    let (failed, failed_beside): (Vec<FailedRequest>, Vec<FailedRequest>) = progress
        .failures
        .into_iter()
        .partition(|one| one.target < own_targets);
    // Only what reads beside reads: the phase's own streams write.
    let (read, written): (Vec<Arrival>, Vec<Arrival>) = progress
        .arrivals
        .into_iter()
        .partition(|one| one.operation == Operation::Read);
    let moved = |target: usize| target - own_targets;
    let readers = beside.into_iter().map(|one| TargetProgress {
        target: moved(one.target),
        ..one
    });
    let failures = failed_beside.into_iter().map(|one| FailedRequest {
        target: moved(one.target),
        ..one
    });
    let beside = DriverProgress {
        at_ns: progress.at_ns,
        targets: readers.collect(),
        arrivals: read,
        failures: failures.collect(),
    };
    let own = DriverProgress {
        at_ns: progress.at_ns,
        targets: own,
        arrivals: written,
        failures: failed,
    };
    (own, beside)
}
