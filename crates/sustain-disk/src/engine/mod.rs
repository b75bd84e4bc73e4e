//! Engines: the seam between everything above and the kernel or a simulated machine.
//!
//! An engine takes requests, owns their buffers until they complete, and gives them back as
//! completions. Above this trait nothing knows whether the disks are real. Every engine keeps the
//! same contract, which `tests/engine_contract.rs` tries on each of them:
//!
//! - up to [`Limits::in_flight_max`] requests are in flight at once;
//! - each request completes exactly once, with the bytes transferred and its error, if any;
//! - a transfer cut short by the kernel is continued; only the end of a device, or an error,
//!   makes a completion short;
//! - dropping an engine first waits for all that is in flight.

mod crew;
mod factory;
mod libaio;
mod nvme;
mod parts;
mod posix_aio;
mod priority;
mod ring;
mod scsi;
mod simulated;
mod sync;
mod threads;
mod transfer;
mod uring;
mod waker;
mod yielding;

use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use factory::{EngineChoice, Opened, open, open_passthrough, passthrough_engine};
pub use libaio::LibaioEngine;
pub use nvme::NvmeEngine;
pub use posix_aio::PosixAioEngine;
pub use priority::{take_cpu_priority, take_io_priority};
pub use scsi::ScsiEngine;
pub use simulated::{SharedMachine, SimulatedEngine, SimulatedTarget};
pub use sync::SyncEngine;
pub use threads::ThreadsEngine;
pub use uring::UringEngine;
pub use waker::Waker;
pub use yielding::{RecorderBacklog, YieldingEngine};

use crate::buffer::{Buffer, Region};
use crate::clock::Timestamp;
use crate::error::{Error, IoFault};

pub use sustain_document::vocabulary::Operation;

/// The part of a buffer that a request moves.
#[derive(Debug)]
pub struct Vector {
    buffer: Buffer,
    start: usize,
    length: usize,
}

impl Vector {
    /// `length` bytes of `buffer` from `start` on.
    ///
    /// # Panics
    /// Panics if that reaches past the end of the buffer.
    pub fn new(buffer: Buffer, start: usize, length: usize) -> Vector {
        let end = start
            .checked_add(length)
            .expect("a vector's end is a valid index");
        assert!(end <= buffer.len(), "a vector lies within its buffer");
        Vector {
            buffer,
            start,
            length,
        }
    }

    /// Bytes to move.
    #[allow(
        clippy::len_without_is_empty,
        reason = "an empty vector is of no use to anybody"
    )]
    pub fn len(&self) -> usize {
        self.length
    }

    /// The buffer, once the request is complete.
    pub fn into_buffer(self) -> Buffer {
        self.buffer
    }

    /// The buffer, as long as the request has it.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The bytes that are moved.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer.bytes()[self.start..self.start + self.length]
    }

    pub(crate) fn address(&self) -> *mut u8 {
        // SAFETY: start lies within the buffer, checked in `new`.
        unsafe { self.buffer.address().add(self.start) }
    }

    /// The region that an engine compares with what it registered; foreign memory is in none.
    pub(crate) fn region(&self) -> Option<(&Arc<Region>, u16)> {
        self.buffer.region()
    }

    /// The bytes that a read fills.
    ///
    /// # Panics
    /// If the memory may only be read, as for [`Buffer::bytes_mut`].
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes_mut()[self.start..self.start + self.length]
    }
}

/// The memory of a request. One buffer is the common case and costs no allocation.
#[derive(Debug)]
pub enum Vectors {
    /// A flush moves no bytes.
    None,
    /// One contiguous stretch.
    One(Vector),
    /// Several, one after the other on the target.
    Many(Vec<Vector>),
}

impl Vectors {
    /// The parts in order.
    pub fn as_slice(&self) -> &[Vector] {
        match self {
            Vectors::None => &[],
            Vectors::One(vector) => std::slice::from_ref(vector),
            Vectors::Many(vectors) => vectors,
        }
    }

