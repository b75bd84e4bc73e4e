//! Makes the result document from what a run saw.

use sustain_disk::driver::Ending;
use sustain_disk::layout::Layout;
use sustain_disk::meter::{IntervalRule, Meter, mark_shared};
use sustain_disk::target::{Direction, TargetKind};
use sustain_document::effect::EffectResult;
use sustain_document::host::Host;
use sustain_document::measure::{
    BufferPoint, Extents, Interval, LatencyBin, LaterFailure, MEASURE_SCHEMA, MeasureResult,
    ReadBack, Recommendation, Rewritten, Stall, TargetResult, Total,
};
use sustain_document::system::System;
use sustain_document::vocabulary::LayoutKind;
use sustain_load::collect::{TOOL_SHARE, TargetSeries, rate, steps};
use sustain_load::open_target::OpenTarget;
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;
use sustain_statistics::judge::places::{PlaceRates, even_steps};
use sustain_statistics::judge::{Revisits, steady};
use sustain_targets::others_words;

use super::active::{
    active_steps, begins_with_run, of_verdict, sustained, sustained_total, unknown_through_memory,
};
use super::common_cause;
use super::dips::dips;
use super::measure_run::ERRORS_MAX;
use super::paced_outcome::{PacedOutcome, paced_outcome};
use super::plan::MeasurePlan;
use super::position::places;
use super::remarks::remarks;
use super::{backlog, measurement_words, verdicts};
use crate::figures::{burst_of, intervals, latency, seconds, target_error, time_of_day};
use crate::others::others_unseen;

/// Stalls listed in the result.
const STALLS_MAX: usize = 64;

/// Everything that the result is made of.
pub(crate) struct Conclusion<'a> {
    pub(crate) plan: &'a MeasurePlan,
    pub(crate) session: &'a Session,
    pub(crate) outcome: PhaseOutcome,
    pub(crate) threads: u32,
    pub(crate) rewritten: Option<Rewritten>,
    pub(crate) recommendation: Option<Recommendation>,
    pub(crate) read_back: Option<ReadBack>,
    /// What failed after the run itself.
    pub(crate) later_failures: Vec<LaterFailure>,
    pub(crate) host: Host,
    pub(crate) system: System,
    pub(crate) effect: Option<EffectResult>,
    /// When the run began, in seconds since 1970.
    pub(crate) started_unix_s: i64,
    /// Whether the user has ended it.
    pub(crate) interrupted: bool,
}

/// The result document of a run.
pub(crate) fn conclude(conclusion: Conclusion<'_>) -> MeasureResult {
    let Conclusion {
        plan,
        session,
        outcome,
        threads,
        rewritten,
        recommendation,
        read_back,
        later_failures,
        host,
        ..
    } = conclusion;
    let places = places(plan, session);
    let targets: Vec<TargetResult> = session
        .targets
        .iter()
        .zip(&outcome.meters)
        .zip(&outcome.collected.targets)
        .enumerate()
        .map(|(index, ((target, meter), series))| {
            let judged = target_result(plan, target, meter, series, places.get(index));
            if plan.writes_buffered(session.direction) {
                through_memory(judged)
            } else {
                judged
            }
        })
        .collect();
    let total = total(plan, session, &outcome, &targets);
    let stalls = stalls(session, &outcome);
    let stalls_seen = outcome.meters.iter().map(|meter| meter.stalls().seen());
    let stalls_seen = Some(stalls_seen.sum());
    let dips = dips(&targets, &conclusion.system, plan.load.path);
    let facts = plan_facts(plan, session, &outcome, threads, conclusion.started_unix_s);
    let effect = conclusion
        .effect
        .map(|effect| with_backlog_not_seen(effect, session, &host, &targets));
    let mut result = MeasureResult {
        schema: MEASURE_SCHEMA.to_owned(),
        plan: facts,
        host,
        targets,
        total,
        buffer_curve: if plan.writes_buffered(session.direction) {
            Vec::new()
        } else {
            curve(&outcome)
        },
        recommendation,
        rewritten,
        read_back,
        later_failures,
        stalls,
        stalls_seen,
        dips,
        verdicts: None,
        system: conclusion.system,
        effect,
        interrupted: conclusion.interrupted,
        notes: Vec::new(),
    };
    result.verdicts = Some(verdicts::decide(&result));
    result.notes = notes(plan, session, &outcome, &result);
    result
}

