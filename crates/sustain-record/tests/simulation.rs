//! The recorder and the readers in virtual time, over disks that fail in every way there is: one
//! seed fixes everything, and every clause of what docs/format.md promises is held against what was
//! acknowledged. docs/simulation.md says what is simulated and how to replay a failure.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use sustain_disk::clock::Clock;

use plan::Plan;
use run::run;

#[path = "simulation/bench.rs"]
mod bench;
#[path = "simulation/check.rs"]
mod check;
#[path = "simulation/damage.rs"]
mod damage;
#[path = "simulation/draw.rs"]
mod draw;
#[path = "simulation/engine.rs"]
mod engine;
#[path = "simulation/frames.rs"]
mod frames;
#[path = "simulation/history.rs"]
mod history;
#[path = "simulation/inlet.rs"]
mod inlet;
#[path = "simulation/interrupted_repair.rs"]
mod interrupted_repair;
#[path = "simulation/member_appends.rs"]
mod member_appends;
#[path = "simulation/outcome.rs"]
mod outcome;
#[path = "simulation/pins.rs"]
mod pins;
#[path = "simulation/plan.rs"]
mod plan;
#[path = "simulation/protection.rs"]
mod protection;
#[path = "simulation/retirement.rs"]
mod retirement;
#[path = "simulation/run.rs"]
mod run;
#[path = "simulation/spans.rs"]
mod spans;
#[path = "simulation/split.rs"]
mod split;
#[path = "simulation/waits.rs"]
mod waits;
#[path = "simulation/window.rs"]
mod window;

/// Plans of one kind. A seed fixes which one it is.
struct Family {
    /// So many seeds, from 0 on, does every run of the tests try.
    usual: u64,
    /// And so many `scripts/long`, those included.
    all: u64,
    plan_of: fn(u64) -> Plan,
    /// The test that replays one.
    replay: &'static str,
}

const RECORDINGS: Family = Family {
    usual: 400,
    all: 2000,
    plan_of: Plan::of,
    replay: "one_seed",
};
const SPLITS: Family = Family {
    usual: 200,
    all: 1000,
    plan_of: Plan::of_splits,
    replay: "one_seed_of_splits",
};
const PINS: Family = Family {
    usual: 200,
    all: 300,
    plan_of: Plan::of_pins,
    replay: "one_seed_of_pins",
};
const PARITY: Family = Family {
    usual: 200,
    all: 1000,
    plan_of: Plan::of_parity,
    replay: "one_seed_of_parity",
};
const PARITY_ON_MANY: Family = Family {
    usual: 60,
    all: 300,
    plan_of: Plan::of_parity_on_many,
    replay: "one_seed_of_parity_on_many",
};
const ADDITIONS: Family = Family {
    usual: 100,
    all: 500,
    plan_of: Plan::of_additions,
    replay: "one_seed_of_additions",
};
const RETIREMENTS: Family = Family {
    usual: 100,
    all: 500,
    plan_of: Plan::of_retirements,
    replay: "one_seed_of_retirements",
};
const FAILURES_BEFORE_CUTS: Family = Family {
    usual: 150,
    all: 500,
    plan_of: Plan::of_failures_before_cuts,
    replay: "one_seed_of_failures_before_cuts",
};
const ABSENCES: Family = Family {
    usual: 150,
    all: 500,
    plan_of: Plan::of_absences,
    replay: "one_seed_of_absences",
};
const PINS_WITH_PARITY: Family = Family {
    usual: 150,
    all: 500,
    plan_of: Plan::of_pins_with_parity,
    replay: "one_seed_of_pins_with_parity",
};
const PINS_THAT_ARE_CUT: Family = Family {
    usual: 200,
    all: 300,
    plan_of: Plan::of_pins_that_are_cut,
    replay: "one_seed_of_pins_that_are_cut",
};
const RINGS: Family = Family {
    usual: 60,
    all: 60,
    plan_of: Plan::of_ring_with_cuts,
    replay: "one_ring_that_is_cut",
};

