//! Machines of known truth: disks, the limits they share, how those are shared, and how noisy a
//! reading is. Used by the tests of the walls and by the example that prints their table. Analytic:
//! a reading costs microseconds, not seconds.

#![allow(dead_code, reason = "the tests and the example each take their part")]

pub mod oracle;
pub mod score;
pub mod table;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use sustain_statistics::walls::{Ask, Halt, Probe, SubsetReading, SumLimit};

/// Segments of each reading.
const SEGMENTS: usize = 7;
/// Standard deviation of the median of seven normal values over that of one.
const MEDIAN_OF_SEGMENTS: f64 = 0.4587;
/// A limit that collapses does so when asked for this many times what it lets through.
pub const COLLAPSES_ABOVE: f64 = 1.02;
/// Part of the segments that are outliers.
const OUTLIERS: f64 = 0.01;

/// How a full limit is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Equally, as far as each can use it.
    MaxMin,
    /// By queue depth.
    Depth,
    /// By slot: the first takes all it can.
    Priority,
}

pub const SHARINGS: [Sharing; 3] = [Sharing::MaxMin, Sharing::Depth, Sharing::Priority];

/// Which walls a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    None,
    One,
    Several,
    Nested,
    Overlap,
}

pub const SHAPES: [Shape; 5] = [
    Shape::None,
    Shape::One,
    Shape::Several,
    Shape::Nested,
    Shape::Overlap,
];

/// What a full limit does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behaviour {
    /// Lets its limit through.
    Flat,
    /// Lets this part of its limit through once it is full.
    Collapse(f64),
    /// As soon as two members are at work, each drops to this part of its own rate.
    Late(f64),
    /// Each member drops to a whole fraction of its own rate.
    Revolutions,
}

/// One generated machine.
#[derive(Clone, Debug)]
pub struct Machine {
    pub rates: Vec<f64>,
    pub walls: Vec<SumLimit>,
    pub order: Vec<usize>,
    pub sharing: Sharing,
    /// Weight of each disk under [`Sharing::Depth`]; rank under [`Sharing::Priority`].
    pub weights: Vec<f64>,
    pub behaviour: Behaviour,
    /// The walls sit in the tool: a dummy shares them.
    pub tool: bool,
}

/// Random numbers for machines and noise.
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// From `low` to `high`, both included.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        low + ((high - low + 1) as f64 * self.unit()) as usize
    }

    fn normal_pair(&mut self) -> (f64, f64) {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.unit();
        (radius * angle.cos(), radius * angle.sin())
    }

    fn shuffle(&mut self, items: &mut [usize]) {
        for place in (1..items.len()).rev() {
            items.swap(place, self.whole(0, place));
        }
    }
}

impl Machine {
    /// Equal disks in a shuffled order, for limits that are set by hand.
    pub fn plain(chance: &mut Chance, count: usize, sharing: Sharing) -> Self {
        let mut machine = Self::generate(chance, Shape::None, Some(count));
        machine.sharing = sharing;
        machine.rates.fill(100e6);
        machine
    }

    /// A limit over places `start..end` of the order, of so many disks' worth.
    pub fn limit(&mut self, start: usize, end: usize, disks: f64) {
        let mut members = self.order[start..end].to_vec();
        members.sort_unstable();
        let limit_bytes_per_s = disks * self.rates[members[0]];
        self.walls.push(SumLimit {
            members,
            limit_bytes_per_s,
        });
    }

    /// 4 to 16 equal disks, and one limit over three or more neighbours that does not stay when it
    /// is overloaded.
    pub fn falling(chance: &mut Chance, behaviour: Behaviour) -> Self {
        let count = chance.whole(4, 16);
        let mut machine = Self::plain(chance, count, Sharing::MaxMin);
        let length = chance.whole(3, count);
        let start = chance.whole(0, count - length);
        machine.limit(start, start + length, 0.7 * length as f64);
        machine.behaviour = behaviour;
        machine
    }

