use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn superblock() -> Superblock {
    let members: Vec<Uuid> = (1..=3).map(Uuid::from_u128).collect();
    Superblock {
        store: Uuid::from_u128(0xABCD),
        member: members[1],
        generation: 7,
        created_ns: 1_700_000_000_000_000_000,
        geometry: Geometry::of_member(1 << 30, 8 << 20).unwrap(),
        member_index: 1,
        members,
        is_prewritten: true,
        has_ended: true,
        slots_begun: 12,
        recordings_begun: 3,
        end_slot: Some(11),
        pins: Vec::new(),
        pins_numbered: 4,
        parities: 0,
        slot_counts: Vec::new(),
        repaired_slots: 0,
        is_being_repaired: false,
        first_recording: 0,
        retired: BTreeSet::new(),
        behind: BTreeSet::new(),
    }
}

fn with_pins() -> Superblock {
    let pin = |number: u32| Pin {
        number,
        from_slot: 100,
        end_slot: (number > 1).then_some(120),
        end_sequence: 1 << 21,
        told_sequence: 0,
        freed_slot: (number > 2).then_some(150),
        from_time_ns: 1_700_000_000_000_000_000,
        to_time_ns: -1,
    };
    Superblock {
        pins: (1..=3).map(pin).collect(),
        ..superblock()
    }
}

fn with_right_crc(mut block: Vec<u8>) -> Vec<u8> {
    let crc = crc32c_without_field(&block, 20);
    block[20..24].copy_from_slice(&crc.to_le_bytes());
    block
}

fn patched(offset: usize, bytes: &[u8]) -> Result<Superblock, SuperblockError> {
    let mut block = superblock().encode(0);
    block[offset..offset + bytes.len()].copy_from_slice(bytes);
    Superblock::decode(&with_right_crc(block))
}

#[test]
fn the_fields_lie_where_the_format_says() {
    let fields = [
        (offset_of!(SuperblockBytes, magic), 0),
        (offset_of!(SuperblockBytes, version), 16),
        (offset_of!(SuperblockBytes, crc), 20),
        (offset_of!(SuperblockBytes, copy), 24),
        (offset_of!(SuperblockBytes, slot_bytes), 28),
        (offset_of!(SuperblockBytes, store), 32),
        (offset_of!(SuperblockBytes, member), 48),
        (offset_of!(SuperblockBytes, generation), 64),
        (offset_of!(SuperblockBytes, created), 72),
        (offset_of!(SuperblockBytes, member_bytes), 80),
        (offset_of!(SuperblockBytes, first_slot), 88),
        (offset_of!(SuperblockBytes, slot_count), 96),
        (offset_of!(SuperblockBytes, member_index), 104),
        (offset_of!(SuperblockBytes, member_count), 106),
        (offset_of!(SuperblockBytes, flags), 108),
        (offset_of!(SuperblockBytes, slots_begun), 112),
        (offset_of!(SuperblockBytes, parity_count), 120),
        (offset_of!(SuperblockBytes, reserved), 122),
        (offset_of!(SuperblockBytes, pin_count), 136),
        (offset_of!(SuperblockBytes, pins_numbered), 140),
        (offset_of!(SuperblockBytes, first_recording), 664),
        (offset_of!(SuperblockBytes, members), 1024),
        (offset_of!(SuperblockBytes, pins), 3072),
    ];
    for (number, (is, should_be)) in fields.into_iter().enumerate() {
        assert_eq!(is, should_be, "field {number}");
    }
    let block = superblock().encode(2);
    assert_eq!(&block[..16], b"sustain-store\x0D\x0A\x1A");
    assert_eq!(block[24], 2);
    assert_eq!(block[28..32], (8_u32 << 20).to_le_bytes());
    assert_eq!(block[1024 + 16..1024 + 32], *Uuid::from_u128(2).as_bytes());
    assert!(block[1024 + 48..].iter().all(|byte| *byte == 0));
}

