//! Draws a comparison on the page: the answer, a table per target and the notes, and the runs as a
//! picture if two settings were measured in turn (a trial). The page of saved comparisons has a
//! section of each; the page of two saved runs begins with this one.

use sustain_document::compare::Side;
use sustain_document::compare::{
    CompareResult, CompareTrial, ComparedRow, LimitOutcome, RowVerdict, TrialEnd,
};
use sustain_targets::shell_argument;

use super::chart::{Arrangement, Figure, Key, Panel, Quantity, Scale, TimeUnit};
use super::page::Sectioned;
use super::table::Table;
use super::tiles::{self, Standing, Tiles};
use super::{escape, section};
use crate::ReportError;
use crate::format::{rate, stretch};
use crate::terminal::compare::{
    figure, interval, metric_name, own_targets, percent, signed, verdict,
};
use crate::terminal::compare_sentence;

impl Sectioned for CompareResult {
    const PLURAL: &'static str = "comparisons";

    fn title(&self) -> String {
        name(self)
    }

    fn version(&self) -> &str {
        &self.plan.sustain_version
    }

    fn overview(results: &[CompareResult]) -> String {
        overview(results)
    }

    fn section(&self, index: usize) -> Result<String, ReportError> {
        Ok(match &self.trial {
            Some(trial) => trial_section(self, trial, index),
            None => format!(
                "<section>\n{}{}</section>\n",
                saved_runs(self),
                where_runs_are(self)
            ),
        })
    }
}

/// The title: `friday.json compared with monday.json`.
fn name(result: &CompareResult) -> String {
    format!("{} compared with {}", result.b.label, result.a.label)
}

/// Tells how to draw the runs: a comparison has their figures, but not their series.
fn where_runs_are(result: &CompareResult) -> String {
    let files = [&result.a.label, &result.b.label].map(|label| shell_argument(label));
    let command = format!("sustain report {} -o runs.html", files.join(" "));
    format!(
        "<p>To draw the runs themselves: <code>{}</code>.</p>\n",
        escape::text(&command)
    )
}

fn overview(results: &[CompareResult]) -> String {
    let mut table = Table::new(
        "All comparisons",
        &["comparison", "A", "B", "B - A", "95 % interval", "verdict"],
    );
    for (index, result) in results.iter().enumerate() {
        let mut cells = vec![format!("{}. {}", index + 1, name(result))];
        match result.rows.get(result.answer.row) {
            Some(row) => cells.extend([
                figure(row, row.a),
                figure(row, row.b),
                row.ratio.map_or(String::new(), signed),
                unbroken(&interval(row)),
                unbroken(verdict(row)),
            ]),
            None => cells.push("Nothing was measured.".to_owned()),
        }
        table.row(cells);
    }
    let heading = escape::text(&format!("{} comparisons", results.len()));
    format!(
        "<section>\n<h1>{heading}</h1>\n{}</section>\n",
        table.markup()
    )
}

/// The comparison of two saved runs, from the answer to the notes.
pub(super) fn saved_runs(result: &CompareResult) -> String {
    format!(
        "<h1>B compared with A</h1>\n{}{}{}",
        answer(result),
        tables(result),
        notes(result)
    )
}

/// The answer and its figures. It is no where a limit is exceeded.
fn answer(result: &CompareResult) -> String {
    let limit = result.limit.as_ref().map(|limit| limit.outcome);
    let row = result.rows.get(result.answer.row);
    let standing = match (limit, row.map(|row| row.verdict)) {
        (Some(LimitOutcome::Slower | LimitOutcome::Failed), _) => Standing::Bad,
        (Some(LimitOutcome::CannotBeTold), _) | (_, Some(RowVerdict::NotJudged) | None) => {
            Standing::Open
        }
        _ => Standing::Plain,
    };
    let mut tiles = Tiles::default();
    if let Some(row) = row {
        let metric = metric_name(row.metric);
        tiles.add(&figure(row, row.a), &format!("{metric} of A"));
        tiles.add(&figure(row, row.b), &format!("{metric} of B"));
        let difference = row.ratio.map_or_else(|| "?".to_owned(), signed);
        let between = match interval(row) {
            words if words.is_empty() => String::new(),
            words => format!("; with 95 % certainty {words}"),
        };
        let words = format!("B against A: {}{between}", verdict(row));
        tiles.stand(standing, &difference, &words);
    }
    tiles::answer(standing, &compare_sentence(result), &tiles)
}

