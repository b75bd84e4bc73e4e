//! SATA ports and port multipliers, and the cables and transfer modes of parallel ATA, as libata
//! shows them.
//! Called by the walk. libata's directories: `ata3/link3` is the port's own link; behind a port
//! multiplier `ata3/link3.2` is the link of its port 2, which is the channel of the SCSI address.

use std::path::{Path, PathBuf};

use sustain_document::devices::{Hop, HopKind};

use super::ata_mode::{AtaDrive, AtaMode, why_slow};
use super::hop::{marked_if_slow, with_rate, without_rate};
use super::link_rate::{self, giga, parse_giga};
use super::order::{is_numbered, numbers_in};
use super::sysfs_path::{SysfsPath, name_of};
use crate::roots::{attribute, number};

/// The word in which a drive reports the SATA speeds that it can do: word 76 of IDENTIFY DEVICE,
/// bits 1 to 3 (ATA/ATAPI Command Set, Serial ATA Capabilities).
const CAPABILITIES_WORD: usize = 76;

/// The field in which an AHCI adapter reports the speed that it can do: bits 20 to 23 of CAP (AHCI
/// 1.3.1, 3.1.1).
const INTERFACE_SPEED_SHIFT: u32 = 20;

/// The links between a drive and its port, the drive's own first.
pub(super) fn hops(way: &SysfsPath) -> Vec<Hop> {
    let Some(DriveLinks {
        port,
        own_link,
        outer_link,
        channel,
        unit,
    }) = DriveLinks::of(way)
    else {
        return Vec::new();
    };
    let adapter = adapter_limit(way);
    let Some(outer_link) = outer_link else {
        return vec![port_hop(way, port, &own_link, unit, adapter)];
    };
    let name = name_of(port);
    let outer_name = format!("multiplier port {channel} ({name}.{channel:02})");
    let outer = without_rate(way.id_of(&outer_link), HopKind::Port, outer_name);
    let multiplier = without_rate(
        way.id_of(&own_link),
        HopKind::PortMultiplier,
        format!("port multiplier on {name}"),
    );
    vec![
        // The speeds that the multiplier can do on this side are not reported,
        with_speed(outer, &outer_link, None, drive_limit(&outer_link, 0)),
        multiplier,
        // and neither are those on its other side.
        port_hop(way, port, &own_link, 0, None),
    ]
}

/// Where a drive is connected.
struct DriveLinks<'a> {
    port: &'a Path,
    /// The port's own link.
    own_link: PathBuf,
    /// The link behind a port multiplier, if there is one.
    outer_link: Option<PathBuf>,
    channel: u64,
    /// The drive's number on its link.
    unit: u64,
}

impl DriveLinks<'_> {
    fn of(way: &SysfsPath) -> Option<DriveLinks<'_>> {
        let port = way.nearest(|name| is_numbered(name, "ata"))?;
        let name = name_of(port);
        let own_link = port.join(name.replace("ata", "link"));
        let (channel, unit) = channel_and_unit(way);
        let outer_link = port.join(format!("{}.{channel}", name_of(&own_link)));
        let links_multiplied = number(&port.join("ata_port").join(&name).join("nr_pmp_links"));
        let is_multiplied = outer_link.is_dir() && links_multiplied != Some(0);
        Some(DriveLinks {
            port,
            own_link,
            outer_link: is_multiplied.then_some(outer_link),
            channel,
            unit: if is_multiplied { 0 } else { unit },
        })
    }
}

fn port_hop(way: &SysfsPath, port: &Path, link: &Path, unit: u64, adapter: Option<u32>) -> Hop {
    let hop = |what: &str| {
        let name = format!("{what} {}", name_of(port));
        without_rate(way.id_of(port), HopKind::Port, name)
    };
    let is_serial = is_serial(link, unit, adapter);
    match ultra_dma_mode(link).filter(|_| !is_serial) {
        Some(mode) => with_rate(hop("parallel ATA cable"), mode.rate()),
        None if is_serial => with_speed(hop("SATA port"), link, adapter, drive_limit(link, unit)),
        // Neither end reports a speed of either kind: this is an emulated or very old IDE channel.
        None => hop("ATA channel"),
    }
}

/// Whether a link is one of SATA: one of its ends, or the link, reports a speed.
fn is_serial(link: &Path, unit: u64, adapter: Option<u32>) -> bool {
    adapter.is_some() || stated(link, "sata_spd").is_some() || drive_limit(link, unit).is_some()
}

