//! The recorder itself: appends come in from an inlet, go to members, and are accounted for until
//! they are durable. A [`Feed`], so it runs on any driver: in a thread of its own over real disks,
//! or in virtual time over simulated ones.
//!
//! Nothing accepted is ever dropped silently: an append that no member takes becomes a gap, whose
//! account is written in its stream.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::Timestamp;
use sustain_disk::driver::{Ending, Feed, Next};
use sustain_disk::engine::{Completion, Operation, Request};
use sustain_disk::error::Error;
use sustain_disk::meter::LatencyMeter;

use super::board::RecordingBoard;
use super::filled::{Filled, PayloadMemory};
use super::frame_meter::{FrameMeter, FramePace};
use super::inlet::{Inlet, Polled};
use super::ledger::Ledger;
use super::member::{MemberState, MemberWriter, reserve_bytes};
use super::parity::{ParityAppend, Protection};
use super::pinning::Pinning;
use super::write::PayloadView;
use crate::format::{AppendPlace, Kind};

mod behind;
mod data;
mod duty;
mod failing;
mod follow;
mod given_up;
mod groups;
mod harm;
mod memory;
mod parity;
mod parity_room;
mod pin_refusals;
mod pin_room;
mod pins;
mod progress;
mod retry;
mod settle;
mod setup;
mod slow;
mod standing;
mod superblocks;

pub(super) use duty::{start_bytes_max, start_room_bytes};
use memory::FeedMemory;
use retry::Retry;
pub use setup::{Durability, RecordSetup, StreamSetup};
pub use slow::Patience;

/// How often an idle member is looked at for what is due.
const LOOK_NS: u64 = 100_000_000;
/// An append that was accepted so long ago waits for members: a disk that keeps up begins the next
/// one sooner.
const WAITS_NS: u64 = 10_000_000;
/// For so long it is shown that a source found no memory.
const SHORT_SHOWN_NS: u64 = 1_000_000_000;
/// An append that is on its way to a member for so long is held up there, even if nothing waits
/// behind it.
const HANGS_NS: u64 = 500_000_000;
/// Time between two entries on the board while nothing is flushed.
const BOARD_EVERY_NS: u64 = 200_000_000;
/// Room for the note of a start or an end.
const CONTROL_BYTES: usize = 64 * 1024;
/// Buffers of a member for starts, ends and accounts. Each has its own, so one that keeps its
/// requests takes none away from the others.
const CONTROLS_PER_MEMBER: usize = 4;

/// A request in flight, or about to be tried again.
struct Flying {
    queue: usize,
    operation: Operation,
    offset_bytes: u64,
    /// When it was tried first, and last.
    first_at: Timestamp,
    last_at: Timestamp,
    tries: u32,
    purpose: RequestPurpose,
}

/// What a request in flight is for.
#[allow(
    clippy::large_enum_variant,
    reason = "moving a few hundred bytes is nothing beside an append"
)]
enum RequestPurpose {
    Data {
        filled: Filled,
        place: AppendPlace,
        sequence: u64,
        /// Its bytes, for another member if this one does not answer.
        payload: PayloadView,
        /// Whether nothing else answers for them.
        is_sole: bool,
        /// Whether they lie in a buffer of the pool.
        is_lent: bool,
    },
    /// A control record: a start or an end.
    Control {
        kind: Kind,
        place: AppendPlace,
        bytes: u32,
        sequence: u64,
    },
    /// Parity of a group that has closed.
    Parity {
        parity: ParityAppend,
        place: AppendPlace,
        sequence: u64,
    },
    Flush,
    /// A copy of a superblock with another table of pins.
    Superblock,
    /// Its member was given up before it has returned; only its memory is wanted back.
    Abandoned {
        stream: u16,
        is_own: bool,
        is_lent: bool,
        /// When the write of an append was handed over.
        accepted_at: Option<Timestamp>,
    },
}

