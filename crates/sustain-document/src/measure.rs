//! The versioned result document between measuring and showing: what was asked, the machine, what
//! was seen, and what follows.
//!
//! The run fills it, the reports draw it, `--json` writes it, and `sustain report` reads it back.
//! All times count from the start of the run, all rates are bytes per second, and field names end
//! in their units.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dips::Dip;
use crate::effect::EffectResult;
use crate::host::Host;
pub use crate::rates::{
    Attempt, BufferPoint, Burst, ReadBack, ReadBackRate, ReadBackTarget, Recommendation, Rewritten,
    RewrittenRun, Sustained,
};
use crate::system::System;
use crate::verdicts::MeasureVerdicts;
use crate::vocabulary::{
    DataKind, DataPath, Direction, Ending, EngineChoice, LayoutKind, Operation, TargetKind,
};

/// The `schema` of a [`MeasureResult`] as this version writes it.
pub const MEASURE_SCHEMA: &str = "sustain.measure/1";

/// What `sustain measure` was asked, where it ran, what it saw and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasureResult {
    /// Always `sustain.measure/1`; a reader refuses what it does not know.
    pub schema: String,
    /// The request, and how it was carried out.
    pub plan: Plan,
    /// The machine the run was made on.
    pub host: Host,
    /// One entry per target, in the order given.
    pub targets: Vec<TargetResult>,
    /// All targets together.
    pub total: Total,
    /// For each rate, the memory that rides out every pause that was seen; after a target has
    /// failed, for those that remained.
    pub buffer_curve: Vec<BufferPoint>,
    /// The rate at which one may record, if the run shows one.
    pub recommendation: Option<Recommendation>,
    /// Whether writing data that is new for each write, as a recorder's is, is as fast; null if
    /// that was not tried.
    #[serde(default)]
    pub rewritten: Option<Rewritten>,
    /// What the targets give while what was written is read back; null without `--read-back`, if
    /// the user ended it before, if something failed, and if the run wrote less than a record.
    #[serde(default)]
    pub read_back: Option<ReadBack>,
    /// Requests that failed after the run itself, while other data was tried, something was read
    /// back or a rate was confirmed: nothing is recommended then. Empty if none did.
    #[serde(default)]
    pub later_failures: Vec<LaterFailure>,
    /// The longest stretches without a completion, longest first, 64 at most.
    pub stalls: Vec<Stall>,
    /// How many such stretches there were on all targets, listed or not; null in documents of
    /// earlier versions.
    #[serde(default)]
    pub stalls_seen: Option<u64>,
    /// Stretches of a second or more in which all targets together were much slower than usual, the
    /// deepest first; empty in documents of earlier versions.
    #[serde(default)]
    pub dips: Vec<Dip>,
    /// What the figures mean where a threshold decides it. Null in documents of earlier versions:
    /// who shows one decides it by the same rules, from the figures.
    #[serde(default)]
    pub verdicts: Option<MeasureVerdicts>,
    /// What the monitor saw of the machine before, during and after the run.
    pub system: System,
    /// What the load does to the rest of the system; null without `--effect`.
    #[serde(default)]
    pub effect: Option<EffectResult>,
    /// Whether the user ended it: the run itself, or the phases that would have followed.
    #[serde(default)]
    pub interrupted: bool,
    /// Notes that a reader needs in order to read the figures right.
    pub notes: Vec<String>,
}

impl MeasureResult {
    /// The longest stall of the run or of a paced run, of a single target or of all.
    #[must_use]
    pub fn longest_stall_ns(&self) -> u64 {
        let found = self.recommendation.iter();
        let attempts = found.flat_map(|found| &found.attempts);
        let of_paced = attempts.map(|attempt| attempt.worst_stall_ns);
        let of_run = self.stalls.iter().map(|stall| stall.duration_ns);
        let longest_ns = of_run.chain(of_paced).max().unwrap_or(0);
        longest_ns.max(self.total.worst_stall_ns)
    }

    /// How many stalls there were, as far as the document says.
    #[must_use]
    pub fn stalls_in_all(&self) -> u64 {
        let listed = self.stalls.len() as u64;
        self.stalls_seen.unwrap_or(listed).max(listed)
    }

