//! Writes what a lost member had, slot by slot in their order, from what is computed of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::append::{APPEND_BYTES_MIN, DraftAppend, appends_in, is_filler};
use super::draft::SlotDraft;
use super::known_next::KnownNext;
use super::lost_appends::LostAppends;
use super::marks::mark_of;
use super::old_members::OldMembers;
use super::parity_queue::ParityQueue;
use super::protected_slots::ProtectedSlots;
use super::replacement_writer::{OwnHead, ReplacementWriter};
use super::tally::RepairTally;
use crate::error::RecordError;
use crate::format::{AppendPlace, Descriptor, GroupEntry, Kind};
use crate::member_io::{MemberIo, ReadStretch};
use crate::opening::Recording;

/// What the member has in a slot already.
#[derive(Default)]
pub(super) struct OwnSlot {
    /// Its appends, and whether each is whole.
    pub(super) appends: Vec<(DraftAppend, bool)>,
    /// Its bytes; none if it is new.
    read: Option<ReadStretch>,
}

/// Rebuilds one member.
pub(super) struct SlotCopy<'a> {
    /// All members, and the one that is written.
    pub(super) io: MemberIo,
    pub(super) from: OldMembers<'a>,
    /// The slots that the member has, by their serials, in the order in which they were begun.
    pub(super) slots: Vec<u64>,
    pub(super) slot_bytes: u32,
    pub(super) parity: ParityQueue,
    /// By slot, the first append that the member has there already.
    pub(super) own_heads: BTreeMap<u64, OwnHead>,
    /// The sequence of the first append in the slot behind the one that is written, if it has any.
    pub(super) next_sequence: Option<u64>,
    /// What was found to come next behind the slot that is written, or one before it.
    pub(super) known_next: Option<KnownNext>,
    /// The recordings that the member may have had: others have a start of them, or groups of them
    /// lack parity. A ring may have written over all starts of what a pin keeps.
    pub(super) known_recordings: BTreeSet<u32>,
    /// The recordings that a crash has ended.
    pub(super) crashed: BTreeSet<u32>,
    /// Whether slots that the member had begun were written again since.
    pub(super) has_gone_round: bool,
    /// The ring had written over what the member had before this sequence; 0 if that is not known.
    pub(super) left_from: u64,
    /// Before this sequence rings have passed something, on this member or on others: parity of
    /// that is not put in front of all else. It would tell that the recording begins there on this
    /// member, and what of it is lost behind that would count as missing.
    pub(super) passed_to: u64,
    pub(super) protected: ProtectedSlots,
    /// The groups of which parity was made again.
    pub(super) made_groups: HashSet<u64>,
    /// The newest append that was written.
    pub(super) last: Option<Descriptor>,
    /// A recording whose end mark had no room behind its last append.
    pub(super) owed_end: Option<u32>,
    pub(super) to: &'a mut ReplacementWriter,
    pub(super) lost: LostAppends,
    pub(super) tally: RepairTally,
}

