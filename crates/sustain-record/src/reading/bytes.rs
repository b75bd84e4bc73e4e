//! Bytes that were read, shared without being copied: a part of a read buffer or of an allocation.
//! The pump makes them; parts and frames hold them. A read buffer goes back when the last of them
//! is gone.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A stretch of bytes that many may hold and nobody writes. A clone is cheap.
///
/// It may keep a whole read buffer of some MiB from being used again, so copy small parts that are
/// kept for long.
#[derive(Clone)]
pub struct SharedBytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl SharedBytes {
    /// Shares all bytes of `owner`, which must return the same bytes each time.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> SharedBytes {
        let length = (*owner).as_ref().len();
        SharedBytes {
            owner,
            range: 0..length,
        }
    }

    /// A part of these bytes, counted from their start.
    ///
    /// # Panics
    /// If the range reaches beyond their end.
    pub fn slice(&self, range: Range<usize>) -> SharedBytes {
        assert!(
            range.start <= range.end && range.end <= self.range.len(),
            "a slice lies within its bytes"
        );
        SharedBytes {
            owner: Arc::clone(&self.owner),
            range: self.range.start + range.start..self.range.start + range.end,
        }
    }

    /// Copies the bytes into an allocation of their own, which does not hold a read buffer.
    pub fn detached(&self) -> SharedBytes {
        SharedBytes::from(self.to_vec())
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> SharedBytes {
        SharedBytes::new(Arc::new(bytes))
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &SharedBytes) -> bool {
        **self == **other
    }
}

impl Eq for SharedBytes {}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SharedBytes({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_a_slice_is_the_same_memory() {
        let all = SharedBytes::from(vec![0, 1, 2, 3, 4, 5]);
        let part = all.slice(1..5).slice(1..3);
        assert_eq!(*part, [2, 3]);
        assert_eq!(part.as_ptr(), all[2..].as_ptr());
        assert_ne!(part.detached().as_ptr(), part.as_ptr());
        assert_eq!(part.detached(), part);
    }

    #[test]
    #[should_panic(expected = "within its bytes")]
    fn a_slice_cannot_reach_beyond() {
        SharedBytes::from(vec![1, 2, 3]).slice(0..2).slice(1..3);
    }
}
