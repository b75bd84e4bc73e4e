//! `create` on files: what it makes, and what it never touches.

use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::recorded::{self, content, document, extract};
use crate::support::{Place, ran};

#[test]
fn files_of_unequal_sizes_are_one_store() {
    let place = Place::new();
    std::fs::File::create(place.path("small"))
        .unwrap()
        .set_len(4 << 20)
        .unwrap();
    std::fs::File::create(place.path("large"))
        .unwrap()
        .set_len(9 << 20)
        .unwrap();
    let destroy = ["--destroy", "small", "--destroy", "large"];
    let flags = ["create", "small", "large", "--slot", "1MiB"];
    let created = document(&place, 0, &[&flags[..], &destroy].concat());
    assert_eq!(created["schema"], "sustain.create/1");
    assert!(created["store"].is_string());
    assert_eq!(created["slot_bytes"], 1 << 20);
    let bytes: Vec<_> = created["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["bytes"])
        .collect();
    assert_eq!(bytes, [4 << 20, 9 << 20]);
    let list = document(&place, 0, &["list", "large", "small"]);
    assert_eq!(list["store"], created["store"]);
    assert_eq!(list["recordings"].as_array().unwrap().len(), 0);
    assert_eq!(
        list["members"][0]["name"], "small",
        "in the order of the store"
    );
    // All of both is used.
    let content = content(7 << 20);
    recorded::record_main(&place, &["small", "large"], &content);
    let (code, bytes, _) = extract(&place, &["large", "small"]);
    assert!(code == 0 && bytes == content);
}

#[test]
fn a_directory_gets_a_file_and_stands_for_it() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    let flags = ["create", "data", "--size", "2MiB", "--slot", "256KiB"];
    let ran = place.run(&flags).expect(0).says("data: ");
    assert!(
        ran.stdout
            .contains("(data/sustain.store): a new file, 2 MiB"),
        "{ran:#?}"
    );
    assert_eq!(
        std::fs::metadata(place.path("data/sustain.store"))
            .unwrap()
            .len(),
        2 << 20
    );
    for name in ["data", "data/sustain.store", "./data/"] {
        document(&place, 0, &["list", name]);
    }
}

#[test]
fn a_rehearsal_makes_nothing() {
    let place = Place::new();
    place.write("precious", &"x".repeat(4 << 20));
    let flags = ["--size", "2MiB", "--slot", "64KiB", "--dry-run"];
    let ran = place
        .run(&[&["create", "new"], &flags[..]].concat())
        .expect(0);
    assert!(ran.stdout.contains("would create a store"), "{ran:#?}");
    assert!(!ran.stderr.contains("writing"), "{ran:#?}");
    let ran = ran.says("a file of 2 MiB");
    assert!(place.names() == ["precious"], "{ran:#?}");
    let named = [
        &["create", "new", "precious", "--destroy", "precious"],
        &flags[..],
    ]
    .concat();
    place
        .run(&named)
        .expect(0)
        .says("what is on it (")
        .says("is destroyed");
    let rehearsed = document(&place, 0, &named);
    assert!(rehearsed["store"].is_null());
    place
        .run(&[&["create", "precious"], &flags[..]].concat())
        .expect(2)
        .says("--destroy precious");
    assert_eq!(place.names(), ["precious"]);
    assert_eq!(place.read("precious"), "x".repeat(4 << 20));
}

