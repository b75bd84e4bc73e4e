//! Prints how well walls are found on machines of known truth, as the tables in docs/walls.md:
//! `cargo run --release -p sustain-statistics --example walls_table`.

#[path = "../tests/walls_machines/mod.rs"]
mod walls_machines;

use std::io::{self, Write};
use sustain_statistics::walls::WallKind;
use walls_machines::score::Score;
use walls_machines::table::{self, Cell, Late, NAMES, Seen, at_noise, cost, kind_of, named};
use walls_machines::{Behaviour, Bench, Chance, Machine, SHAPES, SHARINGS, Shape};

/// Seeds that no threshold was chosen with.
const SEED: u64 = 5_000_000_000;
const MACHINES: u64 = 200;
const NOISES: [f64; 5] = [0.0, 0.005, 0.01, 0.02, 0.05];

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    found(&mut out)?;
    by_shape(&mut out)?;
    one_wall(&mut out)?;
    few_targets(&mut out)?;
    costs(&mut out)?;
    kinds(&mut out)?;
    collapses(&mut out)?;
    without_order(&mut out)
}

const HEADER: &str =
    "recall | precision | machine exactly right | limit's error, 95 of 100 | subsets / n |";

fn row(out: &mut impl Write, name: &str, score: &Score) -> io::Result<()> {
    let machines = score.machines.max(1) as f64;
    writeln!(
        out,
        "| {name} | {} | {:.3} | {:.3} | {:.3} | {:.2} % | {:.1} |",
        score.required,
        score.recall(),
        score.precision(),
        score.exact as f64 / machines,
        100.0 * score.capacity_error(0.95),
        score.readings_per_disk / machines
    )
}

fn found(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| noise, machines | must be found | {HEADER}\n|---|---|---|---|---|---|---|"
    )?;
    for noise in NOISES {
        let [common, hard] = at_noise(noise, MACHINES, SEED, true);
        row(
            out,
            &format!("{} %, all but the next row", 100.0 * noise),
            &common,
        )?;
        row(
            out,
            &format!("{} %, crossing under priority", 100.0 * noise),
            &hard,
        )?;
    }
    writeln!(out)
}

fn by_shape(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| shape, sharing, noise | must be found | {HEADER}\n|---|---|---|---|---|---|---|"
    )?;
    for noise in [0.02, 0.05] {
        for shape in SHAPES {
            for sharing in SHARINGS {
                let cell = Cell {
                    noise,
                    shape,
                    sharing,
                    machines: MACHINES,
                    seed: SEED,
                    order_known: true,
                };
                let name = format!("{shape:?}, {sharing:?}, {} %", 100.0 * noise);
                row(out, &name, &cell.run())?;
            }
        }
    }
    writeln!(out)
}

