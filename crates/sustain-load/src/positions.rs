//! Where the streams of a run begin and how far they come, for phases that go on there.

use sustain_disk::layout::Layout;

use crate::phase::PhaseOutcome;
use crate::prepared::PreparedTargets;
use crate::setup::StreamRegion;

impl PreparedTargets<'_> {
    /// If the plan is bounded in bytes, the part of each target that its run touches, in whole
    /// records and chunks. A later phase that must go no further is bounded by it.
    pub fn extent_bytes(&self) -> Option<u64> {
        let unit = match self.plan.layout {
            Layout::Stripe { chunk_bytes } => chunk_bytes.max(self.plan.record_bytes),
            Layout::Independent | Layout::Turns | Layout::Span => self.plan.record_bytes,
        };
        Some(self.plan.bytes?.next_multiple_of(unit))
    }

    /// The positions at which the run's own streams began.
    pub fn starts(&self) -> Vec<u64> {
        let targets = self.session.targets.iter();
        targets
            .map(|target| target.start_bytes(self.plan))
            .collect()
    }

    /// The positions that streams which began at `starts_bytes` have reached at the end of a run,
    /// each within its region, if there are any.
    pub fn positions_after(
        &self,
        starts_bytes: &[u64],
        regions: &[StreamRegion],
        outcome: &PhaseOutcome,
    ) -> Vec<u64> {
        let record = self.plan.record_bytes;
        let moved = |index: usize| outcome.meters[index].bytes();
        let region = |index: usize, size_bytes: u64| {
            let all = StreamRegion {
                from_bytes: 0,
                to_bytes: size_bytes,
            };
            regions.get(index).copied().unwrap_or(all)
        };
        let targets = &self.session.targets;
        if self.plan.layout.has_own_streams() {
            let gone = starts_bytes.iter().zip(targets).enumerate();
            return gone
                .map(|(index, (start, target))| {
                    let region = region(index, target.size_bytes);
                    position_after(*start, moved(index), record, region)
                })
                .collect();
        }
        // For a stripe or span, the first entry counts.
        let all: u64 = (0..targets.len()).map(moved).sum();
        let sizes = targets.iter().map(|target| target.size_bytes);
        let size = sizes.fold(0u64, u64::saturating_add);
        let start = starts_bytes.first().copied().unwrap_or(0);
        let region = region(0, size / record * record);
        vec![position_after(start, all, record, region); targets.len()]
    }
}

/// The position of a stream that began at `start_bytes` and has moved so much, in whole records.
fn position_after(
    start_bytes: u64,
    moved_bytes: u64,
    record_bytes: u64,
    region: StreamRegion,
) -> u64 {
    let gone_bytes = start_bytes.saturating_sub(region.from_bytes) + moved_bytes;
    let whole_bytes = gone_bytes / record_bytes * record_bytes;
    region.from_bytes + whole_bytes % region.length_bytes().max(record_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_round_in_its_region() {
        let region = |from_bytes, to_bytes| StreamRegion {
            from_bytes,
            to_bytes,
        };
        let after = |start, moved, region| position_after(start, moved, 10, region);
        assert_eq!(after(20, 50, region(0, 100)), 70);
        assert_eq!(after(20, 95, region(0, 100)), 10);
        assert_eq!(after(1000, 50, region(1000, 1100)), 1050);
        assert_eq!(after(1000, 250, region(1000, 1100)), 1050);
        assert_eq!(after(1050, 75, region(1000, 1100)), 1020);
    }
}
