//! What a measuring run puts on its queues: sequential records, wrapped where asked, fresh data,
//! paced or as fast as it goes, until one of its bounds is reached.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::data::FreshData;
use sustain_disk::driver::{Ending, Feed, Next};
use sustain_disk::engine::{Completion, Operation, Request, Vector, Vectors};
use sustain_disk::layout::{Piece, Placement};
use sustain_session::Stop;

use crate::lap::{Before, LapEnd};
use crate::pacer::Pacer;

/// How long a wait for a slow source may keep a queue from seeing that the run is to end.
const LOOK_NS: u64 = 100_000_000;

/// Ends a phase from inside: the judge has seen enough, a driver is the limit, or one has failed.
#[derive(Debug, Clone, Default)]
pub struct PhaseStop(Arc<AtomicU8>);

impl PhaseStop {
    const GIVEN_UP: u8 = 1;
    const STEADY: u8 = 2;
    const STARTED_ANEW: u8 = 3;

    /// A driver has failed: the others need not go on.
    pub fn give_up(&self) {
        self.0.store(PhaseStop::GIVEN_UP, Ordering::Release);
    }

    /// The rate is steady and that was all that was wanted.
    pub fn steady(&self) {
        self.end_as(PhaseStop::STEADY);
    }

    /// The phase is given up to be made again in another way.
    pub fn start_anew(&self) {
        self.end_as(PhaseStop::STARTED_ANEW);
    }

    /// The first reason stands.
    fn end_as(&self, reason: u8) {
        let _ = self
            .0
            .compare_exchange(0, reason, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether it is to be made again.
    pub fn is_started_anew(&self) -> bool {
        self.0.load(Ordering::Acquire) == PhaseStop::STARTED_ANEW
    }

    /// Why to stop, if so.
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
    /// Where positions of the stream lie.
    pub placement: Placement,
    /// Where the next record begins.
    pub position_bytes: u64,
    /// Whether the stream starts again at 0 when it has reached its end.
    pub wraps: bool,
    /// What it waits for then.
    pub lap_end: LapEnd,
    /// Whether a last record that is shorter is wanted too: when every byte must be written.
    pub takes_rest: bool,
    /// Bytes still to be handed out, if bounded.
    pub left_bytes: Option<u64>,
    /// Parts of the current record that are still to be submitted.
    pub pending: VecDeque<Piece>,
    /// When the current record fell due.
    pub due_at: Option<Timestamp>,
    /// The source's rate, if it has one.
    pub pacer: Option<Arc<Pacer>>,
}

/// How long a driver was busy making bytes that are new for each write.
#[derive(Debug)]
pub struct Making {
    /// Where time is read.
    pub clock: Clock,
    /// So long, with what other programs took of it meanwhile.
    pub busy_ns: u64,
}

/// Feeds the queues of one driver.
#[derive(Debug)]
pub struct MeasureFeed {
    /// One per queue.
    pub lanes: Vec<Lane>,
    /// What is done.
    pub operation: Operation,
    /// Bytes per record.
    pub record_bytes: u64,
    /// Memory for all that may be in flight.
    pub pool: BufferPool,
    /// Makes what is written; none for zeros and for reading.
    pub data: Option<FreshData>,
    /// How long that takes, where every byte is made anew.
    pub making: Option<Making>,
    /// When no further record is begun.
    pub deadline: Option<Timestamp>,
    /// The user's wish to end.
    pub user_stop: Stop,
    /// The run's own reason to end.
    pub phase_stop: PhaseStop,
    /// For cutting records into pieces without allocating.
    pub scratch: Vec<Piece>,
    /// Whether a stream that waits for the end of its lap should be asked.
    pub has_ended_lap: bool,
}

impl Lane {
    /// Goes back to the start, once what comes before that has been done.
    fn end_lap(&mut self, now: Timestamp) -> Result<(), Next> {
        match self.lap_end.next(&self.targets) {
            Before::NextLap => {
                self.position_bytes = 0;
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

    /// Begins the next record of a lane, or says why not.
    fn begin_record(&mut self, queue: usize, now: Timestamp) -> Result<(), Next> {
        if let Some(ending) = self.bound_reached(now) {
            return Err(Next::Done(ending));
        }
        let lane = &mut self.lanes[queue];
        if lane.left_bytes == Some(0) {
            return Err(Next::Done(Ending::Bytes));
        }
        let mut length_bytes = self.record_bytes;
        let size_bytes = lane.placement.size_bytes();
        if lane.position_bytes + length_bytes > size_bytes {
            if lane.takes_rest && lane.position_bytes < size_bytes {
                length_bytes = size_bytes - lane.position_bytes;
            } else if lane.wraps {
                lane.end_lap(now)?;
            } else {
                return Err(Next::Done(Ending::EndOfDevice));
            }
        }
        if let Some(pacer) = &lane.pacer {
            let due_at = pacer.take(now).map_err(|due_at| {
                // No record will fall due after the end, and the user may want to end it before.
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

    fn request(&mut self, queue: usize, piece: Piece) -> Request {
        let mut buffer = self
            .pool
            .take()
            .expect("a buffer for each request in the windows");
        let length = piece.length_bytes as usize;
        if let Some(data) = &mut self.data {
            let began = self.making.as_ref().map(|making| making.clock.now());
            data.renew(&mut buffer.bytes_mut()[..length]);
            if let (Some(making), Some(began)) = (&mut self.making, began) {
                making.busy_ns += making.clock.now().since_ns(began);
            }
        }
        let lane = &mut self.lanes[queue];
        lane.lap_end.begun();
        Request {
            target: lane.targets[piece.member],
            operation: self.operation,
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
        self.has_ended_lap |= self.lanes[queue].lap_end.done();
        let moved = completion.bytes;
        let wanted = completion.request.vectors.len_bytes();
        if let Vectors::One(vector) = completion.request.vectors {
            self.pool.give(vector.into_buffer());
        }
        if moved < wanted && completion.error.is_none() {
            // The device ends here, whatever its size was said to be.
            let lane = &mut self.lanes[queue];
            lane.wraps = false;
            lane.position_bytes = u64::MAX - self.record_bytes;
            lane.pending.clear();
        }
    }
}
