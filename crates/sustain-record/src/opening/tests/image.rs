//! Media of members in memory, with recordings on them as a recorder would leave them.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::format::{
    AppendPlace, BLOCK_BYTES, CONTROL_STREAM, Descriptor, EarlierNote, EndNote, Geometry, Kind,
    PIECE_BYTES, Position, Seal, StartNote, StreamNote, StreamTotal, Superblock, append_bytes_for,
    crc32c,
};

/// Blocks by their number; those that were never written are zeros.
#[derive(Debug, Clone, Default)]
pub struct Medium {
    pub blocks: BTreeMap<u64, Vec<u8>>,
}

impl Medium {
    pub fn write(&mut self, offset_bytes: u64, bytes: &[u8]) {
        let first = offset_bytes / BLOCK_BYTES as u64;
        for (number, block) in (first..).zip(bytes.chunks(BLOCK_BYTES)) {
            self.blocks.insert(number, block.to_vec());
        }
    }

    /// Reads blocks. `offset_bytes` is a multiple of a block.
    pub fn read(&self, offset_bytes: u64, length_bytes: usize) -> Vec<u8> {
        let first = offset_bytes / BLOCK_BYTES as u64;
        let mut bytes = Vec::new();
        for number in (first..).take(length_bytes.div_ceil(BLOCK_BYTES)) {
            match self.blocks.get(&number) {
                Some(block) => bytes.extend_from_slice(block),
                None => bytes.resize(bytes.len() + BLOCK_BYTES, 0),
            }
        }
        bytes.truncate(length_bytes);
        bytes
    }

    /// Loses the block there, as if it had never been written.
    pub fn lose(&mut self, offset_bytes: u64) {
        self.blocks.remove(&(offset_bytes / BLOCK_BYTES as u64));
    }

    /// Flips a bit of a block that was written.
    pub fn flip(&mut self, offset_bytes: u64, bit: usize) {
        let block = self.blocks.get_mut(&(offset_bytes / BLOCK_BYTES as u64));
        let byte = offset_bytes as usize % BLOCK_BYTES + bit / 8;
        block.expect("something was written there")[byte] ^= 1 << (bit % 8);
    }
}

/// One member with its medium.
#[derive(Debug, Clone)]
pub struct Member {
    pub superblock: Superblock,
    pub medium: Medium,
    /// The place of the next append.
    pub next: AppendPlace,
    pub previous: Option<AppendPlace>,
    pub start: Option<AppendPlace>,
    pub member_bytes: Vec<u64>,
}

impl Member {
    pub fn geometry(&self) -> Geometry {
        self.superblock.geometry
    }

    pub fn offset_of(&self, place: AppendPlace) -> u64 {
        self.geometry().offset_of(place)
    }

    /// The slot that was begun last.
    pub fn newest(&self) -> u64 {
        self.previous.expect("there is one").slot_serial
    }

    /// Loses the first block of a slot.
    pub fn lose_slot_start(&mut self, slot_serial: u64) {
        let offset_bytes = self.offset_of(place(slot_serial, 0));
        self.medium.lose(offset_bytes);
    }
}

/// A store, with a recorder that knows neither time nor failure.
#[derive(Debug, Clone)]
pub struct Image {
    pub members: Vec<Member>,
    pub sequence: u64,
    pub recording: u32,
    pub recording_id: Uuid,
    pub positions: Vec<Position>,
    pub ring: bool,
    /// Members that are missing in the recordings that begin.
    pub absent: Vec<u16>,
    /// The notes about earlier recordings in starts.
    pub earlier: Vec<EarlierNote>,
    pub time_ns: i64,
}

pub fn place(slot_serial: u64, slot_offset_bytes: u32) -> AppendPlace {
    AppendPlace {
        slot_serial,
        slot_offset_bytes,
    }
}

