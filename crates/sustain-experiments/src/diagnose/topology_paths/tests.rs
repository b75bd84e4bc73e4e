//! Where a wall is said to sit on machines of several shapes, from sysfs as kernels of today write
//! it to the words.

use std::fs;
use std::os::unix::fs::symlink;

use sustain_host::device_named;
use tempfile::TempDir;

use super::*;
use crate::diagnose::diagnosis_words;
use crate::diagnose::explain::{Explanation, explain};

/// A made-up sysfs; its disks have numbers that no real device has.
struct Machine {
    _directory: TempDir,
    roots: Roots,
    disks: u32,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Machine {
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: directory.path().join("sys"),
            proc: directory.path().join("proc"),
        };
        for place in ["dev/block", "block", "class/block", "devices"] {
            fs::create_dir_all(roots.sys.join(place)).unwrap();
        }
        let machine = Machine {
            _directory: directory,
            roots,
            disks: 0,
        };
        files
            .iter()
            .for_each(|(name, text)| machine.write(name, text));
        machine
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.roots.sys.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn link(&self, from: &str, to: &str) {
        let from = self.roots.sys.join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        fs::create_dir_all(self.roots.sys.join(to)).unwrap();
        symlink(self.roots.sys.join(to), from).unwrap();
    }

    fn disk(&mut self, place: &str) {
        let name = place.rsplit('/').next().unwrap();
        let number = format!("300:{}", self.disks);
        self.disks += 1;
        for (file, text) in [("dev", number.as_str()), ("size", "2048"), ("ro", "0")] {
            self.write(&format!("{place}/{file}"), text);
        }
        let by_number = format!("dev/block/{number}");
        for link in [
            by_number,
            format!("block/{name}"),
            format!("class/block/{name}"),
        ] {
            self.link(&link, place);
        }
    }

    /// A volume or an array over these.
    fn stack(&mut self, name: &str, parts: &[&str]) {
        self.disk(&format!("devices/virtual/block/{name}"));
        for part in parts {
            self.write(
                &format!("devices/virtual/block/{name}/slaves/{part}/dev"),
                "300:99",
            );
        }
    }

    /// The words on a wall of the first `members` of these devices.
    fn said(&self, devices: &[&str], members: usize, limit_mb_per_s: f64) -> String {
        let way = |name: &&str| TopologyPath {
            target: (*name).to_owned(),
            hops: hops_under(&device_named(&self.roots, name).unwrap(), &self.roots),
        };
        let ways: Vec<TopologyPath> = devices.iter().map(way).collect();
        let members: Vec<usize> = (0..members).collect();
        match explain(&members, limit_mb_per_s * 1e6, &ways) {
            Explanation::Hop { hop, cause, .. } => diagnosis_words::hop(&hop.name, &cause),
            Explanation::None(why) => format!("none: {}", diagnosis_words::not_explained(&why)),
        }
    }
}

const AHCI: &str = "devices/pci0000:00/0000:00:1f.2";

/// Two drives on a port multiplier, a third one on a port of its own.
fn port_multiplier() -> Machine {
    let mut machine = Machine::new(&[
        (&format!("{AHCI}/class"), "0x010601"),
        (&format!("{AHCI}/ata10/ata_port/ata10/nr_pmp_links"), "5"),
        (
            &format!("{AHCI}/ata10/link10/ata_link/link10/sata_spd"),
            "3.0 Gbps",
        ),
        (
            &format!("{AHCI}/ata10/link10/dev10.0/ata_device/dev10.0/class"),
            "pmp",
        ),
        (
            &format!("{AHCI}/ata10/link10.0/ata_link/link10.0/sata_spd"),
            "3.0 Gbps",
        ),
        (
            &format!("{AHCI}/ata10/link10.1/ata_link/link10.1/sata_spd"),
            "3.0 Gbps",
        ),
        (
            &format!("{AHCI}/ata1/link1/ata_link/link1/sata_spd"),
            "3.0 Gbps",
        ),
    ]);
    machine.disk(&format!(
        "{AHCI}/ata10/host2/target2:0:0/2:0:0:0/block/sdzza"
    ));
    machine.disk(&format!(
        "{AHCI}/ata10/host2/target2:1:0/2:1:0:0/block/sdzzb"
    ));
    machine.disk(&format!(
        "{AHCI}/ata1/host0/target0:0:0/0:0:0:0/block/sdzzc"
    ));
    machine
}

#[test]
fn a_port_multiplier_is_held_by_the_port_that_it_hangs_on() {
    let machine = port_multiplier();
    assert_eq!(
        machine.said(&["sdzza", "sdzzb", "sdzzc"], 2, 250.0),
        "SATA port ata10: 250 MB/s of the 300 MB/s that it can carry, 83 %"
    );
    let none = machine.said(&["sdzza", "sdzzc", "sdzzb"], 2, 250.0);
    assert!(none.starts_with("none: the nearest thing"), "{none}");
    assert!(none.ends_with("sdzzb passes through it too"), "{none}");
}

