//! The recorder itself: appends come in from an inlet, go to members, and are accounted for until
//! they are durable. A [`Feed`], so it runs on any driver: in a thread of its own over real disks, or
//! in virtual time over simulated ones.
//!
//! Nothing accepted is ever dropped silently: an append that no member takes becomes a gap, whose
//! account is written in its stream.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::{Timestamp, WallClock};
use sustain_disk::driver::{Ending, Feed, Next};
use sustain_disk::engine::{Completion, Operation};
use sustain_disk::error::{Errno, Error, RequestError};
use sustain_disk::meter::Latency;
use uuid::Uuid;

use super::board::Board;
use super::filled::{Filled, Memory};
use super::inlet::{Inlet, Polled};
use super::ledger::Ledger;
use super::member::{Member, MemberSetup, MemberState, reserve_bytes};
use super::scatter::Window;
use super::{standing, write};
use crate::format::{Kind, Place};

mod data;
mod duty;

pub(super) use duty::start_bytes_max;

/// How often an idle member is looked at for what is due.
const LOOK_NS: u64 = 100_000_000;
/// An append that was accepted so long ago waits for members: a disk that keeps up begins the next
/// one sooner.
const WAITS_NS: u64 = 10_000_000;
/// Time between two entries on the board while nothing is flushed.
const BOARD_EVERY_NS: u64 = 200_000_000;
/// What a device that ends early is taken to have said (ENOSPC).
const NO_SPACE: i32 = 28;
/// Room for the note of a start or an end.
pub(super) const CONTROL_BYTES: usize = 64 * 1024;

/// One stream of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSetup {
    /// Its name, unique in the recording.
    pub name: String,
    /// How its frames are told apart, as `--frames` calls it.
    pub framing: String,
    /// Where it comes from, if that helps to check it later.
    pub source: Option<String>,
}

/// When what is written is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durability {
    /// Every write is durable when it completes.
    pub each: bool,
    /// The oldest byte that is not durable is at most about so old.
    pub interval_ns: u64,
    /// A member is flushed when so much on it is not.
    pub bytes: u64,
}

impl Default for Durability {
    fn default() -> Durability {
        Durability {
            each: false,
            interval_ns: 1_000_000_000,
            bytes: 64 << 20,
        }
    }
}

/// All that fixes a recording before its first byte.
#[derive(Debug, Clone)]
pub struct RecordSetup {
    /// The store.
    pub store: Uuid,
    /// Its members, all of them.
    pub members: Vec<MemberSetup>,
    /// The streams, at least one.
    pub streams: Vec<StreamSetup>,
    /// Number of the recording in the store.
    pub recording: u32,
    /// Its UUID.
    pub recording_id: Uuid,
    /// The first sequence that it may use.
    pub first_sequence: u64,
    /// Whether the oldest data of the store is overwritten.
    pub ring: bool,
    /// When data becomes durable.
    pub durability: Durability,
    /// How much may be in flight on a member.
    pub window: Window,
    /// The time of day.
    pub wall: WallClock,
    /// Where times count from.
    pub start: Timestamp,
    /// What writes it, for the start note.
    pub tool: String,
}

/// What a request in flight is for.
#[allow(
    clippy::large_enum_variant,
    reason = "moving a few hundred bytes is nothing beside an append"
)]
enum Flight {
    Data {
        filled: Filled,
        place: Place,
        sequence: u64,
    },
    /// A start or an end.
    Mark {
        kind: Kind,
        place: Place,
        bytes: u32,
        sequence: u64,
    },
    Flush,
}

/// Runs one recording.
pub struct RecordFeed<I: Inlet> {
    setup: RecordSetup,
    pub(super) members: Vec<Member>,
    pub(super) ledgers: Vec<Ledger>,
    pub(super) errors: Vec<Option<RequestError>>,
    inlet: I,
    pending: VecDeque<Filled>,
    /// Gaps that are still to be accounted for on a member.
    accounts: VecDeque<Filled>,
    in_flight: HashMap<u64, Flight>,
    data_in_flight: usize,
    next_token: u64,
    next_sequence: u64,
    /// For starts, ends and accounts.
    control: BufferPool,
    ending: Option<Ending>,
    /// Whether the sources have handed over all that they had accepted.
    is_inlet_empty: bool,
    /// When the inlet may have something, if it said so.
    inlet_at: Option<Timestamp>,
    has_changed: bool,
    board: Arc<Board>,
    board_at: Timestamp,
    flushes: u64,
    /// From an append's handing over to its write's completion, per stream.
    pub(super) written_latency: Vec<Latency>,
    /// From its first byte to its durability: how old what is not durable may be.
    pub(super) durable_latency: Vec<Latency>,
}

