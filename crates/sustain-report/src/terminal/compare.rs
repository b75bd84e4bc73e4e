//! Shows a comparison to a person: the answer in words, a table per target, and the notes. The
//! command prints what this module returns; nothing here decides.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use sustain_disk::units::DisplayPosition;
use sustain_document::compare::{
    CompareResult, ComparedRow, ComparedTarget, LimitOutcome, Metric, MetricUnit, RowVerdict,
    TrialEnd,
};

use super::columns::text_of;
use super::wrapped::wrapped;
use super::{SIMULATED, sentences, without_controls};
use crate::format::{latency, rate, stretch};

/// The number of targets that the answer names.
const NAMED_MAX: usize = 6;

/// The answer, each line ending with a newline. `width` is the terminal's, in columns.
#[must_use]
pub fn compare_answer(result: &CompareResult, width: usize) -> String {
    wrapped(&without_controls(&compare_sentence(result)), width)
}

/// Between further ends, an interval says nothing that helps.
const INTERVAL_TIMES_MAX: f64 = 10.0;

/// The answer: "B is 4.2 % slower than A (95 % interval: 3.1 % to 5.3 %), more than noise
/// explains."
#[must_use]
pub fn compare_sentence(result: &CompareResult) -> String {
    let mut clauses = Vec::new();
    if let Some(trial) = &result.trial {
        if trial.ended == TrialEnd::Interrupted {
            clauses.push(
                "The comparison was interrupted; the answer rests on what was measured until then"
                    .to_owned(),
            );
        }
        if let Some(why) = &trial.failed {
            clauses.push(format!("A run failed: {}", without_controls(why)));
        }
    }
    match result.rows.get(result.answer.row) {
        Some(row) => {
            clauses.push(answer(result, row));
            clauses.extend(beside_rate(result));
        }
        None => clauses.push("Nothing was measured".to_owned()),
    }
    clauses.extend(targets(result));
    if let Some(limit) = &result.limit {
        let most = percent(limit.slower_by_max);
        clauses.push(match limit.outcome {
            LimitOutcome::Failed => limit.why.first().map_or_else(String::new, |why| {
                format!("B fails the check: {}", without_controls(why))
            }),
            LimitOutcome::Slower => format!(
                "B is slower by more than the {most} that --fail-if-slower allows: {}",
                without_controls(&limit.slower.join(", "))
            ),
            LimitOutcome::Held => {
                format!("B is not slower by more than the {most} that --fail-if-slower allows")
            }
            _ => format!(
                "Whether B is slower by more than the {most} that --fail-if-slower allows cannot \
                 be told: the runs are too short or too noisy"
            ),
        });
    }
    if result.trial.as_ref().is_some_and(|trial| trial.simulated) {
        clauses.push(SIMULATED.to_owned());
    }
    sentences(&clauses)
}

fn answer(result: &CompareResult, row: &ComparedRow) -> String {
    let what = match row.metric {
        Metric::SustainedRate => " (sustained rate)",
        Metric::Rate if result.trial.is_none() => " (rate over the bytes that both moved)",
        _ => "",
    };
    let Some([low, high]) = row.ci95_ratio else {
        let both = format!("A {}, B {}", figure(row, row.a), figure(row, row.b));
        return format!(
            "Whether B differs from A cannot be told ({both}): {}",
            row.how
        );
    };
    let ratio = row.ratio.unwrap_or(1.0);
    match row.verdict {
        RowVerdict::NoDifferenceShown if is_no_estimate([low, high]) => format!(
            "Whether B differs from A cannot be told: A {}, B {}, and the runs are too few, or \
             differ too much from each other; measure longer",
            figure(row, row.a),
            figure(row, row.b)
        ),
        RowVerdict::Slower => format!(
            "B is {} slower than A{what}, more than noise explains; the 95 % interval is {} to {}",
            percent(1.0 - ratio),
            percent(1.0 - high),
            percent(1.0 - low)
        ),
        RowVerdict::Faster => format!(
            "B is {} faster than A{what}, more than noise explains; the 95 % interval is {} to {}",
            percent(ratio - 1.0),
            percent(low - 1.0),
            percent(high - 1.0)
        ),
        _ => {
            let quantity = match row.metric {
                Metric::SustainedRate => "the sustained rate",
                Metric::Rate if result.trial.is_none() => "the rate over the bytes that both moved",
                _ => "the rate",
            };
            // The interval says what is left possible; a smaller figure beside it would deny that.
            let possible = (1.0 - low).max(high - 1.0).max(0.0);
            // One run of each has seen nothing of what differs only from run to run.
            let of_what = match result.trial {
                None => {
                    " between these two runs; other runs may differ by more, for example where a \
                     cache is in another state"
                }
                Some(_) => "",
            };
            format!(
                "No difference in {quantity} was found between A and B beyond noise: B has {} to \
                 {} % of A's (95 % interval), which rules out a difference of more than \
                 {}{of_what}",
                plain_percent(low),
                plain_percent(high),
                percent(possible)
            )
        }
    }
}

