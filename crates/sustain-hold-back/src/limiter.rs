//! Sets the limits of a group on a disk, if they are still the caller's to set.

use std::fs;
use std::path::{Component, Path};

use rustix::io::Errno;
use sustain_host::{ControlGroups, DeviceNumber, GroupLimits};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Put {
    /// The limits are set.
    Set,
    /// Someone else has changed them, and nothing was set.
    TakenOver,
    /// The group is gone.
    Removed,
    /// The kernel refused.
    Refused(String),
}

/// Limits that are to be set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitChange<'a> {
    pub(crate) group: &'a Path,
    pub(crate) device: DeviceNumber,
    pub(crate) limits: GroupLimits,
    /// What was there before anything was set.
    pub(crate) original: GroupLimits,
    /// What may be there if nobody else has changed it.
    pub(crate) expected: &'a [GroupLimits],
}

/// Sets limits in one hierarchy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limiter<'a> {
    groups: &'a ControlGroups,
}

impl<'a> Limiter<'a> {
    pub(crate) fn new(groups: &'a ControlGroups) -> Limiter<'a> {
        Limiter { groups }
    }

    /// Sets limits where those that are there now are among the expected ones. Where someone else
    /// has changed the limit of one direction, that one is left to them, and the other direction
    /// gets back what it had.
    pub(crate) fn put(&self, change: &LimitChange<'_>) -> Put {
        let is_below = |part: Component| matches!(part, Component::Normal(_));
        let LimitChange { group, device, .. } = *change;
        if group.as_os_str().is_empty() || !group.components().all(is_below) {
            return Put::Refused(format!("{} is no control group", group.display()));
        }
        let now = match self.groups.limits(group, device) {
            Err(error) => return Put::Refused(error.to_string()),
            Ok(None) => return Put::Removed,
            Ok(Some(now)) => now,
        };
        let is_ours = |of: fn(&GroupLimits) -> Option<u64>| {
            let ours = change.expected.iter().chain([&change.limits]);
            ours.map(of).any(|limit| limit == of(&now))
        };
        let are_reads_ours = is_ours(|limits| limits.read_bytes_per_s);
        let are_writes_ours = is_ours(|limits| limits.write_bytes_per_s);
        let (limits, put) = match (are_reads_ours, are_writes_ours) {
            (true, true) => (change.limits, Put::Set),
            (true, false) => {
                let read_bytes_per_s = change.original.read_bytes_per_s;
                let limits = GroupLimits {
                    read_bytes_per_s,
                    ..now
                };
                (limits, Put::TakenOver)
            }
            (false, true) => {
                let write_bytes_per_s = change.original.write_bytes_per_s;
                let limits = GroupLimits {
                    write_bytes_per_s,
                    ..now
                };
                (limits, Put::TakenOver)
            }
            (false, false) => return Put::TakenOver,
        };
        if limits == now {
            return put;
        }
        self.write(group, device, limits).unwrap_or(put)
    }

    /// What came in the way, if anything did.
    fn write(&self, group: &Path, device: DeviceNumber, limits: GroupLimits) -> Option<Put> {
        for (path, text) in self.groups.setting(group, device, limits) {
            // One write for one limit, as the kernel wants it.
            let Err(error) = fs::write(&path, text) else {
                continue;
            };
            let is_gone = [Errno::NOENT, Errno::NODEV]
                .iter()
                .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
            return Some(if is_gone {
                Put::Removed
            } else {
                Put::Refused(format!("{}: {error}", path.display()))
            });
        }
        None
    }
}
