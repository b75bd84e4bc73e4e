//! A recording as a run leaves it, made by hand for the tests: two streams on three disks of which
//! one fails, a buffer that fills until bytes are lost, and one without any trouble.

use sustain_document::frames::{
    FrameIncidentResult, FramePaceResult, FrameSample, FrameSizeResult, FramesResult,
};
use sustain_document::hold_back::{HeldGroup, HoldBackResult, LimitEnd};
use sustain_document::record::{
    BufferPointResult, HostResult, LatencyBinResult, LatencyResult, MemberFileSystem, MemberResult,
    OnFull, PlanResult, RECORD_SCHEMA, RecordResult, RecordingEnd, SampleResult, StreamResult,
    TotalResult,
};
use sustain_document::share::{
    CpuPriorityResult, DeviceScheduler, IoClass, IoPriorityResult, LockedBufferResult,
    MemberPriority, PriorityEffect, RecorderShare, ShareResult,
};
use sustain_document::vocabulary::DataPath;
use sustain_record::recorder::{
    LimitedBy, MemberStanding, MemberState, RecordingProgress, StreamStanding,
};

const SECONDS: u32 = 40;
const STREAMS: [&str; 2] = ["left", "right"];
const MEMBERS: [&str; 3] = ["/dev/sdb", "/dev/sdc", "/srv/store"];
/// Of each stream.
const RATE: u64 = 150_000_000;
/// When /dev/sdc fails, and from when to when bytes of the second stream are lost for it.
const FAILED_S: u32 = 18;
const LOST_S: std::ops::Range<u32> = 20..23;
const LOST_RATE: u64 = 4_000_001;

/// Two streams for 40 s, with all the trouble there is.
pub fn troubled() -> RecordResult {
    let members = members();
    RecordResult {
        schema: RECORD_SCHEMA.to_owned(),
        store: "579c0267-ef38-4db7-9a8a-e64ccb218d5e".to_owned(),
        recording: 3,
        before: Vec::new(),
        ended: RecordingEnd::Time,
        started: "2026-11-21T09:40:00.004522511Z".to_owned(),
        seconds: f64::from(SECONDS) + 0.17,
        engine: "io_uring: registered buffers and files".to_owned(),
        plan: plan(),
        host: host(),
        streams: vec![stream(0), stream(1)],
        marks: None,
        total: TotalResult {
            sum_bytes_per_s: 3.02e8,
            wall_clock_bytes_per_s: 2.98e8,
            all_active_bytes_per_s: 2.98e8,
            cpu_seconds_per_gb: 0.591,
            cpu_seconds: 7.08,
            beside_payload_bytes: 14_600_000,
            worst_stall_ns: 412_000_000,
            is_worst_stall_unreturned: false,
            tool_limited: false,
            rate_held: false,
        },
        members,
        buffer_curve: buffer_curve(),
        samples: (0..=SECONDS).map(sample).collect(),
        verdicts: None,
        share: Some(share()),
        system: super::system(),
        notes: vec!["/dev/sdc: write at 3.2 GB: I/O error; the others went on".to_owned()],
    }
}

/// One stream on one member for 40 s, of which there is nothing to tell.
pub fn whole() -> RecordResult {
    let mut result = troubled();
    result.streams.truncate(1);
    result.share = Some(ShareResult::untouched(RecorderShare::Fair, false));
    result.members.truncate(1);
    result.members[0].share = 1.0;
    for sample in &mut result.samples {
        sample.offered_bytes.truncate(1);
        sample.durable_bytes.truncate(1);
        sample.gap_bytes.truncate(1);
        sample.member_bytes.truncate(1);
        sample.buffer_fill = 0.01;
        sample.limited_by = LimitedBy::Source;
    }
    result.system.kernel_messages.clear();
    result.notes.clear();
    result.ended = RecordingEnd::Source;
    result.total.rate_held = true;
    result
}

/// A recording under way.
pub fn standing() -> RecordingProgress {
    let stream = |index: usize| StreamStanding {
        name: STREAMS[index].to_owned(),
        offered_bytes: 1_500_000_000,
        arrived_bytes: 1_500_000_000,
        recorded_bytes: 1_490_000_000,
        durable_bytes: 1_400_000_000,
        settled_bytes: 1_400_000_000,
        protected_bytes: None,
        protected_settled_bytes: None,
        gap_bytes: 0,
        frames: 0,
    };
    let member = |index: usize| MemberStanding {
        name: MEMBERS[index].to_owned(),
        bytes: 1_000_000_000,
        written_bytes: 1_000_000_000,
        state: MemberState::Active,
        rate_bytes_per_s: 1.0e8,
        free_bytes: Some(200_000_000_000),
        slots_end_bytes: 250_000_000_000,
        lost_bytes: 0,
        error: None,
    };
    RecordingProgress {
        time_s: 10.004,
        streams: vec![stream(0), stream(1)],
        members: vec![member(0), member(1), member(2)],
        parities: 0,
        buffer_fill: 0.07,
        longest_write_ns: 41_200_000,
        is_longest_write_under_way: false,
        limited_by: LimitedBy::Source,
        others_bytes_per_s: None,
        marks: None,
        pins: None,
        recording: 1,
        begun_at: sustain_disk::clock::Timestamp(0),
        is_paused: false,
        flushes: 9,
        is_over: false,
    }
}

