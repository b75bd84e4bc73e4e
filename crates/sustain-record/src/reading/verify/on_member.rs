//! The account of one member while a recording is checked: how far its appends have been seen, and
//! what is missing between them. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::format::{AppendPlace, Geometry, Position};
use crate::reading::part::Origin;

/// More flaws of one recording are not kept.
const LOST_MAX: usize = 10_000;

/// How far the appends of one member have been seen.
#[derive(Default)]
pub(super) struct AccountOfMember {
    pub(super) last: Option<Arc<Origin>>,
    /// Its appends up to here were durable.
    pub(super) flushed_sequence: u64,
    pub(super) starts: BTreeSet<AppendPlace>,
    pub(super) starts_missed: BTreeSet<AppendPlace>,
    /// Appends that are not there: where, and how much of which stream.
    pub(super) lost: Vec<LostTally>,
}

pub(super) struct LostTally {
    pub(super) offset_bytes: u64,
    pub(super) stream: u16,
    pub(super) bytes: u64,
}

impl AccountOfMember {
    /// Between two appends that follow each other on a member, others may be missing.
    pub(super) fn note_lost(&mut self, last: &Origin, next: &Origin, geometry: &Geometry) {
        let Some(previous) = next.descriptor.previous else {
            return;
        };
        if previous <= last.descriptor.place || self.lost.len() >= LOST_MAX {
            return;
        }
        for (stream, position) in next.descriptor.positions.iter().enumerate() {
            let of_last = last.descriptor.positions.get(stream).copied();
            let Position { member_bytes, .. } = of_last.unwrap_or_default();
            let own_bytes = if usize::from(next.descriptor.stream) == stream {
                u64::from(next.descriptor.payload_bytes)
            } else {
                0
            };
            let bytes = position
                .member_bytes
                .saturating_sub(member_bytes + own_bytes);
            if bytes > 0 {
                self.lost.push(LostTally {
                    offset_bytes: geometry.offset_of(previous),
                    stream: stream as u16,
                    bytes,
                });
            }
        }
    }
}
