//! The names of the files to which frames are written.

use std::ffi::OsString;
use std::path::Path;

use sustain::record::source::framing::Framing;

/// The least number of digits for a frame's number.
pub(super) const DIGITS_MIN: usize = 6;
/// The most bytes of a stream's name in a file's name, which has at most 255 bytes with number and
/// extension.
const NAME_BYTES_MAX: usize = 200;

/// Turns the name of a stream into the beginning of a file's name.
pub(super) fn file_stem(stream: &str) -> String {
    let mut stem = String::new();
    for c in stream.chars() {
        let c = if c == '/' || c.is_control() { '_' } else { c };
        if stem.len() + c.len_utf8() > NAME_BYTES_MAX {
            break;
        }
        stem.push(c);
    }
    stem
}

/// The end of a file's name, by what is in it.
pub(super) fn extension(framing: Framing) -> &'static str {
    match framing {
        Framing::Jpeg => ".jpg",
        Framing::Lines => ".txt",
        Framing::None | Framing::LengthPrefixed { .. } => ".bin",
    }
}

/// Finds a file in the directory that looks like a frame of this stream.
pub(super) fn first_existing(directory: &Path, stream: &str) -> std::io::Result<Option<OsString>> {
    let stem = format!("{}-", file_stem(stream));
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        let is_frame = name.to_str().is_some_and(|text| {
            let rest = text
                .strip_prefix(&stem)
                .and_then(|rest| rest.rsplit_once('.'));
            rest.is_some_and(|(number, _)| {
                number.len() >= DIGITS_MIN && number.bytes().all(|byte| byte.is_ascii_digit())
            })
        });
        if is_frame {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_of_any_name_has_files() {
        assert_eq!(file_stem("camera"), "camera");
        assert_eq!(file_stem("../a/b\n\0"), ".._a_b__");
        assert_eq!(file_stem(&"é".repeat(300)).len(), 200);
    }

    #[test]
    fn frames_that_are_there_are_found() {
        let place = tempfile::tempdir().unwrap();
        let exists = || first_existing(place.path(), "cam").unwrap();
        for name in [
            "cam-1.jpg",
            "cam-a00000.jpg",
            "camera-000000.jpg",
            "cam-000000",
        ] {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        assert_eq!(exists(), None);
        std::fs::write(place.path().join("cam-1234567.bin"), "").unwrap();
        assert_eq!(exists(), Some("cam-1234567.bin".into()));
    }
}
