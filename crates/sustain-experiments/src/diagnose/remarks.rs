//! Remarks that a reader of a diagnosis needs in order to read it right. Pure; `conclude` calls it.

use sustain_disk::target::Direction;
use sustain_disk::units::{Rate, Size};
use sustain_load::collect::TOOL_SHARE;
use sustain_session::others_words;
use sustain_statistics::walls::{
    self, FALLING_TARGETS_MAX, Findings, PAIRS_OF_MAX, TARGETS_MAX, WallKind, WallState,
};

use super::conclude::Diagnosed;
use crate::others::others_untold;

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

/// The subset that is furthest below the prediction of the walls, if one is.
pub(super) fn unexplained(diagnosed: &Diagnosed<'_>) -> Option<String> {
    let findings = &diagnosed.findings;
    if !findings.complete || findings.too_noisy.is_some() {
        return None;
    }
    let measurements = findings.measurements.iter();
    let lost = measurements
        .filter(|one| !one.failed && !one.with_dummy && one.members.len() > 1)
        .filter_map(|one| Some((one, one.sum_bytes_per_s / one.predicted_bytes_per_s?)));
    let (worst, share) = lost.min_by(|one, other| one.1.total_cmp(&other.1))?;
    (share < 1.0 - explained_within(findings.noise, worst.members.len())).then(|| {
        format!(
            "not everything is explained: {} reached {}, where the walls predict {}",
            diagnosed.names(&worst.members).join(", "),
            Rate(worst.sum_bytes_per_s),
            Rate(worst.predicted_bytes_per_s.unwrap_or(0.0))
        )
    })
}

/// The rate of writing into a cache is not the rate that the disk sustains.
fn not_seen(diagnosed: &Diagnosed<'_>) -> Option<String> {
    let writes = diagnosed.session.direction == Direction::Write;
    let rates = diagnosed.findings.alone.iter().flatten();
    let fastest = rates.copied().fold(0.0, f64::max);
    (writes && fastest > 0.0).then(|| {
        let bytes = fastest * diagnosed.plan.time_per_run_ns as f64 / 1e9;
        format!(
            "each run wrote up to {} to a target: a larger cache would not show (use a longer \
             --time-per-run)",
            Size(bytes as u64)
        )
    })
}

/// The loss, or gain, of these targets together, or of all if none is named, that nothing found
/// explains.
fn loss_words(names: &[String], expected_bytes_per_s: f64, measured_bytes_per_s: f64) -> String {
    let who = if names.is_empty() {
        "all targets together".to_owned()
    } else {
        format!("{} together", names.join(", "))
    };
    format!(
        "{who} should reach {} by what was found, but reach {}: either readings contradict each \
         other, because the targets changed while they were measured, or there are limits of a \
         kind that is not looked for. See whether other programs use them, let the disks come to \
         rest, and diagnose again",
        Rate(expected_bytes_per_s),
        Rate(measured_bytes_per_s),
    )
}

/// A second explanation that was not tried, because it would take too many readings.
fn not_looked_for(findings: &Findings) -> Option<String> {
    let targets = findings.alone.len();
    if targets > TARGETS_MAX && findings.unexplained.is_some() {
        return Some(format!(
            "more than {TARGETS_MAX} targets: limits that cross the order in which they are \
             connected were not looked for, though something is left unexplained; diagnose fewer \
             of them at a time"
        ));
    }
    // Two targets that fall below one of them are under no limit, and no limits cross in two.
    let collapses = findings.walls.iter();
    let mut collapses = collapses
        .filter(|wall| wall.kind == WallKind::Collapse)
        .filter(|wall| wall.members.len() > 2 && !falls_below_one(wall, findings));
    if targets > FALLING_TARGETS_MAX && collapses.clone().next().is_some() {
        return Some(format!(
            "more than {FALLING_TARGETS_MAX} targets: whether limits that cross let the sum fall, \
             instead of a collapse, was not looked for; diagnose the members of the collapse by \
             themselves"
        ));
    }
    let is_wide = collapses.any(|wall| wall.members.len() > PAIRS_OF_MAX);
    is_wide.then(|| {
        format!(
            "a collapse of more than {PAIRS_OF_MAX} targets: whether limits that cross let its \
             sum fall instead was not looked for"
        )
    })
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
pub(super) fn notes(diagnosed: &Diagnosed<'_>) -> Vec<String> {
    let findings = &diagnosed.findings;
    let mut notes: Vec<String> = others_words(&diagnosed.system.others).into_iter().collect();
    notes.extend(others_untold(&diagnosed.host));
    if let Some(noisy) = findings.too_noisy {
        notes.push(format!(
            "readings differ by {:.1} % from run to run, and walls can be found only if that is at \
             most {:.1} %: no wall is claimed; look for other programs that use the disks, or try \
             longer runs (--time-per-run), which help if the rate swings within a run",
            noisy.noise * 100.0,
            noisy.noise_max * 100.0,
        ));
    }
    notes.extend(not_seen(diagnosed));
    if diagnosed.ways.order.is_none() {
        notes.push(
            "how the targets are connected is not known, so any of them may share something: a \
             smaller limit inside a larger one is then found only by luck"
                .to_owned(),
        );
    }
    if findings.drift.significant {
        notes.push(format!(
            "rates changed during the diagnosis, by up to {:+.1} %: perhaps the disks grew warmer \
             or wore, or another program used them",
            findings.drift.largest * 100.0
        ));
    }
    if diagnosed.driver_cpu_share_max >= TOOL_SHARE {
        notes.push(format!(
            "a driver of this program used {:.0} % of a CPU: with larger records it uses less",
            diagnosed.driver_cpu_share_max * 100.0
        ));
    }
    if let Some(loss) = &findings.unexplained {
        let names = diagnosed.names_unless_all(&loss.members);
        notes.push(loss_words(
            &names,
            loss.expected_bytes_per_s,
            loss.measured_bytes_per_s,
        ));
    } else if !findings.complete && !diagnosed.is_interrupted {
        notes.push("not everything that was planned was measured".to_owned());
    }
    if findings
        .walls
        .iter()
        .any(|wall| wall.kind == WallKind::Tool)
    {
        notes.push(
            "one wall is this program's own: the disks may reach more with larger records \
             (--record-size) or another --engine"
                .to_owned(),
        );
    }
    notes.extend(unexplained(diagnosed));
    notes.extend(not_looked_for(findings));
    let crossing = |wall: &&walls::FoundWall| wall.state == WallState::Crossing;
    for wall in findings.walls.iter().filter(crossing) {
        notes.push(format!(
            "the wall of {} at {} crosses another one: what is seen depends on how the two share, \
             so its members are less certain",
            diagnosed.names(&wall.members).join(", "),
            Rate(wall.limit_bytes_per_s)
        ));
    }
    notes
}
