//! The rows of a comparison: each quantity in A and in B, whether it differs, and, where the noise
//! is not known, why. Pure; `conclude` calls it for all targets together and for each.

use sustain_document::compare::ComparedRow;
use sustain_document::compare::{Metric, MetricUnit, RowVerdict};
use sustain_document::measure::{Interval, Latency, Sustained};
use sustain_statistics::judge::Step;
use sustain_statistics::judge::curve::CumulativeBytes;
use sustain_statistics::ratio::batches::{ratio_of_rates, ratio_of_typical, ratio_over_same_bytes};
use sustain_statistics::ratio::effect::{Effect, OUTSIDE};

use super::comparison_words;

/// Intervals whose lengths differ by more than this factor have different maxima for that reason
/// alone.
const LENGTHS_ALIKE: f64 = 1.1;

/// A run that was faster by this part before its steady window had a faster beginning.
const FASTER_BEFORE: f64 = 0.1;

/// A quantity that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Comparand {
    pub(super) name: Metric,
    pub(super) unit: MetricUnit,
    /// A rate, of which more is better.
    pub(super) is_rate: bool,
}

pub(super) const SUSTAINED_RATE: Comparand = rate_metric(Metric::SustainedRate);
pub(super) const RATE: Comparand = rate_metric(Metric::Rate);
pub(super) const CPU: Comparand = Comparand {
    name: Metric::CpuPerGb,
    unit: MetricUnit::SecondsPerGb,
    is_rate: false,
};

const fn rate_metric(name: Metric) -> Comparand {
    Comparand {
        name,
        unit: MetricUnit::BytesPerS,
        is_rate: true,
    }
}

pub(super) const fn latency_metric(name: Metric) -> Comparand {
    Comparand {
        name,
        unit: MetricUnit::Ns,
        is_rate: false,
    }
}

/// The figures of a row before it is judged.
pub(super) struct ComparedQuantity {
    pub(super) metric: Comparand,
    pub(super) values: [f64; 2],
    pub(super) effect: Option<Effect>,
    pub(super) how: String,
}

impl ComparedQuantity {
    fn plain(metric: Comparand, values: [f64; 2], how: &str) -> ComparedQuantity {
        ComparedQuantity {
            metric,
            values,
            effect: None,
            how: how.to_owned(),
        }
    }

    /// The row, judged by a rule that is wrong in this part of cases.
    pub(super) fn row(&self, target: Option<&str>, outside: f64) -> ComparedRow {
        let [a, b] = self.values;
        let verdict = match self.effect {
            None => RowVerdict::NotJudged,
            Some(effect) if !effect.is_shown(outside) => RowVerdict::NoDifferenceShown,
            Some(effect) if (effect.log > 0.0) == self.metric.is_rate => RowVerdict::Faster,
            Some(_) => RowVerdict::Slower,
        };
        let plain = (a > 0.0).then(|| b / a);
        ComparedRow {
            target: target.map(str::to_owned),
            metric: self.metric.name,
            unit: self.metric.unit,
            a,
            b,
            ratio: self.effect.map_or(plain, |effect| Some(effect.ratio())),
            ci95_ratio: self.effect.map(|effect| effect.interval(OUTSIDE)),
            verdict,
            resolution: self.effect.map(|effect| effect.resolution(outside)),
            how: self.how.clone(),
        }
    }
}

/// The figures of one of the two runs for a target, or for all together.
pub(super) struct RunFigures<'a> {
    pub(super) sustained: &'a Sustained,
    pub(super) intervals: &'a [Interval],
    pub(super) rate_bytes_per_s: f64,
    /// Whether completed requests were only in memory, not on a disk.
    pub(super) is_through_memory: bool,
    /// None for all together.
    pub(super) latency: Option<&'a Latency>,
}

impl RunFigures<'_> {
    fn curve(&self) -> Option<CumulativeBytes> {
        let steps: Vec<Step> = self
            .intervals
            .iter()
            .map(|interval| Step {
                start_s: interval.start_s,
                end_s: interval.end_s,
                bytes: interval.bytes,
            })
            .collect();
        CumulativeBytes::new(&steps)
    }

    /// Mean length of an interval in seconds and in bytes.
    fn interval_lengths(&self) -> [f64; 2] {
        let count = self.intervals.len().max(1) as f64;
        let seconds = self.intervals.iter().map(|one| one.end_s - one.start_s);
        let bytes = self.intervals.iter().map(|one| one.bytes as f64);
        [seconds.sum::<f64>() / count, bytes.sum::<f64>() / count]
    }
}

/// The rates, with the one that answers first.
pub(super) fn rates(a: &RunFigures<'_>, b: &RunFigures<'_>) -> Vec<ComparedQuantity> {
    let whole = [a.rate_bytes_per_s, b.rate_bytes_per_s];
    if a.is_through_memory || b.is_through_memory {
        return vec![ComparedQuantity::plain(
            RATE,
            whole,
            comparison_words::THROUGH_PAGE_CACHE,
        )];
    }
    let (of_a, of_b) = (a.curve(), b.curve());
    let curves = of_a.as_ref().zip(of_b.as_ref());
    let over_bytes = curves.and_then(|(one, other)| {
        let (effect, values) = ratio_over_same_bytes(one, other)?;
        let bytes = one.total_bytes().min(other.total_bytes());
        Some(ComparedQuantity {
            metric: RATE,
            values,
            effect: Some(effect),
            how: comparison_words::over_the_first(bytes as u64),
        })
    });
    let over_bytes = over_bytes.unwrap_or_else(|| {
        ComparedQuantity::plain(RATE, whole, &comparison_words::few_in_common())
    });
    let sustained = sustained(a, b, curves);
    if sustained.effect.is_some() {
        vec![sustained, over_bytes]
    } else {
        vec![over_bytes, sustained]
    }
}

