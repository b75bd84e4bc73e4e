//! `sustain completions`: prints what a shell needs to complete commands, flags and files.

use std::path::Path;

use anyhow::Context;
use clap::builder::ValueHint;
use clap::{Arg, Command, CommandFactory};

use super::output;
use crate::Exit;
use crate::flags::Arguments;
use crate::flags::generated::CompletionsFlags;

const NAME: &str = "sustain";

pub(crate) fn run(flags: &CompletionsFlags) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut command(), NAME, &mut script);
    let script = String::from_utf8(script).context("the script is not UTF-8")?;
    output::write(Path::new("-"), &script)?;
    Ok(Exit::Done)
}

/// The command line, with hints about what its words may be. Targets are words and not paths,
/// because `null:` and `sim:` are among them, but most of them are files and devices.
fn command() -> Command {
    let files = |arg: Arg| {
        let is_free = arg.get_possible_values().is_empty();
        let is_unknown = arg.get_value_hint() == ValueHint::Unknown;
        let names_target = arg.is_positional() || arg.get_id() == "destroy";
        if names_target && is_free && is_unknown {
            arg.value_hint(ValueHint::AnyPath)
        } else {
            arg
        }
    };
    Arguments::command().mut_subcommands(|command| command.mut_args(files))
}
