//! A simulated machine that outlives its engines, with the contents of its disks if these are kept.
//! Whoever opens simulated targets makes it, and one engine at a time drives it; tests and tools
//! cut its power and look at its disks in between. No lock may be held while time is waited for.

use std::sync::{Arc, Mutex, MutexGuard};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::clock::{Clock, Timestamp};
use crate::engine::{Operation, Request, Vector};
use crate::simulated::{Machine, Medium, SimulatedCompletion};

/// A machine that outlives the engine: its caches stay full from one phase of a run to the next.
#[derive(Clone)]
pub struct SharedMachine {
    state: Arc<Mutex<MachineState>>,
    /// The clock's time at the machine's time 0.
    pub(super) origin: Timestamp,
}

pub(super) struct MachineState {
    pub(super) machine: Machine,
    /// How often the power was cut: requests that an engine submitted before a cut are gone.
    pub(super) power_cuts: u64,
    disks: Option<Vec<DiskContents>>,
}

struct DiskContents {
    medium: Medium,
    bytes_read: u64,
}

impl SharedMachine {
    /// A machine whose time 0 is now. Only times are simulated: written data is gone, and a read
    /// leaves its buffers as they are.
    pub fn new(machine: Machine, clock: &Clock) -> SharedMachine {
        SharedMachine::build(machine, None, clock)
    }

    /// A machine whose time 0 is now, with disks that keep what is written: at first zeros. A
    /// written page of 4 KiB takes as much memory.
    pub fn with_contents(machine: Machine, clock: &Clock) -> SharedMachine {
        let contents = |disk: &crate::simulated::SimulatedDiskFacts| DiskContents {
            medium: Medium::new(disk.capacity_bytes, disk.volatile_cache),
            bytes_read: 0,
        };
        let disks = machine.disks().iter().map(contents).collect();
        SharedMachine::build(machine, Some(disks), clock)
    }

    fn build(machine: Machine, disks: Option<Vec<DiskContents>>, clock: &Clock) -> SharedMachine {
        SharedMachine {
            state: Arc::new(Mutex::new(MachineState {
                machine,
                power_cuts: 0,
                disks,
            })),
            origin: clock.now(),
        }
    }

    /// Begins a new run: each disk's rates get a noise of their own, which the machine's seed and
    /// the number of the run fix. A machine for which this is never called stays in its first run.
    /// The time goes on, and caches stay as full as they are.
    pub fn begin_run(&self) {
        self.lock().machine.begin_run();
    }

    /// Cuts the power, which comes back at once; the time goes on.
    ///
    /// What is durable stays. Of each write in flight, or completed in a volatile cache and not
    /// flushed since, any subset of its sectors of 512 bytes stays, whatever became of writes
    /// before and after it. The seed decides among all lost, all there, a prefix, a suffix, single
    /// sectors, only the later, only the earlier, and any mix; then what is there is durable.
    ///
    /// Requests in flight are forgotten and never complete: [`Engine::wait`] of an engine that was
    /// open fails from then on, and a new engine may be opened.
    ///
    /// [`Engine::wait`]: crate::engine::Engine::wait
    pub fn power_cut(&self, seed: u64) {
        let mut state = self.lock();
        state.power_cuts += 1;
        state.machine.cut_power();
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for disk in state.disks.iter_mut().flatten() {
            disk.medium.cut_power(&mut generator);
        }
    }

    /// Fills `bytes` with what a read of the disk from `offset_bytes` on would give now, without
    /// taking time or being counted as read.
    ///
    /// # Panics
    /// Panics if the machine keeps no contents, has no such disk, or the range reaches beyond its
    /// end.
    pub fn read_contents(&self, disk: usize, offset_bytes: u64, bytes: &mut [u8]) {
        let mut state = self.lock();
        state.assert_within(disk, offset_bytes, bytes.len());
        state.disk(disk).medium.read(offset_bytes, bytes);
    }

    /// Puts `bytes` on the disk as if they had always been there, such as damaged bits or another
    /// disk's data.
    ///
    /// # Panics
    /// Panics if the machine keeps no contents, has no such disk, or the range reaches beyond its
    /// end.
    pub fn write_contents(&self, disk: usize, offset_bytes: u64, bytes: &[u8]) {
        let mut state = self.lock();
        state.assert_within(disk, offset_bytes, bytes.len());
        state.disk(disk).medium.write(offset_bytes, bytes);
    }

    /// The bytes that a read of the disk would see now, without anything in flight.
    ///
    /// # Panics
    /// Panics if the machine keeps no contents, or has no such disk.
    pub fn snapshot(&self, disk: usize) -> Medium {
        self.lock().disk(disk).medium.snapshot()
    }

