//! Derives the rate to record at from what a run saw, before it is confirmed. The run calls it.

use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_document::measure::{Recommendation, Rewritten, Sustained};
use sustain_load::collect::{TargetSeries, steps};
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;
use sustain_statistics::judge::fallen::fallen_to;
use sustain_statistics::judge::meeting::{PausingDisk, if_pauses_meet};
use sustain_statistics::judge::rounds::{DiskPause, over_whole_rounds};
use sustain_statistics::judge::worst::{WORST_S, worst};
use sustain_statistics::judge::{Revisits, Step, recommend as judge_recommend, steady};

use super::active::{active_steps, sustained_total};
use super::media::{MediaPart, apart};
use super::plan::MeasurePlan;
use crate::figures::seconds;

/// A shorter run is no basis for a recommendation.
const RECOMMEND_NS_MIN: u64 = 1_000_000_000;
/// The interval of a target's own rate counts up to this part of the rate.
const HALF_WIDTH_PART_MAX: f64 = 0.1;
/// A stretch of which a pause takes no more than one part in this many still has a rate of its
/// own.
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
    let members = members(plan, outcome);
    let level = ceiling(&sustained, least, &active)
        .min(fallen_to(&active).unwrap_or(f64::INFINITY))
        .min(rate_with_flush(plan, outcome, &members).unwrap_or(f64::INFINITY))
        .min(rate_over_rounds(outcome, &members).unwrap_or(f64::INFINITY));
    let ceiling = share * level * whole_records(plan, &sustained);
    let points = if_pauses_meet(&curve_points(outcome), &members);
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
/// worst can; and where that was nothing, what half of the run gave, over which a buffer may
/// help.
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

/// The rate at which bytes reached the media, the flush after the run included; `None` if no flush
/// was so long that it says anything about caches. Each target counts after its own burst, because
/// that of another one may be in no flush.
fn rate_with_flush(
    plan: &MeasurePlan,
    outcome: &PhaseOutcome,
    members: &[PausingDisk],
) -> Option<f64> {
    let is_independent = plan.load.layout == Layout::Independent;
    let parts = outcome.collected.targets.iter().zip(&outcome.meters);
    let parts = parts.map(|(series, meter)| MediaPart {
        bytes: meter.bytes(),
        seconds: seconds(meter.last_ns()),
        flush_s: series.flush_ns.map_or(0.0, seconds),
        // A pause in the flush counts as one more of the run.
        pause_s: 0.0,
        late_bytes_per_s: f64::INFINITY,
    });
    let parts = apart(is_independent, parts.collect());
    if !parts.iter().any(MediaPart::has_long_flush) {
        return None;
    }
    if !is_independent {
        return Some(parts.iter().map(MediaPart::flushed_bytes_per_s).sum());
    }
    let flushed = parts.iter().zip(members).map(|(part, member)| {
        let by_flush = part.flushed_bytes_per_s();
        if !part.has_long_flush() || member.rate_bytes_per_s < by_flush {
            return (member.rate_bytes_per_s, member.half_width_bytes_per_s);
        }
        // One more of its stalls might have fallen into this time.
        let stall_s = member.worst_stall_s.min(part.seconds);
        (by_flush, by_flush * stall_s / (part.seconds + part.flush_s))
    });
    let (rates, blurs): (Vec<f64>, Vec<f64>) = flushed.unzip();
    // What the single rates are off by is not off in the same direction.
    let squares: f64 = blurs.iter().map(|blur| blur * blur).sum();
    Some(rates.iter().sum::<f64>() - squares.sqrt())
}

/// The sum of what the targets reach over whole rounds of their rhythms; a target without one
/// counts with its own rate. `None` if no target has one.
fn rate_over_rounds(outcome: &PhaseOutcome, members: &[PausingDisk]) -> Option<f64> {
    let parts = outcome.collected.targets.iter().zip(&outcome.meters);
    let rounds = parts.zip(members).map(|((_, meter), member)| {
        let pauses = pauses(meter)?;
        over_whole_rounds(&member.steps, &pauses)
    });
    let rounds: Vec<Option<f64>> = rounds.collect();
    let rates = rounds.iter().zip(members);
    let rates = rates.map(|(rate, member)| rate.unwrap_or(member.rate_bytes_per_s));
    rounds.iter().any(Option::is_some).then(|| rates.sum())
}

/// The pauses of a target in the order of time, if all of them are known.
fn pauses(meter: &Meter) -> Option<Vec<DiskPause>> {
    let ledger = meter.stalls();
    let mut stalls = ledger.stalls();
    if ledger.seen() > stalls.len() as u64 {
        return None;
    }
    stalls.sort_by_key(|stall| stall.start_ns);
    let pauses = stalls.iter().map(|stall| DiskPause {
        start_s: seconds(stall.start_ns),
        end_s: seconds(stall.start_ns + stall.duration_ns),
    });
    Some(pauses.collect())
}

/// What each target did by itself; nothing where they are in lockstep, and so stand still
/// together.
fn members(plan: &MeasurePlan, outcome: &PhaseOutcome) -> Vec<PausingDisk> {
    if plan.load.layout != Layout::Independent {
        return Vec::new();
    }
    let parts = outcome.collected.targets.iter().zip(&outcome.meters);
    let member = |(series, meter): (&TargetSeries, &Meter)| {
        let steps = steps(&series.steps);
        let verdict = steady::judge(&steps, Revisits::default());
        let stalls = meter.stalls().stalls().into_iter();
        PausingDisk {
            rate_bytes_per_s: verdict.rate_bytes_per_s,
            // Of a rate that is not steady the interval may be as wide as the rate, and says
            // little.
            half_width_bytes_per_s: (verdict.rate_bytes_per_s - verdict.ci95_bytes_per_s[0])
                .min(verdict.rate_bytes_per_s * HALF_WIDTH_PART_MAX),
            // What is not listed is the ordinary pace, such as the single records of a slow
            // disk.
            worst_stall_s: seconds(stalls.map(|stall| stall.duration_ns).max().unwrap_or(0)),
            steps,
        }
    };
    parts.map(member).collect()
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

/// The buffer curve of a run whose targets may all pause at once, even if they did not.
pub(crate) fn curve_of_run(
    plan: &MeasurePlan,
    outcome: &PhaseOutcome,
) -> Vec<judge_recommend::CurvePoint> {
    if_pauses_meet(&curve_points(outcome), &members(plan, outcome))
}

/// The buffer curve of a run, in the form that the judge takes.
pub(crate) fn curve_points(outcome: &PhaseOutcome) -> Vec<judge_recommend::CurvePoint> {
    let point = |point: &sustain_disk::meter::BufferNeed| judge_recommend::CurvePoint {
        rate_bytes_per_s: point.rate_bytes_per_s,
        buffer_bytes: point.buffer_bytes,
    };
    outcome.collected.curve.iter().map(point).collect()
}
