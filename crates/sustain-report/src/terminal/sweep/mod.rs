//! Shows a sweep to a person: a line per setting while it runs, and at the end the answer and a
//! table of all settings. The command prints what this module returns; nothing here decides.

use std::fmt::Write as _;
use std::io::Write;

use comfy_table::{CellAlignment, Table, presets};
use sustain_document::sweep::Axis;
use sustain_document::sweep::{
    AgainstBest, SweepAnswer, SweepAxis, SweepPoint, SweepResult, SweepSetting, SweepValue,
};
use sustain_document::vocabulary::{ExperimentEnd, LayoutKind};
use sustain_experiments::sweep::{MeasuredPoint, MeasuringPoint, SweepEvent, is_told_as_good};
use sustain_load::event::Live;

use super::wrapped::wrapped;
use super::{LiveKind, LiveView, SIMULATED, without_controls};
use crate::format::{latency, rate, size, stretch};

/// The rows of the table for each direction; the document has all settings.
const ROWS_MAX: usize = 40;
/// This many settings that are as good, or more, are shown as one line.
const AS_GOOD_GROUPED: usize = 5;
/// The number of untried values of an axis that are named one by one.
const UNTRIED_MAX: usize = 8;
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
        "run {}{of}: {}; about {} to go",
        measuring.number,
        measuring.setting,
        stretch((measuring.remaining_s - live.elapsed_s).max(0.0)),
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

/// The settings that cannot be told from the best and come within 2 % of it, if they are so many
/// that they would hide the others. The cheapest keeps its own row.
pub(crate) fn as_good(result: &SweepResult, answer: &SweepAnswer) -> Vec<usize> {
    let is_as_good = |number: &usize| {
        let against = result.points[*number].against_best.as_ref();
        *number != answer.cheapest && against.is_some_and(is_told_as_good)
    };
    let good = answer.alike.iter().copied().filter(is_as_good);
    let good: Vec<usize> = good.collect();
    if good.len() < AS_GOOD_GROUPED {
        return Vec::new();
    }
    good
}

/// The best setting, then, indented, the cheapest and each axis. The page has the same words.
pub(crate) fn answer_lines(result: &SweepResult, answer: &SweepAnswer) -> Vec<String> {
    let mut lines = vec![best_line(result, answer), cheapest_line(result, answer)];
    lines.extend(answer.axes.iter().map(|axis| axis_line(result, axis)));
    lines
}

