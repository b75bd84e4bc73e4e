//! The account of one recording while it is checked: what was found, what is lost, and where. Pure.

mod claims;
mod parity;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::flaws::{Flaws, ReportedFlaws};
use super::given_up::GivenUp;
use super::names::Names;
use super::on_member::{AccountOfMember, MARK_IS_UNSEALED, MemberSurroundings, lost_before_first};
use super::protection::ProtectionTally;
use super::ring::OverwrittenGaps;
use super::{Discrepancy, VerifiedRecording, VerifiedStream};
use crate::format::{EndNote, Kind};
use crate::opening::{EndDurability, Recording, StreamExtent};
use crate::reading::examine::Headless;
use crate::reading::merge::Contradiction;
use crate::reading::part::{HoleReason, Origin, StreamPart};

const NOTE_IS_DAMAGED: &str = "what the start or the end says is damaged";

/// What is known of one recording so far.
pub(super) struct Account<'a> {
    recording: &'a Recording,
    names: Names,
    /// Whether members may have been written over.
    has_laps: bool,
    streams: Vec<VerifiedStream>,
    members: Vec<AccountOfMember>,
    flaws: Flaws<'a>,
    /// What may have been given up by the recorder.
    given_up: GivenUp,
    /// Appends without a seal, or with damaged marks, that were told already.
    reported: Option<(usize, u64)>,
    /// Gaps that a ring has overwritten the accounts of.
    overwritten_gaps: OverwrittenGaps<'a>,
    /// Sequence and length of the end marks that were found.
    ends: Vec<(u64, u32)>,
    /// Members of the scope whose end mark was told to be damaged.
    headless_reported: BTreeSet<usize>,
    protection: ProtectionTally,
}

/// Whether a member was given up before the recording came to its end: it has no end mark, and
/// nothing tells that it had one. Its start need not have been durable then.
fn was_given_up(extent: StreamExtent) -> bool {
    !extent.has_end && extent.lost_end.is_none() && extent.lost_last.is_none()
}

/// The member that had what is lost, and the offset there, as far as they can be told.
type LostPlace = Option<(usize, Option<u64>)>;

