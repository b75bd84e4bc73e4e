//! The drift of a stream: how far the times that its source gives differ from the recorder's clock.
//! With it a reader can find a time by bisection, because only the recorder's clock never steps
//! within a recording.

/// The earliest and the latest of all times of a stream, each compared with the recorder's clock at
/// the moment when its append was made: in nanoseconds, and negative where they lie before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockDrift {
    /// The least of the differences.
    pub earliest_ns: i64,
    /// The largest.
    pub latest_ns: i64,
}

impl ClockDrift {
    /// The drift of a stream without any time so far.
    pub const NONE: ClockDrift = ClockDrift {
        earliest_ns: i64::MAX,
        latest_ns: i64::MIN,
    };

    /// The drift of times that may lie anywhere.
    pub const UNKNOWN: ClockDrift = ClockDrift {
        earliest_ns: i64::MIN,
        latest_ns: i64::MAX,
    };

    /// Adds a time of an append that was made at `made_time_ns`.
    pub fn add_time(&mut self, time_ns: i64, made_time_ns: i64) {
        let difference_ns = time_ns.saturating_sub(made_time_ns);
        self.add(ClockDrift {
            earliest_ns: difference_ns,
            latest_ns: difference_ns,
        });
    }

    /// Adds another drift of the same stream.
    pub fn add(&mut self, other: ClockDrift) {
        self.earliest_ns = self.earliest_ns.min(other.earliest_ns);
        self.latest_ns = self.latest_ns.max(other.latest_ns);
    }

    /// The earliest moment at which an append with anything of this time or later can have been
    /// made.
    pub fn earliest_made_ns(&self, time_ns: i64) -> i64 {
        // A difference that did not fit says nothing.
        if self.latest_ns == i64::MAX {
            i64::MIN
        } else {
            time_ns.saturating_sub(self.latest_ns)
        }
    }

    /// The latest moment at which an append with anything of this time or earlier can have been
    /// made.
    pub fn latest_made_ns(&self, time_ns: i64) -> i64 {
        if self.earliest_ns == i64::MIN {
            i64::MAX
        } else {
            time_ns.saturating_sub(self.earliest_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_with_a_time_was_made_within_the_bounds() {
        let mut drift = ClockDrift::NONE;
        drift.add_time(1_000, 1_005);
        drift.add_time(9_000, 1_010);
        assert_eq!((drift.earliest_ns, drift.latest_ns), (-5, 7_990));
        assert_eq!(drift.earliest_made_ns(9_000), 1_010);
        assert_eq!(drift.latest_made_ns(1_000), 1_005);
    }

    #[test]
    fn what_is_unknown_bounds_nothing() {
        assert_eq!(ClockDrift::UNKNOWN.earliest_made_ns(5), i64::MIN);
        assert_eq!(ClockDrift::UNKNOWN.latest_made_ns(5), i64::MAX);
        let mut drift = ClockDrift::NONE;
        drift.add_time(i64::MAX, -1);
        assert_eq!(drift.earliest_made_ns(0), i64::MIN);
    }
}
