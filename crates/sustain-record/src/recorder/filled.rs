//! One append's worth of a stream, which a source fills and the recorder puts on a member.
//!
//! [`Filling`] belongs to the source, in its own thread; [`Filled`] is what it hands over.
//! Checksums are computed here, while the data is in the cache of that CPU.

use sustain_disk::buffer::{AlignedBytes, Buffer};
use sustain_disk::clock::{Clock, Timestamp};

use crate::format::{
    BLOCK_BYTES, Gap, MARK_BYTES_MAX, MarksWriter, PayloadMark, PieceChecksums, SEAL_BYTES,
    append_bytes_for, check_marks,
};

/// The memory that holds the bytes of an append.
#[derive(Debug)]
pub enum PayloadMemory {
    /// A buffer of the recorder's pool, large enough for the descriptor, the payload, marks and
    /// seal.
    Lent(Buffer),
    /// A buffer of the recorder's own, for starts, ends and accounts.
    Own(Buffer),
    /// A copy that was made for this append alone, because its own memory cannot be written from or
    /// is held by a member that does not answer.
    Copied(AlignedBytes),
    /// Memory of the caller, which is written from where it is in whole blocks, between two buffers
    /// of the recorder.
    Given {
        /// A buffer for the descriptor.
        head: Buffer,
        /// The memory of the caller.
        body: Buffer,
        /// The payload behind the last whole block, then marks and seal.
        tail: Buffer,
    },
}

/// An append that a source has filled.
#[derive(Debug)]
pub struct Filled {
    /// Number of the stream in the recording.
    pub stream: u16,
    /// Offset in the stream at which its payload begins.
    pub stream_offset_bytes: u64,
    /// The memory with its bytes. The account of a gap has none until it is written.
    pub memory: Option<PayloadMemory>,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// One checksum for each 64 KiB of payload.
    pub checksums: Vec<u32>,
    /// Encoded frame marks.
    pub marks: Vec<u8>,
    /// Frames that begin in it.
    pub frames_begun: u64,
    /// The number of the first frame that begins in it, once it has been handed to a member.
    pub first_frame: Option<u64>,
    /// The earliest and the latest time at which one of the frames begins.
    pub frame_times_ns: Option<(i64, i64)>,
    /// The gap just before it.
    pub gap: Option<Gap>,
    /// Arrival of its first byte, as nanoseconds since 1970.
    pub first_time_ns: i64,
    /// Arrival of its last byte.
    pub last_time_ns: i64,
    /// When its first byte was taken in.
    pub begun_at: Timestamp,
    /// When it was handed over.
    pub accepted_at: Timestamp,
}

impl Filled {
    /// Returns all facts about it, without its memory.
    pub(super) fn without_memory(&self) -> Filled {
        Filled {
            memory: None,
            checksums: self.checksums.clone(),
            marks: self.marks.clone(),
            ..*self
        }
    }

    /// The offset at which the stretch that it accounts for begins: that of its gap, or else of its
    /// payload.
    pub fn start_bytes(&self) -> u64 {
        let gap_bytes = self.gap.map_or(0, |gap| gap.bytes);
        self.stream_offset_bytes - gap_bytes
    }

    /// The offset in the stream at which its payload ends.
    pub fn end_bytes(&self) -> u64 {
        self.stream_offset_bytes + u64::from(self.payload_bytes)
    }

    /// All times in it, in nanoseconds since 1970, in no order.
    pub fn times_ns(&self) -> impl Iterator<Item = i64> {
        let of_frames = self.frame_times_ns.into_iter();
        let of_gap = self.gap.map(|gap| (gap.first_time_ns, gap.last_time_ns));
        of_frames
            .chain(of_gap)
            .flat_map(|(first, last)| [first, last])
            .chain([self.first_time_ns, self.last_time_ns])
    }

    /// The bytes that it takes on a member.
    pub fn append_bytes(&self) -> u32 {
        append_bytes_for(self.payload_bytes, self.marks.len() as u32)
    }
}

