//! Finds a faster beginning of a run, such as a cache that absorbs data or a disk that is still
//! cool. Called by `steady`, which judges what comes after it, and by the run for its result. It
//! must not see a burst in noise, in a slow fall or in a sawtooth.
//!
//! Two levels with one change are fitted by least squares, each step weighted with its duration:
//! the split that maximises S1^2/W1 + S2^2/W2 (S bytes, W seconds of either part) leaves the
//! smallest sum of squares (D. M. Hawkins, "Testing a sequence of observations for a shift in
//! location", JASA 72, 1977; the same split as the extreme of the CUSUM for a change of the mean).
//! It counts only if all of these hold; "after" means the part after the change, sigma is
//! 1.4826 * median absolute deviation, which a few stalls cannot raise:
//! - the part before is 20 % faster than the mean after,
//! - it is 4 sigma above the median after,
//! - it is 10 % above the 95th percentile after, so that the part after hardly ever comes near it,
//! - two levels fit better than a straight line does,
//! - the part after has at least 3 steps, a quarter of the time, and some bytes.
//!
//! The search is repeated on the part after, for caches in several levels. If it found nothing, it
//! is repeated on groups of ten steps joined to one: if a step has one record or none, only longer
//! steps show a level.
//!
//! A cache absorbs at its own rate while it drains at the sustained one. So it held the excess,
//! bytes - sustained * duration, wherever the edges of the steps fall; and the bytes that went at
//! the faster rate are excess * fast / (fast - sustained). Neither the rate of one step nor a
//! median of such rates is taken for `fast`, because a step of a tenth of a second has four
//! requests or three.

use super::Step;
use super::curve::{CumulativeBytes, Segment};

const FASTER_THAN_MEAN: f64 = 1.2;
const FASTER_THAN_PERCENTILE_95: f64 = 1.1;
const SIGMAS: f64 = 4.0;
/// Scales a median absolute deviation to the standard deviation of a normal distribution.
const SIGMA_PER_DEVIATION: f64 = 1.4826;
const STEPS_AFTER_MIN: usize = 3;
const SHARE_AFTER_MIN: f64 = 0.25;
const LEVELS_MAX: usize = 4;
const STEPS_JOINED: usize = 10;

/// The faster beginning before the sustained rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredBurst {
    /// Bytes that were transferred at the faster rate.
    pub bytes: u64,
    /// The faster rate: the mean from the start on. If the burst was shorter than a step, it is the
    /// rate of that step, and the true rate is higher.
    pub rate_bytes_per_s: f64,
    /// Bytes that were taken beyond the rate that followed: the size of the cache, if there is one.
    pub absorbed_bytes: u64,
    /// End of the last step that was partly in the burst.
    pub until_s: f64,
}

/// The burst at the beginning of a run, if there is one.
#[must_use]
pub fn find(steps: &[Step]) -> Option<MeasuredBurst> {
    find_with_rate_after(steps).map(|(burst, _)| burst)
}

/// The same, with the mean rate of what followed, in bytes per second.
#[must_use]
pub fn find_with_rate_after(steps: &[Step]) -> Option<(MeasuredBurst, f64)> {
    let segments = CumulativeBytes::new(steps)?.segments();
    find_in(&segments).or_else(|| find_in(&joined(&segments)))
}

fn joined(segments: &[Segment]) -> Vec<Segment> {
    let join = |chunk: &[Segment]| {
        let duration_s = seconds(chunk);
        let rate_bytes_per_s = bytes(chunk) / duration_s;
        Segment {
            end_s: chunk[chunk.len() - 1].end_s,
            duration_s,
            rate_bytes_per_s,
        }
    };
    segments.chunks(STEPS_JOINED).map(join).collect()
}

fn find_in(segments: &[Segment]) -> Option<(MeasuredBurst, f64)> {
    let (mut full, mut end) = (0, 0);
    for _ in 0..LEVELS_MAX {
        let Some(change) = change(&segments[end..]) else {
            break;
        };
        full = end + change.full;
        end += change.full + change.mixed;
    }
    if end == 0 {
        return None;
    }
    let (fast, after) = segments.split_at(end);
    let fast_s = seconds(fast);
    let rate = rate_of(&fast[..full]);
    let rate_after = bytes(after) / seconds(after);
    let absorbed = (bytes(fast) - rate_after * fast_s).max(0.0);
    let at_rate = (absorbed * rate / (rate - rate_after)).min(bytes(fast));
    let burst = MeasuredBurst {
        bytes: at_rate.round() as u64,
        rate_bytes_per_s: rate,
        absorbed_bytes: absorbed.round() as u64,
        until_s: fast[fast.len() - 1].end_s,
    };
    Some((burst, rate_after))
}

