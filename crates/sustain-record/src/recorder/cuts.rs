//! Where one recording ends and the next begins in the messages of the streams. Each stream cuts by
//! itself, a moment before or after the others. What it sends behind its cut is held until all of
//! them have cut, because it belongs to the next recording.

use std::collections::VecDeque;

use super::inlet::Offered;
use super::message::RecorderMessage;

/// The place of one stream.
#[derive(Debug, Clone, Copy)]
struct CutPlace {
    /// Whether its source has not ended.
    is_open: bool,
    /// What its source had offered where it was cut, if it was.
    cut_at: Option<Offered>,
    /// The same where this recording began.
    base: Offered,
}

/// The cuts of all streams of a recording.
pub(super) struct StreamCuts {
    places: Vec<CutPlace>,
    /// Messages of the next recording.
    held: VecDeque<RecorderMessage>,
    /// Messages of this one that were held while the one before ended.
    due: VecDeque<RecorderMessage>,
}

impl StreamCuts {
    pub(super) fn new(streams: usize) -> StreamCuts {
        let place = CutPlace {
            is_open: true,
            cut_at: None,
            base: Offered::default(),
        };
        StreamCuts {
            places: vec![place; streams],
            held: VecDeque::new(),
            due: VecDeque::new(),
        }
    }

    /// The next message that was held and is due now.
    pub(super) fn take_due(&mut self) -> Option<RecorderMessage> {
        self.due.pop_front()
    }

    /// Returns a message that belongs to this recording, and holds any other one.
    pub(super) fn sort(&mut self, message: RecorderMessage) -> Option<RecorderMessage> {
        if self.places[message.stream()].cut_at.is_none() {
            return Some(message);
        }
        self.held.push_back(message);
        None
    }

    /// Notes that a stream was cut.
    pub(super) fn cut(&mut self, stream: usize, offered: Offered) {
        self.places[stream].cut_at = Some(offered);
    }

    /// Notes that a stream has ended.
    pub(super) fn ended(&mut self, stream: usize) {
        self.places[stream].is_open = false;
    }

    /// Whether a source may still send something.
    pub(super) fn is_open(&self) -> bool {
        self.places.iter().any(|place| place.is_open)
    }

    /// Whether what any of the streams sends now belongs to the next recording.
    pub(super) fn is_cutting(&self) -> bool {
        self.places.iter().any(|place| place.cut_at.is_some())
    }

    /// Whether this recording has all of its messages, and another one follows.
    pub(super) fn is_whole(&self) -> bool {
        let mut places = self.places.iter();
        places.all(|place| place.cut_at.is_some() || !place.is_open)
            && self.places.iter().any(|place| place.cut_at.is_some())
    }

    /// Begins the next recording. `offered` says what the source of a stream has offered by now,
    /// which is all if it has ended.
    pub(super) fn begin_next(&mut self, offered: impl Fn(usize) -> Offered) {
        for (stream, place) in self.places.iter_mut().enumerate() {
            place.base = place.cut_at.take().unwrap_or_else(|| offered(stream));
        }
        // Of what was due, all was taken before the recording had all of its messages, apart from
        // what was held again.
        let due = std::mem::take(&mut self.due);
        self.due = std::mem::take(&mut self.held);
        self.due.extend(due);
    }

    /// What a stream has offered in this recording, if its source says so much in all recordings.
    pub(super) fn in_recording(&self, stream: usize, offered: Offered) -> Offered {
        let place = &self.places[stream];
        let (end, base) = (place.cut_at.unwrap_or(offered), place.base);
        Offered {
            bytes: end.bytes.saturating_sub(base.bytes),
            lost_bytes: end.lost_bytes.saturating_sub(base.lost_bytes),
            without_memory_bytes: end
                .without_memory_bytes
                .saturating_sub(base.without_memory_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use sustain_disk::driver::Ending;

    use super::*;

    fn offered(bytes: u64) -> Offered {
        Offered {
            bytes,
            ..Offered::default()
        }
    }

    fn cut(stream: u16, bytes: u64) -> RecorderMessage {
        RecorderMessage::Cut {
            stream,
            offered: offered(bytes),
        }
    }

    fn ended(stream: u16) -> RecorderMessage {
        let ending = Ending::Source;
        RecorderMessage::Ended { stream, ending }
    }

    /// Takes a message as the inlet does. Returns whether it belongs to this recording.
    fn take(cuts: &mut StreamCuts, message: RecorderMessage) -> bool {
        match cuts.sort(message) {
            None => false,
            Some(RecorderMessage::Cut { stream, offered }) => {
                cuts.cut(usize::from(stream), offered);
                true
            }
            Some(message) => {
                cuts.ended(message.stream());
                true
            }
        }
    }

    fn take_due(cuts: &mut StreamCuts) -> Vec<bool> {
        let mut taken = Vec::new();
        while !cuts.is_whole()
            && let Some(message) = cuts.take_due()
        {
            taken.push(take(cuts, message));
        }
        taken
    }

    #[test]
    fn what_a_stream_sends_behind_its_cut_waits_for_the_cuts_of_all_others() {
        let mut cuts = StreamCuts::new(2);
        assert!(take(&mut cuts, cut(0, 100)));
        assert!(!cuts.is_whole(), "the other one has not cut");
        assert!(!take(&mut cuts, cut(0, 150)), "this is of the next one");
        assert!(!take(&mut cuts, ended(0)), "and this of the one behind it");
        assert_eq!(cuts.in_recording(0, offered(180)), offered(100));
        assert_eq!(cuts.in_recording(1, offered(7)), offered(7));
        assert!(take(&mut cuts, cut(1, 9)));
        assert!(cuts.is_whole());
        cuts.begin_next(|_| offered(0));
        assert_eq!(take_due(&mut cuts), [true, false], "cut again, then held");
        assert_eq!(cuts.in_recording(0, offered(180)), offered(50));
        assert_eq!(cuts.in_recording(1, offered(10)), offered(1));
        assert!(take(&mut cuts, cut(1, 12)));
        cuts.begin_next(|_| offered(0));
        assert_eq!(take_due(&mut cuts), [true]);
        assert!(!cuts.is_whole() && cuts.is_open());
        assert_eq!(cuts.in_recording(0, offered(180)), offered(30));
    }

    #[test]
    fn a_source_that_has_ended_is_not_waited_for_and_offers_nothing_to_the_next_recording() {
        let mut cuts = StreamCuts::new(2);
        assert!(take(&mut cuts, ended(1)));
        assert!(!cuts.is_whole());
        assert!(take(&mut cuts, cut(0, 100)));
        assert!(cuts.is_whole());
        cuts.begin_next(|_| offered(44));
        assert_eq!(cuts.in_recording(1, offered(44)), offered(0));
        assert!(take(&mut cuts, ended(0)));
        assert!(!cuts.is_whole(), "none follows");
        assert!(!cuts.is_open());
    }
}
