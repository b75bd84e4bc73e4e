//! Turns a filled append into the one write that puts it on a member: descriptor in front, marks and
//! seal behind, as docs/format.md has it.

use sustain_disk::buffer::Buffer;
use sustain_disk::engine::{Vector, Vectors};

use super::filled::Memory;
use crate::format::{BLOCK_BYTES, Descriptor, SEAL_BYTES, Seal};

/// The memory of a write, complete.
pub(super) fn compose(memory: Memory, descriptor: &Descriptor, marks: &[u8]) -> Vectors {
    match memory {
        Memory::Lent(mut buffer) | Memory::Own(mut buffer) => {
            let length = descriptor.append_bytes as usize;
            let payload_bytes = descriptor.payload_bytes as usize;
            let crc = descriptor.encode_into(&mut buffer.bytes_mut()[..BLOCK_BYTES]);
            let tail = &mut buffer.bytes_mut()[BLOCK_BYTES + payload_bytes..length];
            finish(tail, descriptor, crc, marks);
            Vectors::One(Vector::new(buffer, 0, length))
        }
        Memory::Given {
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

/// Marks, zeros, seal.
fn finish(tail: &mut [u8], descriptor: &Descriptor, crc: u32, marks: &[u8]) {
    let (marked, rest) = tail.split_at_mut(marks.len());
    marked.copy_from_slice(marks);
    let zeros = rest.len() - SEAL_BYTES;
    rest[..zeros].fill(0);
    rest[zeros..].copy_from_slice(&Seal::of(descriptor, crc).encode());
}

/// The memory of a write that is over. `is_own` tells a buffer of the recorder's from a lent one.
pub(super) fn take_apart(vectors: Vectors, is_own: bool) -> Option<Memory> {
    match vectors {
        Vectors::None => None,
        Vectors::One(vector) if is_own => Some(Memory::Own(vector.into_buffer())),
        Vectors::One(vector) => Some(Memory::Lent(vector.into_buffer())),
        Vectors::Many(vectors) => {
            let mut buffers = vectors.into_iter().map(Vector::into_buffer);
            match (buffers.next(), buffers.next(), buffers.next()) {
                (Some(head), Some(body), Some(tail)) => Some(Memory::Given { head, body, tail }),
                _ => None,
            }
        }
    }
}

/// A buffer of the recorder's own, filled with `payload`.
pub(super) fn with_payload(mut buffer: Buffer, payload: &[u8]) -> Memory {
    buffer.bytes_mut()[BLOCK_BYTES..BLOCK_BYTES + payload.len()].copy_from_slice(payload);
    Memory::Own(buffer)
}
