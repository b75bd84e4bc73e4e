//! Judges a series: whether it is steady, at which rate, and how well that is known. Called at the
//! end of a run, and once a second by a run that ends when steady: a call is O(n), and O(log n) for
//! each of the 26 windows. A rate that was still falling must never be called steady.
//!
//! The rule is that of the SNIA Solid State Storage Performance Test Specification 2.0.2, steady
//! state, with both conditions over the same window: the range max(y) - min(y) is at most 20 % of
//! the mean, and the rise of the fitted line over the window, slope * (n-1), is at most 10 % of the
//! mean either way. Here y are the rates of n = 10 batches of equal time, so that the range does
//! not grow with the number of samples, and the window is the longest tail that passes, of at least
//! half the run and 10 s. The tail begins after the burst, if there is one. If the run came back to
//! the same positions, the position effect is removed first (`position`).

use super::batch_means::{BATCHES, BatchMeans};
use super::burst::{self, MeasuredBurst};
use super::conventional::slope;
use super::curve::CumulativeBytes;
use super::position::PositionEffect;
use super::{Revisits, Step};

#[cfg(test)]
mod tests;

/// A shorter run cannot be judged steady.
pub const WINDOW_S_MIN: f64 = 10.0;
const WINDOW_SHARE_MIN: f64 = 0.5;
/// The range of the batches of a steady window, in percent of their mean.
pub const RANGE_PERCENT_MAX: f64 = 20.0;
/// The rise or fall of the fitted line over a steady window, in percent of the mean.
pub const RISE_PERCENT_MAX: f64 = 10.0;
/// So many laps tell position from time.
const LAPS_MIN: f64 = 2.0;
/// Number of windows tried, evenly spaced, besides the first.
const CANDIDATES: u32 = 25;

/// The verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyVerdict {
    /// Whether the window passed both conditions.
    pub reached: bool,
    /// Mean of the window; if not reached, the best estimate: the mean of the last half of the run,
    /// but at least of 10 s, or of the whole run if it is shorter.
    pub rate_bytes_per_s: f64,
    /// 95 % interval of that mean.
    pub ci95_bytes_per_s: [f64; 2],
    /// Start of the window, which ends with the run.
    pub from_s: f64,
    /// The figures behind the verdict.
    pub reason: SteadyReason,
}

/// The figures behind a verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum SteadyReason {
    /// No bytes were transferred.
    Nothing,
    /// The window passed both conditions.
    Steady {
        /// Its length.
        length_s: f64,
        /// The range of its batches.
        range_percent: f64,
        /// The rise of the fitted line; negative if it falls.
        rise_percent: f64,
        /// The correlation of neighbouring batches, if the interval was widened for it.
        widened_for: Option<f64>,
        /// What is known of the effect of the position.
        position: PositionKnown,
    },
    /// The run was shorter than [`WINDOW_S_MIN`].
    TooShort {
        /// Its length.
        duration_s: f64,
    },
    /// The series has fewer steps in the window than batches are needed.
    TooFewSteps {
        /// The length of the window.
        length_s: f64,
    },
    /// The rate was higher for over half of the run.
    LateBurst {
        /// When the higher rate ended.
        until_s: f64,
        /// The length of the run.
        duration_s: f64,
        /// The higher rate.
        rate_bytes_per_s: f64,
        /// The rate that followed.
        after_bytes_per_s: f64,
    },
    /// The window failed one condition, or several.
    Unsteady {
        /// Its length.
        length_s: f64,
        /// The first batch without a byte.
        pause: Option<EmptyBatch>,
        /// The range of its batches, if that is too wide.
        range_percent: Option<f64>,
        /// The rise of the fitted line, or its fall if negative, if that is too steep.
        rise_percent: Option<f64>,
        /// What is known of the effect of the position.
        position: PositionKnown,
    },
}

/// A batch in which no byte was transferred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmptyBatch {
    /// Its beginning.
    pub from_s: f64,
    /// Its length.
    pub length_s: f64,
}

/// What is known of the effect of the position on a run's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PositionKnown {
    /// A profile knew it, and it was removed.
    RemovedByProfile,
    /// The laps showed it, and it was removed.
    RemovedByLaps {
        /// The number of whole laps.
        laps: usize,
    },
    /// Two laps or more showed none that could be removed.
    SeveralLaps,
    /// Position cannot be told from time: positions were hardly seen again.
    FewLaps {
        /// The number of laps, a fraction included.
        laps: f64,
    },
    /// Position cannot be told from time: no position was seen again.
    OnePass,
}

/// Judges a run, or the part of it so far.
#[must_use]
pub fn judge(steps: &[Step], revisits: Revisits) -> SteadyVerdict {
    judge_as(steps, revisits, None)
}

/// Judges a run whose steps have been made even by a profile (`places`).
#[must_use]
pub fn judge_even(steps: &[Step]) -> SteadyVerdict {
    let known = PositionKnown::RemovedByProfile;
    judge_as(steps, Revisits::default(), Some(known))
}

fn judge_as(steps: &[Step], revisits: Revisits, known: Option<PositionKnown>) -> SteadyVerdict {
    let Some(curve) = CumulativeBytes::new(steps).filter(|curve| curve.total_bytes() > 0.0) else {
        return nothing();
    };
    let burst = burst::find(steps);
    let begin_s = burst.map_or(curve.start_s(), |burst| burst.until_s);
    let effect = revisits
        .lap_bytes
        .and_then(|lap| PositionEffect::estimate(&curve, lap, begin_s));
    let even = effect
        .as_ref()
        .map_or_else(|| curve.clone(), |effect| effect.remove(&curve));
    let run = SteadyBasis {
        curve: &even,
        burst,
        position: known.unwrap_or_else(|| position_known(&curve, revisits, &effect)),
    };

    let length_s_min = (WINDOW_SHARE_MIN * curve.duration_s()).max(WINDOW_S_MIN);
    let latest_s = curve.end_s() - length_s_min;
    let too_few = curve.knots_between(latest_s, curve.end_s()) + 1 < BATCHES;
    if curve.duration_s() < WINDOW_S_MIN || too_few || begin_s > latest_s {
        return run.not_reached(too_few);
    }
    (0..=CANDIDATES)
        .map(|index| begin_s + (latest_s - begin_s) * f64::from(index) / f64::from(CANDIDATES))
        .map(|from_s| TailWindow::of(&even, from_s))
        .find(TailWindow::passes)
        .map_or_else(|| run.not_reached(false), |window| run.reached(&window))
}

