//! A series of intervals of bounded length: beyond the bound, neighbours are joined, their bytes
//! are added, and their extremes are kept, so that no hole and no spike is lost.

use sustain_disk::meter::MeterInterval;

/// The most intervals that a series keeps.
pub const INTERVALS_MAX: usize = 10_000;

/// Intervals in time order.
#[derive(Debug, Clone)]
pub struct Series {
    intervals: Vec<MeterInterval>,
    /// The lowest and the highest rate of what is joined in each of them, bytes per second.
    rate_ranges: Vec<[f64; 2]>,
    intervals_max: usize,
    /// Number of closed intervals that make one entry.
    joined: usize,
    /// Number of intervals in the last entry.
    in_last: usize,
    /// The last interval of the last entry, to which one without length may add.
    newest: MeterInterval,
    /// The range of the last entry without its last interval; `None` if it is alone.
    range_before: Option<[f64; 2]>,
}

impl Default for Series {
    fn default() -> Series {
        Series::bounded(INTERVALS_MAX)
    }
}

impl Series {
    /// A series of at most `intervals_max` entries.
    pub fn bounded(intervals_max: usize) -> Series {
        assert!(intervals_max >= 2, "joining pairs needs two");
        Series {
            intervals: Vec::new(),
            rate_ranges: Vec::new(),
            intervals_max,
            joined: 1,
            in_last: 1,
            newest: MeterInterval::default(),
            range_before: None,
        }
    }

    /// Appends the interval that follows. One without length has no rate: what it completed came
    /// with the end of the one before, and belongs to that.
    pub fn push(&mut self, interval: MeterInterval) {
        if self.intervals.is_empty() {
            self.append(interval, interval);
        } else if interval.end_ns == interval.start_ns {
            self.grow_newest(interval);
        } else if self.newest.end_ns == self.newest.start_ns {
            // The first of all had no length, so that none before it could take its bytes.
            let first = join(self.newest, interval);
            self.intervals.pop();
            self.append(first, first);
        } else if self.in_last < self.joined {
            let last = self.intervals.len() - 1;
            self.range_before = Some(self.rate_ranges[last]);
            self.in_last += 1;
            self.set_last(join(self.intervals[last], interval), interval);
        } else {
            if self.intervals.len() == self.intervals_max {
                self.thin();
            }
            self.append(interval, interval);
        }
    }

    fn append(&mut self, entry: MeterInterval, newest: MeterInterval) {
        self.intervals.push(entry);
        self.rate_ranges.truncate(self.intervals.len() - 1);
        self.rate_ranges.push([0.0; 2]);
        self.range_before = None;
        self.in_last = 1;
        self.set_last(entry, newest);
    }

    fn grow_newest(&mut self, interval: MeterInterval) {
        let newest = join(self.newest, interval);
        let last = self.intervals[self.intervals.len() - 1];
        self.set_last(join(last, interval), newest);
    }

    /// Sets the last entry, of which `newest` is the last part.
    fn set_last(&mut self, entry: MeterInterval, newest: MeterInterval) {
        let last = self.intervals.len() - 1;
        let own_range = [interval_rate(newest); 2];
        self.intervals[last] = entry;
        self.rate_ranges[last] = self
            .range_before
            .map_or(own_range, |range| wider(range, own_range));
        self.newest = newest;
    }

    fn thin(&mut self) {
        self.intervals = in_pairs(&self.intervals, join);
        self.rate_ranges = in_pairs(&self.rate_ranges, wider);
        self.joined *= 2;
    }

    /// Joins the last interval to the one before if it is shorter than `least_ns`: requests that
    /// complete after the end of a run would otherwise show as an interval of their own, with an
    /// odd rate.
    pub fn join_short_end(&mut self, least_ns: u64) {
        if let [.., before, last] = self.intervals.as_mut_slice()
            && last.end_ns - last.start_ns < least_ns
        {
            *before = join(*before, *last);
            let joined_rate = interval_rate(*before);
            self.intervals.pop();
            // The odd rate of that short one is no extreme; that of both together may be.
            self.rate_ranges.pop();
            if let Some(range) = self.rate_ranges.last_mut() {
                *range = wider(*range, [joined_rate; 2]);
            }
        }
    }

    /// The intervals.
    pub fn as_slice(&self) -> &[MeterInterval] {
        &self.intervals
    }

    /// The lowest and the highest rate, in bytes per second, of the shorter intervals that are
    /// joined in each of the intervals; `None` if none are joined.
    pub fn rate_ranges(&self) -> Option<&[[f64; 2]]> {
        (self.joined > 1).then_some(&self.rate_ranges)
    }
}

fn in_pairs<T: Copy>(values: &[T], join: fn(T, T) -> T) -> Vec<T> {
    let pairs = values.chunks(2);
    let joined = pairs.filter_map(|pair| pair.iter().copied().reduce(join));
    joined.collect()
}

fn wider(first: [f64; 2], second: [f64; 2]) -> [f64; 2] {
    [first[0].min(second[0]), first[1].max(second[1])]
}

fn interval_rate(interval: MeterInterval) -> f64 {
    rate(interval.bytes, interval.end_ns - interval.start_ns)
}

/// Bytes per second; 0 for no time.
pub fn rate(bytes: u64, nanoseconds: u64) -> f64 {
    if nanoseconds == 0 {
        0.0
    } else {
        bytes as f64 * 1e9 / nanoseconds as f64
    }
}

