//! Searches one slot for appends, part by part. It passes over whole appends by their length, and
//! otherwise goes block by block. If a part cannot be read as a whole, each block is tried by
//! itself.

use std::collections::BTreeSet;

use sustain_disk::error::IoFault;

use crate::format::{BLOCK_BYTES, Descriptor};
use crate::walk::{AppendIdentity, Cursor, Head};

/// Length of a read where an append is expected.
const EXPECTING_BYTES: u32 = 64 << 10;
/// Length of a read where none is.
const SEARCHING_BYTES: u32 = 1 << 20;

/// What was found in a slot.
#[derive(Debug, Default)]
pub(super) struct SlotContent {
    /// The first and the last append of each recording, in order. There is seldom more than one
    /// recording.
    pub(super) recordings: Vec<(Descriptor, Descriptor)>,
    /// The largest sequence there, of appends of unknown kinds too; `None` if there is no append.
    pub(super) max_sequence: Option<u64>,
}

/// The content of a slot that has nothing of a serial.
pub(super) static NOTHING: SlotContent = SlotContent {
    recordings: Vec::new(),
    max_sequence: None,
};

#[derive(Debug)]
pub(super) struct TailSearch {
    cursor: Cursor,
    content: SlotContent,
    /// Up to this byte each block is read by itself.
    by_blocks_until_bytes: u32,
    read_bytes: u64,
    /// Whether no block was passed over: each block that can be read has been looked at.
    has_seen_all: bool,
    /// Serials of all appends that begin in these blocks and lie where they say.
    serials: BTreeSet<u64>,
}

impl SlotContent {
    pub(super) fn last(&self) -> Option<&Descriptor> {
        self.recordings.last().map(|(_, last)| last)
    }

    fn add(&mut self, descriptor: Descriptor) {
        match self.recordings.last_mut() {
            Some((_, last)) if last.recording == descriptor.recording => *last = descriptor,
            _ => self.recordings.push((descriptor.clone(), descriptor)),
        }
    }
}

impl TailSearch {
    pub(super) fn new(slot_serial: u64) -> TailSearch {
        TailSearch {
            cursor: Cursor::new(slot_serial),
            content: SlotContent::default(),
            by_blocks_until_bytes: 0,
            read_bytes: 0,
            has_seen_all: true,
            serials: BTreeSet::new(),
        }
    }

    /// What was found, once all of the slot was looked at.
    pub(super) fn content(&self, slot_bytes: u32) -> Option<&SlotContent> {
        (self.cursor.position_bytes() >= slot_bytes).then_some(&self.content)
    }

    /// The serials of which anything is in the slot, if all of it was looked at.
    pub(super) fn all_serials(&self, slot_bytes: u32) -> Option<&BTreeSet<u64>> {
        let is_over = self.content(slot_bytes).is_some();
        (is_over && self.has_seen_all).then_some(&self.serials)
    }

    /// Where in the slot to go on, and how much to read, in bytes.
    pub(super) fn next(&self, slot_bytes: u32) -> (u32, u32) {
        let position = self.cursor.position_bytes();
        let length = if position < self.by_blocks_until_bytes {
            BLOCK_BYTES as u32
        } else if self.cursor.is_searching() {
            SEARCHING_BYTES
        } else {
            EXPECTING_BYTES
        };
        (position, length.min(slot_bytes - position))
    }

    pub(super) fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Takes what was asked for last. Returns how many more blocks are now known to be unreadable.
    pub(super) fn learn(
        &mut self,
        identity: &AppendIdentity,
        length: usize,
        bytes: Result<&[u8], IoFault>,
    ) -> u64 {
        let start = self.cursor.position_bytes();
        let Ok(bytes) = bytes else {
            if length > BLOCK_BYTES {
                self.by_blocks_until_bytes = start + length as u32;
                return 0;
            }
            self.cursor.pass_block();
            return 1;
        };
        self.read_bytes += bytes.len() as u64;
        loop {
            let position = (self.cursor.position_bytes() - start) as usize;
            let Some(block) = bytes.get(position..position + BLOCK_BYTES) else {
                break;
            };
            if let Some(head) = identity.head(block)
                && head.place().slot_offset_bytes == self.cursor.position_bytes()
            {
                self.serials.insert(head.place().slot_serial);
            }
            if let Some(Head::Append(descriptor, _)) = self.cursor.look(identity, block) {
                self.content.add(*descriptor);
            }
            let next = start as usize + position + BLOCK_BYTES;
            self.has_seen_all &= self.cursor.position_bytes() as usize == next;
            self.content.max_sequence = self.cursor.last_sequence();
        }
        0
    }
}
