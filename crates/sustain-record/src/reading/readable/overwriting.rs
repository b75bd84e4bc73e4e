//! What a recorder may have been writing over in a ring when the power was cut: docs/format.md,
//! "The ring". Appends there that are not whole any more are the crash's work, and none of the
//! medium.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use uuid::Uuid;

use super::lost::Doubt;
use super::reach::CutReach;
use super::readable_start::ReadableStart;
use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor, Kind, Position};
use crate::member_io::{MemberIo, ReadOrder};
use crate::opening::{Recording, durable_beginning, was_durable, was_durable_in_part};
use crate::reading::bytes::SharedBytes;
use crate::reading::checkable::Checkable;
use crate::reading::examine::{Slot, Unreadable, examine};
use crate::reading::merge::CheckedPart;
use crate::reading::part::{HoleReason, Origin};
use crate::reading::scope::open_io;
use crate::store::OpenMember;

/// A trace of being written over on one member.
#[derive(Debug)]
pub(super) enum Trace {
    /// A recording begins behind it.
    Start(ReadableStart),
    /// Of the end mark of a recording. It costs nothing of it: any other end mark says the same.
    End { recording_id: Uuid, member: usize },
    /// All that a member had of a recording may be gone, before this sequence.
    Gone { recording_id: Uuid, sequence: u64 },
}

/// An append that is not whole, or not there: a trace if it is lost by that.
struct SuspectBytes {
    trace: Trace,
    /// What is lost on no other member; none if that is no question.
    doubt: Option<Doubt>,
    /// Whether another member may be the one that has lost it. What the others tell comes first.
    may_be_of_other: bool,
}

impl SuspectBytes {
    /// One that is a trace, whatever other members have.
    fn certain(trace: Trace) -> SuspectBytes {
        SuspectBytes {
            trace,
            doubt: None,
            may_be_of_other: false,
        }
    }
}

/// What was being written over on members and is not whole any more.
pub(super) fn traces(
    store: Checkable<'_>,
    observer: &mut dyn FnMut(u64),
) -> Result<Vec<Trace>, RecordError> {
    let reaches: Vec<Option<CutReach>> = store
        .members
        .iter()
        .map(|member| CutReach::of(member, store.recordings))
        .collect();
    if reaches.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let mut suspects = Vec::new();
    let mut io = open_io(store.members, store.machines, store.clock)?;
    for (target, (member, reach)) in store.members.iter().zip(reaches).enumerate() {
        if let Some(reach) = reach {
            let seeker = Seeker {
                recordings: store.recordings,
                member: member.index(),
                reach,
                last: None,
                start: None,
                suspects: Vec::new(),
            };
            let of_member = suspects_of_member(&mut io, (target, member), seeker, observer);
            suspects.push(of_member?);
        }
    }
    drop(io);
    let mut traces = Vec::new();
    let mut left = Vec::new();
    for of_member in suspects {
        let (later, first) = of_member
            .into_iter()
            .partition(|suspect: &SuspectBytes| suspect.may_be_of_other);
        confirm(store, first, &mut traces, observer)?;
        left.push(later);
    }
    let mut recordings = store.recordings.to_vec();
    traces.iter().for_each(|trace| trace.apply(&mut recordings));
    let store = Checkable {
        recordings: &recordings,
        ..store
    };
    for of_member in left {
        confirm(store, of_member, &mut traces, observer)?;
    }
    Ok(traces)
}

/// Of each recording the last append on a member counts of which something is lost.
fn confirm(
    store: Checkable<'_>,
    suspects: Vec<SuspectBytes>,
    traces: &mut Vec<Trace>,
    observer: &mut dyn FnMut(u64),
) -> Result<(), RecordError> {
    let mut with_start = BTreeSet::new();
    for SuspectBytes { trace, doubt, .. } in suspects.into_iter().rev() {
        if let Trace::Start(start) = &trace {
            if with_start.contains(&start.recording_id) {
                continue;
            }
            let is_lost = match doubt {
                Some(doubt) => doubt.is_lost(store, start.recording_id, observer)?,
                None => true,
            };
            if !is_lost {
                continue;
            }
            with_start.insert(start.recording_id);
        }
        traces.push(trace);
    }
    Ok(())
}

