//! The result of a recording: the one document that `sustain record` prints, writes as JSON and
//! draws. Names of fields end with their unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block_device::BlockDevice;
use crate::frames::{FramePaceResult, FramesResult};
use crate::host::{Description, FileSystem};
pub use crate::latency::{LatencyBinResult, LatencyResult};
use crate::share::ShareResult;
use crate::system::System;
use crate::vocabulary::DataPath;

/// The schema that a [`RecordResult`] names.
pub const RECORD_SCHEMA: &str = "sustain.record/1";

/// The result of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordResult {
    /// Always [`RECORD_SCHEMA`].
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// The recording's number in the store. Of several in one run it is the last one, and so is all
    /// that follows, apart from `before`.
    pub recording: u32,
    /// The recordings of this run before it, oldest first: each ended by a command where the next
    /// one began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<RecordingBefore>,
    /// Why it ended.
    pub ended: RecordingEnd,
    /// When it began, RFC 3339.
    pub started: String,
    /// How long it took, to the last flush.
    pub seconds: f64,
    /// The engine that drove the members.
    pub engine: String,
    /// The settings of the recording.
    pub plan: PlanResult,
    /// The machine that recorded.
    pub host: HostResult,
    /// Its streams.
    pub streams: Vec<StreamResult>,
    /// The marks that were set in it; null where none could be set.
    #[serde(default)]
    pub marks: Option<MarksResult>,
    /// The store's members.
    pub members: Vec<MemberResult>,
    /// All members together.
    pub total: TotalResult,
    /// The memory that rides out the pauses of the members, by rate.
    pub buffer_curve: Vec<BufferPointResult>,
    /// The state of the recording in even steps of time.
    pub samples: Vec<SampleResult>,
    /// What the figures mean where a threshold decides it. Null in documents of earlier versions:
    /// who shows one decides it by the same rules, from the figures.
    #[serde(default)]
    pub verdicts: Option<RecordVerdicts>,
    /// What the recorder took for itself beside other programs. Null in documents of earlier
    /// versions, which took nothing.
    #[serde(default)]
    pub share: Option<ShareResult>,
    /// What the monitor saw of the machine.
    pub system: System,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A recording that was ended by a command where the next one of the same run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingBefore {
    /// Its number in the store.
    pub recording: u32,
    /// Why it ended: `split`, unless it met an end of its own at the same moment.
    pub ended: RecordingEnd,
    /// When it began, RFC 3339.
    pub started: String,
    /// How long it took, to the last flush.
    pub seconds: f64,
    /// Its streams.
    pub streams: Vec<StreamBefore>,
    /// The marks that were set in it; null where none could be set.
    pub marks: Option<MarksResult>,
    /// Members that failed in it, with the reasons.
    pub errors: Vec<String>,
}

/// A stream of a [`RecordingBefore`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamBefore {
    /// Its name.
    pub name: String,
    /// Bytes that the source offered: always the sum of the next two.
    pub offered_bytes: u64,
    /// Bytes that were written to members.
    pub recorded_bytes: u64,
    /// Bytes that were lost before they reached a member.
    pub gap_bytes: u64,
    /// Of `recorded_bytes`, what is on the medium for good.
    pub durable_bytes: u64,
    /// Frames begun.
    pub frames: u64,
    /// What is missing and late against the declared rate; null where none was declared.
    #[serde(default)]
    pub pace: Option<FramePaceResult>,
}

/// The verdicts on a recording.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecordVerdicts {
    /// For what data waited longest, if that was a part of the time that is worth a word; null if
    /// the sources were the limit, or if so little was recorded that nothing can be told.
    pub waited_for: Option<WaitedFor>,
    /// Whether enough was recorded for the CPU time per GB to mean anything.
    pub is_cpu_per_gb_known: bool,
}

/// What data waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitedFor {
    /// `members`, or the name of a member that was much slower than the others.
    pub by: LimitedBy,
    /// The part of the time.
    pub share: f64,
}

