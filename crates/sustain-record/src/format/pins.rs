//! Pins: stretches of a ring that are kept while it goes on in what is left. The superblock has a
//! table of them.

use zerocopy::little_endian::{I64, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Most pins that a member can have.
pub const PINS_MAX: usize = 16;

/// Where something is told that has not come yet.
pub(super) const NOT_YET: u64 = u64::MAX;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub(super) struct PinBytes {
    number: U32,
    reserved: [u8; 4],
    from_slot: U64,
    end_slot: U64,
    end_sequence: U64,
    freed_slot: U64,
    from_time: I64,
    to_time: I64,
    told_sequence: U64,
}

const _: () = assert!(size_of::<PinBytes>() * PINS_MAX == 1024);

/// A stretch of a ring that is not overwritten, as it lies on one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// Its number in the store, from 1. It is the same on all members.
    pub number: u32,
    /// Serial of the first slot that is kept here.
    pub from_slot: u64,
    /// The serial behind the last one; none as long as all that comes is kept.
    pub end_slot: Option<u64>,
    /// What lies below this sequence, from `from_slot` on, is in the slots that are kept. It has no
    /// meaning as long as the end is open.
    pub end_sequence: u64,
    /// Some member has an append from this sequence on, below `end_sequence`, that calls all
    /// durable that is kept; 0 if that is not known, as of an end that another one than the
    /// recorder told.
    pub told_sequence: u64,
    /// The serial from which on nothing is kept any more; none if it was not freed.
    pub freed_slot: Option<u64>,
    /// The times that were asked for, in nanoseconds since 1970.
    pub from_time_ns: i64,
    /// The end of the same.
    pub to_time_ns: i64,
}

impl Pin {
    /// A pin that keeps all that comes from this slot on, until its end is told.
    pub fn open(number: u32, from_slot: u64, (from_time_ns, to_time_ns): (i64, i64)) -> Pin {
        Pin {
            number,
            from_slot,
            end_slot: None,
            end_sequence: 0,
            told_sequence: 0,
            freed_slot: None,
            from_time_ns,
            to_time_ns,
        }
    }

    /// Whether it can be a pin of a member with so many slots.
    pub(super) fn is_valid(&self, slot_count: u64) -> bool {
        let length = self
            .end_slot
            .map(|end_slot| end_slot.checked_sub(self.from_slot));
        self.number > 0
            && self.from_slot < NOT_YET
            && self.end_slot != Some(NOT_YET)
            && self.freed_slot != Some(NOT_YET)
            && length.is_none_or(|length| {
                length.is_some_and(|length| length > 0 && length <= slot_count)
            })
    }

    /// Whether it still keeps what it was set for.
    pub fn is_set(&self) -> bool {
        self.freed_slot.is_none()
    }

    /// The same pin, with its end before this slot if that is open.
    #[must_use]
    pub fn closed_at(mut self, slot_serial: u64, end_sequence: u64) -> Pin {
        if self.end_slot.is_none() {
            self.end_slot = Some(slot_serial.max(self.from_slot.saturating_add(1)));
            self.end_sequence = end_sequence;
        }
        self
    }

    /// The same pin, with its end not farther behind its beginning than a member has slots. What
    /// lies there tells more only where its superblock is older than its slots.
    #[must_use]
    pub fn within(mut self, slot_count: u64) -> Pin {
        let most = self.from_slot.saturating_add(slot_count);
        self.end_slot = self.end_slot.map(|end_slot| end_slot.min(most));
        self
    }

    pub(super) fn of_bytes(bytes: &PinBytes) -> Pin {
        let known = |slot: U64| Some(slot.get()).filter(|slot| *slot != NOT_YET);
        Pin {
            number: bytes.number.get(),
            from_slot: bytes.from_slot.get(),
            end_slot: known(bytes.end_slot),
            end_sequence: bytes.end_sequence.get(),
            told_sequence: bytes.told_sequence.get(),
            freed_slot: known(bytes.freed_slot),
            from_time_ns: bytes.from_time.get(),
            to_time_ns: bytes.to_time.get(),
        }
    }

    pub(super) fn to_bytes(self) -> PinBytes {
        PinBytes {
            number: self.number.into(),
            reserved: [0; 4],
            from_slot: self.from_slot.into(),
            end_slot: self.end_slot.unwrap_or(NOT_YET).into(),
            end_sequence: self.end_sequence.into(),
            freed_slot: self.freed_slot.unwrap_or(NOT_YET).into(),
            from_time: self.from_time_ns.into(),
            to_time: self.to_time_ns.into(),
            told_sequence: self.told_sequence.into(),
        }
    }
}
