//! The reasons of advice as data, with the names of the targets. `diagnosis_words.rs` has
//! their English.

/// Why a use of the targets is advised.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AdviceReason {
    /// No limit is shared.
    NothingShared,
    /// There are limits, but each target adds something.
    EachByItself,
    /// These targets add nothing, as the others reach the wall.
    OthersReachTheWall { idle: Vec<String> },
    /// A sum falls, and all targets together still reached the most.
    MostWithAll { fall: Option<NamedFall> },
    /// A sum falls, and these targets reached the most.
    MostOfSubsets { kept: Vec<String> },
    /// Some limits are not certain, so nothing is predicted by them.
    OnlyMeasured,
    /// The fastest subset measured was faster than predicted.
    FasterThanPredicted,
    /// They were the fastest of all that was measured, the trials included.
    FastestMeasured,
    /// In a stripe each target runs at the same rate.
    Lockstep {
        each_bytes_per_s: f64,
        /// What that costs, if it is worth a word.
        loss: Option<LockstepLoss>,
    },
    /// A span meets no limit that several share, unless one alone reaches it.
    OneAfterTheOther {
        slowest_bytes_per_s: f64,
        /// The targets that each alone reach a limit.
        at_limit: Vec<String>,
        /// What using all at once gains, if it is worth a word.
        all_at_once_gain: Option<f64>,
    },
    /// Targets are connected elsewhere.
    Moved(MoveReason),
    /// When tried, it reached less than that reason made expect.
    Refuted {
        measured_bytes_per_s: f64,
        expectation: Box<AdviceReason>,
    },
}

/// Where a wall sits.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WallPlace {
    /// At a place, or a target, of this name.
    Known(String),
    /// That is not known; the wall's members.
    WallOf(Vec<String>),
}

/// Targets that reached less together than some of them did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedFall {
    pub(super) members: Vec<String>,
    pub(super) sum_bytes_per_s: f64,
    pub(super) fewer: Vec<String>,
    pub(super) fewer_bytes_per_s: f64,
}

/// What a stripe loses against independent queues.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LockstepLoss {
    pub(super) held_by: WallPlace,
    /// The targets of these queues; empty if they are all.
    pub(super) queues_on: Vec<String>,
    pub(super) queues_bytes_per_s: f64,
    /// As a part of that rate.
    pub(super) share: f64,
}

/// What moving targets to another port brings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MoveReason {
    pub(super) moved: Vec<String>,
    pub(super) from: WallPlace,
    pub(super) from_limit_bytes_per_s: f64,
    /// The targets that are connected past that wall already.
    pub(super) outside: Vec<String>,
    /// Those of the moved targets that reach that limit alone, so that they may be faster.
    pub(super) held_alone: Vec<String>,
    /// The limits that are full after the move.
    pub(super) then: Vec<LimitAfterMove>,
    /// Less one.
    pub(super) gain: f64,
    /// Why the gain is only an upper bound, if it is.
    pub(super) caution: Option<MoveCaution>,
}

/// A limit that is full after the move.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LimitAfterMove {
    pub(super) place: WallPlace,
    pub(super) members: Vec<String>,
    pub(super) limit_bytes_per_s: f64,
}

/// Why the gain of a move is only an upper bound.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MoveCaution {
    /// This link is then full by its nominal rate, which links do not quite carry.
    NominalRate { link: String },
    /// This link was not reached, and its rate is not known.
    RateUnknown { link: String },
}
