//! How recordings end: signals, sources that are silent, pipes that nobody reads, other commands on
//! the store meanwhile.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use serde_json::Value;

use crate::MIB;
use crate::check::{assert_accounts, assert_reads_back, extract};
use crate::members::{Members, SMALL, stream, whole};
use crate::running::{PATIENCE, Running, run};
use crate::support::{Place, json_of, number};

/// Whether a status file has a line.
fn has_status(members: &Members) -> bool {
    std::fs::metadata(members.place.path("status")).is_ok_and(|file| file.len() > 0)
}

pub fn make_fifo(place: &Place, name: &str) {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, place.path(name), FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn either_signal_ends_a_recording_in_order() {
    std::thread::scope(|scope| {
        for signal in [Signal::INT, Signal::TERM] {
            scope.spawn(move || assert_ends_by(signal));
        }
    });
}

#[track_caller]
fn assert_ends_by(signal: Signal) {
    let members = Members::files(&[32 * MIB, 32 * MIB]);
    let flags = ["--from", "test:3MB/s", "--status", "status", "--json", "-"];
    let mut running = members.start("record", &[SMALL, &flags].concat());
    assert!(running.becomes(|| has_status(&members)));
    running.signal(signal);
    let result = json_of(&running.finish().expect(0).stdout);
    assert_eq!(result["ended"], "signal");
    assert_accounts(&result);
    assert_reads_back(&members, &result, "main");
    let listed = members.list();
    assert_eq!(listed["recordings"][0]["ended"], "signal", "{listed:#}");
    members.verify(0);
}

#[test]
fn a_user_signal_asks_for_a_status_line_and_ends_nothing() {
    let members = Members::files(&[32 * MIB, 32 * MIB]);
    let flags = ["--from", "test:3MB/s", "--status", "status", "--json", "-"];
    let told = members.place.path("told");
    let mut command = members.command("record", &[SMALL, &flags].concat());
    let mut running = Running::start(command.stderr(std::fs::File::create(&told).unwrap()));
    assert!(running.becomes(|| has_status(&members)));
    // Unasked, the first line comes after a second and the next one ten seconds later.
    for asked in 1..=4 {
        running.signal(Signal::USR1);
        let is_answered = || {
            let text = std::fs::read_to_string(&told).unwrap();
            text.matches("  nothing lost  ").count() >= asked
        };
        assert!(running.becomes(is_answered));
    }
    assert_eq!(members.list()["recordings"][0]["running"], true);
    running.signal(Signal::INT);
    let result = json_of(&running.finish().expect(0).stdout);
    assert_eq!(result["ended"], "signal");
    assert_eq!(members.list()["recordings"][0]["running"], false);
    members.verify(0);
}

#[test]
fn a_signal_before_the_first_byte_ends_it_too() {
    let members = Members::files(&[32 * MIB]);
    let flags = ["--from", "test:3MB/s", "--json", "-", "--time", "30s"];
    let mut running = members.start("record", &[SMALL, &flags].concat());
    let catches_signals = running.signals_caught();
    assert!(running.becomes(catches_signals));
    running.signal(Signal::INT);
    let result = json_of(&running.finish().expect(0).stdout);
    assert_eq!(result["ended"], "signal");
    members.verify(0);
}

#[test]
fn a_silent_source_is_ended_by_time_and_by_a_signal() {
    std::thread::scope(|scope| {
        for source in ["-", "fifo"] {
            for ended in ["time", "signal"] {
                scope.spawn(move || assert_ends_silent(source, ended));
            }
        }
    });
}

#[track_caller]
fn assert_ends_silent(source: &str, ended: &str) {
    let members = Members::files(&[32 * MIB]);
    make_fifo(&members.place, "fifo");
    let mut flags = vec!["--from", source, "--json", "-", "--status", "status"];
    if ended == "time" {
        flags.extend(["--time", "300ms"]);
    }
    let mut command = members.command("record", &[SMALL, &flags].concat());
    let mut running = Running::start(command.stdin(Stdio::piped()));
    // Open, and silent.
    let _stdin = running.stdin.take();
    if ended == "signal" {
        assert!(running.becomes(|| has_status(&members)));
        running.signal(Signal::INT);
    }
    let result = json_of(&running.finish().expect(0).stdout);
    assert_eq!(result["ended"], ended, "{source}");
    assert_eq!(whole(&stream(&result, "main")["offered_bytes"]), 0);
    members.verify(0);
}

#[test]
fn what_came_before_a_silent_time_is_durable_meanwhile() {
    let members = Members::files(&[32 * MIB, 32 * MIB]);
    let flags = ["--status", "status", "--json", "-", "--durable", "100ms"];
    let mut command = members.command("record", &[SMALL, &flags].concat());
    let mut running = Running::start(command.stdin(Stdio::piped()));
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(b"of great value").unwrap();
    let is_durable = || {
        let text = std::fs::read_to_string(members.place.path("status")).unwrap_or_default();
        let lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let last = lines.lines().last().map(json_of);
        last.is_some_and(|line| whole(&stream(&line, "main")["durable_bytes"]) == 14)
    };
    assert!(running.becomes(is_durable));
    // It can be read while it is being recorded.
    let listed = members.list();
    assert_eq!(listed["recordings"][0]["ended"], serde_json::Value::Null);
    assert_eq!(extract(&members, 1, "main").bytes, b"of great value");
    drop(stdin);
    running.finish().expect(0);
    assert_eq!(extract(&members, 1, "main").bytes, b"of great value");
}

#[test]
fn the_idle_machine_is_watched_before_a_source_that_is_silent() {
    let members = Members::files(&[32 * MIB]);
    let mut command = members.command(
        "record",
        &[SMALL, &["--time", "100ms", "--json", "-"]].concat(),
    );
    let mut running = Running::start(command.stdin(Stdio::piped()));
    // Open, and silent: nothing is lost while others on the members' disks are looked for.
    let _stdin = running.stdin.take();
    let result = json_of(&running.finish().expect(0).stdout);
    let samples = result["system"]["samples"].as_array().unwrap();
    let is_before = |sample: &Value| number(&sample["time_s"]) <= 0.0;
    assert!(samples.iter().any(is_before), "{:#}", result["system"]);
}

#[test]
fn a_source_that_cannot_wait_is_read_before_the_machine_is_watched() {
    for on_full in ["drop", "block"] {
        let members = Members::files(&[32 * MIB]);
        let (source, mut sender) = std::io::pipe().unwrap();
        sender.write_all(b"sent already").unwrap();
        drop(sender);
        let flags = ["--on-full", on_full, "--json", "-"];
        let mut command = members.command("record", &[SMALL, &flags].concat());
        let ran = Running::start(command.stdin(source)).finish().expect(0);
        let result = json_of(&ran.stdout);
        assert_eq!(whole(&stream(&result, "main")["recorded_bytes"]), 12);
        let samples = result["system"]["samples"].as_array().unwrap();
        let is_before = |sample: &Value| number(&sample["time_s"]) <= 0.0;
        assert!(!samples.iter().any(is_before), "{on_full}");
    }
}

#[test]
fn a_store_may_be_read_while_it_is_recorded_to_and_not_recorded_to_twice() {
    let members = Members::files(&[64 * MIB, 64 * MIB]);
    let flags = [
        "--from",
        // The store lasts for minutes, however long a busy machine takes for all that follows.
        "test:500kB/s",
        "--status",
        "status",
        "--json",
        "json",
    ];
    let mut running = members.start("record", &[SMALL, &flags].concat());
    assert!(running.becomes(|| has_status(&members)));
    let second = ["--from", "test:1MB/s", "--time", "100ms"];
    let refused = members.run("record", &[SMALL, &second].concat()).expect(2);
    assert!(refused.stderr.contains(&members.names[0]), "{refused:#?}");
    let force = [
        "--destroy",
        &members.names[0],
        "--destroy",
        &members.names[1],
    ];
    members.run("create", &force).expect(2);
    members.run("recover", &[]).expect(2);
    for _ in 0..3 {
        let text = members.place.read("status");
        let lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let durable = lines.lines().last().map(json_of);
        let durable = durable.map_or(0, |line| whole(&stream(&line, "main")["durable_bytes"]));
        members.list();
        if durable > 0 {
            let extracted = extract(&members, 1, "main");
            extracted.assert_made_for("main");
            extracted.assert_there_below(durable, &[]);
        }
        let verified = members.run("verify", &["--json", "-"]);
        assert!([0, 1].contains(&verified.code), "{verified:#?}");
        for bad in json_of(&verified.stdout)["bad"].as_array().unwrap() {
            assert!(
                whole(&bad["from_byte"]) >= durable,
                "{bad:#}, {durable} durable bytes"
            );
        }
    }
    running.signal(Signal::INT);
    running.finish().expect(0);
    let result = json_of(&members.place.read("json"));
    assert_accounts(&result);
    assert_reads_back(&members, &result, "main");
    members.verify(0);
}

#[test]
fn a_second_signal_ends_it_at_once_when_nobody_reads_what_it_says() {
    let members = Members::files(&[64 * MIB]);
    let flags = ["--from", "test:1MB/s", "--status", "-", "--durable", "10ms"];
    let mut command = members.command("record", &[SMALL, &flags].concat());
    let mut child = command.spawn().unwrap();
    // Nobody reads on, so it can tell nothing any more, not even its result.
    let mut stderr = child.stderr.take().unwrap();
    let mut running = Running::of(child);
    let mut first = [0];
    let (sender, told) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let read = stderr.read_exact(&mut first);
        let _ = sender.send(());
        read.map(|()| stderr)
    });
    told.recv_timeout(PATIENCE).unwrap();
    let _stderr = reading.join().unwrap().unwrap();
    // The pipe is full once a hundred lines a second have filled it.
    let is_stuck = running.ends_within(std::time::Duration::from_secs(3));
    assert!(!is_stuck);
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.finish().expect(130);
}