/// The bytes until a time, as if each request had come evenly since the one before.
pub fn bytes_until(completions: &[MeterInterval], time_ns: f64) -> f64 {
    let whole = completions.partition_point(|one| one.end_ns as f64 <= time_ns);
    let bytes: u64 = completions[..whole].iter().map(|one| one.bytes).sum();
    let part = completions.get(whole).map_or(0.0, |one| {
        let (start_ns, end_ns) = (one.start_ns as f64, one.end_ns as f64);
        let part = ((time_ns - start_ns) / (end_ns - start_ns)).clamp(0.0, 1.0);
        part * one.bytes as f64
    });
    bytes as f64 + part
}

fn join(first: MeterInterval, second: MeterInterval) -> MeterInterval {
    MeterInterval {
        start_ns: first.start_ns,
        end_ns: second.end_ns,
        bytes: first.bytes + second.bytes,
        latency_max_ns: first.latency_max_ns.max(second.latency_max_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_stays_bounded_and_loses_no_byte_and_no_maximum() {
        let mut series = Series::bounded(8);
        for index in 0..1000u64 {
            let latency_max_ns = if index == 777 { 99 } else { 1 };
            let (start_ns, end_ns) = (index * 10, index * 10 + 10);
            series.push(MeterInterval {
                start_ns,
                end_ns,
                bytes: index,
                latency_max_ns,
            });
        }
        let kept = series.as_slice();
        assert!(kept.len() <= 8);
        assert_eq!(
            kept.iter().map(|interval| interval.bytes).sum::<u64>(),
            499_500
        );
        assert_eq!(
            kept.iter().map(|interval| interval.latency_max_ns).max(),
            Some(99)
        );
        assert_eq!((kept[0].start_ns, kept[kept.len() - 1].end_ns), (0, 10_000));
        assert!(
            kept.windows(2)
                .all(|pair| pair[0].end_ns == pair[1].start_ns)
        );
    }

    #[test]
    fn a_hole_and_a_spike_of_a_long_series_are_never_lost() {
        let mut series = Series::bounded(8);
        for index in 0..100u64 {
            let bytes = match index {
                31 => 0,
                77 => 500,
                _ => 100,
            };
            series.push(MeterInterval {
                start_ns: index * 1_000_000_000,
                end_ns: (index + 1) * 1_000_000_000,
                bytes,
                latency_max_ns: 0,
            });
        }
        let ranges = series.rate_ranges().expect("intervals were joined");
        assert_eq!(ranges.len(), series.as_slice().len());
        assert_eq!(ranges[31 / 16], [0.0, 100.0]);
        assert_eq!(ranges[77 / 16], [100.0, 500.0]);
        assert_eq!(ranges[0], [100.0, 100.0]);
        assert_eq!(Series::bounded(8).rate_ranges(), None);
    }

    #[test]
    fn completions_of_one_moment_make_no_hole() {
        for batch in [1, 2, 3, 5, 32] {
            let mut series = Series::bounded(8);
            let mut start_ns = 0;
            for index in 0..960u64 {
                // The first of all is at the start itself.
                let end_ns = index.div_ceil(batch) * batch * 100;
                series.push(MeterInterval {
                    start_ns,
                    end_ns,
                    bytes: 1000,
                    latency_max_ns: 1,
                });
                start_ns = end_ns;
            }
            let kept = series.as_slice();
            assert!(kept.len() <= 8);
            let bytes: u64 = kept.iter().map(|interval| interval.bytes).sum();
            assert_eq!(bytes, 960_000);
            let ranges = series.rate_ranges().map_or_else(Vec::new, <[_]>::to_vec);
            assert!(batch == 32 || ranges.len() == kept.len());
            for (interval, [low, high]) in kept.iter().zip(ranges) {
                let own = interval_rate(*interval);
                assert!(
                    low > 4e9 && low <= own && own <= high && high <= 21e9,
                    "{low} {own} {high}"
                );
            }
        }
    }

    #[test]
    fn what_completed_in_no_time_belongs_to_the_interval_before() {
        let interval = |start_ns, end_ns, bytes| MeterInterval {
            start_ns,
            end_ns,
            bytes,
            latency_max_ns: 1,
        };
        let mut series = Series::bounded(8);
        series.push(interval(0, 0, 5));
        series.push(interval(0, 0, 5));
        series.push(interval(0, 10, 10));
        series.push(interval(10, 10, 7));
        series.push(interval(10, 30, 1));
        assert_eq!(
            series.as_slice(),
            [interval(0, 10, 27), interval(10, 30, 1)]
        );
        series.join_short_end(50);
        assert_eq!(series.as_slice(), [interval(0, 30, 28)]);
    }

    #[test]
    fn bytes_are_cut_within_a_request() {
        let request = |start_ns, end_ns| MeterInterval {
            start_ns,
            end_ns,
            bytes: 1000,
            latency_max_ns: 0,
        };
        let requests = [request(0, 100), request(100, 300)];
        let until: Vec<f64> = [0.0, 50.0, 100.0, 150.0, 300.0, 900.0]
            .map(|time_ns| bytes_until(&requests, time_ns))
            .to_vec();
        assert_eq!(until, [0.0, 500.0, 1000.0, 1250.0, 2000.0, 2000.0]);
    }
}
