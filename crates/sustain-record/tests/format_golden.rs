//! Holds files of versions 1 to 3 that must be readable for ever, and must always be written in the same
//! way.
//!
//! `SUSTAIN_WRITE_GOLDEN=1 cargo test -p sustain-record --test format_golden` writes those that are
//! missing, and the seeds in `fuzz/corpus/`. A file that is there must not change.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod samples;

use std::path::{Path, PathBuf};

use sustain_record::format::{
    BLOCK_BYTES, Descriptor, EndNote, GroupList, MarkReader, PayloadMark, Seal, StartNote,
    Superblock, is_sealed, marks_are_whole,
};

fn golden_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn corpus_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The content of the file, which must be exactly `encoded`.
fn kept(path: &Path, encoded: &[u8]) -> Vec<u8> {
    let may_write = std::env::var_os("SUSTAIN_WRITE_GOLDEN").is_some_and(|value| value == "1");
    if may_write && !path.exists() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, encoded).unwrap();
    }
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        bytes == encoded,
        "{} is not what is written now",
        path.display()
    );
    bytes
}

fn golden(name: &str, encoded: &[u8]) -> Vec<u8> {
    kept(&golden_directory().join("version-1").join(name), encoded)
}

fn encoded(descriptor: &Descriptor) -> (Vec<u8>, u32) {
    let mut block = vec![0; BLOCK_BYTES];
    let crc = descriptor.encode_into(&mut block);
    (block, crc)
}

#[test]
fn superblocks_of_version_1_are_read_and_written_the_same() {
    let superblock = samples::superblock();
    let bytes = golden("superblock.bin", &superblock.encode(2));
    assert_eq!(Superblock::decode(&bytes), Ok(superblock));
}

#[test]
fn superblocks_of_version_2_are_read_and_written_the_same() {
    let superblock = samples::superblock_with_pins();
    let path = golden_directory().join("version-2/superblock.bin");
    let bytes = kept(&path, &superblock.encode(2));
    assert_eq!(Superblock::decode(&bytes), Ok(superblock));
}

#[test]
fn what_parity_adds_in_version_3_is_read_and_written_the_same() {
    let golden =
        |name, encoded: &[u8]| kept(&golden_directory().join("version-3").join(name), encoded);
    let superblock = samples::superblock_with_parity();
    let bytes = golden("superblock.bin", &superblock.encode(2));
    assert_eq!(Superblock::decode(&bytes), Ok(superblock));
    let list = samples::group_list();
    let bytes = golden("group.bin", &list.encode());
    assert_eq!(GroupList::decode(&bytes), Ok(list));
    let descriptor = samples::parity_descriptor();
    let (block, crc) = encoded(&descriptor);
    let block = golden("parity.bin", &block);
    assert_eq!(Descriptor::decode(&block), Ok((descriptor, crc)));
}

#[test]
fn appends_of_version_1_are_read_and_written_the_same() {
    let descriptor = samples::descriptor();
    let (block, crc) = encoded(&descriptor);
    let block = golden("descriptor.bin", &block);
    assert_eq!(Descriptor::decode(&block), Ok((descriptor.clone(), crc)));

    let seal = samples::seal(crc);
    let seal_bytes = golden("seal.bin", &seal.encode());
    assert_eq!(Seal::decode(&seal_bytes), Some(seal));
    assert!(is_sealed(&descriptor, crc, &seal_bytes));

    let marks = golden("marks.bin", samples::marks().bytes());
    assert!(marks_are_whole(&descriptor, &marks));
    let read: Vec<PayloadMark> = MarkReader::of(&descriptor, &marks)
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(read, samples::mark_list());
}

#[test]
fn notes_of_version_1_are_read_and_written_the_same() {
    let start = samples::start();
    let bytes = golden("start.json", &start.to_json());
    assert_eq!(StartNote::from_json(&bytes).unwrap(), start);
    let end = samples::end();
    let bytes = golden("end.json", &end.to_json());
    assert_eq!(EndNote::from_json(&bytes).unwrap(), end);
}

#[test]
fn the_seeds_of_the_fuzz_targets_are_what_is_written() {
    let first_time = samples::FIRST_TIME_NS.to_le_bytes();
    let marks = [&first_time, samples::marks().bytes()].concat();
    let no_ring_before = StartNote {
        previous_start: None,
        ring: true,
        ..samples::start()
    };
    let mut one_entry = samples::group_list();
    one_entry.entries.truncate(1);
    let seeds = [
        ("superblock/several", samples::superblock().encode(0)),
        (
            "superblock/smallest",
            samples::smallest_superblock().encode(3),
        ),
        ("superblock/pins", samples::superblock_with_pins().encode(1)),
        (
            "superblock/parity",
            samples::superblock_with_parity().encode(2),
        ),
        (
            "descriptor/parity",
            encoded(&samples::parity_descriptor()).0,
        ),
        ("group/two", samples::group_list().encode()),
        ("group/one", one_entry.encode()),
        ("descriptor/data", encoded(&samples::descriptor()).0),
        ("descriptor/start", encoded(&samples::start_descriptor()).0),
        (
            "descriptor/fullest",
            encoded(&samples::fullest_descriptor()).0,
        ),
        ("marks/four", marks),
        ("marks/none", first_time.to_vec()),
        ("notes/start", samples::start().to_json()),
        ("notes/first", no_ring_before.to_json()),
        ("notes/end", samples::end().to_json()),
    ];
    for (name, bytes) in seeds {
        kept(&corpus_directory().join(name), &bytes);
    }
}
