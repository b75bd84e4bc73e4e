//! POSIX AIO (`aio_write` and its family), as the C library implements asynchronous requests. The
//! factory opens it for `--engine posix-aio` and never chooses it by itself.
//!
//! The kernel has no part in it: the C library runs blocking calls in threads of its own. In glibc
//! these are at most 20 for the whole process (`aio_init` could change that before the first
//! request; this engine measures the library as it is), and requests on one descriptor are carried
//! out one after the other, whatever the depth (`__aio_enqueue_request` in aio_misc.c puts a
//! request behind others of its descriptor and hands only the first to a thread; see also
//! <https://lwn.net/Articles/417642/>). So a disk never has more than one request to work on, as
//! with the engine `sync`, and each request costs two changes of threads. That is why the disks of
//! 2009 reached 50 MB/s that way and 205 MB/s with native AIO (docs/published.md). musl gives each
//! request a thread.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::transfer::{EngineTransfer, TransferStep};
use super::waker;
use super::{Completion, Engine, Limits, Operation, TargetFiles, Until, Waker};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, IoFault};

/// `aio_suspend` waits for requests only, so a wake-up is checked for this often.
const LOOK_NS: u64 = 5_000_000;

/// Requests in the hands of the C library.
pub struct PosixAioEngine {
    files: TargetFiles,
    clock: Clock,
    slots: Vec<Option<PosixRequest>>,
    free_slots: Vec<usize>,
    /// Requests that are not handed over yet.
    staged: VecDeque<usize>,
    /// Requests that are handed over and not seen complete, oldest first.
    handed_over: Vec<usize>,
    waker_counter: Arc<OwnedFd>,
}

/// A request in progress.
struct PosixRequest {
    transfer: EngineTransfer,
    /// The control block that the C library uses until the call is complete: it must stay where it
    /// is.
    block: Box<libc::aiocb>,
    part: PosixOperation,
}

/// The last operation that the C library was asked for. It moves one stretch of memory at a time,
/// and has no durable write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PosixOperation {
    /// Moving this many bytes.
    Move(usize),
    /// Making moved data durable; or a flush of its own.
    Sync,
}

impl PosixAioEngine {
    /// An engine over open files. The C library starts its threads when it needs them.
    ///
    /// # Errors
    /// [`Error::EngineRefused`] if there is no descriptor left for the waker.
    pub fn open(files: TargetFiles, limits: Limits, clock: Clock) -> Result<PosixAioEngine, Error> {
        let count = limits.in_flight_max as usize;
        let waker_counter = waker::counter().map_err(|error| Error::EngineRefused {
            engine: "posix-aio",
            why: format!("{error}; raise the limit on open files (ulimit -n)"),
        })?;
        Ok(PosixAioEngine {
            files,
            clock,
            slots: std::iter::repeat_with(|| None).take(count).collect(),
            free_slots: (0..count).rev().collect(),
            staged: VecDeque::with_capacity(count),
            handed_over: Vec::with_capacity(count),
            waker_counter,
        })
    }

    /// Hands over the staged requests. Those for which the C library has no thread stay staged, as
    /// long as something else is in flight whose end will bring another try.
    fn hand_over(&mut self, completions: &mut Vec<Completion>) {
        while let Some(slot) = self.staged.pop_front() {
            let flight = self.slots[slot]
                .as_mut()
                .expect("a slot in use holds its request");
            let descriptor = self.files[flight.transfer.request.target].as_raw_fd();
            match flight.hand_over(descriptor) {
                Ok(()) => self.handed_over.push(slot),
                Err(errno) if errno == libc::EAGAIN && !self.handed_over.is_empty() => {
                    self.staged.push_front(slot);
                    return;
                }
                Err(errno) => self.finish(
                    slot,
                    self.clock.now(),
                    Some(IoFault::Kernel(errno)),
                    completions,
                ),
            }
        }
    }

    /// Takes completed requests; a request of which only a part is done is staged again.
    fn reap(&mut self, completions: &mut Vec<Completion>) {
        let mut now: Option<Timestamp> = None;
        for slot in std::mem::take(&mut self.handed_over) {
            let flight = self.slots[slot]
                .as_mut()
                .expect("a slot in use holds its request");
            let Some(result) = flight.result() else {
                self.handed_over.push(slot);
                continue;
            };
            // One reading of the clock serves all requests that were found complete together.
            match flight.advance(result) {
                TransferStep::Again => self.staged.push_back(slot),
                TransferStep::Done => {
                    let now = *now.get_or_insert_with(|| self.clock.now());
                    self.finish(slot, now, None, completions);
                }
                TransferStep::Failed(errno) => {
                    let now = *now.get_or_insert_with(|| self.clock.now());
                    self.finish(slot, now, Some(errno), completions);
                }
            }
        }
    }

