//! Finds how the targets are connected: the topology path of each target, and an order of the
//! targets by it. Both are read from the machine, or from the file of a simulated one.

use sustain_disk::engine::SimulatedTarget;
use sustain_disk::simulated::LimitRates;
use sustain_disk::target::{Direction, TargetKind};
use sustain_document::block_device::BlockDevice;
use sustain_document::chain::TopologyHop;
use sustain_document::devices::{DiskPath, HopKind};
use sustain_document::diagnose::TopologyPath;
use sustain_host::{
    Roots, device_of_number, disks_under_file_system, file_system_of, layers_under_device,
    paths_under,
};
use sustain_load::open_target::OpenTarget;
use sustain_load::session::Session;
use sustain_targets::{SharedDisk, shared_disks};

use super::suggestion::Link;

/// Whether another place of its kind may be free: another port or another controller. The memory,
/// and a disk that several targets are on, cannot be exchanged.
pub(super) fn is_place(hop: &TopologyHop) -> bool {
    ![HopKind::Device, HopKind::Memory, HopKind::NumaNode].contains(&hop.kind)
}

/// What is known of how the targets are connected.
pub(super) struct TopologyPaths {
    /// One path per target, in the order of the targets.
    pub(super) ways: Vec<TopologyPath>,
    /// The targets in the order in which they are connected; `None` if it is not known.
    pub(super) order: Option<Vec<usize>>,
}

impl TopologyPaths {
    /// Has the memory carry what it was measured to copy, where all paths end in one memory: of
    /// nodes, nobody knows which of them copied how much.
    pub(super) fn know_memory(&mut self, rate_bytes_per_s: f64, formula: &str) {
        let hops = || self.ways.iter().flat_map(|way| &way.hops);
        let mut ids = hops()
            .filter(|hop| is_memory_kind(hop.kind))
            .map(|hop| &hop.id);
        let first = ids.next().cloned();
        if ids.any(|id| Some(id) != first.as_ref()) {
            return;
        }
        let hops = self.ways.iter_mut().flat_map(|way| &mut way.hops);
        for hop in hops.filter(|hop| is_memory_kind(hop.kind)) {
            hop.rate_bytes_per_s = Some(rate_bytes_per_s);
            hop.formula = Some(formula.to_owned());
        }
    }
}

/// Whether paths end there.
pub(super) fn is_memory_kind(kind: HopKind) -> bool {
    matches!(kind, HopKind::Memory | HopKind::NumaNode)
}

/// Finds how the first `targets` of a session are connected.
pub(super) fn ways(session: &Session, targets: usize, roots: &Roots) -> TopologyPaths {
    let targets = &session.targets[..targets];
    let mut ways = Vec::new();
    let mut places: Vec<Option<PathPlace>> = Vec::new();
    for target in targets {
        let name = target.target.name.clone();
        let (hops, place) = match target.simulated {
            Some(simulated) => simulated_way(session, simulated),
            None => real_way(target, roots),
        };
        ways.push(TopologyPath { target: name, hops });
        places.push(place);
    }
    // Targets without a place of their own, such as files on one disk, have no order among
    // themselves.
    let places: Option<Vec<PathPlace>> = places.into_iter().collect();
    add_shared(&mut ways, targets, roots);
    let order = places.map(|places| {
        let mut order: Vec<usize> = (0..targets.len()).collect();
        order.sort_by(|one, other| places[*one].cmp(&places[*other]));
        order
    });
    TopologyPaths { ways, order }
}

/// Disks on which several targets certainly are.
pub(super) fn shared(targets: &[OpenTarget], roots: &Roots) -> Vec<SharedDisk> {
    let places = targets.iter().map(|one| (&one.target, one.path.as_deref()));
    shared_disks(places, roots)
}

/// Notes that name shared disks, before the first reading.
pub(super) fn shared_words(targets: &[OpenTarget], roots: &Roots) -> Vec<String> {
    let words = |shared: SharedDisk| {
        let names = shared.targets.iter();
        let names: Vec<&str> = names
            .map(|one| targets[*one].target.name.as_str())
            .collect();
        let both = if names.len() == 2 { "both" } else { "all" };
        let disk = shared.disk.as_deref().unwrap_or("one file system");
        format!(
            "{} are {both} on {disk}, so they certainly share it",
            names.join(", ")
        )
    };
    shared(targets, roots).into_iter().map(words).collect()
}

/// A disk on which several targets are is on the path of each, whatever else is known of that path.
fn add_shared(ways: &mut [TopologyPath], targets: &[OpenTarget], roots: &Roots) {
    for (number, shared) in shared(targets, roots).into_iter().enumerate() {
        let hop = match shared.disk {
            Some(disk) => device_hop(&disk),
            None => TopologyHop {
                id: format!("file system {number}"),
                ..device_hop("their file system")
            },
        };
        for target in shared.targets {
            add(&mut ways[target].hops, hop.clone());
        }
    }
}

