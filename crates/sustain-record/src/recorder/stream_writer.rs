//! The handle with which a source writes one stream: it borrows memory to fill, hands it over, and
//! says what was lost.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use sustain_disk::buffer::{Buffer, StableBytes};
use sustain_disk::clock::{Clock, WallClock};
use sustain_disk::driver::Ending;

use super::channel::{Exchange, OfferedSoFar, RecorderMessage};
use super::filled::{Filled, Filling, PayloadMemory};
use crate::format::{
    BLOCK_BYTES, Gap, GapReason, MARK_BYTES_MAX, MarksWriter, PayloadMark, PieceChecksums,
    SEAL_BYTES, check_marks, payload_room,
};

/// Memory of the caller that was not taken, and why.
pub struct NotTaken {
    /// The caller's memory.
    pub owner: Box<dyn StableBytes>,
    /// The reason, in words.
    pub why: String,
}

impl fmt::Debug for NotTaken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NotTaken({})", self.why)
    }
}

/// Writes one stream of a recording, from any thread.
///
/// Dropping it ends the stream in order.
pub struct StreamWriter {
    pub(super) stream: u16,
    pub(super) name: String,
    pub(super) next_offset_bytes: u64,
    pub(super) gap: Option<Gap>,
    pub(super) clock: Clock,
    pub(super) wall: WallClock,
    pub(super) messages: Sender<RecorderMessage>,
    pub(super) returned: Receiver<Box<dyn StableBytes>>,
    pub(super) exchange: Arc<Exchange>,
    pub(super) append_bytes: usize,
    pub(super) given_bytes_max: usize,
    /// The size of the buffer behind whole blocks of the caller's memory: for their rest, marks and
    /// seal.
    pub(super) edge_bytes: usize,
    pub(super) copied_bytes: u64,
    pub(super) ending: Ending,
}

impl StreamWriter {
    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes offered so far, lost ones included.
    pub fn offered_bytes(&self) -> u64 {
        self.next_offset_bytes
    }

    /// Payload of given memory that had to be copied: rests of less than a block.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// The time of day by the recording's clock, in nanoseconds since 1970.
    pub fn now_ns(&self) -> i64 {
        self.wall.unix_ns(self.clock.now())
    }

    /// Waits for free memory to fill. Returns `None` when the recording is over: the store is full,
    /// all members have failed, or it was stopped.
    pub fn lend(&self) -> Option<Filling> {
        let buffer = self.exchange.pool.take()?;
        Some(Filling::new(buffer, &self.clock))
    }

    /// Returns memory to fill, if some is free now.
    pub fn try_lend(&self) -> Option<Filling> {
        let buffer = self.exchange.pool.try_take()?;
        Some(Filling::new(buffer, &self.clock))
    }

    /// Does the same as [`StreamWriter::lend`], but waits no longer than this, and returns `None`
    /// if none was free.
    pub fn lend_within(&self, at_most: Duration) -> Option<Filling> {
        let buffer = self.exchange.pool.take_within(at_most)?;
        Some(Filling::new(buffer, &self.clock))
    }

    /// The most bytes of payload that one append holds.
    pub fn append_room_bytes(&self) -> usize {
        payload_room(self.append_bytes)
    }

    /// The recording's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether the recording takes nothing more.
    pub fn is_closed(&self) -> bool {
        self.exchange.is_closed.load(Ordering::Acquire)
    }

    /// Hands over what was filled. If that is empty, only its memory goes back.
    pub fn commit(&mut self, filling: Filling) {
        if filling.is_empty() {
            self.exchange.pool.give(filling.into_buffer());
            return;
        }
        let offset_bytes = self.next_offset_bytes;
        self.next_offset_bytes += filling.payload_bytes() as u64;
        let accepted_at = self.clock.now();
        let gap = self.gap.take();
        self.send(filling.finish(self.stream, offset_bytes, gap, accepted_at));
    }

    /// Declares the next `bytes`, in which `frames` frames begin, as lost. Without bytes it does
    /// nothing.
    ///
    /// What is lost between two appends is one gap, whose reason is that of its first loss.
    pub fn skip(&mut self, bytes: u64, frames: u64, reason: GapReason) {
        if bytes == 0 {
            return;
        }
        let now_ns = self.now_ns();
        self.next_offset_bytes += bytes;
        self.told().set_offered(self.next_offset_bytes);
        self.told().add_lost(bytes);
        let gap = self.gap.get_or_insert(Gap {
            bytes: 0,
            frames: 0,
            reason,
            first_time_ns: now_ns,
            last_time_ns: now_ns,
        });
        gap.bytes += bytes;
        gap.frames += frames;
        gap.last_time_ns = now_ns;
    }

    /// The most bytes that can be given at once.
    pub fn given_bytes_max(&self) -> usize {
        self.given_bytes_max
    }

    /// The number of marks that always fit beside what is given at once.
    pub fn given_marks_max(&self) -> usize {
        (self.edge_bytes - SEAL_BYTES - (BLOCK_BYTES - 1)) / MARK_BYTES_MAX
    }

