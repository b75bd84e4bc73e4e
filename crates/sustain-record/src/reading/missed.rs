//! Tells damage from the work of a ring in a recording that it has written over on some member:
//! where members show, by their other appends, that they have lost some, and what is damaged where
//! nothing has been written over. Pure.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::part::{HoleReason, Origin, StreamPart};
use super::scope::Scope;
use crate::format::Position;
use crate::opening::{Recording, StreamExtent, was_durable};

/// The stretches of the streams in which appends of some member are missed.
#[derive(Debug)]
pub(super) struct Missed {
    recording: Arc<Recording>,
    /// In the order of the scope.
    members: Vec<MissedOnMember>,
    /// By stream, ends by starts, apart from each other.
    stretches: BTreeMap<u16, BTreeMap<u64, u64>>,
    /// What single members have lost, by stream. Not claimed yet by a part of the stream.
    lost: BTreeMap<u16, Vec<LostOnMember>>,
}

/// Bytes that a member had among those that were handed out between two of its appends.
#[derive(Debug)]
struct LostOnMember {
    handed_out: Range<u64>,
    left_bytes: u64,
}

#[derive(Debug)]
struct MissedOnMember {
    extent: Option<StreamExtent>,
    /// The first slot in which a missing append shows.
    from_slot: u64,
    /// What it lacks below the readable range may have been overwritten on the members from which
    /// it was computed.
    is_computed: bool,
    last: Option<Arc<Origin>>,
}

impl Missed {
    /// Of a recording that a ring has written over in part; none of any other one.
    pub(super) fn of(scope: &Scope, first_slots: &[u64]) -> Option<Missed> {
        let recording = Arc::clone(scope.written_over.as_ref()?);
        let members = scope
            .members
            .iter()
            .zip(first_slots)
            .map(|(member, first)| {
                let extent = recording.per_member.get(member.index).copied().flatten();
                let kept_from_slot = extent.map_or(0, |extent| extent.kept_from_slot);
                // Where reading begins in the middle, what lies before is not looked at.
                let is_middle = *first > member.slots.start;
                MissedOnMember {
                    extent,
                    from_slot: kept_from_slot.max(if is_middle { *first } else { 0 }),
                    is_computed: member.is_computed,
                    last: None,
                }
            });
        Some(Missed {
            members: members.collect(),
            recording,
            stretches: BTreeMap::new(),
            lost: BTreeMap::new(),
        })
    }

    /// An append was found, the next one of its member.
    pub(super) fn found(&mut self, member: usize, next: &Arc<Origin>) {
        let on_member = &mut self.members[member];
        let Some(extent) = on_member.extent else {
            return;
        };
        if next.descriptor.place < extent.first {
            return;
        }
        let last = on_member.last.replace(Arc::clone(next));
        let is_missed = match (&last, next.descriptor.previous) {
            (_, None) => false,
            (Some(last), Some(previous)) => {
                previous > last.descriptor.place && previous.slot_serial >= extent.kept_from_slot
            }
            (None, Some(previous)) => {
                previous.slot_serial >= on_member.from_slot && !next.descriptor.is_first_start()
            }
        };
        if is_missed {
            let is_computed = on_member.is_computed;
            self.note(extent, is_computed, last.as_deref(), next);
        }
    }

    /// Notes what may have been in appends between two that follow each other on a member.
    fn note(
        &mut self,
        extent: StreamExtent,
        is_computed: bool,
        last: Option<&Origin>,
        next: &Origin,
    ) {
        let sequence = last.map_or(0, |last| last.descriptor.sequence);
        let is_crashed = self.recording.is_crashed();
        // What a member that failed had not flushed was written elsewhere, or is a gap.
        if !is_crashed && !extent.has_end && extent.flushed_sequence <= sequence {
            return;
        }
        for stream in 0..next.descriptor.positions.len() {
            let before = last.and_then(|last| last.descriptor.positions.get(stream).copied());
            let before: Position = before.unwrap_or_default();
            let end_bytes = next.descriptor.position_before(stream).next_offset_bytes;
            let handed_out = before.next_offset_bytes.min(end_bytes)..end_bytes;
            // No append has bytes below what was settled when it was placed.
            let start_bytes = before.settled_offset_bytes;
            if start_bytes < end_bytes
                && (!is_crashed || was_durable(&self.recording, stream as u16, handed_out.clone()))
            {
                self.add(stream as u16, start_bytes..end_bytes);
                let left_bytes = lost_bytes(stream, before.member_bytes, next);
                let lost = LostOnMember {
                    handed_out,
                    left_bytes,
                };
                let was_flushed = || self.was_flushed(extent, next.descriptor.sequence);
                if !is_computed && (!is_crashed || was_flushed()) {
                    self.lost.entry(stream as u16).or_default().push(lost);
                }
            }
        }
    }

