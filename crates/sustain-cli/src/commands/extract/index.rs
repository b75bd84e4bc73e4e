//! Writes the index of frames: a line of CSV for each frame, which says when it arrived and where
//! it begins on a member, and a line for each stretch of frames that are lost.

use std::fs::File;
use std::io::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use sustain::record::document::time_text;
use sustain::record::reading::frames::{Frame, FrameLoss, Framed, IndexedReader};
use sustain::record::reading::part::StreamPart;
use sustain::record::reading::stream::StreamReader;
use sustain::record::store::Store;

use super::destination::Destination;
use super::durable;
use super::overwritten::OverwrittenRing;
use super::selection::Selection;
use super::watch::{WriteCall, WriteWatch};
use super::work::Work;

const GATHER_BYTES: usize = 64 << 10;

/// The columns, in their order.
const COLUMNS: [&str; 9] = [
    "frame",
    "frames",
    "time",
    "length_bytes",
    "stream_offset_bytes",
    "member",
    "device_offset_bytes",
    "adjacent_bytes",
    "state",
];

/// A line: a frame, or frames that are lost one after the other.
#[derive(Debug, Default, Serialize)]
struct IndexRow<'a> {
    frame: Option<u64>,
    frames: Option<u64>,
    time: Option<String>,
    length_bytes: Option<u64>,
    stream_offset_bytes: Option<u64>,
    member: Option<&'a str>,
    device_offset_bytes: Option<u64>,
    adjacent_bytes: Option<u64>,
    state: &'a str,
}

/// The index while it is written.
pub(super) struct FrameIndex<'a> {
    writer: csv::Writer<File>,
    watch: WriteWatch,
    name: String,
    /// The path, if the file is new.
    new: Option<PathBuf>,
    rows: u64,
    selection: &'a Selection<'a>,
    store: &'a Store,
    ring: OverwrittenRing<'a>,
}

impl<'a> FrameIndex<'a> {
    /// Begins an index with the line that names its columns.
    pub(super) fn create(
        destination: &Destination,
        selection: &'a Selection<'a>,
        store: &'a Store,
        work: &Work<'_>,
    ) -> anyhow::Result<FrameIndex<'a>> {
        let (file, new) = destination.open(work.stop)?;
        let name = destination.name();
        let watch = WriteWatch::of_file(&file, &name);
        let mut builder = csv::WriterBuilder::new();
        builder.has_headers(false).buffer_capacity(GATHER_BYTES);
        let mut index = FrameIndex {
            writer: builder.from_writer(file),
            watch,
            name,
            new: new.map(Path::to_owned),
            rows: 0,
            selection,
            store,
            ring: OverwrittenRing::new(store, selection),
        };
        index.put(&COLUMNS)?;
        // Where all is asked for, reading begins behind what a ring has overwritten.
        let gone = 0..selection.stream.readable_from_frame;
        if selection.is_all && !gone.is_empty() {
            index.lost(gone, "overwritten")?;
        }
        Ok(index)
    }

    /// Enters what an item of the stream tells.
    pub(super) fn take(&mut self, framed: &Framed) -> anyhow::Result<()> {
        match framed {
            Framed::Frame(frame) => self.frame(frame),
            Framed::Missing { numbers, loss, .. } => {
                let overwritten = match loss {
                    FrameLoss::Hole => self.ring.overwritten_of(numbers),
                    FrameLoss::Gap | FrameLoss::Overwritten => 0,
                };
                let (start, end) = (numbers.start, numbers.end);
                self.lost(
                    start..start + overwritten,
                    loss_word(FrameLoss::Overwritten),
                )?;
                self.lost(start + overwritten..end, loss_word(*loss))
            }
            Framed::Overwritten { numbers, .. } => match numbers {
                Some(numbers) => self.lost(numbers.clone(), loss_word(FrameLoss::Overwritten)),
                // How many of a time these were is not known any more.
                None => self.row(&IndexRow {
                    state: loss_word(FrameLoss::Overwritten),
                    ..IndexRow::default()
                }),
            },
        }
    }

    /// Writes what is gathered, and makes it durable.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let flushed = self.watch.during(WriteCall::Write, || self.writer.flush());
        flushed.with_context(|| format!("cannot write {}", self.name))?;
        let file = self.writer.get_ref();
        let length_bytes = file.metadata().map_or(0, |found| found.len());
        self.watch.during(WriteCall::Keep, || {
            durable::keep_file(file, &self.name, self.new.as_deref(), length_bytes)
        })
    }

    /// Removes a new file in which nothing but the names of the columns came to be.
    pub(super) fn discard_if_empty(self) {
        let FrameIndex { new, rows: 0, .. } = self else {
            return;
        };
        if let Some(new) = new {
            // If the file is gone already, that is fine.
            let _ = std::fs::remove_file(new);
        }
    }

    fn frame(&mut self, frame: &Frame) -> anyhow::Result<()> {
        let store = self.store;
        let member = frame.place.and_then(|place| {
            let mut members = store.members.iter();
            members.find(|member| member.index() == place.member)
        });
        let Selection {
            recording, stream, ..
        } = self.selection;
        let state = match frame.loss {
            _ if frame.whole || frame.is_last_line_of(recording, stream) => "whole",
            Some(loss) => loss_word(loss),
            None => "cut",
        };
        self.row(&IndexRow {
            frame: Some(frame.number),
            frames: Some(1),
            time: Some(time_text(frame.time_ns)),
            length_bytes: Some(frame.length_bytes),
            stream_offset_bytes: Some(frame.offset_bytes),
            member: member.map(|member| member.name.as_str()),
            device_offset_bytes: frame.place.map(|place| place.offset_bytes),
            adjacent_bytes: frame.place.map(|place| place.adjacent_bytes),
            state,
        })
    }

    fn lost(&mut self, numbers: Range<u64>, state: &str) -> anyhow::Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }
        self.row(&IndexRow {
            frame: Some(numbers.start),
            frames: Some(numbers.end - numbers.start),
            state,
            ..IndexRow::default()
        })
    }

    fn row(&mut self, row: &IndexRow<'_>) -> anyhow::Result<()> {
        self.rows += 1;
        self.put(row)
    }

    fn put(&mut self, row: &impl Serialize) -> anyhow::Result<()> {
        let writer = &mut self.writer;
        let written = self
            .watch
            .during(WriteCall::Write, || writer.serialize(row));
        written.map_err(fault).with_context(|| {
            format!(
                "cannot write {} beyond its first {} frames",
                self.name, self.rows
            )
        })
    }
}

