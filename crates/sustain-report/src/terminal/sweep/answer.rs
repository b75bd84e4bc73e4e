//! The answer of a sweep in sentences: what was not tried, the best and the cheapest setting, and
//! the effect of each axis.

use std::fmt::Write as _;

use sustain_document::sweep::{
    AgainstBest, Axis, SweepAnswer, SweepAxis, SweepPoint, SweepResult, SweepValue,
};
use sustain_document::vocabulary::{Direction, ExperimentEnd, LayoutKind};
use sustain_experiments::sweep::is_as_good_in_document;

use super::point::{cell, is_undecided, rate_with_interval, undecided_words};
use crate::format::rate;

/// The number of untried values of an axis that are named one by one.
const UNTRIED_MAX: usize = 8;

/// The restrictions on the answer as a whole. The page begins with these words too.
pub(crate) fn restrictions(result: &SweepResult) -> Vec<String> {
    let mut lines = Vec::new();
    if result.ended == ExperimentEnd::Interrupted {
        lines.push(interrupted(result));
    }
    if result.answers.is_empty() {
        lines.push("Nothing was measured.".to_owned());
    }
    lines
}

/// The settings that were not tried before the sweep was interrupted.
fn interrupted(result: &SweepResult) -> String {
    let all = result.points.len();
    let is_untried = |point: &&SweepPoint| point.repeats == 0 && point.failed.is_none();
    let untried: Vec<&SweepPoint> = result.points.iter().filter(is_untried).collect();
    let Some(first) = untried.first() else {
        return "The sweep was interrupted: every setting was tried, but not each as often as was \
                asked."
            .to_owned();
    };
    let were = if untried.len() == 1 { "was" } else { "were" };
    let mut line = format!(
        "The sweep was interrupted, and the answer rests on what was measured until then: {} of \
         {all} settings {were} not tried, such as {}",
        untried.len(),
        first.setting.words
    );
    let whole: Vec<String> = result
        .plan
        .axes
        .iter()
        .filter_map(|axis| untried_values(result, *axis))
        .collect();
    if !whole.is_empty() && untried.len() < all {
        let _ = write!(line, "; not tried in any setting: {}", whole.join("; "));
    }
    line.push('.');
    line
}

/// The values of an axis with which no setting was tried.
fn untried_values(result: &SweepResult, axis: Axis) -> Option<String> {
    let mut values: Vec<(String, bool)> = Vec::new();
    for point in &result.points {
        let value = cell(&point.setting, axis);
        let is_tried = point.repeats > 0 || point.failed.is_some();
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, known)) => *known |= is_tried,
            None => values.push((value, is_tried)),
        }
    }
    values.retain(|(value, is_tried)| !is_tried && !value.is_empty());
    let values: Vec<String> = values.into_iter().map(|(value, _)| value).collect();
    let more = values.len().saturating_sub(UNTRIED_MAX);
    let shown = values.iter().take(UNTRIED_MAX).cloned();
    let shown: Vec<String> = shown.collect();
    let and_more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let name = axis.name().replace('_', " ");
    (!shown.is_empty()).then(|| format!("{name} {}{and_more}", shown.join(", ")))
}

/// The best setting, then, indented, the cheapest and each axis. The page has the same words.
pub(crate) fn answer_lines(result: &SweepResult, answer: &SweepAnswer) -> Vec<String> {
    let mut lines = vec![best_line(result, answer), cheapest_line(result, answer)];
    let (free, other): (Vec<_>, Vec<_>) = answer.axes.iter().partition(|axis| is_free(axis));
    for axis in other {
        lines.push(axis_line(result, axis));
        lines.extend(layouts_line(axis));
    }
    lines.extend(free_axes_line(&free, answer.axes.len()));
    lines.extend(free.into_iter().filter_map(layouts_line));
    lines
}

/// What the layouts mean that were compared, for a reader who chooses one of them.
fn layouts_line(axis: &SweepAxis) -> Option<String> {
    if axis.axis != Axis::Layout {
        return None;
    }
    let layouts = axis
        .values
        .iter()
        .filter_map(|value| value.value.parse().ok());
    let meanings: Vec<String> = layouts
        .map(|layout: LayoutKind| format!("{layout}: {}", meaning(layout)))
        .collect();
    (!meanings.is_empty()).then(|| format!("    {}", meanings.join("; ")))
}

/// How a layout uses its targets.
fn meaning(layout: LayoutKind) -> &'static str {
    match layout {
        LayoutKind::Independent => "each target has its own queue",
        LayoutKind::Turns => "each target is given a record when it is its turn",
        LayoutKind::Stripe => "chunks go to all targets in turn",
        LayoutKind::Span => "one target is filled after the other",
        LayoutKind::MdRaid0 => "an array of the kernel that does what a stripe does",
    }
}

/// What a direction is called in a sentence.
pub(crate) fn doing(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "reading",
        _ => "writing",
    }
}

