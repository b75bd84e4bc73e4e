//! What a run through the page cache could not show: the backlog of a stream that has filled memory.
//! Shared by the notes of a result and its one sentence; works on the document alone.

use sustain_disk::units::Size;

use crate::effect::result::PathEffect;
use crate::result::{Host, MeasureResult, Plan, TargetResult};

const GIB: u64 = 1 << 30;
/// Sizes are proposed in multiples of this.
const PROPOSED_GIB: u64 = 8;
/// Room for so many times the memory cannot be held in it, whatever else the memory is used for.
const MEMORIES: u64 = 2;

/// More than so many quarters of the memory must fit, or what lies in it may still be all.
const MEMORY_QUARTERS_MIN: u64 = 5;

/// Says that what was written through the page cache fits into memory, and what to ask for to see
/// more. None past the page cache, for reading, and where more than the memory was written.
#[must_use]
pub fn backlog_not_seen(result: &MeasureResult) -> Option<String> {
    not_seen(&result.plan, &result.host, &result.targets)
}

pub(crate) fn not_seen(plan: &Plan, host: &Host, targets: &[TargetResult]) -> Option<String> {
    let written_through = plan.path == "buffered" && plan.direction == "write";
    let memory_bytes = host.description.as_ref()?.memory_bytes;
    let written = |target: &&TargetResult| target.bytes > 0 && target.kind != "null";
    let targets: Vec<&TargetResult> = targets.iter().filter(written).collect();
    let distinct_bytes: u64 = targets.iter().map(|target| target.distinct_bytes).sum();
    if !written_through || targets.is_empty() || distinct_bytes > memory_bytes {
        return None;
    }
    let what = match targets.as_slice() {
        [only] if only.kind == "block_device" => {
            format!("the {} written fit", Size(distinct_bytes))
        }
        [_] => format!("the file of {} fits", Size(distinct_bytes)),
        several => format!(
            "the {} of {} targets fit",
            Size(distinct_bytes),
            several.len()
        ),
    };
    let room_bytes = room_each(host, &targets);
    let advice = match flags(plan, memory_bytes, &targets, room_bytes) {
        Some(flags) => format!("{flags} shows the disk under a full cache"),
        None => "there is no room for one here; --path direct shows what the disk itself takes"
            .to_owned(),
    };
    Some(format!(
        "{what} into the memory of {:.0} GiB, so a backlog larger than memory did not build up: \
         {advice}",
        memory_bytes as f64 / GIB as f64,
    ))
}

/// How large each of the targets may become at the most, if that is known: the least of a device's own
/// size and of what its file system has left.
fn room_each(host: &Host, targets: &[&TargetResult]) -> u64 {
    let room = |target: &&TargetResult| match target.kind.as_str() {
        "block_device" => target.capacity_bytes,
        _ => {
            let mut places = host.file_systems.iter();
            places.find(|place| place.target == target.name)?.room_bytes
        }
    };
    targets.iter().filter_map(room).min().unwrap_or(u64::MAX)
}

/// The same of a load by the buffered path whose effect was watched; `size_bytes` is what it went
/// over.
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
        true => "a --size and a --time beyond it show that",
        false => "there is no room for more here, so these targets cannot show that",
    };
    Some(format!(
        "what a backlog larger than memory does: the {} written by the buffered path fit into the \
         memory of {:.0} GiB; {advice}",
        Size(distinct_bytes),
        memory_bytes as f64 / GIB as f64
    ))
}

/// What to ask for, so that more is written than memory holds; none where that does not fit.
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
