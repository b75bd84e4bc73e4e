//! Flags that several commands share: what is driven, how, under whose permission, and where the
//! result goes. Each is written down here once, so that it means the same everywhere.

use std::path::PathBuf;

use clap::Args;
use sustain::disk::target::Direction;
use sustain::disk::units::parse_size;

use super::choices::{EngineFlag, PathFlag};
use super::help::group;
use super::number::parse_number;
use crate::usage_error::UsageError;

/// Which way the data goes, if one way only.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = group::WHAT)]
pub(crate) struct DirectionFlags {
    /// Write. The default where nothing can be harmed: directories, --new-file, null:, sim:.
    #[arg(long, conflicts_with = "read")]
    pub(crate) write: bool,
    /// Read. The default on block devices and existing files.
    #[arg(long)]
    pub(crate) read: bool,
}

impl DirectionFlags {
    /// The direction that is asked for; none leaves it to what the targets are.
    ///
    /// # Errors
    ///
    /// Reading under a permission to destroy: one of the two is a mistake.
    pub(crate) fn direction(self, safety: &SafetyFlags) -> Result<Option<Direction>, UsageError> {
        if self.read && !safety.destroy.is_empty() {
            let text = "--read destroys nothing: leave out --destroy";
            return Err(UsageError(text.to_owned()));
        }
        Ok(match (self.write, self.read) {
            (true, _) => Some(Direction::Write),
            (_, true) => Some(Direction::Read),
            _ => None,
        })
    }
}

/// How requests are made, where one way is measured.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = group::HOW)]
pub(crate) struct RequestFlags {
    /// Bytes per request.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = parse_size)]
    pub(crate) record_size: u64,
    /// Number of requests kept in flight on each target.
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = parse_number::<u32>, allow_negative_numbers = true)]
    pub(crate) depth: u32,
    /// How requests are issued. auto takes the best engine that this system allows.
    #[arg(hide_short_help = true)]
    #[arg(long, value_enum, default_value_t = EngineFlag::Auto)]
    pub(crate) engine: EngineFlag,
    /// The I/O path: past the page cache (direct), through it (buffered), or past the block layer
    /// too, by NVMe or SCSI commands (passthrough).
    #[arg(hide_short_help = true, hide_possible_values = true)]
    #[arg(long, value_enum, default_value_t = PathFlag::Direct)]
    pub(crate) path: PathFlag,
}

/// What may be done to the targets.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = group::SAFETY)]
pub(crate) struct SafetyFlags {
    /// Do not write files once from end to end before the run.
    #[arg(help_heading = group::HOW, hide_short_help = true)]
    #[arg(long)]
    pub(crate) no_prewrite: bool,
    /// Allow the content of this target to be destroyed. Repeat the target exactly as you typed it,
    /// once for each target.
    #[arg(long, value_name = "NAME")]
    pub(crate) destroy: Vec<String>,
    /// Create a file for each target that does not exist. It stays there afterwards.
    #[arg(long)]
    pub(crate) new_file: bool,
    /// Only say what would be done, written and destroyed.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Where the result goes, besides the words.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = group::OUTPUT)]
pub(crate) struct OutputFlags {
    /// Write the result as JSON to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write an HTML report with charts: one file that opens offline.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}
