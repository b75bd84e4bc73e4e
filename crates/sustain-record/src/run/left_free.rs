//! Free space that a store with parity has left when it is full, because a member is slower than
//! the others, or had more free space when the recording began: they were full while it was not,
//! and an append of a group needs members for the rest. It is pure.

use crate::recorder::{MemberStanding, MemberState, RecordingProgress};

/// A smaller part of a member is not worth a word.
const WORTH_PART: u64 = 20;
/// A member is slower than another one if it has less than this part of its rate.
const SLOWER_PART: f64 = 0.9;

/// What is left free, and how it would not be.
#[derive(Debug, PartialEq)]
pub(super) struct LeftFree<'a> {
    /// The members that have it.
    pub(super) members: Vec<&'a str>,
    /// The space on them that would have been filled beside others.
    pub(super) bytes: u64,
    /// Whether each of them is slower than another member. Otherwise one had more free space than
    /// the others when the recording began.
    pub(super) are_slower: bool,
    /// The rate of the sources up to which all members are filled evenly, as far as it is known.
    pub(super) evenly_up_to_bytes_per_s: Option<f64>,
    /// How many appends of parity a group has.
    pub(super) parities: usize,
}

/// What a store that is full has left because some of its members are slower. What is left because
/// they are larger was told when the store was created.
pub(super) fn left_free(standing: &RecordingProgress) -> Option<LeftFree<'_>> {
    // At its end all are closed. One that was left alone has nothing of the recording.
    let took_part =
        |member: &&MemberStanding| member.state != MemberState::Failed && member.written_bytes > 0;
    let members: Vec<&MemberStanding> = standing.members.iter().filter(took_part).collect();
    let parities = standing.parities.min(members.len().saturating_sub(1));
    if parities == 0 {
        return None;
    }
    let mut largest_first: Vec<u64> = members.iter().map(|one| one.slots_end_bytes).collect();
    largest_first.sort_unstable_by(|one, other| other.cmp(one));
    let most_bytes = largest_first.get(parities).copied()?;
    let usable_bytes = |member: &MemberStanding| member.slots_end_bytes.min(most_bytes);
    let unused = members.iter().filter_map(|member| {
        let too_large_by = member.slots_end_bytes - usable_bytes(member);
        let unused_bytes = member.free_bytes?.saturating_sub(too_large_by);
        let is_worth = unused_bytes > usable_bytes(member) / WORTH_PART;
        is_worth.then_some((*member, unused_bytes))
    });
    let (left, unused_bytes): (Vec<&MemberStanding>, Vec<u64>) = unused.unzip();
    let rates = members.iter().map(|member| member.rate_bytes_per_s);
    let fastest = rates.fold(0.0, f64::max);
    let is_slower = |member: &&MemberStanding| member.rate_bytes_per_s < SLOWER_PART * fastest;
    let are_slower = left.iter().all(is_slower);
    let all_bytes: u64 = members.iter().map(|member| usable_bytes(member)).sum();
    let data_bytes = all_bytes.saturating_sub(parities as u64 * most_bytes);
    let slowest_s = members
        .iter()
        .map(|member| usable_bytes(member) as f64 / member.rate_bytes_per_s)
        .fold(0.0, f64::max);
    let is_told = are_slower && slowest_s.is_finite();
    (!left.is_empty()).then(|| LeftFree {
        members: left.iter().map(|member| member.name.as_str()).collect(),
        parities,
        bytes: unused_bytes.iter().sum(),
        are_slower,
        evenly_up_to_bytes_per_s: is_told.then(|| data_bytes as f64 / slowest_s),
    })
}

#[cfg(test)]
mod tests {
    use sustain_disk::clock::Timestamp;

    use super::*;
    use crate::recorder::LimitedBy;

    /// Members of so many bytes, of which so many are free, with their rates.
    fn standing(parities: usize, members: &[(u64, u64, f64)]) -> RecordingProgress {
        let members = members.iter().enumerate();
        let members = members.map(|(index, (size, free, rate))| MemberStanding {
            name: format!("disk{index}"),
            bytes: 0,
            written_bytes: 1,
            state: MemberState::Closed,
            rate_bytes_per_s: *rate,
            free_bytes: Some(*free),
            slots_end_bytes: *size,
            lost_bytes: 0,
            error: None,
        });
        RecordingProgress {
            time_s: 1.0,
            streams: Vec::new(),
            members: members.collect(),
            parities,
            buffer_fill: 0.0,
            longest_write_ns: 0,
            is_longest_write_under_way: false,
            limited_by: LimitedBy::Source,
            others_bytes_per_s: None,
            marks: None,
            pins: None,
            recording: 1,
            begun_at: Timestamp(0),
            is_paused: false,
            flushes: 0,
            is_over: true,
        }
    }

    #[test]
    fn a_slower_member_is_named_with_the_rate_that_would_fill_it() {
        let fast = (1000, 0, 100.0);
        let store = standing(1, &[fast, fast, (1000, 600, 40.0), fast]);
        let left = LeftFree {
            members: vec!["disk2"],
            bytes: 600,
            are_slower: true,
            // All members take 40 bytes a second, of which a quarter is parity.
            evenly_up_to_bytes_per_s: Some(120.0),
            parities: 1,
        };
        assert_eq!(left_free(&store), Some(left));
        let store = standing(2, &[fast, fast, (1000, 600, 40.0), (1000, 1, 90.0)]);
        let found = left_free(&store).and_then(|left| left.evenly_up_to_bytes_per_s);
        assert_eq!(found, Some(80.0));
    }

    #[test]
    fn a_member_that_is_as_fast_is_not_called_slower() {
        let full = (1000, 0, 100.0);
        let store = standing(1, &[full, full, full, (1000, 600, 95.0)]);
        let left = LeftFree {
            members: vec!["disk3"],
            bytes: 600,
            are_slower: false,
            evenly_up_to_bytes_per_s: None,
            parities: 1,
        };
        assert_eq!(left_free(&store), Some(left));
    }

    #[test]
    fn what_larger_members_have_left_was_told_before() {
        let small = (1000, 0, 100.0);
        assert_eq!(left_free(&standing(1, &[small, (5000, 4000, 100.0)])), None);
        let store = standing(1, &[small, (5000, 4600, 10.0)]);
        let found = left_free(&store);
        assert_eq!(found.map(|left| left.bytes), Some(600));
    }

    #[test]
    fn without_parity_or_with_little_left_nothing_is_told() {
        let fast = (1000, 0, 100.0);
        assert_eq!(left_free(&standing(0, &[fast, (1000, 600, 40.0)])), None);
        assert_eq!(left_free(&standing(1, &[fast, (1000, 50, 40.0)])), None);
        assert_eq!(left_free(&standing(1, &[])), None);
    }
}