/// Names the other figures that differ, such as latencies: the answer is about the rate alone.
fn beside_rate(result: &CompareResult) -> Option<String> {
    let is_several = result.rows.iter().any(|row| row.target.is_none())
        && result.rows.iter().any(|row| row.target.is_some());
    let rows = result.rows.iter().filter(|row| {
        let is_shown = matches!(row.verdict, RowVerdict::Slower | RowVerdict::Faster);
        is_shown && row.unit != MetricUnit::BytesPerS
    });
    let mut listed: Vec<String> = rows
        .filter_map(|row| {
            let on = match &row.target {
                Some(target) if is_several => format!(" on {}", without_controls(target)),
                _ => String::new(),
            };
            let name = metric_name(row.metric);
            Some(format!("{name} {}{on}", signed(row.ratio?)))
        })
        .collect();
    let more = listed.len().saturating_sub(NAMED_MAX);
    listed.truncate(NAMED_MAX);
    if more > 0 {
        listed.push(format!("{more} more in the table"));
    }
    (!listed.is_empty()).then(|| {
        format!(
            "Besides the rate, these differ by more than noise: {}",
            listed.join(", ")
        )
    })
}

/// Names the single targets that differ, where there are several.
fn targets(result: &CompareResult) -> Vec<String> {
    let is_several = result.rows.iter().any(|row| row.target.is_none());
    if !is_several || result.trial.is_some() {
        return Vec::new();
    }
    let words = |names: &[String], how: &str| {
        if names.is_empty() {
            return None;
        }
        let shown = names.iter().take(NAMED_MAX);
        let mut listed: Vec<String> = shown.map(|name| without_controls(name)).collect();
        let more = names.len().saturating_sub(NAMED_MAX);
        if more > 0 {
            listed.push(format!("{more} more"));
        }
        let (are, targets) = if names.len() == 1 {
            ("is", "This single target")
        } else {
            ("are", "These single targets")
        };
        Some(format!("{targets} {are} {how} in B: {}", listed.join(", ")))
    };
    let answer = &result.answer;
    let slower = words(&answer.slower_targets, "slower");
    let faster = words(&answer.faster_targets, "faster");
    slower.into_iter().chain(faster).collect()
}

/// The descriptions of A and B, the tables and the notes, each line ending with a newline. `width`
/// is the terminal's, in columns.
#[must_use]
pub fn compare_text(result: &CompareResult, width: usize) -> String {
    let mut text = String::from("\n");
    let own = own_targets(result);
    for ((letter, side), own) in [("A", &result.a), ("B", &result.b)].into_iter().zip(own) {
        let started = side.started.as_deref().unwrap_or("simulated time");
        let line = format!(
            "{letter}: {} ({}, {}, {})",
            side.label,
            side.words,
            stretch(side.seconds),
            started
        );
        text.push_str(&wrapped(&without_controls(&line), width));
        for line in own {
            text.push_str(&wrapped(&without_controls(&format!("   {line}")), width));
        }
    }
    let groups: Vec<&[ComparedRow]> = result
        .rows
        .chunk_by(|one, other| one.target == other.target)
        .collect();
    let tables = tables(&groups, width);
    let heading = CompareColumn::Resolution.heading();
    let is_resolution_shown = tables.iter().any(|table| table.contains(heading));
    for (rows, table) in groups.iter().zip(tables) {
        let name = rows[0].target.as_deref().unwrap_or("all together");
        let _ = writeln!(text, "\n{}", without_controls(name));
        text.push_str(&table);
        if let Some(line) = rate_over(result, rows) {
            text.push_str(&wrapped(&without_controls(&line), width));
        }
    }
    if is_resolution_shown {
        text.push_str(&wrapped(RESOLUTION, width));
    }
    text.push('\n');
    let limit = result.limit.iter().flat_map(|limit| &limit.why);
    let limit = limit.map(|why| format!("limit: {why}"));
    let notes = result.notes.iter().map(|note| format!("note: {note}"));
    for line in limit.chain(notes) {
        text.push_str(&wrapped(&without_controls(&line), width));
    }
    text
}

