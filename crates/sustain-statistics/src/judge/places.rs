//! Removes the position effect that a profile has measured. It knows how slow each position is, and
//! computes what a run would have shown if all positions that it covered were as fast as their
//! mean. Pure; the conclusion calls it with the steps of a run. It must not touch changes that came
//! with time.
//!
//! A byte is weighted with the slowness of its position (the inverse of its rate), and all weights
//! are scaled so that the run keeps its bytes. A fall of the rate that the positions explain is
//! then gone, and any other fall stays as it is.

use super::Step;
use super::curve::CumulativeBytes;

/// How slow the positions of a target are, and where a run on it began.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceRates {
    /// The first byte after each zone, ascending.
    edges: Vec<f64>,
    /// Seconds per byte of each zone.
    slowness: Vec<f64>,
    /// The position at which the run began.
    start_bytes: f64,
    /// The run goes on at 0 after this many bytes.
    lap_bytes: f64,
    /// Stretches of which only the overall rate is known, as (first byte, byte after the last).
    blurred: Vec<(f64, f64)>,
}

impl PlaceRates {
    /// Takes zones as (byte after the last, rate above zero) in order of position, for a run that
    /// begins at `start_bytes` and goes on at 0 from `lap_bytes`. Bytes after the last zone are as
    /// fast as that zone.
    #[must_use]
    pub fn new(zones: &[(u64, f64)], start_bytes: u64, lap_bytes: u64) -> PlaceRates {
        PlaceRates {
            edges: zones.iter().map(|(to_byte, _)| *to_byte as f64).collect(),
            slowness: zones.iter().map(|(_, rate)| 1.0 / rate).collect(),
            start_bytes: start_bytes as f64,
            lap_bytes: (lap_bytes as f64).max(1.0),
            blurred: Vec::new(),
        }
    }

    /// The same, but within each of these stretches (first byte, byte after the last; ascending and
    /// apart from each other) only the overall rate is known, because the ends of a bad spot are
    /// known only to the distance of the samples. A run is spread evenly over each stretch.
    #[must_use]
    pub fn blurred(self, stretches: &[(u64, u64)]) -> PlaceRates {
        let stretches = stretches.iter();
        let blurred = stretches.map(|(from, to)| (*from as f64, *to as f64));
        PlaceRates {
            blurred: blurred.collect(),
            ..self
        }
    }

    /// Joins steps within one blurred stretch.
    fn joined(&self, steps: &[Step]) -> Vec<Step> {
        let mut joined: Vec<Step> = Vec::new();
        let mut last = None;
        let mut bytes = self.start_bytes;
        for step in steps {
            let lap = (bytes / self.lap_bytes).floor();
            let (from, to) = (bytes, bytes + step.bytes as f64);
            let (from, to) = (from - lap * self.lap_bytes, to - lap * self.lap_bytes);
            let mut blurred = self.blurred.iter();
            // A step counts as at least one byte, so that a step without bytes is at its own
            // position.
            let stretch = blurred.position(|blur| from < blur.1 && to.max(from + 1.0) > blur.0);
            let stretch = stretch.map(|stretch| (lap as u64, stretch));
            match joined
                .last_mut()
                .filter(|_| stretch.is_some() && stretch == last)
            {
                Some(before) => {
                    before.end_s = step.end_s;
                    before.bytes += step.bytes;
                }
                None => joined.push(*step),
            }
            last = stretch;
            bytes += step.bytes as f64;
        }
        joined
    }

    /// The time that all bytes from 0 to this position take.
    fn time_to(&self, position: f64) -> f64 {
        let (mut from, mut time) = (0.0_f64, 0.0);
        let last = self.edges.len().saturating_sub(1);
        for (index, slowness) in self.slowness.iter().enumerate() {
            let edge = if index == last {
                f64::INFINITY
            } else {
                self.edges[index]
            };
            let to = position.min(edge);
            time += (to - from).max(0.0) * slowness;
            from = from.max(to);
        }
        time
    }

    /// The time that the run's first bytes should take.
    fn expected_s(&self, bytes: f64) -> f64 {
        let end = self.start_bytes + bytes;
        let laps = (end / self.lap_bytes).floor();
        let within = self.time_to(end - laps * self.lap_bytes);
        laps * self.time_to(self.lap_bytes) + within - self.time_to(self.start_bytes)
    }

