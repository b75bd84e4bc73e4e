//! The engine for NVMe commands by io_uring, past the block layer, which `--path passthrough` uses.
//! It is opened for namespaces whose block devices have passed the guard, never for files.
//!
//! The kernel neither splits nor merges these commands, and has no page cache, scheduler or
//! accounting for them. A request that is larger than a command may be is sent as several at once,
//! as the block layer would do it; the request is complete when all of them are.

mod command;
mod refusal;
mod slots;

use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::types::Fd;
use io_uring::{IoUring, cqueue, opcode, squeue};

use self::command::{CommandPart, build_command};
use self::refusal::{check_kernel, explain, refused};
use self::slots::Slots;
use super::parts::{PAGE_BYTES, PartsInFlight, first_failed, part_bytes, stretch};
use super::ring::{self, ENTRIES_MAX, Outbox, WakerPoll};
use super::transfer::EngineTransfer;
use super::{Completion, Engine, Limits, Operation, Request, Until, Vector, Vectors, Waker};
use crate::buffer::BufferPool;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, IoFault, NvmeStatus};
use crate::target::NvmeNamespace;

/// How long a drive may take for the first block, before anything else.
const FIRST_BLOCK_NS: u64 = 60_000_000_000;

type CommandRing = IoUring<squeue::Entry128, cqueue::Entry32>;

/// One io_uring with entries that are large enough for a command.
pub struct NvmeEngine {
    ring: CommandRing,
    outbox: Outbox<squeue::Entry128>,
    namespaces: Vec<Arc<NvmeNamespace>>,
    clock: Clock,
    requests: Slots<PartsInFlight>,
    commands: Slots<CommandPart>,
    /// Requests that were refused here and wait to be given back.
    refused: Vec<Completion>,
    /// When the batch that is being submitted began.
    batch_at: Option<Timestamp>,
    /// An error that `submit` met and the next `wait` reports.
    broken: Option<Error>,
    mode: &'static str,
    waker: WakerPoll,
}

impl NvmeEngine {
    /// Sets up a ring in the thread that will use it, and reads the first block of each namespace
    /// by it, which tells whether the kernel lets this process.
    ///
    /// # Errors
    /// [`Error::EngineRefused`], saying which version or right is missing.
    pub fn open(
        namespaces: Vec<Arc<NvmeNamespace>>,
        limits: Limits,
        clock: Clock,
    ) -> Result<NvmeEngine, Error> {
        // Several commands to a request, and the waker's poll.
        let entries = limits.in_flight_max.saturating_mul(4).saturating_add(1);
        let entries = entries.min(ENTRIES_MAX).next_power_of_two();
        check_kernel()?;
        let (ring, mode) = ring::build(entries)?;
        let mut engine = NvmeEngine {
            ring,
            outbox: Outbox::new(),
            namespaces,
            clock,
            requests: Slots::new(),
            commands: Slots::new(),
            refused: Vec::new(),
            batch_at: None,
            broken: None,
            mode,
            waker: WakerPoll::new()?,
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
            // An error of the drive itself comes up again where it matters.
            if let Some(IoFault::Kernel(errno)) = completion.error {
                return Err(refused(&explain(errno)));
            }
            if let Vectors::One(vector) = completion.request.vectors {
                pool.give(vector.into_buffer());
            }
        }
        Ok(())
    }

    /// Cuts a request into commands of even lengths.
    fn start(&mut self, transfer: EngineTransfer) -> Result<(), Error> {
        let target = transfer.request.target;
        let length = transfer.left_bytes();
        let most = self.namespaces[target].command_bytes_max();
        let step = part_bytes(length, most, self.namespaces[target].block_bytes());
        let is_flush = transfer.request.operation == Operation::Flush;
        let count = if is_flush { 1 } else { length.div_ceil(step) };
        let request = self.requests.add(PartsInFlight {
            transfer,
            commands_left: count as u32,
            failed: None,
        });
        // All of them are handed over, whatever happens to one, because without the last the
        // request would never be complete.
        let mut handed_over = Ok(());
        for part in 0..count {
            let start = part * step;
            let vectors = &self.requests.get(request).transfer.request.vectors;
            let part = CommandPart {
                request,
                start,
                length: step.min(length - start),
                iovecs: stretch(vectors, start, step.min(length - start)),
            };
            let command = self.commands.add(part);
            handed_over = handed_over.and(self.push(command));
        }
        handed_over
    }

