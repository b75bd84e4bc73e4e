//! The report as one page that opens without a network, from results just made or saved.
//! The faces call [`measure_html`], [`record_html`] or [`diagnose_html`] and write the file; nothing
//! here may load anything from anywhere.

mod buffer_chart;
mod chart;
mod diagnosis;
mod effect_chart;
mod effect_section;
mod escape;
mod histogram_chart;
mod marks;
mod overlay_chart;
mod page;
mod panels;
mod record;
mod samples;
mod script;
mod section;
mod series;
mod system_panels;
mod table;
mod time_chart;
mod where_tables;

use crate::ReportError;
use sustain_bench::diagnose::result::DiagnoseResult;
use sustain_bench::result::MeasureResult;
use sustain_record::result::RecordResult;

/// The page that shows these results, one section each; with several, their totals in one chart
/// above. Text from the results is escaped wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result; [`ReportError::NoChartScript`] if the plotting
/// library has no script to carry.
pub fn measure_html(results: &[MeasureResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    page::page(results, &script::plotting_script()?)
}

/// The page that shows these recordings, one section each; with several, a table of all above. Text
/// from the results is escaped wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result; [`ReportError::NoChartScript`] if the plotting
/// library has no script to carry.
pub fn record_html(results: &[RecordResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    record::page(results, &script::plotting_script()?)
}

/// The page that shows these diagnoses, one section each: the subsets as a picture, the machine as a
/// tree with its walls, alone against together. Text from the results is escaped wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn diagnose_html(results: &[DiagnoseResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    diagnosis::page(results)
}
