//! `retire`, and `repair` without a new member: what a member had is on the others, which are the
//! store then.

use std::fs;
use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::recorded::{self, content, document, extract};
use crate::support::{Place, unwrapped};

const ALL: [&str; 4] = ["a", "b", "c", "d"];

/// A store with two recordings.
fn recorded(parity: &str, members: &[&str]) -> (Place, [Vec<u8>; 2]) {
    let place = Place::new();
    let with_parity = ["--parity", parity, "--same-disk"];
    let with_parity = if parity == "0" { &[][..] } else { &with_parity };
    let size = ["--size", "16MiB", "--slot", "64KiB", "--no-prewrite"];
    place
        .run(&[&["create"], members, with_parity, &size[..]].concat())
        .expect(0);
    let contents = [content(3_000_000), content(5_000_001)];
    for content in &contents {
        recorded::record_main(&place, members, content);
    }
    (place, contents)
}

fn without<'a>(members: &[&'a str], gone: &[&str]) -> Vec<&'a str> {
    let left = members.iter().filter(|one| !gone.contains(one));
    left.copied().collect()
}

#[track_caller]
fn assert_extracts(place: &Place, members: &[&str], contents: &[Vec<u8>]) {
    for (number, expected) in (1..).zip(contents) {
        let number = number.to_string();
        let (code, bytes, words) = extract(place, &[members, &["--recording", &number]].concat());
        assert!(
            code == 0 && bytes == *expected,
            "{number} of {members:?}: {} of {} bytes, {words}",
            bytes.len(),
            expected.len()
        );
    }
}

/// Checks that the store is whole and survives the loss of so many further members.
#[track_caller]
fn assert_whole(place: &Place, members: &[&str], contents: &[Vec<u8>], losses: usize) {
    let told = place.run(&[&["verify"], members].concat()).expect(0).stdout;
    let words = match losses {
        0 => "ok: every byte is accounted for",
        1 => "the loss of any one member: all of it",
        _ => "the loss of any 2 members: all of it",
    };
    assert!(unwrapped(&told).contains(words), "{told}");
    assert_extracts(place, members, contents);
    for (at, first) in members.iter().enumerate().filter(|_| losses > 0) {
        for second in &members[at..] {
            let gone: &[&str] = match losses {
                1 => &[first],
                _ => &[first, second],
            };
            assert_extracts(place, &without(members, gone), contents);
        }
    }
}

fn retire(place: &Place, members: &[&str], member: &str) -> Value {
    document(
        place,
        0,
        &[&["retire"], members, &["--member", member]].concat(),
    )
}

#[test]
fn a_retired_member_may_be_taken_away_and_any_other_lost() {
    let (place, contents) = recorded("1", &ALL);
    let before = fs::read(place.path("b")).unwrap();
    let retired = retire(&place, &ALL, "b");
    assert_eq!(retired["member"]["number"], 2);
    // The sums of the members that stay do not count the copies.
    let stay = without(&ALL, &["b"]);
    place.run(&[&["recover"], &stay[..]].concat()).expect(0);
    assert_eq!(retired["lost_bytes"], 0);
    let data_bytes = retired["data"]["bytes"].as_u64().unwrap();
    let parity_bytes = retired["parity"]["bytes"].as_u64().unwrap();
    let written_bytes = retired["written_bytes"].as_u64().unwrap();
    assert!(written_bytes >= data_bytes + parity_bytes, "{retired}");
    // Nothing was deleted on it: only its superblocks are others.
    let after = fs::read(place.path("b")).unwrap();
    let slots = 128 << 10..before.len() - (128 << 10);
    assert!(
        before[slots.clone()] == after[slots],
        "its slots are as they were"
    );
    let left = without(&ALL, &["b"]);
    assert_whole(&place, &left, &contents, 1);

    let listed = document(&place, 0, &[&["list"], &left[..]].concat());
    assert_eq!(
        listed["recordings"].as_array().unwrap().len(),
        2,
        "{listed}"
    );
    assert_eq!(listed["members"].as_array().unwrap().len(), 3);
    let told = place.run(&[&["list"], &left[..]].concat()).expect(0);
    told.says("recording 3 has no streams, but copies of what member 2 had");
    let (_, _, words) = extract(&place, &[&left[..], &["--recording", "3"]].concat());
    assert!(words.contains("no recording 3"), "{words}");
    // Named all the same, it is left out, and nothing is recorded to it.
    place
        .run(&[&["verify"], &ALL[..]].concat())
        .expect(0)
        .says("b is left out: it was retired");
    let record = ["record", "--from", "test:1MB/s", "--time", "1s"];
    place
        .run(&[&record[..], &ALL].concat())
        .expect(2)
        .says("b: it was retired from its store");

    for again in ["b", "2"] {
        let told =
            unwrapped(&place.refusal(&[&["retire"], &ALL[..], &["--member", again]].concat()));
        assert!(told.contains("was retired from it already"), "{told}");
    }

    // What is damaged is put back although the retired member is not there.
    let whole = fs::read(place.path("a")).unwrap();
    let mut damaged = whole.clone();
    let at = damaged.len() / 3;
    damaged[at..at + 4096].fill(0x5A);
    fs::write(place.path("a"), &damaged).unwrap();
    let scrubbed = document(&place, 0, &[&["scrub"], &left[..]].concat());
    assert_eq!(scrubbed["check"]["ok"], true, "{scrubbed}");
    assert!(
        fs::read(place.path("a")).unwrap() == whole,
        "it is as it was"
    );

    let third = content(2_000_000);
    recorded::record_main(&place, &left, &third);
    let (code, bytes, words) = extract(&place, &left);
    assert!(code == 0 && bytes == third, "{words}");
    assert_whole(&place, &left, &contents, 1);

    // A member that is added comes behind the retired one in the table.
    let size = ["--size", "16MiB", "--no-prewrite", "--same-disk"];
    let add = [&["create"], &left[..], &["--add", "e"], &size[..]].concat();
    document(&place, 0, &add);
    let all = ["a", "c", "d", "e"];
    let fourth = content(4_000_000);
    recorded::record_main(&place, &all, &fourth);
    assert_whole(&place, &all, &contents, 1);
    let (code, bytes, words) = extract(&place, &without(&all, &["d"]));
    assert!(code == 0 && bytes == fourth, "{words}");
}

