//! Prepares the intervals of a run for drawing: it joins neighbours until a browser can draw them,
//! and keeps the least and the most of each, so that no spike is lost. The time charts call it.

use sustain_document::measure::Interval;

/// More points in a line cannot be told apart, also where it is zoomed.
const POINTS_MAX: usize = 3000;
/// A screen shows fewer points than this only coarsely.
const POINTS_MIN: usize = 300;
/// The points of all lines of a chart together, so that the page stays small.
const POINTS_OF_ALL_LINES: usize = 20_000;

/// One or several neighbouring intervals.
#[derive(Debug, PartialEq)]
pub(super) struct ChartPoint {
    pub(super) middle_s: f64,
    pub(super) end_s: f64,
    pub(super) rate_bytes_per_s: f64,
    /// The lowest and the highest rate of its intervals.
    pub(super) rate_range_bytes_per_s: [f64; 2],
    pub(super) average_bytes_per_s: f64,
    pub(super) latency_max_ns: u64,
}

/// The number of points that each of so many lines may have.
pub(super) fn points_max(lines: usize) -> usize {
    (POINTS_OF_ALL_LINES / lines.max(1)).clamp(POINTS_MIN, POINTS_MAX)
}

/// The series with at most so many points.
pub(super) fn points(intervals: &[Interval], points_max: usize) -> Vec<ChartPoint> {
    let joined = intervals.len().div_ceil(points_max).max(1);
    intervals.chunks(joined).filter_map(point).collect()
}

fn point(chunk: &[Interval]) -> Option<ChartPoint> {
    let (first, last) = (chunk.first()?, chunk.last()?);
    let bytes: u64 = chunk.iter().map(|interval| interval.bytes).sum();
    let seconds = last.end_s - first.start_s;
    let joined = chunk.len() > 1 && seconds > 0.0;
    let ranges = chunk.iter().map(|interval| {
        let own = [interval.rate_bytes_per_s; 2];
        interval.rate_range_bytes_per_s.unwrap_or(own)
    });
    let longest = chunk.iter().map(|interval| interval.latency_max_ns);
    Some(ChartPoint {
        middle_s: f64::midpoint(first.start_s, last.end_s),
        end_s: last.end_s,
        rate_bytes_per_s: if joined {
            bytes as f64 / seconds
        } else {
            last.rate_bytes_per_s
        },
        rate_range_bytes_per_s: [
            ranges
                .clone()
                .map(|range| range[0])
                .fold(f64::INFINITY, f64::min),
            ranges.map(|range| range[1]).fold(0.0, f64::max),
        ],
        average_bytes_per_s: last.average_bytes_per_s,
        latency_max_ns: longest.max().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_series_are_joined_and_keep_their_extremes() {
        let interval = |index: u32| Interval {
            start_s: f64::from(index),
            end_s: f64::from(index + 1),
            bytes: 10,
            rate_bytes_per_s: if index == 3001 { 1.0 } else { 10.0 },
            average_bytes_per_s: 9.0,
            latency_max_ns: if index == 3001 { 77 } else { 5 },
            rate_range_bytes_per_s: (index == 5000).then_some([0.0, 30.0]),
        };
        let intervals: Vec<Interval> = (0..6000).map(interval).collect();
        let drawn = points(&intervals, 2000);
        assert_eq!(drawn.len(), 2000);
        assert_eq!(drawn[1000].rate_bytes_per_s, 10.0);
        assert_eq!(drawn[1000].rate_range_bytes_per_s, [1.0, 10.0]);
        assert_eq!(drawn[1000].latency_max_ns, 77);
        assert_eq!(drawn[1999].end_s, 6000.0);
        // What was joined before, in the run itself, has its extremes too.
        assert_eq!(drawn[5000 / 3].rate_range_bytes_per_s, [0.0, 30.0]);
        assert_eq!(points(&intervals[..3], 2000).len(), 3);
        assert!(points(&[], 2000).is_empty());
        assert_eq!((points_max(1), points_max(1000)), (3000, 300));
    }
}
