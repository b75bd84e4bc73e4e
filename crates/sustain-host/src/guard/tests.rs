//! Every case of the guard on made-up hosts, and the texts a user reads.

use std::fs;
use std::os::fd::AsFd;

use rustix::fs::{Mode, makedev};
use sustain_document::block_device::Holder;

use super::*;
use crate::fake_host::FakeHost;

const MAJOR: u32 = 300;

/// A disk `sdzz` (300:0) with the partitions `sdzz1` and `sdzz2`, and a second disk `sdzy`.
fn host() -> FakeHost {
    let host = FakeHost::new();
    host.disk("sdzz", MAJOR, 0, 4096);
    host.partition("sdzz", "sdzz1", MAJOR, 1, 1024);
    host.partition("sdzz", "sdzz2", MAJOR, 2, 1024);
    host.disk("sdzy", MAJOR, 16, 4096);
    host
}

/// The stat result of a node with this kind and number, without making one.
fn stat_of(kind: FileType, minor: u32) -> Stat {
    let file = tempfile::tempfile().unwrap();
    let mut stat = rustix::fs::fstat(&file).unwrap();
    stat.st_mode = kind.as_raw_mode() | Mode::RUSR.as_raw_mode();
    stat.st_rdev = makedev(MAJOR, minor);
    stat
}

fn inspect_device(host: &FakeHost, minor: u32) -> Inspection {
    let stat = stat_of(FileType::BlockDevice, minor);
    inspect_stat(host.roots(), Path::new("/dev/typed"), &stat).unwrap()
}

fn refusals(host: &FakeHost, minor: u32) -> Vec<Refusal> {
    inspect_device(host, minor).refusals
}

fn mounted(device: &str, relation: Relation, place: &str) -> Refusal {
    let mount_points = vec![PathBuf::from(place)];
    Refusal::Mounted {
        device: device.to_owned(),
        relation,
        mount_points,
    }
}

fn mount_line(number: &str, place: &str, kind: &str, source: &str) -> String {
    format!("40 1 {number} / {place} rw shared:1 - {kind} {source} rw\n")
}

#[test]
fn a_device_nobody_uses_may_be_written() {
    let host = host();
    host.write_proc(
        "self/mountinfo",
        &mount_line("0:30", "/run", "tmpfs", "tmpfs"),
    );
    for minor in [0, 1, 2, 16] {
        assert_eq!(refusals(&host, minor), []);
    }
}

#[test]
fn a_mounted_disk_is_refused() {
    let host = host();
    host.write_proc(
        "self/mountinfo",
        &mount_line("300:16", "/data", "ext4", "/dev/sdzy"),
    );
    assert_eq!(
        refusals(&host, 16),
        [mounted("sdzy", Relation::Itself, "/data")]
    );
    assert_eq!(refusals(&host, 0), []);
}

#[test]
fn a_mounted_partition_closes_its_disk_but_not_its_sibling() {
    let host = host();
    host.write_proc(
        "self/mountinfo",
        &mount_line("300:1", "/home", "ext4", "/dev/root"),
    );
    assert_eq!(
        refusals(&host, 1),
        [mounted("sdzz1", Relation::Itself, "/home")]
    );
    assert_eq!(
        refusals(&host, 0),
        [mounted("sdzz1", Relation::Partition, "/home")]
    );
    assert_eq!(refusals(&host, 2), []);
}

#[test]
fn a_mounted_whole_disk_closes_its_partitions() {
    let host = host();
    host.write_proc(
        "self/mountinfo",
        &mount_line("300:0", "/data", "ext4", "/dev/sdzz"),
    );
    assert_eq!(
        refusals(&host, 2),
        [mounted("sdzz", Relation::WholeDisk, "/data")]
    );
}

