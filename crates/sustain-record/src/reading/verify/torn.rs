//! What a crash may take of a recording, told from what was durable. Pure; the account of the check
//! calls it.

use super::Bad;
use crate::format::TornNote;
use crate::opening::Recording;
use crate::store::Recovered;

/// A flaw that a crash leaves where nothing was durable yet.
pub(super) struct Torn {
    pub(super) bad: Bad,
    /// Where its append lies, if the flaw is not in a stream: member in the scope, and sequence.
    pub(super) append: Option<(usize, u64)>,
}

/// Whether a crash has ended it: it has no end mark, or one that was written afterwards.
pub(super) fn is_crashed(recording: &Recording) -> bool {
    recording.open_end || is_recovered(recording)
}

pub(super) fn is_recovered(recording: &Recording) -> bool {
    let end = recording.end.as_ref();
    end.is_some_and(|end| end.ended == Recovered::ENDED)
}

/// A stretch that is lost for one reason is one flaw: whether it goes on in this one.
pub(super) fn goes_on(last: &mut Bad, bad: &Bad) -> bool {
    let is_one = bad.from_byte < bad.to_byte
        && last.stream == bad.stream
        && last.to_byte == bad.from_byte
        && last.from_byte < last.to_byte
        && last.member == bad.member
        && last.why == bad.why
        && last.offset_bytes.is_none()
        && bad.offset_bytes.is_none();
    if is_one {
        last.to_byte = bad.to_byte;
    }
    is_one
}

/// What of a flaw was there when it was recovered, and what has come since.
pub(super) fn since_recovered(bad: Bad, torn: &[TornNote]) -> (Vec<Bad>, Vec<Bad>) {
    let (mut from, to) = (bad.from_byte.unwrap_or(0), bad.to_byte.unwrap_or(0));
    let of_stream = |note: &&TornNote| {
        Some(note.stream) == bad.stream && note.from_byte <= to && from <= note.to_byte
    };
    let notes: Vec<&TornNote> = torn.iter().filter(of_stream).collect();
    if from == to {
        return match notes.is_empty() {
            false => (vec![bad], Vec::new()),
            true => (Vec::new(), vec![bad]),
        };
    }
    let stretch = |from: u64, to: u64| Bad {
        from_byte: Some(from),
        to_byte: Some(to),
        ..bad.clone()
    };
    let (mut before, mut since) = (Vec::new(), Vec::new());
    for note in notes {
        let begin = note.from_byte.clamp(from, to);
        let end = note.to_byte.clamp(begin, to);
        if from < begin {
            since.push(stretch(from, begin));
        }
        if begin < end {
            before.push(stretch(begin, end));
        }
        from = end;
    }
    if from < to {
        since.push(stretch(from, to));
    }
    (before, since)
}

/// What of a flaw lies below a byte of its stream, and what lies behind.
pub(super) fn divide(bad: Bad, at_byte: u64) -> (Option<Bad>, Option<Bad>) {
    let (from, to) = (bad.from_byte.unwrap_or(0), bad.to_byte.unwrap_or(0));
    if from >= at_byte {
        return (None, Some(bad));
    }
    if to <= at_byte {
        return (Some(bad), None);
    }
    let below = Bad {
        to_byte: Some(at_byte),
        ..bad.clone()
    };
    let behind = Bad {
        from_byte: Some(at_byte),
        ..bad
    };
    (Some(below), Some(behind))
}
