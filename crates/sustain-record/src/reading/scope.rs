//! The scope of reading: the members and slots of one recording, and what is needed to drive them.
//! It is made from an opened store, and readers are opened over it. It is plain data, so it can
//! pass between threads.

use std::ops::Range;
use std::path::Path;

use std::sync::Arc;
use sustain_disk::buffer::Region;
use sustain_disk::clock::Clock;
use sustain_disk::engine::{
    Engine, EngineChoice, Limits, SharedMachine, SimulatedEngine, SimulatedTarget, open,
};
use sustain_disk::error::Error;
use sustain_disk::target::Target;
use sustain_host::Roots;
use sustain_targets::RecordersBeside;
use uuid::Uuid;

use super::located_byte::LocatedByte;
use super::merge::Wanted;
use super::order::{HOLD_BYTES_MAX, PartOrder};
use crate::format::{AppendPlace, BLOCK_BYTES, ClockDrift, EndNote, SlotCourse};
use crate::member_io::{MemberIo, READS_ARE_GIVEN};
use crate::opening::Recording;
use crate::rebuilt::{Driven, DrivenMember, RebuiltMember};
use crate::source::framing::Framing;
use crate::store::{OpenMember, Store, StoreGroups};
use crate::walk::AppendIdentity;

/// A recording, as far as it lies on the members that are there.
#[derive(Clone)]
pub struct Scope {
    /// Its identity.
    pub recording_id: Uuid,
    /// How the frames of each stream are told apart, by its number.
    pub framings: Vec<Framing>,
    /// Bytes that each stream was offered, by its number; `None` where the end is open.
    pub offered_bytes: Vec<Option<u64>>,
    /// Whether it ended because its store was full, and the sums in its end mark tell which bytes
    /// behind all data were never recorded.
    pub has_filled_store: bool,
    /// Offset at which the readable part of each stream begins, by its number. A ring has
    /// overwritten what lies before.
    pub readable_from_bytes: Vec<u64>,
    /// How far each stream is known to have come, by its number.
    pub known_bytes: Vec<u64>,
    /// Whether it is being recorded to. Then streams are read as far as they are known and no
    /// farther.
    pub under_way: bool,
    /// The recording itself, if a ring has written over any of it.
    pub written_over: Option<Arc<Recording>>,
    /// Frames of each stream that have begun before its readable part, by its number.
    pub readable_from_frame: Vec<u64>,
    /// Frames that each stream is known to have begun, by its number.
    pub known_frames: Vec<u64>,
    /// How far the times of each stream differ from the recorder's clock, by its number, if that is
    /// known.
    pub drifts: Vec<Option<ClockDrift>>,
    /// Of what a pin keeps, when its time begins or, if it came earlier, the first byte of each
    /// stream, by its number, as far as that is known. All that arrived later is there.
    pub pinned_from_ns: Vec<Option<i64>>,
    /// The members that have a part of it.
    pub members: Vec<ScopeMember>,
    /// The groups of its store, if that has parity.
    pub groups: Option<Arc<StoreGroups>>,
    /// How long it is waited for members while none of them answers; without end, if none.
    pub patience_ns: Option<u64>,
    /// The simulated machines of the members, if they are simulated.
    pub machines: Vec<SharedMachine>,
    /// The clock of simulated machines.
    pub clock: Clock,
}

/// See [`Scope::has_filled_store`]. Where a member failed, what was given up may be on it all the
/// same, and where a ring has gone on, data may be gone as well: then the sums tell of other bytes.
fn has_filled_store(recording: &Recording) -> bool {
    let is_told = recording
        .end
        .as_ref()
        .is_some_and(|end| end.ended == EndNote::FULL && end.protected_bytes.is_some());
    let is_kept = !recording.ring && !recording.is_gone_from_a_member;
    is_told && is_kept && recording.readable_from_sequence.is_none()
}

