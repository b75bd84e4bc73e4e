//! Decides whether what the positions seem to do repeats: the first visits of all positions and
//! the second ones are independent halves of the evidence. A rate that wanders in time looks like
//! an effect of the position in the mean of both, but not alike in each. Pure; the fit calls it.
//!
//! The halves are compared by Pearson's correlation, which a narrow zone shows best, and by that of
//! ranks (C. Spearman, "The proof and measurement of association between two things", American
//! Journal of Psychology 15, 1904), which a few disturbed visits cannot hide.

use sustain_statistics::judge::student::t_two_sided;

/// Fewer positions with two visits say nothing about repeats.
const PLACES_MIN: usize = 8;
/// Chance shows a correlation less often than this.
const CHANCE: f64 = 1e-3;
/// If the halves share less than this part of their variance, their sizes do not agree: visits that
/// follow each other closely in time share some of it on any disk that wanders.
const SHARED_MIN: f64 = 0.5;

/// Whether the second visits bear out the first ones; `None` if too few positions have both.
pub(super) fn repeats(visits: &[&[f64]]) -> Option<bool> {
    let twice = visits.iter().filter(|rates| rates.len() >= 2);
    let (first, second): (Vec<f64>, Vec<f64>) =
        twice.map(|rates| (rates[0].ln(), rates[1].ln())).unzip();
    if first.len() < PLACES_MIN {
        return None;
    }
    let of_values = correlation(&first, &second);
    let of_ranks = correlation(&ranks(&first), &ranks(&second));
    Some(is_shown(of_values, first.len()) || is_shown(of_ranks, first.len()))
}

fn is_shown(correlation: f64, count: usize) -> bool {
    let degrees = count - 2;
    let left = (1.0 - correlation.powi(2)).max(f64::MIN_POSITIVE);
    let t = correlation * (degrees as f64 / left).sqrt();
    let degrees = u32::try_from(degrees).unwrap_or(u32::MAX);
    correlation >= SHARED_MIN && t > t_two_sided(CHANCE, degrees)
}

/// Pearson's correlation; 0 if one side does not vary.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (center, other_center) = (mean(one), mean(other));
    let (mut product, mut square, mut other_square) = (0.0, 0.0, 0.0);
    for (left, right) in one.iter().zip(other) {
        let (left, right) = (left - center, right - other_center);
        product += left * right;
        square += left * left;
        other_square += right * right;
    }
    if square > 0.0 && other_square > 0.0 {
        product / (square * other_square).sqrt()
    } else {
        0.0
    }
}

