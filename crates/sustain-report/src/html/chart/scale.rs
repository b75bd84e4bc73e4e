//! Converts figures to places along an axis, with the ticks that a reader expects there, in words.
//! Every chart has one scale across and one up per panel.

use super::quantity::{Quantity, TimeUnit};

/// Figures further apart than this factor are drawn by their logarithm.
const LINEAR_RATIO_MAX: f64 = 10.0;
/// The largest number of steps from zero to the last tick.
const STEPS_MAX: f64 = 5.0;
/// The ticks of a wide axis; a narrow screen leaves every other one out.
const TIME_STEPS_MAX: f64 = 10.0;
/// More ticks of a logarithmic axis of memory would touch each other.
const MEMORY_STEPS_MAX: i32 = 6;

/// The places of figures along an axis.
#[derive(Debug, Clone)]
pub(in super::super) struct Scale {
    pub(super) quantity: Quantity,
    is_logarithmic: bool,
    low: f64,
    high: f64,
    /// The figures that have a label.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Scale {
    /// A scale with these ends and ticks.
    fn linear(quantity: Quantity, low: f64, high: f64, ticks: Vec<f64>) -> Scale {
        let labelled = ticks.into_iter().map(|tick| (tick, quantity.tick(tick)));
        Scale {
            quantity,
            is_logarithmic: false,
            low,
            high,
            ticks: labelled.collect(),
        }
    }

    /// A scale from zero to a round figure that is not less than `most`. Where all figures are
    /// zero, no other one has a label: there is no telling which would suit.
    pub(in super::super) fn from_zero(quantity: Quantity, most: f64) -> Scale {
        if most <= 0.0 || !most.is_finite() {
            return Scale::linear(quantity, 0.0, 1.0, vec![0.0]);
        }
        let step = round_step(most / STEPS_MAX);
        let count = (most / step * (1.0 - 1e-9)).ceil().max(1.0);
        let ticks = (0..=count as u32).map(|tick| f64::from(tick) * step);
        Scale::linear(quantity, 0.0, step * count, ticks.collect())
    }

    /// A linear scale between two figures, with round ticks.
    pub(in super::super) fn between(quantity: Quantity, low: f64, high: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        let ticks = round_ticks(low, high, STEPS_MAX);
        Scale::linear(quantity, low, high, ticks)
    }

    /// A scale of parts of a whole: 0 % to 100 %.
    pub(in super::super) fn parts() -> Scale {
        let ticks = vec![0.0, 0.25, 0.5, 0.75, 1.0];
        Scale::linear(Quantity::Part, 0.0, 1.0, ticks)
    }

    /// The scale of a run's time, in the unit that suits its length, with a little space around.
    pub(in super::super) fn time(begin_s: f64, end_s: f64, unit: TimeUnit) -> Scale {
        let end_s = if end_s > begin_s {
            end_s
        } else {
            begin_s + 1.0
        };
        let space_s = (end_s - begin_s) * 0.01;
        let (low, high) = (begin_s - space_s, end_s + space_s);
        let seconds = unit.seconds();
        let ticks = round_ticks(low / seconds, high / seconds, TIME_STEPS_MAX);
        let ticks = ticks.into_iter().map(|tick| tick * seconds).collect();
        Scale::linear(Quantity::Time(unit), low, high, ticks)
    }

    /// Rows with these names, the first on top; row n is the figure n.
    pub(in super::super) fn names(names: Vec<String>) -> Scale {
        let last = names.len().max(1) as f64 - 0.5;
        Scale {
            quantity: Quantity::Row,
            is_logarithmic: false,
            low: last,
            high: -0.5,
            ticks: (0..names.len()).map(|row| row as f64).zip(names).collect(),
        }
    }

    /// A logarithmic scale where the figures are far apart, else one from zero.
    pub(in super::super) fn fitting(quantity: Quantity, least: f64, most: f64) -> Scale {
        let is_far_apart = least > 0.0 && most.is_finite() && most / least > LINEAR_RATIO_MAX;
        if !is_far_apart {
            return Scale::from_zero(quantity, most);
        }
        Scale::decades(quantity, least, most)
    }

    /// A logarithmic scale between the ticks around these figures: decades, and 2 and 5 between
    /// them where there are few.
    pub(in super::super) fn decades(quantity: Quantity, least: f64, most: f64) -> Scale {
        let least = least.max(1e-9);
        let most = if most.is_finite() {
            most.max(least)
        } else {
            least
        };
        let first = (least.log10() + 1e-9).floor() as i32;
        let last = (most.log10() - 1e-9).ceil() as i32;
        let between: &[f64] = if last - first <= 2 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let ticks: Vec<f64> = (first..=last)
            .flat_map(|decade| between.iter().map(move |step| decade_of(decade) * step))
            .collect();
        let is_below = |tick: &&f64| **tick <= least * (1.0 + 1e-9);
        let low = ticks.iter().rfind(is_below);
        let high = ticks.iter().find(|tick| **tick >= most * (1.0 - 1e-9));
        let low = low.copied().unwrap_or(least);
        let high = high.copied().unwrap_or(most).max(low * 2.0);
        let is_inside = |tick: &f64| (low..=high).contains(tick);
        let ticks: Vec<f64> = ticks.into_iter().filter(is_inside).collect();
        // Of very many decades only some have a label.
        let step = ticks.len().div_ceil(10).max(1);
        Scale {
            is_logarithmic: true,
            ..Scale::linear(
                quantity,
                low,
                high,
                ticks.into_iter().step_by(step).collect(),
            )
        }
    }

