//! Stores as a crash has left them, completed by `recover`: what was there before is there after,
//! byte for byte, and nothing is written where nothing is missing.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sustain_host::Roots;
use sustain_record::document::{list_document, list_notes, recover_document};
use sustain_record::error::RecordError;
use sustain_record::format::{AppendPlace, Descriptor, Kind, Pin};
use sustain_record::opening::Recording;
use sustain_record::reading::part::StreamPart;
use sustain_record::reading::readable::{behind_cuts, readable_pins};
use sustain_record::reading::scope::Scope;
use sustain_record::reading::stream::{Range, StreamReader};
use sustain_record::reading::verify::{Checkable, VerifyResult, verify};
use sustain_record::recorder::{
    AppendSize, Patience, RecordOptions, Recorder, RecordingProgress, StreamWriter,
};
use sustain_record::recover::Recovered;
use sustain_record::store::{CreatePlan, Mode, Renewal, Store, create};
use sustain_targets::Stop;

const SLOT_BYTES: u32 = 64 << 10;
/// Longer than any of these tests should wait for a disk.
const AT_MOST: Duration = Duration::from_secs(60);

/// A directory with the members of one store.
struct Place {
    directory: tempfile::TempDir,
    members: Vec<String>,
}

impl Place {
    /// A new store of members of so many KiB each.
    fn new(sizes_kib: &[u64]) -> Place {
        // Not in /tmp, which is often memory and refuses direct I/O.
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut place = Place {
            directory,
            members: Vec::new(),
        };
        for (index, kib) in sizes_kib.iter().enumerate() {
            let path = place.path(index);
            std::fs::File::create(&path)
                .unwrap()
                .set_len(kib << 10)
                .unwrap();
            place.members.push(path.to_str().unwrap().to_owned());
        }
        let plan = CreatePlan {
            members: place.members.clone(),
            size_bytes: None,
            slot_bytes: SLOT_BYTES,
            prewrite: false,
            destroy: place.members.clone(),
            parities: 0,
            same_disk: false,
            dry_run: false,
        };
        create(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap();
        place
    }

    fn path(&self, index: usize) -> PathBuf {
        self.directory.path().join(format!("member{index}"))
    }

    fn open(&self, mode: Mode) -> Store {
        Store::open(&self.members, mode, &Roots::default()).unwrap()
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        let members = self.members.iter();
        members
            .map(|member| std::fs::read(member).unwrap())
            .collect()
    }

    /// Puts the members back to what they were.
    fn restore(&self, bytes: &[Vec<u8>]) {
        for (member, bytes) in self.members.iter().zip(bytes) {
            let file = std::fs::File::options().write(true).open(member).unwrap();
            file.write_all_at(bytes, 0).unwrap();
            file.sync_all().unwrap();
        }
    }

    /// Records this much, and leaves the members as a kill before the end would have.
    fn record_and_crash(&self, content: &[u8]) {
        self.record_with(content, options());
    }

    fn record_with(&self, content: &[u8], options: RecordOptions) {
        self.record_parts(&[content], options);
    }

    /// The same as [`Place::record_and_crash`], but each part is durable before the next one comes.
    fn record_in_parts_and_crash(&self, parts: &[&[u8]]) {
        self.record_parts(parts, options());
    }

    fn record_parts(&self, parts: &[&[u8]], options: RecordOptions) {
        let mut recorder = Recorder::start(self.open(Mode::Record), ["main"], options).unwrap();
        let mut writer = recorder.writer("main").unwrap();
        let mut all = 0;
        for content in parts {
            write(&mut writer, content);
            all += content.len() as u64;
            let durable = |standing: &RecordingProgress| standing.streams[0].settled_bytes >= all;
            let standing = recorder.board().wait_for(durable, AT_MOST);
            assert!(durable(&standing), "{standing:?}");
        }
        let crashed = self.bytes();
        drop(writer);
        recorder.finish().unwrap();
        self.restore(&crashed);
    }

    /// Records this much, and ends the recording in order.
    fn record_in_order(&self, content: &[u8]) {
        self.record_in_order_with(content, options());
    }

    fn record_in_order_with(&self, content: &[u8], options: RecordOptions) {
        let mut recorder = Recorder::start(self.open(Mode::Record), ["main"], options).unwrap();
        let mut writer = recorder.writer("main").unwrap();
        write(&mut writer, content);
        drop(writer);
        recorder.finish().unwrap();
    }

    fn recordings(&self) -> Vec<Recording> {
        self.open(Mode::Read).recordings().unwrap()
    }

    fn recover(&self) -> Recovered {
        let mut store = self.open(Mode::Record);
        let recordings = store.recordings().unwrap();
        store.recover(&recordings, &mut |_| ()).unwrap()
    }

    /// The bytes that a reader gets of a recording's only stream; losses count by their length.
    fn read(&self, recording: &Recording) -> (Vec<u8>, u64) {
        let store = self.open(Mode::Read);
        let scope = Scope::of(recording, &store.members, store.machines(), store.clock());
        let (mut bytes, mut lost) = (Vec::new(), 0);
        for part in StreamReader::open(&scope, 0, &Range::All).unwrap() {
            match part.unwrap() {
                StreamPart::Data { bytes: data, .. } => bytes.extend_from_slice(&data),
                other => lost += other.length_bytes(),
            }
        }
        (bytes, lost)
    }

    fn verify(&self) -> VerifyResult {
        let mut store = self.open(Mode::Read);
        let recordings = store.recordings().unwrap();
        let pins = readable_pins(&mut store).unwrap();
        let checkable = Checkable {
            pins: &pins,
            ..Checkable::of(&store, &recordings)
        };
        verify(checkable, &mut |_| (), &Stop::default()).unwrap()
    }

    #[track_caller]
    fn assert_ok(&self) {
        let result = self.verify();
        assert!(result.ok, "{result:#?}");
    }

    /// Where the appends of data begin on the first member.
    fn appends(&self) -> Vec<u64> {
        self.appends_of(Kind::Data)
    }

    fn appends_of(&self, kind: Kind) -> Vec<u64> {
        self.appends_where(0, |descriptor| descriptor.kind == kind)
    }

    fn appends_where(&self, member: usize, is_wanted: impl Fn(&Descriptor) -> bool) -> Vec<u64> {
        let image = std::fs::read(self.path(member)).unwrap();
        let blocks = image.chunks_exact(4096).enumerate();
        blocks
            .filter_map(|(block, bytes)| {
                let (descriptor, _) = Descriptor::decode(bytes).ok()?;
                is_wanted(&descriptor).then_some(block as u64 * 4096)
            })
            .collect()
    }

    /// The first append of a slot of a member.
    fn first_in(&self, member: usize, slot_serial: u64) -> Descriptor {
        let place = AppendPlace {
            slot_serial,
            slot_offset_bytes: 0,
        };
        let at = self.appends_where(member, |found| found.place == place)[0] as usize;
        let image = std::fs::read(self.path(member)).unwrap();
        Descriptor::decode(&image[at..][..4096]).unwrap().0
    }

    /// Lets a member tell of a pin.
    fn tell_of_pin(&self, member: usize, pin: Pin) {
        let store = self.open(Mode::Read);
        let mut superblock = store.members[member].superblock.clone();
        superblock.pins = vec![pin];
        let file = std::fs::File::options().write(true).open(self.path(member));
        let file = file.unwrap();
        for (copy, at) in (0..).zip(superblock.geometry.superblock_offsets()) {
            file.write_all_at(&superblock.encode(copy), at).unwrap();
        }
    }

    fn damage_payload(&self, append: u64) {
        damage(&self.path(0), append + 4096);
    }
}

fn options() -> RecordOptions {
    RecordOptions {
        buffer_bytes: 4 << 20,
        append_size: AppendSize::Exactly(SLOT_BYTES),
        // Under load a disk may be slow. What lies on it is not to be copied to another one,
        // because the tests take bytes away.
        patience: Patience {
            slow_after_ns: 3_600_000_000_000,
            given_up_after_ns: 3_600_000_000_000,
        },
        ..RecordOptions::default()
    }
}

fn write(writer: &mut StreamWriter, mut content: &[u8]) {
    while !content.is_empty() {
        let Some(mut filling) = writer.lend() else {
            return;
        };
        let spare = filling.spare_mut();
        let count = spare.len().min(content.len());
        spare[..count].copy_from_slice(&content[..count]);
        filling.take(count, &[], writer.now_ns());
        writer.commit(filling);
        content = &content[count..];
    }
}

/// Bytes that differ everywhere.
fn content(count: usize) -> Vec<u8> {
    (0..count)
        .map(|at| ((at * 2_654_435_761) >> 7) as u8)
        .collect()
}

fn damage(path: &Path, at: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&[0; 4096], at).unwrap();
}

