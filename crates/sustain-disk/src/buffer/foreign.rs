//! The caller's own memory, given to be written without copying and handed back at completion; and
//! an aligned allocation for callers that have none. The contract of [`StableBytes`] keeps this
//! sound: nothing here may write to memory that was only lent.

use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::BUFFER_ALIGNMENT;
use super::region::Region;
use crate::error::Error;

/// Memory that stays where it is while its value lives, so that the kernel may read from it.
///
/// `Any` lets the owner come back as what it was: `let any: Box<dyn Any> = owner;`.
///
/// # Safety
/// As long as a value is only moved, shared and read, [`StableBytes::bytes`] returns the same
/// address and the same length each time, moving the value included, and nothing writes to these
/// bytes. They may be written only through `&mut` of the value.
pub unsafe trait StableBytes: Any + Send {
    /// The bytes.
    fn bytes(&self) -> &[u8];
}

// SAFETY: a vector's elements lie on the heap, where they stay when the vector is moved; they are
// written and moved through `&mut` only.
unsafe impl StableBytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

// SAFETY: as for a vector.
unsafe impl StableBytes for Box<[u8]> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

// SAFETY: the bytes lie on the heap; while this value lives they are written only through
// `Arc::get_mut`, which needs `&mut` of it.
unsafe impl StableBytes for Arc<[u8]> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

// SAFETY: the value inside does not move when the Arc does, and keeps the contract itself; `&mut`
// of it can be had only through `Arc::get_mut`, which needs `&mut` of this one.
unsafe impl<T: StableBytes + Sync> StableBytes for Arc<T> {
    fn bytes(&self) -> &[u8] {
        T::bytes(self)
    }
}

/// An allocation that fits direct I/O, to be filled and given to
/// [`Buffer::foreign`](super::Buffer::foreign). It is a mapping of its own: worth keeping for the
/// next use.
pub struct AlignedBytes {
    region: Region,
    length: usize,
}

impl AlignedBytes {
    /// Maps `length` bytes, all zero, at a multiple of [`BUFFER_ALIGNMENT`].
    ///
    /// # Errors
    /// [`Error::Memory`] if the kernel does not have that much.
    ///
    /// # Panics
    /// Panics if `length` is 0.
    pub fn new(length: usize) -> Result<AlignedBytes, Error> {
        assert!(length > 0, "an allocation holds at least one byte");
        let mapped = length
            .checked_next_multiple_of(BUFFER_ALIGNMENT)
            .unwrap_or(length);
        let region = Region::map(mapped)?;
        Ok(AlignedBytes { region, length })
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range lies in the region, which this value alone owns, and is initialised
        // (anonymous memory is zero).
        unsafe { std::slice::from_raw_parts(self.region.address(), self.length) }
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.region.address(), self.length) }
    }
}

// SAFETY: the mapping stays where it is and is written through `&mut` only.
unsafe impl StableBytes for AlignedBytes {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for AlignedBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AlignedBytes({} bytes)", self.length)
    }
}

/// Memory that cannot be written from directly, with its owner, so that the caller gets it back.
#[derive(thiserror::Error)]
#[error(
    "memory for direct I/O must begin at a multiple of {BUFFER_ALIGNMENT} bytes and hold at least \
     one byte; this holds {length} and begins {over} bytes after such a multiple: allocate it with \
     AlignedBytes, or copy it into a buffer of a pool",
    length = .owner.bytes().len(),
    over = .owner.bytes().as_ptr().addr() % BUFFER_ALIGNMENT
)]
pub struct ForeignRefused {
    /// The value that was given.
    pub owner: Box<dyn StableBytes>,
}

impl fmt::Debug for ForeignRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ForeignRefused({self})")
    }
}
