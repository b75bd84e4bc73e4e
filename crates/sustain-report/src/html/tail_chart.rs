//! Draws how long requests took in several runs, as lines that can lie over each other: for each
//! latency, the part of all requests that took longer. The section of results side by side calls
//! it.

use std::collections::BTreeMap;

use sustain_document::measure::MeasureResult;

use super::chart::{Arrangement, Figure, Key, Panel, Quantity, Scale};

const HEIGHT_PX: usize = 300;

/// The chart of these results; none if no run completed anything.
pub(super) fn tail_chart(
    names: &[String],
    results: &[MeasureResult],
    id: String,
) -> Option<Figure> {
    let tails: Vec<Vec<(f64, f64)>> = results.iter().map(tail).collect();
    let all = || tails.iter().flatten();
    let least_s = all().map(|(from_s, _)| *from_s).reduce(f64::min)?;
    let most_s = all().map(|(from_s, _)| *from_s).reduce(f64::max)?;
    let least_part = all().map(|(_, part)| *part).reduce(f64::min)?;
    let across = Scale::decades(Quantity::Latency, least_s, most_s);
    let up = Scale::decades(Quantity::Part, least_part, 1.0);
    let mut panel = Panel::new("Requests that took longer", HEIGHT_PX, &across, up);
    let mut keys = Vec::new();
    for (index, (name, tail)) in names.iter().zip(&tails).enumerate() {
        let key = Key::new(index, name);
        panel.line(&key, &key.name, "thin", &steps(tail));
        keys.push(key);
    }
    Some(Figure {
        id,
        heading: "Latency of requests, all targets together".to_owned(),
        caption: "For each latency, the part of all requests that took longer. Further left is \
                  better; the lower end shows the few slowest requests, which a stream must ride \
                  out."
            .to_owned(),
        keys,
        panels: vec![panel],
        arrangement: Arrangement::Stacked,
    })
}

/// The corners of a line that goes on to the next figure before it falls.
fn steps(tail: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let corners = tail
        .windows(2)
        .flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
    corners.chain(tail.last().copied()).collect()
}

/// The lower ends of the bins in seconds, each with the part of all requests that are in this bin
/// or above.
fn tail(result: &MeasureResult) -> Vec<(f64, f64)> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    let of_targets = result.targets.iter();
    for bin in of_targets.flat_map(|target| &target.latency_histogram) {
        *bins.entry(bin.from_ns.max(1)).or_default() += bin.count;
    }
    let all: u64 = bins.values().sum();
    let mut left = all;
    let mut tail = Vec::new();
    for (from_ns, count) in bins {
        tail.push((from_ns as f64 / 1e9, left as f64 / all.max(1) as f64));
        left -= count;
    }
    tail
}
