//! The engine for SCSI commands by SG_IO, past the block layer's page cache, scheduler and
//! splitting, which `--path passthrough` uses for SATA and SCSI disks. It is opened for block
//! devices that have passed the guard, never for files.
//!
//! SG_IO waits for its command, and nothing else on a block device's descriptor takes one. So
//! threads wait, as those of the engine `threads` do. A request that is larger than a command may
//! be is sent as several at once, as the block layer would do it: its parts go to the threads one
//! after the other, so that the disk gets them in the order of their blocks. The request is
//! complete when all of them are.

use std::sync::{Arc, Mutex, PoisonError};

use super::crew::Crew;
use super::parts::{PartsInFlight, cut, first_failed, part_bytes, stretch};
use super::transfer::EngineTransfer;
use super::{Completion, Engine, Limits, Operation, Request, Until, Waker};
use crate::clock::Clock;
use crate::error::{Error, IoFault};
use crate::target::ScsiDisk;

/// Commands of one request that are sent at once, if it has as many.
const PARTS_AT_ONCE: u32 = 4;
/// Commands that a SATA disk takes at once; more threads would only wait in the kernel, unless as
/// many requests are to be in flight.
const QUEUE_COMMANDS: u32 = 32;

/// Threads that send commands and wait for them.
#[derive(Debug)]
pub struct ScsiEngine {
    clock: Clock,
    disks: Vec<Arc<ScsiDisk>>,
    threads: u32,
    crew: Crew<ScsiPart>,
    /// Requests that were refused here and wait to be given back.
    refused: Vec<Completion>,
}

/// A request of which parts are with threads. Whoever is done with its last part takes it out.
type SharedFlight = Arc<Mutex<Option<PartsInFlight>>>;

/// One command of a request.
#[derive(Debug)]
struct ScsiPart {
    flight: SharedFlight,
    operation: Operation,
    is_durable: bool,
    /// Where it begins in the request.
    start: u64,
    /// Where it begins on the disk.
    offset_bytes: u64,
    /// Addresses of its memory.
    iovecs: Vec<libc::iovec>,
}

// SAFETY: the addresses in `iovecs` point into buffers of the request in `flight`. That one stays
// there, whoever has this part, until the last of its parts is done with them.
unsafe impl Send for ScsiPart {}

impl ScsiEngine {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`Error::EngineRefused`] if the system allows no more threads.
    pub fn open(
        disks: Vec<Arc<ScsiDisk>>,
        limits: Limits,
        clock: Clock,
    ) -> Result<ScsiEngine, Error> {
        let threads = threads_for(limits.depth);
        let mut crew = Crew::new(clock.clone());
        for disk in &disks {
            let (disk, clock) = (Arc::clone(disk), clock.clone());
            crew.add_target(threads, move |part: ScsiPart| part.run(&disk, &clock))?;
        }
        Ok(ScsiEngine {
            clock,
            disks,
            threads,
            crew,
            refused: Vec::new(),
        })
    }

    /// Cuts a request into commands of even lengths.
    fn start(&mut self, transfer: EngineTransfer) {
        let request = &transfer.request;
        let (target, operation) = (request.target, request.operation);
        let (first, is_durable) = (request.offset_bytes, request.durable);
        let length = transfer.left_bytes();
        let disk = &self.disks[target];
        let step = part_bytes(length, disk.command_bytes_max(), disk.block_bytes());
        let count = match operation {
            Operation::Flush => 1,
            Operation::Read | Operation::Write => length.div_ceil(step),
        };
        let part = |flight: &SharedFlight, number: u64, iovecs| ScsiPart {
            flight: Arc::clone(flight),
            operation,
            is_durable,
            start: number * step,
            offset_bytes: first + number * step,
            iovecs,
        };
        // The addresses are taken before any thread may complete the request.
        let memory: Vec<Vec<libc::iovec>> = (0..count)
            .map(|number| number * step)
            .map(|start| stretch(&request.vectors, start, step.min(length - start)))
            .collect();
        let flight = Arc::new(Mutex::new(Some(PartsInFlight {
            transfer,
            commands_left: count as u32,
            failed: None,
        })));
        for (number, iovecs) in (0..).zip(memory) {
            self.crew.give(target, part(&flight, number, iovecs));
        }
    }

    /// The reason why a request does not fit this disk.
    fn unfit(&self, request: &Request) -> Option<IoFault> {
        let disk = &self.disks[request.target];
        if request.operation != Operation::Read && !disk.may_write() {
            return Some(IoFault::Kernel(libc::EBADF));
        }
        let (offset, length) = (request.offset_bytes, request.vectors.len_bytes());
        let is_whole = |bytes: u64| bytes.is_multiple_of(disk.block_bytes());
        let is_flush = request.operation == Operation::Flush;
        let fits = is_flush || (length > 0 && is_whole(offset) && is_whole(length));
        (!fits).then_some(IoFault::Kernel(libc::EINVAL))
    }
}

