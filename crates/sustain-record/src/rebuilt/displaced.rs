//! Members that have something else where the others say that they were given an append. Pure.
//!
//! That comes about where a lost member was rebuilt onto a new one, and the old one was recorded to
//! afterwards in its place: both have one identity, and a place may be of either.

use std::collections::BTreeSet;

use super::found::{FoundData, FoundMark, FoundParity, StoreShape};
use crate::format::{BLOCK_BYTES, GroupEntry};

/// What an old member has, of which others may tell something else.
#[derive(Debug, Default)]
pub(crate) struct OwnAppends {
    /// By source: where each begins and ends there, and its sequence, in the order of the places.
    by_source: Vec<Vec<(u64, u64, u64)>>,
}

impl OwnAppends {
    /// The appends of old members among these.
    pub(crate) fn of_old(
        (parities, data): (&[FoundParity], &[FoundData]),
        marks: &[FoundMark],
        shape: &StoreShape<'_>,
    ) -> OwnAppends {
        let there = || shape.there.iter().zip(&shape.geometries);
        let sources = there().filter_map(|(there, _)| Some(there.as_ref()?.source + 1));
        let mut by_source = vec![Vec::new(); sources.max().unwrap_or(0)];
        for (there, geometry) in there() {
            let (Some(there), Some(geometry)) = (there, geometry) else {
                continue;
            };
            if !there.is_old {
                continue;
            }
            let own_data = data.iter().filter(|one| one.source == there.source);
            let own_data = own_data.map(|one| {
                let start = geometry.offset_of(one.place);
                (start, start + u64::from(one.append_bytes), one.sequence)
            });
            let own_parities = parities.iter().filter(|one| one.source == there.source);
            let own_parities = own_parities.map(|one| {
                let payload = one.payload_offset_bytes;
                let start = payload.saturating_sub(BLOCK_BYTES as u64);
                (start, payload + u64::from(one.payload_bytes), one.sequence)
            });
            let own_marks = marks.iter().filter(|one| one.source == there.source);
            let own_marks = own_marks.map(|one| {
                let mark = &one.descriptor;
                let start = geometry.offset_of(mark.place);
                (start, start + u64::from(mark.append_bytes), mark.sequence)
            });
            let own = own_data.chain(own_parities).chain(own_marks);
            let mut own: Vec<_> = own.collect();
            own.sort_unstable();
            by_source[there.source] = own;
        }
        OwnAppends { by_source }
    }

    /// The members in the table that have an earlier append where groups name one of these, which
    /// came later, in the same lap. What a crash took was followed by later ones only.
    pub(crate) fn displaced_in<'a>(
        &self,
        entries: impl Iterator<Item = &'a GroupEntry>,
        shape: &StoreShape<'_>,
    ) -> BTreeSet<usize> {
        let is_displaced = |member: &usize, start: u64, end: u64, sequence: u64| {
            let source = shape.there[*member].map(|there| there.source);
            let own = source.and_then(|source| self.by_source.get(source));
            let own = own.map_or(&[][..], Vec::as_slice);
            let first = own.partition_point(|(_, own_end, _)| *own_end <= start);
            let mut overlapping = own[first..].iter().take_while(|(own, ..)| *own < end);
            overlapping.any(|(.., own_sequence)| *own_sequence < sequence)
        };
        let displaced = entries.filter_map(|entry| {
            let member = usize::from(entry.member);
            let (there, geometry) = (shape.there[member]?, shape.geometries[member]?);
            let slot = (entry.place.slot_serial % geometry.slot_count) as usize;
            let is_of_lap = there.serials.get(slot) == Some(&Some(entry.place.slot_serial));
            let start = geometry.offset_of(entry.place);
            let end = start + u64::from(entry.append_bytes);
            let is_displaced = is_of_lap && is_displaced(&member, start, end, entry.sequence);
            is_displaced.then_some(member)
        });
        displaced.collect()
    }
}
