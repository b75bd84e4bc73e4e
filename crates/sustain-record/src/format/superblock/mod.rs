//! The superblock: the description of a store and of one of its members.
//!
//! It is written by `create` and at both ends of a recording, and read first when a store is
//! opened.

use std::collections::BTreeSet;
use std::mem::offset_of;

use uuid::Uuid;
use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::crc32c_without_field;
use super::geometry::Geometry;
use super::pins::{PINS_MAX, Pin, PinBytes};
use super::slot_course::SlotCourse;
use super::{BLOCK_BYTES, MEMBERS_MAX, PARITIES_MAX, VERSION};

#[cfg(test)]
mod tests;

const MAGIC: [u8; 16] = *b"sustain-store\r\n\x1a";
const COPIES: u32 = 4;
/// The version of a superblock with pins. Whoever knows no pins would overwrite what they keep, so
/// it must refuse the store.
const VERSION_WITH_PINS: u32 = 2;
/// The version of a superblock of a store with parity, and the newest that can be read. Whoever
/// knows no parity would write between the appends of groups, and go round over them without a
/// word.
const VERSION_WITH_PARITY: u32 = 3;
const FLAG_PREWRITTEN: u32 = 1;
const FLAG_ENDED: u32 = 2;
const FLAG_BEING_REPAIRED: u32 = 4;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SuperblockBytes {
    magic: [u8; 16],
    version: U32,
    crc: U32,
    copy: U32,
    slot_bytes: U32,
    store: [u8; 16],
    member: [u8; 16],
    generation: U64,
    created: I64,
    member_bytes: U64,
    first_slot: U64,
    slot_count: U64,
    member_index: U16,
    member_count: U16,
    flags: U32,
    slots_begun: U64,
    parity_count: U16,
    reserved: [u8; 2],
    recordings_begun: U32,
    ended_slots: U64,
    pin_count: U16,
    reserved_too: [u8; 2],
    pins_numbered: U32,
    slot_counts: [U32; MEMBERS_MAX],
    repaired_slots: U64,
    first_recording: U32,
    retired: [u8; MEMBERS_MAX / 8],
    behind: [u8; MEMBERS_MAX / 8],
    reserved_last: [u8; 324],
    members: [[u8; 16]; MEMBERS_MAX],
    pins: [PinBytes; PINS_MAX],
}

const _: () = assert!(size_of::<SuperblockBytes>() == BLOCK_BYTES);

/// The description of a store and of one of its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// The store that the member belongs to.
    pub store: Uuid,
    /// This member; the same as `members[member_index]`.
    pub member: Uuid,
    /// Larger in newer copies.
    pub generation: u64,
    /// When the store was created, in nanoseconds since 1970.
    pub created_ns: i64,
    /// How this member is divided into slots.
    pub geometry: Geometry,
    /// This member's place among all.
    pub member_index: u16,
    /// All members of the store, in order: 1 to 128, no two alike.
    pub members: Vec<Uuid>,
    /// Whether every byte of the slots was written before use.
    pub is_prewritten: bool,
    /// Whether it was written behind the end mark of the last recording, when that was durable.
    pub has_ended: bool,
    /// At least this many slot serials have been begun. This is only a hint.
    pub slots_begun: u64,
    /// The number of the newest recording that was begun, on whichever members; 0 if there is none,
    /// or an older recorder does not tell.
    pub recordings_begun: u32,
    /// The slot of the last end mark here that became durable; none if an older recorder does not
    /// tell.
    pub end_slot: Option<u64>,
    /// What is kept of a ring, and what was until lately: at most [`PINS_MAX`], no two with the
    /// same number.
    pub pins: Vec<Pin>,
    /// The largest number that was ever given to a pin, as far as is told; 0 if none was, or an
    /// older recorder does not tell. No number is given again.
    pub pins_numbered: u32,
    /// With so many appends of parity a recording protects each group by default.
    pub parities: u16,
    /// In a store that has or had parity, how many slots each of `members` has: a missing one is
    /// read through the others. Empty in a store that never had any.
    pub slot_counts: Vec<u64>,
    /// What was in all slots before this one was computed from other members and written here. It
    /// may lack marks and parity. 0 if nothing was; only in a store that has or had parity.
    pub repaired_slots: u64,
    /// Whether it takes the place of a lost member, and does not have all of that yet. Only in a
    /// store that has or had parity.
    pub is_being_repaired: bool,
    /// The number of the first recording that may have anything on it, if it was added to the
    /// store; else 0.
    pub first_recording: u32,
    /// The members that were retired, by their places among `members`: what they had is on others
    /// as well, and nothing is recorded on them any more. Only in a store that has or had parity.
    pub retired: BTreeSet<u16>,
    /// The members that failed while they were recorded to, or kept what they were given for long,
    /// by their places among `members`: what they lack may have been told to be durable, because it
    /// can be computed from the others. Until they have caught up, are repaired, or it is found
    /// that they lack nothing. Only in a store that has or had parity.
    pub behind: BTreeSet<u16>,
}