/// The superblocks of a store whose members have these sizes.
pub fn superblocks(sizes_bytes: &[u64], slot_bytes: u32) -> Vec<Superblock> {
    let member = |index: usize| Uuid::from_u128(0x2200 + index as u128);
    let members: Vec<Uuid> = (0..sizes_bytes.len()).map(member).collect();
    let superblock = |(index, size_bytes): (usize, &u64)| Superblock {
        store: Uuid::from_u128(0x11),
        member: members[index],
        generation: 1,
        created_ns: 0,
        geometry: Geometry::of_member(*size_bytes, slot_bytes).unwrap(),
        member_index: index as u16,
        members: members.clone(),
        is_prewritten: false,
        has_ended: false,
        recordings_begun: 0,
        end_slot: None,
        pins: Vec::new(),
        pins_numbered: 0,
        parities: 0,
        slot_counts: Vec::new(),
        repaired_slots: 0,
        is_being_repaired: false,
        first_recording: 0,
        retired: BTreeSet::new(),
        behind: BTreeSet::new(),
        slots_begun: 0,
    };
    sizes_bytes.iter().enumerate().map(superblock).collect()
}

impl Image {
    pub fn of(superblocks: Vec<Superblock>) -> Image {
        let member = |superblock| Member {
            superblock,
            medium: Medium::default(),
            next: place(0, 0),
            previous: None,
            start: None,
            member_bytes: Vec::new(),
        };
        Image {
            members: superblocks.into_iter().map(member).collect(),
            sequence: 1 << 20,
            recording: 0,
            recording_id: Uuid::nil(),
            positions: Vec::new(),
            ring: false,
            absent: Vec::new(),
            earlier: Vec::new(),
            time_ns: 1000,
        }
    }

    pub fn new(sizes_bytes: &[u64], slot_bytes: u32) -> Image {
        Image::of(superblocks(sizes_bytes, slot_bytes))
    }

    /// Begins a recording: renews the superblocks, then writes a start on each member.
    pub fn begin(&mut self, streams: usize) {
        self.recording += 1;
        self.recording_id = Uuid::from_u128(0x3300 + u128::from(self.recording));
        self.sequence = (self.sequence + 1).next_multiple_of(1 << 20);
        self.positions = vec![Position::default(); streams];
        for index in self.present() {
            let member = &mut self.members[index];
            if member.next.slot_offset_bytes > 0 {
                member.next = place(member.next.slot_serial + 1, 0);
            }
            member.superblock.generation += 1;
            member.superblock.slots_begun = member.next.slot_serial + 1;
            member.member_bytes = vec![0; streams];
            self.start(index);
        }
    }

    /// Writes a start, the first one or a repeated one.
    pub fn start(&mut self, member: usize) {
        let stream = |stream| StreamNote {
            name: format!("camera {stream}"),
            framing: "none".to_owned(),
            source: None,
        };
        let note = StartNote {
            started_ns: 500 + i64::from(self.recording),
            tool: "a test".to_owned(),
            ring: self.ring,
            parities: 0,
            streams: (0..self.positions.len()).map(stream).collect(),
            previous_start: self.members[member].start.map(Into::into),
            follows_end: None,
            end_slot: None,
            copies_of: None,
            absent: self.absent.clone(),
            earlier: self.earlier.clone(),
        };
        self.append(member, Kind::Start, CONTROL_STREAM, &note.to_json());
    }

    /// Puts payload of a stream on a member.
    pub fn put(&mut self, member: usize, stream: u16, payload: &[u8]) -> Descriptor {
        let position = &mut self.positions[usize::from(stream)];
        position.next_offset_bytes += payload.len() as u64;
        position.settled_offset_bytes = position.next_offset_bytes;
        position.frames += 1;
        self.members[member].member_bytes[usize::from(stream)] += payload.len() as u64;
        self.append(member, Kind::Data, stream, payload)
    }

    /// Puts on a member again what was put on another one, after what came in between.
    pub fn put_again(&mut self, member: usize, original: &Descriptor, payload: &[u8]) {
        let stream = usize::from(original.stream);
        self.members[member].member_bytes[stream] += payload.len() as u64;
        let copy = Descriptor {
            stream_offset_bytes: original.stream_offset_bytes,
            ..self.append(member, Kind::Data, original.stream, payload)
        };
        let member = &mut self.members[member];
        let offset_bytes = member.offset_of(copy.place);
        member.medium.write(offset_bytes, &encode(&copy, payload));
    }

