//! Diagnoses of disks that pause often and briefly behind limits that they share: what such a disk
//! leaves, the others of a small subset cannot take over, and that is no limit of the subset.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and says what it found"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sustain_document::diagnose::{Advice, DiagnoseResult};
use sustain_document::vocabulary::LayoutKind;
use sustain_experiments::diagnose::{DiagnosePlan, diagnose};
use sustain_host::Roots;
use sustain_load::Stop;

/// What is said with this confidence is taken for true.
const SURE: f64 = 0.9;
/// How many machines are tried.
const MACHINES: u64 = 60;

fn diagnosed(text: &str, seed: u64) -> DiagnoseResult {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("machine.toml");
    std::fs::write(&path, text).unwrap();
    let mut plan = DiagnosePlan::new([format!("sim:{}", path.display())]);
    plan.load.seed = seed;
    diagnose(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap()
}

/// The walls that are said with this confidence or more, by their members.
fn walls(result: &DiagnoseResult, confidence: f64) -> BTreeSet<Vec<String>> {
    let walls = result.walls.iter();
    let sure = walls.filter(|wall| wall.confidence >= confidence);
    sure.map(|wall| {
        let mut members = wall.members.clone();
        members.sort();
        members
    })
    .collect()
}

#[test]
fn a_disk_that_pauses_often_makes_no_second_wall() {
    let mut text = "[limit.host]\nrate = \"335MB/s\"\n".to_owned();
    for (name, rate, stall) in [
        ("d0", 297, ""),
        ("d1", 251, "stall = { every = \"851ms\", for = \"69ms\" }\n"),
        ("d2", 188, ""),
    ] {
        write!(
            text,
            "[[disk]]\nname = \"{name}\"\ncapacity = \"1TB\"\nread = \"{rate}MB/s\"\n\
             noise = \"0.3%\"\nthrough = [\"host\"]\n{stall}"
        )
        .unwrap();
    }
    let all = ["d0", "d1", "d2"].map(str::to_owned).to_vec();
    for seed in 1..=8 {
        let result = diagnosed(&text, seed);
        assert_eq!(
            walls(&result, SURE),
            BTreeSet::from([all.clone()]),
            "{seed}"
        );
        let limit = result.walls[0].limit_bytes_per_s;
        assert!((limit / 335e6 - 1.0).abs() < 0.02, "{seed}: {limit}");
    }
}

/// Disks behind one limit, of which the first are behind a second one of their own in every second
/// machine, and every second disk pauses.
struct Machine {
    text: String,
    walls: BTreeSet<Vec<String>>,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut between = |low: f64, high: f64| {
            low + (high - low) * (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
        };
        let disks = between(3.0, 7.0) as usize;
        let inner = between(2.0, disks as f64) as usize;
        let rates: Vec<f64> = (0..disks).map(|_| between(100.0, 300.0)).collect();
        let sum_inner: f64 = rates[..inner].iter().sum();
        let is_nested = between(0.0, 1.0) < 0.5;
        let inner_part = if is_nested { between(0.55, 0.8) } else { 1.2 };
        let passing = rates[inner..].iter().sum::<f64>() + sum_inner * inner_part.min(1.0);
        let outer = passing * between(0.6, 0.85);
        let mut text = format!(
            "[limit.inner]\nrate = \"{:.1}MB/s\"\n[limit.outer]\nrate = \"{outer:.1}MB/s\"\n",
            sum_inner * inner_part
        );
        for (number, rate) in rates.iter().enumerate() {
            let through = if number < inner { "\"inner\", " } else { "" };
            write!(
                text,
                "[[disk]]\nname = \"d{number}\"\ncapacity = \"1TB\"\nread = \"{rate:.1}MB/s\"\n\
                 noise = \"0.3%\"\nthrough = [{through}\"outer\"]\n"
            )
            .unwrap();
            if between(0.0, 1.0) < 0.5 {
                let every = between(600.0, 3000.0);
                let rest = between(25.0, 0.15 * every);
                writeln!(
                    text,
                    "stall = {{ every = \"{every:.0}ms\", for = \"{rest:.0}ms\" }}"
                )
                .unwrap();
            }
        }
        let names = |count: usize| (0..count).map(|number| format!("d{number}")).collect();
        let mut walls = BTreeSet::from([names(disks)]);
        if is_nested && sum_inner * inner_part < outer {
            walls.insert(names(inner));
        }
        Machine { text, walls }
    }
}

/// The summary and the advice name the same rate of all of them by themselves.
fn assert_one_rate_for_all(result: &DiagnoseResult) {
    let Some(together) = &result.together else {
        return;
    };
    let is_of_all = |advice: &&Advice| {
        let is_use = advice.layout == LayoutKind::Independent && advice.move_elsewhere.is_empty();
        is_use && advice.leave_out.is_empty()
    };
    for advice in result.advice.iter().filter(is_of_all) {
        assert_eq!(advice.measured_bytes_per_s, Some(together.rate_bytes_per_s));
    }
}

/// What was said of some machines.
#[derive(Debug, Default)]
struct Said {
    /// Walls said with certainty, and those of them that are not true.
    sure: usize,
    falsely_sure: usize,
    /// Walls that are there, and those of them that were not found.
    there: usize,
    missed: usize,
}

impl Said {
    fn of(seeds: impl IntoIterator<Item = u64>) -> Said {
        let mut said = Said::default();
        for seed in seeds {
            let machine = Machine::new(seed);
            let result = diagnosed(&machine.text, seed);
            assert_one_rate_for_all(&result);
            let sure = walls(&result, SURE);
            let not_true: Vec<_> = sure.difference(&machine.walls).collect();
            let named = walls(&result, 0.0);
            let not_found: Vec<_> = machine.walls.difference(&named).collect();
            if !not_true.is_empty() || !not_found.is_empty() {
                eprintln!(
                    "{seed}: not true {not_true:?}, missed {not_found:?}, {:?}\n{}",
                    result.unexplained, machine.text
                );
            }
            said.sure += sure.len();
            said.falsely_sure += not_true.len();
            said.there += machine.walls.len();
            said.missed += not_found.len();
        }
        eprintln!("{said:?}");
        said
    }
}

#[test]
fn pauses_neither_make_walls_nor_hide_them() {
    let said = Said::of([0, 12, 24, 46, 50, 55]);
    assert_eq!((said.falsely_sure, said.missed), (0, 0), "{said:?}");
}

#[test]
#[ignore = "takes half a minute"]
fn pauses_hardly_ever_make_walls_or_hide_them() {
    let said = Said::of(0..MACHINES);
    assert!(said.falsely_sure * 50 <= said.sure, "{said:?}");
    assert!(said.missed * 25 <= said.there, "{said:?}");
}

#[test]
fn what_pauses_take_is_told_beside_the_rates_without_them() {
    let disk = |name: &str, stall: &str| {
        format!(
            "[[disk]]\nname = \"{name}\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
             stall = {{ {stall} }}\n"
        )
    };
    let first = disk("d0", "every = \"500ms\", for = \"100ms\"");
    let text = first + &disk("d1", "every = \"550ms\", for = \"120ms\"");
    let result = diagnosed(&text, 1);
    let pauses = result.pauses.unwrap();
    assert_eq!(pauses.members, ["d0", "d1"]);
    assert!((pauses.without_bytes_per_s / 200e6 - 1.0).abs() < 0.03);
    // A fifth of the one, a little more of the other.
    let with = pauses.with_bytes_per_s;
    assert!((150e6..170e6).contains(&with), "{with}");
    let is_said = |note: &String| note.contains("without them") && note.contains("with them");
    assert!(result.notes.iter().any(is_said), "{:?}", result.notes);
    let even = diagnosed(&text.replace("stall", "# stall"), 1);
    assert_eq!(even.pauses, None);
}
