//! Stretches of anonymous memory: mapped once, and unmapped when the last user is gone. Pools cut
//! buffers from them and engines register them. Nothing here may hand out a reference to the
//! memory.

use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{
    Advice, MapFlags, MlockFlags, ProtFlags, madvise, mlock_with, mmap_anonymous, munmap,
};

use super::BUFFER_ALIGNMENT;
use crate::error::Error;

/// The most that the kernel registers as one buffer.
pub(super) const REGION_BYTES_MAX: usize = 1 << 30;

/// A stretch of anonymous memory, unmapped when the last buffer in it is gone.
#[derive(Debug)]
pub struct Region {
    pointer: NonNull<u8>,
    length: usize,
}

// SAFETY: a Region is only an address range that it owns; it hands out no references itself.
// Buffers cut from it are disjoint, each with one owner.
unsafe impl Send for Region {}
// SAFETY: as above: nothing can be reached through a shared Region but its address and length.
unsafe impl Sync for Region {}

impl Region {
    pub(super) fn map(length: usize) -> Result<Region, Error> {
        let memory = |errno: Errno| Error::Memory {
            bytes: length,
            error: errno.into(),
        };
        // SAFETY: a new private anonymous mapping at an address of the kernel's choice touches no
        // memory in use.
        let pointer = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .map_err(memory)?;
        // Huge pages make stamping and pinning cheaper; without them all works the same.
        // SAFETY: the range was mapped just above and is not shared yet.
        let _ = unsafe { madvise(pointer, length, Advice::LinuxHugepage) };
        let pointer = NonNull::new(pointer.cast()).expect("the kernel never maps address 0");
        Ok(Region { pointer, length })
    }

    /// Has the kernel supply memory for `length` bytes from `start` on now, and not when they are
    /// first touched. Kernels before 5.14 cannot do that; there it is supplied later.
    ///
    /// # Panics
    /// Panics if that reaches past the end of the region.
    pub(super) fn populate(&self, start: usize, length: usize) -> Result<(), Error> {
        assert!(
            start
                .checked_add(length)
                .is_some_and(|end| end <= self.length),
            "what is found lies within its region"
        );
        // The kernel takes whole pages.
        let before = start % BUFFER_ALIGNMENT;
        let first = self.at(start - before);
        // SAFETY: the range is mapped as long as this value lives, and its content does not change,
        // whoever reads or writes it meanwhile.
        let populated = unsafe {
            madvise(
                first.as_ptr().cast(),
                before + length,
                Advice::LinuxPopulateWrite,
            )
        };
        match populated {
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(Error::Memory {
                bytes: length,
                error: errno.into(),
            }),
        }
    }

    /// Keeps the first `length` bytes in memory from the moment at which they are there, without
    /// supplying them now. They stay so until the region is unmapped.
    ///
    /// # Panics
    /// Panics if that reaches past the end of the region.
    pub(super) fn lock(&self, length: usize) -> Result<(), Errno> {
        assert!(
            length <= self.length,
            "what is locked lies within its region"
        );
        // SAFETY: the range is mapped as long as this value lives, and its content does not change.
        unsafe { mlock_with(self.pointer.as_ptr().cast(), length, MlockFlags::ONFAULT) }
    }

    /// First byte of the memory, for registration with the kernel.
    pub fn address(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// Length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The byte at `start`, which must lie in the region.
    pub(super) fn at(&self, start: usize) -> NonNull<u8> {
        assert!(start < self.length, "an address lies within its region");
        // SAFETY: start lies within the mapping, checked just above.
        unsafe { self.pointer.add(start) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: all that refers to the memory holds the Region, so nothing does now.
        let result = unsafe { munmap(self.pointer.as_ptr().cast(), self.length) };
        debug_assert!(result.is_ok(), "unmapping a whole mapping of ours");
    }
}
