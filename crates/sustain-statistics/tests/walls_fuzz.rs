//! Generated machines of every kind, and what is said of them: walls that do not exist, walls that
//! are missed, answers called complete that are none, and what it costs. Ignored, because it takes
//! minutes; `SUSTAIN_FUZZ_MACHINES` has the number of machines of each kind, and
//! `SUSTAIN_FUZZ_SEED` the first seed.

#![allow(
    clippy::print_stdout,
    reason = "the table is what a person runs it for"
)]

mod walls_machines;

use sustain_statistics::walls::{Findings, FoundWall, SumLimit, WallKind};
use walls_machines::oracle::{Truth, shown_fall, visible};
use walls_machines::score::{diagnose, required};
use walls_machines::{Behaviour, Bench, Chance, Machine, SHAPES, Shape, Sharing};

/// What is said with this confidence is taken for true.
const SURE: f64 = 0.95;
/// A complete answer explains the sum of all targets to within this part,
const EXPLAINED: f64 = 0.03;
/// and so many times the noise.
const EXPLAINED_NOISE: f64 = 5.0;

/// A sum is said to fall only if fewer members reach more than all of them by this part,
const FALL: f64 = 0.05;
/// and so many times the noise; otherwise the wall is a limit at what all of them reach.
const FALL_NOISE: f64 = 4.0;

/// A kind of machine.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Limits over neighbours, in a known order.
    Ordered,
    /// The same in an unknown order.
    Unordered,
    /// The same, with readings that something disturbs.
    Disturbed,
    /// Limits over any of so few to so many targets, which is no order.
    AnyLimits(usize, usize),
    /// Any two members of a wall reach less than one of them does.
    Late,
    /// A limit that lets less through when it is overloaded, over equal disks.
    Falls,
    /// The same over disks of different rates, so that some of them come nearer to the limit.
    FallsUnequal,
}

const KINDS: [Kind; 9] = [
    Kind::Ordered,
    Kind::Unordered,
    Kind::Disturbed,
    Kind::AnyLimits(3, 6),
    Kind::AnyLimits(7, 12),
    Kind::Late,
    Kind::Falls,
    Kind::FallsUnequal,
    Kind::AnyLimits(13, 20),
];

/// What was said of the machines of one kind.
#[derive(Debug, Default)]
struct Said {
    searches: usize,
    complete: usize,
    /// Answers called complete that do not explain what all targets bring.
    no_answer: usize,
    sure: usize,
    /// Of those said with certainty, those that are not true, and the searches that had one.
    falsely_sure: usize,
    misled: usize,
    false_collapses: usize,
    required: usize,
    missed: usize,
    readings_per_target: f64,
    /// Walls beside something unexplained: those that are true, and all.
    beside: (usize, usize),
}

fn any_limits(chance: &mut Chance, least: usize, most: usize) -> Machine {
    let count = chance.whole(least, most);
    let mut machine = Machine::generate(chance, Shape::None, Some(count));
    machine.sharing = Sharing::MaxMin;
    machine.rates = (0..count).map(|_| chance.between(60e6, 200e6)).collect();
    for _ in 0..chance.whole(1, 3) {
        let members: Vec<usize> = (0..count).filter(|_| chance.unit() < 0.6).collect();
        if members.len() > 1 {
            let can: f64 = members.iter().map(|&one| machine.rates[one]).sum();
            machine.walls.push(SumLimit {
                members,
                limit_bytes_per_s: can * chance.between(0.5, 1.1),
            });
        }
    }
    machine
}

impl Kind {
    fn machine(self, chance: &mut Chance, seed: u64) -> Machine {
        match self {
            Kind::AnyLimits(least, most) => any_limits(chance, least, most),
            Kind::Late => {
                let part = chance.between(0.15, 0.4);
                Machine::falling(chance, Behaviour::Late(part))
            }
            Kind::Falls => {
                let part = chance.between(0.6, 0.9);
                Machine::falling(chance, Behaviour::Collapse(part))
            }
            Kind::FallsUnequal => {
                let part = chance.between(0.6, 0.9);
                Machine::falling_unequal(chance, part)
            }
            _ => {
                let count = chance.log_between(4.0, 25.0) as usize;
                Machine::generate(chance, SHAPES[seed as usize % 5], Some(count))
            }
        }
    }

    fn falls(self) -> bool {
        matches!(self, Kind::Late | Kind::Falls | Kind::FallsUnequal)
    }
}

