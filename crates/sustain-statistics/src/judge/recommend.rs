//! Recommends the rate that may be recorded with a given buffer: the highest rate that is not above
//! the lower end of the total's 95 % interval, and whose pauses the buffer rides out. Called by the
//! run. It must never promise more than was seen: between the points it errs only to the safe side.
//!
//! B(r) = max over s <= t of [r(t-s) - (C(t)-C(s))] is a maximum of straight lines in r, so it is
//! convex, and B(0) = 0. A chord of a convex curve is above it (J.-Y. Le Boudec and P. Thiran,
//! "Network Calculus", 2001, chapter 1, for the backlog bound). So between two points the chord is
//! an upper bound of the buffer needed; above the last point nothing is known.

/// One point of the buffer curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// A rate at which data would have come.
    pub rate_bytes_per_s: f64,
    /// The memory that rides out every pause seen at that rate, or an upper bound of it.
    pub buffer_bytes: f64,
}

/// A rate that may be recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecommendedRate {
    /// The rate.
    pub rate_bytes_per_s: f64,
    /// The buffer needed at it; not above the bound given.
    pub buffer_bytes: f64,
}

/// The highest rate not above `rate_bytes_per_s_max` whose buffer is within `buffer_bytes_max`.
/// `points` are in order of rising rates. `None` if no rate above zero fits: there are no points,
/// or a buffer or rate of zero is given.
#[must_use]
pub fn recommend(
    points: &[CurvePoint],
    rate_bytes_per_s_max: f64,
    buffer_bytes_max: f64,
) -> Option<RecommendedRate> {
    let mut best = CurvePoint {
        rate_bytes_per_s: 0.0,
        buffer_bytes: 0.0,
    };
    for &point in points {
        let reached = along(best, point, rate_bytes_per_s_max, buffer_bytes_max);
        best = reached;
        if reached != point {
            break;
        }
    }
    let CurvePoint {
        rate_bytes_per_s,
        buffer_bytes,
    } = best;
    (rate_bytes_per_s > 0.0).then_some(RecommendedRate {
        rate_bytes_per_s,
        buffer_bytes,
    })
}

/// The same for several curves: none of them may need more than the buffer.
#[must_use]
pub fn recommend_by_all(
    curves: &[Vec<CurvePoint>],
    rate_bytes_per_s_max: f64,
    buffer_bytes_max: f64,
) -> Option<RecommendedRate> {
    let mut rate_bytes_per_s = rate_bytes_per_s_max;
    for curve in curves {
        rate_bytes_per_s = recommend(curve, rate_bytes_per_s, buffer_bytes_max)?.rate_bytes_per_s;
    }
    let needed = curves.iter().filter_map(|curve| {
        recommend(curve, rate_bytes_per_s, buffer_bytes_max).map(|found| found.buffer_bytes)
    });
    Some(RecommendedRate {
        rate_bytes_per_s,
        buffer_bytes: needed.fold(0.0, f64::max),
    })
}

/// The point as far along the chord as both bounds allow; `to` itself if they allow it.
fn along(from: CurvePoint, to: CurvePoint, rate_max: f64, buffer_max: f64) -> CurvePoint {
    let width = to.rate_bytes_per_s - from.rate_bytes_per_s;
    let height = to.buffer_bytes - from.buffer_bytes;
    let share_by_rate = (rate_max - from.rate_bytes_per_s) / width;
    let share_by_buffer = if height > 0.0 {
        (buffer_max - from.buffer_bytes) / height
    } else {
        f64::INFINITY
    };
    let share = share_by_rate.min(share_by_buffer).max(0.0);
    if share >= 1.0 {
        return to;
    }
    CurvePoint {
        rate_bytes_per_s: from.rate_bytes_per_s + share * width,
        buffer_bytes: (from.buffer_bytes + share * height).min(buffer_max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(pairs: &[(f64, f64)]) -> Vec<CurvePoint> {
        let point = |&(rate_bytes_per_s, buffer_bytes): &(f64, f64)| CurvePoint {
            rate_bytes_per_s,
            buffer_bytes,
        };
        pairs.iter().map(point).collect()
    }

    fn recommended(rate_max: f64, buffer_max: f64) -> Option<(f64, f64)> {
        let points = points(&[(50.0, 10.0), (100.0, 20.0), (200.0, 120.0)]);
        recommend(&points, rate_max, buffer_max)
            .map(|found| (found.rate_bytes_per_s, found.buffer_bytes))
    }

    #[test]
    fn the_buffer_binds_on_the_chord() {
        assert_eq!(recommended(1000.0, 70.0), Some((150.0, 70.0)));
        assert_eq!(recommended(1000.0, 5.0), Some((25.0, 5.0)));
        assert_eq!(recommended(1000.0, 20.0), Some((100.0, 20.0)));
    }

    #[test]
    fn the_rate_binds() {
        assert_eq!(recommended(75.0, 1000.0), Some((75.0, 15.0)));
        assert_eq!(recommended(10.0, 1000.0), Some((10.0, 2.0)));
    }

    #[test]
    fn nothing_is_promised_beyond_the_last_point() {
        assert_eq!(recommended(1000.0, 1000.0), Some((200.0, 120.0)));
    }

    #[test]
    fn of_several_curves_each_must_be_ridden_out() {
        let calm = points(&[(100.0, 10.0), (200.0, 20.0)]);
        let swinging = points(&[(100.0, 40.0), (200.0, 140.0)]);
        let all = [calm, swinging];
        let found = |rate, buffer| {
            recommend_by_all(&all, rate, buffer)
                .map(|found| (found.rate_bytes_per_s, found.buffer_bytes))
        };
        assert_eq!(found(1000.0, 90.0), Some((150.0, 90.0)));
        assert_eq!(found(120.0, 90.0), Some((120.0, 60.0)));
        assert_eq!(found(1000.0, 0.0), None);
    }

    #[test]
    fn no_rate_without_a_buffer_or_points() {
        assert_eq!(recommended(1000.0, 0.0), None);
        assert_eq!(recommended(0.0, 1000.0), None);
        assert_eq!(recommend(&[], 1.0, 1.0), None);
    }

    #[test]
    fn never_below_the_true_curve() {
        // B(r) of pauses of 1 s, and of a fall behind for 10 s at a service of 80.
        let true_buffer = |rate: f64| rate.max(10.0 * (rate - 80.0));
        let grid: Vec<(f64, f64)> = (1u8..=20)
            .map(|k| f64::from(k) * 10.0)
            .map(|r| (r, true_buffer(r)))
            .collect();
        for bound in 1u32..1200 {
            let found = recommend(&points(&grid), 195.0, f64::from(bound)).expect("some rate");
            assert!(true_buffer(found.rate_bytes_per_s) <= found.buffer_bytes + 1e-9);
            assert!(found.buffer_bytes <= f64::from(bound));
        }
    }
}
