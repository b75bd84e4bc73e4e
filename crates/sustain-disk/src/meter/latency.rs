//! Latencies: a histogram for the percentiles, and besides it the exact longest latency with its
//! time and offset.

use hdrhistogram::Histogram;

/// The histogram distinguishes values to one part in 100.
const SIGNIFICANT_DIGITS: u8 = 2;
/// A longer latency counts as this long in the histogram; the maximum besides it stays exact.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The longest latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LatencyMax {
    /// How long.
    pub latency_ns: u64,
    /// When it ended, from the start.
    pub at_ns: u64,
    /// Where it was.
    pub offset_bytes: u64,
}

/// Latencies of one target.
#[derive(Debug)]
pub struct LatencyMeter {
    histogram: Histogram<u64>,
    max: LatencyMax,
}

impl Default for LatencyMeter {
    fn default() -> LatencyMeter {
        LatencyMeter::new()
    }
}

impl LatencyMeter {
    /// Before the first.
    ///
    /// # Panics
    /// Never: the bounds are constant ones that the histogram accepts.
    pub fn new() -> LatencyMeter {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
            .expect("constant bounds that the library accepts");
        LatencyMeter {
            histogram,
            max: LatencyMax::default(),
        }
    }

    /// Enters a latency that ended at `at_ns` from the start, at an offset.
    #[inline]
    pub fn record(&mut self, latency_ns: u64, at_ns: u64, offset_bytes: u64) {
        self.histogram.saturating_record(latency_ns.max(1));
        if latency_ns > self.max.latency_ns {
            self.max = LatencyMax {
                latency_ns,
                at_ns,
                offset_bytes,
            };
        }
    }

    /// Enters this latency so many times.
    pub fn record_many(&mut self, latency_ns: u64, count: u64, at_ns: u64) {
        self.histogram
            .saturating_record_n(latency_ns.max(1), count.saturating_sub(1));
        if count > 0 {
            self.record(latency_ns, at_ns, 0);
        }
    }

    /// The latency that `percent` of the requests did not exceed; 0 if there were none.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        // A bin's upper end may lie above the longest that was really seen.
        self.histogram
            .value_at_percentile(percent)
            .min(self.max.latency_ns)
    }

    /// The longest.
    pub fn max(&self) -> LatencyMax {
        self.max
    }

    /// The bins that hold something: lower end, upper end, count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.histogram.iter_recorded().map(|bin| {
            let value = bin.value_iterated_to();
            let lowest = self.histogram.lowest_equivalent(value);
            (
                lowest,
                self.histogram.highest_equivalent(value),
                bin.count_at_value(),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_near_and_the_maximum_is_exact() {
        let mut latency = LatencyMeter::new();
        for value in 1..=1000u64 {
            latency.record(value * 1000, value, value * 4096);
        }
        assert!(latency.percentile_ns(50.0).abs_diff(500_000) <= 5_000);
        assert!(latency.percentile_ns(99.0).abs_diff(990_000) <= 9_900);
        let max = LatencyMax {
            latency_ns: 1_000_000,
            at_ns: 1000,
            offset_bytes: 4_096_000,
        };
        assert_eq!(latency.max(), max);
        assert_eq!(latency.percentile_ns(100.0), 1_000_000);
        assert_eq!(latency.bins().map(|(_, _, count)| count).sum::<u64>(), 1000);
    }
}
