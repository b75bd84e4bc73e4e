//! What is left of a store with parity of which a member has lost whole slots, or all of a recording:
//! it is computed, as what is lost at the end of a member.

use std::fs;
use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::recorded::{self, FIRST_SLOT, SLOT_BYTES, content, document, extract};
use crate::support::{Place, json_of, unwrapped};

const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// A store with parity of three recordings.
fn recorded_thrice(place: &Place) -> [Vec<u8>; 3] {
    let create = ["--parity", "1", "--same-disk", "--no-prewrite"];
    let size = ["--size", "16MiB", "--slot", "64KiB"];
    let create = [&["create"], &MEMBERS[..], &create, &size].concat();
    place.run(&create).expect(0);
    let contents = [600_000, 400_000, 500_000].map(content);
    for bytes in &contents {
        recorded::record_main(place, &MEMBERS, bytes);
    }
    contents
}

#[track_caller]
fn assert_all_comes_back(place: &Place, members: &[&str], contents: &[Vec<u8>], what: &str) {
    for (number, expected) in (1..).zip(contents) {
        let number = number.to_string();
        let asked = [members, &["--recording", &number]].concat();
        let (code, bytes, words) = extract(place, &asked);
        assert!(code == 0 && bytes == *expected, "{what}: {number}: {words}");
    }
}

/// The members but this one.
fn without(gone: &str) -> Vec<&'static str> {
    let left = MEMBERS.iter().filter(|one| **one != gone);
    left.copied().collect()
}

/// Overwrites slots of a member.
fn wipe(place: &Place, member: &str, slots: std::ops::Range<u64>, with: u8) {
    let file = fs::File::options().write(true).open(place.path(member));
    let bytes = vec![with; ((slots.end - slots.start) * SLOT_BYTES) as usize];
    let at = FIRST_SLOT + slots.start * SLOT_BYTES;
    file.unwrap().write_all_at(&bytes, at).unwrap();
}

fn protection_of_each(checked: &Value) -> Vec<Value> {
    let recordings = checked["recordings"].as_array().unwrap().iter();
    recordings
        .map(|recording| recording["protection"].clone())
        .collect()
}

#[test]
fn whole_slots_that_are_gone_are_computed_wherever_they_were() {
    let place = Place::new();
    let contents = recorded_thrice(&place);
    let whole = fs::read(place.path("b")).unwrap();
    let used = 16;
    for (length, step) in [(1, 1), (5, 3)] {
        for first in (0..used).step_by(step) {
            wipe(&place, "b", first..first + length, 0xA5);
            let what = format!("{length} slots from {first} on");
            assert_all_comes_back(&place, &MEMBERS, &contents, &what);
            fs::write(place.path("b"), &whole).unwrap();
        }
    }
    let left_out = protection_of_each(&document(&place, 1, &["verify", "a", "c"]));
    // More than any recording has there.
    wipe(&place, "b", 0..200, 0);
    assert_all_comes_back(&place, &MEMBERS, &contents, "all slots");
    // What is lacking is protected no more, as without the member.
    let checked = document(&place, 1, &["verify", "a", "b", "c"]);
    assert_eq!(protection_of_each(&checked), left_out);
    let repair = ["repair", "a", "c", "--onto", "b", "--same-disk"];
    place.run(&repair).expect(0);
    document(&place, 0, &["verify", "a", "b", "c"]);
    assert_all_comes_back(&place, &["a", "b"], &contents, "repaired");
}

#[test]
fn a_member_with_an_old_state_stays_out_of_every_later_recording() {
    let place = Place::new();
    let mut contents = Vec::from(recorded_thrice(&place));
    let before = MEMBERS.map(|name| fs::read(place.path(name)).unwrap());
    contents.push(content(4_000_000));
    fs::write(place.path("in"), &contents[3]).unwrap();
    let record = ["record", "--from", "in", "--json", "r"];
    place.run(&[&record, &MEMBERS[..]].concat()).expect(0);
    let result = json_of(&place.read("r"));
    let bytes_of = |index: &usize| result["members"][*index]["bytes"].as_u64();
    let index = (0..MEMBERS.len()).max_by_key(bytes_of).unwrap();
    // One of them may have all the parity. This one has data.
    let (member, old) = (MEMBERS[index], &before[index]);
    let others = without(member);
    fs::write(place.path(member), old).unwrap();
    for count in [300_000, 800_000] {
        contents.push(content(count));
        recorded::record_main(&place, &MEMBERS, contents.last().unwrap());
        assert!(
            fs::read(place.path(member)).unwrap() == *old,
            "nothing is written there"
        );
        assert_all_comes_back(&place, &MEMBERS, &contents, "with it");
        assert_all_comes_back(&place, &others, &contents, "without it");
    }
    let said = place.run(&["recover", "a", "b", "c"]).expect(0).stderr;
    let said = unwrapped(&said);
    assert!(said.contains(&format!("--onto {member}")), "{said}");
    let repair = ["--onto", member, "--same-disk"];
    place
        .run(&[&["repair"], &others[..], &repair].concat())
        .expect(0);
    document(&place, 0, &["verify", "a", "b", "c"]);
    for gone in MEMBERS {
        // While one was left out, the two others mirrored each other.
        assert_all_comes_back(&place, &without(gone), &contents, gone);
    }
}

/// What is small may lie on one member, with its parity on another one.
#[test]
fn a_member_with_an_old_state_that_lacks_only_parity_is_left_alone_too() {
    let place = Place::new();
    let mut contents = Vec::from(recorded_thrice(&place));
    let before = MEMBERS.map(|name| fs::read(place.path(name)).unwrap());
    contents.push(content(50_000));
    recorded::record_main(&place, &MEMBERS, &contents[3]);
    let after = MEMBERS.map(|name| fs::read(place.path(name)).unwrap());
    contents.push(content(2_000_000));
    for (old, member) in MEMBERS.iter().enumerate() {
        for (name, bytes) in MEMBERS.iter().zip(&after) {
            fs::write(place.path(name), bytes).unwrap();
        }
        fs::write(place.path(member), &before[old]).unwrap();
        recorded::record_main(&place, &MEMBERS, &contents[4]);
        let others = without(member);
        let repair = ["--onto", member, "--same-disk"];
        place
            .run(&[&["repair"], &others[..], &repair].concat())
            .expect(0);
        document(&place, 0, &["verify", "a", "b", "c"]);
        for gone in MEMBERS {
            let what = format!("{member}, {gone}");
            assert_all_comes_back(&place, &without(gone), &contents, &what);
        }
    }
}

#[test]
fn where_more_members_are_old_than_parity_replaces_it_is_said_before_the_recording() {
    let place = Place::new();
    recorded_thrice(&place);
    let before = MEMBERS.map(|name| fs::read(place.path(name)).unwrap());
    recorded::record_main(&place, &MEMBERS, &content(4_000_000));
    for (member, old) in MEMBERS.iter().zip(before).take(2) {
        fs::write(place.path(member), old).unwrap();
    }
    fs::write(place.path("in"), content(50_000)).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    let ran = place.run(&record).expect(0);
    let said = unwrapped(&ran.stderr);
    assert!(
        said.contains("What is recorded now goes to one member alone, and nothing protects it"),
        "{said}"
    );
    assert!(
        !said.contains("so that this can still be computed"),
        "{said}"
    );
}
