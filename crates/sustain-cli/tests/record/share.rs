//! What a recorder takes for itself, read back from the kernel while it runs, and what it says of
//! that.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use sustain_testing::{Requirement, skip};

use crate::MIB;
use crate::members::Members;
use crate::running::{Running, run};
use crate::support::{Place, json_of};

const BUFFER: &str = "16MiB";

/// What the kernel says of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    nice: String,
    io_priority: String,
}

/// The threads of a process by name, of each name one.
fn threads(process: u32) -> BTreeMap<String, Seen> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let seen = tasks.filter_map(|task| thread(&task.ok()?.path()));
    seen.collect()
}

/// `None` if it has ended meanwhile.
fn thread(task: &Path) -> Option<(String, Seen)> {
    let stat = std::fs::read_to_string(task.join("stat")).ok()?;
    let (before, after) = stat.rsplit_once(") ")?;
    let (number, name) = before.split_once(" (")?;
    let ionice = Command::new("ionice").args(["-p", number]).output().ok()?;
    if !ionice.status.success() {
        // A worker of the kernel ends whenever it has nothing to do.
        return None;
    }
    let seen = Seen {
        nice: after.split(' ').nth(16)?.to_owned(),
        io_priority: String::from_utf8(ionice.stdout).ok()?.trim().to_owned(),
    };
    Some((name.to_owned(), seen))
}

/// Records from a pipe that gives one byte and stays open, looks at the threads once the recorder
/// has said that this byte is durable, and lets it end. Returns the threads, the locked memory in
/// KiB, and the result.
fn recorded(members: &Members, flags: &[&str]) -> (BTreeMap<String, Seen>, u64, serde_json::Value) {
    let all = [
        &["--json", "result", "--buffer", BUFFER, "--status", "status"],
        flags,
    ]
    .concat();
    let status = members.place.path("status");
    // That of the recording before tells nothing of this one.
    let _ = std::fs::remove_file(&status);
    let mut command = members.command("record", &all);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let process = child.id();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"x").unwrap();
    let mut running = Running::of(child);
    let is_durable = || {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        told.contains("\"durable_bytes\":1,")
    };
    assert!(running.becomes(is_durable), "it ended before");
    let seen = threads(process);
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    let locked = locked.unwrap().trim().trim_end_matches(" kB");
    let locked_kib = locked.parse().unwrap();
    drop(stdin);
    running.finish().expect(0);
    let result = std::fs::read_to_string(members.place.path("result")).unwrap();
    (seen, locked_kib, json_of(&result))
}

/// Whether this process may take all there is, and read it back.
fn may_take_all() -> bool {
    let mut first = Command::new("ionice");
    first.args(["-c", "realtime", "nice", "-n", "-20", "true"]);
    match first.stderr(Stdio::piped()).output() {
        // Both programs warn, and run the next one even so.
        Ok(tried) if tried.status.success() && tried.stderr.is_empty() => true,
        Ok(tried) => {
            let why = String::from_utf8_lossy(&tried.stderr).into_owned();
            skip(Requirement::Priorities, why);
            false
        }
        Err(error) => {
            skip(Requirement::Program("ionice"), error);
            false
        }
    }
}

#[test]
fn every_engine_comes_first_and_the_result_says_what_the_kernel_shows() {
    if !may_take_all() {
        return;
    }
    std::thread::scope(|scope| {
        for engine in ["auto", "threads", "libaio", "posix-aio", "sync"] {
            scope.spawn(move || assert_comes_first(engine));
        }
    });
}

#[track_caller]
fn assert_comes_first(engine: &str) {
    let members = Members::files(&[64 * MIB]);
    let (seen, locked_kib, result) = recorded(&members, &["--engine", engine]);
    let recorder = &seen["sustain-record"];
    assert_eq!(recorder.nice, "-20", "{engine}: {seen:?}");
    assert_eq!(
        recorder.io_priority, "realtime: prio 0",
        "{engine}: {seen:?}"
    );
    assert_eq!(seen["sustain-main"].nice, "-20", "{engine}: {seen:?}");
    for (name, thread) in seen.iter().filter(|(name, _)| name.starts_with("iou-")) {
        assert_eq!(thread, recorder, "{name}");
    }
    if engine == "threads" {
        assert_eq!(seen["sustain-io"], *recorder, "who issues the requests");
    }
    assert_ne!(seen["sustain"].nice, "-20", "who only shows is not first");
    let share = &result["share"];
    assert_eq!(share["asked"], "first");
    assert_eq!(share["io_priority"]["class"], "real_time");
    assert_eq!(share["cpu_priority"]["nice"], -20);
    let locked = share["locked_buffer"]["bytes"].as_u64().unwrap();
    assert_eq!(locked, 16 * MIB);
    assert!(locked_kib * 1024 >= locked, "{locked_kib} KiB");
}

#[test]
fn a_fair_recorder_stays_as_it_was_started() {
    let members = Members::files(&[64 * MIB]);
    let (seen, locked_kib, result) = recorded(&members, &["--share", "fair"]);
    let own = &seen["sustain"];
    for name in ["sustain-record", "sustain-main"] {
        assert_eq!(seen[name], *own, "{seen:?}");
    }
    assert_eq!(locked_kib, 0);
    assert_eq!(result["share"]["asked"], "fair");
    assert!(result["share"]["io_priority"]["class"].is_null());
    assert_eq!(result["share"]["locked_buffer"]["of_bytes"], 0);
}

#[test]
fn a_rehearsal_says_what_would_be_taken_on_a_store_and_where_one_would_be_made() {
    let members = Members::files(&[64 * MIB]);
    let before = std::fs::read(&members.images[0]).unwrap();
    let rehearsal = ["--from", "test:1MB/s", "--buffer", BUFFER, "--dry-run"];
    let first = "would record with share first: I/O priority ";
    let ran = members.run("record", &rehearsal).expect(0).says(first);
    assert!(ran.stderr.contains("16 MiB of buffer locked"), "{ran:#?}");
    let fair = [&rehearsal[..], &["--share", "fair"]].concat();
    let ran = members.run("record", &fair).expect(0);
    assert!(
        ran.stderr.contains("would record with share fair"),
        "{ran:#?}"
    );
    assert!(std::fs::read(&members.images[0]).unwrap() == before);
    let place = Place::new();
    std::fs::create_dir(place.path("new")).unwrap();
    let new = [&["record", "new", "--size", "32MiB"], &rehearsal[..]].concat();
    run(&place, &new).expect(0).says(first);
    assert!(!place.path("new/sustain.store").exists());
}
