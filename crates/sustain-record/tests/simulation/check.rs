//! Checks what can be read of a store against what was promised.

use std::collections::BTreeMap;
use std::ops::Range;

use sustain_disk::driver::Ending;
use sustain_record::format::{EndNote, GapReason, Kind};
use sustain_record::opening::Recording;
use sustain_record::reading::part::{HoleReason, StreamPart};
use sustain_record::reading::parts::Parts;
use sustain_record::reading::readable::{readable, readable_pins};
use sustain_record::reading::scope::Scope;
use sustain_record::reading::stream::{Range as Wanted, StreamReader};
use sustain_record::reading::verify::{
    Checkable, Discrepancy, VerifiedStream, VerifyResult, verify,
};
use sustain_record::store::{Mode, Store};
use sustain_targets::Stop;
use uuid::Uuid;

use crate::bench::{Bench, tell};
use crate::frames::{check_frame_ranges, check_frames};
use crate::history::{Append, History, Recorded};
use crate::pins::check_pins;
use crate::spans::Spans;

/// What was read of one stream.
#[derive(Default)]
pub struct ReadBack {
    pub data: Spans,
    pub gaps: Spans,
    pub holes: Spans,
    pub overwritten: Spans,
    pub end_bytes: u64,
    pub is_open: bool,
}

/// What the state of the store allows to expect.
#[derive(Clone, Copy)]
pub struct Given {
    pub missing: Option<usize>,
    /// Whether nothing but the recorder has touched it, and all of it is there.
    pub is_untouched: bool,
}

/// Reads everything that is there, and checks it against the history.
pub fn check(bench: &mut Bench, given: Given) {
    let mut store = bench.open_without(given.missing, Mode::Read);
    if bench.is_reported {
        tell(&store);
    }
    let listed = store.recordings().expect("the recordings can be listed");
    let found = readable(
        Checkable::of(&store, &listed),
        &Stop::default(),
        &mut |_| (),
    )
    .expect("the store can be read");
    let pins = readable_pins(&mut store).expect("what pins keep can be found");
    let checked = verify(
        Checkable::of(&store, &found).with_pins(&pins),
        &mut |_| {},
        &Stop::default(),
    )
    .expect("the store can be checked");
    let history = bench.history.borrow();
    check_numbers(&history, &found);
    for (index, recorded) in history.recordings.iter().enumerate() {
        let view = View {
            history: &history,
            index,
            recorded,
            given,
        };
        let recording = found.iter().find(|recording| recording.id == recorded.id);
        let Some(recording) = recording else {
            view.may_be_missing();
            continue;
        };
        view.check_recording(&store, recording, &checked, &mut bench.draw);
    }
    if given.is_untouched && history.recordings.iter().all(|one| one.result.is_some()) {
        let is_lossless = history.recordings.iter().all(is_accounted);
        // Where one recording ends and the next one begins, a power cut may tear copies.
        let is_torn_copy = |bad: &Discrepancy| {
            bad.recording.is_none() && bad.why.contains("copy of the superblock")
        };
        let may_be_torn = bench.struck.contains(&"crash between two recordings");
        let is_torn = may_be_torn && checked.bad.iter().all(is_torn_copy);
        assert!(
            checked.ok || !is_lossless || is_torn,
            "verify finds fault with what nothing has happened to: {:?}",
            checked.bad
        );
    }
    if given.is_untouched {
        let has_bad_byte = bench
            .plan
            .members
            .iter()
            .any(|plan| plan.bad_byte.is_some());
        check_crash(&history, &checked, has_bad_byte);
    }
    check_recovered(&found, &checked, &bench.torn_bytes);
    let whole = checked.pins.iter().filter(|pin| pin.is_whole);
    let whole: Vec<u32> = whole.map(|pin| pin.number).collect();
    check_pins(&history, &mut store, given, &whole);
}

