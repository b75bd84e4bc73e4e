//! What each subset reached: one figure for a subset however often it was measured, so that the
//! summary, the advice and the notes name the same one. Pure.

use std::collections::BTreeMap;

use sustain_statistics::walls::{Findings, MeasuredSubset};

/// The sum of each subset, its targets sorted.
pub(super) type SubsetSums<'a> = BTreeMap<&'a [usize], f64>;

/// The sum of each subset that was measured; that of all targets is the one that the result calls
/// theirs together.
pub(super) fn sums(findings: &Findings) -> SubsetSums<'_> {
    let mut sums = means(&findings.measurements);
    let alive = findings.alone.len() - findings.dropped.len();
    if let Some(together) = &findings.together {
        let all = sums.iter_mut().find(|(set, _)| set.len() == alive);
        if let Some((_, sum)) = all {
            *sum = together.sum_bytes_per_s;
        }
    }
    sums
}

/// The mean of all readings of each subset.
pub(super) fn means(measurements: &[MeasuredSubset]) -> SubsetSums<'_> {
    let mut readings: BTreeMap<&[usize], Vec<f64>> = BTreeMap::new();
    for one in measurements {
        if !one.failed && !one.with_dummy {
            let sums = readings.entry(&one.members).or_default();
            sums.push(one.sum_bytes_per_s);
        }
    }
    let mean = |sums: Vec<f64>| sums.iter().sum::<f64>() / sums.len() as f64;
    readings
        .into_iter()
        .map(|(set, sums)| (set, mean(sums)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::remarks::furthest_below;
    use super::*;
    use sustain_statistics::walls::{AllTogether, SearchStep, SubsetDrift};

    fn measured(members: &[usize], sum: f64) -> MeasuredSubset {
        MeasuredSubset {
            members: members.to_vec(),
            with_dummy: false,
            step: SearchStep::All,
            sum_bytes_per_s: sum,
            rates_bytes_per_s: vec![sum / members.len() as f64; members.len()],
            predicted_bytes_per_s: Some(400e6),
            failed: false,
        }
    }

    /// Four targets that were measured four times; the first reading was off.
    fn findings() -> Findings {
        let all = [350e6, 401e6, 399e6, 400e6];
        let mut measurements: Vec<MeasuredSubset> = all
            .iter()
            .map(|sum| measured(&[0, 1, 2, 3], *sum))
            .collect();
        measurements.push(measured(&[0, 1], 395e6));
        measurements.push(measured(&[0, 1], 405e6));
        Findings {
            alone: vec![Some(200e6); 4],
            together: Some(AllTogether {
                rates_bytes_per_s: vec![100e6; 4],
                sum_bytes_per_s: 400e6,
                sum_alone_bytes_per_s: 800e6,
                readings: 3,
            }),
            walls: Vec::new(),
            measurements,
            dropped: Vec::new(),
            drift: SubsetDrift::default(),
            resolution: 0.015,
            noise: 0.003,
            scatter: None,
            too_noisy: None,
            unexplained: None,
            complete: true,
            order_known: true,
        }
    }

    #[test]
    fn a_subset_has_one_sum_however_often_it_was_measured() {
        let findings = findings();
        let sums = sums(&findings);
        assert_eq!(sums.get(&[0, 1, 2, 3][..]), Some(&400e6));
        assert_eq!(sums.get(&[0, 1][..]), Some(&400e6));
    }

    #[test]
    fn one_reading_of_several_leaves_nothing_unexplained() {
        assert!(furthest_below(&findings()).is_none());
        let mut off = findings();
        off.measurements.push(measured(&[0, 2], 350e6));
        assert!(furthest_below(&off).is_some());
    }
}
