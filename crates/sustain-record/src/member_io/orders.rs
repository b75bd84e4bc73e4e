//! What is asked of members: stretches to read and to write, and the requests that they are cut
//! into.

use sustain_disk::buffer::Buffer;
use sustain_disk::engine::{Operation, Request, Vector, Vectors};
use sustain_disk::error::IoFault;

/// Most reads here are of one block. For larger buffers the kernel would use huge pages, which take
/// milliseconds to find where the host of a virtual machine has to find them as well.
pub(super) const BUFFER_BYTES: usize = 128 << 10;

/// What is told of a request that came back short, or not at all.
pub(super) const IO_ERROR: IoFault = IoFault::Kernel(rustix::io::Errno::IO.raw_os_error());

/// A stretch of a member to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadOrder {
    /// Index of the member.
    pub member: usize,
    /// Offset from the start of the member.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: usize,
}

/// Whole blocks to write to a member.
#[derive(Debug, Clone, Copy)]
pub struct WriteOrder<'a> {
    /// Index of the member.
    pub member: usize,
    /// Offset from the start of the member; a multiple of a block.
    pub offset_bytes: u64,
    /// The bytes to write; whole blocks.
    pub bytes: &'a [u8],
}

/// A part of an order that takes one request.
pub(super) struct OrderPart {
    pub(super) operation: Operation,
    pub(super) order: usize,
    pub(super) member: usize,
    pub(super) offset_bytes: u64,
    /// Offset in the order's bytes at which it begins.
    pub(super) start: usize,
    pub(super) length: usize,
}

impl OrderPart {
    /// Cuts a part of any length into requests that fit the buffers.
    pub(super) fn cut(&self, parts: &mut Vec<OrderPart>) {
        for start in (0..self.length).step_by(BUFFER_BYTES) {
            parts.push(OrderPart {
                offset_bytes: self.offset_bytes + start as u64,
                start,
                length: BUFFER_BYTES.min(self.length - start),
                ..*self
            });
        }
    }

    /// The request for this part, with memory for its bytes.
    pub(super) fn request(&self, buffer: Buffer) -> Request {
        Request {
            operation: self.operation,
            offset_bytes: self.offset_bytes,
            vectors: Vectors::One(Vector::new(buffer, 0, self.length)),
            ..Request::flush(self.member)
        }
    }
}