/// The part of a recording on one member.
#[derive(Debug, Clone)]
pub struct ScopeMember {
    /// Its index in the store.
    pub index: usize,
    /// The name as typed.
    pub name: String,
    /// The target that reads the member.
    pub target: Target,
    /// The simulated disk, if the member is one.
    pub simulated: Option<SimulatedTarget>,
    /// What is known of the member if it is not there, and is computed from the others.
    pub rebuilt: Option<Arc<RebuiltMember>>,
    /// Whether what it has of the recording was computed from others, now or when it was repaired.
    pub is_computed: bool,
    /// The identity that every descriptor on it must carry.
    pub identity: AppendIdentity,
    /// The order in which its slots are written.
    pub course: SlotCourse,
    /// Serials of the slots that have anything of the recording.
    pub slots: Range<u64>,
    /// The newest append of it. What is found behind that has come since, and what came since on
    /// other members is not read either.
    pub last: AppendPlace,
    /// The same as others tell of it, if it is not found.
    pub told_last: AppendPlace,
    /// Whether that is the end mark.
    pub has_end: bool,
}

impl ScopeMember {
    /// A member that has nothing of the recording.
    fn without_part(member: &OpenMember) -> ScopeMember {
        let nothing = AppendPlace {
            slot_serial: 0,
            slot_offset_bytes: 0,
        };
        ScopeMember {
            index: member.index(),
            name: member.name.clone(),
            target: member.target.clone(),
            simulated: member.simulated,
            rebuilt: member.rebuilt.clone(),
            is_computed: member.rebuilt.is_some(),
            identity: member.identity(),
            course: member.superblock.course(),
            slots: 0..0,
            last: nothing,
            told_last: nothing,
            has_end: false,
        }
    }

    /// Whether the member is there, even if it lacks a part of what it was given.
    pub(super) fn is_there(&self) -> bool {
        let rebuilt = self.rebuilt.as_ref();
        rebuilt.is_none_or(|rebuilt| rebuilt.is_there())
    }

    pub(super) fn slot_bytes(&self) -> usize {
        self.identity.geometry.slot_bytes as usize
    }

    /// The last append of a slot, as what lies behind it tells: the first append of the next slot,
    /// given its bytes, or where the recording ends on the member. None if that is damaged.
    pub(super) fn told_last(&self, slot_serial: u64, behind: &[u8]) -> Option<AppendPlace> {
        if self.told_last.slot_serial == slot_serial {
            return Some(self.told_last);
        }
        let head = behind
            .get(..BLOCK_BYTES)
            .and_then(|block| self.identity.head(block))?;
        let first = head.descriptor()?;
        // Where the beginning of the next slot was lost, an append of an earlier lap may lie there.
        match first.place.slot_serial > slot_serial {
            true => first.previous,
            false => None,
        }
    }
}

impl Scope {
    /// Makes the scope of a recording of a store that is open.
    pub fn of_store(store: &Store, recording: &Recording) -> Scope {
        Scope::of(recording, &store.members, store.machines(), store.clock())
    }

    /// Makes the scope of a recording on these members of its store.
    pub fn of(
        recording: &Recording,
        members: &[OpenMember],
        machines: &[SharedMachine],
        clock: &Clock,
    ) -> Scope {
        let totals = recording.end.as_ref().map(|end| &end.streams);
        let total = |stream: usize| totals.and_then(|totals| totals.get(stream));
        let streams = recording.streams.iter();
        let offered_bytes = streams.clone().enumerate().map(|(number, stream)| {
            let told = total(number).map(|total| total.offered);
            // If the end mark cannot be read, it still follows everything that was offered.
            told.or((!recording.open_end).then_some(stream.offered_bytes))
        });
        let framing = |name: &String| name.parse::<Framing>().ok();
        Scope {
            recording_id: recording.id,
            framings: streams
                .clone()
                .map(|stream| stream.framing.as_ref().and_then(framing))
                .map(|framing| framing.unwrap_or(Framing::None))
                .collect(),
            offered_bytes: offered_bytes.collect(),
            has_filled_store: has_filled_store(recording),
            known_bytes: streams.clone().map(|stream| stream.offered_bytes).collect(),
            under_way: recording.under_way,
            written_over: (recording.is_gone_from_a_member
                || recording.readable_from_sequence.is_some())
            .then(|| Arc::new(recording.clone())),
            readable_from_bytes: streams
                .clone()
                .map(|stream| stream.readable_from_bytes)
                .collect(),
            readable_from_frame: streams
                .clone()
                .map(|stream| stream.readable_from_frame)
                .collect(),
            known_frames: streams.clone().map(|stream| stream.frames).collect(),
            drifts: streams.clone().map(|stream| stream.drift).collect(),
            pinned_from_ns: streams
                .map(|stream| {
                    let first_ns = stream.first_time_ns.filter(|_| recording.pin.is_some());
                    first_ns.into_iter().chain(recording.kept_from_ns).min()
                })
                .collect(),
            members: members_with_part(recording, members),
            groups: members.first().and_then(|member| member.groups.clone()),
            patience_ns: None,
            machines: machines.to_vec(),
            clock: clock.clone(),
        }
    }

