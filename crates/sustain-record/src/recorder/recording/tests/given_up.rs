//! Appends that are given up behind a gap of another reason: each loss keeps its own.

use std::ops::Range as Span;

use super::*;

const APPEND_BYTES: u64 = 200_000;
const SKIPPED_BYTES: u64 = 1_000;

/// Hands over an append, behind bytes that found no memory if `skips`. Returns where those lay, or
/// nothing once the recording takes nothing more.
fn offer(writer: &mut StreamWriter, skips: bool) -> Option<Span<u64>> {
    let mut filling = writer.lend()?;
    let start = writer.offered_bytes();
    if skips {
        writer.skip(SKIPPED_BYTES, 0, GapReason::BufferFull);
    }
    let skipped = start..writer.offered_bytes();
    filling.spare_mut()[..APPEND_BYTES as usize].fill(7);
    filling.take(APPEND_BYTES as usize, &[], 0);
    writer.commit(filling);
    Some(skipped)
}

/// Reads the only stream back. All of it is there or lost, and of what was skipped nothing is
/// called lost for another reason. Returns how many bytes are lost for this one.
fn given_up_bytes(place: &Place, skipped: &[Span<u64>], why: GapReason) -> u64 {
    let mut store = Store::open(&place.members, Mode::Read, &Roots::default()).unwrap();
    let recordings = store.recordings().unwrap();
    let scope = Scope::of(
        &recordings[0],
        &store.members,
        store.machines(),
        store.clock(),
    );
    let (mut given_up_bytes, mut full_bytes) = (0, 0);
    for part in StreamReader::open(&scope, 0, &Range::All).unwrap() {
        let part = part.unwrap();
        let span = part.offset_bytes()..part.end_bytes();
        let is_skipped = skipped
            .iter()
            .any(|one| one.start < span.end && span.start < one.end);
        match part {
            StreamPart::Data { .. } => assert!(!is_skipped, "{span:?}"),
            StreamPart::Gap { reason, .. } if is_skipped => {
                assert_eq!(reason, GapReason::BufferFull, "{span:?}");
                full_bytes += span.end - span.start;
            }
            StreamPart::Gap { reason, .. } => {
                assert_eq!(reason, why, "{span:?}");
                given_up_bytes += span.end - span.start;
            }
            other => panic!("{other:?}"),
        }
    }
    let bytes = skipped.iter().map(|one| one.end - one.start);
    assert_eq!(full_bytes, bytes.sum::<u64>());
    given_up_bytes
}

#[test]
fn what_was_lost_before_an_append_that_the_kernel_cannot_write_keeps_its_reason() {
    let place = Place::new(1, 1 << 20);
    let (mut writes, mut failing) = (0, Vec::new());
    let fault = move |request: &Request| {
        writes += u32::from(is_data(request));
        if is_data(request) && matches!(writes, 3 | 5) {
            failing.push(request.offset_bytes);
        }
        // It is tried once more, from a copy.
        match failing.contains(&request.offset_bytes) && is_data(request) {
            true => Answer::Fails(EFAULT),
            false => Answer::AsTheDisk,
        }
    };
    let (recorder, mut writers) = place.record(&["main"], Patience::default(), fault);
    let mut skipped = Vec::new();
    for index in 0..8 {
        skipped.extend(offer(&mut writers[0], index % 2 == 0));
    }
    drop(writers);
    let recorded = recorder.finish().unwrap();
    let stream = &recorded.standing.streams[0];
    let lost_bytes = stream.offered_bytes - stream.recorded_bytes;
    assert_eq!(stream.gap_bytes, lost_bytes);
    assert_eq!(stream.durable_bytes, stream.recorded_bytes);
    let not_written = given_up_bytes(&place, &skipped, GapReason::NotWritten);
    assert_eq!(lost_bytes, not_written + 4 * SKIPPED_BYTES);
    assert!(not_written > 0, "an append was given up");
}

#[test]
fn what_was_lost_before_appends_whose_flush_fails_keeps_its_reason() {
    let place = Place::new(2, 1 << 20);
    let fault = |request: &Request| match request.operation {
        Operation::Flush if request.target == 0 => Answer::Fails(EIO),
        _ => Answer::AsTheDisk,
    };
    let (recorder, mut writers) = place.record(&["main"], Patience::default(), fault);
    let mut skipped = Vec::new();
    for _ in 0..12 {
        skipped.extend(offer(&mut writers[0], true));
    }
    drop(writers);
    let recorded = recorder.finish().unwrap();
    let stream = &recorded.standing.streams[0];
    assert_eq!(
        stream.offered_bytes,
        stream.recorded_bytes + stream.gap_bytes
    );
    assert!(recorded.standing.members[0].error.is_some());
    // What the failed member may have all the same is read, too.
    assert!(
        given_up_bytes(&place, &skipped, GapReason::NotWritten)
            <= stream.gap_bytes - 12 * SKIPPED_BYTES
    );
}

#[test]
fn what_was_lost_before_appends_for_which_a_store_has_no_room_keeps_its_reason() {
    let place = Place::of_bytes(1, 1 << 20, 6 << 20);
    let (recorder, mut writers) =
        place.record(&["main"], Patience::default(), |_| Answer::AsTheDisk);
    let mut skipped = Vec::new();
    let mut count = 0_u32;
    while let Some(one) = offer(&mut writers[0], count.is_multiple_of(4)) {
        count += 1;
        skipped.push(one);
    }
    drop(writers);
    let recorded = recorder.finish().unwrap();
    assert_eq!(recorded.ended, Ending::Full);
    skipped.retain(|one| !one.is_empty());
    let lost_bytes = given_up_bytes(&place, &skipped, GapReason::NoRoom);
    assert!(lost_bytes > 0, "nothing was given up");
}
