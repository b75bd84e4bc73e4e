//! `sustain measure` on the disk under the build directory: engines, paths, files and Ctrl-C.
//! Bytes, counts and endings are checked; how fast that disk is does not matter.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc;
use std::time::Duration;

use crate::support::{Place, Ran, assert_valid, disk, json_of, notes_of, number, ran};
use rustix::process::{Pid, Signal, kill_process};
use sustain_testing::{Requirement, skip};

/// Longer than any of these runs takes, even on a machine that is busy with much else. Only a test
/// that fails waits for all of it.
const PATIENCE: Duration = Duration::from_secs(300);

/// 128 records of 64 KiB; a second of idle time is watched before and after.
const SMALL: &[&str] = &[
    "--bytes",
    "8MiB",
    "--size",
    "8MiB",
    "--record-size",
    "64KiB",
    "--time",
    "9s",
    "--no-confirm",
    "--json",
    "-",
];

/// Runs these all at once, because most of their time is watching the idle machine.
fn run_together(place: &Place, runs: &[Vec<&str>]) -> Vec<Ran> {
    let children: Vec<Child> = runs
        .iter()
        .map(|flags| {
            let all = [&["measure"], flags.as_slice(), SMALL].concat();
            place.command(&all).spawn().unwrap()
        })
        .collect();
    children
        .into_iter()
        .map(|child| ran(child.wait_with_output().unwrap()))
        .collect()
}

#[test]
fn a_rate_that_rests_on_bytes_that_lie_still_is_said_to_do_so() {
    let place = Place::new();
    let flags = ["--time", "2s", "--size", "64MiB", "--json", "-"];
    let ran = place.run(&[&["measure", "."], &flags[..]].concat());
    let result = json_of(&ran.stdout);
    if result["recommendation"].is_null() {
        skip(Requirement::QuietMachine, "no rate was recommended in 2 s");
        return;
    }
    // A machine that takes 10 s for it has tried new bytes, too.
    let is_reported =
        notes_of(&result).contains("this run did not try entirely new data for each write");
    assert_eq!(
        is_reported,
        result["rewritten"].is_null(),
        "{}",
        notes_of(&result)
    );
}

