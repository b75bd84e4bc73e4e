//! Tests of stores that are created and opened on files and on simulated machines.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sustain_disk::clock::Clock;
use sustain_disk::engine::{SharedMachine, SimulatedTarget};
use sustain_disk::simulated::{Machine, MachineFile};
use sustain_disk::target::{Target, TargetKind};
use sustain_host::Roots;
use sustain_record::error::RecordError;
use sustain_record::format::{self, Geometry};
use sustain_record::member_io::{MemberIo, ReadOrder};
use sustain_record::recorder::RecordOptions;
use sustain_record::run::{RecordPlan, SourcePlan, record};
use sustain_record::source::SourceSpec;
use sustain_record::source::framing::Framing;
use sustain_record::store::{
    CreateEvent, CreatePlan, Created, FILE_NAME, Mode, Renewal, Store, create, create_simulated,
};
use sustain_targets::{SimulatedDisk, Stop};
use sustain_testing::{Requirement, skip};

#[path = "../../src/opening/tests/image.rs"]
#[allow(dead_code, reason = "the opening itself is tested with more of it")]
mod image;

use image::Image;

const SLOT: u32 = 64 << 10;
const MIB: u64 = 1 << 20;
const SIZE: u64 = 2 * MIB;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn names(&self, names: &[&str]) -> Vec<String> {
        names.iter().map(|name| self.name(name)).collect()
    }

    /// What was said, as if this place were the root, a sentence on each line.
    fn words(&self, said: impl std::fmt::Display) -> String {
        let folder = self.folder.path().to_str().unwrap();
        said.to_string().replace(folder, "").replace(". ", ".\n")
    }

    fn files(&self) -> usize {
        fs::read_dir(self.folder.path()).unwrap().count()
    }
}

fn plan(members: Vec<String>) -> CreatePlan {
    CreatePlan {
        members,
        size_bytes: Some(SIZE),
        slot_bytes: SLOT,
        prewrite: false,
        destroy: Vec::new(),
        parities: 0,
        same_disk: false,
        dry_run: false,
    }
}

fn make(plan: &CreatePlan) -> Result<(Created, Vec<CreateEvent>), RecordError> {
    let mut events = Vec::new();
    let made = create(plan, &Roots::default(), &Stop::default(), &mut |event| {
        events.push(event);
    })?;
    Ok((made, events))
}

fn open(names: &[String], mode: Mode) -> Result<Store, RecordError> {
    Store::open(names, mode, &Roots::default())
}

fn refusal(names: &[String], mode: Mode) -> String {
    open(names, mode).unwrap_err().to_string()
}

/// The notes, without those of free space, which is another on each machine.
fn notes(events: &[CreateEvent]) -> String {
    let notes = events.iter().filter_map(|event| match event {
        CreateEvent::Note(note) => Some(note.as_str()).filter(|note| {
            let of_space = [" free, ", " free)", " are free"];
            !of_space.iter().any(|words| note.contains(words))
        }),
        CreateEvent::Prewrite { .. } => None,
    });
    notes.collect::<Vec<_>>().join("\n")
}

/// Writes the content of an image to the members of a store, superblocks included.
fn put(image: &Image, mut write: impl FnMut(usize, u64, &[u8])) {
    for (index, member) in image.members.iter().enumerate() {
        for (block, bytes) in &member.medium.blocks {
            write(index, block * 4096, bytes);
        }
        let offsets = member.superblock.geometry.superblock_offsets();
        for (copy, offset_bytes) in (0..).zip(offsets) {
            write(index, offset_bytes, &member.superblock.encode(copy));
        }
    }
}

fn put_on_files(image: &Image, names: &[String]) {
    put(image, |member, offset_bytes, bytes| {
        let file = OpenOptions::new().write(true).open(&names[member]).unwrap();
        file.write_all_at(bytes, offset_bytes).unwrap();
    });
}

fn image_of(store: &Store) -> Image {
    Image::of(
        store
            .members
            .iter()
            .map(|member| member.superblock.clone())
            .collect(),
    )
}

/// Damages a file by changing what is there.
fn damage(path: &Path, offset_bytes: u64) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset_bytes).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset_bytes).unwrap();
}

