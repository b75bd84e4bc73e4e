//! Looks through the members that are there for parity, and reads its lists. It reads the first
//! block of every slot and of every append, and more only where a descriptor is damaged.

use std::collections::{BTreeMap, BTreeSet};

use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::error::IoFault;

use super::slot_heads::{SLOTS_AT_ONCE, ScannedMember, SlotHead, slot_heads};
use crate::error::RecordError;
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, GroupList, Kind, append_bytes_for, marks_are_whole,
    marks_range, payload_range,
};
use crate::member_io::{LONG_WAIT_NS, MemberIo, ReadOrder, report_long_wait};
use crate::rebuilt::{FoundData, FoundMark, FoundParity, Overwritten};
use crate::walk::{AppendIdentity, Cursor, Head};

/// Length of a read where no append is expected.
const SEARCHING_BYTES: usize = 256 << 10;

/// By member, among those that are there, and by recording: appends up to this sequence were
/// durable, as appends behind them tell.
pub(super) type DurableSequences = BTreeMap<(usize, u32), u64>;

/// The findings of the look.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) parities: Vec<FoundParity>,
    /// The appends of data.
    pub(super) data: Vec<FoundData>,
    /// What rings have overwritten on the members.
    pub(super) overwritten: Overwritten,
    /// The starts and end marks.
    pub(super) marks: Vec<FoundMark>,
    /// Of each member, the serial that each of its slots has; none for what was never written.
    pub(super) serials: Vec<Vec<Option<u64>>>,
    /// How far members told in each recording that all was durable.
    pub(super) durable: DurableSequences,
    /// Of each member, the slots of which nothing was found.
    pub(super) gone: Vec<BTreeSet<u64>>,
}

/// Looks through members, over access to them in this order. `why` says in words what it is for, if
/// it takes long.
///
/// # Errors
/// If the members cannot be driven. What cannot be read on them counts as empty.
pub(super) fn scan(
    io: &mut MemberIo,
    members: &[ScannedMember],
    clock: &Clock,
    why: &str,
) -> Result<Scanned, RecordError> {
    let mut scanned = Scanned {
        gone: members.iter().map(|_| BTreeSet::new()).collect(),
        ..Scanned::default()
    };
    let mut progress = ScanProgress {
        clock,
        why,
        reported_at: clock.now(),
        slots: 0,
        slot_count: members
            .iter()
            .map(|one| one.identity.geometry.slot_count)
            .sum(),
    };
    let heads = slot_heads(io, members)?;
    let begun: Vec<Vec<u64>> = heads
        .iter()
        .zip(members)
        .map(|(heads, member)| {
            let serials = heads.iter().filter_map(|head| head.serial);
            serials
                .filter(|serial| *serial >= member.from_slot)
                .collect()
        })
        .collect();
    let most = begun.iter().map(Vec::len).max().unwrap_or(0);
    for batch in (0..most).step_by(SLOTS_AT_ONCE) {
        let mut walks = Vec::new();
        for (source, serials) in begun.iter().enumerate() {
            let of_member = serials.iter().skip(batch).take(SLOTS_AT_ONCE);
            let walk =
                |serial: &u64| SlotWalk::new((source, *serial), &heads[source], &members[source]);
            walks.extend(of_member.map(walk));
        }
        walk_slots(io, members, &mut walks)?;
        progress.report(walks.len() as u64);
        for walk in &mut walks {
            if walk.last.is_none() {
                scanned.gone[walk.source].insert(walk.serial);
            }
            for (recording, sequence) in &walk.durable {
                let key = (walk.source, *recording);
                let known = scanned.durable.entry(key).or_default();
                *known = (*known).max(*sequence);
            }
            scanned.data.append(&mut walk.data);
            scanned.marks.append(&mut walk.marks);
        }
        scanned.parities.extend(read_lists(io, members, walks)?);
    }
    let has_lapped = |(heads, member): &(&Vec<SlotHead>, &ScannedMember)| {
        member.written_slots_end > heads.len() as u64
    };
    for (heads, member) in heads.iter().zip(members).filter(has_lapped) {
        note_overwritten(heads, member, &mut scanned.overwritten);
    }
    let serials = heads.into_iter().map(|heads| {
        let serials = heads.into_iter().map(|head| head.serial);
        serials.collect()
    });
    scanned.serials = serials.collect();
    Ok(scanned)
}