    /// The same over disks of different rates, so that some of them come near to the limit. It then
    /// lets this part through.
    pub fn falling_unequal(chance: &mut Chance, part: f64) -> Self {
        let mut machine = Self::falling(chance, Behaviour::Collapse(part));
        machine.rates.fill_with(|| chance.between(60e6, 200e6));
        let wall = &mut machine.walls[0];
        let wanted: f64 = wall.members.iter().map(|&one| machine.rates[one]).sum();
        wall.limit_bytes_per_s = 0.7 * wanted;
        machine
    }

    /// Of the given shape and, if given, size; else 2 to 64 disks, as many small as large ones.
    pub fn generate(chance: &mut Chance, shape: Shape, count: Option<usize>) -> Self {
        let least = if matches!(shape, Shape::One | Shape::None) {
            2.0
        } else {
            4.0
        };
        let count = count.unwrap_or_else(|| chance.log_between(least, 65.0) as usize);
        let spread = if chance.unit() < 0.5 { 1.03 } else { 4.0 };
        let base = chance.log_between(5e6, 1e9);
        let rates = (0..count)
            .map(|_| base * chance.log_between(1.0, spread))
            .collect();
        let mut order: Vec<usize> = (0..count).collect();
        chance.shuffle(&mut order);
        let sharing = SHARINGS[chance.whole(0, 2)];
        let mut machine = Self {
            rates,
            walls: Vec::new(),
            order,
            sharing,
            weights: (0..count).map(|_| chance.log_between(1.0, 8.0)).collect(),
            behaviour: Behaviour::Flat,
            tool: false,
        };
        match shape {
            Shape::None => {}
            Shape::One => {
                let length = chance.whole(2, count);
                let start = chance.whole(0, count - length);
                machine.add(chance, start, length);
            }
            Shape::Several => {
                let walls = chance.whole(2, (count / 4).max(2));
                let longest = count / walls;
                let mut start = 0;
                for _ in 0..walls {
                    let length = chance.whole(2, longest);
                    let from = start + chance.whole(0, longest - length);
                    machine.add(chance, from, length);
                    start += longest;
                }
            }
            Shape::Nested => {
                let length = chance.whole(4, count);
                let start = chance.whole(0, count - length);
                machine.nest(chance, start, length, 3);
            }
            Shape::Overlap => {
                let first = chance.whole(2, count * 2 / 3);
                let second = chance.whole(2, count - first + 1).max(2);
                let shared = chance.whole(1, first.min(second) - 1);
                let span = first + second - shared;
                let start = chance.whole(0, count.saturating_sub(span));
                machine.add(chance, start, first);
                let from = start + first - shared;
                machine.add(chance, from, second.min(count - from));
            }
        }
        machine
    }

    /// A limit over a stretch of the order, tighter than what the stretch can bring.
    fn add(&mut self, chance: &mut Chance, start: usize, length: usize) {
        let mut members = self.order[start..start + length].to_vec();
        members.sort_unstable();
        let can = oracle::Truth::of(self).sum(&members);
        let fastest = members
            .iter()
            .map(|&one| self.rates[one])
            .fold(0.0, f64::max);
        let headroom = chance.log_between(0.03, 3.0);
        let limit = (can / (1.0 + headroom)).max(fastest.min(can) * chance.between(0.9, 1.1));
        self.walls.push(SumLimit {
            members,
            limit_bytes_per_s: limit,
        });
    }

    /// A limit over a stretch, after limits over two to four parts of it, and so on.
    fn nest(&mut self, chance: &mut Chance, start: usize, length: usize, depth: usize) {
        if depth > 1 && length >= 4 {
            let parts = chance.whole(2, 4.min(length / 2));
            let each = length / parts;
            for part in 0..parts {
                if chance.unit() < 0.75 {
                    self.nest(chance, start + part * each, each, depth - 1);
                }
            }
        }
        if depth == 3 || chance.unit() < 0.8 {
            self.add(chance, start, length);
        }
    }