fn suspects_of_member(
    io: &mut MemberIo,
    (target, member): (usize, &OpenMember),
    mut seeker: Seeker<'_>,
    observer: &mut dyn FnMut(u64),
) -> Result<Vec<SuspectBytes>, RecordError> {
    let identity = member.identity();
    for serial in seeker.reach.slots_to_read() {
        let place = AppendPlace {
            slot_serial: serial,
            slot_offset_bytes: 0,
        };
        let offset_bytes = identity.geometry.offset_of(place);
        // The appends around a block that cannot be read are there all the same.
        let read = io.read_stretch(ReadOrder {
            member: target,
            offset_bytes,
            length_bytes: identity.geometry.slot_bytes as usize,
        })?;
        observer(read.bytes.len() as u64);
        // What cannot be read is named by whoever reads it.
        let unreadable = read.unreadable.into_iter().map(|start| {
            let start_bytes = offset_bytes + start as u64;
            Unreadable {
                member: member.index(),
                range: start_bytes..start_bytes + BLOCK_BYTES as u64,
                errno: None,
            }
        });
        let slot = Slot {
            member: member.index(),
            serial,
            bytes: &SharedBytes::from(read.bytes),
            unreadable: &unreadable.collect::<Vec<_>>(),
            restored_at_bytes: &[],
        };
        for append in examine(&identity, slot) {
            seeker.take(&append);
        }
    }
    Ok(seeker.suspects)
}

/// Looks for appends that are not whole, although they were durable.
struct Seeker<'a> {
    recordings: &'a [Recording],
    member: usize,
    reach: CutReach,
    last: Option<Arc<Origin>>,
    /// A start that is not whole: a later append that names it may tell that it was durable.
    start: Option<Arc<Origin>>,
    /// In the order of the appends.
    suspects: Vec<SuspectBytes>,
}

impl<'a> Seeker<'a> {
    fn take(&mut self, append: &CheckedPart) {
        let origin = &append.origin;
        let place = origin.descriptor.place;
        if let Some(start) = self
            .start
            .take_if(|start| origin.descriptor.start == Some(start.descriptor.place))
            && self.was_durable_start(&start, &origin.descriptor)
        {
            self.start_behind(&start, None);
        }
        let last = self.last.replace(Arc::clone(origin));
        if let Some(last) = &last {
            self.look_between(last, origin);
        }
        self.look_before(last.as_deref(), origin);
        if !self.reach.may_be_hit(place.slot_serial) {
            return;
        }
        let is_lost = self.has_lost(append);
        match origin.descriptor.kind {
            Kind::Data if is_lost => self.start_behind(origin, Some(Doubt::torn(origin))),
            Kind::Start if is_lost => self.start_behind(origin, None),
            Kind::Start if !append.damaged.is_empty() => self.start = Some(Arc::clone(origin)),
            Kind::End if is_lost => self.end_lost(origin),
            Kind::Data | Kind::Start | Kind::End | Kind::Parity => {}
        }
    }

    /// Whether an append that names a start tells that the start was durable. The end mark of
    /// recovering names what it has found, and tells whether that was whole.
    fn was_durable_start(&self, start: &Origin, names_it: &Descriptor) -> bool {
        let recording = self.recording(names_it.recording_id);
        let Some(recording) = recording.filter(|one| one.is_crashed()) else {
            return true;
        };
        let extent = recording.per_member[self.member];
        names_it.kind != Kind::End
            || extent.is_some_and(|extent| {
                extent.start_was_whole && extent.start == Some(start.descriptor.place)
            })
    }

    /// Whether anything of an append that may have been durable is not whole.
    fn has_lost(&self, append: &CheckedPart) -> bool {
        let descriptor = &append.origin.descriptor;
        let Some(recording) = self.recording(descriptor.recording_id) else {
            return false;
        };
        let mut damaged = append
            .damaged
            .iter()
            .filter(|(_, why)| matches!(why, HoleReason::Damaged { .. }));
        let is_bare = !append.origin.sealed || append.origin.marks.is_none();
        if !recording.is_crashed() {
            // What a member that failed had not flushed was written elsewhere. One without an end
            // mark need not have failed if the mark itself may have been written over.
            let extent = recording.per_member[self.member];
            let was_flushed = extent.is_some_and(|extent| {
                extent.has_end
                    || descriptor.sequence <= extent.flushed_sequence
                    || self.reach.spans(extent.last.slot_serial)
            });
            return was_flushed && (is_bare || damaged.next().is_some());
        }
        if descriptor.kind == Kind::End {
            // Recovering has written and flushed it, before the next recording began.
            return is_bare || damaged.next().is_some();
        }
        let offset_bytes = descriptor.stream_offset_bytes;
        let is_lost = |from: u64, to: u64| {
            descriptor.kind == Kind::Data
                && was_durable_in_part(recording, descriptor.stream, from..to)
        };
        append.origin.marks.is_none() && is_lost(offset_bytes, offset_bytes)
            || damaged.any(|(range, _)| {
                let [start, end] = [range.start, range.end].map(u64::from);
                is_lost(offset_bytes + start, offset_bytes + end)
            })
    }

