//! Estimates the position effect on the rate from the laps of a run that wraps; called by `steady`.
//! On a disk of several zones one pass cannot tell position from time; two laps can, because they
//! pass each position at two times. A change over time must never be taken for one of position.
//!
//! The lap is cut into K equal bins. tau(l, b) is the time that lap l took for bin b, m(l) is the
//! median of tau(l, .), and g is the Theil-Sen slope of ln m(l) over l, which is the effect of time
//! itself. slowness(b) = median over l of tau(l, b) / m(l) * exp(-g * ((b + 1/2)/K - 1/2)), scaled
//! to a mean of 1. Bytes are then weighted with the slowness of their position: a lap keeps its
//! bytes, and a window shows the rate at the mean position of the lap. Medians are used so that a
//! stall in one lap stays in the series. (P. K. Sen, "Estimates of the regression coefficient based
//! on Kendall's tau", JASA 63, 1968.)

use super::curve::CumulativeBytes;

const BINS_MAX: usize = 32;
/// With fewer steps in a lap no shape is visible.
const BINS_MIN: usize = 4;
const LAPS_MIN: usize = 2;
/// The newest laps suffice; more only cost time.
const LAPS_MAX: usize = 64;

/// How slow each position is, relative to the mean of the lap.
#[derive(Clone, Debug)]
pub(super) struct PositionEffect {
    lap_bytes: f64,
    /// The running total at which a lap begins. Laps are counted back from the end of the run, so
    /// that the end is never lost to an incomplete lap.
    origin_bytes: f64,
    /// Cumulated slowness at the bins' edges, from 0 to 1.
    cumulated: Vec<f64>,
    /// Number of laps that the estimate rests on.
    pub(super) laps: usize,
}

impl PositionEffect {
    /// Estimates from what came after `from_s`; `None` if that is less than two laps, or has too
    /// few steps.
    pub(super) fn estimate(curve: &CumulativeBytes, lap_bytes: u64, from_s: f64) -> Option<Self> {
        let lap = lap_bytes as f64;
        let total = curve.total_bytes();
        if lap < 1.0 {
            return None;
        }
        // Truncation is intended: only complete laps count.
        let laps = (((total - curve.bytes_at(from_s)) / lap) as usize).min(LAPS_MAX);
        if laps < LAPS_MIN {
            return None;
        }
        let origin_bytes = total - lap * laps as f64;
        let steps = curve.knots_between(curve.time_at(origin_bytes), curve.end_s()) + 1;
        let bins = (steps / laps).min(BINS_MAX);
        if bins < BINS_MIN {
            return None;
        }
        let times = lap_times(curve, origin_bytes, lap, laps, bins);
        let cumulated = cumulate(&slowness(&times)?)?;
        Some(Self {
            lap_bytes: lap,
            origin_bytes,
            cumulated,
            laps,
        })
    }

    /// The curve as it would be if every position were as fast as the mean of the lap.
    pub(super) fn remove(&self, curve: &CumulativeBytes) -> CumulativeBytes {
        let bins = (self.cumulated.len() - 1) as f64;
        // Only differences count, so the new curve may begin below zero.
        curve.with_bytes(|bytes| {
            let laps = (bytes - self.origin_bytes) / self.lap_bytes;
            let place = (laps - laps.floor()) * bins;
            let bin = (place as usize).min(self.cumulated.len() - 2);
            let width = self.cumulated[bin + 1] - self.cumulated[bin];
            let share = self.cumulated[bin] + width * (place - bin as f64);
            self.lap_bytes * (laps.floor() + share)
        })
    }
}

/// Seconds per lap and bin.
fn lap_times(
    curve: &CumulativeBytes,
    origin: f64,
    lap: f64,
    laps: usize,
    bins: usize,
) -> Vec<Vec<f64>> {
    let edge_s = |index: usize| curve.time_at(origin + lap * (index as f64) / bins as f64);
    let bin_s = |index: usize| edge_s(index + 1) - edge_s(index);
    (0..laps)
        .map(|lap| (0..bins).map(|bin| bin_s(lap * bins + bin)).collect())
        .collect()
}

fn slowness(times: &[Vec<f64>]) -> Option<Vec<f64>> {
    let levels: Vec<f64> = times.iter().map(|lap| lower_median(lap.clone())).collect();
    if levels.iter().any(|&level| level <= 0.0) {
        return None;
    }
    let growth = growth_per_lap(&levels);
    let bins = times[0].len();
    let bin_slowness = |bin: usize| {
        let middle = (bin as f64 + 0.5) / bins as f64 - 0.5;
        let relative = times
            .iter()
            .zip(&levels)
            .map(|(lap, level)| lap[bin] / level);
        lower_median(relative.collect()) * (-growth * middle).exp()
    };
    Some((0..bins).map(bin_slowness).collect())
}

