//! Decides which positions are sampled, and in which order. Pure; the run calls it.
//!
//! The first pass goes by halves (J. G. van der Corput's sequence, 1935), so that a change over
//! time affects all positions alike, and an early end leaves the whole range covered. Then the
//! range is split where neighbours differ: between two samples the rate is known up to their
//! difference, so the largest uncertainty of the mean is their difference times their distance.

/// Evenly spread positions, the ends among them.
pub(super) fn coarse(count: usize) -> Vec<f64> {
    let last = count.max(2) - 1;
    (0..=last).map(|index| index as f64 / last as f64).collect()
}

/// The order in which `count` positions are visited.
pub(super) fn spread(count: usize) -> Vec<usize> {
    let bits = count.next_power_of_two().trailing_zeros();
    let reversed = |index: usize| match bits {
        0 => 0,
        bits => index.reverse_bits() >> (usize::BITS - bits),
    };
    let all = (0..count.next_power_of_two()).map(reversed);
    all.filter(|index| *index < count).collect()
}

/// The order of the second visits, which has nothing to do with that of the first ones. What the
/// rate does in time then does not repeat at the positions: neither a slow change, which the last
/// visits of the first pass would share with the first ones of a pass backwards, nor what changes
/// from sample to sample, as under a throttle that a sample meets within its slice or at its
/// beginning.
pub(super) fn second_pass(visited: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..visited.len()).collect();
    order.sort_by_key(|index| mixed(*index as u64));
    order.into_iter().map(|index| visited[index]).collect()
}

/// A number without any order, the same for each index every time (G. L. Steele, D. Lea and C. H.
/// Flood, "Fast splittable pseudorandom number generators", 2014).
fn mixed(index: u64) -> u64 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The rates of one curve that are known so far, in order of position.
pub(super) struct CurveSoFar {
    pub(super) rates: Vec<Option<f64>>,
    /// Standard deviation of a rate, as a part of it.
    pub(super) noise: f64,
}

/// A difference between neighbours is real above so many standard deviations,
const DEVIATIONS: f64 = 3.0;
/// and above this part of the rate.
const DIFFERENCE_MIN: f64 = 0.015;

/// Positions between neighbours whose rates differ on some curve, the most uncertain first.
/// `positions` ascend; neighbours closer than `least_gap` are not split.
pub(super) fn splits(
    positions: &[f64],
    curves: &[CurveSoFar],
    least_gap: f64,
    most: usize,
) -> Vec<f64> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    for (index, pair) in positions.windows(2).enumerate() {
        let gap = pair[1] - pair[0];
        if gap < 2.0 * least_gap {
            continue;
        }
        let uncertain = curves.iter().filter_map(|curve| {
            let (left, right) = (curve.rates[index]?, curve.rates[index + 1]?);
            let difference = (left / right).ln().abs();
            let explained = (DEVIATIONS * curve.noise * 2.0_f64.sqrt()).max(DIFFERENCE_MIN);
            (difference > explained).then_some(difference * gap)
        });
        if let Some(uncertain) = uncertain.reduce(f64::max) {
            found.push((uncertain, f64::midpoint(pair[0], pair[1])));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.truncate(most);
    found.into_iter().map(|(_, position)| position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_visited_once_and_the_whole_range_early() {
        for count in [1, 2, 3, 8, 9, 100] {
            let mut order = spread(count);
            let early = order[..count.min(4)].to_vec();
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
            if count >= 8 {
                assert!(early.iter().any(|index| *index >= count / 2), "{early:?}");
            }
        }
        assert_eq!(coarse(5), [0.0, 0.25, 0.5, 0.75, 1.0]);
    }

    fn known(rates: &[f64], noise: f64) -> CurveSoFar {
        CurveSoFar {
            rates: rates.iter().copied().map(Some).collect(),
            noise,
        }
    }

    #[test]
    fn what_differs_is_split_in_the_middle_and_the_rest_is_left() {
        let positions = [0.0, 0.25, 0.5, 0.75, 1.0];
        let curve = known(&[100.0, 100.0, 80.0, 80.0, 79.0], 0.002);
        assert_eq!(splits(&positions, &[curve], 0.01, 9), [0.375]);
        let noisy = known(&[100.0, 97.0, 103.0, 100.0, 98.0], 0.02);
        assert!(splits(&positions, &[noisy], 0.01, 9).is_empty());
    }

    #[test]
    fn the_widest_uncertainty_comes_first_and_nothing_is_split_for_ever() {
        let positions = [0.0, 0.5, 0.51, 1.0];
        let curve = || known(&[100.0, 90.0, 50.0, 40.0], 0.002);
        assert_eq!(splits(&positions, &[curve()], 0.02, 9), [0.755, 0.25]);
        assert_eq!(splits(&positions, &[curve()], 0.02, 1), [0.755]);
        assert_eq!(splits(&positions, &[curve()], 0.3, 9), [0.0; 0]);
    }
}
