//! Where the streams of a run begin and how far they come, for phases that go on there.

use sustain_disk::layout::Layout;

use crate::phase::PhaseOutcome;
use crate::prepared::PreparedTargets;

impl PreparedTargets<'_> {
    /// If the plan is bounded in bytes, the part of each target that its run touches, in whole
    /// records and chunks. A later phase that must go no further is bounded by it.
    pub fn extent_bytes(&self) -> Option<u64> {
        let unit = match self.plan.layout {
            Layout::Stripe { chunk_bytes } => chunk_bytes.max(self.plan.record_bytes),
            Layout::Independent | Layout::Span => self.plan.record_bytes,
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

    /// The positions that streams which began at `starts_bytes` have reached at the end of a run.
    pub fn positions_after(&self, starts_bytes: &[u64], outcome: &PhaseOutcome) -> Vec<u64> {
        let record = self.plan.record_bytes;
        let moved = |index: usize| outcome.meters[index].bytes();
        let in_stream = |bytes: u64, size: u64| (bytes / record * record) % size.max(record);
        let targets = &self.session.targets;
        if self.plan.layout == Layout::Independent {
            let gone = starts_bytes.iter().zip(targets).enumerate();
            return gone
                .map(|(index, (start, target))| in_stream(start + moved(index), target.size_bytes))
                .collect();
        }
        // For a stripe or span, the first entry counts.
        let all: u64 = (0..targets.len()).map(moved).sum();
        let sizes = targets.iter().map(|target| target.size_bytes);
        let size = sizes.fold(0u64, u64::saturating_add);
        let start = starts_bytes.first().copied().unwrap_or(0);
        vec![in_stream(start + all, size / record * record); targets.len()]
    }
}
