//! Aligned buffers: mapped once, registered if the engine can, bounded, and owned by a request
//! until its completion. The caller's own memory can also be written from where it is.

mod finder;
mod foreign;
mod pool;
mod region;
mod shared_pool;

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

pub use finder::Finder;
pub use foreign::{AlignedBytes, ForeignRefused, StableBytes};
pub use pool::BufferPool;
pub use region::Region;
pub use shared_pool::SharedPool;

/// Buffers start at multiples of this, which satisfies every direct-I/O rule known (512 B to a
/// page).
pub const BUFFER_ALIGNMENT: usize = 4096;

/// Memory for one record. It has one owner: the feed, then the request, then the feed again.
pub struct Buffer {
    /// First byte, in memory that `memory` keeps.
    pointer: NonNull<u8>,
    length: usize,
    /// Shared with the views: while there is one, nobody may write these bytes.
    memory: Arc<BufferMemory>,
}

/// The bytes of a buffer, to be read while a request has it: a write in flight only reads them,
/// too.
///
/// While there is a view, the buffer cannot be filled, and its giver cannot take it back.
pub struct BufferView {
    /// First byte, in memory that `_memory` keeps.
    pointer: NonNull<u8>,
    length: usize,
    _memory: Arc<BufferMemory>,
}

enum BufferMemory {
    /// A part of a region, this buffer's alone.
    Own { region: Arc<Region>, index: u16 },
    /// Memory that was lent: others may read it at the same time, so it is never written.
    Foreign(Box<dyn StableBytes>),
}

// SAFETY: through a shared Memory nobody reaches the foreign owner in it, which need not be Sync:
// others only see that there is one, or read which region it is. Only whoever has the last Arc of
// it takes the owner out, or drops it, which any thread may do with what is Send.
unsafe impl Sync for BufferMemory {}
// SAFETY: `pointer` is an address in memory that `memory` keeps, and `memory` may be sent.
unsafe impl Send for Buffer {}
// SAFETY: through a shared Buffer the bytes can only be read, and nobody writes them meanwhile: an
// own part of a region is written through `&mut` of a Buffer without views only, foreign memory not
// at all. The owner of foreign memory, which need not be Sync, cannot be reached through a shared
// Buffer.
unsafe impl Sync for Buffer {}
// SAFETY: as for a Buffer; a view never reaches `_memory` but to drop it.
unsafe impl Send for BufferView {}
// SAFETY: as for a Buffer: the bytes can only be read, and are not written while there is a view.
unsafe impl Sync for BufferView {}

impl BufferView {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the range lies in memory that this view keeps, is initialised, and is not
        // written: its Buffer hands out no `&mut` and is in no read as long as there is a view, and
        // foreign memory is stable by the contract of StableBytes.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }
}

impl fmt::Debug for BufferView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BufferView({} bytes)", self.length)
    }
}

impl Buffer {
    /// The caller's own memory, to be written from without copying. The owner of the buffer after
    /// completion takes the memory out again with [`Buffer::into_foreign`].
    ///
    /// Such a buffer is for writing to a target only: engines panic if a read names it, because
    /// others may look at that memory at the same time.
    ///
    /// # Errors
    /// [`ForeignRefused`], with the memory, if it does not begin at a multiple of
    /// [`BUFFER_ALIGNMENT`] or is empty.
    pub fn foreign(owner: Box<dyn StableBytes>) -> Result<Buffer, ForeignRefused> {
        let bytes = owner.bytes();
        let length = bytes.len();
        let pointer = NonNull::from(bytes).cast::<u8>();
        if length == 0 || !pointer.addr().get().is_multiple_of(BUFFER_ALIGNMENT) {
            return Err(ForeignRefused { owner });
        }
        Ok(Buffer {
            pointer,
            length,
            memory: Arc::new(BufferMemory::Foreign(owner)),
        })
    }

    /// Returns the caller's memory from where it was lent.
    ///
    /// # Errors
    /// Returns the buffer itself if it belongs to a pool, or if there is a view of it.
    pub fn into_foreign(self) -> Result<Box<dyn StableBytes>, Buffer> {
        let Buffer {
            pointer,
            length,
            memory,
        } = self;
        let memory = match Arc::try_unwrap(memory) {
            Ok(BufferMemory::Foreign(owner)) => return Ok(owner),
            Ok(own) => Arc::new(own),
            Err(viewed) => viewed,
        };
        Err(Buffer {
            pointer,
            length,
            memory,
        })
    }

    /// The bytes, to be read while a request has the buffer.
    pub fn view(&self) -> BufferView {
        BufferView {
            pointer: self.pointer,
            length: self.length,
            _memory: Arc::clone(&self.memory),
        }
    }

