//! `sustain completions` and `sustain man`: every command and every flag is in them, shells and man
//! take them. What needs a program that is not there is skipped, with the reason.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;

use std::process::{Command, Stdio};

use support::{Place, unwrapped};
use sustain_testing::{Requirement, skip};

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

/// The first words of the lines between this heading and the next empty line.
fn listed(help: &str, heading: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let entries = lines.filter(|line| line.starts_with("  ") && !line.starts_with("       "));
    let words = entries.filter_map(|line| line.split_whitespace().next());
    words.map(str::to_owned).collect()
}

fn commands(place: &Place) -> Vec<String> {
    let commands = listed(&place.run(&["--help"]).expect(0).stdout, "Commands:");
    let own = commands.into_iter().filter(|command| command != "help");
    own.collect()
}

/// The long names of a command's flags, as its help has them.
fn flags(place: &Place, command: &str) -> Vec<String> {
    let help = place.run(&[command, "--help"]).expect(0).stdout;
    let words = help.lines().filter(|line| line.starts_with("      --"));
    let names = words.map(|line| {
        let typed = line.split_whitespace().next().unwrap();
        // A value that may be left out is joined to its flag: --effect[=<PATHS>].
        typed.split('[').next().unwrap().to_owned()
    });
    names.collect()
}

/// Whether a program is here.
fn has(program: &'static str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        skip(Requirement::Program(program), "it is not here");
    }
    found.is_ok()
}

#[test]
fn every_command_and_flag_is_in_every_shells_completions() {
    let place = Place::new();
    let scripts = SHELLS.map(|shell| place.run(&["completions", shell]).expect(0).stdout);
    let commands = commands(&place);
    assert!(commands.len() >= 13, "{commands:?}");
    for command in &commands {
        for flag in flags(&place, command) {
            let name = flag.trim_start_matches('-');
            for script in &scripts {
                assert!(script.contains(command) && script.contains(name), "{flag}");
            }
        }
    }
}

