//! `sustain completions`: prints what a shell needs to complete commands, flags and files, and the
//! simulated disks for which its script asks.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::{PossibleValuesParser, ValueHint};
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use sustain::disk::simulated::MachineFile;
use sustain::record::source::framing::{FRAMINGS, Framing};

use super::output;
use crate::exit::Exit;
use crate::flags::Arguments;
use crate::flags::generated::CompletionsFlags;

const NAME: &str = "sustain";
/// What bash needs beside the generated script, and zsh.
const BASH_WORDS: &str = include_str!("sustain.bash");
const ZSH_TARGETS: &str = include_str!("sustain.zsh");

pub(crate) fn run(flags: &CompletionsFlags) -> anyhow::Result<Exit> {
    let text = match (&flags.targets, flags.shell) {
        (Some(word), _) => simulated_targets(word)
            .iter()
            .map(|name| format!("{name}\n"))
            .collect(),
        (None, Some(shell)) => script(shell)?,
        (None, None) => unreachable!("the shell is required where no targets are asked for"),
    };
    output::write(Path::new("-"), &text)?;
    Ok(Exit::Done)
}

fn script(shell: Shell) -> anyhow::Result<String> {
    let mut command = command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut script);
    let script = String::from_utf8(script).context("the script is not UTF-8")?;
    Ok(match shell {
        Shell::Bash => bash(&script),
        Shell::Zsh => zsh(&script),
        Shell::Fish => script + &fish(&command),
        _ => script,
    })
}

/// Puts the function that joins what bash takes apart before the generated one.
fn bash(script: &str) -> String {
    let mut lines: Vec<String> = script.lines().map(str::to_owned).collect();
    let end = lines.iter().position(|line| line == "}");
    lines.insert(end.map_or(lines.len(), |at| at + 1), BASH_WORDS.to_owned());
    let script = lines.join("\n") + "\n";
    script.replace("complete -F _sustain ", "complete -F _sustain_words ")
}

/// Completes targets by a function of its own instead of `_files`. After a word marked by two
/// colons zsh would complete no more flags, so words that may be repeated get one.
fn zsh(script: &str) -> String {
    let lines = script.lines().map(|line| {
        if line == "autoload -U is-at-least" {
            return format!("{line}\n{ZSH_TARGETS}");
        }
        let Some(repeated) = line.strip_prefix("'*::") else {
            return line.to_owned();
        };
        let is_target = repeated.starts_with("targets") || repeated.starts_with("inputs");
        let completed = if is_target {
            ":_sustain_targets"
        } else {
            ":_files"
        };
        format!("'*:{}", repeated.replace(":_files", completed))
    });
    lines.map(|line| line + "\n").collect()
}

/// Lines that let fish ask for simulated disks, besides its files.
fn fish(command: &Command) -> String {
    let commands = command.get_subcommands().filter(|one| takes_targets(one));
    let lines = commands.map(|one| {
        let condition = format!("__fish_sustain_using_subcommand {}", one.get_name());
        format!(
            "complete -c sustain -n \"{condition}\" -a \"(sustain completions --targets \
             (commandline -ct) 2> /dev/null)\"\n\
             complete -c sustain -n \"{condition}; and string match -q 'sim:*' -- (commandline \
             -ct)\" -f\n"
        )
    });
    lines.collect()
}

fn takes_targets(command: &Command) -> bool {
    let mut arguments = command.get_positionals();
    arguments.any(|arg| arg.get_id() == "targets" || arg.get_id() == "inputs")
}

/// The command line, with hints about what its words may be. Targets are words and not paths,
/// because `null:` and `sim:` are among them, but most of them are files and devices.
fn command() -> Command {
    let hinted = |arg: Arg| {
        let is_free = arg.get_possible_values().is_empty();
        let is_unknown = arg.get_value_hint() == ValueHint::Unknown;
        let names_file = arg.is_positional() || arg.get_id() == "destroy" || arg.get_id() == "from";
        if arg.get_id() == "frames" {
            arg.value_parser(PossibleValuesParser::new(FRAMINGS.map(Framing::name)))
        } else if !is_free || !is_unknown || !arg.get_action().takes_values() {
            arg
        } else if names_file {
            arg.value_hint(ValueHint::AnyPath)
        } else {
            // A figure or a name: files would be wrong.
            arg.value_hint(ValueHint::Other)
        }
    };
    Arguments::command().mut_subcommands(|command| command.mut_args(hinted))
}

/// The names that a simulated target may have if it begins with this: machine files and the
/// directories on the way to them, and the disks of a machine that is named.
fn simulated_targets(word: &str) -> Vec<String> {
    let Some(typed) = word.strip_prefix("sim:") else {
        return Vec::new();
    };
    let mut names = Vec::new();
    if let Some(end) = typed.find(".toml") {
        let file = &typed[..end + ".toml".len()];
        let machine = MachineFile::read(Path::new(file));
        let disks = machine.map(|machine| machine.disks).unwrap_or_default();
        names.extend(disks.iter().map(|disk| format!("sim:{file}:{}", disk.name)));
    }
    let directory = typed.rfind('/').map_or("", |at| &typed[..=at]);
    let place = if directory.is_empty() {
        "./"
    } else {
        directory
    };
    let entries = std::fs::read_dir(PathBuf::from(place));
    for entry in entries.into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if entry.path().is_dir() {
            names.push(format!("sim:{directory}{name}/"));
        } else if name.ends_with(".toml") {
            names.push(format!("sim:{directory}{name}"));
        }
    }
    names.retain(|name| name.starts_with(word));
    names.sort();
    names
}
