//! The members that were missing in recordings, as the starts of these tell. A ring that has come
//! round on one of them has overwritten nothing of such a recording.

use super::scan::Scanned;
use super::torn::read_in_parts;
use crate::error::RecordError;
use crate::format::{Kind, StartNote, payload_range, verify_payload};
use crate::member_io::{MemberIo, ReadOrder};
use crate::rebuilt::FoundMark;
use crate::walk::AppendIdentity;

/// Notes which members were missing in recordings, if rings have overwritten anything. `identities`
/// are those of the members that are there, in their order.
///
/// # Errors
/// [`RecordError::Engine`]. A start that cannot be read tells nothing.
pub(super) fn note_absences(
    io: &mut MemberIo,
    identities: &[AppendIdentity],
    scanned: &mut Scanned,
) -> Result<(), RecordError> {
    if !scanned.overwritten.is_any() {
        return Ok(());
    }
    let starts = scanned.marks.iter();
    let starts: Vec<&FoundMark> = starts
        .filter(|one| one.descriptor.kind == Kind::Start)
        .collect();
    let order = |one: &&FoundMark| ReadOrder {
        member: one.source,
        offset_bytes: identities[one.source]
            .geometry
            .offset_of(one.descriptor.place),
        length_bytes: one.descriptor.append_bytes as usize,
    };
    let overwritten = &mut scanned.overwritten;
    read_in_parts(io, &starts, order, |one, bytes| {
        let descriptor = &one.descriptor;
        let note = bytes.and_then(|bytes| bytes.get(payload_range(descriptor)));
        let note = note.filter(|note| verify_payload(descriptor, note).is_empty());
        if let Some(note) = note.and_then(|note| StartNote::from_json(note).ok()) {
            overwritten.note_absent(descriptor.recording, &note.absent);
            // A ring may have overwritten the starts of these.
            for earlier in &note.earlier {
                overwritten.note_absent(earlier.number, &earlier.absent);
            }
        }
    })
}
