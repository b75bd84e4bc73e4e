//! Changes the tables of pins while the recording runs. A member begins no slot as long as its
//! superblock is being written, so that nothing is overwritten that is about to be kept, and
//! nothing is left out before the superblock tells so.

use std::collections::BTreeSet;

use sustain_disk::clock::Timestamp;
use sustain_document::setting::RING;

use super::RecordFeed;
use super::pin_refusals::{check_times, no_room};
use crate::format::{Kind, PINS_MAX, Pin, SlotCourse};
use crate::opening::PATIENCE_SLOTS;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter};
use crate::recorder::pinning::{OpenPin, OpenStage, PinChange, PinKept, PinOutcome, PinWish};
use crate::store::{FREE_SLOTS_MIN, first_sequence_above};
use crate::time_text::time_text;

impl<I: Inlet> RecordFeed<I> {
    /// Goes on with what pins wait for.
    pub(super) fn see_pins(&mut self, now: Timestamp) {
        if let Some(change) = self.pinning.changing {
            if self.members.iter().any(MemberWriter::delays_pins) {
                return;
            }
            self.pinning.changing = None;
            self.has_changed = true;
            // Who has the answer finds it on the board.
            self.show(now, true);
            self.changed(change);
        }
        // Starts have slots of their own, which are begun before anything is kept from now on.
        let is_starting = |one: &MemberWriter| one.marking.is_some() && !one.is_slow;
        // From the first end mark on a member may have taken its last write, and would not have
        // what the others have: what is still to come is for the next recording, or the last end.
        if self
            .members
            .iter()
            .any(|one| is_starting(one) || one.is_ending())
        {
            return;
        }
        if let Some(number) = self.pinning.failed.pop_front() {
            self.free(number, None);
        } else if let Some((number, told_sequence)) = self.next_to_close(now) {
            self.close_pin(number, told_sequence);
        } else if self.ending.is_none()
            && let Some((wish, what)) = self.board.pins().take_wish()
        {
            let refusal = match what {
                PinWish::Pin { from_ns, to_ns } => self.set_pin(wish, (from_ns, to_ns), now).err(),
                PinWish::Unpin { number } => self.unpin(wish, number).err(),
            };
            if let Some(why) = refusal {
                self.board.pins().answer(wish, Err(why));
            }
        }
    }

    /// A change is on all members that work.
    fn changed(&mut self, change: PinChange) {
        let (wish, outcome): (Option<u32>, PinOutcome) = match change {
            PinChange::Close => return,
            PinChange::Free { wish } => (wish, Ok(None)),
            PinChange::Set { wish, kept } => match self.have_tables() {
                true => (Some(wish), Ok(Some(kept))),
                false => {
                    self.pinning.open.retain(|open| open.number != kept.number);
                    self.pinning.failed.push_back(kept.number);
                    let why = "a member failed meanwhile, or does not answer, and a pin needs all \
                               members that parity does not replace: nothing is kept";
                    (Some(wish), Err(why.to_owned()))
                }
            },
        };
        if let Some(wish) = wish {
            self.board.pins().answer(wish, outcome);
        }
    }

    /// Whether all members have the table that was written last, but for those that have failed and
    /// that parity replaces.
    fn have_tables(&self) -> bool {
        self.may_pin_without_failed()
            && self
                .members
                .iter()
                .all(|one| one.has_table() || !one.renews_superblock())
    }

    /// Whether no more members have failed, or are left alone, than parity replaces. What lies on
    /// them can be computed then, and nothing that others keep depends on their tables.
    fn may_pin_without_failed(&self) -> bool {
        let failed = self.members.iter().filter(|one| !one.renews_superblock());
        let parities = self.protection.as_ref().map_or(0, |one| one.setup.parities);
        failed.count() <= parities
    }

