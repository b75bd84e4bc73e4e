//! The curves of "Investigating RAID performance", which are pictures without figures: a profile of
//! its drives must tell what the text tells of them.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use sustain_disk::target::Direction;
use sustain_document::profile::{ProfileTogether, TogetherPoint, TogetherShape};
use sustain_experiments::profile::{ProfilePlan, profile};
use sustain_host::Roots;
use sustain_load::Stop;

/// What a profile finds of these drives at once.
fn together(machine: &str, drives: &[&str], record_bytes: u64) -> ProfileTogether {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines");
    let file = directory.join(machine);
    let target = |drive: &&str| format!("sim:{}:{drive}", file.display());
    let mut plan = ProfilePlan {
        directions: vec![Direction::Read],
        budget_ns: 240_000_000_000,
        ..ProfilePlan::new(drives.iter().map(target))
    };
    plan.load.record_bytes = record_bytes;
    let result = profile(&plan, &Roots::default(), &Stop::default(), &mut |_| {}).unwrap();
    result.together.into_iter().next().unwrap()
}

fn sum(point: &TogetherPoint) -> f64 {
    point.rates_bytes_per_s.iter().sum()
}

fn is_near(found: f64, wanted: f64, part: f64) -> bool {
    (found / wanted - 1.0).abs() < part
}

#[test]
fn less_than_one_drive_alone_is_no_limit_that_they_share() {
    for drives in [&["a0", "a1"][..], &["a0", "b0"], &["a0", "a1", "b0", "b1"]] {
        let found = together("fasttrak.toml", drives, 80_000);
        assert_eq!(found.shape, TogetherShape::Collapse, "{:?}", found.verdict);
        assert_eq!(found.shared_limit.unwrap().rate_bytes_per_s, None);
        let words = found.verdict.join("; ");
        assert!(words.contains("less than one of them reaches"), "{words}");
    }
}

/// "Instead of starting at the expected 70MB/s, the transfer rate starts at 15MB/s", and "increases
/// towards the end where you would expect it to decrease".
#[test]
fn two_drives_on_one_channel_get_faster_as_each_gets_slower() {
    let found = together("fasttrak-zones.toml", &["a0", "a1"], 1 << 20);
    assert_eq!(found.shape, TogetherShape::Collapse, "{:?}", found.verdict);
    assert!(is_near(sum(&found.points[0]), 15e6, 0.03));
    let rates: Vec<f64> = found.points.iter().map(sum).collect();
    assert!(
        rates.windows(2).all(|pair| pair[1] > pair[0] * 0.98),
        "{rates:?}"
    );
    assert!(is_near(*rates.last().unwrap(), 40e6, 0.03));
}

/// "At around 61MB/s combined, the line becomes smooth", and "below that rate both hard drives are
/// working at their maximum transfer rates".
#[test]
fn two_drives_on_two_controllers_are_free_where_they_need_no_more_than_the_limit() {
    let found = together("fasttrak-zones.toml", &["a0", "c0"], 1 << 20);
    assert_eq!(found.shape, TogetherShape::Collapse, "{:?}", found.verdict);
    let limit = found.shared_limit.unwrap();
    assert!(is_near(limit.rate_bytes_per_s.unwrap(), 61e6, 0.03));
    let until = limit.binds_until.unwrap();
    let (bound, free): (Vec<&TogetherPoint>, Vec<&TogetherPoint>) = found
        .points
        .iter()
        .partition(|point| point.position < until);
    assert!(bound.iter().all(|point| sum(point) < 58e6));
    for point in free {
        assert!(is_near(sum(point), point.alone_bytes_per_s.unwrap(), 0.03));
    }
}
