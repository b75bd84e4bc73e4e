//! The ways of disks: which hops, in which order, at which rates, and which run too slow.

use proptest::prelude::*;
use sustain_document::devices::HopKind;

use super::trees::{self, link, scsi_disk, write};
use super::*;
use crate::block_device::device_named;

#[test]
fn a_sata_disk_hangs_on_its_port() {
    let host = trees::ahci_with_port_multiplier();
    let path = path(&host, "sdzza");
    let expected = [
        "SATA port ata1",
        "AHCI controller 0000:00:1f.2 (ahci)",
        "NUMA node 0",
    ];
    assert_eq!(names(&path), expected);
    assert_eq!(rate(&path, "SATA port ata1"), (300, "3 Gbit/s x 8/10 / 8"));
    assert_eq!(
        slow(&path, "SATA port ata1"),
        None,
        "the adapter can do no more"
    );
    assert_eq!(path.hops[0].kind, HopKind::Disk);
    assert_eq!(path.hops[1].id, "devices/pci0000:00/0000:00:1f.2/ata1");
}

#[test]
fn a_sata_link_that_fell_back_is_marked() {
    let host = trees::ahci_with_port_multiplier();
    let path = path(&host, "sdzzb");
    let words = "runs at 1.5 Gbit/s; both ends can do 3 Gbit/s";
    assert_eq!(slow(&path, "SATA port ata2"), Some((300, words)));
    assert_eq!(
        rate(&path, "SATA port ata2"),
        (150, "1.5 Gbit/s x 8/10 / 8")
    );
}

#[test]
fn disks_on_a_port_multiplier_share_its_port() {
    let host = trees::ahci_with_port_multiplier();
    let [one, other] = ["sdzzd", "sdzzc"].map(|name| path(&host, name));
    let expected = [
        "multiplier port 3 (ata10.03)",
        "port multiplier on ata10",
        "SATA port ata10",
        "AHCI controller 0000:00:1f.2 (ahci)",
        "NUMA node 0",
    ];
    assert_eq!(names(&other), expected);
    assert_eq!(rate(&other, expected[0]), (150, "1.5 Gbit/s x 8/10 / 8"));
    assert_eq!(rate(&other, expected[2]), (300, "3 Gbit/s x 8/10 / 8"));
    assert_eq!(
        one.hops[2..],
        other.hops[2..],
        "from the multiplier on they are the same"
    );
    assert_ne!(one.hops[1].id, other.hops[1].id);
}

#[test]
fn a_multiplier_that_was_taken_away_counts_no_more() {
    let host = trees::ahci_with_port_multiplier();
    let count = format!("{}/ata10/ata_port/ata10/nr_pmp_links", trees::AHCI);
    write(&host, &[(&count, "0")]);
    assert_eq!(names(&path(&host, "sdzzd"))[0], "SATA port ata10");
}

#[test]
fn two_drives_share_a_cable_of_parallel_ata() {
    let host = trees::parallel_ata();
    let [one, other] = ["sdzza", "sdzzb"].map(|name| path(&host, name));
    let cable = "parallel ATA cable ata1";
    assert_eq!(
        names(&one),
        [cable, "IDE controller 0000:00:07.1", "memory"]
    );
    assert_eq!(rate(&one, cable), (67, "2 B / 30 ns"));
    assert_eq!(one.hops[1..], other.hops[1..]);
}

