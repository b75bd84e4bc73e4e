//! The versioned result document of a sweep: what was asked, the machine, what was measured, and
//! the answer.
//!
//! The run fills it after each point, the reports draw it, and `--json` writes it. All rates are
//! bytes per second; points are named by their `number`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::system::System;
use crate::vocabulary::{DataPath, Direction, EngineChoice, ExperimentEnd, LayoutKind};

/// The `schema` of a [`SweepResult`] as this version writes it.
pub const SWEEP_SCHEMA: &str = "sustain.sweep/1";

/// What `sustain sweep` was asked, what it measured, and which setting is best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepResult {
    /// Always `sustain.sweep/1`; a reader refuses what it does not know.
    pub schema: String,
    /// The request, and how it was carried out.
    pub plan: SweepPlanUsed,
    /// The machine.
    pub host: Host,
    /// Per direction, writing first, the best setting.
    pub answers: Vec<SweepAnswer>,
    /// Every setting that is possible, measured or not.
    pub points: Vec<SweepPoint>,
    /// Settings that could not be measured, by reason.
    pub left_out: Vec<LeftOutSettings>,
    /// Every measurement, in the order of time.
    pub measurements: Vec<SweepMeasurement>,
    /// The changes of the rates from round to round, whatever the setting; per direction.
    pub drift: Vec<SweepDrift>,
    /// Notes that a reader needs in order to read the figures right.
    pub notes: Vec<String>,
    /// Why it ended.
    pub ended: ExperimentEnd,
    /// What the monitor saw of the machine; empty in a document that was saved before the end.
    pub system: System,
}

/// The request, and the values that were used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPlanUsed {
    /// Version of the tool that made the run.
    pub sustain_version: String,
    /// The arguments as typed, to repeat the run.
    pub arguments: Vec<String>,
    /// Start, UTC, RFC 3339. Simulated runs have none.
    pub started: Option<String>,
    /// The targets as typed.
    pub targets: Vec<String>,
    /// The targets by name, simulated disks one by one.
    pub target_names: Vec<String>,
    /// The axes that have more than one value among the points.
    pub axes: Vec<Axis>,
    /// How long a point was measured each time.
    pub time_per_point_s: f64,
    /// How often each point was to be measured.
    pub rounds: u32,
    /// How long the whole sweep was allowed to take.
    pub budget_s: Option<f64>,
    /// How long all measuring took, from the first point to the last.
    pub elapsed_s: f64,
    /// Drivers used; each is one thread with one engine.
    pub threads: u32,
    /// The part of each target that is used.
    pub size_bytes: Option<u64>,
    /// Seed of the data, of simulated machines and of the order of the points.
    pub seed: u64,
    /// Whether time was simulated.
    pub simulated: bool,
}

/// The answer for one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepAnswer {
    /// Whether it wrote or read.
    pub direction: Direction,
    /// The best point: the fastest, or the simplest of those that cannot be told from the fastest
    /// and that are within 1 % of it.
    pub best: usize,
    /// Points whose difference to it the noise explains.
    pub alike: Vec<usize>,
    /// Points that nothing tells from it, since nothing is known of their noise: they were
    /// measured once, as was all that is like them, or their few readings are so far apart that it
    /// says nothing.
    #[serde(default)]
    pub measured_once: Vec<usize>,
    /// Of the points within 2 % of the best: the one of the least depth, and of several, the one
    /// with the least CPU time.
    pub cheapest: usize,
    /// The effect of each axis that has more than one value.
    pub axes: Vec<SweepAxis>,
}

/// The effect of an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepAxis {
    /// The axis.
    pub axis: Axis,
    /// Whether some value is slower than the best by more than the noise explains.
    pub matters: bool,
    /// Each value, with the fastest point that has it.
    pub values: Vec<SweepValue>,
}

/// A value of an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepValue {
    /// The value in words.
    pub value: String,
    /// The fastest point that has it.
    pub point: usize,
    /// How that compares with the best of all.
    pub against_best: AgainstBest,
}

/// A point's rate against the best one's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstBest {
    /// Their ratio, less one: -0.05 means 5 % slower.
    pub share: f64,
    /// The 95 % interval of that, which holds for all comparisons of the sweep at once: it includes
    /// 0 exactly where `is_noise` is true. Null if nothing is known of the noise.
    pub ci95: Option<[f64; 2]>,
    /// Whether the noise explains it: then it is no difference. Also true if nothing is known of
    /// the noise (`ci95` is null), because anything may then be noise.
    pub is_noise: bool,
    /// Whether it comes so near to the best, within 2 %, that it is as good in use. Null in
    /// documents of earlier versions: who shows one decides it from `share`.
    #[serde(default)]
    pub is_as_good: Option<bool>,
}

