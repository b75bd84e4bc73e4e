//! Tests the parts of a mount on stores in files, without a kernel that mounts them.

use std::cell::Cell;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

use sustain_host::Roots;
use sustain_record::reading::part::StreamPart;
use sustain_record::recorder::{AppendSize, RecordOptions, Recorder};
use sustain_record::store::{CreatePlan, Mode, Store, create};
use sustain_targets::Stop;

use crate::cursor::{StreamCursor, WantedBytes};
use crate::view::{ShownRecording, StoreReplaced, StoreView, WAITING_MAX};

const STREAM_BYTES: u64 = 5_000_000;
const APPEND_BYTES: u32 = 256 << 10;

/// A store of files in a directory of its own.
struct Place {
    _directory: tempfile::TempDir,
    members: Vec<String>,
}

impl Place {
    /// A store with a recording of one stream.
    fn recorded(members: usize) -> Place {
        let directory = tempfile::tempdir().unwrap();
        let path = |index| directory.path().join(format!("m{index}"));
        let members = (0..members).map(|index| path(index).display().to_string());
        let place = Place {
            members: members.collect(),
            _directory: directory,
        };
        for member in &place.members {
            File::create(member).unwrap().set_len(16 << 20).unwrap();
        }
        place.create();
        let options = RecordOptions {
            buffer_bytes: 4 << 20,
            append_size: AppendSize::Exactly(APPEND_BYTES),
            ..RecordOptions::default()
        };
        let store = place.open(Mode::Record);
        let mut recorder = Recorder::start(store, ["cam"], options).unwrap();
        let mut writer = recorder.writers().pop().unwrap();
        while writer.offered_bytes() < STREAM_BYTES {
            let mut filling = writer.lend().unwrap();
            let left = (STREAM_BYTES - writer.offered_bytes()) as usize;
            let count = left.min(filling.room_bytes());
            filling.spare_mut()[..count].fill(7);
            filling.take(count, &[], writer.now_ns());
            writer.commit(filling);
        }
        drop(writer);
        recorder.finish().unwrap();
        place
    }

    fn create(&self) {
        let plan = CreatePlan {
            members: self.members.clone(),
            size_bytes: None,
            slot_bytes: 1 << 20,
            prewrite: false,
            destroy: self.members.clone(),
            parities: 0,
            same_disk: false,
            dry_run: false,
        };
        create(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap();
    }

    fn open(&self, mode: Mode) -> Store {
        Store::open(&self.members, mode, &Roots::default()).unwrap()
    }
}

fn newest(view: &StoreView) -> Arc<ShownRecording> {
    Arc::clone(view.last().unwrap().last().unwrap())
}

#[test]
fn what_is_shown_stays_the_same_thing_while_nothing_changes() {
    let place = Place::recorded(1);
    let view = StoreView::open(place.open(Mode::Read)).unwrap();
    let before = newest(&view);
    assert!(view.is_still(&before) && view.is_still(&before));
    assert!(Arc::ptr_eq(&newest(&view), &before));
}

#[test]
fn nobody_waits_while_somebody_else_looks_at_the_store() {
    let place = Place::recorded(1);
    let view = StoreView::open(place.open(Mode::Read)).unwrap();
    let before = newest(&view);
    let looking = view.state.lock().unwrap();
    assert!(Arc::ptr_eq(&newest(&view), &before));
    assert!(Arc::ptr_eq(&view.now().unwrap()[0], &before));
    drop(looking);
}

/// Longer than anything here takes. Whoever waits this long would wait for ever.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn a_recording_is_told_of_while_somebody_else_looks_at_the_store() {
    let place = Place::recorded(1);
    let view = Arc::new(StoreView::open(place.open(Mode::Read)).unwrap());
    let shown = newest(&view);
    let told = view.document(&shown).unwrap();
    assert_eq!(told.as_ref().map(|told| told.recordings.len()), Some(1));
    let looking = view.state.lock().unwrap();
    let (answer, answered) = channel();
    let asked = Arc::clone(&view);
    std::thread::spawn(move || {
        let documents = [asked.document(&shown), asked.document_of_late(&shown)];
        answer.send(documents.map(Result::unwrap)).unwrap();
    });
    let answers = answered
        .recv_timeout(PATIENCE)
        .expect("nobody is waited for");
    assert_eq!(answers, [told.clone(), told]);
    drop(looking);
}

#[test]
fn only_so_many_wait_for_one_who_looks_that_others_are_left() {
    let place = Place::recorded(1);
    let view = Arc::new(StoreView::open(place.open(Mode::Read)).unwrap());
    let shown = newest(&view);
    let looking = view.state.lock().unwrap();
    assert_eq!(view.document_of_late(&shown).unwrap(), None);
    let ask = |number: usize| {
        let (view, shown) = (Arc::clone(&view), Arc::clone(&shown));
        std::thread::spawn(move || match number % 2 {
            0 => view.document(&shown).unwrap().is_some(),
            _ => view.is_still(&shown),
        })
    };
    let waiting: Vec<_> = (0..WAITING_MAX).map(ask).collect();
    while view.waiting.load(Ordering::Relaxed) < WAITING_MAX {
        std::thread::yield_now();
    }
    assert_eq!(view.document(&shown).unwrap(), None);
    assert!(!view.is_still(&shown));
    drop(looking);
    for one in waiting {
        assert!(one.join().unwrap());
    }
}

#[test]
fn another_store_on_the_members_is_never_shown() {
    let place = Place::recorded(1);
    let view = StoreView::open(place.open(Mode::Read)).unwrap();
    let before = newest(&view);
    place.create();
    assert!(!view.is_still(&before));
    assert_eq!(view.now().err(), Some(StoreReplaced));
    assert_eq!(view.last().err(), Some(StoreReplaced));
}

#[test]
fn it_is_asked_once_whether_zeros_stand_for_a_lost_part() {
    let mut place = Place::recorded(2);
    place.members.truncate(1);
    let view = StoreView::open(place.open(Mode::Read)).unwrap();
    let shown = newest(&view);
    let asked = Cell::new(0);
    let are_zeros = |_: &StreamPart| {
        asked.set(asked.get() + 1);
        true
    };
    let mut cursor = StreamCursor::default();
    for start in (0..STREAM_BYTES).step_by(5000) {
        let wanted = WantedBytes {
            range: start..start + 5000,
            may_be_short: false,
        };
        let read = cursor.read(&shown, 0, wanted, &are_zeros).unwrap();
        let is_right = |byte: &u8| [0, 7].contains(byte);
        assert!(read.bytes().iter().all(is_right), "{start}");
    }
    // How many of the appends went to the missing member is a matter of time.
    let appends = STREAM_BYTES.div_ceil(u64::from(APPEND_BYTES));
    assert!((1..=appends).contains(&asked.get()), "{}", asked.get());
}