#[test]
fn a_drive_in_a_mode_below_its_best_is_marked() {
    let host = trees::parallel_ata();
    let [one, other] = ["sdzza", "sdzzb"].map(|name| path(&host, name).hops.remove(0));
    assert_eq!(one.transfer_mode.as_deref(), Some("UDMA/33"));
    assert_eq!(other.transfer_mode.as_deref(), Some("UDMA/66"));
    let slow = one.slow.unwrap();
    assert!(
        slow.starts_with("runs at UDMA/33; the drive can do UDMA/133"),
        "{slow}"
    );
    let slow = other.slow.unwrap();
    assert!(
        slow.contains("what the channel can do is not reported"),
        "{slow}"
    );
    // What is in use counts, not what DMA would use.
    let host = trees::parallel_ata();
    let drive = format!("{}/ata_device/dev1.0/xfer_mode", trees::CHANNEL_DRIVE);
    write(&host, &[(&drive, "XFER_PIO_4")]);
    let slow = path(&host, "sdzza").hops.remove(0).slow.unwrap();
    assert!(
        slow.starts_with("runs at PIO 4; the drive can do UDMA/133; in PIO"),
        "{slow}"
    );
}

#[test]
fn over_sata_only_pio_is_a_slow_mode() {
    let host = trees::ahci_with_port_multiplier();
    let own = |host: &FakeHost, name| path(host, name).hops.remove(0);
    for name in ["sdzza", "sdzzc"] {
        assert_eq!(
            (own(&host, name).transfer_mode, own(&host, name).slow),
            (None, None)
        );
    }
    let drive = format!(
        "{}/ata1/link1/dev1.0/ata_device/dev1.0/xfer_mode",
        trees::AHCI
    );
    write(&host, &[(&drive, "XFER_PIO_4")]);
    let disk = own(&host, "sdzza");
    assert_eq!(disk.transfer_mode.as_deref(), Some("PIO 4"));
    let put = |name: &str, text| write(&host, &[(&format!("{}/{name}", trees::AHCI), text)]);
    put(
        "ata10/link10.3/dev10.3.0/ata_device/dev10.3.0/xfer_mode",
        "XFER_PIO_0",
    );
    let told = own(&host, "sdzzc").transfer_mode;
    assert_eq!(told.as_deref(), Some("PIO 0"));
    // Directories are left of a multiplier that was taken away.
    put("ata10/ata_port/ata10/nr_pmp_links", "0");
    assert_eq!(own(&host, "sdzzc").transfer_mode, None);
    assert!(disk.slow.is_some());
}

#[test]
fn a_channel_of_which_nothing_is_told_is_not_called_serial() {
    let host = trees::emulated_ata();
    assert_eq!(names(&path(&host, "sdzza"))[0], "ATA channel ata1");
}

#[test]
fn disks_on_an_expander_share_its_wide_port() {
    let host = trees::sas_with_expander();
    let path = path(&host, "sdzza");
    let expected = [
        "SAS port 0:0:0",
        "SAS expander 0:0 LSI SAS3x28",
        "SAS port 0:0 of 4 phys",
        "SAS host adapter 0000:01:00.0 (mpt3sas)",
        "PCIe link 3.0 x8 of 0000:01:00",
        "NUMA node 1",
    ];
    assert_eq!(names(&path), expected);
    assert_eq!(rate(&path, expected[0]), (600, "6 Gbit/s x 8/10 / 8"));
    assert_eq!(rate(&path, expected[2]), (2400, "6 Gbit/s x 4 x 8/10 / 8"));
    let words = "runs at 6 Gbit/s x4; both ends can do 12 Gbit/s x4";
    assert_eq!(slow(&path, expected[2]), Some((4800, words)));
    assert_eq!(
        slow(&path, expected[0]),
        None,
        "what the drive can do is not told"
    );
    assert_eq!(
        slow(&path, expected[4]),
        None,
        "the device has only eight lanes"
    );
}

#[test]
fn phys_of_unlike_speed_are_added_up() {
    let host = trees::sas_with_expander();
    let speed = format!(
        "{}/host0/phy-0:3/sas_phy/phy-0:3/negotiated_linkrate",
        trees::SAS
    );
    write(&host, &[(&speed, "12.0 Gbit")]);
    let path = path(&host, "sdzza");
    let formula = "12 Gbit/s x 8/10 / 8 + 6 Gbit/s x 3 x 8/10 / 8";
    assert_eq!(rate(&path, "SAS port 0:0 of 4 phys"), (3000, formula));
    let words = "runs at 12 Gbit/s x1 + 6 Gbit/s x3; both ends can do 12 Gbit/s x4";
    assert_eq!(slow(&path, "SAS port 0:0 of 4 phys"), Some((4800, words)));
}

