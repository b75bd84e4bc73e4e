//! What the members tell of each recording, merged: its streams, how far they came, what is
//! missing.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use super::{Chapter, EndDurability, Recording, StreamExtent, StreamSummary};
use crate::format::{
    AppendPlace, ClockDrift, Descriptor, EarlierNote, Kind, Position, StartNote, StreamNote,
};

/// Two members that give one number to different recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Apart {
    /// The number.
    pub recording: u32,
    /// Place of a member in the table of members.
    pub first: usize,
    /// Place of one that tells otherwise.
    pub second: usize,
}

/// Merges what each member tells, in the order of the table of members; none for a member that is
/// not there. Newest recording first.
///
/// # Errors
/// [`Apart`] if two halves of the store have recorded by themselves.
pub fn merge(members: &[Option<Vec<Chapter>>]) -> Result<Vec<Recording>, Apart> {
    merge_with(members, &earlier_notes(members), false)
}

/// The same, given what later recordings say of earlier ones. `begins_in_time` says whether what
/// lies before the time of a pin is not read.
pub(super) fn merge_with(
    members: &[Option<Vec<Chapter>>],
    earlier: &HashMap<Uuid, &EarlierNote>,
    begins_in_time: bool,
) -> Result<Vec<Recording>, Apart> {
    let mut recordings: BTreeMap<u32, Vec<(usize, &Chapter)>> = BTreeMap::new();
    for (index, chapters) in members.iter().enumerate() {
        for chapter in chapters.iter().flatten() {
            let parts = recordings.entry(chapter.recording).or_default();
            if let Some((first, other)) = parts.first()
                && other.recording_id != chapter.recording_id
            {
                return Err(Apart {
                    recording: chapter.recording,
                    first: *first,
                    second: index,
                });
            }
            parts.push((index, chapter));
        }
    }
    let newest_first = recordings.values().rev();
    // Nothing is found of any recording on some member that is there.
    let begins_in_time = begins_in_time || members.iter().flatten().any(Vec::is_empty);
    let mut merged: Vec<Recording> = newest_first
        .map(|parts| recording(parts, members.len(), begins_in_time, earlier))
        .collect();
    let oldest = oldest_there(members, &merged, earlier);
    for (recording, parts) in merged.iter_mut().zip(recordings.values().rev()) {
        note_written_over(recording, parts, &oldest);
        note_lost_lasts(recording, members);
        leave_out_unsettled(recording, parts);
    }
    if members.iter().any(Option::is_none) {
        // What they were given, too, is not known.
        let streams = merged.iter_mut().flat_map(|one| &mut one.streams);
        streams.for_each(|stream| stream.given_up_bytes = 0);
    }
    Ok(merged)
}

/// What is left on a member of which a ring has overwritten the rest.
struct OldestThere {
    /// Place of the member in the table of members.
    member: usize,
    /// The number of the oldest recording of which something is there, if only damaged.
    recording: u32,
    /// The number of the first recording that may have had anything there.
    first_recording: u32,
}

impl OldestThere {
    /// Whether the member had a part of a recording, and all of that has been overwritten. Where it
    /// was missing or not added yet, it had none.
    fn has_lost(&self, recording: &Recording) -> bool {
        self.recording > recording.number
            && self.first_recording <= recording.number
            && !recording.was_absent(self.member)
    }
}

/// The oldest that is left on each member of which a ring has overwritten anything.
fn oldest_there(
    members: &[Option<Vec<Chapter>>],
    merged: &[Recording],
    earlier: &HashMap<Uuid, &EarlierNote>,
) -> Vec<OldestThere> {
    let of_member = |(member, chapters): (usize, &Option<Vec<Chapter>>)| {
        let oldest = chapters.as_ref()?.last();
        let oldest = oldest.filter(|oldest| oldest.is_oldest_of_lap)?;
        // Of the recording before it something is there, if only damaged. Its number is not the one
        // before where numbers are left out, or where the member was missing in between.
        let recording = match oldest.lost_before {
            Some(_) => number_before(oldest.recording, member, merged, earlier)?,
            None => oldest.recording,
        };
        Some(OldestThere {
            member,
            recording,
            first_recording: oldest.first_recording,
        })
    };
    members.iter().enumerate().filter_map(of_member).collect()
}

/// The number of the last recording before this one that may have had anything on a member, of
/// those that are found anywhere or that a later start tells of.
fn number_before(
    number: u32,
    member: usize,
    merged: &[Recording],
    earlier: &HashMap<Uuid, &EarlierNote>,
) -> Option<u32> {
    let known = merged.iter().map(|one| one.number);
    let told = earlier.values().map(|note| note.number);
    let was_absent = |number: u32| {
        let mut of_number = merged.iter().filter(|one| one.number == number);
        of_number.any(|one| one.was_absent(member))
    };
    let before = known.chain(told).filter(|before| *before < number);
    before.filter(|before| !was_absent(*before)).max()
}

