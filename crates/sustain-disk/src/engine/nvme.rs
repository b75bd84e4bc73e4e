//! NVMe commands by io_uring, past the block layer: what `--path passthrough` drives. Opened over
//! namespaces whose block devices passed the guard, never over files.
//!
//! The kernel neither splits nor merges these commands, and has no page cache, scheduler or
//! accounting for them. What is larger than a command may be goes as several at once, as the block
//! layer would send it; the request is complete when all are.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::types::Fd;
use io_uring::{IoUring, Probe, cqueue, opcode, squeue};

use super::ring::{self, ENTRIES_MAX, WAKER_TOKEN};
use super::transfer::Transfer;
use super::waker;
use super::{Completion, Engine, Limits, Operation, Request, Until, Vector, Vectors, Waker};
use crate::buffer::BufferPool;
use crate::clock::{Clock, Timestamp};
use crate::error::{Errno, Error};
use crate::nvme::{Command, Memory, URING_COMMAND, URING_COMMAND_VECTORED};
use crate::target::Passthrough;

/// Parts of a request are multiples of a page, so that none begins within one.
const PAGE_BYTES: u64 = 4096;
/// How long a drive may take for the first block, before anything else.
const FIRST_BLOCK_NS: u64 = 60_000_000_000;

type Ring = IoUring<squeue::Entry128, cqueue::Entry32>;

/// One io_uring with entries that have room for a command.
pub struct NvmeEngine {
    ring: Ring,
    namespaces: Vec<Arc<Passthrough>>,
    clock: Clock,
    requests: Slots<Flight>,
    commands: Slots<Part>,
    /// Requests that were refused here and wait to be given back.
    refused: Vec<Completion>,
    /// When the batch that is being submitted began.
    batch_at: Option<Timestamp>,
    /// An error that `submit` met and the next `wait` reports.
    broken: Option<Error>,
    /// A command could not be handed over: its request will never be complete.
    has_lost: bool,
    mode: &'static str,
    waker_counter: Arc<OwnedFd>,
    waker_armed: bool,
}

/// A request on its way.
struct Flight {
    transfer: Transfer,
    commands_left: u32,
    /// The first part that failed: where it begins in the request, and why.
    failed: Option<(u64, Errno)>,
}

/// One command of a request.
struct Part {
    request: usize,
    start: u64,
    length: u64,
    /// Addresses for the kernel, if the memory is not one stretch; they must stay where they are.
    iovecs: Vec<libc::iovec>,
}

/// Values by numbers that the kernel carries for us.
struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slots<T> {
    fn new() -> Slots<T> {
        Slots {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    fn add(&mut self, value: T) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() - 1
        });
        self.values[slot] = Some(value);
        slot
    }

    fn get(&mut self, slot: usize) -> &mut T {
        self.values[slot].as_mut().expect("a slot in use")
    }

    fn take(&mut self, slot: usize) -> T {
        self.free.push(slot);
        self.values[slot].take().expect("a slot in use")
    }

    fn in_use(&self) -> usize {
        self.values.len() - self.free.len()
    }
}

impl NvmeEngine {
    /// Sets up a ring in the thread that will use it, and reads the first block of each namespace
    /// by it, which tells whether the kernel lets this process.
    ///
    /// # Errors
    /// [`Error::EngineRefused`], saying which version or right is missing.
    pub fn open(
        namespaces: Vec<Arc<Passthrough>>,
        limits: Limits,
        clock: Clock,
    ) -> Result<NvmeEngine, Error> {
        // Several commands to a request, and the waker's poll.
        let entries = limits.in_flight_max.saturating_mul(4).saturating_add(1);
        let entries = entries.min(ENTRIES_MAX).next_power_of_two();
        check_kernel()?;
        let (ring, mode) = ring::build(entries)?;
        let waker_counter = waker::counter().map_err(|error| ring::refused(&error))?;
        let mut engine = NvmeEngine {
            ring,
            namespaces,
            clock,
            requests: Slots::new(),
            commands: Slots::new(),
            refused: Vec::new(),
            batch_at: None,
            broken: None,
            has_lost: false,
            mode,
            waker_counter,
            waker_armed: false,
        };
        engine.read_first_blocks()?;
        Ok(engine)
    }

