//! Members that keep their requests for long, or for ever. What is under way on such a member is
//! written to another one as well, from where it lies in memory, and nothing new is given to it
//! until all of that has returned. The end waits for it, but not for ever.
//!
//! So an append may lie on two members. One of the two is *sole*: it answers for the bytes, and
//! they are lost only with it. The other one may take its place.

use sustain_disk::clock::Timestamp;

use super::{Flying, HANGS_NS, RecordFeed, RequestPurpose};
use crate::member_io::GIVEN_UP_AFTER_NS;
use crate::recorder::filled::Filled;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter, Unflushed};

/// A member is slow when a request on it has been under way for so long: longer than a disk takes
/// to spin up its heads again, or to go once through its own attempts at a bad sector.
const SLOW_AFTER_NS: u64 = 5_000_000_000;

/// A member stands still if what is in flight on it takes this many times longer than by its rate.
const STILL_TIMES: f64 = 4.0;

/// How long members are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// A member is slow when a request on it has been under way for so long: what is there is
    /// written elsewhere, too.
    pub slow_after_ns: u64,
    /// When the sources have ended, a slow member is given up after so long without any progress.
    pub given_up_after_ns: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            slow_after_ns: SLOW_AFTER_NS,
            given_up_after_ns: GIVEN_UP_AFTER_NS,
        }
    }
}

impl Flying {
    /// The age of the write of an append, from its handing over on.
    pub(super) fn write_ns(&self, now: Timestamp) -> Option<u64> {
        let accepted_at = match &self.purpose {
            RequestPurpose::Data { filled, .. } => Some(filled.accepted_at),
            RequestPurpose::Abandoned { accepted_at, .. } => *accepted_at,
            RequestPurpose::Control { .. }
            | RequestPurpose::Parity { .. }
            | RequestPurpose::Flush
            | RequestPurpose::Superblock => None,
        };
        accepted_at.map(|accepted_at| now.since_ns(accepted_at))
    }
}

impl<I: Inlet> RecordFeed<I> {
    /// The age of the oldest write of an append that is under way.
    pub(in crate::recorder) fn oldest_write_ns(&self, now: Timestamp) -> Option<u64> {
        let in_flight = self.in_flight.values();
        in_flight.filter_map(|flying| flying.write_ns(now)).max()
    }

    /// Whether a member has had a request for long, also by its own pace, and has completed no
    /// append since.
    pub(in crate::recorder) fn stands_still(&self, queue: usize, now: Timestamp) -> bool {
        let member = &self.members[queue];
        let completed_at = self.setup.start + member.rate.last_completed_ns();
        let usual_s = |rate: f64| member.in_flight_bytes as f64 / rate;
        let usual_s = member.rate.known_bytes_per_s().map_or(0.0, usual_s);
        let from_ns = HANGS_NS.max((STILL_TIMES * usual_s * 1e9) as u64);
        let waits = || self.waited_ns(queue, now).is_some_and(|ns| ns >= from_ns);
        // Asked many times for each append, so what is under way is looked through last.
        now.since_ns(completed_at) >= from_ns && waits()
    }

    /// A member did not answer before anything was written on it: the recording does without it.
    pub fn leave_out(&mut self, queue: usize, words: String) {
        self.members[queue].state = MemberState::Failed;
        self.members[queue].is_given_up = true;
        self.errors[queue] = Some(words);
        if let Some(protection) = &mut self.protection {
            // Nothing is in a group yet, so nothing follows for any.
            protection.groups.fail(queue);
        }
    }

    /// Looks after members that do not answer.
    pub(super) fn watch(&mut self, now: Timestamp) {
        if now < self.watch_at {
            return;
        }
        // Often enough for any patience, and nothing beside the rest of the work.
        self.watch_at = now + self.setup.patience.slow_after_ns.min(super::LOOK_NS * 2) / 4;
        for queue in 0..self.members.len() {
            self.is_harmed(queue, now);
            // One that has failed may still keep requests.
            if !self.members[queue].may_return() {
                continue;
            }
            let waited_ns = self.waited_ns(queue, now);
            let slow_ns = waited_ns.filter(|ns| *ns >= self.setup.patience.slow_after_ns);
            let member = &mut self.members[queue];
            self.has_changed |= member.is_slow != slow_ns.is_some();
            member.note_slow(slow_ns);
            let is_slow = member.is_slow;
            self.hedge(queue, now);
            if is_slow {
                self.copy_elsewhere(queue, now);
            }
        }
        let ends = self.ending.is_some();
        let waited_ns = now.since_ns(self.end_waits_since);
        if ends && waited_ns >= self.setup.patience.given_up_after_ns {
            self.give_up_slow(now);
        }
        self.note_kept();
    }

