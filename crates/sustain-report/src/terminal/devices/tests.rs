use serde_json::{Value, json};

use super::*;

fn device(name: &str, size_bytes: u64, more: &Value) -> Value {
    let mut device = json!({
        "node": {
            "name": name, "major": 300, "minor": 0, "size_bytes": size_bytes,
            "read_only": false, "holders": [],
        },
        "partitions": [],
        "slaves": [],
    });
    for (key, value) in more.as_object().unwrap() {
        device[key] = value.clone();
    }
    device
}

fn facts(kind: &str, device: &Value, lies_on: &[&str], reasons: &[&str]) -> Value {
    let why_not = reasons
        .iter()
        .map(|reason| json!({ "reason": reason, "advice": "choose another target" }));
    json!({
        "kind": kind,
        "device": device,
        "lies_on": lies_on,
        "mount_points": [],
        "swap": false,
        "may_be_written": reasons.is_empty(),
        "why_not": why_not.collect::<Vec<_>>(),
    })
}

fn hop(id: &str, kind: &str, name: &str) -> Value {
    json!({ "id": id, "kind": kind, "name": name })
}

fn link(id: &str, kind: &str, name: &str, rate: f64, formula: &str) -> Value {
    let mut hop = hop(id, kind, name);
    hop["rate_bytes_per_s"] = rate.into();
    hop["formula"] = formula.into();
    hop
}

fn disk(facts: &Value, above: &[Value]) -> Value {
    let name = facts["device"]["node"]["name"].as_str().unwrap();
    let mut hops = vec![hop(name, "disk", name)];
    hops.extend_from_slice(above);
    json!({ "facts": facts, "path": { "disk": name, "hops": hops, "order": [0] } })
}

fn document(disks: &[Value], layers: &[Value], notes: &[&str]) -> DevicesDocument {
    let document = json!({
        "schema": "sustain.devices/1", "disks": disks, "layers": layers, "notes": notes,
    });
    serde_json::from_value(document).unwrap()
}

/// Two disks on a port multiplier with a RAID over partitions of both, and an NVMe disk on a link
/// that runs too slow.
fn machine() -> DevicesDocument {
    let reasons = [
        "sda1 is mounted on /",
        "sda2 is part of md0",
        "sda3 is active swap",
    ];
    let disks = [
        multiplied("sda", "0", &reasons),
        multiplied("sdb", "1", &["sdb1 is part of md0"]),
        slowed_nvme(),
    ];
    document(&disks, &layers(), &[])
}

/// A disk on this port of a port multiplier.
fn multiplied(name: &str, port: &str, reasons: &[&str]) -> Value {
    let more = json!({
        "model": "ST4000NM0035", "serial": "Z1X3", "rotational": true,
        "scheduler": "mq-deadline", "write_cache": "write back",
        "max_request_bytes": 1_310_720,
    });
    let facts = facts(
        "disk",
        &device(name, 4_000_787_030_016, &more),
        &[],
        reasons,
    );
    let own = format!("multiplier port {port} (ata3.0{port})");
    let formula = "3 Gbit/s x 8/10 / 8";
    let above = [
        link(&format!("ata3/{port}"), "port", &own, 300e6, formula),
        hop("ata3/link", "port_multiplier", "port multiplier on ata3"),
        link("ata3", "port", "SATA port ata3", 300e6, formula),
        hop("ahci", "controller", "AHCI controller 0000:00:1f.2 (ahci)"),
        hop("node0", "numa_node", "NUMA node 0"),
    ];
    disk(&facts, &above)
}

fn slowed_nvme() -> Value {
    let name = "PCIe link 1.0 x1 of 0000:44:00";
    let formula = "2.5 GT/s x 8/10 / 8";
    let mut slow = link("link", "pcie_link", name, 250e6, formula);
    slow["possible_rate_bytes_per_s"] = 3_938_461_538.46.into();
    slow["slow"] = "runs at 2.5 GT/s x1; both ends can do 8 GT/s x4".into();
    let controller = "NVMe controller 0000:44:00.0 (nvme0)";
    let above = [
        hop("nvme0", "controller", controller),
        slow,
        hop("node0", "numa_node", "NUMA node 0"),
    ];
    let facts = facts("disk", &device("nvme0n1", 1 << 40, &json!({})), &[], &[]);
    disk(&facts, &above)
}

/// Partitions, a RAID over two of them, a volume on that, and a loop device over a file there.
fn layers() -> [Value; 6] {
    let part = |name: &str, disk: &str, reason: &str| {
        let device = device(name, 1 << 30, &json!({}));
        facts("partition", &device, &[disk], &[reason])
    };
    let raid = device("md0", 1 << 31, &json!({}));
    let mapper = json!({ "mapper_name": "vg-\u{1b}[2Jdata" });
    let mapper = device("dm-0", 1 << 29, &mapper);
    let over = json!({ "loop_backing_file": "/data/image" });
    let over = device("loop0", 1 << 28, &over);
    [
        part("sda1", "sda", "it is mounted on /"),
        part("sda2", "sda", "it is part of md0"),
        part("sdb1", "sdb", "it is part of md0"),
        facts("md", &raid, &["sda2", "sdb1"], &["it is part of vg-data"]),
        facts("dm", &mapper, &["md0"], &["it is mounted on /data"]),
        facts("loop", &over, &["dm-0"], &[]),
    ]
}

