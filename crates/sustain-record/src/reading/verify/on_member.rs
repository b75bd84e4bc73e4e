//! The account of one member while a recording is checked: how far its appends have been seen, and
//! what is missing between them. Pure.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::format::{AppendPlace, Geometry, Kind, Position};
use crate::opening::StreamExtent;
use crate::reading::part::Origin;

pub(super) const MARK_IS_UNSEALED: &str = "the seal of the start or the end is damaged";
/// More flaws of one recording are not kept.
const LOST_MAX: usize = 10_000;

/// How far the appends of one member have been seen.
#[derive(Default)]
pub(super) struct AccountOfMember {
    pub(super) last: Option<Arc<Origin>>,
    pub(super) starts: BTreeSet<AppendPlace>,
    pub(super) starts_missed: BTreeSet<AppendPlace>,
    /// Appends that are not there: where, and how much of which stream.
    pub(super) lost: Vec<LostTally>,
}

pub(super) struct LostTally {
    /// Where the first of these appends lay, and the last one.
    first_offset_bytes: u64,
    last_offset_bytes: u64,
    /// Whether a missing stretch is known to be of the first of them.
    is_first_reported: bool,
    pub(super) stream: u16,
    pub(super) bytes: u64,
    /// What of the stream was handed out meanwhile, to whichever member.
    pub(super) handed_out: Range<u64>,
}

impl LostTally {
    /// Where the next missing stretch of these appends lay, which are missed in their order.
    pub(super) fn offset_bytes(&self) -> u64 {
        if self.is_first_reported {
            self.last_offset_bytes
        } else {
            self.first_offset_bytes
        }
    }

    /// Whether bytes that are on no member may be of these.
    pub(super) fn may_have(&self, stream: u16, missing: &Range<u64>) -> bool {
        let is_within =
            self.handed_out.start <= missing.start && missing.end <= self.handed_out.end;
        self.stream == stream && is_within && self.bytes >= missing.end - missing.start
    }
}

/// What an append is judged by, besides those before it.
pub(super) struct MemberSurroundings {
    pub(super) extent: Option<StreamExtent>,
    pub(super) geometry: Geometry,
    /// Whether members may have been written over.
    pub(super) has_laps: bool,
    /// Whether this was computed from other members: starts, end marks and parity may be missing.
    pub(super) is_computed: bool,
    /// Whether a start may never have got its seal: in a crash, or on a member that was given up.
    pub(super) start_may_be_unsealed: bool,
    /// Whether a crash may have left the end mark without its seal.
    pub(super) end_may_be_unsealed: bool,
}

impl AccountOfMember {
    /// Takes the next append, and returns what is wrong with it or between it and the one before,
    /// with the offset on the member.
    pub(super) fn follow(
        &mut self,
        origin: &Arc<Origin>,
        around: &MemberSurroundings,
    ) -> Vec<(u64, &'static str)> {
        let descriptor = &origin.descriptor;
        if descriptor.kind == Kind::Start {
            self.starts.insert(descriptor.place);
        }
        let mut flaws = Vec::new();
        // Of an append of data the seal is looked at where its bytes are returned.
        let needs_seal = match descriptor.kind {
            Kind::Data | Kind::Parity => false,
            Kind::Start => !around.start_may_be_unsealed,
            Kind::End => !around.end_may_be_unsealed,
        };
        if needs_seal && !origin.sealed {
            flaws.push((origin.offset_bytes, MARK_IS_UNSEALED));
        }
        if let Some(last) = self.last.replace(Arc::clone(origin)) {
            // What is computed may lie behind an end mark that came later: recovering wrote that
            // where the crash had left nothing.
            if descriptor.sequence <= last.descriptor.sequence && !around.is_computed {
                flaws.push((origin.offset_bytes, "it is out of order"));
            }
            self.note_lost(&last, origin, &around.geometry);
        }
        // In a ring one that lies before all that is left has been written over, unless it lies
        // where nothing has been.
        let is_kept = |start: &AppendPlace| {
            let is_left = |extent: StreamExtent| {
                *start >= extent.first || start.slot_serial >= extent.kept_from_slot
            };
            !around.has_laps || around.extent.is_some_and(is_left)
        };
        if let Some(start) = descriptor.start.filter(is_kept)
            && !around.is_computed
            && !self.starts.contains(&start)
            && self.starts_missed.insert(start)
        {
            let at = around.geometry.offset_of(start);
            flaws.push((at, "the start of the recording is damaged"));
        }
        flaws
    }