#[test]
fn a_downgraded_pcie_link_behind_a_switch_is_marked() {
    let host = trees::nvme_behind_a_switch();
    let [good, slowed] = ["nvme90n1", "nvme91n1"].map(|name| path(&host, name));
    let expected = [
        "NVMe controller 0000:44:00.0 (nvme91)",
        "PCIe link 1.0 x1 of 0000:44:00",
        "PCIe switch 0000:41:00.0",
        "PCIe link 3.0 x8 of 0000:41:00",
        "NUMA node 1",
    ];
    assert_eq!(names(&slowed), expected);
    let words = "runs at 2.5 GT/s x1; both ends can do 8 GT/s x4";
    assert_eq!(slow(&slowed, expected[1]), Some((3938, words)));
    assert_eq!(rate(&slowed, expected[1]), (250, "2.5 GT/s x 8/10 / 8"));
    assert_eq!(
        rate(&slowed, expected[3]),
        (7877, "8 GT/s x 8 x 128/130 / 8")
    );
    assert_eq!(
        slow(&slowed, expected[3]),
        None,
        "the switch can do no more"
    );
    let own = "PCIe link 3.0 x4 of 0000:43:00";
    assert_eq!(rate(&good, own), (3938, "8 GT/s x 4 x 128/130 / 8"));
    assert_eq!(slow(&good, own), None, "the switch can do no more");
    assert_eq!(
        good.hops[3..],
        slowed.hops[3..],
        "from the switch on they are the same"
    );
}

#[test]
fn functions_of_one_device_share_its_link() {
    let host = trees::nvme_behind_a_switch();
    let root = trees::NVME_ROOT;
    let upper = format!("{root}/0000:41:00.0");
    let sibling = format!("{root}/0000:41:00.1");
    let gen3 = ["8.0 GT/s PCIe", "8"];
    trees::pcie(&host, &sibling, "0x010601", gen3, gen3);
    scsi_disk(
        &host,
        &format!("{sibling}/ata1/host0"),
        "0:0:0:0",
        "sdzza",
        0,
    );
    let (sata, nvme) = (path(&host, "sdzza"), path(&host, "nvme90n1"));
    let shared = "PCIe link 3.0 x8 of 0000:41:00";
    assert_eq!(hop(&sata, shared), hop(&nvme, shared));
    assert!(upper.starts_with(&hop(&sata, shared).id.replace("/link", "")));
}

#[test]
fn a_link_that_says_nothing_has_no_rate() {
    let host = trees::nvme_behind_a_switch();
    let device = format!("{}/0000:41:00.0/0000:42:08.0", trees::NVME_ROOT);
    for end in [device.clone(), format!("{device}/0000:44:00.0")] {
        trees::pcie(
            &host,
            &end,
            trees::BRIDGE,
            ["Unknown", "0"],
            ["Unknown", "255"],
        );
    }
    let path = path(&host, "nvme91n1");
    let link = hop(&path, "PCIe link of 0000:44:00");
    assert_eq!((link.rate_bytes_per_s, &link.slow), (None, &None));
}

#[test]
fn a_link_behind_a_hot_plug_socket_states_no_rate() {
    let host = trees::nvme_behind_a_switch();
    let device = format!(
        "{}/0000:41:00.0/0000:42:08.0/0000:44:00.0",
        trees::NVME_ROOT
    );
    write(&host, &[(&format!("{device}/removable"), "removable")]);
    let path = path(&host, "nvme91n1");
    let link = hop(
        &path,
        "PCIe link of 0000:44:00, which can be unplugged: its rate is not reported",
    );
    assert_eq!((link.rate_bytes_per_s, &link.slow), (None, &None));
}

