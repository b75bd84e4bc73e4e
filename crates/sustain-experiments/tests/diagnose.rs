//! A diagnosis from the machine file to the document: generated machines whose walls are known,
//! each driven by the simulated engine through the same phases as real disks. What the search alone
//! can and cannot find is tried on many more machines in `walls`.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sustain_disk::target::{DataPath, Direction};
use sustain_document::diagnose::{Advice, DiagnoseResult};
use sustain_experiments::diagnose::{DiagnoseEvent, DiagnosePlan, diagnose};
use sustain_host::Roots;
use sustain_load::Stop;

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
        ..DiagnosePlan::new([format!("sim:{}", file.display())])
    };
    diagnosed_as(plan, seed)
}

fn diagnosed_as(mut plan: DiagnosePlan, seed: u64) -> DiagnoseResult {
    plan.load.seed = seed;
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

/// A machine file in which these disks pass only these limits any more.
fn with_cables_moved(file: &str, moved: &[String], kept: &[String]) -> String {
    let mut disk = String::new();
    let mut text = String::new();
    for line in file.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            disk = name.trim().trim_matches('"').to_owned();
        }
        if line.starts_with("through") && moved.contains(&disk) {
            let passed = line.split('"').skip(1).step_by(2);
            let passed: Vec<&str> = passed
                .filter(|one| kept.iter().any(|kept| kept == one))
                .collect();
            writeln!(text, "through = {passed:?}").unwrap();
        } else {
            writeln!(text, "{line}").unwrap();
        }
    }
    text
}

/// The limits that are passed by all members of a wall and by others too: no other cable avoids
/// them.
fn limits_around(file: &str, result: &DiagnoseResult, advice: &Advice) -> Vec<String> {
    let mut through: Vec<(String, Vec<String>)> = Vec::new();
    for line in file.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            through.push((name.trim().trim_matches('"').to_owned(), Vec::new()));
        } else if line.starts_with("through") {
            let passed = line.split('"').skip(1).step_by(2).map(str::to_owned);
            through.last_mut().unwrap().1 = passed.collect();
        }
    }
    let passes = |limit: &str| -> BTreeSet<&String> {
        let disks = through.iter();
        let disks = disks.filter(|(_, passed)| passed.iter().any(|one| one == limit));
        disks.map(|(disk, _)| disk).collect()
    };
    let holds = |wall: &&sustain_document::diagnose::Wall| {
        let is_member = |one: &String| wall.members.contains(one);
        advice.move_elsewhere.iter().all(is_member) && wall.members.len() < through.len()
    };
    let wall = result
        .walls
        .iter()
        .filter(holds)
        .max_by_key(|wall| wall.members.len());
    let members: BTreeSet<&String> = wall.unwrap().members.iter().collect();
    let all: BTreeSet<String> = through
        .iter()
        .flat_map(|(_, passed)| passed.clone())
        .collect();
    let around = all.into_iter().filter(|limit| {
        let disks = passes(limit);
        disks.len() > members.len() && disks.is_superset(&members)
    });
    around.collect()
}

/// Diagnoses a machine each way that it allows, builds what is advised, and compares. How many
/// pieces of advice needed other cables.
fn check_advice(text: &str) -> usize {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("machine.toml");
    let all_at_once = |text: &str, direction| {
        std::fs::write(&file, text).unwrap();
        let mut plan = DiagnosePlan {
            time_per_run_ns: 2_000_000_000,
            ..DiagnosePlan::new([format!("sim:{}", file.display())])
        };
        plan.load.direction = Some(direction);
        diagnose(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).ok()
    };
    let mut moved = 0;
    for direction in [Direction::Read, Direction::Write] {
        // A machine may have one direction only, or one disk.
        let Some(result) = all_at_once(text, direction) else {
            continue;
        };
        for advice in &result.advice {
            let expected = advice.expected_bytes_per_s;
            let came = if advice.move_elsewhere.is_empty() {
                advice.measured_bytes_per_s
            } else {
                moved += 1;
                let around = limits_around(text, &result, advice);
                let other = with_cables_moved(text, &advice.move_elsewhere, &around);
                let other = all_at_once(&other, direction).unwrap();
                Some(other.together.unwrap().rate_bytes_per_s)
            };
            let Some(came) = came else { continue };
            let is_refuted = advice.why.starts_with("when tried, it reached only");
            let is_as_predicted = (came / expected - 1.0).abs() < 0.05;
            let is_bound = advice.is_at_most && came < expected * 1.05;
            assert!(
                is_as_predicted || is_bound || is_refuted,
                "{came}: {advice:#?}"
            );
        }
    }
    moved
}

#[test]
fn advice_for_each_machine_of_the_collection_gives_what_it_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            check_advice(&std::fs::read_to_string(path).unwrap());
            files += 1;
        }
    }
    assert!(files >= 9, "{files}");
}

