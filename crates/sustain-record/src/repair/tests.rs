//! What is written to a member that is repaired onto itself: nothing where it has the right bytes.

use std::collections::BTreeSet;

use super::append::DraftAppend;
use super::draft::SlotDraft;
use super::replacement_writer::ReadStretch;
use crate::format::BLOCK_BYTES;
use crate::opening::tests::image::Image;

const SLOT_BYTES: u32 = 64 << 10;
const SLOT_BLOCKS: usize = SLOT_BYTES as usize / BLOCK_BYTES;

/// A slot with a start and an append of data behind it, and its bytes.
fn slot() -> (SlotDraft, Vec<u8>) {
    let mut image = Image::new(&[1 << 20], SLOT_BYTES);
    image.begin(1);
    let descriptor = image.put(0, 0, &[0x5A; 20_000]);
    let member = &image.members[0];
    let start = member.start.expect("there is one");
    let bytes = member
        .medium
        .read(member.offset_of(start), SLOT_BYTES as usize);
    let at = descriptor.place.slot_offset_bytes as usize;
    let range = at..at + descriptor.append_bytes as usize;
    let mut draft = SlotDraft::new(member.superblock.member, start.slot_serial, SLOT_BYTES);
    draft.add(DraftAppend {
        bytes: bytes[range].to_vec(),
        descriptor,
    });
    (draft, bytes)
}

/// The blocks that are written of a draft of which the member has this.
fn written(draft: &mut SlotDraft, bytes: Vec<u8>, unreadable: &[usize]) -> Vec<usize> {
    let unreadable = unreadable.iter().map(|block| block * BLOCK_BYTES).collect();
    draft.set_own(Some(ReadStretch { bytes, unreadable }));
    let runs = draft.to_write().into_iter();
    let blocks = runs.flat_map(|(start, bytes)| {
        let first = start as usize / BLOCK_BYTES;
        first..first + bytes.len() / BLOCK_BYTES
    });
    blocks.collect()
}

#[test]
fn only_what_is_not_there_already_is_written() {
    let (mut draft, mut bytes) = slot();
    let in_append = |draft: &SlotDraft| {
        let append = draft.appends().next().expect("it has one");
        let at = append.descriptor.place.slot_offset_bytes as usize / BLOCK_BYTES;
        at..at + append.bytes.len() / BLOCK_BYTES
    };
    let data = in_append(&draft);
    // The start is none of the draft, and must not be taken for something.
    let before: Vec<usize> = (0..data.start).collect();
    assert_eq!(written(&mut draft, bytes.clone(), &[]), before);
    bytes[..data.start * BLOCK_BYTES].fill(0);
    assert_eq!(written(&mut draft, bytes.clone(), &[]), [0; 0]);
    bytes[(data.start + 1) * BLOCK_BYTES] ^= 1;
    bytes[(SLOT_BLOCKS - 1) * BLOCK_BYTES] = 1;
    let damaged = [data.start + 1, SLOT_BLOCKS - 1];
    assert_eq!(written(&mut draft, bytes.clone(), &[]), damaged);
    // A block that cannot be read just now may be whole: only an append takes its place.
    let unreadable: BTreeSet<usize> = [0, data.end, data.start + 2].into_iter().collect();
    let unreadable: Vec<usize> = unreadable.into_iter().collect();
    let written = written(&mut draft, bytes, &unreadable);
    assert_eq!(written, [data.start + 1, data.start + 2, SLOT_BLOCKS - 1]);
}

#[test]
fn a_new_member_gets_the_whole_slot_and_nothing_for_an_empty_one() {
    let (draft, _) = slot();
    let whole = draft.to_write();
    assert_eq!(whole.len(), 1);
    assert_eq!((whole[0].0, whole[0].1.len()), (0, SLOT_BYTES as usize));
    let empty = SlotDraft::new(uuid::Uuid::nil(), 3, SLOT_BYTES);
    assert!(empty.to_write().is_empty());
}
