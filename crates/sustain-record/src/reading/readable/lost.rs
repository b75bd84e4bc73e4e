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
                let needs_seal = !is_crashed(recording);
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

pub(super) fn is_recovered(recording: &Recording) -> bool {
    let end = recording.end.as_ref();
    end.is_some_and(|end| end.ended == EndNote::RECOVERED)
}

pub(in crate::reading) fn is_crashed(recording: &Recording) -> bool {
    recording.open_end || is_recovered(recording)
}

/// Whether all of a stretch of a stream was durable, as the appends say, or was found whole when it
/// was recovered. What was not is no trace of being written over. An empty stretch stands for the
/// frame marks of the append that begins there.
pub(in crate::reading) fn was_durable(
    recording: &Recording,
    stream: u16,
    stretch: Range<u64>,
) -> bool {
    if recording.open_end {
        let settled_bytes = settled_bytes(recording, stream);
        return stretch.start < settled_bytes && stretch.end <= settled_bytes;
    }
    torn_within(recording, stream, &stretch).next().is_none()
}

/// Whether any of a stretch was: a loss that reaches beyond what was durable is one all the same.
pub(super) fn was_durable_in_part(recording: &Recording, stream: u16, stretch: Range<u64>) -> bool {
    if recording.open_end {
        return stretch.start < settled_bytes(recording, stream);
    }
    if stretch.is_empty() {
        return was_durable(recording, stream, stretch);
    }
    let torn = torn_within(recording, stream, &stretch);
    let torn_bytes: u64 = torn.map(|torn| torn.end - torn.start).sum();
    torn_bytes < stretch.end - stretch.start
}

fn settled_bytes(recording: &Recording, stream: u16) -> u64 {
    let known = recording.streams.get(usize::from(stream));
    known.map_or(0, |known| known.settled_bytes)
}

/// What recovering found torn of a stretch. Of bytes that only adjoin what was torn, and of those
/// of which it found the marks alone damaged, it found all whole.
fn torn_within<'a>(
    recording: &'a Recording,
    stream: u16,
    stretch: &Range<u64>,
) -> impl Iterator<Item = Range<u64>> + use<'a> {
    let stretch = stretch.clone();
    let notes = recording.end.iter().flat_map(|end| &end.torn);
    let of_stream = notes.filter(move |note| note.stream == stream);
    of_stream.filter_map(move |note| {
        let within = note.from_byte.max(stretch.start)..note.to_byte.min(stretch.end);
        let is_touched = within.start <= within.end;
        (is_touched && (stretch.is_empty() || !within.is_empty())).then_some(within)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::TornNote;

    fn recovered(torn: &[(u64, u64)]) -> Recording {
        let note = |(from_byte, to_byte): &(u64, u64)| TornNote {
            stream: 0,
            from_byte: *from_byte,
            to_byte: *to_byte,
        };
        Recording {
            number: 1,
            id: Uuid::nil(),
            started_ns: None,
            ring: true,
            streams: Vec::new(),
            end: Some(EndNote {
                ended: EndNote::RECOVERED.to_owned(),
                streams: Vec::new(),
                torn: torn.iter().map(note).collect(),
                follows_end: None,
                start_was_whole: None,
            }),
            open_end: false,
            readable_from_sequence: None,
            per_member: Vec::new(),
            under_way: false,
            is_gone_from_a_member: false,
        }
    }

    #[test]
    fn what_adjoins_a_torn_stretch_was_found_whole() {
        let recording = recovered(&[(100, 200), (300, 300), (400, 500)]);
        for (stretch, all, part) in [
            (50..100, true, true),
            (50..101, false, true),
            (100..200, false, false),
            (120..150, false, false),
            (200..400, true, true),
            (150..450, false, true),
            (600..700, true, true),
            // Of frame marks.
            (50..50, true, true),
            (100..100, false, false),
            (150..150, false, false),
            (300..300, false, false),
        ] {
            let told = (
                was_durable(&recording, 0, stretch.clone()),
                was_durable_in_part(&recording, 0, stretch.clone()),
            );
            assert_eq!(told, (all, part), "{stretch:?}");
            assert!(was_durable(&recording, 1, stretch));
        }
    }
}
