//! Prepares the samples of a recording for drawing: few enough for a browser, and so far apart that
//! their rates mean something. The charts of a recording call it.

use sustain_document::record::SampleResult;

use super::super::series::points_max;

/// A rate over less time says more about the moment of the sample than about the recording.
const STEP_MIN_S: f64 = 0.5;

/// The samples to draw in so many lines, far enough apart. The last one is always among them,
/// because it has the final counts.
pub(super) fn drawn(samples: &[SampleResult], lines: usize) -> Vec<&SampleResult> {
    let Some(last) = samples.last() else {
        return Vec::new();
    };
    let step_s = (last.time_s / points_max(lines) as f64).max(STEP_MIN_S);
    let mut kept: Vec<&SampleResult> = Vec::new();
    let mut next_s = step_s;
    for sample in samples.iter().filter(|sample| sample.time_s >= 0.0) {
        if sample.time_s >= next_s {
            kept.push(sample);
            next_s = sample.time_s + step_s;
        }
    }
    if kept.last().is_none_or(|kept| kept.time_s < last.time_s) {
        let before_s = kept.last().map_or(0.0, |kept| kept.time_s);
        if last.time_s - before_s < step_s {
            kept.pop();
        }
        kept.push(last);
    }
    kept
}

/// The count of one stream or member; 0 in a sample that does not have it.
pub(super) fn count(counts: &[u64], index: usize) -> u64 {
    counts.get(index).copied().unwrap_or(0)
}

/// The rates between moments, from bytes counted since the start: the middle of each period in
/// seconds, and the rate in bytes per second.
pub(super) fn rates(counted: impl Iterator<Item = (f64, u64)>) -> Vec<(f64, f64)> {
    let (mut from_s, mut before) = (0.0, 0);
    let mut rates = Vec::new();
    for (to_s, bytes) in counted {
        if to_s > from_s {
            let passed = bytes.saturating_sub(before) as f64;
            rates.push((f64::midpoint(from_s, to_s), passed / (to_s - from_s)));
            (from_s, before) = (to_s, bytes);
        }
    }
    rates
}

/// The same with the lowest and the highest rate of the samples in each period, of which only the
/// last is among the drawn ones.
pub(super) fn rates_in_range(
    drawn: &[&SampleResult],
    all: &[SampleResult],
    counted: impl Fn(&SampleResult) -> u64,
) -> Vec<(f64, f64, [f64; 2])> {
    let counts = |at: &&SampleResult| (at.time_s, counted(at));
    let means = rates(drawn.iter().map(counts));
    let last_s = drawn.last().map_or(0.0, |at| at.time_s);
    let all = all.iter().filter(|at| at.time_s <= last_s);
    // A rate over less than a step says nothing, also where no others are joined to it.
    let steps = rates(far_enough(all).map(|at| (at.time_s, counted(at))));
    let mut steps = steps.into_iter().peekable();
    let ends = drawn
        .iter()
        .map(|at| at.time_s)
        .filter(|end_s| *end_s > 0.0);
    let ranged = means
        .into_iter()
        .zip(ends)
        .map(|((middle_s, mean), end_s)| {
            let mut range = [mean, mean];
            while let Some((_, rate)) = steps.next_if(|(at_s, _)| *at_s < end_s) {
                range = [range[0].min(rate), range[1].max(rate)];
            }
            (middle_s, mean, range)
        });
    ranged.collect()
}

/// The samples that are a step or more behind the one before.
fn far_enough<'a>(
    samples: impl Iterator<Item = &'a SampleResult>,
) -> impl Iterator<Item = &'a SampleResult> {
    let mut next_s = STEP_MIN_S;
    samples.filter(move |sample| {
        let is_due = sample.time_s >= next_s;
        if is_due {
            next_s = sample.time_s + STEP_MIN_S;
        }
        is_due
    })
}

/// The losses: the moment by which bytes were lost, and their number since the moment before.
pub(super) fn gaps(samples: &[&SampleResult], stream: usize) -> Vec<(f64, u64)> {
    let mut before = 0;
    let mut gaps = Vec::new();
    for sample in samples {
        let bytes = count(&sample.gap_bytes, stream);
        if bytes > before {
            gaps.push((sample.time_s, bytes - before));
            before = bytes;
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use sustain_document::record::LimitedBy;

    use super::*;

    fn sample(time_s: f64, bytes: u64) -> SampleResult {
        SampleResult {
            time_s,
            buffer_fill: 0.0,
            offered_bytes: vec![bytes],
            durable_bytes: vec![bytes],
            gap_bytes: vec![bytes / 10],
            protected_bytes: Vec::new(),
            member_bytes: vec![bytes],
            failed_members: Vec::new(),
            limited_by: LimitedBy::Source,
        }
    }

    fn times(samples: &[SampleResult]) -> Vec<f64> {
        drawn(samples, 1)
            .iter()
            .map(|sample| sample.time_s)
            .collect()
    }

    #[test]
    fn no_rate_is_over_a_moment_and_the_end_is_always_drawn() {
        let samples = [
            sample(0.0, 0),
            sample(0.2, 0),
            sample(1.0, 100),
            sample(2.0, 200),
            sample(2.1, 230),
        ];
        assert_eq!(times(&samples), [1.0, 2.1]);
        assert_eq!(times(&samples[..3]), [1.0]);
        assert_eq!(times(&samples[..2]), [0.2]);
        assert!(times(&[]).is_empty());
        let drawn = drawn(&samples, 1);
        let counted = drawn
            .iter()
            .map(|sample| (sample.time_s, count(&sample.offered_bytes, 0)));
        let rates = rates(counted);
        assert_eq!(rates[0], (0.5, 100.0));
        assert!((rates[1].1 - 130.0 / 1.1).abs() < 1e-9, "{rates:?}");
        assert_eq!(gaps(&drawn, 0), [(1.0, 10), (2.1, 13)]);
        assert!(gaps(&drawn, 1).is_empty());
    }

    #[test]
    fn a_second_of_nothing_in_a_long_recording_is_in_its_range() {
        let bytes = |second: u32| u64::from(if second > 7_777 { second - 1 } else { second });
        let samples: Vec<SampleResult> = (0..20_000)
            .map(|second| sample(f64::from(second), 1000 * bytes(second)))
            .collect();
        let drawn = drawn(&samples, 1);
        let ranged = rates_in_range(&drawn, &samples, |at| count(&at.offered_bytes, 0));
        assert_eq!(ranged.len(), drawn.len());
        let holes: Vec<_> = ranged
            .iter()
            .filter(|(_, _, [least, _])| *least < 1.0)
            .collect();
        let [(at_s, mean, [least, most])] = holes.as_slice() else {
            panic!("{holes:?}");
        };
        assert!(
            (at_s - 7_778.0).abs() < 7.0 && *mean > 800.0,
            "{at_s} {mean}"
        );
        assert_eq!((*least, *most), (0.0, 1000.0));
    }

    #[test]
    fn a_long_recording_has_no_more_points_than_a_screen() {
        let samples: Vec<SampleResult> = (0..20_000_u32)
            .map(|second| sample(f64::from(second), u64::from(second)))
            .collect();
        let drawn = times(&samples);
        assert!((2000..=3000).contains(&drawn.len()), "{}", drawn.len());
        assert_eq!(drawn.last(), Some(&19_999.0));
    }
}
