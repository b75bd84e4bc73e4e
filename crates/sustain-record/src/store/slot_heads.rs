//! The first blocks of slots: the look through a store for parity begins with them, and they tell
//! where it may begin.

use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor, Pin, SlotCourse};
use crate::member_io::{MemberIo, ReadOrder};
use crate::opening::PATIENCE_SLOTS;
use crate::walk::{AppendIdentity, Head};

/// Slots of one member that are walked through at the same time.
pub(super) const SLOTS_AT_ONCE: usize = 64;

/// A member that is there.
pub(super) struct ScannedMember {
    pub(super) identity: AppendIdentity,
    /// Its place in the table of members.
    pub(super) index: usize,
    /// The first slot behind those that are known to have been written: where a recording was to
    /// begin that was cut off before, a ring has left what lay there.
    pub(super) written_slots_end: u64,
    /// Slots below this one are not looked through: it is 0 if all are to be. They count as there.
    pub(super) from_slot: u64,
    /// The number of the first recording that may have anything on it; 0 for all.
    pub(super) first_recording: u32,
    /// The pins that are set on it.
    pub(super) pins: Vec<Pin>,
    /// Below this one, slots were repaired: what lies behind them may tell less than they have.
    pub(super) repaired_slots: u64,
}

impl ScannedMember {
    /// The serial of a slot as it was written last: in the last lap, or before, if a pin has kept
    /// it since; none if it was not begun.
    fn last_serial_in(&self, slot: u64) -> Option<u64> {
        let newest = self.newest_serial_in(slot)?;
        let course = SlotCourse::new(self.identity.geometry.slot_count, &self.pins);
        Some(course.kept_in_place_of(newest).unwrap_or(newest))
    }

    /// The serial of a slot in the last lap; none if it was not begun.
    pub(super) fn newest_serial_in(&self, slot: u64) -> Option<u64> {
        let slot_count = self.identity.geometry.slot_count;
        let last_serial = self.written_slots_end.saturating_sub(1);
        let behind = (last_serial % slot_count + slot_count - slot) % slot_count;
        last_serial.checked_sub(behind)
    }
}

/// What the first block of a slot tells.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SlotHead {
    pub(super) serial: Option<u64>,
    /// The append before the one that begins the slot.
    pub(super) previous: Option<AppendPlace>,
    pub(super) sequence: Option<u64>,
    /// Whether the recording had put bytes of a stream on the member before.
    pub(super) has_bytes_before: bool,
}

/// Reads the first block of each slot that was begun on each member.
pub(super) fn slot_heads(
    io: &mut MemberIo,
    members: &[ScannedMember],
) -> Result<Vec<Vec<SlotHead>>, RecordError> {
    let written = |member: &ScannedMember| {
        let slot_count = member.identity.geometry.slot_count;
        slot_count.min(member.written_slots_end)
    };
    let mut heads: Vec<Vec<SlotHead>> = members.iter().map(|_| Vec::new()).collect();
    let most = members.iter().map(written).max().unwrap_or(0);
    for batch in (0..most).step_by(SLOTS_AT_ONCE) {
        let mut orders = Vec::new();
        let mut slots = Vec::new();
        for (source, member) in members.iter().enumerate() {
            for slot in batch..written(member).min(batch + SLOTS_AT_ONCE as u64) {
                heads[source].push(slot_head(member, slot, None));
                let newest = member.newest_serial_in(slot);
                if newest.is_some_and(|newest| newest >= member.from_slot) {
                    orders.push(order_of_head(member, (source, slot)));
                    slots.push(slot);
                }
            }
        }
        let read = io.read_all(&orders);
        io.check_engine()?;
        for ((order, slot), bytes) in orders.iter().zip(slots).zip(read) {
            let member = &members[order.member];
            heads[order.member][slot as usize] = slot_head(member, slot, bytes.ok());
        }
    }
    Ok(heads)
}

/// The order to read the first block of a slot.
fn order_of_head(member: &ScannedMember, (source, slot): (usize, u64)) -> ReadOrder {
    ReadOrder {
        member: source,
        offset_bytes: member
            .identity
            .geometry
            .offset_of(AppendPlace::of_slot(slot)),
        length_bytes: BLOCK_BYTES,
    }
}

/// Lets the look begin on each member before the last slot that begins with this sequence or one
/// before it: all that came behind it lies from there on, and so does what was not durable when the
/// sequence was given, because opening finds nothing that lies farther apart.
///
/// # Errors
/// If the members cannot be driven.
pub(super) fn begin_behind(
    io: &mut MemberIo,
    members: &mut [ScannedMember],
    sequence: u64,
) -> Result<(), RecordError> {
    for (source, member) in members.iter_mut().enumerate() {
        let slot_count = member.identity.geometry.slot_count;
        let oldest = member.written_slots_end.saturating_sub(slot_count);
        // A slot whose first block tells nothing counts as behind, so that the look begins earlier.
        let (mut before, mut behind) = (oldest, member.written_slots_end);
        while behind > before.saturating_add(1) {
            let middle = before + (behind - before) / 2;
            let order = order_of_head(member, (source, middle % slot_count));
            let block = io.read(source, order.offset_bytes, order.length_bytes);
            io.check_engine()?;
            let head = slot_head(member, middle % slot_count, block.ok());
            let told = head.sequence.filter(|_| head.serial == Some(middle));
            match told.is_some_and(|told| told <= sequence) {
                true => before = middle,
                false => behind = middle,
            }
        }
        member.from_slot = before.saturating_sub(PATIENCE_SLOTS + 1);
    }
    Ok(())
}

fn slot_head(member: &ScannedMember, slot: u64, bytes: Option<Vec<u8>>) -> SlotHead {
    let identity = &member.identity;
    let slot_count = identity.geometry.slot_count;
    let head = bytes.and_then(|bytes| identity.head(&bytes));
    let head = head.filter(|head| {
        let place = head.place();
        place.slot_offset_bytes == 0 && place.slot_serial % slot_count == slot
    });
    let descriptor = head.as_ref().and_then(Head::descriptor);
    SlotHead {
        serial: match &head {
            Some(head) => Some(head.place().slot_serial),
            None => member.last_serial_in(slot),
        },
        sequence: descriptor.map(|descriptor| descriptor.sequence),
        has_bytes_before: descriptor.is_some_and(has_bytes_before),
        previous: descriptor.and_then(|descriptor| descriptor.previous),
    }
}

/// Whether a recording had put bytes of a stream on a member before this append.
fn has_bytes_before(descriptor: &Descriptor) -> bool {
    let mut positions = descriptor.positions.iter().enumerate();
    positions.any(|(stream, position)| {
        let is_own = usize::from(descriptor.stream) == stream;
        position.member_bytes > u64::from(descriptor.payload_bytes) * u64::from(is_own)
    })
}
