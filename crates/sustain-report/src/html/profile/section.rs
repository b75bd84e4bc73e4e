//! Draws one profile on the page: the answer, the figures, the picture, the findings in words, and
//! the settings.

use sustain_document::profile::{CurveShape, ProfileResult, ProfileTarget, TogetherShape};
use sustain_document::vocabulary::Direction;
use sustain_document::vocabulary::ExperimentEnd;

use super::super::escape;
use super::super::section::{kernel_messages, notes};
use super::super::table::{Table, glued};
use super::super::tiles::{Standing, Tiles};
use super::super::title::{on_simulated, targets};
use super::super::where_tables::{command_settings_and_machine, machine_words};
use super::curve_chart;
use crate::ReportError;
use crate::format::{part, percent, position, rate, size, stretch};
use crate::terminal::SIMULATED;

/// The lines on all targets at once that are part of the answer: their rate, and what they share.
const LINES_TOGETHER: usize = 2;

/// The title: `Rate by position on hda and hdb`.
pub(super) fn name(result: &ProfileResult) -> String {
    let plan = &result.plan;
    let targets = targets(&plan.target_names, &plan.targets);
    format!(
        "Rate by position on {targets}{}",
        on_simulated(plan.simulated)
    )
}

/// The section of this profile; `index` keeps its charts apart from those of others.
pub(super) fn section(result: &ProfileResult, index: usize) -> Result<String, ReportError> {
    let mut markup = format!("<section>\n<h1>{}</h1>\n", escape::text(&name(result)));
    markup.push_str(&answer(result));
    markup.push_str(&errors(result));
    markup.push_str(&figures(result));
    for (number, direction) in directions(result).into_iter().enumerate() {
        let id = format!("profile-{index}-{number}");
        markup.push_str(&curve_chart::curve_chart(result, direction, id).markup());
    }
    markup.push_str(&words(result));
    markup.push_str(&zones(result));
    markup.push_str(&notes(&result.notes));
    markup.push_str(&kernel_messages(&result.system));
    markup.push_str(&asked(result)?);
    markup.push_str("</section>\n");
    Ok(markup)
}

/// Each direction once, in the order of the curves.
fn directions(result: &ProfileResult) -> Vec<Direction> {
    let mut found: Vec<Direction> = Vec::new();
    for target in &result.targets {
        if !found.contains(&target.direction) {
            found.push(target.direction);
        }
    }
    found
}

fn answer(result: &ProfileResult) -> String {
    let first = |heading: String, verdict: &[String], lines: usize| {
        let first: Vec<&str> = verdict.iter().take(lines).map(String::as_str).collect();
        (heading, first.join("; "))
    };
    let together = result.together.iter();
    let together =
        together.map(|one| first(one.direction.to_string(), &one.verdict, LINES_TOGETHER));
    let mut lines: Vec<(String, String)> = together.collect();
    if lines.is_empty() {
        let alone = result.targets.iter().map(|one| {
            let heading = format!("{}, {}", one.name, one.direction);
            first(heading, &one.verdict, 1)
        });
        lines = alone.collect();
    }
    let ended = match result.ended {
        ExperimentEnd::Done => "",
        _ => "The profile was interrupted; the answer rests on what was measured until then.<br>\n",
    };
    let said = lines
        .iter()
        .map(|(heading, line)| escape::text(&glued(&format!("{heading}: {line}"))));
    let said: Vec<String> = said.collect();
    let simulated = match result.plan.simulated {
        true => format!("<p>{SIMULATED}.</p>\n"),
        false => String::new(),
    };
    format!(
        "<p class=\"answer\">{ended}{}</p>\n{}{simulated}",
        said.join("<br>\n"),
        tiles(result).markup()
    )
}

