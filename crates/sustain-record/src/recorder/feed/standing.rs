//! Computes the state of a recording that the board shows, from the recorder's own accounts.

use sustain_disk::clock::Timestamp;

use super::{RecordFeed, RecordSetup};
use crate::format::Superblock;
use crate::recorder::board::{
    LimitedBy, MarksStanding, MemberStanding, PinsStanding, RecordingProgress, StreamStanding,
};
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter};

/// The state before the first byte.
pub(super) fn first(setup: &RecordSetup) -> RecordingProgress {
    RecordingProgress {
        recording: setup.recording,
        begun_at: setup.start,
        time_s: 0.0,
        streams: setup
            .streams
            .iter()
            .filter(|stream| !stream.is_marks())
            .map(|stream| StreamStanding::of_name(&stream.name))
            .collect(),
        marks: setup
            .streams
            .iter()
            .find(|stream| stream.is_marks())
            .map(|stream| MarksStanding {
                stream: StreamStanding::of_name(&stream.name),
                ..MarksStanding::default()
            }),
        pins: setup.ring.then(|| {
            let members = setup.members.iter();
            let members = members.map(|member| (&member.superblock, member.next_slot_serial));
            pins_standing(&members.collect::<Vec<_>>())
        }),
        members: setup
            .members
            .iter()
            .map(|member| MemberStanding {
                name: member.name.clone(),
                bytes: 0,
                written_bytes: 0,
                state: MemberState::Active,
                rate_bytes_per_s: 0.0,
                free_bytes: None,
                slots_end_bytes: member.geometry.slots_end_bytes(),
                lost_bytes: 0,
                error: None,
            })
            .collect(),
        parities: setup.parity.map_or(0, |parity| parity.parities),
        buffer_fill: 0.0,
        longest_write_ns: 0,
        is_longest_write_under_way: false,
        limited_by: LimitedBy::Source,
        others_bytes_per_s: None,
        is_paused: false,
        flushes: 0,
        is_over: false,
    }
}

/// The state now.
pub(super) fn of<I: Inlet>(feed: &RecordFeed<I>, now: Timestamp) -> RecordingProgress {
    let streams = || feed.setup().streams.iter().enumerate();
    let of_sources = streams().filter(|(_, stream)| !stream.is_marks());
    let members = feed.members.iter().zip(&feed.errors).enumerate();
    let under_way_ns = feed.oldest_write_ns(now).unwrap_or(0);
    RecordingProgress {
        recording: feed.setup().recording,
        begun_at: feed.setup().start,
        time_s: now.since_s(feed.setup().start),
        streams: of_sources
            .map(|(index, stream)| stream_standing(feed, (index, &stream.name), now))
            .collect(),
        marks: streams()
            .find(|(_, stream)| stream.is_marks())
            .map(|(index, stream)| MarksStanding {
                made: feed.ledgers[index].frames(),
                settled: settled_frames(feed, index),
                stream: stream_standing(feed, (index, &stream.name), now),
            }),
        pins: feed.setup().ring.then(|| {
            let is_left = |member: &&MemberWriter| {
                member.renews_superblock() || member.state == MemberState::Closed
            };
            let members = feed.members.iter().filter(is_left);
            let members = members.map(|member| (&member.setup.superblock, member.slots_begun()));
            PinsStanding {
                leave_nothing: feed.is_left_nothing(),
                ends_in_ns: feed.ends_of_pins_in_ns(now),
                ..pins_standing(&members.collect::<Vec<_>>())
            }
        }),
        members: members
            .map(|(queue, (member, error))| MemberStanding {
                name: member.setup.name.clone(),
                bytes: member.written_bytes,
                written_bytes: feed.completed_bytes[queue],
                state: shown_state(member),
                rate_bytes_per_s: member.rate.bytes_per_s(),
                free_bytes: member.free_bytes(),
                slots_end_bytes: member.setup.geometry.slots_end_bytes(),
                lost_bytes: feed.lost_with(queue, now),
                error: error.clone(),
            })
            .collect(),
        parities: feed.setup.parity.map_or(0, |parity| parity.parities),
        buffer_fill: feed.buffer_fill(),
        longest_write_ns: feed.longest_returned_ns.max(under_way_ns),
        is_longest_write_under_way: under_way_ns > feed.longest_returned_ns,
        limited_by: limited_by(feed, now),
        others_bytes_per_s: None,
        is_paused: false,
        flushes: feed.flushes(),
        is_over: false,
    }
}

