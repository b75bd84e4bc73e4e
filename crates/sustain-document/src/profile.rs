//! The versioned result document of a profile: what was asked, the machine, the rate against the
//! position, and what follows.
//!
//! The run fills it, the reports draw it, `--json` writes it, and `measure` and `record` read from
//! it which rate a position has. All rates are bytes per second; all positions are bytes from a
//! target's start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::system::System;
use crate::vocabulary::{DataPath, Direction, EngineChoice, ExperimentEnd, TargetKind};

/// The `schema` of a [`ProfileResult`] as this version writes it.
pub const PROFILE_SCHEMA: &str = "sustain.profile/1";

/// What `sustain profile` was asked, what it measured, and what follows for the targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileResult {
    /// Always `sustain.profile/1`; a reader refuses what it does not know.
    pub schema: String,
    /// The request, and how it was carried out.
    pub plan: ProfilePlanUsed,
    /// The machine.
    pub host: Host,
    /// Each target alone, once per direction.
    pub targets: Vec<ProfileTarget>,
    /// All targets at once, once per direction; empty for a single target.
    pub together: Vec<ProfileTogether>,
    /// Notes that a reader needs in order to read the figures right.
    pub notes: Vec<String>,
    /// Why it ended.
    pub ended: ExperimentEnd,
    /// What the monitor saw of the machine.
    pub system: System,
}

/// The request, and the values that were used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilePlanUsed {
    /// Version of the tool that made the run.
    pub sustain_version: String,
    /// The arguments as typed, to repeat the run.
    pub arguments: Vec<String>,
    /// Start, UTC, RFC 3339. Simulated runs have none.
    pub started: Option<String>,
    /// The targets as typed.
    pub targets: Vec<String>,
    /// The targets by name, simulated disks one by one.
    pub target_names: Vec<String>,
    /// Bytes per request.
    pub record_size_bytes: u64,
    /// Requests kept in flight per target.
    pub depth: u32,
    /// The engine asked for.
    pub engine: EngineChoice,
    /// The engine that did the work; null if nothing was measured.
    pub engine_used: Option<String>,
    /// The I/O path through the kernel.
    pub path: DataPath,
    /// How long all measuring was allowed to take.
    pub budget_s: f64,
    /// How long it took, from the first sample to the last.
    pub elapsed_s: f64,
    /// About how long one sample takes.
    pub sample_s: f64,
    /// Most drivers that were used at once; each is one thread with one engine.
    pub threads: u32,
    /// The part of each target that is used, if it was given.
    pub size_bytes: Option<u64>,
    /// Seed of the data and of simulated machines.
    pub seed: u64,
    /// Whether time was simulated.
    pub simulated: bool,
}

/// One target alone, in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileTarget {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: TargetKind,
    /// The part of it that was sampled, from its start.
    pub size_bytes: u64,
    /// Whether it was written or read.
    pub direction: Direction,
    /// How the rate depends on the position.
    pub shape: CurveShape,
    /// What follows, in plain words, the most important first.
    pub verdict: Vec<String>,
    /// The rate of going over all of it once, bad spots included: all bytes over all time. Null if
    /// unknown.
    pub mean_rate_bytes_per_s: Option<f64>,
    /// The rate of the first zone.
    pub outer_rate_bytes_per_s: Option<f64>,
    /// The rate of the slowest zone, which can be promised at every position outside the bad spots.
    pub inner_rate_bytes_per_s: Option<f64>,
    /// How far the slowest zone is below the fastest, from 0 to 1.
    pub fall: Option<f64>,
    /// Standard deviation of a sample, as a part of its rate, disturbances included.
    pub noise: f64,
    /// An effect of the position smaller than this part of the rate would not have been seen.
    pub resolution: f64,
    /// Stretches of one rate, in the order of position, without gaps.
    pub zones: Vec<ProfileZone>,
    /// Positions that do not belong to their zone.
    pub outliers: Vec<ProfileOutlier>,
    /// Every position that was sampled, in order.
    pub points: Vec<ProfilePoint>,
    /// Requests that failed, in the order of time: what happened and what to do.
    pub errors: Vec<String>,
    /// The longest stretch that no sample has touched: a shorter slow place could lie in it. Null
    /// in documents of earlier versions, and if nothing was measured.
    #[serde(default)]
    pub unseen_bytes_max: Option<u64>,
    /// What a longer `--budget` would bring; null if it would not bring the samples much closer.
    #[serde(default)]
    pub closer: Option<ProfileCloser>,
    /// Runs without a break, with which the rates were tried. Where one fell short, all rates but
    /// those of points and outliers are lowered to what it held.
    #[serde(default)]
    pub held: Vec<ProfileHeld>,
}