fn nothing() -> SteadyVerdict {
    SteadyVerdict {
        reached: false,
        rate_bytes_per_s: 0.0,
        ci95_bytes_per_s: [0.0, 0.0],
        from_s: 0.0,
        reason: SteadyReason::Nothing,
    }
}

/// A tail of the run in ten batches.
struct TailWindow {
    from_s: f64,
    length_s: f64,
    batches: [f64; BATCHES],
    means: BatchMeans,
    range_percent: f64,
    /// The rise of the fitted line from the first batch to the last; negative if it falls.
    rise_percent: f64,
}

impl TailWindow {
    fn of(curve: &CumulativeBytes, from_s: f64) -> Self {
        let batches: [f64; BATCHES] = curve.batch_rates(from_s, curve.end_s());
        let means = BatchMeans::of(&batches);
        let most = batches.iter().copied().fold(f64::MIN, f64::max);
        let least = batches.iter().copied().fold(f64::MAX, f64::min);
        let percent = |value: f64| {
            if means.mean > 0.0 {
                100.0 * value / means.mean
            } else {
                0.0
            }
        };
        Self {
            from_s,
            length_s: curve.end_s() - from_s,
            range_percent: percent(most - least),
            rise_percent: percent(slope(&batches) * (BATCHES - 1) as f64),
            batches,
            means,
        }
    }

    fn passes(&self) -> bool {
        self.means.mean > 0.0
            && self.range_percent <= RANGE_PERCENT_MAX
            && self.rise_percent.abs() <= RISE_PERCENT_MAX
    }

    fn verdict(&self, reached: bool, reason: SteadyReason) -> SteadyVerdict {
        SteadyVerdict {
            reached,
            rate_bytes_per_s: self.means.mean,
            ci95_bytes_per_s: self.means.interval(),
            from_s: self.from_s,
            reason,
        }
    }
}

/// Values that all verdicts of one run use.
struct SteadyBasis<'a> {
    curve: &'a CumulativeBytes,
    burst: Option<MeasuredBurst>,
    position: PositionKnown,
}

fn position_known(
    curve: &CumulativeBytes,
    revisits: Revisits,
    effect: &Option<PositionEffect>,
) -> PositionKnown {
    if let Some(effect) = effect {
        return PositionKnown::RemovedByLaps { laps: effect.laps };
    }
    let laps = revisits
        .lap_bytes
        .map_or(1.0, |lap| curve.total_bytes() / lap.max(1) as f64);
    if laps >= LAPS_MIN {
        PositionKnown::SeveralLaps
    } else if laps > 1.0 {
        PositionKnown::FewLaps { laps }
    } else {
        PositionKnown::OnePass
    }
}

impl SteadyBasis<'_> {
    fn reached(&self, window: &TailWindow) -> SteadyVerdict {
        let reason = SteadyReason::Steady {
            length_s: window.length_s,
            range_percent: window.range_percent,
            rise_percent: window.rise_percent,
            widened_for: window.means.widened.then_some(window.means.lag_1),
            position: self.position,
        };
        window.verdict(true, reason)
    }

    /// Gives the best estimate: the mean of the last half of the run, or of the last 10 s.
    fn not_reached(&self, too_few_steps: bool) -> SteadyVerdict {
        let duration_s = self.curve.duration_s();
        let length_s = (WINDOW_SHARE_MIN * duration_s).max(WINDOW_S_MIN.min(duration_s));
        let window = TailWindow::of(self.curve, self.curve.end_s() - length_s);
        let late = self.burst.filter(|burst| burst.until_s > window.from_s);
        let reason = if duration_s < WINDOW_S_MIN {
            SteadyReason::TooShort { duration_s }
        } else if too_few_steps {
            SteadyReason::TooFewSteps { length_s }
        } else if let Some(burst) = late {
            SteadyReason::LateBurst {
                until_s: burst.until_s,
                duration_s,
                rate_bytes_per_s: burst.rate_bytes_per_s,
                after_bytes_per_s: self.rate_after(burst),
            }
        } else {
            self.unsteady(&window)
        };
        window.verdict(false, reason)
    }

    fn rate_after(&self, burst: MeasuredBurst) -> f64 {
        let after = self.curve.total_bytes() - self.curve.bytes_at(burst.until_s);
        after / (self.curve.end_s() - burst.until_s)
    }

    fn unsteady(&self, window: &TailWindow) -> SteadyReason {
        let batch_s = window.length_s / BATCHES as f64;
        let empty = window.batches.iter().position(|&rate| rate <= 0.0);
        let (range, rise) = (window.range_percent, window.rise_percent);
        SteadyReason::Unsteady {
            length_s: window.length_s,
            pause: empty.map(|batch| EmptyBatch {
                from_s: window.from_s + batch_s * batch as f64,
                length_s: batch_s,
            }),
            range_percent: (range > RANGE_PERCENT_MAX).then_some(range),
            rise_percent: (rise.abs() > RISE_PERCENT_MAX).then_some(rise),
            position: self.position,
        }
    }
}
