//! Frame marks: where frames begin and end in a payload, and when they arrived.
//!
//! The recorder writes them while it fills an append. Readers go through them to find frames.

use super::descriptor::Descriptor;

/// The most bytes that one mark can take: two varints.
pub const MARK_BYTES_MAX: usize = 2 * VARINT_BYTES_MAX;

const VARINT_BYTES_MAX: usize = 10;
const KIND_BITS: u32 = 2;
/// More than any payload has: the bits of a varint that are left beside the kind.
const DISTANCE_MAX: u64 = u64::MAX >> KIND_BITS;

/// What happens at the place of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarkKind {
    /// A frame begins.
    Begin,
    /// A frame ends.
    End,
    /// A frame ends and the next one begins.
    EndAndBegin,
}

impl MarkKind {
    /// Whether a frame begins there.
    pub fn is_begin(self) -> bool {
        self != MarkKind::End
    }

    fn number(self) -> u64 {
        match self {
            MarkKind::Begin => 0,
            MarkKind::End => 1,
            MarkKind::EndAndBegin => 2,
        }
    }
}

/// A place in the payload where a frame begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadMark {
    /// Offset from the first payload byte. It may be the end of the payload.
    pub offset_bytes: u64,
    /// What happens there.
    pub kind: MarkKind,
    /// When the first byte of the frame that begins here arrived, in nanoseconds since 1970; `None`
    /// if no frame begins.
    pub time_ns: Option<i64>,
}

impl PayloadMark {
    /// A frame begins at this byte, which arrived at this time.
    pub fn begin(offset_bytes: u64, time_ns: i64) -> PayloadMark {
        PayloadMark {
            offset_bytes,
            kind: MarkKind::Begin,
            time_ns: Some(time_ns),
        }
    }

    /// A frame ends before this byte.
    pub fn end(offset_bytes: u64) -> PayloadMark {
        PayloadMark {
            offset_bytes,
            kind: MarkKind::End,
            time_ns: None,
        }
    }
}

/// Why frame marks cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarksError {
    /// They end within a mark.
    #[error("the frame marks end within a mark")]
    Truncated,
    /// A number is larger than any version writes.
    #[error("a frame mark has a number of more than 64 bits")]
    TooLong,
    /// A mark is of an unknown kind.
    #[error("a frame mark is of an unknown kind")]
    UnknownKind,
    /// A mark lies beyond the end of the payload.
    #[error("a frame mark lies beyond the payload")]
    BeyondPayload,
}

/// Why frame marks cannot be written. Marks count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarksRefused {
    /// A mark lies before the previous one.
    #[error("frame mark {0} lies before the previous one: give marks in the order of their bytes")]
    OutOfOrder(usize),
    /// A mark lies behind the last byte of the payload.
    #[error("frame mark {0} lies beyond the {1} bytes that it belongs to")]
    BeyondPayload(usize, u64),
    /// A frame begins at a mark that has no time.
    #[error("frame mark {0} begins a frame but has no time of arrival")]
    WithoutTime(usize),
}

/// Checks whether these marks can be pushed for a payload of `payload_bytes`.
///
/// # Errors
/// [`MarksRefused`] for the first mark that cannot.
pub fn check_marks(marks: &[PayloadMark], payload_bytes: u64) -> Result<(), MarksRefused> {
    let mut before_bytes = 0;
    for (index, mark) in marks.iter().enumerate() {
        if mark.offset_bytes < before_bytes {
            return Err(MarksRefused::OutOfOrder(index));
        }
        if mark.offset_bytes > payload_bytes {
            return Err(MarksRefused::BeyondPayload(index, payload_bytes));
        }
        if mark.kind.is_begin() && mark.time_ns.is_none() {
            return Err(MarksRefused::WithoutTime(index));
        }
        before_bytes = mark.offset_bytes;
    }
    Ok(())
}

/// Writes the frame marks of one append after another.
#[derive(Debug, Default)]
pub struct MarksWriter {
    bytes: Vec<u8>,
    last_offset_bytes: u64,
    last_time_ns: Option<i64>,
    frames_begun: u64,
    /// The earliest and the latest time of a frame.
    times_ns: Option<(i64, i64)>,
}

impl MarksWriter {
    /// Makes a writer without marks.
    pub fn new() -> MarksWriter {
        MarksWriter::default()
    }

    /// Appends a mark. `first_time_ns` is that of the append, from which the time of the first
    /// frame counts. It must be the same for all marks of an append.
    ///
    /// # Panics
    /// If the mark lies before the last one, or if it begins a frame without a time.
    pub fn push(&mut self, mark: PayloadMark, first_time_ns: i64) {
        let distance = mark
            .offset_bytes
            .checked_sub(self.last_offset_bytes)
            .filter(|distance| *distance <= DISTANCE_MAX)
            .expect("marks are pushed in order");
        self.push_varint(distance << KIND_BITS | mark.kind.number());
        self.last_offset_bytes = mark.offset_bytes;
        if mark.kind.is_begin() {
            let time_ns = mark.time_ns.expect("a frame that begins has a time");
            let before_ns = self.last_time_ns.unwrap_or(first_time_ns);
            self.push_varint(zigzag(time_ns.wrapping_sub(before_ns)));
            self.last_time_ns = Some(time_ns);
            self.frames_begun += 1;
            let (earliest_ns, latest_ns) = self.times_ns.unwrap_or((time_ns, time_ns));
            self.times_ns = Some((earliest_ns.min(time_ns), latest_ns.max(time_ns)));
        }
    }