fn is_true(kind: Kind, machine: &Machine, wall: &FoundWall, noise: f64) -> bool {
    if kind.falls() {
        let real = &machine.walls[0];
        let kind = if shown_fall(machine) > FALL + FALL_NOISE * noise {
            wall.kind == WallKind::Collapse
        } else {
            let all: f64 = machine.allocate(&real.members).iter().sum();
            let told = wall.at_full_load_bytes_per_s;
            let off = told.unwrap_or(wall.limit_bytes_per_s) / all - 1.0;
            off.abs() < 4.0 * noise + 0.02
        };
        return real.members == wall.members && kind;
    }
    let shown = visible(machine);
    wall.kind == WallKind::Limit
        && shown.iter().any(|one| {
            let off = wall.limit_bytes_per_s / one.wall.limit_bytes_per_s - 1.0;
            one.wall.members == wall.members && off.abs() < 4.0 * noise + 0.02
        })
}

/// Whether the walls found do not explain what all targets bring.
fn is_no_answer(machine: &Machine, findings: &Findings, noise: f64) -> bool {
    let Some(together) = &findings.together else {
        return true;
    };
    let mut found = machine.clone();
    found.behaviour = Behaviour::Flat;
    found.walls = findings
        .walls
        .iter()
        .map(|wall| SumLimit {
            members: wall.members.clone(),
            limit_bytes_per_s: wall
                .at_full_load_bytes_per_s
                .unwrap_or(wall.limit_bytes_per_s),
        })
        .collect();
    let all: Vec<usize> = (0..machine.rates.len()).collect();
    // Where limits cross, the sum depends on how they are shared.
    let most: f64 = found.flat(&all, None).iter().sum();
    let most = most.min(Truth::of(&found).sum(&all));
    together.sum_bytes_per_s < most * (1.0 - EXPLAINED - EXPLAINED_NOISE * noise)
}

fn search(kind: Kind, seed: u64, said: &mut Said) {
    let mut chance = Chance::new(seed);
    let machine = kind.machine(&mut chance, seed);
    let noise = [0.0, 0.005, 0.01, 0.02][seed as usize % 4];
    let mut bench = Bench::new(&machine, noise, seed);
    if let Kind::Disturbed = kind {
        bench.disturbed = 0.03;
    }
    let is_ordered = !matches!(kind, Kind::Unordered);
    let findings = diagnose(&mut bench, is_ordered, noise);
    said.searches += 1;
    said.readings_per_target += findings.measurements.len() as f64 / machine.rates.len() as f64;
    if findings.complete {
        said.complete += 1;
        said.no_answer += usize::from(is_no_answer(&machine, &findings, noise));
    }
    let mut is_misled = false;
    for wall in &findings.walls {
        let is_true = is_true(kind, &machine, wall, noise);
        said.false_collapses += usize::from(!is_true && wall.kind == WallKind::Collapse);
        if findings.unexplained.is_some() {
            said.beside.0 += usize::from(is_true);
            said.beside.1 += 1;
        }
        if wall.confidence >= SURE {
            said.sure += 1;
            said.falsely_sure += usize::from(!is_true);
            is_misled |= !is_true;
        }
    }
    said.misled += usize::from(is_misled);
    if kind.falls() {
        let found = |wall: &FoundWall| wall.members == machine.walls[0].members;
        said.required += 1;
        said.missed += usize::from(!findings.walls.iter().any(found));
        return;
    }
    let shown = visible(&machine);
    for one in shown.iter().filter(|one| one.headroom > required(noise)) {
        let found = |wall: &FoundWall| wall.members == one.wall.members;
        said.required += 1;
        said.missed += usize::from(!findings.walls.iter().any(found));
    }
}

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
#[ignore = "takes minutes; its table is for people"]
fn of_what_is_said_with_certainty_little_is_false() {
    let machines = number("SUSTAIN_FUZZ_MACHINES", 500);
    let first = number("SUSTAIN_FUZZ_SEED", 900_000);
    println!(
        "| machines | searches | complete | complete, no answer | sure | falsely sure | misled | \
         false collapses | missed | readings per target | \
         true of those beside something unexplained |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let (mut no_answer, mut complete) = (0, 0);
    for kind in KINDS {
        let mut said = Said::default();
        for seed in first..first + machines {
            search(kind, seed, &mut said);
        }
        println!(
            "| {kind:?} | {} | {} | {} | {} | {} | {} | {} | {} of {} | {:.1} | {} of {} |",
            said.searches,
            said.complete,
            said.no_answer,
            said.sure,
            said.falsely_sure,
            said.misled,
            said.false_collapses,
            said.missed,
            said.required,
            said.readings_per_target / said.searches.max(1) as f64,
            said.beside.0,
            said.beside.1
        );
        no_answer += said.no_answer;
        complete += said.complete;
    }
    assert!(no_answer * 200 <= complete, "{no_answer} of {complete}");
}
