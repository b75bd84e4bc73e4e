//! The handle with which a source gives memory of its own, which is written from where it is and
//! comes back as what it was.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use sustain_disk::buffer::{Buffer, StableBytes};
use sustain_disk::driver::Ending;

use super::filled::{Filled, Filling, PayloadMemory};
use super::stream_writer::StreamWriter;
use crate::format::{
    BLOCK_BYTES, GapReason, MARK_BYTES_MAX, MarksWriter, PayloadMark, PieceChecksums, SEAL_BYTES,
    check_marks,
};

/// Memory of the caller that was not taken, and why.
pub struct NotTaken<T> {
    /// The caller's memory.
    pub owner: T,
    /// The reason, in words.
    pub why: String,
}

impl<T> fmt::Debug for NotTaken<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "NotTaken({})", self.why)
    }
}

impl<T> fmt::Display for NotTaken<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.why)
    }
}

impl<T> std::error::Error for NotTaken<T> {}

/// Writes one stream of a recording from memory of the caller's own, such as the pictures of a
/// camera: each piece is a `T`, is written without a copy, and comes back as a `T`.
///
/// What else a [`StreamWriter`] can do, this can do as well.
pub struct Giver<T> {
    writer: StreamWriter,
    /// Only what is given here comes back to this stream.
    memory: PhantomData<fn(T) -> T>,
}

impl StreamWriter {
    /// Makes this the writer of a stream whose data lies in memory of the caller's own, each piece
    /// a value of `T`.
    pub fn giver<T: StableBytes>(self) -> Giver<T> {
        Giver::new(self)
    }
}

impl<T: StableBytes> Giver<T> {
    pub(super) fn new(writer: StreamWriter) -> Giver<T> {
        Giver {
            writer,
            memory: PhantomData,
        }
    }

    /// The most bytes that can be given at once.
    pub fn given_bytes_max(&self) -> usize {
        self.writer.given_bytes_max
    }

    /// The number of marks that always fit beside what is given at once.
    pub fn given_marks_max(&self) -> usize {
        (self.writer.edge_bytes - SEAL_BYTES - (BLOCK_BYTES - 1)) / MARK_BYTES_MAX
    }

    /// Payload that had to be copied: rests of less than a block.
    pub fn copied_bytes(&self) -> u64 {
        self.writer.copied_bytes
    }

    /// Gives memory. It is written from where it is, without a copy, and comes back through
    /// [`Giver::returned`] when its write is complete. Only what lies behind the last whole block
    /// is copied. `marks` count from its first byte. Waits for free buffers.
    ///
    /// # Errors
    /// The memory itself, with the reason: it holds less than 4096 bytes or more than
    /// [`Giver::given_bytes_max`]; it does not begin at a multiple of
    /// [`BUFFER_ALIGNMENT`](sustain_disk::buffer::BUFFER_ALIGNMENT); marks are out of order, lie
    /// behind its end, begin a frame without a time, or are too many; or the recording is over.
    pub fn give(
        &mut self,
        owner: T,
        marks: &[PayloadMark],
        time_ns: i64,
    ) -> Result<(), NotTaken<T>> {
        if let Err(why) = self.check(owner.bytes().len(), marks) {
            return Err(NotTaken { owner, why });
        }
        let writer = &mut self.writer;
        let Some((head, mut tail)) = writer.exchange.take_edges() else {
            let why = "the recording is over".to_owned();
            return Err(NotTaken { owner, why });
        };
        let length = owner.bytes().len();
        let rest_bytes = length % BLOCK_BYTES;
        let mut checksums = PieceChecksums::new();
        checksums.push(owner.bytes());
        tail.bytes_mut()[..rest_bytes].copy_from_slice(&owner.bytes()[length - rest_bytes..]);
        let body = match Buffer::foreign(Box::new(owner)) {
            Ok(body) => body,
            Err(refusal) => {
                writer.exchange.give_edges([head, tail]);
                let why = refusal.to_string();
                let owner = unboxed(refusal.owner);
                return Err(NotTaken { owner, why });
            }
        };
        let mut encoded = MarksWriter::new();
        marks.iter().for_each(|mark| encoded.push(*mark, time_ns));
        writer.copied_bytes += rest_bytes as u64;
        let offset_bytes = writer.next_offset_bytes;
        writer.next_offset_bytes += length as u64;
        let now = writer.clock.now();
        let filled = Filled {
            stream: writer.stream,
            stream_offset_bytes: offset_bytes,
            memory: Some(PayloadMemory::Given { head, body, tail }),
            payload_bytes: length as u32,
            checksums: checksums.take(),
            frames_begun: encoded.frames_begun(),
            first_frame: None,
            frame_times_ns: encoded.times_ns(),
            marks: encoded.bytes().to_vec(),
            gap: writer.gap.take(),
            first_time_ns: time_ns,
            last_time_ns: time_ns,
            begun_at: now,
            accepted_at: now,
        };
        writer.send(filled);
        Ok(())
    }

    /// Says why this much cannot be given with these marks.
    fn check(&self, length: usize, marks: &[PayloadMark]) -> Result<(), String> {
        let most = self.given_bytes_max();
        if length < BLOCK_BYTES || length > most {
            return Err(format!(
                "{length} bytes were given, and only {BLOCK_BYTES} to {most} can be"
            ));
        }
        check_marks(marks, length as u64).map_err(|why| why.to_string())?;
        let marks_bytes_max = marks.len() * MARK_BYTES_MAX;
        if length % BLOCK_BYTES + marks_bytes_max + SEAL_BYTES > self.writer.edge_bytes {
            let (count, most) = (marks.len(), self.given_marks_max());
            return Err(format!(
                "{count} marks are too many at once, and {most} always fit: give the memory in \
                 parts"
            ));
        }
        Ok(())
    }

    /// Returns memory that was given to this stream and is written, if some has come back.
    pub fn returned(&self) -> Option<T> {
        self.writer.returned.try_recv().ok().map(unboxed)
    }

    /// Hands over what was filled of the recorder's own memory, as [`StreamWriter::commit`] does.
    pub fn commit(&mut self, filling: Filling) {
        self.writer.commit(filling);
    }

    /// Declares bytes and frames as lost, as [`StreamWriter::skip`] does.
    pub fn skip(&mut self, bytes: u64, frames: u64, reason: GapReason) {
        self.writer.skip(bytes, frames, reason);
    }

    /// Ends the stream, and says why.
    pub fn finish(self, ending: Ending) {
        self.writer.finish(ending);
    }
}

/// What a giver of `T` gave is a `T` when it comes back.
fn unboxed<T: StableBytes>(owner: Box<dyn StableBytes>) -> T {
    let owner: Box<dyn Any> = owner;
    match owner.downcast() {
        Ok(owner) => *owner,
        Err(_) => unreachable!("nothing else was given to this stream"),
    }
}

// Not mutably: two givers whose writers could be exchanged would get back each other's memory.
impl<T> Deref for Giver<T> {
    type Target = StreamWriter;

    fn deref(&self) -> &StreamWriter {
        &self.writer
    }
}
