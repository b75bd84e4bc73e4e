//! The stall ledger: the longest times without a completion while requests were in flight, with
//! their times and offsets. The meter feeds it with every completion, so it must cost only a few
//! additions unless there is a stall, and stay bounded however long the run is.
//!
//! A gap begins with the completion before it, or with the first request after idleness, and ends
//! with the next completion. It is listed as a stall above max(10 ms, 8 * mean gap), with the mean
//! of all gaps of the run: 10 ms so that a fast disk's jitter is none, 8 means so that a slow
//! disk's ordinary pace is none. The rule is applied when reading, with the final mean. Gaps of no
//! length, of completions reaped together, do not count in the mean.
//!
//! A gap that is still open when the run ends, because a request was given up that never returned,
//! counts as the worst one with its length so far. It is in no list, because nothing ended it.

/// Stalls kept; shorter ones are dropped for longer ones.
pub const STALLS_KEPT: usize = 64;
/// No gap up to this is listed.
pub const STALL_NS_MIN: u64 = 10_000_000;
/// No gap up to this many mean gaps is listed.
pub const STALL_MEAN_GAPS_MIN: u64 = 8;

/// A stretch without a completion although requests were in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeteredStall {
    /// Start, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Number of the target.
    pub target: usize,
    /// Offset on the target of the request that ended it.
    pub offset_bytes: u64,
    /// Numbers of the other targets that stalled at the same time, see [`mark_shared`].
    pub shared_with: Vec<usize>,
}

impl MeteredStall {
    fn end_ns(&self) -> u64 {
        self.start_ns + self.duration_ns
    }
}

/// The longest gaps of one target.
#[derive(Debug, Clone)]
pub struct StallLedger {
    target: usize,
    /// Start of the gap that is open; `None` while nothing is in flight.
    open_ns: Option<u64>,
    gaps: u64,
    gaps_ns: u64,
    worst: Option<MeteredStall>,
    /// Length of the gap that was open when the run ended.
    unreturned_ns: u64,
    kept: Vec<MeteredStall>,
    /// Gaps that were stalls by the mean of the gaps before them.
    seen: u64,
    /// A gap must be longer to be kept.
    keep_above_ns: u64,
}

impl StallLedger {
    /// An empty ledger for target number `target`.
    #[must_use]
    pub fn new(target: usize) -> Self {
        Self {
            target,
            open_ns: None,
            gaps: 0,
            gaps_ns: 0,
            worst: None,
            unreturned_ns: 0,
            kept: Vec::new(),
            seen: 0,
            keep_above_ns: STALL_NS_MIN,
        }
    }

    /// Notes that the first request after idleness was handed over at `at_ns` from the start of the
    /// run.
    #[inline]
    pub fn begin(&mut self, at_ns: u64) {
        self.open_ns = Some(at_ns);
    }

    /// Notes that the last request in flight completed: from here on, time without a completion is
    /// no stall.
    #[inline]
    pub fn idle(&mut self) {
        self.open_ns = None;
    }

    /// Notes that bytes were completed at `at_ns` from the start of the run, by the request at
    /// `offset_bytes`.
    #[inline]
    pub fn complete(&mut self, at_ns: u64, offset_bytes: u64) {
        // Threads may report in an order slightly off that of time.
        let start_ns = self.open_ns.unwrap_or(at_ns).min(at_ns);
        let duration_ns = at_ns - start_ns;
        self.open_ns = Some(self.open_ns.map_or(at_ns, |open_ns| open_ns.max(at_ns)));
        if duration_ns == 0 {
            return;
        }
        self.gaps += 1;
        self.gaps_ns += duration_ns;
        if duration_ns > STALL_NS_MIN && duration_ns > self.above_ns() {
            self.seen += 1;
        }
        let worst_ns = self.worst().map_or(0, |worst| worst.duration_ns);
        if duration_ns > worst_ns || duration_ns > self.keep_above_ns {
            let target = self.target;
            let shared_with = Vec::new();
            let stall = MeteredStall {
                start_ns,
                duration_ns,
                target,
                offset_bytes,
                shared_with,
            };
            self.enter(stall, worst_ns);
        }
    }

    #[cold]
    fn enter(&mut self, stall: MeteredStall, worst_ns: u64) {
        if stall.duration_ns > worst_ns {
            self.worst = Some(stall.clone());
        }
        if stall.duration_ns <= self.keep_above_ns {
            return;
        }
        if self.kept.len() == STALLS_KEPT
            && let Some(shortest) = self
                .kept
                .iter()
                .position(|kept| kept.duration_ns == self.keep_above_ns)
        {
            self.kept.swap_remove(shortest);
        }
        self.kept.push(stall);
        if self.kept.len() == STALLS_KEPT {
            let durations = self.kept.iter().map(|kept| kept.duration_ns);
            self.keep_above_ns = durations.min().unwrap_or(STALL_NS_MIN);
        }
    }

