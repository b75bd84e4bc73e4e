//! The geometry of a member: where its slots and superblocks lie, and how a place in the slots
//! becomes an offset.

use sustain_disk::units::Size;
use sustain_document::setting::SLOT;

use super::{BLOCK_BYTES, SLOT_BYTES_MAX, SLOT_BYTES_MIN};

/// Bytes at the start of a member that are reserved for superblocks, and as many at its end.
const SUPERBLOCK_ROOM_BYTES: u64 = 128 * 1024;
const SECOND_COPY_BYTES: u64 = 64 * 1024;
/// More than any medium has, and small enough that no offset overflows.
const MEMBER_BYTES_MAX: u64 = i64::MAX as u64;
const SLOTS_MIN: u64 = 2;

/// The place of an append: the slot, counted through all laps of the member, and the offset in it.
///
/// Places are ordered as they are written. The slot on the medium is `slot_serial % slot_count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppendPlace {
    /// Counts the slots of a member through all laps, from 0. The largest value is not a serial.
    pub slot_serial: u64,
    /// Offset from the start of the slot; a multiple of a block.
    pub slot_offset_bytes: u32,
}

impl AppendPlace {
    /// The beginning of a slot.
    pub(crate) fn of_slot(slot_serial: u64) -> AppendPlace {
        AppendPlace {
            slot_serial,
            slot_offset_bytes: 0,
        }
    }

    /// Whether an append can begin there, on some member.
    pub(super) fn is_valid(self) -> bool {
        self.slot_serial != u64::MAX
            && self.slot_offset_bytes.is_multiple_of(BLOCK_BYTES as u32)
            && self.slot_offset_bytes < SLOT_BYTES_MAX
    }
}

/// How a member is divided into slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// A power of two from 64 KiB to 16 MiB.
    pub slot_bytes: u32,
    /// Offset at which slot 0 begins. The slots follow each other from there.
    pub first_slot_offset_bytes: u64,
    /// At least two.
    pub slot_count: u64,
    /// The member's size, rounded down to whole blocks.
    pub member_bytes: u64,
}

/// Why a member cannot be divided into slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// The member cannot hold two slots and the superblocks.
    #[error(
        "{} is too small: with this slot size a member needs at least {}; make it larger, or use \
         `sustain create` with a smaller {}", Size(*capacity_bytes), Size(*needed_bytes), SLOT
    )]
    TooSmall {
        /// Bytes that the member has.
        capacity_bytes: u64,
        /// Bytes that the smallest member with such slots has.
        needed_bytes: u64,
    },
    /// The slot size is not a power of two, or out of range.
    #[error("{slot_bytes} bytes is not a slot size: choose a power of two from 64 KiB to 16 MiB")]
    SlotSize {
        /// The size that was asked for.
        slot_bytes: u32,
    },
}

impl Geometry {
    /// Divides a member of `capacity_bytes` into as many slots of `slot_bytes` as fit.
    ///
    /// # Errors
    /// If the slot size is not possible, or fewer than two slots fit.
    pub fn of_member(capacity_bytes: u64, slot_bytes: u32) -> Result<Geometry, GeometryError> {
        if !is_slot_size(slot_bytes) {
            return Err(GeometryError::SlotSize { slot_bytes });
        }
        let first_slot_offset_bytes = first_slot_offset(slot_bytes);
        let needed_bytes = Geometry::member_bytes_min(slot_bytes);
        let capacity = capacity_bytes.min(MEMBER_BYTES_MAX);
        let member_bytes = capacity - capacity % BLOCK_BYTES as u64;
        let around_bytes = first_slot_offset_bytes + SUPERBLOCK_ROOM_BYTES;
        let slot_count = member_bytes.saturating_sub(around_bytes) / u64::from(slot_bytes);
        if slot_count < SLOTS_MIN {
            return Err(GeometryError::TooSmall {
                capacity_bytes,
                needed_bytes,
            });
        }
        Ok(Geometry {
            slot_bytes,
            first_slot_offset_bytes,
            slot_count,
            member_bytes,
        })
    }

    /// Bytes that the smallest member with slots of this size has.
    pub fn member_bytes_min(slot_bytes: u32) -> u64 {
        let around_bytes = first_slot_offset(slot_bytes) + SUPERBLOCK_ROOM_BYTES;
        around_bytes + SLOTS_MIN * u64::from(slot_bytes)
    }

    /// Whether a member can be divided in this way. The other functions may be called only if it
    /// can.
    pub fn is_valid(&self) -> bool {
        is_slot_size(self.slot_bytes)
            && self.first_slot_offset_bytes == first_slot_offset(self.slot_bytes)
            && self.slot_count >= SLOTS_MIN
            && self.member_bytes.is_multiple_of(BLOCK_BYTES as u64)
            && self.member_bytes <= MEMBER_BYTES_MAX
            && self
                .slot_count
                .checked_mul(u64::from(self.slot_bytes))
                .and_then(|slots| slots.checked_add(self.first_slot_offset_bytes))
                .and_then(|end| end.checked_add(SUPERBLOCK_ROOM_BYTES))
                .is_some_and(|end| end <= self.member_bytes)
    }

    /// The offset of `place` on the member.
    ///
    /// # Panics
    /// If the geometry is not valid.
    pub fn offset_of(&self, place: AppendPlace) -> u64 {
        self.first_slot_offset_bytes
            + place.slot_serial % self.slot_count * u64::from(self.slot_bytes)
            + u64::from(place.slot_offset_bytes)
    }

    /// The offset behind the last slot of the member.
    ///
    /// # Panics
    /// If the geometry is not valid.
    pub fn slots_end_bytes(&self) -> u64 {
        self.first_slot_offset_bytes + self.slot_count * u64::from(self.slot_bytes)
    }