/// The settings of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanResult {
    /// Version of the tool that recorded.
    pub sustain_version: String,
    /// The arguments as typed, to record in the same way again.
    pub arguments: Vec<String>,
    /// The time after which the recording was to end.
    pub time_s: Option<f64>,
    /// The bytes after which each stream was to end.
    pub bytes: Option<u64>,
    /// Memory between sources and members.
    pub buffer_bytes: u64,
    /// Most bytes of one append: never more than a slot of the store.
    pub append_bytes: u32,
    /// How many members may be lost without loss of data that is protected; 0 without parity, and
    /// in older results.
    #[serde(default)]
    pub parity: u16,
    /// Whether each frame began an append, and so a block of its member. False in older results.
    #[serde(default)]
    pub align_frames: bool,
    /// Appends in flight on one member.
    pub depth: u32,
    /// The I/O path that was taken to the members; null in older results.
    #[serde(default)]
    pub path: Option<DataPath>,
    /// What happens to data that comes while the buffer is full.
    pub on_full: OnFull,
    /// Whether the oldest data is overwritten.
    pub ring: bool,
    /// Whether every write is durable.
    pub durable_each: bool,
    /// The maximum age of data that is not yet durable.
    pub durable_interval_s: f64,
}

/// The machine of a recording.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostResult {
    /// Kernel release, CPU, memory.
    pub description: Option<Description>,
    /// The block devices under the members.
    pub devices: Vec<BlockDevice>,
    /// The file systems under members that are files, by member name.
    pub file_systems: Vec<MemberFileSystem>,
}

/// The file system of a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberFileSystem {
    /// The member's name.
    pub member: String,
    /// Facts about its file system.
    pub file_system: FileSystem,
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
    /// Bytes that the source offered: always the sum of the next two.
    pub offered_bytes: u64,
    /// Bytes that were written to members.
    pub recorded_bytes: u64,
    /// Bytes that were lost before they reached a member.
    pub gap_bytes: u64,
    /// Of `recorded_bytes`, what is on the medium for good, without the `lost_bytes` of members.
    pub durable_bytes: u64,
    /// The watermark: below this offset every byte is durable, or is a gap whose account is
    /// durable. It is less than `offered_bytes` where not even the account could be written. 0 in
    /// older results.
    #[serde(default)]
    pub settled_bytes: u64,
    /// With parity, the bytes of `durable_bytes` that can be read although as many members are gone
    /// as each group of appends has parity, those included that have failed meanwhile; null without
    /// parity.
    #[serde(default)]
    pub protected_bytes: Option<u64>,
    /// With parity, the watermark of that: below this offset every byte is protected so, or is a
    /// gap whose account is durable.
    #[serde(default)]
    pub protected_settled_bytes: Option<u64>,
    /// Frames begun.
    pub frames: u64,
    /// Latency of appends from handing them over to the completion of the write.
    pub written_latency_ns: LatencyResult,
    /// Latency of appends from the arrival of their first byte until they are durable.
    pub durable_latency_ns: LatencyResult,
    /// Histogram of `written_latency_ns`, in ascending order, without empty bins.
    pub written_latency_histogram: Vec<LatencyBinResult>,
    /// Histogram of `durable_latency_ns`, in ascending order, without empty bins.
    pub durable_latency_histogram: Vec<LatencyBinResult>,
    /// What its frames were like; null for a stream without frames, and in older results.
    #[serde(default)]
    pub frame_figures: Option<FramesResult>,
}

/// The marks that were set in a recording. They are a stream of the recorder's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MarksResult {
    /// Marks that were set.
    pub count: u64,
    /// Bytes of their stream: always the sum of the next two.
    pub offered_bytes: u64,
    /// Bytes that were written to members.
    pub recorded_bytes: u64,
    /// Bytes that were lost before they reached a member.
    pub gap_bytes: u64,
    /// Of `recorded_bytes`, what is on the medium for good.
    pub durable_bytes: u64,
}

/// A member of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberResult {
    /// The name as typed.
    pub name: String,
    /// Payload of streams on it.
    pub bytes: u64,
    /// All bytes that were written to it.
    pub written_bytes: u64,
    /// Its share of all payload.
    pub share: f64,
    /// Its rate from its first to its last write.
    pub rate_bytes_per_s: f64,
    /// Its state at the end.
    pub state: MemberState,
    /// Why it failed.
    pub error: Option<String>,
    /// Payload that was durable on it and was lost with its file, which was deleted or cut off; at
    /// most.
    #[serde(default)]
    pub lost_bytes: u64,
    /// Most requests that were in flight at once.
    pub depth_reached: u32,
    /// Latency of its requests from submission to completion.
    pub latency_ns: LatencyResult,
    /// The longest time without a completion while requests were in flight. If requests had not
    /// returned by the end, the time until the end counts as well.
    pub worst_stall_ns: u64,
    /// Whether no completion ended this time: requests had not returned by the end.
    #[serde(default)]
    pub is_worst_stall_unreturned: bool,
}

