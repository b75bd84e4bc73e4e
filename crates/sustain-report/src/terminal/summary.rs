//! The end of a measurement in a terminal: a table of the targets, then the stalls, the kernel's
//! messages and the notes. The command prints it above the answer; it must fit the width that it is
//! given.

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, presets};
use sustain_document::measure::{MeasureResult, Stall, Sustained, TargetResult};

use super::columns::text_of;
use super::effect;
use super::sentence::{request, while_doing};
use super::without_controls;
use super::wrapped::wrapped;
use crate::dip_words::dip_words;
use crate::format::{half_width, latency, position, rate, stretch};
use crate::rate_rows::{self, rate_rows};

/// A narrower table would break its figures over two lines: one block per target is easier to read.
const TABLE_WIDTH_MIN: usize = 78;
/// A table of this width has space for every percentile.
const TABLE_WIDTH_FULL: usize = 110;
/// The number of stalls that have a line each; the document and the page have all.
const STALLS_SHOWN: usize = 5;
/// The number of dips that have a line each; the document and the page have all.
const DIPS_SHOWN: usize = 3;
/// The number of kernel messages that are shown here; the document and the page have all.
const KERNEL_MESSAGES_SHOWN: usize = 5;

/// Table, stalls, kernel messages, errors and notes, each line ending with a newline.
/// `width` is the terminal's, in columns.
#[must_use]
pub fn summary(result: &MeasureResult, width: usize) -> String {
    let rows = rows(result);
    let mut text = if width < TABLE_WIDTH_MIN {
        blocks(&rows)
    } else {
        table(&rows, width)
    };
    let (rates, details) = (rates(result, width), details(result));
    if !rates.is_empty() {
        let _ = write!(text, "\n{rates}");
        text.push_str(if details.is_empty() { "" } else { "\n" });
    }
    for line in details {
        text.push_str(&wrapped(&line, width));
    }
    if let Some(seen) = &result.effect {
        text.push_str(&effect::section(seen, width));
    }
    text
}

/// One target, or all of them together, as text.
struct SummaryRow {
    name: String,
    rate: String,
    sustained: String,
    p50: String,
    p99: String,
    p99_9: String,
    max: String,
    bytes: String,
    ended: String,
}

fn rows(result: &MeasureResult) -> Vec<SummaryRow> {
    let mut rows: Vec<SummaryRow> = result.targets.iter().map(target_row).collect();
    if result.targets.len() > 1 {
        let total = &result.total;
        let together = total
            .all_active_bytes_per_s
            .unwrap_or(total.wall_clock_bytes_per_s);
        rows.push(SummaryRow {
            name: "together".to_owned(),
            rate: rate(together),
            sustained: sustained(&total.sustained),
            p50: String::new(),
            p99: String::new(),
            p99_9: String::new(),
            max: String::new(),
            bytes: position(total.bytes),
            ended: String::new(),
        });
    }
    rows
}

fn target_row(target: &TargetResult) -> SummaryRow {
    let times = &target.latency_ns;
    SummaryRow {
        name: without_controls(&target.name),
        rate: rate(target.rate_bytes_per_s),
        sustained: sustained(&target.sustained),
        p50: latency_of(target, times.p50),
        p99: latency_of(target, times.p99),
        p99_9: latency_of(target, times.p99_9),
        max: latency_of(target, times.max),
        bytes: position(target.bytes),
        ended: without_controls(target.ended.name()).replace('_', " "),
    }
}

/// A latency of a target; one that completed nothing has none.
pub(crate) fn latency_of(target: &TargetResult, latency_ns: u64) -> String {
    match target.bytes {
        0 => "–".to_owned(),
        _ => latency(latency_ns),
    }
}

/// A steady rate with its interval, or that there is none.
fn sustained(sustained: &Sustained) -> String {
    if !sustained.reached {
        return "not reached".to_owned();
    }
    let mean = rate(sustained.rate_bytes_per_s);
    let spread = half_width(sustained.ci95_bytes_per_s) / sustained.rate_bytes_per_s;
    // A percentage is shorter than a second rate and as easy to judge.
    format!("{mean} ± {:.1} %", spread * 100.0)
}

fn table(rows: &[SummaryRow], width: usize) -> String {
    let full = width >= TABLE_WIDTH_FULL;
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(columns(
        [
            "target",
            "rate",
            "sustained",
            "p50",
            "p99",
            "p99.9",
            "max",
            "bytes",
            "ended",
        ],
        full,
    ));
    for row in rows {
        let cells = [
            &row.name,
            &row.rate,
            &row.sustained,
            &row.p50,
            &row.p99,
            &row.p99_9,
            &row.max,
            &row.bytes,
            &row.ended,
        ];
        table.add_row(columns(cells.map(String::as_str), full));
    }
    let last = if full { 8 } else { 6 };
    text_of(table, 1..last)
}

