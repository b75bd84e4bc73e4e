//! Recordings in their own thread on engines that fail as no disk does: they panic, cannot take
//! memory, or never return a request. Nobody may wait for ever, and no byte may go unaccounted.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use sustain_disk::buffer::AlignedBytes;
use sustain_disk::engine::{
    self, Completion, Engine, EngineChoice, Limits, Operation, Request, TargetFiles, Until, Waker,
};
use sustain_disk::error::{Error, IoFault};
use sustain_host::Roots;
use sustain_targets::Stop;

use super::*;
use crate::format::{GapReason, MARKS_FRAMING, MARKS_STREAM, MarkKind, PayloadMark};
use crate::member_io::MemberIo;
use crate::reading::part::StreamPart;
use crate::reading::scope::Scope;
use crate::reading::stream::{Range, StreamReader};
use crate::reading::verify::{Checkable, verify};
use crate::recorder::board::RecordingProgress;
use crate::recorder::feed::{Durability, Patience};
use crate::recorder::{
    AppendSize, Giver, Intake, IntakeSetup, MemberState, OnFull, PauseSwitch, SplitSwitch,
};
use crate::source::framing::Framing;
use crate::store::{CreatePlan, Mode, create};

mod deleted;
mod freed_pin;
mod frozen;
mod given_up;
mod kept;
mod marks;
mod split_pins;
mod splits;

const EIO: i32 = 5;
const EFAULT: i32 = 14;
/// Longer than anything here takes. Whoever waits this long would wait for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// Appends of 256 KiB, or of a slot where that is less.
fn appends() -> AppendSize {
    AppendSize::Best {
        bytes: 256 << 10,
        document: "these tests".to_owned(),
    }
}

/// Decides what an engine does with a request.
type Fault = dyn FnMut(&Request) -> Answer + Send;

enum Answer {
    AsTheDisk,
    Panics,
    Fails(i32),
    /// The request comes back when this is set, if ever.
    Keeps(Arc<AtomicBool>),
    /// Nothing returns any more, from any member.
    Breaks,
}

/// The engine of a recording, with faults.
struct Faulty {
    inner: Box<dyn Engine>,
    fault: Box<Fault>,
    failed: VecDeque<(Request, i32)>,
    kept: Vec<(Request, Arc<AtomicBool>)>,
    is_broken: bool,
}

impl Faulty {
    fn over(
        inner: Box<dyn Engine>,
        fault: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> Box<dyn Engine> {
        Box::new(Faulty {
            inner,
            fault: Box::new(fault),
            failed: VecDeque::new(),
            kept: Vec::new(),
            is_broken: false,
        })
    }
}

impl Engine for Faulty {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn submit(&mut self, request: Request) {
        match (self.fault)(&request) {
            Answer::AsTheDisk => self.inner.submit(request),
            Answer::Panics => panic!("injected"),
            Answer::Fails(errno) => self.failed.push_back((request, errno)),
            Answer::Keeps(until) => self.kept.push((request, until)),
            Answer::Breaks => {
                let never = Arc::new(AtomicBool::new(false));
                self.kept.push((request, never));
                self.is_broken = true;
            }
        }
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        if self.is_broken {
            let error = std::io::Error::other("injected");
            let engine = self.inner.name();
            return Err(Error::EngineFailed { engine, error });
        }
        for (request, _) in self
            .kept
            .extract_if(.., |(_, until)| until.load(Ordering::SeqCst))
        {
            self.inner.submit(request);
        }
        let until = if self.failed.is_empty() {
            until
        } else {
            Until::Now
        };
        self.inner.wait(until, completions)?;
        for (request, errno) in self.failed.drain(..) {
            let now = sustain_disk::clock::Clock::Real.now();
            completions.push(Completion {
                request,
                submitted_at: now,
                completed_at: now,
                bytes: 0,
                error: Some(IoFault::Kernel(errno)),
            });
        }
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }
}

/// Opens engines with faults. All of them have the same, one after the other.
fn open_faulty(
    fault: impl FnMut(&Request) -> Answer + Send + 'static,
) -> impl FnMut(&Store, &EngineSetup) -> Result<OpenedEngine, RecordError> + Send + 'static {
    let fault = Arc::new(Mutex::new(fault));
    move |store, setup| {
        let (inner, why) = setup.open(store)?;
        let fault = Arc::clone(&fault);
        let of_all = move |request: &Request| (fault.lock().unwrap())(request);
        Ok((Faulty::over(inner, of_all), why))
    }
}

