//! Finds what of a stream belongs to a pin: what arrived in the time for which it was set. The
//! slots that it keeps have some of what came before and behind, too.

use std::ops::Range as Span;

use super::whole::has_frames;
use crate::error::RecordError;
use crate::opening::{Recording, StreamSummary};
use crate::reading::frames::{FrameReader, Framed};
use crate::reading::kept::{CutFrame, KeptByPin};
use crate::reading::part::StreamPart;
use crate::reading::scope::Scope;
use crate::reading::stream::{Range, StreamReader};
use crate::store::StorePin;

/// Times that differ from the recorder's clock by more than this are those of another clock.
const CLOCKS_APART_NS: i64 = 1_000_000_000;

/// What of a stream arrived in the time for which a pin was set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptStretch {
    /// Its bytes, by their offsets in the stream.
    pub bytes: Span<u64>,
    /// Its frames, by their numbers in the stream. Those that are not complete yet are not counted.
    pub frames: Span<u64>,
}

/// The time for which a pin was set, in nanoseconds since 1970. It was told by the recorder's
/// clock. `None` where the source of the stream has another one: nothing tells which of its times
/// these are, and all that the pin keeps belongs to it.
pub fn pinned_time(pin: &StorePin, stream: &StreamSummary) -> Option<Span<i64>> {
    let is_apart = stream.drift.is_none_or(|drift| {
        let has_times = drift.earliest_ns <= drift.latest_ns;
        has_times && drift.latest_ns.saturating_abs() > CLOCKS_APART_NS
    });
    (!is_apart).then(|| pin.from_time_ns..pin.to_time_ns.saturating_add(1))
}

impl KeptByPin {
    /// Tells of a recording which of its frames belong to the pin and are left out, because it
    /// keeps only their beginning.
    pub fn cut_notices(&self, recording: u32) -> Vec<String> {
        let of_recording = self.recordings.iter().find(|one| one.number == recording);
        let is_pinned = |cut: &&CutFrame| {
            let stream = of_recording.and_then(|one| one.streams.get(usize::from(cut.stream)));
            let pinned = stream.and_then(|stream| pinned_time(&self.pin, stream));
            cut.recording == recording && pinned.is_none_or(|time| time.contains(&cut.time_ns))
        };
        let pinned = self.cut_frames.iter().filter(is_pinned);
        pinned.map(|cut| cut.notice(self.pin.number)).collect()
    }
}

/// Finds what of each stream of a recording belongs to a pin. What of it was found earlier begins
/// where it did.
///
/// # Errors
/// If the members cannot be driven.
pub(super) fn pinned_stretches(
    scope: &Scope,
    pin: &StorePin,
    recording: &Recording,
    earlier: Option<&[KeptStretch]>,
) -> Result<Vec<KeptStretch>, RecordError> {
    let streams = (0_u16..).zip(&recording.streams);
    let stretches = streams.map(|(number, stream)| {
        let known = earlier.and_then(|earlier| earlier.get(usize::from(number)));
        let are_frames_known =
            |known: &KeptStretch| !known.frames.is_empty() || !has_frames(scope, number, stream);
        // As long as the first frame has not ended, its number may not be told.
        let known = known.filter(|known| !known.bytes.is_empty() && are_frames_known(known));
        pinned_stretch(scope, pin, (number, stream), known)
    });
    stretches.collect()
}

fn pinned_stretch(
    scope: &Scope,
    pin: &StorePin,
    (number, stream): (u16, &StreamSummary),
    known: Option<&KeptStretch>,
) -> Result<KeptStretch, RecordError> {
    let all = KeptStretch {
        bytes: stream.readable_from_bytes.min(stream.offered_bytes)..stream.offered_bytes,
        frames: stream.readable_from_frame.min(stream.frames)..stream.frames,
    };
    let time = pinned_time(pin, stream).unwrap_or(i64::MIN..i64::MAX);
    let first = match known {
        Some(known) => Some((known.bytes.start, known.frames.start)),
        None if time.start <= stream.first_time_ns.unwrap_or(i64::MIN) => {
            match has_frames(scope, number, stream) {
                // What is kept may begin within a frame.
                true => first_from(scope, (number, stream), i64::MIN)?,
                false => Some((all.bytes.start, all.frames.start)),
            }
        }
        None => first_from(scope, (number, stream), time.start)?,
    };
    let (first_byte, first_frame) = first.unwrap_or((all.bytes.end, all.frames.end));
    // What the source has given last tells whether anything can lie behind the time.
    let behind = match stream.last_time_ns < time.end {
        true => None,
        false => first_from(scope, (number, stream), time.end)?,
    };
    let (end_byte, end_frame) = behind.unwrap_or((all.bytes.end, all.frames.end));
    Ok(KeptStretch {
        bytes: first_byte..end_byte.max(first_byte),
        frames: first_frame..end_frame.max(first_frame),
    })
}

/// The first byte of what arrived from a time on, and the first frame; `None` if nothing did.
fn first_from(
    scope: &Scope,
    (number, stream): (u16, &StreamSummary),
    from_time_ns: i64,
) -> Result<Option<(u64, u64)>, RecordError> {
    let range = Range::Time(from_time_ns..i64::MAX);
    let mut first_byte = None;
    for part in StreamReader::open(scope, number, &range)? {
        let part = part?;
        let is_wanted = match part {
            StreamPart::Overwritten { .. } | StreamPart::OpenEnd { .. } => false,
            StreamPart::Data { .. } | StreamPart::Gap { .. } | StreamPart::Hole { .. } => true,
        };
        if is_wanted {
            first_byte = Some(part.offset_bytes());
            break;
        }
    }
    let Some(first_byte) = first_byte else {
        return Ok(None);
    };
    let mut first_frame = stream.frames;
    if has_frames(scope, number, stream) {
        for framed in FrameReader::new(StreamReader::open(scope, number, &range)?) {
            first_frame = match framed? {
                Framed::Frame(frame) => frame.number,
                Framed::Missing { numbers, .. } => numbers.start,
                Framed::Overwritten { .. } => continue,
            };
            break;
        }
    }
    Ok(Some((first_byte, first_frame)))
}
