//! The core of a sweep on targets whose truth is known: rates that a formula gives, with noise and
//! drift from a seed, measured point by point as the run does it.

use std::collections::BTreeSet;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction};
use sustain_statistics::points::{Judgement, PointReading};

use super::answer::{Answer, Cost, answers};
use super::axes::{Grid, LayoutKind, ORDER_FOLDED, PossiblePoint, SettingConstraints, SweepAxes};
use super::schedule::{RoundsSoFar, Schedule};
use super::setting::{Axis, Setting};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn axes(records: &[u64], depths: &[u32]) -> SweepAxes {
    SweepAxes {
        directions: vec![Direction::Write],
        engines: vec![EngineChoice::Auto],
        paths: vec![DataPath::Direct],
        layouts: vec![LayoutKind::Independent],
        chunks_bytes: vec![MIB],
        orders: vec![vec![0]],
        record_sizes_bytes: records.to_vec(),
        depths: depths.to_vec(),
    }
}

const FACTS: SettingConstraints = SettingConstraints {
    alignment_bytes: 4096,
    least_size_bytes: 1 << 30,
    memory_bytes: 1 << 30,
    is_simulated: false,
    has_null: false,
    passthrough: Ok(EngineChoice::IoUring),
};

/// A target whose rates are known.
struct Synthetic<'a> {
    truth: &'a dyn Fn(&Setting) -> f64,
    /// Standard deviation of a reading of a setting, as a part of it.
    noise: &'a dyn Fn(&Setting) -> f64,
    /// By how much it changes in a hundred measurements, as a part.
    drift: f64,
    random: Xoshiro256PlusPlus,
    measured: usize,
}

impl Synthetic<'_> {
    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn measure(&mut self, setting: &Setting) -> f64 {
        let normal = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        let drift = (1.0 + self.drift).powf(self.measured as f64 / 100.0);
        self.measured += 1;
        (self.truth)(setting) * drift * (1.0 + (self.noise)(setting) * normal)
    }
}

/// What came of a sweep.
struct Swept {
    grid: Grid,
    judgement: Judgement,
    answers: Vec<Answer>,
    rounds: Vec<Vec<usize>>,
}

impl Swept {
    fn runs(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    fn setting(&self, point: usize) -> &Setting {
        &self.grid.points[point].setting
    }
}

/// Sweeps as the run does it, with a CPU time that falls with the size of a record.
fn sweep(
    grid: Grid,
    rounds: u32,
    budget: Option<usize>,
    seed: u64,
    target: &mut Synthetic<'_>,
) -> Swept {
    let kinds = grid.kinds();
    let cost = |point: &PossiblePoint| Cost {
        cpu_seconds_per_gb: Some(1e4 / point.setting.record_bytes as f64),
    };
    let costs: Vec<Cost> = grid.points.iter().map(cost).collect();
    let mut schedule = Schedule::new(&grid, rounds, budget, seed);
    let (mut readings, mut done) = (Vec::new(), Vec::new());
    let mut runs = 0;
    loop {
        let judgement = Judgement::of(&kinds, &readings);
        let answers = answers(&grid, &judgement, &costs);
        let out = BTreeSet::new();
        let known = RoundsSoFar {
            judgement: &judgement,
            answers: &answers,
            out: &out,
        };
        let left = budget.map(|budget| budget - runs);
        let round = schedule
            .next_round(&known, left)
            .filter(|_| left != Some(0));
        let Some(mut round) = round else {
            drop(schedule);
            return Swept {
                grid,
                judgement,
                answers,
                rounds: done,
            };
        };
        round.truncate(left.unwrap_or(usize::MAX));
        for point in &round {
            runs += 1;
            readings.push(PointReading {
                point: *point,
                round: grid.round_of(*point, done.len()),
                rate_bytes_per_s: target.measure(&grid.points[*point].setting),
                stall_share: 0.0,
            });
        }
        done.push(round);
    }
}

fn synthetic<'a>(
    truth: &'a dyn Fn(&Setting) -> f64,
    noise: &'a dyn Fn(&Setting) -> f64,
    drift: f64,
    seed: u64,
) -> Synthetic<'a> {
    Synthetic {
        truth,
        noise,
        drift,
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        measured: 0,
    }
}

