//! `sustain measure --effect` as it is typed: what it says, writes and refuses.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Place, assert_valid, disk, json_of};
use sustain_testing::{Requirement, skip};

const SHORT: &[&str] = &["--size", "16MiB", "--time", "1s", "--no-confirm"];

#[test]
fn the_effect_stands_in_the_document_the_page_and_the_terminal() {
    let place = Place::new();
    let flags = [
        "--effect", "--victim", ".", "--json", "run.json", "--report", "run.html",
    ];
    let ran = place
        .run(&[&["measure", "."], SHORT, &flags].concat())
        .expect(0);
    // Its figures are of this machine; the tests of the reports have its words.
    let (_, section) = ran
        .stdout
        .split_once("Effect on the rest of the system")
        .unwrap();
    assert_eq!(section.matches("timer delay, p99").count(), 1, "{section}");
    let result = json_of(&place.read("run.json"));
    assert_valid(&result);
    let paths = result["effect"]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 1);
    assert_eq!(paths[0]["path"], "direct");
    let page = place.read("run.html");
    assert_eq!(page.matches("id=\"effect-0\"").count(), 1);
    assert_eq!(place.names(), ["run.html", "run.json"]);
}

#[test]
fn without_the_flag_there_is_no_effect_in_the_document() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(0, &["--no-confirm"]);
    assert_eq!(result["effect"], serde_json::Value::Null);
}

#[test]
fn demands_that_make_no_sense_are_refused_in_words() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let refusals = place.refusals(
        &["measure"],
        &[
            &["sim:machine.toml", "--effect"],
            &[".", "--effect", "--victim", "nowhere"],
            &[".", "--effect", "--victim", "machine.toml"],
            &[".", "--victim", "."],
            &[".", "--effect", "both"],
            &[".", "--effect=all"],
        ],
    );
    insta::assert_snapshot!(refusals, @"
    $ sustain measure sim:machine.toml --effect
    sustain: sim:machine.toml runs in virtual time and has no effect on this machine: use --effect on real targets only

    $ sustain measure . --effect --victim nowhere
    sustain: --victim nowhere: there is no such directory; name a directory that you may write in

    $ sustain measure . --effect --victim machine.toml
    sustain: --victim machine.toml: it is not a directory; name a directory that you may write in

    $ sustain measure . --victim .
    error: the following required arguments were not provided: --effect[=<PATHS>] Usage: sustain measure --effect[=<PATHS>] --victim <DIR> <TARGET>...
    For more information, try '--help'.

    $ sustain measure . --effect both
    sustain: --effect both would make both a target: type --effect=both, or ./both for a file of that name

    $ sustain measure . '--effect=all'
    error: invalid value 'all' for '--effect[=<PATHS>]' [possible values: own, both] For more information, try '--help'.
    ");
}

/// A directory that nobody may write in: by its permissions, or for root by a read-only mount.
struct ReadOnly<'a> {
    place: &'a Place,
    is_mounted: bool,
}

impl ReadOnly<'_> {
    fn new(place: &Place) -> Option<ReadOnly<'_>> {
        let path = place.path("fixed");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o555)).unwrap();
        let is_mounted = std::fs::write(path.join("written"), "x").is_ok();
        let made = ReadOnly { place, is_mounted };
        if !is_mounted {
            return Some(made);
        }
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "ro,size=64k", "none"])
            .arg(&path)
            .output();
        mounted
            .is_ok_and(|mounted| mounted.status.success())
            .then_some(made)
    }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        if self.is_mounted {
            // Its own mount, and nothing else is there.
            let _ = Command::new("umount")
                .arg(self.place.path("fixed"))
                .output();
        }
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_no_place_for_a_victim() {
    let place = Place::new();
    let Some(read_only) = ReadOnly::new(&place) else {
        skip(Requirement::Mounts, "and root may write everywhere");
        return;
    };
    let why = if read_only.is_mounted {
        "--victim fixed: it is read-only"
    } else {
        "--victim fixed: permission denied"
    };
    place
        .run(&["measure", ".", "--effect", "--victim", "fixed"])
        .expect(2)
        .says(why);
}
