//! The user's request to end, passed from whichever thread receives it to every driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sustain_disk::driver::Ending;

/// Ends the work from outside, on Ctrl-C. All clones are the same request.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    is_wished: Arc<AtomicBool>,
    holds: Arc<AtomicUsize>,
    flushes: Arc<AtomicUsize>,
}

/// As long as this value lives, the process has something to remove that would outlive it, or a
/// flush that it has to wait for.
#[derive(Debug)]
pub struct Hold(Arc<AtomicUsize>);

impl Stop {
    /// Requests the result of what was done so far. The request cannot be taken back.
    pub fn interrupt(&self) {
        self.is_wished.store(true, Ordering::Release);
    }

    /// The reason to stop, if there is one.
    pub fn reason(&self) -> Option<Ending> {
        self.is_wished
            .load(Ordering::Acquire)
            .then_some(Ending::Interrupted)
    }

    /// From now on, even an impatient user has to wait until the work ends by itself.
    pub fn hold(&self) -> Hold {
        self.holds.fetch_add(1, Ordering::AcqRel);
        Hold(Arc::clone(&self.holds))
    }

    /// From now on, the kernel has data in memory whose flush it does not cancel.
    pub fn flush(&self) -> Hold {
        self.flushes.fetch_add(1, Ordering::AcqRel);
        Hold(Arc::clone(&self.flushes))
    }

    /// Whether the kernel keeps a process that ends now until a flush has returned.
    pub fn is_flushing(&self) -> bool {
        self.flushes.load(Ordering::Acquire) > 0
    }

    /// Whether the process must not end before the work does.
    pub fn is_held(&self) -> bool {
        self.holds.load(Ordering::Acquire) > 0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
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

    #[test]
    fn it_is_held_until_the_last_hold_is_gone() {
        let stop = Stop::default();
        let heard = stop.clone();
        let holds = [stop.hold(), stop.hold()];
        assert!(heard.is_held());
        drop(holds);
        assert!(!heard.is_held());
        let flush = stop.flush();
        assert!(heard.is_flushing() && !heard.is_held());
        drop(flush);
        assert!(!heard.is_flushing());
    }
}
