//! What the monitor saw of the machine during a run: processors, memory, the disks' own counters,
//! the kernel log, and the I/O of other programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the monitor saw of the machine during the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// About one a second; negative times are before the run.
    pub samples: Vec<Sample>,
    /// Kernel log lines about the targets.
    pub kernel_messages: Vec<KernelMessage>,
    /// The reason why the kernel log could not be read, if it could not.
    pub kernel_log_unreadable: Option<String>,
    /// Stretches in which other programs used the same disks, in order of time; empty if none did,
    /// or if that cannot be known.
    #[serde(default)]
    pub others: Vec<Others>,
    /// Whether foreign I/O can be detected at all, on one of the disks at least; false for
    /// simulated ones.
    #[serde(default)]
    pub others_can_be_told: bool,
}

/// A line of the kernel log, placed on the run's time axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelMessage {
    /// When it was logged.
    pub at_s: f64,
    /// syslog level, 0 (emergency) to 7 (debug).
    pub level: u8,
    /// The line.
    pub text: String,
}

/// A stretch of time in which other programs read or wrote the disks that were driven.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// Kernel name of the disk, or of the volume or loop device, whose counters showed it; for
    /// several parts of an array, their names separated by commas.
    pub device: String,
    /// Start, on the run's time axis.
    pub from_s: f64,
    /// End, on the run's time axis.
    pub to_s: f64,
    /// Bytes that other programs read.
    pub read_bytes: u64,
    /// Bytes that other programs wrote.
    pub written_bytes: u64,
    /// Both, over that time.
    pub rate_bytes_per_s: f64,
    /// The rate of this process in that time. On a disk beneath a volume or a loop device that is
    /// all that came through that.
    pub own_rate_bytes_per_s: f64,
    /// Whether it lies beneath a device whose counters were looked at, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_beneath: bool,
}

/// What the whole machine's processors did since the last sample; the shares add up to 100.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuShares {
    /// In programs, niced ones included.
    pub user_percent: f64,
    /// In the kernel.
    pub system_percent: f64,
    /// Idle while a thread waited for a disk.
    pub iowait_percent: f64,
    /// Idle.
    pub idle_percent: f64,
    /// Serving interrupts, hard and soft.
    pub irq_percent: f64,
    /// Taken by the hypervisor for others.
    pub steal_percent: f64,
}

/// Memory at the moment of the sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySample {
    /// Written by programs and waiting to go to a disk.
    pub dirty_bytes: u64,
    /// On the way to a disk.
    pub writeback_bytes: u64,
    /// In the page cache.
    pub cached_bytes: u64,
    /// Memory that programs could still have without swapping.
    pub available_bytes: u64,
}

/// One thread of this process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSample {
    /// The thread's name, of which the kernel keeps 15 bytes.
    pub name: String,
    /// Processor time in user and kernel mode since the last sample.
    pub cpu_s: f64,
}

/// The kernel's counters of one block device, since the last sample where not stated otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceSample {
    /// Kernel name.
    pub name: String,
    /// Bytes read, by anyone.
    pub read_bytes: u64,
    /// Bytes written, by anyone.
    pub written_bytes: u64,
    /// Requests given to the device and not yet finished, at the moment of the sample.
    pub ios_in_flight: u64,
    /// Time with at least one request under way.
    pub busy_ms: u64,
    /// Flushes of the device's cache that were done, for anyone; `None` if the kernel does not
    /// count them.
    #[serde(default)]
    pub flushes: Option<u64>,
    /// The time that these took, added up.
    #[serde(default)]
    pub flush_ms: Option<u64>,
    /// Temperature, where sysfs has it; asked at most every 10 s.
    pub temperature_celsius: Option<f64>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The caller's time.
    pub time_s: f64,
    /// `None` when no clock tick passed since the last sample.
    pub cpu: Option<CpuShares>,
    /// Processor time of this process in user mode since the last sample, in seconds.
    pub process_user_cpu_s: f64,
    /// Processor time of this process in the kernel since the last sample, in seconds.
    pub process_system_cpu_s: f64,
    /// Bytes that this process read from storage since the last sample, on all devices together;
    /// `None` if the kernel does not count them. Passthrough is not counted.
    #[serde(default)]
    pub process_read_bytes: Option<u64>,
    /// Bytes that it wrote, in the same way; buffered data is counted when it is put into the page
    /// cache, not when it is written back.
    #[serde(default)]
    pub process_written_bytes: Option<u64>,
    /// Time since the last sample for which the kernel held the control groups of this process back
    /// from the processors, because of a quota; `None` if they can have none.
    #[serde(default)]
    pub throttled_s: Option<f64>,
    /// The threads of this process that now live; empty unless asked for.
    pub threads: Vec<ThreadSample>,
    /// Memory.
    pub memory: MemorySample,
    /// The requested devices, as far as the kernel still knows them.
    pub devices: Vec<DeviceSample>,
}

