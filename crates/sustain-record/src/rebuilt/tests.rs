//! What can be computed of which groups, how reads are cut, and the engine on simulated disks.

use std::collections::BTreeSet;

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::Clock;
use sustain_disk::engine::{
    Completion, Engine, Operation, Request, SharedMachine, SimulatedEngine, SimulatedTarget, Until,
    Vector, Vectors,
};
use sustain_disk::simulated::{DiskDescription, Machine, MachineFile};
use uuid::Uuid;

use super::engine::{RebuildingEngine, Route};
use super::found::GroupPart;
use super::groups::BrokenGroup;
use super::piece::PIECE_BYTES;
use super::*;
use crate::format::{GroupEntry, GroupList};

const SLOT_BYTES: u32 = 1 << 20;
const BLOCK: u32 = 4096;

fn geometry() -> Geometry {
    Geometry::of_member(10 << 20, SLOT_BYTES).unwrap()
}

fn place(slot_serial: u64, slot_offset_bytes: u32) -> AppendPlace {
    AppendPlace {
        slot_serial,
        slot_offset_bytes,
    }
}

fn entry(member: u16, slot_serial: u64, blocks: u32) -> GroupEntry {
    GroupEntry {
        member,
        place: place(slot_serial, 2 * BLOCK),
        append_bytes: blocks * BLOCK,
        sequence: slot_serial,
        descriptor_crc: 0,
    }
}

/// A parity on the second of the members that are there.
fn parity(group: u64, number: usize, source: usize, entries: &[GroupEntry]) -> FoundParity {
    let list = GroupList {
        parities: 2,
        entries: entries.to_vec(),
    };
    FoundParity {
        recording: 1,
        group,
        sequence: group + 100,
        number,
        source,
        payload_offset_bytes: 77 * u64::from(BLOCK),
        payload_bytes: list.parity_bytes(),
        list,
    }
}

/// What can be computed in a store of four members, of which the last two are missing.
fn of_two_there(found: Vec<FoundParity>, serials: [&[Option<u64>]; 2]) -> Computed {
    let (gone, torn) = (BTreeSet::new(), BTreeSet::new());
    let there = |source| {
        Some(MemberThere {
            source,
            serials: serials[source],
            gone: &gone,
            torn: &torn,
            last: None,
            last_sequence: 0,
            is_old: false,
        })
    };
    let shape = StoreShape {
        geometries: vec![Some(geometry()); 4],
        there: vec![there(0), there(1), None, None],
        retired: BTreeSet::new(),
    };
    computed(
        &grouped((found, Vec::new()), &shape),
        &[true, true, false, false],
        &Crashed::default(),
    )
}

/// The members that lack what these groups of one append each name, where the first of two ends with
/// an append at this place that has this sequence.
fn lacking_where_first_ends(
    (last, last_sequence): (AppendPlace, u64),
    entries: &[GroupEntry],
) -> BTreeSet<usize> {
    let serials: Vec<Option<u64>> = (0..8).map(Some).collect();
    let (gone, torn) = (BTreeSet::new(), BTreeSet::new());
    let there = |source, last, last_sequence| {
        Some(MemberThere {
            source,
            serials: &serials,
            gone: &gone,
            torn: &torn,
            last,
            last_sequence,
            is_old: false,
        })
    };
    let shape = StoreShape {
        geometries: vec![Some(geometry()); 2],
        there: vec![there(0, Some(last), last_sequence), there(1, None, 0)],
        retired: BTreeSet::new(),
    };
    let parities = entries.iter();
    let parities = parities.map(|one| parity(one.sequence, 0, 1, std::slice::from_ref(one)));
    let found = grouped((parities.collect(), Vec::new()), &shape);
    found.members_that_lack(&Crashed::default())
}

#[test]
fn a_member_lacks_behind_its_end_only_what_came_after_its_last_append() {
    let at = |place, sequence| GroupEntry {
        place,
        sequence,
        ..entry(0, 0, 3)
    };
    let last = place(3, 2 * BLOCK);
    // In what the last append takes, behind that in its slot, and in the next one.
    for place in [place(3, 4 * BLOCK), place(3, 9 * BLOCK), place(4, 0)] {
        // A crash has taken it, and a later recording has begun before it.
        assert!(lacking_where_first_ends((last, 70), &[at(place, 60)]).is_empty());
        let lacking = lacking_where_first_ends((last, 70), &[at(place, 80)]);
        assert_eq!(lacking, [0].into());
        // In what a repair has made, sequences tell nothing.
        let lacking = lacking_where_first_ends((last, 0), &[at(place, 60)]);
        assert_eq!(lacking, [0].into());
    }
    let before = at(place(2, 2 * BLOCK), 80);
    assert!(lacking_where_first_ends((last, 70), &[before]).is_empty());
    // One that came later is computed beside it all the same.
    let entries = [at(place(3, 9 * BLOCK), 60), at(place(4, 0), 80)];
    assert_eq!(lacking_where_first_ends((last, 70), &entries), [0].into());
}