/// A disk of 100 MB/s whose requests cost 2 ms each, hidden once four are in flight.
fn disk(setting: &Setting) -> f64 {
    let transfer_s = setting.record_bytes as f64 / 100e6;
    let cycle_s = transfer_s.max((transfer_s + 2e-3) / f64::from(setting.depth));
    setting.record_bytes as f64 / cycle_s
}

const RECORDS: [u64; 7] = [
    64 * KIB,
    128 * KIB,
    256 * KIB,
    512 * KIB,
    MIB,
    2 * MIB,
    4 * MIB,
];
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

#[test]
fn the_best_and_the_cheapest_are_found_under_noise_and_drift() {
    for seed in 0..20 {
        let grid = axes(&RECORDS, &DEPTHS).grid(&FACTS);
        let mut target = synthetic(&disk, &|_| 0.005, -0.05, seed);
        let swept = sweep(grid, 4, None, seed, &mut target);
        assert_eq!(swept.runs(), 42 * 4);
        let answer = &swept.answers[0];
        let best = disk(swept.setting(answer.best));
        assert!(best > 99e6, "seed {seed}: {best}");
        // 2 % below the best lies nothing at depth 1 (95 MB/s at most).
        let cheapest = swept.setting(answer.cheapest);
        assert_eq!(cheapest.depth, 2, "seed {seed}: {cheapest:?}");
        assert!(disk(cheapest) > 97e6, "seed {seed}: {cheapest:?}");
        assert_eq!(cheapest.record_bytes, 4 * MIB, "it costs the least CPU");
        let slow =
            swept.grid.points.iter().position(|point| {
                point.setting.depth == 1 && point.setting.record_bytes == 64 * KIB
            });
        assert!(!answer.alike.contains(&slow.unwrap()));
        let axis = |axis| answer.axes.iter().find(|one| one.axis == axis).unwrap();
        assert!(axis(Axis::Depth).matters(), "seed {seed}");
        assert!(answer.axes.iter().all(|one| one.axis != Axis::Engine));
    }
}

/// The only answer to these readings.
fn answer_to(grid: &Grid, readings: &[PointReading]) -> Answer {
    let judgement = Judgement::of(&grid.kinds(), readings);
    let costs = vec![Cost::default(); grid.points.len()];
    answers(grid, &judgement, &costs).remove(0)
}

fn reading(point: usize, round: usize, rate_bytes_per_s: f64) -> PointReading {
    PointReading {
        point,
        round: 2 * round,
        rate_bytes_per_s,
        stall_share: 0.0,
    }
}

#[test]
fn what_was_measured_once_is_not_said_to_be_noise() {
    let grid = axes(&[MIB], &DEPTHS).grid(&FACTS);
    let rates = [34.8e6, 5.8e9, 5.7e9];
    let rates = rates.into_iter().enumerate();
    let once: Vec<PointReading> = rates.map(|(point, rate)| reading(point, 0, rate)).collect();
    let answer = answer_to(&grid, &once);
    assert_eq!(answer.best, 1, "nothing says that a slower one is a tie");
    assert_eq!(answer.alike, [0; 0]);
    assert_eq!(answer.undecided, [0, 2]);
}

#[test]
fn readings_far_apart_tell_nothing_and_have_no_interval() {
    let grid = axes(&[MIB], &DEPTHS[..2]).grid(&FACTS);
    let readings = [(0, 0, 2e7), (0, 1, 2e8), (1, 0, 9e7), (1, 1, 3e8)];
    let readings = readings.map(|(point, round, rate)| reading(point, round, rate));
    let answer = answer_to(&grid, &readings);
    assert_eq!(
        (answer.best, answer.alike, answer.undecided),
        (1, vec![], vec![0])
    );
    let estimate = Judgement::of(&[0, 0], &readings).estimate(1).unwrap();
    assert_eq!(estimate.ci95_bytes_per_s, None);
}

