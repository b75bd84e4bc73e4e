//! All English of a recording's notes. Functions of data only.

use sustain_disk::error::IoFault;
use sustain_disk::units::{Duration, Rate, Size};
use sustain_document::setting::{ADD, ALIGN_FRAMES, APPEND_SIZE, DESTROY, PARITY, PIN, RING, SIZE};

use super::left_free::LeftFree;
use crate::best_size::APPEND_BYTES_LEAST;
use crate::recorder::{AppendSize, RecordingProgress, Slowness};
use crate::source::framing::Framing;

/// Advice for a store that is full.
pub(super) fn full() -> String {
    format!(
        "the store is full: use {} to overwrite its oldest data, make it larger with `sustain \
         create` and {}, create a larger store, or, once you have extracted what you need, make \
         this one anew with `sustain create` and {}",
        RING.the(),
        ADD.the(),
        DESTROY.the()
    )
}

/// What a full store has left free on some members.
pub(super) fn left_free(left: &LeftFree<'_>) -> String {
    let members = left.members.join(" and ");
    let why = match (left.are_slower, left.members.len()) {
        (true, 1) => "is slower",
        (true, _) => "are slower",
        (false, _) => "had more free space than the others when the recording began",
    };
    let evenly = left.evenly_up_to_bytes_per_s.map(|bytes_per_s| {
        let rate = Rate(bytes_per_s);
        format!("; sources of up to about {rate} together fill all members evenly")
    });
    format!(
        "{} are left free on {members}, which {why}: with {} an append needs others on other \
         members, and too few of those have space{}",
        Size(left.bytes),
        PARITY.of(left.parities),
        evenly.unwrap_or_default()
    )
}

/// Notes that a recording is to have less parity than its store has by default.
pub(super) fn less_parity(asked: u16, of_store: u16) -> String {
    let survives = match asked {
        0 => "the loss of any member is the loss of what is recorded on it".to_owned(),
        _ => format!("no more than the loss of {asked} at once is survived"),
    };
    format!(
        "{} was given for this recording, where the store has {of_store} by default: {survives}",
        PARITY.of(asked)
    )
}

/// Notes that members of a store that is to get parity are on one disk.
pub(super) fn parity_on_one_disk(members: &[&str], disk: &str) -> String {
    format!(
        "{} are on {disk}, which takes all of them with it when it fails: {PARITY} does not \
         protect from that",
        members.join(" and ")
    )
}

/// Advice for a ring of which pins keep all.
pub(super) fn kept_by_pins(pins: &[u32]) -> String {
    let numbers: Vec<String> = pins.iter().map(u32::to_string).collect();
    let (pins, keep, they, one) = match numbers.len() {
        1 => ("pin", "keeps", "it keeps", "it"),
        _ => ("pins", "keep", "they keep", "one"),
    };
    format!(
        "{pins} {} {keep} all of the ring, so there was nothing left to overwrite: read what \
         {they}, then free {one} with `sustain unpin MEMBER... {} N`, or record to another store",
        numbers.join(", "),
        PIN.flag()
    )
}

/// Who else used the members' disks, and whether that held the recording up.
pub(super) fn shared(deeds: &str, had_all: bool) -> String {
    let meaning = match had_all {
        false => "the members had so much less for this recording",
        true => "this did not hold the recording up",
    };
    format!("{deeds}: {meaning}; `pidstat -d 1` shows which programs they are")
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
    let (name, see) = match source {
        "-" => (
            "standard input",
            ": see whether the program before the pipe runs",
        ),
        other => (other, ""),
    };
    format!("{name} was empty, so nothing was recorded from it{see}")
}

/// A source in which no frame of its framing was found.
pub(super) fn without_frames(stream: &str, offered_bytes: u64, framing: Framing) -> String {
    format!(
        "{stream}: no frame was found in {offered_bytes} bytes, so they can be extracted as bytes \
         only; see whether `{framing}` is the framing of this source"
    )
}

