//! The parts of some streams of a recording: the pump, the check of what it reads, and the merge,
//! as one iterator. Readers of streams and the check of a store are made of it. It runs in the
//! thread that calls it; [`Background`] runs it in a thread of its own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::bytes::SharedBytes;
use super::examine::{Headless, Slot, Unreadable, examine, headless_first, headless_seals};
use super::merge::{CheckedPart, Contradiction, Elsewhere, Merge, Ready};
use super::missed::Missed;
use super::order::PartOrder;
use super::part::{Origin, StreamPart};
use super::pump::{MemberReads, Pump, ReadWindow, SlotRun};
use super::restorer::Restorer;
use super::scope::Scope;
use crate::error::RecordError;
use crate::format::{AppendPlace, Kind};

/// Parts that wait for the consumer. Each keeps a read buffer from being used again.
const PARTS_AHEAD: usize = 16;
/// The most unreadable places that are kept. The holes name more of them all the same.
const UNREADABLE_MAX: usize = 10_000;

/// Parts of streams, in the caller's thread.
pub struct Parts {
    scope: Scope,
    pump: Pump,
    merge: Merge,
    /// Appends of each member that are checked and not asked for yet.
    checked: Vec<VecDeque<CheckedPart>>,
    ready: VecDeque<(u16, StreamPart)>,
    /// What members show to have lost, if a ring may have written over what is missing.
    missed: Option<Missed>,
    unreadable: Vec<Unreadable>,
    read_bytes: u64,
    /// Appends found since the last [`Parts::take_found`], if they are wanted.
    found: Option<Vec<(usize, Arc<Origin>, bool)>>,
    /// Seals behind a member's last append that end no append.
    headless: Vec<(usize, Headless)>,
    /// Computes what members lack, if the store has parity.
    restorer: Option<Restorer>,
    /// Of each member, the slots that were read and not checked yet; none without parity.
    held: Vec<Option<SlotRun>>,
    /// Of each member, the serial behind the slots that were checked.
    next_serials: Vec<u64>,
}

impl Parts {
    /// Opens the members for reading.
    ///
    /// # Errors
    /// [`RecordError::Target`] and [`RecordError::Engine`] if they cannot be driven.
    pub fn open(scope: &Scope, order: &PartOrder) -> Result<Parts, RecordError> {
        let members: Vec<MemberReads> = scope
            .members
            .iter()
            .zip(&order.first_slots)
            .map(|(member, first)| MemberReads {
                member: member.index,
                name: member.name.clone(),
                geometry: member.identity.geometry,
                course: member.course.clone(),
                slots: *first..member.slots.end.max(*first),
            })
            .collect();
        let window = ReadWindow::for_members(&members, order.reads_ahead)?;
        let engine = scope.open_engine(window.limits(), window.regions())?;
        let count = members.len();
        Ok(Parts {
            pump: Pump::new(
                engine,
                scope.clock.clone(),
                window,
                members,
                scope.patience_ns,
            )?,
            merge: Merge::new(count, &order.wanted, order.hold_bytes_max),
            checked: (0..count).map(|_| VecDeque::new()).collect(),
            ready: VecDeque::new(),
            missed: Missed::of(scope, &order.first_slots),
            unreadable: Vec::new(),
            read_bytes: 0,
            found: None,
            headless: Vec::new(),
            restorer: scope.groups.clone().map(Restorer::new),
            held: (0..count).map(|_| None).collect(),
            next_serials: order.first_slots.clone(),
            scope: scope.clone(),
        })
    }

    /// The stretches that could not be read so far.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    /// Bytes of slots that were read and checked so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Keeps the appends that are found from now on, for [`Parts::take_found`].
    pub(super) fn keep_found(&mut self) {
        self.found = Some(Vec::new());
    }