#[test]
fn what_is_slower_by_any_noise_seen_is_slower_even_when_measured_once() {
    let both_paths = SweepAxes {
        paths: vec![DataPath::Direct, DataPath::Buffered],
        ..axes(&[MIB], &DEPTHS[..4])
    };
    let grid = both_paths.grid(&FACTS);
    let mut readings = Vec::new();
    for point in 0..4 {
        for (round, rate) in [1.00e8, 1.01e8, 0.99e8, 1.00e8].into_iter().enumerate() {
            readings.push(reading(point, round, rate));
        }
    }
    // Through the page cache nothing was measured twice yet.
    readings.extend([reading(4, 0, 6e5), reading(5, 0, 1.00e8)]);
    let answer = answer_to(&grid, &readings);
    assert_eq!(answer.undecided, [0; 0]);
    assert!(!answer.alike.contains(&4), "a hundredth of the rate");
    assert!(answer.alike.contains(&5), "as fast as the others");
}

#[test]
fn of_ties_the_simplest_setting_is_the_best() {
    let given = vec![1, 0, 2];
    let all = SweepAxes {
        engines: vec![EngineChoice::Threads, EngineChoice::Auto],
        layouts: vec![
            LayoutKind::Span,
            LayoutKind::Stripe,
            LayoutKind::Independent,
        ],
        chunks_bytes: vec![64 * KIB, MIB],
        orders: vec![given.clone(), vec![0, 1, 2]],
        ..axes(&[256 * KIB, MIB, 4 * MIB], &[8, 2])
    };
    for seed in 0..20 {
        let grid = all.grid(&FACTS);
        let mut target = synthetic(&|_| 1e8, &|_| 0.002, 0.0, seed);
        let swept = sweep(grid, 4, None, seed, &mut target);
        let best = swept.setting(swept.answers[0].best);
        assert_eq!(best.layout, Layout::Independent, "seed {seed}: {best:?}");
        assert_eq!(best.engine, EngineChoice::Auto, "seed {seed}: {best:?}");
        assert_eq!(best.order, given, "seed {seed}: {best:?}");
        assert_eq!((best.depth, best.record_bytes), (2, MIB), "seed {seed}");
        // What is simple and slower is no tie.
        let stripes = |setting: &Setting| match setting.layout {
            Layout::Stripe { .. } => 1e8,
            Layout::Independent | Layout::Turns | Layout::Span => 0.95e8,
        };
        let mut target = synthetic(&stripes, &|_| 0.002, 0.0, seed);
        let swept = sweep(all.grid(&FACTS), 4, None, seed, &mut target);
        let best = swept.setting(swept.answers[0].best);
        assert!(matches!(best.layout, Layout::Stripe { .. }), "seed {seed}");
    }
}

#[test]
fn settings_that_do_not_differ_are_said_not_to_differ() {
    let (mut claims, mut drifts) = (0, 0);
    for seed in 0..300 {
        let grid = axes(&RECORDS[..4], &DEPTHS[..3]).grid(&FACTS);
        let mut target = synthetic(&|_| 1e8, &|_| 0.02, -0.10, seed);
        let swept = sweep(grid, 4, None, seed, &mut target);
        claims += usize::from(swept.answers[0].alike.len() < 11);
        let mut still = synthetic(&|_| 1e8, &|_| 0.02, 0.0, seed);
        let grid = axes(&RECORDS[..4], &DEPTHS[..3]).grid(&FACTS);
        let swept = sweep(grid, 4, None, seed, &mut still);
        drifts += usize::from(
            !swept
                .judgement
                .drift(|round| round % 2 == 0)
                .unwrap()
                .is_noise,
        );
    }
    assert!(drifts <= 9, "{drifts} of 300 sweeps claim a drift");
    assert!(claims <= 24, "{claims} of 300 sweeps claim a difference");
}

