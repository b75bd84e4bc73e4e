//! JPEG pictures one after the other, as cameras send them (ITU-T T.81, annex B). Called by the
//! framer. Only markers and the lengths of segments are looked at, never what is in a segment: an
//! EXIF thumbnail is a JPEG of its own, with an EOI that is not the picture's.

use super::Marks;

/// The markers that matter here; each is a byte FF and then this one.
mod marker {
    /// First of those that have a segment with its length behind them; reserved or alone below.
    pub const FIRST_WITH_SEGMENT: u8 = 0xC0;
    /// First of the eight restart markers within entropy-coded data, which stand alone.
    pub const RESTART_FIRST: u8 = 0xD0;
    pub const RESTART_LAST: u8 = 0xD7;
    pub const START_OF_IMAGE: u8 = 0xD8;
    pub const END_OF_IMAGE: u8 = 0xD9;
    /// In front of a marker any number of FF may stand to fill.
    pub const FILL: u8 = 0xFF;
}

/// A length of a segment counts its own two bytes.
const LENGTH_BYTES: u16 = 2;

#[derive(Debug, Clone, Copy, Default)]
enum State {
    /// No picture is open.
    #[default]
    Between,
    /// In a picture, where the next marker is to be found: between segments, or in entropy-coded
    /// data. The two are one: a decoder too looks for FF where a marker should be and is not, and
    /// in entropy-coded data it ends at any marker that is not a restart.
    Scan,
    /// Behind a marker that has a segment.
    Length,
    /// Behind the first byte of a segment's length.
    LengthLow { high: u8 },
    /// In a segment.
    Segment { left_bytes: u16 },
}

#[derive(Debug, Clone, Default)]
pub(super) struct JpegFramer {
    state: State,
}

impl JpegFramer {
    /// Takes all bytes but an FF at the end that may be the first byte of an SOI.
    pub(super) fn push(&mut self, bytes: &[u8], marks: &mut Marks<'_>) -> usize {
        let mut offset = 0;
        while offset < bytes.len() {
            match self.state {
                State::Between | State::Scan => {
                    let Some(distance) = memchr::memchr(0xFF, &bytes[offset..]) else {
                        return bytes.len();
                    };
                    offset += distance;
                    let Some(&code) = bytes.get(offset + 1) else {
                        return offset;
                    };
                    offset = self.marker(code, offset, marks);
                }
                State::Length => {
                    let high = bytes[offset];
                    self.state = State::LengthLow { high };
                    offset += 1;
                }
                State::LengthLow { high } => {
                    let length_bytes = u16::from(high) << 8 | u16::from(bytes[offset]);
                    // 0 and 1 cannot be: the picture is damaged, its end may still be found.
                    let left_bytes = length_bytes.saturating_sub(LENGTH_BYTES);
                    self.state = State::Segment { left_bytes };
                    offset += 1;
                }
                State::Segment { left_bytes } => {
                    let step = usize::from(left_bytes).min(bytes.len() - offset);
                    offset += step;
                    // It is at most `left_bytes`, so it fits.
                    let left_bytes = left_bytes - step as u16;
                    self.state = match left_bytes {
                        0 => State::Scan,
                        _ => State::Segment { left_bytes },
                    };
                }
            }
        }
        offset
    }

    /// Does what the marker at `offset` says; returns where to go on.
    #[inline]
    fn marker(&mut self, code: u8, offset: usize, marks: &mut Marks<'_>) -> usize {
        let behind = offset + 2;
        let in_picture = matches!(self.state, State::Scan);
        match code {
            // The second FF may be the first byte of the marker.
            marker::FILL => return offset + 1,
            marker::START_OF_IMAGE => {
                // A camera that was cut off begins anew without an EOI.
                if in_picture {
                    marks.end(offset);
                }
                marks.begin(offset);
                self.state = State::Scan;
            }
            marker::END_OF_IMAGE if in_picture => {
                marks.end(behind);
                self.state = State::Between;
            }
            marker::RESTART_FIRST..=marker::RESTART_LAST => {}
            marker::FIRST_WITH_SEGMENT.. if in_picture => self.state = State::Length,
            // A zero behind an FF of entropy-coded data. In JPEG-LS this is any byte below 80; no
            // other use of these numbers has a segment.
            _ => {}
        }
        behind
    }
}
