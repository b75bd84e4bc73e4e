//! What goes in and out of the search for walls. Built by `diagnose` and by `find`; only data, and
//! the words for it.

use std::fmt;

use super::reading::Reading;

/// Why the next subset is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Each target by itself.
    Alone,
    /// All targets at once.
    All,
    /// Where a loss sits.
    Search,
    /// Which targets share a limit that was found.
    Members,
    /// What was found is measured again.
    Confirm,
    /// A part that keeps below the limits found, in which a smaller limit may hide.
    Window,
    /// A subset measured before: has anything changed meanwhile?
    Anchor,
    /// More and more members: does the sum fall?
    Ladder,
    /// With a dummy target: is the limit in the tool?
    Tool,
    /// A subset that no limit was inferred from, to try the prediction.
    Predict,
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Alone => "each target alone",
            Self::All => "all together",
            Self::Search => "where is the loss",
            Self::Members => "who shares this limit",
            Self::Confirm => "once more, to be sure",
            Self::Window => "is there a smaller limit inside",
            Self::Anchor => "has anything changed meanwhile",
            Self::Ladder => "does the sum fall with more targets",
            Self::Tool => "is the limit in this tool",
            Self::Predict => "does the prediction hold",
        })
    }
}

/// The next subset to measure.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Targets, sorted; empty only together with the dummy.
    pub members: &'a [usize],
    /// A dummy target of the same driver runs along, paced at a fixed rate.
    pub with_dummy: bool,
    /// Why.
    pub step: Step,
    /// How many subsets are still to come, this one included, as far as known now.
    pub remaining: usize,
}

/// No more measuring: the user stopped, or time is up. What is known is concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt;

/// Measures subsets.
pub trait Probe {
    /// Runs the members at once and says what each gave. With the dummy, its rate comes last.
    ///
    /// # Errors
    /// [`Halt`] if nothing more may be measured.
    fn measure(&mut self, ask: &Ask<'_>) -> Result<Reading, Halt>;
}

/// What is known before the first measurement.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How many targets.
    pub targets: usize,
    /// All targets in the order in which they hang (port, address, slot). `None`: unknown.
    pub order: Option<Vec<usize>>,
    /// Expected relative standard deviation of one reading's median; 0 if there is no idea. The
    /// readings' own noise soon outweighs it.
    pub noise: f64,
    /// Whether a dummy target can be measured along.
    pub dummy: bool,
}

/// All targets at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// Each target's rate, mean of the readings; 0 for a target that died.
    pub rates_bytes_per_s: Vec<f64>,
    /// Their sum.
    pub sum_bytes_per_s: f64,
    /// Sum of what they do alone.
    pub sum_alone_bytes_per_s: f64,
    /// Readings behind it.
    pub readings: usize,
}

/// One subset as measured, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Targets, sorted.
    pub members: Vec<usize>,
    /// A dummy ran along.
    pub with_dummy: bool,
    /// Why.
    pub step: Step,
    /// Rates of the members in their order, the dummy's last.
    pub rates_bytes_per_s: Vec<f64>,
    /// Sum over the members, without the dummy.
    pub sum_bytes_per_s: f64,
    /// The sum that the walls found allow; `None` where a target lacks its rate alone, or where two
    /// members of a collapse meet: how far their sum falls is measured, not foretold.
    pub predicted_bytes_per_s: Option<f64>,
    /// A target died in it, so it counts for nothing.
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
    /// Sum as measured.
    pub measured_bytes_per_s: f64,
}

/// Whether anything changed while measuring, by subsets measured more than once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drift {
    /// Times at which a known subset was measured again to see.
    pub anchors: usize,
    /// Largest relative change of a subset against its first reading (-0.05: 5 % slower).
    pub largest: f64,
    /// It is beyond what the noise explains.
    pub significant: bool,
    /// The targets' own rates were measured again because of it.
    pub alone_repeated: bool,
}

