//! Derives the rate to record at from what a run saw, before it is confirmed. The run calls it.

use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_document::measure::{Recommendation, Rewritten, Sustained};
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;
use sustain_statistics::judge::fallen::fallen_to;
use sustain_statistics::judge::worst::{WORST_S, worst};
use sustain_statistics::judge::{Step, recommend as judge_recommend};

use super::active::{active_steps, sustained_total};
use super::plan::MeasurePlan;

/// A shorter run is no basis for a recommendation.
const RECOMMEND_NS_MIN: u64 = 1_000_000_000;
/// A flush that takes less than this part of the run before it found no cache worth counting.
const FLUSH_PART_MIN: f64 = 0.1;
/// A stretch of which a pause takes no more than one part in this many still has a rate of its own.
const PAUSE_SHARES: f64 = 4.0;

/// The rate to record at, not confirmed yet. `None` if a rate was given, or if none can be
/// promised. If writing data that is new for each write is slower than the run's, the recommended
/// rate is lower in proportion.
pub(crate) fn recommend(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    rewritten: Option<&Rewritten>,
) -> Option<Recommendation> {
    let failed = outcome
        .collected
        .targets
        .iter()
        .any(|series| !series.failures.is_empty());
    let last_ns = outcome.meters.iter().map(Meter::last_ns).max().unwrap_or(0);
    let too_short = last_ns < RECOMMEND_NS_MIN;
    if plan.load.rate_bytes_per_s.is_some()
        || failed
        || too_short
        || plan.writes_buffered(session.direction)
    {
        return None;
    }
    let active = active_steps(plan, outcome);
    let least = worst(&active, WORST_S);
    let slower = rewritten.filter(|found| found.is_slower);
    let share = slower.map_or(1.0, |found| found.ratio);
    let sustained = sustained_total(plan, session, outcome);
    let level = ceiling(&sustained, least, &active)
        .min(fallen_to(&active).unwrap_or(f64::INFINITY))
        .min(rate_with_flush(plan, outcome).unwrap_or(f64::INFINITY));
    let ceiling = share * level * whole_records(plan, &sustained);
    let points = curve_points(outcome);
    let room = BufferAllowance::of(plan, session);
    let found = judge_recommend::recommend(&points, ceiling, room.for_curve_bytes())?;
    Some(Recommendation {
        rate_bytes_per_s: found.rate_bytes_per_s,
        buffer_bytes: room.needed_bytes(found.buffer_bytes),
        confirmed: None,
        held_seconds: None,
        backlog_max_bytes: None,
        attempts: Vec::new(),
        worst_10_s_bytes_per_s: least,
    })
}

/// The buffer of a recorder, and what a source at work needs of it beyond the curve. The curve is
/// of a stream of single bytes that meets the run's worst pause with nothing waiting; a source has
/// a record half come by then that cannot be written yet, and one on the way to each target.
pub(crate) struct BufferAllowance {
    buffer_bytes: u64,
    beyond_curve_bytes: u64,
}

/// The memory needed is said in whole ones of these, so that what is read off is enough.
const NEEDED_STEP_BYTES: u64 = 1 << 20;

impl BufferAllowance {
    pub(crate) fn of(plan: &MeasurePlan, session: &Session) -> BufferAllowance {
        let records = 1 + session.targets.len() as u64;
        let beyond_curve_bytes = plan.load.record_bytes.saturating_mul(records);
        BufferAllowance {
            buffer_bytes: plan.buffer_bytes,
            // In a buffer of a few records these are not all at once.
            beyond_curve_bytes: beyond_curve_bytes.min(plan.buffer_bytes / 2),
        }
    }

    /// What is left for the pauses that the curve has.
    pub(crate) fn for_curve_bytes(&self) -> f64 {
        (self.buffer_bytes - self.beyond_curve_bytes) as f64
    }

