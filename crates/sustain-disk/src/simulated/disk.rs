//! One simulated disk: its queue, the request it serves, and the state that depends on time.
//! Driven by the machine, which steps it at its events and tells it its share of the limits.
//!
//! A request passes two stages, each serving one request at a time in the order of arrival: its
//! command (the `request` cost), then its transfer. While one request transfers, the command of the
//! next one is already processed. So a single request takes cost + transfer, and with a queue of
//! two or more each takes the longer of the two: small records and shallow queues are slower, as on
//! real disks.

use std::collections::VecDeque;

use super::cache::Cache;
use super::fault::{Fault, FaultKind};
use super::fluid::{Amount, FlowRate, moved, time_ns};
use super::machine_file::DiskDescription;
use super::request::{SimulatedCompletion, SimulatedOperation, SimulatedRequest};
use super::rotation::Rotation;
use super::sharing::Flow;
use super::stall::StallSchedule;
use super::transfer::SimulatedTransfer;
use super::zone::{MediumDirection, Zones};

pub(super) struct DiskModel {
    capacity_bytes: u64,
    zones: Zones,
    rotation: Option<Rotation>,
    request_ns: u64,
    cache: Option<Cache>,
    stall: Option<StallSchedule>,
    fault: Option<Fault>,
    flush_fault: Option<FaultKind>,
    /// All requests in flight; the front is the one being served.
    queue: VecDeque<Queued>,
    /// The time when the last command of the queue is done.
    commands_done_ns: u64,
    service: Service,
    /// Bytes moved beyond the end of the last transfer, because events fall on whole nanoseconds:
    /// the next request of the same kind has this much done already, if it was waiting.
    surplus: Option<(SimulatedOperation, Amount)>,
    /// The transfer rate of the front, as shared out by the machine.
    rate: FlowRate,
    stalled: bool,
    /// Whether a limit of the machine is shared by the requests in flight, so that it must be told
    /// of each.
    depth_counts: bool,
    /// The time to which amounts are accounted.
    updated_ns: u64,
}

struct Queued {
    request: SimulatedRequest,
    /// The part of it that is on the disk.
    length_bytes: u64,
    /// The time when its command is done.
    ready_ns: u64,
}

/// The state of the front of the queue.
enum Service {
    /// Its command is not done, or there is no request.
    Waiting,
    /// The next part of its transfer is not under the head before this time.
    Turning(SimulatedTransfer, u64),
    Transferring(SimulatedTransfer),
    /// Everything is transferred; it is durable when the cache is drained.
    Draining,
}

impl DiskModel {
    /// `index` is the disk's on its machine, `factor` the run's noise on every rate; `depth_counts`
    /// where a limit of the machine is shared by the requests in flight.
    pub(super) fn new(
        description: &DiskDescription,
        index: usize,
        factor: f64,
        depth_counts: bool,
    ) -> Self {
        Self {
            capacity_bytes: description.capacity_bytes,
            zones: Zones::new(description, factor),
            rotation: description.rpm.map(|rpm| Rotation::new(rpm, index)),
            request_ns: description.request_ns,
            cache: description
                .cache
                .as_ref()
                .map(|cache| Cache::new(cache, factor)),
            stall: description.stall.map(StallSchedule::new),
            fault: description.fault.map(Fault::new),
            flush_fault: description.flush_fault,
            queue: VecDeque::new(),
            commands_done_ns: 0,
            service: Service::Waiting,
            surplus: None,
            rate: 0,
            stalled: false,
            depth_counts,
            updated_ns: 0,
        }
    }

    /// Begins a run with another noise on every rate. Amounts must be accounted to now.
    pub(super) fn set_noise(&mut self, description: &DiskDescription, factor: f64) {
        self.zones = Zones::new(description, factor);
        if let Service::Transferring(transfer) = &mut self.service {
            transfer.look_up_rate(&self.zones);
        }
        if let (Some(cache), Some(description)) = (&mut self.cache, &description.cache) {
            cache.set_noise(description, factor, &self.zones);
        }
    }

    /// Takes a request that reaches the disk at this time; returns the latest time at which to step
    /// the disk.
    pub(super) fn submit(&mut self, arrives_ns: u64, request: SimulatedRequest) -> u64 {
        let left_bytes = self.capacity_bytes.saturating_sub(request.offset_bytes);
        let length_bytes = match request.operation {
            SimulatedOperation::Flush => 0,
            SimulatedOperation::Read | SimulatedOperation::Write => {
                request.length_bytes.min(left_bytes)
            }
        };
        let start_ns = self.commands_done_ns.max(arrives_ns);
        self.commands_done_ns = match self.stall {
            Some(stall) => stall.work_end_ns(start_ns, self.request_ns),
            None => start_ns.saturating_add(self.request_ns),
        };
        let ready_ns = self.commands_done_ns;
        self.queue.push_back(Queued {
            request,
            length_bytes,
            ready_ns,
        });
        if self.queue.len() == 1 {
            ready_ns
        } else {
            u64::MAX
        }
    }

    /// Forgets all requests and the content of the cache.
    pub(super) fn cut_power(&mut self, now_ns: u64) {
        self.queue.clear();
        self.commands_done_ns = now_ns;
        self.service = Service::Waiting;
        self.surplus = None;
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
        self.updated_ns = now_ns;
    }

