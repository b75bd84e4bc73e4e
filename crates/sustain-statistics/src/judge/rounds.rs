//! The rate of a disk that pauses in a rhythm, over whole rounds of it. A run hardly ever ends
//! where a round does, so that the mean over it may be short of nearly one pause. The run calls
//! this for its recommendation.

use super::Step;
use super::curve::CumulativeBytes;

/// Pauses come in a rhythm if the longest round is no longer than so many of the shortest.
const ROUNDS_APART_MAX: f64 = 1.5;
/// Rounds over less of the run than this say less than its mean.
const ROUNDS_SHARE_MIN: f64 = 0.5;

/// A pause of a disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiskPause {
    /// When it began.
    pub start_s: f64,
    /// When it ended.
    pub end_s: f64,
}

/// The rate from the middle of the first stretch between two of these pauses, which follow each
/// other, to that of the last one; `None` if there is no rhythm, or too little of it.
#[must_use]
pub fn over_whole_rounds(steps: &[Step], pauses: &[DiskPause]) -> Option<f64> {
    let rounds = pauses
        .windows(2)
        .map(|pair| pair[1].start_s - pair[0].start_s);
    let longest_s = rounds.clone().fold(0.0, f64::max);
    let shortest_s = rounds.fold(f64::INFINITY, f64::min);
    // Within such a stretch the rate is even, so that a step may be cut there.
    let middle_s = |pair: &[DiskPause]| f64::midpoint(pair[0].end_s, pair[1].start_s);
    let from_s = pauses.windows(2).next().map(middle_s)?;
    let until_s = pauses.windows(2).next_back().map(middle_s)?;
    let curve = CumulativeBytes::new(steps)?;
    let is_enough = until_s - from_s >= ROUNDS_SHARE_MIN * curve.duration_s();
    let is_rhythm = longest_s <= ROUNDS_APART_MAX * shortest_s;
    let moved = curve.bytes_at(until_s) - curve.bytes_at(from_s);
    (is_enough && is_rhythm).then(|| moved / (until_s - from_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of a million bytes a second that rests for 76 ms each 2,884 ms, for 30 s.
    fn resting() -> (Vec<Step>, Vec<DiskPause>) {
        let pauses: Vec<DiskPause> = (1..=10)
            .map(|round| DiskPause {
                start_s: 2.884 * f64::from(round),
                end_s: 2.884 * f64::from(round) + 0.076,
            })
            .collect();
        let moved = |until_s: f64| {
            let rested = pauses.iter();
            let rested = rested.map(|one| (until_s - one.start_s).clamp(0.0, 0.076));
            ((until_s - rested.sum::<f64>()) * 1e6) as u64
        };
        let step = |tenth: u32| {
            let (start_s, end_s) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
            Step {
                start_s,
                end_s,
                bytes: moved(end_s) - moved(start_s),
            }
        };
        ((0..300).map(step).collect(), pauses)
    }

    #[test]
    fn whole_rounds_have_all_pauses_of_their_time() {
        let (steps, pauses) = resting();
        let truth = 1e6 * (1.0 - 0.076 / 2.884);
        let all: u64 = steps.iter().map(|step| step.bytes).sum();
        assert!(all as f64 / 30.0 > truth * 1.000_5);
        let found = over_whole_rounds(&steps, &pauses).unwrap();
        assert!((found / truth - 1.0).abs() < 1e-5, "{found}");
    }

    #[test]
    fn few_pauses_or_those_without_a_rhythm_say_nothing() {
        let (steps, pauses) = resting();
        assert_eq!(over_whole_rounds(&steps, &[]), None);
        assert_eq!(over_whole_rounds(&steps, &pauses[..2]), None);
        assert_eq!(over_whole_rounds(&steps, &pauses[..5]), None);
        let uneven = [&pauses[..3], &pauses[8..]].concat();
        assert_eq!(over_whole_rounds(&steps, &uneven), None);
    }
}
