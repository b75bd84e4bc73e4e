//! What the frames of a stream are like while it is recorded: how long after each other they come,
//! how large they are, and how long it takes until they are durable. It looks at frame marks alone,
//! so large frames cost nothing for their bytes, and its memory is bounded however small they are.

mod pace;
mod series;

use std::collections::BTreeMap;

use sustain_disk::meter::LatencyMeter;

use super::filled::Filled;
use crate::format::{MarkKind, MarkReader};

pub use self::pace::{FrameIncident, FramePace};
pub use self::series::{FramePoint, FrameSeries};

/// Frames of one append that are not durable are kept in at most so many groups.
const GROUPS_MAX: usize = 32;

/// Frames that end in one append, one after the other.
#[derive(Debug, Clone, Copy)]
struct FrameGroup {
    count: u64,
    /// When the first of them began to arrive. All of them count as that old.
    begun_ns: i64,
}

/// The frames that end in one append, in groups of even size.
#[derive(Debug, Default)]
struct FrameGroups {
    groups: Vec<FrameGroup>,
    per_group: u64,
}

impl FrameGroups {
    fn add(&mut self, begun_ns: i64) {
        self.per_group = self.per_group.max(1);
        if let Some(last) = self
            .groups
            .last_mut()
            .filter(|last| last.count < self.per_group)
        {
            last.count += 1;
            last.begun_ns = last.begun_ns.min(begun_ns);
            return;
        }
        if self.groups.len() == GROUPS_MAX {
            let pairs = self.groups.chunks(2);
            self.groups = pairs.map(joined).collect();
            self.per_group *= 2;
        }
        self.groups.push(FrameGroup { count: 1, begun_ns });
    }
}

fn joined(groups: &[FrameGroup]) -> FrameGroup {
    FrameGroup {
        count: groups.iter().map(|group| group.count).sum(),
        begun_ns: groups.iter().map(|group| group.begun_ns).min().unwrap_or(0),
    }
}

/// The frames of one stream.
#[derive(Debug)]
pub struct FrameMeter {
    /// The recording's start, in nanoseconds since 1970.
    start_ns: i64,
    /// From the beginning of one frame to that of the next, in nanoseconds.
    pub interval: LatencyMeter,
    /// Bytes of a frame.
    pub size: LatencyMeter,
    /// From the arrival of a frame's first byte until it, and all before it in its stream, was
    /// durable.
    pub until_durable: LatencyMeter,
    /// The same over time.
    pub series: FrameSeries,
    /// What is missing and late of a declared rate.
    pub pace: Option<FramePace>,
    /// The number of the first and of the last frame, and when they began to arrive.
    pub ends: Option<[(u64, i64); 2]>,
    /// When the frame before began.
    last_ns: Option<i64>,
    /// Frames that the recorder has lost since.
    lost_since: u64,
    /// When the frame that is open began, and its bytes so far.
    open: Option<(i64, u64)>,
    /// By the start of the append, the frames that end in it and are not durable.
    waiting: BTreeMap<u64, FrameGroups>,
}

impl FrameMeter {
    /// Before the first frame of a recording that began at this time, in nanoseconds since 1970.
    pub fn new(start_ns: i64) -> FrameMeter {
        FrameMeter {
            start_ns,
            interval: LatencyMeter::new(),
            size: LatencyMeter::new(),
            until_durable: LatencyMeter::new(),
            series: FrameSeries::default(),
            pace: None,
            ends: None,
            last_ns: None,
            lost_since: 0,
            open: None,
            waiting: BTreeMap::new(),
        }
    }

    /// The meter of the recording that follows this one without a break. The pause before its first
    /// frame counts in it.
    pub(super) fn following(&self) -> FrameMeter {
        FrameMeter {
            last_ns: self.last_ns,
            lost_since: self.lost_since,
            ..FrameMeter::new(self.start_ns)
        }
    }

