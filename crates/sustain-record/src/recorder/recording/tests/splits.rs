//! Recordings that follow each other without a break: every byte is in one of them, also where the
//! power is cut between two, a member fails there, or a frame does not end.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::*;
use crate::opening::Recording;
use crate::source::synthetic::{Content, seed_of};

const BYTES: u64 = 1 << 20;

/// Fills a stream with the content of its name, from this position of it on.
pub(super) fn fill_on(writer: &mut StreamWriter, from: u64, bytes: u64) {
    let content = Content::new(seed_of(writer.name()));
    let end = from + bytes;
    let mut position = from;
    while position < end {
        let mut filling = writer.lend().unwrap();
        let count = filling.room_bytes().min((end - position) as usize);
        content.fill(position, &mut filling.spare_mut()[..count]);
        filling.take(count, &[], writer.now_ns());
        writer.commit(filling);
        position += count as u64;
    }
}

/// All bytes of a stream of a recording, which must have no hole and no gap.
fn bytes_of(store: &Store, recording: &Recording, stream: u16) -> Vec<u8> {
    let scope = Scope::of(recording, &store.members, store.machines(), store.clock());
    let reader = StreamReader::open(&scope, stream, &Range::All).unwrap();
    let parts = reader.map(|part| match part.unwrap() {
        StreamPart::Data { bytes, .. } => bytes.to_vec(),
        other => panic!("{other:?}"),
    });
    parts.flatten().collect()
}

fn verified(members: &[String]) -> (Store, Vec<Recording>) {
    let mut store = Store::open(members, Mode::Read, &Roots::default()).unwrap();
    let found = store.recordings().unwrap();
    let checked = verify(Checkable::of(&store, &found), &mut |_| {}, &Stop::default()).unwrap();
    assert!(checked.ok, "{checked:#?}");
    (store, found)
}

fn end_of(recording: &Recording) -> &str {
    recording.end.as_ref().map_or("", |end| end.ended.as_str())
}

/// Fails unless the first recordings have all bytes of the content, joined.
fn assert_joined(members: &[String], recordings: usize, bytes: u64) {
    let (store, mut found) = verified(members);
    found.reverse();
    assert_eq!(found.len(), recordings);
    for (stream, name) in (0..).zip(["a", "b"]) {
        let parts = found.iter().map(|one| bytes_of(&store, one, stream));
        let joined: Vec<u8> = parts.flatten().collect();
        assert_eq!(joined.len() as u64, bytes, "{name}");
        let content = Content::new(seed_of(name));
        assert_eq!(content.check(0, &joined), None, "{name}");
    }
    for (number, one) in (1..).zip(&found) {
        let is_last = number as usize == recordings;
        assert_eq!(one.number, number);
        assert_eq!(end_of(one), if is_last { "source" } else { "split" });
    }
}

fn superblock_writer(
    open_io: Box<super::super::super::superblock_writer::OpenIo>,
) -> SuperblockWriter {
    SuperblockWriter {
        open_io,
        patience: Patience {
            slow_after_ns: 1_000_000_000,
            given_up_after_ns: 3_000_000_000,
        },
    }
}

#[test]
fn what_streams_send_behind_their_cuts_is_in_the_next_recording() {
    let place = Place::new(2, 1 << 20);
    let (recorder, mut writers) =
        place.record(&["a", "b"], Patience::default(), |_| Answer::AsTheDisk);
    let board = recorder.board();
    let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
    fill_on(&mut a, 0, BYTES);
    a.cut();
    // The other one has not cut, and this waits for it; it cuts again meanwhile.
    fill_on(&mut a, BYTES, BYTES / 2);
    a.cut();
    fill_on(&mut a, BYTES + BYTES / 2, 1000);
    fill_on(&mut b, 0, 77);
    assert_eq!(board.read().recording, 1);
    b.cut();
    board.wait_for(|standing| standing.recording == 2, PATIENCE);
    assert_eq!((a.offered_bytes(), b.offered_bytes()), (1000, 0));
    b.cut();
    let standing = board.wait_for(|standing| standing.recording == 3, PATIENCE);
    assert!(!standing.is_over);
    fill_on(&mut b, 77, BYTES + BYTES / 2 + 1000 - 77);
    let (ended, _) = board.take_ended();
    let offered = |one: &RecordingProgress| one.streams.iter().map(|one| one.offered_bytes).sum();
    let offered: Vec<u64> = ended.iter().map(offered).collect();
    assert_eq!(offered, [BYTES + 77, BYTES / 2]);
    drop((a, b));
    let recorded = recorder.finish().unwrap();
    assert_eq!((recorded.recording, recorded.before.len()), (3, 2));
    assert_eq!(recorded.standing.streams[0].durable_bytes, 1000);
    assert_joined(&place.members, 3, BYTES + BYTES / 2 + 1000);
}

