//! Five loop devices in memory, throttled.

use std::path::Path;

use crate::groups::rows::rate;
use crate::places::{LoopDevice, Throttle};
use crate::setting::Setting;
use crate::source::Source;
use crate::tools::store_tool::{self, Recorded, Recording};
use crate::tools::sustain_tool::{self, Several};
use crate::tools::{Interface, Way, Work};

pub(super) const MEMBERS: usize = 5;
/// Low enough that neither CPU nor memory is what the devices share.
pub(super) const EQUAL_BYTES_PER_S: [u64; MEMBERS] = [100_000_000; MEMBERS];
/// The same sum.
pub(super) const UNEQUAL_BYTES_PER_S: [u64; MEMBERS] = [
    50_000_000,
    75_000_000,
    100_000_000,
    125_000_000,
    150_000_000,
];
const DEVICE_BYTES: u64 = 1 << 30;

/// The devices, limited as long as they are there.
pub(super) struct Members {
    pub(super) devices: Vec<LoopDevice>,
    throttle: Throttle,
}

impl Members {
    pub(super) fn new(limits_bytes_per_s: &[u64], setting: &Setting) -> anyhow::Result<Members> {
        let devices = limits_bytes_per_s.iter();
        let members = Members {
            devices: devices
                .map(|_| LoopDevice::new(DEVICE_BYTES, &setting.interrupt))
                .collect::<Result<_, _>>()?,
            throttle: Throttle::enter()?,
        };
        members.limit(limits_bytes_per_s)?;
        Ok(members)
    }

    pub(super) fn limit(&self, limits_bytes_per_s: &[u64]) -> anyhow::Result<()> {
        for (device, limit) in self.devices.iter().zip(limits_bytes_per_s) {
            self.throttle.limit(device, *limit)?;
        }
        Ok(())
    }

    /// A device more, with a limit, too.
    pub(super) fn spare(
        &self,
        limit_bytes_per_s: u64,
        setting: &Setting,
    ) -> anyhow::Result<LoopDevice> {
        let device = LoopDevice::new(DEVICE_BYTES, &setting.interrupt)?;
        self.throttle.limit(&device, limit_bytes_per_s)?;
        Ok(device)
    }

    pub(super) fn paths(&self) -> Vec<&Path> {
        self.devices.iter().map(LoopDevice::path).collect()
    }

    /// Makes a store of them with so much parity.
    pub(super) fn create(&self, parities: usize, setting: &Setting) -> anyhow::Result<()> {
        let number = parities.to_string();
        // Without parity it does not matter which disk members are on, and `create` says so.
        let flags: &[&str] = match parities {
            0 => &[],
            _ => &["--parity", &number, "--same-disk"],
        };
        store_tool::create(&self.paths(), flags, setting)
    }

    /// Records to a new store, round and round, for as long as a run lasts.
    pub(super) fn record(
        &self,
        parities: usize,
        source: &Source,
        setting: &Setting,
    ) -> anyhow::Result<Recorded> {
        // A measurement has overwritten it.
        self.create(parities, setting)?;
        let recording = Recording {
            members: &self.paths(),
            ring: true,
            buffer_bytes: None,
            time_s: Some(setting.effort.record_run_s),
        };
        store_tool::record(recording, source, u64::MAX, setting)
    }
}

/// What each of `paths` gives while all are driven.
pub(super) fn measure(
    paths: &[&Path],
    way: Way,
    more: &[&str],
    setting: &Setting,
) -> anyhow::Result<Several> {
    let work = Work {
        path: paths[0],
        way,
        interface: Interface::IoUring,
        record_bytes: 1 << 20,
        depth: 8,
        size_bytes: DEVICE_BYTES,
        time_s: setting.effort.record_run_s,
    };
    sustain_tool::run_with(&work, paths, more, setting)
}

/// The most that a source can have of members with these rates: all but the highest of them, as
/// many as there are parities.
pub(super) fn most(rates_bytes_per_s: &[f64], parities: usize) -> f64 {
    let mut sorted = rates_bytes_per_s.to_vec();
    sorted.sort_by(f64::total_cmp);
    let data = sorted.len().saturating_sub(parities);
    sorted[..data].iter().sum()
}

/// What a reader must know of them.
pub(super) fn words() -> String {
    let all = |limits: &[u64]| {
        let words: Vec<String> = limits.iter().map(|limit| rate(*limit as f64)).collect();
        words.join(", ")
    };
    format!(
        "Five loop devices in memory. Equal ones are throttled to {}, unequal ones to {}.",
        rate(EQUAL_BYTES_PER_S[0] as f64),
        all(&UNEQUAL_BYTES_PER_S)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_costs_the_highest_rates() {
        let rates = [50.0, 150.0, 100.0, 125.0, 75.0];
        assert_eq!(
            [0, 1, 2].map(|parities| most(&rates, parities)),
            [500.0, 350.0, 225.0]
        );
    }
}
