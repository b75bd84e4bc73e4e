//! What the command refuses to write, on real loop devices and file systems, and that every byte
//! stays as it was; and what it allows. Skipped, with the reason, where the tests may not make
//! loop devices. The cases are described in docs/guard.md.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and says why it is not made"
)]

#[path = "guard/devices.rs"]
mod devices;
#[path = "guard/files.rs"]
mod files;
#[path = "guard/scratch.rs"]
mod scratch;
mod support;

use std::os::unix::fs::symlink;
use std::path::Path;

use devices::{Disk, Loop, Mount, Partition, Swap, fill_for_swap, tool};
use support::{Place, Ran, json_of, unwrapped};
use sustain_testing::{Requirement, skip};

const MIB: u64 = 1 << 20;

/// A second of idle time is watched before and after.
const QUICK: &[&str] = &[
    "--record-size",
    "64KiB",
    "--time",
    "9s",
    "--no-confirm",
    "--json",
    "-",
];

fn measure(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[&["measure"], arguments, QUICK].concat())
}

/// Writing this, with the user's word that it may be destroyed.
fn destroy(name: &str) -> [&str; 4] {
    [name, "--write", "--destroy", name]
}

/// Fails unless the command says these words, exits with 2 and leaves every byte as it was.
#[track_caller]
fn assert_refused(disk: &Disk, arguments: &[&str], words: &[&str]) {
    assert_refused_and_kept(disk, arguments, words, || disk.bytes());
}

/// As [`assert_refused`], where not every byte of the disk stands still by itself.
#[track_caller]
fn assert_refused_and_kept(
    disk: &Disk,
    arguments: &[&str],
    words: &[&str],
    bytes: impl Fn() -> Vec<u8>,
) {
    let before = bytes();
    let ran = measure(&disk.place, arguments).expect(2);
    for words in words {
        let said = unwrapped(&ran.stderr);
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert_eq!(ran.stdout, "", "there is no result");
    assert!(bytes() == before, "bytes changed: {ran:#?}");
}

fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_device_is_not_written_without_its_name_after_destroy() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let name = disk.name();
    let way_on = format!("--destroy {name}");
    assert_refused(
        &disk,
        &[name, "--write"],
        &["would be overwritten", "data of a kind", &way_on, "--read"],
    );
}

#[test]
fn destroy_that_names_something_else_is_refused() {
    let (Some(disk), Some(other)) = (Disk::new(8 * MIB), Disk::new(8 * MIB)) else {
        return;
    };
    let other_before = other.bytes();
    for wrong in [other.name(), "/dev/loop", "./disk.img"] {
        let words = [wrong, "names none of the targets", "exactly"];
        assert_refused(&disk, &[disk.name(), "--write", "--destroy", wrong], &words);
    }
    // One of two is named: neither is written.
    let one_named = [
        disk.name(),
        other.name(),
        "--write",
        "--destroy",
        disk.name(),
    ];
    let way_on = format!("--destroy {}", other.name());
    assert_refused(&disk, &one_named, &[&way_on]);
    // Another name of the same device is not what was typed.
    symlink(disk.name(), disk.place.path("link")).unwrap();
    let linked = [disk.name(), "--write", "--destroy", "link"];
    assert_refused(&disk, &linked, &["names none of the targets"]);
    assert!(other.bytes() == other_before);
}

#[test]
fn destroy_with_read_is_a_contradiction() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let name = disk.name();
    let flags = [name, "--read", "--destroy", name];
    assert_refused(&disk, &flags, &["destroys nothing"]);
}

#[test]
fn a_device_is_read_unless_it_is_said_otherwise() {
    let Some(disk) = Disk::new(MIB) else { return };
    let before = disk.bytes();
    let ran = measure(&disk.place, &[disk.name()]).expect(0);
    assert_eq!(json_of(&ran.stdout)["plan"]["direction"], "read");
    assert!(disk.bytes() == before);
}