/// The number of threads of a disk.
fn threads_for(depth: u32) -> u32 {
    depth
        .saturating_mul(PARTS_AT_ONCE)
        .min(QUEUE_COMMANDS)
        .max(depth)
}

impl ScsiPart {
    /// Sends the command and waits for it. Whoever does the last part of a request completes it.
    fn run(self, disk: &ScsiDisk, clock: &Clock) -> Option<Completion> {
        let done = match self.send(disk, 0, &self.iovecs) {
            Err(IoFault::Kernel(libc::EINVAL)) if disk.takes_as_scattered(self.length()) => {
                self.send_in_pieces(disk)
            }
            other => other,
        };
        let mut flight = self.take_if_last(done.err())?;
        let is_written = self.operation == Operation::Write && flight.failed.is_none();
        if is_written && self.is_durable && disk.flushes_after_durable() {
            // What of it is durable without the flush, nobody knows.
            flight.failed = disk.flush().err().map(|fault| (0, fault));
        }
        Some(flight.complete(clock.now()))
    }

    fn length(&self) -> u64 {
        self.iovecs.iter().map(|iovec| iovec.iov_len as u64).sum()
    }

    /// Sends a command for memory of this part, from `start` on in it.
    fn send(&self, disk: &ScsiDisk, start: u64, iovecs: &[libc::iovec]) -> Result<(), IoFault> {
        let offset_bytes = self.offset_bytes + start;
        match self.operation {
            Operation::Flush => disk.flush(),
            // SAFETY: the request, which owns the memory, stays in `flight` until this part has
            // been counted, after this. No two parts have the same memory.
            Operation::Read => unsafe { disk.read(offset_bytes, iovecs) },
            // SAFETY: as above; the kernel only reads.
            Operation::Write => unsafe { disk.write(offset_bytes, iovecs, self.is_durable) },
        }
    }

    /// The same in commands for which any memory is good, one after the other.
    fn send_in_pieces(&self, disk: &ScsiDisk) -> Result<(), IoFault> {
        let length = self.length();
        let step = part_bytes(length, disk.command_bytes_max(), disk.block_bytes());
        (0..length.div_ceil(step)).try_for_each(|number| {
            let start = number * step;
            let pieces = self.iovecs.iter().copied();
            self.send(disk, start, &cut(pieces, start, step.min(length - start)))
        })
    }

    fn take_if_last(&self, fault: Option<IoFault>) -> Option<PartsInFlight> {
        let mut shared = self.flight.lock().unwrap_or_else(PoisonError::into_inner);
        let flight = shared
            .as_mut()
            .expect("it is there until its last part is done");
        flight.failed = first_failed(flight.failed, fault.map(|fault| (self.start, fault)));
        flight.commands_left -= 1;
        if flight.commands_left == 0 {
            shared.take()
        } else {
            None
        }
    }
}

impl Engine for ScsiEngine {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn describe(&self) -> String {
        let most = self.disks.iter().map(|disk| disk.command_bytes_max());
        format!(
            "SCSI commands (SG_IO), at most {} each, by {} blocking threads per target",
            crate::units::Size(most.min().unwrap_or(0)),
            self.threads
        )
    }

