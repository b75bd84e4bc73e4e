//! Small members in files, written append by append with the format itself: a recorder that keeps
//! everything it did, so that tests can know what must come back.

use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use sustain_disk::clock::Clock;
use sustain_disk::target::{DataPath, Direction, OpenRequest, open_path};
use sustain_parity::Sums;
use sustain_record::format::{
    AppendPlace, ClockDrift, Descriptor, EndNote, Gap, Geometry, GroupEntry, GroupList, Kind,
    MarksWriter, PayloadMark, PieceChecksums, Position, Seal, StartNote, StreamNote, StreamTotal,
    Superblock, append_bytes_for, crc32c,
};
use sustain_record::opening::{Opening, Recording, merge};
use sustain_record::reading::scope::Scope;
use sustain_record::store::OpenMember;
use tempfile::NamedTempFile;
use uuid::Uuid;

pub const SLOT_BYTES: u32 = 256 * 1024;
pub const STARTED_NS: i64 = 1_700_000_000_000_000_000;
pub const CONTROL_STREAM: u16 = 0xFFFF;

/// A member, with what the next append needs.
#[derive(Clone)]
pub struct Member {
    pub superblock: Superblock,
    pub bytes: Vec<u8>,
    next: AppendPlace,
    previous: Option<AppendPlace>,
    start: Option<AppendPlace>,
    member_bytes: Vec<u64>,
}

/// An append that was put.
#[derive(Debug, Clone)]
pub struct Put {
    pub member: usize,
    pub offset_bytes: usize,
    pub descriptor: Descriptor,
}

/// A store with one recording, or several one after the other.
pub struct Image {
    pub members: Vec<Member>,
    pub positions: Vec<Position>,
    pub puts: Vec<Put>,
    /// What the source offered of each stream.
    pub offered: Vec<Vec<u8>>,
    framings: Vec<&'static str>,
    recorded: Vec<u64>,
    /// Of the times of each stream; none are told if it is none.
    pub drifts: Option<Vec<ClockDrift>>,
    recording: u32,
    pub sequence: u64,
    /// What the next appends say of how far their members were flushed.
    pub flushed_sequence: u64,
    pub time_ns: i64,
    /// What the next starts say of the end before them.
    pub follows_end: Option<bool>,
    /// What the next starts say of the slot of the last end mark.
    pub end_slot: Option<u64>,
    is_ring: bool,
    /// Parities of each group, and the most appends of data; none without parity.
    protection: Option<(usize, usize)>,
    /// Groups that get more appends, the oldest first, with their appends as they lie on members.
    open_groups: Vec<(GroupList, Vec<Vec<u8>>)>,
    /// The member that gets the next parity, or else the one behind it.
    pub parity_first: usize,
    /// Members that are missing in the recordings that begin, and are given nothing.
    pub absent: Vec<u16>,
}

/// The group of an append, and its place among the parities.
#[derive(Clone, Copy, Default)]
struct InGroup {
    group: u64,
    role: u16,
}

