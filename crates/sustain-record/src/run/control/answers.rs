//! Carries requests out: reads the board, passes on wishes, sets marks. Nothing here waits for the
//! recorder.

use std::sync::{Arc, Weak};

use sustain_document::control::{ControlAnswer, ControlRequest};
use sustain_targets::Stop;

use super::rates::RateHistory;
use super::shown::ShownState;
use crate::document::status_line;
use crate::recorder::{MarkKeeper, RecordingBoard};

/// Why nothing more can be commanded.
const OVER: &str = "the recording has ended, or ends now";

/// Who carries requests out.
pub(super) struct Commander {
    pub(super) board: Arc<RecordingBoard>,
    pub(super) shown: Arc<ShownState>,
    pub(super) stop: Stop,
    /// Gone when all sources have ended.
    pub(super) marks: Weak<MarkKeeper>,
    pub(super) rates: RateHistory,
}

impl Commander {
    /// Looks at the recording, so that rates can be told later.
    pub(super) fn look(&mut self) {
        self.rates.see(self.board.read());
    }

    pub(super) fn answer(&mut self, request: ControlRequest) -> ControlAnswer {
        match request {
            ControlRequest::Status => {
                let standing = self.shown.complete(self.board.read());
                ControlAnswer {
                    status: Some(status_line(&standing)),
                    ..ControlAnswer::done()
                }
            }
            ControlRequest::Rate => {
                self.look();
                ControlAnswer {
                    rate: self.rates.rates(),
                    ..ControlAnswer::done()
                }
            }
            ControlRequest::Pause => self.pause(true),
            ControlRequest::Resume => self.pause(false),
            ControlRequest::Stop => {
                self.stop.interrupt();
                ControlAnswer::done()
            }
            ControlRequest::Mark { text } => match self.marks.upgrade() {
                None => ControlAnswer::refused(OVER),
                Some(marks) => match marks.set(&text) {
                    Ok(mark) => ControlAnswer {
                        mark: Some(mark),
                        ..ControlAnswer::done()
                    },
                    Err(why) => ControlAnswer::refused(why),
                },
            },
        }
    }

    fn pause(&self, is_wished: bool) -> ControlAnswer {
        let is_ending = self.stop.reason().is_some() || self.board.read().is_over;
        if is_ending || self.marks.strong_count() == 0 {
            return ControlAnswer::refused(OVER);
        }
        match is_wished {
            true => self.shown.pause.pause(),
            false => self.shown.pause.resume(),
        }
        ControlAnswer {
            paused: Some(is_wished),
            ..ControlAnswer::done()
        }
    }
}