/// Others that have found what none of those does.
const SEEDS_THAT_FAILED: [u64; 26] = [
    2357,
    6234,
    8320,
    7_004_858,
    8_000_975,
    8_000_984,
    8_004_132,
    8_004_522,
    9_010_859,
    9_044_112,
    9_062_151,
    9_081_256,
    12_000_005,
    130_006_290,
    130_009_097,
    130_011_153,
    140_000_056,
    140_000_477,
    140_001_386,
    140_001_861,
    170_000_854,
    190_000_666,
    190_000_736,
    825_542,
    230_001_719,
    1_208_532,
];
/// The same of rings that are cut.
const RINGS_THAT_FAILED: [u64; 11] = [
    279, 526, 730, 742, 2564, 3693, 3945, 11_213, 20_345, 33_285, 101_013,
];
/// The same of splits: an end mark that was lost was alone in its slot, or lay where its recording
/// had begun a lap before, or the account of bytes fitted on no member when the power was cut.
const SPLITS_THAT_FAILED: [u64; 6] = [31_899, 32_885, 36_994, 39_003, 401_439, 405_776];
/// The same of pins: a recording was split while the end of one was told, or ended while one was
/// being freed, or had one freed in the last slot that it left.
const PINS_THAT_FAILED: [u64; 5] = [475, 102_193, 202_975, 603_220, 815_986];
/// The same of pins that are cut.
const CUT_PINS_THAT_FAILED: [u64; 8] = [
    908, 1200, 2194, 23_502, 104_543, 603_220, 709_294, 1_073_949,
];
/// The same with parity.
const PARITY_THAT_FAILED: [u64; 66] = [
    287, 472, 770, 788, 975, 1158, 3310, 5572, 6315, 14_877, 15_209, 20_193, 20_270, 20_449,
    22_010, 23_356, 1189, 102, 108, 236, 1488, 1913, 2197, 1592, 140, 1718, 3020, 3029, 4250, 4926,
    5660, 5821, 6121, 3092, 1381, 3930, 6900, 21_842, 15_493, 60_338, 60_602, 61_121, 62_364,
    62_283, 62_778, 62_942, 63_830, 64_036, 64_331, 70_289, 71_428, 75_656, 71_783, 86_863, 90_128,
    300_695, 600_474, 640_112, 704_123, 705_573, 711_062, 711_333, 713_853, 714_516, 750_014,
    1_042_335,
];

/// The same where members are added.
const ADDITIONS_THAT_FAILED: [u64; 4] = [750_040, 760_225, 760_365, 950_347];

/// The same where members are retired. In the last one a crash took something from a member that was
/// full, so that later recordings put nothing there.
const RETIREMENTS_THAT_FAILED: [u64; 23] = [
    166, 267, 289, 515, 518, 539, 545, 583, 638, 1169, 1223, 1339, 1521, 1559, 1647, 3433, 7209,
    11_211, 11_695, 1_000_526, 1_003_122, 1_060_277, 291,
];

/// The same where members are missing: numbers and sequences were used twice after a crash, or half
/// a mirror did not know that it was behind. In the third from behind a lost end mark is told by the
/// next recording, of which the number lies two above. In the last but one a recording puts parity
/// where a crash has taken data of which another member has parity, and is cut off there. In the last
/// one a member is rebuilt where a ring has come round on one that was missing in an earlier
/// recording.
const ABSENCES_THAT_FAILED: [u64; 8] =
    [440, 538, 1104, 1536, 1865, 1_700_258, 3_008_395, 3_005_422];

/// The same with parity on many members.
const PARITY_ON_MANY_THAT_FAILED: [u64; 2] = [870_200, 1_060_464];

