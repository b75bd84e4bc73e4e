//! Tells whether the backlog of a paced source grows for as long as it is looked at, which no
//! buffer rides out, or only rose in a pause, which one does. The judge of paced runs calls it.
//!
//! The lowest backlog of each tenth of the run is compared with that of the tenth before. A pause
//! lifts one or two of these floors, and they fall again while it is made up for. What is slower
//! than its source lifts all of them. The second half alone decides too: a cache that was full, or
//! a zone that was reached, after some time.

use super::Step;
use super::curve::CumulativeBytes;

/// The parts of a run whose lowest backlogs are compared.
const PARTS: usize = 10;
/// A part with fewer steps than this has no floor that a record's own size does not blur.
const STEPS_MIN: usize = 3;
/// A rise of which more than this came in one part was a pause.
const OF_ONE_PART_MAX: f64 = 0.5;
/// A rise counts from this many times the blur on.
const BLURS: f64 = 2.0;

/// By how many bytes the backlog of a source of this rate rose to the end, if it rose steadily,
/// over the whole run or over its second half. The source ends after `until_s`. What the backlog
/// varies by because a record is completed as a whole is `blur_bytes`: a record for each target.
#[must_use]
pub fn steady_growth(
    steps: &[Step],
    rate_bytes_per_s: f64,
    until_s: f64,
    blur_bytes: f64,
) -> Option<f64> {
    let floors = floors(steps, rate_bytes_per_s, until_s)?;
    let rose = |floors: &[f64]| {
        let rises = floors.windows(2).map(|pair| pair[1] - pair[0]);
        let total = floors.last()? - floors.first()?;
        let falls = rises.clone().any(|rise| rise < -blur_bytes);
        let is_pause = rises.fold(0.0, f64::max) > total * OF_ONE_PART_MAX;
        (total > BLURS * blur_bytes && !falls && !is_pause).then_some(total)
    };
    rose(&floors).or_else(|| rose(&floors[PARTS / 2 - 1..]))
}

/// The lowest backlog of each part.
fn floors(steps: &[Step], rate_bytes_per_s: f64, until_s: f64) -> Option<Vec<f64>> {
    let start_s = CumulativeBytes::new(steps)?.start_s();
    let part_s = (until_s - start_s) / PARTS as f64;
    let mut floors = vec![f64::INFINITY; PARTS];
    let mut seen = [0_usize; PARTS];
    let mut completed = 0.0;
    for step in steps.iter().take_while(|step| step.end_s <= until_s + 1e-9) {
        completed += step.bytes as f64;
        let backlog = rate_bytes_per_s * (step.end_s - start_s) - completed;
        let part = ((step.end_s - start_s) / part_s).ceil() as usize;
        let part = part.clamp(1, PARTS) - 1;
        floors[part] = floors[part].min(backlog);
        seen[part] += 1;
    }
    let are_enough = seen.iter().all(|steps| *steps >= STEPS_MIN);
    are_enough.then_some(floors)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLUR: f64 = 1e6;

    /// Thirty seconds in tenths, by the rate in each; and by how much a source of 100 MB/s is ahead.
    fn growth(rate_at: impl Fn(f64) -> f64) -> Option<f64> {
        let step = |tenth: u32| Step {
            start_s: f64::from(tenth) / 10.0,
            end_s: f64::from(tenth + 1) / 10.0,
            bytes: (rate_at(f64::from(tenth) / 10.0) / 10.0) as u64,
        };
        let steps: Vec<Step> = (0..300).map(step).collect();
        steady_growth(&steps, 100e6, 30.0, BLUR)
    }

    #[test]
    fn what_is_a_little_slower_than_its_source_grows() {
        let found = growth(|_| 99.8e6).unwrap_or_default();
        assert!((4e6..6.1e6).contains(&found), "{found}");
        assert_eq!(growth(|_| 100e6), None);
    }

    #[test]
    fn what_slows_down_halfway_grows() {
        assert!(growth(|at_s| if at_s < 14.0 { 100e6 } else { 95e6 }).is_some());
        // Where it was slow only at first, it is made up for.
        assert_eq!(growth(|at_s| if at_s < 10.0 { 95e6 } else { 103e6 }), None);
    }

    #[test]
    fn a_pause_is_no_growth_wherever_it_comes() {
        for from_s in 0..30 {
            let from_s = f64::from(from_s);
            let rate = |at_s: f64| match at_s - from_s {
                since if since < 0.0 => 100e6,
                since if since < 1.0 => 0.0,
                _ => 101e6,
            };
            assert_eq!(growth(rate), None, "{from_s}");
        }
    }

    #[test]
    fn pauses_that_are_not_made_up_for_are_growth() {
        assert!(growth(|at_s| if at_s % 1.5 < 0.15 { 0.0 } else { 102e6 }).is_some());
    }

    #[test]
    fn a_run_of_a_moment_tells_nothing() {
        let steps = [(0.0, 0.1), (0.1, 0.2)].map(|(start_s, end_s)| Step {
            start_s,
            end_s,
            bytes: 0,
        });
        assert_eq!(steady_growth(&steps, 100e6, 0.2, BLUR), None);
        assert_eq!(steady_growth(&[], 100e6, 0.2, BLUR), None);
    }
}