    /// The same, to be filled by whoever completes a read.
    pub fn as_mut_slice(&mut self) -> &mut [Vector] {
        match self {
            Vectors::None => &mut [],
            Vectors::One(vector) => std::slice::from_mut(vector),
            Vectors::Many(vectors) => vectors,
        }
    }

    /// Bytes to move in all.
    pub fn len_bytes(&self) -> u64 {
        self.as_slice()
            .iter()
            .map(|vector| vector.len() as u64)
            .sum()
    }
}

/// One operation on one target. It owns its memory.
#[derive(Debug)]
pub struct Request {
    /// Index of the target in the list that the engine was opened with.
    pub target: usize,
    /// The operation.
    pub operation: Operation,
    /// The offset on the target.
    pub offset_bytes: u64,
    /// The memory to read into or to write from.
    pub vectors: Vectors,
    /// Whether a write completes only when it is on the medium.
    pub durable: bool,
    /// The time when its data was ready, if it had to wait: latency counts from there.
    pub due_at: Option<Timestamp>,
    /// A mark of the caller's own; engines pass it through.
    pub token: u64,
}

impl Request {
    /// A flush of `target`.
    pub fn flush(target: usize) -> Request {
        Request {
            target,
            operation: Operation::Flush,
            offset_bytes: 0,
            vectors: Vectors::None,
            durable: false,
            due_at: None,
            token: 0,
        }
    }

    /// Every engine calls this for each request that it takes, because a kernel that reads into
    /// memory which others may look at would break what Rust relies on.
    ///
    /// # Panics
    /// Panics if a read names foreign memory, or memory of which there is a view.
    fn assert_memory_fits(&self) {
        assert!(
            self.operation != Operation::Read
                || self
                    .vectors
                    .as_slice()
                    .iter()
                    .all(|vector| !vector.buffer.is_read_only()),
            "foreign memory is only read: a read needs buffers of a pool, without views"
        );
    }
}

/// A request that is done, successfully or not, with its memory.
#[derive(Debug)]
pub struct Completion {
    /// The request as it was submitted.
    pub request: Request,
    /// When it was handed over.
    pub submitted_at: Timestamp,
    /// When it was seen to be complete.
    pub completed_at: Timestamp,
    /// Bytes moved; fewer than asked only at the end of a device or with an error.
    pub bytes: u64,
    /// Why it failed, if it did.
    pub error: Option<IoFault>,
}

/// How long [`Engine::wait`] waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Not at all: only takes what is complete.
    Now,
    /// Until a completion, a wake-up, or the given time, whichever is first.
    CompletionOr(Timestamp),
}

/// Bounds of an engine, fixed when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests in flight on one target.
    pub depth: u32,
    /// Requests in flight on all targets.
    pub in_flight_max: u32,
}

/// Issues requests and hands back completions. See the module's text for the contract.
pub trait Engine {
    /// The engine's name as on the command line.
    fn name(&self) -> &'static str;

    /// A description of its setup: registration, fallbacks.
    fn describe(&self) -> String;

    /// Takes a request. It reaches the kernel at the next [`Engine::wait`] at the latest; blocking
    /// engines may complete it inside.
    ///
    /// # Panics
    /// Panics if a read names foreign memory.
    fn submit(&mut self, request: Request);

    /// Hands what was submitted to the kernel, waits as `until` says, and appends what is complete.
    ///
    /// # Errors
    /// [`Error::EngineFailed`] if the kernel interface itself breaks; failed requests are
    /// completions.
    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error>;

    /// Whether another request would go on now. An engine that yields to others keeps what it is
    /// given all the same, but whoever gives it much then waits long for the end.
    fn takes_more(&self) -> bool {
        true
    }

    /// Ends a [`Engine::wait`] from another thread.
    fn waker(&self) -> Waker;

    /// Time that handing over requests blocked this thread, in nanoseconds, where that is a fault
    /// of the engine that the user should know of.
    fn submit_blocked_ns(&self) -> u64 {
        0
    }
}

/// The open files that an engine drives, by index.
pub type TargetFiles = Vec<Arc<OwnedFd>>;