    /// Notes how much memory members keep for nothing: what is in it is durable elsewhere, or given
    /// up. It comes back only when they answer.
    pub(super) fn note_kept(&mut self) {
        let keeps = |member: &MemberWriter| member.is_slow || member.is_given_up;
        let is_kept = |flying: &&Flying| match &flying.purpose {
            RequestPurpose::Data {
                filled, is_lent, ..
            } => {
                let ledger = &self.ledgers[usize::from(filled.stream)];
                *is_lent && ledger.has_for_good(filled.start_bytes())
            }
            RequestPurpose::Abandoned { is_lent, .. } => *is_lent,
            RequestPurpose::Control { .. }
            | RequestPurpose::Parity { .. }
            | RequestPurpose::Flush
            | RequestPurpose::Superblock => false,
        };
        let kept = match self.members.iter().any(keeps) {
            true => self.in_flight.values().filter(is_kept).count(),
            false => 0,
        };
        self.inlet.set_kept(kept);
    }

    /// How long the oldest of a member's requests has been under way.
    fn waited_ns(&self, queue: usize, now: Timestamp) -> Option<u64> {
        let of_queue = self.in_flight.values().filter(|one| one.queue == queue);
        let oldest = of_queue.map(|one| one.last_at).min()?;
        Some(now.since_ns(oldest))
    }

    /// What has been under way for long on this member goes to another one, too, if one has room.
    /// Where only parity has room left, its group has to do.
    fn copy_elsewhere(&mut self, queue: usize, now: Timestamp) {
        if self.lacks_protected_room() {
            return;
        }
        let slow_after_ns = self.setup.patience.slow_after_ns;
        let (members, ledgers) = (&self.members, &self.ledgers);
        let (mut copies, mut accounts) = (Vec::new(), Vec::new());
        for flying in self.in_flight.values_mut() {
            let Flying {
                last_at, purpose, ..
            } = flying;
            let RequestPurpose::Data {
                filled,
                payload,
                is_sole,
                ..
            } = purpose
            else {
                continue;
            };
            let is_late = now.since_ns(*last_at) >= slow_after_ns;
            let bytes = filled.append_bytes();
            let has_room = members.iter().any(|member| member.is_ready_for(bytes));
            if flying.queue != queue || !*is_sole || !is_late || !has_room {
                continue;
            }
            let mut copy = filled.without_memory();
            if ledgers[usize::from(copy.stream)].has_for_good(copy.start_bytes()) {
                // It is itself a copy of what has come through since.
            } else if copy.payload_bytes == 0 {
                accounts.push(copy);
            } else if let Ok(memory) = payload.copy(bytes) {
                copy.memory = Some(memory);
                copies.push(copy);
            } else {
                continue;
            }
            *is_sole = false;
        }
        self.has_changed |= !copies.is_empty() || !accounts.is_empty();
        // In their order, before all that came later.
        copies
            .into_iter()
            .rev()
            .for_each(|copy| self.pending.push_front(copy));
        accounts
            .into_iter()
            .rev()
            .for_each(|copy| self.accounts.push_front(copy));
    }

    /// A late append has landed after all. Whether it answers for its bytes again: its copy is not
    /// on its way yet, and is not wanted any more.
    pub(super) fn take_back_copy(&mut self, original: &Filled) -> bool {
        let start_bytes = original.start_bytes();
        let is_copy =
            |one: &Filled| one.stream == original.stream && one.start_bytes() == start_bytes;
        let waiting = match original.payload_bytes {
            0 => &mut self.accounts,
            _ => &mut self.pending,
        };
        let index = waiting.iter().position(is_copy);
        index.is_some_and(|index| waiting.remove(index).is_some())
    }

    /// Whether bytes that are lost in one place are in another one: durable, written or on their
    /// way. That one answers for them from now on.
    pub(super) fn has_other(&mut self, stream: u16, start_bytes: u64) -> bool {
        let ledger = &self.ledgers[usize::from(stream)];
        if ledger.has_for_good(start_bytes) {
            return true;
        }
        let is_other = |one: &&mut Unflushed| {
            one.stream == stream && one.start_bytes == start_bytes && !one.is_sole
        };
        // A flush under way on a failed member may still succeed; if not, they are lost with it.
        let awaited = |member: &&mut MemberWriter| !member.is_given_up;
        for member in self.members.iter_mut().filter(awaited) {
            let flushing = member.flushing.iter_mut().flatten();
            let mut written = member.unflushed.iter_mut().chain(flushing);
            if let Some(other) = written.find(is_other) {
                other.is_sole = true;
                return true;
            }
        }
        for flying in self.in_flight.values_mut() {
            if !self.members[flying.queue].works() {
                continue;
            }
            if let RequestPurpose::Data {
                filled, is_sole, ..
            } = &mut flying.purpose
                && !*is_sole
                && filled.stream == stream
                && filled.start_bytes() == start_bytes
            {
                *is_sole = true;
                return true;
            }
        }
        false
    }

