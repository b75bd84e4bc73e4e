//! The running total of bytes over time, C(t), as a piecewise linear curve: the bytes of a step are
//! spread evenly over it. All statistics here cut the same curve, so steps may have any length. It
//! must never invent bytes: a window holds exactly C(to) - C(from).

use super::Step;

/// Knots of C(t). Both columns have the same length of at least one; times rise strictly, and bytes
/// never fall.
#[derive(Clone, Debug)]
pub struct CumulativeBytes {
    time_s: Vec<f64>,
    bytes: Vec<f64>,
}

/// A stretch between two knots, of positive length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) end_s: f64,
    pub(super) duration_s: f64,
    pub(super) rate_bytes_per_s: f64,
}

impl CumulativeBytes {
    /// `None` if there is no step.
    pub fn new(steps: &[Step]) -> Option<Self> {
        let first = steps.first()?;
        let mut curve = Self {
            time_s: vec![first.start_s],
            bytes: vec![0.0],
        };
        for step in steps {
            let (time_s, bytes) = curve.last();
            if step.start_s > time_s {
                curve.push(step.start_s, bytes);
            }
            curve.push(step.end_s, bytes + step.bytes as f64);
        }
        Some(curve)
    }

    /// A step of no length adds its bytes to the knot already there.
    fn push(&mut self, time_s: f64, bytes: f64) {
        if time_s > self.end_s() {
            self.time_s.push(time_s);
            self.bytes.push(bytes);
        } else if let Some(last) = self.bytes.last_mut() {
            *last = bytes;
        }
    }

    fn last(&self) -> (f64, f64) {
        let index = self.time_s.len() - 1;
        (self.time_s[index], self.bytes[index])
    }

    /// Where the series begins.
    pub fn start_s(&self) -> f64 {
        self.time_s[0]
    }

    /// Where the series ends.
    pub fn end_s(&self) -> f64 {
        self.last().0
    }

    pub(super) fn duration_s(&self) -> f64 {
        self.end_s() - self.start_s()
    }

    /// The bytes of the whole series.
    pub fn total_bytes(&self) -> f64 {
        self.last().1
    }

    /// The number of knots strictly inside a window, which is one less than the number of steps in
    /// it.
    pub fn knots_between(&self, from_s: f64, to_s: f64) -> usize {
        let first = self.time_s.partition_point(|&time_s| time_s <= from_s);
        let behind = self.time_s.partition_point(|&time_s| time_s < to_s);
        behind.saturating_sub(first)
    }

    pub(super) fn bytes_at(&self, time_s: f64) -> f64 {
        let above = self.time_s.partition_point(|&knot_s| knot_s <= time_s);
        if above == 0 {
            return self.bytes[0];
        }
        if above == self.time_s.len() {
            return self.total_bytes();
        }
        let (left, right) = (above - 1, above);
        let share = (time_s - self.time_s[left]) / (self.time_s[right] - self.time_s[left]);
        self.bytes[left] + share * (self.bytes[right] - self.bytes[left])
    }

    /// The earliest time at which `bytes` had been completed.
    pub fn time_at(&self, bytes: f64) -> f64 {
        let above = self.bytes.partition_point(|&knot_bytes| knot_bytes < bytes);
        if above == 0 {
            return self.start_s();
        }
        if above == self.bytes.len() {
            return self.end_s();
        }
        let (left, right) = (above - 1, above);
        let share = (bytes - self.bytes[left]) / (self.bytes[right] - self.bytes[left]);
        self.time_s[left] + share * (self.time_s[right] - self.time_s[left])
    }

    /// Rates of `COUNT` batches of equal time that fill a window of positive length.
    pub fn batch_rates<const COUNT: usize>(&self, from_s: f64, to_s: f64) -> [f64; COUNT] {
        let length_s = (to_s - from_s) / COUNT as f64;
        let edge = |index: usize| self.bytes_at(from_s + length_s * index as f64);
        std::array::from_fn(|index| (edge(index + 1) - edge(index)) / length_s)
    }

    pub(super) fn segments(&self) -> Vec<Segment> {
        let times = self.time_s.windows(2);
        let bytes = self.bytes.windows(2);
        let segment = |(time, bytes): (&[f64], &[f64])| {
            let duration_s = time[1] - time[0];
            let rate_bytes_per_s = (bytes[1] - bytes[0]) / duration_s;
            Segment {
                end_s: time[1],
                duration_s,
                rate_bytes_per_s,
            }
        };
        times.zip(bytes).map(segment).collect()
    }

    /// The same times with every running total replaced; `replace` must not fall.
    pub(super) fn with_bytes(&self, replace: impl Fn(f64) -> f64) -> Self {
        let bytes = self.bytes.iter().map(|&bytes| replace(bytes)).collect();
        Self {
            time_s: self.time_s.clone(),
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(start_s: f64, end_s: f64, bytes: u64) -> Step {
        Step {
            start_s,
            end_s,
            bytes,
        }
    }

    #[test]
    fn cuts_steps_of_unequal_length_by_time() {
        let curve = CumulativeBytes::new(&[
            step(0.0, 1.0, 100),
            step(1.0, 3.0, 100),
            step(3.0, 4.0, 100),
        ])
        .expect("has steps");
        assert_eq!(curve.batch_rates::<4>(0.0, 4.0), [100.0, 50.0, 50.0, 100.0]);
        assert_eq!(curve.bytes_at(1.5), 125.0);
        assert_eq!(curve.time_at(125.0), 1.5);
        assert_eq!(curve.knots_between(0.0, 4.0), 2);
    }

    #[test]
    fn time_between_steps_is_time_without_bytes() {
        let curve =
            CumulativeBytes::new(&[step(0.0, 1.0, 100), step(2.0, 3.0, 100)]).expect("has steps");
        assert_eq!(curve.batch_rates::<3>(0.0, 3.0), [100.0, 0.0, 100.0]);
        assert_eq!(curve.time_at(100.0), 1.0, "the earliest time counts");
    }

    #[test]
    fn a_step_of_no_length_keeps_its_bytes() {
        let curve =
            CumulativeBytes::new(&[step(0.0, 1.0, 100), step(1.0, 1.0, 50)]).expect("has steps");
        assert_eq!(curve.total_bytes(), 150.0);
        assert_eq!(curve.segments().len(), 1);
    }
}
