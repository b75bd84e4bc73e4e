//! The pins of a store: what they keep, and what becomes of them when somebody opens it to record.

use sustain_document::setting::PIN;

use super::pin_tables::{
    PinStanding, ended_somewhere, has_place_for, is_same, set_somewhere, standing,
};
use super::{OpenMember, Renewal, Store};
use crate::error::RecordError;
use crate::format::{AppendPlace, Pin, SlotCourse, Superblock};
use crate::opening::{Chapter, Kept, MemberTail, Opening, PATIENCE_SLOTS, Recording, merge_pinned};

/// A ring needs so many slots of a lap on each member that no pin keeps: a start is repeated before
/// its last copy is overwritten, and an append may take a slot.
pub(crate) const FREE_SLOTS_MIN: u64 = 4;

/// A stretch of the ring that is kept, as all members that are there tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorePin {
    /// Its number.
    pub number: u32,
    /// What was asked for, in nanoseconds since 1970.
    pub from_time_ns: i64,
    /// The end of the same.
    pub to_time_ns: i64,
    /// Whether all that comes is kept, because the end was not reached when this was looked at.
    pub is_open: bool,
    /// Whether the recorder has told its end: then some member has an append that it keeps.
    pub is_end_told: bool,
    /// The space that it takes in the ring, on the members that are there.
    pub kept_bytes: u64,
    /// Names of the members that do not know of it, because they are an earlier state that was put
    /// back. What they had of it cannot be told apart before somebody records next.
    pub unknown_on: Vec<String>,
}

impl Store {
    /// The pins of the store, in the order of their numbers. One that not all members have was
    /// never acknowledged, and is none, unless those that lack it are too old to know of it.
    pub fn pins(&self) -> Vec<StorePin> {
        let superblocks = self.superblocks();
        let set = set_somewhere(&superblocks).into_iter();
        set.filter_map(|pin| {
            let unknown_on = self.unknown_on(&superblocks, &pin)?;
            let members = self.members.iter().zip(&self.tails);
            let on_members = members.filter_map(|(member, tail)| {
                let pin = pin_of(member, pin.number).filter(|own| is_same(own, &pin))?;
                let course = member.superblock.course();
                Some((pin, course.kept_slots(&pin, tail.next_slot_serial)))
            });
            let on_members: Vec<(Pin, u64)> = on_members.collect();
            let slots: u64 = on_members.iter().map(|(_, slots)| slots).sum();
            let present: Vec<&OpenMember> = self.present().collect();
            let name = |index: usize| present[index].name.clone();
            Some(StorePin {
                number: pin.number,
                from_time_ns: pin.from_time_ns,
                to_time_ns: pin.to_time_ns,
                is_open: on_members.iter().any(|(pin, _)| pin.end_slot.is_none()),
                is_end_told: on_members.iter().any(|(pin, _)| pin.told_sequence > 0),
                kept_bytes: slots * u64::from(self.slot_bytes),
                unknown_on: unknown_on.into_iter().map(name).collect(),
            })
        })
        .collect()
    }

    /// Those of members that are there. The tables of pins of the others are made of these.
    pub(super) fn superblocks(&self) -> Vec<&Superblock> {
        self.present().map(|one| &one.superblock).collect()
    }

    fn present(&self) -> impl Iterator<Item = &OpenMember> {
        self.members.iter().filter(|member| member.is_there())
    }

    /// The members that are too old to know of a pin; none if it is not set.
    pub(super) fn unknown_on(&self, superblocks: &[&Superblock], pin: &Pin) -> Option<Vec<usize>> {
        match standing(superblocks, pin) {
            PinStanding::Set { unknown_on } => Some(unknown_on),
            PinStanding::Doubtful { unknown_on } => self.lacks_durable.then_some(unknown_on),
            PinStanding::Freed => None,
        }
    }

