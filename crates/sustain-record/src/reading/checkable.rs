//! An open store as those take it who look at all of it.

use std::collections::BTreeSet;

use sustain_disk::clock::Clock;
use sustain_disk::engine::SharedMachine;
use uuid::Uuid;

use crate::format::AppendPlace;
use crate::opening::{MARK_IS_UNKNOWN, Recording, durable_end_slot};
use crate::reading::kept::KeptByPin;
use crate::store::{OpenMember, Store};

/// What [`Checkable::gone_ends`] means.
pub(crate) const IS_GONE: &str = "the superblock says that a recording ended in order in this \
     slot, and nothing of that recording is found here";

/// More recordings of which nothing is found are not told.
const UNSEEN_MAX: usize = 100;

/// An open store to check.
#[derive(Clone, Copy)]
pub struct Checkable<'a> {
    /// Its members that are there.
    pub members: &'a [OpenMember],
    /// All recordings on them.
    pub recordings: &'a [Recording],
    /// What pins keep besides, where that is to be looked at, too.
    pub pins: &'a [KeptByPin],
    /// The simulated machines of the members, if they are simulated.
    pub machines: &'a [SharedMachine],
    /// The clock of the machines.
    pub clock: &'a Clock,
}

impl<'a> Checkable<'a> {
    /// Takes a store with all its recordings.
    pub fn of(store: &'a Store, recordings: &'a [Recording]) -> Checkable<'a> {
        Checkable {
            members: &store.members,
            recordings,
            pins: &[],
            machines: store.machines(),
            clock: store.clock(),
        }
    }

    /// The same with what its pins keep.
    #[must_use]
    pub fn with_pins(self, pins: &'a [KeptByPin]) -> Checkable<'a> {
        Checkable { pins, ..self }
    }

    /// The numbers of recordings of which nothing is found, while a member that may have them is
    /// not there, newest first: those that were begun, as the superblocks tell, and those between
    /// and before others, unless a ring may have overwritten them. While all members are there, a
    /// crash has ended such a recording before it had anything, and its number is used again.
    pub fn unseen_recordings(&self) -> Vec<u32> {
        if self.missing().is_empty() {
            return Vec::new();
        }
        let pinned = self.pins.iter().flat_map(|kept| &kept.recordings);
        let found = self.recordings.iter().chain(pinned);
        let found: BTreeSet<u32> = found.map(|one| one.number).collect();
        let superblocks = self.members.iter().map(|member| &member.superblock);
        let begun = superblocks.map(|one| one.recordings_begun).max();
        let newest = begun.max(found.last().copied()).unwrap_or(0);
        let oldest = match self.has_laps() {
            true => found.first().copied().unwrap_or(newest),
            false => 1,
        };
        let unseen = (oldest.max(1)..=newest)
            .rev()
            .filter(|number| !found.contains(number));
        unseen.take(UNSEEN_MAX).collect()
    }

    /// Whether old slots may have been overwritten, or will be.
    pub(crate) fn has_laps(&self) -> bool {
        self.recordings.iter().any(|recording| recording.ring) || self.is_beyond_first_lap()
    }

    /// Whether old slots may have been overwritten by now, if only by what a crash has cut off. In
    /// a ring that has not come round yet none is.
    pub(crate) fn has_gone_round(&self) -> bool {
        let mut extents = self
            .recordings
            .iter()
            .flat_map(|recording| recording.per_member.iter().flatten());
        extents.any(|extent| extent.kept_from_slot > 0) || self.is_beyond_first_lap()
    }

    fn is_beyond_first_lap(&self) -> bool {
        let is_beyond = |member: &OpenMember| {
            member.superblock.slots_begun > member.superblock.geometry.slot_count
        };
        self.members.iter().any(is_beyond)
    }

    /// The members of the store that are not there and not retired, also where what they had is
    /// computed: the place of each in the table, and its UUID.
    pub(super) fn missing(&self) -> Vec<(usize, Uuid)> {
        let tables = self
            .members
            .first()
            .map(|member| &member.superblock.members);
        let present = self.members.iter().filter(|member| member.is_there());
        let there: BTreeSet<usize> = present.map(OpenMember::index).collect();
        let superblocks = || self.members.iter().map(|member| &member.superblock);
        let is_retired = |index| superblocks().any(|superblock| superblock.is_retired(index));
        let is_there = |index: usize| there.contains(&index) || is_retired(index);
        let all = tables.into_iter().flatten().copied().enumerate();
        all.filter(|(index, _)| !is_there(*index)).collect()
    }

    /// The members that are not there, in words that end a sentence.
    fn on_missing_words(&self) -> String {
        let name = |(index, member): (usize, Uuid)| format!("member {} (UUID {member})", index + 1);
        let names: Vec<String> = self.missing().into_iter().map(name).collect();
        let one = if names.len() == 1 {
            "a missing one"
        } else {
            "missing ones"
        };
        format!("on {one}: {}", names.join(", "))
    }

    /// What [`Checkable::unseen_recordings`] means.
    pub(super) fn unseen_words(&self) -> String {
        format!(
            "it was begun, but nothing of it is on the members that are here. What was recorded of \
             it, if anything, is {}",
            self.on_missing_words()
        )
    }

    /// Why it is not known how far a recording goes, if that is not known: it has no end mark here,
    /// and a member that may have more of it is not there; or what came last of a pin is damaged.
    pub fn unknown_end(&self, recording: &Recording) -> Option<String> {
        let is_replaced = recording.is_cut_by_pin() && self.replaces_what_is_missing(recording);
        if !recording.open_end || is_replaced || self.missing().is_empty() {
            let pin = recording.pin.filter(|_| recording.lacks_end_of_pin)?;
            return Some(format!(
                "pin {pin} keeps more than is found: what came last on some member is damaged, or \
                 an earlier state of a member was put back"
            ));
        }
        let missing = self.on_missing_words();
        Some(match recording.pin.filter(|_| recording.is_cut_by_pin()) {
            Some(pin) => format!(
                "pin {pin} may keep more of it than is on the members that are here. What came \
                 last, if they lack it, is {missing}"
            ),
            None if recording.under_way => format!(
                "it is being recorded. What came last, if the members that are here lack it, is \
                 {missing}"
            ),
            None => format!(
                "no end mark of it is on the members that are here. What came last, if they lack \
                 it, is {missing}"
            ),
        })
    }

    /// Whether what may be missing of a recording behind its unknown end was not protected: parity
    /// replaces the members that are not there, so all else is known, as behind a crash that took
    /// no member. Members that were behind count as missing, and some others must be there to tell
    /// that none was.
    pub fn lacks_only_unprotected_end(&self, recording: &Recording) -> bool {
        let missing = self.missing().into_iter().map(|(index, _)| index as u16);
        let superblocks = self.members.iter().map(|member| &member.superblock);
        let behind = superblocks.flat_map(|one| one.behind.iter().copied());
        let lacking: BTreeSet<u16> = missing.chain(behind).collect();
        let there = self.members.iter().filter(|member| member.is_there());
        let parities = usize::from(self.parities_of(recording));
        recording.open_end
            && !recording.lacks_end_of_pin
            && (1..=parities).contains(&lacking.len())
            && there.count() > parities
    }

    /// Whether parity replaces the members that are not there. The end of a pin is told when all
    /// groups of its time are complete, so what it keeps lacks nothing then.
    fn replaces_what_is_missing(&self, recording: &Recording) -> bool {
        self.missing().len() <= usize::from(self.parities_of(recording))
    }

    /// The appends of parity that each group of a recording was to have.
    fn parities_of(&self, recording: &Recording) -> u16 {
        let is_it = |one: &&Recording| one.number == recording.number;
        let mut told = self.recordings.iter().filter(is_it).chain([recording]);
        told.find_map(|one| one.parities).unwrap_or(0)
    }

    /// The slots in which a recording ended in order, as the superblocks of their members tell, of
    /// which nothing is left there, be it in that slot or before. What is missing of a recording
    /// that is found is told with it.
    pub(crate) fn gone_ends(&self) -> Vec<(&'a OpenMember, AppendPlace)> {
        let gone_from = |member: &'a OpenMember| {
            let extents = self.recordings.iter();
            let extents =
                extents.filter_map(|one| one.per_member.get(member.index()).copied().flatten());
            let newest = extents.max_by_key(|extent| extent.last);
            let end_slot = durable_end_slot(&member.superblock)?;
            let is_found = newest.is_some_and(|newest| {
                newest.last.slot_serial >= end_slot || newest.lost_end.is_some()
            });
            let place = AppendPlace {
                slot_serial: end_slot,
                slot_offset_bytes: 0,
            };
            (!is_found).then_some((member, place))
        };
        self.members.iter().filter_map(gone_from).collect()
    }

    /// The notes for the user about marks of which the members cannot tell whether a power cut in a
    /// ring has written over them, where no other member has the end that they told of.
    pub(super) fn unknown_mark_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for recording in self.recordings {
            for member in self.members {
                let extent = recording.per_member.get(member.index()).copied().flatten();
                let Some((extent, place)) =
                    extent.and_then(|extent| Some((extent, extent.unknown_mark?)))
                else {
                    continue;
                };
                let is_own = place >= extent.first;
                let is_of = |one: &&Recording| match is_own {
                    true => one.number == recording.number,
                    false => one.number < recording.number,
                };
                let of = self.recordings.iter().filter(is_of);
                let of = of.max_by_key(|one| one.number);
                if of.is_none_or(|of| of.open_end) {
                    let at = member.superblock.geometry.offset_of(place);
                    notes.push(format!("{}: at byte {at}: {MARK_IS_UNKNOWN}", member.name));
                }
            }
        }
        notes
    }

    /// The notes for the user about [`Checkable::unseen_recordings`].
    pub fn unseen_notes(&self) -> Vec<String> {
        let numbers = self.unseen_recordings();
        let note = |number: u32| format!("recording {number}: {}", self.unseen_words());
        numbers.into_iter().map(note).collect()
    }
}
