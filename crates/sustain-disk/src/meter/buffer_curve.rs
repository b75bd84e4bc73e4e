//! The buffer curve: for a rate r, the memory that would have ridden out every pause of the run,
//! B(r) = max over s <= t of [r(t-s) - (C(t)-C(s))], C = bytes completed on all targets.
//! Fed with every completion of a run or recording; must stay a few dozen operations each, and
//! bounded however long the run is. It must never show less than B(r).
//!
//! One leaky bucket per rate is exact: its level rises with r between completions, falls by the
//! bytes of a completion but not below zero; B(r) is the highest level, just before a completion or
//! at the end (J.-Y. Le Boudec and P. Thiran, "Network Calculus", 2001, chapter 1, leaky bucket
//! and backlog; M. Fidler, "A survey of deterministic and stochastic service curve models in the
//! network calculus", IEEE Communications Surveys & Tutorials 12, 2010).
//!
//! 64 rates of one fixed lattice, r = 2^(k/28): dense (2.5 % apart) from half to 1.1 times the
//! running rate, 10 % apart from a sixteenth to the double, then octaves down to 1/256. The first
//! second, at least 16 completions and at most 16,384 of different times, is stored to know the
//! running rate, and replayed: nothing is lost. Each time the run has become twice as long, the
//! rate of its newer half is looked at, without its longest pause; if it left the dense part, the
//! grid moves. (With that pause, a stall that takes most of the half would move the grid to next to
//! nothing, and leave out the rates that may be recorded.) Rates that both grids have stay exact.
//! Level and highest level of a new rate are convex in r and zero at r = 0, so the chord between
//! its neighbours is an upper bound of them; above the grid, (r - last) * t more than the last.
//! Such points are marked inexact.

/// Rates in the grid.
pub const GRID_RATES: usize = 64;

const STEPS_PER_OCTAVE: i32 = 28;
/// Lattice steps of the dense part below and above the running rate.
const DENSE_BELOW: i32 = 28;
const DENSE_ABOVE: i32 = 4;
/// The rest lies on every fourth lattice step, so that grids near each other share it.
const SPARSE_STEP: i32 = 4;
const SPARSE_ABOVE: usize = 6;
const SPARSE_BELOW: usize = 21;
/// While the rate of the newer half of the run is within these multiples of the centre, the grid
/// stays.
const STAY_ABOVE: f64 = 0.6;
const STAY_BELOW: f64 = 1.05;

/// A half that is nearly all one pause tells no rate.
const WORKED_SHARE_MIN: f64 = 0.1;

const LEARN_NS: u64 = 1_000_000_000;
const LEARN_TIMES_MIN: usize = 16;
const LEARN_TIMES_MAX: usize = 16_384;

const SECONDS_PER_NS: f64 = 1e-9;

/// The rate around which the grid begins.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum RateGrid {
    /// Around the rate of the first second.
    #[default]
    Learned,
    /// Around a rate known before, in bytes per second, such as that of a paced run: no slower half
    /// moves the grid below it.
    Around(f64),
}

/// A rate and the memory it needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BufferNeed {
    /// A stream's rate.
    pub rate_bytes_per_s: f64,
    /// Memory that rides out every pause seen at that rate.
    pub buffer_bytes: f64,
    /// Whether it is exact; otherwise it is an upper bound.
    pub exact: bool,
}

/// The curve of one run, over all its targets.
#[derive(Debug, Clone)]
pub struct BufferCurve {
    buckets: Option<Box<Buckets>>,
    /// Times and bytes until the grid is placed.
    learning: Vec<(u64, u64)>,
    last_ns: u64,
    /// Bytes completed at `last_ns`, not yet taken from the buckets.
    last_bytes: u64,
    /// Bytes completed before `last_ns`.
    bytes: u64,
    /// The start of the newer half of the run.
    half_ns: u64,
    half_bytes: u64,
    /// The longest time without a completion in it.
    half_pause_ns: u64,
    look_ns: u64,
    /// No grid is placed around a lower rate.
    centre_bytes_per_s_min: f64,
}

impl BufferCurve {
    /// A curve that has seen nothing, at the start of the run.
    #[must_use]
    pub fn new(grid: RateGrid) -> Self {
        let (buckets, centre_bytes_per_s_min) = match grid {
            RateGrid::Learned => (None, 0.0),
            RateGrid::Around(rate) => (Some(Buckets::around(rate)), rate),
        };
        Self {
            buckets,
            learning: Vec::new(),
            last_ns: 0,
            last_bytes: 0,
            bytes: 0,
            half_ns: 0,
            half_bytes: 0,
            half_pause_ns: 0,
            look_ns: LEARN_NS,
            centre_bytes_per_s_min,
        }
    }