    /// The same scale with a lower end.
    pub(in super::super) fn below(self, low: f64) -> Scale {
        Scale { low, ..self }
    }

    /// A logarithmic scale of memory, with powers of two as ticks.
    pub(in super::super) fn memory(least_bytes: f64, most_bytes: f64) -> Scale {
        let first = least_bytes.max(1.0).log2().floor() as i32;
        let last = (most_bytes.max(2.0).log2().ceil() as i32).clamp(first + 1, 62.max(first + 1));
        let span = last - first;
        let steps = [1, 2, 5, 10];
        let step = steps
            .into_iter()
            .find(|step| span / step <= MEMORY_STEPS_MAX);
        let step = step.unwrap_or(20);
        let ticks = (first..=last).filter(|exponent| exponent % step == 0);
        let ticks = ticks.map(|exponent| 2_f64.powi(exponent)).collect();
        Scale {
            is_logarithmic: true,
            ..Scale::linear(Quantity::Memory, 2_f64.powi(first), 2_f64.powi(last), ticks)
        }
    }

    /// A logarithmic scale with a label at each of these figures, which are above zero.
    pub(in super::super) fn labelled(ticks: Vec<(f64, String)>) -> Scale {
        let ends = ticks.first().zip(ticks.last());
        let (low, high) = ends.map_or((1.0, 1.0), |(first, last)| (first.0, last.0));
        // The outer figures do not stand on the edge.
        let space = if high > low {
            (high / low).powf(0.03)
        } else {
            2.0
        };
        Scale {
            quantity: Quantity::Count,
            is_logarithmic: true,
            low: low / space,
            high: high * space,
            ticks,
        }
    }

    /// The place of a figure, from 0 to 1; a figure outside the scale stands at its edge.
    pub(in super::super) fn at(&self, figure: f64) -> f64 {
        let part = if self.is_logarithmic {
            (figure.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (figure - self.low) / (self.high - self.low)
        };
        if part.is_finite() {
            part.clamp(0.0, 1.0)
        } else {
            0.5
        }
    }

    /// The scale for the page's script, which computes figures from places.
    pub(super) fn data(&self) -> String {
        format!(
            "{} {} {} {}",
            if self.is_logarithmic { "log" } else { "lin" },
            self.low,
            self.high,
            self.quantity.name()
        )
    }
}

/// A power of ten, exactly where that is a whole number.
fn decade_of(decade: i32) -> f64 {
    if decade < 0 {
        1.0 / 10_f64.powi(-decade)
    } else {
        10_f64.powi(decade)
    }
}

/// Round figures from `low` to `high`, at most about so many.
fn round_ticks(low: f64, high: f64, steps_max: f64) -> Vec<f64> {
    let step = round_step((high - low) / steps_max);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    let ticks = (first..=last.min(first + 20)).map(|count| count as f64 * step);
    ticks.collect()
}

/// The next of 1, 2, 2.5 and 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0];
    let fitting = steps.into_iter().find(|step| step * decade >= least);
    fitting.unwrap_or(10.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale
            .ticks
            .iter()
            .map(|(_, words)| words.as_str())
            .collect()
    }

    #[test]
    fn rates_stand_over_round_steps_from_zero() {
        let scale = Scale::from_zero(Quantity::Rate, 252e6);
        assert_eq!(labels(&scale), ["0", "100 MB/s", "200 MB/s", "300 MB/s"]);
        assert_eq!((scale.at(0.0), scale.at(3e8)), (0.0, 1.0));
        let scale = Scale::from_zero(Quantity::Rate, 1e9);
        assert_eq!(scale.ticks.last().unwrap().0, 1e9);
        let nothing = Scale::from_zero(Quantity::Rate, 0.0);
        assert!(nothing.at(0.0).is_finite());
        assert_eq!(labels(&nothing), ["0"], "and not 0, 0, 0, 1, 1, 1 B/s");
    }

    #[test]
    fn what_is_far_apart_stands_by_its_logarithm() {
        let scale = Scale::fitting(Quantity::Latency, 3e-4, 0.04);
        assert_eq!(labels(&scale), ["100 us", "1 ms", "10 ms", "100 ms"]);
        assert!((scale.at(1e-2) - 0.667).abs() < 1e-3);
        assert_eq!(scale.at(0.0), 0.0);
        let scale = Scale::fitting(Quantity::Latency, 3.0, 4.0);
        assert!((scale.ticks[0].0, scale.at(4.0)) == (0.0, 1.0), "{scale:?}");
        let scale = Scale::decades(Quantity::Latency, 4.8e-3, 0.042);
        assert_eq!(labels(&scale), ["2 ms", "5 ms", "10 ms", "20 ms", "50 ms"]);
    }

    #[test]
    fn memory_has_powers_of_two() {
        let scale = Scale::memory(1.0e6, 3.0e9);
        assert_eq!(
            labels(&scale),
            [
                "1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB", "1 GiB", "4 GiB"
            ]
        );
        assert!(Scale::memory(0.0, 1e18).ticks.len() <= 8);
    }

    #[test]
    fn one_value_stands_in_the_middle() {
        assert_eq!(Scale::labelled(vec![(8.0, "8".to_owned())]).at(8.0), 0.5);
    }

    #[test]
    fn time_has_the_unit_of_the_run() {
        let unit = TimeUnit::for_run(7200.0);
        let scale = Scale::time(-60.0, 7200.0, unit);
        assert_eq!(labels(&scale)[..3], ["0", "20 min", "40 min"]);
        assert!(scale.at(-60.0) > 0.0 && scale.at(7200.0) < 1.0);
    }
}
