//! A diagnosis from the machine file to the document: generated machines whose walls are known, each
//! driven by the simulated engine through the same phases as real disks. What the search alone can
//! and cannot find is tried on many more machines in `walls`.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sustain_bench::Stop;
use sustain_bench::diagnose::result::DiagnoseResult;
use sustain_bench::diagnose::{DiagnosePlan, diagnose};
use sustain_host::Roots;

/// A limit of a generated machine: the disks below it, and what it lets through in MB/s.
#[derive(Debug)]
struct Limit {
    disks: std::ops::Range<usize>,
    rate: f64,
}

/// Disks that hang in a row; limits over stretches of it, nested or apart.
#[derive(Debug)]
struct Generated {
    disks: Vec<f64>,
    limits: Vec<Limit>,
}

fn below(generator: &mut Xoshiro256PlusPlus, end: usize) -> usize {
    (generator.next_u64() % end as u64) as usize
}

fn between(generator: &mut Xoshiro256PlusPlus, low: f64, high: f64) -> f64 {
    low + (high - low) * (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

impl Generated {
    /// Channels of two to four disks, some of them too slow for their disks, and perhaps a bus that
    /// is too slow for the channels. Each limit binds by 15 % or more, or not at all.
    fn new(seed: u64) -> Generated {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut machine = Generated {
            disks: Vec::new(),
            limits: Vec::new(),
        };
        let mut passing = 0.0;
        for _ in 0..=below(&mut generator, 4) {
            let start = machine.disks.len();
            for _ in 0..2 + below(&mut generator, 3) {
                let rate = between(&mut generator, 60.0, 140.0);
                machine.disks.push(rate);
            }
            let disks = start..machine.disks.len();
            let sum: f64 = machine.disks[disks.clone()].iter().sum();
            let binds = below(&mut generator, 2) == 0;
            let rate = sum
                * if binds {
                    between(&mut generator, 0.55, 0.85)
                } else {
                    1.2
                };
            passing += rate.min(sum);
            machine.limits.push(Limit { disks, rate });
        }
        let binds = below(&mut generator, 2) == 0;
        let rate = passing
            * if binds {
                between(&mut generator, 0.6, 0.85)
            } else {
                1.2
            };
        let disks = 0..machine.disks.len();
        machine.limits.push(Limit { disks, rate });
        machine
    }

    fn file(&self) -> String {
        let mut text = String::new();
        for (number, rate) in self.disks.iter().enumerate() {
            let through: Vec<String> = (0..self.limits.len())
                .filter(|limit| self.limits[*limit].disks.contains(&number))
                .map(|limit| format!("limit{limit}"))
                .collect();
            write!(
                text,
                "[[disk]]\nname = \"d{number:02}\"\ncapacity = \"1TB\"\nread = \"{rate}MB/s\"\n\
                 noise = \"0.5%\"\nthrough = {through:?}\n\n"
            )
            .unwrap();
        }
        for (number, limit) in self.limits.iter().enumerate() {
            write!(
                text,
                "[limit.limit{number}]\nrate = \"{}MB/s\"\n\n",
                limit.rate
            )
            .unwrap();
        }
        text
    }

    /// The limits that bind, as their members' names; channels first settle what the bus can see.
    fn expected(&self) -> BTreeSet<Vec<String>> {
        let (bus, channels) = self.limits.split_last().unwrap();
        let of = |disks: &std::ops::Range<usize>| -> f64 { self.disks[disks.clone()].iter().sum() };
        let passing: f64 = channels
            .iter()
            .map(|channel| channel.rate.min(of(&channel.disks)))
            .sum();
        let binding = channels
            .iter()
            .filter(|channel| channel.rate < of(&channel.disks).min(bus.rate));
        let bus = Some(bus).filter(|bus| bus.rate < passing);
        let names = |limit: &Limit| limit.disks.clone().map(|disk| format!("d{disk:02}"));
        binding
            .chain(bus)
            .map(|limit| names(limit).collect())
            .collect()
    }
}

fn diagnosed(file: &Path, seed: u64) -> DiagnoseResult {
    let plan = DiagnosePlan {
        time_per_run_ns: 1_000_000_000,
        seed,
        ..DiagnosePlan::new(vec![format!("sim:{}", file.display())])
    };
    diagnose(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap()
}

#[test]
fn generated_machines_show_their_limits_and_no_others() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("machine.toml");
    let mut wrong = Vec::new();
    for seed in 0..60 {
        let machine = Generated::new(seed);
        std::fs::write(&file, machine.file()).unwrap();
        let result = diagnosed(&file, seed);
        let found: BTreeSet<Vec<String>> = result
            .walls
            .iter()
            .map(|wall| {
                let mut members = wall.members.clone();
                members.sort();
                members
            })
            .collect();
        if found != machine.expected() {
            wrong.push((seed, machine.expected(), found));
        }
        for wall in &result.walls {
            let explained = wall.share_of_hop.unwrap_or(0.0);
            assert!((explained - 1.0).abs() < 0.03, "seed {seed}: {wall:#?}");
        }
    }
    assert!(wrong.len() <= 1, "{wrong:#?}");
}