#[test]
fn a_mount_with_an_anonymous_number_is_found_by_its_source() {
    let host = host();
    let table = mount_line("0:45", "/pool", "btrfs", "/dev/sdzz1");
    host.write_proc("self/mountinfo", &table);
    assert_eq!(
        refusals(&host, 1),
        [mounted("sdzz1", Relation::Itself, "/pool")]
    );
    assert_eq!(refusals(&host, 16), []);
}

#[test]
fn the_other_devices_of_a_btrfs_are_refused_too() {
    let host = host();
    host.write_proc(
        "self/mountinfo",
        &mount_line("0:45", "/pool", "btrfs", "/dev/sdzz1"),
    );
    host.write_sys("fs/btrfs/4711/devices/sdzz1/dev", "300:1\n");
    host.write_sys("fs/btrfs/4711/devices/sdzy/dev", "300:16\n");
    host.write_sys("fs/btrfs/features/raid1c34", "0\n");
    assert_eq!(
        refusals(&host, 16),
        [mounted("sdzy", Relation::Itself, "/pool")]
    );
    assert_eq!(refusals(&host, 2), []);
}

#[test]
fn a_member_of_a_file_system_mounted_out_of_sight_is_refused() {
    let host = host();
    host.write_sys("fs/bcachefs/4711/dev-0/block/dev", "300:16\n");
    let found = refusals(&host, 16);
    let expected = Refusal::Mounted {
        device: "sdzy".into(),
        relation: Relation::Itself,
        mount_points: Vec::new(),
    };
    assert_eq!(found, [expected]);
    assert!(
        found[0].to_string().contains("several devices"),
        "{}",
        found[0]
    );
}

#[test]
fn active_swap_is_refused_on_the_device_and_its_disk() {
    let host = host();
    host.write_proc(
        "swaps",
        "Filename Type Size Used Priority\n/dev/sdzz2 partition 9 0 -2\n",
    );
    let swap = |relation| Refusal::SwapDevice {
        device: "sdzz2".into(),
        relation,
    };
    assert_eq!(refusals(&host, 2), [swap(Relation::Itself)]);
    assert_eq!(refusals(&host, 0), [swap(Relation::Partition)]);
    assert_eq!(refusals(&host, 1), []);
}

#[test]
fn a_kernel_without_swap_is_no_error() {
    let host = host();
    fs::remove_file(host.roots().proc.join("swaps")).unwrap();
    assert_eq!(refusals(&host, 0), []);
}

#[test]
fn an_unreadable_mount_table_is_an_error_not_a_yes() {
    let host = host();
    fs::remove_file(host.roots().proc.join("self/mountinfo")).unwrap();
    let stat = stat_of(FileType::BlockDevice, 0);
    assert!(inspect_stat(host.roots(), Path::new("/dev/typed"), &stat).is_err());
}

#[test]
fn holders_are_refused_on_device_partition_and_whole_disk() {
    let host = host();
    let mapper = host.disk("dm-900", 301, 0, 512);
    host.write_under(&mapper, "dm/name", "vg-home\n");
    host.write_sys("class/block/sdzz1/holders/dm-900/marker", "");
    let held = |device: &str, relation| Refusal::Held {
        device: device.into(),
        relation,
        holders: vec![Holder {
            name: "dm-900".into(),
            mapper_name: Some("vg-home".into()),
            mapper_maker: None,
        }],
    };
    assert_eq!(refusals(&host, 1), [held("sdzz1", Relation::Itself)]);
    assert_eq!(refusals(&host, 0), [held("sdzz1", Relation::Partition)]);
    assert_eq!(refusals(&host, 2), []);

    host.write_sys("block/sdzz/holders/dm-900/marker", "");
    assert_eq!(refusals(&host, 2), [held("sdzz", Relation::WholeDisk)]);
}

