//! Any bytes as the account of a start or of an end.

use sustain_record::format::{EndNote, StartNote};

/// Panics if the bytes are answered with anything but an error or what can be written again.
pub fn attempt(bytes: &[u8]) {
    if let Ok(note) = StartNote::from_json(bytes) {
        assert_eq!(StartNote::from_json(&note.to_json()).unwrap(), note);
    }
    if let Ok(note) = EndNote::from_json(bytes) {
        assert_eq!(EndNote::from_json(&note.to_json()).unwrap(), note);
    }
}
