//! What makes no sense is refused before anything is touched, with the way on.

use crate::MIB;
use crate::devices::Disk;
use crate::support::Place;

const MACHINE: &str = "[[disk]]\nname = \"a\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
                       [[disk]]\nname = \"b\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n";

#[test]
fn what_makes_no_sense_is_explained_and_touches_nothing() {
    const TARGET: &str = "sim:machine.toml";
    let place = Place::with_machine(MACHINE);
    for name in ["x", "y"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let striped = [
        TARGET,
        "--layout",
        "stripe",
        "--record-size",
        "64KiB",
        "--chunk",
    ];
    let refusals = place.refusals(
        &["sweep"],
        &[
            &[TARGET, "--record-size", "1MiB..4KiB"],
            &[TARGET, "--record-size", "4KiB..1MB"],
            &[TARGET, "--record-size", "4K..1M"],
            &[TARGET, "--record-size", "2GiB"],
            &[TARGET, "--depth", "0..8"],
            &[TARGET, "--depth", "1..48"],
            &[TARGET, "--depth", "1..8192"],
            &[TARGET, "--engine", "fast"],
            &[&striped[..], &["96KiB"]].concat(),
            &[&striped[..], &["64KiB,96KiB"]].concat(),
            &[TARGET, "--chunk", "1MiB"],
            &["sim:machine.toml:a", "--layout", "stripe"],
            &["sim:machine.toml:a", "--layout", "turns"],
            &[TARGET, "--order", "a"],
            &[TARGET, "--order", "a,b,a"],
            &[TARGET, "--order", "a,c"],
            &[TARGET, "--order", "all", "--order", "a,b"],
            &[TARGET, "--budget", "1s"],
            &[TARGET, "--time-per-point", "1ms"],
            &[TARGET, "--rounds", "0"],
            &[TARGET, "."],
            &[TARGET, "sim:machine.toml:a"],
            &["null:", "--read"],
            &[TARGET, "--read", "--destroy", TARGET],
            &[TARGET, "--json", "machine.toml"],
            // Arrays are built of block devices only.
            &[".", "--md", "raid0"],
            &[".", "new", "--md", "raid0"],
            &["new", ".", "--md", "raid0"],
            &[".", "--md", "raid5"],
            &[".", "--md", "raid0", "--chunk", "96KiB"],
            &[TARGET, "--engine", "posix-aio,io_uring"],
            &[TARGET, "--engine", "libaio"],
            // Before it is looked whether these are there.
            &[
                "/dev/nvme0n1",
                "/dev/nvme1n1",
                "--md",
                "raid0",
                "--path",
                "direct,passthrough",
            ],
        ],
    );
    insta::assert_snapshot!("sweep", refusals);
    assert_eq!(
        place.names(),
        ["machine.toml", "x", "y"],
        "nothing was made"
    );
}

#[test]
fn what_only_the_targets_show_is_explained() {
    const TARGET: &str = "sim:machine.toml";
    let place = Place::with_machine(MACHINE);
    for name in ["x", "y"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    // How many bytes a block has is another matter on each disk.
    let odd = [
        "sweep", "x", "y", "--size", "8MiB", "--layout", "stripe", "--chunk", "1000",
    ];
    place
        .run(&odd)
        .expect(2)
        .says("needs chunks that are multiples of");
    // This is known only after the first run.
    let short = [
        "sweep",
        TARGET,
        "--time-per-point",
        "100ms",
        "--record-size",
        "64MiB",
    ];
    let ran = place.run(&short).expect(2);
    insta::assert_snapshot!(ran.stderr.split("sustain: ").nth(1).unwrap(), @"none of these settings can be measured: all of them have more bytes in flight than are transferred in half a point of 0.1 s at 200 MB/s; use a longer --time-per-point, or smaller records and depths");
    assert_eq!(
        place.names(),
        ["machine.toml", "x", "y"],
        "nothing was made"
    );
}

#[test]
fn a_device_is_not_written_without_its_name_after_destroy() {
    let Some(disk) = Disk::new(8 * MIB) else {
        return;
    };
    let before = disk.bytes();
    for flags in [&["--write"][..], &["--write", "--read"]] {
        let said = disk
            .place
            .refusal(&[&["sweep", disk.name()], flags].concat());
        let hint = format!("--destroy {}", disk.name());
        assert_eq!(said.matches(&hint).count(), 1, "{said}");
    }
    assert!(disk.bytes() == before);
}

#[test]
fn a_rehearsal_says_what_would_be_measured_and_makes_nothing() {
    let place = Place::new();
    std::fs::create_dir(place.path("a")).unwrap();
    let flags = [
        "sweep",
        "a",
        "--size",
        "64MiB",
        "--dry-run",
        "--write",
        "--read",
        "--engine",
        "sync,auto",
    ];
    let ran = place.run(&flags).expect(0);
    insta::assert_snapshot!(ran.told(), @"
    would write and read a scratch file in a: up to 64 MiB from its start, over and over
    would measure 98 settings, 4 times each: 392 runs of 1 s, 6.53 min
    would flush after each run that writes, on top of that time
    70 settings are left out: sync keeps one request in flight, whatever the depth
    ");
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
    insta::assert_snapshot!(ran.stderr, @"
    would write a (simulated): up to 1.00 TB from its start, over and over
    would measure 42 settings, 4 times each: 168 runs of 1 s, 2.8 min
    would flush after each run that writes, on top of that time
    42 settings are left out: one target makes no stripe and no span
    ");
}
