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

/// Flags after `measure`, and words of the answer.
const CONTRADICTIONS: &[(&[&str], &str)] = &[
    (&[], "required arguments were not provided"),
    (
        &["sim:machine.toml", "null:", "--layout", "stripe"],
        "cannot mix simulated and real disks",
    ),
    (
        &["sim:machine.toml", "--raed"],
        "similar argument exists: '--read'",
    ),
    (
        &["sim:machine.toml", "--read", "--write"],
        "cannot be used with",
    ),
    (&["sim:machine.toml", "--chunk", "64KiB"], "--layout stripe"),
    (
        &["sim:machine.toml", "--layout", "stripe", "--chunk", "0"],
        "--chunk must be at least",
    ),
    (
        &["sim:machine.toml", "--layout", "stripe", "--threads", "2"],
        "leave out --threads",
    ),
    (
        &["sim:machine.toml", "--layout", "raid5"],
        "independent, stripe, span",
    ),
    (
        &[
            "sim:machine.toml",
            "--read",
            "--destroy",
            "sim:machine.toml",
        ],
        "destroys nothing",
    ),
    (
        &["sim:machine.toml", "--destroy", "/dev/sdz"],
        "names none of the targets",
    ),
    (
        &["sim:machine.toml", "--log", "dskwtst", "--interval", "2s"],
        "leave out --interval",
    ),
    (&["sim:machine.toml", "--log", "syslog"], "dskwtst"),
    (
        &["sim:machine.toml", "--interval", "often"],
        "neither a time nor a size",
    ),
    (&["sim:machine.toml", "--interval", "1us"], "at least 1ms"),
    (
        &["sim:machine.toml", "--interval", "0B"],
        "at least one byte",
    ),
    (
        &["sim:machine.toml", "--record-size", "0"],
        "--record-size must be",
    ),
    (&["sim:machine.toml", "--record-size", "2GiB"], "to 1GiB"),
    (&["sim:machine.toml", "--record-size", "2pounds"], "pounds"),
    (&["sim:machine.toml", "--depth", "0"], "from 1 to 4096"),
    (&["sim:machine.toml", "--depth", "9999"], "from 1 to 4096"),
    (&["sim:machine.toml", "--threads", "0"], "at least 1"),
    (&["sim:machine.toml", "--time", "0s"], "--time must be"),
    (&["sim:machine.toml", "--time", "4parsecs"], "30s"),
    (&["sim:machine.toml", "--bytes", "0"], "--bytes must be"),
    (
        &["sim:machine.toml", "--size", "0"],
        "smaller --record-size",
    ),
    (
        &["sim:machine.toml", "--size", "64KiB"],
        "smaller --record-size",
    ),
    (
        &["sim:machine.toml", "--size", "9TB"],
        "--size asks for more",
    ),
    (&["sim:machine.toml", "--rate", "0MB/s"], "above zero"),
    (&["sim:machine.toml", "--rate", "20"], "200MB/s"),
    (
        &["sim:machine.toml", "--rate", "1MB/s", "--until-steady"],
        "choose one of the two",
    ),
    (&["sim:machine.toml", "--engine", "spdk"], "io_uring"),
    (
        &["sim:machine.toml", "--path", "sideways"],
        "direct, buffered",
    ),
    (
        &["sim:machine.toml", "--data", "random"],
        "fresh, rewritten, zero",
    ),
    (&["sim:machine.toml", "--seed", "dice"], "--seed"),
    (&["sim:machine.toml", "--report", "-"], "needs the name"),
    (
        &["sim:machine.toml", "--json", "a", "--report", "a"],
        "the same file",
    ),
    (
        &["sim:machine.toml", "--json", "no/such/run.json"],
        "choose another file",
    ),
    (
        &["sim:machine.toml", "--report", "."],
        "choose another file",
    ),
    (
        &["sim:machine.toml", "--report", "precious"],
        "it exists and is not a report of sustain; choose another file",
    ),
    (
        &["sim:machine.toml", "--json", "precious"],
        "it exists and is not a report of sustain; choose another file",
    ),
    (
        &["sim:machine.toml", "--json", "machine.toml"],
        "machine.toml is the file of a simulated machine",
    ),
    (
        &["sim:machine.toml:a", "--report", "./machine.toml"],
        "machine.toml is the file of a simulated machine",
    ),
    (
        &["sim:machine.toml", "--json", "new", "--report", "./new"],
        "the same file",
    ),
    (&["new", "--json", "./new"], "new is a target"),
    (
        &["sim:machine.toml", "--json", "new/"],
        "it names a directory, and there is none",
    ),
    (
        &["new/"],
        "the directory new/ does not exist; create it first",
    ),
    (&["sim:machine.toml", "sim:machine.toml:a"], "given twice"),
    (&["sim:machine.toml:zz"], "its disks are a"),
    (&["sim:nowhere.toml"], "is the path right?"),
    (&["sim:"], "expected sim:MACHINE.toml"),
    (&[""], "no name"),
    (&["null:", "--read"], "nothing to read"),
    (&["no/such/file"], "create it first"),
    (&[".", "precious"], "use --read or --write"),
    (&["precious", "./precious", "--read"], "the same thing"),
    (&["precious", "--write"], "--destroy precious"),
    (
        &["precious", "--write", "--destroy", "./precious"],
        "exactly as the target is written",
    ),
    (&["precious", "--json", "./precious"], "to another file"),
    (&["precious"], "less than one record"),
];

#[test]
fn what_makes_no_sense_is_explained_and_touches_nothing() {
    let place = Place::with_machine(&disk("a", "1GB", "100MB/s", ""));
    place.write("precious", "of great value");
    for (flags, words) in CONTRADICTIONS {
        eprintln!("measure {flags:?}");
        let ran = place
            .run(&[&["measure"], *flags].concat())
            .expect(2)
            .says(words);
        assert_eq!(ran.stdout, "", "results go there, explanations do not");
        assert!(ran.stderr.lines().count() < 12, "too long: {}", ran.stderr);
    }
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
    let ran = Place::new().run(&[]).expect(2);
    for words in ["measure", "report", "Example"] {
        assert!(ran.stderr.contains(words), "no {words} in {}", ran.stderr);
    }
    Place::new()
        .run(&["measrue", "."])
        .expect(2)
        .says("'measure'");
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
    let rehearse = |arguments: &[&str]| place.run(&[&["measure", "--dry-run"], arguments].concat());
    rehearse(&[".", "--size", "4MiB"])
        .expect(0)
        .says("would write . (");
    rehearse(&["new-file", "--size", "4MiB"])
        .expect(2)
        .says("new-file does not exist; --new-file creates it");
    rehearse(&["new-file", "--new-file", "--size", "4MiB"])
        .expect(0)
        .says("would write new-file");
    rehearse(&["sim:machine.toml"])
        .expect(0)
        .says("would write a (");
    rehearse(&["precious", "--write"])
        .expect(2)
        .says("--destroy precious");
    let destroy = [
        "precious",
        "--write",
        "--destroy",
        "precious",
        "--size",
        "4MiB",
    ];
    rehearse(&destroy).expect(0).says("destroyed");
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