    /// Notes that the run ended at `at_ns` with requests in flight that are no longer waited for.
    pub fn cut_off(&mut self, at_ns: u64) {
        let open_ns = self.open_ns.take().unwrap_or(at_ns);
        self.unreturned_ns = self.unreturned_ns.max(at_ns.saturating_sub(open_ns));
    }

    /// The longest gap that ended, exact, whether it counts as a stall or not.
    #[must_use]
    pub fn worst(&self) -> Option<&MeteredStall> {
        self.worst.as_ref()
    }

    /// Length of the longest gap in nanoseconds, 0 if there was none.
    #[must_use]
    pub fn worst_ns(&self) -> u64 {
        let ended_ns = self.worst.as_ref().map_or(0, |worst| worst.duration_ns);
        ended_ns.max(self.unreturned_ns)
    }

    /// Whether the longest gap had not ended when the run did.
    #[must_use]
    pub fn is_worst_unreturned(&self) -> bool {
        self.unreturned_ns > 0 && self.worst_ns() == self.unreturned_ns
    }

    /// The stalls, at most [`STALLS_KEPT`], the longest first.
    #[must_use]
    pub fn stalls(&self) -> Vec<MeteredStall> {
        let above_ns = self.above_ns();
        let mut stalls: Vec<MeteredStall> = self
            .kept
            .iter()
            .filter(|kept| kept.duration_ns > above_ns)
            .cloned()
            .collect();
        stalls.sort_by_key(|stall| (std::cmp::Reverse(stall.duration_ns), stall.start_ns));
        stalls
    }

    /// How many stalls there were. Beyond those that are kept, each counts by the mean of the gaps
    /// up to it.
    #[must_use]
    pub fn seen(&self) -> u64 {
        let listed = self.stalls().len();
        match listed < STALLS_KEPT {
            // Where one that is kept is no stall by the mean of the whole run, none that was
            // dropped is: it was shorter.
            true => listed as u64,
            false => self.seen.max(listed as u64),
        }
    }

    /// No gap up to this is a stall, by the mean of those so far.
    fn above_ns(&self) -> u64 {
        let mean_ns = self.gaps_ns / self.gaps.max(1);
        STALL_NS_MIN.max(STALL_MEAN_GAPS_MIN * mean_ns)
    }
}