/// Why a block is not a superblock that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SuperblockError {
    /// It is something else.
    #[error("there is no store here: name its members, or create one with `sustain create`")]
    Foreign,
    /// It was written by a later version of the format. Nothing else in it is believed.
    #[error(
        "this store has format version {version}, and version {VERSION_WITH_PARITY} is the newest \
         known here: use a newer sustain"
    )]
    Newer {
        /// Its version.
        version: u32,
    },
    /// It was a superblock, but a checksum or its content is wrong.
    #[error("the superblock is damaged: see whether another copy, or another member, is whole")]
    Damaged,
}

impl Superblock {
    /// Encodes the block of copy 0 (A) to 3 (D).
    ///
    /// # Panics
    /// If there is no such copy, or if the superblock is not one that could be decoded again.
    pub fn encode(&self, copy: u32) -> Vec<u8> {
        assert!(copy < COPIES, "a superblock has four copies");
        assert!(self.is_valid(), "a superblock is consistent: {self:?}");
        let mut block = vec![0; BLOCK_BYTES];
        let layout = SuperblockBytes::mut_from_bytes(&mut block).expect("it is one block");
        layout.magic = MAGIC;
        layout.version = self.version().into();
        layout.copy = copy.into();
        layout.slot_bytes = self.geometry.slot_bytes.into();
        layout.store = self.store.into_bytes();
        layout.member = self.member.into_bytes();
        layout.generation = self.generation.into();
        layout.created = self.created_ns.into();
        layout.member_bytes = self.geometry.member_bytes.into();
        layout.first_slot = self.geometry.first_slot_offset_bytes.into();
        layout.slot_count = self.geometry.slot_count.into();
        layout.member_index = self.member_index.into();
        layout.member_count = (self.members.len() as u16).into();
        let prewritten = if self.is_prewritten {
            FLAG_PREWRITTEN
        } else {
            0
        };
        let ended = if self.has_ended { FLAG_ENDED } else { 0 };
        let being_repaired = match self.is_being_repaired {
            true => FLAG_BEING_REPAIRED,
            false => 0,
        };
        layout.flags = (prewritten | ended | being_repaired).into();
        layout.repaired_slots = self.repaired_slots.into();
        layout.first_recording = self.first_recording.into();
        set_bits(&mut layout.retired, &self.retired);
        set_bits(&mut layout.behind, &self.behind);
        layout.slots_begun = self.slots_begun.into();
        layout.recordings_begun = self.recordings_begun.into();
        let ended_slots = self.end_slot.map_or(0, |slot| slot.saturating_add(1));
        layout.ended_slots = ended_slots.into();
        for (entry, member) in layout.members.iter_mut().zip(&self.members) {
            *entry = member.into_bytes();
        }
        layout.pins_numbered = self.pins_numbered.into();
        layout.pin_count = (self.pins.len() as u16).into();
        layout.parity_count = self.parities.into();
        for (entry, slots) in layout.slot_counts.iter_mut().zip(&self.slot_counts) {
            // It is consistent, so it fits.
            *entry = U32::new(*slots as u32);
        }
        for (entry, pin) in layout.pins.iter_mut().zip(&self.pins) {
            *entry = pin.to_bytes();
        }
        layout.crc = crc_of(layout).into();
        block
    }

