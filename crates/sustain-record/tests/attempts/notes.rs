//! Tries any bytes as the note of a start or of an end mark.

use sustain_record::format::{EndNote, StartNote};

/// Panics unless the answer is an error or a note that can be written again.
pub fn attempt(bytes: &[u8]) {
    if let Ok(note) = StartNote::from_json(bytes) {
        assert_eq!(StartNote::from_json(&note.to_json()).unwrap(), note);
    }
    if let Ok(note) = EndNote::from_json(bytes) {
        assert_eq!(EndNote::from_json(&note.to_json()).unwrap(), note);
    }
}
