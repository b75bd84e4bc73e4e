//! Tests how much a power cut may take: what is not durable yet is bounded in time and in bytes. It
//! also tests what is named as the limit of a recording.

use sustain_disk::driver::Ending;
use sustain_record::recorder::{Durability, LimitedBy, Patience, ScatterWindow};

use crate::bench::Bench;
use crate::engine::Fate;
use crate::plan::{Afterwards, Faults, MemberPlan, Plan, RecordingPlan, SECOND_NS, StreamPlan};

const MIB: u64 = 1 << 20;
/// The rate of a disk without faults.
const RATE_BYTES_PER_S: f64 = 100e6;

pub fn plan(stream_bytes_per_s: u64, length_ns: u64, durability: Durability) -> Plan {
    let member = MemberPlan {
        slots: 16,
        capacity_bytes: 18 * MIB,
        rate_bytes_per_s: RATE_BYTES_PER_S,
        cache_bytes: None,
        is_volatile: true,
        noise_fraction: 0.0,
        stall_ns: None,
        request_ns: 20_000,
        bad_byte: None,
    };
    let stream = StreamPlan {
        rate_bytes_per_s: stream_bytes_per_s,
        bytes: (u128::from(stream_bytes_per_s) * u128::from(length_ns) / 1_000_000_000) as u64,
        frame_bytes: None,
        told_loss: None,
    };
    let recording = RecordingPlan {
        ring: false,
        durability,
        parities: 0,
        window: ScatterWindow {
            depth: 4,
            time_ns: SECOND_NS / 10,
        },
        patience: Patience::default(),
        append_bytes: 256 << 10,
        aligns_frames: false,
        buffers: 16,
        drops: false,
        streams: vec![stream],
        length_ns,
        stop_at_ns: None,
        ending: Ending::Source,
        faults: Faults::default(),
        torn_superblocks: false,
        renews_at_end: true,
        absent: 0,
        stale: None,
        is_checked: false,
        splits: Vec::new(),
        pins: Vec::new(),
    };
    Plan {
        seed: 1,
        slot_bytes: MIB as u32,
        members: vec![member.clone(), member],
        addition: None,
        retires: false,
        recordings: vec![recording],
        afterwards: Afterwards::default(),
    }
}

#[test]
fn what_is_not_durable_is_no_older_than_the_interval() {
    let interval_ns = SECOND_NS / 5;
    let durability = Durability {
        each: false,
        interval_ns,
        bytes: 64 * MIB,
    };
    // One stream is so slow that an append is never full, and one fills many in the time. An append
    // is closed when its first byte is half the interval old. It is flushed, with what comes beside
    // it, half an interval after it was written.
    let write_and_flush_ns = interval_ns / 20;
    for (stream_bytes_per_s, least_ns) in [(50_000, interval_ns / 2), (5_000_000, 1)] {
        let mut bench = Bench::new(&plan(stream_bytes_per_s, 2 * SECOND_NS, durability));
        assert_eq!(bench.record(0), Fate::Running);
        let oldest_ns = bench.durable_latency_ns_max[0];
        assert!(
            (least_ns..=interval_ns + write_and_flush_ns).contains(&oldest_ns),
            "{oldest_ns} ns until a byte of {stream_bytes_per_s} B/s is durable"
        );
    }
}

#[test]
fn what_is_not_durable_on_a_member_is_bounded_in_bytes() {
    let bytes = MIB;
    let durability = Durability {
        each: false,
        interval_ns: 100 * SECOND_NS,
        bytes,
    };
    let plan = plan(80_000_000, SECOND_NS / 4, durability);
    let in_flight_bytes =
        u64::from(plan.recordings[0].window.depth) * plan.recordings[0].append_bytes as u64;
    let mut bench = Bench::new(&plan);
    assert_eq!(bench.record(0), Fate::Running);
    let most_bytes = bench.history.borrow().unflushed_bytes_max;
    // What is written while the flush is in flight comes on top, and what is in flight itself.
    assert!(most_bytes >= bytes, "{most_bytes} bytes at most");
    assert!(
        most_bytes <= bytes + 2 * in_flight_bytes,
        "{most_bytes} bytes at most"
    );
}

/// The limits that are named for a recording of one stream on one such member, from the first
/// second on until everything is written.
fn limits_after_a_second(stream_bytes_per_s: u64, member: MemberPlan) -> Vec<LimitedBy> {
    let mut plan = plan(stream_bytes_per_s, SECOND_NS / 5, Durability::default());
    plan.members = vec![member];
    // This keeps the member from being given up.
    plan.recordings[0].patience = Patience {
        slow_after_ns: 36_000 * SECOND_NS,
        given_up_after_ns: 36_000 * SECOND_NS,
    };
    let bytes = plan.recordings[0].streams[0].bytes;
    let mut bench = Bench::new(&plan);
    assert_eq!(bench.record(0), Fate::Running);
    let history = bench.history.borrow();
    let limits = history.recordings[0].limits.iter();
    limits
        .filter(|(time_s, written_bytes, _)| *time_s >= 1.0 && *written_bytes < bytes)
        .map(|(_, _, limit)| limit.clone())
        .collect()
}

#[test]
fn a_disk_that_hangs_or_hardly_moves_holds_the_recording_and_not_the_source() {
    let disk = plan(1, SECOND_NS, Durability::default()).members.remove(0);
    let crawls = MemberPlan {
        rate_bytes_per_s: 5e3,
        ..disk.clone()
    };
    let hangs = MemberPlan {
        request_ns: 20 * SECOND_NS,
        ..disk
    };
    for (member, what) in [(crawls, "crawls"), (hangs, "hangs")] {
        // One rate is so low that everything is in flight to the disk, the other so high that
        // something waits behind.
        for stream_bytes_per_s in [500_000, 20_000_000] {
            let limits = limits_after_a_second(stream_bytes_per_s, member.clone());
            assert!(!limits.is_empty(), "nothing is shown while the disk {what}");
            let is_members = |limit: &LimitedBy| *limit == LimitedBy::Members;
            assert!(limits.iter().all(is_members), "the disk {what}: {limits:?}");
        }
    }
}

#[test]
fn a_source_that_finds_no_memory_is_not_the_limit_although_nothing_that_waits_is_old() {
    // The member takes 7 ms for an append, so of two none waits for long and none hangs: only that
    // there are no more tells of a source that is three times as fast.
    for (stream_bytes_per_s, buffers, expected) in [
        (30_000_000, 2, LimitedBy::Members),
        (2_000_000, 8, LimitedBy::Source),
    ] {
        let mut plan = plan(stream_bytes_per_s, SECOND_NS, Durability::default());
        plan.members.truncate(1);
        plan.members[0].rate_bytes_per_s = 10e6;
        let recording = &mut plan.recordings[0];
        (recording.append_bytes, recording.buffers) = (64 << 10, buffers);
        recording.drops = true;
        let mut bench = Bench::new(&plan);
        assert_eq!(bench.record(0), Fate::Running);
        let history = bench.history.borrow();
        let limits = history.recordings[0].limits.iter();
        let while_it_gives = limits.filter(|(time_s, ..)| (0.3..1.0).contains(time_s));
        let named: Vec<&LimitedBy> = while_it_gives.map(|(_, _, limit)| limit).collect();
        assert!(!named.is_empty(), "nothing is shown while the source gives");
        assert!(
            named.iter().all(|limit| **limit == expected),
            "at {stream_bytes_per_s} B/s: {named:?}"
        );
    }
}