#[test]
fn what_exists_is_not_written_over_without_its_name() {
    let place = Place::new();
    place.write("precious", &"of great value ".repeat(300_000));
    recorded::create(&place, &["store"], "4MiB");
    let content = content(1_000_000);
    recorded::record_main(&place, &["store"], &content);
    symlink("precious", place.path("link")).unwrap();
    let before = [
        place.read("precious").into_bytes(),
        std::fs::read(place.path("store")).unwrap(),
    ];
    let flags = ["--size", "4MiB", "--slot", "64KiB"];
    for name in ["precious", "store", "link", "./store"] {
        let ran = place
            .run(&[&["create", name], &flags[..]].concat())
            .expect(2);
        ran.says("would be overwritten")
            .says(&format!("--destroy {name}"));
        // A new file beside it is not left behind.
        place
            .run(&[&["create", "new", name], &flags[..]].concat())
            .expect(2);
        let other = [&["create", name, "--destroy", "else"], &flags[..]].concat();
        place
            .run(&other)
            .expect(2)
            .says("names none of the targets");
    }
    let after = [
        place.read("precious").into_bytes(),
        std::fs::read(place.path("store")).unwrap(),
    ];
    assert!(before == after);
    assert_eq!(place.names(), ["link", "precious", "store"]);
    let (_, bytes, _) = extract(&place, &["store"]);
    assert!(bytes == content);

    // With its name, a store is made anew, and nothing of the old one is found in it.
    let named = [&["create", "store", "--destroy", "store"], &flags[..]].concat();
    place.run(&named).expect(0).says("is destroyed");
    assert_eq!(
        document(&place, 0, &["list", "store"])["recordings"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn all_members_that_are_refused_are_named_at_once() {
    let place = Place::new();
    for name in ["left", "right"] {
        place.write(name, &"of great value ".repeat(300_000));
    }
    let flags = ["left", "new", "right", "no/such", "--size", "4MiB"];
    let refused = place.refusal(&[&["create"], &flags[..]].concat());
    insta::assert_snapshot!(refused, @"
    sustain: refusing to write left: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add --destroy left; to leave it as it is, name another member refusing to write right: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add --destroy right; to leave it as it is, name another member no/such: the directory no does not exist: create it first
    ");
    assert_eq!(
        place.names(),
        ["left", "right"],
        "a new file beside them stays"
    );
    // One who allows the one has the other named.
    let allowed = [&["create"], &flags[..3], &["--destroy", "right"]].concat();
    let refused = place.refusal(&allowed);
    assert!(refused.contains("left") && !refused.contains("right"));
}

#[test]
fn sizes_that_cannot_be_are_explained_and_leave_nothing() {
    let place = Place::new();
    let cases: &[(&[&str], &str)] = &[
        (&["--slot", "3MiB"], "--slot must be a power of two"),
        (&["--slot", "32KiB"], "from 64KiB to 16MiB"),
        (&["--slot", "32MiB"], "from 64KiB to 16MiB"),
        (&["--slot", "8GiB"], "from 64KiB to 16MiB"),
        (&["--slot", "0"], "--slot must be a power of two"),
        (&["--slot", "slotty"], "--slot"),
        (
            &["--size", "10MiB", "--slot", "8MiB"],
            "make it larger, or use `sustain create` with a smaller --slot",
        ),
        (
            &["--size", "64KiB", "--slot", "64KiB"],
            "new: 64 KiB is too small",
        ),
        (
            &["--size", "10"],
            "new: 10 B is too small: with this slot size",
        ),
        (&["--size", "0", "--slot", "64KiB"], "new: 0 B is too small"),
        (&["--size", "1000000TB"], "are free, enough for a file of"),
        (
            &["--size", "1000000TB", "--dry-run"],
            "but not of 1000000 TB: give a smaller --size",
        ),
        (&["--size", "-5"], "unexpected argument '-5'"),
        (&["--json", "new"], "is a member of the store"),
        (&["--json", "no/such/file"], "choose another file"),
    ];
    for (flags, words) in cases {
        eprintln!("create new {flags:?}");
        let ran = place
            .run(&[&["create", "new"], *flags].concat())
            .expect(2)
            .says(words);
        assert_eq!(ran.stdout, "");
    }
    place
        .run(&["create"])
        .expect(2)
        .says("required arguments were not provided");
    place
        .run(&["create", "no/such/place"])
        .expect(2)
        .says("the directory no/such does not exist: create it first");
    for keeps_nothing in ["null:", "sim:machine.toml"] {
        place.run(&["create", keeps_nothing]).expect(2);
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_member_given_twice_is_refused_under_any_name() {
    let place = Place::new();
    place.write("file", "");
    symlink("file", place.path("link")).unwrap();
    std::fs::hard_link(place.path("file"), place.path("hard")).unwrap();
    for other in ["file", "./file", "link", "hard"] {
        let flags = [
            "create",
            "file",
            other,
            "--size",
            "4MiB",
            "--destroy",
            "file",
            "--destroy",
            other,
        ];
        place.run(&flags).expect(2).says("are the same thing");
    }
    place
        .run(&["create", "new", "./new", "--size", "4MiB"])
        .expect(2)
        .says("are the same thing");
    assert_eq!(place.names(), ["file", "hard", "link"]);
    assert_eq!(place.read("file"), "");
}

#[test]
fn an_interrupted_creation_removes_its_files() {
    let place = Place::new();
    let mut child = place
        .command(&["create", "new", "--size", "8GiB"])
        .spawn()
        .unwrap();
    while !place.path("new").exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    interrupt(&child);
    let ran = ran(child.wait_with_output().unwrap()).expect(130);
    ran.says("interrupted before this was complete: new files were removed");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

/// What Ctrl-C does.
pub fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[test]
fn a_closed_standard_output_does_not_undo_the_store() {
    let place = Place::new();
    let mut command = place.command(&["create", "new", "--size", "2MiB", "--slot", "64KiB"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    document(&place, 0, &["list", "new"]);
}
