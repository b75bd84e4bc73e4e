//! One simulated disk: its queue, the request it serves, and the state that depends on time.
//! Driven by the machine, which steps it at its events and tells it its share of the limits.
//!
//! A request passes two stages, each serving one request at a time in the order of arrival: its
//! command (the `request` cost), then its transfer. While one request transfers, the command of the
//! next one is already processed. So a single request takes cost + transfer, and with a queue of
//! two or more each takes the longer of the two: small records and shallow queues are slower, as on
//! real disks.

mod service;

use std::collections::VecDeque;

use super::cache::Cache;
use super::fault::{Fault, FaultKind};
use super::fluid::{Amount, FlowRate, moved, time_ns};
use super::machine_file::DiskDescription;
use super::read_ahead::ReadAhead;
use super::request::{SimulatedCompletion, SimulatedOperation, SimulatedRequest};
use super::rotation::Rotation;
use super::sharing::Flow;
use super::stall::StallSchedule;
use super::transfer::{SimulatedTransfer, TransferEnd};
use super::zone::Zones;

pub(super) struct DiskModel {
    capacity_bytes: u64,
    zones: Zones,
    rotation: Option<Rotation>,
    request_ns: u64,
    cache: Option<Cache>,
    /// Only on a disk that rotates.
    read_ahead: Option<ReadAhead>,
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
            read_ahead: description
                .segment_bytes
                .filter(|_| description.rpm.is_some())
                .map(|bytes| ReadAhead::new(bytes, description.capacity_bytes)),
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
        if let Some(read_ahead) = &mut self.read_ahead {
            read_ahead.look_up_rate(&self.zones);
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
        self.drop_read_ahead(now_ns);
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
        self.read_on(now_ns);
        self.set_drain();
    }

    /// Accounts for what was moved until now. Nothing may be due before.
    pub(super) fn integrate(&mut self, now_ns: u64) {
        let duration_ns = now_ns - self.updated_ns;
        self.updated_ns = now_ns;
        if duration_ns == 0 {
            return;
        }
        let (mut absorbed, mut fetched) = (0, 0);
        if let Service::Transferring(transfer) = &mut self.service {
            let moved = moved(self.rate, duration_ns);
            transfer.piece_left -= moved;
            match transfer.end {
                TransferEnd::Media => {}
                TransferEnd::Cache => absorbed = moved,
                TransferEnd::Segment => fetched = moved,
            }
        }
        if let Some(read_ahead) = &mut self.read_ahead {
            read_ahead.integrate(fetched, duration_ns);
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
        let Service::Transferring(transfer) = &self.service else {
            return Flow::NONE;
        };
        let cap = match transfer.end {
            _ if self.stalled => 0,
            TransferEnd::Media => transfer.media_rate,
            TransferEnd::Cache => self.cache.as_ref().map_or(0, Cache::accept_rate),
            TransferEnd::Segment => self.read_ahead.as_ref().map_or(0, ReadAhead::fetch_rate),
        };
        match cap {
            0 => Flow::NONE,
            cap => Flow {
                cap,
                direction: transfer.direction,
                depth,
            },
        }
    }

    /// Whether what it wants depends on a cache or on what was read ahead, and so on the time that
    /// has passed.
    pub(super) fn has_buffer(&self) -> bool {
        self.cache.is_some() || self.read_ahead.is_some()
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
        let is_reading_on = self.read_ahead.as_ref().is_some_and(ReadAhead::is_busy);
        let is_drained = self.cache.as_ref().is_none_or(Cache::is_empty);
        if self.queue.is_empty() && is_drained && !is_reading_on {
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
            let left_ns = cache.next_change_ns(self.rate_at(TransferEnd::Cache));
            next_ns = next_ns.min(now_ns.saturating_add(left_ns));
        }
        if let Some(read_ahead) = &self.read_ahead {
            let left_ns = read_ahead.next_change_ns(now_ns, self.rate_at(TransferEnd::Segment));
            next_ns = next_ns.min(now_ns.saturating_add(left_ns));
        }
        next_ns
    }

    /// Lets the head read ahead, unless the disk is held.
    fn read_on(&mut self, now_ns: u64) {
        let (Some(read_ahead), Some(rotation)) = (&mut self.read_ahead, &mut self.rotation) else {
            return;
        };
        if self.stalled {
            read_ahead.rest(rotation, now_ns);
            return;
        }
        let is_fetched = matches!(
            &self.service,
            Service::Transferring(transfer) if transfer.end == TransferEnd::Segment
        );
        read_ahead.step(&self.zones, rotation, now_ns, is_fetched);
    }

    fn drop_read_ahead(&mut self, now_ns: u64) {
        if let (Some(read_ahead), Some(rotation)) = (&mut self.read_ahead, &mut self.rotation) {
            read_ahead.drop_all(rotation, now_ns);
        }
    }

    fn drop_surplus(&mut self) {
        match (self.surplus.take(), &mut self.cache, &mut self.read_ahead) {
            (Some((SimulatedOperation::Write, surplus)), Some(cache), _) => {
                cache.take_back(surplus);
            }
            (Some((SimulatedOperation::Read, surplus)), _, Some(read_ahead)) => {
                read_ahead.put_back(surplus);
            }
            _ => {}
        }
    }

    fn set_drain(&mut self) {
        let incoming = self.rate_at(TransferEnd::Cache);
        let is_reading_on = self.read_ahead.as_ref().is_some_and(ReadAhead::is_busy);
        let media_free = !self.stalled
            && !is_reading_on
            && match &self.service {
                Service::Turning(..) => false,
                Service::Transferring(transfer) => transfer.end != TransferEnd::Media,
                Service::Waiting | Service::Draining => true,
            };
        if let Some(cache) = &mut self.cache {
            cache.set_drain(incoming, media_free);
        }
    }

    /// The rate at which data passes at this end, be it in or out.
    fn rate_at(&self, end: TransferEnd) -> FlowRate {
        match &self.service {
            Service::Transferring(transfer) if transfer.end == end && !self.stalled => self.rate,
            _ => 0,
        }
    }
}