    fn add(&mut self, stream: u16, stretch: Range<u64>) {
        let known = self.stretches.entry(stream).or_default();
        let (mut start, mut end) = (stretch.start, stretch.end);
        while let Some((other_start, other_end)) = known.range(..=end).next_back() {
            let (other_start, other_end) = (*other_start, *other_end);
            if other_end < start {
                break;
            }
            known.remove(&other_start);
            start = start.min(other_start);
            end = end.max(other_end);
        }
        known.insert(start, end);
    }

    /// Of a hole the first stretch of which one thing is true, and why it is one.
    pub(super) fn why(&mut self, stream: u16, part: &StreamPart) -> Option<(u64, HoleReason)> {
        let StreamPart::Hole { why, origin, .. } = part else {
            return None;
        };
        let hole = part.offset_bytes()..part.end_bytes();
        if hole.is_empty() || *why == HoleReason::WrittenOver {
            return None;
        }
        let known = self.recording.streams.get(usize::from(stream));
        let readable_from_bytes = known.map_or(0, |known| known.readable_from_bytes);
        let below = hole.start..hole.end.min(readable_from_bytes);
        let (first, is_lost) = match (*why, origin) {
            (HoleReason::Missing, _) if !below.is_empty() => self.claim(stream, &below),
            (HoleReason::Missing, _) if self.recording.is_gone_from_a_member => {
                self.first_of(stream, &hole)
            }
            (_, Some(origin)) if !below.is_empty() => {
                let is_lost = self.is_kept(stream, &below, origin);
                (below, is_lost)
            }
            _ => return None,
        };
        Some((
            first.end,
            if is_lost {
                *why
            } else {
                HoleReason::WrittenOver
            },
        ))
    }

    /// Whether an append that is not whole lies where nothing has been written over, and was
    /// durable.
    fn is_kept(&self, stream: u16, bytes: &Range<u64>, origin: &Origin) -> bool {
        let extent = self.recording.per_member.get(origin.member);
        let Some(extent) = extent.copied().flatten() else {
            return false;
        };
        let (place, sequence) = (origin.descriptor.place, origin.descriptor.sequence);
        place >= extent.first
            && place.slot_serial >= extent.kept_from_slot
            && if self.recording.is_crashed() {
                self.was_flushed(extent, sequence)
                    && was_durable(&self.recording, stream, bytes.clone())
            } else {
                // What a member that failed had not flushed was written elsewhere, or is a gap.
                extent.has_end || sequence <= extent.flushed_sequence
            }
    }

    /// Whether an append was durable on its own member before a crash. A copy of it may have been
    /// on another one. The end mark of recovering says what was found, not what was durable.
    fn was_flushed(&self, extent: StreamExtent, sequence: u64) -> bool {
        self.recording.open_end && sequence <= extent.flushed_sequence
    }

    /// Of bytes below the readable range that are on no member the first stretch of which one thing
    /// is true, and whether a member has lost it. Between what was handed out the ring may have
    /// written over bytes of other members, so as many are claimed as the member had, and no more.
    fn claim(&mut self, stream: u16, missing: &Range<u64>) -> (Range<u64>, bool) {
        let lost = self.lost.get_mut(&stream);
        let mut lost: Vec<&mut LostOnMember> = lost
            .into_iter()
            .flatten()
            .filter(|lost| lost.left_bytes > 0 && lost.handed_out.end > missing.start)
            .collect();
        lost.sort_by_key(|lost| lost.handed_out.start);
        let Some(first) = lost.into_iter().next() else {
            return (missing.clone(), false);
        };
        if first.handed_out.start > missing.start {
            let end = missing.end.min(first.handed_out.start);
            return (missing.start..end, false);
        }
        let end = missing.end.min(first.handed_out.end);
        let end = end.min(missing.start + first.left_bytes);
        first.left_bytes -= end - missing.start;
        (missing.start..end, true)
    }

    /// Of bytes that are on no member the first stretch of which one thing is true, and whether a
    /// member that is there shows that it has lost appends there.
    fn first_of(&self, stream: u16, missing: &Range<u64>) -> (Range<u64>, bool) {
        let Some(known) = self.stretches.get(&stream) else {
            return (missing.clone(), false);
        };
        let around = known.range(..=missing.start).next_back();
        if let Some((_, end)) = around.filter(|(_, end)| **end > missing.start) {
            return (missing.start..missing.end.min(*end), true);
        }
        let next = known.range(missing.start..missing.end).next();
        let end = next.map_or(missing.end, |(start, _)| *start);
        (missing.start..end, false)
    }
}

/// Bytes of a stream that a member had in appends between two that were found.
fn lost_bytes(stream: usize, before_bytes: u64, next: &Origin) -> u64 {
    let descriptor = &next.descriptor;
    let own_bytes = if usize::from(descriptor.stream) == stream {
        u64::from(descriptor.payload_bytes)
    } else {
        0
    };
    let position = descriptor
        .positions
        .get(stream)
        .copied()
        .unwrap_or_default();
    position
        .member_bytes
        .saturating_sub(before_bytes.saturating_add(own_bytes))
}
