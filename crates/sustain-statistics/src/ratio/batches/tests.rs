//! Series with a known truth: how often equal runs are called different, and real differences
//! found.

use super::*;
use crate::judge::Step;
use crate::judge::series::SeriesNoise;
use crate::ratio::effect::OUTSIDE;

/// Seconds at a rate with a first-order autoregression on it, of 2 % of standard deviation.
fn run(noise: &mut SeriesNoise, seconds: u32, rate: f64, memory: f64) -> Vec<Step> {
    let own = (1.0 - memory * memory).sqrt();
    let mut state = noise.normal();
    (0..seconds)
        .map(|second| {
            state = memory * state + own * noise.normal();
            Step {
                start_s: f64::from(second),
                end_s: f64::from(second + 1),
                bytes: (rate * (1.0 + 0.02 * state)) as u64,
            }
        })
        .collect()
}

fn curve(steps: &[Step]) -> CumulativeBytes {
    CumulativeBytes::new(steps).expect("has steps")
}

/// A test on single seconds, as if they were independent.
fn is_naively_shown(a: &[Step], b: &[Step]) -> bool {
    let mean = |steps: &[Step]| {
        let count = steps.len() as f64;
        let mean = steps.iter().map(|step| step.bytes as f64).sum::<f64>() / count;
        let squares = steps.iter().map(|step| (step.bytes as f64 - mean).powi(2));
        (mean, squares.sum::<f64>() / (count - 1.0) / count)
    };
    let ((mean_a, of_a), (mean_b, of_b)) = (mean(a), mean(b));
    (mean_a - mean_b).abs() > 1.98 * (of_a + of_b).sqrt()
}

/// Parts of pairs that are called different: by windows, by the same bytes, naively.
fn shown(pairs: u32, seconds: u32, memory: f64, rates: [f64; 2]) -> [f64; 3] {
    let mut noise = SeriesNoise::new(11);
    let mut counts = [0_u32; 3];
    for _ in 0..pairs {
        let [a, b] = rates.map(|rate| run(&mut noise, seconds, rate, memory));
        let (of_a, of_b) = (curve(&a), curve(&b));
        let (apart, _) = ratio_of_rates((&of_a, 0.0), (&of_b, 0.0)).unwrap();
        let (paired, _) = ratio_over_same_bytes(&of_a, &of_b).unwrap();
        counts[0] += u32::from(apart.is_shown(OUTSIDE));
        counts[1] += u32::from(paired.is_shown(OUTSIDE));
        counts[2] += u32::from(is_naively_shown(&a, &b));
    }
    counts.map(|count| f64::from(count) / f64::from(pairs))
}

#[test]
fn equal_runs_are_seldom_called_different_however_alike_their_seconds_are() {
    for (seconds, memory, naive_least) in [(30, 0.3, 0.1), (60, 0.6, 0.3), (300, 0.8, 0.4)] {
        let [apart, paired, naive] = shown(1000, seconds, memory, [2e8; 2]);
        assert!(apart <= 0.06, "{seconds} s, memory {memory}: {apart}");
        assert!(paired <= 0.06, "{seconds} s, memory {memory}: {paired}");
        assert!(naive >= naive_least, "{naive}");
    }
}

#[test]
fn a_disk_five_percent_slower_is_found() {
    for (seconds, memory) in [(30, 0.3), (60, 0.6)] {
        let [apart, paired, _] = shown(300, seconds, memory, [2e8, 1.9e8]);
        assert!(apart >= 0.95, "{seconds} s, memory {memory}: {apart}");
        assert!(paired >= 0.75, "{seconds} s, memory {memory}: {paired}");
    }
}

#[test]
fn the_interval_holds_the_true_ratio_and_the_resolution_is_what_is_found_four_times_of_five() {
    let mut noise = SeriesNoise::new(5);
    let (mut held, mut resolutions) = (0, Vec::new());
    for _ in 0..500 {
        let [a, b] = [2e8, 1.9e8].map(|rate| run(&mut noise, 120, rate, 0.6));
        let (effect, _) = ratio_of_rates((&curve(&a), 0.0), (&curve(&b), 0.0)).unwrap();
        let [low, high] = effect.interval(OUTSIDE);
        held += u32::from(low <= 0.95 && 0.95 <= high);
        resolutions.push(effect.resolution(OUTSIDE));
    }
    assert!((470..=498).contains(&held), "{held} of 500");
    resolutions.sort_by(f64::total_cmp);
    let [found, _, _] = shown(500, 120, 0.6, [2e8, 2e8 * (1.0 - resolutions[250])]);
    assert!((0.72..=0.95).contains(&found), "{found}");
}

#[test]
fn what_falls_along_the_way_in_both_alike_is_no_noise() {
    let mut noise = SeriesNoise::new(3);
    let mut falling = |factor: f64| -> Vec<Step> {
        let mut steps = run(&mut noise, 200, 2e8 * factor, 0.3);
        // Half the rate at the end of the disk, wherever that is in time.
        let mut moved = 0.0;
        for step in &mut steps {
            let share = 1.0 - moved / 8e10;
            step.bytes = (step.bytes as f64 * share) as u64;
            moved += step.bytes as f64;
        }
        steps
    };
    let (a, b) = (curve(&falling(1.0)), curve(&falling(0.97)));
    let (paired, rates) = ratio_over_same_bytes(&a, &b).unwrap();
    assert!(paired.is_shown(OUTSIDE), "{paired:?}");
    assert!((paired.ratio() - 0.97).abs() < 0.01, "{paired:?}");
    assert!((rates[1] / rates[0] - paired.ratio()).abs() < 1e-9);
    let (apart, _) = ratio_of_rates((&a, 0.0), (&b, 0.0)).unwrap();
    assert!(!apart.is_shown(OUTSIDE), "{apart:?}");
}

#[test]
fn equal_series_without_noise_are_equal_and_few_intervals_say_nothing() {
    let steps: Vec<Step> = (0..20)
        .map(|second| Step {
            start_s: f64::from(second),
            end_s: f64::from(second + 1),
            bytes: 1000,
        })
        .collect();
    let whole = curve(&steps);
    let (effect, rates) = ratio_of_rates((&whole, 10.0), (&whole, 0.0)).unwrap();
    assert_eq!((effect.ratio(), rates), (1.0, [1000.0, 1000.0]));
    assert!(!effect.is_shown(OUTSIDE));
    assert!(effect.resolution(OUTSIDE) < 0.003);
    let short = curve(&steps[..9]);
    assert_eq!(ratio_of_rates((&short, 0.0), (&whole, 0.0)), None);
    assert_eq!(ratio_over_same_bytes(&whole, &short), None);
    assert_eq!(ratio_of_typical(&[1.0; 9], &[1.0; 10]), None);
}

#[test]
fn typical_values_are_compared_by_their_factor() {
    let mut noise = SeriesNoise::new(9);
    let mut values = |level: f64| -> Vec<f64> {
        (0..60)
            .map(|_| level * (0.5 * noise.normal()).exp())
            .collect()
    };
    let (a, b) = (values(1e6), values(2e6));
    let (effect, typical) = ratio_of_typical(&a, &b).unwrap();
    assert!(effect.is_shown(OUTSIDE), "{effect:?}");
    assert!((1.5..2.7).contains(&effect.ratio()), "{effect:?}");
    assert!((typical[1] / typical[0] - effect.ratio()).abs() < 1e-9);
}
