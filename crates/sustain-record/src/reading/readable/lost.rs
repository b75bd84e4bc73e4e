//! Whether what is not whole on one member of a ring is lost by that. It is not where another
//! member has it, as of what was sent elsewhere when its member failed, or where it is a gap.

use std::ops::Range;

use uuid::Uuid;

use crate::error::RecordError;
use crate::format::EndNote;
use crate::opening::Recording;
use crate::reading::checkable::Checkable;
use crate::reading::part::{HoleReason, Origin, StreamPart};
use crate::reading::range::Range as Wanted;
use crate::reading::scope::Scope;
use crate::reading::stream::StreamReader;

/// What a member does not have any more, or not whole.
#[derive(Debug)]
pub(super) struct Doubt {
    /// The member's index in the store.
    member: usize,
    /// Whether its append is there, and not whole.
    is_torn: bool,
    /// By stream, where it lies.
    stretches: Vec<(u16, Range<u64>)>,
}

impl Doubt {
    /// Of an append that is not whole.
    pub(super) fn torn(origin: &Origin) -> Doubt {
        let descriptor = &origin.descriptor;
        let bytes = descriptor.stream_offset_bytes..origin.end_bytes();
        Doubt {
            member: origin.member,
            is_torn: true,
            stretches: vec![(descriptor.stream, bytes)],
        }
    }

    /// Of appends that are not there.
    pub(super) fn missing(member: usize, stretches: Vec<(u16, Range<u64>)>) -> Doubt {
        Doubt {
            member,
            is_torn: false,
            stretches,
        }
    }

    /// Reads what the other members have of it, too.
    pub(super) fn is_lost(&self, store: Checkable<'_>, id: Uuid) -> Result<bool, RecordError> {
        let Some(recording) = store.recordings.iter().find(|one| one.id == id) else {
            return Ok(false);
        };
        let scope = Scope::of(recording, store.members, store.machines, store.clock);
        for (stream, bytes) in &self.stretches {
            if usize::from(*stream) >= recording.streams.len() {
                continue;
            }
            for part in StreamReader::open(&scope, *stream, &Wanted::Bytes(bytes.clone()))? {
                if self.is_lost_in(recording, *stream, &part?) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn is_lost_in(&self, recording: &Recording, stream: u16, part: &StreamPart) -> bool {
        let (is_lost, to) = match part {
            StreamPart::Hole { why, .. } => {
                let is_trace = match why {
                    HoleReason::Missing | HoleReason::WrittenOver => true,
                    HoleReason::Damaged { member, .. } => self.is_torn || *member != self.member,
                    HoleReason::Unreadable { .. } => false,
                };
                (is_trace, part.end_bytes())
            }
            StreamPart::Data { origin, .. } => {
                let needs_seal = !is_crashed(recording);
                let is_bare = origin.marks.is_none() || needs_seal && !origin.sealed;
                (self.is_torn && is_bare, part.offset_bytes())
            }
            StreamPart::Gap { .. }
            | StreamPart::Overwritten { .. }
            | StreamPart::OpenEnd { .. } => return false,
        };
        is_lost && was_durable(recording, stream, part.offset_bytes()..to)
    }
}

pub(super) fn is_recovered(recording: &Recording) -> bool {
    let end = recording.end.as_ref();
    end.is_some_and(|end| end.ended == EndNote::RECOVERED)
}

pub(in crate::reading) fn is_crashed(recording: &Recording) -> bool {
    recording.open_end || is_recovered(recording)
}

/// Whether all of a stretch of a stream was durable, as the appends say, or was found whole when it
/// was recovered. What was not is no trace of being written over.
pub(in crate::reading) fn was_durable(
    recording: &Recording,
    stream: u16,
    stretch: Range<u64>,
) -> bool {
    if recording.open_end {
        let known = recording.streams.get(usize::from(stream));
        let settled_bytes = known.map_or(0, |known| known.settled_bytes);
        return stretch.start < settled_bytes && stretch.end <= settled_bytes;
    }
    let mut torn = recording.end.iter().flat_map(|end| &end.torn);
    !torn.any(|note| {
        note.stream == stream && note.from_byte <= stretch.end && stretch.start <= note.to_byte
    })
}