    /// Finds out what the tables of pins alone do not tell, and notes which members are old.
    pub(super) fn look_at_pins(&mut self) -> Result<(), RecordError> {
        let superblocks = self.superblocks();
        let set = set_somewhere(&superblocks);
        let is_doubtful =
            |pin: &Pin| matches!(standing(&superblocks, pin), PinStanding::Doubtful { .. });
        if set.iter().any(is_doubtful) {
            self.lacks_durable = match self.recordings() {
                Ok(recordings) => recordings.first().is_some_and(Recording::lacks_durable),
                Err(RecordError::RecordedApart { .. }) => true,
                Err(error) => return Err(error),
            };
        }
        self.enter_pins_set_since()?;
        for pin in self.pins() {
            let number = pin.number;
            let notes = pin.unknown_on.into_iter().map(|name| {
                format!(
                    "{name} is older than the other members: an earlier state of it was put back, \
                     and what was written to it since is not there. It does not know of pin \
                     {number}, which stays set; what {name} has of the time that is pinned can be \
                     read by that pin when somebody has recorded to the store, or freed another pin"
                )
            });
            self.notes.extend(notes);
        }
        Ok(())
    }

    /// Lets members of a store with parity that do not know of a pin keep what they have of it:
    /// they had failed when it was set, or are an earlier state. Nobody writes to them before
    /// they are repaired or know of it. What they lack behind their own ends is read without them.
    fn enter_pins_set_since(&mut self) -> Result<(), RecordError> {
        let superblocks = self.superblocks();
        let set = set_somewhere(&superblocks).into_iter();
        let unknown = set.flat_map(|pin| {
            let unknown_on = self.unknown_on(&superblocks, &pin).unwrap_or_default();
            let unknown_on = unknown_on.into_iter().map(|place| superblocks[place]);
            let unknown_on = unknown_on.filter(|own| own.has_parity());
            let members = unknown_on.map(|own| own.member_index);
            let members: Vec<u16> = members.collect();
            members.into_iter().map(move |member| (member, pin))
        });
        let unknown: Vec<(u16, Pin)> = unknown.collect();
        for (member, pin) in unknown {
            let mut members = self.members.iter();
            let place = members.position(|one| one.superblock.member_index == member);
            let place = place.expect("it is there");
            if has_place_for(&self.members[place].superblock.pins, pin.number) {
                self.enter_pin(place, pin)?;
            }
        }
        Ok(())
    }

    /// Returns the pin of this number.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if there is none.
    pub fn pin(&self, number: u32) -> Result<StorePin, RecordError> {
        let pins = self.pins().into_iter();
        let mut numbered = pins.filter(|pin| pin.number == number);
        numbered.next().ok_or_else(|| self.no_pin(number))
    }

    /// Returns what a pin keeps of recordings, newest first: all that arrived in the time that was
    /// asked for, and whatever else lies in the same slots.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if there is no such pin; otherwise as of [`Store::recordings`].
    pub fn pinned(&mut self, number: u32) -> Result<Vec<Recording>, RecordError> {
        let pin = self.pin(number)?;
        let members = self.members.iter();
        let mut ends = members.filter_map(|member| pin_of(member, number));
        // An end that whoever opened the store next has told lies behind all that there was.
        let is_at_rest = ends.all(|pin| {
            pin.end_slot.is_some() && pin.end_sequence.is_multiple_of(super::SEQUENCE_STEP)
        });
        let is_cut = match pin.is_open {
            true => self.is_recorded_to() != Some(false),
            false => !is_at_rest,
        };
        let all = self.ask(Opening::chapters)?;
        let pinned = self.ask(|opening| opening.pinned(number))?;
        let (mut pinned, all) = (self.by_index(pinned), self.by_index(all));
        let rebuilt = self.computed_at_begin(number);
        // Parity, starts, and what is in no group may come before what is computed first. Whatever
        // it was, a pin has kept it, too.
        for index in &rebuilt {
            let own = &mut pinned[*index];
            let member = self.members.iter().find(|one| one.index() == *index);
            for chapter in own.iter_mut().flatten() {
                chapter.pin_begin.is_certain =
                    member.is_some_and(|member| has_all_of_groups(member, number, chapter));
                chapter.is_overwritten = false;
                chapter.is_oldest_of_lap = false;
            }
            own.take_if(|own| own.is_empty());
        }
        let begins_in_time = self.begins_in_time(&pin, &all);
        let pins = self.members.iter().filter_map(|one| pin_of(one, number));
        let kept = Kept {
            pin: number,
            is_cut,
            told_sequence: pins.map(|pin| pin.told_sequence).max().unwrap_or(0),
            computed: rebuilt.into_iter().collect(),
            from_time_ns: pin.from_time_ns,
            begins_in_time,
        };
        let merged = merge_pinned(&kept, &pinned, &all);
        let mut recordings = merged.map_err(|apart| self.recorded_apart(apart))?;
        let seems_to_lack = recordings.iter().any(seems_to_lack);
        if self.may_look_for_pins() && (seems_to_lack || self.lacks_slot_of_pin(number)?) {
            self.add_what_pin_lacks()?;
            return self.pinned(number);
        }
        self.note_ends_of_rebuilt(&mut recordings);
        Ok(recordings)
    }

