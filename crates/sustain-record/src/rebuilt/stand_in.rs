//! What stands at the beginning of a slot in which nothing is known: a descriptor made of the one
//! that comes next. Opening and searching bisect the slots of a member by their first descriptors,
//! and starts, end marks and parity, which begin many of them, are in no group. Pure.

use crate::format::{
    AppendPlace, BLOCK_BYTES, CONTROL_STREAM, Descriptor, Kind, append_bytes_for, crc32c,
};
use crate::walk::AppendIdentity;

/// The block that stands at `place`, given the one of the descriptor that comes next; zeros if that
/// is none of this member.
pub(super) fn block_at(place: AppendPlace, identity: &AppendIdentity, next: &[u8]) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES];
    if let Some(stand_in) = descriptor_at(place, identity, next) {
        stand_in.encode_into(&mut block);
    }
    block
}

/// It says how far the streams had come before the next append, and has nothing of its own. It is
/// told as parity, because that has no bytes of a stream.
fn descriptor_at(place: AppendPlace, identity: &AppendIdentity, next: &[u8]) -> Option<Descriptor> {
    let head = identity.head(next)?;
    let next = head.descriptor()?;
    if next.place <= place || next.kind != Kind::Data {
        return None;
    }
    let position = |stream: usize| {
        let mut position = next.position_before(stream);
        if stream == usize::from(next.stream) {
            let own_bytes = u64::from(next.payload_bytes);
            position.member_bytes = position.member_bytes.saturating_sub(own_bytes);
        }
        position.settled_offset_bytes = position
            .settled_offset_bytes
            .min(position.next_offset_bytes);
        position
    };
    let sequence = next.sequence.saturating_sub(1);
    Some(Descriptor {
        kind: Kind::Parity,
        place,
        append_bytes: append_bytes_for(0, 0),
        sequence,
        stream: CONTROL_STREAM,
        gap: None,
        stream_offset_bytes: 0,
        payload_bytes: 0,
        marks_bytes: 0,
        marks_crc: crc32c(&[]),
        previous: None,
        start: next.start.filter(|start| *start <= place),
        flushed_sequence: next.flushed_sequence.min(sequence),
        parity_group: 0,
        parity_role: 1,
        first_frame: 0,
        positions: (0..next.positions.len()).map(position).collect(),
        checksums: Vec::new(),
        ..next.clone()
    })
}
