//! The cursors of all files that are being read, at most a few of them, so that memory is bounded
//! however many files are open. Two programs that read a stream at different places get one each.

use std::ops::Range as Span;
use std::sync::{Arc, Mutex};

use sustain_record::reading::part::{HoleReason, StreamPart};

use crate::cursor::{ReadBytes, ReadFailure, StreamCursor, WantedBytes};
use crate::lock::lock;
use crate::view::{ShownRecording, StoreView};

/// A cursor in use takes some 100 MiB for each member at most, and 50 MiB more, where slots have
/// 16 MiB.
const CURSORS_MAX: usize = 8;

/// What a read returns for bytes that are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReading {
    /// The error EIO.
    Error,
    /// Zeros, where it is certain that the bytes will never be there. What a ring has overwritten,
    /// and what may still come or be under way of being overwritten, is an error all the same.
    Zeros,
}

/// Cursors that were used last.
pub(crate) struct CursorShelf {
    losses: LossReading,
    kept: Mutex<Vec<KeptCursor>>,
}

struct KeptCursor {
    /// Its place in the order in which the mount met recordings.
    recording: u16,
    stream: u16,
    /// What it can reach, as it was when it was used last.
    near: Span<u64>,
    cursor: Arc<Mutex<StreamCursor>>,
}

impl CursorShelf {
    pub(crate) fn new(losses: LossReading) -> CursorShelf {
        CursorShelf {
            losses,
            kept: Mutex::new(Vec::new()),
        }
    }

    /// Reads a range of a stream, which must lie below its end.
    pub(crate) fn read(
        &self,
        view: &StoreView,
        shown: &Arc<ShownRecording>,
        stream: u16,
        wanted: WantedBytes,
    ) -> Result<ReadBytes, ReadFailure> {
        let cursor = self.cursor(shown.slot, stream, wanted.range.start);
        let mut reading = lock(&cursor);
        let are_zeros =
            |lost: &StreamPart| self.losses == LossReading::Zeros && is_for_ever(lost, view, shown);
        let read = reading.read(shown, stream, wanted, &are_zeros);
        let near = reading.near();
        drop(reading);
        let mut kept = lock(&self.kept);
        if let Some(one) = kept
            .iter_mut()
            .find(|one| Arc::ptr_eq(&one.cursor, &cursor))
        {
            one.near = near;
        }
        read
    }

    /// The cursor that is near to this place, or the one that was not used for longest, anew. The
    /// last one used is the last on the shelf.
    fn cursor(&self, recording: u16, stream: u16, from_bytes: u64) -> Arc<Mutex<StreamCursor>> {
        let mut kept = lock(&self.kept);
        let is_near = |one: &KeptCursor| {
            one.recording == recording && one.stream == stream && one.near.contains(&from_bytes)
        };
        let found = kept.iter().rposition(is_near);
        let one = match found {
            Some(found) => kept.remove(found),
            None => {
                if kept.len() >= CURSORS_MAX {
                    kept.remove(0);
                }
                KeptCursor {
                    recording,
                    stream,
                    // Others that ask for what follows meanwhile wait for this one.
                    near: from_bytes..from_bytes.saturating_add(StreamCursor::REACH_BYTES),
                    cursor: Arc::default(),
                }
            }
        };
        let cursor = Arc::clone(&one.cursor);
        kept.push(one);
        cursor
    }
}

/// Whether lost bytes are certain never to be there, and were not overwritten by a ring. Where a
/// recorder may have overwritten them since the store was looked at last, it is looked at again.
fn is_for_ever(lost: &StreamPart, view: &StoreView, shown: &ShownRecording) -> bool {
    match lost {
        StreamPart::Gap { .. } => true,
        StreamPart::Hole { why, .. } => *why != HoleReason::WrittenOver && view.is_still(shown),
        StreamPart::Data { .. } | StreamPart::Overwritten { .. } | StreamPart::OpenEnd { .. } => {
            false
        }
    }
}
