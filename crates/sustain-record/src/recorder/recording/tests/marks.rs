//! Marks of users on members that do not answer: another member has them, farther behind.

use sustain_document::control::UserMark;

use super::*;
use crate::reading::user_marks::{MarkLoss, find_marks};

/// Sets a mark as an append by itself.
fn set_mark(writer: &mut StreamWriter, number: u64) {
    let mark = UserMark {
        number,
        time_ns: 0,
        time: String::new(),
        text: format!("mark {number}"),
        streams: Vec::new(),
    };
    let text = serde_json::to_vec(&mark).unwrap();
    let mut filling = writer.lend().unwrap();
    filling.spare_mut()[..text.len()].copy_from_slice(&text);
    filling.take(text.len(), &[PayloadMark::begin(0, 0)], 0);
    writer.commit(filling);
}

#[test]
fn marks_that_another_member_took_later_are_found() {
    let place = Place::new(2, 1 << 20);
    let never = Arc::new(AtomicBool::new(false));
    let patience = Patience {
        slow_after_ns: 500_000_000,
        given_up_after_ns: 1_000_000_000,
    };
    let (recorder, mut writers) = place.record(&["main", MARKS_STREAM], patience, move |request| {
        let is_append = request.operation == Operation::Write && !request.durable;
        match request.target == 0 && is_append {
            true => Answer::Keeps(Arc::clone(&never)),
            false => Answer::AsTheDisk,
        }
    });
    let board = recorder.board();
    let mut marks = writers.pop().unwrap();
    (1..=6).for_each(|number| set_mark(&mut marks, number));
    // Meanwhile the other member begins slot after slot.
    fill(&mut writers[0], 12 << 20);
    let is_settled =
        |now: &RecordingProgress| now.marks.as_ref().is_some_and(|marks| marks.settled == 6);
    assert!(!board.wait_for(is_settled, PATIENCE).is_over);
    fill(&mut writers[0], 14 << 20);
    drop((marks, writers));
    recorder.finish().unwrap();
    // Whoever reads has nothing but the member that did answer.
    let members = &place.members[1..];
    let mut store = Store::open(members, Mode::Read, &Roots::default()).unwrap();
    let found = store.recordings().unwrap();
    let marks = find_marks(&store, &found[0], 1000).unwrap();
    let numbers: Vec<u64> = marks.marks.iter().map(|mark| mark.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6], "{marks:?}");
    assert_eq!(marks.missing_count(MarkLoss::NotFound), 0);
}