    /// Gives memory of the caller. It is written from where it is, without a copy, and comes back
    /// through [`StreamWriter::returned`] when its write is complete. Only what lies behind the
    /// last whole block is copied. `marks` count from its first byte. Waits for free buffers.
    ///
    /// # Errors
    /// The memory itself, with the reason: it holds less than 4096 bytes or more than
    /// [`StreamWriter::given_bytes_max`]; it does not begin at a multiple of
    /// [`BUFFER_ALIGNMENT`](sustain_disk::buffer::BUFFER_ALIGNMENT); marks are out of order, lie
    /// behind
    /// its end, begin a frame without a time, or are too many; or the recording is over.
    pub fn give(
        &mut self,
        owner: Box<dyn StableBytes>,
        marks: &[PayloadMark],
        time_ns: i64,
    ) -> Result<(), NotTaken> {
        let refused = |owner, why: String| Err(NotTaken { owner, why });
        let length = owner.bytes().len();
        if length < BLOCK_BYTES || length > self.given_bytes_max {
            let most = self.given_bytes_max;
            let why = format!("{length} bytes were given, and only {BLOCK_BYTES} to {most} can be");
            return refused(owner, why);
        }
        if let Err(why) = check_marks(marks, length as u64) {
            return refused(owner, why.to_string());
        }
        let rest_bytes = length % BLOCK_BYTES;
        let marks_bytes_max = marks.len() * MARK_BYTES_MAX;
        if rest_bytes + marks_bytes_max + SEAL_BYTES > self.edge_bytes {
            let (count, most) = (marks.len(), self.given_marks_max());
            let why = format!(
                "{count} marks are too many at once, and {most} always fit: give the memory in \
                 parts"
            );
            return refused(owner, why);
        }
        let Some((head, mut tail)) = self.exchange.take_edges() else {
            return refused(owner, "the recording is over".to_owned());
        };
        let mut checksums = PieceChecksums::new();
        checksums.push(owner.bytes());
        tail.bytes_mut()[..rest_bytes].copy_from_slice(&owner.bytes()[length - rest_bytes..]);
        let body = match Buffer::foreign(owner) {
            Ok(body) => body,
            Err(refusal) => {
                self.exchange.give_edges([head, tail]);
                let why = refusal.to_string();
                return refused(refusal.owner, why);
            }
        };
        let mut encoded = MarksWriter::new();
        marks.iter().for_each(|mark| encoded.push(*mark, time_ns));
        self.copied_bytes += rest_bytes as u64;
        let offset_bytes = self.next_offset_bytes;
        self.next_offset_bytes += length as u64;
        let now = self.clock.now();
        let filled = Filled {
            stream: self.stream,
            stream_offset_bytes: offset_bytes,
            memory: Some(PayloadMemory::Given { head, body, tail }),
            payload_bytes: length as u32,
            checksums: checksums.take(),
            frames_begun: encoded.frames_begun(),
            first_frame: None,
            frame_times_ns: encoded.times_ns(),
            marks: encoded.bytes().to_vec(),
            gap: self.gap.take(),
            first_time_ns: time_ns,
            last_time_ns: time_ns,
            begun_at: now,
            accepted_at: now,
        };
        self.send(filled);
        Ok(())
    }

    /// Returns memory that was given to this stream and is written, if some has come back.
    pub fn returned(&self) -> Option<Box<dyn StableBytes>> {
        self.returned.try_recv().ok()
    }

    /// Ends the stream, and says why.
    pub fn finish(mut self, ending: Ending) {
        self.ending = ending;
    }

    fn told(&self) -> &OfferedSoFar {
        &self.exchange.told[usize::from(self.stream)]
    }

    fn send(&self, filled: Filled) {
        self.told().set_offered(self.next_offset_bytes);
        // The recorder outlives its streams. If it is gone, its own end has said why.
        let _ = self.messages.send(RecorderMessage::Append(filled));
        self.exchange.wake();
    }

    /// Sends a gap at the very end as an append without payload.
    fn send_last_gap(&mut self) {
        let Some(gap) = self.gap.take() else { return };
        let now = self.clock.now();
        self.send(Filled {
            stream: self.stream,
            stream_offset_bytes: self.next_offset_bytes,
            memory: None,
            payload_bytes: 0,
            checksums: Vec::new(),
            frames_begun: 0,
            first_frame: None,
            frame_times_ns: None,
            marks: Vec::new(),
            gap: Some(gap),
            first_time_ns: gap.last_time_ns,
            last_time_ns: gap.last_time_ns,
            begun_at: now,
            accepted_at: now,
        });
    }
}

/// Size of the buffers for what surrounds memory of the caller.
pub(super) const EDGE_BYTES: usize = 64 * 1024;

impl Drop for StreamWriter {
    fn drop(&mut self) {
        self.send_last_gap();
        // A thread that panics did not come to the end of its source.
        let ending = if std::thread::panicking() {
            Ending::Error
        } else {
            self.ending
        };
        let _ = self.messages.send(RecorderMessage::Ended(ending));
        self.exchange.wake();
    }
}
