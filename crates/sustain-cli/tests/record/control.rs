//! Commands to a recording while it runs: what they change and what they do not, whoever sends
//! them, and whatever a client does instead.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::MIB;
use crate::check::{assert_accounts, assert_reads_back, extract};
use crate::members::{Members, SMALL, stream, whole};
use crate::running::Running;
use crate::support::{Ran, json_of};

pub const SOCKET: &str = "socket";

/// A recording that can be commanded.
pub struct Commanded {
    pub members: Members,
    pub running: Running,
}

impl Commanded {
    pub fn start(sizes_bytes: &[u64], flags: &[&str]) -> Commanded {
        let members = Members::files(sizes_bytes);
        Commanded::start_on(members, flags)
    }

    pub fn start_on(members: Members, flags: &[&str]) -> Commanded {
        let all = [SMALL, &["--control", SOCKET, "--json", "json"], flags].concat();
        let mut command = members.command("record", &all);
        let mut running = Running::start(command.stdin(Stdio::piped()));
        let socket = members.place.path(SOCKET);
        assert!(running.becomes(|| UnixStream::connect(&socket).is_ok()));
        let commanded = Commanded { members, running };
        // Who connects before the recording begins is answered when it has.
        assert_eq!(commanded.ask(&json!({ "command": "status" }))["ok"], true);
        commanded
    }

    pub fn client(&self) -> UnixStream {
        UnixStream::connect(self.members.place.path(SOCKET)).unwrap()
    }

    /// One request on a connection of its own.
    #[track_caller]
    pub fn ask(&self, request: &Value) -> Value {
        answer_to(&self.client(), request)
    }

    #[track_caller]
    pub fn status(&self) -> Value {
        self.ask(&json!({ "command": "status" }))["status"].clone()
    }

    #[track_caller]
    pub fn mark(&self, text: &str) -> Value {
        let answer = self.ask(&json!({ "command": "mark", "text": text }));
        assert_eq!(answer["ok"], true, "{answer:#}");
        answer["mark"].clone()
    }

    pub fn control(&self, arguments: &[&str]) -> Ran {
        self.members
            .place
            .run(&[&["control", SOCKET], arguments].concat())
    }

    /// Waits until a status is as wanted.
    #[track_caller]
    pub fn becomes(&mut self, is_so: impl Fn(&Value) -> bool) {
        let socket = self.members.place.path(SOCKET);
        let look = || {
            let Ok(client) = UnixStream::connect(&socket) else {
                return false;
            };
            is_so(&answer_to(&client, &json!({ "command": "status" }))["status"])
        };
        assert!(self.running.becomes(look), "it ended before");
    }

    /// Ends it by command, and gives its result.
    #[track_caller]
    pub fn stop(self, code: i32) -> (Members, Value) {
        assert_eq!(self.ask(&json!({ "command": "stop" }))["ok"], true);
        self.finish(code)
    }

    #[track_caller]
    pub fn finish(self, code: i32) -> (Members, Value) {
        self.running.finish().expect(code);
        assert!(!self.members.place.path(SOCKET).exists(), "it is gone");
        let result = json_of(&self.members.place.read("json"));
        assert_accounts(&result);
        (self.members, result)
    }
}

/// Sends a request, and reads its answer.
#[track_caller]
pub fn answer_to(mut client: &UnixStream, request: &Value) -> Value {
    client.write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(client).read_line(&mut line).unwrap();
    json_of(&line)
}

/// The marks of the first recording, read as a stream.
#[track_caller]
fn marks_of(members: &Members) -> Value {
    let lines = String::from_utf8(extract(members, 1, "marks").bytes).unwrap();
    lines.lines().map(json_of).collect()
}

fn offered(status: &Value) -> u64 {
    whole(&stream(status, "main")["offered_bytes"])
}

