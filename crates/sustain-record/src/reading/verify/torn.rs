//! What a crash may take of a recording, told from what was durable. Pure; the account of the check
//! calls it.

use super::Bad;
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