#[test]
fn noise_of_one_kind_does_not_hide_or_make_differences_of_another() {
    let noise = |setting: &Setting| {
        if setting.path == DataPath::Buffered {
            0.10
        } else {
            0.002
        }
    };
    let truth = |setting: &Setting| if setting.depth == 1 { 0.98e8 } else { 1e8 };
    let mut told = 0;
    let mut claims = 0;
    for seed in 0..100 {
        let both = SweepAxes {
            paths: vec![DataPath::Direct, DataPath::Buffered],
            ..axes(&RECORDS[..3], &DEPTHS[..2])
        };
        let mut target = synthetic(&truth, &noise, 0.0, seed);
        let swept = sweep(both.grid(&FACTS), 6, None, seed, &mut target);
        let find = |path: DataPath, depth: u32| {
            let is_it =
                |point: &PossiblePoint| point.setting.path == path && point.setting.depth == depth;
            swept.grid.points.iter().position(is_it).unwrap()
        };
        let (slow, fast) = (find(DataPath::Direct, 1), find(DataPath::Direct, 2));
        let difference = swept.judgement.compare(slow, fast, 2).unwrap();
        told += usize::from(!difference.is_noise);
        let buffered = find(DataPath::Buffered, 2);
        let difference = swept.judgement.compare(buffered, fast, 2).unwrap();
        claims += usize::from(!difference.is_noise);
    }
    assert!(told >= 95, "2 % among 0.2 % of noise was told {told} times");
    assert!(claims <= 12, "{claims} of 100 claim what is noise");
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    let truth = |setting: &Setting| 1e8 + 1e6 * f64::from(setting.depth);
    let (mut rate, mut difference, mut all) = (0, 0, 0);
    for seed in 0..200 {
        let grid = axes(&RECORDS[..3], &DEPTHS[..3]).grid(&FACTS);
        let mut target = synthetic(&truth, &|_| 0.01, 0.0, seed);
        let swept = sweep(grid, 4, None, seed, &mut target);
        for point in 1..swept.grid.points.len() {
            all += 1;
            let own = truth(swept.setting(point));
            let [low, high] = swept
                .judgement
                .estimate(point)
                .unwrap()
                .ci95_bytes_per_s
                .unwrap();
            rate += usize::from(low <= own && own <= high);
            let share = own / truth(swept.setting(0)) - 1.0;
            let [low, high] = swept.judgement.compare(point, 0, 2).unwrap().ci95.unwrap();
            difference += usize::from(low <= share && share <= high);
        }
    }
    for covered in [rate, difference] {
        let part = covered as f64 / f64::from(all);
        assert!((0.92..=0.99).contains(&part), "{part} instead of 0.95");
    }
}

#[test]
fn each_pair_of_rounds_gives_every_point_the_same_mean_place_in_time() {
    let grid = axes(&RECORDS, &DEPTHS).grid(&FACTS);
    let mut target = synthetic(&disk, &|_| 0.0, 0.0, 1);
    let swept = sweep(grid, 5, None, 1, &mut target);
    let points = swept.grid.points.len();
    assert_eq!(swept.rounds.len(), 5);
    for round in &swept.rounds {
        let each: BTreeSet<usize> = round.iter().copied().collect();
        assert_eq!((each.len(), round.len()), (points, points));
    }
    for pair in swept.rounds.chunks_exact(2) {
        let places = |point| {
            pair.iter()
                .map(move |round| round.iter().position(|one| *one == point))
        };
        for point in 0..points {
            let sum: usize = places(point).map(Option::unwrap).sum();
            assert_eq!(sum, points - 1);
        }
    }
    assert_ne!(swept.rounds[0], swept.rounds[2], "pairs differ");
}