    /// The rates of a set at once, without noise, in the order of the set.
    pub fn allocate(&self, set: &[usize]) -> Vec<f64> {
        let plain = self.flat(set, None);
        match self.behaviour {
            Behaviour::Flat => plain,
            Behaviour::Collapse(part) => {
                let mut machine = self.clone();
                for wall in &mut machine.walls {
                    let inside = |one: &&usize| wall.members.contains(one);
                    let wanted: f64 = set.iter().filter(inside).map(|&one| self.rates[one]).sum();
                    if wanted > wall.limit_bytes_per_s * COLLAPSES_ABOVE {
                        wall.limit_bytes_per_s *= part;
                    }
                }
                machine.flat(set, None)
            }
            Behaviour::Late(part) => {
                let late = |one: usize| {
                    self.walls.iter().any(|wall| {
                        let met = |other: &&usize| wall.members.contains(other);
                        wall.members.contains(&one) && set.iter().filter(met).count() > 1
                    })
                };
                let rate = |&one: &usize| self.rates[one] * if late(one) { part } else { 1.0 };
                set.iter().map(rate).collect()
            }
            Behaviour::Revolutions => set
                .iter()
                .zip(plain)
                .map(|(&one, rate)| {
                    let own = self.rates[one];
                    own / (own / rate * (1.0 - 1e-9)).ceil().max(1.0)
                })
                .collect(),
        }
    }

    /// Limits as they are, without collapse; one wall may be left out.
    pub fn flat(&self, set: &[usize], without: Option<usize>) -> Vec<f64> {
        let walls: Vec<Vec<usize>> = self
            .walls
            .iter()
            .map(|wall| {
                (0..set.len())
                    .filter(|&place| wall.members.binary_search(&set[place]).is_ok())
                    .collect()
            })
            .collect();
        let mut room: Vec<f64> = self
            .walls
            .iter()
            .map(|wall| wall.limit_bytes_per_s)
            .collect();
        if let Some(without) = without {
            room[without] = f64::INFINITY;
        }
        if self.sharing == Sharing::Priority {
            return self.by_priority(set, &walls, &mut room);
        }
        let weight = |place: usize| match self.sharing {
            Sharing::MaxMin => 1.0,
            _ => self.weights[set[place]],
        };
        let mut rates = vec![0.0; set.len()];
        let mut rising = vec![true; set.len()];
        while rising.contains(&true) {
            let mut step = f64::INFINITY;
            for place in (0..set.len()).filter(|&place| rising[place]) {
                step = step.min((self.rates[set[place]] - rates[place]) / weight(place));
            }
            for (wall, &room) in walls.iter().zip(&room) {
                let rate: f64 = wall
                    .iter()
                    .filter(|&&p| rising[p])
                    .map(|&p| weight(p))
                    .sum();
                if rate > 0.0 {
                    step = step.min(room / rate);
                }
            }
            for place in (0..set.len()).filter(|&place| rising[place]) {
                rates[place] += step * weight(place);
            }
            let mut stopped = vec![false; set.len()];
            for (wall, room) in walls.iter().zip(&mut room) {
                let rate: f64 = wall
                    .iter()
                    .filter(|&&p| rising[p])
                    .map(|&p| weight(p))
                    .sum();
                *room -= rate * step;
                if rate > 0.0 && *room <= 1e-9 * self.rates[set[wall[0]]] {
                    wall.iter().for_each(|&place| stopped[place] = true);
                }
            }
            for place in 0..set.len() {
                if stopped[place] || rates[place] >= self.rates[set[place]] * (1.0 - 1e-9) {
                    rising[place] = false;
                }
            }
        }
        rates
    }

