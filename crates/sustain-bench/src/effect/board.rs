//! Shares with the probe workloads which stretch of a run is current, and collects what each of
//! them saw in it and the CPU time that watching took. The run sets the board, and the threads of
//! the probe workloads read it; neither ever waits for the other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sustain_disk::clock::{Timestamp, thread_cpu_ns};

/// A stretch of a run: before, during or after a load. The first value stands for no stretch, in
/// which nothing is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stretch(u32);

impl Stretch {
    /// The time between stretches.
    pub(super) const NONE: Stretch = Stretch(0);

    /// Odd numbers are loads.
    fn is_load(self) -> bool {
        self.0 % 2 == 1
    }

    /// The stretch to which an event belongs that began in one and ended in another. An event that
    /// met the load belongs to the load, and any other belongs to the stretch in which it began.
    pub(super) fn of(begun: Stretch, ended: Stretch) -> Stretch {
        if ended.is_load() { ended } else { begun }
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn from_number(number: u32) -> Stretch {
        Stretch(number)
    }
}

/// The board. All clones are the same board.
#[derive(Debug, Clone, Default)]
pub(super) struct Board(Arc<Shown>);

#[derive(Debug, Default)]
struct Shown {
    stretch: AtomicU32,
    turned: AtomicU32,
    is_over: AtomicBool,
}

impl Board {
    /// Begins a new stretch.
    pub(super) fn begin(&self, is_load: bool) -> Stretch {
        let turn = self.0.turned.fetch_add(1, Ordering::Relaxed) + 1;
        let stretch = Stretch(turn * 2 + u32::from(is_load));
        self.0.stretch.store(stretch.0, Ordering::Release);
        stretch
    }

    /// Ends the current stretch.
    pub(super) fn pause(&self) {
        self.0.stretch.store(Stretch::NONE.0, Ordering::Release);
    }

    /// The current stretch.
    pub(super) fn stretch(&self) -> Stretch {
        Stretch(self.0.stretch.load(Ordering::Acquire))
    }

    /// Tells the probe workloads to end.
    pub(super) fn close(&self) {
        self.0.is_over.store(true, Ordering::Release);
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }
}

/// What one probe workload saw in one stretch.
#[derive(Debug, Default)]
pub(super) struct Page<T> {
    pub(super) seen: T,
    /// CPU time of its thread.
    pub(super) cpu_ns: u64,
}

/// What one probe workload saw, by stretch. Only its own thread writes; the run reads when that
/// thread has ended, or is no longer waited for.
#[derive(Debug)]
pub(super) struct Log<T>(Arc<Mutex<Entries<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Log(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
pub(super) struct Entries<T> {
    pub(super) pages: BTreeMap<Stretch, Page<T>>,
    /// An operation that has begun and not ended.
    pub(super) under_way: Option<(Timestamp, Stretch)>,
    /// Why the probe workload ended before its time.
    pub(super) failed: Option<String>,
}

impl<T: Default> Log<T> {
    pub(super) fn new() -> Log<T> {
        Log(Arc::new(Mutex::new(Entries::empty())))
    }

    /// Takes all entries out.
    pub(super) fn take(&self) -> Entries<T> {
        std::mem::replace(&mut *self.lock(), Entries::empty())
    }

    fn lock(&self) -> MutexGuard<'_, Entries<T>> {
        // The entries of a thread that panicked are whole, because each is made at once.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Entries<T> {
    fn empty() -> Entries<T> {
        Entries {
            pages: BTreeMap::new(),
            under_way: None,
            failed: None,
        }
    }
}

/// Writes the log of one probe workload, in its thread.
pub(super) struct Pen<T: Default> {
    log: Log<T>,
    board: Board,
    on: Stretch,
    cpu_ns: u64,
}

impl<T: Default> Pen<T> {
    pub(super) fn new(log: Log<T>, board: Board) -> Pen<T> {
        Pen {
            log,
            board,
            on: Stretch::NONE,
            cpu_ns: thread_cpu_ns(),
        }
    }

    /// The current stretch. CPU time up to a change is counted for the stretch before it.
    pub(super) fn look(&mut self) -> Stretch {
        let stretch = self.board.stretch();
        if stretch != self.on {
            self.book();
            self.on = stretch;
        }
        stretch
    }

    /// Notes that an operation begins that may take long.
    pub(super) fn begin(&self, at: Timestamp, stretch: Stretch) {
        self.log.lock().under_way = Some((at, stretch));
    }

    /// Enters what was seen, which ends the operation that had begun.
    pub(super) fn enter(&self, stretch: Stretch, enter: impl FnOnce(&mut T)) {
        let mut entries = self.log.lock();
        entries.under_way = None;
        if stretch != Stretch::NONE {
            enter(&mut entries.pages.entry(stretch).or_default().seen);
        }
    }

    /// Notes that the probe workload cannot go on.
    pub(super) fn fail(&self, why: String) {
        let mut entries = self.log.lock();
        entries.under_way = None;
        entries.failed = Some(why);
    }

    fn book(&mut self) {
        let now_ns = thread_cpu_ns();
        let used_ns = now_ns.saturating_sub(self.cpu_ns);
        self.cpu_ns = now_ns;
        if self.on != Stretch::NONE {
            let mut entries = self.log.lock();
            entries.pages.entry(self.on).or_default().cpu_ns += used_ns;
        }
    }
}

impl<T: Default> Drop for Pen<T> {
    fn drop(&mut self) {
        self.book();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_met_the_load_is_the_loads() {
        let board = Board::default();
        assert_eq!(board.stretch(), Stretch::NONE);
        let before = board.begin(false);
        let load = board.begin(true);
        let after = board.begin(false);
        assert_eq!(board.stretch(), after);
        assert_eq!(Stretch::of(before, before), before);
        assert_eq!(Stretch::of(before, load), load);
        assert_eq!(Stretch::of(load, load), load);
        assert_eq!(Stretch::of(load, after), load);
        assert_eq!(Stretch::of(Stretch::NONE, load), load);
        assert_eq!(Stretch::of(Stretch::NONE, after), Stretch::NONE);
        assert_eq!(Stretch::of(after, Stretch::NONE), after);
        assert_eq!(Stretch::from_number(load.number()), load);
    }

    #[test]
    fn a_log_keeps_stretches_apart_and_forgets_what_lies_between() {
        let (board, log) = (Board::default(), Log::<u64>::new());
        let mut pen = Pen::new(log.clone(), board.clone());
        pen.enter(pen.on, |seen| *seen += 1);
        let before = board.begin(false);
        assert_eq!(pen.look(), before);
        pen.enter(before, |seen| *seen += 10);
        board.pause();
        let between = pen.look();
        pen.enter(between, |seen| *seen += 100);
        let load = board.begin(true);
        pen.begin(Timestamp(5), load);
        drop(pen);
        let entries = log.take();
        let seen: Vec<(Stretch, u64)> = entries
            .pages
            .iter()
            .map(|(stretch, page)| (*stretch, page.seen))
            .collect();
        assert_eq!(seen, [(before, 10)]);
        assert_eq!(entries.under_way, Some((Timestamp(5), load)));
        assert!(log.take().pages.is_empty());
    }
}
