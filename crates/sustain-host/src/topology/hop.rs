//! The data types of the topology: hops, and the path of a disk over them. The walk makes them, the
//! reports draw them. This is plain data: nothing is read here.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link_rate::LinkRate;

/// The kind of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HopKind {
    /// The disk itself, where every path begins.
    Disk,
    /// A link between a disk, a multiplier, an expander or a hub and the next hop above it.
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
    /// The memory of one node, where every path ends on a machine that has nodes.
    NumaNode,
    /// The memory, if the node is not known.
    Memory,
}

/// One hop of the path between a disk and the memory: a link or a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "HopEntry", into = "HopEntry")]
#[schemars(with = "HopEntry")]
pub struct Hop {
    /// The same for all disks whose path includes it, within one boot: its place in sysfs.
    pub id: String,
    /// Its kind.
    pub kind: HopKind,
    /// A name for people: `AHCI controller 0000:00:1f.2`, `SATA port ata3`.
    pub name: String,
    /// The rate that it can carry in one direction after line encoding; `None` if sysfs does not
    /// report it or if it is no link.
    pub rate_bytes_per_s: Option<f64>,
    /// How that rate is computed: `3 Gbit/s x 8/10 / 8`.
    pub formula: Option<String>,
    /// Set if it runs below what both ends can do: the rate that they could have, in bytes per
    /// second, and both in words (`runs at 2.5 GT/s x1; both ends can do 8 GT/s x4`).
    pub possible: Option<(f64, String)>,
}

/// A [`Hop`] in the form of the documents.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Hop")]
struct HopEntry {
    /// The same for all disks whose path includes it, within one boot: its place in sysfs.
    id: String,
    /// Its kind.
    kind: HopKind,
    /// A name for people.
    name: String,
    /// The rate that it can carry in one direction after line encoding; null if sysfs does not
    /// report it or if it is no link.
    rate_bytes_per_s: Option<f64>,
    /// How that rate is computed.
    formula: Option<String>,
    /// The rate that it could carry, if it runs below what both ends can do; else null.
    possible_rate_bytes_per_s: Option<f64>,
    /// What it runs at and what both ends can do, in words; else null.
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
    /// A hop that limits nothing by itself, or a link about which nothing is known.
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

/// The path from a disk up to the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskPath {
    /// Kernel name of the disk: `sda`, `nvme0n1`.
    pub disk: String,
    /// The hops of the path, the disk first, the memory last.
    pub hops: Vec<Hop>,
    /// The key that sorts disks as they are connected: host, controller, port, address, slot. It is
    /// only for comparing.
    pub order: Vec<u64>,
}

impl DiskPath {
    /// Compares disks by the order in which they are connected; those at one place, by name.
    #[must_use]
    pub fn compare(&self, other: &DiskPath) -> Ordering {
        let by_name = |path: &DiskPath| (path.disk.len(), path.disk.clone());
        self.order
            .cmp(&other.order)
            .then_with(|| by_name(self).cmp(&by_name(other)))
    }
}
