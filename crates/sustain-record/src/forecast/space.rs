//! Estimates how fast a recording uses up the free space on its members, from which follows when
//! its store will be full. It has no side effects.
//!
//! Space is not payload: an append takes whole blocks and one more for its descriptor, and the rest
//! of a slot is lost when the next one is begun. A slow stream takes 16 KiB for each kB.

use crate::recorder::{MemberState, RecordingProgress};

/// After this time a reading counts for a third. It is long enough to even out single appends and
/// slots, and short enough to follow a source that changes.
const FADES_IN_S: f64 = 10.0;
/// Readings that follow each other faster than this tell no more.
const LOOK_EVERY_S: f64 = 1.0;

/// The space used up lately, and the payload for which it was used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpaceUse {
    before: Option<Look>,
    seconds: f64,
    /// By member.
    used_bytes: Vec<f64>,
    payload_bytes: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Look {
    time_s: f64,
    /// By member.
    free_bytes: Vec<u64>,
    payload_bytes: u64,
}

impl SpaceUse {
    /// Takes this moment into account.
    pub fn see(&mut self, standing: &RecordingProgress) {
        // A ring is never full, and at its very beginning a recording does not report its free
        // space. A member that has failed keeps its free space, which so is not taken for used.
        let members = || standing.members.iter();
        let free_bytes: Option<Vec<u64>> = members().map(|member| member.free_bytes).collect();
        let Some(free_bytes) = free_bytes else {
            return;
        };
        let look = Look {
            time_s: standing.time_s,
            free_bytes,
            payload_bytes: members().map(|member| member.bytes).sum(),
        };
        let before = self.before.get_or_insert_with(|| look.clone());
        let passed_s = look.time_s - before.time_s;
        if passed_s < LOOK_EVERY_S {
            return;
        }
        let kept = (-passed_s / FADES_IN_S).exp();
        let payload_bytes = look.payload_bytes.saturating_sub(before.payload_bytes);
        self.seconds = self.seconds * kept + passed_s;
        self.used_bytes.resize(look.free_bytes.len(), 0.0);
        let free_bytes = before.free_bytes.iter().zip(&look.free_bytes);
        for (used_bytes, (before, now)) in self.used_bytes.iter_mut().zip(free_bytes) {
            *used_bytes = *used_bytes * kept + before.saturating_sub(*now) as f64;
        }
        self.payload_bytes = self.payload_bytes * kept + payload_bytes as f64;
        self.before = Some(look);
    }