/// A setting, and its rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPoint {
    /// Its number, from 0.
    pub number: usize,
    /// The setting.
    pub setting: SweepSetting,
    /// How often it was measured.
    pub repeats: usize,
    /// Its rate over all targets, under the mean conditions of all rounds; null if not measured.
    pub rate_bytes_per_s: Option<f64>,
    /// The 95 % interval of that; null if nothing is known of the noise.
    pub ci95_bytes_per_s: Option<[f64; 2]>,
    /// Standard deviation of its readings as a part of its rate, with the effects of the rounds
    /// removed.
    pub spread: Option<f64>,
    /// How it compares with the best of its direction.
    pub against_best: Option<AgainstBest>,
    /// CPU of this process, user and system, over bytes / 10^9; null when simulated.
    pub cpu_seconds_per_gb: Option<f64>,
    /// 999 of 1000 requests of all repeats stayed within this.
    pub latency_p99_9_ns: Option<u64>,
    /// The longest request of all repeats.
    pub latency_max_ns: Option<u64>,
    /// Whether a driver of this program had no CPU time left in some repeat.
    pub tool_limited: bool,
    /// How long the longest flush after it took, if volatile caches had taken part of what it
    /// wrote: its rate is then no more than that with the flush. Null otherwise.
    #[serde(default)]
    pub cache_flush_s: Option<f64>,
    /// The engine that did the work.
    pub engine_used: Option<String>,
    /// The failure that ended the measuring of this point, if a target failed in it.
    pub failed: Option<String>,
}

/// One way to use the targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepSetting {
    /// Whether it wrote or read.
    pub direction: Direction,
    /// The engine asked for.
    pub engine: EngineChoice,
    /// The I/O path through the kernel.
    pub path: DataPath,
    /// How the targets are used together.
    pub layout: LayoutKind,
    /// The chunk; only with layouts `stripe` and `md-raid0`.
    pub chunk_bytes: Option<u64>,
    /// The targets in the order in which they are used.
    pub order: Vec<String>,
    /// Bytes per request.
    pub record_size_bytes: u64,
    /// Requests kept in flight per target; on an array, this many for each of its members.
    pub depth: u32,
    /// The properties that differ between the points, in words.
    pub words: String,
}

/// Settings that could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutSettings {
    /// The reason.
    pub why: String,
    /// The number of settings.
    pub count: usize,
    /// The first of them.
    pub first: SweepSetting,
    /// How to measure them, if only the points were too short for them.
    #[serde(default)]
    pub longer: Option<LongerPoints>,
}

/// What it takes to measure settings of which too few requests would end within one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongerPoints {
    /// The time per point with which none of them is left out.
    pub time_per_point_s: f64,
    /// What no measured setting has, axis by axis, such as `layout independent, stripe`.
    pub unmeasured: Vec<String>,
}

/// One measurement of one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepMeasurement {
    /// Its point.
    pub point: usize,
    /// Its round, from 0.
    pub round: usize,
    /// When it began, counted from the first.
    pub at_s: f64,
    /// Its rate.
    pub rate_bytes_per_s: f64,
    /// CPU of this process, user and system, over bytes / 10^9; null when simulated.
    pub cpu_seconds_per_gb: Option<f64>,
    /// 999 of 1000 of its requests stayed within this.
    pub latency_p99_9_ns: u64,
}

/// The effects that all points of a direction share in a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepDrift {
    /// Whether it wrote or read.
    pub direction: Direction,
    /// The fastest round over the slowest, less one; it is removed from the rates.
    pub share: f64,
    /// Whether the noise explains it.
    pub is_noise: bool,
}

closed_set! {
    /// An axis of a sweep.
    pub enum Axis {
        /// Write or read.
        Direction,
        /// The target, where each point uses one of several that are places on one disk.
        Place,
        /// How requests are issued.
        Engine,
        /// Direct, buffered or passthrough I/O.
        Path,
        /// How several targets are used.
        Layout,
        /// A stripe's chunk.
        Chunk,
        /// The order of the targets.
        Order,
        /// Bytes per request.
        RecordSize,
        /// Requests in flight per target.
        Depth,
    }
}