#[test]
fn an_open_end_gets_its_end_mark_and_no_byte_changes() {
    let place = Place::new(&[4096, 8192]);
    let content = content(900_000);
    place.record_and_crash(&content);
    let before = place.recordings();
    assert!(before[0].open_end);
    assert_eq!(place.read(&before[0]), (content.clone(), 0));

    let recovered = place.recover();
    assert_eq!(recovered.recording, Some(1));
    assert_eq!(recovered.marked, place.members);
    assert!(recovered.superblocks_renewed);
    assert!(recovered.notes.is_empty(), "{:?}", recovered.notes);

    let after = place.recordings();
    assert!(!after[0].open_end);
    let end = after[0].end.as_ref().unwrap();
    assert_eq!(end.ended, "recovered");
    assert_eq!(end.streams[0].offered, 900_000);
    assert_eq!(end.streams[0].recorded, 900_000);
    assert_eq!(place.read(&after[0]), (content, 0));
    place.assert_ok();
}

#[test]
fn what_a_crash_took_behind_the_durable_mark_is_named_and_no_fault() {
    let place = Place::new(&[4096]);
    let (first, second) = (content(200_000), content(50_000));
    place.record_in_parts_and_crash(&[&first, &second]);
    let crashed = place.bytes();
    let appends = place.appends();
    // The last append says that all before it were durable, and nothing says so of the last itself.
    let (last, before) = (appends[appends.len() - 1], appends[appends.len() - 2]);
    place.damage_payload(last);
    for is_recovered in [false, true] {
        let result = place.verify();
        assert!(result.ok && result.bad.is_empty(), "{result:#?}");
        let stream = &result.recordings[0].streams[0];
        assert_eq!(
            (stream.settled_bytes, stream.not_durable_bytes),
            (200_000, 50_000)
        );
        assert_eq!(stream.hole_bytes, 50_000);
        let [torn] = result.not_durable.as_slice() else {
            panic!("{result:#?}");
        };
        assert_eq!(
            (torn.from_byte, torn.to_byte),
            (Some(200_000), Some(250_000))
        );
        assert_eq!(torn.offset_bytes, Some(last + 4096));
        if !is_recovered {
            place.recover();
        }
    }
    place.restore(&crashed);
    place.damage_payload(before);
    let result = place.verify();
    assert!(!result.ok && result.not_durable.is_empty(), "{result:#?}");
    assert_eq!(result.bad[0].to_byte, Some(200_000));
    // A member that is not whole may have had what was durable.
    place.restore(&crashed);
    place.damage_payload(last);
    let file = std::fs::File::options().write(true).open(place.path(0));
    file.unwrap().set_len((4096 << 10) - 4096).unwrap();
    let result = place.verify();
    assert!(!result.ok && result.not_durable.is_empty(), "{result:#?}");
}

