use super::super::series;
use super::*;

const ONE_PASS: Revisits = Revisits { lap_bytes: None };

fn mb(verdict: &SteadyVerdict) -> f64 {
    verdict.rate_bytes_per_s / 1e6
}

#[test]
fn flat_is_steady_from_the_first_byte() {
    let verdict = judge(&series::linear(60, 100.0, 100.0, 0.02), ONE_PASS);
    assert!(verdict.reached, "{verdict:?}");
    assert_eq!(verdict.from_s, 0.0);
    let [low, high] = verdict.ci95_bytes_per_s;
    assert!(
        low < 100e6 && 100e6 < high && high - low < 3e6,
        "{verdict:?}"
    );
}

#[test]
fn a_fall_is_not_steady_and_says_why() {
    let verdict = judge(&series::linear(300, 100.0, 50.0, 0.0), ONE_PASS);
    assert!(!verdict.reached);
    // The last half falls from 75 to 50; its ten batches from 73.75 to 51.25 around 62.5.
    let SteadyReason::Unsteady {
        length_s,
        pause,
        range_percent: Some(range),
        rise_percent: Some(rise),
        position,
    } = verdict.reason
    else {
        panic!("{verdict:?}");
    };
    assert_eq!(
        (length_s, pause, position),
        (150.0, None, PositionKnown::OnePass)
    );
    assert!(
        (range - 36.0).abs() < 0.1 && (rise + 36.0).abs() < 0.1,
        "{range} {rise}"
    );
    assert!(
        (mb(&verdict) - 62.5).abs() < 0.1,
        "best estimate is the last half"
    );
    assert_eq!(verdict.from_s, 150.0);
}

#[test]
fn the_limits_are_on_the_fitted_line_of_ten_batches() {
    // Batches of a line from 1 + d/2 to 1 - d/2 rise by 0.9 d; both runs are steady in range.
    let passing = judge(&series::linear(10, 105.4, 94.6, 0.0), ONE_PASS);
    assert!(passing.reached, "{passing:?}");
    let failing = judge(&series::linear(10, 105.7, 94.3, 0.0), ONE_PASS);
    assert!(!failing.reached, "{failing:?}");
    let SteadyReason::Unsteady {
        range_percent: None,
        rise_percent: Some(rise),
        ..
    } = failing.reason
    else {
        panic!("{failing:?}");
    };
    assert!((rise + 10.26).abs() < 0.01, "{rise}");
}

#[test]
fn steady_begins_after_the_burst() {
    let verdict = judge(&series::cached(120, 600.0, 80.0, 40.0, 0.01), ONE_PASS);
    assert!(verdict.reached, "{verdict:?}");
    assert_eq!(verdict.from_s, 15.0, "600 MB at 40 MB/s more than drains");
    assert!((mb(&verdict) - 40.0).abs() < 0.5, "{verdict:?}");
}

#[test]
fn a_burst_that_ends_late_asks_for_a_longer_run() {
    let verdict = judge(&series::dropped(100, 3000.0, 1500.0, 70, 0.0), ONE_PASS);
    assert!(!verdict.reached);
    let SteadyReason::LateBurst {
        until_s,
        duration_s,
        rate_bytes_per_s,
        after_bytes_per_s,
    } = verdict.reason
    else {
        panic!("{verdict:?}");
    };
    assert!(
        (until_s - 70.0).abs() < 1.0 && duration_s == 100.0,
        "{until_s}"
    );
    let rates = [rate_bytes_per_s / 3e9, after_bytes_per_s / 1.5e9];
    assert!(
        rates.iter().all(|part| (part - 1.0).abs() < 0.01),
        "{rates:?}"
    );
}

#[test]
fn short_and_empty_runs() {
    let short = judge(&series::linear(6, 100.0, 100.0, 0.0), ONE_PASS);
    assert_eq!(short.reason, SteadyReason::TooShort { duration_s: 6.0 });
    assert!((mb(&short) - 100.0).abs() < 1e-6);
    assert_eq!(judge(&[], ONE_PASS).reason, SteadyReason::Nothing);
    assert!(!judge(&series::linear(60, 0.0, 0.0, 0.0), ONE_PASS).reached);
    let long_steps: Vec<Step> = (0u8..8)
        .map(|k| Step {
            start_s: f64::from(k) * 5.0,
            end_s: f64::from(k) * 5.0 + 5.0,
            bytes: 1 << 30,
        })
        .collect();
    let few = judge(&long_steps, ONE_PASS);
    assert_eq!(few.reason, SteadyReason::TooFewSteps { length_s: 20.0 });
}

#[test]
fn a_stall_longer_than_a_batch_is_named() {
    let verdict = judge(&series::stalled(60, 100.0, 40, 8, 0.0), ONE_PASS);
    assert!(!verdict.reached);
    let SteadyReason::Unsteady {
        pause: Some(pause), ..
    } = verdict.reason
    else {
        panic!("{verdict:?}");
    };
    assert_eq!((pause.from_s, pause.length_s), (42.0, 3.0));
}

#[test]
fn a_short_last_step_does_not_matter() {
    let mut steps = series::linear(60, 100.0, 100.0, 0.0);
    steps.push(Step {
        start_s: 60.0,
        end_s: 60.004,
        bytes: 0,
    });
    let verdict = judge(&steps, ONE_PASS);
    assert!(
        verdict.reached && (mb(&verdict) - 100.0).abs() < 0.1,
        "{verdict:?}"
    );
}

#[test]
fn two_laps_tell_position_from_time() {
    let steps = series::zoned(300, 840.0, 11.2, 6.0, 12, 0.01);
    let known = judge(
        &steps,
        Revisits {
            lap_bytes: Some(840_000_000),
        },
    );
    assert!(known.reached, "{known:?}");
    // A lap of 12 zones takes 840/12 * sum(1/rate) = 101.2 s.
    let lap_s: f64 = (0u8..12)
        .map(|k| 70.0 / (11.2 - 5.2 * f64::from(k) / 11.0))
        .sum();
    assert!(
        (mb(&known) / (840.0 / lap_s) - 1.0).abs() < 0.02,
        "{known:?}"
    );
    let removed = PositionKnown::RemovedByLaps { laps: 2 };
    assert!(
        matches!(known.reason, SteadyReason::Steady { position, .. } if position == removed),
        "{known:?}"
    );
    assert!(!judge(&steps, ONE_PASS).reached);
    let first_lap = judge(
        &steps[..130],
        Revisits {
            lap_bytes: Some(840_000_000),
        },
    );
    assert!(!first_lap.reached, "{first_lap:?}");
}

#[test]
fn laps_do_not_hide_a_fall_over_time() {
    for seconds in [210, 400, 800] {
        let steps = series::linear(seconds, 100.0, 50.0, 0.01);
        let verdict = judge(
            &steps,
            Revisits {
                lap_bytes: Some(7_000_000_000),
            },
        );
        assert!(!verdict.reached, "{seconds} s: {verdict:?}");
    }
}

#[test]
fn white_noise_of_8_percent_is_steady_in_a_minute() {
    let verdict = judge(&series::linear(60, 200.0, 200.0, 0.08), ONE_PASS);
    assert!(verdict.reached, "{verdict:?}");
}
