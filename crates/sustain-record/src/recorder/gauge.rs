//! Shows how much of the buffer is in use, at any time and from any thread.

use sustain_disk::buffer::SharedPool;

/// How much of a recorder's buffer is in use.
#[derive(Debug, Clone)]
pub struct BufferGauge(SharedPool);

impl BufferGauge {
    pub(super) fn new(pool: SharedPool) -> BufferGauge {
        BufferGauge(pool)
    }

    /// Bytes that are filled, are being filled, or are on their way to a member.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        let (free, count) = (self.0.free(), self.0.count());
        let buffer_bytes = self.0.bytes() / count.max(1);
        (count.saturating_sub(free) * buffer_bytes) as u64
    }
}
