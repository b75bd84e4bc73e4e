//! A diagnosis' advice in lines and in a sentence.

use sustain_document::diagnose::{Advice, DiagnoseResult};
use sustain_document::vocabulary::LayoutKind;

use super::list;
use crate::format::{rate, size};
use crate::terminal::without_controls;

pub(super) fn advice_line(result: &DiagnoseResult, number: usize, advice: &Advice) -> String {
    let targets = if advice.move_elsewhere.is_empty() {
        &advice.order
    } else {
        &advice.move_elsewhere
    };
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let what = match (advice.layout, advice.chunk_bytes) {
        (LayoutKind::Stripe, Some(chunk_bytes)) => {
            format!("a stripe with chunks of {} over", size(chunk_bytes))
        }
        (LayoutKind::Span, _) => "one after the other (span):".to_owned(),
        _ if !advice.move_elsewhere.is_empty() => "other cables for".to_owned(),
        _ if targets.len() == 1 => "one target alone:".to_owned(),
        _ => "independent queues on".to_owned(),
    };
    let mut expected = rate(advice.expected_bytes_per_s);
    if advice.is_at_most {
        expected.insert_str(0, "at most ");
    } else if advice.is_at_least {
        expected.insert_str(0, "at least ");
    }
    let measured = advice
        .measured_bytes_per_s
        .map_or(String::new(), |measured| {
            format!(", {}", reached_words(result, advice, measured))
        });
    format!(
        "  {number}. {what} {}: {expected} expected{measured}; {}",
        list(&targets),
        without_controls(&advice.why)
    )
}

/// What advice reached when it was tried. With what was given back for pauses, that is no rate that
/// was measured.
fn reached_words(result: &DiagnoseResult, advice: &Advice, measured: f64) -> String {
    let Some(pauses) = &result.pauses else {
        return format!("{} measured", rate(measured));
    };
    let of_both = advice.order.len() == pauses.members.len()
        && advice
            .order
            .iter()
            .all(|name| pauses.members.contains(name));
    if of_both && advice.layout == LayoutKind::Independent {
        let with = rate(pauses.with_bytes_per_s);
        return format!("{} without stalls, {with} with them", rate(measured));
    }
    format!("{} without stalls", rate(measured))
}

/// The best advice with its rate.
pub(super) fn best_words(result: &DiagnoseResult, best: &Advice) -> String {
    let order: Vec<&str> = best.order.iter().map(String::as_str).collect();
    let order = list(&order);
    let what = match best.layout {
        LayoutKind::Independent if best.order.len() == 1 => format!("{order} alone"),
        LayoutKind::Independent => format!("independent queues on {order}"),
        LayoutKind::Stripe => format!("a stripe over {order}"),
        LayoutKind::Span => format!("one after the other (span): {order}"),
        other => format!("{other} on {order}"),
    };
    let reached = match (best.measured_bytes_per_s, best.is_at_most) {
        (Some(measured), _) => reached_words(result, best, measured),
        (None, true) => format!("at most {} expected", rate(best.expected_bytes_per_s)),
        (None, false) => format!("{} expected", rate(best.expected_bytes_per_s)),
    };
    let how = match best.layout {
        LayoutKind::Independent if best.order.len() > 1 && !result.plan.simulated => {
            "; a store that `sustain create` makes on them is written so"
        }
        _ => "",
    };
    format!("The best way to use them is {what} ({reached}){how}")
}
