//! The effect of a load as a run leaves it, made by hand for the tests: by both paths, the buffered
//! one with a memory that fills.

use sustain_document::effect::{
    Datagrams, EffectResult, Load, MemoryCopy, MemoryMoment, MemoryShare, PathEffect,
    ProbeInterval, ProbePlace, Ratios, Stretch, Stretches, Timer, Writes,
};
use sustain_document::system::KernelCounters;

/// Both paths.
pub fn effect() -> EffectResult {
    EffectResult {
        idle_s: 5.0,
        writes_on: Some(ProbePlace {
            directory: "/home".into(),
            file_system: Some("ext4".to_owned()),
            is_file_system_of_target: false,
            is_on_disk_of_target: Some(true),
            is_in_memory: false,
        }),
        memory_copy: Some(MemoryCopy {
            one_thread_bytes_per_s: 9e9,
            all_threads_bytes_per_s: 21e9,
            threads: 8,
            buffer_bytes: 256 << 20,
            cache_bytes: Some(64 << 20),
        }),
        paths: vec![path("direct", 1), path("buffered", 20)],
        unmeasured: vec!["datagrams: the loopback interface cannot be used".to_owned()],
    }
}

/// Something before, as many times as bad during, and after.
fn stretches<T>(worse: u64, of: impl Fn(u64) -> T) -> Stretches<T> {
    Stretches {
        before: Some(of(1)),
        during: Some(of(worse)),
        after: Some(of(1)),
    }
}

/// A victim's picture: thirty seconds in quarters, worse while it ran.
fn over_time(worse: u64) -> Vec<ProbeInterval> {
    let step = |quarter: u32| ProbeInterval {
        start_s: f64::from(quarter) / 4.0 - 5.0,
        end_s: f64::from(quarter) / 4.0 - 4.75,
        count: 25,
        max_ns: if (20..100).contains(&quarter) {
            800_000 * worse
        } else {
            800_000
        },
    };
    (0..120).map(step).collect()
}

fn path(name: &str, worse: u64) -> PathEffect {
    let at = |start_s, end_s| Some(Stretch { start_s, end_s });
    PathEffect {
        path: name.to_owned(),
        load: Load {
            bytes: 40_000_000_000,
            seconds: 20.0,
            rate_bytes_per_s: 2e9,
            cpu_seconds_per_gb: Some(0.021),
            errors: 0,
        },
        stretches: Stretches {
            before: at(-5.1, -0.1),
            during: at(-0.1, 20.0),
            after: at(20.0, 25.0),
        },
        writes: Some(stretches(worse, |times| Writes {
            count: 500,
            writes_per_s: 99.6,
            latency_p50_ns: Some(400_000 * times),
            latency_p99_ns: Some(900_000 * times),
            latency_max_ns: Some(5_000_000 * times),
        })),
        timer: Some(stretches(worse, |times| Timer {
            wakeups: 5000,
            wakeups_per_s: 999.0,
            late_p50_ns: Some(60_000 * times),
            late_p99_ns: Some(90_000 * times),
            late_max_ns: Some(200_000 * times),
        })),
        datagrams: Some(stretches(worse, |times| Datagrams {
            sent: 25_000,
            sent_per_s: 5000.0,
            received: 25_001 - times,
            lost: times - 1,
            refused: 0,
        })),
        kernel: stretches(worse, |times| KernelCounters {
            allocation_stalls: Some(times - 1),
            softnet_dropped_packets: Some(0),
            io_some_waited_us: Some(10_000 * times),
            ..KernelCounters::default()
        }),
        dirty_max_bytes: stretches(worse, |times| (100 << 20) * times),
        ratios: Ratios::default(),
        victims_cpu_s: stretches(1, |_| 0.4),
        memory_share: Some(MemoryShare {
            copies_per_byte: 0.5,
            needed_bytes_per_s: 1e9,
            share: 0.047,
            may_be_the_wall: false,
            model: "each byte passes memory once".to_owned(),
        }),
        writes_over_time: over_time(worse),
        timer_over_time: over_time(worse),
        memory_over_time: (0..30)
            .map(|second| MemoryMoment {
                time_s: f64::from(second) - 5.0,
                dirty_bytes: (100 << 20) * worse,
                available_bytes: 8 << 30,
            })
            .collect(),
        verdict: match worse {
            1 => "writes on /home took no longer while this load ran".to_owned(),
            _ => format!("writes on /home took {worse} times as long while this load ran"),
        },
    }
}
