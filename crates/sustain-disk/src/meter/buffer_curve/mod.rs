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

#[cfg(test)]
mod tests;

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