#[test]
fn what_is_damaged_after_recovering_is_a_fault_even_behind_the_durable_mark() {
    let place = Place::new(&[4096]);
    place.record_in_parts_and_crash(&[&content(200_000), &content(50_000)]);
    let last = *place.appends().last().unwrap();
    place.recover();
    place.assert_ok();
    place.damage_payload(last);
    let result = place.verify();
    assert!(!result.ok && result.not_durable.is_empty(), "{result:#?}");
    let [bad] = result.bad.as_slice() else {
        panic!("{result:#?}");
    };
    let lost = (bad.from_byte, bad.to_byte);
    assert_eq!(lost, (Some(200_000), Some(250_000)));
    assert_eq!(result.recordings[0].streams[0].not_durable_bytes, 0);
}

#[test]
fn the_seals_of_marks_that_are_damaged_after_recovering_are_named() {
    let place = Place::new(&[4096]);
    place.record_in_parts_and_crash(&[&content(200_000), &content(50_000)]);
    place.recover();
    place.assert_ok();
    for kind in [Kind::Start, Kind::End] {
        let whole = place.bytes();
        let mark = *place.appends_of(kind).last().unwrap();
        let (descriptor, _) = Descriptor::decode(&whole[0][mark as usize..]).unwrap();
        let seal = mark + u64::from(descriptor.append_bytes) - 60;
        let file = std::fs::File::options().write(true).open(place.path(0));
        file.unwrap().write_all_at(&[0xA5; 8], seal).unwrap();
        let result = place.verify();
        let told: Vec<Option<u64>> = result.bad.iter().map(|bad| bad.offset_bytes).collect();
        assert_eq!(told, [Some(mark)], "{kind:?}: {result:#?}");
        place.restore(&whole);
    }
}

/// Records nothing, and leaves the members as a kill behind the durable start would have.
fn record_nothing_and_crash(place: &Place) {
    let mut recorder = Recorder::start(place.open(Mode::Record), ["main"], options()).unwrap();
    let writer = recorder.writer("main").unwrap();
    // Nothing on the board tells of the start.
    while place.appends_of(Kind::Start).is_empty() {
        std::thread::yield_now();
    }
    let crashed = place.bytes();
    drop(writer);
    recorder.finish().unwrap();
    place.restore(&crashed);
}

#[test]
fn a_start_that_recovering_has_found_whole_is_a_fault_once_it_is_damaged() {
    let place = Place::new(&[4096]);
    record_nothing_and_crash(&place);
    let crashed = place.bytes();
    let start = place.appends_of(Kind::Start)[0] as usize;
    let flip = |at: usize| {
        let mut bytes = std::fs::read(place.path(0)).unwrap();
        bytes[at] ^= 1;
        std::fs::write(place.path(0), bytes).unwrap();
    };
    // What the start says, and its seal.
    for at in [start + 4096, start + 8192 - 20] {
        place.restore(&crashed);
        assert_eq!(place.recover().recording, Some(1));
        place.assert_ok();
        flip(at);
        let damaged = place.verify();
        assert!(
            !damaged.ok && damaged.not_durable.is_empty(),
            "{damaged:#?}"
        );
        // A crash may have left the same.
        place.restore(&crashed);
        flip(at);
        assert_eq!(place.recover().recording, Some(1));
        place.assert_ok();
    }
}