#[test]
fn frames_that_are_missing_where_recordings_follow_each_other_are_told() {
    let place = Place::new(1, 1 << 20);
    let store = Store::open(&place.members, Mode::Record, &Roots::default()).unwrap();
    let options = RecordOptions {
        buffer_bytes: 4 << 20,
        frame_rates: vec![Some(10.0)],
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(store, ["cam"], options).unwrap();
    let mut writer = recorder.writer("cam").unwrap();
    let begun_ns = writer.now_ns();
    // A frame each 100 ms, and none from the sixth to the seventh nor where the stream is cut.
    let frame = |writer: &mut StreamWriter, at_ms: i64| {
        let time_ns = begun_ns + at_ms * 1_000_000;
        let mut filling = writer.lend().unwrap();
        filling.take(1000, &[PayloadMark::begin(0, time_ns)], time_ns);
        writer.commit(filling);
    };
    (0..6).for_each(|at| frame(&mut writer, at * 100));
    (10..14).for_each(|at| frame(&mut writer, at * 100));
    writer.cut();
    (20..25).for_each(|at| frame(&mut writer, at * 100));
    drop(writer);
    let recorded = recorder.finish().unwrap();
    let before = recorded.before[0].paces[0].as_ref().unwrap();
    assert_eq!((before.missing, before.late), (4, 0));
    let behind = recorded.frames[0].as_ref().unwrap().pace.as_ref().unwrap();
    assert_eq!((behind.missing, behind.late), (6, 0));
    assert_eq!(behind.incidents[0].frame, 0);
}

/// What a crash leaves at one moment.
struct Crashed {
    members: Vec<String>,
    when: String,
}

/// Keeps what a crash would leave of the members.
struct CrashKeeper {
    members: Vec<String>,
    directory: PathBuf,
    kept: Vec<Crashed>,
    /// What the writes since the last flush have overwritten: member, offset, bytes.
    unflushed: Vec<(usize, u64, Vec<u8>)>,
}

impl CrashKeeper {
    /// Copies the members, and takes back these writes in the copies.
    fn keep(&mut self, when: String, lost: &[(usize, u64, Vec<u8>)]) {
        let place = self.directory.join(self.kept.len().to_string());
        std::fs::create_dir(&place).unwrap();
        let mut members = Vec::new();
        for (index, name) in self.members.iter().enumerate() {
            let copy = place.join(Path::new(name).file_name().unwrap());
            std::fs::copy(name, &copy).unwrap();
            let file = std::fs::File::options().write(true).open(&copy).unwrap();
            for (_, offset_bytes, bytes) in lost.iter().filter(|(member, ..)| *member == index) {
                std::os::unix::fs::FileExt::write_all_at(&file, bytes, *offset_bytes).unwrap();
            }
            members.push(copy.display().to_string());
        }
        self.kept.push(Crashed { members, when });
    }

    /// A superblock is about to be written or flushed: everything before it may have come through,
    /// nothing since the last flush, or a part of the last write.
    fn before_superblock(&mut self, request: &Request) {
        let what = format!("before {request:?}");
        self.keep(format!("killed {what}"), &[]);
        let lost = self.unflushed.clone();
        if let Some((member, offset_bytes, bytes)) = lost.last() {
            let torn = (*member, *offset_bytes, bytes[..1024].to_vec());
            self.keep(format!("torn {what}"), &[torn]);
            self.keep(format!("without power {what}"), &lost);
        }
        let member = request.target;
        if request.operation == Operation::Flush {
            self.unflushed.retain(|(one, ..)| *one != member);
            return;
        }
        let file = std::fs::File::open(&self.members[member]).unwrap();
        let mut before = vec![0; request.vectors.len_bytes() as usize];
        let offset_bytes = request.offset_bytes;
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut before, offset_bytes).unwrap();
        self.unflushed.push((member, offset_bytes, before));
    }
}

