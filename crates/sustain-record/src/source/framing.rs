//! Finds where frames begin and end in the bytes of a source, as they come, in pieces of any size.
//! Called by the recorder once for every read. It keeps no bytes, and never fails a recording: a
//! stream that is not framed as promised goes on without frames.

mod jpeg;
mod length_prefixed;
mod lines;

use std::fmt;
use std::str::FromStr;

use jpeg::JpegFramer;
use length_prefixed::LengthPrefixedFramer;
use lines::LinesFramer;

use crate::format::MarkKind;

pub use length_prefixed::LENGTH_BYTES_MAX_DEFAULT;

/// How frames are told apart in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// No frames: only bytes.
    None,
    /// A frame is a line with its newline.
    Lines,
    /// A frame is four bytes of length and as many bytes as they say.
    LengthPrefixed {
        /// Of the four bytes.
        byte_order: ByteOrder,
    },
    /// A frame is a JPEG picture, from SOI to EOI; bytes between pictures belong to none.
    Jpeg,
}

/// Which byte of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The least significant one.
    Little,
    /// The most significant one.
    Big,
}

/// Every framing there is, in the order in which they are offered.
const FRAMINGS: [Framing; 5] = [
    Framing::None,
    Framing::Lines,
    Framing::LengthPrefixed {
        byte_order: ByteOrder::Little,
    },
    Framing::LengthPrefixed {
        byte_order: ByteOrder::Big,
    },
    Framing::Jpeg,
];

impl Framing {
    /// The name on the command line and in a recording's start.
    pub fn name(self) -> &'static str {
        match self {
            Framing::None => "none",
            Framing::Lines => "lines",
            Framing::LengthPrefixed {
                byte_order: ByteOrder::Little,
            } => "length-prefixed",
            Framing::LengthPrefixed {
                byte_order: ByteOrder::Big,
            } => "length-prefixed-be",
            Framing::Jpeg => "jpeg",
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that is the name of no framing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no way to tell frames apart: write none, lines, length-prefixed, \
     length-prefixed-be or jpeg"
)]
pub struct FramingUnknown {
    /// What was typed.
    pub text: String,
}

impl FromStr for Framing {
    type Err = FramingUnknown;

    fn from_str(text: &str) -> Result<Framing, FramingUnknown> {
        let known = FRAMINGS.into_iter().find(|framing| framing.name() == text);
        known.ok_or_else(|| FramingUnknown {
            text: text.to_owned(),
        })
    }
}

/// Where a frame begins or ends in the bytes of one push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameMark {
    /// Offset in the pushed bytes, from 0 up to their length: the frame begins with the byte at it,
    /// or ends with the byte before it.
    pub offset: usize,
    /// What is there.
    pub kind: MarkKind,
}

/// A stream that is not framed as promised. Its bytes are to be kept all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramingError {
    /// What was promised.
    pub framing: Framing,
    /// Offset in the stream of the length that cannot be one.
    pub stream_offset: u64,
    /// The four bytes that are there.
    pub read: [u8; 4],
    /// The largest length that would have been believed.
    pub length_bytes_max: u32,
}

impl std::error::Error for FramingError {}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let little = u32::from_le_bytes(self.read);
        let (length_bytes, swapped, other) = match self.framing {
            Framing::LengthPrefixed {
                byte_order: ByteOrder::Big,
            } => (little.swap_bytes(), little, ByteOrder::Little),
            _ => (little, little.swap_bytes(), ByteOrder::Big),
        };
        let [a, b, c, d] = self.read;
        write!(
            f,
            "byte {} of the stream should begin a frame, but the length there is {length_bytes} \
             bytes (read as {a:02X} {b:02X} {c:02X} {d:02X}), more than the {} a frame may have; \
             frames are no longer marked from here on, the bytes are kept. Check --frames {}: ",
            self.stream_offset, self.length_bytes_max, self.framing,
        )?;
        if swapped <= self.length_bytes_max {
            let other = Framing::LengthPrefixed { byte_order: other };
            write!(f, "with {other} the length would be {swapped} bytes")
        } else {
            write!(
                f,
                "does the source put four bytes of length before each frame?"
            )
        }
    }
}

/// Finds the frames of one stream.
///
/// However the stream is cut into pushes, the frames are the same. Only where a cut falls between
/// two frames that touch, an [`MarkKind::EndAndBegin`] becomes an [`MarkKind::End`] at the end of
/// one push and a [`MarkKind::Begin`] at the start of the next: an end is told when it is reached,
/// and a begin when its first byte has come.
#[derive(Debug, Clone)]
pub struct Framer {
    framing: Framing,
    parser: Parser,
    /// Bytes taken so far.
    stream_offset: u64,
    /// Where the open frame begins in the stream.
    frame_offset: Option<u64>,
}

