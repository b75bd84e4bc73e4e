//! The rates that a measurement finds, and what follows from them for a stream that does not wait.
//! They are parts of the document of `measure`, whose module has them under its own name, too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::DataKind;

/// A rate once steady, with its 95 % confidence interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sustained {
    /// Whether a steady state was reached.
    pub reached: bool,
    /// The rate in the steady window; the rate of the last half of the run if none was reached.
    pub rate_bytes_per_s: f64,
    /// Lower and upper end of the 95 % confidence interval.
    pub ci95_bytes_per_s: [f64; 2],
    /// Start of the window judged.
    pub from_s: f64,
    /// End of it; null in older documents, and if no window was judged: then it is the end of the
    /// run.
    #[serde(default)]
    pub to_s: Option<f64>,
    /// The verdict in words.
    pub why: String,
}

/// A faster beginning, such as a write cache gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// Bytes transferred at the faster rate.
    pub bytes: u64,
    /// The faster rate.
    pub rate_bytes_per_s: f64,
}

/// One point of the buffer curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BufferPoint {
    /// A stream's rate.
    pub rate_bytes_per_s: f64,
    /// Memory that would have ridden out every pause of this run at that rate.
    pub buffer_bytes: u64,
}

/// The rate of writing data that is new for each write, compared with data of which only a few
/// bytes are. Both were written in turn, after the run, on the same targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rewritten {
    /// With data that is new for each write: the mean of both turns.
    pub rate_bytes_per_s: f64,
    /// With data that mostly stays the same, as in the run.
    pub fresh_bytes_per_s: f64,
    /// The first over the second.
    pub ratio: f64,
    /// Whether the targets certainly take new data more slowly; then the recommendation is for such
    /// data.
    pub is_slower: bool,
    /// Whether making new data took nearly all of a driver's time: the rate is then that of the
    /// CPU, and that of the targets is not known.
    pub tool_limited: bool,
    /// The turns, in order.
    pub runs: Vec<RewrittenRun>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RewrittenRun {
    /// The kind of data that was written.
    pub data: DataKind,
    /// All targets together.
    pub rate_bytes_per_s: f64,
}

/// A rate at which one may record, with the buffer it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recommendation {
    /// The rate.
    pub rate_bytes_per_s: f64,
    /// The memory it needs to ride out every pause and slow stretch that the run met, with the
    /// records on their way; and at least what the run that confirmed it used. Mostly more than
    /// that.
    pub buffer_bytes: u64,
    /// Whether a run paced at this rate held; null if none was made, or if it was too short for
    /// more than a record or two.
    pub confirmed: Option<bool>,
    /// How long the paced run was; null if none was made.
    pub held_seconds: Option<f64>,
    /// The largest backlog in it.
    pub backlog_max_bytes: Option<u64>,
    /// The paced runs, in order: the figures above are those of the last one.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// The lowest rate within any 10 s of the run, and of the paced runs that did not hold; null
    /// for a shorter run.
    #[serde(default)]
    pub worst_10_s_bytes_per_s: Option<f64>,
}

/// A run paced at a rate that was to be confirmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// The rate.
    pub rate_bytes_per_s: f64,
    /// Whether the backlog stayed within the buffer.
    pub held: bool,
    /// How long it was.
    pub seconds: f64,
    /// The largest backlog in it.
    pub backlog_max_bytes: u64,
    /// The longest time without a completion on a target, or on any of them, although requests were
    /// in flight.
    #[serde(default)]
    pub worst_stall_ns: u64,
}

/// The rates of writing and of reading back what was written, of all targets together, with full
/// queues: as many requests read as write. That is as many as in the run, or more where data that
/// is new for each write is slower and takes more of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBack {
    /// How long each of both runs was: the one that did both, and the one that only read.
    pub seconds: f64,
    /// Writing while reading back.
    pub writing: ReadBackRate,
    /// Reading back meanwhile.
    pub reading_meanwhile: Sustained,
    /// Reading back while nothing is written; null if the user has ended it before.
    pub reading_alone: Option<ReadBackRate>,
    /// The same of each target, in the order given.
    pub targets: Vec<ReadBackTarget>,
}

/// A rate with full queues, and what follows from it for a stream that does not wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBackRate {
    /// The rate once steady.
    pub sustained: Sustained,
    /// The rate at which a stream can be recorded while something reads back, or be read back; null
    /// if none can be promised.
    pub recommendation: Option<Recommendation>,
}

/// One target in a [`ReadBack`], each rate over the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadBackTarget {
    /// The name of the target.
    pub name: String,
    /// Writing while reading back.
    pub writing_bytes_per_s: f64,
    /// Reading back meanwhile.
    pub reading_meanwhile_bytes_per_s: f64,
    /// Reading back while nothing is written; null if the user has ended it before.
    pub reading_alone_bytes_per_s: Option<f64>,
}