    /// The marks so far, as they lie in the append.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The length of the marks so far, in bytes. The next one adds at most [`MARK_BYTES_MAX`].
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Number of frames that begin at the marks so far.
    pub fn frames_begun(&self) -> u64 {
        self.frames_begun
    }

    /// The earliest and the latest time at which a frame begins, if one does.
    pub fn times_ns(&self) -> Option<(i64, i64)> {
        self.times_ns
    }

    /// Starts again for the next append, and keeps the memory.
    pub fn clear(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        *self = MarksWriter {
            bytes,
            ..MarksWriter::default()
        };
    }

    fn push_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

/// Reads frame marks in order, and ends after the first error.
///
/// Offsets never fall. Begins and ends do not have to alternate: a frame may have begun in an
/// earlier append, or its end may be lost.
#[derive(Debug, Clone)]
pub struct MarkReader<'a> {
    rest: &'a [u8],
    offset_bytes: u64,
    time_ns: i64,
    end_bytes: u64,
}

impl<'a> MarkReader<'a> {
    /// Reads the marks in `bytes`, which belong to an append with this `first_time_ns`.
    pub fn new(bytes: &'a [u8], first_time_ns: i64) -> MarkReader<'a> {
        MarkReader {
            rest: bytes,
            offset_bytes: 0,
            time_ns: first_time_ns,
            end_bytes: u64::MAX,
        }
    }

    /// Reads the marks in `bytes`, which belong to this append. None of them lies beyond its
    /// payload.
    pub fn of(descriptor: &Descriptor, bytes: &'a [u8]) -> MarkReader<'a> {
        MarkReader {
            end_bytes: u64::from(descriptor.payload_bytes),
            ..MarkReader::new(bytes, descriptor.first_time_ns)
        }
    }

    fn read(&mut self) -> Result<PayloadMark, MarksError> {
        let value = self.read_varint()?;
        let kind = match value & ((1 << KIND_BITS) - 1) {
            0 => MarkKind::Begin,
            1 => MarkKind::End,
            2 => MarkKind::EndAndBegin,
            _ => return Err(MarksError::UnknownKind),
        };
        self.offset_bytes = self
            .offset_bytes
            .checked_add(value >> KIND_BITS)
            .filter(|offset| *offset <= self.end_bytes)
            .ok_or(MarksError::BeyondPayload)?;
        let time_ns = if kind.is_begin() {
            self.time_ns = self.time_ns.wrapping_add(unzigzag(self.read_varint()?));
            Some(self.time_ns)
        } else {
            None
        };
        Ok(PayloadMark {
            offset_bytes: self.offset_bytes,
            kind,
            time_ns,
        })
    }

    fn read_varint(&mut self) -> Result<u64, MarksError> {
        let mut value = 0;
        for position in 0..VARINT_BYTES_MAX {
            let (byte, rest) = self.rest.split_first().ok_or(MarksError::Truncated)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7F);
            // The tenth byte can hold one bit only.
            if position == VARINT_BYTES_MAX - 1 && bits > 1 {
                return Err(MarksError::TooLong);
            }
            value |= bits << (7 * position);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(MarksError::TooLong)
    }
}

impl Iterator for MarkReader<'_> {
    type Item = Result<PayloadMark, MarksError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let mark = self.read();
        if mark.is_err() {
            self.rest = &[];
        }
        Some(mark)
    }
}

impl std::iter::FusedIterator for MarkReader<'_> {}

