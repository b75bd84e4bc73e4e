//! Ctrl-C: everything that was set up must be taken down again, so it ends the work by an error
//! that unwinds through all owners, never by leaving the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};

/// Whether somebody wants to stop. Clones show the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches SIGINT and SIGTERM from now on. The program that is being measured has the signal
    /// from the terminal too, or ends by itself within seconds.
    pub(crate) fn watch() -> anyhow::Result<Interrupt> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupt.0))
                .context("cannot watch for Ctrl-C")?;
        }
        Ok(interrupt)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// An error if somebody wants to stop.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.is_set() {
            bail!("interrupted");
        }
        Ok(())
    }
}
