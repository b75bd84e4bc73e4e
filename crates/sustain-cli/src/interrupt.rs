//! Ctrl-C. The first one ends the run with the result of what was done. The second one ends it at
//! once, unless something would be left behind that outlives this process. SIGTERM and a closed
//! terminal (SIGHUP) have the same effect.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sustain::Stop;

/// The exit code that a shell expects of a command that SIGINT ended.
const EXIT_CODE: i32 = 130;

/// Watches SIGINT, SIGTERM and SIGHUP from now on. `say` prints what a second one has to tell.
pub(crate) fn watch(stop: &Stop, say: fn(&str)) -> anyhow::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if !outlives_terminal() {
        signals.add_signal(SIGHUP)?;
    }
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("sustain-signal".to_owned())
        .spawn(move || {
            for (index, _signal) in signals.forever().enumerate() {
                if index > 0 && stop.is_held() {
                    say("an array is still active and must be stopped first, which takes a moment");
                } else if index > 0 {
                    if stop.is_flushing() {
                        say(
                            "ended without a result: the kernel still writes what is in memory, \
                             which nothing can cancel, and the process ends by itself when that is \
                             done; nothing more needs to be pressed",
                        );
                    }
                    // Scratch files have no name, so they are gone with the process.
                    std::process::exit(EXIT_CODE);
                }
                stop.interrupt();
            }
        })?;
    Ok(())
}

/// Takes SIGUSR1 from now on as a question for the status. Whoever answers takes the mark away.
pub(crate) fn status_asked() -> anyhow::Result<Arc<AtomicBool>> {
    let is_asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&is_asked))?;
    Ok(is_asked)
}

/// Takes no notice of any of them from now on, for who has to stay until another process has ended.
pub(crate) fn ignore_all() -> anyhow::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    Ok(())
}

/// Whether the user wants this to go on without its terminal, as with `nohup`.
fn outlives_terminal() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status))
}

fn ignores_hangup(status: &str) -> bool {
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    // Signal 1 is the lowest bit.
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hangup_that_is_ignored_stays_ignored() {
        assert!(ignores_hangup("Name:\tx\nSigIgn:\t0000000000001001\n"));
        assert!(!ignores_hangup(
            "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"
        ));
        assert!(!ignores_hangup(""));
    }
}