fn notes(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    result: &MeasureResult,
) -> Vec<String> {
    let mut notes = session.notes.clone();
    notes.extend(others_words(&result.system.others));
    notes.extend(others_unseen(&result.host));
    let remarks = remarks(plan, session, outcome, result);
    notes.extend(remarks.iter().map(measurement_words::remark));
    notes
}

/// The effect of the load, and a note if the load did not build up more than memory holds.
fn with_backlog_not_seen(
    effect: EffectResult,
    session: &Session,
    host: &Host,
    targets: &[TargetResult],
) -> EffectResult {
    let sizes = session.targets.iter().map(|target| target.size_bytes);
    let size_bytes = sizes.fold(0, u64::saturating_add);
    let writes = session.direction == Direction::Write;
    let mut paths = effect.paths.iter().filter(|_| writes);
    let why = paths.find_map(|path| backlog::not_in_effect(path, size_bytes, host, targets));
    let mut unmeasured = effect.unmeasured;
    unmeasured.extend(why.as_ref().map(measurement_words::effect_not_seen));
    EffectResult {
        unmeasured,
        ..effect
    }
}

fn target_result(
    plan: &MeasurePlan,
    target: &OpenTarget,
    meter: &Meter,
    series: &TargetSeries,
    places: Option<&PlaceRates>,
) -> TargetResult {
    let bytes = meter.bytes();
    let size = target.size_bytes.max(1);
    let revisits = Revisits {
        lap_bytes: (target.wraps && plan.load.layout.has_own_streams()).then_some(size),
    };
    let steps = steps(&series.steps);
    let sustained = match places {
        Some(places) => {
            let even = even_steps(&[(steps.clone(), places)], &steps);
            of_verdict(&steady::judge_even(&even), &steps)
        }
        None => sustained(&steps, revisits),
    };
    TargetResult {
        name: target.target.name.clone(),
        kind: target.target.kind,
        capacity_bytes: target.target.capacity_bytes,
        bytes,
        seconds: seconds(meter.last_ns()),
        rate_bytes_per_s: rate(bytes, meter.last_ns()),
        laps: bytes.div_ceil(size).max(1),
        distinct_bytes: bytes.min(size),
        depth_reached: meter.depth_reached(),
        extents: extents(target),
        sustained,
        burst: burst_of(&steps, meter.beginning()),
        latency_ns: latency(meter.latency()),
        latency_histogram: meter
            .latency()
            .bins()
            .map(|(from_ns, to_ns, count)| LatencyBin {
                from_ns,
                to_ns,
                count,
            })
            .collect(),
        worst_stall_ns: Some(meter.stalls().worst_ns()),
        intervals: intervals(series.intervals.as_slice(), series.intervals.rate_ranges()),
        flush_seconds: series.flush_ns.map(seconds),
        errors: series
            .failures
            .iter()
            .take(ERRORS_MAX)
            .map(|failure| target_error(failure, &target.target.name))
            .collect(),
        ended: series.ending.unwrap_or(Ending::Interrupted),
    }
}

fn through_memory(result: TargetResult) -> TargetResult {
    let sustained = unknown_through_memory(result.rate_bytes_per_s);
    TargetResult {
        sustained,
        burst: None,
        ..result
    }
}

fn extents(target: &OpenTarget) -> Option<Extents> {
    let written = match target.target.kind {
        TargetKind::ScratchFile => target.needs_prewrite,
        TargetKind::File => {
            let existed = target.target.capacity_bytes.is_some();
            target.needs_prewrite || (existed && target.has_all_blocks)
        }
        _ => return None,
    };
    Some(if written {
        Extents::Written
    } else {
        Extents::Unwritten
    })
}

