//! The flags of `sustain measure` about what the load does to the rest of the system.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sustain::measure::EffectPlan;

use super::help::group;

use crate::usage_error::UsageError;

#[derive(Debug, Args)]
#[command(next_help_heading = group::RARE)]
pub(crate) struct EffectFlags {
    /// Measure what this load does to the rest of the system: probe workloads (small writes
    /// elsewhere, timers, datagrams, memory) are watched before, during and after it. This takes
    /// 10 s more. With =both the load runs a second time by the other I/O path, and the report
    /// compares direct with buffered; this takes twice as long.
    #[arg(hide_short_help = true)]
    #[arg(
        long,
        value_enum,
        value_name = "PATHS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "own"
    )]
    pub(crate) effect: Option<EffectFlag>,
    /// With --effect: the directory for the small writes of the probe [default: one of $HOME,
    /// /var/tmp, /tmp and this directory whose file system the load is not on].
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "DIR", requires = "effect")]
    pub(crate) victim: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffectFlag {
    /// By the I/O path that --path names
    Own,
    /// By that I/O path, then by the other one
    Both,
}

impl EffectFlags {
    /// What they ask for, if anything. `targets` are those typed beside them.
    pub(crate) fn plan(&self, targets: &[String]) -> Result<Option<EffectPlan>, UsageError> {
        let Some(paths) = self.effect else {
            return Ok(None);
        };
        let is_value = |target: &&String| EffectFlag::from_str(target, false).is_ok();
        if let Some(value) = targets.iter().find(is_value) {
            return Err(UsageError(format!(
                "--effect {value} would make {value} a target: type --effect={value}, or ./{value} \
                 for a file of that name"
            )));
        }
        Ok(Some(EffectPlan {
            both_paths: paths == EffectFlag::Both,
            victim: self.victim.clone(),
        }))
    }
}
