//! Sources: how one is named, where its frames lie, and the synthetic source. The recorder and the
//! flags of the command call it. Everything here depends only on its arguments; nothing opens a
//! file, reads, waits or asks for the time.

pub mod framing;
pub mod synthetic;

use std::path::PathBuf;
use std::str::FromStr;

use synthetic::{SyntheticError, SyntheticSpec};

/// The advice that follows every refusal of a source.
const SOURCES: &str = "a source is a file, a pipe or a character device by its path, - for \
                       standard input, or test:RATE for a synthetic stream, such as test:200MB/s";

/// A source, as named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceSpec {
    /// Standard input, typed as `-`.
    Standard,
    /// A file, a named pipe or a character device.
    Path(PathBuf),
    /// A synthetic stream, typed as `test:RATE[,frame=SIZE]`, which can be checked when it is read
    /// back.
    Synthetic(SyntheticSpec),
}

/// Why a text does not name a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The text is empty, or has only spaces.
    #[error("the name of the source is empty: {SOURCES}")]
    Empty,
    /// The text is an option.
    #[error("{0:?} is an option, not a source; write ./{0} for a file of this name: {SOURCES}")]
    Option(String),
    /// The text is an address, such as `rtsp://camera`.
    #[error(
        "{0:?} is an address, and sustain does not connect to addresses; let a program that does \
         write to a pipe, and give - as the source: {SOURCES}"
    )]
    Address(String),
    /// The text is a path that can only be a directory.
    #[error("{0:?} is a directory: {SOURCES}")]
    Directory(String),
    /// The text is a path with a zero byte.
    #[error("{0:?} cannot be a path, because it contains a zero byte: {SOURCES}")]
    ZeroByte(String),
    /// The text is a malformed `test:`.
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
}

impl FromStr for SourceSpec {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<SourceSpec, SourceError> {
        if text == "-" {
            return Ok(SourceSpec::Standard);
        }
        if text.starts_with(synthetic::PREFIX) {
            return Ok(SourceSpec::Synthetic(text.parse()?));
        }
        if text.trim().is_empty() {
            return Err(SourceError::Empty);
        }
        if text.starts_with('-') {
            return Err(SourceError::Option(text.to_owned()));
        }
        if is_address(text) {
            return Err(SourceError::Address(text.to_owned()));
        }
        if text.contains('\0') {
            return Err(SourceError::ZeroByte(text.to_owned()));
        }
        if matches!(text.rsplit('/').next(), Some("" | "." | "..")) {
            return Err(SourceError::Directory(text.to_owned()));
        }
        Ok(SourceSpec::Path(PathBuf::from(text)))
    }
}

/// Whether the text begins with a scheme (RFC 3986) and `://`.
fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<SourceSpec>().unwrap_err().to_string()
    }

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!("-".parse(), Ok(SourceSpec::Standard));
    }

    #[test]
    fn what_is_nothing_else_is_a_path() {
        for path in [
            "camera.fifo",
            "/dev/video0",
            "./-",
            "./test:1MB/s",
            "a b",
            "test",
            "a:b",
            "./http://x",
            "...",
        ] {
            assert_eq!(path.parse(), Ok(SourceSpec::Path(PathBuf::from(path))));
        }
    }

    #[test]
    fn a_test_stream_is_parsed_with_its_frames() {
        let spec = "test:200MB/s,frame=1MB..2MB".parse();
        let Ok(SourceSpec::Synthetic(synthetic)) = spec else {
            panic!("{spec:?}");
        };
        assert_eq!(synthetic.rate_bytes_per_s, 200_000_000);
        assert_eq!(synthetic.frame_bytes, Some(1_000_000..=2_000_000));
    }

    #[test]
    fn what_is_no_source_is_refused_in_words_that_say_what_is_one() {
        for (text, words) in [
            ("", "is empty"),
            (" ", "is empty"),
            ("--frames", "write ./--frames for a file"),
            ("rtsp://camera/1", "write to a pipe"),
            ("/tmp/", "is a directory"),
            ("..", "is a directory"),
            ("a\0b", "zero byte"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(words), "{refusal}");
            assert!(refusal.contains("test:200MB/s"), "{refusal}");
        }
        assert!(refusal("test:").contains("test:200MB/s"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC{0,16}") {
            let _ = text.parse::<SourceSpec>();
        }
    }
}
