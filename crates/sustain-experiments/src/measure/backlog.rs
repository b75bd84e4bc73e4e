//! Says what a run through the page cache could not show: the behaviour under a backlog larger than
//! memory. The notes of a result and its one-sentence answer share this module. It works on the
//! result document alone.

use sustain_disk::units::Size;
use sustain_document::effect::PathEffect;
use sustain_document::host::Host;
use sustain_document::measure::{MeasureResult, Plan, TargetResult};
use sustain_document::vocabulary::{DataPath, Direction, TargetKind};

const GIB: u64 = 1 << 30;
/// Sizes are proposed in multiples of this.
const PROPOSED_GIB: u64 = 8;
/// So many times the size of the memory cannot be held in it, whatever else the memory is used for.
const MEMORIES: u64 = 2;

/// More than this many quarters of the memory must fit, or everything written may still be in
/// memory.
const MEMORY_QUARTERS_MIN: u64 = 5;

/// Says that the data written through the page cache fits into memory, and which flags would show
/// more. None for direct I/O, for reading, and if more than the memory was written.
#[must_use]
pub fn backlog_not_seen(result: &MeasureResult) -> Option<String> {
    not_seen(&result.plan, &result.host, &result.targets)
}

pub(crate) fn not_seen(plan: &Plan, host: &Host, targets: &[TargetResult]) -> Option<String> {
    let written_through = plan.path == DataPath::Buffered && plan.direction == Direction::Write;
    let memory_bytes = host.description.as_ref()?.memory_bytes;
    let written = |target: &&TargetResult| target.bytes > 0 && target.kind != TargetKind::Null;
    let targets: Vec<&TargetResult> = targets.iter().filter(written).collect();
    let distinct_bytes: u64 = targets.iter().map(|target| target.distinct_bytes).sum();
    if !written_through || targets.is_empty() || distinct_bytes > memory_bytes {
        return None;
    }
    let what = match targets.as_slice() {
        [only] if only.kind == TargetKind::BlockDevice => {
            format!("the {} written fit", Size(distinct_bytes))
        }
        [_] => format!("the file of {} fits", Size(distinct_bytes)),
        several => format!(
            "the {} written to {} targets fit",
            Size(distinct_bytes),
            several.len()
        ),
    };
    let room_bytes = room_each(host, &targets);
    let advice = match flags(plan, memory_bytes, &targets, room_bytes) {
        Some(flags) => format!("use {flags} to see the disk behind a full cache"),
        None => "there is not enough space here for one; --path direct shows what the disk itself \
                 takes"
            .to_owned(),
    };
    Some(format!(
        "{what} into the memory of {:.0} GiB, so no backlog larger than memory built up: {advice}",
        memory_bytes as f64 / GIB as f64,
    ))
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
pub(crate) fn not_in_effect(
    seen: &PathEffect,
    size_bytes: u64,
    host: &Host,
    targets: &[TargetResult],
) -> Option<String> {
    let targets: Vec<&TargetResult> = targets.iter().collect();
    let room_bytes = room_each(host, &targets).saturating_mul(targets.len() as u64);
    let memory_bytes = host.description.as_ref()?.memory_bytes;
    let distinct_bytes = seen.load.bytes.min(size_bytes);
    if seen.path != "buffered" || distinct_bytes == 0 || distinct_bytes > memory_bytes {
        return None;
    }
    let fits = room_bytes > memory_bytes / 4 * MEMORY_QUARTERS_MIN;
    let advice = match fits {
        true => "use a larger --size and --time to see it",
        false => "there is not enough space for more here, so these targets cannot show it",
    };
    Some(format!(
        "the effect of a backlog larger than memory: the {} written with buffered I/O fit into the \
         memory of {:.0} GiB; {advice}",
        Size(distinct_bytes),
        memory_bytes as f64 / GIB as f64
    ))
}

/// The flags with which a run writes more than memory holds; `None` if that does not fit.
fn flags(
    plan: &Plan,
    memory_bytes: u64,
    targets: &[&TargetResult],
    room_bytes: u64,
) -> Option<String> {
    let count = targets.len() as u64;
    let wanted = (memory_bytes * MEMORIES).div_ceil(count);
    let wanted = wanted.next_multiple_of(PROPOSED_GIB * GIB);
    let each = wanted.min(room_bytes / GIB * GIB);
    if each * count < memory_bytes / 4 * MEMORY_QUARTERS_MIN {
        return None;
    }
    let mut flags = format!("--size {}GiB", each / GIB);
    let longest_s = targets
        .iter()
        .map(|target| target.seconds)
        .fold(0.0, f64::max);
    let bytes: u64 = targets.iter().map(|target| target.bytes).sum();
    let needed_s = (each * count) as f64 / (bytes as f64 / longest_s);
    if plan.time_s.is_some_and(|time_s| needed_s > time_s) {
        flags.push_str(&format!(" --time {:.0}m", (needed_s / 60.0).ceil()));
    }
    Some(flags)
}
