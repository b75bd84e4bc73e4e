//! Decides which part of a recording can be read as one: what was durable at one time if the
//! recording goes on, and what a power cut has left of the oldest data if it is a ring.

mod live;
mod lost;
mod overwriting;
mod pinned;
mod reach;
mod readable_start;
mod stretch;
mod whole;

pub use super::kept::{CutFrame, FoundOfPin, KeptByPin};
pub use live::{LivePin, LiveRecordings};
pub use pinned::{readable_pin, readable_pins};
pub use stretch::{KeptStretch, pinned_time};

use sustain_disk::clock::Clock;
use sustain_document::setting::DURABLE;
use sustain_targets::Stop;

use crate::error::RecordError;
use crate::member_io::report_long_wait;
use crate::opening::{Recording, StreamExtent};
use crate::reading::checkable::Checkable;
use crate::store::Store;

/// The pause between two of the first looks at a recording that goes on. A member is flushed when
/// its oldest append is half a second old by default, and the next append tells of it.
const PAUSE_NS: u64 = 250_000_000;
/// Looks that are so near to each other. Later ones are for a recording that is flushed less often,
/// as `--durable` says.
const NEAR_LOOKS: u32 = 8;
const LONG_PAUSE_NS: u64 = 1_000_000_000;
/// A pause is made in such steps, between which the user is heeded.
const STEP_NS: u64 = 50_000_000;
/// The most looks, after a minute. Flushes that are farther apart are not waited for.
const LOOKS_MAX: u32 = NEAR_LOOKS + 58;
/// From this look on it is told what is waited for.
const REPORTED_LOOK: u32 = NEAR_LOOKS + 3;

/// Returns the recordings of a store as they can be read from now on.
///
/// Members are opened one after the other, so what they say of a recording that goes on is of
/// different times. Such a recording is looked at again: below what one look calls durable, the
/// next one knows every append. It can be read up to there. What was handed out when the first look
/// came may have been durable already, which only later appends tell: they are looked for as long
/// as the recording goes on, and for a minute at most.
///
/// What power cuts have left of a ring is left out, as by [`behind_cuts`], which calls `observer`.
///
/// # Errors
/// [`RecordError::Interrupted`] if `stop` says so while the store is looked at again; otherwise if
/// the members cannot be driven.
pub fn readable(
    store: Checkable<'_>,
    stop: &Stop,
    observer: &mut dyn FnMut(u64),
) -> Result<Vec<Recording>, RecordError> {
    let recordings = at_one_time(store, stop)?;
    let store = Checkable {
        recordings: &recordings,
        ..store
    };
    behind_cuts(store, observer)
}

/// Returns the recordings of a store with their readable ranges behind what power cuts have left
/// in a ring: damaged appends of the lap before that were being overwritten. Some slots of each
/// member have to be read for that: `observer` is called with the bytes of each.
///
/// # Errors
/// If the members cannot be driven.
pub fn behind_cuts(
    store: Checkable<'_>,
    observer: &mut dyn FnMut(u64),
) -> Result<Vec<Recording>, RecordError> {
    let mut recordings = store.recordings.to_vec();
    let traces = overwriting::traces(store, observer)?;
    for trace in traces {
        trace.apply(&mut recordings);
    }
    Ok(recordings)
}

fn at_one_time(store: Checkable<'_>, stop: &Stop) -> Result<Vec<Recording>, RecordError> {
    let mut look = || {
        if stop.reason().is_some() {
            return Err(RecordError::Interrupted(
                "interrupted while the recording goes on, before anything was read".to_owned(),
            ));
        }
        let mut anew = Store::open_anew(store.members, store.machines, store.clock)?;
        anew.recordings()
    };
    let pause = |count: u32| {
        let is_near = count < NEAR_LOOKS;
        let pause_ns = if is_near { PAUSE_NS } else { LONG_PAUSE_NS };
        if count == REPORTED_LOOK {
            report_long_wait(&format!(
                "the recording goes on, and what it had when it was opened has not been flushed \
                 for 4 s, as with a long {DURABLE}: it is waited for up to a minute, and what is \
                 durable by then is read"
            ));
        }
        rest(store.clock, pause_ns, stop);
    };
    looked_on(store.recordings, &mut look, &pause)
}

/// Waits so long, or until `stop` says that nobody waits for the result any more.
fn rest(clock: &Clock, pause_ns: u64, stop: &Stop) {
    let end = clock.now() + pause_ns;
    while clock.now() < end && stop.reason().is_none() {
        clock.wait_until(end.min(clock.now() + STEP_NS));
    }
}

