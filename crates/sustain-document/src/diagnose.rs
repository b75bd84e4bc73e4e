//! The versioned result document of a diagnosis: what was asked, the machine, what was measured,
//! what was inferred, and what is advised.
//!
//! The run fills it, the reports draw it, `--json` writes it, and `sustain report` reads it back.
//! All rates are bytes per second. Targets are named as typed, simulated disks by their own names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chain::{ChainLink, TopologyHop};
use crate::effect::MemoryCopy;
use crate::host::Host;
use crate::revolutions::LostRevolutions;
use crate::system::System;
use crate::vocabulary::{DataPath, Direction, LayoutKind};

/// The `schema` of a [`DiagnoseResult`] as this version writes it.
pub const DIAGNOSE_SCHEMA: &str = "sustain.diagnose/1";

/// What `sustain diagnose` was asked, what it measured, and which shared limits explain it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnoseResult {
    /// Always `sustain.diagnose/1`; a reader refuses what it does not know.
    pub schema: String,
    /// The request, and how it was carried out.
    pub plan: DiagnosePlanUsed,
    /// The machine.
    pub host: Host,
    /// How the targets are connected, and whether that guided the search.
    pub order: Order,
    /// Each target by itself, in the order given.
    pub alone: Vec<Alone>,
    /// All targets at once.
    pub together: Option<Together>,
    /// The shared limits, those with the most members first.
    pub walls: Vec<Wall>,
    /// If no wall was found: how large a limit could still be hidden.
    pub no_wall: Option<NoWall>,
    /// What all targets lose together, or a subset brings otherwise than foretold, and no wall of
    /// this result explains. Then the answer is not complete.
    pub unexplained: Option<UnexplainedLoss>,
    /// The number of runs. There may be more than `measurements`: repeats that the search did not
    /// ask for, and trials of advice, are runs too. Null in the documents of earlier versions.
    #[serde(default)]
    pub runs: Option<u64>,
    /// Every subset that was measured, in order.
    pub measurements: Vec<Measurement>,
    /// The way of the data, link by link, nearest to the disks first: what each link carried at the
    /// most, and whether a limit is there. Empty in documents of earlier versions.
    #[serde(default)]
    pub chain: Vec<ChainLink>,
    /// How fast this machine copies memory; null for simulated machines, where it was not measured,
    /// and in documents of earlier versions.
    #[serde(default)]
    pub memory_copy: Option<MemoryCopy>,
    /// What pauses of targets took from those who were measured together, if that shows: all other
    /// rates of this result are without pauses.
    #[serde(default)]
    pub pauses: Option<PausedRates>,
    /// Advice, the best first.
    pub advice: Vec<Advice>,
    /// Whether the disks stayed as fast as they were.
    pub drift: Drift,
    /// Relative standard deviation of one reading, as found.
    pub noise: f64,
    /// Targets that failed during the diagnosis; the findings are about the others.
    pub dropped: Vec<Dropped>,
    /// What a search of this kind could not have found, and other remarks on the result.
    pub notes: Vec<String>,
    /// Why the search ended.
    pub ended: SearchEnd,
    /// What the monitor saw of the machine.
    pub system: System,
}

/// What targets reached without and with their pauses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PausedRates {
    /// The targets: all of them if their sum shows pauses, else those that lost most by them.
    pub members: Vec<String>,
    /// Their rate while none of them pauses, as all rates of the result are meant.
    pub without_bytes_per_s: f64,
    /// All their bytes over all of the time.
    pub with_bytes_per_s: f64,
}

/// The request, and the values that were used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosePlanUsed {
    /// Version of the tool that made the run.
    pub sustain_version: String,
    /// The arguments as typed, to repeat the run.
    pub arguments: Vec<String>,
    /// Start, UTC, RFC 3339. Simulated runs have none.
    pub started: Option<String>,
    /// The targets as typed.
    pub targets: Vec<String>,
    /// Whether it wrote or read.
    pub direction: Direction,
    /// How long each subset was measured.
    pub time_per_run_s: f64,
    /// The engine that did the work.
    pub engine_used: String,
    /// The reason for this engine.
    pub engine_why: String,
    /// Drivers used; each is one thread with one engine.
    pub threads: u32,
    /// Bytes per request.
    pub record_size_bytes: u64,
    /// Requests kept in flight per target.
    pub depth: u32,
    /// The I/O path through the kernel.
    pub path: DataPath,
    /// The part of each target that is used.
    pub size_bytes: Option<u64>,
    /// Seed of the data and of simulated machines.
    pub seed: u64,
    /// Whether time was simulated.
    pub simulated: bool,
}

/// How the targets are connected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// Whether it is known: by port, address or slot; for a simulated machine by its file.
    pub known: bool,
    /// The targets in that order.
    pub names: Vec<String>,
    /// The topology path of each target from the disk up, in the order of `names`.
    pub ways: Vec<TopologyPath>,
}

