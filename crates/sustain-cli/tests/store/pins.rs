//! What pins keep of a ring comes back by the commands when the ring has gone round, however often.

use std::fs;

use sustain::record::PinWish;

use crate::recorded::{self, FIRST_SLOT, SLOT_BYTES, content, document, extract};
use crate::ring::{
    ALL_BYTES, CUT_LINE, CUT_NOTICE, EVENT, EVENT_LINES, MEMBERS, RunningRing, freed, lines,
    pin_in_ring_with_cut_line, pinned, ring_with_pin,
};
use crate::support::{Place, unwrapped};

#[test]
fn extract_gives_what_arrived_in_the_time_that_was_pinned() {
    let place = ring_with_pin();
    let pin = ["a", "b", "--pin", "1"];
    let of = |flags: &[&str]| extract(&place, &[&pin[..], flags].concat());
    let (code, bytes, words) = of(&["--stream", "main"]);
    assert!(
        code == 0 && bytes == content(ALL_BYTES)[EVENT],
        "{} {words}",
        bytes.len()
    );
    let (code, bytes, words) = of(&["--stream", "log", "--index", "log.csv"]);
    assert!(code == 0 && bytes == lines(EVENT_LINES), "{words}");
    let index = place.read("log.csv");
    assert_eq!(index.lines().count(), 1 + EVENT_LINES.len(), "{index}");
    assert!(
        index.contains(",whole\n") && !index.contains("cut"),
        "{index}"
    );
    let (code, _, words) = of(&["--stream", "log", "-o", "frames/"]);
    assert!(code == 0 && words.contains("20 frames written"), "{words}");
    assert_eq!(place.read("frames/log-000030.txt"), "line 000030\n");
    // The ring has overwritten it.
    let (_, bytes, _) = extract(&place, &["a", "b", "--stream", "log", "--from-frame", "30"]);
    assert!(!bytes.starts_with(b"line 000030"));
}

/// Whole lines come out, however they are asked for, and what is left out is said.
#[track_caller]
fn assert_cut_line_is_left_out(place: &Place) {
    let pin = ["a", "b", "--pin", "1", "--stream", "log"];
    let of = |flags: &[&str]| extract(place, &[&pin[..], flags].concat());
    let notice = format!("note: {CUT_NOTICE}\n");
    for flags in [
        &[][..],
        &["--index", "log.csv"],
        &["--from-frame", "30"],
        &["--from-byte", "360", "--to-byte", "1MB"],
    ] {
        let (code, bytes, words) = of(flags);
        assert!(
            code == 0 && bytes == lines(EVENT_LINES),
            "{flags:?}: {words}"
        );
        assert_eq!(words.matches(&notice).count(), 1, "{flags:?}: {words}");
    }
    let index = place.read("log.csv");
    assert_eq!(
        index.matches(",whole\n").count(),
        EVENT_LINES.len(),
        "{index}"
    );
    assert_eq!(index.lines().count(), 1 + EVENT_LINES.len(), "{index}");
    let (code, _, words) = of(&["-o", "frames/"]);
    assert!(code == 0 && words.contains("20 frames written"), "{words}");
    assert_eq!(words.matches(&notice).count(), 1, "{words}");
    // It is not said of what ends before.
    let (code, _, words) = of(&["--from-frame", "30", "--to-frame", "40"]);
    assert!(code == 0 && !words.contains("left out"), "{words}");
    let ran = place.run(&["verify", "a", "b"]).expect(0);
    assert_eq!(unwrapped(&ran.stderr).matches(CUT_NOTICE).count(), 1);
    assert!(ran.stdout.contains("\nok: "), "{}", ran.stdout);
}

#[test]
fn a_frame_that_goes_on_behind_a_pin_is_left_out() {
    let place = Place::new();
    pin_in_ring_with_cut_line(&place);
    assert_cut_line_is_left_out(&place);
}

