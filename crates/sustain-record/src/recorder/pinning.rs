//! Pins of a ring while it is recorded to: where they are asked for, and how far each has come.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A wish of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinWish {
    /// Keep what arrived between these times, in nanoseconds since 1970.
    Pin {
        /// The beginning.
        from_ns: i64,
        /// The end, which may be to come.
        to_ns: i64,
    },
    /// Keep what this pin keeps no longer.
    Unpin {
        /// Its number.
        number: u32,
    },
}

/// What is kept since a wish was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinKept {
    /// The pin's number.
    pub number: u32,
    /// The beginning that was asked for, in nanoseconds since 1970.
    pub asked_from_ns: i64,
    /// From when on all is kept: later than what was asked for if that is gone in part.
    pub from_ns: i64,
    /// Up to when it is kept.
    pub to_ns: i64,
    /// When the ring will have nothing left to write to, at the rate of the last minute, if that is
    /// before the end of the pin is told.
    pub ring_full_ns: Option<i64>,
    /// Whether the end may all the same be told before: the time until it is durable decides.
    pub may_end_first: bool,
}

/// What became of a wish: what is kept, or nothing where a pin was freed; or why not.
pub type PinOutcome = Result<Option<PinKept>, String>;

/// The place where pins are asked for, and where the recorder answers.
#[derive(Debug, Default)]
pub struct PinDesk {
    desk: Mutex<Desk>,
}

#[derive(Debug, Default)]
struct Desk {
    next: u32,
    wishes: VecDeque<(u32, PinWish)>,
    outcomes: BTreeMap<u32, PinOutcome>,
    is_closed: bool,
}

/// Outcomes that nobody has fetched yet, of clients that have gone meanwhile.
const OUTCOMES_KEPT: usize = 256;

impl PinDesk {
    /// Hands in a wish. Returns the number by which its outcome is asked for.
    pub fn wish(&self, wish: PinWish) -> u32 {
        let mut desk = self.lock();
        let number = desk.next;
        desk.next = desk.next.wrapping_add(1);
        match desk.is_closed {
            true => desk.answer(number, Err(over())),
            false => desk.wishes.push_back((number, wish)),
        }
        number
    }

    /// Takes the outcome of a wish, if there is one. What is kept is kept on all members then.
    pub fn take_outcome(&self, number: u32) -> Option<PinOutcome> {
        self.lock().outcomes.remove(&number)
    }

    pub(super) fn take_wish(&self) -> Option<(u32, PinWish)> {
        self.lock().wishes.pop_front()
    }

    pub(super) fn answer(&self, number: u32, outcome: PinOutcome) {
        self.lock().answer(number, outcome);
    }

    /// Nothing more is carried out.
    pub(super) fn close(&self) {
        let mut desk = self.lock();
        desk.is_closed = true;
        while let Some((number, _)) = desk.wishes.pop_front() {
            desk.answer(number, Err(over()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        // What a panic elsewhere leaves here is whole.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    fn answer(&mut self, number: u32, outcome: PinOutcome) {
        self.outcomes.insert(number, outcome);
        if self.outcomes.len() > OUTCOMES_KEPT {
            self.outcomes.pop_first();
        }
    }
}

fn over() -> String {
    "the recording has ended, or ends now, and nothing was pinned or freed".to_owned()
}

/// What the table of pins is being changed for.
#[derive(Debug, Clone, Copy)]
pub(super) enum PinChange {
    Set {
        wish: u32,
        kept: PinKept,
    },
    /// The end of a pin is told.
    Close,
    /// None of a wish: a pin is freed that could not be set on all members.
    Free {
        wish: Option<u32>,
    },
}

/// A pin whose end is open.
#[derive(Debug)]
pub(super) struct OpenPin {
    pub(super) number: u32,
    pub(super) to_ns: i64,
    pub(super) stage: OpenStage,
}

/// How near the end of a pin is to being told.
#[derive(Debug)]
pub(super) enum OpenStage {
    /// Its time has not come.
    Comes,
    /// How far the streams had come then: all below is to be durable, or a gap.
    Placed(Vec<u64>),
    /// That is so, and all was placed before this sequence. The parity of it is to be durable, too.
    Settled(u64),
    /// Appends from this sequence on say so. One of them is to be durable.
    Entered(u64),
}

/// The pins of a recording that change.
#[derive(Debug, Default)]
pub(super) struct Pinning {
    pub(super) changing: Option<PinChange>,
    pub(super) open: Vec<OpenPin>,
    /// Pins that could not be set on all members, and are to be freed on the others.
    pub(super) failed: VecDeque<u32>,
}

impl Pinning {
    pub(super) fn is_changing(&self) -> bool {
        self.changing.is_some() || !self.failed.is_empty()
    }

    /// The same in the recording that follows. What arrived behind the cut of a stream is written
    /// by that one, so an end that was not told yet is found anew there.
    pub(super) fn following(self) -> Pinning {
        let mut open = self.open;
        for pin in &mut open {
            pin.stage = OpenStage::Comes;
        }
        Pinning {
            changing: None,
            open,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wish_has_one_outcome_also_at_the_end() {
        let desk = PinDesk::default();
        let first = desk.wish(PinWish::Unpin { number: 3 });
        let second = desk.wish(PinWish::Unpin { number: 4 });
        assert_eq!(
            desk.take_wish(),
            Some((first, PinWish::Unpin { number: 3 }))
        );
        assert_eq!(desk.take_outcome(first), None);
        desk.answer(first, Ok(None));
        assert_eq!(desk.take_outcome(first), Some(Ok(None)));
        assert_eq!(desk.take_outcome(first), None);
        desk.close();
        assert!(desk.take_outcome(second).unwrap().is_err());
        let late = desk.wish(PinWish::Unpin { number: 3 });
        assert!(desk.take_outcome(late).unwrap().is_err());
        assert_eq!(desk.take_wish(), None);
    }
}
