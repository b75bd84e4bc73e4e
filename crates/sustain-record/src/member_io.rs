//! Reads, writes and flushes of members one by one or some at a time, over the engine seam: for
//! superblocks, for opening, for single appends. Streams are moved by a driver, never by this.

use std::ops::Range;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::clock::Clock;
use sustain_disk::engine::{
    Engine, EngineChoice, Limits, Operation, Request, SharedMachine, SimulatedEngine,
    SimulatedTarget, TargetFiles, Until, Vector, Vectors, open,
};
use sustain_disk::error::{Errno, Error};
use sustain_disk::target::Target;

use crate::format::BLOCK_BYTES;

mod steps;

pub(crate) use steps::{Step, StepsEnd, StepsPatience};

/// Most of what is read here is a block. Of larger buffers the kernel would make huge pages, which take
/// milliseconds to find where the host of a virtual machine has to find them, too.
const BUFFER_BYTES: usize = 128 << 10;
const IN_FLIGHT_PER_MEMBER: usize = 4;
const IN_FLIGHT_MAX: usize = 64;
/// How long one wait lasts before the next begins; a disk may take its time.
const WAIT_NS: u64 = 3_600_000_000_000;
const IO_ERROR: Errno = Errno(rustix::io::Errno::IO.raw_os_error());

/// Blocking access to members, by their index in the list that this was opened with.
///
/// A simulated machine serves one engine at a time: nothing else may drive it while a call here
/// lasts.
pub struct MemberIo {
    engine: Box<dyn Engine>,
    clock: Clock,
    pool: BufferPool,
    in_flight_max: usize,
    bytes_read: Vec<u64>,
    /// Nothing can be done any more.
    is_broken: bool,
    failure: Option<Error>,
}

/// A stretch of a member to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOrder {
    /// Index of the member.
    pub member: usize,
    /// From the start of the member.
    pub offset_bytes: u64,
    /// How much.
    pub length_bytes: usize,
}

/// Whole blocks to be written to a member.
#[derive(Debug, Clone, Copy)]
pub struct WriteOrder<'a> {
    /// Index of the member.
    pub member: usize,
    /// From the start of the member; a multiple of a block.
    pub offset_bytes: u64,
    /// What; whole blocks.
    pub bytes: &'a [u8],
}

/// Hears of each part, by its index, what was read or why it failed.
type PartEnd<'a> = dyn FnMut(usize, Result<&[u8], Errno>) + 'a;

/// One request's worth of an order.
struct Part {
    order: usize,
    member: usize,
    offset_bytes: u64,
    /// Where it begins in the order's bytes.
    start: usize,
    length: usize,
}

impl MemberIo {
    /// Opens an engine over real members.
    ///
    /// # Errors
    /// [`Error::EngineRefused`] where the system has none, [`Error::Memory`].
    ///
    /// # Panics
    /// If a target has no file.
    pub fn open(targets: &[&Target]) -> Result<MemberIo, Error> {
        let files: TargetFiles = targets
            .iter()
            .map(|target| target.file.clone().expect("a real target has a file"))
            .collect();
        let in_flight_max = in_flight_max(targets.len());
        let limits = Limits {
            depth: IN_FLIGHT_PER_MEMBER as u32,
            in_flight_max: in_flight_max as u32,
        };
        let clock = Clock::Real;
        // Not io_uring: it keeps the files, with their claims, for a while after it is closed. Nor
        // libaio: closing it takes 30 to 50 ms (the kernel waits until no CPU looks at it any more),
        // and a recording opens this three times before its first byte.
        let engine = open(EngineChoice::Threads, files, limits, &[], &clock)?.engine;
        MemberIo::over(engine, clock, targets.len())
    }

