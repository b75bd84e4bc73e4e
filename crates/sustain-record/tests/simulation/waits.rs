//! Tests how long the recorder waits for members that do not answer, and for a kernel that takes no
//! writes.

use sustain_disk::driver::Ending;
use sustain_record::format::Geometry;
use sustain_record::recorder::{Durability, LimitedBy, MemberState, RecordingProgress};

use crate::bench::Bench;
use crate::engine::Fate;
use crate::plan::{CutKind, Plan, SECOND_NS, Shortage, Silence};
use crate::run::run;
use crate::window::plan;

const ENOMEM: i32 = 12;
const LENGTH_NS: u64 = 2 * SECOND_NS;
/// The times that docs/format.md gives: until a member is slow, for progress after that, and a
/// second for everything else.
const WAITED_NS: u64 = (5 + 30 + 1) * SECOND_NS;

fn of_two_seconds() -> Plan {
    plan(5_000_000, LENGTH_NS, Durability::default())
}

/// The state at the end, why the recording ended, and how long it took.
fn recorded(plan: &Plan) -> (RecordingProgress, Ending, u64) {
    let mut bench = Bench::new(plan);
    assert_eq!(bench.record(0), Fate::Running);
    let history = bench.history.borrow();
    let (standing, ending) = history.recordings[0].result.clone().unwrap();
    let took_ns = (standing.time_s * 1e9) as u64;
    (standing, ending, took_ns)
}

/// Runs a plan like [`recorded`], and checks that it ends within the documented time. Returns the
/// state then.
fn ended_in_time(plan: &Plan) -> RecordingProgress {
    let (standing, ending, took_ns) = recorded(plan);
    assert!(took_ns <= LENGTH_NS + WAITED_NS, "{took_ns} ns");
    assert_eq!(ending, Ending::Source);
    standing
}

/// From the first second on the member never answers again.
const NEVER_AGAIN: Silence = Silence {
    member: 0,
    at_ns: SECOND_NS,
    until_ns: None,
};

#[test]
fn a_member_that_never_answers_is_given_up_in_the_documented_time() {
    let mut plan = of_two_seconds();
    plan.recordings[0].faults.silences.push(NEVER_AGAIN);
    let standing = ended_in_time(&plan);
    assert_eq!(standing.members[0].state, MemberState::Failed);
    let stream = &standing.streams[0];
    assert_eq!(stream.settled_bytes, stream.offered_bytes);
    // At most what was written to it in half an interval and not flushed is lost.
    assert!(stream.gap_bytes < 2_500_000, "{}", stream.gap_bytes);
}

#[test]
fn a_write_that_never_returns_is_the_longest_with_its_age_at_the_end() {
    // What is under way on it is durable elsewhere long before.
    let durability = Durability {
        each: true,
        ..Durability::default()
    };
    let mut plan = plan(5_000_000, LENGTH_NS, durability);
    plan.recordings[0].faults.silences.push(NEVER_AGAIN);
    let standing = ended_in_time(&plan);
    assert_eq!(standing.streams[0].gap_bytes, 0);
    assert!(standing.is_longest_write_under_way, "{standing:#?}");
    let age_ns = (standing.time_s * 1e9) as u64 - NEVER_AGAIN.at_ns;
    let longest_ns = standing.longest_write_ns;
    let possible_ns = age_ns - SECOND_NS..=age_ns + SECOND_NS;
    assert!(
        possible_ns.contains(&longest_ns),
        "{longest_ns} of {age_ns}"
    );
}

#[test]
fn the_member_that_stands_still_for_seconds_is_the_one_that_is_named() {
    // It is the faster of the two, and its rate is that of the time before.
    for at_ns in [0, SECOND_NS] {
        let mut plan = plan(5_000_000, 6 * SECOND_NS, Durability::default());
        plan.members[0].rate_bytes_per_s = 400e6;
        plan.members[1].rate_bytes_per_s = 20e6;
        let until_ns = 4 * SECOND_NS;
        plan.recordings[0].faults.silences.push(Silence {
            member: 0,
            at_ns,
            until_ns: Some(until_ns),
        });
        let mut bench = Bench::new(&plan);
        assert_eq!(bench.record(0), Fate::Running);
        let history = bench.history.borrow();
        let recording = &history.recordings[0];
        let (standing, _) = recording.result.as_ref().unwrap();
        let still = LimitedBy::Member(standing.members[0].name.clone());
        let from_s = at_ns as f64 / 1e9 + 1.0;
        let limits = recording.limits.iter();
        let limits = limits.filter(|(time_s, ..)| (from_s..4.0).contains(time_s));
        let limits: Vec<&LimitedBy> = limits.map(|(_, _, limit)| limit).collect();
        // As long as the other one takes everything, nothing limits the source.
        let is_right = |limit: &&LimitedBy| **limit == still || **limit == LimitedBy::Source;
        assert!(limits.iter().all(is_right), "{limits:?}");
        assert!(limits.iter().any(|limit| **limit == still), "{limits:?}");
        if at_ns == 0 {
            // It had no append, only the start of the recording.
            continue;
        }
        // It has returned, so the longest write has its full length.
        assert!(!standing.is_longest_write_under_way);
        assert!(standing.longest_write_ns > 2 * SECOND_NS, "{standing:#?}");
    }
}