/// What the targets of A and of B are and where they lie, where settings that were measured in turn
/// had targets of their own; otherwise nothing.
pub(crate) fn own_targets(result: &CompareResult) -> [Vec<String>; 2] {
    let sides = [&result.a, &result.b].map(|side| &side.targets);
    if result.trial.is_none() || sides[0] == sides[1] {
        return [Vec::new(), Vec::new()];
    }
    let words = |target: &ComparedTarget| {
        let kind = target.kind.to_string().replace('_', " ");
        let place = target.place.as_ref().map_or_else(String::new, |place| {
            format!(
                ", at {} to {} of {}",
                DisplayPosition(place.from_bytes),
                DisplayPosition(place.to_bytes),
                place.disk
            )
        });
        format!("{}: {kind}{place}", target.name)
    };
    sides.map(|targets| targets.iter().map(words).collect())
}

/// The meaning of the column, in plain words.
const RESOLUTION: &str = "  resolution: a difference of this size would have been seen four times \
                          out of five; a smaller one may have been missed";

/// Over which bytes the rate is, where it is of a part of a run. A run that went further has
/// another rate beside each other run.
fn rate_over(result: &CompareResult, rows: &[ComparedRow]) -> Option<String> {
    let is_of_part = |row: &&ComparedRow| row.metric == Metric::Rate && row.ci95_ratio.is_some();
    let row = rows.iter().find(is_of_part)?;
    let is_of_two_runs = result.trial.is_none();
    is_of_two_runs.then(|| format!("  rate: {}", row.how))
}

/// The tables of all targets, with the same columns. Where the terminal is too narrow, they have
/// fewer columns; where it is too narrow for any table, each row is a line.
fn tables(groups: &[&[ComparedRow]], width: usize) -> Vec<String> {
    let fits = |table: &String| table.lines().all(|line| line.chars().count() <= width);
    let of_columns = |columns: &&[CompareColumn]| -> Vec<String> {
        let tables = groups.iter().map(|rows| table_of(rows, columns));
        tables.collect()
    };
    let mut forms = COLUMNS.iter().map(of_columns);
    let form = forms.find(|tables| tables.iter().all(fits));
    form.unwrap_or_else(|| {
        let lines = |rows: &&[ComparedRow]| {
            let lines = rows.iter().map(|row| wrapped(&line_of(row), width));
            lines.collect()
        };
        groups.iter().map(lines).collect()
    })
}

/// A column of a table, besides the name of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompareColumn {
    A,
    B,
    Difference,
    Interval,
    Verdict,
    ShortVerdict,
    Resolution,
}

/// All columns, and then without those that the others imply.
const COLUMNS: [&[CompareColumn]; 4] = {
    use CompareColumn::{A, B, Difference, Interval, Resolution, ShortVerdict, Verdict};
    [
        &[A, B, Difference, Interval, Verdict, Resolution],
        &[A, B, Difference, Interval, Verdict],
        &[A, B, Interval, Verdict],
        &[A, B, Interval, ShortVerdict],
    ]
};

impl CompareColumn {
    fn heading(self) -> &'static str {
        match self {
            CompareColumn::A => "A",
            CompareColumn::B => "B",
            CompareColumn::Difference => "B - A",
            CompareColumn::Interval => "95 % interval",
            CompareColumn::Verdict | CompareColumn::ShortVerdict => "verdict",
            CompareColumn::Resolution => "resolution",
        }
    }

    fn cell(self, row: &ComparedRow) -> String {
        match self {
            CompareColumn::A => figure(row, row.a),
            CompareColumn::B => figure(row, row.b),
            CompareColumn::Difference => row.ratio.map_or(String::new(), signed),
            CompareColumn::Interval => interval(row),
            CompareColumn::Verdict => verdict(row).to_owned(),
            CompareColumn::ShortVerdict => verdict(row).replace("no difference", "none"),
            CompareColumn::Resolution => row.resolution.map_or(String::new(), percent),
        }
    }
}

