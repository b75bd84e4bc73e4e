//! Advises what to do about the walls: independent queues, a stripe or a span, of which targets, in
//! which order, and what another port would bring. Pure; the run tries the advice afterwards where
//! that is cheap.

use super::elsewhere::elsewhere;
use super::reason::{AdviceReason, LockstepLoss, WallPlace};
use super::suggestion::{
    AdviceBasis, KnownWall, NOT_PREDICTED, Predict, SuggestedLayout, Suggestion, WORTH_MOVING,
};

/// A target that adds less than this part of the sum may as well be left out.
const ADDS_NOTHING: f64 = 0.01;
/// A loss of a stripe to its slowest member that is smaller than this is not mentioned.
const LOSES_NOTHING: f64 = 0.02;

/// What a rate is worth in this layout.
pub(super) fn weighed(suggestion: &Suggestion, rate: f64) -> f64 {
    match (suggestion.layout, suggestion.order.len()) {
        // One target alone reaches no more than a span, which uses them all.
        (SuggestedLayout::Independent, 1) => rate * (1.0 - WORTH_MOVING),
        // Because of its lockstep, a stripe is never worth as much as its rate.
        (SuggestedLayout::Stripe { .. }, _) => rate * (1.0 - 2.0 * ADDS_NOTHING),
        _ => rate,
    }
}

/// All advice, the highest expected rate first; advice that needs other cables comes last.
pub(super) fn advise(facts: &AdviceBasis, predict: &Predict<'_>) -> Vec<Suggestion> {
    let independent = independent(facts, predict);
    let stripe = stripe(facts, &independent);
    let span = span(facts, &independent);
    let moved = elsewhere(facts, predict, independent.expected_bytes_per_s);
    let mut suggestions = vec![independent, stripe, span];
    let rank = |suggestion: &Suggestion| weighed(suggestion, suggestion.expected_bytes_per_s);
    suggestions.sort_by(|one, other| rank(other).total_cmp(&rank(one)));
    suggestions.extend(moved);
    suggestions
}

fn independent(facts: &AdviceBasis, predict: &Predict<'_>) -> Suggestion {
    let all = &facts.hang;
    let of_kept = |kept: &[usize]| split(all, |target| kept.contains(&target));
    let layout = SuggestedLayout::Independent;
    let suggestion = |(order, leave_out), expected_bytes_per_s, why| Suggestion {
        leave_out,
        ..Suggestion::of_all(layout, order, expected_bytes_per_s, why)
    };
    let (fastest, measured) = &facts.fastest;
    let falls = |wall: &KnownWall| wall.collapses_to_bytes_per_s.is_some();
    if facts.walls.iter().any(falls) {
        let (order, leave_out) = of_kept(fastest);
        let why = if leave_out.is_empty() {
            AdviceReason::MostWithAll {
                fall: facts.named_fall(),
            }
        } else {
            AdviceReason::MostOfSubsets {
                kept: facts.named(&order),
            }
        };
        return suggestion((order, leave_out), *measured, why);
    }
    if facts.has_uncertain_walls() {
        let (kept, sum_bytes_per_s) = facts.most_measured();
        let why = AdviceReason::OnlyMeasured;
        return suggestion(of_kept(kept), sum_bytes_per_s, why);
    }
    let sum = predict(&facts.walls, all);
    let kept = without_idlers(facts, predict, sum);
    let expected = predict(&facts.walls, &kept);
    if *measured > expected * (1.0 + NOT_PREDICTED) {
        let why = AdviceReason::FasterThanPredicted;
        return suggestion(of_kept(fastest), *measured, why);
    }
    let (order, leave_out) = of_kept(&kept);
    let why = if facts.walls.is_empty() {
        AdviceReason::NothingShared
    } else if leave_out.is_empty() {
        AdviceReason::EachByItself
    } else {
        AdviceReason::OthersReachTheWall {
            idle: facts.named(&leave_out),
        }
    };
    suggestion((order, leave_out), expected, why)
}

/// All targets except those that add nothing: leaving out each is tried, the slowest first.
fn without_idlers(facts: &AdviceBasis, predict: &Predict<'_>, sum: f64) -> Vec<usize> {
    let mut kept = facts.hang.clone();
    let mut by_rate = kept.clone();
    by_rate.sort_by(|one, other| facts.alone[*one].total_cmp(&facts.alone[*other]));
    for target in by_rate {
        let rest: Vec<usize> = kept
            .iter()
            .copied()
            .filter(|kept| *kept != target)
            .collect();
        let enough = sum * (1.0 - ADDS_NOTHING);
        if !rest.is_empty() && predict(&facts.walls, &rest) >= enough {
            kept = rest;
        }
    }
    kept
}

