//! Saved runs made from series with a known truth, for the tests of this module.

use sustain_document::host::Host;
use sustain_document::measure::{
    Interval, Latency, MEASURE_SCHEMA, MeasureResult, Plan, Sustained, TargetResult, Total,
};
use sustain_document::system::System;
use sustain_document::vocabulary::{
    DataKind, DataPath, Direction, Ending, EngineChoice, LayoutKind, TargetKind,
};
use sustain_statistics::judge::series::SeriesNoise;
use sustain_statistics::judge::{Revisits, Step, steady};

use crate::steady_words::steady_words;

/// A minute and more of a rate with a first-order autoregression on it, of 2 %.
pub(super) fn noisy(noise: &mut SeriesNoise, seconds: u32, rate: f64, memory: f64) -> Vec<Step> {
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

/// A run of one disk or more, as `measure` would have saved it.
pub(crate) fn run(disks: &[(&str, Vec<Step>)]) -> MeasureResult {
    let targets: Vec<TargetResult> = disks
        .iter()
        .map(|(name, steps)| target(name, steps))
        .collect();
    let mut sum = disks[0].1.clone();
    for (_, steps) in &disks[1..] {
        for (all, step) in sum.iter_mut().zip(steps) {
            all.bytes += step.bytes;
        }
    }
    let bytes: u64 = sum.iter().map(|step| step.bytes).sum();
    let seconds = sum.last().map_or(0.0, |step| step.end_s);
    let rate = bytes as f64 / seconds;
    MeasureResult {
        schema: MEASURE_SCHEMA.to_owned(),
        plan: plan(disks.iter().map(|(name, _)| (*name).to_owned()).collect()),
        host: Host {
            description: None,
            devices: Vec::new(),
            file_systems: Vec::new(),
        },
        targets,
        total: Total {
            bytes,
            seconds,
            all_active_bytes_per_s: Some(rate),
            sum_bytes_per_s: rate,
            wall_clock_bytes_per_s: rate,
            sustained: sustained(&sum),
            burst: None,
            intervals: intervals(&sum),
            cpu_seconds_per_gb: Some(0.1),
            worst_stall_ns: 0,
            worst_stall_at_s: 0.0,
            longest_flush_ns: None,
            tool_limited: false,
            rate_held: None,
            rate_undecided: None,
            backlog_max_bytes: None,
        },
        buffer_curve: Vec::new(),
        recommendation: None,
        later_failures: Vec::new(),
        stalls: Vec::new(),
        stalls_seen: None,
        dips: Vec::new(),
        rewritten: None,
        read_back: None,
        effect: None,
        system: System::default(),
        verdicts: None,
        interrupted: false,
        notes: Vec::new(),
    }
}

fn plan(targets: Vec<String>) -> Plan {
    Plan {
        sustain_version: "0.1.0".to_owned(),
        arguments: Vec::new(),
        started: None,
        targets,
        direction: Direction::Write,
        engine: EngineChoice::Auto,
        engine_used: "io_uring".to_owned(),
        engine_why: String::new(),
        threads: 1,
        record_size_bytes: 1 << 20,
        depth: 8,
        path: DataPath::Direct,
        layout: LayoutKind::Independent,
        order: None,
        chunk_bytes: None,
        time_s: None,
        bytes: None,
        until_steady: false,
        size_bytes: None,
        rate_bytes_per_s: None,
        buffer_bytes: 512 << 20,
        interval_s: Some(1.0),
        interval_bytes: None,
        at: None,
        profile: None,
        data: DataKind::Fresh,
        seed: 0,
        simulated: false,
    }
}

fn sustained(steps: &[Step]) -> Sustained {
    let judged = steady::judge(steps, Revisits::default());
    Sustained {
        reached: judged.reached,
        rate_bytes_per_s: judged.rate_bytes_per_s,
        ci95_bytes_per_s: judged.ci95_bytes_per_s,
        from_s: judged.from_s,
        to_s: None,
        why: steady_words(&judged.reason),
    }
}

fn intervals(steps: &[Step]) -> Vec<Interval> {
    steps
        .iter()
        .map(|step| Interval {
            start_s: step.start_s,
            end_s: step.end_s,
            bytes: step.bytes,
            rate_bytes_per_s: step.bytes as f64,
            average_bytes_per_s: step.bytes as f64,
            latency_max_ns: 4_000_000_000_000_000 / step.bytes.max(1),
            rate_range_bytes_per_s: None,
        })
        .collect()
}

fn target(name: &str, steps: &[Step]) -> TargetResult {
    let bytes: u64 = steps.iter().map(|step| step.bytes).sum();
    let seconds = steps.last().map_or(0.0, |step| step.end_s);
    TargetResult {
        name: name.to_owned(),
        kind: TargetKind::BlockDevice,
        capacity_bytes: Some(1 << 40),
        bytes,
        seconds,
        rate_bytes_per_s: bytes as f64 / seconds,
        laps: 1,
        distinct_bytes: bytes,
        worst_stall_ns: Some(0),
        flush_seconds: None,
        depth_reached: 8,
        extents: None,
        sustained: sustained(steps),
        burst: None,
        latency_ns: Latency {
            p50: 20_000_000,
            p90: 21_000_000,
            p99: 22_000_000,
            p99_9: 25_000_000,
            max: 40_000_000,
            ..Latency::default()
        },
        latency_histogram: Vec::new(),
        intervals: intervals(steps),
        errors: Vec::new(),
        ended: Ending::Time,
    }
}