/// The readings scatter too much to tell a limit from chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooNoisy {
    /// Relative standard deviation of a reading.
    pub noise: f64,
    /// Up to which walls can be told.
    pub noise_max: f64,
}

/// How a wall behaves when it is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallKind {
    /// The sum stays flat.
    Limit,
    /// The sum falls below that of fewer targets.
    Collapse,
    /// A dummy target takes its part of it, too: it sits in the tool or the host, not in a bus.
    Tool,
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallState {
    /// Each member and each neighbour outside was told with a margin.
    Confirmed,
    /// A member's margin is thin.
    MembersUncertain,
    /// The sum falls when overloaded, so the best seen may not be the best there is.
    CapacityIsLowerBound,
    /// It shares some members with another wall, and then sums depend on how each is shared.
    Crossing,
}

/// What carries least.
#[derive(Clone, Debug, PartialEq)]
pub struct WeakestEvidence {
    /// The target whose membership it is about; `None`: the limit as a whole.
    pub member: Option<usize>,
    /// Distance from the threshold, in standard deviations.
    pub margin: f64,
    /// The subset measured.
    pub subset: Vec<usize>,
}

/// A subset that was predicted, then measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Targets, sorted.
    pub members: Vec<usize>,
    /// Sum by the walls found.
    pub predicted_bytes_per_s: f64,
    /// Sum as measured.
    pub measured_bytes_per_s: f64,
    /// Standard deviation of their difference.
    pub deviation_bytes_per_s: f64,
}

/// One member's part while its wall is overloaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Target.
    pub member: usize,
    /// Mean rate in the runs of all members.
    pub rate_bytes_per_s: f64,
    /// Those runs agree within the noise; `None` for a single run.
    pub repeats: Option<bool>,
}

/// A limit that targets share.
#[derive(Clone, Debug, PartialEq)]
pub struct Wall {
    /// Targets, sorted; two or more.
    pub members: Vec<usize>,
    /// The sum that it lets through.
    pub limit_bytes_per_s: f64,
    /// Standard deviation of the limit.
    pub deviation_bytes_per_s: f64,
    /// Limit, collapse or tool.
    pub kind: WallKind,
    /// How sure.
    pub state: WallState,
    /// 0 to 1; from the weakest evidence, calibrated on generated machines.
    pub confidence: f64,
    /// What the members would bring without it, over what it lets through, minus one.
    pub headroom: f64,
    /// What carries least.
    pub weakest: WeakestEvidence,
    /// Sum with all members at once, of a collapse; the limit, if fewer bring no more.
    pub at_full_load_bytes_per_s: Option<f64>,
    /// Members run at whole fractions of their own rate: they miss revolutions.
    pub missed_revolutions: bool,
    /// A subset that it was not inferred from.
    pub prediction: Option<Prediction>,
    /// Who gets what when all members run.
    pub shares: Vec<Share>,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Each target's rate alone; `None` if it died or was not reached.
    pub alone: Vec<Option<f64>>,
    /// All at once, if measured.
    pub together: Option<Together>,
    /// Limits, the largest set first.
    pub walls: Vec<Wall>,
    /// Every subset, in the order of time.
    pub measurements: Vec<Measurement>,
    /// Targets that died; nothing is said about them.
    pub dropped: Vec<usize>,
    /// Changes meanwhile.
    pub drift: Drift,
    /// Largest part of the sum of all targets that could be lost without being seen.
    pub resolution: f64,
    /// Relative standard deviation of a reading, as found.
    pub noise: f64,
    /// Too noisy to say: no wall is claimed.
    pub too_noisy: Option<TooNoisy>,
    /// What no wall found explains, though all was tried.
    pub unexplained: Option<Unexplained>,
    /// Everything planned was measured, and the walls found explain what all bring.
    pub complete: bool,
    /// The order of the targets was given. Without it a small limit under a tighter one is found
    /// only by luck.
    pub order_known: bool,
}