    fn finish(
        &mut self,
        slot: usize,
        now: Timestamp,
        error: Option<IoFault>,
        completions: &mut Vec<Completion>,
    ) {
        let flight = self.slots[slot]
            .take()
            .expect("a slot in use holds its request");
        self.free_slots.push(slot);
        completions.push(flight.transfer.complete(now, error));
    }

    /// Sleeps until a request is complete, the waker calls, or so long has passed.
    fn pause(&self, left_ns: u64) -> Result<(), Error> {
        if self.handed_over.is_empty() {
            let mut counter = [PollFd::new(&self.waker_counter, PollFlags::IN)];
            return match poll(&mut counter, Some(&timespec(left_ns))) {
                Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
                Err(errno) => Err(failed(errno.into())),
            };
        }
        let blocks: Vec<*const libc::aiocb> = self
            .handed_over
            .iter()
            .filter_map(|slot| self.slots[*slot].as_ref())
            .map(|flight| std::ptr::from_ref(&*flight.block))
            .collect();
        let time = timespec(left_ns.min(LOOK_NS));
        let time = libc::timespec {
            tv_sec: time.tv_sec as libc::time_t,
            tv_nsec: time.tv_nsec as libc::c_long,
        };
        // SAFETY: the list has that many pointers to control blocks, which live in `slots` and are
        // not touched before the call returns.
        let result = unsafe {
            libc::aio_suspend(
                blocks.as_ptr(),
                blocks.len() as libc::c_int,
                &raw const time,
            )
        };
        if result == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            // Time is up; a signal came.
            Some(libc::EAGAIN | libc::EINTR) => Ok(()),
            _ => Err(failed(error)),
        }
    }
}

impl PosixRequest {
    /// Asks for the rest of the request, or for what makes it durable.
    fn hand_over(&mut self, descriptor: i32) -> Result<(), i32> {
        let transfer = &mut self.transfer;
        let operation = transfer.request.operation;
        // SAFETY: all of a control block's fields are numbers and pointers, for which zeros are
        // values; zeros are also what POSIX has programs begin with.
        let mut block: libc::aiocb = unsafe { std::mem::zeroed() };
        block.aio_fildes = descriptor;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        if operation == Operation::Flush || transfer.left_bytes() == 0 {
            *self.block = block;
            self.part = PosixOperation::Sync;
            // SAFETY: the block stays where it is until the request is complete: `PosixRequest`
            // keeps it in its box, and `slots` keep the flight.
            return outcome(unsafe { libc::aio_fsync(libc::O_DSYNC, &raw mut *self.block) });
        }
        transfer.prepare_iovecs();
        let first = transfer.iovecs[0];
        block.aio_buf = first.iov_base;
        block.aio_nbytes = first.iov_len;
        block.aio_offset = transfer.offset_bytes() as libc::off_t;
        *self.block = block;
        self.part = PosixOperation::Move(first.iov_len);
        let block = &raw mut *self.block;
        outcome(if operation == Operation::Read {
            // SAFETY: as above; the memory is the request's own, which lives in the same flight,
            // and nobody else looks at it until the request is complete.
            unsafe { libc::aio_read(block) }
        } else {
            // SAFETY: as above; the memory is only read.
            unsafe { libc::aio_write(block) }
        })
    }

    /// The result, as io_uring would report it; `None` as long as the call is in flight.
    fn result(&mut self) -> Option<i64> {
        let block = &raw mut *self.block;
        // SAFETY: the block was handed over and its result was not taken yet.
        match unsafe { libc::aio_error(block) } {
            libc::EINPROGRESS => None,
            // SAFETY: the request is complete; this is the one call that takes its result.
            0 => Some(unsafe { libc::aio_return(block) } as i64),
            errno => {
                // SAFETY: as above; it only gives the library's record of the request back.
                unsafe { libc::aio_return(block) };
                Some(-i64::from(errno))
            }
        }
    }

