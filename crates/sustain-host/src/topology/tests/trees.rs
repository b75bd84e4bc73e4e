//! Trees of made-up machines. Names of directories and contents of files are as kernels of today
//! write them; device numbers are such that no real device has them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::fake_host::FakeHost;

pub(super) fn write(host: &FakeHost, files: &[(&str, &str)]) {
    for (name, content) in files {
        host.write_sys(name, &format!("{content}\n"));
    }
}

/// A link of sysfs to another place in it.
pub(super) fn link(host: &FakeHost, from: &str, to: &str) {
    let from = host.roots().sys.join(from);
    fs::create_dir_all(from.parent().unwrap()).unwrap();
    fs::create_dir_all(host.roots().sys.join(to)).unwrap();
    symlink(host.roots().sys.join(to), from).unwrap();
}

pub(super) fn scsi_disk(host: &FakeHost, above: &str, address: &str, name: &str, minor: u32) {
    let target = address.rsplit_once(':').unwrap().0;
    let place = format!("{above}/target{target}/{address}/block");
    host.disk_at(&place, name, 300, minor, 8_000_000);
}

pub(super) fn pcie(host: &FakeHost, device: &str, class: &str, current: [&str; 2], max: [&str; 2]) {
    let files = [
        ("class", class),
        ("current_link_speed", current[0]),
        ("current_link_width", current[1]),
        ("max_link_speed", max[0]),
        ("max_link_width", max[1]),
    ];
    for (name, content) in files {
        write(host, &[(&format!("{device}/{name}"), content)]);
    }
}

pub(super) const BRIDGE: &str = "0x060400";
pub(super) const AHCI: &str = "devices/pci0000:00/0000:00:1f.2";

/// IDENTIFY DEVICE as libata prints it, with this word 76.
fn identity(word_76: &str) -> String {
    let words = (0..256).map(|index| if index == 76 { word_76 } else { "0040" });
    let words: Vec<&str> = words.collect();
    let lines: Vec<String> = words.chunks(8).map(|line| line.join(" ")).collect();
    lines.join("\n")
}

/// What an AHCI adapter of 3 Gbit/s has on it: a drive of 6 Gbit/s that runs at 3 (sdzza), one that
/// fell back to 1.5 (sdzzb), and a port multiplier with two drives (sdzzc, sdzzd).
pub(super) fn ahci_with_port_multiplier() -> FakeHost {
    let host = FakeHost::new();
    write(
        &host,
        &[
            (&format!("{AHCI}/class"), "0x010601"),
            (&format!("{AHCI}/numa_node"), "0"),
        ],
    );
    link(&host, &format!("{AHCI}/driver"), "bus/pci/drivers/ahci");
    let drives = [
        // Port, link, drive's name, speed, SCSI address, disk, word 76 of the drive.
        (1, "1", "1.0", "3.0 Gbps", "0:0:0:0", "sdzza", "850e"),
        (2, "2", "2.0", "1.5 Gbps", "1:0:0:0", "sdzzb", "0506"),
        (10, "10.0", "10.0.0", "3.0 Gbps", "2:0:0:0", "sdzzd", "850e"),
        (10, "10.3", "10.3.0", "1.5 Gbps", "2:3:0:0", "sdzzc", "850e"),
    ];
    for (minor, (port, link, drive, speed, address, disk, word_76)) in (0..).zip(drives) {
        let above = format!("{AHCI}/ata{port}");
        let host_name = format!("host{}", &address[..1]);
        let link_place = format!("{above}/link{link}");
        write(
            &host,
            &[
                (
                    &format!("{above}/{host_name}/scsi_host/{host_name}/ahci_host_caps"),
                    "e722ff45",
                ),
                (&format!("{link_place}/ata_link/link{link}/sata_spd"), speed),
                (
                    &format!("{link_place}/ata_link/link{link}/hw_sata_spd_limit"),
                    "<unknown>",
                ),
                (
                    &format!("{link_place}/dev{drive}/ata_device/dev{drive}/id"),
                    &identity(word_76),
                ),
                (
                    &format!("{link_place}/dev{drive}/ata_device/dev{drive}/dma_mode"),
                    "XFER_UDMA_6",
                ),
            ],
        );
        scsi_disk(&host, &format!("{above}/{host_name}"), address, disk, minor);
    }
    let multiplied = format!("{AHCI}/ata10");
    write(
        &host,
        &[
            (&format!("{multiplied}/ata_port/ata10/nr_pmp_links"), "5"),
            (
                &format!("{multiplied}/link10/ata_link/link10/sata_spd"),
                "3.0 Gbps",
            ),
            (
                &format!("{multiplied}/link10/dev10.0/ata_device/dev10.0/class"),
                "pmp",
            ),
        ],
    );
    host
}

const CHANNEL: &str = "devices/pci0000:00/0000:00:07.1";
/// The first drive on it.
pub(super) const CHANNEL_DRIVE: &str = "devices/pci0000:00/0000:00:07.1/ata1/link1/dev1.0";

