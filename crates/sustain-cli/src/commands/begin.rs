//! What the commands that drive targets do first, all alike: say a rehearsal instead of doing the
//! work, look at where the result will go, watch for Ctrl-C.

use sustain::measure::Stop;
use sustain::report::terminal::LiveKind;

use super::output::Outputs;
use super::say;
use crate::{Exit, interrupt};

/// What is ready when the work begins.
pub(crate) struct Begun {
    /// The user's wish to end.
    pub(crate) stop: Stop,
    /// How the work is shown under way.
    pub(crate) live: LiveKind,
}

/// Says what would be done.
pub(crate) fn rehearsed(statements: &[String]) -> Exit {
    statements.iter().for_each(|statement| say(statement));
    Exit::Done
}

/// Looks at the outputs and watches for Ctrl-C.
pub(crate) fn begin(targets: &[String], outputs: Outputs<'_>) -> anyhow::Result<Begun> {
    outputs.check(targets)?;
    let stop = Stop::default();
    interrupt::watch(&stop)?;
    let simulated = targets.iter().all(|target| target.starts_with("sim:"));
    Ok(Begun {
        stop,
        live: LiveKind::for_stderr(simulated),
    })
}
