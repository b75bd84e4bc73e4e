//! What is built on disks, by the kernel's own drivers: arrays in a sweep, and the guard before
//! members of arrays, of the device mapper and of LVM's volume groups, and mounted partitions.

use serde_json::Value;

use crate::guest::Guest;
use crate::support::{Ran, json_of, number};

/// What all of these share: how a sweep with arrays is asked for.
const SWEEP: &str = "cd /dev/lab
    sweep() {
        sustain sweep a b c d --read --md raid0 --record-size 256KiB --depth 1 \"$@\" \\
            --destroy a --destroy b --destroy c --destroy d
    }
    # Starts it and sends it this signal as soon as an array stands; how it ended is in $status.
    end_with() {
        sweep --time-per-point 5s --layout independent >/dev/null 2>/out/said &
        until [ -e /sys/block/md80 ]; do usleep 100000; done
        kill -$1 $(pidof sustain)
        wait $!
        status=$?
    }
    left() {
        ls /dev/md80 2>/dev/null
        for disk in a b c d; do mdadm --examine $disk 2>&1 | grep -i superblock; done
    }
";
/// A busy machine is given longer runs.
const TIMES_PER_POINT: [&str; 3] = ["2s", "3s", "4s"];

/// The rates of a sweep in MB/s, by layout, chunk and order.
fn rate(result: &Value, layout: &str, chunk_bytes: u64, order: &str) -> f64 {
    let points = result["points"].as_array().unwrap().iter();
    let mut points = points.filter(|point| {
        let setting = &point["setting"];
        let named = setting["order"].as_array().unwrap().iter();
        let named: Vec<&str> = named.map(|name| name.as_str().unwrap()).collect();
        setting["layout"] == layout
            && setting["chunk_bytes"] == chunk_bytes
            && named.join(",") == order
    });
    number(&points.next().unwrap()["rate_bytes_per_s"]) / 1e6
}

#[test]
#[ignore = "two minutes in a guest"]
fn the_chunk_and_the_order_of_an_array_matter_where_little_is_in_flight() {
    let Some(guest) = Guest::new("md-chunk") else {
        return;
    };
    for time_per_point in TIMES_PER_POINT {
        let command = format!(
            "{SWEEP} sweep --layout stripe --chunk 64KiB,4MiB --order a,b,c,d --order a,c,b,d \\
                 --rounds 2 --time-per-point {time_per_point} --json /out/json
             status=$?
             left
             exit $status"
        );
        let Some(ran) = guest.run(&[], &["sh", "-c", &command]) else {
            return;
        };
        let ran = ran.expect(0);
        assert_eq!(
            ran.stdout.matches("No md superblock").count(),
            4,
            "{ran:#?}"
        );
        let result = json_of(&guest.place.read("json"));
        let notes = result["notes"].to_string();
        // The way back may begin on the array with which the way there has ended.
        let is_reported = |times| notes.contains(&format!("were built {times} times"));
        assert!(is_reported(7) || is_reported(8), "{notes}");
        let (small, large) = (64 << 10, 4 << 20);
        let [near, apart] = ["a,b,c,d", "a,c,b,d"].map(|order| {
            let of = |chunk| rate(&result, "md-raid0", chunk, order);
            (of(small), of(large))
        });
        // All disks at once give what both ports carry; one at a time, hardly more than it has.
        if near.0 > 1.25 * near.1 && apart.0 > 1.1 * apart.1 && apart.1 > 1.03 * near.1 {
            return;
        }
        eprintln!("not with points of {time_per_point}: {near:?}, apart {apart:?}");
    }
    panic!("neither chunk nor order showed");
}

#[test]
#[ignore = "a minute in a guest"]
fn an_array_goes_with_the_sweep_that_built_it_unless_that_is_killed() {
    let Some(guest) = Guest::new("md-chunk") else {
        return;
    };
    let command = format!(
        "{SWEEP}
        end_with INT; echo $status; left
        end_with TERM; echo $status; left
        end_with KILL; echo $status; left
        sweep; echo $?
        mdadm --stop /dev/md80
        sustain measure a --write"
    );
    let Some(ran) = guest.run(&[], &["sh", "-c", &command]) else {
        return;
    };
    let ran = ran.expect(2);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let (interrupted, rest) = lines.split_at(10);
    assert_eq!((interrupted[0], interrupted[5]), ("130", "130"), "{ran:#?}");
    let is_clean = |line: &&str| line.contains("No md superblock");
    assert_eq!(interrupted.iter().filter(|line| is_clean(line)).count(), 8);
    assert_eq!(rest[..2], ["137", "/dev/md80"], "{ran:#?}");
    assert_eq!(rest.last(), Some(&"2"), "{ran:#?}");
    ran.says("it is part of md80: stop that first (mdadm --stop /dev/md80)")
        .says("member of a Linux md RAID array");
}

/// Runs this in a guest with disks to build on.
fn with_stacks(script: &str) -> Option<Ran> {
    let guest = Guest::new("stacks")?;
    let write = "write() { sustain measure $1 --write --destroy $1 --time 1s; echo $?; }";
    let script = format!("{write}\n{script}");
    guest.run(&[], &["sh", "-c", &script])
}

