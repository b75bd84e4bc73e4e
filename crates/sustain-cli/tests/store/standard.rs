//! Standard output and standard error that the shell has opened on a member, by any name: nothing
//! is printed there.

use std::fs::{File, hard_link};
use std::path::Path;
use std::process::Command;

use crate::devices::Loop;
use crate::recorded::{self, End, Stream, content};
use crate::support::{Place, Ran, ran};

/// Every way of reading a store, and of writing to one, that prints.
const COMMANDS: &[&[&str]] = &[
    &["list", "a"],
    &["extract", "a"],
    &["verify", "a"],
    &["recover", "a"],
    &["record", "a", "--from", "test:1MB/s", "--bytes", "1kB"],
    &[
        "record",
        "a",
        "--from",
        "test:1MB/s",
        "--bytes",
        "1kB",
        "--json",
        "-",
    ],
];

fn recorded_store() -> Place {
    let place = Place::new();
    recorded::create(&place, &["a"], "2MiB");
    let content = content(700_000);
    let streams = [Stream::plain("main", &content)];
    recorded::record(&place, &["a"], &streams, End::InOrder);
    place
}

/// As the shell's `1<>`: neither cut off nor only appended to.
fn opened(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

fn run_printing_to(place: &Place, arguments: &[&str], path: &Path) -> Ran {
    ran(place
        .command(arguments)
        .stdout(opened(path))
        .output()
        .unwrap())
}

#[test]
fn nothing_is_printed_to_a_member_under_any_name() {
    let place = recorded_store();
    hard_link(place.path("a"), place.path("hard")).unwrap();
    let before = std::fs::read(place.path("a")).unwrap();
    for command in COMMANDS {
        for name in ["a", "hard"] {
            run_printing_to(&place, command, &place.path(name))
                .expect(2)
                .says("standard output is a member of the store");
        }
        let silenced = place
            .command(command)
            .stderr(opened(&place.path("hard")))
            .output();
        let told = ran(silenced.unwrap()).expect(2).stdout;
        assert!(told.contains("standard error is a member"), "{told}");
    }
    assert!(std::fs::read(place.path("a")).unwrap() == before);
    // A file of its own is no one's.
    place.write("words", "");
    run_printing_to(&place, &["list", "a"], &place.path("words")).expect(0);
    assert!(place.read("words").contains("main"));
}

#[test]
fn nothing_is_printed_to_a_loop_device_over_a_member_or_to_the_file_under_one() {
    let place = recorded_store();
    let before = std::fs::read(place.path("a")).unwrap();
    let Some(device) = Loop::over(&place.path("a"), &[]) else {
        return;
    };
    for arguments in [["extract", "a"], ["list", "a"], ["verify", "a"]] {
        run_printing_to(&place, &arguments, Path::new(&device.name))
            .expect(2)
            .says("standard output is a disk");
    }
    run_printing_to(&place, &["list", &device.name], &place.path("a"))
        .expect(2)
        .says("the file under the loop device");
    assert!(std::fs::read(place.path("a")).unwrap() == before);
}

/// As a daemon or a script may start it.
fn run_with_output_closed(place: &Place, arguments: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" >&-"]);
    command.arg(env!("CARGO_BIN_EXE_sustain")).args(arguments);
    ran(command.current_dir(place.path(".")).output().unwrap())
}

#[test]
fn a_result_that_goes_to_a_closed_standard_output_is_no_success() {
    let place = recorded_store();
    for command in [&["list", "a"], &["extract", "a"], &["verify", "a"]] {
        run_with_output_closed(&place, command).expect(2).says(
            "standard output is closed, or open for reading only, so the result would be lost",
        );
    }
    run_with_output_closed(
        &place,
        &["create", "b", "--size", "2MiB", "--slot", "64KiB"],
    )
    .expect(2);
    assert!(!place.path("b").exists());
    run_with_output_closed(&place, &["list", "a", "--json", "-"]).expect(2);
    run_with_output_closed(&place, &["man"])
        .expect(1)
        .says("cannot write to standard output: it is closed, or open for reading only");
    // Nothing is lost where the result goes to a file.
    run_with_output_closed(&place, &["list", "a", "--json", "result"])
        .expect(0)
        .says("main");
    assert!(place.read("result").contains("sustain.list/1"));
    run_with_output_closed(&place, &["extract", "a", "-o", "out"]).expect(0);
    // Whoever sends it to /dev/null wants none of it.
    let null = File::options().read(true).write(true).open("/dev/null");
    let silenced = place.command(&["list", "a"]).stdout(null.unwrap()).output();
    ran(silenced.unwrap()).expect(0);
}
