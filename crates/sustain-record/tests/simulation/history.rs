//! The history of a run: what was written, what of it the disks have promised, and what the
//! recorder has promised. It is kept beside the recorder from the requests alone, so that the
//! recorder can be checked against it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use sustain_disk::driver::Ending;
use sustain_disk::engine::{Operation, Request, Vector};
use sustain_record::format::{
    AppendPlace, BLOCK_BYTES, CONTROL_STREAM, Descriptor, GapReason, Geometry, GroupList, Kind,
    PIECE_BYTES, Position, Superblock, is_sealed, marks_are_whole, marks_range, payload_range,
    verify_payload,
};
use sustain_record::recorder::{LimitedBy, MemberState, RecordingProgress, UNFLUSHED_SLOTS_MAX};
use uuid::Uuid;

use crate::inlet::{Facts, StreamFacts};
use crate::member_appends::MemberAppends;

/// An append that was submitted.
#[derive(Debug, Clone)]
pub struct Append {
    pub recording: usize,
    pub member: usize,
    pub place: AppendPlace,
    pub offset_bytes: u64,
    pub append_bytes: u64,
    pub sequence: u64,
    pub kind: Kind,
    pub made_time_ns: i64,
    pub stream: u16,
    /// The range of its payload in the stream.
    pub payload: Range<u64>,
    pub gap: Option<(Range<u64>, GapReason)>,
    pub marks_bytes: u64,
    pub completed_at: Option<u64>,
    pub durable_at: Option<u64>,
    /// Whether it is not on its member any more, or not for sure.
    pub is_gone: bool,
    /// Whether the ring has come a lap farther, so that only a pin can keep it.
    pub is_passed: bool,
    /// Parts of the payload that were damaged.
    pub damaged: Vec<Range<u64>>,
    pub marks_are_damaged: bool,
    /// The group that it belongs to, 0 if there is none.
    pub group: u64,
}

/// A group of which parity was written.
#[derive(Debug, Clone, Default)]
struct WrittenGroup {
    /// Its appends of data and of parity, as indices.
    data: Vec<usize>,
    parities: Vec<usize>,
}

impl Append {
    pub fn is_promised(&self) -> bool {
        self.durable_at.is_some() && !self.is_off_ring()
    }

    /// Whether nothing of it is in the ring any more, or not for sure.
    pub fn is_off_ring(&self) -> bool {
        self.is_gone || self.is_passed
    }
}

/// A pin that the recorder has acknowledged.
#[derive(Debug, Clone)]
pub struct AckedPin {
    pub number: u32,
    /// What is promised to be kept.
    pub from_ns: i64,
    pub to_ns: i64,
    /// Whether it was freed, or is about to be.
    pub is_freed: bool,
    /// The last recording that could add to it, once that is known.
    pub last_recording: Option<usize>,
}

impl AckedPin {
    pub fn keeps(&self, append: &Append) -> bool {
        let is_of_run = self
            .last_recording
            .is_none_or(|last| append.recording <= last);
        let in_time = self.from_ns <= append.made_time_ns && append.made_time_ns <= self.to_ns;
        !self.is_freed && is_of_run && in_time && append.kind == Kind::Data
    }
}

/// The pins that were acknowledged, shared with who asks for them.
pub type AckedPins = Rc<RefCell<Vec<AckedPin>>>;

/// What pins have met.
pub type PinsMet = Rc<RefCell<BTreeSet<&'static str>>>;

/// A recording, as it was seen from outside.
pub struct Recorded {
    pub id: Uuid,
    pub number: u32,
    pub ring: bool,
    pub streams: Vec<StreamFacts>,
    /// The watermarks that were shown.
    pub shown: Vec<u64>,
    /// The same of what is protected.
    pub protected: Vec<u64>,
    /// The state at each time it was shown: the time, the bytes written, and the limit that was
    /// named.
    pub limits: Vec<(f64, u64, LimitedBy)>,
    /// The longest write of an append that was shown.
    longest_write_ns: u64,
    covered: Vec<Covered>,
    positions: Vec<Position>,
    facts: Facts,
    /// Members that failed a request, or were given up.
    pub failed: HashSet<usize>,
    /// Members of which superblocks were to say that they are behind.
    pub behind: BTreeSet<usize>,
    /// Members that were given up, and when. What was in flight to them is lost with them, and a
    /// flush that returns later changes nothing.
    given_up: HashMap<usize, u64>,
    /// Bytes that were given up although no member had lost them.
    pub given_up_bytes: u64,
    /// The result at its end, if it came to one.
    pub result: Option<(RecordingProgress, Ending)>,
    /// Whether another one follows it without a break.
    pub is_cut: bool,
}

