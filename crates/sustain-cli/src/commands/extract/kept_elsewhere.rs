//! Which pins keep something of a recording that is asked for without them. A ring may have
//! overwritten all else of it.

use sustain::record::opening::Recording;
use sustain::record::reading::readable::FoundOfPin;
use sustain::record::reading::user_marks::{FoundMarks, MarkLoss};
use sustain::record::store::Store;

use super::selection::Selection;
use crate::flags::extract::ExtractFlags;
use crate::usage_error::UsageError;

/// The pins that keep something of the recording that is asked for.
#[derive(Default)]
pub(super) struct KeptElsewhere {
    recording: u32,
    pins: Vec<u32>,
}

impl KeptElsewhere {
    /// Looks at the pins of a store, unless one is asked for. A pin that cannot be looked at, or
    /// was freed just now, is no help.
    pub(super) fn of(
        flags: &ExtractFlags,
        store: &mut Store,
        newest_first: &[Recording],
    ) -> KeptElsewhere {
        let newest = newest_first.first().map(|newest| newest.number);
        let (None, Some(recording)) = (flags.pin, flags.recording.or(newest)) else {
            return KeptElsewhere::default();
        };
        let numbers = store.pins().into_iter().map(|pin| pin.number);
        let keeps = |number: &u32| {
            let found = store.pinned(*number).map(|kept| FoundOfPin::of(&kept));
            found.is_ok_and(|found| found.recordings.contains(&recording))
        };
        KeptElsewhere {
            recording,
            pins: numbers.filter(keeps).collect(),
        }
    }

    /// Adds the pins to the reason why nothing of the recording is there.
    pub(super) fn add_to(&self, error: UsageError, recordings: &[Recording]) -> UsageError {
        let is_there = recordings.iter().any(|one| one.number == self.recording);
        match self.words("Pin").filter(|_| !is_there) {
            Some(words) => UsageError(format!("{}. {words}", error.0)),
            None => error,
        }
    }

    /// Adds the pins to the reason why a mark is not there, if a ring has overwritten marks.
    pub(super) fn add_to_lost_mark(&self, why: String, found: &FoundMarks) -> String {
        let is_overwritten = found.missing_count(MarkLoss::Overwritten) > 0;
        match self.words("Pin").filter(|_| is_overwritten) {
            Some(words) => format!("{why}. {words}"),
            None => why,
        }
    }

    /// What is said before a stream is read of which a ring has overwritten some.
    pub(super) fn notice(&self, selection: &Selection<'_>) -> Option<String> {
        let is_overwritten = selection.stream.readable_from_bytes > 0;
        self.words("pin").filter(|_| is_overwritten)
    }

    /// A sentence that begins with this word for a pin.
    fn words(&self, pin: &str) -> Option<String> {
        let numbers: Vec<String> = self.pins.iter().map(u32::to_string).collect();
        let (pins, keep) = match &numbers[..] {
            [] => return None,
            [number] => (format!("{pin} {number}"), "keeps"),
            _ => (format!("{pin}s {}", numbers.join(", ")), "keep"),
        };
        Some(format!(
            "{pins} {keep} something of recording {number}: --recording {number} --pin {} gives it",
            numbers.join(" or "),
            number = self.recording,
        ))
    }
}
