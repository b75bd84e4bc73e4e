//! The command line as typed. `request.rs` turns it into something that can be carried out.

pub(crate) mod compare;
pub(crate) mod create;
pub(crate) mod devices;
pub(crate) mod diagnose;
pub(crate) mod effect;
pub(crate) mod extract;
pub(crate) mod generated;
pub(crate) mod list;
pub(crate) mod measure;
pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod shared;
pub(crate) mod sweep;
pub(crate) mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// What disks sustain, and with which buffer one may record at which rate.
#[derive(Debug, Parser)]
#[command(name = "sustain", version, max_term_width = 100)]
#[command(after_help = "Example:\n  sustain measure . --report sustain.html")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The disks, how they hang together, at which rates, and whether they may be written.
    Devices(devices::DevicesFlags),
    /// Measure the rate that disks sustain, and what one may record on them.
    Measure(Box<measure::MeasureFlags>),
    /// Find the limits that disks share: why N disks are not N times one.
    Diagnose(Box<diagnose::DiagnoseFlags>),
    /// Measure the rate at each position: zones, bad spots, what can be promised.
    Profile(profile::ProfileFlags),
    /// Compare ways to use disks: which engine, record size, depth, layout is best.
    Sweep(Box<sweep::SweepFlags>),
    /// Whether two measurements differ, or only the noise does.
    Compare(Box<compare::CompareFlags>),
    /// Make a store of disks, partitions and files, to record on.
    Create(create::CreateFlags),
    /// Record streams on the members of a store.
    Record(Box<record::RecordFlags>),
    /// What is recorded on a store.
    List(list::ListFlags),
    /// Give a stream back: its bytes, or its frames as files.
    Extract(Box<extract::ExtractFlags>),
    /// Read all of a store and account for every byte.
    Verify(verify::VerifyFlags),
    /// Write down after a crash what is there.
    Recover(recover::RecoverFlags),
    /// Draw saved results anew.
    Report(ReportFlags),
    /// Print what a shell needs to complete commands, flags and files.
    Completions(generated::CompletionsFlags),
    /// Write the manual pages.
    Man(generated::ManFlags),
}

const REPORT_EXAMPLES: &str = "\
Examples:
  sustain report monday.json tuesday.json -o week.html
      Measurements side by side, with pictures.
  sustain report sweep.json
      What the sweep said at its end, once more.

Exit codes: 0 done; 1 it could not be written; 2 usage, or a file that is no result.";

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportFlags {
    /// Results that --json of measure, record, diagnose, sweep, profile or compare wrote; of one
    /// kind.
    #[arg(required = true, value_name = "RUN.json")]
    pub(crate) runs: Vec<PathBuf>,
    /// The report to write, with pictures [default: none, the words alone are printed].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineFlag {
    Auto,
    #[value(name = "io_uring")]
    IoUring,
    Libaio,
    PosixAio,
    Threads,
    Sync,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PathFlag {
    Direct,
    Buffered,
    Passthrough,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutFlag {
    Independent,
    Stripe,
    Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MdFlag {
    Raid0,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
