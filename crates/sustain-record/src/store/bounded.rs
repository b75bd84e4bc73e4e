//! Calls of the kernel that a frozen file system or a hung disk may keep for ever: to open a file,
//! to give it its size, to sync its directory. Each is made in a thread of its own, which is waited
//! for up to a bound. A call that comes back after that finds nobody; what it returns is closed.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::error::RecordError;
use crate::member_io::{GIVEN_UP_AFTER_NS, LONG_WAIT_NS, report_long_wait, words_of_silent};

/// A call that shows no progress, however long it takes in good order, gets the time of a flush.
/// So does one that shows some, from then on.
pub(super) const WHOLE_GIVEN_UP_AFTER_NS: u64 = 10 * GIVEN_UP_AFTER_NS;

/// Looks are so far apart, or an eighth of the patience if that is less.
const LOOK_NS: u64 = 1_000_000_000;
/// It is told what is waited for after this part of the patience, or after a long wait if that is
/// sooner.
const REPORTED_PART: u64 = 6;

/// Reads how far a call has come. It may itself never return.
pub(super) type Progress = Box<dyn Fn() -> u64 + Send>;

/// A call on a member.
pub(super) struct Bounded<'a> {
    /// What it does, to begin a sentence with.
    pub(super) what: &'a str,
    /// The member's name as typed.
    pub(super) name: &'a str,
    /// How long it is waited for, from the last progress on.
    pub(super) patience_ns: u64,
    /// How its progress shows, if it does.
    pub(super) progress: Option<Progress>,
}

impl Bounded<'_> {
    /// Makes the call, and returns what it returns.
    ///
    /// # Errors
    /// [`RecordError::Silent`] if it has not returned in time; [`RecordError::Thread`] if no thread
    /// can be started.
    pub(super) fn call<T: Send + 'static>(
        mut self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RecordError> {
        let (sender, returned) = sync_channel(1);
        let thread = Builder::new()
            .name("kernel".to_owned())
            .spawn(move || {
                // Whoever has given it up needs no answer.
                let _ = sender.send(call());
            })
            .map_err(RecordError::Thread)?;
        let look_ns = LOOK_NS.min(self.patience_ns / 8).max(1);
        let lookout = self
            .progress
            .take()
            .and_then(|progress| Lookout::start(progress, look_ns));
        self.wait(&returned, thread, look_ns, lookout.as_ref())
    }

    fn wait<T>(
        &self,
        returned: &Receiver<T>,
        thread: JoinHandle<()>,
        look_ns: u64,
        lookout: Option<&Lookout>,
    ) -> Result<T, RecordError> {
        let seen = || lookout.map_or(0, |lookout| lookout.seen.load(Ordering::Relaxed));
        let (mut before, mut waited_ns, mut still_ns) = (seen(), 0, 0);
        let reported_after_ns = LONG_WAIT_NS.min(self.patience_ns / REPORTED_PART);
        let mut is_reported = false;
        while still_ns < self.patience_ns {
            match returned.recv_timeout(Duration::from_nanos(look_ns)) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => unreachable!("a thread that ends in order has sent"),
                },
            }
            waited_ns += look_ns;
            let now = seen();
            still_ns = if now == before { still_ns + look_ns } else { 0 };
            before = now;
            if !is_reported && waited_ns >= reported_after_ns {
                is_reported = true;
                self.report_wait(waited_ns, lookout.is_some());
            }
        }
        Err(RecordError::Silent(self.words(lookout.is_some())))
    }

    fn words(&self, shows_progress: bool) -> String {
        let seconds = self.patience_ns as f64 / 1e9;
        let Bounded { what, name, .. } = self;
        if !shows_progress {
            return words_of_silent(what, name, seconds);
        }
        format!(
            "{what} has not got on for {seconds:.0} s, and {name} was given up. The file system \
             there does not answer: the kernel log (dmesg) may tell why. Begin again then, or use \
             another place; until the call returns, the kernel keeps {name}, and maybe this \
             process, from ending"
        )
    }

    fn report_wait(&self, waited_ns: u64, shows_progress: bool) {
        let (what, seconds) = (self.what, waited_ns / 1_000_000_000);
        let patience_s = self.patience_ns / 1_000_000_000;
        report_long_wait(&if shows_progress {
            format!(
                "{what} has not returned for {seconds} s: some file systems write all of a new \
                 file first. It is given up when it has not got on for {patience_s} s"
            )
        } else {
            format!(
                "{what} has not returned for {seconds} s: it is given up after {patience_s} s; \
                 the kernel log (dmesg) may tell more"
            )
        });
    }
}

/// Looks at the progress of a call, in a thread of its own, until it is dropped.
struct Lookout {
    seen: Arc<AtomicU64>,
    _ends: SyncSender<()>,
}

impl Lookout {
    /// Without a thread no progress is seen.
    fn start(progress: Progress, look_ns: u64) -> Option<Lookout> {
        let (ends, ended) = sync_channel::<()>(0);
        let seen = Arc::new(AtomicU64::new(0));
        let shown = Arc::clone(&seen);
        let look = move || {
            let pause = Duration::from_nanos(look_ns);
            loop {
                shown.store(progress(), Ordering::Relaxed);
                if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = Builder::new().name("progress".to_owned()).spawn(look);
        thread.ok().map(|_| Lookout { seen, _ends: ends })
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
            progress: None,
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
            progress: None,
        };
        assert_eq!(bounded.call(|| 7).unwrap(), 7);
    }

    #[test]
    fn a_call_that_gets_on_is_waited_for_beyond_its_patience() {
        // Looks are an eighth of the patience apart: it returns after more of them.
        let looks = AtomicU64::new(0);
        let (release, released) = sync_channel(1);
        let bounded = Bounded {
            what: "giving m0 its size",
            name: "m0",
            patience_ns: 1_000_000_000,
            progress: Some(Box::new(move || {
                let look = looks.fetch_add(1, Ordering::Relaxed) + 1;
                if look == 12 {
                    let _ = release.try_send(());
                }
                look
            })),
        };
        assert!(bounded.call(move || released.recv().is_ok()).unwrap());
    }

    #[test]
    fn a_call_that_gets_on_no_more_is_given_up_without_blame_on_a_cable() {
        let (keeps, kept) = channel::<()>();
        let bounded = Bounded {
            what: "giving m0 its size",
            name: "m0",
            patience_ns: 1_000_000,
            progress: Some(Box::new(|| 7)),
        };
        let error = bounded.call(move || kept.recv().is_ok()).unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains("giving m0 its size has not got on for "),
            "{told}"
        );
        assert!(!told.contains("cable"), "{told}");
        drop(keeps);
    }
}
