//! Pins of a ring, set and freed by commands while it is recorded, and listed.

use serde_json::{Value, json};

use crate::MIB;
use crate::check::assert_reads_back;
use crate::control::{Commanded, answer_to};
use crate::members::{stream, whole};
use crate::support::{Place, json_of, unwrapped};

/// A ring that comes round about once a second.
const RING: &[&str] = &["--ring", "--from", "test:8MB/s", "--durable", "50ms"];

impl Commanded {
    /// Pins something, and returns the answer.
    #[track_caller]
    pub fn pin(&self, keys: &Value) -> Value {
        let mut request = keys.clone();
        request["command"] = json!("pin");
        let answer = self.ask(&request);
        assert_eq!(answer["ok"], true, "{answer:#}");
        answer["pin"].clone()
    }

    /// Asks for what is refused, and returns the reason.
    #[track_caller]
    fn refusal(&self, request: &Value) -> String {
        let answer = self.ask(request);
        assert_eq!(answer["ok"], false, "{answer:#}");
        answer["error"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn becomes_offered(&mut self, bytes: u64) {
        self.becomes(|status| whole(&stream(status, "main")["settled_bytes"]) >= bytes);
    }
}

#[test]
fn a_pin_is_set_shown_kept_and_freed_by_commands() {
    // A pin of the past needs room for what comes in 2.5 s, which a slow machine has written, too.
    let mut commanded = Commanded::start(&[24 * MIB, 24 * MIB], RING);
    commanded.becomes_offered(2 * MIB);
    let status = commanded.status();
    assert_eq!(status["pins"]["numbers"], json!([]));
    let told = commanded.control(&["status"]).expect(0).stdout;
    assert!(!told.contains("pin"), "{told}");

    let arguments = ["pin", "--from", "-500ms", "--to", "+100ms"];
    let told = commanded.control(&arguments).expect(0).stdout;
    assert!(told.starts_with("pin 1 keeps what "), "{told}");
    let mark = commanded.mark("door opened");
    let pin = commanded.pin(&json!({
        "around": "door opened", "before": "200ms", "after": "0s",
    }));
    assert_eq!(whole(&pin["number"]), 2);
    assert_eq!(pin["to_ns"], mark["time_ns"]);
    assert_eq!(
        pin["asked_from_ns"].as_i64().unwrap(),
        mark["time_ns"].as_i64().unwrap() - 200_000_000
    );
    assert_eq!(
        (&pin["from"], &pin["is_to_come"]),
        (&pin["asked_from"], &json!(false))
    );
    assert_eq!(pin["ring_full_in_s"], json!(null));
    let status = commanded.status();
    assert_eq!(status["pins"]["numbers"], json!([1, 2]));
    let kept_bytes = whole(&status["pins"]["kept_bytes"]);
    let ring_bytes = whole(&status["pins"]["ring_bytes"]);
    assert!(kept_bytes > 0 && kept_bytes < ring_bytes, "{status:#}");
    let told = commanded.control(&["status"]).expect(0).stdout;
    assert!(told.contains("pins 1, 2: keep "), "{told}");

    let told = commanded.control(&["unpin", "2"]).expect(0).stdout;
    assert!(told.starts_with("pin 2 is freed"), "{told}");
    for (number, stretch) in [(3, "-300ms..+100ms"), (4, "-300ms.."), (5, "-300ms")] {
        let told = commanded.control(&["pin", stretch]).expect(0).stdout;
        let line = format!("pin {number} keeps what ");
        assert!(told.starts_with(&line), "{stretch}: {told}");
        let number = number.to_string();
        let told = commanded.control(&["unpin", "--pin", &number]).expect(0);
        assert!(told.stdout.contains("is freed"), "{told:?}");
    }
    assert_eq!(commanded.status()["pins"]["numbers"], json!([1]));
    let at = whole(&stream(&commanded.status(), "main")["offered_bytes"]);
    commanded.becomes_offered(at + 56 * MIB);
    let why = commanded.refusal(&json!({ "command": "unpin", "number": 2 }));
    assert!(why.contains("no pin 2: the pins are 1"), "{why}");
    let (members, result) = commanded.stop(0);
    assert_eq!(result["ended"], "signal");
    members.verify(0);
}

#[test]
fn what_is_wrong_on_the_command_line_is_never_sent() {
    let place = Place::new();
    for (arguments, words) in [
        (&["pin"][..], "say what to keep"),
        (&["pin", "--from", "30s"], "is not a time"),
        (&["pin", "--to", "+3s"], "--from"),
        (
            &["pin", "--from", "-1s", "--around", "1"],
            "cannot be used with",
        ),
        (&["pin", "--from", "-1s", "--after", "1s"], "`around`"),
        (&["pin", "door", "--from", "-1s"], "\"door\" is no stretch"),
        (&["status", "--from", "-1s"], "only pin takes times"),
        (&["unpin"], "required"),
        (&["unpin", "door"], "is not the number of a pin"),
        (&["pin", "door"], "takes a stretch such as -30s..+10s"),
        (&["pin", "..+1s"], "say what to keep"),
        (&["pin", "-1s..1s"], "is not a time: write -30s"),
        (&["pin", "--pin", "1"], "only unpin takes --pin"),
        (&["pin", "--form", "-1s"], "unexpected argument"),
        (&["status", "--jsn"], "there is no flag --jsn"),
        (&["mark", "--txt"], "there is no flag --txt"),
        (&["pin", "--around", "1", "--before", "-1s"], "-1s"),
    ] {
        let told = place
            .run(&[&["control", "nobody listens"], arguments].concat())
            .expect(2)
            .stderr;
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}

#[test]
fn what_cannot_be_pinned_is_refused_with_what_to_do() {
    let mut commanded = Commanded::start(&[8 * MIB], RING);
    commanded.becomes_offered(24 * MIB);
    let pin = |from: &str, to: &str| json!({ "command": "pin", "from": from, "to": to });
    for (request, words) in [
        (pin("-1h", "-30m"), "all of that is gone"),
        (pin("+10s", "+20s"), "is still to come: ask again then"),
        (pin("+20s", "+10s"), "is still to come: ask again then"),
        (pin("-1s", "-2s"), "give a later end"),
        (pin("-1s", "+25h"), "at most a day ahead"),
        (pin("now", "+1s"), "is not a time: write -30s"),
        (pin("-1s", "1s"), "is not a time: write -30s"),
        (json!({ "command": "pin" }), "say what to keep"),
        (
            json!({ "command": "pin", "around": "gate" }),
            "no mark was set",
        ),
        (
            json!({ "command": "unpin", "number": 1 }),
            "no pin 1, nor any other",
        ),
        (
            json!({ "command": "unpin", "number": -1 }),
            "this is not a request",
        ),
        (
            json!({ "command": "pin", "from": "-1s", "till": "+1s" }),
            "`till`",
        ),
    ] {
        let why = commanded.refusal(&request);
        assert!(why.contains(words), "{request}: {why}");
    }
    // What is gone in part is kept from then on, and that is said.
    let gone = commanded.control(&["pin", "--from", "-1h"]);
    let refused = gone.stderr.contains("and it needs");
    assert!(
        refused || gone.stdout.contains("are GONE"),
        "{}{}",
        gone.stdout,
        gone.stderr
    );
    commanded.stop(0);

    let commanded = Commanded::start(&[8 * MIB], &["--from", "test:1MB/s"]);
    assert_eq!(commanded.status()["pins"], json!(null));
    let told = commanded
        .control(&["pin", "--from", "-1s"])
        .expect(1)
        .stderr;
    assert!(
        told.contains("overwrites nothing") && told.contains("--ring"),
        "{told}"
    );
    commanded.stop(0);
}

#[test]
fn a_ring_that_pins_keep_ends_full_and_is_freed_while_nobody_records() {
    let mut commanded = Commanded::start(&[8 * MIB, 8 * MIB], RING);
    commanded.becomes_offered(MIB);
    let pin = commanded.pin(&json!({ "from": "-50ms", "to": "+1h" }));
    assert_eq!(pin["is_to_come"], true);
    // What it keeps cannot fit, and that is said at once.
    let full_in_s = pin["ring_full_in_s"].as_f64().unwrap();
    assert!(full_in_s < 3600.0, "{pin:#}");
    // Nobody records to the store but this recorder, and it frees its pins itself.
    let told = commanded
        .members
        .run("unpin", &["--pin", "1"])
        .expect(2)
        .stderr;
    assert!(told.contains("`sustain control SOCKET unpin 1`"), "{told}");
    let (members, result) = commanded.finish(1);
    assert_eq!(result["ended"], "full");
    let notes = result["notes"].to_string();
    assert!(notes.contains("pin 1 keeps all of the ring"), "{notes}");
    assert_reads_back(&members, &result, "main");
    if whole(&stream(&result, "main")["gap_bytes"]) > 0 {
        let extracted = members.run("extract", &["--stream", "main", "-o", "main.raw"]);
        let told = extracted.says("never recorded, because pins kept all of the ring");
        let other = "they could not be written";
        assert!(!told.stderr.contains(other), "{}", told.stderr);
    }

    let listed = members.list();
    let pins = listed["pins"].as_array().unwrap();
    assert_eq!(pins.len(), 1);
    assert_eq!(
        (&pins[0]["number"], &pins[0]["open"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(pins[0]["recordings"], json!([1]));
    assert_eq!(pins[0]["to"], pin["to"]);
    let text = unwrapped(&members.run("list", &[]).expect(0).stdout);
    assert!(text.contains("pin 1 from 20"), "{text}");
    assert!(text.contains("with data of recording 1"), "{text}");
    let ring = [RING, &["--time", "1s", "--json", "json"]].concat();
    let told = members.run("record", &ring).expect(2).stderr;
    let words = "`sustain unpin MEMBER... --pin N` (its pins are 1)";
    assert!(told.contains(words), "{told}");

    let told = members.run("unpin", &["--pin", "7"]).expect(2).stderr;
    assert!(told.contains("no pin 7: its pins are 1"), "{told}");
    let only = members
        .place
        .run(&["unpin", &members.names[0], "--pin", "1"]);
    let told = only.expect(2).stderr;
    assert!(told.contains("all of its 2 members"), "{told}");
    let ran = members
        .run("unpin", &["--pin", "1", "--json", "-"])
        .expect(0);
    let freed = json_of(&ran.stdout);
    assert_eq!(freed["pin"], pins[0]);
    assert_eq!(freed["freed_bytes"], pins[0]["kept_bytes"]);
    assert_eq!(members.list()["pins"], json!([]));
    members.verify(0);
    assert_reads_back(&members, &result, "main");
    let ran = members.run("record", &ring);
    ran.expect(0);
    assert_eq!(json_of(&members.place.read("json"))["ended"], "time");
    members.verify(0);
}

#[test]
fn a_ring_that_drops_goes_on_when_a_pin_is_freed() {
    let flags = [RING, &["--on-full", "drop"]].concat();
    let mut commanded = Commanded::start(&[12 * MIB], &flags);
    commanded.becomes_offered(MIB);
    commanded.pin(&json!({ "from": "-50ms", "to": "+1h" }));
    commanded.becomes(|status| whole(&stream(status, "main")["gap_bytes"]) > MIB);
    let status = commanded.status();
    assert_eq!(status["pins"]["leave_nothing"], true);
    assert_eq!(status["limited_by"], "pins");
    let told = commanded.control(&["status"]).expect(0).stdout;
    assert!(told.contains("NOTHING IS LEFT"), "{told}");
    let why = commanded.refusal(&json!({ "command": "split" }));
    assert!(why.contains("the members have 0 free slots left"), "{why}");
    commanded.mark("in the gap");
    commanded.control(&["unpin", "1"]).expect(0);
    let at = whole(&stream(&commanded.status(), "main")["offered_bytes"]);
    commanded.becomes_offered(at + 16 * MIB);
    let gap_bytes = whole(&stream(&commanded.status(), "main")["gap_bytes"]);
    assert_eq!(commanded.status()["pins"]["leave_nothing"], false);
    let (members, result) = commanded.stop(1);
    assert_eq!(result["ended"], "signal");
    assert!(whole(&stream(&result, "main")["gap_bytes"]) >= gap_bytes);
    assert_eq!(result["marks"]["gap_bytes"], 0);
    members.verify(0);
}

#[test]
fn a_ring_that_drops_ends_in_order_while_pins_keep_all() {
    let flags = [RING, &["--on-full", "drop"]].concat();
    let mut commanded = Commanded::start(&[8 * MIB], &flags);
    commanded.becomes_offered(MIB);
    commanded.pin(&json!({ "from": "-50ms", "to": "+1h" }));
    commanded.becomes(|status| whole(&stream(status, "main")["gap_bytes"]) > MIB);
    let (members, result) = commanded.stop(1);
    assert_eq!(result["ended"], "signal");
    let notes = result["notes"].to_string();
    assert!(notes.contains("pin 1 keeps all of the ring"), "{notes}");
    assert_reads_back(&members, &result, "main");
    members.verify(0);
}

#[test]
fn a_pin_whose_end_lies_ahead_outlives_a_kill_and_is_closed_by_who_records_next() {
    let mut commanded = Commanded::start(&[16 * MIB, 16 * MIB], RING);
    commanded.becomes_offered(2 * MIB);
    commanded.pin(&json!({ "from": "-100ms", "to": "+1h" }));
    commanded.pin(&json!({ "from": "-200ms" }));
    commanded.becomes_offered(4 * MIB);
    let Commanded { members, running } = commanded;
    running.kill();
    let pins = members.list()["pins"].clone();
    assert_eq!(pins.as_array().unwrap().len(), 2);
    assert_eq!(
        (&pins[0]["open"], &pins[0]["recordings"]),
        (&json!(true), &json!([1]))
    );
    members.verify(0);
    let ring = [RING, &["--time", "3s", "--json", "json"]].concat();
    members.run("record", &ring).expect(0);
    let pins = members.list()["pins"].clone();
    assert_eq!(
        (&pins[0]["open"], &pins[1]["open"]),
        (&json!(false), &json!(false))
    );
    // The ring has gone round since, and had 24 MB for it.
    assert_eq!(pins[0]["recordings"], json!([1]));
    members.verify(0);
    members.run("unpin", &["--pin", "1"]).expect(0);
    members.run("unpin", &["--pin", "2"]).expect(0);
    assert_eq!(members.list()["pins"], json!([]));
    members.verify(0);
}

#[test]
fn a_pin_goes_on_over_splits_and_a_pause() {
    let mut commanded = Commanded::start(&[48 * MIB], RING);
    commanded.becomes_offered(MIB);
    commanded.pin(&json!({ "from": "-50ms", "to": "+1h" }));
    for recording in 2..=3 {
        let answer = commanded.ask(&json!({ "command": "split" }));
        assert_eq!(answer["split"]["recording"], recording, "{answer:#}");
        assert_eq!(commanded.status()["pins"]["numbers"], json!([1]));
        commanded.becomes_offered(MIB);
    }
    commanded.control(&["pause"]).expect(0);
    let mark = commanded.mark("in the pause");
    let pin = commanded.pin(&json!({ "around": "1", "before": "100ms", "after": "0s" }));
    assert_eq!(pin["to_ns"], mark["time_ns"]);
    let listed = commanded.members.list();
    assert_eq!(listed["pins"][0]["recordings"], json!([1, 2, 3]));
    assert_eq!(listed["pins"][0]["open"], true);
    commanded.control(&["resume"]).expect(0);
    let (members, result) = commanded.stop(0);
    assert_eq!(whole(&result["recording"]), 3);
    let pins = members.list()["pins"].clone();
    assert_eq!(
        (&pins[0]["open"], &pins[1]["open"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(pins[0]["recordings"], json!([1, 2, 3]));
    members.verify(0);
}

#[test]
fn pins_of_several_clients_at_once_have_numbers_of_their_own() {
    let mut commanded = Commanded::start(&[24 * MIB, 24 * MIB], RING);
    commanded.becomes_offered(4 * MIB);
    let clients = 4;
    let numbers: Vec<u64> = std::thread::scope(|scope| {
        let pinning = || {
            let socket = commanded.client();
            move || {
                let ask = |request: &Value| answer_to(&socket, request);
                let numbers = (0..3).map(|_| {
                    let pin = ask(&json!({ "command": "pin", "from": "-100ms", "to": "+50ms" }));
                    assert_eq!(pin["ok"], true, "{pin:#}");
                    let number = whole(&pin["pin"]["number"]);
                    // Whoever asks has it on the board.
                    let status = ask(&json!({ "command": "status" }));
                    let numbers = status["status"]["pins"]["numbers"]
                        .as_array()
                        .unwrap()
                        .clone();
                    assert!(numbers.contains(&json!(number)), "{number}: {numbers:?}");
                    number
                });
                numbers.collect::<Vec<u64>>()
            }
        };
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(pinning())).collect();
        let numbers = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap());
        numbers.collect()
    });
    let mut sorted = numbers;
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=12).collect::<Vec<u64>>());
    let (members, _) = commanded.stop(0);
    members.verify(0);
}

#[test]
fn a_client_that_goes_before_its_answer_leaves_its_pin_and_nobody_waits() {
    use std::io::Write;

    let mut commanded = Commanded::start(&[48 * MIB], RING);
    commanded.becomes_offered(2 * MIB);
    let line = b"{\"command\":\"pin\",\"from\":\"-200ms\"}\n";
    commanded.client().write_all(line).unwrap();
    commanded.becomes(|status| status["pins"]["numbers"] == json!([1]));
    let json = commanded
        .control(&["unpin", "1", "--json"])
        .expect(0)
        .stdout;
    assert_eq!(
        json_of(&json),
        json!({ "schema": "sustain.control/1", "ok": true, "unpinned": 1 })
    );
    commanded.stop(0);
}

#[test]
fn marks_are_found_where_the_ring_passes_over_what_a_pin_keeps() {
    let flags = ["--ring", "--from", "test:4MB/s", "--durable", "50ms"];
    let mut commanded = Commanded::start(&[24 * MIB], &flags);
    commanded.becomes_offered(2 * MIB);
    commanded.mark("pinned");
    commanded.pin(&json!({ "around": "pinned", "before": "500ms", "after": "0s" }));
    for number in 2..=24 {
        let text = format!("k{number}");
        let mark = commanded.mark(&text);
        commanded.becomes(|status| whole(&status["marks"]["settled"]) >= number);
        let at = whole(&stream(&commanded.status(), "main")["offered_bytes"]);
        // While it is looked for, the ring may go over a mark: then it is overwritten at the next
        // look. And that it was durable is told by an append behind it, which a slow disk has late.
        let mut looks = (0..100).map(|_| commanded.members.list());
        let found = |listed: &Value| {
            let recording = &listed["recordings"][0];
            let last = recording["marks"].as_array().unwrap().last();
            let is_told = last.is_none_or(|last| last["number"] == mark["number"]);
            recording["marks_not_found"] == 0 && is_told
        };
        let listed = looks.find(found);
        let listed = listed.unwrap_or_else(|| panic!("{number}: {:#}", commanded.members.list()));
        let recording = &listed["recordings"][0];
        let listed = recording["marks"].as_array().unwrap();
        if listed.is_empty() {
            // The disk was so slow that the ring has come round meanwhile.
            let now = commanded.members.list();
            let main = stream(&now["recordings"][0], "main");
            let is_overwritten = whole(&main["readable_from_byte"]) + MIB
                > whole(&mark["streams"][0]["offset_bytes"]);
            assert!(is_overwritten, "{number}: {recording:#} {now:#}");
        }
        commanded.becomes_offered(at + MIB);
    }
    // On a busy disk a look lasts so long that the ring comes round behind it.
    commanded.mark("last");
    commanded.becomes(|status| whole(&status["marks"]["settled"]) >= 25);
    let (members, _) = commanded.stop(0);
    let listed = members.list();
    let recording = &listed["recordings"][0];
    assert_eq!(recording["marks_not_found"], 0, "{recording:#}");
    let around = ["--before", "200ms", "--after", "0s", "-o", "out"];
    let around = |more: &[&str]| members.run("extract", &[more, &around].concat());
    around(&["--around", "last"]).expect(0);

    // What only the pin keeps is read with it, and that is said.
    let words = "Pin 1 keeps something of recording 1: --recording 1 --pin 1 gives it";
    for wanted in ["pinned", "1"] {
        around(&["--around", wanted]).expect(2).says(words);
    }
    let text = unwrapped(&members.run("list", &[]).expect(0).stdout);
    let words = "`sustain extract --recording 1 --pin N --stream marks` gives those";
    assert!(text.contains(words), "{text}");
    std::fs::remove_file(members.place.path("out")).unwrap();
    around(&["--around", "pinned", "--pin", "1"]).expect(0);
}