/// Of a recording older than the oldest data of some member, all that this one had has been written
/// over.
fn note_written_over(
    recording: &mut Recording,
    parts: &[(usize, &Chapter)],
    oldest: &[OldestThere],
) {
    let is_gone = oldest.iter().any(|oldest| oldest.has_lost(recording));
    recording.is_gone_from_a_member = may_have_lost_accounts(recording, parts);
    let newest = parts.iter().map(|(_, chapter)| chapter.last.sequence).max();
    if let Some(newest) = newest.filter(|_| is_gone) {
        recording.count_as_gone(newest.saturating_add(1));
    }
}

/// Whether a ring has overwritten on some member what may have been the account of a gap, and
/// no bytes: these would have moved the beginning of the readable range.
fn may_have_lost_accounts(recording: &Recording, parts: &[(usize, &Chapter)]) -> bool {
    let streams = 0..recording.streams.len();
    parts.iter().any(|(_, chapter)| {
        let first = &chapter.first;
        let had_gap = |stream| first.position_before(stream).gap_bytes > 0;
        chapter.is_oldest_of_lap && !chapter.is_overwritten && streams.clone().any(had_gap)
    })
}

/// What a start names before it was the last append of the recording of which anything is found
/// there.
fn note_lost_lasts(recording: &mut Recording, members: &[Option<Vec<Chapter>>]) {
    for (extent, chapters) in recording.per_member.iter_mut().zip(members) {
        let (Some(extent), Some(newest_first)) = (extent, chapters) else {
            continue;
        };
        for pair in newest_first.windows(2) {
            if pair[0].recording == recording.number {
                extent.lost_before = None;
            }
            if pair[1].recording == recording.number {
                extent.lost_last = pair[0].lost_before;
            }
        }
    }
}

/// While a recording goes on, or behind a crash, what was handed out last may never have come to a
/// member, and members are looked at one after the other: only what the last append of each of them
/// calls settled was on members before the first of these looks, and is missing if it is not there.
fn leave_out_unsettled(recording: &mut Recording, parts: &[(usize, &Chapter)]) {
    if !recording.open_end {
        return;
    }
    for (number, stream) in recording.streams.iter_mut().enumerate() {
        let of_last = || parts.iter().map(|(_, one)| position(&one.last, number));
        let settled_bytes = of_last().map(|last| last.settled_offset_bytes).min();
        let recorded_bytes = settled_bytes.unwrap_or(0).saturating_sub(stream.gap_bytes);
        let there_bytes = of_last().fold(0, |sum: u64, last| sum.saturating_add(last.member_bytes));
        let missing_bytes = recorded_bytes.saturating_sub(there_bytes);
        stream.hole_bytes = stream.hole_bytes.min(missing_bytes);
    }
}

/// What all starts that can be read tell of recordings before them.
pub(super) fn earlier_notes(members: &[Option<Vec<Chapter>>]) -> HashMap<Uuid, &EarlierNote> {
    let chapters = members.iter().flatten().flatten();
    chapters
        .filter_map(|chapter| chapter.start.as_ref())
        .flat_map(|start| &start.earlier)
        .map(|note| (note.id, note))
        .collect()
}

/// How a recording was begun.
struct RecordingStart<'a> {
    started_ns: i64,
    ring: bool,
    streams: &'a [StreamNote],
    absent: &'a [u16],
}

impl<'a> From<&'a StartNote> for RecordingStart<'a> {
    fn from(start: &'a StartNote) -> RecordingStart<'a> {
        RecordingStart {
            started_ns: start.started_ns,
            ring: start.ring,
            streams: &start.streams,
            absent: &start.absent,
        }
    }
}

impl<'a> From<&'a EarlierNote> for RecordingStart<'a> {
    fn from(note: &'a EarlierNote) -> RecordingStart<'a> {
        RecordingStart {
            started_ns: note.started_ns,
            ring: note.ring,
            streams: &note.streams,
            absent: &note.absent,
        }
    }
}