    /// The members, by their places in the table, of which what they had where a pin begins is
    /// computed, or would be.
    fn computed_at_begin(&self, number: u32) -> Vec<usize> {
        let is_computed = |member: &&OpenMember| {
            let may_compute = |pin: Pin| {
                let rebuilt = member.rebuilt.as_ref();
                rebuilt.is_some_and(|rebuilt| rebuilt.may_compute_in(pin.from_slot))
            };
            !member.is_there() || pin_of(member, number).is_some_and(may_compute)
        };
        let computed = self.members.iter().filter(is_computed);
        computed.map(OpenMember::index).collect()
    }

    /// Whether members are missing, or were repaired where a pin keeps what they had, and parity
    /// replaces those that are missing. The end of a pin is told when all groups of its time are
    /// complete, so nothing of that is lost then.
    fn begins_in_time(&self, pin: &StorePin, all: &[Option<Vec<Chapter>>]) -> bool {
        let is_repaired = |member: &OpenMember| {
            let own = pin_of(member, pin.number);
            own.is_some_and(|own| own.from_slot < member.superblock.repaired_slots)
        };
        let chapters = all.iter().flatten().flatten();
        let starts = chapters.filter_map(|chapter| chapter.start.as_ref());
        let parities = starts.map(|start| usize::from(start.parities)).min();
        // What a member lacks behind the beginning may have come before the pin's time, too.
        let computed = self
            .members
            .iter()
            .filter(|member| member.rebuilt.is_some());
        let computed = computed.filter(|member| !self.is_retired(member.index()));
        let lost_count = self.missing.len() + computed.count();
        let is_any_computed =
            lost_count > 0 || self.has_looked_for_pins || self.members.iter().any(is_repaired);
        is_any_computed
            && pin.is_end_told
            && parities.is_some_and(|parities| lost_count <= parities)
    }