/// An append that is being filled.
#[derive(Debug)]
pub struct Filling {
    buffer: Buffer,
    clock: Clock,
    begun_at: Timestamp,
    payload_bytes: usize,
    checksums: PieceChecksums,
    marks: MarksWriter,
    first_time_ns: i64,
    last_time_ns: i64,
}

impl Filling {
    /// Begins to fill a buffer of the pool.
    pub fn new(buffer: Buffer, clock: &Clock) -> Filling {
        Filling {
            buffer,
            clock: clock.clone(),
            begun_at: Timestamp(0),
            payload_bytes: 0,
            checksums: PieceChecksums::new(),
            marks: MarksWriter::new(),
            first_time_ns: 0,
            last_time_ns: 0,
        }
    }

    /// Whether nothing is in it yet.
    pub fn is_empty(&self) -> bool {
        self.payload_bytes == 0
    }

    /// Bytes of payload so far.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Arrival of its first byte.
    pub fn first_time_ns(&self) -> i64 {
        self.first_time_ns
    }

    /// The bytes of payload that still fit, if no more marks come.
    pub fn room_bytes(&self) -> usize {
        let taken = BLOCK_BYTES + self.payload_bytes + self.marks.len_bytes() + SEAL_BYTES;
        self.buffer.len().saturating_sub(taken)
    }

    /// The memory for the next bytes of payload.
    pub fn spare_mut(&mut self) -> &mut [u8] {
        let start = BLOCK_BYTES + self.payload_bytes;
        let end = start + self.room_bytes();
        &mut self.buffer.bytes_mut()[start..end]
    }

    /// The `count` bytes behind those that were taken, as the source put them there.
    pub fn behind(&self, count: usize) -> &[u8] {
        let start = BLOCK_BYTES + self.payload_bytes;
        &self.buffer.bytes()[start..start + count]
    }

    /// Takes `count` bytes that were put into [`Self::spare_mut`], with the marks in them, whose
    /// offsets count from the first of these bytes. Returns how many bytes and marks were taken:
    /// fewer only where they do not fit together. The rest belongs into the next append.
    ///
    /// # Panics
    /// If there are more bytes than fit, or if marks are out of order, lie behind these bytes, or
    /// begin a frame without a time, because then no one could read them.
    pub fn take(&mut self, count: usize, marks: &[PayloadMark], time_ns: i64) -> (usize, usize) {
        assert!(count <= self.room_bytes(), "no more bytes than spare room");
        if let Err(refused) = check_marks(marks, count as u64) {
            panic!("{refused}");
        }
        if count == 0 {
            return (0, 0);
        }
        if self.payload_bytes == 0 {
            self.first_time_ns = time_ns;
            self.begun_at = self.clock.now();
        }
        let (taken, entered) = self.push_marks(count, marks);
        let start = BLOCK_BYTES + self.payload_bytes;
        self.checksums
            .push(&self.buffer.bytes()[start..start + taken]);
        self.payload_bytes += taken;
        self.last_time_ns = time_ns;
        (taken, entered)
    }

    /// Enters the marks that fit beside the bytes before them. Returns how many bytes and marks
    /// these are.
    fn push_marks(&mut self, count: usize, marks: &[PayloadMark]) -> (usize, usize) {
        let base = self.payload_bytes as u64;
        let mut needed = 0;
        for (index, mark) in marks.iter().enumerate() {
            let left = self.room_bytes().saturating_sub(MARK_BYTES_MAX);
            // A frame that begins has its first byte here.
            let with_mark = mark.offset_bytes as usize + usize::from(mark.kind.is_begin());
            if left < with_mark {
                // The marks that were entered need the bytes before them, and these fit.
                return (left.max(needed).min(count), index);
            }
            needed = with_mark;
            let offset_bytes = base + mark.offset_bytes;
            self.marks.push(
                PayloadMark {
                    offset_bytes,
                    ..*mark
                },
                self.first_time_ns,
            );
        }
        (count.min(self.room_bytes()), marks.len())
    }

