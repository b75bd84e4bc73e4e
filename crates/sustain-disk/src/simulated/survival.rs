//! Decides what a power cut or an error leaves of writes that were not promised: any of their
//! sectors. Called by the medium; everything follows from the generator that it is given.

use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// The unit in which a write may be torn.
pub(super) const SECTOR_BYTES: u64 = 512;

/// The fate of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lost,
    Whole,
    /// Only some sectors from the start on survive.
    Prefix,
    /// Only some sectors up to the end survive.
    Suffix,
    /// Each sector survives by itself, with this many chances of 256.
    Scattered(u64),
}

/// The fate of each of `count` writes, given in their order, and the order in which they arrive:
/// the index of a write with its fate.
fn fates(generator: &mut Xoshiro256PlusPlus, count: usize) -> Vec<(usize, Fate)> {
    let all = |fate: Fate| (0..count).map(|index| (index, fate)).collect();
    match below(generator, 8) {
        0 => all(Fate::Lost),
        1 => all(Fate::Whole),
        2 => all(Fate::Prefix),
        3 => all(Fate::Suffix),
        4 => {
            let chances = below(generator, 257);
            all(Fate::Scattered(chances))
        }
        // The disk writes its newest data first.
        5 => split(generator, count, Fate::Lost, Fate::Whole),
        6 => split(generator, count, Fate::Whole, Fate::Lost),
        _ => {
            let mut each: Vec<(usize, Fate)> = (0..count)
                .map(|index| (index, one_fate(generator)))
                .collect();
            shuffle(generator, &mut each);
            each
        }
    }
}

/// Everything before some write has one fate, and everything after it the other; that write is
/// torn.
fn split(
    generator: &mut Xoshiro256PlusPlus,
    count: usize,
    before: Fate,
    after: Fate,
) -> Vec<(usize, Fate)> {
    let torn = below(generator, count as u64 + 1) as usize;
    let chances = below(generator, 257);
    let fate = |index: usize| match index.cmp(&torn) {
        std::cmp::Ordering::Less => before,
        std::cmp::Ordering::Equal => Fate::Scattered(chances),
        std::cmp::Ordering::Greater => after,
    };
    (0..count).map(|index| (index, fate(index))).collect()
}

fn one_fate(generator: &mut Xoshiro256PlusPlus) -> Fate {
    match below(generator, 5) {
        0 => Fate::Lost,
        1 => Fate::Whole,
        2 => Fate::Prefix,
        3 => Fate::Suffix,
        _ => Fate::Scattered(below(generator, 257)),
    }
}

/// The parts of some writes, each given by offset and length, that survive a power cut, in the
/// order in which they reach the medium: index of the write and a range of its bytes.
pub(super) fn survivors(
    generator: &mut Xoshiro256PlusPlus,
    writes: &[(u64, usize)],
) -> Vec<(usize, Range<usize>)> {
    let mut parts = Vec::new();
    for (index, fate) in fates(generator, writes.len()) {
        let (offset_bytes, length) = writes[index];
        let ranges = surviving_ranges(generator, fate, offset_bytes, length);
        parts.extend(ranges.into_iter().map(|range| (index, range)));
    }
    parts
}

/// The parts of one write that a failure left.
pub(super) fn remains(
    generator: &mut Xoshiro256PlusPlus,
    offset_bytes: u64,
    length: usize,
) -> Vec<Range<usize>> {
    let fate = one_fate(generator);
    surviving_ranges(generator, fate, offset_bytes, length)
}

fn surviving_ranges(
    generator: &mut Xoshiro256PlusPlus,
    fate: Fate,
    offset_bytes: u64,
    length: usize,
) -> Vec<Range<usize>> {
    let first = offset_bytes / SECTOR_BYTES;
    let count = (offset_bytes + length as u64).div_ceil(SECTOR_BYTES) - first;
    // The writer need not keep to sectors, but the disk does.
    let within = |sector: u64| {
        let at_bytes = (first + sector) * SECTOR_BYTES;
        (at_bytes.saturating_sub(offset_bytes) as usize).min(length)
    };
    let bytes = |sectors: Range<u64>| within(sectors.start)..within(sectors.end);
    let mut ranges = match fate {
        Fate::Lost => Vec::new(),
        Fate::Whole => vec![bytes(0..count)],
        Fate::Prefix => vec![bytes(0..below(generator, count + 1))],
        Fate::Suffix => vec![bytes(below(generator, count + 1)..count)],
        Fate::Scattered(chances) => {
            let mut runs: Vec<Range<u64>> = Vec::new();
            for sector in 0..count {
                if below(generator, 256) >= chances {
                    continue;
                }
                match runs.last_mut() {
                    Some(run) if run.end == sector => run.end += 1,
                    _ => runs.push(sector..sector + 1),
                }
            }
            runs.into_iter().map(bytes).collect()
        }
    };
    ranges.retain(|range| !range.is_empty());
    ranges
}

fn shuffle<T>(generator: &mut Xoshiro256PlusPlus, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(generator, last as u64 + 1) as usize);
    }
}

/// Uniform in 0..bound, up to a bias of bound / 2^64.
fn below(generator: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    fn cuts(writes: &[(u64, usize)]) -> impl Iterator<Item = Vec<(usize, Range<usize>)>> {
        (0..2000).map(|seed| {
            let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
            survivors(&mut generator, writes)
        })
    }

    #[test]
    fn every_kind_of_ending_comes_up() {
        let writes = [(0, 4096), (4096, 4096), (65536, 4096)];
        let whole = |index: usize| (index, 0..4096);
        let seen = |wanted: &[(usize, Range<usize>)]| cuts(&writes).any(|cut| cut == wanted);
        assert!(seen(&[]), "all lost");
        assert!(seen(&[whole(0), whole(1), whole(2)]), "all there");
        assert!(seen(&[whole(2)]), "only the last");
        assert!(seen(&[whole(1), whole(2)]), "all but the first");
        assert!(seen(&[whole(0)]), "only the first");
        let torn = |wanted: fn(&Range<usize>) -> bool| {
            cuts(&writes).any(|cut| cut.iter().any(|(_, range)| wanted(range)))
        };
        assert!(torn(|range| range.start == 0 && range.end < 4096), "prefix");
        assert!(torn(|range| range.start > 0 && range.end == 4096), "suffix");
        assert!(torn(|range| range.start > 0 && range.end < 4096), "middle");
        let reversed =
            |cut: &[(usize, Range<usize>)]| cut.windows(2).any(|two| two[0].0 > two[1].0);
        assert!(cuts(&writes).any(|cut| reversed(&cut)), "out of order");
    }

    #[test]
    fn writes_are_torn_at_sectors_of_the_disk() {
        let offset = 300;
        for cut in cuts(&[(offset, 2000)]) {
            for (_, range) in cut {
                assert!(range.end <= 2000);
                for edge in [range.start, range.end] {
                    let at = edge as u64 + offset;
                    let inside = edge != 0 && edge != 2000;
                    assert!(!inside || at.is_multiple_of(SECTOR_BYTES), "torn at {at}");
                }
            }
        }
    }

    #[test]
    fn a_cut_without_writes_leaves_nothing() {
        assert!(cuts(&[]).all(|cut| cut.is_empty()));
    }
}
