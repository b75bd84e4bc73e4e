//! What other cables would bring: members of a wall that costs much, moved to another port. What they
//! still pass there counts, also where it does not bind today. Pure; `advice` calls it.

use super::advice::{Facts, Foretell, KnownWall, Link, SuggestedLayout, Suggestion, WORTH_MOVING};

/// A set that fills a link to this part is held back by it.
const FULL: f64 = 0.98;
/// What was seen to pass more than it is said to carry is not believed.
const BELIEVED: f64 = 1.02;

/// The same machine with some targets elsewhere.
struct Moved {
    targets: Vec<usize>,
    /// Walls and links, as limits.
    limits: Vec<KnownWall>,
    sum_bytes_per_s: f64,
}

/// Members of the wall that costs most, moved out of it one by one as long as that pays.
pub(super) fn elsewhere(facts: &Facts, foretell: &Foretell<'_>, now: f64) -> Option<Suggestion> {
    let walls = facts.walls.iter().filter(|wall| wall.is_of_places);
    let moves = walls.filter_map(|wall| Some((wall, out_of(wall, facts, foretell, now)?)));
    let most = |one: &(&KnownWall, Moved), other: &(&KnownWall, Moved)| {
        one.1.sum_bytes_per_s.total_cmp(&other.1.sum_bytes_per_s)
    };
    let (wall, moved) = moves.max_by(most)?;
    let sum = moved.sum_bytes_per_s;
    if sum < now * (1.0 + WORTH_MOVING) {
        return None;
    }
    let (is_at_most, words) = bound(wall, &moved, facts, foretell);
    let gain = (sum / now - 1.0) * 100.0;
    let up_to = if is_at_most { "up to " } else { "" };
    Some(Suggestion {
        layout: SuggestedLayout::Independent,
        order: facts.hang.clone(),
        leave_out: Vec::new(),
        why: format!(
            "with {} on another port or disk that has room, the wall binds less: {up_to}{gain:.0} % \
             more{words}",
            facts.list(&moved.targets)
        ),
        move_elsewhere: moved.targets,
        expected_bytes_per_s: sum,
        is_at_most,
    })
}

fn out_of(wall: &KnownWall, facts: &Facts, foretell: &Foretell<'_>, now: f64) -> Option<Moved> {
    let mut limits = facts.walls.clone();
    limits.extend(
        facts
            .links
            .iter()
            .filter_map(|link| as_limit(link, facts, foretell)),
    );
    let mut moved = Moved {
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
        let sum_bytes_per_s = foretell(&limits, &facts.hang);
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

/// A link of known rate, unless more was seen to pass it.
fn as_limit(link: &Link, facts: &Facts, foretell: &Foretell<'_>) -> Option<KnownWall> {
    let rate = link.rate_bytes_per_s?;
    let passed = foretell(&facts.walls, &link.members);
    (passed <= rate * BELIEVED).then(|| KnownWall {
        members: link.members.clone(),
        limit_bytes_per_s: rate,
        collapses_to_bytes_per_s: None,
        is_of_places: false,
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

/// Whether the sum is only the most that can come, and words on what holds it.
fn bound(
    wall: &KnownWall,
    moved: &Moved,
    facts: &Facts,
    foretell: &Foretell<'_>,
) -> (bool, String) {
    // What the targets that move share with others wherever they hang.
    let is_outer = |link: &&Link| {
        link.members.len() > wall.members.len()
            && wall
                .members
                .iter()
                .all(|member| link.members.contains(member))
    };
    let outer: Vec<&Link> = facts.links.iter().filter(is_outer).collect();
    let is_full = |link: &&&Link| {
        let fills = |rate| foretell(&moved.limits, &link.members) >= FULL * rate;
        link.rate_bytes_per_s.is_some_and(fills)
    };
    if let Some(full) = outer.iter().find(is_full) {
        let carries = if full.is_exact {
            "is full then"
        } else {
            "is full then, and links carry somewhat less than they are said to"
        };
        return (!full.is_exact, format!("; {} {carries}", full.name));
    }
    let is_unknown = |link: &&&Link| link.rate_bytes_per_s.is_none();
    match outer.iter().find(is_unknown) {
        Some(unknown) => {
            let words = format!(
                ", unless {}, which was not reached and carries an unknown rate, holds them sooner",
                unknown.name
            );
            (true, words)
        }
        None => (false, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four disks of 100 MB/s behind a wall of 200, two more beside it, all behind `host`.
    fn facts(host: Option<f64>, is_exact: bool) -> Facts {
        let names: Vec<String> = (0..6).map(|disk| format!("d{disk}")).collect();
        Facts {
            names,
            alone: vec![100e6; 6],
            capacity_bytes: vec![None; 6],
            walls: vec![KnownWall {
                members: vec![0, 1, 2, 3],
                limit_bytes_per_s: 200e6,
                collapses_to_bytes_per_s: None,
                is_of_places: true,
            }],
            links: vec![Link {
                name: "host".to_owned(),
                members: (0..6).collect(),
                rate_bytes_per_s: host,
                is_exact,
            }],
            hang: (0..6).collect(),
            fastest: (Vec::new(), 0.0),
            record_bytes: 1 << 20,
        }
    }

    /// Disjoint walls, then those around them.
    fn foretell(limits: &[KnownWall], members: &[usize]) -> f64 {
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
        elsewhere(&facts(host, is_exact), &foretell, 400e6)
    }

    #[test]
    fn a_link_that_does_not_bind_today_binds_the_prediction() {
        let moved = moved(Some(450e6), true).unwrap();
        assert!(
            (moved.expected_bytes_per_s - 450e6).abs() < 1.0,
            "{moved:?}"
        );
        assert!(!moved.is_at_most && moved.why.ends_with("host is full then"));
    }

    #[test]
    fn a_link_with_little_room_is_worth_no_cables() {
        assert_eq!(moved(Some(410e6), true), None);
    }

    #[test]
    fn what_is_not_known_makes_an_upper_bound() {
        let moved = moved(None, false).unwrap();
        assert!(
            moved.is_at_most && moved.why.contains("unless host"),
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
