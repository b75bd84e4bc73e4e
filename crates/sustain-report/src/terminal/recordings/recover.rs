//! What was found after a crash, and what was then written, in words.

use std::fmt::Write as _;

use sustain_document::recover::{RecoverDocument, RecoveredStream};

use super::ended_words;
use crate::format::position;
use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// The result of `recover`: the findings on opening the store, and the marks that were written.
#[must_use]
pub fn recover_text(document: &RecoverDocument, width: usize) -> String {
    let mut lines = vec![format!("store {}", document.store)];
    for recording in &document.recordings {
        let ended = ended_words(recording.ended);
        // A recording without marks has an empty stream for them, which says nothing.
        let is_reported = |stream: &&RecoveredStream| !stream.marks || stream.bytes > 0;
        for stream in recording.streams.iter().filter(is_reported) {
            let mut line = format!(
                "recording {}, stream {}: {}",
                recording.recording,
                without_controls(&stream.name),
                position(stream.bytes)
            );
            if stream.gap_bytes > 0 {
                let up_to = if stream.given_up_bytes > 0 {
                    "up to "
                } else {
                    ""
                };
                let _ = write!(
                    line,
                    ", {up_to}{} of it lost before it reached a member",
                    position(stream.gap_bytes)
                );
            }
            if stream.hole_bytes > 0 {
                let _ = write!(line, ", {} of it missing", position(stream.hole_bytes));
            }
            if stream.readable_from_byte > 0 {
                let from_byte = stream.readable_from_byte;
                let _ = write!(
                    line,
                    ", readable from byte {from_byte} on (the ring has overwritten what was before)"
                );
            }
            lines.push(format!("{line}; ended: {ended}"));
        }
    }
    if let Some(recording) = document.recording {
        let members: Vec<String> = document
            .marked
            .iter()
            .map(|name| without_controls(name))
            .collect();
        let of_recording = document.recordings.iter();
        let mut of_recording = of_recording.filter(|one| one.recording == recording);
        let has_gone_round = of_recording.any(|one| {
            one.streams
                .iter()
                .any(|stream| stream.readable_from_byte > 0)
        });
        let place = match has_gone_round {
            true => ", in the place of a slot that was the ring's oldest there",
            false => "",
        };
        lines.push(format!(
            "recording {recording} had an open end: an end mark was written on {}{place}",
            members.join(", ")
        ));
    }
    if document.superblocks_renewed {
        let renewed = "the superblocks, which say where the recordings of a store begin and end, \
                       were rewritten";
        lines.push(renewed.to_owned());
    }
    if document.recording.is_none() && !document.superblocks_renewed {
        lines.push(nothing_repaired(document).to_owned());
    }
    lines.iter().map(|line| wrapped(line, width)).collect()
}

/// What recovering has looked at when it changed nothing.
fn nothing_repaired(document: &RecoverDocument) -> &'static str {
    let has_open_end = document.recordings.iter().any(|one| one.ended.is_none());
    if document.lost_marks > 0 {
        "the superblocks of all members are whole. Nothing can take the place of the marks that \
         are lost, and nothing was written: see what `sustain verify` names as missing"
    } else if document.lost_bytes > 0 {
        "the superblocks of all members are whole. Nothing can take the place of the bytes that \
         are missing, and nothing was written: see what `sustain verify` names"
    } else if document.recordings.is_empty() {
        "the superblocks of all members are whole, and the store has no recordings: there was \
         nothing to repair"
    } else if has_open_end {
        "the superblocks of all members are whole; nothing was written"
    } else {
        "the superblocks of all members are whole, and every recording has its end mark: there \
         was nothing to repair. `sustain verify` tells whether the data is whole"
    }
}
