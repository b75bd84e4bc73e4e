//! Draws one measurement on the page, from the answer down to everything that is needed to repeat
//! the run.

use sustain_document::measure::{Burst, MeasureResult, Recommendation, Sustained, TargetResult};
use sustain_document::system::System;
use sustain_document::vocabulary::Direction;

use super::table::Table;
use super::tiles::{self, Standing, Tiles};
use super::{
    buffer_chart, effect_section, escape, histogram_chart, samples, time_chart, where_tables,
};
use crate::ReportError;
use crate::dip_words::meanwhile_words;
use crate::format::{half_width, latency, memory, position, rate, stretch};
use crate::rate_rows;
use crate::terminal::{cause_words, held_words, latency_of, sentence, while_doing};

/// Nobody reads more rows than this; the document has them all.
const STALLS_SHOWN: usize = 100;

/// The section of this result; `index` keeps its charts apart from those of others, `mark` is its
/// name among them.
pub(super) fn section(
    result: &MeasureResult,
    index: usize,
    mark: Option<&str>,
) -> Result<String, ReportError> {
    let heading = match mark {
        Some(mark) => format!("{mark}: {}", name(result)),
        None => name(result),
    };
    let mut markup = format!(
        "<section>\n<h1>{}</h1>\n{}",
        escape::text(&heading),
        answer(result),
    );
    markup.push_str(&errors(result));
    markup.push_str(&key_figures(result));
    markup.push_str("<h2>Charts</h2>\n");
    markup.push_str(&time_chart::time_chart(result, format!("time-{index}")).markup());
    let histogram = histogram_chart::histogram_chart(result, format!("latency-{index}"));
    let curve = buffer_chart::buffer_chart(result, format!("buffer-{index}"));
    for chart in [histogram, curve].into_iter().flatten() {
        markup.push_str(&chart.markup());
    }
    if let Some(effect) = &result.effect {
        markup.push_str(&effect_section::markup(effect, index));
    }
    markup.push_str(&stalls(result));
    markup.push_str(&dips(result));
    markup.push_str(&kernel_messages(&result.system));
    markup.push_str(&notes(&result.notes));
    markup.push_str(&where_tables::asked(&result.plan));
    markup.push_str(&where_tables::host(&result.host)?);
    markup.push_str("</section>\n");
    Ok(markup)
}

/// The title: `Write rate of /dev/sdb and /dev/sdc, 30 s`.
pub(super) fn name(result: &MeasureResult) -> String {
    let names: Vec<&str> = result
        .targets
        .iter()
        .map(|target| target.name.as_str())
        .collect();
    let targets = match names.as_slice() {
        [] => result.plan.targets.join(", "),
        [first @ .., last] if (1..4).contains(&first.len()) => {
            format!("{} and {last}", first.join(", "))
        }
        [only] => (*only).to_owned(),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    };
    let what = match result.plan.direction {
        Direction::Read => "Read rate",
        _ => "Write rate",
    };
    let simulated = if result.plan.simulated {
        ", on a simulated machine"
    } else {
        ""
    };
    format!(
        "{what} of {targets}, {}{simulated}",
        stretch(result.total.seconds)
    )
}

/// The answer and its figures. The answer is no if a target failed, or the rate did not hold.
fn answer(result: &MeasureResult) -> String {
    let failed = result.targets.iter();
    let failed = failed.filter(|target| has_failed(result, target)).count();
    let standing = match (failed, result.total.rate_held) {
        (1.., _) | (_, Some(false)) => Standing::Bad,
        (_, None) if result.plan.rate_bytes_per_s.is_some() => Standing::Open,
        _ => Standing::Plain,
    };
    let mut tiles = Tiles::default();
    rate_tiles(&mut tiles, result);
    if failed > 0 {
        let figure = format!("{failed} of {}", result.targets.len());
        tiles.stand(Standing::Bad, &figure, "targets failed");
    }
    let stall = latency(result.total.worst_stall_ns);
    tiles.add(&stall, "the longest time without a completion");
    let moved = match result.plan.direction {
        Direction::Read => "read in",
        Direction::Write => "written in",
    };
    let words = format!("{moved} {}", stretch(result.total.seconds));
    tiles.add(&position(result.total.bytes), &words);
    tiles::answer(standing, &sentence(result), &tiles)
}

