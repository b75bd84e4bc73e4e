//! Finds what a run through the page cache could not show: the behaviour under a backlog larger
//! than memory. It works on the result document alone.

use sustain_document::effect::PathEffect;
use sustain_document::host::Host;
use sustain_document::measure::{Plan, TargetResult};
use sustain_document::verdicts::{BacklogNotSeen, ProposedRun};
use sustain_document::vocabulary::{DataPath, Direction, TargetKind};

use super::statements::EffectBacklog;

const GIB: u64 = 1 << 30;
/// Sizes are proposed in multiples of this.
const PROPOSED_GIB: u64 = 8;
/// So many times the size of the memory cannot be held in it, whatever else the memory is used for.
const MEMORIES: u64 = 2;

/// More than this many quarters of the memory must fit, or everything written may still be in
/// memory.
const MEMORY_QUARTERS_MIN: u64 = 5;

/// The data written through the page cache, if it fits into memory, and the run that would show
/// more. None for direct I/O, for reading, and if more than the memory was written.
pub(super) fn not_seen(
    plan: &Plan,
    host: &Host,
    targets: &[TargetResult],
) -> Option<BacklogNotSeen> {
    let written_through = plan.path == DataPath::Buffered && plan.direction == Direction::Write;
    let memory_bytes = host.description.as_ref()?.memory_bytes;
    let written = |target: &&TargetResult| target.bytes > 0 && target.kind != TargetKind::Null;
    let targets: Vec<&TargetResult> = targets.iter().filter(written).collect();
    let distinct_bytes: u64 = targets.iter().map(|target| target.distinct_bytes).sum();
    if !written_through || targets.is_empty() || distinct_bytes > memory_bytes {
        return None;
    }
    let room_bytes = room_each(host, &targets);
    Some(BacklogNotSeen {
        written_bytes: distinct_bytes,
        targets: targets.len(),
        is_one_file: targets.len() == 1 && targets[0].kind != TargetKind::BlockDevice,
        memory_bytes,
        proposed: proposed(plan, memory_bytes, &targets, room_bytes),
    })
}

/// The size that each of the targets may reach at most, if it is known: the lower one of a device's
/// own size and of the space that is left on its file system.
fn room_each(host: &Host, targets: &[&TargetResult]) -> u64 {
    let room = |target: &&TargetResult| match target.kind {
        TargetKind::BlockDevice => target.capacity_bytes,
        _ => {
            let mut places = host.file_systems.iter();
            places.find(|place| place.target == target.name)?.room_bytes
        }
    };
    targets.iter().filter_map(room).min().unwrap_or(u64::MAX)
}

/// The same for a load of buffered I/O whose effect was watched; `size_bytes` is the size of the
/// part that the load went over.
pub(super) fn not_in_effect(
    seen: &PathEffect,
    size_bytes: u64,
    host: &Host,
    targets: &[TargetResult],
) -> Option<EffectBacklog> {
    let targets: Vec<&TargetResult> = targets.iter().collect();
    let room_bytes = room_each(host, &targets).saturating_mul(targets.len() as u64);
    let memory_bytes = host.description.as_ref()?.memory_bytes;
    let distinct_bytes = seen.load.bytes.min(size_bytes);
    if seen.path != "buffered" || distinct_bytes == 0 || distinct_bytes > memory_bytes {
        return None;
    }
    Some(EffectBacklog {
        written_bytes: distinct_bytes,
        memory_bytes,
        larger_fits: room_bytes > memory_bytes / 4 * MEMORY_QUARTERS_MIN,
    })
}

/// The run that writes more than memory holds; `None` if that does not fit.
fn proposed(
    plan: &Plan,
    memory_bytes: u64,
    targets: &[&TargetResult],
    room_bytes: u64,
) -> Option<ProposedRun> {
    let count = targets.len() as u64;
    let wanted = (memory_bytes * MEMORIES).div_ceil(count);
    let wanted = wanted.next_multiple_of(PROPOSED_GIB * GIB);
    let each = wanted.min(room_bytes / GIB * GIB);
    if each * count < memory_bytes / 4 * MEMORY_QUARTERS_MIN {
        return None;
    }
    let longest_s = targets
        .iter()
        .map(|target| target.seconds)
        .fold(0.0, f64::max);
    let bytes: u64 = targets.iter().map(|target| target.bytes).sum();
    let needed_s = (each * count) as f64 / (bytes as f64 / longest_s);
    let is_longer = plan.time_s.is_some_and(|time_s| needed_s > time_s);
    Some(ProposedRun {
        size_bytes: each,
        time_s: is_longer.then_some(needed_s),
    })
}
