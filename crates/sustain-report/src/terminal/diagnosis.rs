//! A diagnosis for a person: a line per subset while it runs, and at the end the walls, where they
//! sit and what to do. The command prints it; nothing here decides.

use std::fmt::Write as _;
use std::io::Write;

use sustain_bench::diagnose::result::{Advice, DiagnoseResult, Measurement, Wall};
use sustain_bench::diagnose::{DiagnoseEvent, Measured, Measuring};
use sustain_bench::event::Live;

use super::summary::wrapped;
use super::{LiveKind, LiveView, without_controls};
use crate::format::{percent, rate, size, stretch};

/// As many names as a list may have before the rest is only counted.
const NAMES_MAX: usize = 8;
/// Subsets that the end of a diagnosis shows; all are in the document and the page.
const SUBSETS_SHOWN: usize = 16;

/// Shows a diagnosis under way.
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
        "subset {} of about {}: {}; about {} to go",
        measuring.number,
        measuring.number + measuring.remaining - 1,
        measuring.why,
        stretch(to_go_s.max(0.0)),
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
        line.push_str("  a target failed: this does not count");
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
    for (number, wall) in result.walls.iter().enumerate() {
        text.push('\n');
        for line in wall_lines(number + 1, wall) {
            text.push_str(&wrapped(&line, width));
        }
    }
    if !result.advice.is_empty() {
        text.push_str("\nWhat to do\n");
        for (number, advice) in result.advice.iter().enumerate() {
            text.push_str(&wrapped(&advice_line(number + 1, advice), width));
        }
    }
    let notes = result.notes.iter().map(|note| format!("note: {note}"));
    let dropped = result.dropped.iter().map(|dropped| {
        format!(
            "{} failed, the rest is of the others: {}",
            dropped.target, dropped.message
        )
    });
    for line in dropped.chain(notes) {
        text.push_str(&wrapped(&without_controls(&line), width));
    }
    text
}

/// The subsets of several targets, each once: the mean of its readings, and what the walls foretell.
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
    let mut text = format!("{:>9}  {:>9}\n", "measured", "foretold");
    for (measurement, sums) in subsets.iter().take(SUBSETS_SHOWN) {
        let foretold = measurement
            .predicted_bytes_per_s
            .map_or(String::new(), rate);
        let names: Vec<&str> = measurement.members.iter().map(String::as_str).collect();
        let measured = rate(sums.iter().sum::<f64>() / sums.len() as f64);
        let _ = writeln!(text, "{measured:>9}  {foretold:>9}  {}", list(&names));
    }
    let left_out = subsets.len().saturating_sub(SUBSETS_SHOWN);
    if left_out > 0 {
        let _ = writeln!(
            text,
            "and {left_out} more subsets: --json and --report have all"
        );
    }
    text
}

fn rates(result: &DiagnoseResult) -> Vec<String> {
    let mut lines = Vec::new();
    let known = |alone: &&sustain_bench::diagnose::result::Alone| alone.rate_bytes_per_s.is_some();
    let alone: Vec<_> = result.alone.iter().filter(known).collect();
    let each = |alone: &&sustain_bench::diagnose::result::Alone| {
        let one = alone.rate_bytes_per_s.unwrap_or(0.0);
        format!("{} {}", without_controls(&alone.target), rate(one))
    };
    if alone.is_empty() {
        lines.push("alone: nothing was measured to its end".to_owned());
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
            "together: {}, {} of the sum alone",
            rate(together.rate_bytes_per_s),
            percent(together.share_of_sum)
        ));
    }
    if let Some(loss) = &result.unexplained {
        lines.push(format!(
            "not explained: {} {} the {} that {} should bring",
            rate((loss.expected_bytes_per_s - loss.measured_bytes_per_s).abs()),
            if loss.is_loss() { "of" } else { "beyond" },
            rate(loss.expected_bytes_per_s),
            loss.who()
        ));
    }
    lines
}

fn wall_lines(number: usize, wall: &Wall) -> Vec<String> {
    let names: Vec<&str> = wall.members.iter().map(String::as_str).collect();
    let mut lines = vec![format!(
        "Wall {number}: {} for {}",
        rate(wall.limit_bytes_per_s),
        list(&names)
    )];
    lines.push(match (&wall.explained_by, &wall.not_explained) {
        (Some(text), _) => format!("  it sits at {}", without_controls(text)),
        (None, Some(why)) => format!("  no hop explains it: {}", without_controls(why)),
        (None, None) => "  no hop explains it".to_owned(),
    });
    lines.push(format!("  {}", kind(wall)));
    if let Some(prediction) = &wall.prediction {
        let names: Vec<&str> = prediction.members.iter().map(String::as_str).collect();
        lines.push(format!(
            "  tried: {} foretold for {}, {} measured",
            rate(prediction.predicted_bytes_per_s),
            list(&names),
            rate(prediction.measured_bytes_per_s)
        ));
    }
    lines.extend(shares(wall));
    lines
}

