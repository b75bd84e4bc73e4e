//! The outcome of a recording, as its recorder tells it.

use sustain_disk::driver::Ending;
use sustain_disk::meter::{BufferCurve, LatencyMeter, Meter};
use uuid::Uuid;

use super::board::RecordingProgress;
use super::frame_meter::FrameMeter;
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
    /// Time from the recording's start to the last flush.
    pub wall_ns: u64,
    /// Share of one CPU that the recorder's own thread used.
    pub cpu_share: f64,
    /// The engine, and a sentence about why it was chosen.
    pub engine: (&'static str, String),
}
