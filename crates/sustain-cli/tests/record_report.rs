//! What `sustain record` writes for scripts and readers: its result and its status in the published
//! form, the report, also drawn anew; and what it refuses to write over.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod support;

use std::path::Path;
use support::{Place, disk, json_of};

/// A short recording of a source that checks itself, into a directory.
const SHORT: &[&str] = &[
    "record",
    "store",
    "--size",
    "64MiB",
    "--from",
    "test:40MB/s,frame=100kB..200kB",
    "--bytes",
    "12MB",
];

fn place() -> Place {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    std::fs::create_dir(place.path("store")).unwrap();
    place
}

/// Fails unless the document has the form that was published under this name.
#[track_caller]
fn assert_published_form(name: &str, document: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let schema = json_of(&std::fs::read_to_string(path.join(name)).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let document = json_of(document);
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn result_status_and_report_are_written_and_the_report_is_drawn_anew() {
    let place = place();
    let outputs = [
        "--json",
        "run.json",
        "--report",
        "run.html",
        "--status",
        "run.status",
    ];
    let ran = place.run(&[SHORT, &outputs].concat()).expect(0);
    ran.says("Nothing was lost").says("report: run.html");

    let run = place.read("run.json");
    assert_published_form("record.schema.json", &run);
    let result = json_of(&run);
    assert_eq!(result["schema"], "sustain.record/1");
    assert_eq!(result["plan"]["arguments"][1], "record");
    assert!(result["host"]["description"]["kernel"].is_string());
    let stream = &result["streams"][0];
    assert_eq!(stream["gap_bytes"], 0);
    assert_eq!(stream["offered_bytes"], stream["recorded_bytes"]);
    for histogram in ["written_latency_histogram", "durable_latency_histogram"] {
        assert!(!stream[histogram].as_array().unwrap().is_empty());
    }
    let status = place.read("run.status");
    assert!(status.lines().count() > 0);
    for line in status.lines() {
        assert_published_form("status.schema.json", line);
    }
    let flags = ["report", "run.json", "-o", "anew.html"];
    place.run(&flags).expect(0);
    let (first, anew) = (place.read("run.html"), place.read("anew.html"));
    assert!(first.contains("<h1>Recording 1: stream main, "));
    assert!(first == anew, "drawn anew it is another page");
}

#[test]
fn a_report_is_of_one_kind() {
    let place = place();
    place
        .run(&[SHORT, &["--json", "run.json"]].concat())
        .expect(0);
    let measure = ["measure", "sim:machine.toml", "--json", "measured.json"];
    place.run(&measure).expect(0);
    let flags = ["report", "measured.json", "run.json", "-o", "both.html"];
    let ran = place.run(&flags).expect(2);
    ran.says("measured.json is a measurement and run.json is a recording");
    assert!(!place.path("both.html").exists());
}

#[test]
fn a_result_never_takes_the_place_of_something_else() {
    let place = place();
    place.write("frames.bin", "of great value");
    std::os::unix::fs::symlink("frames.bin", place.path("soft")).unwrap();
    let names = place.names();
    let refused: &[(&[&str], &str)] = &[
        (&["--json", "x", "--report", "x"], "name the same file"),
        (&["--json", "x", "--status", "./x"], "name the same file"),
        (&["--report", "x", "--status", "x"], "name the same file"),
        (&["--report", "-"], "needs the name of a file"),
        (
            &["--report", "store/sustain.store"],
            "a member of the store",
        ),
        (&["--json", "store/sustain.store"], "a member of the store"),
        (&["--report", "store"], "it is a directory"),
        (&["--report", "frames.bin"], "is a source"),
        (&["--json", "soft"], "is a source"),
        (&["--status", "frames.bin"], "is a source"),
        (&["--report", "machine.toml"], "is not a report of sustain"),
        (&["--report", "no/such/place.html"], "does not exist"),
    ];
    let record = ["record", "store", "--size", "64MiB", "--from", "frames.bin"];
    for (outputs, words) in refused {
        place
            .run(&[&record, *outputs].concat())
            .expect(2)
            .says(words);
    }
    assert_eq!(place.names(), names);
    assert_eq!(place.read("frames.bin"), "of great value");
    assert!(!place.path("store/sustain.store").exists());
}
