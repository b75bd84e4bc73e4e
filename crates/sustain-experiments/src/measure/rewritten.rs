//! Compares writing data that is new for each write with writing data of which only a few bytes
//! are. The run changes few bytes of each write, so that it does not measure the CPU; a real source
//! makes every byte new. A disk whose requests are served through the CPU's caches, as that of a
//! virtual machine often is, may be faster with memory that does not change, and that rate is not
//! the rate of a recorder. So both kinds are written in turn for a moment after the run. The run
//! calls this; for simulated machines it decides nothing.

use sustain_disk::data::DataKind;
use sustain_disk::meter::Meter;
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_document::measure::{Rewritten, RewrittenRun};
use sustain_load::collect::rate;
use sustain_load::event::{Observer, Phase};
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;
use sustain_load::setup::PhaseSetup;

use super::confirm::confirms;
use super::measure_run::MeasureRun;
use super::plan::MeasurePlan;
use crate::error::MeasureError;

/// An even drift of the disk affects both kinds alike.
pub(super) const IN_TURN: [DataKind; 4] = [
    DataKind::Fresh,
    DataKind::Rewritten,
    DataKind::Rewritten,
    DataKind::Fresh,
];
pub(super) const TURN_NS: u64 = 1_000_000_000;
/// After a shorter run, a trial of four seconds is not worth its time.
pub(super) const RUN_NS_MIN: u64 = 10_000_000_000;
/// So many requests are prepared while others are in flight,
const DEPTH_MIN: u32 = 32;
/// if they need no more memory than this.
const WINDOW_BYTES_MAX: u64 = 256 << 20;
/// A driver that spent this part of the time on making bytes had none to hand out: the rate is then
/// that of the CPU, not of a disk.
const MAKING_SHARE_MAX: f64 = 0.85;
/// Four seconds cannot show a smaller difference.
const DIFFERS: f64 = 0.05;

/// Whether other bytes are tried after a run that is long enough and without failures.
pub(super) fn is_tried(plan: &MeasurePlan, session: &Session) -> bool {
    may_be_slower(plan, session) && confirms(plan)
}

/// Whether a recorder's bytes may be slower than those of this run.
pub(super) fn may_be_slower(plan: &MeasurePlan, session: &Session) -> bool {
    let is_disk = |kind: &TargetKind| *kind != TargetKind::Null;
    let mut targets = session.targets.iter();
    session.direction == Direction::Write
        && plan.load.data == DataKind::Fresh
        && plan.load.path != DataPath::Buffered
        && plan.load.rate_bytes_per_s.is_none()
        && targets.any(|target| target.simulated.is_none() && is_disk(&target.target.kind))
}

impl MeasureRun<'_> {
    /// Writes both kinds of data in turn, if that can show something: after a run that wrote to
    /// real disks with direct I/O for 10 s or more.
    pub(crate) fn pair_with_rewritten(
        &mut self,
        outcome: &PhaseOutcome,
        threads: u32,
        observer: &mut Observer<'_>,
    ) -> Result<Option<Rewritten>, MeasureError> {
        if !self.may_differ(outcome) || self.prepared.stop.reason().is_some() {
            return Ok(None);
        }
        let starts = self
            .prepared
            .positions_after(&self.prepared.starts(), &[], outcome);
        let like = PhaseSetup {
            extent_bytes: self.prepared.extent_bytes(),
            positions_bytes: match self.plan.load.bytes {
                Some(_) => vec![0; starts.len()],
                None => starts,
            },
            ..self.prepared.setup(threads)
        };
        self.in_turn(&like, TURN_NS, observer)
    }

    fn may_differ(&self, outcome: &PhaseOutcome) -> bool {
        let mut series = outcome.collected.targets.iter();
        is_tried(self.plan, self.prepared.session)
            && outcome.elapsed_ns >= RUN_NS_MIN
            && series.all(|series| series.failures.is_empty())
    }

    /// The number of requests in flight if every byte is made anew: while one is prepared, the
    /// others must keep the disk busy.
    pub(crate) fn depth_to_rewrite(&self) -> u32 {
        let depth = self.plan.load.depth.max(DEPTH_MIN);
        let targets = self.prepared.session.targets.len() as u64;
        let window_bytes = u64::from(depth) * self.plan.load.record_bytes * targets;
        if window_bytes > WINDOW_BYTES_MAX {
            self.plan.load.depth
        } else {
            depth
        }
    }

    fn in_turn(
        &mut self,
        like: &PhaseSetup,
        turn_ns: u64,
        observer: &mut Observer<'_>,
    ) -> Result<Option<Rewritten>, MeasureError> {
        let mut runs = Vec::new();
        let mut is_tool_limited = false;
        for data in IN_TURN {
            let setup = PhaseSetup {
                phase: Phase::Rewrite,
                data,
                depth: self.depth_to_rewrite(),
                time_ns: Some(turn_ns),
                bytes: None,
                wraps: Some(true),
                until_steady: false,
                ..like.clone()
            };
            let (outcome, _) = self.prepared.run_phase(&setup, observer)?;
            if self.note_failures(&outcome, None) || self.prepared.stop.reason().is_some() {
                return Ok(None);
            }
            let bytes = outcome.meters.iter().map(Meter::bytes).sum();
            let last_ns = outcome.meters.iter().map(Meter::last_ns).max().unwrap_or(0);
            runs.push((data, rate(bytes, last_ns)));
            let mut drivers = outcome.drivers.iter();
            is_tool_limited |= data == DataKind::Rewritten
                && drivers.any(|driver| driver.making_share > MAKING_SHARE_MAX);
        }
        Ok(Some(judged(&runs, is_tool_limited)))
    }
}

