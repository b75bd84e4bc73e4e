//! Latencies of an operation that a probe workload repeats: figures, and a series over time of
//! bounded length. The threads of the probe workloads call this.

use sustain_disk::clock::Timestamp;
use sustain_disk::meter::{LatencyMeter, MeterInterval};
use sustain_document::effect::ProbeInterval;
use sustain_load::series::Series;

/// Length of a step of the series.
const STEP_NS: u64 = 250_000_000;
/// Number of steps that are kept; in longer runs neighbours are joined.
const STEPS_MAX: usize = 2000;

/// Latencies of one stretch.
#[derive(Debug)]
pub(super) struct Latencies {
    all: LatencyMeter,
    count: u64,
    steps: Series,
    /// Its `bytes` count the operations that ended in it.
    step: Option<MeterInterval>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            all: LatencyMeter::new(),
            count: 0,
            steps: Series::bounded(STEPS_MAX),
            step: None,
        }
    }
}

impl Latencies {
    /// Enters an operation that ended at `at`.
    pub(super) fn record(&mut self, latency_ns: u64, at: Timestamp) {
        self.all.record(latency_ns, at.0, 0);
        self.count += 1;
        let start_ns = at.0 / STEP_NS * STEP_NS;
        if let Some(step) = self.step.filter(|step| step.start_ns != start_ns) {
            self.steps.push(step);
            self.step = None;
        }
        let step = self.step.get_or_insert(MeterInterval {
            start_ns,
            end_ns: start_ns + STEP_NS,
            bytes: 0,
            latency_max_ns: 0,
        });
        step.bytes += 1;
        step.latency_max_ns = step.latency_max_ns.max(latency_ns);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The latency that this percentage did not exceed; `None` if there was no operation.
    pub(super) fn percentile_ns(&self, percent: f64) -> Option<u64> {
        (self.count > 0).then(|| self.all.percentile_ns(percent))
    }

    pub(super) fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then(|| self.all.max().latency_ns)
    }

    /// The series over time, with times from `origin`.
    pub(super) fn intervals(&self, origin: Timestamp) -> Vec<ProbeInterval> {
        let steps = self.steps.as_slice().iter().chain(&self.step);
        steps
            .map(|step| ProbeInterval {
                start_s: Timestamp(step.start_ns).since_s(origin),
                end_s: Timestamp(step.end_ns).since_s(origin),
                count: step.bytes,
                max_ns: step.latency_max_ns,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_summed_up_and_drawn_in_steps() {
        let mut latencies = Latencies::default();
        assert_eq!(
            (latencies.percentile_ns(50.0), latencies.max_ns()),
            (None, None)
        );
        // A wake-up each millisecond for a second, one of them late by 30 ms.
        for wakeup in 0..1000u64 {
            let late_ns = if wakeup == 600 { 30_000_000 } else { 60_000 };
            latencies.record(late_ns, Timestamp(5_000_000_000 + wakeup * 1_000_000));
        }
        assert_eq!(latencies.count(), 1000);
        assert_eq!(latencies.max_ns(), Some(30_000_000));
        let median = latencies.percentile_ns(50.0).unwrap();
        assert!(median.abs_diff(60_000) <= 600, "{median}");
        assert!(latencies.percentile_ns(99.0).unwrap() < 61_000);
        let intervals = latencies.intervals(Timestamp(5_500_000_000));
        let starts: Vec<f64> = intervals.iter().map(|step| step.start_s).collect();
        assert_eq!(starts, [-0.5, -0.25, 0.0, 0.25]);
        assert!(intervals.iter().all(|step| step.count == 250));
        assert_eq!(intervals[2].max_ns, 30_000_000);
        assert_eq!(intervals[1].max_ns, 60_000);
    }

    #[test]
    fn a_day_of_wake_ups_stays_bounded() {
        let mut latencies = Latencies::default();
        for second in 0..86_400u64 {
            latencies.record(second, Timestamp(second * 1_000_000_000));
        }
        let intervals = latencies.intervals(Timestamp(0));
        assert!(intervals.len() <= STEPS_MAX + 1);
        assert_eq!(intervals.iter().map(|step| step.count).sum::<u64>(), 86_400);
    }
}