/// Whether a target failed, in the run itself or in one that was to confirm its rate.
fn has_failed(result: &MeasureResult, target: &TargetResult) -> bool {
    let mut later = result.later_failures.iter();
    !target.errors.is_empty() || later.any(|failure| failure.target == target.name)
}

fn rate_tiles(tiles: &mut Tiles, result: &MeasureResult) {
    let total = &result.total;
    if let Some(asked) = result.plan.rate_bytes_per_s {
        let (standing, words) = match total.rate_held {
            Some(true) => (Standing::Plain, "asked for, and held"),
            Some(false) => (Standing::Bad, "asked for, and NOT held"),
            None => (Standing::Open, "asked for; whether it held is not decided"),
        };
        tiles.stand(standing, &rate(asked), words);
    }
    let sustained = &total.sustained;
    if sustained.reached {
        let spread = rate(half_width(sustained.ci95_bytes_per_s));
        let words = format!("sustained, ± {spread} (95 %)");
        tiles.add(&rate(sustained.rate_bytes_per_s), &words);
    } else {
        let whole = total.all_active_bytes_per_s;
        let figure = rate(whole.unwrap_or(total.wall_clock_bytes_per_s));
        tiles.stand(
            Standing::Open,
            &figure,
            "on average; a steady rate was not reached",
        );
    }
    if let Some(found) = &result.recommendation {
        let (standing, how) = match found.confirmed {
            Some(true) => (Standing::Plain, "a paced run held"),
            Some(false) => (Standing::Bad, "but a paced run did NOT hold"),
            None if found.held_seconds.is_some() => {
                (Standing::Open, "a paced run was too short to tell")
            }
            None => (Standing::Open, "not tried"),
        };
        let buffer = memory(found.buffer_bytes);
        let words = format!("for a stream with a buffer of {buffer}; {how}");
        tiles.stand(standing, &rate(found.rate_bytes_per_s), &words);
    }
    if let Some(read_back) = &result.read_back {
        let steady = |sustained: &Sustained| match sustained.reached {
            true => Standing::Plain,
            false => Standing::Open,
        };
        let both = &read_back.writing.sustained;
        tiles.stand(
            steady(both),
            &rate(both.rate_bytes_per_s),
            "written while as many requests read back",
        );
        if let Some(alone) = &read_back.reading_alone {
            let alone = &alone.sustained;
            let figure = rate(alone.rate_bytes_per_s);
            tiles.stand(steady(alone), &figure, "read back alone");
        }
    }
}

fn errors(result: &MeasureResult) -> String {
    let mut table = Table::new(
        "Errors",
        &["target", "time of error", "operation", "offset", "error"],
    );
    for target in &result.targets {
        for error in &target.errors {
            table.row(vec![
                target.name.clone(),
                stretch(error.at_s),
                error.operation.to_string(),
                position(error.offset_bytes),
                error.message.clone(),
            ]);
        }
    }
    for failure in &result.later_failures {
        table.row(vec![
            failure.target.clone(),
            format!("{} {}", stretch(failure.error.at_s), while_doing(failure)),
            failure.error.operation.to_string(),
            position(failure.error.offset_bytes),
            failure.error.message.clone(),
        ]);
    }
    let markup = table.markup();
    if markup.is_empty() {
        markup
    } else {
        format!("<div class=\"alarm\">{markup}</div>\n")
    }
}

fn key_figures(result: &MeasureResult) -> String {
    let mut table = Table::new(
        "Figures of each target",
        &[
            "target",
            "rate",
            "sustained (95 %)",
            "burst",
            "worst stall",
            "latency p50",
            "p90",
            "p99",
            "p99.9",
            "max",
            "data",
            "ended",
        ],
    );
    for target in &result.targets {
        table.row(target_figures(target));
    }
    let total = &result.total;
    if result.targets.len() > 1 {
        let mut row = vec![
            "together".to_owned(),
            rate(
                total
                    .all_active_bytes_per_s
                    .unwrap_or(total.wall_clock_bytes_per_s),
            ),
            steady(&total.sustained),
            burst_words(total.burst.as_ref()),
            latency(total.worst_stall_ns),
        ];
        row.extend(vec![String::new(); 5]);
        let moved = format!("{} in {}", position(total.bytes), stretch(total.seconds));
        row.extend([moved, String::new()]);
        table.row(row);
    }
    format!(
        "<h2>Key figures</h2>\n{}{}{}",
        table.markup(),
        read_back(result),
        further_figures(result).markup()
    )
}

