//! The recordings of a store, found by their links and without them.

use super::image::place;
use super::*;
use crate::format::{BLOCK_BYTES, EarlierNote, Kind, StreamNote};

/// Two members with three recordings, each of several slots.
fn three_recordings() -> Image {
    let mut image = Image::new(&[16 * MIB, 24 * MIB], SLOT);
    for slots in [7, 20, 3] {
        image.begin(2);
        image.put(1, 1, b"first of the second stream");
        image.fill(slots, 30_000);
        image.put(0, 1, b"last of the second stream");
        image.end();
    }
    image
}

/// The parts of the answer that must be the same whatever links are damaged.
fn outline(recordings: &[Recording]) -> Vec<(u32, u64, u64, Vec<Option<StreamExtent>>)> {
    recordings
        .iter()
        .map(|recording| {
            let offered = recording.streams.iter().map(|stream| stream.offered_bytes);
            let holes = recording.streams.iter().map(|stream| stream.hole_bytes);
            (
                recording.number,
                offered.sum(),
                holes.sum(),
                recording.per_member.clone(),
            )
        })
        .collect()
}

#[test]
fn recordings_are_listed_newest_first_with_all_that_is_said_of_them() {
    let image = three_recordings();
    let recordings = recordings_of(&image);
    let numbers: Vec<u32> = recordings
        .iter()
        .map(|recording| recording.number)
        .collect();
    assert_eq!(numbers, [3, 2, 1]);
    for recording in &recordings {
        assert_eq!(
            recording.started_ns,
            Some(500 + i64::from(recording.number))
        );
        assert!(!recording.ring && !recording.open_end);
        assert_eq!(recording.readable_from_sequence, None);
        let end = recording.end.as_ref().unwrap();
        assert_eq!(recording.streams.len(), 2);
        for (stream, total) in recording.streams.iter().zip(&end.streams) {
            assert_eq!(stream.offered_bytes, total.offered);
            assert_eq!(
                (stream.recorded_bytes, stream.frames),
                (total.recorded, total.frames)
            );
            assert_eq!((stream.hole_bytes, stream.readable_from_bytes), (0, 0));
        }
        let second = &recording.streams[1];
        assert_eq!((second.name.as_str(), second.frames), ("camera 1", 2));
        assert_eq!(second.framing.as_deref(), Some("none"));
        assert!(second.first_time_ns < Some(second.last_time_ns));
    }
    let newest = &recordings[0];
    let total: u64 = newest
        .streams
        .iter()
        .map(|stream| stream.offered_bytes)
        .sum();
    let positions = image
        .positions
        .iter()
        .map(|position| position.next_offset_bytes);
    assert_eq!(total, positions.sum::<u64>());
    let extent = newest.per_member[0].unwrap();
    assert_eq!(extent.first, image.members[0].start.unwrap());
    assert_eq!(extent.last, image.members[0].previous.unwrap());
}

#[test]
fn many_recordings_are_listed_by_a_few_reads_each() {
    let mut image = Image::new(&[64 * MIB], SLOT);
    for _ in 0..100 {
        image.begin(1);
        image.fill(4, 30_000);
        image.end();
    }
    let member = &image.members[0];
    let mut opening = Opening::new(&member.superblock);
    let (chapters, read_bytes) = ask(&mut opening, Opening::chapters, read_of(member));
    assert_eq!(chapters.len(), 100);
    assert!(read_bytes < 100 * 10 * 4096, "{read_bytes}");
}

#[test]
fn a_missing_member_leaves_holes_of_known_size() {
    let image = three_recordings();
    let all = recordings_of(&image);
    let only = |there: usize| {
        let mut chapters = vec![None, None];
        chapters[there] = Some(chapters_of(&image.members[there]));
        merge(&chapters).unwrap()
    };
    for (there, gone) in [(0, 1), (1, 0)] {
        let recordings = only(there);
        assert_eq!(recordings.len(), 3);
        for (recording, whole) in recordings.iter().zip(&all) {
            assert!(recording.per_member[gone].is_none());
            for (stream, whole) in recording.streams.iter().zip(&whole.streams) {
                assert_eq!(stream.offered_bytes, whole.offered_bytes);
            }
        }
        let newest = &recordings[0].streams;
        for (stream, bytes) in newest.iter().zip(&image.members[gone].member_bytes) {
            assert_eq!(stream.hole_bytes, *bytes);
        }
    }
}

