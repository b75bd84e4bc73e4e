//! The simulated machine: requests go in and completions come out, in virtual time and always the
//! same. The simulated engine (or a test) drives it in one thread. Its clock moves only by `submit`
//! and `advance`; the real clock is never read.

#[cfg(test)]
mod tests;

use super::disk::DiskModel;
use super::machine_file::{DiskDescription, MachineFile};
use super::noise::DiskNoise;
use super::request::{SimulatedCompletion, SimulatedRequest};
use super::sharing::{Flow, Sharing};
use super::timetable::Timetable;

/// The fixed properties of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedDiskFacts {
    /// Its name in the machine file.
    pub name: String,
    /// Its size.
    pub capacity_bytes: u64,
    /// Whether a power cut loses what was completed and not flushed.
    pub volatile_cache: bool,
}

/// A server of requests that pass a limit: it serves each in the order of arrival, whatever its
/// disk, and then the next one, as a processor or a controller does. Transfers go on during that.
struct Server {
    request_ns: u64,
    /// The time when the last request that has arrived is served.
    done_ns: u64,
}

/// A machine with all its disks, from virtual time 0: one run, or several one after another. The
/// same file, seed and calls give the same completions.
pub struct Machine {
    facts: Vec<SimulatedDiskFacts>,
    descriptions: Vec<DiskDescription>,
    /// The noise of the runs to come.
    noise: DiskNoise,
    disks: Vec<DiskModel>,
    /// The servers for requests of several disks, which serve one at a time: one server for each
    /// limit.
    servers: Vec<Server>,
    sharing: Sharing,
    /// The transfers that each disk wants; `sharing` is allocated for them unless `unsettled`.
    wanted: Vec<Flow>,
    /// Whether some disk wants something else than was allocated for.
    unsettled: bool,
    /// The disks for which that is so.
    unsettled_disks: Vec<bool>,
    /// The time at which each disk must be stepped.
    timetable: Timetable,
    now_ns: u64,
    in_flight: usize,
    /// Completions that are not yet handed out.
    completed: Vec<SimulatedCompletion>,
}

impl Machine {
    /// A machine at time 0 with idle disks, in its first run. The seed fixes the noise of all runs.
    ///
    /// # Panics
    /// Panics if a disk passes a limit that `file` does not have; a file that was parsed never has
    /// such a disk.
    #[must_use]
    pub fn new(file: &MachineFile, seed: u64) -> Self {
        let mut noise = DiskNoise::new(seed);
        let sharing = Sharing::new(file);
        let disk = |(index, description): (usize, &DiskDescription)| {
            let factor = noise.factor(description.noise_fraction);
            DiskModel::new(description, index, factor, sharing.is_by_depth())
        };
        let disks: Vec<DiskModel> = file.disks.iter().enumerate().map(disk).collect();
        let facts = |disk: &DiskDescription| SimulatedDiskFacts {
            name: disk.name.clone(),
            capacity_bytes: disk.capacity_bytes,
            volatile_cache: disk.cache.as_ref().is_some_and(|cache| cache.volatile),
        };
        Self {
            facts: file.disks.iter().map(facts).collect(),
            descriptions: file.disks.clone(),
            noise,
            servers: file
                .limits
                .iter()
                .map(|limit| Server {
                    request_ns: limit.request_ns,
                    done_ns: 0,
                })
                .collect(),
            sharing,
            wanted: vec![Flow::NONE; disks.len()],
            unsettled: false,
            unsettled_disks: vec![false; disks.len()],
            timetable: Timetable::new(disks.len()),
            now_ns: 0,
            in_flight: 0,
            completed: Vec::new(),
            disks,
        }
    }

    /// The disks, in the order of the file.
    #[must_use]
    pub fn disks(&self) -> &[SimulatedDiskFacts] {
        &self.facts
    }

    /// The virtual time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Requests submitted and not yet handed out as completed.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Enters a request at `now_ns`, or at the machine's time if that is later. Requests that
    /// complete until then are handed out by the next `advance`.
    ///
    /// # Panics
    /// Panics if the machine has no such disk.
    pub fn submit(&mut self, now_ns: u64, request: SimulatedRequest) {
        if now_ns > self.now_ns {
            self.run(now_ns, false);
        }
        let served_ns = self.serve(request.disk);
        let step_ns = self.disks[request.disk].submit(served_ns, request);
        if step_ns < self.timetable.get(request.disk) {
            self.timetable.set(request.disk, step_ns);
        }
        if self.sharing.is_by_depth() {
            self.unsettled_disks[request.disk] = true;
            self.unsettled = true;
        }
        self.in_flight += 1;
    }

    /// Passes a request of a disk through all servers on its path; returns when that is done.
    fn serve(&mut self, disk: usize) -> u64 {
        let mut served_ns = self.now_ns;
        for limit in &self.descriptions[disk].through {
            let server = &mut self.servers[*limit];
            if server.request_ns > 0 {
                served_ns = server
                    .done_ns
                    .max(served_ns)
                    .saturating_add(server.request_ns);
                server.done_ns = served_ns;
            }
        }
        served_ns
    }

