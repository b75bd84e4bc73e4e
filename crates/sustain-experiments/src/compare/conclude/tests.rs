//! Whole runs with a known truth compared: what is answered, how often wrongly.

use sustain_document::compare::{LimitOutcome, Metric, RowVerdict};
use sustain_document::vocabulary::DataPath;
use sustain_statistics::judge::Step;
use sustain_statistics::judge::series::SeriesNoise;

use super::super::sample::{noisy, run};
use super::*;

fn compared(a: &MeasureResult, b: &MeasureResult, most: Option<f64>) -> CompareResult {
    let plan = ComparePlan {
        fail_if_slower: most,
        ..ComparePlan::default()
    };
    compare(a, b, &plan).unwrap()
}

fn row<'a>(result: &'a CompareResult, target: Option<&str>, metric: Metric) -> &'a ComparedRow {
    let mut rows = result.rows.iter();
    rows.find(|row| row.target.as_deref() == target && row.metric == metric)
        .unwrap()
}

#[test]
fn the_same_disk_is_seldom_called_different() {
    let mut noise = SeriesNoise::new(2);
    let mut wrong = 0;
    for _ in 0..400 {
        let mut disk = || run(&[("d", noisy(&mut noise, 60, 2e8, 0.6))]);
        let result = compared(&disk(), &disk(), None);
        assert_eq!(result.rows[0].metric, Metric::SustainedRate);
        wrong += u32::from(result.answer.verdict != RowVerdict::NoDifferenceShown);
    }
    assert!(wrong <= 24, "{wrong} of 400");
}

/// Of pairs of equal disks with a cache, how many are called different. The cache holds for some
/// part of each run, up to this one, and is faster by `gain`.
fn called_different(seconds: u32, most_share: f64, gain: f64) -> f64 {
    const PAIRS: u32 = 1000;
    let mut noise = SeriesNoise::new(16);
    let mut wrong = 0;
    for _ in 0..PAIRS {
        let mut disk = || {
            let full_s = noise.uniform() * most_share * f64::from(seconds);
            let mut steps = noisy(&mut noise, seconds, 2e8, 0.3);
            for step in &mut steps {
                let cached_s = (full_s - step.start_s).clamp(0.0, 1.0);
                step.bytes = (step.bytes as f64 * (1.0 + gain * cached_s)) as u64;
            }
            run(&[("d", steps)])
        };
        let result = compared(&disk(), &disk(), None);
        wrong += u32::from(!matches!(
            result.answer.verdict,
            RowVerdict::NoDifferenceShown | RowVerdict::NotJudged
        ));
    }
    f64::from(wrong) / f64::from(PAIRS)
}

#[test]
fn a_cache_that_holds_for_a_part_of_a_run_makes_no_difference_of_disks() {
    for (seconds, most_share, gain) in [
        (30, 1.0, 0.05),
        (30, 1.0, 0.1),
        (30, 1.0, 0.3),
        (30, 1.0, 2.0),
        (30, 0.4, 0.05),
        (60, 1.0, 0.05),
        (60, 0.33, 0.1),
        (120, 1.0, 0.1),
    ] {
        let wrong = called_different(seconds, most_share, gain);
        assert!(wrong <= 0.05, "{seconds} s, {most_share}, {gain}: {wrong}");
    }
}

#[test]
fn a_slower_disk_is_found_beside_one_that_had_a_cache() {
    let mut noise = SeriesNoise::new(18);
    for (cached_s, slower) in [(20, 0.7), (20, 0.3), (1, 0.85), (1, 0.3)] {
        let mut steps = noisy(&mut noise, 60, 1e8, 0.3);
        for step in &mut steps[..cached_s] {
            step.bytes *= 4;
        }
        let one = run(&[("d", steps)]);
        let other = run(&[("d", noisy(&mut noise, 60, slower * 1e8, 0.3))]);
        let found = compared(&one, &other, Some(0.05));
        assert_eq!(
            found.answer.verdict,
            RowVerdict::Slower,
            "{cached_s} s, {slower}"
        );
        assert_eq!(found.limit.unwrap().outcome, LimitOutcome::Slower);
        // What the one that has not fallen holds may still be its cache.
        let faster = run(&[("d", noisy(&mut noise, 60, 1.3e8, 0.3))]);
        let found = compared(&one, &faster, None);
        let sustained = row(&found, Some("d"), Metric::SustainedRate);
        assert_eq!(sustained.ci95_ratio, None, "{sustained:?}");
    }
}

