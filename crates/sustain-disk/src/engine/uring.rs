//! The io_uring engine: one ring drives many targets, with registered files and buffers where
//! allowed, and one system call hands over and reaps whole batches.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::ring::{self, ENTRIES_MAX, Outbox, WakerPoll};
use super::transfer::{EngineTransfer, TransferStep};
use super::{Completion, Engine, Limits, Operation, Request, TargetFiles, Until, Waker};
use crate::buffer::Region;
use crate::clock::{Clock, Timestamp};
use crate::error::Error;

/// One io_uring.
pub struct UringEngine {
    ring: IoUring,
    outbox: Outbox<squeue::Entry>,
    files: TargetFiles,
    clock: Clock,
    /// Requests in flight, by the number that the kernel returns with the completion.
    slots: Vec<Option<EngineTransfer>>,
    free_slots: Vec<usize>,
    in_flight: usize,
    /// When the batch that is being submitted began.
    batch_at: Option<Timestamp>,
    /// An error that `submit` met and the next `wait` reports.
    broken: Option<Error>,
    registered_files: bool,
    registered: Vec<Arc<Region>>,
    setup: Vec<String>,
    waker: WakerPoll,
}

impl UringEngine {
    /// Sets up a ring in the thread that will use it.
    ///
    /// # Errors
    /// [`Error::EngineRefused`], saying which sysctl, limit, rule or version refuses it.
    pub fn open(
        files: TargetFiles,
        limits: Limits,
        regions: &[Arc<Region>],
        clock: Clock,
    ) -> Result<UringEngine, Error> {
        // One entry more for the waker's poll.
        let entries = (limits.in_flight_max + 1)
            .next_power_of_two()
            .min(ENTRIES_MAX);
        let mut engine = UringEngine::with_entries(entries, files, limits, clock)?;
        engine.register_files();
        engine.register_buffers(regions);
        Ok(engine)
    }

    fn with_entries(
        entries: u32,
        files: TargetFiles,
        limits: Limits,
        clock: Clock,
    ) -> Result<UringEngine, Error> {
        let (ring, mode) = ring::build(entries)?;
        Ok(UringEngine {
            ring,
            outbox: Outbox::new(),
            files,
            clock,
            slots: std::iter::repeat_with(|| None)
                .take(limits.in_flight_max as usize)
                .collect(),
            free_slots: (0..limits.in_flight_max as usize).rev().collect(),
            in_flight: 0,
            batch_at: None,
            broken: None,
            registered_files: false,
            registered: Vec::new(),
            setup: vec![mode.to_owned()],
            waker: WakerPoll::new()?,
        })
    }

    fn register_files(&mut self) {
        let descriptors: Vec<RawFd> = self.files.iter().map(AsRawFd::as_raw_fd).collect();
        match self.ring.submitter().register_files(&descriptors) {
            Ok(()) => {
                self.registered_files = true;
                self.setup.push("registered files".to_owned());
            }
            Err(error) => self.setup.push(format!("files not registered ({error})")),
        }
    }

