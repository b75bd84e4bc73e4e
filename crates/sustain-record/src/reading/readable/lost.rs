//! Whether what is not whole on one member of a ring is lost by that. It is not where another
//! member has it, as of what was sent elsewhere when its member failed, or where it is a gap.

use std::ops::Range;

use uuid::Uuid;

use crate::error::RecordError;
use crate::opening::{Recording, was_durable_in_part};
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

    /// Reads what the other members have of it, too. `observer` is told how much that is.
    pub(super) fn is_lost(
        &self,
        store: Checkable<'_>,
        id: Uuid,
        observer: &mut dyn FnMut(u64),
    ) -> Result<bool, RecordError> {
        let Some(recording) = store.recordings.iter().find(|one| one.id == id) else {
            return Ok(false);
        };
        let scope = Scope::of(recording, store.members, store.machines, store.clock);
        for (stream, bytes) in &self.stretches {
            if usize::from(*stream) >= recording.streams.len() {
                continue;
            }
            for part in StreamReader::open(&scope, *stream, &Wanted::Bytes(bytes.clone()))? {
                let part = part?;
                if self.is_lost_in(recording, *stream, &part)
                    && !self.is_kept_elsewhere(&scope, *stream, &part)?
                {
                    return Ok(true);
                }
                observer(part.length_bytes());
            }
        }
        Ok(false)
    }

    /// Whether bytes that are whole on this member, and of which the seal or the marks are not, are
    /// whole on others or a gap there. A reader takes those that were written first, as of a member
    /// that failed before it had its seal.
    fn is_kept_elsewhere(
        &self,
        scope: &Scope,
        stream: u16,
        part: &StreamPart,
    ) -> Result<bool, RecordError> {
        let is_own =
            matches!(part, StreamPart::Data { origin, .. } if origin.member == self.member);
        let mut others = scope.clone();
        others.members.retain(|other| other.index != self.member);
        if !is_own || others.members.is_empty() {
            return Ok(false);
        }
        let end_bytes = part.end_bytes();
        let bytes = Wanted::Bytes(part.offset_bytes()..end_bytes);
        for part in StreamReader::open(&others, stream, &bytes)? {
            let is_kept = match part? {
                StreamPart::Data { origin, .. } => origin.sealed && origin.marks.is_some(),
                StreamPart::Gap { .. } => true,
                StreamPart::OpenEnd { offset_bytes } => offset_bytes >= end_bytes,
                StreamPart::Hole { .. } | StreamPart::Overwritten { .. } => false,
            };
            if !is_kept {
                return Ok(false);
            }
        }
        Ok(true)
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
                let needs_seal = !recording.is_crashed();
                let is_bare = origin.marks.is_none() || needs_seal && !origin.sealed;
                (self.is_torn && is_bare, part.offset_bytes())
            }
            StreamPart::Gap { .. }
            | StreamPart::Overwritten { .. }
            | StreamPart::OpenEnd { .. } => return false,
        };
        is_lost && was_durable_in_part(recording, stream, part.offset_bytes()..to)
    }
}
