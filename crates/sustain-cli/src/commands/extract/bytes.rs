//! Writes the bytes of a stream to a file or a pipe as they are read. It never passes over a loss
//! silently, and what it has written before a loss is exact.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sustain::record::reading::part::StreamPart;
use sustain::record::reading::stream::Range;
use sustain::record::store::Store;

use super::destination::Destination;
use super::losses::Losses;
use super::overwritten::OverwrittenRing;
use super::selection::Selection;
use super::watch::{WriteCall, WriteWatch};
use super::work::{ExtractedStream, Work};
use super::{durable, range, say};
use crate::flags::extract::HolesFlag;

/// Larger pieces of a stream are written directly from the read buffer, without a copy.
const GATHER_BYTES: usize = 256 << 10;
const ZEROS_BYTES: usize = 1 << 20;

/// Writes all parts of `reader`, or those before the first loss if the user has not said what to do
/// with losses.
pub(super) fn give(
    reader: &mut dyn Iterator<Item = anyhow::Result<StreamPart>>,
    selection: &Selection<'_>,
    store: &Store,
    destination: &Destination,
    work: &mut Work<'_>,
) -> anyhow::Result<ExtractedStream> {
    let (file, new) = destination.open(work.stop)?;
    let mut giving = ByteExtraction {
        output: Output {
            watch: WriteWatch::of_file(&file, &destination.name()),
            file,
            name: destination.name(),
            new: new.map(Path::to_owned),
            gathered: Vec::with_capacity(GATHER_BYTES),
            written_bytes: 0,
        },
        length_bytes: selection.length_bytes(),
        losses: Losses::of(selection.recording, selection.stream),
        gaps_below_bytes: 0,
    };
    let given = giving.give(reader, selection, store, work);
    let written_bytes = giving.output.written_bytes;
    let is_nothing = given
        .as_ref()
        .is_ok_and(|looked| looked.is_nothing(selection));
    let is_whole = given.as_ref().is_ok_and(|looked| looked.complete) && !is_nothing;
    if let (false, 0, Some(new)) = (is_whole, written_bytes, new) {
        // A command that fails leaves no file behind. If the file is gone already, that is fine.
        let _ = std::fs::remove_file(new);
    }
    let looked = given?;
    if is_nothing {
        return Err(range::nothing_then(selection.stream).into());
    }
    Ok(ExtractedStream {
        from_byte: looked.from_byte,
        to_byte: looked.to_byte,
        complete: looked.complete,
        written_bytes,
        frames: None,
        losses: giving.losses,
    })
}

struct ByteExtraction {
    output: Output,
    length_bytes: Option<u64>,
    losses: Losses,
    /// Gaps below the readable range of a ring whose accounts are still there.
    gaps_below_bytes: u64,
}

impl ByteExtraction {
    fn give(
        &mut self,
        reader: &mut dyn Iterator<Item = anyhow::Result<StreamPart>>,
        selection: &Selection<'_>,
        store: &Store,
        work: &mut Work<'_>,
    ) -> anyhow::Result<Looked> {
        let mut ring = OverwrittenRing::new(store, selection);
        let mut looked = Looked {
            complete: true,
            ..Looked::default()
        };
        'parts: for part in reader {
            let part = match part {
                Ok(part) => part,
                Err(error) => {
                    // The user gets what was read before the error.
                    self.output.finish()?;
                    return Err(error);
                }
            };
            for part in ring.split(part) {
                if matches!(part, StreamPart::OpenEnd { .. }) {
                    self.take_all_overwritten(selection, store, work, &mut looked);
                }
                let is_first = looked.from_byte.is_none() && selection.is_all;
                if is_first && ring.begins_behind(&part) {
                    looked.left_from_byte = Some(part.end_bytes());
                } else if !self.give_part(&part, selection, store, work, &mut looked)? {
                    break 'parts;
                }
            }
        }
        self.take_all_overwritten(selection, store, work, &mut looked);
        self.report_overwritten_gaps(selection, &looked);
        self.output.finish()?;
        Ok(looked)
    }

    /// Gaps are told by the appends behind them. Below the readable range, where a ring has
    /// overwritten some of these, only the sum of the gaps is known.
    fn report_overwritten_gaps(&mut self, selection: &Selection<'_>, looked: &Looked) {
        let stream = selection.stream;
        let has_all_below =
            looked.from_byte == Some(0) && looked.to_byte >= Some(stream.readable_from_bytes);
        if has_all_below {
            let below_bytes = stream.readable_from_gap_bytes;
            let unfound_bytes = below_bytes.saturating_sub(self.gaps_below_bytes);
            self.losses.report_overwritten_gaps(unfound_bytes);
        }
    }

    /// Notes the loss if the ring has overwritten all that was there when reading began, and
    /// nothing is left to begin at.
    fn take_all_overwritten(
        &mut self,
        selection: &Selection<'_>,
        store: &Store,
        work: &Work<'_>,
        looked: &mut Looked,
    ) {
        let offset_bytes = selection.stream.readable_from_bytes;
        let left_from_byte = match looked.left_from_byte.take() {
            Some(left_from_byte) => left_from_byte,
            None if looked.from_byte.is_none() && selection.is_gone() => offset_bytes,
            None => return,
        };
        let overwritten = StreamPart::Overwritten {
            offset_bytes,
            length_bytes: left_from_byte.saturating_sub(offset_bytes),
        };
        if !self.losses.take(&overwritten, store) {
            let why = "the ring has overwritten all that was there when reading began: it is \
                       written faster than it can be read";
            self.losses.take_overwritten(offset_bytes, why.to_owned());
        }
        looked.complete = work.holes.is_some();
        looked.from_byte = Some(offset_bytes);
        looked.to_byte = Some(left_from_byte);
    }

    /// Notes a loss. Returns whether the part is one.
    fn take_loss(&mut self, part: &StreamPart, selection: &Selection<'_>, store: &Store) -> bool {
        if let StreamPart::Overwritten {
            offset_bytes,
            length_bytes: 0,
        } = part
        {
            let why = selection.overwritten_words(selection.stream.readable_from_frame);
            self.losses.take_overwritten(*offset_bytes, why);
            return true;
        }
        self.losses.take(part, store)
    }

    /// Writes one part. Returns whether more parts are wanted.
    fn give_part(
        &mut self,
        part: &StreamPart,
        selection: &Selection<'_>,
        store: &Store,
        work: &mut Work<'_>,
        looked: &mut Looked,
    ) -> anyhow::Result<bool> {
        looked.say_left_from();
        if matches!(part, StreamPart::Gap { .. }) {
            let below_bytes = selection.stream.readable_from_bytes;
            let end_bytes = part.end_bytes().min(below_bytes);
            self.gaps_below_bytes += end_bytes.saturating_sub(part.offset_bytes());
        }
        let is_lost = self.take_loss(part, selection, store);
        let ends_at_loss = work.holes.is_none() && !self.losses.is_empty();
        // A loss is read to its end, so that it can be named as a whole.
        let is_behind_loss = ends_at_loss && !is_lost && part.length_bytes() > 0;
        if is_behind_loss || work.stop.reason().is_some() {
            looked.complete = false;
            return Ok(false);
        }
        looked.complete = !ends_at_loss;
        looked.from_byte = looked.from_byte.or(Some(part.offset_bytes()));
        looked.to_byte = Some(part.end_bytes());
        match part {
            StreamPart::Data { bytes, .. } => self.output.write(bytes)?,
            lost if is_lost && work.holes == Some(HolesFlag::Fill) => {
                self.output.write_zeros(lost.length_bytes())?;
            }
            _ => {}
        }
        work.progress
            .update(self.output.written_bytes, self.length_bytes);
        Ok(true)
    }
}