/// Theil-Sen slope of the logarithm of the levels over their index.
fn growth_per_lap(levels: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(levels.len() * levels.len() / 2);
    for (right, right_level) in levels.iter().enumerate() {
        for (left, left_level) in levels[..right].iter().enumerate() {
            slopes.push((right_level / left_level).ln() / (right - left) as f64);
        }
    }
    lower_median(slopes)
}

fn cumulate(slowness: &[f64]) -> Option<Vec<f64>> {
    let total: f64 = slowness.iter().sum();
    if total <= 0.0 {
        return None;
    }
    let mut sum = 0.0;
    let mut cumulated = vec![0.0];
    for value in slowness {
        sum += value;
        cumulated.push(sum / total);
    }
    Some(cumulated)
}

/// Of two laps the faster one counts, because a stall makes a position slow, and nothing makes it
/// too fast.
fn lower_median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::*;

    /// Steps of one second; the rate follows from the position in a lap and from the time.
    fn run(seconds: usize, lap: u64, rate: impl Fn(f64, f64) -> f64) -> CumulativeBytes {
        let mut bytes = 0.0;
        let mut steps = Vec::new();
        for second in 0..seconds {
            let start_s = second as f64;
            let before = bytes;
            for part in 0..100 {
                let position = bytes % lap as f64 / lap as f64;
                bytes += rate(position, start_s + f64::from(part) / 100.0) / 100.0;
            }
            let bytes = (bytes - before).round() as u64;
            steps.push(Step {
                start_s,
                end_s: start_s + 1.0,
                bytes,
            });
        }
        CumulativeBytes::new(&steps).expect("has steps")
    }

    fn spread(rates: &[f64]) -> f64 {
        let most = rates.iter().copied().fold(f64::MIN, f64::max);
        let least = rates.iter().copied().fold(f64::MAX, f64::min);
        (most - least) / (rates.iter().sum::<f64>() / rates.len() as f64)
    }

    #[test]
    fn a_fall_along_the_lap_is_removed() {
        let curve = run(200, 6_000_000, |position, _| {
            100_000.0 * (1.0 - 0.5 * position)
        });
        assert!(spread(&curve.batch_rates::<10>(0.0, 200.0)) > 0.3);
        let effect = PositionEffect::estimate(&curve, 6_000_000, 0.0).expect("two laps");
        let removed = effect.remove(&curve);
        let left = spread(&removed.batch_rates::<10>(0.0, 200.0));
        assert!(left < 0.03, "{left} is left of it");
    }

    #[test]
    fn a_fall_over_time_is_not_taken_for_one_of_position() {
        let curve = run(200, 6_000_000, |_, time_s| {
            100_000.0 * (1.0 - 0.5 * time_s / 200.0)
        });
        let effect = PositionEffect::estimate(&curve, 6_000_000, 0.0).expect("two laps");
        let rates = effect.remove(&curve).batch_rates::<10>(0.0, 200.0);
        let before = spread(&curve.batch_rates::<10>(0.0, 200.0));
        assert!(
            spread(&rates) > 0.85 * before,
            "{} of {before}",
            spread(&rates)
        );
    }

    #[test]
    fn one_lap_and_a_half_cannot_tell() {
        let curve = run(100, 6_000_000, |position, _| {
            100_000.0 * (1.0 - 0.2 * position)
        });
        assert!(PositionEffect::estimate(&curve, 6_000_000, 0.0).is_none());
        assert!(PositionEffect::estimate(&curve, 0, 0.0).is_none());
    }

    #[test]
    fn a_stall_in_one_lap_stays() {
        let stalled = |_: f64, time_s: f64| {
            if (90.0..94.0).contains(&time_s) {
                0.0
            } else {
                1e5
            }
        };
        let curve = run(200, 6_000_000, stalled);
        let effect = PositionEffect::estimate(&curve, 6_000_000, 0.0).expect("three laps");
        let removed = effect.remove(&curve);
        assert!(removed.bytes_at(94.0) - removed.bytes_at(90.0) < 1.0);
        let others = removed.bytes_at(80.0) - removed.bytes_at(20.0);
        assert!((others / 6e6 - 1.0).abs() < 0.02, "{others}");
    }
}
