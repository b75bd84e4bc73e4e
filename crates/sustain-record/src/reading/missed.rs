//! Where members that are there miss appends, as their other appends show, in a recording that a
//! ring has written over on another member. What is missing elsewhere that one may have had. Pure.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::part::Origin;
use super::readable::{is_crashed, was_durable};
use super::scope::Scope;
use crate::format::Position;
use crate::opening::{Recording, StreamExtent};

/// The stretches of the streams in which appends of some member are missed.
#[derive(Debug)]
pub(super) struct Missed {
    recording: Arc<Recording>,
    /// In the order of the scope.
    members: Vec<MissedOnMember>,
    /// By stream, ends by starts, apart from each other.
    stretches: BTreeMap<u16, BTreeMap<u64, u64>>,
}

#[derive(Debug)]
struct MissedOnMember {
    extent: Option<StreamExtent>,
    /// The first slot in which a missing append shows.
    from_slot: u64,
    last: Option<Arc<Origin>>,
}

impl Missed {
    /// Of a recording that is gone from a member; none of any other one.
    pub(super) fn of(scope: &Scope, first_slots: &[u64]) -> Option<Missed> {
        let recording = Arc::clone(scope.gone_from_a_member.as_ref()?);
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
                    last: None,
                }
            });
        Some(Missed {
            members: members.collect(),
            recording,
            stretches: BTreeMap::new(),
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
            (Some(last), Some(previous)) => previous > last.descriptor.place,
            (None, Some(previous)) => {
                previous.slot_serial >= on_member.from_slot && !next.descriptor.is_first_start()
            }
        };
        if is_missed {
            self.note(extent, last.as_deref(), next);
        }
    }

    /// Notes what may have been in appends between two that follow each other on a member.
    fn note(&mut self, extent: StreamExtent, last: Option<&Origin>, next: &Origin) {
        let sequence = last.map_or(0, |last| last.descriptor.sequence);
        let is_crashed = is_crashed(&self.recording);
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
                && (!is_crashed || was_durable(&self.recording, stream as u16, handed_out))
            {
                self.add(stream as u16, start_bytes..end_bytes);
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

    /// Of bytes that are on no member the first stretch of which one thing is true, and whether a
    /// member that is there shows that it has lost appends there.
    pub(super) fn first_of(&self, stream: u16, missing: &Range<u64>) -> (Range<u64>, bool) {
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
