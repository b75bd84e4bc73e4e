//! What a recording has come to: the one document that leaves it. Units are in the names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sustain_session::System;

/// The schema that [`RecordResult`] says it is of.
pub const SCHEMA: &str = "sustain.record/1";

/// Of a recording of less payload nothing is said of what held it: so much is in flight on two
/// members at once, so beginning and ending took the time.
pub const LIMITS_FROM_BYTES: u64 = 16 << 20;

/// A recording, over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordResult {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// The recording's number in it.
    pub recording: u32,
    /// `source`, `time`, `bytes`, `full`, `signal` or `error`.
    pub ended: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// How long it took, to the last flush.
    pub seconds: f64,
    /// How the members were driven.
    pub engine: String,
    /// What was set.
    pub plan: PlanResult,
    /// The machine it was made on.
    pub host: HostResult,
    /// Its streams.
    pub streams: Vec<StreamResult>,
    /// The store's members.
    pub members: Vec<MemberResult>,
    /// All members together.
    pub total: TotalResult,
    /// The memory that rides out the pauses of the members, by rate.
    pub buffer_curve: Vec<BufferPointResult>,
    /// How it stood, in even steps of time.
    pub samples: Vec<SampleResult>,
    /// The machine beside it.
    pub system: System,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// What was set for a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanResult {
    /// Version of the tool that recorded.
    pub sustain_version: String,
    /// The arguments as typed, to record so again.
    pub arguments: Vec<String>,
    /// The bound in time.
    pub time_s: Option<f64>,
    /// The bound in bytes per stream.
    pub bytes: Option<u64>,
    /// Memory between sources and members.
    pub buffer_bytes: u64,
    /// Bytes per append at most: never more than a slot of the store.
    pub append_bytes: u32,
    /// Appends in flight on one member.
    pub depth: u32,
    /// `block` or `drop`.
    pub on_full: String,
    /// Whether the oldest data is overwritten.
    pub ring: bool,
    /// Whether every write is durable.
    pub durable_each: bool,
    /// What is older than this is made durable.
    pub durable_interval_s: f64,
}

/// The machine of a recording.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostResult {
    /// Kernel release, CPU, memory.
    pub description: Option<sustain_host::Description>,
    /// The block devices under the members.
    pub devices: Vec<sustain_host::BlockDevice>,
    /// The file systems under members that are files, by member name.
    pub file_systems: Vec<MemberFileSystem>,
}

/// Which file system a member lies on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberFileSystem {
    /// The member's name.
    pub member: String,
    /// What is known of its file system.
    pub file_system: sustain_host::FileSystem,
}

/// A stream of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamResult {
    /// Its name.
    pub name: String,
    /// Its source, as typed.
    pub source: String,
    /// How frames are told apart.
    pub framing: String,
    /// What the source offered: always the sum of the next two.
    pub offered_bytes: u64,
    /// What is on members.
    pub recorded_bytes: u64,
    /// What was lost before them.
    pub gap_bytes: u64,
    /// Of `recorded_bytes`, what is on the medium for good, without the `lost_bytes` of members.
    pub durable_bytes: u64,
    /// Below this offset every byte is on the medium for good, or is accounted for there as lost: less
    /// than `offered_bytes` where not even the account could be written. 0 in results of before.
    #[serde(default)]
    pub settled_bytes: u64,
    /// Frames begun.
    pub frames: u64,
    /// Of appends, from being handed over to the write's completion.
    pub written_latency_ns: LatencyResult,
    /// Of appends, from the arrival of the first byte to durability.
    pub durable_latency_ns: LatencyResult,
    /// Its histogram, in ascending order; only bins that hold something.
    pub written_latency_histogram: Vec<LatencyBinResult>,
    /// Likewise.
    pub durable_latency_histogram: Vec<LatencyBinResult>,
}

/// One bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBinResult {
    /// Lower end.
    pub from_ns: u64,
    /// Upper end, included.
    pub to_ns: u64,
    /// Appends in it.
    pub count: u64,
}

/// Percentiles, in nanoseconds.
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
    /// When that was, in seconds from the start.
    pub max_at_s: f64,
}

/// A member of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberResult {
    /// As typed.
    pub name: String,
    /// Payload of streams on it.
    pub bytes: u64,
    /// All that was written on it.
    pub written_bytes: u64,
    /// Its share of all payload.
    pub share: f64,
    /// Its rate from its first to its last write.
    pub rate_bytes_per_s: f64,
    /// `active`, `slow`, `full`, `failed` or `closed`.
    pub state: String,
    /// Why it failed.
    pub error: Option<String>,
    /// Payload of it that was durable and is gone with it, at most: its file was deleted or cut off.
    #[serde(default)]
    pub lost_bytes: u64,
    /// Requests in flight at most.
    pub depth_reached: u32,
    /// From submission to completion.
    pub latency_ns: LatencyResult,
    /// The longest time with work and without a completion.
    pub worst_stall_ns: u64,
}

/// All members together, as a measurement has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TotalResult {
    /// Sum of the members' rates.
    pub sum_bytes_per_s: f64,
    /// All bytes over the time from start to end.
    pub wall_clock_bytes_per_s: f64,
    /// The same: all members are active to the end.
    pub all_active_bytes_per_s: f64,
    /// CPU time of this process per 10^9 bytes.
    pub cpu_seconds_per_gb: f64,
    /// CPU time of this process in all, from opening the store to closing it; 0 in results of before.
    #[serde(default)]
    pub cpu_seconds: f64,
    /// The longest stall of any member.
    pub worst_stall_ns: u64,
    /// Whether the recorder's own thread was the limit; of a recording of some MB it is not said.
    pub tool_limited: bool,
    /// Whether nothing was lost.
    pub rate_held: bool,
}

/// A point of the buffer curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BufferPointResult {
    /// A stream's rate.
    pub rate_bytes_per_s: f64,
    /// The memory it needs.
    pub buffer_bytes: f64,
}

/// How a recording stood at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleResult {
    /// From the start.
    pub time_s: f64,
    /// Share of the buffer that waited for members: the most seen since the sample before.
    pub buffer_fill: f64,
    /// Per stream: offered so far.
    pub offered_bytes: Vec<u64>,
    /// Per stream: on the medium for good so far, without what was lost.
    pub durable_bytes: Vec<u64>,
    /// Per stream: lost so far.
    pub gap_bytes: Vec<u64>,
    /// Per member: payload written so far.
    pub member_bytes: Vec<u64>,
    /// What held it.
    pub limited_by: String,
}
