//! The only place that asks the time: the machine's monotonic clock, or a simulated one.

use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::{NanosleepRelativeResult, nanosleep};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment, in nanoseconds since the clock's own epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Nanoseconds since `earlier`; 0 if that lies in the future.
    pub fn since_ns(self, earlier: Timestamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Seconds since `earlier`; negative if that lies in the future.
    pub fn since_s(self, earlier: Timestamp) -> f64 {
        if self >= earlier {
            self.since_ns(earlier) as f64 / 1e9
        } else {
            -(earlier.since_ns(self) as f64 / 1e9)
        }
    }
}

impl Add<u64> for Timestamp {
    type Output = Timestamp;

    fn add(self, nanoseconds: u64) -> Timestamp {
        Timestamp(self.0.saturating_add(nanoseconds))
    }
}

impl Sub<u64> for Timestamp {
    type Output = Timestamp;

    fn sub(self, nanoseconds: u64) -> Timestamp {
        Timestamp(self.0.saturating_sub(nanoseconds))
    }
}

/// The source of the time. All clones show the same time.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The kernel's monotonic clock.
    Real,
    /// Time that a simulated engine sets as it goes.
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// A simulated clock that shows 0.
    pub fn simulated() -> Clock {
        Clock::Virtual(Arc::new(AtomicU64::new(0)))
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::Real => {
                let time = clock_gettime(ClockId::Monotonic);
                Timestamp(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
            }
            Clock::Virtual(time) => Timestamp(time.load(Ordering::Acquire)),
        }
    }

    /// Whether no real time passes.
    pub fn is_virtual(&self) -> bool {
        matches!(self, Clock::Virtual(_))
    }

    /// Waits for `until`: sleeps on the real clock, sets the simulated one.
    pub fn wait_until(&self, until: Timestamp) {
        match self {
            Clock::Real => {
                let mut now = self.now();
                while now < until {
                    // A sleep that was interrupted is resumed until the same moment.
                    let _: NanosleepRelativeResult = nanosleep(&timespec(until.since_ns(now)));
                    now = self.now();
                }
            }
            Clock::Virtual(time) => {
                time.fetch_max(until.0, Ordering::AcqRel);
            }
        }
    }
}

/// A duration as the kernel takes it.
pub(crate) fn timespec(nanoseconds: u64) -> Timespec {
    Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

/// CPU time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time that this process has used in all its threads, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time of day as seconds since 1970-01-01 00:00 UTC.
pub fn unix_seconds() -> i64 {
    clock_gettime(ClockId::Realtime).tv_sec
}

/// The time of day of moments of a [`Clock`], fixed by one reading: it neither jumps nor runs
/// backwards when someone sets the machine's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixClock {
    origin: Timestamp,
    origin_unix_ns: i64,
}

impl UnixClock {
    /// The machine's time of day, read now.
    pub fn read(clock: &Clock) -> UnixClock {
        let time = clock_gettime(ClockId::Realtime);
        UnixClock {
            origin: clock.now(),
            origin_unix_ns: time
                .tv_sec
                .saturating_mul(1_000_000_000)
                .saturating_add(time.tv_nsec),
        }
    }

    /// A time of day at which `origin` is `origin_unix_ns` nanoseconds since 1970-01-01 UTC.
    pub fn fixed(origin: Timestamp, origin_unix_ns: i64) -> UnixClock {
        UnixClock {
            origin,
            origin_unix_ns,
        }
    }

    /// Nanoseconds since 1970-01-01 00:00 UTC at a moment.
    pub fn unix_ns(&self, at: Timestamp) -> i64 {
        let later = at.since_ns(self.origin) as i64;
        let earlier = self.origin.since_ns(at) as i64;
        self.origin_unix_ns
            .saturating_add(later)
            .saturating_sub(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_time_moves_only_when_set() {
        let clock = Clock::simulated();
        let same = clock.clone();
        assert_eq!(clock.now(), Timestamp(0));
        clock.wait_until(Timestamp(5));
        assert_eq!(same.now(), Timestamp(5));
        clock.wait_until(Timestamp(3));
        assert_eq!(same.now(), Timestamp(5), "time never runs backwards");
    }

    #[test]
    fn differences_are_signed_in_seconds() {
        assert_eq!(
            Timestamp(2_000_000_000).since_s(Timestamp(500_000_000)),
            1.5
        );
        assert_eq!(Timestamp(0).since_s(Timestamp(500_000_000)), -0.5);
    }
}
