//! One slot searched through for appends, part by part: over what is whole by its length, else block
//! by block. Of a part that cannot be read as a whole, each block is tried by itself.

use sustain_disk::error::Errno;

use crate::format::{BLOCK_BYTES, Descriptor};
use crate::walk::{Cursor, Head, Identity};

/// How much is read where an append is expected.
const EXPECTING_BYTES: u32 = 64 << 10;
/// How much is read where nothing is.
const SEARCHING_BYTES: u32 = 1 << 20;

/// What was found in a slot.
#[derive(Debug, Default)]
pub(super) struct SlotContent {
    /// The first and the last append of each recording, in order; there is seldom more than one.
    pub(super) recordings: Vec<(Descriptor, Descriptor)>,
    /// The largest there, of appends of unknown kinds too; none if there is no append.
    pub(super) max_sequence: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Search {
    cursor: Cursor,
    content: SlotContent,
    /// Up to here each block is read by itself.
    by_blocks_until_bytes: u32,
    read_bytes: u64,
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

impl Search {
    pub(super) fn new(slot_serial: u64) -> Search {
        Search {
            cursor: Cursor::new(slot_serial),
            content: SlotContent::default(),
            by_blocks_until_bytes: 0,
            read_bytes: 0,
        }
    }

    /// What was found, once all of the slot was looked at.
    pub(super) fn content(&self, slot_bytes: u32) -> Option<&SlotContent> {
        (self.cursor.position_bytes() >= slot_bytes).then_some(&self.content)
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

    /// Takes what was asked for last. The answer is how many blocks are known to be unreadable now.
    pub(super) fn learn(
        &mut self,
        identity: &Identity,
        length: usize,
        bytes: Result<&[u8], Errno>,
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
            if let Some(Head::Append(descriptor, _)) = self.cursor.look(identity, block) {
                self.content.add(*descriptor);
            }
            self.content.max_sequence = self.cursor.last_sequence();
        }
        0
    }
}
