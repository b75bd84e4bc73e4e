//! Writes what a lost member had, slot by slot in their order, from what is computed of it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::append::{DraftAppend, appends_in, is_filler};
use super::draft::{APPEND_BYTES_MIN, Hole, SlotDraft};
use super::marks::{end_note, mark_of, sequence_of, start_note};
use super::old_members::OldMembers;
use super::parity_queue::ParityQueue;
use super::protected_slots::ProtectedSlots;
use super::replacement_writer::{OwnHead, ReplacementWriter};
use super::tally::RepairTally;
use crate::error::RecordError;
use crate::format::{AppendPlace, Descriptor, Kind};

/// Of so many appends of parity that come next, the first that fits is taken.
const CHOICES_MAX: usize = 64;

/// Rebuilds one member.
pub(super) struct SlotCopy<'a> {
    from: OldMembers<'a>,
    slot_bytes: u32,
    parity: ParityQueue,
    /// By slot, the first append that the member has there already.
    own_heads: BTreeMap<u64, OwnHead>,
    /// The sequence of the first append in the slot behind the one that is written, if it has any.
    next_sequence: Option<u64>,
    protected: ProtectedSlots,
    /// The groups of which parity was made again.
    made_groups: HashSet<u64>,
    /// The newest append that was written.
    last: Option<Descriptor>,
    /// A recording whose end mark had no room behind its last append.
    owed_end: Option<u32>,
    to: &'a mut ReplacementWriter,
    pub(super) tally: RepairTally,
}

