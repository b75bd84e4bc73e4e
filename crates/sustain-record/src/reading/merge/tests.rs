use proptest::prelude::*;
use sustain_disk::error::IoFault;
use uuid::Uuid;

use super::*;
use crate::format::{
    AppendPlace, BLOCK_BYTES, Descriptor, Gap, GapReason, PIECE_BYTES, PieceChecksums, Position,
    append_bytes_for,
};

const GAP: u16 = 256;
const HOLE: u16 = 257;
const OVERWRITTEN: u16 = 258;

/// A byte of a stream, as the source offers it.
fn byte_at(stream: u16, offset: u64) -> u8 {
    (offset
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(u64::from(stream))
        >> 40) as u8
}

/// The fate of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Whole,
    /// It is not on the medium, although the recorder believes so.
    Lost,
    /// These pieces of 64 KiB are wrong.
    Damaged(u8),
    /// It fails, and leaves nothing, a damaged copy or a whole one. So many appends later it is
    /// written again, or given up for a gap.
    Failed {
        leaves: Option<u8>,
        after: usize,
        gives_up: bool,
        again_lost: bool,
    },
}

#[derive(Debug, Clone)]
struct Step {
    stream: u16,
    member: usize,
    gap_bytes: u64,
    payload_bytes: u32,
    fate: Fate,
    /// The number of appends after which the recorder learns that it is written.
    delay: usize,
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Whole),
        1 => Just(Fate::Lost),
        1 => any::<u8>().prop_map(Fate::Damaged),
        2 => (any::<Option<u8>>(), 0..6_usize, any::<bool>(), prop::bool::weighted(0.2)).prop_map(
            |(leaves, after, gives_up, again_lost)| Fate::Failed {
                leaves,
                after,
                gives_up,
                again_lost,
            }
        ),
    ]
}

fn any_step(streams: u16, members: usize) -> impl Strategy<Value = Step> {
    let payload = prop_oneof![4 => 1..3000_u32, 1 => 0..200_000_u32];
    let gap = prop_oneof![4 => Just(0_u64), 1 => 1..5000_u64];
    (0..streams, 0..members, gap, payload, any_fate(), 0..5_usize).prop_map(
        |(stream, member, gap_bytes, payload_bytes, fate, delay)| Step {
            stream,
            member,
            gap_bytes,
            payload_bytes,
            fate,
            delay,
        },
    )
}

/// A stretch that was handed out, and the parts of it that can be found.
struct Stretch {
    step: Step,
    /// The start of its gap, then the start of its payload.
    start: u64,
    base: u64,
    /// When the recorder has it written, counted in appends; `None` until it is written again.
    written_at: Option<usize>,
    again_at: Option<usize>,
}

/// A recorder without disks: what it would have put where, and what a reader must get for each
/// byte.
struct Model {
    stretches: Vec<Stretch>,
    next: Vec<u64>,
    lost_gaps: Vec<u64>,
    on_members: Vec<Vec<CheckedPart>>,
    truth: Vec<Vec<u16>>,
    known: Vec<u64>,
    sequence: u64,
}

impl Model {
    fn run(steps: &[Step], streams: u16, members: usize) -> Model {
        let count = usize::from(streams);
        let mut model = Model {
            stretches: Vec::new(),
            next: vec![0; count],
            lost_gaps: vec![0; count],
            on_members: vec![Vec::new(); members],
            truth: vec![Vec::new(); count],
            known: vec![0; count],
            sequence: 0,
        };
        for (now, step) in steps.iter().enumerate() {
            model.write_again(now);
            model.hand_out(step, now);
        }
        for now in steps.len()..steps.len() + 20 {
            model.write_again(now);
        }
        model
    }

    fn hand_out(&mut self, step: &Step, now: usize) {
        let stream = usize::from(step.stream);
        let start = self.next[stream];
        let base = start + step.gap_bytes;
        let end = base + u64::from(step.payload_bytes);
        self.next[stream] = end;
        self.lost_gaps[stream] += step.gap_bytes;
        self.truth[stream].resize(end as usize, HOLE);
        let (written_at, again_at) = match step.fate {
            Fate::Failed { after, .. } => (None, Some(now + 1 + after)),
            _ => (Some(now + 1 + step.delay), None),
        };
        self.stretches.push(Stretch {
            step: step.clone(),
            start,
            base,
            written_at,
            again_at,
        });
        let index = self.stretches.len() - 1;
        let damage = match step.fate {
            Fate::Whole => Some(0),
            Fate::Lost => None,
            Fate::Damaged(pieces) => Some(pieces),
            Fate::Failed { leaves, .. } => leaves,
        };
        self.put(index, step.member, damage, false, now);
    }

