//! Makes the document of `sustain verify --json`.

use sustain_document::verify::{
    BadRange, CheckedPin, CheckedProtection, CheckedRecording, CheckedStream, VERIFY_SCHEMA,
    VerifyDocument,
};

use super::{listed_members, pin_findings, time_text, uuid_text};
use crate::reading::verify::{
    Discrepancy, VerifiedPin, VerifiedRecording, VerifiedStream, VerifyResult,
};
use crate::store::Store;

/// Makes the document of the check of this store.
pub fn verify_document(store: &Store, result: &VerifyResult) -> VerifyDocument {
    let stream_name = |bad: &Discrepancy| {
        let recording = bad.recording?;
        let of_number = |checked: &&VerifiedRecording| checked.number == recording;
        let pinned = result.pins.iter().flat_map(|pin| &pin.recordings);
        let checked = result.recordings.iter().chain(pinned).find(of_number)?;
        let stream = checked.streams.get(usize::from(bad.stream?))?;
        Some(stream.name.clone())
    };
    let range = |bad: &Discrepancy| BadRange {
        member: bad.member.clone(),
        offset_bytes: bad.offset_bytes,
        pin: bad.pin,
        recording: bad.recording,
        stream: stream_name(bad),
        from_byte: bad.from_byte,
        to_byte: bad.to_byte,
        why: bad.why.clone(),
    };
    VerifyDocument {
        schema: VERIFY_SCHEMA.to_owned(),
        store: uuid_text(store.id),
        ok: result.ok,
        complete: result.complete,
        checked_bytes: result.checked_bytes,
        bad: result.bad.iter().map(range).collect(),
        bad_unlisted: result.bad_unlisted,
        not_durable: result.not_durable.iter().map(range).collect(),
        not_durable_unlisted: result.not_durable_unlisted,
        recordings: result.recordings.iter().map(checked_recording).collect(),
        pins: result.pins.iter().map(checked_pin).collect(),
        members: listed_members(store),
        notes: store.notes.iter().chain(&result.notes).cloned().collect(),
    }
}

fn checked_pin(verified: &VerifiedPin) -> CheckedPin {
    CheckedPin {
        pin: verified.number,
        from_time: time_text(verified.from_time_ns),
        to_time: time_text(verified.to_time_ns),
        open: verified.is_open,
        kept_bytes: verified.kept_bytes,
        whole: verified.is_whole,
        recordings: verified.recordings.iter().map(checked_recording).collect(),
        found: pin_findings(&verified.found),
    }
}

fn checked_recording(verified: &VerifiedRecording) -> CheckedRecording {
    CheckedRecording {
        recording: verified.number,
        open_end: verified.open_end,
        streams: verified.streams.iter().map(checked_stream).collect(),
        protection: verified.protection.map(|found| CheckedProtection {
            parities: found.parities,
            protected_bytes: found.protected_bytes,
            unprotected_bytes: found.unprotected_bytes,
            protected_from_one_bytes: found.protected_from_one_bytes,
        }),
    }
}

fn checked_stream(verified: &VerifiedStream) -> CheckedStream {
    CheckedStream {
        name: verified.name.clone(),
        marks: verified.is_marks,
        bytes: verified.offered,
        whole_bytes: verified.recorded,
        below_readable_bytes: verified.below_readable_bytes,
        readable_from_byte: verified.readable_from_bytes,
        gap_bytes: verified.gap_bytes,
        hole_bytes: verified.hole_bytes,
        overwritten_bytes: verified.overwritten_bytes,
        not_durable_bytes: verified.not_durable_bytes,
        settled_bytes: verified.settled_bytes,
    }
}
