//! The versioned result document of a comparison: what was compared, what differs row by row, and
//! the answer.
//!
//! `compare` and `trial` fill it, the reports draw it, and `--json` writes it. Ratios are B over A;
//! each row names its unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::system::System;
use crate::vocabulary::TargetKind;

/// The `schema` of a [`CompareResult`] as this version writes it.
pub const COMPARE_SCHEMA: &str = "sustain.compare/1";

/// What `sustain compare` was asked, and whether B differs from A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareResult {
    /// Always `sustain.compare/1`; a reader refuses what it does not know.
    pub schema: String,
    /// The request.
    pub plan: ComparePlanUsed,
    /// The run that B is compared with.
    pub a: ComparedSide,
    /// The run that is compared with A.
    pub b: ComparedSide,
    /// The answer in short.
    pub answer: CompareAnswer,
    /// Every quantity that was compared: all targets together first, then each.
    pub rows: Vec<ComparedRow>,
    /// The outcome of `--fail-if-slower`; null without it.
    pub limit: Option<CompareLimit>,
    /// The runs of `--ab`; null where saved runs were compared.
    pub trial: Option<CompareTrial>,
    /// Notes that a reader needs in order to read the figures right.
    pub notes: Vec<String>,
}

/// The request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparePlanUsed {
    /// Version of the tool that compared.
    pub sustain_version: String,
    /// The arguments as typed, to repeat the comparison.
    pub arguments: Vec<String>,
    /// The part by which B may be slower.
    pub fail_if_slower: Option<f64>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSide {
    /// The file, or the flags, as typed.
    pub label: String,
    /// The work in words: `write /dev/sdb`.
    pub words: String,
    /// Start, UTC, RFC 3339. Simulated runs have none.
    pub started: Option<String>,
    /// Version of the tool that made it.
    pub sustain_version: String,
    /// Kernel of the machine.
    pub kernel: Option<String>,
    /// The engine that did the work.
    pub engine: String,
    /// How long it was measured.
    pub seconds: f64,
    /// What was measured; empty in documents of earlier versions.
    #[serde(default)]
    pub targets: Vec<ComparedTarget>,
}

/// A target of one of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedTarget {
    /// The name as typed; for a simulated disk, the disk's name.
    pub name: String,
    /// Its kind.
    pub kind: TargetKind,
    /// Where it lies, if A and B were measured in turn and have targets of their own; of a file,
    /// where its file system lies. Null where that is not known.
    pub place: Option<PlaceOnDisk>,
}

/// A stretch of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceOnDisk {
    /// Kernel name of the disk.
    pub disk: String,
    /// Its first byte.
    pub from_bytes: u64,
    /// The byte after its last one.
    pub to_bytes: u64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareAnswer {
    /// The row that it rests on, in `rows`.
    pub row: usize,
    /// That row's verdict.
    pub verdict: RowVerdict,
    /// Targets that are slower by themselves.
    pub slower_targets: Vec<String>,
    /// Targets that are faster by themselves.
    pub faster_targets: Vec<String>,
}

/// One quantity in A and in B.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRow {
    /// The target, as A has it; null for all together.
    pub target: Option<String>,
    /// What is compared.
    pub metric: Metric,
    /// The unit of its values.
    pub unit: MetricUnit,
    /// Its value in A.
    pub a: f64,
    /// Its value in B.
    pub b: f64,
    /// B over A; null if A is zero.
    pub ratio: Option<f64>,
    /// The 95 % confidence interval of the ratio; null where none can be given.
    pub ci95_ratio: Option<[f64; 2]>,
    /// Whether B is slower or faster than A. Of times and costs, more is slower.
    pub verdict: RowVerdict,
    /// The part by which B could have been below A and be seen four times of five.
    pub resolution: Option<f64>,
    /// The origin of the figures, or the reason why they have no interval.
    pub how: String,
}

