//! What makes no sense is refused before anything is touched, with the way on.

use crate::MIB;
use crate::devices::Disk;
use crate::support::Place;

const MACHINE: &str = "[[disk]]\nname = \"a\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
                       [[disk]]\nname = \"b\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n";

#[track_caller]
fn refused(place: &Place, arguments: &[&str], words: &str) {
    let ran = place.run(&[&["sweep"], arguments].concat());
    ran.expect(2).says(words);
}

#[test]
fn impossible_ranges_are_refused() {
    let place = Place::with_machine(MACHINE);
    let target = "sim:machine.toml";
    refused(
        &place,
        &[target, "--record-size", "1MiB..4KiB"],
        "smaller end first",
    );
    refused(
        &place,
        &[target, "--record-size", "4KiB..1MB"],
        "does not meet",
    );
    refused(&place, &[target, "--record-size", "4K..1M"], "KiB");
    refused(&place, &[target, "--depth", "0..8"], "begin at 1");
    refused(&place, &[target, "--depth", "1..48"], "list the values");
    refused(&place, &[target, "--depth", "1..8192"], "1 to 4096");
    refused(&place, &[target, "--record-size", "2GiB"], "to 1GiB");
    refused(&place, &[target, "--engine", "fast"], "possible values");
}

#[test]
fn a_chunk_goes_with_records_and_blocks() {
    let place = Place::with_machine(MACHINE);
    let stripe = ["sim:machine.toml", "--layout", "stripe"];
    let flags = |more: &[&'static str]| [&stripe[..], more].concat();
    refused(
        &place,
        &flags(&["--chunk", "96KiB", "--record-size", "64KiB"]),
        "neither a multiple",
    );
    refused(
        &place,
        &flags(&["--chunk", "64KiB,96KiB", "--record-size", "64KiB"]),
        "--chunk 96 KiB cannot be measured",
    );
    refused(
        &place,
        &["sim:machine.toml", "--chunk", "1MiB"],
        "--layout stripe",
    );
    refused(
        &place,
        &["sim:machine.toml:a", "--layout", "stripe"],
        "one target makes no stripe",
    );
    std::fs::create_dir(place.path("x")).unwrap();
    std::fs::create_dir(place.path("y")).unwrap();
    let odd = [
        "x",
        "y",
        "--size",
        "8MiB",
        "--layout",
        "stripe",
        "--chunk",
        "1000",
        "--record-size",
    ];
    refused(&place, &[&odd[..], &["1000"]].concat(), "multiples of");
}

#[test]
fn an_order_names_every_target_once() {
    let place = Place::with_machine(MACHINE);
    let order = |typed| ["sim:machine.toml", "--order", typed];
    refused(&place, &order("a"), "leaves out b");
    refused(&place, &order("a,b,a"), "has a twice");
    refused(
        &place,
        &order("a,c"),
        "there is no target \"c\", the targets are a,b",
    );
    let both = [&order("all")[..], &["--order", "a,b"]].concat();
    refused(&place, &both, "leave out the others");
}

#[test]
fn a_budget_is_longer_than_a_point() {
    let place = Place::with_machine(MACHINE);
    let budget = ["sim:machine.toml", "--budget", "1s"];
    refused(&place, &budget, "too short for one point of 1 s");
    refused(
        &place,
        &["sim:machine.toml", "--time-per-point", "1ms"],
        "at least 100ms",
    );
    refused(
        &place,
        &["sim:machine.toml", "--rounds", "0"],
        "from 1 to 100",
    );
    let short = [
        "sim:machine.toml",
        "--time-per-point",
        "100ms",
        "--record-size",
        "64MiB",
    ];
    refused(&place, &short, "longer --time-per-point");
}

#[test]
fn targets_that_do_not_go_together_are_refused() {
    let place = Place::with_machine(MACHINE);
    refused(&place, &["sim:machine.toml", "."], "sweep them separately");
    refused(&place, &["sim:machine.toml", "sim:machine.toml:a"], "twice");
    refused(&place, &["null:", "--read"], "nothing to read in null:");
    let destroy = [
        "sim:machine.toml",
        "--read",
        "--destroy",
        "sim:machine.toml",
    ];
    refused(&place, &destroy, "destroys nothing");
    refused(
        &place,
        &["sim:machine.toml", "--json", "machine.toml"],
        "file of a simulated machine",
    );
    assert_eq!(place.names(), ["machine.toml"], "nothing was made");
}

#[test]
fn arrays_are_built_of_block_devices_only() {
    let place = Place::with_machine(MACHINE);
    let words = "and . is not one: name disks or partitions";
    let md = [".", "--md", "raid0"];
    refused(&place, &md, words);
    refused(&place, &[".", "new", "--md", "raid0"], words);
    refused(
        &place,
        &["new", ".", "--md", "raid0"],
        "and new does not exist",
    );
    refused(&place, &[&md[..2], &["raid5"]].concat(), "possible values");
    let chunk = [&md[..], &["--chunk", "96KiB"]].concat();
    refused(&place, &chunk, "a power of two from 4KiB on");
    assert_eq!(place.names(), ["machine.toml"], "nothing was made");
}

#[test]
fn what_a_target_does_not_have_is_refused_at_once() {
    let place = Place::with_machine(MACHINE);
    for engines in ["posix-aio,io_uring", "libaio"] {
        let flags = ["sim:machine.toml", "--engine", engines];
        refused(&place, &flags, "no engines to choose from: leave out");
    }
    // Before it is looked whether these are there.
    let array = ["/dev/nvme0n1", "/dev/nvme1n1", "--md", "raid0"];
    let paths = [&array[..], &["--path", "direct,passthrough"]].concat();
    refused(&place, &paths, "leave out --path passthrough, or --md");
    assert_eq!(place.names(), ["machine.toml"], "nothing was made");
}

#[test]
fn a_device_is_not_written_without_its_name_after_destroy() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let before = disk.bytes();
    let words = format!("--destroy {}", disk.name());
    refused(&disk.place, &[disk.name(), "--write"], &words);
    refused(&disk.place, &[disk.name(), "--write", "--read"], &words);
    assert!(disk.bytes() == before);
}

#[test]
fn a_rehearsal_says_what_would_be_measured_and_makes_nothing() {
    let place = Place::new();
    std::fs::create_dir(place.path("a")).unwrap();
    let flags = [
        "sweep",
        "a",
        "--dry-run",
        "--write",
        "--read",
        "--engine",
        "sync,auto",
    ];
    let ran = place.run(&flags).expect(0);
    ran.says("would write and read a (scratch_file)")
        .says("98 settings, 4 times each: 392 runs of 1 s, 6.53 min")
        .says("70 settings left out: sync keeps one request in flight");
    assert_eq!(std::fs::read_dir(place.path("a")).unwrap().count(), 0);
}

#[test]
fn a_layout_that_one_target_cannot_have_is_left_out_with_the_reason() {
    let place = Place::with_machine(MACHINE);
    let flags = [
        "sweep",
        "sim:machine.toml:a",
        "--layout",
        "independent,stripe",
        "--dry-run",
    ];
    let ran = place.run(&flags).expect(0);
    ran.says("42 settings left out: one target makes no stripe");
}
