//! Foretells the parts of a measurement and how long they take, so that nobody who asked for 30 s
//! wonders what goes on after them. Pure but for what it reads of the open session.

use sustain_disk::target::Direction;
use sustain_load::event::{Event, Observer, Phase};
use sustain_load::prepared::PreparedTargets;
use sustain_load::session::Session;

use super::confirm::{CONFIRM_NS_MAX, CONFIRM_RUNS_MAX, confirms};
use super::measurement_words;
use super::plan::MeasurePlan;
use super::rewritten::{self, IN_TURN, TURN_NS};
use super::statements::{ConfirmedSoFar, ForeseenParts, READ_BACK_RUNS};
use crate::figures::seconds;

/// `None` for simulated machines, whose time passes in a moment, and for a run beside which
/// probe workloads go on for times of their own.
fn coming(plan: &MeasurePlan, prepared: &PreparedTargets<'_>) -> Option<ForeseenParts> {
    let session: &Session = prepared.session;
    if session.clock.is_virtual() || plan.effect.is_some() {
        return None;
    }
    let prewritten = session.targets.iter().filter(|one| one.needs_prewrite);
    let run_ns = plan.load.time_ns.filter(|_| plan.load.bytes.is_none());
    let is_tried = rewritten::is_tried(plan, session)
        && run_ns.is_none_or(|run_ns| run_ns >= rewritten::RUN_NS_MIN);
    let is_confirmed = confirms(plan)
        && plan.load.rate_bytes_per_s.is_none()
        && !plan.writes_buffered(session.direction);
    let confirming_ns = run_ns.unwrap_or(CONFIRM_NS_MAX).min(CONFIRM_NS_MAX);
    Some(ForeseenParts {
        prewritten_bytes: prewritten.map(|one| one.size_bytes).sum(),
        idle_s: seconds(prepared.idle_ns()),
        run_s: run_ns.map(seconds),
        may_end_early: plan.load.until_steady,
        is_flushed: session.direction == Direction::Write,
        in_turn_s: match is_tried {
            true => seconds(IN_TURN.len() as u64 * TURN_NS),
            false => 0.0,
        },
        confirming_s: is_confirmed.then(|| seconds(confirming_ns)),
        confirming_runs_max: CONFIRM_RUNS_MAX,
        is_read_back: plan.read_back,
    })
}

