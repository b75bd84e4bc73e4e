//! Sweeps as a run leaves them, made by hand for the tests: a grid of settings whose rates follow a
//! rule, the fastest of which is best; what failed, was not measured or was left out among them.

use sustain_document::sweep::Axis;
use sustain_document::sweep::{
    AgainstBest, LeftOutSettings, SWEEP_SCHEMA, SweepAnswer, SweepAxis, SweepDrift,
    SweepMeasurement, SweepPlanUsed, SweepPoint, SweepResult, SweepSetting, SweepValue,
};
use sustain_document::vocabulary::{DataPath, Direction, EngineChoice, ExperimentEnd, LayoutKind};

const KIB: u64 = 1024;

/// Four record sizes, four depths; the largest and deepest is best, one at depth 4 the cheapest;
/// one setting failed, one was not measured, some were left out.
pub fn sizes_and_depths() -> SweepResult {
    let sizes = [64, 256, 1024, 4096].map(|size| size * KIB);
    let depths = [1, 2, 4, 8];
    let settings = sizes.iter().flat_map(|size| {
        depths.map(|depth| SweepSetting {
            record_size_bytes: *size,
            depth,
            words: format!("{} KiB, depth {depth}", size / KIB),
            ..setting()
        })
    });
    let mut result = of(settings.collect(), &[Axis::RecordSize, Axis::Depth]);
    forget(&mut result.points[0], None);
    let why = "/dev/sda: write at 1 MiB: I/O error (os error 5)".to_owned();
    forget(&mut result.points[1], Some(why));
    result.left_out = vec![LeftOutSettings {
        longer: None,
        why: "more than a point's time in flight".to_owned(),
        count: 3,
        first: SweepSetting {
            words: "4 MiB, depth 64".to_owned(),
            depth: 64,
            ..setting()
        },
    }];
    result
}

/// Only depths.
pub fn depths() -> SweepResult {
    let settings = [1, 2, 4, 8, 16].map(|depth| SweepSetting {
        depth,
        words: format!("depth {depth}"),
        ..setting()
    });
    of(settings.to_vec(), &[Axis::Depth])
}

/// Every axis, in both directions.
pub fn seven_axes() -> SweepResult {
    let mut settings = Vec::new();
    for direction in [Direction::Write, Direction::Read] {
        for engine in [EngineChoice::IoUring, EngineChoice::Threads] {
            for chunk_bytes in [None, Some(64 * KIB), Some(256 * KIB)] {
                for order in [["/dev/sda", "/dev/sdb"], ["/dev/sdb", "/dev/sda"]] {
                    for (record_size_bytes, depth) in [(64 * KIB, 1), (64 * KIB, 8), (1 << 20, 8)] {
                        settings.push(SweepSetting {
                            direction,
                            engine,
                            path: if depth == 1 {
                                DataPath::Buffered
                            } else {
                                DataPath::Direct
                            },
                            layout: chunk_bytes
                                .map_or(LayoutKind::Independent, |_| LayoutKind::Stripe),
                            chunk_bytes,
                            order: order.map(str::to_owned).to_vec(),
                            record_size_bytes,
                            depth,
                            words: format!("{direction}, {engine}, depth {depth}"),
                        });
                    }
                }
            }
        }
    }
    let axes = [
        Axis::Direction,
        Axis::Engine,
        Axis::Path,
        Axis::Layout,
        Axis::Chunk,
        Axis::Order,
        Axis::RecordSize,
        Axis::Depth,
    ];
    of(settings, &axes)
}

/// Ended before anything was measured.
pub fn nothing() -> SweepResult {
    let mut result = sizes_and_depths();
    for point in &mut result.points {
        forget(point, None);
    }
    result.answers.clear();
    result.measurements.clear();
    result.drift.clear();
    result.ended = ExperimentEnd::Interrupted;
    result
}

fn setting() -> SweepSetting {
    SweepSetting {
        direction: Direction::Write,
        engine: EngineChoice::IoUring,
        path: DataPath::Direct,
        layout: LayoutKind::Independent,
        chunk_bytes: None,
        order: vec!["/dev/sda".to_owned()],
        record_size_bytes: 1 << 20,
        depth: 8,
        words: String::new(),
    }
}

/// 400 MB/s less what small requests, one at a time, cost; threads and chunks cost a little.
fn rate(setting: &SweepSetting) -> f64 {
    let in_flight = setting.record_size_bytes as f64 * f64::from(setting.depth);
    let slower = if setting.engine == EngineChoice::Threads {
        0.9
    } else {
        1.0
    };
    let chunk = setting
        .chunk_bytes
        .map_or(1.0, |bytes| 1.0 - 6e3 / bytes as f64);
    400e6 * slower * chunk / (1.0 + 5e4 / in_flight)
}

fn of(settings: Vec<SweepSetting>, axes: &[Axis]) -> SweepResult {
    let points: Vec<SweepPoint> = settings.into_iter().enumerate().map(point).collect();
    let mut result = SweepResult {
        schema: SWEEP_SCHEMA.to_owned(),
        plan: plan(axes),
        host: super::host(),
        answers: Vec::new(),
        left_out: Vec::new(),
        measurements: points.iter().flat_map(measurements).collect(),
        drift: Vec::new(),
        notes: vec!["a point wrote up to 2.00 GB".to_owned()],
        ended: ExperimentEnd::Done,
        system: super::system(),
        points,
    };
    for direction in [Direction::Write, Direction::Read] {
        answer(&mut result, direction);
    }
    result
}