#[test]
fn a_mark_of_recovering_that_is_damaged_is_a_fault_though_another_member_has_it_whole() {
    let place = Place::new(&[4096, 4096]);
    place.record_and_crash(&content(500_000));
    place.recover();
    place.assert_ok();
    for end in place.appends_of(Kind::End) {
        let whole = place.bytes();
        // In the note.
        let file = std::fs::File::options().write(true).open(place.path(0));
        file.unwrap().write_all_at(b"~", end + 4096 + 20).unwrap();
        let result = place.verify();
        let told: Vec<Option<u64>> = result.bad.iter().map(|bad| bad.offset_bytes).collect();
        assert_eq!(told, [Some(end)], "{result:#?}");
        place.restore(&whole);
    }
}

#[test]
fn a_recording_that_lies_only_on_a_missing_member_is_told() {
    // The first recording fills the smaller member, unless that is slow just then.
    let place = (0..5).find_map(|_| {
        let place = Place::new(&[128 + 4 * 64 + 128, 4096]);
        for bytes in [1 << 20, 100_000] {
            place.record_and_crash(&content(bytes));
            place.recover();
        }
        place.assert_ok();
        let mut store = Store::open(&place.members[..1], Mode::Read, &Roots::default()).unwrap();
        (store.recordings().unwrap().len() == 1).then_some(place)
    });
    let place = place.expect("nothing of the second is on the smaller member");
    let members = &place.members[..1];
    let mut store = Store::open(members, Mode::Read, &Roots::default()).unwrap();
    let recordings = store.recordings().unwrap();
    let checkable = Checkable::of(&store, &recordings);
    assert_eq!(checkable.unseen_recordings(), [2]);
    let result = verify(checkable, &mut |_| (), &Stop::default()).unwrap();
    assert!(result.bad.iter().any(|bad| bad.recording == Some(2)));
    let listed = list_document(&store, &recordings).unwrap();
    assert!(listed.notes.iter().any(|note| note.contains("recording 2")));
}

#[test]
fn a_recording_of_which_nothing_is_left_fails_recovering_as_it_fails_the_check() {
    for is_first in [true, false] {
        let place = Place::new(&[4096]);
        if !is_first {
            place.record_and_crash(&content(100_000));
            place.recover();
        }
        place.record_in_order(&content(300_000));
        place.assert_ok();
        let newest = place.recordings()[0].number;
        for at in place.appends_where(0, |descriptor| descriptor.recording == newest) {
            damage(&place.path(0), at);
        }
        for _ in 0..2 {
            assert!(!place.verify().ok);
            let recovered = place.recover();
            assert_eq!(recovered.lost_marks, 1, "{recovered:?}");
            let [note] = recovered.notes.as_slice() else {
                panic!("{recovered:?}");
            };
            assert!(
                note.contains("nothing of that recording is found"),
                "{note}"
            );
        }
    }
}

#[test]
fn bytes_that_are_on_no_member_any_more_fail_recovering_as_they_fail_the_check() {
    // The first has no space for more than seven of ten appends, however fast it is, so that the
    // last ones of the second are data and the end mark.
    let place = Place::new(&[832, 4096]);
    place.record_in_order(&content(600_000));
    assert_eq!(place.recover(), Recovered::default());
    // Only the sum of what all members were given tells of the last ones.
    let of_data = |descriptor: &Descriptor| descriptor.kind != Kind::Start;
    let lost = place.appends_where(1, of_data);
    lost[lost.len() - 2..]
        .iter()
        .for_each(|at| damage(&place.path(1), *at));
    for _ in 0..2 {
        let checked = place.verify();
        let hole_bytes = checked.recordings[0].streams[0].hole_bytes;
        assert!(!checked.ok && hole_bytes > 0, "{checked:#?}");
        let recovered = place.recover();
        assert_eq!(recovered.lost_bytes, hole_bytes, "{recovered:?}");
        let mut notes = recovered.notes.iter();
        assert!(
            notes.any(|note| note.contains("are on no member any more")),
            "{recovered:?}"
        );
    }
}

#[test]
fn a_member_that_comes_back_older_fails_recovering_in_a_ring_that_has_not_gone_round() {
    for ring in [false, true] {
        let place = Place::new(&[3072, 3072, 3072]);
        let old = place.bytes();
        let options = RecordOptions { ring, ..options() };
        place.record_in_order_with(&content(1_500_000), options);
        // A member that was slow may have got next to nothing.
        let of_data = |descriptor: &Descriptor| descriptor.kind == Kind::Data;
        let most = (0..3).max_by_key(|member| place.appends_where(*member, of_data).len());
        let most = most.unwrap();
        std::fs::write(place.path(most), &old[most]).unwrap();
        let checked = place.verify();
        let hole_bytes = checked.recordings[0].streams[0].hole_bytes;
        assert!(hole_bytes > 0, "{checked:#?}");
        let recovered = place.recover();
        assert_eq!(recovered.lost_bytes, hole_bytes, "ring {ring}");
        let mut notes = recovered.notes.iter();
        let is_reported = notes.any(|note| note.contains("are on no member any more"));
        assert!(is_reported, "{recovered:?}");
    }
}

