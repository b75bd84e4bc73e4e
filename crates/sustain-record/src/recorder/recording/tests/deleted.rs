//! Members whose file is deleted: what goes to one is lost when the recorder ends, and neither a
//! write nor a flush says so.

use std::fs::remove_file;
use std::os::fd::AsRawFd;

use super::*;

fn opened(names: &[String]) -> Store {
    Store::open(names, Mode::Record, &Roots::default()).unwrap()
}

fn plain() -> Vec<StreamSetup> {
    vec![StreamSetup::plain("one")]
}

#[test]
fn a_member_that_is_deleted_before_the_first_byte_is_refused() {
    let place = Place::new(2, 1 << 20);
    let store = opened(&place.members);
    remove_file(&place.members[1]).unwrap();
    let refused = Recorder::start(store, plain(), RecordOptions::default()).map(drop);
    let error = refused.unwrap_err();
    assert!(error.is_usage(), "{error}");
    let told = error.to_string();
    assert!(told.starts_with(&place.members[1]), "{told}");
    assert!(told.contains("deleted"), "{told}");
}

#[test]
fn a_member_that_never_had_a_name_is_recorded_to() {
    let place = Place::new(1, 1 << 20);
    let name = &place.members[0];
    let file = std::fs::File::open(name).unwrap();
    remove_file(name).unwrap();
    let store = opened(&[format!("/proc/self/fd/{}", file.as_raw_fd())]);
    let mut recorder = Recorder::start(store, plain(), RecordOptions::default()).unwrap();
    let mut one = recorder.writer("one").unwrap();
    fill(&mut one, 1 << 20);
    drop(one);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.standing.members[0].error, None);
    assert_eq!(recorded.standing.streams[0].durable_bytes, 1 << 20);
}

#[test]
fn a_write_to_a_deleted_file_is_not_durable_where_each_is_to_be() {
    let place = Place::new(1, 1 << 20);
    let name = place.members[0].clone();
    let delete = move |request: &Request| {
        if is_data(request) {
            let _ = remove_file(&name);
        }
        Answer::AsTheDisk
    };
    let options = RecordOptions {
        durability: Durability {
            each: true,
            ..Durability::default()
        },
        ..RecordOptions::default()
    };
    let superblocks = SuperblockWriter {
        open_io: Box::new(Store::io),
        patience: options.patience,
    };
    let open_engine = open_faulty(delete);
    let store = opened(&place.members);
    let mut recorder =
        Recorder::start_on(store, plain(), options, open_engine, superblocks).unwrap();
    let mut one = recorder.writer("one").unwrap();
    fill(&mut one, 100_000);
    drop(one);
    let recorded = recorder.finish().unwrap();
    let stream = &recorded.standing.streams[0];
    assert_eq!((stream.durable_bytes, stream.gap_bytes), (0, 100_000));
    assert_eq!(recorded.standing.members[0].state, MemberState::Failed);
}

#[test]
fn a_member_that_is_deleted_while_another_ends_has_failed() {
    let place = Place::new(2, 1 << 20);
    let returns = Arc::new(AtomicBool::new(false));
    let kept = Arc::clone(&returns);
    let is_ending = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_ending);
    // One end mark follows the other, in any order: the second one is kept.
    let mut ends_begun = 0;
    let keep = move |request: &Request| {
        let is_mark = request.operation == Operation::Write && request.durable;
        ends_begun += u32::from(is_mark && ends.load(Ordering::SeqCst));
        match ends_begun {
            2 => Answer::Keeps(Arc::clone(&kept)),
            _ => Answer::AsTheDisk,
        }
    };
    let (recorder, mut writers) = place.record(&["one"], Patience::default(), keep);
    let board = recorder.board();
    // A member whose start takes long leaves the first appends to the other one, and whichever ends
    // first is to have something to lose. One append at a time goes to the emptier one.
    let mut filled_bytes = 0;
    loop {
        filled_bytes += 256 << 10;
        fill(&mut writers[0], filled_bytes);
        let durable =
            |standing: &RecordingProgress| standing.streams[0].durable_bytes == filled_bytes;
        let standing = board.wait_for(durable, PATIENCE);
        assert!(durable(&standing));
        if standing.members.iter().all(|member| member.bytes > 0) {
            break;
        }
    }
    is_ending.store(true, Ordering::SeqCst);
    drop(writers);
    let ended = |standing: &RecordingProgress| {
        let mut members = standing.members.iter();
        members.position(|member| member.state == MemberState::Closed)
    };
    let standing = board.wait_for(|standing| ended(standing).is_some(), PATIENCE);
    let index = ended(&standing).unwrap();
    remove_file(&place.members[index]).unwrap();
    let has_failed =
        |standing: &RecordingProgress| standing.members[index].state == MemberState::Failed;
    let standing = board.wait_for(has_failed, PATIENCE);
    assert!(has_failed(&standing) && !standing.is_over);
    returns.store(true, Ordering::SeqCst);
    let standing = recorder.finish().unwrap().standing;
    let (deleted, other) = (&standing.members[index], &standing.members[1 - index]);
    assert!(deleted.lost_bytes > 0);
    let stream = &standing.streams[0];
    assert_eq!(stream.durable_bytes, filled_bytes - deleted.lost_bytes);
    assert!(deleted.error.as_ref().unwrap().contains("was deleted"));
    assert_eq!((other.state, other.lost_bytes), (MemberState::Closed, 0));
}
