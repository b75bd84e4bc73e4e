//! Finds the stretch of a run that counts for all targets together, and judges it. The stretch is
//! the time in which every target was active; after a target has failed, it is the time in which
//! all the remaining ones were. The rate of four disks is no promise for the three that are left.
//! The conclusion calls this module.

use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_document::measure::Sustained;
use sustain_load::collect::{rate, steps};
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;
use sustain_statistics::judge::{Revisits, Step, steady};

use super::measurement_words;
use super::plan::MeasurePlan;
use super::position::even_total;
use super::statements::RemainingTargets;
use crate::figures::seconds;
use crate::steady_words::steady_words;

/// The stretch in which all targets that count were active.
struct Active {
    from_ns: u64,
    to_ns: u64,
    /// The targets that had failed before, and when; the others count.
    lost: Vec<(usize, u64)>,
}

impl Active {
    fn of(plan: &MeasurePlan, outcome: &PhaseOutcome) -> Active {
        let ends: Vec<u64> = outcome.meters.iter().map(Meter::last_ns).collect();
        let over_ns = ends.iter().copied().max().unwrap_or(0);
        let mut lost: Vec<(usize, u64)> = Vec::new();
        if plan.load.layout.has_own_streams() {
            let series = outcome.collected.targets.iter().enumerate();
            lost.extend(series.filter_map(|(target, series)| {
                let failed_ns = series.failures.first()?.at_ns;
                // After a flush that failed at the end of the run there is nothing left to judge.
                (failed_ns < over_ns).then_some((target, failed_ns))
            }));
            lost.sort_by_key(|(_, failed_ns)| *failed_ns);
            if lost.len() == ends.len() {
                // The target that failed last was the only one left until then.
                lost.pop();
            }
            // If a target fails after another has already come to its end, no time is left in which
            // all remaining ones are active. Then the time before the failure counts.
            while lost.last().is_some_and(|(_, failed_ns)| {
                left_ns(&ends, &lost)
                    .min()
                    .is_some_and(|end_ns| end_ns <= *failed_ns)
            }) {
                lost.pop();
            }
        }
        let left = left_ns(&ends, &lost);
        let to_ns = match plan.load.layout {
            Layout::Independent | Layout::Turns | Layout::Stripe { .. } => left.min(),
            // In a span, the targets are active one after the other.
            Layout::Span => left.max(),
        };
        Active {
            from_ns: lost.last().map_or(0, |(_, failed_ns)| *failed_ns),
            to_ns: to_ns.unwrap_or(0),
            lost,
        }
    }
}

/// The times at which the targets that had not failed came to their end.
fn left_ns(ends: &[u64], lost: &[(usize, u64)]) -> impl Iterator<Item = u64> {
    let is_left = |target: &usize| lost.iter().all(|(one, _)| one != target);
    (0..ends.len()).filter(is_left).map(|target| ends[target])
}

/// The total while every target that had not failed was active.
pub(crate) fn active_steps(plan: &MeasurePlan, outcome: &PhaseOutcome) -> Vec<Step> {
    let active = Active::of(plan, outcome);
    let (from_s, to_s) = (seconds(active.from_ns), seconds(active.to_ns));
    let mut steps = steps(&outcome.collected.total);
    // The last bin may reach a little beyond; with one target it ends there exactly.
    let inside = steps.partition_point(|step| step.end_s <= to_s + 1e-9);
    // A run that is shorter than a bin has no other bin.
    steps.truncate(inside.max(usize::from(to_s > 0.0)));
    let before = steps.partition_point(|step| step.start_s < from_s);
    steps.split_off(before)
}

/// Whether the stretch in which all are active begins with the run.
pub(crate) fn begins_with_run(plan: &MeasurePlan, outcome: &PhaseOutcome) -> bool {
    Active::of(plan, outcome).from_ns == 0
}

/// The targets whose figures the total is, if some have failed.
pub(super) fn remaining(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
) -> Option<RemainingTargets> {
    let active = Active::of(plan, outcome);
    let (last, failed_ns) = active.lost.last()?;
    Some(RemainingTargets {
        left: session.targets.len() - active.lost.len(),
        failed: session.targets[*last].target.name.clone(),
        failed_s: seconds(*failed_ns),
    })
}

/// The verdict on a run through the page cache, whose single intervals show only memory.
pub(crate) fn unknown_through_memory(rate_bytes_per_s: f64) -> Sustained {
    Sustained {
        reached: false,
        rate_bytes_per_s,
        ci95_bytes_per_s: [rate_bytes_per_s; 2],
        from_s: 0.0,
        to_s: None,
        why: measurement_words::THROUGH_PAGE_CACHE.to_owned(),
    }
}

pub(crate) fn sustained(steps: &[Step], revisits: Revisits) -> Sustained {
    of_verdict(&steady::judge(steps, revisits), steps)
}

/// The verdict on `steps` in the form of the result document.
pub(crate) fn of_verdict(verdict: &steady::SteadyVerdict, steps: &[Step]) -> Sustained {
    Sustained {
        reached: verdict.reached,
        rate_bytes_per_s: verdict.rate_bytes_per_s,
        ci95_bytes_per_s: verdict.ci95_bytes_per_s,
        from_s: verdict.from_s,
        to_s: steps.last().map(|last| last.end_s),
        why: steady_words(&verdict.reason),
    }
}

/// The verdict on all targets together.
pub(crate) fn sustained_total(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
) -> Sustained {
    if plan.writes_buffered(session.direction) {
        let bytes = outcome.meters.iter().map(Meter::bytes).sum();
        let last_ns = outcome.meters.iter().map(Meter::last_ns).max().unwrap_or(0);
        return unknown_through_memory(rate(bytes, last_ns));
    }
    let lap_bytes = match session.targets.as_slice() {
        [only] if only.wraps => Some(only.size_bytes),
        _ => None,
    };
    let active = active_steps(plan, outcome);
    let verdict = match even_total(plan, session, outcome, &active) {
        Some(even) => of_verdict(&steady::judge_even(&even), &active),
        None => sustained(&active, Revisits { lap_bytes }),
    };
    match remaining(plan, session, outcome) {
        Some(remaining) => Sustained {
            why: measurement_words::verdict_of_remaining(&verdict.why, &remaining),
            ..verdict
        },
        None => verdict,
    }
}
