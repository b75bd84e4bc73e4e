//! Shows a diagnosis to a person: a line per subset while it runs, and at the end the walls, where
//! they are, and what to do. The command prints what this module returns; nothing here decides.

use std::fmt::Write as _;
use std::io::Write;

use sustain_document::diagnose::{
    DiagnoseResult, Measurement, SearchEnd, Wall, WallKind, WallState,
};
use sustain_experiments::diagnose::{DiagnoseEvent, Measured, Measuring};
use sustain_load::event::Live;

use self::advice::{advice_line, best_words};
use self::revolutions::revolution_words;
use super::wrapped::wrapped;
use super::{LiveKind, LiveView, SIMULATED, sentences, without_controls};
use crate::format::{confidence, percent, rate, rates_of_each, stretch};

mod advice;
pub(crate) mod chain;
pub(crate) mod revolutions;

/// A longer list of names is cut, and the rest is counted.
const NAMES_MAX: usize = 8;
/// The number of subsets that the end of a diagnosis shows; the document and the page have all.
const SUBSETS_SHOWN: usize = 16;

/// Shows a running diagnosis.
pub struct DiagnoseView {
    view: LiveView,
}

impl DiagnoseView {
    /// A view of this kind. `writer` takes the lines of the plain kinds; a terminal's are drawn on
    /// standard error.
    #[must_use]
    pub fn new(kind: LiveKind, writer: Box<dyn Write + Send>) -> DiagnoseView {
        DiagnoseView {
            view: LiveView::new(kind, writer),
        }
    }

    /// Shows what happened.
    pub fn take(&mut self, event: &DiagnoseEvent) {
        match event {
            DiagnoseEvent::Note(note) => self.view.note(note),
            DiagnoseEvent::Preparing(live) => self.view.update(live),
            DiagnoseEvent::Live(measuring, live) => {
                self.view.update_under(&heading(measuring, live), live);
            }
            DiagnoseEvent::Measured(measured) => self.view.note(&measured_line(measured)),
        }
    }

    /// Takes the redrawn lines away, so that the result stands alone.
    pub fn finish(&mut self) {
        self.view.finish();
    }
}

fn heading(measuring: &Measuring, live: &Live) -> String {
    let to_go_s = measuring.remaining_s - live.elapsed_s;
    format!(
        "subset {} of about {}, about {} to go: {}",
        measuring.number,
        measuring.number + measuring.remaining - 1,
        stretch(to_go_s.max(0.0)),
        measuring.why,
    )
}

fn measured_line(measured: &Measured) -> String {
    let names: Vec<&str> = measured.targets.iter().map(String::as_str).collect();
    let sum = measured.rates_bytes_per_s.iter().sum();
    let mut line = format!(
        "{:>3}  {:>9}  {}",
        measured.measuring.number,
        rate(sum),
        list(&names)
    );
    if (2..=NAMES_MAX).contains(&names.len()) {
        let rates = measured.rates_bytes_per_s.iter();
        let rates: Vec<String> = rates.map(|one| rate(*one)).collect();
        let _ = write!(line, "  = {}", rates.join(" + "));
    }
    let _ = write!(line, "  ({})", measured.measuring.why);
    if measured.failed {
        line.push_str("  (this does not count: a target failed)");
    }
    line
}

/// The end of a diagnosis, each line ending with a newline. `width` is the terminal's, in columns.
#[must_use]
pub fn diagnosis_text(result: &DiagnoseResult, width: usize) -> String {
    let mut text = String::new();
    text.push_str(&subsets(result));
    text.push('\n');
    for line in rates(result) {
        text.push_str(&wrapped(&line, width));
    }
    if !result.walls.is_empty() {
        text.push_str("\nA wall is a limit that several targets share.\n");
    }
    for (number, wall) in result.walls.iter().enumerate() {
        text.push('\n');
        for line in wall_lines(number + 1, wall) {
            text.push_str(&wrapped(&line, width));
        }
    }
    text.push_str(&chain::chain(result, width));
    if !result.advice.is_empty() {
        text.push_str("\nWhat to do (best first; other cables last)\n");
        for (number, advice) in result.advice.iter().enumerate() {
            text.push_str(&wrapped(&advice_line(result, number + 1, advice), width));
        }
    }
    text.push_str(&failures_and_notes(result, width));
    text
}

