//! What the threads of the sources say to the thread of the recorder.

use sustain_disk::driver::Ending;

use super::filled::Filled;
use super::inlet::Offered;

/// A message from a source.
#[allow(
    clippy::large_enum_variant,
    reason = "moving a few hundred bytes is nothing beside an append"
)]
pub(super) enum RecorderMessage {
    Append(Filled),
    /// What the stream sends from now on belongs to the next recording.
    Cut {
        stream: u16,
        /// What its source had offered by then, in all recordings.
        offered: Offered,
    },
    /// The source of one stream has ended.
    Ended {
        stream: u16,
        ending: Ending,
    },
}

impl RecorderMessage {
    /// The number of the stream that it is about.
    pub(super) fn stream(&self) -> usize {
        usize::from(match self {
            RecorderMessage::Append(filled) => filled.stream,
            RecorderMessage::Cut { stream, .. } | RecorderMessage::Ended { stream, .. } => *stream,
        })
    }
}
