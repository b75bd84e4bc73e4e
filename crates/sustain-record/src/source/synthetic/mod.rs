//! The synthetic source, which makes a stream to try a recording with and to check it afterwards:
//! its bytes, its frames and the times at which they arrive. The recorder uses it in the place of a
//! source, and readers use it to check such a recording. It does not know the time; callers say how
//! much of it has passed.

mod content;
mod frames;

use std::ops::RangeInclusive;
use std::str::FromStr;

use sustain_disk::units::{self, UnitError};

pub use content::{Content, seed_of};
pub use frames::Frames;

/// The prefix of the name of a synthetic source.
pub const PREFIX: &str = "test:";

/// The largest frame: 1 TiB.
pub const FRAME_BYTES_MAX: u64 = 1 << 40;

const NS_PER_S: u128 = 1_000_000_000;

/// A synthetic stream, as named on the command line: `test:RATE[,frame=SIZE[..SIZE]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntheticSpec {
    /// The rate in whole bytes per second, at least 1.
    pub rate_bytes_per_s: u64,
    /// The sizes of frames, from 1 byte to [`FRAME_BYTES_MAX`]; `None` for a stream without frames.
    pub frame_bytes: Option<RangeInclusive<u64>>,
}

/// Why a text does not name a synthetic stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntheticError {
    /// The text begins with something else.
    #[error("{0:?} does not begin with test: as in test:200MB/s")]
    Prefix(String),
    /// The rate cannot be read.
    #[error("the rate of a test stream, as in test:200MB/s: {0}")]
    Rate(UnitError),
    /// The rate is below one byte per second.
    #[error("{0:?}: a test stream has at least 1B/s, as in test:200MB/s")]
    Slow(String),
    /// The rate is followed by something other than `frame=`.
    #[error(
        "{0:?} is not an option of a test stream; use frame= with a size or a range of sizes, as \
         in test:200MB/s,frame=1MB..2MB"
    )]
    OptionUnknown(String),
    /// The text has `frame=` twice.
    #[error(
        "frame= is given twice; for frames of different sizes give a range, as in \
         test:200MB/s,frame=1MB..2MB"
    )]
    FrameTwice,
    /// A frame size cannot be read.
    #[error("the frames of a test stream, as in test:200MB/s,frame=1MB..2MB: {0}")]
    FrameSize(UnitError),
    /// The range ends before it begins.
    #[error("frame={0}: the smaller size comes first, as in frame=1MB..2MB")]
    FrameReversed(String),
    /// A frame has no bytes, or too many.
    #[error("frame={0}: a frame of a test stream has from 1 byte to 1TiB, as in frame=1MB..2MB")]
    FrameBounds(String),
}

impl FromStr for SyntheticSpec {
    type Err = SyntheticError;

    fn from_str(text: &str) -> Result<SyntheticSpec, SyntheticError> {
        let Some(text_behind) = text.strip_prefix(PREFIX) else {
            return Err(SyntheticError::Prefix(text.to_owned()));
        };
        let mut parts = text_behind.split(',');
        let rate_text = parts.next().unwrap_or_default();
        let rate_bytes_per_s = units::parse_rate(rate_text).map_err(SyntheticError::Rate)?;
        if rate_bytes_per_s < 1.0 {
            return Err(SyntheticError::Slow(text.to_owned()));
        }
        let mut frame_bytes = None;
        for option in parts {
            let Some(sizes) = option.strip_prefix("frame=") else {
                return Err(SyntheticError::OptionUnknown(option.to_owned()));
            };
            if frame_bytes.replace(parse_frame_bytes(sizes)?).is_some() {
                return Err(SyntheticError::FrameTwice);
            }
        }
        Ok(SyntheticSpec {
            // The rounded rate counts from here on, because everything below works in whole bytes.
            rate_bytes_per_s: rate_bytes_per_s.round() as u64,
            frame_bytes,
        })
    }
}

/// Parses `1MB..2MB` or `1MB`.
fn parse_frame_bytes(text: &str) -> Result<RangeInclusive<u64>, SyntheticError> {
    let size = |text| units::parse_size(text).map_err(SyntheticError::FrameSize);
    let (smallest, largest) = match text.split_once("..") {
        Some((smallest, largest)) => (size(smallest)?, size(largest)?),
        None => (size(text)?, size(text)?),
    };
    if largest < smallest {
        return Err(SyntheticError::FrameReversed(text.to_owned()));
    }
    if smallest == 0 || largest > FRAME_BYTES_MAX {
        return Err(SyntheticError::FrameBounds(text.to_owned()));
    }
    Ok(smallest..=largest)
}

