//! Start and end marks that were durable on a member and are not found there any more, and the
//! words for them: whoever tells of them says the same.

use super::StreamExtent;
use crate::format::AppendPlace;

const END_IS_LOST: &str = "its end mark is damaged or lost: the superblock says that the recording \
     ended in order. What was recorded last there may be lost with it";
const LAST_IS_LOST: &str = "its last append there is damaged or lost, most likely its end mark: \
     the start of the next recording names it";
const BEFORE_IS_LOST: &str = "the append before its start, which the start names, is damaged or \
     lost, and with it all that is known there of the recording before";
const RECORDING_IS_LOST: &str = "its start says that a recording before it ended in order in this \
     slot, and nothing of that recording is found there";

impl StreamExtent {
    /// Where marks were on this member that are lost, and how that is known. What a power cut may
    /// have left half written over in a ring is none of them.
    pub fn lost_marks(&self) -> impl Iterator<Item = (AppendPlace, &'static str)> {
        let unless_overwritten =
            |place: Option<AppendPlace>| place.filter(|_| !self.end_is_overwritten);
        let marks = [
            (unless_overwritten(self.lost_end), END_IS_LOST),
            (unless_overwritten(self.lost_last), LAST_IS_LOST),
            (self.lost_before, BEFORE_IS_LOST),
            (self.lost_recording, RECORDING_IS_LOST),
        ];
        marks
            .into_iter()
            .filter_map(|(place, why)| Some((place?, why)))
    }
}