/// A store in files that are removed with it.
struct Place {
    _directory: tempfile::TempDir,
    members: Vec<String>,
}

impl Place {
    fn new(members: usize, slot_bytes: u32) -> Place {
        Place::of_bytes(members, slot_bytes, 40 << 20)
    }

    fn of_bytes(members: usize, slot_bytes: u32, member_bytes: u64) -> Place {
        // The directory is not in memory, because direct writes are tested.
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let name = |index| directory.path().join(format!("m{index}"));
        let members: Vec<String> = (0..members)
            .map(|index| name(index).display().to_string())
            .collect();
        for name in &members {
            let file = std::fs::File::create(name).unwrap();
            file.set_len(member_bytes).unwrap();
        }
        let plan = CreatePlan {
            members: members.clone(),
            size_bytes: None,
            slot_bytes,
            prewrite: false,
            destroy: members.clone(),
            parities: 0,
            same_disk: false,
            dry_run: false,
        };
        create(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap();
        Place {
            _directory: directory,
            members,
        }
    }

    fn record(
        &self,
        streams: &[&str],
        patience: Patience,
        fault: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> (Recorder, Vec<StreamWriter>) {
        let superblocks = SuperblockWriter {
            open_io: Box::new(Store::io),
            patience: Patience::default(),
        };
        self.record_over(streams, patience, fault, superblocks)
    }

    fn record_over(
        &self,
        streams: &[&str],
        patience: Patience,
        fault: impl FnMut(&Request) -> Answer + Send + 'static,
        superblocks: SuperblockWriter,
    ) -> (Recorder, Vec<StreamWriter>) {
        let store = Store::open(&self.members, Mode::Record, &Roots::default()).unwrap();
        let options = RecordOptions {
            buffer_bytes: 4 << 20,
            append_size: appends(),
            patience,
            ..RecordOptions::default()
        };
        let streams = streams.iter().map(|name| match *name {
            MARKS_STREAM => StreamSetup {
                framing: MARKS_FRAMING.to_owned(),
                ..StreamSetup::plain(name)
            },
            name => StreamSetup::plain(name),
        });
        let open_engine = open_faulty(fault);
        let streams = streams.collect();
        let recorder = Recorder::start_on(store, streams, options, open_engine, superblocks);
        let mut recorder = recorder.unwrap();
        let writers = recorder.writers();
        (recorder, writers)
    }

    /// The number of bytes of the newest recording's first stream that come back, all of them
    /// `fill`.
    fn whole_bytes(&self, fill: u8) -> u64 {
        let mut store = Store::open(&self.members, Mode::Read, &Roots::default()).unwrap();
        let recordings = store.recordings().unwrap();
        let newest = &recordings[0];
        let scope = Scope::of(newest, &store.members, store.machines(), store.clock());
        let reader = StreamReader::open(&scope, 0, &Range::All).unwrap();
        let mut whole_bytes = 0;
        for part in reader {
            if let StreamPart::Data { bytes, .. } = part.unwrap() {
                assert!(bytes.iter().all(|byte| *byte == fill));
                whole_bytes += bytes.len() as u64;
            }
        }
        whole_bytes
    }
}

/// Whether a request is an append of data, by its size: starts and end marks are smaller.
fn is_data(request: &Request) -> bool {
    request.operation == Operation::Write && request.vectors.len_bytes() > 64 << 10
}

/// Fills appends until so many bytes are offered, or the recorder takes no more.
fn fill(writer: &mut StreamWriter, bytes: u64) {
    while writer.offered_bytes() < bytes {
        let Some(mut filling) = writer.lend() else {
            return;
        };
        let left = bytes - writer.offered_bytes();
        let count = filling.room_bytes().min(left as usize);
        filling.spare_mut()[..count].fill(7);
        filling.take(count, &[], writer.now_ns());
        writer.commit(filling);
    }
}

#[test]
fn after_a_panic_in_the_recorders_thread_nobody_waits_for_it() {
    let place = Place::new(2, 1 << 20);
    let mut writes = 0;
    let (recorder, mut writers) = place.record(&["main"], Patience::default(), move |request| {
        writes += u32::from(is_data(request));
        match writes {
            0..5 => Answer::AsTheDisk,
            _ => Answer::Panics,
        }
    });
    let board = recorder.board();
    // This ends only when nothing is lent any more.
    fill(&mut writers[0], u64::MAX);
    assert!(writers[0].is_closed());
    assert!(board.wait_for(|_| false, PATIENCE).is_over);
    drop(writers);
    let finish = std::panic::AssertUnwindSafe(|| recorder.finish());
    assert!(std::panic::catch_unwind(finish).is_err(), "it tells of it");
}

#[test]
fn a_source_that_panics_has_not_come_to_its_end() {
    let place = Place::new(1, 1 << 20);
    let (recorder, mut writers) =
        place.record(&["main"], Patience::default(), |_| Answer::AsTheDisk);
    let mut writer = writers.remove(0);
    let source = std::thread::spawn(move || {
        fill(&mut writer, 100_000);
        panic!("injected");
    });
    assert!(source.join().is_err());
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Error);
    assert_eq!(recorded.standing.streams[0].durable_bytes, 100_000);
    assert_eq!(recorded.standing.streams[0].gap_bytes, 0);
}

#[test]
fn memory_that_cannot_be_written_from_is_copied_and_no_member_fails_for_it() {
    let place = Place::new(2, 1 << 20);
    // The kernel answers this for memory that it cannot pin, such as a device's.
    let (recorder, mut writers) = place.record(&["main"], Patience::default(), |request| {
        let vectors = request.vectors.as_slice();
        let is_given = vectors.len() > 1 && vectors[1].buffer().is_foreign();
        match is_given {
            true => Answer::Fails(EFAULT),
            false => Answer::AsTheDisk,
        }
    });
    let mut main = writers.remove(0).giver::<AlignedBytes>();
    let mut addresses = Vec::new();
    for _ in 0..20 {
        let mut memory = AlignedBytes::new(300_001).unwrap();
        memory.fill(7);
        addresses.push(memory.as_ptr().addr());
        main.give(memory, &[], main.now_ns()).unwrap();
    }
    let all = |standing: &RecordingProgress| standing.streams[0].durable_bytes >= 20 * 300_001;
    recorder.board().wait_for(all, PATIENCE);
    let mut back: Vec<usize> = std::iter::from_fn(|| main.returned())
        .map(|memory| memory.as_ptr().addr())
        .collect();
    back.sort_unstable();
    addresses.sort_unstable();
    assert_eq!(
        back, addresses,
        "the caller's memory comes back, and no copy"
    );
    drop(main);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source);
    assert_eq!(recorded.standing.streams[0].gap_bytes, 0);
    let members = recorded.standing.members.iter();
    assert!(members.clone().all(|member| member.error.is_none()));
    assert_eq!(place.whole_bytes(7), 20 * 300_001);
}

