use sustain_disk::clock::Timestamp;

use super::*;
use crate::format::{Gap, GapReason, MarksWriter, PayloadMark};

const MS: i64 = 1_000_000;

fn filled(start_bytes: u64, payload_bytes: u32, marks: &[PayloadMark], first_frame: u64) -> Filled {
    let mut encoded = MarksWriter::new();
    marks.iter().for_each(|mark| encoded.push(*mark, 0));
    Filled {
        stream: 0,
        stream_offset_bytes: start_bytes,
        memory: None,
        payload_bytes,
        checksums: Vec::new(),
        marks: encoded.bytes().to_vec(),
        frames_begun: encoded.frames_begun(),
        first_frame: Some(first_frame),
        frame_times_ns: None,
        gap: None,
        first_time_ns: 0,
        last_time_ns: 0,
        begun_at: Timestamp(0),
        accepted_at: Timestamp(0),
    }
}

fn next(offset_bytes: u64, time_ns: i64) -> PayloadMark {
    PayloadMark {
        offset_bytes,
        kind: MarkKind::EndAndBegin,
        time_ns: Some(time_ns),
    }
}

#[test]
fn frames_that_span_appends_have_their_size_and_are_durable_with_their_end() {
    let mut meter = FrameMeter::new(0);
    meter.enter(&filled(0, 1000, &[PayloadMark::begin(100, 10 * MS)], 0));
    meter.enter(&filled(1000, 1000, &[], 1));
    let last = [next(50, 20 * MS), PayloadMark::end(60)];
    meter.enter(&filled(2000, 1000, &last, 1));
    assert_eq!(meter.size.max().latency_ns, 900 + 1000 + 50);
    assert_eq!(meter.interval.max().latency_ns, 10_000_000);
    meter.settled(2000, 30 * MS);
    assert_eq!(
        meter.until_durable.bins().count(),
        0,
        "its end is not durable"
    );
    meter.settled(3000, 50 * MS);
    assert_eq!(meter.until_durable.max().latency_ns, 40_000_000);
    assert_eq!(meter.until_durable.bins().map(|bin| bin.2).sum::<u64>(), 2);
    let point = meter.series.points()[1];
    assert_eq!(
        (point.size_max_bytes, point.until_durable_max_ns),
        (1950, 40_000_000)
    );
}

#[test]
fn the_pause_between_two_recordings_counts_in_the_second_one() {
    let mut first = FrameMeter::new(0);
    first.pace = Some(FramePace::new(10.0));
    first.enter(&filled(0, 100, &[PayloadMark::begin(0, 100 * MS)], 0));
    let mut second = first.following();
    second.begin_at(200 * MS);
    second.pace = Some(FramePace::new(10.0));
    assert!(second.has_figures());
    second.enter(&filled(0, 100, &[PayloadMark::begin(0, 2100 * MS)], 0));
    second.finish();
    assert_eq!(second.interval.max().latency_ns, 2_000_000_000);
    let pace = second.pace.as_ref().unwrap();
    assert_eq!((pace.missing, pace.late), (19, 0));
    let silent = first.following();
    assert!(
        !silent.has_figures(),
        "no frame came, and none was declared"
    );
}

#[test]
fn tiny_frames_keep_little_and_lose_no_maximum() {
    let mut meter = FrameMeter::new(0);
    let marks: Vec<PayloadMark> = (0..100_000).map(|at| next(at, at as i64)).collect();
    meter.enter(&filled(0, 100_000, &marks, 0));
    let groups = &meter.waiting[&0].groups;
    assert!(groups.len() <= GROUPS_MAX);
    assert_eq!(groups.iter().map(|group| group.count).sum::<u64>(), 99_999);
    meter.settled(1, 5 * MS);
    assert_eq!(
        meter.until_durable.max().latency_ns,
        5_000_000,
        "the oldest of all"
    );
    assert!(meter.waiting.is_empty());
}