/// Two drives on one cable of a PIIX3, of which the faster sets the cable's rate.
pub(super) fn parallel_ata() -> FakeHost {
    ata_channel(["XFER_UDMA_2", "XFER_UDMA_4"])
}

/// Two drives of which no speed is told, of either kind, as an emulator has them.
pub(super) fn emulated_ata() -> FakeHost {
    ata_channel(["XFER_MW_DMA_2", "XFER_MW_DMA_2"])
}

fn ata_channel(modes: [&str; 2]) -> FakeHost {
    let host = FakeHost::new();
    let adapter = CHANNEL;
    write(&host, &[(&format!("{adapter}/class"), "0x010180")]);
    for (unit, disk, mode) in [(0, "sdzza", modes[0]), (1, "sdzzb", modes[1])] {
        let drive = format!("{adapter}/ata1/link1/dev1.{unit}/ata_device/dev1.{unit}");
        write(
            &host,
            &[
                (
                    &format!("{adapter}/ata1/link1/ata_link/link1/sata_spd"),
                    "<unknown>",
                ),
                (&format!("{drive}/dma_mode"), mode),
                (&format!("{drive}/id"), &identity("0000")),
            ],
        );
        let address = format!("0:0:{unit}:0");
        scsi_disk(
            &host,
            &format!("{adapter}/ata1/host0"),
            &address,
            disk,
            unit,
        );
    }
    host
}

/// A phy with what it runs at and what it can do.
fn sas_phy(host: &FakeHost, place: &str, name: &str, speeds: [&str; 2]) {
    let class = format!("{place}/{name}/sas_phy/{name}");
    let files = ["negotiated_linkrate", "maximum_linkrate_hw"];
    for (file, speed) in files.iter().zip(speeds) {
        write(host, &[(&format!("{class}/{file}"), speed)]);
    }
}

pub(super) const SAS: &str = "devices/pci0000:00/0000:00:01.0/0000:01:00.0";

/// A SAS adapter of 12 Gbit/s with an expander on four phys that run at 6, two drives on it, and
/// one drive on a phy of the adapter itself.
pub(super) fn sas_with_expander() -> FakeHost {
    let host = FakeHost::new();
    pcie(
        &host,
        SAS,
        "0x010700",
        ["8.0 GT/s PCIe", "8"],
        ["8.0 GT/s PCIe", "8"],
    );
    let root = "devices/pci0000:00/0000:00:01.0";
    pcie(
        &host,
        root,
        BRIDGE,
        ["8.0 GT/s PCIe", "8"],
        ["8.0 GT/s PCIe", "16"],
    );
    write(&host, &[(&format!("{root}/numa_node"), "1")]);
    link(&host, &format!("{SAS}/driver"), "bus/pci/drivers/mpt3sas");
    let adapter = format!("{SAS}/host0");
    let expander = format!("{adapter}/port-0:0/expander-0:0");
    let phy = |place: &str, name: &str, negotiated: &str, maximum: &str| {
        sas_phy(&host, place, name, [negotiated, maximum]);
    };
    for index in 0..4 {
        let name = format!("phy-0:{index}");
        phy(&adapter, &name, "6.0 Gbit", "12.0 Gbit");
        link(
            &host,
            &format!("{adapter}/port-0:0/{name}"),
            &format!("{adapter}/{name}"),
        );
    }
    phy(&adapter, "phy-0:4", "12.0 Gbit", "12.0 Gbit");
    link(
        &host,
        &format!("{adapter}/port-0:1/phy-0:4"),
        &format!("{adapter}/phy-0:4"),
    );
    // Found in the order of their addresses, not of their slots.
    for (port, slot, speed) in [(0, 7, "6.0 Gbit"), (1, 3, "3.0 Gbit")] {
        let name = format!("phy-0:0:{slot}");
        phy(&expander, &name, speed, "12.0 Gbit");
        let port = format!("{expander}/port-0:0:{port}");
        link(
            &host,
            &format!("{port}/{name}"),
            &format!("{expander}/{name}"),
        );
    }
    phy(&expander, "phy-0:0:24", "Unknown", "12.0 Gbit");
    let class = format!("{expander}/sas_expander/expander-0:0");
    write(
        &host,
        &[
            (&format!("{class}/vendor_id"), "LSI     "),
            (&format!("{class}/product_id"), "SAS3x28         "),
        ],
    );
    let end = format!("{expander}/port-0:0:0/end_device-0:0:0");
    scsi_disk(&host, &end, "0:0:0:0", "sdzza", 0);
    let end = format!("{expander}/port-0:0:1/end_device-0:0:1");
    scsi_disk(&host, &end, "0:0:1:0", "sdzzb", 1);
    let end = format!("{adapter}/port-0:1/end_device-0:1");
    scsi_disk(&host, &end, "0:0:2:0", "sdzzc", 2);
    host
}

pub(super) const NVME_ROOT: &str = "devices/pci0000:40/0000:40:01.1";

