//! The service of one request by a simulated disk: from the end of its command, piece by piece, to
//! its answer. The disk's step calls it.

use super::super::cache::Cache;
use super::super::fault::FaultKind;
use super::super::fluid::Amount;
use super::super::request::{SimulatedCompletion, SimulatedOperation, SimulatedRequest};
use super::super::transfer::SimulatedTransfer;
use super::super::zone::MediumDirection;
use super::{DiskModel, Service};

impl DiskModel {
    /// Begins the front of the queue if its command is done; false if there is nothing to begin.
    pub(super) fn begin(
        &mut self,
        now_ns: u64,
        completions: &mut Vec<SimulatedCompletion>,
    ) -> bool {
        let Some(front) = self.queue.front() else {
            return false;
        };
        if self.stalled || front.ready_ns > now_ns {
            return false;
        }
        let request = front.request;
        let length_bytes = front.length_bytes;
        let direction = match request.operation {
            SimulatedOperation::Flush => {
                // Otherwise the surplus of the write before would be waited for, and never drain.
                self.drop_surplus();
                match self.flush_fault {
                    Some(kind) => self.complete(now_ns, Err(kind), completions),
                    None => self.answer_when_durable(now_ns, completions),
                }
                return true;
            }
            SimulatedOperation::Read => MediumDirection::Read,
            SimulatedOperation::Write => MediumDirection::Write,
        };
        let fault = self.fault.as_mut();
        let failure = fault.and_then(|fault| fault.strike(request.offset_bytes, length_bytes));
        if let Some(kind) = failure {
            self.complete(now_ns, Err(kind), completions);
        } else if length_bytes == 0
            && request.length_bytes > 0
            && direction == MediumDirection::Write
        {
            self.complete(now_ns, Err(FaultKind::NoSpace), completions);
        } else if length_bytes == 0 {
            self.complete(now_ns, Ok(0), completions);
        } else {
            self.begin_transfer(now_ns, request, length_bytes, direction);
        }
        true
    }

    fn begin_transfer(
        &mut self,
        now_ns: u64,
        request: SimulatedRequest,
        length_bytes: u64,
        direction: MediumDirection,
    ) {
        if self
            .surplus
            .is_some_and(|(operation, _)| operation != request.operation)
        {
            self.drop_surplus();
        }
        if direction == MediumDirection::Write {
            self.drop_read_ahead(now_ns);
        }
        if direction == MediumDirection::Write
            && let Some(cache) = &mut self.cache
        {
            cache.announce(request.offset_bytes, length_bytes, &self.zones);
            let mut transfer = SimulatedTransfer::into_cache(request.offset_bytes, length_bytes);
            transfer.piece_left -= self.surplus.take().map_or(0, |(_, surplus)| surplus);
            self.service = Service::Transferring(transfer);
            return;
        }
        let surplus = self.surplus.take().map_or(0, |(_, surplus)| surplus);
        if direction == MediumDirection::Read
            && let (Some(read_ahead), Some(rotation)) = (&mut self.read_ahead, &mut self.rotation)
        {
            let (offset_bytes, zones) = (request.offset_bytes, &self.zones);
            read_ahead.begin(offset_bytes, length_bytes, zones, rotation, now_ns);
            let mut transfer = SimulatedTransfer::from_segment(offset_bytes, length_bytes);
            transfer.piece_left -= surplus;
            self.service = Service::Transferring(transfer);
            return;
        }
        let mut transfer =
            SimulatedTransfer::of_media(direction, request.offset_bytes, length_bytes);
        transfer.piece_left = -surplus;
        self.begin_piece(now_ns, transfer);
    }

    /// Begins the next piece of a transfer, or waits until it comes under the head.
    fn begin_piece(&mut self, now_ns: u64, mut transfer: SimulatedTransfer) {
        let comes_ns = transfer.comes_ns(&self.zones, self.rotation.as_ref(), now_ns);
        self.service = if comes_ns > now_ns {
            transfer.piece_left = 0;
            Service::Turning(transfer, comes_ns)
        } else {
            transfer.begin_piece(&self.zones, self.rotation.as_ref(), now_ns);
            Service::Transferring(transfer)
        };
    }

    /// Begins the piece that was waited for if it is under the head; false if it is not yet.
    pub(super) fn end_turning(&mut self, now_ns: u64) -> bool {
        match std::mem::replace(&mut self.service, Service::Waiting) {
            // If the disk was held during that time, the piece has passed and comes round again.
            Service::Turning(transfer, until_ns) if until_ns <= now_ns && !self.stalled => {
                self.begin_piece(now_ns, transfer);
                true
            }
            service => {
                self.service = service;
                false
            }
        }
    }

    /// Goes on after a piece: with the next one, or with the answer.
    pub(super) fn end_piece(&mut self, now_ns: u64, completions: &mut Vec<SimulatedCompletion>) {
        match std::mem::replace(&mut self.service, Service::Waiting) {
            Service::Transferring(transfer) => {
                transfer.end_piece(self.rotation.as_mut());
                if transfer.has_next_piece() {
                    self.begin_piece(now_ns, transfer);
                } else {
                    self.end_transfer(now_ns, -transfer.piece_left, completions);
                }
            }
            service => self.service = service,
        }
    }

    fn end_transfer(
        &mut self,
        now_ns: u64,
        surplus: Amount,
        completions: &mut Vec<SimulatedCompletion>,
    ) {
        let request = self
            .queue
            .front()
            .expect("a transfer is the front's")
            .request;
        self.surplus = Some((request.operation, surplus));
        if request.durable && request.operation == SimulatedOperation::Write {
            // The following request is no longer seamless.
            self.drop_surplus();
            self.answer_when_durable(now_ns, completions);
        } else {
            self.answer(now_ns, completions);
        }
    }

    fn answer_when_durable(&mut self, now_ns: u64, completions: &mut Vec<SimulatedCompletion>) {
        if self.cache.as_ref().is_some_and(Cache::needs_draining) {
            self.service = Service::Draining;
        } else {
            self.answer(now_ns, completions);
        }
    }

    /// Completes the front as done.
    pub(super) fn answer(&mut self, now_ns: u64, completions: &mut Vec<SimulatedCompletion>) {
        let length_bytes = self.queue.front().map_or(0, |front| front.length_bytes);
        self.complete(now_ns, Ok(length_bytes), completions);
    }

    fn complete(
        &mut self,
        time_ns: u64,
        outcome: Result<u64, FaultKind>,
        completions: &mut Vec<SimulatedCompletion>,
    ) {
        let front = self
            .queue
            .pop_front()
            .expect("only the front of the queue completes");
        let SimulatedRequest { id, disk, .. } = front.request;
        completions.push(SimulatedCompletion {
            id,
            disk,
            time_ns,
            outcome,
        });
        self.service = Service::Waiting;
    }
}
