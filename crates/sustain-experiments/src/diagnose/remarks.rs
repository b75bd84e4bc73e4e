//! Finds what a reader of a diagnosis must know in order to read it right, as data;
//! `diagnosis_words.rs` has the English. Pure; `conclude` calls it.

use sustain_disk::target::Direction;
use sustain_document::diagnose::PausedRates;
use sustain_load::collect::TOOL_SHARE;
use sustain_statistics::walls::{
    self, FALLING_TARGETS_MAX, Findings, PAIRS_OF_MAX, TARGETS_MAX, WallKind, WallState,
};

use super::diagnosed::Diagnosed;
use super::paused_rates::paused_rates;
use super::sums::sums;

/// What a reader of a diagnosis must know besides its findings.
pub(super) enum DiagnosisRemark {
    /// Readings differ too much for a wall to be claimed.
    TooNoisy { noise: f64, noise_max: f64 },
    /// Repeated readings of the same targets differ by this many times what their noise allows.
    Scattered { times: f64 },
    /// A cache larger than what each run wrote to a target would not show.
    LargerCacheNotSeen { bytes: u64 },
    /// Of what was written to these targets, volatile caches had taken a part; the longest flush.
    IntoCaches { members: Vec<String>, flush_s: f64 },
    /// Rates are without pauses, which took something from these targets together.
    WithoutPauses(PausedRates),
    /// It is not known how the targets are connected.
    OrderUnknown,
    /// Rates changed during the diagnosis, by up to this part.
    Drifted { largest: f64 },
    /// A driver used this part of a CPU.
    DriverBusy { cpu_share: f64 },
    /// What was found does not explain what these targets reach together; none: all of them.
    Unexplained {
        members: Vec<String>,
        expected_bytes_per_s: f64,
        measured_bytes_per_s: f64,
        /// Whether volatile caches had taken a part of what was written.
        has_caches: bool,
    },
    /// Not all that was planned was measured.
    Incomplete,
    /// A wall is this program's own.
    ToolWall,
    /// The subset that is furthest below the prediction of the walls.
    SubsetUnexplained {
        members: Vec<String>,
        measured_bytes_per_s: f64,
        predicted_bytes_per_s: f64,
    },
    /// Limits that cross were not looked for: there are too many targets.
    CrossingsNotTried,
    /// Whether limits that cross let the sum fall was not looked for: there are too many targets.
    CrossingsOfManyNotTried,
    /// The same, because a collapse has too many members.
    CrossingsInsideNotTried,
    /// A wall crosses another one.
    Crossing {
        members: Vec<String>,
        limit_bytes_per_s: f64,
    },
}

/// A subset this far below the prediction of the walls is not explained by them.
pub(super) const UNEXPLAINED: f64 = 0.07;

/// A sum within this many of its standard deviations of the prediction is explained by it.
const EXPLAINED_DEVIATIONS: f64 = 4.0;

/// Two targets that bring less than one of them by this part are under no limit.
const BELOW_ONE: f64 = 0.04;

/// How far the sum of so many targets may be from the prediction of the walls, as a part of it.
pub(super) fn explained_within(noise: f64, members: usize) -> f64 {
    UNEXPLAINED.max(EXPLAINED_DEVIATIONS * noise / (members as f64).sqrt())
}

/// What a subset reached, and what the walls predict of it.
pub(super) struct MissedSubset<'a> {
    members: &'a [usize],
    measured_bytes_per_s: f64,
    predicted_bytes_per_s: f64,
}

impl MissedSubset<'_> {
    fn share(&self) -> f64 {
        self.measured_bytes_per_s / self.predicted_bytes_per_s
    }
}

/// The subset that is furthest below the prediction of the walls by all its readings, if one is.
pub(super) fn furthest_below(findings: &Findings) -> Option<MissedSubset<'_>> {
    if !findings.complete || findings.too_noisy.is_some() {
        return None;
    }
    let sums = sums(findings);
    let measurements = findings.measurements.iter();
    let subsets = measurements
        .filter(|one| !one.failed && !one.with_dummy && one.members.len() > 1)
        .filter_map(|one| {
            Some(MissedSubset {
                members: &one.members,
                measured_bytes_per_s: *sums.get(&one.members[..])?,
                predicted_bytes_per_s: one.predicted_bytes_per_s?,
            })
        });
    let worst = subsets.min_by(|one, other| one.share().total_cmp(&other.share()))?;
    let within = explained_within(findings.noise, worst.members.len());
    (worst.share() < 1.0 - within).then_some(worst)
}

fn unexplained(diagnosed: &Diagnosed<'_>) -> Option<DiagnosisRemark> {
    let worst = furthest_below(&diagnosed.findings)?;
    Some(DiagnosisRemark::SubsetUnexplained {
        members: diagnosed.names(worst.members),
        measured_bytes_per_s: worst.measured_bytes_per_s,
        predicted_bytes_per_s: worst.predicted_bytes_per_s,
    })
}

