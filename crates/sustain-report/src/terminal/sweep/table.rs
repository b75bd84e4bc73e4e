//! The table of a sweep's settings in one direction: what they have in common as its title, then a
//! row for each, in as many columns as the terminal has space for.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use sustain_document::sweep::{Axis, SweepAnswer, SweepPoint, SweepResult};
use sustain_experiments::sweep::is_as_good_in_document;

use super::point::{against_cell, cell, half_width, percent};
use crate::format::{latency, rate, size};
use crate::terminal::columns::text_of;
use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// The rows of the table for each direction; the document has all settings.
const ROWS_MAX: usize = 40;
/// This many settings that are as good, or more, are shown as one line.
const AS_GOOD_GROUPED: usize = 5;

/// The settings that cannot be told from the best and come within 2 % of it, if they are so many
/// that they would hide the others. The cheapest keeps its own row.
pub(crate) fn as_good(result: &SweepResult, answer: &SweepAnswer) -> Vec<usize> {
    let is_as_good = |number: &usize| {
        let against = result.points[*number].against_best.as_ref();
        *number != answer.cheapest && against.is_some_and(is_as_good_in_document)
    };
    let good = answer.alike.iter().copied().filter(is_as_good);
    let good: Vec<usize> = good.collect();
    if good.len() < AS_GOOD_GROUPED {
        return Vec::new();
    }
    good
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
    match values.is_empty() {
        true => answer.direction.to_string(),
        false => format!("{}: {}", answer.direction, values.join(", ")),
    }
}

/// The table of a direction. Where the terminal is too narrow, it has fewer columns; where it is
/// too narrow for any table, each setting has a line.
pub(super) fn table(result: &SweepResult, answer: &SweepAnswer, width: usize) -> String {
    let is_shown = |point: &&SweepPoint| {
        point.setting.direction == answer.direction && point.rate_bytes_per_s.is_some()
    };
    let grouped = as_good(result, answer);
    let is_own = |point: &&SweepPoint| !grouped.contains(&point.number);
    let points = result.points.iter().filter(is_shown).filter(is_own);
    let mut points: Vec<&SweepPoint> = points.collect();
    let key = |point: &SweepPoint| point.rate_bytes_per_s.unwrap_or(0.0);
    points.sort_by(|one, other| key(other).total_cmp(&key(one)));
    // The rows that noise alone may have put above it come behind the best.
    points.sort_by_key(|point| point.number != result.points[answer.best].number);
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
    text_of(table, axes.len()..axes.len() + columns.len())
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