#[test]
fn a_group_is_computed_if_no_more_is_lost_than_there_is_parity() {
    let serials: Vec<Option<u64>> = (8..16).map(Some).collect();
    let all = [serials.as_slice(), serials.as_slice()];
    let group = [entry(0, 9, 3), entry(2, 11, 5)];
    let computed = of_two_there(vec![parity(9, 0, 1, &group)], all);
    assert_eq!(computed.lost_on(2).collect::<Vec<_>>(), [(0, 1, group[1])]);
    assert_eq!(computed.lost_on(3).count(), 0);
    assert_eq!(computed.groups[0].lost, [1]);
    // The ring has gone on over the other append, or that is on a missing member, too.
    for other in [entry(0, 1, 3), entry(3, 9, 3)] {
        let group = [other, entry(2, 11, 5)];
        let one = of_two_there(vec![parity(9, 0, 1, &group)], all);
        assert_eq!(one.lost_on(2).count(), 0);
        assert_eq!(one.beyond_bytes[&2], 5 * u64::from(BLOCK));
        let both = vec![parity(9, 0, 1, &group), parity(9, 1, 0, &group)];
        let is_on_first = other.member == 0;
        // Parity lies on no member that has data of its group.
        let computed = of_two_there(both, all);
        assert_eq!(computed.lost_on(2).count(), usize::from(!is_on_first));
    }
}

#[test]
fn what_contradicts_the_store_or_its_group_is_left_out() {
    let serials: Vec<Option<u64>> = (0..8).map(Some).collect();
    let all = [serials.as_slice(), serials.as_slice()];
    let group = [entry(2, 3, 5)];
    let beyond = GroupEntry {
        append_bytes: SLOT_BYTES,
        ..group[0]
    };
    let mut shorter = parity(9, 0, 1, &group);
    shorter.payload_bytes -= BLOCK;
    for found in [
        shorter,
        parity(9, 2, 1, &group),
        parity(9, 0, 1, &[entry(1, 3, 5), group[0]]),
        parity(9, 0, 1, &[entry(4, 3, 5), group[0]]),
        parity(9, 0, 1, &[beyond]),
    ] {
        assert_eq!(of_two_there(vec![found], all).lost_on(2).count(), 0);
    }
    // Of two that do not fit each other the first counts.
    let others = [entry(2, 4, 5)];
    let computed = of_two_there(vec![parity(9, 0, 1, &group), parity(9, 1, 0, &others)], all);
    assert_eq!(computed.lost_on(2).collect::<Vec<_>>(), [(0, 0, group[0])]);
    assert_eq!(computed.groups[0].parities.len(), 1);
}

/// What disks are full of, from which appends are computed.
const FILLS: [u8; 2] = [5, 6];

/// A member with these appends, each the second of a group of two: the first is on disk 0, and the
/// sum on disk 1, at the same offset.
fn member(appends: &[(AppendPlace, u32)]) -> RebuiltMember {
    let geometry = geometry();
    let part = |number, source, offset_bytes, length_bytes| GroupPart {
        number,
        source,
        offset_bytes,
        length_bytes,
    };
    let groups: Vec<BrokenGroup> = appends
        .iter()
        .map(|(place, append_bytes)| BrokenGroup {
            data: vec![part(0, 0, geometry.offset_of(*place), append_bytes / 2)],
            lost: vec![1],
            parities: vec![part(0, 1, geometry.offset_of(*place), *append_bytes)],
        })
        .collect();
    let appends: Vec<ComputedAppend> = appends
        .iter()
        .enumerate()
        .map(|(group, (place, append_bytes))| ComputedAppend {
            offset_bytes: geometry.offset_of(*place),
            append_bytes: *append_bytes,
            place: *place,
            descriptor_crc: u32::from_le_bytes([FILLS[0] ^ FILLS[1]; 4]),
            group,
            position: 1,
        })
        .collect();
    RebuiltMember {
        identity: AppendIdentity {
            store: Uuid::from_u128(1),
            member: Uuid::from_u128(2),
            geometry,
        },
        sources: Vec::new(),
        groups: Arc::new(groups),
        stand_ins: stand_ins(&geometry, &[], &appends),
        own: None,
        look: None,
        appends,
    }
}