    /// What is to become of pins when somebody records to the store next: open ends lie behind all
    /// that was found, an end that a crash has kept from a member holds there, too, what not all
    /// members have was never acknowledged, unless those that lack it
    /// are too old to know of it, and what was freed for long is forgotten. The superblocks tell it
    /// when they are renewed next.
    ///
    /// # Errors
    /// [`RecordError::Member`] if a member is too old to know of a pin, and cannot be told of it;
    /// [`RecordError::Engine`].
    pub(super) fn settle_pins(&mut self) -> Result<(), RecordError> {
        let first_sequence = self.first_sequence();
        let superblocks = self.superblocks();
        let set = set_somewhere(&superblocks).into_iter();
        let (kept, lost): (Vec<_>, Vec<_>) = set
            .map(|pin| (pin, self.unknown_on(&superblocks, &pin)))
            .partition(|(_, unknown_on)| unknown_on.is_some());
        for (pin, unknown_on) in kept {
            for index in unknown_on.into_iter().flatten() {
                // On one that is left alone nothing is written, and nothing is overwritten.
                if !self.is_left_alone(&self.members[index]) {
                    self.enter_pin(index, pin)?;
                }
            }
        }
        let numbered = self.members.iter().map(|one| one.superblock.largest_pin());
        let numbered = numbered.max().unwrap_or(0);
        let is_lost = |pin: &Pin| lost.iter().any(|(lost, _)| is_same(lost, pin));
        let ended = ended_somewhere(&self.superblocks());
        for (member, tail) in self.members.iter_mut().zip(&self.tails) {
            let next = tail.next_slot_serial;
            let slot_count = member.superblock.geometry.slot_count;
            member.superblock.pins_numbered = numbered;
            let pins = &mut member.superblock.pins;
            for pin in pins.iter_mut() {
                if is_lost(pin) && pin.is_set() {
                    pin.freed_slot = Some(next);
                }
                let ended = ended.iter().filter(|ended| is_same(ended, pin));
                let ended = ended.min_by_key(|ended| ended.end_sequence);
                if let (Some(ended), None) = (ended, pin.end_slot) {
                    pin.told_sequence = ended.told_sequence;
                }
                let end_sequence = ended.map_or(first_sequence, |ended| ended.end_sequence);
                *pin = pin.closed_at(next, end_sequence).within(slot_count);
            }
            *pins = SlotCourse::pins_left(slot_count, pins, next, PATIENCE_SLOTS);
        }
        Ok(())
    }

    /// Lets a member that is too old to know of a pin keep what it has of it.
    fn enter_pin(&mut self, index: usize, pin: Pin) -> Result<(), RecordError> {
        let name = &self.members[index].name;
        let number = pin.number;
        if !has_place_for(&self.members[index].superblock.pins, number) {
            let why = format!(
                "it is older than the other members: an earlier state of it was put back, which \
                 does not know of pin {number}, and its table of pins has no place for that. \
                 Nothing was changed: put the newest state of {name} back; or read what the pins \
                 keep (`sustain extract` with {} N), and create the store anew",
                PIN.flag()
            );
            return Err(RecordError::member(name, why));
        }
        let slots = self.ask(|opening| opening.slot_at(pin.from_time_ns))?;
        let next = self.tails[index].next_slot_serial;
        let from_slot = slots[index];
        let own = Pin {
            from_slot,
            end_slot: pin.end_slot.map(|_| next.max(from_slot.saturating_add(1))),
            ..pin
        };
        self.members[index].superblock.pins.push(own);
        self.openings[index].enter_pin(own);
        Ok(())
    }

    /// Frees a pin while nobody records, of a store that is open for recording. It is durable on
    /// all members when this returns; a crash meanwhile leaves the pin as it was, or freed. Returns
    /// the space of the ring that nothing keeps any more. What pins keep can be read when the store
    /// is opened next.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if there is no such pin; otherwise as of
    /// [`Store::renew_superblocks`].
    pub fn unpin(&mut self, number: u32) -> Result<u64, RecordError> {
        let before_bytes = self.pinned_bytes();
        self.free_pin(number)?;
        let members = self.members.iter();
        let slots_begun = members.map(|member| member.superblock.slots_begun);
        let slots_begun: Vec<u64> = slots_begun.collect();
        self.renew_superblocks(&slots_begun, Renewal::AtRest)?;
        Ok(before_bytes.saturating_sub(self.pinned_bytes()))
    }

    /// The space of the ring that pins keep on the members that are there. What two keep counts
    /// once.
    fn pinned_bytes(&self) -> u64 {
        let members = self.members.iter().zip(&self.tails);
        let kept = members.map(|(member, tail)| {
            let geometry = &member.superblock.geometry;
            let free_slots = member.superblock.course().free_slots(tail.next_slot_serial);
            (geometry.slot_count - free_slots) * u64::from(geometry.slot_bytes)
        });
        kept.sum()
    }

