//! The input and output of the search for walls. `diagnose` and `find` build them. There is only
//! data here.

use crate::walls::reading::SubsetReading;

/// The reason why a subset is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchStep {
    /// Each target by itself.
    Alone,
    /// All targets at once.
    All,
    /// To find where a loss is.
    Search,
    /// To find which targets share a limit that was found.
    Members,
    /// To repeat a finding.
    Confirm,
    /// To look for a smaller limit in a part that stays below the limits found.
    Window,
    /// To see whether a subset that was measured before has changed.
    Anchor,
    /// To see whether the sum falls with more and more members.
    Ladder,
    /// To see, with a dummy target, whether the limit is in the tool.
    Tool,
    /// To test a prediction on a subset that no limit was inferred from.
    Predict,
    /// Because the user asked for it; the search did not need it.
    Asked,
}

/// The next subset to measure.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The targets, sorted; empty only together with the dummy.
    pub members: &'a [usize],
    /// Whether a dummy target of the same driver runs as well, paced at a fixed rate.
    pub with_dummy: bool,
    /// The reason.
    pub step: SearchStep,
    /// The number of subsets that are still to come, this one included, as far as known.
    pub remaining: usize,
}

/// No more measuring: the user stopped, or the time is up. The search concludes from what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt;

/// Measures subsets.
pub trait Probe {
    /// Runs the members at once and returns the rate of each. With the dummy, its rate comes last.
    ///
    /// # Errors
    /// [`Halt`] if nothing more may be measured.
    fn measure(&mut self, ask: &Ask<'_>) -> Result<SubsetReading, Halt>;
}

/// The facts that are known before the first measurement.
#[derive(Clone, Debug)]
pub struct SearchBasis {
    /// The number of targets.
    pub targets: usize,
    /// All targets in the order in which they are connected (port, address, slot). `None`: unknown.
    pub order: Option<Vec<usize>>,
    /// Expected relative standard deviation of one reading's median; 0 if it is not known. The
    /// readings' own noise soon outweighs it.
    pub noise: f64,
    /// Whether a dummy target can be measured as well.
    pub dummy: bool,
}

/// All targets at once.
#[derive(Clone, Debug, PartialEq)]
pub struct AllTogether {
    /// Each target's rate, the mean of the readings; 0 for a target that failed.
    pub rates_bytes_per_s: Vec<f64>,
    /// Their sum.
    pub sum_bytes_per_s: f64,
    /// Sum of their rates alone.
    pub sum_alone_bytes_per_s: f64,
    /// Number of readings behind it.
    pub readings: usize,
}

/// One subset as measured, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredSubset {
    /// The targets, sorted.
    pub members: Vec<usize>,
    /// Whether a dummy ran as well.
    pub with_dummy: bool,
    /// The reason.
    pub step: SearchStep,
    /// Rates of the members in their order, the dummy's last.
    pub rates_bytes_per_s: Vec<f64>,
    /// Sum over the members, without the dummy.
    pub sum_bytes_per_s: f64,
    /// The sum that the walls found allow. `None` if the rate alone of a target is missing, or if
    /// two members of a collapse meet: how far their sum falls is measured, not predicted.
    pub predicted_bytes_per_s: Option<f64>,
    /// Whether a target failed in it, so that it does not count.
    pub failed: bool,
}

/// A set that brings something else than the walls found explain: all targets together, or one that
/// tried a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Unexplained {
    /// Targets, sorted.
    pub members: Vec<usize>,
    /// Sum that the walls found, or the rates alone, let expect.
    pub expected_bytes_per_s: f64,
    /// The sum as measured.
    pub measured_bytes_per_s: f64,
}

/// Changes during the measurements, by subsets measured more than once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubsetDrift {
    /// How often a known subset was measured again to check for drift.
    pub anchors: usize,
    /// Largest relative change of a subset against its first reading (-0.05: 5 % slower).
    pub largest: f64,
    /// Whether it is beyond what the noise explains.
    pub significant: bool,
    /// Whether the targets' own rates were measured again because of it.
    pub alone_repeated: bool,
}