fn loss_word(loss: FrameLoss) -> &'static str {
    match loss {
        FrameLoss::Gap => "gap",
        FrameLoss::Overwritten => "overwritten",
        FrameLoss::Hole => "hole",
    }
}

/// The error of the file, by which a reader who has closed a pipe is told from a full disk.
fn fault(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => Error::other(format!("{other:?}")),
    }
}

/// The parts of a stream, of which the frames are entered in an index as they pass.
pub(super) struct IndexedParts<'i, 'a> {
    reader: IndexedReader,
    index: &'i mut FrameIndex<'a>,
}

impl<'i, 'a> IndexedParts<'i, 'a> {
    pub(super) fn new(reader: StreamReader, index: &'i mut FrameIndex<'a>) -> Self {
        IndexedParts {
            reader: IndexedReader::new(reader),
            index,
        }
    }

    /// Enters what has begun of the last frame, where the rest was not wanted.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.reader.finish();
        self.enter()
    }

    fn enter(&mut self) -> anyhow::Result<()> {
        let mut frames = self.reader.frames();
        frames.try_for_each(|framed| self.index.take(&framed))
    }
}

impl Iterator for IndexedParts<'_, '_> {
    type Item = anyhow::Result<StreamPart>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.reader.next();
        if let Err(error) = self.enter() {
            return Some(Err(error));
        }
        next.map(|part| part.map_err(Into::into))
    }
}

/// Writes the index of all frames of a stream, and nothing of their bytes.
pub(super) fn write(
    reader: StreamReader,
    mut index: FrameIndex<'_>,
    work: &mut Work<'_>,
) -> anyhow::Result<()> {
    let length_bytes = index.selection.length_bytes();
    let mut parts = IndexedParts::new(reader, &mut index);
    while work.stop.reason().is_none()
        && let Some(part) = parts.next()
    {
        work.progress.update(part?.end_bytes(), length_bytes);
    }
    parts.finish()?;
    index.finish()
}