#[test]
fn damaged_links_are_bridged_by_bisection() {
    let image = three_recordings();
    let expected = outline(&recordings_of(&image));
    let extents: Vec<StreamExtent> = expected.iter().filter_map(|one| one.3[0]).collect();
    // The start of a recording is lost. Its note is on the other member, and its place is searched.
    for extent in &extents {
        let mut damaged = image.clone();
        let offset_bytes = damaged.members[0].offset_of(extent.first);
        damaged.members[0].medium.flip(offset_bytes, 800);
        let recordings = recordings_of(&damaged);
        let found = outline(&recordings);
        assert_eq!(found.len(), 3);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(
                (found.0, found.1, found.2),
                (expected.0, expected.1, expected.2)
            );
            let first = found.3[0].unwrap().first;
            let whole = expected.3[0].unwrap().first;
            assert!(
                first == whole || (first > whole && whole == extent.first),
                "{first:?}"
            );
        }
        assert!(
            recordings
                .iter()
                .all(|recording| recording.started_ns.is_some())
        );
    }
    // The last append of a recording is lost, and the one before it takes its place.
    for extent in &extents[1..] {
        let mut damaged = image.clone();
        let offset_bytes = damaged.members[0].offset_of(extent.last);
        damaged.members[0].medium.flip(offset_bytes, 800);
        let recordings = recordings_of(&damaged);
        let found = outline(&recordings);
        assert_eq!(found.len(), 3);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(
                (found.0, found.1, found.2),
                (expected.0, expected.1, expected.2)
            );
            assert_eq!(found.3[0].unwrap().first, expected.3[0].unwrap().first);
        }
        assert!(
            recordings.iter().all(|recording| !recording.open_end),
            "the other has the mark"
        );
    }
}

#[test]
fn damaged_slot_starts_around_the_points_of_bisection_do_no_harm() {
    let image = three_recordings();
    let expected = outline(&recordings_of(&image));
    let newest = image.members[0].newest();
    for serial in 0..newest {
        let mut damaged = image.clone();
        for near in serial..(serial + 3).min(newest) {
            damaged.members[0].lose_slot_start(near);
        }
        let found = outline(&recordings_of(&damaged));
        assert_eq!(found.len(), 3, "{serial}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.0, found.1), (expected.0, expected.1), "{serial}");
        }
    }
}

#[test]
fn what_is_under_way_to_members_that_are_there_is_not_missing() {
    let mut image = Image::new(&[16 * MIB, 24 * MIB], SLOT);
    image.begin(1);
    image.fill(4, 30_000);
    let early = chapters_of(&image.members[0]);
    // The recorder goes on between the looks at the two members.
    image.fill(4, 30_000);
    let late = chapters_of(&image.members[1]);
    let recordings = merge(&[Some(early), Some(late)]).unwrap();
    assert!(recordings[0].open_end);
    let stream = &recordings[0].streams[0];
    assert!(stream.offered_bytes > 0);
    assert_eq!(stream.hole_bytes, 0);
    // Of a member that is not there what was settled is missing.
    let only = merge(&[Some(chapters_of(&image.members[0])), None]).unwrap();
    let hole_bytes = only[0].streams[0].hole_bytes;
    assert!(hole_bytes > 0 && hole_bytes <= image.members[1].member_bytes[0]);
}

#[test]
fn an_open_end_is_told_and_one_end_mark_is_enough() {
    let mut image = three_recordings();
    image.begin(2);
    image.fill(2, 30_000);
    let open = recordings_of(&image);
    assert!(open[0].open_end && open[0].end.is_none());
    assert_eq!(open[0].streams[0].hole_bytes, 0);
    image.end();
    let end = image.members[0].previous.unwrap();
    let offset_bytes = image.members[0].offset_of(end);
    image.members[0].medium.lose(offset_bytes);
    let closed = recordings_of(&image);
    assert!(!closed[0].open_end && closed[0].end.is_some());
}

#[test]
fn a_ring_tells_from_where_on_it_can_be_read() {
    let mut image = Image::new(&[4 * MIB, 2 * MIB], SLOT);
    let counts = [0, 1].map(|member: usize| image.members[member].geometry().slot_count);
    image.begin(1);
    image.fill(5, 30_000);
    image.end();
    image.ring = true;
    image.begin(1);
    let payload = [7; 30_000];
    // Both members are filled in turn, more than a lap of either.
    for _ in 0..2 * counts[0] {
        image.put(0, 0, &payload);
        image.put(1, 0, &payload);
    }
    let recordings = recordings_of(&image);
    assert_eq!(
        recordings.len(),
        1,
        "the first recording has been written over"
    );
    let recording = &recordings[0];
    let oldest: Vec<_> = image
        .members
        .iter()
        .zip(counts)
        .map(|(member, count)| place(member.newest() + 1 - count, 0))
        .collect();
    for (extent, oldest) in recording.per_member.iter().zip(&oldest) {
        let extent = extent.unwrap();
        assert_eq!(extent.first, *oldest);
        assert!(extent.is_overwritten);
    }
    // The smaller member has lost more of the recording.
    let youngest = &chapters_of(&image.members[1])[0].first;
    assert_eq!(recording.readable_from_sequence, Some(youngest.sequence));
    let stream = &recording.streams[0];
    assert_eq!(stream.readable_from_bytes, youngest.stream_offset_bytes);
    assert_eq!(stream.hole_bytes, 0);
    assert_eq!(stream.offered_bytes, image.positions[0].next_offset_bytes);
}

