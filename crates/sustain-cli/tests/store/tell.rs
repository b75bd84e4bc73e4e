//! What `list`, `verify` and `recover` tell of a store, in words and as JSON.

use sustain::host::Roots;
use sustain::record::store::{Mode, Store};

use crate::recorded::{
    self, ARRIVAL_NS, End, FIRST_SLOT, Offered, SLOT_BYTES, Stream, content, damage, document,
    extract, payload_of_slot,
};
use crate::support::{Place, unwrapped};

#[test]
fn a_list_has_every_recording_and_stream_with_its_losses() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "4MiB");
    let (first, second) = (content(900_000), content(300_000));
    let lines = "one\ntwo\nthree\n".repeat(100);
    let lossy = Stream {
        name: "lossy",
        framing: "none",
        offered: vec![
            Offered::Bytes(&second),
            Offered::Lost(123_456),
            Offered::Bytes(&second),
        ],
    };
    let streams = [Stream::framed("lines", "lines", lines.as_bytes()), lossy];
    recorded::record_main(&place, &["a", "b"], &first);
    recorded::record(&place, &["a", "b"], &streams, End::Crash);
    let list = document(&place, 0, &["list", "b", "a"]);
    assert_eq!(list["schema"], "sustain.list/1");
    assert_eq!(list["recordings"].as_array().unwrap().len(), 2);
    let [one, two] = [&list["recordings"][0], &list["recordings"][1]];
    assert_eq!(one["recording"], 1);
    assert_eq!(one["ended"], "source");
    assert!(one["started"].as_str().unwrap().ends_with('Z'));
    assert_eq!(one["streams"][0]["bytes"], 900_000);
    assert_eq!(one["streams"][0]["gap_bytes"], 0);
    assert_eq!(one["streams"][0]["hole_bytes"], 0);
    assert_eq!(
        one["streams"][0]["first_time"],
        "2023-11-14T22:13:20.000000000Z"
    );
    assert_eq!(ARRIVAL_NS, 1_700_000_000_000_000_000);
    assert_eq!(two["recording"], 2);
    assert!(two["ended"].is_null(), "an open end");
    assert_eq!(two["streams"][0]["name"], "lines");
    assert_eq!(two["streams"][0]["framing"], "lines");
    assert_eq!(two["streams"][0]["frames"], 300);
    assert_eq!(two["streams"][1]["bytes"], 723_456);
    assert_eq!(two["streams"][1]["recorded_bytes"], 600_000);
    assert_eq!(two["streams"][1]["gap_bytes"], 123_456);

    let text = unwrapped(&place.run(&["list", "a", "b"]).expect(0).stdout);
    for words in [
        "2 members",
        "lossy",
        "723 kB",
        "300",
        "123 kB",
        "open end",
        "source",
        "900 kB",
    ] {
        assert!(text.contains(words), "no {words} in {text}");
    }
}

#[test]
fn a_list_of_part_of_a_store_counts_what_is_missing() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "4MiB");
    let content = content(2_000_000);
    recorded::record_main(&place, &["a", "b"], &content);
    let holes = |members: &[&str]| {
        let list = document(&place, 0, &[&["list"], members].concat());
        list["recordings"][0]["streams"][0]["hole_bytes"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(holes(&["a", "b"]), 0);
    assert!(holes(&["a"]) > 0);
    assert_eq!(holes(&["a"]) + holes(&["b"]), 2_000_000);
}

#[test]
fn a_check_accounts_for_every_byte() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "4MiB");
    let content = content(1_500_000);
    let lossy = Stream {
        name: "main",
        framing: "none",
        offered: vec![
            Offered::Bytes(&content),
            Offered::Lost(5000),
            Offered::Bytes(&content),
        ],
    };
    recorded::record(&place, &["a", "b"], &[lossy], End::InOrder);
    let checked = document(&place, 0, &["verify", "a", "b"]);
    assert_eq!(checked["schema"], "sustain.verify/1");
    assert_eq!(checked["ok"], true);
    assert_eq!(checked["complete"], true);
    assert!(checked["checked_bytes"].as_u64().unwrap() > 3_000_000);
    assert_eq!(checked["bad"].as_array().unwrap().len(), 0);
    let stream = &checked["recordings"][0]["streams"][0];
    assert_eq!(stream["whole_bytes"], 3_000_000);
    assert_eq!(stream["gap_bytes"], 5000, "a gap is accounted for");
    let ran = place.run(&["verify", "a", "b"]).expect(0);
    assert!(ran.stdout.contains("ok: "), "{ran:#?}");
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_check_names_what_is_damaged_and_where() {
    let place = Place::new();
    recorded::create(&place, &["a"], "4MiB");
    let content = content(1_000_000);
    recorded::record_main(&place, &["a"], &content);
    damage(&place, "a", payload_of_slot(4));
    let checked = document(&place, 1, &["verify", "a"]);
    assert_eq!(checked["ok"], false);
    let bad = &checked["bad"][0];
    assert_eq!(bad["member"], "a");
    assert_eq!(bad["offset_bytes"], payload_of_slot(4));
    assert_eq!(bad["stream"], "main");
    assert_eq!(bad["recording"], 1);
    let range = bad["from_byte"].as_u64().unwrap()..bad["to_byte"].as_u64().unwrap();
    assert!(
        !range.is_empty() && range.end - range.start <= 64 << 10,
        "{range:?}"
    );
    assert_eq!(
        checked["recordings"][0]["streams"][0]["hole_bytes"].as_u64(),
        Some(range.end - range.start)
    );
    let text = unwrapped(&place.run(&["verify", "a"]).expect(1).stdout);
    let words = format!(
        "bad: recording 1, stream main, bytes {} to {}, member a at byte {}: the checksum is wrong",
        range.start,
        range.end,
        payload_of_slot(4)
    );
    assert!(text.contains(&words), "no {words:?} in {text}");
    assert!(text.contains("not ok: "), "{text}");
}