#[test]
fn other_cables_are_promised_no_more_than_the_next_limit_lets_through() {
    // The bus of four disks binds; the host binds only when some of them no longer pass the bus.
    let mut text = String::new();
    for disk in 0..6 {
        let bus = if disk < 4 { "\"bus\", " } else { "" };
        writeln!(
            text,
            "[[disk]]\nname = \"d{disk}\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
             through = [{bus}\"host\"]\n"
        )
        .unwrap();
    }
    text += "[limit.bus]\nrate = \"200MB/s\"\n[limit.host]\nrate = \"450MB/s\"\n";
    assert_eq!(
        check_advice(&text),
        2,
        "in each direction two disks elsewhere bring 50 MB/s, not 200"
    );
}

/// Disks that miss revolutions, the first `behind` of them behind one limit.
fn turning(rates: &[f64], behind: usize, limit: f64) -> String {
    let mut text = String::new();
    for (number, rate) in rates.iter().enumerate() {
        let through = if number < behind {
            "through = [\"bus\"]\n"
        } else {
            ""
        };
        writeln!(
            text,
            "[[disk]]\nname = \"d{number}\"\ncapacity = \"1TB\"\nread = \"{rate}MB/s\"\n\
             noise = \"0.5%\"\nrpm = 10000\n{through}"
        )
        .unwrap();
    }
    write!(text, "[limit.bus]\nrate = \"{limit}MB/s\"\n").unwrap();
    text
}

/// Any two of the first three disks miss revolutions together, and of the second machine's five
/// some sets of three do not. So pairs, and a set with one disk too few, looked like walls.
#[test]
fn disks_that_miss_revolutions_are_in_no_wall_of_wrong_members_that_is_certain() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("machine.toml");
    let alike = [92.68, 94.29, 91.78, 91.18, 92.23, 92.29, 91.88, 94.28];
    let unlike = [
        70.7, 48.97, 81.23, 86.7, 117.33, 93.29, 107.52, 72.29, 93.12,
    ];
    let mut walls = 0;
    for (text, behind) in [
        (turning(&alike, 3, 171.75), 3),
        (turning(&unlike, 5, 213.93), 5),
    ] {
        std::fs::write(&file, text).unwrap();
        for seed in 0..6 {
            for wall in diagnosed(&file, seed).walls {
                walls += 1;
                let is_right = wall.members.len() == behind;
                assert!(is_right || wall.confidence < 0.9, "{seed}: {wall:#?}");
            }
        }
    }
    assert!(walls > 12, "{walls}");
}

/// Disks behind no limit. Each of the first `slow` has a short slow stretch at a place of its own.
fn with_slow_stretches(disks: usize, slow: usize, noise: &str) -> String {
    let mut text = String::new();
    for number in 0..disks {
        let stretch = match number < slow {
            true => format!(
                "slow = [{{ at = \"{}MB\", for = \"5MB\", to = \"10MB/s\" }}]\n",
                20 + 45 * number
            ),
            false => String::new(),
        };
        writeln!(
            text,
            "[[disk]]\nname = \"d{number}\"\ncapacity = \"1TB\"\nread = \"105MB/s\"\n\
             noise = \"{noise}\"\n{stretch}"
        )
        .unwrap();
    }
    text
}

/// The stretch is left out of the rate of the disk alone, and it is too small a part of a sum of
/// four disks to be left out there by itself.
#[test]
fn a_short_slow_stretch_of_a_disk_is_no_limit_that_it_shares() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("machine.toml");
    for (disks, slow, noise) in [(4, 1, "0.3%"), (4, 1, "1%"), (5, 4, "0.3%")] {
        std::fs::write(&file, with_slow_stretches(disks, slow, noise)).unwrap();
        for seed in 1..=10 {
            let plan = DiagnosePlan::new([format!("sim:{}", file.display())]);
            let walls = diagnosed_as(plan, seed).walls;
            let is_sure = walls.iter().any(|wall| wall.confidence >= 0.9);
            assert!(!is_sure, "{slow} of {disks}, {noise}, {seed}: {walls:#?}");
        }
    }
}

#[test]
fn a_file_that_becomes_shorter_meanwhile_is_no_healthy_target() {
    let place = tempfile::tempdir().unwrap();
    let files = ["stays", "shrinks"].map(|name| place.path().join(name));
    for file in &files {
        std::fs::write(file, vec![1; 4 << 20]).unwrap();
    }
    let mut plan = DiagnosePlan {
        time_per_run_ns: 100_000_000,
        ..DiagnosePlan::new(files.iter().map(|file| file.display().to_string()))
    };
    plan.load.direction = Some(Direction::Read);
    plan.load.path = DataPath::Buffered;
    let mut shrink = |event: DiagnoseEvent| {
        if let DiagnoseEvent::Measured(_) = event {
            let file = std::fs::File::options().write(true).open(&files[1]);
            file.unwrap().set_len(100_000).unwrap();
        }
    };
    let result = diagnose(&plan, &Roots::default(), &Stop::default(), &mut shrink).unwrap();
    let dropped = result.dropped.first().unwrap();
    assert!(dropped.target.ends_with("shrinks"), "{dropped:?}");
    assert!(
        dropped.message.contains("it has become shorter"),
        "{dropped:?}"
    );
}