/// The figures of all at once, or of a single target; and the bad spots of all.
fn tiles(result: &ProfileResult) -> Tiles {
    let mut tiles = Tiles::default();
    let rates = |of: &str, rates: [Option<f64>; 3], tiles: &mut Tiles| {
        let words = [
            "on average",
            "at the start",
            "at the lowest, outside bad spots",
        ];
        for (words, found) in words.into_iter().zip(rates) {
            if let Some(found) = found {
                tiles.add(&rate(found), &format!("{of}, {words}"));
            }
        }
    };
    for one in &result.together {
        let of = format!("all at once, {}", one.direction);
        let found = [
            one.mean_rate_bytes_per_s,
            one.outer_rate_bytes_per_s,
            one.inner_rate_bytes_per_s,
        ];
        rates(&of, found, &mut tiles);
        let limit = one.shared_limit.as_ref();
        if let Some(limit) = limit.and_then(|limit| limit.rate_bytes_per_s) {
            tiles.add(&rate(limit), "a limit that the targets share");
        }
    }
    if let ([only], []) = (result.targets.as_slice(), result.together.as_slice()) {
        let found = [
            only.mean_rate_bytes_per_s,
            only.outer_rate_bytes_per_s,
            only.inner_rate_bytes_per_s,
        ];
        rates(&only.direction.to_string(), found, &mut tiles);
    }
    let spots: usize = result
        .targets
        .iter()
        .map(|one| one.bad_spots().count())
        .sum();
    let (standing, words) = match spots {
        0 => (Standing::Plain, "bad spots"),
        1 => (Standing::Bad, "bad spot"),
        _ => (Standing::Bad, "bad spots"),
    };
    tiles.stand(standing, &spots.to_string(), words);
    let failed = result.targets.iter().filter(|one| !one.errors.is_empty());
    match failed.count() {
        0 => {}
        failed => tiles.stand(Standing::Bad, &failed.to_string(), "targets failed"),
    }
    tiles
}

fn errors(result: &ProfileResult) -> String {
    let mut table = Table::new("Errors", &[]);
    for target in &result.targets {
        if let Some(first) = target.errors.first() {
            let more = target.errors.len() - 1;
            let more = if more == 0 {
                String::new()
            } else {
                format!(" (and {more} more)")
            };
            table.pair(&format!("{} failed", target.name), format!("{first}{more}"));
        }
    }
    match table.markup() {
        markup if markup.is_empty() => markup,
        markup => format!("<div class=\"alarm\">{markup}</div>\n"),
    }
}

fn figures(result: &ProfileResult) -> String {
    let mut table = Table::new(
        "Figures of each target",
        &[
            "target",
            "mean rate",
            "rate at the start",
            "lowest rate outside bad spots",
            "bad spots",
            "decrease",
            "shape",
            "noise of a sample",
        ],
    );
    let told = |found: Option<f64>| found.map_or_else(|| "not measured".to_owned(), rate);
    for target in &result.targets {
        table.row(vec![
            format!("{}, {}", target.name, target.direction),
            told(target.mean_rate_bytes_per_s),
            told(target.outer_rate_bytes_per_s),
            told(target.inner_rate_bytes_per_s),
            spots(target),
            target.fall.map_or_else(String::new, percent),
            shape(target),
            format!("{:.1} %", target.noise * 100.0),
        ]);
    }
    for together in &result.together {
        table.row(vec![
            format!("all at once, {}", together.direction),
            told(together.mean_rate_bytes_per_s),
            told(together.outer_rate_bytes_per_s),
            told(together.inner_rate_bytes_per_s),
            String::new(),
            String::new(),
            match together.shape {
                TogetherShape::Free => "no shared limit found".to_owned(),
                other => other.to_string(),
            },
            format!("{:.1} %", together.noise * 100.0),
        ]);
    }
    table.markup()
}

