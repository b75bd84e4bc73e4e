//! Walls on generated machines of known truth: what must be found, what must not, what it costs,
//! and what happens when the measuring goes wrong.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod walls_machines;

use sustain_statistics::walls::{
    Ask, Findings, FoundWall, Halt, Model, Probe, SearchBasis, SearchStep, SubsetReading, SumLimit,
    WallKind, WallState, find,
};
use walls_machines::oracle::{shown_fall, visible};
use walls_machines::score::{Score, diagnose, judge};
use walls_machines::table::{self, Cell, Late, at_noise, cost, kind_of, named};
use walls_machines::{Behaviour, Bench, Chance, Machine, SHAPES, SHARINGS, Shape, Sharing};

/// Machines of each shape and sharing at each noise: 15 * 14 * 5 = 1,050.
const MACHINES: u64 = 14;
const SEED: u64 = 9_000;

fn assert_goals(noise: f64, goal: f64) {
    let [score, _] = at_noise(noise, MACHINES, SEED, true);
    assert!(
        score.recall() >= goal,
        "recall at {noise}: {}",
        score.recall()
    );
    assert!(
        score.precision() >= goal,
        "precision at {noise}: {}",
        score.precision()
    );
}

#[test]
fn crossing_walls_are_found_under_priority() {
    let mut score = Score::default();
    for noise in [0.0, 0.01, 0.02] {
        let cell = Cell {
            noise,
            shape: Shape::Overlap,
            sharing: Sharing::Priority,
            machines: 40,
            seed: SEED,
            order_known: true,
        };
        score.add(&cell.run());
    }
    assert!(score.recall() >= 0.95, "{}", score.recall());
    assert!(score.precision() >= 0.95, "{}", score.precision());
}

#[test]
fn walls_are_found_without_noise() {
    assert_goals(0.0, 0.99);
}

#[test]
fn walls_are_found_at_half_a_percent() {
    assert_goals(0.005, 0.99);
}

#[test]
fn walls_are_found_at_one_percent() {
    assert_goals(0.01, 0.99);
}

#[test]
fn walls_are_found_at_two_percent_with_their_limits() {
    assert_goals(0.02, 0.99);
    let [common, _] = at_noise(0.02, MACHINES, SEED, true);
    assert!(
        common.capacity_error(0.95) < 0.02,
        "{}",
        common.capacity_error(0.95)
    );
}

#[test]
fn walls_are_found_at_five_percent() {
    assert_goals(0.05, 0.97);
}

#[test]
fn no_wall_is_claimed_where_there_is_none() {
    for noise in [0.0, 0.01, 0.02, 0.05] {
        let score = Cell {
            noise,
            shape: Shape::None,
            sharing: Sharing::MaxMin,
            machines: 60,
            seed: 500,
            order_known: true,
        }
        .run();
        assert_eq!(score.reported, 0, "at {noise}");
    }
}

#[test]
fn one_wall_costs_at_most_three_subsets_a_target_or_four_if_they_are_few() {
    let (mut few, mut many) = (Score::default(), Score::default());
    for seed in 0..90 {
        let mut chance = Chance::new(40_000 + seed);
        let mut machine = Machine::generate(&mut chance, Shape::One, None);
        machine.sharing = SHARINGS[seed as usize % 3];
        let mut bench = Bench::new(&machine, 0.01, seed);
        bench.dummy = machine.rates[0] / 4.0;
        let findings = diagnose(&mut bench, true, 0.01);
        let score = judge(&machine, &findings, 0.01);
        if machine.rates.len() < 16 {
            &mut few
        } else {
            &mut many
        }
        .add(&score);
    }
    let mean = |score: &Score| score.readings_per_disk / score.machines as f64;
    assert!(mean(&few) <= 4.0, "{}", mean(&few));
    assert!(mean(&many) <= 3.0, "{}", mean(&many));
}

#[test]
fn many_walls_cost_no_more_than_n_log_n() {
    for name in ["8 channels", "pairs", "tree 8+2+1", "binary tree"] {
        for (count, noise) in [(16, 0.005), (16, 0.01), (64, 0.005), (64, 0.01)] {
            let (findings, score) = cost(&named(name, count), noise);
            assert_eq!(score.hit, score.required, "{name}, {count} at {noise}");
            assert_eq!(score.right, score.reported, "{name}, {count} at {noise}");
            assert!(
                score.worst_n_log_n < 1.5,
                "{name}, {count} at {noise}: {}",
                findings.measurements.len()
            );
        }
    }
}

