//! Turns a filled append into the one write that puts it on a member: descriptor in front, marks
//! and seal behind, as docs/format.md describes.

use std::any::Any;
use std::ops::Range;

use sustain_disk::buffer::{AlignedBytes, Buffer, BufferView};
use sustain_disk::engine::{Vector, Vectors};
use sustain_disk::error::Error;

use super::filled::PayloadMemory;
use crate::format::{BLOCK_BYTES, Descriptor, SEAL_BYTES, Seal};

/// Composes the memory of a write.
pub(super) fn compose(memory: PayloadMemory, descriptor: &Descriptor, marks: &[u8]) -> Vectors {
    match memory {
        PayloadMemory::Lent(mut buffer) | PayloadMemory::Own(mut buffer) => {
            let length = descriptor.append_bytes as usize;
            let payload_bytes = descriptor.payload_bytes as usize;
            let crc = descriptor.encode_into(&mut buffer.bytes_mut()[..BLOCK_BYTES]);
            let tail = &mut buffer.bytes_mut()[BLOCK_BYTES + payload_bytes..length];
            finish(tail, descriptor, crc, marks);
            Vectors::One(Vector::new(buffer, 0, length))
        }
        PayloadMemory::Copied(mut bytes) => {
            let length = descriptor.append_bytes as usize;
            let payload_bytes = descriptor.payload_bytes as usize;
            let crc = descriptor.encode_into(&mut bytes[..BLOCK_BYTES]);
            let tail = &mut bytes[BLOCK_BYTES + payload_bytes..length];
            finish(tail, descriptor, crc, marks);
            Vectors::One(Vector::new(lent_out(bytes), 0, length))
        }
        PayloadMemory::Given {
            mut head,
            body,
            mut tail,
        } => {
            let body_bytes = body.len() / BLOCK_BYTES * BLOCK_BYTES;
            let rest_bytes = descriptor.payload_bytes as usize - body_bytes;
            let tail_bytes = descriptor.append_bytes as usize - BLOCK_BYTES - body_bytes;
            let crc = descriptor.encode_into(&mut head.bytes_mut()[..BLOCK_BYTES]);
            let end = &mut tail.bytes_mut()[rest_bytes..tail_bytes];
            finish(end, descriptor, crc, marks);
            Vectors::Many(vec![
                Vector::new(head, 0, BLOCK_BYTES),
                Vector::new(body, 0, body_bytes),
                Vector::new(tail, 0, tail_bytes),
            ])
        }
    }
}

/// Writes marks, zeros and the seal.
fn finish(tail: &mut [u8], descriptor: &Descriptor, crc: u32, marks: &[u8]) {
    let (marked, rest) = tail.split_at_mut(marks.len());
    marked.copy_from_slice(marks);
    let zeros = rest.len() - SEAL_BYTES;
    rest[..zeros].fill(0);
    rest[zeros..].copy_from_slice(&Seal::of(descriptor, crc).encode());
}

/// Returns the memory of a write that is over. `is_own` says that the buffer is the recorder's own,
/// and not lent.
pub(super) fn take_apart(vectors: Vectors, is_own: bool) -> Option<PayloadMemory> {
    match vectors {
        Vectors::None => None,
        Vectors::One(vector) => match vector.into_buffer().into_foreign() {
            Ok(owner) => {
                let owner: Box<dyn Any> = owner;
                owner
                    .downcast()
                    .ok()
                    .map(|bytes| PayloadMemory::Copied(*bytes))
            }
            Err(buffer) if is_own => Some(PayloadMemory::Own(buffer)),
            Err(buffer) => Some(PayloadMemory::Lent(buffer)),
        },
        Vectors::Many(vectors) => {
            let mut buffers = vectors.into_iter().map(Vector::into_buffer);
            match (buffers.next(), buffers.next(), buffers.next()) {
                (Some(head), Some(body), Some(tail)) => {
                    Some(PayloadMemory::Given { head, body, tail })
                }
                _ => None,
            }
        }
    }
}

/// Fills a buffer of the recorder's own with `payload`.
pub(super) fn with_payload(mut buffer: Buffer, payload: &[u8]) -> PayloadMemory {
    buffer.bytes_mut()[BLOCK_BYTES..BLOCK_BYTES + payload.len()].copy_from_slice(payload);
    PayloadMemory::Own(buffer)
}

/// A view of the payload of a write in flight.
#[derive(Debug)]
pub(super) struct PayloadView(Vec<(BufferView, Range<usize>)>);

impl PayloadView {
    /// Views so much payload behind the descriptor of a write.
    pub(super) fn of(vectors: &Vectors, payload_bytes: u32) -> PayloadView {
        let (mut skip, mut left) = (BLOCK_BYTES, payload_bytes as usize);
        let mut parts = Vec::new();
        for vector in vectors.as_slice() {
            let start = skip.min(vector.len());
            let count = left.min(vector.len() - start);
            skip -= start;
            left -= count;
            if count > 0 {
                parts.push((vector.buffer().view(), start..start + count));
            }
        }
        PayloadView(parts)
    }

    /// Copies the payload into new memory for an append of `append_bytes`.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is none.
    pub(super) fn copy(&self, append_bytes: u32) -> Result<PayloadMemory, Error> {
        let mut bytes = AlignedBytes::new(append_bytes as usize)?;
        let mut at = BLOCK_BYTES;
        for (view, range) in &self.0 {
            bytes[at..at + range.len()].copy_from_slice(&view.bytes()[range.clone()]);
            at += range.len();
        }
        Ok(PayloadMemory::Copied(bytes))
    }
}

/// Copies a write into memory of its own.
///
/// # Errors
/// [`Error::Memory`] when there is none.
pub(super) fn copied(vectors: &Vectors) -> Result<Vectors, Error> {
    let length = vectors.len_bytes() as usize;
    let mut bytes = AlignedBytes::new(length)?;
    let mut at = 0;
    for vector in vectors.as_slice() {
        bytes[at..at + vector.len()].copy_from_slice(vector.bytes());
        at += vector.len();
    }
    Ok(Vectors::One(Vector::new(lent_out(bytes), 0, length)))
}

fn lent_out(bytes: AlignedBytes) -> Buffer {
    Buffer::foreign(Box::new(bytes)).expect("an allocation for direct I/O may be written from")
}
