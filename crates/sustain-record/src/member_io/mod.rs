//! Reads, writes and flushes members one by one or a few at a time, over any engine. It serves
//! superblocks, the opening of stores, and single appends. Streams are always moved by a driver
//! instead.

use std::collections::BTreeMap;
use std::ops::Range;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::engine::{Engine, Operation, Request, Until, Vectors};
use sustain_disk::error::IoFault;

use crate::error::RecordError;
use crate::format::BLOCK_BYTES;

mod ahead;
mod open;
mod orders;
mod patience;
mod queued_writes;
mod steps;
mod stretch;

use ahead::Ahead;
pub(crate) use ahead::AheadId;
use orders::{IO_ERROR, OrderPart};
pub use orders::{ReadOrder, WriteOrder};
pub use patience::on_long_wait;
pub(crate) use patience::{
    GIVEN_UP_AFTER_NS, LONG_WAIT_NS, READS_ARE_GIVEN, report_long_wait, words_of_silence,
    words_of_silent,
};
pub(crate) use queued_writes::QueuedWrites;
pub(crate) use steps::{MemberStep, StepsEnd, StepsPatience};
pub(crate) use stretch::ReadStretch;

const IN_FLIGHT_PER_MEMBER: usize = 4;
const IN_FLIGHT_MAX: usize = 64;
/// How long one wait lasts before the next begins. A disk may take its time.
const WAIT_NS: u64 = 3_600_000_000_000;

/// Blocking access to members, by their index in the list that this was opened with.
///
/// A simulated machine serves one engine at a time: nothing else may drive it while a call here
/// lasts.
pub struct MemberIo {
    /// `None` after it was given up with requests that had not returned. It is leaked with their
    /// memory, because closing it would wait for them.
    engine: Option<Box<dyn Engine>>,
    clock: Clock,
    pool: BufferPool,
    in_flight_max: usize,
    /// What goes on beside.
    ahead: Ahead,
    /// The names of the members in messages.
    names: Vec<String>,
    bytes_read: Vec<u64>,
    /// How long it is waited for any answer but to a read; without end, if none.
    patience_ns: Option<u64>,
    /// Whether the engine has failed or was given up.
    is_broken: bool,
    failure: Option<RecordError>,
}

/// Receives what was read of each part, by its index, or why it failed.
type PartEnd<'a> = dyn FnMut(usize, Result<&[u8], IoFault>) + 'a;

impl MemberIo {
    /// Waits for members no longer than until none has answered for so long, or for reads ten
    /// times as long. Whoever writes wants that: nothing is lost by beginning again. Who only
    /// reads waits for a bad sector as long as its disk tries.
    pub(crate) fn given_up_after(mut self, patience_ns: u64) -> MemberIo {
        self.patience_ns = Some(patience_ns);
        self
    }

    /// Reads a stretch of a member.
    ///
    /// # Errors
    /// The error of the member; an input/output error if it ends before, or if the engine has
    /// failed.
    pub fn read(
        &mut self,
        member: usize,
        offset_bytes: u64,
        length_bytes: usize,
    ) -> Result<Vec<u8>, IoFault> {
        let order = ReadOrder {
            member,
            offset_bytes,
            length_bytes,
        };
        self.read_all(&[order]).swap_remove(0)
    }

    /// Reads several stretches, many at a time. The answers come in the order of `orders`.
    pub fn read_all(&mut self, orders: &[ReadOrder]) -> Vec<Result<Vec<u8>, IoFault>> {
        let mut parts = Vec::new();
        let mut answers = Vec::with_capacity(orders.len());
        for (index, order) in orders.iter().enumerate() {
            // Direct reads take whole blocks.
            let before = (order.offset_bytes % BLOCK_BYTES as u64) as usize;
            let length = (before + order.length_bytes).next_multiple_of(BLOCK_BYTES);
            answers.push(Ok(vec![0; length]));
            let whole = OrderPart {
                operation: Operation::Read,
                order: index,
                member: order.member,
                offset_bytes: order.offset_bytes - before as u64,
                start: 0,
                length,
            };
            whole.cut(&mut parts);
        }
        let mut bytes_read = std::mem::take(&mut self.bytes_read);
        self.run(
            &parts,
            |part, pool| part.request(take(pool)),
            |part, done| {
                bytes_read[part.member] += done.map_or(0, <[u8]>::len) as u64;
                match (done, &mut answers[part.order]) {
                    (Ok(bytes), Ok(answer)) => {
                        answer[part.start..][..part.length].copy_from_slice(bytes);
                    }
                    (Err(errno), answer) => *answer = Err(errno),
                    (Ok(_), Err(_)) => {}
                }
            },
        );
        self.bytes_read = bytes_read;
        for (answer, order) in answers.iter_mut().zip(orders) {
            if let Ok(bytes) = answer {
                let before = (order.offset_bytes % BLOCK_BYTES as u64) as usize;
                bytes.truncate(before + order.length_bytes);
                bytes.drain(..before);
            }
        }
        answers
    }

