//! Bytes are put into the memory that a read fills, which may be in several parts. Pure.

use sustain_disk::engine::Vectors;

/// Fills a stretch of what a read fills with zeros.
pub(super) fn zero_in(vectors: &mut Vectors, start: usize, length: usize) {
    let (mut start, mut left) = (start, length);
    for vector in vectors.as_mut_slice() {
        let here = vector.len().saturating_sub(start).min(left);
        if here > 0 {
            vector.bytes_mut()[start..start + here].fill(0);
        }
        start = start.saturating_sub(vector.len());
        left -= here;
    }
}

/// Copies bytes into what a read fills, from this byte on.
pub(super) fn copy_into(vectors: &mut Vectors, start: usize, bytes: &[u8]) {
    let (mut start, mut rest) = (start, bytes);
    for vector in vectors.as_mut_slice() {
        let length = vector.len();
        if start >= length {
            start -= length;
            continue;
        }
        let (here, behind) = rest.split_at(rest.len().min(length - start));
        vector.bytes_mut()[start..start + here.len()].copy_from_slice(here);
        (start, rest) = (0, behind);
    }
}