    /// Frees a pin while nobody records. The superblocks tell it when they are renewed next.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if there is no such pin.
    pub fn free_pin(&mut self, number: u32) -> Result<(), RecordError> {
        self.pin(number)?;
        for (member, tail) in self.members.iter_mut().zip(&self.tails) {
            let mut pins = member.superblock.pins.iter_mut();
            if let Some(pin) = pins.find(|pin| pin.number == number) {
                pin.freed_slot = Some(tail.next_slot_serial);
            }
        }
        Ok(())
    }

    fn no_pin(&self, number: u32) -> RecordError {
        RecordError::Usage(match self.pins().is_empty() {
            true => format!("the store has no pin {number}, nor any other"),
            false => format!("the store has no pin {number}: {}", self.pins_words()),
        })
    }

    fn pins_words(&self) -> String {
        let pins = self.pins();
        let numbers: Vec<String> = pins.iter().map(|pin| pin.number.to_string()).collect();
        format!("its pins are {}", numbers.join(", "))
    }

    /// Fails if pins leave too little of some member for a ring.
    pub(super) fn require_room_beside_pins(&self) -> Result<(), RecordError> {
        for (member, tail) in self.members.iter().zip(&self.tails) {
            let course = member.superblock.course();
            let free = course.free_slots(tail.next_slot_serial);
            if member.superblock.pins.iter().any(Pin::is_set) && free < FREE_SLOTS_MIN {
                let kept = match (free, member.superblock.geometry.slot_count) {
                    (0, all) => format!("all {all}"),
                    (free, all) => format!("all but {free} of the {all}"),
                };
                return Err(RecordError::Usage(format!(
                    "pins keep {kept} slots of {}, and a ring needs {FREE_SLOTS_MIN} that are \
                     free, so nothing was read or recorded: read what they keep, then free one \
                     with `sustain unpin MEMBER... {} N` ({}), or record to another store",
                    member.name,
                    PIN.flag(),
                    self.pins_words()
                )));
            }
        }
        Ok(())
    }
}

/// The slot in which the next recording begins on a member; none if pins keep all slots.
pub(crate) fn next_slot(member: &OpenMember, tail: &MemberTail) -> Option<u64> {
    let course = member.superblock.course();
    course.at_or_after(tail.next_slot_serial)
}

/// Whether all that groups have of a member that is computed from others is found around the
/// beginning of a pin's time. What they do not have came before that.
fn has_all_of_groups(member: &OpenMember, number: u32, chapter: &Chapter) -> bool {
    let (Some(rebuilt), Some(pin)) = (&member.rebuilt, pin_of(member, number)) else {
        return false;
    };
    let begin = &chapter.pin_begin;
    let start = AppendPlace {
        slot_serial: pin.from_slot,
        slot_offset_bytes: 0,
    };
    let behind = AppendPlace {
        slot_serial: pin.end_slot.unwrap_or(u64::MAX),
        slot_offset_bytes: 0,
    };
    let behind_last = begin.last_before.as_ref().map(|last| AppendPlace {
        slot_offset_bytes: last.place.slot_offset_bytes + last.append_bytes,
        ..last.place
    });
    let first = begin.first.as_ref().map_or(behind, |first| first.place);
    !rebuilt.computes_between(behind_last.unwrap_or(start)..first)
}

/// Whether anything of what a pin keeps of a recording seems to be missing.
fn seems_to_lack(pinned: &Recording) -> bool {
    let mut streams = pinned.streams.iter();
    pinned.kept_from_ns.is_none()
        || pinned.lacks_end_of_pin
        || streams.any(|stream| stream.hole_bytes > 0)
}

/// A pin as it lies on one member, if it is set there.
fn pin_of(member: &OpenMember, number: u32) -> Option<Pin> {
    let mut pins = member.superblock.pins.iter().filter(|pin| pin.is_set());
    pins.find(|pin| pin.number == number).copied()
}