#[test]
fn a_frame_within_which_the_recording_of_a_pin_ends_is_left_out() {
    let place = Place::new();
    recorded::create(&place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&place);
    ring.pin_event_with(&[&lines(EVENT_LINES)[..], CUT_LINE].concat());
    let crashed = MEMBERS.map(|member| std::fs::read(place.path(member)).unwrap());
    ring.end();
    // Of a text, a last line without its newline is whole if its source has ended.
    let pin = ["a", "b", "--pin", "1", "--stream", "log"];
    let (code, bytes, words) = extract(&place, &pin);
    let all = [&lines(EVENT_LINES)[..], CUT_LINE].concat();
    assert!(code == 0 && bytes == all, "{words}");
    for (member, bytes) in MEMBERS.iter().zip(&crashed) {
        std::fs::write(place.path(member), bytes).unwrap();
    }
    assert_cut_line_is_left_out(&place);
}

#[test]
fn a_frame_that_goes_on_is_not_cut_by_a_pin_whose_end_is_to_come() {
    let place = Place::new();
    recorded::create(&place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&place);
    let all = content(ALL_BYTES);
    ring.give(&all[..EVENT.start], &lines(0..EVENT_LINES.start));
    let from_ns = ring.main.now_ns() + 1;
    ring.give(&all[EVENT], &[&lines(EVENT_LINES)[..], CUT_LINE].concat());
    let to_ns = from_ns + 60_000_000_000;
    pinned(&ring.recorder.board(), PinWish::Pin { from_ns, to_ns });
    // A later append tells what is durable.
    ring.give(&all[EVENT.end..EVENT.end + 1000], b"");
    let listed = place.run(&["list", "a", "b"]).expect(0);
    assert!(unwrapped(&listed.stdout).contains("its end is still to come"));
    let (code, bytes, words) = extract(&place, &["a", "b", "--pin", "1", "--stream", "log"]);
    assert!(code == 0 && bytes == lines(EVENT_LINES), "{words}");
    assert!(!words.contains("left out"), "{words}");
    let ran = place.run(&["verify", "a", "b"]).expect(0);
    assert!(!ran.stderr.contains("left out"), "{}", ran.stderr);
    ring.end();
}

#[test]
fn every_range_of_what_a_pin_keeps_can_be_asked_for() {
    let place = ring_with_pin();
    let all = content(ALL_BYTES);
    let pin = ["a", "b", "--pin", "1", "--recording", "1"];
    let of = |flags: &[&str]| extract(&place, &[&pin[..], flags].concat());
    let main = ["--stream", "main"];
    let range = ["--from-byte", "250000", "--to-byte", "400001"];
    let (code, bytes, words) = of(&[&main[..], &range].concat());
    assert!(code == 0 && bytes == all[250_000..400_001], "{words}");
    let (code, bytes, words) = of(&["--stream", "log", "--from-frame", "35", "--to-frame", "37"]);
    assert!(code == 0 && bytes == lines(35..37), "{words}");
    // Of what came just before and behind, the same slots have some, too.
    let slots = ["--from-byte", "0", "--holes", "skip"];
    let (code, bytes, words) = of(&[&main[..], &slots].concat());
    let event = &all[EVENT];
    assert!(
        bytes.windows(event.len()).any(|window| window == event),
        "{words}"
    );
    assert_eq!(code, 0, "{words}");
    let around = ["--around", "door", "--before", "1ms", "--after", "1h"];
    let (code, bytes, words) = of(&[&main[..], &around].concat());
    assert!(code == 0 && bytes.starts_with(event), "{words}");
    let told = document(
        &place,
        0,
        &[
            "extract", "a", "b", "--pin", "1", "--stream", "main", "-o", "main.bin",
        ],
    );
    assert_eq!((&told["pin"], &told["recording"]), (&1.into(), &1.into()));
    assert_eq!(told["from_byte"], EVENT.start);
    assert_eq!(told["to_byte"], EVENT.end);
    assert_eq!(told["lost"], serde_json::json!([]));
}

