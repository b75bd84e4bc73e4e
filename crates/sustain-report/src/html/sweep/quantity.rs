//! The quantities that are drawn of a point: its rate, the CPU time per GB, and the latency of its
//! slowest requests. The pictures of a sweep call it, so that all show the same.

use sustain_document::sweep::{SweepPoint, SweepResult};

use super::super::chart::{Quantity, Scale};
use crate::format::latency;
use crate::terminal::sweep::rate_with_interval;

const NANOSECONDS: f64 = 1e9;
/// Intervals make the scale larger than its dots need by no more than this factor.
const INTERVAL_OVER: f64 = 1.5;

/// A quantity that is drawn of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrawnQuantity {
    /// The rate, in bytes per second.
    Rate,
    /// The CPU time, in seconds per 10^9 bytes.
    Cpu,
    /// The 99.9th percentile of the latency, in seconds.
    Latency,
}

impl DrawnQuantity {
    /// The quantities that are known of some of the points.
    pub(super) fn known_of(points: &[&SweepPoint]) -> Vec<DrawnQuantity> {
        let all = [
            DrawnQuantity::Rate,
            DrawnQuantity::Cpu,
            DrawnQuantity::Latency,
        ];
        let is_known =
            |quantity: &DrawnQuantity| points.iter().any(|one| quantity.of(one).is_some());
        all.into_iter().filter(is_known).collect()
    }

    pub(super) fn heading(self) -> &'static str {
        match self {
            DrawnQuantity::Rate => "rate",
            DrawnQuantity::Cpu => "CPU time per GB",
            DrawnQuantity::Latency => "p99.9 latency",
        }
    }

    pub(super) fn of(self, point: &SweepPoint) -> Option<f64> {
        match self {
            DrawnQuantity::Rate => point.rate_bytes_per_s,
            DrawnQuantity::Cpu => point.cpu_seconds_per_gb,
            DrawnQuantity::Latency => point.latency_p99_9_ns.map(|ns| ns as f64 / NANOSECONDS),
        }
    }

    /// The 95 % interval of the rate; for the others the range from the lowest to the highest of
    /// the point's runs.
    pub(super) fn interval(self, result: &SweepResult, point: &SweepPoint) -> Option<[f64; 2]> {
        if self == DrawnQuantity::Rate {
            return point.ci95_bytes_per_s;
        }
        let runs = result.measurements.iter();
        let runs = runs.filter(|run| run.point == point.number);
        let figures = runs.filter_map(|run| match self {
            DrawnQuantity::Cpu => run.cpu_seconds_per_gb,
            _ => Some(run.latency_p99_9_ns as f64 / NANOSECONDS),
        });
        let own = self.of(point)?;
        // The figure of all runs lies between those of the single runs, or is one of them.
        let range = figures.fold([own, own], |[least, most], one| {
            [least.min(one), most.max(one)]
        });
        (range[0] < range[1]).then_some(range)
    }

    /// The scale that encloses all of these points.
    pub(super) fn scale(self, result: &SweepResult, points: &[&SweepPoint]) -> Scale {
        let known = points.iter().filter_map(|point| self.of(point));
        let (lowest, highest) = ends(known);
        let intervals = points
            .iter()
            .filter_map(|point| self.interval(result, point));
        let (least, most) = ends(intervals.flatten().chain([lowest, highest]));
        // A very wide interval must not press all dots together, so that it goes over the edge.
        let least = least.max(lowest / INTERVAL_OVER);
        let most = most.min(highest * INTERVAL_OVER);
        match self {
            // The scale begins at zero, so that small differences look small.
            DrawnQuantity::Rate => Scale::from_zero(Quantity::Rate, most),
            DrawnQuantity::Cpu => Scale::fitting(Quantity::CpuCost, least, most),
            DrawnQuantity::Latency => Scale::fitting(Quantity::Latency, least, most),
        }
    }
}

fn ends(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    figures.fold((f64::INFINITY, 0.0_f64), |(least, most), one| {
        (least.min(one), most.max(one))
    })
}

/// All figures of a point, as the title of its dot.
pub(super) fn all_of(point: &SweepPoint) -> String {
    let mut words = format!("{}: {}", point.setting.words, rate_with_interval(point));
    if let Some(cpu) = point.cpu_seconds_per_gb {
        words.push_str(&format!("; CPU time {cpu:.3} s per GB"));
    }
    if let Some(tail_ns) = point.latency_p99_9_ns {
        words.push_str(&format!("; p99.9 latency {}", latency(tail_ns)));
    }
    words
}
