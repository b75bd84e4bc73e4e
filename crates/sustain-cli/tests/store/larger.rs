//! `create --add`: a store gets further members, and what it has stays where it is.

use std::fs;

use crate::recorded::{self, Stream, content, document, extract};
use crate::ring::{ALL_BYTES, EVENT, MEMBERS as RING_MEMBERS, ring_with_pin};
use crate::support::{Place, unwrapped};

/// Adds this member to the store of these, and returns the document.
fn add(place: &Place, members: &[&str], added: &str, more: &[&str]) -> serde_json::Value {
    let flags = ["--add", added, "--no-prewrite"];
    document(place, 0, &[&["create"], members, &flags[..], more].concat())
}

#[track_caller]
fn assert_extracts(place: &Place, members: &[&str], recording: &str, expected: &[u8]) {
    let asked = [members, &["--recording", recording]].concat();
    let (code, bytes, words) = extract(place, &asked);
    assert!(
        code == 0 && bytes == expected,
        "{members:?}: {} of {} bytes, {words}",
        bytes.len(),
        expected.len()
    );
}

#[test]
fn a_store_goes_on_over_more_members() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "1MiB");
    let first = content(1_000_000);
    recorded::record_main(&place, &["a", "b"], &first);
    let added = add(&place, &["b", "a"], "c", &["--size", "4MiB"]);
    let is_added = added["members"].as_array().unwrap().iter();
    let is_added: Vec<_> = is_added.map(|one| one["added"].as_bool()).collect();
    assert_eq!(is_added, [Some(false), Some(false), Some(true)]);
    assert_eq!(added["members"][2]["path"], "c");
    let bytes_of = |key: &str| added[key].as_u64().unwrap();
    let taken_bytes = bytes_of("data_bytes") - bytes_of("free_bytes");
    assert!((900_000..1_300_000).contains(&taken_bytes), "{added}");
    // More than the first two have room for.
    let second = content(3_000_000);
    recorded::record_main(&place, &["c", "a", "b"], &second);
    assert_extracts(&place, &["a", "b", "c"], "1", &first);
    assert_extracts(&place, &["a", "b", "c"], "2", &second);
    assert_extracts(&place, &["a", "b"], "1", &first);
    let checked = document(&place, 0, &["verify", "a", "b", "c"]);
    assert_eq!(checked["ok"], true, "{checked}");
    let listed = document(&place, 0, &["list", "a", "b"]);
    assert_eq!(listed["members"].as_array().unwrap().len(), 3);
    place
        .run(&["record", "a", "b", "--from", "test:1MB/s", "--time", "1s"])
        .expect(2)
        .says("needs all of its 3 members");
}

#[test]
fn a_store_with_parity_that_got_a_member_may_lose_any() {
    let place = Place::new();
    let all = ["a", "b", "c", "d", "e"];
    let create = ["--parity", "1", "--same-disk", "--no-prewrite"];
    let size = ["--size", "8MiB", "--slot", "64KiB"];
    let create = [&["create", "a", "b", "c"], &create[..], &size[..]].concat();
    place.run(&create).expect(0);
    let contents = [content(3_000_000), content(5_000_001)];
    recorded::record_main(&place, &all[..3], &contents[0]);
    let added = add(&place, &all[..3], "d", &["--size", "8MiB", "--same-disk"]);
    assert_eq!(added["parity"], 1);
    assert!(added["data_bytes"].as_u64().unwrap() > 15_000_000);
    recorded::record_main(&place, &all[..4], &contents[1]);
    let assert_survives = |all: &[&str]| {
        for gone in all {
            let left: Vec<&str> = all.iter().filter(|one| *one != gone).copied().collect();
            for (number, expected) in ["1", "2"].iter().zip(&contents) {
                assert_extracts(&place, &left, number, expected);
            }
        }
    };
    assert_survives(&all[..4]);
    // The member that was added is repaired as any other, and so is one that was there before.
    for (gone, new) in [("d", "e"), ("b", "f")] {
        let left = ["a", "b", "c", "d", "e"];
        let left = left.iter().filter(|one| **one != gone && **one != new);
        let mut left: Vec<&str> = left.copied().collect();
        if new == "f" {
            left = vec!["a", "c", "e"];
        }
        let repair = [&["repair"], &left[..], &["--onto", new, "--same-disk"]].concat();
        place.run(&repair).expect(0);
        left.push(new);
        let checked = document(&place, 0, &[&["verify"], &left[..]].concat());
        assert_eq!(checked["ok"], true, "{checked}");
        assert_survives(&left);
    }
}

#[test]
fn what_a_pin_keeps_stays_when_a_member_is_added() {
    let place = ring_with_pin();
    add(&place, &RING_MEMBERS, "c", &["--size", "2MiB"]);
    let all = [RING_MEMBERS[0], RING_MEMBERS[1], "c"];
    let pinned = || {
        let asked = [&all[..], &["--pin", "1", "--stream", "main"]].concat();
        let (code, bytes, words) = extract(&place, &asked);
        assert!(code == 0 && bytes == content(ALL_BYTES)[EVENT], "{words}");
        let checked = document(&place, 0, &[&["verify"], &all[..]].concat());
        assert_eq!(checked["ok"], true, "{checked}");
    };
    pinned();
    // Two laps of all.
    let bytes = content(12 << 20);
    let stream = Stream::plain("main", &bytes);
    recorded::record_ring(&place, &all, &[stream], recorded::End::InOrder);
    pinned();
    let (_, kept, _) = extract(&place, &[&all[..], &["--stream", "main"]].concat());
    assert!(kept.len() > 1 << 20 && bytes.ends_with(&kept));
    place
        .run(&[&["unpin"], &all[..], &["--pin", "1"]].concat())
        .expect(0);
}

