//! What trials of the advice say about it: its rank, a subset that was faster, and walls that do
//! not explain what came. Pure; the run calls it after the trials.

use sustain_statistics::walls::Unexplained;

use super::advice::{split, weighed};
use super::reason::AdviceReason;
use super::suggestion::{SuggestedLayout, Suggestion};

/// Advice that, when tried, falls short of its expected rate by this part says so.
const NOT_HELD: f64 = 0.05;

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