impl Recorded {
    /// The members that may lack something of it that was called durable: they have failed, or were
    /// slow when a crash ended it.
    pub fn lacking(&self) -> BTreeSet<usize> {
        let slow = self.behind.iter().filter(|_| self.result.is_none());
        slow.chain(&self.failed).copied().collect()
    }

    /// Whether an append became durable when its member had been given up.
    pub fn is_late(&self, append: &Append) -> bool {
        let given_up_at = self.given_up.get(&append.member);
        append.durable_at > given_up_at.copied() && given_up_at.is_some()
    }
}

/// Bytes of a stream that are durable, or whose loss is.
#[derive(Debug, Clone, Default)]
struct Covered {
    up_to: u64,
    later: BTreeMap<u64, u64>,
}

impl Covered {
    fn add(&mut self, range: Range<u64>) {
        let end = self.later.entry(range.start).or_default();
        *end = (*end).max(range.end);
        while let Some(first) = self.later.first_entry().filter(|e| *e.key() <= self.up_to) {
            self.up_to = self.up_to.max(first.remove());
        }
    }
}

/// Everything that was written to a store.
#[derive(Default)]
pub struct History {
    pub geometries: Vec<Geometry>,
    pub appends: Vec<Append>,
    pub recordings: Vec<Recorded>,
    pub events: u64,
    pub pins: AckedPins,
    pub pins_met: PinsMet,
    in_flight: HashMap<u64, Pending>,
    /// Members on which durable writes of data, too, may be told of each other's errors.
    pub shares_errors: Vec<bool>,
    /// Requests in flight that can be believed when they report that everything is durable: the
    /// member, and whether it is a write of data.
    believed: HashMap<u64, (usize, bool)>,
    previous: Vec<Option<AppendPlace>>,
    /// Where the appends of the last recording begin among all.
    first_of_recording: usize,
    members: Vec<MemberAppends>,
    groups: BTreeMap<u64, WrittenGroup>,
    /// By recording and group, its appends of data, as indices.
    joined: BTreeMap<(usize, u64), Vec<usize>>,
    /// Which members are behind, as the superblock says that was written last on each member, and
    /// its generation.
    told_behind: BTreeMap<usize, (u64, BTreeSet<u16>)>,
    /// The most that was written to a member and not durable.
    pub unflushed_bytes_max: u64,
}

#[derive(Debug, Clone)]
enum Pending {
    Append(usize),
    /// A copy of a superblock, while the recording runs: the members that it says are behind.
    Superblock(u64, BTreeSet<u16>),
    /// The time of its submission.
    Flush(u64),
}

impl History {
    /// Notes that a recording begins.
    pub fn begin(
        &mut self,
        id: Uuid,
        number: u32,
        ring: bool,
        facts: Facts,
        previous: Vec<Option<AppendPlace>>,
    ) {
        let streams = facts.borrow().clone();
        let count = streams.len();
        // Of those that are missing nothing changes.
        let most = self.members.len().max(previous.len());
        self.members.resize_with(most, MemberAppends::default);
        self.members.iter_mut().for_each(MemberAppends::begin);
        self.previous = previous;
        self.first_of_recording = self.appends.len();
        self.in_flight.clear();
        self.groups.clear();
        self.told_behind.clear();
        self.believed.clear();
        self.recordings.push(Recorded {
            id,
            number,
            ring,
            streams,
            shown: vec![0; count],
            protected: vec![0; count],
            limits: Vec::new(),
            longest_write_ns: 0,
            covered: vec![Covered::default(); count],
            positions: vec![Position::default(); count],
            facts,
            failed: HashSet::new(),
            behind: BTreeSet::new(),
            given_up: HashMap::new(),
            given_up_bytes: 0,
            result: None,
            is_cut: false,
        });
    }