#[test]
fn a_pin_or_a_stream_that_is_not_there_is_told_with_those_that_are() {
    let place = ring_with_pin();
    let refusals = place.refusals(
        &["extract", "a", "b"],
        &[
            &["--pin", "7"],
            &["--pin", "1"],
            &["--pin", "1", "--recording", "2"],
            &["--pin", "1", "--stream", "middle"],
        ],
    );
    insta::assert_snapshot!(refusals, @"
    $ sustain extract a b --pin 7
    sustain: the store has no pin 7: its pins are 1

    $ sustain extract a b --pin 1
    sustain: recording 1 has 2 streams: choose one with --stream: main, log, marks

    $ sustain extract a b --pin 1 --recording 2
    sustain: pin 1 keeps nothing of recording 2, but of 1

    $ sustain extract a b --pin 1 --stream middle
    sustain: recording 1 has no stream middle; it has main, log, marks
    ");
    let gate = [
        "extract", "a", "b", "--pin", "1", "--stream", "main", "--around", "gate",
    ];
    let told = place.refusal(&gate);
    assert!(told.contains("it has 1 (\"door\" at "), "{told}");
    assert!(told.contains("(as far as pin 1 keeps it)"), "{told}");
}

#[test]
fn what_is_durable_of_a_pin_can_be_read_while_it_goes_on() {
    let place = Place::new();
    recorded::create(&place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&place);
    ring.pin_event();
    let in_a_minute_ns = ring.main.now_ns() + 60_000_000_000;
    let from_ns = ring.main.now_ns();
    let wish = PinWish::Pin {
        from_ns,
        to_ns: in_a_minute_ns,
    };
    assert_eq!(pinned(&ring.recorder.board(), wish).number, 2);
    let next = content(EVENT.end + 200_000);
    ring.give(&next[EVENT.end..], b"");
    // That this is durable the appends behind it tell.
    ring.give(&[0; 100_000], b"");
    let (code, bytes, words) = extract(&place, &["a", "b", "--pin", "2", "--stream", "main"]);
    assert!(
        code == 0 && bytes.starts_with(&next[EVENT.end..]),
        "{} {words}",
        bytes.len()
    );
    assert!(words.contains("pin 2 is set for a time until"), "{words}");
    let (code, bytes, words) = extract(&place, &["a", "b", "--pin", "1", "--stream", "main"]);
    assert!(code == 0 && bytes == content(EVENT.end)[EVENT], "{words}");
    ring.end();
}

#[test]
fn verify_checks_what_only_a_pin_keeps_and_names_what_is_damaged_there() {
    let place = ring_with_pin();
    let whole = document(&place, 0, &["verify", "a", "b"]);
    let pin = &whole["pins"][0];
    assert_eq!((&pin["pin"], &pin["whole"]), (&1.into(), &true.into()));
    let kept = &pin["recordings"][0]["streams"][0];
    assert!(
        kept["whole_bytes"].as_u64() >= Some(EVENT.len() as u64),
        "{kept}"
    );
    let half = document(&place, 1, &["verify", "a"]);
    assert_eq!(half["pins"][0]["whole"], false, "{half}");
    let told = place.run(&["verify", "a", "b"]).expect(0).stdout;
    assert!(told.contains("\npin 1: "), "{told}");
    let index = [
        "a", "b", "--pin", "1", "--stream", "log", "--index", "log.csv",
    ];
    assert_eq!(extract(&place, &index).0, 0);
    let index = place.read("log.csv");
    let columns: Vec<&str> = index.lines().nth(1).unwrap().split(',').collect();
    let [member, at] = [columns[5], columns[6]];
    let at: u64 = at.parse().unwrap();
    recorded::damage(&place, member, at / 4096 * 4096);
    let damaged = document(&place, 1, &["verify", "a", "b"]);
    assert_eq!(damaged["pins"][0]["whole"], false);
    let bad = &damaged["bad"][0];
    assert_eq!((&bad["pin"], &bad["stream"]), (&1.into(), &"log".into()));
    assert_eq!(bad["member"], member);
    assert_eq!(damaged["checked_bytes"], whole["checked_bytes"]);
    let told = place.run(&["verify", "a", "b"]).expect(1).stdout;
    let line = "bad: pin 1, recording 1, stream log, bytes ";
    assert!(told.contains(line) && told.contains("not whole"), "{told}");
}

#[test]
fn what_the_ring_still_has_of_a_pin_is_checked_once() {
    let place = Place::new();
    recorded::create(&place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&place);
    ring.pin_event();
    ring.end();
    let checked = document(&place, 0, &["verify", "a", "b"]);
    assert_eq!(checked["pins"][0]["whole"], true);
    assert_eq!(checked["pins"][0]["recordings"], serde_json::json!([]));
    assert!(
        checked["checked_bytes"].as_u64() < Some(4 << 20),
        "{checked}"
    );
    // The pin keeps this, and the ring has it still.
    let index = [
        "a",
        "b",
        "--stream",
        "log",
        "--from-frame",
        "40",
        "--index",
        "log.csv",
    ];
    assert_eq!(extract(&place, &index).0, 0);
    let index = place.read("log.csv");
    let columns: Vec<&str> = index.lines().nth(1).unwrap().split(',').collect();
    let at: u64 = columns[6].parse().unwrap();
    recorded::damage(&place, columns[5], at / 4096 * 4096);
    let damaged = document(&place, 1, &["verify", "a", "b"]);
    assert_eq!(
        (
            &damaged["bad"][0]["pin"],
            damaged["bad"].as_array().unwrap().len()
        ),
        (&1.into(), 1)
    );
    assert_eq!(damaged["pins"][0]["whole"], false);
}

#[test]
fn each_form_of_a_pin_or_a_time_is_taken_or_answered_with_the_right_one() {
    let place = ring_with_pin();
    let main = ["a", "b", "--stream", "main"];
    let since = ["--from", "-5m", "--holes", "skip"];
    let (code, bytes, words) = extract(&place, &[&main[..], &since].concat());
    assert!(code == 0 && !bytes.is_empty(), "{words}");
    let until = ["--to", "-5m", "--holes", "skip"];
    let (_, bytes, words) = extract(&place, &[&main[..], &until].concat());
    assert!(bytes.is_empty() && !words.contains("unexpected"), "{words}");
    let refusals = place.refusals(
        &[],
        &[
            &["unpin", "a", "b"],
            &["unpin", "a", "b", "--pin", "one"],
            &["extract", "a", "b", "--pin", "-1"],
            &["extract", "a", "b", "--recording", "4294967296"],
            &["extract", "a", "b", "--around", "1", "--before", "-5s"],
        ],
    );
    insta::assert_snapshot!(refusals, @r#"
    $ sustain unpin a b
    sustain: which pin is to be freed? Give its number with --pin N: `sustain list` shows the pins of a store

    $ sustain unpin a b --pin one
    error: invalid value 'one' for '--pin <N>': write a whole number from 0 on, such as 3 For more information, try '--help'.

    $ sustain extract a b --pin -1
    error: invalid value '-1' for '--pin <N>': write a whole number from 0 on, such as 3 For more information, try '--help'.

    $ sustain extract a b --recording 4294967296
    error: invalid value '4294967296' for '--recording <N>': it is too large For more information, try '--help'.

    $ sustain extract a b --around 1 --before -5s
    error: invalid value '-5s' for '--before <TIME>': "-5s": a duration cannot be negative, expected for example 30s, 120ms, 80us, 1.5m or 2h For more information, try '--help'.
    "#);
    let freed = place.run(&["unpin", "a", "b", "1"]).expect(0).stdout;
    assert!(freed.starts_with("pin 1 is freed"), "{freed}");
    // What is there is a member, whatever its name.
    std::fs::write(place.path("2"), b"").unwrap();
    place
        .run(&["unpin", "a", "b", "2"])
        .expect(2)
        .says("which pin is to be freed?");
}

#[test]
fn the_number_of_a_freed_pin_is_not_given_again() {
    let place = ring_with_pin();
    place.run(&["unpin", "a", "b", "--pin", "1"]).expect(0);
    // So long that nothing tells any more which slots it has kept.
    for expected in [2, 3] {
        for _ in 0..2 {
            let mut ring = RunningRing::begin(&place);
            ring.give(&content(ALL_BYTES), b"");
            ring.end();
        }
        let mut ring = RunningRing::begin(&place);
        assert_eq!(ring.pin_event().number, expected);
        freed(&ring.recorder.board(), expected);
        ring.end();
    }
}

#[test]
fn what_is_found_of_a_pin_is_told_with_its_times() {
    let place = ring_with_pin();
    let list = document(&place, 0, &["list", "a", "b"]);
    let pin = &list["pins"][0];
    let time = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let [from, to] = ["from", "to"].map(|end| time(&pin["kept"][end]));
    assert!(from <= time(&pin["from"]), "{pin:#}");
    assert!(to >= time(&pin["to"]), "{pin:#}");
    assert_eq!(
        (&pin["absent"], &pin["kept_recordings"]),
        (&false.into(), &serde_json::json!([1]))
    );
    let checked = document(&place, 0, &["verify", "a", "b"]);
    let checked = &checked["pins"][0];
    for key in ["kept", "absent", "kept_recordings"] {
        assert_eq!(checked[key], pin[key], "{key}");
    }
    let line = format!("pin 1: holds data that arrived from {from} to {to}");
    for command in ["list", "verify"] {
        let told = unwrapped(&place.run(&[command, "a", "b"]).expect(0).stdout);
        assert!(told.contains(&line), "{told}");
    }
    // Where no append can be found any more, nothing is there, whatever the superblocks say.
    for member in MEMBERS {
        let mut bytes = std::fs::read(place.path(member)).unwrap();
        let slots = recorded::FIRST_SLOT as usize..bytes.len() - (128 << 10);
        bytes[slots].fill(0);
        std::fs::write(place.path(member), bytes).unwrap();
    }
    let list = document(&place, 0, &["list", "a", "b"]);
    let pin = &list["pins"][0];
    assert_eq!(
        (&pin["kept"], &pin["absent"], &pin["kept_recordings"]),
        (
            &serde_json::Value::Null,
            &true.into(),
            &serde_json::json!([])
        )
    );
    let told = unwrapped(&place.run(&["list", "a", "b"]).expect(0).stdout);
    assert!(told.contains("pin 1: NOTHING of it is found"), "{told}");
}

#[test]
fn a_recording_of_which_only_a_pin_keeps_something_is_told_with_the_pin() {
    let place = ring_with_pin();
    let mut ring = RunningRing::begin(&place);
    ring.give(&content(ALL_BYTES), b"");
    ring.end();
    let list = document(&place, 0, &["list", "a", "b"]);
    let numbers = list["recordings"].as_array().unwrap().iter();
    let numbers: Vec<_> = numbers.map(|one| one["recording"].clone()).collect();
    assert_eq!(numbers, [2], "{list:#}");
    assert_eq!(list["pins"][0]["kept_recordings"], serde_json::json!([1]));
    let told = unwrapped(&place.run(&["list", "a", "b"]).expect(0).stdout);
    let line = "recording 1: the ring has overwritten all of it but what pin 1 keeps: `sustain \
                extract` gives that with --recording 1 --pin 1";
    assert!(told.contains(line), "{told}");
    let refusals = place.refusals(
        &["extract", "a", "b", "--recording", "1"],
        &[&["--stream", "main"], &["--around", "door"]],
    );
    insta::assert_snapshot!(refusals, @"
    $ sustain extract a b --recording 1 --stream main
    sustain: there is no recording 1; the store has 2.
    Pin 1 keeps something of recording 1: --recording 1 --pin 1 gives it

    $ sustain extract a b --recording 1 --around door
    sustain: there is no recording 1; the store has 2.
    Pin 1 keeps something of recording 1: --recording 1 --pin 1 gives it
    ");
    let (code, bytes, words) = extract(
        &place,
        &[
            "a",
            "b",
            "--recording",
            "1",
            "--pin",
            "1",
            "--stream",
            "main",
        ],
    );
    assert!(code == 0 && bytes == content(EVENT.end)[EVENT], "{words}");
}

#[test]
fn who_reads_what_a_ring_has_left_is_told_of_the_pin() {
    let place = ring_with_pin();
    let (code, _, words) = extract(&place, &["a", "b", "--stream", "main"]);
    let note = "note: pin 1 keeps something of recording 1: --recording 1 --pin 1 gives it";
    assert!(code == 0 && words.contains(note), "{words}");
    let (_, _, words) = extract(&place, &["a", "b", "--stream", "main", "--pin", "1"]);
    assert!(!words.contains("keeps something"), "{words}");
}

#[test]
fn recover_leaves_alone_what_a_pin_keeps() {
    let place = Place::new();
    recorded::create(&place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(&place);
    ring.pin_event();
    ring.go_round();
    let crashed = MEMBERS.map(|member| std::fs::read(place.path(member)).unwrap());
    ring.end();
    for (member, bytes) in MEMBERS.iter().zip(&crashed) {
        std::fs::write(place.path(member), bytes).unwrap();
    }
    let pin = ["a", "b", "--pin", "1", "--stream", "main"];
    assert!(extract(&place, &pin).1 == content(EVENT.end)[EVENT]);
    let recovered = document(&place, 0, &["recover", "a", "b"]);
    assert_eq!(recovered["recording"], 1, "{recovered}");
    let (code, bytes, words) = extract(&place, &pin);
    assert!(code == 0 && bytes == content(EVENT.end)[EVENT], "{words}");
    let checked = document(&place, 0, &["verify", "a", "b"]);
    assert_eq!(checked["pins"][0]["whole"], true, "{checked}");
    // Nothing is left to do.
    let again = document(&place, 0, &["recover", "a", "b"]);
    assert_eq!(again["recording"], serde_json::Value::Null, "{again}");
}

/// Makes a store with parity of members of this size.
fn create_with_parity(place: &Place, members: &[&str], size: &str) {
    let parity = ["--parity", "1", "--same-disk", "--no-prewrite"];
    let size = ["--size", size, "--slot", "64KiB"];
    let create = [&["create"], members, &parity, &size].concat();
    place.run(&create).expect(0);
}

#[test]
fn what_a_pin_keeps_is_whole_without_any_one_member() {
    let place = Place::new();
    let members = ["a", "b", "c"];
    create_with_parity(&place, &members, "2MiB");
    let mut ring = RunningRing::begin_on(&place, &members, 32 << 10);
    ring.pin_event();
    ring.go_round();
    ring.end();
    for gone in members {
        let there: Vec<&str> = members.into_iter().filter(|one| *one != gone).collect();
        let (code, bytes, words) = extract(
            &place,
            &[&there[..], &["--pin", "1", "--stream", "main"]].concat(),
        );
        let is_event = bytes == content(ALL_BYTES)[EVENT];
        assert!(code == 0 && is_event, "without {gone}: {words}");
        let checked = document(&place, 1, &[&["verify"], &there[..]].concat());
        // That the member is missing is all there is to say of the pin.
        let mut bad = checked["bad"].as_array().unwrap().iter();
        assert!(
            bad.all(|one| one["pin"].is_null()),
            "without {gone}: {checked}"
        );
        assert_eq!(
            checked["pins"][0]["whole"], true,
            "without {gone}: {checked}"
        );
    }
}

#[test]
fn a_pin_that_is_set_beside_a_member_that_failed_is_whole_without_that() {
    let place = Place::new();
    let members = ["a", "b", "c"];
    create_with_parity(&place, &members, "4MiB");
    let mut ring = RunningRing::begin_on(&place, &members, 32 << 10);
    ring.lose(1);
    ring.pin_event();
    ring.go_round();
    ring.end();
    let (code, bytes, words) = extract(&place, &["a", "c", "--pin", "1", "--stream", "main"]);
    let is_event = bytes == content(ALL_BYTES)[EVENT];
    assert!(code == 0 && is_event, "{words}");
}

/// Puts back what a member was before it was recorded to.
fn put_back(before: &[u8], _: &[u8]) -> Vec<u8> {
    before.to_vec()
}

fn cut_off(_: &[u8], now: &[u8]) -> Vec<u8> {
    now[..1 << 20].to_vec()
}

/// Clears many slots, those that a pin keeps among them.
fn clear_slots(_: &[u8], now: &[u8]) -> Vec<u8> {
    let mut cleared = now.to_vec();
    let slots = FIRST_SLOT as usize + SLOT_BYTES as usize..now.len() / 4 * 3;
    cleared[slots].fill(0);
    cleared
}

#[test]
fn what_a_pin_keeps_is_whole_where_a_member_that_is_given_lacks_it() {
    let place = Place::new();
    let members = ["a", "b", "c"];
    create_with_parity(&place, &members, "2MiB");
    recorded::record_main(&place, &members, &content(100_000));
    let before = members.map(|name| fs::read(place.path(name)).unwrap());
    let mut ring = RunningRing::begin_on(&place, &members, 32 << 10);
    ring.pin_event();
    ring.go_round();
    ring.end();
    for (member, before) in members.iter().zip(&before) {
        let now = fs::read(place.path(member)).unwrap();
        for damage in [put_back, cut_off, clear_slots] {
            fs::write(place.path(member), damage(before, &now)).unwrap();
            let event = ["a", "b", "c", "--pin", "1", "--stream", "main"];
            let (code, bytes, words) = extract(&place, &event);
            let is_event = bytes == content(ALL_BYTES)[EVENT];
            assert!(code == 0 && is_event, "{member}: {words}");
        }
        fs::write(place.path(member), now).unwrap();
    }
}