/// The costs of a single wall by the number of disks, all sharings, dummy included.
fn one_wall(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| disks | noise 0.5 % | noise 1 % |\n|---|---|---|")?;
    for (low, high) in [(2, 3), (4, 7), (8, 15), (16, 31), (32, 64)] {
        write!(out, "| {low} to {high} |")?;
        for noise in [0.005, 0.01] {
            let (mut sum, mut machines) = (0.0, 0);
            for index in 0..300 {
                let mut chance = Chance::new(SEED + index);
                let count = chance.whole(low, high);
                let machine = Machine::generate(&mut chance, Shape::One, Some(count));
                let mut bench = Bench::new(&machine, noise, SEED + index);
                bench.dummy = machine.rates[0] / 4.0;
                let findings = walls_machines::score::diagnose(&mut bench, true, noise);
                sum += findings.measurements.len() as f64 / count as f64;
                machines += 1;
            }
            write!(out, " {:.1} n |", sum / f64::from(machines))?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

/// Readings per target of few targets, by how many walls are found, all shapes and sharings.
fn few_targets(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| noise | targets | no wall | one | two | three or more |\n|---|---|---|---|---|---|"
    )?;
    for noise in [0.003, 0.01, 0.02] {
        for (low, high) in [(2, 3), (4, 7), (8, 15)] {
            // Readings per target and machines, by how many walls were found.
            let mut by_walls = [(0.0, 0_u32); 4];
            for index in 0..5 * MACHINES {
                let mut chance = Chance::new(SEED + index);
                let count = chance.whole(low, high);
                let shape = match count {
                    0..4 => Shape::One,
                    _ => SHAPES[index as usize % SHAPES.len()],
                };
                let machine = Machine::generate(&mut chance, shape, Some(count));
                let mut bench = Bench::new(&machine, noise, SEED + index);
                let findings = walls_machines::score::diagnose(&mut bench, true, 1.6 * noise);
                let (readings, machines) = &mut by_walls[findings.walls.len().min(3)];
                *readings += findings.measurements.len() as f64 / count as f64;
                *machines += 1;
            }
            write!(out, "| {} % | {low} to {high} |", 100.0 * noise)?;
            for (readings, machines) in by_walls {
                match machines {
                    0 => write!(out, " - |")?,
                    _ => write!(out, " {:.1} |", readings / f64::from(machines))?,
                }
            }
            writeln!(out)?;
        }
    }
    writeln!(out)
}

fn costs(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| machine | n = 16 | n = 64 | n = 256 |\n|---|---|---|---|"
    )?;
    for name in NAMES {
        write!(out, "| {name} |")?;
        for count in [16, 64, 256] {
            let (findings, score) = cost(&named(name, count), 0.005);
            let exact = if score.exact == 1 { "" } else { ", not exact" };
            write!(
                out,
                " {:.1} n ({:.2} n log2 n{exact}) |",
                findings.measurements.len() as f64 / count as f64,
                score.readings_per_n_log_n
            )?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

fn kinds(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| truth | noise | limit | collapse | tool | revolutions | not found |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    let truths = [
        ("limit", Behaviour::Flat, false),
        ("collapse of 20 %", Behaviour::Collapse(0.8), false),
        ("tool", Behaviour::Flat, true),
        ("missed revolutions", Behaviour::Revolutions, false),
    ];
    for (name, behaviour, tool) in truths {
        for noise in [0.005, 0.02, 0.05] {
            let seen: Vec<Option<Seen>> = (0..300)
                .map(|index| kind_of(noise, behaviour, tool, SEED + index))
                .collect();
            let of = |kind| seen.iter().flatten().filter(|one| one.kind == kind).count();
            writeln!(
                out,
                "| {name} | {} % | {} | {} | {} | {} | {} |",
                100.0 * noise,
                of(WallKind::Limit),
                of(WallKind::Collapse),
                of(WallKind::Tool),
                seen.iter()
                    .flatten()
                    .filter(|one| one.missed_revolutions)
                    .count(),
                seen.iter().filter(|one| one.is_none()).count()
            )?;
        }
    }
    writeln!(out)
}

/// Collapses of any two members: exactly those, or not.
fn collapses(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| any two fall below one | noise | exactly right | subsets / n |\n|---|---|---|---|"
    )?;
    for late in [Late::Everywhere, Late::One, Late::Two] {
        for noise in [0.0, 0.005, 0.02, 0.05] {
            let seen: Vec<(bool, f64)> = (0..300)
                .map(|index| table::late(noise, late, SEED + index))
                .collect();
            writeln!(
                out,
                "| {late:?} | {} % | {} of 300 | {:.1} |",
                100.0 * noise,
                seen.iter().filter(|one| one.0).count(),
                seen.iter().map(|one| one.1).sum::<f64>() / 300.0
            )?;
        }
    }
    writeln!(out)
}

fn without_order(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "| no order, 1 % | must be found | {HEADER}\n|---|---|---|---|---|---|---|"
    )?;
    for shape in SHAPES {
        let mut score = Score::default();
        for sharing in SHARINGS {
            let cell = Cell {
                noise: 0.01,
                shape,
                sharing,
                machines: MACHINES / 2,
                seed: SEED,
                order_known: false,
            };
            score.add(&cell.run());
        }
        row(out, &format!("{shape:?}"), &score)?;
    }
    Ok(())
}
