//! The size of appends that a sweep of the members found best, for a recording on them. A function
//! of data only.

use sustain_disk::units::Size;
use sustain_document::setting::{RECORD_SIZE, WRITE};
use sustain_document::sweep::{Axis, SweepResult};
use sustain_document::vocabulary::Direction;

use crate::format::{BLOCK_BYTES, SLOT_BYTES_MAX};

/// Smaller appends cost a descriptor and a seal too often.
pub const APPEND_BYTES_LEAST: u32 = 256 << 10;

/// The record size with which these members were written best, as appends may have it. `is_same`
/// tells whether a target is a member, or the directory of one.
///
/// # Errors
/// The error says what the sweep lacks, and how to make one that has it.
pub fn best_append_bytes(
    sweep: &SweepResult,
    members: &[String],
    is_same: &dyn Fn(&str, &str) -> bool,
) -> Result<u32, String> {
    let again = format!(
        "run `sustain sweep {} {} {} 1MiB,4MiB`",
        members.join(" "),
        WRITE.flag(),
        RECORD_SIZE.flag()
    );
    let mut answers = sweep.answers.iter();
    let Some(answer) = answers.find(|answer| answer.direction == Direction::Write) else {
        return Err(format!("it says nothing about writing: {again}"));
    };
    if !sweep.plan.axes.contains(&Axis::RecordSize) {
        return Err(format!("it has one record size and compared none: {again}"));
    }
    let mut points = sweep.points.iter();
    let Some(best) = points.find(|point| point.number == answer.best) else {
        return Err(format!("it lacks its best point, {}: {again}", answer.best));
    };
    let targets = &sweep.plan.target_names;
    let is_in = |member: &&String| targets.iter().any(|target| is_same(target, member));
    if let Some(member) = members.iter().find(|member| !is_in(member)) {
        return Err(format!("it did not measure {member}: {again}"));
    }
    let block_bytes = BLOCK_BYTES as u64;
    let bytes = best.setting.record_size_bytes / block_bytes * block_bytes;
    let range = u64::from(APPEND_BYTES_LEAST)..=u64::from(SLOT_BYTES_MAX);
    u32::try_from(bytes.clamp(*range.start(), *range.end()))
        .map_err(|_| format!("it found {} best: {again}", Size(bytes)))
}
