//! Tells what a crash may have taken of a recording, given what was durable. It is pure; the
//! account of the check calls it.

use std::collections::BTreeMap;

use super::{Discrepancy, VerifiedStream};
use crate::format::TornNote;

/// A flaw that a crash leaves where nothing was durable yet.
pub(super) struct Torn {
    pub(super) bad: Discrepancy,
    /// The append, if the flaw is not in a stream: member in the scope, and sequence.
    pub(super) append: Option<(usize, u64)>,
}

/// Torn stretches beyond those that are listed, counted by stream.
#[derive(Default)]
pub(super) struct TornUnlisted {
    pub(super) count: u64,
    by_stream: BTreeMap<u16, TornCount>,
}

struct TornCount {
    count: u64,
    from_byte: u64,
    bytes: u64,
}

impl TornUnlisted {
    pub(super) fn add(&mut self, torn: &Torn) {
        self.count += 1;
        let (from, to) = (torn.bad.from_byte, torn.bad.to_byte);
        let (Some(stream), Some(from_byte), Some(to_byte)) = (torn.bad.stream, from, to) else {
            return;
        };
        let none = TornCount {
            count: 0,
            from_byte,
            bytes: 0,
        };
        let counted = self.by_stream.entry(stream).or_insert(none);
        counted.count += 1;
        counted.from_byte = counted.from_byte.min(from_byte);
        counted.bytes += to_byte - from_byte;
    }

    /// The number that a crash may have left. If a part of a stream turned out to be durable, it is
    /// not known any more which of them lie in it, and none is excused.
    pub(super) fn finish(&self, streams: &mut [VerifiedStream]) -> u64 {
        let mut count = 0;
        for (number, counted) in &self.by_stream {
            let stream = streams.get_mut(usize::from(*number));
            if let Some(stream) = stream.filter(|one| one.settled_bytes <= counted.from_byte) {
                stream.not_durable_bytes += counted.bytes;
                count += counted.count;
            }
        }
        count
    }
}

/// Whether a stretch goes on in this one. A stretch that is lost for one reason is one flaw.
pub(super) fn goes_on(last: &mut Discrepancy, bad: &Discrepancy) -> bool {
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

/// Divides a flaw into what was there when the recording was recovered, and what has come since.
pub(super) fn since_recovered(
    bad: Discrepancy,
    torn: &[TornNote],
) -> (Vec<Discrepancy>, Vec<Discrepancy>) {
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
    let stretch = |from: u64, to: u64| Discrepancy {
        from_byte: Some(from),
        to_byte: Some(to),
        ..bad.clone()
    };
    let (mut before, mut since) = (Vec::new(), Vec::new());
    for note in notes.iter().filter(|note| note.from_byte < note.to_byte) {
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

/// Divides a flaw into what lies below a byte of its stream, and what lies behind.
pub(super) fn divide(bad: Discrepancy, at_byte: u64) -> (Option<Discrepancy>, Option<Discrepancy>) {
    let (from, to) = (bad.from_byte.unwrap_or(0), bad.to_byte.unwrap_or(0));
    if from >= at_byte {
        return (None, Some(bad));
    }
    if to <= at_byte {
        return (Some(bad), None);
    }
    let below = Discrepancy {
        to_byte: Some(at_byte),
        ..bad.clone()
    };
    let behind = Discrepancy {
        from_byte: Some(at_byte),
        ..bad
    };
    (Some(below), Some(behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(from: u64, to: u64) -> Discrepancy {
        Discrepancy {
            member: None,
            offset_bytes: None,
            pin: None,
            recording: Some(1),
            stream: Some(0),
            from_byte: Some(from),
            to_byte: Some(to),
            why: "the checksum is wrong".to_owned(),
        }
    }

    #[test]
    fn what_is_torn_beyond_the_list_is_counted_and_no_fault_unless_it_was_durable() {
        let mut unlisted = TornUnlisted::default();
        for from in [1000, 3000, 5000] {
            let bad = bad(from, from + 10);
            unlisted.add(&Torn { bad, append: None });
        }
        assert_eq!(unlisted.count, 3);
        for (settled_bytes, count, not_durable_bytes) in [(1000, 3, 30), (1001, 0, 0)] {
            let mut streams = [VerifiedStream {
                settled_bytes,
                ..VerifiedStream::default()
            }];
            assert_eq!(unlisted.finish(&mut streams), count);
            assert_eq!(streams[0].not_durable_bytes, not_durable_bytes);
        }
    }

    #[test]
    fn only_what_recovering_found_missing_is_excused() {
        let note = |stream, from_byte, to_byte| TornNote {
            stream,
            from_byte,
            to_byte,
        };
        let torn = [note(1, 0, 1000), note(0, 20, 40), note(0, 60, 60)];
        let reported = |bads: Vec<Discrepancy>| -> Vec<(u64, u64)> {
            let ranges = bads.into_iter();
            ranges
                .map(|bad| (bad.from_byte.unwrap(), bad.to_byte.unwrap()))
                .collect()
        };
        for (from, to, before, since) in [
            (10, 50, vec![(20, 40)], vec![(10, 20), (40, 50)]),
            (25, 30, vec![(25, 30)], vec![]),
            (40, 70, vec![], vec![(40, 70)]),
            (60, 60, vec![(60, 60)], vec![]),
            (61, 61, vec![], vec![(61, 61)]),
        ] {
            let (was, came) = since_recovered(bad(from, to), &torn);
            assert_eq!(
                (reported(was), reported(came)),
                (before, since),
                "{from} to {to}"
            );
        }
    }
}
