//! Puts the requests of a measuring run on its queues: sequential records, wrapped if asked, with
//! fresh data, paced or as fast as possible, until one of the run's bounds is reached.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::data::FreshData;
use sustain_disk::driver::{Ending, Feed, Next};
use sustain_disk::engine::{Completion, Operation, Request, Vector, Vectors};
use sustain_disk::layout::{Placement, RecordPiece};
use sustain_targets::Stop;

use crate::lap::{Before, LapEnd};
use crate::pacer::Pacer;
use crate::setup::StreamRegion;

/// How long waiting for a slow source may keep a queue from noticing that the run is to end.
const LOOK_NS: u64 = 100_000_000;

/// Ends a phase from inside: the judge has seen enough, a driver is the limit, or a driver has
/// failed.
#[derive(Debug, Clone, Default)]
pub struct PhaseStop(Arc<AtomicU8>);

impl PhaseStop {
    const GIVEN_UP: u8 = 1;
    const STEADY: u8 = 2;
    const STARTED_ANEW: u8 = 3;

    /// Ends the phase because a driver has failed and the others need not go on.
    pub fn give_up(&self) {
        self.0.store(PhaseStop::GIVEN_UP, Ordering::Release);
    }

    /// Ends the phase because the rate is steady and nothing more was wanted.
    pub fn steady(&self) {
        self.end_as(PhaseStop::STEADY);
    }

    /// Ends the phase so that it can be repeated in another way.
    pub fn start_anew(&self) {
        self.end_as(PhaseStop::STARTED_ANEW);
    }

