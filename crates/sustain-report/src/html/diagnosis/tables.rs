//! Makes the tables of a diagnosis: the targets that failed, the drift, the rates, and the command
//! with the machine. The section of a diagnosis calls it.

use sustain_document::diagnose::{DiagnoseResult, MemberLimit};

use super::super::table::Table;
use super::super::title::targets;
use super::super::where_tables::{command_settings_and_machine, machine_words};
use super::facts::{DiagnosisPicture, PictureDisk, ratio};
use crate::ReportError;
use crate::format::{percent, rate, size, stretch};
use crate::terminal::diagnosis::chain::{carried, verdict};

/// The targets that failed; empty if none did.
pub(super) fn dropped(result: &DiagnoseResult) -> String {
    let mut table = Table::new("Targets left out", &[]);
    for dropped in &result.dropped {
        let name = format!("{} failed; the result is without it", dropped.target);
        table.pair(&name, &dropped.message);
    }
    match table.markup() {
        markup if markup.is_empty() => markup,
        markup => format!("<div class=\"alarm\">{markup}</div>\n"),
    }
}

/// What each link between the disks and the memory carried; empty if none is known.
pub(super) fn chain(result: &DiagnoseResult) -> String {
    let head = [
        "link",
        "targets",
        "carried",
        "verdict",
        "how its rate is computed",
    ];
    let mut table = Table::new("What each link carried", &head);
    for link in &result.chain {
        table.row(vec![
            link.hop.name.clone(),
            targets(&link.targets, &link.targets),
            carried(link),
            verdict(link),
            link.hop.formula.clone().unwrap_or_default(),
        ]);
    }
    match table.markup() {
        markup if markup.is_empty() => markup,
        markup => format!("<h2>What each link carried</h2>\n{markup}"),
    }
}

/// The noise and the drift of the disks.
pub(super) fn drift(result: &DiagnoseResult) -> String {
    let drift = &result.drift;
    let mut table = Table::new("How steady the disks were", &[]);
    let noise = format!("{:.1} % from run to run", result.noise * 100.0);
    table.pair("noise of one reading", noise);
    if drift.anchors > 0 {
        table.pair(
            "readings repeated to see a change",
            drift.anchors.to_string(),
        );
        let said = if drift.significant {
            "more than noise explains"
        } else {
            "no more than noise explains"
        };
        let change = format!("{:+.1} %, {said}", drift.largest_change * 100.0);
        table.pair("largest change", change);
    }
    if drift.alone_repeated {
        table.pair("rates alone", "measured again because of the change");
    }
    format!("<h2>How steady the disks were</h2>\n{}", table.markup())
}

/// The rate of each disk alone and with all active.
pub(super) fn alone(facts: &DiagnosisPicture<'_>) -> String {
    let mut table = Table::new(
        "Rates alone",
        &[
            "target",
            "rate alone",
            "rate with all active",
            "part of alone",
            "even share",
            "limited by",
        ],
    );
    let told = |rate_bytes_per_s: Option<f64>| {
        rate_bytes_per_s.map_or_else(|| "not measured".to_owned(), rate)
    };
    for disk in &facts.disks {
        table.row(vec![
            disk.name.to_owned(),
            told(disk.alone_bytes_per_s),
            told(disk.together_bytes_per_s),
            part(disk),
            disk.fair_bytes_per_s.map_or_else(String::new, rate),
            match disk.limit {
                None | Some(MemberLimit::Nothing) => String::new(),
                Some(MemberLimit::Wall { wall }) => {
                    format!("wall {}{}", wall + 1, facts.doubt(wall))
                }
                Some(MemberLimit::Unknown) => "no wall explains it".to_owned(),
            },
        ]);
    }
    format!("<h2>Rates</h2>\n{}", table.markup())
}

fn part(disk: &PictureDisk<'_>) -> String {
    let rates = disk.together_bytes_per_s.zip(disk.alone_bytes_per_s);
    let part = rates.and_then(|(together, alone)| ratio(together, alone));
    part.map_or_else(String::new, percent)
}

/// The settings with the command to copy, and the machine, behind a line to unfold.
pub(super) fn asked_and_where(result: &DiagnoseResult) -> Result<String, ReportError> {
    let plan = &result.plan;
    let mut table = Table::new("Command, settings and machine", &[]);
    if let Some(started) = &plan.started {
        table.pair("started", started);
    }
    table.pair("direction", plan.direction.name());
    table.pair("targets", plan.targets.join(", "));
    let engine = format!("{}: {}", plan.engine_used, plan.engine_why);
    table.pair("engine", engine);
    table.pair("threads", plan.threads.to_string());
    table.pair("record size", size(plan.record_size_bytes));
    table.pair("depth per target", plan.depth.to_string());
    table.pair("I/O path", plan.path.name());
    table.pair("time per run", stretch(plan.time_per_run_s));
    if let Some(bytes) = plan.size_bytes {
        table.pair("used part of each target", size(bytes));
    }
    table.pair("ended", result.ended.name().replace('_', " "));
    table.pair("seed", plan.seed.to_string());
    table.pair("machine", machine_words(plan.simulated));
    table.pair("sustain version", &plan.sustain_version);
    command_settings_and_machine(&plan.arguments, &table, &result.host)
}
