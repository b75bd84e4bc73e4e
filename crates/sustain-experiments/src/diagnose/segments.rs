//! Computes the rate of one target in one subset: the run is cut into segments, and the mean is
//! taken over those that belong together, so that a pause or a burst in one segment decides
//! nothing. Pure; the probe calls it with the completions of a run.

use sustain_disk::meter::MeterInterval;
use sustain_load::series::bytes_until;
use sustain_statistics::walls::SubsetReading;

use super::pauses::{Pauses, RunStretch, part_in_sum};

/// Number of segments of a run that count.
const SEGMENTS: usize = 7;
/// One more segment comes before them and does not count: queues fill, and heads find their place.
const SEGMENTS_ALL: usize = SEGMENTS + 1;
/// The core consists of so many segments near the median.
const CORE: usize = 5;
/// A segment is far from the core if it differs from its mean by this part,
const FAR: f64 = 0.20;
/// and by this many of its standard deviations.
const FAR_DEVIATIONS: f64 = 4.0;
/// How far the sum of the medians may be from the median of the sum.
const SUM_TOLERANCE: f64 = 0.01;

/// The reading of a subset whose targets completed their records at the ends of `completions` and
/// were kept busy from 0 to `duration_ns`.
///
/// What a target lacks while it pauses is given back: to itself all of it, and to the sum the part
/// that the sum shows, so that a pause is neither a loss nor a gain of the targets together.
pub(super) fn reading_of_run(completions: &[&[MeterInterval]], duration_ns: u64) -> SubsetReading {
    let segment_ns = duration_ns as f64 / SEGMENTS_ALL as f64;
    let stretch = |from: usize, until: usize| RunStretch {
        from_ns: from as f64 * segment_ns,
        until_ns: until as f64 * segment_ns,
    };
    let counts = stretch(1, SEGMENTS_ALL);
    let pauses: Vec<Pauses> = completions
        .iter()
        .map(|one| Pauses::of(one, counts))
        .collect();
    let part = part_in_sum(completions, &pauses, counts);
    let mut total = vec![0.0; SEGMENTS];
    let mut targets = Vec::new();
    for (completions, pauses) in completions.iter().zip(&pauses) {
        let mut segments = segments(completions, duration_ns);
        for (place, (segment, total)) in segments.iter_mut().zip(&mut total).enumerate() {
            let missing = pauses.missing_in(stretch(place + 1, place + 2));
            *total += *segment + part * missing;
            *segment += missing;
        }
        targets.push(segments);
    }
    reading(&targets, &total)
}

/// All bytes of the part of a run that counts, over its time, pauses included.
pub(super) fn rate_with_pauses(completions: &[&[MeterInterval]], duration_ns: u64) -> f64 {
    let targets = completions.iter().map(|one| segments(one, duration_ns));
    targets.flatten().sum::<f64>() / SEGMENTS as f64
}

/// The segments of a target. A record that completes later than the run counts up to where its end
/// cuts it.
fn segments(completions: &[MeterInterval], duration_ns: u64) -> Vec<f64> {
    let segment_ns = duration_ns as f64 / SEGMENTS_ALL as f64;
    let moved = |segment: usize| bytes_until(completions, segment as f64 * segment_ns);
    (1..SEGMENTS_ALL)
        .map(|segment| (moved(segment + 1) - moved(segment)) / segment_ns * 1e9)
        .collect()
}

/// The reading of a subset whose targets transferred these bytes in each segment, and all of them
/// together these.
///
/// Shares of a limit may swing against each other while their sum stands still. Then the medians of
/// the shares do not add up to the median of the sum, and the sum is believed.
fn reading(targets: &[Vec<f64>], total: &[f64]) -> SubsetReading {
    let (mut reading, left_out) = by_core(targets);
    let (together, _) = by_core(&[total_without_stretches(total, &left_out)]);
    let (total, total_noise) = (together.rates_bytes_per_s[0], together.noise[0]);
    let sum: f64 = reading.rates_bytes_per_s.iter().sum();
    if sum <= 0.0 || total <= 0.0 {
        return reading;
    }
    let correction = total / sum;
    if (correction - 1.0).abs() > SUM_TOLERANCE {
        for rate in &mut reading.rates_bytes_per_s {
            *rate *= correction;
        }
    }
    let targets = reading.rates_bytes_per_s.iter().zip(&reading.noise);
    let squares = targets.map(|(rate, noise)| (rate * noise).powi(2));
    let apart = squares.sum::<f64>().sqrt();
    let as_one = total_noise * total;
    if apart > as_one {
        for noise in &mut reading.noise {
            *noise *= as_one / apart;
        }
    }
    reading
}