    /// Replaces a disk's medium by another one, such as an old state of it. Writes in flight
    /// complete and are lost with the medium that they went to.
    ///
    /// # Panics
    /// Panics if the machine keeps no contents, or has no such disk.
    pub fn restore(&self, disk: usize, medium: Medium) {
        self.lock().disk(disk).medium = medium;
    }

    /// Bytes that read requests to the disk have moved so far.
    ///
    /// # Panics
    /// Panics if the machine keeps no contents, or has no such disk.
    pub fn bytes_read(&self, disk: usize) -> u64 {
        self.lock().disk(disk).bytes_read
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, MachineState> {
        self.state
            .lock()
            .expect("no panic leaves a machine half stepped")
    }

    /// The machine's time at a time of the clock.
    pub(super) fn time(&self, now: Timestamp) -> u64 {
        now.since_ns(self.origin)
    }
}

impl MachineState {
    fn disk(&mut self, disk: usize) -> &mut DiskContents {
        let disks = self.disks.as_mut();
        &mut disks.expect("the machine was made with contents")[disk]
    }

    fn assert_within(&self, disk: usize, offset_bytes: u64, length: usize) {
        let end = offset_bytes.checked_add(length as u64);
        let capacity_bytes = self.machine.disks()[disk].capacity_bytes;
        assert!(
            end.is_some_and(|end| end <= capacity_bytes),
            "the bytes lie on the disk"
        );
    }

    /// Notes that a request with this id goes to the disk.
    pub(super) fn begin(&mut self, disk: usize, id: u64, request: &Request) {
        let Some(disks) = &mut self.disks else {
            return;
        };
        let medium = &mut disks[disk].medium;
        match request.operation {
            Operation::Read => {}
            Operation::Write => {
                let parts = request.vectors.as_slice().iter().map(Vector::bytes);
                medium.begin_write(id, request.offset_bytes, request.durable, parts);
            }
            Operation::Flush => medium.begin_flush(id),
        }
    }

    /// Ends a request: a write becomes readable, and a read gets its bytes.
    pub(super) fn complete(&mut self, done: SimulatedCompletion, request: &mut Request) {
        let Some(disks) = &mut self.disks else {
            return;
        };
        let disk = &mut disks[done.disk];
        match (request.operation, done.outcome) {
            (Operation::Read, Ok(bytes)) => disk.read(request, bytes),
            (Operation::Read, Err(_)) => {}
            (Operation::Write, Ok(bytes)) => disk.medium.complete_write(done.id, bytes),
            (Operation::Write, Err(_)) => disk.medium.fail_write(done.id),
            (Operation::Flush, outcome) => disk.medium.end_flush(done.id, outcome.is_ok()),
        }
    }
}

impl DiskContents {
    /// Fills the first `bytes` of a request's buffers.
    fn read(&mut self, request: &mut Request, bytes: u64) {
        self.bytes_read += bytes;
        let (mut offset_bytes, end) = (request.offset_bytes, request.offset_bytes + bytes);
        for vector in request.vectors.as_mut_slice() {
            let length = (vector.len() as u64).min(end - offset_bytes);
            let part = &mut vector.bytes_mut()[..length as usize];
            self.medium.read(offset_bytes, part);
            offset_bytes += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::simulated::{MachineFile, SimulatedOperation, SimulatedRequest};

    /// How long a read of 1 MB takes now.
    fn read_ns(shared: &SharedMachine) -> u64 {
        let machine = &mut shared.lock().machine;
        let start_ns = machine.now_ns();
        let request = SimulatedRequest {
            id: 0,
            disk: 0,
            operation: SimulatedOperation::Read,
            offset_bytes: 0,
            length_bytes: 1_000_000,
            durable: false,
        };
        machine.submit(start_ns, request);
        machine.advance_to_completion(u64::MAX, &mut Vec::new()) - start_ns
    }

    #[test]
    fn each_run_has_a_noise_of_its_own_for_all_who_share_the_machine() {
        let text = "[[disk]]\nname='a'\ncapacity='1GB'\nread='100MB/s'\nnoise='2%'\n";
        let file = MachineFile::parse(text, Path::new("test.toml")).unwrap();
        let shared = SharedMachine::new(Machine::new(&file, 3), &Clock::simulated());
        let other = shared.clone();
        let first = read_ns(&shared);
        assert_eq!(read_ns(&other), first);
        shared.begin_run();
        let second = read_ns(&other);
        assert_ne!(second, first);
        assert_eq!(read_ns(&shared), second);
    }
}
