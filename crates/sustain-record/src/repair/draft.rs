//! A slot as it is to be written: the appends that it is given back, parity that groups lack in the
//! places between them, and something that counts as an append in what is left. So a walk through
//! it finds no hole where nothing is lost. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use uuid::Uuid;

use super::append::{
    APPEND_BYTES_MIN, Beside, DraftAppend, begins_with, end_of, has_bytes_between, start_of,
};
use super::hole::{Hole, fillers};
use super::marks::begins_recording;
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, Kind, Position, SEAL_BYTES, encode_append,
};
use crate::member_io::ReadStretch;
use crate::rebuilt::MadeParity;

/// A slot that is being put together.
#[derive(Debug)]
pub(super) struct SlotDraft {
    member: Uuid,
    pub(super) slot_serial: u64,
    slot_bytes: u32,
    /// In the order of their places, apart from each other.
    appends: Vec<DraftAppend>,
    /// Where appends lay that cannot be computed. Nothing may take their place, so that it shows.
    lost: Vec<Range<u32>>,
    /// Damaged parity that the member has.
    damaged_parity: Vec<DraftAppend>,
    /// What stands at the beginning if nothing else does.
    stand_in: Option<Descriptor>,
    /// Whether the member has it like this already.
    is_kept: bool,
    /// What the member has there; none if it is new.
    own: Option<ReadStretch>,
    /// So much is kept free at its end.
    free_bytes: u32,
}

impl SlotDraft {
    /// A slot of a member with this UUID.
    pub(super) fn new(member: Uuid, slot_serial: u64, slot_bytes: u32) -> SlotDraft {
        SlotDraft {
            member,
            slot_serial,
            slot_bytes,
            appends: Vec::new(),
            lost: Vec::new(),
            damaged_parity: Vec::new(),
            stand_in: None,
            is_kept: false,
            own: None,
            free_bytes: 0,
        }
    }

    /// Notes what the member has there.
    pub(super) fn set_own(&mut self, own: Option<ReadStretch>) {
        self.own = own;
    }

    /// Adds an append, where nothing is in its way and sequences still grow with places.
    pub(super) fn add(&mut self, append: DraftAppend) {
        let start = start_of(&append);
        let index = self.index_of(start);
        let sequence = append.descriptor.sequence;
        let (before, after) = self.sequences_at(start);
        let is_in_order = before.is_none_or(|before| before < sequence)
            && after.is_none_or(|after| sequence < after);
        let is_free = self.appends[..index]
            .last()
            .is_none_or(|before| end_of(before) <= start)
            && self
                .appends
                .get(index)
                .is_none_or(|after| end_of(&append) <= start_of(after));
        if is_free && is_in_order && end_of(&append) <= self.slot_bytes {
            self.appends.insert(index, append);
        }
    }

    /// Notes what stands at the beginning if nothing else does.
    pub(super) fn set_stand_in(&mut self, stand_in: Descriptor) {
        self.stand_in = Some(stand_in);
    }

    /// Notes parity that the member has and that is damaged.
    pub(super) fn add_damaged_parity(&mut self, parity: DraftAppend) {
        self.damaged_parity.push(parity);
    }

    /// Returns that parity, which may go back where it lay.
    pub(super) fn take_damaged_parity(&mut self) -> Vec<DraftAppend> {
        std::mem::take(&mut self.damaged_parity)
    }

    /// Notes that the member has it like this already.
    pub(super) fn set_kept(&mut self) {
        self.is_kept = true;
    }

