//! Shares the limits of a simulated machine among the disks that transfer at one moment. The
//! machine calls it when the set of transfers, the rate of one, or the depth of a queue that counts
//! changes. It knows no time, and must leave no rate unused that a disk could take.

use super::fluid::{FlowRate, flow_rate};
use super::machine_file::{LimitRates, MachineFile, SharingRule};
use super::zone::MediumDirection;

#[cfg(test)]
mod tests;

/// The transfer that a disk wants now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    /// The rate the disk itself allows; zero when it transfers nothing.
    pub(super) cap: FlowRate,
    pub(super) direction: MediumDirection,
    /// Requests in flight on the disk; counts where a limit is shared by depth.
    pub(super) depth: u64,
}

impl Flow {
    pub(super) const NONE: Self = Self {
        cap: 0,
        direction: MediumDirection::Read,
        depth: 0,
    };
}

/// Shares limits among disks that each pass any number of them, by the rule of each limit.
pub(super) struct Sharing {
    /// The fixed properties of each limit; a limit with two rates counts as two.
    limits: Vec<Limit>,
    /// The limits that a disk's reads and writes pass.
    read_paths: Vec<Vec<usize>>,
    write_paths: Vec<Vec<usize>>,
    by_depth: bool,
    /// The rate of each disk, after [`Sharing::allocate`].
    rates: Vec<FlowRate>,
    /// Working space of one allocation: the rest of each limit, and the flows whose rates are not
    /// settled yet, in the order of the disks.
    left: Vec<FlowRate>,
    open: Vec<OpenShare>,
    claims: Vec<Claims>,
}

#[derive(Debug, Clone, Copy)]
struct Limit {
    rate: FlowRate,
    share: SharingRule,
}

/// A flow whose rate is not settled.
#[derive(Debug, Clone, Copy)]
struct OpenShare {
    disk: usize,
    /// The lowest rate that a limit on its path offers it; `None` while an earlier disk is before
    /// it.
    offer: Option<FlowRate>,
}

/// The demands of the open flows on one limit.
#[derive(Debug, Clone, Copy, Default)]
struct Claims {
    /// Sum of the weights of the flows that do not wait for an earlier disk.
    weights: u64,
    /// The rate offered to a flow of weight 1.
    equal_part: FlowRate,
    /// Sum of what these flows can count on: never more than what is left.
    offers: FlowRate,
    /// Whether an open flow passes it; by priority, those after the first one wait.
    claimed: bool,
}

impl Sharing {
    pub(super) fn new(file: &MachineFile) -> Self {
        let mut limits = Vec::new();
        let mut index_by_direction = Vec::new();
        for limit in &file.limits {
            let share = limit.share;
            let mut add = |rate_bytes_per_s| {
                let rate = flow_rate(rate_bytes_per_s);
                limits.push(Limit { rate, share });
                limits.len() - 1
            };
            index_by_direction.push(match limit.rates {
                LimitRates::Together(rate) => {
                    let index = add(rate);
                    (index, index)
                }
                LimitRates::Apart {
                    read_bytes_per_s,
                    write_bytes_per_s,
                } => (add(read_bytes_per_s), add(write_bytes_per_s)),
            });
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
            by_depth: limits.iter().any(|limit| limit.share == SharingRule::Depth),
            rates: vec![0; file.disks.len()],
            left: vec![0; limits.len()],
            open: Vec::with_capacity(file.disks.len()),
            claims: vec![Claims::default(); limits.len()],
            limits,
        }
    }

    /// The rate of each disk as last allocated.
    pub(super) fn rates(&self) -> &[FlowRate] {
        &self.rates
    }

    /// Whether the depth of queues counts anywhere.
    pub(super) fn is_by_depth(&self) -> bool {
        self.by_depth
    }

    /// Progressive filling (Bertsekas and Gallager, "Data Networks", 6.5.2), by the rule of each
    /// limit, in rounds. Each limit offers its rest to the open flows, in parts by its rule, and a
    /// flow can count on the lowest of its offers. Flows whose disk takes no more than that settle.
    /// If there is none, one limit is used up: the one that the offers fill best. If all limits
    /// have one rule, the offers fill it exactly, and it is the tightest of those that its flows
    /// pass; if limits of different rules meet, its flows rise in proportion until they fill it. By
    /// priority, a flow waits for those before it, and asks for nothing anywhere until they have
    /// settled. So each round settles a flow, at its disk's rate or behind a limit that is used up,
    /// and nothing stays unused.
    ///
    /// It computes in integers, so that equal disks get equal rates whatever their order.
    pub(super) fn allocate(&mut self, wanted: &[Flow]) {
        for (left, limit) in self.left.iter_mut().zip(&self.limits) {
            *left = limit.rate;
        }
        self.rates.fill(0);
        self.open.clear();
        let disks = wanted.iter().enumerate().filter(|(_, flow)| flow.cap > 0);
        let open = |(disk, _)| OpenShare { disk, offer: None };
        self.open.extend(disks.map(open));
        while !self.open.is_empty() {
            self.offer(wanted);
            if !self.settle(wanted, |flow, offer, _| {
                (flow.cap <= offer).then_some(flow.cap)
            }) {
                self.use_up(wanted, self.best_filled());
            }
        }
    }

