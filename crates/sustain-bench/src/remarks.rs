//! What a reader must know to read a result's figures right, in plain words.

use sustain_disk::engine::EngineChoice;
use sustain_disk::meter::Meter;
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_disk::units::{Duration, Rate, Size};

use crate::active::of_what_was_left;
use crate::phase::PhaseOutcome;
use crate::plan::Plan;
use crate::result::{Host, Rewritten, System, TargetResult, Total};
use crate::session::Session;

/// Rates of several targets are told apart in words from this difference on.
const RATES_DIFFER: f64 = 0.02;

/// A shorter flush needs no word.
const FLUSH_SAID_S: f64 = 0.1;

/// File systems that write more than a file's data, by how much is not known.
const WRITE_MORE: [&str; 3] = ["btrfs", "zfs", "bcachefs"];

/// On which targets' disks others are not looked for, and why.
pub(crate) fn others_untold(host: &Host) -> Option<String> {
    let file_systems = host.file_systems.iter();
    let untold: Vec<_> = file_systems
        .filter(|one| WRITE_MORE.contains(&one.file_system.kind.as_str()))
        .collect();
    let kind = &untold.first()?.file_system.kind;
    let names: Vec<&str> = untold.iter().map(|one| one.target.as_str()).collect();
    Some(format!(
        "others who use the file system of {} cannot be told from this run: {kind} writes more than a \
         file's data, and how much more is not known",
        names.join(", ")
    ))
}

/// All remarks on a run.
pub(crate) fn remarks(
    plan: &Plan,
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
            "null: is no disk; its rate is that of the tool and the kernel's entry".to_owned()
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
    plan: &Plan,
    session: &Session,
    outcome: &PhaseOutcome,
    total: &Total,
) -> Option<String> {
    let all = match of_what_was_left(plan, session, outcome) {
        Some(_) => "all that were left",
        None => "all",
    };
    let (sum, wall) = (total.sum_bytes_per_s, total.wall_clock_bytes_per_s);
    let active = total.all_active_bytes_per_s.unwrap_or(sum);
    let (least, most) = (sum.min(wall).min(active), sum.max(wall).max(active));
    (session.targets.len() > 1 && least < most * (1.0 - RATES_DIFFER)).then(|| {
        format!(
            "the targets were not active for the same time: {} while {all} were, {} as the sum of \
             their own rates, {} over the wall clock",
            Rate(active),
            Rate(sum),
            Rate(wall)
        )
    })
}

fn tool_limited(total: &Total) -> Option<String> {
    total.tool_limited.then(|| {
        "the tool itself was the limit: a driver had no CPU time left; use larger records, or \
         more --threads on several targets"
            .to_owned()
    })
}

fn watched(plan: &Plan) -> Option<String> {
    plan.effect.as_ref().map(|_| {
        "the victims of --effect were at work beside this run: without them it may be a little \
         faster"
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
             target held up the others; io_uring and threads do not have that",
            Duration(blocked_ns)
        )
    })
}

fn one_at_a_time(plan: &Plan, outcome: &PhaseOutcome) -> Option<String> {
    let reached = outcome
        .meters
        .iter()
        .map(Meter::depth_reached)
        .max()
        .unwrap_or(0);
    (plan.engine == EngineChoice::Sync && plan.depth > 1 && reached == 1)
        .then(|| "the engine sync keeps one request in flight, whatever --depth says".to_owned())
}

fn buffered(plan: &Plan, session: &Session, system: &System) -> Option<String> {
    if plan.path != DataPath::Buffered {
        return None;
    }
    if session.direction == Direction::Read {
        return Some(
            "buffered: memory was asked to forget the data before each time it was read; what \
             another program uses there, or what a host has cached, may come from memory all the \
             same"
                .to_owned(),
        );
    }
    let most = |part: fn(&sustain_host::MemorySample) -> u64| {
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
        "; whether others used the same disks meanwhile cannot be told here"
    };
    // A source that does not wait is not held up by a flush at the end of each lap.
    let before = if plan.rate_bytes_per_s.is_some() {
        ""
    } else {
        "what was written was flushed before it was written over, and "
    };
    Some(format!(
        "buffered: {before}the closing flush is inside the time; single intervals are of memory and \
         disk together; up to {} were dirty and {} in writeback{others}",
        most(|memory| memory.dirty_bytes),
        most(|memory| memory.writeback_bytes)
    ))
}

/// What completes on the buffered path is in memory; only with the closing flush it is on the disk.
pub(crate) fn writes_buffered(plan: &Plan, session: &Session) -> bool {
    plan.path == DataPath::Buffered && session.direction == Direction::Write
}

/// That new bytes could not be made fast enough to tell whether the targets take them slower.
pub(crate) fn made_too_slowly(rewritten: &Rewritten) -> Option<String> {
    rewritten.tool_limited.then(|| {
        format!(
            "bytes that are new for each write, as a recorder's are, were made at {} only, which took \
             a driver's time: whether the targets take them slower than this run's is not known",
            Rate(rewritten.rate_bytes_per_s)
        )
    })
}

/// A flush after the run that took long: part of the rate was that of a cache.
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
        "the last flush{of}, after the run and not in its rate, took {}: only then was all that was \
         written out of caches and safe",
        Duration((seconds * 1e9) as u64)
    ))
}

/// File systems that are no disk.
pub(crate) fn in_memory(host: &Host) -> impl Iterator<Item = String> {
    let kinds = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
    host.file_systems
        .iter()
        .filter(move |place| kinds.contains(&place.file_system.kind.as_str()))
        .map(|place| {
            format!(
                "{} lies in memory ({}): its rate is that of memory, not of a disk",
                place.target, place.file_system.kind
            )
        })
}
