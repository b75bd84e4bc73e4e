//! The account of one recording while it is checked: what was found, what is lost, and where. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::given_up::GivenUp;
use super::on_member::{AccountOfMember, MemberSurroundings};
use super::ring::OverwrittenGaps;
use super::torn::{Torn, TornUnlisted, divide, goes_on, is_crashed, is_recovered, since_recovered};
use super::{BAD_MAX, Bad, VerifiedRecording, VerifiedStream};
use crate::format::{EndNote, Geometry, Kind};
use crate::opening::Recording;
use crate::reading::examine::Headless;
use crate::reading::merge::Contradiction;
use crate::reading::part::{HoleReason, Origin, StreamPart};
use crate::reading::scope::Scope;

/// Names and geometries of the members, by their index in the store and in the scope.
pub(super) struct Names {
    by_index: BTreeMap<usize, String>,
    in_scope: Vec<(usize, Geometry)>,
}

impl Names {
    pub(super) fn of(recording: &Recording, scope: &Scope) -> Names {
        debug_assert_eq!(
            recording.id, scope.recording_id,
            "a scope is of its recording"
        );
        let members = scope.members.iter();
        Names {
            by_index: members
                .clone()
                .map(|member| (member.index, member.name.clone()))
                .collect(),
            in_scope: members
                .map(|member| (member.index, member.identity.geometry))
                .collect(),
        }
    }
}

/// What is known of one recording so far.
pub(super) struct Account<'a> {
    recording: &'a Recording,
    names: Names,
    /// Whether members may have been written over.
    has_laps: bool,
    streams: Vec<VerifiedStream>,
    members: Vec<AccountOfMember>,
    bad: Vec<Bad>,
    /// Flaws that are counted only.
    unlisted: u64,
    /// Whether a crash has ended it, and all that it has left is there: then what was not durable
    /// may be torn.
    may_be_torn: bool,
    /// By stream how far all was durable, as the appends that were found say.
    durable_bytes: Vec<u64>,
    /// What may be torn, unless something durable turns out to be behind it.
    torn: Vec<Torn>,
    torn_unlisted: TornUnlisted,
    /// What may have been given up by the recorder.
    given_up: GivenUp,
    /// Appends without a seal, or with damaged marks, that were told already.
    told: Option<(usize, u64)>,
    /// Gaps that a ring has overwritten the accounts of.
    overwritten_gaps: OverwrittenGaps<'a>,
    /// Sequence and length of the end marks that were found.
    ends: Vec<(u64, u32)>,
    /// Members of the scope whose end mark was told to be damaged.
    headless_told: BTreeSet<usize>,
}

/// What the check of one recording has found.
pub(super) struct CheckedBytes {
    pub(super) recording: VerifiedRecording,
    pub(super) bad: Vec<Bad>,
    /// More flaws than are listed.
    pub(super) unlisted: u64,
    /// What a crash took before it was durable.
    pub(super) torn: Vec<Bad>,
    /// More of it than is listed.
    pub(super) torn_unlisted: u64,
}