/// The same where parity protects pins. Of 3002370 a ring has written over all starts of what a pin
/// keeps. In 3002505 a member had parity in the first slots that it keeps, and data of the same
/// recording behind them.
const PINS_WITH_PARITY_THAT_FAILED: [u64; 17] = [
    363, 1_000_140, 1_002_391, 1_004_139, 1_010_072, 1_020_147, 1_030_014, 1_031_025, 1_031_040,
    1_032_133, 1_032_225, 1_042_020, 1_070_921, 1_100_420, 3_001_447, 3_002_370, 3_002_505,
];

/// The same where power fails after members have failed. In the last three a recording begins in a
/// slot of which a crash has taken all, a member that had failed is rebuilt in a ring with too few
/// members for all parity, and a ring has overwritten what a failed member had once more.
const FAILURES_BEFORE_CUTS_THAT_FAILED: [u64; 9] = [
    794, 828, 1185, 1238, 1_004_158, 1_005_665, 3_004_488, 3_000_279, 3_005_421,
];

/// No seed takes nearly so long: whoever does hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// So many failures are listed.
const FAILURES_TOLD: usize = 50;

/// How many seeds met what.
type Coverage = BTreeMap<&'static str, u64>;

/// What a seed has met, or why it failed.
type Ran = Result<BTreeSet<&'static str>, String>;

#[test]
fn seeds_hold_the_promise() {
    hold(&RECORDINGS, 0..RECORDINGS.usual);
}

/// Recordings that follow each other without a break.
#[test]
fn seeds_hold_the_promise_where_recordings_are_split() {
    hold(&SPLITS, 0..SPLITS.usual);
}

/// Rings of which stretches are pinned and freed.
#[test]
fn seeds_hold_the_promise_where_stretches_are_pinned() {
    hold(&PINS, 0..PINS.usual);
}

/// Recordings that parity protects.
#[test]
fn seeds_hold_the_promise_where_parity_protects() {
    hold(&PARITY, 0..PARITY.usual);
}

/// The same on up to 12 members.
#[test]
fn seeds_hold_the_promise_where_parity_protects_many_members() {
    hold(&PARITY_ON_MANY, 0..PARITY_ON_MANY.usual);
}

/// A member dies, the power fails soon after that, and the member is there again.
#[test]
fn seeds_hold_the_promise_where_power_fails_after_members() {
    hold(&FAILURES_BEFORE_CUTS, 0..FAILURES_BEFORE_CUTS.usual);
}

/// Recordings go on while members are missing, which are there again later.
#[test]
fn seeds_hold_the_promise_where_members_are_missing() {
    hold(&ABSENCES, 0..ABSENCES.usual);
}

/// Later recordings have more members than those before.
#[test]
fn seeds_hold_the_promise_where_members_are_added() {
    hold(&ADDITIONS, 0..ADDITIONS.usual);
}

/// Members are retired afterwards, those that are there and those that are lost.
#[test]
fn seeds_hold_the_promise_where_members_are_retired() {
    hold(&RETIREMENTS, 0..RETIREMENTS.usual);
}

/// Rings that parity protects, of which stretches are pinned.
#[test]
fn seeds_hold_the_promise_where_parity_protects_pins() {
    hold(&PINS_WITH_PARITY, 0..PINS_WITH_PARITY.usual);
}

/// Rings of which stretches are pinned, and the power fails while the tables of pins are written.
#[test]
fn seeds_hold_the_promise_where_power_fails_while_pins_change() {
    hold(&PINS_THAT_ARE_CUT, 0..PINS_THAT_ARE_CUT.usual);
}

/// Ordinary seeds seldom draw a ring of which the oldest is what a power cut has left.
#[test]
fn rings_that_are_cut_hold_it_too() {
    hold(&RINGS, 0..RINGS.usual);
}