#[test]
fn points_of_one_array_follow_each_other_and_drift_still_touches_all_alike() {
    let axes = SweepAxes {
        layouts: vec![LayoutKind::Stripe, LayoutKind::MdRaid0],
        chunks_bytes: vec![MIB, 2 * MIB],
        orders: vec![vec![0, 1], vec![1, 0]],
        ..axes(&RECORDS[..1], &DEPTHS[..3])
    };
    let mut target = synthetic(&|_| 1e8, &|_| 0.0, -0.20, 3);
    let swept = sweep(axes.grid(&FACTS), 4, None, 3, &mut target);
    let shape = |point: &usize| swept.setting(*point).array_shape();
    for round in &swept.rounds {
        assert_eq!(round.len(), 24);
        let stretches = round.chunk_by(|one, next| shape(one) == shape(next));
        let arrays: Vec<&[usize]> = stretches.filter(|one| shape(&one[0]).is_some()).collect();
        assert_eq!(arrays.len(), 4, "{round:?}");
        assert!(arrays.iter().all(|array| array.len() == 3));
    }
    for point in 1..24 {
        let share = swept.judgement.compare(point, 0, 2).unwrap().share;
        assert!(share.abs() < 1e-6, "{share}");
    }
}

#[test]
fn even_drift_within_rounds_makes_no_difference_between_equal_points() {
    for seed in 0..20 {
        let grid = axes(&RECORDS, &DEPTHS[..3]).grid(&FACTS);
        // No noise, and a fifth is lost in each hundred measurements.
        let mut target = synthetic(&|_| 1e8, &|_| 0.0, -0.20, seed);
        let swept = sweep(grid, 4, None, seed, &mut target);
        for point in 1..21 {
            let share = swept.judgement.compare(point, 0, 2).unwrap().share;
            assert!(share.abs() < 1e-6, "seed {seed}: {share}");
        }
        let drift = swept.judgement.drift(|round| round % 2 == 0).unwrap();
        assert!((0.10..0.20).contains(&drift.share), "{drift:?}");
        assert!(!drift.is_noise);
    }
}

/// One narrow best: 1 MiB at depth 16; each step away from it costs 6 %.
fn peak(setting: &Setting) -> f64 {
    let steps = |value: u64, best: u64| f64::from(value.ilog2().abs_diff(best.ilog2()));
    let away = steps(setting.record_bytes, MIB) + steps(u64::from(setting.depth), 16);
    1e8 * 0.94_f64.powf(away)
}

#[test]
fn a_budget_finds_the_best_from_coarse_to_fine() {
    let records: Vec<u64> = (12..=24).map(|power| 1 << power).collect();
    let depths: Vec<u32> = (0..=6).map(|power| 1 << power).collect();
    for seed in 0..20 {
        let grid = axes(&records, &depths).grid(&FACTS);
        let all = grid.points.len();
        assert!(all > 80, "{all}");
        let mut target = synthetic(&peak, &|_| 0.005, -0.05, seed);
        let swept = sweep(grid, 4, Some(120), seed, &mut target);
        assert!(swept.runs() <= 120);
        let best = swept.setting(swept.answers[0].best);
        assert_eq!((best.record_bytes, best.depth), (MIB, 16), "seed {seed}");
        let known = (0..all).filter(|point| swept.judgement.estimate(*point).is_some());
        assert!(known.count() < all * 2 / 3, "not all was measured");
    }
}

#[test]
fn a_budget_is_not_spent_when_nothing_is_left_to_learn() {
    let grid = axes(&RECORDS, &DEPTHS).grid(&FACTS);
    let mut target = synthetic(&peak, &|_| 0.001, 0.0, 3);
    let swept = sweep(grid, 4, Some(160), 3, &mut target);
    assert!(swept.runs() < 120, "{}", swept.runs());
    let best = swept.setting(swept.answers[0].best);
    assert_eq!((best.record_bytes, best.depth), (MIB, 16));
}

#[test]
fn a_budget_for_all_rounds_measures_all() {
    let grid = axes(&RECORDS, &DEPTHS).grid(&FACTS);
    let mut target = synthetic(&disk, &|_| 0.01, 0.0, 3);
    let swept = sweep(grid, 4, Some(168), 3, &mut target);
    assert_eq!(swept.runs(), 168);
}