impl<I: Inlet> RecordFeed<I> {
    /// A recorder over the driver's targets, which are the members in their order.
    ///
    /// # Errors
    /// [`Error::Memory`] without memory for marks.
    pub fn new(setup: RecordSetup, inlet: I) -> Result<RecordFeed<I>, Error> {
        let streams = setup.streams.len();
        let members: Vec<Member> = setup
            .members
            .iter()
            .map(|member| {
                let reserve = reserve_bytes(streams, &member.geometry);
                Member::new(member.clone(), streams, setup.ring, reserve)
            })
            .collect();
        let control = BufferPool::new(members.len() * 2 + 2, CONTROL_BYTES)?;
        let board = Arc::new(Board::new(standing::first(&setup)));
        Ok(RecordFeed {
            errors: members.iter().map(|_| None).collect(),
            ledgers: vec![Ledger::default(); streams],
            written_latency: (0..streams).map(|_| Latency::new()).collect(),
            durable_latency: (0..streams).map(|_| Latency::new()).collect(),
            next_sequence: setup.first_sequence,
            board_at: setup.start,
            members,
            inlet,
            pending: VecDeque::new(),
            accounts: VecDeque::new(),
            in_flight: HashMap::new(),
            data_in_flight: 0,
            next_token: 0,
            control,
            ending: None,
            is_inlet_empty: false,
            inlet_at: None,
            has_changed: false,
            board,
            flushes: 0,
            setup,
        })
    }

    /// Where the recording's standing is shown.
    pub fn board(&self) -> Arc<Board> {
        Arc::clone(&self.board)
    }

    /// The memory of starts, ends and accounts, to be registered.
    pub fn control(&self) -> &BufferPool {
        &self.control
    }

    /// What fixed it.
    pub fn setup(&self) -> &RecordSetup {
        &self.setup
    }

    /// The sources' side.
    pub fn inlet_mut(&mut self) -> &mut I {
        &mut self.inlet
    }

    /// How it ended, once it has.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Takes what the sources have, as long as members wait for it.
    fn pull(&mut self, now: Timestamp) {
        while self.ending.is_none() && self.pending.len() <= self.members.len() {
            match self.inlet.poll(now) {
                Polled::Append(filled) => {
                    self.inlet_at = None;
                    match filled.memory {
                        Some(_) => self.pending.push_back(filled),
                        None => self.accounts.push_back(filled),
                    }
                }
                Polled::Nothing(at) => {
                    self.inlet_at = at;
                    return;
                }
                Polled::Ended(ending) => {
                    self.is_inlet_empty = true;
                    self.end(ending);
                }
            }
        }
    }

    fn end(&mut self, ending: Ending) {
        if self.ending.is_none() {
            self.ending = Some(ending);
            self.inlet.close();
        }
        self.has_changed = true;
    }

    fn give_back(&mut self, memory: Memory) {
        match memory {
            Memory::Own(buffer) => self.control.give(buffer),
            memory => self.inlet.give_back(memory),
        }
    }
}

impl<I: Inlet> Feed for RecordFeed<I> {
    fn next(&mut self, queue: usize, now: Timestamp) -> Next {
        self.pull(now);
        match self.members[queue].state {
            MemberState::Failed => return Next::Done(Ending::Error),
            MemberState::Closed => return Next::Done(self.ending.unwrap_or(Ending::Source)),
            MemberState::Active | MemberState::Full => {}
        }
        if let Some(request) = self.duty(queue, now) {
            return Next::Request(request);
        }
        match self.data(queue, now) {
            Some(request) => Next::Request(request),
            None => Next::WaitUntil(self.look_at(queue, now)),
        }
    }

    fn complete(&mut self, queue: usize, completion: Completion) {
        self.has_changed = true;
        let now = completion.completed_at;
        let Some(flight) = self.in_flight.remove(&completion.request.token) else {
            return;
        };
        let wanted = completion.request.vectors.len_bytes();
        let is_short =
            completion.request.operation == Operation::Write && completion.bytes < wanted;
        let has_failed = completion.error.is_some() || is_short;
        if has_failed {
            self.fail(queue, &completion);
        }
        match flight {
            Flight::Flush => self.flushed(queue, now, !has_failed),
            Flight::Mark {
                kind,
                place,
                bytes,
                sequence,
            } => {
                if let Some(memory) = write::take_apart(completion.request.vectors, true) {
                    self.give_back(memory);
                }
                self.members[queue].landed(place, bytes);
                self.marked(queue, kind, place, sequence);
            }
            Flight::Data {
                filled,
                place,
                sequence,
            } => self.landed(queue, filled, place, sequence, completion),
        }
        self.show(now, false);
    }

    fn has_news(&mut self, now: Timestamp) -> bool {
        self.give_up_late(now);
        if self.pending.is_empty() {
            self.pull(now);
            self.has_changed |= !self.pending.is_empty();
        }
        self.show(now, false);
        std::mem::take(&mut self.has_changed)
    }
}