/// The rank of each value; equal ones have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let not_above = values.iter().filter(|other| *other <= value).count();
        (below + not_above) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use sustain_document::profile::CurveShape;
    use sustain_statistics::judge::series::SeriesNoise;

    use super::super::fit::{Fit, fit};
    use super::super::schedule::{CurveSoFar, coarse, second_pass, splits, spread};
    use super::super::visits::VisitedPlace;

    const POSITIONS: usize = 40;

    fn places(positions: &[f64], visits: &[Vec<f64>]) -> Vec<VisitedPlace> {
        let mut order: Vec<usize> = (0..positions.len()).collect();
        order.sort_by(|one, other| positions[*one].total_cmp(&positions[*other]));
        let place = |index: &usize| VisitedPlace {
            from: positions[*index] * 0.99,
            to: positions[*index] * 0.99 + 0.01,
            visits: visits[*index].clone(),
        };
        order.iter().map(place).collect()
    }

    /// What a profile finds on a disk whose rate is that of the position times one that wanders
    /// from visit to visit, in the order in which a profile visits positions.
    fn profiled(seed: u64, rate: impl Fn(f64) -> f64, mut pause: impl FnMut(usize) -> f64) -> Fit {
        let mut noise = SeriesNoise::new(seed);
        let (mut wander, mut visit) = (0.0, 0);
        profiled_by(POSITIONS, |position| {
            wander = 0.95 * wander + 0.08 * noise.normal();
            visit += 1;
            rate(position) * f64::exp(wander) * pause(visit)
        })
    }

    /// What a profile finds by these samples.
    fn profiled_by(count: usize, mut sample: impl FnMut(f64) -> f64) -> Fit {
        let positions = coarse(count);
        let mut order: Vec<f64> = spread(count).iter().map(|at| positions[*at]).collect();
        let mut visits: Vec<Vec<f64>> = order.iter().map(|at| vec![sample(*at)]).collect();
        for _ in 0..3 {
            let mut sorted = order.clone();
            sorted.sort_by(f64::total_cmp);
            let found = fit(&places(&order, &visits));
            let known = CurveSoFar {
                rates: found.values,
                noise: found.noise,
            };
            // Where samples lie close, none fits between them.
            let least_gap = 0.4 / count as f64;
            let more = splits(&sorted, &[known], least_gap, count / 4);
            for at in spread(more.len()).into_iter().map(|index| more[index]) {
                order.push(at);
                visits.push(vec![sample(at)]);
            }
        }
        for position in second_pass(&order) {
            let place = order.iter().position(|at| *at == position);
            visits[place.unwrap()].push(sample(position));
        }
        fit(&places(&order, &visits))
    }

    /// A throttle of 80 MB/s that counts in slices of a tenth of a second, as the kernel's does. A
    /// slice begins with the first request after the last one is over, and lets 8 MB pass at once.
    struct Throttle {
        now_s: f64,
        slice_from_s: f64,
        passed_bytes: f64,
    }

    impl Throttle {
        /// The rate of a sample after a pause, without its first eighth, which does not count.
        fn sample(&mut self, pause_s: f64) -> f64 {
            const SLICE_S: f64 = 0.1;
            const SAMPLE_BYTES: f64 = 12.6e6;
            self.now_s += pause_s;
            let mut counted_from_s = self.now_s;
            let (mut moved, step) = (0.0, SAMPLE_BYTES / 96.0);
            for number in 0..96 {
                let slices = ((self.now_s - self.slice_from_s) / SLICE_S).floor() + 1.0;
                if self.passed_bytes <= 8e6 * (slices - 1.0) {
                    (self.slice_from_s, self.passed_bytes) = (self.now_s, 0.0);
                } else if self.passed_bytes + step > 8e6 * slices {
                    self.now_s = self.slice_from_s + slices * SLICE_S;
                }
                self.passed_bytes += step;
                self.now_s += step / 2e9;
                if number == 11 {
                    counted_from_s = self.now_s;
                } else if number > 11 {
                    moved += step;
                }
            }
            moved / (self.now_s - counted_from_s)
        }
    }

    #[test]
    fn a_throttle_s_slices_are_no_zones_and_no_bad_spots() {
        let (mut effects, mut spots) = (Vec::new(), Vec::new());
        for seed in 1..=100 {
            let mut noise = SeriesNoise::new(seed);
            let mut throttle = Throttle {
                now_s: 0.0,
                slice_from_s: -1.0,
                passed_bytes: 0.0,
            };
            let pauses_s = 0.01 + 0.0003 * seed as f64;
            let found = profiled_by(13 + seed as usize % 8, |_| {
                throttle.sample(pauses_s * f64::exp(0.1 * noise.normal()))
            });
            if is_effect(&found) {
                effects.push(seed);
            }
            if !found.bad_spots.is_empty() {
                spots.push(seed);
            }
        }
        assert!(
            effects.len() <= 2 && spots.len() <= 2,
            "{effects:?} {spots:?}"
        );
    }

    fn is_effect(found: &Fit) -> bool {
        matches!(found.shape, CurveShape::Zones | CurveShape::Smooth)
    }

    #[test]
    fn a_rate_that_wanders_in_time_is_no_effect_of_the_position() {
        let drifts = |seed| profiled(seed, |_| 1e8, |_| 1.0);
        // One visit of seven meets a pause.
        let pauses = |seed| {
            profiled(
                seed,
                |_| 1e8,
                |visit| if visit % 7 == 0 { 0.4 } else { 1.0 },
            )
        };
        let count =
            |run: &dyn Fn(u64) -> Fit| (1..=20).filter(|seed| is_effect(&run(*seed))).count();
        let (drifting, pausing) = (count(&drifts), count(&pauses));
        assert!(
            drifting <= 1 && pausing <= 1,
            "{drifting} and {pausing} of 20"
        );
    }

    #[test]
    fn a_disk_that_falls_by_half_is_said_to_fall_though_it_wanders_too() {
        let falls = |seed| profiled(seed, |at| 1e8 * (1.0 - 0.7 * at), |_| 1.0);
        let found = (1..=20).filter(|seed| is_effect(&falls(*seed))).count();
        assert!(found >= 15, "{found} of 20");
    }
}