fn best_line(result: &SweepResult, answer: &SweepAnswer) -> String {
    let best = &result.points[answer.best];
    let found = format!("{}: {}", best.setting.words, rate_with_interval(best));
    let mut line = match unmeasured_words(result, answer) {
        None => format!(
            "The best setting for {} is {found}.",
            doing(answer.direction)
        ),
        Some(unmeasured) => format!(
            "Of the settings that were measured, the best for {} is {found}{unmeasured}.",
            doing(answer.direction)
        ),
    };
    match answer.alike.len() {
        0 => {}
        1 => line.push_str(" One other setting does not differ from it by more than noise."),
        alike => {
            let _ = write!(
                line,
                " {alike} other settings do not differ from it by more than noise."
            );
        }
    }
    let undecided = &answer.measured_once;
    let is_once = undecided
        .iter()
        .all(|point| result.points[*point].repeats < 2);
    let how = match is_once {
        true => "measured once",
        false => "measured too few times for their noise",
    };
    match undecided.len() {
        0 => {}
        1 => {
            let _ = write!(
                line,
                " One other setting was {}, so its difference cannot be told from noise.",
                how.replace("their", "its")
            );
        }
        several => {
            let _ = write!(
                line,
                " {several} other settings were {how}, so their differences cannot be told from \
                 noise."
            );
        }
    }
    line
}

/// The values that nothing was measured with in this direction, because the points were too short
/// for them; none if all settings were measured. The notes say what would show them.
fn unmeasured_words(result: &SweepResult, answer: &SweepAnswer) -> Option<String> {
    let mut left_out = result.left_out.iter();
    let longer = left_out.find_map(|left_out| {
        let is_of = left_out.first.direction == answer.direction;
        left_out.longer.as_ref().filter(|_| is_of)
    })?;
    Some(match longer.unmeasured.as_slice() {
        [] => String::new(),
        values => format!("; none with {} was measured", values.join("; ")),
    })
}

fn cheapest_line(result: &SweepResult, answer: &SweepAnswer) -> String {
    if answer.cheapest == answer.best {
        return "  No setting within 2 % of it is cheaper (less depth; among equals less CPU time, \
                then less memory)."
            .to_owned();
    }
    let (best, cheapest) = (&result.points[answer.best], &result.points[answer.cheapest]);
    let against = cheapest.against_best.as_ref();
    let mut line = format!(
        "  The cheapest setting within 2 % of it (the least depth; among equals the least CPU \
         time, then memory) is {}: {}, {}",
        cheapest.setting.words,
        rate_with_interval(cheapest),
        against.map_or(String::new(), |against| against_words(cheapest, against))
    );
    if let (Some(one), Some(other)) = (cheapest.cpu_seconds_per_gb, best.cpu_seconds_per_gb) {
        let _ = write!(
            line,
            "; it takes {one:.3} s of CPU time per GB, the best {other:.3} s"
        );
    }
    line.push('.');
    line
}

fn name(axis: &SweepAxis) -> String {
    axis.axis.name().replace('_', " ")
}

fn is_as_good(value: &SweepValue) -> bool {
    is_as_good_in_document(&value.against_best)
}

/// Whether any value of an axis will do. Each is judged with the values of the other axes that suit
/// it best.
fn is_free(axis: &SweepAxis) -> bool {
    axis.values.iter().all(is_as_good)
}

/// The axes of which any value will do, if there are some, of so many in all.
fn free_axes_line(axes: &[&SweepAxis], all: usize) -> Option<String> {
    let names: Vec<String> = axes.iter().map(|axis| name(axis)).collect();
    let with = match all {
        1 => "",
        _ => ", where the others suit it",
    };
    (!names.is_empty()).then(|| {
        format!(
            "  {}: each value comes within 2 % of the best{with}",
            names.join(" and ")
        )
    })
}

/// The values of an axis of which some are slower.
fn axis_line(result: &SweepResult, axis: &SweepAxis) -> String {
    let value = |value: &SweepValue| {
        let point = &result.points[value.point];
        let found = point.rate_bytes_per_s.map_or(String::new(), rate);
        let against = &value.against_best;
        let mark = match (is_as_good(value), against.is_noise) {
            (true, _) => String::new(),
            (false, true) if is_undecided(against) => format!(" ({})", undecided_words(point)),
            (false, true) => " (may be noise)".to_owned(),
            (false, false) => " (slower)".to_owned(),
        };
        format!("{} {found}{mark}", value.value)
    };
    let values: Vec<String> = axis.values.iter().map(value).collect();
    format!("  {}: {}", name(axis), values.join(", "))
}

fn against_words(point: &SweepPoint, against: &AgainstBest) -> String {
    if is_undecided(against) {
        return undecided_words(point).to_owned();
    }
    if against.is_noise {
        return "no different from the best beyond noise".to_owned();
    }
    let interval = against.ci95.map_or(String::new(), |[low, high]| {
        format!(" ({:+.1} to {:+.1} %)", hundredths(low), hundredths(high))
    });
    let share = hundredths(against.share);
    format!("{share:+.1} %{interval} against the best")
}

/// In percent, to a tenth; what is rounded to nothing has no sign.
fn hundredths(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0 + 0.0
}
