//! A group and a disk that it uses: what it has used, and what limits it has.

use std::path::Path;

use sustain_document::hold_back::{HeldGroup, LimitEnd};
use sustain_host::{GroupBytes, GroupLimits};

use super::groups::name_of;
use crate::allotment::Claim;

/// The weight of the newest second fraction in a group's rate. The kernel accounts in steps of
/// 100 ms, so that one look alone may see nothing, or twice as much.
const NEWEST_WEIGHT: f64 = 0.4;
/// A limit is set anew when it falls by this part, or rises by the next one. Each new limit makes
/// the kernel's accounting begin again, which lets some more through.
const FALL_PART: f64 = 0.03;
const RISE_PART: f64 = 0.08;

/// A group and a disk that it uses.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) first: GroupBytes,
    pub(super) last: GroupBytes,
    /// What tells the group from one of the same name that is made later.
    pub(super) node: Option<u64>,
    pub(super) read_bytes_per_s: f64,
    pub(super) write_bytes_per_s: f64,
    /// What was there before, once a limit was set.
    pub(super) original: Option<GroupLimits>,
    /// What is set now.
    pub(super) set: Option<GroupLimits>,
    /// What was set before that. After a refusal one direction may still have it.
    pub(super) set_before: Option<GroupLimits>,
    pub(super) least: GroupLimits,
    pub(super) ended: Option<LimitEnd>,
    pub(super) refused: Option<String>,
}

impl Watched {
    pub(super) fn can_be_held(&self) -> bool {
        self.ended.is_none()
    }

    /// Takes in what was used by now. Returns what was used since the last time.
    pub(super) fn look(&mut self, now: GroupBytes, elapsed_s: f64) -> u64 {
        let read_bytes = now.read_bytes.saturating_sub(self.last.read_bytes);
        let write_bytes = now.write_bytes.saturating_sub(self.last.write_bytes);
        self.last = now;
        if elapsed_s > 0.0 {
            let newer = |rate: &mut f64, bytes: u64| {
                *rate += NEWEST_WEIGHT * (bytes as f64 / elapsed_s - *rate);
                if *rate < 1.0 {
                    *rate = 0.0;
                }
            };
            newer(&mut self.read_bytes_per_s, read_bytes);
            newer(&mut self.write_bytes_per_s, write_bytes);
        }
        read_bytes + write_bytes
    }

    /// Whether it uses its disk, or has a limit that says how much it may.
    pub(super) fn has_claims(&self) -> bool {
        self.set.is_some() || self.read_bytes_per_s + self.write_bytes_per_s > 0.0
    }

    pub(super) fn claims(&self) -> [Claim; 2] {
        let limit = |of: fn(GroupLimits) -> Option<u64>| {
            let limit = self.set.and_then(of)?;
            Some(limit as f64)
        };
        [
            Claim {
                used_bytes_per_s: self.read_bytes_per_s,
                limit_bytes_per_s: limit(|limits| limits.read_bytes_per_s),
            },
            Claim {
                used_bytes_per_s: self.write_bytes_per_s,
                limit_bytes_per_s: limit(|limits| limits.write_bytes_per_s),
            },
        ]
    }

    pub(super) fn end(&mut self, ended: LimitEnd) {
        self.ended = Some(ended);
        self.set = None;
        self.set_before = None;
    }

    /// A group of this name was made again, and has no limits and has used nothing else yet.
    pub(super) fn begin_again(&mut self, node: Option<u64>, used: GroupBytes) {
        self.ended = None;
        self.original = None;
        self.node = node;
        self.last = used;
    }

    /// Whether so much is less than it had used before.
    pub(super) fn is_less_than_before(&self, now: GroupBytes) -> bool {
        now.read_bytes < self.last.read_bytes || now.write_bytes < self.last.write_bytes
    }

    /// Whether these limits may be those that were set.
    pub(super) fn may_have_set(&self, limits: GroupLimits) -> bool {
        [self.set, self.set_before].contains(&Some(limits))
    }

    pub(super) fn result(&self, group: &Path, device: &str) -> HeldGroup {
        let was_limited = self.least != GroupLimits::default();
        let ended = self.ended.unwrap_or(match &self.refused {
            Some(_) if self.set.is_some() || !was_limited => LimitEnd::Refused,
            _ if was_limited => LimitEnd::Restored,
            _ => LimitEnd::NotNeeded,
        });
        HeldGroup {
            name: name_of(group),
            device: device.to_owned(),
            // A group that was removed and made again begins at nothing.
            read_bytes: self.last.read_bytes.saturating_sub(self.first.read_bytes),
            write_bytes: self.last.write_bytes.saturating_sub(self.first.write_bytes),
            least_read_bytes_per_s: self.least.read_bytes_per_s,
            least_write_bytes_per_s: self.least.write_bytes_per_s,
            ended,
            refused: self.refused.clone(),
        }
    }
}

/// The lower of two limits, each of reads and of writes.
pub(super) fn tighter(one: GroupLimits, other: GroupLimits) -> GroupLimits {
    let lower = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    GroupLimits {
        read_bytes_per_s: lower(one.read_bytes_per_s, other.read_bytes_per_s),
        write_bytes_per_s: lower(one.write_bytes_per_s, other.write_bytes_per_s),
    }
}

/// Whether a limit differs enough from the one that is set.
pub(super) fn is_worth_setting(now: GroupLimits, next: GroupLimits) -> bool {
    let differs = |now: Option<u64>, next: Option<u64>| match (now, next) {
        (Some(now), Some(next)) => {
            let (now, next) = (now as f64, next as f64);
            next < now * (1.0 - FALL_PART) || next > now * (1.0 + RISE_PART)
        }
        (now, next) => now != next,
    };
    differs(now.read_bytes_per_s, next.read_bytes_per_s)
        || differs(now.write_bytes_per_s, next.write_bytes_per_s)
}
