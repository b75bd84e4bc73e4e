//! Finds the recordings on one member, newest first: by the links from an append to the start and
//! from there to the append before. Where a link is damaged it uses bisection over the slots.

use uuid::Uuid;

use super::boundary::{before_start, first_by_slots};
use super::facts::{MemberEvidence, slot_start};
use super::lost_marks::{
    EndDurability, LastEnded, end_durability, gone_before, is_lost_between, lost_end,
};
use super::{Asked, MemberTail, PATIENCE_SLOTS, PinBegin};
use crate::format::{AppendPlace, Descriptor, EndNote, Kind, StartNote};

/// Appends at either end of a recording that are read for the times of its streams.
const LOOK_APPENDS: usize = 8;
/// Of the starts that are repeated in a ring, two may be there, and one more is being written.
const STARTS_TRIED: usize = 3;

/// What one member has of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Chapter {
    /// The recording's number.
    pub recording: u32,
    /// The recording's identity.
    pub recording_id: Uuid,
    /// The oldest append that is still there.
    pub first: Descriptor,
    /// The newest one.
    pub last: Descriptor,
    /// Whether what came before the oldest append has been overwritten in a ring.
    pub is_overwritten: bool,
    /// Of what a pin keeps: the appends around the beginning of its time.
    pub pin_begin: PinBegin,
    /// Of what a pin keeps: the last append of data that was made before the end of its time, where
    /// the recorder has told that end.
    pub last_in_pin_time: Option<Descriptor>,
    /// Whether nothing older is left there because all of it has been overwritten in a ring.
    pub is_oldest_of_lap: bool,
    /// The number of the first recording that may have had anything there; 0 for all.
    pub first_recording: u32,
    /// The last append before this recording, which its first start names, where nothing has
    /// overwritten that append and it is not found there any more.
    pub lost_before: Option<AppendPlace>,
    /// Where a mark was that is not found, be it the end mark of this recording or the last append
    /// before it, where a power cut may have hit a ring: then nothing tells whether it was damaged.
    pub unknown_mark: Option<AppendPlace>,
    /// The slot in which a recording before this one ended, as its first start says, where nothing
    /// has overwritten that slot, and nothing of that recording is found.
    pub lost_recording: Option<AppendPlace>,
    /// The first slot from which on nothing has been overwritten, nor can a crash have left it half
    /// overwritten.
    pub kept_from_slot: u64,
    /// Whether its end mark, if it has one there, became durable.
    pub end_durability: EndDurability,
    /// Where its end mark should be, if it was durable there and is not found.
    pub lost_end: Option<AppendPlace>,
    /// The note in its start, if that can be read here.
    pub start: Option<StartNote>,
    /// The note in its end mark, if there is one that can be read here.
    pub end: Option<EndNote>,
    /// The first append of each stream, of those near the beginning.
    pub first_of_streams: Vec<Descriptor>,
    /// The last append of each stream, of those near the end.
    pub last_of_streams: Vec<Descriptor>,
    /// The last append of the recording before.
    pub before: Option<Descriptor>,
}

/// Where a chapter begins, and the last append of the one before.
struct ChapterBeginning<'a> {
    first: &'a Descriptor,
    before: Option<&'a Descriptor>,
}