/// A member that did not answer for a while, and then did.
pub(super) fn slow(name: &str, slowness: Slowness, slow_after_ns: u64, is_alone: bool) -> String {
    let times = match slowness.times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let (longest, bound) = (Duration(slowness.longest_ns), Duration(slow_after_ns));
    let meanwhile = match is_alone {
        true => "nothing was written meanwhile, because there is no other member",
        false => "the other members took its data until it answered, and then it was used again",
    };
    format!(
        "{name} kept a request for more than {bound} {times}, for {longest} at the longest: \
         {meanwhile}"
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

/// Where the size of appends comes from, unless nothing or nobody but the user has chosen it.
pub(super) fn append_size(size: &AppendSize, append_bytes: u32) -> Option<String> {
    let AppendSize::Best { bytes, document } = size else {
        return None;
    };
    let (append, best) = (Size(append_bytes.into()), Size((*bytes).into()));
    Some(match append_bytes < *bytes {
        true => format!(
            "appends of {append}, which is what the slots of this store have space for: {document} \
             found {best} best"
        ),
        false => format!("appends of {append}, the record size that {document} found best"),
    })
}

/// What appends leave empty at the end of each slot, if it is worth a word.
pub(super) fn empty_rests(append_bytes: u32, slot_bytes: u32) -> Option<String> {
    let rest_bytes = slot_bytes % append_bytes;
    // Of smaller appends nobody may ask for.
    let whole_bytes = append_bytes.next_power_of_two() / 2;
    if rest_bytes * 16 <= slot_bytes || whole_bytes < APPEND_BYTES_LEAST {
        return None;
    }
    let appends = slot_bytes / append_bytes;
    let (append, slot) = (Size(append_bytes.into()), Size(slot_bytes.into()));
    let whole = Size(whole_bytes.into()).to_string();
    Some(format!(
        "a slot of {slot} has space for {appends} of the appends of {append}, and {} of it stay \
         empty: {} leaves nothing empty",
        Size(rest_bytes.into()),
        APPEND_SIZE.of(whole.replace(' ', ""))
    ))
}

/// How large appends a dry run would write.
pub(super) fn would_append(append_bytes: u32, slot_bytes: u32, aligns_frames: bool) -> String {
    let (append, slot) = (Size(append_bytes.into()), Size(slot_bytes.into()));
    let begins = match aligns_frames {
        true => ", with an append of its own for each frame",
        false => "",
    };
    format!("would write appends of up to {append} into slots of {slot}{begins}")
}

/// Frames that are so small that the blocks around each take more than they do.
pub(super) fn small_aligned_frames(stream: &str, frames: u64, mean_bytes: u64) -> String {
    format!(
        "{stream}: each of the {frames} frames has an append of its own, and with {} on average \
         they are small for that: without {} they take less of the members and less CPU time",
        Size(mean_bytes),
        ALIGN_FRAMES.the()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_pins_keep_says_which_and_what_to_do() {
        assert_eq!(
            kept_by_pins(&[2, 3]),
            "pins 2, 3 keep all of the ring, so there was nothing left to overwrite: read what they \
             keep, then free one with `sustain unpin MEMBER... --pin N`, or record to another store"
        );
        let one = kept_by_pins(&[2]);
        assert!(
            one.starts_with("pin 2 keeps all") && one.contains("then free it with"),
            "{one}"
        );
    }

    #[test]
    fn what_appends_leave_empty_of_slots_is_said_where_it_is_much() {
        const MIB: u32 = 1 << 20;
        for (append_bytes, slot_bytes) in [(MIB, 8 * MIB), (8 * MIB, 8 * MIB), (5 << 16, 16 * MIB)]
        {
            assert_eq!(empty_rests(append_bytes, slot_bytes), None);
        }
        insta::assert_snapshot!(empty_rests(3 * MIB, 8 * MIB).unwrap(), @"a slot of 8 MiB has space for 2 of the appends of 3 MiB, and 2 MiB of it stay empty: the append size of 2MiB leaves nothing empty");
    }

    #[test]
    fn what_was_found_best_is_named_with_what_the_slots_make_of_it() {
        let best = AppendSize::Best {
            bytes: 4 << 20,
            document: "sweep.json".to_owned(),
        };
        insta::assert_snapshot!(append_size(&best, 4 << 20).unwrap(), @"appends of 4 MiB, the record size that sweep.json found best");
        insta::assert_snapshot!(append_size(&best, 1 << 20).unwrap(), @"appends of 1 MiB, which is what the slots of this store have space for: sweep.json found 4 MiB best");
        assert_eq!(append_size(&AppendSize::Exactly(4 << 20), 4 << 20), None);
    }

    #[test]
    fn data_of_a_member_that_did_not_answer_went_to_others_only_if_there_are_any() {
        let slowness = Slowness {
            times: 1,
            longest_ns: 14_900_000_000,
        };
        let told = |is_alone| slow("a", slowness, 5_000_000_000, is_alone);
        assert_eq!(
            [told(true), told(false)],
            [
                "a kept a request for more than 5 s once, for 14.9 s at the longest: nothing was \
                 written meanwhile, because there is no other member",
                "a kept a request for more than 5 s once, for 14.9 s at the longest: the other \
                 members took its data until it answered, and then it was used again",
            ]
        );
    }
}
