//! The bytes of a disk of any size, of which only the written ones take memory. Called by the
//! medium. A clone shares its pages until either is written.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

const PAGE_BYTES: usize = 4096;

type MediumPage = [u8; PAGE_BYTES];

/// Sparse bytes; what was never written is zero.
#[derive(Clone, Default)]
pub(super) struct Pages(HashMap<u64, Arc<MediumPage>>);

impl Pages {
    pub(super) fn read(&self, offset_bytes: u64, bytes: &mut [u8]) {
        for (index, start, part) in parts(offset_bytes, bytes.len()) {
            let end = start + part.len();
            match self.0.get(&index) {
                Some(page) => bytes[part].copy_from_slice(&page[start..end]),
                None => bytes[part].fill(0),
            }
        }
    }

    pub(super) fn write(&mut self, offset_bytes: u64, bytes: &[u8]) {
        for (index, start, part) in parts(offset_bytes, bytes.len()) {
            let end = start + part.len();
            let page = self
                .0
                .entry(index)
                .or_insert_with(|| Arc::new([0; PAGE_BYTES]));
            Arc::make_mut(page)[start..end].copy_from_slice(&bytes[part]);
        }
    }

    /// Pages that take memory.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

/// Cuts a range at page boundaries: page, start in it, and which bytes of the range.
fn parts(offset_bytes: u64, length: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = offset_bytes + done as u64;
        let start = (at % PAGE_BYTES as u64) as usize;
        let part = done..length.min(done + PAGE_BYTES - start);
        done = part.end;
        Some((at / PAGE_BYTES as u64, start, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_written_is_zero_and_takes_no_memory() {
        let mut pages = Pages::default();
        let far = 20_000_000_000_000 - 2;
        pages.write(far, &[1, 2, 3]);
        let mut bytes = [9; 5];
        pages.read(far - 1, &mut bytes);
        assert_eq!(bytes, [0, 1, 2, 3, 0]);
        let mut bytes = [9; 10_000];
        pages.read(0, &mut bytes);
        assert_eq!(bytes, [0; 10_000]);
        assert_eq!(pages.count(), 2, "a range across a page boundary");
    }

    #[test]
    fn a_clone_does_not_see_what_is_written_later() {
        let mut pages = Pages::default();
        pages.write(100, &[1; 9000]);
        let before = pages.clone();
        pages.write(5000, &[2; 10]);
        let mut bytes = [0; 9000];
        before.read(100, &mut bytes);
        assert_eq!(bytes, [1; 9000]);
        pages.read(100, &mut bytes);
        assert_eq!(bytes[4900..4910], [2; 10]);
        assert_eq!(bytes[..4900], [1; 4900]);
    }
}
