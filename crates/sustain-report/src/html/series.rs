//! Prepares the intervals of a run for drawing: it joins neighbours until a browser can draw them,
//! and keeps their maxima. The time charts call it.

use sustain_document::measure::Interval;

/// A screen cannot show more points in a line.
const POINTS_MAX: usize = 2000;

/// One or several neighbouring intervals.
#[derive(Debug, PartialEq)]
pub(super) struct ChartPoint {
    pub(super) middle_s: f64,
    pub(super) end_s: f64,
    pub(super) rate_bytes_per_s: f64,
    pub(super) average_bytes_per_s: f64,
    pub(super) latency_max_ns: u64,
}

/// The series with at most [`POINTS_MAX`] points.
pub(super) fn points(intervals: &[Interval]) -> Vec<ChartPoint> {
    let joined = intervals.len().div_ceil(POINTS_MAX).max(1);
    intervals.chunks(joined).filter_map(point).collect()
}

fn point(chunk: &[Interval]) -> Option<ChartPoint> {
    let (first, last) = (chunk.first()?, chunk.last()?);
    let bytes: u64 = chunk.iter().map(|interval| interval.bytes).sum();
    let seconds = last.end_s - first.start_s;
    let joined = chunk.len() > 1 && seconds > 0.0;
    Some(ChartPoint {
        middle_s: f64::midpoint(first.start_s, last.end_s),
        end_s: last.end_s,
        rate_bytes_per_s: if joined {
            bytes as f64 / seconds
        } else {
            last.rate_bytes_per_s
        },
        average_bytes_per_s: last.average_bytes_per_s,
        latency_max_ns: chunk
            .iter()
            .map(|interval| interval.latency_max_ns)
            .max()
            .unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_series_are_joined_and_keep_their_maxima() {
        let interval = |index: u32| Interval {
            start_s: f64::from(index),
            end_s: f64::from(index + 1),
            bytes: 10,
            rate_bytes_per_s: 10.0,
            average_bytes_per_s: 9.0,
            latency_max_ns: if index == 3001 { 77 } else { 5 },
        };
        let intervals: Vec<Interval> = (0..6000).map(interval).collect();
        let drawn = points(&intervals);
        assert_eq!(drawn.len(), 2000);
        assert_eq!(drawn[1000].rate_bytes_per_s, 10.0);
        assert_eq!(drawn[1000].latency_max_ns, 77);
        assert_eq!(drawn[1999].end_s, 6000.0);
        assert_eq!(points(&intervals[..3]).len(), 3);
        assert!(points(&[]).is_empty());
    }
}
