//! Makes the tables of a sweep: all settings, those that failed or were left out, the drift, and
//! the command with the machine. The section of a sweep calls it.

use sustain_document::sweep::Axis;
use sustain_document::sweep::{SweepPoint, SweepResult};

use super::super::table::Table;
use super::super::where_tables::{command_settings_and_machine, machine_words};
use super::facts::{DirectionPicture, rate_of};
use crate::ReportError;
use crate::format::{latency, rate, size, stretch};
use crate::terminal::sweep::{against_cell, as_good, cell, half_width, percent, title};

/// The number of failed settings that are shown: a disk that fails, fails all settings alike.
const FAILED_MAX: usize = 8;
/// The number of settings without a rate that are shown; the document has all.
const UNKNOWN_MAX: usize = 100;

/// The settings that failed; empty if none did.
pub(super) fn failed(result: &SweepResult) -> String {
    let failed = result.points.iter().filter(|point| point.failed.is_some());
    let failed: Vec<&SweepPoint> = failed.collect();
    if failed.is_empty() {
        return String::new();
    }
    let mut table = Table::new("Settings that failed", &[]);
    for point in failed.iter().take(FAILED_MAX) {
        let name = format!("{} failed", point.setting.words);
        table.pair(&name, point.failed.clone().unwrap_or_default());
    }
    let more = failed.len().saturating_sub(FAILED_MAX);
    if more > 0 {
        let settings = if more == 1 { "setting" } else { "settings" };
        table.pair(
            "and",
            format!("{more} more {settings}, marked in the table of all settings"),
        );
    }
    format!("<div class=\"alarm\">{}</div>\n", table.markup())
}

/// Every setting of a direction, the fastest first, then those without a rate.
pub(super) fn settings(facts: &DirectionPicture<'_>) -> String {
    let axes = facts.result.plan.axes.iter().copied();
    let axes: Vec<Axis> = axes.filter(|axis| *axis != Axis::Direction).collect();
    let names: Vec<String> = axes
        .iter()
        .map(|axis| axis.name().replace('_', " "))
        .collect();
    let mut head: Vec<&str> = names.iter().map(String::as_str).collect();
    let has_cpu = |point: &&SweepPoint| point.cpu_seconds_per_gb.is_some();
    let has_cpu = facts.points.iter().any(has_cpu);
    head.extend(["rate", "± 95 %", "spread", "against best"]);
    head.extend(has_cpu.then_some("CPU s/GB"));
    head.extend(["latency p99.9", "latency max", "runs", ""]);
    let grouped = as_good(facts.result, facts.answer);
    let (good, own): (Vec<&SweepPoint>, Vec<&SweepPoint>) = facts
        .points
        .iter()
        .copied()
        .partition(|point| grouped.contains(&point.number));
    let table_of = |points: &[&SweepPoint]| {
        let mut table = Table::new("All settings", &head);
        for point in points {
            let mut row: Vec<String> = axes
                .iter()
                .map(|axis| cell(&point.setting, *axis))
                .collect();
            row.extend(figures(facts, point, has_cpu));
            table.row(row);
        }
        table
    };
    let mut table = table_of(&own);
    for point in facts.unknown.iter().take(UNKNOWN_MAX) {
        let mut row: Vec<String> = axes
            .iter()
            .map(|axis| cell(&point.setting, *axis))
            .collect();
        row.push(match point.failed {
            Some(_) => "failed".to_owned(),
            None => "not measured".to_owned(),
        });
        table.row(row);
    }
    let more = facts.unknown.len().saturating_sub(UNKNOWN_MAX);
    let more = match more {
        0 => String::new(),
        1 => "<p>1 more setting was not measured.</p>\n".to_owned(),
        more => format!("<p>{more} more settings were not measured.</p>\n"),
    };
    format!(
        "<h2>All settings: {}</h2>\n<div class=\"all\">{}</div>\n{more}{}",
        super::super::escape::text(&title(facts.result, facts.answer)),
        table.markup(),
        unfolded(&table_of(&good), good.len())
    )
}