    /// Lets a stream be read where a ring has overwritten it in part, too: what is not there any
    /// more is a hole then.
    #[must_use]
    pub fn with_overwritten(mut self, stream: u16) -> Scope {
        let index = usize::from(stream);
        let bytes = self.readable_from_bytes.get_mut(index);
        let frames = self.readable_from_frame.get_mut(index);
        bytes
            .into_iter()
            .chain(frames)
            .for_each(|readable| *readable = 0);
        self
    }

    /// Whether the members are simulated. Then they are driven in the caller's thread.
    pub fn is_simulated(&self) -> bool {
        self.driven().simulated().is_some()
    }

    /// The order for some streams as a whole.
    pub fn all(&self, streams: Range<u16>) -> PartOrder {
        let wanted = streams.map(|stream| self.wanted(stream, 0)).collect();
        PartOrder {
            wanted,
            first_slots: self
                .members
                .iter()
                .map(|member| member.slots.start)
                .collect(),
            reads_ahead: None,
            hold_bytes_max: HOLD_BYTES_MAX,
        }
    }

    /// Where a stream ends for its readers, if it is being recorded to.
    pub(super) fn ends_at_bytes(&self, stream: u16) -> Option<u64> {
        self.under_way.then(|| self.known_bytes(stream))
    }

    /// Where the readable part of a stream begins.
    pub(super) fn readable(&self, stream: u16) -> LocatedByte {
        let index = usize::from(stream);
        LocatedByte {
            bytes: self.readable_from_bytes.get(index).copied().unwrap_or(0),
            frames: self.readable_from_frame.get(index).copied().unwrap_or(0),
        }
    }

    pub(super) fn known_frames(&self, stream: u16) -> u64 {
        let known = self.known_frames.get(usize::from(stream));
        known.copied().unwrap_or(0)
    }

    pub(super) fn drift(&self, stream: u16) -> Option<ClockDrift> {
        self.drifts.get(usize::from(stream)).copied().flatten()
    }

    /// Whether a pin keeps all of a stream that arrived from this time on. What lies before that in
    /// its slots, and cannot be read from there on, nobody asked for.
    pub(super) fn keeps_all_from(&self, stream: u16, time_ns: i64) -> bool {
        let first_ns = self.pinned_from_ns.get(usize::from(stream)).copied();
        first_ns
            .flatten()
            .is_some_and(|first_ns| first_ns <= time_ns)
    }

    pub(super) fn known_bytes(&self, stream: u16) -> u64 {
        self.known_bytes
            .get(usize::from(stream))
            .copied()
            .unwrap_or(0)
    }

    /// The request for a stream from a byte on.
    pub(super) fn wanted(&self, stream: u16, from_bytes: u64) -> Wanted {
        let index = usize::from(stream);
        Wanted {
            stream,
            from_bytes,
            readable_from_bytes: self.readable_from_bytes.get(index).copied().unwrap_or(0),
            offered_bytes: self.offered_bytes.get(index).copied().flatten(),
            durable_bytes: self.ends_at_bytes(stream).unwrap_or(0),
            has_filled_store: self.has_filled_store,
        }
    }

