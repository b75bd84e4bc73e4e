//! The kernel for x86-64 with AVX2, 32 bytes at a time: a shuffle looks up 32 products of half
//! bytes.

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_loadu_si256,
    _mm256_set1_epi8, _mm256_shuffle_epi8, _mm256_srli_epi64, _mm256_storeu_si256,
    _mm256_xor_si256,
};
use std::ptr;

use super::half_products::HalfProducts;
use super::portable;

const BLOCK_BYTES: usize = 32;

/// Adds the product of an element and data to a sum of the same length.
#[target_feature(enable = "avx2")]
pub(super) fn add_product(element: u8, data: &[u8], sum: &mut [u8]) {
    if element == 1 {
        return portable::add(data, sum);
    }
    let products = HalfProducts::of(element);
    let low_products = in_both_lanes(&products.low);
    let high_products = in_both_lanes(&products.high);
    let low_half = _mm256_set1_epi8(0x0F);
    let (blocks, rest) = data.as_chunks::<BLOCK_BYTES>();
    let (sums, sum_rest) = sum.as_chunks_mut::<BLOCK_BYTES>();
    for (sum, block) in sums.iter_mut().zip(blocks) {
        let bytes = load(block);
        let low = _mm256_and_si256(bytes, low_half);
        let high = _mm256_and_si256(_mm256_srli_epi64::<4>(bytes), low_half);
        let product = _mm256_xor_si256(
            _mm256_shuffle_epi8(low_products, low),
            _mm256_shuffle_epi8(high_products, high),
        );
        store(sum, _mm256_xor_si256(load(sum), product));
    }
    portable::add_product(element, rest, sum_rest);
}

/// A shuffle looks up in each lane of 16 bytes by itself.
#[target_feature(enable = "avx2")]
fn in_both_lanes(table: &[u8; 16]) -> __m256i {
    // SAFETY: the reference is to 16 bytes, which are read, and they need no alignment.
    let lane = unsafe { _mm_loadu_si128(ptr::from_ref(table).cast()) };
    _mm256_broadcastsi128_si256(lane)
}

#[target_feature(enable = "avx2")]
fn load(block: &[u8; BLOCK_BYTES]) -> __m256i {
    // SAFETY: the reference is to 32 bytes, which are read, and they need no alignment.
    unsafe { _mm256_loadu_si256(ptr::from_ref(block).cast()) }
}

#[target_feature(enable = "avx2")]
fn store(block: &mut [u8; BLOCK_BYTES], bytes: __m256i) {
    // SAFETY: the reference is to 32 bytes, which are written, and they need no alignment.
    unsafe { _mm256_storeu_si256(ptr::from_mut(block).cast(), bytes) }
}
