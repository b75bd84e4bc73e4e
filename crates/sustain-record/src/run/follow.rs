//! Follows a recording while it runs: looks at the board, feeds the monitor, and tells the observer
//! how it stands.

use std::sync::Arc;
use std::time::Duration;

use sustain_disk::clock::Clock;
use sustain_disk::target::Direction;
use sustain_targets::Monitor;

use super::control::ControlService;
use super::samples::Samples;
use super::{RecordEvent, RecordObserver, note_words, sources};
use crate::recorder::{RecordingBoard, RecordingProgress};

/// The state is reported at least this often, even if no flush does so.
const STATUS_EVERY: Duration = Duration::from_millis(200);

/// What is looked at of a recording while it runs.
pub(super) struct FollowedRun<'a> {
    pub(super) board: &'a Arc<RecordingBoard>,
    pub(super) clock: &'a Clock,
    pub(super) service: Option<&'a ControlService>,
}

impl FollowedRun<'_> {
    /// Completes a state with what commands have changed, if there can be any.
    pub(super) fn complete(&self, standing: RecordingProgress) -> RecordingProgress {
        match self.service {
            Some(service) => service.complete(standing),
            None => standing,
        }
    }

    /// Reports the state until all sources and the recorder have ended. Returns the time of the
    /// last report.
    pub(super) fn follow(
        &self,
        intakes: &[sources::Running],
        monitor: &mut Monitor,
        samples: &mut Samples,
        observer: &mut RecordObserver<'_>,
    ) -> f64 {
        let mut seen = (self.board.read().recording, 0);
        let mut reported = Vec::new();
        loop {
            let is_new = |one: &RecordingProgress| (one.recording, one.flushes) > seen;
            self.board.wait_for(is_new, STATUS_EVERY);
            let (ended, standing) = self.board.take_ended();
            for last in ended {
                report_written(monitor, &last, &mut reported);
                reported.clear();
                *samples = Samples::default();
                let note = note_words::split(&self.complete(last));
                observer(RecordEvent::Note(note));
            }
            seen = (standing.recording, standing.flushes);
            report_written(monitor, &standing, &mut reported);
            monitor.tick(self.clock.now());
            let standing = RecordingProgress {
                time_s: self.clock.now().since_s(standing.begun_at),
                others_bytes_per_s: monitor.others_bytes_per_s(),
                ..standing
            };
            let standing = self.complete(standing);
            samples.take(&standing, false);
            let is_over = standing.is_over && intakes.iter().all(sources::Running::is_over);
            let reported_s = standing.time_s;
            observer(RecordEvent::Standing(Box::new(standing)));
            if is_over {
                return reported_s;
            }
            if self.board.read().is_over {
                // The board wakes nobody any more, and the sources will end in a moment.
                self.clock
                    .wait_until(self.clock.now() + STATUS_EVERY.as_nanos() as u64 / 10);
            }
        }
    }
}

/// The recorder says when it looked last, which may be long before it could tell, as where a file
/// system did not answer. Reports that were made meanwhile had a later time, and time never goes
/// back.
pub(super) fn not_before(standing: RecordingProgress, reported_s: f64) -> RecordingProgress {
    RecordingProgress {
        time_s: standing.time_s.max(reported_s),
        ..standing
    }
}

/// Tells the monitor what was written to the members since the last time, so that it does not count
/// this as foreign I/O.
fn report_written(monitor: &mut Monitor, standing: &RecordingProgress, reported: &mut Vec<u64>) {
    reported.resize(standing.members.len(), 0);
    for (member, reported) in standing.members.iter().zip(reported) {
        let before = std::mem::replace(reported, member.written_bytes);
        let more = member.written_bytes.saturating_sub(before);
        monitor.drove(&member.name, Direction::Write, more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::LimitedBy;

    #[test]
    fn the_last_report_is_never_before_those_that_came_earlier() {
        let at = |time_s| RecordingProgress {
            time_s,
            streams: Vec::new(),
            members: Vec::new(),
            parities: 0,
            buffer_fill: 0.0,
            longest_write_ns: 0,
            is_longest_write_under_way: false,
            limited_by: LimitedBy::Source,
            others_bytes_per_s: None,
            pins: None,
            marks: None,
            recording: 1,
            begun_at: sustain_disk::clock::Timestamp(0),
            is_paused: false,
            flushes: 0,
            is_over: true,
        };
        // The recorder looked at 12 s and then waited for a file system that was frozen.
        assert_eq!(not_before(at(12.0), 17.76).time_s, 17.76);
        assert_eq!(not_before(at(18.0), 17.76).time_s, 18.0);
    }
}
