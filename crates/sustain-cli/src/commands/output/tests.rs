//! Every kind of thing that a path may lead to, and that none of it is harmed.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::super::prose::{answered_within, fitted};
use super::*;

fn why(path: &Path, kind: OutputKind) -> String {
    check(path, kind).unwrap_err().to_string()
}

#[test]
fn one_file_under_other_names_is_the_same() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    std::fs::write(at("file"), "text").unwrap();
    std::fs::write(at("other"), "text").unwrap();
    std::fs::hard_link(at("file"), at("hard")).unwrap();
    symlink("file", at("soft")).unwrap();
    std::fs::create_dir(at("sub")).unwrap();
    for name in ["file", "hard", "soft", "sub/../file", "./file"] {
        assert!(is_same(&at("file"), &at(name)), "{name}");
        assert!(!is_same(&at("other"), &at(name)), "{name}");
    }
    assert!(is_same(&at("new"), &at("sub/../new")));
    assert!(!is_same(&at("new"), &at("sub/new")));
    assert!(!is_same(&at("new"), &at("file")));
    assert!(!is_same(&at("no/new"), &at("no/other")));
}

#[test]
fn only_new_files_and_those_of_the_same_kind_are_written() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for (name, text) in [
        ("empty", ""),
        ("json", "{}"),
        ("page", "<!DOCTYPE HTML>\n<html>"),
        ("text", "of great value"),
        ("short", "<"),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    let may = |kind| {
        let names = ["new", "empty", "json", "page", "text", "short"];
        names.map(|name| check(&at(name), kind).is_ok())
    };
    assert_eq!(
        may(OutputKind::Json),
        [true, true, true, false, false, false]
    );
    assert_eq!(
        may(OutputKind::Page),
        [true, true, false, true, false, false]
    );
    let words = why(&at("text"), OutputKind::Page);
    assert!(words.ends_with("it exists and is not a report of sustain; choose another file"));
    assert!(!at("new").exists());
    assert_eq!(std::fs::read(at("text")).unwrap(), b"of great value");
}

#[test]
fn what_is_no_file_is_refused_and_left_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    symlink("nowhere", at("dangling")).unwrap();
    std::fs::create_dir(at("directory")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (name, words) in [
        ("dangling", "a link to a file that does not exist"),
        ("directory", "it is a directory"),
        ("directory/", "it is a directory"),
        (
            "missing/",
            "it names a directory, and there is none of that name",
        ),
        ("missing/new", "missing does not exist"),
        ("socket", "not a file"),
    ] {
        assert!(why(&at(name), OutputKind::Json).contains(words), "{name}");
        assert!(write(&at(name), "{}").is_err(), "{name}");
    }
    let link = at("dangling").read_link().unwrap();
    assert_eq!(link, Path::new("nowhere"));
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 3);
}

#[test]
fn a_disk_is_refused_and_a_stream_is_not() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    for stream in [
        &at("pipe"),
        Path::new("/dev/null"),
        Path::new("/dev/stdout"),
    ] {
        assert!(check(stream, OutputKind::Page).is_ok(), "{stream:?}");
    }
    assert!(why(Path::new("/dev/zero"), OutputKind::Json).contains("a device"));
    write(Path::new("/dev/null"), "{}").unwrap();
    // A number that no driver has; only the superuser may make such a node.
    let disk = at("disk");
    if mknodat(
        CWD,
        &disk,
        FileType::BlockDevice,
        Mode::RWXU,
        makedev(4000, 1),
    )
    .is_ok()
    {
        assert!(why(&disk, OutputKind::Json).contains("it is a disk"));
        let error = write(&disk, "{}").unwrap_err();
        assert!(format!("{error:#}").contains("it is a disk"));
    }
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_links_and_mode() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    std::fs::write(at("run.json"), "{\"old\": 1}").unwrap();
    std::fs::set_permissions(at("run.json"), Permissions::from_mode(0o640)).unwrap();
    symlink("run.json", at("link")).unwrap();
    let mut before = File::open(at("run.json")).unwrap();
    write(&at("link"), "{}").unwrap();
    assert_eq!(std::fs::read(at("run.json")).unwrap(), b"{}");
    assert!(at("link").is_symlink());
    let mode = at("run.json").metadata().unwrap().mode();
    assert_eq!(mode & 0o777, 0o640);
    // Whoever reads the old one reads all of it.
    let mut old = String::new();
    before.read_to_string(&mut old).unwrap();
    assert_eq!(old, "{\"old\": 1}");
    write(&at("new.json"), "{}").unwrap();
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 3);
}

#[test]
fn what_is_not_seen_itself_is_not_printed() {
    let text = "stream a\u{202e}b: gone\nsaid by \u{1b}[2J";
    let printed = "stream a\u{fffd}b: gone\nsaid by \u{fffd}[2J\n";
    assert_eq!(fitted(text, false), printed);
}

#[test]
fn an_answer_that_scrolls_away_is_said_again() {
    let (answer, table) = ("It is fast.\n\n", "a\nb\nc\n");
    let once = "It is fast.\n\na\nb\nc\n";
    assert_eq!(answered_within(answer, table, None), once);
    assert_eq!(answered_within(answer, table, Some(6)), once);
    let again = "It is fast.\n\na\nb\nc\n\nIt is fast.\n";
    assert_eq!(answered_within(answer, table, Some(5)), again);
}