    /// Reads the superblock in the first block of `bytes`.
    ///
    /// # Errors
    /// If there is none, or it is damaged, or of a later version. The version is checked first,
    /// because a later one may keep its checksum elsewhere.
    pub fn decode(bytes: &[u8]) -> Result<Superblock, SuperblockError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(SuperblockError::Foreign);
        }
        let (layout, _) =
            SuperblockBytes::ref_from_prefix(bytes).map_err(|_| SuperblockError::Damaged)?;
        let version = layout.version.get();
        if version > VERSION_WITH_PARITY {
            return Err(SuperblockError::Newer { version });
        }
        if version < VERSION || layout.crc.get() != crc_of(layout) {
            return Err(SuperblockError::Damaged);
        }
        // In version 1 the table is reserved space.
        let pin_count = match version {
            VERSION => 0,
            _ => usize::from(layout.pin_count.get()),
        };
        let parities = match version {
            VERSION_WITH_PARITY => layout.parity_count.get(),
            _ => 0,
        };
        let pins = layout.pins.get(..pin_count);
        let pins = pins.ok_or(SuperblockError::Damaged)?;
        let member_count = usize::from(layout.member_count.get());
        let members = layout
            .members
            .get(..member_count)
            .ok_or(SuperblockError::Damaged)?;
        let superblock = Superblock {
            store: Uuid::from_bytes(layout.store),
            member: Uuid::from_bytes(layout.member),
            generation: layout.generation.get(),
            created_ns: layout.created.get(),
            geometry: Geometry {
                slot_bytes: layout.slot_bytes.get(),
                first_slot_offset_bytes: layout.first_slot.get(),
                slot_count: layout.slot_count.get(),
                member_bytes: layout.member_bytes.get(),
            },
            member_index: layout.member_index.get(),
            members: members.iter().copied().map(Uuid::from_bytes).collect(),
            is_prewritten: layout.flags.get() & FLAG_PREWRITTEN != 0,
            has_ended: layout.flags.get() & FLAG_ENDED != 0,
            slots_begun: layout.slots_begun.get(),
            recordings_begun: layout.recordings_begun.get(),
            end_slot: layout.ended_slots.get().checked_sub(1),
            pins: pins.iter().map(Pin::of_bytes).collect(),
            pins_numbered: layout.pins_numbered.get(),
            parities,
            slot_counts: match version {
                VERSION_WITH_PARITY => slot_counts(&layout.slot_counts[..member_count]),
                _ => Vec::new(),
            },
            repaired_slots: match version {
                VERSION_WITH_PARITY => layout.repaired_slots.get(),
                _ => 0,
            },
            is_being_repaired: version == VERSION_WITH_PARITY
                && layout.flags.get() & FLAG_BEING_REPAIRED != 0,
            first_recording: layout.first_recording.get(),
            retired: members_of(version, &layout.retired),
            behind: members_of(version, &layout.behind),
        };
        if layout.copy.get() < COPIES && superblock.is_valid() {
            Ok(superblock)
        } else {
            Err(SuperblockError::Damaged)
        }
    }

    fn is_valid(&self) -> bool {
        self.geometry.is_valid()
            && self.members.len() <= MEMBERS_MAX
            && self.members.get(usize::from(self.member_index)) == Some(&self.member)
            && are_distinct(self.members.iter().copied())
            && self.pins.len() <= PINS_MAX
            && are_distinct(self.pins.iter().map(|pin| pin.number))
            && self
                .pins
                .iter()
                .all(|pin| pin.is_valid(self.geometry.slot_count))
            && self.is_parity_valid()
    }

    fn is_parity_valid(&self) -> bool {
        if self.slot_counts.is_empty() {
            return self.parities == 0
                && self.repaired_slots == 0
                && !self.is_being_repaired
                && self.retired.is_empty()
                && self.behind.is_empty();
        }
        let is_member = |member: &u16| usize::from(*member) < self.members.len();
        let mut slot_counts = self.slot_counts.iter();
        usize::from(self.parities) <= PARITIES_MAX
            && self.slot_counts.len() == self.members.len()
            && slot_counts.all(|slots| *slots <= u64::from(u32::MAX))
            && self.retired.iter().all(is_member)
            && self.retired.len() < self.members.len()
            && self.behind.iter().all(is_member)
            && self.slot_counts.get(usize::from(self.member_index))
                == Some(&self.geometry.slot_count)
    }

    fn version(&self) -> u32 {
        match (self.has_parity(), self.pins.is_empty()) {
            (true, _) => VERSION_WITH_PARITY,
            (false, false) => VERSION_WITH_PINS,
            (false, true) => VERSION,
        }
    }

    /// Whether the store has or had parity.
    pub fn has_parity(&self) -> bool {
        !self.slot_counts.is_empty()
    }

    /// Whether a member, by its place among all, was retired.
    pub fn is_retired(&self, member: usize) -> bool {
        u16::try_from(member).is_ok_and(|member| self.retired.contains(&member))
    }

    /// The largest number that was ever given to a pin, as far as this tells.
    pub fn largest_pin(&self) -> u32 {
        let numbers = self.pins.iter().map(|pin| pin.number);
        numbers.max().unwrap_or(0).max(self.pins_numbered)
    }

    /// The order in which the slots of this member are written.
    pub fn course(&self) -> SlotCourse {
        SlotCourse::new(self.geometry.slot_count, &self.pins)
    }
}