/// Four disks of 70 MB/s on two channels of 104 behind a bus of 180.
fn nest() -> Machine {
    let mut machine = Machine::plain(&mut Chance::new(1), 4, Sharing::MaxMin);
    machine.rates.fill(70e6);
    machine.limit(0, 2, 104.0 / 70.0);
    machine.limit(2, 4, 104.0 / 70.0);
    machine.limit(0, 4, 180.0 / 70.0);
    machine
}

#[test]
fn three_walls_of_four_quiet_disks_cost_five_readings_a_disk() {
    let machine = nest();
    let mut readings_a_disk = 0.0;
    for seed in 0..40 {
        let mut bench = Bench::new(&machine, 0.002, seed);
        bench.dummy = machine.rates[0] / 4.0;
        let findings = diagnose(&mut bench, true, 0.002);
        let score = judge(&machine, &findings, 0.002);
        assert_eq!((score.hit, score.right), (3, 3), "seed {seed}");
        readings_a_disk += score.readings_per_disk / 40.0;
    }
    assert!(readings_a_disk <= 5.0, "{readings_a_disk}");
}

/// Which readings a diagnosis of quiet, equal disks takes, by their steps, with a limit of all of
/// them or without one.
fn steps_of_quiet_disks(count: usize, limit_of_rates: Option<f64>) -> Vec<SearchStep> {
    let mut machine = Machine::plain(&mut Chance::new(1), count, Sharing::MaxMin);
    machine.rates.fill(70e6);
    if let Some(limit_of_rates) = limit_of_rates {
        machine.limit(0, count, limit_of_rates);
    }
    let mut bench = Bench::new(&machine, 0.003, 1);
    bench.dummy = machine.rates[0] / 4.0;
    let findings = diagnose(&mut bench, true, 0.003);
    assert!(findings.complete);
    assert_eq!(
        findings.walls.len(),
        usize::from(limit_of_rates.is_some()),
        "{count} disks"
    );
    let read = findings.measurements.iter();
    read.map(|measured| measured.step).collect()
}

#[test]
fn a_diagnosis_ends_when_no_reading_could_change_its_answer() {
    // Disks that bring together what they bring alone share nothing in any smaller set either.
    for count in 2..16 {
        let mut only = vec![SearchStep::Alone; count];
        only.extend([SearchStep::All, SearchStep::Anchor]);
        assert_eq!(steps_of_quiet_disks(count, None), only, "{count} disks");
    }
    // The limit of two disks has no smaller set in which another one could be, and none that could
    // be predicted.
    let steps = steps_of_quiet_disks(2, Some(1.2));
    let of_two = [
        SearchStep::Alone,
        SearchStep::Alone,
        SearchStep::All,
        SearchStep::Confirm,
        SearchStep::Anchor,
        SearchStep::Tool,
        SearchStep::Tool,
    ];
    assert_eq!(steps, of_two);
}

#[test]
fn limit_collapse_and_tool_are_told_apart() {
    let count = |behaviour, tool, want: fn(WallKind) -> bool| {
        (0..40)
            .filter(|&seed| {
                kind_of(0.01, behaviour, tool, 70 + seed).is_some_and(|seen| want(seen.kind))
            })
            .count()
    };
    assert!(count(Behaviour::Flat, false, |kind| kind == WallKind::Limit) >= 39);
    assert!(
        count(Behaviour::Collapse(0.8), false, |kind| kind
            == WallKind::Collapse)
            >= 39
    );
    assert!(count(Behaviour::Flat, true, |kind| kind == WallKind::Tool) >= 39);
}

#[test]
fn collapses_of_any_two_members_are_found_with_exactly_their_members() {
    for late in [Late::Everywhere, Late::One, Late::Two] {
        for noise in [0.0, 0.01, 0.02] {
            let wrong: Vec<u64> = (0..40)
                .filter(|&seed| !table::late(noise, late, 900 + seed).0)
                .collect();
            assert!(wrong.len() <= 1, "{late:?} at {noise}: {wrong:?}");
        }
    }
}

/// Four drives that miss revolutions on one controller: any two bring less than one alone.
fn controller() -> Machine {
    let mut machine = Machine::plain(&mut Chance::new(3), 4, Sharing::MaxMin);
    machine.rates.fill(35e6);
    machine.limit(0, 4, 1.0);
    machine.behaviour = Behaviour::Late(7.53 / 35.0);
    machine
}