    /// Accounts for what was moved until now, and completes and begins what is due.
    pub(super) fn step(&mut self, now_ns: u64, completions: &mut Vec<SimulatedCompletion>) {
        self.integrate(now_ns);
        self.stalled = self.stall.is_some_and(|stall| stall.holds(now_ns));
        if let Some(cache) = &mut self.cache {
            cache.next_pieces(&self.zones);
        }
        loop {
            let goes_on = match &mut self.service {
                Service::Waiting => self.begin(now_ns, completions),
                Service::Turning(..) => self.end_turning(now_ns),
                Service::Transferring(transfer) if transfer.piece_left > 0 => false,
                Service::Transferring(_) => {
                    self.end_piece(now_ns, completions);
                    true
                }
                Service::Draining => {
                    let drained = self.cache.as_ref().is_none_or(Cache::is_empty);
                    if drained {
                        self.answer(now_ns, completions);
                    }
                    drained
                }
            };
            if !goes_on {
                break;
            }
        }
        self.drop_surplus();
        self.set_drain();
    }

    /// Accounts for what was moved until now. Nothing may be due before.
    pub(super) fn integrate(&mut self, now_ns: u64) {
        let duration_ns = now_ns - self.updated_ns;
        self.updated_ns = now_ns;
        if duration_ns == 0 {
            return;
        }
        let mut absorbed = 0;
        if let Service::Transferring(transfer) = &mut self.service {
            let moved = moved(self.rate, duration_ns);
            transfer.piece_left -= moved;
            if transfer.cached {
                absorbed = moved;
            }
        }
        if let Some(cache) = &mut self.cache {
            cache.integrate(absorbed, duration_ns);
        }
    }

    /// The rate at which the disk would transfer now if no limit were in its way.
    pub(super) fn wanted(&self) -> Flow {
        let depth = if self.depth_counts {
            self.queue.len() as u64
        } else {
            1
        };
        match (&self.service, &self.cache) {
            (Service::Transferring(transfer), _) if !self.stalled && !transfer.cached => Flow {
                cap: transfer.media_rate,
                direction: transfer.direction,
                depth,
            },
            (Service::Transferring(transfer), Some(cache)) if !self.stalled => Flow {
                cap: cache.accept_rate(),
                direction: transfer.direction,
                depth,
            },
            _ => Flow::NONE,
        }
    }

    /// Whether what it wants depends on a cache, and so on the time that has passed.
    pub(super) fn has_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// Its share of the limits.
    pub(super) fn rate(&self) -> FlowRate {
        self.rate
    }

    /// Sets its share of the limits. Amounts must be accounted to now.
    pub(super) fn set_rate(&mut self, rate: FlowRate) {
        self.rate = rate;
        self.set_drain();
    }

    /// The time of the next event, at the rates set; `u64::MAX` for never.
    pub(super) fn next_event_ns(&self) -> u64 {
        let now_ns = self.updated_ns;
        if self.queue.is_empty() && self.cache.as_ref().is_none_or(Cache::is_empty) {
            return u64::MAX;
        }
        let change_ns = self
            .stall
            .map_or(u64::MAX, |stall| stall.next_change_ns(now_ns));
        if self.stalled {
            return change_ns;
        }
        let mut next_ns = change_ns;
        match (&self.service, self.queue.front()) {
            (Service::Waiting, Some(front)) => next_ns = next_ns.min(front.ready_ns),
            (Service::Turning(_, until_ns), _) => next_ns = next_ns.min(*until_ns),
            (Service::Transferring(transfer), _) => {
                let left_ns = time_ns(transfer.piece_left, self.rate);
                next_ns = next_ns.min(now_ns.saturating_add(left_ns));
            }
            (Service::Waiting, None) | (Service::Draining, _) => {}
        }
        if let Some(cache) = &self.cache {
            let left_ns = cache.next_change_ns(self.incoming());
            next_ns = next_ns.min(now_ns.saturating_add(left_ns));
        }
        next_ns
    }

    /// Begins the front of the queue if its command is done; false if there is nothing to begin.
    fn begin(&mut self, now_ns: u64, completions: &mut Vec<SimulatedCompletion>) -> bool {
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
        if direction == MediumDirection::Write
            && let Some(cache) = &mut self.cache
        {
            cache.announce(request.offset_bytes, length_bytes, &self.zones);
            let mut transfer = SimulatedTransfer::into_cache(request.offset_bytes, length_bytes);
            transfer.piece_left -= self.surplus.take().map_or(0, |(_, surplus)| surplus);
            self.service = Service::Transferring(transfer);
            return;
        }
        let mut transfer =
            SimulatedTransfer::of_media(direction, request.offset_bytes, length_bytes);
        transfer.piece_left = -self.surplus.take().map_or(0, |(_, surplus)| surplus);
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
    fn end_turning(&mut self, now_ns: u64) -> bool {
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
    fn end_piece(&mut self, now_ns: u64, completions: &mut Vec<SimulatedCompletion>) {
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
    fn answer(&mut self, now_ns: u64, completions: &mut Vec<SimulatedCompletion>) {
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

    fn drop_surplus(&mut self) {
        if let Some((SimulatedOperation::Write, surplus)) = self.surplus.take()
            && let Some(cache) = &mut self.cache
        {
            cache.take_back(surplus);
        }
    }

    fn set_drain(&mut self) {
        let incoming = self.incoming();
        let media_free = !self.stalled
            && match &self.service {
                Service::Turning(..) => false,
                Service::Transferring(transfer) => transfer.cached,
                Service::Waiting | Service::Draining => true,
            };
        if let Some(cache) = &mut self.cache {
            cache.set_drain(incoming, media_free);
        }
    }

    /// The rate at which data comes into the cache.
    fn incoming(&self) -> FlowRate {
        match &self.service {
            Service::Transferring(transfer) if transfer.cached && !self.stalled => self.rate,
            _ => 0,
        }
    }
}