fn stream_standing<I: Inlet>(
    feed: &RecordFeed<I>,
    (index, name): (usize, &str),
    now: Timestamp,
) -> StreamStanding {
    StreamStanding {
        name: name.to_owned(),
        offered_bytes: feed.offered_bytes(index),
        arrived_bytes: feed.arrived_bytes(index),
        recorded_bytes: feed.ledgers[index].recorded_bytes(),
        durable_bytes: durable_bytes(feed, index, now),
        settled_bytes: feed.watermark_bytes(index),
        protected_bytes: feed.protected(index).map(|(bytes, _)| bytes),
        protected_settled_bytes: feed.protected(index).map(|(_, settled)| settled),
        gap_bytes: feed.gap_bytes(index),
        frames: feed.ledgers[index].frames(),
    }
}

/// The pins that all members have, each member given with the slots that were begun on it.
fn pins_standing(members: &[(&Superblock, u64)]) -> PinsStanding {
    let mut standing = PinsStanding::default();
    for (superblock, slots_begun) in members {
        let geometry = &superblock.geometry;
        let free_slots = superblock.course().free_slots(*slots_begun);
        let slot_bytes = u64::from(geometry.slot_bytes);
        standing.kept_bytes += (geometry.slot_count - free_slots) * slot_bytes;
        standing.ring_bytes += geometry.slot_count * slot_bytes;
    }
    let is_on_all = |number: &u32| {
        let mut members = members.iter();
        members.all(|(superblock, _)| set_pins(superblock).any(|one| one == *number))
    };
    let first = members.first().into_iter();
    let numbers = first.flat_map(|(superblock, _)| set_pins(superblock));
    standing.numbers = numbers.filter(is_on_all).collect();
    standing.numbers.sort_unstable();
    standing
}

fn set_pins(superblock: &Superblock) -> impl Iterator<Item = u32> {
    let set = superblock.pins.iter().filter(|pin| pin.is_set());
    set.map(|pin| pin.number)
}

/// Frames that begin below the watermark.
fn settled_frames<I: Inlet>(feed: &RecordFeed<I>, stream: usize) -> u64 {
    match feed.watermark_bytes(stream) {
        0 => 0,
        _ => feed.ledgers[stream].settled_frames(),
    }
}

/// What was durable on a file that is gone is so no more.
fn durable_bytes<I: Inlet>(feed: &RecordFeed<I>, stream: usize, now: Timestamp) -> u64 {
    let lost_bytes = feed.lost_of_stream(stream, now);
    feed.durable_bytes(stream).saturating_sub(lost_bytes)
}

/// A member is full when not even a small append fits any more, and slow while it does not answer.
fn shown_state(member: &MemberWriter) -> MemberState {
    let smallest = crate::format::append_bytes_for(1, 0);
    if member.state == MemberState::Full && member.setup.is_left_alone {
        // It may have room, and gets nothing all the same.
        MemberState::Closed
    } else if member.state == MemberState::Active && !member.has_room_for_data(smallest) {
        MemberState::Full
    } else if member.works() && member.is_slow {
        MemberState::Slow
    } else {
        member.state
    }
}

/// A member is named as the limit if it is slower than the others by this factor.
const MUCH_SLOWER: f64 = 4.0;