#[test]
fn a_budget_of_one_run_concludes_from_one_reading() {
    let grid = axes(&RECORDS, &DEPTHS).grid(&FACTS);
    let mut target = synthetic(&disk, &|_| 0.01, 0.0, 3);
    let swept = sweep(grid, 4, Some(1), 3, &mut target);
    let answer = &swept.answers[0];
    assert_eq!((swept.runs(), answer.best), (1, answer.cheapest));
    let estimate = swept.judgement.estimate(answer.best).unwrap();
    assert_eq!(estimate.ci95_bytes_per_s, None, "one reading has no spread");
}

#[test]
fn each_direction_has_an_answer_of_its_own() {
    let truth = |setting: &Setting| match setting.direction {
        Direction::Write => 1e8 / f64::from(setting.depth),
        Direction::Read => 2e8 * f64::from(setting.depth),
    };
    let both = SweepAxes {
        directions: vec![Direction::Write, Direction::Read],
        ..axes(&RECORDS[..2], &DEPTHS[..3])
    };
    let mut target = synthetic(&truth, &|_| 0.01, 0.0, 3);
    let swept = sweep(both.grid(&FACTS), 4, None, 3, &mut target);
    let depths: Vec<(Direction, u32)> = swept
        .answers
        .iter()
        .map(|answer| (answer.direction, swept.setting(answer.best).depth))
        .collect();
    assert_eq!(depths, [(Direction::Write, 1), (Direction::Read, 4)]);
}

#[test]
fn passthrough_is_left_out_where_it_cannot_be_had() {
    let many = SweepAxes {
        engines: vec![EngineChoice::Auto, EngineChoice::Libaio],
        paths: vec![DataPath::Passthrough, DataPath::Buffered, DataPath::Direct],
        ..axes(&[64 * KIB], &[1])
    };
    let paths = |grid: &Grid| -> Vec<(EngineChoice, DataPath)> {
        let settings = grid.points.iter().map(|point| &point.setting);
        let found = settings.map(|setting| (setting.engine, setting.path));
        found
            .filter(|(_, path)| *path == DataPath::Passthrough)
            .collect()
    };
    let grid = many.grid(&FACTS);
    assert_eq!(paths(&grid), [(EngineChoice::Auto, DataPath::Passthrough)]);
    assert!(grid.left_out[0].why.contains("works only with io_uring"));
    let scsi = SettingConstraints {
        passthrough: Ok(EngineChoice::Threads),
        ..FACTS
    };
    let why = &many.grid(&scsi).left_out[0].why;
    assert!(why.contains("works only with threads"), "{why}");
    let kinds: BTreeSet<usize> = grid.kinds().into_iter().collect();
    assert_eq!(kinds.len(), 3, "each path has noise of its own");

    let why = "passthrough needs a whole NVMe, SATA or SCSI disk, and /dev/vda is virtio";
    let virtio = SettingConstraints {
        passthrough: Err(why.to_owned()),
        ..FACTS
    };
    let grid = many.grid(&virtio);
    assert_eq!((paths(&grid), grid.points.len()), (vec![], 4));
    assert_eq!(grid.left_out[0].why, why);
    assert_eq!(grid.left_out[0].count, 2);

    let simulated = SettingConstraints {
        is_simulated: true,
        ..virtio
    };
    let of_auto = SweepAxes {
        engines: vec![EngineChoice::Auto],
        ..many
    };
    let grid = of_auto.grid(&simulated);
    assert_eq!(grid.points.len(), 1, "the first that is not passthrough");
    assert_eq!(grid.points[0].setting.path, DataPath::Buffered);
}

#[test]
fn no_reading_has_no_answer() {
    let grid = axes(&RECORDS, &DEPTHS).grid(&FACTS);
    let judgement = Judgement::of(&grid.kinds(), &[]);
    let costs = vec![Cost::default(); grid.points.len()];
    assert_eq!(answers(&grid, &judgement, &costs), []);
    assert_eq!(judgement.estimate(0), None);
    assert_eq!(judgement.compare(0, 1, 2), None);
}

