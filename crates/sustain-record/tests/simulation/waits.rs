//! How long the recorder waits for members that do not answer, and for a kernel that takes nothing.

use sustain_disk::driver::Ending;
use sustain_record::recorder::{Durability, MemberState, Standing};

use crate::bench::Bench;
use crate::engine::Fate;
use crate::plan::{Plan, SECOND_NS, Shortage, Silence};
use crate::window::plan;

const ENOMEM: i32 = 12;
const LENGTH_NS: u64 = 2 * SECOND_NS;
/// As docs/format.md has it: until a member is slow, for progress after that, and a second for all
/// the rest.
const WAITED_NS: u64 = (5 + 30 + 1) * SECOND_NS;

fn of_two_seconds() -> Plan {
    plan(5_000_000, LENGTH_NS, Durability::default())
}

/// How it stands at the end, why it has ended, and how long it took.
fn recorded(plan: &Plan) -> (Standing, Ending, u64) {
    let mut bench = Bench::new(plan);
    assert_eq!(bench.record(0), Fate::Running);
    let history = bench.history.borrow();
    let (standing, ending) = history.recordings[0].result.clone().unwrap();
    let took_ns = (standing.time_s * 1e9) as u64;
    (standing, ending, took_ns)
}

#[test]
fn a_member_that_never_answers_is_given_up_in_the_documented_time() {
    let mut plan = of_two_seconds();
    plan.recordings[0].faults.silences.push(Silence {
        member: 0,
        at_ns: SECOND_NS,
        until_ns: None,
    });
    let (standing, ending, took_ns) = recorded(&plan);
    assert!(took_ns <= LENGTH_NS + WAITED_NS, "{took_ns} ns");
    assert_eq!(ending, Ending::Source);
    assert_eq!(standing.members[0].state, MemberState::Failed);
    let stream = &standing.streams[0];
    assert_eq!(stream.durable_bytes, stream.offered_bytes);
    // At most what it was written in half an interval and not flushed.
    assert!(stream.gap_bytes < 2_500_000, "{}", stream.gap_bytes);
}

#[test]
fn a_member_throttled_to_almost_nothing_holds_up_neither_data_nor_the_end() {
    let mut plan = of_two_seconds();
    plan.members[0].rate_bytes_per_s = 20e3;
    let (standing, ending, took_ns) = recorded(&plan);
    assert!(took_ns <= LENGTH_NS + WAITED_NS, "{took_ns} ns");
    assert_eq!(ending, Ending::Source);
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
    assert_eq!(stream.durable_bytes, 10_000_000, "what is lost is told");
    assert!(0 < stream.gap_bytes && stream.gap_bytes < 10_000_000);
}
