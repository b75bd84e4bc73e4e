//! Computes the value of a position from its visits, and how noisy such values are if disturbances
//! pass now and then. Pure; the fit calls it.
//!
//! A disturbance makes a sample slower and never faster, so a position can do what the fastest of
//! its visits showed. The error that is left in the values comes from positions that were disturbed
//! at every visit: with a share p of disturbed visits, p^2 of those that were visited twice.

use super::noise::{NOISE_MIN, drift};
use sustain_statistics::median;

/// One rate is slower than another if it is so by at least this part,
const FAR: f64 = 0.10;
/// and by this many standard deviations.
const FAR_DEVIATIONS: f64 = 5.0;

/// So few disturbances do not make neighbours slow together.
const RARE_MAX: usize = 2;

/// One position, and the rate of each visit.
#[derive(Debug, Clone)]
pub(super) struct VisitedPlace {
    /// The ends of its sample, as parts of the target.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Rates in order of time, above zero.
    pub(super) visits: Vec<f64>,
}

impl VisitedPlace {
    /// Its value: the mean of the visits that are like the fastest. `noise` is the standard
    /// deviation of one visit.
    pub(super) fn value(&self, noise: f64) -> Option<f64> {
        let fastest = self.visits.iter().copied().reduce(f64::max)?;
        let apart = far(noise * 2.0_f64.sqrt());
        let alike: Vec<f64> = self
            .visits
            .iter()
            .map(|rate| rate.ln())
            .filter(|log| fastest.ln() - log <= apart)
            .collect();
        Some((alike.iter().sum::<f64>() / alike.len() as f64).exp())
    }
}

/// How far a logarithm has to be from another for the difference to be more than chance.
pub(super) fn far(noise: f64) -> f64 {
    (FAR_DEVIATIONS * noise).max(-(1.0 - FAR).ln())
}

/// Whether a rate is slower than that of its zone by more than chance.
pub(super) fn is_far(noise: f64, rate: f64, zone_rate: f64) -> bool {
    (zone_rate / rate).ln() > far(noise)
}

/// The noise of the values of positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scatter {
    /// Their standard deviation, as a part of them.
    pub(super) noise: f64,
    /// The share of visits that were disturbed so much that they were left out; 0 if only a few
    /// positions were.
    pub(super) disturbed: f64,
}

/// `noise` is the standard deviation of one visit, by medians, in which disturbances do not show.
/// Disturbed visits that are averaged add the noise that they are seen to add; of those that are
/// left out, some affect every visit of a position.
pub(super) fn scatter(visits: &[Vec<f64>], noise: f64) -> Scatter {
    let visited: Vec<&Vec<f64>> = visits.iter().filter(|rates| !rates.is_empty()).collect();
    let repeats =
        visited.iter().map(|rates| rates.len()).sum::<usize>() as f64 / visited.len().max(1) as f64;
    let regular = noise.powi(2) / repeats.max(1.0);
    let drift = drift(visits).map_or(0.0, f64::ln);
    let changes: Vec<f64> = visited
        .iter()
        .filter(|rates| rates.len() >= 2)
        .map(|rates| ((rates[1] / rates[0]).ln() - drift).abs())
        .collect();
    let apart = far(noise * 2.0_f64.sqrt());
    let (left_out, kept): (Vec<f64>, Vec<f64>) =
        changes.iter().partition(|change| **change > apart);
    let pairs = changes.len().max(1) as f64;
    let averaged = kept
        .iter()
        .filter(|change| **change > FAR_DEVIATIONS * noise * 2.0_f64.sqrt())
        .map(|change| change.powi(2) / 4.0)
        .sum::<f64>()
        / pairs;
    let disturbed = disturbed_share(left_out.len() as f64 / pairs);
    let is_rare = left_out.len() <= RARE_MAX;
    let always = disturbed.powi(2);
    let depth = median(&left_out);
    let variance = regular + averaged + always * (1.0 - always) * depth.powi(2);
    Scatter {
        noise: variance.sqrt().max(NOISE_MIN),
        disturbed: if is_rare { 0.0 } else { disturbed },
    }
}

/// The share p of disturbed visits if this share of positions was disturbed in one of two visits,
/// which is 2 p (1 - p).
fn disturbed_share(one_of_two: f64) -> f64 {
    (1.0 - (1.0 - 2.0 * one_of_two).max(0.0).sqrt()) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(visits: &[f64]) -> f64 {
        let place = VisitedPlace {
            from: 0.0,
            to: 0.1,
            visits: visits.to_vec(),
        };
        place.value(0.01).unwrap()
    }

    #[test]
    fn a_place_counts_with_what_it_can_do() {
        assert!((value(&[100.0, 102.0]) - 101.0).abs() < 0.01);
        assert!((value(&[126.0, 196.0]) - 196.0).abs() < 1e-9);
        assert!((value(&[196.0, 126.0, 126.0]) - 196.0).abs() < 1e-9);
        assert!((value(&[50.0, 50.0, 50.0]) - 50.0).abs() < 1e-9);
    }

    /// Each visit of a hundred places is disturbed by this chance, alike every time.
    fn disturbed(chance: f64, depth: f64) -> Vec<Vec<f64>> {
        let mut state = 1_u64;
        let mut rate = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
            if uniform < chance { 1e8 * depth } else { 1e8 }
        };
        (0..100).map(|_| vec![rate(), rate()]).collect()
    }

    #[test]
    fn the_scatter_of_values_knows_what_disturbs_every_visit() {
        let scatter = |chance, depth| scatter(&disturbed(chance, depth), NOISE_MIN).noise;
        assert!(scatter(0.0, 0.6) <= NOISE_MIN);
        // By p^2 = 0.09 a place is at 0.6: a standard deviation of 0.146 in logarithms.
        let found = scatter(0.3, 0.6);
        assert!((0.08..0.25).contains(&found), "{found}");
        // Disturbances that are too small to be left out are averaged.
        let found = scatter(0.3, 0.95);
        assert!((0.01..0.03).contains(&found), "{found}");
        // Few disturbances cost little.
        let found = scatter(0.05, 0.6);
        assert!(found < 0.05, "{found}");
    }
}
