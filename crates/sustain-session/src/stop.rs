//! The user's wish to end, from whichever thread hears it to every driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sustain_disk::driver::Ending;

/// Ends the work from outside: Ctrl-C. Clones are one and the same wish.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The user wants the result of what was done so far. It cannot be taken back.
    pub fn interrupt(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Why to stop, if so.
    pub fn reason(&self) -> Option<Ending> {
        self.0
            .load(Ordering::Acquire)
            .then_some(Ending::Interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_hears_of_an_interruption() {
        let stop = Stop::default();
        let heard = stop.clone();
        assert_eq!(heard.reason(), None);
        stop.interrupt();
        assert_eq!(heard.reason(), Some(Ending::Interrupted));
    }
}
