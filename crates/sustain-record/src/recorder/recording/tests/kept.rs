//! Memory that a member keeps because it does not answer. Once its content is durable elsewhere,
//! nothing waits in it, however long it stays away.

use super::*;

/// Appends of 256 KiB in the buffer of these recordings.
const BUFFERS: usize = 16;

/// What can be lent now.
fn lendable(writer: &StreamWriter) -> usize {
    let lent: Vec<_> = std::iter::from_fn(|| writer.try_lend()).collect();
    let give = |filling: crate::recorder::Filling| {
        writer.exchange.pool.give(filling.into_buffer());
    };
    let count = lent.len();
    lent.into_iter().for_each(give);
    count
}

#[test]
fn memory_that_a_silent_member_keeps_waits_for_nobody() {
    let place = Place::new(2, 1 << 20);
    let back = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&back);
    let (recorder, mut writers) = place.record(&["main"], SHORT, move |request| {
        match request.target == 1 && is_data(request) && !until.load(Ordering::SeqCst) {
            true => Answer::Keeps(Arc::clone(&until)),
            false => Answer::AsTheDisk,
        }
    });
    fill(&mut writers[0], 8 << 20);
    let board = recorder.board();
    let all = |standing: &RecordingProgress| standing.streams[0].durable_bytes == 8 << 20;
    board.wait_for(all, PATIENCE);
    let nothing_waits = |standing: &RecordingProgress| standing.buffer_fill == 0.0;
    let standing = board.wait_for(nothing_waits, PATIENCE);
    assert_eq!(standing.members[1].state, MemberState::Slow);
    assert_eq!(standing.buffer_fill, 0.0);
    assert_eq!(recorder.gauge().used_bytes(), 0);
    let left = lendable(&writers[0]);
    assert!(left < BUFFERS, "it keeps some");
    let usable_bytes = recorder.gauge().usable_bytes();
    assert_eq!(usable_bytes, (left as u64) * (256 << 10));
    back.store(true, Ordering::SeqCst);
    let is_back = |standing: &RecordingProgress| standing.members[1].state == MemberState::Active;
    board.wait_for(is_back, PATIENCE);
    drop(writers);
    let gauge = recorder.gauge();
    recorder.finish().unwrap();
    assert_eq!(gauge.usable_bytes(), 4 << 20, "it has come back");
}

#[test]
fn memory_that_was_given_up_with_its_member_is_not_missed_in_the_next_recording() {
    let place = Place::new(2, 1 << 20);
    let never = Arc::new(AtomicBool::new(false));
    let (recorder, mut writers) = place.record(&["main"], SHORT, move |request| {
        let is_append = request.operation == Operation::Write && !request.durable;
        match request.target == 1 && is_append {
            true => Answer::Keeps(Arc::clone(&never)),
            false => Answer::AsTheDisk,
        }
    });
    let board = recorder.board();
    fill(&mut writers[0], 2 << 20);
    writers[0].cut();
    board.wait_for(|standing| standing.recording == 2, PATIENCE);
    fill(&mut writers[0], 2 << 20);
    let nothing_waits = |standing: &RecordingProgress| {
        standing.streams[0].durable_bytes == 2 << 20 && standing.buffer_fill == 0.0
    };
    let standing = board.wait_for(nothing_waits, PATIENCE);
    assert_eq!(standing.buffer_fill, 0.0);
    assert_eq!(recorder.gauge().used_bytes(), 0);
    assert!(lendable(&writers[0]) < BUFFERS, "it keeps some");
    drop(writers);
    recorder.finish().unwrap();
}