    /// The end has waited for long enough for members that do not answer.
    fn give_up_slow(&mut self, now: Timestamp) {
        let is_waited_for = |queue: &usize| {
            let member = &self.members[*queue];
            member.may_return() && member.is_slow
        };
        let slow: Vec<usize> = (0..self.members.len()).filter(is_waited_for).collect();
        for queue in &slow {
            self.members[*queue].state = MemberState::Failed;
            self.members[*queue].is_given_up = true;
        }
        self.note_behind();
        // What one of them had is not told to be computable from another one.
        if let Some(protection) = self.protection.as_mut().filter(|_| !slow.is_empty()) {
            protection.groups.hold();
        }
        for queue in &slow {
            if self.errors[*queue].is_none() {
                self.errors[*queue] = Some(self.words_of_silence(*queue, now));
            }
        }
        for queue in &slow {
            self.give_up_member(*queue, now);
        }
        if !slow.is_empty() {
            self.end_waits_since = now;
            self.has_changed = true;
            self.end_if_none_is_left(now);
            self.show(now, true);
        }
    }

    /// What is on its way to a member, or lies there and was not flushed, is waited for no longer.
    fn give_up_member(&mut self, queue: usize, now: Timestamp) {
        self.end_retries(queue, now);
        let unflushed = std::mem::take(&mut self.members[queue].unflushed);
        self.members[queue].unflushed_since = None;
        let flushing = self.members[queue].flushing.take();
        self.members[queue].marking = None;
        self.members[queue].renewing = None;
        let (mut lost, mut lost_parity) = (Vec::new(), Vec::new());
        for flying in self.in_flight.values_mut() {
            if flying.queue != queue {
                continue;
            }
            let mut abandoned = RequestPurpose::Abandoned {
                stream: 0,
                is_own: true,
                is_lent: false,
                accepted_at: None,
            };
            if let RequestPurpose::Data {
                filled, is_lent, ..
            } = &flying.purpose
            {
                abandoned = RequestPurpose::Abandoned {
                    stream: filled.stream,
                    is_own: filled.payload_bytes == 0,
                    is_lent: *is_lent,
                    accepted_at: Some(filled.accepted_at),
                };
            }
            match std::mem::replace(&mut flying.purpose, abandoned) {
                RequestPurpose::Data {
                    filled,
                    is_sole,
                    sequence,
                    place,
                    ..
                } => {
                    self.data_in_flight -= 1;
                    let one = Unflushed::of_data(&filled, sequence, place, is_sole);
                    lost.push((filled, one));
                }
                RequestPurpose::Parity { sequence, .. } => {
                    self.data_in_flight -= 1;
                    lost_parity.push(sequence);
                }
                _ => {}
            }
        }
        self.fail_in_groups(queue, now);
        for sequence in lost_parity {
            self.part_lost(sequence, now);
        }
        for one in unflushed.into_iter().chain(flushing.into_iter().flatten()) {
            self.lose_written(one, now);
        }
        for (filled, one) in lost {
            if !one.is_sole {
                self.part_lost(one.sequence, now);
            } else if self.keep_uncertain(one, now).is_some() {
                self.lose_in_flight(filled);
            }
        }
    }

    /// What was on its way to a member that was given up is lost, unless it is elsewhere.
    fn lose_in_flight(&mut self, filled: Filled) {
        if filled.payload_bytes == 0 {
            self.accounts.push_front(filled);
        } else {
            self.give_up(filled);
        }
    }

    /// Which member, since when, and what it holds.
    fn words_of_silence(&self, queue: usize, now: Timestamp) -> String {
        let name = &self.members[queue].setup.name;
        let of_queue = || self.in_flight.values().filter(|one| one.queue == queue);
        let Some(oldest) = of_queue().min_by_key(|one| one.last_at) else {
            return format!("{name} did not answer");
        };
        let requests = of_queue().count();
        let seconds = now.since_s(oldest.last_at);
        let (operation, offset) = (oldest.operation, oldest.offset_bytes);
        let only_there: u64 = of_queue()
            .map(|one| match &one.purpose {
                RequestPurpose::Data { filled, .. } => {
                    let ledger = &self.ledgers[usize::from(filled.stream)];
                    let is_safe = ledger.has_for_good(filled.start_bytes());
                    u64::from(filled.payload_bytes) * u64::from(!is_safe)
                }
                _ => 0,
            })
            .sum();
        let held = match only_there {
            0 => "all data among them is durable elsewhere".to_owned(),
            bytes => format!("{bytes} bytes among them are durable nowhere else"),
        };
        format!(
            "{operation} on {name} at byte {offset} has not returned for {seconds:.0} s, and \
             {name} was given up: {requests} requests were under way on it, {held}. Look at the \
             kernel log (dmesg) and its cable; until they return, the kernel keeps {name} locked"
        )
    }
}
