//! Carries requests out: reads the board, passes on wishes, sets marks. Nothing here waits for the
//! recorder.

use std::sync::{Arc, Weak};

use sustain_document::control::{ControlAnswer, ControlRequest, RecordingSplit};
use sustain_targets::Stop;

use super::rates::RateHistory;
use super::shown::ShownState;
use crate::document::status_line;
use crate::recorder::{
    MarkKeeper, MemberStanding, MemberState, RecordingBoard, RecordingProgress, SplitSwitch,
};

/// Why nothing more can be commanded.
pub(super) const OVER: &str = "the recording has ended, or ends now";

/// A stream with a long frame is cut within so long.
const SPLIT_S_MAX: f64 = 2.0;
/// Slots in which the recording behind a split should be able to go on.
const SLOTS_TO_GO_ON: u64 = 2;

/// What a client waits for that has asked for something that takes a while: the end of the
/// recording of this number, or the outcome of this wish. `None` until it is its turn.
pub(super) type Awaited = Option<u32>;

/// Who carries requests out.
pub(super) struct Commander {
    pub(super) board: Arc<RecordingBoard>,
    pub(super) shown: Arc<ShownState>,
    pub(super) stop: Stop,
    /// Gone when all sources have ended.
    pub(super) marks: Weak<MarkKeeper>,
    pub(super) rates: RateHistory,
    pub(super) split: SplitSwitch,
    /// The recording that was last wished to end where the next one begins.
    pub(super) splitting: Option<u32>,
    pub(super) slot_bytes: u32,
}

impl Commander {
    /// Looks at the recording, so that rates can be told later.
    pub(super) fn look(&mut self) {
        self.rates.see(self.board.read());
    }

    /// Carries a request out. Returns `None` if it is to be asked again, with what it awaits.
    pub(super) fn answer(
        &mut self,
        request: &ControlRequest,
        awaited: &mut Awaited,
    ) -> Option<ControlAnswer> {
        Some(match request {
            ControlRequest::Split {} => return self.split(awaited),
            ControlRequest::Pin { .. } | ControlRequest::Unpin { .. } => {
                return self.change_pins(request, awaited);
            }
            ControlRequest::Status {} => {
                let standing = self.shown.complete(self.board.read());
                ControlAnswer {
                    status: Some(status_line(&standing)),
                    ..ControlAnswer::done()
                }
            }
            ControlRequest::Rate {} => {
                self.look();
                ControlAnswer {
                    rate: self.rates.rates(),
                    ..ControlAnswer::done()
                }
            }
            ControlRequest::Pause {} => self.pause(true),
            ControlRequest::Resume {} => self.pause(false),
            ControlRequest::Stop {} => {
                self.stop.interrupt();
                ControlAnswer::done()
            }
            ControlRequest::Mark { text } => match self.marks.upgrade() {
                None => ControlAnswer::refused(OVER),
                Some(marks) => match marks.set(text) {
                    Ok(mark) => ControlAnswer {
                        mark: Some(mark),
                        ..ControlAnswer::done()
                    },
                    Err(why) => ControlAnswer::refused(why),
                },
            },
        })
    }

    /// Ends the recording where the next one begins. One at a time: who asks for another one
    /// meanwhile has its turn behind it.
    fn split(&mut self, awaited: &mut Awaited) -> Option<ControlAnswer> {
        let standing = self.board.read();
        if let Some(ended) = *awaited {
            return self.split_outcome(ended, &standing);
        }
        let is_ending = self.stop.reason().is_some() || standing.is_over;
        if is_ending || self.marks.strong_count() == 0 {
            return Some(ControlAnswer::refused(OVER));
        }
        if self.splitting == Some(standing.recording) {
            return None;
        }
        if let Some(why) = self.split_refusal(&standing) {
            return Some(ControlAnswer::refused(why));
        }
        self.splitting = Some(standing.recording);
        *awaited = Some(standing.recording);
        self.split.wish();
        None
    }

    /// What has become of the wish that this recording ends and the next one begins; `None` before
    /// that is certain. The next one has begun when it can be found on the store.
    fn split_outcome(&self, ended: u32, standing: &RecordingProgress) -> Option<ControlAnswer> {
        let recording = ended.saturating_add(1);
        if standing.recording < recording {
            return None;
        }
        if self.board.begun() >= recording {
            return Some(ControlAnswer {
                split: Some(RecordingSplit { ended, recording }),
                ..ControlAnswer::done()
            });
        }
        standing.is_over.then(|| {
            ControlAnswer::refused(format!(
                "recording {ended} has ended, but recording {recording} could not begin, because \
                 no member takes it: what comes now is lost, and the result says why"
            ))
        })
    }

    /// Why no other recording can follow this one now.
    fn split_refusal(&self, standing: &RecordingProgress) -> Option<String> {
        let mut members = standing.members.iter();
        if let Some(failed) = members.find(|member| member.state == MemberState::Failed) {
            return Some(format!(
                "{} has failed, and a recording begins on all members of its store: this one goes \
                 on without it, and nothing was split",
                failed.name
            ));
        }
        let mut members = standing.members.iter();
        if let Some(slow) = members.find(|member| member.state == MemberState::Slow) {
            return Some(format!(
                "{} does not answer, and the end of a recording waits for its members: this one \
                 goes on, and nothing was split. Ask again when `status` says that it is active",
                slow.name
            ));
        }
        let slot_bytes = u64::from(self.slot_bytes);
        let free_slots = free_slots(standing, slot_bytes)?;
        let needed_slots = needed_slots(standing, slot_bytes);
        (free_slots < needed_slots).then(|| {
            let slots = if free_slots == 1 { "slot" } else { "slots" };
            let pins = standing.pins.as_ref();
            let what_to_do = match pins.is_some_and(|pins| !pins.numbers.is_empty()) {
                true => ". Pins keep the others: free one (`unpin`), and ask again",
                false => "",
            };
            format!(
                "the members have {free_slots} free {slots} left, and a split now may take \
                 {needed_slots}: one on each member, and the rest for what waits and arrives \
                 meanwhile. Nothing was split, and this recording goes on{what_to_do}"
            )
        })
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

/// The free slots of all members; `None` where some member goes round for ever.
fn free_slots(standing: &RecordingProgress, slot_bytes: u64) -> Option<u64> {
    let slots = |member: &MemberStanding| Some(member.free_bytes? / slot_bytes);
    standing.members.iter().map(slots).sum()
}

/// The slots that a split may take: one on each member for the next recording, what is not durable
/// yet, what comes until streams with long frames have been cut, and a little to go on in.
fn needed_slots(standing: &RecordingProgress, slot_bytes: u64) -> u64 {
    let streams = standing.streams.iter();
    let (offered, waiting) = streams.fold((0, 0), |(offered, waiting), stream| {
        let unsettled = stream.offered_bytes.saturating_sub(stream.settled_bytes);
        (offered + stream.offered_bytes, waiting + unsettled)
    });
    let rate_bytes_per_s = offered as f64 / standing.time_s.max(1.0);
    let comes_bytes = (rate_bytes_per_s * SPLIT_S_MAX) as u64;
    let appends = (waiting + comes_bytes).div_ceil(slot_bytes);
    standing.members.len() as u64 + appends + SLOTS_TO_GO_ON
}