/// The sum of the targets in each segment, with what slow stretches and bursts of single targets
/// took from it or added to it given back.
///
/// The reading of a target alone leaves out a segment in which it is slow. In a sum of several the
/// same stretch is too short to be left out, and counting it there alone would be a loss that no
/// limit causes. Where a limit binds, the others may take over what one leaves, and the sum stands
/// still: so the part of these stretches that is given back is the one that the sum itself shows,
/// by least squares over the segments.
fn total_without_stretches(total: &[f64], left_out: &[Vec<f64>]) -> Vec<f64> {
    let missing = sums(left_out);
    let (total_mean, _) = mean_and_deviation(total);
    let (missing_mean, _) = mean_and_deviation(&missing);
    let pairs = || total.iter().zip(&missing);
    let seen: f64 = pairs()
        .map(|(total, missing)| (total_mean - total) * (missing - missing_mean))
        .sum();
    let squares: f64 = missing.iter().map(|one| (one - missing_mean).powi(2)).sum();
    let part = if squares > 0.0 {
        (seen / squares).clamp(0.0, 1.0)
    } else {
        0.0
    };
    pairs()
        .map(|(total, missing)| total + part * missing)
        .collect()
}

/// The sum of these targets in each segment.
fn sums(targets: &[Vec<f64>]) -> Vec<f64> {
    (0..SEGMENTS)
        .map(|segment| targets.iter().map(|target| target[segment]).sum())
        .collect()
}

/// Rates by the segments that belong together, and what each target lacks of its rate in each
/// segment that does not count: less than 0 in a burst, 0 in segments that count.
///
/// The core consists of the segments nearest to the median. A segment that is far from the core, by
/// a fifth of its mean and by four of its standard deviations, is a pause or a burst and does not
/// count.
///
/// Data that comes in bursts, as through a throttle that lets a fixed amount through each tenth of
/// a second, puts every segment at one of a few rates. Then the core is spread widely, all segments
/// count, and their mean is the rate, where the median would be one of the few.
fn by_core(targets: &[Vec<f64>]) -> (SubsetReading, Vec<Vec<f64>>) {
    let mut reading = SubsetReading::of_segments(targets);
    let mut left_out = Vec::new();
    for (target, segments) in targets.iter().enumerate() {
        let median = reading.rates_bytes_per_s[target];
        let mut nearest = segments.clone();
        nearest.sort_by(|one, other| (one - median).abs().total_cmp(&(other - median).abs()));
        let (mean, deviation) = mean_and_deviation(&nearest[..CORE]);
        let within = (FAR * mean).max(FAR_DEVIATIONS * deviation);
        let counts = |segment: &f64| (segment - mean).abs() <= within;
        nearest.retain(counts);
        let (rate, deviation) = mean_and_deviation(&nearest);
        let missing = segments.iter().map(|segment| match counts(segment) {
            true => 0.0,
            false => rate - segment,
        });
        left_out.push(missing.collect());
        reading.rates_bytes_per_s[target] = rate;
        reading.noise[target] = if rate > 0.0 {
            deviation / (nearest.len() as f64).sqrt() / rate
        } else {
            0.0
        };
    }
    (reading, left_out)
}

