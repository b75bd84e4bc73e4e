//! A result as a run leaves it, made by hand for the tests: two targets, a burst then flat, stalls,
//! a kernel message, the machine before, during and after.

// Each test program uses only what it needs of it, and may fail by panicking.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod diagnosis;
pub mod effect;
pub mod profile;
pub mod recording;
pub mod sweep;

use serde_json::{Value, json};
use sustain_document::host::Host;
use sustain_document::measure::{
    BufferPoint, Burst, Interval, Latency, LatencyBin, MEASURE_SCHEMA, MeasureResult, Plan,
    Recommendation, Stall, Sustained, TargetError, TargetResult, Total,
};
use sustain_document::system::{
    CpuShares, DeviceSample, KernelMessage, MemorySample, Sample, System,
};
use sustain_document::verdicts::MeasureVerdicts;
use sustain_document::vocabulary::{
    DataKind, DataPath, Direction, Ending, EngineChoice, LayoutKind, Operation, TargetKind,
};

const SECONDS: u32 = 40;
const BURST_S: u32 = 6;
const NAMES: [&str; 2] = ["/dev/nvme0n1", "/dev/sdb"];

/// Two disks written for 40 s.
pub fn two_targets() -> MeasureResult {
    let targets = vec![target(0), target(1)];
    let intervals = sum(&targets[0].intervals, &targets[1].intervals);
    let bytes = targets.iter().map(|target| target.bytes).sum();
    let rate = bytes as f64 / f64::from(SECONDS);
    MeasureResult {
        schema: MEASURE_SCHEMA.to_owned(),
        plan: plan(),
        host: host(),
        total: Total {
            bytes,
            seconds: f64::from(SECONDS),
            all_active_bytes_per_s: Some(rate),
            sum_bytes_per_s: rate,
            wall_clock_bytes_per_s: rate,
            sustained: sustained(2.0e9, 6.0),
            burst: Some(Burst {
                bytes: 20_100_000_000,
                rate_bytes_per_s: 3.35e9,
            }),
            intervals,
            cpu_seconds_per_gb: Some(0.021),
            worst_stall_ns: 41_200_000,
            worst_stall_at_s: 12.3,
            longest_flush_ns: None,
            tool_limited: false,
            rate_held: None,
            rate_undecided: None,
            backlog_max_bytes: None,
        },
        buffer_curve: buffer_curve(),
        recommendation: Some(Recommendation {
            rate_bytes_per_s: 1.98e9,
            buffer_bytes: 161_000_000,
            confirmed: Some(true),
            held_seconds: Some(10.0),
            backlog_max_bytes: Some(140_000_000),
            attempts: Vec::new(),
            worst_10_s_bytes_per_s: Some(1.97e9),
        }),
        later_failures: Vec::new(),
        stalls: stalls(),
        stalls_seen: None,
        dips: Vec::new(),
        system: system(),
        rewritten: None,
        read_back: None,
        effect: None,
        verdicts: Some(MeasureVerdicts::default()),
        interrupted: false,
        notes: vec!["the scratch file was written once before use".to_owned()],
        targets,
    }
}

/// One disk, never wrapped, no burst.
pub fn one_target() -> MeasureResult {
    let mut result = two_targets();
    result.targets.truncate(1);
    result.plan.targets.truncate(1);
    let target = &mut result.targets[0];
    target.burst = None;
    target.laps = 1;
    target.distinct_bytes = target.bytes;
    result.total.bytes = target.bytes;
    result.total.sustained = target.sustained.clone();
    result.total.intervals = target.intervals.clone();
    result.total.burst = None;
    result.stalls.retain(|stall| stall.target == NAMES[0]);
    result
}

/// An error as a disk gives it.
pub fn error() -> TargetError {
    TargetError {
        at_s: 12.5,
        operation: Operation::Write,
        offset_bytes: 3_200_000_000,
        message: "I/O error: the disk refused it, see the kernel log and its cables".to_owned(),
        errno: Some(5),
    }
}