    fn by_priority(&self, set: &[usize], walls: &[Vec<usize>], room: &mut [f64]) -> Vec<f64> {
        let mut turn: Vec<usize> = (0..set.len()).collect();
        turn.sort_by(|&one, &other| self.weights[set[one]].total_cmp(&self.weights[set[other]]));
        let mut rates = vec![0.0; set.len()];
        for place in turn {
            let mut rate = self.rates[set[place]];
            for (wall, room) in walls.iter().zip(room.iter()) {
                if wall.contains(&place) {
                    rate = rate.min(*room);
                }
            }
            rates[place] = rate;
            for (wall, room) in walls.iter().zip(room.iter_mut()) {
                if wall.contains(&place) {
                    *room -= rate;
                }
            }
        }
        rates
    }
}

/// Measures a machine, with noise.
pub struct Bench<'a> {
    pub machine: &'a Machine,
    /// Relative standard deviation of the median of a reading's segments.
    pub noise: f64,
    pub chance: Chance,
    pub readings: usize,
    /// What all disks do meanwhile: their factor at each reading.
    pub drift: Box<dyn Fn(usize) -> f64>,
    /// The limits go with it.
    pub drifts_with_limits: bool,
    /// Part of the readings that something else disturbs: all in them comes slower, seldom faster.
    pub disturbed: f64,
    /// A disk that dies, and at which reading.
    pub death: Option<(usize, usize)>,
    /// Halts after so many.
    pub readings_max: usize,
    /// Rate of the dummy.
    pub dummy: f64,
}

impl<'a> Bench<'a> {
    pub fn new(machine: &'a Machine, noise: f64, seed: u64) -> Self {
        Self {
            machine,
            noise,
            chance: Chance::new(seed),
            readings: 0,
            drift: Box::new(|_| 1.0),
            drifts_with_limits: false,
            disturbed: 0.0,
            death: None,
            readings_max: usize::MAX,
            dummy: 0.0,
        }
    }

    fn segments(&mut self, rate: f64) -> Vec<f64> {
        let spread = self.noise / MEDIAN_OF_SEGMENTS;
        let mut segments = Vec::with_capacity(SEGMENTS + 1);
        while segments.len() < SEGMENTS {
            let (one, other) = self.chance.normal_pair();
            for normal in [one, other] {
                let mut value = rate * (1.0 + spread * normal).max(0.0);
                let dice = self.chance.unit();
                if self.noise > 0.0 && dice < OUTLIERS {
                    value *= if dice < OUTLIERS / 2.0 {
                        self.chance.between(0.3, 0.7)
                    } else {
                        self.chance.between(1.3, 2.5)
                    };
                }
                segments.push(value);
            }
        }
        segments.truncate(SEGMENTS);
        segments
    }
}

impl Probe for Bench<'_> {
    fn measure(&mut self, ask: &Ask<'_>) -> Result<SubsetReading, Halt> {
        if self.readings >= self.readings_max {
            return Err(Halt);
        }
        let mut factor = 1.0;
        if self.disturbed > 0.0 && self.chance.unit() < self.disturbed {
            let is_slower = self.chance.unit() < 0.8;
            let (low, high) = if is_slower {
                (0.85, 0.97)
            } else {
                (1.02, 1.06)
            };
            factor = self.chance.between(low, high);
        }
        let drift = (self.drift)(self.readings);
        self.readings += 1;
        let mut machine = self.machine.clone();
        if self.drifts_with_limits {
            factor *= drift;
        } else {
            machine.rates.iter_mut().for_each(|rate| *rate *= drift);
        }
        let mut set = ask.members.to_vec();
        if ask.with_dummy {
            let dummy = machine.rates.len();
            machine.rates.push(self.dummy);
            machine.weights.push(1.0);
            set.push(dummy);
            if machine.tool {
                for wall in &mut machine.walls {
                    wall.members.push(dummy);
                }
            }
        }
        let rates = machine.allocate(&set);
        let segment = |&rate: &f64| self.segments(rate * factor);
        let segments: Vec<Vec<f64>> = rates.iter().map(segment).collect();
        let mut reading = SubsetReading::of_segments(&segments);
        if let Some((disk, at)) = self.death
            && self.readings >= at
            && ask.members.contains(&disk)
        {
            reading.failed.push(disk);
        }
        Ok(reading)
    }
}