impl<'a> SlotCopy<'a> {
    pub(super) fn new(
        io: MemberIo,
        from: OldMembers<'a>,
        recordings: &[Recording],
        to: &'a mut ReplacementWriter,
    ) -> SlotCopy<'a> {
        let (mut lacking, unknown_groups) = from.lacking_parity(to.member);
        lacking.extend(from.lone_parity(to.member, &parities_of(recordings)));
        let crashed = recordings.iter().filter(|one| one.is_crashed());
        let starts = from.found.marks.iter().map(|mark| &mark.descriptor);
        let starts = starts.filter(|mark| mark.kind == Kind::Start);
        let started = starts.map(|start| start.recording);
        let lacked = lacking.iter().map(|lacking| lacking.recording);
        let known_recordings = started.chain(lacked).collect();
        SlotCopy {
            io,
            slots: Vec::new(),
            slot_bytes: to.identity.geometry.slot_bytes,
            parity: ParityQueue::new(lacking, from.found.recording_of_copies()),
            from,
            own_heads: BTreeMap::new(),
            protected: ProtectedSlots::default(),
            made_groups: HashSet::new(),
            next_sequence: None,
            known_next: None,
            known_recordings,
            crashed: crashed.map(|recording| recording.number).collect(),
            has_gone_round: false,
            left_from: 0,
            passed_to: 0,
            last: None,
            owed_end: None,
            to,
            lost: LostAppends::default(),
            tally: RepairTally {
                unknown_groups,
                ..RepairTally::default()
            },
        }
    }

    /// The slot of the end mark that was written last, if nothing lies behind it.
    pub(super) fn end_slot(&self) -> Option<u64> {
        let last = self.last.as_ref().filter(|last| last.kind == Kind::End);
        last.map(|last| last.place.slot_serial)
    }

    /// Makes durable what was written.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        self.to.flush(&mut self.io)
    }

    /// What can be computed of a slot.
    pub(super) fn draft(&mut self, slot_serial: u64) -> Result<SlotDraft, RecordError> {
        let mut draft = SlotDraft::new(self.to.identity.member, slot_serial, self.slot_bytes);
        let Some(own) = self.own_appends(slot_serial)? else {
            draft.set_kept();
            return Ok(draft);
        };
        let OwnSlot { appends: own, read } = own;
        if let Some(kept) = self.kept(slot_serial, &own) {
            return Ok(kept);
        }
        draft.set_own(read);
        // What cannot be read at once is computed append by append.
        let range = self.range_of(slot_serial);
        let read = self.from.read(&mut self.io, self.to.member, &range)?;
        let of_member = (self.to.member, &self.to.identity);
        let computed = appends_in(of_member, slot_serial, read.unwrap_or_default());
        let mut in_part = Vec::new();
        for (append, is_whole) in computed {
            let content_bytes = append.descriptor.payload_bytes + append.descriptor.marks_bytes;
            match append.descriptor.kind {
                Kind::Data if is_whole && !is_superseded_by(&append.descriptor, &own) => {
                    if self.is_left(append.descriptor.sequence) {
                        draft.add(append);
                    }
                }
                Kind::Data if !is_whole => in_part.push(append),
                Kind::Parity if content_bytes == 0 => {
                    draft.set_stand_in(append.descriptor);
                }
                Kind::Data | Kind::Start | Kind::End | Kind::Parity => {}
            }
        }
        self.add_of_groups(&mut draft, &own, &in_part)?;
        self.keep_own(&mut draft, own);
        Ok(draft)
    }

    /// Adds what groups have in a slot and is not there yet. `own` is what the member has there,
    /// and `in_part` what can be computed only in part.
    fn add_of_groups(
        &mut self,
        draft: &mut SlotDraft,
        own: &[(DraftAppend, bool)],
        in_part: &[DraftAppend],
    ) -> Result<(), RecordError> {
        let found = Arc::clone(&self.from.found);
        for (group_id, position) in found.in_slot(self.to.member, draft.slot_serial) {
            let group = found.group(group_id);
            let entry = group.map(|group| group.list.entries[position]);
            let is_wanted = |entry: &GroupEntry| {
                !draft.has(entry.place, entry.sequence)
                    && !is_entry_superseded(entry, own)
                    && self.is_left(entry.sequence)
            };
            let Some(entry) = entry.filter(is_wanted) else {
                continue;
            };
            let is_it = |(own, is_whole): &&(DraftAppend, bool)| *is_whole && is_of(own, &entry);
            if let Some((append, _)) = own.iter().find(is_it) {
                draft.add(append.clone());
                continue;
            }
            let computed = self.from.compute(&mut self.io, group_id, position)?;
            let append = computed.and_then(|bytes| {
                let (descriptor, _) = Descriptor::decode(&bytes).ok()?;
                Some(DraftAppend { descriptor, bytes })
            });
            match append {
                Some(append) => draft.add(append),
                None => {
                    // Readers have pieces of it, each by its own checksum, as of what the member
                    // has itself.
                    let is_own = own.iter().any(|(one, _)| is_of(one, &entry));
                    let mut in_part = in_part.iter().filter(|_| !is_own);
                    match in_part.find(|one| is_of(one, &entry)) {
                        Some(in_part) => draft.add(in_part.clone()),
                        None => draft.add_lost(entry.place.slot_offset_bytes, entry.append_bytes),
                    }
                    // Below that a ring has overwritten something elsewhere, too.
                    let recording = group.map_or(0, |group| group.recording);
                    if found.overwritten.leaves(recording, entry.sequence) {
                        self.lost.note(&entry, &found.overwritten);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the lost member had an append to the end, as far as its ring is concerned.
    pub(super) fn is_left(&self, sequence: u64) -> bool {
        sequence >= self.left_from
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

    /// What the member has in a slot already; none if it has written the slot again since.
    pub(super) fn own_appends(&mut self, slot_serial: u64) -> Result<Option<OwnSlot>, RecordError> {
        if !self.to.is_continued {
            return Ok(Some(OwnSlot::default()));
        }
        let identity = &self.to.identity;
        let offset_bytes = identity
            .geometry
            .offset_of(AppendPlace::of_slot(slot_serial));
        let read = self
            .to
            .read(&mut self.io, offset_bytes, self.slot_bytes as usize)?;
        let head = self.to.identity.head(&read.bytes);
        let is_newer = head.is_some_and(|head| head.place().slot_serial > slot_serial);
        let of_member = (self.to.member, &self.to.identity);
        Ok((!is_newer).then(|| OwnSlot {
            appends: appends_in(of_member, slot_serial, read.bytes.clone()),
            read: Some(read),
        }))
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
            entry.is_some_and(|entry| {
                draft.has(entry.place, entry.sequence)
                    || is_entry_superseded(&entry, own)
                    || !self.is_left(entry.sequence)
            })
        });
        let next = self.slot_behind(slot_serial);
        let next = next.and_then(|next| self.own_heads.get(&next));
        let told_last = next.and_then(|next| next.previous);
        let told_last = told_last.filter(|told| told.slot_serial == slot_serial);
        let has_last =
            told_last.is_none_or(|told| draft.last().map(|last| last.place) >= Some(told));
        let newest = found.newest_slot(self.to.member);
        let is_last = next.is_none() && newest.is_none_or(|newest| newest <= slot_serial);
        let has_room = draft.end_bytes() + APPEND_BYTES_MIN <= self.slot_bytes;
        let lacks_end = is_last && has_room && self.lacks_end(&draft);
        if !is_whole || !is_complete || !has_last || lacks_end || draft.has_holes() {
            return None;
        }
        for (append, _) in own {
            self.leave_out_group(&append.descriptor);
        }
        draft.set_kept();
        Some(draft)
    }

    /// Whether a slot behind which nothing is lacks the end mark of its recording, which went on
    /// when the slot was rebuilt.
    fn lacks_end(&self, draft: &SlotDraft) -> bool {
        draft.last().is_some_and(|last| {
            let end = mark_of(&self.from.found, last.recording, Kind::End);
            last.kind != Kind::End && end.is_some()
        })
    }

    /// Notes that the member has an append: parity of a group is not put there twice.
    fn leave_out_group(&mut self, append: &Descriptor) {
        if append.kind == Kind::Parity {
            let number = usize::from(append.parity_role).saturating_sub(1);
            self.parity.leave_out(append.parity_group, number);
        }
    }

    /// Completes a slot with marks and parity, and writes it. `next` is the slot behind it, as far
    /// as that has data.
    pub(super) fn write(
        &mut self,
        mut draft: SlotDraft,
        next: Option<&SlotDraft>,
    ) -> Result<(), RecordError> {
        if draft.is_kept() {
            self.tally.kept_bytes += u64::from(self.slot_bytes);
            if next.is_none() && self.lacks_end(&draft) {
                self.owed_end = draft.last().map(|last| last.recording);
            }
            self.pass(&draft);
            return Ok(());
        }
        self.next_sequence = next.and_then(SlotDraft::least_sequence);
        let known_next = self.known_next(draft.slot_serial, next)?;
        let named = self.named_start(&draft, next);
        let recording = draft.recording().or(named.map(|(recording, _)| recording));
        let recording = recording.or_else(|| self.turn_of(draft.slot_serial, known_next));
        // Parity of what comes next may have lain here, if the member had bytes of that before.
        let around = known_next.map(|next| next.recording);
        let around = around.filter(|next| draft.recording_around() == Some(*next));
        let recording = recording.or(around);
        self.leave_out_of_earlier(recording);
        let told_last = next.and_then(|next| next.first()?.previous);
        let told_last = told_last.filter(|told| told.slot_serial == draft.slot_serial);
        if let Some(recording) = recording {
            let named = (recording, named.map(|(_, at_bytes)| at_bytes));
            self.add_starts(&mut draft, named, known_next)?;
            self.complete(&mut draft, recording, (next, known_next))?;
        }
        draft.fill(told_last, self.last.as_ref());
        self.pass(&draft);
        let geometry = &self.to.identity.geometry;
        let offset_bytes = geometry.offset_of(AppendPlace::of_slot(draft.slot_serial));
        for (start, bytes) in draft.to_write() {
            self.to
                .write(&mut self.io, offset_bytes + u64::from(start), bytes)?;
        }
        Ok(())
    }

    /// Puts an end mark and parity of a recording into the slot that it has.
    fn complete(
        &mut self,
        draft: &mut SlotDraft,
        recording: u32,
        (next, known_next): (Option<&SlotDraft>, Option<KnownNext>),
    ) -> Result<(), RecordError> {
        let slot_serial = draft.slot_serial;
        let told_end = self.told_end(slot_serial, recording, known_next);
        let is_told_behind = told_end.is_some_and(|told| told.slot_serial > slot_serial);
        // Nothing of a recording comes behind its end mark.
        let owed_end = self.owed_end.take().filter(|owed| *owed == recording);
        if owed_end.is_some() && draft.is_empty() && told_end.is_none() {
            self.add_end_at(draft, recording, 0)?;
            return Ok(());
        }
        // If it is the end mark that is named behind, its place is kept free.
        let recording_behind = next.and_then(SlotDraft::recording);
        let is_last = recording_behind.is_some_and(|behind| behind != recording);
        let told_last = next.and_then(|next| next.first()?.previous);
        let told_last = told_last.filter(|_| is_last).or(told_end);
        if let Some(told) = told_last.filter(|told| told.slot_serial == slot_serial) {
            self.add_end_at(draft, recording, told.slot_offset_bytes)?;
        }
        let may_go_on = match recording_behind {
            Some(behind) => behind == recording,
            None if next.is_none() && self.free_slot_behind(slot_serial)?.is_none() => false,
            None => self.may_have(slot_serial + 1, recording, known_next),
        };
        let has_end = |draft: &SlotDraft| draft.last().is_some_and(|last| last.kind == Kind::End);
        if !may_go_on && !has_end(draft) {
            draft.keep_free(self.end_mark_bytes(recording));
        }
        self.add_damaged_parity(draft)?;
        self.add_parities(draft, recording)?;
        draft.keep_free(0);
        let is_between = known_next.is_some_and(|next| next.recording == recording);
        let is_over = !may_go_on || !is_between && self.parity.bytes_of(recording) == 0;
        let end_bytes = draft.end_bytes();
        if is_over
            && !is_told_behind
            && (!draft.is_empty() || self.is_open(recording))
            && !has_end(draft)
            && !self.add_end_at(draft, recording, end_bytes)?
        {
            self.owed_end = Some(recording).filter(|_| may_go_on);
        }
        Ok(())
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
            self.protected.note(append, &self.from.found);
            let overwritten = &self.from.found.overwritten;
            self.lost.pass(&append.descriptor, overwritten);
        }
        self.last = draft.last().cloned().or(self.last.take());
    }
}

/// Whether an append is the one that a list names, by its place, its sequence and its descriptor.
fn is_of(append: &DraftAppend, entry: &GroupEntry) -> bool {
    let descriptor = &append.descriptor;
    (descriptor.place, descriptor.sequence) == (entry.place, entry.sequence)
        && Descriptor::checksum_in(&append.bytes) == entry.descriptor_crc
}

/// How many appends of parity each recording was to have for a group. A ring goes round over what
/// has none, and needs its slots.
fn parities_of(recordings: &[Recording]) -> BTreeMap<u32, u16> {
    let filled = recordings.iter().filter(|recording| !recording.ring);
    let of_streams = filled.filter(|recording| recording.has_streams());
    let parities = of_streams.filter_map(|one| Some((one.number, one.parities?)));
    parities.filter(|(_, parities)| *parities > 0).collect()
}

/// Whether a later append that the member has whole lies where one of data does that was computed,
/// or before it: a power cut had taken that one, and a later recording began there.
fn is_superseded(
    (place, append_bytes, sequence): (AppendPlace, u32, u64),
    own: &[(DraftAppend, bool)],
) -> bool {
    let end_bytes = place.slot_offset_bytes.saturating_add(append_bytes);
    own.iter().any(|(append, is_whole)| {
        let later = &append.descriptor;
        *is_whole
            && later.place.slot_serial == place.slot_serial
            && later.sequence > sequence
            && later.place.slot_offset_bytes < end_bytes
    })
}

fn is_superseded_by(computed: &Descriptor, own: &[(DraftAppend, bool)]) -> bool {
    is_superseded(
        (computed.place, computed.append_bytes, computed.sequence),
        own,
    )
}

fn is_entry_superseded(entry: &GroupEntry, own: &[(DraftAppend, bool)]) -> bool {
    is_superseded((entry.place, entry.append_bytes, entry.sequence), own)
}
