//! Whatever a group may lose is computed from what is left of it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use reed_solomon_erasure::galois_8;
use sustain_parity::{ParityError, Recovery, Sums, coefficient};

/// Data of unequal lengths, the first one not the longest, and one of them empty.
fn group(count: usize) -> Vec<Vec<u8>> {
    let byte = |position: usize, index: usize| (position * 89 + index * index * 7 + 3) as u8;
    let length = |position: usize| [70, 41, 97, 0, 64, 33, 96, 1][position];
    (0..count)
        .map(|position| {
            (0..length(position))
                .map(|index| byte(position, index))
                .collect()
        })
        .collect()
}

/// The parities by the tables of another implementation.
fn parities_by_another(data: &[Vec<u8>], count: usize) -> Vec<Vec<u8>> {
    let length = data.iter().map(Vec::len).max().unwrap();
    (0..count)
        .map(|parity| {
            let mut sum = vec![0; length];
            // With SIMD the other implementation panics on empty slices.
            for (position, data) in data.iter().enumerate().filter(|(_, data)| !data.is_empty()) {
                let element = coefficient(parity, position).unwrap();
                galois_8::mul_slice_xor(element, data, &mut sum[..data.len()]);
            }
            sum
        })
        .collect()
}

fn parities(data: &[Vec<u8>], count: usize) -> Vec<Vec<u8>> {
    let numbers: Vec<usize> = (0..count).collect();
    let length = data.iter().map(Vec::len).max().unwrap();
    // What the memory holds must not matter.
    let mut sums = Sums::empty(&numbers, vec![vec![0xA5; length]; count]).unwrap();
    for (position, data) in data.iter().enumerate() {
        sums.add(position, 0, data).unwrap();
    }
    assert_eq!(sums.length_bytes(), length);
    sums.into_memory()
}

/// Computes the data at the positions `lost` from the parities `used` and the other data.
fn recovered(data: &[Vec<u8>], lost: &[usize], parities: &[Vec<u8>], used: &[usize]) {
    let length = parities[0].len();
    let memory = used
        .iter()
        .map(|number| parities[*number].clone())
        .collect();
    let mut sums = Sums::holding(used, memory, length).unwrap();
    for (position, data) in data.iter().enumerate() {
        if !lost.contains(&position) {
            sums.add(position, 0, data).unwrap();
        }
    }
    let computed = Recovery::of(lost, used).unwrap().apply(sums).unwrap();
    for (position, computed) in lost.iter().zip(computed) {
        let (content, rest) = computed.split_at(data[*position].len());
        assert_eq!(content, data[*position], "{lost:?} by {used:?}");
        assert!(rest.iter().all(|byte| *byte == 0), "{lost:?} by {used:?}");
    }
}

/// The numbers of the bits that are set.
fn numbers(bits: u32) -> Vec<usize> {
    (0..32).filter(|bit| bits >> bit & 1 == 1).collect()
}

#[test]
fn parities_are_those_of_another_implementation() {
    for count in 1..=8 {
        let data = group(count);
        assert_eq!(parities(&data, 3), parities_by_another(&data, 3));
    }
}

#[test]
fn every_loss_that_a_group_may_have_is_made_good() {
    let mut tried = 0;
    for data_count in 1..=8 {
        let data = group(data_count);
        for parity_count in 1..=3 {
            let parities = parities(&data, parity_count);
            for lost in (0..1u32 << data_count).map(numbers) {
                for left in (0..1u32 << parity_count).map(numbers) {
                    let losses = lost.len() + parity_count - left.len();
                    if losses > parity_count || lost.is_empty() {
                        continue;
                    }
                    recovered(&data, &lost, &parities, &left[..lost.len()]);
                    recovered(&data, &lost, &parities, &left[left.len() - lost.len()..]);
                    tried += 1;
                }
            }
        }
    }
    // The sum of (k + p over i), for k from 1 to 8, p from 1 to 3, and i from 0 to p, less the 2^p
    // losses of parities only.
    assert_eq!(tried, 942);
}

#[test]
fn a_group_of_one_has_copies_for_parities() {
    let data = group(1);
    for parity in parities(&data, 3) {
        assert_eq!(parity, data[0]);
    }
}

#[test]
fn the_order_of_the_lost_and_of_the_parities_is_the_caller_s() {
    let data = group(8);
    let parities = parities(&data, 3);
    recovered(&data, &[7, 2, 4], &parities, &[1, 2, 0]);
    recovered(&data, &[6, 0], &parities, &[2, 1]);
}

#[test]
fn sums_of_other_parities_are_refused() {
    let recovery = Recovery::of(&[0, 1], &[0, 2]).unwrap();
    for others in [&[2, 0][..], &[0, 1], &[0]] {
        let sums = Sums::holding(others, vec![vec![0; 8]; others.len()], 8).unwrap();
        assert_eq!(recovery.apply(sums), Err(ParityError::OtherParities));
    }
}
