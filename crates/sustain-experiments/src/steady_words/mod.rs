//! The verdict on a series in words. Every document that has a steady rate says with them why it is
//! one, or why not.

use sustain_statistics::judge::batch_means::BATCHES;
use sustain_statistics::judge::steady::{
    PositionKnown, RANGE_PERCENT_MAX, RISE_PERCENT_MAX, SteadyReason, WINDOW_S_MIN,
};

#[cfg(test)]
mod table;

/// The figures behind a verdict, in plain words.
#[must_use]
pub fn steady_words(reason: &SteadyReason) -> String {
    match reason {
        SteadyReason::Nothing => "no bytes were transferred".to_owned(),
        SteadyReason::Steady { .. } => steady(reason),
        SteadyReason::TooShort { duration_s } => {
            format!("the run lasted {duration_s:.1} s, but at least {WINDOW_S_MIN} s are needed")
        }
        SteadyReason::TooFewSteps { length_s } => format!(
            "there are fewer than {BATCHES} intervals in the last {length_s:.0} s: use shorter \
             intervals"
        ),
        SteadyReason::LateBurst {
            until_s,
            duration_s,
            rate_bytes_per_s,
            after_bytes_per_s,
        } => format!(
            "the rate was higher until {until_s:.0} s of {duration_s:.0} s ({} MB/s, then {} \
             MB/s), and what comes after must be at least half of the run and {WINDOW_S_MIN} s: \
             run longer",
            figure(rate_bytes_per_s / 1e6),
            figure(after_bytes_per_s / 1e6),
        ),
        SteadyReason::Unsteady { .. } => unsteady(reason),
    }
}

fn steady(reason: &SteadyReason) -> String {
    let SteadyReason::Steady {
        length_s,
        range_percent,
        rise_percent,
        widened_for,
        position,
    } = reason
    else {
        return String::new();
    };
    let widened = widened_for.map(|correlation| {
        format!(
            "; neighbouring batches are alike (correlation {correlation:.2}), so the interval was \
             widened"
        )
    });
    format!(
        "range {} % of the mean ({RANGE_PERCENT_MAX} % allowed), {} ({RISE_PERCENT_MAX} % \
         allowed), over the last {length_s:.0} s{}{}",
        figure(*range_percent),
        sloped(*rise_percent),
        removed(position),
        widened.unwrap_or_default()
    )
}

fn unsteady(reason: &SteadyReason) -> String {
    let SteadyReason::Unsteady {
        length_s,
        pause,
        range_percent,
        rise_percent,
        position,
    } = reason
    else {
        return String::new();
    };
    let pause = pause.map(|pause| {
        format!(
            "no bytes were transferred for {:.1} s or more from {:.0} s on",
            pause.length_s, pause.from_s
        )
    });
    let range = range_percent.map(|range_percent| {
        format!(
            "range {} % of the mean in the last {length_s:.0} s ({RANGE_PERCENT_MAX} % allowed)",
            figure(range_percent)
        )
    });
    let rise = rise_percent.map(|rise_percent| {
        format!(
            "{} over the last {length_s:.0} s ({RISE_PERCENT_MAX} % allowed){}",
            sloped(rise_percent),
            cause(position)
        )
    });
    let failures: Vec<String> = [pause, range, rise].into_iter().flatten().collect();
    failures.join("; ")
}

/// That the position effect was removed, if it was.
fn removed(position: &PositionKnown) -> String {
    match position {
        PositionKnown::RemovedByProfile => {
            ", with the position effect removed by the profile".to_owned()
        }
        PositionKnown::RemovedByLaps { laps } => {
            format!(", with the position effect removed ({laps} laps)")
        }
        PositionKnown::SeveralLaps | PositionKnown::FewLaps { .. } | PositionKnown::OnePass => {
            String::new()
        }
    }
}

