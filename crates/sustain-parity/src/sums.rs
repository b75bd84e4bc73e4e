//! The running sums of a group. They become its parities, and with parities to begin with and the
//! data that is left they become what the lost data is computed from.

use std::ops::DerefMut;

use crate::coefficient::coefficient;
use crate::error::ParityError;
use crate::kernel::Kernel;
use crate::limits::PARITIES_MAX;

/// Data is added to one sum after the other in blocks of this length. One of the data and one of
/// each sum fit into a cache of the first level together.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// The sums of some parities of a group, in memory of the caller's, such as `Vec<u8>` or
/// `&mut [u8]`.
///
/// The memory may hold anything at first. All sums are as long as the longest data so far.
#[derive(Debug)]
pub struct Sums<M> {
    /// Numbers of the parities, no two of them alike.
    parities: Vec<usize>,
    /// As many, each at least `room_bytes` long.
    memory: Vec<M>,
    room_bytes: usize,
    length_bytes: usize,
    kernel: Kernel,
}

impl<M: DerefMut<Target = [u8]>> Sums<M> {
    /// The sums of nothing for the parities of these numbers, each with a piece of memory.
    ///
    /// # Errors
    /// If a parity has an impossible number or is named twice, or if there is not a piece of memory
    /// for each.
    pub fn empty(parities: &[usize], memory: Vec<M>) -> Result<Sums<M>, ParityError> {
        Sums::holding(parities, memory, 0)
    }

    /// The sums that the first `length_bytes` of each piece of memory hold, such as parities read
    /// from disks.
    ///
    /// # Errors
    /// As [`Sums::empty`], and if a piece of memory is shorter than that.
    pub fn holding(
        parities: &[usize],
        memory: Vec<M>,
        length_bytes: usize,
    ) -> Result<Sums<M>, ParityError> {
        check_parities(parities)?;
        if memory.len() != parities.len() {
            return Err(ParityError::UnequalMemory {
                parities: parities.len(),
                pieces: memory.len(),
            });
        }
        let room_bytes = memory.iter().map(|piece| piece.len()).min().unwrap_or(0);
        if length_bytes > room_bytes {
            return Err(ParityError::NoRoom {
                end_bytes: length_bytes,
                room_bytes,
            });
        }
        Ok(Sums {
            parities: parities.to_vec(),
            memory,
            room_bytes,
            length_bytes,
            kernel: Kernel::best(),
        })
    }

    /// Lets a kernel do the work that is not the best one here, to compare them.
    #[must_use]
    pub fn with_kernel(self, kernel: Kernel) -> Sums<M> {
        Sums { kernel, ..self }
    }

    /// Adds a piece of the data at `position` to all sums. The piece begins at `offset_bytes` of
    /// that data. Each byte of it must be added once; pieces may come in any order.
    ///
    /// # Errors
    /// If the position is impossible, or if the piece ends beyond the memory of the sums.
    pub fn add(
        &mut self,
        position: usize,
        offset_bytes: usize,
        data: &[u8],
    ) -> Result<(), ParityError> {
        let mut elements = [0; PARITIES_MAX];
        for (element, parity) in elements.iter_mut().zip(&self.parities) {
            *element = coefficient(*parity, position)?;
        }
        let end_bytes = offset_bytes.saturating_add(data.len());
        if end_bytes > self.room_bytes {
            return Err(ParityError::NoRoom {
                end_bytes,
                room_bytes: self.room_bytes,
            });
        }
        if data.is_empty() {
            return Ok(());
        }
        self.clear_up_to(offset_bytes);
        for (index, block) in data.chunks(BLOCK_BYTES).enumerate() {
            let start = offset_bytes + index * BLOCK_BYTES;
            let end = start + block.len();
            let known = self.length_bytes.clamp(start, end);
            let (more, new) = block.split_at(known - start);
            for (memory, element) in self.memory.iter_mut().zip(elements) {
                let (sum_known, sum_new) = memory[start..end].split_at_mut(known - start);
                self.kernel.add_product(element, more, sum_known);
                self.kernel.set_product(element, new, sum_new);
            }
        }
        self.length_bytes = self.length_bytes.max(end_bytes);
        Ok(())
    }

    /// Fills the sums up with zeros where data begins beyond their end.
    fn clear_up_to(&mut self, offset_bytes: usize) {
        if offset_bytes <= self.length_bytes {
            return;
        }
        for memory in &mut self.memory {
            memory[self.length_bytes..offset_bytes].fill(0);
        }
        self.length_bytes = offset_bytes;
    }

    /// Numbers of the parities, in the order in which they were given.
    pub(crate) fn parities(&self) -> &[usize] {
        &self.parities
    }

    /// The memory, to compute something else from the sums in its place.
    pub(crate) fn memory_mut(&mut self) -> &mut [M] {
        &mut self.memory
    }

    /// What does the work.
    pub(crate) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// How long the longest data is so far, and so each sum.
    pub fn length_bytes(&self) -> usize {
        self.length_bytes
    }

    /// Returns the memory, whose first [`length_bytes`](Self::length_bytes) are the sums.
    pub fn into_memory(self) -> Vec<M> {
        self.memory
    }
}

/// Refuses parities with impossible numbers, and the same one twice.
pub(crate) fn check_parities(parities: &[usize]) -> Result<(), ParityError> {
    for (index, parity) in parities.iter().enumerate() {
        coefficient(*parity, 0)?;
        if parities[..index].contains(parity) {
            return Err(ParityError::NamedTwice { number: *parity });
        }
    }
    Ok(())
}
