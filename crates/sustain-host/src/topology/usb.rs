//! USB ports and hubs between a disk and its USB controller. Called by the walk. Directories of USB
//! devices are named after their ports: `2-1.4` is the device on port 4 of the hub on port 1 of bus
//! 2.

use std::fs;
use std::path::Path;

use sustain_document::devices::{Hop, HopKind};

use super::hop::{marked_if_slow, with_rate, without_rate};
use super::link_rate::{self, LinkRate, giga};
use super::sysfs_path::{SysfsPath, link_name, name_of};
use crate::roots::{attribute, number};

/// The speeds of the three generations in Mbit/s, as the kernel states them.
const HIGH_SPEED: u32 = 480;
const SUPER_SPEED: u32 = 5000;
const SUPER_SPEED_PLUS: u32 = 10_000;

/// Ports and hubs, the disk's own port first.
pub(super) fn hops(way: &SysfsPath) -> Vec<Hop> {
    let mut hops = Vec::new();
    let devices = way
        .directories
        .iter()
        .filter(|directory| is_device(&name_of(directory)));
    for (index, device) in devices.enumerate() {
        let name = name_of(device);
        if index > 0 {
            let product = attribute(&device.join("product"));
            let product = product.map_or_else(String::new, |product| format!(" {product}"));
            let words = format!("USB hub {name}{product}");
            hops.push(without_rate(way.id_of(device), HopKind::UsbHub, words));
        }
        let driver = (index == 0).then(|| driver(way)).flatten();
        hops.push(port(way, device, driver));
    }
    hops
}

/// `2-1.4`, but neither an interface (`2-1.4:1.0`) nor a root hub (`usb2`).
fn is_device(name: &str) -> bool {
    let Some((bus, ports)) = name.split_once('-') else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(bus) && ports.split('.').all(is_number)
}

/// The driver of the disk: `uas` sends several commands at once, `usb-storage` one.
fn driver(way: &SysfsPath) -> Option<String> {
    let interface = way.nearest(|name| {
        name.split_once(':')
            .is_some_and(|(device, _)| is_device(device))
    })?;
    link_name(&interface.join("driver"))
}

fn port(way: &SysfsPath, device: &Path, driver: Option<String>) -> Hop {
    let driver = driver.map_or_else(String::new, |driver| format!(" ({driver})"));
    let name = format!("USB port {}{driver}", name_of(device));
    let id = format!("{}/port", way.id_of(device));
    let hop = without_rate(id, HopKind::Port, name);
    let Some(current) = speed(device) else {
        return hop;
    };
    let lanes = number(&device.join("rx_lanes")).and_then(|lanes| u32::try_from(lanes).ok());
    let lanes = lanes.unwrap_or(1);
    let hop = with_rate(hop, link_rate::usb(current, lanes));
    // Two lanes depend more on the cable than on the ends.
    let can = own_limit(device)
        .zip(socket_limit(device))
        .map(|(own, socket)| own.min(socket))
        .filter(|_| lanes == 1);
    let possible: Option<LinkRate> = can.and_then(|can| link_rate::usb(can, 1));
    let can_words = can.map_or_else(String::new, words);
    marked_if_slow(hop, &words(current), &can_words, possible.as_ref())
}

fn words(megabits_per_s: u32) -> String {
    if megabits_per_s < 1000 {
        format!("{megabits_per_s} Mbit/s")
    } else {
        format!("{} Gbit/s", giga(megabits_per_s))
    }
}

fn speed(device: &Path) -> Option<u32> {
    number(&device.join("speed")).and_then(|speed| u32::try_from(speed).ok())
}

/// The fastest single lane on the socket: that of the hub above, or of its twin for SuperSpeed,
/// which is a hub of its own on another bus (USB 3.2, 10.1).
fn socket_limit(device: &Path) -> Option<u32> {
    let own = speed(device.parent()?);
    let peer = fs::canonicalize(device.join("port/peer")).ok();
    // The port is in the hub's interface, and that is in the hub.
    let peer = peer.and_then(|peer| speed(peer.parent()?.parent()?));
    let fastest = own.max(peer)?;
    Some(fastest.min(SUPER_SPEED_PLUS))
}

