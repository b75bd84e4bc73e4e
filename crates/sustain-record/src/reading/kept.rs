//! What one pin keeps, as plain data.

use serde::Serialize;

use crate::opening::Recording;
use crate::reading::range::Range;
use crate::store::StorePin;

/// What one pin keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptByPin {
    /// The pin.
    pub pin: StorePin,
    /// What it keeps of recordings, newest first, as far as that can be read.
    pub recordings: Vec<Recording>,
    /// The frames of which it keeps only the beginning; none as long as its end is to come, for
    /// they may end before that.
    pub cut_frames: Vec<CutFrame>,
}

/// What is found of what a pin keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FoundOfPin {
    /// When its first and its last byte arrived, in nanoseconds since 1970; none if none is found.
    pub times_ns: Option<(i64, i64)>,
    /// The recordings of which bytes are found, oldest first.
    pub recordings: Vec<u32>,
}

impl FoundOfPin {
    /// What is found of these recordings, which a pin keeps.
    pub fn of(recordings: &[Recording]) -> FoundOfPin {
        let mut found = FoundOfPin::default();
        for recording in recordings {
            let Some((first_ns, last_ns)) = recording.arrival_ns() else {
                continue;
            };
            let (from_ns, to_ns) = found.times_ns.unwrap_or((first_ns, last_ns));
            found.times_ns = Some((from_ns.min(first_ns), to_ns.max(last_ns)));
            found.recordings.push(recording.number);
        }
        found.recordings.sort_unstable();
        found
    }
}

/// A frame of which a pin keeps only the beginning, because it went on behind what is kept. A pin
/// gives whole frames only, so it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutFrame {
    /// Number of its recording.
    pub recording: u32,
    /// Number of its stream.
    pub stream: u16,
    /// Name of the same.
    pub stream_name: String,
    /// Its own number in the stream.
    pub number: u64,
    /// When its first byte arrived, in nanoseconds since 1970.
    pub time_ns: i64,
    /// Offset of its first byte in the stream.
    pub offset_bytes: u64,
    /// How many of its bytes are kept.
    pub kept_bytes: u64,
}

impl CutFrame {
    /// Whether any of the frame is asked for.
    pub fn lies_in(&self, range: &Range) -> bool {
        let end_bytes = self.offset_bytes + self.kept_bytes;
        match range {
            Range::All => true,
            Range::Bytes(span) => span.start < end_bytes && self.offset_bytes < span.end,
            Range::Time(span) => span.contains(&self.time_ns),
            Range::Frames(span) => span.contains(&self.number),
        }
    }

    /// Tells the user that it is left out.
    pub fn notice(&self, pin: u32) -> String {
        let bytes = match self.kept_bytes {
            1 => "the first byte".to_owned(),
            count => format!("the first {count} bytes"),
        };
        format!(
            "pin {pin} keeps only {bytes} of frame {} of recording {}, stream {}, so the frame is \
             left out",
            self.number, self.recording, self.stream_name
        )
    }
}
