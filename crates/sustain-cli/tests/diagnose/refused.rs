//! What makes no sense is refused before anything is touched, in words that say what to do.

use crate::MIB;
use crate::devices::{Disk, Partition};
use crate::support::Place;

const MACHINE: &str = "[[disk]]\nname = \"a\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
                       [[disk]]\nname = \"b\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n";

#[track_caller]
fn refused(place: &Place, arguments: &[&str], words: &str) {
    let ran = place.run(&[&["diagnose"], arguments].concat());
    ran.expect(2).says(words);
}

#[test]
fn one_target_shares_nothing() {
    let place = Place::with_machine(MACHINE);
    refused(&place, &["sim:machine.toml:a"], "name two or more");
    refused(&place, &["."], "name two or more");
}

#[test]
fn the_same_target_twice_is_refused_under_any_name() {
    let place = Place::with_machine(MACHINE);
    refused(&place, &["sim:machine.toml", "sim:machine.toml:a"], "twice");
    refused(&place, &[".", "./"], "twice");
    place.write("one", "some bytes");
    refused(&place, &["one", "./one", "--read"], "are the same thing");
}

#[test]
fn targets_that_cannot_share_anything_are_refused() {
    let place = Place::with_machine(MACHINE);
    refused(&place, &["sim:machine.toml", "."], "share no limit");
    refused(&place, &[".", "null:"], "null: is not a disk");
    place.write("one", "some bytes");
    refused(&place, &["one", "."], "--read or --write");
}

#[test]
fn a_disk_and_its_partition_are_one_also_for_reading() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let partition = Partition::add(&disk, 1, MIB, 4 * MIB);
    let pair = [disk.name(), partition.name.as_str(), "--read"];
    refused(&disk.place, &pair, "share bytes");
    refused(
        &disk.place,
        &[disk.name(), disk.name()],
        "are the same thing",
    );
}

#[test]
fn a_device_is_not_written_without_its_name_after_destroy() {
    let (Some(one), Some(other)) = (Disk::new(8 * MIB), Disk::new(8 * MIB)) else {
        return;
    };
    let before = one.bytes();
    let words = format!("--destroy {}", one.name());
    refused(&one.place, &[one.name(), other.name(), "--write"], &words);
    assert!(one.bytes() == before);
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let place = Place::with_machine(MACHINE);
    let target = "sim:machine.toml";
    refused(&place, &[target, "--time-per-run", "1ms"], "at least 100ms");
    let destroy = [target, "--read", "--destroy", target];
    refused(&place, &destroy, "destroys nothing");
    refused(&place, &[target, "--report", "-"], "needs the name");
    let same = [target, "--json", "x", "--report", "x"];
    refused(&place, &same, "use two different files");
    refused(
        &place,
        &[target, "--json", "machine.toml"],
        "file of a simulated machine",
    );
    assert_eq!(place.names(), ["machine.toml"], "nothing was made");
}

#[test]
fn a_rehearsal_says_what_would_be_measured_and_makes_nothing() {
    let place = Place::new();
    std::fs::create_dir(place.path("a")).unwrap();
    std::fs::create_dir(place.path("b")).unwrap();
    let ran = place.run(&["diagnose", "a", "b", "--dry-run"]).expect(0);
    ran.says("would write a")
        .says("would measure each of the 2 targets alone, all together")
        .says("so they certainly share it");
    for folder in ["a", "b"] {
        assert_eq!(std::fs::read_dir(place.path(folder)).unwrap().count(), 0);
    }
}
