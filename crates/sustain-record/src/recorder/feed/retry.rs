//! Writes that the kernel could not take, through no fault of their member's: it had no memory for
//! them, or could not hold on to the memory that they were given from. They are tried again, from a
//! copy where the memory may be the cause, at the same place, and no member is failed for them.

use sustain_disk::clock::Timestamp;
use sustain_disk::engine::{Completion, Operation, Request, Vectors};
use sustain_disk::error::Errno;

use super::{Flight, RecordFeed};
use crate::recorder::inlet::Inlet;
use crate::recorder::write;

/// The first wait before a write is tried again; each is twice as long as the one before.
const WAIT_FIRST_NS: u64 = 10_000_000;
const WAIT_LONGEST_NS: u64 = 1_000_000_000;
/// A write is tried for so long.
const TRIED_FOR_NS: u64 = 10_000_000_000;

const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const EFAULT: i32 = 14;
/// What becomes of a write that waits when its member fails.
const ECANCELED: i32 = 125;

/// A write that is to be tried again.
pub(super) struct Retry {
    pub(super) at: Timestamp,
    request: Request,
}

impl<I: Inlet> RecordFeed<I> {
    /// Whether a write has failed for want of the kernel's, which says nothing of its member. A flush
    /// is never such a one: after it has failed once, the next says that all is well. Nor is a write
    /// that may have been told of the error of another one before it.
    pub(super) fn is_kernels_own(&self, queue: usize, completion: &Completion) -> bool {
        let request = &completion.request;
        let may_be_anothers = request.durable && self.members[queue].setup.shares_errors;
        let is_own = match completion.error {
            Some(Errno(EFAULT)) => true,
            Some(Errno(EAGAIN | ENOMEM)) => !may_be_anothers,
            _ => false,
        };
        is_own && request.operation == Operation::Write
    }

    /// Puts a write by that the kernel could not take. The answer is the completion if it is none,
    /// or was tried for long enough.
    pub(super) fn try_again(&mut self, queue: usize, completion: Completion) -> Option<Completion> {
        let now = completion.completed_at;
        if !self.is_kernels_own(queue, &completion) || !self.members[queue].works() {
            return Some(completion);
        }
        let flying = self.in_flight.get_mut(&completion.request.token)?;
        if now.since_ns(flying.first_at) >= TRIED_FOR_NS {
            return Some(completion);
        }
        let doubled = WAIT_FIRST_NS << (flying.tries - 1).min(20);
        flying.tries += 1;
        let wait_ns = doubled.min(WAIT_LONGEST_NS);
        flying.last_at = now + wait_ns;
        let mut request = completion.request;
        if completion.error == Some(Errno(EFAULT)) {
            request = self.with_copied_memory(request);
        }
        let at = now + wait_ns;
        self.retries[queue].push_back(Retry { at, request });
        None
    }

    /// The same write from memory of our own, if there is any; what it was given from goes back.
    fn with_copied_memory(&mut self, mut request: Request) -> Request {
        let Some(flying) = self.in_flight.get_mut(&request.token) else {
            return request;
        };
        let Flight::Data {
            filled, payload, ..
        } = &mut flying.flight
        else {
            return request;
        };
        let Ok(copy) = write::copied(&request.vectors) else {
            return request;
        };
        *payload = write::PayloadView::of(&copy, filled.payload_bytes);
        let (stream, is_own) = (filled.stream, filled.payload_bytes == 0);
        let given: Vectors = std::mem::replace(&mut request.vectors, copy);
        if let Some(memory) = write::take_apart(given, is_own) {
            self.give_back(request.target, stream, memory);
        }
        request
    }

    /// The first write that is due to be tried again.
    pub(super) fn retry(&mut self, queue: usize, now: Timestamp) -> Option<Request> {
        let due = self.retries[queue]
            .iter()
            .position(|retry| retry.at <= now)?;
        let retry = self.retries[queue].remove(due)?;
        Some(retry.request)
    }

    /// Their member is not written any more: what waits is over.
    pub(super) fn end_retries(&mut self, queue: usize, now: Timestamp) {
        for retry in std::mem::take(&mut self.retries[queue]) {
            let completion = Completion {
                request: retry.request,
                submitted_at: now,
                completed_at: now,
                bytes: 0,
                error: Some(Errno(ECANCELED)),
            };
            self.settle(queue, completion);
        }
    }
}