    fn push(&mut self, command: usize) -> Result<(), Error> {
        let part = self.commands.get(command);
        let transfer = &self.requests.get(part.request).transfer;
        let namespace = &self.namespaces[transfer.request.target];
        let (kind, bytes) = build_command(&transfer.request, part, namespace);
        let entry = opcode::UringCmd80::new(Fd(namespace.commands().as_raw_fd()), kind)
            .cmd(bytes.bytes())
            .build()
            .user_data(command as u64);
        self.send(entry)
    }

    fn send(&mut self, entry: squeue::Entry128) -> Result<(), Error> {
        // SAFETY: the memory of a command belongs to a request in `requests` and to a part in
        // `commands`, the descriptor to `namespaces` (or the waker's to `waker`). All stay until
        // the completion has been reaped.
        unsafe { self.outbox.send(entry, &mut self.ring) }
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let mut now: Option<Timestamp> = None;
        while let Some(event) = self.next_event() {
            if self.waker.takes(event.user_data()) {
                continue;
            }
            let command = event.user_data() as usize;
            let error = match event.result() {
                0 => None,
                again if [libc::EAGAIN, libc::EINTR].contains(&-again) => {
                    self.push(command)?;
                    continue;
                }
                errno if errno < 0 => Some(IoFault::Kernel(-errno)),
                status => Some(IoFault::Nvme(NvmeStatus(status as u16))),
            };
            let part = self.commands.take(command);
            let flight = self.requests.get_mut(part.request);
            flight.commands_left -= 1;
            let failed = error.map(|errno| (part.start, errno));
            flight.failed = first_failed(flight.failed, failed);
            if flight.commands_left == 0 {
                // One reading of the clock serves all requests that were found complete together.
                let now = *now.get_or_insert_with(|| self.clock.now());
                completions.push(self.requests.take(part.request).complete(now));
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<cqueue::Entry32> {
        self.ring.completion().next()
    }

    /// The reason why a request does not fit this namespace.
    fn unfit(&self, request: &Request) -> Option<IoFault> {
        let namespace = &self.namespaces[request.target];
        let writes = request.operation != Operation::Read;
        if writes && !namespace.may_write() {
            return Some(IoFault::Kernel(libc::EBADF));
        }
        let (offset, length) = (request.offset_bytes, request.vectors.len_bytes());
        let is_whole = |bytes: u64| bytes.is_multiple_of(namespace.block_bytes());
        let is_flush = request.operation == Operation::Flush;
        let fits = is_flush || (length > 0 && is_whole(offset) && is_whole(length));
        (!fits).then_some(IoFault::Kernel(libc::EINVAL))
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
        // Requests submitted together are handed over together, so one reading of the clock is
        // enough.
        let now = *self.batch_at.get_or_insert_with(|| self.clock.now());
        let unfit = self.unfit(&request);
        let transfer = EngineTransfer::new(request, now);
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
        if let Some(poll) = self.waker.arm() {
            self.send(poll.into())?;
        }
        self.outbox.hand_over(&mut self.ring)?;
        ring::enter(&self.ring, until, &self.clock)?;
        self.reap(completions)
    }

    fn waker(&self) -> Waker {
        self.waker.waker()
    }
}

impl Drop for NvmeEngine {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.requests.in_use() > 0 {
            let far = Until::CompletionOr(self.clock.now() + 1_000_000_000);
            if self.wait(far, &mut completions).is_err() {
                // The kernel may still write into the buffers: they must never be used again.
                self.requests.leak();
                self.commands.leak();
                // Nor may the claim end while the drive may still be written.
                std::mem::forget(std::mem::take(&mut self.namespaces));
                return;
            }
            completions.clear();
        }
    }
}
