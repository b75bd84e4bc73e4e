//! The recording, the stream and the range that the flags select from a store. It is pure.

use sustain::record::opening::{Recording, StreamSummary};
use sustain::record::reading::readable::KeptByPin;
use sustain::record::reading::scope::Scope;
use sustain::record::reading::stream::Range;
use sustain::record::source::framing::Framing;
use sustain::record::store::Store;

use super::range;
use crate::flags::extract::ExtractFlags;
use crate::usage_error::UsageError;

/// A stream of a recording, and the range of it that is wanted.
pub(super) struct Selection<'a> {
    pub(super) recording: &'a Recording,
    /// The stream's number in the recording.
    pub(super) number: u16,
    pub(super) stream: &'a StreamSummary,
    pub(super) range: Range,
    /// Whether no range is asked for. From a ring, the rest that is left is read then.
    pub(super) is_all: bool,
    notices: Vec<String>,
}

impl<'a> Selection<'a> {
    /// Selects what the flags ask for from all recordings, newest first, or from those that a pin
    /// keeps. `around` is the range of time around a mark, if they ask for one.
    pub(super) fn of(
        flags: &ExtractFlags,
        (recordings, kept): (&'a [Recording], Option<&KeptByPin>),
        around: Option<std::ops::Range<i64>>,
    ) -> Result<Selection<'a>, UsageError> {
        let pin = kept.map(|kept| &kept.pin);
        let recording = chosen(flags, recordings)?;
        let (number, stream) = stream(flags.stream.as_deref(), recording)?;
        let mut selection = Selection {
            recording,
            number,
            stream,
            range: Range::All,
            is_all: range::is_all(flags) && pin.is_none(),
            notices: Vec::new(),
        };
        let notices = &mut selection.notices;
        selection.range = match (around, pin) {
            (Some(time), _) => range::time(stream, Some(time.start), Some(time.end))?,
            (None, Some(pin)) if range::is_all(flags) => range::of_pin(pin, stream, notices)?,
            (None, _) => range::of(flags, recording, stream, notices)?,
        };
        let cut_frames = kept.iter().flat_map(|kept| &kept.cut_frames);
        let cut = cut_frames.filter(|cut| {
            (cut.recording, cut.stream) == (recording.number, number)
                && cut.lies_in(&selection.range)
        });
        let notices = cut.map(|cut| cut.notice(recording.pin.unwrap_or_default()));
        let notices: Vec<String> = notices.collect();
        selection.notices.extend(notices);
        if pin.is_none() && recording.open_end {
            selection.notices.push(format!(
                "recording {} has an open end: a crash or a kill ended it, or it is still \
                 running. It is read as far as it is known",
                recording.number
            ));
        }
        Ok(selection)
    }

    /// Selects all of a stream.
    pub(super) fn all(
        number: Option<u32>,
        name: Option<&str>,
        recordings: &'a [Recording],
    ) -> Result<Selection<'a>, UsageError> {
        let recording = recording(number, recordings)?;
        let (number, stream) = stream(name, recording)?;
        let readable_bytes = stream.readable_from_bytes;
        Ok(Selection {
            recording,
            number,
            stream,
            range: match readable_bytes {
                0 => Range::All,
                _ => Range::Bytes(readable_bytes..u64::MAX),
            },
            is_all: true,
            notices: Vec::new(),
        })
    }

    pub(super) fn scope(&self, store: &Store) -> Scope {
        Scope::of(
            self.recording,
            &store.members,
            store.machines(),
            store.clock(),
        )
    }

    /// The scope for a range of bytes. One that begins where a ring has overwritten the stream on
    /// some members is read there, too: others may still have parts of it.
    pub(super) fn scope_of_bytes(&self, store: &Store) -> Scope {
        let scope = self.scope(store);
        let readable_bytes = self.stream.readable_from_bytes;
        match &self.range {
            Range::Bytes(span) if span.start < readable_bytes => {
                scope.with_overwritten(self.number)
            }
            _ => scope,
        }
    }

    /// Whether the rest of a ring that is recorded to is asked for, and was overwritten while the
    /// members were opened.
    pub(super) fn is_gone(&self) -> bool {
        let readable_bytes = self.stream.readable_from_bytes;
        self.is_all
            && self.recording.under_way
            && readable_bytes > 0
            && readable_bytes >= self.stream.offered_bytes
    }

    /// Says what is not there any more of what is asked for. `oldest` is the number of the oldest
    /// frame that may be left.
    pub(super) fn overwritten_words(&self, oldest: u64) -> String {
        range::overwritten_words(&self.range, self.stream, self.recording.pin, oldest)
    }

    /// Whether a recorder may write over what is read. What a pin keeps it leaves alone.
    pub(super) fn is_overtaken(&self) -> bool {
        self.recording.under_way && self.recording.pin.is_none()
    }

    /// Whether what is wanted may lie behind all that is known of the stream, if that goes on.
    pub(super) fn reaches_end(&self) -> bool {
        match &self.range {
            Range::All => true,
            Range::Bytes(span) => span.end > self.stream.offered_bytes,
            Range::Time(span) => span.end > self.stream.last_time_ns,
            Range::Frames(span) => span.end > self.stream.frames,
        }
    }

    /// Notes for the user before reading begins.
    pub(super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// How frames are told apart.
    pub(super) fn framing(&self) -> Framing {
        range::framing(self.stream)
    }

    /// Whether it has frames, or may still get some.
    pub(super) fn has_frames(&self) -> bool {
        range::has_frames(self.stream)
    }

    /// The number of bytes that are wanted, if that is known before.
    pub(super) fn length_bytes(&self) -> Option<u64> {
        match &self.range {
            Range::All => Some(self.stream.offered_bytes),
            Range::Bytes(span) => Some(span.end.min(self.stream.offered_bytes) - span.start),
            Range::Time(_) | Range::Frames(_) => None,
        }
    }
}

