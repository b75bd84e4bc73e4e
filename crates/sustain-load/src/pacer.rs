//! Paces requests as a source that does not wait: records fall due at a fixed rate over all
//! targets. The feed decides which queue takes the next one.

use std::sync::atomic::{AtomicU64, Ordering};

use sustain_disk::clock::Timestamp;

/// Hands out the records of a stream of constant rate. All drivers share it.
#[derive(Debug)]
pub struct Pacer {
    start: Timestamp,
    record_ns: f64,
    taken: AtomicU64,
}

impl Pacer {
    /// Starts records of `record_bytes` at `rate_bytes_per_s` from `start` on. A record falls due
    /// when its last byte has come from the source.
    pub fn new(start: Timestamp, rate_bytes_per_s: f64, record_bytes: u64) -> Pacer {
        assert!(rate_bytes_per_s > 0.0, "a stream has a rate");
        Pacer {
            start,
            record_ns: record_bytes as f64 / rate_bytes_per_s * 1e9,
            taken: AtomicU64::new(0),
        }
    }

    fn due_at(&self, record: u64) -> Timestamp {
        self.start + ((record + 1) as f64 * self.record_ns) as u64
    }

    /// The time at which the next record falls due.
    pub fn next_due_at(&self) -> Timestamp {
        self.due_at(self.taken.load(Ordering::Acquire))
    }

    /// The time at which the next record fell due, if it has.
    ///
    /// # Errors
    /// The time to ask again, if it has not fallen due.
    pub fn take(&self, now: Timestamp) -> Result<Timestamp, Timestamp> {
        let mut record = self.taken.load(Ordering::Acquire);
        loop {
            let due_at = self.due_at(record);
            if due_at > now {
                return Err(due_at);
            }
            let swapped = self.taken.compare_exchange_weak(
                record,
                record + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match swapped {
                Ok(_) => return Ok(due_at),
                Err(seen) => record = seen,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_fall_due_at_the_rate_and_a_late_taker_gets_the_backlog() {
        let pacer = Pacer::new(Timestamp(1_000), 1e9, 100);
        assert_eq!(pacer.take(Timestamp(1_099)), Err(Timestamp(1_100)));
        assert_eq!(pacer.take(Timestamp(1_250)), Ok(Timestamp(1_100)));
        assert_eq!(pacer.take(Timestamp(1_250)), Ok(Timestamp(1_200)));
        assert_eq!(pacer.take(Timestamp(1_250)), Err(Timestamp(1_300)));
    }
}
