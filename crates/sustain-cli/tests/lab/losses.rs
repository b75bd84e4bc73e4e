//! Disks of real drivers that are lost while they are recorded to with parity: taken away from the
//! kernel, off their bus, failing their writes, or gone at the start after a power cut.

use super::last_bytes;
use crate::guest::Guest;
use crate::support::{Ran, json_of};

const DISKS: [&str; 4] = ["a", "b", "c", "d"];
const TOPOLOGY: &str = "\
disk a ahci:0.0 512MiB
disk b ahci:0.1 512MiB
disk c nvme 512MiB
disk d nvme 512MiB
";
const STREAM_BYTES: usize = 60_000_000;

/// Members as the guest has them, and the flags that allow to destroy them.
fn member_names(disks: &[&str]) -> (String, String) {
    let names = disks.iter().map(|name| format!("/dev/lab/{name}"));
    let destroy = names.clone().map(|name| format!("--destroy {name}"));
    let [members, destroy] =
        [names.collect(), destroy.collect()].map(|all: Vec<String>| all.join(" "));
    (members, destroy)
}

/// No two of its words are alike.
fn stream(bytes: usize) -> Vec<u8> {
    let words = 0..bytes as u32 / 4;
    words
        .flat_map(|word| word.wrapping_mul(0x9E37_79B1).to_le_bytes())
        .collect()
}

/// Records the stream to a new store with one parity while `loss` is done in its middle, and reads
/// it without the disk. These flags are for the lab.
fn record_and_lose(topology: &str, flags: &[&str], (disk, loss): (&str, &str)) -> Option<Ran> {
    let guest = Guest::of(topology);
    std::fs::write(guest.place.path("stream"), stream(STREAM_BYTES)).unwrap();
    let (members, destroy) = member_names(&DISKS);
    let others: Vec<&str> = DISKS.iter().copied().filter(|one| *one != disk).collect();
    let (others, _) = member_names(&others);
    let script = format!(
        "sustain create {members} --parity 1 --slot 2MiB {destroy} || exit 90
        (head -c 20000000 stream; sleep 2; {loss}; tail -c +20000001 stream) |
            sustain record {members} --buffer 64MiB --json recorded
        echo \"recorded $?\"
        sustain extract {others} | cmp - stream && echo same
        sustain list {others} --json listed"
    );
    guest.run(flags, &["sh", "-c", &script]).map(|ran| {
        let ran = ran.expect(0);
        assert!(ran.stdout.contains("recorded 1"), "{ran:#?}");
        assert!(ran.stdout.contains("same"), "{ran:#?}");
        let recorded = json_of(&guest.place.read("recorded"));
        let stream = &recorded["streams"][0];
        assert_eq!(stream["recorded_bytes"], STREAM_BYTES, "{recorded:#}");
        assert_eq!(stream["gap_bytes"], 0, "{recorded:#}");
        let members = recorded["members"].as_array().unwrap();
        let failed: Vec<&str> = members
            .iter()
            .filter(|member| member["state"] == "failed")
            .map(|member| member["name"].as_str().unwrap())
            .collect();
        assert_eq!(failed, [format!("/dev/lab/{disk}")], "{recorded:#}");
        ran
    })
}

#[test]
#[ignore = "a minute in a guest"]
fn a_sata_disk_that_is_taken_away_in_mid_recording_takes_nothing_with_it() {
    let loss = "echo 1 >/sys/block/$(basename $(readlink /dev/lab/b))/device/delete";
    record_and_lose(TOPOLOGY, &[], ("b", loss));
}

#[test]
#[ignore = "a minute in a guest"]
fn an_nvme_disk_that_is_taken_away_in_mid_recording_takes_nothing_with_it() {
    let loss = "echo 1 >/sys/block/$(basename $(readlink /dev/lab/c))/device/device/remove";
    record_and_lose(TOPOLOGY, &[], ("c", loss));
}

/// The other half of the stream comes when the kernel has let go of the disk.
fn pull_off(topology: &str, disk: &str) {
    let pull = format!("{disk}@10s");
    let is_gone = format!(
        "block=/sys/block/$(basename $(readlink /dev/lab/{disk}))
        while [ -e $block ]; do usleep 100000; done"
    );
    record_and_lose(topology, &["--pull", &pull], (disk, &is_gone));
}

#[test]
#[ignore = "a minute in a guest"]
fn an_nvme_disk_that_is_pulled_off_its_bus_in_mid_recording_takes_nothing_with_it() {
    pull_off(TOPOLOGY, "d");
}

/// It goes with its controller: QEMU takes no single disk off an AHCI.
#[test]
#[ignore = "a minute in a guest"]
fn a_sata_disk_that_is_pulled_off_its_bus_in_mid_recording_takes_nothing_with_it() {
    let topology = TOPOLOGY.replace("ahci:0.1", "ahci:1.0");
    pull_off(&topology, "b");
}

#[test]
#[ignore = "a minute in a guest"]
fn a_disk_that_fails_its_writes_in_mid_recording_takes_nothing_with_it() {
    let topology = format!("{TOPOLOGY}fault a write EIO at 12MiB\n");
    record_and_lose(&topology, &[], ("a", "true"));
}

#[test]
#[ignore = "two guests one after the other"]
fn what_was_protected_comes_back_after_a_power_cut_without_one_of_the_disks() {
    let disk = |name: &str, place: &str| format!("disk {name} {place} 512MiB on cache\n");
    let places = ["ahci:0.0", "ahci:0.1", "nvme", "nvme"];
    let lines = |names: &[&str]| -> String {
        let all = DISKS.iter().zip(places);
        let these = all.filter(|(name, _)| names.contains(name));
        these.map(|(name, place)| disk(name, place)).collect()
    };
    let guest = Guest::of(&lines(&DISKS));
    let (members, destroy) = member_names(&DISKS);
    std::fs::write(guest.place.path("stream"), stream(STREAM_BYTES * 4)).unwrap();
    let record = format!(
        "sustain create {members} --parity 1 --slot 2MiB {destroy} &&
        for piece in $(seq 0 227); do
            dd if=stream bs=1M skip=$piece count=1 2>/dev/null
            usleep 100000
        done | sustain record {members} --buffer 64MiB --status status"
    );
    let disks = guest.path("disks");
    let cut = ["--disks", &disks, "--cut-after", "12s"];
    let Some(ran) = guest.run(&cut, &["sh", "-c", &record]) else {
        return;
    };
    ran.expect(0);
    let protected_bytes = last_bytes(&guest.place.read("status"), "protected_settled_bytes");
    assert!(protected_bytes > 0, "cut too early");
    let others = ["a", "b", "d"];
    let rest = Guest::of(&lines(&others));
    let (others, _) = member_names(&others);
    let look = format!(
        "head -c {protected_bytes} stream >first
        sustain extract {others} | head -c {protected_bytes} | cmp - first && echo same"
    );
    std::fs::copy(guest.place.path("stream"), rest.place.path("stream")).unwrap();
    let ran = rest.run(&["--disks", &disks], &["sh", "-c", &look]);
    let ran = ran.unwrap();
    assert!(ran.stdout.contains("same"), "{protected_bytes}: {ran:#?}");
}
