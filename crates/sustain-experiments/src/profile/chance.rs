//! Decides whether positions that were slow in every visit are bad spots, or slow by chance on a
//! disk that is disturbed now and then. Pure; the fit calls it.
//!
//! With a share p of disturbed visits, a position is slow in all of v visits with the probability
//! p^v, so n p^v of n positions are expected to be: a Poisson count (S. D. Poisson, "Recherches sur
//! la probabilité des jugements", 1837). Another visit makes that rarer by the factor p, so in
//! doubt a position is visited again.

use std::ops::Range;

/// An event that chance brings about less often than this is not explained by chance.
const RARE: f64 = 1e-3;
/// Being slow in every one of this many visits is enough if disturbances are rare,
const VISITS_ENOUGH: usize = 3;
/// and no more visits than this are made.
pub(super) const VISITS_MAX: usize = 6;
/// The share is estimated as if half a visit more had been disturbed (H. Jeffreys, "An invariant
/// form for the prior probability in estimation problems", Proceedings of the Royal Society A 186,
/// 1946).
const JEFFREYS: f64 = 0.5;

/// Counts of the visits of one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaceObservation {
    pub(super) visits: usize,
    /// Slow visits among all of them, and among the first two.
    pub(super) slow: usize,
    pub(super) slow_of_two: usize,
}

impl PlaceObservation {
    pub(super) fn is_always_slow(&self) -> bool {
        self.visits > 0 && self.slow == self.visits
    }
}

/// Neighbouring positions that were slow in every visit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SuspectPlace {
    pub(super) places: Range<usize>,
    /// Whether that is more than chance explains.
    pub(super) is_bad: bool,
}

impl SuspectPlace {
    /// The position in it that is to be visited again, if another visit can still decide.
    pub(super) fn next(&self, seen: &[PlaceObservation]) -> Option<usize> {
        let visits = |place: &usize| seen[*place].visits;
        let most = self.places.clone().map(|place| visits(&place)).max()?;
        let least = self.places.clone().map(|place| visits(&place)).min()?;
        let is_wanted = most < VISITS_ENOUGH || !self.is_bad && least < VISITS_MAX;
        let middle = usize::midpoint(self.places.start, self.places.end - 1);
        let of_least = self.places.clone().filter(|place| visits(place) == least);
        let nearest = of_least.min_by_key(|place| place.abs_diff(middle));
        nearest.filter(|_| is_wanted)
    }
}

/// The share of visits that were disturbed, by the positions that were not always slow. Third
/// visits are made where something was slow, so only the first two count.
pub(super) fn disturbed_share(seen: &[PlaceObservation]) -> f64 {
    let twice = seen
        .iter()
        .filter(|one| one.visits >= 2 && !one.is_always_slow());
    let (slow, places) = twice.fold((0, 0), |(slow, places), one| {
        (slow + one.slow_of_two, places + 1)
    });
    let share = (slow as f64 + JEFFREYS) / (2.0 * f64::from(places) + 1.0);
    // Positions that were always slow are not among them: the share is p (1 - p) of 1 - p^2.
    (share / (1.0 - share)).min(1.0)
}

/// How many of these positions are expected to be slow in all of these visits by chance.
fn expected(places: usize, share: f64, visits: usize) -> f64 {
    places as f64 * share.powi(i32::try_from(visits).unwrap_or(i32::MAX))
}

/// Whether a bad spot could be told from chance at all.
pub(super) fn can_be_distinguished(places: usize, share: f64) -> bool {
    expected(places, share, VISITS_MAX) < RARE
}

/// How many neighbours may be slow together by chance.
pub(super) fn longest_run(places: usize, share: f64) -> usize {
    if share <= 0.0 {
        return 0;
    }
    let longest = (RARE / places.max(1) as f64).ln() / share.min(0.5).ln();
    longest as usize
}

/// Judges these runs of positions that were always slow. A run is bad by itself if chance makes
/// none like it; the remaining ones are bad if there are more of them than chance makes.
pub(super) fn suspects(runs: Vec<Range<usize>>, seen: &[PlaceObservation]) -> Vec<SuspectPlace> {
    let share = disturbed_share(seen);
    let count = seen.iter().filter(|one| one.visits > 0).count();
    let by_chance = |run: &Range<usize>| {
        let visits: Vec<usize> = seen[run.clone()].iter().map(|one| one.visits).collect();
        // A single visit has not been repeated, so nothing tells the position from the time.
        let is_repeated = visits.iter().any(|visits| *visits >= 2);
        is_repeated.then(|| expected(count, share, visits.iter().sum()))
    };
    let chances: Vec<Option<f64>> = runs.iter().map(by_chance).collect();
    let left = || chances.iter().flatten().filter(|chance| **chance >= RARE);
    let mean = left().copied().fold(0.0, f64::max);
    let is_more = poisson_tail(left().count(), mean) < RARE;
    let judged = runs.into_iter().zip(chances);
    judged
        .map(|(places, chance)| SuspectPlace {
            places,
            is_bad: chance.is_some_and(|chance| chance < RARE || is_more),
        })
        .collect()
}

