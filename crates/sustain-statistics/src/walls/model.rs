//! Predicts the rates of a set of targets under shared limits. The search uses it to find what its
//! walls do not explain, and `diagnose` uses it for advice.

/// A limit on the sum of its members.
#[derive(Clone, Debug, PartialEq)]
pub struct SumLimit {
    /// The targets, sorted.
    pub members: Vec<usize>,
    /// The sum it lets through.
    pub limit_bytes_per_s: f64,
}

/// Rates alone and the limits shared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Each target's rate alone.
    pub alone_bytes_per_s: Vec<f64>,
    /// The limits.
    pub walls: Vec<SumLimit>,
}

/// Rounding error in sums of up to some hundred rates.
const EQUAL: f64 = 1e-9;

impl Model {
    /// The sum of the members' rates. If no two limits cross, it is the same for every sharing that
    /// wastes nothing (the rank of the set); with crossing limits it is that of max-min sharing.
    #[must_use]
    pub fn predict(&self, members: &[usize]) -> f64 {
        let binding = self.binding(members, 1.0);
        if binding.iter().any(|&wall| self.crosses(wall)) {
            return self.predict_rates(members).iter().sum();
        }
        let mut rates = vec![0.0; self.alone_bytes_per_s.len()];
        for &member in members {
            rates[member] = self.alone_bytes_per_s[member];
        }
        for wall in binding {
            let wall = &self.walls[wall];
            let sum: f64 = wall.members.iter().map(|&member| rates[member]).sum();
            for &member in &wall.members {
                rates[member] *= wall.limit_bytes_per_s / sum;
            }
        }
        members.iter().map(|&member| rates[member]).sum()
    }

    /// Each member's rate, in their order, if limits are shared max-min: all rates rise together
    /// until they meet their own rate or a full limit (progressive filling; D. Bertsekas and R.
    /// Gallager, "Data Networks", 1992, section 6.5.2).
    #[must_use]
    pub fn predict_rates(&self, members: &[usize]) -> Vec<f64> {
        let mut rates = vec![0.0; self.alone_bytes_per_s.len()];
        let mut rising = vec![false; rates.len()];
        for &member in members {
            rising[member] = true;
        }
        let mut level = 0.0;
        loop {
            let mut room = f64::INFINITY;
            for &member in members {
                if rising[member] {
                    room = room.min(self.alone_bytes_per_s[member] - level);
                }
            }
            if room == f64::INFINITY {
                return members.iter().map(|&member| rates[member]).collect();
            }
            for wall in &self.walls {
                let count = wall.members.iter().filter(|&&m| rising[m]).count();
                if count > 0 {
                    let sum: f64 = wall.members.iter().map(|&member| rates[member]).sum();
                    room = room.min((wall.limit_bytes_per_s - sum) / count as f64);
                }
            }
            level += room.max(0.0);
            for &member in members.iter().filter(|&&member| rising[member]) {
                rates[member] = level;
            }
            self.stop_full(members, &rates, &mut rising);
        }
    }

    /// Members that reached their own rate or a full limit rise no more.
    fn stop_full(&self, members: &[usize], rates: &[f64], rising: &mut [bool]) {
        for &member in members {
            let alone = self.alone_bytes_per_s[member];
            if rates[member] >= alone * (1.0 - EQUAL) {
                rising[member] = false;
            }
        }
        for wall in &self.walls {
            let sum: f64 = wall.members.iter().map(|&member| rates[member]).sum();
            if sum >= wall.limit_bytes_per_s * (1.0 - EQUAL) {
                for &member in &wall.members {
                    rising[member] = false;
                }
            }
        }
    }

    /// The lowest sum that the walls can let through: with crossing limits it depends on the
    /// sharing.
    pub(super) fn least(&self, members: &[usize]) -> f64 {
        let binding = self.binding(members, 1.0);
        if binding.iter().any(|&wall| self.crosses(wall)) {
            self.predict_lowest(members)
        } else {
            self.predict(members)
        }
    }

    /// The lowest sum that a sharing without waste can leave if limits cross: a member of several
    /// full limits takes all it can first.
    pub(super) fn predict_lowest(&self, members: &[usize]) -> f64 {
        let inside = |wall: &&SumLimit, member: usize| wall.members.binary_search(&member).is_ok();
        let mut turn = members.to_vec();
        turn.sort_by_key(|&member| {
            let count = self
                .walls
                .iter()
                .filter(|wall| inside(wall, member))
                .count();
            std::cmp::Reverse(count)
        });
        let mut room: Vec<f64> = self
            .walls
            .iter()
            .map(|wall| wall.limit_bytes_per_s)
            .collect();
        let mut sum = 0.0;
        for member in turn {
            let mut rate = self.alone_bytes_per_s[member];
            for (wall, &room) in self.walls.iter().zip(&room) {
                if inside(&wall, member) {
                    rate = rate.min(room);
                }
            }
            for (wall, room) in self.walls.iter().zip(&mut room) {
                if inside(&wall, member) {
                    *room -= rate;
                }
            }
            sum += rate;
        }
        sum
    }

    /// Walls that hold the set back, given what the smaller ones inside let through; a wall counts
    /// if the set fills it to this part.
    pub(super) fn binding(&self, members: &[usize], fill: f64) -> Vec<usize> {
        let mut rates = vec![0.0; self.alone_bytes_per_s.len()];
        for &member in members {
            rates[member] = self.alone_bytes_per_s[member];
        }
        let mut inner_first: Vec<usize> = (0..self.walls.len()).collect();
        inner_first.sort_by_key(|&wall| self.walls[wall].members.len());
        inner_first.retain(|&index| {
            let wall = &self.walls[index];
            let sum: f64 = wall.members.iter().map(|&member| rates[member]).sum();
            if sum <= fill * wall.limit_bytes_per_s {
                return false;
            }
            let factor = (wall.limit_bytes_per_s / sum).min(1.0);
            for &member in &wall.members {
                rates[member] *= factor;
            }
            true
        });
        inner_first
    }

    /// Whether this limit crosses another.
    pub(super) fn crosses(&self, index: usize) -> bool {
        let one = &self.walls[index].members;
        let ends = |members: &[usize]| (members.first().copied(), members.last().copied());
        let (first, last) = ends(one);
        self.walls.iter().any(|other| {
            let (other_first, other_last) = ends(&other.members);
            if other_last < first || last < other_first {
                return false;
            }
            let shared = common(one, &other.members);
            shared > 0 && shared < one.len() && shared < other.members.len()
        })
    }
}

/// The number of elements that two sorted lists share.
pub(super) fn common(one: &[usize], other: &[usize]) -> usize {
    let (mut count, mut place) = (0, 0);
    for member in one {
        while other.get(place).is_some_and(|next| next < member) {
            place += 1;
        }
        count += usize::from(other.get(place) == Some(member));
    }
    count
}
