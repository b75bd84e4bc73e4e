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

#[cfg(test)]
mod tests {
    use super::super::series;
    use super::*;

    const ONE_PASS: Revisits = Revisits { lap_bytes: None };

    fn mb(verdict: &SteadyVerdict) -> f64 {
        verdict.rate_bytes_per_s / 1e6
    }

    #[test]
    fn flat_is_steady_from_the_first_byte() {
        let verdict = judge(&series::linear(60, 100.0, 100.0, 0.02), ONE_PASS);
        assert!(verdict.reached, "{verdict:?}");
        assert_eq!(verdict.from_s, 0.0);
        let [low, high] = verdict.ci95_bytes_per_s;
        assert!(
            low < 100e6 && 100e6 < high && high - low < 3e6,
            "{verdict:?}"
        );
    }

    #[test]
    fn a_fall_is_not_steady_and_says_why() {
        let verdict = judge(&series::linear(300, 100.0, 50.0, 0.0), ONE_PASS);
        assert!(!verdict.reached);
        // The last half falls from 75 to 50; its ten batches from 73.75 to 51.25 around 62.5.
        let SteadyReason::Unsteady {
            length_s,
            pause,
            range_percent: Some(range),
            rise_percent: Some(rise),
            position,
        } = verdict.reason
        else {
            panic!("{verdict:?}");
        };
        assert_eq!(
            (length_s, pause, position),
            (150.0, None, PositionKnown::OnePass)
        );
        assert!(
            (range - 36.0).abs() < 0.1 && (rise + 36.0).abs() < 0.1,
            "{range} {rise}"
        );
        assert!(
            (mb(&verdict) - 62.5).abs() < 0.1,
            "best estimate is the last half"
        );
        assert_eq!(verdict.from_s, 150.0);
    }

    #[test]
    fn the_limits_are_on_the_fitted_line_of_ten_batches() {
        // Batches of a line from 1 + d/2 to 1 - d/2 rise by 0.9 d; both runs are steady in range.
        let passing = judge(&series::linear(10, 105.4, 94.6, 0.0), ONE_PASS);
        assert!(passing.reached, "{passing:?}");
        let failing = judge(&series::linear(10, 105.7, 94.3, 0.0), ONE_PASS);
        assert!(!failing.reached, "{failing:?}");
        let SteadyReason::Unsteady {
            range_percent: None,
            rise_percent: Some(rise),
            ..
        } = failing.reason
        else {
            panic!("{failing:?}");
        };
        assert!((rise + 10.26).abs() < 0.01, "{rise}");
    }

    #[test]
    fn steady_begins_after_the_burst() {
        let verdict = judge(&series::cached(120, 600.0, 80.0, 40.0, 0.01), ONE_PASS);
        assert!(verdict.reached, "{verdict:?}");
        assert_eq!(verdict.from_s, 15.0, "600 MB at 40 MB/s more than drains");
        assert!((mb(&verdict) - 40.0).abs() < 0.5, "{verdict:?}");
    }

    #[test]
    fn a_burst_that_ends_late_asks_for_a_longer_run() {
        let verdict = judge(&series::dropped(100, 3000.0, 1500.0, 70, 0.0), ONE_PASS);
        assert!(!verdict.reached);
        let SteadyReason::LateBurst {
            until_s,
            duration_s,
            rate_bytes_per_s,
            after_bytes_per_s,
        } = verdict.reason
        else {
            panic!("{verdict:?}");
        };
        assert!(
            (until_s - 70.0).abs() < 1.0 && duration_s == 100.0,
            "{until_s}"
        );
        let rates = [rate_bytes_per_s / 3e9, after_bytes_per_s / 1.5e9];
        assert!(
            rates.iter().all(|part| (part - 1.0).abs() < 0.01),
            "{rates:?}"
        );
    }

    #[test]
    fn short_and_empty_runs() {
        let short = judge(&series::linear(6, 100.0, 100.0, 0.0), ONE_PASS);
        assert_eq!(short.reason, SteadyReason::TooShort { duration_s: 6.0 });
        assert!((mb(&short) - 100.0).abs() < 1e-6);
        assert_eq!(judge(&[], ONE_PASS).reason, SteadyReason::Nothing);
        assert!(!judge(&series::linear(60, 0.0, 0.0, 0.0), ONE_PASS).reached);
        let long_steps: Vec<Step> = (0u8..8)
            .map(|k| Step {
                start_s: f64::from(k) * 5.0,
                end_s: f64::from(k) * 5.0 + 5.0,
                bytes: 1 << 30,
            })
            .collect();
        let few = judge(&long_steps, ONE_PASS);
        assert_eq!(few.reason, SteadyReason::TooFewSteps { length_s: 20.0 });
    }

    #[test]
    fn a_stall_longer_than_a_batch_is_named() {
        let verdict = judge(&series::stalled(60, 100.0, 40, 8, 0.0), ONE_PASS);
        assert!(!verdict.reached);
        let SteadyReason::Unsteady {
            pause: Some(pause), ..
        } = verdict.reason
        else {
            panic!("{verdict:?}");
        };
        assert_eq!((pause.from_s, pause.length_s), (42.0, 3.0));
    }

    #[test]
    fn a_short_last_step_does_not_matter() {
        let mut steps = series::linear(60, 100.0, 100.0, 0.0);
        steps.push(Step {
            start_s: 60.0,
            end_s: 60.004,
            bytes: 0,
        });
        let verdict = judge(&steps, ONE_PASS);
        assert!(
            verdict.reached && (mb(&verdict) - 100.0).abs() < 0.1,
            "{verdict:?}"
        );
    }

    #[test]
    fn two_laps_tell_position_from_time() {
        let steps = series::zoned(300, 840.0, 11.2, 6.0, 12, 0.01);
        let known = judge(
            &steps,
            Revisits {
                lap_bytes: Some(840_000_000),
            },
        );
        assert!(known.reached, "{known:?}");
        // A lap of 12 zones takes 840/12 * sum(1/rate) = 101.2 s.
        let lap_s: f64 = (0u8..12)
            .map(|k| 70.0 / (11.2 - 5.2 * f64::from(k) / 11.0))
            .sum();
        assert!(
            (mb(&known) / (840.0 / lap_s) - 1.0).abs() < 0.02,
            "{known:?}"
        );
        let removed = PositionKnown::RemovedByLaps { laps: 2 };
        assert!(
            matches!(known.reason, SteadyReason::Steady { position, .. } if position == removed),
            "{known:?}"
        );
        assert!(!judge(&steps, ONE_PASS).reached);
        let first_lap = judge(
            &steps[..130],
            Revisits {
                lap_bytes: Some(840_000_000),
            },
        );
        assert!(!first_lap.reached, "{first_lap:?}");
    }

    #[test]
    fn laps_do_not_hide_a_fall_over_time() {
        for seconds in [210, 400, 800] {
            let steps = series::linear(seconds, 100.0, 50.0, 0.01);
            let verdict = judge(
                &steps,
                Revisits {
                    lap_bytes: Some(7_000_000_000),
                },
            );
            assert!(!verdict.reached, "{seconds} s: {verdict:?}");
        }
    }

    #[test]
    fn white_noise_of_8_percent_is_steady_in_a_minute() {
        let verdict = judge(&series::linear(60, 200.0, 200.0, 0.08), ONE_PASS);
        assert!(verdict.reached, "{verdict:?}");
    }
}
