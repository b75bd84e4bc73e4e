//! Many machines at a time: how well walls are found, what it costs, and whether kinds are told
//! apart.

use super::score::{Score, diagnose, judge};
use super::{Behaviour, Bench, Chance, Machine, SHAPES, SHARINGS, Shape, Sharing};
use sustain_statistics::walls::{Findings, FoundWall, SumLimit, WallKind};

/// Which machines, and how they are looked at.
#[derive(Clone, Copy)]
pub struct Cell {
    pub noise: f64,
    pub shape: Shape,
    pub sharing: Sharing,
    pub machines: u64,
    pub seed: u64,
    pub order_known: bool,
}

impl Cell {
    /// Diagnoses its machines on all processors; the result does not depend on how many.
    pub fn run(self) -> Score {
        let threads = std::thread::available_parallelism().map_or(2, |count| count.get() as u64);
        let parts: Vec<Vec<(u64, Score)>> = std::thread::scope(|scope| {
            let part = |thread: u64| {
                (thread..self.machines)
                    .step_by(threads as usize)
                    .map(|index| (index, self.one(index)))
                    .collect()
            };
            let handles: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || part(thread)))
                .collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_default())
                .collect()
        });
        let mut all: Vec<(u64, Score)> = parts.into_iter().flatten().collect();
        all.sort_by_key(|(index, _)| *index);
        let mut score = Score::default();
        all.iter().for_each(|(_, one)| score.add(one));
        score
    }

    fn one(self, index: u64) -> Score {
        let mut chance = Chance::new(self.seed + index + 1_000_000 * self.shape as u64);
        let mut machine = Machine::generate(&mut chance, self.shape, None);
        machine.sharing = self.sharing;
        // The noise is told only roughly.
        let prior = self.noise * chance.between(0.75, 1.25);
        let mut bench = Bench::new(&machine, self.noise, self.seed + index);
        let findings = diagnose(&mut bench, self.order_known, prior);
        judge(&machine, &findings, self.noise)
    }
}

/// All shapes and sharings at one noise; crossing walls under priority by themselves.
pub fn at_noise(noise: f64, machines: u64, seed: u64, order_known: bool) -> [Score; 2] {
    let mut scores = [Score::default(), Score::default()];
    for shape in SHAPES {
        for sharing in SHARINGS {
            let cell = Cell {
                noise,
                shape,
                sharing,
                machines,
                seed,
                order_known,
            };
            let hard = shape == Shape::Overlap && sharing == Sharing::Priority;
            scores[usize::from(hard)].add(&cell.run());
        }
    }
    scores
}

/// What a machine's only wall is taken for.
pub fn kind_of(noise: f64, behaviour: Behaviour, tool: bool, seed: u64) -> Option<Seen> {
    let mut chance = Chance::new(seed);
    let count = chance.whole(16, 40);
    let sharing = SHARINGS[chance.whole(0, 2)];
    let mut machine = Machine::plain(&mut chance, count, sharing);
    let length = chance.whole(16, count);
    let disks = length as f64 * chance.between(0.4, 0.8);
    machine.limit(0, length, disks);
    machine.behaviour = behaviour;
    machine.tool = tool;
    if behaviour == Behaviour::Revolutions {
        machine.sharing = Sharing::MaxMin;
    }
    let limit = machine.walls[0].limit_bytes_per_s;
    let members = machine.walls[0].members.clone();
    let mut bench = Bench::new(&machine, noise, seed);
    bench.dummy = limit / 4.0;
    let findings = diagnose(&mut bench, true, noise);
    let wall = findings.walls.iter().find(|wall| wall.members == members)?;
    Some(Seen {
        kind: wall.kind,
        missed_revolutions: wall.missed_revolutions,
        limit_error: (wall.limit_bytes_per_s / limit - 1.0).abs(),
    })
}

