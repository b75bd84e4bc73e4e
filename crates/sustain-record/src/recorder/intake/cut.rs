//! The user's wish that this recording ends and the next one begins, and where an intake cuts its
//! stream for that: behind a frame, if the frame ends soon enough.
//!
//! An intake looks for the wish before each read. No byte is lost or read twice: what was read
//! before the cut is in one recording, and what is read behind it in the next.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use sustain_disk::clock::Timestamp;

use super::Intake;
use crate::format::{MarkKind, PayloadMark};
use crate::recorder::user_marks::MarkKeeper;
use crate::source::framing::FrameMark;

/// A frame that has not ended for so long since the wish is divided between the two recordings.
/// Meanwhile all that the other streams send is held in the buffer.
const FRAME_WAIT_NS: u64 = 1_000_000_000;
/// If half of the buffer is in use, it is divided after this time. Most frames end sooner.
const FRAME_WAIT_FULL_NS: u64 = 50_000_000;

/// How many times the user has wished that a recording ends and the next one begins. All clones
/// are the same.
#[derive(Clone, Default)]
pub struct SplitSwitch(Arc<SplitWish>);

#[derive(Default)]
struct SplitWish {
    wished: AtomicU32,
    /// Marks go into the next recording from the first cut of a stream on.
    marks: Option<Weak<MarkKeeper>>,
}

impl SplitSwitch {
    /// One for a recording with marks of users.
    pub(crate) fn with_marks(marks: Weak<MarkKeeper>) -> SplitSwitch {
        SplitSwitch(Arc::new(SplitWish {
            wished: AtomicU32::new(0),
            marks: Some(marks),
        }))
    }

    /// Wishes that the recording ends and the next one begins.
    pub fn wish(&self) {
        self.0.wished.fetch_add(1, Ordering::Release);
    }

    /// How many times that was wished so far.
    pub fn wished(&self) -> u32 {
        self.0.wished.load(Ordering::Acquire)
    }

    /// Prepares for the cut of a stream that has so many cuts then.
    fn prepare(&self, cuts: u32) {
        if let Some(marks) = self.0.marks.as_ref().and_then(Weak::upgrade) {
            marks.cut_to(cuts);
        }
    }
}

impl fmt::Debug for SplitSwitch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wished = self.wished();
        formatter.debug_tuple("SplitSwitch").field(&wished).finish()
    }
}

/// Where an intake stands with its cuts.
#[derive(Debug, Default)]
pub(super) struct IntakeCuts {
    /// How often it has cut.
    pub(super) count: u32,
    /// When it first saw the wish that it has not fulfilled.
    wished_at: Option<Timestamp>,
    /// Whether a frame had begun and not ended when the source was last read.
    pub(super) is_in_frame: bool,
    /// Whether no mark has come since the last cut. The end of a frame that began before that has
    /// no meaning in this recording.
    is_unmarked: bool,
    /// Whether the source makes its bytes by their offset in the recording, and can make them
    /// again.
    pub(super) is_synthetic: bool,
}

impl Intake {
    /// Cuts the stream if that is wished and may be done here. Returns whether it was.
    pub(super) fn cut_if_wished(&mut self) -> bool {
        let is_due = self.is_cut_due();
        if is_due {
            self.cut();
        }
        is_due
    }

    /// Whether the stream is to be cut behind the frame that is open, or at once.
    pub(super) fn is_cut_wished(&self) -> bool {
        self.setup.split.wished() > self.cuts.count
    }

    /// Whether the stream is to be cut before the next byte.
    pub(super) fn is_cut_due(&mut self) -> bool {
        if !self.is_cut_wished() {
            return false;
        }
        let now = self.writer.clock().now();
        let wished_at = *self.cuts.wished_at.get_or_insert(now);
        let is_open_frame = self.is_framed
            && self.cuts.is_in_frame
            && self.dropping.is_none()
            && self.framing_error.is_none();
        let waited_ns = now.since_ns(wished_at);
        let is_late = waited_ns >= FRAME_WAIT_NS
            || (waited_ns >= FRAME_WAIT_FULL_NS && self.writer.is_buffer_half_used());
        !is_open_frame || is_late
    }

