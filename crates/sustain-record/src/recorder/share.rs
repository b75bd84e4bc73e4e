//! What the recorder takes for itself: the priorities of its thread, and its buffer. Nothing of
//! this fails: what the kernel refuses is told, and the recording goes on without it.

use sustain_disk::buffer::SharedPool;
use sustain_disk::engine::{take_cpu_priority, take_io_priority};
use sustain_document::share::{RecorderShare, ShareResult};

/// Takes what this share asks for, in the thread that will drive the members. Threads that are
/// started from there have it too: those of engines, and the one that has memory supplied.
pub(super) fn take(asked: RecorderShare, is_simulated: bool, pool: &SharedPool) -> ShareResult {
    let mut share = ShareResult::untouched(asked, is_simulated);
    if share.takes() {
        share.io_priority = take_io_priority();
        share.cpu_priority = take_cpu_priority();
        share.locked_buffer = pool.lock_memory();
    }
    share
}

/// Takes what this share would ask for with a buffer of so many bytes, in a thread that ends with
/// all of it: the only way to know what the kernel grants is to ask.
pub(crate) fn rehearse_share(
    asked: RecorderShare,
    is_simulated: bool,
    buffer_bytes: u64,
) -> ShareResult {
    const PIECE_BYTES: u64 = 1 << 20;
    let taken = std::thread::spawn(move || {
        let count = (buffer_bytes / PIECE_BYTES).max(1) as usize;
        let pool = SharedPool::new(count, PIECE_BYTES as usize).ok()?;
        Some(take(asked, is_simulated, &pool))
    });
    let taken = taken.join().ok().flatten();
    taken.unwrap_or_else(|| ShareResult::untouched(asked, is_simulated))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> SharedPool {
        SharedPool::new(2, 4096).unwrap()
    }

    #[test]
    fn a_fair_recorder_and_one_on_a_simulated_machine_take_nothing() {
        for (asked, is_simulated) in [
            (RecorderShare::Fair, false),
            (RecorderShare::Fair, true),
            (RecorderShare::First, true),
        ] {
            let taken = take(asked, is_simulated, &pool());
            assert_eq!(taken, ShareResult::untouched(asked, is_simulated));
        }
    }

    #[test]
    fn a_rehearsal_tells_what_a_thread_gets_and_leaves_this_one_as_it_was() {
        let own = || std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let nice = |stat: &str| {
            let after_name = stat.rsplit(") ").next().unwrap().to_owned();
            after_name.split(' ').nth(16).unwrap().to_owned()
        };
        let before = nice(&own());
        let rehearsed = rehearse_share(RecorderShare::First, false, 3 << 20);
        assert_eq!(nice(&own()), before);
        assert!(rehearsed.cpu_priority.nice.is_some());
        assert!(rehearsed.io_priority.class.is_some(), "{rehearsed:?}");
        assert_eq!(rehearsed.locked_buffer.of_bytes, 3 << 20);
    }
}