    fn read_first_blocks(&mut self) -> Result<(), Error> {
        let blocks = self.namespaces.iter().map(|one| one.block_bytes());
        let largest = blocks.max().unwrap_or(PAGE_BYTES) as usize;
        let mut pool = BufferPool::new(1, largest)?;
        for target in 0..self.namespaces.len() {
            let buffer = pool.take().expect("it came back from the target before");
            let length = self.namespaces[target].block_bytes() as usize;
            self.submit(Request {
                operation: Operation::Read,
                vectors: Vectors::One(Vector::new(buffer, 0, length)),
                ..Request::flush(target)
            });
            let deadline = self.clock.now() + FIRST_BLOCK_NS;
            let mut completions = Vec::new();
            while completions.is_empty() && self.clock.now() < deadline {
                self.wait(Until::CompletionOr(deadline), &mut completions)?;
            }
            let Some(completion) = completions.pop() else {
                return Err(refused(
                    "the drive does not answer: look at the kernel log (dmesg)",
                ));
            };
            // What the drive itself refuses comes up again where it matters.
            if let Some(errno) = completion.error.and_then(Errno::of_kernel) {
                return Err(refused(&explain(errno)));
            }
            if let Vectors::One(vector) = completion.request.vectors {
                pool.give(vector.into_buffer());
            }
        }
        Ok(())
    }

    /// Cuts a request into commands of even lengths.
    fn start(&mut self, transfer: Transfer) -> Result<(), Error> {
        let target = transfer.request.target;
        let length = transfer.left_bytes();
        let most = self.namespaces[target].command_bytes_max();
        let step = part_bytes(length, most);
        let is_flush = transfer.request.operation == Operation::Flush;
        let count = if is_flush { 1 } else { length.div_ceil(step) };
        let request = self.requests.add(Flight {
            transfer,
            commands_left: count as u32,
            failed: None,
        });
        for part in 0..count {
            let start = part * step;
            let vectors = &self.requests.get(request).transfer.request.vectors;
            let part = Part {
                request,
                start,
                length: step.min(length - start),
                iovecs: stretch(vectors, start, step.min(length - start)),
            };
            let command = self.commands.add(part);
            self.push(command)?;
        }
        Ok(())
    }

    fn push(&mut self, command: usize) -> Result<(), Error> {
        let part = self.commands.values[command]
            .as_ref()
            .expect("a slot in use");
        let transfer = &self.requests.values[part.request]
            .as_ref()
            .expect("a slot in use")
            .transfer;
        let namespace = &self.namespaces[transfer.request.target];
        let (kind, bytes) = build_command(&transfer.request, part, namespace);
        let entry = opcode::UringCmd80::new(Fd(namespace.commands().as_raw_fd()), kind)
            .cmd(bytes.bytes())
            .build()
            .user_data(command as u64);
        self.push_entry(&entry)
    }