    /// Puts so much payload on each member in turn that it fills `slots` slots each.
    pub fn fill(&mut self, slots: u64, payload_bytes: usize) {
        let payload = vec![0x5A; payload_bytes];
        for index in self.present() {
            let until = self.members[index].next.slot_serial + slots;
            while self.members[index].next.slot_serial < until {
                self.put(index, 0, &payload);
            }
        }
    }

    /// Ends the recording on all members, and renews the superblocks.
    pub fn end(&mut self) {
        let total = |position: &Position| StreamTotal {
            offered: position.next_offset_bytes,
            recorded: position.next_offset_bytes - position.gap_bytes,
            gap_bytes: position.gap_bytes,
            frames: position.frames,
        };
        let note = EndNote {
            ended: "source".to_owned(),
            streams: self.positions.iter().map(total).collect(),
            torn: Vec::new(),
            follows_end: None,
            start_was_whole: None,
            protected_bytes: None,
        };
        for index in self.present() {
            let end = self.append(index, Kind::End, CONTROL_STREAM, &note.to_json());
            let member = &mut self.members[index];
            member.superblock.generation += 1;
            member.superblock.slots_begun = end.place.slot_serial + 1;
            member.next = place(end.place.slot_serial + 1, 0);
        }
    }

    /// The places of the members that are not missing.
    fn present(&self) -> Vec<usize> {
        let is_there = |index: &usize| !self.absent.contains(&(*index as u16));
        (0..self.members.len()).filter(is_there).collect()
    }

    fn append(&mut self, index: usize, kind: Kind, stream: u16, payload: &[u8]) -> Descriptor {
        let append_bytes = append_bytes_for(payload.len() as u32, 0);
        let member = &mut self.members[index];
        if member.next.slot_offset_bytes + append_bytes > member.geometry().slot_bytes {
            member.next = place(member.next.slot_serial + 1, 0);
        }
        self.sequence += 1;
        self.time_ns += 10;
        if kind == Kind::Start {
            member.start = Some(member.next);
        }
        let mut positions = self.positions.clone();
        for (position, bytes) in positions.iter_mut().zip(&member.member_bytes) {
            position.member_bytes = *bytes;
        }
        let next_offset_bytes = positions
            .get(usize::from(stream))
            .map_or(0, |position| position.next_offset_bytes);
        let is_data = kind == Kind::Data;
        let descriptor = Descriptor {
            kind,
            store: member.superblock.store,
            member: member.superblock.member,
            place: member.next,
            append_bytes,
            sequence: self.sequence,
            recording: self.recording,
            recording_id: self.recording_id,
            stream,
            gap: None,
            stream_offset_bytes: if is_data {
                next_offset_bytes - payload.len() as u64
            } else {
                0
            },
            payload_bytes: payload.len() as u32,
            marks_bytes: 0,
            marks_crc: 0,
            first_time_ns: self.time_ns,
            last_time_ns: self.time_ns + 5,
            made_time_ns: self.time_ns + 7,
            previous: member.previous,
            start: member.start,
            flushed_sequence: 0,
            parity_group: 0,
            parity_role: 0,
            first_frame: 0,
            drifts: Vec::new(),
            positions,
            checksums: payload.chunks(PIECE_BYTES).map(crc32c).collect(),
        };
        let bytes = encode(&descriptor, payload);
        let offset_bytes = member.offset_of(descriptor.place);
        member.medium.write(offset_bytes, &bytes);
        member.previous = Some(descriptor.place);
        member.next.slot_offset_bytes += append_bytes;
        descriptor
    }
}

/// The bytes of an append.
pub fn encode(descriptor: &Descriptor, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; descriptor.append_bytes as usize];
    let crc = descriptor.encode_into(&mut bytes[..BLOCK_BYTES]);
    bytes[BLOCK_BYTES..][..payload.len()].copy_from_slice(payload);
    let seal = Seal::of(descriptor, crc).encode();
    let start = bytes.len() - seal.len();
    bytes[start..].copy_from_slice(&seal);
    bytes
}