/// The targets that failed, and the notes.
pub(super) fn failures_and_notes(result: &DiagnoseResult, width: usize) -> String {
    let notes = result.notes.iter().map(|note| format!("note: {note}"));
    let dropped = result.dropped.iter().map(|dropped| {
        format!(
            "{} failed, so the rest of the result is without it: {}",
            dropped.target, dropped.message
        )
    });
    let lines = dropped.chain(notes);
    lines
        .map(|line| wrapped(&without_controls(&line), width))
        .collect()
}

/// The subsets of several targets, each once: the mean of its readings, and the rate that the walls
/// predict.
fn subsets(result: &DiagnoseResult) -> String {
    let mut subsets: Vec<(&Measurement, Vec<f64>)> = Vec::new();
    for measurement in &result.measurements {
        if measurement.members.len() < 2 || measurement.dummy_bytes_per_s.is_some() {
            continue;
        }
        let sum = measurement.sum_bytes_per_s;
        let mut known = subsets.iter_mut();
        match known.find(|(known, _)| known.members == measurement.members) {
            Some((_, sums)) => sums.push(sum),
            None => subsets.push((measurement, vec![sum])),
        }
    }
    // What was given back for pauses is not what was measured.
    let found = match result.pauses {
        None => "measured",
        Some(_) => "no stalls",
    };
    let mut text = format!("{found:>9}  {:>9}  targets\n", "predicted");
    for (measurement, sums) in subsets.iter().take(SUBSETS_SHOWN) {
        let predicted = measurement
            .predicted_bytes_per_s
            .map_or(String::new(), rate);
        let names: Vec<&str> = measurement.members.iter().map(String::as_str).collect();
        let measured = rate(sums.iter().sum::<f64>() / sums.len() as f64);
        let _ = writeln!(text, "{measured:>9}  {predicted:>9}  {}", list(&names));
    }
    let mut shown = subsets.iter().take(SUBSETS_SHOWN);
    if shown.any(|(one, _)| one.predicted_bytes_per_s.is_none()) {
        let mut walls = result.walls.iter();
        let why = match walls.any(|wall| wall.kind == WallKind::Collapse) {
            true => "members of a collapse meet: how far their sum falls can only be measured",
            false => "the rate that one of the targets reaches alone is not known",
        };
        let _ = writeln!(text, "no prediction where {why}");
    }
    let left_out = subsets.len().saturating_sub(SUBSETS_SHOWN);
    if left_out > 0 {
        let _ = writeln!(
            text,
            "and {left_out} more {} (--json and --report have all)",
            if left_out == 1 { "subset" } else { "subsets" }
        );
    }
    text
}

fn rates(result: &DiagnoseResult) -> Vec<String> {
    let mut lines = Vec::new();
    let known = |alone: &&sustain_document::diagnose::Alone| alone.rate_bytes_per_s.is_some();
    let alone: Vec<_> = result.alone.iter().filter(known).collect();
    let each = |alone: &&sustain_document::diagnose::Alone| {
        let one = alone.rate_bytes_per_s.unwrap_or(0.0);
        format!("{} {}", without_controls(&alone.target), rate(one))
    };
    if alone.is_empty() {
        lines.push("alone: no measurement was completed".to_owned());
    } else if alone.len() <= NAMES_MAX {
        let each: Vec<String> = alone.iter().map(each).collect();
        lines.push(format!("alone: {}", each.join(", ")));
    } else {
        let rates = alone.iter().filter_map(|alone| alone.rate_bytes_per_s);
        let (least, most) = rates.fold((f64::INFINITY, 0.0_f64), |(least, most), one| {
            (least.min(one), most.max(one))
        });
        let count = alone.len();
        lines.push(format!(
            "alone: {count} targets, {} to {} each",
            rate(least),
            rate(most)
        ));
    }
    if let Some(together) = &result.together {
        lines.push(format!(
            "together: {}, {} of the sum of their rates alone{}",
            rate(together.rate_bytes_per_s),
            percent(together.share_of_sum),
            match result.pauses {
                None => "",
                Some(_) => ", all without stalls",
            }
        ));
    }
    if let Some(loss) = &result.unexplained {
        lines.push(format!(
            "not explained: a {} of {} against the {} that {} should reach",
            if loss.is_loss() { "loss" } else { "gain" },
            rate((loss.expected_bytes_per_s - loss.measured_bytes_per_s).abs()),
            rate(loss.expected_bytes_per_s),
            loss.who()
        ));
    }
    lines
}