    /// Notes that the recording is over, one way or the other.
    pub fn end(&mut self, result: Option<(RecordingProgress, Ending)>, is_cut: bool) {
        let recording = self.recordings.last_mut().unwrap();
        recording.streams = recording.facts.borrow().clone();
        if let Some((standing, _)) = &result {
            recording.failed.extend(failed_in(standing));
        }
        recording.result = result;
        recording.is_cut = is_cut;
    }

    /// Notes that a request leaves the recorder.
    pub fn submitted(&mut self, request: &Request) {
        self.events += 1;
        let what = match request.operation {
            Operation::Flush => Pending::Flush(self.events),
            Operation::Write if self.is_in_slots(request) => Pending::Append(self.written(request)),
            Operation::Write => {
                let (generation, behind) = behind_by(request);
                let recording = self.recordings.last_mut().unwrap();
                // It may be on the medium although it never comes back.
                let members = behind.iter().copied().map(usize::from);
                recording.behind.extend(members);
                Pending::Superblock(generation, behind)
            }
            Operation::Read => panic!("a recorder does not read"),
        };
        if request.durable || request.operation == Operation::Flush {
            self.believe(request, &what);
        }
        let before = self.in_flight.insert(request.token, what);
        assert!(
            before.is_none(),
            "a token is used for one request at a time"
        );
    }

    /// Notes which of two requests at a time can be believed: a kernel tells one of them of an
    /// error, and the other is believed wrongly.
    fn believe(&mut self, request: &Request, what: &Pending) {
        let is_data = |what: &Pending| match what {
            Pending::Append(index) => {
                matches!(self.appends[*index].kind, Kind::Data | Kind::Parity)
            }
            Pending::Flush(_) | Pending::Superblock(..) => false,
        };
        let (member, is_data) = (request.target, is_data(what));
        for (other, other_is_data) in self.believed.values() {
            let may_mix = (is_data || *other_is_data) && !self.shares_errors[member];
            assert!(
                *other != member || may_mix,
                "of two that make durable on one member only one hears of an error"
            );
        }
        self.believed.insert(request.token, (member, is_data));
    }

    /// Notes the states of members on the board, before a request leaves or comes back.
    pub fn note_given_up(&mut self, standing: &RecordingProgress) {
        let recording = self.recordings.last_mut().unwrap();
        for (index, member) in standing.members.iter().enumerate() {
            let error = member.error.as_deref().unwrap_or_default();
            if error.contains("was given up") {
                recording.given_up.entry(index).or_insert(self.events);
            }
        }
    }

    /// Notes that a write came back untried. It may come again.
    pub fn refused(&mut self, request: &Request) {
        self.events += 1;
        self.believed.remove(&request.token);
        self.in_flight.remove(&request.token).unwrap();
    }

    /// Notes that a request comes back to the recorder.
    pub fn completed(&mut self, request: &Request, is_ok: bool) {
        self.events += 1;
        self.believed.remove(&request.token);
        let what = self.in_flight.remove(&request.token).unwrap();
        if !is_ok {
            let recording = self.recordings.last_mut().unwrap();
            recording.failed.insert(request.target);
            self.cover();
            return;
        }
        match what {
            Pending::Append(index) => {
                self.written_to(index);
                if request.durable {
                    self.durable(index);
                }
            }
            Pending::Superblock(generation, behind) => {
                self.told_behind
                    .insert(request.target, (generation, behind));
                self.cover();
            }
            Pending::Flush(since) => {
                let unflushed = self.members[request.target].unflushed.iter().copied();
                let is_covered = |index: &usize| {
                    let completed_at = self.appends[*index].completed_at;
                    completed_at.is_some_and(|at| at < since)
                };
                let covered: Vec<usize> = unflushed.filter(is_covered).collect();
                covered.into_iter().for_each(|index| self.durable(index));
            }
        }
    }