/// The hop with what its link runs at, and marked if its two ends can do more.
fn with_speed(hop: Hop, link: &Path, adapter: Option<u32>, drive: Option<u32>) -> Hop {
    let Some(current) = stated(link, "sata_spd") else {
        return hop;
    };
    let near = [adapter, stated(link, "hw_sata_spd_limit")];
    let near = near.into_iter().flatten().min();
    let can = near.zip(drive).map(|(near, drive)| near.min(drive));
    let words = |speed| format!("{} Gbit/s", giga(speed));
    let hop = with_rate(hop, link_rate::sata(current));
    let possible = can.and_then(link_rate::sata);
    marked_if_slow(
        hop,
        &words(current),
        &can.map_or_else(String::new, words),
        possible.as_ref(),
    )
}

/// Channel and unit of the drive's SCSI address.
fn channel_and_unit(way: &SysfsPath) -> (u64, u64) {
    let target = way.nearest(|name| name.starts_with("target"));
    let numbers = target.map(|target| numbers_in(&name_of(target)));
    match numbers.as_deref() {
        Some(&[_, channel, unit]) => (channel, unit),
        _ => (0, 0),
    }
}

/// A speed that the kernel reports for a link; its word for "any" is `<unknown>`.
fn stated(link: &Path, what: &str) -> Option<u32> {
    let class = link.join("ata_link").join(name_of(link));
    parse_giga(&attribute(&class.join(what))?)
}

/// Facts of a drive on a link; `dev3.1` is the unit 1 of `link3`, `dev3.2.0` that of `link3.2`.
fn drive(link: &Path, unit: u64) -> PathBuf {
    let name = format!("{}.{unit}", name_of(link).replace("link", "dev"));
    link.join(&name).join("ata_device").join(&name)
}

/// The highest speed that the drive can do.
fn drive_limit(link: &Path, unit: u64) -> Option<u32> {
    let identity = attribute(&drive(link, unit).join("id"))?;
    let word = identity.split_whitespace().nth(CAPABILITIES_WORD)?;
    // All ones mean that the drive does not have the word.
    let word = u16::from_str_radix(word, 16)
        .ok()
        .filter(|word| *word != u16::MAX)?;
    let speeds = [(3, 6000), (2, 3000), (1, 1500)];
    let fastest = speeds.iter().find(|(bit, _)| word >> bit & 1 == 1)?;
    Some(fastest.1)
}

/// The highest speed that the host adapter can do.
fn adapter_limit(way: &SysfsPath) -> Option<u32> {
    let host = way.nearest(|name| is_numbered(name, "host"))?;
    let class = host.join("scsi_host").join(name_of(host));
    let capabilities = attribute(&class.join("ahci_host_caps"))?;
    let capabilities = u32::from_str_radix(&capabilities, 16).ok()?;
    match capabilities >> INTERFACE_SPEED_SHIFT & 0xf {
        1 => Some(1500),
        2 => Some(3000),
        3 => Some(6000),
        _ => None,
    }
}

/// The fastest mode of the drives on a parallel cable, of which there are at most two, if that is
/// Ultra DMA.
fn ultra_dma_mode(link: &Path) -> Option<AtaMode> {
    let modes = [0, 1].into_iter();
    let modes = modes.filter_map(|unit| mode_in_use(&drive(link, unit)));
    let modes = modes.filter(|mode| matches!(mode, AtaMode::UltraDma(_)));
    modes.max()
}

/// The mode in which a drive transfers. Kernels that do not tell it tell the mode for DMA.
fn mode_in_use(drive: &Path) -> Option<AtaMode> {
    let stated = ["xfer_mode", "dma_mode"].into_iter();
    let mut stated = stated.filter_map(|name| attribute(&drive.join(name)));
    stated.find_map(|text| AtaMode::parse(&text))
}

/// The disk's own hop with its transfer mode, and marked if that is below the best of the drive.
/// Over SATA the modes of DMA are names only; in PIO it is slow there, too.
pub(super) fn with_transfer_mode(disk: Hop, way: &SysfsPath) -> Hop {
    let Some(links) = DriveLinks::of(way) else {
        return disk;
    };
    let link = links.outer_link.as_ref().unwrap_or(&links.own_link);
    let facts = drive(link, links.unit);
    let Some(mode) = mode_in_use(&facts) else {
        return disk;
    };
    let is_serial = is_serial(link, links.unit, adapter_limit(way));
    let is_reported = !is_serial || matches!(mode, AtaMode::Pio(_));
    let own = attribute(&facts.join("id")).and_then(|identity| AtaDrive::parse(&identity));
    let slow = own
        .filter(|_| is_reported)
        .and_then(|own| why_slow(mode, own));
    Hop {
        transfer_mode: is_reported.then(|| mode.name()),
        slow,
        ..disk
    }
}