fn plan() -> Plan {
    let words = [
        "measure",
        "/dev/nvme0n1",
        "/dev/sdb",
        "--write",
        "--destroy",
        "/dev/nvme0n1",
    ];
    Plan {
        sustain_version: "0.1.0".to_owned(),
        arguments: words.map(str::to_owned).to_vec(),
        started: Some("2026-11-21T09:40:00Z".to_owned()),
        targets: NAMES.map(str::to_owned).to_vec(),
        direction: Direction::Write,
        engine: EngineChoice::Auto,
        engine_used: "io_uring".to_owned(),
        engine_why: "registered buffers and files".to_owned(),
        threads: 1,
        record_size_bytes: 1 << 20,
        depth: 8,
        path: DataPath::Direct,
        layout: LayoutKind::Independent,
        order: None,
        chunk_bytes: None,
        time_s: Some(f64::from(SECONDS)),
        bytes: None,
        until_steady: false,
        size_bytes: Some(4 << 30),
        rate_bytes_per_s: None,
        buffer_bytes: 512 << 20,
        interval_s: Some(0.5),
        interval_bytes: None,
        at: None,
        profile: None,
        data: DataKind::Fresh,
        seed: 1,
        simulated: false,
    }
}

fn target(index: usize) -> TargetResult {
    let flat = [1.75e9, 0.25e9][index];
    let peak = [3.0e9, 0.35e9][index];
    let intervals = intervals(flat, peak, index as u32);
    let bytes: u64 = intervals.iter().map(|interval| interval.bytes).sum();
    TargetResult {
        name: NAMES[index].to_owned(),
        kind: TargetKind::BlockDevice,
        capacity_bytes: Some([1_000_204_886_016, 500_107_862_016][index]),
        bytes,
        seconds: f64::from(SECONDS),
        rate_bytes_per_s: bytes as f64 / f64::from(SECONDS),
        laps: bytes / (4 << 30) + 1,
        distinct_bytes: 4 << 30,
        flush_seconds: None,
        worst_stall_ns: Some([41_200_000, 40_100_000][index]),
        depth_reached: 8,
        extents: None,
        sustained: sustained(flat, 6.0),
        burst: Some(Burst {
            bytes: (peak * f64::from(BURST_S)) as u64,
            rate_bytes_per_s: peak,
        }),
        latency_ns: Latency {
            p50: 4_100_000,
            p90: 5_300_000,
            p99: 9_200_000,
            p99_9: 22_000_000,
            max: 41_900_000,
            max_at_s: 12.341,
            max_at_offset_bytes: 3_100_000_256,
        },
        latency_histogram: histogram([2.2e6, 17.0e6][index]),
        intervals,
        errors: Vec::new(),
        ended: Ending::Time,
    }
}

fn sustained(rate: f64, from_s: f64) -> Sustained {
    Sustained {
        reached: true,
        rate_bytes_per_s: rate,
        ci95_bytes_per_s: [rate * 0.99, rate * 1.01],
        from_s,
        to_s: Some(f64::from(SECONDS)),
        why: "range 6 % of the mean, rise 1 %".to_owned(),
    }
}

/// Half seconds, with a ripple that repeats, so that a line is no ruler's.
fn intervals(flat: f64, peak: f64, salt: u32) -> Vec<Interval> {
    let mut all = 0;
    let interval = |half: u32| {
        let ripple = f64::from((half * 7 + salt * 3) % 11) / 11.0 - 0.5;
        let rate = if half < BURST_S * 2 { peak } else { flat } * (1.0 + 0.08 * ripple);
        let bytes = (rate / 2.0) as u64;
        all += bytes;
        let end_s = f64::from(half + 1) / 2.0;
        Interval {
            start_s: f64::from(half) / 2.0,
            end_s,
            bytes,
            rate_bytes_per_s: rate,
            average_bytes_per_s: all as f64 / end_s,
            latency_max_ns: 5_000_000 + u64::from((half * 5 + salt) % 13) * 900_000,
            rate_range_bytes_per_s: None,
        }
    };
    (0..SECONDS * 2).map(interval).collect()
}

fn sum(first: &[Interval], second: &[Interval]) -> Vec<Interval> {
    let both = first.iter().zip(second);
    both.map(|(a, b)| Interval {
        bytes: a.bytes + b.bytes,
        rate_bytes_per_s: a.rate_bytes_per_s + b.rate_bytes_per_s,
        average_bytes_per_s: a.average_bytes_per_s + b.average_bytes_per_s,
        latency_max_ns: a.latency_max_ns.max(b.latency_max_ns),
        ..a.clone()
    })
    .collect()
}