    /// A write has come back.
    fn written_to(&mut self, index: usize) {
        let append = &mut self.appends[index];
        let is_first = append.completed_at.replace(self.events).is_none();
        let member = &mut self.members[append.member];
        if is_first && append.durable_at.is_none() {
            member.unflushed_bytes += append.append_bytes;
        }
        self.unflushed_bytes_max = self.unflushed_bytes_max.max(member.unflushed_bytes);
    }

    fn durable(&mut self, index: usize) {
        let append = &mut self.appends[index];
        let member = &mut self.members[append.member];
        if append.durable_at.replace(self.events).is_none() {
            member.unflushed.remove(&index);
            if append.completed_at.is_some() {
                member.unflushed_bytes -= append.append_bytes;
            }
        }
        if append.place.slot_offset_bytes == 0 {
            let head = &mut member.newest_durable_head;
            *head = (*head).max(append.place.slot_serial);
        }
        if append.kind == Kind::Data {
            let covered =
                &mut self.recordings.last_mut().unwrap().covered[usize::from(append.stream)];
            let start = append
                .gap
                .as_ref()
                .map_or(append.payload.start, |(gap, _)| gap.start);
            covered.add(start..append.payload.end);
        }
        if append.group > 0 {
            self.cover();
        }
    }

    /// Finds what can be computed from what is durable on members that have not failed. It counts
    /// only when superblocks say that its own member is behind: otherwise a power cut may follow of
    /// which nobody can tell that it did not take it.
    fn cover(&mut self) {
        let recording = self.recordings.last_mut().unwrap();
        let told = self.told_behind.iter();
        let told = told.filter(|(member, _)| !recording.failed.contains(member));
        let newest = told.clone().map(|(_, (generation, _))| generation).max();
        let told = told.filter(|(_, (generation, _))| Some(generation) == newest);
        let behind: BTreeSet<u16> = told.flat_map(|(_, (_, behind))| behind).copied().collect();
        let appends = &self.appends;
        let helps = |index: &&usize| {
            let append = &appends[**index];
            append.durable_at.is_some() && !recording.failed.contains(&append.member)
        };
        let mut computed = Vec::new();
        self.groups.retain(|_, group| {
            let absent = group.data.len() - group.data.iter().filter(helps).count();
            if absent <= group.parities.iter().filter(helps).count() {
                computed.extend(group.data.iter().map(|index| &appends[*index]));
            }
            let mut all = group.data.iter().chain(&group.parities);
            all.any(|index| appends[*index].durable_at.is_none())
        });
        let is_told = |append: &&Append| behind.contains(&(append.member as u16));
        for append in computed.into_iter().filter(is_told) {
            let gap = append.gap.as_ref().map(|(gap, _)| gap.start);
            let start = gap.unwrap_or(append.payload.start);
            let covered = &mut recording.covered[usize::from(append.stream)];
            covered.add(start..append.payload.end);
        }
    }

    /// Notes that an append is in a group.
    fn note_group(&mut self, index: usize, descriptor: &Descriptor, bytes: &[u8]) {
        let key = (self.recordings.len() - 1, descriptor.parity_group);
        match descriptor.kind {
            Kind::Data => self.joined.entry(key).or_default().push(index),
            Kind::Parity => self.note_list(index, descriptor, &bytes[marks_range(descriptor)]),
            Kind::Start | Kind::End => {}
        }
    }

    /// Notes the list of a group.
    fn note_list(&mut self, index: usize, descriptor: &Descriptor, marks: &[u8]) {
        let list = GroupList::decode(marks).expect("parity lists its group");
        let key = (self.recordings.len() - 1, descriptor.parity_group);
        let joined = self.joined.get(&key).into_iter().flatten();
        let own: Vec<(usize, &Append)> = joined.map(|at| (*at, &self.appends[*at])).collect();
        assert_eq!(own.len(), list.entries.len(), "all of a group are listed");
        let mut members = Vec::new();
        for (entry, (_, append)) in list.entries.iter().zip(&own) {
            assert_eq!(usize::from(entry.member), append.member);
            assert_eq!(
                (entry.place, entry.sequence),
                (append.place, append.sequence)
            );
            assert_eq!(u64::from(entry.append_bytes), append.append_bytes);
            members.push(append.member);
        }
        let data = own.iter().map(|(index, _)| *index).collect();
        let group = self.groups.entry(descriptor.parity_group).or_default();
        group.data = data;
        group.parities.push(index);
        members.extend(
            group
                .parities
                .iter()
                .map(|index| self.appends[*index].member),
        );
        let failed = &self.recordings.last().unwrap().failed;
        members.retain(|member| !failed.contains(member));
        members.sort_unstable();
        assert!(
            members.windows(2).all(|pair| pair[0] != pair[1]),
            "two of a group lie on one member"
        );
    }

