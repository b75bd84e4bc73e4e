//! What the frames of a recorded stream were like: a part of the result of a recording.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::latency::{LatencyBinResult, LatencyResult};

/// The frames of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FramesResult {
    /// Frames per second from the first to the last one; null of fewer than two.
    pub frames_per_s: Option<f64>,
    /// From the beginning of one frame to that of the next.
    pub interval_ns: LatencyResult,
    /// Histogram of `interval_ns`, in ascending order, without empty bins.
    pub interval_histogram: Vec<LatencyBinResult>,
    /// Bytes of a frame.
    pub size_bytes: FrameSizeResult,
    /// Histogram of `size_bytes`, in ascending order, without empty bins.
    pub size_histogram: Vec<FrameSizeBin>,
    /// From the arrival of a frame's first byte until it, and all before it in its stream, was
    /// durable.
    pub until_durable_ns: LatencyResult,
    /// Histogram of `until_durable_ns`, in ascending order, without empty bins.
    pub until_durable_histogram: Vec<LatencyBinResult>,
    /// The frames over time, in even steps. Steps without a frame are left out.
    pub series: Vec<FrameSample>,
    /// What is missing and late against the declared rate; null where none was declared.
    pub pace: Option<FramePaceResult>,
}

/// Percentiles of the size of frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameSizeResult {
    /// Half were no larger.
    pub p50: u64,
    /// 99 of 100 were no larger.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// One bin of the histogram of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameSizeBin {
    /// Lower end.
    pub from_bytes: u64,
    /// Upper end, included.
    pub to_bytes: u64,
    /// Frames in this bin.
    pub count: u64,
}

/// The frames that began to arrive within one step of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameSample {
    /// When the step begins, in seconds from the recording's start.
    pub time_s: f64,
    /// How many frames.
    pub frames: u64,
    /// The longest time since the frame before.
    pub interval_max_ns: u64,
    /// The largest frame.
    pub size_max_bytes: u64,
    /// The longest time until one of them was durable.
    pub until_durable_max_ns: u64,
}

/// A stream's frames against its declared rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FramePaceResult {
    /// The declared rate.
    pub declared_frames_per_s: f64,
    /// Frames that never came.
    pub missing: u64,
    /// Frames that came late, and are not missing.
    pub late: u64,
    /// The first pauses in which frames are missing, or after which they came late.
    pub incidents: Vec<FrameIncidentResult>,
    /// Further ones.
    pub unlisted: u64,
}

/// A pause in the frames that was longer than the declared rate allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameIncidentResult {
    /// The number of the frame that ended the pause, from 0.
    pub frame: u64,
    /// When that frame began to arrive, RFC 3339.
    pub time: String,
    /// The time since the frame before it.
    pub interval_ns: u64,
    /// Frames that should have come in the pause and never came.
    pub missing: u64,
    /// Frames that came right after the pause, closer to each other than the rate is.
    pub late: u64,
}