/// The seeds that the tests above leave out.
#[test]
#[ignore = "takes most of a minute: scripts/long runs it"]
fn the_rest_of_the_seeds_holds_it_too() {
    let families = [
        RECORDINGS,
        SPLITS,
        PINS,
        PARITY,
        PARITY_ON_MANY,
        ADDITIONS,
        RETIREMENTS,
        FAILURES_BEFORE_CUTS,
        ABSENCES,
        PINS_WITH_PARITY,
        PINS_THAT_ARE_CUT,
    ];
    for family in families {
        hold(&family, family.usual..family.all);
    }
}

/// Runs seeds. Failures are told with the test that replays one.
fn hold(family: &Family, usual: Range<u64>) {
    let (plan_of, replay) = (family.plan_of, family.replay);
    let bounds = Bounds::of_environment(usual);
    let results = without_panic_messages(|| run_seeds(&bounds, plan_of));
    eprintln!("{} seeds from {} on met", results.count, bounds.first);
    for (what, seeds) in &results.coverage {
        eprintln!("{seeds:8} {what}");
    }
    for (seed, why) in results.failures.iter().take(FAILURES_TOLD) {
        eprintln!("seed {seed}: {}", why.lines().next().unwrap_or_default());
    }
    if let Some((seed, why)) = results.failures.first() {
        panic!(
            "{} of {} seeds fail, the first is {seed}: {why}\n\
             SUSTAIN_SEED={seed} cargo test -p sustain-record --test simulation -- \
             --ignored --nocapture {replay}",
            results.failures.len(),
            results.count,
        );
    }
}

#[test]
fn seeds_that_once_failed_hold_it_too() {
    for seed in SEEDS_THAT_FAILED {
        run(&Plan::of(seed), false);
    }
    for seed in RINGS_THAT_FAILED {
        run(&Plan::of_ring_with_cuts(seed), false);
    }
    for seed in SPLITS_THAT_FAILED {
        run(&Plan::of_splits(seed), false);
    }
    for seed in PINS_THAT_FAILED {
        run(&Plan::of_pins(seed), false);
    }
    for seed in CUT_PINS_THAT_FAILED {
        run(&Plan::of_pins_that_are_cut(seed), false);
    }
    for seed in PARITY_THAT_FAILED {
        run(&Plan::of_parity(seed), false);
    }
    for seed in ADDITIONS_THAT_FAILED {
        run(&Plan::of_additions(seed), false);
    }
    for seed in RETIREMENTS_THAT_FAILED {
        run(&Plan::of_retirements(seed), false);
    }
    for seed in ABSENCES_THAT_FAILED {
        run(&Plan::of_absences(seed), false);
    }
    for seed in PARITY_ON_MANY_THAT_FAILED {
        run(&Plan::of_parity_on_many(seed), false);
    }
    for seed in PINS_WITH_PARITY_THAT_FAILED {
        run(&Plan::of_pins_with_parity(seed), false);
    }
    for seed in FAILURES_BEFORE_CUTS_THAT_FAILED {
        run(&Plan::of_failures_before_cuts(seed), false);
    }
}

/// Replays one seed, telling all about it.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed() {
    replay(Plan::of);
}

/// The same where parity protects.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_parity() {
    replay(Plan::of_parity);
}

/// The same on many members.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_parity_on_many() {
    replay(Plan::of_parity_on_many);
}

/// The same where members are added.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_additions() {
    replay(Plan::of_additions);
}

/// The same where members are retired.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_retirements() {
    replay(Plan::of_retirements);
}

/// The same where the power fails after members.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_failures_before_cuts() {
    replay(Plan::of_failures_before_cuts);
}

/// The same where members are missing.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_absences() {
    replay(Plan::of_absences);
}

/// The same where recordings are split.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_splits() {
    replay(Plan::of_splits);
}

/// The same where stretches are pinned.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_pins() {
    replay(Plan::of_pins);
}

/// The same where parity protects pins.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_pins_with_parity() {
    replay(Plan::of_pins_with_parity);
}