fn wall_lines(number: usize, wall: &Wall) -> Vec<String> {
    let names: Vec<&str> = wall.members.iter().map(String::as_str).collect();
    let shared = if wall.is_likely() {
        "shared"
    } else {
        "perhaps shared"
    };
    let mut lines = vec![format!(
        "Wall {number}: {} {shared} by {}",
        rate(wall.limit_bytes_per_s),
        list(&names)
    )];
    lines.push(match (&wall.explained_by, &wall.not_explained) {
        (Some(text), _) => format!("  where: {}", without_controls(text)),
        (None, Some(why)) => format!(
            "  where: no known part of the machine explains it: {}",
            without_controls(why)
        ),
        (None, None) => "  where: no known part of the machine explains it".to_owned(),
    });
    lines.push(format!("  {}", kind(wall)));
    if let Some(prediction) = &wall.prediction {
        let names: Vec<&str> = prediction.members.iter().map(String::as_str).collect();
        lines.push(format!(
            "  tested with {}: {} predicted, {} measured",
            list(&names),
            rate(prediction.predicted_bytes_per_s),
            rate(prediction.measured_bytes_per_s)
        ));
    }
    lines.extend(shares(wall));
    lines
}

fn kind(wall: &Wall) -> String {
    let mut words = match wall.kind {
        WallKind::Collapse => format!("a collapse: {}", collapse_words(wall)),
        WallKind::Tool => "a limit of this program or of the CPUs, not of the disks".to_owned(),
        _ => "a plain limit: the sum stays the same when more of them are active".to_owned(),
    };
    if let Some(missed) = revolution_words(wall) {
        let _ = write!(words, "; {missed}");
    }
    let state = match wall.state {
        WallState::MembersUncertain => "which targets share it is not certain",
        WallState::CapacityIsLowerBound => "the true limit may be higher",
        WallState::Crossing => "some of its targets share another wall too",
        _ if !wall.is_likely() => "not certain",
        _ => "the readings agree on it",
    };
    let _ = write!(
        words,
        "; {state} (confidence in this wall {})",
        confidence(wall.confidence)
    );
    if let Some(weakest) = &wall.weakest
        && let Some(target) = &weakest.target
    {
        let is_member = wall.members.contains(target);
        let target = without_controls(target);
        let least = match is_member {
            true => format!("least certain is that {target} shares it: if it did not"),
            false => format!("least certain is that {target} does not share it: if it did"),
        };
        let _ = write!(
            words,
            "; {least}, one reading would be off by {}",
            margin(weakest.margin_sd)
        );
    }
    words
}

/// How far a reading is from what the other answer predicts. Beyond ten standard deviations no
/// reader weighs the number.
pub(crate) fn margin(standard_deviations: f64) -> String {
    if standard_deviations > 10.0 {
        return "more than 10 standard deviations".to_owned();
    }
    format!("{standard_deviations:.1} standard deviations")
}

/// What the readings of a collapse show. All members together may reach the most: then fewer of
/// them fell below others.
pub(crate) fn collapse_words(wall: &Wall) -> String {
    let left = wall.at_full_load_bytes_per_s;
    if let Some(left) = left.filter(|_| wall.falls_at_full_load()) {
        return format!(
            "the sum falls when more of them are active, to {} with all",
            rate(left)
        );
    }
    let Some(fall) = &wall.fall else {
        return "some of them together reach less than fewer of them do".to_owned();
    };
    let names = |members: &[String]| list(&members.iter().map(String::as_str).collect::<Vec<_>>());
    let mut words = format!(
        "{} together reach less than {} ({} against {})",
        names(&fall.members),
        names(&fall.fewer),
        rate(fall.rate_bytes_per_s),
        rate(fall.fewer_bytes_per_s)
    );
    if let Some(left) = left {
        let _ = write!(
            words,
            "; all of them together reach the most, {}",
            rate(left)
        );
    }
    words
}

fn shares(wall: &Wall) -> Vec<String> {
    let mut lines = Vec::new();
    let rates = wall.shares.iter().map(|share| share.rate_bytes_per_s);
    let Some(range) = rates_of_each(rates) else {
        return lines;
    };
    let repeat = match wall.shares_repeat {
        Some(true) => ", the same in each reading",
        Some(false) => ", different in each reading",
        None => "",
    };
    lines.push(format!("  shares: {range}{repeat}"));
    for share in wall.shares.iter().filter(|share| share.below_fair) {
        lines.push(format!(
            "  {} gets only {}; an even share is {}",
            without_controls(&share.target),
            rate(share.rate_bytes_per_s),
            rate(share.fair_bytes_per_s)
        ));
    }
    lines
}