fn best_line(result: &SweepResult, answer: &SweepAnswer) -> String {
    let best = &result.points[answer.best];
    let mut line = format!(
        "The best setting to {} is {}: {}.",
        answer.direction,
        best.setting.words,
        rate_with_interval(best)
    );
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
    let untold = &answer.measured_once;
    let is_once = untold.iter().all(|point| result.points[*point].repeats < 2);
    let how = match is_once {
        true => "measured once",
        false => "measured too few times for their noise",
    };
    match untold.len() {
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

fn cheapest_line(result: &SweepResult, answer: &SweepAnswer) -> String {
    if answer.cheapest == answer.best {
        return "  No setting within 2 % of it is cheaper.".to_owned();
    }
    let (best, cheapest) = (&result.points[answer.best], &result.points[answer.cheapest]);
    let against = cheapest.against_best.as_ref();
    let mut line = format!(
        "  The cheapest setting within 2 % of it is {}: {}, {}",
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

/// The effect of an axis: any of its values will do, or some are slower. Each value is judged with
/// the values of the other axes that suit it best.
fn axis_line(result: &SweepResult, axis: &SweepAxis) -> String {
    let name = axis.axis.name().replace('_', " ");
    let is_as_good = |value: &SweepValue| is_told_as_good(&value.against_best);
    if axis.values.iter().all(is_as_good) {
        return format!(
            "  {name}: makes less than 2 % of difference, if the other settings suit it"
        );
    }
    let value = |value: &SweepValue| {
        let point = &result.points[value.point];
        let found = point.rate_bytes_per_s.map_or(String::new(), rate);
        let against = &value.against_best;
        let mark = match (is_as_good(value), against.is_noise) {
            (true, _) => String::new(),
            (false, true) if is_untold(against) => format!(" ({})", untold_words(point)),
            (false, true) => " (may be noise)".to_owned(),
            (false, false) => " (slower)".to_owned(),
        };
        format!("{} {found}{mark}", value.value)
    };
    let values: Vec<String> = axis.values.iter().map(value).collect();
    format!("  {name}: {}", values.join(", "))
}

/// `200 MB/s ± 0.4 %`.
pub(crate) fn rate_with_interval(point: &SweepPoint) -> String {
    let found = point.rate_bytes_per_s.unwrap_or(0.0);
    let half = half_width(point);
    format!(
        "{}{}",
        rate(found),
        half.map_or(String::new(), |half| format!(" ± {:.1} %", half * 100.0))
    )
}

/// Half of the width of the 95 % interval, as a part of the rate.
pub(crate) fn half_width(point: &SweepPoint) -> Option<f64> {
    let [low, high] = point.ci95_bytes_per_s?;
    Some((high - low) / 2.0 / point.rate_bytes_per_s?)
}

/// Whether the noise is not known, so that the difference may be noise.
fn is_untold(against: &AgainstBest) -> bool {
    against.is_noise && against.ci95.is_none()
}

/// Why it is not known whether a point differs.
fn untold_words(point: &SweepPoint) -> &'static str {
    match point.repeats {
        0 | 1 => "measured once",
        _ => "cannot be told",
    }
}

fn against_words(point: &SweepPoint, against: &AgainstBest) -> String {
    if is_untold(against) {
        return untold_words(point).to_owned();
    }
    if against.is_noise {
        return "no different from the best beyond noise".to_owned();
    }
    let interval = against.ci95.map_or(String::new(), |[low, high]| {
        format!(" ({:+.1} to {:+.1} %)", low * 100.0, high * 100.0)
    });
    format!("{:+.1} %{interval} against the best", against.share * 100.0)
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

/// The direction and everything that all its settings have in common.
pub(crate) fn title(result: &SweepResult, answer: &SweepAnswer) -> String {
    let setting = &result.points[answer.best].setting;
    let axes = [
        Axis::Engine,
        Axis::Path,
        Axis::Layout,
        Axis::Chunk,
        Axis::RecordSize,
        Axis::Depth,
    ];
    let is_common = |axis: &Axis| !result.plan.axes.contains(axis);
    let values = axes.into_iter().filter(is_common).map(|axis| match axis {
        Axis::Depth => format!("depth {}", setting.depth),
        Axis::Chunk => setting
            .chunk_bytes
            .map_or(String::new(), |chunk| format!("chunk {}", size(chunk))),
        _ => cell(setting, axis),
    });
    let values: Vec<String> = values.filter(|value| !value.is_empty()).collect();
    format!("{}: {}", answer.direction, values.join(", "))
}

/// The table of a direction. Where the terminal is too narrow, it has fewer columns; where it is
/// too narrow for any table, each setting has a line.
fn table(result: &SweepResult, answer: &SweepAnswer, width: usize) -> String {
    let is_shown = |point: &&SweepPoint| {
        point.setting.direction == answer.direction && point.rate_bytes_per_s.is_some()
    };
    let grouped = as_good(result, answer);
    let is_own = |point: &&SweepPoint| !grouped.contains(&point.number);
    let points = result.points.iter().filter(is_shown).filter(is_own);
    let mut points: Vec<&SweepPoint> = points.collect();
    let key = |point: &SweepPoint| point.rate_bytes_per_s.unwrap_or(0.0);
    points.sort_by(|one, other| key(other).total_cmp(&key(one)));
    let more = points.len().saturating_sub(ROWS_MAX);
    points.truncate(ROWS_MAX);
    let fits = |table: &String| table.lines().all(|line| line.chars().count() <= width);
    let mut tables = COLUMNS
        .iter()
        .map(|columns| table_of(result, answer, &points, columns));
    let lines = || {
        let lines = points.iter().map(|point| line_of(point, answer));
        lines.map(|line| wrapped(&line, width)).collect()
    };
    let mut text = tables.find(fits).unwrap_or_else(lines);
    if more > 0 {
        let settings = if more == 1 { "setting" } else { "settings" };
        let _ = writeln!(text, "and {more} slower {settings} (--json has all)");
    }
    if let Some(first) = grouped.first() {
        let line = format!(
            "{} more settings, such as {}, are as good as the best: they differ from it by no more \
             than noise (--json has all)",
            grouped.len(),
            result.points[*first].setting.words
        );
        text.push_str(&wrapped(&without_controls(&line), width));
    }
    text
}

/// A column of the table that shows a figure of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SweepColumn {
    Rate,
    HalfWidth,
    Spread,
    AgainstBest,
    Cpu,
    Latency,
    Runs,
}

/// All columns, and fewer and fewer where the width does not allow all.
const COLUMNS: [&[SweepColumn]; 4] = {
    use SweepColumn::{AgainstBest, Cpu, HalfWidth, Latency, Rate, Runs, Spread};
    [
        &[Rate, HalfWidth, Spread, AgainstBest, Cpu, Latency, Runs],
        &[Rate, Spread, AgainstBest, Cpu, Latency],
        &[Rate, AgainstBest, Cpu, Latency],
        &[Rate, AgainstBest],
    ]
};

impl SweepColumn {
    fn heading(self) -> &'static str {
        match self {
            SweepColumn::Rate => "rate",
            SweepColumn::HalfWidth => "± 95 %",
            SweepColumn::Spread => "spread",
            SweepColumn::AgainstBest => "against best",
            SweepColumn::Cpu => "CPU s/GB",
            SweepColumn::Latency => "p99.9",
            SweepColumn::Runs => "runs",
        }
    }

    fn cell(self, point: &SweepPoint, answer: &SweepAnswer) -> String {
        let against = point.against_best.as_ref();
        match self {
            SweepColumn::Rate => point.rate_bytes_per_s.map_or(String::new(), rate),
            SweepColumn::HalfWidth => percent(half_width(point)),
            SweepColumn::Spread => percent(point.spread),
            SweepColumn::AgainstBest => against.map_or(String::new(), |against| {
                against_cell(point, answer, against)
            }),
            SweepColumn::Cpu => {
                let cpu = point.cpu_seconds_per_gb;
                cpu.map_or(String::new(), |cpu| format!("{cpu:.3}"))
            }
            SweepColumn::Latency => point.latency_p99_9_ns.map_or(String::new(), latency),
            SweepColumn::Runs => point.repeats.to_string(),
        }
    }
}

fn table_of(
    result: &SweepResult,
    answer: &SweepAnswer,
    points: &[&SweepPoint],
    columns: &[SweepColumn],
) -> String {
    let axes = result.plan.axes.iter().copied();
    let axes: Vec<Axis> = axes.filter(|axis| *axis != Axis::Direction).collect();
    let has_cpu = points
        .iter()
        .any(|point| point.cpu_seconds_per_gb.is_some());
    let columns = columns.iter().copied();
    let columns: Vec<SweepColumn> = columns
        .filter(|column| has_cpu || *column != SweepColumn::Cpu)
        .collect();
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let headings = columns.iter().map(|column| column.heading().to_owned());
    let header = axes.iter().map(|axis| axis.name().replace('_', " "));
    table.set_header(header.chain(headings));
    for point in points {
        let setting = axes.iter().map(|axis| cell(&point.setting, *axis));
        let figures = columns.iter().map(|column| column.cell(point, answer));
        table.add_row(setting.chain(figures));
    }
    for index in 0..columns.len() {
        if let Some(column) = table.column_mut(axes.len() + index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// ` 252 MB/s  stripe, chunk 1 MiB, depth 2: best; p99.9 8.4 ms`.
fn line_of(point: &SweepPoint, answer: &SweepAnswer) -> String {
    let cell = |column: SweepColumn| column.cell(point, answer);
    let line = format!(
        "{:>9}  {}: {}; p99.9 {}",
        cell(SweepColumn::Rate),
        point.setting.words,
        cell(SweepColumn::AgainstBest),
        cell(SweepColumn::Latency)
    );
    without_controls(&line)
}

/// The difference of a setting from the best, and whether noise explains it.
pub(crate) fn against_cell(
    point: &SweepPoint,
    answer: &SweepAnswer,
    against: &AgainstBest,
) -> String {
    if point.number == answer.best {
        return "best".to_owned();
    }
    // No minus before a zero.
    let share = format!("{:+.1} %", (against.share * 1000.0).round() / 10.0 + 0.0);
    if is_untold(against) {
        return format!("{share} ({})", untold_words(point));
    }
    if against.is_noise {
        return format!("{share} (noise)");
    }
    share
}

/// A setting's value on an axis, for a column that has the axis' name.
pub(crate) fn cell(setting: &SweepSetting, axis: Axis) -> String {
    match axis {
        Axis::Direction => setting.direction.to_string(),
        Axis::Engine => setting.engine.to_string(),
        Axis::Path => setting.path.to_string(),
        Axis::Layout => setting.layout.to_string(),
        Axis::Chunk => setting.chunk_bytes.map_or(String::new(), size),
        // Independent targets are all used at once, in no order.
        Axis::Order if setting.layout == LayoutKind::Independent => String::new(),
        Axis::Order => without_controls(&setting.order.join(",")),
        Axis::RecordSize => size(setting.record_size_bytes),
        Axis::Depth => setting.depth.to_string(),
    }
}

/// A part in percent with one decimal.
pub(crate) fn percent(part: Option<f64>) -> String {
    part.map_or(String::new(), |part| format!("{:.1} %", part * 100.0))
}