#[test]
fn what_a_lost_member_had_is_spread_over_the_others() {
    let (place, contents) = recorded("1", &ALL);
    fs::rename(place.path("c"), place.path("away")).unwrap();
    let left = without(&ALL, &["c"]);
    let repaired = document(&place, 0, &[&["repair"], &left[..]].concat());
    assert_eq!(repaired["member"]["number"], 3);
    assert_eq!(repaired["lost"]["appends"], 0);
    assert_whole(&place, &left, &contents, 1);
    let told = unwrapped(&place.refusal(&[&["repair"], &left[..]].concat()));
    assert!(told.contains("no member of the store is missing"), "{told}");
    // It does not know of that when it is there again.
    let with_it = [&left[..], &["away"]].concat();
    place
        .run(&[&["verify"], &with_it[..]].concat())
        .expect(0)
        .says("away is left out: it was retired");
    place
        .run(&[&["record"], &with_it[..]].concat())
        .expect(2)
        .says("away: it was retired from its store");
}

#[test]
fn two_members_are_retired_and_any_two_of_the_rest_may_be_lost() {
    let all = ["a", "b", "c", "d", "e"];
    let (place, contents) = recorded("2", &all);
    retire(&place, &all, "a");
    let left = without(&all, &["a"]);
    assert_whole(&place, &left, &contents, 2);
    retire(&place, &left, "4");
    let left = without(&left, &["d"]);
    assert_whole(&place, &left, &contents, 2);
    let command = [&["retire"], &left[..], &["--member", "b"]].concat();
    let told = unwrapped(&place.refusal(&command));
    assert!(
        told.contains("parity 2 needs 3 members, and 2 would stay"),
        "{told}"
    );
    // A member that is lost now can be put back, with the copies that it had.
    fs::remove_file(place.path("e")).unwrap();
    let repair = ["repair", "b", "c", "--onto", "e", "--same-disk"];
    place.run(&repair).expect(0);
    assert_whole(&place, &left, &contents, 2);
}

#[test]
fn a_member_of_a_store_without_parity_is_retired() {
    let (place, contents) = recorded("0", &["a", "b", "c"]);
    let left = ["a", "c"];
    let lost = [&["repair"], &left[..]].concat();
    fs::rename(place.path("b"), place.path("away")).unwrap();
    let told = unwrapped(&place.refusal(&lost));
    assert!(told.contains("of it cannot be computed"), "{told}");
    fs::rename(place.path("away"), place.path("b")).unwrap();
    retire(&place, &["a", "b", "c"], "b");
    assert_whole(&place, &left, &contents, 0);
    retire(&place, &left, "a");
    assert_whole(&place, &["c"], &contents, 0);
    let told = unwrapped(&place.refusal(&["retire", "c", "--member", "c"]));
    assert!(told.contains("a store needs one member"), "{told}");
}

#[test]
fn damage_in_a_store_without_parity_is_told_before_a_member_is_retired() {
    let (place, contents) = recorded("0", &["a", "b"]);
    // The first block of an append: nothing else tells what was there.
    let file = fs::OpenOptions::new().write(true).open(place.path("b"));
    let offset_bytes = (128 << 10) + 3 * (64 << 10);
    file.unwrap()
        .write_all_at(&[0; 4096], offset_bytes)
        .unwrap();
    let retire = ["retire", "a", "b", "--member", "b"];
    let told = unwrapped(&place.refusal(&retire));
    assert!(told.contains("of the recordings are damaged"), "{told}");
    let accepted = [&retire[..], &["--accept-loss"]].concat();
    let retired = document(&place, 1, &accepted);
    assert!(retired["lost_bytes"].as_u64() > Some(0), "{retired}");
    let lost = ["--recording", "2"];
    let (code, bytes, words) = extract(&place, &[&["a"], &lost[..]].concat());
    assert!(code == 0 && bytes == contents[1], "{words}");
}