/// What the position may have to do with a rise or fall.
fn cause(position: &PositionKnown) -> String {
    match position {
        PositionKnown::FewLaps { laps } => {
            format!(": {laps:.1} laps cannot tell whether position or time is the cause")
        }
        PositionKnown::OnePass => {
            ", and one pass cannot tell whether position or time is the cause".to_owned()
        }
        _ => removed(position),
    }
}

fn sloped(rise_percent: f64) -> String {
    let word = match rise_percent < 0.0 {
        true => "falling",
        false => "rising",
    };
    // Nothing falls by more than all of it: such a line goes far beyond the mean on both sides.
    if rise_percent.abs() > 100.0 {
        return format!("{word} by {:.1} times the mean", rise_percent.abs() / 100.0);
    }
    format!("{word} {} %", figure(rise_percent.abs()))
}

/// A figure with one decimal where that matters beside a limit.
fn figure(value: f64) -> String {
    if value < 30.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use sustain_statistics::judge::steady::{EmptyBatch, judge};
    use sustain_statistics::judge::{Revisits, series};

    use super::*;

    #[test]
    fn a_fall_in_one_pass_has_all_its_figures() {
        let verdict = judge(&series::linear(300, 100.0, 50.0, 0.0), Revisits::default());
        assert_eq!(
            steady_words(&verdict.reason),
            "range 36 % of the mean in the last 150 s (20 % allowed); falling 36 % over the last \
             150 s (10 % allowed), and one pass cannot tell whether position or time is the cause"
        );
    }

    #[test]
    fn each_reason_has_its_words() {
        let words = |reason| steady_words(&reason);
        assert_eq!(words(SteadyReason::Nothing), "no bytes were transferred");
        assert_eq!(
            words(SteadyReason::TooShort { duration_s: 6.0 }),
            "the run lasted 6.0 s, but at least 10 s are needed"
        );
        assert_eq!(
            words(SteadyReason::TooFewSteps { length_s: 20.0 }),
            "there are fewer than 10 intervals in the last 20 s: use shorter intervals"
        );
        assert_eq!(
            words(SteadyReason::LateBurst {
                until_s: 70.0,
                duration_s: 100.0,
                rate_bytes_per_s: 3e9,
                after_bytes_per_s: 1.5e9,
            }),
            "the rate was higher until 70 s of 100 s (3000 MB/s, then 1500 MB/s), and what comes \
             after must be at least half of the run and 10 s: run longer"
        );
        assert_eq!(
            words(SteadyReason::Steady {
                length_s: 60.0,
                range_percent: 4.26,
                rise_percent: 0.5,
                widened_for: Some(0.4),
                position: PositionKnown::RemovedByLaps { laps: 2 },
            }),
            "range 4.3 % of the mean (20 % allowed), rising 0.5 % (10 % allowed), over the last \
             60 s, with the position effect removed (2 laps); neighbouring batches are alike \
             (correlation 0.40), so the interval was widened"
        );
    }

    #[test]
    fn several_failures_are_told_in_turn() {
        let mut reason = SteadyReason::Unsteady {
            length_s: 30.0,
            pause: Some(EmptyBatch {
                from_s: 42.0,
                length_s: 3.0,
            }),
            range_percent: None,
            rise_percent: Some(-12.0),
            position: PositionKnown::FewLaps { laps: 1.25 },
        };
        let words = steady_words(&reason);
        assert_eq!(
            words,
            "no bytes were transferred for 3.0 s or more from 42 s on; falling 12.0 % over the \
             last 30 s (10 % allowed): 1.2 laps cannot tell whether position or time is the cause"
        );
        if let SteadyReason::Unsteady { position, .. } = &mut reason {
            *position = PositionKnown::RemovedByProfile;
        }
        let words = steady_words(&reason);
        assert!(words.ends_with("(10 % allowed), with the position effect removed by the profile"));
    }

    #[test]
    fn the_page_shows_this_table() {
        let page = include_str!("../../../../docs/method.md");
        let table = table::markdown();
        assert!(
            page.contains(&table),
            "docs/method.md is out of date; `cargo run -p sustain-experiments --example verdicts` \
             prints:\n{table}"
        );
    }
}