#[test]
fn a_recording_is_asked_marked_and_stopped_by_commands() {
    let mut commanded = Commanded::start(&[32 * MIB, 32 * MIB], &["--from", "test:3MB/s"]);
    let path = commanded.members.place.path(SOCKET);
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let status = commanded.status();
    assert_eq!(status["schema"], "sustain.status/1");
    assert_eq!(status["paused"], false);
    assert_eq!(status["marks"], json!({ "made": 0, "settled": 0 }));
    let names: Vec<&Value> = status["streams"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 1, "marks are no stream of data: {status:#}");

    let first = commanded.mark("door opened");
    assert_eq!(
        (whole(&first["number"]), &first["text"]),
        (1, &json!("door opened"))
    );
    let told = commanded.control(&["mark", "T\u{fc}r zu"]).expect(0).stdout;
    assert!(told.starts_with("mark 2 at 20"), "{told}");
    assert!(told.contains("main at byte"), "{told}");
    let line = commanded.control(&["rate", "--json"]).expect(0).stdout;
    let rate = &json_of(&line)["rate"];
    assert_eq!(rate["streams"][0]["name"], "main");
    assert_eq!(rate["members"].as_array().unwrap().len(), 2);
    // Before that there are no rates to tell.
    commanded.becomes(|status| status["time_s"].as_f64().unwrap() > 1.0);
    let told = commanded.control(&["status"]).expect(0).stdout;
    assert!(
        told.contains("stream main: ") && told.contains("marks: 2 set"),
        "{told}"
    );
    assert!(
        commanded
            .control(&["rate"])
            .expect(0)
            .stdout
            .contains("stream main: in ")
    );

    commanded.control(&["stop"]).expect(0);
    let (members, result) = commanded.finish(0);
    assert_eq!(result["ended"], "signal");
    assert_eq!(result["marks"]["count"], 2);
    assert_eq!(result["streams"].as_array().unwrap().len(), 1);
    assert_reads_back(&members, &result, "main");
    members.verify(0);
    let listed = members.list();
    let recording = &listed["recordings"][0];
    assert_eq!(recording["ended"], "signal");
    assert_eq!(recording["streams"].as_array().unwrap().len(), 1);
    assert_eq!(recording["marks"][0], first);
    assert_eq!(recording["marks"][1]["text"], "T\u{fc}r zu");
    let text = members.run("list", &[]).expect(0).stdout;
    assert!(text.contains("door opened"), "{text}");
    // They are lines for those who know nothing of marks, too.
    assert_eq!(marks_of(&members), recording["marks"]);
}

#[test]
fn several_clients_are_served_and_none_holds_another_up() {
    let commanded = Commanded::start(&[64 * MIB], &["--from", "test:1MB/s"]);
    // One never reads, one is silent, one sends half a line, one nonsense.
    let mut greedy = commanded.client();
    greedy.set_nonblocking(true).unwrap();
    while greedy.write_all(b"{\"command\":\"status\"}\n").is_ok() {}
    let _silent = commanded.client();
    let mut half = commanded.client();
    half.write_all(b"{\"command\":").unwrap();
    let mut garbage = commanded.client();
    garbage.write_all(&[0xFF; 5000]).unwrap();
    garbage.write_all(b"\n{\"command\":\"status\"}\n").unwrap();
    let mut megabyte = vec![b'x'; 1 << 20];
    megabyte.push(b'\n');
    let mut sender = garbage.try_clone().unwrap();
    let sending = std::thread::spawn(move || sender.write_all(&megabyte));
    let lines = BufReader::new(&garbage).lines().take(3);
    let answers: Vec<Value> = lines.map(|line| json_of(&line.unwrap())).collect();
    sending.join().unwrap().unwrap();
    let why = answers[0]["error"].as_str().unwrap();
    assert!(why.contains("this is not a request"), "{why}");
    assert_eq!(answers[1]["ok"], true);
    let why = answers[2]["error"].as_str().unwrap();
    assert!(why.contains("65536 bytes or more"), "{why}");

    // Marks of many at once have numbers of their own.
    let numbers: Vec<u64> = std::thread::scope(|scope| {
        let marking = |client: usize| {
            let socket = commanded.client();
            move || {
                let numbers = (0..20).map(|mark| {
                    let text = format!("mark {mark} of client {client}");
                    let answer = answer_to(&socket, &json!({ "command": "mark", "text": text }));
                    whole(&answer["mark"]["number"])
                });
                numbers.collect::<Vec<u64>>()
            }
        };
        let clients: Vec<_> = (0..4).map(|client| scope.spawn(marking(client))).collect();
        let numbers = clients
            .into_iter()
            .flat_map(|client| client.join().unwrap());
        numbers.collect()
    });
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=80).collect::<Vec<u64>>());
    half.write_all(b"\"stop\"}\n").unwrap();
    let (members, result) = commanded.finish(0);
    assert_eq!(result["ended"], "signal");
    assert_eq!(result["marks"]["count"], 80);
    assert_reads_back(&members, &result, "main");
    members.verify(0);
    let listed = members.list();
    assert_eq!(listed["recordings"][0]["marks"], marks_of(&members));
}