/// The pace of a member that works, as far as it is known.
#[derive(Debug, Clone, Copy)]
struct MemberPace<'a> {
    name: &'a str,
    /// Whether it has had requests for long and completed none.
    stands_still: bool,
    /// The rate of its own completions; `None` before the first.
    rate_bytes_per_s: Option<f64>,
}

fn limited_by<I: Inlet>(feed: &RecordFeed<I>, now: Timestamp) -> LimitedBy {
    if !feed.has_backlog(now) && !feed.was_buffer_short(now) {
        return LimitedBy::Source;
    }
    if feed.setup().ring && feed.is_left_nothing() {
        return LimitedBy::Pins;
    }
    let members = feed.members.iter().enumerate();
    let working = members.filter(|(_, member)| member.works());
    let paces = working.map(|(queue, member)| MemberPace {
        name: &member.setup.name,
        stands_still: member.is_slow || feed.stands_still(queue, now),
        rate_bytes_per_s: Some(member)
            .filter(|member| member.state == MemberState::Active)
            .and_then(|member| member.rate.known_bytes_per_s()),
    });
    let paces: Vec<MemberPace<'_>> = paces.collect();
    behind(&paces).map_or(LimitedBy::Members, |name| {
        LimitedBy::Member(name.to_owned())
    })
}

/// The one member that is far behind the others, if there are others. Where one stands still, rates
/// say nothing: its own is that of the time before, and those of the others change with what they
/// are given.
fn behind<'a>(paces: &[MemberPace<'a>]) -> Option<&'a str> {
    if paces.len() < 2 {
        return None;
    }
    let mut still = paces.iter().filter(|pace| pace.stands_still);
    match (still.next(), still.next()) {
        (Some(only), None) => return Some(only.name),
        (Some(_), Some(_)) => return None,
        (None, _) => {}
    }
    let rates = || {
        let known = paces.iter();
        known.filter_map(|pace| Some((pace.rate_bytes_per_s?, pace.name)))
    };
    let fastest = rates().map(|(rate, _)| rate).fold(0.0, f64::max);
    let slowest = rates().min_by(|(one, _), (other, _)| one.total_cmp(other));
    let (rate, name) = slowest?;
    (rate * MUCH_SLOWER < fastest).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(name: &str, rate_mb_per_s: impl Into<Option<f64>>) -> MemberPace<'_> {
        MemberPace {
            name,
            stands_still: false,
            rate_bytes_per_s: rate_mb_per_s.into().map(|rate| rate * 1e6),
        }
    }

    fn still(pace: MemberPace<'_>) -> MemberPace<'_> {
        MemberPace {
            stands_still: true,
            ..pace
        }
    }

    #[test]
    fn the_member_that_stands_still_is_named_whatever_its_rate_was() {
        let stopped = still(pace("stopped", 2000.0));
        assert_eq!(behind(&[pace("well", 300.0), stopped]), Some("stopped"));
        // It stopped before its first completion.
        let stopped = still(pace("stopped", None));
        assert_eq!(behind(&[stopped, pace("well", 300.0)]), Some("stopped"));
    }

    #[test]
    fn of_several_that_stand_still_none_is_named() {
        let (one, other) = (still(pace("one", 100.0)), still(pace("other", 900.0)));
        assert_eq!(behind(&[one, pace("well", 300.0), other]), None);
    }

    #[test]
    fn while_all_move_the_slowest_is_named_if_it_is_far_behind() {
        assert_eq!(behind(&[pace("one", 100.0), pace("other", 390.0)]), None);
        let apart = [pace("one", 100.0), pace("other", 410.0)];
        assert_eq!(behind(&apart), Some("one"));
    }

    #[test]
    fn a_member_without_others_is_not_behind_them() {
        assert_eq!(behind(&[still(pace("only", 100.0))]), None);
    }

    #[test]
    fn a_member_without_a_completion_makes_no_other_one_slow() {
        assert_eq!(behind(&[pace("new", None), pace("well", 100.0)]), None);
    }
}
