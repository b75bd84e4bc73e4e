//! Two settings in turn: simulated machines whose difference is known, a file, a rehearsal, Ctrl-C.

use std::fs::File;

use rustix::process::Signal;
use serde_json::Value;

use crate::assert_valid;
use crate::running::Running;
use crate::support::{Place, assert_about, json_of, notes_of};

/// A disk of 100 MB/s whose requests cost 2 ms each, hidden behind the transfer before.
const DISK: &str = "[[disk]]\nname = \"d0\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
                    request = \"2ms\"\nnoise = \"0.5%\"\n";

fn tried(settings: [&str; 2], flags: &[&str], code: i32) -> Value {
    let place = Place::with_machine(DISK);
    let [a, b] = settings;
    let words = ["compare", "--ab", a, b, "sim:machine.toml", "--json", "-"];
    let result = json_of(&place.run(&[&words, flags].concat()).expect(code).stdout);
    assert_valid(&result);
    result
}

#[test]
fn a_depth_that_hides_the_cost_of_requests_is_faster() {
    let result = tried(["--depth 1", "--depth 8"], &[], 0);
    assert_eq!(result["answer"]["verdict"], "faster");
    assert_eq!(result["trial"]["ended"], "shown");
    // 1 MiB in 10.49 ms, or in 12.49 ms.
    assert_about(&result["rows"][0]["ratio"], 12.49 / 10.49, 2.0);
    assert_eq!(result["trial"]["runs"].as_array().unwrap().len(), 8);
    assert_eq!(result["a"]["label"], "--depth 1");
}

#[test]
fn small_records_are_slower_and_fail_a_limit() {
    let settings = ["--depth 1", "--depth 1 --record-size 64KiB"];
    let result = tried(settings, &["--fail-if-slower", "20%"], 1);
    assert_eq!(result["answer"]["verdict"], "slower");
    assert_eq!(result["limit"]["outcome"], "slower");
}

#[test]
fn equal_settings_are_alike_and_said_to_be_one() {
    let result = tried(["--depth 8", "--record-size 1MiB"], &["--seed", "1"], 0);
    assert_eq!(result["answer"]["verdict"], "no_difference_shown");
    assert_eq!(result["trial"]["is_same_setting"], true);
    insta::assert_snapshot!(notes_of(&result), @"A and B are the same setting (an A/A trial): a difference that shows here is noise, or an effect of one run on the next");
}