#[test]
fn what_cannot_be_measured_is_left_out_with_the_reason() {
    let many = SweepAxes {
        engines: vec![EngineChoice::Sync, EngineChoice::IoUring],
        paths: vec![DataPath::Direct, DataPath::Buffered],
        layouts: vec![LayoutKind::Independent, LayoutKind::Stripe],
        chunks_bytes: vec![96 * KIB, 128 * KIB],
        orders: vec![vec![0, 1], vec![1, 0]],
        ..axes(&[512, 64 * KIB, 2 << 30], &[1, 8])
    };
    let grid = many.grid(&FACTS);
    let (folded, left_out): (Vec<_>, Vec<_>) = grid
        .left_out
        .iter()
        .partition(|one| one.why == ORDER_FOLDED);
    let left_out: usize = left_out.iter().map(|one| one.count).sum();
    assert_eq!(grid.points.len() + left_out, many.count());
    // The other order of independent queues: engines, paths, records, depths.
    assert_eq!(folded[0].count, 2 * 2 * 3 * 2);
    let whys: Vec<&str> = grid.left_out.iter().map(|one| one.why.as_str()).collect();
    for words in [
        "records that are multiples of 4096",
        "sync keeps one request",
        "neither a multiple nor a divisor of a record",
        "too small for one such record",
    ] {
        assert!(
            whys.iter().any(|why| why.contains(words)),
            "{words}: {whys:?}"
        );
    }
    for point in &grid.points {
        let setting = &point.setting;
        let is_sync = setting.engine == EngineChoice::Sync;
        assert!(!is_sync || setting.depth == 1, "{setting:?}");
        let is_odd = setting.layout
            == Layout::Stripe {
                chunk_bytes: 96 * KIB,
            };
        assert!(!is_odd || setting.record_bytes == 512, "{setting:?}");
    }
    let simulated = SettingConstraints {
        is_simulated: true,
        ..FACTS
    };
    let grid = many.grid(&simulated);
    assert!(
        grid.points
            .iter()
            .all(|point| point.setting.path == DataPath::Direct)
    );
    let no_memory = SettingConstraints {
        memory_bytes: MIB,
        ..FACTS
    };
    let whys = axes(&[64 * KIB], &[1, 32]).grid(&no_memory).left_out;
    assert!(whys[0].why.contains("memory"));
    let null = SettingConstraints {
        has_null: true,
        ..FACTS
    };
    let reading = SweepAxes {
        directions: vec![Direction::Read],
        ..axes(&[64 * KIB], &[1])
    };
    assert_eq!(reading.grid(&null).points, []);
}

/// The readings of a sweep over settings that are all alike, on a disk that stalls for `stall_s` each
/// 3.1 s: so regularly that a point which meets one in a round meets one in each. Where
/// `is_reported` is false the judge is not told of the stalls.
fn on_a_stalling_disk(
    grid: &Grid,
    seed: u64,
    stall_s: f64,
    is_reported: bool,
) -> Vec<PointReading> {
    const FIRST_S: f64 = 0.9;
    const POINT_S: f64 = 1.098;
    let mut schedule = Schedule::new(grid, 4, None, seed);
    let out = BTreeSet::new();
    let mut readings: Vec<PointReading> = Vec::new();
    for round in 0.. {
        let judgement = Judgement::of(&grid.kinds(), &readings);
        let known = RoundsSoFar {
            judgement: &judgement,
            answers: &[],
            out: &out,
        };
        let Some(points) = schedule.next_round(&known, None) else {
            break;
        };
        for point in points {
            let from_s = FIRST_S + readings.len() as f64 * POINT_S;
            let is_stalled = from_s % 3.1 + POINT_S > 3.1 + stall_s;
            let share = if is_stalled { stall_s } else { 0.0 };
            let jitter = 1.0 + ((seed * 7 + readings.len() as u64 * 13) % 11) as f64 * 1e-4;
            readings.push(PointReading {
                stall_share: if is_reported { share } else { 0.0 },
                ..reading(point, round, 200e6 * (1.0 - share) * jitter)
            });
        }
    }
    readings
}