#[test]
fn bytes_lost_in_a_ring_that_has_gone_round_fail_recovering_as_they_fail_the_check() {
    for is_cut in [false, true] {
        let place = Place::new(&[2048, 2048, 2048]);
        let options = RecordOptions {
            ring: true,
            ..options()
        };
        let mut recorder = Recorder::start(place.open(Mode::Record), ["main"], options).unwrap();
        let mut writer = recorder.writer("main").unwrap();
        let mut written = 0;
        let mut old = Vec::new();
        // Each append tells of those before it that they are durable.
        for count in [9_000_000, 600_000, 200_000, 200_000, 200_000, 200_000] {
            if written == 9_000_000 {
                old = place.bytes();
            }
            write(&mut writer, &content(count));
            written += count as u64;
            let durable =
                |standing: &RecordingProgress| standing.streams[0].settled_bytes >= written;
            let standing = recorder.board().wait_for(durable, AT_MOST);
            assert!(durable(&standing), "{standing:?}");
        }
        let crashed = place.bytes();
        drop(writer);
        recorder.finish().unwrap();
        if is_cut {
            place.restore(&crashed);
        }
        let whole = place.verify();
        assert!(whole.ok, "{whole:#?}");
        let overwritten_bytes = whole.recordings[0].streams[0].overwritten_bytes;
        assert!(overwritten_bytes > 0, "{whole:#?}");
        std::fs::write(place.path(2), &old[2]).unwrap();
        for _ in 0..2 {
            let checked = place.verify();
            let stream = &checked.recordings[0].streams[0];
            let lost_bytes = stream.hole_bytes - stream.not_durable_bytes;
            assert!(!checked.ok && lost_bytes > 0, "{checked:#?}");
            let recovered = place.recover();
            assert_eq!(recovered.lost_bytes, lost_bytes, "{recovered:?}");
            let mut notes = recovered.notes.iter();
            let is_reported = notes.any(|note| note.contains("are on no member any more"));
            assert!(is_reported, "{recovered:?}");
        }
    }
}

#[test]
fn what_was_durable_before_an_open_end_and_is_gone_fails_recovering_as_it_fails_the_check() {
    let place = Place::new(&[2048, 2048, 2048, 2048]);
    let old = place.bytes();
    let (first, second) = (content(600_000), content(100_000));
    place.record_in_parts_and_crash(&[&first, &second, &second]);
    std::fs::write(place.path(1), &old[1]).unwrap();
    let store = place.open(Mode::Read);
    let notes = list_notes(&store, &place.recordings());
    assert!(
        notes.iter().any(|note| note.contains("`sustain verify`")),
        "{notes:?}"
    );
    drop(store);
    let durable_loss = |checked: &VerifyResult| {
        let stream = &checked.recordings[0].streams[0];
        stream.hole_bytes - stream.not_durable_bytes
    };
    let checked = place.verify();
    let lost_bytes = durable_loss(&checked);
    assert!(!checked.ok && lost_bytes > 0, "{checked:#?}");
    // Before its end mark is written, and by that mark.
    for recording in [Some(1), None] {
        let recovered = place.recover();
        assert_eq!(recovered.recording, recording);
        assert_eq!(recovered.lost_bytes, lost_bytes, "{recovered:?}");
        assert_eq!(durable_loss(&place.verify()), lost_bytes);
    }
}

#[test]
fn what_is_gone_of_an_older_open_end_is_counted_and_shown_as_the_check_counts_it() {
    let place = Place::new(&[2048, 2048, 2048, 2048]);
    let old = place.bytes();
    let (first, second) = (content(600_000), content(100_000));
    place.record_in_parts_and_crash(&[&first, &second, &second]);
    place.record_in_order(&second);
    std::fs::write(place.path(1), &old[1]).unwrap();
    let checked = place.verify();
    assert!(
        checked.recordings[0].open_end && !checked.ok,
        "{checked:#?}"
    );
    let mut store = place.open(Mode::Record);
    let recordings = store.recordings().unwrap();
    let recovered = store.recover(&recordings, &mut |_| ()).unwrap();
    let shown = recover_document(&store, &recordings, &recovered);
    let mut lost_bytes = 0;
    for (shown, checked) in shown.recordings.iter().zip(&checked.recordings) {
        let stream = &checked.streams[0];
        let of_stream = stream.hole_bytes - stream.not_durable_bytes;
        assert_eq!(shown.streams[0].hole_bytes, of_stream, "{recovered:?}");
        lost_bytes += of_stream;
    }
    assert!(lost_bytes > 0, "{checked:#?}");
    assert_eq!(recovered.lost_bytes, lost_bytes, "{recovered:?}");
}

