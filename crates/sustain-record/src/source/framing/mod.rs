//! Finds where frames begin and end in the bytes of a source, which come in pieces of any size. The
//! intake calls it once for every read. It keeps no bytes and never fails a recording: a stream
//! that is not framed as promised goes on without frames.

mod jpeg;
mod length_prefixed;
mod lines;

use std::fmt;
use std::str::FromStr;

use jpeg::JpegFramer;
use length_prefixed::LengthPrefixedFramer;
use lines::LinesFramer;
use sustain_document::setting::FRAMES;

use crate::format::MarkKind;

pub use length_prefixed::LENGTH_BYTES_MAX_DEFAULT;

/// How frames are told apart in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// There are no frames, only bytes.
    None,
    /// A frame is a line with its newline.
    Lines,
    /// A frame is four bytes of length, followed by that many bytes.
    LengthPrefixed {
        /// The byte order of the four bytes.
        byte_order: ByteOrder,
    },
    /// A frame is a JPEG image, from SOI to EOI. Bytes between images belong to no frame.
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

/// All framings, in the order in which they are offered.
pub const FRAMINGS: [Framing; 5] = [
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

/// The error for a text that is not the name of a framing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a framing: use none, lines, length-prefixed, \
     length-prefixed-be or jpeg"
)]
pub struct FramingUnknown {
    /// The text as typed.
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

/// A place in the bytes of one push where a frame begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameMark {
    /// Offset in the pushed bytes, from 0 to their length. The frame begins with the byte at this
    /// offset, or ends with the byte before it.
    pub offset: usize,
    /// Whether a frame begins there, ends there, or both.
    pub kind: MarkKind,
}

/// The error for a stream that is not framed as promised. Its bytes must be kept all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramingError {
    /// The framing that was promised.
    pub framing: Framing,
    /// Offset in the stream of the bytes that cannot be a length.
    pub stream_offset: u64,
    /// The four bytes at that offset.
    pub read: [u8; 4],
    /// The largest length that would have been accepted.
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
            "a frame should begin at byte {} of the stream, but the length there is {length_bytes} \
             bytes (read as {a:02X} {b:02X} {c:02X} {d:02X}), more than the {} that a frame may \
             have; from here on the bytes are kept and frames are no longer marked. Check {}: ",
            self.stream_offset,
            self.length_bytes_max,
            FRAMES.to(self.framing),
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
/// The frames do not depend on how the stream is cut into pushes. Only where a cut falls between
/// two frames that touch, one [`MarkKind::EndAndBegin`] becomes an [`MarkKind::End`] at the end of
/// one push and a [`MarkKind::Begin`] at the start of the next: an end is marked when it is
/// reached, and a begin when its first byte has come.
#[derive(Debug, Clone)]
pub struct Framer {
    framing: Framing,
    parser: Parser,
    /// Bytes taken so far.
    stream_offset: u64,
    /// Offset in the stream at which the open frame begins.
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

    /// Makes a framer for the start of a stream.
    pub fn new(framing: Framing) -> Framer {
        Framer::with_length_bytes_max(framing, LENGTH_BYTES_MAX_DEFAULT)
    }

    /// Makes a framer that accepts lengths up to `length_bytes_max` in front of a frame, instead of
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
    /// It always takes all but the last few. Up to [`Framer::UNDECIDED_BYTES_MAX`] at the end are
    /// left while it is open whether a frame begins with them (the first byte of a JPEG marker, a
    /// piece of a length). The caller pushes these again, in front of the bytes that follow, and
    /// must not write them to a disk before that. At the end of the stream they have no marks.
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
        let mut sink = MarkCollector::new(marks);
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

    /// Bytes of the open frame that are still to come, where its length is known.
    pub fn frame_left_bytes(&self) -> Option<usize> {
        match &self.parser {
            Parser::LengthPrefixed(prefixed) => prefixed.frame_left_bytes(),
            Parser::None | Parser::Lines(_) | Parser::Jpeg(_) => None,
        }
    }

    /// Bytes of the open frame that were taken so far, at least 1; `None` between frames. Dropping
    /// that begins at `None` and stops at an end loses whole frames only.
    pub fn bytes_into_frame(&self) -> Option<u64> {
        self.frame_offset.map(|offset| self.stream_offset - offset)
    }
}

/// Collects the marks that the parsers find in one push.
struct MarkCollector<'marks> {
    marks: &'marks mut Vec<FrameMark>,
    /// The marks before this index come from earlier pushes.
    first: usize,
}

impl MarkCollector<'_> {
    fn new(marks: &mut Vec<FrameMark>) -> MarkCollector<'_> {
        let first = marks.len();
        MarkCollector { marks, first }
    }

    /// Marks that a frame begins with the byte at `offset`.
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

    /// Marks that a frame ends with the byte before `offset`.
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