fn plan() -> PlanResult {
    let words = [
        "record",
        "/dev/sdb",
        "/dev/sdc",
        "/srv/store",
        "--from",
        "/run/left",
        "--stream",
        "left",
        "--from",
        "/run/right",
        "--stream",
        "right",
        "--on-full",
        "drop",
        "--time",
        "40s",
    ];
    PlanResult {
        sustain_version: "0.1.0".to_owned(),
        arguments: words.map(str::to_owned).to_vec(),
        time_s: Some(f64::from(SECONDS)),
        bytes: None,
        buffer_bytes: 512 << 20,
        append_bytes: 1 << 20,
        parity: 0,
        align_frames: false,
        path: Some(DataPath::Direct),
        depth: 8,
        on_full: OnFull::Drop,
        ring: false,
        durable_each: false,
        durable_interval_s: 1.0,
    }
}

fn share() -> ShareResult {
    let schedulers = [("sdb", "mq-deadline"), ("sdc", "none"), ("sda", "bfq")];
    let members = MEMBERS.iter().zip(schedulers);
    let members = members.map(|(name, (device, scheduler))| MemberPriority {
        name: (*name).to_owned(),
        effect: match scheduler {
            "none" => PriorityEffect::Ignored,
            _ => PriorityEffect::Heeded,
        },
        is_cached: false,
        is_passthrough: false,
        schedulers: vec![DeviceScheduler {
            device: device.to_owned(),
            scheduler: scheduler.to_owned(),
        }],
        through: Vec::new(),
    });
    ShareResult {
        asked: RecorderShare::First,
        is_simulated: false,
        io_priority: IoPriorityResult {
            class: Some(IoClass::BestEffort),
            level: Some(0),
            refused: Some("Operation not permitted (os error 1)".to_owned()),
        },
        cpu_priority: CpuPriorityResult {
            nice: Some(-20),
            refused: None,
        },
        hold_back: Some(HoldBackResult {
            own_group: Some("/system.slice/recorder.service".to_owned()),
            held_s: 7.4,
            others_bytes_per_s: Some(28.1e6),
            groups: vec![HeldGroup {
                name: "/system.slice/backup.service".to_owned(),
                device: "sdc".to_owned(),
                read_bytes: 208_000_000,
                write_bytes: 0,
                least_read_bytes_per_s: Some(12_400_000),
                least_write_bytes_per_s: Some(1_000_000),
                ended: LimitEnd::Restored,
                refused: None,
            }],
            refused: None,
        }),
        locked_buffer: LockedBufferResult {
            bytes: 512 << 20,
            of_bytes: 512 << 20,
            refused: None,
        },
        members: members.collect(),
    }
}

fn host() -> HostResult {
    let host = super::host();
    let place = host.file_systems[0].file_system.clone();
    HostResult {
        description: host.description,
        devices: host.devices,
        file_systems: vec![MemberFileSystem {
            member: MEMBERS[2].to_owned(),
            file_system: place,
        }],
    }
}

fn stream(index: usize) -> StreamResult {
    let offered_bytes = RATE * u64::from(SECONDS);
    let gap_bytes = lost(index, SECONDS);
    let times = |p50, max| LatencyResult {
        p50,
        p99: p50 * 4,
        p99_9: max,
        max,
        max_at_s: 21.4,
    };
    StreamResult {
        name: STREAMS[index].to_owned(),
        source: format!("/run/{}", STREAMS[index]),
        framing: "jpeg".to_owned(),
        offered_bytes,
        recorded_bytes: offered_bytes - gap_bytes,
        gap_bytes,
        durable_bytes: offered_bytes - gap_bytes,
        settled_bytes: offered_bytes,
        protected_bytes: None,
        protected_settled_bytes: None,
        frames: 4000,
        written_latency_ns: times(8_100_000, 1_710_000_000),
        durable_latency_ns: times(420_000_000, 2_640_000_000),
        written_latency_histogram: bins([2.2e6, 3.0e6][index]),
        durable_latency_histogram: bins([0.9e8, 1.2e8][index]),
        frame_figures: None,
    }
}

/// The same, of a camera whose frames are judged against a rate: two never came.
pub fn with_frames(mut result: RecordResult) -> RecordResult {
    result.streams[0].frame_figures = Some(frames());
    result
}

