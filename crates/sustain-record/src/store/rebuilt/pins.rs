//! The pins of members that are not there, as those that are tell of them.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Geometry, PINS_MAX, Pin};
use crate::member_io::ReadOrder;
use crate::rebuilt::{FoundGroups, KnownPin, PinOnMember};
use crate::store::pin_tables::{ended_somewhere, is_same, set_somewhere};
use crate::store::{FREE_SLOTS_MIN, Missing, Store};

/// Slots of which the first blocks are read at once.
const HEADS_AT_ONCE: usize = 256;

/// The pins of a member, as those that are there tell of them.
#[derive(Debug, Default)]
pub(in crate::store) struct PinsTold {
    /// Those that are set.
    pub(in crate::store) set: Vec<Pin>,
    /// Stretches of serials that these span, and that earlier pins had left out.
    left_out: Vec<Range<u64>>,
    /// Numbers of pins that are set somewhere.
    numbers: BTreeSet<u32>,
}

impl PinsTold {
    /// The table of a member of so many slots. `entered` is the one that it has: what pins that are
    /// freed have left out follows from these.
    pub(in crate::store) fn table(self, entered: &[Pin], slot_count: u64) -> Vec<Pin> {
        let mut pins = self.set;
        let mut numbers = self.numbers;
        let freed = entered.iter().filter(|pin| !pin.is_set());
        for freed in freed {
            if pins.len() < PINS_MAX && numbers.insert(freed.number) {
                pins.push(*freed);
            }
        }
        for left_out in self.left_out {
            let number = (1..).find(|number| !numbers.contains(number));
            if let Some(number) = number.filter(|_| pins.len() < PINS_MAX) {
                numbers.insert(number);
                pins.push(freed_pin(number, &left_out, slot_count));
            }
        }
        pins
    }
}

/// A pin that has left out these serials and no others, and is freed.
fn freed_pin(number: u32, left_out: &Range<u64>, slot_count: u64) -> Pin {
    let kept = left_out.start - slot_count..left_out.end - slot_count;
    Pin {
        freed_slot: Some(left_out.end),
        ..Pin::open(number, kept.start, (0, 0)).closed_at(kept.end, 0)
    }
}

impl Store {
    /// The pins of a member that is not there, as far as they are set. `entered` is the table that
    /// it has, if anything of that is known.
    ///
    /// # Errors
    /// [`RecordError::Engine`].
    pub(in crate::store) fn pins_of_missing(
        &self,
        missing: Missing,
        (geometry, entered): (Geometry, &[Pin]),
        found: &FoundGroups,
    ) -> Result<PinsTold, RecordError> {
        self.pins_told((missing.index, geometry), entered, found, |pin, _| pin)
    }

    /// The table of pins of a member that is there with an old state, which does not know where it
    /// was given what pins keep.
    pub(super) fn pins_of_old(
        &self,
        position: usize,
        found: &FoundGroups,
    ) -> Result<Vec<Pin>, RecordError> {
        let (member, tail) = (&self.members[position], &self.tails[position]);
        let superblock = &member.superblock;
        let on_member = |pin: Pin, known: &KnownPin| {
            let mut entered = superblock.pins.iter();
            let entered = entered.find(|entered| is_same(entered, &pin));
            let from_slot = match entered {
                // What it has itself goes on into the time that is pinned.
                Some(entered) if tail.max_sequence >= known.from_sequence => entered.from_slot,
                _ => pin.from_slot.max(tail.next_slot_serial),
            };
            Pin {
                from_slot,
                end_slot: pin.end_slot.map(|end| {
                    let own = entered.and_then(|entered| entered.end_slot);
                    end.max(from_slot.saturating_add(1)).max(own.unwrap_or(0))
                }),
                ..pin
            }
            .within(superblock.geometry.slot_count)
        };
        let (geometry, entered) = (superblock.geometry, &superblock.pins);
        let told = self.pins_told((member.index(), geometry), entered, found, on_member)?;
        Ok(told.table(entered, geometry.slot_count))
    }

    /// The pins that are set, as `on_member` places on this member what groups tell of each.
    fn pins_told(
        &self,
        (member, geometry): (usize, Geometry),
        entered: &[Pin],
        found: &FoundGroups,
        on_member: impl Fn(Pin, &KnownPin) -> Pin,
    ) -> Result<PinsTold, RecordError> {
        let known = self.known_pins()?;
        let freed = entered.iter().filter(|pin| !pin.is_set());
        let mut left_out_max = PINS_MAX.saturating_sub(known.len() + freed.count());
        let mut told = PinsTold::default();
        for known in &known {
            let pin = pin_on((member, geometry), known, found, left_out_max);
            left_out_max -= pin.left_out.len();
            told.left_out.extend(pin.left_out);
            told.set.push(on_member(pin.pin, known));
        }
        let set = set_somewhere(&self.superblocks()).into_iter();
        told.numbers = set.map(|pin| pin.number).collect();
        Ok(told)
    }