#[test]
fn each_engine_feeds_two_files_in_turns() {
    let place = Place::new();
    let engines = ["io_uring", "libaio", "posix-aio", "threads", "sync"];
    for name in ["one", "other"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let turns = ["one", "other", "--layout", "turns", "--order", "other,one"];
    let runs = engines.map(|engine| [&turns[..], &["--engine", engine]].concat());
    for (flags, ran) in runs.iter().zip(run_together(&place, &runs)) {
        if ran.code == 2 && ran.stderr.contains("cannot be used here") {
            eprintln!("{flags:?} not tried: {}", ran.stderr);
            continue;
        }
        let result = json_of(&ran.expect(0).stdout);
        let targets = result["targets"].as_array().unwrap();
        assert_eq!(targets[0]["name"], "other");
        for target in targets {
            assert_eq!(target["bytes"].as_u64(), Some(8 << 20), "{flags:?}");
            assert_eq!(target["ended"], "bytes");
        }
    }
    // Each file is flushed before it is gone over again, four times, and the other one waits.
    let laps = ["--path", "buffered", "--size", "2MiB", "--bytes", "8MiB"];
    let flags = [
        &["measure"],
        &turns[..],
        &laps,
        &["--no-confirm", "--json", "-"],
    ]
    .concat();
    let result = json_of(&place.run(&flags).expect(0).stdout);
    for target in result["targets"].as_array().unwrap() {
        assert_eq!(target["bytes"].as_u64(), Some(8 << 20));
    }
}

#[test]
fn each_engine_moves_every_byte_at_its_depth() {
    let place = Place::new();
    let engines = ["io_uring", "libaio", "posix-aio", "threads", "sync", "auto"];
    let runs = engines.map(|engine| vec![".", "--engine", engine]);
    for (engine, ran) in engines.iter().zip(run_together(&place, &runs)) {
        if ran.code == 2 && ran.stderr.contains("cannot be used here") {
            // Containers may forbid it; a named engine never falls back.
            assert!(["io_uring", "libaio"].contains(engine), "{}", ran.stderr);
            eprintln!("{engine} not tried: {}", ran.stderr);
            continue;
        }
        let result = json_of(&ran.expect(0).stdout);
        assert_valid(&result);
        let (target, plan) = (&result["targets"][0], &result["plan"]);
        assert_eq!(target["bytes"].as_u64(), Some(8 << 20), "{engine}");
        assert_eq!(target["distinct_bytes"].as_u64(), Some(8 << 20), "{engine}");
        assert_eq!(target["ended"], "bytes", "{engine}");
        let depth = if *engine == "sync" { 1 } else { 8 };
        assert_eq!(target["depth_reached"].as_u64(), Some(depth), "{engine}");
        let requests: f64 = target["latency_histogram"]
            .as_array()
            .unwrap()
            .iter()
            .map(|bin| number(&bin["count"]))
            .sum();
        assert!(
            (requests - 128.0).abs() < 0.5,
            "{engine}: {requests} requests"
        );
        assert_eq!(plan["engine"], *engine);
        if *engine != "auto" {
            assert_eq!(plan["engine_used"], *engine);
        }
        assert!(plan["engine_why"].is_string());
    }
    assert!(
        place.names().is_empty(),
        "{:?} was left behind",
        place.names()
    );
}

#[test]
fn files_wrap_and_are_read_from_end_to_end() {
    let place = Place::new();
    let content: Vec<u8> = (0..(3u32 << 20) + 5000).map(|byte| byte as u8).collect();
    std::fs::write(place.path("file"), &content).unwrap();
    // A file lets its size be known: it is read in whole records, once around and a half.
    let twice = [
        "--bytes",
        "4608KiB",
        "--time",
        "9s",
        "--no-confirm",
        "--json",
        "-",
    ];
    let wrapping = [&["measure", "file", "--record-size", "512KiB"], &twice[..]].concat();
    let wrapping = place.command(&wrapping).spawn().unwrap();
    let buffered = vec![".", "--path", "buffered"];
    let scratch_read = vec![".", "--read"];
    let new_file = vec!["new-file", "--new-file"];
    let runs = run_together(&place, &[buffered, scratch_read, new_file]);

    let result = json_of(&ran(wrapping.wait_with_output().unwrap()).expect(0).stdout);
    let target = &result["targets"][0];
    assert_eq!(result["plan"]["direction"], "read");
    assert_eq!(target["kind"], "file");
    assert_eq!(target["bytes"].as_u64(), Some(4608 << 10));
    assert_eq!(target["distinct_bytes"].as_u64(), Some(3 << 20));
    assert_eq!(target["laps"].as_u64(), Some(2));
    assert_eq!(std::fs::read(place.path("file")).unwrap(), content);

    let result = json_of(&runs[0].stdout);
    let target = &result["targets"][0];
    assert_eq!(result["plan"]["path"], "buffered");
    assert_eq!(target["bytes"].as_u64(), Some(8 << 20));
    let notes = result["notes"].to_string();
    assert!(
        notes.contains("closing flush is part of the measured time"),
        "{notes}"
    );
    // The flush ends after the last write, and the time with it.
    let last_write_s = target["intervals"].as_array().unwrap().last().unwrap();
    assert!(number(&target["seconds"]) >= number(&last_write_s["start_s"]));

    let result = json_of(&runs[1].stdout);
    assert_eq!(result["plan"]["direction"], "read");
    assert_eq!(result["targets"][0]["bytes"].as_u64(), Some(8 << 20));
    assert_eq!(result["targets"][0]["extents"], "written");

    json_of(&runs[2].stdout);
    assert!(
        runs[2].stderr.contains("created and is kept"),
        "{}",
        runs[2].stderr
    );
    assert_eq!(
        std::fs::metadata(place.path("new-file")).unwrap().len(),
        8 << 20
    );
    assert_eq!(place.names(), ["file", "new-file"]);
}

#[test]
fn written_data_differs_everywhere_and_zeros_are_zeros() {
    let place = Place::new();
    place.write("zeros", "");
    let fresh = vec!["fresh", "--new-file"];
    let zeros = vec![
        "zeros",
        "--write",
        "--destroy",
        "zeros",
        "--data",
        "zero",
        "--no-prewrite",
    ];
    for ran in run_together(&place, &[fresh, zeros]) {
        ran.expect(0);
    }
    let blocks = |name: &str| -> Vec<Vec<u8>> {
        let bytes = std::fs::read(place.path(name)).unwrap();
        bytes.chunks(4096).map(<[u8]>::to_vec).collect()
    };
    let mut fresh = blocks("fresh");
    assert_eq!(fresh.len(), 2048);
    fresh.sort();
    fresh.dedup();
    assert_eq!(fresh.len(), 2048, "two blocks of 4 KiB were equal");
    assert!(blocks("zeros").iter().flatten().all(|byte| *byte == 0));
}

#[test]
fn null_is_driven_and_said_to_be_no_disk() {
    let place = Place::new();
    let ran = place
        .run(&[&["measure", "null:"], SMALL].concat())
        .expect(0);
    let result = json_of(&ran.stdout);
    assert_eq!(result["targets"][0]["name"], "null:");
    assert_eq!(result["targets"][0]["kind"], "null");
    assert_eq!(result["targets"][0]["bytes"].as_u64(), Some(8 << 20));
    ran.says("null: is not a disk");
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Does what waits for the child, and kills that when it takes too long: no wait may last for ever.
fn within_patience<T>(child: &mut Child, wait: impl FnOnce() -> T + Send) -> T
where
    T: Send,
{
    let (done, is_done) = mpsc::channel();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let value = wait();
            let _ = done.send(());
            value
        });
        if is_done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            child.kill().unwrap();
            panic!("nothing came within {PATIENCE:?}");
        }
        waiting.join().unwrap()
    })
}