#[test]
fn what_is_in_order_is_not_written_to() {
    let place = Place::new(&[4096, 4096]);
    place.record_and_crash(&content(500_000));
    place.recover();
    let before = place.bytes();
    assert_eq!(place.recover(), Recovered::default());
    assert!(place.bytes() == before);
    let unused = Place::new(&[4096]);
    let before = unused.bytes();
    assert_eq!(unused.recover(), Recovered::default());
    assert!(unused.bytes() == before);
}

#[test]
fn damaged_copies_of_superblocks_are_renewed() {
    let place = Place::new(&[4096, 4096]);
    place.record_and_crash(&content(300_000));
    place.recover();
    let end = std::fs::metadata(place.path(1)).unwrap().len();
    for at in [0, 64 << 10, end - (128 << 10), end - 4096] {
        damage(&place.path(1), at);
        let recovered = place.recover();
        assert!(recovered.superblocks_renewed, "the copy at {at}");
        assert_eq!(recovered.recording, None);
        place.assert_ok();
    }
}

#[test]
fn the_next_recording_begins_behind_the_end_mark() {
    let place = Place::new(&[4096, 4096]);
    let (first, second) = (content(400_000), content(250_000));
    place.record_and_crash(&first);
    place.recover();
    place.record_and_crash(&second);
    place.recover();
    let recordings = place.recordings();
    let numbers: Vec<u32> = recordings
        .iter()
        .map(|recording| recording.number)
        .collect();
    assert_eq!(numbers, [2, 1]);
    assert_eq!(place.read(&recordings[0]), (second, 0));
    assert_eq!(place.read(&recordings[1]), (first, 0));
    place.assert_ok();
}

#[test]
fn an_open_end_that_others_follow_stays_and_is_named() {
    let place = Place::new(&[4096, 4096]);
    let first = content(400_000);
    place.record_and_crash(&first);
    place.record_and_crash(&content(100_000));
    let recovered = place.recover();
    assert_eq!(recovered.recording, Some(2));
    assert!(
        recovered.notes[0].contains("recording 1 has an open end"),
        "{recovered:?}"
    );
    let recordings = place.recordings();
    assert!(recordings[1].open_end);
    assert_eq!(place.read(&recordings[1]), (first, 0));
    place.assert_ok();
}

#[test]
fn a_loss_before_the_crash_is_the_same_hole_before_and_after() {
    let place = Place::new(&[4096]);
    let content = content(600_000);
    place.record_and_crash(&content);
    // The descriptor of an append in the middle is damaged: slots of 64 KiB begin at 128 KiB.
    damage(&place.path(0), (128 << 10) + 4 * u64::from(SLOT_BYTES));
    let before = place.recordings();
    let (bytes, lost) = place.read(&before[0]);
    assert!(lost > 0);
    assert_eq!(bytes.len() as u64 + lost, 600_000);
    place.recover();
    let after = place.recordings();
    assert_eq!(place.read(&after[0]), (bytes, lost));
    assert_eq!(after[0].end.as_ref().unwrap().streams[0].offered, 600_000);
}

#[test]
fn a_ring_gets_its_end_mark_over_its_oldest_slot() {
    for members in 1..=2 {
        assert_end_mark_over_the_oldest_slot(&vec![2048; members]);
    }
}

#[track_caller]
fn assert_end_mark_over_the_oldest_slot(blocks: &[u64]) {
    let place = Place::new(blocks);
    let content = content(9_000_000);
    let ring = RecordOptions {
        ring: true,
        ..options()
    };
    place.record_with(&content, ring);
    let before = place.recordings();
    let (bytes, overwritten) = place.read(&before[0]);
    assert!(overwritten > 0);
    assert!(content.ends_with(&bytes));

    assert_eq!(place.recover().recording, Some(1));
    let after = place.recordings();
    assert!(!after[0].open_end);
    let (left, _) = place.read(&after[0]);
    assert!(content.ends_with(&left));
    // Of two members that were not equally fast, what lies between their oldest slots goes, too.
    if blocks.len() == 1 {
        let (left, before) = (left.len() as u64, bytes.len() as u64);
        let slots = 2 * u64::from(SLOT_BYTES);
        assert!(left + slots >= before, "{left} of {before}");
    }
    place.assert_ok();
}

#[test]
fn what_has_to_be_read_before_a_crashed_ring_is_recovered_is_told_slot_by_slot() {
    let place = Place::new(&[2048]);
    let ring = RecordOptions {
        ring: true,
        ..options()
    };
    place.record_with(&content(9_000_000), ring);
    let mut store = place.open(Mode::Record);
    let recordings = store.recordings().unwrap();
    let told = std::cell::RefCell::new(Vec::new());
    let mut observer = |read_bytes: u64| told.borrow_mut().push(read_bytes);
    behind_cuts(Checkable::of(&store, &recordings), &mut observer).unwrap();
    let slot = u64::from(SLOT_BYTES);
    let looked_at = told.take();
    assert!(
        looked_at.len() > 1 && looked_at.contains(&slot),
        "{looked_at:?}"
    );
    store.recover(&recordings, &mut observer).unwrap();
    assert!(
        told.take().len() > looked_at.len(),
        "and behind what was durable"
    );
}