/// Notes what a ring has overwritten on a member, and what pins have kept.
fn note_overwritten(heads: &[SlotHead], member: &ScannedMember, overwritten: &mut Overwritten) {
    let lap_start = member.written_slots_end - heads.len() as u64;
    let begun = heads.iter().filter(|head| head.sequence.is_some());
    let of_lap = begun.clone().filter(|head| head.serial >= Some(lap_start));
    let oldest = of_lap.min_by_key(|head| head.sequence);
    if let Some(sequence) = oldest.and_then(|oldest| oldest.sequence) {
        overwritten.note_passed(sequence);
    }
    let oldest = oldest.filter(|oldest| oldest.has_bytes_before);
    if let Some(sequence) = oldest.and_then(|oldest| oldest.sequence) {
        overwritten.note(member.index, member.first_recording, sequence);
    }
    for pin in &member.pins {
        let end_sequence = match pin.end_slot {
            Some(_) => pin.end_sequence,
            None => u64::MAX,
        };
        let from_slot = pin.from_slot;
        let first = heads.get((from_slot % heads.len() as u64) as usize);
        let first = first.filter(|head| head.serial == Some(from_slot));
        let first = first.and_then(|head| head.sequence);
        // What was repaired does not begin with what it had, and what was added since has nothing.
        let is_told = |first: &u64| from_slot >= member.repaired_slots && *first < end_sequence;
        let first = first.filter(is_told).unwrap_or(0);
        overwritten.note_kept(pin.number, first..end_sequence);
    }
}

/// Tells who waits how far it is.
struct ScanProgress<'a> {
    clock: &'a Clock,
    why: &'a str,
    reported_at: Timestamp,
    slots: u64,
    slot_count: u64,
}

impl ScanProgress<'_> {
    fn report(&mut self, slots: u64) {
        self.slots += slots;
        let now = self.clock.now();
        if now.since_ns(self.reported_at) >= LONG_WAIT_NS {
            self.reported_at = now;
            report_long_wait(&format!(
                "{}: {} of {} slots have been looked through for parity",
                self.why, self.slots, self.slot_count
            ));
        }
    }
}

/// The walk through one slot.
struct SlotWalk {
    /// The member, among those that are there.
    source: usize,
    serial: u64,
    cursor: Cursor,
    /// The last append that was found.
    last: Option<AppendPlace>,
    /// The last one of the slot, as the slot behind it tells, if it does.
    told_last: Option<AppendPlace>,
    /// Up to this byte each block is read by itself.
    by_blocks_until_bytes: u32,
    is_over: bool,
    is_repaired: bool,
    parities: Vec<Descriptor>,
    data: Vec<FoundData>,
    marks: Vec<FoundMark>,
    /// By recording, the largest sequence up to which all was durable.
    durable: BTreeMap<u32, u64>,
}

impl SlotWalk {
    fn new((source, serial): (usize, u64), heads: &[SlotHead], member: &ScannedMember) -> SlotWalk {
        let geometry = &member.identity.geometry;
        let next_serial = serial.saturating_add(1);
        let next = heads.get((next_serial % geometry.slot_count) as usize);
        let next = next.filter(|next| next.serial == Some(next_serial));
        SlotWalk {
            source,
            serial,
            cursor: Cursor::new(serial),
            last: None,
            told_last: next
                .and_then(|next| next.previous)
                .filter(|previous| previous.slot_serial == serial)
                .filter(|_| serial >= member.repaired_slots),
            by_blocks_until_bytes: 0,
            is_over: false,
            is_repaired: serial < member.repaired_slots,
            parities: Vec::new(),
            data: Vec::new(),
            marks: Vec::new(),
            durable: BTreeMap::new(),
        }
    }

    /// What to read next, from the slot's beginning on, if anything can be there.
    fn next(&mut self, slot_bytes: u32) -> Option<(u32, usize)> {
        let position = self.cursor.position_bytes();
        let room_bytes = slot_bytes.saturating_sub(position);
        let is_at_end = self.last.is_some() && self.last == self.told_last;
        self.is_over |= is_at_end || room_bytes < append_bytes_for(0, 0);
        let length = match self.cursor.is_searching() && position >= self.by_blocks_until_bytes {
            true => SEARCHING_BYTES.min(room_bytes as usize),
            false => BLOCK_BYTES,
        };
        (!self.is_over).then_some((position, length))
    }

    /// Whether an append says by its `flushed_sequence` what was durable: not what `repair` has put
    /// between data, nor end marks, which `recover` writes behind what it finds.
    fn tells_what_was_durable(&self, kind: Kind) -> bool {
        match kind {
            Kind::Data => true,
            Kind::Start | Kind::Parity => !self.is_repaired,
            Kind::End => false,
        }
    }

