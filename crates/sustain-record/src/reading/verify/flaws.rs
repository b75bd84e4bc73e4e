//! The flaws of one recording while it is checked, told apart from what a crash has taken before it
//! was durable: how far all was durable is known only at the end. Pure.

use std::collections::BTreeMap;

use super::torn::{Torn, TornUnlisted, divide, goes_on, since_recovered};
use super::{BAD_MAX, Discrepancy, VerifiedStream};
use crate::format::Kind;
use crate::opening::Recording;
use crate::reading::part::Origin;

/// The flaws that were found so far.
pub(super) struct Flaws<'a> {
    recording: &'a Recording,
    bad: Vec<Discrepancy>,
    /// Flaws that are counted only.
    unlisted: u64,
    /// Whether a crash has ended the recording, and all that it has left is there: then what was
    /// not durable may be torn.
    may_be_torn: bool,
    /// By stream how far all was durable, as the appends that were found say.
    durable_bytes: Vec<u64>,
    /// By member of the scope, up to where its appends were durable.
    flushed_sequences: Vec<u64>,
    /// What may be torn, unless something durable turns out to be behind it.
    torn: Vec<Torn>,
    torn_unlisted: TornUnlisted,
    /// By member of the scope, its appends without a seal, of a recording that a crash has ended,
    /// that nothing has called durable so far, by their sequences. They are damaged if they were.
    unsealed: Vec<BTreeMap<u64, Discrepancy>>,
}

/// All flaws, once everything was seen.
pub(super) struct ReportedFlaws {
    pub(super) bad: Vec<Discrepancy>,
    /// More flaws than are listed.
    pub(super) unlisted: u64,
    /// What a crash took before it was durable.
    pub(super) not_durable: Vec<Discrepancy>,
    /// More of it than is listed.
    pub(super) not_durable_unlisted: u64,
}

