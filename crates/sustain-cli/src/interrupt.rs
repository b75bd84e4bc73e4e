//! Ctrl-C: the first ends the run with the result of what was done, the second at once, unless
//! something would be left behind that outlives this process.

use sustain::measure::Stop;

use crate::commands::say;

/// What a shell expects of a command ended by SIGINT.
const EXIT_CODE: i32 = 130;

/// Watches SIGINT and SIGTERM from now on.
pub(crate) fn watch(stop: &Stop) -> anyhow::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("sustain-signal".to_owned())
        .spawn(move || {
            for (index, _signal) in signals.forever().enumerate() {
                if index > 0 && stop.is_held() {
                    say("an array still stands: it is stopped first, which takes a moment");
                } else if index > 0 {
                    // Scratch files have no name: they go with the process.
                    std::process::exit(EXIT_CODE);
                }
                stop.interrupt();
            }
        })?;
    Ok(())
}
