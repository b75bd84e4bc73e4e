//! Makes the document of `sustain recover --json`.

use sustain_document::record::RecordingEnd;
use sustain_document::recover::{
    RECOVER_SCHEMA, RecoverDocument, RecoveredRecording, RecoveredStream,
};

use super::list::ended;
use super::uuid_text;
use crate::opening::Recording;
use crate::recover::Recovered;
use crate::store::Store;

/// Makes the document of a store, its recordings as they were found, newest first, and what was
/// then done.
pub fn recover_document(
    store: &Store,
    recordings: &[Recording],
    recovered: &Recovered,
) -> RecoverDocument {
    let of_recording = |recording: &Recording| RecoveredRecording {
        recording: recording.number,
        ended: if recovered.recording == Some(recording.number) {
            Some(RecordingEnd::Recovered)
        } else {
            ended(recording)
        },
        streams: recording
            .streams
            .iter()
            .zip(0..)
            .map(|(stream, number)| RecoveredStream {
                name: stream.name.clone(),
                marks: stream.is_marks(),
                bytes: stream.offered_bytes,
                frames: stream.frames,
                gap_bytes: stream.gap_bytes,
                given_up_bytes: stream.given_up_bytes,
                hole_bytes: hole_bytes(recovered, recording.number, number),
                readable_from_byte: stream.readable_from_bytes,
            })
            .collect(),
    };
    RecoverDocument {
        schema: RECOVER_SCHEMA.to_owned(),
        store: uuid_text(store.id),
        recording: recovered.recording,
        marked: recovered.marked.clone(),
        superblocks_renewed: recovered.superblocks_renewed,
        lost_marks: recovered.lost_marks,
        lost_bytes: recovered.lost_bytes,
        recordings: recordings.iter().rev().map(of_recording).collect(),
        notes: store
            .notes
            .iter()
            .chain(&recovered.notes)
            .cloned()
            .collect(),
    }
}

fn hole_bytes(recovered: &Recovered, recording: u32, stream: u16) -> u64 {
    let of_recording = recovered.holes.get(&recording);
    let of_stream = of_recording.and_then(|streams| streams.get(&stream));
    of_stream.copied().unwrap_or(0)
}
