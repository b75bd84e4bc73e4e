//! Finds the frames in what an intake has read, and enters both into appends. Without memory it
//! counts what is lost: frames are lost whole.

use super::Intake;
use crate::format::{GapReason, MarkKind, PayloadMark};
use crate::source::framing::{FrameMark, Framer, FramingError};

/// An append of a stream with frames is closed if it has less space than this. Without frames every
/// byte of it is filled.
const FRAMED_ROOM_BYTES_MIN: usize = 4096;

impl Intake {
    /// Finds the frames in the first `count` bytes of the spare memory and takes what is decided.
    pub(super) fn take(&mut self, count: usize) {
        let Some(filling) = &self.filling else { return };
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let bytes = filling.behind(count);
        let (decided, error) = decided(&mut self.framer, bytes, &mut found);
        self.undecided.clear();
        self.undecided.extend_from_slice(&bytes[decided..]);
        self.note_framing_error(error);
        let lost = self.lose_begun_frame(decided, &mut found);
        // While it waits for memory, a frame that began here counts as open.
        self.cuts.is_in_frame |= found.iter().any(|mark| mark.kind.is_begin());
        self.enter_to_cut(decided - lost, &found);
        self.found = found;
        self.note_frames();
    }

    /// Notes where frames could not be told apart any more, by the offset in this recording.
    fn note_framing_error(&mut self, error: Option<FramingError>) {
        let Some(error) = error else { return };
        let before_bytes = self.writer.offered_in_all_bytes() - self.writer.offered_bytes();
        let error = FramingError {
            stream_offset: error.stream_offset.saturating_sub(before_bytes),
            ..error
        };
        self.framing_error.get_or_insert((self.cuts.count, error));
    }

    /// After a loss, bytes before the next frame are lost with it. Returns how many these are; the
    /// others are moved to the front.
    pub(super) fn lose_begun_frame(&mut self, count: usize, found: &mut Vec<FrameMark>) -> usize {
        let Some(reason) = self.dropping.take() else {
            return 0;
        };
        let begin = found.iter().position(|mark| mark.kind.is_begin());
        let lost = begin.map_or(count, |index| found[index].offset);
        self.dropping = begin.is_none().then_some(reason);
        found.drain(..begin.unwrap_or(found.len()));
        if let Some(first) = found.first_mut() {
            first.kind = MarkKind::Begin;
        }
        found.iter_mut().for_each(|mark| mark.offset -= lost);
        if let Some(filling) = &mut self.filling {
            filling.spare_mut().copy_within(lost..count, 0);
        }
        self.writer.skip(lost as u64, 0, reason);
        lost
    }

    /// Loses the first `count` bytes of the scratch memory.
    pub(super) fn lose(&mut self, count: usize, reason: GapReason) {
        self.scratch[..self.undecided.len()].copy_from_slice(&self.undecided);
        self.found.clear();
        let bytes = &self.scratch[..count];
        let (decided, error) = decided(&mut self.framer, bytes, &mut self.found);
        self.undecided.clear();
        self.undecided.extend_from_slice(&bytes[decided..]);
        self.note_framing_error(error);
        self.note_frames();
        self.lose_found(decided as u64, reason);
    }

    pub(super) fn lose_found(&mut self, bytes: u64, reason: GapReason) {
        let frames = self
            .found
            .iter()
            .filter(|mark| mark.kind.is_begin())
            .count();
        self.lose_frames(bytes, frames as u64, reason);
    }

    pub(super) fn lose_frames(&mut self, bytes: u64, frames: u64, reason: GapReason) {
        self.dropping = self.is_framed.then_some(reason);
        self.writer.skip(bytes, frames, reason);
    }

    /// The reason for a loss: a full store closes the recorder, otherwise the buffer was full.
    pub(super) fn reason_of_loss(&self) -> GapReason {
        if self.writer.is_closed() {
            GapReason::NotWritten
        } else {
            GapReason::BufferFull
        }
    }

    /// Takes the first `count` bytes of the spare memory with the marks in them, over as many
    /// appends as needed.
    pub(super) fn enter_here(&mut self, mut count: usize, found: &[FrameMark]) {
        let time_ns = self.writer.now_ns();
        let room_bytes_min = match self.is_framed {
            true => FRAMED_ROOM_BYTES_MIN,
            false => 1,
        };
        let mut marks: Vec<PayloadMark> = found.iter().map(|mark| mark_of(mark, time_ns)).collect();
        while count > 0 {
            self.leave_out_end(&mut marks);
            let Some(mut filling) = self.filling.take() else {
                if self.cuts.is_synthetic && self.is_cut_due() {
                    // The source makes the rest again, when it has cut.
                    return;
                }
                return self.lose_marked(count, &marks);
            };
            if filling.is_empty() {
                self.filling_since = self.writer.clock().now();
            }
            let (taken, entered) = filling.take(count, &marks, time_ns);
            if taken == count && filling.room_bytes() >= room_bytes_min {
                self.filling = Some(filling);
                return;
            }
            // Bytes that do not fit beside their marks go into the next append.
            count -= taken;
            let rest = filling.behind(count).to_vec();
            self.writer.commit(filling);
            if count == 0 {
                return;
            }
            marks.drain(..entered);
            marks
                .iter_mut()
                .for_each(|mark| mark.offset_bytes -= taken as u64);
            if self.has_filling()
                && let Some(next) = &mut self.filling
            {
                next.spare_mut()[..count].copy_from_slice(&rest);
            }
        }
    }

    /// Loses `count` bytes with these marks in them.
    fn lose_marked(&mut self, count: usize, marks: &[PayloadMark]) {
        let frames = marks.iter().filter(|mark| mark.kind.is_begin()).count();
        self.lose_frames(count as u64, frames as u64, self.reason_of_loss());
    }
}

/// Finds the frames in `bytes`. Returns how many bytes are decided, and the error behind which
/// there are no frames.
fn decided(
    framer: &mut Framer,
    bytes: &[u8],
    found: &mut Vec<FrameMark>,
) -> (usize, Option<FramingError>) {
    match framer.push(bytes, found) {
        Ok(decided) => (decided, None),
        Err(error) => (bytes.len(), Some(error)),
    }
}

fn mark_of(found: &FrameMark, time_ns: i64) -> PayloadMark {
    PayloadMark {
        offset_bytes: found.offset as u64,
        kind: found.kind,
        time_ns: found.kind.is_begin().then_some(time_ns),
    }
}