/// In lockstep all targets run at one rate: that of the slowest, together with the others.
fn stripe(facts: &AdviceBasis, independent: &Suggestion) -> Suggestion {
    let all = interleaved(facts);
    let (mut rate, mut held_by) = (f64::INFINITY, WallPlace::Known(String::new()));
    for target in &all {
        if facts.alone[*target] < rate {
            rate = facts.alone[*target];
            held_by = WallPlace::Known(facts.names[*target].clone());
        }
    }
    for wall in facts.walls.iter().filter(|wall| wall.is_likely) {
        let capacity = wall
            .collapses_to_bytes_per_s
            .unwrap_or(wall.limit_bytes_per_s);
        let each = capacity / wall.members.len() as f64;
        if each < rate {
            rate = each;
            held_by = WallPlace::WallOf(facts.named(&wall.members));
        }
    }
    let mut expected_bytes_per_s = rate * all.len() as f64;
    let is_at_most = facts.has_uncertain_walls();
    if is_at_most {
        // In lockstep they reach no more than side by side.
        let together_bytes_per_s = facts.together_bytes_per_s.unwrap_or(f64::INFINITY);
        if together_bytes_per_s < expected_bytes_per_s {
            expected_bytes_per_s = together_bytes_per_s;
            rate = expected_bytes_per_s / all.len() as f64;
            held_by = WallPlace::WallOf(facts.named(&all));
        }
    }
    let loss = 1.0 - expected_bytes_per_s / independent.expected_bytes_per_s;
    let why = AdviceReason::Lockstep {
        each_bytes_per_s: rate,
        loss: (loss >= LOSES_NOTHING).then_some(LockstepLoss {
            held_by,
            queues_on: match independent.leave_out.as_slice() {
                [] => Vec::new(),
                _ => facts.named(&independent.order),
            },
            queues_bytes_per_s: independent.expected_bytes_per_s,
            share: loss,
        }),
    };
    let layout = SuggestedLayout::Stripe {
        chunk_bytes: facts.record_bytes,
    };
    Suggestion {
        is_at_most,
        ..Suggestion::of_all(layout, all, expected_bytes_per_s, why)
    }
}

/// Uses one target after the other, each alone.
fn span(facts: &AdviceBasis, independent: &Suggestion) -> Suggestion {
    let mut order = facts.hang.clone();
    order.sort_by(|one, other| facts.alone[*other].total_cmp(&facts.alone[*one]));
    // If sizes are not known, each target counts alike.
    let sizes = |target: &usize| facts.capacity_bytes[*target].unwrap_or(1) as f64;
    let bytes: f64 = order.iter().map(sizes).sum();
    let seconds: f64 = order
        .iter()
        .map(|target| sizes(target) / facts.alone[*target])
        .sum();
    let expected_bytes_per_s = bytes / seconds;
    let slowest = order.last().map_or(0.0, |target| facts.alone[*target]);
    let gain = independent.expected_bytes_per_s / expected_bytes_per_s - 1.0;
    let at_limit: Vec<usize> = order
        .iter()
        .copied()
        .filter(|target| {
            facts
                .walls
                .iter()
                .any(|wall| facts.fills_alone(*target, wall))
        })
        .collect();
    let why = AdviceReason::OneAfterTheOther {
        slowest_bytes_per_s: slowest,
        at_limit: facts.named(&at_limit),
        all_at_once_gain: (gain >= WORTH_MOVING).then_some(gain),
    };
    Suggestion::of_all(SuggestedLayout::Span, order, expected_bytes_per_s, why)
}

/// The targets in an order in which neighbours in a stripe share no wall, where that is possible.
fn interleaved(facts: &AdviceBasis) -> Vec<usize> {
    let innermost = |target: usize| {
        let walls = facts.walls.iter().enumerate();
        let own = walls.filter(|(_, wall)| wall.members.contains(&target));
        let tightest = own.min_by_key(|(_, wall)| wall.members.len());
        // Targets without a wall are groups of their own.
        tightest.map_or(facts.walls.len() + target, |(index, _)| index)
    };
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    for &target in &facts.hang {
        let key = innermost(target);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(target),
            None => groups.push((key, vec![target])),
        }
    }
    let longest = groups.iter().map(|(_, members)| members.len()).max();
    (0..longest.unwrap_or(0))
        .flat_map(|round| {
            let of_round = move |(_, members): &(usize, Vec<usize>)| members.get(round).copied();
            groups.iter().filter_map(of_round)
        })
        .collect()
}

