//! Artificial series with a known truth, for the tests of this module and for the example
//! `verdicts`. They are not part of the library. Rates are in MB/s (10^6), steps are one second.

use super::Step;
use super::conventional::{FioRule, FioTest};

const BYTES_PER_MB: f64 = 1e6;
/// Parts of a second in which a rate that follows the position is kept constant.
const PARTS_PER_SECOND: u32 = 100;

/// SplitMix64 and the sum of twelve uniforms, which is enough for noise, and the same on every
/// machine.
pub struct SeriesNoise(u64);

impl SeriesNoise {
    /// The same seed gives the same noise.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// From 0 to 1, each as likely as any other.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Mean 0, standard deviation 1.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// `rate` is a function of the second and of the position in MB, which is counted along.
fn run(seconds: u32, noise_share: f64, rate: impl Fn(f64, f64) -> f64) -> Vec<Step> {
    let mut noise = SeriesNoise::new(42);
    let mut position = 0.0;
    let mut steps = Vec::new();
    for second in 0..seconds {
        let factor = 1.0 + noise_share * noise.normal();
        let mut moved = 0.0;
        for part in 0..PARTS_PER_SECOND {
            let time_s = f64::from(second) + f64::from(part) / f64::from(PARTS_PER_SECOND);
            let share = factor.max(0.0) / f64::from(PARTS_PER_SECOND);
            moved += rate(time_s, position + moved) * share;
        }
        position += moved;
        let start_s = f64::from(second);
        let bytes = (moved * BYTES_PER_MB).round() as u64;
        steps.push(Step {
            start_s,
            end_s: start_s + 1.0,
            bytes,
        });
    }
    steps
}

/// From one rate to another in a straight line.
pub fn linear(seconds: u32, from: f64, to: f64, noise: f64) -> Vec<Step> {
    run(seconds, noise, |time_s, _| {
        from + (to - from) * time_s / f64::from(seconds)
    })
}

/// A cache of `cache` MB that takes `fast` and drains at `slow` MB/s meanwhile.
pub fn cached(seconds: u32, cache: f64, fast: f64, slow: f64, noise: f64) -> Vec<Step> {
    let full_s = cache / (fast - slow);
    run(
        seconds,
        noise,
        |time_s, _| if time_s < full_s { fast } else { slow },
    )
}

/// A disk of `capacity` MB in zones from the outer rate to the inner, wrapped at its end.
pub fn zoned(
    seconds: u32,
    capacity: f64,
    outer: f64,
    inner: f64,
    zones: u32,
    noise: f64,
) -> Vec<Step> {
    run(seconds, noise, |_, position| {
        let zone = ((position % capacity) / capacity * f64::from(zones)).floor();
        outer + (inner - outer) * zone / f64::from(zones - 1)
    })
}

/// Runs `high_s` seconds at one rate, then `low_s` at another, repeatedly.
pub fn sawtooth(
    seconds: u32,
    high_s: u32,
    high: f64,
    low_s: u32,
    low: f64,
    noise: f64,
) -> Vec<Step> {
    run(seconds, noise, |time_s, _| {
        if time_s % f64::from(high_s + low_s) < f64::from(high_s) {
            high
        } else {
            low
        }
    })
}

/// Flat, but for one stall.
pub fn stalled(seconds: u32, rate: f64, at_s: u32, for_s: u32, noise: f64) -> Vec<Step> {
    let stall = f64::from(at_s)..f64::from(at_s + for_s);
    run(seconds, noise, |time_s, _| {
        if stall.contains(&time_s) { 0.0 } else { rate }
    })
}

/// Flat until `at_s`, then flat at a lower rate.
pub fn dropped(seconds: u32, from: f64, to: f64, at_s: u32, noise: f64) -> Vec<Step> {
    run(seconds, noise, |time_s, _| {
        if time_s < f64::from(at_s) { from } else { to }
    })
}

/// An example of fio's rule: `--ss=bw_slope:0.3% --ss_dur=60`.
pub const FIO_SLOPE: FioRule = FioRule {
    test: FioTest::Slope,
    limit_percent: 0.3,
    window_samples: 60,
};
/// Another one: `--ss=bw:10% --ss_dur=60`.
pub const FIO_DEVIATION: FioRule = FioRule {
    test: FioTest::Deviation,
    limit_percent: 10.0,
    window_samples: 60,
};

/// A series by name, with its lap if it wraps.
pub struct Case {
    /// What it shows.
    pub name: &'static str,
    /// The series.
    pub steps: Vec<Step>,
    /// Bytes after which its position comes again, if it does.
    pub lap_bytes: Option<u64>,
}

/// The series of the table in docs/method.md.
pub fn cases() -> Vec<Case> {
    let case = |name, steps| Case {
        name,
        steps,
        lap_bytes: None,
    };
    vec![
        case(
            "a disk that halves: 100 to 50 MB/s in 300 s",
            linear(300, 100.0, 50.0, 0.02),
        ),
        case(
            "a cache peak, then flat: 32 MB at 40 MB/s, then 10 MB/s, 600 s",
            cached(600, 32.0, 40.0, 10.0, 0.02),
        ),
        case("a large cache: 90 GB at 700 MB/s, then 450 MB/s, 600 s", {
            cached(600, 90_000.0, 700.0, 450.0, 0.02)
        }),
        case(
            "a zoned disk, one pass: 11.2 to 6 MB/s in 12 zones, 960 s",
            zoned(960, 8400.0, 11.2, 6.0, 12, 0.02),
        ),
        Case {
            name: "the same zones in laps of 840 MB, 600 s",
            steps: zoned(600, 840.0, 11.2, 6.0, 12, 0.02),
            lap_bytes: Some(840_000_000),
        },
        case(
            "noisy, flat: 200 MB/s, 8 % noise, 600 s",
            linear(600, 200.0, 200.0, 0.08),
        ),
        case(
            "garbage collection: 20 s at 500 MB/s, 5 s at 150 MB/s, 600 s",
            sawtooth(600, 20, 500.0, 5, 150.0, 0.02),
        ),
        case(
            "slow garbage collection: 150 s at 500 MB/s, 60 s at 150 MB/s, 600 s",
            sawtooth(600, 150, 500.0, 60, 150.0, 0.02),
        ),
        case(
            "one stall of 8 s in flat 200 MB/s, 600 s",
            stalled(600, 200.0, 500, 8, 0.02),
        ),
        case("heat: 3000 MB/s, after 420 s 1800 MB/s, 600 s", {
            dropped(600, 3000.0, 1800.0, 420, 0.02)
        }),
    ]
}
