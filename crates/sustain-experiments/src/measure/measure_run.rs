//! A measurement while it is made: what its phases share, and what failed in the later ones.

use std::iter;

use sustain_document::measure::LaterFailure;
use sustain_load::phase::PhaseOutcome;
use sustain_load::prepared::PreparedTargets;

use super::plan::MeasurePlan;
use crate::figures::target_error;

/// The most errors of a target that a result lists.
pub(super) const ERRORS_MAX: usize = 100;

/// A measurement on prepared targets.
pub(crate) struct MeasureRun<'a> {
    pub(crate) plan: &'a MeasurePlan,
    pub(crate) prepared: PreparedTargets<'a>,
    /// What failed after the run itself.
    pub(crate) later_failures: Vec<LaterFailure>,
    /// Whether what was written is being read back.
    pub(crate) is_reading_back: bool,
}

impl<'a> MeasureRun<'a> {
    pub(crate) fn new(plan: &'a MeasurePlan, prepared: PreparedTargets<'a>) -> MeasureRun<'a> {
        MeasureRun {
            plan,
            prepared,
            later_failures: Vec::new(),
            is_reading_back: false,
        }
    }

    /// Keeps the failures of a phase after the run, which was paced or was not. Whether there were
    /// any.
    pub(crate) fn note_failures(
        &mut self,
        outcome: &PhaseOutcome,
        paced_bytes_per_s: Option<f64>,
    ) -> bool {
        let targets = &self.prepared.session.targets;
        let while_reading_back = self.is_reading_back;
        let before = self.later_failures.len();
        for part in iter::once(outcome).chain(outcome.read_back.as_deref()) {
            let of_all = part.collected.targets.iter().zip(targets);
            let noted = of_all.flat_map(|(series, target)| {
                let name = &target.target.name;
                let failures = series.failures.iter().take(ERRORS_MAX);
                failures.map(move |failure| LaterFailure {
                    target: name.clone(),
                    paced_bytes_per_s,
                    while_reading_back,
                    error: target_error(failure, name),
                })
            });
            self.later_failures.extend(noted);
        }
        self.later_failures.len() > before
    }
}
