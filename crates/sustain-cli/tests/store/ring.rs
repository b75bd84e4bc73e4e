//! A ring that is recorded to, and of which an event is pinned.

use std::ops::Range;
use std::time::Duration;

use sustain::host::Roots;
use sustain::record::store::{Mode, Store};
use sustain::record::{
    AppendSize, MarkKeeper, MemberState, PinKept, PinWish, RecordOptions, Recorder, RecordingBoard,
    RecordingProgress, StreamSetup, StreamWriter,
};

use crate::recorded::{self, AT_MOST, SLOT_BYTES, Stream, content, offer_from};
use crate::support::Place;

pub const MEMBERS: [&str; 2] = ["a", "b"];
/// The bytes of `main` that arrived in the time that is pinned.
pub const EVENT: Range<usize> = 200_000..500_000;
/// The lines of `log` that did, from 0.
pub const EVENT_LINES: Range<usize> = 30..50;
/// All that is recorded of `main`: more than a store of 2 times 2 MiB holds.
pub const ALL_BYTES: usize = 9_000_000;

pub fn lines(numbers: Range<usize>) -> Vec<u8> {
    let lines = numbers.map(|number| format!("line {number:06}\n").into_bytes());
    lines.flatten().collect()
}

/// A ring that is recorded to.
pub struct RunningRing {
    paths: Vec<String>,
    pub recorder: Recorder,
    pub main: StreamWriter,
    log: StreamWriter,
    marks: MarkKeeper,
}

impl RunningRing {
    pub fn begin(place: &Place) -> RunningRing {
        RunningRing::begin_on(place, &MEMBERS, SLOT_BYTES as u32)
    }

    /// The same on these members, in appends of so many bytes.
    pub fn begin_on(place: &Place, members: &[&str], append_bytes: u32) -> RunningRing {
        let path = |member: &&str| place.path(member).to_str().unwrap().to_owned();
        let paths: Vec<String> = members.iter().map(path).collect();
        let store = Store::open(&paths, Mode::Record, &Roots::default()).unwrap();
        let setups = [("main", "none"), ("log", "lines"), ("marks", "marks")];
        let setups = setups.map(|(name, framing)| StreamSetup {
            name: name.to_owned(),
            framing: framing.to_owned(),
            source: None,
        });
        let options = RecordOptions {
            buffer_bytes: 8 << 20,
            append_size: AppendSize::Exactly(append_bytes),
            ring: true,
            ..RecordOptions::default()
        };
        let mut recorder = Recorder::start(store, setups, options).unwrap();
        let marks = recorder.writer("marks").unwrap();
        RunningRing {
            paths,
            main: recorder.writer("main").unwrap(),
            log: recorder.writer("log").unwrap(),
            marks: MarkKeeper::new(marks, recorder.board()),
            recorder,
        }
    }

    pub fn give(&mut self, main: &[u8], log: &[u8]) {
        let (main, log) = (
            Stream::plain("main", main),
            Stream::framed("log", "lines", log),
        );
        let now_ns = self.main.now_ns();
        offer_from(&mut self.main, &main, now_ns, 0);
        offer_from(&mut self.log, &log, now_ns, 1000);
        let offered = [self.main.offered_bytes(), self.log.offered_bytes()];
        let settled = self.recorder.board().wait_for(
            |now| (0..2).all(|stream| now.streams[stream].settled_bytes >= offered[stream]),
            AT_MOST,
        );
        assert!(settled.streams[0].settled_bytes >= offered[0]);
    }

    /// Records what came before an event, the event, and pins the event.
    pub fn pin_event(&mut self) -> PinKept {
        self.pin_event_with(&lines(EVENT_LINES))
    }

    /// The same, with these lines in it.
    pub fn pin_event_with(&mut self, event_lines: &[u8]) -> PinKept {
        let all = content(EVENT.end);
        self.give(&all[..EVENT.start], &lines(0..EVENT_LINES.start));
        let from_ns = self.main.now_ns() + 1;
        self.marks.set("door").unwrap();
        self.give(&all[EVENT], event_lines);
        let to_ns = self.main.now_ns().max(from_ns);
        pinned(&self.recorder.board(), PinWish::Pin { from_ns, to_ns })
    }

    /// Records on until the end of the pin is told, and then until the ring has gone round more
    /// than once.
    pub fn go_round(&mut self) {
        let mut given = EVENT.end;
        let all = content(ALL_BYTES);
        while open_pins(&self.paths) > 0 {
            self.give(&all[given..given + 1000], b"");
            given += 1000;
        }
        self.give(&all[given..], &lines(EVENT_LINES.end..90));
    }

    /// Deletes the file of a member, and waits until that has failed.
    pub fn lose(&mut self, member: usize) {
        std::fs::remove_file(self.paths.remove(member)).unwrap();
        self.give(b"", &lines(0..1));
        let has_failed = |now: &RecordingProgress| now.members[member].state == MemberState::Failed;
        let now = self.recorder.board().wait_for(has_failed, AT_MOST);
        assert!(has_failed(&now), "{now:?}");
    }

    pub fn end(self) {
        drop((self.main, self.log, self.marks));
        self.recorder.finish().unwrap();
    }
}

/// How many pins keep all that comes.
fn open_pins(paths: &[String]) -> usize {
    let store = Store::open(paths, Mode::Read, &Roots::default()).unwrap();
    store.pins().iter().filter(|pin| pin.is_open).count()
}

/// What is kept since a wish was carried out.
pub fn pinned(board: &RecordingBoard, wish: PinWish) -> PinKept {
    carried_out(board, wish).unwrap()
}

/// Frees a pin.
pub fn freed(board: &RecordingBoard, number: u32) {
    assert_eq!(carried_out(board, PinWish::Unpin { number }), None);
}

fn carried_out(board: &RecordingBoard, wish: PinWish) -> Option<PinKept> {
    let number = board.pins().wish(wish);
    for _ in 0..12_000 {
        if let Some(outcome) = board.pins().take_outcome(number) {
            return outcome.unwrap();
        }
        // Whatever is shown next, it is a while later.
        board.wait_for(|_| false, Duration::from_millis(10));
    }
    panic!("it is not answered");
}

/// A ring of which an event is pinned, and which has gone round since.
pub fn ring_with_pin() -> Place {
    let place = Place::new();
    pin_in_ring(&place);
    place
}

/// The beginning of a line that goes on arriving behind the time that is pinned.
pub const CUT_LINE: &[u8] = b"line 00";
/// What is said of it.
pub const CUT_NOTICE: &str = "pin 1 keeps only the first 7 bytes of frame 50 of recording 1, stream \
                              log, so the frame is left out";

/// A ring of which an event is pinned, the last line of which is cut off where the pin ends.
pub fn pin_in_ring_with_cut_line(place: &Place) {
    recorded::create(place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(place);
    ring.pin_event_with(&[&lines(EVENT_LINES)[..], CUT_LINE].concat());
    ring.go_round();
    ring.end();
}

/// The same in this place.
pub fn pin_in_ring(place: &Place) {
    recorded::create(place, &MEMBERS, "2MiB");
    let mut ring = RunningRing::begin(place);
    assert_eq!(ring.pin_event().number, 1);
    ring.go_round();
    ring.end();
}
