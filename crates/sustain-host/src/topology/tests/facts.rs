//! What `devices` knows of each block device, and how it gets by with a sysfs that says little.

use sustain_document::devices::{DeviceFacts, DeviceKind, DevicesDocument};

use super::super::Topology;
use super::trees::{self, write};
use super::*;
use crate::block_device::device_named;
use crate::topology::devices_document;

fn disks(topology: &Topology) -> Vec<&str> {
    let disks = topology.disks.iter();
    disks.map(|disk| disk.path.disk.as_str()).collect()
}

#[track_caller]
fn layer<'a>(topology: &'a Topology, name: &str) -> &'a DeviceFacts {
    let mut layers = topology.layers.iter();
    layers.find(|layer| layer.device.name() == name).unwrap()
}

fn reasons(facts: &DeviceFacts) -> Vec<&str> {
    facts
        .why_not
        .iter()
        .map(|why| why.reason.as_str())
        .collect()
}

/// Two SATA disks: one with the system and a half of a RAID, one with the other half and swap; a
/// third one free, which lies under a loop device; and one with an image under a loop device.
fn stacked() -> FakeHost {
    let host = trees::ahci_with_port_multiplier();
    host.partition("sdzza", "sdzza1", 300, 101, 1000);
    host.partition("sdzza", "sdzza2", 300, 102, 1000);
    host.partition("sdzzb", "sdzzb1", 300, 103, 1000);
    host.partition("sdzzb", "sdzzb2", 300, 104, 1000);
    let raid = host.disk("md900", 309, 0, 2000);
    let mapper = host.disk("dm-900", 310, 0, 2000);
    host.write_under(&mapper, "dm/name", "vg-data\n");
    for (above, below) in [
        ("md900", "sdzza2"),
        ("md900", "sdzzb1"),
        ("dm-900", "md900"),
    ] {
        write(
            &host,
            &[
                (&format!("class/block/{above}/slaves/{below}/marker"), ""),
                (&format!("class/block/{below}/holders/{above}/marker"), ""),
            ],
        );
    }
    assert!(raid.join("slaves").is_dir());
    let over = host.disk("loop900", 311, 0, 2000);
    host.write_under(&over, "loop/backing_file", "/dev/sdzzc\n");
    host.disk("loop901", 311, 1, 0);
    host.disk("ram0", 1, 900, 8192);
    host.disk("zram900", 312, 0, 8192);
    host.write_proc(
        "self/mountinfo",
        "20 1 300:101 / / rw - ext4 /dev/root rw\n21 1 310:0 / /data rw - xfs /dev/dm-900 rw\n",
    );
    let swaps = "Filename Type Size Used Priority\n/dev/sdzzb2 partition 500 0 -2\n";
    host.write_proc("swaps", swaps);
    host
}

#[test]
fn each_device_says_what_it_lies_on_and_how_it_is_used() {
    let host = stacked();
    let topology = Topology::read(host.roots());
    assert_eq!(topology.notes, Vec::<String>::new());
    assert_eq!(
        disks(&topology),
        ["sdzza", "sdzzb", "sdzzd", "sdzzc", "zram900"]
    );
    assert_eq!(topology.disks[4].facts.kind, DeviceKind::Zram);
    let mut names: Vec<&str> = topology
        .layers
        .iter()
        .map(|layer| layer.device.name())
        .collect();
    names.sort_unstable();
    let expected = [
        "dm-900", "loop900", "md900", "sdzza1", "sdzza2", "sdzzb1", "sdzzb2",
    ];
    assert_eq!(
        names, expected,
        "neither a loop device without a file nor a RAM disk"
    );
    let raid = layer(&topology, "md900");
    assert_eq!(
        (raid.kind, &raid.lies_on[..]),
        (DeviceKind::Md, &["sdzza2".into(), "sdzzb1".into()][..])
    );
    let mapper = layer(&topology, "dm-900");
    assert_eq!(mapper.kind, DeviceKind::Dm);
    assert_eq!(mapper.mount_points, [std::path::PathBuf::from("/data")]);
    let over = layer(&topology, "loop900");
    assert_eq!(
        (over.kind, &over.lies_on[..]),
        (DeviceKind::Loop, &["sdzzc".into()][..])
    );
    assert!(layer(&topology, "sdzzb2").swap);
}