/// A store whose members are full of one recording.
fn full() -> (Place, Recording) {
    let place = Place::new(&[1024, 1024]);
    place.record_in_order(&content(4 << 20));
    let recording = place.recordings().remove(0);
    assert!(recording.streams[0].recorded_bytes < 4 << 20, "it is full");
    (place, recording)
}

/// Renews the superblocks as a ring does before its first start, and writes nothing more.
fn begin_ring_in_vain(place: &Place) {
    let mut store = place.open(Mode::Record);
    let slots_begun = store.slots_begun_at_start(true);
    let renewed = store.renew_superblocks(&slots_begun, Renewal::Begins);
    renewed.unwrap();
}

#[test]
fn a_ring_that_was_cut_off_before_its_first_start_has_overwritten_nothing() {
    let (place, before) = full();
    let read = place.read(&before);
    for _ in 0..2 {
        begin_ring_in_vain(&place);
        let after = place.recordings().remove(0);
        assert_eq!(after.streams, before.streams);
        assert_eq!(after.started_ns, before.started_ns);
        assert_eq!(after.readable_from_sequence, None);
        assert!(place.read(&after) == read, "a byte differs");
        place.assert_ok();
        assert_eq!(place.recover(), Recovered::default());
    }
    // The ring that comes next overwrites the start, and passes on what it says.
    let ring = RecordOptions {
        ring: true,
        ..options()
    };
    place.record_with(&content(50_000), ring);
    let overwritten = &place.recordings()[1];
    assert_eq!(overwritten.streams[0].name, "main");
    assert_eq!(overwritten.started_ns, before.started_ns);
    place.assert_ok();
}

#[test]
fn only_what_the_first_start_of_a_ring_may_have_half_overwritten_is_no_damage() {
    // Two starts may have come to the slots 0 and 1. The own start is all that is in the first.
    let (place, before) = full();
    begin_ring_in_vain(&place);
    begin_ring_in_vain(&place);
    let [first, second] = [1, 2].map(|slot: u64| {
        let found = place.appends_where(0, |found| {
            found.kind == Kind::Data && found.place.slot_serial == slot
        });
        found[0]
    });
    place.damage_payload(first);
    place.assert_ok();
    let cut = &behind_cuts_of(&place)[0];
    assert!(cut.readable_from_sequence.is_some());
    assert_eq!(cut.streams[0].name, before.streams[0].name);
    place.damage_payload(second);
    assert!(!place.verify().ok);
}

/// A ring that crashed just before it came to the slots of a pin, and where the appends lie that
/// the first of these slots has.
fn crashed_in_front_of_a_pin(append_bytes: u32) -> (Place, Vec<u64>) {
    let place = Place::new(&[2048]);
    let ring = RecordOptions {
        ring: true,
        append_size: AppendSize::Exactly(append_bytes),
        ..options()
    };
    // The pin knows that its first slot was durable: the second part begins in a later one of it.
    place.record_parts(&[&content(7_750_000), &content(1_250_000)], ring);
    let store = place.open(Mode::Read);
    let slot_count = store.members[0].superblock.geometry.slot_count;
    let newest = store.tails[0].last.as_ref().unwrap().place.slot_serial;
    let from_slot = newest + 1 - slot_count;
    let first_made_ns = place.first_in(0, from_slot).made_time_ns;
    let pin = Pin {
        number: 1,
        from_slot,
        end_slot: Some(from_slot + 8),
        end_sequence: 2 << 20,
        told_sequence: 0,
        freed_slot: None,
        from_time_ns: first_made_ns,
        to_time_ns: first_made_ns,
    };
    place.tell_of_pin(0, pin);
    let appends = place.appends_where(0, |found| found.place.slot_serial == from_slot);
    (place, appends)
}

