//! A member of which an earlier state was put back frees no pin and sets none again.

use std::fs;

use serde_json::{Value, json};
use sustain::record::PinWish;
use sustain::record::format::{Pin, Superblock};

use crate::recorded::{self, content, document, extract};
use crate::ring::{ALL_BYTES, EVENT, MEMBERS, RunningRing, pin_in_ring, pinned};
use crate::support::{Place, unwrapped};

fn image(place: &Place, member: &str) -> Vec<u8> {
    fs::read(place.path(member)).unwrap()
}

fn put_back(place: &Place, member: &str, image: &[u8]) {
    fs::write(place.path(member), image).unwrap();
}

/// The numbers of the pins that `list` shows.
#[track_caller]
fn pins(place: &Place) -> Value {
    let list = document(place, 0, &["list", "a", "b"]);
    let pins = list["pins"].as_array().unwrap().iter();
    pins.map(|pin| pin["number"].clone()).collect()
}

/// Records so much that the ring goes round.
fn record_a_lap(place: &Place) {
    let mut ring = RunningRing::begin(place);
    ring.give(&content(ALL_BYTES), b"");
    ring.end();
}

/// A ring of which an event is pinned. Of `b` an earlier state is put back, from the middle of what
/// is pinned.
fn ring_with_old_member() -> Place {
    let place = Place::new();
    recorded::create(&place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&place);
    let all = content(EVENT.end);
    let middle = (EVENT.start + EVENT.end) / 2;
    ring.give(&all[..EVENT.start], b"");
    let from_ns = ring.main.now_ns() + 1;
    ring.give(&all[EVENT.start..middle], b"");
    let old = image(&place, "b");
    ring.give(&all[middle..], b"");
    let to_ns = ring.main.now_ns();
    pinned(&ring.recorder.board(), PinWish::Pin { from_ns, to_ns });
    ring.go_round();
    ring.end();
    put_back(&place, "b", &old);
    place
}

#[test]
fn an_old_member_that_does_not_know_of_a_pin_frees_nothing() {
    let place = ring_with_old_member();
    assert_eq!(pins(&place), json!([1]));
    let told = unwrapped(&place.run(&["list", "a", "b"]).expect(0).stderr);
    assert!(
        told.contains("note: b is older than the other members"),
        "{told}"
    );
    assert!(
        told.contains("It does not know of pin 1, which stays set"),
        "{told}"
    );
    let checked = document(&place, 1, &["verify", "a", "b"]);
    assert_eq!(checked["pins"][0]["whole"], false);
    // Said even where `b` alone had the last of the pin, of which no other member tells.
    let of_member = |bad: &&Value| bad["member"] == "b" && bad["offset_bytes"].is_null();
    let bad: Vec<&Value> = checked["bad"].as_array().unwrap().iter().collect();
    let why = bad.iter().find(|bad| of_member(bad)).map(|bad| &bad["why"]);
    assert_eq!(
        why.unwrap(),
        "an earlier state of the member, which does not know of the pin, was put back: what it had \
         of the pin is not checked"
    );
    for _ in 0..2 {
        record_a_lap(&place);
        assert_eq!(pins(&place), json!([1]));
    }
    // What it had of the time that was pinned is kept, too.
    let middle = (EVENT.start + EVENT.end) / 2;
    let (from, to) = (EVENT.start.to_string(), middle.to_string());
    let range = ["--from-byte", &from, "--to-byte", &to];
    let pin = ["a", "b", "--pin", "1", "--stream", "main"];
    let (code, bytes, words) = extract(&place, &[&pin[..], &range].concat());
    assert!(
        code == 0 && bytes == content(middle)[EVENT.start..],
        "{words}"
    );
    place.run(&["unpin", "a", "b", "--pin", "1"]).expect(0);
    assert_eq!(pins(&place), json!([]));
    record_a_lap(&place);
    assert_eq!(pins(&place), json!([]));
}

#[test]
fn a_pin_that_an_old_member_does_not_know_of_can_be_freed() {
    let place = ring_with_old_member();
    let freed = document(&place, 0, &["unpin", "a", "b", "--pin", "1"]);
    assert_eq!(freed["pin"]["number"], 1);
    assert_eq!(pins(&place), json!([]));
    let told = place.run(&["list", "a", "b"]).expect(0).stderr;
    assert!(!told.contains("older than"), "{told}");
}