#[test]
fn a_damaged_superblock_is_found_by_the_check_and_renewed_by_recover() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "2MiB");
    let content = content(300_000);
    recorded::record_main(&place, &["a", "b"], &content);
    damage(&place, "b", 0);
    let bad = document(&place, 1, &["verify", "a", "b"])["bad"][0].clone();
    assert_eq!(bad["member"], "b");
    assert_eq!(bad["offset_bytes"], 0);
    assert!(bad["stream"].is_null());
    assert!(
        bad["why"]
            .as_str()
            .unwrap()
            .contains("`sustain recover` repairs it"),
        "{bad}"
    );
    let recovered = document(&place, 0, &["recover", "a", "b"]);
    assert_eq!(recovered["superblocks_renewed"], true);
    document(&place, 0, &["verify", "a", "b"]);
}

/// The oldest slot of a member, by its offset, and the last append.
fn oldest_and_last(place: &Place, member: &str) -> (u64, u64) {
    let path = place.path(member).to_str().unwrap().to_owned();
    let store = Store::open(&[path], Mode::Read, &Roots::default()).unwrap();
    let geometry = store.members[0].superblock.geometry;
    let last = store.tails[0].last.as_ref().unwrap().place;
    let next = (last.slot_serial + 1) % geometry.slot_count;
    (FIRST_SLOT + next * SLOT_BYTES, geometry.offset_of(last))
}

#[test]
fn an_end_mark_that_is_lost_fails_recovering_as_it_fails_the_check() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "4MiB");
    recorded::record_main(&place, &["a", "b"], &content(300_000));
    assert_eq!(document(&place, 0, &["recover", "a", "b"])["lost_marks"], 0);
    let (_, end) = oldest_and_last(&place, "b");
    damage(&place, "b", end);
    for _ in 0..2 {
        document(&place, 1, &["verify", "a", "b"]);
        let recovered = document(&place, 1, &["recover", "a", "b"]);
        assert_eq!(recovered["lost_marks"], 1);
        let ran = place.run(&["recover", "a", "b"]).expect(1);
        assert!(
            unwrapped(&ran.stdout).contains("the marks that are lost"),
            "{ran:#?}"
        );
        let note = recovered["notes"][0].as_str().unwrap();
        assert!(note.starts_with("b: recording 1, at byte "), "{note}");
    }
}

#[test]
fn a_list_of_a_ring_that_was_cut_begins_where_it_can_be_read() {
    let place = Place::new();
    recorded::create(&place, &["a"], "2MiB");
    let content = content(6_000_000);
    let streams = [Stream::plain("main", &content)];
    recorded::record_ring(&place, &["a"], &streams, End::Crash);
    let readable_from = || {
        let listed = document(&place, 0, &["list", "a"])["recordings"][0]["streams"][0].clone();
        let checked = document(&place, 0, &["verify", "a"])["recordings"][0]["streams"][0].clone();
        assert_eq!(listed["readable_from_byte"], checked["readable_from_byte"]);
        listed["readable_from_byte"].as_u64().unwrap()
    };
    let before = readable_from();
    // Half written over, as by a power cut.
    let (oldest, _) = oldest_and_last(&place, "a");
    damage(&place, "a", oldest + SLOT_BYTES + 4096);
    assert!(readable_from() > before);
}

