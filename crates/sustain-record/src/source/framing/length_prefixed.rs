//! Finds frames that have their length in four bytes in front of them. The framer calls it. It
//! accepts a length only up to a bound, because a stream without such lengths would otherwise look
//! like one endless frame.

use super::{ByteOrder, MarkCollector};

/// The largest length that is accepted by default: 256 MiB.
pub const LENGTH_BYTES_MAX_DEFAULT: u32 = 256 << 20;

const PREFIX_BYTES: usize = 4;

/// A length over the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ImplausibleLength {
    /// Offset of the prefix in the pushed bytes.
    pub offset: usize,
    /// The prefix.
    pub read: [u8; 4],
    /// The bound.
    pub length_bytes_max: u32,
}

#[derive(Debug, Clone)]
pub(super) struct LengthPrefixedFramer {
    byte_order: ByteOrder,
    length_bytes_max: u32,
    /// Bytes of the open frame that are still to come; 0 between frames.
    left_bytes: u32,
}

impl LengthPrefixedFramer {
    pub(super) fn new(byte_order: ByteOrder, length_bytes_max: u32) -> LengthPrefixedFramer {
        LengthPrefixedFramer {
            byte_order,
            length_bytes_max,
            left_bytes: 0,
        }
    }

    /// Bytes of the open frame that are still to come; none between frames.
    pub(super) fn frame_left_bytes(&self) -> Option<usize> {
        (self.left_bytes > 0).then_some(self.left_bytes as usize)
    }

    /// Takes all bytes, except a piece of a prefix at the end: no frame begins before its length
    /// has been checked.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        marks: &mut MarkCollector<'_>,
    ) -> Result<usize, ImplausibleLength> {
        let mut offset = 0;
        loop {
            if self.left_bytes > 0 {
                let rest_bytes = bytes.len() - offset;
                // A rest that does not fit into 32 bits is more than what is left of the frame.
                let step = u32::try_from(rest_bytes).map_or(self.left_bytes, |rest_bytes| {
                    rest_bytes.min(self.left_bytes)
                });
                self.left_bytes -= step;
                offset += step as usize;
                if self.left_bytes > 0 {
                    return Ok(offset);
                }
                marks.end(offset);
            }
            let Some(&prefix) = bytes[offset..].first_chunk::<PREFIX_BYTES>() else {
                return Ok(offset);
            };
            let length_bytes = self.length_bytes(prefix);
            if length_bytes > self.length_bytes_max {
                return Err(ImplausibleLength {
                    offset,
                    read: prefix,
                    length_bytes_max: self.length_bytes_max,
                });
            }
            marks.begin(offset);
            offset += PREFIX_BYTES;
            self.left_bytes = length_bytes;
            if length_bytes == 0 {
                marks.end(offset);
            }
        }
    }

    fn length_bytes(&self, prefix: [u8; PREFIX_BYTES]) -> u32 {
        let little = u32::from_le_bytes(prefix);
        match self.byte_order {
            ByteOrder::Little => little,
            ByteOrder::Big => little.swap_bytes(),
        }
    }
}
