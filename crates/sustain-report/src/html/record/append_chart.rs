//! Draws how long appends took from their acceptance until they were written and until they were
//! durable: bars over one logarithmic time axis, a colour per stream. The section of a recording
//! calls it.

use sustain_document::record::{LatencyBinResult, RecordResult, StreamResult};

use super::super::chart::{Arrangement, Figure, Key};
use super::super::histogram_chart::{Bars, bars, histograms};

const PANEL_PX: usize = 190;

/// The latencies of a stream's appends until one of two moments.
type Until = fn(&StreamResult) -> &[LatencyBinResult];

/// The chart of this recording; none if nothing was written.
pub(super) fn append_chart(result: &RecordResult, id: String) -> Option<Figure> {
    let untils: [(&str, Until); 2] = [
        ("Appends until written", |stream| {
            &stream.written_latency_histogram
        }),
        ("Appends until durable", |stream| {
            &stream.durable_latency_histogram
        }),
    ];
    let series = |of: Until| -> Vec<(Key, Bars)> {
        let streams = result.streams.iter().enumerate();
        let series = streams.map(|(index, stream)| {
            let bins = of(stream).iter();
            let bars = bars(bins.map(|bin| (bin.from_ns, bin.to_ns, bin.count)));
            (Key::new(index, &stream.name), bars)
        });
        series.collect()
    };
    let all = untils.map(|(title, of)| (title, series(of)));
    Some(Figure {
        id,
        heading: "Latency of appends".to_owned(),
        caption: "How many appends took how long from their acceptance: above until they were \
                  written, below until a flush had made them durable. All axes are logarithmic."
            .to_owned(),
        panels: histograms(PANEL_PX, &all)?,
        keys: all[0].1.iter().map(|(key, _)| key.clone()).collect(),
        arrangement: Arrangement::Stacked,
    })
}
