//! Finds JPEG images that follow one another, as cameras send them (ITU-T T.81, annex B). The
//! framer calls it. It looks only at markers and at the lengths of segments, never into a segment,
//! because an EXIF thumbnail is a JPEG with an EOI of its own.

use super::MarkCollector;

/// The markers that matter here. Each is a byte FF followed by this byte.
mod marker {
    /// The first of the markers that are followed by a segment with its length. Those below are
    /// reserved or stand alone.
    pub const FIRST_WITH_SEGMENT: u8 = 0xC0;
    /// The first of the eight restart markers within entropy-coded data, which stand alone.
    pub const RESTART_FIRST: u8 = 0xD0;
    pub const RESTART_LAST: u8 = 0xD7;
    pub const START_OF_IMAGE: u8 = 0xD8;
    pub const END_OF_IMAGE: u8 = 0xD9;
    /// Any number of FF bytes may precede a marker as fill.
    pub const FILL: u8 = 0xFF;
}

/// The length of a segment counts its own two bytes.
const LENGTH_BYTES: u16 = 2;

#[derive(Debug, Clone, Copy, Default)]
enum JpegState {
    /// No image is open.
    #[default]
    Between,
    /// In an image, looking for the next marker: between segments, or in entropy-coded data. One
    /// state is enough for both: a decoder, too, looks for FF where a marker should be and is not,
    /// and in entropy-coded data it stops at any marker that is not a restart.
    Scan,
    /// Behind a marker that is followed by a segment.
    Length,
    /// Behind the first byte of a segment's length.
    LengthLow { high: u8 },
    /// In a segment.
    Segment { left_bytes: u16 },
}

#[derive(Debug, Clone, Default)]
pub(super) struct JpegFramer {
    state: JpegState,
}

impl JpegFramer {
    /// Takes all bytes, except an FF at the end that may be the first byte of an SOI.
    pub(super) fn push(&mut self, bytes: &[u8], marks: &mut MarkCollector<'_>) -> usize {
        let mut offset = 0;
        while offset < bytes.len() {
            match self.state {
                JpegState::Between | JpegState::Scan => {
                    let Some(distance) = memchr::memchr(0xFF, &bytes[offset..]) else {
                        return bytes.len();
                    };
                    offset += distance;
                    let Some(&code) = bytes.get(offset + 1) else {
                        return offset;
                    };
                    offset = self.marker(code, offset, marks);
                }
                JpegState::Length => {
                    let high = bytes[offset];
                    self.state = JpegState::LengthLow { high };
                    offset += 1;
                }
                JpegState::LengthLow { high } => {
                    let length_bytes = u16::from(high) << 8 | u16::from(bytes[offset]);
                    // 0 and 1 are not valid lengths: the image is damaged, but its end may still be
                    // found.
                    let left_bytes = length_bytes.saturating_sub(LENGTH_BYTES);
                    self.state = JpegState::Segment { left_bytes };
                    offset += 1;
                }
                JpegState::Segment { left_bytes } => {
                    let step = usize::from(left_bytes).min(bytes.len() - offset);
                    offset += step;
                    // The step is at most `left_bytes`, so it fits.
                    let left_bytes = left_bytes - step as u16;
                    self.state = match left_bytes {
                        0 => JpegState::Scan,
                        _ => JpegState::Segment { left_bytes },
                    };
                }
            }
        }
        offset
    }

    /// Acts on the marker at `offset`; returns the offset at which to go on.
    #[inline]
    fn marker(&mut self, code: u8, offset: usize, marks: &mut MarkCollector<'_>) -> usize {
        let behind = offset + 2;
        let in_picture = matches!(self.state, JpegState::Scan);
        match code {
            // The second FF may be the first byte of the marker.
            marker::FILL => return offset + 1,
            marker::START_OF_IMAGE => {
                // A camera that was cut off begins a new image without an EOI.
                if in_picture {
                    marks.end(offset);
                }
                marks.begin(offset);
                self.state = JpegState::Scan;
            }
            marker::END_OF_IMAGE if in_picture => {
                marks.end(behind);
                self.state = JpegState::Between;
            }
            marker::RESTART_FIRST..=marker::RESTART_LAST => {}
            marker::FIRST_WITH_SEGMENT.. if in_picture => self.state = JpegState::Length,
            // This is a zero behind an FF in entropy-coded data. In JPEG-LS it can be any byte
            // below 80; no other use of these numbers has a segment.
            _ => {}
        }
        behind
    }
}
