//! What is no store, or not one store: refused in words by every command, and left as it is.

use std::os::unix::fs::{FileExt, symlink};

use crate::recorded::{self, content, damage, document, extract};
use crate::support::Place;

/// Every command that opens a store.
const COMMANDS: &[&[&str]] = &[
    &["list"],
    &["extract", "-o", "new"],
    &["verify"],
    &["recover"],
];

/// Fails unless every command refuses these members with exit 2 and these words.
#[track_caller]
fn assert_refused(place: &Place, members: &[&str], words: &str) {
    let before = place.names();
    for command in COMMANDS {
        let ran = place
            .run(&[*command, members].concat())
            .expect(2)
            .says(words);
        assert_eq!(ran.stdout, "", "results go there, explanations do not");
        assert!(ran.stderr.lines().count() < 12, "too long: {}", ran.stderr);
    }
    assert_eq!(place.names(), before);
}

/// A store of two members with something on it.
fn recorded_store() -> Place {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "2MiB");
    let content = content(700_000);
    recorded::record_main(&place, &["a", "b"], &content);
    place
}

#[test]
fn what_is_no_store_is_refused_by_what_it_is() {
    let place = Place::new();
    place.write("empty", "");
    place.write("tiny", "x");
    place.write("foreign", &"not a store ".repeat(100_000));
    std::fs::create_dir(place.path("directory")).unwrap();
    symlink("nowhere", place.path("dangling")).unwrap();
    assert_refused(&place, &["empty"], "empty: ");
    for name in ["tiny", "foreign"] {
        assert_refused(&place, &[name], "it is not a member of a store");
        assert_refused(&place, &[name], "sustain create");
    }
    assert_refused(
        &place,
        &["directory"],
        "this directory holds no member of a store",
    );
    assert_refused(&place, &["nothing"], "nothing");
    assert_refused(&place, &["dangling"], "dangling");
    assert_refused(&place, &["null:"], "does not keep what is written");
    assert_refused(&place, &[""], "no name");
    assert_refused(&place, &[], "required arguments were not provided");
    assert_eq!(place.read("foreign"), "not a store ".repeat(100_000));
    assert_eq!(place.read("empty"), "");
}

#[test]
fn members_of_two_stores_are_not_mixed() {
    let place = recorded_store();
    recorded::create(&place, &["other"], "2MiB");
    assert_refused(&place, &["a", "b", "other"], "it belongs to store");
    assert_refused(&place, &["other", "a"], "name members of one store only");
}

#[test]
fn a_member_given_twice_is_refused() {
    let place = recorded_store();
    symlink("a", place.path("link")).unwrap();
    std::fs::hard_link(place.path("a"), place.path("hard")).unwrap();
    for other in ["a", "./a", "link", "hard"] {
        assert_refused(&place, &["a", "b", other], "are the same thing");
    }
    std::fs::copy(place.path("a"), place.path("copy")).unwrap();
    assert_refused(
        &place,
        &["a", "b", "copy"],
        "it is the same member as a, or a copy of it",
    );
}

#[test]
fn a_store_of_a_newer_version_is_named_and_left_alone() {
    let place = recorded_store();
    let file = std::fs::File::options()
        .write(true)
        .open(place.path("a"))
        .unwrap();
    let end = file.metadata().unwrap().len();
    for copy in [0, 64 << 10, end - (128 << 10), end - 4096] {
        // Little-endian, behind the magic.
        file.write_all_at(&4_u32.to_le_bytes(), copy + 16).unwrap();
    }
    let before = std::fs::read(place.path("a")).unwrap();
    assert_refused(&place, &["a"], "version 4");
    assert_refused(&place, &["a", "b"], "version 4");
    let create = ["create", "a", "--slot", "64KiB"];
    place.run(&create).expect(2).says("would be overwritten");
    assert!(std::fs::read(place.path("a")).unwrap() == before);
}

#[test]
fn a_store_whose_superblocks_are_all_damaged_is_named() {
    let place = recorded_store();
    let end = std::fs::metadata(place.path("a")).unwrap().len();
    let file = std::fs::File::options()
        .write(true)
        .open(place.path("a"))
        .unwrap();
    for copy in [0, 64 << 10, end - (128 << 10), end - 4096] {
        file.write_all_at(&[0xFF], copy + 100).unwrap();
    }
    assert_refused(
        &place,
        &["a"],
        "all four copies of its superblock are damaged",
    );
    // One copy would do.
    let whole = recorded_store();
    for copy in [0, 64 << 10, end - (128 << 10)] {
        damage(&whole, "a", copy);
    }
    document(&whole, 0, &["list", "a", "b"]);
}

#[test]
fn a_truncated_member_is_read_as_far_as_it_goes_and_not_recorded_to() {
    let place = recorded_store();
    let file = std::fs::File::options()
        .write(true)
        .open(place.path("a"))
        .unwrap();
    file.set_len(500 << 10).unwrap();
    let ran = place.run(&["list", "a", "b"]).expect(0);
    let ran = ran.says("a: it has become smaller since the store was created");
    assert!(
        !ran.stderr.contains("dmesg"),
        "no disk is at fault: {ran:#?}"
    );
    let ran = place.run(&["verify", "a", "b"]).expect(1);
    let gone = "this copy of the superblock is gone: the member ends at 500 KiB";
    assert!(
        crate::support::unwrapped(&ran.stdout).contains(gone),
        "{ran:#?}"
    );
    place
        .run(&["recover", "a", "b"])
        .expect(2)
        .says("Make it as large as before");
    let (code, bytes, words) = extract(&place, &["a", "b", "--holes", "fill"]);
    assert_eq!((code, bytes.len()), (0, 700_000), "{words}");
}

#[test]
fn a_member_that_is_missing_is_named_and_recording_needs_it() {
    let place = recorded_store();
    let list = document(&place, 0, &["list", "b"]);
    assert_eq!(list["members"][0]["state"], "missing");
    assert!(list["members"][0]["name"].is_null());
    let uuid = list["members"][0]["member"].as_str().unwrap().to_owned();
    place
        .run(&["list", "b"])
        .expect(0)
        .says("member 1 of 2 is missing")
        .says(&uuid);
    place
        .run(&["recover", "b"])
        .expect(2)
        .says("needs all of its 2 members")
        .says(&uuid);
}

#[test]
fn results_never_take_the_place_of_a_member_or_of_another_file() {
    let place = recorded_store();
    place.write("precious", "of great value");
    let before = std::fs::read(place.path("a")).unwrap();
    for command in COMMANDS {
        let flagged = |json: &'static str| [*command, &["a", "b", "--json", json]].concat();
        place
            .run(&flagged("./b"))
            .expect(2)
            .says("./b is a member of the store");
        place
            .run(&flagged("precious"))
            .expect(2)
            .says("choose another file");
        place
            .run(&flagged("no/such/file"))
            .expect(2)
            .says("the directory no/such does not exist; choose another file");
    }
    for output in ["a", "./b"] {
        place
            .run(&["extract", "a", "b", "-o", output])
            .expect(2)
            .says("is a member of the store");
    }
    place
        .run(&["extract", "a", "b", "-o", "precious"])
        .expect(2)
        .says("it exists; choose another");
    place
        .run(&["extract", "a", "b", "-o", "x", "--json", "./x"])
        .expect(2)
        .says("the same file");
    assert_eq!(place.read("precious"), "of great value");
    assert!(std::fs::read(place.path("a")).unwrap() == before);
    assert_eq!(place.names(), ["a", "b", "precious"]);
}