fn recording(
    parts: &[(usize, &Chapter)],
    member_count: usize,
    begins_in_time: bool,
    earlier: &HashMap<Uuid, &EarlierNote>,
) -> Recording {
    let chapters: Vec<&Chapter> = parts.iter().map(|(_, chapter)| *chapter).collect();
    let own_start = chapters.iter().find_map(|chapter| chapter.start.as_ref());
    // A ring that came later may have written over all starts of it, and says what they said.
    let told_later = || earlier.get(&chapters[0].recording_id).copied();
    let start = own_start
        .map(RecordingStart::from)
        .or_else(|| told_later().map(RecordingStart::from));
    let readable = first_readable(&chapters, begins_in_time);
    // What is there of it before the time of a pin is not looked for.
    let looked_from = readable
        .filter(|_| begins_in_time)
        .map_or(0, first_sequence);
    let notes = start.as_ref().map_or(&[][..], |start| start.streams);
    let counts = chapters.iter().map(|chapter| chapter.last.positions.len());
    let count = counts.max().unwrap_or(0).max(notes.len());
    let started_ns = start.as_ref().map(|start| start.started_ns);
    let mut starts = chapters.iter().filter_map(|chapter| chapter.start.as_ref());
    let is_newer = starts.any(|start| start.follows_end.is_some());
    let mut per_member = vec![None; member_count];
    for (index, chapter) in parts {
        per_member[*index] = Some(StreamExtent {
            first: chapter.first.place,
            lost_first: lost_first(chapter),
            last: chapter.last.place,
            last_bytes: chapter.last.append_bytes,
            is_overwritten: chapter.is_overwritten,
            kept_from_slot: chapter.kept_from_slot,
            start: chapter.last.start,
            has_end: chapter.last.kind == Kind::End,
            start_was_whole: chapter.end.as_ref().and_then(|end| end.start_was_whole) == Some(true),
            end_is_overwritten: false,
            end_durability: known_durability(chapter, is_newer),
            lost_end: chapter.lost_end,
            flushed_sequence: chapter.last.flushed_sequence,
            lost_last: None,
            lost_before: chapter.lost_before,
            unknown_mark: chapter.unknown_mark,
            lost_recording: chapter.lost_recording,
        });
    }
    Recording {
        number: chapters[0].recording,
        id: chapters[0].recording_id,
        started_ns,
        ring: start.as_ref().is_some_and(|start| start.ring),
        parities: parities(&chapters),
        copies_of: own_start.and_then(|start| start.copies_of),
        absent: start
            .as_ref()
            .map_or_else(Vec::new, |start| start.absent.to_vec()),
        streams: (0..count)
            .map(|stream| {
                let first_ns = first_time_ns(&chapters, stream, looked_from);
                // Nothing that is left of it is older than what was made first on all members.
                let made_ns = readable.map(|first| first.made_time_ns);
                let first_ns = first_ns.or(made_ns).or(started_ns);
                summary(&chapters, stream, notes.get(stream), readable, first_ns)
            })
            .collect(),
        end: chapters.iter().find_map(|chapter| chapter.end.clone()),
        open_end: chapters
            .iter()
            .all(|chapter| chapter.last.kind != Kind::End),
        readable_from_sequence: readable.map(first_sequence),
        per_member,
        under_way: false,
        is_gone_from_a_member: false,
        pin: None,
        lacks_end_of_pin: false,
        kept_from_ns: None,
    }
}

/// The place of the first append that is known to have been there, if it came before the first that
/// is found: a recording begins with its start.
fn lost_first(chapter: &Chapter) -> Option<AppendPlace> {
    let first = &chapter.first;
    if first.is_first_start() {
        return None;
    }
    let told = [chapter.last.start, first.previous];
    let is_lost = |place: &AppendPlace| {
        place.slot_serial < first.place.slot_serial && place.slot_serial >= chapter.kept_from_slot
    };
    told.into_iter().flatten().filter(is_lost).min()
}

/// The appends of parity of each group, as its own starts tell: what a later ring tells of it has
/// no such figure.
fn parities(chapters: &[&Chapter]) -> Option<u16> {
    let starts = chapters.iter().filter_map(|chapter| chapter.start.as_ref());
    starts.map(|start| start.parities).max()
}

/// Whether an end mark became durable. Where the start is gone on its member, those of other
/// members tell whether the recorder was one that would tell.
fn known_durability(chapter: &Chapter, is_newer: bool) -> EndDurability {
    let durability = chapter.end_durability;
    match durability == EndDurability::Assumed && chapter.start.is_none() && is_newer {
        true => EndDurability::Unknown,
        false => durability,
    }
}