#[test]
fn each_stream_gets_its_own_memory_back() {
    let place = Place::new(1, 1 << 20);
    let (recorder, writers) = place.record(&["left", "right"], Patience::default(), |_| {
        Answer::AsTheDisk
    });
    let writers = writers.into_iter().map(StreamWriter::giver);
    let mut writers: Vec<Giver<AlignedBytes>> = writers.collect();
    for (writer, length) in writers.iter_mut().zip([100_000, 200_000]) {
        for _ in 0..4 {
            let memory = AlignedBytes::new(length).unwrap();
            writer.give(memory, &[], writer.now_ns()).unwrap();
        }
    }
    let all = |standing: &RecordingProgress| {
        standing.streams[0].durable_bytes == 400_000 && standing.streams[1].durable_bytes == 800_000
    };
    recorder.board().wait_for(all, PATIENCE);
    for (writer, length) in writers.iter().zip([100_000, 200_000]) {
        let returned: Vec<usize> = std::iter::from_fn(|| writer.returned())
            .map(|memory| memory.len())
            .collect();
        assert_eq!(returned, [length; 4]);
    }
    drop(writers);
    recorder.finish().unwrap();
}

#[test]
fn as_many_marks_as_are_taken_fit_into_a_slot_of_any_size() {
    let mut slot_bytes = 64 << 10;
    while slot_bytes <= 1 << 20 {
        let place = Place::new(1, slot_bytes);
        let (recorder, mut writers) =
            place.record(&["main"], Patience::default(), |_| Answer::AsTheDisk);
        let mut main = writers.remove(0).giver();
        let length = main.given_bytes_max();
        let count = main.given_marks_max();
        let mark = |index: usize| PayloadMark {
            // Marks that are as far apart as possible, each with a time, are as long as marks can
            // be.
            offset_bytes: (index * length / (count + 2)) as u64,
            kind: MarkKind::EndAndBegin,
            time_ns: Some(if index.is_multiple_of(2) { 0 } else { i64::MAX }),
        };
        let marks: Vec<PayloadMark> = (0..count + 1).map(mark).collect();
        let memory = || AlignedBytes::new(length).unwrap();
        for _ in 0..3 {
            main.give(memory(), &marks[..count], main.now_ns()).unwrap();
        }
        let many: Vec<PayloadMark> = (0..8 * count).map(|index| mark(index / 8)).collect();
        let refused = main.give(memory(), &many, 0).unwrap_err();
        assert!(refused.why.contains("too many at once"), "{}", refused.why);
        drop(main);
        let recorded = recorder.finish().unwrap();
        assert_eq!(recorded.ended, Ending::Source, "slots of {slot_bytes}");
        assert_eq!(recorded.standing.streams[0].gap_bytes, 0);
        slot_bytes *= 2;
    }
}

