//! Sums do not depend on how data is cut, where it lies, or which kernel adds it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use proptest::collection::vec;
use proptest::prelude::*;
use reed_solomon_erasure::galois_8;
use sustain_parity::{Kernel, PARITIES_MAX, POSITIONS_MAX, ParityError, Sums, coefficient};

/// Data that is added, in pieces.
#[derive(Debug, Clone)]
struct Append {
    position: usize,
    bytes: Vec<u8>,
    /// How far into memory that is aligned for anything it begins.
    misaligned_bytes: usize,
    /// Where it is cut.
    cuts: Vec<prop::sample::Index>,
    /// Whether its last piece comes first.
    backwards: bool,
}

fn appends() -> impl Strategy<Value = Vec<Append>> {
    // Around the lengths of the vectors and of the blocks as well as anywhere.
    let length = prop_oneof![0..200usize, 4000..4200usize, 0..20_000usize];
    let bytes = length.prop_flat_map(|length| vec(any::<u8>(), length));
    let cuts = vec(any::<prop::sample::Index>(), 0..4);
    let append = (0..POSITIONS_MAX, bytes, 0..64usize, cuts, any::<bool>());
    let append = append.prop_map(
        |(position, bytes, misaligned_bytes, cuts, backwards)| Append {
            position,
            bytes,
            misaligned_bytes,
            cuts,
            backwards,
        },
    );
    vec(append, 1..5)
}

impl Append {
    /// Where the pieces begin and end.
    fn pieces(&self) -> Vec<(usize, usize)> {
        let length = self.bytes.len();
        let cuts = self.cuts.iter().map(|cut| cut.index(length + 1));
        let mut ends: Vec<usize> = cuts.chain([0, length]).collect();
        ends.sort_unstable();
        let mut pieces: Vec<_> = ends.windows(2).map(|ends| (ends[0], ends[1])).collect();
        if self.backwards {
            pieces.reverse();
        }
        pieces
    }
}

/// What the sums must be, by the tables of another implementation.
fn expected(appends: &[Append], parities: &[usize]) -> Vec<Vec<u8>> {
    let length = appends.iter().map(|append| append.bytes.len()).max();
    let sum_of = |parity: &usize| {
        let mut sum = vec![0; length.unwrap()];
        // The other implementation takes no empty slice in its build without SIMD.
        for Append {
            position, bytes, ..
        } in appends.iter().filter(|append| !append.bytes.is_empty())
        {
            let element = coefficient(*parity, *position).unwrap();
            galois_8::mul_slice_xor(element, bytes, &mut sum[..bytes.len()]);
        }
        sum
    };
    parities.iter().map(sum_of).collect()
}

proptest! {
    #[test]
    fn all_kernels_and_pieces_give_the_same_sums(
        appends in appends(),
        parities in prop::sample::subsequence((0..PARITIES_MAX).collect::<Vec<_>>(), 1..=3),
        misaligned_bytes in 0..64usize,
    ) {
        let expected = expected(&appends, &parities);
        let length = expected[0].len();
        for kernel in Kernel::all() {
            let mut memory = vec![vec![0xA5; 64 + length]; parities.len()];
            let slices = memory.iter_mut().map(|memory| &mut memory[misaligned_bytes..]);
            let sums = Sums::empty(&parities, slices.collect()).unwrap();
            let mut sums = sums.with_kernel(kernel);
            for append in &appends {
                let mut bytes = vec![0; append.misaligned_bytes];
                bytes.extend(&append.bytes);
                let bytes = &bytes[append.misaligned_bytes..];
                for (start, end) in append.pieces() {
                    sums.add(append.position, start, &bytes[start..end]).unwrap();
                }
            }
            prop_assert_eq!(sums.length_bytes(), length);
            for (sum, expected) in sums.into_memory().into_iter().zip(&expected) {
                prop_assert!(sum[..length] == expected[..], "{}", kernel.name());
                // What lies behind the sums is not theirs.
                prop_assert!(sum[length..].iter().all(|byte| *byte == 0xA5));
            }
        }
    }

    #[test]
    fn no_numbers_make_it_panic(
        parities in vec(prop_oneof![0..4usize, any::<usize>()], 0..5),
        rooms in vec(0..100usize, 0..5),
        length in prop_oneof![0..100usize, any::<usize>()],
        position in prop_oneof![0..140usize, any::<usize>()],
        offset in prop_oneof![0..100usize, any::<usize>()],
        data in vec(any::<u8>(), 0..100),
    ) {
        let room = rooms.iter().copied().min();
        let memory: Vec<Vec<u8>> = rooms.into_iter().map(|room| vec![0; room]).collect();
        if let Ok(mut sums) = Sums::holding(&parities, memory, length) {
            let fits = offset.checked_add(data.len()).is_some_and(|end| Some(end) <= room);
            let added = sums.add(position, offset, &data);
            if !parities.is_empty() {
                prop_assert_eq!(added.is_ok(), fits && position < POSITIONS_MAX);
            }
        }
    }
}

#[test]
fn the_best_kernel_is_the_last_one_that_is_there() {
    assert_eq!(Kernel::all().last(), Some(Kernel::best()));
    assert_eq!(Kernel::all().next().map(Kernel::name), Some("portable"));
}

#[test]
fn memory_that_does_not_fit_is_refused() {
    let unequal = ParityError::UnequalMemory {
        parities: 2,
        pieces: 1,
    };
    assert_eq!(Sums::empty(&[0, 1], vec![vec![0; 8]]).err(), Some(unequal));
    let no_room = |end_bytes| ParityError::NoRoom {
        end_bytes,
        room_bytes: 7,
    };
    let memory = || vec![vec![0; 8], vec![0; 7]];
    let refused = Sums::holding(&[0, 1], memory(), 8).err();
    assert_eq!(refused, Some(no_room(8)));
    let mut sums = Sums::empty(&[0, 1], memory()).unwrap();
    assert_eq!(sums.add(3, 4, b"four"), Err(no_room(8)));
    assert_eq!(sums.length_bytes(), 0);
    sums.add(3, 3, b"four").unwrap();
    assert_eq!(sums.length_bytes(), 7);
    assert_eq!(sums.into_memory()[0][..7], *b"\0\0\0four");
}