/// Looks at recordings again until those that go on tell that all was durable which was handed out
/// when they were first looked at, or that has not shown in time.
fn looked_on(
    first: &[Recording],
    look: &mut dyn FnMut() -> Result<Vec<Recording>, RecordError>,
    pause: &dyn Fn(u32),
) -> Result<Vec<Recording>, RecordError> {
    let (mut readable, mut before) = (first.to_vec(), first.to_vec());
    if let Some(ended) = ended_while_looked_at(first)
        && let Ok(now) = look()
        && let Some(now) = now.into_iter().find(|now| now.id == first[ended].id)
    {
        readable[ended] = now;
    }
    let mut is_enough = first.iter().all(|recording| !recording.open_end);
    for count in 0..LOOKS_MAX {
        if is_enough {
            break;
        }
        if count > 0 {
            pause(count);
        }
        is_enough = true;
        let now = look()?;
        for (index, first) in first.iter().enumerate().filter(|(_, one)| one.open_end) {
            let Some(now) = now.iter().find(|now| now.id == first.id) else {
                continue;
            };
            let last = std::mem::replace(&mut before[index], now.clone());
            let has_moved = !is_same_end(&last, now);
            if has_moved {
                readable[index] = going_on(&last, now);
            } else if count > 0 {
                // It has come to rest.
                readable[index] = now.clone();
            }
            is_enough &= !has_moved || now.open_end && knows_all(&readable[index], first);
        }
    }
    Ok(readable)
}

/// The newest recording that has ended, if one member has an end mark of it and another one has
/// none. Members are looked at one after the other, so that one may have got its last appends and
/// its end mark since.
fn ended_while_looked_at(recordings: &[Recording]) -> Option<usize> {
    let newest = recordings.iter().position(|one| !one.open_end)?;
    let has_end = |extent: &Option<StreamExtent>| {
        extent.is_some_and(|extent| extent.has_end || extent.end_is_overwritten)
    };
    let mut members = recordings[newest].per_member.iter();
    (!members.all(has_end)).then_some(newest)
}

/// Whether a recording can be read as far as it had come when it was first looked at.
fn knows_all(readable: &Recording, first: &Recording) -> bool {
    let mut streams = readable.streams.iter().zip(&first.streams);
    streams.all(|(readable, first)| readable.offered_bytes >= first.offered_bytes)
}

fn is_same_end(before: &Recording, now: &Recording) -> bool {
    let mut members = before.per_member.iter().zip(&now.per_member);
    let last = |extent: &Option<crate::opening::StreamExtent>| extent.map(|extent| extent.last);
    members.all(|(before, now)| last(before) == last(now))
}

