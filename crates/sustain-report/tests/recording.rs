//! What a person reads of a recording: the status line, the table at its end, the sentence.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use std::io::Write;
use std::sync::{Arc, Mutex};

use sample::recording::{standing, troubled, whole};
use sustain_document::record::{RecordVerdicts, RecordingEnd};
use sustain_document::system::KernelMessage;
use sustain_record::recorder::{LimitedBy, MemberState, PinsStanding, RecordingProgress};
use sustain_record::verdicts::decide;
use sustain_report::terminal::{
    LiveKind, RecordRates, RecordView, record_line, record_sentence, record_summary,
};

#[test]
fn a_quiet_recording_is_told_in_three_lines_and_a_sentence() {
    insta::assert_snapshot!(record_summary(&whole()), @"
    stream left: 6000000000 bytes in 4000 frames, all recorded; 99.9 % of the appends were written within 1.71 s and durable within 2.64 s
    member /dev/sdb: 4.40 GB (100 % of what was recorded) at 110 MB/s, worst stall 20 ms
    CPU time: 0.591 s per GB
    recording 3 of store 579c0267-ef38-4db7-9a8a-e64ccb218d5e
    Nothing was lost: 6.00 GB were recorded in 40.2 s (149 MB/s). 99.9 % of the appends were durable within 2.64 s. The recording ended because its sources ended.
    ");
}

#[test]
fn trouble_is_told_where_it_was_and_in_the_sentence() {
    insta::assert_snapshot!(record_summary(&troubled()), @"
    stream left: 6000000000 bytes in 4000 frames, all recorded; 99.9 % of the appends were written within 1.71 s and durable within 2.64 s
    stream right: 6000000000 bytes in 4000 frames, 5.99 GB recorded, 12.0 MB LOST (12000003 bytes); 99.9 % of the appends were written within 1.71 s and durable within 2.64 s
    member /dev/sdb: 4.40 GB (37 % of what was recorded) at 110 MB/s, worst stall 20 ms
    member /dev/sdc: 1.62 GB (14 % of what was recorded) at 90.0 MB/s, worst stall 412 ms, FAILED: /dev/sdc: write at 3.2 GB: I/O error
    member /srv/store: 5.87 GB (49 % of what was recorded) at 147 MB/s, worst stall 31 ms
    share first: I/O priority best-effort 0 (real-time needs CAP_SYS_NICE), CPU nice -20, 512 MiB of buffer locked; the I/O scheduler of sdb (mq-deadline) puts its requests first; sdc has no I/O scheduler, so the kernel gives nobody priority there; the I/O scheduler of sda (bfq) puts its requests first; other programs are held back while data waits for the disk, but not those in the recorder's own control group, /system.slice/recorder.service
    other programs were held back for 7.4 s, in which the kernel counted 28.1 MB/s for them; /system.slice/backup.service on sdc was limited to 12.4 MB/s read at the tightest; its former limits are back
    kernel: at 12.310 s: nvme nvme0: I/O 215 QID 3 timeout, completion polled
    note: /dev/sdc: write at 3.2 GB: I/O error; the others went on
    CPU time: 0.591 s per GB
    recording 3 of store 579c0267-ef38-4db7-9a8a-e64ccb218d5e
    12.0 MB of the 12.0 GB offered were LOST; 12.0 GB were recorded in 40.2 s (298 MB/s). /dev/sdc failed. 99.9 % of the appends were durable within 2.64 s. Data waited for the members 17 % of the time. The recording ended after the time asked for.
    ");
}

#[test]
fn a_fault_that_the_kernel_tells_for_each_request_is_told_once() {
    let mut result = troubled();
    let first = result.system.kernel_messages[0].clone();
    result.system.kernel_messages = (0..8_u32)
        .map(|request| KernelMessage {
            at_s: 12.0 + f64::from(request) / 100.0,
            text: format!(
                "I/O error, dev sdc, sector {} op 0x1:(WRITE)",
                2048 * request
            ),
            ..first.clone()
        })
        .chain([first.clone()])
        .collect();
    let summary = record_summary(&result);
    let lines: Vec<&str> = summary
        .lines()
        .filter(|line| line.starts_with("kernel"))
        .collect();
    assert_eq!(
        lines,
        [
            "kernel: at 12.000 s: I/O error, dev sdc, sector 0 op 0x1:(WRITE) (and 7 more like it, \
             the last at 12.070 s)",
            "kernel: at 12.310 s: nvme nvme0: I/O 215 QID 3 timeout, completion polled",
        ]
    );
}

#[test]
fn errors_that_the_kernel_logs_and_no_request_meets_are_worth_a_check() {
    let mut result = whole();
    let without = record_sentence(&result);
    result.system.kernel_messages = troubled().system.kernel_messages;
    result.system.kernel_messages[0].level = 4;
    assert_eq!(record_sentence(&result), without, "a warning is none");
    result.system.kernel_messages[0].level = 3;
    assert_eq!(
        record_sentence(&result),
        without.replace(
            "99.9 %",
            "The kernel logged errors of the disks meanwhile: `sustain verify` reads all of it back \
             and tells what is damaged. 99.9 %"
        )
    );
    result.members[0].error = troubled().members.iter().find_map(|one| one.error.clone());
    assert!(!record_sentence(&result).contains("The kernel logged"));
}

#[test]
fn of_nothing_there_are_no_rates_and_no_times() {
    let mut result = whole();
    for stream in &mut result.streams {
        stream.offered_bytes = 0;
        stream.recorded_bytes = 0;
        stream.frames = 0;
    }
    result
        .members
        .iter_mut()
        .for_each(|member| member.bytes = 0);
    insta::assert_snapshot!(record_summary(&result), @"
    stream left: the source offered nothing
    member /dev/sdb: no data of a stream is on it
    recording 3 of store 579c0267-ef38-4db7-9a8a-e64ccb218d5e
    Nothing was recorded in 40.2 s, and nothing was lost. The recording ended because its sources ended.
    ");
}

#[test]
fn a_ring_is_said_to_keep_the_newest_alone() {
    let mut result = whole();
    let without = record_sentence(&result);
    result.plan.ring = true;
    let sentence = record_sentence(&result);
    insta::assert_snapshot!(sentence, @"6.00 GB were recorded in 40.2 s (149 MB/s), all that the sources gave. 99.9 % of the appends were durable within 2.64 s. The store is a ring: once it is full, the newest data overwrites the oldest, of this recording and of earlier ones; `sustain list` says from which byte on each can still be read. The recording ended because its sources ended.");
    assert_ne!(sentence, without);
}

#[test]
fn every_ending_has_its_words() {
    let ended = |how: RecordingEnd| {
        let mut result = whole();
        result.ended = how;
        let sentence = record_sentence(&result);
        sentence.rsplit(". ").next().unwrap().to_owned()
    };
    insta::assert_snapshot!(ended(RecordingEnd::Source), @"The recording ended because its sources ended.");
    insta::assert_snapshot!(ended(RecordingEnd::Time), @"The recording ended after the time asked for.");
    insta::assert_snapshot!(ended(RecordingEnd::Bytes), @"The recording ended after the bytes asked for.");
    insta::assert_snapshot!(ended(RecordingEnd::Full), @"The recording ended because the store is full.");
    let mut kept = whole();
    (kept.ended, kept.plan.ring) = (RecordingEnd::Full, true);
    let said = record_sentence(&kept);
    assert!(
        said.ends_with("The recording ended because the ring had nothing left to overwrite.")
            && !said.contains("store is full"),
        "{said}"
    );
    insta::assert_snapshot!(ended(RecordingEnd::Signal), @"The recording was stopped and ended cleanly.");
    insta::assert_snapshot!(ended(RecordingEnd::Split), @"The recording ended where the next one began.");
    insta::assert_snapshot!(ended(RecordingEnd::Error), @"The recording ended because it could not go on.");
}

#[test]
fn what_held_it_is_told_only_where_it_was_not_the_source() {
    let limited = |by: &str, seconds: usize| {
        let mut result = whole();
        let samples = result.samples.iter_mut().skip(1).take(seconds);
        samples.for_each(|sample| sample.limited_by = by.to_owned().into());
        record_sentence(&result)
    };
    assert_eq!(limited("members", 1), record_sentence(&whole()));
    insta::assert_snapshot!(limited("members", 20), @"Nothing was lost: 6.00 GB were recorded in 40.2 s (149 MB/s). 99.9 % of the appends were durable within 2.64 s. Data waited for the members 50 % of the time. The recording ended because its sources ended.");
    insta::assert_snapshot!(limited("/dev/sdb", 4), @"Nothing was lost: 6.00 GB were recorded in 40.2 s (149 MB/s). 99.9 % of the appends were durable within 2.64 s. Data waited 10 % of the time, with /dev/sdb much slower than the other members. The recording ended because its sources ended.");
    let mut result = whole();
    result.total.tool_limited = true;
    insta::assert_snapshot!(record_sentence(&result), @"Nothing was lost: 6.00 GB were recorded in 40.2 s (149 MB/s). 99.9 % of the appends were durable within 2.64 s. The recorder's own thread set the rate, not the members. The recording ended because its sources ended.");
}

#[test]
fn the_status_line_says_first_what_must_not_be_cut_off() {
    let rates = RecordRates {
        in_bytes_per_s: 300e6,
        out_bytes_per_s: 298e6,
        room_bytes_per_s: 298e6,
        ..RecordRates::default()
    };
    insta::assert_snapshot!(record_line(&standing(), &rates), @"  10 s  in  300 MB/s  out  298 MB/s  buffer  7 %  nothing lost  full in 33.6 min  limit: source  slowest append 41.2 ms");
    let mut standing = standing();
    standing.streams[1].gap_bytes = 12_000_003;
    standing.buffer_fill = 1.0;
    standing.limited_by = LimitedBy::Member("/dev/sdc".to_owned());
    standing.members[1].state = MemberState::Failed;
    standing.members[2].free_bytes = None;
    insta::assert_snapshot!(record_line(&standing, &rates), @"  10 s  in  300 MB/s  out  298 MB/s  buffer 100 %  LOST 12.0 MB  /dev/sdc failed  limit: /dev/sdc  slowest append 41.2 ms");
}

#[test]
fn a_ring_that_goes_on_behind_its_pins_is_not_said_to_become_full() {
    let rates = RecordRates {
        in_bytes_per_s: 300e6,
        out_bytes_per_s: 298e6,
        room_bytes_per_s: 298e6,
        ..RecordRates::default()
    };
    // Full in 33.6 min, if the end of the pin does not come before.
    let says_so = |ends_in_s: Option<i64>| {
        let mut standing = standing();
        standing.pins = Some(PinsStanding {
            ends_in_ns: ends_in_s.map(|seconds| seconds * 1_000_000_000),
            ..PinsStanding::default()
        });
        record_line(&standing, &rates).contains("full in 33.6 min")
    };
    assert!(says_so(None));
    assert!(says_so(Some(34 * 60)));
    assert!(!says_so(Some(33 * 60)));
}

#[test]
fn words_have_no_control_codes_of_others() {
    let name = "disk\x1b]0;title\x07\r";
    let mut result = troubled();
    result.streams[0].name = name.to_owned();
    result.members[1].name = name.to_owned();
    result.members[1].error = Some(name.to_owned());
    result.samples[3].limited_by = name.to_owned().into();
    result.system.kernel_messages[0].text = name.to_owned();
    result.notes.push(name.to_owned());
    let mut standing = standing();
    standing.members[1].name = name.to_owned();
    standing.members[1].state = MemberState::Failed;
    for text in [
        record_summary(&result).replace('\n', ""),
        record_sentence(&result),
        record_line(&standing, &RecordRates::default()),
    ] {
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}

/// Takes what a view says.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_pipe_gets_a_line_in_ten_seconds_with_the_rates_of_the_last_one() {
    let heard = Heard::default();
    let mut view = RecordView::new(LiveKind::Plain, Box::new(heard.clone()));
    let mut now = standing();
    for tenth in 0..=250_u32 {
        now.time_s = f64::from(tenth) / 10.0;
        for stream in &mut now.streams {
            stream.arrived_bytes = u64::from(tenth) * 10_000_000;
        }
        for member in &mut now.members {
            member.bytes = u64::from(tenth) * 5_000_000;
            member.free_bytes = Some(200_000_000_000 - member.bytes);
        }
        view.update(&now);
    }
    for _ in 0..2 {
        view.preparing(1 << 29, 1 << 30);
        view.preparing(1 << 30, 1 << 30);
    }
    view.note("the clock was set\x07");
    view.finish();
    let heard = String::from_utf8(heard.0.lock().unwrap().clone()).unwrap();
    insta::assert_snapshot!(heard, @"
       1 s  in  200 MB/s  out  150 MB/s  buffer  7 %  nothing lost  full in 1.11 h  limit: source  slowest append 41.2 ms
      11 s  in  200 MB/s  out  150 MB/s  buffer  7 %  nothing lost  full in 1.11 h  limit: source  slowest append 41.2 ms
      21 s  in  200 MB/s  out  150 MB/s  buffer  7 %  nothing lost  full in 1.11 h  limit: source  slowest append 41.2 ms
    creating the store: 100 % of 1 GiB
    the clock was set�
    ");
}

#[test]
fn a_slow_stream_is_forecast_by_the_room_that_it_takes() {
    let heard = Heard::default();
    let mut view = RecordView::new(LiveKind::Plain, Box::new(heard.clone()));
    let mut now = standing();
    now.members.truncate(1);
    for half in 0..=40_u32 {
        now.time_s = f64::from(half) / 2.0;
        now.streams[0].arrived_bytes = 1_000_000_000_000 + u64::from(half) * 500;
        // 500 bytes in two blocks.
        now.members[0].bytes = u64::from(half) * 500;
        now.members[0].free_bytes = Some((1 << 20) - u64::from(half) * 8192);
        view.update(&now);
    }
    let heard = String::from_utf8(heard.0.lock().unwrap().clone()).unwrap();
    // 1 MiB less 11 s of 16 KiB/s, at 16 KiB/s.
    insta::assert_snapshot!(heard.lines().last().unwrap(), @"  11 s  in 1.00 kB/s  out 1.00 kB/s  buffer  7 %  nothing lost  full in 53 s  limit: source  slowest append 41.2 ms");
}

#[test]
fn a_recording_that_no_member_takes_any_more_gets_full_at_no_time() {
    let mut standing = standing();
    for member in &mut standing.members {
        member.state = MemberState::Closed;
    }
    let rates = RecordRates {
        in_bytes_per_s: 19e6,
        room_bytes_per_s: 19.1e6,
        ..RecordRates::default()
    };
    insta::assert_snapshot!(record_line(&standing, &rates), @"  10 s  in 19.0 MB/s  out     0 B/s  buffer  7 %  nothing lost  limit: source  slowest append 41.2 ms");
    // Nor where the sources have ended and members are written to still.
    standing.members[0].state = MemberState::Active;
    insta::assert_snapshot!(record_line(&standing, &rates), @"  10 s  in 19.0 MB/s  out     0 B/s  buffer  7 %  nothing lost  full in 2.91 h  limit: source  slowest append 41.2 ms");
    let ended = RecordRates {
        in_bytes_per_s: 0.0,
        ..rates
    };
    insta::assert_snapshot!(record_line(&standing, &ended), @"  10 s  in     0 B/s  out     0 B/s  buffer  7 %  nothing lost  limit: source  slowest append 41.2 ms");
}

#[test]
fn of_next_to_nothing_neither_its_cpu_time_nor_what_held_it_is_told() {
    let of_bytes = |bytes: u64| {
        let mut result = whole();
        result.streams[0].offered_bytes = bytes;
        result.streams[0].recorded_bytes = bytes;
        result.total.cpu_seconds_per_gb = 67.706;
        // As the recorder decides it.
        result.total.tool_limited = bytes >= 16 << 20;
        for sample in result.samples.iter_mut().skip(1) {
            sample.limited_by = LimitedBy::Members;
        }
        record_summary(&result)
    };
    let [one, some, more] = [1, 1_000_000, 16 << 20].map(of_bytes);
    insta::assert_snapshot!(one, @"
    stream left: 1 bytes in 4000 frames, all recorded; 99.9 % of the appends were written within 1.71 s and durable within 2.64 s
    member /dev/sdb: 4.40 GB (100 % of what was recorded) at 110 MB/s, worst stall 20 ms
    recording 3 of store 579c0267-ef38-4db7-9a8a-e64ccb218d5e
    Nothing was lost: 1 B were recorded in 40.2 s (0 B/s). 99.9 % of the appends were durable within 2.64 s. The recording ended because its sources ended.
    ");
    insta::assert_snapshot!(some, @"
    stream left: 1000000 bytes in 4000 frames, all recorded; 99.9 % of the appends were written within 1.71 s and durable within 2.64 s
    member /dev/sdb: 4.40 GB (100 % of what was recorded) at 110 MB/s, worst stall 20 ms
    CPU time: 67.706 s per GB
    recording 3 of store 579c0267-ef38-4db7-9a8a-e64ccb218d5e
    Nothing was lost: 1.00 MB were recorded in 40.2 s (24.9 kB/s). 99.9 % of the appends were durable within 2.64 s. The recording ended because its sources ended.
    ");
    insta::assert_snapshot!(more, @"
    stream left: 16777216 bytes in 4000 frames, all recorded; 99.9 % of the appends were written within 1.71 s and durable within 2.64 s
    member /dev/sdb: 4.40 GB (100 % of what was recorded) at 110 MB/s, worst stall 20 ms
    CPU time: 67.706 s per GB
    recording 3 of store 579c0267-ef38-4db7-9a8a-e64ccb218d5e
    Nothing was lost: 16.8 MB were recorded in 40.2 s (418 kB/s). 99.9 % of the appends were durable within 2.64 s. The recorder's own thread set the rate, not the members. The recording ended because its sources ended.
    ");
}

#[test]
fn a_short_recording_is_told_in_milliseconds() {
    let mut result = whole();
    result.seconds = 0.00314;
    insta::assert_snapshot!(record_sentence(&result), @"Nothing was lost: 6.00 GB were recorded in 3.14 ms (1.91 TB/s). 99.9 % of the appends were durable within 2.64 s. The recording ended because its sources ended.");
}

#[test]
fn a_recording_is_told_by_its_verdicts_and_an_older_one_is_decided_by_the_same_rules() {
    let mut result = troubled();
    assert_eq!(result.verdicts, None);
    let older = record_summary(&result);
    result.verdicts = Some(decide(&result));
    assert_eq!(record_summary(&result), older);
    result.verdicts = Some(RecordVerdicts::default());
    // What the verdicts do not say is not said.
    let told = record_summary(&result);
    let said_no_more: Vec<_> = older.lines().filter(|line| !told.contains(line)).collect();
    insta::assert_snapshot!(said_no_more.join("\n"), @"
    CPU time: 0.591 s per GB
    12.0 MB of the 12.0 GB offered were LOST; 12.0 GB were recorded in 40.2 s (298 MB/s). /dev/sdc failed. 99.9 % of the appends were durable within 2.64 s. Data waited for the members 17 % of the time. The recording ended after the time asked for.
    ");
}

/// A group has one append on a member, so the largest one cannot be filled without the others.
#[test]
fn free_space_that_parity_cannot_use_does_not_count() {
    let mut standing = standing();
    let others = standing.members.len() as u64 - 1;
    for (index, member) in standing.members.iter_mut().enumerate() {
        member.state = MemberState::Active;
        member.free_bytes = Some(if index == 0 { 5000 } else { 100 });
    }
    assert_eq!(standing.usable_free_bytes(), Some(5000 + others * 100));
    standing.parities = 1;
    assert_eq!(standing.usable_free_bytes(), Some(100 + others * 100));
    let others_are = |standing: &mut RecordingProgress, state| {
        let others = standing.members[1..].iter_mut();
        others.for_each(|member| member.state = state);
    };
    others_are(&mut standing, MemberState::Full);
    assert_eq!(standing.usable_free_bytes(), Some(0));
    // Where too few members are left, recording goes on without parity.
    others_are(&mut standing, MemberState::Failed);
    assert_eq!(standing.usable_free_bytes(), Some(5000));
    standing.members[0].free_bytes = None;
    assert_eq!(standing.usable_free_bytes(), None);
}
