//! Reads what can be read of a stretch with blocks that cannot.

use std::collections::BTreeSet;

use super::{MemberIo, ReadOrder};
use crate::error::RecordError;
use crate::format::BLOCK_BYTES;

/// A stretch of a member, as it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadStretch {
    /// Where it cannot be read there are zeros.
    pub(crate) bytes: Vec<u8>,
    /// The blocks that cannot be read, by where they begin.
    pub(crate) unreadable: BTreeSet<usize>,
}

impl MemberIo {
    /// Reads a stretch at once, or, where that fails, block by block.
    ///
    /// # Errors
    /// [`RecordError::Engine`].
    pub(crate) fn read_stretch(&mut self, order: ReadOrder) -> Result<ReadStretch, RecordError> {
        let whole = self.read_all(&[order]).swap_remove(0);
        self.check_engine()?;
        if let Ok(bytes) = whole {
            let unreadable = BTreeSet::new();
            return Ok(ReadStretch { bytes, unreadable });
        }
        let starts = (0..order.length_bytes).step_by(BLOCK_BYTES);
        let orders = starts.map(|start| ReadOrder {
            offset_bytes: order.offset_bytes + start as u64,
            length_bytes: BLOCK_BYTES.min(order.length_bytes - start),
            ..order
        });
        let orders: Vec<ReadOrder> = orders.collect();
        let blocks = self.read_all(&orders);
        self.check_engine()?;
        let mut read = ReadStretch::default();
        for (block, order) in blocks.into_iter().zip(&orders) {
            let start = read.bytes.len();
            match block {
                Ok(block) => read.bytes.extend(block),
                Err(_) => {
                    read.unreadable.insert(start);
                    read.bytes.resize(start + order.length_bytes, 0);
                }
            }
        }
        Ok(read)
    }
}
