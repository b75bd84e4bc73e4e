//! Recording to a store of which members are missing, and what becomes of it when they are there
//! again.

use std::fs::{self, File};

use serde_json::json;

use crate::recorded::{content, document};
use crate::support::{Place, json_of, unwrapped};

/// Makes a store of these members of 24 MiB each, with parity.
fn create(place: &Place, members: &[&str], parity: &str) {
    for name in members {
        let file = File::create(place.path(name)).unwrap();
        file.set_len(24 << 20).unwrap();
    }
    let mut create = vec!["create", "--slot", "1MiB", "--no-prewrite"];
    create.extend(["--parity", parity]);
    create.extend((parity != "0").then_some("--same-disk"));
    create.extend(members);
    create.extend(members.iter().flat_map(|name| ["--destroy", name]));
    place.run(&create).expect(0);
}

/// Records so many bytes of the content, and returns what was told.
#[track_caller]
fn record(place: &Place, bytes: usize, members: &[&str], exit: i32) -> String {
    fs::write(place.path("in"), content(bytes)).unwrap();
    let _ = fs::remove_file(place.path("r"));
    let record = [&["record", "--from", "in", "--json", "r"], members].concat();
    unwrapped(&place.run(&record).expect(exit).stderr)
}

#[track_caller]
fn hide(place: &Place, member: &str) {
    fs::rename(place.path(member), place.path(&format!("{member}.away"))).unwrap();
}

#[track_caller]
fn bring_back(place: &Place, member: &str) {
    fs::rename(place.path(&format!("{member}.away")), place.path(member)).unwrap();
}

/// Checks that recordings of so many bytes, from the first one on, come back from these members.
#[track_caller]
fn come_back(place: &Place, members: &[&str], recordings: &[usize]) {
    for (index, bytes) in recordings.iter().enumerate() {
        let number = (index + 1).to_string();
        let _ = fs::remove_file(place.path("out"));
        let extract = ["extract", "--recording", &number, "-o", "out"];
        place.run(&[&extract[..], members].concat()).expect(0);
        let is_same = fs::read(place.path("out")).unwrap() == content(*bytes);
        assert!(is_same, "recording {number} of {members:?}");
    }
}

#[test]
fn a_recording_goes_on_without_a_member_that_is_used_again_later() {
    let place = Place::new();
    let all = ["a", "b", "c", "d"];
    create(&place, &all, "1");
    record(&place, 3_000_001, &all, 0);
    hide(&place, "c");
    let without = ["a", "b", "d"];
    let told = record(&place, 4_000_003, &without, 2);
    assert!(
        told.contains("`sustain record` with --degraded records over the others meanwhile"),
        "{told}"
    );
    // A member that is named and is not there is missing, too.
    for named in [&without[..], &all[..]] {
        let told = record(&place, 4_000_003, &[&["--degraded"], named].concat(), 0);
        for words in [
            "is missing: the recording goes to the other 3",
            "it can be used again when it is there",
            "What was recorded before survives no further loss until then",
            "All of it is protected from the loss of any one member",
        ] {
            assert!(told.contains(words), "{words:?} in {told}");
        }
        let names_it = told.contains("c is left out: it is not there");
        assert_eq!(names_it, named.contains(&"c"), "{told}");
        let members = json_of(&place.read("r"))["members"].clone();
        assert_eq!(members.as_array().unwrap().len(), 3, "{members}");
    }
    let recorded = [3_000_001, 4_000_003, 4_000_003];
    come_back(&place, &without, &recorded);
    // It is there again, and lacks nothing.
    bring_back(&place, "c");
    come_back(&place, &all, &recorded);
    let checked = document(&place, 0, &[&["verify"], &all[..]].concat());
    assert_eq!(checked["ok"], true, "{checked}");
    let told = record(&place, 2_000_007, &all, 0);
    assert!(!told.contains("Nothing is recorded on it"), "{told}");
    let recorded = [3_000_001, 4_000_003, 4_000_003, 2_000_007];
    let per_member = document(&place, 0, &[&["list"], &all[..]].concat());
    let count = per_member["recordings"].as_array().unwrap().len();
    assert_eq!(count, 4, "{per_member}");
    for gone in all {
        let left: Vec<&str> = all.into_iter().filter(|one| *one != gone).collect();
        come_back(&place, &left, &recorded);
    }
    let checked = document(&place, 0, &[&["verify"], &all[..]].concat());
    assert_eq!(checked["ok"], true, "{checked}");
}