#[test]
fn what_holds_a_disk_is_taken_away_by_the_program_that_made_it() {
    let advice = |volumes: &[(&str, &str)]| {
        let host = host();
        for (number, (name, uuid)) in volumes.iter().enumerate() {
            let kernel_name = format!("dm-{}", 900 + number);
            let mapper = host.disk(&kernel_name, 301, number as u32, 512);
            host.write_under(&mapper, "dm/name", &format!("{name}\n"));
            host.write_under(&mapper, "dm/uuid", &format!("{uuid}\n"));
            let marker = format!("class/block/sdzz1/holders/{kernel_name}/marker");
            host.write_sys(&marker, "");
        }
        let text = refusals(&host, 1)[0].to_string();
        let (_, after) = text.split_once("stop that first (").unwrap();
        let (commands, _) = after.rsplit_once("), or choose").unwrap();
        commands.to_owned()
    };
    let home = ("my--vg-home", "LVM-Yqu0rDrZ");
    let swap = ("my--vg-swap", "LVM-Yqu0Dm2x");
    assert_eq!(advice(&[home]), "lvchange -an my-vg/home");
    assert_eq!(advice(&[home, swap]), "vgchange -an my-vg");
    let metadata = ("vg-pool_tmeta", "LVM-Yqu0rDrZ-tmeta");
    assert_eq!(advice(&[metadata]), "vgchange -an vg");
    let crypt = ("home", "CRYPT-LUKS2-06f0c1d2-home");
    assert_eq!(advice(&[crypt]), "cryptsetup close home");
    let multipath = advice(&[("mpatha", "mpath-36001405")]);
    assert!(multipath.contains("multipath -f mpatha"), "{multipath}");
    assert!(multipath.contains("/dev/mapper/mpatha"), "{multipath}");
    assert_eq!(advice(&[("lab", "")]), "dmsetup remove lab");
}

#[test]
fn a_device_under_a_loop_device_is_refused() {
    let host = host();
    let over = host.disk("loop900", 302, 0, 512);
    host.write_under(&over, "loop/backing_file", "/dev/sdzz1\n");
    let backs = |relation| Refusal::BacksLoop {
        device: "sdzz1".into(),
        relation,
        loop_device: "loop900".into(),
    };
    assert_eq!(refusals(&host, 1), [backs(Relation::Itself)]);
    assert_eq!(refusals(&host, 0), [backs(Relation::Partition)]);
    assert_eq!(refusals(&host, 2), []);
}

#[test]
fn what_lies_under_a_loop_device_is_guarded_too() {
    let host = host();
    let over = host.disk("loop900", 302, 0, 512);
    host.write_under(&over, "loop/backing_file", "/dev/sdzz\n");
    let inspect_loop = |minor| {
        let mut stat = stat_of(FileType::BlockDevice, 0);
        stat.st_rdev = makedev(302, minor);
        inspect_stat(host.roots(), Path::new("/dev/typed"), &stat)
            .unwrap()
            .refusals
    };
    assert_eq!(inspect_loop(0), []);
    host.write_proc(
        "self/mountinfo",
        &mount_line("300:1", "/home", "ext4", "/dev/sdzz1"),
    );
    let refusal = Box::new(mounted("sdzz1", Relation::Partition, "/home"));
    let below = Refusal::Below {
        below: "sdzz".into(),
        refusal,
    };
    assert_eq!(
        below.to_string(),
        "it is a loop device over sdzz, which must not be written either: its partition sdzz1 is \
         mounted on /home: unmount it first (umount /home), or choose another target"
    );
    assert_eq!(inspect_loop(0), [below]);

    let image = host.path().join("image");
    fs::write(&image, b"").unwrap();
    for minor in [1, 2] {
        let over = host.disk(&format!("loop90{minor}"), 302, minor, 512);
        host.write_under(
            &over,
            "loop/backing_file",
            &format!("{}\n", image.display()),
        );
    }
    let refusal = Box::new(Refusal::FileBacksLoop {
        loop_device: "loop902".into(),
    });
    let below = format!("the file {}", image.display());
    assert_eq!(inspect_loop(1), [Refusal::Below { below, refusal }]);
}

