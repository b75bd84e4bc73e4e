//! The lowest rate of a run over any stretch of a given length. The run calls it for its
//! recommendation, where a mean says too little about a disk that swings.

use super::Step;
use super::curve::CumulativeBytes;

/// The length of the stretch that is reported.
pub const WORST_S: f64 = 10.0;

/// The lowest rate over `length_s` seconds in a row, wherever they begin; `None` for a shorter run.
#[must_use]
pub fn worst(steps: &[Step], length_s: f64) -> Option<f64> {
    let curve = CumulativeBytes::new(steps)?;
    let latest_s = curve.end_s() - length_s;
    // The lengths of the steps add up to the whole only nearly.
    if latest_s < curve.start_s() - 1e-6 {
        return None;
    }
    let rate_from =
        |from_s: f64| (curve.bytes_at(from_s + length_s) - curve.bytes_at(from_s)) / length_s;
    // Bytes grow in straight lines, so the lowest rate is that of a stretch that begins or ends
    // with a step.
    let edges = steps.iter().flat_map(|step| [step.start_s, step.end_s]);
    edges
        .flat_map(|edge_s| [edge_s, edge_s - length_s])
        .map(|from_s| from_s.clamp(curve.start_s(), latest_s.max(curve.start_s())))
        .map(rate_from)
        .reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::super::series;
    use super::*;

    #[test]
    fn the_worst_stretch_is_found_wherever_it_begins() {
        // 20 s at 500 MB/s, 5 s at 150: ten seconds hold all of a low phase and five of a high one.
        let swinging = series::sawtooth(100, 20, 500.0, 5, 150.0, 0.0);
        let found = worst(&swinging, WORST_S).unwrap_or_default();
        assert!((found / 325e6 - 1.0).abs() < 1e-9, "{found}");
        // The stretch may also lie across steps: half of one step of nothing, half of another.
        let step = |start_s: f64, bytes| Step {
            start_s,
            end_s: start_s + 4.0,
            bytes,
        };
        let steps = [
            step(0.0, 400),
            step(4.0, 40),
            step(8.0, 400),
            step(12.0, 400),
        ];
        assert_eq!(
            worst(&steps, WORST_S),
            Some((400.0 / 4.0 * 6.0 + 40.0) / 10.0)
        );
    }

    #[test]
    fn a_run_shorter_than_the_stretch_has_none() {
        assert_eq!(worst(&series::linear(9, 100.0, 100.0, 0.0), WORST_S), None);
        assert_eq!(worst(&[], WORST_S), None);
        let just = worst(&series::linear(10, 100.0, 100.0, 0.0), WORST_S);
        assert!(just.is_some_and(|rate| (rate / 1e8 - 1.0).abs() < 1e-9));
    }
}
