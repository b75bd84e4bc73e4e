//! The first seconds of a run, finer than any interval, because a small cache is full within a few
//! completions. It is fed with every completion, is bounded, and does nothing after the first
//! seconds.

/// Completions are one point if the later comes within this part of the time that the first came
/// at: what is told of a burst is as exact as that, however short it is.
const POINT_SHARE: u64 = 512;
/// A longer burst shows well enough in intervals.
const UNTIL_NS: u64 = 8_000_000_000;

/// Bytes completed, at the completions of the first seconds.
#[derive(Debug, Clone, Default)]
pub struct RateBeginning {
    bytes: u64,
    /// When the last point began.
    point_ns: u64,
    /// Times from the start of the run, rising, and all bytes until then.
    points: Vec<(u64, u64)>,
}

impl RateBeginning {
    /// Bytes were completed at `at_ns` from the start of the run.
    #[inline]
    pub fn complete(&mut self, at_ns: u64, bytes: u64) {
        if at_ns < UNTIL_NS {
            self.take(at_ns, bytes);
        }
    }

    fn take(&mut self, at_ns: u64, bytes: u64) {
        self.bytes += bytes;
        match self.points.last_mut() {
            // Threads may report in an order slightly off that of time.
            Some(last) if at_ns <= self.point_ns + self.point_ns / POINT_SHARE => {
                *last = (last.0.max(at_ns), self.bytes);
            }
            _ => {
                self.point_ns = at_ns;
                self.points.push((at_ns, self.bytes));
            }
        }
    }

    /// The points so far: nanoseconds from the start, and all bytes completed until then.
    #[must_use]
    pub fn points(&self) -> &[(u64, u64)] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_a_completion_with_all_bytes_until_then() {
        let mut beginning = RateBeginning::default();
        let seen = [
            (1_000_000, 5),
            (1_001_000, 7),
            (1_000_500, 1),
            (9_000_000, 2),
        ];
        for (at_ns, bytes) in seen {
            beginning.complete(at_ns, bytes);
        }
        assert_eq!(beginning.points(), [(1_001_000, 13), (9_000_000, 15)]);
    }

    #[test]
    fn it_is_bounded() {
        let mut beginning = RateBeginning::default();
        for at_ns in (0..20_000_000_000).step_by(500_000) {
            beginning.complete(at_ns, 1);
        }
        let last = *beginning.points().last().expect("points");
        assert_eq!(last, (UNTIL_NS - 500_000, UNTIL_NS / 500_000));
        assert!(beginning.points().len() < 6000);
    }
}