    /// The first reason stands.
    fn end_as(&self, reason: u8) {
        let _ = self
            .0
            .compare_exchange(0, reason, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether the phase is to be repeated.
    pub fn is_started_anew(&self) -> bool {
        self.0.load(Ordering::Acquire) == PhaseStop::STARTED_ANEW
    }

    /// The reason to stop, if there is one.
    pub fn reason(&self) -> Option<Ending> {
        match self.0.load(Ordering::Acquire) {
            PhaseStop::GIVEN_UP => Some(Ending::Interrupted),
            PhaseStop::STEADY => Some(Ending::Steady),
            PhaseStop::STARTED_ANEW => Some(Ending::Time),
            _ => None,
        }
    }
}

/// One sequential stream over the targets of one queue.
#[derive(Debug)]
pub struct Lane {
    /// The driver's numbers of the targets, in the order of the placement's members.
    pub targets: Vec<usize>,
    /// The places of the stream's positions.
    pub placement: Placement,
    /// The operation of its requests.
    pub operation: Operation,
    /// The position at which the next record begins.
    pub position_bytes: u64,
    /// The part of the stream's positions that it keeps to.
    pub region: StreamRegion,
    /// Whether the stream starts again at the beginning of its region when it has reached the end.
    pub wraps: bool,
    /// What the stream waits for at that point.
    pub lap_end: LapEnd,
    /// Whether a shorter last record is wanted too, because every byte must be written.
    pub takes_rest: bool,
    /// Bytes still to be handed out, if bounded.
    pub left_bytes: Option<u64>,
    /// Parts of the current record that are still to be submitted.
    pub pending: VecDeque<RecordPiece>,
    /// The time at which the current record fell due.
    pub due_at: Option<Timestamp>,
    /// The source's rate, if it has one.
    pub pacer: Option<Arc<Pacer>>,
    /// Requests in flight.
    pub in_flight: u32,
    /// Whether it can take no record now: it has ended, has failed, or waits for the end of a lap.
    pub is_held: bool,
}

/// Measures how long a driver was busy making data that is new for each write.
#[derive(Debug)]
pub struct Making {
    /// The clock that is read.
    pub clock: Clock,
    /// The time so far; it includes what other programs took of it.
    pub busy_ns: u64,
}

/// Feeds the queues of one driver.
#[derive(Debug)]
pub struct MeasureFeed {
    /// One lane per queue.
    pub lanes: Vec<Lane>,
    /// Bytes per record.
    pub record_bytes: u64,
    /// Memory for all that may be in flight.
    pub pool: BufferPool,
    /// Makes the data to write; none for zeros and for reading.
    pub data: Option<FreshData>,
    /// How long that takes, if every byte is made anew.
    pub making: Option<Making>,
    /// After this time no further record is begun.
    pub deadline: Option<Timestamp>,
    /// The user's request to end.
    pub user_stop: Stop,
    /// The run's own reason to end.
    pub phase_stop: PhaseStop,
    /// Memory for cutting records into pieces without allocating.
    pub scratch: Vec<RecordPiece>,
    /// Whether a stream that waits for the end of its lap should be asked again.
    pub has_ended_lap: bool,
    /// Whether the lanes are fed in turns, so that none may leave its record to another one.
    pub has_turns: bool,
}

impl Lane {
    /// Goes back to the start once what must come before that is done.
    fn end_lap(&mut self, now: Timestamp) -> Result<(), Next> {
        match self.lap_end.next(&self.targets) {
            Before::NextLap => {
                self.position_bytes = self.region.from_bytes;
                Ok(())
            }
            Before::Flush(target) => {
                self.lap_end.begun();
                Err(Next::Request(Request::flush(target)))
            }
            Before::Completion => Err(Next::WaitUntil(now + LOOK_NS)),
        }
    }
}

impl MeasureFeed {
    fn bound_reached(&self, now: Timestamp) -> Option<Ending> {
        let timed_out = self.deadline.is_some_and(|deadline| now >= deadline);
        self.user_stop
            .reason()
            .or_else(|| self.phase_stop.reason())
            .or(timed_out.then_some(Ending::Time))
    }

    /// Begins the next record of a lane, or says why it cannot.
    fn begin_record(&mut self, queue: usize, now: Timestamp) -> Result<(), Next> {
        if let Some(ending) = self.bound_reached(now) {
            return Err(Next::Done(ending));
        }
        let lane = &mut self.lanes[queue];
        lane.is_held = true;
        if lane.left_bytes == Some(0) {
            return Err(Next::Done(Ending::Bytes));
        }
        let mut length_bytes = self.record_bytes;
        let size_bytes = lane.placement.size_bytes().min(lane.region.to_bytes);
        if lane.position_bytes + length_bytes > size_bytes {
            if lane.takes_rest && lane.position_bytes < size_bytes {
                length_bytes = size_bytes - lane.position_bytes;
            } else if lane.wraps {
                lane.end_lap(now)?;
            } else {
                return Err(Next::Done(Ending::EndOfDevice));
            }
        }
        lane.is_held = false;
        if !self.has_turns && self.leaves_record(queue, now) {
            return Err(Next::WaitUntil(now));
        }
        let lane = &mut self.lanes[queue];
        if let Some(pacer) = &lane.pacer {
            let due_at = pacer.take(now).map_err(|due_at| {
                // No record will fall due after the end, and the user may want to end the run
                // before.
                let look_at = due_at.min(now + LOOK_NS);
                let end_at = self.deadline.unwrap_or(look_at);
                Next::WaitUntil(look_at.min(end_at))
            })?;
            lane.due_at = Some(due_at);
        }
        lane.placement
            .pieces(lane.position_bytes, length_bytes, &mut self.scratch);
        lane.pending.extend(self.scratch.drain(..));
        lane.position_bytes += length_bytes;
        if let Some(left) = &mut lane.left_bytes {
            *left = left.saturating_sub(length_bytes);
        }
        Ok(())
    }

    /// Whether a record that has fallen due is for another lane of the same source, which has fewer
    /// requests in flight and is asked next. A target that stands still then holds few records,
    /// as it does in a recorder, which chooses by what it expects of each member.
    fn leaves_record(&self, queue: usize, now: Timestamp) -> bool {
        let lane = &self.lanes[queue];
        let Some(pacer) = lane.pacer.as_ref().filter(|one| one.next_due_at() <= now) else {
            return false;
        };
        self.lanes.iter().any(|other| {
            let of_same_source = other
                .pacer
                .as_ref()
                .is_some_and(|one| Arc::ptr_eq(one, pacer));
            of_same_source && !other.is_held && other.in_flight < lane.in_flight
        })
    }

    fn request(&mut self, queue: usize, piece: RecordPiece) -> Request {
        let mut buffer = self
            .pool
            .take()
            .expect("a buffer for each request in the windows");
        let length = piece.length_bytes as usize;
        let operation = self.lanes[queue].operation;
        if let Some(data) = self.data.as_mut().filter(|_| operation == Operation::Write) {
            let began = self.making.as_ref().map(|making| making.clock.now());
            data.renew(&mut buffer.bytes_mut()[..length]);
            if let (Some(making), Some(began)) = (&mut self.making, began) {
                making.busy_ns += making.clock.now().since_ns(began);
            }
        }
        let lane = &mut self.lanes[queue];
        lane.lap_end.begun();
        lane.in_flight += 1;
        Request {
            target: lane.targets[piece.member],
            operation,
            offset_bytes: piece.offset_bytes,
            vectors: Vectors::One(Vector::new(buffer, 0, length)),
            durable: false,
            due_at: lane.due_at,
            token: 0,
        }
    }
}

impl Feed for MeasureFeed {
    fn next(&mut self, queue: usize, now: Timestamp) -> Next {
        if self.lanes[queue].pending.is_empty()
            && let Err(instead) = self.begin_record(queue, now)
        {
            return instead;
        }
        match self.lanes[queue].pending.pop_front() {
            Some(piece) => Next::Request(self.request(queue, piece)),
            None => unreachable!("a record has at least one piece"),
        }
    }

    fn has_news(&mut self, _now: Timestamp) -> bool {
        std::mem::take(&mut self.has_ended_lap)
    }

    fn complete(&mut self, queue: usize, completion: Completion) {
        let lane = &mut self.lanes[queue];
        self.has_ended_lap |= lane.lap_end.done();
        // A flush at the end of a lap or of the run is no record.
        lane.in_flight = lane.in_flight.saturating_sub(1);
        lane.is_held |= completion.error.is_some();
        let moved = completion.bytes;
        let wanted = completion.request.vectors.len_bytes();
        if let Vectors::One(vector) = completion.request.vectors {
            self.pool.give(vector.into_buffer());
        }
        if moved < wanted && completion.error.is_none() {
            // The device ends here, whatever size it reported.
            let lane = &mut self.lanes[queue];
            lane.wraps = false;
            lane.position_bytes = u64::MAX - self.record_bytes;
            lane.pending.clear();
        }
    }
}
