//! How other programs were held back while a recording needed the disk: which control groups, how
//! far, and what became of their limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

closed_set! {
    /// What became of the limit of a control group.
    pub enum LimitEnd {
        /// None was needed.
        NotNeeded,
        /// The limit that was there before is there again.
        Restored,
        /// Someone else changed it meanwhile, and it was left to them.
        TakenOver,
        /// The control group was removed meanwhile.
        Removed,
        /// The kernel refused to set it.
        Refused,
        /// Another recorder is in it, and has as much right to the disk.
        Spared,
    }
}

/// How others were held back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldBackResult {
    /// Why nobody can be held back; null if somebody can.
    pub refused: Option<String>,
    /// The recorder's own control group. Whoever is in it with the recorder is not held back.
    pub own_group: Option<String>,
    /// Seconds for which a limit was in force.
    pub held_s: f64,
    /// What the kernel counted for all others in that time, reads and writes together, in bytes per
    /// second; null if no limit was in force. Version 2 counts what io_uring tries twice as twice.
    pub others_bytes_per_s: Option<f64>,
    /// The control groups that used the members' disks during the recording.
    pub groups: Vec<HeldGroup>,
}

/// A control group that used a disk of a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldGroup {
    /// Its path below the root of its hierarchy.
    pub name: String,
    /// Kernel name of the disk.
    pub device: String,
    /// What it read from the disk during the recording.
    pub read_bytes: u64,
    /// What it wrote to the disk during the recording.
    pub write_bytes: u64,
    /// The lowest limit of its reads; null if they were never limited.
    pub least_read_bytes_per_s: Option<u64>,
    /// The lowest limit of its writes; null if they were never limited.
    pub least_write_bytes_per_s: Option<u64>,
    /// What became of its limit.
    pub ended: LimitEnd,
    /// The kernel's answer, if it refused a limit.
    pub refused: Option<String>,
}