    /// Checks what the recorder shows to everyone.
    pub fn shown(&mut self, standing: &RecordingProgress) {
        // One that was given up has failed no request, and a crash may come before the end.
        for member in failed_in(standing) {
            if self.recordings.last_mut().unwrap().failed.insert(member) {
                self.cover();
            }
        }
        let recording = self.recordings.last_mut().unwrap();
        let written_bytes = standing.members.iter().map(|member| member.bytes).sum();
        let limit = (standing.time_s, written_bytes, standing.limited_by.clone());
        if recording.limits.last() != Some(&limit) {
            recording.limits.push(limit);
        }
        let (before_ns, now_ns) = (recording.longest_write_ns, standing.longest_write_ns);
        assert!(
            now_ns >= before_ns,
            "the longest write became shorter: {before_ns} ns, then {now_ns} ns"
        );
        recording.longest_write_ns = now_ns;
        let facts = recording.facts.borrow();
        for (number, stream) in standing.streams.iter().enumerate() {
            let (before, now) = (recording.shown[number], stream.settled_bytes);
            assert!(
                now >= before,
                "the watermark of stream {number} fell from {before} to {now}"
            );
            let offered = facts[number].offered_bytes;
            assert!(
                now <= stream.offered_bytes && stream.offered_bytes <= offered,
                "stream {number}: durable {now}, offered {} as shown, {offered} in fact",
                stream.offered_bytes
            );
            let covered = recording.covered[number].up_to;
            assert!(
                now <= covered,
                "stream {number} is said to be durable to {now}, and is to {covered}"
            );
            recording.shown[number] = now;
            let protected = stream.protected_settled_bytes.unwrap_or(0);
            let before = &mut recording.protected[number];
            // When more members fail than parity replaces, nothing is protected any more.
            assert!(
                protected >= *before || protected == 0,
                "less is protected of stream {number}"
            );
            assert!(protected <= now, "what is protected is durable");
            *before = protected;
        }
    }

    fn written(&mut self, request: &Request) -> usize {
        let parts: Vec<&[u8]> = request
            .vectors
            .as_slice()
            .iter()
            .map(Vector::bytes)
            .collect();
        let bytes = parts.concat();
        let (descriptor, crc) = Descriptor::decode(&bytes).expect("an append has a descriptor");
        let geometry = self.geometries[request.target];
        assert_eq!(geometry.offset_of(descriptor.place), request.offset_bytes);
        assert_eq!(bytes.len(), descriptor.append_bytes as usize);
        assert!(is_sealed(&descriptor, crc, &bytes));
        assert!(verify_payload(&descriptor, &bytes[payload_range(&descriptor)]).is_empty());
        assert!(marks_are_whole(
            &descriptor,
            &bytes[marks_range(&descriptor)]
        ));
        let of_member = &self.members[request.target];
        if let Some(again) = of_member.at(descriptor.sequence, descriptor.place) {
            return again;
        }
        self.check_order(request.target, &descriptor);
        self.check_room(request.target, &descriptor);
        self.check_positions(&descriptor);
        let payload = descriptor.stream_offset_bytes
            ..descriptor.stream_offset_bytes + u64::from(descriptor.payload_bytes);
        let gap = descriptor
            .gap
            .map(|gap| (payload.start - gap.bytes..payload.start, gap.reason));
        let is_first = |append: &Append| append.gap != gap;
        if let Some((range, GapReason::NotWritten | GapReason::NoRoom)) = &gap
            // A slow member's account is told once more on another one.
            && self.of_recording().iter().all(is_first)
        {
            self.check_given_up(descriptor.stream, range.clone());
        }
        let index = self.appends.len();
        let slot = descriptor.place.slot_serial % geometry.slot_count;
        let of_member = &mut self.members[request.target];
        of_member.add(index, slot, descriptor.sequence, descriptor.place);
        if descriptor.kind == Kind::Start {
            of_member.starts.push(index);
        }
        self.appends.push(Append {
            recording: self.recordings.len() - 1,
            member: request.target,
            place: descriptor.place,
            offset_bytes: request.offset_bytes,
            append_bytes: u64::from(descriptor.append_bytes),
            sequence: descriptor.sequence,
            kind: descriptor.kind,
            made_time_ns: descriptor.made_time_ns,
            stream: descriptor.stream,
            payload,
            gap,
            marks_bytes: u64::from(descriptor.marks_bytes),
            completed_at: None,
            durable_at: None,
            is_gone: false,
            is_passed: false,
            damaged: Vec::new(),
            marks_are_damaged: false,
            group: descriptor.parity_group,
        });
        self.note_group(index, &descriptor, &bytes);
        index
    }

