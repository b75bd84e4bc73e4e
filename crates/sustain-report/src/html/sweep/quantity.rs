//! What is drawn of a point: its rate, what that costs, how late its slowest requests are. The
//! pictures of a sweep call it, so that all show the same.

use sustain_bench::sweep::result::{SweepPoint, SweepResult};

use super::scale::Scale;
use crate::format::{latency, rate};
use crate::terminal::sweep::rate_with_interval;

const NANOSECONDS: f64 = 1e9;
/// Intervals make a picture larger than its dots by no more than this factor.
const INTERVAL_OVER: f64 = 1.5;

/// What is drawn of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Bytes per second.
    Rate,
    /// Seconds per 10^9 bytes.
    Cpu,
    /// Seconds within which 999 of 1000 requests stayed.
    Latency,
}

impl Quantity {
    /// Those that are known of some of the points.
    pub(super) fn known_of(points: &[&SweepPoint]) -> Vec<Quantity> {
        let all = [Quantity::Rate, Quantity::Cpu, Quantity::Latency];
        let is_known = |quantity: &Quantity| points.iter().any(|one| quantity.of(one).is_some());
        all.into_iter().filter(is_known).collect()
    }

    pub(super) fn heading(self) -> &'static str {
        match self {
            Quantity::Rate => "rate",
            Quantity::Cpu => "CPU time per GB",
            Quantity::Latency => "p99.9 latency",
        }
    }

    pub(super) fn of(self, point: &SweepPoint) -> Option<f64> {
        match self {
            Quantity::Rate => point.rate_bytes_per_s,
            Quantity::Cpu => point.cpu_seconds_per_gb,
            Quantity::Latency => point.latency_p99_9_ns.map(|ns| ns as f64 / NANOSECONDS),
        }
    }

    /// The 95 % interval of the rate; of all else from the least to the most of the point's runs.
    pub(super) fn interval(self, result: &SweepResult, point: &SweepPoint) -> Option<[f64; 2]> {
        if self == Quantity::Rate {
            return point.ci95_bytes_per_s;
        }
        let runs = result.measurements.iter();
        let runs = runs.filter(|run| run.point == point.number);
        let figures = runs.filter_map(|run| match self {
            Quantity::Cpu => run.cpu_seconds_per_gb,
            _ => Some(run.latency_p99_9_ns as f64 / NANOSECONDS),
        });
        let own = self.of(point)?;
        // What is of all runs lies between them, or is one of them.
        let range = figures.fold([own, own], |[least, most], one| {
            [least.min(one), most.max(one)]
        });
        (range[0] < range[1]).then_some(range)
    }

    /// The scale that encloses all of these points, with its ticks and their labels.
    pub(super) fn scale(
        self,
        result: &SweepResult,
        points: &[&SweepPoint],
        from_px: f64,
        to_px: f64,
    ) -> (Scale, Vec<(f64, String)>) {
        let known = points.iter().filter_map(|point| self.of(point));
        let (lowest, highest) = ends(known);
        let intervals = points
            .iter()
            .filter_map(|point| self.interval(result, point));
        let (least, most) = ends(intervals.flatten().chain([lowest, highest]));
        // An interval that says nothing must not press all dots together: it goes over the edge.
        let least = least.max(lowest / INTERVAL_OVER);
        let most = most.min(highest * INTERVAL_OVER);
        let (scale, ticks) = match self {
            // From zero, so that what hardly matters looks so.
            Quantity::Rate => Scale::from_zero(most, from_px, to_px),
            Quantity::Cpu | Quantity::Latency => Scale::fitting(least, most, from_px, to_px),
        };
        let labelled = ticks.into_iter().map(|tick| (tick, self.words(tick)));
        (scale, labelled.collect())
    }

    fn words(self, figure: f64) -> String {
        if figure == 0.0 {
            return "0".to_owned();
        }
        match self {
            Quantity::Rate => rate(figure),
            // Six digits take away what multiplying a step has left.
            Quantity::Cpu => format!("{} s", (figure * 1e6).round() / 1e6),
            Quantity::Latency => latency((figure * NANOSECONDS).round() as u64),
        }
    }
}

fn ends(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    figures.fold((f64::INFINITY, 0.0_f64), |(least, most), one| {
        (least.min(one), most.max(one))
    })
}

/// All that is known of a point, as the title of its dot.
pub(super) fn all_of(point: &SweepPoint) -> String {
    let mut words = format!("{}: {}", point.setting.words, rate_with_interval(point));
    if let Some(cpu) = point.cpu_seconds_per_gb {
        words.push_str(&format!("; CPU {cpu:.3} s/GB"));
    }
    if let Some(tail_ns) = point.latency_p99_9_ns {
        words.push_str(&format!("; p99.9 {}", latency(tail_ns)));
    }
    words
}