    fn submit(&mut self, request: Request) {
        let unfit = self.unfit(&request);
        let now = self.clock.now();
        let transfer = EngineTransfer::new(request, now);
        match unfit {
            Some(fault) => self.refused.push(transfer.complete(now, Some(fault))),
            None => self.start(transfer),
        }
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let until = if self.refused.is_empty() {
            until
        } else {
            Until::Now
        };
        completions.append(&mut self.refused);
        self.crew.wait(until, completions);
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.crew.waker()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BufferPool;
    use crate::engine::{Vector, Vectors};
    use crate::target::ScsiFacts;

    const FACTS: ScsiFacts = ScsiFacts {
        command_bytes_max: 64 << 10,
        scattered_bytes_max: 32 << 10,
        block_bytes: 512,
        is_cache_volatile: true,
        can_force: false,
    };

    /// Over files, to which the kernel takes no commands.
    fn engine(facts: ScsiFacts, may_write: bool) -> ScsiEngine {
        let limits = Limits {
            depth: 2,
            in_flight_max: 2,
        };
        let disk = Arc::new(ScsiDisk::over_file(facts, may_write));
        ScsiEngine::open(vec![disk], limits, Clock::Real).unwrap()
    }

    fn request(operation: Operation, offset_bytes: u64, length: usize) -> Request {
        let mut pool = BufferPool::new(1, 1 << 20).unwrap();
        Request {
            operation,
            offset_bytes,
            vectors: Vectors::One(Vector::new(pool.take().unwrap(), 0, length)),
            durable: true,
            ..Request::flush(0)
        }
    }

    fn one(engine: &mut ScsiEngine, request: Request) -> Completion {
        engine.submit(request);
        let mut completions = Vec::new();
        while completions.is_empty() {
            let until = Until::CompletionOr(Clock::Real.now() + 60_000_000_000);
            engine.wait(until, &mut completions).unwrap();
        }
        engine.wait(Until::Now, &mut completions).unwrap();
        assert_eq!(completions.len(), 1, "each request completes once");
        completions.remove(0)
    }

    #[test]
    fn a_request_of_many_commands_that_fail_completes_once_with_its_memory() {
        let mut engine = engine(FACTS, true);
        for operation in [Operation::Read, Operation::Write] {
            let completion = one(&mut engine, request(operation, 4096, 1 << 20));
            assert_eq!(completion.bytes, 0);
            let errno = completion.error.and_then(IoFault::of_kernel);
            assert_eq!(errno, Some(libc::ENOTTY));
            assert_eq!(completion.request.vectors.len_bytes(), 1 << 20);
        }
        let flush = one(&mut engine, Request::flush(0));
        assert!(flush.error.is_some());
    }

    #[test]
    fn what_does_not_fit_the_disk_is_refused_without_a_command() {
        let mut reading = engine(FACTS, false);
        let errno = |engine: &mut ScsiEngine, request| {
            one(engine, request).error.and_then(IoFault::of_kernel)
        };
        let write = request(Operation::Write, 0, 4096);
        assert_eq!(errno(&mut reading, write), Some(libc::EBADF));
        assert_eq!(errno(&mut reading, Request::flush(0)), Some(libc::EBADF));
        let odd = request(Operation::Read, 100, 4096);
        assert_eq!(errno(&mut reading, odd), Some(libc::EINVAL));
    }

    #[test]
    fn a_disk_without_a_volatile_cache_is_not_asked_to_flush_it() {
        let facts = ScsiFacts {
            is_cache_volatile: false,
            ..FACTS
        };
        let mut engine = engine(facts, true);
        assert_eq!(one(&mut engine, Request::flush(0)).error, None);
    }

    #[test]
    fn threads_are_enough_for_the_parts_of_requests_and_no_more_than_a_disk_takes() {
        assert_eq!(threads_for(1), 4);
        assert_eq!(threads_for(8), 32);
        assert_eq!(threads_for(20), 32);
        assert_eq!(threads_for(64), 64);
    }
}
