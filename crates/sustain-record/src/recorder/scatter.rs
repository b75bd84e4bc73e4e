//! Chooses the member that takes the next append. It is pure: facts about the members go in, a
//! member comes out.
//!
//! The choice is the member that is expected to finish first, of those with room in their windows.
//! If members have filled unevenly, the emptier ones go first, so that all are full together and
//! the last hour of a recording has as many disks as the first.

/// The facts about a member on which the choice depends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScatterCandidate {
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Requests in flight.
    pub in_flight: u32,
    /// Its recent rate, in bytes per second.
    pub rate_bytes_per_s: f64,
    /// Share of its slots that have been used, from 0; above 1 in a ring.
    pub filled: f64,
    /// Whether the append fits, and the member works.
    pub is_open: bool,
}

/// The bounds on what is in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScatterWindow {
    /// Most appends in flight on one member.
    pub depth: u32,
    /// The bytes in flight on one member are bounded to what it writes in this time, so that a slow
    /// one does not hold many when all others are done.
    pub time_ns: u64,
}

/// Members whose filled shares differ by less than this count as even.
const EVEN_FILLED: f64 = 0.005;

/// Returns the member for an append of `bytes`, if any has room in its window.
pub fn choose(
    candidates: impl Iterator<Item = ScatterCandidate> + Clone,
    bytes: u64,
    window: ScatterWindow,
) -> Option<usize> {
    let open = candidates
        .enumerate()
        .filter(|(_, candidate)| candidate.has_room(bytes, window));
    let least_filled = open
        .clone()
        .map(|(_, candidate)| candidate.filled)
        .fold(f64::INFINITY, f64::min);
    open.filter(|(_, candidate)| candidate.filled <= least_filled + EVEN_FILLED)
        .min_by(|(_, one), (_, other)| one.finish_ns(bytes).total_cmp(&other.finish_ns(bytes)))
        .map(|(index, _)| index)
}

impl ScatterCandidate {
    fn finish_ns(&self, bytes: u64) -> f64 {
        (self.in_flight_bytes + bytes) as f64 * 1e9 / self.rate_bytes_per_s.max(1.0)
    }

    /// One append may always be in flight, however slow the member is.
    pub fn has_room(&self, bytes: u64, window: ScatterWindow) -> bool {
        let in_time = self.in_flight == 0 || self.finish_ns(bytes) <= window.time_ns as f64;
        self.is_open && self.in_flight < window.depth && in_time
    }
}

/// An estimate of a member's rate from its own completions: bytes over the time in which it had
/// work.
#[derive(Debug, Clone, Copy)]
pub struct RateEstimate {
    ns_per_byte: f64,
    last_completed_ns: u64,
    samples: u32,
}

impl RateEstimate {
    /// Weight of the newest completion.
    const WEIGHT: f64 = 0.1;
    /// Until its first completion, a member is assumed to write 1 GB/s.
    const FIRST_NS_PER_BYTE: f64 = 1.0;

    /// The estimate before anything is known.
    pub fn new() -> RateEstimate {
        RateEstimate {
            ns_per_byte: Self::FIRST_NS_PER_BYTE,
            last_completed_ns: 0,
            samples: 0,
        }
    }

    /// Enters a request of `bytes` that was in flight from `submitted_ns` to `completed_ns`. The
    /// requests before it occupied the member until they completed.
    pub fn completed(&mut self, submitted_ns: u64, completed_ns: u64, bytes: u64) {
        let from_ns = submitted_ns.max(self.last_completed_ns);
        self.last_completed_ns = self.last_completed_ns.max(completed_ns);
        if bytes == 0 {
            return;
        }
        let sample = completed_ns.saturating_sub(from_ns) as f64 / bytes as f64;
        self.samples = self.samples.saturating_add(1);
        let weight = Self::WEIGHT.max(1.0 / f64::from(self.samples));
        self.ns_per_byte += (sample - self.ns_per_byte) * weight;
    }

    /// When its last request completed.
    pub fn last_completed_ns(&self) -> u64 {
        self.last_completed_ns
    }

    /// The rate in bytes per second, if any request has completed.
    pub fn known_bytes_per_s(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.bytes_per_s())
    }

    /// The rate in bytes per second, which is a guess before the first completion.
    pub fn bytes_per_s(&self) -> f64 {
        1e9 / self.ns_per_byte.max(1e-3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const WINDOW: ScatterWindow = ScatterWindow {
        depth: 8,
        time_ns: 100_000_000,
    };

    fn member(rate_mb_per_s: f64, in_flight: u32) -> ScatterCandidate {
        ScatterCandidate {
            in_flight_bytes: u64::from(in_flight) * MIB,
            in_flight,
            rate_bytes_per_s: rate_mb_per_s * 1e6,
            filled: 0.1,
            is_open: true,
        }
    }

    fn chosen(members: &[ScatterCandidate]) -> Option<usize> {
        choose(members.iter().copied(), MIB, WINDOW)
    }

    #[test]
    fn the_one_that_finishes_first_takes_it() {
        assert_eq!(chosen(&[member(100.0, 0), member(500.0, 0)]), Some(1));
        assert_eq!(
            chosen(&[member(100.0, 0), member(500.0, 7)]),
            Some(0),
            "10 ms against 16 ms"
        );
    }

    #[test]
    fn a_slow_member_holds_no_more_than_its_time() {
        let slow = |in_flight| member(10.5, in_flight);
        assert_eq!(chosen(&[slow(0)]), Some(0), "one is always allowed");
        assert_eq!(chosen(&[slow(1)]), None, "two would take 200 ms");
        assert_eq!(chosen(&[member(30.0, 1)]), Some(0));
    }

    #[test]
    fn full_and_failed_members_are_left_out() {
        let closed = ScatterCandidate {
            is_open: false,
            ..member(900.0, 0)
        };
        assert_eq!(chosen(&[closed, member(100.0, 3)]), Some(1));
        assert_eq!(chosen(&[closed]), None);
    }

    #[test]
    fn the_emptier_member_goes_first_when_they_differ() {
        let emptier = ScatterCandidate {
            filled: 0.05,
            ..member(100.0, 2)
        };
        assert_eq!(chosen(&[member(900.0, 0), emptier]), Some(1));
        let busy = ScatterCandidate {
            in_flight: 8,
            ..emptier
        };
        assert_eq!(
            chosen(&[member(900.0, 0), busy]),
            Some(0),
            "but it holds nobody back"
        );
    }

    #[test]
    fn a_rate_counts_the_time_with_work_only() {
        let mut rate = RateEstimate::new();
        // Two requests at once take 10 ms together; then comes an idle second, then another
        // request.
        rate.completed(0, 5_000_000, MIB);
        rate.completed(0, 10_000_000, MIB);
        rate.completed(1_000_000_000, 1_005_000_000, MIB);
        let expected = MIB as f64 / 0.005;
        assert!((rate.bytes_per_s() / expected - 1.0).abs() < 1e-6);
    }
}
