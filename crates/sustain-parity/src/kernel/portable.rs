//! The kernel that every processor can run. It has no tables: compilers turn its loops into vector
//! instructions, of 16 bytes on any x86-64.

use crate::field::{POLYNOMIAL_LOW, multiply};

/// What is multiplied at once.
const BLOCK_BYTES: usize = 32;

/// Adds data to a sum of the same length.
///
/// It becomes a part of its callers, so that it is compiled for the processors that they are for.
#[inline(always)]
pub(super) fn add(data: &[u8], sum: &mut [u8]) {
    for (sum, byte) in sum.iter_mut().zip(data) {
        *sum ^= byte;
    }
}

/// Adds the product of an element and data to a sum of the same length.
pub(super) fn add_product(element: u8, data: &[u8], sum: &mut [u8]) {
    if element == 1 {
        return add(data, sum);
    }
    let (blocks, rest) = data.as_chunks::<BLOCK_BYTES>();
    let (sums, sum_rest) = sum.as_chunks_mut::<BLOCK_BYTES>();
    for (sum, block) in sums.iter_mut().zip(blocks) {
        add_product_of_block(element, *block, sum);
    }
    for (sum, byte) in sum_rest.iter_mut().zip(rest) {
        *sum ^= multiply(element, *byte);
    }
}

/// Adds the data, doubled again and again, for each bit of the element that is set. Masks instead
/// of branches keep all bytes of the block in step.
fn add_product_of_block(element: u8, mut block: [u8; BLOCK_BYTES], sum: &mut [u8; BLOCK_BYTES]) {
    for bit in 0..8 {
        let is_set = 0u8.wrapping_sub(element >> bit & 1);
        for (sum, byte) in sum.iter_mut().zip(&mut block) {
            *sum ^= *byte & is_set;
            let overflows = (byte.cast_signed() >> 7).cast_unsigned();
            *byte = (*byte << 1) ^ (overflows & POLYNOMIAL_LOW);
        }
    }
}
