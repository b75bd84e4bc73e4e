//! Short runs on disks with volatile caches: what a cache took counts at the rate at which it
//! reaches the medium, whichever command compares the runs.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::fmt::Write as _;

use sustain_disk::target::Direction;
use sustain_document::compare::RowVerdict;
use sustain_document::diagnose::DiagnoseResult;
use sustain_document::sweep::SweepResult;
use sustain_experiments::compare::{TrialPlan, TrialSetting, trial};
use sustain_experiments::diagnose::{DiagnosePlan, diagnose};
use sustain_experiments::measure::plan::{LoadPlan, MeasurePlan};
use sustain_experiments::measure::run::measure;
use sustain_experiments::sweep::{SweepPlan, sweep};
use sustain_host::Roots;
use sustain_load::Stop;

/// A disk of 160 MB/s that takes small records at 327 MB/s, as long as they fit into its cache, and
/// large ones at once.
const CACHED: &str = "\
[[disk]]
name = \"d0\"
capacity = \"1TB\"
write = \"160MB/s\"
request = \"200us\"
cache = \"256MiB\"
volatile_cache = true
noise = \"0.3%\"
";

/// The rate of its medium.
const MEDIUM: f64 = 160e6;

fn with_machine<T>(text: &str, run: impl FnOnce(&str) -> T) -> T {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("machine.toml");
    std::fs::write(&path, text).unwrap();
    run(&format!("sim:{}", path.display()))
}

fn swept(text: &str, seed: u64) -> SweepResult {
    with_machine(text, |machine| {
        let mut plan = SweepPlan::new([machine]);
        plan.directions = vec![Direction::Write];
        plan.record_sizes_bytes = vec![16 << 10, 64 << 10, 1 << 20];
        plan.depths = vec![1, 2, 8];
        plan.load.destroy = vec![machine.to_owned()];
        plan.load.seed = seed;
        plan.rounds = 2;
        let (roots, stop) = (Roots::default(), Stop::default());
        sweep(&plan, &roots, &stop, &mut |_| (), &mut |_| ()).unwrap()
    })
}

#[test]
fn a_setting_that_a_cache_carried_is_no_faster_than_the_medium() {
    for seed in 1..=3 {
        let found = swept(CACHED, seed);
        let mut cached = 0;
        for point in &found.points {
            let rate = point.rate_bytes_per_s.unwrap();
            assert!(rate < 1.02 * MEDIUM, "{seed}: {point:#?}");
            cached += usize::from(point.cache_flush_s.is_some());
            // Requests of 16 KiB, one at a time, bring no more than the medium writes.
            let is_slow = rate < 0.95 * MEDIUM;
            assert!(
                !is_slow || point.cache_flush_s.is_none(),
                "{seed}: {point:#?}"
            );
        }
        assert!((1..9).contains(&cached), "{seed}: {cached}");
        // The settings that reach the medium are no different, so that the simplest of them wins.
        let answer = &found.answers[0];
        assert_eq!(answer.alike.len() + 1, cached, "{seed}: {answer:#?}");
        let best = &found.points[answer.best].setting;
        assert_eq!((best.depth, best.record_size_bytes), (1, 1 << 20), "{seed}");
        let is_reported = |note: &&String| note.contains("volatile caches had taken part");
        let told: Vec<&String> = found.notes.iter().filter(is_reported).collect();
        let [note] = told[..] else {
            panic!("{:#?}", found.notes)
        };
        assert!(note.starts_with(&format!("in {cached} settings")), "{note}");
        assert!(note.contains("time per point of 17 s"), "{note}");
    }
}

#[test]
fn of_a_disk_without_a_cache_nothing_is_told() {
    let without = CACHED.replace("cache = \"256MiB\"\nvolatile_cache = true\n", "");
    let found = swept(&without, 1);
    assert!(
        found
            .points
            .iter()
            .all(|point| point.cache_flush_s.is_none())
    );
    assert!(!found.notes.iter().any(|note| note.contains("volatile")));
}

