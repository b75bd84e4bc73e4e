//! Tries any bytes as a descriptor, also with its magic, version and checksum put right; and what
//! follows from one: the payload's checksums, the seal and the frame marks.

use sustain_record::format::{
    BLOCK_BYTES, Descriptor, DescriptorError, Geometry, MarkReader, SEAL_BYTES, SLOT_BYTES_MAX,
    STREAMS_MAX, crc32c, is_sealed, marks_are_whole, marks_range, payload_range, verify_payload,
};

/// Panics unless the answer is an error or a consistent descriptor.
pub fn attempt(bytes: &[u8]) {
    decode(bytes);
    let mut block = bytes.to_vec();
    block.resize(BLOCK_BYTES, 0);
    block[..14].copy_from_slice(b"SUSTAPND\0\0\0\0\x01\0");
    let crc = crc32c(&block);
    block[8..12].copy_from_slice(&crc.to_le_bytes());
    decode(&block);
}

fn decode(bytes: &[u8]) {
    match Descriptor::decode(bytes) {
        Ok((descriptor, crc)) => use_all_of(&descriptor, crc, bytes),
        Err(DescriptorError::UnknownKind(skip)) => {
            assert!(skip.append_bytes >= BLOCK_BYTES as u32);
            let end_bytes = skip.place.slot_offset_bytes + skip.append_bytes;
            assert!(end_bytes <= SLOT_BYTES_MAX);
        }
        Err(_) => {}
    }
}

fn use_all_of(descriptor: &Descriptor, crc: u32, bytes: &[u8]) {
    let content_end = marks_range(descriptor).end + SEAL_BYTES;
    assert!(content_end <= descriptor.append_bytes as usize);
    assert!(descriptor.place.slot_offset_bytes + descriptor.append_bytes <= SLOT_BYTES_MAX);
    assert!(descriptor.positions.len() <= STREAMS_MAX);

    let damaged = verify_payload(descriptor, bytes);
    assert!(damaged.is_sorted_by(|one, next| one.end < next.start));
    assert!(
        damaged
            .last()
            .is_none_or(|last| last.end <= descriptor.payload_bytes)
    );
    assert!(payload_range(descriptor).start == BLOCK_BYTES);
    is_sealed(descriptor, crc, bytes);
    marks_are_whole(descriptor, bytes);
    for mark in MarkReader::of(descriptor, bytes).map_while(Result::ok) {
        assert!(mark.offset_bytes <= u64::from(descriptor.payload_bytes));
    }

    let geometry = Geometry::of_member(1 << 30, SLOT_BYTES_MAX).unwrap();
    let (member, store, place) = (descriptor.member, descriptor.store, descriptor.place);
    assert!(descriptor.fits(&geometry, member, store, place));
    assert!(geometry.offset_of(place) < geometry.member_bytes);

    let mut block = [0; BLOCK_BYTES];
    let crc = descriptor.encode_into(&mut block);
    assert_eq!(Descriptor::decode(&block), Ok((descriptor.clone(), crc)));
}
