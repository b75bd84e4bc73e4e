//! The part of the measuring document for `--effect`: the probe workloads before, during and after
//! the load. Null stands for what could not be measured, never zero; the reason is in `unmeasured`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::system::KernelCounters;

/// What this load does to the rest of the system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectResult {
    /// How long the probe workloads were watched before and after each load.
    pub idle_s: f64,
    /// Where the probe workload wrote; null if there was no place for it.
    pub writes_on: Option<ProbePlace>,
    /// How fast this machine copies memory; null if that was not measured.
    pub memory_copy: Option<MemoryCopy>,
    /// One entry per I/O path of the load: the one asked for, then the other if asked for.
    pub paths: Vec<PathEffect>,
    /// What could not be measured, and why, in words.
    pub unmeasured: Vec<String>,
}

/// The place of the probe workload that writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbePlace {
    /// Its directory.
    pub directory: PathBuf,
    /// Kind of the file system, if known: `ext4`.
    pub file_system: Option<String>,
    /// Whether a target of the load is on the same file system.
    pub is_file_system_of_target: bool,
    /// Whether it is on a disk of the load; null if that is not known.
    pub is_on_disk_of_target: Option<bool>,
    /// Whether it is in memory, where a write waits for no disk.
    pub is_in_memory: bool,
}

/// How fast this machine copies memory: the best of several rounds, in bytes copied, each of which
/// is read once and written once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryCopy {
    /// By one thread.
    pub one_thread_bytes_per_s: f64,
    /// By a thread on each processor at once.
    pub all_threads_bytes_per_s: f64,
    /// How many these were.
    pub threads: u32,
    /// Bytes of the memory copied, over all threads; the copies take as much again.
    pub buffer_bytes: u64,
    /// The processors' last-level caches together, if known.
    pub cache_bytes: Option<u64>,
}

/// The effect of the load with one I/O path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathEffect {
    /// `direct` or `buffered`.
    pub path: String,
    /// What the load itself did.
    pub load: Load,
    /// The stretches, with times from the start of this load.
    pub stretches: Stretches<Stretch>,
    /// The probe workload that writes 4 KiB with fsync, at most 100 times a second.
    pub writes: Option<Stretches<Writes>>,
    /// The probe workload that wants to wake up every millisecond.
    pub timer: Option<Stretches<Timer>>,
    /// The probe workload that sends and receives datagrams.
    pub datagrams: Option<Stretches<Datagrams>>,
    /// What the kernel counted at the same time, on the whole machine.
    pub kernel: Stretches<KernelCounters>,
    /// The most memory that was dirty or in writeback, by samples a second apart.
    pub dirty_max_bytes: Stretches<u64>,
    /// The figures during the load over those before it.
    pub ratios: Ratios,
    /// CPU time of the probe workloads' own threads; not part of `total.cpu_seconds_per_gb`.
    pub victims_cpu_s: Stretches<f64>,
    /// The part of the memory's rate that the load needed.
    pub memory_share: Option<MemoryShare>,
    /// The writes over time.
    pub writes_over_time: Vec<ProbeInterval>,
    /// The timer over time.
    pub timer_over_time: Vec<ProbeInterval>,
    /// Memory over time.
    pub memory_over_time: Vec<MemoryMoment>,
    /// The effect in one sentence.
    pub verdict: String,
}

/// A value before, during and after a load; null if a stretch did not take place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stretches<T> {
    /// Before the load.
    pub before: Option<T>,
    /// While it ran.
    pub during: Option<T>,
    /// After the load.
    pub after: Option<T>,
}

impl<T> Default for Stretches<T> {
    fn default() -> Stretches<T> {
        Stretches {
            before: None,
            during: None,
            after: None,
        }
    }
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// Start.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
}

/// What the load did while the probe workloads were watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Bytes of all targets.
    pub bytes: u64,
    /// To the last completion, or to the end of the closing flush if buffered.
    pub seconds: f64,
    /// `bytes / seconds`.
    pub rate_bytes_per_s: f64,
    /// CPU of this process without the probe workloads, over bytes / 10^9; null without bytes.
    pub cpu_seconds_per_gb: Option<f64>,
    /// Requests that failed.
    pub errors: u64,
}

/// The writes of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Writes {
    /// How many completed.
    pub count: u64,
    /// In a second; 100 if each is done within 10 ms.
    pub writes_per_s: f64,
    /// From before the write to after its fsync: median.
    pub latency_p50_ns: Option<u64>,
    /// 99th percentile.
    pub latency_p99_ns: Option<u64>,
    /// The longest.
    pub latency_max_ns: Option<u64>,
}

/// The wake-ups of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timer {
    /// How many there were.
    pub wakeups: u64,
    /// In a second; 1000 if none is late by a millisecond.
    pub wakeups_per_s: f64,
    /// After the moment asked for: median.
    pub late_p50_ns: Option<u64>,
    /// 99th percentile.
    pub late_p99_ns: Option<u64>,
    /// The latest.
    pub late_max_ns: Option<u64>,
}

/// The datagrams of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Datagrams {
    /// Datagrams that the kernel took.
    pub sent: u64,
    /// In a second; 5,000 if the sender was on time.
    pub sent_per_s: f64,
    /// Datagrams that arrived.
    pub received: u64,
    /// Datagrams that the kernel took and that did not arrive.
    pub lost: u64,
    /// Datagrams that the kernel did not take.
    pub refused: u64,
}

/// How much worse it was during the load than before it; null if one of the two is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratios {
    /// The ratio of the median latencies of writes.
    pub writes_latency_p50: Option<f64>,
    /// The ratio of their 99th percentiles.
    pub writes_latency_p99: Option<f64>,
    /// The ratio of the writes per second.
    pub writes_per_s: Option<f64>,
    /// The ratio of the 99th percentiles of lateness.
    pub timer_late_p99: Option<f64>,
    /// The ratio of the greatest latenesses.
    pub timer_late_max: Option<f64>,
}

/// The part of what this machine's memory copies that the load's own way of the data needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryShare {
    /// Bytes copied, each read and written, that stand for the memory traffic of one byte of the
    /// load.
    pub copies_per_byte: f64,
    /// The load's rate times that.
    pub needed_bytes_per_s: f64,
    /// The load's needs as a part of the rate at which all processors copy together.
    pub share: f64,
    /// Whether that is more than half.
    pub may_be_the_wall: bool,
    /// How it was reckoned, in words.
    pub model: String,
}

/// A step of a probe workload's series over time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeInterval {
    /// Start, from that of the load.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
    /// The number of operations that ended in it.
    pub count: u64,
    /// The longest or latest of these.
    pub max_ns: u64,
}

/// Memory at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMoment {
    /// From the start of the load.
    pub time_s: f64,
    /// Dirty or on the way to a disk.
    pub dirty_bytes: u64,
    /// Memory that programs could still have without swapping.
    pub available_bytes: u64,
}