/// Fills `shared_with`: stalls of different targets that overlap by more than half of the shorter
/// one have a cause in common, such as a channel, a controller or the host. The stalls may be in
/// any order.
pub fn mark_shared(stalls: &mut [MeteredStall]) {
    let mut by_start: Vec<usize> = (0..stalls.len()).collect();
    by_start.sort_by_key(|&index| stalls[index].start_ns);
    for (place, &early) in by_start.iter().enumerate() {
        let end_ns = stalls[early].end_ns();
        for &late in &by_start[place + 1..] {
            if stalls[late].start_ns >= end_ns {
                break;
            }
            let overlap_ns = end_ns.min(stalls[late].end_ns()) - stalls[late].start_ns;
            let shorter_ns = stalls[early].duration_ns.min(stalls[late].duration_ns);
            let (one, other) = (stalls[early].target, stalls[late].target);
            if one != other && 2 * overlap_ns > shorter_ns {
                stalls[early].shared_with.push(other);
                stalls[late].shared_with.push(one);
            }
        }
    }
    for stall in stalls {
        stall.shared_with.sort_unstable();
        stall.shared_with.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn stall(target: usize, start_ms: u64, duration_ms: u64) -> MeteredStall {
        MeteredStall {
            start_ns: start_ms * MS,
            duration_ns: duration_ms * MS,
            target,
            offset_bytes: 0,
            shared_with: Vec::new(),
        }
    }

    #[test]
    fn what_is_the_pace_of_the_whole_run_is_no_stall_in_its_count_either() {
        let mut ledger = StallLedger::new(0);
        ledger.begin(0);
        let mut at_ms = 0;
        // A cache takes the first requests; then each takes as long as the medium needs.
        for gap_ms in std::iter::repeat_n(1, 200).chain(std::iter::repeat_n(14, 2000)) {
            at_ms += gap_ms;
            ledger.complete(at_ms * MS, 0);
        }
        assert_eq!((ledger.stalls().len(), ledger.seen()), (0, 0));
    }

    #[test]
    fn stalls_beyond_those_that_are_kept_are_counted() {
        let mut ledger = StallLedger::new(0);
        ledger.begin(0);
        let mut at_ms = 0;
        for number in 0..1000 {
            for _ in 0..9 {
                at_ms += 1;
                ledger.complete(at_ms * MS, 0);
            }
            at_ms += if number % 2 == 0 { 40 } else { 1 };
            ledger.complete(at_ms * MS, 0);
            if number == 59 {
                assert_eq!((ledger.stalls().len(), ledger.seen()), (30, 30));
            }
        }
        assert_eq!((ledger.stalls().len(), ledger.seen()), (STALLS_KEPT, 500));
    }

    #[test]
    fn a_stall_has_its_time_and_place() {
        let mut ledger = StallLedger::new(3);
        ledger.begin(0);
        for at_ms in 1..=100 {
            ledger.complete(at_ms * MS, at_ms * 4096);
        }
        ledger.complete(141 * MS, 777);
        ledger.complete(142 * MS, 778);
        let expected = MeteredStall {
            offset_bytes: 777,
            ..stall(3, 100, 41)
        };
        assert_eq!(ledger.stalls(), std::slice::from_ref(&expected));
        assert_eq!(ledger.worst(), Some(&expected));
    }

    #[test]
    fn the_pace_of_a_slow_disk_is_no_stall() {
        let mut ledger = StallLedger::new(0);
        ledger.begin(0);
        for record in 1..=50 {
            ledger.complete(record * 110 * MS, 0);
        }
        assert!(ledger.stalls().is_empty());
        ledger.complete(50 * 110 * MS + 2000 * MS, 0);
        assert_eq!(ledger.stalls().len(), 1);
        assert_eq!(ledger.worst_ns(), 2000 * MS);
    }

    #[test]
    fn a_stall_at_the_very_beginning_is_listed() {
        let mut ledger = StallLedger::new(0);
        ledger.begin(5 * MS);
        ledger.complete(95 * MS, 0);
        for at_ms in 96..1000 {
            ledger.complete(at_ms * MS, 0);
        }
        assert_eq!(ledger.stalls(), [stall(0, 5, 90)]);
    }

    #[test]
    fn idle_time_is_no_stall_and_the_worst_is_exact_below_the_threshold() {
        let mut ledger = StallLedger::new(0);
        ledger.begin(0);
        ledger.complete(MS, 1);
        ledger.idle();
        ledger.begin(5000 * MS);
        ledger.complete(5002 * MS, 2);
        ledger.complete(5002 * MS, 3);
        assert!(ledger.stalls().is_empty());
        assert_eq!(
            ledger.worst(),
            Some(&MeteredStall {
                offset_bytes: 2,
                ..stall(0, 5000, 2)
            })
        );
    }

    #[test]
    fn a_gap_that_nothing_has_ended_counts_with_its_length_so_far() {
        let mut ledger = StallLedger::new(0);
        ledger.begin(0);
        ledger.complete(46 * MS, 1);
        assert!(!ledger.is_worst_unreturned());
        ledger.cut_off(38_046 * MS);
        assert_eq!(ledger.worst_ns(), 38_000 * MS);
        assert!(ledger.is_worst_unreturned());
        // Without anything in flight there is nothing to wait for.
        let mut ledger = StallLedger::new(0);
        ledger.begin(0);
        ledger.complete(46 * MS, 1);
        ledger.idle();
        ledger.cut_off(38_046 * MS);
        assert_eq!(ledger.worst_ns(), 46 * MS);
        assert!(!ledger.is_worst_unreturned());
    }

    #[test]
    fn the_longest_are_kept() {
        let mut ledger = StallLedger::new(0);
        ledger.begin(0);
        let mut at_ns = 0;
        // 200 stalls of 20 to 219 ms in mixed order, each after a thousand completions 1 us apart.
        for number in 0..200u64 {
            for _ in 0..1000 {
                at_ns += 1000;
                ledger.complete(at_ns, 0);
            }
            at_ns += (20 + number * 77 % 200) * MS;
            ledger.complete(at_ns, 0);
        }
        let durations_ms: Vec<u64> = ledger
            .stalls()
            .iter()
            .map(|stall| stall.duration_ns / MS)
            .collect();
        let longest: Vec<u64> = (156..220).rev().collect();
        assert_eq!(durations_ms, longest);
    }

    #[test]
    fn overlapping_stalls_of_different_targets_are_shared() {
        let mut stalls = [
            stall(2, 140, 10),
            stall(0, 100, 50),
            stall(1, 110, 60),
            stall(1, 149, 200),
            stall(0, 1000, 50),
            stall(1, 1025, 50),
            stall(2, 1024, 50),
        ];
        mark_shared(&mut stalls);
        let shared: Vec<&[usize]> = stalls
            .iter()
            .map(|stall| stall.shared_with.as_slice())
            .collect();
        // 149: one millisecond of its overlap with each is not half of either.
        // 1000 and 1025: 25 of 50 ms is not more than half; 1024 shares with both.
        let expected: [&[usize]; 7] = [&[0, 1], &[1, 2], &[0, 2], &[], &[2], &[2], &[0, 1]];
        assert_eq!(shared, expected);
    }
}