fn frames() -> FramesResult {
    let times = |p50, max| LatencyResult {
        p50,
        p99: p50 * 2,
        p99_9: max,
        max,
        max_at_s: 21.4,
    };
    let sample = |second: u32| FrameSample {
        time_s: f64::from(second),
        frames: 30,
        interval_max_ns: 33_000_000 + u64::from(second % 7) * 1_000_000,
        size_max_bytes: 1_200_000,
        until_durable_max_ns: 600_000_000,
    };
    FramesResult {
        frames_per_s: Some(29.97),
        interval_ns: times(33_300_000, 100_200_000),
        interval_histogram: bins(3.3e7),
        size_bytes: FrameSizeResult {
            p50: 900_000,
            p99: 1_100_000,
            max: 1_200_000,
        },
        size_histogram: Vec::new(),
        until_durable_ns: times(420_000_000, 2_700_000_000),
        until_durable_histogram: bins(4.2e8),
        series: (0..60).map(sample).collect(),
        pace: Some(FramePaceResult {
            declared_frames_per_s: 30.0,
            missing: 2,
            late: 1,
            incidents: vec![FrameIncidentResult {
                frame: 642,
                time: "2026-03-01T10:00:21.400000000Z".to_owned(),
                interval_ns: 133_000_000,
                missing: 2,
                late: 1,
            }],
            unlisted: 0,
        }),
    }
}

fn bins(middle_ns: f64) -> Vec<LatencyBinResult> {
    let bins = super::histogram(middle_ns);
    let bin = |bin: &sustain_document::measure::LatencyBin| LatencyBinResult {
        from_ns: bin.from_ns,
        to_ns: bin.to_ns,
        count: bin.count,
    };
    bins.iter().map(bin).collect()
}

fn members() -> Vec<MemberResult> {
    let bytes = [0, 1, 2].map(|index| member_bytes(index, SECONDS));
    let all: u64 = bytes.iter().sum();
    let member = |index: usize| {
        let failed = index == 1;
        let seconds = if failed { FAILED_S } else { SECONDS };
        MemberResult {
            name: MEMBERS[index].to_owned(),
            bytes: bytes[index],
            written_bytes: bytes[index] + bytes[index] / 250,
            share: bytes[index] as f64 / all as f64,
            rate_bytes_per_s: bytes[index] as f64 / f64::from(seconds),
            state: if failed {
                MemberState::Failed
            } else {
                MemberState::Closed
            },
            lost_bytes: 0,
            error: failed.then(|| "/dev/sdc: write at 3.2 GB: I/O error".to_owned()),
            depth_reached: 8,
            latency_ns: LatencyResult {
                p50: 8_000_000,
                p99: 31_000_000,
                p99_9: 160_000_000,
                max: 412_000_000,
                max_at_s: 20.2,
            },
            worst_stall_ns: [20_000_000, 412_000_000, 31_000_000][index],
            is_worst_stall_unreturned: false,
        }
    };
    vec![member(0), member(1), member(2)]
}

/// Lost of a stream until this second.
fn lost(stream: usize, second: u32) -> u64 {
    let seconds = second.clamp(LOST_S.start, LOST_S.end) - LOST_S.start;
    if stream == 1 {
        LOST_RATE * u64::from(seconds)
    } else {
        0
    }
}

/// On a member by this second: the third takes what the failed one took.
fn member_bytes(member: usize, second: u32) -> u64 {
    let second = u64::from(second);
    let until_failed = second.min(FAILED_S.into());
    let after = second - until_failed;
    match member {
        0 => second * 110_000_000,
        1 => until_failed * 90_000_000,
        _ => until_failed * 100_000_000 + after * 185_000_000,
    }
}

fn sample(second: u32) -> SampleResult {
    let waits = (FAILED_S..LOST_S.end + 3).contains(&second);
    let offered = RATE * u64::from(second);
    // A flush may come before or after the moment.
    let late = u64::from(second * 7 % 5) * 6_000_000;
    let gap_bytes = [lost(0, second), lost(1, second)];
    SampleResult {
        time_s: f64::from(second) + 0.02,
        buffer_fill: if LOST_S.contains(&second) {
            1.0
        } else if waits {
            0.55
        } else {
            0.01
        },
        offered_bytes: vec![offered; 2],
        durable_bytes: gap_bytes
            .map(|gap_bytes| offered.saturating_sub(late + gap_bytes))
            .to_vec(),
        gap_bytes: gap_bytes.to_vec(),
        protected_bytes: Vec::new(),
        failed_members: Vec::new(),
        member_bytes: [0, 1, 2].map(|index| member_bytes(index, second)).to_vec(),
        limited_by: match second {
            FAILED_S => LimitedBy::Member("/dev/sdc".to_owned()),
            _ if waits => LimitedBy::Members,
            _ => LimitedBy::Source,
        },
    }
}

fn buffer_curve() -> Vec<BufferPointResult> {
    let points = super::buffer_curve();
    let point = |point: &sustain_document::measure::BufferPoint| BufferPointResult {
        rate_bytes_per_s: point.rate_bytes_per_s / 6.0,
        buffer_bytes: point.buffer_bytes as f64 + 0.5,
    };
    points.iter().map(point).collect()
}
