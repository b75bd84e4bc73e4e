//! Stretches of a ring that are pinned: who asks for them, and the check of what they keep.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use sustain_disk::clock::{Timestamp, UnixClock};
use sustain_record::format::Kind;
use sustain_record::reading::parts::Parts;
use sustain_record::reading::scope::Scope;
use sustain_record::recorder::{MemberState, PinWish, RecordingBoard};
use sustain_record::store::Store;

use crate::bench::Bench;
use crate::check::{Given, ReadBack, View};
use crate::history::{AckedPin, AckedPins, Append, History, PinsMet, Recorded};
use crate::plan::{PinKind, PinPlan};
use crate::spans::Spans;

/// Asks for pins while a recording runs, and notes which are acknowledged.
#[derive(Default)]
pub struct PinWisher {
    start: Timestamp,
    plans: VecDeque<PinPlan>,
    /// Wishes that were handed in.
    wished: Vec<u32>,
    acked: AckedPins,
    met: PinsMet,
}

impl PinWisher {
    pub fn new(plans: &[PinPlan], start: Timestamp, history: &History) -> PinWisher {
        PinWisher {
            start,
            plans: plans.iter().copied().collect(),
            wished: Vec::new(),
            acked: Rc::clone(&history.pins),
            met: Rc::clone(&history.pins_met),
        }
    }

    pub fn go_on(&mut self, board: &Arc<RecordingBoard>, now: Timestamp, unix_clock: UnixClock) {
        let desk = board.pins();
        let meet = |what: &'static str| {
            self.met.borrow_mut().insert(what);
        };
        let has_failed = || {
            let members = board.read().members;
            members.iter().any(|one| one.state == MemberState::Failed)
        };
        self.wished.retain(|wish| {
            let outcome = desk.take_outcome(*wish);
            match &outcome {
                None => {}
                Some(Ok(Some(_))) if has_failed() => meet("pin is set beside one that failed"),
                Some(Ok(Some(_))) => meet("pin is set"),
                Some(Ok(None)) => meet("pin is freed"),
                Some(Err(why)) => meet(refusal(why)),
            }
            if let Some(Ok(Some(kept))) = &outcome {
                self.acked.borrow_mut().push(AckedPin {
                    number: kept.number,
                    from_ns: kept.from_ns,
                    to_ns: kept.to_ns,
                    is_freed: false,
                    last_recording: None,
                });
            }
            outcome.is_none()
        });
        let is_due = |plan: &PinPlan| now >= self.start + plan.at_ns;
        while self.plans.front().is_some_and(is_due)
            && let Some(plan) = self.plans.pop_front()
        {
            let now_ns = unix_clock.unix_ns(now);
            let wish = match plan.what {
                PinKind::Pin {
                    before_ns,
                    after_ns,
                } => PinWish::Pin {
                    from_ns: now_ns - before_ns as i64,
                    to_ns: now_ns + after_ns as i64,
                },
                PinKind::Unpin(place) => {
                    let mut acked = self.acked.borrow_mut();
                    let mut set = acked.iter_mut().filter(|pin| !pin.is_freed);
                    let Some(pin) = set.nth(place) else { continue };
                    pin.is_freed = true;
                    PinWish::Unpin { number: pin.number }
                }
            };
            self.wished.push(desk.wish(wish));
        }
    }
}

/// Which refusal this is.
fn refusal(why: &str) -> &'static str {
    let known = [
        ("has failed", "pin is refused: a member has failed"),
        (
            "does not answer",
            "pin is refused: a member does not answer",
        ),
        (
            "failed meanwhile",
            "pin is taken back: a member failed meanwhile",
        ),
        ("all of that is gone", "pin is refused: all of it is gone"),
        ("to go on in", "pin is refused: it leaves too little"),
        ("at most 16 pins", "pin is refused: there are too many"),
        ("there is no pin", "pin is refused: there is none to free"),
        ("has ended", "pin is refused: the recording ends"),
        (
            "nothing is recorded yet",
            "pin is refused: nothing is recorded yet",
        ),
    ];
    let found = known.iter().find(|(words, _)| why.contains(words));
    found.map_or_else(|| panic!("an unknown refusal: {why}"), |(_, met)| met)
}

impl Bench {
    /// Frees all pins where they leave a ring too little, as its user has to.
    pub fn make_room(&mut self, store: &mut Store) {
        let is_tight = store
            .members
            .iter()
            .zip(&store.tails)
            .any(|(member, tail)| {
                let course = member.superblock.course();
                course.free_slots(tail.next_slot_serial) < 4
            });
        if !is_tight {
            return;
        }
        for pin in store.pins() {
            self.struck.push("pins leave no room");
            store.free_pin(pin.number).expect("it is there");
        }
        for pin in self.history.borrow().pins.borrow_mut().iter_mut() {
            pin.is_freed = true;
        }
    }
}

/// The bytes of each stream of each recording that were appended before this time. What is appended
/// once more later, because a member was slow or failed, is not what came in the time of a pin.
fn arrived_before(history: &History, time_ns: i64) -> BTreeMap<(usize, u16), u64> {
    let mut arrived: BTreeMap<(usize, u16), u64> = BTreeMap::new();
    let is_before = |append: &&Append| append.kind == Kind::Data && append.made_time_ns < time_ns;
    for append in history.appends.iter().filter(is_before) {
        let end = arrived
            .entry((append.recording, append.stream))
            .or_default();
        *end = append.payload.end.max(*end);
    }
    arrived
}