/// Whether every byte of a recording has its account in the store, and no member failed. An account
/// that fits on no member is in the result alone, and is a hole in the store.
pub fn is_accounted(recorded: &Recorded) -> bool {
    let mut streams = recorded.streams.iter().zip(&recorded.shown);
    recorded.failed.is_empty() && streams.all(|(stream, shown)| stream.offered_bytes == *shown)
}

/// Whether an end mark of a recording was written that had come to the end of the store: an account
/// of bytes may have fitted on no member, and the power was cut before the result said so.
fn has_ended_without_room(history: &History, index: usize) -> bool {
    let appends = history.appends.iter();
    let mut own = appends.filter(|append| append.recording == index);
    let is_out_of_room = |append: &Append| matches!(append.gap, Some((_, GapReason::NoRoom)));
    own.any(is_out_of_room) && own.any(|append| append.kind == Kind::End)
}

/// Checks that nothing is reported as a fault of a store to which only crashes have happened, in a
/// ring or not, and that nothing is called a crash's work that was promised.
fn check_crash(history: &History, checked: &VerifyResult, has_bad_byte: bool) {
    let is_odd = |recorded: &Recorded| !recorded.failed.is_empty();
    if history.recordings.iter().any(is_odd) {
        return;
    }
    for bad in &checked.bad {
        let mut recordings = history.recordings.iter();
        let index = recordings.rposition(|recorded| Some(recorded.number) == bad.recording);
        // Copies of superblocks may be torn.
        let Some(index) = index else { continue };
        let recorded = &history.recordings[index];
        // A block that cannot be read is a fault of the medium, whenever it came.
        let is_unreadable = has_bad_byte && bad.why.contains("cannot be read");
        let may_be = match &recorded.result {
            Some(_) => !is_accounted(recorded),
            None => has_ended_without_room(history, index),
        };
        assert!(
            may_be || is_unreadable,
            "a store to which only crashes have happened has a fault: {bad:?}"
        );
    }
    for torn in &checked.not_durable {
        // The number of a recording that left nothing behind is used again.
        let recorded = history
            .recordings
            .iter()
            .rfind(|recorded| Some(recorded.number) == torn.recording);
        let recorded = recorded.expect("only what was recorded is found");
        if let (Some(stream), Some(from_byte)) = (torn.stream, torn.from_byte) {
            let shown = recorded.shown[usize::from(stream)];
            if from_byte >= shown {
                continue;
            }
            // What was flushed last, and then written over by a ring, nothing calls durable.
            let of_stream = history.appends.iter().filter(|append| {
                history.recordings[append.recording].id == recorded.id
                    && append.kind == Kind::Data
                    && append.stream == stream
                    && append.durable_at.is_some()
            });
            let promised = from_byte..torn.to_byte.unwrap_or(from_byte).min(shown);
            let mut lost = Spans::default();
            lost.add(promised.clone());
            for append in of_stream {
                let is_named = append.payload.start < promised.end.max(promised.start + 1)
                    && promised.start < append.payload.end.max(append.payload.start + 1);
                assert!(
                    append.is_off_ring() || !is_named,
                    "{torn:?} of {shown} that were promised, and {append:?} is left"
                );
                lost.remove(append.payload.clone());
            }
            assert!(
                lost.is_empty(),
                "{torn:?}: {lost:?} was written over by no ring"
            );
            let at = torn.offset_bytes.unwrap_or(0);
            let is_overwritten = history.appends.iter().any(|append| {
                append.is_off_ring()
                    && torn.member == Some(format!("m{}", append.member))
                    && (append.offset_bytes..append.offset_bytes + append.append_bytes)
                        .contains(&at)
            });
            assert!(
                recorded.ring && (torn.member.is_none() || is_overwritten),
                "{torn:?} of {shown} that were promised lies where no ring has written"
            );
        }
    }
}