#[test]
fn a_pause_holds_a_source_that_may_wait_and_loses_nothing() {
    let mut commanded = Commanded::start(&[64 * MIB], &[]);
    let mut stdin = commanded.running.stdin.take().unwrap();
    let bytes: Vec<u8> = (0..16 * MIB)
        .map(|at| ((at * 2_654_435_761) >> 7) as u8)
        .collect();
    let sent = bytes.clone();
    commanded.control(&["pause"]).expect(0);
    // More than its pipe holds: it waits for the recorder to go on.
    let sending = std::thread::spawn(move || stdin.write_all(&sent));
    // Many looks of the recorder later nothing has come.
    let later_s = commanded.status()["time_s"].as_f64().unwrap() + 1.0;
    commanded.becomes(|status| status["time_s"].as_f64().unwrap() >= later_s);
    let status = commanded.status();
    assert_eq!((offered(&status), &status["paused"]), (0, &json!(true)));
    assert!(!sending.is_finished());
    let told = commanded.control(&["resume"]).expect(0).stdout;
    assert!(told.starts_with("reading from"), "{told}");
    sending.join().unwrap().unwrap();
    let (members, result) = commanded.finish(0);
    assert_eq!(result["ended"], "source");
    assert_eq!(whole(&stream(&result, "main")["gap_bytes"]), 0);
    assert_eq!(extract(&members, 1, "main").bytes, bytes);
    members.verify(0);
}

#[test]
fn a_pause_loses_by_name_what_comes_from_a_source_that_cannot_wait() {
    for (source, framing) in [
        ("test:4MB/s", "none"),
        ("test:4MB/s,frame=10kB..30kB", "lines"),
    ] {
        let flags = ["--from", source, "--frames", framing, "--on-full", "drop"];
        let mut commanded = Commanded::start(&[64 * MIB], &flags);
        commanded.becomes(|status| offered(status) > MIB);
        commanded.control(&["pause"]).expect(0);
        commanded.becomes(|status| whole(&stream(status, "main")["gap_bytes"]) > MIB);
        commanded.control(&["resume"]).expect(0);
        let at = offered(&commanded.status());
        commanded.becomes(|status| offered(status) > at + MIB);
        let (members, result) = commanded.stop(1);
        assert_reads_back(&members, &result, "main");
        let flags = ["--holes", "fill", "--json", "out.json", "-o", "out"];
        members.run("extract", &flags).expect(0);
        let document = json_of(&members.place.read("out.json"));
        let mut lost = document["lost"].as_array().unwrap().iter();
        let is_named = |lost: &Value| lost["why"] == "they came while the recording was paused";
        assert!(lost.any(is_named), "{document:#}");
        members.verify(0);
    }
}

#[test]
fn a_synthetic_source_that_waits_has_nothing_to_make_up_for() {
    let flags = ["--from", "test:2MB/s", "--frames", "none"];
    let mut commanded = Commanded::start(&[64 * MIB], &flags);
    commanded.control(&["pause"]).expect(0);
    let paused_s = commanded.status()["time_s"].as_f64().unwrap();
    commanded.becomes(|status| status["time_s"].as_f64().unwrap() >= paused_s + 2.0);
    let before = offered(&commanded.status());
    commanded.control(&["resume"]).expect(0);
    commanded.becomes(|status| offered(status) > before);
    let (members, result) = commanded.stop(0);
    // What it would have given in the pause does not come later: of two seconds, one is for threads
    // that did not get their turn.
    let active_s = result["seconds"].as_f64().unwrap() - 1.0;
    let bytes = whole(&stream(&result, "main")["offered_bytes"]);
    assert!(
        bytes as f64 <= active_s * 2e6,
        "{bytes} bytes in {active_s} s"
    );
    assert_reads_back(&members, &result, "main");
    members.verify(0);
}

/// The time has to be long enough for the commands on a busy machine.
#[test]
fn a_recording_whose_time_is_over_in_a_pause_keeps_what_lies_in_the_pipe() {
    let mut commanded = Commanded::start(&[32 * MIB], &["--time", "5s"]);
    commanded.control(&["pause"]).expect(0);
    let mut stdin = commanded.running.stdin.take().unwrap();
    stdin.write_all(b"sent in the pause").unwrap();
    let (members, result) = commanded.finish(0);
    assert_eq!(result["ended"], "time");
    assert_eq!(extract(&members, 1, "main").bytes, b"sent in the pause");
    drop(stdin);
}