    /// Notes that bytes were completed at `time_ns` since the start of the run. Times must not
    /// fall; one that does counts as the one before it. Completions of the same time cost almost
    /// nothing.
    #[inline]
    pub fn complete(&mut self, time_ns: u64, bytes: u64) {
        if time_ns > self.last_ns {
            self.advance(time_ns);
        }
        self.last_bytes += bytes;
    }

    /// Ends the curve at `time_ns`, or brings it up to that time: the time since the last
    /// completion counts as well.
    pub fn finish(&mut self, time_ns: u64) {
        if self.buckets.is_none() && self.bytes + self.last_bytes > 0 {
            self.place();
        }
        if time_ns > self.last_ns {
            self.advance(time_ns);
        }
    }

    /// The curve so far, rates rising; empty until the first second is over or
    /// [`finish`](Self::finish) was called, and if nothing was completed.
    #[must_use]
    pub fn points(&self) -> Vec<BufferNeed> {
        self.buckets
            .as_ref()
            .map_or_else(Vec::new, |buckets| buckets.points())
    }

    fn advance(&mut self, time_ns: u64) {
        let times = self.learning.len() + 1;
        let learned = time_ns >= LEARN_NS && times >= LEARN_TIMES_MIN;
        if self.buckets.is_none() && (learned || times == LEARN_TIMES_MAX) {
            self.place();
        }
        if let Some(buckets) = &mut self.buckets {
            buckets.advance(time_ns - self.last_ns, self.last_bytes);
        } else if self.last_bytes > 0 {
            self.learning.push((self.last_ns, self.last_bytes));
        }
        self.half_pause_ns = self.half_pause_ns.max(time_ns - self.last_ns);
        self.bytes += self.last_bytes;
        self.last_bytes = 0;
        self.last_ns = time_ns;
        if self.buckets.is_some() && time_ns >= self.look_ns {
            self.look_at_newer_half();
        }
    }

    /// Places the grid around the rate so far, and replays what was stored.
    fn place(&mut self) {
        let seconds = self.last_ns.max(1) as f64 * SECONDS_PER_NS;
        let rate_bytes_per_s = (self.bytes + self.last_bytes) as f64 / seconds;
        let mut buckets = Buckets::around(rate_bytes_per_s);
        let (mut last_ns, mut last_bytes) = (0, 0);
        for (time_ns, bytes) in std::mem::take(&mut self.learning) {
            buckets.advance(time_ns - last_ns, last_bytes);
            (last_ns, last_bytes) = (time_ns, bytes);
        }
        buckets.advance(self.last_ns - last_ns, last_bytes);
        self.buckets = Some(buckets);
        self.look_again();
    }

    /// Plans the next look at the newer half, when the run is twice as long as now.
    fn look_again(&mut self) {
        self.half_ns = self.last_ns;
        self.half_bytes = self.bytes;
        self.half_pause_ns = 0;
        self.look_ns = 2 * self.last_ns.max(1);
    }

    /// Moves the grid if the run has left its dense part.
    #[cold]
    fn look_at_newer_half(&mut self) {
        let seconds = (self.last_ns - self.half_ns) as f64 * SECONDS_PER_NS;
        let worked_s = seconds - self.half_pause_ns as f64 * SECONDS_PER_NS;
        let rate = (self.bytes - self.half_bytes) as f64 / worked_s;
        let rate = rate.max(self.centre_bytes_per_s_min);
        let is_pause = worked_s < WORKED_SHARE_MIN * seconds;
        self.look_again();
        if is_pause {
            return;
        }
        if let Some(buckets) = &mut self.buckets
            && rate > 0.0
            && !(STAY_ABOVE..=STAY_BELOW).contains(&(rate / lattice_rate(buckets.centre)))
        {
            **buckets = buckets.moved(rate, self.last_ns);
        }
    }
}

/// Leaky buckets of all rates, as columns for the vector unit.
#[derive(Debug, Clone)]
struct Buckets {
    rates_bytes_per_s: [f64; GRID_RATES],
    levels_bytes: [f64; GRID_RATES],
    highest_bytes: [f64; GRID_RATES],
    lattice: [i32; GRID_RATES],
    exact: [bool; GRID_RATES],
    centre: i32,
}