#[test]
fn a_ring_is_read_while_it_is_recorded_to() {
    let members = Members::files(&[24 * MIB, 24 * MIB]);
    // It goes on until it is told to end, however long reading takes.
    let flags = ["--ring", "--from", "test:35MB/s"];
    let mut running = members.start("record", &[SMALL, &flags].concat());
    let is_over = |listed: Value| {
        let stream = &listed["recordings"][0]["streams"][0];
        stream["readable_from_byte"].as_u64() > Some(0)
    };
    assert!(running.becomes(|| is_over(members.list())));
    for round in 0..5 {
        // What the recorder writes over meanwhile is no damage.
        let verified = members.verify(0);
        assert_eq!(verified["recordings"][0]["open_end"], true);
        let output = format!("out{round}");
        let given = members.run("extract", &["-o", &output]);
        // Who reads more slowly than it is recorded is told of it.
        if given.code != 0 {
            given.expect(1).says("the ring has overwritten");
        }
    }
    running.signal(Signal::INT);
    running.finish().expect(0);
    members.verify(0);
}

#[test]
fn several_pipes_are_recorded_at_once() {
    let members = Members::files(&[64 * MIB, 32 * MIB]);
    let names = ["one", "two", "three"];
    let mut flags = vec!["--json", "-", "--status", "status"];
    for name in names {
        make_fifo(&members.place, name);
        flags.extend(["--from", name, "--stream", name]);
    }
    let mut running = members.start("record", &[SMALL, &flags].concat());
    assert!(running.becomes(|| has_status(&members)));
    let content = |index: usize| -> Vec<u8> {
        let count = 1_000_000 * index + 1;
        (0..count)
            .map(|at| ((at * (index + 7)) >> 3) as u8)
            .collect()
    };
    for (index, name) in names.iter().enumerate() {
        let path = members.place.path(name);
        // Nobody waits for it: what it could not write is missing afterwards.
        std::thread::spawn(move || std::fs::write(path, content(index)));
    }
    let result = json_of(&running.finish().expect(0).stdout);
    assert_eq!(result["ended"], "source");
    for (index, name) in names.iter().enumerate() {
        assert!(extract(&members, 1, name).bytes == content(index), "{name}");
    }
    members.verify(0);
}

