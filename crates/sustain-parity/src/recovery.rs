//! Lost data, computed from what is left of its group.

use std::ops::DerefMut;

use crate::coefficient::coefficient;
use crate::error::ParityError;
use crate::field::{inverse, multiply};
use crate::limits::PARITIES_MAX;
use crate::sums::{BLOCK_BYTES, Sums, check_parities};

/// Coefficients, of which only as many rows and columns count as there are losses.
type Matrix = [[u8; PARITIES_MAX]; PARITIES_MAX];

/// How certain lost data is computed from certain parities. It can be used for any number of
/// groups, or parts of one, that have lost the same positions.
#[derive(Debug, Clone)]
pub struct Recovery {
    parities: Vec<usize>,
    /// A row for each lost append: by what each sum is multiplied in it.
    elements: Matrix,
}

impl Recovery {
    /// The recovery of the data at the positions `lost` from as many parities. Where more of these
    /// are left, any of them will do.
    ///
    /// # Errors
    /// If there are not as many parities as lost appends, if a number is impossible, or if one is
    /// named twice.
    pub fn of(lost: &[usize], parities: &[usize]) -> Result<Recovery, ParityError> {
        check_parities(parities)?;
        if lost.len() != parities.len() {
            return Err(ParityError::UnequalParities {
                lost: lost.len(),
                parities: parities.len(),
            });
        }
        let mut coefficients = [[0; PARITIES_MAX]; PARITIES_MAX];
        for (column, position) in lost.iter().enumerate() {
            if lost[..column].contains(position) {
                return Err(ParityError::NamedTwice { number: *position });
            }
            for (row, parity) in coefficients.iter_mut().zip(parities) {
                row[column] = coefficient(*parity, *position)?;
            }
        }
        Ok(Recovery {
            parities: parities.to_vec(),
            elements: inverted(coefficients, lost.len()),
        })
    }

    /// Computes the lost data from the sums of the parities, which were read back, and the data
    /// that is left. Returns the memory of the sums, which then holds the lost appends in the order
    /// in which they were named. Each is as long as the sums were, with zeros behind its own end.
    ///
    /// # Errors
    /// If the sums are not those of the parities of this recovery, in the same order.
    pub fn apply<M: DerefMut<Target = [u8]>>(
        &self,
        mut sums: Sums<M>,
    ) -> Result<Vec<M>, ParityError> {
        if sums.parities() != self.parities {
            return Err(ParityError::OtherParities);
        }
        let (kernel, length_bytes) = (sums.kernel(), sums.length_bytes());
        let mut blocks = [[0; BLOCK_BYTES]; PARITIES_MAX];
        for start in (0..length_bytes).step_by(BLOCK_BYTES) {
            let end = length_bytes.min(start + BLOCK_BYTES);
            for (block, row) in blocks.iter_mut().zip(&self.elements) {
                block.fill(0);
                for (memory, element) in sums.memory_mut().iter().zip(row) {
                    kernel.add_product(*element, &memory[start..end], &mut block[..end - start]);
                }
            }
            for (memory, block) in sums.memory_mut().iter_mut().zip(&blocks) {
                memory[start..end].copy_from_slice(&block[..end - start]);
            }
        }
        Ok(sums.into_memory())
    }
}

/// The inverse of the first rows and columns, by elimination.
///
/// No row has to be exchanged for another: the elements on the diagonal are never 0, because all
/// rows and columns of the coefficients are independent, also the first ones alone.
fn inverted(mut matrix: Matrix, size: usize) -> Matrix {
    let mut inverted = [[0; PARITIES_MAX]; PARITIES_MAX];
    for (index, row) in inverted.iter_mut().enumerate().take(size) {
        row[index] = 1;
    }
    for pivot in 0..size {
        let scale = inverse(matrix[pivot][pivot]);
        for row in [&mut matrix[pivot], &mut inverted[pivot]] {
            *row = row.map(|element| multiply(element, scale));
        }
        for row in (0..size).filter(|row| *row != pivot) {
            let scale = matrix[row][pivot];
            for matrix in [&mut matrix, &mut inverted] {
                let subtracted = matrix[pivot].map(|element| multiply(element, scale));
                for (element, subtracted) in matrix[row].iter_mut().zip(subtracted) {
                    *element ^= subtracted;
                }
            }
        }
    }
    inverted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(one: &Matrix, other: &Matrix) -> Matrix {
        let indices: [usize; PARITIES_MAX] = std::array::from_fn(|index| index);
        indices.map(|row| {
            indices.map(|column| {
                let terms = indices.map(|index| multiply(one[row][index], other[index][column]));
                terms.into_iter().fold(0, |sum, term| sum ^ term)
            })
        })
    }

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        for lost in [[0, 1, 2], [5, 127, 64], [90, 3, 0]] {
            for parities in [[0, 1, 2], [2, 0, 1]] {
                let matrix = parities
                    .map(|parity| lost.map(|position| coefficient(parity, position).unwrap()));
                let identity = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
                assert_eq!(product(&inverted(matrix, 3), &matrix), identity);
                assert_eq!(product(&matrix, &inverted(matrix, 3)), identity);
            }
        }
    }

    #[test]
    fn what_cannot_be_computed_is_refused() {
        let of = |lost: &[usize], parities: &[usize]| Recovery::of(lost, parities).err();
        let unequal = |lost, parities| Some(ParityError::UnequalParities { lost, parities });
        assert_eq!(of(&[1, 2], &[0]), unequal(2, 1));
        assert_eq!(of(&[1], &[0, 2]), unequal(1, 2));
        assert_eq!(of(&[0, 1, 2, 3], &[0, 1, 2]), unequal(4, 3));
        let twice = |number| Some(ParityError::NamedTwice { number });
        assert_eq!(of(&[7, 7], &[0, 1]), twice(7));
        assert_eq!(of(&[7, 8], &[1, 1]), twice(1));
        let no_parity = ParityError::NoSuchParity { parity: 3 };
        assert_eq!(of(&[7], &[3]), Some(no_parity));
        let position = usize::MAX;
        let no_position = ParityError::NoSuchPosition { position };
        assert_eq!(of(&[position], &[0]), Some(no_position));
    }
}
