//! How the limits of a simulated machine are shared by the disks that transfer at one moment.
//! Called by the machine when the set of transfers or the rate of one changes. It knows no time.

use super::fluid::{FlowRate, flow_rate};
use super::machine_file::{LimitRates, MachineFile};
use super::zone::Direction;

/// What a disk wants to transfer now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    /// The rate the disk itself allows; zero when it transfers nothing.
    pub(super) cap: FlowRate,
    pub(super) direction: Direction,
}

impl Flow {
    pub(super) const NONE: Self = Self {
        cap: 0,
        direction: Direction::Read,
    };
}

/// Max-min fair sharing over limits that each disk passes any number of.
pub(super) struct Sharing {
    /// What each limit carries; a limit with two rates is two of these.
    limits: Vec<FlowRate>,
    /// The limits that a disk's reads and writes pass.
    read_paths: Vec<Vec<usize>>,
    write_paths: Vec<Vec<usize>>,
    /// What each disk gets, after [`Sharing::allocate`].
    rates: Vec<FlowRate>,
    /// Working space of one allocation: what is left of each limit, the flows still to be settled
    /// that pass it, and these flows' disks.
    left: Vec<FlowRate>,
    users: Vec<u64>,
    open: Vec<usize>,
}

impl Sharing {
    pub(super) fn new(file: &MachineFile) -> Self {
        let mut limits = Vec::new();
        let mut index_by_direction = Vec::new();
        for limit in &file.limits {
            match limit.rates {
                LimitRates::Together(rate) => {
                    limits.push(flow_rate(rate));
                    index_by_direction.push((limits.len() - 1, limits.len() - 1));
                }
                LimitRates::Apart {
                    read_bytes_per_s,
                    write_bytes_per_s,
                } => {
                    limits.push(flow_rate(read_bytes_per_s));
                    limits.push(flow_rate(write_bytes_per_s));
                    index_by_direction.push((limits.len() - 2, limits.len() - 1));
                }
            }
        }
        let paths = |pick: fn((usize, usize)) -> usize| {
            let path = |through: &[usize]| -> Vec<usize> {
                through
                    .iter()
                    .map(|limit| pick(index_by_direction[*limit]))
                    .collect()
            };
            file.disks.iter().map(|disk| path(&disk.through)).collect()
        };
        Self {
            read_paths: paths(|indices| indices.0),
            write_paths: paths(|indices| indices.1),
            rates: vec![0; file.disks.len()],
            left: limits.clone(),
            users: vec![0; limits.len()],
            open: Vec::with_capacity(file.disks.len()),
            limits,
        }
    }

    /// The rate of each disk as last allocated.
    pub(super) fn rates(&self) -> &[FlowRate] {
        &self.rates
    }

    /// Progressive filling (Bertsekas and Gallager, "Data Networks", 6.5.2): all flows rise
    /// together; one stops at its own cap, and all those through a limit when it is used up.
    /// In integers, so that equal disks get equal rates whatever their order.
    pub(super) fn allocate(&mut self, wanted: &[Flow]) {
        self.left.copy_from_slice(&self.limits);
        self.users.fill(0);
        self.open.clear();
        self.rates.fill(0);
        for (disk, flow) in wanted.iter().enumerate().filter(|(_, flow)| flow.cap > 0) {
            self.open.push(disk);
            for &limit in path(&self.read_paths, &self.write_paths, disk, *flow) {
                self.users[limit] += 1;
            }
        }
        while !self.open.is_empty() {
            let tightest = (0..self.limits.len())
                .filter(|limit| self.users[*limit] > 0)
                .map(|limit| (self.left[limit] / self.users[limit], limit))
                .min();
            let fair = tightest.map_or(FlowRate::MAX, |(fair, _)| fair);
            if self.settle(wanted, |flow, _| (flow.cap <= fair).then_some(flow.cap)) {
                continue;
            }
            let (fair, limit) = tightest.expect("without a limit every flow stops at its cap");
            self.settle(wanted, |_, path| path.contains(&limit).then_some(fair));
        }
    }

    /// Gives each open flow the rate that `decide` says, if any; true if it gave one.
    fn settle(
        &mut self,
        wanted: &[Flow],
        decide: impl Fn(Flow, &[usize]) -> Option<FlowRate>,
    ) -> bool {
        let open_before = self.open.len();
        let Self {
            open,
            left,
            users,
            rates,
            read_paths,
            write_paths,
            ..
        } = self;
        open.retain(|&disk| {
            let path = path(read_paths, write_paths, disk, wanted[disk]);
            let Some(rate) = decide(wanted[disk], path) else {
                return true;
            };
            rates[disk] = rate;
            for &limit in path {
                left[limit] -= rate;
                users[limit] -= 1;
            }
            false
        });
        open.len() < open_before
    }
}

fn path<'a>(
    read: &'a [Vec<usize>],
    write: &'a [Vec<usize>],
    disk: usize,
    flow: Flow,
) -> &'a [usize] {
    match flow.direction {
        Direction::Read => &read[disk],
        Direction::Write => &write[disk],
    }
}
