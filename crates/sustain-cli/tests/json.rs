//! What `sustain measure` writes for scripts and readers: JSON in the published form under the
//! published names, standard output fit for a pipe, and the report, also drawn anew.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;

use support::{Place, assert_valid, disk, json_of};

/// A short run on the disk under the build directory.
const ON_DISK: &[&str] = &[
    ".",
    "--bytes",
    "8MiB",
    "--size",
    "8MiB",
    "--time",
    "9s",
    "--no-confirm",
];

/// Every name that scripts rely on. `[]` is each entry of a list that is not empty.
const FIXED_KEYS: &[&str] = &[
    "schema",
    "plan.direction",
    "plan.engine_used",
    "host",
    "targets[].name",
    "targets[].kind",
    "targets[].bytes",
    "targets[].seconds",
    "targets[].rate_bytes_per_s",
    "targets[].laps",
    "targets[].distinct_bytes",
    "targets[].depth_reached",
    "targets[].extents",
    "targets[].sustained.reached",
    "targets[].sustained.rate_bytes_per_s",
    "targets[].sustained.ci95_bytes_per_s[]",
    "targets[].sustained.from_s",
    "targets[].sustained.why",
    "targets[].burst",
    "targets[].latency_ns.p50",
    "targets[].latency_ns.p90",
    "targets[].latency_ns.p99",
    "targets[].latency_ns.p99_9",
    "targets[].latency_ns.max",
    "targets[].latency_ns.max_at_s",
    "targets[].latency_ns.max_at_offset_bytes",
    "targets[].intervals[].start_s",
    "targets[].intervals[].end_s",
    "targets[].intervals[].bytes",
    "targets[].intervals[].rate_bytes_per_s",
    "targets[].intervals[].average_bytes_per_s",
    "targets[].intervals[].latency_max_ns",
    "targets[].errors",
    "targets[].ended",
    "total.all_active_bytes_per_s",
    "total.sum_bytes_per_s",
    "total.wall_clock_bytes_per_s",
    "total.cpu_seconds_per_gb",
    "total.worst_stall_ns",
    "total.tool_limited",
    "total.rate_held",
    "buffer_curve[].rate_bytes_per_s",
    "buffer_curve[].buffer_bytes",
    "recommendation.rate_bytes_per_s",
    "recommendation.buffer_bytes",
    "recommendation.confirmed",
    "recommendation.held_seconds",
    "recommendation.backlog_max_bytes",
    "system.samples",
    "system.kernel_messages",
];

/// Fails unless the path leads somewhere in every entry of every list on its way.
#[track_caller]
fn assert_has(value: &serde_json::Value, path: &str) {
    let mut values = vec![value];
    for step in path.split('.') {
        let (key, is_list) = match step.strip_suffix("[]") {
            Some(key) => (key, true),
            None => (step, false),
        };
        let found = values.iter().map(|value| value.get(key));
        values = found
            .map(|found| found.unwrap_or_else(|| panic!("no {key} of {path}")))
            .collect();
        if is_list {
            values = values
                .iter()
                .flat_map(|list| list.as_array().unwrap())
                .collect();
            assert!(!values.is_empty(), "{key} of {path} is an empty list");
        }
    }
}

#[test]
fn every_published_name_is_there() {
    let burst = "cache = \"1GB\"\ncache_rate = \"250MB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "50MB/s", burst));
    let result = place.simulate(0, &["--time", "60s"]);
    FIXED_KEYS.iter().for_each(|path| assert_has(&result, path));
    for path in ["targets[].burst.bytes", "targets[].burst.rate_bytes_per_s"] {
        assert_has(&result, path);
    }
    assert_eq!(result["schema"], "sustain.measure/1");

    let place = Place::new();
    let result = place.measure(0, ON_DISK);
    // A real disk may be too uneven for any recommendation; the key is there all the same.
    assert_has(&result, "recommendation");
    let always = FIXED_KEYS
        .iter()
        .filter(|path| !path.starts_with("recommendation"));
    always.for_each(|path| assert_has(&result, path));
    assert_valid(&result);
    assert_eq!(result["targets"][0]["name"], ".");
    assert_eq!(result["targets"][0]["kind"], "scratch_file");
    assert_eq!(result["targets"][0]["extents"], "written");
    assert!(result["total"]["cpu_seconds_per_gb"].is_number());
    assert!(result["plan"]["started"].is_string());
    assert_has(&result, "system.samples[].time_s");
    assert_eq!(
        place.names().len(),
        0,
        "{:?} was left behind",
        place.names()
    );
}