/// The number of bad spots, their bytes and their lowest rate: `2 of 30.0 MB, down to 5.00 MB/s`.
fn spots(target: &ProfileTarget) -> String {
    let lengths = target
        .bad_spots()
        .map(|spot| spot.to_byte.saturating_sub(spot.from_byte));
    let bytes = position(lengths.sum());
    match (target.bad_spots().count(), target.least_in_bad_spots()) {
        (0, _) => "none".to_owned(),
        (count, Some(least)) => format!("{count} of {bytes}, down to {}", rate(least)),
        (count, None) => format!("{count} of {bytes}"),
    }
}

fn shape(target: &ProfileTarget) -> String {
    match target.shape {
        CurveShape::Flat if target.is_too_noisy() => "too noisy to tell".to_owned(),
        CurveShape::Zones => format!("{} zones", target.zones.len()),
        CurveShape::Flat => format!("flat within {:.1} %", target.resolution * 100.0),
        other => other.to_string(),
    }
}

/// All findings, target by target.
fn words(result: &ProfileResult) -> String {
    let mut markup = String::from("<h2>Findings</h2>\n");
    let together = result
        .together
        .iter()
        .map(|one| (format!("All at once, {}", one.direction), &one.verdict));
    let alone = result
        .targets
        .iter()
        .map(|one| (format!("{}, {}", one.name, one.direction), &one.verdict));
    for (heading, verdict) in together.chain(alone) {
        let lines = verdict
            .iter()
            .map(|line| format!("<li>{}</li>\n", escape::text(&glued(line))));
        markup.push_str(&format!(
            "<h3>{}</h3>\n<ul>\n{}</ul>\n",
            escape::text(&heading),
            lines.collect::<String>()
        ));
    }
    markup
}

fn zones(result: &ProfileResult) -> String {
    let mut table = Table::new(
        "Zones",
        &[
            "target",
            "from",
            "to",
            "width",
            "rate",
            "positions measured",
        ],
    );
    for target in result.targets.iter().filter(|one| one.zones.len() > 1) {
        for zone in &target.zones {
            table.row(vec![
                format!("{}, {}", target.name, target.direction),
                position(zone.from_byte),
                position(zone.to_byte),
                position(zone.to_byte.saturating_sub(zone.from_byte)),
                rate(zone.rate_bytes_per_s),
                zone.points.to_string(),
            ]);
        }
    }
    for together in result.together.iter().filter(|one| one.zones.len() > 1) {
        for zone in &together.zones {
            table.row(vec![
                format!("all at once, {}", together.direction),
                part(zone.from),
                part(zone.to),
                part(zone.to - zone.from),
                rate(zone.rate_bytes_per_s),
                String::new(),
            ]);
        }
    }
    match table.markup() {
        markup if markup.is_empty() => markup,
        markup => format!("<details><summary>Zones</summary>\n{markup}</details>\n"),
    }
}

fn asked(result: &ProfileResult) -> Result<String, ReportError> {
    let plan = &result.plan;
    let mut table = Table::new("Command, settings and machine", &[]);
    if let Some(started) = &plan.started {
        table.pair("started", started);
    }
    table.pair("targets", plan.targets.join(", "));
    let engine = plan.engine_used.as_deref().unwrap_or("none");
    table.pair("engine", format!("{engine} (--engine {})", plan.engine));
    table.pair("record size", size(plan.record_size_bytes));
    table.pair("depth per target", plan.depth.to_string());
    table.pair("I/O path", plan.path.name());
    table.pair("time budget", stretch(plan.budget_s));
    table.pair("time measured", stretch(plan.elapsed_s));
    table.pair("time of a sample, about", stretch(plan.sample_s));
    if let Some(bytes) = plan.size_bytes {
        table.pair("used part of each target", size(bytes));
    }
    table.pair("ended", result.ended.name());
    table.pair("seed", plan.seed.to_string());
    table.pair("machine", machine_words(plan.simulated));
    table.pair("sustain version", &plan.sustain_version);
    command_settings_and_machine(&plan.arguments, &table, &result.host)
}
