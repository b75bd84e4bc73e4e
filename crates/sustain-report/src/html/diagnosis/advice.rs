//! Draws the advice, the best first: each piece of advice with the expected and the measured rate,
//! to one scale. The section of a diagnosis calls it; it ranks nothing itself.

use sustain_document::diagnose::Advice;
use sustain_document::vocabulary::LayoutKind;

use super::super::escape;
use super::super::table::glued;
use super::facts::DiagnosisPicture;
use super::walls::rate_bars;
use crate::format::size;

/// The list with its heading; empty without advice.
pub(super) fn advice(facts: &DiagnosisPicture<'_>) -> String {
    let all = &facts.result.advice;
    if all.is_empty() {
        return String::new();
    }
    let rates = all.iter().flat_map(|advice| {
        let measured = advice.measured_bytes_per_s.unwrap_or(0.0);
        [advice.expected_bytes_per_s, measured]
    });
    let most = rates.fold(1.0, f64::max);
    let items: String = all.iter().map(|advice| item(facts, advice, most)).collect();
    format!(
        "<h2>What to do (best first; other cables last)</h2>\n\
         <ol class=\"advice\">\n{items}</ol>\n"
    )
}

fn item(facts: &DiagnosisPicture<'_>, advice: &Advice, most: f64) -> String {
    let expected = if advice.is_at_most {
        "at most"
    } else if advice.is_at_least {
        "at least"
    } else {
        "expected"
    };
    let mut bars = vec![(expected, advice.expected_bytes_per_s, "alone".to_owned())];
    if let Some(measured) = advice.measured_bytes_per_s {
        // What was given back for pauses is not what was measured.
        let found = match facts.result.pauses {
            None => "measured",
            Some(_) => "no stalls",
        };
        bars.push((found, measured, "tried".to_owned()));
    }
    let left_out = if advice.leave_out.is_empty() {
        String::new()
    } else {
        format!("Leave out {}. ", facts.list(&advice.leave_out))
    };
    format!(
        "<li><h3>{}</h3>\n{}<p>{}</p>\n</li>\n",
        escape::text(&glued(&what(facts, advice))),
        rate_bars(&bars, most),
        escape::text(&glued(&format!("{left_out}{}", advice.why))),
    )
}

fn what(facts: &DiagnosisPicture<'_>, advice: &Advice) -> String {
    let order = facts.list(&advice.order);
    match (advice.layout, advice.chunk_bytes) {
        (LayoutKind::Stripe, Some(chunk_bytes)) => {
            format!("A stripe with chunks of {} over {order}", size(chunk_bytes))
        }
        (LayoutKind::Stripe, None) => format!("A stripe over {order}"),
        (LayoutKind::Span, _) => format!("One after the other (span): {order}"),
        (LayoutKind::Independent, _) if !advice.move_elsewhere.is_empty() => {
            let from = advice.moved_from.as_deref();
            format!(
                "Other cables: {} away from {}",
                facts.list(&advice.move_elsewhere),
                from.unwrap_or("the wall")
            )
        }
        (LayoutKind::Independent, _) => format!("Independent queues on {order}"),
        (other, _) => format!("{other}: {order}"),
    }
}