/// What writing and reading back come to, together and for each target.
fn read_back(result: &MeasureResult) -> String {
    let Some(found) = &result.read_back else {
        return String::new();
    };
    let mut table = Table::new("Rates of writing and reading back", &rate_rows::HEAD);
    for row in rate_rows::rate_rows(result) {
        table.row(vec![row.name.to_owned(), row.full_queues, row.stream]);
    }
    let mut each = Table::new(
        "Each target, written and read back",
        &[
            "target",
            "writing while reading back",
            "reading back meanwhile",
            "reading back alone",
        ],
    );
    for target in found.targets.iter().filter(|_| found.targets.len() > 1) {
        each.row(vec![
            target.name.clone(),
            rate(target.writing_bytes_per_s),
            rate(target.reading_meanwhile_bytes_per_s),
            target
                .reading_alone_bytes_per_s
                .map_or_else(|| "–".to_owned(), rate),
        ]);
    }
    format!(
        "<h2>Writing and reading back</h2>\n{}{}",
        table.markup(),
        each.markup()
    )
}

fn target_figures(target: &TargetResult) -> Vec<String> {
    let times = &target.latency_ns;
    vec![
        target.name.clone(),
        rate(target.rate_bytes_per_s),
        steady(&target.sustained),
        burst_words(target.burst.as_ref()),
        target
            .worst_stall_ns
            .map_or_else(|| "–".to_owned(), latency),
        latency_of(target, times.p50),
        latency_of(target, times.p90),
        latency_of(target, times.p99),
        latency_of(target, times.p99_9),
        match target.bytes {
            0 => latency_of(target, times.max),
            _ => format!("{} at {:.3} s", latency(times.max), times.max_at_s),
        },
        format!("{} in {}", position(target.bytes), stretch(target.seconds)),
        target.ended.name().replace('_', " "),
    ]
}

fn steady(sustained: &Sustained) -> String {
    if !sustained.reached {
        return format!("not reached: {}", sustained.why);
    }
    let spread = rate(half_width(sustained.ci95_bytes_per_s));
    format!("{} ± {spread}", rate(sustained.rate_bytes_per_s))
}

fn burst_words(burst: Option<&Burst>) -> String {
    burst.map_or_else(
        || "none".to_owned(),
        |burst| {
            format!(
                "{} at {}",
                position(burst.bytes),
                rate(burst.rate_bytes_per_s)
            )
        },
    )
}

/// The figures of the run as a whole.
fn further_figures(result: &MeasureResult) -> Table {
    let total = &result.total;
    let mut table = Table::new("Further figures", &[]);
    if result.targets.len() > 1 {
        let together = total
            .all_active_bytes_per_s
            .map_or_else(|| "unknown".to_owned(), rate);
        let all = match result
            .targets
            .iter()
            .any(|target| !target.errors.is_empty())
        {
            true => "rate while all targets that were left were active",
            false => "rate while all targets were active",
        };
        table.pair(all, together);
        table.pair("sum of the targets' own rates", rate(total.sum_bytes_per_s));
        table.pair(
            "all bytes over the whole time",
            rate(total.wall_clock_bytes_per_s),
        );
        let stall = latency(total.worst_stall_ns);
        let words = format!("{stall}, from {:.3} s", total.worst_stall_at_s);
        table.pair("longest time without a completion on any target", words);
    }
    if let Some(seconds) = total.cpu_seconds_per_gb {
        table.pair("CPU time per GB", format!("{seconds:.3} s"));
    }
    if result.plan.rate_bytes_per_s.is_some() {
        table.pair("rate held", held_words(result));
    }
    if let Some(bytes) = total.backlog_max_bytes {
        table.pair("most data that waited in the buffer", memory(bytes));
    }
    if let Some(found) = &result.rewritten {
        let verdict = if found.is_slower {
            "slower"
        } else {
            "no difference beyond noise"
        };
        let words = format!(
            "{}, against {} with the same bytes again: {verdict}",
            rate(found.rate_bytes_per_s),
            rate(found.fresh_bytes_per_s)
        );
        table.pair("rate with bytes that are all new for each write", words);
    }
    if let Some(found) = &result.recommendation {
        paced_runs(&mut table, found);
    }
    for (device, celsius) in samples::temperatures_max(&result.system.samples) {
        table.pair(
            &format!("highest temperature of {device}"),
            format!("{celsius:.0} °C"),
        );
    }
    if total.tool_limited {
        table.pair("limited by", "the tool itself, not the targets");
    }
    table
}

