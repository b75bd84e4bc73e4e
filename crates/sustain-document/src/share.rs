//! What a recorder takes for itself on a machine that other programs use too: its I/O priority, its
//! CPU priority, its memory. Every part may be refused, and a document says which was.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hold_back::HoldBackResult;

closed_set! {
    /// How a recorder shares the machine with other programs.
    #[derive(Default)]
    pub enum RecorderShare {
        /// It takes what comes first on the disk, on the CPU and in memory, as far as it may.
        #[default]
        First,
        /// It takes nothing: its priorities stay those with which it was started.
        Fair,
    }
}

closed_set! {
    /// A class of I/O priorities that may be taken.
    pub enum IoClass {
        /// Before all requests of other classes.
        RealTime,
        /// The class of programs that ask for nothing; the level counts within it.
        BestEffort,
    }
}

closed_set! {
    /// What an I/O priority does on the way to the disks of a member.
    pub enum PriorityEffect {
        /// Every disk beneath has an I/O scheduler that puts these requests first.
        Heeded,
        /// No disk beneath does.
        Ignored,
        /// It depends on devices in between, or differs between the disks, or they are not known.
        Unclear,
    }
}

/// What a recorder took for itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShareResult {
    /// What was asked for.
    pub asked: RecorderShare,
    /// Whether the members are simulated: nothing is taken there.
    pub is_simulated: bool,
    /// The I/O priority of the recorder's requests.
    pub io_priority: IoPriorityResult,
    /// The CPU priority of the recorder's thread, and of those that take sources in and compute
    /// checksums.
    pub cpu_priority: CpuPriorityResult,
    /// The part of the buffer that the kernel never takes back.
    pub locked_buffer: LockedBufferResult,
    /// What the I/O priority does on each member, in the order of the members.
    pub members: Vec<MemberPriority>,
    /// How others were held back; null if that was not asked for.
    #[serde(default)]
    pub hold_back: Option<HoldBackResult>,
}

/// The I/O priority that was got.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoPriorityResult {
    /// Its class; null if it was left as it was.
    pub class: Option<IoClass>,
    /// Its level in the class, from 0, the first, to 7; null if it was left as it was.
    pub level: Option<u8>,
    /// The kernel's answer to what was asked for first, if it refused that.
    pub refused: Option<String>,
}

/// The CPU priority that was got.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuPriorityResult {
    /// The nice value that the thread has, from -20, the first, to 19; null if it was left as it
    /// was.
    pub nice: Option<i32>,
    /// The kernel's answer to what was asked for first, if it refused that.
    pub refused: Option<String>,
}

/// The memory that was locked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockedBufferResult {
    /// Bytes of the buffer that stay in memory once they are there.
    pub bytes: u64,
    /// Bytes of the buffer in all; 0 if nothing was to be locked.
    pub of_bytes: u64,
    /// The kernel's answer, if it refused to lock all of it.
    pub refused: Option<String>,
}

/// What an I/O priority does on the way to the disks of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberPriority {
    /// The member's name.
    pub name: String,
    /// What it does.
    pub effect: PriorityEffect,
    /// Whether the member is written through the page cache, from where the kernel writes in its
    /// own name.
    pub is_cached: bool,
    /// Whether it is written by passthrough, which has no I/O scheduler.
    #[serde(default)]
    pub is_passthrough: bool,
    /// The disks at the bottom, with their I/O schedulers.
    pub schedulers: Vec<DeviceScheduler>,
    /// Arrays, volumes and loop devices on the way, which may pass a priority on or not.
    pub through: Vec<String>,
}

/// The I/O scheduler of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceScheduler {
    /// Kernel name of the disk.
    pub device: String,
    /// The scheduler in force; `none` if there is none.
    pub scheduler: String,
}

impl ShareResult {
    /// Nothing taken.
    #[must_use]
    pub fn untouched(asked: RecorderShare, is_simulated: bool) -> ShareResult {
        ShareResult {
            asked,
            is_simulated,
            io_priority: IoPriorityResult::default(),
            cpu_priority: CpuPriorityResult::default(),
            locked_buffer: LockedBufferResult::default(),
            members: Vec::new(),
            hold_back: None,
        }
    }

    /// Whether anything is to be taken.
    #[must_use]
    pub fn takes(&self) -> bool {
        self.asked == RecorderShare::First && !self.is_simulated
    }
}