    /// Bytes of all slots that have anything of it.
    pub fn slot_bytes(&self) -> u64 {
        let bytes = |member: &ScopeMember| {
            let slots = member.slots.end - member.slots.start;
            slots * u64::from(member.identity.geometry.slot_bytes)
        };
        self.members.iter().map(bytes).sum()
    }

    /// Opens the members for a few reads here and there.
    pub(super) fn open_io(&self) -> Result<MemberIo, Error> {
        let names = self.members.iter().map(|member| member.name.clone());
        let io =
            MemberIo::open_driven(self.driven(), names.collect(), &self.machines, &self.clock)?;
        Ok(match self.patience_ns {
            Some(patience_ns) => io.given_up_after(patience_ns / READS_ARE_GIVEN),
            None => io,
        })
    }

    /// Opens the engine that reads all of it.
    pub(super) fn open_engine(
        &self,
        limits: Limits,
        regions: &[Arc<Region>],
    ) -> Result<Box<dyn Engine>, Error> {
        let driven = self.driven();
        if let Some(simulated) = driven.simulated() {
            let machines = self.machines.clone();
            let engine = SimulatedEngine::new(machines, simulated, self.clock.clone());
            return driven.around(Box::new(engine), &self.clock);
        }
        let (files, limits) = (driven.files()?, driven.limits(limits));
        let engine = open(EngineChoice::Auto, files, limits, regions, &self.clock)?.engine;
        let engine = self.recorders_beside().let_pass(engine, &self.clock);
        driven.around(engine, &self.clock)
    }

    /// The members, as an engine drives them.
    fn driven(&self) -> Driven<'_> {
        let members = self.members.iter().map(|member| DrivenMember {
            member: member.index,
            target: &member.target,
            simulated: member.simulated,
            rebuilt: member.rebuilt.as_ref(),
        });
        Driven::of(&members.collect::<Vec<_>>())
    }

    /// Who records on the members' disks.
    fn recorders_beside(&self) -> RecordersBeside {
        let members = self.members.iter();
        let targets = members.map(|member| (&member.target, Some(Path::new(&member.name))));
        RecordersBeside::under(targets, &Roots::default())
    }
}

/// The members that have a part of a recording, and those that may have copies of what retired ones
/// had of it: these have no slots of it.
fn members_with_part(recording: &Recording, members: &[OpenMember]) -> Vec<ScopeMember> {
    let has_copies = |member: &OpenMember| {
        member.is_there() && !member.superblock.retired.is_empty() && recording.has_streams()
    };
    let member = |member: &OpenMember| {
        let Some(extent) = recording.per_member.get(member.index()).copied().flatten() else {
            return has_copies(member).then(|| ScopeMember::without_part(member));
        };
        let told_last = extent.lost_last.max(Some(extent.last))?;
        // What is lost before the first append may be computed by parity.
        let lost_first = extent.lost_first.filter(|_| member.groups.is_some());
        let first = lost_first.map_or(extent.first, |lost| lost.min(extent.first));
        Some(ScopeMember {
            is_computed: member.is_computed_at(extent.last.slot_serial),
            slots: first.slot_serial..told_last.slot_serial + 1,
            last: extent.last,
            told_last,
            has_end: extent.has_end,
            ..ScopeMember::without_part(member)
        })
    };
    members.iter().filter_map(member).collect()
}

/// Opens members of a store for a few reads here and there.
pub(super) fn open_io(
    members: &[OpenMember],
    machines: &[SharedMachine],
    clock: &Clock,
) -> Result<MemberIo, Error> {
    let driven: Vec<DrivenMember<'_>> = members.iter().map(OpenMember::driven).collect();
    let names = members.iter().map(|member| member.name.clone());
    MemberIo::open_driven(Driven::of(&driven), names.collect(), machines, clock)
}