/// Between the copies lies nothing but the pin: only what was recorded behind it tells that a
/// member is old, and no crash has cut off the pin.
#[test]
fn a_member_that_is_old_by_one_pin_is_told_from_one_that_a_crash_has_kept_from_it() {
    let place = Place::new();
    recorded::create(&place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&place);
    ring.give(&content(EVENT.end), b"");
    let before = image(&place, "b");
    let from_ns = ring.main.now_ns() - 1;
    let to_ns = from_ns + 3_600_000_000_000;
    pinned(&ring.recorder.board(), PinWish::Pin { from_ns, to_ns });
    let cut_off = image(&place, "a");
    // The last appends do not tell of themselves that they are durable.
    for _ in 0..6 {
        ring.give(&content(200_000), b"");
    }
    let [a, b] = MEMBERS.map(|member| image(&place, member));
    ring.end();
    for (on_a, on_b, expected) in [
        (&a, &b, json!([1])),
        (&a, &before, json!([1])),
        (&cut_off, &before, json!([])),
    ] {
        put_back(&place, "a", on_a);
        put_back(&place, "b", on_b);
        assert_eq!(pins(&place), expected);
        let mut ring = RunningRing::begin(&place);
        ring.give(&content(100_000), b"");
        ring.end();
        assert_eq!(pins(&place), expected);
    }
}

#[test]
fn an_old_member_sets_no_pin_again() {
    let place = Place::new();
    pin_in_ring(&place);
    let old = image(&place, "b");
    place.run(&["unpin", "a", "b", "--pin", "1"]).expect(0);
    put_back(&place, "b", &old);
    assert_eq!(pins(&place), json!([]));
    let told = place
        .run(&["unpin", "a", "b", "--pin", "1"])
        .expect(2)
        .stderr;
    assert!(
        told.contains("the store has no pin 1, nor any other"),
        "{told}"
    );
    // Nor when the others have forgotten that it was there.
    record_a_lap(&place);
    record_a_lap(&place);
    assert_eq!(superblock(&place, "a").pins, []);
    put_back(&place, "b", &old);
    assert_eq!(pins(&place), json!([]));
    record_a_lap(&place);
    assert_eq!(pins(&place), json!([]));
}

fn superblock(place: &Place, member: &str) -> Superblock {
    Superblock::decode(&image(place, member)).unwrap()
}

#[test]
fn an_old_member_that_cannot_be_told_of_a_pin_is_named() {
    let place = ring_with_old_member();
    // Numbers were given again by earlier versions.
    let mut old = superblock(&place, "b");
    old.pins = vec![Pin {
        number: 1,
        from_slot: 0,
        end_slot: Some(1),
        end_sequence: 1,
        told_sequence: 0,
        freed_slot: None,
        from_time_ns: 1,
        to_time_ns: 2,
    }];
    let mut bytes = image(&place, "b");
    for (copy, offset_bytes) in (0..).zip(old.geometry.superblock_offsets()) {
        let block = old.encode(copy);
        let at = offset_bytes as usize;
        bytes[at..at + block.len()].copy_from_slice(&block);
    }
    put_back(&place, "b", &bytes);
    assert_eq!(pins(&place), json!([1]));
    let refusals = place.refusals(
        &[],
        &[
            &["unpin", "a", "b", "--pin", "1"],
            &[
                "record",
                "a",
                "b",
                "--ring",
                "--from",
                "test:1MB/s",
                "--time",
                "1s",
            ],
        ],
    );
    insta::assert_snapshot!(refusals, @"
    $ sustain unpin a b --pin 1
    sustain: b: it is older than the other members: an earlier state of it was put back, which does not know of pin 1, and its table of pins has no place for that.
    Nothing was changed: put the newest state of b back; or read what the pins keep (`sustain extract` with --pin N), and create the store anew

    $ sustain record a b --ring --from test:1MB/s --time 1s
    sustain: b: it is older than the other members: an earlier state of it was put back, which does not know of pin 1, and its table of pins has no place for that.
    Nothing was changed: put the newest state of b back; or read what the pins keep (`sustain extract` with --pin N), and create the store anew
    ");
    assert_eq!(image(&place, "b"), bytes);
}