#[test]
fn a_collapse_of_every_pair_is_one_wall_that_explains_all_that_was_measured() {
    let machine = controller();
    let findings = diagnose(&mut Bench::new(&machine, 0.0, 1), true, 0.0);
    assert_eq!(members(&findings), [vec![0, 1, 2, 3]]);
    let wall = &findings.walls[0];
    assert_eq!(wall.kind, WallKind::Collapse);
    assert_eq!(wall.state, WallState::CapacityIsLowerBound);
    assert!((wall.limit_bytes_per_s - 35e6).abs() < 1e3);
    assert!((wall.at_full_load_bytes_per_s.unwrap() - 30.12e6).abs() < 1e4);
    for one in &findings.measurements {
        match (one.members.len(), one.predicted_bytes_per_s) {
            (1 | 4, Some(told)) => assert!((told / one.sum_bytes_per_s - 1.0).abs() < 0.01),
            (2 | 3, None) => {}
            other => panic!("{other:?}: {one:?}"),
        }
    }
}

#[test]
fn missed_revolutions_are_seen_in_the_ratios() {
    let seen = (0..40).filter(|&seed| {
        kind_of(0.01, Behaviour::Revolutions, false, 70 + seed)
            .is_some_and(|seen| seen.missed_revolutions)
    });
    let flat = (0..40).filter(|&seed| {
        kind_of(0.01, Behaviour::Flat, false, 70 + seed).is_some_and(|seen| seen.missed_revolutions)
    });
    assert!(seen.count() >= 39);
    assert!(flat.count() <= 1);
}

#[test]
fn one_share_that_is_a_third_by_chance_shows_no_missed_revolutions() {
    let mut machine = Machine::plain(&mut Chance::new(3), 2, Sharing::Priority);
    machine.rates = vec![150e6; 2];
    machine.weights = vec![0.0, 1.0];
    // One disk is served first and keeps its rate; the other gets what is left, a third of its own.
    machine.limit(0, 2, 4.0 / 3.0);
    let findings = diagnose(&mut Bench::new(&machine, 0.0, 1), true, 0.0);
    let wall = &findings.walls[0];
    assert!(
        (wall.limit_bytes_per_s / 200e6 - 1.0).abs() < 0.01,
        "{wall:?}"
    );
    assert!(!wall.missed_revolutions, "{wall:?}");
}

/// Sixteen disks, a channel of eight that carries five.
fn sixteen() -> Machine {
    let mut machine = Machine::plain(&mut Chance::new(3), 16, Sharing::MaxMin);
    machine.limit(4, 12, 5.0);
    machine
}

fn members(findings: &Findings) -> Vec<Vec<usize>> {
    findings
        .walls
        .iter()
        .map(|wall| wall.members.clone())
        .collect()
}

#[test]
fn a_target_that_dies_is_left_out_and_the_rest_is_concluded() {
    let machine = sixteen();
    let mut bench = Bench::new(&machine, 0.01, 5);
    let dies = machine.order[6];
    bench.death = Some((dies, 30));
    let findings = diagnose(&mut bench, true, 0.01);
    assert_eq!(findings.dropped, [dies]);
    assert_eq!(findings.alone[dies], None);
    let mut left = machine.walls[0].members.clone();
    left.retain(|&member| member != dies);
    assert_eq!(members(&findings), [left]);
    assert_eq!(
        findings
            .measurements
            .iter()
            .filter(|one| one.failed)
            .count(),
        1
    );
    // What was measured without it is not measured again.
    let alone = findings
        .measurements
        .iter()
        .filter(|one| one.step == SearchStep::Alone);
    assert_eq!(alone.count(), 16);
}

#[test]
fn a_halt_concludes_with_what_there_is() {
    let machine = sixteen();
    for readings in 0..60 {
        let mut bench = Bench::new(&machine, 0.01, 5);
        bench.readings_max = readings;
        let findings = diagnose(&mut bench, true, 0.01);
        assert_eq!(findings.measurements.len(), bench.readings);
        assert!(findings.complete || bench.readings == readings);
        assert!(readings >= 16 || !findings.complete);
        let known = findings.alone.iter().flatten().count();
        assert_eq!(known, readings.min(16));
    }
}

