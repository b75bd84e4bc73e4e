//! Shows a running measurement: one line per target, redrawn in a terminal, repeated now and then
//! in a pipe. The command calls it with the events of the run; it must never slow or fail the run.

use std::io::Write;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sustain_load::event::{Live, LiveTarget, Phase};

use super::{noted, without_controls};
use crate::format::{percent, rate, stretch};

/// The name of the sum over all targets.
const TOGETHER: &str = "together";
/// The seconds between two lines of a target in a pipe, at the beginning of a run.
const PLAIN_EVERY_S: f64 = 10.0;
/// The seconds of the run after which the time between two lines doubles from line to line.
const PLAIN_EVEN_UNTIL_S: f64 = 60.0;
/// The longest time between two lines: a person who waits wants to hear something now and then.
const PLAIN_GAP_S_MAX: f64 = 600.0;
/// The time of the first line in each phase: earlier there is no rate to show.
const PLAIN_FIRST_S: f64 = 1.0;

/// The way in which a [`LiveView`] shows a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKind {
    /// Lines that are redrawn in place.
    Terminal,
    /// Plain lines now and then, without control codes.
    Plain,
    /// Plain lines for a simulated run, whose hours pass in a moment: the time between two lines
    /// doubles without end.
    PlainSimulated,
    /// No lines at all.
    Silent,
}

impl LiveKind {
    /// The kind that suits this process's standard error, for a run that is `simulated` or real.
    #[must_use]
    pub fn for_stderr(simulated: bool) -> Self {
        // A terminal of the kind `dumb` cannot be redrawn.
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let redraws = console::Term::stderr().is_term() && !dumb;
        match (redraws, simulated) {
            (true, _) => Self::Terminal,
            (false, true) => Self::PlainSimulated,
            (false, false) => Self::Plain,
        }
    }
}

/// Shows a running measurement. Errors of writing are ignored: a closed pipe must not end it.
pub struct LiveView {
    view: View,
}

enum View {
    Terminal(TerminalView),
    Plain(PlainView),
    Silent,
}

struct TerminalView {
    all: MultiProgress,
    lines: Vec<ProgressBar>,
}

struct PlainView {
    writer: Box<dyn Write + Send>,
    phase: Option<Phase>,
    due_s: f64,
    gap_s: f64,
    gap_s_max: f64,
}

impl LiveView {
    /// A view of this kind. `writer` takes the lines of the plain kinds; a terminal's are drawn on
    /// standard error.
    #[must_use]
    pub fn new(kind: LiveKind, writer: Box<dyn Write + Send>) -> Self {
        match kind {
            LiveKind::Terminal => Self::drawn_on(ProgressDrawTarget::stderr()),
            LiveKind::Plain => Self::written_to(writer, PLAIN_GAP_S_MAX),
            LiveKind::PlainSimulated => Self::written_to(writer, f64::INFINITY),
            LiveKind::Silent => Self { view: View::Silent },
        }
    }

    fn written_to(writer: Box<dyn Write + Send>, gap_s_max: f64) -> Self {
        let plain = PlainView {
            writer,
            phase: None,
            due_s: PLAIN_FIRST_S,
            gap_s: PLAIN_EVERY_S,
            gap_s_max,
        };
        Self {
            view: View::Plain(plain),
        }
    }

    fn drawn_on(target: ProgressDrawTarget) -> Self {
        let all = MultiProgress::with_draw_target(target);
        Self {
            view: View::Terminal(TerminalView {
                all,
                lines: Vec::new(),
            }),
        }
    }

    /// Shows this moment. It may be called for each event: it limits itself how often it draws.
    pub fn update(&mut self, live: &Live) {
        self.update_under(&heading(live), live);
    }

    /// Shows this moment under a heading that says more than the phase.
    pub fn update_under(&mut self, heading: &str, live: &Live) {
        match &mut self.view {
            View::Terminal(terminal) => terminal.update(heading, live),
            View::Plain(plain) => plain.update(heading, live),
            View::Silent => {}
        }
    }

    /// Prints a line that stays, above the redrawn ones.
    pub fn note(&mut self, text: &str) {
        match &mut self.view {
            // Errors of printing are ignored, as everywhere here.
            View::Terminal(terminal) => drop(terminal.all.println(noted(text))),
            View::Plain(plain) => drop(writeln!(plain.writer, "{}", without_controls(text))),
            View::Silent => {}
        }
    }

    /// Removes the redrawn lines, so that the result stands alone.
    pub fn finish(&mut self) {
        if let View::Terminal(terminal) = &mut self.view {
            for line in terminal.lines.drain(..) {
                line.finish_and_clear();
            }
            // Nothing can be done about a terminal that went away.
            let _ = terminal.all.clear();
        }
    }
}

