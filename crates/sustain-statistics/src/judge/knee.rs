//! Finds where exactly a burst ended, by the completions of the first seconds. A cache that is full
//! after a third of a second is full within an interval, and no interval's rate is the rate of the
//! cache. Called for the burst in the result, after intervals have shown that there is one.
//!
//! A cache that takes data at `fast` while it drains at `slow` makes two straight lines of the
//! bytes completed, C(t). For any slope m between the two, C(t) - m * t is highest where they meet.
//! Only completions are considered, so that the bytes until then are whole requests and their time
//! is exact: the rate there is C(t) / t. It cannot be too high, because nothing completed before it
//! was transferred.

use super::burst::MeasuredBurst;

/// The part of the absorbed bytes that must have been taken by the knee, except for one more
/// completion. Caches in several levels have an earlier knee, which is not where the burst ended.
const ABSORBED_MIN: f64 = 0.9;

/// A completion: seconds from the start, and all bytes completed until then.
pub type Point = (f64, f64);

/// The burst with the rate and the bytes that the completions show, if these reach beyond it.
#[must_use]
pub fn refined(
    burst: MeasuredBurst,
    rate_after_bytes_per_s: f64,
    points: &[Point],
) -> MeasuredBurst {
    let reaches_beyond = points.last().is_some_and(|last| last.0 > burst.until_s);
    let slope = (burst.rate_bytes_per_s + rate_after_bytes_per_s) / 2.0;
    let above = |point: &Point| point.1 - slope * point.0;
    let within = points.partition_point(|point| point.0 <= burst.until_s);
    let knee =
        (0..within).max_by(|one, other| above(&points[*one]).total_cmp(&above(&points[*other])));
    let Some(knee) = knee.filter(|_| reaches_beyond) else {
        return burst;
    };
    let (at_s, bytes) = points[knee];
    let next_bytes = points[knee + 1].1 - bytes;
    let absorbed = burst.absorbed_bytes as f64;
    let taken = bytes - rate_after_bytes_per_s * at_s + next_bytes;
    let rate = bytes / at_s;
    if taken < ABSORBED_MIN * absorbed || rate <= burst.rate_bytes_per_s {
        return burst;
    }
    let at_rate = absorbed * rate / (rate - rate_after_bytes_per_s);
    MeasuredBurst {
        rate_bytes_per_s: rate,
        bytes: at_rate.round() as u64,
        ..burst
    }
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::super::burst::find_with_rate_after;
    use super::*;

    const RECORD: f64 = 1_048_576.0;

    /// Records of 1 MiB into a cache of `cache_mb` at 40 MB/s that drains at 4.2, for a minute:
    /// each completion, and what intervals of a tenth of a second see of them.
    fn seen(cache_mb: f64) -> (Vec<Point>, Vec<Step>) {
        let (fast, slow) = (40e6, 4.2e6);
        let full_s = cache_mb * 1e6 / (fast - slow);
        let time_s = |bytes: f64| {
            let beyond = bytes - fast * full_s;
            if beyond > 0.0 {
                full_s + beyond / slow
            } else {
                bytes / fast
            }
        };
        let records = (1..).map(|record| f64::from(record) * RECORD);
        let points = records.map(|bytes| (time_s(bytes), bytes));
        let points: Vec<Point> = points.take_while(|point| point.0 < 60.0).collect();
        let bytes_at = |at_s: f64| {
            let done = points.partition_point(|point| point.0 <= at_s);
            done.checked_sub(1).map_or(0.0, |last| points[last].1)
        };
        let step = |index: u32| {
            let (start_s, end_s) = (f64::from(index) / 10.0, f64::from(index + 1) / 10.0);
            let bytes = (bytes_at(end_s) - bytes_at(start_s)) as u64;
            Step {
                start_s,
                end_s,
                bytes,
            }
        };
        let steps = (0..600).map(step).collect();
        (points, steps)
    }

    #[test]
    fn a_burst_of_a_fraction_of_a_second_has_the_rate_of_its_completions() {
        for cache_mb in [4.0, 6.0, 10.0, 16.0, 35.65, 90.0] {
            let (points, steps) = seen(cache_mb);
            let (burst, after) = find_with_rate_after(&steps).expect("a burst");
            let found = refined(burst, after, &points);
            let rate = found.rate_bytes_per_s;
            assert!((rate / 40e6 - 1.0).abs() < 0.01, "{cache_mb} MB: {rate}");
            let taken = cache_mb * 1e6 * 40.0 / 35.8;
            let wrong = (found.bytes as f64 - taken).abs();
            assert!(wrong < 2.2 * RECORD, "{cache_mb} MB: {found:?}");
        }
    }

    #[test]
    fn completions_that_end_before_the_burst_say_nothing_of_it() {
        let (points, steps) = seen(90.0);
        let (burst, after) = find_with_rate_after(&steps).expect("a burst");
        let short = &points[..20];
        assert_eq!(refined(burst, after, short), burst);
        assert_eq!(refined(burst, after, &[]), burst);
    }

    #[test]
    fn the_first_of_two_levels_is_not_taken_for_all_of_the_burst() {
        // 50 MB at 100 MB/s, then 150 MB at 50 MB/s, then 10 MB/s.
        let at = |bytes: f64| {
            let (second, third) = (bytes - 50e6, bytes - 200e6);
            if third > 0.0 {
                3.5 + third / 10e6
            } else if second > 0.0 {
                0.5 + second / 50e6
            } else {
                bytes / 100e6
            }
        };
        let points: Vec<Point> = (1..=40)
            .map(|record| f64::from(record) * 10e6)
            .map(|bytes| (at(bytes), bytes))
            .collect();
        let burst = MeasuredBurst {
            bytes: 200_000_000,
            rate_bytes_per_s: 57e6,
            absorbed_bytes: 165_000_000,
            until_s: 3.5,
        };
        let found = refined(burst, 10e6, &points);
        assert!(found.rate_bytes_per_s < 60e6, "{found:?}");
    }
}
