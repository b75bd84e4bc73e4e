//! Latencies in the result of a recording: percentiles and histograms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBinResult {
    /// Lower end.
    pub from_ns: u64,
    /// Upper end, included.
    pub to_ns: u64,
    /// Appends in this bin.
    pub count: u64,
}

/// Percentiles of a latency, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyResult {
    /// Half took no longer.
    pub p50: u64,
    /// 99 of 100 took no longer.
    pub p99: u64,
    /// 999 of 1000 took no longer.
    pub p99_9: u64,
    /// The longest.
    pub max: u64,
    /// When the longest was, in seconds from the start.
    pub max_at_s: f64,
}