    fn set_pin(
        &mut self,
        wish: u32,
        (from_ns, to_ns): (i64, i64),
        now: Timestamp,
    ) -> Result<(), String> {
        self.check_members()?;
        let now_ns = self.setup.unix_clock.unix_ns(now);
        check_times(from_ns, to_ns, now_ns)?;
        let kept_from_ns = self.kept_from_ns(from_ns)?;
        if to_ns <= kept_from_ns {
            return Err(format!(
                "all of that is gone: what this run of the recorder has written and the ring still \
                 has begins at {}. Ask for something later",
                time_text(kept_from_ns)
            ));
        }
        let members = self.members.iter();
        // That of a member that has failed stays as it is, and is no measure.
        let tables: Vec<Vec<Pin>> = members.map(MemberWriter::pins_left).collect();
        let mut renewed = self.members.iter().zip(&tables);
        if renewed.any(|(member, pins)| member.renews_superblock() && pins.len() >= PINS_MAX) {
            return Err(format!(
                "a store has at most {PINS_MAX} pins, and one that was freed counts until the ring \
                 has come round, and as long as another spans slots that the ring has left out for \
                 it: free the oldest (`unpin`), and wait until the ring has come round"
            ));
        }
        // A number of a pin that was freed is not given again: whoever frees that pin once more, or
        // still reads it, would get the new one.
        let members = self.members.iter();
        let given = members.map(|member| member.superblock_to_be().largest_pin());
        let number = given.max().unwrap_or(0).checked_add(1);
        let number = number.ok_or("no number is left for a pin: record to another store")?;
        let mut renewed = Vec::new();
        let (mut free_slots, waiting_slots) = (0, self.waiting_slots());
        let closed_since_ns = now_ns.saturating_sub(self.until_closed_ns());
        for (member, mut pins) in self.members.iter().zip(tables) {
            let from_slot = member.slot_at(kept_from_ns.saturating_sub(self.group_age_ns()));
            pins.push(Pin::open(number, from_slot, (kept_from_ns, to_ns)));
            if !member.renews_superblock() {
                renewed.push(pins);
                continue;
            }
            let free = SlotCourse::new(member.setup.geometry.slot_count, &pins)
                .free_slots(member.slots_begun() + 1);
            // How much comes up to an end that is to come is for the user to know.
            let until_closed = match to_ns <= now_ns {
                true => waiting_slots.max(member.slots_since(closed_since_ns)),
                false => 0,
            };
            if free < FREE_SLOTS_MIN + until_closed {
                return Err(no_room(&member.setup.name, free, until_closed));
            }
            free_slots += free;
            renewed.push(pins);
        }
        let is_told_ns = to_ns.saturating_add(self.until_closed_ns());
        let ring_full_ns = self.full_ns(free_slots, now_ns);
        // The end is told only where it leaves the ring enough to go on in.
        let writing = self.members.iter().filter(|one| one.renews_superblock());
        let least_slots = FREE_SLOTS_MIN * writing.count() as u64;
        let last_ns = self.full_ns(free_slots.saturating_sub(least_slots), now_ns);
        let is_held = last_ns.is_none_or(|last_ns| to_ns <= now_ns || last_ns >= is_told_ns);
        let may_end_first = last_ns.is_some_and(|last_ns| last_ns >= to_ns);
        self.pinning.open.push(OpenPin {
            number,
            to_ns,
            stage: OpenStage::Comes,
        });
        let kept = PinKept {
            number,
            asked_from_ns: from_ns,
            from_ns: kept_from_ns,
            to_ns,
            ring_full_ns: ring_full_ns.filter(|_| !is_held),
            may_end_first: may_end_first && !is_held,
        };
        self.renew(renewed, PinChange::Set { wish, kept });
        Ok(())
    }