/// A longer time, and how close samples would lie with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileCloser {
    /// The value of `--budget`.
    pub budget_s: f64,
    /// About the longest stretch that no sample would touch.
    pub unseen_bytes_max: u64,
}

/// A run without a break, with which the rate of samples was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileHeld {
    /// Where it began, as a part of each target, from 0 to 1.
    pub from: f64,
    /// How long it took. Its second half counts.
    pub elapsed_s: f64,
    /// The rate that the samples of this stretch show.
    pub promised_rate_bytes_per_s: f64,
    /// The rate that it held.
    pub held_rate_bytes_per_s: f64,
    /// Whether it fell short by more than noise explains.
    pub is_short: bool,
}

/// If only a larger effect of the position would have been seen, flat is too strong a word, and the
/// rate of a zone is rough.
const POOR_RESOLUTION: f64 = 0.15;

impl ProfileTarget {
    /// The positions that are slow at every visit, in order.
    pub fn bad_spots(&self) -> impl Iterator<Item = &ProfileOutlier> {
        let outliers = self.outliers.iter();
        outliers.filter(|outlier| outlier.is_of_the_place())
    }

    /// The least rate within the bad spots, bytes per second; none without bad spots.
    #[must_use]
    pub fn least_in_bad_spots(&self) -> Option<f64> {
        // A spot's samples may have been faster than what lasts there, as its mean is.
        let rates = self.bad_spots().flat_map(|spot| {
            let rates = [spot.rate_bytes_per_s, spot.mean_rate_bytes_per_s];
            rates.into_iter().flatten()
        });
        rates.reduce(f64::min)
    }

    /// The rate of going over all of it except the bad spots, bytes per second.
    #[must_use]
    pub fn mean_outside_bad_spots(&self) -> Option<f64> {
        let (mut bytes, mut time_s) = (self.size_bytes as f64, 0.0);
        time_s += bytes / self.mean_rate_bytes_per_s?;
        for spot in self.bad_spots() {
            let width = (spot.to_byte - spot.from_byte) as f64;
            bytes -= width;
            time_s -= width / spot.mean_rate_bytes_per_s?;
        }
        (bytes > 0.0 && time_s > 0.0).then(|| bytes / time_s)
    }

    /// Whether the samples are too noisy to show what the position does: then it says little that
    /// no effect was seen, and the rates of zones are rough.
    #[must_use]
    pub fn is_too_noisy(&self) -> bool {
        self.shape != CurveShape::Unknown && self.resolution > POOR_RESOLUTION
    }
}

/// A stretch of one rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileZone {
    /// Its first byte.
    pub from_byte: u64,
    /// The byte after its last.
    pub to_byte: u64,
    /// Its rate.
    pub rate_bytes_per_s: f64,
    /// The number of positions that it rests on.
    pub points: usize,
}

/// A position, or a stretch of neighbouring ones, that does not belong to its zone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileOutlier {
    /// Its first byte. For a spot that is slow by itself, this is as far as the samples tell: half
    /// way to those that do not show it, or within one that is across its edge. For anything else
    /// it is the first byte of the samples.
    pub from_byte: u64,
    /// The byte after its last, by the same rule.
    pub to_byte: u64,
    /// Why it does not belong to its zone.
    pub kind: OutlierKind,
    /// Its rate there, the slowest seen; null if nothing could be read or written.
    pub rate_bytes_per_s: Option<f64>,
    /// The rate of going over it: all its bytes over all their time. Null if the position is not
    /// the cause.
    pub mean_rate_bytes_per_s: Option<f64>,
    /// The rate that it was compared with: that of the slowest zone that it may be in.
    pub zone_rate_bytes_per_s: Option<f64>,
    /// A description in words.
    pub words: String,
}

impl ProfileOutlier {
    /// Whether it is slow at every visit, and not by a passing disturbance.
    #[must_use]
    pub fn is_of_the_place(&self) -> bool {
        matches!(
            self.kind,
            OutlierKind::BadSpot | OutlierKind::MissedRevolutions
        )
    }
}