#[test]
fn simulated_and_failed_runs_have_the_published_form() {
    let error = "error = { at = \"100MB\", kind = \"eio\", once = false }";
    let stall = "stall = { every = \"2s\", for = \"200ms\" }";
    let machine = disk("a", "1TB", "100MB/s", error) + &disk("b", "1TB", "100MB/s", stall);
    let place = Place::with_machine(&machine);
    assert_valid(&place.simulate(1, &["--time", "12s"]));
    for flags in [
        &["sim:machine.toml:b"][..],
        &["sim:machine.toml:b", "--rate", "20MB/s"],
        &[
            "sim:machine.toml:b",
            "--bytes",
            "100MB",
            "--interval",
            "20MiB",
        ],
        &["sim:machine.toml:b", "--layout", "stripe", "--until-steady"],
        &[
            "sim:machine.toml:b",
            "--layout",
            "span",
            "--read",
            "--size",
            "100MB",
        ],
    ] {
        eprintln!("{flags:?}");
        assert_valid(&place.measure(0, flags));
    }
    assert_valid(&place.measure(
        0,
        &["null:", "--bytes", "64MiB", "--time", "1s", "--no-confirm"],
    ));
}

#[test]
fn standard_output_is_json_alone_and_words_go_to_standard_error() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let ran = place
        .run(&["measure", "sim:machine.toml", "--json", "-"])
        .expect(0);
    assert!(ran.stdout.starts_with('{') && ran.stdout.ends_with("}\n"));
    json_of(&ran.stdout);
    let ran = ran.says("A stream can be recorded at ");
    // Without it the words are the result.
    let words = place
        .run(&["measure", "sim:machine.toml", "--json", "run.json"])
        .expect(0);
    assert!(
        words.stdout.contains("A stream can be recorded at "),
        "{}",
        words.stdout
    );
    let (mut written, mut piped) = (json_of(&place.read("run.json")), json_of(&ran.stdout));
    for document in [&mut written, &mut piped] {
        document["plan"]["arguments"] = serde_json::Value::Null;
    }
    assert_eq!(written, piped);
}

#[test]
fn a_pipe_gets_no_escape_sequences() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    for no_color in [None, Some("1")] {
        let mut command = place.command(&["measure", "sim:machine.toml", "--no-confirm"]);
        command.env_remove("NO_COLOR");
        no_color.map(|value| command.env("NO_COLOR", value));
        let ran = support::ran(command.output().unwrap()).expect(0);
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.is_empty());
            assert!(!text.contains(['\x1b', '\r']), "{text:?}");
        }
    }
    let help = place.run(&["measure", "--help"]).expect(0);
    assert!(!help.stdout.contains('\x1b'));
}

#[test]
fn a_report_is_written_and_drawn_anew_from_its_json() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let flags = [
        "measure",
        "sim:machine.toml",
        "--json",
        "run.json",
        "--report",
        "run.html",
    ];
    place.run(&flags).expect(0).says("report: run.html");
    place
        .run(&["report", "run.json", "-o", "anew.html"])
        .expect(0);
    let (first, anew) = (place.read("run.html"), place.read("anew.html"));
    assert!(first.contains("<html") && first.contains("sim:machine.toml"));
    assert!(first == anew, "drawn anew it is another page");
    place
        .run(&["report", "run.json", "run.json", "-o", "both.html"])
        .expect(0);
    assert!(place.read("both.html").len() > anew.len());
}

#[test]
fn a_document_that_is_no_result_is_refused_in_words() {
    let place = Place::new();
    let refused = [
        (
            "later.json",
            r#"{"schema":"sustain.measure/2"}"#,
            "newer version of sustain",
        ),
        (
            "other.json",
            r#"{"schema":"sustain.record/1"}"#,
            "sustain.record/1",
        ),
        (
            "foreign.json",
            r#"{"fio version":"fio-3.36"}"#,
            "not a result of sustain",
        ),
        (
            "damaged.json",
            r#"{"schema":"sustain.measure/1"}"#,
            "damaged",
        ),
        ("text.json", "rate: 100 MB/s", "not JSON"),
        ("empty.json", "", "not JSON"),
    ];
    for (name, text, words) in refused {
        place.write(name, text);
        let ran = place.run(&["report", name, "-o", "page.html"]).expect(2);
        ran.says(words).says(name);
    }
    std::fs::write(place.path("cam.bin"), [0xff, 0xd8, 0x00]).unwrap();
    let ran = place.run(&["report", "cam.bin"]).expect(2);
    assert_eq!(
        ran.stderr,
        "sustain: cam.bin is not a result but other data: name the JSON that --json of measure, \
         record, repair, diagnose, sweep, profile or compare wrote\n"
    );
    place
        .run(&["report", "none.json", "-o", "page.html"])
        .expect(2)
        .says("none.json");
    assert!(!place.path("page.html").exists());
}