/// Counters of the whole machine; those of packets are for this network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelCounters {
    /// Pages that programs looked at because they had to free memory before they got any
    /// (`pgscan_direct` of /proc/vmstat).
    pub direct_scanned_pages: Option<u64>,
    /// Pages that they freed that way (`pgsteal_direct`).
    pub direct_reclaimed_pages: Option<u64>,
    /// How often a program had to do so (`allocstall`, all zones).
    pub allocation_stalls: Option<u64>,
    /// Pages that the kernel's own thread looked at (`pgscan_kswapd`).
    pub background_scanned_pages: Option<u64>,
    /// How often a program had to wait for memory to be moved together (`compact_stall`).
    pub compaction_stalls: Option<u64>,
    /// Packets dropped before any protocol saw them, for a queue was full
    /// (/proc/net/softnet_stat, all processors).
    pub softnet_dropped_packets: Option<u64>,
    /// How often receiving ended with packets left over for the next turn (`time_squeeze`).
    pub softnet_time_squeezes: Option<u64>,
    /// Datagrams dropped because their receiver's buffer was full (`RcvbufErrors`).
    pub udp_receive_buffer_errors: Option<u64>,
    /// Time in which some task waited for a processor (/proc/pressure/cpu), in microseconds.
    pub cpu_some_waited_us: Option<u64>,
    /// Time in which some task waited for memory.
    pub memory_some_waited_us: Option<u64>,
    /// Time in which all tasks that had work waited for memory.
    pub memory_all_waited_us: Option<u64>,
    /// Time in which some task waited for a disk.
    pub io_some_waited_us: Option<u64>,
    /// Time in which all tasks that had work waited for a disk.
    pub io_all_waited_us: Option<u64>,
}

impl KernelCounters {
    /// The counts since `before`; a counter that is missing in one of the two stays `None`.
    #[must_use]
    pub fn since(&self, before: &KernelCounters) -> KernelCounters {
        let of = |counter: fn(&KernelCounters) -> Option<u64>| {
            Some(counter(self)?.saturating_sub(counter(before)?))
        };
        KernelCounters {
            direct_scanned_pages: of(|all| all.direct_scanned_pages),
            direct_reclaimed_pages: of(|all| all.direct_reclaimed_pages),
            allocation_stalls: of(|all| all.allocation_stalls),
            background_scanned_pages: of(|all| all.background_scanned_pages),
            compaction_stalls: of(|all| all.compaction_stalls),
            softnet_dropped_packets: of(|all| all.softnet_dropped_packets),
            softnet_time_squeezes: of(|all| all.softnet_time_squeezes),
            udp_receive_buffer_errors: of(|all| all.udp_receive_buffer_errors),
            cpu_some_waited_us: of(|all| all.cpu_some_waited_us),
            memory_some_waited_us: of(|all| all.memory_some_waited_us),
            memory_all_waited_us: of(|all| all.memory_all_waited_us),
            io_some_waited_us: of(|all| all.io_some_waited_us),
            io_all_waited_us: of(|all| all.io_all_waited_us),
        }
    }
}
