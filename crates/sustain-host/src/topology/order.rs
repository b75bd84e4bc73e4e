//! The order in which disks are connected, by the numbers in sysfs names. Called by the walk and
//! the families of hops. It never sorts by the kernel's letters (`sda`), which are given in the
//! order in which disks respond.

use std::path::Path;

use super::sysfs_path::{SysfsPath, name_of};
use crate::roots::names_in;

/// Numbers that sort the disks as they are connected, from the host to the slot.
pub(super) fn of(way: &SysfsPath) -> Vec<u64> {
    // A disk without hardware of its own comes after those that have some.
    let is_virtual = way.nearest(|name| name == "virtual").is_some();
    let mut order = vec![u64::from(is_virtual)];
    for directory in way.directories.iter().rev() {
        let name = name_of(directory);
        if let Some(address) = PciAddress::parse(&name) {
            order.extend(address.0);
        } else if name.starts_with("port-") {
            // A port's own number shows when it was found; its phy shows where the cable is.
            let phy = lowest_phy(directory);
            order.extend(phy.or_else(|| numbers_in(&name).last().copied()));
        } else {
            order.extend(numbers_in(&name));
        }
    }
    order
}

fn lowest_phy(port: &Path) -> Option<u64> {
    let names = names_in(port).ok()?;
    let phys = names.iter().filter(|name| name.starts_with("phy-"));
    phys.filter_map(|name| numbers_in(name).last().copied())
        .min()
}

/// Domain, bus, device and function: `0000:03:00.1`.
pub(super) struct PciAddress(pub(super) [u64; 4]);

impl PciAddress {
    pub(super) fn parse(name: &str) -> Option<PciAddress> {
        let (domain, rest) = name.split_once(':')?;
        let (bus, rest) = rest.split_once(':')?;
        let (device, function) = rest.split_once('.')?;
        let is_long_enough = domain.len() >= 4 && bus.len() == 2 && device.len() == 2;
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        is_long_enough.then_some(PciAddress([
            hexadecimal(domain)?,
            hexadecimal(bus)?,
            hexadecimal(device)?,
            hexadecimal(function)?,
        ]))
    }
}

/// All decimal numbers in a name, in order; one too large for 64 bits counts as the largest.
pub(super) fn numbers_in(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap_or(u64::MAX))
        .collect()
}

/// Whether the name is this word with a number: `ata3`, `usb2`.
pub(super) fn is_numbered(name: &str, word: &str) -> bool {
    name.strip_prefix(word)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
