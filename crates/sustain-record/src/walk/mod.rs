//! Walks through the appends in the bytes of one slot, in order. Opening, reading and checking use
//! it.
//!
//! It must never take payload for a descriptor while the descriptor before it is whole, and never
//! believe a descriptor that says that it lies elsewhere.

use std::ops::Range;

use uuid::Uuid;

use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, DescriptorError, Geometry, Skip, Superblock, is_sealed,
};

mod bisection;
#[cfg(test)]
mod tests;

pub(crate) use bisection::divide;

/// The identity of a member, which every descriptor on it must carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AppendIdentity {
    /// The store.
    pub store: Uuid,
    /// The member.
    pub member: Uuid,
    /// How the member is divided into slots.
    pub geometry: Geometry,
}

/// An append that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAppend {
    /// Its descriptor.
    pub descriptor: Descriptor,
    /// The checksum that the descriptor carries.
    pub descriptor_crc: u32,
    /// Its range in the slot. If the bytes are a prefix of the slot, it may reach beyond them.
    pub range: Range<usize>,
    /// Whether it ends with its seal, which must be among the bytes.
    pub sealed: bool,
}

/// Walks through the appends of one slot. A damaged descriptor costs its append: the walk goes on
/// block by block behind it. Appends of an unknown kind are passed over.
#[derive(Debug, Clone)]
pub struct Walk<'a> {
    identity: &'a AppendIdentity,
    bytes: &'a [u8],
    cursor: Cursor,
}

impl AppendIdentity {
    /// The identity of the member with this superblock.
    pub fn of(superblock: &Superblock) -> AppendIdentity {
        AppendIdentity {
            store: superblock.store,
            member: superblock.member,
            geometry: superblock.geometry,
        }
    }

    /// The append that begins at `place`, given the bytes from there on.
    pub(crate) fn head_at(&self, place: AppendPlace, bytes: &[u8]) -> Option<Head> {
        self.head(bytes).filter(|head| head.place() == place)
    }

    /// The append that begins with these bytes, if it belongs to this member. The caller must
    /// compare its place.
    pub(crate) fn head(&self, bytes: &[u8]) -> Option<Head> {
        match Descriptor::decode(bytes) {
            Ok((descriptor, crc)) => descriptor
                .fits(&self.geometry, self.member, self.store, descriptor.place)
                .then(|| Head::Append(Box::new(descriptor), crc)),
            Err(DescriptorError::UnknownKind(skip)) => skip
                .fits(&self.geometry, self.member, self.store, skip.place)
                .then_some(Head::Skip(skip)),
            Err(_) => None,
        }
    }
}

/// The descriptor that begins the slot with this serial, given the slot's first block.
pub fn first_descriptor(
    block: &[u8],
    identity: &AppendIdentity,
    slot_serial: u64,
) -> Option<(Descriptor, u32)> {
    let place = AppendPlace {
        slot_serial,
        slot_offset_bytes: 0,
    };
    match identity.head_at(place, block) {
        Some(Head::Append(descriptor, crc)) => Some((*descriptor, crc)),
        Some(Head::Skip(_)) | None => None,
    }
}

impl<'a> Walk<'a> {
    /// Walks through the slot with this serial, or through a prefix of it.
    pub fn new(identity: &'a AppendIdentity, slot_serial: u64, bytes: &'a [u8]) -> Walk<'a> {
        let slot_bytes = identity.geometry.slot_bytes as usize;
        Walk {
            identity,
            bytes: &bytes[..bytes.len().min(slot_bytes)],
            cursor: Cursor::new(slot_serial),
        }
    }

    /// The largest sequence met so far, including that of appends that were passed over.
    pub fn last_sequence(&self) -> Option<u64> {
        self.cursor.last_sequence
    }
}

impl Iterator for Walk<'_> {
    type Item = FoundAppend;

    fn next(&mut self) -> Option<FoundAppend> {
        loop {
            let start = self.cursor.position_bytes() as usize;
            let block = self.bytes.get(start..start + BLOCK_BYTES)?;
            let Some(Head::Append(descriptor, descriptor_crc)) =
                self.cursor.look(self.identity, block)
            else {
                continue;
            };
            let end = start + descriptor.append_bytes as usize;
            let last_block = self.bytes.get(end - BLOCK_BYTES..end);
            return Some(FoundAppend {
                sealed: last_block.is_some_and(|last| is_sealed(&descriptor, descriptor_crc, last)),
                descriptor: *descriptor,
                descriptor_crc,
                range: start..end,
            });
        }
    }
}

/// The block with which an append begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    /// A descriptor, and the checksum that it carries.
    Append(Box<Descriptor>, u32),
    /// An append of a kind that only a later version knows.
    Skip(Skip),
}

impl Head {
    pub(crate) fn place(&self) -> AppendPlace {
        match self {
            Head::Append(descriptor, _) => descriptor.place,
            Head::Skip(skip) => skip.place,
        }
    }

    pub(crate) fn append_bytes(&self) -> u32 {
        match self {
            Head::Append(descriptor, _) => descriptor.append_bytes,
            Head::Skip(skip) => skip.append_bytes,
        }
    }

    pub(crate) fn sequence(&self) -> u64 {
        match self {
            Head::Append(descriptor, _) => descriptor.sequence,
            Head::Skip(skip) => skip.sequence,
        }
    }

    pub(crate) fn descriptor(&self) -> Option<&Descriptor> {
        match self {
            Head::Append(descriptor, _) => Some(descriptor),
            Head::Skip(_) => None,
        }
    }
}

/// The position of a walk through a slot. Whoever has the bytes shows it one block after another.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    place: AppendPlace,
    last_sequence: Option<u64>,
    /// Whether the last block that was shown began no append. Then anything may lie here, payload
    /// too.
    searching: bool,
}

impl Cursor {
    pub(crate) fn new(slot_serial: u64) -> Cursor {
        Cursor {
            place: AppendPlace {
                slot_serial,
                slot_offset_bytes: 0,
            },
            last_sequence: None,
            searching: false,
        }
    }

    /// Offset in the slot of the next block to show. At the slot's size the walk is over.
    pub(crate) fn position_bytes(&self) -> u32 {
        self.place.slot_offset_bytes
    }

    pub(crate) fn is_searching(&self) -> bool {
        self.searching
    }

    pub(crate) fn last_sequence(&self) -> Option<u64> {
        self.last_sequence
    }

    /// Looks at the block at the position, and moves on: behind the append that begins there, or
    /// else behind the block.
    pub(crate) fn look(&mut self, identity: &AppendIdentity, block: &[u8]) -> Option<Head> {
        let Some(head) = identity.head_at(self.place, block) else {
            self.pass_block();
            return None;
        };
        if self
            .last_sequence
            .is_some_and(|last| head.sequence() <= last)
        {
            // Behind a whole append only an earlier lap can have left such a descriptor, and it
            // ends the slot. During a search it may as well be part of somebody's payload.
            if self.searching {
                self.pass_block();
            } else {
                self.place.slot_offset_bytes = identity.geometry.slot_bytes;
            }
            return None;
        }
        self.place.slot_offset_bytes += head.append_bytes();
        self.last_sequence = Some(head.sequence());
        self.searching = false;
        Some(head)
    }

    /// Passes over a block that cannot be read or begins nothing.
    pub(crate) fn pass_block(&mut self) {
        self.place.slot_offset_bytes += BLOCK_BYTES as u32;
        self.searching = true;
    }
}