impl<'a> Account<'a> {
    /// `is_all_there` says whether no member of the store is missing, or has lost its end.
    pub(super) fn new(
        recording: &'a Recording,
        names: Names,
        has_laps: bool,
        is_all_there: bool,
    ) -> Account<'a> {
        let named = |stream: &crate::opening::StreamSummary| VerifiedStream {
            name: stream.name.clone(),
            readable_from_bytes: stream.readable_from_bytes,
            ..VerifiedStream::default()
        };
        Account {
            recording,
            streams: recording.streams.iter().map(named).collect(),
            members: names
                .in_scope
                .iter()
                .map(|_| AccountOfMember::default())
                .collect(),
            names,
            has_laps,
            bad: Vec::new(),
            unlisted: 0,
            may_be_torn: is_all_there && is_crashed(recording),
            durable_bytes: vec![0; recording.streams.len()],
            torn: Vec::new(),
            torn_unlisted: TornUnlisted::default(),
            given_up: GivenUp::default(),
            overwritten_gaps: OverwrittenGaps::of(recording),
            told: None,
            ends: Vec::new(),
            headless_told: BTreeSet::new(),
        }
    }

    pub(super) fn bad_count(&self) -> u64 {
        self.bad.len() as u64 + self.unlisted
    }

    /// An append was found, the next one of its member.
    pub(super) fn found(&mut self, member: usize, origin: &Arc<Origin>, is_whole: bool) {
        let descriptor = &origin.descriptor;
        self.overwritten_gaps.found(origin);
        let (index, geometry) = self.names.in_scope[member];
        let extent = self.recording.per_member[index];
        let oldest = extent.map(|extent| extent.first);
        if oldest.is_some_and(|oldest| descriptor.place < oldest) {
            return;
        }
        self.note_durable(member, origin);
        self.given_up.found(origin);
        if descriptor.kind == Kind::End && self.end_is_overwritten(index) {
            return;
        }
        if descriptor.kind != Kind::Data && !is_whole {
            let why = "what the start or the end says is damaged".to_owned();
            let bad = self.bad_of(Some(index), Some(origin.offset_bytes), None, why);
            self.flaw_or_torn(bad, Some((member, descriptor.sequence)));
        }
        if descriptor.kind == Kind::End {
            self.ends
                .push((descriptor.sequence, descriptor.append_bytes));
        }
        let surroundings = MemberSurroundings {
            extent,
            geometry,
            has_laps: self.has_laps,
            is_crashed: is_crashed(self.recording),
        };
        let flaws = self.members[member].follow(origin, &surroundings);
        for (offset_bytes, why) in flaws {
            let bad = self.bad_of(Some(index), Some(offset_bytes), None, why.to_owned());
            self.flaw(bad);
        }
    }

    /// On a member a whole seal lies behind its last append of the recording, and nothing that it
    /// ends. It is the end mark's if it fits those of the other members, which say the same and
    /// follow each other; else an earlier store has left it. After a crash anything may lie there.
    pub(super) fn headless(&mut self, member: usize, headless: Headless) {
        let members = self.members.len() as u64;
        let fits = |end: &(u64, u32)| {
            end.0.abs_diff(headless.sequence) < members && end.1 == headless.append_bytes
        };
        let is_told = self.headless_told.contains(&member);
        if is_told || is_crashed(self.recording) || !self.ends.iter().any(fits) {
            return;
        }
        self.headless_told.insert(member);
        let (index, _) = self.names.in_scope[member];
        if self.end_is_overwritten(index) {
            return;
        }
        let why = "the end mark is damaged".to_owned();
        let bad = self.bad_of(Some(index), Some(headless.offset_bytes), None, why);
        self.flaw(bad);
    }

    fn end_is_overwritten(&self, index: usize) -> bool {
        let extent = self.recording.per_member[index];
        extent.is_some_and(|extent| extent.end_is_overwritten)
    }

    /// What an append says of what was durable when it was made.
    fn note_durable(&mut self, member: usize, origin: &Origin) {
        let descriptor = &origin.descriptor;
        // What recovering wrote says what was found, not what was durable.
        if descriptor.kind == Kind::End && is_recovered(self.recording) {
            return;
        }
        let flushed = &mut self.members[member].flushed_sequence;
        *flushed = descriptor.flushed_sequence.max(*flushed);
        for (durable, position) in self.durable_bytes.iter_mut().zip(&descriptor.positions) {
            *durable = position.settled_offset_bytes.max(*durable);
        }
    }

    /// The next part of a stream. What a ring may have written over below the readable range is no
    /// damage, and all else is.
    pub(super) fn part(&mut self, number: u16, part: &StreamPart) {
        let Some(summary) = self.recording.streams.get(usize::from(number)) else {
            return;
        };
        let range = part.offset_bytes()..part.end_bytes();
        let from_bytes = summary.readable_from_bytes;
        let is_damage = match part {
            StreamPart::Hole { why, .. } => *why != HoleReason::WrittenOver,
            _ => false,
        };
        if range.start >= from_bytes || is_damage {
            return self.readable_part(number, part);
        }
        let stream = &mut self.streams[usize::from(number)];
        let end_bytes = range.end.min(from_bytes);
        stream.offered = stream.offered.max(end_bytes);
        stream.take_below(&part.clone().within(&(range.start..end_bytes)));
        if end_bytes < range.end {
            self.readable_part(number, &part.clone().within(&(end_bytes..range.end)));
        }
    }

    fn readable_part(&mut self, number: u16, part: &StreamPart) {
        let length_bytes = part.length_bytes();
        let Some(stream) = self.streams.get_mut(usize::from(number)) else {
            return;
        };
        stream.offered = stream.offered.max(part.end_bytes());
        match part {
            StreamPart::Data { origin, .. } => {
                stream.recorded += length_bytes;
                self.check_around(number, part, origin);
            }
            StreamPart::Gap { .. } => stream.gap_bytes += length_bytes,
            StreamPart::Hole { why, .. } => self.hole(number, part, *why),
            StreamPart::Overwritten { .. } => stream.overwritten_bytes += length_bytes,
            StreamPart::OpenEnd { .. } => {}
        }
    }

    pub(super) fn contradictions(&mut self, contradictions: &[Contradiction]) {
        for contradiction in contradictions {
            let origin = &contradiction.origin;
            let lost = Some((contradiction.stream, 0, 0));
            let why = "it takes back how far the stream had come before".to_owned();
            let bad = self.bad_of(Some(origin.member), Some(origin.offset_bytes), lost, why);
            self.flaw(bad);
        }
    }

    /// All parts have come, if it is complete.
    pub(super) fn finish(mut self, is_complete: bool) -> CheckedBytes {
        if is_complete {
            self.overwritten_gaps.count(&mut self.streams);
        }
        if let (true, Some(end)) = (is_complete, &self.recording.end) {
            self.check_totals(end);
        }
        let (flaws, mut torn) = self.given_up.finish();
        flaws.into_iter().for_each(|bad| self.flaw(bad));
        for one in std::mem::take(&mut self.torn) {
            let durable_bytes = self.durable_before(&one);
            let (durable, undurable) = divide(one.bad, durable_bytes);
            durable.into_iter().for_each(|bad| self.flaw(bad));
            torn.extend(undurable);
        }
        for (stream, durable_bytes) in self.streams.iter_mut().zip(&self.durable_bytes) {
            stream.settled_bytes = *durable_bytes;
        }
        let torn_unlisted = self.torn_unlisted.finish(&mut self.streams);
        self.unlisted += self.torn_unlisted.count - torn_unlisted;
        for bad in &torn {
            let lost_bytes = bad.to_byte.unwrap_or(0) - bad.from_byte.unwrap_or(0);
            let stream = bad
                .stream
                .and_then(|stream| self.streams.get_mut(usize::from(stream)));
            if let Some(stream) = stream {
                stream.torn_bytes += lost_bytes;
            }
        }
        CheckedBytes {
            recording: VerifiedRecording {
                number: self.recording.number,
                open_end: self.recording.open_end,
                streams: self.streams,
            },
            bad: self.bad,
            unlisted: self.unlisted,
            torn,
            torn_unlisted,
        }
    }

    /// Below this byte of its stream all was durable; of an append all of it or nothing.
    fn durable_before(&self, torn: &Torn) -> u64 {
        match torn.append {
            Some((member, sequence)) if sequence <= self.members[member].flushed_sequence => {
                u64::MAX
            }
            Some(_) => 0,
            None => {
                let stream = torn.bad.stream.map(usize::from);
                let durable = stream.and_then(|stream| self.durable_bytes.get(stream));
                durable.copied().unwrap_or(u64::MAX)
            }
        }
    }

    /// What does not concern the bytes themselves: seal and marks of an append whose bytes count.
    fn check_around(&mut self, number: u16, part: &StreamPart, origin: &Origin) {
        let id = (origin.member, origin.offset_bytes);
        if self.told == Some(id) {
            return;
        }
        let at = part.offset_bytes();
        // Before a flush a crash may take the seal of an append whose bytes are all there.
        let needs_seal = !is_crashed(self.recording);
        let marks_are_bad = origin.marks.is_none() || origin.marks().is_err();
        let flaws = [
            (
                needs_seal && !origin.sealed,
                "the seal is damaged; the bytes are whole",
            ),
            (
                marks_are_bad,
                "the frame marks are damaged; the bytes are whole",
            ),
        ];
        for (_, why) in flaws.into_iter().filter(|(is_bad, _)| *is_bad) {
            self.told = Some(id);
            let lost = Some((number, at, at));
            let place = Some(origin.offset_bytes);
            let bad = self.bad_of(Some(origin.member), place, lost, why.to_owned());
            if is_crashed(self.recording) {
                self.flaw_or_torn(bad, None);
            } else if let Err(bad) = self.given_up.add(bad, origin, at) {
                self.flaw(bad);
            }
        }
    }

    fn hole(&mut self, number: u16, part: &StreamPart, why: HoleReason) {
        let length_bytes = part.length_bytes();
        let (member, offset_bytes) = match why {
            HoleReason::WrittenOver => {
                self.streams[usize::from(number)].overwritten_bytes += length_bytes;
                return;
            }
            HoleReason::Missing => self.claim_lost(number, length_bytes),
            HoleReason::Damaged {
                member,
                offset_bytes,
            }
            | HoleReason::Unreadable {
                member,
                offset_bytes,
                ..
            } => (Some(member), Some(offset_bytes)),
        };
        self.streams[usize::from(number)].hole_bytes += length_bytes;
        let what = match why {
            HoleReason::Missing if member.is_some() => "the append is damaged or lost".to_owned(),
            HoleReason::Missing if self.recording.is_gone_from_a_member => {
                "an append is damaged or lost".to_owned()
            }
            HoleReason::Damaged { .. } => "the checksum is wrong".to_owned(),
            other => other.to_string(),
        };
        let lost = Some((number, part.offset_bytes(), part.end_bytes()));
        let bad = self.bad_of(member, offset_bytes, lost, what);
        match why {
            // A crash leaves no block that cannot be read.
            HoleReason::Unreadable { .. } => self.flaw(bad),
            HoleReason::Missing | HoleReason::WrittenOver | HoleReason::Damaged { .. } => {
                self.flaw_or_torn(bad, None);
            }
        }
    }

    /// A crash may have left it, if nothing of it was durable.
    fn flaw_or_torn(&mut self, bad: Bad, append: Option<(usize, u64)>) {
        let torn = Torn { bad, append };
        let durable_bytes = self.durable_before(&torn);
        let is_durable = torn.append.is_none()
            && torn.bad.from_byte < Some(durable_bytes)
            && torn.bad.to_byte <= Some(durable_bytes);
        if !self.may_be_torn || is_durable {
            return self.flaw(torn.bad);
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
        since.into_iter().for_each(|bad| self.flaw(bad));
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

    /// Where a missing stretch lay, if just so much of the stream is missed on some member.
    fn claim_lost(&mut self, number: u16, bytes: u64) -> (Option<usize>, Option<u64>) {
        for (on_member, (index, _)) in self.members.iter_mut().zip(&self.names.in_scope) {
            let lost = &mut on_member.lost;
            let place = lost
                .iter()
                .position(|lost| lost.stream == number && lost.bytes == bytes);
            if let Some(place) = place {
                return (Some(*index), Some(lost.remove(place).offset_bytes));
            }
        }
        (None, None)
    }

    fn check_totals(&mut self, end: &EndNote) {
        let mut flaws = Vec::new();
        for (number, (stream, total)) in self.streams.iter().zip(&end.streams).enumerate() {
            let is_balanced = total.recorded.checked_add(total.gap_bytes) == Some(total.offered);
            let is_all = stream.hole_bytes == 0 && stream.overwritten_bytes == 0;
            let why = if !is_balanced {
                "the end mark does not say what became of every byte that was offered"
            } else if stream.offered > total.offered {
                "more is there than the end mark says was offered"
            } else if is_all && stream.recorded < total.recorded {
                "less is there than the end mark says was recorded, and more was lost before"
            } else {
                continue;
            };
            flaws.push((number as u16, stream.offered, why));
        }
        for (number, at, why) in flaws {
            let bad = self.bad_of(None, None, Some((number, at, at)), why.to_owned());
            self.flaw(bad);
        }
    }

    fn bad_of(
        &self,
        member: Option<usize>,
        offset_bytes: Option<u64>,
        lost: Option<(u16, u64, u64)>,
        why: String,
    ) -> Bad {
        let name = |index: usize| self.names.by_index.get(&index).cloned();
        Bad {
            member: member.and_then(name),
            offset_bytes,
            recording: Some(self.recording.number),
            stream: lost.map(|(stream, _, _)| stream),
            from_byte: lost.map(|(_, from, _)| from),
            to_byte: lost.map(|(_, _, to)| to),
            why,
        }
    }

    fn flaw(&mut self, bad: Bad) {
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
}