impl<I: Inlet> RecordFeed<I> {
    /// When a member with nothing to do is to be asked again.
    fn look_at(&self, queue: usize, now: Timestamp) -> Timestamp {
        let mut at = now + LOOK_NS;
        // What is past was asked, or is not to be asked any more.
        if let Some(inlet_at) = self.inlet_at.filter(|inlet_at| *inlet_at > now) {
            at = at.min(inlet_at);
        }
        if let Some(since) = self.members[queue].unflushed_since {
            let due_at = since + self.setup.durability.interval_ns / 2;
            // What is due and not begun waits for a completion.
            if due_at > now {
                at = at.min(due_at);
            }
        }
        at
    }

    /// Enters a request that is about to be in flight; the answer is its token.
    fn enter(&mut self, flight: Flight) -> u64 {
        let token = self.next_token;
        self.next_token += 1;
        self.in_flight.insert(token, flight);
        token
    }

    fn take_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// A member is not written any more.
    fn fail(&mut self, queue: usize, completion: &Completion) {
        let member = &mut self.members[queue];
        if !member.works() {
            return;
        }
        member.state = MemberState::Failed;
        let request = &completion.request;
        // A short write is the end of the device.
        let errno = completion.error.unwrap_or(Errno(NO_SPACE));
        self.errors[queue] = Some(RequestError {
            target: member.setup.name.clone(),
            operation: request.operation,
            offset_bytes: request.offset_bytes + completion.bytes,
            errno,
        });
        // What no flush has confirmed may be gone with it. A flush under way may still confirm its.
        let unflushed = std::mem::take(&mut member.unflushed);
        member.unflushed_since = None;
        for one in unflushed {
            self.lose_written(one);
        }
        let is_left = |member: &Member| member.works() || member.state == MemberState::Closed;
        // One that is closed has all that there was, durable, and how it ended.
        if !self.members.iter().any(is_left) {
            self.end_without_room(completion.completed_at);
        }
    }

    /// Shows how things stand: at once, or when the last entry is old enough.
    fn show(&mut self, now: Timestamp, at_once: bool) {
        if at_once || now >= self.board_at {
            self.board_at = now + BOARD_EVERY_NS;
            let standing = standing::of(self, now);
            self.board.write(|entry| *entry = standing);
        }
    }

    /// Below this every byte of the stream is on the medium for good, or its loss is.
    pub(super) fn watermark_bytes(&self, stream: usize) -> u64 {
        let all_started = self
            .members
            .iter()
            .all(|member| !member.works() || member.has_begun());
        if all_started {
            self.ledgers[stream].watermark_bytes()
        } else {
            0
        }
    }

    /// Bytes that were accepted, whatever became of them.
    pub(super) fn offered_bytes(&self, stream: usize) -> u64 {
        let waiting = self
            .pending
            .iter()
            .chain(&self.accounts)
            .filter(|filled| usize::from(filled.stream) == stream)
            .map(Filled::end_bytes);
        waiting
            .max()
            .unwrap_or(0)
            .max(self.ledgers[stream].next_offset_bytes())
    }

    /// Share of the buffer that waits for members, from 0 to 1.
    pub(super) fn buffer_fill(&self) -> f64 {
        self.inlet.buffer_fill()
    }

    /// Whether appends wait for members, not only for this thread to look at them.
    pub(super) fn has_backlog(&self, now: Timestamp) -> bool {
        let oldest = self.pending.front();
        oldest.is_some_and(|filled| now.since_ns(filled.accepted_at) >= WAITS_NS)
    }

    /// Flushes completed so far.
    pub(super) fn flushes(&self) -> u64 {
        self.flushes
    }

    /// After the driver's end: takes the account of what came in too late, and tells everyone who
    /// waits that it is over.
    pub fn close(&mut self, now: Timestamp) {
        self.give_up_late(now);
        self.account_in_result_only();
        let mut standing = standing::of(self, now);
        standing.is_over = true;
        self.board.write(|entry| *entry = standing);
    }
}

impl<I: Inlet> RecordFeed<I> {
    /// Slots begun on each member, as superblocks say it.
    pub fn slots_begun(&self) -> Vec<u64> {
        self.members.iter().map(Member::slots_begun).collect()
    }

    /// Whether some member had to be given up.
    pub fn has_failed_members(&self) -> bool {
        self.errors.iter().any(Option::is_some)
    }

    /// From handing over to the write's completion, per stream; taken.
    pub fn take_written_latency(&mut self) -> Vec<Latency> {
        std::mem::take(&mut self.written_latency)
    }

    /// From the first byte to durability, per stream; taken.
    pub fn take_durable_latency(&mut self) -> Vec<Latency> {
        std::mem::take(&mut self.durable_latency)
    }
}
