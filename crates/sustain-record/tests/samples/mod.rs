//! One fixed example of everything that lies on a member, for the golden files and as seeds of the
//! fuzz targets. Nothing here may ever change: it defines what versions 1 to 3 mean.

use sustain_record::format::{
    AppendPlace, CONTROL_STREAM, Descriptor, EndNote, Gap, GapReason, Geometry, GroupEntry,
    GroupList, Kind, MarkKind, MarksWriter, PINS_MAX, PayloadMark, Pin, PlaceNote, Position,
    SLOT_BYTES_MAX, SLOT_BYTES_MIN, STREAMS_MAX, Seal, StartNote, StreamNote, StreamTotal,
    Superblock, append_bytes_for, crc32c,
};
use uuid::{Uuid, uuid};

const STORE: Uuid = uuid!("6a1c2f0e-8f1b-4d57-9c39-01f20a44d7e1");
const RECORDING: Uuid = uuid!("0d9e7b52-33a4-4c1f-b6d0-7f7e0c5a9b12");
const MEMBERS: [Uuid; 3] = [
    uuid!("b3f1c0aa-1111-4a5b-8c7d-9e0f1a2b3c4d"),
    uuid!("c4e2d1bb-2222-4b6c-9d8e-0f1a2b3c4d5e"),
    uuid!("d5f3e2cc-3333-4c7d-ae9f-1a2b3c4d5e6f"),
];

/// 2026-07-14 12:34:56.789012345 UTC.
pub const FIRST_TIME_NS: i64 = 1_784_032_496_789_012_345;

/// The second of three members of 4 TB, with slots of 8 MiB.
pub fn superblock() -> Superblock {
    Superblock {
        store: STORE,
        member: MEMBERS[1],
        generation: 5,
        created_ns: FIRST_TIME_NS - 86_400_000_000_000,
        geometry: Geometry::of_member(4_000_787_030_016, 8 << 20).unwrap(),
        member_index: 1,
        members: MEMBERS.to_vec(),
        is_prewritten: true,
        has_ended: false,
        slots_begun: 123_456,
        recordings_begun: 0,
        end_slot: None,
        pins: Vec::new(),
        pins_numbered: 0,
        parities: 0,
        slot_counts: Vec::new(),
        repaired_slots: 0,
        is_being_repaired: false,
        first_recording: 0,
        retired: std::collections::BTreeSet::new(),
        behind: std::collections::BTreeSet::new(),
    }
}

/// The same member with pins: one of each kind, and as many as there can be. It has version 2.
pub fn superblock_with_pins() -> Superblock {
    let pin = |number: u32| Pin {
        number,
        from_slot: 100_000 + 10 * u64::from(number),
        end_slot: (number > 1).then(|| 100_008 + 10 * u64::from(number)),
        end_sequence: (7 << 20) + u64::from(number),
        told_sequence: 0,
        freed_slot: (number > 13).then_some(120_000),
        from_time_ns: FIRST_TIME_NS + 1_000_000_000 * i64::from(number),
        to_time_ns: FIRST_TIME_NS + 1_000_000_000 * i64::from(number) + 750_000_000,
    };
    Superblock {
        pins: (1..=PINS_MAX as u32).map(pin).collect(),
        ..superblock()
    }
}

/// The same member in a store with parity, rebuilt onto a new disk in part. It has version 3.
pub fn superblock_with_parity() -> Superblock {
    Superblock {
        parities: 1,
        slot_counts: vec![476_927, 476_929, 119_231],
        repaired_slots: 100_000,
        is_being_repaired: true,
        ..superblock()
    }
}

/// Two appends that protect each other with one append of parity.
pub fn group_list() -> GroupList {
    let entry = |member: u16, slot_serial, sequence| GroupEntry {
        member,
        place: place(slot_serial, 1 << 20),
        append_bytes: 208_896 + (u32::from(member) << 12),
        sequence,
        descriptor_crc: 0x89AB_CDEF ^ u32::from(member),
    };
    let sequence = 7 * (1 << 20) + 4321;
    GroupList {
        parities: 1,
        entries: vec![entry(2, 30_001, sequence), entry(0, 123_459, sequence + 1)],
    }
}

