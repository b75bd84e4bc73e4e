//! Linux native AIO (`io_setup` and its family), by system call, for kernels without io_uring. It
//! is asynchronous for direct I/O only; the time that `io_submit` blocked is counted.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use sustain_document::setting::{DEPTH, ENGINE};

use super::transfer::{EngineTransfer, TransferStep};
use super::waker;
use super::{Completion, Engine, Limits, Operation, Request, TargetFiles, Until, Waker};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, IoFault};

const OPCODE_FDSYNC: u16 = 3;
const OPCODE_POLL: u16 = 5;
const OPCODE_PREADV: u16 = 7;
const OPCODE_PWRITEV: u16 = 8;
const WAKER_TOKEN: u64 = u64::MAX;
/// A hand-over that takes longer than this has waited for the device, not for the CPU.
const BLOCKED_NS: u64 = 1_000_000;

/// `struct iocb` of linux/aio_abi.h.
#[repr(C)]
#[derive(Debug, Default, Clone)]
struct ControlBlock {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: i32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    count: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_descriptor: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct IoEvent {
    data: u64,
    control_block: u64,
    result: i64,
    result2: i64,
}

/// One AIO context.
#[derive(Debug)]
pub struct LibaioEngine {
    context: u64,
    files: TargetFiles,
    clock: Clock,
    slots: Vec<Option<EngineTransfer>>,
    free_slots: Vec<usize>,
    in_flight: usize,
    /// Control blocks that are not handed over yet.
    staged: VecDeque<ControlBlock>,
    events: Vec<IoEvent>,
    blocked_ns: u64,
    waker_counter: Arc<OwnedFd>,
    waker_armed: bool,
}

impl LibaioEngine {
    /// Sets up a context.
    ///
    /// # Errors
    /// [`Error::EngineRefused`], saying which limit or rule refuses it.
    pub fn open(files: TargetFiles, limits: Limits, clock: Clock) -> Result<LibaioEngine, Error> {
        let count = limits.in_flight_max as usize;
        let waker_counter = waker::counter().map_err(|error| refused(&error))?;
        let mut context = 0u64;
        // One more for the waker's poll.
        // SAFETY: io_setup writes the context's number to the address, which is a live u64.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_setup,
                (count + 1) as libc::c_uint,
                &raw mut context,
            )
        };
        if result < 0 {
            return Err(refused(&std::io::Error::last_os_error()));
        }
        Ok(LibaioEngine {
            context,
            files,
            clock,
            slots: std::iter::repeat_with(|| None).take(count).collect(),
            free_slots: (0..count).rev().collect(),
            in_flight: 0,
            staged: VecDeque::with_capacity(count + 1),
            events: vec![IoEvent::default(); count + 1],
            blocked_ns: 0,
            waker_counter,
            waker_armed: false,
        })
    }

    fn control_block(&mut self, slot: usize) -> ControlBlock {
        let transfer = self.slots[slot]
            .as_mut()
            .expect("a slot in use holds its transfer");
        transfer.prepare_iovecs();
        let request = &transfer.request;
        let opcode = match request.operation {
            Operation::Read => OPCODE_PREADV,
            Operation::Write => OPCODE_PWRITEV,
            Operation::Flush => OPCODE_FDSYNC,
        };
        ControlBlock {
            data: slot as u64,
            rw_flags: if request.durable { libc::RWF_DSYNC } else { 0 },
            opcode,
            descriptor: self.files[request.target].as_raw_fd() as u32,
            buffer: transfer.iovecs.as_ptr() as u64,
            count: transfer.iovecs.len() as u64,
            offset: if opcode == OPCODE_FDSYNC {
                0
            } else {
                transfer.offset_bytes() as i64
            },
            ..ControlBlock::default()
        }
    }

    fn arm_waker(&mut self) {
        if self.waker_armed {
            return;
        }
        self.waker_armed = true;
        self.staged.push_back(ControlBlock {
            data: WAKER_TOKEN,
            opcode: OPCODE_POLL,
            descriptor: self.waker_counter.as_raw_fd() as u32,
            buffer: libc::POLLIN as u64,
            ..ControlBlock::default()
        });
    }

    /// Hands over the staged blocks; those for which the kernel has no space stay staged.
    fn hand_over(&mut self, completions: &mut Vec<Completion>) -> Result<(), Error> {
        while !self.staged.is_empty() {
            let mut pointers: Vec<*mut ControlBlock> =
                self.staged.iter_mut().map(std::ptr::from_mut).collect();
            let before = self.clock.now();
            // SAFETY: the control blocks and the memory they name are live: blocks until the call
            // returns (the kernel copies them), memory until the completion is reaped.
            let taken = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    self.context,
                    pointers.len() as libc::c_long,
                    pointers.as_mut_ptr(),
                )
            };
            let took_ns = self.clock.now().since_ns(before);
            if took_ns > BLOCKED_NS {
                self.blocked_ns += took_ns;
            }
            if taken > 0 {
                self.staged.drain(..taken as usize);
                continue;
            }
            let error = std::io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EAGAIN) => return Ok(()),
                Some(libc::EINTR) => {}
                // The kernel refuses the first block by itself; the rest may be sound.
                Some(errno) => self.refuse_first(errno, completions)?,
                None => return Err(failed(error)),
            }
        }
        Ok(())
    }

    fn refuse_first(&mut self, errno: i32, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let block = self.staged.pop_front().expect("something was staged");
        if block.data == WAKER_TOKEN {
            // Before 4.18 there is no poll here: waits then end by their time only.
            return Ok(());
        }
        let slot = block.data as usize;
        if block.opcode == OPCODE_FDSYNC && errno == libc::EINVAL {
            return self.flush_blocking(slot, completions);
        }
        self.finish(
            slot,
            self.clock.now(),
            Some(IoFault::Kernel(errno)),
            completions,
        );
        Ok(())
    }

    /// For kernels before 4.18, which cannot flush asynchronously.
    fn flush_blocking(
        &mut self,
        slot: usize,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        let transfer = self.slots[slot]
            .as_ref()
            .expect("a slot in use holds its transfer");
        let file = &self.files[transfer.request.target];
        let error = rustix::fs::fdatasync(file)
            .err()
            .map(|errno| IoFault::Kernel(errno.raw_os_error()));
        self.finish(slot, self.clock.now(), error, completions);
        Ok(())
    }

    fn finish(
        &mut self,
        slot: usize,
        now: Timestamp,
        error: Option<IoFault>,
        completions: &mut Vec<Completion>,
    ) {
        let transfer = self.slots[slot]
            .take()
            .expect("a slot in use holds its transfer");
        self.free_slots.push(slot);
        self.in_flight -= 1;
        completions.push(transfer.complete(now, error));
    }

    fn reap(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let (least, wait_ns) = match until {
            Until::Now => (0, 0),
            Until::CompletionOr(_) if !completions.is_empty() => (0, 0),
            Until::CompletionOr(deadline) => (1, deadline.since_ns(self.clock.now())),
        };
        let mut time = libc::timespec {
            tv_sec: (wait_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (wait_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `events` has room for the count given; the kernel writes no more than that.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                least as libc::c_long,
                self.events.len() as libc::c_long,
                self.events.as_mut_ptr(),
                &raw mut time,
            )
        };
        if count < 0 {
            let error = std::io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EINTR) => Ok(()),
                _ => Err(failed(error)),
            };
        }
        let now = self.clock.now();
        for index in 0..count as usize {
            self.take_event(self.events[index], now, completions);
        }
        Ok(())
    }

    fn take_event(&mut self, event: IoEvent, now: Timestamp, completions: &mut Vec<Completion>) {
        if event.data == WAKER_TOKEN {
            waker::reset(&self.waker_counter);
            self.waker_armed = false;
            return;
        }
        let slot = event.data as usize;
        let transfer = self.slots[slot]
            .as_mut()
            .expect("the kernel names slots in use");
        match transfer.advance(event.result) {
            TransferStep::Again => {
                let block = self.control_block(slot);
                self.staged.push_back(block);
            }
            TransferStep::Done => self.finish(slot, now, None, completions),
            TransferStep::Failed(errno) => self.finish(slot, now, Some(errno), completions),
        }
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::EngineFailed {
        engine: "libaio",
        error,
    }
}

