//! The rates of a recording over the last second, from its state as it is looked at again and
//! again. It is pure: a state has its own time.

use std::collections::VecDeque;

use sustain_document::control::{MemberRate, RatesNow, StreamRate};

use crate::recorder::{RecordingProgress, StreamStanding};

/// The time over which rates are taken.
const SPAN_S: f64 = 1.0;

/// The states of the last second.
#[derive(Debug, Default)]
pub(super) struct RateHistory {
    states: VecDeque<RecordingProgress>,
}

impl RateHistory {
    /// Takes a state. One that was seen before tells nothing new.
    pub(super) fn see(&mut self, standing: RecordingProgress) {
        let is_known = |last: &RecordingProgress| {
            last.recording == standing.recording && last.time_s >= standing.time_s
        };
        if self.states.back().is_some_and(is_known) {
            return;
        }
        let is_of_it = |last: &RecordingProgress| last.recording == standing.recording;
        if !self.states.back().is_none_or(is_of_it) {
            self.states.clear();
        }
        let now_s = standing.time_s;
        self.states.push_back(standing);
        // One that is a second old, or a little more, is where the second begins.
        while self
            .states
            .get(1)
            .is_some_and(|one| now_s - one.time_s >= SPAN_S)
        {
            self.states.pop_front();
        }
    }

    /// The rates up to the last state.
    pub(super) fn rates(&self) -> Option<RatesNow> {
        let (first, last) = (self.states.front()?, self.states.back()?);
        let span_s = last.time_s - first.time_s;
        let per_s = |now: u64, before: u64| match span_s > 0.0 {
            true => now.saturating_sub(before) as f64 / span_s,
            false => 0.0,
        };
        let streams = first.streams.iter().zip(&last.streams);
        let members = first.members.iter().zip(&last.members);
        Some(RatesNow {
            time_s: last.time_s,
            span_s,
            streams: streams
                .map(|(before, now)| StreamRate {
                    name: now.name.clone(),
                    in_bytes_per_s: per_s(now.arrived_bytes, before.arrived_bytes),
                    out_bytes_per_s: per_s(now.recorded_bytes, before.recorded_bytes),
                    lost_bytes_per_s: per_s(now.gap_bytes, before.gap_bytes),
                    backlog_bytes: backlog_bytes(now),
                })
                .collect(),
            members: members
                .map(|(before, now)| MemberRate {
                    name: now.name.clone(),
                    bytes_per_s: per_s(now.bytes, before.bytes),
                })
                .collect(),
            buffer_fill: last.buffer_fill,
            limited_by: last.limited_by.clone(),
        })
    }
}

fn backlog_bytes(stream: &StreamStanding) -> u64 {
    let gone_bytes = stream.recorded_bytes + stream.gap_bytes;
    stream.offered_bytes.saturating_sub(gone_bytes)
}

#[cfg(test)]
mod tests {
    use sustain_disk::clock::Timestamp;

    use super::*;
    use crate::recorder::{LimitedBy, MemberStanding, MemberState};

    fn standing(time_s: f64, offered_bytes: u64, recorded_bytes: u64) -> RecordingProgress {
        RecordingProgress {
            time_s,
            streams: vec![StreamStanding {
                name: "main".to_owned(),
                offered_bytes,
                arrived_bytes: offered_bytes,
                recorded_bytes,
                gap_bytes: 100,
                ..StreamStanding::default()
            }],
            members: vec![MemberStanding {
                name: "disk".to_owned(),
                bytes: recorded_bytes,
                written_bytes: recorded_bytes,
                state: MemberState::Active,
                rate_bytes_per_s: 0.0,
                free_bytes: None,
                slots_end_bytes: 0,
                lost_bytes: 0,
                error: None,
            }],
            marks: None,
            pins: None,
            parities: 0,
            buffer_fill: 0.5,
            longest_write_ns: 0,
            is_longest_write_under_way: false,
            limited_by: LimitedBy::Members,
            others_bytes_per_s: None,
            recording: 1,
            begun_at: Timestamp(0),
            is_paused: false,
            flushes: 0,
            is_over: false,
        }
    }

    #[test]
    fn rates_are_those_of_the_last_second() {
        let mut history = RateHistory::default();
        assert_eq!(history.rates(), None);
        history.see(standing(0.0, 100, 0));
        let first = history.rates().unwrap();
        assert_eq!((first.span_s, first.streams[0].in_bytes_per_s), (0.0, 0.0));
        for step in 1..=20 {
            // It goes ten times as fast from 2 s on.
            let bytes = if step <= 8 { step * 25 } else { step * 250 };
            history.see(standing(step as f64 / 4.0, 100 + bytes, bytes));
        }
        // A state that is told twice changes nothing.
        history.see(standing(5.0, 1 << 40, 1 << 40));
        let rates = history.rates().unwrap();
        assert_eq!((rates.time_s, rates.span_s), (5.0, 1.0));
        let stream = &rates.streams[0];
        assert_eq!(stream.in_bytes_per_s, 1000.0);
        assert_eq!((stream.out_bytes_per_s, stream.backlog_bytes), (1000.0, 0));
        assert_eq!(stream.lost_bytes_per_s, 0.0);
        assert_eq!(rates.members[0].bytes_per_s, 1000.0);
        assert_eq!(history.states.len(), 5, "no more than a second is kept");
    }
}
