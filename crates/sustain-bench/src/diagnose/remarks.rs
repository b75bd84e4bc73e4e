//! What a reader of a diagnosis must know to read it right, in plain words. Pure; `conclude` asks it.

use sustain_disk::target::Direction;
use sustain_disk::units::{Rate, Size};
use sustain_session::others_words;

use super::conclude::Diagnosed;
use crate::collect::TOOL_SHARE;
use crate::remarks::others_untold;
use crate::walls::{self, WallKind, WallState};

/// A subset this far below what the walls foretell is not explained by them.
pub(super) const UNEXPLAINED: f64 = 0.07;

/// The subset that is furthest below what the walls foretell, if one is.
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
    let noise = 4.0 * findings.noise / (worst.members.len() as f64).sqrt();
    (share < 1.0 - UNEXPLAINED.max(noise)).then(|| {
        format!(
            "not all is explained: {} gave {}, where the walls foretell {}",
            diagnosed.names(&worst.members).join(", "),
            Rate(worst.sum_bytes_per_s),
            Rate(worst.predicted_bytes_per_s.unwrap_or(0.0))
        )
    })
}

/// What is written into a cache is not what the disk sustains.
fn not_seen(diagnosed: &Diagnosed<'_>) -> Option<String> {
    let writes = diagnosed.session.direction == Direction::Write;
    let rates = diagnosed.findings.alone.iter().flatten();
    let fastest = rates.copied().fold(0.0, f64::max);
    (writes && fastest > 0.0).then(|| {
        let bytes = fastest * diagnosed.plan.time_per_run_ns as f64 / 1e9;
        format!(
            "a target was written up to {} a run: a cache that holds more would not show \
             (--time-per-run)",
            Size(bytes as u64)
        )
    })
}

/// All of them, the gravest first.
pub(super) fn notes(diagnosed: &Diagnosed<'_>) -> Vec<String> {
    let findings = &diagnosed.findings;
    let mut notes: Vec<String> = others_words(&diagnosed.system.others).into_iter().collect();
    notes.extend(others_untold(&diagnosed.host));
    if let Some(noisy) = findings.too_noisy {
        notes.push(format!(
            "readings differ by {:.1} % from run to run, and walls can be told up to {:.1} %: \
             nothing is claimed; look for other users of the disks, or try longer runs \
             (--time-per-run), which help where the rate swings within a run",
            noisy.noise * 100.0,
            noisy.noise_max * 100.0,
        ));
    }
    notes.extend(not_seen(diagnosed));
    if diagnosed.ways.order.is_none() {
        notes.push(
            "how the targets hang is not known, so any of them may share something: a smaller \
             limit inside a larger one is then found only by luck"
                .to_owned(),
        );
    }
    if findings.drift.significant {
        notes.push(format!(
            "something changed meanwhile, by up to {:+.1} %: the disks' warmth or wear, or \
             another user of them",
            findings.drift.largest * 100.0
        ));
    }
    if diagnosed.driver_cpu_share_max >= TOOL_SHARE {
        notes.push(format!(
            "a driver of this program took {:.0} % of a CPU: with larger records it takes less",
            diagnosed.driver_cpu_share_max * 100.0
        ));
    }
    if let Some(loss) = &findings.unexplained {
        let names = diagnosed.names_unless_all(&loss.members);
        let who = if names.is_empty() {
            "all targets together".to_owned()
        } else {
            format!("{} together", names.join(", "))
        };
        notes.push(format!(
            "{who} should bring {} by what was found, and bring {}: readings that contradict each \
             other, as of targets that change while they are measured, or limits of a kind that is \
             not looked for; look for other users of them, let them come to rest, and diagnose again",
            Rate(loss.expected_bytes_per_s),
            Rate(loss.measured_bytes_per_s),
        ));
    } else if !findings.complete && !diagnosed.is_interrupted {
        notes.push("not all that was planned was measured".to_owned());
    }
    if findings
        .walls
        .iter()
        .any(|wall| wall.kind == WallKind::Tool)
    {
        notes.push(
            "one wall is this program's own: the disks may do more with larger records \
             (--record-size) or another --engine"
                .to_owned(),
        );
    }
    notes.extend(unexplained(diagnosed));
    let crossing = |wall: &&walls::Wall| wall.state == WallState::Crossing;
    for wall in findings.walls.iter().filter(crossing) {
        notes.push(format!(
            "the wall of {} at {} crosses another one: how such walls share decides what is \
             seen, so its members are less sure",
            diagnosed.names(&wall.members).join(", "),
            Rate(wall.limit_bytes_per_s)
        ));
    }
    notes
}