    /// The time for which the source of a paced run went on. Requests that were in flight at its
    /// end completed later, or had come before.
    #[must_use]
    pub fn source_seconds(&self) -> f64 {
        let mut targets = self.targets.iter();
        let ended_by_time = targets.all(|target| target.ended == Ending::Time);
        let time_s = self.plan.time_s.filter(|_| ended_by_time);
        time_s.unwrap_or(self.total.seconds)
    }
}

/// The request, and the values that were used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Version of the tool that made the run.
    pub sustain_version: String,
    /// The arguments as typed, to repeat the run.
    pub arguments: Vec<String>,
    /// Start of the run, UTC, RFC 3339. Simulated runs have none.
    pub started: Option<String>,
    /// The targets as typed.
    pub targets: Vec<String>,
    /// Whether it wrote or read.
    pub direction: Direction,
    /// The engine asked for.
    pub engine: EngineChoice,
    /// The engine that did the work.
    pub engine_used: String,
    /// Why this engine, with its registration and, for `auto`, what refused the better ones.
    pub engine_why: String,
    /// Drivers used; each is one thread with one engine.
    pub threads: u32,
    /// Bytes per request.
    pub record_size_bytes: u64,
    /// Requests kept in flight per target.
    pub depth: u32,
    /// The I/O path through the kernel.
    pub path: DataPath,
    /// How the targets were used together.
    pub layout: LayoutKind,
    /// The names of the targets in the order in which they were used; none with layout
    /// `independent`, where there is no order.
    pub order: Option<Vec<String>>,
    /// The stripe's chunk; only with layout `stripe`.
    pub chunk_bytes: Option<u64>,
    /// The bound in time.
    pub time_s: Option<f64>,
    /// The bound in bytes per target.
    pub bytes: Option<u64>,
    /// Whether the run ended once steady.
    pub until_steady: bool,
    /// The part of each target that is used; the run wraps in it.
    pub size_bytes: Option<u64>,
    /// The rate asked to hold, over all targets.
    pub rate_bytes_per_s: Option<f64>,
    /// The buffer of the recorder that the answer is for.
    pub buffer_bytes: u64,
    /// Length of an interval in time, if intervals go by time.
    pub interval_s: Option<f64>,
    /// Length of an interval in bytes, if intervals go by bytes.
    pub interval_bytes: Option<u64>,
    /// The kind of data; for written data only.
    pub data: DataKind,
    /// Where on each target the run began, if not at its start: `50 %` or `100 GB`.
    #[serde(default)]
    pub at: Option<String>,
    /// The profile whose position effect was removed from the verdicts.
    #[serde(default)]
    pub profile: Option<String>,
    /// Seed of the data and of simulated machines.
    pub seed: u64,
    /// Whether time was simulated.
    pub simulated: bool,
}

/// What one target did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetResult {
    /// The name as typed; for a simulated disk, the disk's name.
    pub name: String,
    /// Its kind.
    pub kind: TargetKind,
    /// Size of the target, if it has one.
    pub capacity_bytes: Option<u64>,
    /// Bytes transferred.
    pub bytes: u64,
    /// From the common start to this target's last completion (and closing flush, if buffered).
    pub seconds: f64,
    /// `bytes / seconds`.
    pub rate_bytes_per_s: f64,
    /// How often its region was begun; 1 for a run that never wrapped.
    pub laps: u64,
    /// Bytes of distinct positions that were touched.
    pub distinct_bytes: u64,
    /// The most requests that were in flight at once.
    pub depth_reached: u32,
    /// Whether a file's blocks had been written before; null for what is no file.
    pub extents: Option<Extents>,
    /// The rate once steady.
    pub sustained: Sustained,
    /// The faster beginning before it.
    pub burst: Option<Burst>,
    /// Latency of a request, from its submission; when paced, from its intended start.
    pub latency_ns: Latency,
    /// Latency histogram in ascending order; only bins that hold something.
    pub latency_histogram: Vec<LatencyBin>,
    /// The longest time without a completion while requests were in flight, exact, whether it is
    /// long enough to be listed in `stalls` or not. Null in documents of earlier versions.
    #[serde(default)]
    pub worst_stall_ns: Option<u64>,
    /// The series, thinned past 10,000 entries by joining neighbours.
    pub intervals: Vec<Interval>,
    /// How long the flush after a run of direct I/O took; it is in none of the figures above. Null
    /// if there was none.
    #[serde(default)]
    pub flush_seconds: Option<f64>,
    /// Requests that failed.
    pub errors: Vec<TargetError>,
    /// Why it ended.
    pub ended: Ending,
}