/// Long enough to be noticed, and short compared with everything else.
const SHORT: Patience = Patience {
    slow_after_ns: 50_000_000,
    given_up_after_ns: 200_000_000,
};

#[test]
fn a_member_that_never_returns_its_requests_holds_nobody_up() {
    let place = Place::new(3, 1 << 20);
    let mut writes = 0;
    let never = Arc::new(AtomicBool::new(false));
    let (recorder, mut writers) = place.record(&["main"], SHORT, move |request| {
        writes += u32::from(is_data(request) && request.target == 1);
        // It fails from its third append on, flushes included.
        match writes > 2 && request.target == 1 {
            true => Answer::Keeps(Arc::clone(&never)),
            false => Answer::AsTheDisk,
        }
    });
    fill(&mut writers[0], 20 << 20);
    drop(writers);
    let recorded = recorder.finish().unwrap();
    let members = &recorded.standing.members;
    assert_eq!(members[1].state, MemberState::Failed);
    let error = members[1].error.as_deref().unwrap();
    assert!(error.contains("was given up"), "{error}");
    assert_eq!(recorded.ended, Ending::Source);
    let stream = &recorded.standing.streams[0];
    assert_eq!(stream.offered_bytes, 20 << 20);
    assert_eq!(
        stream.settled_bytes,
        20 << 20,
        "all is durable, or its loss is"
    );
    let again = Store::open(&place.members, Mode::Record, &Roots::default());
    let why = again.map(drop).unwrap_err().to_string();
    assert!(
        why.contains("another"),
        "what it has kept may still come: {why}"
    );
    // Only what was written on it and not flushed may be lost: the first two appends.
    assert!(stream.gap_bytes <= 512 << 10, "{} bytes", stream.gap_bytes);
    assert!(stream.gap_bytes > 0);
    // They are on it all the same, and a listing that does not read them says that they may be.
    let mut store = Store::open(&place.members, Mode::Read, &Roots::default()).unwrap();
    let listed = store.recordings().unwrap();
    let checked = Checkable::of(&store, &listed);
    let checked = verify(checked, &mut |_| {}, &Stop::default()).unwrap();
    let (listed, checked) = (&listed[0].streams[0], &checked.recordings[0].streams[0]);
    assert_eq!((checked.recorded, checked.gap_bytes), (20 << 20, 0));
    assert_eq!(listed.gap_bytes, stream.gap_bytes);
    assert_eq!(listed.given_up_bytes, stream.gap_bytes);
}

#[test]
fn a_member_that_comes_back_is_used_again_and_named() {
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
    let is_slow = |standing: &RecordingProgress| standing.members[1].state == MemberState::Slow;
    recorder.board().wait_for(is_slow, PATIENCE);
    // Everything that it keeps is on the other one by now, and durable.
    let all = |standing: &RecordingProgress| standing.streams[0].durable_bytes == 8 << 20;
    let standing = recorder.board().wait_for(all, PATIENCE);
    assert_eq!(standing.members[1].bytes, 0);
    back.store(true, Ordering::SeqCst);
    recorder.board().wait_for(
        |standing| standing.members[1].state == MemberState::Active,
        PATIENCE,
    );
    let before = recorder.board().read().members[1].bytes;
    fill(&mut writers[0], 28 << 20);
    drop(writers);
    let recorded = recorder.finish().unwrap();
    assert!(recorded.standing.members[1].bytes > before, "used again");
    assert_eq!(recorded.standing.members[1].error, None);
    // On a busy disk it may be slow once more by itself.
    assert!(recorded.slowness[1].times >= 1);
    assert_eq!(recorded.standing.streams[0].gap_bytes, 0);
    assert_eq!(place.whole_bytes(7), 28 << 20);
}