/// The append of parity of that group.
pub fn parity_descriptor() -> Descriptor {
    let list = group_list().encode();
    Descriptor {
        kind: Kind::Parity,
        append_bytes: append_bytes_for(217_088, list.len() as u32),
        sequence: 7 * (1 << 20) + 4323,
        stream: CONTROL_STREAM,
        gap: None,
        stream_offset_bytes: 0,
        payload_bytes: 217_088,
        marks_bytes: list.len() as u32,
        marks_crc: crc32c(&list),
        parity_group: 7 * (1 << 20) + 4321,
        parity_role: 1,
        ..descriptor()
    }
}

/// The smallest member there can be, alone in its store.
pub fn smallest_superblock() -> Superblock {
    Superblock {
        store: STORE,
        member: MEMBERS[0],
        generation: 0,
        created_ns: -1,
        geometry: Geometry::of_member(384 << 10, SLOT_BYTES_MIN).unwrap(),
        member_index: 0,
        members: vec![MEMBERS[0]],
        is_prewritten: false,
        has_ended: false,
        slots_begun: 0,
        recordings_begun: 0,
        end_slot: None,
        pins: Vec::new(),
        pins_numbered: 0,
        parities: 0,
        slot_counts: Vec::new(),
        repaired_slots: 0,
        is_being_repaired: false,
        first_recording: 0,
        retired: std::collections::BTreeSet::new(),
        behind: std::collections::BTreeSet::new(),
    }
}

fn place(slot_serial: u64, slot_offset_bytes: u32) -> AppendPlace {
    AppendPlace {
        slot_serial,
        slot_offset_bytes,
    }
}

/// Two streams; the second one has just lost something.
pub fn descriptor() -> Descriptor {
    let payload_bytes = 200_000;
    let marks = marks();
    let marks_bytes = marks.len_bytes() as u32;
    Descriptor {
        kind: Kind::Data,
        store: STORE,
        member: MEMBERS[1],
        place: place(123_460, 3 << 20),
        append_bytes: append_bytes_for(payload_bytes, marks_bytes),
        sequence: 7 * (1 << 20) + 4321,
        recording: 7,
        recording_id: RECORDING,
        stream: 1,
        gap: Some(Gap {
            bytes: 65_536,
            frames: 3,
            reason: GapReason::BufferFull,
            first_time_ns: FIRST_TIME_NS - 2000,
            last_time_ns: FIRST_TIME_NS - 1000,
        }),
        stream_offset_bytes: 5_000_000_000_000,
        payload_bytes,
        marks_bytes,
        marks_crc: crc32c(marks.bytes()),
        first_time_ns: FIRST_TIME_NS,
        last_time_ns: FIRST_TIME_NS + 1_000_000,
        made_time_ns: FIRST_TIME_NS + 1_000_500,
        previous: Some(place(123_460, 2 << 20)),
        start: Some(place(120_000, 0)),
        flushed_sequence: 7 * (1 << 20) + 4300,
        parity_group: 0,
        parity_role: 0,
        first_frame: 0,
        drifts: Vec::new(),
        positions: vec![
            Position {
                next_offset_bytes: 1_000_000,
                settled_offset_bytes: 900_000,
                frames: 0,
                gap_bytes: 0,
                member_bytes: 333_333,
            },
            Position {
                next_offset_bytes: 5_000_000_200_000,
                settled_offset_bytes: 4_999_999_000_000,
                frames: 12_345_678,
                gap_bytes: 65_536,
                member_bytes: 1_666_666_666_666,
            },
        ],
        checksums: vec![0x0123_4567, 0x89AB_CDEF, 0xFEDC_BA98, 0x7654_3210],
    }
}

