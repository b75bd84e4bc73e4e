//! Completes a slot that is written: starts, an end mark and parity, between the data that it is
//! given back.

use std::sync::Arc;

use super::append::APPEND_BYTES_MIN;
use super::copy::SlotCopy;
use super::draft::SlotDraft;
use super::hole::Hole;
use super::known_next::KnownNext;
use super::marks::{end_note, mark_of, sequence_of, start_note};
use crate::error::RecordError;
use crate::format::{AppendPlace, Kind, StartNote};

/// Of so many appends of parity that come next, the first that fits is taken.
const CHOICES_MAX: usize = 64;

impl SlotCopy<'_> {
    /// The sequence of what comes first behind a slot, as far as that is known.
    fn sequence_behind(&self, slot_serial: u64) -> Option<u64> {
        let found = &self.from.found;
        let in_groups = found.entry_behind(self.to.member, slot_serial);
        let in_groups = in_groups.map(|entry| entry.sequence);
        let mut own = self.own_heads.range(slot_serial + 1..);
        let own = own.next().map(|(_, head)| head.sequence);
        in_groups
            .into_iter()
            .chain(own)
            .chain(self.next_sequence)
            .min()
    }

    /// Puts starts of the recording that has the slot where appends say that they lay. In a slot of
    /// which nothing tells that, one begins the recording. `next` is what comes next.
    pub(super) fn add_starts(
        &mut self,
        draft: &mut SlotDraft,
        (recording, named_at_bytes): (u32, Option<u32>),
        next: Option<KnownNext>,
    ) -> Result<(), RecordError> {
        let mut starts = draft.starts();
        starts.extend(named_at_bytes);
        let next = next.filter(|next| next.recording == recording);
        let told = next.and_then(|next| next.start);
        let told = told.filter(|start| start.slot_serial == draft.slot_serial);
        starts.extend(told.map(|start| start.slot_offset_bytes));
        let last = self.last.as_ref().map(|last| last.recording);
        let is_told = draft.recording().is_some() || next.is_some();
        let begins = !is_told && Some(recording) > last;
        if starts.is_empty() && begins {
            starts.insert(0);
        }
        for at_bytes in starts {
            let found = Arc::clone(&self.from.found);
            let Some(mark) = mark_of(&found, recording, Kind::Start) else {
                continue;
            };
            // One that a ring has passed would say that all behind it is left.
            if begins && !self.is_left(mark.descriptor.sequence) {
                continue;
            }
            let (before, after) = draft.sequences_at(at_bytes);
            let before = before.or(self.last.as_ref().map(|last| last.sequence));
            let after = after.or_else(|| self.sequence_behind(draft.slot_serial));
            let Some(sequence) = sequence_of(&mark.descriptor, before, after) else {
                continue;
            };
            let note = self.from.payload_of(&mut self.io, mark)?;
            let note = note.and_then(|note| start_note(&note, self.last.as_ref()));
            if let Some(note) = note {
                let with_note = (&mark.descriptor, &note[..]);
                draft.add_mark((at_bytes, sequence), with_note, self.last.as_ref());
            }
        }
        Ok(())
    }

    /// The recording of which a slot without data had the start, and where, as the start that is
    /// there behind it says. Nothing but these marks may have been on the member.
    pub(super) fn named_start(
        &self,
        draft: &SlotDraft,
        next: Option<&SlotDraft>,
    ) -> Option<(u32, u32)> {
        let behind = next?.appends().next()?;
        if draft.recording().is_some() || behind.descriptor.kind != Kind::Start {
            return None;
        }
        let named = StartNote::from_json(behind.payload())
            .ok()?
            .previous_start?;
        let marks = self.from.found.marks.iter().map(|mark| &mark.descriptor);
        let earlier = marks.map(|mark| mark.recording);
        let recording = earlier
            .filter(|one| *one < behind.descriptor.recording)
            .max()?;
        (named.slot_serial == draft.slot_serial).then_some((recording, named.slot_offset_bytes))
    }

    /// Puts an end mark at an offset behind all else in a slot, if there is room and another member
    /// has one of the recording. Returns whether it is not owed any more.
    pub(super) fn add_end_at(
        &mut self,
        draft: &mut SlotDraft,
        recording: u32,
        at_bytes: u32,
    ) -> Result<bool, RecordError> {
        let found = Arc::clone(&self.from.found);
        let Some(mark) = mark_of(&found, recording, Kind::End) else {
            return Ok(true);
        };
        let before = draft
            .last()
            .or(self.last.as_ref())
            .map(|last| last.sequence);
        let after = self.sequence_behind(draft.slot_serial);
        let Some(sequence) = sequence_of(&mark.descriptor, before, after) else {
            return Ok(true);
        };
        let Some(note) = self
            .from
            .payload_of(&mut self.io, mark)?
            .and_then(|note| end_note(&note))
        else {
            return Ok(true);
        };
        let with_note = (&mark.descriptor, &note[..]);
        let is_behind = at_bytes >= draft.end_bytes();
        Ok(is_behind && draft.add_mark((at_bytes, sequence), with_note, self.last.as_ref()))
    }

    /// Where the end mark of a recording lay that is missing from a slot on: the start of the next
    /// recording, which the member has, names that place.
    pub(super) fn told_end(
        &self,
        slot_serial: u64,
        recording: u32,
        known_next: Option<KnownNext>,
    ) -> Option<AppendPlace> {
        let next = known_next.filter(|next| next.recording != recording)?;
        let slots = slot_serial..next.found_slot;
        let told = next.last_before;
        let told = told.filter(|told| slots.contains(&told.slot_serial))?;
        let is_of_other = self.waiting(Some(recording), Some(next)).next().is_some();
        (!is_of_other && self.end_mark_bytes(recording) > 0).then_some(told)
    }

    /// The bytes of the end mark of a recording; 0 if no other member has one.
    pub(super) fn end_mark_bytes(&self, recording: u32) -> u32 {
        let mark = mark_of(&self.from.found, recording, Kind::End);
        mark.map_or(0, |mark| mark.descriptor.append_bytes)
    }

    /// Makes damaged parity of a slot again in its place, before parity of other groups takes that.
    /// What cannot be made is put back: the rest of it may still protect something.
    pub(super) fn add_damaged_parity(&mut self, draft: &mut SlotDraft) -> Result<(), RecordError> {
        for damaged in draft.take_damaged_parity() {
            let (group, place) = (damaged.descriptor.parity_group, damaged.descriptor.place);
            let number = usize::from(damaged.descriptor.parity_role).saturating_sub(1);
            // Parity of another group that went to an earlier slot may have taken its sequence.
            let (before, _) = draft.sequences_at(place.slot_offset_bytes);
            let before = before.or(self.last.as_ref().map(|last| last.sequence));
            if before >= Some(damaged.descriptor.sequence) {
                continue;
            }
            let Some(lacking) = self.parity.get(group).cloned() else {
                let found = self.from.found.group(group);
                let is_elsewhere = found.is_some_and(|group| group.has_parity(number));
                if !is_elsewhere && !self.made_groups.contains(&group) {
                    draft.add(damaged);
                }
                continue;
            };
            match self.from.make(&mut self.io, &lacking)? {
                Some(made) => {
                    let sequence = damaged.descriptor.sequence;
                    let hole = Hole::of(&damaged);
                    let id = (group, lacking.number, sequence);
                    draft.add_parity(&hole, &made, id, self.last.as_ref());
                    if draft.has(place, sequence) {
                        self.parity.remove(group, lacking.number);
                        self.made_groups.insert(group);
                    }
                }
                None => draft.add(damaged),
            }
        }
        Ok(())
    }

    /// Puts parity that groups of a recording lack into the holes of its slot, in the order of
    /// sequences.
    pub(super) fn add_parities(
        &mut self,
        draft: &mut SlotDraft,
        recording: u32,
    ) -> Result<(), RecordError> {
        let mut from_bytes = 0;
        loop {
            let mut holes = draft.holes().into_iter();
            let Some(hole) = holes.find(|hole| hole.range.start >= from_bytes) else {
                return Ok(());
            };
            from_bytes = hole.range.start + 1;
            while let Some(((group, number), sequence)) = self.choose(draft, &hole, recording) {
                let Some(lacking) = self.parity.remove(group, number) else {
                    break;
                };
                if let Some(mut made) = self.from.make(&mut self.io, &lacking)? {
                    let id = (lacking.group, lacking.number, sequence);
                    // Copies are in a later recording than the data.
                    let last = draft.last().or(self.last.as_ref());
                    let of_slot = last.filter(|last| last.recording == recording);
                    if let Some(of_slot) = of_slot.filter(|_| made.newest.recording != recording) {
                        made.newest = of_slot.clone();
                    }
                    draft.add_parity(&hole, &made, id, self.last.as_ref());
                    self.made_groups.insert(lacking.group);
                    from_bytes = hole.range.start + lacking.append_bytes();
                    break;
                }
                self.tally.unprotected_groups += 1;
            }
        }
    }

    /// The group of which parity goes to the beginning of a hole, with the number of that parity,
    /// and its sequence there.
    fn choose(
        &self,
        draft: &SlotDraft,
        hole: &Hole,
        recording: u32,
    ) -> Option<((u64, usize), u64)> {
        let (before, after) = draft.sequences_at(hole.range.start);
        let before = before.or(self.last.as_ref().map(|last| last.sequence));
        let after = after.or_else(|| self.sequence_behind(draft.slot_serial));
        let kept = |sequence: u64| self.from.found.overwritten.is_kept(sequence);
        let is_front = before.is_none_or(kept);
        // Of what a ring had passed on the member itself, it had no parity any more.
        let left = self.parity.iter_from(recording, self.left_from);
        let left = left.take(CHOICES_MAX);
        let candidates = left.chain(self.parity.iter().take(CHOICES_MAX));
        // What never had any must not take the place of what had.
        let (new, lost): (Vec<_>, Vec<_>) =
            candidates.partition(|lacking| self.from.found.is_lone(lacking.group));
        lost.into_iter().chain(new).find_map(|lacking| {
            let sequence = lacking.last_sequence().max(before.unwrap_or(0)) + 1;
            let is_in_order = after.is_none_or(|after| sequence < after);
            let is_of_slot = lacking.recording == recording;
            let may_begin =
                lacking.last_sequence() >= self.passed_to || kept(lacking.last_sequence());
            let left_bytes = (hole.range.len() as u32).checked_sub(lacking.append_bytes())?;
            // At the end of a slot nothing has to follow.
            let leaves_place = left_bytes == 0 || left_bytes >= APPEND_BYTES_MIN || hole.is_last();
            let part = (lacking.group, lacking.number);
            let is_possible = is_in_order && is_of_slot && leaves_place;
            (is_possible && (!is_front || may_begin)).then_some((part, sequence))
        })
    }
}