    /// The running total as if all positions were alike.
    fn even(&self, steps: &[Step]) -> Option<CumulativeBytes> {
        let curve = CumulativeBytes::new(&self.joined(steps))?;
        let expected_s = self.expected_s(curve.total_bytes());
        if expected_s <= 0.0 {
            return Some(curve);
        }
        let bytes_per_s = curve.total_bytes() / expected_s;
        Some(curve.with_bytes(|bytes| self.expected_s(bytes) * bytes_per_s))
    }
}

/// The sum of these targets' runs in these times, as if all positions that each run covered were
/// alike.
#[must_use]
pub fn even_steps(targets: &[(Vec<Step>, &PlaceRates)], times: &[Step]) -> Vec<Step> {
    let curves: Vec<CumulativeBytes> = targets
        .iter()
        .filter_map(|(steps, places)| places.even(steps))
        .collect();
    let bytes_at = |time_s: f64| -> f64 { curves.iter().map(|curve| curve.bytes_at(time_s)).sum() };
    let even = times.iter().map(|time| Step {
        bytes: (bytes_at(time.end_s).round() - bytes_at(time.start_s).round()).max(0.0) as u64,
        ..*time
    });
    even.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of one second each over zones that fall, from a byte on.
    fn run(zones: &[(u64, f64)], start: u64, seconds: usize) -> Vec<Step> {
        let mut position = start as f64;
        (0..seconds)
            .map(|second| {
                let before = position;
                for _ in 0..1000 {
                    let mut zones = zones.iter();
                    let zone = zones.find(|(to_byte, _)| position < *to_byte as f64);
                    position += zone.map_or(0.0, |(_, rate)| rate / 1000.0);
                }
                Step {
                    start_s: second as f64,
                    end_s: second as f64 + 1.0,
                    bytes: (position - before).round() as u64,
                }
            })
            .collect()
    }

    const ZONES: [(u64, f64); 3] = [(10_000, 1000.0), (20_000, 800.0), (40_000, 500.0)];

    #[test]
    fn a_fall_that_the_places_explain_is_gone_and_no_byte_is() {
        let steps = run(&ZONES, 2_000, 40);
        let places = PlaceRates::new(&ZONES, 2_000, 40_000);
        let even = even_steps(&[(steps.clone(), &places)], &steps);
        let all = |steps: &[Step]| steps.iter().map(|step| step.bytes).sum::<u64>();
        assert!(all(&even).abs_diff(all(&steps)) <= 1);
        let mean = all(&even) as f64 / 40.0;
        for step in &even {
            assert!((step.bytes as f64 / mean - 1.0).abs() < 0.01, "{step:?}");
        }
    }

    #[test]
    fn a_fall_over_time_stays() {
        let steps: Vec<Step> = (0..20_u32)
            .map(|second| Step {
                start_s: f64::from(second),
                end_s: f64::from(second) + 1.0,
                bytes: 400 - u64::from(second) * 10,
            })
            .collect();
        // All of it in the first zone.
        let places = PlaceRates::new(&ZONES, 0, 40_000);
        assert_eq!(even_steps(&[(steps.clone(), &places)], &steps), steps);
    }

    #[test]
    fn where_a_spot_begins_need_not_be_known_exactly() {
        let truth = [(10_000, 1000.0), (12_000, 100.0), (40_000, 1000.0)];
        let known = [(10_500, 1000.0), (12_500, 100.0), (40_000, 1000.0)];
        let steps = run(&truth, 0, 40);
        let mean = steps.iter().map(|step| step.bytes).sum::<u64>() as f64 / 40.0;
        let worst = |places: &PlaceRates| {
            let even = even_steps(&[(steps.clone(), places)], &steps);
            let far = even
                .iter()
                .map(|step| (step.bytes as f64 / mean - 1.0).abs());
            far.fold(0.0, f64::max)
        };
        let sharp = PlaceRates::new(&known, 0, 40_000);
        assert!(worst(&sharp) > 0.5);
        assert!(worst(&sharp.blurred(&[(9_000, 13_000)])) < 0.02);
    }

    #[test]
    fn a_run_that_wraps_begins_again_at_the_first_zone() {
        let places = PlaceRates::new(&ZONES, 35_000, 40_000);
        // 5,000 to the end, then the first 10,000.
        let expected = 5_000.0 / 500.0 + 10_000.0 / 1000.0;
        assert!((places.expected_s(15_000.0) - expected).abs() < 1e-9);
    }
}
