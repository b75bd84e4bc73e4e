//! What is written to a member that is repaired onto itself: nothing where it has the right bytes.

use std::collections::BTreeSet;

use super::append::{APPEND_BYTES_MIN, DraftAppend};
use super::draft::SlotDraft;
use super::marks::{end_note, start_note};
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, EndNote, Kind, SLOT_BYTES_MAX, StartNote, payload_room,
};
use crate::member_io::ReadStretch;
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

/// The length of what `note` makes of a note whose text in the place of a `#` makes it so long.
fn note_bytes(
    note: impl Fn(&[u8]) -> Option<Vec<u8>>,
    json: &[u8],
    of_other_bytes: usize,
) -> Option<usize> {
    let json = std::str::from_utf8(json).expect("JSON is UTF-8");
    let padding = "x".repeat(of_other_bytes + 1 - json.len());
    note(json.replace('#', &padding).as_bytes()).map(|note| note.len())
}

#[test]
fn a_note_that_no_slot_would_have_here_is_left_out() {
    let start = StartNote {
        started_ns: 0,
        tool: "#".to_owned(),
        ring: false,
        parities: 1,
        streams: Vec::new(),
        previous_start: None,
        follows_end: None,
        end_slot: None,
        copies_of: None,
        absent: Vec::new(),
        earlier: Vec::new(),
    };
    let end = EndNote {
        ended: "#".to_owned(),
        streams: Vec::new(),
        torn: Vec::new(),
        follows_end: None,
        start_was_whole: None,
        protected_bytes: None,
    };
    let start_bytes = |bytes| note_bytes(|one| start_note(one, None), &start.to_json(), bytes);
    let end_bytes = |bytes| note_bytes(end_note, &end.to_json(), bytes);
    let room_bytes = payload_room(SLOT_BYTES_MAX as usize);
    // It says here whether it follows an end mark.
    let longer_bytes = start_bytes(1000).expect("it fits") - 1000;
    assert!(longer_bytes > 0);
    assert_eq!(start_bytes(room_bytes - longer_bytes), Some(room_bytes));
    assert_eq!(start_bytes(room_bytes), None);
    assert_eq!(end_bytes(room_bytes), Some(room_bytes));
    assert_eq!(end_bytes(room_bytes + 1), None);
}

/// A slot of which nothing is known but what stands in for it, because more of its
/// recording comes behind. The member had bytes of that before, or none.
fn unknown_slot(had_bytes: bool) -> SlotDraft {
    let (draft, _) = slot();
    let data = draft.first().expect("it has one").clone();
    let mut stand_in = Descriptor {
        kind: Kind::Parity,
        place: AppendPlace::of_slot(data.place.slot_serial),
        append_bytes: APPEND_BYTES_MIN,
        payload_bytes: 0,
        start: None,
        checksums: Vec::new(),
        ..data
    };
    for position in &mut stand_in.positions {
        position.member_bytes = u64::from(had_bytes);
    }
    let mut draft = SlotDraft::new(stand_in.member, stand_in.place.slot_serial, SLOT_BYTES);
    draft.set_stand_in(stand_in);
    draft
}

#[test]
fn a_slot_before_others_of_its_recording_is_of_that_if_the_member_had_bytes_of_it() {
    assert_eq!(unknown_slot(true).recording_around(), Some(1));
    assert_eq!(unknown_slot(false).recording_around(), None);
}
