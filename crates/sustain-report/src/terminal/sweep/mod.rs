//! Shows a sweep to a person: a line per setting while it runs, and at the end the answer and a
//! table of all settings. The command prints what this module returns; nothing here decides.

use std::fmt::Write as _;
use std::io::Write;

use sustain_document::sweep::SweepResult;
use sustain_experiments::sweep::{MeasuredPoint, MeasuringPoint, SweepEvent};
use sustain_load::event::Live;

use super::wrapped::wrapped;
use super::{LiveKind, LiveView, SIMULATED, without_controls};
use crate::format::{rate, stretch};

mod answer;
mod point;
mod table;

pub(crate) use answer::{answer_lines, doing, restrictions};
pub(crate) use point::{against_cell, cell, half_width, percent, rate_with_interval};
use table::table;
pub(crate) use table::{as_good, title};

/// The number of lines on settings that were left out.
const LEFT_OUT_MAX: usize = 8;

/// Shows a running sweep.
pub struct SweepView {
    view: LiveView,
}

impl SweepView {
    /// A view of this kind. `writer` takes the lines of the plain kinds; a terminal's are drawn on
    /// standard error.
    #[must_use]
    pub fn new(kind: LiveKind, writer: Box<dyn Write + Send>) -> SweepView {
        SweepView {
            view: LiveView::new(kind, writer),
        }
    }

    /// Shows what happened.
    pub fn take(&mut self, event: &SweepEvent) {
        match event {
            SweepEvent::Note(note) => self.view.note(note),
            SweepEvent::Preparing(live) => self.view.update(live),
            SweepEvent::Live(measuring, live) => {
                self.view.update_under(&heading(measuring, live), live);
            }
            SweepEvent::Measured(measured) => self.view.note(&measured_line(measured)),
        }
    }

    /// Takes the redrawn lines away, so that the result stands alone.
    pub fn finish(&mut self) {
        self.view.finish();
    }
}

fn heading(measuring: &MeasuringPoint, live: &Live) -> String {
    let of = measuring.of.map_or(String::new(), |of| format!(" of {of}"));
    format!(
        "run {}{of}, about {} to go: {}",
        measuring.number,
        stretch((measuring.remaining_s - live.elapsed_s).max(0.0)),
        measuring.setting,
    )
}

fn measured_line(measured: &MeasuredPoint) -> String {
    let MeasuringPoint {
        number, setting, ..
    } = &measured.measuring;
    let mut line = format!(
        "{number:>4}  {:>9}  {setting}",
        rate(measured.rate_bytes_per_s)
    );
    if let Some(why) = &measured.failed {
        let _ = write!(line, "  (this does not count: {why})");
    }
    line
}

/// The answer, a sentence for each direction, each line ending with a newline. `width` is the
/// terminal's, in columns.
#[must_use]
pub fn sweep_answer(result: &SweepResult, width: usize) -> String {
    let lines = restrictions(result).into_iter();
    let answers = result.answers.iter();
    let lines = lines.chain(answers.flat_map(|answer| answer_lines(result, answer)));
    let simulated = result.plan.simulated.then(|| format!("{SIMULATED}."));
    lines
        .chain(simulated)
        .map(|line| wrapped(&without_controls(&line), width))
        .collect()
}

/// The table of all settings, those left out, and the notes, each line ending with a newline.
/// `width` is the terminal's, in columns.
#[must_use]
pub fn sweep_text(result: &SweepResult, width: usize) -> String {
    let mut text = String::new();
    for answer in &result.answers {
        let _ = writeln!(text, "\n{}", title(result, answer));
        text.push_str(&table(result, answer, width));
    }
    text.push('\n');
    let failed = result.points.iter().filter_map(|point| {
        let why = point.failed.as_ref()?;
        Some(format!("failed: {}: {why}", point.setting.words))
    });
    let left_out = result.left_out.iter().take(LEFT_OUT_MAX).map(|left_out| {
        let settings = match left_out.count {
            1 => "1 setting was".to_owned(),
            several => format!("{several} settings were"),
        };
        let such = match left_out.count {
            1 => "it is",
            _ => "one of them is",
        };
        format!(
            "{settings} not measured: {} ({such} {})",
            left_out.why, left_out.first.words
        )
    });
    let notes = result.notes.iter().map(|note| format!("note: {note}"));
    for line in failed.chain(left_out).chain(notes) {
        text.push_str(&wrapped(&without_controls(&line), width));
    }
    text
}
