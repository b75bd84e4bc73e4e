//! PCI devices between a disk and the memory: the controller, the PCI Express links above it with
//! what they run at and what both ends can do, switches, and buses of conventional PCI. Called by
//! the walk. The kind of a bridge follows from its depth: a root port is on the root bus, a link
//! leads from it to an endpoint or to a switch's upper port, from there the inside of the switch
//! leads to its lower ports, and from those again a link (PCI Express Base Specification, 1.3).

use std::path::{Path, PathBuf};

use sustain_document::devices::{Hop, HopKind};

use super::controller;
use super::hop::{marked_if_slow, with_rate, without_rate};
use super::link_rate::{self, giga, parse_giga, pcie_generation};
use super::order::PciAddress;
use super::sysfs_path::{SysfsPath, name_of};
use crate::roots::{attribute, number};

/// The largest width that the standard knows; registers say 0 or 255 for "not known".
const LANES_MAX: u32 = 32;

/// The controller, then the hops above it, nearest first.
pub(super) fn hops(way: &SysfsPath) -> Vec<Hop> {
    let mut hops = Vec::new();
    for chain in chains(way) {
        let Some((lowest, above)) = chain.split_first() else {
            continue;
        };
        hops.push(controller::of_pci_device(way, lowest));
        if above.is_empty() && !is_bridge(lowest) {
            // A device that was passed through to a virtual machine: the link is visible, its other
            // end is not.
            hops.extend(link_with_hidden_end(way, lowest));
        }
        for (index, device) in chain.iter().enumerate() {
            let Some(bridge) = chain.get(index + 1) else {
                break;
            };
            let depth = chain.len() - 1 - index;
            hops.push(if has_link(device) || has_link(bridge) {
                if depth % 2 == 1 {
                    link(way, bridge, device)
                } else {
                    switch(way, bridge)
                }
            } else {
                let name = format!("PCI bus below {}", name_of(bridge));
                without_rate(way.id_of(bridge), HopKind::PciBus, name)
            });
        }
    }
    hops
}

/// The PCI devices on the path, nearest first, one list for each root bus: behind a volume
/// management device another domain begins.
fn chains(way: &SysfsPath) -> Vec<Vec<PathBuf>> {
    let mut chains: Vec<Vec<PathBuf>> = Vec::new();
    let mut is_open = false;
    for directory in &way.directories {
        let is_device = PciAddress::parse(&name_of(directory)).is_some();
        match chains.last_mut() {
            Some(chain) if is_device && is_open => chain.push(directory.clone()),
            _ if is_device => chains.push(vec![directory.clone()]),
            _ => {}
        }
        is_open = is_device;
    }
    chains
}

fn is_bridge(device: &Path) -> bool {
    attribute(&device.join("class")).is_some_and(|class| class.starts_with("0x0604"))
}

fn has_link(device: &Path) -> bool {
    device.join("current_link_speed").exists()
}

fn switch(way: &SysfsPath, upper_port: &Path) -> Hop {
    let name = format!("PCIe switch {}", name_of(upper_port));
    without_rate(way.id_of(upper_port), HopKind::PcieSwitch, name)
}

/// The speed that one end of a link reports.
#[derive(Clone, Copy, PartialEq)]
struct Speed {
    megatransfers_per_s: u32,
    lanes: u32,
}

impl Speed {
    /// `current` or `max`.
    fn read(device: &Path, which: &str) -> Option<Speed> {
        let speed = attribute(&device.join(format!("{which}_link_speed")))?;
        let lanes = number(&device.join(format!("{which}_link_width")))?;
        Some(Speed {
            megatransfers_per_s: parse_giga(&speed)?,
            lanes: u32::try_from(lanes)
                .ok()
                .filter(|lanes| (1..=LANES_MAX).contains(lanes))?,
        })
    }

    fn words(self) -> String {
        format!("{} GT/s x{}", giga(self.megatransfers_per_s), self.lanes)
    }
}

/// The link from a bridge down to a device. Its id is the place of the bridge, because all
/// functions of the device share it.
fn link(way: &SysfsPath, bridge: &Path, device: &Path) -> Hop {
    let current = Speed::read(device, "current").or_else(|| Speed::read(bridge, "current"));
    let ends = Speed::read(device, "max").zip(Speed::read(bridge, "max"));
    let possible = ends.map(|(one, other)| Speed {
        megatransfers_per_s: one.megatransfers_per_s.min(other.megatransfers_per_s),
        lanes: one.lanes.min(other.lanes),
    });
    let id = format!("{}/link", way.id_of(bridge));
    let hop = named_link(id, device, current);
    match current.zip(possible) {
        Some((current, possible)) if hop.rate_bytes_per_s.is_some() => {
            let rate = link_rate::pcie(possible.megatransfers_per_s, possible.lanes);
            marked_if_slow(hop, &current.words(), &possible.words(), rate.as_ref())
        }
        _ => hop,
    }
}

fn link_with_hidden_end(way: &SysfsPath, device: &Path) -> Option<Hop> {
    let current = Speed::read(device, "current")?;
    let id = format!("{}/link", way.id_of(device));
    Some(named_link(id, device, Some(current)))
}

fn named_link(id: String, device: &Path, current: Option<Speed>) -> Hop {
    let address = name_of(device);
    // The address is given without its function, so that `lspci -s` finds all functions that share
    // the link.
    let slot = address.split_once('.').map_or(&*address, |(slot, _)| slot);
    // Behind a USB4 or Thunderbolt socket the link is a tunnel: the speed that it reports has
    // nothing to do with its rate.
    let is_tunnel = attribute(&device.join("removable")).as_deref() == Some("removable");
    if is_tunnel {
        let name = format!("PCIe link of {slot}, which can be unplugged: its rate is not reported");
        return without_rate(id, HopKind::PcieLink, name);
    }
    let Some(current) = current else {
        return without_rate(id, HopKind::PcieLink, format!("PCIe link of {slot}"));
    };
    let generation = pcie_generation(current.megatransfers_per_s);
    let generation = generation.map_or_else(String::new, |generation| format!(" {generation}"));
    let name = format!("PCIe link{generation} x{} of {slot}", current.lanes);
    let rate = link_rate::pcie(current.megatransfers_per_s, current.lanes);
    with_rate(without_rate(id, HopKind::PcieLink, name), rate)
}
