//! Draws reports: results, just made or saved, become one HTML page that opens without a network.
//! The commands call [`measure_html`] and its like and write the file; the page must not load
//! anything from anywhere.

mod bars;
mod buffer_chart;
mod chart;
mod compare_section;
mod diagnosis;
mod effect_chart;
mod effect_section;
mod escape;
mod histogram_chart;
mod marks;
mod matrix;
mod measurements;
mod overlay_chart;
mod page;
mod profile;
mod record;
mod repairs;
mod samples;
mod section;
mod series;
mod side_by_side;
mod sweep;
mod system_panels;
mod table;
mod tail_chart;
mod tiles;
mod time_chart;
mod title;
mod where_tables;

use sustain_document::compare::CompareResult;
use sustain_document::diagnose::DiagnoseResult;
use sustain_document::matrix::MatrixResult;
use sustain_document::measure::MeasureResult;
use sustain_document::profile::ProfileResult;
use sustain_document::record::RecordResult;
use sustain_document::repair::RepairDocument;
use sustain_document::sweep::SweepResult;

use crate::ReportError;

/// The page that shows these results, one section each; several are side by side above. Text from
/// the results is escaped wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn measure_html(results: &[MeasureResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    measurements::page(results, &[], None)
}

/// The page that shows these runs side by side: a table with a column each, their series over each
/// other, then a section each. `labels` are their names, such as those of their files. The answer
/// of a `comparison` of the two is on top.
///
/// # Errors
/// As [`measure_html`].
pub fn side_by_side_html(
    results: &[MeasureResult],
    labels: &[String],
    comparison: Option<&CompareResult>,
) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    measurements::page(results, labels, comparison)
}

/// The page that shows these comparisons, one section each; several have a table of all above. If
/// settings were measured in turn, every run is drawn; saved runs are drawn by
/// [`side_by_side_html`], which has their series. Text from the results is escaped wherever it
/// stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn compare_html(results: &[CompareResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    page::pages(results)
}

/// The page that shows these recordings, one section each; several have a table of all above. Text
/// from the results is escaped wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn record_html(results: &[RecordResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    page::pages(results)
}

/// The page that shows what these repairs have rebuilt, one section each; several have a table of
/// all above. Text from the results is escaped wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn repair_html(results: &[RepairDocument]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    page::pages(results)
}

/// The page that shows these diagnoses, one section each: the rates alone and together, the machine
/// as a tree with its walls, and the subsets as a picture. Text from the results is escaped
/// wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn diagnose_html(results: &[DiagnoseResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    page::pages(results)
}

/// The page that shows these matrices, one section each: the rates of all combinations as figures
/// and bars, and the diagnosis of each direction. Text from the results is escaped wherever it
/// stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn matrix_html(results: &[MatrixResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    page::pages(results)
}

/// The page that shows these profiles, one section each: rate against position as a picture, and
/// the zones and the places that differ from them in words. Text from the results is escaped
/// wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn profile_html(results: &[ProfileResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    page::pages(results)
}

/// The page that shows these sweeps, one section each: the answer, a picture of the effect of each
/// axis, and all settings. Text from the results is escaped wherever it stands.
///
/// # Errors
/// [`ReportError::NoResults`] without a result.
pub fn sweep_html(results: &[SweepResult]) -> Result<String, ReportError> {
    if results.is_empty() {
        return Err(ReportError::NoResults);
    }
    page::pages(results)
}