/// Walls of which any two members bring less than one of them alone, two members or more each:
/// whether exactly those were found, as collapses, and how many subsets a disk that took.
pub fn late(noise: f64, late: Late, seed: u64) -> (bool, f64) {
    let mut chance = Chance::new(seed);
    let sharing = SHARINGS[chance.whole(0, 2)];
    let count = chance.whole(4, 32);
    let mut machine = Machine::generate(&mut chance, Shape::None, Some(count));
    machine.sharing = sharing;
    let (parts, least) = match late {
        Late::Everywhere => (1, count),
        Late::One => (1, 2),
        Late::Two => (2, 2),
    };
    let width = count / parts;
    for part in 0..parts {
        let length = chance.whole(least, width);
        let start = part * width + chance.whole(0, width - length);
        machine.limit(start, start + length, 1.0);
    }
    machine.behaviour = Behaviour::Late(chance.between(0.15, 0.4));
    let findings = diagnose(&mut Bench::new(&machine, noise, seed), true, noise);
    let told = |wall: &SumLimit| {
        let as_it_is =
            |one: &FoundWall| one.members == wall.members && one.kind == WallKind::Collapse;
        findings.walls.iter().any(as_it_is)
    };
    let exact = findings.walls.len() == parts && machine.walls.iter().all(told);
    (exact, findings.measurements.len() as f64 / count as f64)
}

/// Where members of such walls sit.
#[derive(Clone, Copy, Debug)]
pub enum Late {
    /// All disks are in one.
    Everywhere,
    /// One among free disks.
    One,
    /// Two, with free disks.
    Two,
}

/// One wall as reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub kind: WallKind,
    pub missed_revolutions: bool,
    pub limit_error: f64,
}

/// Machines for the costs: equal disks and the walls of the given name.
pub fn named(name: &str, count: usize) -> Machine {
    let mut machine = Machine::plain(&mut Chance::new(7), count, Sharing::MaxMin);
    let disks = count as f64;
    match name {
        "one wall over all" => machine.limit(0, count, 0.5 * disks),
        "one over half" => machine.limit(count / 4, 3 * count / 4, 0.25 * disks),
        "one, barely" => machine.limit(0, count, 0.9 * disks),
        "8 channels" => nested(&mut machine, 8, |width| 0.5 * width + 0.3),
        "pairs" => nested(&mut machine, count / 2, |_| 1.4),
        "tree 8+2+1" => {
            nested(&mut machine, 8, |width| 0.6 * width);
            nested(&mut machine, 2, |width| 0.45 * width);
            nested(&mut machine, 1, |width| 0.35 * width);
        }
        "binary tree" => binary_tree(&mut machine, |_| 1.0),
        "binary tree, all different" => {
            // By the golden ratio, so that neighbours are far apart.
            binary_tree(&mut machine, |wall| {
                0.94 + 0.12 * (wall as f64 * 0.618).fract()
            });
        }
        _ => {}
    }
    machine
}

pub const NAMES: [&str; 9] = [
    "none",
    "one wall over all",
    "one over half",
    "one, barely",
    "8 channels",
    "pairs",
    "tree 8+2+1",
    "binary tree",
    "binary tree, all different",
];

/// Walls over 4 neighbours, 8, 16 and so on; `factor` tells each from those beside it.
fn binary_tree(machine: &mut Machine, factor: impl Fn(usize) -> f64) {
    let count = machine.rates.len();
    let (mut width, mut part, mut walls) = (4, 0.8, 0);
    while width <= count {
        for start in (0..count).step_by(width) {
            let disks = part * width as f64 * factor(walls);
            machine.limit(start, start + width, disks);
            walls += 1;
        }
        width *= 2;
        part *= 0.88;
    }
}

fn nested(machine: &mut Machine, parts: usize, disks: impl Fn(f64) -> f64) {
    let width = machine.rates.len() / parts;
    for part in 0..parts {
        machine.limit(part * width, (part + 1) * width, disks(width as f64));
    }
}

/// Diagnoses a machine made by hand.
pub fn cost(machine: &Machine, noise: f64) -> (Findings, Score) {
    let mut bench = Bench::new(machine, noise, 1);
    bench.dummy = 25e6;
    let findings = diagnose(&mut bench, true, noise);
    let score = judge(machine, &findings, noise);
    (findings, score)
}
