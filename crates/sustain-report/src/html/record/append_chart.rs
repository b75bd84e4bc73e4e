//! Draws how long appends took from their acceptance until they were written and until they were
//! durable: bars over one logarithmic time axis, a colour per stream. The section of a recording
//! calls it.

use std::collections::BTreeMap;

use plotly::layout::BarMode;
use sustain_document::record::{LatencyBinResult, RecordResult};

use super::super::chart::{Chart, colour, empty_plot, layout, title};
use super::super::histogram_chart::{bar_trace, bars, count_axis, time_axis};

/// The places of the two panels, as parts of the drawing area from its bottom.
const WRITTEN_DOMAIN: [f64; 2] = [0.54, 1.0];
const DURABLE_DOMAIN: [f64; 2] = [0.0, 0.46];

/// The chart of this recording; none if nothing was written.
pub(super) fn append_chart(result: &RecordResult, id: String) -> Option<Chart> {
    let mut plot = empty_plot();
    let mut all: Vec<BTreeMap<i32, u64>> = Vec::new();
    for (index, stream) in result.streams.iter().enumerate() {
        let written = bars_of(&stream.written_latency_histogram);
        let durable = bars_of(&stream.durable_latency_histogram);
        let name = stream.name.as_str();
        let until = |bars, words| bar_trace(name, colour(index), bars, words);
        plot.add_trace(until(&written, "appends, until written,"));
        let below = until(&durable, "appends, until durable,");
        plot.add_trace(below.y_axis("y2").show_legend(false));
        all.extend([written, durable]);
    }
    let least = all.iter().filter_map(|bars| bars.keys().next()).min()?;
    let most = all
        .iter()
        .filter_map(|bars| bars.keys().next_back())
        .max()?;
    let most_count = all.iter().flat_map(BTreeMap::values).max().copied()?;
    let counts = |words: &str| count_axis(most_count).title(title(words));
    let layout = layout(result.streams.len())
        .bar_mode(BarMode::Overlay)
        .bar_gap(0.05)
        .x_axis(time_axis(*least, *most).anchor("y2"))
        .y_axis(counts("appends written").domain(&WRITTEN_DOMAIN))
        .y_axis2(counts("appends durable").domain(&DURABLE_DOMAIN))
        .show_legend(true);
    plot.set_layout(layout);
    Some(Chart {
        id,
        heading: "Latency of appends".to_owned(),
        caption: "How many appends took how long from their acceptance: above until they were \
                  written, below until a flush had made them durable. All axes are logarithmic."
            .to_owned(),
        height_px: 520,
        plot,
    })
}

fn bars_of(bins: &[LatencyBinResult]) -> BTreeMap<i32, u64> {
    bars(bins.iter().map(|bin| (bin.from_ns, bin.to_ns, bin.count)))
}