fn total(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    targets: &[TargetResult],
) -> Total {
    let collected = &outcome.collected;
    let bytes: u64 = targets.iter().map(|target| target.bytes).sum();
    let last_ns = outcome.meters.iter().map(Meter::last_ns).max().unwrap_or(0);
    let active = active_steps(plan, outcome);
    let active_bytes: u64 = active.iter().map(|step| step.bytes).sum();
    let backlog = collected.backlog_bytes_max.map(|bytes| bytes.ceil() as u64);
    let held = backlog.map(|backlog| paced_outcome(plan, session, targets, backlog, collected));
    Total {
        bytes,
        seconds: seconds(last_ns),
        all_active_bytes_per_s: match targets {
            // A single target is always active alone.
            [only] => Some(only.rate_bytes_per_s),
            // It is not known when the bytes of each target reached its disk.
            _ if plan.writes_buffered(session.direction) => None,
            _ => active
                .first()
                .zip(active.last())
                .map(|(first, last)| active_bytes as f64 / (last.end_s - first.start_s)),
        },
        sum_bytes_per_s: targets.iter().map(|target| target.rate_bytes_per_s).sum(),
        wall_clock_bytes_per_s: rate(bytes, last_ns),
        sustained: sustained_total(plan, session, outcome),
        burst: burst_of(&active, &collected.beginning)
            .filter(|_| !plan.writes_buffered(session.direction) && begins_with_run(plan, outcome)),
        intervals: total_intervals(plan, outcome),
        cpu_seconds_per_gb: (!session.clock.is_virtual() && bytes > 0)
            .then(|| seconds(outcome.cpu_ns) / (bytes as f64 / 1e9)),
        worst_stall_ns: collected.worst_stall_ns,
        worst_stall_at_s: seconds(collected.worst_stall_at_ns),
        longest_flush_ns: outcome
            .meters
            .iter()
            .filter_map(Meter::longest_flush_ns)
            .max(),
        tool_limited: is_tool_limited(session, outcome),
        rate_held: held.and_then(PacedOutcome::known),
        rate_undecided: held
            .and_then(PacedOutcome::why)
            .map(|why| measurement_words::undecided(why, targets)),
        backlog_max_bytes: backlog,
    }
}

fn is_tool_limited(session: &Session, outcome: &PhaseOutcome) -> bool {
    !session.clock.is_virtual()
        && outcome
            .drivers
            .iter()
            .any(|driver| driver.cpu_share >= TOOL_SHARE)
}

/// The series of the total in the plan's intervals, or in seconds if these go by bytes.
fn total_intervals(plan: &MeasurePlan, outcome: &PhaseOutcome) -> Vec<Interval> {
    let length_ns = match plan.load.interval {
        IntervalRule::Time(length_ns) => length_ns,
        IntervalRule::Bytes(_) => 1_000_000_000,
    };
    let bins = &outcome.collected.total;
    let mut joined: Vec<sustain_disk::meter::MeterInterval> = Vec::new();
    for bin in bins.as_slice() {
        match joined.last_mut() {
            Some(last) if bin.start_ns / length_ns == last.start_ns / length_ns => {
                last.end_ns = bin.end_ns;
                last.bytes += bin.bytes;
            }
            _ => joined.push(*bin),
        }
    }
    if let [.., before, last] = joined.as_mut_slice()
        && last.end_ns - last.start_ns < length_ns / 2
    {
        before.end_ns = last.end_ns;
        before.bytes += last.bytes;
        joined.pop();
    }
    for series in &outcome.collected.targets {
        let mut at = 0;
        for interval in series.intervals.as_slice() {
            while at + 1 < joined.len() && joined[at].end_ns <= interval.start_ns {
                at += 1;
            }
            if let Some(total) = joined.get_mut(at) {
                total.latency_max_ns = total.latency_max_ns.max(interval.latency_max_ns);
            }
        }
    }
    // Intervals that were put together from shorter bins have no range of their own.
    let is_by_bins = joined.len() == bins.as_slice().len();
    intervals(&joined, bins.rate_ranges().filter(|_| is_by_bins))
}

