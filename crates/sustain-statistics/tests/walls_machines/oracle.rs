//! What can be known about a generated machine: which of its walls show in some subset, and how far
//! they are from not showing.

use super::{Behaviour, COLLAPSES_ABOVE, Machine};
use sustain_statistics::walls::{Model, SumLimit};

/// A wall that shows in some subset.
#[derive(Clone, Debug)]
pub struct Visible {
    pub wall: SumLimit,
    /// What would pass without it over what it lets through, minus one.
    pub headroom: f64,
    /// It shares some members with another.
    pub crossing: bool,
}

/// The sums that a machine's walls allow.
pub struct Truth(Model);

impl Truth {
    pub fn of(machine: &Machine) -> Self {
        Self(Model {
            alone_bytes_per_s: machine.rates.clone(),
            walls: machine.walls.clone(),
        })
    }

    pub fn sum(&self, set: &[usize]) -> f64 {
        self.0.predict(set)
    }
}

fn crosses(one: &SumLimit, other: &SumLimit) -> bool {
    let shared = one
        .members
        .iter()
        .filter(|m| other.members.contains(m))
        .count();
    shared > 0 && shared < one.members.len() && shared < other.members.len()
}

/// The walls that show.
pub fn visible(machine: &Machine) -> Vec<Visible> {
    let mut machine = machine.clone();
    tightest_of_equal(&mut machine.walls);
    let mut seen = Vec::new();
    for (index, wall) in machine.walls.iter().enumerate() {
        let mut sets = vec![wall.members.clone()];
        for other in machine.walls.iter().filter(|other| crosses(wall, other)) {
            let outside = |m: &usize| !other.members.contains(m);
            let own: Vec<usize> = wall.members.iter().copied().filter(outside).collect();
            // The own part, and more and more of the shared one.
            for &shared in wall.members.iter().filter(|m| !outside(m)) {
                let mut set = sets.last().filter(|set| set.len() < wall.members.len());
                let start = own.clone();
                let mut grown = set.take().unwrap_or(&start).clone();
                grown.push(shared);
                grown.sort_unstable();
                grown.dedup();
                sets.push(grown);
            }
            sets.push(own);
        }
        let most = sets
            .iter()
            .map(|set| machine.flat(set, Some(index)).iter().sum::<f64>())
            .fold(0.0, f64::max);
        let headroom = most / wall.limit_bytes_per_s - 1.0;
        if headroom > 1e-9 {
            seen.push(Visible {
                wall: wall.clone(),
                headroom,
                crossing: machine.walls.iter().any(|other| crosses(wall, other)),
            });
        }
    }
    seen
}

/// How much more some members of a machine's only wall bring together than all of them do, as a part
/// of the latter; 0 if none do. A limit that lets less through when it is overloaded falls only
/// where some members are just below it: four equal disks at 2.8 times the rate of one reach 2.0
/// with two of them, and 2.2 with three or four if the limit falls by a fifth, as under a limit of
/// 2.2.
pub fn shown_fall(machine: &Machine) -> f64 {
    let wall = &machine.walls[0];
    let all: f64 = machine.allocate(&wall.members).iter().sum();
    let Behaviour::Collapse(_) = machine.behaviour else {
        let alone = wall.members.iter().map(|&one| machine.rates[one]);
        return (alone.fold(0.0, f64::max) / all - 1.0).max(0.0);
    };
    let count = wall.members.len();
    let sums = (1_usize..1 << count).map(|mask| {
        let part = (0..count).filter(|place| mask >> place & 1 == 1);
        part.map(|place| machine.rates[wall.members[place]]).sum()
    });
    let free = sums.filter(|sum: &f64| *sum <= wall.limit_bytes_per_s * COLLAPSES_ABOVE);
    (free.fold(0.0, f64::max) / all - 1.0).max(0.0)
}

fn tightest_of_equal(walls: &mut Vec<SumLimit>) {
    walls.sort_by(|one, other| {
        let by_limit = one.limit_bytes_per_s.total_cmp(&other.limit_bytes_per_s);
        one.members.cmp(&other.members).then(by_limit)
    });
    walls.dedup_by(|later, earlier| later.members == earlier.members);
}