/// The range that was looked at, and whether that was everything.
#[derive(Default)]
struct Looked {
    from_byte: Option<u64>,
    to_byte: Option<u64>,
    complete: bool,
    /// Where the rest begins, if the ring has overwritten the beginning of what was asked for. It
    /// is taken when it has been reported.
    left_from_byte: Option<u64>,
}

impl Looked {
    /// Whether nothing arrived in the time that was asked for.
    fn is_nothing(&self, selection: &Selection<'_>) -> bool {
        let has_looked = self.from_byte < self.to_byte;
        matches!(selection.range, Range::Time(_)) && self.complete && !has_looked
    }

    fn say_left_from(&mut self) {
        if let Some(left_from_byte) = self.left_from_byte.take() {
            say(&format!(
                "note: meanwhile the ring has overwritten the first {left_from_byte} bytes of \
                 the stream: the rest begins there"
            ));
        }
    }
}

/// The output for the bytes. Small pieces are gathered; the count is of what has been written.
struct Output {
    file: File,
    watch: WriteWatch,
    name: String,
    /// The path, if the file is new.
    new: Option<PathBuf>,
    gathered: Vec<u8>,
    written_bytes: u64,
}

impl Output {
    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        if self.gathered.len() + bytes.len() <= GATHER_BYTES {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.put(bytes)
    }

    fn write_zeros(&mut self, mut length_bytes: u64) -> anyhow::Result<()> {
        static ZEROS: [u8; ZEROS_BYTES] = [0; ZEROS_BYTES];
        while length_bytes > 0 {
            let count = length_bytes.min(ZEROS_BYTES as u64) as usize;
            self.write(&ZEROS[..count])?;
            length_bytes -= count as u64;
        }
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        self.put(&gathered)?;
        self.gathered = gathered;
        self.gathered.clear();
        Ok(())
    }

    /// Writes what is gathered, and makes everything durable.
    fn finish(&mut self) -> anyhow::Result<()> {
        self.flush()?;
        let new = self.new.as_deref();
        self.watch.during(WriteCall::Keep, || {
            durable::keep_file(&self.file, &self.name, new, self.written_bytes)
        })
    }

    fn put(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut left = bytes;
        let written = self
            .watch
            .during(WriteCall::Write, || write_all(&self.file, &mut left));
        // A file system that becomes full takes a part.
        self.written_bytes += (bytes.len() - left.len()) as u64;
        written.with_context(|| {
            let (name, written_bytes) = (&self.name, self.written_bytes);
            format!("cannot write {name} beyond its first {written_bytes} bytes")
        })
    }
}

/// Writes all of `left`, which is what is left to write if it fails.
fn write_all(mut file: &File, left: &mut &[u8]) -> std::io::Result<()> {
    while !left.is_empty() {
        match file.write(left) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(count) => *left = &left[count..],
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
