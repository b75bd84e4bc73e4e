//! Aligned buffers: mapped once, registered where the engine can, bounded, and owned by a request
//! until its completion.

use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::error::Error;

/// Buffers start at multiples of this, which satisfies every direct-I/O rule known (512 B to a
/// page).
pub const BUFFER_ALIGNMENT: usize = 4096;

/// The most that the kernel registers as one buffer.
const REGION_BYTES_MAX: usize = 1 << 30;

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
    fn map(length: usize) -> Result<Region, Error> {
        let memory = |source: rustix::io::Errno| Error::Memory {
            bytes: length,
            source: source.into(),
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

    /// First byte of the memory, for registration with the kernel.
    pub fn address(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// Length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: every Buffer holds an Arc of its Region, so nothing refers to the memory now.
        let result = unsafe { munmap(self.pointer.as_ptr().cast(), self.length) };
        debug_assert!(result.is_ok(), "unmapping a whole mapping of ours");
    }
}

/// Memory for one record. It has one owner: the feed, then the request, then the feed again.
#[derive(Debug)]
pub struct Buffer {
    region: Arc<Region>,
    region_index: u16,
    start: usize,
    length: usize,
}

impl Buffer {
    /// Length in bytes.
    #[allow(
        clippy::len_without_is_empty,
        reason = "a buffer of length 0 is never made"
    )]
    pub fn len(&self) -> usize {
        self.length
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the range lies in the live region, is initialised (anonymous memory is zero),
        // and belongs to this buffer alone.
        unsafe { std::slice::from_raw_parts(self.address(), self.length) }
    }

    /// The bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.address(), self.length) }
    }

    /// First byte, for the kernel.
    pub(crate) fn address(&self) -> *mut u8 {
        // SAFETY: start + length <= region length by construction in `BufferPool::new`.
        unsafe { self.region.address().add(self.start) }
    }

    /// The region and its index in the pool: what an engine compares with what it registered.
    pub(crate) fn region(&self) -> (&Arc<Region>, u16) {
        (&self.region, self.region_index)
    }
}

/// All buffers of one driver.
#[derive(Debug)]
pub struct BufferPool {
    regions: Vec<Arc<Region>>,
    free: Vec<Buffer>,
}

impl BufferPool {
    /// Maps `count` buffers of `length` bytes each. Memory is taken when it is first touched or
    /// registered.
    ///
    /// # Errors
    /// [`Error::Memory`] when the kernel has not that much.
    pub fn new(count: usize, length: usize) -> Result<BufferPool, Error> {
        assert!(length > 0, "a buffer holds at least one byte");
        let stride = length.next_multiple_of(BUFFER_ALIGNMENT);
        let per_region = (REGION_BYTES_MAX / stride).max(1);
        let mut regions = Vec::new();
        let mut free = Vec::with_capacity(count);
        while free.len() < count {
            let in_region = per_region.min(count - free.len());
            let region = Arc::new(Region::map(in_region * stride)?);
            let region_index = u16::try_from(regions.len()).map_err(|_| Error::Memory {
                bytes: count * stride,
                source: std::io::Error::from_raw_os_error(libc::ENOMEM),
            })?;
            free.extend((0..in_region).map(|index| Buffer {
                region: Arc::clone(&region),
                region_index,
                start: index * stride,
                length,
            }));
            regions.push(region);
        }
        Ok(BufferPool { regions, free })
    }

    /// The memory behind the buffers, to be registered.
    pub fn regions(&self) -> &[Arc<Region>] {
        &self.regions
    }

    /// The buffers that are not lent out, to be prepared.
    pub fn free_mut(&mut self) -> &mut [Buffer] {
        &mut self.free
    }

    /// Lends a buffer, if one is free.
    pub fn take(&mut self) -> Option<Buffer> {
        self.free.pop()
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Buffer) {
        self.free.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_disjoint_and_zero() {
        let mut pool = BufferPool::new(3, 5000).unwrap();
        let mut buffers: Vec<Buffer> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(buffers.len(), 3);
        for (index, buffer) in buffers.iter_mut().enumerate() {
            assert_eq!(buffer.address() as usize % BUFFER_ALIGNMENT, 0);
            assert_eq!(buffer.len(), 5000);
            assert!(buffer.bytes().iter().all(|byte| *byte == 0));
            buffer.bytes_mut().fill(index as u8 + 1);
        }
        for (index, buffer) in buffers.iter().enumerate() {
            assert!(buffer.bytes().iter().all(|byte| *byte == index as u8 + 1));
        }
        let last = buffers.pop().unwrap();
        drop(buffers);
        drop(pool);
        assert_eq!(
            last.bytes()[0],
            last.bytes()[4999],
            "a buffer outlives its pool"
        );
    }

    #[test]
    fn a_pool_larger_than_a_region_is_cut_into_several() {
        let pool = BufferPool::new(5, 512 << 20).unwrap();
        assert_eq!(pool.regions().len(), 3);
        assert!(
            pool.regions()
                .iter()
                .all(|region| region.length() <= REGION_BYTES_MAX)
        );
    }

    #[test]
    fn too_much_memory_is_an_error_not_an_abort() {
        assert!(matches!(
            BufferPool::new(usize::MAX >> 50, 1 << 46),
            Err(Error::Memory { .. })
        ));
    }
}
