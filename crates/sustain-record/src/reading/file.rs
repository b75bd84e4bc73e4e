//! A stream as a file, with read and seek. It never passes over a loss: reading there is an error
//! that names the range, unless zeros were asked for.

use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::ops::Range as Span;

use super::part::StreamPart;
use super::range::Range;
use super::scope::Scope;
use super::stream::StreamReader;

/// What to return where bytes are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossHandling {
    /// An error of kind `InvalidData` with a [`LostRange`] inside. To go on, seek behind it.
    IsError,
    /// Zeros.
    FillZeros,
}

/// Bytes of a stream that are not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bytes {} to {} of the stream are lost: {why}", .range.start, .range.end)]
pub struct LostRange {
    /// The range; the loss may go on behind it.
    pub range: Span<u64>,
    /// How they were lost.
    pub why: String,
}

/// A stream of a recording as a file. A recording with an open end ends where nothing more is
/// known.
pub struct StreamFile {
    scope: Scope,
    stream: u16,
    lost: LossHandling,
    position_bytes: u64,
    reader: Option<StreamReader>,
    part: Option<StreamPart>,
    end_bytes: Option<u64>,
}

impl StreamFile {
    /// Opens a stream of a recording from its first byte on. Nothing is read before it is asked
    /// for.
    pub fn new(scope: &Scope, stream: u16, lost: LossHandling) -> StreamFile {
        StreamFile {
            scope: scope.clone(),
            stream,
            lost,
            position_bytes: 0,
            reader: None,
            part: None,
            end_bytes: scope.wanted(stream, 0).offered_bytes,
        }
    }

    /// The part at the position; `None` at the end.
    fn part(&mut self) -> Result<Option<&StreamPart>> {
        let at = self.position_bytes;
        while self.part.as_ref().is_none_or(|part| part.end_bytes() <= at) {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => {
                    let range = Range::Bytes(at..u64::MAX);
                    let opened = StreamReader::open(&self.scope, self.stream, &range);
                    none.insert(opened.map_err(Error::other)?)
                }
            };
            match reader.next() {
                Some(part) => self.part = Some(part.map_err(Error::other)?),
                None => return Ok(None),
            }
        }
        Ok(self.part.as_ref())
    }

    fn end_bytes(&mut self) -> Result<u64> {
        if let Some(end_bytes) = self.end_bytes {
            return Ok(end_bytes);
        }
        let from = self.position_bytes.min(self.scope.known_bytes(self.stream));
        self.forget();
        let reader = StreamReader::open(&self.scope, self.stream, &Range::Bytes(from..u64::MAX));
        let mut end_bytes = from;
        for part in reader.map_err(Error::other)? {
            end_bytes = part.map_err(Error::other)?.end_bytes();
        }
        self.end_bytes = Some(end_bytes);
        Ok(end_bytes)
    }

    fn forget(&mut self) {
        self.reader = None;
        self.part = None;
    }
}

impl Read for StreamFile {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        let at = self.position_bytes;
        let lost = self.lost;
        let Some(part) = self.part()? else {
            return Ok(0);
        };
        let skip = at - part.offset_bytes();
        let count = (part.length_bytes() - skip).min(to.len() as u64) as usize;
        match part {
            StreamPart::Data { bytes, .. } => {
                let from = &bytes[skip as usize..skip as usize + count];
                to[..count].copy_from_slice(from);
            }
            _ if lost == LossHandling::FillZeros => to[..count].fill(0),
            lost => {
                let lost = LostRange {
                    range: at..lost.end_bytes(),
                    why: why(lost),
                };
                return Err(Error::new(ErrorKind::InvalidData, lost));
            }
        }
        self.position_bytes += count as u64;
        Ok(count)
    }
}

impl Seek for StreamFile {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(offset) => self.position_bytes.checked_add_signed(offset),
            SeekFrom::End(offset) => self.end_bytes()?.checked_add_signed(offset),
        };
        let position = position.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidInput,
                "there is nothing before the start of a stream",
            )
        })?;
        let is_within =
            |part: &StreamPart| (part.offset_bytes()..part.end_bytes()).contains(&position);
        if position != self.position_bytes && !self.part.as_ref().is_some_and(is_within) {
            // Just behind the part that is held, the reader can go on.
            if self
                .part
                .as_ref()
                .is_none_or(|part| part.end_bytes() != position)
            {
                self.forget();
            }
        }
        self.position_bytes = position;
        Ok(position)
    }
}

fn why(part: &StreamPart) -> String {
    match part {
        StreamPart::Gap { reason, .. } => reason.to_string(),
        StreamPart::Hole { why, .. } => why.to_string(),
        StreamPart::Overwritten { .. } => "the ring has overwritten them".to_owned(),
        StreamPart::Data { .. } | StreamPart::OpenEnd { .. } => {
            "nothing is known of them".to_owned()
        }
    }
}
