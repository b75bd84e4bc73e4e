//! All block devices of the host: disks with their paths up to the memory, and the devices built on
//! them, each with the guard's decision on whether it may be written. The command `devices` shows
//! them. A device that cannot be read is left out with a note.

use std::fs;
use std::path::PathBuf;

use sustain_document::block_device::BlockDevice;
use sustain_document::devices::{
    DEVICES_SCHEMA, DeviceFacts, DeviceKind, DevicesDocument, DiskFacts, WhyNot,
};

use super::path_of;
use crate::block_device::{Relation, device_named, device_of_number};
use crate::error::HostError;
use crate::file_system::{disks_under_device, file_system_of};
use crate::guard::device_refusals;
use crate::in_use::{InUse, resolve};
use crate::neighbours::neighbour_caution;
use crate::refusal::Refusal;
use crate::roots::{Roots, names_in, number};

/// The disks of a host and what is built on them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// The disks, in the order in which they are connected; disks without hardware of their own
    /// come last.
    pub disks: Vec<DiskFacts>,
    /// Partitions, RAID, volumes and loop devices.
    pub layers: Vec<DeviceFacts>,
    /// Notes on what could not be read.
    pub notes: Vec<String>,
}

impl Topology {
    /// All block devices that have a size: loop devices without a file, card readers without a card
    /// and the like are left out, and so are RAM disks. This never fails: what cannot be read is in
    /// the notes.
    #[must_use]
    pub fn read(roots: &Roots) -> Topology {
        let mut topology = Topology::default();
        let in_use = match InUse::read(roots) {
            Ok(in_use) => Some(in_use),
            Err(error) => {
                let note = format!("what is in use cannot be determined: {error}");
                topology.notes.push(note);
                None
            }
        };
        let block = roots.sys.join("block");
        let names = match fs::read_dir(&block) {
            Ok(_) => names_in(&block),
            Err(error) => Err(HostError::Read {
                path: block.clone(),
                error,
            }),
        };
        let names = names.unwrap_or_else(|error| {
            topology.notes.push(error.to_string());
            Vec::new()
        });
        for name in names {
            // The single paths of a multipath NVMe disk are hidden, because the disk is there under
            // another name.
            let is_hidden = number(&block.join(&name).join("hidden")) == Some(1);
            if !is_hidden && !is_ram_disk(&name) {
                topology.add(roots, in_use.as_ref(), &name);
            }
        }
        topology
            .disks
            .sort_by(|one, other| one.path.compare(&other.path));
        topology
            .layers
            .sort_by_key(|layer| (layer.device.name().len(), layer.device.name().to_owned()));
        topology
    }

    /// Only the disks under these devices, with everything that is built on those.
    #[must_use]
    pub fn only_under(mut self, roots: &Roots, devices: &[BlockDevice]) -> Topology {
        let mut wanted = Vec::new();
        for device in devices {
            match disks_under_device(roots, device) {
                Ok(disks) => wanted.extend(disks.iter().map(|disk| disk.name().to_owned())),
                Err(error) => self.notes.push(error.to_string()),
            }
        }
        self.disks.retain(|disk| wanted.contains(&disk.path.disk));
        // A layer is kept if any device that it lies on is, down to the disks.
        let mut kept = wanted;
        let mut layers = Vec::new();
        loop {
            let lies_on_kept =
                |layer: &DeviceFacts| layer.lies_on.iter().any(|name| kept.contains(name));
            let (above, rest) = self.layers.into_iter().partition::<Vec<_>, _>(lies_on_kept);
            self.layers = rest;
            if above.is_empty() {
                break;
            }
            kept.extend(above.iter().map(|layer| layer.device.name().to_owned()));
            layers.extend(above);
        }
        self.layers = layers;
        self
    }

    fn add(&mut self, roots: &Roots, in_use: Option<&InUse>, name: &str) {
        let device = match device_named(roots, name) {
            Ok(device) => device,
            Err(error) => {
                self.notes.push(format!("{name} is left out: {error}"));
                return;
            }
        };
        if device.node.size_bytes == 0 {
            return;
        }
        let partitions = device.partitions.clone();
        self.add_device(roots, in_use, device);
        for partition in partitions {
            match device_named(roots, &partition.name) {
                Ok(device) => self.add_device(roots, in_use, device),
                Err(error) => {
                    let name = partition.name;
                    self.notes.push(format!("{name} is left out: {error}"));
                }
            }
        }
    }

    fn add_device(&mut self, roots: &Roots, in_use: Option<&InUse>, device: BlockDevice) {
        let facts = self.facts_of(roots, in_use, device);
        if !facts.lies_on.is_empty() {
            self.layers.push(facts);
            return;
        }
        match path_of(roots, &facts.device) {
            Ok(path) => self.disks.push(DiskFacts { facts, path }),
            Err(error) => {
                let name = facts.device.name();
                self.notes.push(format!("{name} is left out: {error}"));
            }
        }
    }