fn point((number, setting): (usize, SweepSetting)) -> SweepPoint {
    let rate = rate(&setting);
    let latency_ns =
        (setting.record_size_bytes * u64::from(setting.depth)) as f64 / rate * 2e9 + 3e5;
    SweepPoint {
        number,
        repeats: 4,
        rate_bytes_per_s: Some(rate),
        ci95_bytes_per_s: Some([rate * 0.99, rate * 1.01]),
        spread: Some(0.008),
        against_best: None,
        cpu_seconds_per_gb: Some(0.01 + 2e4 / setting.record_size_bytes as f64),
        latency_p99_9_ns: Some(latency_ns as u64),
        latency_max_ns: Some(latency_ns as u64 * 3),
        tool_limited: false,
        cache_flush_s: None,
        engine_used: Some(setting.engine.to_string()),
        failed: None,
        setting,
    }
}

fn measurements(point: &SweepPoint) -> Vec<SweepMeasurement> {
    let one = |round: usize| SweepMeasurement {
        point: point.number,
        round,
        at_s: (round * 20 + point.number) as f64,
        rate_bytes_per_s: point.rate_bytes_per_s.unwrap() * (1.0 + round as f64 * 0.004),
        cpu_seconds_per_gb: point
            .cpu_seconds_per_gb
            .map(|cpu| cpu * (0.95 + round as f64 * 0.03)),
        latency_p99_9_ns: point.latency_p99_9_ns.unwrap() * (9 + round as u64) / 10,
    };
    (0..4).map(one).collect()
}

/// The answer of a direction that was swept.
fn answer(result: &mut SweepResult, direction: Direction) {
    let rate = |number: &usize| result.points[*number].rate_bytes_per_s.unwrap();
    let is_of = |number: &usize| result.points[*number].setting.direction == direction;
    let all: Vec<usize> = (0..result.points.len()).filter(is_of).collect();
    let by_rate = |one: &&usize, other: &&usize| rate(one).total_cmp(&rate(other));
    let Some(best) = all.iter().max_by(by_rate).copied() else {
        return;
    };
    let against = |number: usize| {
        let share = rate(&number) / rate(&best) - 1.0;
        AgainstBest {
            share,
            ci95: Some([share - 0.01, share + 0.01]),
            is_noise: share > -0.005,
            is_as_good: Some(share >= -0.02),
        }
    };
    let near = all
        .iter()
        .filter(|number| against(**number).is_as_good == Some(true));
    let cheapest = near.min_by_key(|number| result.points[**number].setting.depth);
    let axes = result.plan.axes.iter();
    let axes = axes
        .filter(|axis| **axis != Axis::Direction)
        .map(|axis| SweepAxis {
            axis: *axis,
            matters: matches!(axis, Axis::RecordSize | Axis::Depth),
            values: vec![SweepValue {
                value: "one".to_owned(),
                point: best,
                against_best: against(best),
            }],
        });
    let own = SweepAnswer {
        direction,
        best,
        alike: all
            .iter()
            .copied()
            .filter(|number| *number != best && against(*number).is_noise)
            .collect(),
        measured_once: Vec::new(),
        cheapest: *cheapest.unwrap(),
        axes: axes.collect(),
    };
    let compared: Vec<AgainstBest> = all.iter().map(|number| against(*number)).collect();
    for (number, against) in all.into_iter().zip(compared) {
        result.points[number].against_best = Some(against);
    }
    result.answers.push(own);
    result.drift.push(SweepDrift {
        direction,
        share: 0.043,
        is_noise: direction == Direction::Read,
    });
}

/// As if it had not been measured.
fn forget(point: &mut SweepPoint, failed: Option<String>) {
    *point = SweepPoint {
        number: point.number,
        setting: point.setting.clone(),
        repeats: 0,
        rate_bytes_per_s: None,
        ci95_bytes_per_s: None,
        spread: None,
        against_best: None,
        cpu_seconds_per_gb: None,
        latency_p99_9_ns: None,
        latency_max_ns: None,
        tool_limited: false,
        cache_flush_s: None,
        engine_used: None,
        failed,
    };
}

fn plan(axes: &[Axis]) -> SweepPlanUsed {
    SweepPlanUsed {
        sustain_version: "0.1.0".to_owned(),
        arguments: ["sustain", "sweep", "/dev/sda"].map(str::to_owned).to_vec(),
        started: Some("2026-05-04T10:00:00Z".to_owned()),
        targets: vec!["/dev/sda".to_owned()],
        target_names: vec!["/dev/sda".to_owned()],
        axes: axes.to_vec(),
        time_per_point_s: 1.0,
        rounds: 4,
        budget_s: None,
        elapsed_s: 81.5,
        threads: 1,
        size_bytes: Some(4 << 30),
        seed: 0,
        simulated: false,
    }
}
