//! Takes the plotting script, which the page carries, out of the plotting library. The library
//! returns its script together with a second, large one for formulas, which is left out.

use crate::ReportError;
use plotly::Plot;

const CLOSING_TAG: &str = "</script>";

/// The text of the plotting script, without its tags.
pub(super) fn plotting_script() -> Result<String, ReportError> {
    let both = Plot::offline_js_sources();
    for element in both.split(CLOSING_TAG) {
        let Some(opening) = element.find("<script") else {
            continue;
        };
        let Some(body) = element[opening..].split_once('>').map(|(_, body)| body) else {
            continue;
        };
        // The script is recognised by the licence comment that its authors keep at its head.
        if body.trim_start().starts_with("/**\n* plotly.js") {
            return Ok(body.to_owned());
        }
    }
    Err(ReportError::NoChartScript)
}