    /// Checks that sequences grow, and links lead where they should.
    fn check_order(&mut self, member: usize, descriptor: &Descriptor) {
        let sequence = descriptor.sequence;
        assert!(
            self.appends
                .iter()
                .rev()
                .take_while(|append| append.sequence >= sequence)
                .all(|append| append.is_off_ring() || append.durable_at.is_none()),
            "the sequence {sequence} is not above those before"
        );
        assert_eq!(
            descriptor.previous, self.previous[member],
            "previous of member {member}"
        );
        self.previous[member] = Some(descriptor.place);
        assert_eq!(
            descriptor.kind != Kind::Data,
            descriptor.stream == CONTROL_STREAM
        );
        let unflushed = self.members[member].unflushed.iter();
        for append in unflushed.map(|index| &self.appends[*index]) {
            assert!(
                append.sequence > descriptor.flushed_sequence,
                "member {member}: {} is said to be flushed, and {} is not",
                descriptor.flushed_sequence,
                append.sequence
            );
        }
        if descriptor.kind != Kind::Start {
            let newest = self.newest_start(member, |append| append.durable_at.is_some());
            assert_eq!(descriptor.start, newest, "the newest start");
        }
    }

    /// The newest start on a member of which this is so.
    fn newest_start(&self, member: usize, is_so: impl Fn(&Append) -> bool) -> Option<AppendPlace> {
        let starts = self.members[member].starts.iter().rev();
        let mut starts = starts.map(|index| &self.appends[*index]);
        starts.find(|start| is_so(start)).map(|start| start.place)
    }

    /// The appends of the last recording.
    fn of_recording(&self) -> &[Append] {
        &self.appends[self.first_of_recording..]
    }

    fn is_in_slots(&self, request: &Request) -> bool {
        let geometry = self.geometries[request.target];
        let slots = geometry.first_slot_offset_bytes..geometry.slots_end_bytes();
        slots.contains(&request.offset_bytes)
    }

    fn appends_in_flight(&self) -> HashSet<usize> {
        let in_flight = self.in_flight.values().filter_map(|what| match what {
            Pending::Append(index) => Some(*index),
            Pending::Flush(_) | Pending::Superblock(..) => None,
        });
        in_flight.collect()
    }