#[test]
fn an_nvme_disk_lent_to_a_guest_shows_its_near_end() {
    let host = FakeHost::new();
    let device = "devices/pci0000:00/0000:00:05.0";
    trees::pcie(
        &host,
        device,
        "0x010802",
        ["8.0 GT/s PCIe", "2"],
        ["16.0 GT/s PCIe", "4"],
    );
    host.disk_at(&format!("{device}/nvme/nvme90"), "nvme90n1", 301, 0, 4096);
    let path = path(&host, "nvme90n1");
    let expected = [
        "NVMe controller 0000:00:05.0 (nvme90)",
        "PCIe link 3.0 x2 of 0000:00:05",
        "memory",
    ];
    assert_eq!(names(&path), expected);
    assert_eq!(slow(&path, expected[1]), None, "the other end is not told");
}

#[test]
fn conventional_pci_is_a_bus_that_all_share() {
    let host = FakeHost::new();
    let bridge = "devices/pci0000:00/0000:00:1e.0";
    write(&host, &[(&format!("{bridge}/class"), trees::BRIDGE)]);
    for (minor, device, disk) in [(0, "0000:04:01.0", "sdzza"), (1, "0000:04:02.0", "sdzzb")] {
        let device = format!("{bridge}/{device}");
        write(&host, &[(&format!("{device}/class"), "0x018000")]);
        let above = format!("{device}/ata{}/host{minor}", minor + 1);
        scsi_disk(&host, &above, &format!("{minor}:0:0:0"), disk, minor);
    }
    let [one, other] = ["sdzza", "sdzzb"].map(|name| path(&host, name));
    assert_eq!(names(&one)[2], "PCI bus below 0000:00:1e.0");
    assert_eq!(one.hops[3].kind, HopKind::PciBus);
    assert_eq!(one.hops[3], other.hops[3]);
}

#[test]
fn a_volume_management_device_begins_another_domain() {
    let host = FakeHost::new();
    let device = "devices/pci0000:5d/0000:5d:05.5";
    write(&host, &[(&format!("{device}/class"), "0x010400")]);
    link(&host, &format!("{device}/driver"), "bus/pci/drivers/vmd");
    let port = format!("{device}/pci10000:00/10000:00:02.0");
    let nvme = format!("{port}/10000:01:00.0");
    let gen3 = ["8.0 GT/s PCIe", "4"];
    trees::pcie(&host, &port, trees::BRIDGE, gen3, gen3);
    trees::pcie(&host, &nvme, "0x010802", gen3, gen3);
    host.disk_at(&format!("{nvme}/nvme/nvme90"), "nvme90n1", 301, 0, 4096);
    let expected = [
        "NVMe controller 10000:01:00.0 (nvme90)",
        "PCIe link 3.0 x4 of 10000:01:00",
        "RAID controller 0000:5d:05.5 (vmd)",
        "memory",
    ];
    assert_eq!(names(&path(&host, "nvme90n1")), expected);
}

#[test]
fn an_nvme_disk_with_two_ways_goes_the_first_that_lives() {
    let host = trees::nvme_behind_a_switch();
    let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys9";
    host.disk_at(subsystem, "nvme9n1", 301, 9, 8_000_000);
    for name in ["nvme90", "nvme91"] {
        let controller = trees::place_of(&host, &format!("{name}n1"));
        let controller = controller.parent().unwrap().to_owned();
        let sys = std::fs::canonicalize(&host.roots().sys).unwrap();
        let place = controller.strip_prefix(&sys).unwrap().to_str().unwrap();
        link(&host, &format!("{subsystem}/{name}"), place);
    }
    let both = path(&host, "nvme9n1");
    assert_eq!(both.hops[0].name, "nvme9n1 (one of its 2 paths, by nvme90)");
    assert_eq!(both.hops[1..], path(&host, "nvme90n1").hops[1..]);
    write(&host, &[(&format!("{subsystem}/nvme90/state"), "dead")]);
    let alone = path(&host, "nvme9n1");
    assert_eq!(alone.hops[0].name, "nvme9n1");
    assert_eq!(alone.hops[1..], path(&host, "nvme91n1").hops[1..]);
}

