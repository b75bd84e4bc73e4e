//! Converts figures to pixels along one axis of a picture, with the ticks that a reader expects
//! there. It has no side effects; the quantities of a sweep call it and label the ticks.

use super::super::chart::second_ticks;

/// Figures further apart than this factor are drawn by their logarithm.
const LINEAR_RATIO_MAX: f64 = 10.0;
/// The largest number of steps from zero to the last tick.
const STEPS_MAX: f64 = 5.0;

/// The places of figures along an axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct FigureScale {
    is_logarithmic: bool,
    low: f64,
    high: f64,
    from_px: f64,
    to_px: f64,
}

impl FigureScale {
    /// A scale from zero to a little above `most`, with its ticks.
    pub(super) fn from_zero(most: f64, from_px: f64, to_px: f64) -> (FigureScale, Vec<f64>) {
        let most = if most > 0.0 && most.is_finite() {
            most
        } else {
            1.0
        };
        let step = round_step(most / STEPS_MAX);
        let count = (most / step * (1.0 - 1e-9)).ceil().max(1.0);
        let scale = FigureScale {
            is_logarithmic: false,
            low: 0.0,
            high: step * count,
            from_px,
            to_px,
        };
        let ticks = (0..=count as u32).map(|tick| f64::from(tick) * step);
        (scale, ticks.collect())
    }

    /// A logarithmic scale where the figures are far apart, else one from zero; with its ticks.
    pub(super) fn fitting(
        least: f64,
        most: f64,
        from_px: f64,
        to_px: f64,
    ) -> (FigureScale, Vec<f64>) {
        let is_far_apart = least > 0.0 && most.is_finite() && most / least > LINEAR_RATIO_MAX;
        if !is_far_apart {
            return FigureScale::from_zero(most, from_px, to_px);
        }
        let (ticks, _) = second_ticks(least, most);
        let low = ticks.iter().copied().filter(|tick| *tick <= least);
        let low = low.fold(least, |_, tick| tick);
        let high = ticks.iter().copied().find(|tick| *tick >= most);
        let high = high.unwrap_or(most);
        let is_inside = |tick: &f64| (low..=high).contains(tick);
        let scale = FigureScale::logarithmic(low, high, from_px, to_px);
        (scale, ticks.into_iter().filter(is_inside).collect())
    }

    /// A logarithmic scale between two figures above zero.
    pub(super) fn logarithmic(low: f64, high: f64, from_px: f64, to_px: f64) -> FigureScale {
        FigureScale {
            is_logarithmic: true,
            low,
            high,
            from_px,
            to_px,
        }
    }

    /// The pixel of a figure; a figure outside the scale stands at its edge.
    pub(super) fn at(self, figure: f64) -> f64 {
        let part = if self.is_logarithmic {
            (figure.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (figure - self.low) / (self.high - self.low)
        };
        let part = if part.is_finite() {
            part.clamp(0.0, 1.0)
        } else {
            0.5
        };
        self.from_px + part * (self.to_px - self.from_px)
    }
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

    #[test]
    fn rates_stand_over_round_steps_from_zero() {
        let (scale, ticks) = FigureScale::from_zero(252e6, 100.0, 0.0);
        assert_eq!(ticks, [0.0, 1e8, 2e8, 3e8]);
        assert_eq!((scale.at(0.0), scale.at(3e8)), (100.0, 0.0));
        let (_, ticks) = FigureScale::from_zero(1e9, 0.0, 1.0);
        assert_eq!(ticks.last(), Some(&1e9));
        let (scale, _) = FigureScale::from_zero(0.0, 0.0, 1.0);
        assert!(scale.at(0.0).is_finite());
    }

    #[test]
    fn what_is_far_apart_stands_by_its_logarithm() {
        let (scale, ticks) = FigureScale::fitting(3e-4, 0.04, 0.0, 100.0);
        assert_eq!((ticks[0], ticks[ticks.len() - 1]), (1e-4, 0.1));
        assert!((scale.at(1e-2) - 66.7).abs() < 0.1);
        assert_eq!(scale.at(0.0), 0.0);
        let (scale, ticks) = FigureScale::fitting(3.0, 4.0, 0.0, 100.0);
        assert!((ticks[0], scale.at(4.0)) == (0.0, 100.0), "{ticks:?}");
    }

    #[test]
    fn one_value_stands_in_the_middle() {
        assert_eq!(FigureScale::logarithmic(8.0, 8.0, 0.0, 100.0).at(8.0), 50.0);
    }
}
