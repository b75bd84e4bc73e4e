//! Where results go that have no room: the work is done all the same, they lie elsewhere, and the
//! exit code says that something is wrong. What can be known beforehand is refused before the
//! work.

use std::path::Path;

use crate::MIB;
use crate::check::extract;
use crate::devices::Mount;
use crate::members::{Members, SMALL};
use crate::support::{Ran, json_of};

/// A file system in the members' place on which nothing has room.
fn full(members: &Members) -> Option<Mount> {
    std::fs::create_dir(members.place.path("temporary")).unwrap();
    let flags = ["-t", "tmpfs", "-o", "size=4k", "tmpfs"];
    let mount = Mount::try_new(&members.place, &flags)?;
    std::fs::write(mount.path("filling"), [0; 4096]).unwrap();
    Some(mount)
}

/// The command, with its temporary files in a place of their own.
fn run(members: &Members, command: &str, flags: &[&str]) -> Ran {
    let mut command = members.command(command, flags);
    command.env("TMPDIR", members.place.path("temporary"));
    crate::support::ran(command.output().unwrap())
}

/// The results that lie among the temporary files, by their beginnings; they are taken away.
fn elsewhere(members: &Members) -> Vec<String> {
    let directory = std::fs::read_dir(members.place.path("temporary")).unwrap();
    let mut texts = Vec::new();
    for entry in directory {
        let path = entry.unwrap().path();
        texts.push(std::fs::read_to_string(&path).unwrap());
        std::fs::remove_file(path).unwrap();
    }
    texts.sort();
    texts
}

#[test]
fn a_recording_goes_on_without_room_for_its_status_and_its_results() {
    let members = Members::files(&[32 * MIB]);
    let Some(mount) = full(&members) else {
        return;
    };
    let [json, page, status] = ["run.json", "run.html", "status"].map(|name| mount.path(name));
    let outputs = ["--json", &json, "--report", &page, "--status", &status];
    let flags = [SMALL, &["--from", "test:3MB/s", "--bytes", "1MB"], &outputs].concat();
    let ran = run(&members, "record", &flags).expect(1);
    let words = format!("cannot write the status to {status}");
    let before_summary = ran.stderr.split("note: cannot write").next().unwrap();
    assert_eq!(before_summary.matches(&words).count(), 1, "{ran:#?}");
    ran.says(&format!("cannot write {json}"))
        .says(&format!("cannot write {page}"));
    let saved = elsewhere(&members);
    assert_eq!(saved.len(), 2);
    let result = json_of(saved.iter().find(|text| text.starts_with('{')).unwrap());
    let notes: Vec<&str> = result["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note.as_str().unwrap())
        .collect();
    assert!(
        notes.iter().any(|note| note.starts_with(&words)),
        "{notes:?}"
    );
    assert_eq!(result["ended"], "bytes");
    assert_eq!(extract(&members, 1, "main").bytes.len(), 1_000_000);
    members.verify(0);
}

#[test]
fn what_is_said_of_a_store_lies_elsewhere_where_it_has_no_room() {
    let members = Members::files(&[32 * MIB]);
    members.record(0, &["--from", "test:10MB/s", "--bytes", "100kB"]);
    let Some(mount) = full(&members) else {
        return;
    };
    let json = mount.path("said.json");
    let stream = members.place.path("stream");
    let commands: [(&str, &[&str]); 5] = [
        ("list", &[]),
        ("verify", &[]),
        ("recover", &[]),
        ("extract", &["-o", stream.to_str().unwrap()]),
        ("create", &["--destroy", &members.names[0], "--no-prewrite"]),
    ];
    for (command, flags) in commands {
        let ran = run(&members, command, &[flags, &["--json", &json]].concat()).expect(1);
        let is_said = !ran.stdout.is_empty() || ran.stderr.contains("bytes written to");
        assert!(is_said, "no words: {ran:#?}");
        ran.says(&format!("cannot write {json}")).says("instead");
        let saved = elsewhere(&members);
        assert_eq!(saved.len(), 1, "{command}");
        let schema = json_of(&saved[0])["schema"].to_string();
        assert!(schema.contains(&format!("sustain.{command}/")), "{schema}");
    }
    assert!(!Path::new(&json).exists());
}

#[test]
fn a_page_of_a_saved_result_lies_elsewhere_where_it_has_no_room() {
    let members = Members::files(&[32 * MIB]);
    let result = members.record(0, &["--from", "test:10MB/s", "--bytes", "100kB"]);
    members.place.write("run.json", &result.to_string());
    let Some(mount) = full(&members) else {
        return;
    };
    let page = mount.path("run.html");
    let mut command = members.place.command(&["report", "run.json", "-o", &page]);
    command.env("TMPDIR", members.place.path("temporary"));
    let ran = crate::support::ran(command.output().unwrap()).expect(1);
    ran.says(&format!("cannot write {page}")).says("instead");
    let saved = elsewhere(&members);
    assert!(saved[0].to_lowercase().starts_with("<!doctype html>"));
}

#[test]
fn outputs_in_a_directory_that_is_not_there_are_refused_before_the_work() {
    let members = Members::files(&[32 * MIB]);
    members.record(0, &["--from", "test:10MB/s", "--bytes", "100kB"]);
    let commands: [(&str, &[&str]); 8] = [
        ("record", &["--json"]),
        ("record", &["--report"]),
        ("record", &["--status"]),
        ("list", &["--json"]),
        ("verify", &["--json"]),
        ("recover", &["--json"]),
        ("extract", &["--json"]),
        ("create", &["--json"]),
    ];
    for (command, flags) in commands {
        let ran = members
            .run(command, &[flags, &["missing/result"]].concat())
            .expect(2);
        ran.says("cannot write missing/result");
    }
    let ran = members.run("extract", &["-o", "missing/stream"]).expect(2);
    ran.says("missing/stream");
    assert_eq!(members.list()["recordings"].as_array().unwrap().len(), 1);
}