/// The paced runs that led to the recommended rate.
fn paced_runs(table: &mut Table, found: &Recommendation) {
    for attempt in &found.attempts {
        let verdict = if attempt.held { "held" } else { "did NOT hold" };
        let words = format!(
            "{verdict} for {}; at most {} waited in the buffer",
            stretch(attempt.seconds),
            memory(attempt.backlog_max_bytes)
        );
        table.pair(
            &format!("run paced at {}", rate(attempt.rate_bytes_per_s)),
            words,
        );
    }
    if let Some(worst) = found.worst_10_s_bytes_per_s {
        let none = if worst < 1.0 { " (no completion)" } else { "" };
        table.pair("rate of the slowest 10 s", format!("{}{none}", rate(worst)));
    }
}

fn stalls(result: &MeasureResult) -> String {
    let mut table = Table::new(
        "Stalls, longest first",
        &[
            "target",
            "start",
            "length",
            "offset",
            "stalled at the same moment",
        ],
    );
    for stall in result.stalls.iter().take(STALLS_SHOWN) {
        let company = match stall.shared_with.as_slice() {
            [] => "no other target".to_owned(),
            others => format!("{}{}", others.join(", "), cause_words(stall)),
        };
        table.row(vec![
            stall.target.clone(),
            format!("{:.3} s", stall.start_s),
            latency(stall.duration_ns),
            position(stall.offset_bytes),
            company,
        ]);
    }
    if result.stalls.is_empty() {
        return String::new();
    }
    let (shown, all) = (
        result.stalls.len().min(STALLS_SHOWN),
        result.stalls_in_all(),
    );
    let more = match all > shown as u64 {
        true => format!("<p>These are the longest {shown} of all {all} stalls.</p>\n"),
        false => String::new(),
    };
    format!("<h2>Stalls, longest first</h2>\n{}{more}", table.markup())
}

fn dips(result: &MeasureResult) -> String {
    let head = ["start", "length", "rate", "usual rate", "at the same time"];
    let mut table = Table::new("Dips, deepest first", &head);
    for dip in &result.dips {
        table.row(vec![
            format!("{:.0} s", dip.start_s),
            stretch(dip.end_s - dip.start_s),
            rate(dip.rate_bytes_per_s),
            rate(dip.usual_bytes_per_s),
            meanwhile_words(dip, result),
        ]);
    }
    if result.dips.is_empty() {
        return String::new();
    }
    format!("<h2>Dips, deepest first</h2>\n{}", table.markup())
}

pub(super) fn kernel_messages(system: &System) -> String {
    let mut table = Table::new("Kernel messages", &["time", "level", "message"]);
    for message in &system.kernel_messages {
        let at = format!("{:.3} s", message.at_s);
        table.row(vec![at, message.level.to_string(), message.text.clone()]);
    }
    let markup = table.markup();
    if markup.is_empty() {
        markup
    } else {
        format!("<h2>Kernel messages</h2>\n{markup}")
    }
}

pub(super) fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items = notes
        .iter()
        .map(|note| format!("<li>{}</li>\n", escape::text(note)));
    format!("<h2>Notes</h2>\n<ul>\n{}</ul>\n", items.collect::<String>())
}
