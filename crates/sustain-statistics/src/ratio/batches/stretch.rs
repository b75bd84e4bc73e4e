//! A stretch in which one of two runs was faster than the other by a constant part, as it is while
//! a cache holds in one of them and no longer in the other. How long that lasts differs from run
//! to run, and one run of each does not tell by how much. So the ratio of the two is not believed
//! to be known better than that. Called by the ratios of rates.
//!
//! The stretch is the one whose mean differs most from the mean of the rest (as for a shift in
//! location: D. M. Hawkins, Journal of the American Statistical Association 72, 1977, here with
//! two edges). Noise makes such a stretch, too, so what noise would make is taken off first.

use crate::judge::batch_means::BATCHES;

/// Noise alone gives the most different of all stretches about so many times the variance that a
/// stretch chosen before would have.
const CHOSEN: f64 = 4.0;
/// The variance of the part of two runs for which one of them alone has such a stretch: it could
/// have been hardly any of it, or all of it.
pub(super) const OF_PAIR: f64 = 1.0 / 4.0;
/// The variance of the part of one run that such a stretch takes, if any part is as likely.
pub(super) const OF_ONE: f64 = 1.0 / 12.0;
/// Two levels and an edge are fitted.
const FITTED: f64 = 3.0;

/// The variance that such a stretch adds to the mean of these batches or differences, where the
/// part that it takes has this variance; zero if they show none beyond noise.
pub(super) fn variance(differences: &[f64; BATCHES], of_part: f64) -> f64 {
    let count = BATCHES as f64;
    let sum: f64 = differences.iter().sum();
    let squares = differences.iter().map(|one| (one - sum / count).powi(2));
    let all: f64 = squares.sum();
    let mut most = (0.0, 0.0);
    for from in 0..BATCHES {
        let mut inside = 0.0;
        for to in from + 1..=BATCHES {
            inside += differences[to - 1];
            let (length, rest) = ((to - from) as f64, (BATCHES - (to - from)) as f64);
            if rest == 0.0 {
                continue;
            }
            let shift = inside / length - (sum - inside) / rest;
            let explained = shift.powi(2) * length * rest / count;
            if explained > most.0 {
                let left = (all - explained).max(0.0) / (count - FITTED);
                let by_noise = CHOSEN * left * (1.0 / length + 1.0 / rest);
                // The differences are the first-order term of a logarithm; this is the second.
                let of_log = shift.abs() * (1.0 + shift.abs() / 2.0);
                most = (explained, (of_log.powi(2) - by_noise).max(0.0));
            }
        }
    }
    most.1 * of_part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_at_another_level_counts_for_as_long_as_a_run() {
        let mut differences = [0.0; BATCHES];
        assert_eq!(variance(&differences, OF_PAIR), 0.0);
        differences[3..6].fill(0.1);
        assert!((variance(&differences, OF_PAIR) - 0.105_f64.powi(2) / 4.0).abs() < 1e-12);
    }

    #[test]
    fn what_only_varies_is_noise() {
        let differences = std::array::from_fn(|batch| [0.01, -0.01][batch % 2]);
        assert_eq!(variance(&differences, OF_PAIR), 0.0);
    }
}