/// Says what is to come, and returns an observer that tells in each moment how long the rest of the
/// measurement takes.
pub(super) fn with_time_left<'o, 'a>(
    plan: &MeasurePlan,
    prepared: &PreparedTargets<'_>,
    observer: &'o mut Observer<'a>,
) -> impl FnMut(Event) + Send + use<'o, 'a> {
    let coming = coming(plan, prepared);
    if let Some(coming) = &coming {
        observer(Event::Note(measurement_words::coming(coming)));
    }
    let (mut so_far, mut elapsed_s) = (ConfirmedSoFar::default(), 0.0);
    move |mut event| {
        if let (Event::Live(live), Some(coming)) = (&mut event, &coming) {
            let begins = so_far.runs == 0 || live.elapsed_s < elapsed_s;
            match live.phase {
                Phase::Confirm => {
                    so_far.runs += u32::from(begins);
                    elapsed_s = live.elapsed_s;
                }
                Phase::ReadBack => (so_far.read_back, so_far.runs) = (1, 0),
                Phase::ReadAlone => (so_far.read_back, so_far.runs) = (READ_BACK_RUNS, 0),
                _ => {}
            }
            live.then_s = coming.after(live.phase, so_far);
        }
        observer(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half_a_minute() -> ForeseenParts {
        ForeseenParts {
            prewritten_bytes: 4 << 30,
            idle_s: 1.0,
            run_s: Some(30.0),
            may_end_early: false,
            is_flushed: true,
            in_turn_s: 4.0,
            confirming_s: Some(10.0),
            confirming_runs_max: CONFIRM_RUNS_MAX,
            is_read_back: false,
        }
    }

    #[test]
    fn all_parts_are_told_with_their_times() {
        assert_eq!(
            measurement_words::coming(&half_a_minute()),
            "to come: prewriting 4 GiB, 1 s of idle time, the run of 30 s, a flush, 1 s of idle \
             time again, 4 s with entirely new data in each write (to see whether the targets take \
             it more slowly), 1 to 6 confirming runs of 10 s each, until a rate holds; 46 s to 96 s \
             in all, without the prewriting and the flush"
        );
        let short = ForeseenParts {
            prewritten_bytes: 0,
            run_s: None,
            is_flushed: false,
            in_turn_s: 0.0,
            confirming_s: None,
            ..half_a_minute()
        };
        assert_eq!(
            measurement_words::coming(&short),
            "to come: 1 s of idle time, the run, whose bytes decide how long it takes, 1 s of idle \
             time again"
        );
        let steady = ForeseenParts {
            run_s: Some(600.0),
            may_end_early: true,
            ..short
        };
        assert_eq!(
            measurement_words::coming(&steady),
            "to come: 1 s of idle time, the run of at most 10 min, 1 s of idle time again; 2 s to \
             10 min in all"
        );
    }

    #[test]
    fn what_is_to_come_shrinks_from_phase_to_phase() {
        let coming = half_a_minute();
        let after = |phase| coming.after(phase, ConfirmedSoFar::default());
        let confirmed = |runs| ConfirmedSoFar { runs, read_back: 0 };
        assert_eq!(after(Phase::Prewrite), Some([46.0, 96.0]));
        assert_eq!(after(Phase::Before), Some([45.0, 95.0]));
        assert_eq!(after(Phase::Measure), Some([15.0, 65.0]));
        assert_eq!(after(Phase::After), Some([14.0, 64.0]));
        assert_eq!(after(Phase::Rewrite), Some([10.0, 60.0]));
        assert_eq!(
            coming.after(Phase::Confirm, confirmed(1)),
            Some([0.0, 50.0])
        );
        assert_eq!(coming.after(Phase::Confirm, confirmed(6)), Some([0.0, 0.0]));
        let by_bytes = ForeseenParts {
            run_s: None,
            ..coming
        };
        assert_eq!(by_bytes.after(Phase::Before, confirmed(0)), None);
    }

    #[test]
    fn what_is_read_back_comes_last_with_confirming_runs_of_its_own() {
        let coming = ForeseenParts {
            is_read_back: true,
            ..half_a_minute()
        };
        let at = |phase, read_back, runs| coming.after(phase, ConfirmedSoFar { runs, read_back });
        assert_eq!(at(Phase::Rewrite, 0, 0), Some([90.0, 240.0]));
        assert_eq!(at(Phase::Confirm, 0, 1), Some([80.0, 230.0]));
        assert_eq!(at(Phase::ReadBack, 1, 0), Some([50.0, 150.0]));
        assert_eq!(at(Phase::Flush, 1, 0), Some([50.0, 150.0]));
        assert_eq!(at(Phase::Confirm, 1, 2), Some([40.0, 130.0]));
        assert_eq!(at(Phase::Flush, 1, 2), Some([40.0, 130.0]));
        assert_eq!(at(Phase::ReadAlone, 2, 0), Some([10.0, 60.0]));
        assert_eq!(at(Phase::Confirm, 2, 6), Some([0.0, 0.0]));
        let words = measurement_words::coming(&coming);
        let (_, last) = words.split_once("until a rate holds, ").unwrap_or_default();
        assert_eq!(
            last,
            "reading back for 30 s while it writes and for 30 s alone, each with confirming runs; \
             2.1 min to 4.6 min in all, without the prewriting and the flush"
        );
        let by_bytes = ForeseenParts {
            run_s: None,
            ..coming
        };
        assert!(
            measurement_words::coming(&by_bytes).contains("reading back for as long as the run")
        );
        assert_eq!(
            by_bytes.after(Phase::ReadAlone, ConfirmedSoFar::default()),
            None
        );
    }
}