/// The chance of so many or more where so many are expected.
pub(crate) fn poisson_tail(count: usize, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for number in 0..count {
        below += term;
        term *= mean / (number + 1) as f64;
    }
    (1.0 - below).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(visits: usize, slow: usize) -> PlaceObservation {
        PlaceObservation {
            visits,
            slow,
            slow_of_two: slow.min(2),
        }
    }

    /// A hundred places, so many of them slow in one of two visits.
    fn disturbed(count: usize) -> Vec<PlaceObservation> {
        let slow = |index| usize::from(index < count);
        (0..100).map(|index| seen(2, slow(index))).collect()
    }

    fn only(run: Range<usize>) -> Vec<Range<usize>> {
        std::iter::once(run).collect()
    }

    #[test]
    fn the_share_of_disturbed_visits_is_found() {
        assert!(disturbed_share(&disturbed(0)) < 0.005);
        // 2 p (1 - p) of 1 - p^2 at p = 0.1.
        let share = disturbed_share(&disturbed(18));
        assert!((share - 0.1).abs() < 0.01, "{share}");
        let all = vec![seen(2, 2); 9];
        assert!(disturbed_share(&all) > 0.5, "nothing is known of them");
    }

    #[test]
    fn what_chance_explains_is_no_bad_spot_until_it_was_seen_often_enough() {
        let judge = |disturbed_places: usize, visits: usize| {
            let mut all = disturbed(disturbed_places);
            all[50] = seen(visits, visits);
            suspects(only(50..51), &all).remove(0)
        };
        assert!(judge(0, 2).is_bad);
        assert!(!judge(0, 1).is_bad, "it may have been the time");
        assert!(!judge(18, 3).is_bad);
        assert!(judge(18, 6).is_bad);
        assert!(!judge(48, 6).is_bad, "a third of all visits were disturbed");
    }

    #[test]
    fn neighbours_bear_each_other_out_and_many_are_more_than_chance() {
        let mut all = disturbed(18);
        all[50..53].fill(seen(2, 2));
        assert!(suspects(only(50..53), &all)[0].is_bad);
        // About one in a hundred is slow twice by chance, twelve are not.
        let mut all = disturbed(18);
        let apart: Vec<Range<usize>> = (20..44).step_by(2).map(|place| place..place + 1).collect();
        for run in &apart {
            all[run.start] = seen(2, 2);
        }
        assert!(suspects(apart.clone(), &all).iter().all(|one| one.is_bad));
        let two = suspects(apart[..2].to_vec(), &all);
        assert!(two.iter().all(|one| !one.is_bad));
    }

    #[test]
    fn in_doubt_the_least_visited_place_is_visited_again() {
        let mut all = disturbed(0);
        all[50..53].fill(seen(2, 2));
        let next = |is_bad, all: &[PlaceObservation]| {
            SuspectPlace {
                places: 50..53,
                is_bad,
            }
            .next(all)
        };
        assert_eq!(next(true, &all), Some(51), "a third visit decides");
        all[51] = seen(3, 3);
        assert_eq!(next(true, &all), None);
        assert!(matches!(next(false, &all), Some(50 | 52)));
        all[50..53].fill(seen(VISITS_MAX, VISITS_MAX));
        assert_eq!(next(false, &all), None);
    }

    #[test]
    fn neighbours_are_slow_together_by_chance_as_long_as_disturbances_are_many() {
        assert_eq!(longest_run(100, 0.0), 0);
        assert_eq!(longest_run(100, 0.01), 2);
        assert_eq!(longest_run(100, 0.1), 5);
        assert_eq!(longest_run(100, 0.3), 9);
    }

    #[test]
    fn the_tail_of_a_poisson_count_is_known() {
        assert!((poisson_tail(1, 1.0) - 0.632_12).abs() < 1e-4);
        assert!((poisson_tail(3, 1.0) - 0.080_3).abs() < 1e-4);
        assert!(poisson_tail(0, 3.0) >= 1.0);
    }
}
