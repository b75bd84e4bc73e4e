//! What the advice rests on, taken from the findings: the walls with the places where they sit and
//! whether readings contradict them (`is_doubted`), the links, the rates that were measured. Pure;
//! the run has its advice from here.

use sustain_document::chain::TopologyHop;
use sustain_document::devices::HopKind;
use sustain_document::diagnose::is_likely;
use sustain_load::open_target::OpenTarget;
use sustain_statistics::walls::{Findings, FoundWall, Model, SumLimit, WallKind};

use super::advice::advise;
use super::explain::{Explanation, explain};
use super::fall;
use super::plan::DiagnosePlan;
use super::remarks;
use super::suggestion::{AdviceBasis, KnownWall, Suggestion};
use super::sums::sums;
use super::topology_paths::{TopologyPaths, is_place, links};

/// The advice that follows from the walls for recording on these targets; none if the targets
/// themselves are not known well enough.
pub(super) fn advised(
    findings: &Findings,
    targets: &[OpenTarget],
    ways: &TopologyPaths,
    plan: &DiagnosePlan,
) -> Vec<Suggestion> {
    let alive = |target: &usize| !findings.dropped.contains(target);
    let is_measured = |target: usize| findings.alone[target].is_some();
    let hang: Vec<usize> = match &ways.order {
        Some(order) => order.iter().copied().filter(alive).collect(),
        None => (0..targets.len()).filter(alive).collect(),
    };
    let is_known = hang.iter().all(|target| is_measured(*target));
    if hang.len() < 2 || !is_known || !findings.complete || findings.too_noisy.is_some() {
        return Vec::new();
    }
    let mut alive_targets = hang.clone();
    alive_targets.sort_unstable();
    let sums = sums(findings);
    let facts = AdviceBasis {
        names: targets
            .iter()
            .map(|target| target.target.name.clone())
            .collect(),
        alone: rates_alone(findings),
        capacity_bytes: targets
            .iter()
            .map(|target| target.target.capacity_bytes)
            .collect(),
        walls: findings
            .walls
            .iter()
            .map(|wall| known_wall(wall, findings, ways, targets.len()))
            .collect(),
        links: links(ways, &alive_targets),
        fastest: fastest(findings).unwrap_or_else(|| (hang.clone(), 0.0)),
        together_bytes_per_s: sums.get(&alive_targets[..]).copied(),
        fall: findings
            .walls
            .iter()
            .filter(|wall| wall.kind == WallKind::Collapse)
            .find_map(|wall| fall::largest(&wall.members, &sums)),
        hang,
        record_bytes: plan.load.record_bytes,
    };
    let alone = facts.alone.clone();
    let predict = |walls: &[KnownWall], members: &[usize]| {
        let limits = walls.iter().map(|wall| SumLimit {
            members: wall.members.clone(),
            limit_bytes_per_s: wall.limit_bytes_per_s,
        });
        let model = Model {
            alone_bytes_per_s: alone.clone(),
            walls: limits.collect(),
        };
        model.predict(members)
    };
    advise(&facts, &predict)
}

/// The subset that brought the most of all that were measured, and its sum.
pub(super) fn fastest(findings: &Findings) -> Option<(Vec<usize>, f64)> {
    let sums = sums(findings).into_iter();
    let fastest = sums.max_by(|(one, sum), (other, other_sum)| {
        let by_sum = sum.total_cmp(other_sum);
        by_sum.then(one.len().cmp(&other.len()))
    })?;
    Some((fastest.0.to_vec(), fastest.1))
}

pub(super) fn rates_alone(findings: &Findings) -> Vec<f64> {
    let rates = findings.alone.iter();
    rates.map(|rate| rate.unwrap_or(0.0)).collect()
}

fn known_wall(
    wall: &FoundWall,
    findings: &Findings,
    ways: &TopologyPaths,
    targets: usize,
) -> KnownWall {
    let dropped = &findings.dropped;
    let hop = match explained(wall, dropped, ways) {
        Explanation::Hop { hop, .. } => Some(hop),
        Explanation::None(_) => None,
    };
    let is_of_places = |hop: &TopologyHop| {
        if hop.kind == HopKind::SimulatedLimit {
            // The name says nothing about what a simulated limit stands for; one that all targets
            // pass through is perhaps the memory.
            wall.members.len() + dropped.len() < targets
        } else {
            is_place(hop)
        }
    };
    KnownWall {
        is_of_places: wall.kind != WallKind::Tool && hop.as_ref().is_some_and(is_of_places),
        place: hop.map(|hop| hop.name),
        members: wall.members.clone(),
        limit_bytes_per_s: wall.limit_bytes_per_s,
        collapses_to_bytes_per_s: wall.at_full_load_bytes_per_s,
        is_likely: is_likely(wall.confidence) && !is_doubted(wall, findings),
    }
}

/// Where a wall sits; a target that failed is neither a member nor an outsider.
pub(super) fn explained(wall: &FoundWall, dropped: &[usize], ways: &TopologyPaths) -> Explanation {
    let mut alive = ways.ways.clone();
    for target in dropped {
        alive[*target].hops.clear();
    }
    explain(&wall.members, wall.limit_bytes_per_s, &alive)
}

/// Whether readings contradict the wall. Then it is not certain, however clear its own evidence
/// was.
pub(super) fn is_doubted(wall: &FoundWall, findings: &Findings) -> bool {
    findings.unexplained.is_some()
        || remarks::furthest_below(findings).is_some()
        || is_refuted(wall)
}

/// Whether a prediction by the wall failed.
fn is_refuted(wall: &FoundWall) -> bool {
    wall.prediction.as_ref().is_some_and(|prediction| {
        let off = prediction.measured_bytes_per_s - prediction.predicted_bytes_per_s;
        let noise = 4.0 * prediction.deviation_bytes_per_s;
        off.abs() > noise.max(remarks::UNEXPLAINED * prediction.predicted_bytes_per_s)
    })
}