/// What the check of one recording has found.
pub(super) struct CheckedBytes {
    pub(super) recording: VerifiedRecording,
    pub(super) flaws: ReportedFlaws,
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
            is_marks: stream.is_marks(),
            readable_from_bytes: stream.readable_from_bytes,
            ..VerifiedStream::default()
        };
        let scope_members = names.in_scope.len();
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
            flaws: Flaws::new(recording, scope_members, is_all_there),
            given_up: GivenUp::default(),
            overwritten_gaps: OverwrittenGaps::of(recording),
            reported: None,
            ends: Vec::new(),
            headless_reported: BTreeSet::new(),
            protection: ProtectionTally::of(recording),
        }
    }

    pub(super) fn bad_count(&self) -> u64 {
        self.flaws.count()
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
        self.check_parity(member, origin, is_whole);
        self.flaws.note_durable(member, origin);
        self.given_up.found(origin);
        self.check_account_of_gap(origin);
        if descriptor.kind == Kind::End && self.end_is_overwritten(index) {
            return;
        }
        let end_durability = extent
            .filter(|_| descriptor.kind == Kind::End)
            .map(|extent| extent.end_durability);
        let is_undurable_end = end_durability == Some(EndDurability::Unknown);
        let is_doubtful_start = descriptor.kind == Kind::Start
            && !self.recording.is_crashed()
            && extent.is_some_and(was_given_up);
        let is_known_start = descriptor.kind == Kind::Start
            && extent.is_some_and(|one| one.start_was_whole && one.start == Some(descriptor.place))
            && self.is_kept(origin);
        if matches!(descriptor.kind, Kind::Start | Kind::End) && !is_whole {
            let why = NOTE_IS_DAMAGED.to_owned();
            let bad = self
                .names
                .bad_of(Some(index), Some(origin.offset_bytes), None, why);
            if is_undurable_end || is_doubtful_start {
                self.flaws
                    .add_undurable_mark(member, descriptor.sequence, bad);
            } else if end_durability == Some(EndDurability::Told) || is_known_start {
                self.flaws.add(bad);
            } else {
                self.flaws
                    .add_or_torn(bad, Some((member, descriptor.sequence)));
            }
        }
        if descriptor.kind == Kind::End {
            self.ends
                .push((descriptor.sequence, descriptor.append_bytes));
        }
        let surroundings = MemberSurroundings {
            extent,
            geometry,
            has_laps: self.has_laps,
            is_computed: self.names.is_computed(index),
            start_may_be_unsealed: self.recording.is_crashed() && !is_known_start
                || is_doubtful_start,
            // A crash in a ring leaves no trace in the end mark of recovering but this.
            end_may_be_unsealed: is_undurable_end
                || self.recording.is_crashed() && !self.is_kept(origin),
        };
        if descriptor.kind == Kind::Start && !origin.sealed && surroundings.start_may_be_unsealed {
            let (place, why) = (Some(origin.offset_bytes), MARK_IS_UNSEALED.to_owned());
            let bad = self.names.bad_of(Some(index), place, None, why);
            self.note_unsealed(origin, bad);
        }
        if self.members[member].last.is_none() {
            self.check_oldest(member, origin, &surroundings);
        }
        self.check_before(member, origin, &surroundings);
        let flaws = self.members[member].follow(origin, &surroundings);
        for (offset_bytes, why) in flaws {
            let bad = self
                .names
                .bad_of(Some(index), Some(offset_bytes), None, why.to_owned());
            self.flaws.add(bad);
        }
    }

    /// In the oldest slot of a ring an append may be missing before the first that is found. A
    /// crash may have taken it, or it was not flushed yet when its member failed: its sequence is
    /// not known, but it was durable if all before the one that is found was.
    fn check_oldest(&mut self, member: usize, first: &Origin, around: &MemberSurroundings) {
        let Some(offset_bytes) = lost_before_first(first, around) else {
            return;
        };
        let before_sequence = first.descriptor.sequence.saturating_sub(1);
        let was_flushed = around
            .extent
            .is_some_and(|extent| extent.has_end || before_sequence <= extent.flushed_sequence);
        if !self.recording.is_crashed() && !was_flushed {
            return;
        }
        let why = "an append in the oldest slot is damaged or missing".to_owned();
        let (index, _) = self.names.in_scope[member];
        let bad = self
            .names
            .bad_of(Some(index), Some(offset_bytes), None, why);
        self.flaws.add_or_torn(bad, Some((member, before_sequence)));
    }

    /// On a member a whole seal lies behind its last append of the recording, and nothing that it
    /// ends. It is the end mark's if it fits those of the other members, which say the same and
    /// follow each other; else an earlier store has left it. After a crash anything may lie there.
    pub(super) fn headless(&mut self, member: usize, headless: Headless) {
        let members = self.members.len() as u64;
        let fits = |end: &(u64, u32)| {
            end.0.abs_diff(headless.sequence) < members && end.1 == headless.append_bytes
        };
        let is_reported = self.headless_reported.contains(&member);
        if is_reported || self.recording.is_crashed() || !self.ends.iter().any(fits) {
            return;
        }
        self.headless_reported.insert(member);
        let (index, _) = self.names.in_scope[member];
        if self.end_is_overwritten(index) {
            return;
        }
        let why = "the end mark is damaged".to_owned();
        let bad = self
            .names
            .bad_of(Some(index), Some(headless.offset_bytes), None, why);
        let extent = self.recording.per_member[index];
        if extent.is_some_and(|extent| {
            let is_told = extent.lost_last.is_some() || extent.lost_end.is_some();
            extent.end_durability == EndDurability::Unknown && !is_told
        }) {
            self.flaws
                .add_undurable_mark(member, headless.sequence, bad);
        } else {
            self.flaws.add(bad);
        }
    }

    /// Tells of the marks of which something else says that they were durable.
    fn report_lost_marks(&mut self) {
        for (member, (index, geometry)) in self.names.in_scope.iter().enumerate() {
            let Some(mut extent) = self.recording.per_member[*index] else {
                continue;
            };
            if self.headless_reported.contains(&member) {
                (extent.lost_end, extent.lost_last) = (None, None);
            }
            for (place, why) in extent.lost_marks() {
                let at = geometry.offset_of(place);
                let bad = self
                    .names
                    .bad_of(Some(*index), Some(at), None, why.to_owned());
                self.flaws.add(bad);
            }
        }
    }

    fn end_is_overwritten(&self, index: usize) -> bool {
        let extent = self.recording.per_member[index];
        extent.is_some_and(|extent| extent.end_is_overwritten)
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
        if let StreamPart::Data { origin, .. } = part
            && self.is_kept(origin)
        {
            self.check_around(number, part.offset_bytes(), origin);
        }
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
                self.check_around(number, part.offset_bytes(), origin);
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
            let bad = self
                .names
                .bad_of(Some(origin.member), Some(origin.offset_bytes), lost, why);
            self.flaws.add(bad);
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
        self.report_lost_marks();
        let (flaws, given_up) = self.given_up.finish();
        flaws.into_iter().for_each(|bad| self.flaws.add(bad));
        let flaws = self.flaws.finish(given_up, &mut self.streams);
        let whole_bytes = self.streams.iter().map(|stream| stream.recorded).sum();
        CheckedBytes {
            recording: VerifiedRecording {
                number: self.recording.number,
                open_end: self.recording.open_end,
                streams: self.streams,
                // Copies have nothing of their own to protect.
                protection: match self.recording.copies_of {
                    Some(_) => None,
                    None => self.protection.finish(whole_bytes),
                },
            },
            flaws,
        }
    }

    /// What does not concern the bytes themselves: seal and marks of an append whose bytes count.
    fn check_around(&mut self, number: u16, at: u64, origin: &Origin) {
        let id = (origin.member, origin.offset_bytes);
        if self.reported == Some(id) {
            return;
        }
        let marks_are_bad = origin.marks.is_none() || origin.marks().is_err();
        let why_unsealed = "the seal is damaged, which alone costs no bytes";
        let is_crashed = self.recording.is_crashed();
        if is_crashed && !origin.sealed {
            self.reported = Some(id);
            let lost = Some((number, at, at));
            let place = Some(origin.offset_bytes);
            let why = why_unsealed.to_owned();
            let bad = self.names.bad_of(Some(origin.member), place, lost, why);
            self.note_unsealed(origin, bad);
        }
        let flaws = [
            (!is_crashed && !origin.sealed, why_unsealed),
            (
                marks_are_bad,
                "the frame marks are damaged, which alone costs no bytes",
            ),
        ];
        for (_, why) in flaws.into_iter().filter(|(is_bad, _)| *is_bad) {
            self.reported = Some(id);
            let lost = Some((number, at, at));
            let place = Some(origin.offset_bytes);
            let bad = self
                .names
                .bad_of(Some(origin.member), place, lost, why.to_owned());
            if is_crashed {
                self.flaws.add_or_torn(bad, None);
            } else if let Err(bad) = self.given_up.add(bad, origin, at..origin.end_bytes()) {
                self.flaws.add(bad);
            }
        }
    }

    /// In a ring, a crash may leave the seal half written over where slots were written again.
    fn note_unsealed(&mut self, origin: &Origin, bad: Discrepancy) {
        let mut members = self.names.in_scope.iter();
        let member = members.position(|(index, _)| *index == origin.member);
        if let Some(member) = member.filter(|_| self.is_kept(origin)) {
            let sequence = origin.descriptor.sequence;
            self.flaws.add_unsealed(member, sequence, bad);
        }
    }

    /// Whether neither a ring nor a crash in one can have written over an append.
    fn is_kept(&self, origin: &Origin) -> bool {
        let extent = self.recording.per_member.get(origin.member);
        let kept_from_slot = match extent.copied().flatten() {
            Some(extent) if self.has_laps => extent.kept_from_slot,
            _ => 0,
        };
        origin.descriptor.place.slot_serial >= kept_from_slot
    }

    /// An append that has no bytes, but the account of a gap, is returned with no part of its
    /// stream.
    fn check_account_of_gap(&mut self, origin: &Origin) {
        let descriptor = &origin.descriptor;
        let is_account = descriptor.kind == Kind::Data && descriptor.payload_bytes == 0;
        let Some(gap) = descriptor.gap.filter(|_| is_account) else {
            return;
        };
        if origin.sealed || !self.is_kept(origin) {
            return;
        }
        let at = descriptor.stream_offset_bytes;
        let why = "the seal is damaged; the account of a gap is whole".to_owned();
        let lost = Some((descriptor.stream, at, at));
        let place = Some(origin.offset_bytes);
        let bad = self.names.bad_of(Some(origin.member), place, lost, why);
        if self.recording.is_crashed() {
            self.note_unsealed(origin, bad);
            return;
        }
        let lost_bytes = at.saturating_sub(gap.bytes)..at;
        if let Err(bad) = self.given_up.add(bad, origin, lost_bytes) {
            self.flaws.add(bad);
        }
    }

    fn hole(&mut self, number: u16, part: &StreamPart, why: HoleReason) {
        let hole = part.offset_bytes()..part.end_bytes();
        match why {
            HoleReason::WrittenOver => {
                self.streams[usize::from(number)].overwritten_bytes += part.length_bytes();
            }
            HoleReason::Missing => {
                for (stretch, place) in self.claim_lost(number, hole) {
                    self.report_hole(number, stretch, why, place);
                }
            }
            HoleReason::Damaged {
                member,
                offset_bytes,
            }
            | HoleReason::Unreadable {
                member,
                offset_bytes,
                ..
            } => self.report_hole(number, hole, why, Some((member, Some(offset_bytes)))),
        }
    }

    fn report_hole(&mut self, number: u16, hole: Range<u64>, why: HoleReason, place: LostPlace) {
        let (member, offset_bytes) = place.unzip();
        self.streams[usize::from(number)].hole_bytes += hole.end - hole.start;
        let what = match why {
            HoleReason::Missing if member.is_some() => {
                "the append is damaged or missing".to_owned()
            }
            HoleReason::Missing if self.recording.is_gone_from_a_member => {
                "an append is damaged or missing".to_owned()
            }
            HoleReason::Damaged { .. } => "the checksum is wrong".to_owned(),
            other => other.to_string(),
        };
        let lost = Some((number, hole.start, hole.end));
        let bad = self
            .names
            .bad_of(member, offset_bytes.flatten(), lost, what);
        match why {
            // A crash leaves no block that cannot be read.
            HoleReason::Unreadable { .. } => self.flaws.add(bad),
            HoleReason::Missing | HoleReason::WrittenOver | HoleReason::Damaged { .. } => {
                self.flaws.add_or_torn(bad, None);
            }
        }
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
            let bad = self
                .names
                .bad_of(None, None, Some((number, at, at)), why.to_owned());
            self.flaws.add(bad);
        }
    }
}