impl Image {
    pub fn new(member_count: usize, slots: u64, framings: &[&'static str], is_ring: bool) -> Image {
        Image::new_unequal(&vec![slots; member_count], framings, is_ring)
    }

    /// Members with so many slots each.
    pub fn new_unequal(slots: &[u64], framings: &[&'static str], is_ring: bool) -> Image {
        let first_and_last = SLOT_BYTES as usize + 128 * 1024;
        let empty = |slots: &u64| vec![0; first_and_last + *slots as usize * SLOT_BYTES as usize];
        Image::over(slots.iter().map(empty).collect(), 7, framings, is_ring)
    }

    /// A new store over the members of this one, whose appends it has not wiped.
    pub fn recreated(&self) -> Image {
        let members = self.members.iter().map(|member| member.bytes.clone());
        Image::over(members.collect(), 8, &self.framings, self.is_ring)
    }

    fn over(members: Vec<Vec<u8>>, store: u128, framings: &[&'static str], is_ring: bool) -> Image {
        let store = Uuid::from_u128(store);
        let member_count = members.len();
        let ids: Vec<Uuid> = (0..member_count as u128)
            .map(|n| Uuid::from_u128(100 * store.as_u128() + n))
            .collect();
        let members = members.into_iter().zip(&ids).enumerate();
        let members = members.map(|(index, (mut bytes, id))| {
            let capacity_bytes = bytes.len() as u64;
            let superblock = Superblock {
                store,
                member: *id,
                generation: 3,
                created_ns: STARTED_NS,
                geometry: Geometry::of_member(capacity_bytes, SLOT_BYTES).unwrap(),
                member_index: index as u16,
                members: ids.clone(),
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
                retired: std::collections::BTreeSet::new(),
                behind: std::collections::BTreeSet::new(),
                slots_begun: 0,
            };
            for (copy, at) in (0..).zip(superblock.geometry.superblock_offsets()) {
                bytes[at as usize..][..4096].copy_from_slice(&superblock.encode(copy));
            }
            Member {
                superblock,
                bytes,
                next: AppendPlace {
                    slot_serial: 0,
                    slot_offset_bytes: 0,
                },
                previous: None,
                start: None,
                member_bytes: vec![0; framings.len()],
            }
        });
        let mut image = Image {
            members: members.collect(),
            positions: vec![Position::default(); framings.len()],
            puts: Vec::new(),
            offered: vec![Vec::new(); framings.len()],
            framings: framings.to_vec(),
            recorded: vec![0; framings.len()],
            drifts: Some(vec![ClockDrift::NONE; framings.len()]),
            recording: 1,
            sequence: 1 << 20,
            flushed_sequence: 0,
            time_ns: STARTED_NS,
            follows_end: None,
            end_slot: None,
            is_ring,
            protection: None,
            open_groups: Vec::new(),
            parity_first: 0,
            absent: Vec::new(),
        };
        (0..member_count).for_each(|member| image.start(member));
        image
    }

    /// Protects all data from now on by so many parities, in groups of at most so many appends.
    pub fn protect(&mut self, parities: usize, appends_max: usize) {
        assert!(
            parities + appends_max <= self.members.len(),
            "each on a member of its own"
        );
        self.protection = Some((parities, appends_max));
        let counts = self
            .members
            .iter()
            .map(|one| one.superblock.geometry.slot_count);
        let counts: Vec<u64> = counts.collect();
        for member in &mut self.members {
            member.superblock.parities = parities as u16;
            member.superblock.slot_counts.clone_from(&counts);
        }
        self.write_superblocks();
    }

    /// The oldest open group that has nothing on a member, or a new one.
    fn join_group(&mut self, member: usize) -> usize {
        let is_beside = |(list, _): &(GroupList, _)| {
            list.entries
                .iter()
                .all(|one| usize::from(one.member) != member)
        };
        self.open_groups
            .iter()
            .position(is_beside)
            .unwrap_or_else(|| {
                let parities = self.protection.map_or(0, |(parities, _)| parities as u16);
                let entries = Vec::new();
                self.open_groups
                    .push((GroupList { parities, entries }, Vec::new()));
                self.open_groups.len() - 1
            })
    }

    /// Closes all groups, the oldest first.
    pub fn close_groups(&mut self) {
        while !self.open_groups.is_empty() {
            self.close_group(0);
        }
    }

    fn close_group(&mut self, index: usize) {
        let (list, appends) = self.open_groups.remove(index);
        let parities: Vec<usize> = (0..usize::from(list.parities)).collect();
        let memory = vec![vec![0; list.parity_bytes() as usize]; parities.len()];
        let mut sums = Sums::empty(&parities, memory).unwrap();
        for (position, append) in appends.iter().enumerate() {
            sums.add(position, 0, append).unwrap();
        }
        let is_beside = |member: &usize| {
            list.entries
                .iter()
                .all(|one| usize::from(one.member) != *member)
        };
        let count = self.members.len();
        let in_turn = (0..count).map(|one| (self.parity_first + one) % count);
        let in_turn = in_turn.filter(|member| self.is_present(*member));
        let members: Vec<usize> = in_turn.filter(is_beside).collect();
        self.parity_first += 1;
        for ((member, sum), parity) in members.into_iter().zip(sums.into_memory()).zip(1..) {
            let group = InGroup {
                group: list.entries[0].sequence,
                role: parity,
            };
            self.put_bytes(
                member,
                (Kind::Parity, CONTROL_STREAM),
                &sum,
                (&list.encode(), 0),
                None,
                group,
            );
        }
    }

    /// A further recording of the same streams, in slots of its own.
    pub fn begin_again(&mut self) {
        let streams = self.framings.len();
        self.recording += 1;
        self.positions = vec![Position::default(); streams];
        self.offered = vec![Vec::new(); streams];
        self.recorded = vec![0; streams];
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            member.next.slot_offset_bytes = SLOT_BYTES;
            member.member_bytes = vec![0; streams];
            member.start = None;
            if self.is_present(index) {
                self.start(index);
            }
        }
    }

    fn is_present(&self, member: usize) -> bool {
        !self.absent.contains(&(member as u16))
    }

    /// Lets the next append of a member name the last but one as the one before it.
    pub fn forget_last(&mut self, member: usize) {
        let puts = self.puts.iter().rev().filter(|put| put.member == member);
        let before = puts.map(|put| put.descriptor.place).nth(1);
        self.members[member].previous = before;
    }

    /// Lets the next append of a member name the last one of the recordings before the last.
    pub fn forget_last_recording(&mut self, member: usize) {
        let puts = self.puts.iter().rev().filter(|put| put.member == member);
        let mut older = puts.filter(|put| put.descriptor.recording < self.recording);
        self.members[member].previous = older.next().map(|put| put.descriptor.place);
    }

    pub fn start(&mut self, member: usize) {
        let streams = self.framings.iter().map(|framing| StreamNote {
            name: "camera".to_owned(),
            framing: (*framing).to_owned(),
            source: None,
        });
        let note = StartNote {
            started_ns: STARTED_NS,
            tool: "test".to_owned(),
            ring: self.is_ring,
            parities: 0,
            streams: streams.collect(),
            previous_start: None,
            follows_end: self.follows_end,
            end_slot: self.end_slot,
            copies_of: None,
            absent: self.absent.clone(),
            earlier: Vec::new(),
        };
        self.put(
            member,
            Kind::Start,
            CONTROL_STREAM,
            &note.to_json(),
            &[],
            None,
        );
    }

    pub fn end(&mut self) {
        self.close_groups();
        let streams = (0..self.positions.len()).map(|stream| StreamTotal {
            offered: self.positions[stream].next_offset_bytes,
            recorded: self.recorded[stream],
            gap_bytes: self.positions[stream].gap_bytes,
            frames: self.positions[stream].frames,
        });
        let note = EndNote {
            ended: "source".to_owned(),
            streams: streams.collect(),
            torn: Vec::new(),
            follows_end: None,
            start_was_whole: None,
            protected_bytes: None,
        };
        let present = (0..self.members.len()).filter(|member| self.is_present(*member));
        for member in present.collect::<Vec<_>>() {
            self.put(
                member,
                Kind::End,
                CONTROL_STREAM,
                &note.to_json(),
                &[],
                None,
            );
        }
    }

    /// Bytes of a stream with their marks, which count from the first of them.
    pub fn data(&mut self, member: usize, stream: u16, payload: &[u8], marks: &[PayloadMark]) {
        self.data_after(member, stream, payload, marks, None);
    }

    pub fn data_after(
        &mut self,
        member: usize,
        stream: u16,
        payload: &[u8],
        marks: &[PayloadMark],
        gap: Option<Gap>,
    ) {
        let gap_bytes = gap.map_or(0, |gap| gap.bytes);
        let offered = &mut self.offered[usize::from(stream)];
        offered.resize(offered.len() + gap_bytes as usize, 0);
        offered.extend_from_slice(payload);
        self.recorded[usize::from(stream)] += payload.len() as u64;
        self.put(member, Kind::Data, stream, payload, marks, gap);
    }

    /// The last append of a stream once more on another member, as where the first one has failed.
    pub fn copy(&mut self, member: usize, stream: u16, payload: &[u8]) {
        self.positions[usize::from(stream)].next_offset_bytes -= payload.len() as u64;
        self.put(member, Kind::Data, stream, payload, &[], None);
    }

    /// The account of a gap that ends where the stream has come to, among bytes that were put.
    pub fn lost_before(&mut self, member: usize, stream: u16, gap: Gap) {
        self.positions[usize::from(stream)].next_offset_bytes -= gap.bytes;
        self.recorded[usize::from(stream)] -= gap.bytes;
        self.put(member, Kind::Data, stream, &[], &[], Some(gap));
    }

    /// How far the source's clock was from the recorder's, if descriptors say so.
    fn add_drifts(
        &mut self,
        stream: u16,
        marks: &[PayloadMark],
        first_time_ns: i64,
        made_time_ns: i64,
    ) {
        let times_ns = [first_time_ns, first_time_ns + 500_000];
        if let Some(drifts) = &mut self.drifts {
            let of_marks = marks.iter().filter_map(|mark| mark.time_ns);
            for time_ns in of_marks.chain(times_ns) {
                drifts[usize::from(stream)].add_time(time_ns, made_time_ns);
            }
        }
    }

    /// How far the streams have come, as a descriptor on this member says it.
    fn positions_on(&self, member: usize) -> Vec<Position> {
        let mut positions = self.positions.clone();
        let member_bytes = &self.members[member].member_bytes;
        for (position, bytes) in positions.iter_mut().zip(member_bytes) {
            position.member_bytes = *bytes;
        }
        positions
    }

    fn put(
        &mut self,
        member: usize,
        kind: Kind,
        stream: u16,
        payload: &[u8],
        marks: &[PayloadMark],
        gap: Option<Gap>,
    ) {
        let mut writer = MarksWriter::new();
        let first_time_ns = self.time_ns;
        marks
            .iter()
            .for_each(|mark| writer.push(*mark, first_time_ns));
        if kind == Kind::Data {
            self.add_drifts(stream, marks, first_time_ns, first_time_ns + 600_000);
        }
        let marks = (writer.bytes(), writer.frames_begun());
        let Some((_, appends_max)) = self.protection.filter(|_| kind == Kind::Data) else {
            return self.put_bytes(
                member,
                (kind, stream),
                payload,
                marks,
                gap,
                InGroup::default(),
            );
        };
        let index = self.join_group(member);
        let first = self.open_groups[index].0.entries.first();
        let group = first.map_or(self.sequence + 1, |first| first.sequence);
        let in_group = InGroup { group, role: 0 };
        self.put_bytes(member, (kind, stream), payload, marks, gap, in_group);
        let put = &self.puts[self.puts.len() - 1];
        let append_bytes = put.descriptor.append_bytes;
        let append = &self.members[member].bytes[put.offset_bytes..][..append_bytes as usize];
        let (list, appends) = &mut self.open_groups[index];
        list.entries.push(GroupEntry {
            member: member as u16,
            place: put.descriptor.place,
            append_bytes,
            sequence: put.descriptor.sequence,
            descriptor_crc: u32::from_le_bytes(append[8..12].try_into().unwrap()),
        });
        appends.push(append.to_vec());
        if appends.len() == appends_max {
            self.close_group(index);
        }
    }

    fn put_bytes(
        &mut self,
        member: usize,
        (kind, stream): (Kind, u16),
        payload: &[u8],
        (marks_bytes, frames_begun): (&[u8], u64),
        gap: Option<Gap>,
        in_group: InGroup,
    ) {
        self.sequence += 1;
        let first_time_ns = self.time_ns;
        self.time_ns += 1_000_000;
        let append_bytes = append_bytes_for(payload.len() as u32, marks_bytes.len() as u32);
        let place = self.members[member].place_for(append_bytes);
        let gap_bytes = gap.map_or(0, |gap| gap.bytes);
        let (mut stream_offset_bytes, mut first_frame) = (0, 0);
        for position in &mut self.positions {
            position.settled_offset_bytes = position.next_offset_bytes;
        }
        let made_time_ns = self.time_ns - 400_000;
        if kind == Kind::Data {
            let position = &mut self.positions[usize::from(stream)];
            stream_offset_bytes = position.next_offset_bytes + gap_bytes;
            position.next_offset_bytes = stream_offset_bytes + payload.len() as u64;
            first_frame = position.frames + gap.map_or(0, |gap| gap.frames);
            position.frames = first_frame + frames_begun;
            position.gap_bytes += gap_bytes;
            self.members[member].member_bytes[usize::from(stream)] += payload.len() as u64;
        }
        let positions = self.positions_on(member);
        let on_member = &mut self.members[member];
        if kind == Kind::Start {
            on_member.start = Some(place);
        }
        let mut checksums = PieceChecksums::new();
        checksums.push(payload);
        let descriptor = Descriptor {
            kind,
            store: on_member.superblock.store,
            member: on_member.superblock.member,
            place,
            append_bytes,
            sequence: self.sequence,
            recording: self.recording,
            recording_id: Uuid::from_u128(41 + u128::from(self.recording)),
            stream,
            gap,
            stream_offset_bytes,
            payload_bytes: payload.len() as u32,
            marks_bytes: marks_bytes.len() as u32,
            marks_crc: crc32c(marks_bytes),
            first_time_ns,
            last_time_ns: first_time_ns + 500_000,
            made_time_ns,
            previous: on_member.previous,
            start: on_member.start,
            flushed_sequence: self.flushed_sequence,
            parity_group: in_group.group,
            parity_role: in_group.role,
            first_frame,
            positions,
            checksums: checksums.take(),
            drifts: self.drifts.clone().unwrap_or_default(),
        };
        let append = encoded(&descriptor, payload, marks_bytes);
        let offset_bytes = on_member.superblock.geometry.offset_of(place) as usize;
        on_member.bytes[offset_bytes..][..append.len()].copy_from_slice(&append);
        on_member.previous = Some(place);
        self.puts.push(Put {
            member,
            offset_bytes,
            descriptor,
        });
    }

    /// How many laps and slots a member has begun.
    pub fn slots_begun(&self, member: usize) -> u64 {
        self.members[member].next.slot_serial + 1
    }

    /// Renews the superblocks as behind the end of a recording.
    pub fn say_ended(&mut self) {
        self.renew_superblocks(true, 0);
    }

    /// Renews the superblocks as before the recording that has just begun.
    pub fn say_begun(&mut self) {
        self.renew_superblocks(false, 0);
    }

    /// Renews the superblocks as before a recording that wrote nothing, behind what is there.
    pub fn say_begun_in_vain(&mut self) {
        self.renew_superblocks(false, 1);
    }

    fn renew_superblocks(&mut self, has_ended: bool, further_slots: u64) {
        for member in &mut self.members {
            let superblock = &mut member.superblock;
            superblock.generation += 1;
            superblock.has_ended = has_ended;
            superblock.recordings_begun = self.recording + further_slots as u32;
            superblock.slots_begun = member.next.slot_serial + 1 + further_slots;
            if has_ended {
                superblock.end_slot = Some(member.next.slot_serial);
            }
        }
        self.write_superblocks();
    }

    fn write_superblocks(&mut self) {
        for member in &mut self.members {
            let superblock = &member.superblock;
            let offsets = superblock.geometry.superblock_offsets();
            for (copy, at) in (0..).zip(offsets) {
                member.bytes[at as usize..][..4096].copy_from_slice(&superblock.encode(copy));
            }
        }
    }

    /// The members as files, opened.
    pub fn open(&self) -> Opened {
        let lengths: Vec<usize> = self
            .members
            .iter()
            .map(|member| member.bytes.len())
            .collect();
        self.open_cut(&lengths)
    }

    /// The members as files that end early.
    pub fn open_cut(&self, lengths: &[usize]) -> Opened {
        let mut files = Vec::new();
        let mut members = Vec::new();
        for (member, length) in self.members.iter().zip(lengths) {
            let mut file = NamedTempFile::new().unwrap();
            file.as_file_mut().seek(SeekFrom::Start(0)).unwrap();
            file.write_all(&member.bytes[..*length]).unwrap();
            let request = OpenRequest {
                direction: Direction::Read,
                path: DataPath::Buffered,
                create: false,
            };
            let name = format!("m{}", members.len());
            let target = open_path(&name, file.path(), request, &mut |_| Ok(())).unwrap();
            members.push(OpenMember {
                name,
                target,
                simulated: None,
                passthrough: None,
                superblock: member.superblock.clone(),
                rebuilt: None,
                groups: None,
            });
            files.push(file);
        }
        let read = |member: usize, from: usize, length: usize| {
            let bytes = &self.members[member].bytes[..lengths[member]];
            bytes.get(from..from + length).map(<[u8]>::to_vec)
        };
        Opened {
            recordings: recordings(&members, &read),
            members,
            files,
        }
    }
}

/// The append as it lies on its member.
fn encoded(descriptor: &Descriptor, payload: &[u8], marks: &[u8]) -> Vec<u8> {
    let mut append = vec![0; descriptor.append_bytes as usize];
    let crc = descriptor.encode_into(&mut append[..4096]);
    append[4096..][..payload.len()].copy_from_slice(payload);
    append[4096 + payload.len()..][..marks.len()].copy_from_slice(marks);
    let seal_at = append.len() - 64;
    append[seal_at..].copy_from_slice(&Seal::of(descriptor, crc).encode());
    append
}

impl Member {
    fn place_for(&mut self, append_bytes: u32) -> AppendPlace {
        if self.next.slot_offset_bytes + append_bytes > SLOT_BYTES {
            // Pins leave out what lies a lap behind the slots that they keep.
            let next = self.superblock.course().after(self.next.slot_serial);
            self.next = AppendPlace {
                slot_serial: next.expect("pins leave some slots"),
                slot_offset_bytes: 0,
            };
        }
        let place = self.next;
        self.next.slot_offset_bytes += append_bytes;
        place
    }
}

/// A store that is open.
pub struct Opened {
    pub members: Vec<OpenMember>,
    pub recordings: Vec<Recording>,
    files: Vec<NamedTempFile>,
}

impl Opened {
    /// Puts what the members hold by now into the open files, as a recorder does.
    pub fn go_on(&self, image: &Image) {
        for (file, member) in self.files.iter().zip(&image.members) {
            file.as_file().write_all_at(&member.bytes, 0).unwrap();
        }
    }

    pub fn scope(&self) -> Scope {
        Scope::of(&self.recordings[0], &self.members, &[], &Clock::Real)
    }
}

/// What opening finds on members, given how to read them.
pub fn recordings(
    members: &[OpenMember],
    read: &dyn Fn(usize, usize, usize) -> Option<Vec<u8>>,
) -> Vec<Recording> {
    let io_error = sustain_disk::error::IoFault::Kernel(5);
    let chapters: Vec<_> = members
        .iter()
        .enumerate()
        .map(|(index, member)| {
            let mut opening = Opening::new(&member.superblock);
            loop {
                match opening.chapters() {
                    Ok(chapters) => return Some(chapters),
                    Err(needs) => {
                        for need in needs {
                            let bytes = read(index, need.offset_bytes as usize, need.length_bytes);
                            opening.answer(&need, bytes.as_deref().ok_or(io_error));
                        }
                    }
                }
            }
        })
        .collect();
    merge(&chapters).unwrap()
}
