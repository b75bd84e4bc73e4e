//! The state of a recording over time, as its document keeps it: bounded in number, with every peak
//! of the buffer. The run takes a sample whenever it looks at the board.

use sustain_document::record::{LimitedBy, MemberState, SampleResult};

use crate::recorder::RecordingProgress;

/// The most samples kept. When there are more, every second one is dropped and fewer are taken.
const SAMPLES_MAX: usize = 4096;

/// The state of the recording in even steps, bounded in number however long it takes.
#[derive(Debug)]
pub(super) struct Samples {
    pub(super) kept: Vec<SampleResult>,
    step_s: f64,
    next_s: f64,
    /// The fullest buffer since the last sample, because what a source feels lasts less than a
    /// step.
    fill_max: f64,
    /// What the source waited for, or lost bytes to, since the last sample.
    held_by: Option<LimitedBy>,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples {
            kept: Vec::new(),
            step_s: 1.0,
            next_s: 0.0,
            fill_max: 0.0,
            held_by: None,
        }
    }
}

impl Samples {
    /// Takes a sample if one is due, or if it is the last.
    pub(super) fn take(&mut self, standing: &RecordingProgress, is_last: bool) {
        self.fill_max = self.fill_max.max(standing.buffer_fill);
        if standing.limited_by != LimitedBy::Source {
            self.held_by = Some(standing.limited_by.clone());
        }
        if standing.time_s < self.next_s && !is_last {
            return;
        }
        while self.next_s <= standing.time_s {
            self.next_s += self.step_s;
        }
        let streams = || standing.streams.iter();
        let gap_bytes: Vec<u64> = streams().map(|stream| stream.gap_bytes).collect();
        let lost_before = self
            .kept
            .last()
            .map_or(0, |last| last.gap_bytes.iter().sum());
        let has_lost = gap_bytes.iter().sum::<u64>() > lost_before;
        let fill_max = std::mem::take(&mut self.fill_max);
        let held_by = self.held_by.take();
        let limited_by = match held_by {
            Some(by) if is_full(fill_max) || has_lost => by,
            None if is_full(fill_max) => LimitedBy::Members,
            _ => standing.limited_by.clone(),
        };
        self.kept.push(SampleResult {
            time_s: standing.time_s,
            buffer_fill: fill_max,
            offered_bytes: streams().map(|stream| stream.offered_bytes).collect(),
            durable_bytes: streams().map(|stream| stream.durable_bytes).collect(),
            gap_bytes,
            protected_bytes: streams()
                .filter_map(|stream| stream.protected_bytes)
                .collect(),
            failed_members: failed_members(standing),
            member_bytes: standing.members.iter().map(|member| member.bytes).collect(),
            limited_by,
        });
        if self.kept.len() > SAMPLES_MAX {
            self.thin();
        }
    }

    /// Keeps every second sample. What was seen between two of them belongs to the later one.
    fn thin(&mut self) {
        let mut passed: Option<SampleResult> = None;
        let mut kept = Vec::with_capacity(self.kept.len() / 2 + 1);
        for (index, mut sample) in std::mem::take(&mut self.kept).into_iter().enumerate() {
            if index % 2 == 1 {
                passed = Some(sample);
                continue;
            }
            if let Some(passed) = passed.take() {
                if is_full(passed.buffer_fill) && sample.limited_by == LimitedBy::Source {
                    sample.limited_by = passed.limited_by;
                }
                sample.buffer_fill = sample.buffer_fill.max(passed.buffer_fill);
            }
            kept.push(sample);
        }
        // A sample that none follows stays, or its peak would be lost.
        kept.extend(passed);
        self.kept = kept;
        self.step_s *= 2.0;
    }
}

fn failed_members(standing: &RecordingProgress) -> Vec<usize> {
    let members = standing.members.iter().enumerate();
    let failed = members.filter(|(_, member)| member.state == MemberState::Failed);
    failed.map(|(index, _)| index).collect()
}

/// A source that met a full buffer waited, or lost what it had: it was not the limit then.
fn is_full(fill: f64) -> bool {
    fill >= 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::StreamStanding;

    fn standing(time_s: f64, buffer_fill: f64, gap_bytes: u64) -> RecordingProgress {
        RecordingProgress {
            time_s,
            streams: vec![StreamStanding {
                gap_bytes,
                ..StreamStanding::default()
            }],
            members: Vec::new(),
            parities: 0,
            buffer_fill,
            longest_write_ns: 0,
            is_longest_write_under_way: false,
            limited_by: LimitedBy::Source,
            others_bytes_per_s: None,
            marks: None,
            pins: None,
            recording: 1,
            begun_at: sustain_disk::clock::Timestamp(0),
            is_paused: false,
            flushes: 0,
            is_over: false,
        }
    }

    #[test]
    fn the_source_is_not_the_limit_of_a_time_in_which_it_met_a_full_buffer() {
        let named = LimitedBy::Member("slow".to_owned());
        let mut samples = Samples::default();
        samples.take(&standing(0.0, 0.0, 0), false);
        samples.take(&standing(0.5, 1.0, 0), false);
        samples.take(&standing(1.0, 0.2, 0), false);
        let mut held = standing(1.5, 0.9, 7);
        held.limited_by = named.clone();
        samples.take(&held, false);
        samples.take(&standing(2.0, 0.2, 7), false);
        samples.take(&standing(3.0, 0.2, 7), true);
        let by: Vec<LimitedBy> = samples
            .kept
            .iter()
            .map(|one| one.limited_by.clone())
            .collect();
        let source = LimitedBy::Source;
        assert_eq!(by, [source.clone(), LimitedBy::Members, named, source]);
    }

    fn sample(time_s: f64, buffer_fill: f64) -> SampleResult {
        SampleResult {
            time_s,
            buffer_fill,
            offered_bytes: Vec::new(),
            durable_bytes: Vec::new(),
            gap_bytes: Vec::new(),
            protected_bytes: Vec::new(),
            member_bytes: Vec::new(),
            failed_members: Vec::new(),
            limited_by: LimitedBy::Source,
        }
    }

    #[test]
    fn a_full_buffer_is_remembered_however_long_the_recording_is() {
        for full_at in [1, 2, SAMPLES_MAX - 1, SAMPLES_MAX] {
            let fill = |index: usize| if index == full_at { 1.0 } else { 0.1 };
            let mut samples = Samples {
                kept: (0..=SAMPLES_MAX)
                    .map(|index| sample(index as f64, fill(index)))
                    .collect(),
                ..Samples::default()
            };
            samples.thin();
            assert!(samples.kept.len() <= SAMPLES_MAX / 2 + 1);
            let fullest = samples.kept.iter().map(|sample| sample.buffer_fill);
            assert_eq!(fullest.fold(0.0, f64::max), 1.0, "full at {full_at}");
        }
    }
}