fn histogram(middle_ns: f64) -> Vec<LatencyBin> {
    let bin = |step: i32| {
        let from = middle_ns * 1.05_f64.powi(step - 40);
        let height = (-f64::from(step - 40).powi(2) / 180.0).exp() * 3000.0;
        let tail = if step > 90 && step % 7 == 0 { 2.0 } else { 0.0 };
        LatencyBin {
            from_ns: from as u64,
            to_ns: (from * 1.05) as u64,
            count: (height + tail) as u64,
        }
    };
    (0..110).map(bin).filter(|bin| bin.count > 0).collect()
}

fn buffer_curve() -> Vec<BufferPoint> {
    let point = |step: i32| {
        let rate = 2.4e9 * 1.09_f64.powi(step - 63);
        let above = (rate - 1.985e9).max(0.0);
        BufferPoint {
            rate_bytes_per_s: rate,
            buffer_bytes: (1_048_576.0 + rate * 0.08 + above * 40.0) as u64,
        }
    };
    (0..64).map(point).collect()
}

fn stalls() -> Vec<Stall> {
    let stall = |target: usize, start_s, duration_ns, shared: bool| Stall {
        target: NAMES[target].to_owned(),
        start_s,
        duration_ns,
        offset_bytes: 3_100_000_256,
        shared_with: if shared {
            vec![NAMES[1 - target].to_owned()]
        } else {
            Vec::new()
        },
        is_common_cause: shared,
    };
    vec![
        stall(0, 12.3, 41_200_000, true),
        stall(1, 12.3, 40_100_000, true),
        stall(1, 25.7, 33_000_000, false),
        stall(0, 31.2, 21_500_000, false),
    ]
}

/// Through JSON: a device keeps to itself where sysfs has it.
fn host() -> Host {
    let node = |name: &str, minor: u32, size_bytes: u64| {
        json!({"name": name, "major": 259, "minor": minor, "size_bytes": size_bytes,
            "read_only": false, "holders": []})
    };
    let device = |node: Value, model: &str, rotational: bool| {
        json!({"node": node, "whole_disk": null, "partitions": [], "slaves": [],
            "mapper_name": null, "loop_backing_file": null, "logical_block_size_bytes": 512,
            "physical_block_size_bytes": 4096, "rotational": rotational, "scheduler": "none",
            "write_cache": "write back", "max_request_bytes": 1_048_576, "model": model,
            "serial": "S4EWNX0R", "numa_node": null})
    };
    let value = json!({
        "description": {"kernel": "6.12.48-amd64", "architecture": "x86_64",
            "cpu_model": "AMD EPYC 7313", "cpu_count": 32, "cpu_frequency_governor": "schedutil",
            "virtual_machine": false, "memory_bytes": 67_345_813_504_u64, "page_size_bytes": 4096},
        "devices": [
            device(node("nvme0n1", 0, 1_000_204_886_016), "Example 990 1TB", false),
            device(node("sdb", 1, 500_107_862_016), "Example Barracuda", true),
        ],
        "file_systems": [{"target": "data.bin", "file_system": {"kind": "ext4",
            "mount_point": "/data", "source": "/dev/sdb1", "options": ["rw", "noatime"],
            "devices": ["sdb1"]}}],
    });
    serde_json::from_value(value).unwrap()
}

fn system() -> System {
    System {
        samples: (-3..SECONDS as i32 + 4).map(sample).collect(),
        kernel_messages: vec![KernelMessage {
            at_s: 12.31,
            level: 4,
            text: "nvme nvme0: I/O 215 QID 3 timeout, completion polled".to_owned(),
        }],
        kernel_log_unreadable: None,
        others: Vec::new(),
        others_can_be_told: true,
    }
}

fn sample(second: i32) -> Sample {
    let busy = (0..SECONDS as i32).contains(&second);
    let ripple = f64::from((second * 5).rem_euclid(7));
    let (user, system, iowait) = if busy {
        (3.0, 9.0 + ripple, 22.0)
    } else {
        (1.0, 1.0, 0.0)
    };
    Sample {
        time_s: f64::from(second),
        cpu: Some(CpuShares {
            user_percent: user,
            system_percent: system,
            iowait_percent: iowait,
            idle_percent: 100.0 - user - system - iowait,
            irq_percent: 0.0,
            steal_percent: 0.0,
        }),
        process_user_cpu_s: 0.01,
        process_system_cpu_s: 0.05,
        process_read_bytes: Some(0),
        process_written_bytes: Some(0),
        throttled_s: Some(0.0),
        threads: Vec::new(),
        memory: MemorySample {
            dirty_bytes: if busy {
                9_000_000 + ripple as u64 * 4_000_000
            } else {
                60_000
            },
            writeback_bytes: if busy { ripple as u64 * 2_000_000 } else { 0 },
            cached_bytes: 8_400_000_000,
            available_bytes: 40_000_000_000,
        },
        devices: vec![DeviceSample {
            name: "nvme0n1".to_owned(),
            read_bytes: 0,
            written_bytes: if busy { 1_750_000_000 } else { 0 },
            ios_in_flight: if busy { 8 } else { 0 },
            busy_ms: if busy { 1000 } else { 0 },
            flushes: Some(0),
            flush_ms: Some(0),
            temperature_celsius: Some(41.0 + ripple),
        }],
    }
}

