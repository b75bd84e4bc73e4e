//! Whether a stretch of a stream was durable when a crash ended its recording, as far as its
//! appends or its recovered end mark tell. It is pure.

use std::ops::Range;

use super::Recording;

/// Whether all of a stretch of a stream was durable, as the appends say, or was found whole when it
/// was recovered. What was not is no trace of being written over. An empty stretch stands for the
/// frame marks of the append that begins there.
pub(crate) fn was_durable(recording: &Recording, stream: u16, stretch: Range<u64>) -> bool {
    if recording.open_end {
        let settled_bytes = settled_bytes(recording, stream);
        return stretch.start < settled_bytes && stretch.end <= settled_bytes;
    }
    torn_within(recording, stream, &stretch).next().is_none()
}

/// Whether any of a stretch was: a loss that reaches beyond what was durable is one all the same.
pub(crate) fn was_durable_in_part(recording: &Recording, stream: u16, stretch: Range<u64>) -> bool {
    if recording.open_end {
        return stretch.start < settled_bytes(recording, stream);
    }
    if stretch.is_empty() {
        return was_durable(recording, stream, stretch);
    }
    let torn = torn_within(recording, stream, &stretch);
    let torn_bytes: u64 = torn.map(|torn| torn.end - torn.start).sum();
    torn_bytes < stretch.end - stretch.start
}

/// The beginning of a stretch that was durable, if any of it was. None where the recording was
/// recovered: then it is known of each byte whether it was durable.
pub(crate) fn durable_beginning(
    recording: &Recording,
    stream: u16,
    stretch: Range<u64>,
) -> Option<Range<u64>> {
    let durable = stretch.start..stretch.end.min(settled_bytes(recording, stream));
    (recording.open_end && !durable.is_empty()).then_some(durable)
}

fn settled_bytes(recording: &Recording, stream: u16) -> u64 {
    let known = recording.streams.get(usize::from(stream));
    known.map_or(0, |known| known.settled_bytes)
}

/// What recovering found torn of a stretch. Of bytes that only adjoin what was torn, and of those
/// of which it found the marks alone damaged, it found all whole.
fn torn_within<'a>(
    recording: &'a Recording,
    stream: u16,
    stretch: &Range<u64>,
) -> impl Iterator<Item = Range<u64>> + use<'a> {
    let stretch = stretch.clone();
    let notes = recording.end.iter().flat_map(|end| &end.torn);
    let of_stream = notes.filter(move |note| note.stream == stream);
    of_stream.filter_map(move |note| {
        let within = note.from_byte.max(stretch.start)..note.to_byte.min(stretch.end);
        let is_touched = within.start <= within.end;
        (is_touched && (stretch.is_empty() || !within.is_empty())).then_some(within)
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::format::{EndNote, TornNote};

    fn recovered(torn: &[(u64, u64)]) -> Recording {
        let note = |(from_byte, to_byte): &(u64, u64)| TornNote {
            stream: 0,
            from_byte: *from_byte,
            to_byte: *to_byte,
        };
        Recording {
            number: 1,
            id: Uuid::nil(),
            started_ns: None,
            ring: true,
            streams: Vec::new(),
            end: Some(EndNote {
                ended: EndNote::RECOVERED.to_owned(),
                streams: Vec::new(),
                torn: torn.iter().map(note).collect(),
                follows_end: None,
                start_was_whole: None,
                protected_bytes: None,
            }),
            open_end: false,
            readable_from_sequence: None,
            per_member: Vec::new(),
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

    #[test]
    fn what_adjoins_a_torn_stretch_was_found_whole() {
        let recording = recovered(&[(100, 200), (300, 300), (400, 500)]);
        for (stretch, all, part) in [
            (50..100, true, true),
            (50..101, false, true),
            (100..200, false, false),
            (120..150, false, false),
            (200..400, true, true),
            (150..450, false, true),
            (600..700, true, true),
            // Of frame marks.
            (50..50, true, true),
            (100..100, false, false),
            (150..150, false, false),
            (300..300, false, false),
        ] {
            let told = (
                was_durable(&recording, 0, stretch.clone()),
                was_durable_in_part(&recording, 0, stretch.clone()),
            );
            assert_eq!(told, (all, part), "{stretch:?}");
            assert!(was_durable(&recording, 1, stretch));
        }
    }
}