/// The answer in sentences.
#[must_use]
pub fn diagnosis_sentence(result: &DiagnoseResult) -> String {
    let mut clauses: Vec<String> = Vec::new();
    clauses.extend(together_words(result));
    for wall in &result.walls {
        let names: Vec<&str> = wall.members.iter().map(String::as_str).collect();
        let at = wall.hop.as_ref().map_or(String::new(), |hop| {
            format!(" at {}", without_controls(&hop.name))
        });
        clauses.push(format!(
            "{} {} a limit of {}{at}",
            list(&names),
            share(wall),
            rate(wall.limit_bytes_per_s)
        ));
    }
    clauses.extend(ending_words(result));
    clauses.extend(unexplained_words(result));
    if let Some(none) = &result.no_wall {
        clauses.push(format!(
            "No shared limit below {} of the sum of their rates alone was found; noise could hide \
             a loss of at most {}",
            percent(none.none_below_share),
            rate(none.largest_hidden_loss_bytes_per_s)
        ));
    }
    let best = result.advice.first();
    clauses.extend(best.map(|best| best_words(result, best)));
    if result.plan.simulated {
        clauses.push(SIMULATED.to_owned());
    }
    sentences(&clauses)
}

/// What the members of a wall do with it, as a verb: what is not even likely is not told as a fact.
pub(crate) fn share(wall: &Wall) -> &'static str {
    if wall.is_likely() {
        "share"
    } else {
        "may share"
    }
}

/// What nothing that was found explains. The name of a target is not changed, even where it begins
/// the sentence.
pub(crate) fn unexplained_words(result: &DiagnoseResult) -> Option<String> {
    let loss = result.unexplained.as_ref()?;
    let what = if result.walls.is_empty() {
        "no limit that was found explains it"
    } else {
        "these limits do not explain it"
    };
    let who = match loss.members.is_empty() {
        true => "All together".to_owned(),
        false => without_controls(&loss.who()),
    };
    Some(format!(
        "{who} {} {}, and {what}: the answer is not complete",
        if loss.is_loss() { "lose" } else { "gain" },
        rate((loss.expected_bytes_per_s - loss.measured_bytes_per_s).abs())
    ))
}

/// The reason why the answer is not complete, if the diagnosis ended early.
pub(crate) fn ending_words(result: &DiagnoseResult) -> Option<String> {
    let words = match result.ended {
        SearchEnd::Interrupted => {
            "The diagnosis was interrupted; the answer rests on what was measured until then"
        }
        SearchEnd::TooNoisy => "The readings differ too much to tell shared limits",
        _ => return None,
    };
    Some(words.to_owned())
}

/// The headline: what all targets reach together.
pub(crate) fn together_words(result: &DiagnoseResult) -> Option<String> {
    let together = result.together.as_ref()?;
    let targets = result.order.names.len();
    let alive = targets.saturating_sub(result.dropped.len());
    let pauses = match &result.pauses {
        None => String::new(),
        Some(pauses) if pauses.members.len() == alive => format!(
            " without stalls ({} with them)",
            rate(pauses.with_bytes_per_s)
        ),
        Some(_) => " without stalls".to_owned(),
    };
    Some(format!(
        "These {alive} targets {} {} together{pauses}, {} of the sum of their rates alone",
        result.plan.direction,
        rate(together.rate_bytes_per_s),
        percent(together.share_of_sum)
    ))
}

/// The same answer in lines of at most `width` columns, each ending with a newline.
#[must_use]
pub fn diagnosis_answer(result: &DiagnoseResult, width: usize) -> String {
    wrapped(&diagnosis_sentence(result), width)
}

/// Names with commas; of many only the first, and the number of the others.
fn list(names: &[&str]) -> String {
    let shown = if names.len() > NAMES_MAX {
        NAMES_MAX - 1
    } else {
        names.len()
    };
    let mut text = without_controls(&names[..shown].join(", "));
    if names.len() > shown {
        let _ = write!(text, " and {} more", names.len() - shown);
    }
    text
}
