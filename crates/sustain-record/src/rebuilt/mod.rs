//! Members that are not there, read through the others: where parity protects what they had, it is
//! computed from the other appends of its group (docs/format.md, "Parity").
//!
//! The store looks through the members that are there for the lists of groups. `computed` finds
//! out what can be computed of the others, and a [`RebuiltMember`] has that of one of them.
//! `Driven` puts an engine around the real one that turns a read of such a member into reads of
//! the others. So nothing above the engine knows of it, and each append is checked by its own
//! checksums, as one that was read.

mod append;
mod copied_groups;
mod copies;
mod crashed;
mod displaced;
mod drive;
mod engine;
mod found;
mod groups;
mod lacking;
mod look;
mod overwritten;
mod parity;
mod piece;
mod pins;
mod stand_in;
mod superseded;
#[cfg(test)]
mod tests;
mod vectors;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use sustain_disk::engine::SimulatedTarget;
use sustain_disk::target::Target;

use crate::format::{AppendPlace, Geometry, Pin, SlotCourse};
use crate::walk::AppendIdentity;

pub(crate) use append::{WantedAppend, is_whole};
pub(crate) use copied_groups::CopiedParities;
pub(crate) use copies::{CopiedPart, copies_of, copies_of_beginning, is_of_copies};
pub(crate) use crashed::Crashed;
pub(crate) use displaced::OwnAppends;
pub(crate) use drive::{Driven, DrivenMember};
pub(crate) use found::{FoundData, FoundMark, FoundParity, MemberThere, StoreShape, group_of_data};
pub(crate) use groups::{Computed, FoundGroups, computed, grouped};
pub(crate) use lacking::LackingParity;
pub(crate) use look::{LookedState, RebuiltLook};
pub(crate) use overwritten::Overwritten;
pub(crate) use parity::{MadeParity, WantedParity};
pub(crate) use pins::{KnownPin, PinOnMember};

use groups::BrokenGroup;

/// More beginnings of slots are not made up for one member: no disk has so many slots, and a forged
/// superblock may tell of any number.
const STAND_INS_MAX: usize = 1 << 23;

/// A member that is there, from which others are computed.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Its place in the table of members.
    pub(crate) member: usize,
    pub(crate) target: Target,
    pub(crate) simulated: Option<SimulatedTarget>,
}

/// A member that is not there, as far as its appends can be computed.
#[derive(Debug)]
pub struct RebuiltMember {
    identity: AppendIdentity,
    /// The members that are there; groups name them by their index here.
    sources: Vec<Source>,
    groups: Arc<Vec<BrokenGroup>>,
    /// By their offset on the member, apart from each other.
    appends: Vec<ComputedAppend>,
    /// By their offset on the member. None lies within one of the appends.
    stand_ins: Vec<StandIn>,
    /// The member itself, if it is there and lacks only a part of what it was given.
    own: Option<OwnPart>,
    /// The look that has found it, if that can be followed on.
    look: Option<Arc<RebuiltLook>>,
}

/// What a member that is there has of itself.
#[derive(Debug)]
struct OwnPart {
    /// Itself, among the sources.
    source: usize,
    /// Stretches in which nothing of its own counts, because they were to be written over: apart
    /// from each other, and in order.
    superseded: Vec<Range<u64>>,
    /// The first slot in which something is computed.
    first_slot: Option<u64>,
}

/// An append of data that can be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ComputedAppend {
    offset_bytes: u64,
    append_bytes: u32,
    place: AppendPlace,
    /// The checksum in its descriptor, as its group tells it.
    descriptor_crc: u32,
    /// Its group, and its position in that.
    group: usize,
    position: usize,
}

/// The beginning of a slot in which nothing is known: what stands there instead is made of the
/// append that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StandIn {
    offset_bytes: u64,
    place: AppendPlace,
    /// The append that comes next, by its index.
    next: usize,
}

impl RebuiltMember {
    /// Makes the member with this identity, and with these pins, of what can be computed of it.
    pub(crate) fn new(
        (identity, pins): (AppendIdentity, &[Pin]),
        sources: Vec<Source>,
        computed: &Computed,
        member: usize,
    ) -> RebuiltMember {
        let appends = appends_on(&identity.geometry, computed, member);
        RebuiltMember {
            stand_ins: stand_ins(&identity.geometry, pins, &appends),
            identity,
            sources,
            groups: Arc::clone(&computed.groups),
            appends,
            own: None,
            look: None,
        }
    }

    /// The same, found by this look.
    pub(crate) fn found_by(self, look: Arc<RebuiltLook>) -> Self {
        RebuiltMember {
            look: Some(look),
            ..self
        }
    }

    /// The look that has found it, if that can be followed on.
    pub(crate) fn look(&self) -> Option<&Arc<RebuiltLook>> {
        self.look.as_ref()
    }