#[test]
fn a_machine_is_a_tree_from_the_memory_to_what_is_built_on_the_disks() {
    insta::assert_snapshot!(devices_text(&machine(), 80), @"
    NUMA node 0
    ├─ AHCI controller 0000:00:1f.2 (ahci)
    │  └─ SATA port ata3: 300 MB/s (3 Gbit/s x 8/10 / 8)
    │     └─ port multiplier on ata3
    │        ├─ multiplier port 0 (ata3.00): 300 MB/s (3 Gbit/s x 8/10 / 8)
    │        │  └─ sda: 4.00 TB, ST4000NM0035, serial Z1X3
    │        │     │ rotating, scheduler mq-deadline, cache write back, requests up
    │        │     │   to 1.25 MiB
    │        │     │ must not be written: sda1 is mounted on /; sda2 is part of md0;
    │        │     │   and 1 more
    │        │     ├─ sda1: 1 GiB; must not be written: it is mounted on /
    │        │     └─ sda2: 1 GiB; must not be written: it is part of md0
    │        │        └─ md0: 2 GiB; must not be written: it is part of vg-data
    │        │           └─ vg-�[2Jdata (dm-0): 512 MiB; must not be written: it
    │        │              │   is mounted on /data
    │        │              └─ loop0: 256 MiB, over /data/image; may be written
    │        └─ multiplier port 1 (ata3.01): 300 MB/s (3 Gbit/s x 8/10 / 8)
    │           └─ sdb: 4.00 TB, ST4000NM0035, serial Z1X3
    │              │ rotating, scheduler mq-deadline, cache write back, requests up
    │              │   to 1.25 MiB
    │              │ must not be written: sdb1 is part of md0
    │              └─ sdb1: 1 GiB; must not be written: it is part of md0
    │                 └─ md0 (shown above)
    └─ PCIe link 1.0 x1 of 0000:44:00: 250 MB/s (2.5 GT/s x 8/10 / 8)
       │ SLOW: runs at 2.5 GT/s x1; both ends can do 8 GT/s x4: 250 MB/s of
       │   3.94 GB/s
       └─ NVMe controller 0000:44:00.0 (nvme0)
          └─ nvme0n1: 1 TiB
               may be written
    PCIe link 1.0 x1 of 0000:44:00 runs more slowly than both its ends could
    A rate is that of a link in one direction after line encoding; headers and
      commands take a part of it.
    ");
}

#[test]
fn a_disk_in_a_slow_transfer_mode_says_so_itself() {
    let facts = facts("disk", &device("sda", 1 << 30, &json!({})), &[], &[]);
    let mut disk = disk(&facts, &[hop("memory", "memory", "memory")]);
    let own = &mut disk["path"]["hops"][0];
    own["transfer_mode"] = "UDMA/33".into();
    own["slow"] = "runs at UDMA/33; the drive can do UDMA/100".into();
    insta::assert_snapshot!(devices_text(&document(&[disk], &[], &[]), 80), @"
    memory
    └─ sda: 1 GiB
         transfers by UDMA/33
         SLOW: runs at UDMA/33; the drive can do UDMA/100
         may be written
    ");
}

#[test]
fn every_line_fits_the_terminal() {
    for width in [60, 80, 132] {
        for line in devices_text(&machine(), width).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    // Where there is no room at all, nothing is lost.
    assert!(devices_text(&machine(), 1).contains("loop0"));
}

#[test]
fn what_could_not_be_read_is_said() {
    let empty = document(&[], &[], &["cannot read /sys/block: gone"]);
    insta::assert_snapshot!(devices_text(&empty, 80), @"
    no disk was found
    note: cannot read /sys/block: gone
    ");
    let mut unknown = facts("disk", &device("sda", 1 << 30, &json!({})), &[], &[]);
    unknown["may_be_written"] = Value::Null;
    let memory = [hop("memory", "memory", "memory")];
    let text = devices_text(&document(&[disk(&unknown, &memory)], &[], &[]), 80);
    insta::assert_snapshot!(text, @"
    memory
    └─ sda: 1 GiB
         must not be written: whether it is in use cannot be found out
    ");
}

#[test]
fn what_a_power_cut_may_harm_is_said_under_the_disk_and_the_partition() {
    let mut whole = facts("disk", &device("sdz", 1 << 30, &json!({})), &[], &[]);
    whole["caution"] = "sdz has large blocks".into();
    let mut part = facts(
        "partition",
        &device("sdz1", 1 << 29, &json!({})),
        &["sdz"],
        &[],
    );
    part["caution"] = "sdz1 begins off them".into();
    let text = devices_text(&document(&[disk(&whole, &[])], &[part], &[]), 80);
    let lines: Vec<&str> = text.lines().collect();
    let line_of = |words: &str| lines.iter().position(|line| line.contains(words)).unwrap();
    assert_eq!(
        line_of("sdz has large blocks"),
        line_of("may be written") + 1,
        "{text}"
    );
    assert_eq!(
        line_of("sdz1 begins off them"),
        line_of("sdz1: ") + 1,
        "{text}"
    );
}