#[test]
fn a_mounted_device_is_refused_under_any_name_and_may_be_read() {
    let Some(disk) = Disk::new(16 * MIB) else {
        return;
    };
    disk.make_file_system();
    let mount = Mount::new(&disk.place, &[disk.name()]);
    let words = ["is mounted on", path_text(&mount.point), "umount"];
    assert_refused(&disk, &destroy(disk.name()), &words);
    // As udev makes them.
    let by_id = disk.place.path("by-id");
    std::fs::create_dir(&by_id).unwrap();
    symlink(disk.name(), by_id.join("ata-DISK_123")).unwrap();
    assert_refused(&disk, &destroy("by-id/ata-DISK_123"), &words);
    // A loop device over it writes to the same bytes.
    let Some(above) = Loop::over(Path::new(disk.name()), &[]) else {
        return;
    };
    let over = format!("over {}", disk.device.kernel_name());
    assert_refused(&disk, &destroy(&above.name), &[&over, "is mounted on"]);
    drop(above);

    let before = disk.bytes();
    let ran = measure(&disk.place, &[disk.name(), "--read"]).expect(0);
    let target = &json_of(&ran.stdout)["targets"][0];
    assert_eq!(target["bytes"].as_u64(), Some(16 * MIB));
    assert_eq!(target["ended"], "end_of_device");
    assert!(disk.bytes() == before, "reading changed bytes");
}

#[test]
fn a_mounted_partition_keeps_its_disk_and_leaves_its_sibling_free() {
    let Some(disk) = Disk::new(32 * MIB) else {
        return;
    };
    let used = Partition::add(&disk, 1, MIB, 16 * MIB);
    let free = Partition::add(&disk, 2, 17 * MIB, 8 * MIB);
    devices::make_file_system(&used.name);
    let mount = Mount::new(&disk.place, &[&used.name]);
    std::fs::write(mount.path("precious"), "of great value").unwrap();
    mount.settle();
    let of_disk = format!("its partition {}", used.name.trim_start_matches("/dev/"));
    assert_refused(
        &disk,
        &destroy(disk.name()),
        &[&of_disk, "is mounted on", "umount"],
    );
    assert_refused(&disk, &destroy(&used.name), &["it is mounted on"]);

    let before = disk.bytes();
    let ran = measure(&disk.place, &destroy(&free.name)).expect(0);
    let target = &json_of(&ran.stdout)["targets"][0];
    assert_eq!(target["bytes"].as_u64(), Some(8 * MIB));
    let after = disk.bytes();
    let range = free.range();
    assert!(after[..range.start] == before[..range.start], "bytes below");
    assert!(after[range.end..] == before[range.end..], "bytes above");
    assert!(after[range.clone()] != before[range], "nothing was written");
    let read = std::fs::read_to_string(mount.path("precious")).unwrap();
    assert_eq!(read, "of great value");
    drop(mount);
    tool(&["e2fsck", "-f", "-n", &used.name]);
}

#[test]
fn a_partition_of_a_disk_that_is_mounted_as_a_whole_is_refused() {
    let Some(disk) = Disk::new(16 * MIB) else {
        return;
    };
    disk.make_file_system();
    let partition = Partition::add(&disk, 1, 8 * MIB, 4 * MIB);
    let _mount = Mount::new(&disk.place, &[disk.name()]);
    let of_part = format!("the whole disk {}", disk.device.kernel_name());
    let words = [of_part.as_str(), "is mounted on"];
    assert_refused(&disk, &destroy(&partition.name), &words);
}

#[test]
fn a_disk_and_its_partition_are_not_written_together() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let partition = Partition::add(&disk, 1, MIB, 4 * MIB);
    let (whole, part) = (disk.name(), partition.name.as_str());
    let named = ["--write", "--destroy", whole, "--destroy", part];
    for pair in [[whole, part], [part, whole]] {
        assert_refused(&disk, &[&pair[..], &named].concat(), &["share bytes"]);
    }
    let before = disk.bytes();
    measure(&disk.place, &[whole, part, "--read"]).expect(0);
    assert!(disk.bytes() == before);
}

#[test]
fn active_swap_is_refused() {
    let Some(disk) = Disk::new(16 * MIB) else {
        return;
    };
    let partition = Partition::add(&disk, 1, MIB, 8 * MIB);
    fill_for_swap(&partition.name, 8 * MIB);
    let Some(swap) = Swap::on(&disk, &partition.name) else {
        return;
    };
    let bytes = || swap.bytes_beside(&disk);
    let words = ["it is active swap", "swapoff"];
    assert_refused_and_kept(&disk, &destroy(&partition.name), &words, bytes);
    let of_disk = format!("its partition {}p1 is active", disk.device.kernel_name());
    let words = [of_disk.as_str(), "swapoff"];
    assert_refused_and_kept(&disk, &destroy(disk.name()), &words, bytes);
}