/// Writes superblocks over an engine that keeps what a crash would leave before each request
/// between two recordings, and says when that has begun.
fn watched(keeper: &Arc<Mutex<CrashKeeper>>, watching: &Arc<AtomicBool>) -> SuperblockWriter {
    let (keeper, watching) = (Arc::clone(keeper), Arc::clone(watching));
    let asked = AtomicUsize::new(0);
    superblock_writer(Box::new(move |store: &Store| {
        // The first time is before the recordings, the last one behind them.
        let is_between = asked.fetch_add(1, Ordering::SeqCst) == 1;
        watching.store(is_between, Ordering::SeqCst);
        let members = store.members.iter();
        let files: TargetFiles = members
            .filter_map(|member| member.target.file.clone())
            .collect();
        let limits = Limits {
            depth: 4,
            in_flight_max: 8,
        };
        let clock = store.clock().clone();
        let opened = engine::open(EngineChoice::Threads, files, limits, &[], &clock)?;
        let keeper = Arc::clone(&keeper);
        let engine = Faulty::over(opened.engine, move |request| {
            if is_between {
                keeper.lock().unwrap().before_superblock(request);
            }
            Answer::AsTheDisk
        });
        let names = store.members.iter().map(|member| member.name.clone());
        Ok(MemberIo::over(engine, clock, names.collect())?)
    }))
}

impl Crashed {
    fn assert_has_first_recording(&self, found: &[Recording], store: &Store) {
        let first = found.last().unwrap();
        assert_eq!((first.number, end_of(first)), (1, "split"), "{}", self.when);
        for (stream, name) in (0..).zip(["a", "b"]) {
            let bytes = bytes_of(store, first, stream);
            assert_eq!(bytes.len() as u64, BYTES / 2, "{}", self.when);
            let content = Content::new(seed_of(name));
            assert_eq!(content.check(0, &bytes), None, "{}", self.when);
        }
    }

    /// What is recorded next has a number and a place of its own.
    fn record_another(&self) {
        let store = Store::open(&self.members, Mode::Record, &Roots::default()).unwrap();
        let mut recorder = Recorder::start(store, ["a"], RecordOptions::default()).unwrap();
        let mut a = recorder.writer("a").unwrap();
        fill_on(&mut a, 0, 5000);
        drop(a);
        let recorded = recorder.finish().unwrap();
        assert!([2, 3].contains(&recorded.recording), "{}", self.when);
        let (store, found) = verified(&self.members);
        assert_eq!(bytes_of(&store, &found[0], 0).len(), 5000);
        self.assert_has_first_recording(&found, &store);
    }
}

#[test]
fn a_crash_at_any_write_between_two_recordings_takes_nothing_of_the_first() {
    let place = Place::of_bytes(2, 64 << 10, 4 << 20);
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let keeper = Arc::new(Mutex::new(CrashKeeper {
        members: place.members.clone(),
        directory: directory.path().to_owned(),
        kept: Vec::new(),
        unflushed: Vec::new(),
    }));
    let watching = Arc::new(AtomicBool::new(false));
    let superblocks = watched(&keeper, &watching);
    let in_engine = Arc::clone(&keeper);
    // Behind the superblocks, the starts of the second recording and its first appends.
    let fault = move |request: &Request| {
        let mut keeper = in_engine.lock().unwrap();
        if watching.load(Ordering::SeqCst) && keeper.kept.len() < 60 {
            keeper.keep(format!("killed before {request:?}"), &[]);
        }
        Answer::AsTheDisk
    };
    let (recorder, mut writers) =
        place.record_over(&["a", "b"], Patience::default(), fault, superblocks);
    for writer in &mut writers {
        fill_on(writer, 0, BYTES / 2);
        writer.cut();
    }
    let board = recorder.board();
    board.wait_for(|standing| standing.recording == 2, PATIENCE);
    for writer in &mut writers {
        fill_on(writer, BYTES / 2, BYTES / 4);
    }
    drop(writers);
    recorder.finish().unwrap();
    assert_joined(&place.members, 2, BYTES / 2 + BYTES / 4);
    let kept = std::mem::take(&mut keeper.lock().unwrap().kept);
    let count = |word: &str| kept.iter().filter(|one| one.when.starts_with(word)).count();
    // Six requests for each of two members; the engine's are those of the second recording.
    assert!(
        count("killed") > 12 && count("without") >= 8,
        "{}",
        kept.len()
    );
    for crashed in &kept {
        let (store, found) = verified(&crashed.members);
        crashed.assert_has_first_recording(&found, &store);
        drop(store);
        crashed.record_another();
    }
}

