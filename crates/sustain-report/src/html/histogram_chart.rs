//! Draws how long requests took: bars over a logarithmic time axis, a colour per target. The
//! section of a measurement calls it; the chart of appends uses its panel.

use std::collections::BTreeMap;

use sustain_document::measure::MeasureResult;

use super::chart::{Arrangement, Figure, Key, Panel, Quantity, Scale};

/// The number of bars in a decade of time: each is a quarter longer than the one before.
const BARS_PER_DECADE: f64 = 10.0;
/// A single request must be visible on the logarithmic axis.
const COUNT_LEAST: f64 = 0.5;

/// The count of each bar, by the bar's number: bar n covers 10^(n/10) to 10^((n+1)/10) nanoseconds.
pub(super) type Bars = BTreeMap<i32, u64>;

/// The chart of this result; none if nothing was completed.
pub(super) fn histogram_chart(result: &MeasureResult, id: String) -> Option<Figure> {
    let series: Vec<(Key, Bars)> = result
        .targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            let bins = target.latency_histogram.iter();
            let bars = bars(bins.map(|bin| (bin.from_ns, bin.to_ns, bin.count)));
            (Key::new(index, &target.name), bars)
        })
        .collect();
    let scales = scales(series.iter().map(|(_, bars)| bars))?;
    Some(Figure {
        id,
        heading: "Latency of requests".to_owned(),
        caption: "How many requests took how long. Both axes are logarithmic, so that the few \
                  slowest requests, which a stream must ride out, can be seen."
            .to_owned(),
        panels: vec![histogram("Number of requests", 300, &scales, &series)],
        keys: series.into_iter().map(|(key, _)| key).collect(),
        arrangement: Arrangement::Stacked,
    })
}

/// The count of each bar. Bins are given by lower end, upper end and count.
pub(super) fn bars(bins: impl Iterator<Item = (u64, u64, u64)>) -> Bars {
    let mut bars = Bars::new();
    for (from_ns, to_ns, count) in bins {
        let middle_ns = ((from_ns.max(1) as f64) * (to_ns.max(1) as f64)).sqrt();
        let number = (middle_ns.log10() * BARS_PER_DECADE).floor() as i32;
        *bars.entry(number).or_insert(0) += count;
    }
    bars
}

/// The time and the counts that enclose all of these; none if there is nothing to count.
fn scales<'a>(all: impl Iterator<Item = &'a Bars> + Clone) -> Option<[Scale; 2]> {
    let least = all.clone().filter_map(|bars| bars.keys().next()).min()?;
    let most = all
        .clone()
        .filter_map(|bars| bars.keys().next_back())
        .max()?;
    let most_count = all.flat_map(BTreeMap::values).max()?;
    let counts = Scale::decades(Quantity::Count, 1.0, *most_count as f64).below(COUNT_LEAST);
    let times = Scale::decades(Quantity::Latency, edge_s(*least), edge_s(most + 1));
    Some([times, counts])
}

/// The lower end of a bar.
fn edge_s(number: i32) -> f64 {
    10_f64.powf(f64::from(number) / BARS_PER_DECADE - 9.0)
}

/// One panel above the other, over the same axes; none if there is nothing to count.
pub(super) fn histograms(
    height_px: usize,
    titled: &[(&str, Vec<(Key, Bars)>)],
) -> Option<Vec<Panel>> {
    let every = titled.iter().flat_map(|(_, series)| series);
    let scales = scales(every.map(|(_, bars)| bars))?;
    let panels = titled.iter();
    let panels = panels.map(|(title, series)| histogram(title, height_px, &scales, series));
    Some(panels.collect())
}

/// A panel with the bars of each series.
fn histogram(
    title: &str,
    height_px: usize,
    [times, counts]: &[Scale; 2],
    series: &[(Key, Bars)],
) -> Panel {
    let mut panel = Panel::new(title, height_px, times, counts.clone());
    for (key, bars) in series {
        let bars = bars
            .iter()
            .map(|(number, count)| (edge_s(*number), edge_s(number + 1), *count as f64));
        panel.bars(key, &key.name, &bars.collect::<Vec<_>>());
    }
    panel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_fall_into_bars_of_equal_ratio() {
        let bins = [(1000, 1007, 3), (1100, 1107, 4), (1_000_000, 1_008_000, 5)];
        let bars = bars(bins.into_iter());
        assert_eq!(bars.into_iter().collect::<Vec<_>>(), [(30, 7), (60, 5)]);
    }
}