/// One synthetic stream.
#[derive(Debug, Clone)]
pub struct Synthetic {
    rate_bytes_per_s: u64,
    content: Content,
    frames: Option<Frames>,
}

impl Synthetic {
    /// Makes the stream with this seed. The caller takes [`seed_of`] the stream's name, so that the
    /// stream can be checked by its name alone.
    ///
    /// # Panics
    /// If the rate is zero or a frame size is out of bounds, which no parsed `spec` has.
    pub fn new(spec: &SyntheticSpec, seed: u64) -> Synthetic {
        assert!(spec.rate_bytes_per_s > 0, "a rate must be above zero");
        Synthetic {
            rate_bytes_per_s: spec.rate_bytes_per_s,
            content: Content::new(seed),
            frames: spec
                .frame_bytes
                .clone()
                .map(|frame_bytes| Frames::new(frame_bytes, seed)),
        }
    }

    /// Fills `buffer` with the bytes of the stream from `position_bytes` on.
    pub fn fill(&self, position_bytes: u64, buffer: &mut [u8]) {
        self.content.fill(position_bytes, buffer);
    }

    /// Returns the position of the first wrong byte, if there is one.
    pub fn check(&self, position_bytes: u64, bytes: &[u8]) -> Option<u64> {
        self.content.check(position_bytes, bytes)
    }

    /// The frames of the stream; `None` for a stream without frames.
    pub fn frames(&self) -> Option<&Frames> {
        self.frames.as_ref()
    }

    /// Returns the bytes of the stream that have arrived `elapsed_ns` after its start: the whole
    /// part of rate times time, multiplied once from the start, so that no errors add up. A frame
    /// arrives as a whole when its last byte is due, as a camera hands it over.
    pub fn available_bytes(&self, elapsed_ns: u64) -> u64 {
        let bytes = u128::from(self.rate_bytes_per_s) * u128::from(elapsed_ns) / NS_PER_S;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        match &self.frames {
            Some(frames) => frames.start_bytes(frames.containing(bytes)),
            None => bytes,
        }
    }