/// The recording that the flags ask for. What a pin keeps may be of several, none of which is more
/// likely meant than another.
pub(super) fn chosen<'a>(
    flags: &ExtractFlags,
    recordings: &'a [Recording],
) -> Result<&'a Recording, UsageError> {
    let Some(pin) = flags.pin else {
        return recording(flags.recording, recordings);
    };
    // Of one that begins just behind the time of a pin, its slots may have the start alone.
    let with_bytes = recordings.iter().filter(|one| one.arrival_ns().is_some());
    let mut kept: Vec<&Recording> = with_bytes.collect();
    if kept.is_empty() {
        kept = recordings.iter().collect();
    }
    let numbers = kept.iter().rev().map(|one| one.number.to_string());
    let numbers = some_of(&numbers.collect::<Vec<String>>());
    let wanted = flags.recording;
    let found = match (wanted, &kept[..]) {
        (_, []) => {
            return Err(UsageError(format!(
                "pin {pin} keeps nothing of a recording"
            )));
        }
        (Some(wanted), all) => all.iter().find(|one| one.number == wanted).copied(),
        (None, [only]) => Some(*only),
        (None, _) => {
            return Err(UsageError(format!(
                "pin {pin} keeps parts of several recordings ({numbers}): choose one with \
                 --recording"
            )));
        }
    };
    let wanted = wanted.unwrap_or_default();
    found.ok_or_else(|| {
        let why = format!("pin {pin} keeps nothing of recording {wanted}, but of {numbers}");
        UsageError(why)
    })
}

pub(super) fn recording(
    number: Option<u32>,
    recordings: &[Recording],
) -> Result<&Recording, UsageError> {
    let Some(newest) = recordings.first() else {
        return Err(UsageError("there is no recording on this store".to_owned()));
    };
    let Some(number) = number else {
        return Ok(newest);
    };
    let found = recordings
        .iter()
        .find(|recording| recording.number == number);
    found.ok_or_else(|| {
        let numbers = recordings
            .iter()
            .rev()
            .map(|recording| recording.number.to_string());
        UsageError(format!(
            "there is no recording {number}; the store has {}",
            some_of(&numbers.collect::<Vec<String>>())
        ))
    })
}

fn stream<'a>(
    name: Option<&str>,
    recording: &'a Recording,
) -> Result<(u16, &'a StreamSummary), UsageError> {
    let streams = || recording.streams.iter().enumerate();
    let number = recording.number;
    let names = || {
        some_of(
            &streams()
                .map(|(_, stream)| stream.name.clone())
                .collect::<Vec<String>>(),
        )
    };
    let of_sources: Vec<(usize, &StreamSummary)> =
        streams().filter(|(_, stream)| !stream.is_marks()).collect();
    let found = match (name, of_sources.as_slice()) {
        (Some(name), _) => streams()
            .find(|(index, stream)| {
                // Where the names are gone, streams are called by their numbers.
                stream.name == name || recording.started_ns.is_none() && name == index.to_string()
            })
            .ok_or_else(|| {
                let why = if recording.started_ns.is_none() {
                    ". No start of the recording can be read any more, and only these have the \
                     names of its streams, so they are called by their numbers: choose one of \
                     these with --stream"
                } else {
                    ""
                };
                format!(
                    "recording {number} has no stream {name}; it has {}{why}",
                    names()
                )
            }),
        (None, [only]) => Ok(*only),
        (None, []) => Err(format!("recording {number} has no stream")),
        (None, several) => Err(format!(
            "recording {number} has {} streams: choose one with --stream: {}",
            several.len(),
            names()
        )),
    };
    let (index, stream) = found.map_err(UsageError)?;
    Ok((index as u16, stream))
}

/// Returns the first names and the last one, if there are many.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 12;
    if names.len() <= SHOWN {
        return names.join(", ");
    }
    let (first, last) = (&names[..SHOWN - 2], &names[names.len() - 1]);
    format!("{}, ..., {last}", first.join(", "))
}