#[test]
fn where_the_result_cannot_be_written_nothing_is_run() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    for flag in ["--json", "--report"] {
        let ran = place
            .run(&["measure", "sim:machine.toml", flag, "no/such/place"])
            .expect(2);
        assert_eq!(ran.stdout, "");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    // Looking whether it can be written leaves nothing and harms nothing.
    place.write("kept.json", "of great value");
    let flags = [
        "measure",
        "sim:nowhere.toml",
        "--json",
        "kept.json",
        "--report",
        "new.html",
    ];
    place.run(&flags).expect(2);
    assert_eq!(place.read("kept.json"), "of great value");
    assert!(!place.path("new.html").exists());
}

#[test]
fn a_result_never_takes_the_place_of_something_else() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    std::os::unix::fs::symlink("nowhere", place.path("dangling")).unwrap();
    std::fs::hard_link(place.path("machine.toml"), place.path("hard")).unwrap();
    std::os::unix::fs::symlink("machine.toml", place.path("soft")).unwrap();
    let names = place.names();
    let machine = place.read("machine.toml");
    for (output, words) in [
        ("dangling", "a link to a file that does not exist"),
        ("hard", "the file of a simulated machine"),
        ("soft", "the file of a simulated machine"),
    ] {
        for flag in ["--json", "--report"] {
            let flags = ["measure", "sim:machine.toml", flag, output];
            place.run(&flags).expect(2).says(words);
        }
    }
    assert_eq!(place.names(), names);
    assert!(place.path("dangling").is_symlink());
    assert_eq!(place.read("machine.toml"), machine);
}

#[test]
fn a_report_drawn_anew_harms_nothing() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let flags = ["measure", "sim:machine.toml", "--json", "run.json"];
    place.run(&flags).expect(0);
    let run = place.read("run.json");
    std::fs::hard_link(place.path("run.json"), place.path("hard.html")).unwrap();
    std::os::unix::fs::symlink("run.json", place.path("soft.html")).unwrap();
    std::fs::create_dir(place.path("directory")).unwrap();
    let names = place.names();
    for (output, words) in [
        ("run.json", "write the report to another file"),
        ("./run.json", "write the report to another file"),
        ("hard.html", "write the report to another file"),
        ("soft.html", "write the report to another file"),
        ("directory", "it is a directory"),
        ("machine.toml", "it exists and is not a report of sustain"),
        ("/dev/zero", "it is a device"),
    ] {
        let flags = ["report", "run.json", "-o", output];
        place.run(&flags).expect(2).says(words);
    }
    assert_eq!(place.names(), names);
    assert_eq!(place.read("run.json"), run);
    // A report may take the place of a report, and go to a pipe.
    for _ in 0..2 {
        let flags = ["report", "run.json", "-o", "page.html"];
        place.run(&flags).expect(0);
    }
    let page = place.run(&["report", "run.json", "-o", "-"]).expect(0);
    assert_eq!(page.stdout, place.read("page.html"));
}

#[test]
fn a_name_that_is_no_text_is_a_name_all_the_same() {
    use std::os::unix::ffi::OsStringExt;
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let name = std::ffi::OsString::from_vec(b"run\xff.json".to_vec());
    let mut command = place.command(&["measure", "sim:machine.toml", "--no-confirm", "--json"]);
    let output = command.arg(&name).output().unwrap();
    support::ran(output).expect(0);
    let directory = place.path("machine.toml");
    let written = std::fs::read_to_string(directory.with_file_name(name)).unwrap();
    let last = json_of(&written)["plan"]["arguments"][5].clone();
    assert_eq!(last, "run\u{fffd}.json");
}

#[test]
fn a_simulated_day_says_little_in_a_pipe() {
    let place = Place::with_machine(&disk("a", "1TB", "1MB/s", ""));
    let flags = ["measure", "sim:machine.toml", "--time", "24h"];
    let ran = place.run(&flags).expect(0).says("measuring, 10 s so far");
    // Twenty moments of the run and of its confirmation, and the notes.
    let lines = ran.stderr.lines().count();
    assert!(lines < 60, "{lines} lines");
}