#[test]
fn too_much_noise_is_said_and_no_wall_claimed() {
    let machine = sixteen();
    let mut bench = Bench::new(&machine, 0.25, 5);
    let findings = diagnose(&mut bench, true, 0.01);
    let noisy = findings.too_noisy.unwrap();
    assert!(noisy.noise > noisy.noise_max);
    assert_eq!(members(&findings), Vec::<Vec<usize>>::new());
}

#[test]
fn a_common_drift_is_noticed_and_the_wall_still_found() {
    let machine = sixteen();
    let mut bench = Bench::new(&machine, 0.005, 5);
    bench.drift = Box::new(|reading| if reading < 25 { 1.0 } else { 0.93 });
    let findings = diagnose(&mut bench, true, 0.005);
    assert!(findings.drift.significant);
    assert!(
        (findings.drift.largest + 0.07).abs() < 0.02,
        "{:?}",
        findings.drift
    );
    assert!(findings.drift.alone_repeated);
    assert_eq!(members(&findings), [machine.walls[0].members.clone()]);
}

#[test]
fn a_drift_is_noticed_with_few_targets_too() {
    for seed in 0..20 {
        let machine = Machine::plain(&mut Chance::new(seed), 3, Sharing::MaxMin);
        let mut bench = Bench::new(&machine, 0.005, seed);
        let still = diagnose(&mut bench, true, 0.005);
        assert!(
            still.drift.anchors > 0 && !still.drift.significant,
            "{seed}"
        );
        let mut bench = Bench::new(&machine, 0.005, seed);
        // The rates alone are known by then.
        bench.drift = Box::new(|reading| if reading < 4 { 1.0 } else { 0.93 });
        let moved = diagnose(&mut bench, true, 0.005);
        assert!(moved.drift.significant, "{seed}: {:?}", moved.drift);
        assert!(moved.walls.is_empty(), "{seed}: {:?}", moved.walls);
    }
}

/// Whether all targets together bring less than the walls found let through, by more than the
/// resolution.
fn loses_more_than_is_seen(findings: &Findings) -> bool {
    let together = findings.together.as_ref().unwrap();
    let model = Model {
        alone_bytes_per_s: findings.alone.iter().map(|rate| rate.unwrap()).collect(),
        walls: Vec::new(),
    };
    let all: Vec<usize> = (0..findings.alone.len()).collect();
    let least = model.predict(&all) * (1.0 - findings.resolution);
    findings.walls.is_empty() && together.sum_bytes_per_s < least
}

/// How answers hold where all disks become slower or faster from one reading on.
#[derive(Debug, Default)]
struct Drifted {
    answers: usize,
    complete: usize,
    wrong: usize,
}

impl Drifted {
    /// One machine with the change at every instant. Right are walls that show before or after it.
    fn try_all(&mut self, machine: &Machine, known: bool, noise: f64, factor: f64) {
        let mut late = machine.clone();
        late.rates.iter_mut().for_each(|rate| *rate *= factor);
        let shown = [visible(machine), visible(&late)].concat();
        for instant in 1..3 * machine.rates.len() {
            let mut bench = Bench::new(machine, noise, instant as u64);
            bench.drift = Box::new(move |reading| if reading < instant { 1.0 } else { factor });
            let findings = diagnose(&mut bench, known, noise);
            self.answers += 1;
            if !findings.complete {
                assert!(findings.unexplained.is_some(), "{instant}: {findings:?}");
                continue;
            }
            self.complete += 1;
            assert!(findings.together.is_some(), "{instant}: {findings:?}");
            assert!(!loses_more_than_is_seen(&findings), "{instant}");
            let is_shown =
                |wall: &FoundWall| shown.iter().any(|one| one.wall.members == wall.members);
            self.wrong += usize::from(!findings.walls.iter().all(is_shown));
        }
    }
}

#[test]
fn whenever_disks_change_an_answer_called_complete_explains_what_all_bring() {
    let mut drifted = Drifted::default();
    for (seed, shape) in SHAPES.into_iter().cycle().take(40).enumerate() {
        let count = [4, 6, 8, 12, 16, 24][seed % 6];
        let machine = Machine::generate(&mut Chance::new(seed as u64), shape, Some(count));
        let factor = [0.97, 0.93, 0.85, 1.05][seed % 4];
        let noise = [0.002, 0.005, 0.01][seed % 3];
        drifted.try_all(&machine, seed % 5 > 0, noise, factor);
    }
    assert!(
        drifted.complete * 100 >= drifted.answers * 98,
        "{drifted:?}"
    );
    assert!(drifted.wrong * 100 <= drifted.answers * 3, "{drifted:?}");
}

