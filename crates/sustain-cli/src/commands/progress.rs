//! The progress of long work on a store, as the user sees it. The commands on stores use it.

use sustain::disk::clock::{Clock, Timestamp};
use sustain::report::terminal::{LiveKind, ProgressView};

/// What is done before a store that a crash may have left is read, as [`watched`] says it.
pub(crate) const SEARCH: &str = "looking for what a crash left";

/// A line on standard error that says how far the work has come.
pub(crate) struct ProgressLine {
    view: ProgressView,
    clock: Clock,
    /// The time of the first report, when the work began.
    start: Option<Timestamp>,
}

impl ProgressLine {
    /// Shows the progress of work with the name `what`.
    pub(crate) fn new(what: &str) -> ProgressLine {
        ProgressLine::of_kind(what, LiveKind::for_stderr(false))
    }

    /// Shows the progress in this way. The output may go to the same terminal, where a redrawn line
    /// would tear it.
    pub(crate) fn of_kind(what: &str, kind: LiveKind) -> ProgressLine {
        ProgressLine {
            view: ProgressView::new(what, kind, Box::new(std::io::stderr())),
            clock: Clock::Real,
            start: None,
        }
    }

    /// Reports that so many bytes are done, of so many if that is known.
    pub(crate) fn update(&mut self, done_bytes: u64, all_bytes: Option<u64>) {
        let now = self.clock.now();
        let start = *self.start.get_or_insert(now);
        let elapsed_s = now.since_ns(start) as f64 / 1e9;
        self.view.update(done_bytes, all_bytes, elapsed_s);
    }

    /// Prints a line that stays.
    pub(crate) fn note(&mut self, text: &str) {
        self.view.note(text);
    }

    /// Removes the line.
    pub(crate) fn finish(&mut self) {
        self.view.finish();
    }
}

/// Does work that calls its observer with the bytes of each stretch that it has read, and shows how
/// much that is if it takes long.
pub(crate) fn watched<T>(what: &str, work: impl FnOnce(&mut dyn FnMut(u64)) -> T) -> T {
    let mut progress = ProgressLine::new(what);
    let mut read_bytes = 0;
    let done = work(&mut |more_bytes| {
        read_bytes += more_bytes;
        progress.update(read_bytes, None);
    });
    progress.finish();
    done
}