/// Checks that damage after a recording was recovered is not blamed on the crash before.
fn check_recovered(found: &[Recording], checked: &VerifyResult, known: &BTreeMap<Uuid, u64>) {
    for recording in found {
        let end = recording.end.as_ref();
        if end.is_none_or(|end| end.ended != EndNote::RECOVERED) {
            continue;
        }
        let verified = checked
            .recordings
            .iter()
            .find(|one| one.number == recording.number);
        let verified = verified.expect("what is listed is checked");
        let torn_bytes: u64 = verified
            .streams
            .iter()
            .map(|one| one.not_durable_bytes)
            .sum();
        let known_bytes = known[&recording.id];
        assert!(
            torn_bytes <= known_bytes,
            "{torn_bytes} are blamed on a crash that took {known_bytes}"
        );
    }
}

fn check_numbers(history: &History, found: &[Recording]) {
    for recording in found {
        let known = history
            .recordings
            .iter()
            .find(|known| known.id == recording.id);
        let known = known.expect("only what was recorded is found");
        assert_eq!(known.number, recording.number);
    }
    let mut numbers: Vec<u32> = found.iter().map(|recording| recording.number).collect();
    let count = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "no two recordings have one number");
}

/// One recording and what is known of it.
pub struct View<'a> {
    pub history: &'a History,
    pub index: usize,
    pub recorded: &'a Recorded,
    pub given: Given,
}

