//! What trials of the advice say about it: its rank, a subset that was faster, and walls that do
//! not explain what came. Pure; the run calls it after the trials.

use sustain_statistics::walls::{Findings, FoundWall, Unexplained, WallKind};

use super::advice::{split, weighed};
use super::reason::AdviceReason;
use super::suggestion::{SuggestedLayout, Suggestion};

/// Advice that, when tried, falls short of its expected rate by this part says so.
const NOT_HELD: f64 = 0.05;
/// A trial refutes a wall if its members exceed the limit by this part and by so many standard
/// deviations: as much as refutes it during the search.
const ABOVE_LIMIT: f64 = 0.01;
const ABOVE_DEVIATIONS: f64 = 4.0;

/// Sorts advice by the rate that it reached when tried, else by its expected rate; advice that
/// needs other cables stays last. If a trial refutes the advice, its reason says so.
pub(super) fn rank(advice: &mut [(Suggestion, Option<f64>)]) {
    for (suggestion, measured) in advice.iter_mut() {
        let expected = suggestion.expected_bytes_per_s;
        if let Some(measured) = measured.filter(|one| *one < expected * (1.0 - NOT_HELD)) {
            suggestion.why = AdviceReason::Refuted {
                measured_bytes_per_s: measured,
                expectation: Box::new(suggestion.why.clone()),
            };
        }
    }
    advice.sort_by(|(one, measured), (other, other_measured)| {
        let key = |suggestion: &Suggestion, measured: &Option<f64>| {
            let rate = measured.unwrap_or(suggestion.expected_bytes_per_s);
            weighed(suggestion, rate)
        };
        let is_moved = |suggestion: &Suggestion| !suggestion.move_elsewhere.is_empty();
        is_moved(one)
            .cmp(&is_moved(other))
            .then_with(|| key(other, other_measured).total_cmp(&key(one, measured)))
    });
}

/// Advice of independent queues that, when tried, gave less than another subset did: that subset,
/// as it was measured.
pub(super) fn faster_measured(
    tried: &Suggestion,
    measured: f64,
    resolution: f64,
    (fastest, most): &(Vec<usize>, f64),
) -> Option<(Suggestion, Option<f64>)> {
    let is_less = measured < most * (1.0 - resolution);
    if tried.layout != SuggestedLayout::Independent || !is_less {
        return None;
    }
    let all: Vec<usize> = [&tried.order[..], &tried.leave_out].concat();
    let (order, leave_out) = split(&all, |target| fastest.contains(&target));
    let suggestion = Suggestion {
        order,
        leave_out,
        expected_bytes_per_s: *most,
        why: AdviceReason::FastestMeasured,
        ..tried.clone()
    };
    Some((suggestion, Some(*most)))
}

/// The advice of independent queues that gave something else than was foretold when it was tried:
/// then the walls found do not explain all.
pub(super) fn missed(advice: &[(Suggestion, Option<f64>)], resolution: f64) -> Option<Unexplained> {
    advice.iter().find_map(|(suggestion, measured)| {
        let measured_bytes_per_s = (*measured)?;
        let expected_bytes_per_s = suggestion.expected_bytes_per_s;
        let off = (measured_bytes_per_s - expected_bytes_per_s).abs();
        let is_missed = off > expected_bytes_per_s * resolution.max(NOT_HELD);
        (suggestion.layout == SuggestedLayout::Independent && is_missed).then(|| {
            let mut members = suggestion.order.clone();
            members.sort_unstable();
            Unexplained {
                members,
                expected_bytes_per_s,
                measured_bytes_per_s,
            }
        })
    })
}

/// What a wall's members reached in a trial of the advice beyond its limit, which then is none.
pub(super) fn exceeded(
    advice: &[(Suggestion, Option<f64>)],
    findings: &Findings,
) -> Option<Unexplained> {
    // What a collapse lets through depends on how its members are driven, as in lockstep.
    let limits = findings.walls.iter();
    let mut limits = limits.filter(|wall| wall.kind != WallKind::Collapse);
    limits.find_map(|wall| {
        let mut trials = advice.iter();
        trials.find_map(|(suggestion, measured)| beyond(wall, suggestion, (*measured)?, findings))
    })
}