/// What the data of one target passes on its way to memory, nearest to the disk first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopologyPath {
    /// The target.
    pub target: String,
    /// The hops that it passes.
    pub hops: Vec<TopologyHop>,
}

/// A target by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alone {
    /// Its name.
    pub target: String,
    /// Its rate; null if it was not measured.
    pub rate_bytes_per_s: Option<f64>,
}

/// All targets at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    /// Their sum.
    pub rate_bytes_per_s: f64,
    /// That sum over the sum of the rates alone.
    pub share_of_sum: f64,
}

/// A limit that several targets share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wall {
    /// The targets that share it, two or more.
    pub members: Vec<String>,
    /// The highest rate that all of them reach together.
    pub limit_bytes_per_s: f64,
    /// Its standard deviation.
    pub deviation_bytes_per_s: f64,
    /// How it behaves when it is overloaded.
    pub kind: WallKind,
    /// Where it sits, from what the machine reports of itself; null if nothing explains it.
    pub explained_by: Option<String>,
    /// Why nothing explains it, if so.
    pub not_explained: Option<String>,
    /// The hop of that explanation.
    pub hop: Option<TopologyHop>,
    /// `limit_bytes_per_s` over what the hop can carry.
    pub share_of_hop: Option<f64>,
    /// From 0 to 1.
    pub confidence: f64,
    /// How certain it is.
    pub state: WallState,
    /// The rate that its members would reach without it, over the limit, less one.
    pub headroom: f64,
    /// The weakest piece of evidence.
    pub weakest: Option<Weakest>,
    /// A subset that was predicted before it was measured.
    pub prediction: Option<Prediction>,
    /// With kind `collapse`: the sum while all members are active.
    pub at_full_load_bytes_per_s: Option<f64>,
    /// With kind `collapse`: the readings that show it best. All members together may still reach
    /// the most of all.
    pub fall: Option<Fall>,
    /// Whether the members' rates are whole fractions of their rates alone, as of disks that miss
    /// revolutions.
    pub missed_revolutions: bool,
    /// With kind `collapse`: the revolutions that each record waits for, if that explains how slow
    /// its members are.
    #[serde(default)]
    pub lost_revolutions: Option<LostRevolutions>,
    /// The rate of each member while all members are active.
    pub shares: Vec<Share>,
    /// Whether the shares were alike each time.
    pub shares_repeat: Option<bool>,
}

/// Targets that reached less together than some of them did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fall {
    /// The targets that reached less,
    pub members: Vec<String>,
    /// and their sum.
    pub rate_bytes_per_s: f64,
    /// Those of them that reached more,
    pub fewer: Vec<String>,
    /// and their sum.
    pub fewer_bytes_per_s: f64,
}

/// A wall of at most this confidence is one that may be there, not one that is.
const CONFIDENCE_UNCERTAIN: f64 = 0.5;

/// Whether a wall of this confidence is more likely to be there than not.
#[must_use]
pub fn is_likely(confidence: f64) -> bool {
    confidence > CONFIDENCE_UNCERTAIN
}

impl Wall {
    /// Whether it is more likely to be there than not.
    #[must_use]
    pub fn is_likely(&self) -> bool {
        is_likely(self.confidence)
    }

    /// Whether all members together reach less than some of them did: not every collapse goes on
    /// falling until all are active.
    #[must_use]
    pub fn falls_at_full_load(&self) -> bool {
        self.at_full_load_bytes_per_s
            .is_some_and(|left| left < self.limit_bytes_per_s)
    }
}

/// The reading that is the weakest evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Weakest {
    /// The target whose membership of the wall depends on it; null: the wall as a whole.
    pub target: Option<String>,
    /// The subset that was measured.
    pub members: Vec<String>,
    /// How far the reading was from the other answer, in standard deviations.
    pub margin_sd: f64,
}

/// A subset predicted and measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The subset.
    pub members: Vec<String>,
    /// Its sum as the walls predict it.
    pub predicted_bytes_per_s: f64,
    /// Its sum as measured.
    pub measured_bytes_per_s: f64,
}

/// One member's part of a wall's capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// The member.
    pub target: String,
    /// The rate that it reached.
    pub rate_bytes_per_s: f64,
    /// The rate that it would reach if the wall were shared evenly by all that want more.
    pub fair_bytes_per_s: f64,
    /// Whether it reaches clearly less than that.
    pub below_fair: bool,
}

/// How well it is known that there is no wall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoWall {
    /// The largest loss that could hide in the noise.
    pub largest_hidden_loss_bytes_per_s: f64,
    /// No shared limit lies below this part of the sum of the rates alone.
    pub none_below_share: f64,
}

/// A sum that no wall explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnexplainedLoss {
    /// The targets at work, where they are not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// What they should bring together by their rates alone and the walls found.
    pub expected_bytes_per_s: f64,
    /// The rate that they reached.
    pub measured_bytes_per_s: f64,
}

