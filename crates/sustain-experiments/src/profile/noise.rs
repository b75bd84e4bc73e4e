//! Estimates the noise of samples: from repeated visits, or from neighbours if there are too few of
//! these. Pure. It uses medians, so that bad spots and edges of zones decide nothing.
//!
//! Differences are used instead of residuals: J. von Neumann, "Distribution of the ratio of the
//! mean square successive difference to the variance", Annals of Mathematical Statistics 12, 1941.
//! For the median of absolute values of a normal distribution: F. R. Hampel, "The influence curve
//! and its role in robust estimation", JASA 69, 1974.

/// A normal distribution's standard deviation over its median absolute deviation.
use sustain_statistics::median;

const NORMAL: f64 = 1.482_6;
/// With fewer repeats the neighbours are the better source.
const REPEATS_MIN: usize = 6;
/// No sample of a real disk has less noise than this.
pub(super) const NOISE_MIN: f64 = 0.002;

/// The standard deviation of the logarithm of one visit, which is that of its rate as a part of it.
/// `visits` are the rates at each position, in order of position.
pub(super) fn noise(visits: &[Vec<f64>]) -> f64 {
    let repeated: Vec<f64> = visits
        .iter()
        .filter_map(|rates| match rates[..] {
            [first, second, ..] => Some((first / second).ln()),
            _ => None,
        })
        .collect();
    let scatter = if repeated.len() >= REPEATS_MIN {
        // A change between the passes is not noise.
        let drift = median(&repeated);
        let deviations = repeated.iter().map(|change| (change - drift).abs());
        median(&deviations.collect::<Vec<f64>>()) / 2.0_f64.sqrt()
    } else {
        let logs: Vec<f64> = visits
            .iter()
            .filter_map(|rates| rates.first())
            .map(|rate| rate.ln())
            .collect();
        // A straight fall has no second differences.
        let seconds = logs.windows(3);
        let bends = seconds.map(|three| (three[0] - 2.0 * three[1] + three[2]).abs());
        median(&bends.collect::<Vec<f64>>()) / 6.0_f64.sqrt()
    };
    (NORMAL * scatter).max(NOISE_MIN)
}

/// The rate of the second pass over that of the first, at the places that both visited.
pub(super) fn drift(visits: &[Vec<f64>]) -> Option<f64> {
    let repeated: Vec<f64> = visits
        .iter()
        .filter(|rates| rates.len() >= 2)
        .map(|rates| (rates[1] / rates[0]).ln())
        .collect();
    (repeated.len() >= REPEATS_MIN).then(|| median(&repeated).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal enough: a sum of twelve even numbers.
    fn scattered(count: usize, sigma: f64) -> Vec<f64> {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let normal = |_| sigma * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
        (0..count).map(normal).collect()
    }

    #[test]
    fn repeats_show_the_scatter_whatever_the_zones_are() {
        let errors = scattered(400, 0.03);
        let visits: Vec<Vec<f64>> = errors
            .chunks(2)
            .enumerate()
            .map(|(index, pair)| {
                let level = 1e8 / (1.0 + index as f64 / 100.0);
                // The second pass is a fifth faster: from a cache, say.
                vec![level * pair[0].exp(), 1.2 * level * pair[1].exp()]
            })
            .collect();
        let found = noise(&visits);
        assert!((0.02..0.04).contains(&found), "{found}");
        let found = drift(&visits).unwrap();
        assert!((1.17..1.23).contains(&found), "{found}");
    }

    #[test]
    fn neighbours_show_it_where_nothing_was_repeated() {
        let errors = scattered(200, 0.03);
        let visits: Vec<Vec<f64>> = errors
            .iter()
            .enumerate()
            .map(|(index, error)| vec![1e8 * (error - index as f64 / 200.0).exp()])
            .collect();
        let found = noise(&visits);
        assert!((0.02..0.04).contains(&found), "{found}");
        assert_eq!(drift(&visits), None);
    }

    #[test]
    fn a_few_bad_places_decide_nothing() {
        let mut visits = vec![vec![1e8, 1e8]; 40];
        visits[7] = vec![1e6, 1e8];
        visits[21] = vec![1e7, 1e7];
        assert!(noise(&visits) <= NOISE_MIN);
    }
}
