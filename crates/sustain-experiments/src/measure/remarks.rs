//! Remarks that a reader needs in order to read a result's figures right.

use sustain_disk::engine::EngineChoice;
use sustain_disk::meter::Meter;
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_disk::units::{Duration, Rate, Size};
use sustain_document::host::Host;
use sustain_document::measure::{Rewritten, TargetResult, Total};
use sustain_document::system::System;
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;

use super::active::of_what_was_left;
use super::plan::MeasurePlan;

/// From this difference on, the rates of several targets are told apart in words.
const RATES_DIFFER: f64 = 0.02;

/// A shorter flush is not mentioned.
const FLUSH_SAID_S: f64 = 0.1;

/// All remarks on a run.
pub(crate) fn remarks(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    total: &Total,
    system: &System,
) -> Vec<String> {
    let is_null = session
        .targets
        .iter()
        .any(|target| target.target.kind == TargetKind::Null)
        .then(|| {
            "null: is not a disk; its rate is that of this program and of its calls into the kernel"
                .to_owned()
        });
    [
        three_rates(plan, session, outcome, total),
        tool_limited(total),
        submit_blocked(outcome),
        one_at_a_time(plan, outcome),
        buffered(plan, session, system),
        is_null,
        watched(plan),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn three_rates(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    total: &Total,
) -> Option<String> {
    let all = match of_what_was_left(plan, session, outcome) {
        Some(_) => "all remaining targets",
        None => "all",
    };
    let (sum, wall) = (total.sum_bytes_per_s, total.wall_clock_bytes_per_s);
    let active = total.all_active_bytes_per_s.unwrap_or(sum);
    let (least, most) = (sum.min(wall).min(active), sum.max(wall).max(active));
    (session.targets.len() > 1 && least < most * (1.0 - RATES_DIFFER)).then(|| {
        format!(
            "the targets were not active for the same time, so there are three rates: {} while \
             {all} were active, {} as the sum of their own rates, {} over the wall-clock time",
            Rate(active),
            Rate(sum),
            Rate(wall)
        )
    })
}

fn tool_limited(total: &Total) -> Option<String> {
    total.tool_limited.then(|| {
        "this program itself was the limit: one of its drivers had no CPU time left; use larger \
         records or, with several targets, more --threads"
            .to_owned()
    })
}

fn watched(plan: &MeasurePlan) -> Option<String> {
    plan.effect.as_ref().map(|_| {
        "the probe workloads of --effect ran beside this run: without them its rate may be a \
         little higher"
            .to_owned()
    })
}

fn submit_blocked(outcome: &PhaseOutcome) -> Option<String> {
    let blocked_ns: u64 = outcome
        .drivers
        .iter()
        .map(|driver| driver.submit_blocked_ns)
        .sum();
    (blocked_ns > 0).then(|| {
        format!(
            "io_submit blocked for {} in all: native AIO was not asynchronous here, and a slow \
             target delayed the others; io_uring and threads do not have this problem",
            Duration(blocked_ns)
        )
    })
}

fn one_at_a_time(plan: &MeasurePlan, outcome: &PhaseOutcome) -> Option<String> {
    let reached = outcome
        .meters
        .iter()
        .map(Meter::depth_reached)
        .max()
        .unwrap_or(0);
    (plan.load.engine == EngineChoice::Sync && plan.load.depth > 1 && reached == 1).then(|| {
        "the engine sync keeps only one request in flight, whatever --depth asks for".to_owned()
    })
}

fn buffered(plan: &MeasurePlan, session: &Session, system: &System) -> Option<String> {
    if plan.load.path != DataPath::Buffered {
        return None;
    }
    if session.direction == Direction::Read {
        return Some(
            "buffered: the kernel was asked to drop the data from the page cache before each time \
             it was read; data that another program uses, or that the host of a virtual machine \
             has cached, may still come from memory"
                .to_owned(),
        );
    }
    let most = |part: fn(&sustain_document::system::MemorySample) -> u64| {
        Size(
            system
                .samples
                .iter()
                .map(|sample| part(&sample.memory))
                .max()
                .unwrap_or(0),
        )
    };
    let others = if session.clock.is_virtual() || system.others_can_be_told {
        ""
    } else {
        "; whether other programs used the same disks during the run is not known here"
    };
    // A source that does not wait is not delayed by a flush at the end of each lap.
    let before = if plan.load.rate_bytes_per_s.is_some() {
        ""
    } else {
        "data was flushed before it was overwritten, and "
    };
    Some(format!(
        "buffered: {before}the closing flush is part of the measured time; single intervals show \
         memory and disk together; up to {} of memory were dirty and {} in writeback{others}",
        most(|memory| memory.dirty_bytes),
        most(|memory| memory.writeback_bytes)
    ))
}

/// Whether the run writes buffered: completed writes are then in memory, and on the disk only after
/// the closing flush.
pub(crate) fn writes_buffered(plan: &MeasurePlan, session: &Session) -> bool {
    plan.load.path == DataPath::Buffered && session.direction == Direction::Write
}

/// Says that new data could not be generated fast enough to tell whether the targets take it more
/// slowly.
pub(crate) fn made_too_slowly(rewritten: &Rewritten) -> Option<String> {
    rewritten.tool_limited.then(|| {
        format!(
            "data that is new for each write, as a recorder's is, could be generated at {} only, \
             which used all the CPU time of a driver: whether the targets take it more slowly than \
             the data of this run is not known",
            Rate(rewritten.rate_bytes_per_s)
        )
    })
}

/// Says that the flush after the run took long, which means that part of the rate was that of a
/// cache.
pub(crate) fn long_flush(targets: &[TargetResult]) -> Option<String> {
    let flushed = targets.iter().filter_map(|target| {
        let seconds = target.flush_seconds.filter(|long| *long >= FLUSH_SAID_S)?;
        Some((target, seconds))
    });
    let (target, seconds) = flushed.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let of = if targets.len() > 1 {
        format!(" of {}", target.name)
    } else {
        String::new()
    };
    Some(format!(
        "the last flush{of}, which came after the run and is not part of its rate, took {}: only \
         then was all written data out of the caches and safe, at {} with the flush counted",
        Duration((seconds * 1e9) as u64),
        Rate(target.bytes as f64 / (target.seconds + seconds))
    ))
}

/// Names the targets whose file system is in memory.
pub(crate) fn in_memory(host: &Host) -> impl Iterator<Item = String> {
    let kinds = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
    host.file_systems
        .iter()
        .filter(move |place| kinds.contains(&place.file_system.kind.as_str()))
        .map(|place| {
            format!(
                "{} is in memory ({}), so its rate is that of memory, not of a disk",
                place.target, place.file_system.kind
            )
        })
}