pub(super) fn split(all: &[usize], keep: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<usize>) {
    all.iter().copied().partition(|target| keep(*target))
}

#[cfg(test)]
mod tests {
    use super::super::diagnosis_words;
    use super::super::fall::SeenFall;
    use super::*;

    /// The rank of nested walls: children first.
    fn predict(alone: &[f64]) -> impl Fn(&[KnownWall], &[usize]) -> f64 {
        move |walls, members| {
            let mut parts: Vec<(Vec<usize>, f64)> = members
                .iter()
                .map(|member| (vec![*member], alone[*member]))
                .collect();
            let mut walls = walls.to_vec();
            walls.sort_by_key(|wall| wall.members.len());
            for wall in walls {
                let inside = |(part, _): &(Vec<usize>, f64)| wall.members.contains(&part[0]);
                let (own, rest): (Vec<_>, Vec<_>) = parts.into_iter().partition(inside);
                parts = rest;
                let sum: f64 = own.iter().map(|(_, rate)| rate).sum();
                let all: Vec<usize> = own.into_iter().flat_map(|(part, _)| part).collect();
                if !all.is_empty() {
                    parts.push((all, sum.min(wall.limit_bytes_per_s)));
                }
            }
            parts.iter().map(|(_, rate)| rate).sum()
        }
    }

    fn wall(members: &[usize], limit_mb_per_s: f64) -> KnownWall {
        KnownWall {
            place: None,
            members: members.to_vec(),
            limit_bytes_per_s: limit_mb_per_s * 1e6,
            collapses_to_bytes_per_s: None,
            is_of_places: true,
            is_likely: true,
        }
    }

    fn facts(alone_mb_per_s: &[f64], walls: Vec<KnownWall>) -> AdviceBasis {
        let count = alone_mb_per_s.len();
        AdviceBasis {
            names: (0..count).map(|target| format!("d{target}")).collect(),
            alone: alone_mb_per_s.iter().map(|rate| rate * 1e6).collect(),
            capacity_bytes: vec![Some(1_000_000_000_000); count],
            walls,
            links: Vec::new(),
            hang: (0..count).collect(),
            fastest: ((0..count).collect(), 0.0),
            together_bytes_per_s: None,
            fall: None,
            record_bytes: 1 << 20,
        }
    }

    fn advice(facts: &AdviceBasis) -> Vec<Suggestion> {
        advise(facts, &predict(&facts.alone))
    }

    fn of(advice: &[Suggestion], wanted: fn(&Suggestion) -> bool) -> &Suggestion {
        advice.iter().find(|found| wanted(found)).unwrap()
    }

    fn is_stripe(suggestion: &Suggestion) -> bool {
        matches!(suggestion.layout, SuggestedLayout::Stripe { .. })
    }

    fn is_moved(suggestion: &Suggestion) -> bool {
        !suggestion.move_elsewhere.is_empty()
    }

    #[test]
    fn disks_that_share_nothing_are_all_used_by_themselves() {
        let advice = advice(&facts(&[100.0, 100.0, 100.0], Vec::new()));
        assert_eq!(advice[0].layout, SuggestedLayout::Independent);
        assert_eq!((advice[0].order.len(), advice[0].leave_out.len()), (3, 0));
        assert!((advice[0].expected_bytes_per_s - 300e6).abs() < 1.0);
        assert!(!advice.iter().any(is_moved));
    }

    #[test]
    fn disks_that_only_wait_at_a_wall_are_left_out_and_would_help_elsewhere() {
        let facts = facts(&[100.0; 4], vec![wall(&[0, 1, 2, 3], 200.0)]);
        let advice = advice(&facts);
        assert_eq!(advice[0].leave_out.len(), 2, "{advice:?}");
        assert!((advice[0].expected_bytes_per_s - 200e6).abs() < 1.0);
        let moved = of(&advice, is_moved);
        assert_eq!(moved.move_elsewhere.len(), 2);
        assert!((moved.expected_bytes_per_s - 400e6).abs() < 1.0);
    }

