//! Student's t for whole degrees of freedom. Pure; the judge of a sweep and `compare` call it. The
//! sums are exact: M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964),
//! 26.7.3 and 26.7.4.

use std::f64::consts::FRAC_PI_2;

/// Above this, the distribution is close enough to the normal one.
const DEGREES_MAX: u32 = 200;

/// The probability that |T| stays below `t`.
fn within(t: f64, degrees: u32) -> f64 {
    let angle = (t / f64::from(degrees).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = degrees % 2 == 1;
    // The first term, and the power of the cosine in it.
    let (mut term, first) = if is_odd { (cosine, 1) } else { (1.0, 0) };
    let mut sum = 0.0;
    let mut power = first;
    while power + 2 <= degrees {
        sum += term;
        let factor = f64::from(power + 1) / f64::from(power + 2);
        term *= cosine * cosine * factor;
        power += 2;
    }
    if is_odd {
        (angle + sine * sum) / FRAC_PI_2
    } else {
        sine * sum
    }
}

/// The t that |T| exceeds with the probability `outside`.
pub fn t_two_sided(outside: f64, degrees: u32) -> f64 {
    let degrees = degrees.clamp(1, DEGREES_MAX);
    let (mut low, mut high) = (0.0, 1.0);
    while within(high, degrees) < 1.0 - outside && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if within(middle, degrees) < 1.0 - outside {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_tables_are_met() {
        let table = [
            (0.05, 1, 12.7062),
            (0.05, 2, 4.3027),
            (0.05, 3, 3.1824),
            (0.05, 4, 2.7764),
            (0.05, 9, 2.2622),
            (0.01, 3, 5.8409),
            (0.01, 10, 3.1693),
            (0.001, 7, 5.4079),
            (0.1, 30, 1.6973),
            (0.05, 120, 1.9799),
        ];
        for (outside, degrees, expected) in table {
            let found = t_two_sided(outside, degrees);
            assert!((found - expected).abs() < 2e-4, "{degrees}: {found}");
        }
    }
}
