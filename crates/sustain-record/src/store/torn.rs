//! Appends that a power cut may have left half written: they are read as a whole before anything is
//! computed from them.
//!
//! Whoever computes an append reads pieces of the others of its group, and checks what comes out by
//! the append's own checksums. These are linear: where two others are torn, and what is missing of
//! them ends with a checksum of itself, as seals and descriptors do, the errors of both may cancel
//! out, and wrong bytes have the right checksum. What was durable is not torn.

use std::collections::BTreeSet;

use super::scan::Scanned;
use crate::error::RecordError;
use crate::format::{
    AppendPlace, BLOCK_BYTES, EndNote, GroupEntry, Kind, payload_range, verify_payload,
};
use crate::member_io::{MemberIo, ReadOrder};
use crate::rebuilt::{FoundData, FoundMark, FoundParity, is_whole};
use crate::walk::AppendIdentity;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 20;

/// Leaves out parity that is torn, and returns, for each member, where data is. `identities` are
/// those of the members, in their order.
///
/// # Errors
/// [`RecordError::Engine`]. What cannot be read counts as torn.
pub(super) fn leave_out_torn(
    io: &mut MemberIo,
    identities: &[AppendIdentity],
    scanned: &mut Scanned,
) -> Result<Vec<BTreeSet<AppendPlace>>, RecordError> {
    note_ends_in_order(io, identities, scanned)?;
    let durable = &scanned.durable;
    let is_doubtful = |source: usize, recording: u32, sequence: u64| {
        durable
            .get(&(source, recording))
            .is_none_or(|durable| sequence > *durable)
    };
    let mut torn = vec![BTreeSet::new(); identities.len()];
    let data = scanned.data.iter();
    let data = data.filter(|one| is_doubtful(one.source, one.recording, one.sequence));
    let data: Vec<FoundData> = data.copied().collect();
    let order_of_data = |one: &FoundData| ReadOrder {
        member: one.source,
        offset_bytes: identities[one.source].geometry.offset_of(one.place),
        length_bytes: one.append_bytes as usize,
    };
    read_in_parts(io, &data, order_of_data, |one, bytes| {
        if bytes.is_none_or(|bytes| !is_whole_data(&identities[one.source], one, bytes)) {
            torn[one.source].insert(one.place);
        }
    })?;
    let parities = std::mem::take(&mut scanned.parities).into_iter();
    let (doubtful, sure): (Vec<_>, Vec<_>) =
        parities.partition(|one| is_doubtful(one.source, one.recording, one.sequence));
    scanned.parities = sure;
    let order_of_parity = |one: &FoundParity| ReadOrder {
        member: one.source,
        offset_bytes: one.payload_offset_bytes - BLOCK_BYTES as u64,
        length_bytes: BLOCK_BYTES + one.payload_bytes as usize,
    };
    let mut whole = Vec::new();
    read_in_parts(io, &doubtful, order_of_parity, |one, bytes| {
        if bytes.is_some_and(|bytes| is_whole_parity(&identities[one.source], bytes)) {
            whole.push(one.clone());
        }
    })?;
    scanned.parities.extend(whole);
    Ok(torn)
}

/// Notes that all was durable where a recording has ended in order. The end mark of one that a
/// crash has ended says what `recover` found, which may be torn.
fn note_ends_in_order(
    io: &mut MemberIo,
    identities: &[AppendIdentity],
    scanned: &mut Scanned,
) -> Result<(), RecordError> {
    let ends = scanned.marks.iter();
    let ends: Vec<&FoundMark> = ends
        .filter(|one| one.descriptor.kind == Kind::End)
        .collect();
    let order = |one: &&FoundMark| ReadOrder {
        member: one.source,
        offset_bytes: identities[one.source]
            .geometry
            .offset_of(one.descriptor.place),
        length_bytes: one.descriptor.append_bytes as usize,
    };
    let durable = &mut scanned.durable;
    read_in_parts(io, &ends, order, |one, bytes| {
        let descriptor = &one.descriptor;
        let note = bytes.and_then(|bytes| bytes.get(payload_range(descriptor)));
        let note = note.filter(|note| verify_payload(descriptor, note).is_empty());
        let note = note.and_then(|note| EndNote::from_json(note).ok());
        if note.is_some_and(|note| note.ended != EndNote::RECOVERED) {
            let key = (one.source, descriptor.recording);
            let known = durable.entry(key).or_default();
            *known = (*known).max(descriptor.flushed_sequence);
        }
    })
}

/// Reads something of each of these, a few at once.
pub(super) fn read_in_parts<T>(
    io: &mut MemberIo,
    all: &[T],
    order: impl Fn(&T) -> ReadOrder,
    mut take: impl FnMut(&T, Option<&[u8]>),
) -> Result<(), RecordError> {
    let mut left = all;
    while !left.is_empty() {
        let mut bytes = 0;
        let count = left.iter().take_while(|one| {
            let is_first = bytes == 0;
            bytes += order(one).length_bytes;
            is_first || bytes <= READ_BYTES
        });
        let (now, later) = left.split_at(count.count());
        left = later;
        let orders: Vec<ReadOrder> = now.iter().map(&order).collect();
        let read = io.read_all(&orders);
        io.check_engine()?;
        for (one, bytes) in now.iter().zip(read) {
            take(one, bytes.ok().as_deref());
        }
    }
    Ok(())
}

fn is_whole_data(identity: &AppendIdentity, data: &FoundData, bytes: &[u8]) -> bool {
    let entry = GroupEntry {
        member: 0,
        place: data.place,
        append_bytes: data.append_bytes,
        sequence: data.sequence,
        descriptor_crc: data.descriptor_crc,
    };
    is_whole(&[Some(*identity)], &entry, bytes)
}

fn is_whole_parity(identity: &AppendIdentity, bytes: &[u8]) -> bool {
    let head = identity.head(bytes);
    let Some(descriptor) = head.as_ref().and_then(|head| head.descriptor()) else {
        return false;
    };
    let sum = bytes.get(payload_range(descriptor));
    sum.is_some_and(|sum| verify_payload(descriptor, sum).is_empty())
}