#[test]
fn loop_devices_over_separate_bytes_of_one_file_leave_each_other_alone() {
    let host = host();
    let image = host.path().join("image");
    fs::write(&image, b"").unwrap();
    for (minor, start_bytes) in [(1, 0), (2, 512 * 512), (3, 511 * 512)] {
        let over = host.disk(&format!("loop90{minor}"), 302, minor, 512);
        let backing = format!("{}\n", image.display());
        host.write_under(&over, "loop/backing_file", &backing);
        host.write_under(&over, "loop/offset", &format!("{start_bytes}\n"));
    }
    let inspect_loop = |minor| {
        let mut stat = stat_of(FileType::BlockDevice, 0);
        stat.st_rdev = makedev(302, minor);
        inspect_stat(host.roots(), Path::new("/dev/typed"), &stat).unwrap()
    };
    let others = |minor| -> Vec<String> {
        let refusals = inspect_loop(minor).refusals.into_iter();
        let words = refusals.map(|refusal| refusal.to_string());
        words
            .map(|words| words.split("/dev/").nth(1).unwrap()[..7].to_owned())
            .collect()
    };
    assert_eq!(others(1), ["loop903"]);
    assert_eq!(others(2), ["loop903"]);
    assert_eq!(others(3), ["loop901", "loop902"]);
    let [one, two, across] = [1, 2, 3].map(inspect_loop);
    assert!(!one.overlaps(&two));
    assert!(one.overlaps(&across) && across.overlaps(&two));
}

#[test]
fn what_is_mounted_closes_what_overlaps_it_and_the_disk_by_another_path() {
    let host = host();
    host.write_sys("class/block/sdzz2/start", "100\n");
    for disk in ["sdzz", "sdzy"] {
        let number = format!("class/block/{disk}/device/wwid");
        host.write_sys(&number, "naa.5000c500a1b2c3d4\n");
    }
    let line = mount_line("300:1", "/home", "iso9660", "/dev/root");
    host.write_proc("self/mountinfo", &line);
    let of = |relation| mounted("sdzz1", relation, "/home");
    assert_eq!(refusals(&host, 2), [of(Relation::OverlappingPartition)]);
    assert_eq!(refusals(&host, 16), [of(Relation::OtherPath)]);
    assert!(inspect_device(&host, 0).is_other_path_of(&inspect_device(&host, 16)));
}

#[test]
fn read_only_is_refused_for_the_device_and_for_its_disk() {
    let host = host();
    host.write_sys("class/block/sdzz1/ro", "1\n");
    assert_eq!(
        refusals(&host, 1),
        [Refusal::ReadOnly {
            device: "sdzz1".into()
        }]
    );
    assert_eq!(refusals(&host, 0), []);
    host.write_sys("block/sdzz/ro", "1\n");
    assert_eq!(
        refusals(&host, 2),
        [Refusal::ReadOnly {
            device: "sdzz".into()
        }]
    );
}

#[test]
fn a_file_under_a_loop_device_or_in_swap_is_refused_under_any_name() {
    let host = host();
    let over = host.disk("loop900", 302, 0, 512);
    let image = host.path().join("my image");
    let other_name = host.path().join("other name");
    fs::write(&image, b"").unwrap();
    fs::hard_link(&image, &other_name).unwrap();
    host.write_under(
        &over,
        "loop/backing_file",
        &format!("{}\n", image.display()),
    );
    let shown = image.to_str().unwrap().replace(' ', "\\040");
    host.write_proc(
        "swaps",
        &format!("Filename Type Size Used Priority\n{shown} file 9 0 -2\n"),
    );
    let file = fs::File::open(&other_name).unwrap();
    let inspection = inspect(host.roots(), &other_name, file.as_fd()).unwrap();
    let loop_device = "loop900".to_owned();
    assert_eq!(
        inspection.refusals,
        [Refusal::SwapFile, Refusal::FileBacksLoop { loop_device }]
    );
}