/// The trial's targets that are members of the wall, and their rate, if it is beyond its limit.
fn beyond(
    wall: &FoundWall,
    suggestion: &Suggestion,
    measured: f64,
    findings: &Findings,
) -> Option<Unexplained> {
    let is_member = |target: usize| wall.members.contains(&target);
    let (mut members, others) = split(&suggestion.order, is_member);
    let of_members = match suggestion.layout {
        SuggestedLayout::Stripe { .. } => {
            measured * members.len() as f64 / suggestion.order.len() as f64
        }
        // The others reach at most what they reach by themselves.
        SuggestedLayout::Independent => {
            let alone = others.iter().map(|target| findings.alone[*target]);
            measured - alone.sum::<Option<f64>>()?
        }
        SuggestedLayout::Span => return None,
    };
    let noise = findings.noise * measured / (suggestion.order.len() as f64).sqrt();
    let deviation = wall.deviation_bytes_per_s.hypot(noise);
    let limit = wall.limit_bytes_per_s;
    let highest = limit * (1.0 + ABOVE_LIMIT) + ABOVE_DEVIATIONS * deviation;
    members.sort_unstable();
    (of_members > highest).then_some(Unexplained {
        members,
        expected_bytes_per_s: limit,
        measured_bytes_per_s: of_members,
    })
}

#[cfg(test)]
mod tests {
    use sustain_statistics::walls::{SubsetDrift, WallState, WeakestEvidence};

    use super::*;

    const STRIPE: SuggestedLayout = SuggestedLayout::Stripe {
        chunk_bytes: 1 << 20,
    };

    fn wall(kind: WallKind) -> FoundWall {
        FoundWall {
            members: vec![0, 1, 2, 3],
            limit_bytes_per_s: 409e6,
            deviation_bytes_per_s: 0.5e6,
            kind,
            state: WallState::Confirmed,
            confidence: 0.99,
            headroom: 0.03,
            weakest: WeakestEvidence {
                member: None,
                margin: 9.0,
                subset: vec![0, 1, 2, 3],
            },
            at_full_load_bytes_per_s: None,
            missed_revolutions: false,
            prediction: None,
            shares: Vec::new(),
        }
    }

    /// One wall of the first four of five targets that reach 105 MB/s each.
    fn findings(kind: WallKind) -> Findings {
        Findings {
            alone: vec![Some(105e6); 5],
            together: None,
            walls: vec![wall(kind)],
            measurements: Vec::new(),
            dropped: Vec::new(),
            drift: SubsetDrift::default(),
            resolution: 0.015,
            noise: 0.003,
            scatter: None,
            too_noisy: None,
            unexplained: None,
            complete: true,
            order_known: true,
        }
    }

    /// What the members of the wall are said to reach beyond it after a trial of this advice.
    fn beyond_by(
        kind: WallKind,
        layout: SuggestedLayout,
        order: &[usize],
        measured: f64,
    ) -> Option<f64> {
        let why = AdviceReason::NothingShared;
        let tried = Suggestion::of_all(layout, order.to_vec(), measured, why);
        let exceeded = exceeded(&[(tried, Some(measured))], &findings(kind));
        exceeded.map(|one| one.measured_bytes_per_s)
    }

    #[test]
    fn a_trial_beyond_a_limit_refutes_it_and_one_within_the_noise_does_not() {
        let of_all = |measured| beyond_by(WallKind::Limit, STRIPE, &[3, 0, 2, 1], measured);
        assert_eq!(of_all(419e6), Some(419e6));
        assert_eq!(of_all(412e6), None);
        assert_eq!(of_all(380e6), None);
    }

    #[test]
    fn what_targets_outside_a_wall_reach_does_not_count_against_its_limit() {
        let all = [0, 1, 2, 3, 4];
        let independent = SuggestedLayout::Independent;
        let of = |layout, measured| beyond_by(WallKind::Limit, layout, &all, measured);
        assert_eq!(of(STRIPE, 510e6), None);
        assert_eq!(of(STRIPE, 525e6), Some(420e6));
        assert_eq!(of(independent, 514e6), None);
        assert_eq!(of(independent, 525e6), Some(420e6));
    }

    #[test]
    fn lockstep_above_a_collapse_does_not_refute_it() {
        assert_eq!(
            beyond_by(WallKind::Collapse, STRIPE, &[0, 1, 2, 3], 419e6),
            None
        );
    }
}
