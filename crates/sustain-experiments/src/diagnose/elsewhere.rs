//! Predicts what other cables would bring: some members of a costly wall are moved to another port.
//! Links that they still pass through there count, even if these do not limit today. Pure; `advice`
//! calls it.

use std::cmp::Reverse;

use super::reason::{AdviceReason, LimitAfterMove, MoveCaution, MoveReason};
use super::suggestion::{
    AdviceBasis, FULL, KnownWall, Link, Predict, SuggestedLayout, Suggestion, WORTH_MOVING,
};

/// A nominal rate is not believed if more than this many times as much was seen to pass.
const BELIEVED: f64 = 1.02;

/// The same machine with some targets connected elsewhere.
struct MovedTargets {
    targets: Vec<usize>,
    /// Walls and links, both as limits.
    limits: Vec<KnownWall>,
    sum_bytes_per_s: f64,
}

/// Moves members of the most costly wall out of it, one by one, as long as that pays.
pub(super) fn elsewhere(
    facts: &AdviceBasis,
    predict: &Predict<'_>,
    now: f64,
) -> Option<Suggestion> {
    if facts.walls.iter().any(|wall| !wall.is_likely) {
        return None;
    }
    let walls = facts.walls.iter().filter(|wall| wall.is_of_places);
    let moves = walls.filter_map(|wall| Some((wall, out_of(wall, facts, predict, now)?)));
    let most = |one: &(&KnownWall, MovedTargets), other: &(&KnownWall, MovedTargets)| {
        one.1.sum_bytes_per_s.total_cmp(&other.1.sum_bytes_per_s)
    };
    let (wall, moved) = moves.max_by(most)?;
    let sum = moved.sum_bytes_per_s;
    if sum < now * (1.0 + WORTH_MOVING) {
        return None;
    }
    let then = then_limited_by(&moved, predict);
    let outside = facts.hang.iter().copied();
    let outside: Vec<usize> = outside.filter(|one| !wall.members.contains(one)).collect();
    let limit_after = |limit: &KnownWall| LimitAfterMove {
        place: facts.place_of(limit),
        members: facts.named(&limit.members),
        limit_bytes_per_s: limit.limit_bytes_per_s,
    };
    let why = MoveReason {
        moved: facts.named(&moved.targets),
        from: facts.place_of(wall),
        from_limit_bytes_per_s: wall.limit_bytes_per_s,
        outside: facts.named(&outside),
        then: then.iter().map(limit_after).collect(),
        gain: sum / now - 1.0,
        held_alone: {
            let moved = moved.targets.iter().copied();
            let held: Vec<usize> = moved.filter(|one| facts.fills_alone(*one, wall)).collect();
            facts.named(&held)
        },
        caution: caution(wall, &moved, facts, predict),
    };
    Some(Suggestion {
        layout: SuggestedLayout::Independent,
        order: facts.hang.clone(),
        leave_out: Vec::new(),
        moved_from: Some(facts.place_of(wall)),
        move_elsewhere: moved.targets,
        then_limited_by: then,
        expected_bytes_per_s: sum,
        is_at_most: why.caution.is_some() && why.held_alone.is_empty(),
        is_at_least: why.caution.is_none() && !why.held_alone.is_empty(),
        why: AdviceReason::Moved(why),
    })
}

/// The limits that are full after the targets have moved; of those inside another full one, the
/// outer one decides.
fn then_limited_by(moved: &MovedTargets, predict: &Predict<'_>) -> Vec<KnownWall> {
    let mut limits = moved.limits.clone();
    limits.sort_by_key(|limit| Reverse(limit.members.len()));
    let mut full: Vec<KnownWall> = Vec::new();
    for limit in limits {
        let is_inside = |other: &KnownWall| {
            let mut members = limit.members.iter();
            members.all(|member| other.members.contains(member))
        };
        let passes = predict(&moved.limits, &limit.members);
        let is_full = limit.members.len() > 1 && passes >= FULL * limit.limit_bytes_per_s;
        if is_full && !full.iter().any(is_inside) {
            full.push(limit);
        }
    }
    full
}

fn out_of(
    wall: &KnownWall,
    facts: &AdviceBasis,
    predict: &Predict<'_>,
    now: f64,
) -> Option<MovedTargets> {
    let mut limits = facts.walls.clone();
    limits.extend(
        facts
            .links
            .iter()
            .filter_map(|link| as_limit(link, facts, predict)),
    );
    let mut moved = MovedTargets {
        targets: Vec::new(),
        limits,
        sum_bytes_per_s: now,
    };
    let mut left = wall.members.clone();
    while moved.targets.len() < wall.members.len() / 2 {
        let by_rate =
            |one: &&usize, other: &&usize| facts.alone[**one].total_cmp(&facts.alone[**other]);
        let target = *left.iter().max_by(by_rate)?;
        let mut limits = moved.limits.clone();
        leave(&mut limits, &wall.members, target);
        let sum_bytes_per_s = predict(&limits, &facts.hang);
        if sum_bytes_per_s < moved.sum_bytes_per_s * (1.0 + WORTH_MOVING / 2.0) {
            break;
        }
        left.retain(|one| *one != target);
        moved.targets.push(target);
        moved.limits = limits;
        moved.sum_bytes_per_s = sum_bytes_per_s;
    }
    (!moved.targets.is_empty()).then_some(moved)
}