#[test]
fn a_paused_recording_ends_by_a_command_with_what_lies_in_the_pipe() {
    let mut commanded = Commanded::start(&[32 * MIB], &[]);
    commanded.control(&["pause"]).expect(0);
    let mut stdin = commanded.running.stdin.take().unwrap();
    stdin.write_all(b"sent before the end").unwrap();
    let (members, result) = commanded.stop(0);
    assert_eq!(result["ended"], "signal");
    assert_eq!(extract(&members, 1, "main").bytes, b"sent before the end");
    drop(stdin);
}

#[test]
fn marks_that_were_settled_outlive_a_kill() {
    let flags = ["--from", "test:3MB/s", "--durable", "50ms"];
    let mut commanded = Commanded::start(&[64 * MIB, 64 * MIB], &flags);
    let made: Vec<Value> = (0..30)
        .map(|mark| commanded.mark(&format!("mark {mark}")))
        .collect();
    commanded.becomes(|status| whole(&status["marks"]["settled"]) >= 20);
    let settled = whole(&commanded.status()["marks"]["settled"]) as usize;
    let Commanded { members, running } = commanded;
    running.kill();
    let verified = members.run("verify", &["--json", "-"]).expect(0);
    assert_eq!(json_of(&verified.stdout)["bad"], json!([]));
    let listed = members.list();
    let marks = listed["recordings"][0]["marks"].as_array().unwrap();
    assert!(
        marks.len() >= settled,
        "{settled} were settled, {} are there",
        marks.len()
    );
    assert_eq!(marks[..], made[..marks.len()]);
    // What the kill has left of the socket is no hindrance.
    assert!(members.place.path(SOCKET).exists());
    let told = members.place.run(&["control", SOCKET, "status"]).expect(2);
    told.says("no recording listens on this socket");
    let next = Commanded::start_on(members, &["--from", "test:1MB/s"]);
    next.mark("after the kill");
    let (members, _) = next.stop(0);
    let listed = members.list();
    assert_eq!(
        listed["recordings"][1]["marks"][0]["text"],
        "after the kill"
    );
}

#[test]
fn marks_in_a_ring_go_with_the_data_of_their_time() {
    let flags = ["--ring", "--from", "test:20MB/s"];
    let mut commanded = Commanded::start(&[8 * MIB, 8 * MIB], &flags);
    commanded.mark("early");
    let at = offered(&commanded.status());
    commanded.becomes(|status| offered(status) > at + 40 * MIB);
    commanded.mark("late");
    let (members, result) = commanded.stop(0);
    assert_eq!(result["marks"]["count"], 2);
    let listed = members.list();
    let recording = &listed["recordings"][0];
    assert_eq!(whole(&recording["marks_made"]), 2);
    assert_eq!(whole(&recording["marks_overwritten"]), 1);
    assert_eq!(whole(&recording["marks_not_kept"]), 0);
    let texts: Vec<&Value> = recording["marks"].as_array().unwrap().iter().collect();
    assert_eq!(texts.len(), 1, "{recording:#}");
    assert_eq!(texts[0]["text"], "late");
    members.verify(0);
    let gone = members
        .run("extract", &["--around", "1", "-o", "out"])
        .expect(2);
    gone.says("a ring has overwritten it");
    let late = [
        "--around", "late", "--before", "50ms", "--after", "1h", "-o", "out",
    ];
    members.run("extract", &late).expect(0);
}

