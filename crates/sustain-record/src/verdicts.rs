//! Decides what the figures of a recording mean: what limited its rate, over time and in all, and
//! which figures are told. Every threshold of its result stands here. It works on the document
//! alone; the conclusion calls it once, and the views word what it decided.

use std::borrow::Cow;

use sustain_document::record::{LimitedBy, RecordResult, RecordVerdicts, SampleResult, WaitedFor};

/// A recording of less payload spends its CPU time on beginning and ending. Divided by its few
/// bytes, the time per GB would be a large number without meaning.
const CPU_FROM_BYTES: u64 = 1_000_000;

/// A recording of less payload says nothing about what limited it: this much is in flight on two
/// members at once, so beginning and ending took most of the time.
pub(crate) const LIMITS_FROM_BYTES: u64 = 16 << 20;

/// What data waited for during a smaller part of the time is not told.
const WAITED_FROM: f64 = 0.05;

/// The verdicts of a document: its own or, where an earlier version wrote it without any, those on
/// its figures.
#[must_use]
pub fn of(result: &RecordResult) -> Cow<'_, RecordVerdicts> {
    match &result.verdicts {
        Some(told) => Cow::Borrowed(told),
        None => Cow::Owned(decide(result)),
    }
}

/// The verdicts on a recording, from the figures of its document.
#[must_use]
pub fn decide(result: &RecordResult) -> RecordVerdicts {
    RecordVerdicts {
        waited_for: waited_for(result),
        is_cpu_per_gb_known: recorded_bytes(result) >= CPU_FROM_BYTES,
    }
}

fn waited_for(result: &RecordResult) -> Option<WaitedFor> {
    if recorded_bytes(result) < LIMITS_FROM_BYTES || result.total.tool_limited {
        return None;
    }
    let by = seconds_by(&limits(&result.samples));
    let all_s: f64 = by.iter().map(|(_, seconds)| seconds).sum();
    let mut waits = by.into_iter().filter_map(|(cause, seconds)| match cause {
        LimitCause::Loss | LimitCause::By(LimitedBy::Source) => None,
        LimitCause::By(by) => Some((by, seconds)),
    });
    let (by, seconds) = waits.next()?;
    let share = seconds / all_s;
    (share >= WAITED_FROM).then(|| WaitedFor {
        by: by.clone(),
        share,
    })
}

/// What limited a recording for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitCause<'a> {
    /// What the samples name: the sources, the members, or one of them.
    By(&'a LimitedBy),
    /// Bytes were lost although no data was waiting when sampled.
    Loss,
}

impl<'a> LimitCause<'a> {
    /// A word for it, or the name of a member.
    #[must_use]
    pub fn words(self) -> &'a str {
        match self {
            LimitCause::By(by) => by.words(),
            LimitCause::Loss => "loss",
        }
    }
}

/// A period in which one thing limited the recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitPeriod<'a> {
    /// What limited it.
    pub by: LimitCause<'a>,
    /// When it began.
    pub from_s: f64,
    /// When it ended.
    pub to_s: f64,
}

/// The payload of all streams.
#[must_use]
pub fn recorded_bytes(result: &RecordResult) -> u64 {
    result.streams.iter().map(|one| one.recorded_bytes).sum()
}

/// The payload of all streams over the whole time. It is the one average of a recording that is
/// told as such; rates of what the members were written are higher, by the format's own bytes.
#[must_use]
pub fn average_bytes_per_s(result: &RecordResult) -> f64 {
    recorded_bytes(result) as f64 / result.seconds.max(1e-9)
}

/// The periods in order of time. A sample describes the time since the one before.
#[must_use]
pub fn limits(samples: &[SampleResult]) -> Vec<LimitPeriod<'_>> {
    let mut limits: Vec<LimitPeriod<'_>> = Vec::new();
    let (mut from_s, mut lost) = (0.0, 0);
    for sample in samples.iter().filter(|sample| sample.time_s > 0.0) {
        let to_s = sample.time_s;
        let lost_before = std::mem::replace(&mut lost, sample.gap_bytes.iter().sum::<u64>());
        let by = match &sample.limited_by {
            LimitedBy::Source if lost > lost_before => LimitCause::Loss,
            by => LimitCause::By(by),
        };
        match limits.last_mut() {
            Some(last) if last.by == by => last.to_s = to_s,
            _ => limits.push(LimitPeriod { by, from_s, to_s }),
        }
        from_s = to_s;
    }
    limits
}

/// Everything that limited the recording, with the seconds for which it did, longest first.
#[must_use]
pub fn seconds_by<'a>(limits: &[LimitPeriod<'a>]) -> Vec<(LimitCause<'a>, f64)> {
    let mut all: Vec<(LimitCause<'a>, f64)> = Vec::new();
    for limit in limits {
        let seconds = limit.to_s - limit.from_s;
        match all.iter_mut().find(|(by, _)| *by == limit.by) {
            Some((_, sum)) => *sum += seconds,
            None => all.push((limit.by, seconds)),
        }
    }
    all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(told: &[(f64, &str)]) -> Vec<SampleResult> {
        let sample = |(time_s, by): &(f64, &str)| SampleResult {
            time_s: *time_s,
            buffer_fill: 0.0,
            offered_bytes: Vec::new(),
            durable_bytes: Vec::new(),
            gap_bytes: Vec::new(),
            protected_bytes: Vec::new(),
            member_bytes: Vec::new(),
            failed_members: Vec::new(),
            limited_by: (*by).to_owned().into(),
        };
        told.iter().map(sample).collect()
    }

    #[test]
    fn equal_neighbours_are_one_stretch_and_all_time_is_accounted_for() {
        let samples = samples(&[
            (0.0, "source"),
            (1.0, "source"),
            (2.0, "members"),
            (4.5, "members"),
            (5.0, "source"),
        ]);
        let limits = limits(&samples);
        let [source, members] = [&LimitedBy::Source, &LimitedBy::Members].map(LimitCause::By);
        let limit = |by, from_s, to_s| LimitPeriod { by, from_s, to_s };
        let expected = [
            limit(source, 0.0, 1.0),
            limit(members, 1.0, 4.5),
            limit(source, 4.5, 5.0),
        ];
        assert_eq!(limits, expected);
        assert_eq!(seconds_by(&limits), [(members, 3.5), (source, 1.5)]);
    }

    #[test]
    fn while_bytes_are_lost_it_is_never_said_that_all_was_taken() {
        let mut samples = samples(&[
            (1.0, "source"),
            (2.0, "source"),
            (3.0, "members"),
            (4.0, "source"),
        ]);
        for (sample, lost) in samples.iter_mut().zip([0, 5, 9, 9]) {
            sample.gap_bytes = vec![0, lost];
        }
        let limits = limits(&samples);
        let causes: Vec<&str> = limits.iter().map(|limit| limit.by.words()).collect();
        assert_eq!(causes, ["source", "loss", "members", "source"]);
    }

    #[test]
    fn a_recording_without_samples_was_held_by_nothing() {
        assert!(limits(&[]).is_empty() && seconds_by(&[]).is_empty());
    }
}
