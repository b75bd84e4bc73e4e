//! Recording by each I/O path to a disk, in a guest.

use crate::guest::Guest;
use crate::support::{json_of, number};

/// The same stream by each path, killed in the middle and whole: what was durable comes back.
#[test]
#[ignore = "a minute in a guest"]
fn a_stream_is_recorded_past_the_block_layer_and_comes_back() {
    let Some(guest) = Guest::new("passthrough") else {
        return;
    };
    let script = "store=/dev/lab/whole
        sum() { sustain extract $store --recording $1 2>/dev/null | sha256sum; }
        record() { sustain record $store --from test:200MB/s --buffer 64MiB --path $@; }
        sustain create $store --destroy $store --slot 4MiB 2>/dev/null || exit 1
        for path in direct buffered passthrough; do
            record $path --bytes 100MB --json $path || exit 1
        done
        for number in 1 2 3; do echo sum $(sum $number); done
        record passthrough --status status --durable 100ms &
        sleep 2; kill -9 $!; wait
        echo durable $(tail -n 2 status | grep -o 'durable_bytes\":[0-9]*' | head -n 1)
        sustain extract $store --recording 4 2>/dev/null | wc -c | sed 's/^/kept /'
        sustain verify $store || exit 1
        tried() { sustain record $@ --from test:1MB/s --bytes 1MB 2>said; echo code $?; sed 's/^/said /' said; }
        mkdir directory
        tried directory --path passthrough
        [ -e directory/sustain.store ] && echo made
        tried $store --path passthrough --engine libaio
        sustain create /dev/lab/other --destroy /dev/lab/other 2>/dev/null || exit 1
        tried /dev/lab/other --path passthrough";
    let Some(ran) = guest.run(&[], &["sh", "-c", script]) else {
        return;
    };
    let ran = ran.expect(0);
    let lines = |start: &str| -> Vec<&str> {
        let lines = ran.stdout.lines();
        lines.filter_map(|line| line.strip_prefix(start)).collect()
    };
    let sums = lines("sum ");
    assert!(
        sums.len() == 3 && sums.iter().all(|sum| *sum == sums[0]),
        "{ran:#?}"
    );
    for path in ["direct", "buffered", "passthrough"] {
        let result = json_of(&guest.place.read(path));
        assert_eq!(result["plan"]["path"], path);
        assert!(
            number(&result["total"]["cpu_seconds_per_gb"]) > 0.0,
            "{result:#}"
        );
        let engine = result["engine"].as_str().unwrap();
        assert_eq!(
            engine.contains("NVMe commands"),
            path == "passthrough",
            "{engine}"
        );
    }
    let durable: u64 = lines("durable durable_bytes\":")[0].parse().unwrap();
    let kept: u64 = lines("kept ")[0].parse().unwrap();
    assert!(kept >= durable && durable > 0, "{ran:#?}");
    assert_eq!(lines("code "), ["2", "2", "2"], "{ran:#?}");
    assert!(!ran.stdout.contains("made"), "{ran:#?}");
    let said = lines("said ").join("\n");
    for words in [
        "passthrough needs a whole NVMe, SATA or SCSI disk, and directory is a directory",
        "passthrough works only with io_uring (NVMe) or threads (SATA and SCSI), not with libaio",
        "/dev/lab/other: passthrough needs a whole NVMe, SATA or SCSI disk, and /dev/vda is virtio",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

/// What SATA and SCSI disks, and commands that they do not take, are refused or failed with.
const SAID: [&str; 9] = [
    "add --destroy /dev/lab/sata;",
    "add --destroy /dev/lab/scsi;",
    "/dev/lab/badsata at",
    "134 MB: the disk aborted the command at block 262144 (SCSI sense key b, code 00/00)",
    "read at 134 MB: the disk aborted the command (SCSI sense key b, code 00/06)",
    "passthrough to SATA and SCSI disks works only with threads, not with io_uring",
    "so it takes disks of one kind only",
    "works only with io_uring (NVMe) or threads (SATA and SCSI), not with sync",
    "and this is a partition, which commands do not know: name /dev/sd",
];

/// SATA and SCSI disks take the same bytes past the block layer as through it, under the same
/// guard, and say themselves what they could not do.
#[test]
#[ignore = "a minute in a guest"]
fn sata_and_scsi_disks_take_commands_under_the_guard_of_their_block_devices() {
    let Some(guest) = Guest::new("passthrough") else {
        return;
    };
    let script = "pass='--path passthrough'
        sum() { dd if=$1 bs=1M count=8 2>/dev/null | sha256sum; }
        kept() { sustain extract $1 --recording $2 2>/dev/null | sha256sum; }
        measure() { sustain measure --depth 1 --seed 7 --no-confirm $@; }
        tried() { $@ >said 2>&1; echo code $?; sed 's/^/said /' said; }
        for disk in sata scsi; do
            disk=/dev/lab/$disk
            before=$(sum $disk)
            tried measure $disk $pass --write
            [ \"$before\" = \"$(sum $disk)\" ] || echo harmed
            for path in passthrough direct; do
                dd if=/dev/zero of=$disk bs=1M count=8 conv=fsync 2>/dev/null
                measure $disk --path $path --bytes 8MiB --write --destroy $disk >/dev/null 2>&1 || exit 1
                echo ${disk##*/} $(sum $disk)
            done
            measure $disk $pass --bytes 8MiB --read --json read-${disk##*/} >/dev/null 2>&1 || exit 1
            sustain create $disk --destroy $disk --slot 4MiB 2>/dev/null || exit 1
            for path in passthrough direct; do
                sustain record $disk --from test:100MB/s --bytes 20MB --buffer 64MiB \
                    --durable 100ms --path $path --json $path-${disk##*/} 2>/dev/null || exit 1
            done
            sustain verify $disk >/dev/null || exit 1
            echo kept-${disk##*/} $(kept $disk 1)
            echo kept-${disk##*/} $(kept $disk 2)
        done
        for disk in badsata badscsi; do
            tried measure /dev/lab/$disk $pass --read --at 120MiB --bytes 16MiB
        done
        tried measure /dev/lab/sata $pass --read --engine io_uring
        tried measure /dev/lab/sata /dev/lab/whole $pass --read
        tried sustain record /dev/lab/sata /dev/lab/scsi $pass --from test:1MB/s --engine sync
        printf 'n\\np\\n1\\n\\n\\nw\\n' | fdisk /dev/lab/scsi >/dev/null 2>&1
        tried measure $(readlink -f /dev/lab/scsi)1 $pass --read";
    let Some(ran) = guest.run(&[], &["sh", "-c", script]) else {
        return;
    };
    let ran = ran.expect(0);
    let lines = |start: &str| -> Vec<&str> {
        let lines = ran.stdout.lines();
        lines.filter_map(|line| line.strip_prefix(start)).collect()
    };
    for disk in ["sata", "scsi"] {
        for start in [format!("{disk} "), format!("kept-{disk} ")] {
            let sums = lines(&start);
            assert_eq!(sums.len(), 2, "{ran:#?}");
            assert_eq!(sums[0], sums[1], "{start}: {ran:#?}");
        }
        let read = json_of(&guest.place.read(&format!("read-{disk}")));
        assert_eq!(read["targets"][0]["bytes"], 8 << 20, "{read:#}");
        assert_eq!(read["targets"][0]["ended"], "bytes", "{read:#}");
        let recorded = json_of(&guest.place.read(&format!("passthrough-{disk}")));
        assert_eq!(recorded["plan"]["path"], "passthrough");
        let engine = recorded["engine"].as_str().unwrap();
        assert!(engine.contains("SCSI commands"), "{engine}");
    }
    assert!(!ran.stdout.contains("harmed"), "{ran:#?}");
    let codes = lines("code ");
    assert_eq!(codes, ["2", "2", "1", "1", "2", "2", "2", "2"], "{ran:#?}");
    let said = lines("said ").join(" ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in SAID {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}
