//! Chooses subsets that stay below the limits found so far, in which a smaller limit may hide.
//! Called by `find`. A limit below a tighter one shows only if the small one is full and the large
//! one is not. With the targets in the order in which they are connected, stretches of that order
//! are tried, as many as fit into one run at a time.

use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};

use crate::walls::model::{SumLimit, common};
use crate::walls::search::WallSearch;

/// A window fills a wall up to this part of its limit.
pub(in crate::walls) const FILL: f64 = 0.985;

/// The windows that were measured already.
#[derive(Default)]
pub(in crate::walls) struct Covered {
    windows: HashSet<Vec<usize>>,
    runs: usize,
    /// The walls for which the rest was computed.
    walls: Vec<SumLimit>,
    /// Windows still open, by wall, the largest first.
    open: Vec<VecDeque<Vec<usize>>>,
    loose: Vec<Vec<usize>>,
    runs_seen: usize,
}

impl WallSearch<'_> {
    /// The next set to try; `None` if all are covered.
    pub(in crate::walls) fn next_window(&self, covered: &mut Covered) -> Option<Vec<usize>> {
        self.bring_up_to_date(covered);
        let mut set: Vec<usize> = Vec::new();
        for place in 0..covered.open.len() {
            let mut later = VecDeque::new();
            while let Some(window) = covered.open[place].pop_front() {
                if covered.loose.iter().any(|part| contains(part, &window)) {
                    continue;
                }
                if let Some(joined) = self.join(&set, &window) {
                    covered.windows.insert(window);
                    set = joined;
                    break;
                }
                later.push_back(window);
            }
            later.append(&mut covered.open[place]);
            covered.open[place] = later;
        }
        if set.is_empty() {
            return None;
        }
        covered.runs += 1;
        let mut rest: Vec<usize> = (0..self.evidence.count()).collect();
        if covered.runs.is_multiple_of(2) {
            rest.reverse();
        }
        for member in rest {
            if let Some(joined) = self.join(&set, &[member]) {
                set = joined;
            }
        }
        Some(set)
    }

    /// Computes windows and loose parts anew for walls that have changed.
    fn bring_up_to_date(&self, covered: &mut Covered) {
        let runs = &self.evidence.runs;
        if covered.walls != self.known.model.walls || runs.len() < covered.runs_seen {
            covered.walls.clone_from(&self.known.model.walls);
            let mut walls: Vec<usize> = (0..covered.walls.len()).collect();
            walls.sort_by_key(|&wall| Reverse(covered.walls[wall].members.len()));
            let mut seen = covered.windows.clone();
            covered.open.clear();
            for wall in walls {
                let mut windows: VecDeque<Vec<usize>> = self.windows_of(wall).into();
                windows.retain(|window| window.len() > 1 && seen.insert(window.clone()));
                covered.open.push(windows);
            }
            covered.loose.clear();
            covered.runs_seen = 0;
        }
        for run in &runs[covered.runs_seen..] {
            let part = self.loose_part(&run.set);
            if part.len() > 1 {
                covered.loose.push(part);
            }
        }
        covered.runs_seen = runs.len();
    }

    /// The targets of a set that no known wall holds back in it.
    fn loose_part(&self, set: &[usize]) -> Vec<usize> {
        let binding = self.known.full(set, 1.0);
        let held = |member: &usize| {
            let walls = &self.known.model.walls;
            binding
                .iter()
                .any(|&wall| walls[wall].members.binary_search(member).is_ok())
        };
        set.iter().copied().filter(|member| !held(member)).collect()
    }

    /// The stretches to try for one wall.
    fn windows_of(&self, wall: usize) -> Vec<Vec<usize>> {
        let members = &self.known.model.walls[wall].members;
        let mut windows = Vec::new();
        for (place, &member) in members.iter().enumerate() {
            if !self.starts_unit(wall, member) {
                continue;
            }
            let fits = self.stretch(&members[place..], Some(wall));
            let end = place + fits.len();
            let mut longer = members[place..(end + 1).min(members.len())].to_vec();
            longer.sort_unstable();
            let all = longer.len() == members.len();
            windows.push(fits);
            if end < members.len() && !all {
                windows.push(longer);
            }
            if end >= members.len() {
                break;
            }
        }
        windows.extend(self.straddles(wall));
        windows
    }

    /// As much of a wall's ends as fits, and one target more, with as much outside as fits.
    fn straddles(&self, wall: usize) -> Vec<Vec<usize>> {
        let members = &self.known.model.walls[wall].members;
        let (low, high) = (members[0], members[members.len() - 1]);
        let mut windows = Vec::new();
        let back: Vec<usize> = members.iter().rev().copied().collect();
        let after: Vec<usize> = (high + 1..self.evidence.count()).collect();
        let before: Vec<usize> = (0..low).rev().collect();
        for (inside, outside) in [(back, after), (members.clone(), before)] {
            let fits = self.stretch(&inside, None).len();
            for length in [fits, fits + 1] {
                if length == 0 || length >= inside.len() {
                    continue;
                }
                let mut window = inside[..length].to_vec();
                window.sort_unstable();
                window.extend(self.outside(&window, &outside));
                window.sort_unstable();
                if window.len() > length {
                    windows.push(window);
                }
            }
        }
        windows
    }

    /// As much of a row as fills no more walls than the window does.
    fn outside(&self, window: &[usize], row: &[usize]) -> Vec<usize> {
        let full = self.full(window);
        let (mut low, mut high) = (0, row.len() + 1);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            let mut set = [window, &row[..middle]].concat();
            set.sort_unstable();
            if self.full(&set).iter().all(|wall| full.contains(wall)) {
                low = middle;
            } else {
                high = middle;
            }
        }
        row[..low].to_vec()
    }

    /// Whether this member begins one of the walls inside a wall, or is in none.
    fn starts_unit(&self, wall: usize, member: usize) -> bool {
        let members = &self.known.model.walls[wall].members;
        self.known.model.walls.iter().all(|other| {
            other.members.len() >= members.len()
                || !contains(members, &other.members)
                || other.members.binary_search(&member).is_err()
                || other.members[0] == member
        })
    }

    /// The longest beginning of a row that fills no wall, except those inside `wall`.
    fn stretch(&self, row: &[usize], wall: Option<usize>) -> Vec<usize> {
        let front = |length: usize| {
            let mut front = row[..length].to_vec();
            front.sort_unstable();
            front
        };
        let fits = |length: usize| {
            let walls = &self.known.model.walls;
            self.full(&front(length)).into_iter().all(|index| {
                wall.is_some_and(|wall| {
                    index != wall && contains(&walls[wall].members, &walls[index].members)
                })
            })
        };
        let (mut low, mut high) = (0, row.len() + 1);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        front(low)
    }

    /// Walls that a set fills, or nearly.
    fn full(&self, set: &[usize]) -> Vec<usize> {
        let fill = FILL.min(1.0 - 2.0 * self.evidence.noise());
        self.known.full(set, fill)
    }

    /// Both together, if that fills no more walls than each does by itself.
    pub(in crate::walls) fn join(&self, set: &[usize], more: &[usize]) -> Option<Vec<usize>> {
        if common(set, more) > 0 {
            return None;
        }
        let mut joined = [set, more].concat();
        joined.sort_unstable();
        let (one, other) = (self.full(set), self.full(more));
        // A set that fills a wall must not be mixed with other members of it, because a loss would
        // hide there.
        let mixed = |full: &[usize], rest: &[usize]| {
            full.iter()
                .any(|&wall| common(&self.known.model.walls[wall].members, rest) > 0)
        };
        if mixed(&one, more) || mixed(&other, set) {
            return None;
        }
        let fits = self
            .full(&joined)
            .iter()
            .all(|wall| one.contains(wall) || other.contains(wall));
        fits.then_some(joined)
    }
}

/// Whether a sorted list contains all of another.
fn contains(whole: &[usize], part: &[usize]) -> bool {
    part.iter()
        .all(|member| whole.binary_search(member).is_ok())
}
