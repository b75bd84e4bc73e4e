//! What cannot be mounted, or not there.

use std::fs;
use std::process::Command;

use sustain_testing::{Requirement, skip};

use super::support::{Place, unwrapped};

#[test]
fn a_directory_that_cannot_be_mounted_at_is_refused_with_what_to_do() {
    let place = Place::new();
    for directory in ["store", "store/within", "full", "full/within", "empty"] {
        fs::create_dir(place.path(directory)).unwrap();
    }
    place.write("file", "");
    place.run(&["create", "store", "--size", "64MiB"]).expect(0);
    let all: [&[&str]; 11] = [
        &["store", "full"],
        &["store", "file"],
        &["store", "none"],
        &["store", "store"],
        &["store", "store/within"],
        &["store", "/proc"],
        &["full", "empty"],
        &["none", "empty"],
        &["sim:none.toml", "empty"],
        &["store", "empty", "--split", "0"],
        &["store", "empty", "--split", "999999"],
    ];
    let all: Vec<Vec<&str>> = all
        .iter()
        .map(|arguments| [arguments, &["--foreground"][..]].concat())
        .collect();
    let all: Vec<&[&str]> = all.iter().map(Vec::as_slice).collect();
    insta::assert_snapshot!(place.refusals(&["mount"], &all));
}

#[test]
fn the_command_in_the_background_has_the_same_words_and_exit_code() {
    let place = Place::new();
    let refused = place.run(&["mount", "none", "nowhere"]).expect(2);
    assert!(
        refused.stderr.contains("nowhere does not exist"),
        "{refused:?}"
    );
    assert_eq!(refused.stdout, "");
}

#[test]
fn without_the_device_of_fuse_it_is_said_what_to_do() {
    let place = Place::new();
    for directory in ["store", "view"] {
        fs::create_dir(place.path(directory)).unwrap();
    }
    place.run(&["create", "store", "--size", "64MiB"]).expect(0);
    // A /dev of its own, in which there is nothing.
    let tried = Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg("mount -t tmpfs none /dev && exec \"$0\" mount store view --foreground")
        .arg(env!("CARGO_BIN_EXE_sustain"))
        .current_dir(place.path(""))
        .output();
    let said = tried.map(|tried| (tried.status.code(), tried.stderr));
    let (code, said) = match said {
        Ok((code, said)) => (code, String::from_utf8(said).unwrap()),
        Err(error) => return skip(Requirement::Program("unshare"), error),
    };
    let is_forbidden = |line: &str| line.starts_with("unshare:") || line.starts_with("mount:");
    if said.lines().any(is_forbidden) {
        return skip(Requirement::Mounts, said);
    }
    let said = unwrapped(&said);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("/dev/fuse cannot be used: load the kernel's module"),
        "{said}"
    );
    assert!(
        said.contains("a container has to be given this device"),
        "{said}"
    );
}