fn table_of(rows: &[ComparedRow], columns: &[CompareColumn]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let headings = columns.iter().map(|column| column.heading());
    table.set_header([""].into_iter().chain(headings));
    for row in rows {
        let cells = columns.iter().map(|column| column.cell(row));
        let name = metric_name(row.metric).to_owned();
        table.add_row([name].into_iter().chain(cells));
    }
    let is_words = |column: &CompareColumn| {
        matches!(column, CompareColumn::Verdict | CompareColumn::ShortVerdict)
    };
    let figures = columns.iter().enumerate();
    let figures = figures.filter(|(_, column)| !is_words(column));
    text_of(table, figures.map(|(index, _)| 1 + index))
}

/// `  sustained rate: A 100 MB/s, B 95.0 MB/s, -5.0 % (-5.2 % to -4.8 %): slower`.
fn line_of(row: &ComparedRow) -> String {
    let difference = row.ratio.map_or(String::new(), |ratio| {
        let interval = match interval(row) {
            none if none.is_empty() => none,
            some => format!(" ({some})"),
        };
        format!(", {}{interval}", signed(ratio))
    });
    format!(
        "  {}: A {}, B {}{difference}: {}",
        metric_name(row.metric),
        figure(row, row.a),
        figure(row, row.b),
        verdict(row)
    )
}

/// The name of a metric for people.
pub(crate) fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::SustainedRate => "sustained rate",
        Metric::LatencyTypicalMax => "usual max latency",
        Metric::LatencyP50 => "p50 latency",
        Metric::LatencyP99 => "p99 latency",
        Metric::LatencyP99_9 => "p99.9 latency",
        Metric::LatencyMax => "max latency",
        Metric::CpuPerGb => "CPU time per GB",
        other => other.name(),
    }
}

/// A row's value with its unit.
pub(crate) fn figure(row: &ComparedRow, value: f64) -> String {
    match row.unit {
        MetricUnit::BytesPerS => rate(value),
        MetricUnit::Ns => latency(value.round() as u64),
        _ => format!("{value:.3} s"),
    }
}

/// The verdict for people.
pub(crate) fn verdict(row: &ComparedRow) -> &'static str {
    let is_rate = row.unit == MetricUnit::BytesPerS;
    match (row.verdict, is_rate) {
        (RowVerdict::Slower, true) => "slower",
        (RowVerdict::Faster, true) => "faster",
        (RowVerdict::Slower, false) => "more",
        (RowVerdict::Faster, false) => "less",
        (RowVerdict::NoDifferenceShown, _) => "no difference shown",
        _ => "no interval",
    }
}

/// The 95 % interval of B's difference from A.
pub(crate) fn interval(row: &ComparedRow) -> String {
    match row.ci95_ratio {
        None => String::new(),
        Some(ends) if is_no_estimate(ends) => "too few runs".to_owned(),
        Some([low, high]) => format!("{} to {}", signed(low), signed(high)),
    }
}

/// Whether an interval is so wide that it says nothing.
fn is_no_estimate([low, high]: [f64; 2]) -> bool {
    high > low * INTERVAL_TIMES_MAX
}

/// The distance of a ratio from one: `-4.2 %`.
pub(crate) fn signed(ratio: f64) -> String {
    // No minus before a zero.
    let share = ((ratio - 1.0) * 1000.0).round() / 10.0 + 0.0;
    format!("{share:+.1} %")
}

/// A part of a whole: `4.2 %`, with another digit where it is small.
pub(crate) fn percent(part: f64) -> String {
    format!("{} %", plain_percent(part))
}

fn plain_percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent.abs() < 0.995 {
        format!("{:.2}", (percent * 100.0).round() / 100.0 + 0.0)
    } else {
        format!("{percent:.1}")
    }
}