#[test]
fn a_check_of_part_of_a_store_fails_and_names_what_is_missing() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "4MiB");
    let content = content(2_000_000);
    recorded::record_main(&place, &["a", "b"], &content);
    let checked = document(&place, 1, &["verify", "b"]);
    let lost: u64 = checked["bad"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bad| bad["to_byte"].as_u64().unwrap() - bad["from_byte"].as_u64().unwrap())
        .sum();
    assert_eq!(checked["recordings"][0]["streams"][0]["hole_bytes"], lost);
    assert_eq!(checked["members"][0]["state"], "missing");
}

#[test]
fn a_missing_member_that_may_have_more_of_a_recording_fails_checking_and_extracting() {
    for (end, has_end) in [(End::InOrder, true), (End::Crash, false)] {
        let place = Place::new();
        recorded::create(&place, &["a", "b"], "4MiB");
        let content = content(1000);
        let streams = [Stream::plain("main", &content)];
        recorded::record(&place, &["a", "b"], &streams, end);
        // One append is enough for all of it, and is on one of them.
        let has_all = |member: &&str| extract(&place, &[member]).1 == content;
        let member = ["a", "b"].into_iter().find(has_all).unwrap();
        let code = i32::from(!has_end);
        let checked = document(&place, code, &["verify", member]);
        let (extracted, _, words) = extract(&place, &[member]);
        assert_eq!(extracted, code, "{words}");
        let text = unwrapped(&place.run(&["verify", member]).expect(code).stdout);
        if has_end {
            assert!(text.contains("nothing that was recorded lies on missing members alone"));
            continue;
        }
        let why = checked["bad"][0]["why"].as_str().unwrap();
        for told in [text.as_str(), why, words.as_str()] {
            assert!(
                told.contains("no end mark of it is on the members that are here"),
                "{told}"
            );
            assert!(told.contains("(UUID "), "{told}");
        }
        place.run(&["list", member]).expect(0);
    }
}

#[test]
fn a_recording_of_which_nothing_is_left_fails_recovering_as_it_fails_the_check() {
    let place = Place::new();
    recorded::create(&place, &["a"], "4MiB");
    recorded::record_main(&place, &["a"], &content(300_000));
    for at in (FIRST_SLOT..FIRST_SLOT + (1 << 20)).step_by(4096) {
        damage(&place, "a", at);
    }
    document(&place, 1, &["verify", "a"]);
    let recovered = document(&place, 1, &["recover", "a"]);
    assert_eq!(recovered["lost_marks"], 1);
    let note = recovered["notes"][0].as_str().unwrap();
    assert!(
        note.contains("nothing of that recording is found here"),
        "{note}"
    );
}

#[test]
fn an_empty_store_has_nothing_wrong() {
    let place = Place::new();
    recorded::create(&place, &["a"], "2MiB");
    let ran = place.run(&["list", "a"]).expect(0);
    assert!(
        ran.stdout.contains("the store has no recordings"),
        "{ran:#?}"
    );
    assert_eq!(document(&place, 0, &["verify", "a"])["ok"], true);
    place
        .run(&["extract", "a"])
        .expect(2)
        .says("there is no recording on this store");
    let before = std::fs::read(place.path("a")).unwrap();
    let ran = place.run(&["recover", "a"]).expect(0);
    assert!(
        unwrapped(&ran.stdout).contains("there was nothing to repair"),
        "{ran:#?}"
    );
    assert!(std::fs::read(place.path("a")).unwrap() == before);
}

#[test]
fn a_crash_is_told_and_written_down_and_changes_no_byte() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "4MiB");
    let content = content(1_200_000);
    recorded::record(
        &place,
        &["a", "b"],
        &[Stream::plain("main", &content)],
        End::Crash,
    );
    let (code, bytes, words) = extract(&place, &["a", "b"]);
    assert_eq!(code, 0, "an open end is no loss: {words}");
    assert!(bytes == content);
    assert!(words.contains("recording 1 has an open end"), "{words}");
    document(&place, 0, &["verify", "a", "b"]);

    let recovered = document(&place, 0, &["recover", "a", "b"]);
    assert_eq!(recovered["schema"], "sustain.recover/1");
    assert_eq!(recovered["recording"], 1);
    assert_eq!(recovered["marked"].as_array().unwrap().len(), 2);
    assert_eq!(recovered["recordings"][0]["ended"], "recovered");
    assert_eq!(recovered["recordings"][0]["streams"][0]["bytes"], 1_200_000);
    let list = document(&place, 0, &["list", "a", "b"]);
    assert_eq!(list["recordings"][0]["ended"], "recovered");
    let (code, bytes, words) = extract(&place, &["a", "b"]);
    assert!(code == 0 && bytes == content && words.is_empty(), "{words}");
    document(&place, 0, &["verify", "a", "b"]);
    let again = document(&place, 0, &["recover", "a", "b"]);
    assert!(again["recording"].is_null());
    assert_eq!(again["superblocks_renewed"], false);
}