/// The columns that a table of this width has: all nine, or all but p99 and bytes.
fn columns(cells: [&str; 9], full: bool) -> Vec<&str> {
    let [name, rate, sustained, p50, p99, p99_9, max, bytes, ended] = cells;
    if full {
        return vec![name, rate, sustained, p50, p99, p99_9, max, bytes, ended];
    }
    vec![name, rate, sustained, p50, p99_9, max, ended]
}

/// What writing and reading back come to; empty if nothing was read back.
fn rates(result: &MeasureResult, width: usize) -> String {
    let rows = rate_rows(result);
    if rows.is_empty() {
        return String::new();
    }
    if width < TABLE_WIDTH_MIN {
        let mut text = String::new();
        for row in &rows {
            text.push_str(&wrapped(
                &format!("{}: {}", row.name, row.full_queues),
                width,
            ));
            if !row.stream.is_empty() {
                let line = format!("  {}: {}", rate_rows::HEAD[2], row.stream);
                text.push_str(&wrapped(&line, width));
            }
        }
        return text;
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(rate_rows::HEAD);
    for row in &rows {
        table.add_row([row.name, &row.full_queues, &row.stream]);
    }
    text_of(table, [])
}

fn blocks(rows: &[SummaryRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(text, "{}", row.name);
        let lines = [
            ("rate", &row.rate),
            ("sustained", &row.sustained),
            ("p50", &row.p50),
            ("p99.9", &row.p99_9),
            ("max", &row.max),
            ("ended", &row.ended),
        ];
        for (key, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = writeln!(text, "  {key:<10} {value}");
        }
    }
    text
}

fn details(result: &MeasureResult) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for target in &result.targets {
        for error in &target.errors {
            lines.push(format!(
                "error: {} at {}: {}: {}",
                target.name,
                stretch(error.at_s),
                request(error),
                error.message
            ));
        }
    }
    lines.extend(result.later_failures.iter().map(|failure| {
        format!(
            "error: {} {}, after {}: {}: {}",
            failure.target,
            while_doing(failure),
            stretch(failure.error.at_s),
            request(&failure.error),
            failure.error.message
        )
    }));
    lines.extend(result.stalls.iter().take(STALLS_SHOWN).map(stall_line));
    lines.extend(more_stalls(result));
    let dips = result.dips.iter().take(DIPS_SHOWN);
    lines.extend(dips.map(|dip| dip_words(dip, result)));
    let messages = &result.system.kernel_messages;
    for message in messages.iter().take(KERNEL_MESSAGES_SHOWN) {
        lines.push(format!(
            "kernel: at {:.3} s: {}",
            message.at_s, message.text
        ));
    }
    let more = messages.len().saturating_sub(KERNEL_MESSAGES_SHOWN);
    if more > 0 {
        let (messages, are) = if more == 1 {
            ("message", "is")
        } else {
            ("messages", "are")
        };
        lines.push(format!(
            "kernel: {more} more {messages} {are} in the result of --json and in the report"
        ));
    }
    lines.extend(result.notes.iter().map(|note| format!("note: {note}")));
    lines.iter().map(|line| without_controls(line)).collect()
}

fn stall_line(stall: &Stall) -> String {
    let shared = match stall.shared_with.as_slice() {
        [] => String::new(),
        others => format!(
            ", at the same moment as on {}{}",
            others.join(", "),
            cause_words(stall)
        ),
    };
    format!(
        "stall: {} on {}, from {:.3} s, at offset {}{shared}",
        latency(stall.duration_ns),
        stall.target,
        stall.start_s,
        position(stall.offset_bytes)
    )
}

/// The stalls that are not shown here, and how many of them the document lists.
fn more_stalls(result: &MeasureResult) -> Option<String> {
    let all = result.stalls_in_all();
    let listed = result.stalls.len();
    let words = match all.saturating_sub(STALLS_SHOWN as u64) {
        0 => return None,
        more if all > listed as u64 => format!(
            "{more} more, none longer; the result of --json and the report list the longest \
             {listed} of all {all}"
        ),
        1 => "1 more stall, none longer, is in the result of --json and in the report".to_owned(),
        more => format!(
            "{more} more stalls, none longer, are in the result of --json and in the report"
        ),
    };
    Some(format!("stall: {words}"))
}

/// Whether stalls of several targets at the same moment have a cause in common. Stalls that have
/// nothing in common coincide at times, too.
pub(crate) fn cause_words(stall: &Stall) -> &'static str {
    match stall.is_common_cause {
        true => " (a common cause)",
        false => " (perhaps by chance)",
    }
}
