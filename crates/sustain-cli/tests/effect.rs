//! `sustain measure --effect` as it is typed: what it says, writes and refuses.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use support::{Place, assert_valid, disk, json_of};
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
        .expect(0)
        .says("4 KiB with fsync");
    for words in [
        "Effect on the rest of the system",
        "timer delay, p99",
        "of one CPU",
    ] {
        assert!(ran.stdout.contains(words), "no {words:?} in {}", ran.stdout);
    }
    let result = json_of(&place.read("run.json"));
    assert_valid(&result);
    let paths = result["effect"]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 1);
    assert_eq!(paths[0]["path"], "direct");
    let page = place.read("run.html");
    assert!(page.contains("<h2>Effect on the rest of the system</h2>"));
    assert!(page.contains("id=\"effect-0\""));
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
    place
        .run(&["measure", "sim:machine.toml", "--effect"])
        .expect(2)
        .says("sim:machine.toml runs in virtual time and has no effect on this machine");
    place
        .run(&["measure", ".", "--effect", "--victim", "nowhere"])
        .expect(2)
        .says("--victim nowhere: there is no such directory");
    place
        .run(&["measure", ".", "--victim", "."])
        .expect(2)
        .says("--effect");
    place
        .run(&["measure", ".", "--effect", "both"])
        .expect(2)
        .says("type --effect=both");
    place
        .run(&["measure", ".", "--effect=all"])
        .expect(2)
        .says("both");
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