#[test]
fn nvme_over_a_network_says_so() {
    let host = FakeHost::new();
    let place = "devices/virtual/nvme-fabrics/ctl/nvme90";
    host.disk_at(place, "nvme90n1", 301, 0, 4096);
    write(&host, &[(&format!("{place}/transport"), "tcp")]);
    assert_eq!(
        names(&path(&host, "nvme90n1")),
        ["NVMe over tcp (nvme90)", "memory"]
    );
}

#[test]
fn disks_on_a_usb_hub_share_its_port() {
    let host = trees::usb_hub();
    let [one, other] = ["sdzza", "sdzzb"].map(|name| path(&host, name));
    let expected = [
        "USB port 2-1.2 (uas)",
        "USB hub 2-1 USB3.0 Hub",
        "USB port 2-1",
        "xHCI USB controller 0000:00:14.0 (xhci_hcd)",
        "memory",
    ];
    assert_eq!(names(&one), expected);
    assert_eq!(names(&other)[0], "USB port 2-1.10 (usb-storage)");
    assert_eq!(rate(&one, expected[2]), (500, "5 Gbit/s x 8/10 / 8"));
    assert_eq!(one.hops[2..], other.hops[2..]);
    assert!(one.hops.iter().all(|hop| hop.slow.is_none()), "{one:#?}");
    let ids: std::collections::BTreeSet<_> = one.hops.iter().map(|hop| &hop.id).collect();
    assert_eq!(ids.len(), one.hops.len(), "a hub is not its port");
}

#[test]
fn a_usb_disk_on_an_old_cable_is_marked() {
    let host = trees::usb_hub();
    let path = path(&host, "sdzzc");
    let port = "USB port 1-3 (usb-storage)";
    assert_eq!(rate(&path, port), (53, "13 x 512 B / 125 us"));
    let words = "runs at 480 Mbit/s; both ends can do 5 Gbit/s";
    assert_eq!(slow(&path, port), Some((500, words)));
}

#[test]
fn a_usb_disk_on_an_old_socket_is_not_marked() {
    let host = trees::usb_hub();
    let peer = format!("{}/usb1/1-0:1.0/usb1-port3/peer", trees::XHCI);
    std::fs::remove_file(host.roots().sys.join(peer)).unwrap();
    assert_eq!(
        slow(&path(&host, "sdzzc"), "USB port 1-3 (usb-storage)"),
        None
    );
}

#[test]
fn virtual_disks_end_at_their_adapter() {
    let host = trees::virtio();
    let expected = ["virtio device 0000:00:02.0 (virtio-pci)", "memory"];
    assert_eq!(names(&path(&host, "vdzza")), expected);
    let expected = ["controller a000000.virtio_mmio", "memory"];
    assert_eq!(names(&path(&host, "vdzzb")), expected);
}

#[test]
fn disks_without_pci_have_a_controller_all_the_same() {
    let places = [
        (
            "devices/platform/soc/fe340000.mmc/mmc_host/mmc0/mmc0:0001/block",
            "controller fe340000.mmc",
        ),
        ("devices/vbd-51712/block", "controller vbd-51712"),
        (
            "devices/platform/host9/session1/target9:0:0/9:0:0:1/block",
            "controller host9",
        ),
    ];
    for (place, expected) in places {
        let host = FakeHost::new();
        host.disk_at(place, "xvdzz", 300, 0, 4096);
        assert_eq!(names(&path(&host, "xvdzz")), [expected, "memory"]);
    }
}