    /// Writes whole blocks to a member. They are durable after the next flush.
    ///
    /// # Errors
    /// The same as of [`MemberIo::read`].
    ///
    /// # Panics
    /// If these are not whole blocks.
    pub fn write(&mut self, member: usize, offset_bytes: u64, bytes: &[u8]) -> Result<(), IoFault> {
        let order = WriteOrder {
            member,
            offset_bytes,
            bytes,
        };
        self.write_all(&[order]).swap_remove(0)
    }

    /// Writes to several places, many at a time. The answers come in the order of `orders`.
    ///
    /// # Panics
    /// If one does not write whole blocks.
    pub fn write_all(&mut self, orders: &[WriteOrder<'_>]) -> Vec<Result<(), IoFault>> {
        let mut parts = Vec::new();
        for (index, order) in orders.iter().enumerate() {
            let is_whole = order.offset_bytes.is_multiple_of(BLOCK_BYTES as u64)
                && order.bytes.len().is_multiple_of(BLOCK_BYTES);
            assert!(is_whole, "members are written in whole blocks");
            let whole = OrderPart {
                operation: Operation::Write,
                order: index,
                member: order.member,
                offset_bytes: order.offset_bytes,
                start: 0,
                length: order.bytes.len(),
            };
            whole.cut(&mut parts);
        }
        let mut answers = vec![Ok(()); orders.len()];
        self.run(
            &parts,
            |part, pool| {
                let mut buffer = take(pool);
                let bytes = &orders[part.order].bytes[part.start..][..part.length];
                buffer.bytes_mut()[..part.length].copy_from_slice(bytes);
                part.request(buffer)
            },
            |part, done| {
                if let Err(errno) = done {
                    answers[part.order] = Err(errno);
                }
            },
        );
        answers
    }

    /// Writes zeros to ranges of members. The answers come in the order of the ranges. Ranges begin
    /// at whole blocks, and may end with the member within one.
    pub(crate) fn write_zeros(
        &mut self,
        ranges: &[(usize, Range<u64>)],
    ) -> Vec<Result<(), IoFault>> {
        let mut parts = Vec::new();
        for (index, (member, range)) in ranges.iter().enumerate() {
            let whole = OrderPart {
                operation: Operation::Write,
                order: index,
                member: *member,
                offset_bytes: range.start,
                start: 0,
                length: (range.end - range.start) as usize,
            };
            whole.cut(&mut parts);
        }
        let mut answers = vec![Ok(()); ranges.len()];
        self.run(
            &parts,
            |part, pool| {
                let mut buffer = take(pool);
                buffer.bytes_mut()[..part.length].fill(0);
                part.request(buffer)
            },
            |part, done| {
                if let Err(errno) = done {
                    answers[part.order] = Err(errno);
                }
            },
        );
        answers
    }

    /// Begins to read a stretch of a member, which goes on while the caller does something else.
    pub(crate) fn begin_read(&mut self, order: ReadOrder) -> AheadId {
        let id = self.ahead.read(order);
        self.submit_ahead();
        id
    }

    /// Begins to write whole blocks to a member. Nothing orders them with others: whoever reads
    /// them, or flushes the member, fetches this before.
    ///
    /// # Panics
    /// If these are not whole blocks.
    pub(crate) fn begin_write(
        &mut self,
        member: usize,
        offset_bytes: u64,
        bytes: Vec<u8>,
    ) -> AheadId {
        let id = self.ahead.write(member, offset_bytes, bytes);
        self.submit_ahead();
        id
    }

    /// Waits for what was begun, and returns what was read; nothing of a write.
    ///
    /// # Errors
    /// The same as of [`MemberIo::read`].
    pub(crate) fn fetch(&mut self, id: AheadId) -> Result<Vec<u8>, IoFault> {
        if self.ahead.is_under_way(id) && !self.is_broken {
            let driven = self.drive(&[], Some(id), &mut |_, _| Request::flush(0), &mut |_, _| ());
            self.is_broken = driven.is_err();
            self.failure = driven.err();
        }
        self.ahead.fetch(id)
    }

    /// Lets go of a read that was begun and is not wanted any more.
    pub(crate) fn forget(&mut self, id: AheadId) {
        self.ahead.forget(id);
    }

    fn submit_ahead(&mut self) {
        let now = self.clock.now();
        if let Some(engine) = &mut self.engine {
            self.ahead.submit(engine.as_mut(), now);
        }
    }

    /// Makes durable what was written to a member.
    ///
    /// # Errors
    /// The same as of [`MemberIo::read`].
    pub fn flush(&mut self, member: usize) -> Result<(), IoFault> {
        self.flush_all(&[member]).swap_remove(0)
    }

    /// Flushes several members at once.
    pub fn flush_all(&mut self, members: &[usize]) -> Vec<Result<(), IoFault>> {
        let mut answers = vec![Ok(()); members.len()];
        let part = |(order, member): (usize, &usize)| OrderPart {
            operation: Operation::Flush,
            order,
            member: *member,
            offset_bytes: 0,
            start: 0,
            length: 0,
        };
        let parts: Vec<OrderPart> = members.iter().enumerate().map(part).collect();
        self.run(
            &parts,
            |part, _| Request::flush(part.member),
            |part, done| answers[part.order] = done.map(drop),
        );
        answers
    }

    /// Bytes read from a member so far.
    pub fn bytes_read(&self, member: usize) -> u64 {
        self.bytes_read[member]
    }

    /// Checks that errors came from the answers of members, and not from a broken engine or a
    /// member that did not answer.
    ///
    /// # Errors
    /// [`RecordError::Engine`] and [`RecordError::Silent`], once.
    pub fn check_engine(&mut self) -> Result<(), RecordError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Carries out all parts, as many at a time as possible, and hands over the outcome of each.
    fn run(
        &mut self,
        parts: &[OrderPart],
        mut begin: impl FnMut(&OrderPart, &mut BufferPool) -> Request,
        mut end: impl FnMut(&OrderPart, Result<&[u8], IoFault>),
    ) {
        let mut is_complete = vec![false; parts.len()];
        if !self.is_broken {
            let driven = self.drive(parts, None, &mut begin, &mut |index, done| {
                is_complete[index] = true;
                end(&parts[index], done);
            });
            self.is_broken = driven.is_err();
            self.failure = driven.err();
        }
        for (part, is_complete) in parts.iter().zip(is_complete) {
            if !is_complete {
                end(part, Err(IO_ERROR));
            }
        }
    }

    fn drive(
        &mut self,
        parts: &[OrderPart],
        awaited: Option<AheadId>,
        begin: &mut dyn FnMut(&OrderPart, &mut BufferPool) -> Request,
        end: &mut PartEnd<'_>,
    ) -> Result<(), RecordError> {
        let mut under_way: BTreeMap<usize, Timestamp> = BTreeMap::new();
        let mut submitted = 0;
        let mut completions = Vec::new();
        let mut answered_at = self.clock.now();
        let mut is_reported = false;
        while submitted < parts.len()
            || !under_way.is_empty()
            || awaited.is_some_and(|id| self.ahead.is_under_way(id))
        {
            let patience_ns = self.patience_for(parts);
            let engine = self.engine.as_mut().expect("it is not broken");
            while submitted < parts.len() && under_way.len() < self.in_flight_max {
                let mut request = begin(&parts[submitted], &mut self.pool);
                request.token = submitted as u64;
                engine.submit(request);
                under_way.insert(submitted, self.clock.now());
                submitted += 1;
            }
            self.ahead.submit(engine.as_mut(), self.clock.now());
            let waits_ns = patience_ns.unwrap_or(WAIT_NS);
            let until = answered_at
                + if is_reported {
                    waits_ns
                } else {
                    LONG_WAIT_NS.min(waits_ns)
                };
            engine.wait(Until::CompletionOr(until), &mut completions)?;
            let now = self.clock.now();
            let waited_ns = now.since_ns(answered_at);
            if !completions.is_empty() {
                answered_at = now;
            } else if patience_ns.is_some_and(|patience_ns| waited_ns >= patience_ns) {
                return Err(self.give_up(parts, &under_way, now));
            } else if waited_ns >= LONG_WAIT_NS && !is_reported {
                is_reported = true;
                self.report_wait(parts, &under_way, now);
            }
            for completion in completions.drain(..) {
                let Some(completion) = self.ahead.take(completion) else {
                    continue;
                };
                let index = completion.request.token as usize;
                under_way.remove(&index);
                let errno = completion.error;
                let is_short = completion.bytes < parts[index].length as u64;
                let errno = errno.or(is_short.then_some(IO_ERROR));
                let buffer = match completion.request.vectors {
                    Vectors::One(vector) => Some(vector.into_buffer()),
                    Vectors::None | Vectors::Many(_) => None,
                };
                let bytes = buffer.as_ref().map_or(&[][..], Buffer::bytes);
                end(index, errno.map_or(Ok(&bytes[..parts[index].length]), Err));
                if let Some(buffer) = buffer {
                    self.pool.give(buffer);
                }
            }
        }
        Ok(())
    }

    /// Stops waiting for what is in flight. Its memory and its files stay with the kernel.
    fn give_up(
        &mut self,
        parts: &[OrderPart],
        under_way: &BTreeMap<usize, Timestamp>,
        now: Timestamp,
    ) -> RecordError {
        std::mem::forget(self.engine.take());
        let (part, begun_at) = self.oldest(parts, under_way);
        let name = &self.names[part.member];
        let words = words_of_silence(
            part.operation,
            name,
            part.offset_bytes,
            now.since_s(begun_at),
        );
        RecordError::Silent(words)
    }

    /// The request that has been waited for longest.
    fn oldest<'a>(
        &'a self,
        parts: &'a [OrderPart],
        under_way: &BTreeMap<usize, Timestamp>,
    ) -> (&'a OrderPart, Timestamp) {
        let under_way = under_way
            .iter()
            .map(|(index, begun_at)| (&parts[*index], *begun_at));
        let ahead = self.ahead.oldest().map(|one| (&one.part, one.begun_at));
        let oldest = under_way.chain(ahead).min_by_key(|(_, begun_at)| *begun_at);
        oldest.expect("nothing is waited for but requests")
    }