/// The mean, without the last step if that may contain a part of what came after. A step ends
/// within a request, so its own rate is that of a few whole requests, too many or too few; but from
/// the start on, no more can have completed than was transferred.
fn rate_of(full: &[Segment]) -> f64 {
    let mean = |segments: &[Segment]| bytes(segments) / seconds(segments);
    match full.split_last() {
        Some((_, before)) if !before.is_empty() => mean(full).max(mean(before)),
        _ => mean(full),
    }
}

fn seconds(segments: &[Segment]) -> f64 {
    segments.iter().map(|segment| segment.duration_s).sum()
}

fn bytes(segments: &[Segment]) -> f64 {
    segments
        .iter()
        .map(|segment| segment.duration_s * segment.rate_bytes_per_s)
        .sum()
}

/// A change to a slower level.
struct Change {
    /// Number of segments at the faster level.
    full: usize,
    /// Number of segments after them in which the rate changed, so that they are between the
    /// levels.
    mixed: usize,
}

fn change(segments: &[Segment]) -> Option<Change> {
    let split = best_split(segments)?;
    let (before, after) = segments.split_at(split);
    let rate_before = bytes(before) / seconds(before);
    let rate_after = bytes(after) / seconds(after);
    let levels = Levels::of(after);
    let above_noise = levels.median + SIGMAS * levels.sigma;
    let above_usual = FASTER_THAN_PERCENTILE_95 * levels.percentile_95;
    let above_after = above_noise.max(above_usual);
    let limit = above_after.max(FASTER_THAN_MEAN * rate_after);
    let two_levels = squares(before, rate_before) + squares(after, rate_after);
    if rate_after <= 0.0 || rate_before <= limit || two_levels >= squares_of_line(segments) {
        return None;
    }
    let mixed = after
        .iter()
        .take_while(|segment| segment.rate_bytes_per_s > above_after)
        .count();
    Some(Change { full: split, mixed })
}

/// The split into two levels, the first one higher, that leaves the least sum of squares.
fn best_split(segments: &[Segment]) -> Option<usize> {
    let (all_s, all_bytes) = (seconds(segments), bytes(segments));
    let (mut before_s, mut before_bytes) = (0.0, 0.0);
    let mut best = None;
    let last = segments.len().checked_sub(STEPS_AFTER_MIN)?;
    for (index, segment) in segments[..last].iter().enumerate() {
        before_s += segment.duration_s;
        before_bytes += segment.duration_s * segment.rate_bytes_per_s;
        let (after_s, after_bytes) = (all_s - before_s, all_bytes - before_bytes);
        if after_s < SHARE_AFTER_MIN * all_s {
            break;
        }
        let gain = before_bytes * before_bytes / before_s + after_bytes * after_bytes / after_s;
        let falls = before_bytes / before_s > after_bytes / after_s;
        if falls && best.is_none_or(|(_, best_gain)| gain > best_gain) {
            best = Some((index + 1, gain));
        }
    }
    best.map(|(split, _)| split)
}

fn squares(segments: &[Segment], level: f64) -> f64 {
    let square = |s: &Segment| s.duration_s * (s.rate_bytes_per_s - level).powi(2);
    segments.iter().map(square).sum()
}

/// The sum of squares around the weighted least-squares line through the rates.
fn squares_of_line(segments: &[Segment]) -> f64 {
    let weight = seconds(segments);
    let middle = |s: &Segment| s.end_s - s.duration_s / 2.0;
    let mean_s = segments
        .iter()
        .map(|s| s.duration_s * middle(s))
        .sum::<f64>()
        / weight;
    let mean_rate = bytes(segments) / weight;
    let (mut time_squares, mut products) = (0.0, 0.0);
    for segment in segments {
        let time_s = middle(segment) - mean_s;
        time_squares += segment.duration_s * time_s * time_s;
        products += segment.duration_s * time_s * (segment.rate_bytes_per_s - mean_rate);
    }
    let explained = if time_squares > 0.0 {
        products * products / time_squares
    } else {
        0.0
    };
    squares(segments, mean_rate) - explained
}

