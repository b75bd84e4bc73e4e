//! What a diagnosis would have shown with the pauses of targets included. Its rates are without
//! them, so that no pause is taken for a limit, and a reader who records needs both. Pure;
//! `conclude` and the remarks call it.

use sustain_document::diagnose::PausedRates;

use super::diagnosed::Diagnosed;
use super::sums::sums;

/// Pauses that take less than this part of a rate are not told.
const REPORTED_SHARE: f64 = 0.03;

/// What pauses took from all targets together, or else from the subset that lost most by them.
pub(super) fn paused_rates(diagnosed: &Diagnosed<'_>) -> Option<PausedRates> {
    let sums = sums(&diagnosed.findings);
    let alive = diagnosed.targets - diagnosed.findings.dropped.len();
    let parts = diagnosed.parts_with_pauses.iter();
    let reported = parts.filter_map(|(members, parts)| {
        let part = parts.iter().sum::<f64>() / parts.len() as f64;
        let without_bytes_per_s = *sums.get(&members[..])?;
        let is_reported = part < 1.0 - REPORTED_SHARE;
        is_reported.then_some((members, part, without_bytes_per_s))
    });
    let order = |(members, part, _): &(&Vec<usize>, f64, f64)| (members.len() != alive, *part);
    let (members, part, without_bytes_per_s) = reported.min_by(|one, other| {
        let (one, other) = (order(one), order(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    })?;
    Some(PausedRates {
        members: diagnosed.names(members),
        without_bytes_per_s,
        with_bytes_per_s: without_bytes_per_s * part,
    })
}