    /// Keeps so much free at the end of the slot, as long as holes are filled.
    pub(super) fn keep_free(&mut self, free_bytes: u32) {
        self.free_bytes = free_bytes;
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    pub(super) fn appends(&self) -> impl Iterator<Item = &DraftAppend> {
        self.appends.iter()
    }

    /// Notes that an append cannot be computed.
    pub(super) fn add_lost(&mut self, start: u32, append_bytes: u32) {
        self.lost.push(start..start.saturating_add(append_bytes));
    }

    pub(super) fn has(&self, place: AppendPlace, sequence: u64) -> bool {
        self.appends.iter().any(|append| {
            append.descriptor.place == place && append.descriptor.sequence == sequence
        })
    }

    /// The least sequence of what has its place here, damaged parity included.
    pub(super) fn least_sequence(&self) -> Option<u64> {
        let all = self.appends.iter().chain(&self.damaged_parity);
        all.map(|append| append.descriptor.sequence).min()
    }

    pub(super) fn first(&self) -> Option<&Descriptor> {
        self.appends.first().map(|append| &append.descriptor)
    }

    pub(super) fn last(&self) -> Option<&Descriptor> {
        self.appends.last().map(|append| &append.descriptor)
    }

    /// The stretches that may be filled, in their order: those that had no bytes of a stream.
    pub(super) fn holes(&self) -> Vec<Hole> {
        let ends = [0].into_iter().chain(self.appends.iter().map(end_of));
        let starts = self.appends.iter().map(start_of);
        let end_bytes = self.slot_bytes.saturating_sub(self.free_bytes);
        let holes = ends
            .zip(starts.chain([end_bytes]))
            .enumerate()
            .map(|(after, (start, end))| Hole {
                range: start..end,
                after: (after < self.appends.len()).then_some(after),
            });
        holes.filter(|hole| self.may_be_filled(hole)).collect()
    }

    fn may_be_filled(&self, hole: &Hole) -> bool {
        let overlaps =
            |lost: &Range<u32>| lost.start < hole.range.end && hole.range.start < lost.end;
        let is_long = hole.range.len() >= APPEND_BYTES_MIN as usize;
        let lost_bytes = self
            .around(hole)
            .is_some_and(|(before, after)| has_bytes_between(before, after));
        // Nothing of a recording comes behind its end mark.
        let mut before = self.appends.iter().rev();
        let before = before.find(|append| end_of(append) <= hole.range.start);
        let is_behind_end = before.is_some_and(|append| append.descriptor.kind == Kind::End);
        is_long && !is_behind_end && !self.lost.iter().any(overlaps) && !lost_bytes
    }

    /// The appends before and behind a hole, if both are in the slot.
    fn around(&self, hole: &Hole) -> Option<(&Descriptor, &Descriptor)> {
        let after = hole.after?;
        let before = self.appends.get(after.checked_sub(1)?)?;
        Some((&before.descriptor, &self.appends[after].descriptor))
    }

    /// The first append of the slot, or what stands in for it, if that tells of which recording
    /// the slot is.
    pub(super) fn known(&self) -> Option<&Descriptor> {
        // If its recording began farther on, the slot is of another one.
        let stand_in = self.stand_in.as_ref().filter(|one| one.start.is_some());
        self.first().or(stand_in)
    }

    /// The number of the recording that the slot is of, if that is known.
    pub(super) fn recording(&self) -> Option<u32> {
        self.known().map(|known| known.recording)
    }

    /// The recording of what comes next, if the member had bytes of it before that.
    pub(super) fn recording_around(&self) -> Option<u32> {
        let stand_in = self.stand_in.as_ref();
        let around = stand_in.filter(|one| one.start.is_some() || !begins_with(one));
        around.map(|one| one.recording)
    }

    /// Whether it has nothing but what stands in at its beginning.
    pub(super) fn is_empty(&self) -> bool {
        self.appends.is_empty()
    }

    /// Where a start lay in this slot, as appends behind it tell.
    pub(super) fn starts(&self) -> BTreeSet<u32> {
        let appends = self.appends.iter().map(|append| &append.descriptor);
        let starts = appends.chain(&self.stand_in).filter_map(|one| one.start);
        let starts = starts.filter(|start| start.slot_serial == self.slot_serial);
        starts.map(|start| start.slot_offset_bytes).collect()
    }

    /// Whether something is missing before the last append.
    pub(super) fn has_holes(&self) -> bool {
        let ends = [0].into_iter().chain(self.appends.iter().map(end_of));
        let mut starts = ends.zip(self.appends.iter().map(start_of));
        starts.any(|(end, start)| end != start)
    }

    /// The end of the last append.
    pub(super) fn end_bytes(&self) -> u32 {
        self.appends.last().map_or(0, end_of)
    }

    /// The sequences of the appends before and behind an offset in the slot.
    pub(super) fn sequences_at(&self, slot_offset_bytes: u32) -> (Option<u64>, Option<u64>) {
        let index = self.index_of(slot_offset_bytes);
        let sequence = |append: &DraftAppend| append.descriptor.sequence;
        let before = index
            .checked_sub(1)
            .map(|before| sequence(&self.appends[before]));
        (before, self.appends.get(index).map(sequence))
    }

    /// The appends before and behind a place, if they are of this recording. `last` is the newest
    /// append before the slot.
    fn beside<'a>(
        &'a self,
        slot_offset_bytes: u32,
        recording_id: Uuid,
        last: Option<&'a Descriptor>,
    ) -> Beside<'a> {
        let index = self.index_of(slot_offset_bytes);
        let before = index.checked_sub(1).map(|before| &self.appends[before]);
        let previous = before.map(|before| &before.descriptor).or(last);
        let after = self.appends.get(index).map(|after| &after.descriptor);
        let is_same = |one: &&Descriptor| one.recording_id == recording_id;
        Beside {
            member: self.member,
            previous,
            before: previous.filter(is_same),
            after: after.filter(is_same),
        }
    }

    fn index_of(&self, slot_offset_bytes: u32) -> usize {
        let starts = |append: &DraftAppend| start_of(append) < slot_offset_bytes;
        self.appends.partition_point(starts)
    }

    /// Puts parity at the beginning of a hole. `last` is the newest append before the slot.
    pub(super) fn add_parity(
        &mut self,
        hole: &Hole,
        made: &MadeParity,
        (group, number, sequence): (u64, usize, u64),
        last: Option<&Descriptor>,
    ) {
        let place = self.place(hole.range.start);
        let beside = self.beside(hole.range.start, made.newest.recording_id, last);
        // Nothing may take back how far the streams had come.
        let is_newer = |before: &&Descriptor| before.sequence > made.newest.sequence;
        let base = beside.before.filter(is_newer).unwrap_or(&made.newest);
        let start = beside.before.or(beside.after).and_then(|one| one.start);
        let descriptor = Descriptor {
            kind: Kind::Parity,
            parity_group: group,
            parity_role: number as u16 + 1,
            start: start.filter(|start| *start <= place),
            ..beside.without_bytes(base, place, sequence)
        };
        let marks = made.list.encode();
        self.add(DraftAppend::of(descriptor, &made.sum, &marks));
    }

    /// Puts a start or an end mark with this note at an offset of the slot. `base` is the one of
    /// another member. Returns whether there was room.
    pub(super) fn add_mark(
        &mut self,
        (slot_offset_bytes, sequence): (u32, u64),
        (base, note): (&Descriptor, &[u8]),
        last: Option<&Descriptor>,
    ) -> bool {
        let place = self.place(slot_offset_bytes);
        let beside = self.beside(slot_offset_bytes, base.recording_id, last);
        let at_first;
        let own = match (base.kind, beside.before) {
            // A repeated start tells how far all had come by then.
            (Kind::Start, Some(before)) => before,
            (Kind::Start, None) if !begins_recording(base) => {
                let stand_in = self.stand_in.as_ref();
                let after = beside
                    .after
                    .or(stand_in.filter(|one| one.start == Some(place)));
                let Some(after) = after.filter(|after| begins_with(after)) else {
                    return false;
                };
                at_first = Descriptor {
                    positions: vec![Position::default(); after.positions.len()],
                    ..base.clone()
                };
                &at_first
            }
            _ => base,
        };
        let start = match base.kind {
            Kind::Start => Some(place),
            Kind::Data | Kind::End | Kind::Parity => beside.before.and_then(|one| one.start),
        };
        let descriptor = Descriptor {
            kind: base.kind,
            parity_group: 0,
            parity_role: 0,
            start,
            ..beside.without_bytes(own, place, sequence)
        };
        let before = self.appends.len();
        self.add(DraftAppend::of(descriptor, note, &[]));
        self.appends.len() > before
    }

    /// Fills what is left. `told_last` is where the last append lies, as the next slot says.
    /// `last` is the newest append before the slot.
    pub(super) fn fill(&mut self, told_last: Option<AppendPlace>, last: Option<&Descriptor>) {
        let is_empty_at_start = self.appends.first().is_none_or(|first| start_of(first) > 0);
        if let Some(stand_in) = self.stand_in.take().filter(|_| is_empty_at_start) {
            self.begin(stand_in, last);
        }
        for hole in self.holes().into_iter().rev() {
            let named = match hole.after {
                Some(after) => self.appends[after].descriptor.previous,
                // Nothing of a recording lies behind its end mark.
                None if self.last().is_some_and(|last| last.kind == Kind::End) => None,
                None => told_last,
            };
            let named = named.filter(|named| named.slot_serial == self.slot_serial);
            let named = named.map(|named| named.slot_offset_bytes);
            for range in fillers(&hole, named) {
                let before = self.index_of(range.start).checked_sub(1);
                if let Some(before) = before.map(|before| self.appends[before].descriptor.clone()) {
                    self.add_filler(range, &before);
                }
            }
        }
    }

    /// Puts something at the beginning, so that bisection over the slots finds its way: it goes on
    /// with the recording before where that may have had the slot.
    fn begin(&mut self, stand_in: Descriptor, last: Option<&Descriptor>) {
        let goes_on = last.filter(|last| {
            let is_same = last.recording_id == stand_in.recording_id;
            last.kind != Kind::End && (is_same || stand_in.start.is_none())
        });
        if let Some(last) = goes_on {
            self.add_filler(0..APPEND_BYTES_MIN, last);
        }
        let is_begun = self
            .appends
            .first()
            .is_some_and(|first| start_of(first) == 0);
        let is_of_other = goes_on.is_some_and(|last| last.recording_id != stand_in.recording_id);
        if is_begun || is_of_other {
            return;
        }
        // Where the recording had put bytes on the member before, all that lies between is of it:
        // else it would be lost behind many slots in which nothing is.
        if stand_in.start.is_some() || !begins_with(&stand_in) {
            self.add(DraftAppend {
                bytes: encode_append(&stand_in, &[], &[]),
                descriptor: stand_in,
            });
        }
    }

    /// Puts something in a stretch that counts as an append, and has nothing of its own, behind
    /// this append.
    fn add_filler(&mut self, range: Range<u32>, before: &Descriptor) {
        let place = self.place(range.start);
        let index = self.index_of(range.start);
        let sequence = before.sequence.saturating_add(1);
        let mut behind = self.appends[index..].iter();
        if behind.any(|after| after.descriptor.sequence <= sequence) {
            return;
        }
        let beside = Beside {
            member: self.member,
            previous: Some(before),
            before: Some(before),
            after: None,
        };
        let descriptor = Descriptor {
            kind: Kind::Parity,
            parity_group: 0,
            parity_role: 1,
            start: before.start,
            ..beside.without_bytes(before, place, sequence)
        };
        let payload_bytes = range.len() - BLOCK_BYTES - SEAL_BYTES;
        self.add(DraftAppend::of(descriptor, &vec![0; payload_bytes], &[]));
    }

    fn place(&self, slot_offset_bytes: u32) -> AppendPlace {
        AppendPlace {
            slot_serial: self.slot_serial,
            slot_offset_bytes,
        }
    }

    /// The bytes of the slot, with zeros where nothing is.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.slot_bytes as usize];
        for append in &self.appends {
            let start = start_of(append) as usize;
            bytes[start..start + append.bytes.len()].copy_from_slice(&append.bytes);
        }
        bytes
    }

    /// What is to be written of it, and where in the slot. Where the member has the right bytes
    /// nothing is written, so that nothing whole is at risk. What cannot be read there may be whole
    /// all the same, so it stays unless an append is put in its place. What is damaged otherwise
    /// must not be taken for something, and gets zeros.
    pub(super) fn to_write(&self) -> Vec<(u32, Vec<u8>)> {
        let Some(own) = &self.own else {
            let all = (!self.appends.is_empty()).then(|| (0, self.bytes()));
            return all.into_iter().collect();
        };
        let bytes = self.bytes();
        let mut runs: Vec<(u32, Vec<u8>)> = Vec::new();
        let blocks = bytes.chunks(BLOCK_BYTES).zip(own.bytes.chunks(BLOCK_BYTES));
        for (index, (block, own_block)) in blocks.enumerate() {
            let start = (index * BLOCK_BYTES) as u32;
            let is_right = match own.unreadable.contains(&(start as usize)) {
                true => !self.has_append_at(start),
                false => block == own_block,
            };
            match runs.last_mut() {
                _ if is_right => {}
                Some((from, run)) if *from + run.len() as u32 == start => {
                    run.extend_from_slice(block);
                }
                _ => runs.push((start, block.to_vec())),
            }
        }
        runs
    }

    /// Whether a byte of the slot is in an append.
    fn has_append_at(&self, at_bytes: u32) -> bool {
        let mut appends = self.appends.iter();
        appends.any(|append| (start_of(append)..end_of(append)).contains(&at_bytes))
    }
}