/// Runs one recording.
pub struct RecordFeed<I: Inlet> {
    setup: RecordSetup,
    pub(super) members: Vec<MemberWriter>,
    pub(super) ledgers: Vec<Ledger>,
    /// Why members are not written any more, in words.
    pub(super) errors: Vec<Option<String>>,
    /// All that was written to each member.
    pub(super) completed_bytes: Vec<u64>,
    inlet: I,
    pending: VecDeque<Filled>,
    /// Gaps that are still to be accounted for on a member.
    accounts: VecDeque<Filled>,
    /// By token, so in the order of their beginning.
    in_flight: BTreeMap<u64, Flying>,
    /// Per member, what is to be tried again.
    retries: Vec<VecDeque<Retry>>,
    data_in_flight: usize,
    next_token: u64,
    next_sequence: u64,
    /// For starts, ends and accounts, of each member.
    controls: Vec<BufferPool>,
    ending: Option<Ending>,
    /// Whether the sources go on in another recording.
    is_cut: bool,
    /// When a member last brought the end nearer, or when only members were left to wait for.
    end_waits_since: Timestamp,
    /// What is accepted from now on is lost: no member can take it.
    is_out_of_room: bool,
    watch_at: Timestamp,
    /// Whether the sources have handed over all that they had accepted.
    is_inlet_empty: bool,
    /// When the inlet may have something, if it said so.
    inlet_at: Option<Timestamp>,
    has_changed: bool,
    board: Arc<RecordingBoard>,
    board_at: Timestamp,
    /// What had found no memory when the board was last written.
    board_lost_bytes: u64,
    /// When a source last found no memory, as far as the board shows it.
    short_at: Option<Timestamp>,
    flushes: u64,
    /// The longest time from an append's handing over to the return of its write, also of writes
    /// that failed, or for which another member answered by then.
    pub(super) longest_returned_ns: u64,
    /// From an append's handing over to its write's completion, per stream.
    pub(super) written_latency: Vec<LatencyMeter>,
    /// From its first byte to its durability: how old what is not durable may be.
    pub(super) durable_latency: Vec<LatencyMeter>,
    /// The frames of each stream that has some.
    pub(super) frame_meters: Vec<Option<Box<FrameMeter>>>,
    /// How many frames each second the streams were declared to have.
    declared_frames_per_s: Vec<Option<f64>>,
    pinning: Pinning,
    /// What protects it from the loss of members, if anything does.
    pub(super) protection: Option<Protection>,
}

impl<I: Inlet> RecordFeed<I> {
    /// A recorder over the driver's targets, which are the members in their order.
    ///
    /// # Errors
    /// [`Error::Memory`] without memory for marks and parity.
    pub fn new(setup: RecordSetup, inlet: I) -> Result<RecordFeed<I>, Error> {
        let board = Arc::new(RecordingBoard::new(standing::first(&setup)));
        let memory = FeedMemory::new(&setup)?;
        Ok(RecordFeed::with_memory(setup, inlet, board, memory))
    }

    fn with_memory(
        setup: RecordSetup,
        inlet: I,
        board: Arc<RecordingBoard>,
        memory: FeedMemory,
    ) -> RecordFeed<I> {
        let streams = setup.streams.len();
        let members: Vec<MemberWriter> = setup
            .members
            .iter()
            .map(|member| {
                let geometry = &member.geometry;
                let kept_slots = setup.parity.map_or(0, |parity| {
                    parity.kept_slots(geometry.slot_bytes, geometry.slot_count)
                });
                let reserve = reserve_bytes(streams, geometry);
                let writer = MemberWriter::new(member.clone(), streams, setup.ring, reserve);
                writer.with_slots_for_parity(kept_slots)
            })
            .collect();
        RecordFeed {
            errors: members.iter().map(|_| None).collect(),
            completed_bytes: vec![0; members.len()],
            longest_returned_ns: 0,
            ledgers: vec![Ledger::default(); streams],
            written_latency: (0..streams).map(|_| LatencyMeter::new()).collect(),
            durable_latency: (0..streams).map(|_| LatencyMeter::new()).collect(),
            frame_meters: (0..streams).map(|_| None).collect(),
            declared_frames_per_s: Vec::new(),
            pinning: Pinning::default(),
            protection: (setup.parity.zip(memory.sums))
                .map(|(parity, sums)| Protection::new(parity, sums, streams)),
            next_sequence: setup.first_sequence,
            board_at: setup.start,
            board_lost_bytes: 0,
            short_at: None,
            watch_at: setup.start,
            end_waits_since: setup.start,
            is_out_of_room: false,
            retries: members.iter().map(|_| VecDeque::new()).collect(),
            members,
            inlet,
            pending: VecDeque::new(),
            accounts: VecDeque::new(),
            in_flight: BTreeMap::new(),
            data_in_flight: 0,
            next_token: 0,
            controls: memory.controls,
            ending: None,
            is_cut: false,
            is_inlet_empty: false,
            inlet_at: None,
            has_changed: false,
            board,
            flushes: 0,
            setup,
        }
    }

    /// Declares how many frames each second the streams have, in their order.
    pub fn declare_frame_rates(&mut self, rates: &[Option<f64>]) {
        self.declared_frames_per_s = rates.to_vec();
        let start_ns = self.setup.unix_clock.unix_ns(self.setup.start);
        for (meter, rate) in self.frame_meters.iter_mut().zip(rates) {
            if let Some(rate) = rate {
                let meter = meter.get_or_insert_with(|| Box::new(FrameMeter::new(start_ns)));
                meter.pace = Some(FramePace::new(*rate));
            }
        }
    }

    /// Where the recording's standing is shown.
    pub fn board(&self) -> Arc<RecordingBoard> {
        Arc::clone(&self.board)
    }

    /// What fixed it.
    pub fn setup(&self) -> &RecordSetup {
        &self.setup
    }

    /// The sources' side.
    pub fn inlet_mut(&mut self) -> &mut I {
        &mut self.inlet
    }