#[test]
fn every_shortening_and_every_flipped_bit_is_refused() {
    let mut block = superblock().encode(3);
    for length in 0..BLOCK_BYTES {
        assert!(Superblock::decode(&block[..length]).is_err());
    }
    for bit in 0..BLOCK_BYTES * 8 {
        block[bit / 8] ^= 1 << (bit % 8);
        let answer = Superblock::decode(&block);
        match bit / 8 {
            0..16 => assert_eq!(answer, Err(SuperblockError::Foreign), "bit {bit}"),
            16..20 => assert!(answer.is_err(), "bit {bit}"),
            _ => assert_eq!(answer, Err(SuperblockError::Damaged), "bit {bit}"),
        }
        block[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_later_version_is_named_without_a_look_at_the_rest() {
    let mut block = superblock().encode(0);
    block[16] = 4;
    block[200] = 1;
    let newer = Superblock::decode(&block);
    assert_eq!(newer, Err(SuperblockError::Newer { version: 4 }));
    let told = newer.unwrap_err().to_string();
    assert!(told.ends_with("use a newer sustain"), "{told}");
    assert_eq!(patched(16, &[0]), Err(SuperblockError::Damaged));
}

#[test]
fn only_a_superblock_with_pins_is_of_version_2() {
    let (without, with) = (superblock().encode(1), with_pins().encode(1));
    assert_eq!((without[16], with[16]), (1, 2));
    assert_eq!(with[136..138], [3, 0]);
    assert_eq!(with[3072..3076], [1, 0, 0, 0]);
    assert_eq!(with[3072 + 64 + 16..3072 + 64 + 24], 120_u64.to_le_bytes());
    assert_eq!(with[3072 + 16..3072 + 24], [0xFF; 8], "the end is open");
    assert_eq!(with[3072 + 32..3072 + 40], [0xFF; 8], "it is not freed");
    assert_eq!(without[..16], with[..16]);
    assert_eq!(without[24..136], with[24..136]);
    assert_eq!(without[138..3072], with[138..3072]);
    assert_eq!(without[136..144], [0, 0, 0, 0, 4, 0, 0, 0]);
    assert!(without[144..1024].iter().all(|byte| *byte == 0));
    assert_eq!(Superblock::decode(&with), Ok(with_pins()));
    // A version 1 has none, whatever lies in its reserved space.
    let mut older = with.clone();
    older[16] = 1;
    assert_eq!(Superblock::decode(&with_right_crc(older)), Ok(superblock()));
}

#[test]
fn a_table_of_pins_that_cannot_be_is_refused() {
    let wrong: [(usize, &[u8]); 7] = [
        (136, &[17, 0]),
        (136, &[4, 0]),
        (3072, &[2]),
        (3072, &[0]),
        (3072 + 8, &[0xFF; 8]),
        (3072 + 64 + 16, &[100, 0]),
        (3072 + 64 + 16, &[0, 0, 1, 0]),
    ];
    for (offset, bytes) in wrong {
        let mut block = with_pins().encode(0);
        block[offset..offset + bytes.len()].copy_from_slice(bytes);
        let answer = Superblock::decode(&with_right_crc(block));
        assert_eq!(
            answer,
            Err(SuperblockError::Damaged),
            "{bytes:?} at {offset}"
        );
    }
}

#[test]
fn what_contradicts_itself_is_refused_though_its_checksum_is_right() {
    let wrong: [(usize, &[u8]); 15] = [
        (24, &[4]),
        (28, &[1]),
        (31, &[1]),
        (48, &[9]),
        (80, &[1]),
        (80, &[0; 8]),
        (80, &[0xFF; 8]),
        (88, &[0; 8]),
        (96, &[0; 8]),
        (96, &[0xFF; 8]),
        (104, &[0, 0]),
        (104, &[3, 0]),
        (106, &[0, 0]),
        (106, &[129, 0]),
        (106, &[0xFF; 2]),
    ];
    for (offset, bytes) in wrong {
        assert_eq!(
            patched(offset, bytes),
            Err(SuperblockError::Damaged),
            "{bytes:?} at {offset}"
        );
    }
    // The last member is the same as the first; a member more than the count is a nil UUID.
    let first = *Uuid::from_u128(1).as_bytes();
    assert_eq!(patched(1024 + 32, &first), Err(SuperblockError::Damaged));
    assert_eq!(patched(106, &[5, 0]), Err(SuperblockError::Damaged));
}

#[test]
fn reserved_bytes_and_unknown_flags_are_ignored() {
    assert_eq!(patched(120, &[0xFF; 4]), Ok(superblock()));
    assert_eq!(patched(136, &[0xFF; 4]), Ok(superblock()));
    assert_eq!(patched(144, &[0xFF; 520]), Ok(superblock()));
    assert_eq!(patched(668, &[0xFF; 356]), Ok(superblock()));
    assert_eq!(patched(664, &[9]).unwrap().first_recording, 9);
    assert_eq!(patched(140, &[9]).unwrap().pins_numbered, 9);
    assert_eq!(patched(3072, &[0xFF; 1024]), Ok(superblock()));
    assert_eq!(patched(108, &[0xFF; 4]), Ok(superblock()));
    let otherwise = patched(108, &[0xFE]).unwrap();
    assert!(!otherwise.is_prewritten && otherwise.has_ended);
    assert!(!patched(108, &[0xFD]).unwrap().has_ended);
}

#[test]
fn the_valid_copy_of_the_largest_generation_counts() {
    let of = |generation| {
        Ok(Superblock {
            generation,
            ..superblock()
        })
    };
    let damaged = Err(SuperblockError::Damaged);
    let newer = Err(SuperblockError::Newer { version: 4 });
    let foreign = Err(SuperblockError::Foreign);
    assert_eq!(newest([of(3), damaged.clone(), of(4), of(2)]), of(4));
    assert_eq!(newest([newer.clone(), of(0)]), of(0));
    assert_eq!(
        newest([foreign.clone(), damaged.clone(), newer.clone()]),
        newer
    );
    assert_eq!(newest([newer.clone(), damaged.clone()]), newer);
    assert_eq!(newest([foreign.clone(), damaged.clone()]), damaged);
    assert_eq!(newest([foreign.clone(), foreign.clone()]), foreign);
    assert_eq!(newest([]), foreign);
}

#[test]
#[should_panic(expected = "a superblock is consistent")]
fn a_superblock_that_could_not_be_read_again_is_not_written() {
    let wrong = Superblock {
        member_index: 0,
        ..superblock()
    };
    wrong.encode(0);
}

prop_compose! {
    fn any_superblock()(
        ids in (any::<u128>(), any::<u128>()),
        numbers in any::<[u64; 3]>(),
        created_ns in any::<i64>(),
        capacity_bytes in (64_u64 << 20)..=u64::MAX,
        shift in 16..=24_u32,
        count in 1..=MEMBERS_MAX,
        index in any::<prop::sample::Index>(),
        [is_prewritten, has_ended] in any::<[bool; 2]>(),
        pins in prop::collection::vec(any::<[u64; 4]>(), 0..=PINS_MAX),
    ) -> Superblock {
        let members: Vec<Uuid> = (0..count as u128)
            .map(|number| Uuid::from_u128(ids.1.wrapping_add(number)))
            .collect();
        let member_index = index.index(count);
        let geometry = Geometry::of_member(capacity_bytes, 1 << shift).unwrap();
        let pin = |(number, [from, length, freed, time]): (u32, [u64; 4])| Pin {
            number,
            from_slot: from / 2,
            end_slot: (length % 3 > 0)
                .then(|| from / 2 + length % geometry.slot_count + 1),
            end_sequence: freed,
            told_sequence: 0,
            freed_slot: (freed % 2 > 0).then_some(freed / 2),
            from_time_ns: time as i64,
            to_time_ns: !(time as i64),
        };
        Superblock {
            store: Uuid::from_u128(ids.0),
            member: members[member_index],
            generation: numbers[0],
            created_ns,
            geometry,
            member_index: member_index as u16,
            members,
            is_prewritten,
            has_ended,
            slots_begun: numbers[1],
            recordings_begun: numbers[2] as u32,
            end_slot: numbers[2].checked_sub(1),
            pins: (1..).zip(pins).map(pin).collect(),
            pins_numbered: numbers[1] as u32,
            parities: 0,
            slot_counts: Vec::new(),
            repaired_slots: 0,
            is_being_repaired: false,
            first_recording: 0,
            retired: BTreeSet::new(),
            behind: BTreeSet::new(),
        }
    }
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(superblock in any_superblock(), copy in 0..4_u32) {
        let block = superblock.encode(copy);
        prop_assert_eq!(Superblock::decode(&block), Ok(superblock));
    }

    #[test]
    fn hostile_fields_under_a_right_checksum_never_harm(
        superblock in any_superblock(),
        patches in prop::collection::vec(
            (0..60_usize, prop_oneof![any::<u64>(), 0..300_u64], 1..=8_usize), 1..4,
        ),
    ) {
        let mut block = superblock.encode(0);
        for (at, value, width) in patches {
            // Values are written two bytes apart, as close as the smallest fields lie, and
            // behind the checksum.
            let offset = 24 + 2 * at;
            block[offset..offset + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        if let Ok(superblock) = Superblock::decode(&with_right_crc(block)) {
            prop_assert!(superblock.geometry.is_valid());
            prop_assert!(superblock.members.len() <= MEMBERS_MAX);
            superblock.course().at_or_after(superblock.slots_begun);
            let again = superblock.encode(1);
            prop_assert_eq!(Superblock::decode(&again), Ok(superblock));
        }
    }

    #[test]
    fn random_bytes_under_a_right_checksum_never_panic(
        bytes in prop::collection::vec(any::<u8>(), BLOCK_BYTES - 20),
    ) {
        let mut block = MAGIC.to_vec();
        block.extend([1 + bytes[0] % 2, 0, 0, 0]);
        block.extend(bytes);
        let _ = Superblock::decode(&with_right_crc(block));
    }
}

fn with_parity() -> Superblock {
    let mut superblock = with_pins();
    let others = superblock.members.len() - 1;
    let mut slot_counts = vec![77; others];
    slot_counts.insert(
        usize::from(superblock.member_index),
        superblock.geometry.slot_count,
    );
    superblock.parities = 2;
    superblock.slot_counts = slot_counts;
    superblock
}

/// It must refuse the store, and not only fail to find parity.
#[test]
fn a_store_with_parity_has_a_version_of_its_own() {
    let superblock = with_parity();
    let block = superblock.encode(1);
    assert_eq!(block[16..20], 3_u32.to_le_bytes());
    assert_eq!(block[120..122], 2_u16.to_le_bytes());
    assert_eq!(Superblock::decode(&block), Ok(superblock.clone()));
    let counts = &block[144..144 + 4 * superblock.members.len()];
    let own = 4 * usize::from(superblock.member_index);
    let slots = superblock.geometry.slot_count as u32;
    assert_eq!(counts[own..own + 4], slots.to_le_bytes());
    for other in [0, 1]
        .map(|index: usize| 4 * index)
        .iter()
        .filter(|at| **at != own)
    {
        assert_eq!(counts[*other..other + 4], 77_u32.to_le_bytes());
    }
}

#[test]
fn members_that_were_retired_or_are_behind_have_a_bit_each() {
    let superblock = Superblock {
        retired: [1].into(),
        behind: [0].into(),
        ..with_parity()
    };
    let block = superblock.encode(2);
    assert_eq!((block[668], block[684]), (2, 1));
    assert_eq!(Superblock::decode(&block), Ok(superblock));
    let mut changed = block;
    changed[684 + 15] = 0x80;
    let found = Superblock::decode(&with_right_crc(changed));
    assert_eq!(
        found,
        Err(SuperblockError::Damaged),
        "there is no such member"
    );
}

#[test]
fn slots_and_parities_that_contradict_each_other_are_damage() {
    let block = with_parity().encode(0);
    for (at, byte) in [(120, 3), (120, 0), (144 + 4 * 127, 1)] {
        let mut changed = block.clone();
        changed[at] = byte;
        let found = Superblock::decode(&with_right_crc(changed));
        match at {
            120 if byte == 0 => assert_eq!(found.unwrap().slot_counts, with_parity().slot_counts),
            120 => assert_eq!(found, Err(SuperblockError::Damaged)),
            _ => assert_eq!(found, Ok(with_parity()), "no member has that place"),
        }
    }
    let own = 144 + 4 * usize::from(with_parity().member_index);
    let mut changed = block;
    changed[own] ^= 1;
    let found = Superblock::decode(&with_right_crc(changed));
    assert_eq!(found, Err(SuperblockError::Damaged));
}
