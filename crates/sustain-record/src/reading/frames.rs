//! Puts the frames of a framed stream together across appends, and says of each whether it is
//! whole. A frame is never made of bytes that do not follow each other.

pub use super::frame::{Frame, FrameLoss, FramePlace, Framed};
pub use super::joiner::FRAME_BYTES_MAX;
use super::joiner::Joiner;
use super::part::StreamPart;
use super::stream::{OrderedParts, PartSource, StreamReader};
use crate::error::RecordError;
use crate::format::MarkKind;

/// The most lost stretches that are kept for the caller.
const LOST_MAX: usize = 10_000;

/// The frames of a stream, in order.
pub struct FrameReader<P = PartSource> {
    parts: StreamReader<P>,
    joiner: Joiner,
    is_at_end: bool,
    /// The losses that were met, until the caller takes them.
    lost: Vec<StreamPart>,
}

/// The parts of a stream, as [`StreamReader`] returns them, and meanwhile what an index tells of
/// the frames in them. It keeps none of their bytes.
pub struct IndexedReader {
    parts: StreamReader,
    joiner: Joiner,
    is_finished: bool,
}

/// Whether a frame ends at the end of a part that goes on beyond what is wanted.
fn ends_frame_at(part: &StreamPart, end_bytes: u64) -> bool {
    let StreamPart::Data { origin, .. } = part else {
        return false;
    };
    let base = origin.descriptor.stream_offset_bytes;
    let marks = origin.marks().unwrap_or_default();
    marks
        .iter()
        .any(|mark| mark.kind != MarkKind::Begin && base + mark.offset_bytes == end_bytes)
}

impl<P> FrameReader<P> {
    /// Reads the frames of what `parts` returns. Bytes before the first frame that begins there are
    /// passed over.
    pub fn new(parts: StreamReader<P>) -> FrameReader<P> {
        FrameReader {
            joiner: Joiner::new(&parts, true),
            parts,
            is_at_end: false,
            lost: Vec::new(),
        }
    }

    /// Returns the lost stretches of the stream that were met since the last call, in order,
    /// including those beside the frames that are wanted. Of more than 10,000 it returns the first.
    pub fn lost(&mut self) -> Vec<StreamPart> {
        std::mem::take(&mut self.lost)
    }

    /// Bytes that were passed over so far: they are whole, and belong to no frame that begins in
    /// what is read.
    pub fn unframed_bytes(&self) -> u64 {
        self.joiner.unframed_bytes
    }
}

impl<P: OrderedParts> Iterator for FrameReader<P> {
    type Item = Result<Framed, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(framed) = self.joiner.ready.pop_front() {
                return Some(Ok(framed));
            }
            if self.is_at_end {
                return None;
            }
            match self.parts.next_in_window() {
                Some(Ok(part)) => self.take(&part),
                Some(Err(error)) => {
                    self.is_at_end = true;
                    return Some(Err(error));
                }
                None => self.finish(),
            }
        }
    }
}

impl<P: OrderedParts> FrameReader<P> {
    fn take(&mut self, part: &StreamPart) {
        self.joiner.take(part);
        let is_there = matches!(part, StreamPart::Data { .. } | StreamPart::OpenEnd { .. });
        if !is_there && part.length_bytes() > 0 && self.lost.len() < LOST_MAX {
            self.lost.push(part.clone());
        }
        let end_bytes = part.end_bytes();
        if self.parts.is_cut_at(end_bytes) {
            self.joiner.cut(end_bytes, ends_frame_at(part, end_bytes));
        }
        let is_behind = self.parts.is_behind_window() && !self.joiner.is_within();
        if is_behind || self.joiner.is_past() {
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.is_at_end = true;
        let (frames, is_end_of_stream) = self.parts.frames_at_end();
        self.joiner
            .finish(frames, is_end_of_stream, self.parts.next_bytes());
    }
}

impl IndexedReader {
    /// Reads what `parts` returns. Bytes before the first frame that begins there are in no frame.
    pub fn new(parts: StreamReader) -> IndexedReader {
        IndexedReader {
            joiner: Joiner::new(&parts, false),
            parts: parts.tapped(),
            is_finished: false,
        }
    }

    /// The frames that have ended, or were found to be lost, since the last call.
    pub fn frames(&mut self) -> impl Iterator<Item = Framed> {
        self.joiner.ready.drain(..)
    }

    /// Takes note that the rest is not wanted. What has begun of a frame is told as it is.
    pub fn finish(&mut self) {
        if !self.is_finished {
            self.is_finished = true;
            self.joiner.finish(None, false, self.parts.next_bytes());
        }
    }

    fn take_tapped(&mut self) {
        for part in self.parts.take_tapped() {
            self.joiner.take(&part);
            let end_bytes = part.end_bytes();
            if self.parts.is_cut_at(end_bytes) {
                self.joiner.cut(end_bytes, ends_frame_at(&part, end_bytes));
            }
        }
    }
}

impl Iterator for IndexedReader {
    type Item = Result<StreamPart, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.parts.next();
        self.take_tapped();
        if next.is_none() && !self.is_finished {
            self.is_finished = true;
            let (frames, is_end_of_stream) = self.parts.frames_at_end();
            let end_bytes = self.parts.next_bytes();
            self.joiner.finish(frames, is_end_of_stream, end_bytes);
        }
        next
    }
}
