//! What a state of the recording has besides what the recorder knows: the pause, the marks that
//! were just set, and other programs on its disks.

use std::sync::{Mutex, PoisonError, Weak};

use sustain_disk::clock::Clock;

use crate::recorder::{MarkKeeper, PauseSwitch, RecordingProgress};

/// What completes a state, for every view alike.
pub(super) struct ShownState {
    pub(super) pause: PauseSwitch,
    pub(super) marks: Weak<MarkKeeper>,
    pub(super) clock: Clock,
    /// The rate of other programs on the disks, as the monitor last told it.
    others_bytes_per_s: Mutex<Option<f64>>,
}

impl ShownState {
    pub(super) fn new(pause: PauseSwitch, marks: Weak<MarkKeeper>, clock: Clock) -> Self {
        ShownState {
            pause,
            marks,
            clock,
            others_bytes_per_s: Mutex::new(None),
        }
    }

    /// Completes a state that the monitor has seen, and keeps what it told.
    pub(super) fn complete_seen(&self, standing: RecordingProgress) -> RecordingProgress {
        let others = standing.others_bytes_per_s;
        *self
            .others_bytes_per_s
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = others;
        self.with_commands(standing)
    }

    /// Completes a state that comes straight from the board.
    pub(super) fn complete(&self, standing: RecordingProgress) -> RecordingProgress {
        let others = self.others_bytes_per_s.lock();
        let others = *others.unwrap_or_else(PoisonError::into_inner);
        let now_s = self.clock.now().since_s(standing.begun_at);
        self.with_commands(RecordingProgress {
            others_bytes_per_s: others,
            time_s: standing.time_s.max(now_s),
            ..standing
        })
    }

    fn with_commands(&self, mut standing: RecordingProgress) -> RecordingProgress {
        standing.is_paused = self.pause.is_paused() && !standing.is_over;
        if let (Some(marks), Some(keeper)) = (&mut standing.marks, self.marks.upgrade()) {
            marks.made = marks.made.max(keeper.made());
        }
        standing
    }
}