    fn unpin(&mut self, wish: u32, number: u32) -> Result<(), String> {
        // A member that has failed, or does not answer, keeps it: whoever opens the store next to
        // record to it frees it there.
        self.check_ring()?;
        let members = self.members.iter().filter(|one| one.works());
        let pins = members.flat_map(|one| &one.superblock_to_be().pins);
        let set = pins.filter(|pin| pin.is_set()).map(|pin| pin.number);
        let set: BTreeSet<u32> = set.collect();
        if !set.contains(&number) {
            let numbers: Vec<String> = set.iter().map(u32::to_string).collect();
            return Err(match numbers.is_empty() {
                true => format!("there is no pin {number}, nor any other"),
                false => format!(
                    "there is no pin {number}: the pins are {}",
                    numbers.join(", ")
                ),
            });
        }
        self.free(number, Some(wish));
        Ok(())
    }

    fn free(&mut self, number: u32, wish: Option<u32>) {
        self.pinning.open.retain(|open| open.number != number);
        let end_sequence = self.take_sequence();
        let members = self.members.iter();
        let tables = members.map(|member| {
            let (mut pins, begun) = (member.pins_left(), member.slots_begun());
            for pin in pins.iter_mut().filter(|pin| pin.number == number) {
                *pin = pin.closed_at(begun, end_sequence);
                pin.freed_slot.get_or_insert(begun);
            }
            pins
        });
        let tables = tables.collect();
        self.renew(tables, PinChange::Free { wish });
    }

    /// The first pin whose end can be told now, and the sequence from which on an append tells that
    /// all of it is durable.
    fn next_to_close(&mut self, now: Timestamp) -> Option<(u32, u64)> {
        for index in 0..self.pinning.open.len() {
            while let Some(stage) = self.next_stage(&self.pinning.open[index], now) {
                self.pinning.open[index].stage = stage;
            }
            let OpenStage::Entered(sequence) = self.pinning.open[index].stage else {
                continue;
            };
            if self.is_reported(sequence) && self.leaves_enough(self.pinning.open[index].number) {
                return Some((self.pinning.open.remove(index).number, sequence));
            }
        }
        None
    }

    /// Whether so many members have a durable append from this sequence on that one is left
    /// whatever parity replaces. Each group lies on as many.
    fn is_reported(&self, sequence: u64) -> bool {
        let parities = self.protection.as_ref().map_or(0, |one| one.setup.parities);
        let answers = self.members.iter().enumerate().filter(|(index, member)| {
            member.renews_superblock() && !member.is_slow && !self.is_hedged(*index)
        });
        let wanted = answers.count().clamp(1, parities + 1);
        let is_durable =
            |member: &&MemberWriter| member.works() && member.newest_durable() >= sequence;
        self.members.iter().filter(is_durable).count() >= wanted
    }

    /// The stage that an open pin has come to, if that is another one.
    fn next_stage(&self, open: &OpenPin, now: Timestamp) -> Option<OpenStage> {
        match &open.stage {
            // What arrives behind a cut is in the next recording, which tells the end.
            OpenStage::Comes if self.inlet.is_cutting() => None,
            OpenStage::Comes => {
                let has_come = self.setup.unix_clock.unix_ns(now) >= open.to_ns;
                let streams = 0..self.ledgers.len();
                let arrived = streams.map(|stream| self.arrived_bytes(stream));
                has_come.then(|| OpenStage::Placed(arrived.collect()))
            }
            OpenStage::Placed(targets) => {
                let mut streams = targets.iter().enumerate();
                let is_settled = streams
                    .all(|(stream, target_bytes)| self.watermark_bytes(stream) >= *target_bytes);
                is_settled.then_some(OpenStage::Settled(self.next_sequence))
            }
            // Parity that came behind the end would be overwritten.
            OpenStage::Settled(sequence) => {
                let waits_for_slow = self.leaves(open.number, 2 * FREE_SLOTS_MIN);
                let is_protected = !self.has_undecided_group_before(*sequence, waits_for_slow);
                is_protected.then_some(OpenStage::Entered(self.next_sequence))
            }
            OpenStage::Entered(_) => None,
        }
    }

