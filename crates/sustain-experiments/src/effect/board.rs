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
pub(super) struct ObservedPhase(u32);

impl ObservedPhase {
    /// The time between stretches.
    pub(super) const NONE: ObservedPhase = ObservedPhase(0);

    /// Odd numbers are loads.
    fn is_load(self) -> bool {
        self.0 % 2 == 1
    }

    /// The stretch to which an event belongs that began in one and ended in another. An event that
    /// met the load belongs to the load, and any other belongs to the stretch in which it began.
    pub(super) fn of(begun: ObservedPhase, ended: ObservedPhase) -> ObservedPhase {
        if ended.is_load() { ended } else { begun }
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn from_number(number: u32) -> ObservedPhase {
        ObservedPhase(number)
    }
}

/// The board. All clones are the same board.
#[derive(Debug, Clone, Default)]
pub(super) struct ProbeBoard(Arc<ShownPhase>);

#[derive(Debug, Default)]
struct ShownPhase {
    stretch: AtomicU32,
    turned: AtomicU32,
    is_over: AtomicBool,
}

impl ProbeBoard {
    /// Begins a new stretch.
    pub(super) fn begin(&self, is_load: bool) -> ObservedPhase {
        let turn = self.0.turned.fetch_add(1, Ordering::Relaxed) + 1;
        let stretch = ObservedPhase(turn * 2 + u32::from(is_load));
        self.0.stretch.store(stretch.0, Ordering::Release);
        stretch
    }

    /// Ends the current stretch.
    pub(super) fn pause(&self) {
        self.0
            .stretch
            .store(ObservedPhase::NONE.0, Ordering::Release);
    }

    /// The current stretch.
    pub(super) fn stretch(&self) -> ObservedPhase {
        ObservedPhase(self.0.stretch.load(Ordering::Acquire))
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
pub(super) struct BoardPage<T> {
    pub(super) seen: T,
    /// CPU time of its thread.
    pub(super) cpu_ns: u64,
}

/// What one probe workload saw, by stretch. Only its own thread writes; the run reads when that
/// thread has ended, or is no longer waited for.
#[derive(Debug)]
pub(super) struct ProbeLog<T>(Arc<Mutex<Entries<T>>>);

impl<T> Clone for ProbeLog<T> {
    fn clone(&self) -> Self {
        ProbeLog(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
pub(super) struct Entries<T> {
    pub(super) pages: BTreeMap<ObservedPhase, BoardPage<T>>,
    /// An operation that has begun and not ended.
    pub(super) under_way: Option<(Timestamp, ObservedPhase)>,
    /// Why the probe workload ended before its time.
    pub(super) failed: Option<String>,
}

impl<T: Default> ProbeLog<T> {
    pub(super) fn new() -> ProbeLog<T> {
        ProbeLog(Arc::new(Mutex::new(Entries::empty())))
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
    log: ProbeLog<T>,
    board: ProbeBoard,
    on: ObservedPhase,
    cpu_ns: u64,
}

impl<T: Default> Pen<T> {
    pub(super) fn new(log: ProbeLog<T>, board: ProbeBoard) -> Pen<T> {
        Pen {
            log,
            board,
            on: ObservedPhase::NONE,
            cpu_ns: thread_cpu_ns(),
        }
    }

    /// The current stretch. CPU time up to a change is counted for the stretch before it.
    pub(super) fn look(&mut self) -> ObservedPhase {
        let stretch = self.board.stretch();
        if stretch != self.on {
            self.book();
            self.on = stretch;
        }
        stretch
    }

    /// Notes that an operation begins that may take long.
    pub(super) fn begin(&self, at: Timestamp, stretch: ObservedPhase) {
        self.log.lock().under_way = Some((at, stretch));
    }

    /// Enters what was seen, which ends the operation that had begun.
    pub(super) fn enter(&self, stretch: ObservedPhase, enter: impl FnOnce(&mut T)) {
        let mut entries = self.log.lock();
        entries.under_way = None;
        if stretch != ObservedPhase::NONE {
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
        if self.on != ObservedPhase::NONE {
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
        let board = ProbeBoard::default();
        assert_eq!(board.stretch(), ObservedPhase::NONE);
        let before = board.begin(false);
        let load = board.begin(true);
        let after = board.begin(false);
        assert_eq!(board.stretch(), after);
        assert_eq!(ObservedPhase::of(before, before), before);
        assert_eq!(ObservedPhase::of(before, load), load);
        assert_eq!(ObservedPhase::of(load, load), load);
        assert_eq!(ObservedPhase::of(load, after), load);
        assert_eq!(ObservedPhase::of(ObservedPhase::NONE, load), load);
        assert_eq!(
            ObservedPhase::of(ObservedPhase::NONE, after),
            ObservedPhase::NONE
        );
        assert_eq!(ObservedPhase::of(after, ObservedPhase::NONE), after);
        assert_eq!(ObservedPhase::from_number(load.number()), load);
    }

    #[test]
    fn a_log_keeps_stretches_apart_and_forgets_what_lies_between() {
        let (board, log) = (ProbeBoard::default(), ProbeLog::<u64>::new());
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
        let seen: Vec<(ObservedPhase, u64)> = entries
            .pages
            .iter()
            .map(|(stretch, page)| (*stretch, page.seen))
            .collect();
        assert_eq!(seen, [(before, 10)]);
        assert_eq!(entries.under_way, Some((Timestamp(5), load)));
        assert!(log.take().pages.is_empty());
    }
}