#[test]
fn stalls_that_hit_some_settings_each_time_are_not_taken_for_a_difference() {
    let grid = axes(&[MIB / 2, MIB, 2 * MIB], &[2, 4, 8, 16]).grid(&FACTS);
    let with_a_claim = |is_reported: bool| {
        let claims = |seed: &u64| {
            let answer = answer_to(&grid, &on_a_stalling_disk(&grid, *seed, 0.2, is_reported));
            answer.alike.len() + answer.undecided.len() + 1 < grid.points.len()
        };
        (0..50).filter(claims).count()
    };
    let (undecided, told) = (with_a_claim(false), with_a_claim(true));
    assert!(
        undecided > 10 && told <= 2,
        "{undecided}, {told} of 50 sweeps"
    );
    // What is slower without a stall still is.
    let mut readings = on_a_stalling_disk(&grid, 1, 0.2, true);
    for one in readings.iter_mut().filter(|one| one.point == 0) {
        (one.rate_bytes_per_s, one.stall_share) = (140e6, 0.0);
    }
    let answer = answer_to(&grid, &readings);
    assert!(answer.best != 0 && !answer.alike.contains(&0));
}

#[test]
fn a_stall_explains_no_more_than_it_lasted() {
    let grid = axes(&[MIB / 2, MIB, 2 * MIB], &[2, 4, 8, 16]).grid(&FACTS);
    // Every other setting meets stalls of a tenth, and the first is slower by half besides.
    let mut readings = Vec::new();
    for (round, point) in (0..4).flat_map(|round| (0..12).map(move |point| (round, point))) {
        let stall_share = if point % 2 == 0 { 0.1 } else { 0.0 };
        let alone = if point == 0 { 100e6 } else { 200e6 };
        readings.push(PointReading {
            stall_share,
            ..reading(point, round, alone * (1.0 - stall_share))
        });
    }
    // One reading among many that stalled for nearly all of its time.
    (readings[2].stall_share, readings[2].rate_bytes_per_s) = (0.9, 20e6);
    let answer = answer_to(&grid, &readings);
    let alike = [&answer.alike[..], &answer.undecided].concat();
    assert!(!alike.contains(&0), "{answer:?}");
    assert!((4..12).all(|point| point == answer.best || alike.contains(&point)));
}

#[test]
fn two_settings_that_never_vary_are_told_apart() {
    let grid = axes(&[MIB], &[1, 2]).grid(&FACTS);
    for jitter in [0.0, 0.02] {
        let readings = (0..8).flat_map(|round| {
            let by_chance = if round % 2 == 0 { jitter } else { -jitter };
            [
                reading(0, round, 200e6 * (1.0 + by_chance)),
                reading(1, round, 400e6),
            ]
        });
        let readings: Vec<PointReading> = readings.collect();
        let judgement = Judgement::of(&grid.kinds(), &readings);
        let found = judgement.compare(0, 1, 2).unwrap();
        assert!(
            !found.is_noise && !found.is_undecided(),
            "{jitter}: {found:?}"
        );
    }
}

#[test]
fn an_interval_includes_zero_exactly_where_a_difference_is_noise() {
    let grid = axes(&[MIB / 2, MIB, 2 * MIB], &[2, 4, 8, 16]).grid(&FACTS);
    let mut kinds_of_answer = BTreeSet::new();
    for seed in 0..10 {
        let truth = |setting: &Setting| 200e6 - 0.3e6 * f64::from(setting.depth);
        let mut target = synthetic(&truth, &|_| 0.005, 0.0, seed);
        let swept = sweep(grid.clone(), 4, None, seed, &mut target);
        for point in 1..12 {
            let found = swept.judgement.compare(point, 0, 12).unwrap();
            let [low, high] = found.ci95.unwrap();
            assert_eq!(found.is_noise, low <= 0.0 && 0.0 <= high, "{found:?}");
            kinds_of_answer.insert(found.is_noise);
        }
    }
    assert_eq!(kinds_of_answer.len(), 2);
}