    /// Returns the first nanosecond after the start at which the stream up to `position_bytes` has
    /// arrived: `available_bytes` is at least `position_bytes` from then on, and less before.
    /// Returns [`u64::MAX`] if that is too far away to count.
    pub fn due_ns(&self, position_bytes: u64) -> u64 {
        let bytes = match &self.frames {
            Some(frames) => frames.end_at_or_behind(position_bytes),
            None => position_bytes,
        };
        let due_ns = (u128::from(bytes) * NS_PER_S).div_ceil(u128::from(self.rate_bytes_per_s));
        u64::try_from(due_ns).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn synthetic(text: &str) -> Synthetic {
        Synthetic::new(&text.parse().unwrap(), seed_of("camera"))
    }

    #[test]
    fn rates_and_frames_are_parsed() {
        for (text, rate_bytes_per_s, frame_bytes) in [
            ("test:200MB/s", 200_000_000, None),
            ("test:1.5GiB/s", 3 << 29, None),
            ("test:1.6B/s", 2, None),
            (
                "test:11.226MB/s,frame=64KiB",
                11_226_000,
                Some(65_536..=65_536),
            ),
            ("test:1kB/s,frame=1..2.5kB", 1_000, Some(1..=2_500)),
            ("test:1kB/s,frame=1TiB", 1_000, Some(1 << 40..=1 << 40)),
        ] {
            let spec = SyntheticSpec {
                rate_bytes_per_s,
                frame_bytes,
            };
            assert_eq!(text.parse(), Ok(spec), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_an_example() {
        for (text, words) in [
            ("file", "does not begin with test:"),
            ("test:", "not a rate"),
            ("test:200", "no unit"),
            ("test:200MB", "expected a rate, for example|unknown unit"),
            ("test:0MB/s", "above zero"),
            ("test:0.9B/s", "at least 1B/s"),
            ("test:1MB/s,", "\"\" is not an option"),
            ("test:1MB/s,frames=1MB", "\"frames=1MB\" is not an option"),
            ("test:1MB/s,frame=", "not a size"),
            ("test:1MB/s,frame=4G", "GiB (1073741824 bytes)"),
            ("test:1MB/s,frame=1MB..", "not a size"),
            ("test:1MB/s,frame=1MB..2MB..3MB", "not a size|unknown unit"),
            ("test:1MB/s,frame=2MB..1MB", "smaller size comes first"),
            ("test:1MB/s,frame=0", "from 1 byte to 1TiB"),
            ("test:1MB/s,frame=0..1MB", "from 1 byte to 1TiB"),
            ("test:1MB/s,frame=1MB..2TiB", "from 1 byte to 1TiB"),
            ("test:1MB/s,frame=1MB,frame=2MB", "twice"),
        ] {
            let refusal = text.parse::<SyntheticSpec>().unwrap_err().to_string();
            assert!(
                words.split('|').any(|words| refusal.contains(words)),
                "{refusal}"
            );
            assert!(refusal.contains("test:200MB/s") || refusal.contains("frame=1MB..2MB"));
        }
    }

    #[test]
    fn bytes_arrive_at_the_rate_and_never_late_by_rounding() {
        let stream = synthetic("test:3B/s");
        for (elapsed_ns, bytes) in [
            (0, 0),
            (333_333_333, 0),
            (333_333_334, 1),
            (666_666_667, 2),
            (999_999_999, 2),
            (1_000_000_000, 3),
            // A hundred years on it is still exact.
            (3_155_760_000_000_000_000, 9_467_280_000),
        ] {
            assert_eq!(stream.available_bytes(elapsed_ns), bytes, "{elapsed_ns}");
        }
        assert_eq!(stream.due_ns(0), 0);
        assert_eq!(stream.due_ns(1), 333_333_334);
        assert_eq!(stream.due_ns(3), 1_000_000_000);
        assert_eq!(stream.due_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_largest_rates_and_times_are_answered() {
        let stream = synthetic("test:16777215TiB/s");
        assert_eq!(stream.available_bytes(u64::MAX), u64::MAX);
        assert!(stream.due_ns(u64::MAX) <= 1_000_001_000);
        let framed = synthetic("test:16777215TiB/s,frame=1TiB");
        let available = framed.available_bytes(u64::MAX);
        assert!(u64::MAX - available < 1 << 40);
        assert!(framed.due_ns(u64::MAX) <= 1_000_001_000);
    }

    #[test]
    fn a_frame_arrives_at_once_when_its_last_byte_is_due() {
        let stream = synthetic("test:1kB/s,frame=100");
        assert_eq!(stream.available_bytes(99_999_999), 0);
        assert_eq!(stream.available_bytes(100_000_000), 100);
        assert_eq!(stream.available_bytes(199_999_999), 100);
        assert_eq!(stream.due_ns(0), 0);
        assert_eq!(stream.due_ns(1), 100_000_000);
        assert_eq!(stream.due_ns(100), 100_000_000);
        assert_eq!(stream.due_ns(101), 200_000_000);
    }

    proptest! {
        #[test]
        fn due_is_the_first_instant_at_which_the_bytes_are_there(
            rate in 1u64..1 << 36,
            smallest in 1u64..1 << 24,
            spread in 0u64..1 << 24,
            framed: bool,
            position in 1u64..1 << 50,
        ) {
            let frame_bytes = framed.then_some(smallest..=smallest + spread);
            let spec = SyntheticSpec { rate_bytes_per_s: rate, frame_bytes };
            let stream = Synthetic::new(&spec, rate ^ position);
            let due_ns = stream.due_ns(position);
            prop_assume!(due_ns < u64::MAX);
            prop_assert!(stream.available_bytes(due_ns) >= position);
            prop_assert!(stream.available_bytes(due_ns - 1) < position);
        }

        #[test]
        fn what_has_arrived_was_due(rate in 1u64..1 << 36, elapsed_ns: u64, framed: bool) {
            let spec = SyntheticSpec {
                rate_bytes_per_s: rate,
                frame_bytes: framed.then_some(1000..=5000),
            };
            let stream = Synthetic::new(&spec, rate);
            let available = stream.available_bytes(elapsed_ns);
            prop_assert!(stream.due_ns(available) <= elapsed_ns);
            if available < u64::MAX - 5000 {
                prop_assert!(stream.due_ns(available + 1) > elapsed_ns);
            }
        }

        #[test]
        fn any_text_is_answered(text in "test:\\PC{0,16}|test:1MB/s,frame=[0-9.kMTiB]{0,9}") {
            let _ = text.parse::<SyntheticSpec>();
        }
    }
}