#[test]
fn the_users_wish_to_end_is_heard_while_no_member_returns_anything() {
    let place = Place::new(2, 1 << 20);
    let never = Arc::new(AtomicBool::new(false));
    let (recorder, mut writers) = place.record(&["main"], SHORT, move |request| {
        match request.operation == Operation::Write && is_data(request) {
            true => Answer::Keeps(Arc::clone(&never)),
            false => Answer::AsTheDisk,
        }
    });
    let (source, sink) = rustix::pipe::pipe().unwrap();
    let stop = Stop::default();
    let setup = IntakeSetup {
        framing: Framing::None,
        align_frames: false,
        on_full: OnFull::Block,
        linger_ns: 500_000_000,
        bytes_max: None,
        deadline: None,
        last_wait_ns: 100_000_000,
        stop: stop.clone(),
        pause: PauseSwitch::default(),
        split: SplitSwitch::default(),
    };
    let intake = Intake::new(writers.remove(0), setup);
    let reading = std::thread::spawn(move || intake.read_all(&source));
    // The writer sends more than the buffer holds, until its reader has gone.
    let writing = std::thread::spawn(move || while rustix::io::write(&sink, &[7; 4096]).is_ok() {});
    let is_full = |standing: &RecordingProgress| {
        standing.buffer_fill >= 1.0
            && standing
                .members
                .iter()
                .all(|one| one.state == MemberState::Slow)
    };
    assert!(is_full(&recorder.board().wait_for(is_full, PATIENCE)));
    stop.interrupt();
    let taken = reading.join().unwrap();
    assert_eq!(taken.ending, Ending::Interrupted);
    writing.join().unwrap();
    let recorded = recorder.finish().unwrap();
    let stream = &recorded.standing.streams[0];
    assert_eq!(stream.offered_bytes, taken.offered_bytes);
    assert_eq!(
        stream.gap_bytes, stream.offered_bytes,
        "no byte came through"
    );
    for member in &recorded.standing.members {
        let error = member.error.as_deref().unwrap();
        assert!(error.contains("durable nowhere else"), "{error}");
    }
}

/// Writes superblocks over an engine that keeps the requests of a member from the given call on:
/// the first call is before the recording, the second behind it.
fn silent_superblocks(member: usize, from: usize) -> SuperblockWriter {
    let asked = AtomicUsize::new(0);
    let open_io = move |store: &Store| {
        let is_silent = asked.fetch_add(1, Ordering::SeqCst) >= from;
        let members = store.members.iter();
        let files: TargetFiles = members
            .filter_map(|member| member.target.file.clone())
            .collect();
        let (limits, clock) = (
            Limits {
                depth: 4,
                in_flight_max: 8,
            },
            store.clock().clone(),
        );
        let opened = engine::open(EngineChoice::Threads, files, limits, &[], &clock)?;
        let never = Arc::new(AtomicBool::new(false));
        let engine = Faulty::over(opened.engine, move |request| {
            match is_silent && request.target == member {
                true => Answer::Keeps(Arc::clone(&never)),
                false => Answer::AsTheDisk,
            }
        });
        let names = store.members.iter().map(|member| member.name.clone());
        Ok(MemberIo::over(engine, clock, names.collect())?)
    };
    SuperblockWriter {
        open_io: Box::new(open_io),
        // This is longer than a busy disk takes for the requests of another one.
        patience: Patience {
            slow_after_ns: 1_000_000_000,
            given_up_after_ns: 3_000_000_000,
        },
    }
}