/// Finds the recording of which `last` is the last append, given those that came later, and what
/// the superblock tells of the last end.
pub(super) fn chapter(
    facts: &MemberEvidence,
    tail: &MemberTail,
    last: &Descriptor,
    newer: &[Chapter],
    ended: LastEnded,
) -> Asked<Chapter> {
    // What lies further back has been overwritten.
    let lap_serial = tail.written_slots_end.saturating_sub(facts.slot_count());
    let oldest_serial = lap_serial.max(tail.from_slot);
    // And what lies further back than this may be half overwritten, by a start that was cut off.
    let kept_lap_serial = tail.next_slot_serial.saturating_sub(facts.slot_count());
    let kept_serial = kept_lap_serial.max(tail.from_slot);
    let start = start_of(facts, last, oldest_serial)?;
    let beginning = beginning_of(facts, last, start, oldest_serial)?;
    let first = beginning.first;
    let end_note = match last.kind {
        Kind::End => facts.payload(last)?.map(EndNote::from_json),
        Kind::Data | Kind::Start | Kind::Parity => None,
    };
    let came_before = |stream: usize| {
        let own_bytes = if usize::from(first.stream) == stream {
            u64::from(first.payload_bytes)
        } else {
            0
        };
        first.positions[stream].member_bytes > own_bytes
    };
    let end = end_note.and_then(Result::ok);
    let kept_by_newer = newer
        .iter()
        .fold(KeptSlots::from(kept_serial), |kept, newer| {
            kept.behind(facts, &newer.last, newer.start.as_ref(), newer.end.as_ref())
        });
    let told_end = lost_end(facts, last, end.as_ref(), newer.last(), ended)?
        .filter(|lost| lost.slot_serial >= oldest_serial);
    let lost_end = told_end.filter(|lost| lost.slot_serial >= kept_by_newer.marks_from);
    let start = start_note(facts, last, oldest_serial)?;
    let kept = match lost_end {
        Some(_) => kept_by_newer,
        None => kept_by_newer.behind(facts, last, start.as_ref(), end.as_ref()),
    };
    let gone_before = gone_before(facts, first, oldest_serial)?;
    let lost_before = gone_before.filter(|gone| gone.slot_serial >= kept.marks_from);
    let told_end_slot = start
        .as_ref()
        .and_then(|start| start.end_slot)
        .filter(|slot| lost_before.is_none() && *slot >= kept.marks_from);
    Ok(Chapter {
        recording: last.recording,
        recording_id: last.recording_id,
        is_overwritten: oldest_serial > 0
            && beginning.before.is_none()
            && (0..first.positions.len()).any(came_before),
        is_oldest_of_lap: oldest_serial > 0 && beginning.before.is_none(),
        first_recording: facts.first_recording(),
        pin_begin: PinBegin::default(),
        last_in_pin_time: None,
        lost_before,
        unknown_mark: told_end
            .or(gone_before)
            .filter(|_| lost_end.is_none() && lost_before.is_none()),
        lost_recording: told_end_slot
            .filter(|slot| is_lost_between(*slot, beginning.before, first))
            .map(slot_start),
        kept_from_slot: kept.from,
        first: first.clone(),
        last: last.clone(),
        end_durability: end_durability(last, start.as_ref(), end.as_ref(), newer.last(), ended),
        lost_end,
        start,
        end,
        first_of_streams: look_ahead(facts, first, last)?,
        last_of_streams: look_back(facts, last)?,
        // Numbers only fall, so the way back comes to an end.
        before: beginning
            .before
            .filter(|before| before.recording < last.recording)
            .cloned(),
    })
}

/// The first slots from which on nothing has been overwritten, nor can recorders have been writing
/// there when they were cut off.
#[derive(Clone, Copy)]
struct KeptSlots {
    from: u64,
    /// The same for marks of earlier recordings.
    marks_from: u64,
}

impl KeptSlots {
    fn from(slot_serial: u64) -> KeptSlots {
        KeptSlots {
            from: slot_serial,
            marks_from: slot_serial,
        }
    }

    /// What is kept behind a recording, too, of which this is the last append.
    fn behind(
        self,
        facts: &MemberEvidence,
        last: &Descriptor,
        start: Option<&StartNote>,
        end: Option<&EndNote>,
    ) -> KeptSlots {
        let lap = facts.slot_count();
        let mark_reach = mark_reach(facts, last, start, end);
        KeptSlots {
            from: self.from.max(reach(facts, last, end).saturating_sub(lap)),
            marks_from: self.marks_from.max(mark_reach.saturating_sub(lap)),
        }
    }
}

/// The first slot that a recorder cannot have begun that was cut off behind this append; 0 if none
/// was. Recovering, and an end mark that cannot be read, may follow a cut.
fn reach(facts: &MemberEvidence, last: &Descriptor, end: Option<&EndNote>) -> u64 {
    let has_ended =
        last.kind == Kind::End && end.is_some_and(|end| end.ended != EndNote::RECOVERED);
    if has_ended {
        return 0;
    }
    let farthest = facts.course().ahead(last.place.slot_serial, PATIENCE_SLOTS);
    farthest.saturating_add(1)
}

/// The same for marks of earlier recordings, as near as it is known: a recorder also waits for the
/// next copy of its start to be durable, and one that is no ring overwrites nothing.
fn mark_reach(
    facts: &MemberEvidence,
    last: &Descriptor,
    start: Option<&StartNote>,
    end: Option<&EndNote>,
) -> u64 {
    if start.is_some_and(|start| !start.ring) {
        return 0;
    }
    let by_start = last
        .start
        .map(|start| start.slot_serial.saturating_add(facts.start_repeat_slots()))
        .filter(|by_start| *by_start >= last.place.slot_serial)
        .and_then(|by_start| facts.course().at_or_after(by_start))
        .map_or(u64::MAX, |by_start| by_start.saturating_add(1));
    reach(facts, last, end).min(by_start)
}