    /// Returns the appends found since the last call, in the order of each member: the member's
    /// index in the scope, the append, and whether its payload is whole.
    pub(super) fn take_found(&mut self) -> Vec<(usize, Arc<Origin>, bool)> {
        self.found.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Seals behind the last append of a member that end no append that was found, with the
    /// member's index in the scope.
    pub(super) fn headless(&self) -> &[(usize, Headless)] {
        &self.headless
    }

    /// See [`Merge::contradictions`].
    pub(super) fn contradictions(&self) -> &[Contradiction] {
        self.merge.contradictions()
    }

    fn advance(&mut self) -> Result<Option<(u16, StreamPart)>, RecordError> {
        loop {
            if let Some((stream, part)) = self.ready.pop_front() {
                let part = self.distinguished(stream, part);
                match self.scope.ends_at_bytes(stream) {
                    Some(end_bytes) => match part.until(end_bytes) {
                        Some(part) => return Ok(Some((stream, part))),
                        None => continue,
                    },
                    None => return Ok(Some((stream, part))),
                }
            }
            match self.merge.next_ready() {
                Some(Ready::Part(stream, part)) => self.ready.push_back((stream, part)),
                Some(Ready::Elsewhere(stream, elsewhere)) => self.read_again(stream, &elsewhere)?,
                None => match self.merge.needs() {
                    Some(member) => self.feed(member)?,
                    None => return Ok(None),
                },
            }
        }
    }

    /// Tells what a ring may have written over from what a member has lost. Where a part is of
    /// both, the first piece is returned, and the rest is next.
    fn distinguished(&mut self, stream: u16, part: StreamPart) -> StreamPart {
        let missed = self.missed.as_mut();
        let Some((first_end_bytes, cause)) = missed.and_then(|missed| missed.why(stream, &part))
        else {
            return part;
        };
        let range = part.offset_bytes()..part.end_bytes();
        if first_end_bytes < range.end {
            let rest = part.clone().within(&(first_end_bytes..range.end));
            self.ready.push_front((stream, rest));
        }
        let mut part = part.within(&(range.start..first_end_bytes));
        if let StreamPart::Hole { why, .. } = &mut part {
            *why = cause;
        }
        part
    }

    fn read_again(&mut self, stream: u16, elsewhere: &Elsewhere) -> Result<(), RecordError> {
        let place = elsewhere.origin.member;
        let target = self
            .scope
            .members
            .iter()
            .position(|member| member.index == place);
        let read = match target {
            Some(target) => self.pump.fetch(target, &elsewhere.on_member())?,
            None => None,
        };
        let parts = elsewhere.check(read.as_ref());
        self.ready
            .extend(parts.into_iter().map(|part| (stream, part)));
        Ok(())
    }

    /// The last append of a member may have filled its slot. Then the end mark began the next one,
    /// and opening has not found it if it is damaged.
    fn look_behind(&mut self, member: usize) -> Result<(), RecordError> {
        let of_scope = &self.scope.members[member];
        if self.found.is_none() || of_scope.has_end {
            return Ok(());
        }
        let (identity, serial) = (of_scope.identity, of_scope.slots.end);
        let place = AppendPlace {
            slot_serial: serial,
            slot_offset_bytes: 0,
        };
        let start_bytes = identity.geometry.offset_of(place);
        let range = start_bytes..start_bytes + u64::from(identity.geometry.slot_bytes);
        let index = of_scope.index;
        // What cannot be read there may be no part of the recording at all.
        if let Some(bytes) = self.pump.fetch(member, &range)? {
            let slot = Slot {
                member: index,
                serial,
                bytes: &bytes,
                unreadable: &[],
                restored_at_bytes: &[],
            };
            let headless = headless_first(&identity, slot);
            self.headless.extend(headless.map(|one| (member, one)));
        }
        Ok(())
    }

    /// Pushes the next append of a member into the merge.
    fn feed(&mut self, member: usize) -> Result<(), RecordError> {
        loop {
            if let Some(append) = self.checked[member].pop_front() {
                self.merge.push(member, append);
                return Ok(());
            }
            let Some(run) = self.next_run(member)? else {
                self.look_behind(member)?;
                self.merge.end_member(member);
                return Ok(());
            };
            self.take_run(member, run)?;
        }
    }

    /// The next slots of a member. With parity the ones behind them are held, because their first
    /// append tells the last one before it.
    fn next_run(&mut self, member: usize) -> Result<Option<SlotRun>, RecordError> {
        if self.restorer.is_none() {
            return self.pump.next(member);
        }
        let next = match self.held[member].take() {
            Some(held) => Some(held),
            None => self.next_or_unreadable(member)?,
        };
        if let Some(next) = &next {
            let count = next.bytes.len() / self.scope.members[member].slot_bytes();
            self.next_serials[member] = next.first_serial + count as u64;
            self.held[member] = self.next_or_unreadable(member)?;
        }
        Ok(next)
    }

    /// The next slots of a member; if it has failed, one of which nothing could be read.
    fn next_or_unreadable(&mut self, member: usize) -> Result<Option<SlotRun>, RecordError> {
        let next = self.pump.next(member)?;
        let failure = self.pump.failure(member);
        if next.is_some() || failure.is_none() {
            return Ok(next);
        }
        let of_scope = &self.scope.members[member];
        let from = self.next_serials[member];
        let serial = of_scope.course.at_or_after(from);
        let Some(serial) = serial.filter(|serial| *serial < of_scope.slots.end) else {
            return Ok(None);
        };
        let start_bytes = of_scope.identity.geometry.offset_of(AppendPlace {
            slot_serial: serial,
            slot_offset_bytes: 0,
        });
        let length = of_scope.slot_bytes();
        Ok(Some(SlotRun {
            first_serial: serial,
            bytes: SharedBytes::from(vec![0; length]),
            unreadable: vec![Unreadable {
                member: of_scope.index,
                range: start_bytes..start_bytes + length as u64,
                errno: failure,
            }],
        }))
    }

    /// Checks the appends of slots that were read.
    fn take_run(&mut self, member: usize, run: SlotRun) -> Result<(), RecordError> {
        let slot_bytes = self.scope.members[member].slot_bytes();
        self.read_bytes += run.bytes.len() as u64;
        for (count, start) in (0..run.bytes.len()).step_by(slot_bytes).enumerate() {
            let bytes = run.bytes.slice(start..start + slot_bytes);
            let slot = Slot {
                member: self.scope.members[member].index,
                serial: run.first_serial + count as u64,
                bytes: &bytes,
                unreadable: &run.unreadable,
                restored_at_bytes: &[],
            };
            let behind = run.bytes.get(start + slot_bytes..);
            self.take_slot(member, slot, behind.unwrap_or_default())?;
        }
        let room = UNREADABLE_MAX.saturating_sub(self.unreadable.len());
        self.unreadable
            .extend(run.unreadable.into_iter().take(room));
        Ok(())
    }

    /// Checks the appends of a slot. `behind` are the bytes that were read with it.
    fn take_slot(
        &mut self,
        member: usize,
        slot: Slot<'_>,
        behind: &[u8],
    ) -> Result<(), RecordError> {
        let of_scope = &self.scope.members[member];
        if self.found.is_some() && slot.serial + 1 == of_scope.slots.end {
            let headless = headless_seals(&of_scope.identity, slot).into_iter();
            self.headless.extend(headless.map(|one| (member, one)));
        }
        let mut appends = examine(&of_scope.identity, slot);
        if let Some(restorer) = &mut self.restorer {
            let held = self.held[member].as_ref().map_or(&[][..], |run| &run.bytes);
            let behind = if behind.is_empty() { held } else { behind };
            let told = of_scope.told_last(slot.serial, behind);
            let members = (member, self.scope.members.as_slice());
            let restored = restorer.restore(members, slot, (&appends, told), &mut self.pump)?;
            if let Some(restored) = restored {
                let slot = Slot {
                    bytes: &restored.bytes,
                    restored_at_bytes: &restored.at_bytes,
                    ..slot
                };
                appends = examine(&of_scope.identity, slot);
            }
        }
        for append in appends {
            let descriptor = &append.origin.descriptor;
            // Nothing but data is computed of a member. What stands for parity is of no group.
            let stands_in = descriptor.kind == Kind::Parity && descriptor.parity_group == 0;
            if stands_in
                || descriptor.recording_id != self.scope.recording_id
                || descriptor.place > of_scope.last && !append.origin.is_restored
            {
                continue;
            }
            if let Some(missed) = &mut self.missed {
                missed.found(member, &append.origin);
            }
            if let Some(found) = &mut self.found {
                let is_whole = append.damaged.is_empty();
                found.push((member, Arc::clone(&append.origin), is_whole));
            }
            self.checked[member].push_back(append);
        }
        Ok(())
    }
}

impl Iterator for Parts {
    type Item = Result<(u16, StreamPart), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// Parts that are read and checked in a thread of their own, while the consumer works on earlier
/// ones. Dropping it ends the thread.
pub struct Background {
    parts: Option<Receiver<Result<(u16, StreamPart), RecordError>>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Begins to read.
    ///
    /// # Errors
    /// [`RecordError::Thread`] if no thread can be started. Other errors come as the first item.
    pub fn start(scope: &Scope, order: &PartOrder) -> Result<Background, RecordError> {
        let (sender, parts) = sync_channel(PARTS_AHEAD);
        let (scope, order) = (scope.clone(), order.clone());
        let thread = std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || run(&scope, &order, &sender))
            .map_err(RecordError::Thread)?;
        Ok(Background {
            parts: Some(parts),
            thread: Some(thread),
        })
    }
}

fn run(
    scope: &Scope,
    order: &PartOrder,
    sender: &SyncSender<Result<(u16, StreamPart), RecordError>>,
) {
    match Parts::open(scope, order) {
        Ok(parts) => {
            for part in parts {
                let is_last = part.is_err();
                if sender.send(part).is_err() || is_last {
                    return;
                }
            }
        }
        Err(error) => {
            // If the consumer is gone, nobody needs the error.
            let _ = sender.send(Err(error));
        }
    }
}

impl Iterator for Background {
    type Item = Result<(u16, StreamPart), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let part = self.parts.as_ref()?.recv().ok();
        if part.is_none()
            && let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
        {
            // Without this a recording would seem to end where the reader panicked.
            std::panic::resume_unwind(panic);
        }
        part
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.parts = None;
        if let Some(thread) = self.thread.take() {
            // Nobody needs to know any more that the reader panicked.
            let _ = thread.join();
        }
    }
}