/// The rate of writing into a cache is not the rate that the disk sustains.
fn not_seen(diagnosed: &Diagnosed<'_>) -> Option<DiagnosisRemark> {
    let writes = diagnosed.session.direction == Direction::Write;
    let rates = diagnosed.findings.alone.iter().flatten();
    let fastest = rates.copied().fold(0.0, f64::max);
    let bytes = fastest * diagnosed.plan.time_per_run_ns as f64 / 1e9;
    (writes && fastest > 0.0).then_some(DiagnosisRemark::LargerCacheNotSeen {
        bytes: bytes as u64,
    })
}

/// What was only in caches when a run ended.
fn into_caches(diagnosed: &Diagnosed<'_>) -> Option<DiagnosisRemark> {
    let flush_s = diagnosed
        .cache_flushes_s
        .values()
        .copied()
        .reduce(f64::max)?;
    let targets: Vec<usize> = diagnosed.cache_flushes_s.keys().copied().collect();
    Some(DiagnosisRemark::IntoCaches {
        members: diagnosed.names(&targets),
        flush_s,
    })
}

/// A second explanation that was not tried, because it would take too many readings.
fn not_looked_for(findings: &Findings) -> Option<DiagnosisRemark> {
    let targets = findings.alone.len();
    if targets > TARGETS_MAX && findings.unexplained.is_some() {
        return Some(DiagnosisRemark::CrossingsNotTried);
    }
    // Two targets that fall below one of them are under no limit, and no limits cross in two.
    let collapses = findings.walls.iter();
    let mut collapses = collapses
        .filter(|wall| wall.kind == WallKind::Collapse)
        .filter(|wall| wall.members.len() > 2 && !falls_below_one(wall, findings));
    if targets > FALLING_TARGETS_MAX && collapses.clone().next().is_some() {
        return Some(DiagnosisRemark::CrossingsOfManyNotTried);
    }
    let is_wide = collapses.any(|wall| wall.members.len() > PAIRS_OF_MAX);
    is_wide.then_some(DiagnosisRemark::CrossingsInsideNotTried)
}

/// Whether two members of a wall were measured to bring less than one of them, which no limits do.
fn falls_below_one(wall: &walls::FoundWall, findings: &Findings) -> bool {
    let alone = |target: &usize| findings.alone[*target].unwrap_or(0.0);
    let mut pairs = findings.measurements.iter().filter(|one| {
        let is_inside = one
            .members
            .iter()
            .all(|target| wall.members.contains(target));
        one.members.len() == 2 && is_inside && !one.failed && !one.with_dummy
    });
    pairs.any(|one| {
        let fastest = one.members.iter().map(alone).fold(0.0, f64::max);
        one.sum_bytes_per_s < fastest * (1.0 - BELOW_ONE)
    })
}

/// All remarks, the gravest first.
pub(super) fn remarks(diagnosed: &Diagnosed<'_>) -> Vec<DiagnosisRemark> {
    let findings = &diagnosed.findings;
    let cpu_share = diagnosed.driver_cpu_share_max;
    let has_tool_wall = findings
        .walls
        .iter()
        .any(|wall| wall.kind == WallKind::Tool);
    let of_all = [
        findings.too_noisy.map(|noisy| DiagnosisRemark::TooNoisy {
            noise: noisy.noise,
            noise_max: noisy.noise_max,
        }),
        findings
            .scatter
            .map(|times| DiagnosisRemark::Scattered { times }),
        paused_rates(diagnosed).map(DiagnosisRemark::WithoutPauses),
        not_seen(diagnosed),
        into_caches(diagnosed),
        diagnosed
            .ways
            .order
            .is_none()
            .then_some(DiagnosisRemark::OrderUnknown),
        findings
            .drift
            .significant
            .then_some(DiagnosisRemark::Drifted {
                largest: findings.drift.largest,
            }),
        (cpu_share >= TOOL_SHARE).then_some(DiagnosisRemark::DriverBusy { cpu_share }),
        incomplete(diagnosed),
        has_tool_wall.then_some(DiagnosisRemark::ToolWall),
        unexplained(diagnosed),
        not_looked_for(findings),
    ];
    let crossing = |wall: &&walls::FoundWall| wall.state == WallState::Crossing;
    let crossing = findings.walls.iter().filter(crossing);
    let of_walls = crossing.map(|wall| DiagnosisRemark::Crossing {
        members: diagnosed.names(&wall.members),
        limit_bytes_per_s: wall.limit_bytes_per_s,
    });
    of_all.into_iter().flatten().chain(of_walls).collect()
}

/// What nothing found explains, or what was not measured.
fn incomplete(diagnosed: &Diagnosed<'_>) -> Option<DiagnosisRemark> {
    let findings = &diagnosed.findings;
    match &findings.unexplained {
        Some(loss) => Some(DiagnosisRemark::Unexplained {
            members: diagnosed.names_unless_all(&loss.members),
            expected_bytes_per_s: loss.expected_bytes_per_s,
            measured_bytes_per_s: loss.measured_bytes_per_s,
            has_caches: !diagnosed.cache_flushes_s.is_empty(),
        }),
        None => {
            (!findings.complete && !diagnosed.is_interrupted).then_some(DiagnosisRemark::Incomplete)
        }
    }
}