    /// Checks that an append lies where nothing lies that must be kept.
    fn check_room(&mut self, member: usize, descriptor: &Descriptor) {
        let geometry = self.geometries[member];
        let current = self.recordings.len() - 1;
        let ring = self.recordings[current].ring;
        let start = geometry.offset_of(descriptor.place);
        let end = start + u64::from(descriptor.append_bytes);
        let serial = descriptor.place.slot_serial;
        let slot = |serial: u64| serial % geometry.slot_count;
        let newest_start =
            self.newest_start(member, |start| start.durable_at.is_some() && !start.is_gone);
        let of_member = &mut self.members[member];
        of_member.begun.insert(serial);
        let here = of_member.take_slot(slot(serial));
        let passed = serial.checked_sub(geometry.slot_count);
        for index in passed.map_or(Vec::new(), |serial| of_member.take_passed(serial)) {
            self.appends[index].is_passed = true;
        }
        let unflushed = self.check_unflushed(member, serial);
        let pins = self.pins.borrow();
        let mut left = Vec::new();
        for index in here {
            let append = &mut self.appends[index];
            let place = append.place;
            if append.is_gone {
                continue;
            }
            // What a crash found on its way was never acknowledged.
            let may_count = append.durable_at.is_some() || append.recording == current;
            if let Some(pin) = pins.iter().find(|pin| may_count && pin.keeps(append)) {
                assert!(
                    place.slot_serial == serial,
                    "{place:?} of member {member} is written over, and {pin:?} keeps it"
                );
            }
            if place.slot_serial + geometry.slot_count <= serial {
                assert!(
                    ring,
                    "{place:?} of member {member} is written over, and this is no ring"
                );
                assert!(
                    !unflushed.contains(&index),
                    "{place:?} is written over before it is flushed"
                );
                if newest_start == Some(place) {
                    let what = "the last copy of the start is written over";
                    panic!("{what}, at {place:?} of member {member}");
                }
                append.is_gone = true;
                continue;
            }
            let overlaps =
                append.offset_bytes < end && start < append.offset_bytes + append.append_bytes;
            if overlaps {
                assert!(
                    append.recording != current && append.durable_at.is_none(),
                    "{place:?} of member {member} is written over in the same lap"
                );
                append.is_gone = true;
                continue;
            }
            left.push(index);
        }
        self.members[member].put_slot(slot(serial), left);
    }

    /// Checks that what is not flushed is not far behind. Gives what must not be written over.
    fn check_unflushed(&self, member: usize, serial: u64) -> BTreeSet<usize> {
        let of_member = &self.members[member];
        let has_failed = self
            .recordings
            .last()
            .is_some_and(|last| last.failed.contains(&member));
        if has_failed {
            return BTreeSet::new();
        }
        let in_flight = self.appends_in_flight();
        let is_unflushed = |index: &usize| {
            let append = &self.appends[*index];
            // What the kernel never took does not matter once a slot behind it begins with a
            // durable append.
            let was_never_taken = append.completed_at.is_none() && !in_flight.contains(index);
            !(was_never_taken && append.place.slot_serial < of_member.newest_durable_head)
        };
        let unflushed = of_member.unflushed.iter().copied();
        let unflushed: BTreeSet<usize> = unflushed.filter(is_unflushed).collect();
        for index in &unflushed {
            let place = self.appends[*index].place;
            let later = of_member.begun.range(place.slot_serial + 1..);
            assert!(
                later.count() < UNFLUSHED_SLOTS_MAX as usize,
                "slot {serial} of member {member} is begun, and {place:?} is not flushed"
            );
        }
        unflushed
    }

    /// Checks that positions never fall, and say nothing that is not so.
    fn check_positions(&mut self, descriptor: &Descriptor) {
        let recording = self.recordings.last_mut().unwrap();
        assert_eq!(descriptor.positions.len(), recording.positions.len());
        let streams = recording.positions.iter_mut().zip(&recording.covered);
        for ((before, covered), now) in streams.zip(&descriptor.positions) {
            assert!(
                now.next_offset_bytes >= before.next_offset_bytes
                    && now.settled_offset_bytes >= before.settled_offset_bytes
                    && now.frames >= before.frames
                    && now.gap_bytes >= before.gap_bytes,
                "positions fell from {before:?} to {now:?}"
            );
            assert!(
                now.settled_offset_bytes <= covered.up_to,
                "settled up to {}, durable up to {}",
                now.settled_offset_bytes,
                covered.up_to
            );
            *before = *now;
        }
        if descriptor.kind == Kind::Data {
            let settled = before_of(&recording.positions, descriptor.stream);
            let gap_bytes = descriptor.gap.map_or(0, |gap| gap.bytes);
            let start = descriptor.stream_offset_bytes - gap_bytes;
            assert!(
                settled <= start,
                "{start} is handed out, and {settled} was settled"
            );
        }
    }

