//! Draws the frames of a recording: over time, and how many had which interval and which time until
//! they were durable. The section of a recording calls it.

use sustain_document::frames::{FrameSample, FramesResult};
use sustain_document::record::{LatencyBinResult, RecordResult};

use super::super::chart::{Arrangement, Figure, Key, Panel, Quantity, Scale, TimeUnit};
use super::super::histogram_chart::{Bars, bars, histograms};

const PANEL_PX: usize = 150;

/// A figure of the frames of one step of time.
type FigureOf = fn(&FrameSample) -> f64;

/// The latencies of a stream's frames in bins.
type BinsOf = fn(&FramesResult) -> &[LatencyBinResult];

/// The streams that have frames, with their colours.
fn framed(result: &RecordResult) -> Vec<(Key, &FramesResult)> {
    let streams = result.streams.iter().enumerate();
    let framed = streams.filter_map(|(index, stream)| {
        let frames = stream.frame_figures.as_ref()?;
        Some((Key::new(index, &stream.name), frames))
    });
    framed.collect()
}

/// The frames over time; none if there are none.
pub(super) fn frames_over_time(result: &RecordResult, id: String) -> Option<Figure> {
    let framed = framed(result);
    let samples = framed.iter().flat_map(|(_, frames)| &frames.series);
    let end_s = samples.map(|at| at.time_s).reduce(f64::max)?;
    let unit = TimeUnit::for_run(result.seconds);
    let across = Scale::time(0.0, end_s.max(result.seconds), unit);
    let figures: [(&str, Quantity, FigureOf); 3] = [
        (
            "Longest time since the frame before",
            Quantity::Latency,
            |at| at.interval_max_ns as f64 / 1e9,
        ),
        (
            "Longest time until a frame was durable",
            Quantity::Latency,
            |at| at.until_durable_max_ns as f64 / 1e9,
        ),
        ("Largest frame", Quantity::Data, |at| {
            at.size_max_bytes as f64
        }),
    ];
    let panel = |(title, quantity, figure): (&str, Quantity, FigureOf)| {
        let samples = framed.iter().flat_map(|(_, frames)| &frames.series);
        let most = samples.map(figure).fold(f64::MIN_POSITIVE, f64::max);
        let up = Scale::from_zero(quantity, most * 1.05);
        let mut panel = Panel::new(title, PANEL_PX, &across, up);
        for (key, frames) in &framed {
            let points = frames.series.iter().map(|at| (at.time_s, figure(at)));
            panel.line(key, &key.name, "", &points.collect::<Vec<_>>());
        }
        panel
    };
    Some(Figure {
        id,
        heading: "Frames over time".to_owned(),
        caption: "Of neighbours that are joined the largest is drawn, so that no peak is lost. A \
                  frame counts where it began to arrive, and is durable when all before it in its \
                  stream is, too."
            .to_owned(),
        panels: figures.map(panel).into(),
        keys: framed.iter().map(|(key, _)| key.clone()).collect(),
        arrangement: Arrangement::OverTime,
    })
}

/// How many frames had which interval and age; none if there are none.
pub(super) fn frames_histogram(result: &RecordResult, id: String) -> Option<Figure> {
    let framed = framed(result);
    let figures: [(&str, BinsOf); 2] = [
        ("Frames by the time since the frame before", |frames| {
            &frames.interval_histogram
        }),
        ("Frames by the time until they were durable", |frames| {
            &frames.until_durable_histogram
        }),
    ];
    let series = |of: BinsOf| -> Vec<(Key, Bars)> {
        let series = framed.iter().map(|(key, frames)| {
            let bins = of(frames).iter();
            let bins = bins.map(|bin| (bin.from_ns, bin.to_ns, bin.count));
            (key.clone(), bars(bins))
        });
        series.collect()
    };
    let all = figures.map(|(title, of)| (title, series(of)));
    Some(Figure {
        id,
        heading: "Intervals and durability of frames".to_owned(),
        caption: "How many frames came how long after the one before, and how long it took until \
                  they were durable. All axes are logarithmic."
            .to_owned(),
        panels: histograms(PANEL_PX, &all)?,
        keys: framed.iter().map(|(key, _)| key.clone()).collect(),
        arrangement: Arrangement::Stacked,
    })
}
