//! A ring of which a pin keeps all, and whose member does not answer while that is freed.

use super::*;
use crate::recorder::pinning::{PinOutcome, PinWish};

/// The slots of a member begin behind its superblock.
const SLOT_BYTES: u32 = 256 << 10;

/// What became of a wish for a pin, once it is known.
fn pinned(board: &RecordingBoard, wish: PinWish) -> PinOutcome {
    let number = board.pins().wish(wish);
    for _ in 0..12_000 {
        if let Some(outcome) = board.pins().take_outcome(number) {
            return outcome;
        }
        board.wait_for(|_| false, Duration::from_millis(10));
    }
    panic!("nobody answers")
}

#[test]
fn what_waits_for_a_pin_is_written_where_the_member_answers_behind_the_end() {
    let place = Place::of_bytes(1, SLOT_BYTES, 8 << 20);
    let store = Store::open(&place.members, Mode::Record, &Roots::default()).unwrap();
    let options = RecordOptions {
        buffer_bytes: 4 << 20,
        append_size: AppendSize::Exactly(64 << 10),
        ring: true,
        outlasts_pins: true,
        patience: Patience {
            slow_after_ns: 100_000_000,
            ..Patience::default()
        },
        ..RecordOptions::default()
    };
    let (is_silent, answers) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let fault = {
        let (is_silent, answers) = (Arc::clone(&is_silent), Arc::clone(&answers));
        move |request: &Request| {
            let is_superblock = request.offset_bytes < u64::from(SLOT_BYTES);
            let is_write = request.operation == Operation::Write;
            match is_write && is_superblock && is_silent.load(Ordering::SeqCst) {
                true => Answer::Keeps(Arc::clone(&answers)),
                false => Answer::AsTheDisk,
            }
        }
    };
    let superblocks = SuperblockWriter {
        open_io: Box::new(Store::io),
        patience: Patience::default(),
    };
    let streams = vec![StreamSetup::plain("main")];
    let open_engine = open_faulty(fault);
    let recorder = Recorder::start_on(store, streams, options, open_engine, superblocks);
    let mut recorder = recorder.unwrap();
    let mut main = recorder.writer("main").unwrap();
    let board = recorder.board();
    let from_ns = main.now_ns();
    fill(&mut main, 500_000);
    board.wait_for(|now| now.streams[0].settled_bytes >= 500_000, PATIENCE);
    // It goes on for longer than the ring, which comes round to its beginning.
    let to_ns = from_ns + 3_600_000_000_000;
    pinned(&board, PinWish::Pin { from_ns, to_ns }).unwrap();
    let keeps_all =
        |now: &RecordingProgress| now.pins.as_ref().is_some_and(|pins| pins.leave_nothing);
    while !keeps_all(&board.read()) {
        let bytes = main.offered_bytes() + (64 << 10);
        fill(&mut main, bytes);
        board.wait_for(keeps_all, Duration::from_millis(20));
    }
    is_silent.store(true, Ordering::SeqCst);
    // No wish waits for a member that does not answer.
    pinned(&board, PinWish::Unpin { number: 1 }).unwrap();
    let offered_bytes = main.offered_bytes();
    drop(main);
    board.wait_for(|_| false, Duration::from_millis(300));
    answers.store(true, Ordering::SeqCst);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source);
    let stream = &recorded.standing.streams[0];
    assert_eq!((stream.durable_bytes, stream.gap_bytes), (offered_bytes, 0));
}
