//! Simulated machines behind the same seam as real disks. In virtual time, waiting moves the clock
//! to the next completion; beside real disks, the machine keeps to the real clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Completion, Engine, Operation, Request, Until, Waker};
use crate::clock::{Clock, Timestamp};
use crate::error::{Errno, Error};
use crate::simulated::{Machine, SimulatedCompletion, SimulatedOperation, SimulatedRequest};

/// A machine that outlives the engine: its caches stay full from one phase of a run to the next.
#[derive(Clone)]
pub struct SharedMachine {
    machine: Arc<Mutex<Machine>>,
    /// The clock's time at the machine's time 0.
    origin: Timestamp,
}

impl SharedMachine {
    /// A machine whose time 0 is now.
    pub fn new(machine: Machine, clock: &Clock) -> SharedMachine {
        SharedMachine {
            machine: Arc::new(Mutex::new(machine)),
            origin: clock.now(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine
            .lock()
            .expect("no panic leaves a machine half stepped")
    }

    fn time(&self, now: Timestamp) -> u64 {
        now.since_ns(self.origin)
    }
}

/// A disk of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedTarget {
    /// Index into the engine's machines.
    pub machine: usize,
    /// Index into the machine's disks.
    pub disk: usize,
}

/// Drives disks of simulated machines.
pub struct SimulatedEngine {
    machines: Vec<SharedMachine>,
    targets: Vec<SimulatedTarget>,
    clock: Clock,
    slots: Vec<Option<(Request, Timestamp)>>,
    free_slots: Vec<usize>,
    reaped: Vec<SimulatedCompletion>,
    woken: Arc<AtomicBool>,
}

impl SimulatedEngine {
    /// An engine over `targets`.
    pub fn new(
        machines: Vec<SharedMachine>,
        targets: Vec<SimulatedTarget>,
        clock: Clock,
    ) -> SimulatedEngine {
        SimulatedEngine {
            machines,
            targets,
            clock,
            slots: Vec::new(),
            free_slots: Vec::new(),
            reaped: Vec::new(),
            woken: Arc::default(),
        }
    }

    /// Moves all machines to the first completion on any, but not beyond `deadline`.
    fn advance_virtually(&mut self, deadline: Timestamp) {
        if let [only] = self.machines.as_slice() {
            let until_ns = only.time(deadline);
            let reached_ns = only
                .lock()
                .advance_to_completion(until_ns, &mut self.reaped);
            self.clock.wait_until(only.origin + reached_ns);
            return;
        }
        while self.reaped.is_empty() {
            let next = self
                .next_event()
                .map_or(deadline, |next| next.min(deadline));
            self.advance_to(next);
            self.clock.wait_until(next);
            if next == deadline {
                return;
            }
        }
    }

    /// Sleeps as the machines would have it.
    fn advance_really(&mut self, deadline: Timestamp) {
        loop {
            self.advance_to(self.clock.now());
            let now = self.clock.now();
            if !self.reaped.is_empty() || now >= deadline || self.woken.load(Ordering::Acquire) {
                return;
            }
            let next = self
                .next_event()
                .map_or(deadline, |next| next.min(deadline));
            self.clock.wait_until(next);
        }
    }

    fn advance_to(&mut self, time: Timestamp) {
        for machine in &self.machines {
            machine.lock().advance(machine.time(time), &mut self.reaped);
        }
    }

    fn next_event(&self) -> Option<Timestamp> {
        self.machines
            .iter()
            .filter_map(|machine| Some(machine.origin + machine.lock().next_event_ns()?))
            .min()
    }

    fn hand_back(&mut self, completions: &mut Vec<Completion>) {
        for reaped in self.reaped.drain(..) {
            let slot = reaped.id as usize;
            let (request, submitted_at) = self.slots[slot]
                .take()
                .expect("a machine completes what was submitted, once");
            self.free_slots.push(slot);
            let origin = self.machines[self.targets[request.target].machine].origin;
            let (bytes, error) = match reaped.outcome {
                Ok(bytes) => (bytes, None),
                Err(fault) => (0, Some(Errno(fault.raw_os_error()))),
            };
            let completed_at = origin + reaped.time_ns;
            completions.push(Completion {
                request,
                submitted_at,
                completed_at,
                bytes,
                error,
            });
        }
    }
}

impl Engine for SimulatedEngine {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn describe(&self) -> String {
        if self.clock.is_virtual() {
            "simulated machine in virtual time".to_owned()
        } else {
            "simulated machine in real time".to_owned()
        }
    }

    fn submit(&mut self, request: Request) {
        let now = self.clock.now();
        let target = self.targets[request.target];
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let operation = match request.operation {
            Operation::Read => SimulatedOperation::Read,
            Operation::Write => SimulatedOperation::Write,
            Operation::Flush => SimulatedOperation::Flush,
        };
        let simulated = SimulatedRequest {
            id: slot as u64,
            disk: target.disk,
            operation,
            offset_bytes: request.offset_bytes,
            length_bytes: request.vectors.len_bytes(),
            durable: request.durable,
        };
        self.slots[slot] = Some((request, now));
        let machine = &self.machines[target.machine];
        machine.lock().submit(machine.time(now), simulated);
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        match until {
            Until::Now => self.advance_to(self.clock.now()),
            Until::CompletionOr(deadline) if self.clock.is_virtual() => {
                self.advance_virtually(deadline);
            }
            Until::CompletionOr(deadline) => self.advance_really(deadline),
        }
        self.woken.store(false, Ordering::Release);
        self.hand_back(completions);
        Ok(())
    }

    fn waker(&self) -> Waker {
        let woken = Arc::clone(&self.woken);
        Waker::new(move || woken.store(true, Ordering::Release))
    }
}
