//! Calls of the kernel that a frozen file system or a hung disk may keep for ever: to open a file,
//! to give it its size, to sync its directory. Each is made in a thread of its own, which is waited
//! for up to a bound. A call that comes back after that finds nobody; what it returns is closed.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use sustain_disk::error::Error;

use crate::error::RecordError;
use crate::member_io::{GIVEN_UP_AFTER_NS, LONG_WAIT_NS, tell_long_wait, words_of_silent};

/// A call that shows no progress, however long it takes in good order, gets the time of a flush.
pub(super) const WHOLE_GIVEN_UP_AFTER_NS: u64 = 10 * GIVEN_UP_AFTER_NS;

/// A call on a member.
pub(super) struct Bounded<'a> {
    /// What it does, to begin a sentence with.
    pub(super) what: &'a str,
    /// The member's name as typed.
    pub(super) name: &'a str,
    /// How long it is waited for.
    pub(super) patience_ns: u64,
}

impl Bounded<'_> {
    /// Makes the call, and returns what it returns.
    ///
    /// # Errors
    /// [`RecordError::Silent`] if it has not returned in time; [`RecordError::Engine`] if no thread
    /// can be started.
    pub(super) fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RecordError> {
        let (sender, returned) = sync_channel(1);
        let thread = Builder::new()
            .name("kernel".to_owned())
            .spawn(move || {
                // Whoever has given it up needs no answer.
                let _ = sender.send(call());
            })
            .map_err(|source| {
                RecordError::Engine(Error::EngineFailed {
                    engine: "kernel",
                    source,
                })
            })?;
        let first_ns = self.patience_ns.min(LONG_WAIT_NS);
        let mut answer = returned.recv_timeout(Duration::from_nanos(first_ns));
        let more_ns = self.patience_ns - first_ns;
        if more_ns > 0 && matches!(answer, Err(RecvTimeoutError::Timeout)) {
            self.tell(first_ns);
            answer = returned.recv_timeout(Duration::from_nanos(more_ns));
        }
        match answer {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.patience_ns as f64 / 1e9;
                let words = words_of_silent(self.what, self.name, seconds);
                Err(RecordError::Silent(words))
            }
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("a thread that ends in order has sent"),
            },
        }
    }

    fn tell(&self, waited_ns: u64) {
        tell_long_wait(&format!(
            "{} has not returned for {} s: it is given up after {} s; the kernel log (dmesg) may \
             tell more",
            self.what,
            waited_ns / 1_000_000_000,
            self.patience_ns / 1_000_000_000,
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_call_that_never_returns_is_given_up_and_its_member_named() {
        let (keeps, kept) = channel::<()>();
        let bounded = Bounded {
            what: "opening m0",
            name: "m0",
            patience_ns: 1_000_000,
        };
        let error = bounded.call(move || kept.recv().is_ok()).unwrap_err();
        assert!(matches!(error, RecordError::Silent(_)), "{error}");
        let told = error.to_string();
        assert!(
            told.starts_with("opening m0 has not returned for "),
            "{told}"
        );
        assert!(told.contains("m0 was given up"), "{told}");
        drop(keeps);
    }

    #[test]
    fn a_call_that_returns_is_waited_for() {
        let bounded = Bounded {
            what: "opening m0",
            name: "m0",
            patience_ns: WHOLE_GIVEN_UP_AFTER_NS,
        };
        assert_eq!(bounded.call(|| 7).unwrap(), 7);
    }
}