#[test]
fn damage_to_what_a_pin_keeps_is_none_of_the_crashs_work() {
    for append_bytes in [SLOT_BYTES, SLOT_BYTES / 4] {
        let (place, appends) = crashed_in_front_of_a_pin(append_bytes);
        let file = std::fs::File::options().write(true).open(place.path(0));
        let file = file.unwrap();
        for is_recovered in [false, true] {
            if is_recovered {
                place.recover();
            }
            let result = place.verify();
            assert!(result.ok && result.pins[0].is_whole, "{result:#?}");
            let whole = &place.bytes()[0];
            for append in [appends.first(), appends.last()] {
                let append = *append.unwrap();
                for at in [append, append + 4096] {
                    damage(&place.path(0), at);
                    let result = place.verify();
                    assert!(!result.ok && !result.pins[0].is_whole, "{at}: {result:#?}");
                    let block = &whole[at as usize..][..4096];
                    file.write_all_at(block, at).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_pin_is_checked_where_the_ring_begins_behind_it_in_the_same_slots() {
    let place = Place::new(&[2048, 2048]);
    let ring = RecordOptions {
        ring: true,
        ..options()
    };
    place.record_with(&content(9_000_000), ring);
    let store = place.open(Mode::Read);
    let slot_count = store.members[0].superblock.geometry.slot_count;
    let newest = [0, 1].map(|member: usize| {
        let last = store.tails[member].last.as_ref();
        last.unwrap().place.slot_serial
    });
    let oldest = newest.map(|serial| serial + 1 - slot_count);
    // On the first member the pin has nothing of it.
    let made_time_ns = place.first_in(1, oldest[1]).made_time_ns;
    for (member, from_slot) in [(0, newest[0] + 1), (1, oldest[1])] {
        let pin = Pin {
            number: 1,
            from_slot,
            end_slot: Some(from_slot + 1),
            end_sequence: 2 << 20,
            told_sequence: 0,
            freed_slot: None,
            from_time_ns: made_time_ns,
            to_time_ns: made_time_ns,
        };
        place.tell_of_pin(member, pin);
    }
    let begins_behind = oldest[0] + 10;
    let hit = place.appends_where(0, |found| {
        (oldest[0]..begins_behind).contains(&found.place.slot_serial)
    });
    hit.into_iter()
        .for_each(|append| place.damage_payload(append));
    let result = place.verify();
    assert!(result.pins[0].is_whole, "{result:#?}");
    let kept = place.appends_where(1, |found| found.place.slot_serial == oldest[1]);
    damage(&place.path(1), kept[0] + 4096);
    let result = place.verify();
    assert!(!result.pins[0].is_whole, "{result:#?}");
}

#[test]
fn an_end_of_a_pin_that_a_crash_has_kept_from_one_member_holds_for_all() {
    let place = Place::new(&[2048, 2048]);
    let ring = || RecordOptions {
        ring: true,
        ..options()
    };
    place.record_parts(&[&content(1_000_000), &content(400_000)], ring());
    let [first, behind] = [0, 2].map(|slot| place.first_in(0, slot));
    let open = Pin {
        number: 1,
        from_slot: 0,
        end_slot: None,
        end_sequence: 0,
        told_sequence: 0,
        freed_slot: None,
        from_time_ns: first.made_time_ns,
        to_time_ns: behind.made_time_ns,
    };
    let ended = Pin {
        end_slot: Some(2),
        end_sequence: behind.sequence,
        told_sequence: 0,
        ..open
    };
    place.tell_of_pin(0, ended);
    place.tell_of_pin(1, open);
    place.record_in_order_with(&content(9_000_000), ring());
    let result = place.verify();
    assert!(result.ok && result.pins[0].is_whole, "{result:#?}");
}

fn behind_cuts_of(place: &Place) -> Vec<Recording> {
    let mut store = place.open(Mode::Read);
    let recordings = store.recordings().unwrap();
    behind_cuts(Checkable::of(&store, &recordings), &mut |_| ()).unwrap()
}

#[test]
fn a_store_without_all_members_is_refused() {
    let place = Place::new(&[4096, 4096]);
    place.record_and_crash(&content(300_000));
    let before = place.bytes();
    let refused = Store::open(&place.members[..1], Mode::Record, &Roots::default());
    assert!(
        matches!(refused, Err(RecordError::Incomplete(_))),
        "{refused:?}"
    );
    assert!(place.bytes() == before);
}

#[test]
fn a_member_without_a_free_slot_keeps_its_open_end_and_is_named() {
    let place = Place::new(&[128 + 4 * 64 + 128]);
    let content = content(4 * SLOT_BYTES as usize);
    let mut recorder = Recorder::start(place.open(Mode::Record), ["main"], options()).unwrap();
    let mut writer = recorder.writer("main").unwrap();
    write(&mut writer, &content);
    drop(writer);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended.name(), "full");
    lose_end_mark(&place);
    let found = place.recordings();
    assert!(found[0].open_end);
    let (bytes, lost) = place.read(&found[0]);
    assert!(!bytes.is_empty() && content.starts_with(&bytes));

    let recovered = place.recover();
    assert_eq!((recovered.recording, recovered.lost_marks), (None, 1));
    assert!(!place.verify().ok);
    for told in [
        "recording 1, at byte",
        "its end mark is damaged or lost",
        "it is full",
    ] {
        let mut notes = recovered.notes.iter();
        assert!(notes.any(|note| note.contains(told)), "{recovered:?}");
    }
    assert_eq!(place.read(&place.recordings()[0]), (bytes, lost));
}

/// Damages the last append of the only member, if it is an end mark.
fn lose_end_mark(place: &Place) {
    let store = place.open(Mode::Read);
    let last = store.tails[0].last.as_ref().unwrap();
    if last.kind == Kind::End {
        let geometry = store.members[0].superblock.geometry;
        damage(&place.path(0), geometry.offset_of(last.place));
    }
}
