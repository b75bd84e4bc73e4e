//! Shows a profile to a person: a line per pass while it runs, and at the end the answer in words
//! and the zones as a table with bars. The command prints what this module returns; nothing here
//! decides.

use std::fmt::Write as _;
use std::io::Write;

use sustain_document::profile::{ProfileResult, ProfileTarget, ProfileTogether};
use sustain_document::vocabulary::ExperimentEnd;
use sustain_experiments::profile::{ProfileEvent, Sampled, Sampling};
use sustain_load::event::Live;

use super::wrapped::wrapped;
use super::{LiveKind, LiveView, SIMULATED, without_controls};
use crate::format::{part, percent, position, rate, stretch};

/// The columns of the longest bar.
const BAR: usize = 40;
/// The columns of the longest bar on a narrow terminal.
const BAR_MIN: usize = 8;
/// The columns of a row besides its bar.
const ROW: usize = 50;
/// The rows of a table of zones; the document has all.
const ROWS_MAX: usize = 24;

/// Shows a running profile.
pub struct ProfileView {
    view: LiveView,
    /// The pass that the latest line has named.
    pass: &'static str,
}

impl ProfileView {
    /// A view of this kind. `writer` takes the lines of the plain kinds; a terminal's are drawn on
    /// standard error.
    #[must_use]
    pub fn new(kind: LiveKind, writer: Box<dyn Write + Send>) -> ProfileView {
        ProfileView {
            view: LiveView::new(kind, writer),
            pass: "",
        }
    }

    /// Shows what happened.
    pub fn take(&mut self, event: &ProfileEvent) {
        match event {
            ProfileEvent::Note(note) => self.view.note(note),
            ProfileEvent::Preparing(live) => self.view.update(live),
            ProfileEvent::Live(sampling, live) => {
                self.view.update_under(&heading(sampling, live), live);
            }
            ProfileEvent::Sampled(Sampled { sampling, .. }) => {
                if self.pass != sampling.pass || sampling.number == 1 {
                    self.pass = sampling.pass;
                    self.view.note(&pass_line(sampling));
                }
            }
        }
    }

    /// Takes the redrawn lines away, so that the result stands alone.
    pub fn finish(&mut self) {
        self.view.finish();
    }
}

fn pass_line(sampling: &Sampling) -> String {
    let positions = if sampling.of == 1 {
        "position"
    } else {
        "positions"
    };
    format!(
        "{}: {} {positions}; at most {} to go",
        sampling.pass,
        sampling.of,
        stretch(sampling.remaining_s)
    )
}

fn heading(sampling: &Sampling, live: &Live) -> String {
    format!(
        "{} {} of {}, at {}; at most {} to go",
        sampling.pass,
        sampling.number,
        sampling.of,
        percent(sampling.position),
        stretch((sampling.remaining_s - live.elapsed_s).max(0.0))
    )
}

/// The answer in words, each line ending with a newline. `width` is the terminal's, in columns.
#[must_use]
pub fn profile_answer(result: &ProfileResult, width: usize) -> String {
    let mut lines = Vec::new();
    if result.ended == ExperimentEnd::Interrupted {
        let line = "The profile was interrupted; the answer rests on what was measured until then.";
        lines.push(line.to_owned());
    }
    for together in &result.together {
        lines.extend(said(&together.verdict, together.direction.name()));
    }
    let of_all = said_of_all(&result.targets);
    for target in &result.targets {
        let heading = format!("{}, {}", target.name, target.direction);
        let own = target.verdict.iter().filter(|line| !of_all.contains(line));
        lines.extend(said(&own.cloned().collect::<Vec<_>>(), &heading));
    }
    lines.extend(said(&of_all, "each target"));
    if result.plan.simulated {
        lines.push(format!("{SIMULATED}."));
    }
    let lines = lines
        .iter()
        .map(|line| wrapped(&without_controls(line), width));
    lines.collect()
}

/// What is said of every target in the same words, where there are several: once is enough.
fn said_of_all(targets: &[ProfileTarget]) -> Vec<String> {
    let [first, others @ ..] = targets else {
        return Vec::new();
    };
    if others.is_empty() {
        return Vec::new();
    }
    let below = first.verdict.iter().skip(1);
    let is_of_all = |line: &&String| others.iter().all(|other| other.verdict.contains(line));
    below.filter(is_of_all).cloned().collect()
}

/// The first line under its heading, the others indented.
fn said(verdict: &[String], heading: &str) -> Vec<String> {
    let lines = verdict.iter().enumerate().map(|(index, line)| {
        if index == 0 {
            format!("{heading}: {line}")
        } else {
            format!("  {line}")
        }
    });
    lines.collect()
}

/// The zones of all curves and the notes, each line ending with a newline. `width` is the
/// terminal's, in columns.
#[must_use]
pub fn profile_text(result: &ProfileResult, width: usize) -> String {
    let mut text = String::new();
    for target in &result.targets {
        text.push_str(&target_table(target, width));
    }
    for together in &result.together {
        text.push_str(&together_table(together, width));
    }
    text.push('\n');
    let errors = result.targets.iter().flat_map(|target| &target.errors);
    let errors = errors.map(|error| format!("failed: {error}"));
    let notes = result.notes.iter().map(|note| format!("note: {note}"));
    for line in errors.chain(notes) {
        text.push_str(&wrapped(&without_controls(&line), width));
    }
    text
}

/// A row: where a zone begins and ends, how wide it is, and its rate.
type ProfileRow = ([String; 3], f64);

fn target_table(target: &ProfileTarget, width: usize) -> String {
    if target.zones.len() < 2 {
        return String::new();
    }
    let zones = target.zones.iter();
    let rows = zones.map(|zone| {
        let width = zone.to_byte.saturating_sub(zone.from_byte);
        let places = [zone.from_byte, zone.to_byte, width].map(position);
        (places, zone.rate_bytes_per_s)
    });
    let title = format!("{}, {}", target.name, target.direction);
    table(&title, &rows.collect::<Vec<ProfileRow>>(), width)
}

fn together_table(together: &ProfileTogether, width: usize) -> String {
    let zones = together.zones.iter();
    let rows = zones.map(|zone| {
        let places = [zone.from, zone.to, zone.to - zone.from].map(part);
        (places, zone.rate_bytes_per_s)
    });
    let title = format!("all at once, {}", together.direction);
    table(&title, &rows.collect::<Vec<ProfileRow>>(), width)
}

fn table(title: &str, rows: &[ProfileRow], width: usize) -> String {
    let most = rows.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let longest = width.saturating_sub(ROW).clamp(BAR_MIN, BAR);
    let mut text = format!("\n{}\n", without_controls(title));
    let _ = writeln!(
        text,
        "{:>11} {:>11} {:>11}  {:>10}",
        "from", "to", "width", "rate"
    );
    for ([from, to, width], found) in rows.iter().take(ROWS_MAX) {
        let bar = "█".repeat((found / most * longest as f64).round() as usize);
        let _ = writeln!(
            text,
            "{from:>11} {to:>11} {width:>11}  {:>10}  {bar}",
            rate(*found)
        );
    }
    let more = rows.len().saturating_sub(ROWS_MAX);
    if more > 0 {
        let zones = if more == 1 { "zone" } else { "zones" };
        let _ = writeln!(text, "and {more} more {zones} (--json has all)");
    }
    text
}