#[test]
fn a_member_that_fails_between_two_recordings_is_left_out_of_the_second() {
    let place = Place::new(2, 1 << 20);
    let (recorder, mut writers) = place.record_over(
        &["a", "b"],
        Patience::default(),
        |_| Answer::AsTheDisk,
        silent_superblocks(1, 1),
    );
    for writer in &mut writers {
        fill_on(writer, 0, BYTES);
        writer.cut();
        fill_on(writer, BYTES, BYTES);
    }
    drop(writers);
    let recorded = recorder.finish().unwrap();
    assert_eq!((recorded.recording, recorded.ended), (2, Ending::Source));
    assert_eq!(recorded.before[0].errors, [""; 0]);
    let error = recorded.standing.members[1].error.as_deref().unwrap();
    assert!(error.contains("where one recording had ended"), "{error}");
    assert_eq!(recorded.standing.members[1].bytes, 0);
    let store = Store::open(&place.members, Mode::Read, &Roots::default()).unwrap();
    let superblock = &store.members[0].superblock;
    let last_slot = superblock.slots_begun.checked_sub(1);
    assert!(superblock.has_ended, "the last end is durable on this one");
    assert_eq!(superblock.end_slot, last_slot);
    for stream in &recorded.standing.streams {
        assert_eq!((stream.durable_bytes, stream.gap_bytes), (BYTES, 0));
    }
}

#[test]
fn a_member_that_never_answers_does_not_end_the_recordings_that_follow() {
    let place = Place::new(2, 1 << 20);
    let never = Arc::new(AtomicBool::new(false));
    let patience = Patience {
        slow_after_ns: 50_000_000,
        given_up_after_ns: 200_000_000,
    };
    let (recorder, mut writers) = place.record(&["a", "b"], patience, move |request| {
        // Starts and end marks are durable by themselves.
        let is_append = request.operation == Operation::Write && !request.durable;
        match request.target == 1 && is_append {
            true => Answer::Keeps(Arc::clone(&never)),
            false => Answer::AsTheDisk,
        }
    });
    let board = recorder.board();
    for (number, from) in [(2, 0), (3, BYTES)] {
        for writer in &mut writers {
            fill_on(writer, from, BYTES);
            writer.cut();
        }
        board.wait_for(|standing| standing.recording == number, PATIENCE);
    }
    for writer in &mut writers {
        fill_on(writer, 2 * BYTES, BYTES);
    }
    drop(writers);
    let recorded = recorder.finish().unwrap();
    assert_eq!((recorded.recording, recorded.ended), (3, Ending::Source));
    let [first, second] = &recorded.before[..] else {
        panic!("{:#?}", recorded.before)
    };
    assert!(second.errors[0].contains("was given up"), "{second:#?}");
    // On a busy machine the first recording may have put nothing on it.
    let is_left_out = first.errors.is_empty() || first.errors == second.errors;
    assert!(is_left_out, "{first:#?} {second:#?}");
    let streams = [&first.streams, &second.streams, &recorded.standing.streams];
    for stream in streams.into_iter().flatten() {
        assert_eq!((stream.durable_bytes, stream.gap_bytes), (BYTES, 0));
    }
    assert_eq!(recorded.standing.members[1].state, MemberState::Failed);
    assert_eq!(recorded.standing.members[1].bytes, 0);
    let again = Store::open(&place.members, Mode::Record, &Roots::default());
    assert!(again.is_err(), "what it keeps may still be written");
    assert_joined(&place.members, 3, 3 * BYTES);
}