impl<'a> Flaws<'a> {
    /// `is_all_there` says whether no member of the store is missing, or has lost its end.
    pub(super) fn new(recording: &'a Recording, members: usize, is_all_there: bool) -> Flaws<'a> {
        Flaws {
            recording,
            bad: Vec::new(),
            unlisted: 0,
            may_be_torn: is_all_there && recording.is_crashed() && !has_lost_end(recording),
            durable_bytes: vec![0; recording.streams.len()],
            flushed_sequences: vec![0; members],
            torn: Vec::new(),
            torn_unlisted: TornUnlisted::default(),
            unsealed: vec![BTreeMap::new(); members],
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.bad.len() as u64 + self.unlisted
    }

    /// What an append says of what was durable when it was made.
    pub(super) fn note_durable(&mut self, member: usize, origin: &Origin) {
        let descriptor = &origin.descriptor;
        // What recovering wrote says what was found, not what was durable.
        if descriptor.kind == Kind::End && self.recording.is_recovered() {
            return;
        }
        let flushed = &mut self.flushed_sequences[member];
        *flushed = descriptor.flushed_sequence.max(*flushed);
        for (durable, position) in self.durable_bytes.iter_mut().zip(&descriptor.positions) {
            *durable = position.settled_offset_bytes.max(*durable);
        }
        self.report_unsealed(member);
    }

    pub(super) fn add(&mut self, bad: Discrepancy) {
        if let Some(last) = self.bad.last_mut()
            && goes_on(last, &bad)
        {
            return;
        }
        if self.bad.len() < BAD_MAX {
            self.bad.push(bad);
        } else {
            self.unlisted += 1;
        }
    }

    /// An append of a member of the scope has lost its seal, and its bytes are whole. Before a
    /// flush a crash may do that, and later appends tell of flushes. They do not come in the order
    /// of their sequences: one that has no bytes comes when it is found, and others when their
    /// bytes do. No recorder leaves so many unflushed as are kept here.
    pub(super) fn add_unsealed(&mut self, member: usize, sequence: u64, bad: Discrepancy) {
        if self.unsealed[member].len() < BAD_MAX {
            self.unsealed[member].insert(sequence, bad);
        }
        self.report_unsealed(member);
    }

    /// Tells of the appends without a seal that turned out to be durable.
    fn report_unsealed(&mut self, member: usize) {
        let flushed_sequence = self.flushed_sequences[member];
        while let Some(first) = self.unsealed[member].first_entry()
            && *first.key() <= flushed_sequence
        {
            let bad = first.remove();
            self.add(bad);
        }
    }

    /// A mark on a member of the scope was not whole when a power cut came or the member was given
    /// up, unless an append behind it calls it flushed.
    pub(super) fn add_undurable_mark(&mut self, member: usize, sequence: u64, bad: Discrepancy) {
        self.keep_torn(Torn {
            bad,
            append: Some((member, sequence)),
        });
    }

    /// A crash may have left it, if nothing of it was durable.
    pub(super) fn add_or_torn(&mut self, bad: Discrepancy, append: Option<(usize, u64)>) {
        let torn = Torn { bad, append };
        let durable_bytes = self.durable_before(&torn);
        let is_durable = torn.append.is_none()
            && torn.bad.from_byte < Some(durable_bytes)
            && torn.bad.to_byte <= Some(durable_bytes);
        if !self.may_be_torn || is_durable {
            return self.add(torn.bad);
        }
        // What recovering found whole is held against the members from then on.
        let recovered = self
            .recording
            .end
            .as_ref()
            .filter(|_| torn.append.is_none());
        let Some(end) = recovered else {
            return self.keep_torn(torn);
        };
        let (before, since) = since_recovered(torn.bad, &end.torn);
        since.into_iter().for_each(|bad| self.add(bad));
        for bad in before {
            self.keep_torn(Torn { bad, append: None });
        }
    }

    fn keep_torn(&mut self, torn: Torn) {
        if let Some(last) = self.torn.last_mut()
            && last.append.is_none()
            && torn.append.is_none()
            && goes_on(&mut last.bad, &torn.bad)
        {
            return;
        }
        if self.torn.len() < BAD_MAX {
            self.torn.push(torn);
        } else {
            self.torn_unlisted.add(&torn);
        }
    }

    /// Below this byte of its stream all was durable; of an append all of it or nothing.
    fn durable_before(&self, torn: &Torn) -> u64 {
        match torn.append {
            Some((member, sequence)) if sequence <= self.flushed_sequences[member] => u64::MAX,
            Some(_) => 0,
            None => {
                let stream = torn.bad.stream.map(usize::from);
                let durable = stream.and_then(|stream| self.durable_bytes.get(stream));
                durable.copied().unwrap_or(u64::MAX)
            }
        }
    }

    /// All has been seen. `given_up` is what no append calls durable for another reason.
    pub(super) fn finish(
        mut self,
        given_up: Vec<Discrepancy>,
        streams: &mut [VerifiedStream],
    ) -> ReportedFlaws {
        let mut not_durable = given_up;
        for one in std::mem::take(&mut self.torn) {
            let durable_bytes = self.durable_before(&one);
            let (durable, undurable) = divide(one.bad, durable_bytes);
            durable.into_iter().for_each(|bad| self.add(bad));
            not_durable.extend(undurable);
        }
        for (stream, durable_bytes) in streams.iter_mut().zip(&self.durable_bytes) {
            stream.settled_bytes = *durable_bytes;
        }
        let not_durable_unlisted = self.torn_unlisted.finish(streams);
        self.unlisted += self.torn_unlisted.count - not_durable_unlisted;
        for bad in &not_durable {
            let lost_bytes = bad.to_byte.unwrap_or(0) - bad.from_byte.unwrap_or(0);
            let stream = bad
                .stream
                .and_then(|stream| streams.get_mut(usize::from(stream)));
            if let Some(stream) = stream {
                stream.not_durable_bytes += lost_bytes;
            }
        }
        ReportedFlaws {
            bad: self.bad,
            unlisted: self.unlisted,
            not_durable,
            not_durable_unlisted,
        }
    }
}

/// Whether it is known that an end mark of it was durable which is not found.
fn has_lost_end(recording: &Recording) -> bool {
    let mut extents = recording.per_member.iter().flatten();
    extents.any(|extent| extent.lost_end.is_some())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// A recording that a crash has ended.
    fn crashed() -> Recording {
        Recording {
            number: 1,
            id: Uuid::nil(),
            started_ns: None,
            ring: false,
            streams: Vec::new(),
            end: None,
            open_end: true,
            readable_from_sequence: None,
            per_member: Vec::new(),
            under_way: false,
            is_gone_from_a_member: false,
            pin: None,
            parities: None,
            copies_of: None,
            absent: Vec::new(),
            lacks_end_of_pin: false,
            kept_from_ns: None,
        }
    }

    fn bad(offset_bytes: u64) -> Discrepancy {
        Discrepancy {
            member: None,
            offset_bytes: Some(offset_bytes),
            pin: None,
            recording: Some(1),
            stream: Some(0),
            from_byte: Some(0),
            to_byte: Some(0),
            why: "the seal is damaged".to_owned(),
        }
    }

    #[test]
    fn a_durable_seal_that_is_lost_is_told_behind_one_that_was_not_durable() {
        let recording = crashed();
        let mut flaws = Flaws::new(&recording, 1, true);
        flaws.flushed_sequences[0] = 5;
        // An account of a gap comes when it is found, before the bytes of appends that lie first.
        flaws.add_unsealed(0, 9, bad(9));
        flaws.add_unsealed(0, 4, bad(4));
        let reported = flaws.finish(Vec::new(), &mut []);
        assert_eq!(reported.bad, [bad(4)]);
    }

    #[test]
    fn seals_lost_beyond_the_list_are_counted_once_they_are_known_to_have_been_durable() {
        let recording = crashed();
        let mut flaws = Flaws::new(&recording, 1, true);
        let durable = BAD_MAX as u64 + 5;
        for sequence in 1..=durable + 2 {
            // A flush shows behind every tenth append.
            flaws.flushed_sequences[0] = (sequence / 10 * 10).min(durable);
            flaws.add_unsealed(0, sequence, bad(sequence));
        }
        flaws.flushed_sequences[0] = durable;
        flaws.report_unsealed(0);
        let reported = flaws.finish(Vec::new(), &mut []);
        assert_eq!((reported.bad.len(), reported.unlisted), (BAD_MAX, 5));
    }
}
