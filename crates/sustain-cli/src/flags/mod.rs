//! The command line as typed. `request.rs` turns it into something that can be carried out.

mod choices;
pub(crate) mod compare;
pub(crate) mod control;
pub(crate) mod create;
pub(crate) mod devices;
pub(crate) mod diagnose;
pub(crate) mod effect;
pub(crate) mod extract;
pub(crate) mod generated;
pub(crate) mod help;
pub(crate) mod list;
pub(crate) mod measure;
pub(crate) mod mount;
mod number;
pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod repair;
pub(crate) mod retire;
pub(crate) mod scrub;
pub(crate) mod shared;
pub(crate) mod sweep;
pub(crate) mod unpin;
pub(crate) mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use choices::{EngineFlag, LayoutFlag, MdFlag, PathFlag};

/// Measure the rate that disks sustain, find what limits them, and record streams onto them.
#[derive(Debug, Parser)]
#[command(name = "sustain", version, max_term_width = 100)]
#[command(after_help = "Example:\n  sustain measure . --report sustain.html")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the disks, how they are connected, at which rates, and whether they may be written.
    Devices(devices::DevicesFlags),
    /// Measure the rate that disks sustain, and how fast one can record on them.
    Measure(Box<measure::MeasureFlags>),
    /// Find the limits that disks share: why N disks are not N times as fast as one.
    Diagnose(Box<diagnose::DiagnoseFlags>),
    /// Measure the rate at each position of a disk: zones, bad spots, and the lowest rate.
    Profile(profile::ProfileFlags),
    /// Compare settings: which engine, record size, depth and layout are best.
    Sweep(Box<sweep::SweepFlags>),
    /// Tell whether two measurements differ by more than noise.
    Compare(Box<compare::CompareFlags>),
    /// Make a store of disks, partitions or files to record on.
    Create(create::CreateFlags),
    /// Record streams onto a store.
    Record(Box<record::RecordFlags>),
    /// Command a recording while it runs: status, pause, resume, split, stop, marks, pins.
    Control(control::ControlFlags),
    /// List the recordings of a store.
    List(list::ListFlags),
    /// Read a recorded stream back: its bytes, or its frames as files.
    Extract(Box<extract::ExtractFlags>),
    /// Mount a store: its recordings as directories, its streams and frames as files.
    Mount(mount::MountFlags),
    /// Read everything in a store and account for every byte.
    Verify(verify::VerifyFlags),
    /// Write the end mark of a recording that a crash or a kill cut off.
    Recover(recover::RecoverFlags),
    /// Rebuild what a lost member had onto a new one, in a store with parity.
    Repair(repair::RepairFlags),
    /// Take a member out of a store, and copy what it had to the others.
    Retire(retire::RetireFlags),
    /// Read everything, and put back what is damaged, in a store with parity.
    Scrub(scrub::ScrubFlags),
    /// Remove a pin, so that the ring may overwrite what it kept.
    Unpin(unpin::UnpinFlags),
    /// Show saved results again, or draw them as an HTML report.
    Report(ReportFlags),
    /// Print a completion script for a shell.
    Completions(generated::CompletionsFlags),
    /// Write the manual pages.
    Man(generated::ManFlags),
    /// Wait for the end of standard input, then put back what this journal says of others' limits;
    /// `sustain record --hold-back others` starts it.
    #[command(hide = true)]
    PutBackLimits(PutBackLimitsFlags),
}

const REPORT_EXAMPLES: &str = "\
Examples:
  sustain report monday.json tuesday.json --report week.html
      Measurements side by side, with pictures.
  sustain report sweep.json
      The text that the sweep printed at its end.

Exit codes: 0 done; 1 the report could not be written; 2 usage error, or a file that is not a
result.";

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportFlags {
    /// Results written by --json of measure, record, repair, diagnose, sweep, profile or compare;
    /// all of the same command.
    #[arg(required = true, value_name = "RUN.json")]
    pub(crate) runs: Vec<PathBuf>,
    /// Write an HTML report with charts, instead of printing the text.
    #[arg(short = 'o', long, alias = "output", value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PutBackLimitsFlags {
    /// The journal of the limits.
    pub(crate) journal: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use sustain::document::setting;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_setting_that_a_library_names_is_a_flag() {
        let command = Arguments::command();
        let flags = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments);
        let flags: Vec<_> = flags.filter_map(|flag| flag.get_long()).collect();
        for setting in setting::ALL {
            let flag = setting.flag().trim_start_matches("--").split('=').next();
            assert!(
                flag.is_some_and(|flag| flags.contains(&flag)),
                "{setting:?}"
            );
        }
    }
}
