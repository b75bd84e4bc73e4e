//! Finds where the whole frames end of what a pin keeps. A pin may end within a frame, where that
//! went on arriving behind its time, or where the recording itself was cut off.

use crate::error::RecordError;
use crate::format::Descriptor;
use crate::opening::{Recording, StreamSummary};
use crate::reading::frames::{Frame, Framed, IndexedReader};
use crate::reading::kept::CutFrame;
use crate::reading::locate::locate;
use crate::reading::scope::Scope;
use crate::reading::stream::{Range, StreamReader};
use crate::source::framing::Framing;
use crate::store::Store;

/// The end of a stream's frames, as far as they are kept.
struct KeptEnd {
    /// Frames that have ended, or of which it is known that they are damaged.
    frames: u64,
    /// The frame behind them, if its beginning is there.
    cut: Option<Frame>,
}

/// Finds the frames that end behind what is kept of these recordings.
///
/// # Errors
/// If the members cannot be driven.
pub(super) fn unended_frames(
    store: &Store,
    recordings: &mut [Recording],
) -> Result<Vec<CutFrame>, RecordError> {
    let mut all = Vec::new();
    for recording in recordings {
        let scope = Scope::of_store(store, recording);
        let mut ends = Vec::new();
        for (number, stream) in (0_u16..).zip(&recording.streams) {
            let is_framed = has_frames(&scope, number, stream) && !stream.is_marks();
            ends.push(match is_framed {
                true => Some(kept_end(&scope, (number, stream), recording)?),
                false => None,
            });
        }
        let number = recording.number;
        for (index, (stream, end)) in (0_u16..).zip(recording.streams.iter_mut().zip(ends)) {
            let Some(end) = end else { continue };
            stream.frames = end.frames;
            all.extend(end.cut.map(|frame| CutFrame {
                recording: number,
                stream: index,
                stream_name: stream.name.clone(),
                number: frame.number,
                time_ns: frame.time_ns,
                offset_bytes: frame.offset_bytes,
                kept_bytes: frame.length_bytes,
            }));
        }
    }
    Ok(all)
}

/// Lets the streams of these recordings end before these frames.
pub(super) fn leave_out(unended: &[CutFrame], recordings: &mut [Recording]) {
    for cut in unended {
        let mut recordings = recordings.iter_mut();
        let Some(recording) = recordings.find(|one| one.number == cut.recording) else {
            continue;
        };
        // It is read as far as it is known, and no farther.
        recording.under_way = true;
        if let Some(stream) = recording.streams.get_mut(usize::from(cut.stream)) {
            stream.offered_bytes = cut.offset_bytes;
        }
    }
}

/// Where the frames of a stream end. Appends tell only how many have begun, so the last ones are
/// read: a slot or two of each member.
fn kept_end(
    scope: &Scope,
    (number, stream): (u16, &StreamSummary),
    recording: &Recording,
) -> Result<KeptEnd, RecordError> {
    let is_before = |first: &Descriptor| {
        let position = first.positions.get(usize::from(number));
        position.is_some_and(|position| position.next_offset_bytes <= stream.offered_bytes)
    };
    let begun = locate(scope, number, &is_before)?.from.frames;
    let known = begun.saturating_sub(1).max(stream.readable_from_frame);
    let known = known.min(stream.frames);
    let mut end = KeptEnd {
        frames: known,
        cut: None,
    };
    let last = Range::Frames(known..stream.frames);
    let mut parts = IndexedReader::new(StreamReader::open(scope, number, &last)?);
    let mut is_at_end = false;
    while !is_at_end {
        is_at_end = parts.next().transpose()?.is_none();
        parts.frames().for_each(|framed| end.take(framed));
    }
    let is_whole_line = |cut: &Frame| cut.is_last_line_of(recording, stream);
    if !scope.under_way && end.cut.as_ref().is_some_and(is_whole_line) {
        end.frames += 1;
        end.cut = None;
    }
    Ok(end)
}

impl KeptEnd {
    fn take(&mut self, framed: Framed) {
        let (frames, cut) = match framed {
            Framed::Frame(frame) if frame.whole || frame.loss.is_some() => (frame.number + 1, None),
            // Where it begins at the end, nothing of it is kept.
            Framed::Frame(frame) => (
                frame.number,
                Some(frame).filter(|frame| frame.length_bytes > 0),
            ),
            Framed::Missing { numbers, .. } => (numbers.end, None),
            Framed::Overwritten { .. } => return,
        };
        self.frames = self.frames.max(frames);
        self.cut = cut;
    }
}

pub(super) fn has_frames(scope: &Scope, number: u16, stream: &StreamSummary) -> bool {
    let framing = scope.framings.get(usize::from(number));
    stream.frames > 0 || framing.is_some_and(|framing| *framing != Framing::None)
}