#[test]
fn a_ring_that_begins_with_a_copy_can_be_read_from_where_the_stream_had_come_by_then() {
    let mut image = Image::new(&[2 * MIB], SLOT);
    let count = image.members[0].geometry().slot_count;
    image.ring = true;
    image.begin(2);
    let payload = [7; 4000];
    let original = image.put(0, 0, &payload);
    // The first append of the second slot is one that a silent member had kept.
    let append_bytes = original.append_bytes;
    while image.members[0].next.slot_offset_bytes + append_bytes <= SLOT {
        image.put(0, 0, &payload);
    }
    image.put_again(0, &original, &payload);
    let handed_out_bytes = image.positions[0].next_offset_bytes;
    image.fill(count - 1, 4000);
    let recording = &recordings_of(&image)[0];
    assert_eq!(recording.per_member[0].unwrap().first, place(1, 0));
    let stream = &recording.streams[0];
    assert_eq!(stream.readable_from_bytes, handed_out_bytes);
}

/// Of each recording, newest first, its number, whether all that some member had of it has been
/// overwritten, and how much of it is missing.
fn gone_and_missing(image: &Image) -> Vec<(u32, bool, u64)> {
    let recordings = recordings_of(image).into_iter();
    let told = recordings.map(|one| {
        let hole_bytes = one.streams[0].hole_bytes;
        (one.number, one.is_gone_from_a_member, hole_bytes)
    });
    told.collect()
}

/// Records three times to a ring, so that what the second recording has on the second member lies
/// in the oldest slot of the lap, and damages all of that. Before the third one comes what
/// `between` does. Returns what is said of them all before the damage and behind it.
fn lose_oldest_slot(between: impl Fn(&mut Image)) -> [Vec<(u32, bool, u64)>; 2] {
    let mut image = Image::new(&[4 * MIB, 4 * MIB], SLOT);
    let count = image.members[0].geometry().slot_count;
    image.ring = true;
    let payload = [7; 30_000];
    image.begin(1);
    image.fill(3, 30_000);
    image.end();
    image.begin(1);
    let lost = image.put(1, 0, &payload);
    image.end();
    between(&mut image);
    image.begin(1);
    while image.members[1].next.slot_serial < lost.place.slot_serial + count - 1 {
        image.put(1, 0, &payload);
    }
    image.end();
    let before = gone_and_missing(&image);
    let slot = image.members[1].offset_of(place(lost.place.slot_serial, 0));
    for block in 0..u64::from(SLOT) / BLOCK_BYTES as u64 {
        image.members[1]
            .medium
            .lose(slot + block * BLOCK_BYTES as u64);
    }
    [before, gone_and_missing(&image)]
}

#[test]
fn a_recording_of_which_all_is_damaged_on_a_member_is_not_gone_from_it() {
    let told = lose_oldest_slot(|_| {});
    let first = (1, true, 0);
    let of_second = |hole_bytes| vec![(3, false, 0), (2, false, hole_bytes), first];
    assert_eq!(told, [of_second(0), of_second(30_000)]);
}

#[test]
fn nor_is_it_gone_where_numbers_are_left_out_because_members_were_missing() {
    let told = lose_oldest_slot(|image| image.recording += 2);
    let first = (1, true, 0);
    let of_second = |hole_bytes| vec![(5, false, 0), (2, false, hole_bytes), first];
    assert_eq!(told, [of_second(0), of_second(30_000)]);
}

#[test]
fn nor_is_it_gone_where_the_member_was_missing_in_the_recording_after_it() {
    let told = lose_oldest_slot(|image| {
        image.absent = vec![1];
        image.begin(1);
        image.put(0, 0, &[7; 30_000]);
        image.end();
        image.absent.clear();
    });
    let (third, first) = ((3, false, 0), (1, true, 0));
    let of_second = |hole_bytes| vec![(4, false, 0), third, (2, false, hole_bytes), first];
    assert_eq!(told, [of_second(0), of_second(30_000)]);
}