    fn advance(&mut self, result: i64) -> TransferStep {
        let PosixOperation::Move(asked) = self.part else {
            return match result {
                0 => TransferStep::Done,
                _ if -result == i64::from(libc::EINTR) => TransferStep::Again,
                _ => TransferStep::Failed(IoFault::Kernel(-result as i32)),
            };
        };
        let step = self.transfer.advance(result);
        let is_whole = result == asked as i64;
        if step == TransferStep::Done && is_whole {
            let more = self.transfer.left_bytes() > 0 || self.transfer.request.durable;
            return if more {
                TransferStep::Again
            } else {
                TransferStep::Done
            };
        }
        step
    }
}

fn outcome(result: libc::c_int) -> Result<(), i32> {
    if result == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(error.raw_os_error().unwrap_or(libc::EIO))
}

fn timespec(time_ns: u64) -> Timespec {
    Timespec {
        tv_sec: (time_ns / 1_000_000_000) as i64,
        tv_nsec: (time_ns % 1_000_000_000) as _,
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::EngineFailed {
        engine: "posix-aio",
        error,
    }
}

impl Engine for PosixAioEngine {
    fn name(&self) -> &'static str {
        "posix-aio"
    }

    fn describe(&self) -> String {
        if cfg!(target_env = "gnu") {
            "threads of the C library, of which glibc gives each target one".to_owned()
        } else {
            "threads of the C library".to_owned()
        }
    }

    fn submit(&mut self, request: super::Request) {
        let transfer = EngineTransfer::new(request, self.clock.now());
        let slot = self
            .free_slots
            .pop()
            .expect("no more in flight than the engine's limit");
        self.slots[slot] = Some(PosixRequest {
            transfer,
            // SAFETY: zeros are values of all its fields, which are numbers and pointers.
            block: Box::new(unsafe { std::mem::zeroed() }),
            part: PosixOperation::Sync,
        });
        self.staged.push_back(slot);
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let before = completions.len();
        loop {
            self.hand_over(completions);
            self.reap(completions);
            // The rest of what came back in part.
            self.hand_over(completions);
            let Until::CompletionOr(deadline) = until else {
                return Ok(());
            };
            let is_woken = waker::reset(&self.waker_counter);
            let left_ns = deadline.since_ns(self.clock.now());
            if is_woken || left_ns == 0 || completions.len() > before {
                return Ok(());
            }
            self.pause(left_ns)?;
        }
    }

    fn waker(&self) -> Waker {
        Waker::of_eventfd(&self.waker_counter)
    }
}

impl Drop for PosixAioEngine {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.free_slots.len() < self.slots.len() {
            let far = Until::CompletionOr(self.clock.now() + 1_000_000_000);
            if self.wait(far, &mut completions).is_err() {
                // Threads of the C library may still use the buffers and control blocks: these
                // must never be used again.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
            completions.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BufferPool;
    use crate::engine::{Request, Vector, Vectors};

    fn flight(operation: Operation, lengths: &[usize], durable: bool) -> PosixRequest {
        let mut pool = BufferPool::new(lengths.len(), 4096).unwrap();
        let vectors = lengths
            .iter()
            .map(|length| Vector::new(pool.take().unwrap(), 0, *length))
            .collect();
        let request = Request {
            operation,
            vectors: Vectors::Many(vectors),
            durable,
            ..Request::flush(0)
        };
        PosixRequest {
            transfer: EngineTransfer::new(request, Timestamp(0)),
            // SAFETY: zeros are values of all its fields.
            block: Box::new(unsafe { std::mem::zeroed() }),
            part: PosixOperation::Move(lengths[0]),
        }
    }

    #[test]
    fn a_part_that_ends_between_blocks_is_not_the_end_of_the_file() {
        let mut read = flight(Operation::Read, &[100, 1000], false);
        assert_eq!(read.advance(100), TransferStep::Again);
        read.part = PosixOperation::Move(1000);
        assert_eq!(
            read.advance(700),
            TransferStep::Done,
            "the file's ragged end"
        );
        assert_eq!(read.transfer.left_bytes(), 300);
    }

    #[test]
    fn a_durable_write_is_complete_only_when_it_is_synchronised() {
        let mut write = flight(Operation::Write, &[512], true);
        assert_eq!(write.advance(512), TransferStep::Again);
        write.part = PosixOperation::Sync;
        assert_eq!(write.advance(0), TransferStep::Done);
        assert_eq!(
            write.advance(-i64::from(libc::EIO)),
            TransferStep::Failed(IoFault::Kernel(libc::EIO))
        );
    }
}