/// A position that was sampled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilePoint {
    /// Offset of the sample.
    pub offset_bytes: u64,
    /// Length of the sample.
    pub bytes: u64,
    /// The rate at each visit, in the order of time.
    pub rates_bytes_per_s: Vec<f64>,
    /// Its value: the mean of the visits that are like the fastest. Null if no visit completed.
    pub rate_bytes_per_s: Option<f64>,
    /// Why it does not belong to its zone; null if it does.
    pub flag: Option<OutlierKind>,
}

/// All targets at once, in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileTogether {
    /// Whether it was written or read.
    pub direction: Direction,
    /// The targets' names, as in the points' rates.
    pub targets: Vec<String>,
    /// What the targets do to each other.
    pub shape: TogetherShape,
    /// What follows, in plain words, the most important first.
    pub verdict: Vec<String>,
    /// The rate of going over all of them at the same time: all bytes over all time.
    pub mean_rate_bytes_per_s: Option<f64>,
    /// The sum at the start of the targets.
    pub outer_rate_bytes_per_s: Option<f64>,
    /// The lowest sum of a zone, which can be promised.
    pub inner_rate_bytes_per_s: Option<f64>,
    /// Standard deviation of a sample's sum, as a part of it.
    pub noise: f64,
    /// The limit that the targets share and where it binds; null if each reaches its rate alone.
    pub shared_limit: Option<SharedLimit>,
    /// Stretches of one sum, in the order of position; a position is a part of each target, 0 to 1.
    pub zones: Vec<TogetherZone>,
    /// Every position that was sampled.
    pub points: Vec<TogetherPoint>,
    /// Runs of all at once without a break, with which the sums were tried. Where one fell short,
    /// all rates but those of points are lowered to what it held.
    #[serde(default)]
    pub held: Vec<ProfileHeld>,
}

/// A limit that the targets share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedLimit {
    /// How the sum behaves.
    pub kind: SharedLimitKind,
    /// The rate that it lets through: for a limit, its level; for a collapse, what the targets need
    /// where it no longer binds. Null for a collapse that binds to the end.
    pub rate_bytes_per_s: Option<f64>,
    /// From this position on it no longer binds; a part of each target, from 0 to 1; null if it
    /// binds to the end.
    pub binds_until: Option<f64>,
    /// The part of the targets' rates alone that is lost where it binds, from 0 to 1.
    pub loss: f64,
}

/// A stretch of one sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TogetherZone {
    /// Its start, as a part of each target.
    pub from: f64,
    /// Its end, as a part of each target.
    pub to: f64,
    /// The sum.
    pub rate_bytes_per_s: f64,
}

/// All targets at one position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TogetherPoint {
    /// The position, as a part of each target, from 0 to 1.
    pub position: f64,
    /// The sum at each visit, in the order of time.
    pub sums_bytes_per_s: Vec<f64>,
    /// Each target's rate, the median of the visits.
    pub rates_bytes_per_s: Vec<f64>,
    /// The sum of the targets' rates alone at this position; null if one of them is unknown.
    pub alone_bytes_per_s: Option<f64>,
}

closed_set! {
    /// How the rate of a target depends on the position.
    pub enum CurveShape {
        /// In steps.
        Zones,
        /// It falls or rises, and no steps are visible.
        Smooth,
        /// The position has no effect.
        Flat,
        /// Too little was measured.
        Unknown,
    }
}

closed_set! {
    /// Why a position does not belong to its zone.
    pub enum OutlierKind {
        /// It was slow at every visit.
        BadSpot,
        /// The same, at a whole part of its zone's rate.
        MissedRevolutions,
        /// It was slow at some visits only.
        Disturbance,
        /// It was slow at most visits, or at all of them but no more than chance explains.
        Uncertain,
        /// A request failed there.
        Error,
    }
}

closed_set! {
    /// What targets do to each other when all are driven at once.
    pub enum TogetherShape {
        /// Each keeps its own rate.
        Free,
        /// They share a limit.
        Limit,
        /// They share one under which the sum falls.
        Collapse,
        /// Too little was measured.
        Unknown,
    }
}

closed_set! {
    /// How the sum behaves under a shared limit.
    pub enum SharedLimitKind {
        /// It stays level.
        Limit,
        /// It is erratic, rises while the targets fall, or is less than one target alone reaches,
        /// as happens when revolutions are missed.
        Collapse,
    }
}