#[test]
fn no_series_is_longer_than_its_bound_and_peaks_stay() {
    let mut series = FrameSeries::default();
    for second in 0..100_000_u64 {
        let point = series.at(second * 1_000_000_000);
        point.frames += 1;
        point.interval_max_ns = point.interval_max_ns.max(second % 777);
    }
    assert!(series.points().len() <= 1024);
    assert_eq!(
        series
            .points()
            .iter()
            .map(|point| point.frames)
            .sum::<u64>(),
        100_000
    );
    let peak = series.points().iter().map(|point| point.interval_max_ns);
    assert_eq!(peak.max(), Some(776));
    series.at(u64::MAX).frames += 1;
    assert!(
        series.points().len() <= 1024,
        "a clock that jumps breaks nothing"
    );
}

/// The incidents of frames at these times, in milliseconds, declared as one in each 10 ms.
fn incidents(times_ms: &[i64]) -> Vec<(u64, u64, u64)> {
    let mut meter = FrameMeter::new(0);
    meter.pace = Some(FramePace::new(100.0));
    let marks = times_ms.iter().enumerate();
    let marks: Vec<PayloadMark> = marks.map(|(at, ms)| next(at as u64, ms * MS)).collect();
    meter.enter(&filled(0, 1 << 20, &marks, 0));
    meter.finish();
    let pace = meter.pace.unwrap();
    let sum = pace.incidents.iter().map(|one| one.missing).sum::<u64>();
    assert_eq!(sum, pace.missing);
    let incidents = pace.incidents.iter();
    incidents
        .map(|one| (one.frame, one.missing, one.late))
        .collect()
}

#[test]
fn a_frame_that_never_came_is_told_from_one_that_came_late() {
    assert_eq!(incidents(&[0, 10, 21, 29, 40]), [], "no clock is exact");
    assert_eq!(incidents(&[0, 10, 30, 40]), [(2, 1, 0)]);
    assert_eq!(incidents(&[0, 10, 30, 31, 40, 50]), [(2, 0, 1)]);
    assert_eq!(incidents(&[0, 50, 51, 52, 60]), [(1, 2, 2)]);
    assert_eq!(
        incidents(&[0, 16, 22, 30, 40]),
        [(1, 0, 1)],
        "it catches up little by little"
    );
    let burst = |from_ms: i64, count: i64| (0..count).map(move |frame| from_ms + frame);
    let long: Vec<i64> = [0, 10].into_iter().chain(burst(1010, 120)).collect();
    assert_eq!(
        incidents(&long),
        [(2, 0, 99)],
        "all that was due came in the end"
    );
    let first: Vec<i64> = [0, 10].into_iter().chain(burst(110, 4)).collect();
    let both: Vec<i64> = first.into_iter().chain(burst(163, 20)).collect();
    assert_eq!(
        incidents(&both),
        [(2, 0, 9), (6, 0, 4)],
        "the second pause came before the first was made up for"
    );
    let jitter = [0, 10, 41, 49, 62, 71, 80, 90, 100, 110, 120, 101];
    assert_eq!(
        incidents(&jitter),
        [(2, 2, 0)],
        "the first ones after a pause decide"
    );
    assert_eq!(incidents(&[0, 30, 60]), [(1, 2, 0), (2, 2, 0)]);
    assert_eq!(
        incidents(&[0, 10, 5, 20]),
        [(3, 1, 0)],
        "its clock was set back"
    );
    assert_eq!(incidents(&[]), []);
}

#[test]
fn what_the_recorder_lost_is_not_missing_from_the_source() {
    let mut meter = FrameMeter::new(0);
    meter.pace = Some(FramePace::new(100.0));
    meter.enter(&filled(0, 100, &[next(0, 0)], 0));
    let gap = Gap {
        bytes: 50,
        frames: 3,
        reason: GapReason::BufferFull,
        first_time_ns: 0,
        last_time_ns: 0,
    };
    let mut behind = filled(150, 100, &[PayloadMark::begin(0, 50 * MS)], 4);
    behind.gap = Some(gap);
    meter.enter(&behind);
    meter.finish();
    assert_eq!(
        meter.interval.bins().count(),
        0,
        "they do not follow each other"
    );
    let pace = meter.pace.unwrap();
    assert_eq!((pace.missing, pace.incidents[0].frame), (1, 4));
}
