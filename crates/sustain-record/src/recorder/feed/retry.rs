//! Retries of writes that the kernel could not take, through no fault of the member: it had no
//! memory for them, or could not hold on to the memory that they were given from. They are tried
//! again at the same place, from a copy where the memory may be the cause, and the member does not
//! count as failed.

use sustain_disk::clock::Timestamp;
use sustain_disk::engine::{Completion, Operation, Request, Vectors};
use sustain_disk::error::IoFault;

use super::{RecordFeed, RequestPurpose};
use crate::recorder::inlet::Inlet;
use crate::recorder::write;

/// The first wait before a write is tried again. Each wait is twice as long as the one before.
const WAIT_FIRST_NS: u64 = 10_000_000;
const WAIT_LONGEST_NS: u64 = 1_000_000_000;
/// A write is tried again for this long.
const TRIED_FOR_NS: u64 = 10_000_000_000;

const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const EFAULT: i32 = 14;
/// The error of a write that waits to be tried again when its member fails.
const ECANCELED: i32 = 125;

/// A write to be tried again.
pub(super) struct Retry {
    pub(super) at: Timestamp,
    request: Request,
}

impl<I: Inlet> RecordFeed<I> {
    /// Whether a write failed because of the kernel, which says nothing about its member. This is
    /// never so for a flush: after one has failed, the next one reports success. It is not so
    /// either for a write that may have been told of an earlier write's error.
    pub(super) fn is_kernels_own(&self, queue: usize, completion: &Completion) -> bool {
        let request = &completion.request;
        let may_be_anothers = request.durable && self.members[queue].setup.shares_errors;
        let is_own = match completion.error {
            Some(IoFault::Kernel(EFAULT)) => true,
            Some(IoFault::Kernel(EAGAIN | ENOMEM)) => !may_be_anothers,
            _ => false,
        };
        is_own && request.operation == Operation::Write
    }

    /// Puts a write aside that the kernel could not take. Returns the completion if it is not such
    /// a write, or has been tried for long enough.
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
        if completion.error == Some(IoFault::Kernel(EFAULT)) {
            request = self.with_copied_memory(request);
        }
        let at = now + wait_ns;
        self.retries[queue].push_back(Retry { at, request });
        None
    }

    /// Moves the write to a copy in memory of our own, if there is any, and gives back the memory
    /// that it came from.
    fn with_copied_memory(&mut self, mut request: Request) -> Request {
        let Some(flying) = self.in_flight.get_mut(&request.token) else {
            return request;
        };
        let RequestPurpose::Data {
            filled,
            payload,
            is_lent,
            ..
        } = &mut flying.purpose
        else {
            return request;
        };
        let Ok(copy) = write::copied(&request.vectors) else {
            return request;
        };
        *payload = write::PayloadView::of(&copy, filled.payload_bytes);
        *is_lent = false;
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

    /// Ends the retries of a member that is not written any more.
    pub(super) fn end_retries(&mut self, queue: usize, now: Timestamp) {
        for retry in std::mem::take(&mut self.retries[queue]) {
            let completion = Completion {
                request: retry.request,
                submitted_at: now,
                completed_at: now,
                bytes: 0,
                error: Some(IoFault::Kernel(ECANCELED)),
            };
            self.settle(queue, completion);
        }
    }
}