fn sustained(
    a: &RunFigures<'_>,
    b: &RunFigures<'_>,
    curves: Option<(&CumulativeBytes, &CumulativeBytes)>,
) -> ComparedQuantity {
    let values = [a, b].map(|seen| seen.sustained.rate_bytes_per_s);
    let missing = [("A", a), ("B", b)]
        .into_iter()
        .find(|(_, seen)| !seen.sustained.reached);
    if let Some((side, seen)) = missing {
        let how = comparison_words::not_reached(side, &seen.sustained.why);
        return ComparedQuantity::plain(SUSTAINED_RATE, values, &how);
    }
    let began_faster = curves.map(|(one, other)| [began_faster(a, one), began_faster(b, other)]);
    // The one that did not fall may still do so, which matters only while it is the faster one.
    let may_still_fall = began_faster.and_then(|fell| match fell {
        [true, false] if values[1] > values[0] => Some(["A", "B"]),
        [false, true] if values[0] > values[1] => Some(["B", "A"]),
        _ => None,
    });
    if let Some(sides) = may_still_fall {
        let how = comparison_words::only_one_fell(sides);
        return ComparedQuantity::plain(SUSTAINED_RATE, values, &how);
    }
    let windows = curves.and_then(|(one, other)| {
        ratio_of_rates((one, a.sustained.from_s), (other, b.sustained.from_s))
    });
    let Some((effect, _)) = windows.filter(|_| values.iter().all(|rate| *rate > 0.0)) else {
        return ComparedQuantity::plain(SUSTAINED_RATE, values, comparison_words::FEW_IN_WINDOW);
    };
    ComparedQuantity {
        metric: SUSTAINED_RATE,
        values,
        effect: Some(Effect {
            // This takes the rates as the runs report them: the position effect may have been
            // removed there.
            log: (values[1] / values[0]).ln(),
            ..effect
        }),
        how: comparison_words::windows(a.sustained.from_s, b.sustained.from_s),
    }
}

/// Whether a run was faster before its steady window than in it.
fn began_faster(seen: &RunFigures<'_>, curve: &CumulativeBytes) -> bool {
    let from_s = seen.sustained.from_s;
    if from_s <= curve.start_s() {
        return false;
    }
    let [before] = curve.batch_rates::<1>(curve.start_s(), from_s);
    before > seen.sustained.rate_bytes_per_s * (1.0 + FASTER_BEFORE)
}

/// The latencies of a target.
pub(super) fn latencies(a: &RunFigures<'_>, b: &RunFigures<'_>) -> Vec<ComparedQuantity> {
    let (Some(of_a), Some(of_b)) = (a.latency, b.latency) else {
        return Vec::new();
    };
    let how = comparison_words::ONE_FIGURE;
    let plain = |name: Metric, one: u64, other: u64| {
        ComparedQuantity::plain(latency_metric(name), [one as f64, other as f64], how)
    };
    let mut found = vec![typical_max(a, b)];
    found.extend([
        plain(Metric::LatencyP50, of_a.p50, of_b.p50),
        plain(Metric::LatencyP99, of_a.p99, of_b.p99),
        plain(Metric::LatencyP99_9, of_a.p99_9, of_b.p99_9),
        plain(Metric::LatencyMax, of_a.max, of_b.max),
    ]);
    found
}

/// The longest request of a typical interval: it is the only latency of which the document has a
/// series.
fn typical_max(a: &RunFigures<'_>, b: &RunFigures<'_>) -> ComparedQuantity {
    let metric = latency_metric(Metric::LatencyTypicalMax);
    let longest = |seen: &RunFigures<'_>| -> Vec<f64> {
        let longest = seen.intervals.iter().map(|one| one.latency_max_ns as f64);
        longest.filter(|latency_ns| *latency_ns > 0.0).collect()
    };
    let (of_a, of_b) = (longest(a), longest(b));
    let typical = |values: &[f64]| {
        if values.is_empty() {
            return 0.0;
        }
        let sum: f64 = values.iter().map(|value| value.ln()).sum();
        (sum / values.len() as f64).exp()
    };
    let values = [typical(&of_a), typical(&of_b)];
    let lengths = a.interval_lengths().into_iter().zip(b.interval_lengths());
    let is_alike = |(one, other): (f64, f64)| one.max(other) <= LENGTHS_ALIKE * one.min(other);
    if !lengths.into_iter().any(is_alike) {
        return ComparedQuantity::plain(metric, values, comparison_words::LENGTHS_DIFFER);
    }
    match ratio_of_typical(&of_a, &of_b) {
        None => ComparedQuantity::plain(metric, values, comparison_words::FEW_INTERVALS),
        Some((effect, _)) => ComparedQuantity {
            metric,
            values,
            effect: Some(effect),
            how: comparison_words::typical_latencies(a.interval_lengths()[0]),
        },
    }
}

/// CPU of the whole process.
pub(super) fn cpu(a: Option<f64>, b: Option<f64>) -> Option<ComparedQuantity> {
    Some(ComparedQuantity::plain(
        CPU,
        [a?, b?],
        comparison_words::ONE_FIGURE,
    ))
}