    /// The time of the next event inside the machine: no completion comes before it, though none
    /// need come with it. `None` if no request is in flight.
    pub fn next_event_ns(&mut self) -> Option<u64> {
        if self.in_flight == 0 {
            return None;
        }
        if !self.completed.is_empty() {
            return Some(self.now_ns);
        }
        Some(self.next_step().0)
    }

    /// Moves the time to `until_ns` and hands out all completions, in order of time, and in the
    /// disks' order at the same nanosecond.
    pub fn advance(&mut self, until_ns: u64, completions: &mut Vec<SimulatedCompletion>) {
        self.run(until_ns, false);
        self.hand_out(completions);
    }

    /// Moves the time to the first completion, but not beyond `until_ns`, and hands out everything
    /// that completed by then. Returns the time reached.
    pub fn advance_to_completion(
        &mut self,
        until_ns: u64,
        completions: &mut Vec<SimulatedCompletion>,
    ) -> u64 {
        if self.completed.is_empty() {
            self.run(until_ns, true);
        }
        self.hand_out(completions);
        self.now_ns
    }

    /// Begins a new run: each disk's rates get the noise of that run, which the seed and the number
    /// of the run fix. Nothing else changes: caches stay as full as they are, the time goes on, and
    /// requests in flight go on at the new rates.
    pub fn begin_run(&mut self) {
        for (disk, description) in self.disks.iter_mut().zip(&self.descriptions) {
            disk.integrate(self.now_ns);
            disk.set_noise(description, self.noise.factor(description.noise_fraction));
        }
        self.unsettle_all();
    }

    /// Forgets everything in flight, and the content of the disks' caches. The time, the noise of
    /// this run and faults that have struck stay as they are.
    pub fn cut_power(&mut self) {
        for disk in &mut self.disks {
            disk.cut_power(self.now_ns);
        }
        for server in &mut self.servers {
            server.done_ns = self.now_ns;
        }
        self.unsettle_all();
        self.in_flight = 0;
        self.completed.clear();
    }

    /// Has the wants of every disk, and the time to step it, determined before time passes.
    fn unsettle_all(&mut self) {
        for index in 0..self.disks.len() {
            self.timetable.set(index, u64::MAX);
        }
        self.unsettled_disks.fill(true);
        self.unsettled = true;
    }

    fn hand_out(&mut self, completions: &mut Vec<SimulatedCompletion>) {
        self.in_flight -= self.completed.len();
        completions.append(&mut self.completed);
    }

    /// Steps disks until the time; if `to_completion`, only until the first nanosecond in which
    /// one completes something.
    fn run(&mut self, until_ns: u64, to_completion: bool) {
        loop {
            let (step_ns, disk) = self.next_step();
            let ends = to_completion && !self.completed.is_empty() && step_ns > self.now_ns;
            if ends {
                return;
            }
            // At u64::MAX there are no more events.
            if step_ns > until_ns || step_ns == u64::MAX {
                break;
            }
            self.now_ns = step_ns.max(self.now_ns);
            self.step(disk);
        }
        self.now_ns = until_ns.max(self.now_ns);
    }

    /// The disk to step next, and the time. Shares are settled only when time is about to pass, so
    /// that a completion that is answered by a new request at once costs no new sharing.
    fn next_step(&mut self) -> (u64, usize) {
        let next = self.timetable.earliest();
        if next.0 <= self.now_ns || !self.unsettled {
            return next;
        }
        self.settle();
        self.timetable.earliest()
    }

    fn step(&mut self, index: usize) {
        let disk = &mut self.disks[index];
        disk.step(self.now_ns, &mut self.completed);
        if !self.unsettled_disks[index] && disk.wanted() == self.wanted[index] {
            self.timetable.set(index, disk.next_event_ns());
        } else {
            self.timetable.set(index, u64::MAX);
            self.unsettled_disks[index] = true;
            self.unsettled = true;
        }
    }

    /// Shares the limits anew if what the disks want has changed.
    fn settle(&mut self) {
        self.unsettled = false;
        let mut changed = false;
        for (index, disk) in self.disks.iter_mut().enumerate() {
            // A full cache that got less than it drains has space again, and that is no event; nor
            // is it one that the first bytes are read ahead.
            if !self.unsettled_disks[index] && !disk.has_buffer() {
                continue;
            }
            disk.integrate(self.now_ns);
            let wanted = disk.wanted();
            changed |= wanted != self.wanted[index];
            self.wanted[index] = wanted;
        }
        if changed {
            self.sharing.allocate(&self.wanted);
        }
        for (index, disk) in self.disks.iter_mut().enumerate() {
            let rate = self.sharing.rates()[index];
            if !self.unsettled_disks[index] && rate == disk.rate() {
                continue;
            }
            self.unsettled_disks[index] = false;
            disk.integrate(self.now_ns);
            disk.set_rate(rate);
            self.timetable.set(index, disk.next_event_ns());
        }
    }
}