    /// Whether a slot that a pin keeps on a member that is there does not begin as it did.
    pub(in crate::store) fn lacks_slot_of_pin(&self, number: u32) -> Result<bool, RecordError> {
        let mut wanted = Vec::new();
        for (position, (member, tail)) in self.members.iter().zip(&self.tails).enumerate() {
            let mut pins = member.superblock.pins.iter().filter(|pin| pin.is_set());
            let Some(pin) = pins.find(|pin| pin.number == number && member.is_there()) else {
                continue;
            };
            // A pin keeps a lap at most, whatever a damaged superblock tells.
            let lap_end = pin
                .from_slot
                .saturating_add(member.superblock.geometry.slot_count);
            let end_slot = pin.end_slot.unwrap_or(tail.next_slot_serial).min(lap_end);
            wanted.extend(
                (pin.from_slot..end_slot).map(|slot| (position, AppendPlace::of_slot(slot))),
            );
        }
        let order = |(position, place): &(usize, AppendPlace)| ReadOrder {
            member: *position,
            offset_bytes: self.members[*position]
                .superblock
                .geometry
                .offset_of(*place),
            length_bytes: BLOCK_BYTES,
        };
        let mut io = self.io()?;
        for wanted in wanted.chunks(HEADS_AT_ONCE) {
            let orders: Vec<ReadOrder> = wanted.iter().map(order).collect();
            let read = io.read_all(&orders);
            io.check_engine()?;
            let is_there =
                |((position, place), block): (&(usize, AppendPlace), Result<Vec<u8>, _>)| {
                    let identity = self.members[*position].identity();
                    block.is_ok_and(|block: Vec<u8>| identity.head_at(*place, &block).is_some())
                };
            if !wanted.iter().zip(read).all(is_there) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn known_pins(&self) -> Result<Vec<KnownPin>, RecordError> {
        let superblocks = self.superblocks();
        let ended = ended_somewhere(&superblocks);
        let set = set_somewhere(&superblocks).into_iter();
        let set = set.filter(|pin| self.unknown_on(&superblocks, pin).is_some());
        let known = set.map(|pin| {
            let ended = ended.iter().filter(|ended| is_same(ended, &pin));
            let ended = ended.min_by_key(|ended| ended.end_sequence).copied();
            let pin = ended.unwrap_or(pin);
            Ok(KnownPin {
                from_sequence: self.begin_sequence(&pin)?,
                slots_max: self.slots_max(&pin),
                pin,
            })
        });
        known.collect()
    }

    /// The most slots that a pin keeps on a member that is there.
    fn slots_max(&self, pin: &Pin) -> u64 {
        let members = self.members.iter().zip(&self.tails);
        let kept = members
            .filter(|(member, _)| member.is_there())
            .flat_map(|(member, tail)| {
                let superblock = &member.superblock;
                let own = superblock.pins.iter().filter(|own| is_same(own, pin));
                own.map(|own| superblock.course().kept_slots(own, tail.next_slot_serial))
            });
        kept.max().unwrap_or(0)
    }

    /// The largest sequence at which what a pin keeps begins on a member that is there, or, if all
    /// of them were repaired there, the smallest: their slots do not begin with what they had. 0 if
    /// none can be read.
    fn begin_sequence(&self, pin: &Pin) -> Result<u64, RecordError> {
        let mut io = self.io()?;
        let (mut known, mut repaired) = (None, None);
        for (position, member) in self.members.iter().enumerate() {
            let mut own = member.superblock.pins.iter();
            let own = own.find(|own| is_same(own, pin));
            let Some(own) = own.filter(|_| member.is_there()) else {
                continue;
            };
            let identity = member.identity();
            let place = AppendPlace {
                slot_serial: own.from_slot,
                slot_offset_bytes: 0,
            };
            let offset_bytes = identity.geometry.offset_of(place);
            let block = io.read(position, offset_bytes, BLOCK_BYTES);
            let head = block.ok().and_then(|block| identity.head_at(place, &block));
            // A member that was added since has nothing of it.
            let is_behind =
                |sequence: &u64| pin.end_slot.is_some() && *sequence >= pin.end_sequence;
            let sequence = head.map(|head| head.sequence());
            let Some(sequence) = sequence.filter(|sequence| !is_behind(sequence)) else {
                continue;
            };
            match own.from_slot < member.superblock.repaired_slots {
                true => repaired = Some(repaired.map_or(sequence, |one: u64| one.min(sequence))),
                false => known = known.max(Some(sequence)),
            }
        }
        io.check_engine()?;
        Ok(known.or(repaired).unwrap_or(0))
    }
}

/// A pin as it lies on a member, as groups tell.
fn pin_on(
    (member, geometry): (usize, Geometry),
    pin: &KnownPin,
    found: &FoundGroups,
    left_out_max: usize,
) -> PinOnMember {
    // Any member of a ring has some slots that no pin keeps.
    let slots_max = geometry.slot_count.saturating_sub(FREE_SLOTS_MIN).max(1);
    let pin = KnownPin {
        slots_max: pin.slots_max.min(slots_max),
        ..*pin
    };
    found.pin_on((member, geometry.slot_count), &pin, left_out_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::SlotCourse;

    /// A member of ten slots has a pin of its own that is freed, and parity tells of another one.
    #[test]
    fn a_table_tells_what_freed_pins_have_left_out() {
        let set = Pin::open(3, 12, (10, 20)).closed_at(17, 165);
        let own = Pin {
            freed_slot: Some(40),
            ..Pin::open(1, 7, (1, 2)).closed_at(8, 75)
        };
        let gap = 13..16;
        let told = PinsTold {
            set: vec![set],
            left_out: vec![gap],
            numbers: [3].into(),
        };
        let table = told.table(&[own, set], 10);
        let numbers: Vec<u32> = table.iter().map(|pin| pin.number).collect();
        assert_eq!(numbers, [3, 1, 2]);
        let course = SlotCourse::new(10, &table);
        assert_eq!(course.kept_slots(&set, 17), 2);
        let around: Vec<u64> = course.following(10, 12).collect();
        assert_eq!(around, [11, 12, 16, 18, 19, 20, 21, 23, 24, 25, 28, 29]);
    }
}