#[test]
fn a_read_is_cut_into_pieces_and_slots_without_a_beginning_get_one() {
    let long = 3 * PIECE_BYTES as u32 / 2;
    let member = member(&[
        (place(0, 0), long),
        (place(1, 4 * BLOCK), 2 * BLOCK),
        (place(3, 0), 2 * BLOCK),
    ]);
    let slot = |serial| geometry().offset_of(place(serial, 0));
    let stand_ins: Vec<u64> = member
        .stand_ins
        .iter()
        .map(|one| one.offset_bytes)
        .collect();
    assert_eq!(stand_ins, [slot(1), slot(2)]);
    let cut = |offset_bytes, length| -> Vec<(usize, usize, u32, bool)> {
        let pieces = member.pieces(offset_bytes, length).into_iter();
        pieces
            .map(|one| (one.start, one.length, one.from, one.stands_at.is_some()))
            .collect()
    };
    let (piece, block) = (PIECE_BYTES, BLOCK as usize);
    let slot_bytes = SLOT_BYTES as usize;
    assert_eq!(
        cut(slot(0), 2 * slot_bytes),
        [
            (0, piece, 0, false),
            (piece, piece / 2, PIECE_BYTES as u32, false),
            (slot_bytes, block, 0, true),
            (slot_bytes + 4 * block, 2 * block, 0, false),
        ]
    );
    assert_eq!(cut(slot(0) + 4096, block), [(0, block, 4096, false)]);
    assert_eq!(cut(slot(2), block), [(0, block, 0, true)]);
    assert_eq!(cut(slot(2) + 4096, slot_bytes / 2), []);
    assert_eq!(cut(0, block), []);
}

#[test]
fn a_slot_that_was_written_again_has_nothing_of_the_lap_before() {
    let geometry = geometry();
    let lap = geometry.slot_count;
    let entry_at = |slot_serial| entry(2, slot_serial, 3);
    let found = [1, 1 + lap, 2].map(|serial| parity(serial, 0, 1, &[entry_at(serial)]));
    let serials: Vec<Option<u64>> = (0..8).map(Some).collect();
    let computed = of_two_there(found.to_vec(), [&serials, &serials]);
    let appends = appends_on(&geometry, &computed, 2);
    let serials: Vec<u64> = appends.iter().map(|one| one.place.slot_serial).collect();
    assert_eq!(serials, [1 + lap, 2]);
}

/// Disks with these bytes in all of their slots.
fn disks(fills: [u8; 2], clock: &Clock) -> SharedMachine {
    let bytes = geometry().member_bytes;
    let disk = |index| DiskDescription::new(&format!("d{index}"), bytes, 1e9, 1e9);
    let file = MachineFile {
        path: "test.toml".into(),
        disks: (0..2).map(disk).collect(),
        limits: Vec::new(),
        warnings: Vec::new(),
    };
    let machine = SharedMachine::with_contents(Machine::new(&file, 1), clock);
    for (disk, fill) in fills.into_iter().enumerate() {
        machine.write_contents(disk, 0, &vec![fill; bytes as usize]);
    }
    machine
}

/// The engine over two disks, the first target of which is a member with this append that is
/// computed of both, and the second one is the second disk.
fn over(machine: SharedMachine, append: (AppendPlace, u32), clock: &Clock) -> RebuildingEngine {
    let targets = (0..2).map(|disk| SimulatedTarget { machine: 0, disk });
    let inner = SimulatedEngine::new(vec![machine], targets.collect(), clock.clone());
    let routes = vec![
        Route::Rebuilt {
            member: Arc::new(member(&[append])),
            sources: vec![0, 1],
        },
        Route::There(1),
    ];
    RebuildingEngine::new(Box::new(inner), routes, 2, clock.clone()).unwrap()
}

/// Has an engine complete requests, and returns them in the order of their tokens.
fn driven(engine: &mut dyn Engine, requests: Vec<Request>, clock: &Clock) -> Vec<Completion> {
    let (count, mut done) = (requests.len(), Vec::new());
    requests
        .into_iter()
        .for_each(|request| engine.submit(request));
    while done.len() < count {
        let until = Until::CompletionOr(clock.now() + 1_000_000_000);
        engine.wait(until, &mut done).unwrap();
    }
    done.sort_by_key(|one: &Completion| one.request.token);
    done
}

