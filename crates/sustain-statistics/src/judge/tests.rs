//! The verdicts that matter on series of known truth.

use super::conventional::{fio, samples, snia};
use super::series::{Case, FIO_DEVIATION, FIO_SLOPE, cases};
use super::steady::{PositionKnown, SteadyReason, SteadyVerdict, judge};
use super::{Revisits, burst};

fn case(beginning: &str) -> Case {
    cases()
        .into_iter()
        .find(|case| case.name.starts_with(beginning))
        .expect("a case of this name")
}

fn verdict(case: &Case) -> SteadyVerdict {
    judge(
        &case.steps,
        Revisits {
            lap_bytes: case.lap_bytes,
        },
    )
}

#[test]
fn a_halving_disk_is_steady_to_fio_and_not_to_us() {
    let case = case("a disk that halves");
    assert!(!verdict(&case).reached);
    assert!(fio(&samples(&case.steps, 1.0), FIO_SLOPE).is_some());
    assert!(snia(&samples(&case.steps, 60.0)).is_none());
}

#[test]
fn a_cache_peak_is_a_burst_and_not_the_rate() {
    let case = case("a cache peak");
    let sustained = verdict(&case);
    assert!(sustained.reached);
    assert!(
        (sustained.rate_bytes_per_s / 10e6 - 1.0).abs() < 0.01,
        "{sustained:?}"
    );
    let burst = burst::find(&case.steps).expect("a burst");
    assert!(
        (burst.absorbed_bytes as f64 / 32e6 - 1.0).abs() < 0.1,
        "{burst:?}"
    );
    assert!(sustained.from_s >= burst.until_s);
}

#[test]
fn a_large_cache_is_called_steady_by_the_other_rules() {
    let case = case("a large cache");
    assert!(!verdict(&case).reached);
    for attained in [
        fio(&samples(&case.steps, 1.0), FIO_SLOPE),
        fio(&samples(&case.steps, 1.0), FIO_DEVIATION),
        snia(&samples(&case.steps, 60.0)),
    ] {
        let rate = attained
            .expect("they stop inside the cache")
            .rate_bytes_per_s;
        assert!((rate / 700e6 - 1.0).abs() < 0.02);
    }
}

#[test]
fn position_and_time_are_told_apart_by_laps_only() {
    let one_pass = verdict(&case("a zoned disk"));
    assert!(!one_pass.reached);
    let SteadyReason::Unsteady { position, .. } = one_pass.reason else {
        panic!("{one_pass:?}");
    };
    assert_eq!(position, PositionKnown::OnePass);
    let laps = verdict(&case("the same zones"));
    assert!(laps.reached, "{laps:?}");
    let SteadyReason::Steady { position, .. } = laps.reason else {
        panic!("{laps:?}");
    };
    assert!(
        matches!(position, PositionKnown::RemovedByLaps { .. }),
        "{position:?}"
    );
}

#[test]
fn noise_is_no_reason_to_refuse() {
    let case = case("noisy");
    assert!(verdict(&case).reached);
    assert_eq!(burst::find(&case.steps), None);
    assert!(
        fio(&samples(&case.steps, 1.0), FIO_DEVIATION).is_none(),
        "one sample in 60 is out"
    );
}

#[test]
fn a_sawtooth_is_judged_by_its_mean_or_not_at_all() {
    let short = verdict(&case("garbage collection"));
    assert!(short.reached, "{short:?}");
    assert!(
        (short.rate_bytes_per_s / 430e6 - 1.0).abs() < 0.03,
        "{short:?}"
    );
    let case = case("slow garbage collection");
    assert!(!verdict(&case).reached);
    assert_eq!(burst::find(&case.steps), None);
    assert!(
        fio(&samples(&case.steps, 1.0), FIO_DEVIATION).is_some(),
        "fio saw the good part"
    );
}

#[test]
fn one_stall_lowers_the_mean_and_no_more() {
    let sustained = verdict(&case("one stall"));
    assert!(sustained.reached, "{sustained:?}");
    assert!(
        (sustained.rate_bytes_per_s / 197.3e6 - 1.0).abs() < 0.005,
        "{sustained:?}"
    );
}

#[test]
fn heat_after_two_thirds_is_not_steady() {
    assert!(!verdict(&case("heat")).reached);
}
