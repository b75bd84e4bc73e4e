//! The flags of `sustain measure` about what the load does to the rest of the system.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sustain::measure::EffectPlan;

use crate::request::UsageError;

#[derive(Debug, Args)]
pub(crate) struct EffectFlags {
    /// Watch what this load does to the rest of the system: small writes elsewhere, timers,
    /// datagrams, memory; before, during and after it. With =both the load runs a second time by
    /// the other path, and the report shows direct against buffered. Takes 10 s more, or as long
    /// again with =both.
    #[arg(
        long,
        value_enum,
        value_name = "PATHS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "own"
    )]
    pub(crate) effect: Option<EffectFlag>,
    /// With --effect: where the small writes go [default: a file system that the load is not on,
    /// of those that $HOME, /var/tmp, /tmp and this directory lie on].
    #[arg(long, value_name = "DIR", requires = "effect")]
    pub(crate) victim: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffectFlag {
    /// By the path that --path says
    Own,
    /// By that path, then by the other
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
