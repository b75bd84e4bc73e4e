//! Reads and writes that go on while something else is done, or is waited for.

use std::collections::{BTreeMap, VecDeque};

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::Timestamp;
use sustain_disk::engine::{Completion, Engine, Operation, Vectors};
use sustain_disk::error::{Error, IoFault};

use super::orders::{BUFFER_BYTES, IO_ERROR, OrderPart, ReadOrder};
use crate::format::BLOCK_BYTES;

/// Requests that are in flight at once for what goes on beside.
pub(super) const AHEAD_MAX: usize = 64;
/// Marks the tokens of these requests.
const TOKEN: u64 = 1 << 63;

/// Names a read or a write that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AheadId(u64);

/// What was begun and is not fetched yet.
pub(super) struct Ahead {
    pool: BufferPool,
    orders: BTreeMap<AheadId, AheadOrder>,
    /// Parts that wait for room.
    waiting: VecDeque<(AheadId, OrderPart)>,
    in_flight: BTreeMap<u64, PartInFlight>,
    next_id: u64,
    next_token: u64,
}

struct AheadOrder {
    /// What is written, or the memory that is read into.
    bytes: Vec<u8>,
    /// Bytes that were read before the first one that was asked for.
    before_bytes: usize,
    length_bytes: usize,
    parts_left: usize,
    fault: Option<IoFault>,
    /// Whether nobody will fetch it.
    is_forgotten: bool,
}

/// A part whose request has not returned.
pub(super) struct PartInFlight {
    order: AheadId,
    pub(super) part: OrderPart,
    pub(super) begun_at: Timestamp,
}

impl Ahead {
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn new() -> Result<Ahead, Error> {
        Ok(Ahead {
            pool: BufferPool::new(AHEAD_MAX, BUFFER_BYTES)?,
            orders: BTreeMap::new(),
            waiting: VecDeque::new(),
            in_flight: BTreeMap::new(),
            next_id: 0,
            next_token: TOKEN,
        })
    }

    /// Notes a read.
    pub(super) fn read(&mut self, order: ReadOrder) -> AheadId {
        let before_bytes = (order.offset_bytes % BLOCK_BYTES as u64) as usize;
        let length = (before_bytes + order.length_bytes).next_multiple_of(BLOCK_BYTES);
        let whole = (order.member, order.offset_bytes - before_bytes as u64);
        let about = (before_bytes, order.length_bytes);
        self.note(Operation::Read, whole, vec![0; length], about)
    }

    /// Notes a write of whole blocks.
    pub(super) fn write(&mut self, member: usize, offset_bytes: u64, bytes: Vec<u8>) -> AheadId {
        let is_whole = offset_bytes.is_multiple_of(BLOCK_BYTES as u64)
            && bytes.len().is_multiple_of(BLOCK_BYTES);
        assert!(is_whole, "members are written in whole blocks");
        self.note(Operation::Write, (member, offset_bytes), bytes, (0, 0))
    }

    fn note(
        &mut self,
        operation: Operation,
        (member, offset_bytes): (usize, u64),
        bytes: Vec<u8>,
        (before_bytes, length_bytes): (usize, usize),
    ) -> AheadId {
        let id = AheadId(self.next_id);
        self.next_id += 1;
        let mut parts = Vec::new();
        let whole = OrderPart {
            operation,
            order: 0,
            member,
            offset_bytes,
            start: 0,
            length: bytes.len(),
        };
        whole.cut(&mut parts);
        let order = AheadOrder {
            bytes,
            before_bytes,
            length_bytes,
            parts_left: parts.len(),
            fault: None,
            is_forgotten: false,
        };
        self.orders.insert(id, order);
        self.waiting
            .extend(parts.into_iter().map(|part| (id, part)));
        id
    }

    /// Submits what there is room for.
    pub(super) fn submit(&mut self, engine: &mut dyn Engine, now: Timestamp) {
        while !self.waiting.is_empty() {
            let Some(mut buffer) = self.pool.take() else {
                return;
            };
            let Some((id, part)) = self.waiting.pop_front() else {
                return;
            };
            if let (Operation::Write, Some(order)) = (part.operation, self.orders.get(&id)) {
                let bytes = &order.bytes[part.start..][..part.length];
                buffer.bytes_mut()[..part.length].copy_from_slice(bytes);
            }
            let mut request = part.request(buffer);
            request.token = self.next_token;
            self.next_token += 1;
            let in_flight = PartInFlight {
                order: id,
                part,
                begun_at: now,
            };
            self.in_flight.insert(request.token, in_flight);
            engine.submit(request);
        }
    }

    /// Takes the answer of one of its requests, or returns the answer of another one.
    pub(super) fn take(&mut self, completion: Completion) -> Option<Completion> {
        let Some(done) = self.in_flight.remove(&completion.request.token) else {
            return Some(completion);
        };
        let is_short = completion.bytes < done.part.length as u64;
        let fault = completion.error.or(is_short.then_some(IO_ERROR));
        if let Vectors::One(vector) = completion.request.vectors {
            let buffer = vector.into_buffer();
            if let Some(order) = self.orders.get_mut(&done.order) {
                order.fault = order.fault.or(fault);
                order.parts_left -= 1;
                if done.part.operation == Operation::Read && fault.is_none() {
                    let to = &mut order.bytes[done.part.start..][..done.part.length];
                    to.copy_from_slice(&buffer.bytes()[..done.part.length]);
                }
                if order.is_forgotten && order.parts_left == 0 {
                    self.orders.remove(&done.order);
                }
            }
            self.pool.give(buffer);
        }
        None
    }

    /// Whether requests of an order have not returned.
    pub(super) fn is_under_way(&self, id: AheadId) -> bool {
        let order = self.orders.get(&id);
        order.is_some_and(|order| order.parts_left > 0)
    }

    /// The answer of an order. What has not returned counts as failed.
    pub(super) fn fetch(&mut self, id: AheadId) -> Result<Vec<u8>, IoFault> {
        let Some(order) = self.orders.remove(&id) else {
            return Err(IO_ERROR);
        };
        let fault = order.fault.or((order.parts_left > 0).then_some(IO_ERROR));
        fault.map_or(Ok(()), Err)?;
        let mut bytes = order.bytes;
        bytes.truncate(order.before_bytes + order.length_bytes);
        bytes.drain(..order.before_bytes);
        Ok(bytes)
    }

    /// Lets go of an order that nobody will fetch.
    pub(super) fn forget(&mut self, id: AheadId) {
        let before = self.waiting.len();
        self.waiting.retain(|(order, _)| *order != id);
        let unsubmitted = before - self.waiting.len();
        if let Some(order) = self.orders.get_mut(&id) {
            order.is_forgotten = true;
            order.parts_left -= unsubmitted;
            if order.parts_left == 0 {
                self.orders.remove(&id);
            }
        }
    }

    /// The request that has been in flight longest.
    pub(super) fn oldest(&self) -> Option<&PartInFlight> {
        self.in_flight.values().min_by_key(|one| one.begun_at)
    }

    /// Whether anything in flight is a write.
    pub(super) fn writes(&self) -> bool {
        let mut in_flight = self.in_flight.values();
        in_flight.any(|one| one.part.operation == Operation::Write)
    }
}