#[test]
fn a_member_that_stays_away_is_rebuilt_with_nothing_of_what_came_without_it() {
    let place = Place::new();
    let all = ["a", "b", "c"];
    create(&place, &all, "1");
    record(&place, 3_000_001, &all, 0);
    hide(&place, "b");
    record(&place, 4_000_003, &["--degraded", "a", "c"], 0);
    place
        .run(&["repair", "a", "c", "--onto", "e", "--same-disk"])
        .expect(0);
    for left in [&["a", "c", "e"][..], &["a", "e"], &["c", "e"], &["a", "c"]] {
        come_back(&place, left, &[3_000_001, 4_000_003]);
    }
    let checked = document(&place, 0, &["verify", "a", "c", "e"]);
    assert_eq!(checked["ok"], true, "{checked}");
}

#[test]
fn members_that_were_away_together_lack_nothing_of_what_could_not_have_all_its_parity() {
    let place = Place::new();
    let all = ["a", "b", "c", "d"];
    create(&place, &all, "2");
    let told = record(&place, 3_000_001, &["--degraded", "a", "b"], 0);
    let few = "All but one of the 2 members that were there may be lost, and no more";
    assert!(told.contains(few), "{told}");
    for one in ["a", "b"] {
        come_back(&place, &[one], &[3_000_001]);
    }
    hide(&place, "b");
    let repair = ["repair", "a", "c", "d", "--onto", "e", "--same-disk"];
    place.run(&repair).expect(0);
    let now = ["a", "e", "c", "d"];
    let told = record(&place, 2_000_001, &now, 0);
    assert!(!told.contains("Nothing is recorded on it"), "{told}");
    assert!(
        told.contains("All of it is protected from the loss of any 2 members"),
        "{told}"
    );
    let checked = document(&place, 0, &[&["verify"], &now[..]].concat());
    assert_eq!(checked["ok"], true, "{checked}");
}

#[test]
fn halves_of_a_mirror_that_recorded_apart_are_told() {
    let place = Place::new();
    create(&place, &["a", "b"], "1");
    record(&place, 3_000_001, &["a", "b"], 0);
    hide(&place, "b");
    let told = record(&place, 1_000_003, &["--degraded", "a"], 0);
    assert!(
        told.contains("the recording goes to the other one"),
        "{told}"
    );
    let words = "Nothing protects it, because only one member of the store was there";
    assert!(told.contains(words), "{told}");
    hide(&place, "a");
    bring_back(&place, "b");
    record(&place, 2_000_003, &["--degraded", "b"], 0);
    bring_back(&place, "a");
    let apart = "a and b disagree on recording 2: parts of this store have recorded apart from \
                 each other. Read each part by itself";
    let told = unwrapped(&place.run(&["list", "a", "b"]).expect(1).stderr);
    assert!(told.contains(apart), "{told}");
    // What would be recorded now could not be read.
    let told = record(&place, 1_000_000, &["a", "b"], 1);
    assert!(told.contains(apart), "{told}");
    come_back(&place, &["a"], &[3_000_001, 1_000_003]);
    come_back(&place, &["b"], &[3_000_001, 2_000_003]);
    // One of them is given up.
    let repair = ["repair", "b", "--onto", "a", "--same-disk"];
    let told = unwrapped(&place.run(&repair).expect(2).stderr);
    assert!(told.contains("--destroy a"), "{told}");
    come_back(&place, &["a"], &[3_000_001, 1_000_003]);
    place
        .run(&[&repair[..], &["--destroy", "a"]].concat())
        .expect(0);
    for left in [&["a", "b"][..], &["a"], &["b"]] {
        come_back(&place, left, &[3_000_001, 2_000_003]);
    }
    record(&place, 1_000_000, &["a", "b"], 0);
    let checked = document(&place, 0, &["verify", "a", "b"]);
    assert_eq!(checked["ok"], true, "{checked}");
}

#[test]
fn a_member_whose_place_the_one_it_replaced_had_meanwhile_is_left_out() {
    let place = Place::new();
    create(&place, &["a", "b", "c", "d"], "1");
    record(&place, 5_000_001, &["a", "b", "c", "d"], 0);
    hide(&place, "c");
    record(&place, 4_000_003, &["--degraded", "a", "b", "d"], 0);
    let repair = ["repair", "a", "b", "d", "--onto", "e", "--same-disk"];
    place.run(&repair).expect(0);
    // The old one is used by mistake, with enough that it gets data.
    bring_back(&place, "c");
    record(&place, 9_000_005, &["a", "b", "c", "d"], 0);
    let lengths = [5_000_001, 4_000_003, 9_000_005];
    let words = "e is left out, and what it had is computed from the others: they tell of appends \
                 in its place that are not on it";
    let told = unwrapped(&place.run(&["list", "a", "b", "e", "d"]).expect(0).stderr);
    assert!(told.contains(words), "{told}");
    come_back(&place, &["a", "b", "e", "d"], &lengths);
    let told = record(&place, 1_000_000, &["a", "b", "e", "d"], 0);
    assert!(told.contains("Nothing is recorded on it"), "{told}");
    place
        .run(&[&repair[..], &["--destroy", "e"]].concat())
        .expect(0);
    let lengths = [5_000_001, 4_000_003, 9_000_005, 1_000_000];
    for left in [&["a", "b", "e", "d"][..], &["a", "b", "d"]] {
        come_back(&place, left, &lengths);
    }
    let told = unwrapped(&place.run(&["list", "a", "b", "e", "d"]).expect(0).stderr);
    assert!(!told.contains("left out"), "{told}");
}