#[test]
fn requests_of_members_that_are_there_pass_and_others_are_computed() {
    let clock = Clock::simulated();
    let machine = disks(FILLS, &clock);
    let append = (place(2, 0), 4 * BLOCK);
    let mut engine = over(machine, append, &clock);
    let mut pool = BufferPool::new(8, 1 << 16).unwrap();
    let mut read = |target, offset_bytes, lengths: &[usize], token| {
        let vectors = lengths.iter().map(|length| {
            let mut buffer = pool.take().unwrap();
            buffer.bytes_mut().fill(9);
            Vector::new(buffer, 0, *length)
        });
        Request {
            operation: Operation::Read,
            offset_bytes,
            vectors: Vectors::Many(vectors.collect()),
            token,
            ..Request::flush(target)
        }
    };
    let at = geometry().offset_of(append.0);
    let end = geometry().member_bytes;
    let requests = vec![
        read(0, at - 4096, &[8192, 16384], u64::MAX),
        read(1, at, &[4096], 7),
        read(0, end - 4096, &[8192], 8),
        Request {
            operation: Operation::Write,
            ..read(0, at, &[4096], 9)
        },
    ];
    let done = driven(&mut engine, requests, &clock);
    let bytes = |index: usize| -> Vec<u8> {
        let vectors = done[index].request.vectors.as_slice();
        vectors
            .iter()
            .flat_map(|one| one.bytes().to_vec())
            .collect()
    };
    assert_eq!(
        (done[0].request.target, done[0].bytes, done[0].error),
        (1, 4096, None)
    );
    assert_eq!(bytes(0), [6; 4096]);
    assert_eq!(
        (done[1].bytes, done[1].error),
        (4096, None),
        "the member ends there"
    );
    assert!(
        done[2].error.is_some() && done[2].bytes == 0,
        "nothing is written"
    );
    assert_eq!(
        (done[3].request.target, done[3].bytes, done[3].error),
        (0, 24576, None)
    );
    // The data that is there is half as long as what is lost.
    let expected = [
        vec![0; 4096],
        vec![5 ^ 6; 8192],
        vec![6; 8192],
        vec![0; 4096],
    ];
    assert!(bytes(3) == expected.concat());
}

#[test]
fn what_is_computed_and_is_not_what_the_list_names_reads_as_nothing() {
    let clock = Clock::simulated();
    // The first disk lost what it had in the sum.
    let machine = disks([4, 6], &clock);
    let append = (place(2, 0), 4 * BLOCK);
    let mut engine = over(machine, append, &clock);
    let mut pool = BufferPool::new(1, 1 << 16).unwrap();
    let mut buffer = pool.take().unwrap();
    buffer.bytes_mut().fill(9);
    let request = Request {
        operation: Operation::Read,
        offset_bytes: geometry().offset_of(append.0),
        vectors: Vectors::One(Vector::new(buffer, 0, 4 * BLOCK as usize)),
        ..Request::flush(0)
    };
    let done = driven(&mut engine, vec![request], &clock);
    assert_eq!(done[0].error, None);
    let vectors = done[0].request.vectors.as_slice();
    assert!(vectors[0].bytes().iter().all(|byte| *byte == 0));
}

#[test]
fn an_old_member_is_displaced_where_it_has_an_earlier_append_than_is_named() {
    let serials: Vec<Option<u64>> = (0..8).map(Some).collect();
    let (gone, torn) = (BTreeSet::new(), BTreeSet::new());
    let displaced = |is_old, own_sequence: u64, own_block: u32| {
        let there = |source, is_old| {
            Some(MemberThere {
                source,
                serials: &serials,
                gone: &gone,
                torn: &torn,
                last: None,
                last_sequence: 0,
                is_old,
            })
        };
        let shape = StoreShape {
            geometries: vec![Some(geometry()); 2],
            there: vec![there(0, is_old), there(1, false)],
            retired: BTreeSet::new(),
        };
        let named = GroupEntry {
            sequence: 500,
            ..entry(0, 0, 3)
        };
        let end_bytes = named.place.slot_offset_bytes + named.append_bytes;
        let own = FoundData {
            group: 0,
            source: 0,
            recording: 1,
            place: place(
                named.place.slot_serial,
                end_bytes - BLOCK + own_block * BLOCK,
            ),
            append_bytes: 2 * BLOCK,
            sequence: own_sequence,
            descriptor_crc: 0,
        };
        let parities = vec![parity(500, 0, 1, std::slice::from_ref(&named))];
        let appends = OwnAppends::of_old((&parities, &[own]), &[], &shape);
        let groups = grouped((parities, vec![own]), &shape);
        let entries = groups.listed().flat_map(|(_, group)| &group.list.entries);
        appends.displaced_in(entries, &shape)
    };
    let first = BTreeSet::from([0]);
    assert_eq!(displaced(true, 400, 0), first);
    // It lies behind what is named, came later, or the member is as new as the others.
    assert_eq!(displaced(true, 400, 1), BTreeSet::new());
    assert_eq!(displaced(true, 600, 0), BTreeSet::new());
    assert_eq!(displaced(false, 400, 0), BTreeSet::new());
}
