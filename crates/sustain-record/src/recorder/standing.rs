//! Computes the state of a recording that the board shows, from the recorder's own accounts.

use sustain_disk::clock::Timestamp;

use super::board::{LimitedBy, MemberStanding, Standing, StreamStanding};
use super::feed::{RecordFeed, RecordSetup};
use super::inlet::Inlet;
use super::member::{Member, MemberState};

/// The state before the first byte.
pub(super) fn first(setup: &RecordSetup) -> Standing {
    Standing {
        time_s: 0.0,
        streams: setup
            .streams
            .iter()
            .map(|stream| StreamStanding {
                name: stream.name.clone(),
                ..StreamStanding::default()
            })
            .collect(),
        members: setup
            .members
            .iter()
            .map(|member| MemberStanding {
                name: member.name.clone(),
                bytes: 0,
                state: MemberState::Active,
                rate_bytes_per_s: 0.0,
                free_bytes: None,
                slots_end_bytes: member.geometry.slots_end_bytes(),
                lost_bytes: 0,
                error: None,
            })
            .collect(),
        buffer_fill: 0.0,
        longest_write_ns: 0,
        limited_by: LimitedBy::Source,
        others_bytes_per_s: None,
        flushes: 0,
        is_over: false,
    }
}

/// The state now.
pub(super) fn of<I: Inlet>(feed: &RecordFeed<I>, now: Timestamp) -> Standing {
    let streams = feed.setup().streams.iter().enumerate();
    let members = feed.members.iter().zip(&feed.errors);
    Standing {
        time_s: now.since_s(feed.setup().start),
        streams: streams
            .map(|(index, stream)| StreamStanding {
                name: stream.name.clone(),
                offered_bytes: feed.offered_bytes(index),
                recorded_bytes: feed.ledgers[index].recorded_bytes(),
                durable_bytes: durable_bytes(feed, index),
                settled_bytes: feed.watermark_bytes(index),
                gap_bytes: feed.gap_bytes(index),
                frames: feed.ledgers[index].frames(),
            })
            .collect(),
        members: members
            .map(|(member, error)| MemberStanding {
                name: member.setup.name.clone(),
                bytes: member.written_bytes,
                state: shown_state(member),
                rate_bytes_per_s: member.rate.bytes_per_s(),
                free_bytes: member.free_bytes(),
                slots_end_bytes: member.setup.geometry.slots_end_bytes(),
                lost_bytes: member.lost_bytes,
                error: error.clone(),
            })
            .collect(),
        buffer_fill: feed.buffer_fill(),
        longest_write_ns: feed
            .written_latency
            .iter()
            .map(|latency| latency.max().latency_ns)
            .max()
            .unwrap_or(0),
        limited_by: limited_by(feed, now),
        others_bytes_per_s: None,
        flushes: feed.flushes(),
        is_over: false,
    }
}

/// What was durable on a file that is gone is so no more.
fn durable_bytes<I: Inlet>(feed: &RecordFeed<I>, stream: usize) -> u64 {
    let members = feed.members.iter();
    let lost_bytes: u64 = members.map(|member| member.lost_stream_bytes[stream]).sum();
    feed.durable_bytes(stream).saturating_sub(lost_bytes)
}

/// A member is full when not even a small append fits any more, and slow while it does not answer.
fn shown_state(member: &Member) -> MemberState {
    let smallest = crate::format::append_bytes_for(1, 0);
    if member.state == MemberState::Active && !member.has_room_for_data(smallest) {
        MemberState::Full
    } else if member.works() && member.is_slow {
        MemberState::Slow
    } else {
        member.state
    }
}

/// A member is named as the limit if it is slower than the others by this factor.
const MUCH_SLOWER: f64 = 4.0;

fn limited_by<I: Inlet>(feed: &RecordFeed<I>, now: Timestamp) -> LimitedBy {
    if !feed.has_backlog(now) {
        return LimitedBy::Source;
    }
    let mut members = feed.members.iter();
    if let Some(member) = members.find(|member| member.works() && member.is_slow) {
        return LimitedBy::Member(member.setup.name.clone());
    }
    let rates = || {
        feed.members
            .iter()
            .filter(|member| member.state == MemberState::Active)
            .map(|member| (member.rate.bytes_per_s(), member))
    };
    let fastest = rates().map(|(rate, _)| rate).fold(0.0, f64::max);
    let slowest = rates().min_by(|(one, _), (other, _)| one.total_cmp(other));
    match slowest {
        Some((rate, member)) if rate * MUCH_SLOWER < fastest => {
            LimitedBy::Member(member.setup.name.clone())
        }
        _ => LimitedBy::Members,
    }
}
