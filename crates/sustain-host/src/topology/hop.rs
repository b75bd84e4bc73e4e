//! The words in which the topology is told: hops, and the way of a disk over them.
//! Made by the walk, drawn by the faces. Plain data: nothing is read here.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link_rate::LinkRate;

/// What a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HopKind {
    /// The disk itself, where every way begins.
    Disk,
    /// A link between a disk, a multiplier, an expander or a hub and what is above it.
    Port,
    /// A SATA port multiplier.
    PortMultiplier,
    /// A SAS expander.
    Expander,
    /// A USB hub.
    UsbHub,
    /// A host adapter, an NVMe controller, a virtual adapter.
    Controller,
    /// A link of PCI Express.
    PcieLink,
    /// A PCIe switch.
    PcieSwitch,
    /// A bus of conventional PCI, which all devices on it share.
    PciBus,
    /// The memory of one node, where every way ends on a machine that has nodes.
    NumaNode,
    /// The memory, where the node is not told.
    Memory,
}

/// One stretch or station of the way between a disk and the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "HopEntry", into = "HopEntry")]
#[schemars(with = "HopEntry")]
pub struct Hop {
    /// The same for all disks whose way leads over it, within one boot: its place in sysfs.
    pub id: String,
    /// What it is.
    pub kind: HopKind,
    /// What a person calls it: `AHCI controller 0000:00:1f.2`, `SATA port ata3`.
    pub name: String,
    /// What it can carry in one direction after line encoding; `None` where sysfs does not tell or
    /// it is no link.
    pub rate_bytes_per_s: Option<f64>,
    /// How that rate comes about: `3 Gbit/s x 8/10 / 8`.
    pub formula: Option<String>,
    /// Where it runs below what both ends can do: the rate that they could have, in bytes per
    /// second, and both in words (`runs at 2.5 GT/s x1; both ends can do 8 GT/s x4`).
    pub possible: Option<(f64, String)>,
}

/// A [`Hop`] as documents have it.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Hop")]
struct HopEntry {
    /// The same for all disks whose way leads over it, within one boot: its place in sysfs.
    id: String,
    /// What it is.
    kind: HopKind,
    /// What a person calls it.
    name: String,
    /// What it can carry in one direction after line encoding; null where sysfs does not tell or
    /// it is no link.
    rate_bytes_per_s: Option<f64>,
    /// How that rate comes about.
    formula: Option<String>,
    /// What it could carry, where it runs below what both ends can do; else null.
    possible_rate_bytes_per_s: Option<f64>,
    /// How it runs and what both ends can do, in words; else null.
    slow: Option<String>,
}

impl From<Hop> for HopEntry {
    fn from(hop: Hop) -> HopEntry {
        let (possible_rate_bytes_per_s, slow) = hop.possible.unzip();
        HopEntry {
            id: hop.id,
            kind: hop.kind,
            name: hop.name,
            rate_bytes_per_s: hop.rate_bytes_per_s,
            formula: hop.formula,
            possible_rate_bytes_per_s,
            slow,
        }
    }
}

impl From<HopEntry> for Hop {
    fn from(entry: HopEntry) -> Hop {
        Hop {
            id: entry.id,
            kind: entry.kind,
            name: entry.name,
            rate_bytes_per_s: entry.rate_bytes_per_s,
            formula: entry.formula,
            possible: entry.possible_rate_bytes_per_s.zip(entry.slow),
        }
    }
}

impl Hop {
    /// A station that limits nothing by itself, or a link of which nothing is known.
    pub(super) fn without_rate(id: String, kind: HopKind, name: String) -> Hop {
        Hop {
            id,
            kind,
            name,
            rate_bytes_per_s: None,
            formula: None,
            possible: None,
        }
    }

    /// The same hop as a link of this rate.
    pub(super) fn with_rate(self, rate: Option<LinkRate>) -> Hop {
        let (rate_bytes_per_s, formula) = rate.map(|rate| (rate.bytes_per_s, rate.formula)).unzip();
        Hop {
            rate_bytes_per_s,
            formula,
            ..self
        }
    }

    /// The same hop, marked if both ends can do more than it runs at. `runs` and `can` name the
    /// two speeds.
    pub(super) fn marked_if_slow(self, runs: &str, can: &str, possible: Option<&LinkRate>) -> Hop {
        let slower = possible.filter(|possible| {
            self.rate_bytes_per_s
                .is_some_and(|rate| rate < possible.bytes_per_s)
        });
        let possible = slower.map(|possible| {
            let words = format!("runs at {runs}; both ends can do {can}");
            (possible.bytes_per_s, words)
        });
        Hop { possible, ..self }
    }
}

/// The way from a disk up to the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskPath {
    /// Kernel name of the disk: `sda`, `nvme0n1`.
    pub disk: String,
    /// What lies on the way, the disk first, the memory last.
    pub hops: Vec<Hop>,
    /// Sorts the disks as they hang: host, controller, port, address, slot. Only for comparing.
    pub order: Vec<u64>,
}

impl DiskPath {
    /// Disks in the order in which they hang; of those that hang at one place, by name.
    #[must_use]
    pub fn compare(&self, other: &DiskPath) -> Ordering {
        let by_name = |path: &DiskPath| (path.disk.len(), path.disk.clone());
        self.order
            .cmp(&other.order)
            .then_with(|| by_name(self).cmp(&by_name(other)))
    }
}
