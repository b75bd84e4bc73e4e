//! Looks through the members that are there for parity, and reads its lists. It reads the first
//! block of every slot and of every append, and more only where a descriptor is damaged.

use std::collections::HashMap;

use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::error::IoFault;

use crate::error::RecordError;
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, GroupList, Kind, append_bytes_for, marks_are_whole,
    marks_range, payload_range,
};
use crate::member_io::{LONG_WAIT_NS, MemberIo, ReadOrder, report_long_wait};
use crate::rebuilt::FoundParity;
use crate::walk::{AppendIdentity, Cursor, Head};

/// Slots of one member that are walked through at the same time.
const SLOTS_AT_ONCE: usize = 64;
/// Length of a read where no append is expected.
const SEARCHING_BYTES: usize = 256 << 10;

/// A member that is there.
pub(super) struct ScannedMember {
    pub(super) identity: AppendIdentity,
    /// The serial behind all that was begun on it.
    pub(super) next_slot_serial: u64,
}

/// The findings of the look.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) parities: Vec<FoundParity>,
    /// Of each member, the serial that each of its slots has; none for what was never written.
    pub(super) serials: Vec<Vec<Option<u64>>>,
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
    let mut scanned = Scanned::default();
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
    for (source, member) in members.iter().enumerate() {
        let heads = slot_heads(io, source, member)?;
        let slots: Vec<(usize, u64)> = heads
            .iter()
            .enumerate()
            .filter_map(|(slot, head)| Some((slot, head.serial?)))
            .collect();
        for batch in slots.chunks(SLOTS_AT_ONCE) {
            let mut walks: Vec<SlotWalk> = batch
                .iter()
                .map(|(_, serial)| SlotWalk::new(*serial, &heads, member))
                .collect();
            walk_slots(io, source, member, &mut walks)?;
            let found = walks.into_iter().flat_map(|walk| walk.parities).collect();
            scanned
                .parities
                .extend(read_lists(io, source, member, found)?);
            progress.report(batch.len() as u64);
        }
        let serials = heads.into_iter().map(|head| head.serial);
        scanned.serials.push(serials.collect());
    }
    Ok(scanned)
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

/// What the first block of a slot tells.
#[derive(Debug, Clone, Copy, Default)]
struct SlotHead {
    serial: Option<u64>,
    /// The append before the one that begins the slot.
    previous: Option<AppendPlace>,
}

/// Reads the first block of each slot of a member.
fn slot_heads(
    io: &mut MemberIo,
    source: usize,
    member: &ScannedMember,
) -> Result<Vec<SlotHead>, RecordError> {
    let identity = &member.identity;
    let geometry = &identity.geometry;
    let mut heads = Vec::new();
    let written = geometry.slot_count.min(member.next_slot_serial);
    let slots: Vec<u64> = (0..written).collect();
    for batch in slots.chunks(SLOTS_AT_ONCE) {
        let order = |slot: &u64| ReadOrder {
            member: source,
            offset_bytes: geometry.offset_of(slot_start(*slot)),
            length_bytes: BLOCK_BYTES,
        };
        let orders: Vec<ReadOrder> = batch.iter().map(order).collect();
        let read = io.read_all(&orders);
        io.check_engine()?;
        for (slot, bytes) in batch.iter().zip(read) {
            let head = bytes.ok().and_then(|bytes| identity.head(&bytes));
            let head = head.filter(|head| {
                let place = head.place();
                place.slot_offset_bytes == 0 && place.slot_serial % geometry.slot_count == *slot
            });
            // Where it is damaged, the slot is one of the last lap.
            let lap_serial = member.next_slot_serial - 1;
            let behind = (lap_serial % geometry.slot_count + geometry.slot_count - *slot)
                % geometry.slot_count;
            heads.push(SlotHead {
                serial: Some(match &head {
                    Some(head) => head.place().slot_serial,
                    None => lap_serial - behind,
                }),
                previous: head.and_then(|head| head.descriptor()?.previous),
            });
        }
    }
    Ok(heads)
}