impl UnexplainedLoss {
    /// Less came than was foretold, not more.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.measured_bytes_per_s <= self.expected_bytes_per_s
    }

    /// Whose sum it is, in words.
    #[must_use]
    pub fn who(&self) -> String {
        if self.members.is_empty() {
            return "all together".to_owned();
        }
        format!("{} together", self.members.join(", "))
    }
}

/// One measured subset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// The targets that were active.
    pub members: Vec<String>,
    /// Their rates, in that order.
    pub rates_bytes_per_s: Vec<f64>,
    /// Their sum.
    pub sum_bytes_per_s: f64,
    /// The sum that the walls of this result predict; null if a rate alone is missing.
    pub predicted_bytes_per_s: Option<f64>,
    /// The reason for measuring it.
    pub step: String,
    /// Rate of the dummy target that ran beside them, if there was one.
    pub dummy_bytes_per_s: Option<f64>,
    /// What limited each of the members, in their order, by the mean of all measurements of the
    /// same targets. Empty in documents of earlier versions.
    #[serde(default)]
    pub limited_by: Vec<MemberLimit>,
    /// Whether the mean sum of all measurements of the same targets is the predicted one, as far as
    /// readings can tell; null if nothing is predicted, and in documents of earlier versions.
    #[serde(default)]
    pub is_as_predicted: Option<bool>,
}

/// What limited the rate of a target in a measurement, compared with its rate alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum MemberLimit {
    /// Nothing: it reached its rate alone.
    Nothing,
    /// A wall, below its rate alone.
    Wall {
        /// The position of the wall in `walls`, from 0.
        wall: usize,
    },
    /// It was slower than alone, and no wall of the result explains it.
    Unknown,
}

/// A limit that still holds targets back after others have moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitLeft {
    /// The place where it sits; null if no known place explains it.
    pub place: Option<String>,
    /// The targets whose sum it limits.
    pub members: Vec<String>,
    /// The rate to which it limits them.
    pub limit_bytes_per_s: f64,
}

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// How to use the targets together.
    pub layout: LayoutKind,
    /// With layout `stripe`.
    pub chunk_bytes: Option<u64>,
    /// The targets to use, in this order.
    pub order: Vec<String>,
    /// The targets to leave out.
    pub leave_out: Vec<String>,
    /// The targets to connect elsewhere.
    pub move_elsewhere: Vec<String>,
    /// The place where the targets to move are connected now, and that they should get away from.
    #[serde(default)]
    pub moved_from: Option<String>,
    /// The limits that hold all of them after the move; empty if no known limit does, or if nothing
    /// moves.
    #[serde(default)]
    pub then_limited_by: Vec<LimitLeft>,
    /// The rate that it is predicted to reach.
    pub expected_bytes_per_s: f64,
    /// Whether that rate is an upper bound, because something on the path may carry less.
    #[serde(default)]
    pub is_at_most: bool,
    /// Whether that rate is a lower bound, because a target that moves reached the limit alone, so
    /// that its own rate is not known.
    #[serde(default)]
    pub is_at_least: bool,
    /// The rate that it reached when it was tried; null if it was not.
    pub measured_bytes_per_s: Option<f64>,
    /// The reason.
    pub why: String,
}

/// Whether the disks stayed as fast as they were.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// How often a subset was measured again to check for drift.
    pub anchors: usize,
    /// The largest change of such a reading against the first one: -0.05 is 5 % slower.
    pub largest_change: f64,
    /// Whether that is more than the noise explains.
    pub significant: bool,
    /// Whether the rates alone were measured again because of it.
    pub alone_repeated: bool,
}

/// A target that failed during the diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// Its name.
    pub target: String,
    /// What happened and what to do next.
    pub message: String,
}

closed_set! {
    /// Why a search for shared limits ended.
    pub enum SearchEnd {
        /// It is complete.
        Done,
        /// The user ended it.
        Interrupted,
        /// The readings differ too much for anything to be said.
        TooNoisy,
    }
}

closed_set! {
    /// How a wall behaves when it is overloaded.
    pub enum WallKind {
        /// The sum stays flat.
        Limit,
        /// The sum falls below that of fewer targets.
        Collapse,
        /// A dummy target takes its share of it, too, so it is in this program or the CPUs, not in
        /// a bus.
        Tool,
    }
}

closed_set! {
    /// How certain a wall is.
    pub enum WallState {
        /// Each member and each neighbour outside was decided with a margin.
        Confirmed,
        /// The margin of a member is small.
        MembersUncertain,
        /// The sum falls when overloaded, so the best sum seen may not be the best possible.
        CapacityIsLowerBound,
        /// It shares some members with another wall, and sums then depend on how each is shared.
        Crossing,
    }
}
