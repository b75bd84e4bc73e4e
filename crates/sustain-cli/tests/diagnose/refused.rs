//! What makes no sense is refused before anything is touched, in words that say what to do.

use crate::MIB;
use crate::devices::{Disk, Partition};
use crate::support::Place;

const MACHINE: &str = "[[disk]]\nname = \"a\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
                       [[disk]]\nname = \"b\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n";

#[test]
fn what_makes_no_sense_is_explained_and_touches_nothing() {
    const TARGET: &str = "sim:machine.toml";
    let place = Place::with_machine(MACHINE);
    place.write("one", "some bytes");
    let refusals = place.refusals(
        &["diagnose"],
        &[
            // One target shares nothing.
            &["sim:machine.toml:a"],
            &["."],
            &[TARGET, "sim:machine.toml:a"],
            &[".", "./"],
            &["one", "./one", "--read"],
            &[TARGET, "."],
            &[".", "null:"],
            &["one", "."],
            &[TARGET, "--time-per-run", "1ms"],
            &[TARGET, "--read", "--destroy", TARGET],
            &[TARGET, "--report", "-"],
            &[TARGET, "--json", "x", "--report", "x"],
            &[TARGET, "--json", "machine.toml"],
        ],
    );
    insta::assert_snapshot!("diagnose", refusals);
    assert_eq!(place.names(), ["machine.toml", "one"], "nothing was made");
}

#[test]
fn a_disk_and_its_partition_are_one_also_for_reading() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let partition = Partition::add(&disk, 1, MIB, 4 * MIB);
    let refused = |targets: [&str; 2]| {
        let said = disk
            .place
            .refusal(&[&["diagnose", "--read"], &targets[..]].concat());
        said.replace(&partition.name, "PARTITION")
            .replace(disk.name(), "DISK")
    };
    insta::assert_snapshot!(refused([disk.name(), &partition.name]), @"sustain: DISK and PARTITION share bytes, as a disk and its partition do: leave one out");
    insta::assert_snapshot!(refused([disk.name(), disk.name()]), @"sustain: DISK and DISK are the same thing: leave one out");
}

#[test]
fn a_device_is_not_written_without_its_name_after_destroy() {
    let (Some(one), Some(other)) = (Disk::new(8 * MIB), Disk::new(8 * MIB)) else {
        return;
    };
    let before = one.bytes();
    let said = one
        .place
        .refusal(&["diagnose", one.name(), other.name(), "--write"]);
    let said = said
        .replace(one.name(), "ONE")
        .replace(other.name(), "OTHER");
    insta::assert_snapshot!(said, @"
    sustain: refusing to write ONE: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add --destroy ONE; to leave it as it is, use --read refusing to write OTHER: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add --destroy OTHER; to leave it as it is, use --read
    ");
    assert!(one.bytes() == before);
}

#[test]
fn a_rehearsal_says_what_would_be_measured_and_makes_nothing() {
    let place = Place::new();
    std::fs::create_dir(place.path("a")).unwrap();
    std::fs::create_dir(place.path("b")).unwrap();
    let ran = place
        .run(&["diagnose", "a", "b", "--size", "64MiB", "--dry-run"])
        .expect(0);
    let told = ran.told();
    let (shared, told): (Vec<_>, Vec<_>) = told
        .lines()
        .partition(|line| line.ends_with("so they certainly share it"));
    assert_eq!(shared.len(), 1, "{shared:?}");
    insta::assert_snapshot!(told.join("\n"), @"
    would write a scratch file in a: up to 64 MiB from its start, over and over
    would write a scratch file in b: up to 64 MiB from its start, over and over
    would measure each of the 2 targets alone and all together (9 s), then the subsets that the results call for: about 8 readings in all (24 s) if one limit is shared, 12 (36 s) if several are
    ");
    for folder in ["a", "b"] {
        assert_eq!(std::fs::read_dir(place.path(folder)).unwrap().count(), 0);
    }
}
