//! All English of a recording's notes. Functions of data only.

use sustain_disk::error::IoFault;
use sustain_disk::units::{Duration, Size};
use sustain_document::setting::{RING, SIZE};

use crate::recorder::{RecordingProgress, Slowness};
use crate::source::framing::Framing;

/// Advice for a store that is full.
pub(super) fn full() -> String {
    format!(
        "the store is full: use {} to overwrite its oldest data, or create a larger one",
        RING.the()
    )
}

/// Who else used the members' disks, and whether the sources had all they needed even so.
pub(super) fn shared(deeds: &str, had_all: bool) -> String {
    let meaning = match had_all {
        false => "the members had so much less for this recording",
        true => "the sources had all they needed even so",
    };
    format!("{deeds}: {meaning}; `pidstat -d 1` says who it is")
}

/// A source that could not be read any further.
pub(super) fn read_error(name: &str, errno: IoFault) -> String {
    format!("cannot read any more of {name}: {errno}; what came before is recorded")
}

/// Where frames could not be told apart any more. `before` is the recording in which that was, if
/// it was not the last one.
pub(super) fn framing_error(stream: &str, error: &str, before: Option<u32>) -> String {
    match before {
        None => format!("{stream}: {error}"),
        Some(number) => format!("{stream}, in recording {number}: {error}"),
    }
}

/// That a recording has ended where the next one began.
pub(super) fn split(last: &RecordingProgress) -> String {
    let recorded_bytes: u64 = last.streams.iter().map(|one| one.recorded_bytes).sum();
    let gap_bytes: u64 = last.streams.iter().map(|one| one.gap_bytes).sum();
    let lost = match gap_bytes {
        0 => "nothing lost".to_owned(),
        bytes => format!("{} LOST", Size(bytes)),
    };
    format!(
        "recording {} has ended after {:.1} s with {} and {lost}; recording {} goes on",
        last.recording,
        last.time_s,
        Size(recorded_bytes),
        last.recording + 1
    )
}

pub(super) fn empty(source: &str) -> String {
    format!("{source} was empty: nothing was recorded from it")
}

/// A source in which no frame of its framing was found.
pub(super) fn without_frames(stream: &str, offered_bytes: u64, framing: Framing) -> String {
    format!(
        "{stream}: no frame was found in {offered_bytes} bytes, so they can be extracted as bytes \
         only; see whether `{framing}` is the framing of this source"
    )
}

/// A member that did not answer for a while, and then did.
pub(super) fn slow(name: &str, slowness: Slowness, slow_after_ns: u64) -> String {
    let times = match slowness.times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let (longest, bound) = (Duration(slowness.longest_ns), Duration(slow_after_ns));
    format!(
        "{name} kept a request for more than {bound} {times}, for {longest} at the longest: the \
         other members took its data until it answered, and then it was used again"
    )
}

/// A member that failed, and what became of the recording.
pub(super) fn failed(error: &str, is_other_left: bool, has_lost: bool) -> String {
    let others = match is_other_left {
        true => "the other members went on",
        false => "no other member was left",
    };
    let lost = match has_lost {
        true => "; what was written to it since its last flush is lost and recorded as a gap",
        false => "",
    };
    format!("{error}; {others}{lost}")
}

pub(super) fn kernel_log_unreadable(why: &str) -> String {
    format!("cannot read the kernel log: {why}")
}

/// A `--size` of a store that exists.
pub(super) fn size_not_used(members: &[String]) -> String {
    let members = members.join(" and ");
    format!(
        "the store on {members} exists already: {} is not used",
        SIZE.the()
    )
}

/// What a dry run would do.
pub(super) fn would_record(source: &str, stream: &str, members: &[String]) -> String {
    let members = members.join(", ");
    format!("would record {source} as stream {stream} on {members}")
}

/// What a dry run would take for the recorder: it has asked the kernel for it, in a thread that has
/// ended since.
pub(super) fn would_take(share: &str) -> String {
    format!("would record with {share}")
}
