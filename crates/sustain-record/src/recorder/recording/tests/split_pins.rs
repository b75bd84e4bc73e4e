//! Pins of a ring whose time goes on while a recording is split.

use super::splits::fill_on;
use super::*;
use crate::recorder::pinning::PinWish;
use crate::source::synthetic::{Content, seed_of};

#[test]
fn a_pin_whose_time_ends_while_a_split_is_under_way_keeps_what_came_behind_a_cut() {
    let place = Place::new(1, 256 << 10);
    let store = Store::open(&place.members, Mode::Record, &Roots::default()).unwrap();
    let options = RecordOptions {
        buffer_bytes: 16 << 20,
        append_size: AppendSize::Exactly(64 << 10),
        durability: Durability {
            interval_ns: 20_000_000,
            ..Durability::default()
        },
        ring: true,
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(store, ["a", "b"], options).unwrap();
    let mut writers = recorder.writers();
    let board = recorder.board();
    let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
    let from_ns = a.now_ns();
    fill_on(&mut a, 0, 500_000);
    fill_on(&mut b, 0, 500_000);
    let is_settled = |now: &RecordingProgress| {
        let mut streams = now.streams.iter();
        streams.all(|stream| stream.settled_bytes >= 500_000)
    };
    board.wait_for(is_settled, PATIENCE);
    a.cut();
    // In the pin's time, and in the next recording, which begins when the other one has cut.
    fill_on(&mut a, 500_000, 300_000);
    let to_ns = a.now_ns();
    let wish = board.pins().wish(PinWish::Pin { from_ns, to_ns });
    let mut kept = None;
    for step in 0..200 {
        fill_on(&mut b, 500_000 + step * 10_000, 10_000);
        board.wait_for(|_| false, Duration::from_millis(5));
        kept = kept.or_else(|| board.pins().take_outcome(wish));
    }
    assert!(matches!(kept, Some(Ok(Some(_)))), "{kept:?}");
    assert_eq!(board.read().recording, 1);
    b.cut();
    board.wait_for(|standing| standing.recording == 2, PATIENCE);
    // Time enough for the end to be told, and then a lap.
    for step in 0..100 {
        fill_on(&mut a, 800_000 + step * 10_000, 10_000);
        board.wait_for(|_| false, Duration::from_millis(5));
    }
    fill_on(&mut a, 1_800_000, 60_000_000);
    drop((a, b));
    recorder.finish().unwrap();
    let mut store = Store::open(&place.members, Mode::Read, &Roots::default()).unwrap();
    assert!(!store.pins()[0].is_open);
    let found = store.pinned(1).unwrap();
    let second = found.iter().find(|one| one.number == 2);
    let second = second.expect("what came behind the cut is kept");
    let scope = Scope::of(second, &store.members, store.machines(), store.clock());
    let reader = StreamReader::open(&scope, 0, &Range::All).unwrap();
    let bytes = reader.map(|part| match part.unwrap() {
        StreamPart::Data { bytes, .. } => bytes.to_vec(),
        StreamPart::OpenEnd { .. } => Vec::new(),
        other => panic!("{other:?}"),
    });
    let bytes: Vec<u8> = bytes.flatten().collect();
    assert!(bytes.len() >= 300_000, "{}", bytes.len());
    let content = Content::new(seed_of("a"));
    assert_eq!(content.check(500_000, &bytes), None);
}
