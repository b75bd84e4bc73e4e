//! The command line as typed. `request.rs` turns it into something that can be carried out.

pub(crate) mod create;
pub(crate) mod devices;
pub(crate) mod diagnose;
pub(crate) mod extract;
pub(crate) mod list;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod sweep;
pub(crate) mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sustain::disk::units::{parse_duration, parse_rate, parse_size};

/// What disks sustain, and with which buffer one may record at which rate.
#[derive(Debug, Parser)]
#[command(name = "sustain", version, about, max_term_width = 100)]
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
    Measure(Box<MeasureFlags>),
    /// Find the limits that disks share: why N disks are not N times one.
    Diagnose(Box<diagnose::DiagnoseFlags>),
    /// Compare ways to use disks: which engine, record size, depth, layout is best.
    Sweep(Box<sweep::SweepFlags>),
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
}

const MEASURE_EXAMPLES: &str = "\
Examples:
  sustain measure . --report sustain.html
      A scratch file here; what this disk sustains, with pictures.
  sustain measure /data1 /data2 --rate 200MB/s --time 2h
      Does it hold? Exit code 0 if so, 1 if not.
  sustain measure /dev/sdb /dev/sdc --read
      Two disks at once, read only.
  sustain measure /dev/sdb --write --destroy /dev/sdb
      Writes to the raw disk; everything on it is lost.
  sustain measure sim:machines/demo.toml
      A simulated machine, in a moment.

Sizes take kB, MB, GB (powers of 10) and KiB, MiB, GiB (powers of 2), rates the same with /s.
Exit codes: 0 done; 1 the work failed or --rate was not held; 2 usage or refused target;
130 interrupted, with the result of what was done.";

#[derive(Debug, Args)]
#[command(after_help = MEASURE_EXAMPLES)]
pub(crate) struct MeasureFlags {
    /// Block device, partition, file, directory (a scratch file in it), null:, or
    /// sim:MACHINE.toml[:DISK].
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Write; the default where nothing can be harmed (directories, new files, null:, sim:).
    #[arg(long, conflicts_with = "read")]
    pub(crate) write: bool,
    /// Read; the default on block devices and existing files.
    #[arg(long)]
    pub(crate) read: bool,
    /// Bytes per request.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = parse_size)]
    pub(crate) record_size: u64,
    /// Requests kept in flight on each target.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) depth: u32,
    /// How requests are issued; auto takes the best that this system allows.
    #[arg(long, value_enum, default_value_t = EngineFlag::Auto)]
    pub(crate) engine: EngineFlag,
    /// Drivers, each a thread with targets of its own [default: as many as the work needs].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Past the page cache (direct), through it (buffered), or by NVMe commands past the block
    /// layer too (passthrough; on /dev/nvmeXnY).
    #[arg(long, value_enum, default_value_t = PathFlag::Direct)]
    pub(crate) path: PathFlag,
    /// How several targets are used: each for itself, in chunks over all (RAID 0), or one after
    /// the other.
    #[arg(long, value_enum, default_value_t = LayoutFlag::Independent)]
    pub(crate) layout: LayoutFlag,
    /// Bytes on one target before the next takes over; with --layout stripe [default: 1MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) chunk: Option<u64>,
    /// End after this time [default: 30s, or 10m with --until-steady, or none with --bytes].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Option<u64>,
    /// End after these bytes on each target, in whole records.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) bytes: Option<u64>,
    /// End as soon as every target is steady.
    #[arg(long)]
    pub(crate) until_steady: bool,
    /// Use this much of each target and start again at its beginning [default: 4GiB for new
    /// files, else the whole target, a block device once].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    /// A source of this rate over all targets: does it hold?
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// The memory that a recorder would have.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_size)]
    pub(crate) buffer: u64,
    /// Length of an interval, in time or in bytes.
    #[arg(long, value_name = "TIME|SIZE", default_value = "1s")]
    pub(crate) interval: String,
    /// Bytes that nothing can shrink, or zeros for the curious.
    #[arg(long, value_enum, default_value_t = DataFlag::Fresh)]
    pub(crate) data: DataFlag,
    /// Do not write files once before the clock starts.
    #[arg(long)]
    pub(crate) no_prewrite: bool,
    /// Leave out the paced run at the recommended rate.
    #[arg(long)]
    pub(crate) no_confirm: bool,
    /// What is on this target may be destroyed; as typed, once for each.
    #[arg(long, value_name = "NAME")]
    pub(crate) destroy: Vec<String>,
    /// Say what would be done, written and destroyed, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print a line per interval as the 1998 disk writing test did; one per 20 MiB.
    #[arg(long, value_enum)]
    pub(crate) log: Option<LogFlag>,
    /// Write the result as JSON; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a report with pictures: one file that opens offline.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Seed of data and simulated machines.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sustain report monday.json tuesday.json -o week.html")]
pub(crate) struct ReportFlags {
    /// Results that --json wrote.
    #[arg(required = true, value_name = "RUN.json")]
    pub(crate) runs: Vec<PathBuf>,
    /// The report to write.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
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
pub(crate) enum DataFlag {
    Fresh,
    Zero,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFlag {
    Dskwtst,
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
