//! How much one run differs from another: a ratio with its interval, what that shows, and what it
//! could have shown. Pure; `conclude`, `limit` and the rows of the document call it.
//!
//! All computation is done on the logarithm of the ratio, where slower and faster are symmetric:
//! log +- t(df) * se.

use crate::judge::student::t_two_sided;

/// The part of cases in which an interval may miss the true value.
pub const OUTSIDE: f64 = 0.05;
/// A difference that would be missed more often than once in five is not called one that can be
/// seen. One in ten is asked for, because the estimate of the variance costs the other tenth.
const MISSED: f64 = 0.1;

/// One quantity of B over the same of A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Logarithm of the ratio.
    pub log: f64,
    /// The variance of that logarithm.
    pub variance: f64,
    /// Degrees of freedom of the variance.
    pub degrees: f64,
}

impl Effect {
    /// The ratio itself.
    pub fn ratio(&self) -> f64 {
        self.log.exp()
    }

    fn half_width(&self, outside: f64) -> f64 {
        t_two_sided(outside, self.whole_degrees()) * self.variance.sqrt()
    }

    fn whole_degrees(&self) -> u32 {
        (self.degrees.floor() as u32).max(1)
    }

    /// The interval of the ratio that misses the true value in this part of cases.
    pub fn interval(&self, outside: f64) -> [f64; 2] {
        let half = self.half_width(outside);
        [(self.log - half).exp(), (self.log + half).exp()]
    }

    /// Whether the ratio differs from one, by a rule that is wrong in this part of cases.
    pub fn is_shown(&self, outside: f64) -> bool {
        self.log.abs() > self.half_width(outside)
    }

    /// The smallest part by which B could have been slower than A and be seen in four cases of
    /// five.
    pub fn resolution(&self, outside: f64) -> f64 {
        // Only one side of the two-sided value is needed, hence twice the part.
        let power = t_two_sided(2.0 * MISSED, self.whole_degrees()) * self.variance.sqrt();
        -(-self.half_width(outside) - power).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_and_faster_are_alike() {
        let effect = |log| Effect {
            log,
            variance: 1e-4,
            degrees: 18.0,
        };
        let slower = effect(-0.05);
        let [low, high] = slower.interval(OUTSIDE);
        // t(0.975, 18) = 2.1009.
        assert!((low.ln() + 0.05 + 0.021_009).abs() < 1e-5, "{low}");
        assert!((high.ln() + 0.05 - 0.021_009).abs() < 1e-5, "{high}");
        assert!(slower.is_shown(OUTSIDE) && effect(0.05).is_shown(OUTSIDE));
        assert!(!effect(0.02).is_shown(OUTSIDE) && !effect(-0.02).is_shown(OUTSIDE));
        // 2.1009 + 1.3304 standard errors of 1 %.
        let seen = slower.resolution(OUTSIDE);
        assert!((seen - 0.033_73).abs() < 1e-4, "{seen}");
    }
}
