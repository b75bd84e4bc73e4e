//! What reading a stream back takes, and what comes of it.

use sustain::Stop;

use super::losses::Losses;
use crate::commands::progress::ProgressLine;
use crate::flags::extract::HolesFlag;

/// The outcome of reading a stream back.
pub(super) struct ExtractedStream {
    pub(super) from_byte: Option<u64>,
    pub(super) to_byte: Option<u64>,
    /// Whether neither a loss nor the user ended it early.
    pub(super) complete: bool,
    pub(super) written_bytes: u64,
    pub(super) frames: Option<FrameCounts>,
    pub(super) losses: Losses,
}

/// The number of frames with each outcome, of those that were asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameCounts {
    pub(super) written: u64,
    /// Frames that are damaged or missing.
    pub(super) lost: u64,
    /// Frames that a ring has overwritten, as far as their numbers are known.
    pub(super) overwritten: u64,
}

/// What ends the work early, and what shows its progress.
pub(super) struct Work<'a> {
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a mut ProgressLine,
    pub(super) holes: Option<HolesFlag>,
}