    pub(super) fn cut(&mut self) {
        if let Some(filling) = self.filling.take_if(|filling| !filling.is_empty()) {
            self.writer.commit(filling);
        }
        self.cuts.count += 1;
        self.setup.split.prepare(self.cuts.count);
        self.writer.cut();
        self.cuts.wished_at = None;
        self.cuts.is_unmarked = self.is_framed;
    }

    /// Notes whether a frame is open behind these marks.
    pub(super) fn note_frames(&mut self) {
        if let Some(last) = self.found.last() {
            self.cuts.is_in_frame = last.kind.is_begin();
        }
    }

    /// The end of a frame of the recording before is left out of this one.
    pub(super) fn leave_out_end(&mut self, marks: &mut Vec<PayloadMark>) {
        let Some(first) = marks.first_mut().filter(|_| self.cuts.is_unmarked) else {
            return;
        };
        self.cuts.is_unmarked = false;
        match first.kind {
            MarkKind::Begin => {}
            MarkKind::EndAndBegin => first.kind = MarkKind::Begin,
            MarkKind::End => {
                marks.remove(0);
            }
        }
    }

    /// Takes the first `count` bytes of the spare memory with the marks in them. If the stream is
    /// to be cut and a frame ends there, it is cut behind this frame.
    pub(super) fn enter_to_cut(&mut self, count: usize, found: &[FrameMark]) {
        let Some(index) = self.first_end(found) else {
            return self.enter(count, found);
        };
        let at = found[index].offset;
        let Some(filling) = &self.filling else {
            return self.enter(count, found);
        };
        let rest = filling.behind(count)[at..].to_vec();
        let mut before = found[..=index].to_vec();
        before[index].kind = MarkKind::End;
        let is_begin = found[index].kind == MarkKind::EndAndBegin;
        let begin = is_begin.then_some(FrameMark {
            offset: 0,
            kind: MarkKind::Begin,
        });
        let later = found[index + 1..].iter().map(|mark| FrameMark {
            offset: mark.offset - at,
            ..*mark
        });
        let mut after: Vec<FrameMark> = begin.into_iter().chain(later).collect();
        let count = self.cuts.count;
        self.enter(at, &before);
        // Where no memory came for the last of it, the frame was divided.
        if self.cuts.count == count {
            self.cut();
        }
        if rest.is_empty() {
            return;
        }
        if self.has_filling()
            && let Some(next) = &mut self.filling
        {
            next.spare_mut()[..rest.len()].copy_from_slice(&rest);
        }
        // If the last bytes before the cut were lost, the next frame is none of that loss.
        let lost = self.lose_begun_frame(rest.len(), &mut after);
        self.enter(rest.len() - lost, &after);
    }

    /// How many of `count` bytes of a source that makes its own belong before a cut, if one is
    /// wished: those of the frame that is open. Takes away the marks behind.
    pub(super) fn made_before_cut(&self, count: usize, found: &mut Vec<FrameMark>) -> usize {
        let Some(index) = self.first_end(found) else {
            return count;
        };
        found.truncate(index + 1);
        found[index].kind = MarkKind::End;
        found[index].offset
    }