/// Levels of rates, each weighted with the time it lasted.
struct Levels {
    median: f64,
    percentile_95: f64,
    sigma: f64,
}

impl Levels {
    fn of(segments: &[Segment]) -> Self {
        let mut rates: Vec<(f64, f64)> = segments
            .iter()
            .map(|s| (s.rate_bytes_per_s, s.duration_s))
            .collect();
        let median = quantile(&mut rates, 0.5);
        let percentile_95 = quantile(&mut rates, 0.95);
        let mut deviations: Vec<(f64, f64)> = rates
            .iter()
            .map(|&(rate, weight)| ((rate - median).abs(), weight))
            .collect();
        let sigma = SIGMA_PER_DEVIATION * quantile(&mut deviations, 0.5);
        Self {
            median,
            percentile_95,
            sigma,
        }
    }
}

/// The smallest value with more than `share` of the weight at or below it: of two such values, the
/// higher one. The list must not be empty.
fn quantile(weighted: &mut [(f64, f64)], share: f64) -> f64 {
    weighted.sort_by(|left, right| left.0.total_cmp(&right.0));
    let total: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
    let mut sum = 0.0;
    for &(value, weight) in weighted.iter() {
        sum += weight;
        if sum > share * total * (1.0 + 1e-9) {
            return value;
        }
    }
    weighted[weighted.len() - 1].0
}

#[cfg(test)]
mod tests {
    use super::super::series::{self, SeriesNoise};
    use super::*;