    fn learn(&mut self, identity: &AppendIdentity, length: usize, bytes: Result<Vec<u8>, IoFault>) {
        let start = self.cursor.position_bytes();
        let Ok(bytes) = bytes else {
            match length > BLOCK_BYTES {
                true => self.by_blocks_until_bytes = start + length as u32,
                false => self.cursor.pass_block(),
            }
            return;
        };
        loop {
            let position = (self.cursor.position_bytes() - start) as usize;
            let Some(block) = bytes.get(position..position + BLOCK_BYTES) else {
                return;
            };
            let Some(head) = self.cursor.look(identity, block) else {
                continue;
            };
            self.last = Some(head.place());
            let Head::Append(descriptor, descriptor_crc) = head else {
                continue;
            };
            if self.tells_what_was_durable(descriptor.kind) {
                let durable = self.durable.entry(descriptor.recording).or_default();
                *durable = (*durable).max(descriptor.flushed_sequence);
            }
            match (descriptor.kind, descriptor.parity_group) {
                (Kind::Parity, _) => self.parities.push(*descriptor),
                (Kind::Data, group) => self.data.push(FoundData {
                    group,
                    source: self.source,
                    recording: descriptor.recording,
                    place: descriptor.place,
                    append_bytes: descriptor.append_bytes,
                    sequence: descriptor.sequence,
                    descriptor_crc,
                }),
                (Kind::Start | Kind::End, _) => self.marks.push(FoundMark {
                    source: self.source,
                    descriptor: *descriptor,
                }),
            }
        }
    }
}

/// Walks through several slots side by side.
fn walk_slots(
    io: &mut MemberIo,
    members: &[ScannedMember],
    walks: &mut [SlotWalk],
) -> Result<(), RecordError> {
    loop {
        let mut asked = Vec::new();
        let mut orders = Vec::new();
        let walking = walks.iter_mut().enumerate();
        for (index, walk) in walking.filter(|(_, walk)| !walk.is_over) {
            let geometry = &members[walk.source].identity.geometry;
            if let Some((position, length_bytes)) = walk.next(geometry.slot_bytes) {
                asked.push(index);
                let offset_bytes = geometry.offset_of(AppendPlace::of_slot(walk.serial));
                orders.push(ReadOrder {
                    member: walk.source,
                    offset_bytes: offset_bytes + u64::from(position),
                    length_bytes,
                });
            }
        }
        if orders.is_empty() {
            return Ok(());
        }
        let read = io.read_all(&orders);
        io.check_engine()?;
        for ((index, order), bytes) in asked.iter().zip(&orders).zip(read) {
            let identity = &members[order.member].identity;
            walks[*index].learn(identity, order.length_bytes, bytes);
        }
    }
}

/// Reads the lists of appends of parity. One that is not whole is left out.
fn read_lists(
    io: &mut MemberIo,
    members: &[ScannedMember],
    walks: Vec<SlotWalk>,
) -> Result<Vec<FoundParity>, RecordError> {
    let mut with_list = Vec::new();
    let mut orders = Vec::new();
    for walk in walks {
        let geometry = &members[walk.source].identity.geometry;
        for descriptor in walk.parities {
            let marks = marks_range(&descriptor);
            if descriptor.parity_group == 0 || marks.is_empty() || marks.len() > BLOCK_BYTES {
                continue;
            }
            let offset_bytes = geometry.offset_of(descriptor.place);
            orders.push(ReadOrder {
                member: walk.source,
                offset_bytes: offset_bytes + marks.start as u64,
                length_bytes: marks.len(),
            });
            with_list.push((walk.source, offset_bytes, descriptor));
        }
    }
    let read = io.read_all(&orders);
    io.check_engine()?;
    let read = with_list.into_iter().zip(read);
    Ok(read
        .filter_map(|((source, offset_bytes, descriptor), bytes)| {
            let bytes = bytes.ok()?;
            let is_whole = marks_are_whole(&descriptor, &bytes);
            let list = GroupList::decode(&bytes).ok().filter(|_| is_whole)?;
            Some(FoundParity {
                group: descriptor.parity_group,
                recording: descriptor.recording,
                sequence: descriptor.sequence,
                number: usize::from(descriptor.parity_role).checked_sub(1)?,
                source,
                payload_offset_bytes: offset_bytes + payload_range(&descriptor).start as u64,
                payload_bytes: descriptor.payload_bytes,
                list,
            })
        })
        .collect())
}
