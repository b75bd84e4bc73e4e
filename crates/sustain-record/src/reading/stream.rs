//! One stream of a recording, or a range of it, as its parts in order. The command reads with it;
//! files and frames are made of it.

use super::choice::{Choice, Chooser};
use super::locate::Start;
use super::located_byte::LocatedByte;
use super::merge::Wanted;
use super::order::{HOLD_BYTES_MAX, PartOrder};
use super::part::StreamPart;
use super::parts::{Background, Parts};
pub use super::range::Range;
use super::scope::Scope;
use super::window::WantedWindow;
use crate::error::RecordError;
use crate::source::framing::Framing;

/// The parts of one stream in order. A loss is a part, too. In a range of time, or of frames of
/// which some are lost, unwanted parts in between are left out. After an error the stream is at its
/// end. `P` is where they are read: one that reads in a thread of its own can pass between threads.
pub struct StreamReader<P = PartSource> {
    parts: Option<P>,
    end_bytes: u64,
    /// Where the stream ends for its readers, if it goes on behind that.
    known_end_bytes: Option<u64>,
    next_bytes: u64,
    framing: Framing,
    chooser: Option<Chooser>,
    choice: Option<Choice>,
    /// Where no wanted frame begins any more, if that is known.
    window_end: Option<LocatedByte>,
    /// Frames of the whole stream; `None` while it is recorded to.
    frames: Option<u64>,
    /// Where the rest of the stream begins, if a ring has overwritten what lies before.
    readable: LocatedByte,
    /// Frames that have begun before the first part, if that is known.
    next_number: Option<u64>,
    is_overwritten: bool,
    /// Copies of the parts of the window, wanted or not, for who asks for them.
    tapped: Option<Vec<StreamPart>>,
}

/// Where the parts of a stream are read.
pub enum PartSource {
    /// In the caller's thread, from simulated members.
    Here(Box<Parts>),
    /// In a thread of their own.
    Background(Background),
}

/// The parts of some streams in order, each with the number of its stream.
pub trait OrderedParts: Iterator<Item = Result<(u16, StreamPart), RecordError>> {}

impl<P: Iterator<Item = Result<(u16, StreamPart), RecordError>>> OrderedParts for P {}

impl Iterator for PartSource {
    type Item = Result<(u16, StreamPart), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            PartSource::Here(parts) => parts.next(),
            PartSource::Background(parts) => parts.next(),
        }
    }
}

impl StreamReader {
    /// Opens a stream of a recording for reading. Real members are read in a thread of their own,
    /// simulated ones in the caller's thread. A simulated machine serves one reader at a time.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if there is no such stream; other errors if the members cannot be
    /// driven.
    pub fn open(scope: &Scope, stream: u16, range: &Range) -> Result<StreamReader, RecordError> {
        StreamReader::over(scope, stream, range, None, |order| {
            Ok(if scope.is_simulated() {
                PartSource::Here(Box::new(Parts::open(scope, order)?))
            } else {
                PartSource::Background(Background::start(scope, order)?)
            })
        })
    }
}

impl StreamReader<Background> {
    /// Opens a stream of a recording on real members like [`StreamReader::open`], for whoever may
    /// be in any thread. With `reads_ahead` no more is read ahead of what is taken than so many
    /// reads of each member; else as much as is useful.
    ///
    /// # Errors
    /// The same as of [`StreamReader::open`].
    pub fn open_between_threads(
        scope: &Scope,
        stream: u16,
        range: &Range,
        reads_ahead: Option<usize>,
    ) -> Result<StreamReader<Background>, RecordError> {
        StreamReader::over(scope, stream, range, reads_ahead, |order| {
            Background::start(scope, order)
        })
    }
}

impl<P> StreamReader<P> {
    /// Opens it over the parts that `read` makes of an order.
    fn over(
        scope: &Scope,
        stream: u16,
        range: &Range,
        reads_ahead: Option<usize>,
        read: impl FnOnce(&PartOrder) -> Result<P, RecordError>,
    ) -> Result<StreamReader<P>, RecordError> {
        let Some(framing) = scope.framings.get(usize::from(stream)).copied() else {
            return Err(RecordError::Usage(format!(
                "the recording has no stream {stream}: it has {}, counted from 0",
                scope.framings.len()
            )));
        };
        let window = WantedWindow::of(scope, stream, range)?;
        let wanted = scope.wanted(stream, window.start_bytes);
        let parts = read(&PartOrder {
            reads_ahead,
            ..order(scope, wanted, window.located.clone())
        })?;
        let frames = scope.known_frames(stream);
        let is_framed = framing != Framing::None || frames > 0;
        let readable = scope.readable(stream);
        let overwritten_before = window.is_overwritten.then_some(readable.bytes);
        let chooser = window
            .choice
            .clone()
            .map(|choice| Chooser::new(choice, is_framed, window.next_number, overwritten_before));
        Ok(StreamReader {
            parts: (!window.is_empty()).then_some(parts),
            end_bytes: window.end_bytes,
            known_end_bytes: scope.ends_at_bytes(stream),
            next_bytes: window.start_bytes,
            framing,
            chooser,
            choice: window.choice,
            window_end: window.end,
            frames: (!scope.under_way).then_some(frames),
            readable,
            next_number: window.next_number,
            is_overwritten: window.is_overwritten,
            tapped: None,
        })
    }