/// The fastest single lane that the device can do, from its Binary Object Store descriptor: there
/// even a device on an old cable reports it (USB 3.2, 9.6.2).
fn own_limit(device: &Path) -> Option<u32> {
    let descriptors = fs::read(device.join("bos_descriptors")).ok()?;
    limit_in_object_store(&descriptors)
}

fn limit_in_object_store(descriptors: &[u8]) -> Option<u32> {
    const HEADER_BYTES: usize = 5;
    const DEVICE_CAPABILITY: u8 = 0x10;
    const CAPABILITY_SUPER_SPEED: u8 = 0x03;
    const CAPABILITY_SUPER_SPEED_PLUS: u8 = 0x0a;
    let mut rest = descriptors.get(HEADER_BYTES..)?;
    let mut limit = HIGH_SPEED;
    while let Some((&length, _)) = rest.split_first() {
        // A length beyond the end stops the walk; the shortest capability has three bytes.
        let Some((descriptor, after)) = rest.split_at_checked(usize::from(length)) else {
            break;
        };
        match descriptor {
            [_, DEVICE_CAPABILITY, CAPABILITY_SUPER_SPEED, ..] => limit = limit.max(SUPER_SPEED),
            [_, DEVICE_CAPABILITY, CAPABILITY_SUPER_SPEED_PLUS, ..] if has_ten_gbit(descriptor) => {
                limit = SUPER_SPEED_PLUS;
            }
            [_, _, _, ..] => {}
            _ => break,
        }
        rest = after;
    }
    Some(limit)
}

/// Whether a lane of 10 Gbit/s is among those of a SuperSpeedPlus capability, which may also report
/// two lanes of 5 Gbit/s (USB 3.2, 9.6.2.5): the exponent is in bits 4 and 5, the mantissa from bit
/// 16 on.
fn has_ten_gbit(capability: &[u8]) -> bool {
    const LANES_OFFSET_BYTES: usize = 12;
    const EXPONENT_GIGA: u8 = 3;
    let lanes = capability.get(LANES_OFFSET_BYTES..).unwrap_or_default();
    lanes.chunks_exact(4).any(|lane| {
        lane[0] >> 4 & 3 == EXPONENT_GIGA && u16::from_le_bytes([lane[2], lane[3]]) >= 10
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn devices_are_told_from_interfaces_and_root_hubs() {
        assert!(is_device("2-1"));
        assert!(is_device("10-1.4.2"));
        for name in ["usb2", "2-1:1.0", "2-", "-1", "2-1.", "port-0:0", "1-0:1.0"] {
            assert!(!is_device(name), "{name}");
        }
    }

    #[test]
    fn the_object_store_says_what_a_device_can_do() {
        let header = [5, 0x0f, 22, 0, 2];
        let extension = [7, 0x10, 0x02, 6, 0, 0, 0];
        let super_speed = [10, 0x10, 0x03, 0, 0x0e, 0, 1, 10, 0xff, 7];
        let plus = [
            20, 0x10, 0x0a, 0, 1, 0, 0, 0, 0, 0x11, 0, 0, 0x30, 0, 0x0a, 0, 0xb0, 0, 0x0a, 0,
        ];
        let store = |parts: &[&[u8]]| limit_in_object_store(&parts.concat());
        assert_eq!(store(&[&header, &extension]), Some(480));
        assert_eq!(store(&[&header, &extension, &super_speed]), Some(5000));
        assert_eq!(store(&[&header, &super_speed, &plus]), Some(10_000));
        assert_eq!(store(&[]), None);
        assert_eq!(store(&[&header, &super_speed[..6]]), Some(480), "cut off");
        assert_eq!(store(&[&header, &[0, 0x10, 3]]), Some(480), "no length");
    }

    proptest! {
        #[test]
        fn any_object_store_is_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let limit = limit_in_object_store(&bytes);
            prop_assert!(limit.is_none_or(|limit| [480, 5000, 10_000].contains(&limit)));
        }
    }
}