#[test]
fn where_no_member_takes_the_second_recording_all_of_it_is_counted_as_lost() {
    let place = Place::of_bytes(1, 64 << 10, 64 << 14);
    let (recorder, mut writers) = place.record(&["a"], Patience::default(), |_| Answer::AsTheDisk);
    let mut a = writers.pop().unwrap();
    let board = recorder.board();
    // Until the last slot is begun.
    let mut position = 0;
    let has_slot = || {
        let free_bytes = board.read().members[0].free_bytes;
        free_bytes.is_none_or(|free| free >= 64 << 10)
    };
    while has_slot() {
        fill_on(&mut a, position, 30_000);
        position += 30_000;
        let settled = |one: &RecordingProgress| one.streams[0].settled_bytes >= position;
        assert!(settled(&board.wait_for(settled, PATIENCE)));
    }
    a.cut();
    let is_over = |one: &RecordingProgress| one.is_over || one.recording > 1;
    board.wait_for(is_over, PATIENCE);
    drop(a);
    let recorded = recorder.finish().unwrap();
    assert_eq!((recorded.recording, recorded.ended), (2, Ending::Full));
    assert_eq!(recorded.before[0].streams[0].durable_bytes, position);
    let (store, found) = verified(&place.members);
    assert_eq!((found.len(), end_of(&found[0])), (1, "split"));
    let bytes = bytes_of(&store, &found[0], 0);
    assert_eq!(Content::new(seed_of("a")).check(0, &bytes), None);
}

/// Writes superblocks, of which a call fails: 1 is between the recordings, 2 behind the second one.
/// It fails from this request of a member on, or cannot be begun at all.
fn failing_superblocks(fails: usize, member: usize, from: Option<usize>) -> SuperblockWriter {
    let asked = AtomicUsize::new(0);
    superblock_writer(Box::new(move |store: &Store| {
        let is_failing = asked.fetch_add(1, Ordering::SeqCst) == fails;
        if is_failing && from.is_none() {
            return Err(RecordError::Silent("there is no engine".to_owned()));
        }
        let members = store.members.iter();
        let files: TargetFiles = members
            .filter_map(|member| member.target.file.clone())
            .collect();
        let limits = Limits {
            depth: 4,
            in_flight_max: 8,
        };
        let clock = store.clock().clone();
        let opened = engine::open(EngineChoice::Threads, files, limits, &[], &clock)?;
        let mut requests = 0;
        let engine = Faulty::over(opened.engine, move |request| {
            requests += usize::from(request.target == member);
            let is_past = from.is_some_and(|from| requests > from);
            match is_failing && request.target == member && is_past {
                true => Answer::Fails(EIO),
                false => Answer::AsTheDisk,
            }
        });
        let names = store.members.iter().map(|member| member.name.clone());
        Ok(MemberIo::over(engine, clock, names.collect())?)
    }))
}

/// Two recordings of two streams, split in the middle, whatever fails. Returns the outcome, and
/// what the writers offered to the second recording.
fn split_in_two(
    place: &Place,
    superblocks: SuperblockWriter,
    fault: impl FnMut(&Request) -> Answer + Send + 'static,
) -> Recorded {
    let (recorder, mut writers) =
        place.record_over(&["a", "b"], Patience::default(), fault, superblocks);
    for writer in &mut writers {
        fill_on(writer, 0, BYTES);
        writer.cut();
    }
    let board = recorder.board();
    board.wait_for(|standing| standing.recording == 2, PATIENCE);
    for writer in &mut writers {
        // It may be over by now.
        if let Some(mut filling) = writer.lend() {
            let count = 5000;
            Content::new(seed_of(writer.name())).fill(BYTES, &mut filling.spare_mut()[..count]);
            filling.take(count, &[], writer.now_ns());
            writer.commit(filling);
        }
    }
    drop(writers);
    recorder.finish().unwrap()
}

/// Fails unless the first of two recordings is in the result and in the store, all of it.
fn assert_first_is_told(place: &Place, recorded: &Recorded, what: &str) {
    assert_eq!(recorded.before.len(), 1, "{what}");
    let first = &recorded.before[0];
    assert_eq!((first.recording, recorded.recording), (1, 2), "{what}");
    for stream in &first.streams {
        let told = (stream.offered_bytes, stream.durable_bytes, stream.gap_bytes);
        assert_eq!(told, (BYTES, BYTES, 0), "{what}");
    }
    let mut store = Store::open(&place.members, Mode::Read, &Roots::default()).unwrap();
    let found = store.recordings().unwrap();
    let found = found.last().unwrap();
    assert_eq!((found.number, end_of(found)), (1, "split"), "{what}");
    for (stream, name) in (0..).zip(["a", "b"]) {
        let bytes = bytes_of(&store, found, stream);
        assert_eq!(bytes.len() as u64, BYTES, "{what}");
        assert_eq!(Content::new(seed_of(name)).check(0, &bytes), None, "{what}");
    }
}

