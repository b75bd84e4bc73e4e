//! Makes rows from the runs of a trial: pairs of runs, their differences, and what all pairs
//! together show. Pure; the run calls it after each pair and at the end.

use sustain_document::compare::{ComparedRow, TrialRun};
use sustain_document::compare::{Metric, RowVerdict};
use sustain_statistics::ratio::sequence::SequentialEstimate;

use super::super::comparison_words;
use super::super::rows::{CPU, Comparand, RATE, latency_metric};

/// A pair: A's run and B's.
pub(super) type Pair = [TrialRun; 2];

fn standing(pairs: &[Pair], value: impl Fn(&TrialRun) -> f64) -> Option<SequentialEstimate> {
    let differences: Vec<f64> = pairs
        .iter()
        .map(|[a, b]| (value(b) / value(a)).ln())
        .collect();
    let is_known = differences.iter().all(|difference| difference.is_finite());
    SequentialEstimate::of(&differences).filter(|_| is_known)
}

/// What the pairs show of the rate.
pub(super) fn of_rates(pairs: &[Pair]) -> Option<SequentialEstimate> {
    standing(pairs, |run| run.rate_bytes_per_s)
}

/// Every quantity, the rate first; empty without a pair.
pub(super) fn rows(pairs: &[Pair]) -> Vec<ComparedRow> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(RATE, pairs, |run| run.rate_bytes_per_s)];
    rows.push(row(latency_metric(Metric::LatencyP99_9), pairs, |run| {
        run.latency_p99_9_ns as f64
    }));
    rows.push(row(latency_metric(Metric::LatencyMax), pairs, |run| {
        run.latency_max_ns as f64
    }));
    let has_cpu = |run: &TrialRun| run.cpu_seconds_per_gb.is_some_and(|cost| cost > 0.0);
    if pairs.iter().flatten().all(has_cpu) {
        rows.push(row(CPU, pairs, |run| {
            run.cpu_seconds_per_gb.unwrap_or_default()
        }));
    }
    rows
}

fn row(metric: Comparand, pairs: &[Pair], value: impl Fn(&TrialRun) -> f64) -> ComparedRow {
    let found = standing(pairs, &value);
    let mean = |side: usize| {
        let logs: f64 = pairs.iter().map(|pair| value(&pair[side]).ln()).sum();
        (logs / pairs.len() as f64).exp()
    };
    let verdict = match found {
        Some(found) if found.half_width.is_none() => RowVerdict::NotJudged,
        None => RowVerdict::NotJudged,
        Some(found) if !found.is_shown() => RowVerdict::NoDifferenceShown,
        Some(found) if (found.mean > 0.0) == metric.is_rate => RowVerdict::Faster,
        Some(_) => RowVerdict::Slower,
    };
    let how = if verdict == RowVerdict::NotJudged {
        comparison_words::FEW_PAIRS.to_owned()
    } else {
        comparison_words::of_pairs(pairs.len())
    };
    ComparedRow {
        target: None,
        metric: metric.name,
        unit: metric.unit,
        a: mean(0),
        b: mean(1),
        ratio: found.map(|found| found.mean.exp()),
        ci95_ratio: found.and_then(|found| found.interval()),
        verdict,
        resolution: found.and_then(|found| found.resolution()),
        how,
    }
}
