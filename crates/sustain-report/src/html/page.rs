//! The frame of the page: head, overview of several results, a section each, scripts.

use super::section::{name, section};
use super::table::Table;
use super::{escape, overlay_chart};
use crate::ReportError;
use crate::format::{memory, rate};
use crate::terminal::sentence;
use sustain_bench::result::MeasureResult;

const STYLE: &str = include_str!("page.css");
/// Notes every script error on the page itself; stands before all other scripts.
const WATCH_SCRIPT: &str = include_str!("watch.js");
const DRAW_SCRIPT: &str = include_str!("draw.js");

/// The whole page of measurements.
pub(super) fn page(results: &[MeasureResult], plotting: &str) -> Result<String, ReportError> {
    let mut body = String::new();
    if results.len() > 1 {
        body.push_str(&overview(results));
    }
    for (index, result) in results.iter().enumerate() {
        body.push_str(&section(result, index)?);
    }
    let version = results
        .first()
        .map_or("", |result| result.plan.sustain_version.as_str());
    Ok(frame(&title(results), version, &body, Some(plotting)))
}

/// A page with this body. A browser that honours the policy in its head refuses every request.
/// Without a plotting script its pictures are in the body already.
pub(super) fn frame(title: &str, version: &str, body: &str, plotting: Option<&str>) -> String {
    let charts = plotting.map_or(String::new(), |plotting| {
        format!(
            "<noscript><p class=\"alarm\">The charts need JavaScript; all figures are in the tables.\
             </p></noscript>\n<script>{plotting}</script>\n<script>\n{DRAW_SCRIPT}</script>\n"
        )
    });
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body data-script-errors=\"[]\">\n<script>\n{WATCH_SCRIPT}</script>\n\
         <main>\n{body}</main>\n\
         <footer>Made by sustain {version}. This page loads nothing from anywhere.</footer>\n\
         {charts}</body>\n</html>\n",
        title = escape::text(title),
        version = escape::text(version),
    )
}

fn title(results: &[MeasureResult]) -> String {
    match results {
        [only] => format!("sustain: {}", name(only)),
        several => format!("sustain: {} measurements", several.len()),
    }
}

fn overview(results: &[MeasureResult]) -> String {
    let mut table = Table::new(&[
        "measurement",
        "rate",
        "sustained",
        "recommended",
        "in short",
    ]);
    for (index, result) in results.iter().enumerate() {
        let total = &result.total;
        let steady = if total.sustained.reached {
            rate(total.sustained.rate_bytes_per_s)
        } else {
            "not reached".to_owned()
        };
        let recommended = result
            .recommendation
            .as_ref()
            .map_or_else(String::new, |found| {
                format!(
                    "{} with {}",
                    rate(found.rate_bytes_per_s),
                    memory(found.buffer_bytes)
                )
            });
        table.row(vec![
            format!("{}. {}", index + 1, name(result)),
            rate(
                total
                    .all_active_bytes_per_s
                    .unwrap_or(total.wall_clock_bytes_per_s),
            ),
            steady,
            recommended,
            sentence(result),
        ]);
    }
    let chart = overlay_chart::overlay_chart(results, "overlay".to_owned()).markup();
    format!(
        "<section>\n<h1>{} measurements</h1>\n{}{chart}</section>\n",
        results.len(),
        table.markup()
    )
}
