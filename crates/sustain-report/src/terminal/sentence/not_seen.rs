//! The part of a measurement's answer that says what the run could not see, such as a cache larger
//! than what it wrote, and the flag with which a run would see it.

use sustain_document::measure::{MeasureResult, TargetResult};
use sustain_document::vocabulary::{Ending, TargetKind};

use super::subject::reads;
use crate::format::{position, size};
use crate::terminal::without_controls;

/// States what the run could not see, and the flag with which a run would see it.
pub(super) fn not_seen(result: &MeasureResult) -> Option<String> {
    let moved = result.targets.iter();
    let moved = moved.filter(|target| target.bytes > 0 && target.kind != TargetKind::Null);
    let moved: Vec<&TargetResult> = moved.collect();
    let least = least_seen(moved.iter().copied())?;
    // A target that came to its end has no rest to be seen.
    let is_open = |target: &&TargetResult| target.ended != Ending::EndOfDevice;
    let open = least_seen(moved.iter().copied().filter(is_open));
    let several = result.targets.len() > 1;
    let of_each = match (moved.as_slice(), several) {
        (_, false) => String::new(),
        // The others moved nothing.
        ([only], true) => format!(" of {}", without_controls(&only.name)),
        _ => " of each target".to_owned(),
    };
    let alike = |target: &&TargetResult| target.distinct_bytes == least.distinct_bytes;
    let are_alike = moved.iter().all(alike);
    let at_least = if are_alike { "" } else { "at least " };
    let seen = format!("{at_least}{}{of_each}", size(least.distinct_bytes));
    let did = if reads(result) { "read" } else { "wrote" };
    let Some(open) = open else {
        return Some(to_the_end(result, &format!("The run {did} {seen} once")));
    };
    if open.laps > 1 {
        let again = if reads(result) { "reread" } else { "rewrote" };
        return Some(format!(
            "The run {again} {seen} {} times, so a cache of more than {} would go unnoticed (use a \
             larger --size)",
            open.laps,
            size(least.distinct_bytes)
        ));
    }
    let more = flag_for_more(result, open);
    let is_disk = open.kind == TargetKind::BlockDevice || open.kind == TargetKind::Simulated;
    let whose = match (moved.as_slice(), several) {
        (_, false) => "the target".to_owned(),
        ([only], true) => without_controls(&only.name),
        _ => "each target".to_owned(),
    };
    match open.capacity_bytes.filter(|_| is_disk) {
        Some(capacity) if capacity > open.distinct_bytes => {
            // Both figures are in one base, so that they can be compared.
            let least = position(least.distinct_bytes);
            let is_of_all = |target: &&TargetResult| target.capacity_bytes == Some(capacity);
            let seen = match are_alike && moved.iter().all(is_of_all) {
                true => format!("{least} of the {} of {whose}", position(capacity)),
                false => format!("{at_least}{least}{of_each}"),
            };
            Some(format!(
                "The run {did} {seen} once, so a cache of more than {least}, or a slower part in \
                 the rest of {whose}, would go unnoticed (use {more})"
            ))
        }
        Some(_) => Some(format!("The run {did} {seen} once, from end to end")),
        None => Some(format!(
            "The run {did} {seen} once, so a cache of more than {} would go unnoticed (use {more})",
            size(least.distinct_bytes)
        )),
    }
}

/// The target of which the least was seen.
fn least_seen<'a>(targets: impl Iterator<Item = &'a TargetResult>) -> Option<&'a TargetResult> {
    targets.min_by_key(|target| (target.distinct_bytes, target.laps))
}

/// The statement about targets that all came to their end, of which a longer run would show no
/// more.
fn to_the_end(result: &MeasureResult, done: &str) -> String {
    match &result.plan.at {
        Some(at) => format!(
            "{done}, from {at} to {} end; run it without --at to see the rest",
            if result.targets.len() > 1 {
                "their"
            } else {
                "its"
            }
        ),
        None => format!("{done}, from end to end"),
    }
}

/// The flag that bounded a target whose used part was passed once.
fn flag_for_more(result: &MeasureResult, target: &TargetResult) -> &'static str {
    let record = result.plan.record_size_bytes;
    let size_bytes = result.plan.size_bytes;
    let all_of =
        |size| (..=size).contains(&target.distinct_bytes) && target.distinct_bytes + record > size;
    if size_bytes.is_some_and(all_of) {
        return "a larger --size";
    }
    match target.ended {
        Ending::Bytes => "a larger --bytes",
        Ending::Steady => "a longer --time without --until-steady",
        _ if target.kind == TargetKind::BlockDevice || target.kind == TargetKind::Simulated => {
            "a longer --time"
        }
        _ => "a larger --size and a longer --time",
    }
}