    /// What is needed where the curve wants so much; never more than there is.
    pub(crate) fn needed_bytes(&self, curve_bytes: f64) -> u64 {
        let needed = (curve_bytes.ceil() as u64).saturating_add(self.beyond_curve_bytes);
        whole_steps(needed).min(self.buffer_bytes)
    }
}

/// Rounded up to what is said.
pub(crate) fn whole_steps(bytes: u64) -> u64 {
    bytes.div_ceil(NEEDED_STEP_BYTES) * NEEDED_STEP_BYTES
}

/// No rate above it is recommended. Where no mean can be relied on, what the disks gave at their
/// worst can; and where that was nothing, what half of the run gave, over which a buffer may help.
fn ceiling(sustained: &Sustained, least: Option<f64>, active: &[Step]) -> f64 {
    let lower_end = sustained.ci95_bytes_per_s[0];
    if sustained.reached {
        return lower_end;
    }
    let half_s = active.last().map_or(0.0, |last| last.end_s) / 2.0;
    // Ten seconds that are mostly one pause show how long the pause was, and no rate.
    let with_pauses_s = (longest_pause_s(active) * PAUSE_SHARES).min(half_s);
    let with_pauses = Some(with_pauses_s).filter(|long| *long > WORST_S);
    let with_pauses = with_pauses.and_then(|long_s| worst(active, long_s));
    let certain = lower_end
        .max(least.unwrap_or(0.0))
        .max(with_pauses.unwrap_or(0.0));
    if certain > 0.0 {
        return certain;
    }
    worst(active, half_s).unwrap_or(0.0)
}

/// The rate at which bytes reached the media, the flush after the run included; `None` if the flush
/// was so short that it says nothing about caches.
fn rate_with_flush(plan: &MeasurePlan, outcome: &PhaseOutcome) -> Option<f64> {
    let parts = || outcome.collected.targets.iter().zip(&outcome.meters);
    let flush_ns = parts().filter_map(|(series, _)| series.flush_ns).max()?;
    let last_ns = parts().map(|(_, meter)| meter.last_ns()).max()?;
    if (flush_ns as f64) < FLUSH_PART_MIN * last_ns as f64 {
        return None;
    }
    let rate = |bytes: u64, ns: u64| bytes as f64 * 1e9 / ns.max(1) as f64;
    if plan.load.layout == Layout::Independent {
        let rates = parts().map(|(series, meter)| {
            let flush_ns = series.flush_ns.unwrap_or(0);
            rate(meter.bytes(), meter.last_ns() + flush_ns)
        });
        return Some(rates.sum());
    }
    let bytes = parts().map(|(_, meter)| meter.bytes()).sum();
    Some(rate(bytes, last_ns + flush_ns))
}

/// The part of a rate that is left if one record too many was counted in the window judged: one
/// that began just before a completion and ended just after another. It is next to everything,
/// except with only a few records.
fn whole_records(plan: &MeasurePlan, sustained: &Sustained) -> f64 {
    let window_s = sustained.to_s.map_or(0.0, |to_s| to_s - sustained.from_s);
    let records = sustained.rate_bytes_per_s * window_s / plan.load.record_bytes as f64;
    1.0 - 1.0 / records.max(1.0)
}

/// The longest stretch without a completion.
fn longest_pause_s(active: &[Step]) -> f64 {
    let mut since_s = 0.0;
    let mut longest_s: f64 = 0.0;
    for step in active {
        if step.bytes > 0 {
            since_s = step.end_s;
        }
        longest_s = longest_s.max(step.end_s - since_s);
    }
    longest_s
}

/// The buffer curve of a run, in the form that the judge takes.
pub(crate) fn curve_points(outcome: &PhaseOutcome) -> Vec<judge_recommend::CurvePoint> {
    let point = |point: &sustain_disk::meter::BufferNeed| judge_recommend::CurvePoint {
        rate_bytes_per_s: point.rate_bytes_per_s,
        buffer_bytes: point.buffer_bytes,
    };
    outcome.collected.curve.iter().map(point).collect()
}
