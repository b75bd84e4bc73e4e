//! What the command says when it is asked for what makes no sense: words that help, and exit 2.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use support::{Place, Ran, disk, json_of, ran, unwrapped};

/// Flags after `measure` that make no sense, or not together.
const CONTRADICTIONS: &[&[&str]] = &[
    &[],
    &["sim:machine.toml", "null:", "--layout", "stripe"],
    &["sim:machine.toml", "--raed"],
    &["sim:machine.toml", "--read", "--write"],
    &["sim:machine.toml", "--chunk", "64KiB"],
    &["sim:machine.toml", "--layout", "stripe", "--chunk", "0"],
    &["sim:machine.toml", "--layout", "stripe", "--threads", "2"],
    &["sim:machine.toml", "--layout", "raid5"],
    &[
        "sim:machine.toml",
        "--read",
        "--destroy",
        "sim:machine.toml",
    ],
    &["sim:machine.toml", "--destroy", "/dev/sdz"],
    &["sim:machine.toml", "--log", "dskwtst", "--interval", "2s"],
    &["sim:machine.toml", "--log", "syslog"],
    &["sim:machine.toml", "--interval", "often"],
    &["sim:machine.toml", "--interval", "1us"],
    &["sim:machine.toml", "--interval", "0B"],
    &["sim:machine.toml", "--record-size", "0"],
    &["sim:machine.toml", "--record-size", "2GiB"],
    &["sim:machine.toml", "--record-size", "2pounds"],
    &["sim:machine.toml", "--depth", "0"],
    &["sim:machine.toml", "--depth", "9999"],
    &["sim:machine.toml", "--threads", "0"],
    &["sim:machine.toml", "--time", "0s"],
    &["sim:machine.toml", "--time", "4parsecs"],
    &["sim:machine.toml", "--bytes", "0"],
    &["sim:machine.toml", "--size", "0"],
    &["sim:machine.toml", "--size", "64KiB"],
    &["sim:machine.toml", "--size", "9TB"],
    &["sim:machine.toml", "--rate", "0MB/s"],
    &["sim:machine.toml", "--rate", "20"],
    &["sim:machine.toml", "--rate", "1MB/s", "--until-steady"],
    &["sim:machine.toml", "--engine", "spdk"],
    &["sim:machine.toml", "--path", "sideways"],
    &["sim:machine.toml", "--data", "random"],
    &["sim:machine.toml", "--seed", "dice"],
    &["sim:machine.toml", "--report", "-"],
    &["sim:machine.toml", "--json", "a", "--report", "a"],
    &["sim:machine.toml", "--json", "no/such/run.json"],
    &["sim:machine.toml", "--report", "."],
    &["sim:machine.toml", "--report", "precious"],
    &["sim:machine.toml", "--json", "precious"],
    &["sim:machine.toml", "--json", "machine.toml"],
    &["sim:machine.toml:a", "--report", "./machine.toml"],
    &["sim:machine.toml", "--json", "new", "--report", "./new"],
    &["new", "--json", "./new"],
    &["sim:machine.toml", "--json", "new/"],
    &["new/"],
    &["sim:machine.toml", "sim:machine.toml:a"],
    &["sim:machine.toml:zz"],
    &["sim:nowhere.toml"],
    &["sim:"],
    &[""],
    &["null:", "--read"],
    &["no/such/file"],
    &[".", "precious"],
    &["precious", "./precious", "--read"],
    &["precious", "--write"],
    &["precious", "--write", "--destroy", "./precious"],
    &["precious", "--json", "./precious"],
    &["precious"],
];

#[test]
fn what_makes_no_sense_is_explained_and_touches_nothing() {
    let place = Place::with_machine(&disk("a", "1GB", "100MB/s", ""));
    place.write("precious", "of great value");
    insta::assert_snapshot!("measure", place.refusals(&["measure"], CONTRADICTIONS));
    assert_eq!(place.names(), ["machine.toml", "precious"]);
    assert_eq!(place.read("precious"), "of great value");
}

#[test]
fn an_explanation_says_each_thing_once() {
    let ran = Place::new().run(&["measure", "sim:nowhere.toml"]).expect(2);
    assert_eq!(
        ran.stderr.matches("No such file").count(),
        1,
        "{}",
        ran.stderr
    );
}