/// The power may be cut between any two of the writes that make members known.
#[test]
fn an_interrupted_addition_is_complete_or_was_not_begun() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "3MiB");
    let first = content(700_000);
    recorded::record_main(&place, &["a", "b"], &first);
    let before = ["a", "b"].map(|name| fs::read(place.path(name)).unwrap());
    add(&place, &["a", "b"], "c", &["--size", "3MiB"]);
    let all = ["a", "b", "c"];
    let after = all.map(|name| fs::read(place.path(name)).unwrap());
    for know_it in [[false, false], [true, false], [false, true], [true, true]] {
        for (index, knows) in know_it.iter().enumerate() {
            let bytes = match knows {
                true => &after[index],
                false => &before[index],
            };
            fs::write(place.path(all[index]), bytes).unwrap();
        }
        fs::write(place.path("c"), &after[2]).unwrap();
        if know_it == [false, false] {
            let said = place.run(&["list", "a", "b", "c"]).expect(2);
            let said = unwrapped(&said.stderr);
            assert!(said.contains("no other member knows of it"), "{said}");
            recorded::record_main(&place, &["a", "b"], &first);
            // It is added after all, and was recorded to without.
            place.run(&["list", "c", "a", "b"]).expect(2);
            add(&place, &["a", "b"], "c", &["--destroy", "c"]);
            assert_extracts(&place, &all, "2", &first);
            continue;
        }
        // Without the new one it is the store that it has become, of which one member is missing.
        let listed = document(&place, 0, &["list", "a", "b"]);
        assert_eq!(listed["members"].as_array().unwrap().len(), 3);
        document(&place, 0, &["verify", "b", "a", "c"]);
        let second = content(1_500_000);
        recorded::record_main(&place, &all, &second);
        assert_extracts(&place, &all, "1", &first);
        assert_extracts(&place, &all, "2", &second);
        document(&place, 0, &["verify", "b", "a", "c"]);
    }
    // An old state of a member knows of fewer. What it lacks is missing, and all else is there.
    fs::write(place.path("a"), &before[0]).unwrap();
    assert_extracts(&place, &all, "1", &first);
    let checked = document(&place, 1, &["verify", "a", "b", "c"]);
    assert_eq!(checked["members"].as_array().unwrap().len(), 3);
}

#[test]
fn what_cannot_be_added_is_refused_and_nothing_is_changed() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "1MiB");
    recorded::create(&place, &["other"], "1MiB");
    let content = content(700_000);
    recorded::record_main(&place, &["a", "b"], &content);
    fs::write(place.path("precious"), "do not lose this").unwrap();
    let all = ["a", "b", "other", "precious"];
    let before = all.map(|name| fs::read(place.path(name)).unwrap());
    let refusals = place.refusals(
        &["create"],
        &[
            &["a", "b", "--add", "a"],
            &["a", "b", "--add", "./b", "--destroy", "./b"],
            &["a", "b", "--add", "other"],
            &["a", "b", "--add", "precious"],
            &["a", "b", "--add", "c", "--destroy", "a"],
            &["a", "b", "--add", "c", "--slot", "1MiB"],
            &["a", "b", "--add", "c", "--parity", "1"],
            &["precious", "--add", "c", "--size", "1MiB"],
            &["a", "b", "--add", "c", "--size", "1kB"],
            &["a", "b", "--add", "1MiB"],
        ],
    );
    insta::assert_snapshot!(refusals);
    let size = ["--add", "c", "--size", "1MiB"];
    for (members, said) in [
        (&["a"][..], "needs all of its 2 members"),
        (&["a", "b", "other"], "other: it belongs to store"),
    ] {
        let create = [&["create"], members, &size].concat();
        place.run(&create).expect(2).says(said);
    }
    let dry = [
        "create",
        "a",
        "b",
        "--add",
        "c",
        "--size",
        "1MiB",
        "--dry-run",
    ];
    let said = place.run(&dry).expect(0).stdout;
    assert!(
        said.starts_with("would add 1 member, which makes 3 members: room for"),
        "{said}"
    );
    for (name, bytes) in all.iter().zip(before) {
        assert!(fs::read(place.path(name)).unwrap() == bytes, "{name}");
    }
    assert!(!place.path("c").exists());
}

#[test]
fn a_member_that_was_added_before_is_not_called_missing() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "1MiB");
    let add = ["create", "a", "b", "--add", "c", "--size", "1MiB"];
    place.run(&add).expect(0);
    let before = ["a", "b", "c"].map(|name| fs::read(place.path(name)).unwrap());
    place
        .run(&add)
        .expect(2)
        .says("c is a member of the store already: there is nothing to add");
    let after = ["a", "b", "c"].map(|name| fs::read(place.path(name)).unwrap());
    assert!(before == after, "nothing was written");
}
