//! `--fail-if-slower`: whether B is slower by more than is allowed, where the intervals can say so.
//! Pure; `conclude` and the trial call it.
//!
//! A script that runs each night should not raise an alarm by chance, and should not be silent
//! where nothing could be seen. So there are three outcomes: *slower* when even the upper end of
//! the ratio's interval is below 1 - limit, *held* when the lower end is not below it, else *cannot
//! be told*. All targets together and each target by itself are judged, because one slow disk of
//! many hardly shows in the sum. The intervals are wider for that (Bonferroni), so that all of them
//! hold at once in 95 % of cases.

use sustain_document::compare::CompareLimit;
use sustain_document::compare::LimitOutcome;

use super::comparison_words;

/// One rate that the limit applies to.
pub(super) struct LimitedFigures<'a> {
    /// The target, or all together.
    pub(super) name: &'a str,
    /// The interval of the ratio, at the level that [`sustain_statistics::ratio::effect::OUTSIDE`]
    /// leaves to each rate that is watched; `None` if no interval can be given.
    pub(super) interval: Option<[f64; 2]>,
    /// Where the interval comes from, or the reason why there is none.
    pub(super) how: &'a str,
}

/// The outcome for all rates that are watched. `failures` lists targets that failed in B and not in
/// A: no rate makes up for them.
pub(super) fn judge(
    slower_by_max: f64,
    watched: &[LimitedFigures<'_>],
    failures: Vec<String>,
) -> CompareLimit {
    let least = 1.0 - slower_by_max;
    let mut unknown = false;
    let mut slower = Vec::new();
    let failed = !failures.is_empty();
    let mut why = failures;
    for one in watched {
        let Some([low, high]) = one.interval else {
            unknown = true;
            why.push(comparison_words::limit_undecided(one.name, one.how));
            continue;
        };
        let (is_slower, is_held) = (high < least, low >= least);
        if is_slower {
            slower.push(one.name.to_owned());
        }
        unknown |= !is_slower && !is_held;
        let decided = (is_slower || is_held).then_some(is_held);
        why.push(comparison_words::limit_held(
            one.name,
            decided,
            [low, high],
            least,
        ));
    }
    let outcome = match (failed, slower.is_empty(), unknown) {
        (true, ..) => LimitOutcome::Failed,
        (_, false, _) => LimitOutcome::Slower,
        (.., true) => LimitOutcome::CannotBeTold,
        _ => LimitOutcome::Held,
    };
    CompareLimit {
        slower_by_max,
        outcome,
        slower,
        why,
    }
}

#[cfg(test)]
mod tests {
    use sustain_statistics::ratio::effect::{Effect, OUTSIDE};

    use super::*;

    #[test]
    fn failed_requests_are_an_alarm_whatever_the_rate() {
        let held = LimitedFigures {
            name: "disk",
            interval: Some([0.99, 1.01]),
            how: "",
        };
        let failures = vec!["disk: requests failed in B, not in A: EIO".to_owned()];
        let limit = judge(0.05, &[held], failures);
        assert_eq!(limit.outcome, LimitOutcome::Failed);
        assert!(limit.why[0].contains("EIO"), "{:?}", limit.why);
    }

    fn outcome(effects: &[Option<(f64, f64)>]) -> CompareLimit {
        let watched: Vec<LimitedFigures<'_>> = effects
            .iter()
            .map(|effect| LimitedFigures {
                name: "disk",
                interval: effect.map(|(ratio, error): (f64, f64)| {
                    let effect = Effect {
                        log: ratio.ln(),
                        variance: error * error,
                        degrees: 18.0,
                    };
                    effect.interval(OUTSIDE / effects.len() as f64)
                }),
                how: "too few intervals",
            })
            .collect();
        judge(0.05, &watched, Vec::new())
    }

    #[test]
    fn only_what_the_interval_shows_fails() {
        assert_eq!(outcome(&[Some((0.90, 0.01))]).outcome, LimitOutcome::Slower);
        assert_eq!(
            outcome(&[Some((0.94, 0.01))]).outcome,
            LimitOutcome::CannotBeTold
        );
        assert_eq!(outcome(&[Some((0.99, 0.01))]).outcome, LimitOutcome::Held);
        assert_eq!(
            outcome(&[Some((0.96, 0.04))]).outcome,
            LimitOutcome::CannotBeTold
        );
        let none = outcome(&[None]);
        assert_eq!(none.outcome, LimitOutcome::CannotBeTold);
        assert!(none.why[0].contains("too few intervals"), "{none:?}");
    }

    #[test]
    fn one_slow_disk_of_many_fails_and_one_that_is_unknown_is_said() {
        let held = Some((1.0, 0.005));
        let slow = outcome(&[held, held, Some((0.85, 0.01)), None]);
        assert_eq!(slow.outcome, LimitOutcome::Slower);
        assert_eq!(
            outcome(&[held, held, None]).outcome,
            LimitOutcome::CannotBeTold
        );
        assert_eq!(outcome(&[held; 4]).outcome, LimitOutcome::Held);
        // Alone it is shown, among forty it may be chance.
        let edge = Some((0.928, 0.01));
        assert_eq!(outcome(&[edge]).outcome, LimitOutcome::Slower);
        assert_eq!(outcome(&[edge; 40]).outcome, LimitOutcome::CannotBeTold);
    }
}