impl Buckets {
    fn around(rate_bytes_per_s: f64) -> Box<Self> {
        let centre = lattice_index(rate_bytes_per_s);
        let lattice = lattice_around(centre);
        Box::new(Self {
            rates_bytes_per_s: lattice.map(lattice_rate),
            levels_bytes: [0.0; GRID_RATES],
            highest_bytes: [0.0; GRID_RATES],
            lattice,
            exact: [true; GRID_RATES],
            centre,
        })
    }

    /// Takes the bytes completed at the last time, then lets time pass.
    fn advance(&mut self, elapsed_ns: u64, bytes_before: u64) {
        let elapsed_s = elapsed_ns as f64 * SECONDS_PER_NS;
        let bytes = bytes_before as f64;
        for index in 0..GRID_RATES {
            let left = larger(self.levels_bytes[index] - bytes, 0.0);
            let level = left + self.rates_bytes_per_s[index] * elapsed_s;
            self.levels_bytes[index] = level;
            self.highest_bytes[index] = larger(self.highest_bytes[index], level);
        }
    }

    /// The same moment on a grid around another rate.
    fn moved(&self, rate_bytes_per_s: f64, now_ns: u64) -> Self {
        let now_s = now_ns as f64 * SECONDS_PER_NS;
        let mut moved = *Self::around(rate_bytes_per_s);
        for index in 0..GRID_RATES {
            let above = self
                .lattice
                .partition_point(|&old| old < moved.lattice[index]);
            let rate = moved.rates_bytes_per_s[index];
            let same = self.lattice.get(above) == Some(&moved.lattice[index]);
            moved.exact[index] = same && self.exact[above];
            let bound = |values: &[f64; GRID_RATES]| {
                if same {
                    values[above]
                } else {
                    self.upper_bound(values, above, rate, now_s)
                }
            };
            moved.levels_bytes[index] = bound(&self.levels_bytes);
            moved.highest_bytes[index] = bound(&self.highest_bytes);
        }
        moved
    }

    /// The chord of a convex function of the rate that is zero at 0, with a slope of at most
    /// `now_s`: an upper bound.
    fn upper_bound(&self, values: &[f64; GRID_RATES], above: usize, rate: f64, now_s: f64) -> f64 {
        let rates = &self.rates_bytes_per_s;
        if above == GRID_RATES {
            let last = GRID_RATES - 1;
            return values[last] + (rate - rates[last]) * now_s;
        }
        let (left_rate, left) = if above == 0 {
            (0.0, 0.0)
        } else {
            (rates[above - 1], values[above - 1])
        };
        let share = (rate - left_rate) / (rates[above] - left_rate);
        left + share * (values[above] - left)
    }

    fn points(&self) -> Vec<BufferNeed> {
        let point = |index: usize| BufferNeed {
            rate_bytes_per_s: self.rates_bytes_per_s[index],
            buffer_bytes: self.highest_bytes[index],
            exact: self.exact[index],
        };
        (0..GRID_RATES).map(point).collect()
    }
}

/// One instruction of the vector unit; `f64::max` is several, for the sake of not-a-number.
#[inline]
fn larger(left: f64, right: f64) -> f64 {
    if left > right { left } else { right }
}

fn lattice_rate(index: i32) -> f64 {
    (f64::from(index) / f64::from(STEPS_PER_OCTAVE)).exp2()
}

fn lattice_index(rate_bytes_per_s: f64) -> i32 {
    // Rates from 1 B/s to 1 EB/s, so the cast cannot saturate.
    (rate_bytes_per_s.clamp(1.0, 1e18).log2() * f64::from(STEPS_PER_OCTAVE)).round() as i32
}