#[test]
fn nothing_is_left_of_a_longer_half_that_is_given_up() {
    let place = Place::new();
    create(&place, &["a", "b"], "1");
    record(&place, 1_000_001, &["a", "b"], 0);
    hide(&place, "b");
    record(&place, 1_000_003, &["--degraded", "a"], 0);
    hide(&place, "a");
    bring_back(&place, "b");
    // It goes far behind what is wiped for its signatures.
    record(&place, 14_000_003, &["--degraded", "b"], 0);
    bring_back(&place, "a");
    let repair = [
        "repair",
        "a",
        "--onto",
        "b",
        "--same-disk",
        "--destroy",
        "b",
    ];
    let told = unwrapped(&place.run(&repair).expect(0).stderr);
    let words = "what is on b does not go together with the others: all of it is overwritten first";
    assert!(told.contains(words), "{told}");
    for left in [&["a", "b"][..], &["a"], &["b"]] {
        come_back(&place, left, &[1_000_001, 1_000_003]);
    }
    let checked = document(&place, 0, &["verify", "a", "b"]);
    assert_eq!(checked["ok"], true, "{checked}");
}

#[test]
fn more_members_than_parity_replaces_may_not_be_missing() {
    let place = Place::new();
    create(&place, &["a", "b", "c", "d"], "1");
    record(&place, 3_000_001, &["a", "b", "c", "d"], 0);
    let told = record(&place, 1, &["--degraded", "a", "b"], 2);
    assert!(
        told.contains("To record meanwhile, use another store"),
        "{told}"
    );
    // What was named and cannot be used is the reason.
    fs::write(place.path("c"), vec![7; 24 << 20]).unwrap();
    let told = record(&place, 1, &["--degraded", "a", "b", "c"], 2);
    assert!(
        told.contains("c is left out: it is not a member of a store"),
        "{told}"
    );
    let told = record(&place, 1_000_003, &["--degraded", "a", "b", "c", "d"], 0);
    assert!(
        told.contains("c is left out: it is not a member of a store"),
        "{told}"
    );
    assert!(
        fs::read(place.path("c"))
            .unwrap()
            .iter()
            .all(|byte| *byte == 7)
    );
    come_back(&place, &["a", "b", "d"], &[3_000_001, 1_000_003]);
    let listed = document(&place, 0, &["list", "a", "b", "d"]);
    assert_eq!(listed["recordings"][0]["parity"], json!(1));
    // A store without parity needs all of its members.
    let place = Place::new();
    create(&place, &["a", "b"], "0");
    let told = record(&place, 1, &["--degraded", "a"], 2);
    assert!(told.contains("member 2"), "{told}");
}

#[test]
fn a_repair_onto_the_member_itself_makes_the_others_no_older() {
    let place = Place::new();
    let all = ["a", "b", "c"];
    create(&place, &all, "1");
    record(&place, 3_000_000, &all, 0);
    for _ in 0..2 {
        let repair = ["repair", "a", "c", "--onto", "b", "--same-disk"];
        place.run(&repair).expect(0);
    }
    hide(&place, "a");
    record(&place, 2_000_000, &["b", "c", "--degraded"], 0);
    come_back(&place, &["b", "c"], &[3_000_000, 2_000_000]);
}

#[test]
fn a_lost_member_that_is_named_leads_to_degraded_and_repair() {
    let place = Place::new();
    create(&place, &["a", "b", "c"], "1");
    hide(&place, "b");
    fs::write(place.path("in"), content(1000)).unwrap();
    let record = ["record", "--from", "in", "a", "b", "c"];
    for is_directory in [false, true] {
        if is_directory {
            fs::create_dir(place.path("b")).unwrap();
        }
        let told = unwrapped(&place.refusal(&record));
        let advice = "with --degraded goes to the others, and `sustain repair` puts a new member";
        assert!(told.contains(advice), "{told}");
    }
    let told = unwrapped(&place.refusal(&["record", "--from", "in", "x"]));
    assert!(!told.contains("--degraded"), "{told}");
}
