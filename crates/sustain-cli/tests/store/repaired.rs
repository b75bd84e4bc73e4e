//! Repair of members that are there and too small, of rings, and of more than parity gives.

use std::fs::{self, OpenOptions};

use crate::parity::{MEMBERS, create, create_on, extracted, without};
use crate::recorded::{content, document};
use crate::support::{Place, json_of, unwrapped};

/// Checks that all that is left of the newest recording comes back from these members, with its
/// end.
#[track_caller]
fn comes_back(place: &Place, members: &[&str], content: &[u8]) {
    let bytes = extracted(place, members);
    assert!(bytes.len() > 1_000_000, "{} bytes", bytes.len());
    assert!(content.ends_with(&bytes), "of {members:?}");
}

/// What the lost member alone had of groups that the ring had passed on others is not computed, so
/// of the oldest appends that can be read so many may be missing.
const OLDEST_APPENDS: u64 = 8;

/// The same of a ring of appends of this length in which a member was rebuilt, but for the oldest.
#[track_caller]
fn comes_back_but_for_the_oldest(place: &Place, members: &[&str], content: &[u8], append: u64) {
    let listed = document(place, 0, &[&["list"], members].concat());
    let readable = &listed["recordings"][0]["streams"][0]["readable_from_byte"];
    let from_bytes = readable.as_u64().unwrap() + OLDEST_APPENDS * append;
    let from = from_bytes.to_string();
    let _ = fs::remove_file(place.path("out"));
    let extract = [&["extract", "--from-byte", &from, "-o", "out"], members].concat();
    place.run(&extract).expect(0);
    let bytes = fs::read(place.path("out")).unwrap();
    assert!(bytes.len() > 1_000_000, "{} bytes", bytes.len());
    assert!(bytes == content[from_bytes as usize..], "of {members:?}");
}

/// The stretches of the stream of which these members do not have all.
#[track_caller]
fn bad_stretches(place: &Place, members: &[&str]) -> Vec<(u64, u64)> {
    let verify = [&["verify", "--json", "-"], members].concat();
    let found = json_of(&place.run(&verify).stdout);
    let bad = found["bad"].as_array().unwrap().iter();
    let stretch =
        |one: &serde_json::Value| Some((one["from_byte"].as_u64()?, one["to_byte"].as_u64()?));
    bad.filter_map(stretch).collect()
}

#[test]
fn a_member_that_has_become_smaller_is_rebuilt_onto_itself() {
    let place = Place::new();
    create(&place, [24; 4], "1");
    let content = content(30_000_000);
    fs::write(place.path("in"), &content).unwrap();
    place
        .run(&[&["record", "--from", "in"], &MEMBERS[..]].concat())
        .expect(0);
    let file = OpenOptions::new().write(true).open(place.path("b"));
    file.unwrap().set_len(4 << 20).unwrap();
    comes_back(&place, &MEMBERS, &content);
    // Nothing is missing, and nothing can be put back on it as it is.
    for command in ["repair", "scrub"] {
        let told = unwrapped(&place.refusal(&[&[command], &MEMBERS[..]].concat()));
        let way = "Make it as large as before, or leave it out, and rebuild it with `sustain \
                   repair`, the other members and --onto b";
        assert!(told.contains(way), "{told}");
    }
    let onto = ["--onto", "b", "--same-disk", "--destroy", "b"];
    place
        .run(&[&["repair"], &without(&["b"])[..], &onto].concat())
        .expect(0);
    place.run(&[&["verify"], &MEMBERS[..]].concat()).expect(0);
    comes_back(&place, &without(&["c"]), &content);
}

