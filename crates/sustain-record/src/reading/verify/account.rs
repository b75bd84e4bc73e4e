//! The account of one recording while it is checked: what was found, what is lost, and where. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{BAD_MAX, Bad, VerifiedRecording, VerifiedStream};
use crate::format::{EndNote, Geometry, Kind, Place, Position};
use crate::opening::Recording;
use crate::reading::merge::Contradiction;
use crate::reading::part::{HoleReason, Origin, Part};
use crate::reading::scope::Scope;

/// More flaws of one recording are not kept.
const LOST_MAX: usize = 10_000;

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
    members: Vec<OnMember>,
    bad: Vec<Bad>,
    /// Flaws that are counted only.
    unlisted: u64,
    /// Appends without a seal, or with damaged marks, that were told already.
    told: Option<(usize, u64)>,
}

/// How far the appends of one member have been seen.
#[derive(Default)]
struct OnMember {
    last: Option<Arc<Origin>>,
    starts: BTreeSet<Place>,
    starts_missed: BTreeSet<Place>,
    /// Appends that are not there: where, and how much of which stream.
    lost: Vec<Lost>,
}

struct Lost {
    offset_bytes: u64,
    stream: u16,
    bytes: u64,
}

impl<'a> Account<'a> {
    pub(super) fn new(recording: &'a Recording, names: Names, has_laps: bool) -> Account<'a> {
        let named = |stream: &crate::opening::StreamSummary| VerifiedStream {
            name: stream.name.clone(),
            ..VerifiedStream::default()
        };
        Account {
            recording,
            streams: recording.streams.iter().map(named).collect(),
            members: names.in_scope.iter().map(|_| OnMember::default()).collect(),
            names,
            has_laps,
            bad: Vec::new(),
            unlisted: 0,
            told: None,
        }
    }

    pub(super) fn bad_count(&self) -> u64 {
        self.bad.len() as u64 + self.unlisted
    }

    /// An append was found, the next one of its member.
    pub(super) fn found(&mut self, member: usize, origin: &Arc<Origin>, is_whole: bool) {
        let descriptor = &origin.descriptor;
        let (index, geometry) = self.names.in_scope[member];
        let on_member = &mut self.members[member];
        if descriptor.kind == Kind::Start {
            on_member.starts.insert(descriptor.place);
        }
        let mut flaws = Vec::new();
        if descriptor.kind != Kind::Data && !is_whole {
            flaws.push((
                origin.offset_bytes,
                "what the start or the end says is damaged",
            ));
        }
        // Of an append of data the seal is looked at where its bytes are returned.
        if descriptor.kind != Kind::Data && !origin.sealed && !self.recording.open_end {
            flaws.push((
                origin.offset_bytes,
                "the seal of the start or the end is damaged",
            ));
        }
        if let Some(last) = &on_member.last {
            if descriptor.sequence <= last.descriptor.sequence {
                flaws.push((origin.offset_bytes, "it is out of order"));
            }
            on_member.note_lost(&last.clone(), origin, &geometry);
        }
        let oldest = self.recording.per_member[index].map(|extent| extent.first);
        // In a ring one that lies before all that is left has been written over.
        let is_kept = |start: &Place| {
            !self.has_laps || oldest.is_some_and(|oldest| start.slot_serial >= oldest.slot_serial)
        };
        if let Some(start) = descriptor.start.filter(is_kept)
            && !on_member.starts.contains(&start)
            && on_member.starts_missed.insert(start)
        {
            flaws.push((
                geometry.offset_of(start),
                "the start of the recording is damaged",
            ));
        }
        on_member.last = Some(Arc::clone(origin));
        for (offset_bytes, why) in flaws {
            self.flaw(Some(index), Some(offset_bytes), None, why.to_owned());
        }
    }

    /// The next part of a stream.
    pub(super) fn part(&mut self, number: u16, part: &Part) {
        let length_bytes = part.length_bytes();
        let Some(stream) = self.streams.get_mut(usize::from(number)) else {
            return;
        };
        stream.offered = stream.offered.max(part.end_bytes());
        match part {
            Part::Data { origin, .. } => {
                stream.recorded += length_bytes;
                self.check_around(number, part, origin);
            }
            Part::Gap { .. } => stream.gap_bytes += length_bytes,
            Part::Hole { why, .. } => {
                stream.hole_bytes += length_bytes;
                self.hole(number, part, *why);
            }
            Part::Overwritten { .. } => stream.overwritten_bytes += length_bytes,
            Part::OpenEnd { .. } => {}
        }
    }

    pub(super) fn contradictions(&mut self, contradictions: &[Contradiction]) {
        for contradiction in contradictions {
            let origin = &contradiction.origin;
            self.flaw(
                Some(origin.member),
                Some(origin.offset_bytes),
                Some((contradiction.stream, 0, 0)),
                "it takes back how far the stream had come before".to_owned(),
            );
        }
    }

    /// All parts have come, if it is complete.
    pub(super) fn finish(mut self, is_complete: bool) -> (VerifiedRecording, Vec<Bad>, u64) {
        if let (true, Some(end)) = (is_complete, &self.recording.end) {
            self.check_totals(end);
        }
        let verified = VerifiedRecording {
            number: self.recording.number,
            open_end: self.recording.open_end,
            streams: self.streams,
        };
        (verified, self.bad, self.unlisted)
    }

    /// What does not concern the bytes themselves: seal and marks of an append whose bytes count.
    fn check_around(&mut self, number: u16, part: &Part, origin: &Origin) {
        let id = (origin.member, origin.offset_bytes);
        if self.told == Some(id) {
            return;
        }
        let at = part.offset_bytes();
        // Before a flush a crash may take the seal of an append whose bytes are all there.
        let needs_seal = !self.recording.open_end;
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
            self.flaw(
                Some(origin.member),
                Some(origin.offset_bytes),
                lost,
                why.to_owned(),
            );
        }
    }