/// The hops that two or more of these targets pass, nearest first, except the disks that they are
/// on.
pub(super) fn links(ways: &TopologyPaths, targets: &[usize]) -> Vec<Link> {
    let mut links: Vec<(&str, Link)> = Vec::new();
    for &target in targets {
        for hop in ways.ways[target]
            .hops
            .iter()
            .filter(|hop| hop.kind != HopKind::Device)
        {
            if let Some((_, link)) = links.iter_mut().find(|(id, _)| *id == hop.id) {
                link.members.push(target);
                continue;
            }
            let link = Link {
                name: hop.name.clone(),
                members: vec![target],
                rate_bytes_per_s: hop.rate_bytes_per_s,
                is_exact: hop.kind == HopKind::SimulatedLimit,
            };
            links.push((&hop.id, link));
        }
    }
    let links = links.into_iter().map(|(_, link)| link);
    links.filter(|link| link.members.len() > 1).collect()
}

/// The key that sorts targets as they are connected: numbers from the host to the slot, then the
/// typed order.
type PathPlace = Vec<u64>;

/// The path through the limits of the disk's machine file; the order is that of the file, with the
/// limits farthest away first.
fn simulated_way(
    session: &Session,
    disk: SimulatedTarget,
) -> (Vec<TopologyHop>, Option<PathPlace>) {
    let file = session.machines.file_of(disk);
    let through = &file.disks[disk.disk].through;
    let own = TopologyHop {
        id: format!("{}:{}", disk.machine, file.disks[disk.disk].name),
        name: file.disks[disk.disk].name.clone(),
        kind: HopKind::Device,
        rate_bytes_per_s: None,
        formula: None,
    };
    let limits = through.iter().map(|index| {
        let limit = &file.limits[*index];
        let rate = match (limit.rates, session.direction) {
            (LimitRates::Together(rate), _) => rate,
            (
                LimitRates::Apart {
                    read_bytes_per_s, ..
                },
                Direction::Read,
            ) => read_bytes_per_s,
            (
                LimitRates::Apart {
                    write_bytes_per_s, ..
                },
                Direction::Write,
            ) => write_bytes_per_s,
        };
        TopologyHop {
            id: format!("{}:limit.{}", disk.machine, limit.name),
            name: format!("the limit \"{}\" in the machine file", limit.name),
            kind: HopKind::SimulatedLimit,
            rate_bytes_per_s: Some(rate),
            formula: limit.formula.clone(),
        }
    });
    let mut place = vec![disk.machine as u64];
    place.extend(through.iter().rev().map(|index| *index as u64));
    place.push(disk.disk as u64);
    (std::iter::once(own).chain(limits).collect(), Some(place))
}

/// The layers of devices under the target, then the path of each disk at the bottom.
fn real_way(target: &OpenTarget, roots: &Roots) -> (Vec<TopologyHop>, Option<PathPlace>) {
    let devices = devices_of(target, roots);
    let mut hops: Vec<TopologyHop> = Vec::new();
    let mut place = None;
    for device in &devices {
        for path in paths_under(roots, device).unwrap_or_default() {
            place = place.or_else(|| place_of(target, device, &path));
        }
        for hop in hops_under(device, roots) {
            add(&mut hops, hop);
        }
    }
    (hops, place)
}

/// The hops that the data of a device passes: the devices from which it is built, then the path of
/// each disk at the bottom.
fn hops_under(device: &BlockDevice, roots: &Roots) -> Vec<TopologyHop> {
    let mut hops: Vec<TopologyHop> = Vec::new();
    for layer in layers_under_device(roots, device).unwrap_or_default() {
        add(&mut hops, device_hop(layer.name()));
    }
    for path in paths_under(roots, device).unwrap_or_default() {
        // The disk itself is among the layers already.
        for hop in path.hops.iter().skip(1) {
            let hop = TopologyHop {
                id: hop.id.clone(),
                name: hop.name.clone(),
                kind: hop.kind,
                rate_bytes_per_s: hop.rate_bytes_per_s,
                formula: hop.formula.clone(),
            };
            add(&mut hops, hop);
        }
    }
    hops
}

fn devices_of(target: &OpenTarget, roots: &Roots) -> Vec<BlockDevice> {
    match (target.target.kind, target.target.device, &target.path) {
        (TargetKind::BlockDevice, Some((major, minor)), _) => {
            device_of_number(roots, major, minor).into_iter().collect()
        }
        (TargetKind::File | TargetKind::ScratchFile, _, Some(path)) => file_system_of(roots, path)
            .and_then(|file_system| disks_under_file_system(roots, &file_system))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The place of a device is that of its disk, and within the disk its own number.
fn place_of(target: &OpenTarget, device: &BlockDevice, path: &DiskPath) -> Option<PathPlace> {
    let (major, minor) = target.target.device?;
    let is_device = target.target.kind == TargetKind::BlockDevice;
    let mut place = path.order.clone();
    if is_device && device.name() != path.disk {
        place.extend([u64::from(major), u64::from(minor)]);
    }
    Some(place)
}

fn device_hop(name: &str) -> TopologyHop {
    TopologyHop {
        id: format!("device {name}"),
        name: name.to_owned(),
        kind: HopKind::Device,
        rate_bytes_per_s: None,
        formula: None,
    }
}

fn add(hops: &mut Vec<TopologyHop>, hop: TopologyHop) {
    if hops.iter().all(|known| known.id != hop.id) {
        hops.push(hop);
    }
}

#[cfg(test)]
mod tests;