    /// Opens an engine over disks of simulated machines.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn open_simulated(
        machines: &[SharedMachine],
        targets: &[SimulatedTarget],
        clock: &Clock,
    ) -> Result<MemberIo, Error> {
        let engine = SimulatedEngine::new(machines.to_vec(), targets.to_vec(), clock.clone());
        MemberIo::over(Box::new(engine), clock.clone(), targets.len())
    }

    pub(crate) fn over(
        engine: Box<dyn Engine>,
        clock: Clock,
        count: usize,
    ) -> Result<MemberIo, Error> {
        let in_flight_max = in_flight_max(count);
        Ok(MemberIo {
            engine,
            clock,
            pool: BufferPool::new(in_flight_max, BUFFER_BYTES)?,
            in_flight_max,
            bytes_read: vec![0; count],
            is_broken: false,
            failure: None,
        })
    }

    /// Reads a stretch of a member.
    ///
    /// # Errors
    /// What the member answers; an input/output error where it ends before, and where the engine
    /// has failed.
    pub fn read(
        &mut self,
        member: usize,
        offset_bytes: u64,
        length_bytes: usize,
    ) -> Result<Vec<u8>, Errno> {
        let order = ReadOrder {
            member,
            offset_bytes,
            length_bytes,
        };
        self.read_all(&[order]).swap_remove(0)
    }

    /// Reads several stretches, many at a time; the answers come in the order of `orders`.
    pub fn read_all(&mut self, orders: &[ReadOrder]) -> Vec<Result<Vec<u8>, Errno>> {
        let mut parts = Vec::new();
        let mut answers = Vec::with_capacity(orders.len());
        for (index, order) in orders.iter().enumerate() {
            // Direct reads take whole blocks.
            let before = (order.offset_bytes % BLOCK_BYTES as u64) as usize;
            let length = (before + order.length_bytes).next_multiple_of(BLOCK_BYTES);
            answers.push(Ok(vec![0; length]));
            cut(
                index,
                order.member,
                order.offset_bytes - before as u64,
                length,
                &mut parts,
            );
        }
        let mut bytes_read = std::mem::take(&mut self.bytes_read);
        self.run(
            &parts,
            |part, pool| request(Operation::Read, part, take(pool)),
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
    /// As [`MemberIo::read`].
    ///
    /// # Panics
    /// If these are not whole blocks.
    pub fn write(&mut self, member: usize, offset_bytes: u64, bytes: &[u8]) -> Result<(), Errno> {
        let order = WriteOrder {
            member,
            offset_bytes,
            bytes,
        };
        self.write_all(&[order]).swap_remove(0)
    }

    /// Writes to several places, many at a time; the answers come in the order of `orders`.
    ///
    /// # Panics
    /// If one does not write whole blocks.
    pub fn write_all(&mut self, orders: &[WriteOrder<'_>]) -> Vec<Result<(), Errno>> {
        let mut parts = Vec::new();
        for (index, order) in orders.iter().enumerate() {
            let is_whole = order.offset_bytes.is_multiple_of(BLOCK_BYTES as u64)
                && order.bytes.len().is_multiple_of(BLOCK_BYTES);
            assert!(is_whole, "members are written in whole blocks");
            cut(
                index,
                order.member,
                order.offset_bytes,
                order.bytes.len(),
                &mut parts,
            );
        }
        let mut answers = vec![Ok(()); orders.len()];
        self.run(
            &parts,
            |part, pool| {
                let mut buffer = take(pool);
                let bytes = &orders[part.order].bytes[part.start..][..part.length];
                buffer.bytes_mut()[..part.length].copy_from_slice(bytes);
                request(Operation::Write, part, buffer)
            },
            |part, done| {
                if let Err(errno) = done {
                    answers[part.order] = Err(errno);
                }
            },
        );
        answers
    }

    /// Writes zeros to ranges of members, given with the member; the answers come in their order.
    /// Ranges begin at whole blocks, and may end with the member within one.
    pub(crate) fn write_zeros(&mut self, ranges: &[(usize, Range<u64>)]) -> Vec<Result<(), Errno>> {
        let mut parts = Vec::new();
        for (index, (member, range)) in ranges.iter().enumerate() {
            let length = (range.end - range.start) as usize;
            cut(index, *member, range.start, length, &mut parts);
        }
        let mut answers = vec![Ok(()); ranges.len()];
        self.run(
            &parts,
            |part, pool| {
                let mut buffer = take(pool);
                buffer.bytes_mut()[..part.length].fill(0);
                request(Operation::Write, part, buffer)
            },
            |part, done| {
                if let Err(errno) = done {
                    answers[part.order] = Err(errno);
                }
            },
        );
        answers
    }

    /// Makes durable what was written to a member.
    ///
    /// # Errors
    /// As [`MemberIo::read`].
    pub fn flush(&mut self, member: usize) -> Result<(), Errno> {
        self.flush_all(&[member]).swap_remove(0)
    }

    /// Flushes several members at once.
    pub fn flush_all(&mut self, members: &[usize]) -> Vec<Result<(), Errno>> {
        let mut answers = vec![Ok(()); members.len()];
        let part = |(order, member): (usize, &usize)| Part {
            order,
            member: *member,
            offset_bytes: 0,
            start: 0,
            length: 0,
        };
        let parts: Vec<Part> = members.iter().enumerate().map(part).collect();
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

    /// Whether what failed did so because of the members, and not because the engine broke.
    ///
    /// # Errors
    /// What broke the engine, once.
    pub fn check_engine(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Carries out all parts, as many at a time as may be, and hands over what became of each.
    fn run(
        &mut self,
        parts: &[Part],
        mut begin: impl FnMut(&Part, &mut BufferPool) -> Request,
        mut end: impl FnMut(&Part, Result<&[u8], Errno>),
    ) {
        let mut is_complete = vec![false; parts.len()];
        if !self.is_broken {
            let driven = self.drive(parts, &mut begin, &mut |index, done| {
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
        parts: &[Part],
        begin: &mut dyn FnMut(&Part, &mut BufferPool) -> Request,
        end: &mut PartEnd<'_>,
    ) -> Result<(), Error> {
        let (mut submitted, mut complete) = (0, 0);
        let mut completions = Vec::new();
        while complete < parts.len() {
            while submitted < parts.len() && submitted - complete < self.in_flight_max {
                let mut request = begin(&parts[submitted], &mut self.pool);
                request.token = submitted as u64;
                self.engine.submit(request);
                submitted += 1;
            }
            let until = Until::CompletionOr(self.clock.now() + WAIT_NS);
            self.engine.wait(until, &mut completions)?;
            for completion in completions.drain(..) {
                complete += 1;
                let index = completion.request.token as usize;
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
}

fn in_flight_max(members: usize) -> usize {
    (members * IN_FLIGHT_PER_MEMBER).clamp(1, IN_FLIGHT_MAX)
}

/// Cuts an order into requests that fit the buffers.
fn cut(order: usize, member: usize, offset_bytes: u64, length: usize, parts: &mut Vec<Part>) {
    for start in (0..length).step_by(BUFFER_BYTES) {
        parts.push(Part {
            order,
            member,
            offset_bytes: offset_bytes + start as u64,
            start,
            length: BUFFER_BYTES.min(length - start),
        });
    }
}

fn request(operation: Operation, part: &Part, buffer: Buffer) -> Request {
    Request {
        operation,
        offset_bytes: part.offset_bytes,
        vectors: Vectors::One(Vector::new(buffer, 0, part.length)),
        ..Request::flush(part.member)
    }
}

/// A buffer for the next request: there are as many as requests may be in flight.
fn take(pool: &mut BufferPool) -> Buffer {
    pool.take().expect("a buffer for each request in flight")
}