/// Checks that members tell the same ends of pins, where each of them took part in all that is
/// recorded up to its end.
fn check_ends(history: &History, store: &Store) {
    let has_ended = |one: &Recorded| one.result.is_some() && one.failed.is_empty();
    if !history.recordings.iter().all(has_ended) {
        return;
    }
    let ends = store.members.iter().map(|member| {
        let pins = member.superblock.pins.iter();
        let set = pins.filter(|pin| pin.is_set());
        let ends = set.map(|pin| (pin.number, pin.end_slot.map(|_| pin.end_sequence)));
        ends.collect::<BTreeMap<_, _>>()
    });
    let ends: Vec<_> = ends.collect();
    let is_first = |other: &BTreeMap<_, _>| *other == ends[0];
    assert!(ends.iter().all(is_first), "ends of pins differ: {ends:?}");
}

/// Checks that what acknowledged pins keep comes back, however far the ring has gone on.
/// Where something was damaged or a member is missing, that is so of each that `verify` calls whole.
pub fn check_pins(history: &History, store: &mut Store, given: Given, whole: &[u32]) {
    if given.is_untouched {
        check_ends(history, store);
    }
    let is_owed = |pin: &AckedPin| given.is_untouched || whole.contains(&pin.number);
    check_kept(history, store, given, &is_owed, &|_| true);
}

/// Checks that of what acknowledged pins keep all below these watermarks of the streams of each
/// recording comes back, beside members that are gone or were rebuilt.
pub fn check_pins_below(
    history: &History,
    store: &mut Store,
    watermarks: &dyn Fn(&Recorded) -> Vec<u64>,
) {
    let given = Given {
        missing: None,
        is_untouched: false,
    };
    let watermarks: Vec<Vec<u64>> = history.recordings.iter().map(watermarks).collect();
    let counts = |append: &Append| {
        append.payload.end <= watermarks[append.recording][usize::from(append.stream)]
    };
    check_kept(history, store, given, &|_| true, &counts);
}

/// Checks what acknowledged pins keep, of those appends that count.
fn check_kept(
    history: &History,
    store: &mut Store,
    given: Given,
    is_owed: &dyn Fn(&AckedPin) -> bool,
    counts: &dyn Fn(&Append) -> bool,
) {
    let mut met = history.pins_met.borrow_mut();
    for pin in history.pins.borrow().iter().filter(|pin| !pin.is_freed) {
        met.insert("pin is checked");
        let number = pin.number;
        let is_owed = is_owed(pin);
        let pinned = store.pinned(number).expect("what is acknowledged is there");
        let arrived_before = arrived_before(history, pin.from_ns);
        let mut owed: BTreeMap<(usize, u16), Spans> = BTreeMap::new();
        let kept = history
            .appends
            .iter()
            .filter(|append| append.durable_at.is_some() && !append.is_gone && pin.keeps(append))
            .filter(|append| counts(append));
        for append in kept {
            if append.is_passed {
                met.insert("pin keeps what the ring has passed");
            }
            let stream = (append.recording, append.stream);
            let arrived = arrived_before.get(&stream).copied().unwrap_or(0);
            let payload = append.payload.start.max(arrived)..append.payload.end.max(arrived);
            owed.entry(stream).or_default().add(payload);
        }
        for (index, recorded) in history.recordings.iter().enumerate() {
            let view = View {
                history,
                index,
                recorded,
                given,
            };
            let mut of_recording = owed.iter().filter(|((of, _), _)| *of == index);
            let Some(recording) = pinned.iter().find(|one| one.id == recorded.id) else {
                let left = of_recording.find(|(_, spans)| !spans.is_empty());
                assert!(
                    left.is_none() || !is_owed,
                    "pin {number} lacks recording {index}: {left:?}"
                );
                continue;
            };
            let count = recorded.streams.len();
            assert_eq!(recording.streams.len(), count, "pin {number}: streams");
            let scope = Scope::of(recording, &store.members, store.machines(), store.clock());
            let mut streams: Vec<ReadBack> = (0..count).map(|_| ReadBack::default()).collect();
            let parts = Parts::open(&scope, &scope.all(0..count as u16)).expect("it can be read");
            for item in parts {
                let (stream, part) = item.expect("it can be read");
                view.take(stream, &part, &mut streams[usize::from(stream)]);
            }
            for ((_, stream), spans) in of_recording {
                let read = &streams[usize::from(*stream)];
                if let Some(lost) = spans.first_outside(&read.data).filter(|_| is_owed) {
                    panic!(
                        "{pin:?} keeps {lost:?} of stream {stream} of recording {index}, and it \
                         does not come back (hole {}, gap {}, overwritten {}, end {})",
                        read.holes.has(lost.start),
                        read.gaps.has(lost.start),
                        read.overwritten.has(lost.start),
                        read.end_bytes,
                    );
                }
            }
        }
    }
}