#[test]
fn what_cannot_be_retired_is_refused_and_stays_as_it_was() {
    let (place, _) = recorded("1", &["a", "b", "c"]);
    let refused = |arguments: &[&str]| unwrapped(&place.refusal(arguments));
    let told = refused(&["retire", "a", "b", "c", "--member", "x"]);
    assert!(told.contains("x is no member of the store"), "{told}");
    let told = refused(&["retire", "a", "b", "c", "--member", "4"]);
    assert!(told.contains("from 1 to 3"), "{told}");
    let told = refused(&["retire", "a", "b", "--member", "b"]);
    assert!(told.contains("needs all of its 3 members"), "{told}");
    // Two members of 16 MiB have no room for two copies of what fills a good part of three.
    recorded::record_main(&place, &["a", "b", "c"], &content(12_000_000));
    let before = ["a", "b", "c"].map(|name| fs::read(place.path(name)).unwrap());
    place
        .run(&["retire", "a", "b", "c", "--member", "b"])
        .expect(2)
        .says("Nothing was written");
    let after = ["a", "b", "c"].map(|name| fs::read(place.path(name)).unwrap());
    assert!(before == after, "nothing was written");
}

#[test]
fn a_dry_run_says_what_would_be_copied_and_writes_nothing() {
    let (place, contents) = recorded("1", &ALL);
    let before = ALL.map(|name| fs::read(place.path(name)).unwrap());
    let there = without(&ALL, &["c"]);
    let retire = [&["retire"], &ALL[..], &["--member", "c", "--dry-run"]].concat();
    let repair = [&["repair"], &there[..], &["--dry-run"]].concat();
    for command in [retire, repair] {
        let told = unwrapped(&place.run(&command).expect(0).stdout);
        assert!(told.contains("appends of member 3 would be"), "{told}");
        assert!(told.contains("Nothing was written"), "{told}");
    }
    let after = ALL.map(|name| fs::read(place.path(name)).unwrap());
    assert!(after == before, "nothing is written");
    assert_whole(&place, &ALL, &contents, 1);
    // What is refused is refused in a dry run, too.
    let few = without(&ALL, &["c", "d"]);
    place
        .run(&[&["repair"], &few[..], &["--dry-run"]].concat())
        .expect(2)
        .says("members 3 and 4 are missing");
}

#[test]
fn a_member_of_a_ring_is_retired_when_the_ring_has_gone_over_all_that_it_has() {
    for is_lost in [false, true] {
        let place = Place::new();
        let size = ["--size", "8MiB", "--slot", "64KiB", "--no-prewrite"];
        let parity = ["--parity", "1", "--same-disk"];
        place
            .run(&[&["create"], &ALL[..], &parity, &size].concat())
            .expect(0);
        let record = |members: &[&str], bytes: usize| {
            fs::write(place.path("in"), content(bytes)).unwrap();
            let flags = ["record", "--ring", "--degraded", "--from", "in"];
            place.run(&[&flags[..], members].concat()).expect(0);
        };
        record(&ALL, 40_000_000);
        let left = without(&ALL, &["b"]);
        if is_lost {
            fs::remove_file(place.path("b")).unwrap();
        }
        let retire = match is_lost {
            true => [&["retire"], &left[..], &["--member", "2"]].concat(),
            false => [&["retire"], &ALL[..], &["--member", "b"]].concat(),
        };
        let refused = || {
            let told = unwrapped(&place.refusal(&retire));
            let way = "record over the others with --degraded until the ring has gone over all";
            assert!(told.contains(way), "{told}");
        };
        refused();
        record(&left, 3_000_000);
        refused();
        record(&left, 40_000_000);
        let dry_run = [&retire[..], &["--dry-run"]].concat();
        let told = place.run(&dry_run).expect(0).stdout;
        assert!(told.contains("member 2 has nothing to copy"), "{told}");
        let retired = document(&place, 0, &retire);
        assert_eq!(retired["written_bytes"], 0, "{retired}");
        // The others are the store, and any one of them may be lost.
        record(&left, 5_000_001);
        let verify = [&["verify"], &left[..]].concat();
        let told = unwrapped(&place.run(&verify).expect(0).stdout);
        assert!(told.contains("recording 4: protected from the loss of any one member: all of it"));
        for gone in &left {
            let there = without(&left, &[gone]);
            let (code, bytes, words) =
                extract(&place, &[&there[..], &["--recording", "4"]].concat());
            assert!(
                code == 0 && bytes == content(5_000_001),
                "{there:?}: {words}"
            );
        }
    }
}