#[test]
fn the_guard_says_what_may_be_written_and_why_not() {
    let host = stacked();
    let topology = Topology::read(host.roots());
    let [first, second, fourth, third, _] = &topology.disks[..] else {
        panic!("{:?}", disks(&topology));
    };
    assert_eq!(first.facts.may_be_written, Some(false));
    let expected = ["sdzza1 is mounted on /", "sdzza2 is part of md900"];
    assert_eq!(reasons(&first.facts), expected);
    assert!(
        first.facts.why_not[0]
            .advice
            .contains("choose another target")
    );
    let expected = ["sdzzb1 is part of md900", "sdzzb2 is active swap"];
    assert_eq!(reasons(&second.facts), expected);
    assert_eq!(reasons(&third.facts), ["it backs loop900"]);
    assert_eq!(
        (fourth.facts.may_be_written, reasons(&fourth.facts).len()),
        (Some(true), 0)
    );
    assert_eq!(
        reasons(layer(&topology, "md900")),
        ["it is part of vg-data"]
    );
    assert_eq!(
        reasons(layer(&topology, "dm-900")),
        ["it is mounted on /data"]
    );
    assert_eq!(layer(&topology, "loop900").may_be_written, Some(true));
}

#[test]
fn a_loop_device_is_refused_for_what_is_under_it_by_name() {
    let host = stacked();
    let over = host.disk("loop902", 311, 2, 2000);
    host.write_under(&over, "loop/backing_file", "/dev/sdzzc\n");
    let topology = Topology::read(host.roots());
    let loop900 = layer(&topology, "loop900");
    assert_eq!(reasons(loop900), ["sdzzc backs loop902"]);
    assert!(
        loop900.why_not[0]
            .advice
            .contains("must not be written either")
    );
}

#[test]
fn only_the_disks_under_what_was_named_are_kept() {
    let host = stacked();
    let only = |name: &str| {
        let device = device_named(host.roots(), name).unwrap();
        Topology::read(host.roots()).only_under(host.roots(), &[device])
    };
    let topology = only("sdzzb2");
    assert_eq!(disks(&topology), ["sdzzb"]);
    let names: Vec<&str> = topology
        .layers
        .iter()
        .map(|layer| layer.device.name())
        .collect();
    assert_eq!(names, ["sdzzb1", "sdzzb2", "md900", "dm-900"]);
    assert_eq!(disks(&only("dm-900")), ["sdzza", "sdzzb"]);
    assert_eq!(disks(&only("loop900")), ["sdzzc"]);
}

#[test]
fn a_container_without_sysfs_says_what_could_not_be_read() {
    let host = FakeHost::new();
    std::fs::remove_dir_all(&host.roots().sys).unwrap();
    let topology = Topology::read(host.roots());
    assert!(topology.disks.is_empty() && topology.layers.is_empty());
    let notes = topology.notes.join("\n");
    assert!(notes.contains("/block"), "{notes}");
    assert!(notes.contains("are /sys and /proc mounted"), "{notes}");
}

#[test]
fn without_the_table_of_mounts_nothing_is_called_free() {
    let host = stacked();
    std::fs::remove_file(host.roots().proc.join("self/mountinfo")).unwrap();
    let topology = Topology::read(host.roots());
    assert_eq!(disks(&topology).len(), 5);
    let all = topology.disks.iter().map(|disk| &disk.facts);
    for facts in all.chain(&topology.layers) {
        assert_eq!(facts.may_be_written, None, "{}", facts.device.name());
    }
    assert!(topology.notes[0].starts_with("what is in use cannot be determined"));
}

#[test]
fn a_device_that_cannot_be_read_is_left_out_with_a_note() {
    let host = stacked();
    let place = trees::place_of(&host, "sdzzd");
    std::fs::remove_file(place.join("size")).unwrap();
    let topology = Topology::read(host.roots());
    assert_eq!(disks(&topology), ["sdzza", "sdzzb", "sdzzc", "zram900"]);
    assert_eq!(topology.notes.len(), 1);
    assert!(
        topology.notes[0].starts_with("sdzzd is left out"),
        "{:?}",
        topology.notes
    );
}

#[test]
fn the_hidden_ways_of_a_multipath_disk_are_no_disks() {
    let host = trees::nvme_behind_a_switch();
    let hidden = host.disk("nvme90c1n1", 301, 77, 4096);
    host.write_under(&hidden, "hidden", "1\n");
    let topology = Topology::read(host.roots());
    assert_eq!(disks(&topology), ["nvme90n1", "nvme91n1"]);
}

#[test]
fn the_document_comes_back_from_json_as_it_was() {
    let document = devices_document(Topology::read(trees::nvme_behind_a_switch().roots()));
    let json = serde_json::to_value(&document).unwrap();
    let link = &json["disks"][1]["path"]["hops"][2];
    assert_eq!(link["kind"], "pcie_link");
    assert_eq!(
        link["slow"],
        "runs at 2.5 GT/s x1; both ends can do 8 GT/s x4"
    );
    assert_eq!(link["rate_bytes_per_s"], 250e6);
    let again: DevicesDocument = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(&again).unwrap(), json);
}