/// The append from which on nothing was overwritten on any member, if anything was.
fn first_readable<'a>(chapters: &[&'a Chapter], begins_in_time: bool) -> Option<&'a Descriptor> {
    let overwritten = || chapters.iter().filter(|chapter| chapter.is_overwritten);
    // A pin keeps what came before its time, too, up to the beginning of a slot. If that is not
    // there, or nothing is there on a member, a crash has taken it, and what the other members have
    // in the pin's time is kept.
    let is_torn = |chapter: &Chapter| {
        let in_time = chapter.pin_begin.first.as_ref();
        in_time.is_some_and(|in_time| in_time.place == chapter.first.place)
    };
    if overwritten().any(|chapter| begins_in_time || is_torn(chapter)) {
        let in_time = chapters.iter();
        let in_time = in_time.filter_map(|chapter| chapter.pin_begin.first.as_ref());
        if let Some(first) = in_time.min_by_key(|first| first_sequence(first)) {
            return Some(first);
        }
    }
    // What lies before the youngest of the oldest appends is on some members, but not on all.
    let firsts = overwritten().map(|chapter| &chapter.first);
    firsts.max_by_key(|first| first.sequence)
}

/// The sequence of the first append that can be read, given the append that tells of it. What
/// stands in for appends that are not known has the sequence of one before the next that is, and
/// tells how far the streams had come behind that one.
fn first_sequence(readable: &Descriptor) -> u64 {
    let stands_in = readable.kind == Kind::Parity && readable.payload_bytes == 0;
    readable.sequence + u64::from(stands_in)
}

fn summary(
    chapters: &[&Chapter],
    stream: usize,
    note: Option<&StreamNote>,
    readable: Option<&Descriptor>,
    first_time_ns: Option<i64>,
) -> StreamSummary {
    let mut furthest = Position::default();
    for chapter in chapters {
        let position = position(&chapter.last, stream);
        furthest.next_offset_bytes = furthest.next_offset_bytes.max(position.next_offset_bytes);
        furthest.settled_offset_bytes = furthest
            .settled_offset_bytes
            .max(position.settled_offset_bytes);
        furthest.frames = furthest.frames.max(position.frames);
        furthest.gap_bytes = furthest.gap_bytes.max(position.gap_bytes);
        furthest.member_bytes = furthest.member_bytes.saturating_add(position.member_bytes);
    }
    let recorded_bytes = recorded_bytes(&furthest);
    let before_readable =
        readable.map_or_else(Position::default, |first| first.position_before(stream));
    let absent_bytes = recorded_bytes
        .saturating_sub(furthest.member_bytes)
        .min(recorded_bytes.saturating_sub(self::recorded_bytes(&before_readable)));
    let is_of_stream = |append: &&Descriptor| usize::from(append.stream) == stream;
    let lasts = chapters.iter().flat_map(|chapter| &chapter.last_of_streams);
    let last = lasts
        .filter(is_of_stream)
        .max_by_key(|append| append.stream_offset_bytes);
    let last_made_ns = chapters
        .iter()
        .map(|chapter| chapter.last.made_time_ns)
        .max();
    StreamSummary {
        name: note.map_or_else(|| format!("stream {stream}"), |note| note.name.clone()),
        framing: note.map(|note| note.framing.clone()),
        offered_bytes: furthest.next_offset_bytes,
        settled_bytes: furthest.settled_offset_bytes,
        gap_bytes: furthest.gap_bytes,
        given_up_bytes: furthest
            .member_bytes
            .saturating_sub(recorded_bytes)
            .min(furthest.gap_bytes),
        recorded_bytes,
        frames: furthest.frames,
        hole_bytes: absent_bytes,
        absent_bytes,
        first_time_ns,
        last_time_ns: last.map_or(last_made_ns.unwrap_or(0), |append| append.last_time_ns),
        readable_from_bytes: before_readable.next_offset_bytes,
        readable_from_frame: before_readable.frames,
        readable_from_gap_bytes: before_readable.gap_bytes,
        drift: drift(chapters, stream),
    }
}

/// When the first byte of a stream arrived that some append near the beginning has, from this
/// sequence on.
fn first_time_ns(chapters: &[&Chapter], stream: usize, from_sequence: u64) -> Option<i64> {
    let firsts = chapters
        .iter()
        .flat_map(|chapter| &chapter.first_of_streams);
    let firsts = firsts
        .filter(|append| usize::from(append.stream) == stream && append.sequence >= from_sequence);
    let first = firsts.min_by_key(|append| append.stream_offset_bytes);
    first.map(|append| append.first_time_ns)
}

/// What the last append of each member tells, which have all before them in it.
fn drift(chapters: &[&Chapter], stream: usize) -> Option<ClockDrift> {
    let told = chapters
        .iter()
        .map(|chapter| chapter.last.drifts.get(stream));
    let mut all = ClockDrift::NONE;
    for drift in told {
        all.add(*drift?);
    }
    Some(all)
}

fn position(descriptor: &Descriptor, stream: usize) -> Position {
    let position = descriptor.positions.get(stream);
    position.copied().unwrap_or_default()
}

fn recorded_bytes(position: &Position) -> u64 {
    position
        .next_offset_bytes
        .saturating_sub(position.gap_bytes)
}