    /// Whether appends are missing between two that were found.
    fn look_between(&mut self, last: &Origin, next: &Origin) {
        let is_missing = next.descriptor.previous.is_some_and(|previous| {
            previous > last.descriptor.place && self.reach.may_be_hit(previous.slot_serial)
        });
        if !is_missing {
            return;
        }
        let is_one = last.descriptor.recording_id == next.descriptor.recording_id;
        let Some(recording) = self.recording(last.descriptor.recording_id) else {
            return;
        };
        if is_one {
            self.look_within(recording, Some(last), next);
            return;
        }
        self.end_lost(last);
        // It was found when the next recording began. How far the streams came there nobody tells
        // any more, nor what this member had flushed: the others tell what was durable.
        let doubt = self.missing_behind(last, recording);
        let sequence = next.descriptor.sequence;
        self.start_at(last, place_behind(last), sequence, None, Some(doubt));
    }

    /// Whether appends are missing before the first one that is found of a recording. What is older
    /// than the lap is known to be overwritten. What a power cut has hit without a trace is not: in
    /// the first lap it may be all that came first.
    fn look_before(&mut self, last: Option<&Origin>, first: &Origin) {
        let descriptor = &first.descriptor;
        let is_missing = descriptor.previous.is_some_and(|previous| {
            last.is_none_or(|last| previous > last.descriptor.place)
                && self.reach.may_be_hit(previous.slot_serial)
        });
        let last_number = last.map_or(0, |last| last.descriptor.recording);
        if !is_missing || last_number == descriptor.recording {
            return;
        }
        self.gone_between(last_number, descriptor);
        let recording = self.recording(descriptor.recording_id);
        let Some(recording) = recording.filter(|_| !descriptor.is_first_start()) else {
            return;
        };
        let extent = recording.per_member[self.member];
        if extent.is_some_and(|extent| !extent.is_overwritten) {
            self.look_within(recording, None, first);
        }
    }

    /// Recordings between two that are found, of which nothing is, may have lain in between.
    fn gone_between(&mut self, last_number: u32, first: &Descriptor) {
        let is_between =
            |one: &&Recording| last_number < one.number && one.number < first.recording;
        for recording in self.recordings.iter().filter(is_between) {
            let had_any = !recording.was_absent(self.member);
            let is_there = recording.per_member[self.member].is_some();
            if had_any && !is_there && !recording.is_gone_from_a_member {
                let trace = Trace::Gone {
                    recording_id: recording.id,
                    sequence: first.sequence,
                };
                self.suspects.push(SuspectBytes::certain(trace));
            }
        }
    }

    /// What appends that are missing behind the last one of a recording may have had.
    fn missing_behind(&self, last: &Origin, recording: &Recording) -> Doubt {
        let streams = (0..).zip(recording.streams.iter().zip(&last.descriptor.positions));
        let stretches = streams.map(|(stream, (known, position))| {
            let end_bytes = match recording.open_end {
                true => known.settled_bytes,
                false => known.offered_bytes,
            };
            (stream, position.settled_offset_bytes..end_bytes)
        });
        let stretches = stretches.filter(|(_, bytes)| !bytes.is_empty());
        Doubt::missing(self.member, stretches.collect())
    }

