//! The marks of frames that lie in a part of a stream.

use super::part::StreamPart;
use crate::format::MarkKind;

/// A mark with its offset in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlacedMark {
    pub(super) offset_bytes: u64,
    pub(super) kind: MarkKind,
    /// The number and the time of the frame that begins there.
    pub(super) number: Option<(u64, i64)>,
}

/// The marks that lie in a part, or at its end if its append ends there. `None` if it is not known
/// where frames begin in it.
pub(super) fn marks_in(part: &StreamPart) -> Option<Vec<PlacedMark>> {
    let origin = match part {
        StreamPart::Data { origin, .. } => origin,
        StreamPart::Hole { origin, .. } => origin.as_ref()?,
        StreamPart::Gap { .. } | StreamPart::OpenEnd { .. } => return Some(Vec::new()),
        StreamPart::Overwritten { .. } => return None,
    };
    let descriptor = &origin.descriptor;
    origin.marks.as_ref()?;
    let marks = origin.marks().ok()?;
    let mut next_number = descriptor.first_frame;
    let (start, end) = (part.offset_bytes(), part.end_bytes());
    let mut marked = Vec::new();
    for mark in marks {
        let offset_bytes = descriptor.stream_offset_bytes + mark.offset_bytes;
        let number = mark.time_ns.map(|time_ns| (next_number, time_ns));
        next_number += u64::from(number.is_some());
        let is_last = offset_bytes == end && end == origin.end_bytes();
        if (start..end).contains(&offset_bytes) || is_last {
            marked.push(PlacedMark {
                offset_bytes,
                kind: mark.kind,
                number,
            });
        }
    }
    Some(marked)
}