    /// How it ended, once it has: also of one that ended because another one follows, as if its
    /// sources had ended ([`RecordFeed::is_cut`]).
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Takes what the sources have, as long as members wait for it. While one does not answer, or
    /// pins keep all, all of it: behind what waits for that the sources may have ended.
    fn pull(&mut self, now: Timestamp) {
        let most = if self.is_stuck() {
            usize::MAX
        } else {
            self.members.len()
        };
        while self.ending.is_none() && self.pending.len() <= most {
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
                    self.end(ending, now);
                }
                Polled::Cut => self.end_by_cut(now),
            }
        }
    }

    fn is_stuck(&self) -> bool {
        self.members.iter().any(|member| member.is_slow) || self.waits_for_pins()
    }

    fn end(&mut self, ending: Ending, now: Timestamp) {
        if self.ending.is_none() {
            self.ending = Some(ending);
            self.end_waits_since = now;
            self.inlet.close();
        }
        self.has_changed = true;
    }

    /// The sources go on, and what they send from now on belongs to the next recording.
    fn end_by_cut(&mut self, now: Timestamp) {
        self.is_cut = true;
        self.is_inlet_empty = true;
        if self.ending.is_none() {
            self.ending = Some(Ending::Source);
            self.end_waits_since = now;
        }
        self.has_changed = true;
    }

    fn give_back(&mut self, queue: usize, stream: u16, memory: PayloadMemory) {
        match memory {
            PayloadMemory::Own(buffer) => self.controls[queue].give(buffer),
            memory => self.inlet.give_back(stream, memory),
        }
    }
}

impl<I: Inlet> Feed for RecordFeed<I> {
    fn next(&mut self, queue: usize, now: Timestamp) -> Next {
        self.pull(now);
        self.close_due_groups(now);
        match self.members[queue].state {
            MemberState::Failed => return Next::Done(Ending::Error),
            MemberState::Closed => return Next::Done(self.ending.unwrap_or(Ending::Source)),
            MemberState::Active | MemberState::Slow | MemberState::Full => {}
        }
        if let Some(request) = self.retry(queue, now) {
            return Next::Request(request);
        }
        if let Some(request) = self.begin_duty(queue, now) {
            return Next::Request(request);
        }
        match self.begin_data(queue, now) {
            Some(request) => Next::Request(request),
            None => Next::WaitUntil(self.look_at(queue, now)),
        }
    }

    fn complete(&mut self, queue: usize, completion: Completion) {
        self.has_changed = true;
        let now = completion.completed_at;
        if completion.request.operation == Operation::Write {
            self.completed_bytes[queue] += completion.bytes;
        }
        if let Some(completion) = self.try_again(queue, completion) {
            self.settle(queue, completion);
        }
        self.show(now, false);
    }

    fn ends_queue(&self, completion: &Completion) -> bool {
        // Of the recorder's queues each has one target, its member.
        !self.is_kernels_own(completion.request.target, completion)
    }

    fn is_given_up(&self, queue: usize) -> bool {
        self.members[queue].is_given_up
    }

    fn has_news(&mut self, now: Timestamp) -> bool {
        self.give_up_late(now);
        self.watch(now);
        self.see_held(now);
        self.see_pins(now);
        self.close_due_groups(now);
        if self.pending.is_empty() || self.is_stuck() {
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
        if let Some(retry) = self.retries[queue].front() {
            at = at.min(retry.at);
        }
        if let Some(close_at) = self.groups_close_at().filter(|close_at| *close_at > now) {
            at = at.min(close_at);
        }
        at
    }

    /// Enters a request that is about to be in flight, and marks it.
    fn enter(&mut self, mut request: Request, purpose: RequestPurpose, now: Timestamp) -> Request {
        request.token = self.next_token;
        self.next_token += 1;
        let flying = Flying {
            queue: request.target,
            operation: request.operation,
            offset_bytes: request.offset_bytes,
            first_at: now,
            last_at: now,
            tries: 1,
            purpose,
        };
        self.in_flight.insert(request.token, flying);
        request
    }

    fn take_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Shows how things stand: at once, or when the last entry is old enough.
    fn show(&mut self, now: Timestamp, at_once: bool) {
        if at_once || now >= self.board_at {
            self.board_at = now + BOARD_EVERY_NS;
            if self.is_buffer_short() {
                self.short_at = Some(now);
            }
            self.board_lost_bytes = self.found_no_memory_bytes();
            let standing = standing::of(self, now);
            self.board.write(|entry| *entry = standing);
        }
    }

    /// Flushes completed so far.
    pub(super) fn flushes(&self) -> u64 {
        self.flushes
    }

    /// After the driver's end: takes the account of what came in too late, and tells everyone who
    /// waits that it is over, unless another recording follows.
    pub fn close(&mut self, now: Timestamp) {
        for queue in 0..self.members.len() {
            self.is_harmed(queue, now);
        }
        self.give_up_late(now);
        self.account_in_result_only(now);
        self.note_kept();
        let mut standing = standing::of(self, now);
        standing.is_over = !self.is_cut;
        self.board.write(|entry| *entry = standing);
        if !self.is_cut {
            self.board.pins().close();
        }
    }
}