/// Sets these members in a table of bits.
fn set_bits(bits: &mut [u8], members: &BTreeSet<u16>) {
    for member in members {
        bits[usize::from(*member / 8)] |= 1 << (member % 8);
    }
}

/// The members that are set in a table of bits, which only a store with parity has.
fn members_of(version: u32, bits: &[u8]) -> BTreeSet<u16> {
    let members = 0..(bits.len() * 8) as u16;
    members
        .filter(|member| bits[usize::from(member / 8)] & 1 << (member % 8) != 0)
        .filter(|_| version == VERSION_WITH_PARITY)
        .collect()
}

/// Returns the superblock that counts among a member's copies: the valid one with the largest
/// generation.
///
/// # Errors
/// If no copy is valid: that of a later version if there is one, or else that a superblock is
/// damaged, or else that there is none.
pub fn newest(
    copies: impl IntoIterator<Item = Result<Superblock, SuperblockError>>,
) -> Result<Superblock, SuperblockError> {
    copies
        .into_iter()
        .reduce(|best, other| {
            if rank(&other) > rank(&best) {
                other
            } else {
                best
            }
        })
        .unwrap_or(Err(SuperblockError::Foreign))
}

fn rank(copy: &Result<Superblock, SuperblockError>) -> (u8, u64) {
    match copy {
        Ok(superblock) => (3, superblock.generation),
        Err(SuperblockError::Newer { version }) => (2, u64::from(*version)),
        Err(SuperblockError::Damaged) => (1, 0),
        Err(SuperblockError::Foreign) => (0, 0),
    }
}

fn slot_counts(counts: &[U32]) -> Vec<u64> {
    counts.iter().map(|slots| u64::from(slots.get())).collect()
}

fn are_distinct<T: Ord>(all: impl Iterator<Item = T>) -> bool {
    let mut sorted: Vec<T> = all.collect();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

fn crc_of(layout: &SuperblockBytes) -> u32 {
    crc32c_without_field(layout.as_bytes(), offset_of!(SuperblockBytes, crc))
}