    fn write_again(&mut self, now: usize) {
        for index in 0..self.stretches.len() {
            if self.stretches[index].again_at != Some(now) {
                continue;
            }
            let step = self.stretches[index].step.clone();
            let Fate::Failed {
                gives_up,
                again_lost,
                ..
            } = step.fate
            else {
                continue;
            };
            let member = (step.member + 1) % self.on_members.len();
            let damage = (!again_lost).then_some(0);
            self.put(index, member, damage, gives_up, now);
            self.stretches[index].written_at = Some(now + 1 + step.delay);
        }
    }

    /// Places an append; `damage` says which pieces are wrong, or that it is not there at all.
    fn put(&mut self, index: usize, member: usize, damage: Option<u8>, gives_up: bool, now: usize) {
        self.sequence += 1;
        let stretch = &self.stretches[index];
        let (step, start, base) = (stretch.step.clone(), stretch.start, stretch.base);
        let stream = usize::from(step.stream);
        let Some(damage) = damage else {
            return;
        };
        let (gap_bytes, payload_bytes, base) = if gives_up {
            let all = step.gap_bytes + u64::from(step.payload_bytes);
            (all, 0, start + all)
        } else {
            (step.gap_bytes, step.payload_bytes, base)
        };
        let mut payload: Vec<u8> = (0..u64::from(payload_bytes))
            .map(|at| byte_at(step.stream, base + at))
            .collect();
        let mut checksums = PieceChecksums::new();
        checksums.push(&payload);
        let mut damaged = Vec::new();
        for (piece, range) in pieces(payload_bytes).enumerate() {
            if damage & (1 << (piece % 8)) != 0 {
                payload[range.start as usize] ^= 1;
                let why = HoleReason::Unreadable {
                    member,
                    offset_bytes: 0,
                    errno: Some(IoFault::Kernel(5)),
                };
                damaged.push((range, why));
            }
        }
        self.learn(stream, start, base, gap_bytes, &damaged, payload_bytes);
        let positions = (0..self.next.len())
            .map(|of| self.position(of, now))
            .collect();
        for (known, next) in self.known.iter_mut().zip(&self.next) {
            *known = (*known).max(*next);
        }
        let descriptor = Descriptor {
            stream: step.stream,
            gap: gap(gap_bytes),
            stream_offset_bytes: base,
            append_bytes: append_bytes_for(payload_bytes, 0),
            payload_bytes,
            positions,
            checksums: checksums.take(),
            ..descriptor(self.sequence)
        };
        self.on_members[member].push(CheckedPart {
            origin: Arc::new(Origin {
                member,
                offset_bytes: self.sequence << 24,
                descriptor,
                sealed: true,
                marks: Some(Vec::new()),
                is_restored: false,
            }),
            payload: SharedBytes::from(payload),
            damaged,
        });
    }

    /// Notes what this append lets readers know of its bytes.
    fn learn(
        &mut self,
        stream: usize,
        start: u64,
        base: u64,
        gap_bytes: u64,
        damaged: &[(Range<u32>, HoleReason)],
        payload_bytes: u32,
    ) {
        let truth = &mut self.truth[stream];
        for at in start..start + gap_bytes {
            let state = &mut truth[at as usize];
            if *state == HOLE {
                *state = GAP;
            }
        }
        for range in pieces(payload_bytes) {
            if damaged.iter().all(|(bad, _)| *bad != range) {
                for at in base + u64::from(range.start)..base + u64::from(range.end) {
                    truth[at as usize] = u16::from(byte_at(stream as u16, at));
                }
            }
        }
    }

    fn position(&self, stream: usize, now: usize) -> Position {
        let of_stream = self
            .stretches
            .iter()
            .filter(|s| usize::from(s.step.stream) == stream);
        let unwritten = of_stream.filter(|s| s.written_at.is_none_or(|at| at > now));
        Position {
            next_offset_bytes: self.next[stream],
            settled_offset_bytes: unwritten
                .map(|s| s.start)
                .min()
                .unwrap_or(self.next[stream]),
            gap_bytes: self.lost_gaps[stream],
            ..Position::default()
        }
    }

