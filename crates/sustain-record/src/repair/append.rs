//! The appends that a repaired slot is put together of, and descriptors for those that have no
//! bytes of a stream. Pure.

use uuid::Uuid;

use crate::format::{
    AppendPlace, BLOCK_BYTES, CONTROL_STREAM, Descriptor, Kind, PieceChecksums, append_bytes_for,
    crc32c, encode_append, is_filled_with_zeros,
};
use crate::reading::bytes::SharedBytes;
use crate::reading::examine::{Slot, examine};
use crate::walk::AppendIdentity;

/// The shortest append.
pub(super) const APPEND_BYTES_MIN: u32 = 2 * BLOCK_BYTES as u32;

/// An append in a draft.
#[derive(Debug, Clone)]
pub(crate) struct DraftAppend {
    pub(crate) descriptor: Descriptor,
    pub(crate) bytes: Vec<u8>,
}

impl DraftAppend {
    /// Makes an append with this payload and these frame marks, which the descriptor need not tell.
    pub(crate) fn of(mut descriptor: Descriptor, payload: &[u8], marks: &[u8]) -> DraftAppend {
        let mut checksums = PieceChecksums::new();
        checksums.push(payload);
        descriptor.checksums = checksums.take();
        descriptor.payload_bytes = payload.len() as u32;
        descriptor.marks_bytes = marks.len() as u32;
        descriptor.marks_crc = crc32c(marks);
        descriptor.append_bytes =
            append_bytes_for(descriptor.payload_bytes, descriptor.marks_bytes);
        if !descriptor.has_room_for_drifts() {
            descriptor.drifts.clear();
        }
        let bytes = encode_append(&descriptor, payload, marks);
        DraftAppend { descriptor, bytes }
    }

    /// Its payload.
    pub(super) fn payload(&self) -> &[u8] {
        let payload = self.bytes.get(BLOCK_BYTES..).unwrap_or_default();
        let payload_bytes = self.descriptor.payload_bytes as usize;
        payload.get(..payload_bytes).unwrap_or_default()
    }
}

/// What lies around a place.
pub(super) struct Beside<'a> {
    pub(super) member: Uuid,
    /// The append before it on the member.
    pub(super) previous: Option<&'a Descriptor>,
    /// The same, if it is of the recording.
    pub(super) before: Option<&'a Descriptor>,
    /// The append behind it in the slot, if it is of the recording.
    pub(super) after: Option<&'a Descriptor>,
}

impl Beside<'_> {
    /// A descriptor at a place that has nothing of a stream, and tells of the streams what `base`
    /// does.
    pub(super) fn without_bytes(
        &self,
        base: &Descriptor,
        place: AppendPlace,
        sequence: u64,
    ) -> Descriptor {
        let mut positions = base.positions.clone();
        for (stream, position) in positions.iter_mut().enumerate() {
            position.member_bytes = self.member_bytes(stream);
        }
        Descriptor {
            member: self.member,
            place,
            sequence,
            stream: CONTROL_STREAM,
            gap: None,
            stream_offset_bytes: 0,
            previous: self.previous.map(|previous| previous.place),
            flushed_sequence: self.previous.map_or(0, |previous| previous.sequence),
            first_frame: 0,
            positions,
            ..base.clone()
        }
    }

    /// Payload of a stream that the recording had put on the member.
    fn member_bytes(&self, stream: usize) -> u64 {
        let at_end = |before: &Descriptor| {
            let position = before.positions.get(stream);
            position.map_or(0, |position| position.member_bytes)
        };
        let before = self.before.map(at_end);
        let after = self.after.map(|after| member_bytes_before(after, stream));
        before.or(after).unwrap_or(0)
    }
}

/// The appends in the bytes of a slot of this member, and whether each is whole.
pub(crate) fn appends_in(
    (member, identity): (usize, &AppendIdentity),
    slot_serial: u64,
    bytes: Vec<u8>,
) -> Vec<(DraftAppend, bool)> {
    let bytes = SharedBytes::from(bytes);
    let slot = Slot {
        member,
        serial: slot_serial,
        bytes: &bytes,
        unreadable: &[],
        restored_at_bytes: &[],
    };
    let append = examine(identity, slot).into_iter().filter_map(|one| {
        let is_whole = one.damaged.is_empty() && one.origin.sealed && one.origin.marks.is_some();
        let descriptor = one.origin.descriptor.clone();
        let start = descriptor.place.slot_offset_bytes as usize;
        let range = start..start + descriptor.append_bytes as usize;
        let bytes = bytes.get(range)?.to_vec();
        let is_whole = is_whole && is_filled_with_zeros(&descriptor, &bytes);
        Some((DraftAppend { descriptor, bytes }, is_whole))
    });
    append.collect()
}

pub(super) fn start_of(append: &DraftAppend) -> u32 {
    append.descriptor.place.slot_offset_bytes
}

pub(super) fn end_of(append: &DraftAppend) -> u32 {
    start_of(append) + append.descriptor.append_bytes
}

/// Payload of a stream that the recording had put on the member before an append.
pub(super) fn member_bytes_before(descriptor: &Descriptor, stream: usize) -> u64 {
    let own_bytes = match usize::from(descriptor.stream) == stream {
        true => u64::from(descriptor.payload_bytes),
        false => 0,
    };
    let position = descriptor.positions.get(stream).copied();
    position
        .unwrap_or_default()
        .member_bytes
        .saturating_sub(own_bytes)
}

/// Whether an append has nothing, and only fills a place.
pub(super) fn is_filler(descriptor: &Descriptor) -> bool {
    descriptor.kind == Kind::Parity && descriptor.parity_group == 0
}

/// Whether an append is the first of its recording on the member that has bytes of a stream.
pub(super) fn begins_with(descriptor: &Descriptor) -> bool {
    let mut streams = 0..descriptor.positions.len();
    streams.all(|stream| member_bytes_before(descriptor, stream) == 0)
}

/// Whether the member was given bytes of a stream between two appends of a recording.
pub(super) fn has_bytes_between(before: &Descriptor, after: &Descriptor) -> bool {
    let mut streams = 0..after.positions.len();
    streams.any(|stream| {
        let position = before.positions.get(stream).copied().unwrap_or_default();
        member_bytes_before(after, stream) > position.member_bytes
    })
}