    fn push_entry(&mut self, entry: &squeue::Entry128) -> Result<(), Error> {
        loop {
            // SAFETY: the memory of a command belongs to a request in `requests` and to a part in
            // `commands`, the descriptor to `namespaces` (or the waker's to `waker_counter`). All
            // stay until the completion has been reaped.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            if let Err(error) = self.ring.submit() {
                self.has_lost = true;
                return Err(ring::failed(error));
            }
        }
    }

    fn arm_waker(&mut self) -> Result<(), Error> {
        if self.waker_armed {
            return Ok(());
        }
        let poll = opcode::PollAdd::new(Fd(self.waker_counter.as_raw_fd()), libc::POLLIN as u32)
            .build()
            .user_data(WAKER_TOKEN);
        self.push_entry(&poll.into())?;
        self.waker_armed = true;
        Ok(())
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let mut now: Option<Timestamp> = None;
        while let Some(event) = self.next_event() {
            if event.user_data() == WAKER_TOKEN {
                waker::reset(&self.waker_counter);
                self.waker_armed = false;
                continue;
            }
            let command = event.user_data() as usize;
            let error = match event.result() {
                0 => None,
                again if [libc::EAGAIN, libc::EINTR].contains(&-again) => {
                    self.push(command)?;
                    continue;
                }
                errno if errno < 0 => Some(Errno(-errno)),
                status => Some(Errno::of_nvme(status as u16)),
            };
            let part = self.commands.take(command);
            let flight = self.requests.get(part.request);
            flight.commands_left -= 1;
            let failed = error.map(|errno| (part.start, errno));
            flight.failed = first_failed(flight.failed, failed);
            if flight.commands_left == 0 {
                // One reading of the clock serves all that was found complete together.
                let now = *now.get_or_insert_with(|| self.clock.now());
                completions.push(self.requests.take(part.request).complete(now));
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<cqueue::Entry32> {
        self.ring.completion().next()
    }

    /// Why a request is not for this namespace.
    fn unfit(&self, request: &Request) -> Option<Errno> {
        let namespace = &self.namespaces[request.target];
        let writes = request.operation != Operation::Read;
        if writes && !namespace.may_write() {
            return Some(Errno(libc::EBADF));
        }
        let (offset, length) = (request.offset_bytes, request.vectors.len_bytes());
        let is_whole = |bytes: u64| bytes.is_multiple_of(namespace.block_bytes());
        let is_flush = request.operation == Operation::Flush;
        let fits = is_flush || (length > 0 && is_whole(offset) && is_whole(length));
        (!fits).then_some(Errno(libc::EINVAL))
    }
}

impl Flight {
    fn complete(mut self, now: Timestamp) -> Completion {
        let all = self.transfer.left_bytes();
        // What lies behind a part that failed may have been moved, but nobody can go on there.
        self.transfer.done_bytes = self.failed.map_or(all, |(start, _)| start);
        self.transfer
            .complete(now, self.failed.map(|(_, errno)| errno))
    }
}

fn first_failed(one: Option<(u64, Errno)>, other: Option<(u64, Errno)>) -> Option<(u64, Errno)> {
    [one, other]
        .into_iter()
        .flatten()
        .min_by_key(|(start, _)| *start)
}

/// Bytes of each part but the last: as few parts as may be, all of about one length.
fn part_bytes(length: u64, most: u64) -> u64 {
    let parts = length.div_ceil(most).max(1);
    let even = length.div_ceil(parts).next_multiple_of(PAGE_BYTES);
    if even <= most { even.max(1) } else { most }
}

/// The memory of a part, in the pieces in which the request has it.
fn stretch(vectors: &Vectors, start: u64, length: u64) -> Vec<libc::iovec> {
    let (mut skip, mut left) = (start as usize, length as usize);
    let mut iovecs = Vec::new();
    for vector in vectors.as_slice() {
        if skip >= vector.len() {
            skip -= vector.len();
            continue;
        }
        let piece = (vector.len() - skip).min(left);
        if piece == 0 {
            break;
        }
        iovecs.push(libc::iovec {
            // SAFETY: skip < len, so the address lies within the vector.
            iov_base: unsafe { vector.address().add(skip) }.cast(),
            iov_len: piece,
        });
        left -= piece;
        skip = 0;
    }
    iovecs
}

fn build_command(request: &Request, part: &Part, namespace: &Passthrough) -> (u32, Command) {
    if request.operation == Operation::Flush {
        return (URING_COMMAND, Command::flush(namespace.namespace()));
    }
    let (kind, memory) = match part.iovecs.as_slice() {
        [one] => {
            let memory = Memory {
                address: one.iov_base as u64,
                length: one.iov_len as u32,
            };
            (URING_COMMAND, memory)
        }
        several => {
            let memory = Memory {
                address: several.as_ptr() as u64,
                length: several.len() as u32,
            };
            (URING_COMMAND_VECTORED, memory)
        }
    };
    let first = (request.offset_bytes + part.start) / namespace.block_bytes();
    let blocks = part.length / namespace.block_bytes();
    let id = namespace.namespace();
    let command = if request.operation == Operation::Read {
        Command::read(id, first, blocks, memory)
    } else {
        Command::write(id, first, blocks, request.durable, memory)
    };
    (kind, command)
}

/// Entries with room for a command came with the commands themselves.
fn check_kernel() -> Result<(), Error> {
    let plain = IoUring::new(1).map_err(|error| ring::refused(&error))?;
    let mut probe = Probe::new();
    let known = plain.submitter().register_probe(&mut probe);
    if known.is_ok() && probe.is_supported(opcode::UringCmd80::CODE) {
        return Ok(());
    }
    Err(refused(
        "this kernel passes no commands through (that came with 5.19); use --path direct",
    ))
}

fn refused(why: &str) -> Error {
    Error::EngineRefused {
        engine: "io_uring",
        why: format!("passthrough: {why}"),
    }
}

/// Why the kernel did not pass the first command on.
fn explain(errno: i32) -> String {
    match errno {
        libc::EACCES | libc::EPERM => "the kernel takes NVMe commands only from a process that \
                                       has CAP_SYS_ADMIN: run as root, or use --path direct"
            .to_owned(),
        libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL => {
            "this kernel's NVMe driver takes no commands by io_uring (that came with 5.19); use \
             --path direct"
                .to_owned()
        }
        _ => format!("{}; use --path direct", Errno(errno)),
    }
}

impl Engine for NvmeEngine {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn describe(&self) -> String {
        let most = self.namespaces.iter().map(|one| one.command_bytes_max());
        format!(
            "NVMe commands, {}, at most {} each, buffers not registered",
            self.mode,
            crate::units::Size(most.min().unwrap_or(0))
        )
    }

    fn submit(&mut self, request: Request) {
        // What is submitted together is handed over together: one reading of the clock will do.
        let now = *self.batch_at.get_or_insert_with(|| self.clock.now());
        let unfit = self.unfit(&request);
        let transfer = Transfer::new(request, now);
        if let Some(errno) = unfit {
            self.refused.push(transfer.complete(now, Some(errno)));
        } else if let Err(error) = self.start(transfer) {
            self.broken.get_or_insert(error);
        }
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        self.batch_at = None;
        let until = if self.refused.is_empty() {
            until
        } else {
            Until::Now
        };
        completions.append(&mut self.refused);
        self.arm_waker()?;
        ring::enter(&self.ring, until, &self.clock)?;
        self.reap(completions)
    }

    fn waker(&self) -> Waker {
        Waker::of_eventfd(&self.waker_counter)
    }
}

impl Drop for NvmeEngine {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.requests.in_use() > 0 {
            let far = Until::CompletionOr(self.clock.now() + 1_000_000_000);
            if self.has_lost || self.wait(far, &mut completions).is_err() {
                // The kernel may still write into the buffers: they must never be used again.
                std::mem::forget(std::mem::take(&mut self.requests.values));
                std::mem::forget(std::mem::take(&mut self.commands.values));
                // Nor may the claim end while the drive may still be written.
                std::mem::forget(std::mem::take(&mut self.namespaces));
                return;
            }
            completions.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_few_and_as_even_as_may_be() {
        let kib = |count: u64| count << 10;
        assert_eq!(part_bytes(kib(4), kib(504)), kib(4));
        assert_eq!(part_bytes(kib(1024), kib(504)), kib(344));
        assert_eq!(part_bytes(kib(1008), kib(504)), kib(504));
        assert_eq!(
            part_bytes(512, 512),
            512,
            "a drive that takes a block at a time"
        );
        assert_eq!(part_bytes(kib(8), 512), 512);
    }

    #[test]
    fn a_part_takes_its_memory_from_all_pieces_of_the_request() {
        let mut pool = BufferPool::new(3, 8192).unwrap();
        let mut vector = |length| Vector::new(pool.take().unwrap(), 0, length);
        let vectors = Vectors::Many(vec![vector(4096), vector(512), vector(8192)]);
        let lengths = |start, length| -> Vec<usize> {
            let iovecs = stretch(&vectors, start, length);
            iovecs.iter().map(|iovec| iovec.iov_len).collect()
        };
        assert_eq!(lengths(0, 12800), [4096, 512, 8192]);
        assert_eq!(lengths(0, 4096), [4096]);
        assert_eq!(lengths(3584, 2048), [512, 512, 1024]);
        assert_eq!(lengths(4608, 8192), [8192]);
    }

    #[test]
    fn of_several_parts_the_first_that_failed_counts() {
        let (late, early) = ((8192, Errno(libc::EIO)), (4096, Errno::of_nvme(0x281)));
        assert_eq!(first_failed(Some(late), Some(early)), Some(early));
        assert_eq!(first_failed(Some(early), Some(late)), Some(early));
        assert_eq!(first_failed(None, Some(late)), Some(late));
        assert_eq!(first_failed(None, None), None);
    }

    #[test]
    fn a_refusal_names_the_right_or_version_that_is_missing() {
        assert!(explain(libc::EACCES).contains("CAP_SYS_ADMIN"));
        assert!(explain(libc::EOPNOTSUPP).contains("5.19"));
        assert!(explain(libc::EIO).contains("--path direct"));
    }
}
