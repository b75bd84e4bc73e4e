//! The first steps of all commands that drive targets: report a dry run instead of doing the work,
//! check where the result will go, and watch for Ctrl-C.

use std::path::Path;

use sustain::Stop;
use sustain::record::store::check_takes_writes;
use sustain::report::terminal::LiveKind;

use super::output::Outputs;
use super::say;
use super::standard_streams::{self, Given};
use crate::exit::Exit;
use crate::interrupt;

/// What is ready when the work begins.
pub(crate) struct CommandSetup {
    /// The user's request to stop.
    pub(crate) stop: Stop,
    /// How the progress of the work is shown.
    pub(crate) live: LiveKind,
}

/// Says what would be done.
pub(crate) fn rehearsed(statements: &[String]) -> Exit {
    statements.iter().for_each(|statement| say(statement));
    Exit::Done
}

/// Checks the outputs and watches for Ctrl-C.
pub(crate) fn begin(targets: &[String], outputs: Outputs<'_>) -> anyhow::Result<CommandSetup> {
    standard_streams::check(Given::Targets(targets))?;
    outputs.check(targets)?;
    targets
        .iter()
        .map(Path::new)
        .filter(|path| makes_files(path))
        .try_for_each(check_takes_writes)?;
    let stop = Stop::default();
    interrupt::watch(&stop, say)?;
    let simulated = targets.iter().all(|target| target.starts_with("sim:"));
    Ok(CommandSetup {
        stop,
        live: LiveKind::for_stderr(simulated),
    })
}

/// Whether a target is a place where a file is made, if only one without a name. Whether one that
/// exists is written is for the guard.
fn makes_files(target: &Path) -> bool {
    target.is_dir() || target.parent().is_some_and(Path::is_dir) && !target.exists()
}
