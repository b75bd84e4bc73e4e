//! The kernel for 64-bit Arm with NEON, 16 bytes at a time: a table lookup finds 16 products of
//! half bytes.

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vdupq_n_u8, veorq_u8, vld1q_u8, vqtbl1q_u8, vshrq_n_u8, vst1q_u8,
};

use super::half_products::HalfProducts;
use super::portable;

const BLOCK_BYTES: usize = 16;

/// Adds the product of an element and data to a sum of the same length.
#[target_feature(enable = "neon")]
pub(super) fn add_product(element: u8, data: &[u8], sum: &mut [u8]) {
    if element == 1 {
        return portable::add(data, sum);
    }
    let products = HalfProducts::of(element);
    let low_products = load(&products.low);
    let high_products = load(&products.high);
    let low_half = vdupq_n_u8(0x0F);
    let (blocks, rest) = data.as_chunks::<BLOCK_BYTES>();
    let (sums, sum_rest) = sum.as_chunks_mut::<BLOCK_BYTES>();
    for (sum, block) in sums.iter_mut().zip(blocks) {
        let bytes = load(block);
        let product = veorq_u8(
            vqtbl1q_u8(low_products, vandq_u8(bytes, low_half)),
            vqtbl1q_u8(high_products, vshrq_n_u8::<4>(bytes)),
        );
        store(sum, veorq_u8(load(sum), product));
    }
    portable::add_product(element, rest, sum_rest);
}

#[target_feature(enable = "neon")]
fn load(block: &[u8; BLOCK_BYTES]) -> uint8x16_t {
    // SAFETY: the reference is to 16 bytes, which are read, and they need no alignment.
    unsafe { vld1q_u8(block.as_ptr()) }
}

#[target_feature(enable = "neon")]
fn store(block: &mut [u8; BLOCK_BYTES], bytes: uint8x16_t) {
    // SAFETY: the reference is to 16 bytes, which are written, and they need no alignment.
    unsafe { vst1q_u8(block.as_mut_ptr(), bytes) }
}