/// The result of the runs.
fn judged(runs: &[(DataKind, f64)], is_tool_limited: bool) -> Rewritten {
    let rates = |kind: DataKind| {
        let of_kind = runs.iter().filter(move |(data, _)| *data == kind);
        of_kind.map(|(_, rate)| *rate)
    };
    let mean = |kind: DataKind| rates(kind).sum::<f64>() / rates(kind).count().max(1) as f64;
    let (fresh, rewritten) = (mean(DataKind::Fresh), mean(DataKind::Rewritten));
    let least_fresh = rates(DataKind::Fresh).fold(f64::INFINITY, f64::min);
    let most_rewritten = rates(DataKind::Rewritten).fold(0.0, f64::max);
    let ratio = if fresh > 0.0 { rewritten / fresh } else { 1.0 };
    Rewritten {
        rate_bytes_per_s: rewritten,
        fresh_bytes_per_s: fresh,
        ratio,
        // Each of both turns must show it: one turn that something disturbed is no difference.
        is_slower: ratio < 1.0 - DIFFERS && most_rewritten < least_fresh && !is_tool_limited,
        tool_limited: is_tool_limited,
        runs: runs
            .iter()
            .map(|(data, rate_bytes_per_s)| RewrittenRun {
                data: *data,
                rate_bytes_per_s: *rate_bytes_per_s,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use sustain_host::Roots;
    use sustain_load::event::Event;
    use sustain_load::prepared::PreparedTargets;
    use sustain_load::session::Session;
    use sustain_load::watched::{WatchedRun, run_watched};
    use sustain_targets::Stop;

    use super::super::plan::MeasurePlan;
    use super::*;

    fn of(rates: [f64; 4]) -> Rewritten {
        judged(&IN_TURN.into_iter().zip(rates).collect::<Vec<_>>(), false)
    }

    #[test]
    fn an_even_drift_is_no_difference_and_one_disturbed_turn_neither() {
        let drifting = of([100.0, 90.0, 80.0, 70.0]);
        assert!(!drifting.is_slower, "{drifting:?}");
        assert!((drifting.ratio - 1.0).abs() < 1e-9);
        let disturbed = of([100.0, 100.0, 20.0, 100.0]);
        assert!(!disturbed.is_slower, "{disturbed:?}");
        assert!(!of([100.0, 97.0, 97.0, 100.0]).is_slower);
    }

    #[test]
    fn a_cpu_that_makes_bytes_too_slowly_says_nothing_of_the_disk() {
        let rates = IN_TURN.into_iter().zip([2464.0, 41.0, 50.0, 3763.0]);
        let found = judged(&rates.collect::<Vec<_>>(), true);
        assert!(!found.is_slower && found.tool_limited, "{found:?}");
    }

    #[test]
    fn both_kinds_are_written_in_turn() {
        // No disk, and never tried there by a run: but it takes whatever comes.
        let plan = MeasurePlan::new(["null:"]);
        let (roots, stop) = (Roots::default(), Stop::default());
        let mut session = Session::open(&plan.load, &roots).expect("null: opens everywhere");
        let work = |begun: WatchedRun<'_>, observer: &mut Observer<'_>| {
            let prepared = PreparedTargets {
                plan: &plan.load,
                session: begun.session,
                stop: &stop,
                monitor: begun.monitor,
            };
            let plan = &plan;
            let mut run = MeasureRun::new(plan, prepared);
            let like = run.prepared.setup(1);
            run.in_turn(&like, 20_000_000, observer)
        };
        let found = run_watched(&mut session, &roots, &mut |_: Event| (), work);
        let found = found.expect("writes go there").expect("none failed");
        let order: Vec<DataKind> = found.runs.iter().map(|run| run.data).collect();
        assert_eq!(
            order,
            [
                DataKind::Fresh,
                DataKind::Rewritten,
                DataKind::Rewritten,
                DataKind::Fresh
            ]
        );
    }

    #[test]
    fn a_target_that_rewards_memory_which_lies_still_is_found_out() {
        let found = of([5400.0, 2900.0, 3100.0, 6600.0]);
        assert!(found.is_slower, "{found:?}");
        assert!((found.ratio - 0.5).abs() < 1e-9);
        assert_eq!(
            (found.rate_bytes_per_s, found.fresh_bytes_per_s),
            (3000.0, 6000.0)
        );
    }
}
