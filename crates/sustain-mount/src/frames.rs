//! Finds frames by their numbers, and remembers for a while where they are: who lists a directory
//! asks for one after the other, and for each one more than once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use sustain_record::reading::frames::{Frame, FrameReader, Framed};
use sustain_record::reading::parts::Background;
use sustain_record::reading::stream::{Range, StreamReader};

use crate::cursor::ReadFailure;
use crate::lock::lock;
use crate::view::ShownRecording;

/// Frames whose places are remembered, and of which a part of a directory of a thousand is read in
/// order.
const REMEMBERED_MAX: usize = 100_000;
/// From the frame that was found last, so many are read over to another one.
const REACH_FRAMES: u64 = 32;
/// Places in streams that are kept for whoever asks for the next frame.
const READERS_MAX: usize = 4;

/// Where a frame lies in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameExtent {
    /// Offset of its first byte, behind a length that stands before it.
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u64,
    /// When its first byte arrived, in nanoseconds since 1970.
    pub(crate) time_ns: i64,
}

/// What was found of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoundFrame {
    Whole(FrameExtent),
    /// Its end has not come: it is no file yet.
    Unfinished,
    /// A part of it is lost.
    Lost,
}

/// Frames that were looked for last.
#[derive(Default)]
pub(crate) struct FrameShelf {
    found: Mutex<FoundFrames>,
}

/// A recording, by its place in the order in which the mount met them, its stream and its frame.
type FrameKey = (u16, u16, u64);

#[derive(Default)]
struct FoundFrames {
    places: HashMap<FrameKey, FrameExtent>,
    /// The order in which they were found.
    order: VecDeque<FrameKey>,
    readers: VecDeque<ReaderOfFrames>,
}

struct ReaderOfFrames {
    recording: u16,
    stream: u16,
    next: u64,
    /// It was opened to read up to here. Frames that came since are not known to it.
    end: u64,
    frames: FrameReader<Background>,
}

impl FrameShelf {
    /// Finds a frame.
    pub(crate) fn place(
        &self,
        shown: &ShownRecording,
        stream: u16,
        number: u64,
    ) -> Result<FrameExtent, ReadFailure> {
        let mut found = self.found();
        if let Some(place) = found.places.get(&(shown.slot, stream, number)) {
            return Ok(*place);
        }
        let near = found.take_reader(shown, stream, number);
        drop(found);
        // What a reader that was opened before does not find may have come since.
        let place = match near {
            Some(near) => self.read_to(shown, near, number)?,
            None => None,
        };
        let place = match place {
            Some(place) => Some(place),
            None => {
                let reader = ReaderOfFrames::open(shown, stream, number)?;
                self.read_to(shown, reader, number)?
            }
        };
        match place {
            Some(FoundFrame::Whole(place)) => Ok(place),
            Some(FoundFrame::Unfinished) => Err(ReadFailure::Unfinished),
            Some(FoundFrame::Lost) | None => Err(ReadFailure::Lost),
        }
    }

    /// Reads on to a frame; `None` if it is not there. Others are not kept waiting meanwhile: a
    /// member may not answer for long.
    fn read_to(
        &self,
        shown: &ShownRecording,
        mut reader: ReaderOfFrames,
        number: u64,
    ) -> Result<Option<FoundFrame>, ReadFailure> {
        loop {
            let Some((at, place)) = reader.next(shown, number)? else {
                return Ok(None);
            };
            if let FoundFrame::Whole(place) = place {
                let key = (reader.recording, reader.stream, at);
                self.found().remember(key, place);
            }
            if at >= number {
                let mut found = self.found();
                found.readers.truncate(READERS_MAX - 1);
                found.readers.push_front(reader);
                return Ok((at == number).then_some(place));
            }
        }
    }

    fn found(&self) -> MutexGuard<'_, FoundFrames> {
        lock(&self.found)
    }
}

impl FoundFrames {
    fn take_reader(
        &mut self,
        shown: &ShownRecording,
        stream: u16,
        number: u64,
    ) -> Option<ReaderOfFrames> {
        let is_near = |one: &ReaderOfFrames| {
            one.recording == shown.slot
                && one.stream == stream
                && (one.next..one.end.min(one.next + REACH_FRAMES)).contains(&number)
        };
        let near = self.readers.iter().position(is_near)?;
        self.readers.remove(near)
    }

    fn remember(&mut self, key: FrameKey, place: FrameExtent) {
        if self.places.insert(key, place).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.places.remove(&oldest);
        }
    }
}

impl ReaderOfFrames {
    fn open(
        shown: &ShownRecording,
        stream: u16,
        number: u64,
    ) -> Result<ReaderOfFrames, ReadFailure> {
        let end = shown
            .frames(stream)
            .map_or(number, |frames| frames.end)
            .max(number + 1);
        let range = Range::Frames(number..end);
        let parts = StreamReader::open_between_threads(&shown.scope, stream, &range, Some(1));
        Ok(ReaderOfFrames {
            recording: shown.slot,
            stream,
            next: number,
            end,
            frames: FrameReader::new(parts.map_err(ReadFailure::Members)?),
        })
    }

    /// Reads on to the next frame that is there: its number, and what was found of it. What is lost
    /// before `wanted` is passed over. `None` if it is known not to come.
    fn next(
        &mut self,
        shown: &ShownRecording,
        wanted: u64,
    ) -> Result<Option<(u64, FoundFrame)>, ReadFailure> {
        let stream = shown.stream(self.stream);
        let is_last_line = |frame: &Frame| {
            stream.is_some_and(|stream| frame.is_last_line_of(&shown.recording, stream))
        };
        for framed in self.frames.by_ref() {
            match framed.map_err(ReadFailure::Members)? {
                Framed::Frame(frame) => {
                    self.next = frame.number + 1;
                    let length = frame.body().len();
                    let place = FrameExtent {
                        offset_bytes: frame.offset_bytes + (frame.bytes.len() - length) as u64,
                        length_bytes: length as u64,
                        time_ns: frame.time_ns,
                    };
                    let found = match frame.loss {
                        _ if frame.whole || is_last_line(&frame) => FoundFrame::Whole(place),
                        None => FoundFrame::Unfinished,
                        Some(_) => FoundFrame::Lost,
                    };
                    return Ok(Some((frame.number, found)));
                }
                Framed::Missing { numbers, .. } => {
                    self.next = numbers.end;
                    if numbers.contains(&wanted) {
                        return Ok(Some((wanted, FoundFrame::Lost)));
                    }
                }
                Framed::Overwritten { oldest, .. } if oldest > wanted => return Ok(None),
                Framed::Overwritten { .. } => {}
            }
        }
        Ok(None)
    }
}