#[test]
fn without_a_command_it_says_what_there_is() {
    let place = Place::new();
    insta::assert_snapshot!(place.run(&[]).expect(2).stderr, @"
    Measure the rate that disks sustain, find what limits them, and record streams onto them

    Usage: sustain <COMMAND>

    Commands:
      devices      Show the disks, how they are connected, at which rates, and whether they may be
                   written
      measure      Measure the rate that disks sustain, and how fast one can record on them
      diagnose     Find the limits that disks share: why N disks are not N times as fast as one
      profile      Measure the rate at each position of a disk: zones, bad spots, and the lowest rate
      sweep        Compare settings: which engine, record size, depth and layout are best
      compare      Tell whether two measurements differ by more than noise
      create       Make a store of disks, partitions or files to record on
      record       Record streams onto a store
      control      Command a recording while it runs: status, pause, resume, split, stop, marks, pins
      list         List the recordings of a store
      extract      Read a recorded stream back: its bytes, or its frames as files
      mount        Mount a store: its recordings as directories, its streams and frames as files
      verify       Read everything in a store and account for every byte
      recover      Write the end mark of a recording that a crash or a kill cut off
      repair       Rebuild what a lost member had onto a new one, in a store with parity
      retire       Take a member out of a store, and copy what it had to the others
      scrub        Read everything, and put back what is damaged, in a store with parity
      unpin        Remove a pin, so that the ring may overwrite what it kept
      report       Show saved results again, or draw them as an HTML report
      completions  Print a completion script for a shell
      man          Write the manual pages
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Example:
      sustain measure . --report sustain.html
    ");
    insta::assert_snapshot!(place.refusal(&["measrue", "."]), @"error: unrecognized subcommand 'measrue' tip: some similar subcommands exist: 'compare', 'measure' Usage: sustain <COMMAND> For more information, try '--help'.");
}

#[test]
fn every_help_has_an_example() {
    let place = Place::new();
    for command in [
        &["--help"][..],
        &["measure", "--help"],
        &["report", "--help"],
    ] {
        let help = place.run(command).expect(0).stdout;
        let examples = help.split("Example").nth(1);
        assert!(
            examples.is_some_and(|examples| examples.contains("sustain ")),
            "no example in {help}"
        );
    }
    let help = unwrapped(&place.run(&["measure", "--help"]).expect(0).stdout);
    assert!(help.contains("130 interrupted"), "no exit codes in {help}");
    let version = place.run(&["--version"]).expect(0).stdout;
    assert_eq!(version, format!("sustain {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_rehearsal_says_what_would_be_done_and_does_nothing() {
    let place = Place::with_machine(&disk("a", "1GB", "100MB/s", ""));
    place.write("precious", "of great value");
    let rehearse = |code, arguments: &[&str]| {
        let ran = place.run(&[&["measure", "--dry-run"], arguments].concat());
        ran.expect(code).told()
    };
    insta::assert_snapshot!(rehearse(0, &[".", "--size", "4MiB"]), @"would write a scratch file in .: 4 MiB from its start, over and over");
    insta::assert_snapshot!(rehearse(2, &["new-file", "--size", "4MiB"]), @"sustain: new-file: it does not exist; --new-file creates it");
    let new = ["new-file", "--new-file", "--size", "4MiB"];
    insta::assert_snapshot!(rehearse(0, &new), @"
    new-file is created and is kept after the run
    would write new-file (file): 4 MiB from its start, over and over
    ");
    insta::assert_snapshot!(rehearse(0, &["sim:machine.toml"]), @"would write a (simulated): 953 MiB from its start, at most once, and again in the runs that follow");
    insta::assert_snapshot!(rehearse(2, &["precious", "--write"]), @"sustain: refusing to write precious: it exists (data of a kind not recognised) and would be overwritten. To destroy what is on it, add --destroy precious; to leave it as it is, use --read");
    let destroy = [
        "precious",
        "--write",
        "--destroy",
        "precious",
        "--size",
        "4MiB",
    ];
    insta::assert_snapshot!(rehearse(0, &destroy), @"
    precious: what is on it (data of a kind not recognised) is destroyed
    precious is extended from 14 B to 4 MiB and keeps that length
    would write precious (file): 4 MiB from its start, over and over
    ");
    assert_eq!(place.names(), ["machine.toml", "precious"]);
    assert_eq!(place.read("precious"), "of great value");
}

/// Runs a command whose reader has gone before the first word.
fn run_unread(place: &Place, arguments: &[&str]) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(arguments);
    ran(command.stdout(writer).output().unwrap())
}

#[test]
fn a_reader_that_has_had_enough_changes_no_exit_code_and_hears_no_word() {
    let disks = |rate: &str| disk("a", "1TB", rate, "") + &disk("b", "1TB", rate, "");
    let place = Place::with_machine(&disks("100MB/s"));
    let measure = ["measure", "sim:machine.toml", "--no-confirm", "--json"];
    place.run(&[&measure[..], &["run.json"]].concat()).expect(0);
    let store = ["create", "store", "--size", "8MiB", "--slot", "64KiB"];
    place.run(&store).expect(0);
    let commands: [&[&str]; 13] = [
        &["completions", "bash"],
        &["man"],
        &["devices"],
        &["devices", "--json", "-"],
        &["list", "store"],
        &["list", "store", "--json", "-"],
        &["verify", "store"],
        &["compare", "run.json", "run.json"],
        &["compare", "run.json", "run.json", "--json", "-"],
        &["report", "run.json"],
        &["report", "run.json", "-o", "-"],
        &["--help"],
        &["man", "--help"],
    ];
    for arguments in commands {
        let told = place.run(arguments);
        let ran = run_unread(&place, arguments);
        assert_eq!(
            (ran.code, ran.stderr),
            (told.code, told.stderr),
            "{arguments:?}"
        );
    }
    for work in ["measure", "diagnose", "profile", "sweep"] {
        let mut arguments = vec![work, "sim:machine.toml"];
        if work == "sweep" {
            arguments.extend(["--record-size", "1MiB", "--depth", "1,2"]);
        }
        let told = place.run(&arguments).expect(0);
        let ran = run_unread(&place, &arguments).expect(0);
        assert_eq!(ran.stderr, told.stderr, "{work}");
    }
    // The work decides, not the reader.
    place.write("machine.toml", &disks("80MB/s"));
    place
        .run(&[&measure[..], &["slow.json"]].concat())
        .expect(0);
    let limit = ["compare", "run.json", "slow.json", "--fail-if-slower", "5%"];
    run_unread(&place, &limit).expect(1);
}

#[test]
fn words_that_cannot_be_written_are_an_error() {
    let place = Place::new();
    for arguments in [&["completions", "bash"][..], &["man"], &["devices"]] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = place.command(arguments).stdout(full).output().unwrap();
        ran(output)
            .expect(1)
            .says("cannot write to standard output: No space left on device");
    }
}

#[test]
fn nothing_is_printed_over_what_is_measured() {
    let place = Place::new();
    place.write("target", &"what lies here ".repeat(100_000));
    let before = place.read("target");
    let opened = || {
        let path = place.path("target");
        File::options().read(true).write(true).open(path).unwrap()
    };
    for command in ["measure", "sweep", "profile"] {
        let arguments = [command, "target", "--read"];
        let printing = place.command(&arguments).stdout(opened()).output();
        ran(printing.unwrap())
            .expect(2)
            .says("standard output is a target, and what is printed would be written over");
        let silenced = place.command(&arguments).stderr(opened()).output();
        let told = ran(silenced.unwrap()).expect(2).stdout;
        assert!(told.contains("standard error is a target"), "{told}");
    }
    assert!(place.read("target") == before);
}

#[test]
fn a_result_that_waits_for_the_reader_of_a_pipe_says_so() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, place.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let arguments = [
        "measure",
        "sim:machine.toml",
        "--time",
        "20s",
        "--json",
        "pipe",
    ];
    let mut child = place.command(&arguments).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut words = String::new();
    while !words.contains("the result waits for a reader") {
        assert!(said.read_line(&mut words).unwrap() > 0, "{words}");
    }
    let result = json_of(&place.read("pipe"));
    assert_eq!(result["schema"], "sustain.measure/1");
    ran(child.wait_with_output().unwrap()).expect(0);
}