#[test]
fn a_trial_finds_no_setting_faster_because_a_cache_carried_it() {
    let setting = |record_bytes, depth| TrialSetting {
        record_bytes,
        depth,
        ..TrialSetting::default()
    };
    let found = with_machine(CACHED, |machine| {
        let settings = [setting(1 << 20, 8), setting(64 << 10, 1)];
        let mut plan = TrialPlan::new([machine], settings);
        plan.load.direction = Some(Direction::Write);
        plan.load.destroy = vec![machine.to_owned()];
        plan.time_per_run_ns = 1_000_000_000;
        trial(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap()
    });
    let row = &found.rows[0];
    assert_eq!(row.verdict, RowVerdict::NoDifferenceShown, "{row:#?}");
    assert!(row.a < 1.02 * MEDIUM && row.b < 1.02 * MEDIUM, "{row:#?}");
    let is_reported = |note: &String| note.contains("volatile caches had taken part");
    assert!(found.notes.iter().any(is_reported), "{:#?}", found.notes);
}

/// Four disks behind one limit, with caches that a run of three seconds about fills.
fn diagnosed_cached(cache: &str) -> DiagnoseResult {
    let mut text = "[limit.host]\nrate = \"400MB/s\"\n".to_owned();
    for number in 0..4 {
        write!(
            text,
            "[[disk]]\nname = \"d{number}\"\ncapacity = \"1TB\"\nwrite = \"160MB/s\"\n\
             noise = \"0.3%\"\nthrough = [\"host\"]\n{cache}"
        )
        .unwrap();
    }
    diagnosed(&text)
}

fn diagnosed(text: &str) -> DiagnoseResult {
    with_machine(text, |machine| {
        let mut plan = DiagnosePlan::new([machine]);
        plan.load.direction = Some(Direction::Write);
        plan.load.destroy = vec![machine.to_owned()];
        diagnose(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap()
    })
}

#[test]
fn a_diagnosis_names_the_caches_that_took_a_part_of_its_runs() {
    let cache = "cache = \"400MB\"\ncache_rate = \"300MB/s\"\nvolatile_cache = true\n";
    for (cache, is_cached) in [(cache, true), ("", false)] {
        let found = diagnosed_cached(cache);
        for alone in &found.alone {
            let rate = alone.rate_bytes_per_s.unwrap();
            assert!((rate / MEDIUM - 1.0).abs() < 0.02, "{alone:?}");
        }
        assert_eq!(found.walls.len(), 1, "{:#?}", found.walls);
        assert_eq!(found.walls[0].members.len(), 4);
        let limit = found.walls[0].limit_bytes_per_s;
        assert!((limit / 400e6 - 1.0).abs() < 0.02, "{limit}");
        let is_reported = |note: &String| note.starts_with("volatile caches of d0, d1, d2, d3 had");
        assert_eq!(
            found.notes.iter().any(is_reported),
            is_cached,
            "{:#?}",
            found.notes
        );
        let blames = |note: &String| note.contains("other programs");
        assert!(!found.notes.iter().any(blames), "{:#?}", found.notes);
    }
}

/// The cache takes more than the medium writes, and less than the source gives.
#[test]
fn a_backlog_that_grows_is_told_though_a_cache_took_part_of_the_rate_as_well() {
    let text = "[[disk]]\nname = \"d0\"\ncapacity = \"1TB\"\nwrite = \"100MB/s\"\n\
                cache = \"1GB\"\ncache_rate = \"130MB/s\"\nvolatile_cache = true\n";
    for (rate_bytes_per_s, grows) in [(160e6, true), (125e6, false)] {
        let found = with_machine(text, |machine| {
            let load = LoadPlan {
                time_ns: Some(20_000_000_000),
                rate_bytes_per_s: Some(rate_bytes_per_s),
                destroy: vec![machine.to_owned()],
                ..LoadPlan::new([machine])
            };
            let plan = MeasurePlan {
                buffer_bytes: 1 << 30,
                ..MeasurePlan::of(load)
            };
            measure(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap()
        });
        assert_eq!(found.total.rate_held, Some(false));
        let verdicts = found.verdicts.unwrap();
        assert!(verdicts.into_cache.is_some());
        assert_eq!(verdicts.backlog_grows, grows, "{rate_bytes_per_s}");
    }
}

#[test]
fn only_targets_with_a_cache_are_said_to_have_one() {
    let plain = |name: &str| {
        format!(
            "[[disk]]\nname = \"{name}\"\ncapacity = \"1TB\"\nwrite = \"300MB/s\"\n\
             through = [\"host\"]\n"
        )
    };
    let cached = "[[disk]]\nname = \"cached\"\ncapacity = \"1TB\"\nwrite = \"100MB/s\"\n\
                  cache = \"2GB\"\ncache_rate = \"300MB/s\"\nvolatile_cache = true\n\
                  through = [\"host\"]\n[limit.host]\nrate = \"400MB/s\"\n";
    let text = plain("plain") + &plain("plain2") + cached;
    let result = diagnosed(&text);
    let mut notes = result.notes.iter();
    let caches = notes
        .find(|note| note.contains("volatile caches of"))
        .unwrap();
    assert!(caches.contains("volatile caches of cached had"), "{caches}");
}