/// Finds the newest start of the recording to which `last` belongs.
fn start_of<'a>(
    facts: &'a MemberEvidence,
    last: &Descriptor,
    oldest_serial: u64,
) -> Asked<Option<&'a Descriptor>> {
    match last.start {
        Some(place) => start_at(facts, last, place, oldest_serial),
        None => Ok(None),
    }
}

fn start_at<'a>(
    facts: &'a MemberEvidence,
    last: &Descriptor,
    place: AppendPlace,
    oldest_serial: u64,
) -> Asked<Option<&'a Descriptor>> {
    if place.slot_serial < oldest_serial {
        return Ok(None);
    }
    let found = facts.descriptor(place)?;
    Ok(found.filter(|start| {
        start.kind == Kind::Start
            && start.is_of_recording_of(last)
            && start.sequence <= last.sequence
    }))
}

/// Reads the note in the newest start. A power cut may have left only a part of a start that is
/// repeated in a ring. Then the one before it says the same, and is still there.
fn start_note(
    facts: &MemberEvidence,
    last: &Descriptor,
    oldest_serial: u64,
) -> Asked<Option<StartNote>> {
    let mut place = last.start;
    for _ in 0..STARTS_TRIED {
        let Some(tried) = place else { break };
        if let Some(start) = start_at(facts, last, tried, oldest_serial)?
            && let Some(note) = facts.payload(start)?
            && let Ok(note) = StartNote::from_json(note)
        {
            return Ok(Some(note));
        }
        place = start_before(facts, last, tried, oldest_serial)?;
    }
    Ok(None)
}

/// Finds the start before the one at `place`, as the slots before that name it.
fn start_before(
    facts: &MemberEvidence,
    last: &Descriptor,
    place: AppendPlace,
    oldest_serial: u64,
) -> Asked<Option<AppendPlace>> {
    let before = facts.course().preceding(place.slot_serial, PATIENCE_SLOTS);
    for serial in before.take_while(|serial| *serial >= oldest_serial) {
        let found = facts.descriptor(slot_start(serial))?;
        if let Some(found) = found.filter(|found| found.is_of_recording_of(last)) {
            return Ok(found.start.filter(|start| *start < place));
        }
    }
    Ok(None)
}

fn beginning_of<'a>(
    facts: &'a MemberEvidence,
    last: &'a Descriptor,
    start: Option<&'a Descriptor>,
    oldest_serial: u64,
) -> Asked<ChapterBeginning<'a>> {
    if let Some(first) = start {
        let linked = before_start(facts, first, oldest_serial)?;
        if let Some(before) = linked {
            return Ok(ChapterBeginning { first, before });
        }
    }
    let found = first_by_slots(facts, last, oldest_serial)?;
    let first = found.first.into_iter().chain(start);
    let first = first.min_by_key(|first| first.place);
    Ok(ChapterBeginning {
        first: first.unwrap_or(last),
        before: found.before,
    })
}

/// Finds the last append of each stream within a few steps back.
fn look_back(facts: &MemberEvidence, last: &Descriptor) -> Asked<Vec<Descriptor>> {
    let mut samples = Vec::new();
    let mut next = Some(last);
    for _ in 0..LOOK_APPENDS {
        let Some(found) = next.filter(|found| found.is_of_recording_of(last)) else {
            break;
        };
        if sample(found, last.positions.len(), &mut samples) {
            break;
        }
        next = match found.previous {
            Some(place) => facts.descriptor(place)?,
            None => None,
        };
    }
    Ok(samples)
}

/// Finds the first append of each stream within a few steps ahead.
fn look_ahead(
    facts: &MemberEvidence,
    first: &Descriptor,
    last: &Descriptor,
) -> Asked<Vec<Descriptor>> {
    let mut samples = Vec::new();
    let mut place = first.place;
    for _ in 0..LOOK_APPENDS {
        if place > last.place {
            break;
        }
        let found = facts
            .descriptor(place)?
            .filter(|found| found.is_of_recording_of(last));
        match found {
            Some(found) if sample(found, last.positions.len(), &mut samples) => break,
            Some(found) => place.slot_offset_bytes += found.append_bytes,
            None if place.slot_offset_bytes == 0 => break,
            None => match facts.course().after(place.slot_serial) {
                Some(next) => place = slot_start(next),
                None => break,
            },
        }
    }
    Ok(samples)
}

/// Keeps an append of a stream that has none among the samples. Returns whether all streams have
/// one.
fn sample(found: &Descriptor, streams: usize, samples: &mut Vec<Descriptor>) -> bool {
    let is_new = samples.iter().all(|sample| sample.stream != found.stream);
    if found.kind == Kind::Data && found.payload_bytes > 0 && is_new {
        samples.push(found.clone());
    }
    samples.len() >= streams
}
