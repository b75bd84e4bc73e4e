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
            "source sustain.bash; complete -p sustain; COMP_WORDS=({words}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _sustain sustain \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let bash = bash.args(["--norc", "-c", &asked]);
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
    assert!(!complete("sustain measure res").contains("--"));
}

#[test]
fn other_shells_complete_targets_and_documents_as_files() {
    let place = Place::new();
    let zsh = place.run(&["completions", "zsh"]).expect(0).stdout;
    let sweep = &zsh[zsh.find("(sweep)").unwrap()..zsh.find("(create)").unwrap()];
    for file in ["--json=", "--report=", "--destroy="] {
        let line = sweep.lines().find(|line| line.contains(file)).unwrap();
        assert!(line.contains(":_files"), "{line}");
    }
    let targets = sweep.lines().find(|line| line.contains(":targets"));
    assert!(targets.unwrap().contains(":_files"), "{targets:?}");
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
    ran.says(&format!("{} pages: share/man1", pages.len()));
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
