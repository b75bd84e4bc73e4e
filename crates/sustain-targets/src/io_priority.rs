//! What an I/O priority does on the way to the disks of a target. An I/O scheduler is what puts one
//! request before another, and disks of which many requests are in flight often have none. So it is
//! said for each target, from sysfs. Best effort: what cannot be read is not known.

use std::path::Path;

use sustain_disk::target::{Target, TargetKind};
use sustain_document::block_device::BlockDevice;
use sustain_document::share::{DeviceScheduler, MemberPriority, PriorityEffect};
use sustain_host::{Roots, device_named, devices_directly_under, layers_under_device};

use crate::devices::{devices_of_file, devices_of_place, own_device};

/// What a disk without a scheduler has in its place.
const NO_SCHEDULER: &str = "none";
/// Since this version of the kernel, mq-deadline looks at priorities.
const MQ_DEADLINE_SINCE: (u32, u32) = (5, 14);

/// What an I/O priority does for an open target, which comes with its path in the file system, if
/// it has one.
pub fn io_priority_of(target: &Target, path: Option<&Path>, roots: &Roots) -> MemberPriority {
    let devices = match own_device(target, roots) {
        Some(device) => vec![device],
        None => devices_of_file(target, path, roots),
    };
    let is_cached = target.kind != TargetKind::Simulated && target.is_cached();
    priority_on(&target.name, is_cached, &devices, roots)
}

/// What an I/O priority will do for a file that is to be made in this directory.
pub fn io_priority_within(directory: &Path, roots: &Roots) -> MemberPriority {
    let devices = devices_of_place(directory, roots);
    priority_on(&directory.display().to_string(), false, &devices, roots)
}

fn priority_on(
    name: &str,
    is_cached: bool,
    devices: &[BlockDevice],
    roots: &Roots,
) -> MemberPriority {
    let (mut schedulers, mut through) = (Vec::new(), Vec::new());
    let layers = devices
        .iter()
        .flat_map(|device| layers_under_device(roots, device).unwrap_or_default());
    for layer in layers {
        let name = layer.name().to_owned();
        if devices_directly_under(roots, &layer).is_empty() {
            let disk = scheduler_of(&layer, roots);
            if !schedulers.contains(&disk) {
                schedulers.push(disk);
            }
        } else if !layer.is_partition() && !through.contains(&name) {
            through.push(name);
        }
    }
    let release = std::fs::read_to_string(roots.proc.join("sys/kernel/osrelease"));
    MemberPriority {
        name: name.to_owned(),
        effect: effect(
            is_cached,
            &schedulers,
            !through.is_empty(),
            &release.unwrap_or_default(),
        ),
        is_cached,
        is_passthrough: false,
        schedulers,
        through,
    }
}

fn scheduler_of(disk: &BlockDevice, roots: &Roots) -> DeviceScheduler {
    let whole = device_named(roots, disk.whole_disk_name());
    let scheduler = whole.ok().and_then(|disk| disk.scheduler);
    DeviceScheduler {
        device: disk.whole_disk_name().to_owned(),
        scheduler: scheduler.unwrap_or_else(|| NO_SCHEDULER.to_owned()),
    }
}

fn effect(
    is_cached: bool,
    schedulers: &[DeviceScheduler],
    is_through_others: bool,
    release: &str,
) -> PriorityEffect {
    let heeding = schedulers
        .iter()
        .filter(|disk| heeds_priorities(&disk.scheduler, release))
        .count();
    match heeding {
        _ if schedulers.is_empty() => PriorityEffect::Unclear,
        0 => PriorityEffect::Ignored,
        _ if is_cached => PriorityEffect::Ignored,
        all if all == schedulers.len() && !is_through_others => PriorityEffect::Heeded,
        _ => PriorityEffect::Unclear,
    }
}

/// Whether this scheduler of a kernel of this release puts requests of a higher priority first.
fn heeds_priorities(scheduler: &str, release: &str) -> bool {
    match scheduler {
        "bfq" | "cfq" => true,
        "mq-deadline" => version(release).is_none_or(|version| version >= MQ_DEADLINE_SINCE),
        _ => false,
    }
}

/// The first two numbers of a release such as `6.12.48-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{system, target, write};

    fn disk(scheduler: &str) -> DeviceScheduler {
        DeviceScheduler {
            device: "sdz".to_owned(),
            scheduler: scheduler.to_owned(),
        }
    }

    #[test]
    fn what_a_priority_does_follows_from_the_schedulers_and_what_lies_between() {
        use PriorityEffect::{Heeded, Ignored, Unclear};
        let new = "6.12.48-amd64";
        for (schedulers, is_cached, is_through, release, expected) in [
            (&["mq-deadline"][..], false, false, new, Heeded),
            (&["bfq"], false, false, "4.19.0", Heeded),
            (&["mq-deadline"], false, false, "5.13.19", Ignored),
            (&["mq-deadline"], false, false, "5.14.0-rc1", Heeded),
            (&["none"], false, false, new, Ignored),
            (&["kyber"], false, true, new, Ignored),
            (&["mq-deadline"], true, false, new, Ignored),
            (&["mq-deadline"], false, true, new, Unclear),
            (&["mq-deadline", "none"], false, false, new, Unclear),
            (&[], false, false, new, Unclear),
        ] {
            let disks: Vec<_> = schedulers.iter().map(|name| disk(name)).collect();
            let found = effect(is_cached, &disks, is_through, release);
            assert_eq!(found, expected, "{schedulers:?} {is_cached} {is_through}");
        }
    }

    #[test]
    fn a_partition_has_the_scheduler_of_its_disk_and_an_array_those_of_its_parts() {
        let (_directory, roots) = system(&[
            ("sdz", "300:0"),
            ("sdz/sdz1", "300:1"),
            ("sdy", "300:16"),
            ("md0", "300:32"),
        ]);
        let queue = |name: &str, text: &str| {
            let path = roots.sys.join("devices").join(name).join("queue/scheduler");
            write(&path, text);
        };
        queue("sdz", "none [mq-deadline] kyber\n");
        queue("sdy", "[none] mq-deadline\n");
        write(&roots.proc.join("sys/kernel/osrelease"), "6.12.48\n");
        for part in ["sdz", "sdy"] {
            let slave = roots.sys.join("devices/md0/slaves").join(part);
            std::fs::create_dir_all(slave).unwrap();
        }
        let of = |minor| {
            let target = Target {
                device: Some((300, minor)),
                ..target(TargetKind::BlockDevice)
            };
            io_priority_of(&target, None, &roots)
        };
        let on_partition = of(1);
        assert_eq!(on_partition.schedulers, [disk("mq-deadline")]);
        assert_eq!(on_partition.effect, PriorityEffect::Heeded);
        assert!(on_partition.through.is_empty());
        assert_eq!(of(16).effect, PriorityEffect::Ignored);
        let on_array = of(32);
        assert_eq!(on_array.through, ["md0"]);
        assert_eq!(on_array.effect, PriorityEffect::Unclear);
        let mut names: Vec<&str> = on_array
            .schedulers
            .iter()
            .map(|disk| disk.scheduler.as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["mq-deadline", "none"]);
    }

    #[test]
    fn of_what_lies_on_no_disk_nothing_is_known() {
        let found = io_priority_of(&target(TargetKind::Simulated), None, &Roots::default());
        assert_eq!(found.effect, PriorityEffect::Unclear);
        assert!(found.schedulers.is_empty() && !found.is_cached);
    }
}
