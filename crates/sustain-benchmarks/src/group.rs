//! The groups of comparisons by name, one for each table of docs/benchmarks.md.

use clap::ValueEnum;

/// A group of comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Rates of large records on the disk.
    Disk,
    /// Rates on a device throttled to 1 GB/s.
    Throttled,
    /// CPU time per GB.
    Cpu,
    /// Small requests per second of CPU time.
    Small,
    /// 64 targets at once.
    Many,
    /// A slow target beside fast ones.
    Isolation,
    /// What metering and the seam cost.
    NullEngine,
    /// What a sweep takes besides measuring.
    Sweep,
    /// Recording from a pipe, beside what others do with it.
    RecordStdin,
    /// How soon recording begins, and how fast its first seconds are.
    RecordStart,
    /// Recording through the library, in lent buffers.
    RecordLibrary,
    /// Recording on four members, one of them slow.
    RecordThrottled,
    /// The memory that recording takes.
    RecordMemory,
    /// Recording beside programs that use every CPU.
    Share,
    /// Giving back, checking and opening what was recorded.
    Extract,
    /// Recording with parity, a member's death, and reading and rebuilding without it.
    RecordParity,
    /// Computing parity, beside what others do it with.
    Parity,
}

impl Group {
    pub(crate) const ALL: [Group; 17] = [
        Group::Disk,
        Group::Throttled,
        Group::Cpu,
        Group::Small,
        Group::Many,
        Group::Isolation,
        Group::NullEngine,
        Group::Sweep,
        Group::RecordStdin,
        Group::RecordStart,
        Group::RecordLibrary,
        Group::RecordThrottled,
        Group::RecordMemory,
        Group::Share,
        Group::Extract,
        Group::RecordParity,
        Group::Parity,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Disk => "disk",
            Group::Throttled => "throttled",
            Group::Cpu => "cpu",
            Group::Small => "small",
            Group::Many => "many",
            Group::Isolation => "isolation",
            Group::NullEngine => "null-engine",
            Group::Sweep => "sweep",
            Group::RecordStdin => "record-stdin",
            Group::RecordStart => "record-start",
            Group::RecordLibrary => "record-library",
            Group::RecordThrottled => "record-throttled",
            Group::RecordMemory => "record-memory",
            Group::Share => "share",
            Group::Extract => "extract",
            Group::RecordParity => "record-parity",
            Group::Parity => "parity",
        }
    }
}