    #[test]
    fn nothing_is_predicted_by_a_limit_that_is_not_certain() {
        let mut uncertain = wall(&[0, 1, 2, 3], 200.0);
        uncertain.is_likely = false;
        let mut facts = facts(&[100.0; 4], vec![uncertain]);
        facts.fastest = (vec![0, 1, 3], 252e6);
        facts.together_bytes_per_s = Some(250e6);
        let advice = advice(&facts);
        assert_eq!(advice[0].layout, SuggestedLayout::Independent);
        assert_eq!(advice[0].order, [0, 1, 2, 3]);
        assert_eq!(advice[0].expected_bytes_per_s, 250e6);
        assert!(!advice.iter().any(is_moved), "{advice:?}");
        let stripe = of(&advice, is_stripe);
        assert_eq!(
            (stripe.expected_bytes_per_s, stripe.is_at_most),
            (250e6, true)
        );
    }

    #[test]
    fn other_places_are_no_help_against_the_tools_own_limit() {
        let mut of_tool = wall(&[0, 1, 2, 3], 200.0);
        of_tool.is_of_places = false;
        let advice = advice(&facts(&[100.0; 4], vec![of_tool]));
        assert!(!advice.iter().any(is_moved), "{advice:?}");
    }

    #[test]
    fn a_stripe_loses_to_its_slowest_member_and_says_to_whom() {
        let facts = facts(&[100.0, 100.0, 30.0, 100.0], Vec::new());
        let advice = advice(&facts);
        let stripe = of(&advice, is_stripe);
        assert!((stripe.expected_bytes_per_s - 120e6).abs() < 1.0);
        let why = diagnosis_words::advice(&stripe.why);
        assert!(why.contains("held back by d2"), "{why}");
        let than = "64 % less than the 330 MB/s of independent queues";
        assert!(why.ends_with(than), "{why}");
    }

    #[test]
    fn what_a_stripe_loses_is_told_with_the_queues_that_it_is_compared_with() {
        let mut collapse = wall(&[0, 1, 2, 3], 100.0);
        collapse.collapses_to_bytes_per_s = Some(60e6);
        let facts = AdviceBasis {
            fastest: (vec![0], 100e6),
            fall: Some(SeenFall {
                members: vec![0, 1, 2, 3],
                sum: 60e6,
                fewer: vec![0],
                fewer_sum: 100e6,
            }),
            ..facts(&[100.0; 4], vec![collapse])
        };
        let advice = advice(&facts);
        let stripe = of(&advice, is_stripe);
        assert!((stripe.expected_bytes_per_s - 60e6).abs() < 1.0);
        let why = diagnosis_words::advice(&stripe.why);
        let than = "40 % less than the 100 MB/s of independent queues on d0";
        assert!(why.ends_with(than), "{why}");
    }

    #[test]
    fn a_stripes_neighbours_share_no_wall() {
        let walls = vec![wall(&[0, 1], 150.0), wall(&[2, 3], 150.0)];
        let facts = facts(&[100.0; 4], walls);
        let advice = advice(&facts);
        assert_eq!(of(&advice, is_stripe).order, [0, 2, 1, 3]);
    }

    #[test]
    fn where_all_at_once_fall_below_one_a_span_comes_first() {
        let mut collapsing = wall(&[0, 1, 2, 3], 36.0);
        collapsing.collapses_to_bytes_per_s = Some(20.0e6);
        let mut facts = facts(&[35.0; 4], vec![collapsing]);
        facts.fastest = (vec![0], 35.0e6);
        let advice = advice(&facts);
        assert_eq!(advice[0].layout, SuggestedLayout::Span);
        assert!((advice[0].expected_bytes_per_s - 35e6).abs() < 1.0);
        assert_eq!(advice[1].layout, SuggestedLayout::Independent);
        assert_eq!(advice[1].leave_out, [1, 2, 3]);
        let stripe = of(&advice, is_stripe);
        assert!((stripe.expected_bytes_per_s - 20e6).abs() < 1.0);
    }

    #[test]
    fn a_sum_that_falls_and_rises_again_is_not_said_to_fall_with_all() {
        let mut collapsing = wall(&[0, 1, 2, 3], 58.6);
        collapsing.collapses_to_bytes_per_s = Some(58.6e6);
        let mut facts = facts(&[35.0; 4], vec![collapsing]);
        facts.fastest = (vec![0, 1, 2, 3], 58.6e6);
        facts.fall = Some(SeenFall {
            members: vec![0, 1],
            sum: 33.1e6,
            fewer: vec![0],
            fewer_sum: 35.0e6,
        });
        let why = diagnosis_words::advice(&advice(&facts)[0].why);
        assert_eq!(
            why,
            "all of them together reached the most that was measured, though d0, d1 reached less \
             together than d0 (33.1 MB/s against 35.0 MB/s)"
        );
    }
}
