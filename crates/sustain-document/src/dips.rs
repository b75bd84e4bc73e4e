//! Stretches of a run in which all targets together were much slower than usual, and what the
//! samples of the machine show at the same time. The measurement finds them; the terminal and the
//! report show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stretch of low rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dip {
    /// Start, on the run's time axis.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
    /// The rate of all targets in it.
    pub rate_bytes_per_s: f64,
    /// The median rate of all seconds of the run.
    pub usual_bytes_per_s: f64,
    /// What went on at the same time, so that it may be the cause; empty if the samples show
    /// nothing.
    pub causes: Vec<DipCause>,
}

/// What may have caused a dip, because it went on at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum DipCause {
    /// The kernel logged a message about a target.
    KernelMessage {
        /// The message.
        text: String,
    },
    /// Other programs used the same disk.
    Others {
        /// The disk.
        device: String,
        /// Their rate.
        rate_bytes_per_s: f64,
    },
    /// The processors had hardly any time left.
    CpuBusy {
        /// How much of their time they worked.
        busy_percent: f64,
    },
    /// The hypervisor gave processor time to others.
    CpuStolen {
        /// How much of it.
        stolen_percent: f64,
    },
    /// The kernel held the control group of this program back from the processors, because of a
    /// quota.
    CpuThrottled {
        /// For how long, added up over processors.
        throttled_s: f64,
    },
    /// A device flushed its cache.
    Flushes {
        /// The device.
        device: String,
        /// How often.
        flushes: u64,
        /// The time that this took, added up.
        flush_s: f64,
    },
    /// A device was as hot as where many slow themselves down.
    Hot {
        /// The device.
        device: String,
        /// Its temperature.
        celsius: f64,
    },
    /// The page cache was being written back.
    Writeback {
        /// The most that was on its way to a disk at once.
        bytes: u64,
    },
}
