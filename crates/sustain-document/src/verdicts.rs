//! What the figures of a measurement mean where a threshold decides it. The run decides, once; the
//! views only word it. Thresholds therefore stand where these are made, and in no view.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdicts on a measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MeasureVerdicts {
    /// Whether the run was too short to be judged steady.
    pub is_too_short: bool,
    /// Whether the three ways to count the rate of several targets lie apart.
    pub rates_differ: bool,
    /// Whether the rate swings, so that its slowest 10 s matter beside the recommended rate.
    pub swings: bool,
    /// With `--rate`: whether the backlog still grew at the end. If it grew steadily, the rate is
    /// not held although the buffer was large enough for this run.
    pub backlog_grows: bool,
    /// With `--rate`: what was only in volatile caches when the run ended, if the flush after it
    /// was longer than a pause explains. If the buffer could not hold as much, or the flush took a
    /// tenth of the run besides its pauses, the rate is not held; or else it is not decided.
    pub into_cache: Option<IntoCache>,
    /// The longest stall of a paced run, if it is clearly longer than those of the run itself.
    pub paced_stall_ns: Option<u64>,
    /// Whether the longest of `stalls` is that of a single target, longer than any of all targets
    /// at once.
    pub stall_is_of_one: bool,
    /// What most of the recommended buffer is for, if the run that confirmed the rate used far less
    /// of it; null otherwise.
    pub buffer_is_for: Option<BufferPurpose>,
    /// A long stall was seen too seldom to know how often such stalls come.
    pub rhythm_not_seen: Option<RhythmNotSeen>,
    /// What was written through the page cache fits into memory.
    pub backlog_not_seen: Option<BacklogNotSeen>,
}

closed_set! {
    /// What most of a recorder's buffer is for.
    pub enum BufferPurpose {
        /// The records that are being filled and written.
        Records,
        /// The pauses that were seen.
        Pauses,
        /// The periods in which the run was slower than the recommended rate.
        SlowPeriods,
        /// Nothing that was seen: the rate hardly varied, and the need is an estimate from
        /// above.
        Margin,
    }
}

/// What a paced run left in the volatile caches of its targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntoCache {
    /// The bytes that the flush after the run still had to write.
    pub bytes: u64,
    /// How long that flush took.
    pub flush_s: f64,
    /// The rate of the run with its flush counted.
    pub flushed_bytes_per_s: f64,
}

/// A long stall that was seen too seldom to know how often such stalls come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RhythmNotSeen {
    /// How long it was.
    pub stall_ns: u64,
    /// How often stalls of its kind were seen.
    pub seen: usize,
    /// In which time: that of the run and of the paced runs.
    pub seconds: f64,
    /// The time that has a good chance of showing how often they come.
    pub proposed_time_s: f64,
    /// Whether a target would come to its end in less than that time, so that the run must go over
    /// a part of it again and again.
    #[serde(default)]
    pub is_beyond_the_end: bool,
    /// If so: the `--size` of a part that every target has.
    #[serde(default)]
    pub proposed_size_bytes: Option<u64>,
}

/// Data that was written through the page cache and fits into memory, so that the disks behind a
/// full cache were not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BacklogNotSeen {
    /// The bytes of distinct positions that were written.
    pub written_bytes: u64,
    /// The number of targets to which they were written.
    pub targets: usize,
    /// Whether they were written to one file.
    pub is_one_file: bool,
    /// The machine's memory.
    pub memory_bytes: u64,
    /// A run that would show the disks behind a full cache; null if there is no space for one.
    pub proposed: Option<ProposedRun>,
}

/// The flags of a run that writes more than memory holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedRun {
    /// Its `--size`.
    pub size_bytes: u64,
    /// Its `--time`, if it needs a longer one.
    pub time_s: Option<f64>,
}