    /// The bytes that a reader must get.
    fn expected(&self, wanted: &Wanted) -> Vec<u16> {
        let stream = usize::from(wanted.stream);
        let end = wanted.offered_bytes.unwrap_or(self.known[stream]);
        let mut expected = self.truth[stream].clone();
        let readable = wanted.readable_from_bytes;
        let end = end.max(readable.max(wanted.from_bytes));
        expected.resize(end as usize, HOLE);
        expected[..readable as usize].fill(OVERWRITTEN);
        expected.split_off(wanted.from_bytes as usize)
    }
}

fn gap(bytes: u64) -> Option<Gap> {
    (bytes > 0).then_some(Gap {
        bytes,
        frames: 0,
        reason: GapReason::BufferFull,
        first_time_ns: 1,
        last_time_ns: 2,
    })
}

/// The descriptor of an append without content.
fn descriptor(sequence: u64) -> Descriptor {
    Descriptor {
        kind: Kind::Data,
        store: Uuid::nil(),
        member: Uuid::nil(),
        place: AppendPlace {
            slot_serial: sequence,
            slot_offset_bytes: 0,
        },
        append_bytes: append_bytes_for(0, 0),
        sequence,
        recording: 1,
        recording_id: Uuid::nil(),
        stream: 0,
        gap: None,
        stream_offset_bytes: 0,
        payload_bytes: 0,
        marks_bytes: 0,
        marks_crc: 0,
        first_time_ns: 0,
        last_time_ns: 0,
        made_time_ns: 0,
        previous: None,
        start: None,
        flushed_sequence: 0,
        parity_group: 0,
        parity_role: 0,
        first_frame: 0,
        drifts: Vec::new(),
        positions: Vec::new(),
        checksums: Vec::new(),
    }
}

fn pieces(payload_bytes: u32) -> impl Iterator<Item = Range<u32>> {
    (0..payload_bytes)
        .step_by(PIECE_BYTES)
        .map(move |start| start..payload_bytes.min(start + PIECE_BYTES as u32))
}

/// Reads again what was dropped from memory, as the pipeline does.
fn read_again(model: &Model, elsewhere: &Elsewhere) -> Vec<StreamPart> {
    let appends = &model.on_members[elsewhere.origin.member];
    let append = appends
        .iter()
        .find(|append| append.origin.offset_bytes == elsewhere.origin.offset_bytes)
        .unwrap();
    let payload_at = elsewhere.origin.offset_bytes + BLOCK_BYTES as u64;
    let range = elsewhere.on_member();
    let read = append
        .payload
        .slice((range.start - payload_at) as usize..(range.end - payload_at) as usize);
    elsewhere.check(Some(&read))
}

/// All that the merge returns of each stream, byte by byte.
fn merged(model: &Model, wanted: &[Wanted], hold_bytes_max: u64) -> Vec<(Vec<u16>, bool)> {
    let members = model.on_members.len();
    let mut merge = Merge::new(members, wanted, hold_bytes_max);
    let mut rest: Vec<VecDeque<CheckedPart>> = model
        .on_members
        .iter()
        .map(|appends| appends.iter().cloned().collect())
        .collect();
    let mut got: Vec<(Vec<u16>, bool)> = vec![(Vec::new(), false); wanted.len()];
    loop {
        while let Some(ready) = merge.next_ready() {
            let (stream, parts) = match ready {
                Ready::Part(stream, part) => (stream, vec![part]),
                Ready::Elsewhere(stream, elsewhere) => (stream, read_again(model, &elsewhere)),
            };
            let index = wanted
                .iter()
                .position(|wanted| wanted.stream == stream)
                .unwrap();
            for part in parts {
                take(&mut got[index], wanted[index].from_bytes, &part);
            }
        }
        assert!(merge.held_bytes() <= hold_bytes_max);
        let Some(member) = merge.needs() else {
            break;
        };
        match rest[member].pop_front() {
            Some(append) => merge.push(member, append),
            None => merge.end_member(member),
        }
    }
    assert!(merge.contradictions().is_empty());
    assert_eq!(merge.held_bytes(), 0);
    got
}