#[test]
fn a_recording_is_not_gone_from_a_member_that_was_missing_in_it() {
    let mut image = Image::new(&[4 * MIB, 4 * MIB], SLOT);
    let count = image.members[0].geometry().slot_count;
    image.ring = true;
    image.absent = vec![1];
    image.begin(1);
    image.fill(3, 30_000);
    image.end();
    image.absent.clear();
    image.begin(1);
    // The member that is there again comes round, and the other one does not.
    while image.members[1].next.slot_serial < 2 * count {
        image.put(1, 0, &[7; 30_000]);
    }
    image.end();
    assert_eq!(gone_and_missing(&image), [(2, false, 0), (1, false, 0)]);
}

#[test]
fn a_start_that_is_repeated_in_a_ring_tells_what_the_first_one_told() {
    let mut image = Image::new(&[4 * MIB], SLOT);
    let count = image.members[0].geometry().slot_count;
    image.ring = true;
    image.begin(1);
    image.fill(count / 2, 30_000);
    image.start(0);
    let repeated = image.members[0].start.unwrap();
    image.fill(2, 30_000);
    let before_lap = recordings_of(&image);
    assert_eq!(before_lap[0].per_member[0].unwrap().first, place(0, 0));
    assert_eq!(before_lap[0].readable_from_sequence, None);
    image.fill(count / 2 + 3, 30_000);
    let recording = &recordings_of(&image)[0];
    let first = recording.per_member[0].unwrap().first;
    assert!(first > place(0, 0) && first < repeated);
    assert_eq!(recording.streams[0].name, "camera 0");
    assert!(recording.ring);
}

#[test]
fn a_repeated_start_of_which_only_a_part_was_written_leaves_the_word_to_the_one_before() {
    let mut image = Image::new(&[4 * MIB], SLOT);
    let count = image.members[0].geometry().slot_count;
    image.ring = true;
    image.begin(1);
    image.fill(count / 2, 30_000);
    image.start(0);
    let repeated = image.members[0].start.unwrap();
    let note_at = image.members[0].offset_of(repeated) + BLOCK_BYTES as u64;
    image.members[0].medium.lose(note_at);
    let recording = &recordings_of(&image)[0];
    assert!(recording.ring);
    assert_eq!(recording.streams[0].name, "camera 0");
}

#[test]
fn halves_that_recorded_apart_are_told_apart() {
    let mut first = three_recordings();
    let mut second = first.clone();
    for (half, id) in [(&mut first, 0xA), (&mut second, 0xB)] {
        half.begin(1);
        half.recording_id = uuid::Uuid::from_u128(id);
        half.fill(2, 30_000);
        half.end();
    }
    // The starts bear the image's own number; only the other fields name another identity.
    let chapters = [
        Some(chapters_of(&first.members[0])),
        Some(chapters_of(&second.members[1])),
    ];
    let apart = merge(&chapters).unwrap_err();
    assert_eq!((apart.recording, apart.first, apart.second), (4, 0, 1));
}

#[test]
fn a_recording_without_any_bytes_is_listed() {
    let mut image = Image::new(&[16 * MIB, 16 * MIB], SLOT);
    image.begin(1);
    let recordings = recordings_of(&image);
    assert_eq!(recordings.len(), 1);
    assert!(recordings[0].open_end);
    assert_eq!(recordings[0].streams[0].offered_bytes, 0);
    let first = chapters_of(&image.members[0])[0].first.clone();
    assert_eq!(first.kind, Kind::Start);
}

#[test]
fn a_later_start_names_the_streams_of_a_recording_that_has_none_left() {
    let mut image = Image::new(&[16 * MIB, 16 * MIB], SLOT);
    image.begin(2);
    let first_starts: Vec<u64> = image
        .members
        .iter()
        .map(|member| member.offset_of(member.start.unwrap()))
        .collect();
    image.fill(3, 30_000);
    image.end();
    let own = recordings_of(&image).remove(0);
    let stream = |stream: &StreamSummary| StreamNote {
        name: stream.name.clone(),
        framing: stream.framing.clone().unwrap(),
        source: None,
    };
    image.earlier = vec![EarlierNote {
        id: own.id,
        number: own.number,
        started_ns: own.started_ns.unwrap(),
        ring: own.ring,
        streams: own.streams.iter().map(stream).collect(),
        absent: vec![1],
    }];
    image.begin(1);
    image.fill(2, 30_000);
    for (member, start) in image.members.iter_mut().zip(first_starts) {
        member.medium.lose(start);
    }
    let told = recordings_of(&image).remove(1);
    assert_eq!((told.id, told.started_ns), (own.id, own.started_ns));
    assert_eq!(told.absent, [1]);
    for (told, own) in told.streams.iter().zip(&own.streams) {
        assert_eq!((&told.name, &told.framing), (&own.name, &own.framing));
    }
}