/// The walk through one slot.
struct SlotWalk {
    serial: u64,
    cursor: Cursor,
    /// The last append that was found.
    last: Option<AppendPlace>,
    /// The last one of the slot, as the slot behind it tells, if it does.
    told_last: Option<AppendPlace>,
    /// Up to this byte each block is read by itself.
    by_blocks_until_bytes: u32,
    is_over: bool,
    parities: Vec<Descriptor>,
}

impl SlotWalk {
    fn new(serial: u64, heads: &[SlotHead], member: &ScannedMember) -> SlotWalk {
        let next_serial = serial.saturating_add(1);
        let next = heads.get((next_serial % member.identity.geometry.slot_count) as usize);
        let next = next.filter(|next| next.serial == Some(next_serial));
        SlotWalk {
            serial,
            cursor: Cursor::new(serial),
            last: None,
            told_last: next
                .and_then(|next| next.previous)
                .filter(|previous| previous.slot_serial == serial),
            by_blocks_until_bytes: 0,
            is_over: false,
            parities: Vec::new(),
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
            if let Head::Append(descriptor, _) = head
                && descriptor.kind == Kind::Parity
            {
                self.parities.push(*descriptor);
            }
        }
    }
}

/// Walks through several slots of a member side by side.
fn walk_slots(
    io: &mut MemberIo,
    source: usize,
    member: &ScannedMember,
    walks: &mut [SlotWalk],
) -> Result<(), RecordError> {
    let geometry = &member.identity.geometry;
    loop {
        let mut asked = Vec::new();
        let mut orders = Vec::new();
        for (index, walk) in walks
            .iter_mut()
            .enumerate()
            .filter(|(_, walk)| !walk.is_over)
        {
            if let Some((position, length_bytes)) = walk.next(geometry.slot_bytes) {
                asked.push(index);
                let offset_bytes = geometry.offset_of(slot_start(walk.serial));
                orders.push(ReadOrder {
                    member: source,
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
            walks[*index].learn(&member.identity, order.length_bytes, bytes);
        }
    }
}

/// Reads the lists of appends of parity. One that is not whole is left out.
fn read_lists(
    io: &mut MemberIo,
    source: usize,
    member: &ScannedMember,
    found: Vec<Descriptor>,
) -> Result<Vec<FoundParity>, RecordError> {
    let geometry = &member.identity.geometry;
    let mut by_order: HashMap<usize, Descriptor> = HashMap::new();
    let mut orders = Vec::new();
    for descriptor in found {
        let marks = marks_range(&descriptor);
        if descriptor.parity_group == 0 || marks.is_empty() || marks.len() > BLOCK_BYTES {
            continue;
        }
        let offset_bytes = geometry.offset_of(descriptor.place);
        by_order.insert(orders.len(), descriptor);
        orders.push(ReadOrder {
            member: source,
            offset_bytes: offset_bytes + marks.start as u64,
            length_bytes: marks.len(),
        });
    }
    let read = io.read_all(&orders);
    io.check_engine()?;
    let read = read.into_iter().enumerate();
    Ok(read
        .filter_map(|(order, bytes)| {
            let (descriptor, bytes) = (by_order.remove(&order)?, bytes.ok()?);
            let is_whole = marks_are_whole(&descriptor, &bytes);
            let list = GroupList::decode(&bytes).ok().filter(|_| is_whole)?;
            let offset_bytes = geometry.offset_of(descriptor.place);
            Some(FoundParity {
                group: descriptor.parity_group,
                number: usize::from(descriptor.parity_role).checked_sub(1)?,
                source,
                payload_offset_bytes: offset_bytes + payload_range(&descriptor).start as u64,
                payload_bytes: descriptor.payload_bytes,
                list,
            })
        })
        .collect())
}

fn slot_start(slot_serial: u64) -> AppendPlace {
    AppendPlace {
        slot_serial,
        slot_offset_bytes: 0,
    }
}