    /// Checks what is given up: what a failed member had and could not promise, and nothing else
    /// while there is space and a member that works.
    fn check_given_up(&mut self, stream: u16, range: Range<u64>) {
        let current = self.recordings.len() - 1;
        let in_flight = self.appends_in_flight();
        let recording = &mut self.recordings[current];
        let mut left = range.end - range.start;
        for (_, append) in self.appends.iter().enumerate().filter(|(index, append)| {
            let has_left = append.completed_at.is_some() || in_flight.contains(index);
            let given_up_at = recording.given_up.get(&append.member);
            let is_late = |at: u64| given_up_at.is_some_and(|given_up_at| at > *given_up_at);
            append.recording == current
                && append.stream == stream
                && append.durable_at.is_none_or(is_late)
                && ((has_left && recording.failed.contains(&append.member))
                    || given_up_at.is_some())
        }) {
            let gap = append
                .gap
                .as_ref()
                .map_or(append.payload.start, |(gap, _)| gap.start);
            let overlap = append
                .payload
                .end
                .min(range.end)
                .saturating_sub(gap.max(range.start));
            left = left.saturating_sub(overlap);
        }
        recording.given_up_bytes += left;
    }
}

/// The members that a superblock says are behind.
fn behind_by(request: &Request) -> (u64, BTreeSet<u16>) {
    let vectors = request.vectors.as_slice().iter();
    let block = vectors.map(Vector::bytes).collect::<Vec<_>>().concat();
    let superblock = Superblock::decode(&block).expect("it is a superblock");
    (superblock.generation, superblock.behind)
}

fn before_of(positions: &[Position], stream: u16) -> u64 {
    positions[usize::from(stream)].settled_offset_bytes
}

impl History {
    /// Whether a member failed in the last recording.
    pub fn has_failed_members(&self) -> bool {
        let last = self.recordings.last();
        last.is_some_and(|last| !last.failed.is_empty())
    }

    /// Notes that the superblocks say that so many slots were begun. What lay where these are
    /// counts as gone.
    pub fn began(&mut self, slots_begun: &[u64]) {
        let pins = self.pins.borrow();
        for append in &mut self.appends {
            let slot_count = self.geometries[append.member].slot_count;
            // One that is missing is given nothing.
            let begun = slots_begun.get(append.member).copied().unwrap_or(0);
            if append.place.slot_serial + slot_count < begun {
                append.is_passed = true;
                append.is_gone |= !pins.iter().any(|pin| pin.keeps(append));
            }
        }
    }

    /// Notes that the recorder is gone: what it has pinned gets nothing more.
    pub fn close_pins(&self) {
        let last = self.recordings.len().checked_sub(1);
        for pin in self.pins.borrow_mut().iter_mut() {
            pin.last_recording = pin.last_recording.or(last);
        }
    }

    /// Notes that bits of a member were flipped.
    pub fn damage(&mut self, member: usize, range: Range<u64>) {
        for append in self.appends.iter_mut().filter(|append| {
            append.member == member
                && !append.is_gone
                && append.offset_bytes < range.end
                && range.start < append.offset_bytes + append.append_bytes
        }) {
            let payload_at = append.offset_bytes + BLOCK_BYTES as u64;
            if range.start < payload_at {
                append.is_gone = true;
                continue;
            }
            let payload_bytes = append.payload.end - append.payload.start;
            let marks_at = payload_at + payload_bytes;
            if range.start < marks_at {
                let piece = PIECE_BYTES as u64;
                let first = (range.start - payload_at) / piece * piece;
                let end = (range.end - payload_at)
                    .next_multiple_of(piece)
                    .min(payload_bytes);
                let base = append.payload.start;
                append.damaged.push(base + first..base + end);
            }
            let marks_end = marks_at + append.marks_bytes;
            if range.start < marks_end && range.end > marks_at {
                append.marks_are_damaged = true;
            }
        }
    }
}

/// The members that the recorder shows as failed.
fn failed_in(standing: &RecordingProgress) -> impl Iterator<Item = usize> {
    let members = standing.members.iter().enumerate();
    let failed = members.filter(|(_, member)| member.state == MemberState::Failed);
    failed.map(|(index, _)| index)
}
