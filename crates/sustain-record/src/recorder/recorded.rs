//! The outcome of a recording, as its recorder tells it.

use sustain_disk::clock::Timestamp;
use sustain_disk::driver::Ending;
use sustain_disk::meter::{BufferCurve, LatencyMeter, Meter};
use sustain_disk::target::DataPath;
use uuid::Uuid;

use super::board::{MarksStanding, RecordingProgress, StreamStanding};
use super::frame_meter::{FrameMeter, FramePace};
use super::member::Slowness;

/// The outcome of a recording.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// The store.
    pub store: Uuid,
    /// The recording's number in the store.
    pub recording: u32,
    /// When it began, in nanoseconds since 1970.
    pub started_ns: i64,
    /// Why it ended.
    pub ended: Ending,
    /// The state of streams and members at the end.
    pub standing: RecordingProgress,
    /// The meter of each member's queue.
    pub meters: Vec<Meter>,
    /// How often each member did not answer for long.
    pub slowness: Vec<Slowness>,
    /// Time from handing over an append until it was written, per stream.
    pub written_latency: Vec<LatencyMeter>,
    /// Time from the first byte of an append until it was durable, per stream.
    pub durable_latency: Vec<LatencyMeter>,
    /// What the frames were like, per stream; none of a stream without frames.
    pub frames: Vec<Option<Box<FrameMeter>>>,
    /// The memory that rides out the pauses of the run, by rate.
    pub buffer_curve: BufferCurve,
    /// Bytes per append of a stream that has enough of them, as the store's slots allow.
    pub append_bytes: u32,
    /// Appends of parity of each group.
    pub parities: u16,
    /// Time from the recording's start to the last flush.
    pub elapsed_ns: u64,
    /// Share of one CPU that the recorder's own thread used.
    pub cpu_share: f64,
    /// The I/O path to the members.
    pub path: DataPath,
    /// The engine, and a sentence about why it was chosen.
    pub engine: (&'static str, String),
    /// The CPU time that the process had used when it began.
    pub cpu_before_ns: u64,
    /// When it began.
    pub begun_at: Timestamp,
    /// The recordings before it in the same run, oldest first: each ended where the next one began.
    pub before: Vec<RecordedBefore>,
}

/// A recording that ended where the next one began.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedBefore {
    /// The recording's number in the store.
    pub recording: u32,
    /// When it began, in nanoseconds since 1970.
    pub started_ns: i64,
    /// Why it ended: as if its sources had ended, unless the store was full then, or no member was
    /// left.
    pub ended: Ending,
    /// Time from its start to its last flush.
    pub elapsed_ns: u64,
    /// The streams of its sources at its end.
    pub streams: Vec<StreamStanding>,
    /// What is missing and late of the declared rates of frames, per stream.
    pub paces: Vec<Option<FramePace>>,
    /// The marks that users set in it; `None` where they can set none.
    pub marks: Option<MarksStanding>,
    /// Members that could not be written to its end, with the reasons.
    pub errors: Vec<String>,
}

impl RecordedBefore {
    pub(super) fn of(recorded: Recorded) -> RecordedBefore {
        let standing = recorded.standing;
        let frames = recorded.frames.into_iter();
        let paces = frames.map(|meter| meter.and_then(|meter| meter.pace));
        let errors = standing.members.into_iter().filter_map(|one| one.error);
        RecordedBefore {
            recording: recorded.recording,
            started_ns: recorded.started_ns,
            ended: recorded.ended,
            elapsed_ns: recorded.elapsed_ns,
            streams: standing.streams,
            paces: paces.collect(),
            marks: standing.marks,
            errors: errors.collect(),
        }
    }
}