    /// How long before an append another one of its group may have been made, which a pin of the
    /// one keeps as well; 0 without parity.
    pub(super) fn group_age_ns(&self) -> i64 {
        match &self.protection {
            Some(_) => i64::try_from(self.group_age_ns_max()).unwrap_or(i64::MAX),
            None => 0,
        }
    }

    /// Whether something of a group that began before this sequence is still to become durable.
    /// What lies on a member that does not answer is not waited for: its slot is kept. Parity that
    /// has found no place yet may come to such a member as soon as that answers, in slots behind
    /// those that it has begun: it is waited for if `waits_for_slow` says so, as long as the ring
    /// has room to go on meanwhile.
    fn has_undecided_group_before(&self, sequence: u64, waits_for_slow: bool) -> bool {
        let Some(groups) = self.protection.as_ref().map(|one| &one.groups) else {
            return false;
        };
        let answers = |index: usize| {
            let member = &self.members[index];
            member.works() && !member.is_slow && !self.is_hedged(index)
        };
        let may_take = |index: usize| {
            let member = &self.members[index];
            let is_asked = answers(index) || waits_for_slow && member.works();
            is_asked && member.state == MemberState::Active
        };
        let mut before = groups.undecided().take_while(|group| *group < sequence);
        before.any(|group| groups.is_waited_for(group, &answers, &may_take, self.members.len()))
    }

    /// Whether a ring can go on beside this pin. If not, its end stays open: then the ring goes on
    /// up to its beginning.
    fn leaves_enough(&self, number: u32) -> bool {
        self.leaves(number, FREE_SLOTS_MIN)
    }

    /// Whether a ring has so many slots on each member to go on in if this pin ends now.
    fn leaves(&self, number: u32, slots: u64) -> bool {
        self.members.iter().filter(|one| one.works()).all(|member| {
            let pins = &member.setup.superblock.pins;
            let closed = pins.iter().map(|pin| match pin.number == number {
                true => pin.closed_at(member.slots_begun(), 0),
                false => *pin,
            });
            let closed: Vec<Pin> = closed.collect();
            let course = SlotCourse::new(member.setup.geometry.slot_count, &closed);
            course.free_slots(member.slots_begun()) >= slots
        })
    }

    fn close_pin(&mut self, number: u32, told_sequence: u64) {
        // A multiple of the step would say that nothing came behind it.
        let sequence = self.take_sequence();
        let is_step = first_sequence_above(sequence.saturating_sub(1)) == sequence;
        let end_sequence = if is_step {
            self.take_sequence()
        } else {
            sequence
        };
        let members = self.members.iter();
        let tables = members.map(|member| {
            let mut pins = member.pins_left();
            for pin in pins.iter_mut().filter(|pin| pin.number == number) {
                *pin = pin.closed_at(member.slots_begun(), end_sequence);
                pin.told_sequence = told_sequence;
            }
            pins
        });
        let tables = tables.collect();
        self.renew(tables, PinChange::Close);
    }

    /// Begins to write superblocks with these tables to all members that work.
    fn renew(&mut self, tables: Vec<Vec<Pin>>, change: PinChange) {
        let is_all = self.members.iter().all(MemberWriter::renews_superblock);
        for (member, pins) in self.members.iter_mut().zip(tables) {
            if !member.renews_superblock() {
                continue;
            }
            let mut superblock = member.superblock_to_be().clone();
            superblock.pins = pins;
            superblock.pins_numbered = superblock.largest_pin();
            // One more than a crash leaves: a member that failed before it was given anything is in
            // no superblock called behind.
            superblock.generation += u64::from(!is_all);
            member.renew_superblock(superblock);
        }
        self.pinning.changing = Some(change);
        self.has_changed = true;
    }