/// The settings that are as good as the best, behind a line to unfold; empty if they are few.
fn unfolded(table: &Table, settings: usize) -> String {
    if settings == 0 {
        return String::new();
    }
    format!(
        "<details><summary>{settings} more settings are as good as the best: they differ from it \
         by no more than noise</summary>\n<div class=\"all\">{}</div></details>\n",
        table.markup()
    )
}

fn figures(facts: &DirectionPicture<'_>, point: &SweepPoint, has_cpu: bool) -> Vec<String> {
    let known = |latency_ns: Option<u64>| latency_ns.map_or(String::new(), latency);
    let against = point.against_best.as_ref();
    let mut figures = vec![
        rate(rate_of(point)),
        percent(half_width(point)),
        percent(point.spread),
        against.map_or(String::new(), |against| {
            against_cell(point, facts.answer, against)
        }),
    ];
    if has_cpu {
        let cpu = point.cpu_seconds_per_gb;
        figures.push(cpu.map_or(String::new(), |cpu| format!("{cpu:.3}")));
    }
    figures.push(known(point.latency_p99_9_ns));
    figures.push(known(point.latency_max_ns));
    figures.push(point.repeats.to_string());
    let mut remarks = Vec::new();
    if facts
        .cheapest()
        .is_some_and(|one| one.number == point.number)
    {
        remarks.push("the cheapest within 2 %");
    }
    if point.failed.is_some() {
        remarks.push("failed in a later run");
    }
    if point.tool_limited {
        remarks.push("limited by this program's CPU time");
    }
    figures.push(remarks.join("; "));
    figures
}

/// The settings that were left out, and why; empty if none was.
pub(super) fn left_out(result: &SweepResult) -> String {
    let mut table = Table::new("Settings left out", &["settings", "such as", "why"]);
    for left_out in &result.left_out {
        table.row(vec![
            left_out.count.to_string(),
            left_out.first.words.clone(),
            left_out.why.clone(),
        ]);
    }
    match table.markup() {
        markup if markup.is_empty() => markup,
        markup => format!("<h2>Settings left out</h2>\n{markup}"),
    }
}

/// The change from round to round; empty with only one round.
pub(super) fn drift(result: &SweepResult) -> String {
    let mut table = Table::new("How steady the disks were", &[]);
    for drift in &result.drift {
        let said = if drift.is_noise {
            "no more than noise explains"
        } else {
            "more than noise explains; the rates are corrected for it"
        };
        let name = format!("change of all {} rates", drift.direction);
        let change = format!("{} from round to round, {said}", percent(Some(drift.share)));
        table.pair(&name, change);
    }
    match table.markup() {
        markup if markup.is_empty() => markup,
        markup => format!("<h2>How steady the disks were</h2>\n{markup}"),
    }
}

/// The settings with the command to copy, and the machine, behind a line to unfold.
pub(super) fn asked_and_where(result: &SweepResult) -> Result<String, ReportError> {
    let plan = &result.plan;
    let mut table = Table::new("Command, settings and machine", &[]);
    if let Some(started) = &plan.started {
        table.pair("started", started);
    }
    table.pair("targets", plan.targets.join(", "));
    table.pair("settings", result.points.len().to_string());
    table.pair("measurements", result.measurements.len().to_string());
    table.pair("time per setting", stretch(plan.time_per_point_s));
    table.pair("rounds", plan.rounds.to_string());
    if let Some(budget_s) = plan.budget_s {
        table.pair("time budget", stretch(budget_s));
    }
    table.pair("time measured", stretch(plan.elapsed_s));
    table.pair("threads", plan.threads.to_string());
    if let Some(bytes) = plan.size_bytes {
        table.pair("used part of each target", size(bytes));
    }
    table.pair("ended", result.ended.name());
    table.pair("seed", plan.seed.to_string());
    table.pair("machine", machine_words(plan.simulated));
    table.pair("sustain version", &plan.sustain_version);
    command_settings_and_machine(&plan.arguments, &table, &result.host)
}
