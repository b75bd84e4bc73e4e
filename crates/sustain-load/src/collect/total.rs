//! The completions of all targets together, in order of time: their series, the buffer curve, the
//! backlog of a paced source, and the longest stall.

use sustain_disk::layout::Layout;
use sustain_disk::meter::{BufferCurve, MeterInterval, RateBeginning, RateGrid};

use super::BacklogHigh;
use crate::series::Series;
use crate::setup::PhaseSetup;

/// Length of the bins in the series of the total.
pub(super) const BIN_NS: u64 = 100_000_000;
/// The largest backlog is noted at most once in this time.
const SECOND_NS: u64 = 1_000_000_000;
/// So many bins are kept before neighbours are joined: nearly three hours. In a day's run they are
/// then 0.8 s long, and the worst ten seconds are still known to a twelfth.
const BINS_MAX: usize = 100_000;

/// The merged stream of completions.
pub(super) struct MergedCompletions {
    pub(super) curve: BufferCurve,
    pub(super) beginning: RateBeginning,
    pub(super) rate_bytes_per_s: Option<f64>,
    record_bytes: f64,
    /// When the source ends, if it does: later completions were only in flight at that time.
    source_until_ns: u64,
    /// Until this time, every target that has not failed was active.
    pub(super) active_until_ns: u64,
    active_last_ns: u64,
    /// The time of the last failure of a target that left others: what came before says nothing
    /// about these.
    active_from_ns: u64,
    completed_bytes: f64,
    pub(super) backlog_bytes_max: f64,
    /// The largest backlog so far, in the order of time, at most one for each second.
    pub(super) backlog_highs: Vec<BacklogHigh>,
    last_ns: u64,
    pub(super) worst_stall_ns: u64,
    pub(super) worst_stall_at_ns: u64,
    bin: MeterInterval,
    pub(super) bins: Series,
}

impl MergedCompletions {
    pub(super) fn new(setup: &PhaseSetup) -> MergedCompletions {
        let active_until_ns = match (setup.layout, setup.time_ns) {
            // After their last record, targets in lockstep wait for the slowest one.
            (Layout::Stripe { .. } | Layout::Turns, Some(time_ns)) => time_ns,
            _ => u64::MAX,
        };
        MergedCompletions {
            source_until_ns: setup.time_ns.unwrap_or(u64::MAX),
            ..MergedCompletions::of(setup.rate_bytes_per_s, setup.record_bytes, active_until_ns)
        }
    }

    /// The empty total of a source without an end.
    fn of(
        rate_bytes_per_s: Option<f64>,
        record_bytes: u64,
        active_until_ns: u64,
    ) -> MergedCompletions {
        MergedCompletions {
            curve: BufferCurve::new(grid_of(rate_bytes_per_s)),
            beginning: RateBeginning::default(),
            rate_bytes_per_s,
            record_bytes: record_bytes as f64,
            source_until_ns: u64::MAX,
            active_until_ns,
            active_last_ns: 0,
            active_from_ns: 0,
            completed_bytes: 0.0,
            backlog_bytes_max: 0.0,
            backlog_highs: Vec::new(),
            last_ns: 0,
            worst_stall_ns: 0,
            worst_stall_at_ns: 0,
            bin: MeterInterval::default(),
            bins: Series::bounded(BINS_MAX),
        }
    }

    /// Notes that a closing flush is done, because only now is the data written before it on the
    /// medium. A source that went on during the flush would have had to wait this long.
    pub(super) fn flushed(&mut self, at_ns: u64) {
        if let Some(rate) = self.rate_bytes_per_s {
            let offered = rate * at_ns as f64 / 1e9;
            self.note_backlog(at_ns, offered - self.completed_bytes);
        }
        self.advance(at_ns.max(self.last_ns));
    }

    fn note_backlog(&mut self, at_ns: u64, bytes: f64) {
        if bytes <= self.backlog_bytes_max {
            return;
        }
        self.backlog_bytes_max = bytes;
        let high = BacklogHigh { at_ns, bytes };
        match self.backlog_highs.last_mut() {
            Some(last) if last.at_ns / SECOND_NS == at_ns / SECOND_NS => *last = high,
            _ => self.backlog_highs.push(high),
        }
    }

    /// The time since when requests may have been waiting: the next record of a paced source falls
    /// due later.
    fn busy_since_ns(&self) -> u64 {
        let due_ns = |rate: f64| ((self.completed_bytes + self.record_bytes) / rate * 1e9) as u64;
        self.last_ns.max(self.rate_bytes_per_s.map_or(0, due_ns))
    }

    pub(super) fn complete(&mut self, at_ns: u64, bytes: u64) {
        let at_ns = at_ns.max(self.last_ns);
        let all_active = at_ns <= self.active_until_ns;
        if all_active && at_ns >= self.active_from_ns {
            // The curve is for all targets together: the rate of fewer of them says nothing about
            // it.
            self.curve.complete(at_ns - self.active_from_ns, bytes);
            self.active_last_ns = at_ns;
        }
        self.end_stall(at_ns, all_active);
        if let Some(rate) = self.rate_bytes_per_s {
            let offered = rate * at_ns.min(self.source_until_ns) as f64 / 1e9;
            self.note_backlog(at_ns, offered - self.completed_bytes);
        }
        self.completed_bytes += bytes as f64;
        self.beginning.complete(at_ns, bytes);
        self.advance(at_ns);
        self.bin.bytes += bytes;
    }