#[test]
fn a_store_of_new_files_is_made_and_opened_in_any_order() {
    let place = Place::new();
    let names = place.names(&["a", "b", "c"]);
    let (made, events) = make(&plan(names.clone())).unwrap();
    insta::assert_snapshot!(place.words(notes(&events)), @"
    /a and /b and /c are on the same file system: together they are no faster than its disk
    ");
    assert_eq!(made.members.len(), 3);
    for member in &made.members {
        assert!(member.is_new);
        assert_eq!(fs::metadata(&member.name).unwrap().len(), SIZE);
    }
    let mut turned = names.clone();
    turned.rotate_left(1);
    for mode in [Mode::Read, Mode::Record] {
        let mut store = open(&turned, mode).unwrap();
        assert_eq!(Some(store.id), made.store);
        assert_eq!(store.slot_bytes, SLOT);
        let in_order: Vec<&String> = store.members.iter().map(|member| &member.name).collect();
        assert_eq!(in_order, names.iter().collect::<Vec<_>>());
        assert!(store.missing.is_empty() && store.notes.is_empty());
        assert!(
            store
                .tails
                .iter()
                .all(|tail| tail.clean_end && tail.next_slot_serial == 0)
        );
        assert!(store.recordings().unwrap().is_empty());
        assert_eq!(
            (store.next_recording(), store.first_sequence()),
            (1, 1 << 20)
        );
        assert_eq!(store.slots_begun_at_start(false), [1, 1, 1]);
    }
}

#[test]
fn prewriting_writes_every_byte_and_says_how_far_it_is() {
    let place = Place::new();
    let names = place.names(&["a", "b"]);
    let plan = CreatePlan {
        prewrite: true,
        ..plan(names.clone())
    };
    let (_, events) = make(&plan).unwrap();
    let last = CreateEvent::Prewrite {
        bytes_done: 2 * SIZE,
        bytes_all: 2 * SIZE,
    };
    assert_eq!(events.last(), Some(&last));
    let store = open(&names, Mode::Record).unwrap();
    for member in &store.members {
        assert!(member.superblock.is_prewritten);
        let bytes = fs::read(&member.name).unwrap();
        let geometry = member.superblock.geometry;
        let first = geometry.first_slot_offset_bytes as usize;
        let slots = &bytes[first..geometry.slots_end_bytes() as usize];
        assert!(
            slots
                .chunks(4096)
                .all(|block| block.iter().any(|byte| *byte != 0))
        );
    }
}

#[test]
fn an_interrupted_creation_leaves_no_new_file_and_says_what_is_lost() {
    let place = Place::new();
    fs::write(place.path("old"), vec![1; SIZE as usize]).unwrap();
    let names = place.names(&["new", "old"]);
    let plan = CreatePlan {
        prewrite: true,
        destroy: vec![names[1].clone()],
        ..plan(names.clone())
    };
    let stop = Stop::default();
    stop.interrupt();
    let error = create(&plan, &Roots::default(), &stop, &mut |_| ()).unwrap_err();
    assert!(matches!(error, RecordError::Interrupted(_)));
    insta::assert_snapshot!(place.words(error), @"interrupted before this was complete: new files were removed; what was in /old is lost");
    assert!(!place.path("new").exists() && place.path("old").exists());
}

#[test]
fn what_exists_is_kept_unless_it_is_named_for_destruction() {
    let place = Place::new();
    let names = place.names(&["a", "old"]);
    fs::write(place.path("old"), vec![1; 3 * MIB as usize]).unwrap();
    let mut plan = plan(names.clone());
    insta::assert_snapshot!(place.words(make(&plan).unwrap_err()), @"
    refusing to write /old: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add the permission to destroy /old; to leave it as it is, name another member
    ");
    assert_eq!(place.files(), 1, "the new file is taken back");
    assert_eq!(
        fs::read(place.path("old")).unwrap(),
        vec![1; 3 * MIB as usize]
    );
    plan.destroy = vec![names[1].clone()];
    plan.size_bytes = None;
    plan.dry_run = true;
    let (would, events) = make(&plan).unwrap();
    assert_eq!(would.store, None);
    insta::assert_snapshot!(place.words(notes(&events)), @"
    /old: what is on it (data of a kind not recognised) is destroyed
    /a and /old are on the same file system: together they are no faster than its disk
    ");
    assert_eq!(place.files(), 1, "a dry run touches nothing");
    assert_eq!(
        fs::read(place.path("old")).unwrap(),
        vec![1; 3 * MIB as usize]
    );
    plan.dry_run = false;
    plan.members.remove(0);
    let (made, _) = make(&plan).unwrap();
    assert_eq!(
        made.members[0].geometry.member_bytes,
        3 * MIB,
        "it keeps its size"
    );
    // Now it is a store, which is not destroyed without being named either.
    plan.destroy.clear();
    insta::assert_snapshot!(place.words(make(&plan).unwrap_err()), @"
    refusing to write /old: it exists (sustain store) and would be overwritten.
    To destroy what is on it, add the permission to destroy /old; to leave it as it is, name another member
    ");
    assert_eq!(Some(open(&names[1..], Mode::Read).unwrap().id), made.store);
    plan.destroy = vec![names[1].clone()];
    let (again, _) = make(&plan).unwrap();
    let store = open(&names[1..], Mode::Read).unwrap();
    assert_eq!(Some(store.id), again.store);
    assert_ne!(again.store, made.store);
}

#[test]
fn a_directory_stands_for_a_file_in_it() {
    let place = Place::new();
    let names = place.names(&["disk"]);
    fs::create_dir(place.path("disk")).unwrap();
    insta::assert_snapshot!(place.words(refusal(&names, Mode::Read)), @"/disk: this directory holds no member of a store: create one with `sustain create`");
    make(&plan(names.clone())).unwrap();
    assert!(place.path("disk").join(FILE_NAME).is_file());
    assert_eq!(open(&names, Mode::Record).unwrap().members.len(), 1);
    let twice = vec![names[0].clone(), place.name(&format!("disk/{FILE_NAME}"))];
    insta::assert_snapshot!(place.words(refusal(&twice, Mode::Read)), @"/disk and /disk/sustain.store are the same thing: leave one out");
}

#[test]
fn what_cannot_be_a_member_is_refused_before_anything_is_touched() {
    let place = Place::new();
    let small = CreatePlan {
        size_bytes: Some(256 << 10),
        ..plan(place.names(&["small"]))
    };
    let refused = |plan: &CreatePlan| place.words(make(plan).unwrap_err());
    insta::assert_snapshot!(refused(&small), @"/small: 256 KiB is too small: with this slot size a member needs at least 384 KiB; make it larger, or use `sustain create` with a smaller slot size");
    let odd = CreatePlan {
        slot_bytes: 100_000,
        ..plan(place.names(&["odd"]))
    };
    insta::assert_snapshot!(refused(&odd), @"/odd: 100000 bytes is not a slot size: choose a power of two from 64 KiB to 16 MiB");
    std::fs::write(place.path("file"), "").unwrap();
    let members = [
        vec![],
        place.names(&["x"; 129]),
        vec!["/dev/null".to_owned()],
        vec!["null:".to_owned()],
        vec!["sim:x.toml:a".to_owned()],
        place.names(&["none/x"]),
        place.names(&["file/"]),
        place.names(&["x", "x"]),
    ];
    let all_refused = members.map(|members| refused(&plan(members))).join("\n\n");
    insta::assert_snapshot!(all_refused, @"
    a store has 1 to 128 members, and 0 were given

    a store has 1 to 128 members, and 129 were given

    /dev/null: it is a character device; name a block device, a file or a directory

    null: does not keep what is written to it: name block devices, files or directories

    sim:x.toml:a does not keep what is written to it: name block devices, files or directories

    /none/x: the directory /none does not exist: create it first

    /file/ would be a directory, because of the slash at its end, but /file is a file: name /file to use the file itself, or name another directory

    /x and /x are the same thing: leave one out
    ");
    std::fs::remove_file(place.path("file")).unwrap();
    let slip = CreatePlan {
        destroy: vec!["y".to_owned()],
        ..plan(place.names(&["x"]))
    };
    insta::assert_snapshot!(refused(&slip), @"the permission to destroy y names none of the targets; write it exactly as the target is written");
    assert_eq!(place.files(), 0);
}

#[test]
fn the_idle_machine_is_watched_only_for_who_wants_to_know() {
    let place = Place::new();
    make(&plan(place.names(&["a"]))).unwrap();
    fs::write(place.path("source"), "of great value").unwrap();
    for watches_idle in [false, true] {
        let source = SourcePlan {
            typed: "source".to_owned(),
            source: SourceSpec::Path(place.path("source")),
            stream: "main".to_owned(),
            framing: Framing::None,
        };
        let plan = RecordPlan {
            members: place.names(&["a"]),
            sources: vec![source],
            options: RecordOptions {
                buffer_bytes: MIB,
                ..RecordOptions::default()
            },
            watches_idle,
            ..RecordPlan::default()
        };
        let result = record(&plan, &Roots::default(), &Stop::default(), &mut |_| ());
        let result = result.unwrap().unwrap();
        assert!(result.total.rate_held);
        let before = result.system.samples.iter();
        let is_before = before
            .map(|sample| sample.time_s)
            .any(|time_s| time_s <= 0.0);
        assert_eq!(is_before, watches_idle);
    }
}

#[test]
fn missing_members_are_named_and_keep_recorders_away() {
    let place = Place::new();
    let names = place.names(&["a", "b", "c"]);
    make(&plan(names.clone())).unwrap();
    let whole = open(&names, Mode::Read).unwrap();
    let there = [names[2].clone(), names[0].clone()];
    let store = open(&there, Mode::Read).unwrap();
    assert_eq!(store.missing.len(), 1);
    assert_eq!(store.missing[0].index, 1);
    assert_eq!(store.missing[0].member, whole.members[1].superblock.member);
    let error = open(&there, Mode::Record).unwrap_err();
    assert!(matches!(error, RecordError::Incomplete(_)));
    let missing = store.missing[0].member.to_string();
    let text = place.words(error).replace(&missing, "ID");
    insta::assert_snapshot!(text, @"
    writing to a store needs all of its 3 members, and member 2 (ID) is missing: name it, or plug it in.
    What is on the others can be read without it.
    To record meanwhile, use another store
    ");
}

#[test]
fn what_does_not_belong_together_is_named() {
    let place = Place::new();
    let names = place.names(&["a", "b"]);
    make(&plan(names.clone())).unwrap();
    let other = place.names(&["other"]);
    make(&plan(other.clone())).unwrap();
    let mixed = [names[0].clone(), other[0].clone()];
    let refused = |names: &[String], mode| place.words(refusal(names, mode));
    let ids = [&names, &other].map(|names| open(names, Mode::Read).unwrap().id.to_string());
    let text = refused(&mixed, Mode::Read);
    let text = text.replace(&ids[0], "FIRST").replace(&ids[1], "SECOND");
    insta::assert_snapshot!(text, @"/other: it belongs to store SECOND, but /a belongs to store FIRST: name members of one store only");
    let twice = [names[0].clone(), names[0].clone()];
    insta::assert_snapshot!(refused(&twice, Mode::Read), @"/a and /a are the same thing: leave one out");
    fs::copy(&names[0], place.path("copy")).unwrap();
    let copied = [names[0].clone(), place.name("copy")];
    let member = open(&names, Mode::Read).unwrap().members[0]
        .superblock
        .member;
    let text = refused(&copied, Mode::Read).replace(&member.to_string(), "MEMBER");
    insta::assert_snapshot!(text, @"/copy: it is the same member as /a, or a copy of it: leave one out");
    fs::write(place.path("foreign"), vec![7; SIZE as usize]).unwrap();
    let foreign = [names[0].clone(), place.name("foreign")];
    let text = refused(&foreign, Mode::Read);
    let why = "/foreign: it is not a member of a store, or its beginning and its end were \
               overwritten: name the members of one, and leave it out to read the others.";
    assert!(text.starts_with(why), "{text}");
    assert_eq!(text, refused(&foreign, Mode::Record));
    insta::assert_snapshot!(refused(&place.names(&["nothing"]), Mode::Read), @"/nothing: there is nothing of that name; check the path");
}

#[test]
fn any_one_whole_copy_of_the_superblock_is_enough() {
    let place = Place::new();
    let names = place.names(&["a"]);
    make(&plan(names.clone())).unwrap();
    let path = place.path("a");
    let store = open(&names, Mode::Read).unwrap();
    let offsets = store.members[0].superblock.geometry.superblock_offsets();
    for spared in 0..4 {
        let hurt = |copy: &usize| *copy != spared;
        for copy in (0..4).filter(hurt) {
            damage(&path, offsets[copy] + 100);
        }
        assert_eq!(open(&names, Mode::Record).unwrap().id, store.id);
        // Flipping the same bits again makes everything right again.
        for copy in (0..4).filter(hurt) {
            damage(&path, offsets[copy] + 100);
        }
    }
    for offset in offsets {
        damage(&path, offset + 100);
    }
    insta::assert_snapshot!(place.words(refusal(&names, Mode::Read)), @"/a: it was a member of a store, but all four copies of its superblock are damaged: leave it out to read the other members");
    for offset in offsets {
        damage(&path, offset + 16);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[9], offset + 16).unwrap();
    }
    insta::assert_snapshot!(place.words(refusal(&names, Mode::Read)), @"/a: this store has format version 9, and version 3 is the newest known here: use a newer sustain");
}

/// Writes uberblocks of ZFS to all four labels, which lie in pairs at either end.
fn put_zfs_labels(file: &fs::File, size_bytes: u64) {
    const LABEL: u64 = 256 << 10;
    let end = size_bytes - size_bytes % LABEL;
    for label in [0, LABEL, end - 2 * LABEL, end - LABEL] {
        for uberblock in 0..8 {
            let at = label + LABEL / 2 + uberblock * 1024;
            let magic: u64 = 0x00ba_b10c;
            file.write_all_at(&magic.to_le_bytes(), at).unwrap();
            file.write_all_at(&5000_u64.to_le_bytes(), at + 8).unwrap();
        }
    }
}

/// What `blkid` recognises there; `None`, with the reason printed, where it is not installed.
fn recognised(path: &str) -> Option<String> {
    let output = std::process::Command::new("blkid")
        .args(["-p", path])
        .output();
    let output = output.inspect_err(|error| skip(Requirement::Program("blkid"), error));
    Some(String::from_utf8_lossy(&output.ok()?.stdout).into_owned())
}

#[test]
fn no_signature_outlives_the_making_of_a_store() {
    // On smaller devices blkid does not look for ZFS.
    const SIZE: u64 = 65 * MIB;
    let place = Place::new();
    for (slot_bytes, name) in [(64 << 10, "small"), (8 << 20, "large")] {
        let path = place.name(name);
        let file = fs::File::create(&path).unwrap();
        file.set_len(SIZE).unwrap();
        file.write_all_at(&[0x5A; 4096], 12 * MIB).unwrap();
        put_zfs_labels(&file, SIZE);
        let before = recognised(&path);
        assert!(before.is_none_or(|before| before.contains("zfs_member")));
        make(&CreatePlan {
            size_bytes: None,
            slot_bytes,
            destroy: vec![path.clone()],
            ..plan(vec![path.clone()])
        })
        .unwrap();
        assert!(recognised(&path).is_none_or(|after| after.is_empty()));
        let mut bytes = fs::read(&path).unwrap();
        let geometry = Geometry::of_member(SIZE, slot_bytes).unwrap();
        for offset_bytes in geometry.superblock_offsets() {
            bytes[offset_bytes as usize..][..4096].fill(0);
        }
        let tail = geometry.slots_end_bytes().min(SIZE - 2 * MIB);
        let [head, tail] = [0..8 << 20, tail as usize..SIZE as usize];
        assert!(bytes[head].iter().all(|byte| *byte == 0));
        assert!(bytes[tail].iter().all(|byte| *byte == 0));
        assert_eq!(
            bytes[12 * MIB as usize],
            0x5A,
            "what is recorded over is left"
        );
    }
}

#[test]
fn two_recorders_cannot_have_one_store_but_readers_can() {
    let place = Place::new();
    let names = place.names(&["a", "b"]);
    make(&plan(names.clone())).unwrap();
    let recorder = open(&names, Mode::Record).unwrap();
    insta::assert_snapshot!(place.words(refusal(&names, Mode::Record)), @"
    refusing to write /a: it is being recorded to, or measured: another run of sustain writes to it.
    Wait for that to end (`fuser -v /a` shows which it is), or name another file or device
    ");
    assert!(open(&names, Mode::Read).is_ok());
    let destroying = CreatePlan {
        destroy: names.clone(),
        ..plan(names.clone())
    };
    insta::assert_snapshot!(place.words(make(&destroying).unwrap_err()), @"
    refusing to write /a: it is being recorded to, or measured: another run of sustain writes to it.
    Wait for that to end (`fuser -v /a` shows which it is), or name another file or device
    refusing to write /b: it is being recorded to, or measured: another run of sustain writes to it.
    Wait for that to end (`fuser -v /b` shows which it is), or name another file or device
    ");
    drop(recorder);
    assert!(open(&names, Mode::Record).is_ok());
}

#[test]
fn a_member_that_shrank_is_read_as_far_as_it_goes_and_not_recorded_to() {
    let place = Place::new();
    let names = place.names(&["a"]);
    make(&plan(names.clone())).unwrap();
    let file = OpenOptions::new().write(true).open(&names[0]).unwrap();
    file.set_len(SIZE - MIB).unwrap();
    insta::assert_snapshot!(place.words(refusal(&names, Mode::Record)), @"
    /a: it has become smaller since the store was created: 1 MiB instead of 2 MiB.
    Make it as large as before, or create a new store
    ");
    let store = open(&names, Mode::Read).unwrap();
    insta::assert_snapshot!(place.words(store.notes.join("\n")), @"/a: it has become smaller since the store was created: 1 MiB instead of 2 MiB; whatever was recorded beyond that is lost");
}

#[test]
fn superblocks_are_renewed_with_what_is_known_then() {
    let place = Place::new();
    let names = place.names(&["a", "b"]);
    make(&plan(names.clone())).unwrap();
    let mut store = open(&names, Mode::Record).unwrap();
    let begun = store.slots_begun_at_start(false);
    store.renew_superblocks(&begun, Renewal::Begins).unwrap();
    drop(store);
    let store = open(&names, Mode::Record).unwrap();
    for (member, tail) in store.members.iter().zip(&store.tails) {
        assert_eq!(
            (member.superblock.generation, member.superblock.slots_begun),
            (2, 1)
        );
        assert!(!tail.clean_end, "a recording was to begin");
        assert_eq!(tail.next_slot_serial, 1);
        let offsets = member.superblock.geometry.superblock_offsets();
        let bytes = fs::read(&member.name).unwrap();
        for offset in offsets {
            let copy = format::Superblock::decode(&bytes[offset as usize..]).unwrap();
            assert_eq!(copy, member.superblock);
        }
    }
}

#[test]
fn recordings_on_files_are_listed_and_the_next_one_begins_behind_them() {
    let place = Place::new();
    let names = place.names(&["a", "b"]);
    make(&plan(names.clone())).unwrap();
    let mut image = image_of(&open(&names, Mode::Read).unwrap());
    for _ in 0..2 {
        image.begin(1);
        image.fill(4, 20_000);
        image.end();
    }
    put_on_files(&image, &names);
    let mut store = open(&names, Mode::Record).unwrap();
    let recordings = store.recordings().unwrap();
    assert_eq!(recordings.len(), 2);
    assert_eq!(recordings[0].streams[0].hole_bytes, 0);
    assert_eq!(store.next_recording(), 3);
    assert!(store.first_sequence() > image.sequence);
    assert!(store.first_sequence().is_multiple_of(1 << 20));
    for (tail, member) in store.tails.iter().zip(&image.members) {
        assert_eq!(tail.next_slot_serial, member.next.slot_serial);
    }
    drop(store);
    // Without one member the rest can be read, and what it had is a hole.
    let mut half = open(&names[1..], Mode::Read).unwrap();
    let recordings = half.recordings().unwrap();
    let hole_bytes = recordings[0].streams[0].hole_bytes;
    assert_eq!(hole_bytes, image.members[0].member_bytes[0]);
    assert!(recordings[0].per_member[0].is_none() && recordings[0].per_member[1].is_some());
}

/// A machine of disks of 20 TB, and the disks as targets.
fn machine_of(count: usize, clock: &Clock) -> (SharedMachine, Vec<SimulatedDisk>) {
    let mut text = String::new();
    for disk in 0..count {
        text += &format!(
            "[[disk]]\nname = \"d{disk}\"\ncapacity = \"20TB\"\nread = \"200MB/s\"\n\
             volatile_cache = true\ncache = \"64MiB\"\n"
        );
    }
    let file = MachineFile::parse(&text, Path::new("test.toml")).unwrap();
    let machine = SharedMachine::with_contents(Machine::new(&file, 1), clock);
    let disks = (0..count).map(|disk| SimulatedDisk {
        target: Target {
            name: format!("d{disk}"),
            kind: TargetKind::Simulated,
            file: None,
            capacity_bytes: Some(20_000_000_000_000),
            alignment_bytes: 1,
            device: None,
            lock: None,
        },
        simulated: SimulatedTarget { machine: 0, disk },
    });
    (machine, disks.collect())
}

#[test]
fn thirty_two_disks_of_twenty_terabytes_are_opened_by_reading_little() {
    let clock = Clock::simulated();
    let (machine, disks) = machine_of(32, &clock);
    let machines = [machine.clone()];
    create_simulated(&disks, &machines, &clock, 8 << 20).unwrap();
    let store = Store::open_simulated(&disks, &machines, &clock, Mode::Record).unwrap();
    let mut image = image_of(&store);
    drop(store);
    for _ in 0..3 {
        image.begin(2);
        image.fill(1, 1 << 20);
        image.end();
    }
    put(&image, |disk, offset_bytes, bytes| {
        machine.write_contents(disk, offset_bytes, bytes);
    });
    let read_before: u64 = (0..32).map(|disk| machine.bytes_read(disk)).sum();
    let mut store = Store::open_simulated(&disks, &machines, &clock, Mode::Record).unwrap();
    let recordings = store.recordings().unwrap();
    assert_eq!(recordings.len(), 3);
    assert!(recordings.iter().all(|recording| !recording.open_end));
    assert_eq!(recordings[0].streams[0].hole_bytes, 0);
    assert_eq!(recordings[0].per_member.len(), 32);
    let read: u64 = (0..32).map(|disk| machine.bytes_read(disk)).sum();
    let read = read - read_before;
    assert!(read < 64 * MIB, "{read}");
    assert!(store.bytes_read() <= read);
}

#[test]
fn a_power_cut_while_superblocks_are_renewed_leaves_the_old_or_the_new_state() {
    let mut generations = [0; 2];
    for seed in 0..40 {
        let clock = Clock::simulated();
        let (machine, disks) = machine_of(1, &clock);
        let machines = [machine.clone()];
        create_simulated(&disks, &machines, &clock, SLOT).unwrap();
        let store = Store::open_simulated(&disks, &machines, &clock, Mode::Record).unwrap();
        // The first two copies of the next state are written, and not flushed.
        let mut newer = store.members[0].superblock.clone();
        newer.generation += 1;
        newer.slots_begun = 7;
        let offsets = newer.geometry.superblock_offsets();
        let mut io = store.io().unwrap();
        for copy in [0, 2] {
            let block = newer.encode(copy);
            io.write(0, offsets[copy as usize], &block).unwrap();
        }
        machine.power_cut(seed);
        let again = Store::open_simulated(&disks, &machines, &clock, Mode::Record).unwrap();
        let found = &again.members[0].superblock;
        if *found != newer {
            assert_eq!(*found, store.members[0].superblock);
        }
        generations[found.generation as usize - 1] += 1;
    }
    assert!(
        generations.iter().all(|count| *count > 0),
        "{generations:?}"
    );
}

#[test]
fn single_reads_take_any_range_and_name_what_fails() {
    let clock = Clock::simulated();
    let (machine, disks) = machine_of(2, &clock);
    let targets = [disks[1].simulated, disks[0].simulated];
    let mut io =
        MemberIo::open_simulated(std::slice::from_ref(&machine), &targets, &clock).unwrap();
    // This takes more than one request at once.
    let bytes: Vec<u8> = (0..5 * MIB / 2).map(|byte| (byte % 251) as u8).collect();
    let whole = &bytes[..bytes.len() / 4096 * 4096];
    io.write(0, 8192, whole).unwrap();
    assert_eq!(
        io.read(0, 8192 + 100, 2_000_000).unwrap(),
        bytes[100..2_000_100]
    );
    assert_eq!(io.read(1, 8192, 10).unwrap(), [0; 10], "the other disk");
    assert_eq!(io.bytes_read(1), 4096);
    let end = 20_000_000_000_000 / 4096 * 4096;
    let orders = [end - 4096, end].map(|offset_bytes| ReadOrder {
        member: 0,
        offset_bytes,
        length_bytes: 8192,
    });
    assert!(io.read_all(&orders).iter().all(Result::is_err));
    assert!(
        io.read(0, end - 4096, 4096).is_ok(),
        "the members alone were at fault"
    );
    io.check_engine().unwrap();
    io.flush(0).unwrap();
    machine.power_cut(1);
    assert!(io.read(0, 8192, 10).is_err());
    assert!(io.check_engine().is_err());
    assert!(io.flush(0).is_err(), "it stays broken");
    let mut again = MemberIo::open_simulated(&[machine], &targets, &clock).unwrap();
    assert_eq!(
        again.read(0, 8192, 10).unwrap(),
        bytes[..10],
        "what was flushed is there"
    );
}

/// A slot in which a start begins at every block. Each is of a recording of its own and as long as
/// the slot allows, and an end mark behind it leads to all of them.
fn forge_starts(image: &mut Image) -> u64 {
    image.begin(1);
    let template = image.put(0, 0, b"whatever");
    let member = &mut image.members[0];
    let geometry = member.superblock.geometry;
    let count = geometry.slot_bytes / 4096 - 2;
    let place = |slot_serial, block: u32| image::place(slot_serial, block * 4096);
    for block in 0..count {
        let append_bytes = geometry.slot_bytes - block * 4096;
        let payload_bytes = append_bytes - 4096 - 64;
        let start = format::Descriptor {
            kind: format::Kind::Start,
            stream: format::CONTROL_STREAM,
            place: place(0, block),
            append_bytes,
            sequence: template.sequence + u64::from(block),
            recording: block + 1,
            recording_id: uuid::Uuid::from_u128(block.into()),
            payload_bytes,
            checksums: vec![0; (payload_bytes as usize).div_ceil(64 << 10)],
            previous: block.checked_sub(1).map(|before| place(0, before)),
            start: Some(place(0, block)),
            positions: vec![format::Position::default()],
            ..template.clone()
        };
        let mut bytes = vec![0; 4096];
        start.encode_into(&mut bytes);
        member.medium.write(geometry.offset_of(start.place), &bytes);
    }
    let end = format::Descriptor {
        kind: format::Kind::End,
        stream: format::CONTROL_STREAM,
        place: place(1, 0),
        sequence: template.sequence + u64::from(count),
        recording: count,
        recording_id: uuid::Uuid::from_u128((count - 1).into()),
        previous: Some(place(0, count - 1)),
        start: Some(place(0, count - 1)),
        positions: vec![format::Position::default()],
        ..template
    };
    let bytes = image::encode(&end, b"whatever");
    member.medium.write(geometry.offset_of(end.place), &bytes);
    member.superblock.slots_begun = 2;
    geometry.member_bytes
}

#[test]
fn a_forged_store_that_would_be_read_over_and_over_is_refused() {
    let place = Place::new();
    let names = place.names(&["a"]);
    make(&CreatePlan {
        slot_bytes: MIB as u32,
        size_bytes: Some(5 * MIB),
        ..plan(names.clone())
    })
    .unwrap();
    let mut image = image_of(&open(&names, Mode::Read).unwrap());
    let member_bytes = forge_starts(&mut image);
    put_on_files(&image, &names);
    let mut store = open(&names, Mode::Read).unwrap();
    let error = store.recordings().unwrap_err();
    assert!(matches!(error, RecordError::Member { .. }), "{error}");
    let text = place.words(error);
    insta::assert_snapshot!(text.split_once(", but ").unwrap().1, @"
    it holds only 5 MiB: its content leads round in circles, which no recorder writes.
    Leave it out to read the other members
    ");
    let read_bytes = store.bytes_read();
    assert!(
        read_bytes <= 8 * member_bytes + 17 * MIB,
        "{read_bytes} were read"
    );
}