    /// In a ring the start of a recording is repeated at most this many slots behind the one
    /// before: before that one is overwritten, and with a slot between for an append as large as a
    /// slot.
    ///
    /// # Panics
    /// If the geometry is not valid.
    pub fn start_repeat_slots(&self) -> u64 {
        (self.slot_count / 2).max(2).min(self.slot_count - 1)
    }

    /// The offsets of the four copies of the superblock, A to D, in bytes.
    ///
    /// # Panics
    /// If the geometry is not valid.
    pub fn superblock_offsets(&self) -> [u64; 4] {
        [
            0,
            SECOND_COPY_BYTES,
            self.member_bytes - SUPERBLOCK_ROOM_BYTES,
            self.member_bytes - BLOCK_BYTES as u64,
        ]
    }
}

fn is_slot_size(slot_bytes: u32) -> bool {
    slot_bytes.is_power_of_two() && (SLOT_BYTES_MIN..=SLOT_BYTES_MAX).contains(&slot_bytes)
}

/// The offset is aligned to the slot size, so that every slot is.
fn first_slot_offset(slot_bytes: u32) -> u64 {
    u64::from(slot_bytes).max(SUPERBLOCK_ROOM_BYTES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_slots_lie_between_the_superblocks() {
        let geometry = Geometry::of_member(100 * MIB + 5000, 8 << 20).unwrap();
        assert_eq!(
            geometry,
            Geometry {
                slot_bytes: 8 << 20,
                first_slot_offset_bytes: 8 * MIB,
                slot_count: 11,
                member_bytes: 100 * MIB + 4096,
            }
        );
        assert_eq!(
            geometry.superblock_offsets(),
            [0, 64 << 10, 100 * MIB + 4096 - (128 << 10), 100 * MIB]
        );
        let place = |slot_serial, slot_offset_bytes| AppendPlace {
            slot_serial,
            slot_offset_bytes,
        };
        assert_eq!(geometry.offset_of(place(0, 0)), 8 * MIB);
        assert_eq!(geometry.offset_of(place(10, 4096)), 88 * MIB + 4096);
        assert_eq!(geometry.offset_of(place(11, 0)), 8 * MIB);
        assert_eq!(geometry.slots_end_bytes(), 96 * MIB);
        assert_eq!(geometry.offset_of(place(11 * 7 + 3, 8192)), 32 * MIB + 8192);
    }

    #[test]
    fn small_slots_leave_room_for_the_first_two_superblocks() {
        let geometry = Geometry::of_member(MIB, SLOT_BYTES_MIN).unwrap();
        assert_eq!(geometry.first_slot_offset_bytes, 128 << 10);
        assert_eq!(geometry.slot_count, 12);
    }

    #[test]
    fn a_member_that_is_too_small_is_told_what_it_needs() {
        for slot_bytes in [SLOT_BYTES_MIN, 8 << 20, SLOT_BYTES_MAX] {
            let error = Geometry::of_member(0, slot_bytes).unwrap_err();
            let GeometryError::TooSmall { needed_bytes, .. } = error else {
                panic!("{error}");
            };
            assert!(Geometry::of_member(needed_bytes - 1, slot_bytes).is_err());
            let geometry = Geometry::of_member(needed_bytes, slot_bytes).unwrap();
            assert_eq!(geometry.slot_count, 2);
        }
    }

    #[test]
    fn a_slot_that_is_no_power_of_two_in_range_is_refused() {
        for slot_bytes in [0, 4096, 32 << 10, 96 << 10, 32 << 20, u32::MAX] {
            assert_eq!(
                Geometry::of_member(1 << 40, slot_bytes),
                Err(GeometryError::SlotSize { slot_bytes })
            );
        }
    }

    proptest! {
        #[test]
        fn every_slot_lies_within_the_member_and_clear_of_the_superblocks(
            capacity_bytes in prop_oneof![0..1_u64 << 32, any::<u64>()],
            shift in 16..=24_u32,
            slot_serial in any::<u64>(),
        ) {
            let Ok(geometry) = Geometry::of_member(capacity_bytes, 1 << shift) else {
                return Ok(());
            };
            prop_assert!(geometry.is_valid());
            let start = geometry.offset_of(AppendPlace { slot_serial, slot_offset_bytes: 0 });
            let [_, second, third, fourth] = geometry.superblock_offsets();
            prop_assert!(start >= second + 4096);
            prop_assert!(start + u64::from(geometry.slot_bytes) <= third);
            prop_assert!(third < fourth && fourth < geometry.member_bytes);
            prop_assert!(geometry.member_bytes <= capacity_bytes);
            prop_assert_eq!(start % u64::from(geometry.slot_bytes), 0);
            let one_more = Geometry { slot_count: geometry.slot_count + 1, ..geometry };
            prop_assert!(!one_more.is_valid());
        }

        #[test]
        fn no_geometry_that_is_valid_overflows(
            slot_bytes in prop_oneof![Just(1_u32 << 16), Just(1 << 24), any::<u32>()],
            first_slot_offset_bytes in prop_oneof![Just(1_u64 << 17), Just(1 << 24), any::<u64>()],
            slot_count in any::<u64>(),
            blocks in 0..=u64::MAX / 4096,
            slot_serial in any::<u64>(),
            slot_offset_bytes in any::<u32>(),
        ) {
            let member_bytes = blocks * 4096;
            let geometry =
                Geometry { slot_bytes, first_slot_offset_bytes, slot_count, member_bytes };
            if geometry.is_valid() {
                geometry.offset_of(AppendPlace { slot_serial, slot_offset_bytes });
                geometry.superblock_offsets();
            }
        }
    }
}