#[test]
fn two_walls_of_unknown_order_survive_a_change_at_any_instant() {
    let mut machine = Machine::plain(&mut Chance::new(3), 16, Sharing::MaxMin);
    machine.limit(0, 6, 3.0);
    machine.limit(8, 14, 4.0);
    let mut drifted = Drifted::default();
    drifted.try_all(&machine, false, 0.005, 0.93);
    assert_eq!(drifted.complete, drifted.answers, "{drifted:?}");
    assert_eq!(drifted.wrong, 0, "{drifted:?}");
}

/// Generated machines, some of whose readings are disturbed, and each wall that is reported: how
/// sure it is said to be, and whether it is right, its kind and limit included.
fn told_of_disturbed_machines() -> Vec<(f64, bool)> {
    let mut told = Vec::new();
    for seed in 0..360 {
        let mut chance = Chance::new(60_000 + seed);
        let shape = SHAPES[seed as usize % 5];
        let count = chance.whole(4, 16);
        let machine = Machine::generate(&mut chance, shape, Some(count));
        let noise = [0.003, 0.01, 0.02][seed as usize % 3];
        let mut bench = Bench::new(&machine, noise, seed);
        bench.disturbed = [0.0, 0.02, 0.05][seed as usize / 3 % 3];
        bench.dummy = machine.rates.iter().sum::<f64>() / 5.0;
        let findings = diagnose(&mut bench, seed % 4 > 0, noise);
        let shown = visible(&machine);
        let is_right = |wall: &FoundWall| {
            shown.iter().any(|one| {
                let off = wall.limit_bytes_per_s / one.wall.limit_bytes_per_s - 1.0;
                one.wall.members == wall.members && off.abs() < 4.0 * noise + 0.02
            }) && wall.kind == WallKind::Limit
        };
        told.extend(
            findings
                .walls
                .iter()
                .map(|wall| (wall.confidence, is_right(wall))),
        );
    }
    told
}

#[test]
fn of_walls_said_with_a_confidence_at_least_that_part_is_right() {
    let told = told_of_disturbed_machines();
    for (low, high) in [
        (0.0, 0.5),
        (0.5, 0.8),
        (0.8, 0.9),
        (0.9, 0.96),
        (0.96, 1.01),
    ] {
        let bin: Vec<_> = told
            .iter()
            .filter(|one| one.0 >= low && one.0 < high)
            .collect();
        let right = bin.iter().filter(|one| one.1).count();
        let share = right as f64 / bin.len().max(1) as f64;
        assert!(
            bin.len() < 10 || share >= low,
            "from {low}: {right} of {}",
            bin.len()
        );
    }
    let sure = told.iter().filter(|one| one.0 >= 0.9);
    assert!(sure.count() > 200, "most are said with 90 % or more");
    assert!(told.iter().all(|one| one.0 <= 0.99));
}

#[test]
fn one_disturbed_reading_makes_no_collapse_and_no_other_wall() {
    // Four disks of 5 MB/s on a controller that lets through 11.2 MB/s.
    let mut machine = Machine::plain(&mut Chance::new(3), 4, Sharing::MaxMin);
    machine.rates.fill(5e6);
    machine.limit(0, 4, 11.2 / 5.0);
    for disturbed in 0..20 {
        for part in [0.85, 0.93, 1.07] {
            let mut bench = Bench::new(&machine, 0.003, disturbed);
            let at = disturbed as usize;
            bench.drift = Box::new(move |reading| if reading == at { part } else { 1.0 });
            bench.drifts_with_limits = true;
            let findings = diagnose(&mut bench, true, 0.003);
            assert_eq!(members(&findings), [vec![0, 1, 2, 3]], "{at}, {part}");
            let wall = &findings.walls[0];
            assert_eq!(wall.kind, WallKind::Limit, "{at}, {part}: {wall:?}");
            let off = wall.limit_bytes_per_s / 11.2e6 - 1.0;
            assert!(off.abs() < 0.04, "{at}, {part}: {wall:?}");
        }
    }
}

#[test]
fn no_drift_is_claimed_where_there_is_none() {
    let machine = sixteen();
    for seed in 0..60 {
        let findings = diagnose(&mut Bench::new(&machine, 0.02, seed), true, 0.02);
        assert!(findings.drift.anchors > 0);
        assert!(
            !findings.drift.significant,
            "seed {seed}: {:?}",
            findings.drift
        );
    }
}