#[test]
#[ignore = "a minute in a guest"]
fn what_is_built_on_a_disk_protects_it_whatever_is_said() {
    let Some(ran) = with_stacks(
        "mdadm --create /dev/md0 --run --level=0 --raid-devices=2 /dev/lab/a /dev/lab/b
        write /dev/lab/a
        write /dev/lab/b
        dmsetup create linear --table '0 65536 linear /dev/lab/c 0'
        write /dev/lab/c
        printf 'n\\np\\n1\\n\\n+16M\\nw\\n' | fdisk /dev/lab/d >/dev/null
        part=$(readlink -f /dev/lab/d)1
        mke2fs $part >/dev/null
        mkdir /mounted
        mount -t ext4 $part /mounted
        write /dev/lab/d
        write $part
        umount /mounted
        dmsetup remove linear
        write /dev/lab/c
        mdadm --stop /dev/md0
        sustain measure /dev/lab/a --write
        echo $?
        mdadm --examine /dev/lab/a | grep Level",
    ) else {
        return;
    };
    let ran = ran.expect(0);
    let lines = ran.stdout.lines();
    let codes: Vec<&str> = lines.filter(|line| line.len() == 1).collect();
    assert_eq!(codes, ["2", "2", "2", "2", "2", "0", "2"], "{ran:#?}");
    assert!(ran.stdout.contains("raid0"), "its superblock is whole");
    ran.says("write /dev/lab/a: it is part of md0: stop that first (mdadm --stop /dev/md0)")
        .says("write /dev/lab/b: it is part of md0")
        .says("/dev/lab/c: it is part of linear (dm-0): stop that first (dmsetup remove linear)")
        .says("1 is mounted on /mounted: unmount it first (umount /mounted)")
        .says("1: it is mounted on /mounted")
        .says("/dev/lab/a: it exists (member of a Linux md RAID array");
}

#[test]
#[ignore = "a minute in a guest"]
fn a_physical_volume_is_refused_while_in_use_and_named_while_dormant() {
    let Some(ran) = with_stacks(
        "{
            lvm pvcreate /dev/lab/e
            lvm vgcreate group /dev/lab/e
            lvm lvcreate --name volume --extents 100%FREE group
        } >/dev/null
        printf 'of great value' | dd of=/dev/group/volume 2>/dev/null
        write /dev/lab/e
        lvm vgchange --activate n group >/dev/null
        rehearse() { sustain measure /dev/lab/e --write --dry-run $*; echo $?; }
        rehearse
        rehearse --destroy /dev/lab/e
        lvm vgchange --activate y group >/dev/null
        head -c 14 /dev/group/volume; echo
        lvm vgchange --activate n group >/dev/null
        write /dev/lab/e
        lvm vgs --noheadings --options vg_name && echo none",
    ) else {
        return;
    };
    let ran = ran.expect(0);
    let lines = ran.stdout.lines();
    let codes: Vec<&str> = lines.filter(|line| line.len() == 1).collect();
    assert_eq!(codes, ["2", "2", "0", "0"], "{ran:#?}");
    assert!(ran.stdout.contains("\nof great value\n"), "{ran:#?}");
    assert!(ran.stdout.ends_with("\n0\nnone\n"), "{ran:#?}");
    let destroyed = "/dev/lab/e: what is on it (LVM physical volume) is destroyed";
    assert_eq!(ran.stderr.matches(destroyed).count(), 2, "{ran:#?}");
    ran.says("write /dev/lab/e: it is part of group-volume (dm-0): stop that first (lvchange -an ")
        .says("/dev/lab/e: it exists (LVM physical volume) and would be overwritten");
}

#[test]
#[ignore = "a minute in a guest"]
fn a_device_that_has_become_shorter_is_named_with_both_sizes() {
    let Some(ran) = with_stacks(
        "disk=/dev/mapper/disk
        map() { dmsetup create $1 --table \"0 $2 linear $3 0\" && dmsetup mknodes; }
        map disk 131072 /dev/lab/e
        sustain create $disk --destroy $disk
        sustain record $disk --from test:5MB/s --bytes 10MB --buffer 16MiB
        dmsetup remove disk
        map disk 65536 /dev/lab/e
        sustain list $disk; echo $?
        sustain record $disk --from test:5MB/s --bytes 1MB; echo $?
        sustain extract $disk | wc -c
        sustain measure $disk --read --size 64MiB; echo $?
        truncate -s 16M image
        losetup /dev/loop0 image
        map torn 32768 /dev/loop0
        truncate -s 4M image
        losetup -c /dev/loop0
        sustain measure /dev/mapper/torn --read --time 2s --json torn; echo $?
        losetup -d /dev/loop0",
    ) else {
        return;
    };
    let ran = ran.expect(0);
    let lines = ran.stdout.lines();
    let codes: Vec<&str> = lines.filter(|line| line.parse::<u64>().is_ok()).collect();
    assert_eq!(codes, ["0", "2", "10000000", "2", "1"], "{ran:#?}");
    let said = ran.stdout.replace("\n  ", " ");
    assert!(said.contains("read at 4 MiB: Input/output error"), "{said}");
    ran.says("smaller since the store was created: 32 MiB instead of 64 MiB; ")
        .says("instead of 64 MiB. Make it as large as before, or create a new store")
        .says("it has 32 MiB, less than --size asks for");
}