#[test]
fn a_member_that_does_not_answer_before_the_recording_is_left_out_of_it() {
    let place = Place::new(2, 1 << 20);
    let superblocks = silent_superblocks(1, 0);
    let (recorder, mut writers) =
        place.record_over(&["main"], SHORT, |_| Answer::AsTheDisk, superblocks);
    fill(&mut writers[0], 8 << 20);
    drop(writers);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.standing.streams[0].durable_bytes, 8 << 20);
    assert_eq!(recorded.standing.streams[0].gap_bytes, 0);
    assert_eq!(recorded.standing.members[0].error, None);
    let left_out = &recorded.standing.members[1];
    assert_eq!((left_out.state, left_out.bytes), (MemberState::Failed, 0));
    let error = left_out.error.as_deref().unwrap();
    assert!(error.contains("before anything was recorded"), "{error}");
    let again = Store::open(&place.members, Mode::Record, &Roots::default());
    assert!(again.is_err(), "what it keeps may still be written");
    assert_eq!(place.whole_bytes(7), 8 << 20);
}

#[test]
fn a_recording_that_no_member_answers_before_it_begins_is_over_and_says_so() {
    let place = Place::new(1, 1 << 20);
    let superblocks = silent_superblocks(0, 0);
    let (recorder, mut writers) =
        place.record_over(&["main"], SHORT, |_| Answer::AsTheDisk, superblocks);
    // This ends only when nothing is lent any more.
    fill(&mut writers[0], u64::MAX);
    drop(writers);
    let error = recorder.finish().unwrap_err();
    assert!(matches!(&error, RecordError::Silent(_)), "{error}");
    assert!(error.to_string().contains(&place.members[0]), "{error}");
}

#[test]
fn a_member_that_does_not_answer_behind_the_recording_is_named_and_waited_for_no_longer() {
    let place = Place::new(2, 1 << 20);
    let superblocks = silent_superblocks(0, 1);
    let (recorder, mut writers) =
        place.record_over(&["main"], SHORT, |_| Answer::AsTheDisk, superblocks);
    fill(&mut writers[0], 8 << 20);
    drop(writers);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Source);
    assert_eq!(recorded.standing.streams[0].durable_bytes, 8 << 20);
    assert_eq!(recorded.standing.members[1].error, None);
    let error = recorded.standing.members[0].error.as_deref().unwrap();
    assert!(error.contains("the whole recording was durable"), "{error}");
    assert_eq!(place.whole_bytes(7), 8 << 20);
}

#[test]
fn what_is_under_way_when_the_engine_breaks_keeps_its_member_locked() {
    let place = Place::new(1, 1 << 20);
    let mut writes = 0;
    let (recorder, mut writers) = place.record(&["main"], Patience::default(), move |request| {
        writes += u32::from(is_data(request));
        match writes {
            0..5 => Answer::AsTheDisk,
            _ => Answer::Breaks,
        }
    });
    fill(&mut writers[0], u64::MAX);
    drop(writers);
    assert!(matches!(recorder.finish(), Err(RecordError::Engine(_))));
    let again = Store::open(&place.members, Mode::Record, &Roots::default());
    assert!(again.is_err(), "what is under way may still be written");
}

#[test]
fn what_waits_for_a_disk_that_hangs_is_offered_and_what_found_no_room_is_lost_at_once() {
    let place = Place::new(1, 1 << 20);
    let back = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&back);
    let (recorder, mut writers) = place.record(&["main"], SHORT, move |request| {
        match is_data(request) && !until.load(Ordering::SeqCst) {
            true => Answer::Keeps(Arc::clone(&until)),
            false => Answer::AsTheDisk,
        }
    });
    let mut filled_bytes = 0;
    while let Some(mut filling) = writers[0].lend_within(Duration::from_millis(200)) {
        let room_bytes = filling.room_bytes();
        filling.take(room_bytes, &[], 0);
        filled_bytes += room_bytes as u64;
        writers[0].commit(filling);
    }
    writers[0].skip(1_000_000, 0, GapReason::BufferFull);
    let is_reported = |standing: &RecordingProgress| standing.streams[0].gap_bytes == 1_000_000;
    let standing = recorder.board().wait_for(is_reported, PATIENCE);
    assert_eq!(standing.streams[0].offered_bytes, filled_bytes + 1_000_000);
    assert_eq!(
        standing.streams[0].settled_bytes, 0,
        "nothing has come back"
    );
    back.store(true, Ordering::SeqCst);
    drop(writers);
    let stream = &recorder.finish().unwrap().standing.streams[0];
    assert_eq!(stream.gap_bytes, 1_000_000);
    assert_eq!(stream.recorded_bytes, filled_bytes);
}
