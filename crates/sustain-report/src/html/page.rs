//! Makes the frame of a page: its head, the overview of several results, a section for each, and
//! the scripts. What draws a kind of result says by [`Sectioned`] what is in it.

use super::escape;
use crate::ReportError;

const STYLE: &str = concat!(include_str!("page.css"), include_str!("chart/chart.css"));
/// This script notes every script error on the page itself; it stands before all other scripts.
const WATCH_SCRIPT: &str = include_str!("watch.js");
const CHART_SCRIPT: &str = include_str!("chart/chart.js");

/// A result that has a section of its own on a page of several.
pub(super) trait Sectioned: Sized {
    /// The word for several of them.
    const PLURAL: &'static str;

    /// Its title, without a full stop.
    fn title(&self) -> String;

    /// The version of the tool that made it.
    fn version(&self) -> &str;

    /// All of them in one table.
    fn overview(results: &[Self]) -> String;

    /// Its section; `index` tells its parts from those of the others.
    ///
    /// # Errors
    /// The error of drawing it.
    fn section(&self, index: usize) -> Result<String, ReportError>;
}

/// The page of results of one kind: a section for each, and above them a table of all if they are
/// several.
///
/// # Errors
/// The error of drawing a section.
pub(super) fn pages<R: Sectioned>(results: &[R]) -> Result<String, ReportError> {
    let mut body = String::new();
    if results.len() > 1 {
        body.push_str(&R::overview(results));
    }
    for (index, result) in results.iter().enumerate() {
        body.push_str(&result.section(index)?);
    }
    let title = match results {
        [only] => format!("sustain: {}", only.title()),
        several => format!("sustain: {} {}", several.len(), R::PLURAL),
    };
    let version = results.first().map_or("", R::version);
    Ok(frame(&title, version, &body))
}

/// A page with this body. A browser that honours the policy in its head refuses every request. The
/// body is complete without a script.
pub(super) fn frame(title: &str, version: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body data-script-errors=\"[]\">\n<script>\n{WATCH_SCRIPT}</script>\n\
         <main>\n{body}</main>\n\
         <footer>Made by sustain {version}. This page loads nothing from the network.</footer>\n\
         <script>\n{CHART_SCRIPT}</script>\n</body>\n</html>\n",
        title = escape::text(title),
        version = escape::text(version),
    )
}
