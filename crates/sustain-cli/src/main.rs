//! The `sustain` command: parses what was typed, runs the command, and sets the exit code.

mod commands;
mod exit;
mod flags;
mod interrupt;
mod nearest;
mod request;
mod startup;
mod usage_error;

use std::process::ExitCode;

use clap::Parser;
use sustain::document::setting::name_by_flags;
use sustain::record::store::{check_answering, on_long_wait};
use sustain::record::{RecordError, put_back_limits};

use crate::exit::Exit;
use crate::flags::{Arguments, Command};

fn main() -> ExitCode {
    name_by_flags();
    let arguments = Arguments::parse();
    on_long_wait(|words| commands::say(&format!("note: {words}")));
    let result = run(arguments.command);
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            // With its causes, each once: no error repeats its source in its own words.
            let words = format!("{error:#}");
            commands::say(&format!("sustain: {words}"));
            // What does not answer must not be searched for names.
            let is_silent = matches!(error.downcast_ref(), Some(RecordError::Silent(_)));
            if !is_silent && let Some(hint) = nearest::hint(nearest::typed(), &words) {
                commands::say(&hint);
            }
            Exit::from_error(&error).into()
        }
    }
}

fn run(command: Command) -> anyhow::Result<Exit> {
    // Whatever a command does with a path that the user named, this has touched it first.
    check_answering(nearest::paths(nearest::typed()))?;
    match command {
        Command::Devices(flags) => commands::devices::run(&flags),
        Command::Measure(flags) => commands::measure::run(&flags),
        Command::Diagnose(flags) => commands::diagnose::run(&flags),
        Command::Profile(flags) => commands::profile::run(&flags),
        Command::Sweep(flags) => commands::sweep::run(&flags),
        Command::Compare(flags) => commands::compare::run(&flags),
        Command::Create(flags) => commands::create::run(&flags),
        Command::Record(flags) => commands::record::run(&flags),
        Command::Control(flags) => commands::control::run(&flags),
        Command::List(flags) => commands::list::run(&flags),
        Command::Extract(flags) => commands::extract::run(&flags),
        Command::Mount(flags) => commands::mount::run(&flags),
        Command::Verify(flags) => commands::verify::run(&flags),
        Command::Recover(flags) => commands::recover::run(&flags),
        Command::Repair(flags) => commands::repair::run(&flags),
        Command::Retire(flags) => commands::retire::run(&flags),
        Command::Scrub(flags) => commands::scrub::run(&flags),
        Command::Unpin(flags) => commands::unpin::run(&flags),
        Command::Report(flags) => commands::report::run(&flags),
        Command::Completions(flags) => commands::completions::run(&flags),
        Command::Man(flags) => commands::man::run(&flags),
        Command::PutBackLimits(flags) => {
            interrupt::ignore_all()?;
            put_back_limits(&flags.journal)?;
            Ok(Exit::Done)
        }
    }
}
