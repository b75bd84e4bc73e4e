//! The handle with which a source writes one stream: it borrows memory to fill, hands it over, and
//! says what was lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use sustain_disk::buffer::StableBytes;
use sustain_disk::clock::{Clock, UnixClock};
use sustain_disk::driver::Ending;

use super::channel::{Exchange, OfferedSoFar};
use super::filled::{Filled, Filling};
use super::message::RecorderMessage;
use crate::format::{Gap, GapReason, payload_room};

/// Writes one stream of a recording, from any thread.
///
/// Dropping it ends the stream in order.
pub struct StreamWriter {
    pub(super) stream: u16,
    pub(super) name: String,
    pub(super) next_offset_bytes: u64,
    /// What was offered in the recordings before this one.
    pub(super) before_bytes: u64,
    pub(super) gap: Option<Gap>,
    pub(super) clock: Clock,
    pub(super) unix_clock: UnixClock,
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

    /// Bytes offered so far in this recording, lost ones included.
    pub fn offered_bytes(&self) -> u64 {
        self.next_offset_bytes
    }

    /// The same with what was offered in the recordings before, if there were any.
    pub(super) fn offered_in_all_bytes(&self) -> u64 {
        self.before_bytes + self.next_offset_bytes
    }

    /// Shows to others how far the source has come, with this much that is not handed over yet.
    pub(super) fn show_taken(&self, kept_bytes: u64) {
        self.offered_so_far()
            .set_taken(self.offered_in_all_bytes() + kept_bytes);
    }

    /// The time of day by the recording's clock, in nanoseconds since 1970.
    pub fn now_ns(&self) -> i64 {
        self.unix_clock.unix_ns(self.clock.now())
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

    /// Whether at least half of the memory between sources and members is in use.
    pub(super) fn is_buffer_half_used(&self) -> bool {
        self.exchange.gauge.fill() >= 0.5
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
        self.offered_so_far()
            .set_offered(self.offered_in_all_bytes());
        self.offered_so_far().add_lost(bytes, reason);
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

    /// Ends the stream, and says why.
    pub fn finish(mut self, ending: Ending) {
        self.ending = ending;
    }

    /// Ends this recording here for the stream: what comes next begins the next one.
    pub(super) fn cut(&mut self) {
        self.send_last_gap();
        self.before_bytes += self.next_offset_bytes;
        self.next_offset_bytes = 0;
        let (stream, offered) = (self.stream, self.offered_so_far().cut_at(self.before_bytes));
        let _ = self.messages.send(RecorderMessage::Cut { stream, offered });
        self.exchange.wake();
    }

    fn offered_so_far(&self) -> &OfferedSoFar {
        &self.exchange.offered[usize::from(self.stream)]
    }

    pub(super) fn send(&self, filled: Filled) {
        self.offered_so_far()
            .set_offered(self.offered_in_all_bytes());
        // The recorder outlives its streams. If it is gone, its own end has said why.
        let _ = self.messages.send(RecorderMessage::Append(filled));
        self.exchange.wake();
    }

    /// Sends a gap at the end of a recording as an append without payload.
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
        let stream = self.stream;
        let _ = self
            .messages
            .send(RecorderMessage::Ended { stream, ending });
        self.exchange.wake();
    }
}
