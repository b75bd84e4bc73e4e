//! Tries any bytes as a superblock, also with its magic, version and checksum put right.

use sustain_record::format::{AppendPlace, BLOCK_BYTES, MEMBERS_MAX, Superblock, crc32c};

/// Panics unless the answer is an error or a consistent superblock.
pub fn attempt(bytes: &[u8]) {
    decode(bytes);
    for version in [1, 2] {
        let mut block = bytes.to_vec();
        block.resize(BLOCK_BYTES, 0);
        block[..24].copy_from_slice(b"sustain-store\r\n\x1a\x01\0\0\0\0\0\0\0");
        block[16] = version;
        let crc = crc32c(&block);
        block[20..24].copy_from_slice(&crc.to_le_bytes());
        decode(&block);
    }
}

fn decode(bytes: &[u8]) {
    let Ok(superblock) = Superblock::decode(bytes) else {
        return;
    };
    let geometry = superblock.geometry;
    assert!(superblock.members.len() <= MEMBERS_MAX);
    assert!(geometry.is_valid());
    let [first, second, third, fourth] = geometry.superblock_offsets();
    let last_slot = geometry.offset_of(AppendPlace {
        slot_serial: geometry.slot_count - 1,
        slot_offset_bytes: 0,
    });
    let slots_end = last_slot + u64::from(geometry.slot_bytes);
    assert!(first < second && second < last_slot && slots_end <= third && third < fourth);
    // Whatever pins there are, it is soon known which slot comes next.
    let course = superblock.course();
    let begun = superblock.slots_begun;
    assert!(course.at_or_after(begun).is_none_or(|next| next >= begun));
    assert!(course.ahead(begun, 16) >= begun);
    assert!(course.free_slots(begun) <= geometry.slot_count);
    let again = superblock.encode(0);
    assert_eq!(Superblock::decode(&again), Ok(superblock));
}