/// A start, the first append of a member.
pub fn start_descriptor() -> Descriptor {
    let payload = start().to_json();
    Descriptor {
        kind: Kind::Start,
        place: place(0, 0),
        append_bytes: append_bytes_for(payload.len() as u32, 0),
        sequence: 0,
        recording: 1,
        stream: CONTROL_STREAM,
        gap: None,
        stream_offset_bytes: 0,
        payload_bytes: payload.len() as u32,
        marks_bytes: 0,
        marks_crc: 0,
        previous: None,
        start: None,
        flushed_sequence: 0,
        parity_group: 0,
        parity_role: 0,
        first_frame: 0,
        drifts: Vec::new(),
        positions: vec![Position::default(); 2],
        checksums: vec![crc32c(&payload)],
        ..descriptor()
    }
}

/// As many streams and checksums as there can be.
pub fn fullest_descriptor() -> Descriptor {
    let payload_bytes = SLOT_BYTES_MAX - 4160;
    Descriptor {
        place: place(9, 0),
        append_bytes: SLOT_BYTES_MAX,
        payload_bytes,
        marks_bytes: 0,
        previous: Some(place(8, 0)),
        start: Some(place(0, 0)),
        positions: vec![descriptor().positions[1]; STREAMS_MAX],
        stream_offset_bytes: 4_000_000_000_000,
        checksums: (0..256).collect(),
        ..descriptor()
    }
}

/// The seal of `descriptor()`, whose checksum is `crc`.
pub fn seal(crc: u32) -> Seal {
    Seal {
        sequence: 7 * (1 << 20) + 4321,
        slot_serial: 123_460,
        descriptor_crc: crc,
        append_bytes: 204_800,
    }
}

/// One frame ends that began earlier, one is whole, one goes on; and the clock is set back.
pub fn mark_list() -> [PayloadMark; 4] {
    let mark = |offset_bytes, kind, time_ns| PayloadMark {
        offset_bytes,
        kind,
        time_ns,
    };
    [
        mark(100, MarkKind::EndAndBegin, Some(FIRST_TIME_NS + 5)),
        mark(70_000, MarkKind::End, None),
        mark(70_004, MarkKind::Begin, Some(FIRST_TIME_NS - 1_000_000)),
        mark(200_000, MarkKind::EndAndBegin, Some(FIRST_TIME_NS)),
    ]
}

/// The marks of `descriptor()`.
pub fn marks() -> MarksWriter {
    let mut writer = MarksWriter::new();
    for mark in mark_list() {
        writer.push(mark, FIRST_TIME_NS);
    }
    writer
}

/// A recording of two streams, not the first one.
pub fn start() -> StartNote {
    StartNote {
        started_ns: FIRST_TIME_NS,
        tool: "sustain 0.1.0".into(),
        ring: false,
        parities: 0,
        streams: vec![
            StreamNote {
                name: "log".into(),
                framing: "none".into(),
                source: None,
            },
            StreamNote {
                name: "camera".into(),
                framing: "length-u32-le".into(),
                source: Some("/run/camera".into()),
            },
        ],
        previous_start: Some(PlaceNote {
            slot_serial: 99_000,
            slot_offset_bytes: 0,
        }),
        follows_end: None,
        end_slot: None,
        copies_of: None,
        absent: Vec::new(),
        earlier: Vec::new(),
    }
}

/// The end of that recording.
pub fn end() -> EndNote {
    EndNote {
        ended: "stopped".into(),
        streams: vec![
            StreamTotal {
                offered: 1_000_000,
                recorded: 1_000_000,
                gap_bytes: 0,
                frames: 0,
            },
            StreamTotal {
                offered: 5_000_000_200_000,
                recorded: 5_000_000_134_464,
                gap_bytes: 65_536,
                frames: 12_345_678,
            },
        ],
        torn: Vec::new(),
        follows_end: None,
        start_was_whole: None,
        protected_bytes: None,
    }
}
