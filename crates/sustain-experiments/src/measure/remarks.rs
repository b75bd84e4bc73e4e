//! Finds what a reader must know in order to read a result's figures right, as data.
//! `measurement_words.rs` has the English of each remark.

use sustain_disk::engine::EngineChoice;
use sustain_disk::meter::Meter;
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_document::host::Host;
use sustain_document::measure::{MeasureResult, TargetResult};
use sustain_document::system::{MemorySample, System};
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;

use super::active::remaining;
use super::confirm::confirms;
use super::plan::MeasurePlan;
use super::statements::{BufferedWriting, DifferingRates, LongFlush, MeasureRemark};
use super::{rewritten, verdicts};

/// A shorter flush is not mentioned.
const FLUSH_SAID_S: f64 = 0.1;

/// File systems that are in memory.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];

/// All remarks on a run whose verdicts are decided.
pub(super) fn remarks(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    result: &MeasureResult,
) -> Vec<MeasureRemark> {
    let remaining = remaining(plan, session, outcome);
    let verdicts = &verdicts::of(result);
    let undecided = result.total.rate_undecided.clone();
    let profile = plan.profile.as_ref();
    let of_run = [
        verdicts
            .rates_differ
            .then(|| rates_differ(result, remaining.is_some())),
        result
            .total
            .tool_limited
            .then_some(MeasureRemark::ToolLimited),
        submit_blocked(outcome),
        one_at_a_time(plan, outcome),
        buffered(plan, session, &result.system),
        has_null(session).then_some(MeasureRemark::NotADisk),
        plan.effect.as_ref().map(|_| MeasureRemark::Watched),
        long_flush(&result.targets),
        undecided.map(|why| MeasureRemark::RateUndecided { why }),
        profile.map(|profile| MeasureRemark::EvenedByProfile {
            profile: profile.name.clone(),
        }),
        made_too_slowly(result),
        new_bytes_not_tried(plan, session, outcome, result),
        remaining.map(MeasureRemark::OfRemaining),
    ];
    let rhythm = verdicts.rhythm_not_seen.clone();
    let backlog = verdicts.backlog_not_seen.clone();
    let of_run = of_run.into_iter().flatten();
    of_run
        .chain(in_memory(&result.host))
        .chain(rhythm.map(MeasureRemark::RhythmNotSeen))
        .chain(backlog.map(MeasureRemark::BacklogNotSeen))
        .collect()
}

fn has_null(session: &Session) -> bool {
    let mut targets = session.targets.iter();
    targets.any(|target| target.target.kind == TargetKind::Null)
}

fn rates_differ(result: &MeasureResult, are_remaining: bool) -> MeasureRemark {
    let total = &result.total;
    MeasureRemark::RatesDiffer(DifferingRates {
        are_remaining,
        active_bytes_per_s: total
            .all_active_bytes_per_s
            .unwrap_or(total.sum_bytes_per_s),
        sum_bytes_per_s: total.sum_bytes_per_s,
        wall_clock_bytes_per_s: total.wall_clock_bytes_per_s,
    })
}

fn submit_blocked(outcome: &PhaseOutcome) -> Option<MeasureRemark> {
    let drivers = outcome.drivers.iter();
    let blocked_ns: u64 = drivers.map(|driver| driver.submit_blocked_ns).sum();
    (blocked_ns > 0).then_some(MeasureRemark::SubmitBlocked { blocked_ns })
}

fn one_at_a_time(plan: &MeasurePlan, outcome: &PhaseOutcome) -> Option<MeasureRemark> {
    let reached = outcome.meters.iter().map(Meter::depth_reached).max();
    let is_one = plan.load.engine == EngineChoice::Sync && plan.load.depth > 1;
    (is_one && reached == Some(1)).then_some(MeasureRemark::OneAtATime)
}

fn buffered(plan: &MeasurePlan, session: &Session, system: &System) -> Option<MeasureRemark> {
    if plan.load.path != DataPath::Buffered {
        return None;
    }
    if session.direction == Direction::Read {
        return Some(MeasureRemark::BufferedRead);
    }
    let most = |part: fn(&MemorySample) -> u64| {
        let samples = system.samples.iter();
        samples
            .map(|sample| part(&sample.memory))
            .max()
            .unwrap_or(0)
    };
    Some(MeasureRemark::BufferedWrite(BufferedWriting {
        // A source that does not wait is not delayed by a flush at the end of each lap.
        is_flushed_each_lap: plan.load.rate_bytes_per_s.is_none(),
        dirty_bytes: most(|memory| memory.dirty_bytes),
        writeback_bytes: most(|memory| memory.writeback_bytes),
        are_others_unseen: !session.clock.is_virtual() && !system.others_can_be_told,
    }))
}

fn made_too_slowly(result: &MeasureResult) -> Option<MeasureRemark> {
    let rewritten = result.rewritten.as_ref()?;
    rewritten
        .tool_limited
        .then_some(MeasureRemark::MadeTooSlowly {
            rate_bytes_per_s: rewritten.rate_bytes_per_s,
        })
}

fn new_bytes_not_tried(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    result: &MeasureResult,
) -> Option<MeasureRemark> {
    let is_said = result.recommendation.is_some()
        && result.rewritten.is_none()
        && rewritten::may_be_slower(plan, session);
    is_said.then_some(MeasureRemark::NewBytesNotTried {
        is_too_short: confirms(plan) && outcome.elapsed_ns < rewritten::RUN_NS_MIN,
    })
}

fn long_flush(targets: &[TargetResult]) -> Option<MeasureRemark> {
    let flushed = targets.iter().filter_map(|target| {
        let seconds = target.flush_seconds.filter(|long| *long >= FLUSH_SAID_S)?;
        Some((target, seconds))
    });
    let (target, flush_s) = flushed.max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(MeasureRemark::LongFlush(LongFlush {
        target: (targets.len() > 1).then(|| target.name.clone()),
        flush_s,
        flushed_bytes_per_s: target.bytes as f64 / (target.seconds + flush_s),
    }))
}

fn in_memory(host: &Host) -> impl Iterator<Item = MeasureRemark> {
    let places = host.file_systems.iter();
    let places = places.filter(|place| IN_MEMORY.contains(&place.file_system.kind.as_str()));
    places.map(|place| MeasureRemark::InMemory {
        target: place.target.clone(),
        kind: place.file_system.kind.clone(),
    })
}