fn curve(outcome: &PhaseOutcome) -> Vec<BufferPoint> {
    outcome
        .collected
        .curve
        .iter()
        .map(|point| BufferPoint {
            rate_bytes_per_s: point.rate_bytes_per_s,
            buffer_bytes: point.buffer_bytes.ceil() as u64,
        })
        .collect()
}

fn stalls(session: &Session, outcome: &PhaseOutcome) -> Vec<Stall> {
    let mut all: Vec<sustain_disk::meter::MeteredStall> = Vec::new();
    for (target, meter) in outcome.meters.iter().enumerate() {
        let own = meter.stalls().stalls();
        all.extend(
            own.into_iter()
                .map(|stall| sustain_disk::meter::MeteredStall { target, ..stall }),
        );
    }
    all.sort_by_key(|stall| std::cmp::Reverse(stall.duration_ns));
    mark_shared(&mut all);
    let run_ns = outcome.meters.iter().map(Meter::last_ns).max().unwrap_or(0);
    let common = common_cause::of_each(&all, run_ns);
    let name = |target: &usize| session.targets[*target].target.name.clone();
    all.iter()
        .zip(common)
        .take(STALLS_MAX)
        .map(|(stall, is_common_cause)| Stall {
            target: name(&stall.target),
            start_s: seconds(stall.start_ns),
            duration_ns: stall.duration_ns,
            offset_bytes: stall.offset_bytes,
            shared_with: stall.shared_with.iter().map(name).collect(),
            is_common_cause,
        })
        .collect()
}

/// The names of the targets in the order in which they are used, where that is one.
fn order(plan: &MeasurePlan, session: &Session) -> Option<Vec<String>> {
    let names = session.targets.iter().map(|one| one.target.name.clone());
    (plan.load.layout != Layout::Independent).then(|| names.collect())
}

fn plan_facts(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    threads: u32,
    started_unix_s: i64,
) -> sustain_document::measure::Plan {
    let mut used: Vec<&str> = outcome.drivers.iter().map(|driver| driver.engine).collect();
    let mut why: Vec<&str> = outcome
        .drivers
        .iter()
        .map(|driver| driver.why.as_str())
        .collect();
    used.dedup();
    why.dedup();
    let (layout, chunk_bytes) = match plan.load.layout {
        Layout::Independent => (LayoutKind::Independent, None),
        Layout::Turns => (LayoutKind::Turns, None),
        Layout::Stripe { chunk_bytes } => (LayoutKind::Stripe, Some(chunk_bytes)),
        Layout::Span => (LayoutKind::Span, None),
    };
    let (interval_s, interval_bytes) = match plan.load.interval {
        IntervalRule::Time(length_ns) => (Some(seconds(length_ns)), None),
        IntervalRule::Bytes(bytes) => (None, Some(bytes)),
    };
    let simulated = session.clock.is_virtual();
    sustain_document::measure::Plan {
        sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: plan.arguments.clone(),
        started: (!simulated).then(|| time_of_day(started_unix_s)),
        targets: plan.load.targets.clone(),
        direction: session.direction,
        engine: plan.load.engine,
        engine_used: used.join(", "),
        engine_why: why.join("; "),
        threads,
        record_size_bytes: plan.load.record_bytes,
        depth: plan.load.depth,
        path: plan.load.path,
        layout,
        order: order(plan, session),
        chunk_bytes,
        time_s: plan.load.time_ns.map(seconds),
        bytes: plan.load.bytes,
        until_steady: plan.load.until_steady,
        size_bytes: plan.load.size_bytes,
        rate_bytes_per_s: plan.load.rate_bytes_per_s,
        buffer_bytes: plan.buffer_bytes,
        interval_s,
        interval_bytes,
        data: plan.load.data,
        at: plan.load.at.map(|at| at.to_string()),
        profile: plan.profile.as_ref().map(|profile| profile.name.clone()),
        seed: plan.load.seed,
        simulated,
    }
}