/// All members together, in the same terms as a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TotalResult {
    /// Sum of the members' rates.
    pub sum_bytes_per_s: f64,
    /// All bytes over the time from start to end.
    pub wall_clock_bytes_per_s: f64,
    /// The same figure, because all members are active to the end.
    pub all_active_bytes_per_s: f64,
    /// CPU time of this process per 10^9 bytes of the streams that were recorded: parity and
    /// descriptors are not among them.
    pub cpu_seconds_per_gb: f64,
    /// CPU time of this process in all, from opening the store to closing it; 0 in older results.
    #[serde(default)]
    pub cpu_seconds: f64,
    /// Bytes that were written beside payload: parity, descriptors, what fills up whole blocks
    /// behind the payload of each append, starts and end marks. What stays empty at the ends of
    /// slots was not written. 0 in older results.
    #[serde(default)]
    pub beside_payload_bytes: u64,
    /// The longest stall of any member.
    pub worst_stall_ns: u64,
    /// Whether its requests had not returned by the end.
    #[serde(default)]
    pub is_worst_stall_unreturned: bool,
    /// Whether the recorder's own thread was the limit. Never true for a recording of only some MB.
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

/// The state of a recording at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleResult {
    /// Seconds from the start.
    pub time_s: f64,
    /// Share of the buffer that waited for members: the largest since the sample before.
    pub buffer_fill: f64,
    /// Bytes offered so far, per stream.
    pub offered_bytes: Vec<u64>,
    /// Bytes durable so far, per stream, without what was lost.
    pub durable_bytes: Vec<u64>,
    /// Bytes lost so far, per stream.
    pub gap_bytes: Vec<u64>,
    /// With parity, bytes that it protects by now, per stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_bytes: Vec<u64>,
    /// Payload written so far, per member.
    pub member_bytes: Vec<u64>,
    /// The members that had failed by then, by their places in `members`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_members: Vec<usize>,
    /// What limited the recording.
    pub limited_by: LimitedBy,
}

closed_set! {
    /// Why a recording ended.
    pub enum RecordingEnd {
        /// Its sources had no more.
        Source,
        /// Its time was over.
        Time,
        /// All bytes asked for were recorded.
        Bytes,
        /// The store is full.
        Full,
        /// The user ended it.
        Signal,
        /// The user wished that its sources go on in the next recording.
        Split,
        /// It could not go on.
        Error,
        /// A crash or a kill ended it, and `recover` has written the end mark.
        Recovered,
        /// The end mark cannot be read, or names a reason that this version does not know.
        Unknown,
    }
}

closed_set! {
    /// What happens to data that comes while the buffer is full.
    pub enum OnFull {
        /// The source waits.
        Block,
        /// What comes is lost, and becomes a gap.
        Drop,
    }
}

closed_set! {
    /// The state of a member.
    pub enum MemberState {
        /// It takes appends.
        Active,
        /// A request has been in flight for long. Other members take its share until it returns.
        Slow,
        /// It has no free space left.
        Full,
        /// A request failed, or never returned. It is not written any more.
        Failed,
        /// Its part is done.
        Closed,
    }
}

/// What limits a recording. In documents it is one word: `source`, `members`, `pins`, or the name
/// of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub enum LimitedBy {
    /// The source: the members take everything that comes.
    Source,
    /// All members together.
    Members,
    /// Pins, which keep all of a ring, so that nothing is left to write to.
    Pins,
    /// One member, which is much slower than the others.
    Member(String),
}

impl LimitedBy {
    /// The word for this in documents.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            LimitedBy::Source => "source",
            LimitedBy::Members => "members",
            LimitedBy::Pins => "pins",
            LimitedBy::Member(name) => name,
        }
    }
}

impl From<String> for LimitedBy {
    fn from(word: String) -> LimitedBy {
        match word.as_str() {
            "source" => LimitedBy::Source,
            "members" => LimitedBy::Members,
            "pins" => LimitedBy::Pins,
            _ => LimitedBy::Member(word),
        }
    }
}

impl From<LimitedBy> for String {
    fn from(limit: LimitedBy) -> String {
        limit.words().to_owned()
    }
}