    /// Keeps a copy of each part of the window for [`StreamReader::take_tapped`].
    pub(super) fn tapped(self) -> StreamReader<P> {
        StreamReader {
            tapped: Some(Vec::new()),
            ..self
        }
    }

    /// The parts of the window since the last call, wanted or not.
    pub(super) fn take_tapped(&mut self) -> Vec<StreamPart> {
        self.tapped.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// How its frames are told apart.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Offset in the stream at which the next part begins.
    pub fn next_bytes(&self) -> u64 {
        self.next_bytes
    }

    /// Whether the stream may go on there, but no more of it is wanted, or none can be read yet.
    pub(super) fn is_cut_at(&self, offset_bytes: u64) -> bool {
        offset_bytes == self.end_bytes || Some(offset_bytes) == self.known_end_bytes
    }

    /// Which frames are wanted of what [`StreamReader::next_in_window`] returns; `None` if all are.
    pub(super) fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// Frames that have begun before what is read next, if nothing was read yet and it is known.
    pub(super) fn next_number(&self) -> Option<u64> {
        self.next_number
    }

    /// Where the rest that a ring has left begins, and whether wanted frames may have lain before.
    pub(super) fn readable(&self) -> (LocatedByte, bool) {
        (self.readable, self.is_overwritten)
    }

    /// Whether no wanted frame begins in what is read next.
    pub(super) fn is_behind_window(&self) -> bool {
        self.window_end
            .is_some_and(|end| self.next_bytes >= end.bytes)
    }

    /// Frames that have begun before the end of what is wanted, if that is known, and whether the
    /// stream ends there.
    pub(super) fn frames_at_end(&self) -> (Option<u64>, bool) {
        match self.window_end {
            Some(end) => (Some(end.frames), false),
            None if self.end_bytes == u64::MAX => (self.frames, true),
            None => (None, false),
        }
    }
}

impl<P: OrderedParts> StreamReader<P> {
    /// Returns the next part, wanted or not.
    pub(super) fn next_in_window(&mut self) -> Option<Result<StreamPart, RecordError>> {
        let part = match self.parts.as_mut()?.next() {
            Some(Ok((_, part))) => part.before(self.end_bytes),
            Some(Err(error)) => {
                self.parts = None;
                return Some(Err(error));
            }
            None => None,
        };
        match &part {
            Some(part) => {
                self.next_bytes = part.end_bytes();
                self.tapped
                    .iter_mut()
                    .for_each(|tapped| tapped.push(part.clone()));
            }
            None => self.parts = None,
        }
        if self.next_bytes >= self.end_bytes {
            self.parts = None;
        }
        part.map(Ok)
    }
}

impl<P: OrderedParts> Iterator for StreamReader<P> {
    type Item = Result<StreamPart, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.choice.is_none() {
            return self.next_in_window();
        }
        loop {
            let is_behind_window = self.is_behind_window();
            let chooser = self.chooser.as_mut()?;
            if let Some(part) = chooser.pop() {
                return Some(Ok(part));
            }
            if chooser.is_past() || is_behind_window && !chooser.is_within() {
                self.parts = None;
            }
            match self.next_in_window() {
                Some(Ok(part)) => self.chooser.as_mut()?.take(&part),
                Some(Err(error)) => {
                    self.chooser = None;
                    return Some(Err(error));
                }
                None => {
                    let (frames, is_end_of_stream) = self.frames_at_end();
                    let chooser = self.chooser.as_mut()?;
                    if chooser.is_finished() {
                        return None;
                    }
                    chooser.finish(frames, is_end_of_stream);
                }
            }
        }
    }
}

fn order(scope: &Scope, wanted: Wanted, start: Option<Start>) -> PartOrder {
    let from_start = || {
        scope
            .members
            .iter()
            .map(|member| member.slots.start)
            .collect()
    };
    PartOrder {
        wanted: vec![wanted],
        first_slots: start.map_or_else(from_start, |start| start.first_slots),
        reads_ahead: None,
        hold_bytes_max: HOLD_BYTES_MAX,
    }
}
