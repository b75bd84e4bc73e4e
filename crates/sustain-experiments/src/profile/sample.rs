//! One sample as a phase on prepared targets: a short sequential stretch at one position of one
//! curve, and its rates. The run calls it. The time for moving the head to the position is kept out
//! of the rate.

use sustain_disk::engine::Operation;
use sustain_disk::meter::{IntervalRule, Meter, MeterInterval};
use sustain_disk::target::Direction;
use sustain_load::collect::rate;
use sustain_load::event::Phase;
use sustain_load::phase::PhaseOutcome;
use sustain_load::series::bytes_until;
use sustain_load::session::Session;
use sustain_load::setup::PhaseSetup;

/// The first completion waits for the head to move, so this many of the first completions do not
/// count.
const SKIPPED: usize = 8;

/// A curve that is sampled: one target alone, or several at once, in one direction.
#[derive(Debug, Clone)]
pub(super) struct SampledCurve {
    pub(super) direction: Direction,
    /// Numbers of the session's targets.
    pub(super) members: Vec<usize>,
    /// Bytes per request.
    pub(super) record_bytes: u64,
    /// The most bytes that a sample transfers on each member.
    pub(super) sample_bytes: Vec<u64>,
    /// The most time that a sample may take.
    pub(super) time_ns: u64,
    /// The time that a sample is expected to take.
    pub(super) expected_ns: u64,
}

impl SampledCurve {
    pub(super) fn is_alone(&self) -> bool {
        self.members.len() == 1
    }

    /// Where a member's sample begins; the last one ends where the target does.
    pub(super) fn offset_bytes(&self, member: usize, position: f64, size_bytes: u64) -> u64 {
        let span_bytes = size_bytes.saturating_sub(self.sample_bytes[member]);
        let offset_bytes = (span_bytes as f64 * position) as u64;
        offset_bytes / self.record_bytes * self.record_bytes
    }
}

/// The outcome of a sample.
#[derive(Debug, Clone)]
pub(super) enum SampleOutcome {
    /// Each member's rate.
    Rates(Vec<f64>),
    /// A request of this target failed: what happened and what to do.
    Failed { target: usize, why: String },
}

/// The setup of a sample on prepared targets.
pub(super) fn setup_of(
    curve: &SampledCurve,
    position: f64,
    session: &Session,
    like: &PhaseSetup,
) -> PhaseSetup {
    let writes = curve.direction == Direction::Write;
    let sizes = curve.members.iter();
    let sizes = sizes.map(|target| session.targets[*target].size_bytes);
    PhaseSetup {
        phase: Phase::Subset,
        targets: curve.members.clone(),
        positions_bytes: sizes
            .enumerate()
            .map(|(member, size_bytes)| curve.offset_bytes(member, position, size_bytes))
            .collect(),
        lap_bytes: vec![None; curve.members.len()],
        operation: if writes {
            Operation::Write
        } else {
            Operation::Read
        },
        // A disk's own cache takes a sample in no time; it is on the disk only after the flush.
        flush_at_end: writes,
        // Each request is reported by itself.
        interval: IntervalRule::Bytes(curve.record_bytes),
        time_ns: Some(curve.time_ns),
        bytes: curve.sample_bytes.iter().copied().max(),
        wraps: Some(false),
        ..like.clone()
    }
}

/// The outcome of a sample's phase.
pub(super) fn outcome_of(
    curve: &SampledCurve,
    session: &Session,
    phase: &PhaseOutcome,
) -> SampleOutcome {
    let series = phase.collected.targets.iter().zip(&curve.members);
    for (series, target) in series {
        if let Some(failure) = series.failures.first() {
            let name = &session.targets[*target].target.name;
            let why = failure.on(name).to_string();
            return SampleOutcome::Failed {
                target: *target,
                why,
            };
        }
    }
    let whole = || {
        phase
            .meters
            .iter()
            .map(|meter| rate(meter.bytes(), meter.last_ns()))
    };
    if curve.direction == Direction::Write {
        return SampleOutcome::Rates(whole().collect());
    }
    let series = phase.collected.targets.iter();
    let completions: Vec<&[MeterInterval]> =
        series.map(|series| series.intervals.as_slice()).collect();
    SampleOutcome::Rates(busy_rates(&completions).unwrap_or_else(|| whole().collect()))
}

/// The rates while all members are busy and their heads are in place.
fn busy_rates(members: &[&[MeterInterval]]) -> Option<Vec<f64>> {
    let in_place = |completions: &&[MeterInterval]| {
        let skipped = (completions.len() / SKIPPED).max(1);
        completions
            .get(skipped - 1)
            .map(|first| first.end_ns as f64)
    };
    let end = |completions: &&[MeterInterval]| completions.last().map(|last| last.end_ns as f64);
    let mut from_ns = 0.0_f64;
    let mut to_ns = f64::INFINITY;
    for completions in members {
        from_ns = from_ns.max(in_place(completions)?);
        to_ns = to_ns.min(end(completions)?);
    }
    let rate = |completions: &&[MeterInterval]| {
        let moved = bytes_until(completions, to_ns) - bytes_until(completions, from_ns);
        moved / (to_ns - from_ns) * 1e9
    };
    (to_ns > from_ns).then(|| members.iter().map(rate).collect())
}

/// The bytes at the beginning of a sample that do not count.
pub(super) fn in_place_bytes(curve: &SampledCurve, member: usize) -> u64 {
    match curve.direction {
        Direction::Write => 0,
        Direction::Read => (curve.sample_bytes[member] / SKIPPED as u64).max(curve.record_bytes),
    }
}

/// The bytes that a sample transferred in all.
pub(super) fn bytes_of(phase: &PhaseOutcome) -> u64 {
    phase.meters.iter().map(Meter::bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(first_ns: u64, each_ns: u64, count: u64) -> Vec<MeterInterval> {
        (0..count)
            .map(|index| MeterInterval {
                start_ns: if index == 0 {
                    0
                } else {
                    first_ns + (index - 1) * each_ns
                },
                end_ns: first_ns + index * each_ns,
                bytes: 1000,
                latency_max_ns: 0,
            })
            .collect()
    }

    #[test]
    fn the_seek_is_not_in_the_rate() {
        let found = busy_rates(&[&requests(12_000_000, 1_000_000, 10)]).unwrap();
        assert!((found[0] - 1e6).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn only_what_all_do_at_once_counts() {
        let (fast, slow) = (requests(1_000, 1_000, 16), requests(2_000, 4_000, 16));
        let found = busy_rates(&[&fast, &slow]).unwrap();
        assert!((found[0] / found[1] - 4.0).abs() < 0.2, "{found:?}");
    }

    #[test]
    fn one_request_has_no_rate_of_its_own() {
        assert_eq!(busy_rates(&[&requests(1_000, 1_000, 1)]), None);
        assert_eq!(busy_rates(&[&[]]), None);
    }
}
