//! Names what is being written when it does not answer. A frozen file system holds whoever writes
//! there, for as long as it is frozen, and nothing ends that wait; so a thread of its own says what
//! is waited for.

use std::fs::File;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::say;

/// A call that has not returned for so long is told.
const REPORTED_AFTER_NS: u64 = 5_000_000_000;
/// Looks in that time.
const LOOKS: u64 = 10;

/// What a call does that may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteCall {
    Write,
    /// Makes durable what was written. On a slow disk that takes its time.
    Keep,
}

/// Watches the calls of one thread on what it writes to, until it is dropped.
pub(super) struct WriteWatch {
    standing: Option<Arc<Mutex<WriteStanding>>>,
    _ends: Option<SyncSender<()>>,
}

impl WriteWatch {
    /// Of a file. A pipe may rest for as long as its reader likes, so it is not watched.
    pub(super) fn of_file(file: &File, name: &str) -> WriteWatch {
        if file.metadata().is_ok_and(|found| found.is_file()) {
            WriteWatch::of_files(name)
        } else {
            WriteWatch {
                standing: None,
                _ends: None,
            }
        }
    }

    /// Of the files in a directory of this name.
    pub(super) fn of_files(name: &str) -> WriteWatch {
        let look_ns = REPORTED_AFTER_NS / LOOKS;
        WriteWatch::start(name, look_ns, |words| say(&format!("note: {words}")))
    }

    /// Without a thread nothing is told.
    fn start(name: &str, look_ns: u64, report: impl Fn(String) + Send + 'static) -> WriteWatch {
        let (ends, ended) = sync_channel::<()>(0);
        let standing = Arc::new(Mutex::new(WriteStanding::default()));
        let (looked_at, name) = (Arc::clone(&standing), name.to_owned());
        let look = move || {
            let mut lookout = WriteLookout::default();
            let pause = Duration::from_nanos(look_ns);
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let standing = *locked(&looked_at);
                if let Some(call) = lookout.look(standing) {
                    report(words(&name, call));
                }
            }
        };
        let thread = Builder::new().name("watch".to_owned()).spawn(look);
        WriteWatch {
            standing: thread.ok().map(|_| standing),
            _ends: Some(ends),
        }
    }

    /// Makes a call.
    pub(super) fn during<T>(&self, call: WriteCall, make: impl FnOnce() -> T) -> T {
        if let Some(standing) = &self.standing {
            let mut standing = locked(standing);
            standing.call = Some(call);
            standing.begun += 1;
        }
        let made = make();
        if let Some(standing) = &self.standing {
            locked(standing).call = None;
        }
        made
    }
}

/// Nothing panics while it holds the lock.
fn locked(standing: &Mutex<WriteStanding>) -> MutexGuard<'_, WriteStanding> {
    standing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the watched thread is in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct WriteStanding {
    call: Option<WriteCall>,
    /// Calls begun so far.
    begun: u64,
}

/// Tells calls that have not returned for long.
#[derive(Default)]
struct WriteLookout {
    before: WriteStanding,
    /// Looks in a row, so far, that have found the same call under way.
    still: u64,
    is_reported: bool,
}

impl WriteLookout {
    /// Returns the call that is to be told now. It is told once: a disk that is slow throughout
    /// would be named again and again.
    fn look(&mut self, standing: WriteStanding) -> Option<WriteCall> {
        self.still = if standing == self.before {
            self.still + 1
        } else {
            0
        };
        self.before = standing;
        if self.is_reported || self.still < LOOKS {
            return None;
        }
        self.is_reported = standing.call.is_some();
        standing.call
    }
}

fn words(name: &str, call: WriteCall) -> String {
    let seconds = REPORTED_AFTER_NS / 1_000_000_000;
    let what = match call {
        WriteCall::Write => format!("{name}: its file system has taken no write for {seconds} s"),
        WriteCall::Keep => format!(
            "{name}: what was written is not on its medium after {seconds} s, which a slow disk \
             may need for what memory still holds"
        ),
    };
    format!(
        "{what}. If it goes on so, the file system may be frozen (fsfreeze -u, given its mount \
         point, ends that), or its disk or server may have stopped. It is waited for as long as it \
         takes; until it answers, the kernel may keep this process from ending"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_write_that_does_not_return_names_its_file() {
        let (reported, heard) = channel();
        let watch = WriteWatch::start("out.bin", 1_000_000, move |words| {
            reported.send(words).unwrap();
        });
        // It returns only when it has been told.
        let words = watch.during(WriteCall::Write, || heard.recv().unwrap());
        let begin = "out.bin: its file system has taken no write for 5 s. ";
        assert!(words.starts_with(begin), "{words}");
        assert!(words.contains("fsfreeze -u"), "{words}");
    }

    #[test]
    fn a_wait_for_the_medium_is_not_called_a_write() {
        let (reported, heard) = channel();
        let watch = WriteWatch::start("out.bin", 1_000_000, move |words| {
            reported.send(words).unwrap();
        });
        watch.during(WriteCall::Write, || ());
        let words = watch.during(WriteCall::Keep, || heard.recv().unwrap());
        assert!(!words.contains("no write"), "{words}");
        assert!(words.contains("not on its medium after 5 s"), "{words}");
    }

    #[test]
    fn calls_that_return_are_not_told_however_many_there_are() {
        let mut lookout = WriteLookout::default();
        let writes = |begun| WriteStanding {
            call: Some(WriteCall::Write),
            begun,
        };
        for begun in 1..100 {
            assert_eq!(lookout.look(writes(begun)), None);
        }
        // Nor is the time between them, in which the members are read.
        let between = WriteStanding {
            call: None,
            begun: 100,
        };
        for _ in 0..10 * LOOKS {
            assert_eq!(lookout.look(between), None);
        }
        let reported = (0..10 * LOOKS).filter_map(|_| lookout.look(writes(101)));
        assert_eq!(reported.count(), 1);
    }

    #[test]
    fn a_pipe_may_rest() {
        let pipe = File::from(std::os::fd::OwnedFd::from(std::io::pipe().unwrap().1));
        assert!(WriteWatch::of_file(&pipe, "pipe").standing.is_none());
        let file = tempfile::tempfile().unwrap();
        assert!(WriteWatch::of_file(&file, "file").standing.is_some());
    }
}