    /// Turns it into an append to be handed over. Its stream adds the gap and the offset.
    pub fn finish(
        mut self,
        stream: u16,
        stream_offset_bytes: u64,
        gap: Option<Gap>,
        accepted_at: Timestamp,
    ) -> Filled {
        Filled {
            begun_at: self.begun_at,
            accepted_at,
            stream,
            stream_offset_bytes,
            payload_bytes: self.payload_bytes as u32,
            checksums: self.checksums.take(),
            frames_begun: self.marks.frames_begun(),
            first_frame: None,
            frame_times_ns: self.marks.times_ns(),
            marks: self.marks.bytes().to_vec(),
            memory: Some(PayloadMemory::Lent(self.buffer)),
            gap,
            first_time_ns: self.first_time_ns,
            last_time_ns: self.last_time_ns,
        }
    }

    /// Returns the buffer, when nothing of it is to be kept.
    pub fn into_buffer(self) -> Buffer {
        self.buffer
    }
}

#[cfg(test)]
mod tests {
    use sustain_disk::buffer::BufferPool;

    use super::*;
    use crate::format::{MarkKind, MarkReader};

    fn filling(bytes: usize) -> Filling {
        let buffer = BufferPool::new(1, bytes).unwrap().take().unwrap();
        Filling::new(buffer, &Clock::Real)
    }

    fn line_ends(count: usize) -> Vec<PayloadMark> {
        (0..count)
            .map(|line| PayloadMark {
                offset_bytes: line as u64,
                kind: MarkKind::EndAndBegin,
                time_ns: Some(1_000),
            })
            .collect()
    }

    #[test]
    fn bytes_and_marks_that_do_not_fit_together_are_divided() {
        // These are empty lines: every byte has a mark that is longer than itself.
        let mut filling = filling(5 * BLOCK_BYTES);
        let count = filling.room_bytes();
        let marks = line_ends(count);
        filling.spare_mut().fill(b'\n');
        let (taken, entered) = filling.take(count, &marks, 1_000);
        assert!(0 < taken && taken < count);
        assert!(entered <= taken, "no mark of a byte that was left");
        assert!(taken - entered <= 1, "and none of those taken left out");
        assert_eq!(filling.behind(count - taken).len(), count - taken);
        let filled = filling.finish(0, 0, None, Timestamp(0));
        assert!(filled.append_bytes() as usize <= 5 * BLOCK_BYTES);
        let found: Vec<PayloadMark> = MarkReader::new(&filled.marks, 1_000)
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(found, marks[..entered]);
        assert_eq!(filled.frames_begun, entered as u64);
    }

    #[test]
    #[should_panic(expected = "frame mark 1 lies beyond the 10 bytes")]
    fn a_mark_behind_the_bytes_that_have_come_is_not_taken() {
        let mut filling = filling(5 * BLOCK_BYTES);
        let mut marks = line_ends(2);
        marks[1].offset_bytes = 11;
        filling.take(10, &marks, 1_000);
    }

    #[test]
    fn an_append_says_where_it_begins_with_its_gap() {
        let mut filling = filling(4 * BLOCK_BYTES);
        filling.spare_mut()[..100].fill(1);
        assert_eq!(filling.take(100, &[], 5), (100, 0));
        let gap = Gap {
            bytes: 40,
            frames: 0,
            reason: crate::format::GapReason::BufferFull,
            first_time_ns: 1,
            last_time_ns: 2,
        };
        let filled = filling.finish(3, 1_000, Some(gap), Timestamp(9));
        assert_eq!((filled.start_bytes(), filled.end_bytes()), (960, 1_100));
        assert_eq!(filled.append_bytes() as usize, 2 * BLOCK_BYTES);
        assert_eq!((filled.first_time_ns, filled.last_time_ns), (5, 5));
    }
}
