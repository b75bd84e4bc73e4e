//! The programs that are compared, given the same work.

pub(crate) mod fio;
pub(crate) mod store_tool;
pub(crate) mod sustain_tool;

use std::path::Path;

use sustain::disk::units::Size;

use crate::process::Used;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Write,
    Read,
}

impl Way {
    pub(crate) const BOTH: [Way; 2] = [Way::Write, Way::Read];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Write => "write",
            Way::Read => "read",
        }
    }
}

/// Which interface of the kernel is used; both programs call them the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interface {
    IoUring,
    Libaio,
}

impl Interface {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Interface::IoUring => "io_uring",
            Interface::Libaio => "libaio",
        }
    }
}

/// Sequential records over and over one existing file or device, past the page cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) path: &'a Path,
    pub(crate) way: Way,
    pub(crate) interface: Interface,
    pub(crate) record_bytes: u64,
    pub(crate) depth: u32,
    pub(crate) size_bytes: u64,
    pub(crate) time_s: u64,
}

impl Work<'_> {
    /// As a row of a table names it.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", Size(self.record_bytes), self.way.name())
    }
}

/// What a program did, by its own account, and what it used, by the kernel's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) bytes: u64,
    /// Bytes over the time from the start of the work, start-up excluded, to the last completion.
    pub(crate) rate_bytes_per_s: f64,
    pub(crate) used: Used,
}

impl Done {
    pub(crate) fn cpu_s_per_gb(&self) -> f64 {
        self.used.cpu_s / (self.bytes as f64 / 1e9)
    }

    pub(crate) fn requests_per_cpu_s(&self, record_bytes: u64) -> f64 {
        self.bytes as f64 / record_bytes as f64 / self.used.cpu_s
    }
}
