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

/// The size of the kernel's huge pages, on most machines. With larger ones, small pages are used.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A stretch of anonymous memory, unmapped when the last buffer in it is gone.
#[derive(Debug)]
pub struct Region {
    pointer: NonNull<u8>,
    length: usize,
    /// What is mapped: `length`, or more to end with a huge page.
    mapped: usize,
}

// SAFETY: a Region is only an address range that it owns; it hands out no references itself.
// Buffers cut from it are disjoint, each with one owner.
unsafe impl Send for Region {}
// SAFETY: as above: nothing can be reached through a shared Region but its address and length.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `length` bytes, as whole huge pages if it is as large as one.
    ///
    /// The kernel aligns a mapping to huge pages only if it is a multiple of them in size. In small
    /// pages, a request of 1 MiB has more pieces than many devices take at once, so the kernel
    /// refuses to start it at once, and one of its threads starts it again.
    pub(super) fn map(length: usize) -> Result<Region, Error> {
        if length < HUGE_PAGE_BYTES {
            let pointer = map_anywhere(length)?;
            let mapped = length;
            return Ok(Region {
                pointer,
                length,
                mapped,
            });
        }
        let mapped = length.checked_next_multiple_of(HUGE_PAGE_BYTES);
        let with_rest = mapped.and_then(|mapped| mapped.checked_add(HUGE_PAGE_BYTES));
        let (Some(mapped), Some(with_rest)) = (mapped, with_rest) else {
            return Err(no_memory(length, Errno::NOMEM));
        };
        let first = map_anywhere(with_rest)?;
        let before = first.align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the address is moved by less than a huge page, which was mapped in addition.
        let pointer = unsafe { first.add(before) };
        // SAFETY: this ends within what was mapped, by the same reason.
        let end = unsafe { pointer.add(mapped) };
        for (rest, rest_length) in [(first, before), (end, with_rest - before - mapped)] {
            if rest_length > 0 {
                // SAFETY: this part of the new mapping lies outside of the region, and nothing
                // refers to it. If it stays mapped, only addresses are lost.
                let _ = unsafe { munmap(rest.as_ptr().cast(), rest_length) };
            }
        }
        // Huge pages make stamping and pinning cheaper; without them all works the same.
        // SAFETY: the range was mapped just above and is not shared yet.
        let _ = unsafe { madvise(pointer.as_ptr().cast(), mapped, Advice::LinuxHugepage) };
        Ok(Region {
            pointer,
            length,
            mapped,
        })
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
        let lock = |length| {
            // SAFETY: the range is mapped as long as this value lives, and its content does not
            // change.
            unsafe { mlock_with(self.pointer.as_ptr().cast(), length, MlockFlags::ONFAULT) }
        };
        // Its last huge page is one only if all of it is locked.
        match length == self.length && lock(self.mapped).is_ok() {
            true => Ok(()),
            false => lock(length),
        }
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
        let result = unsafe { munmap(self.pointer.as_ptr().cast(), self.mapped) };
        debug_assert!(result.is_ok(), "unmapping a whole mapping of ours");
    }
}

fn map_anywhere(length: usize) -> Result<NonNull<u8>, Error> {
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
    .map_err(|errno| no_memory(length, errno))?;
    Ok(NonNull::new(pointer.cast()).expect("the kernel never maps address 0"))
}

fn no_memory(length: usize, errno: Errno) -> Error {
    Error::Memory {
        bytes: length,
        error: errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_large_as_a_huge_page_begins_with_one() {
        for length in [4096, 1 << 20, 2 << 20, 8 * 1_040_384, (2 << 20) + 4096] {
            let region = Region::map(length).unwrap();
            assert_eq!(region.length(), length);
            let is_aligned = region.address().addr().is_multiple_of(HUGE_PAGE_BYTES);
            assert!(is_aligned || length < HUGE_PAGE_BYTES, "{length}");
            region.populate(0, length).unwrap();
            for (start, byte) in [(0, 1), (length - 1, 2)] {
                // SAFETY: it is within the region, which nothing else uses.
                unsafe { region.at(start).write(byte) };
            }
            let read = |start| {
                // SAFETY: as above.
                unsafe { region.at(start).read() }
            };
            assert_eq!((read(0), read(length - 1)), (1, 2));
        }
    }

    #[test]
    fn more_than_there_are_addresses_is_refused() {
        for length in [usize::MAX, usize::MAX - HUGE_PAGE_BYTES, 1 << 60] {
            assert!(matches!(Region::map(length), Err(Error::Memory { .. })));
        }
    }
}