#[test]
fn an_active_swap_file_is_refused() {
    let Some(disk) = Disk::new(32 * MIB) else {
        return;
    };
    disk.make_file_system();
    let mount = Mount::new(&disk.place, &[disk.name()]);
    let file = mount.path("swap");
    // Swap takes no holes, and wants to be closed to others.
    fill_for_swap(&file, 8 * MIB);
    tool(&["chmod", "600", &file]);
    mount.settle();
    let Some(swap) = Swap::on(&disk, &file) else {
        return;
    };
    let bytes = || swap.bytes_beside(&disk);
    assert_refused_and_kept(&disk, &destroy(&file), &["swap file"], bytes);
}

#[test]
fn a_device_that_a_program_has_claimed_is_refused() {
    use rustix::fs::{Mode, OFlags, open};
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let claim = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let _claimed = open(disk.name(), claim, Mode::empty()).unwrap();
    assert_refused(&disk, &destroy(disk.name()), &["claimed", "fuser"]);
    measure(&disk.place, &[disk.name(), "--read"]).expect(0);
}

#[test]
fn what_lies_under_a_loop_device_is_refused() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let under = format!("behind the loop device {}", disk.device.kernel_name());
    let words = [under.as_str(), "losetup -d", "instead"];
    assert_refused(&disk, &destroy("disk.img"), &words);
    std::fs::hard_link(&disk.image, disk.place.path("other.img")).unwrap();
    assert_refused(&disk, &destroy("other.img"), &words);

    let Some(above) = Loop::over(Path::new(disk.name()), &[]) else {
        return;
    };
    let under = format!("backs the loop device {}", above.kernel_name());
    let words = [under.as_str(), "losetup -d", "instead"];
    assert_refused(&disk, &destroy(disk.name()), &words);
    // The topmost is the one to write through.
    let flags = [&destroy(&above.name)[..], &["--bytes", "1MiB"]].concat();
    measure(&disk.place, &flags).expect(0);
}

#[test]
fn what_lies_dormant_is_said_before_and_destroyed_when_named() {
    let Some(disk) = Disk::new(16 * MIB) else {
        return;
    };
    disk.make_file_system();
    let name = disk.name();
    let holds = "ext4 file system labelled \"precious\"";
    let way_on = format!("--destroy {name}");
    assert_refused(&disk, &[name, "--write"], &[holds, &way_on]);
    let before = disk.bytes();
    let flags = [&destroy(name)[..], &["--bytes", "1MiB"]].concat();
    measure(&disk.place, &[&flags[..], &["--dry-run"]].concat())
        .expect(0)
        .says(holds)
        .says(&format!("would write {name}"));
    assert!(disk.bytes() == before, "a rehearsal wrote");
    let ran = measure(&disk.place, &flags).expect(0).says(holds);
    // It is said before anything else.
    assert!(ran.stderr.starts_with(name), "{}", ran.stderr);
    let after = disk.bytes();
    assert!(after[..1 << 20] != before[..1 << 20]);
    assert!(after[1 << 20..] == before[1 << 20..]);
}

#[test]
fn the_same_device_under_two_names_is_refused() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    symlink(disk.name(), disk.place.path("ata-DISK_123")).unwrap();
    let twice = [disk.name(), "ata-DISK_123"];
    let words = ["are the same thing", disk.name(), "ata-DISK_123"];
    assert_refused(&disk, &[&twice[..], &["--read"]].concat(), &words);
    let named = ["--write", "--destroy", twice[0], "--destroy", twice[1]];
    assert_refused(&disk, &[&twice[..], &named].concat(), &words);
}

#[test]
fn a_read_only_device_is_refused_and_may_be_read() {
    let Some(disk) = Disk::with_flags(MIB, &["--read-only"]) else {
        return;
    };
    assert_refused(&disk, &destroy(disk.name()), &["read-only", "--setrw"]);
    measure(&disk.place, &[disk.name(), "--read"]).expect(0);
}

#[test]
fn a_device_smaller_than_a_record_is_refused() {
    let Some(disk) = Disk::new(32 << 10) else {
        return;
    };
    let words = ["32 KiB", "less than one record of 64 KiB", "--record-size"];
    assert_refused(&disk, &destroy(disk.name()), &words);
    assert_refused(&disk, &[disk.name(), "--read"], &words);
}

