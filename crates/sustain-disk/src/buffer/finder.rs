//! Has the kernel supply the memory of a pool beside the work: gently while enough is ready, faster
//! when a backlog uses it up. It must never hold up the work: a thread that needs memory that was
//! not supplied yet gets it from the kernel at its first touch.
//!
//! Finding takes CPU time (the kernel clears pages, and the host of a virtual machine finds them
//! first) and memory bandwidth, which a recording at full rate has none to spare of. All at once in
//! the first seconds it cost a sixth of their rate; the same work in slices, with rests that are
//! long as long as nothing needs it, costs next to nothing then. A thread of low priority would not
//! do: it could lose its CPU while it holds the lock of the address space.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::SharedPool;
use crate::clock::{Clock, Timestamp};

/// The amount that is supplied at once: a huge page.
const SLICE_BYTES: usize = 2 << 20;
/// As long as this much is supplied and not lent, nothing is urgent.
const READY_BYTES: usize = 64 << 20;
/// This much is supplied in time even if nothing needs it; the rest of a larger pool only ahead of
/// a backlog.
const GENTLE_BYTES: usize = 512 << 20;
/// The rest after a slice if nothing is urgent: 20 MB/s then, one or two percent of a CPU.
const REST_NS_MAX: u64 = 100_000_000;
/// How often a rest is interrupted to check what is ready.
const LOOK_NS: u64 = 10_000_000;

/// A thread that has the memory of a pool supplied; it ends when this value is dropped.
#[derive(Debug)]
pub struct Finder {
    /// Dropping it ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Finder {
    /// Starts the thread. If there is no thread to spare, nothing is supplied ahead.
    pub fn start(pool: SharedPool) -> Finder {
        let (stop, stopped) = bounded(0);
        let thread = std::thread::Builder::new()
            .name("sustain-memory".to_owned())
            .spawn(move || find_all(&pool, &stopped));
        Finder {
            stop: Some(stop),
            thread: thread.ok(),
        }
    }
}

impl Drop for Finder {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // Its result carries nothing; a panic has been printed already.
            let _ = thread.join();
        }
    }
}

/// Supplies slice by slice until everything is supplied, the kernel has no more, or it should stop.
fn find_all(pool: &SharedPool, stopped: &Receiver<()>) {
    let clock = Clock::Real;
    while pool.found_bytes() < pool.bytes() {
        let begun_at = clock.now();
        // A thread that needs the missing memory will meet the error.
        if pool.find(SLICE_BYTES).is_err() {
            return;
        }
        let ended_at = clock.now();
        let slice_ns = ended_at.since_ns(begun_at);
        if !rest(pool, stopped, &clock, ended_at, slice_ns) {
            return;
        }
    }
}

/// Rests as long as the state of the pool allows, and checks that state again and again; returns
/// whether to go on.
fn rest(
    pool: &SharedPool,
    stopped: &Receiver<()>,
    clock: &Clock,
    since: Timestamp,
    slice_ns: u64,
) -> bool {
    loop {
        let wanted_ns = rest_ns(pool.ready_bytes(), pool.found_bytes(), slice_ns);
        let rested_ns = clock.now().since_ns(since);
        let left_ns = wanted_ns.map_or(LOOK_NS, |wanted_ns| wanted_ns.saturating_sub(rested_ns));
        if left_ns == 0 {
            return true;
        }
        let look = Duration::from_nanos(left_ns.min(LOOK_NS));
        if stopped.recv_timeout(look) != Err(RecvTimeoutError::Timeout) {
            return false;
        }
    }
}

/// How long to rest after a slice that took `slice_ns`; `None` if no more is to be supplied for
/// now. It is never less than the slice took, so that half of a CPU remains for the work.
fn rest_ns(ready_bytes: usize, found_bytes: usize, slice_ns: u64) -> Option<u64> {
    if ready_bytes >= READY_BYTES {
        return (found_bytes < GENTLE_BYTES).then_some(REST_NS_MAX);
    }
    // Short rests only when little is left, and no step between this and the gentle pace.
    let share = ready_bytes as f64 / READY_BYTES as f64;
    Some(((REST_NS_MAX as f64 * share * share) as u64).max(slice_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn the_rest_is_long_while_enough_is_ready_and_short_when_a_backlog_eats_it_up() {
        assert_eq!(rest_ns(64 * MIB, 64 * MIB, 3_000_000), Some(REST_NS_MAX));
        assert_eq!(rest_ns(32 * MIB, 64 * MIB, 3_000_000), Some(25_000_000));
        assert_eq!(rest_ns(8 * MIB, 8 * MIB, 200_000), Some(1_562_500));
        assert_eq!(rest_ns(0, 300 * MIB, 3_000_000), Some(3_000_000));
    }

    #[test]
    fn the_rest_of_a_large_pool_is_found_only_ahead_of_a_backlog() {
        assert_eq!(rest_ns(512 * MIB, 512 * MIB, 1), None);
        assert_eq!(rest_ns(64 * MIB, 512 * MIB, 1), None);
        assert!(rest_ns(63 * MIB, 512 * MIB, 1).is_some());
        assert!(rest_ns(10 * MIB, 3000 * MIB, 1).is_some());
    }

    #[test]
    fn a_pool_that_is_used_up_is_found_to_its_end_and_then_left_alone() {
        let pool = SharedPool::new(6, MIB).unwrap();
        let lent: Vec<_> = std::iter::from_fn(|| pool.try_take()).collect();
        let (_stop, stopped) = bounded(0);
        find_all(&pool, &stopped);
        assert_eq!((pool.found_bytes(), pool.ready_bytes()), (6 * MIB, 0));
        lent.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!(pool.ready_bytes(), 6 * MIB);
    }

    #[test]
    fn a_finder_ends_when_it_is_dropped_whatever_is_left_to_find() {
        let pool = SharedPool::new(1024, MIB).unwrap();
        drop(Finder::start(pool.clone()));
        assert!(pool.found_bytes() < pool.bytes());
    }
}