    /// Notes that something was waited for until `at_ns`.
    pub(super) fn end_stall(&mut self, at_ns: u64, all_active: bool) {
        // A target that has completed its last requests is no stall of the others.
        let counts = all_active || self.last_ns < self.source_until_ns;
        let since_ns = self.busy_since_ns();
        if counts && at_ns.saturating_sub(since_ns) > self.worst_stall_ns {
            self.worst_stall_ns = at_ns - since_ns;
            self.worst_stall_at_ns = since_ns;
        }
    }

    fn advance(&mut self, at_ns: u64) {
        self.last_ns = at_ns;
        while at_ns >= self.bin.start_ns + BIN_NS {
            self.close_bin(self.bin.start_ns + BIN_NS);
        }
    }

    fn close_bin(&mut self, end_ns: u64) {
        self.bins.push(MeterInterval { end_ns, ..self.bin });
        self.bin = MeterInterval {
            start_ns: end_ns,
            ..MeterInterval::default()
        };
    }

    /// Goes on with the targets that remain after one has failed: only these are left to record on.
    pub(super) fn lose_target(&mut self, at_ns: u64) {
        if at_ns > self.active_from_ns {
            self.curve = BufferCurve::new(grid_of(self.rate_bytes_per_s));
            self.active_from_ns = at_ns;
        }
    }

    /// Closes the series at `end_ns`, when the run is over.
    pub(super) fn finish(&mut self, end_ns: u64) {
        // A stream would have gone on after the last completion, as long as all were active.
        let until_ns = self.active_until_ns.min(end_ns).max(self.active_last_ns);
        self.curve
            .finish(until_ns.saturating_sub(self.active_from_ns));
        if self.bin.bytes > 0 && self.last_ns > self.bin.start_ns {
            self.close_bin(self.last_ns);
        }
    }
}

/// The curve of a paced run is needed around its rate, whatever the rates that it reached.
fn grid_of(rate_bytes_per_s: Option<f64>) -> RateGrid {
    rate_bytes_per_s.map_or(RateGrid::Learned, RateGrid::Around)
}

#[cfg(test)]
mod tests {
    use sustain_disk::meter::BufferNeed;

    use super::*;

    const MS: u64 = 1_000_000;

    /// A megabyte each 10 ms: 100 MB/s.
    fn flat(total: &mut MergedCompletions, from_ms: u64, to_ms: u64) {
        for at_ms in (from_ms..to_ms).step_by(10) {
            total.complete((at_ms + 10) * MS, 1_000_000);
        }
    }

    /// Seconds of a stream that the curve wants room for, at the point nearest to a rate.
    fn seconds_held(total: &MergedCompletions, rate_bytes_per_s: f64) -> f64 {
        let points = total.curve.points();
        let far = |point: &&BufferNeed| (point.rate_bytes_per_s - rate_bytes_per_s).abs();
        let nearest = points
            .iter()
            .min_by(|one, other| far(one).total_cmp(&far(other)));
        nearest.map_or(0.0, |point| point.buffer_bytes / point.rate_bytes_per_s)
    }

    #[test]
    fn time_after_the_last_completion_counts_until_the_end_of_the_run() {
        let mut total = MergedCompletions::of(None, 1_000_000, u64::MAX);
        flat(&mut total, 0, 4000);
        total.finish(9000 * MS);
        assert!((seconds_held(&total, 80e6) - 5.0).abs() < 0.02);
        // This does not hold after one of several targets has completed.
        let mut total = MergedCompletions::of(None, 1_000_000, 4500 * MS);
        flat(&mut total, 0, 4000);
        total.finish(9000 * MS);
        assert!((seconds_held(&total, 80e6) - 0.5).abs() < 0.02);
    }

    #[test]
    fn what_fails_after_the_last_completion_was_waited_for() {
        let mut total = MergedCompletions::of(None, 1_000_000, u64::MAX);
        flat(&mut total, 0, 4000);
        total.end_stall(42_000 * MS, false);
        assert_eq!(total.worst_stall_ns, 38_000 * MS);
        assert_eq!(total.worst_stall_at_ns, 4000 * MS);
    }

    #[test]
    fn what_was_before_a_failure_is_not_in_the_curve_of_those_left() {
        let mut total = MergedCompletions::of(None, 1_000_000, u64::MAX);
        // A pause of 2 s at full strength, then half of it.
        flat(&mut total, 0, 4000);
        flat(&mut total, 6000, 10_000);
        total.lose_target(10_000 * MS);
        for at_ms in (10_000..30_000).step_by(20) {
            total.complete((at_ms + 20) * MS, 1_000_000);
        }
        total.finish(30_000 * MS);
        assert!(seconds_held(&total, 45e6) < 0.03, "the pause was of others");
        let at_full = seconds_held(&total, 90e6);
        assert!(
            at_full > 8.0,
            "90 MB/s are too much for what is left: {at_full}"
        );
    }
}