#[test]
fn an_ordinary_file_and_a_directory_say_their_size_and_free_space() {
    let host = host();
    let path = host.path().join("data");
    fs::write(&path, b"twelve bytes").unwrap();
    let file = fs::File::open(&path).unwrap();
    let inspection = inspect(host.roots(), &path, file.as_fd()).unwrap();
    assert_eq!(
        inspection.kind,
        CandidateKind::RegularFile { size_bytes: 12 }
    );
    assert_eq!(inspection.refusals, []);
    assert!(inspection.signature.is_some());
    assert!(inspection.free_bytes.is_some());

    let directory = fs::File::open(host.path()).unwrap();
    let inspection = inspect(host.roots(), host.path(), directory.as_fd()).unwrap();
    assert_eq!(inspection.kind, CandidateKind::Directory);
    assert_eq!(inspection.refusals, []);
    assert!(inspection.free_bytes.is_some());
}

#[test]
fn what_is_no_disk_is_refused() {
    let host = host();
    for (kind, word) in [
        (FileType::CharacterDevice, "character device"),
        (FileType::Fifo, "FIFO"),
        (FileType::Socket, "socket"),
    ] {
        let stat = stat_of(kind, 0);
        let inspection = inspect_stat(host.roots(), Path::new("typed"), &stat).unwrap();
        assert_eq!(inspection.refusals.len(), 1);
        let text = inspection.refusals[0].to_string();
        assert!(text.contains(word) && text.contains("null:"), "{text}");
    }
}

#[test]
fn targets_that_share_bytes_are_found() {
    let host = host();
    let [disk, first, second, other] = [0, 1, 2, 16].map(|minor| inspect_device(&host, minor));
    assert!(disk.overlaps(&disk));
    assert!(disk.overlaps(&first) && first.overlaps(&disk));
    assert!(!first.overlaps(&second));
    assert!(!disk.overlaps(&other));
}

#[test]
fn refusals_say_what_to_do_next() {
    let texts = [
        (
            mounted("sdzz1", Relation::Itself, "/my \u{1b}disk"),
            "it is mounted on '/my ?disk': unmount it first (umount '/my ?disk'), or choose \
             another target",
        ),
        (
            mounted("sdzz1", Relation::Partition, "/home"),
            "its partition sdzz1 is mounted on /home: unmount it first (umount /home), or choose \
             another target",
        ),
        (
            mounted("sdzz", Relation::WholeDisk, "/"),
            "the whole disk sdzz, of which it is a part, is mounted on / and carries the running \
             system: choose another target",
        ),
        (
            Refusal::Held {
                device: "sdzz".into(),
                relation: Relation::Itself,
                holders: vec![
                    Holder {
                        name: "md9".into(),
                        mapper_name: None,
                        mapper_maker: None,
                    },
                    Holder {
                        name: "dm-9".into(),
                        mapper_name: Some("vg-x".into()),
                        mapper_maker: None,
                    },
                ],
            },
            "it is part of md9 and vg-x (dm-9): stop that first (mdadm --stop /dev/md9; dmsetup \
             remove vg-x), or choose another target",
        ),
        (
            Refusal::FileBacksLoop {
                loop_device: "loop9".into(),
            },
            "it is the file behind the loop device loop9: detach that first (losetup -d \
             /dev/loop9), or name /dev/loop9 instead",
        ),
        (
            Refusal::ReadOnly {
                device: "sdzz".into(),
            },
            "sdzz is set read-only: remove its write protection (blockdev --setrw /dev/sdzz), or \
             choose another target",
        ),
    ];
    for (refusal, text) in texts {
        assert_eq!(refusal.to_string(), text);
    }
    assert!(Refusal::Claimed.to_string().contains("O_EXCL"));
}