#[test]
fn the_first_recording_is_told_whatever_request_of_the_superblocks_fails() {
    // Two copies, a flush, two copies, a flush; or no engine. At once, because the disk is waited for.
    std::thread::scope(|scope| {
        for from in (0..6).map(Some).chain([None]) {
            for members in [1, 2] {
                scope.spawn(move || {
                    for call in [1, 2] {
                        assert_first_is_told_beside(members, from, call);
                    }
                });
            }
        }
    });
}

/// Writing the superblocks fails in this call, on the last member, from this request on.
#[track_caller]
fn assert_first_is_told_beside(members: usize, from: Option<usize>, call: usize) {
    let what = format!("{members} members, call {call} fails from {from:?}");
    let place = Place::new(members, 1 << 20);
    let superblocks = failing_superblocks(call, members - 1, from);
    let recorded = split_in_two(&place, superblocks, |_| Answer::AsTheDisk);
    assert_first_is_told(&place, &recorded, &what);
    assert_eq!(recorded.before[0].errors, [""; 0], "{what}");
    let failed = recorded.standing.members.iter();
    let failed = failed.filter(|member| member.error.is_some()).count();
    assert_eq!(failed, if from.is_some() { 1 } else { members }, "{what}");
    let goes_on = call == 2 || failed < members;
    for stream in &recorded.standing.streams {
        let told = (stream.durable_bytes, stream.gap_bytes);
        let lost_bytes = stream.offered_bytes;
        let expected = if goes_on { (5000, 0) } else { (0, lost_bytes) };
        assert_eq!(told, expected, "{what}");
    }
    let ending = if goes_on {
        Ending::Source
    } else {
        Ending::Error
    };
    assert_eq!(recorded.ended, ending, "{what}");
}

#[test]
fn the_first_recording_is_told_where_the_engine_breaks_in_the_second_one() {
    for breaks_at in 0..4 {
        let what = format!("it breaks at request {breaks_at}");
        let place = Place::new(2, 1 << 20);
        let is_second = Arc::new(AtomicBool::new(false));
        let asked = AtomicUsize::new(0);
        let begins = Arc::clone(&is_second);
        let superblocks = superblock_writer(Box::new(move |store: &Store| {
            begins.store(asked.fetch_add(1, Ordering::SeqCst) == 1, Ordering::SeqCst);
            store.io()
        }));
        let mut requests = 0;
        let recorded = split_in_two(&place, superblocks, move |_| {
            requests += u32::from(is_second.load(Ordering::SeqCst));
            match requests > breaks_at {
                true => Answer::Breaks,
                false => Answer::AsTheDisk,
            }
        });
        assert_first_is_told(&place, &recorded, &what);
        assert_eq!(recorded.ended, Ending::Error, "{what}");
        for member in &recorded.standing.members {
            let error = member.error.as_deref().unwrap();
            assert!(error.contains("injected"), "{what}: {error}");
        }
    }
}

#[test]
fn the_space_for_another_recording_is_shown_as_soon_as_one_has_begun() {
    let place = Place::of_bytes(1, 64 << 10, 64 << 14);
    let (recorder, mut writers) = place.record(&["a"], Patience::default(), |_| Answer::AsTheDisk);
    let board = recorder.board();
    let slots = ((64 << 14) - (256 << 10)) / (64 << 10);
    for recording in 2..=slots {
        writers[0].cut();
        let now = board.wait_for(|standing| standing.recording == recording, PATIENCE);
        let free_bytes = now.members[0].free_bytes.unwrap();
        // Less than a whole one is left of the first slot when the start is written.
        let left = u64::from(slots - recording) + 1;
        assert!(
            (left - 1..=left).contains(&(free_bytes >> 16)),
            "{free_bytes}"
        );
    }
    drop(writers);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source);
}

fn intake_setup(framing: Framing, split: &SplitSwitch) -> IntakeSetup {
    IntakeSetup {
        framing,
        align_frames: false,
        on_full: OnFull::Block,
        linger_ns: 50_000_000,
        bytes_max: None,
        deadline: None,
        last_wait_ns: 100_000_000,
        stop: Stop::default(),
        pause: PauseSwitch::default(),
        split: split.clone(),
    }
}