/// Maps small differences of either sign to small numbers.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mark(offset_bytes: u64, kind: MarkKind, time_ns: Option<i64>) -> PayloadMark {
        PayloadMark {
            offset_bytes,
            kind,
            time_ns,
        }
    }

    fn written(marks: &[PayloadMark], first_time_ns: i64) -> MarksWriter {
        let mut writer = MarksWriter::new();
        for mark in marks {
            writer.push(*mark, first_time_ns);
        }
        writer
    }

    fn read(bytes: &[u8], first_time_ns: i64) -> Result<Vec<PayloadMark>, MarksError> {
        MarkReader::new(bytes, first_time_ns).collect()
    }

    #[test]
    fn marks_lie_as_the_format_says() {
        let marks = [
            mark(0, MarkKind::Begin, Some(1000)),
            mark(10, MarkKind::EndAndBegin, Some(1003)),
            mark(10, MarkKind::End, None),
            mark(210, MarkKind::Begin, Some(1001)),
        ];
        let writer = written(&marks, 1000);
        // distance << 2 | kind, then the difference of the times doubled, less 1 if negative.
        assert_eq!(writer.bytes(), [0, 0, 10 << 2 | 2, 6, 1, 0xA0, 0x06, 3]);
        assert_eq!(writer.len_bytes(), 8);
        assert_eq!(writer.frames_begun(), 3);
        assert_eq!(read(writer.bytes(), 1000).unwrap(), marks);
    }

    #[test]
    fn a_cleared_writer_starts_anew() {
        let first = [
            mark(5, MarkKind::Begin, Some(77)),
            mark(9, MarkKind::End, None),
        ];
        let mut writer = written(&first, 50);
        writer.clear();
        assert_eq!((writer.len_bytes(), writer.frames_begun()), (0, 0));
        for mark in first {
            writer.push(mark, 60);
        }
        assert_eq!(read(writer.bytes(), 60).unwrap(), first);
    }

    #[test]
    fn the_longest_mark_takes_no_more_than_is_said() {
        let marks = [
            mark(0, MarkKind::Begin, Some(i64::MIN)),
            mark(DISTANCE_MAX, MarkKind::EndAndBegin, Some(0)),
        ];
        let writer = written(&marks, 0);
        assert_eq!(writer.len_bytes(), 1 + 10 + MARK_BYTES_MAX);
        assert_eq!(read(writer.bytes(), 0).unwrap(), marks);
    }

    #[test]
    fn what_no_writer_writes_is_refused_and_ends_the_marks() {
        let last = |bytes: &[u8]| MarkReader::new(bytes, 0).last().unwrap();
        assert_eq!(last(&[3, 1]), Err(MarksError::UnknownKind));
        assert_eq!(last(&[0x80]), Err(MarksError::Truncated));
        assert_eq!(last(&[1, 0]), Err(MarksError::Truncated));
        assert_eq!(last(&[0x81; 11]), Err(MarksError::TooLong));
        let mut too_large = [0xFF; 10];
        too_large[9] = 2;
        assert_eq!(last(&too_large), Err(MarksError::TooLong));
        // Four of the largest distances still have an offset; a fifth has none.
        let mut largest = vec![0xFD];
        largest.extend([0xFF; 8]);
        largest.push(1);
        assert_eq!(read(&largest.repeat(4), 0).unwrap().len(), 4);
        assert_eq!(last(&largest.repeat(5)), Err(MarksError::BeyondPayload));
    }

    #[test]
    #[should_panic(expected = "marks are pushed in order")]
    fn marks_that_go_back_are_not_written() {
        written(
            &[mark(5, MarkKind::End, None), mark(4, MarkKind::End, None)],
            0,
        );
    }

    fn any_marks() -> impl Strategy<Value = Vec<PayloadMark>> {
        let distance = prop_oneof![0..3_u64, 0..70_000_u64, 0..1_u64 << 40];
        let kind = prop_oneof![
            Just(MarkKind::Begin),
            Just(MarkKind::End),
            Just(MarkKind::EndAndBegin)
        ];
        let time = prop_oneof![any::<i64>(), -1000..1000_i64];
        prop::collection::vec((distance, kind, time), 0..50).prop_map(|steps| {
            let mut offset = 0;
            steps
                .into_iter()
                .map(|(distance, kind, time_ns)| {
                    offset += distance;
                    mark(offset, kind, kind.is_begin().then_some(time_ns))
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_whatever_the_times_do(
            marks in any_marks(),
            first_time_ns in any::<i64>(),
        ) {
            let writer = written(&marks, first_time_ns);
            prop_assert_eq!(read(writer.bytes(), first_time_ns).unwrap(), marks.clone());
            let begun = marks.iter().filter(|mark| mark.kind.is_begin()).count();
            prop_assert_eq!(writer.frames_begun(), begun as u64);
        }

        #[test]
        fn every_shortening_gives_fewer_marks_or_an_error(marks in any_marks()) {
            let writer = written(&marks, 0);
            for length in 0..writer.len_bytes() {
                match read(&writer.bytes()[..length], 0) {
                    Ok(fewer) => prop_assert!(marks.starts_with(&fewer) && fewer != marks),
                    Err(error) => prop_assert_eq!(error, MarksError::Truncated),
                }
            }
        }

        #[test]
        fn any_bytes_are_answered_with_marks_in_order(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            first_time_ns in any::<i64>(),
        ) {
            let marks: Vec<_> = MarkReader::new(&bytes, first_time_ns).collect();
            prop_assert!(marks.len() <= bytes.len());
            let good: Vec<PayloadMark> = marks.iter().copied().map_while(Result::ok).collect();
            prop_assert!(good.len() + 1 >= marks.len());
            prop_assert!(good.is_sorted_by_key(|mark| mark.offset_bytes));
            let again = written(&good, first_time_ns);
            prop_assert_eq!(read(again.bytes(), first_time_ns).unwrap(), good);
        }
    }
}
