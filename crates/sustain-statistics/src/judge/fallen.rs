//! Finds a fall at the end of a run: the rate to which it dropped, and at which it ended. Of a run
//! that just filled a cache, means and the worst ten seconds are still mostly those of the cache;
//! only the end shows what comes then. The run calls this for its recommendation.
//!
//! The end of a run is a lower level if it is clearly slower than every earlier stretch of the same
//! length. A disk that swings, or pauses now and then, was as slow before.

use super::Step;
use super::curve::CumulativeBytes;
use super::worst::worst;

/// The end has fallen if its rate is below this part of the slowest stretch before it.
const FALLEN_BELOW: f64 = 0.8;
/// A shorter end shows no level.
const LENGTH_S_MIN: f64 = 1.0;
/// Nor do fewer steps.
const STEPS_MIN: usize = 4;
/// Each length tried is this much longer than the one before.
const LENGTH_STEP: f64 = 1.25;
/// A level is even: its slowest quarter has at least this part of its rate. A pause has not, nor
/// has an end of which only the last part is slow.
const EVEN_MIN: f64 = 0.5;

/// The rate to which a run fell before its end, in bytes per second; `None` if it did not.
#[must_use]
pub fn fallen_to(steps: &[Step]) -> Option<f64> {
    let curve = CumulativeBytes::new(steps)?;
    let (start_s, end_s) = (curve.start_s(), curve.end_s());
    let mut length_s = LENGTH_S_MIN;
    let mut lowest: Option<f64> = None;
    while length_s <= (end_s - start_s) / 2.0 {
        let from_s = end_s - length_s;
        let before = &steps[..steps.partition_point(|step| step.end_s <= from_s + 1e-9)];
        let at_end = &steps[before.len()..];
        let rate = (curve.total_bytes() - curve.bytes_at(from_s)) / length_s;
        let is_even = worst(at_end, length_s / 4.0).is_some_and(|least| least >= EVEN_MIN * rate);
        let is_level = at_end.len() >= STEPS_MIN && is_even;
        let slowest = worst(before, length_s).filter(|_| is_level);
        if slowest.is_some_and(|slowest| rate < FALLEN_BELOW * slowest) {
            lowest = Some(lowest.map_or(rate, |least| least.min(rate)));
        }
        length_s *= LENGTH_STEP;
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::super::series;
    use super::*;

    /// Ten steps a second: `high_s` seconds at the first rate, the rest at the second.
    fn cached(high_s: f64, all_s: f64, high: f64, low: f64) -> Vec<Step> {
        let steps = (0..(all_s * 10.0) as u32).map(|step| {
            let start_s = f64::from(step) / 10.0;
            let rate = if start_s < high_s { high } else { low };
            Step {
                start_s,
                end_s: start_s + 0.1,
                bytes: (rate * 1e5) as u64,
            }
        });
        steps.collect()
    }

    #[test]
    fn a_cache_that_was_just_filled_shows_what_comes_then() {
        for high_s in [16.0, 21.4, 27.0, 28.5] {
            let found = fallen_to(&cached(high_s, 30.0, 200.0, 60.0));
            let found = found.unwrap_or_default();
            assert!((found / 60e6 - 1.0).abs() < 0.02, "{high_s}: {found}");
        }
    }

    #[test]
    fn what_has_not_fallen_or_was_as_slow_before_has_no_lower_level() {
        assert_eq!(fallen_to(&cached(30.0, 30.0, 200.0, 60.0)), None);
        assert_eq!(fallen_to(&cached(29.6, 30.0, 200.0, 60.0)), None);
        // It swings, and ends in a low phase.
        assert_eq!(
            fallen_to(&series::sawtooth(125, 20, 500.0, 5, 150.0, 0.0)),
            None
        );
        // It falls slowly, as a hard disk does on its way in.
        assert_eq!(fallen_to(&series::linear(100, 200.0, 150.0, 0.0)), None);
        // Noise of 10 %.
        assert_eq!(fallen_to(&series::linear(60, 200.0, 200.0, 0.1)), None);
        assert_eq!(fallen_to(&[]), None);
    }

    #[test]
    fn a_pause_at_the_end_is_no_level() {
        let mut steps = cached(30.0, 30.0, 200.0, 60.0);
        steps.push(Step {
            start_s: 30.0,
            end_s: 33.0,
            bytes: 1_000_000,
        });
        steps.push(Step {
            start_s: 33.0,
            end_s: 36.0,
            bytes: 0,
        });
        assert_eq!(fallen_to(&steps), None);
    }
}
