//! Shows how much of the buffer is in use, at any time and from any thread.
//!
//! A member that does not answer keeps the memory of what was on its way to it, for hours if need
//! be. Nothing waits in there once it is durable elsewhere, or given up. So it counts neither as
//! used nor as buffer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sustain_disk::buffer::SharedPool;

/// How much of a recorder's buffer is in use.
#[derive(Debug, Clone)]
pub struct BufferGauge {
    pool: SharedPool,
    kept: Arc<KeptBuffers>,
}

/// Buffers that members keep although nothing in them waits.
#[derive(Debug, Default)]
struct KeptBuffers {
    /// By requests of the recording that runs.
    now: AtomicUsize,
    /// By those of recordings that have ended: they do not come back.
    for_good: AtomicUsize,
}

impl BufferGauge {
    pub(super) fn new(pool: SharedPool) -> BufferGauge {
        BufferGauge {
            pool,
            kept: Arc::default(),
        }
    }

    /// Bytes that are filled, are being filled, or are on their way to a member, without those that
    /// a member keeps although they are durable elsewhere or given up.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        let used = self.usable().saturating_sub(self.pool.free());
        (used * self.bytes_each()) as u64
    }

    /// Bytes of the buffer, without those that members keep for nothing.
    #[must_use]
    pub fn usable_bytes(&self) -> u64 {
        (self.usable() * self.bytes_each()) as u64
    }

    /// Share of the buffer that is in use, from 0 to 1.
    pub(super) fn fill(&self) -> f64 {
        let free = self.pool.free();
        // What has come back since it was noted is kept no more.
        let usable = self.usable().max(free).max(1);
        (usable - free) as f64 / usable as f64
    }

    /// Notes how many buffers members keep for nothing.
    pub(super) fn set_kept(&self, buffers: usize) {
        // Nothing is ordered by this value; it is only shown.
        self.kept.now.store(buffers, Ordering::Relaxed);
    }

    /// Notes that the recording has ended, so that nobody takes back any more what members keep.
    pub(super) fn keep_for_good(&self) {
        let now = self.kept.now.swap(0, Ordering::Relaxed);
        self.kept.for_good.fetch_add(now, Ordering::Relaxed);
    }

    fn kept(&self) -> usize {
        let KeptBuffers { now, for_good } = &*self.kept;
        now.load(Ordering::Relaxed) + for_good.load(Ordering::Relaxed)
    }

    fn usable(&self) -> usize {
        self.pool.count().saturating_sub(self.kept())
    }

    fn bytes_each(&self) -> usize {
        self.pool.bytes() / self.pool.count().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_members_keep_for_nothing_is_neither_used_nor_buffer() {
        let pool = SharedPool::new(10, 4096).unwrap();
        let gauge = BufferGauge::new(pool.clone());
        let mut lent: Vec<_> = (0..6).map_while(|_| pool.try_take()).collect();
        assert_eq!((gauge.used_bytes(), gauge.fill()), (6 * 4096, 0.6));
        gauge.set_kept(4);
        assert_eq!(gauge.used_bytes(), 2 * 4096);
        assert_eq!(gauge.usable_bytes(), 6 * 4096);
        assert_eq!(gauge.fill(), 2.0 / 6.0);
        lent.extend((0..4).map_while(|_| pool.try_take()));
        assert_eq!(gauge.fill(), 1.0, "a source finds no memory");
        // The next recording has other requests, and what the last one's kept stays away.
        gauge.keep_for_good();
        gauge.set_kept(1);
        assert_eq!(gauge.used_bytes(), 5 * 4096);
        lent.into_iter().take(5).for_each(|one| pool.give(one));
        assert_eq!((gauge.used_bytes(), gauge.fill()), (0, 0.0));
    }
}