/// Reads standard error until a line has these words.
fn wait_for(child: &mut Child, words: &str) -> BufReader<std::process::ChildStderr> {
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    within_patience(child, move || {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            let length = stderr.read_line(&mut line).unwrap();
            assert!(length > 0, "it ended without saying {words:?}");
        }
        stderr
    })
}

#[test]
fn an_interrupted_run_gives_the_result_of_what_was_done() {
    interrupted_by(Signal::INT);
}

#[test]
fn a_terminal_that_is_closed_interrupts_a_run() {
    // Whoever started the tests may have it ignored, and what they start inherits that.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    if u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap() & 1 == 1 {
        skip(Requirement::Hangup, "SIGHUP is ignored here");
        return;
    }
    interrupted_by(Signal::HUP);
}

fn interrupted_by(reason: Signal) {
    let place = Place::new();
    let flags = [
        "--size", "64MiB", "--time", "9s", "--json", "run.json", "--report", "run.html",
    ];
    let mut child = place
        .command(&[&["measure", "."], &flags[..]].concat())
        .spawn()
        .unwrap();
    let mut stderr = wait_for(&mut child, "measuring, ");
    signal(&child, reason);
    // Read on, so that no pipe is full.
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    let ran = ran(child.wait_with_output().unwrap()).expect(130);
    assert!(ran.stdout.contains("interrupted"), "{}", ran.stdout);
    let result = json_of(&place.read("run.json"));
    assert_valid(&result);
    let target = &result["targets"][0];
    assert_eq!(target["ended"], "interrupted");
    assert!(number(&target["bytes"]) > 0.0);
    assert!(number(&target["seconds"]) < 9.0);
    assert_eq!(
        result["recommendation"]["confirmed"],
        serde_json::Value::Null
    );
    assert_eq!(place.names(), ["run.html", "run.json"]);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    // Its result is larger than a pipe holds and nobody reads it, so it cannot end by itself.
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let flags = ["--time", "2h", "--json", "-", "--no-confirm"];
    let mut child = place
        .command(&[&["measure", "sim:machine.toml"], &flags[..]].concat())
        .spawn()
        .unwrap();
    // With its first byte there, the result is being written.
    let mut stdout = child.stdout.take().unwrap();
    within_patience(&mut child, || stdout.read_exact(&mut [0]).unwrap());
    // Two of a kind might be taken for one.
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    let mut stderr = child.stderr.take().unwrap();
    within_patience(&mut child, || stderr.read_to_end(&mut Vec::new()).unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