    /// Takes note that the recording begins at this time, in nanoseconds since 1970.
    pub(super) fn begin_at(&mut self, start_ns: i64) {
        self.start_ns = start_ns;
    }

    /// Whether there is anything to tell.
    pub(super) fn has_figures(&self) -> bool {
        self.ends.is_some() || self.pace.is_some()
    }

    /// Enters the frames of an append, in the order of the stream.
    pub fn enter(&mut self, filled: &Filled) {
        if let Some(gap) = filled.gap {
            self.open = None;
            self.lost_since += gap.frames;
        }
        let mut number = filled.first_frame.unwrap_or(0);
        let mut at_bytes = 0;
        let mut ended = FrameGroups::default();
        let marks = MarkReader::new(&filled.marks, filled.first_time_ns);
        for mark in marks.map_while(Result::ok) {
            if let Some((_, bytes)) = &mut self.open {
                *bytes += mark.offset_bytes - at_bytes;
            }
            at_bytes = mark.offset_bytes;
            if mark.kind != MarkKind::Begin {
                self.end(&mut ended);
            }
            if let Some(time_ns) = mark.time_ns {
                self.begin(number, time_ns);
                number += 1;
            }
        }
        if let Some((_, bytes)) = &mut self.open {
            *bytes += u64::from(filled.payload_bytes) - at_bytes;
        }
        if !ended.groups.is_empty() {
            self.waiting.insert(filled.start_bytes(), ended);
        }
    }

    /// Takes note that the payload of the append that begins at this byte was lost after all.
    pub fn lose(&mut self, start_bytes: u64) {
        self.waiting.remove(&start_bytes);
    }

    /// Takes note that all below this byte of the stream is durable.
    pub fn settled(&mut self, watermark_bytes: u64, now_ns: i64) {
        while let Some(first) = self.waiting.first_entry()
            && *first.key() < watermark_bytes
        {
            for group in first.remove().groups {
                let age_ns = distance_ns(group.begun_ns, now_ns);
                let at_ns = distance_ns(self.start_ns, now_ns);
                self.until_durable.record_many(age_ns, group.count, at_ns);
                let point = self.series.at(distance_ns(self.start_ns, group.begun_ns));
                point.until_durable_max_ns = point.until_durable_max_ns.max(age_ns);
            }
        }
    }

    /// Takes note that no more frames come.
    pub fn finish(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.settle();
        }
    }

    fn begin(&mut self, number: u64, time_ns: i64) {
        let at_ns = distance_ns(self.start_ns, time_ns);
        let lost = std::mem::take(&mut self.lost_since);
        let point = self.series.at(at_ns);
        point.frames += 1;
        if let Some(last_ns) = self.last_ns.filter(|_| lost == 0) {
            let interval_ns = distance_ns(last_ns, time_ns);
            point.interval_max_ns = point.interval_max_ns.max(interval_ns);
            self.interval.record(interval_ns, at_ns, 0);
        }
        if let Some(pace) = &mut self.pace {
            let interval_ns = self.last_ns.map(|last_ns| distance_ns(last_ns, time_ns));
            pace.take(number, time_ns, interval_ns, lost);
        }
        let [first, _] = self.ends.unwrap_or([(number, time_ns); 2]);
        self.ends = Some([first, (number, time_ns)]);
        self.last_ns = Some(time_ns);
        self.open = Some((time_ns, 0));
    }

    fn end(&mut self, ended: &mut FrameGroups) {
        let Some((begun_ns, bytes)) = self.open.take() else {
            return;
        };
        let at_ns = distance_ns(self.start_ns, begun_ns);
        self.size.record(bytes, at_ns, 0);
        let point = self.series.at(at_ns);
        point.size_max_bytes = point.size_max_bytes.max(bytes);
        ended.add(begun_ns);
    }
}

/// The time from one moment to another; 0 where a source's clock was set back between them.
fn distance_ns(from_ns: i64, to_ns: i64) -> u64 {
    u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