fn kind(wall: &Wall) -> String {
    let mut words = match wall.kind.as_str() {
        "collapse" => {
            let left = wall.at_full_load_bytes_per_s.map_or(String::new(), rate);
            format!("a collapse: with all of them at work only {left} is left")
        }
        "tool" => "the tool's own limit, not the disks'".to_owned(),
        _ => "a plain limit: the sum stays when more of them work".to_owned(),
    };
    if wall.missed_revolutions {
        words.push_str("; rates fall to whole fractions, as of disks that miss revolutions");
    }
    let state = match wall.state.as_str() {
        "members_uncertain" => "its members are not sure",
        "capacity_is_lower_bound" => "it is at least this high",
        "crossing" => "it crosses another wall",
        _ => "confirmed",
    };
    let _ = write!(words, "; {state}, confidence {}", percent(wall.confidence));
    if let Some(weakest) = &wall.weakest
        && let Some(target) = &weakest.target
    {
        let what = if wall.members.contains(target) {
            "belongs to it"
        } else {
            "does not belong to it"
        };
        let target = without_controls(target);
        let _ = write!(
            words,
            ", least sure that {target} {what} ({:.1} sd)",
            weakest.margin_sd
        );
    }
    words
}

fn shares(wall: &Wall) -> Vec<String> {
    let mut lines = Vec::new();
    if wall.shares.is_empty() {
        return lines;
    }
    let rates = wall.shares.iter().map(|share| share.rate_bytes_per_s);
    let (least, most) = rates.fold((f64::INFINITY, 0.0_f64), |(least, most), one| {
        (least.min(one), most.max(one))
    });
    let repeat = match wall.shares_repeat {
        Some(true) => ", the same each time",
        Some(false) => ", different each time",
        None => "",
    };
    let range = if most <= least * 1.02 {
        format!("{} each", rate(most))
    } else {
        format!("{} to {}", rate(least), rate(most))
    };
    lines.push(format!("  shares: {range}{repeat}"));
    for share in wall.shares.iter().filter(|share| share.below_fair) {
        lines.push(format!(
            "  {} gets {}, where an even share is {}",
            without_controls(&share.target),
            rate(share.rate_bytes_per_s),
            rate(share.fair_bytes_per_s)
        ));
    }
    lines
}

fn advice_line(number: usize, advice: &Advice) -> String {
    let targets = if advice.move_elsewhere.is_empty() {
        &advice.order
    } else {
        &advice.move_elsewhere
    };
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let what = match (advice.layout.as_str(), advice.chunk_bytes) {
        ("stripe", Some(chunk_bytes)) => format!("a stripe, chunk {}, of", size(chunk_bytes)),
        ("span", _) => "one after the other (span):".to_owned(),
        _ if !advice.move_elsewhere.is_empty() => "other cables for".to_owned(),
        _ => "independent queues on".to_owned(),
    };
    let mut expected = rate(advice.expected_bytes_per_s);
    if advice.is_at_most {
        expected.insert_str(0, "at most ");
    }
    let measured = advice
        .measured_bytes_per_s
        .map_or(String::new(), |measured| {
            format!(", {} measured", rate(measured))
        });
    format!(
        "  {number}. {what} {}: {expected} expected{measured}; {}",
        list(&targets),
        without_controls(&advice.why)
    )
}

/// The answer in a sentence.
#[must_use]
pub fn diagnosis_sentence(result: &DiagnoseResult) -> String {
    let mut clauses: Vec<String> = Vec::new();
    if result.plan.simulated {
        clauses.push("simulated".to_owned());
    }
    match result.ended.as_str() {
        "interrupted" => clauses.push("interrupted, this is what was known by then".to_owned()),
        "too_noisy" => clauses.push("the readings differ too much to tell walls".to_owned()),
        _ => {}
    }
    if let Some(loss) = &result.unexplained {
        let beside = if result.walls.is_empty() {
            ""
        } else {
            " beside these"
        };
        clauses.push(format!(
            "{} {} {} that no wall{beside} explains: the answer is not complete",
            loss.who(),
            if loss.is_loss() { "lose" } else { "gain" },
            rate((loss.expected_bytes_per_s - loss.measured_bytes_per_s).abs())
        ));
    }
    if let Some(none) = &result.no_wall {
        clauses.push(format!(
            "no shared limit below {} of the sum: {} could hide at most",
            percent(none.none_below_share),
            rate(none.largest_hidden_loss_bytes_per_s)
        ));
    }
    for wall in &result.walls {
        let names: Vec<&str> = wall.members.iter().map(String::as_str).collect();
        let at = wall.hop.as_ref().map_or(String::new(), |hop| {
            format!(" at {}", without_controls(&hop.name))
        });
        clauses.push(format!(
            "{} share {}{at}",
            list(&names),
            rate(wall.limit_bytes_per_s)
        ));
    }
    if let Some(best) = result.advice.first() {
        let order: Vec<&str> = best.order.iter().map(String::as_str).collect();
        clauses.push(format!(
            "best: {} on {}, {}",
            best.layout,
            list(&order),
            rate(
                best.measured_bytes_per_s
                    .unwrap_or(best.expected_bytes_per_s)
            )
        ));
    }
    clauses.join("; ")
}

/// The same as lines no longer than `width`, the terminal's in columns, each ending with a newline.
#[must_use]
pub fn diagnosis_answer(result: &DiagnoseResult, width: usize) -> String {
    wrapped(&diagnosis_sentence(result), width)
}

/// Names with commas; of many only the first, and how many more.
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