#[test]
fn the_end_of_the_device_is_a_clean_ending_after_the_last_whole_record() {
    let Some(disk) = Disk::new(MIB + (32 << 10)) else {
        return;
    };
    let before = disk.bytes();
    let ran = measure(&disk.place, &destroy(disk.name())).expect(0);
    let target = &json_of(&ran.stdout)["targets"][0];
    assert_eq!(target["ended"], "end_of_device");
    assert_eq!(target["bytes"].as_u64(), Some(MIB));
    assert_eq!(target["distinct_bytes"].as_u64(), Some(MIB));
    let after = disk.bytes();
    assert!(
        after[1 << 20..] == before[1 << 20..],
        "beyond the last record"
    );
    let untouched = after[..1 << 20].chunks(4096).zip(before.chunks(4096));
    assert_eq!(untouched.filter(|(new, old)| new == old).count(), 0);
}

#[test]
fn with_a_size_it_starts_again_and_keeps_within() {
    let Some(disk) = Disk::new(4 * MIB) else {
        return;
    };
    let before = disk.bytes();
    let bounds = ["--size", "1MiB", "--bytes", "4MiB"];
    let ran = measure(&disk.place, &[&destroy(disk.name())[..], &bounds].concat()).expect(0);
    let target = &json_of(&ran.stdout)["targets"][0];
    assert_eq!(target["ended"], "bytes");
    assert_eq!(target["bytes"].as_u64(), Some(4 * MIB));
    assert_eq!(target["distinct_bytes"].as_u64(), Some(MIB));
    assert_eq!(target["laps"].as_u64(), Some(4));
    assert!(
        disk.bytes()[1 << 20..] == before[1 << 20..],
        "beyond --size"
    );
}

#[test]
fn bytes_bound_what_the_run_and_its_confirmation_write() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let before = disk.bytes();
    let name = disk.name();
    let arguments = ["measure", name, "--write", "--destroy", name];
    let bounds = ["--bytes", "2MiB", "--depth", "2", "--rate", "1MiB/s"];
    for more in [&bounds[..4], &bounds[..]] {
        let ran = disk.place.run(&[&arguments[..], more].concat());
        assert_eq!(ran.code, 0, "{ran:#?}");
        assert!(
            disk.bytes()[2 << 20..] == before[2 << 20..],
            "beyond --bytes"
        );
    }
}

#[test]
fn a_device_that_may_not_be_opened_is_refused() {
    let Some(disk) = Disk::new(MIB) else { return };
    let Some(mut command) = files::as_nobody(&disk.place) else {
        skip(Requirement::AnotherUser, "he could not run the command");
        return;
    };
    let before = disk.bytes();
    let output = command.arg("measure").args(destroy(disk.name())).output();
    support::ran(output.unwrap())
        .expect(2)
        .says("permission denied");
    assert!(disk.bytes() == before);
}

#[test]
fn no_signature_on_a_device_outlives_the_making_of_a_store() {
    // It does not end with a whole block, and the last sector is where GPT has its second header.
    let place = Place::new();
    let image = place.path("image");
    let size_bytes = 32 * MIB + 3 * 512;
    let file = std::fs::File::create(&image).unwrap();
    file.set_len(size_bytes).unwrap();
    for at in [512, size_bytes - 512] {
        std::os::unix::fs::FileExt::write_all_at(&file, b"EFI PART", at).unwrap();
    }
    let Some(device) = Loop::over(&image, &[]) else {
        return;
    };
    let name = device.name.as_str();
    place.run(&["create", name, "--destroy", name]).expect(0);
    let bytes = std::fs::read(&image).unwrap();
    assert_eq!(bytes.len() as u64, size_bytes);
    assert!(!bytes.windows(8).any(|window| window == b"EFI PART"));
    place.run(&["list", name]).expect(0);
}

#[test]
fn loop_devices_over_separate_ranges_of_one_file_are_written_and_overlapping_ones_are_not() {
    let Some(disk) = Disk::with_flags(8 * MIB, &["--sizelimit", "4194304"]) else {
        return;
    };
    let Some(beside) = Loop::over(&disk.image, &["--offset", "4194304"]) else {
        return;
    };
    let before = disk.bytes();
    let small = [&destroy(&beside.name)[..], &["--bytes", "1MiB"]].concat();
    measure(&disk.place, &small).expect(0);
    let half = 4 * MIB as usize;
    assert!(disk.bytes()[..half] == before[..half], "bytes below");
    drop(beside);
    let Some(across) = Loop::over(&disk.image, &["--offset", "2097152"]) else {
        return;
    };
    assert_refused(&disk, &destroy(disk.name()), &[across.kernel_name()]);
    assert_refused(&disk, &destroy(&across.name), &[disk.device.kernel_name()]);
    let both = [disk.name(), &across.name, "--read"];
    measure(&disk.place, &both).expect(0);
}