fn refused(error: &std::io::Error) -> Error {
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/fs/{name}")).unwrap_or_default();
        text.trim().to_owned()
    };
    let threads = ENGINE.to("threads");
    let why = match error.raw_os_error() {
        Some(libc::EAGAIN) => format!(
            "the sysctl fs.aio-max-nr is {} and {} are in use; an administrator may raise it, or \
             use a smaller {DEPTH} or {threads}",
            read("aio-max-nr"),
            read("aio-nr")
        ),
        Some(libc::ENOSYS) => format!(
            "this kernel has no native AIO (CONFIG_AIO), or a security rule hides it; use {threads}"
        ),
        Some(libc::EPERM | libc::EACCES) => format!(
            "a security rule of this container or host (seccomp) refuses io_setup; use {threads}"
        ),
        _ => format!("{error}; use {threads}"),
    };
    Error::EngineRefused {
        engine: "libaio",
        why,
    }
}

impl Engine for LibaioEngine {
    fn name(&self) -> &'static str {
        "libaio"
    }

    fn describe(&self) -> String {
        "Linux native AIO; asynchronous for direct I/O only".to_owned()
    }

    fn submit(&mut self, request: Request) {
        let slot = self
            .free_slots
            .pop()
            .expect("no more in flight than the engine's limit");
        self.slots[slot] = Some(EngineTransfer::new(request, self.clock.now()));
        self.in_flight += 1;
        let block = self.control_block(slot);
        self.staged.push_back(block);
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        self.arm_waker();
        self.hand_over(completions)?;
        self.reap(until, completions)
    }

    fn waker(&self) -> Waker {
        Waker::of_eventfd(&self.waker_counter)
    }

    fn submit_blocked_ns(&self) -> u64 {
        self.blocked_ns
    }
}

impl Drop for LibaioEngine {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.in_flight > 0 {
            let far = Until::CompletionOr(self.clock.now() + 1_000_000_000);
            if self.wait(far, &mut completions).is_err() {
                // The kernel may still write into the buffers: they must never be used again.
                std::mem::forget(std::mem::take(&mut self.slots));
                break;
            }
            completions.clear();
        }
        // SAFETY: the context is ours and is used no more; its memory needs no care of ours.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_limit_or_rule_behind_it() {
        let why = |errno| refused(&std::io::Error::from_raw_os_error(errno)).to_string();
        assert!(why(libc::EAGAIN).contains("fs.aio-max-nr"));
        assert!(why(libc::ENOSYS).contains("CONFIG_AIO"));
        assert!(why(libc::EPERM).contains("seccomp"));
    }

    #[test]
    fn the_kernels_structures_have_their_sizes() {
        assert_eq!(size_of::<ControlBlock>(), 64);
        assert_eq!(size_of::<IoEvent>(), 32);
    }
}