    /// The same for a member that is there, at this index among the sources. `last` is its last
    /// append, and the offset behind it.
    pub(crate) fn beside_own(self, source: usize, last: Option<(AppendPlace, u64)>) -> Self {
        let geometry = self.identity.geometry;
        let slot_bytes = u64::from(geometry.slot_bytes);
        let places = self.appends.iter().map(|append| append.place.slot_serial);
        let first = places.clone().min();
        let last_slot = last.map(|(place, _)| place.slot_serial);
        // The slots before have beginnings of their own, but for those of which nothing is left.
        let lacking: HashSet<u64> = places.clone().collect();
        let stand_ins = self.stand_ins.iter().copied().filter(|one| {
            let slot = one.place.slot_serial;
            Some(slot) > last_slot || Some(slot) < last_slot && lacking.contains(&slot)
        });
        let stand_ins: Vec<StandIn> = stand_ins.collect();
        let begun = stand_ins.iter().map(|one| one.place.slot_serial);
        let first_slot = begun.chain(first).min();
        let mut superseded: Vec<Range<u64>> = places
            .chain(stand_ins.iter().map(|one| one.place.slot_serial))
            .map(|slot_serial| {
                let start = AppendPlace {
                    slot_serial,
                    slot_offset_bytes: 0,
                };
                let start_bytes = geometry.offset_of(start);
                let from_bytes = match last {
                    Some((last, end_bytes)) if last.slot_serial == slot_serial => end_bytes,
                    _ => start_bytes,
                };
                from_bytes..start_bytes + slot_bytes
            })
            .collect();
        superseded.sort_by_key(|range| range.start);
        superseded.dedup();
        RebuiltMember {
            own: Some(OwnPart {
                source,
                superseded,
                first_slot,
            }),
            stand_ins,
            ..self
        }
    }

    /// Whether the member is there, and lacks only a part of what it was given.
    pub fn is_there(&self) -> bool {
        self.own.is_some()
    }

    /// Whether what is read of a slot may be computed.
    pub(crate) fn may_compute_in(&self, slot_serial: u64) -> bool {
        let own = self.own.as_ref();
        own.is_none_or(|own| Some(slot_serial) >= own.first_slot)
    }

    /// Whether groups have an append of it from one place up to before another.
    pub(crate) fn computes_between(&self, places: Range<AppendPlace>) -> bool {
        self.appends.iter().any(|one| places.contains(&one.place))
    }

    /// The newest slot of which anything is known; none if nothing is known at all.
    pub(crate) fn newest_serial(&self) -> Option<u64> {
        let serials = self.appends.iter().map(|append| append.place.slot_serial);
        serials.max()
    }

    /// Whether the append at this place is computed, and not read from the member.
    pub(crate) fn computes(&self, place: AppendPlace) -> bool {
        let offset_bytes = self.identity.geometry.offset_of(place);
        let appends = &self.appends;
        let found = appends.binary_search_by_key(&offset_bytes, |one| one.offset_bytes);
        found.is_ok_and(|index| appends[index].place == place)
    }

    /// The most reads that one piece of an append takes.
    fn reads_max(&self) -> usize {
        let reads = self.appends.iter().map(|append| {
            let group = &self.groups[append.group];
            group.data.len() + group.parities.len()
        });
        reads.max().unwrap_or(1)
    }
}

/// The appends of a member that can be computed. A slot that was written again has what came last
/// in it, and nothing else.
fn appends_on(geometry: &Geometry, computed: &Computed, member: usize) -> Vec<ComputedAppend> {
    let all = computed.lost_on(member);
    let mut appends: Vec<ComputedAppend> = all
        .map(|(group, position, entry)| ComputedAppend {
            offset_bytes: geometry.offset_of(entry.place),
            append_bytes: entry.append_bytes,
            place: entry.place,
            descriptor_crc: entry.descriptor_crc,
            group,
            position,
        })
        .collect();
    let slot = |append: &ComputedAppend| append.place.slot_serial % geometry.slot_count;
    appends.sort_by_key(|one| {
        (
            slot(one),
            std::cmp::Reverse(one.place.slot_serial),
            one.place,
        )
    });
    let mut kept: Vec<ComputedAppend> = Vec::with_capacity(appends.len());
    for append in appends {
        let follows = kept.last().is_none_or(|before| {
            let end_bytes = before.offset_bytes + u64::from(before.append_bytes);
            let is_of_lap = slot(before) != slot(&append)
                || before.place.slot_serial == append.place.slot_serial;
            is_of_lap && end_bytes <= append.offset_bytes
        });
        if follows {
            kept.push(append);
        }
    }
    kept
}

/// The beginnings of slots of the newest lap in which nothing is known, and of those that pins have
/// kept since earlier ones.
fn stand_ins(geometry: &Geometry, pins: &[Pin], appends: &[ComputedAppend]) -> Vec<StandIn> {
    let Some(newest) = appends.iter().map(|one| one.place.slot_serial).max() else {
        return Vec::new();
    };
    let lap = (newest + 1).saturating_sub(geometry.slot_count);
    let mut by_place: Vec<usize> = (0..appends.len()).collect();
    by_place.sort_by_key(|index| appends[*index].place);
    let course = SlotCourse::new(geometry.slot_count, pins);
    // Other slots that have something of an earlier lap were kept by pins that are freed.
    let is_kept = |serial: u64| {
        let next_lap = serial.saturating_add(geometry.slot_count);
        course.kept_in_place_of(next_lap).is_some()
    };
    let older = appends.iter().filter(|one| {
        let serial = one.place.slot_serial;
        serial < lap && !is_kept(serial)
    });
    let older: HashSet<u64> = older
        .map(|one| one.place.slot_serial % geometry.slot_count)
        .collect();
    let mut stand_ins = Vec::new();
    for of_lap in lap..=newest {
        let slot_serial = course.kept_in_place_of(of_lap).unwrap_or(of_lap);
        let place = AppendPlace {
            slot_serial,
            slot_offset_bytes: 0,
        };
        let behind = by_place.partition_point(|index| appends[*index].place < place);
        let Some(next) = by_place.get(behind).copied() else {
            continue;
        };
        if stand_ins.len() == STAND_INS_MAX {
            break;
        }
        let begins_slot = appends[next].place == place;
        if !begins_slot && !older.contains(&(slot_serial % geometry.slot_count)) {
            stand_ins.push(StandIn {
                offset_bytes: geometry.offset_of(place),
                place,
                next,
            });
        }
    }
    stand_ins.sort_by_key(|one| one.offset_bytes);
    stand_ins
}