    /// A cache of `cache` MB filled at `fast` and drained at `slow` MB/s meanwhile.
    fn cached(seconds: f64, step_s: f64, cache: f64, fast: f64, slow: f64) -> Vec<Step> {
        let full_s = cache / (fast - slow);
        let total = |time_s: f64| fast * time_s.min(full_s) + slow * (time_s - full_s).max(0.0);
        let count = (seconds / step_s).round() as u32;
        let edge = |index: u32| f64::from(index) * step_s;
        let step = |index: u32| {
            let (start_s, end_s) = (edge(index), edge(index + 1));
            let bytes = ((total(end_s) - total(start_s)) * 1e6).round() as u64;
            Step {
                start_s,
                end_s,
                bytes,
            }
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn finds_size_and_rate_of_a_cache_peak() {
        // 32 MB at 80 MB/s over a disk of 10 MB/s: full after 32/70 s, 36.571 MB taken by then.
        let burst = find(&cached(60.0, 0.1, 32.0, 80.0, 10.0)).expect("a burst");
        assert!(
            (burst.rate_bytes_per_s / 80e6 - 1.0).abs() < 0.01,
            "{burst:?}"
        );
        assert!(
            (burst.bytes as f64 / 36.571e6 - 1.0).abs() < 0.02,
            "{burst:?}"
        );
        assert!(
            (burst.absorbed_bytes as f64 / 32e6 - 1.0).abs() < 0.02,
            "{burst:?}"
        );
        assert!((burst.until_s - 0.5).abs() < 1e-9, "{burst:?}");
    }

    /// The same as it is seen: in whole requests of 1 MiB, each when its last byte is through.
    fn in_requests(steps: &[Step]) -> Vec<Step> {
        let (mut moved, mut seen) = (0, 0);
        let mut whole = |step: &Step| {
            moved += step.bytes;
            let bytes = moved / (1 << 20) * (1 << 20) - seen;
            seen += bytes;
            Step { bytes, ..*step }
        };
        steps.iter().map(&mut whole).collect()
    }

    #[test]
    fn whole_requests_never_make_a_rate_that_was_none() {
        for cache in [8.0, 16.0, 32.0, 90.0, 500.0] {
            for step_s in [0.05, 0.1, 0.17, 0.25, 1.0] {
                let steps = in_requests(&cached(120.0, step_s, cache, 40.0, 4.2));
                let burst = find(&steps).expect("a burst");
                let case = format!("{cache} MB, steps of {step_s} s: {burst:?}");
                assert!(burst.rate_bytes_per_s <= 40e6, "{case}");
                let absorbed = burst.absorbed_bytes as f64;
                assert!((absorbed - cache * 1e6).abs() < 2.2e6, "{case}");
                // A burst of a step or two is seen as part of them.
                if cache / 35.8 > 3.0 * step_s {
                    // One request more or less of so many.
                    let least = 40e6 - f64::from(1 << 20) / (0.6 * cache / 35.8);
                    assert!(burst.rate_bytes_per_s > least, "{case}");
                    let taken = cache * 1e6 * 40.0 / 35.8;
                    assert!((burst.bytes as f64 - taken).abs() < 2.2e6, "{case}");
                }
            }
        }
    }

    #[test]
    fn the_cache_size_does_not_depend_on_the_steps() {
        for step_s in [0.05, 0.25, 1.0, 2.0] {
            let burst = find(&cached(60.0, step_s, 32.0, 80.0, 10.0)).expect("a burst");
            let absorbed = burst.absorbed_bytes as f64;
            assert!(
                (absorbed / 32e6 - 1.0).abs() < 0.02,
                "step {step_s}: {burst:?}"
            );
        }
    }

    #[test]
    fn steps_of_one_record_or_none_show_it_when_joined() {
        // Records of 1 MB: ten a second from a cache of 54 MB, then one a second; steps of 0.1 s.
        let step = |index: u32| Step {
            start_s: f64::from(index) / 10.0,
            end_s: f64::from(index + 1) / 10.0,
            bytes: if index < 60 || index % 10 == 7 {
                1_000_000
            } else {
                0
            },
        };
        let burst = find(&(0..600).map(step).collect::<Vec<_>>()).expect("a burst");
        assert!(
            (burst.rate_bytes_per_s / 10e6 - 1.0).abs() < 1e-6,
            "{burst:?}"
        );
        assert_eq!(
            (burst.absorbed_bytes, burst.bytes),
            (54_000_000, 60_000_000)
        );
    }

    #[test]
    fn several_levels_are_one_burst() {
        let mut steps = cached(60.0, 1.0, 40_000.0, 5000.0, 500.0);
        for step in &mut steps[9..20] {
            step.bytes = 1_500_000_000;
        }
        let burst = find(&steps).expect("a burst");
        assert_eq!(burst.until_s, 20.0, "{burst:?}");
        // The first level held 40 GB, then eleven steps were 1000 MB/s faster.
        assert_eq!(burst.absorbed_bytes, 40_000_000_000 + 11 * 1_000_000_000);
    }

    #[test]
    fn no_burst_in_what_is_none() {
        let none = [
            series::linear(300, 100.0, 50.0, 0.02),
            series::sawtooth(600, 20, 500.0, 5, 150.0, 0.02),
            series::sawtooth(600, 4, 500.0, 9, 150.0, 0.02),
            series::zoned(1000, 8400.0, 11.2, 6.0, 12, 0.02),
            series::stalled(600, 200.0, 300, 8, 0.02),
            series::stalled(60, 200.0, 50, 10, 0.02),
        ];
        for (index, steps) in none.iter().enumerate() {
            assert_eq!(find(steps), None, "series {index}");
        }
        assert_eq!(find(&[]), None);
        assert_eq!(
            find(&[Step {
                start_s: 0.0,
                end_s: 0.0,
                bytes: 5
            }]),
            None
        );
    }

    #[test]
    fn no_burst_in_noise() {
        for seed in 0..300 {
            let mut noise = SeriesNoise::new(seed);
            let mut state = 0.0;
            let mut steps = series::linear(60, 100.0, 100.0, 0.0);
            for step in &mut steps {
                state = 0.7 * state + noise.normal();
                step.bytes = (1e8 * (1.0 + 0.07 * state).max(0.0)) as u64;
            }
            assert_eq!(find(&steps), None, "seed {seed}");
        }
    }

    #[test]
    fn no_burst_in_noise_of_many_short_steps() {
        for seed in 0..100 {
            let mut noise = SeriesNoise::new(seed);
            let mut steps = series::linear(600, 100.0, 100.0, 0.0);
            for step in &mut steps {
                step.bytes = (1e8 * (1.0 + 0.3 * noise.normal()).max(0.0)) as u64;
            }
            assert_eq!(find(&steps), None, "seed {seed}");
        }
    }
}