fn take(got: &mut (Vec<u16>, bool), from_bytes: u64, part: &StreamPart) {
    assert!(!got.1, "nothing follows an open end");
    assert_eq!(
        part.offset_bytes(),
        from_bytes + got.0.len() as u64,
        "parts follow each other"
    );
    let length = part.length_bytes() as usize;
    let state = match part {
        StreamPart::Data { bytes, .. } => {
            got.0.extend(bytes.iter().map(|byte| u16::from(*byte)));
            return;
        }
        StreamPart::Gap { .. } => GAP,
        StreamPart::Hole { .. } => HOLE,
        StreamPart::Overwritten { .. } => OVERWRITTEN,
        StreamPart::OpenEnd { .. } => {
            got.1 = true;
            return;
        }
    };
    got.0.extend(std::iter::repeat_n(state, length));
}

fn assert_equal(got: &[u16], expected: &[u16]) {
    let differs = got
        .iter()
        .zip(expected)
        .position(|(got, expected)| got != expected);
    assert_eq!(differs, None, "the first byte that differs");
    assert_eq!(got.len(), expected.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_lost_the_rest_comes_back_and_the_holes_are_where_it_was(
        steps in prop::collection::vec(any_step(2, 3), 0..50),
        has_end in any::<bool>(),
        hold_bytes_max in prop_oneof![Just(0_u64), Just(u64::MAX), 0..100_000_u64],
        cuts in prop::array::uniform2((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
        is_cut in any::<bool>(),
    ) {
        let model = Model::run(&steps, 2, 3);
        let wanted: Vec<Wanted> = (0..2_u16)
            .map(|stream| {
                let index = usize::from(stream);
                let known = model.known[index] as usize + 1;
                let (from, readable) = (cuts[index].0.index(known), cuts[index].1.index(known));
                Wanted {
                    stream,
                    from_bytes: if is_cut { from.min(readable) as u64 } else { 0 },
                    readable_from_bytes: if is_cut { readable as u64 } else { 0 },
                    offered_bytes: has_end.then_some(model.next[index]),
                    durable_bytes: 0,
                    has_filled_store: false,
                }
            })
            .collect();
        let got = merged(&model, &wanted, hold_bytes_max);
        for (wanted, (got, is_open)) in wanted.iter().zip(got) {
            assert_equal(&got, &model.expected(wanted));
            prop_assert_eq!(is_open, !has_end);
        }
    }
}

fn step(member: usize, payload_bytes: u32, fate: Fate) -> Step {
    Step {
        stream: 0,
        member,
        gap_bytes: 0,
        payload_bytes,
        fate,
        delay: 0,
    }
}

const ALL: Wanted = Wanted {
    stream: 0,
    from_bytes: 0,
    readable_from_bytes: 0,
    offered_bytes: None,
    durable_bytes: 0,
    has_filled_store: false,
};

#[test]
fn what_was_durable_is_lost_even_if_nothing_is_found() {
    let wanted = Wanted {
        from_bytes: 30,
        readable_from_bytes: 30,
        durable_bytes: 100,
        ..ALL
    };
    let mut merge = Merge::new(1, &[wanted], 0);
    merge.end_member(0);
    let Some(Ready::Part(0, hole)) = merge.next_ready() else {
        panic!("70 bytes are not accounted for");
    };
    assert!(matches!(hole, StreamPart::Hole { .. }));
    assert_eq!((hole.offset_bytes(), hole.end_bytes()), (30, 100));
}

#[test]
fn a_member_at_its_end_does_not_hold_up_the_others() {
    let steps = [step(0, 10, Fate::Whole), step(0, 10, Fate::Whole)];
    let model = Model::run(&steps, 1, 2);
    let mut merge = Merge::new(2, &[ALL], 0);
    merge.end_member(1);
    merge.push(0, model.on_members[0][0].clone());
    let Some(Ready::Part(0, part)) = merge.next_ready() else {
        panic!("the first bytes need not wait");
    };
    assert_eq!((part.offset_bytes(), part.length_bytes()), (0, 10));
}

#[test]
fn a_member_that_has_not_told_holds_up_the_others() {
    let steps = [step(0, 10, Fate::Whole)];
    let model = Model::run(&steps, 1, 2);
    let mut merge = Merge::new(2, &[ALL], 0);
    merge.push(0, model.on_members[0][0].clone());
    assert!(merge.next_ready().is_none());
    assert_eq!(merge.needs(), Some(1));
}

#[test]
fn what_was_let_go_and_has_been_damaged_since_is_a_hole() {
    let mut steps = vec![step(0, 70_000, Fate::Lost), step(1, 70_000, Fate::Whole)];
    steps[0].delay = 9;
    let model = Model::run(&steps, 1, 2);
    let mut merge = Merge::new(2, &[ALL], 0);
    merge.end_member(0);
    merge.push(1, model.on_members[1][0].clone());
    assert!(
        merge.next_ready().is_none(),
        "the first bytes may still come"
    );
    merge.end_member(1);
    assert!(matches!(
        merge.next_ready(),
        Some(Ready::Part(
            0,
            StreamPart::Hole {
                length_bytes: 70_000,
                ..
            }
        ))
    ));
    let Some(Ready::Elsewhere(0, elsewhere)) = merge.next_ready() else {
        panic!("nothing may be held");
    };
    let mut bytes = model.on_members[1][0].payload.to_vec();
    bytes[PIECE_BYTES + 1] ^= 1;
    let parts = elsewhere.check(Some(&SharedBytes::from(bytes)));
    assert!(matches!(&parts[0], StreamPart::Data { bytes, .. } if bytes.len() == PIECE_BYTES));
    assert!(matches!(
        &parts[1],
        StreamPart::Hole {
            why: HoleReason::Damaged { member: 1, .. },
            ..
        }
    ));
    assert_eq!(parts[1].end_bytes(), 140_000);
    assert!(
        elsewhere
            .check(None)
            .iter()
            .all(|part| matches!(part, StreamPart::Hole { .. }))
    );
}

#[test]
fn data_without_its_marks_waits_for_a_copy_that_has_them() {
    let model = Model::run(&[step(0, 10, Fate::Whole)], 1, 2);
    let whole = model.on_members[0][0].clone();
    let mut half_written = whole.clone();
    Arc::make_mut(&mut half_written.origin).marks = None;
    let mut elsewhere = whole;
    let origin = Arc::make_mut(&mut elsewhere.origin);
    origin.member = 1;
    origin.descriptor.sequence += 1;
    let mut merge = Merge::new(2, &[ALL], u64::MAX);
    merge.push(0, half_written);
    merge.end_member(0);
    assert!(merge.next_ready().is_none());
    merge.push(1, elsewhere);
    merge.end_member(1);
    let Some(Ready::Part(0, StreamPart::Data { origin, .. })) = merge.next_ready() else {
        panic!("the data comes");
    };
    assert_eq!(origin.member, 1);
}

/// An end mark behind this append. It counts so many bytes more, and as many of these as lost.
fn end_behind(append: &CheckedPart, more_bytes: u64, lost_bytes: u64) -> CheckedPart {
    let mut end = append.clone();
    let descriptor = &mut Arc::make_mut(&mut end.origin).descriptor;
    descriptor.kind = Kind::End;
    descriptor.sequence += 2;
    descriptor.positions[0].next_offset_bytes += more_bytes;
    descriptor.positions[0].gap_bytes += lost_bytes;
    end
}

/// The last part of a stream of which all comes but what lies behind the first 10 bytes.
fn last_part(data: &CheckedPart, end: CheckedPart, has_filled_store: bool) -> StreamPart {
    let wanted = Wanted {
        offered_bytes: Some(110),
        has_filled_store,
        ..ALL
    };
    let mut merge = Merge::new(1, &[wanted], 0);
    merge.push(0, data.clone());
    merge.push(0, end);
    merge.end_member(0);
    let parts = std::iter::from_fn(|| merge.next_ready());
    match parts.last() {
        Some(Ready::Part(0, part)) => part,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gap_whose_account_is_gone_is_told_by_the_end_mark_of_a_full_store() {
    let model = Model::run(&[step(0, 10, Fate::Whole)], 1, 1);
    let data = &model.on_members[0][0];
    let gap = last_part(data, end_behind(data, 100, 100), true);
    assert!(matches!(gap, StreamPart::Gap { .. }), "{gap:?}");
    assert_eq!((gap.offset_bytes(), gap.end_bytes()), (10, 110));
    // Some of it was recorded, and is gone.
    let hole = last_part(data, end_behind(data, 100, 99), true);
    assert!(matches!(hole, StreamPart::Hole { .. }), "{hole:?}");
    // What counts as lost may be other bytes.
    let hole = last_part(data, end_behind(data, 100, 100), false);
    assert!(matches!(hole, StreamPart::Hole { .. }), "{hole:?}");
}