#[test]
fn a_partition_goes_the_way_of_its_disk_and_raid_those_of_its_disks() {
    let host = trees::ahci_with_port_multiplier();
    host.partition("sdzza", "sdzza1", 300, 101, 1000);
    host.partition("sdzzb", "sdzzb1", 300, 102, 1000);
    let raid = host.disk("md900", 309, 0, 2000);
    host.write_under(&raid, "slaves/sdzzb1/marker", "");
    host.write_under(&raid, "slaves/sdzza1/marker", "");
    let mapper = host.disk("dm-900", 310, 0, 2000);
    host.write_under(&mapper, "slaves/md900/marker", "");
    host.write_under(&mapper, "dm/name", "vg-data\n");
    let over = host.disk("loop900", 311, 0, 2000);
    host.write_under(&over, "loop/backing_file", "/dev/dm-900\n");
    assert_eq!(path(&host, "sdzza1"), path(&host, "sdzza"));
    for name in ["md900", "dm-900", "loop900"] {
        let device = device_named(host.roots(), name).unwrap();
        let paths = paths_under(host.roots(), &device).unwrap();
        let disks: Vec<&str> = paths.iter().map(|path| path.disk.as_str()).collect();
        assert_eq!(disks, ["sdzza", "sdzzb"], "{name}");
    }
}

#[test]
fn disks_are_sorted_as_they_hang() {
    fn sorted(host: &FakeHost, disks: &[&str]) -> Vec<String> {
        let mut paths: Vec<DiskPath> = disks.iter().map(|name| path(host, name)).collect();
        paths.sort_by(DiskPath::compare);
        paths.into_iter().map(|path| path.disk).collect()
    }
    let host = trees::ahci_with_port_multiplier();
    host.disk("loop900", 311, 0, 2000);
    let disks = ["loop900", "sdzzc", "sdzzd", "sdzzb", "sdzza"];
    // Port 10 after port 2, and there port 0 before port 3, whatever the letters.
    let expected = ["sdzza", "sdzzb", "sdzzd", "sdzzc", "loop900"];
    assert_eq!(sorted(&host, &disks), expected);
    let host = trees::sas_with_expander();
    // By the phy on which they hang, not by the order in which they were found.
    assert_eq!(
        sorted(&host, &["sdzza", "sdzzb", "sdzzc"]),
        ["sdzzb", "sdzza", "sdzzc"]
    );
    let host = trees::usb_hub();
    assert_eq!(
        sorted(&host, &["sdzzb", "sdzza", "sdzzc"]),
        ["sdzzc", "sdzza", "sdzzb"]
    );
    let host = trees::nvme_behind_a_switch();
    assert_eq!(
        sorted(&host, &["nvme91n1", "nvme90n1"]),
        ["nvme90n1", "nvme91n1"]
    );
}

#[test]
fn a_disk_that_is_gone_is_an_error_in_words() {
    let host = trees::virtio();
    let device = device_named(host.roots(), "vdzza").unwrap();
    std::fs::remove_file(host.roots().sys.join("class/block/vdzza")).unwrap();
    let error = path_of(host.roots(), &device).unwrap_err();
    assert!(error.to_string().contains("vdzza"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_the_files_of_links_say_a_way_is_found(
        texts in prop::collection::vec("[ -~]{0,12}", 8),
    ) {
        let host = trees::ahci_with_port_multiplier();
        let port = format!("{}/ata10", trees::AHCI);
        let files = [
            "link10/ata_link/link10/sata_spd",
            "link10.0/ata_link/link10.0/sata_spd",
            "link10.0/ata_link/link10.0/hw_sata_spd_limit",
            "link10.0/dev10.0.0/ata_device/dev10.0.0/id",
            "ata_port/ata10/nr_pmp_links",
            "host2/scsi_host/host2/ahci_host_caps",
            "../class",
            "../numa_node",
        ];
        for (file, text) in files.iter().zip(&texts) {
            write(&host, &[(&format!("{port}/{file}"), text)]);
        }
        let path = path(&host, "sdzzd");
        prop_assert!(path.hops.len() >= 4);
        let rates = path.hops.iter().filter_map(|hop| hop.rate_bytes_per_s);
        prop_assert!(rates.into_iter().all(|rate| rate > 0.0));
    }
}