#[test]
fn a_lost_member_of_a_ring_is_rebuilt_with_all_that_is_left() {
    let place = Place::new();
    create(&place, [32; 4], "1");
    let content = content(140_000_000);
    fs::write(place.path("in"), &content).unwrap();
    // Parity may be as many appends late as wait for members, which is much of so small a ring
    // unless appends are short.
    let ring = [
        "record",
        "--ring",
        "--append-size",
        "256KiB",
        "--from",
        "in",
    ];
    place.run(&[&ring[..], &MEMBERS[..]].concat()).expect(0);
    comes_back(&place, &MEMBERS, &content);
    fs::remove_file(place.path("c")).unwrap();
    let there = without(&["c"]);
    // A group of which the ring has taken the first append protects nothing any more.
    let bad_without = bad_stretches(&place, &there);
    let onto = ["--onto", "c", "--same-disk"];
    let repair = [&["repair", "--json", "-"], &there[..], &onto].concat();
    let repaired = json_of(&place.run(&repair).stdout);
    let lost = repaired["lost"]["appends"].as_u64().unwrap();
    assert!(lost <= OLDEST_APPENDS, "{repaired}");
    let rebuilt = ["data", "parity"].map(|kind| repaired[kind]["bytes"].as_u64().unwrap_or(0));
    assert!(rebuilt[0] + rebuilt[1] > 1_000_000, "{repaired}");
    // It names nothing that could be read without it, or that did not count as overwritten then.
    for (from, to) in bad_stretches(&place, &MEMBERS) {
        let was_bad = |(start, end): &(u64, u64)| *start <= from && to <= *end;
        let is_known = bad_without.iter().any(was_bad);
        assert!(is_known, "{from} to {to}, before: {bad_without:?}");
    }
    // Where it begins follows from the oldest append of each member, and what is not needed any more
    // is not rebuilt: it may begin earlier than before, or later.
    for members in [&MEMBERS[..], &without(&["a"])] {
        comes_back_but_for_the_oldest(&place, members, &content, 256 << 10);
    }
    // It goes on as any ring.
    place.run(&[&ring[..], &MEMBERS[..]].concat()).expect(0);
    comes_back(&place, &without(&["d"]), &content);
}

#[test]
fn what_is_lost_beyond_parity_is_counted_before_anything_is_copied() {
    let place = Place::new();
    create(&place, [24; 4], "1");
    fs::write(place.path("in"), content(20_000_000)).unwrap();
    let record = [&["record", "--from", "in", "--json", "r"], &MEMBERS[..]].concat();
    place.run(&record).expect(0);
    // The one with the most data is lost, and of each slot of the others some is damaged.
    let result = json_of(&place.read("r"));
    let members = result["members"].as_array().unwrap().iter();
    let most = members.max_by_key(|member| member["bytes"].as_u64());
    let lost = most.unwrap()["name"].as_str().unwrap();
    fs::remove_file(place.path(lost)).unwrap();
    let there = without(&[lost]);
    for name in &there {
        for slot in 0..8 {
            crate::parity::damage(&place, name, (slot << 20) + (300 << 10), 4096);
        }
    }
    let before = there.iter().map(|name| fs::read(place.path(name)).unwrap());
    let before: Vec<_> = before.collect();
    let dry_run = [&["repair"], &there[..], &["--dry-run"]].concat();
    place.run(&dry_run).expect(2).says("--accept-loss");
    let accepted = [&dry_run[..], &["--accept-loss"]].concat();
    let told = unwrapped(&place.run(&accepted).expect(0).stdout);
    assert!(told.contains("Nothing was written"), "{told}");
    let after = there.iter().map(|name| fs::read(place.path(name)).unwrap());
    assert!(after.eq(before), "nothing is written");
}

#[test]
fn a_recording_may_have_less_parity_than_its_store() {
    let place = Place::new();
    create_on(&place, &["a", "b", "c"], &[24; 3], "2");
    fs::write(place.path("in"), content(3_000_000)).unwrap();
    let record = |parity: &str| {
        let flags = ["record", "--from", "in", "--json", "r", "--parity", parity];
        let _ = fs::remove_file(place.path("r"));
        let ran = place
            .run(&[&flags[..], &["a", "b", "c"]].concat())
            .expect(0);
        let result = json_of(&place.read("r"));
        assert_eq!(result["plan"]["parity"].as_u64(), parity.parse().ok());
        unwrapped(&ran.stderr)
    };
    let told = record("0");
    let words = "--parity 0 was given for this recording, where the store has 2 by default: the \
                 loss of any member is the loss of what is recorded on it";
    assert!(told.contains(words), "{told}");
    let told = record("1");
    assert!(
        told.contains("no more than the loss of 1 at once is survived"),
        "{told}"
    );
    assert!(!record("2").contains("by default"));
}