    fn hole(&mut self, number: u16, part: &Part, why: HoleReason) {
        let (member, offset_bytes) = match why {
            HoleReason::Missing => self.claim_lost(number, part.length_bytes()),
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
        let what = match why {
            HoleReason::Missing if member.is_some() => "the append is damaged or lost".to_owned(),
            HoleReason::Damaged { .. } => "the checksum is wrong".to_owned(),
            other => other.to_string(),
        };
        let lost = Some((number, part.offset_bytes(), part.end_bytes()));
        self.flaw(member, offset_bytes, lost, what);
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
            self.flaw(None, None, Some((number, at, at)), why.to_owned());
        }
    }

    fn flaw(
        &mut self,
        member: Option<usize>,
        offset_bytes: Option<u64>,
        lost: Option<(u16, u64, u64)>,
        why: String,
    ) {
        let name = |index: usize| self.names.by_index.get(&index).cloned();
        let bad = Bad {
            member: member.and_then(name),
            offset_bytes,
            recording: Some(self.recording.number),
            stream: lost.map(|(stream, _, _)| stream),
            from_byte: lost.map(|(_, from, _)| from),
            to_byte: lost.map(|(_, _, to)| to),
            why,
        };
        // A stretch that is lost for one reason is one flaw.
        if let Some(last) = self.bad.last_mut()
            && lost.is_some_and(|(_, from, to)| from < to)
            && last.stream == bad.stream
            && last.to_byte == bad.from_byte
            && last.from_byte < last.to_byte
            && last.member == bad.member
            && last.why == bad.why
            && last.offset_bytes.is_none()
            && bad.offset_bytes.is_none()
        {
            last.to_byte = bad.to_byte;
            return;
        }
        if self.bad.len() < BAD_MAX {
            self.bad.push(bad);
        } else {
            self.unlisted += 1;
        }
    }
}

impl OnMember {
    /// Between two appends that follow each other on a member, others may be missing.
    fn note_lost(&mut self, last: &Origin, next: &Origin, geometry: &Geometry) {
        let Some(previous) = next.descriptor.previous else {
            return;
        };
        if previous <= last.descriptor.place || self.lost.len() >= LOST_MAX {
            return;
        }
        for (stream, position) in next.descriptor.positions.iter().enumerate() {
            let of_last = last.descriptor.positions.get(stream).copied();
            let Position { member_bytes, .. } = of_last.unwrap_or_default();
            let own_bytes = if usize::from(next.descriptor.stream) == stream {
                u64::from(next.descriptor.payload_bytes)
            } else {
                0
            };
            let bytes = position
                .member_bytes
                .saturating_sub(member_bytes + own_bytes);
            if bytes > 0 {
                self.lost.push(Lost {
                    offset_bytes: geometry.offset_of(previous),
                    stream: stream as u16,
                    bytes,
                });
            }
        }
    }
}