#[test]
fn a_wall_carries_its_evidence() {
    let machine = sixteen();
    let mut bench = Bench::new(&machine, 0.01, 5);
    bench.dummy = 100e6;
    let findings = diagnose(&mut bench, true, 0.01);
    let wall = &findings.walls[0];
    let prediction = wall.prediction.as_ref().unwrap();
    let off = prediction.predicted_bytes_per_s - prediction.measured_bytes_per_s;
    assert!(off.abs() < 4.0 * prediction.deviation_bytes_per_s);
    let earlier = findings
        .measurements
        .iter()
        .filter(|one| one.members == prediction.members);
    assert_eq!(earlier.count(), 1, "the subset was not used before");
    assert_eq!(wall.shares.len(), 8);
    assert!(wall.headroom > 0.5 && wall.headroom < 0.7);
    assert!(wall.weakest.margin > 3.0 && wall.confidence > 0.98);
    assert!(findings.order_known && findings.complete);
}

#[test]
fn without_an_order_a_single_wall_is_found_all_the_same() {
    let score = Cell {
        noise: 0.01,
        shape: Shape::One,
        sharing: Sharing::MaxMin,
        machines: 40,
        seed: 300,
        order_known: false,
    }
    .run();
    assert!(score.recall() >= 0.95, "{}", score.recall());
    assert!(score.precision() >= 0.95, "{}", score.precision());
}

#[test]
fn with_no_wall_the_largest_loss_that_could_hide_is_named() {
    let machine = Machine::plain(&mut Chance::new(3), 16, Sharing::MaxMin);
    let findings = diagnose(&mut Bench::new(&machine, 0.01, 1), true, 0.01);
    assert!(findings.walls.is_empty());
    assert!(findings.resolution >= 0.01 && findings.resolution < 0.03);
}

/// Answers with one rate for each.
struct Flat(f64);

impl Probe for Flat {
    fn measure(&mut self, ask: &Ask<'_>) -> Result<SubsetReading, Halt> {
        assert!(ask.members.is_sorted() && ask.remaining >= 1);
        Ok(SubsetReading {
            rates_bytes_per_s: vec![self.0; ask.members.len()],
            noise: vec![0.0; ask.members.len()],
            failed: Vec::new(),
        })
    }
}

#[test]
fn few_targets_and_rates_of_zero_do_no_harm() {
    for targets in 0..4 {
        for rate in [0.0, 1e8] {
            let setting = SearchBasis {
                targets,
                order: None,
                noise: 0.0,
                dummy: false,
            };
            let findings = find(&setting, &mut Flat(rate));
            assert!(findings.walls.is_empty());
            assert!(findings.complete && !findings.order_known);
        }
    }
}

#[test]
fn a_model_predicts_sums_and_shares() {
    let model = Model {
        alone_bytes_per_s: vec![100.0, 100.0, 40.0, 100.0],
        walls: vec![
            SumLimit {
                members: vec![0, 1],
                limit_bytes_per_s: 120.0,
            },
            SumLimit {
                members: vec![0, 1, 2],
                limit_bytes_per_s: 130.0,
            },
        ],
    };
    assert!((model.predict(&[0, 1, 2, 3]) - 230.0).abs() < 1e-6);
    let shares = model.predict_rates(&[0, 1, 2, 3]);
    for (share, want) in shares.iter().zip([45.0, 45.0, 40.0, 100.0]) {
        assert!((share - want).abs() < 1e-6, "{shares:?}");
    }
}

#[test]
fn a_limit_that_falls_is_said_to_fall_where_some_subset_shows_it() {
    let (mut shown, mut called_limits) = (0, Vec::new());
    for seed in 0..200 {
        let mut chance = Chance::new(seed);
        let part = chance.between(0.6, 0.9);
        let machine = Machine::falling_unequal(&mut chance, part);
        if shown_fall(&machine) < 0.1 {
            continue;
        }
        shown += 1;
        let mut bench = Bench::new(&machine, 0.005, seed);
        let findings = walls_machines::score::diagnose(&mut bench, true, 0.005);
        let is_sure = |wall: &&FoundWall| wall.confidence >= 0.95;
        let mut sure = findings.walls.iter().filter(is_sure);
        if sure.any(|wall| wall.kind == WallKind::Limit) {
            called_limits.push(seed);
        }
    }
    let count = called_limits.len();
    assert!(
        shown > 150 && count * 20 <= shown,
        "{called_limits:?} of {shown}"
    );
}
