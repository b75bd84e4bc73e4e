//! Makes the document of `sustain list --json`.

use sustain_document::list::{
    LIST_SCHEMA, ListDocument, ListedPin, ListedPlace, ListedRecording, ListedStream,
};
use sustain_document::record::RecordingEnd;

use super::{listed_members, pin_findings, time_text, uuid_text};
use crate::error::RecordError;
use crate::opening::{Recording, StreamSummary};
use crate::reading::readable::FoundOfPin;
use crate::reading::user_marks::{FoundMarks, MarkLoss, find_marks};
use crate::reading::verify::Checkable;
use crate::store::{OpenMember, Store};

/// Of a recording with more marks, the newest so many are listed.
const MARKS_LISTED_MAX: u64 = 1000;

/// Makes the document of a store and its recordings, which are newest first as the store
/// returns them. The marks that users set are read for it. Its pins are those of [`listed_pins`],
/// for which a store has to be read, too.
///
/// # Errors
/// If the members cannot be driven.
pub fn list_document(store: &Store, recordings: &[Recording]) -> Result<ListDocument, RecordError> {
    let with_streams = || recordings.iter().rev().filter(|one| one.has_streams());
    let marks = with_streams();
    let marks = marks.map(|recording| find_marks(store, recording, MARKS_LISTED_MAX));
    let marks = marks.collect::<Result<Vec<FoundMarks>, RecordError>>()?;
    let newest = recordings.first().map(|recording| recording.number);
    let is_recorded_to = store.is_recorded_to();
    // Only of the newest one the end can be still to come.
    let running = |recording: &Recording| match recording.end.is_none() && recording.open_end {
        true if Some(recording.number) == newest => is_recorded_to,
        _ => Some(false),
    };
    Ok(ListDocument {
        schema: LIST_SCHEMA.to_owned(),
        store: uuid_text(store.id),
        slot_bytes: store.slot_bytes,
        members: listed_members(store),
        recordings: with_streams()
            .zip(marks)
            .map(|(recording, marks)| ListedRecording {
                places: places(recording, &store.members),
                ..listed_recording(recording, running(recording), marks)
            })
            .collect(),
        pins: Vec::new(),
        notes: [store.notes.clone(), list_notes(store, recordings)].concat(),
    })
}

/// The pins of a store, with the recordings of which each keeps something.
///
/// # Errors
/// As of [`Store::pinned`].
pub fn listed_pins(store: &mut Store) -> Result<Vec<ListedPin>, RecordError> {
    let pins = store.pins().into_iter();
    pins.map(|pin| {
        let pinned = store.pinned(pin.number)?;
        let numbers = pinned.iter().rev().map(|recording| recording.number);
        Ok(ListedPin {
            number: pin.number,
            from: time_text(pin.from_time_ns),
            to: time_text(pin.to_time_ns),
            open: pin.is_open,
            kept_bytes: pin.kept_bytes,
            recordings: numbers.collect(),
            found: pin_findings(&FoundOfPin::of(&pinned)),
        })
    })
    .collect()
}

/// The notes for the user about what members lack that cannot be listed, or of which only reading
/// tells how much it is.
pub fn list_notes(store: &Store, recordings: &[Recording]) -> Vec<String> {
    let mut notes = Checkable::of(store, recordings).unseen_notes();
    let copies = recordings.iter().rev();
    notes.extend(copies.filter_map(|recording| copies_note(store, recording)));
    // Of what is being recorded, some is always under way.
    if store.is_recorded_to() == Some(false) {
        notes.extend(recordings.iter().rev().flat_map(uncounted_notes));
    }
    notes
}

/// What is to be said of a recording that is not listed.
fn copies_note(store: &Store, recording: &Recording) -> Option<String> {
    let member = recording.copies_of?;
    let number = recording.number;
    let was = match store.is_retired(usize::from(member)) {
        true => "was retired",
        false => "was to be retired, and is a member as before",
    };
    Some(format!(
        "recording {number} has no streams, but copies of what member {} had, which {was}",
        member + 1
    ))
}

/// At an open end only reading tells what was durable.
fn uncounted_notes(recording: &Recording) -> impl Iterator<Item = String> {
    let streams = recording.streams.iter().filter(|_| recording.open_end);
    streams.filter_map(|stream| {
        let uncounted_bytes = stream.absent_bytes.saturating_sub(stream.hole_bytes);
        (uncounted_bytes > 0).then(|| {
            format!(
                "recording {}, stream {}: up to {uncounted_bytes} bytes may be missing besides \
                 those listed, if they were durable when the recording was cut off: `sustain \
                 verify` reads what is there and tells",
                recording.number, stream.name
            )
        })
    })
}

fn listed_recording(
    recording: &Recording,
    running: Option<bool>,
    marks: FoundMarks,
) -> ListedRecording {
    ListedRecording {
        recording: recording.number,
        id: uuid_text(recording.id),
        started: recording.started_ns.map(time_text),
        ended: ended(recording),
        running,
        ring: recording.ring,
        parity: recording.parities,
        streams: (0..)
            .zip(&recording.streams)
            .filter(|(_, stream)| !stream.is_marks())
            .map(|(number, stream)| listed_stream(stream, recording.crash_bytes(number)))
            .collect(),
        marks_made: marks.made,
        marks_overwritten: marks.missing_count(MarkLoss::Overwritten),
        marks_not_kept: marks.missing_count(MarkLoss::NotKept),
        marks_not_found: marks.missing_count(MarkLoss::NotFound),
        marks: marks.marks,
        places: Vec::new(),
    }
}

/// Where a recording begins and ends on each member that is there and has anything of it.
fn places(recording: &Recording, members: &[OpenMember]) -> Vec<ListedPlace> {
    let place = |member: &OpenMember| {
        let extent = recording.per_member.get(member.index())?.as_ref()?;
        let geometry = member.superblock.geometry;
        Some(ListedPlace {
            member: member.name.clone(),
            index: member.index() as u64,
            from_device_byte: geometry.offset_of(extent.first),
            to_device_byte: geometry.offset_of(extent.last) + u64::from(extent.last_bytes),
            overwritten: extent.is_overwritten,
        })
    };
    let mut places: Vec<ListedPlace> = members.iter().filter_map(place).collect();
    places.sort_by_key(|place| place.index);
    places
}

/// Why a recording ended; `None` for an open end.
pub(super) fn ended(recording: &Recording) -> Option<RecordingEnd> {
    let end = recording.end.as_ref();
    let said = end.map(|end| end.ended.parse().unwrap_or(RecordingEnd::Unknown));
    said.or_else(|| (!recording.open_end).then_some(RecordingEnd::Unknown))
}

fn listed_stream(stream: &StreamSummary, crash_bytes: u64) -> ListedStream {
    let has_bytes = stream.offered_bytes > 0;
    ListedStream {
        name: stream.name.clone(),
        framing: stream.framing.clone(),
        bytes: stream.offered_bytes,
        recorded_bytes: stream.recorded_bytes.saturating_sub(crash_bytes),
        frames: stream.frames,
        gap_bytes: stream.gap_bytes,
        crash_bytes,
        given_up_bytes: stream.given_up_bytes,
        hole_bytes: stream.hole_bytes.saturating_sub(crash_bytes),
        readable_from_byte: stream.readable_from_bytes,
        readable_from_frame: stream.readable_from_frame,
        first_time: stream.first_time_ns.filter(|_| has_bytes).map(time_text),
        last_time: has_bytes.then(|| time_text(stream.last_time_ns)),
    }
}