    /// Finds what each open flow can count on, and what that comes to at each limit.
    fn offer(&mut self, wanted: &[Flow]) {
        let Self {
            limits,
            left,
            open,
            claims,
            read_paths,
            write_paths,
            ..
        } = self;
        claims.fill(Claims::default());
        for open in open.iter_mut() {
            let flow = wanted[open.disk];
            let path = path(read_paths, write_paths, open.disk, flow);
            let is_taken = |limit: &usize| {
                limits[*limit].share == SharingRule::Priority && claims[*limit].claimed
            };
            let waits = path.iter().any(is_taken);
            open.offer = (!waits).then_some(FlowRate::MAX);
            for &limit in path {
                claims[limit].claimed = true;
                if !waits {
                    claims[limit].weights += limits[limit].weight(flow);
                }
            }
        }
        for (claims, left) in claims.iter_mut().zip(left.iter()) {
            claims.equal_part = left.checked_div(claims.weights).unwrap_or(0);
        }
        for open in open.iter_mut() {
            let Some(least) = &mut open.offer else {
                continue;
            };
            let flow = wanted[open.disk];
            let path = path(read_paths, write_paths, open.disk, flow);
            for &limit in path {
                let claims = claims[limit];
                *least = (*least).min(match limits[limit].weight(flow) {
                    1 => claims.equal_part,
                    weight => part(left[limit], weight, claims.weights),
                });
            }
            for &limit in path {
                claims[limit].offers += *least;
            }
        }
    }

    /// The limit of which the offers make up the largest part.
    fn best_filled(&self) -> usize {
        // The fractions offers / left are compared without dividing; a limit that is used up comes
        // first.
        let fills_better = |one: usize, other: usize| {
            let (one_claims, other_claims) = (self.claims[one], self.claims[other]);
            u128::from(one_claims.offers) * u128::from(self.left[other])
                > u128::from(other_claims.offers) * u128::from(self.left[one])
        };
        (0..self.limits.len())
            .filter(|limit| self.claims[*limit].weights > 0)
            .reduce(|best, limit| {
                let is_better =
                    self.left[best] > 0 && (self.left[limit] == 0 || fills_better(limit, best));
                if is_better { limit } else { best }
            })
            .expect("a flow that no limit bounds has settled at its disk's rate")
    }

    /// Lets the flows that pass a limit rise in proportion to their offers until it is used up; or
    /// first settles those whose disk takes no more.
    fn use_up(&mut self, wanted: &[Flow], limit: usize) {
        let left = self.left[limit];
        let Claims {
            offers, weights, ..
        } = self.claims[limit];
        let raised = |offer| part(left, offer, offers);
        // Every disk takes more than its offer, so none is in the way of what rounding has left.
        let rises = left - offers > weights;
        let settled_some = rises
            && self.settle(wanted, |flow, offer, path| {
                (path.contains(&limit) && flow.cap <= raised(offer)).then_some(flow.cap)
            });
        if !settled_some {
            self.settle(wanted, |flow, offer, path| {
                path.contains(&limit).then(|| raised(offer).min(flow.cap))
            });
        }
    }

    /// Gives each flow that has an offer the rate that `decide` returns, if any; returns whether it
    /// gave one.
    fn settle(
        &mut self,
        wanted: &[Flow],
        decide: impl Fn(Flow, FlowRate, &[usize]) -> Option<FlowRate>,
    ) -> bool {
        let open_before = self.open.len();
        let Self {
            open,
            left,
            rates,
            read_paths,
            write_paths,
            ..
        } = self;
        open.retain(|&OpenShare { disk, offer }| {
            let flow = wanted[disk];
            let path = path(read_paths, write_paths, disk, flow);
            let Some(rate) = offer.and_then(|offer| decide(flow, offer, path)) else {
                return true;
            };
            rates[disk] = rate;
            for &limit in path {
                left[limit] -= rate;
            }
            false
        });
        open.len() < open_before
    }
}

impl Limit {
    /// The weight of a flow when several rise together.
    fn weight(self, flow: Flow) -> u64 {
        match self.share {
            SharingRule::Depth => flow.depth.max(1),
            SharingRule::MaxMin | SharingRule::Priority => 1,
        }
    }
}

/// The part of `whole` that `weight` is of `weights`, rounded down.
fn part(whole: FlowRate, weight: u64, weights: u64) -> FlowRate {
    if weights == 0 {
        return 0;
    }
    let part = u128::from(whole) * u128::from(weight) / u128::from(weights);
    u64::try_from(part).expect("a part is no more than the whole")
}

fn path<'a>(
    read: &'a [Vec<usize>],
    write: &'a [Vec<usize>],
    disk: usize,
    flow: Flow,
) -> &'a [usize] {
    match flow.direction {
        MediumDirection::Read => &read[disk],
        MediumDirection::Write => &write[disk],
    }
}