#[test]
fn extract_gives_what_was_recorded_around_a_mark() {
    let flags = ["--from", "test:4MB/s,frame=2kB..6kB", "--durable", "100ms"];
    let mut commanded = Commanded::start(&[64 * MIB, 64 * MIB], &flags);
    commanded.becomes(|status| offered(status) > 2 * MIB);
    let mark = commanded.mark("door opened");
    commanded.mark("twice");
    commanded.mark("twice");
    let at = whole(&mark["streams"][0]["offset_bytes"]);
    assert!(at > 2 * MIB);
    commanded.becomes(|status| offered(status) > at + 4 * MIB);
    let (members, result) = commanded.stop(0);
    let all = extract(&members, 1, "main");
    let around = |which: &str, before: &str, after: &str| {
        let range = ["--around", which, "--before", before, "--after", after];
        let out = ["-o", "out", "--json", "out.json"];
        members
            .run("extract", &[&range[..], &out].concat())
            .expect(0);
        let from = whole(&json_of(&members.place.read("out.json"))["from_byte"]);
        let bytes = std::fs::read(members.place.path("out")).unwrap();
        std::fs::remove_file(members.place.path("out")).unwrap();
        let end = from as usize + bytes.len();
        assert_eq!(bytes, all.bytes[from as usize..end], "{which}");
        (from, end as u64)
    };
    // A frame belongs to the range if it began in it, and the mark lies between two of them.
    let (from, to) = around("1", "300ms", "300ms");
    assert!(from < at && at < to, "{at} is not within {from} to {to}");
    let (before, at_mark) = around("door opened", "300ms", "0s");
    let (behind, end) = around("1", "0s", "300ms");
    assert_eq!((before, end), (from, to), "both halves are the whole");
    assert_eq!(at_mark, behind, "and meet at the mark");
    let between = at_mark.abs_diff(at);
    assert!(
        between <= MIB,
        "{at_mark} lies {between} bytes from the mark at {at}"
    );
    let (first, last) = around("1", "1h", "1h");
    let length = whole(&stream(&result, "main")["offered_bytes"]);
    assert_eq!((first, last), (0, length));

    for (which, words) in [
        ("twice", "2 marks of recording 1 have this text"),
        ("thrice", "has no mark \"thrice\""),
        ("4", "has no mark \"4\""),
    ] {
        members
            .run("extract", &["--around", which, "-o", "no"])
            .expect(2)
            .says(words);
    }
    let both = ["--around", "1", "--from-byte", "1", "-o", "no"];
    members.run("extract", &both).expect(2);
    members
        .run("extract", &["--before", "1s", "-o", "no"])
        .expect(2)
        .says("--around");
}

#[test]
fn a_socket_that_cannot_be_is_refused_before_anything_is_recorded() {
    let members = Members::files(&[32 * MIB]);
    let place = &members.place;
    place.write("file", "precious");
    let _listener = UnixListener::bind(place.path("taken")).unwrap();
    let long = "x".repeat(200);
    for (socket, words) in [
        ("file", "something else at this path, which is not touched"),
        ("taken", "a program listens there already"),
        (".", "something else at this path"),
        ("none/socket", "none is not a directory"),
        (&*long, "at most 107"),
    ] {
        for dry in [&["--dry-run"][..], &[]] {
            let flags = ["--from", "test:1MB/s", "--time", "9s", "--control", socket];
            members
                .run("record", &[SMALL, &flags, dry].concat())
                .expect(2)
                .says(words);
        }
    }
    assert_eq!(place.read("file"), "precious");
    let marks = [
        "--from",
        "test:1MB/s",
        "--stream",
        "marks",
        "--control",
        "s",
    ];
    members
        .run("record", &marks)
        .expect(2)
        .says("in a stream named marks");
    let same = ["--from", "test:1MB/s", "--json", "s", "--control", "s"];
    members
        .run("record", &same)
        .expect(2)
        .says("name the same file");
    assert_eq!(members.list()["recordings"], json!([]));
    // Without commands the name is anybody's.
    members.record(
        0,
        &[
            "--from",
            "test:1MB/s",
            "--stream",
            "marks",
            "--bytes",
            "1MB",
        ],
    );
}

#[test]
fn what_cannot_be_commanded_says_why() {
    let commanded = Commanded::start(&[32 * MIB], &["--from", "test:1MB/s"]);
    for (text, words) in [
        ("", "the text of the mark is empty"),
        ("two\nlines", "control character"),
        (&*"x".repeat(1001), "1001 bytes"),
    ] {
        commanded.control(&["mark", text]).expect(2).says(words);
        let answer = commanded.ask(&json!({ "command": "mark", "text": text }));
        assert_eq!(answer["ok"], false);
        assert!(
            answer["error"].as_str().unwrap().contains(words),
            "{answer:#}"
        );
    }
    commanded.control(&["mark"]).expect(2).says("TEXT");
    commanded
        .control(&["status", "text"])
        .expect(2)
        .says("this command takes nothing more");
    let place = &commanded.members.place;
    place
        .run(&["control", "nowhere", "status"])
        .expect(2)
        .says("there is no such socket");
    place.write("file", "");
    place
        .run(&["control", "file", "status"])
        .expect(2)
        .says("it is not a socket");
    // Somebody else, who never answers.
    let listener = UnixListener::bind(place.path("other")).unwrap();
    let other = Running::start(&mut place.command(&["control", "other", "status"]));
    drop(listener.accept().unwrap());
    other.finish().expect(1).says("gave no answer");
    let mut client = commanded.client();
    let (_, result) = commanded.stop(0);
    assert_eq!(result["marks"]["count"], 0);
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "its connection is closed at the end");
}