impl View<'_> {
    /// Appends of this recording that are durable and where they should be.
    pub fn promised(&self) -> impl Iterator<Item = &Append> {
        self.history.appends.iter().filter(|append| {
            append.recording == self.index
                && append.is_promised()
                && Some(append.member) != self.given.missing
        })
    }

    fn may_be_missing(&self) {
        let number = self.recorded.number;
        let left = self.promised().find(|append| append.kind == Kind::Data);
        assert!(
            left.is_none(),
            "recording {number} is not found, but has {left:?}"
        );
    }

    fn check_recording(
        &self,
        store: &Store,
        recording: &Recording,
        checked: &VerifyResult,
        draw: &mut crate::draw::Draw,
    ) {
        self.check_summary(recording);
        let scope = Scope::of(recording, &store.members, store.machines(), store.clock());
        let count = self.recorded.streams.len();
        if recording.streams.len() < count {
            assert!(self.promised().next().is_none(), "a stream is not known");
            return;
        }
        let mut streams: Vec<ReadBack> = (0..count).map(|_| ReadBack::default()).collect();
        let parts = Parts::open(&scope, &scope.all(0..count as u16)).expect("it can be read");
        for item in parts {
            let (stream, part) = item.expect("it can be read");
            self.take(stream, &part, &mut streams[usize::from(stream)]);
        }
        let verified = checked
            .recordings
            .iter()
            .find(|one| one.number == recording.number);
        let verified = verified.expect("what is listed is checked");
        for (stream, read) in streams.iter().enumerate() {
            self.check_stream(stream as u16, read, recording);
            check_account(read, &verified.streams[stream]);
            self.check_totals(stream, &verified.streams[stream]);
            if draw.chance(150) {
                self.check_range(&scope, stream as u16, read, draw);
            }
            if self.recorded.streams[stream].is_framed() && draw.chance(400) {
                check_frames(self, &scope, stream as u16, read);
                check_frame_ranges(self, &scope, stream as u16, draw);
            }
        }
    }

    /// Whether anything is left that says how it began: a start of its own, or that of a later
    /// recording. While the first start of a ring overwrites the last start of another recording,
    /// there may be neither.
    fn knows_start(&self) -> bool {
        let mut appends = self.history.appends.iter();
        let is_left = self.promised().any(|append| append.damaged.is_empty());
        is_left
            && appends.any(|append| {
                append.kind == Kind::Start
                    && append.recording >= self.index
                    && append.is_promised()
                    && append.damaged.is_empty()
                    && Some(append.member) != self.given.missing
            })
    }

    fn check_summary(&self, recording: &Recording) {
        let is_whole = |append: &&Append| append.damaged.is_empty();
        let kinds: Vec<Kind> = self
            .promised()
            .filter(is_whole)
            .map(|append| append.kind)
            .collect();
        if self.knows_start() && self.given.is_untouched {
            assert_eq!(recording.ring, self.recorded.ring);
            assert_eq!(recording.streams.len(), self.recorded.streams.len());
            for (known, found) in self.recorded.streams.iter().zip(&recording.streams) {
                assert_eq!(known.name, found.name);
            }
        }
        let Some((standing, ending)) = &self.recorded.result else {
            return;
        };
        // One that lands on a member that was given up tells of what was so before that.
        let is_late = |append: &Append| append.kind == Kind::End && self.recorded.is_late(append);
        if !kinds.contains(&Kind::End) || self.promised().any(is_late) {
            return;
        }
        let number = recording.number;
        assert!(
            !recording.open_end,
            "recording {number} has an end mark, and is not ended"
        );
        let end = recording.end.as_ref().expect("an end says what it ends");
        let name = match ending {
            Ending::Interrupted => "signal",
            Ending::Source if self.recorded.is_cut => "split",
            other => other.name(),
        };
        assert_eq!(end.ended, name, "the end mark against the result");
        for (told, shown) in end.streams.iter().zip(&standing.streams) {
            assert_eq!(told.offered, shown.offered_bytes);
            assert_eq!(told.recorded, shown.recorded_bytes);
            assert_eq!(told.gap_bytes, shown.gap_bytes);
            assert_eq!(told.frames, shown.frames);
        }
    }

    /// Checks one part: it follows the one before, and its bytes are right.
    pub fn take(&self, stream: u16, part: &StreamPart, read: &mut ReadBack) {
        assert_eq!(
            part.offset_bytes(),
            read.end_bytes,
            "stream {stream}: parts follow each other"
        );
        assert!(!read.is_open, "nothing follows an open end");
        let range = part.offset_bytes()..part.end_bytes();
        match part {
            StreamPart::Data { bytes, .. } => {
                let facts = &self.recorded.streams[usize::from(stream)];
                let wrong = facts.check(range.start, bytes);
                assert_eq!(wrong, None, "a wrong byte of stream {stream} is returned");
                read.data.add(range);
            }
            StreamPart::Gap { .. } => read.gaps.add(range),
            StreamPart::Hole {
                why: HoleReason::WrittenOver,
                ..
            } => {
                assert!(self.was_ring(), "only a ring writes over anything");
                read.overwritten.add(range);
            }
            StreamPart::Hole { .. } => read.holes.add(range),
            StreamPart::Overwritten { .. } => {
                assert_eq!(range.start, 0, "only the start can be written over");
                read.overwritten.add(range);
            }
            StreamPart::OpenEnd { .. } => read.is_open = true,
        }
        read.end_bytes = part.end_bytes();
    }

    /// The first sequence of a recording that a reader must find, if any.
    fn readable_from_of(&self, recording: &Recording) -> Option<u64> {
        let readable_from = self.readable_from();
        if self.given.is_untouched {
            return readable_from;
        }
        // What is damaged where a crash may have hit a ring counts as overwritten.
        readable_from.max(recording.readable_from_sequence)
    }

    fn check_stream(&self, stream: u16, read: &ReadBack, recording: &Recording) {
        let of = |append: &&Append| append.kind == Kind::Data && append.stream == stream;
        let readable_from = self.readable_from_of(recording);
        let mut owed = Spans::default();
        let mut owed_gaps = Spans::default();
        for append in self.promised().filter(of) {
            if readable_from.is_none_or(|from| append.sequence < from) {
                continue;
            }
            let mut whole = Spans::default();
            whole.add(append.payload.clone());
            append
                .damaged
                .iter()
                .for_each(|range| whole.remove(range.clone()));
            owed.add_all(&whole);
            if let Some((gap, _)) = &append.gap {
                owed_gaps.add(gap.clone());
            }
        }
        // Where the ring begins, what was handed out before counts as overwritten, although some of
        // it came back to another member later, or was accounted for later.
        let begins = self.ring_begins(stream, readable_from.unwrap_or(0));
        owed.remove(0..begins);
        owed_gaps.remove(0..begins);
        let number = recording.number;
        if let Some(lost) = owed.first_outside(&read.data) {
            panic!(
                "recording {number}, stream {stream}: {lost:?} is durable and does not come back \
                 (hole {}, gap {}, overwritten {}, end {})",
                read.holes.has(lost.start),
                read.gaps.has(lost.start),
                read.overwritten.has(lost.start),
                read.end_bytes,
            );
        }
        let mut accounted = read.data.clone();
        accounted.add_all(&read.gaps);
        if let Some(lost) = owed_gaps.first_outside(&accounted) {
            panic!("recording {number}, stream {stream}: the gap {lost:?} is not named");
        }
        self.check_gaps(stream, read);
        let shown = self.recorded.shown[usize::from(stream)];
        let is_certain = self.given.is_untouched && !self.was_ring();
        if is_certain {
            assert!(
                read.end_bytes >= shown,
                "recording {number}, stream {stream}: {} is read of {shown} that were promised",
                read.end_bytes
            );
            let mut below = read.holes.clone();
            below.remove(shown..u64::MAX);
            assert!(
                below.is_empty(),
                "recording {number}, stream {stream}: {below:?} is lost"
            );
        }
        let offered = self.recorded.streams[usize::from(stream)].offered_bytes;
        assert!(
            read.end_bytes <= offered,
            "{} is read of {offered}",
            read.end_bytes
        );
        let Some(end) = recording.end.as_ref().filter(|_| !recording.open_end) else {
            return;
        };
        assert!(!read.is_open);
        if end.ended == EndNote::RECOVERED {
            let total = end.streams[usize::from(stream)].offered;
            assert_eq!(read.end_bytes, total, "to the end that was found");
        } else {
            assert_eq!(read.end_bytes, offered, "a clean end is read to its end");
        }
    }

    /// Checks that `verify` gives the same sums as the result of the recording.
    fn check_totals(&self, stream: usize, verified: &VerifiedStream) {
        let Some((standing, _)) = &self.recorded.result else {
            return;
        };
        // What a member has that was given up, or that was lost since, is in no result.
        if !self.given.is_untouched || !is_accounted(self.recorded) {
            return;
        }
        if verified.hole_bytes > 0 {
            return;
        }
        let told = &standing.streams[stream];
        let found = [
            verified.offered,
            verified.recorded + verified.overwritten_bytes,
            verified.gap_bytes,
        ];
        let told = [told.offered_bytes, told.recorded_bytes, told.gap_bytes];
        // Nothing tells how far a recording came of which a ring has written over every end mark,
        // but what is left of it takes it no farther.
        let has_end = self.promised().any(|append| append.kind == Kind::End);
        let is_within = found.iter().zip(&told).all(|(found, told)| found <= told);
        assert!(
            found == told || !has_end && is_within,
            "{found:?} are offered, recorded and lost of stream {stream}, and {told:?} were told"
        );
    }

    /// Checks that what is called a gap was lost by its source, or given up by the recorder.
    fn check_gaps(&self, stream: u16, read: &ReadBack) {
        let mut known = Spans::default();
        for drop in &self.recorded.streams[usize::from(stream)].drops {
            known.add(drop.clone());
        }
        let current = self.index;
        let written = self.history.appends.iter().filter(|append| {
            append.recording == current && append.kind == Kind::Data && append.stream == stream
        });
        for append in written {
            if let Some((range, GapReason::NotWritten | GapReason::NoRoom)) = &append.gap {
                known.add(range.clone());
            }
        }
        if let Some(wrong) = read.gaps.first_outside(&known) {
            panic!("stream {stream}: {wrong:?} is called a gap, and is none");
        }
    }

    fn was_ring(&self) -> bool {
        self.history
            .recordings
            .iter()
            .any(|recording| recording.ring)
    }

    /// The first sequence from which on everything that is promised must be readable; `None` if
    /// that cannot be said.
    pub fn readable_from(&self) -> Option<u64> {
        if !self.was_ring() {
            return Some(0);
        }
        let mut from = 0;
        for member in 0..self.history.geometries.len() {
            if Some(member) == self.given.missing {
                continue;
            }
            let of_member = |append: &&Append| append.member == member;
            let was_here = self
                .history
                .appends
                .iter()
                .any(|append| append.recording == self.index && append.member == member);
            if was_here {
                let oldest = self
                    .promised()
                    .filter(of_member)
                    .map(|append| append.sequence)
                    .min();
                from = from.max(oldest?);
            }
        }
        Some(from)
    }

    /// The end of what was handed out of a stream before a sequence.
    fn ring_begins(&self, stream: u16, sequence: u64) -> u64 {
        let before = self.history.appends.iter().filter(|append| {
            append.recording == self.index
                && append.kind == Kind::Data
                && append.stream == stream
                && append.sequence < sequence
        });
        before.map(|append| append.payload.end).max().unwrap_or(0)
    }

    /// Checks that a range returns just what the whole stream returns there.
    fn check_range(
        &self,
        scope: &Scope,
        stream: u16,
        read: &ReadBack,
        draw: &mut crate::draw::Draw,
    ) {
        let start = draw.below(read.end_bytes + 2);
        let end = start + draw.below(read.end_bytes + 2 - start);
        let reader = StreamReader::open(scope, stream, &Wanted::Bytes(start..end));
        let mut again = ReadBack {
            end_bytes: start,
            ..ReadBack::default()
        };
        for part in reader.expect("a range can be read") {
            let part = part.expect("a range can be read");
            if let StreamPart::Overwritten { .. } = part {
                again.overwritten.add(part.offset_bytes()..part.end_bytes());
                again.end_bytes = part.end_bytes();
            } else {
                self.take(stream, &part, &mut again);
            }
        }
        let within: Range<u64> = start..end.min(read.end_bytes);
        for (what, all, some) in [
            ("data", &read.data, &again.data),
            ("gaps", &read.gaps, &again.gaps),
            ("holes", &read.holes, &again.holes),
            ("overwritten", &read.overwritten, &again.overwritten),
        ] {
            let mut expected = all.clone();
            expected.remove(0..within.start);
            expected.remove(within.end.max(within.start)..u64::MAX);
            assert_eq!(
                *some, expected,
                "{what} of bytes {start} to {end} of stream {stream}"
            );
        }
    }
}

/// Checks that `verify` gives the same account.
fn check_account(read: &ReadBack, verified: &VerifiedStream) {
    assert_eq!(verified.offered, read.end_bytes);
    let readable_bytes = verified.recorded - verified.below_readable_bytes;
    assert_eq!(readable_bytes, read.data.bytes());
    // Below the readable range verify tells what is still there, and what never was.
    let below_bytes = verified.gap_bytes - read.gaps.bytes() + verified.below_readable_bytes;
    // What would count as overwritten is a hole where a member shows that it has lost it.
    let shown_bytes = verified.hole_bytes - read.holes.bytes();
    let overwritten_bytes = verified.overwritten_bytes + shown_bytes + below_bytes;
    assert_eq!(overwritten_bytes, read.overwritten.bytes());
    assert_eq!(
        verified.offered,
        verified.recorded + verified.gap_bytes + verified.hole_bytes + verified.overwritten_bytes
    );
}