    fn patience_for(&self, parts: &[OrderPart]) -> Option<u64> {
        let is_read = |part: &OrderPart| part.operation == Operation::Read;
        let times = if parts.iter().all(is_read) && !self.ahead.writes() {
            READS_ARE_GIVEN
        } else {
            1
        };
        self.patience_ns.map(|patience_ns| patience_ns * times)
    }

    /// Says what is waited for, and until when.
    fn report_wait(
        &self,
        parts: &[OrderPart],
        under_way: &BTreeMap<usize, Timestamp>,
        now: Timestamp,
    ) {
        let (part, begun_at) = self.oldest(parts, under_way);
        let until = self.patience_for(parts).map_or_else(
            || "it is waited for".to_owned(),
            |patience_ns| format!("it is given up after {} s", patience_ns / 1_000_000_000),
        );
        report_long_wait(&format!(
            "{} on {} at byte {} has not returned for {:.0} s: over a bad sector a disk may take \
             minutes. {until}; the kernel log (dmesg) may tell more",
            part.operation,
            self.names[part.member],
            part.offset_bytes,
            now.since_s(begun_at),
        ));
    }
}

fn in_flight_max(members: usize) -> usize {
    (members * IN_FLIGHT_PER_MEMBER).clamp(1, IN_FLIGHT_MAX)
}

/// Takes a buffer for the next request. There are as many as requests may be in flight.
fn take(pool: &mut BufferPool) -> Buffer {
    pool.take().expect("a buffer for each request in flight")
}