#[test]
fn the_words_say_who_is_faster_and_what_the_interval_is_of() {
    let place = Place::with_machine(DISK);
    let ab = ["compare", "--ab", "", "--depth 1", "sim:machine.toml"];
    let ran = place
        .run(&[&ab[..], &["--report", "page.html", "--json", "json"]].concat())
        .expect(0);
    insta::assert_snapshot!(ran.stdout, @"
    B is 16.1 % slower than A, more than noise explains; the 95 % interval is 14.6 % to 17.5 %. Besides
      the rate, these differ by more than noise: p99.9 latency -85.5 %, max latency -85.5 %. These
      figures are of a simulated machine, not of real disks.

    A: defaults (write d0, 12 s, simulated time)
    B: --depth 1 (write d0, 12 s, simulated time)

    all together
                           A          B    B - A       95 % interval  verdict  resolution
     rate           100 MB/s  84.1 MB/s  -16.1 %  -17.5 % to -14.6 %  slower        2.0 %
     p99.9 latency   85.7 ms    12.5 ms  -85.5 %  -85.7 % to -85.2 %  less          1.9 %
     max latency     85.7 ms    12.5 ms  -85.5 %  -85.7 % to -85.2 %  less          1.9 %
      resolution: a difference of this size would have been seen four times out of five; a smaller one
        may have been missed
    ");
    // How often a line shows the rate depends on how busy the machine is.
    let lines = ran.stderr.lines().filter(|line| !line.contains(" to go: "));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    A (defaults) and B (--depth 1) in turn, in runs of 3 s, until a difference is seen, or one above 1.0 % is ruled out, for at most 5 min
       1   101 MB/s  A (defaults)
       2  84.2 MB/s  B (--depth 1)
       3  84.3 MB/s  B (--depth 1)
       4   100 MB/s  A (defaults)
       5  83.9 MB/s  B (--depth 1)
       6   101 MB/s  A (defaults)
    after 3 pairs B reaches 83.8 % of A's rate (95 % interval: 81.7 to 85.8 %)
       7  99.6 MB/s  A (defaults)
       8  84.2 MB/s  B (--depth 1)
    after 4 pairs B reaches 83.9 % of A's rate (95 % interval: 82.5 to 85.4 %)
    report: page.html
    ");
    let page = place.read("page.html");
    let again = ["report", "json", "-o", "again.html"];
    place.run(&again).expect(0);
    assert!(place.read("again.html") == page, "drawn anew it is another");
    place
        .run(&["report", "json", "json", "-o", "two.html"])
        .expect(0);
    assert_eq!(place.read("two.html").matches("id=\"trial-1\"").count(), 1);
}

#[test]
fn a_rehearsal_says_what_would_be_measured_and_makes_nothing() {
    let place = Place::new();
    std::fs::create_dir(place.path("x")).unwrap();
    let ran = place
        .run(&[
            "compare",
            "--ab",
            "--depth 1",
            "",
            "x",
            "--size",
            "64MiB",
            "--dry-run",
        ])
        .expect(0);
    insta::assert_snapshot!(ran.told(), @"
    would write a scratch file in x: up to 64 MiB from its start, over and over
    would measure A (--depth 1) and B (defaults) in turn, in runs of 3 s, until a difference is seen, or one above 1.0 % is ruled out, for at most 5 min
    ");
    assert_eq!(std::fs::read_dir(place.path("x")).unwrap().count(), 0);
}

const SHORT: [&str; 4] = ["--size", "8MiB", "--time-per-run", "100ms"];

#[test]
fn paths_engines_and_data_are_compared_on_one_file() {
    let place = Place::in_memory();
    std::fs::create_dir(place.path("x")).unwrap();
    let ab = [
        "--ab",
        "--engine sync --record-size 4KiB",
        "--path buffered --threads 1 --data zero --record-size 4KiB --depth 2",
    ];
    let flags = [
        &["compare"],
        &ab[..],
        &["x", "--json", "-", "--time", "2s"],
        &SHORT,
    ]
    .concat();
    let result = json_of(&place.run(&flags).expect(0).stdout);
    assert_valid(&result);
    let runs = result["trial"]["runs"].as_array().unwrap();
    assert!(runs.len() >= 2, "{result:#}");
    assert_eq!(result["a"]["engine"], "sync");
    let metrics = result["rows"].as_array().unwrap().iter();
    let metrics: Vec<&str> = metrics.map(|row| row["metric"].as_str().unwrap()).collect();
    assert_eq!(
        metrics,
        ["rate", "latency_p99_9", "latency_max", "cpu_per_gb"]
    );
    assert_eq!(std::fs::read_dir(place.path("x")).unwrap().count(), 0);
}

#[test]
fn an_interrupted_trial_concludes_from_what_there_is() {
    let place = Place::in_memory();
    std::fs::create_dir(place.path("x")).unwrap();
    let ab = [
        "compare", "--ab", "", "", "x", "--alike", "0%", "--json", "json",
    ];
    let mut command = place.command(&[&ab[..], &SHORT].concat());
    command.stderr(File::create(place.path("said")).unwrap());
    let mut running = Running::start(&mut command);
    let has_pairs = || place.read("said").contains("after 3 pairs");
    assert!(running.becomes(has_pairs));
    running.signal(Signal::INT);
    let ran = running.finish().expect(130);
    insta::assert_snapshot!(ran.stdout.split("; ").next().unwrap(), @"The comparison was interrupted");
    let result = json_of(&place.read("json"));
    assert_valid(&result);
    assert_eq!(result["trial"]["ended"], "interrupted");
    assert!(result["rows"][0]["ci95_ratio"].is_array(), "{result:#}");
    assert_eq!(place.names(), ["json", "said", "x"]);
}