    /// Where an append is missing between the last one and this one that had no bytes of a stream,
    /// if one is: as appends of parity.
    pub(super) fn lacks_without_bytes(
        &self,
        next: &Origin,
        around: &MemberSurroundings,
    ) -> Option<u64> {
        let last = self.last.as_ref().filter(|_| !around.is_computed)?;
        let kept_from_slot = around.extent.map_or(0, |extent| extent.kept_from_slot);
        let previous = next.descriptor.previous?;
        let is_missing = previous > last.descriptor.place && previous.slot_serial >= kept_from_slot;
        let of_stream = |(stream, position): (usize, &Position)| {
            let of_last = last
                .descriptor
                .positions
                .get(stream)
                .copied()
                .unwrap_or_default();
            let is_own = usize::from(next.descriptor.stream) == stream;
            let own_bytes = u64::from(next.descriptor.payload_bytes) * u64::from(is_own);
            position.member_bytes > of_last.member_bytes.saturating_add(own_bytes)
        };
        let has_bytes = next.descriptor.positions.iter().enumerate().any(of_stream);
        (is_missing && !has_bytes).then(|| around.geometry.offset_of(behind(last, previous)))
    }

    /// Where a missing stretch of a stream lay on this member, if it may have been here. Then so
    /// many bytes less are missed here.
    pub(super) fn claim(&mut self, stream: u16, missing: &Range<u64>) -> Option<u64> {
        let mut lost = self.lost.iter_mut();
        let tally = lost.find(|tally| tally.may_have(stream, missing))?;
        let offset_bytes = tally.offset_bytes();
        tally.bytes -= missing.end - missing.start;
        tally.is_first_reported = true;
        Some(offset_bytes)
    }

    pub(super) fn may_have_lost(&self, stream: u16, missing: &Range<u64>) -> bool {
        let mut lost = self.lost.iter();
        lost.any(|tally| tally.may_have(stream, missing))
    }

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
            let Position {
                member_bytes,
                next_offset_bytes,
                ..
            } = of_last.unwrap_or_default();
            let own_bytes = if usize::from(next.descriptor.stream) == stream {
                u64::from(next.descriptor.payload_bytes)
            } else {
                0
            };
            let bytes = position
                .member_bytes
                .saturating_sub(member_bytes.saturating_add(own_bytes));
            if bytes > 0 {
                self.lost.push(LostTally {
                    first_offset_bytes: geometry.offset_of(behind(last, previous)),
                    last_offset_bytes: geometry.offset_of(previous),
                    is_first_reported: false,
                    stream: stream as u16,
                    bytes,
                    handed_out: next_offset_bytes
                        ..next.descriptor.position_before(stream).next_offset_bytes,
                });
            }
        }
    }
}

/// Where the first append lay that is missing behind one that is there, given the last that is
/// missing. In a later slot it is only known for sure that each slot begins with one.
fn behind(last: &Origin, last_missing: AppendPlace) -> AppendPlace {
    let AppendPlace {
        slot_serial,
        slot_offset_bytes,
    } = last.descriptor.place;
    if last_missing.slot_serial == slot_serial {
        return AppendPlace {
            slot_serial,
            slot_offset_bytes: slot_offset_bytes + last.descriptor.append_bytes,
        };
    }
    AppendPlace {
        slot_serial: slot_serial + 1,
        slot_offset_bytes: 0,
    }
}

/// In a ring that has gone round, what lies before the oldest append that is found has been written
/// over, unless that names one where nothing has been. Returns where that one lies.
pub(super) fn lost_before_first(first: &Origin, around: &MemberSurroundings) -> Option<u64> {
    let is_looked_at = |extent: &StreamExtent| extent.is_overwritten && !around.is_computed;
    let extent = around.extent.filter(is_looked_at)?;
    let previous = first.descriptor.previous?;
    let is_reported = first.descriptor.start == Some(previous);
    let is_kept = previous.slot_serial >= extent.kept_from_slot && !is_reported;
    is_kept.then(|| around.geometry.offset_of(previous))
}
