//! Finds the damage that a crash has left in a recording behind what was durable, by reading just
//! that. `recover` notes it in the end mark, so that later damage can be told apart. Nothing is
//! changed here.

use std::collections::BTreeMap;

use crate::error::RecordError;
use crate::format::TornNote;
use crate::member_io::{GIVEN_UP_AFTER_NS, READS_ARE_GIVEN};
use crate::opening::Recording;
use crate::reading::part::{HoleReason, StreamPart};
use crate::reading::range::Range;
use crate::reading::scope::Scope;
use crate::reading::stream::StreamReader;
use crate::store::Store;

/// The most stretches that an end mark names, in all streams: it has to fit into the smallest slot.
const TORN_MAX: usize = 256;

/// What is not whole behind what was durable of a recording.
#[derive(Debug, Default)]
pub(crate) struct TailFindings {
    /// What is torn, by stream and in order. If it is more than an end mark can name, the last
    /// stretch of a stream also covers what is whole in between.
    pub(crate) torn: Vec<TornNote>,
    /// By stream, holes of which the medium refused to be read.
    pub(crate) unreadable: Vec<(u16, StreamPart)>,
    /// By stream, how much is on no member.
    pub(crate) missing_bytes: BTreeMap<u16, u64>,
}

/// Finds what is not whole at the end of a recording with an open end. `observer` is told the
/// length of each part that was read.
///
/// # Errors
/// If the members cannot be driven; [`RecordError::Silent`] if one never answers. A block that
/// cannot be read is not the work of a crash.
pub(crate) fn torn_tail(
    store: &Store,
    recording: &Recording,
    observer: &mut dyn FnMut(u64),
) -> Result<TailFindings, RecordError> {
    let mut scope = Scope::of_store(store, recording);
    // The recording is read as it will be when it has its end mark.
    let streams = recording.streams.iter();
    scope.offered_bytes = streams.map(|stream| Some(stream.offered_bytes)).collect();
    // Whoever will write does not wait without end.
    scope.patience_ns = Some(READS_ARE_GIVEN * GIVEN_UP_AFTER_NS);
    let most = (TORN_MAX / recording.streams.len().max(1)).max(1);
    let mut found = TailFindings::default();
    for (stream, summary) in (0..).zip(&recording.streams) {
        let mut of_stream = Vec::new();
        let mut reported = None;
        let behind = Range::Bytes(summary.settled_bytes..u64::MAX);
        for part in StreamReader::open(&scope, stream, &behind)? {
            let part = part?;
            observer(part.length_bytes());
            if let StreamPart::Hole { why, .. } = &part
                && *why == HoleReason::Missing
            {
                *found.missing_bytes.entry(stream).or_default() += part.length_bytes();
            }
            if is_torn(&part, &mut reported) {
                enter(&mut of_stream, stream, &part, most);
            } else if matches!(part, StreamPart::Hole { .. }) {
                found.unreadable.push((stream, part));
            }
        }
        found.torn.append(&mut of_stream);
    }
    Ok(found)
}

/// Whether a part is torn. `reported` is the append whose damaged marks were reported last, because
/// they are reported once.
fn is_torn(part: &StreamPart, reported: &mut Option<(usize, u64)>) -> bool {
    match part {
        StreamPart::Hole { why, .. } => !matches!(why, HoleReason::Unreadable { .. }),
        StreamPart::Data { origin, .. } => {
            let id = Some((origin.member, origin.offset_bytes));
            let is_new = *reported != id;
            let marks_are_bad = origin.marks.is_none() || origin.marks().is_err();
            if marks_are_bad {
                *reported = id;
            }
            marks_are_bad && is_new
        }
        StreamPart::Gap { .. } | StreamPart::Overwritten { .. } | StreamPart::OpenEnd { .. } => {
            false
        }
    }
}

fn enter(of_stream: &mut Vec<TornNote>, stream: u16, part: &StreamPart, most: usize) {
    let from_byte = part.offset_bytes();
    let is_hole = matches!(part, StreamPart::Hole { .. });
    let to_byte = if is_hole { part.end_bytes() } else { from_byte };
    let is_full = of_stream.len() >= most;
    match of_stream.last_mut() {
        Some(last) if last.to_byte == from_byte || is_full => last.to_byte = to_byte,
        _ => of_stream.push(TornNote {
            stream,
            from_byte,
            to_byte,
        }),
    }
}