impl TerminalView {
    fn update(&mut self, heading: &str, live: &Live) {
        let together = together(&live.targets);
        let count = live.targets.len() + usize::from(together.is_some());
        while self.lines.len() <= count {
            let template = if self.lines.is_empty() {
                "{wide_msg:.bold}"
            } else {
                "{wide_msg}"
            };
            let style = ProgressStyle::with_template(template)
                .expect("the template is a constant that indicatif takes");
            self.lines
                .push(self.all.add(ProgressBar::no_length().with_style(style)));
        }
        let names = live
            .targets
            .iter()
            .map(|target| target.name.chars().count());
        let width = names.max().unwrap_or(0).min(24);
        self.lines[0].set_message(heading.to_owned());
        // A subset may have fewer targets than the one before.
        for line in &self.lines[1 + count..] {
            line.set_message("");
        }
        let width = together.map_or(width, |_| width.max(TOGETHER.len()));
        let targets = live.targets.iter();
        let said = targets.map(|target| target_line(target, width));
        let said = said.chain(together.map(|sum| sum_line(sum, width)));
        for (line, words) in self.lines[1..].iter().zip(said) {
            line.set_message(words);
        }
    }
}

impl PlainView {
    fn update(&mut self, heading: &str, live: &Live) {
        if self.phase != Some(live.phase) {
            self.phase = Some(live.phase);
            self.due_s = PLAIN_FIRST_S;
            self.gap_s = PLAIN_EVERY_S;
        }
        if live.elapsed_s < self.due_s {
            return;
        }
        if live.elapsed_s >= PLAIN_EVEN_UNTIL_S {
            self.gap_s = (self.gap_s * 2.0).min(self.gap_s_max);
        }
        self.due_s = (live.elapsed_s / PLAIN_EVERY_S).floor() * PLAIN_EVERY_S + self.gap_s;
        for target in &live.targets {
            let line = format!("{heading}: {}\n", target_line(target, 0));
            // Nothing can be done about a pipe that was closed.
            let _ = self.writer.write_all(line.as_bytes());
        }
        if let Some(sum) = together(&live.targets) {
            let _ = writeln!(self.writer, "{heading}: {}", sum_line(sum, 0));
        }
        let _ = self.writer.flush();
    }
}

fn heading(live: &Live) -> String {
    let phase = match live.phase {
        Phase::Prewrite => "prewriting files",
        Phase::Before => "idle machine before the run",
        Phase::Measure | Phase::Subset => "measuring",
        Phase::Flush => "flushing caches",
        Phase::After => "idle machine after the run",
        Phase::Rewrite => "trying new bytes in each write",
        Phase::Confirm => "confirming at a paced rate",
        Phase::ReadBack => "writing and reading back",
        Phase::ReadAlone => "reading back alone",
    };
    let elapsed = stretch(live.elapsed_s);
    let now = match (live.remaining_s, live.done) {
        (Some(seconds), _) => format!("{phase}, {elapsed} so far, {} to go", stretch(seconds)),
        (None, Some(done)) => format!("{phase}, {elapsed} so far, {} done", percent(done)),
        (None, None) => format!("{phase}, {elapsed} so far"),
    };
    format!("{now}{}", then(live.then_s))
}

/// How long what is to come after the phase takes.
fn then(then_s: Option<[f64; 2]>) -> String {
    match then_s {
        None => String::new(),
        Some([_, most_s]) if most_s < 0.5 => String::new(),
        Some([least_s, most_s]) if least_s < 0.5 => {
            format!(", then up to {} more", stretch(most_s))
        }
        Some([least_s, most_s]) if most_s - least_s < 0.5 => {
            format!(", then {} more", stretch(most_s))
        }
        Some([least_s, most_s]) => {
            format!(", then {} to {} more", stretch(least_s), stretch(most_s))
        }
    }
}

/// The sums over several targets: the rates now and on average, and the requests in flight.
fn together(targets: &[LiveTarget]) -> Option<(f64, f64, u32)> {
    (targets.len() > 1).then(|| {
        targets.iter().fold((0.0, 0.0, 0), |sum, target| {
            (
                sum.0 + target.instant_bytes_per_s,
                sum.1 + target.average_bytes_per_s,
                sum.2 + target.in_flight,
            )
        })
    })
}

fn sum_line((instant, average, in_flight): (f64, f64, u32), name_width: usize) -> String {
    format!(
        "{TOGETHER:<name_width$}  {:>9}  avg {:>9}  {:>5} of all  {in_flight:>3} in flight",
        rate(instant),
        rate(average),
        percent(1.0),
    )
}

fn target_line(target: &LiveTarget, name_width: usize) -> String {
    let name = without_controls(&target.name);
    let mut line = format!(
        "{name:<name_width$}  {:>9}  avg {:>9}  {:>5} of all  ",
        rate(target.instant_bytes_per_s),
        rate(target.average_bytes_per_s),
        percent(target.share),
    );
    // What has ended has nothing in flight, and a terminal of 80 columns has no space for both.
    line.push_str(&match target.ended {
        Some(ended) => format!("ended: {}", ended.name().replace('_', " ")),
        None => format!("{:>3} in flight", target.in_flight),
    });
    line
}

#[cfg(test)]
mod tests;