/// The grid around a centre, rising.
fn lattice_around(centre: i32) -> [i32; GRID_RATES] {
    let (first, last) = (centre - DENSE_BELOW, centre + DENSE_ABOVE);
    // Multiples of a step, the nearest beyond a place first.
    let below = |place: i32, step: i32| {
        let nearest = (place - 1).div_euclid(step);
        (0..).map(move |further| (nearest - further) * step)
    };
    let nearest_above = last.div_euclid(SPARSE_STEP) + 1;
    let above = (0..).map(|further| (nearest_above + further) * SPARSE_STEP);
    let sparse: Vec<i32> = below(first, SPARSE_STEP).take(SPARSE_BELOW).collect();
    let octaves = below(sparse[SPARSE_BELOW - 1], STEPS_PER_OCTAVE);
    let rates = above
        .take(SPARSE_ABOVE)
        .chain(first..=last)
        .chain(sparse)
        .chain(octaves);
    let mut lattice = [0; GRID_RATES];
    for (place, index) in lattice.iter_mut().zip(rates) {
        *place = index;
    }
    lattice.sort_unstable();
    lattice
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    /// The definition, over all pairs of times.
    fn by_definition(completions: &[(u64, u64)], end_ns: u64, rate: f64) -> f64 {
        let mut starts = vec![(0u64, 0u64)];
        let mut total = 0;
        let mut most = 0.0f64;
        for &(time_ns, bytes) in completions.iter().chain(&[(end_ns, 0)]) {
            for &(start_ns, start_total) in &starts {
                let offered = rate * (time_ns - start_ns) as f64 * 1e-9;
                most = most.max(offered - (total - start_total) as f64);
            }
            total += bytes;
            starts.push((time_ns, total));
        }
        most
    }

    fn measured(grid: RateGrid, completions: &[(u64, u64)], end_ns: u64) -> Vec<BufferNeed> {
        let mut curve = BufferCurve::new(grid);
        for &(time_ns, bytes) in completions {
            curve.complete(time_ns, bytes);
        }
        curve.finish(end_ns);
        curve.points()
    }

    /// Phases of their own pace, so that the grid is placed, moved, and moved again.
    fn run() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let phase = (
            1u64..200,
            1u64..40,
            prop::collection::vec((0u64..3, 1u64..5), 1..30),
        );
        prop::collection::vec(phase, 1..6).prop_map(|phases| {
            let mut time_ns = 0;
            let mut completions = Vec::new();
            for (gap_ms, records, steps) in phases {
                for (gaps, parts) in steps {
                    time_ns += gaps * gap_ms * MS;
                    completions.push((time_ns, parts * records * 100_000));
                }
            }
            completions
        })
    }

    proptest! {
        // The definition is quadratic.
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn is_the_definition_or_above_it(
            completions in run(),
            tail_ms in 0u64..3000,
            around in prop::option::of(1e4..1e9f64),
        ) {
            let end_ns = completions[completions.len() - 1].0 + tail_ms * MS;
            let grid = around.map_or(RateGrid::Learned, RateGrid::Around);
            let points = measured(grid, &completions, end_ns);
            prop_assert_eq!(points.len(), GRID_RATES);
            for point in &points {
                let rate = point.rate_bytes_per_s;
                let truth = by_definition(&completions, end_ns, rate);
                let rounding = 1e-9 * (1.0 + rate * end_ns as f64 * 1e-9);
                prop_assert!(point.buffer_bytes >= truth - rounding, "{point:?} below {truth}");
                if point.exact {
                    prop_assert!(point.buffer_bytes <= truth + rounding, "{point:?} not {truth}");
                }
            }
            for pair in points.windows(2) {
                prop_assert!(pair[0].rate_bytes_per_s < pair[1].rate_bytes_per_s);
                prop_assert!(pair[0].buffer_bytes <= pair[1].buffer_bytes);
            }
        }
    }

    /// A completion of `bytes` every millisecond of a stretch.
    fn flat(from_ms: u64, to_ms: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
        (from_ms + 1..=to_ms).map(move |at_ms| (at_ms * MS, bytes))
    }

    #[test]
    fn one_pause_at_a_steady_rate() {
        // 1 GB/s in records of 1 MB, with a pause of 100 ms after 5 s.
        let completions: Vec<(u64, u64)> = flat(0, 5000, 1_000_000)
            .chain(flat(5100, 60_000, 1_000_000))
            .collect();
        let points = measured(RateGrid::Learned, &completions, 60_000 * MS);
        assert!(points.iter().all(|point| point.exact));
        for point in points
            .iter()
            .filter(|point| point.rate_bytes_per_s < 0.99e9)
        {
            // The pause, and the millisecond of the record that ends it.
            let expected = point.rate_bytes_per_s * 0.101;
            assert!(
                (point.buffer_bytes / expected - 1.0).abs() < 1e-6,
                "{point:?}"
            );
        }
        let dense = points
            .iter()
            .filter(|p| (0.5e9..=1.1e9).contains(&p.rate_bytes_per_s));
        assert!(dense.count() >= 31);
    }

    #[test]
    fn a_cache_peak_moves_the_grid_and_costs_little() {
        // 8 GB/s for 1.5 s, then 1 GB/s.
        let completions: Vec<(u64, u64)> = flat(0, 1500, 8_000_000)
            .chain(flat(1500, 4000, 1_000_000))
            .collect();
        let points = measured(RateGrid::Learned, &completions, 4000 * MS);
        let near = |point: &&BufferNeed| (0.6e9..0.99e9).contains(&point.rate_bytes_per_s);
        assert!(
            points.iter().filter(near).count() >= 19,
            "dense where the run is now"
        );
        for point in points.iter().filter(near).step_by(4) {
            let truth = by_definition(&completions, 4000 * MS, point.rate_bytes_per_s);
            assert!(point.buffer_bytes <= 1.05 * truth, "{point:?} for {truth}");
        }
    }

    #[test]
    fn silence_at_the_end_counts() {
        let completions: Vec<(u64, u64)> = flat(0, 2000, 1000).collect();
        let points = measured(RateGrid::Around(1e6), &completions, 3000 * MS);
        let point = points
            .iter()
            .find(|point| point.rate_bytes_per_s >= 0.9e6)
            .expect("a rate");
        assert!(
            (point.buffer_bytes / point.rate_bytes_per_s - 1.0).abs() < 1e-9,
            "{point:?}"
        );
    }

    #[test]
    fn short_and_empty_runs() {
        assert!(measured(RateGrid::Learned, &[], 5000 * MS).is_empty());
        let points = measured(RateGrid::Learned, &[(300 * MS, 1 << 20)], 500 * MS);
        assert_eq!(points.len(), GRID_RATES);
        for point in points {
            let truth = by_definition(&[(300 * MS, 1 << 20)], 500 * MS, point.rate_bytes_per_s);
            assert!(
                (point.buffer_bytes - truth).abs() <= 1e-9 * truth,
                "{point:?} {truth}"
            );
        }
    }

    #[test]
    fn many_small_completions_do_not_wait_for_the_first_second() {
        let mut curve = BufferCurve::new(RateGrid::Learned);
        for number in 1..=LEARN_TIMES_MAX as u64 + 1 {
            curve.complete(number * 2000, 4096);
        }
        assert_eq!(curve.points().len(), GRID_RATES);
        assert_eq!(curve.learning.capacity(), 0);
        let highest = curve.points().last().copied().expect("a point");
        assert!(highest.rate_bytes_per_s > 1.7 * 4096.0 * 5e5);
    }

    #[test]
    fn the_lattice_is_dense_around_its_centre() {
        for centre in [0, 7, 700, 713, 714, 1194] {
            let lattice = lattice_around(centre);
            assert!(
                lattice.windows(2).all(|pair| pair[0] < pair[1]),
                "{lattice:?}"
            );
            let steps = lattice
                .windows(2)
                .filter(|pair| pair[1] - pair[0] == 1)
                .count();
            assert!(steps >= 32, "{lattice:?}");
            assert!(lattice.contains(&(centre - 28)) && lattice.contains(&(centre + 4)));
        }
    }

    /// 100 MB/s in records of 1 MB, but for a stall.
    fn with_stall(curve: &mut BufferCurve, stall_ms: std::ops::Range<u64>, end_ms: u64) {
        for at_ms in (10..=end_ms).step_by(10) {
            if !stall_ms.contains(&at_ms) {
                curve.complete(at_ms * MS, 1_000_000);
            }
        }
        curve.finish(end_ms * MS);
    }

    fn needed(curve: &BufferCurve, rate: f64) -> Option<BufferNeed> {
        let points = curve.points();
        points
            .into_iter()
            .find(|point| point.rate_bytes_per_s >= rate)
    }

    #[test]
    fn a_stall_longer_than_all_before_it_leaves_the_rates_that_may_be_recorded() {
        for grid in [RateGrid::Learned, RateGrid::Around(100e6)] {
            let mut curve = BufferCurve::new(grid);
            with_stall(&mut curve, 1500..10_500, 12_000);
            // Three seconds of 12, and what the run gave in all is in the grid.
            let point = needed(&curve, 25e6).expect("the run's own rate");
            assert!(point.buffer_bytes >= point.rate_bytes_per_s * 9.0);
            assert!(
                point.buffer_bytes < point.rate_bytes_per_s * 9.1,
                "{grid:?} {point:?}"
            );
        }
        // A paced run's rate was the question, however little came of it.
        let mut paced = BufferCurve::new(RateGrid::Around(100e6));
        with_stall(&mut paced, 1500..10_500, 10_600);
        let point = needed(&paced, 58e6).expect("rates up to the paced one");
        assert!(
            point.exact && point.buffer_bytes < point.rate_bytes_per_s * 9.1,
            "{point:?}"
        );
    }
}
