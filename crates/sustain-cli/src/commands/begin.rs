//! The first steps of all commands that drive targets: report a dry run instead of doing the work,
//! check where the result will go, and watch for Ctrl-C.

use sustain::Stop;
use sustain::report::terminal::LiveKind;

use super::output::Outputs;
use super::say;
use super::standard_streams::{self, Given};
use crate::{Exit, interrupt};

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
    let stop = Stop::default();
    interrupt::watch(&stop, say)?;
    let simulated = targets.iter().all(|target| target.starts_with("sim:"));
    Ok(CommandSetup {
        stop,
        live: LiveKind::for_stderr(simulated),
    })
}