/// A recording that has gone on since it was found before, up to what was durable then.
fn going_on(before: &Recording, now: &Recording) -> Recording {
    let mut recording = now.clone();
    recording.under_way = now.open_end;
    if recording.under_way {
        for (number, stream) in recording.streams.iter_mut().enumerate() {
            let settled_bytes = before
                .streams
                .get(number)
                .map_or(0, |before| before.settled_bytes);
            stream.offered_bytes = settled_bytes.max(stream.readable_from_bytes);
        }
    }
    recording
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use uuid::Uuid;

    use super::*;
    use crate::format::AppendPlace;
    use crate::opening::EndDurability;
    use crate::opening::StreamSummary;

    /// A recording of one stream that has come so far.
    fn seen(offered_bytes: u64, settled_bytes: u64) -> Recording {
        let place = |slot_serial| AppendPlace {
            slot_serial,
            slot_offset_bytes: 0,
        };
        Recording {
            number: 1,
            id: Uuid::from_u128(1),
            started_ns: Some(0),
            ring: false,
            streams: vec![StreamSummary {
                name: "main".to_owned(),
                framing: None,
                offered_bytes,
                settled_bytes,
                gap_bytes: 0,
                given_up_bytes: 0,
                recorded_bytes: offered_bytes,
                frames: 0,
                hole_bytes: 0,
                absent_bytes: 0,
                first_time_ns: None,
                last_time_ns: 0,
                readable_from_bytes: 0,
                readable_from_frame: 0,
                readable_from_gap_bytes: 0,
                drift: None,
            }],
            end: None,
            open_end: true,
            readable_from_sequence: None,
            per_member: vec![Some(StreamExtent {
                lost_first: None,
                first: place(0),
                last: place(offered_bytes),
                last_bytes: 0,
                is_overwritten: false,
                kept_from_slot: 0,
                start: Some(place(0)),
                has_end: false,
                start_was_whole: false,
                end_is_overwritten: false,
                end_durability: EndDurability::Assumed,
                lost_end: None,
                flushed_sequence: 0,
                lost_last: None,
                lost_before: None,
                unknown_mark: None,
                lost_recording: None,
            })],
            under_way: false,
            is_gone_from_a_member: false,
            pin: None,
            parities: None,
            copies_of: None,
            absent: Vec::new(),
            lacks_end_of_pin: false,
            kept_from_ns: None,
        }
    }

    /// How far it can be read after these looks, the last of which repeats, whether it is under way
    /// then, and how many looks and pauses that took.
    fn readable_after(looks: &[(u64, u64)]) -> (u64, bool, usize, usize) {
        let found: Vec<Recording> = looks.iter().map(|(at, told)| seen(*at, *told)).collect();
        let (mut next, pauses) = (0, Cell::new(0));
        let mut look = || {
            next += 1;
            let last = found.len() - 1;
            Ok(vec![found[next.min(last)].clone()])
        };
        let pause = |_| pauses.set(pauses.get() + 1);
        let readable = looked_on(&found[..1], &mut look, &pause).unwrap();
        let stream = &readable[0].streams[0];
        (
            stream.offered_bytes,
            readable[0].under_way,
            next,
            pauses.get(),
        )
    }

    #[test]
    fn what_was_durable_when_it_was_first_looked_at_can_be_read() {
        // Of the 100 that were handed out all may have been durable, and only the third look tells
        // so. It is the next one that knows every append below.
        let looks = [(100, 40), (150, 60), (200, 110), (250, 160), (300, 210)];
        assert_eq!(readable_after(&looks), (110, true, 3, 2));
    }

    #[test]
    fn a_recording_that_comes_to_rest_is_read_as_far_as_it_came() {
        assert_eq!(readable_after(&[(100, 40)]), (100, false, 1, 0));
        assert_eq!(readable_after(&[(100, 40), (150, 60)]), (150, false, 2, 1));
    }

    /// A recording on two members, of which these have its end mark.
    fn ended(offered_bytes: u64, ends: [bool; 2]) -> Recording {
        let one = seen(offered_bytes, offered_bytes);
        let extent = one.per_member[0].unwrap();
        let part = |has_end| Some(StreamExtent { has_end, ..extent });
        Recording {
            open_end: !ends.contains(&true),
            per_member: ends.map(part).to_vec(),
            ..one
        }
    }

    #[test]
    fn one_that_ends_between_the_looks_at_two_members_is_looked_at_once_more() {
        for (first, looks) in [([false, true], 1), ([true, false], 1), ([true, true], 0)] {
            let mut looked = 0;
            let mut look = || {
                looked += 1;
                Ok(vec![ended(150, [true, true])])
            };
            let first = [ended(150, first)];
            let readable = looked_on(&first, &mut look, &|_| panic!("no pause")).unwrap();
            assert_eq!(readable, [ended(150, [true, true])]);
            assert_eq!(looked, looks);
        }
        // A store at rest of which a member is silent by now can be read as it was found.
        let mut look = || Err(RecordError::Silent("a".to_owned()));
        let first = [ended(150, [false, true])];
        let readable = looked_on(&first, &mut look, &|_| panic!("no pause")).unwrap();
        assert_eq!(readable, first);
    }

    #[test]
    fn flushes_that_are_seconds_apart_are_waited_for() {
        // The first of them comes with the thirtieth look, and tells of the 100.
        let look = |count: u64| (100 + count, if count < 30 { 40 } else { 100 + count - 5 });
        let looks: Vec<(u64, u64)> = (0..40).map(look).collect();
        assert_eq!(readable_after(&looks), (125, true, 31, 30));
    }

    #[test]
    fn a_pause_ends_when_the_user_has_enough() {
        let (clock, stop) = (Clock::simulated(), Stop::default());
        let start = clock.now();
        rest(&clock, LONG_PAUSE_NS, &stop);
        assert_eq!(clock.now().since_ns(start), LONG_PAUSE_NS);
        stop.interrupt();
        rest(&clock, LONG_PAUSE_NS, &stop);
        assert_eq!(clock.now().since_ns(start), LONG_PAUSE_NS);
        let members = [];
        let store = Checkable {
            members: &members,
            recordings: &[seen(100, 40)],
            pins: &[],
            machines: &[],
            clock: &clock,
        };
        let interrupted = readable(store, &stop, &mut |_| ()).unwrap_err();
        assert!(matches!(interrupted, RecordError::Interrupted(_)));
    }

    #[test]
    fn one_whose_flushes_are_far_apart_is_not_waited_for_without_end() {
        let looks: Vec<(u64, u64)> = (0..2 * u64::from(LOOKS_MAX))
            .map(|look| (100 + look, 40))
            .collect();
        let count = LOOKS_MAX as usize;
        assert_eq!(readable_after(&looks), (40, true, count, count - 1));
    }
}