/// The page without its chart script, which names elements and pseudo-tags of its own.
pub fn own_markup(page: &str) -> String {
    let start = page
        .rfind("<script>")
        .expect("the page carries its chart script");
    let end = start + page[start..].find("</script>").unwrap();
    format!("{}{}", &page[..start], &page[end..])
}

/// The words of a page as a reader sees them, a line for each block or row that has some: for
/// snapshots that are reviewed whole. Words under the pointer and drawings are not among them.
pub fn words_of(page: &str) -> String {
    let words = words_within(&page[page.find("<body").expect("a page has a body")..]);
    // The snapshots stay when the version changes.
    let made_by = format!("Made by sustain {}", env!("CARGO_PKG_VERSION"));
    words.replace(&made_by, "Made by sustain")
}

/// The words of a part of a page, in the same form.
pub fn words_within(markup: &str) -> String {
    const WITHIN_A_LINE: [&str; 6] = ["td", "th", "b", "span", "i", "code"];
    let mut words = String::new();
    let (mut is_quiet, mut is_new_line) = (false, true);
    for part in markup.split('<').skip(1) {
        // A script may compare without an end.
        let Some((tag, text)) = part.split_once('>') else {
            continue;
        };
        let name = tag.split(' ').next().unwrap_or_default();
        match name {
            "script" | "style" | "svg" => is_quiet = true,
            "/script" | "/style" | "/svg" => is_quiet = false,
            _ => {}
        }
        is_new_line |= !WITHIN_A_LINE.contains(&name.trim_start_matches('/'));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !is_quiet && !text.is_empty() {
            words.push_str(if is_new_line { "\n" } else { " | " });
            words.push_str(&text);
            is_new_line = false;
        }
    }
    words.replace('\u{a0}', " ")
}

/// The headings of a page in their order, indented by their level.
pub fn headings_of(page: &str) -> String {
    let headings = page.split("<h").skip(1).filter_map(|part| {
        let level: usize = part.get(..1)?.parse().ok()?;
        let (heading, _) = part.split_once("</h")?;
        Some("  ".repeat(level - 1) + words_within(&format!("<h{heading}")).trim())
    });
    headings.collect::<Vec<_>>().join("\n")
}

/// Fails if anything in this markup would be fetched from somewhere.
#[track_caller]
pub fn assert_loads_nothing(own: &str) {
    let lower = own.to_lowercase();
    // One watches for errors, one serves the charts.
    assert_eq!(lower.matches("</script>").count(), 2);
    for loading in [
        "src=", "href=", "url(", "@import", "http://", "https://", "<link",
    ] {
        assert!(!own.contains(loading), "{loading} in the page");
    }
    assert!(own.contains("default-src 'none'"));
}

/// Fails if an element was opened that is none of the page's.
#[track_caller]
pub fn assert_only_own_elements(own: &str) {
    assert!(!own.contains("<script>window.stolen") && !own.contains("<img"));
    // Every element that the page opens is one of its own.
    let known = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "script",
        "main",
        "section",
        "h1",
        "h2",
        "h3",
        "p",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "figure",
        "figcaption",
        "ul",
        "li",
        "pre",
        "footer",
        "caption",
        "span",
        "b",
        "i",
        "ol",
        "details",
        "summary",
        "svg",
        "rect",
        "polyline",
        "path",
        "text",
    ];
    for opened in own.split('<').skip(1) {
        let name: String = opened
            .chars()
            .take_while(|c| c.is_alphanumeric() || "!/".contains(*c))
            .collect();
        assert!(
            known.contains(&name.trim_start_matches('/')),
            "<{name} in the page"
        );
    }
}