#[test]
fn a_slower_disk_is_found_with_its_interval_and_fails_where_it_must() {
    let mut noise = SeriesNoise::new(4);
    let mut disk = |rate| run(&[("d", noisy(&mut noise, 120, rate, 0.5))]);
    let result = compared(&disk(2e8), &disk(1.8e8), Some(0.05));
    assert_eq!(result.answer.verdict, RowVerdict::Slower);
    assert_eq!(result.answer.slower_targets, ["d"]);
    let rate = &result.rows[0];
    let [low, high] = rate.ci95_ratio.unwrap();
    assert!(low > 0.86 && high < 0.94 && high - low < 0.05, "{rate:?}");
    assert_eq!(result.limit.unwrap().outcome, LimitOutcome::Slower);
    let same = compared(&disk(2e8), &disk(2e8), Some(0.05));
    assert_eq!(same.limit.clone().unwrap().outcome, LimitOutcome::Held);
    assert!(same.rows[0].resolution.unwrap() < 0.05, "{same:?}");
}

#[test]
fn one_aged_disk_of_four_is_named_though_the_sum_hardly_shows_it() {
    let mut noise = SeriesNoise::new(6);
    let names = ["a", "b", "c", "d"];
    let mut array = |last: f64| {
        let disks = names.map(|name| {
            let rate = if name == "d" { last } else { 2e8 };
            (name, noisy(&mut noise, 120, rate, 0.3))
        });
        run(&disks)
    };
    let result = compared(&array(2e8), &array(1.8e8), Some(0.05));
    assert_eq!(result.answer.slower_targets, ["d"]);
    let outcome = result.limit.unwrap();
    assert_eq!(outcome.outcome, LimitOutcome::Slower);
    assert!(
        outcome.why[4].starts_with("d: slower than allowed"),
        "{outcome:?}"
    );
    assert_eq!(result.rows[0].target, None);
}

#[test]
fn what_has_no_interval_is_shown_and_not_judged() {
    let mut noise = SeriesNoise::new(8);
    let mut disk = || run(&[("d", noisy(&mut noise, 30, 2e8, 0.3))]);
    let result = compared(&disk(), &disk(), None);
    let unjudged = [
        Metric::LatencyP50,
        Metric::LatencyP99_9,
        Metric::LatencyMax,
        Metric::CpuPerGb,
    ];
    for metric in unjudged {
        let row = row(&result, Some("d"), metric);
        assert_eq!(row.verdict, RowVerdict::NotJudged);
        assert_eq!((row.ci95_ratio, row.resolution), (None, None));
        assert!(row.how.contains("without a confidence interval"), "{row:?}");
    }
    let typical = row(&result, Some("d"), Metric::LatencyTypicalMax);
    assert!(typical.ci95_ratio.is_some(), "{typical:?}");
}

#[test]
fn more_time_for_a_request_is_slower() {
    let mut noise = SeriesNoise::new(10);
    let mut disk = |rate| run(&[("d", noisy(&mut noise, 60, rate, 0.3))]);
    let result = compared(&disk(2e8), &disk(1.6e8), None);
    let typical = row(&result, Some("d"), Metric::LatencyTypicalMax);
    assert!(typical.ratio.unwrap() > 1.0);
    assert_eq!(typical.verdict, RowVerdict::Slower);
}

#[test]
fn short_runs_are_compared_over_what_both_moved_or_not_at_all() {
    let mut noise = SeriesNoise::new(12);
    // Less than ten seconds are never called steady, but have their intervals.
    let mut tenths = |seconds: u32, rate: f64| -> Vec<Step> {
        let steps = noisy(&mut noise, seconds * 10, rate, 0.3);
        let tenth = |step: Step| Step {
            start_s: step.start_s / 10.0,
            end_s: step.end_s / 10.0,
            bytes: step.bytes / 10,
        };
        steps.into_iter().map(tenth).collect()
    };
    let result = compared(
        &run(&[("d", tenths(4, 2e8))]),
        &run(&[("d", tenths(8, 1.8e8))]),
        None,
    );
    assert_eq!(result.rows[0].metric, Metric::Rate);
    assert_eq!(result.answer.verdict, RowVerdict::Slower);
    assert!(
        result.rows[0].how.contains("that both transferred"),
        "{result:?}"
    );
    let few = |steps: Vec<Step>| run(&[("d", steps[..5].to_vec())]);
    let result = compared(&few(tenths(1, 2e8)), &few(tenths(1, 1e8)), Some(0.05));
    assert_eq!(result.answer.verdict, RowVerdict::NotJudged);
    assert_eq!(result.limit.unwrap().outcome, LimitOutcome::CannotBeTold);
}

#[test]
fn what_was_written_to_memory_has_one_figure() {
    let mut noise = SeriesNoise::new(14);
    let mut disk = |rate| {
        let mut result = run(&[("d", noisy(&mut noise, 30, rate, 0.3))]);
        result.plan.path = DataPath::Buffered;
        result
    };
    let result = compared(&disk(2e8), &disk(1e8), None);
    assert_eq!(result.answer.verdict, RowVerdict::NotJudged);
    assert!(result.rows[0].how.contains("page cache"), "{result:?}");
}
