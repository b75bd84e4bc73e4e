//! Runs simulated machines behind the same trait as real disks. In virtual time, waiting moves the
//! clock to the next completion; beside real disks, the machine keeps to the real clock.

mod shared_machine;

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

pub use shared_machine::SharedMachine;

use super::{Completion, Engine, Operation, Request, Until, Waker};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, IoFault};
use crate::simulated::{SimulatedCompletion, SimulatedOperation, SimulatedRequest};

/// A disk of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedTarget {
    /// Index into the engine's machines.
    pub machine: usize,
    /// Index into the machine's disks.
    pub disk: usize,
}

/// Drives disks of simulated machines. A machine serves one engine at a time.
pub struct SimulatedEngine {
    machines: Vec<SharedMachine>,
    /// How often each machine's power had been cut when this engine was opened.
    power_cuts: Vec<u64>,
    targets: Vec<SimulatedTarget>,
    clock: Clock,
    slots: Vec<Option<(Request, Timestamp)>>,
    free_slots: Vec<usize>,
    reaped: Vec<SimulatedCompletion>,
    bell: Arc<Bell>,
}

/// The signal that a waker gives, and for which a wait in real time listens.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    ringing: Condvar,
}

/// The point to which a machine is advanced.
#[derive(Clone, Copy)]
enum Advance {
    /// To this time.
    To(Timestamp),
    /// To its first completion, at this time at the latest.
    ToCompletion(Timestamp),
}

impl SimulatedEngine {
    /// An engine over `targets`.
    pub fn new(
        machines: Vec<SharedMachine>,
        targets: Vec<SimulatedTarget>,
        clock: Clock,
    ) -> SimulatedEngine {
        let power_cuts = machines
            .iter()
            .map(|machine| machine.lock().power_cuts)
            .collect();
        SimulatedEngine {
            machines,
            power_cuts,
            targets,
            clock,
            slots: Vec::new(),
            free_slots: Vec::new(),
            reaped: Vec::new(),
            bell: Arc::default(),
        }
    }

    /// Moves all machines to the first completion on any, but not beyond `deadline`.
    fn advance_virtually(
        &mut self,
        deadline: Timestamp,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        if self.machines.len() == 1 {
            let reached = self.advance(0, Advance::ToCompletion(deadline), completions)?;
            self.clock.wait_until(reached);
            return Ok(());
        }
        let before = completions.len();
        while completions.len() == before {
            let next = self
                .next_event()
                .map_or(deadline, |next| next.min(deadline));
            self.advance_all(next, completions)?;
            self.clock.wait_until(next);
            if next == deadline {
                break;
            }
        }
        Ok(())
    }

    /// Sleeps for as long as the machines need.
    fn advance_really(
        &mut self,
        deadline: Timestamp,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        let before = completions.len();
        loop {
            let now = self.clock.now();
            self.advance_all(now, completions)?;
            if completions.len() > before || now >= deadline || self.bell.is_rung() {
                return Ok(());
            }
            let next = self
                .next_event()
                .map_or(deadline, |next| next.min(deadline));
            self.bell.listen(next.since_ns(self.clock.now()));
        }
    }

    fn advance_all(
        &mut self,
        time: Timestamp,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        for index in 0..self.machines.len() {
            self.advance(index, Advance::To(time), completions)?;
        }
        Ok(())
    }

    /// Runs a machine, takes what it has completed, and returns the time it has reached. The
    /// machine stays locked during that: a power cut comes either before all of this or after it.
    fn advance(
        &mut self,
        index: usize,
        advance: Advance,
        completions: &mut Vec<Completion>,
    ) -> Result<Timestamp, Error> {
        let shared = &self.machines[index];
        let mut state = shared.lock();
        if state.power_cuts != self.power_cuts[index] {
            return Err(Error::EngineFailed {
                engine: "simulated",
                error: std::io::Error::other(
                    "the power of a simulated machine was cut; open a new engine",
                ),
            });
        }
        let reached = match advance {
            Advance::To(time) => {
                let time_ns = shared.time(time);
                state.machine.advance(time_ns, &mut self.reaped);
                time
            }
            Advance::ToCompletion(deadline) => {
                let until_ns = shared.time(deadline);
                let reached_ns = state
                    .machine
                    .advance_to_completion(until_ns, &mut self.reaped);
                shared.origin + reached_ns
            }
        };
        for reaped in self.reaped.drain(..) {
            let slot = reaped.id as usize;
            let (mut request, submitted_at) = self.slots[slot]
                .take()
                .expect("a machine completes what was submitted, once");
            self.free_slots.push(slot);
            state.complete(reaped, &mut request);
            let (bytes, error) = match reaped.outcome {
                Ok(bytes) => (bytes, None),
                Err(fault) => (0, Some(IoFault::Kernel(fault.raw_os_error()))),
            };
            completions.push(Completion {
                request,
                submitted_at,
                completed_at: shared.origin + reaped.time_ns,
                bytes,
                error,
            });
        }
        Ok(reached)
    }

    fn next_event(&self) -> Option<Timestamp> {
        self.machines
            .iter()
            .filter_map(|machine| Some(machine.origin + machine.lock().machine.next_event_ns()?))
            .min()
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
        request.assert_memory_fits();
        let now = self.clock.now();
        let target = self.targets[request.target];
        let machine = &self.machines[target.machine];
        let mut state = machine.lock();
        if state.power_cuts != self.power_cuts[target.machine] {
            // The request is dropped, and the next wait reports why.
            return;
        }
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
        state.begin(target.disk, simulated.id, &request);
        self.slots[slot] = Some((request, now));
        state.machine.submit(machine.time(now), simulated);
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        match until {
            Until::CompletionOr(deadline) if !self.clock.is_virtual() => {
                self.advance_really(deadline, completions)?;
            }
            Until::CompletionOr(deadline) if !self.bell.is_rung() => {
                self.advance_virtually(deadline, completions)?;
            }
            // No virtual time passes when somebody has already rung.
            Until::CompletionOr(_) | Until::Now => {
                self.advance_all(self.clock.now(), completions)?;
            }
        }
        // A wake-up from now on is for the next wait; an earlier one is handled next.
        self.bell.silence();
        Ok(())
    }

    fn waker(&self) -> Waker {
        let bell = Arc::clone(&self.bell);
        Waker::new(move || bell.ring())
    }
}

impl Drop for SimulatedEngine {
    fn drop(&mut self) {
        // No kernel writes into the buffers here, so nothing must be waited for after a panic.
        if std::thread::panicking() {
            return;
        }
        let mut completions = Vec::new();
        while self.free_slots.len() < self.slots.len() {
            let end_of_time = Until::CompletionOr(Timestamp(u64::MAX));
            let waited = self.wait(end_of_time, &mut completions);
            let nothing_comes = completions.is_empty() && self.clock.now() == Timestamp(u64::MAX);
            if waited.is_err() || nothing_comes {
                return;
            }
            completions.clear();
        }
    }
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.rung.lock().expect("nothing can panic with the bell")
    }

    fn ring(&self) {
        *self.lock() = true;
        self.ringing.notify_one();
    }

    fn is_rung(&self) -> bool {
        *self.lock()
    }

    fn silence(&self) {
        *self.lock() = false;
    }

    /// Waits until there is a wake-up, or at most for this long.
    fn listen(&self, duration_ns: u64) {
        let rung = self.lock();
        let waited = self.ringing.wait_timeout_while(
            rung,
            Duration::from_nanos(duration_ns),
            |rung: &mut bool| !*rung,
        );
        drop(waited.expect("nothing can panic with the bell"));
    }
}