/// A link of known rate as a limit, unless more was seen to pass through it.
fn as_limit(link: &Link, facts: &AdviceBasis, predict: &Predict<'_>) -> Option<KnownWall> {
    let rate = link.rate_bytes_per_s?;
    let passed = predict(&facts.walls, &link.members);
    (passed <= rate * BELIEVED).then(|| KnownWall {
        place: Some(link.name.clone()),
        members: link.members.clone(),
        limit_bytes_per_s: rate,
        collapses_to_bytes_per_s: None,
        is_of_places: false,
        is_likely: true,
    })
}

/// Takes a target out of a wall and of those inside it.
fn leave(walls: &mut [KnownWall], outer: &[usize], target: usize) {
    for wall in walls {
        if wall.members.iter().all(|member| outer.contains(member)) {
            wall.members.retain(|member| *member != target);
        }
    }
}

/// Why the sum is only an upper bound, if it is.
fn caution(
    wall: &KnownWall,
    moved: &MovedTargets,
    facts: &AdviceBasis,
    predict: &Predict<'_>,
) -> Option<MoveCaution> {
    // The links that the moved targets share with others wherever they are connected.
    let is_outer = |link: &&Link| {
        link.members.len() > wall.members.len()
            && wall
                .members
                .iter()
                .all(|member| link.members.contains(member))
    };
    let outer: Vec<&Link> = facts.links.iter().filter(is_outer).collect();
    let is_full = |link: &&&Link| {
        let fills = |rate| predict(&moved.limits, &link.members) >= FULL * rate;
        link.rate_bytes_per_s.is_some_and(fills)
    };
    if let Some(full) = outer.iter().find(is_full) {
        return (!full.is_exact).then(|| MoveCaution::NominalRate {
            link: full.name.clone(),
        });
    }
    let unknown = outer.iter().find(|link| link.rate_bytes_per_s.is_none());
    unknown.map(|unknown| MoveCaution::RateUnknown {
        link: unknown.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::diagnosis_words;
    use super::*;

    /// Four disks of 100 MB/s behind a wall of 200, two more beside it, all behind `host`.
    fn facts(host: Option<f64>, is_exact: bool) -> AdviceBasis {
        let names: Vec<String> = (0..6).map(|disk| format!("d{disk}")).collect();
        AdviceBasis {
            names,
            alone: vec![100e6; 6],
            capacity_bytes: vec![None; 6],
            walls: vec![KnownWall {
                place: Some("channel".to_owned()),
                members: vec![0, 1, 2, 3],
                limit_bytes_per_s: 200e6,
                collapses_to_bytes_per_s: None,
                is_of_places: true,
                is_likely: true,
            }],
            links: vec![Link {
                name: "host".to_owned(),
                members: (0..6).collect(),
                rate_bytes_per_s: host,
                is_exact,
            }],
            hang: (0..6).collect(),
            fastest: (Vec::new(), 0.0),
            together_bytes_per_s: None,
            fall: None,
            record_bytes: 1 << 20,
        }
    }

    /// Disjoint walls, then those around them.
    fn predict(limits: &[KnownWall], members: &[usize]) -> f64 {
        let mut rates = [0.0; 6];
        members.iter().for_each(|member| rates[*member] = 100e6);
        let mut limits = limits.to_vec();
        limits.sort_by_key(|limit| limit.members.len());
        for limit in limits {
            let sum: f64 = limit.members.iter().map(|member| rates[*member]).sum();
            let part = (limit.limit_bytes_per_s / sum).min(1.0);
            limit
                .members
                .iter()
                .for_each(|member| rates[*member] *= part);
        }
        rates.iter().sum()
    }

    fn moved(host: Option<f64>, is_exact: bool) -> Option<Suggestion> {
        elsewhere(&facts(host, is_exact), &predict, 400e6)
    }

    #[test]
    fn a_link_that_does_not_bind_today_binds_the_prediction() {
        let moved = moved(Some(450e6), true).unwrap();
        assert!(
            (moved.expected_bytes_per_s - 450e6).abs() < 1.0,
            "{moved:?}"
        );
        assert!(!moved.is_at_most && !moved.is_at_least);
        assert_eq!(
            diagnosis_words::advice(&moved.why),
            "move d3 from channel, which lets 200 MB/s through, to a free port that does not lead \
             through it (d4, d5 are connected that way); host then limits d0, d1, d2, d3, d4, d5 \
             to 450 MB/s; 12 % more"
        );
    }

    #[test]
    fn a_target_that_is_held_alone_may_be_faster_elsewhere() {
        let mut facts = facts(Some(450e6), true);
        facts.alone[3] = 200e6;
        let moved = elsewhere(&facts, &predict, 400e6).unwrap();
        let said = diagnosis_words::advice(&moved.why);
        assert!(said.contains("; d3 alone reached that limit"), "{said}");
        assert!(moved.is_at_least && !moved.is_at_most);
    }

    #[test]
    fn a_link_with_little_room_is_worth_no_cables() {
        assert_eq!(moved(Some(410e6), true), None);
    }

    #[test]
    fn what_is_not_known_makes_an_upper_bound() {
        let moved = moved(None, false).unwrap();
        assert!(
            moved.is_at_most && diagnosis_words::advice(&moved.why).contains("unless host"),
            "{moved:?}"
        );
        assert!((moved.expected_bytes_per_s - 600e6).abs() < 1.0);
    }

    #[test]
    fn a_link_that_was_seen_to_pass_more_is_not_believed() {
        let moved = moved(Some(300e6), true).unwrap();
        assert!(
            (moved.expected_bytes_per_s - 600e6).abs() < 1.0,
            "{moved:?}"
        );
    }
}