/// A PCIe switch on eight lanes with two NVMe disks below, of which the second got one lane of the
/// first generation.
pub(super) fn nvme_behind_a_switch() -> FakeHost {
    let host = FakeHost::new();
    let gen3 = |lanes| ["8.0 GT/s PCIe", lanes];
    let gen4 = |lanes| ["16.0 GT/s PCIe", lanes];
    let upper = format!("{NVME_ROOT}/0000:41:00.0");
    pcie(&host, NVME_ROOT, BRIDGE, gen3("8"), gen4("16"));
    pcie(&host, &upper, BRIDGE, gen3("8"), gen3("8"));
    let slots = [
        ("0000:42:04.0", "0000:43:00.0", "nvme90", gen3("4")),
        (
            "0000:42:08.0",
            "0000:44:00.0",
            "nvme91",
            ["2.5 GT/s PCIe", "1"],
        ),
    ];
    for (minor, (lower, device, name, current)) in (0..).zip(slots) {
        let lower = format!("{upper}/{lower}");
        let device = format!("{lower}/{device}");
        pcie(&host, &lower, BRIDGE, current, gen3("4"));
        pcie(&host, &device, "0x010802", current, gen4("4"));
        write(
            &host,
            &[
                (&format!("{device}/numa_node"), "1"),
                (&format!("{device}/nvme/{name}/transport"), "pcie"),
            ],
        );
        link(&host, &format!("{device}/driver"), "bus/pci/drivers/nvme");
        let place = format!("{device}/nvme/{name}");
        host.disk_at(&place, &format!("{name}n1"), 301, minor, 8_000_000);
    }
    host
}

pub(super) const XHCI: &str = "devices/pci0000:00/0000:00:14.0";

/// An xHCI adapter: a hub of 5 Gbit/s with two disks, one of them by UAS; and a disk that could do
/// 5 Gbit/s on a socket that could too, but runs at 480 Mbit/s.
pub(super) fn usb_hub() -> FakeHost {
    let host = FakeHost::new();
    write(
        &host,
        &[
            (&format!("{XHCI}/class"), "0x0c0330"),
            (&format!("{XHCI}/usb1/speed"), "480"),
            (&format!("{XHCI}/usb2/speed"), "10000"),
            (&format!("{XHCI}/usb2/2-1/speed"), "5000"),
            (&format!("{XHCI}/usb2/2-1/rx_lanes"), "1"),
            (&format!("{XHCI}/usb2/2-1/product"), "USB3.0 Hub"),
        ],
    );
    link(&host, &format!("{XHCI}/driver"), "bus/pci/drivers/xhci_hcd");
    let disks = [
        ("usb2/2-1/2-1.2", "5000", "uas", "6:0:0:0", "sdzza"),
        ("usb2/2-1/2-1.10", "5000", "usb-storage", "7:0:0:0", "sdzzb"),
        ("usb1/1-3", "480", "usb-storage", "8:0:0:0", "sdzzc"),
    ];
    for (minor, (device, speed, driver, address, disk)) in (0..).zip(disks) {
        let device = format!("{XHCI}/{device}");
        write(
            &host,
            &[
                (&format!("{device}/speed"), speed),
                (&format!("{device}/rx_lanes"), "1"),
            ],
        );
        let store = [5, 0x0f, 15, 0, 1, 10, 0x10, 3, 0, 0x0e, 0, 1, 10, 0xff, 7];
        fs::write(
            host.roots().sys.join(&device).join("bos_descriptors"),
            store,
        )
        .unwrap();
        let name = device.rsplit_once('/').unwrap().1.to_owned();
        let interface = format!("{device}/{name}:1.0");
        link(
            &host,
            &format!("{interface}/driver"),
            &format!("bus/usb/drivers/{driver}"),
        );
        let above = format!("{interface}/host{}", &address[..1]);
        scsi_disk(&host, &above, address, disk, minor);
    }
    let port = format!("{XHCI}/usb1/1-0:1.0/usb1-port3");
    let peer = format!("{XHCI}/usb2/2-0:1.0/usb2-port3");
    link(&host, &format!("{XHCI}/usb1/1-3/port"), &port);
    link(&host, &format!("{port}/peer"), &peer);
    host
}

/// A machine of a hypervisor: one disk on virtio over PCI, one without PCI.
pub(super) fn virtio() -> FakeHost {
    let host = FakeHost::new();
    let device = "devices/pci0000:00/0000:00:02.0";
    write(
        &host,
        &[
            (&format!("{device}/class"), "0x018000"),
            (&format!("{device}/vendor"), "0x1af4"),
            (&format!("{device}/numa_node"), "-1"),
        ],
    );
    link(
        &host,
        &format!("{device}/driver"),
        "bus/pci/drivers/virtio-pci",
    );
    host.disk_at(
        &format!("{device}/virtio1/block"),
        "vdzza",
        302,
        0,
        8_000_000,
    );
    let place = "devices/platform/a000000.virtio_mmio/virtio7/block";
    host.disk_at(place, "vdzzb", 302, 16, 8_000_000);
    host
}

/// A directory that is not there is made by its files; where a disk lies in it.
pub(super) fn place_of(host: &FakeHost, disk: &str) -> PathBuf {
    fs::canonicalize(host.roots().sys.join("block").join(disk)).unwrap()
}