/// The same where power fails while pins change.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_seed_of_pins_that_are_cut() {
    replay(Plan::of_pins_that_are_cut);
}

/// The same for a ring.
#[test]
#[ignore = "replays the seed that SUSTAIN_SEED names"]
fn one_ring_that_is_cut() {
    replay(Plan::of_ring_with_cuts);
}

fn replay(plan_of: fn(u64) -> Plan) {
    let plan = plan_of(number_in("SUSTAIN_SEED").unwrap_or(0));
    eprintln!("{plan:#?}");
    let met = run(&plan, true);
    assert!(!met.is_empty(), "a seed meets something");
    for what in met {
        eprintln!("{what}");
    }
}

/// Which seeds are run: the environment may ask for others, or for as many as a time allows.
struct Bounds {
    first: u64,
    count: u64,
    seconds: Option<u64>,
}

impl Bounds {
    fn of_environment(usual: Range<u64>) -> Bounds {
        let seconds = number_in("SUSTAIN_SECONDS");
        let count = if seconds.is_some() {
            u64::MAX
        } else {
            usual.end - usual.start
        };
        Bounds {
            first: number_in("SUSTAIN_SEED_FIRST").unwrap_or(usual.start),
            count: number_in("SUSTAIN_SEEDS").unwrap_or(count),
            seconds,
        }
    }

    fn end(&self) -> u64 {
        self.first.saturating_add(self.count)
    }
}

fn number_in(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// What came of many seeds.
#[derive(Default)]
struct Results {
    count: u64,
    coverage: Coverage,
    failures: Vec<(u64, String)>,
}

impl Results {
    fn take(&mut self, seed: u64, ran: Ran) {
        self.count += 1;
        match ran {
            Ok(met) => met
                .into_iter()
                .for_each(|what| *self.coverage.entry(what).or_default() += 1),
            Err(why) => self.failures.push((seed, why)),
        }
    }
}

/// What the threads that run seeds say.
enum Said {
    Begins(u64),
    Ends(u64, Ran),
}

/// Runs the seeds on all CPUs.
fn run_seeds(bounds: &Bounds, plan_of: fn(u64) -> Plan) -> Results {
    let next = AtomicU64::new(bounds.first);
    let start = Clock::Real.now();
    let is_over = || {
        let elapsed_ns = Clock::Real.now().since_ns(start);
        bounds
            .seconds
            .is_some_and(|seconds| elapsed_ns / 1_000_000_000 >= seconds)
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let (sender, said) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while !is_over() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= bounds.end() {
                        return;
                    }
                    sender.send(Said::Begins(seed)).unwrap();
                    let ran = caught(|| run(&plan_of(seed), false));
                    sender.send(Said::Ends(seed, ran)).unwrap();
                }
            });
        }
        drop(sender);
        collect(&said)
    })
}

fn collect(said: &Receiver<Said>) -> Results {
    let (mut running, mut results) = (BTreeSet::new(), Results::default());
    loop {
        match said.recv_timeout(PATIENCE) {
            Ok(Said::Begins(seed)) => {
                running.insert(seed);
            }
            Ok(Said::Ends(seed, ran)) => {
                running.remove(&seed);
                results.take(seed, ran);
            }
            Err(RecvTimeoutError::Timeout) => {
                // A thread that hangs cannot be stopped.
                eprintln!("seeds {running:?} hang");
                std::process::abort();
            }
            Err(RecvTimeoutError::Disconnected) => {
                results.failures.sort();
                return results;
            }
        }
    }
}

/// The words of a panic as an error.
fn caught(run: impl FnOnce() -> BTreeSet<&'static str>) -> Ran {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default()
    })
}

/// Each failure is told once, at the end, and not with a backtrace in the middle.
fn without_panic_messages<T>(run: impl FnOnce() -> T) -> T {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let answer = run();
    set_hook(hook);
    answer
}
