//! `sustain-benchmarks`: compares the release build of `sustain` with fio and other programs on
//! this machine and prints the tables of docs/benchmarks.md. Anyone can run it; it leaves nothing
//! behind, and no test depends on what it measures.
#![forbid(unsafe_code)]

mod group;
mod groups;
mod interrupt;
mod machine;
mod pairs;
mod places;
mod process;
mod progress;
mod roles;
mod setting;
mod source;
mod statistics;
mod table;
mod tools;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::group::Group;
use crate::interrupt::Interrupt;
use crate::progress::progress;
use crate::roles::Role;
use crate::setting::{Programs, Setting};
use crate::tools::{fio, sustain_tool};

/// What a shell expects of a command ended by SIGINT.
const EXIT_INTERRUPTED: u8 = 130;

/// Compares sustain with fio and others on this machine; about 76 minutes, with --quick 23.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "Example:\n  cargo build --release && \
    cargo run --release -p sustain-benchmarks -- --quick --only disk")]
struct Arguments {
    /// Run this group only; may be given several times.
    #[arg(long, value_enum, value_name = "NAME")]
    only: Vec<Group>,
    /// Fewer and shorter runs.
    #[arg(long)]
    quick: bool,
    /// Where the files are made: the file system that is measured.
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Also write the tables into this file, each between its markers.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Another build of sustain, with which the groups that can compare ours (record-start).
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    #[command(subcommand)]
    role: Option<Role>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(role) = &arguments.role {
        return match role.play() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        };
    }
    let interrupt = match Interrupt::watch() {
        Ok(interrupt) => interrupt,
        Err(error) => return failed(&error),
    };
    match run(&arguments, &interrupt) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if interrupt.is_set() => {
            progress("interrupted");
            ExitCode::from(EXIT_INTERRUPTED)
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    progress(&format!("sustain-benchmarks: {error:#}"));
    ExitCode::FAILURE
}

fn run(arguments: &Arguments, interrupt: &Interrupt) -> anyhow::Result<()> {
    let programs = Programs {
        fio_version: fio::version()?,
        sustain: sustain_tool::find()?,
        baseline: arguments.baseline.clone(),
    };
    let setting = Setting::prepare(
        &arguments.directory,
        arguments.quick,
        programs,
        interrupt.clone(),
    )?;
    if let Some(output) = &arguments.output {
        table::check_markers(output)?;
    }
    let chosen = |group: &Group| arguments.only.is_empty() || arguments.only.contains(group);
    for group in Group::ALL.into_iter().filter(chosen) {
        progress(&format!("{}:", group.name()));
        let section = groups::run(group, &setting)?;
        let text = table::render(&section, &setting);
        writeln!(std::io::stdout(), "{text}")?;
        if let Some(output) = &arguments.output {
            table::replace_section(output, group.name(), &text)?;
        }
    }
    Ok(())
}