#[test]
fn a_recording_that_waits_for_the_reader_of_its_status_says_so() {
    let members = Members::files(&[32 * MIB]);
    make_fifo(&members.place, "pipe");
    let source = ["--from", "test:5MB/s", "--bytes", "1MB", "--status", "pipe"];
    let mut child = members
        .command("record", &[SMALL, &source].concat())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let running = Running::of(child);
    let mut words = String::new();
    while !words.contains("the recording begins when someone does") {
        assert!(said.read_line(&mut words).unwrap() > 0, "{words}");
    }
    assert!(
        words.contains("pipe is a pipe that nobody reads"),
        "{words}"
    );
    let status = members.place.read("pipe");
    said.read_to_string(&mut words).unwrap();
    running.finish().expect(0);
    let last = json_of(status.lines().last().unwrap());
    assert!(whole(&stream(&last, "main")["settled_bytes"]) >= 1_000_000);
}

#[test]
fn a_directory_gets_a_store_and_keeps_it() {
    let place = Place::new();
    for name in ["one", "two"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let source = ["--from", "test:5MB/s", "--bytes", "1MB", "--buffer", "4MiB"];
    let record = |more: &[&str]| {
        let all = [&["record", "one", "two"], &source[..], more].concat();
        run(&place, &all)
    };
    record(&["--size", "32MiB", "--dry-run"]).expect(0);
    assert!(
        !place.path("one/sustain.store").exists(),
        "a rehearsal made something"
    );
    record(&["--size", "32MiB"]).expect(0);
    for name in ["one/sustain.store", "two/sustain.store"] {
        assert_eq!(std::fs::metadata(place.path(name)).unwrap().len(), 32 * MIB);
    }
    record(&["--size", "8GiB"])
        .expect(0)
        .says("the store on one and two exists already: --size is not used");
    let listed = json_of(
        &run(&place, &["list", "one", "two", "--json", "-"])
            .expect(0)
            .stdout,
    );
    assert_eq!(listed["recordings"].as_array().unwrap().len(), 2);
    // Another directory has none: that is no store together with the others.
    std::fs::create_dir(place.path("three")).unwrap();
    let all = [&["record", "one", "two", "three"], &source[..]].concat();
    run(&place, &all).expect(2).says("three");
    assert!(!place.path("three/sustain.store").exists());
}