    /// Why nothing can be pinned or freed now.
    fn check_ring(&self) -> Result<(), String> {
        match self.setup.ring {
            true => Ok(()),
            false => Err(format!(
                "this recording overwrites nothing, so there is nothing to pin or to free: pins \
                 are for recordings with {}",
                RING.the()
            )),
        }
    }

    /// Why nothing can be pinned now.
    fn check_members(&self) -> Result<(), String> {
        self.check_ring()?;
        for (queue, member) in self.members.iter().enumerate() {
            let name = &member.setup.name;
            if !member.renews_superblock() {
                match self.may_pin_without_failed() {
                    true => continue,
                    false => return Err(failed_words(name)),
                }
            }
            if member.is_slow || self.is_hedged(queue) || !member.has_begun() {
                return Err(format!(
                    "{name} does not answer, and a pin lies on all members: nothing was pinned. \
                     Ask again when `status` says that it is active"
                ));
            }
        }
        Ok(())
    }

    /// From when on all is kept of what is asked for from this time on.
    fn kept_from_ns(&self, from_ns: i64) -> Result<i64, String> {
        let keeping = self.members.iter().filter(|one| one.renews_superblock());
        // What the ring has written over on a member, and what one had that has failed, may be in
        // groups that began so much earlier.
        let is_all = self.members.iter().all(MemberWriter::renews_superblock);
        let oldest = keeping.map(|one| {
            let earlier_ns = match is_all && !one.setup.slot_times.has_gone_round {
                true => 0,
                false => self.group_age_ns(),
            };
            let oldest_ns = one.setup.slot_times.left.front()?.made_time_ns;
            Some(oldest_ns.saturating_add(earlier_ns))
        });
        let oldest: Option<Vec<i64>> = oldest.collect();
        match oldest {
            Some(oldest) => Ok(oldest.into_iter().fold(from_ns, i64::max)),
            None => Err("nothing is recorded yet: ask again in a moment".to_owned()),
        }
    }
}

fn failed_words(name: &str) -> String {
    format!(
        "{name} has failed, and a pin lies on all members that parity does not replace: nothing \
         was pinned. End the recording, put another member in its place (`sustain repair`, if the \
         store has parity), and record anew"
    )
}

impl MemberWriter {
    /// Whether its end mark is being written, or was.
    fn is_ending(&self) -> bool {
        self.marking == Some(Kind::End) || self.state == MemberState::Closed
    }

    /// Whether the next change of pins waits for it. A member that does not answer is not waited
    /// for: it begins no slot before it has the newest table.
    fn delays_pins(&self) -> bool {
        self.works() && self.renewing.is_some() && !self.is_slow
    }

    /// Whether the superblock on its way to it frees what pins keep of all that follows. Changes of
    /// pins do not wait for a member that does not answer, but it has that room when it does.
    pub(super) fn is_getting_room(&self) -> bool {
        let mut pins = self.superblock_to_be().pins.iter();
        let keeps_all = |pin: &Pin| pin.is_set() && pin.end_slot.is_none();
        self.works() && self.has_last_slot() && !pins.any(keeps_all)
    }

    /// Whether it has the table that was written last.
    fn has_table(&self) -> bool {
        self.works() && self.renewing.is_none()
    }

    /// The pins in its table, without those that nothing depends on any more.
    fn pins_left(&self) -> Vec<Pin> {
        let superblock = self.superblock_to_be();
        SlotCourse::pins_left(
            superblock.geometry.slot_count,
            &superblock.pins,
            self.slots_begun(),
            PATIENCE_SLOTS,
        )
    }

    /// The last slot that was begun by this time, or else the first that is known. All that was
    /// placed later lies behind its first append.
    fn slot_at(&self, time_ns: i64) -> u64 {
        let times = &self.setup.slot_times.left;
        let begun = times.partition_point(|slot| slot.made_time_ns <= time_ns);
        let slot = times.get(begun.saturating_sub(1));
        slot.map_or(self.slot_serial(), |slot| slot.slot_serial)
    }
}