/// The readings are too noisy to tell a limit from chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooNoisy {
    /// Relative standard deviation of a reading.
    pub noise: f64,
    /// The noise up to which walls can be told.
    pub noise_max: f64,
}

pub use sustain_document::diagnose::{WallKind, WallState};

/// The weakest piece of evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct WeakestEvidence {
    /// The target whose membership it is about; `None`: the limit as a whole.
    pub member: Option<usize>,
    /// Distance from the threshold, in standard deviations.
    pub margin: f64,
    /// The subset that was measured.
    pub subset: Vec<usize>,
}

/// A subset that was predicted, then measured.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedSubset {
    /// The targets, sorted.
    pub members: Vec<usize>,
    /// The sum by the walls found.
    pub predicted_bytes_per_s: f64,
    /// The sum as measured.
    pub measured_bytes_per_s: f64,
    /// Standard deviation of their difference.
    pub deviation_bytes_per_s: f64,
}

/// The share of one member while its wall is overloaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberShare {
    /// The target.
    pub member: usize,
    /// Its mean rate in the runs of all members.
    pub rate_bytes_per_s: f64,
    /// Whether those runs agree within the noise; `None` for a single run.
    pub repeats: Option<bool>,
}

/// A limit that targets share.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundWall {
    /// The targets, sorted; two or more.
    pub members: Vec<usize>,
    /// The sum that it lets through.
    pub limit_bytes_per_s: f64,
    /// Standard deviation of the limit.
    pub deviation_bytes_per_s: f64,
    /// Limit, collapse or tool.
    pub kind: WallKind,
    /// How certain it is.
    pub state: WallState,
    /// From 0 to 1; from the weakest evidence, calibrated on generated machines.
    pub confidence: f64,
    /// The rate that the members would reach without it, over what it lets through, minus one.
    pub headroom: f64,
    /// The weakest piece of evidence.
    pub weakest: WeakestEvidence,
    /// For a collapse, the sum with all members at once; the limit, if fewer members reach no more.
    pub at_full_load_bytes_per_s: Option<f64>,
    /// Whether members run at whole fractions of their own rate, because they miss revolutions.
    pub missed_revolutions: bool,
    /// A subset that it was not inferred from, predicted and measured.
    pub prediction: Option<PredictedSubset>,
    /// The share of each member when all of them run.
    pub shares: Vec<MemberShare>,
}

/// Everything that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Each target's rate alone; `None` if it failed or was not reached.
    pub alone: Vec<Option<f64>>,
    /// All targets at once, if measured.
    pub together: Option<AllTogether>,
    /// The limits, the one with the most members first.
    pub walls: Vec<FoundWall>,
    /// Every subset, in the order of time.
    pub measurements: Vec<MeasuredSubset>,
    /// Targets that failed; nothing is said about them.
    pub dropped: Vec<usize>,
    /// Changes during the search.
    pub drift: SubsetDrift,
    /// Largest part of the sum of all targets that could be lost without being seen.
    pub resolution: f64,
    /// Relative standard deviation of a reading, as found.
    pub noise: f64,
    /// How far repeated readings of the same targets differ, as a multiple of what their noise
    /// allows, where that makes the walls found uncertain.
    pub scatter: Option<f64>,
    /// Set if the readings are too noisy: no wall is claimed.
    pub too_noisy: Option<TooNoisy>,
    /// What no wall found explains, though all was tried.
    pub unexplained: Option<Unexplained>,
    /// Whether everything planned was measured, and the walls found explain what all targets reach.
    pub complete: bool,
    /// Whether the order of the targets was given. Without it, a small limit below a tighter one is
    /// found only by luck.
    pub order_known: bool,
}