/// A table of what A and B are, and a table per target.
fn tables(result: &CompareResult) -> String {
    let mut columns = vec!["", "name", "work", "started", "length", "engine"];
    let own = own_targets(result);
    let have_own = own.iter().any(|targets| !targets.is_empty());
    columns.extend(have_own.then_some("targets"));
    let mut sides = Table::new("The two runs", &columns);
    for ((letter, side), own) in [("A", &result.a), ("B", &result.b)].into_iter().zip(own) {
        let mut cells = vec![
            letter.to_owned(),
            side.label.clone(),
            side.words.clone(),
            side.started
                .clone()
                .unwrap_or_else(|| "simulated time".to_owned()),
            stretch(side.seconds),
            side.engine.clone(),
        ];
        cells.extend(have_own.then(|| own.join("; ")));
        sides.row(cells);
    }
    let mut markup = sides.markup();
    let mut shown: Vec<&Option<String>> = Vec::new();
    for row in &result.rows {
        if shown.contains(&&row.target) {
            continue;
        }
        shown.push(&row.target);
        let own = result
            .rows
            .iter()
            .filter(|other| other.target == row.target);
        let name = row.target.as_deref().unwrap_or("all targets together");
        markup.push_str(&format!("<h3>{}</h3>\n", escape::text(name)));
        markup.push_str(&table(own).markup());
    }
    markup
}

fn table<'a>(rows: impl Iterator<Item = &'a ComparedRow>) -> Table {
    let mut table = Table::new(
        "Differences",
        &[
            "",
            "A",
            "B",
            "B - A",
            "95 % interval",
            "verdict",
            "resolution",
            "how it is judged",
        ],
    );
    for row in rows {
        table.row(vec![
            unbroken(metric_name(row.metric)),
            figure(row, row.a),
            figure(row, row.b),
            row.ratio.map_or(String::new(), signed),
            unbroken(&interval(row)),
            unbroken(verdict(row)),
            row.resolution.map_or(String::new(), percent),
            row.how.clone(),
        ]);
    }
    table
}

/// Keeps a figure on one line: on two lines it is hard to read.
fn unbroken(words: &str) -> String {
    words.replace(' ', "\u{a0}")
}

/// The reasons for the verdict on the limit, and the notes that are needed to read the figures.
fn notes(result: &CompareResult) -> String {
    let limit = result.limit.iter().flat_map(|limit| &limit.why);
    let all: Vec<String> = limit.chain(&result.notes).cloned().collect();
    section::notes(&all)
}

/// The section of a trial.
fn trial_section(result: &CompareResult, trial: &CompareTrial, index: usize) -> String {
    let how = format!(
        "A and B were measured in turn, {} runs of {} in {} in all. {}",
        trial.runs.len(),
        stretch(trial.time_per_run_s),
        stretch(trial.elapsed_s),
        match trial.ended {
            TrialEnd::Shown => "Measuring ended as soon as a difference showed.",
            TrialEnd::Alike =>
                "Measuring ended as soon as a difference that matters was ruled out.",
            TrialEnd::Time => "Measuring ended with the time that it was given.",
            TrialEnd::Failed => "A failure ended it.",
            _ => "It was interrupted.",
        }
    );
    format!(
        "<section>\n<h1>B compared with A, measured in turn</h1>\n{}<p>{}</p>\n{}{}{}</section>\n",
        answer(result),
        escape::text(&how),
        tables(result),
        runs_chart(result, trial, index).markup(),
        notes(result)
    )
}

/// A chart of every run at its time.
fn runs_chart(result: &CompareResult, trial: &CompareTrial, index: usize) -> Figure {
    let unit = TimeUnit::for_run(trial.elapsed_s);
    let across = Scale::time(0.0, trial.elapsed_s, unit);
    let rates = trial.runs.iter().map(|run| run.rate_bytes_per_s);
    let most = rates.clone().fold(1.0, f64::max);
    let least = rates.fold(most, f64::min);
    let room = (most - least).max(most * 0.02) * 0.2;
    let up = Scale::between(Quantity::Rate, (least - room).max(0.0), most + room);
    let mut panel = Panel::new("Rate of each run", 300, &across, up);
    let sides = [(Side::A, "A", &result.a), (Side::B, "B", &result.b)];
    let mut keys = Vec::new();
    for (place, (side, letter, what)) in sides.into_iter().enumerate() {
        let key = Key::new(place, &format!("{letter} {}", what.label));
        let runs = trial.runs.iter().filter(|run| run.side == side);
        let runs: Vec<(f64, f64)> = runs.map(|run| (run.at_s, run.rate_bytes_per_s)).collect();
        panel.line(&key, &key.name, "thin", &runs);
        for (at_s, rate_bytes_per_s) in &runs {
            let words = format!("{letter}: {}", rate(*rate_bytes_per_s));
            let class = format!("dot {} side-{letter}", key.ink);
            panel.mark(&class, (*at_s, *rate_bytes_per_s), &words);
        }
        keys.push(key);
    }
    Figure {
        id: format!("trial-{index}"),
        heading: "The runs in their order".to_owned(),
        caption: "Each mark is the rate of a run over all targets. The vertical axis does not \
                  begin at zero."
            .to_owned(),
        keys,
        panels: vec![panel],
        arrangement: Arrangement::Stacked,
    }
}