impl<'a> SlotCopy<'a> {
    pub(super) fn new(from: OldMembers<'a>, to: &'a mut ReplacementWriter) -> SlotCopy<'a> {
        SlotCopy {
            slot_bytes: to.identity.geometry.slot_bytes,
            parity: ParityQueue::new(from.lacking_parity(to.member)),
            from,
            own_heads: BTreeMap::new(),
            protected: ProtectedSlots::default(),
            made_groups: HashSet::new(),
            next_sequence: None,
            last: None,
            owed_end: None,
            to,
            tally: RepairTally::default(),
        }
    }

    /// The slot of the end mark that was written last, if nothing lies behind it.
    pub(super) fn end_slot(&self) -> Option<u64> {
        let last = self.last.as_ref().filter(|last| last.kind == Kind::End);
        last.map(|last| last.place.slot_serial)
    }

    /// Writes all slots, and returns the serial behind the last one. `observer` is told how many
    /// slots are written, and of how many; where it returns false, it ends.
    pub(super) fn run(
        &mut self,
        observer: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Option<u64>, RecordError> {
        let slot_count = self.to.identity.geometry.slot_count;
        let newest = self.from.found.newest_slot(self.to.member);
        let behind = newest.map_or(0, |newest| newest + 1);
        let behind = self.to.behind_own(behind.max(self.to.slots_begun))?;
        let first = behind.saturating_sub(slot_count);
        self.own_heads = self.to.heads(first..behind)?;
        let mut next = None;
        for slot_serial in first..behind {
            if !observer(slot_serial - first, behind - first) {
                return Ok(None);
            }
            let draft = match next.take() {
                Some(draft) => draft,
                None => self.draft(slot_serial)?,
            };
            if slot_serial + 1 < behind {
                next = Some(self.draft(slot_serial + 1)?);
            }
            self.write(draft, next.as_ref())?;
        }
        // What is left of the parity goes behind it, where nothing of an earlier lap lies.
        let mut behind = behind;
        while self.has_room(behind) && (!self.parity.is_empty() || self.owed_end.is_some()) {
            let all = slot_count.max(behind - first + 1);
            if !observer(behind - first, all) {
                return Ok(None);
            }
            let before = self.last.as_ref().map(|last| last.sequence);
            let draft = self.draft(behind)?;
            self.write(draft, None)?;
            if self.last.as_ref().map(|last| last.sequence) == before {
                break;
            }
            behind += 1;
        }
        self.tally.unprotected_groups += self.parity.len() as u64;
        Ok(Some(behind))
    }

    /// Whether a slot behind all that is known may be written: nothing that a ring has left whole
    /// lies there.
    fn has_room(&self, slot_serial: u64) -> bool {
        let found = &self.from.found;
        let Some(lap_before) = slot_serial.checked_sub(self.to.identity.geometry.slot_count) else {
            return true;
        };
        let last = found.in_slot(self.to.member, lap_before).last();
        let entry = last.and_then(|(id, position)| Some(found.group(id)?.list.entries[position]));
        let protected = self.protected.newest_in(lap_before);
        let newest = entry.map(|entry| entry.sequence).max(protected);
        newest.is_none_or(|newest| newest < found.whole_from_sequence)
            && found.whole_from_sequence > 0
    }

    /// What can be computed of a slot.
    fn draft(&mut self, slot_serial: u64) -> Result<SlotDraft, RecordError> {
        let mut draft = SlotDraft::new(self.to.identity.member, slot_serial, self.slot_bytes);
        let own = match self.own_appends(slot_serial)? {
            Some(own) => own,
            None => {
                draft.set_kept();
                return Ok(draft);
            }
        };
        if let Some(kept) = self.kept(slot_serial, &own) {
            return Ok(kept);
        }
        let offset_bytes = self.to.identity.geometry.offset_of(slot_start(slot_serial));
        let length_bytes = self.slot_bytes as usize;
        // What cannot be read at once is computed append by append.
        let read = self.from.read(self.to.member, offset_bytes, length_bytes)?;
        for (append, is_whole) in appends_in(
            (self.to.member, &self.to.identity),
            slot_serial,
            read.unwrap_or_default(),
        ) {
            match append.descriptor.kind {
                Kind::Data if is_whole => draft.add(append),
                Kind::Parity if append.descriptor.payload_bytes == 0 => {
                    draft.set_stand_in(append.descriptor);
                }
                Kind::Data | Kind::Start | Kind::End | Kind::Parity => {}
            }
        }
        let found = Arc::clone(&self.from.found);
        for (group_id, position) in found.in_slot(self.to.member, slot_serial) {
            let group = found.group(group_id);
            let entry = group.map(|group| group.list.entries[position]);
            let Some(entry) = entry.filter(|entry| !draft.has(entry.place, entry.sequence)) else {
                continue;
            };
            let is_it = |(append, is_whole): &&(DraftAppend, bool)| {
                let descriptor = &append.descriptor;
                *is_whole
                    && (descriptor.place, descriptor.sequence) == (entry.place, entry.sequence)
            };
            if let Some((append, _)) = own.iter().find(is_it) {
                draft.add(append.clone());
                continue;
            }
            let computed = self.from.compute(group_id, position)?;
            let append = computed.and_then(|bytes| {
                let (descriptor, _) = Descriptor::decode(&bytes).ok()?;
                Some(DraftAppend { descriptor, bytes })
            });
            match append {
                Some(append) => draft.add(append),
                None => {
                    draft.add_lost(entry.place.slot_offset_bytes, entry.append_bytes);
                    // Below that a ring has overwritten something elsewhere, too.
                    if entry.sequence >= found.whole_from_sequence {
                        self.tally.lost_appends += 1;
                        self.tally.lost_bytes += u64::from(entry.append_bytes);
                    }
                }
            }
        }
        self.keep_own(&mut draft, own);
        Ok(draft)
    }

    /// Keeps whatever else the member has in a slot. Pieces of damaged data may still be read.
    fn keep_own(&mut self, draft: &mut SlotDraft, own: Vec<(DraftAppend, bool)>) {
        for (append, is_whole) in own {
            let is_data = append.descriptor.kind == Kind::Data;
            let is_filler = is_filler(&append.descriptor);
            if append.descriptor.kind == Kind::Parity && !is_filler && !is_whole {
                draft.add_damaged_parity(append);
                continue;
            }
            if is_data || is_whole && !is_filler && self.from.fits(&append) {
                let descriptor = append.descriptor.clone();
                draft.add(append);
                if draft.has(descriptor.place, descriptor.sequence) {
                    self.leave_out_group(&descriptor);
                }
            }
        }
    }

    /// The appends that the member has in a slot already, and whether each is whole; none if it has
    /// written the slot again since.
    fn own_appends(
        &mut self,
        slot_serial: u64,
    ) -> Result<Option<Vec<(DraftAppend, bool)>>, RecordError> {
        if !self.to.is_continued {
            return Ok(Some(Vec::new()));
        }
        let identity = &self.to.identity;
        let offset_bytes = identity.geometry.offset_of(slot_start(slot_serial));
        let bytes = self.to.read(offset_bytes, self.slot_bytes as usize)?;
        let head = self.to.identity.head(&bytes);
        let is_newer = head.is_some_and(|head| head.place().slot_serial > slot_serial);
        Ok(
            (!is_newer)
                .then(|| appends_in((self.to.member, &self.to.identity), slot_serial, bytes)),
        )
    }

    /// A slot as the member has it, if that is whole and all that can be computed of it is there.
    fn kept(&mut self, slot_serial: u64, own: &[(DraftAppend, bool)]) -> Option<SlotDraft> {
        let is_whole =
            |(append, is_whole): &(DraftAppend, bool)| *is_whole && self.from.fits(append);
        let is_whole = !own.is_empty() && own.iter().all(is_whole);
        let mut draft = SlotDraft::new(self.to.identity.member, slot_serial, self.slot_bytes);
        for (append, _) in own {
            draft.add(append.clone());
        }
        let found = Arc::clone(&self.from.found);
        let mut wanted = found.in_slot(self.to.member, slot_serial);
        let is_complete = wanted.all(|(group, position)| {
            let group = found.group(group);
            let entry = group.map(|group| group.list.entries[position]);
            entry.is_some_and(|entry| draft.has(entry.place, entry.sequence))
        });
        let next = self.own_heads.get(&(slot_serial + 1));
        let told_last = next.and_then(|next| next.previous);
        let told_last = told_last.filter(|told| told.slot_serial == slot_serial);
        let has_last =
            told_last.is_none_or(|told| draft.last().map(|last| last.place) >= Some(told));
        if !is_whole || !is_complete || !has_last || draft.has_holes() {
            return None;
        }
        for (append, _) in own {
            self.leave_out_group(&append.descriptor);
        }
        draft.set_kept();
        Some(draft)
    }

    /// Notes that the member has an append: parity of a group is not put there twice.
    fn leave_out_group(&mut self, append: &Descriptor) {
        if append.kind == Kind::Parity {
            self.parity.remove(append.parity_group);
        }
    }

    /// Completes a slot with marks and parity, and writes it. `next` is the slot behind it, as far
    /// as that has data.
    fn write(&mut self, mut draft: SlotDraft, next: Option<&SlotDraft>) -> Result<(), RecordError> {
        if draft.is_kept() {
            self.tally.kept_bytes += u64::from(self.slot_bytes);
            self.pass(&draft);
            return Ok(());
        }
        self.next_sequence = next.and_then(|next| Some(next.first()?.sequence));
        self.leave_out_of_earlier(draft.recording());
        self.add_starts(&mut draft)?;
        let told_last = next.and_then(|next| next.first()?.previous);
        let told_last = told_last.filter(|told| told.slot_serial == draft.slot_serial);
        let recording_behind = next.and_then(SlotDraft::recording);
        // If it is the end mark that the next slot names, its place is kept free.
        let going_on = self.last.as_ref().map(|last| last.recording);
        if let (Some(recording), Some(behind), Some(told)) =
            (draft.recording().or(going_on), recording_behind, told_last)
            && recording != behind
        {
            self.add_end_at(&mut draft, recording, told.slot_offset_bytes)?;
        }
        self.add_damaged_parity(&mut draft)?;
        self.add_parities(&mut draft)?;
        let owed_end = self.owed_end.take();
        let last = self.last.as_ref().map(|last| last.recording);
        if let Some(recording) = owed_end.filter(|owed| draft.is_empty() && last == Some(*owed)) {
            self.add_end_at(&mut draft, recording, 0)?;
        }
        let in_parity = self.parity.recording();
        let end_bytes = draft.end_bytes();
        if let Some(recording) = draft.recording()
            && recording_behind.or(in_parity) != Some(recording)
            && draft.last().is_some_and(|last| last.kind != Kind::End)
            && !self.add_end_at(&mut draft, recording, end_bytes)?
        {
            self.owed_end = Some(recording);
        }
        draft.fill(told_last, self.last.as_ref());
        self.pass(&draft);
        let geometry = &self.to.identity.geometry;
        let offset_bytes = geometry.offset_of(slot_start(draft.slot_serial));
        match draft.bytes() {
            Some(bytes) => self.to.write(offset_bytes, &bytes),
            // What is damaged there must not be taken for something.
            None if self.to.is_continued => {
                let zeros = vec![0; self.slot_bytes as usize];
                self.to.write(offset_bytes, &zeros)
            }
            None => Ok(()),
        }
    }

    /// Leaves out parity of recordings that the member has come past: all that it has of one lies
    /// together.
    fn leave_out_of_earlier(&mut self, recording: Option<u32>) {
        let last = self.last.as_ref().map(|last| last.recording);
        let Some(least) = last.max(recording) else {
            return;
        };
        self.tally.unprotected_groups += self.parity.leave_out_before(least);
    }

    /// Goes on behind a slot that is on the member.
    fn pass(&mut self, draft: &SlotDraft) {
        for append in draft.appends() {
            self.tally.count(&append.descriptor);
            self.protected.note(&append.descriptor, &self.from.found);
        }
        self.last = draft.last().cloned().or(self.last.take());
    }

    /// The sequence of what comes first behind a slot, as far as that is known.
    fn sequence_behind(&self, slot_serial: u64) -> Option<u64> {
        let in_groups = self.from.found.sequence_behind(self.to.member, slot_serial);
        let mut own = self.own_heads.range(slot_serial + 1..);
        let own = own.next().map(|(_, head)| head.sequence);
        in_groups
            .into_iter()
            .chain(own)
            .chain(self.next_sequence)
            .min()
    }

    /// Puts starts where appends say that they lay. In a slot behind all that is known, one begins
    /// a recording of which only parity is left.
    fn add_starts(&mut self, draft: &mut SlotDraft) -> Result<(), RecordError> {
        let mut starts = draft.starts();
        let mut recording = draft.recording();
        if recording.is_none() && self.owed_end.is_none() {
            let last = self.last.as_ref();
            let first = self.parity.recording();
            recording = first.filter(|first| draft.may_be_of(*first, last));
            let is_new = recording > last.map(|last| last.recording);
            starts.extend(is_new.then_some(0));
        }
        let Some(recording) = recording else {
            return Ok(());
        };
        for at_bytes in starts {
            let found = Arc::clone(&self.from.found);
            let Some(mark) = mark_of(&found, recording, Kind::Start) else {
                continue;
            };
            let (before, after) = draft.sequences_at(at_bytes);
            let before = before.or(self.last.as_ref().map(|last| last.sequence));
            let after = after.or_else(|| self.sequence_behind(draft.slot_serial));
            let Some(sequence) = sequence_of(&mark.descriptor, before, after) else {
                continue;
            };
            let note = self.from.payload_of(mark)?;
            let note = note.and_then(|note| start_note(&note, self.last.as_ref()));
            if let Some(note) = note {
                let with_note = (&mark.descriptor, &note[..]);
                draft.add_mark((at_bytes, sequence), with_note, self.last.as_ref());
            }
        }
        Ok(())
    }

    /// Puts an end mark at an offset behind all else in a slot, if there is room and another member
    /// has one of the recording. Returns whether it is not owed any more.
    fn add_end_at(
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
        let Some(note) = self.from.payload_of(mark)?.and_then(|note| end_note(&note)) else {
            return Ok(true);
        };
        let with_note = (&mark.descriptor, &note[..]);
        let is_behind = at_bytes >= draft.end_bytes();
        Ok(is_behind && draft.add_mark((at_bytes, sequence), with_note, self.last.as_ref()))
    }

    /// Makes damaged parity of a slot again in its place, before parity of other groups takes that.
    /// What cannot be made is put back: the rest of it may still protect something.
    fn add_damaged_parity(&mut self, draft: &mut SlotDraft) -> Result<(), RecordError> {
        for damaged in draft.take_damaged_parity() {
            let (group, place) = (damaged.descriptor.parity_group, damaged.descriptor.place);
            let number = usize::from(damaged.descriptor.parity_role).saturating_sub(1);
            let Some(lacking) = self.parity.get(group).cloned() else {
                let found = self.from.found.group(group);
                let is_elsewhere = found.is_some_and(|group| group.has_parity(number));
                if !is_elsewhere && !self.made_groups.contains(&group) {
                    draft.add(damaged);
                }
                continue;
            };
            match self.from.make(&lacking)? {
                Some(made) => {
                    let sequence = damaged.descriptor.sequence;
                    let hole = Hole::of(&damaged);
                    let id = (group, lacking.number, sequence);
                    draft.add_parity(&hole, &made, id, self.last.as_ref());
                    if draft.has(place, sequence) {
                        self.parity.remove(group);
                        self.made_groups.insert(group);
                    }
                }
                None => draft.add(damaged),
            }
        }
        Ok(())
    }

    /// Puts parity that groups lack into the holes of a slot, in the order of sequences.
    fn add_parities(&mut self, draft: &mut SlotDraft) -> Result<(), RecordError> {
        let mut from_bytes = 0;
        loop {
            let mut holes = draft.holes().into_iter();
            let Some(hole) = holes.find(|hole| hole.range.start >= from_bytes) else {
                return Ok(());
            };
            from_bytes = hole.range.start + 1;
            while let Some((group, sequence)) = self.choose(draft, &hole) {
                let Some(lacking) = self.parity.remove(group) else {
                    break;
                };
                if let Some(made) = self.from.make(&lacking)? {
                    let id = (lacking.group, lacking.number, sequence);
                    draft.add_parity(&hole, &made, id, self.last.as_ref());
                    self.made_groups.insert(lacking.group);
                    from_bytes = hole.range.start + lacking.append_bytes();
                    break;
                }
                self.tally.unprotected_groups += 1;
            }
        }
    }

    /// The group of which parity goes to the beginning of a hole, and its sequence there.
    fn choose(&self, draft: &SlotDraft, hole: &Hole) -> Option<(u64, u64)> {
        let (before, after) = draft.sequences_at(hole.range.start);
        let before = before.or(self.last.as_ref().map(|last| last.sequence));
        let after = after.or_else(|| self.sequence_behind(draft.slot_serial));
        let mut candidates = self.parity.iter().take(CHOICES_MAX);
        candidates.find_map(|lacking| {
            let sequence = lacking.last_sequence().max(before.unwrap_or(0)) + 1;
            let is_in_order = after.is_none_or(|after| sequence < after);
            let is_of_slot = draft.may_be_of(lacking.recording, self.last.as_ref());
            let left_bytes = (hole.range.len() as u32).checked_sub(lacking.append_bytes())?;
            // At the end of a slot nothing has to follow.
            let leaves_place = left_bytes == 0 || left_bytes >= APPEND_BYTES_MIN || hole.is_last();
            (is_in_order && is_of_slot && leaves_place).then_some((lacking.group, sequence))
        })
    }
}

fn slot_start(slot_serial: u64) -> AppendPlace {
    AppendPlace {
        slot_serial,
        slot_offset_bytes: 0,
    }
}
