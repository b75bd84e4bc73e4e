//! Draws one recording on the page, from the answer down to everything that is needed to repeat it.

use sustain_document::record::RecordResult;

use super::super::buffer_chart::{DrawnBufferCurve, curve_chart};
use super::super::chart::Chart;
use super::super::escape;
use super::super::section::{kernel_messages, notes};
use super::super::table::glued;
use super::append_chart::append_chart;
use super::member_charts::{bytes_chart, share_chart};
use super::{name, tables, time_chart};
use crate::ReportError;
use crate::terminal::record_sentence;

/// The section of this recording; `index` keeps its charts apart from those of others.
pub(super) fn section(result: &RecordResult, index: usize) -> Result<String, ReportError> {
    let mut markup = format!(
        "<section>\n<h1>{}</h1>\n<p class=\"answer\">{}</p>\n",
        escape::text(&name(result)),
        escape::text(&glued(&record_sentence(result))),
    );
    markup.push_str(&tables::alarms(result));
    markup.push_str(&tables::key_figures(result));
    markup.push_str(&tables::limited_by(result));
    markup.push_str("<h2>Charts</h2>\n");
    markup.push_str(&time_chart::time_chart(result, format!("time-{index}")).markup());
    let charts = [
        append_chart(result, format!("appends-{index}")),
        share_chart(result, format!("shares-{index}")),
        bytes_chart(result, format!("members-{index}")),
        buffer(result, format!("buffer-{index}")),
    ];
    let charts = charts.iter().flatten().map(Chart::markup);
    markup.push_str(&charts.collect::<String>());
    markup.push_str(&kernel_messages(&result.system));
    markup.push_str(&notes(&result.notes));
    markup.push_str(&tables::asked(result));
    markup.push_str(&tables::host(result)?);
    markup.push_str("</section>\n");
    Ok(markup)
}

fn buffer(result: &RecordResult, id: String) -> Option<Chart> {
    let points = result.buffer_curve.iter();
    let curve = DrawnBufferCurve {
        points: points
            .map(|point| (point.rate_bytes_per_s, point.buffer_bytes.ceil() as u64))
            .collect(),
        bound_bytes: result.plan.buffer_bytes,
        recommendation: None,
        caption: "For each rate of a stream, the memory that would have ridden out every pause in \
                  the writes of this recording. Where the sources limited the rate, the curve \
                  turns up at their rate: the members may be able to take more."
            .to_owned(),
    };
    curve_chart(curve, id)
}