closed_set! {
    /// Whether the blocks of a file had been written before the run.
    pub enum Extents {
        /// They had.
        Written,
        /// They were allocated only, so that the file system has to mark each as written.
        Unwritten,
    }
}

/// Percentiles and the exact maximum of a latency.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// The longest, exact.
    pub max: u64,
    /// When the longest one ended.
    pub max_at_s: f64,
    /// Offset of the longest one.
    pub max_at_offset_bytes: u64,
}

/// One bin of a latency histogram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBin {
    /// Lower end.
    pub from_ns: u64,
    /// Upper end, included.
    pub to_ns: u64,
    /// Requests in it.
    pub count: u64,
}

/// Completions summed over a stretch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Start.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
    /// Bytes completed in it.
    pub bytes: u64,
    /// Rate in it.
    pub rate_bytes_per_s: f64,
    /// All bytes so far over all seconds so far.
    pub average_bytes_per_s: f64,
    /// Longest latency in it.
    pub latency_max_ns: u64,
    /// The lowest and the highest rate of the shorter intervals that it was joined from; absent if
    /// it was not joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_range_bytes_per_s: Option<[f64; 2]>,
}

/// A request that failed, and how many like it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetError {
    /// When, from the start of the run.
    pub at_s: f64,
    /// What was asked of the target.
    pub operation: Operation,
    /// Offset of the request.
    pub offset_bytes: u64,
    /// What happened and what to do next, in words.
    pub message: String,
    /// Error number of the kernel, if there is one.
    pub errno: Option<i32>,
}

/// A request that failed after the run itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaterFailure {
    /// The target.
    pub target: String,
    /// The rate of the paced run in which it failed; null if that run was not paced.
    pub paced_bytes_per_s: Option<f64>,
    /// Whether something was read back meanwhile; other runs that are not paced try other data.
    #[serde(default)]
    pub while_reading_back: bool,
    /// The error; its time counts from the start of the paced run or of the trial.
    pub error: TargetError,
}

/// All targets together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Total {
    /// Bytes of all targets.
    pub bytes: u64,
    /// From the start to the last completion of all.
    pub seconds: f64,
    /// Rate while every target was active and, after one has failed, while all remaining ones were;
    /// null if there was no such window, and for buffered writing.
    pub all_active_bytes_per_s: Option<f64>,
    /// Sum of the targets' own rates.
    pub sum_bytes_per_s: f64,
    /// All bytes over the wall clock.
    pub wall_clock_bytes_per_s: f64,
    /// The steady rate of the sum, judged on that window.
    pub sustained: Sustained,
    /// A faster beginning of the sum.
    pub burst: Option<Burst>,
    /// The sum's series.
    pub intervals: Vec<Interval>,
    /// CPU of this process, user and system, over bytes / 10^9; null when simulated.
    pub cpu_seconds_per_gb: Option<f64>,
    /// Longest time without any completion on any target.
    pub worst_stall_ns: u64,
    /// When that began.
    pub worst_stall_at_s: f64,
    /// For a buffered run, the longest flush inside the time, between laps or at the end. Its
    /// target was given nothing during that time, which is not counted as a stall. Null if there
    /// was none.
    #[serde(default)]
    pub longest_flush_ns: Option<u64>,
    /// Whether this program, not the targets, limited the rate.
    pub tool_limited: bool,
    /// Whether `--rate` was held; null without it, and if this run cannot tell.
    pub rate_held: Option<bool>,
    /// Why this run cannot tell whether `--rate` holds, and what to do instead; null if it can.
    #[serde(default)]
    pub rate_undecided: Option<String>,
    /// With `--rate`: the largest backlog.
    pub backlog_max_bytes: Option<u64>,
}

/// A stretch without a completion although requests were in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// The target.
    pub target: String,
    /// When it began.
    pub start_s: f64,
    /// How long it was.
    pub duration_ns: u64,
    /// Offset of the request that ended it.
    pub offset_bytes: u64,
    /// Other targets that stalled at the same moment, be it by a shared cause or by chance.
    pub shared_with: Vec<String>,
    /// Whether more of these stalls meet than chance explains, so that they have a cause in common.
    #[serde(default)]
    pub is_common_cause: bool,
}