    /// The first of these marks that ends a frame, if the stream is to be cut there.
    fn first_end(&self, found: &[FrameMark]) -> Option<usize> {
        if !self.is_framed || !self.is_cut_wished() {
            return None;
        }
        let index = found.iter().position(|mark| mark.kind != MarkKind::Begin)?;
        (found[index].offset > 0).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sustain_disk::buffer::SharedPool;
    use sustain_disk::clock::{Clock, UnixClock};
    use sustain_disk::driver::Ending;
    use sustain_targets::Stop;

    use super::*;
    use crate::recorder::channel::Exchange;
    use crate::recorder::filled::PayloadMemory;
    use crate::recorder::intake::{IntakeSetup, OnFull, PauseSwitch};
    use crate::recorder::message::RecorderMessage;
    use crate::recorder::stream_writer::{EDGE_BYTES, StreamWriter};
    use crate::source::framing::Framing;

    const APPEND_BYTES: usize = 64 << 10;

    /// A stream with memory for one append, and what it sends.
    fn stream_of_one_append() -> (StreamWriter, crossbeam_channel::Receiver<RecorderMessage>) {
        let pool = SharedPool::new(1, APPEND_BYTES).unwrap();
        let edges = SharedPool::new(2, EDGE_BYTES).unwrap();
        let (messages, received) = crossbeam_channel::unbounded();
        let (_, returned) = crossbeam_channel::unbounded();
        let writer = StreamWriter {
            stream: 0,
            name: "lines".to_owned(),
            next_offset_bytes: 0,
            before_bytes: 0,
            gap: None,
            clock: Clock::Real,
            unix_clock: UnixClock::read(&Clock::Real),
            messages,
            returned,
            exchange: Arc::new(Exchange::new(pool, edges, 1)),
            append_bytes: APPEND_BYTES,
            given_bytes_max: APPEND_BYTES,
            edge_bytes: EDGE_BYTES,
            copied_bytes: 0,
            ending: Ending::Source,
        };
        (writer, received)
    }

    #[test]
    fn a_stream_that_ends_when_it_is_to_be_cut_keeps_what_lies_in_its_pipe() {
        let (writer, received) = stream_of_one_append();
        let pool = writer.exchange.pool.clone();
        // All memory is that of other streams, until this one has cut, too.
        let mut of_others = pool.try_take();
        let giving = std::thread::spawn(move || {
            let (mut cuts, mut taken_bytes) = (0, 0);
            for message in received {
                match message {
                    RecorderMessage::Append(filled) => taken_bytes += filled.payload_bytes,
                    RecorderMessage::Cut { .. } => {
                        cuts += 1;
                        of_others.take().into_iter().for_each(|one| pool.give(one));
                    }
                    RecorderMessage::Ended { .. } => {}
                }
            }
            (cuts, taken_bytes)
        });
        let (source, sink) = rustix::pipe::pipe().unwrap();
        assert_eq!(rustix::io::write(&sink, &[7; 10_000]), Ok(10_000));
        let (split, stop) = (SplitSwitch::default(), Stop::default());
        split.wish();
        stop.interrupt();
        let setup = IntakeSetup {
            framing: Framing::None,
            align_frames: false,
            on_full: OnFull::Block,
            linger_ns: 50_000_000,
            bytes_max: None,
            deadline: None,
            last_wait_ns: 120_000_000_000,
            stop,
            pause: PauseSwitch::default(),
            split,
        };
        let taken = Intake::new(writer, setup).read_all(&source);
        assert_eq!(
            (taken.ending, taken.offered_bytes),
            (Ending::Interrupted, 10_000)
        );
        assert_eq!((taken.cuts, giving.join().unwrap()), (1, (1, 10_000)));
    }

    #[test]
    fn a_frame_that_is_divided_for_want_of_memory_is_not_cut_behind_its_end_too() {
        let (writer, received) = stream_of_one_append();
        let pool = writer.exchange.pool.clone();
        // The memory comes back when the stream was cut.
        let giving = std::thread::spawn(move || {
            let (mut cuts, mut kept) = (0, Vec::new());
            for message in received {
                match message {
                    RecorderMessage::Append(filled) => kept.extend(filled.memory),
                    RecorderMessage::Cut { .. } => cuts += 1,
                    RecorderMessage::Ended { .. } => {}
                }
                for memory in kept.extract_if(.., |_| cuts > 0) {
                    if let PayloadMemory::Lent(buffer) = memory {
                        pool.give(buffer);
                    }
                }
            }
            cuts
        });
        let split = SplitSwitch::default();
        let setup = IntakeSetup {
            framing: Framing::Lines,
            align_frames: false,
            on_full: OnFull::Block,
            linger_ns: 50_000_000,
            bytes_max: None,
            deadline: None,
            last_wait_ns: 100_000_000,
            stop: Stop::default(),
            pause: PauseSwitch::default(),
            split: split.clone(),
        };
        let mut intake = Intake::new(writer, setup);
        assert!(intake.has_filling());
        let spare = intake.filling.as_mut().unwrap().spare_mut();
        // Beside the mark of its beginning, the last bytes of this line do not fit.
        let line_bytes = spare.len() - 10;
        spare[..line_bytes].fill(b'x');
        spare[line_bytes - 1] = b'\n';
        split.wish();
        intake.take(line_bytes);
        let taken = intake.finish(Ending::Source, None);
        assert_eq!(taken.offered_bytes, line_bytes as u64);
        assert_eq!((taken.cuts, giving.join().unwrap()), (1, 1));
    }
}