    /// The space used up in a second; 0 before anything is known.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.all_used_bytes() / self.seconds
        } else {
            0.0
        }
    }

    /// The time after which too few members have space for data and its parity, if each is filled
    /// as fast as lately: one that is slower than the others may then have much left. None where
    /// that is not known, or a member stands still.
    #[must_use]
    pub fn too_few_in_s(&self, standing: &RecordingProgress) -> Option<f64> {
        let members = standing.members.iter().zip(&self.used_bytes);
        let times_s = members.filter_map(|(member, used_bytes)| match member.state {
            MemberState::Active => {
                let free_bytes = member.free_bytes? as f64;
                Some(free_bytes * self.seconds / used_bytes)
            }
            MemberState::Full => Some(0.0),
            _ => None,
        });
        let mut times_s: Vec<f64> = times_s.collect();
        times_s.sort_by(f64::total_cmp);
        let last = times_s.len().checked_sub(1 + standing.parities_now())?;
        Some(times_s[last]).filter(|in_s| in_s.is_finite())
    }

    /// The space that a byte of payload takes, at least 1.
    #[must_use]
    pub fn per_payload_byte(&self) -> f64 {
        // Space is taken before the payload is written, so that little payload tells nothing.
        if self.payload_bytes > 0.0 {
            (self.all_used_bytes() / self.payload_bytes).max(1.0)
        } else {
            1.0
        }
    }

    fn all_used_bytes(&self) -> f64 {
        self.used_bytes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{LimitedBy, MemberStanding};

    fn standing(time_s: f64, members: &[(u64, Option<u64>)]) -> RecordingProgress {
        let member = |(bytes, free_bytes): &(u64, Option<u64>)| MemberStanding {
            name: "disk".to_owned(),
            bytes: *bytes,
            written_bytes: *bytes,
            state: MemberState::Active,
            rate_bytes_per_s: 0.0,
            free_bytes: *free_bytes,
            slots_end_bytes: 1 << 30,
            lost_bytes: 0,
            error: None,
        };
        RecordingProgress {
            time_s,
            streams: Vec::new(),
            members: members.iter().map(member).collect(),
            parities: 0,
            buffer_fill: 0.0,
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

    /// 500 bytes twice a second, each in two blocks.
    fn slow(seconds: u32) -> SpaceUse {
        let mut used = SpaceUse::default();
        for half in 0..=u64::from(seconds) * 2 {
            let free_bytes = (1 << 20) - half * 8192;
            used.see(&standing(
                half as f64 / 2.0,
                &[(half * 500, Some(free_bytes))],
            ));
        }
        used
    }

    #[test]
    fn a_slow_stream_uses_blocks_and_not_bytes() {
        for seconds in [1, 5, 60] {
            let used = slow(seconds);
            assert!((used.bytes_per_s() / 16_384.0 - 1.0).abs() < 1e-9);
            assert!((used.per_payload_byte() / 16.384 - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn slots_that_are_begun_now_and_then_are_evened_out() {
        // Of each slot of 8 MB, begun every four seconds, the appends fill half.
        let (mut used, mut rates) = (SpaceUse::default(), Vec::new());
        for second in 0..60_u64 {
            let in_slots = (second / 4) * 8_000_000 + (second % 4) * 1_000_000;
            let free_bytes = Some(1_000_000_000 - in_slots);
            used.see(&standing(
                second as f64,
                &[(second * 1_000_000, free_bytes)],
            ));
            rates.push(used.bytes_per_s());
        }
        let is_near = |rate: &f64| (1.4e6..2.6e6).contains(rate);
        assert!(rates[20..].iter().all(is_near), "{rates:?}");
    }

    #[test]
    fn all_members_count_and_one_that_stands_still_counts_for_nothing() {
        let mut used = SpaceUse::default();
        let at = |second: u64| {
            let free_bytes = Some(1_000_000 - second * 1000);
            let working = (second * 900, free_bytes);
            standing(second as f64, &[working, (5, Some(70_000)), working])
        };
        (0..10).for_each(|second| used.see(&at(second)));
        assert!((used.bytes_per_s() / 2000.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn with_parity_a_store_is_full_while_a_slow_member_has_space_left() {
        let mut used = SpaceUse::default();
        let at = |second: u64, parities: usize| {
            let fast = (second * 90, Some(10_000 - second * 100));
            let slow = (second * 30, Some(10_000 - second * 40));
            RecordingProgress {
                parities,
                ..standing(second as f64, &[fast, slow, fast, fast])
            }
        };
        (0..=10).for_each(|second| used.see(&at(second, 0)));
        let in_s = |parities| used.too_few_in_s(&at(10, parities)).unwrap_or(0.0);
        assert!((in_s(0) - 9_600.0 / 40.0).abs() < 1e-6);
        assert!((in_s(1) - 90.0).abs() < 1e-6);
        assert!((in_s(2) - 90.0).abs() < 1e-6);
        // One that is full already, and one to which nothing is written.
        let mut now = at(10, 1);
        now.members[0].state = MemberState::Full;
        assert!(
            used.too_few_in_s(&now)
                .is_some_and(|in_s| (in_s - 90.0).abs() < 1e-6)
        );
        now.members[2].state = MemberState::Full;
        now.members[3].state = MemberState::Full;
        assert_eq!(used.too_few_in_s(&now), Some(0.0));
        let idle = SpaceUse::default();
        assert_eq!(idle.too_few_in_s(&at(10, 1)), None);
    }

    #[test]
    fn it_follows_a_source_that_becomes_faster() {
        let mut used = slow(60);
        let Some(before) = used.before.clone() else {
            panic!("60 s were seen");
        };
        for second in 1..=60_u64 {
            let free_bytes = (1 << 40) - second * 1_000_000;
            let payload_bytes = before.payload_bytes + second * 990_000;
            let time_s = before.time_s + second as f64;
            used.see(&standing(time_s, &[(payload_bytes, Some(free_bytes))]));
        }
        assert!((used.bytes_per_s() / 1e6 - 1.0).abs() < 0.01, "{used:?}");
    }

    #[test]
    fn of_a_ring_and_before_the_first_word_nothing_is_known() {
        let mut used = SpaceUse::default();
        for second in 0..5 {
            used.see(&standing(f64::from(second), &[(7, None), (8, Some(9))]));
        }
        assert_eq!(used, SpaceUse::default());
        assert_eq!((used.bytes_per_s(), used.per_payload_byte()), (0.0, 1.0));
    }
}