#[test]
fn bash_takes_its_completions_and_completes() {
    if !has("bash") {
        return;
    }
    let place = Place::new();
    let script = place.run(&["completions", "bash"]).expect(0).stdout;
    place.write("sustain.bash", &script);
    place.write("results.json", "");
    let complete = |words: &str| {
        let asked = format!(
            "source sustain.bash; complete -p sustain; COMP_LINE='{words}'; \
             COMP_POINT=${{#COMP_LINE}}; _sustain_words; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let bash = bash
            .args(["--norc", "-c", &asked])
            .env("PATH", path_with_sustain());
        let output = bash.current_dir(place.path(".")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // Where it has no answer of its own bash completes files: targets are.
    assert!(complete("sustain sw").contains("-o default"));
    assert!(complete("sustain sw").contains("\nsweep\n"));
    assert!(complete("sustain sweep --rep").contains("\n--report\n"));
    assert!(complete("sustain measure --engine lib").contains("\nlibaio\n"));
    assert!(complete("sustain measure x --json res").contains("\nresults.json\n"));
    // Where there is no answer, bash completes files: for every target.
    for words in [
        "sustain measure ",
        "sustain measure res",
        "sustain measure a b ",
    ] {
        let answer = complete(words);
        assert_eq!(answer.lines().skip(1).collect::<String>(), "", "{words}");
    }
    place.write(
        "machine.toml",
        "[[disk]]\nname = \"left\"\ncapacity = \"1GB\"\nread = \"9MB/s\"\n",
    );
    let answers = [
        ("sustain measure --engine=lib", "libaio"),
        ("sustain sweep --engine=io_uring,lib", "io_uring,libaio"),
        ("sustain record x --frames=j", "jpeg"),
        ("sustain measure sim:mach", "machine.toml"),
        ("sustain measure a sim:machine.toml:", "left"),
        ("sustain compare --ab x y sim:machine.toml:l", "left"),
    ];
    for (words, expected) in answers {
        let answer = complete(words);
        let replies: Vec<&str> = answer.lines().skip(1).collect();
        assert_eq!(replies, [expected], "{words}");
    }
}

/// Where shells find the command, which their scripts ask for simulated disks.
fn path_with_sustain() -> String {
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_sustain"));
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", own.parent().unwrap().display())
}

#[test]
fn fish_completes_values_files_and_simulated_disks() {
    if !has("fish") {
        return;
    }
    let place =
        Place::with_machine("[[disk]]\nname = \"left\"\ncapacity = \"1GB\"\nread = \"9MB/s\"\n");
    let script = place.run(&["completions", "fish"]).expect(0).stdout;
    place.write("sustain.fish", &script);
    let answers = [
        ("sustain measure --engine=lib", "--engine=libaio"),
        ("sustain record x --frames j", "jpeg"),
        ("sustain measure a mach", "machine.toml"),
        (
            "sustain measure a sim:machine.toml:",
            "sim:machine.toml:left",
        ),
    ];
    for (words, expected) in answers {
        let asked = format!("source sustain.fish; complete -C '{words}'");
        let mut fish = Command::new("fish");
        let fish = fish.args(["--no-config", "-c", &asked]);
        let fish = fish
            .current_dir(place.path("."))
            .env("PATH", path_with_sustain());
        let output = fish.output().unwrap();
        let answer = String::from_utf8(output.stdout).unwrap();
        let replies = answer.lines().map(|line| line.split('\t').next().unwrap());
        assert_eq!(replies.collect::<Vec<_>>(), [expected], "{words}");
    }
}

#[test]
fn zsh_takes_its_completions() {
    if !has("zsh") {
        return;
    }
    let place = Place::new();
    let script = place.run(&["completions", "zsh"]).expect(0).stdout;
    place.write("_sustain", &script);
    let mut zsh = Command::new("zsh");
    let zsh = zsh
        .args(["-f", "-n", "_sustain"])
        .current_dir(place.path("."));
    let output = zsh.output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn zsh_completes_targets_and_documents_as_files() {
    let place = Place::new();
    let zsh = place.run(&["completions", "zsh"]).expect(0).stdout;
    let sweep = &zsh[zsh.find("(sweep)").unwrap()..zsh.find("(create)").unwrap()];
    for file in ["--json=", "--report=", "--destroy="] {
        let line = sweep.lines().find(|line| line.contains(file)).unwrap();
        assert!(line.contains(":_files"), "{line}");
    }
    let targets = sweep.lines().find(|line| line.contains(":targets"));
    assert!(
        targets.unwrap().contains(":_sustain_targets"),
        "{targets:?}"
    );
}

#[test]
fn each_command_has_a_page_with_its_flags_and_examples() {
    let place = Place::new();
    let ran = place.run(&["man", "share/man1"]).expect(0);
    let mut pages = vec!["sustain.1".to_owned()];
    for command in commands(&place) {
        let name = format!("sustain-{command}.1");
        let page = place.read(&format!("share/man1/{name}"));
        let plain = page.replace('\\', "");
        for flag in flags(&place, &command) {
            assert!(plain.contains(&flag), "{name} lacks {flag}");
        }
        assert!(
            page.contains(&format!("\n.TH sustain-{command} 1 ")),
            "{page}"
        );
        assert!(page.contains("\n.SH EXAMPLES\n"), "{page}");
        pages.push(name);
    }
    ran.says(&format!("{} manual pages are in share/man1", pages.len()));
    let directory = std::fs::read_dir(place.path("share/man1")).unwrap();
    let mut found: Vec<String> = directory
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    pages.sort();
    assert_eq!(found, pages);
}

#[test]
fn the_page_of_the_tool_goes_to_standard_output_and_begins_as_man_wants() {
    let place = Place::new();
    let page = place.run(&["man"]).expect(0).stdout;
    // Lines before the title say how apostrophes are printed.
    let first = page.lines().find(|line| !line.contains(" Aq "));
    assert!(first.unwrap().starts_with(".TH sustain 1 "), "{page}");
    assert!(page.contains(".SH EXAMPLES") && page.contains("sustain\\-sweep(1)"));
    assert!(place.names().is_empty());
}

#[test]
fn man_shows_the_pages_without_a_complaint() {
    if !has("man") {
        return;
    }
    let place = Place::new();
    place.run(&["man", "pages"]).expect(0);
    let mut man = Command::new("man");
    man.args(["--warnings", "-l", "pages/sustain-sweep.1"]);
    man.current_dir(place.path(".")).env("MANWIDTH", "100");
    let shown = man.output().unwrap();
    let told = String::from_utf8_lossy(&shown.stderr);
    assert!(shown.status.success() && told.is_empty(), "{told}");
    let text = unwrapped(&String::from_utf8_lossy(&shown.stdout));
    assert!(
        text.contains("EXIT STATUS 0 done 1 requests failed"),
        "{text}"
    );
}

#[test]
fn the_short_help_has_the_flags_that_people_use() {
    let place = Place::new();
    let short = place.run(&["measure", "-h"]).expect(0).stdout;
    let flags = short.lines().filter(|line| line.starts_with("      --"));
    let flags: Vec<&str> = flags
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    let expected = [
        "--write",
        "--read",
        "--size",
        "--record-size",
        "--depth",
        "--rate",
        "--time",
        "--destroy",
        "--new-file",
        "--dry-run",
        "--json",
        "--report",
    ];
    assert_eq!(flags, expected);
    assert!(
        unwrapped(&short).contains("`sustain measure --help` has all flags"),
        "{short}"
    );
}

#[test]
fn the_long_help_is_grouped_and_explains_the_output() {
    let place = Place::new();
    let long = place.run(&["measure", "--help"]).expect(0).stdout;
    let headings: Vec<&str> = long
        .lines()
        .filter(|line| line.ends_with(':') && !line.starts_with(' '))
        .collect();
    let expected = [
        "Arguments:",
        "Options:",
        "What to load:",
        "How:",
        "How long:",
        "Safety:",
        "Output:",
        "Rarely needed:",
        "Examples:",
        "What the output means:",
    ];
    assert_eq!(headings, expected);
}

#[test]
fn a_help_fits_its_terminal_and_commands_in_it_can_be_copied() {
    let place = Place::new();
    for command in commands(&place) {
        for kind in ["-h", "--help"] {
            let mut ran = place.command(&[&command, kind]);
            let output = ran.env("COLUMNS", "80").output().unwrap();
            let help = String::from_utf8(output.stdout).unwrap();
            let wide: Vec<&str> = help
                .lines()
                .filter(|line| line.chars().count() > 80)
                .collect();
            assert_eq!(wide, [""; 0], "{command} {kind}");
        }
    }
    let mut sweep = place.command(&["sweep", "--help"]);
    let output = sweep.env("COLUMNS", "80").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(
        help.contains("--engine io_uring,libaio,threads \\\n      --budget 5m\n"),
        "{help}"
    );
}

#[test]
fn a_page_has_its_groups_the_meaning_of_its_output_and_the_pages_to_read_next() {
    let place = Place::new();
    place.run(&["man", "pages"]).expect(0);
    let page = place.read("pages/sustain-measure.1");
    let headings: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with(".SH ") || line.starts_with(".SS "))
        .collect();
    let expected = [
        ".SH NAME",
        ".SH SYNOPSIS",
        ".SH DESCRIPTION",
        ".SH OPTIONS",
        ".SS \"What to load\"",
        ".SS \"How\"",
        ".SS \"How long\"",
        ".SS \"Safety\"",
        ".SS \"Output\"",
        ".SS \"Rarely needed\"",
        ".SH EXAMPLES",
        ".SH OUTPUT",
        ".SH NOTES",
        ".SH \"EXIT STATUS\"",
        ".SH \"SEE ALSO\"",
    ];
    assert_eq!(headings, expected);
    let end = page.lines().last().unwrap().replace('\\', "");
    assert!(end.starts_with("sustain(1), sustain-profile(1), "), "{end}");
}

#[test]
fn pages_need_a_directory() {
    let place = Place::new();
    place.write("file", "");
    place
        .run(&["man", "file"])
        .expect(2)
        .says("file is not a directory: name one");
    place
        .run(&["completions", "ksh"])
        .expect(2)
        .says("possible values");
}
