//! What cannot be recorded, or not there: refused in words, and nothing is harmed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::MIB;
use crate::endings::make_fifo;
use crate::members::{Made, Members, SMALL, whole};
use crate::running::{PATIENCE, Running, run};
use crate::support::{Place, Ran};

/// Fails unless it is refused with these words and the members stay as they were.
#[track_caller]
fn assert_refused(members: &Members, flags: &[&str], words: &[&str]) {
    let bytes = || -> Vec<Vec<u8>> {
        members
            .images
            .iter()
            .map(|image| std::fs::read(image).unwrap())
            .collect()
    };
    let before = bytes();
    let mut ran: Ran = members.run("record", &[SMALL, flags].concat()).expect(2);
    for word in words {
        ran = ran.says(word);
    }
    assert!(bytes() == before, "bytes changed: {ran:#?}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn sources_that_are_none_are_refused_before_anything_is_written() {
    let members = Members::files(&[2 * MIB]);
    std::fs::create_dir(members.place.path("directory")).unwrap();
    let refusals: &[&[&str]] = &[
        &["--from", "missing"],
        &["--from", "directory"],
        &["--from", "member0"],
        &[
            "--from", "-", "--stream", "a", "--from", "-", "--stream", "b",
        ],
        &["--from", "test:1MB/s", "--from", "test:1MB/s"],
        &["--from", "test:1MB/s", "--stream", "a", "--stream", "b"],
        &["--from", "test:1MB/s", "--stream", ""],
        &[
            "--from",
            "test:1MB/s",
            "--stream",
            "a",
            "--from",
            "test:1MB/s",
            "--stream",
            "a",
        ],
        &["--frames", "mpeg"],
        &["--frames", "lines", "--frames", "jpeg"],
        &["--from", "test:1MB"],
        &["--from", "http://camera"],
        &["--status", "directory"],
        &["--status", "nowhere/status"],
        &["--status", "member0"],
        &["--json", "nowhere/json"],
        &["--json", "member0"],
        &["--status", "/dev/full"],
        &["--depth", "0"],
        &["--depth", "5000"],
        &["--durable", "0s"],
        &["--dry-run", "--json", "json"],
        &["--dry-run", "--report", "page.html"],
    ];
    let command = [&["record", "member0"], SMALL].concat();
    let before = std::fs::read(&members.images[0]).unwrap();
    insta::assert_snapshot!("record", members.place.refusals(&command, refusals));
    assert!(std::fs::read(&members.images[0]).unwrap() == before);
}

#[test]
fn one_pipe_is_no_two_sources_under_any_name_and_one_file_is() {
    let members = Members::files(&[16 * MIB]);
    make_fifo(&members.place, "fifo");
    make_fifo(&members.place, "other");
    members.place.write("file", "of great value");
    std::os::unix::fs::symlink("fifo", members.place.path("link")).unwrap();
    let two = |first, second| {
        [
            "--from", first, "--stream", "a", "--from", second, "--stream", "b",
        ]
    };
    for second in ["fifo", "./fifo", "link"] {
        let words = format!("fifo and {second} are the same pipe");
        assert_refused(&members, &two("fifo", second), &[&words]);
    }
    // What the tests are fed by is such a pipe, too.
    let (source, _sender) = std::io::pipe().unwrap();
    let flags = [SMALL, &two("-", "/dev/stdin")].concat();
    let mut command = members.command("record", &flags);
    let ran = Running::start(command.stdin(source)).finish().expect(2);
    ran.says("- and /dev/stdin are the same pipe");
    for (first, second) in [("fifo", "other"), ("file", "file")] {
        let flags = [SMALL, &two(first, second), &["--dry-run"]].concat();
        members.run("record", &flags).expect(0);
    }
}

#[test]
fn a_source_of_messages_is_refused_before_a_store_is_made_for_it() {
    let place = Place::new();
    std::fs::create_dir(place.path("store")).unwrap();
    let (source, sender) = std::os::unix::net::UnixDatagram::pair().unwrap();
    sender.send(b"of great value").unwrap();
    let mut command = place.command(&["record", "store", "--size", "4MiB"]);
    let source = std::os::fd::OwnedFd::from(source);
    let ran = Running::start(command.stdin(source)).finish().expect(2);
    ran.says("standard input")
        .says("datagram")
        .says("--frames length-prefixed");
    assert_eq!(std::fs::read_dir(place.path("store")).unwrap().count(), 0);
}

#[test]
fn a_member_is_no_source_of_its_own_store_under_any_name() {
    let Some(members) = Members::store(Made::Loops, &[16 * MIB], "256KiB") else {
        return;
    };
    std::os::unix::fs::symlink(&members.names[0], members.place.path("link")).unwrap();
    for name in [members.names[0].as_str(), "link"] {
        assert_refused(&members, &["--from", name], &[name, "member of the store"]);
    }
}

#[test]
fn members_that_are_none_are_refused() {
    let place = Place::new();
    let record = |members: &[&str]| {
        let source = [
            "--from",
            "test:1MB/s",
            "--time",
            "100ms",
            "--buffer",
            "4MiB",
        ];
        run(&place, &[&["record"], members, &source].concat())
    };
    place.write("foreign", &"of great value".repeat(100_000));
    record(&["foreign"])
        .expect(2)
        .says("foreign")
        .says("it is not a member of a store");
    assert_eq!(place.read("foreign"), "of great value".repeat(100_000));
    record(&["nothing"])
        .expect(2)
        .says("nothing does not exist")
        .says("make the directory first (mkdir nothing)");
    record(&["/dev/null"]).expect(2).says("/dev/null");
    let create = [
        "create",
        "a",
        "b",
        "--size",
        "16MiB",
        "--slot",
        "256KiB",
        "--no-prewrite",
    ];
    run(&place, &create).expect(0);
    let other = ["create", "c", "--size", "16MiB", "--slot", "256KiB"];
    run(&place, &other).expect(0);
    record(&["a"]).expect(2).says("member");
    record(&["a", "b", "c"]).expect(2).says("c");
    std::os::unix::fs::symlink("a", place.path("link")).unwrap();
    std::fs::hard_link(place.path("a"), place.path("hard")).unwrap();
    for twice in ["a", "./a", "link", "hard"] {
        record(&["a", twice, "b"])
            .expect(2)
            .says("are the same thing");
    }
    record(&["b", "a"]).expect(0);
}

#[test]
fn a_buffer_that_cannot_serve_all_streams_is_refused() {
    let members = Members::files(&[16 * MIB]);
    let mut flags = vec!["--time", "100ms"];
    let names: Vec<String> = (0..20).map(|index| format!("stream{index}")).collect();
    for name in &names {
        flags.extend(["--from", "test:1kB/s", "--stream", name]);
    }
    assert_refused(&members, &flags, &["--buffer must be at least 5376 KiB"]);
    let enough = [&["--buffer", "5505024B"], &flags[..]].concat();
    members.run("record", &enough).expect(0);
    members.verify(0);
}

#[test]
fn a_rehearsal_writes_nothing() {
    let members = Members::files(&[16 * MIB]);
    members.place.write("status", "");
    let before = std::fs::read(&members.images[0]).unwrap();
    let flags = [
        "--from",
        "test:1MB/s",
        "--time",
        "100ms",
        "--dry-run",
        "--status",
        "status",
    ];
    let words = "would record test:1MB/s as stream main on member0";
    members
        .run("record", &[SMALL, &flags].concat())
        .expect(0)
        .says(words);
    assert!(std::fs::read(&members.images[0]).unwrap() == before);
    assert_eq!(members.place.names(), ["member0", "status"]);
}

#[test]
fn a_status_that_nobody_reads_any_more_costs_nothing() {
    let members = Members::files(&[16 * MIB]);
    make_fifo(&members.place, "fifo");
    let path = members.place.path("fifo");
    let (sender, read) = std::sync::mpsc::channel();
    // It waits for a writer, for ever if there is none.
    std::thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(std::fs::File::open(path).unwrap())
            .read_line(&mut line)
            .unwrap();
        let _ = sender.send(line);
    });
    let flags = [
        "--from",
        "test:1MB/s",
        "--time",
        "1s",
        "--durable",
        "50ms",
        "--status",
        "fifo",
    ];
    let result = members.record(0, &flags);
    let line = read.recv_timeout(PATIENCE).unwrap();
    assert!(line.contains("sustain.status/1"), "{line}");
    assert_eq!(whole(&result["streams"][0]["gap_bytes"]), 0);
    members.verify(0);
}

#[test]
fn output_that_nobody_reads_costs_nothing() {
    let members = Members::files(&[16 * MIB]);
    let flags = ["--from", "test:1MB/s", "--time", "300ms"];
    let mut command = members.command("record", &[SMALL, &flags].concat());
    // A reader that has gone away.
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    drop(child.stderr.take());
    Running::of(child).finish().expect(0);
    let listed = members.list();
    assert_eq!(listed["recordings"][0]["ended"], "time");
    members.verify(0);
}
