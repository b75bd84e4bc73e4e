//! Judges whether repeated readings of the same targets agree as well as their own noise says. The
//! segments of a reading do not show a pause that some readings contain and others do not, such as
//! that of a disk which stalls now and then: each reading looks even, and yet their sums differ by
//! chance. Walls that are inferred from such sums are not certain. Called by `finish`.

use crate::median;
use crate::walls::evidence::Evidence;

/// Repeats that differ by this many times what the noise allows differ by something else.
const BEYOND_NOISE: f64 = 1.8;
/// Fewer repeats than this say nothing about the spread.
const REPEATS_MIN: usize = 4;
/// One in so many readings may be disturbed once, and at least one. It is outvoted where it
/// matters, and does not count here.
const DISTURBED_ONE_IN: usize = 20;

impl Evidence<'_> {
    /// How far repeated readings of several targets differ, over what their noise allows, where
    /// that is beyond chance.
    pub(in crate::walls) fn scatter(&self) -> Option<f64> {
        let noise = self.noise();
        let mut sets: Vec<&Vec<usize>> = self.runs.iter().map(|run| &run.set).collect();
        sets.retain(|set| set.len() > 1);
        sets.sort_unstable();
        sets.dedup();
        let (mut squares, mut repeats) = (Vec::new(), 0);
        for set in sets {
            let runs = self.readings_of(set);
            let sums: Vec<f64> = runs.iter().map(|run| run.sum()).collect();
            let rates = runs.iter().flat_map(|run| &run.rates);
            let deviation =
                noise * (rates.map(|rate| rate.powi(2)).sum::<f64>() / runs.len() as f64).sqrt();
            if runs.len() < 2 || deviation <= 0.0 {
                continue;
            }
            let median = median(&sums);
            squares.extend(sums.iter().map(|sum| ((sum - median) / deviation).powi(2)));
            repeats += runs.len() - 1;
        }
        beyond_noise(squares, repeats)
    }
}

fn beyond_noise(mut squares: Vec<f64>, repeats: usize) -> Option<f64> {
    squares.sort_by(f64::total_cmp);
    let disturbed = 1 + squares.len() / DISTURBED_ONE_IN;
    if repeats < REPEATS_MIN + disturbed {
        return None;
    }
    squares.truncate(squares.len() - disturbed);
    let times = (squares.iter().sum::<f64>() / (repeats - disturbed) as f64).sqrt();
    (times > BEYOND_NOISE).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_within_their_noise_and_a_single_disturbed_one_are_no_scatter() {
        let even = vec![0.5, 1.0, 0.2, 2.0, 1.5, 0.8, 1.1, 0.3];
        assert_eq!(beyond_noise(even.clone(), 6), None);
        let disturbed = [even, vec![900.0]].concat();
        assert_eq!(beyond_noise(disturbed, 7), None);
    }

    #[test]
    fn repeats_that_differ_again_and_again_are_scatter() {
        let apart = vec![0.5, 30.0, 0.2, 25.0, 40.0, 0.8, 20.0, 36.0, 0.1, 18.0];
        let times = beyond_noise(apart, 8).unwrap();
        assert!(times > 3.0, "{times}");
    }

    #[test]
    fn few_repeats_say_nothing() {
        assert_eq!(beyond_noise(vec![50.0, 50.0, 50.0, 50.0], 3), None);
    }
}