/// The outcome of `--fail-if-slower`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareLimit {
    /// The part by which B may be slower.
    pub slower_by_max: f64,
    /// Whether B keeps to it.
    pub outcome: LimitOutcome,
    /// The names of what is slower than allowed: targets, or `together`.
    pub slower: Vec<String>,
    /// The reason in words, target by target.
    pub why: Vec<String>,
}

/// Two settings measured in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareTrial {
    /// The machine.
    pub host: Host,
    /// The targets as typed.
    pub targets: Vec<String>,
    /// Whether both settings are the same, so that every difference is noise.
    pub is_same_setting: bool,
    /// How long a run was.
    pub time_per_run_s: f64,
    /// How long all was allowed to take.
    pub time_s: f64,
    /// How long it took, from the first run to the last.
    pub elapsed_s: f64,
    /// Differences below this part need no further runs.
    pub alike: f64,
    /// Every run, in the order of time.
    pub runs: Vec<TrialRun>,
    /// Why it ended.
    pub ended: TrialEnd,
    /// The failure, if there was one.
    pub failed: Option<String>,
    /// The part of each target that is used.
    pub size_bytes: Option<u64>,
    /// Seed of the data and of simulated machines.
    pub seed: u64,
    /// Whether time was simulated.
    pub simulated: bool,
    /// What the monitor saw of the machine.
    pub system: System,
}

/// One run of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRun {
    /// The side.
    pub side: Side,
    /// When it began.
    pub at_s: f64,
    /// Its rate over all targets.
    pub rate_bytes_per_s: f64,
    /// CPU of this process over bytes / 10^9; null when simulated.
    pub cpu_seconds_per_gb: Option<f64>,
    /// The latency that 999 of 1000 requests stayed within.
    pub latency_p99_9_ns: u64,
    /// The longest request.
    pub latency_max_ns: u64,
}

closed_set! {
    /// What a row compares.
    pub enum Metric {
        /// The rate once steady.
        SustainedRate,
        /// The rate of the whole run.
        Rate,
        /// The usual longest latency of an interval.
        LatencyTypicalMax,
        /// The median latency.
        LatencyP50,
        /// The 99th percentile of the latency.
        LatencyP99,
        /// The 99.9th percentile of the latency.
        #[serde(rename = "latency_p99_9")]
        #[strum(serialize = "latency_p99_9")]
        LatencyP99_9,
        /// The longest latency.
        LatencyMax,
        /// CPU time for 10^9 bytes.
        CpuPerGb,
    }
}

closed_set! {
    /// The unit of a row's values.
    pub enum MetricUnit {
        /// Bytes per second.
        #[serde(rename = "bytes/s")]
        #[strum(serialize = "bytes/s")]
        BytesPerS,
        /// Nanoseconds.
        #[serde(rename = "ns")]
        #[strum(serialize = "ns")]
        Ns,
        /// Seconds for 10^9 bytes.
        #[serde(rename = "s/GB")]
        #[strum(serialize = "s/GB")]
        SecondsPerGb,
    }
}

closed_set! {
    /// What a row shows.
    pub enum RowVerdict {
        /// B is slower than A.
        Slower,
        /// B is faster than A.
        Faster,
        /// The interval includes no difference.
        NoDifferenceShown,
        /// There is no interval.
        NotJudged,
    }
}

closed_set! {
    /// Whether a limit to how much slower B may be was kept.
    pub enum LimitOutcome {
        /// It was kept.
        Held,
        /// B is slower than allowed.
        Slower,
        /// The interval includes the limit.
        CannotBeTold,
        /// Requests of B failed, and A's did not.
        Failed,
    }
}

closed_set! {
    /// Why a trial ended.
    pub enum TrialEnd {
        /// A difference was shown.
        Shown,
        /// The two were shown to be alike.
        Alike,
        /// Its time was over.
        Time,
        /// The user ended it.
        Interrupted,
        /// A run failed.
        Failed,
    }
}

closed_set! {
    /// A side of a comparison.
    pub enum Side {
        /// The first.
        A,
        /// The second.
        B,
    }
}
