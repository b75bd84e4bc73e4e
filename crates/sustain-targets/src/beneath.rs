//! Detects foreign I/O beneath the devices that are driven: on a disk beside the partitions in use,
//! and on the devices under arrays, volumes and loop devices. The bytes of this process appear
//! there again; the part of the traffic that the devices above passed down is its own. Called by
//! `counted_once`.

use std::path::Path;

use sustain_document::block_device::BlockDevice;
use sustain_host::{
    Roots, device_named, devices_directly_under, file_system_of, layers_under_device,
};

/// File systems that write a file's data once and little else. It is not known what other file
/// systems write for each record (a copy elsewhere, a second copy, a log), so foreign I/O cannot be
/// told from it.
pub(crate) const WRITES_ONCE: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "vfat", "exfat"];

/// Of arrays and volumes that are no smaller than this part of what they lie on none keeps copies.
const NO_COPIES_MIN: f64 = 0.999;

/// Devices whose counters are compared with those of others above them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beneath {
    /// The devices that have seen the bytes of this process, and perhaps foreign I/O.
    pub(crate) seen_on: Vec<String>,
    /// Everything that those have seen came through these, if there is no foreign I/O.
    pub(crate) own_on: Vec<String>,
}

/// The devices beneath these targets that can be compared. Disks of `counted` are left out, because
/// what is driven to them is known.
pub(crate) fn beneath(targets: &[BlockDevice], counted: &[&str], roots: &Roots) -> Vec<Beneath> {
    let mut layers: Vec<BlockDevice> = Vec::new();
    for layer in targets
        .iter()
        .flat_map(|target| layers_under_device(roots, target).unwrap_or_default())
    {
        if layers.iter().all(|known| known.name() != layer.name()) {
            layers.push(layer);
        }
    }
    let stacks: Vec<Stack> = layers
        .iter()
        .filter(|layer| layer.whole_disk.is_none())
        .map(|layer| Stack {
            device: layer,
            parts: devices_directly_under(roots, layer),
        })
        .filter(|stack| !stack.parts.is_empty())
        .collect();
    let is_target = |name: &String| targets.iter().any(|target| target.name() == name);
    let is_known = |one: &Beneath| {
        let mut names = one.seen_on.iter();
        names.any(|name| counted.contains(&name.as_str()) || is_target(name))
    };
    let mut found = beside_partitions(&layers, &stacks);
    found.extend(under_stacks(&stacks, roots));
    found.retain(|one| !is_known(one));
    found
}

/// An array, a volume or a loop device, and the devices directly under it.
struct Stack<'a> {
    device: &'a BlockDevice,
    parts: Vec<String>,
}

/// Disks of which only partitions are in use: the rest of their traffic is foreign I/O, however
/// often the bytes of this process appear.
fn beside_partitions(layers: &[BlockDevice], stacks: &[Stack<'_>]) -> Vec<Beneath> {
    let partitions_of = |disk: &BlockDevice| -> Vec<String> {
        let of_disk = |layer: &&BlockDevice| {
            let whole = layer.whole_disk.as_ref();
            whole.is_some_and(|whole| whole.name == disk.name())
        };
        let partitions = layers.iter().filter(of_disk);
        partitions.map(|layer| layer.name().to_owned()).collect()
    };
    let is_used_whole = |disk: &BlockDevice| {
        let mut parts = stacks.iter().flat_map(|stack| &stack.parts);
        parts.any(|part| part == disk.name())
    };
    let disks = layers.iter().filter(|layer| layer.whole_disk.is_none());
    disks
        .filter(|disk| !is_used_whole(disk))
        .map(|disk| Beneath {
            seen_on: vec![disk.name().to_owned()],
            own_on: partitions_of(disk),
        })
        .filter(|one| !one.own_on.is_empty())
        .collect()
}

/// The devices under arrays, volumes and loop devices that pass each byte down exactly once. Those
/// that share a part are taken together.
fn under_stacks(stacks: &[Stack<'_>], roots: &Roots) -> Vec<Beneath> {
    let mut left: Vec<&Stack<'_>> = stacks.iter().collect();
    let mut found = Vec::new();
    while let Some(first) = left.pop() {
        let mut group = vec![first];
        let mut seen_on = first.parts.clone();
        while let Some(place) = left
            .iter()
            .position(|stack| stack.parts.iter().any(|part| seen_on.contains(part)))
        {
            let stack = left.swap_remove(place);
            seen_on.extend(stack.parts.iter().cloned());
            group.push(stack);
        }
        seen_on.sort_unstable();
        seen_on.dedup();
        if group.iter().all(|stack| passes_once(stack, roots)) {
            let own_on = group.iter().map(|stack| stack.device.name().to_owned());
            found.push(Beneath {
                own_on: own_on.collect(),
                seen_on,
            });
        }
    }
    found
}

/// Whether each byte that goes to or comes from a device moves once through the devices under it,
/// and little besides. Mirrors, parity, snapshots and thin volumes move more, in an unknown amount.
fn passes_once(stack: &Stack<'_>, roots: &Roots) -> bool {
    let name = stack.device.name();
    let of_sysfs = |device: &str, path: &str| {
        let place = roots.sys.join("class/block").join(device).join(path);
        std::fs::read_to_string(place).map_or_else(|_| String::new(), |text| text.trim().to_owned())
    };
    if let Some(file) = &stack.device.loop_backing_file {
        // Through the page cache its bytes reach the disk at other times, and some never do.
        return file.starts_with("/dev")
            || of_sysfs(name, "loop/dio") == "1" && writes_once(file, roots);
    }
    if name.starts_with("md") {
        return ["raid0", "linear"].contains(&of_sysfs(name, "md/level").as_str());
    }
    let uuid = of_sysfs(name, "dm/uuid");
    let is_of_lvm = |device: &String| of_sysfs(device, "dm/uuid").starts_with("LVM-");
    if uuid.starts_with("LVM-") {
        // Volumes on parts that LVM keeps for itself are mirrors, snapshots and the like.
        return !stack.parts.iter().any(is_of_lvm);
    }
    if uuid.starts_with("CRYPT-") {
        // With integrity each byte also goes to a journal.
        return !uuid.starts_with("CRYPT-INTEGRITY") && !uuid.starts_with("CRYPT-SUBDEV");
    }
    let of_part = |part: &String| device_named(roots, part).map_or(0, |one| one.node.size_bytes);
    let parts_bytes: u64 = stack.parts.iter().map(of_part).sum();
    // Of the others the kernel does not say what they do; those that keep copies are smaller.
    name.starts_with("dm-")
        && stack.device.node.size_bytes as f64 >= NO_COPIES_MIN * parts_bytes as f64
}

fn writes_once(file: &Path, roots: &Roots) -> bool {
    let file_system = file_system_of(roots, file);
    file_system.is_ok_and(|found| WRITES_ONCE.contains(&found.kind.as_str()))
}
