//! All buffers of one driver, owned by its thread. It must never hand out one buffer twice.

use std::sync::Arc;

use super::region::{REGION_BYTES_MAX, Region};
use super::{BUFFER_ALIGNMENT, Buffer};
use crate::error::Error;

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
    /// [`Error::Memory`] if the kernel does not have that much.
    ///
    /// # Panics
    /// Panics if `length` is 0.
    pub fn new(count: usize, length: usize) -> Result<BufferPool, Error> {
        let mut regions = Vec::new();
        let mut free = Vec::with_capacity(count);
        while free.len() < count {
            let left = count - free.len();
            let (region, buffers) = map_buffers(regions.len(), left, length, REGION_BYTES_MAX)?;
            free.extend(buffers);
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

/// Maps a pool's region with this index, and cuts as many buffers from it as it may hold, but at
/// most `count`.
pub(super) fn map_buffers(
    index: usize,
    count: usize,
    length: usize,
    region_bytes_max: usize,
) -> Result<(Arc<Region>, impl Iterator<Item = Buffer>), Error> {
    assert!(length > 0, "a buffer holds at least one byte");
    let too_much = || Error::Memory {
        bytes: count.saturating_mul(length),
        error: std::io::Error::from_raw_os_error(libc::ENOMEM),
    };
    let stride = length
        .checked_next_multiple_of(BUFFER_ALIGNMENT)
        .ok_or_else(too_much)?;
    let count = (region_bytes_max / stride).max(1).min(count);
    let index = u16::try_from(index).map_err(|_| too_much())?;
    let region = Arc::new(Region::map(count * stride)?);
    let shared = Arc::clone(&region);
    let buffers = (0..count).map(move |place| Buffer::own(&shared, index, place * stride, length));
    Ok((region, buffers))
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