/// Needs two values or more.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Records of 1000 bytes that take these times one after the other.
    fn completions(times_ns: &[u64]) -> Vec<MeterInterval> {
        let mut start_ns = 0;
        let mut completions = Vec::new();
        for time_ns in times_ns {
            completions.push(MeterInterval {
                start_ns,
                end_ns: start_ns + time_ns,
                bytes: 1000,
                latency_max_ns: *time_ns,
            });
            start_ns += time_ns;
        }
        completions
    }

    fn reading_of(times_ns: &[u64], duration_ns: u64) -> SubsetReading {
        reading_of_run(&[&completions(times_ns)], duration_ns)
    }

    fn reading_by_segments(targets: &[Vec<f64>]) -> SubsetReading {
        reading(targets, &sums(targets))
    }

    #[test]
    fn few_records_of_an_even_rate_give_it_exactly() {
        // 5.3 records in all: no segment has a whole number of them.
        let reading = reading_of(&[30_000_000; 7], 160_000_000);
        assert!((reading.rates_bytes_per_s[0] - 1000.0 / 0.03).abs() < 1e-6);
        assert!(reading.noise[0] < 1e-9);
    }

    #[test]
    fn a_stall_and_a_burst_decide_nothing() {
        let mut times = vec![1_000_000; 1000];
        times[140] = 90_000_000;
        times[700..760].fill(100_000);
        let reading = reading_of(&times, 1_000_000_000);
        let rate = reading.rates_bytes_per_s[0];
        assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn data_in_bursts_has_its_mean_rate() {
        // Three or four records each tenth of a second, 3.5 in the mean: segments of 0.25 s.
        let mut times = Vec::new();
        for burst in 0..40 {
            let records = 3 + burst % 2;
            times.push(100_000_000 - (records - 1) * 10_000);
            times.extend(vec![10_000; records as usize - 1]);
        }
        let reading = reading_of(&times, 2_000_000_000);
        let rate = reading.rates_bytes_per_s[0];
        assert!((rate / 35_000.0 - 1.0).abs() < 0.03, "{rate}");
    }

    #[test]
    fn a_target_that_did_nothing_has_no_rate() {
        let reading = reading_of_run(&[&[]], 1_000_000_000);
        assert_eq!(reading.rates_bytes_per_s[0].to_bits(), 0f64.to_bits());
    }

    #[test]
    fn of_shares_that_swing_against_each_other_the_sum_is_believed() {
        let one = vec![90.0, 30.0, 30.0, 85.0, 30.0, 95.0, 30.0];
        let other: Vec<f64> = one.iter().map(|rate| 120.0 - rate).collect();
        let reading = reading_by_segments(&[one.clone(), other.clone(), one, other]);
        let sum: f64 = reading.rates_bytes_per_s.iter().sum();
        assert!((sum - 240.0).abs() < 1e-9, "{reading:?}");
        let is_still = reading.noise.iter().all(|noise| *noise < 1e-9);
        assert!(is_still, "the sum is");
    }

    #[test]
    fn one_segment_of_one_target_does_not_change_the_sum() {
        let even = vec![100.0; SEGMENTS];
        let mut odd = even.clone();
        odd[3] = 40.0;
        let reading = reading_by_segments(&[odd, even]);
        let rates = reading.rates_bytes_per_s;
        assert!(rates.iter().all(|rate| (rate - 100.0).abs() < 1e-9));
    }

    fn total_rate(targets: &[Vec<f64>]) -> f64 {
        reading_by_segments(targets).rates_bytes_per_s.iter().sum()
    }

    /// In the sum of all of them such a pause is under a fifth, so that it would count.
    #[test]
    fn a_pause_of_one_of_many_counts_in_the_sum_no_more_than_alone() {
        let even = vec![100.0; SEGMENTS];
        let mut paused = even.clone();
        paused[1] = 22.0;
        for others in 1..12 {
            let targets = [vec![paused.clone()], vec![even.clone(); others]].concat();
            let expected = total_rate(&[paused.clone()]) + others as f64 * 100.0;
            assert!(
                (total_rate(&targets) - expected).abs() < 1e-6,
                "{others} others"
            );
        }
    }

    #[test]
    fn pauses_of_many_in_different_segments_count_no_more_than_alone() {
        let mut targets = vec![vec![100.0; SEGMENTS]; 12];
        for (number, target) in targets.iter_mut().enumerate().skip(4) {
            target[number * number % SEGMENTS] = 30.0;
        }
        assert!(
            (total_rate(&targets) - 1200.0).abs() < 1e-6,
            "{}",
            total_rate(&targets)
        );
    }

    #[test]
    fn what_others_take_over_while_one_pauses_does_not_add_to_the_limit() {
        let mut paused = vec![100.0; SEGMENTS];
        paused[2] = 40.0;
        let others = paused.iter().map(|rate| 100.0 + (100.0 - rate) / 5.0);
        let targets = [vec![paused.clone()], vec![others.collect(); 5]].concat();
        assert!(
            (total_rate(&targets) - 600.0).abs() < 1e-6,
            "{}",
            total_rate(&targets)
        );
    }

    proptest! {
        #[test]
        fn the_rate_lies_between_the_slowest_and_the_fastest_record(
            times in proptest::collection::vec(1_000_000_u64..9_000_000, 50..200),
        ) {
            let duration_ns = times.iter().sum();
            let rate = reading_of(&times, duration_ns).rates_bytes_per_s[0];
            let of = |time_ns: u64| 1000.0 / time_ns as f64 * 1e9;
            let slowest = of(*times.iter().max().unwrap());
            let fastest = of(*times.iter().min().unwrap());
            prop_assert!(rate >= slowest * 0.999_999);
            prop_assert!(rate <= fastest * 1.000_001);
        }
    }
}