#[test]
fn drives_behind_an_expander_share_its_wide_port() {
    const SAS: &str = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/host0";
    let mut machine = Machine::new(&[(
        "devices/pci0000:00/0000:00:01.0/0000:01:00.0/class",
        "0x010700",
    )]);
    let phy = |place: &str, name: &str| {
        machine.write(
            &format!("{place}/{name}/sas_phy/{name}/negotiated_linkrate"),
            "6.0 Gbit",
        );
    };
    let expander = format!("{SAS}/port-0:0/expander-0:0");
    for index in 0..5 {
        let name = format!("phy-0:{index}");
        phy(SAS, &name);
        let port = if index < 4 { "port-0:0" } else { "port-0:1" };
        machine.link(&format!("{SAS}/{port}/{name}"), &format!("{SAS}/{name}"));
    }
    for index in 0..2 {
        let name = format!("phy-0:0:{index}");
        phy(&expander, &name);
        let port = format!("{expander}/port-0:0:{index}");
        machine.link(&format!("{port}/{name}"), &format!("{expander}/{name}"));
    }
    machine.write(
        &format!("{expander}/sas_expander/expander-0:0/vendor_id"),
        "LSI",
    );
    let end = |index: u32| format!("{expander}/port-0:0:{index}/end_device-0:0:{index}");
    machine.disk(&format!("{}/target0:0:0/0:0:0:0/block/sdzza", end(0)));
    machine.disk(&format!("{}/target0:0:1/0:0:1:0/block/sdzzb", end(1)));
    let own = format!("{SAS}/port-0:1/end_device-0:1");
    machine.disk(&format!("{own}/target0:0:2/0:0:2:0/block/sdzzc"));
    assert_eq!(
        machine.said(&["sdzza", "sdzzb", "sdzzc"], 2, 2000.0),
        "SAS port 0:0 of 4 phys: 2.00 GB/s of the 2.40 GB/s that it can carry, 83 %"
    );
}

#[test]
fn nvme_drives_behind_one_switch_share_its_link() {
    const ROOT: &str = "devices/pci0000:40/0000:40:01.1";
    let mut machine = Machine::new(&[]);
    let pcie = |place: &str, class: &str, lanes: &str| {
        for (file, text) in [
            ("class", class),
            ("current_link_speed", "8.0 GT/s PCIe"),
            ("current_link_width", lanes),
            ("max_link_speed", "8.0 GT/s PCIe"),
            ("max_link_width", lanes),
        ] {
            machine.write(&format!("{place}/{file}"), text);
        }
    };
    let upper = format!("{ROOT}/0000:41:00.0");
    pcie(ROOT, "0x060400", "4");
    pcie(&upper, "0x060400", "4");
    let places: Vec<String> = [("42:04.0", "43:00.0", 90), ("42:08.0", "44:00.0", 91)]
        .iter()
        .map(|(lower, device, number)| {
            let lower = format!("{upper}/0000:{lower}");
            let device = format!("{lower}/0000:{device}");
            pcie(&lower, "0x060400", "4");
            pcie(&device, "0x010802", "4");
            machine.write(&format!("{device}/nvme/nvme{number}/transport"), "pcie");
            format!("{device}/nvme/nvme{number}/nvme{number}n1")
        })
        .collect();
    places.iter().for_each(|place| machine.disk(place));
    let said = machine.said(&["nvme90n1", "nvme91n1"], 2, 3300.0);
    let link = "PCIe link 3.0 x4 of 0000:41:00: 3.30 GB/s of the 3.94 GB/s that it can carry, 84 %";
    assert_eq!(said, link);
    // Each has four lanes of its own, and so have both together.
    let low = machine.said(&["nvme90n1", "nvme91n1"], 2, 1500.0);
    assert!(low.contains("so the limit is not the link"), "{low}");
}

#[test]
fn drives_on_a_hub_share_its_port() {
    const XHCI: &str = "devices/pci0000:00/0000:00:14.0";
    let mut machine = Machine::new(&[
        (&format!("{XHCI}/class"), "0x0c0330"),
        (&format!("{XHCI}/usb2/speed"), "10000"),
        (&format!("{XHCI}/usb2/2-1/speed"), "5000"),
        (&format!("{XHCI}/usb2/2-1/rx_lanes"), "1"),
    ]);
    for (device, name, host, disk) in [
        ("2-1/2-1.1", "2-1.1", 6, "sdzza"),
        ("2-1/2-1.2", "2-1.2", 7, "sdzzb"),
        ("2-2", "2-2", 8, "sdzzc"),
    ] {
        let device = format!("{XHCI}/usb2/{device}");
        machine.write(&format!("{device}/speed"), "5000");
        machine.write(&format!("{device}/rx_lanes"), "1");
        let host = format!("{device}/{name}:1.0/host{host}/target{host}:0:0/{host}:0:0:0");
        machine.disk(&format!("{host}/block/{disk}"));
    }
    assert_eq!(
        machine.said(&["sdzza", "sdzzb", "sdzzc"], 2, 400.0),
        "USB port 2-1: 400 MB/s of the 500 MB/s that it can carry, 80 %"
    );
}

#[test]
fn volumes_of_one_group_lie_on_its_disk_and_on_the_array_below_it() {
    let mut machine = port_multiplier();
    machine.stack("dm-901", &["sdzza"]);
    machine.stack("dm-902", &["sdzza"]);
    assert_eq!(
        machine.said(&["dm-901", "dm-902", "sdzzc"], 2, 90.0),
        "sdzza: all of them are on it"
    );
    machine.stack("md900", &["sdzza", "sdzzb"]);
    machine.stack("dm-903", &["md900"]);
    machine.stack("dm-904", &["md900"]);
    assert_eq!(
        machine.said(&["dm-903", "dm-904", "sdzzc"], 2, 90.0),
        "md900: all of them are on it"
    );
    // Two groups on disks of their own share what these hang on.
    machine.stack("dm-905", &["sdzzb"]);
    assert_eq!(
        machine.said(&["dm-901", "dm-905", "sdzzc"], 2, 250.0),
        "SATA port ata10: 250 MB/s of the 300 MB/s that it can carry, 83 %"
    );
}
