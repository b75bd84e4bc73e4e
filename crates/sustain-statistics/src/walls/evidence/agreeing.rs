//! Which of several readings of the same targets agree. The others met something else.

use crate::walls::evidence::PlacedReading;

/// Sums contradict each other beyond this part of them,
pub(in crate::walls) const OFF: f64 = 0.02;
/// and beyond this many standard deviations of their difference.
pub(in crate::walls) const OFF_SCORE: f64 = 4.5;

/// The readings that agree with the median; of two readings, both.
pub(in crate::walls) fn agreeing<'a>(
    runs: &[&'a PlacedReading],
    noise: f64,
) -> Vec<&'a PlacedReading> {
    if runs.len() < 3 {
        return runs.to_vec();
    }
    let mut sums: Vec<f64> = runs.iter().map(|run| run.sum()).collect();
    sums.sort_by(f64::total_cmp);
    let middle = sums[(sums.len() - 1) / 2];
    let near = (OFF_SCORE * noise).max(OFF) * middle;
    let agree = |run: &&&PlacedReading| (run.sum() - middle).abs() <= near;
    runs.iter().filter(agree).copied().collect()
}