/// Two streams by intakes over pipes: lines, and bytes.
fn piped(place: &Place, split: &SplitSwitch) -> (Recorder, [std::fs::File; 2]) {
    let (recorder, writers) = place.record(&["a", "b"], Patience::default(), |_| Answer::AsTheDisk);
    let framings = [Framing::Lines, Framing::None];
    let sinks = writers.into_iter().zip(framings).map(|(writer, framing)| {
        let (source, sink) = rustix::pipe::pipe().unwrap();
        let intake = Intake::new(writer, intake_setup(framing, split));
        std::thread::spawn(move || intake.read_all(&source));
        std::fs::File::from(sink)
    });
    let sinks: Vec<std::fs::File> = sinks.collect();
    (recorder, sinks.try_into().unwrap())
}

#[test]
fn streams_are_cut_behind_a_line_and_a_line_that_does_not_end_holds_nobody_up() {
    let place = Place::new(2, 1 << 20);
    let split = SplitSwitch::default();
    let (recorder, [mut lines, mut bytes]) = piped(&place, &split);
    let board = recorder.board();
    let offered = |standing: &RecordingProgress, at: usize| standing.streams[at].settled_bytes;
    lines.write_all(b"first\nsecond, which goes ").unwrap();
    bytes.write_all(b"one").unwrap();
    board.wait_for(
        |now| offered(now, 0) >= 24 && offered(now, 1) >= 3,
        PATIENCE,
    );
    split.wish();
    lines.write_all(b"on\nthird\n").unwrap();
    board.wait_for(|now| now.recording == 2, PATIENCE);
    // This line has no end before the next wish, nor long after it.
    lines.write_all(b"fourth").unwrap();
    board.wait_for(|now| offered(now, 0) >= 12, PATIENCE);
    split.wish();
    board.wait_for(|now| now.recording == 3, PATIENCE);
    lines.write_all(b" ends\nfifth\n").unwrap();
    bytes.write_all(b"two").unwrap();
    drop((lines, bytes));
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.recording, 3);
    let (store, mut found) = verified(&place.members);
    found.reverse();
    let of = |stream| -> Vec<String> {
        let all = found.iter().map(|one| bytes_of(&store, one, stream));
        all.map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    };
    let first = "first\nsecond, which goes on\n";
    assert_eq!(of(0), [first, "third\nfourth", " ends\nfifth\n"]);
    assert_eq!(of(1), ["one", "", "two"]);
    let frames: Vec<u64> = found.iter().map(|one| one.streams[0].frames).collect();
    assert_eq!(frames, [2, 2, 1], "a line counts where it begins");
}

#[test]
fn no_byte_is_lost_in_twenty_splits_at_full_rate() {
    let place = Place::new(2, 1 << 20);
    let split = SplitSwitch::default();
    let (recorder, sinks) = piped(&place, &split);
    let board = recorder.board();
    let sent: [Vec<u8>; 2] = [0, 1].map(|stream: u32| {
        let numbers = 0..400_000_u32;
        let line = |number: u32| format!("{stream} {}\n", number.wrapping_mul(2_654_435_761));
        numbers
            .flat_map(|number| line(number).into_bytes())
            .collect()
    });
    let is_done = Arc::new(AtomicUsize::new(0));
    let senders = sinks.into_iter().zip(sent.clone()).map(|(mut sink, sent)| {
        let is_done = Arc::clone(&is_done);
        std::thread::spawn(move || {
            sink.write_all(&sent).unwrap();
            is_done.fetch_add(1, Ordering::SeqCst);
            // Open until all splits are through.
            sink
        })
    });
    let senders: Vec<_> = senders.collect();
    for recording in 2..=21 {
        split.wish();
        let now = board.wait_for(|standing| standing.recording == recording, PATIENCE);
        assert_eq!(now.recording, recording);
    }
    senders
        .into_iter()
        .for_each(|one| drop(one.join().unwrap()));
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.recording, 21);
    let (store, mut found) = verified(&place.members);
    found.reverse();
    for (stream, sent) in (0..).zip(&sent) {
        let parts: Vec<Vec<u8>> = found
            .iter()
            .map(|one| bytes_of(&store, one, stream))
            .collect();
        assert!(parts.concat() == *sent, "stream {stream}");
        let has_lines = stream == 0;
        for part in parts.iter().filter(|part| has_lines && !part.is_empty()) {
            assert!(part.ends_with(b"\n"), "no line is divided");
        }
    }
}