#[derive(Debug, Clone)]
enum Parser {
    None,
    Lines(LinesFramer),
    LengthPrefixed(LengthPrefixedFramer),
    Jpeg(JpegFramer),
}

impl Framer {
    /// The most bytes that a push leaves to the next one.
    pub const UNDECIDED_BYTES_MAX: usize = 3;

    /// A framer at the start of a stream.
    pub fn new(framing: Framing) -> Framer {
        Framer::with_length_bytes_max(framing, LENGTH_BYTES_MAX_DEFAULT)
    }

    /// A framer that believes a length in front of a frame up to `length_bytes_max` instead of
    /// [`LENGTH_BYTES_MAX_DEFAULT`]. Other framings have no lengths.
    pub fn with_length_bytes_max(framing: Framing, length_bytes_max: u32) -> Framer {
        let parser = match framing {
            Framing::None => Parser::None,
            Framing::Lines => Parser::Lines(LinesFramer::default()),
            Framing::LengthPrefixed { byte_order } => {
                Parser::LengthPrefixed(LengthPrefixedFramer::new(byte_order, length_bytes_max))
            }
            Framing::Jpeg => Parser::Jpeg(JpegFramer::default()),
        };
        Framer {
            framing,
            parser,
            stream_offset: 0,
            frame_offset: None,
        }
    }

    /// Takes the next bytes of the stream, appends their marks, and returns how many bytes it took.
    ///
    /// All but the last few are always taken. Up to [`Framer::UNDECIDED_BYTES_MAX`] at the end are
    /// left while it is open whether a frame begins with them (the first byte of a JPEG marker, a
    /// piece of a length). Push these again, in front of the bytes that follow, and let nothing of
    /// them leave for the disk before; at the end of the stream they are taken to be without marks.
    /// `none` and `lines` leave nothing.
    ///
    /// # Errors
    /// [`FramingError`] once, when the stream turns out not to be framed as promised. All bytes are
    /// taken then, and `marks` has what was found before. From there on there are no frames.
    pub fn push(
        &mut self,
        bytes: &[u8],
        marks: &mut Vec<FrameMark>,
    ) -> Result<usize, FramingError> {
        let mut sink = Marks::new(marks);
        let taken = match &mut self.parser {
            Parser::None => Ok(bytes.len()),
            Parser::Lines(lines) => Ok(lines.push(bytes, &mut sink)),
            Parser::LengthPrefixed(prefixed) => prefixed.push(bytes, &mut sink),
            Parser::Jpeg(jpeg) => Ok(jpeg.push(bytes, &mut sink)),
        };
        match sink.last() {
            None => {}
            Some(mark) if mark.kind == MarkKind::End => self.frame_offset = None,
            Some(mark) => self.frame_offset = Some(self.stream_offset + mark.offset as u64),
        }
        let taken = taken.map_err(|implausible| {
            self.parser = Parser::None;
            let prefix_offset = self.stream_offset + implausible.offset as u64;
            self.stream_offset += bytes.len() as u64;
            FramingError {
                framing: self.framing,
                stream_offset: prefix_offset,
                read: implausible.read,
                length_bytes_max: implausible.length_bytes_max,
            }
        })?;
        self.stream_offset += taken as u64;
        Ok(taken)
    }

    /// How many bytes of the open frame were taken so far, at least 1; `None` between frames.
    /// Dropping that begins at `None` and stops at an end loses whole frames only.
    pub fn bytes_into_frame(&self) -> Option<u64> {
        self.frame_offset.map(|offset| self.stream_offset - offset)
    }
}

/// Where the parsers put what they find: the marks of one push.
struct Marks<'marks> {
    marks: &'marks mut Vec<FrameMark>,
    /// Those before are of other pushes.
    first: usize,
}

impl Marks<'_> {
    fn new(marks: &mut Vec<FrameMark>) -> Marks<'_> {
        let first = marks.len();
        Marks { marks, first }
    }

    /// A frame begins with the byte at `offset`.
    #[inline]
    fn begin(&mut self, offset: usize) {
        let kind = MarkKind::Begin;
        match self.marks[self.first..].last_mut() {
            Some(last) if last.offset == offset && last.kind == MarkKind::End => {
                last.kind = MarkKind::EndAndBegin;
            }
            _ => self.marks.push(FrameMark { offset, kind }),
        }
    }

    /// A frame ends with the byte before `offset`.
    #[inline]
    fn end(&mut self, offset: usize) {
        let kind = MarkKind::End;
        self.marks.push(FrameMark { offset, kind });
    }

    fn last(&self) -> Option<FrameMark> {
        self.marks[self.first..].last().copied()
    }
}

#[cfg(test)]
mod tests;
