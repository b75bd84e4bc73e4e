//! The user's wish that nothing is taken from the sources for a while, and what an intake does
//! then.
//!
//! A source that may wait is left alone: nothing of it is read, and nothing is lost. What another
//! one sends is read and lost, as a gap that says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Intake, LOOK_NS};

/// Whether a recording is paused. All clones are the same.
#[derive(Debug, Clone, Default)]
pub struct PauseSwitch(Arc<AtomicBool>);

impl PauseSwitch {
    /// Takes nothing more from the sources.
    pub fn pause(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Takes from the sources again.
    pub fn resume(&self) {
        self.0.store(false, Ordering::Release);
    }

    /// Whether nothing is taken now.
    pub fn is_paused(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Intake {
    /// Whether the source is left waiting now.
    pub(super) fn is_held(&self) -> bool {
        self.may_wait && self.setup.pause.is_paused()
    }

    /// Whether what the source sends now is lost because the recording is paused. What was read
    /// before goes on its way first.
    pub(super) fn loses_in_pause(&mut self) -> bool {
        let is_lost = !self.may_wait && self.setup.pause.is_paused();
        if is_lost && let Some(filling) = self.filling.take() {
            self.writer.commit(filling);
        }
        is_lost
    }

    /// Lets a source wait for a moment: until it is time to look again, or to close the open
    /// append.
    pub(super) fn rest(&mut self) {
        self.commit_if_old();
        let now = self.writer.clock().now();
        let mut wait_ns = LOOK_NS;
        if self.filled_bytes() > 0 {
            let age_ns = now.since_ns(self.filling_since);
            wait_ns = wait_ns.min(self.setup.linger_ns.saturating_sub(age_ns));
        }
        self.writer.clock().wait_until(now + wait_ns.max(1));
    }
}