    fn register_buffers(&mut self, regions: &[Arc<Region>]) {
        let iovecs: Vec<libc::iovec> = regions
            .iter()
            .map(|region| libc::iovec {
                iov_base: region.address().cast(),
                iov_len: region.length(),
            })
            .collect();
        if iovecs.is_empty() {
            return;
        }
        // SAFETY: `self.registered` keeps the regions mapped for as long as the ring lives (it is
        // declared after `ring`, so it is dropped later).
        match unsafe { self.ring.submitter().register_buffers(&iovecs) } {
            Ok(()) => {
                self.registered = regions.to_vec();
                self.setup.push("registered buffers".to_owned());
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => self.setup.push(
                "buffers not registered: the locked-memory limit is too small (ulimit -l)"
                    .to_owned(),
            ),
            Err(error) => self.setup.push(format!("buffers not registered ({error})")),
        }
    }

    /// Index of the registration that covers this request's memory, if there is one.
    fn registration(&self, transfer: &EngineTransfer) -> Option<u16> {
        let [vector] = transfer.request.vectors.as_slice() else {
            return None;
        };
        let (region, index) = vector.region()?;
        let registered = self.registered.get(usize::from(index))?;
        Arc::ptr_eq(region, registered).then_some(index)
    }

    fn push(&mut self, slot: usize) -> Result<(), Error> {
        let transfer = self.slots[slot]
            .as_mut()
            .expect("a slot in use holds its transfer");
        if transfer.single().is_none() {
            transfer.prepare_iovecs();
        }
        let transfer = self.slots[slot].as_ref().expect("it was there just above");
        let target = transfer.request.target;
        let registration = self.registration(transfer);
        // A flush runs in a thread of the kernel, which would wait for the ring's lock to look up a
        // registered file, and spin while requests are being submitted.
        let by_index = self.registered_files && transfer.request.operation != Operation::Flush;
        let entry = if by_index {
            build_entry(transfer, Fd(target as RawFd), registration)
                .flags(squeue::Flags::FIXED_FILE)
        } else {
            build_entry(transfer, Fd(self.files[target].as_raw_fd()), registration)
        };
        self.send(entry.user_data(slot as u64))
    }

    fn send(&mut self, entry: squeue::Entry) -> Result<(), Error> {
        // SAFETY: the memory and descriptors of the entry belong to a Transfer in `slots` (or to
        // `waker`), which stay until its completion has been reaped.
        unsafe { self.outbox.send(entry, &mut self.ring) }
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let mut now: Option<Timestamp> = None;
        while let Some(event) = self.next_event() {
            if self.waker.takes(event.user_data()) {
                continue;
            }
            let slot = event.user_data() as usize;
            let transfer = self.slots[slot]
                .as_mut()
                .expect("the kernel names slots in use");
            let error = match transfer.advance(i64::from(event.result())) {
                TransferStep::Again => {
                    self.push(slot)?;
                    continue;
                }
                TransferStep::Done => None,
                TransferStep::Failed(errno) => Some(errno),
            };
            // One reading of the clock serves all requests that were found complete together.
            let now = *now.get_or_insert_with(|| self.clock.now());
            let transfer = self.slots[slot].take().expect("it was there just above");
            self.free_slots.push(slot);
            self.in_flight -= 1;
            completions.push(transfer.complete(now, error));
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<cqueue::Entry> {
        self.ring.completion().next()
    }
}

/// The ring entry for the rest of a transfer.
fn build_entry(transfer: &EngineTransfer, file: Fd, registration: Option<u16>) -> squeue::Entry {
    let offset = transfer.offset_bytes();
    let flags = if transfer.request.durable {
        libc::RWF_DSYNC
    } else {
        0
    };
    let count = transfer.iovecs.len() as u32;
    let vectors = transfer.iovecs.as_ptr();
    match (transfer.request.operation, transfer.single(), registration) {
        (Operation::Flush, _, _) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        (Operation::Read, Some((address, length)), Some(index)) => {
            opcode::ReadFixed::new(file, address, length as u32, index)
                .offset(offset)
                .build()
        }
        (Operation::Read, Some((address, length)), None) => {
            opcode::Read::new(file, address, length as u32)
                .offset(offset)
                .build()
        }
        (Operation::Read, None, _) => opcode::Readv::new(file, vectors, count)
            .offset(offset)
            .build(),
        (Operation::Write, Some((address, length)), Some(index)) => {
            opcode::WriteFixed::new(file, address, length as u32, index)
                .offset(offset)
                .rw_flags(flags)
                .build()
        }
        (Operation::Write, Some((address, length)), None) => {
            opcode::Write::new(file, address, length as u32)
                .offset(offset)
                .rw_flags(flags)
                .build()
        }
        (Operation::Write, None, _) => opcode::Writev::new(file, vectors, count)
            .offset(offset)
            .rw_flags(flags)
            .build(),
    }
}

impl Engine for UringEngine {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn describe(&self) -> String {
        self.setup.join(", ")
    }

    fn submit(&mut self, request: Request) {
        // Requests submitted together are handed over together, so one reading of the clock is
        // enough.
        let now = *self.batch_at.get_or_insert_with(|| self.clock.now());
        let slot = self
            .free_slots
            .pop()
            .expect("no more in flight than the engine's limit");
        self.slots[slot] = Some(EngineTransfer::new(request, now));
        self.in_flight += 1;
        if let Err(error) = self.push(slot) {
            self.broken.get_or_insert(error);
        }
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        self.batch_at = None;
        if let Some(poll) = self.waker.arm() {
            self.send(poll)?;
        }
        self.outbox.hand_over(&mut self.ring)?;
        ring::enter(&self.ring, until, &self.clock)?;
        self.reap(completions)
    }

    fn waker(&self) -> Waker {
        self.waker.waker()
    }
}

impl Drop for UringEngine {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.in_flight > 0 {
            let far = Until::CompletionOr(self.clock.now() + 1_000_000_000);
            if self.wait(far, &mut completions).is_err() {
                // The kernel may still write into the buffers: they must never be used again.
                std::mem::forget(std::mem::take(&mut self.slots));
                std::mem::forget(std::mem::take(&mut self.registered));
                return;
            }
            completions.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::engine::Vectors;

    /// Exchanges what a descriptor's number stands for.
    fn replace(number: RawFd, by: RawFd) {
        // SAFETY: both are open descriptors of this test's, which outlive the call.
        assert_eq!(unsafe { libc::dup2(by, number) }, number);
    }

    fn empty_read() -> Request {
        Request {
            operation: Operation::Read,
            vectors: Vectors::Many(Vec::new()),
            ..Request::flush(0)
        }
    }

    #[test]
    fn a_hand_over_that_fails_once_leaves_nothing_to_be_waited_for_in_vain() {
        let limits = Limits {
            depth: 8,
            in_flight_max: 8,
        };
        let null = File::open("/dev/null").unwrap();
        let files = vec![Arc::new(null.try_clone().unwrap().into())];
        let opened = UringEngine::with_entries(2, files, limits, Clock::Real);
        let Ok(mut engine) = opened else {
            sustain_testing::skip(
                sustain_testing::Requirement::Engine("io_uring"),
                "the kernel refuses it",
            );
            return;
        };
        let number = engine.ring.as_raw_fd();
        // SAFETY: duplicates an open descriptor; it is closed below.
        let kept = unsafe { libc::dup(number) };
        engine.submit(empty_read());
        engine.submit(empty_read());
        replace(number, null.as_raw_fd());
        // The ring is full, and what stands under its number is none.
        engine.submit(empty_read());
        replace(number, kept);
        let mut completions = Vec::new();
        assert!(engine.wait(Until::Now, &mut completions).is_err(), "told");
        assert_eq!(engine.in_flight, 3);
        while engine.in_flight > 0 {
            let far = Until::CompletionOr(engine.clock.now() + 10_000_000_000);
            let before = engine.in_flight;
            engine.wait(far, &mut completions).unwrap();
            assert!(
                engine.in_flight < before,
                "what was not handed over is lost"
            );
        }
        assert_eq!(completions.len(), 3);
        // SAFETY: `kept` was duplicated above and is used by nobody else.
        assert_eq!(unsafe { libc::close(kept) }, 0);
    }
}