    fn facts_of(
        &mut self,
        roots: &Roots,
        in_use: Option<&InUse>,
        device: BlockDevice,
    ) -> DeviceFacts {
        let number = (device.node.major, device.node.minor);
        let refusals = in_use.map(|in_use| device_refusals(roots, in_use, &device, 0));
        let refusals = refusals.and_then(|refusals| {
            let why = |error| {
                let name = device.name();
                self.notes
                    .push(format!("whether {name} may be written: {error}"));
            };
            refusals.map_err(why).ok()
        });
        let why_not = |refusal: &Refusal| WhyNot {
            reason: in_brief(refusal, "it"),
            advice: refusal.to_string(),
        };
        DeviceFacts {
            kind: kind_of(&device),
            lies_on: lies_on(roots, &device),
            mount_points: in_use
                .and_then(|in_use| in_use.mount_points(number))
                .unwrap_or_default(),
            swap: in_use.is_some_and(|in_use| in_use.is_swap_device(number)),
            may_be_written: refusals.as_ref().map(Vec::is_empty),
            why_not: refusals.iter().flatten().map(why_not).collect(),
            caution: neighbour_caution(&device),
            device,
        }
    }
}

/// Makes the document of a topology.
#[must_use]
pub fn devices_document(topology: Topology) -> DevicesDocument {
    DevicesDocument {
        schema: DEVICES_SCHEMA.to_owned(),
        disks: topology.disks,
        layers: topology.layers,
        memory_copy: None,
        notes: topology.notes,
    }
}

/// `ram0` and the like are made at boot, whether anyone wants them or not.
fn is_ram_disk(name: &str) -> bool {
    super::order::is_numbered(name, "ram")
}

fn kind_of(device: &BlockDevice) -> DeviceKind {
    let numbered = |word| super::order::is_numbered(device.name(), word);
    if device.is_partition() {
        DeviceKind::Partition
    } else if device.loop_backing_file.is_some() {
        DeviceKind::Loop
    } else if device.mapper_name.is_some() {
        DeviceKind::Dm
    } else if numbered("md") || device.name().starts_with("md_") {
        DeviceKind::Md
    } else if numbered("zram") {
        DeviceKind::Zram
    } else if device.slaves.is_empty() {
        DeviceKind::Disk
    } else {
        DeviceKind::Other
    }
}

/// The devices that the device is directly built on.
fn lies_on(roots: &Roots, device: &BlockDevice) -> Vec<String> {
    if let Some(disk) = &device.whole_disk {
        return vec![disk.name.clone()];
    }
    let Some(file) = &device.loop_backing_file else {
        return device.slaves.clone();
    };
    if !file.starts_with("/dev") {
        // The file is deleted, or named as another mount namespace sees it, so it is not known.
        return file_system_of(roots, file).map_or_else(|_| Vec::new(), |found| found.devices);
    }
    let numbers = resolve(roots, file).devices.into_iter();
    let below = numbers.filter_map(|(major, minor)| {
        let device = device_of_number(roots, major, minor).ok()?;
        Some(device.name().to_owned())
    });
    below.take(1).collect()
}

/// The refusal as a clause that fits beside the device. `itself` stands for the device that was
/// asked about.
fn in_brief(refusal: &Refusal, itself: &str) -> String {
    let subject = |device: &str, relation: Relation| match relation {
        Relation::Itself => itself.to_owned(),
        _ => device.to_owned(),
    };
    match refusal {
        Refusal::Mounted {
            device,
            relation,
            mount_points,
        } => mounted_in_brief(&subject(device, *relation), mount_points),
        Refusal::SwapDevice { device, relation } => {
            format!("{} is active swap", subject(device, *relation))
        }
        Refusal::SwapFile => format!("{itself} is an active swap file"),
        Refusal::Held {
            device,
            relation,
            holders,
        } => {
            let names = holders.iter().map(|holder| {
                let mapper = holder.mapper_name.as_ref();
                mapper.unwrap_or(&holder.name).as_str()
            });
            let names: Vec<&str> = names.collect();
            let subject = subject(device, *relation);
            format!("{subject} is part of {}", names.join(" and "))
        }
        Refusal::BacksLoop {
            device,
            relation,
            loop_device,
        } => format!("{} backs {loop_device}", subject(device, *relation)),
        Refusal::FileBacksLoop { loop_device } => format!("{itself} backs {loop_device}"),
        Refusal::ReadOnly { device } => format!("{device} is set read-only"),
        Refusal::ReadOnlyFileSystem => "its file system is mounted read-only".to_owned(),
        Refusal::Claimed => format!("{itself} is claimed"),
        Refusal::Below { below, refusal } => in_brief(refusal, below),
        Refusal::WrongKind { what } => format!("{itself} is {what}"),
    }
}

fn mounted_in_brief(subject: &str, mount_points: &[PathBuf]) -> String {
    match mount_points {
        [] => format!("{subject} is part of a mounted file system"),
        [place] => format!("{subject} is mounted on {}", place.display()),
        [place, more @ ..] => {
            let (place, more) = (place.display(), more.len());
            format!("{subject} is mounted on {place} and {more} more")
        }
    }
}