/// What waits on a member that stands still is computed from the others, if that must be.
#[test]
fn what_is_not_durable_hardly_gets_older_while_a_member_stands_still() {
    let interval_ns = SECOND_NS / 5;
    let durability = Durability {
        interval_ns,
        ..Durability::default()
    };
    let silence = Silence {
        member: 0,
        at_ns: SECOND_NS,
        until_ns: Some(4 * SECOND_NS),
    };
    let oldest_ns = [0, 1].map(|parities| {
        let mut plan = plan(2_000_000, 5 * SECOND_NS, durability);
        plan.members.push(plan.members[0].clone());
        let recording = &mut plan.recordings[0];
        recording.parities = parities;
        recording.buffers = 128;
        recording.faults.silences.push(silence);
        let mut bench = Bench::new(&plan);
        assert_eq!(bench.record(0), Fate::Running);
        let history = bench.history.borrow();
        let (standing, _) = history.recordings[0].result.as_ref().unwrap();
        assert!(standing.members.iter().all(|member| member.error.is_none()));
        assert_eq!(standing.streams[0].durable_bytes, 10_000_000);
        bench.durable_latency_ns_max[0]
    });
    let [without_parity, with_parity] = oldest_ns;
    assert!(without_parity > 2 * SECOND_NS, "{without_parity} ns");
    assert!(with_parity < SECOND_NS, "{with_parity} ns");
}

#[test]
fn a_member_throttled_to_almost_nothing_holds_up_neither_data_nor_the_end() {
    let mut plan = of_two_seconds();
    plan.members[0].rate_bytes_per_s = 20e3;
    let standing = ended_in_time(&plan);
    let stream = &standing.streams[0];
    assert_eq!((stream.gap_bytes, stream.durable_bytes), (0, 10_000_000));
}

#[test]
fn a_kernel_that_takes_nothing_for_long_costs_appends_and_no_member() {
    let mut plan = of_two_seconds();
    for member in 0..2 {
        plan.recordings[0].faults.shortages.push(Shortage {
            member,
            at_ns: SECOND_NS,
            until_ns: 15 * SECOND_NS,
            errno: ENOMEM,
        });
    }
    let (standing, ending, _) = recorded(&plan);
    assert_eq!(ending, Ending::Source);
    assert!(standing.members.iter().all(|member| member.error.is_none()));
    let stream = &standing.streams[0];
    assert_eq!(stream.offered_bytes, 10_000_000);
    assert_eq!(stream.recorded_bytes + stream.gap_bytes, 10_000_000);
    assert_eq!(stream.settled_bytes, 10_000_000, "what is lost is told");
    assert_eq!(stream.durable_bytes, stream.recorded_bytes);
    assert!(0 < stream.gap_bytes && stream.gap_bytes < 10_000_000);
}

#[test]
fn a_member_that_never_answers_does_not_keep_the_others_from_telling_what_is_lost() {
    let durability = Durability {
        interval_ns: 100 * SECOND_NS,
        ..Durability::default()
    };
    let mut plan = plan(5_000_000, LENGTH_NS, durability);
    plan.members.push(plan.members[0].clone());
    let recording = &mut plan.recordings[0];
    recording.append_bytes = 64 << 10;
    recording.window.depth = 8;
    recording.faults.deaths.push((2, SECOND_NS));
    recording.faults.silences.push(NEVER_AGAIN);
    let standing = ended_in_time(&plan);
    assert_eq!(standing.members[1].state, MemberState::Closed);
    let stream = &standing.streams[0];
    assert_eq!(stream.settled_bytes, stream.offered_bytes);
    assert_eq!(stream.offered_bytes, 10_000_000, "the other one goes on");
    // As much is lost as the two had written and not flushed.
    assert!(stream.gap_bytes < 5_000_000, "{}", stream.gap_bytes);
}

/// One append fills a slot, and for minutes the kernel takes none for the first of two members.
fn without_beginnings_of_slots() -> Plan {
    const LENGTH_NS: u64 = 250 * SECOND_NS;
    let mut plan = plan(400_000, LENGTH_NS, Durability::default());
    plan.slot_bytes = 256 << 10;
    for member in &mut plan.members {
        member.capacity_bytes = 160 << 20;
        let geometry = Geometry::of_member(member.capacity_bytes, plan.slot_bytes).unwrap();
        member.slots = geometry.slot_count;
    }
    plan.recordings[0].faults.shortages.push(Shortage {
        member: 0,
        at_ns: SECOND_NS,
        until_ns: 200 * SECOND_NS,
        errno: ENOMEM,
    });
    plan
}

#[test]
fn behind_slots_that_never_began_nothing_is_promised_that_opening_would_not_find() {
    let mut plan = without_beginnings_of_slots();
    let (standing, ending, _) = recorded(&plan);
    assert_eq!(ending, Ending::Source);
    assert_eq!(standing.members[0].state, MemberState::Failed);
    assert_eq!(standing.members[1].state, MemberState::Closed);
    let stream = &standing.streams[0];
    assert_eq!(stream.settled_bytes, stream.offered_bytes);
    plan.recordings[0].faults.cut = Some((230 * SECOND_NS, CutKind::Power));
    let met = run(&plan, false);
    assert!(met.contains("power cut"));
}