    /// What is missing between two appends of one recording, or before the first one.
    fn look_within(&mut self, recording: &Recording, last: Option<&Origin>, next: &Origin) {
        let start = next.descriptor.start;
        let lost_start = last.zip(start).is_some_and(|(last, start)| {
            start > last.descriptor.place && start < next.descriptor.place
        });
        let position = |origin: &Origin, stream: usize| {
            let position = origin.descriptor.positions.get(stream).copied();
            position.unwrap_or_default()
        };
        // What was handed out meanwhile lies on other members, too, and one of these may have lost
        // some: where not all of it was durable, only a flush shown here tells of what is missing.
        let is_flushed = next.descriptor.kind != Kind::End
            && last.is_some_and(|last| next.descriptor.flushed_sequence > last.descriptor.sequence);
        let is_durable = |stream: u16, handed_out: Range<u64>| {
            was_durable(recording, stream, handed_out.clone())
                || is_flushed && was_durable_in_part(recording, stream, handed_out)
        };
        let (mut stretches, mut uncertain) = (Vec::new(), Vec::new());
        for stream in 0..next.descriptor.positions.len() {
            let before = last.map(|last| position(last, stream)).unwrap_or_default();
            let after = position(next, stream);
            let is_own = usize::from(next.descriptor.stream) == stream;
            let own_gap_bytes = next.descriptor.gap.map_or(0, |gap| gap.bytes);
            let (own_bytes, own_gap_bytes) = match is_own {
                true => (u64::from(next.descriptor.payload_bytes), own_gap_bytes),
                false => (0, 0),
            };
            // Its own bytes were handed out last, and may be what a crash has torn.
            let handed_out_end = next.descriptor.position_before(stream).next_offset_bytes;
            let handed_out = before.next_offset_bytes..handed_out_end;
            // The account of a gap has no bytes, and may have been on another member.
            let has_missed = after.member_bytes > before.member_bytes.saturating_add(own_bytes)
                || after.gap_bytes > before.gap_bytes.saturating_add(own_gap_bytes);
            let stream = stream as u16;
            if has_missed && is_durable(stream, handed_out.clone()) {
                stretches.push((stream, before.settled_offset_bytes..handed_out_end));
            } else if has_missed {
                let durable = durable_beginning(recording, stream, handed_out);
                uncertain.extend(durable.map(|bytes| (stream, bytes)));
            }
        }
        if !lost_start && stretches.is_empty() && uncertain.is_empty() {
            return;
        }
        let may_be_of_other = !lost_start && stretches.is_empty();
        let stretches = if may_be_of_other {
            uncertain
        } else {
            stretches
        };
        let doubt = (!lost_start).then(|| Doubt::missing(self.member, stretches));
        let descriptor = &next.descriptor;
        let streams = 0..descriptor.positions.len();
        let positions = streams.map(|stream| descriptor.position_before(stream));
        let positions = positions.collect();
        let (place, sequence) = (descriptor.place, descriptor.sequence);
        self.start_at(next, place, sequence, Some(positions), doubt);
        if let Some(suspect) = self.suspects.last_mut() {
            suspect.may_be_of_other = may_be_of_other;
        }
    }

    fn recording(&self, id: Uuid) -> Option<&'a Recording> {
        self.recordings.iter().find(|one| one.id == id)
    }

    fn start_behind(&mut self, origin: &Origin, doubt: Option<Doubt>) {
        let descriptor = &origin.descriptor;
        let positions = Some(descriptor.positions.clone());
        let place = place_behind(origin);
        self.start_at(origin, place, descriptor.sequence + 1, positions, doubt);
    }

    /// The recording of an append begins at a place, with a sequence.
    fn start_at(
        &mut self,
        origin: &Origin,
        place: AppendPlace,
        sequence: u64,
        positions: Option<Vec<Position>>,
        doubt: Option<Doubt>,
    ) {
        let recording_id = origin.descriptor.recording_id;
        let start = ReadableStart {
            recording_id,
            member: self.member,
            place,
            sequence,
            positions,
        };
        let trace = Trace::Start(start);
        self.suspects.push(SuspectBytes {
            trace,
            doubt,
            may_be_of_other: false,
        });
    }

    /// The end mark of the recording of an append is not whole here, or not there.
    fn end_lost(&mut self, origin: &Origin) {
        let trace = Trace::End {
            recording_id: origin.descriptor.recording_id,
            member: self.member,
        };
        self.suspects.push(SuspectBytes::certain(trace));
    }
}

/// Where an append ends. It is in the slot of the append, so that a recording of which nothing is
/// left on a member still ends there behind where it begins.
fn place_behind(origin: &Origin) -> AppendPlace {
    let descriptor = &origin.descriptor;
    let mut place = descriptor.place;
    place.slot_offset_bytes += descriptor.append_bytes;
    place
}

impl Trace {
    /// What lies before a start counts as written over.
    pub(super) fn apply(&self, recordings: &mut [Recording]) {
        match self {
            Trace::Start(start) => start.apply(recordings),
            Trace::End {
                recording_id,
                member,
            } => {
                let recording = recordings.iter_mut().find(|one| one.id == *recording_id);
                let extent = recording.and_then(|one| one.per_member[*member].as_mut());
                if let Some(extent) = extent {
                    extent.end_is_overwritten = true;
                }
            }
            Trace::Gone {
                recording_id,
                sequence,
            } => {
                let recording = recordings.iter_mut().find(|one| one.id == *recording_id);
                if let Some(recording) = recording {
                    recording.count_as_gone(*sequence);
                }
            }
        }
    }
}