    /// Whether its bytes may only be read: they are the caller's, or there is a view of them.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_foreign() || Arc::strong_count(&self.memory) > 1
    }

    /// Whether this is the caller's own memory, which may not be written.
    pub fn is_foreign(&self) -> bool {
        matches!(*self.memory, BufferMemory::Foreign(_))
    }

    fn own(region: &Arc<Region>, index: u16, start: usize, length: usize) -> Buffer {
        let end = start.checked_add(length);
        assert!(
            end.is_some_and(|end| end <= region.length()),
            "a buffer lies within its region"
        );
        Buffer {
            pointer: region.at(start),
            length,
            memory: Arc::new(BufferMemory::Own {
                region: Arc::clone(region),
                index,
            }),
        }
    }

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
        // SAFETY: the range lies in memory that this buffer keeps, is initialised (anonymous
        // memory is zero), and is not written while it is borrowed: an own part belongs to this
        // buffer alone, and foreign memory is stable by the contract of StableBytes.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }

    /// The bytes, to be filled.
    ///
    /// # Panics
    /// Panics if the memory is foreign, or if there is a view of it, because others may read it at
    /// the same time.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(
            !self.is_foreign(),
            "foreign memory is only read; fill it before it is given to a buffer"
        );
        assert!(
            Arc::get_mut(&mut self.memory).is_some(),
            "a buffer is not filled while there is a view of it"
        );
        // SAFETY: as in `bytes`; `&mut self`, and that there is no view, make this the only
        // reference.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }

    /// First byte, for the kernel. It may be written to only if the memory is not foreign.
    pub(crate) fn address(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// The region and its index in the pool, which an engine compares with what it registered.
    /// Foreign memory is in none.
    pub(crate) fn region(&self) -> Option<(&Arc<Region>, u16)> {
        match &*self.memory {
            BufferMemory::Own { region, index } => Some((region, *index)),
            BufferMemory::Foreign(_) => None,
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_foreign() { "foreign" } else { "own" };
        write!(formatter, "Buffer({} bytes, {kind})", self.length)
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use super::*;

    fn filled(length: usize, fill: u8) -> AlignedBytes {
        let mut bytes = AlignedBytes::new(length).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes.fill(fill);
        bytes
    }

    #[test]
    fn foreign_memory_is_lent_where_it_lies_and_comes_back_as_what_it_was() {
        let bytes = filled(5000, 7);
        let address = bytes.as_ptr();
        let buffer = Buffer::foreign(Box::new(bytes)).unwrap();
        assert!(buffer.is_foreign());
        assert_eq!(buffer.bytes(), [7; 5000]);
        assert_eq!(buffer.address().cast_const(), address);
        let any: Box<dyn Any> = buffer.into_foreign().map_err(drop).unwrap();
        let bytes = any.downcast::<AlignedBytes>().unwrap();
        assert_eq!(bytes.as_ptr(), address);
        assert_eq!(bytes[..], [7; 5000]);
    }

    #[test]
    fn shared_memory_is_lent_to_several_buffers_at_once() {
        let shared = Arc::new(filled(4096, 9));
        let buffers = [(); 2].map(|()| Buffer::foreign(Box::new(Arc::clone(&shared))).unwrap());
        assert_eq!(buffers[0].bytes().as_ptr(), buffers[1].bytes().as_ptr());
        drop(buffers);
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn memory_that_begins_at_no_block_is_refused_and_given_back() {
        let mut vector = vec![1u8; 3 * BUFFER_ALIGNMENT];
        // Whether an allocator aligns a vector so is its own affair: look for one that is not.
        let mut others = Vec::new();
        while vector.as_ptr().addr().is_multiple_of(BUFFER_ALIGNMENT) {
            others.push(std::mem::replace(
                &mut vector,
                vec![1; BUFFER_ALIGNMENT + 1],
            ));
        }
        let (address, length) = (vector.as_ptr(), vector.len());
        let refused = Buffer::foreign(Box::new(vector)).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("multiple of 4096"), "{text}");
        assert!(text.contains("AlignedBytes"), "{text}");
        assert_eq!(refused.owner.bytes().as_ptr(), address);
        assert_eq!(refused.owner.bytes().len(), length);
    }

    #[test]
    fn empty_memory_is_refused() {
        assert!(Buffer::foreign(Box::new(Vec::new())).is_err());
    }

    #[test]
    fn a_buffer_of_a_pool_is_nobodys_foreign_memory() {
        let buffer = BufferPool::new(1, 4096).unwrap().take().unwrap();
        let buffer = buffer.into_foreign().map(drop).unwrap_err();
        assert_eq!(buffer.len(), 4096);
    }

    #[test]
    fn a_view_reads_what_its_buffer_holds_wherever_that_is_and_keeps_it() {
        let buffer = Buffer::foreign(Box::new(filled(5000, 7))).unwrap();
        let view = buffer.view();
        let buffer = buffer.into_foreign().map(drop).unwrap_err();
        assert!(buffer.is_read_only());
        let elsewhere = std::thread::spawn(move || drop(buffer));
        elsewhere.join().unwrap();
        assert_eq!(view.bytes(), [7; 5000]);
        let mut own = BufferPool::new(1, 4096).unwrap().take().unwrap();
        own.bytes_mut().fill(9);
        let view = own.view();
        assert_eq!(view.bytes(), [9; 4096]);
        drop(view);
        own.bytes_mut().fill(1);
    }

    #[test]
    #[should_panic(expected = "while there is a view")]
    fn a_buffer_with_a_view_cannot_be_filled() {
        let mut buffer = BufferPool::new(1, 4096).unwrap().take().unwrap();
        let _view = buffer.view();
        buffer.bytes_mut();
    }

    #[test]
    #[should_panic(expected = "foreign memory is only read")]
    fn foreign_memory_cannot_be_filled() {
        let mut buffer = Buffer::foreign(Box::new(filled(4096, 0))).unwrap();
        buffer.bytes_mut();
    }
}
