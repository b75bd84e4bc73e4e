//! Writes the frames of a stream, each to a file of its own. A frame is written whole or not at
//! all, and never over an existing file.

use std::fs::File;
use std::io::Write;
use std::ops::Range as Span;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use sustain::record::reading::frames::{Frame, FrameReader, Framed};
use sustain::record::reading::part::StreamPart;
use sustain::record::reading::stream::{Range, StreamReader};
use sustain::record::store::Store;

use super::super::say;
use super::durable::DestinationFileSystem;
use super::frame_names::{DIGITS_MIN, extension, file_stem};
use super::index::FrameIndex;
use super::losses::Losses;
use super::overwritten::OverwrittenRing;
use super::range;
use super::selection::Selection;
use super::watch::{WriteCall, WriteWatch};
use super::work::{ExtractedStream, FrameCounts, Work};

/// The most losses of frames that get a line each.
const LINES_MAX: u64 = 10;

/// Writes each whole frame of `reader` to a file of its own in `directory`.
pub(super) fn give(
    reader: StreamReader,
    selection: &Selection<'_>,
    store: &Store,
    directory: &Path,
    index: Option<&mut FrameIndex<'_>>,
    work: &mut Work<'_>,
) -> anyhow::Result<ExtractedStream> {
    let is_new = !directory.exists();
    if is_new {
        std::fs::create_dir(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
    }
    let file_system = DestinationFileSystem::of(directory)?;
    let mut giving = FrameExtraction::new(directory, selection, store);
    let mut frames = FrameReader::new(reader);
    let complete = giving.give(&mut frames, index, work)?;
    giving.watch.during(WriteCall::Keep, || {
        file_system.keep(directory, giving.counts.written)
    })?;
    giving.say_left_from();
    if complete {
        giving.say_unframed(frames.unframed_bytes());
    }
    if complete && giving.is_nothing() {
        if is_new {
            // If something has come into the directory meanwhile, it stays.
            let _ = std::fs::remove_dir(directory);
        }
        return Err(range::nothing_then(selection.stream).into());
    }
    Ok(ExtractedStream {
        from_byte: giving.from_byte,
        to_byte: giving.to_byte,
        complete,
        written_bytes: giving.written_bytes,
        frames: Some(giving.counts),
        losses: giving.losses,
    })
}

/// The offset at or before which an item begins.
fn begins_at(framed: &Framed) -> u64 {
    match framed {
        Framed::Frame(frame) => frame.offset_bytes,
        Framed::Missing { before_bytes, .. } | Framed::Overwritten { before_bytes, .. } => {
            *before_bytes
        }
    }
}

/// The offset at which an item ends. For a frame that is not whole, this is the end of its bytes
/// that are there.
fn ends_at(framed: &Framed) -> u64 {
    match framed {
        Framed::Frame(frame) => frame.offset_bytes + frame.bytes.len() as u64,
        other => begins_at(other),
    }
}

struct FrameExtraction<'a> {
    directory: &'a Path,
    watch: WriteWatch,
    selection: &'a Selection<'a>,
    digits: usize,
    from_byte: Option<u64>,
    to_byte: Option<u64>,
    written_bytes: u64,
    counts: FrameCounts,
    losses: Losses,
    /// Losses of the stream that were met and not yet attributed to a frame.
    met: Vec<StreamPart>,
    /// The number of lines printed about lost frames, and the number of frames that they name.
    lines: u64,
    named: u64,
    /// Frames up to this byte were written, or reported as lost.
    given_to_byte: u64,
    store: &'a Store,
    ring: OverwrittenRing<'a>,
    /// Where the rest begins, if the ring has overwritten the beginning meanwhile. It is taken when
    /// it has been reported.
    left_from_frame: Option<u64>,
}

impl<'a> FrameExtraction<'a> {
    fn new(
        directory: &'a Path,
        selection: &'a Selection<'a>,
        store: &'a Store,
    ) -> FrameExtraction<'a> {
        FrameExtraction {
            directory,
            watch: WriteWatch::of_files(&directory.display().to_string()),
            selection,
            digits: selection.stream.frames.to_string().len().max(DIGITS_MIN),
            from_byte: None,
            to_byte: None,
            written_bytes: 0,
            counts: FrameCounts::default(),
            losses: Losses::of(selection.recording, selection.stream),
            met: Vec::new(),
            lines: 0,
            named: 0,
            given_to_byte: 0,
            store,
            ring: OverwrittenRing::new(store, selection),
            left_from_frame: None,
        }
    }

    /// Writes or reports all frames. Returns whether the user let it come to the end.
    fn give(
        &mut self,
        frames: &mut FrameReader,
        mut index: Option<&mut FrameIndex<'_>>,
        work: &mut Work<'_>,
    ) -> anyhow::Result<bool> {
        // A frame that is not whole is judged once it is known whether anything follows it.
        let mut not_whole: Option<Frame> = None;
        let mut complete = true;
        while let Some(framed) = frames.next() {
            self.met.extend(frames.lost());
            if work.stop.reason().is_some() {
                complete = false;
                break;
            }
            let framed = framed?;
            if let Some(index) = &mut index {
                index.take(&framed)?;
            }
            if let Some(frame) = not_whole.take() {
                self.lose_damaged(&frame, begins_at(&framed));
            }
            let given_to_byte = ends_at(&framed);
            match framed {
                Framed::Frame(frame) if frame.whole => self.write(&frame)?,
                Framed::Frame(frame) => not_whole = Some(frame),
                Framed::Missing {
                    numbers,
                    before_bytes,
                    ..
                } => self.lose(numbers, "missing", self.given_to_byte..before_bytes),
                Framed::Overwritten {
                    numbers,
                    oldest,
                    before_bytes,
                } => self.overwritten(numbers, oldest, before_bytes),
            }
            self.given_to_byte = given_to_byte;
            work.progress
                .update(self.written_bytes, self.selection.length_bytes());
        }
        self.met.extend(frames.lost());
        if let Some(frame) = not_whole.filter(|_| complete) {
            self.last(&frame)?;
        }
        self.say_unnamed();
        Ok(complete)
    }

    fn write(&mut self, frame: &Frame) -> anyhow::Result<()> {
        self.say_left_from();
        let name = format!(
            "{}-{:0digits$}{}",
            file_stem(&self.selection.stream.name),
            frame.number,
            extension(self.selection.framing()),
            digits = self.digits
        );
        let path = self.directory.join(name);
        let cannot = || {
            let written = self.counts.written;
            format!(
                "cannot write {} ({written} frames are written)",
                path.display()
            )
        };
        let written = self.watch.during(WriteCall::Write, || create(&path, frame));
        written.with_context(cannot)?;
        self.from_byte.get_or_insert(frame.offset_bytes);
        self.to_byte = Some(frame.offset_bytes + frame.bytes.len() as u64);
        self.written_bytes += frame.body().len() as u64;
        self.counts.written += 1;
        Ok(())
    }

    /// Whether nothing arrived in the time that was asked for.
    fn is_nothing(&self) -> bool {
        let counts = self.counts;
        matches!(self.selection.range, Range::Time(_))
            && counts.written + counts.lost == 0
            && self.losses.is_empty()
    }

    fn say_left_from(&mut self) {
        if let Some(left_from_frame) = self.left_from_frame.take() {
            say(&format!(
                "note: meanwhile the ring has overwritten the first {left_from_frame} frames of \
                 the stream: the rest begins there"
            ));
        }
    }

    /// Notes that the ring has overwritten frames that were asked for.
    fn overwritten(&mut self, numbers: Option<Span<u64>>, oldest: u64, before_bytes: u64) {
        let why = self.selection.overwritten_words(oldest);
        self.losses.take_overwritten(before_bytes, why);
        self.counts.overwritten += numbers.map_or(0, |numbers| numbers.end - numbers.start);
    }

    /// Notes a frame that is not whole. The next frame begins at `next_byte`.
    fn lose_damaged(&mut self, frame: &Frame, next_byte: u64) {
        let bytes = frame.offset_bytes..next_byte;
        let mut lost = self.met.iter().filter(|part| is_in(part, &bytes));
        let first = lost.next();
        let what = match first {
            Some(StreamPart::Gap { reason, .. }) if lost.all(is_gap) => {
                format!("not whole: some of its bytes are lost; {reason}")
            }
            _ => "damaged".to_owned(),
        };
        self.lose(frame.number..frame.number + 1, &what, bytes);
    }

    /// Notes lost frames that lay in `bytes`. Those that the ring has overwritten meanwhile are no
    /// damage.
    fn lose(&mut self, numbers: Span<u64>, what: &str, bytes: Span<u64>) {
        let overwritten = self.ring.overwritten_of(&numbers);
        if overwritten > 0 {
            let oldest = self.ring.oldest_frame();
            if self.selection.is_all && self.counts.written == 0 {
                // The rest of the stream was asked for, and begins later by now.
                self.left_from_frame = Some(oldest);
            } else {
                let gone = numbers.start..numbers.start + overwritten;
                self.overwritten(Some(gone), oldest, bytes.end);
            }
        }
        let numbers = numbers.start + overwritten..numbers.end;
        let count = numbers.end - numbers.start;
        if count == 0 {
            return;
        }
        let frames = if count == 1 {
            format!("frame {} is {what}", numbers.start)
        } else {
            format!("frames {} to {} are {what}", numbers.start, numbers.end - 1)
        };
        if self.lines < LINES_MAX {
            say(&format!("stream {}: {frames}", self.selection.stream.name));
            self.lines += 1;
            self.named += count;
        }
        self.counts.lost += count;
        self.take_losses(bytes, &frames);
    }

    /// Lists the losses in these bytes, in which `frames` lay.
    fn take_losses(&mut self, bytes: Span<u64>, frames: &str) {
        let met = std::mem::take(&mut self.met);
        for part in met.iter().filter(|part| is_in(part, &bytes)) {
            self.losses.take(part, self.store);
        }
        // Losses behind these bytes may belong to the frames that come next.
        self.met = met;
        self.met.retain(|part| part.offset_bytes() >= bytes.end);
        if !self.losses.reaches(bytes.start) {
            self.losses.take_frames(bytes, frames);
        }
    }

    /// Reports the number of lost frames that had no line of their own.
    fn say_unnamed(&self) {
        let unnamed = self.counts.lost - self.named;
        if unnamed > 0 {
            say(&format!(
                "stream {}: {unnamed} more frames are damaged or missing",
                self.selection.stream.name
            ));
        }
    }

    /// Reports bytes that are left out because they belong to no frame.
    fn say_unframed(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let name = &self.selection.stream.name;
        let whose = match self.selection.range {
            Range::All => "of the stream belong to no frame",
            _ => "of what was read belong to no frame that begins in it",
        };
        say(&format!(
            "note: stream {name}: {bytes} bytes {whose}, and are left out; to get all bytes, write \
             to a file with -o FILE"
        ));
    }

    /// Deals with a last frame that is not whole: it is damaged, or cut off where the stream or the
    /// range ends.
    fn last(&mut self, frame: &Frame) -> anyhow::Result<()> {
        let stream = self.selection.stream;
        let end_bytes = frame.offset_bytes + frame.bytes.len() as u64;
        let range_end_bytes = match &self.selection.range {
            Range::Bytes(span) => span.end,
            Range::All | Range::Time(_) | Range::Frames(_) => u64::MAX,
        };
        let cut_by = if end_bytes >= stream.offered_bytes {
            "the stream"
        } else if end_bytes >= range_end_bytes {
            "the range"
        } else {
            self.lose_damaged(
                frame,
                end_bytes.max(range_end_bytes.min(stream.offered_bytes)),
            );
            return Ok(());
        };
        if frame.is_last_line_of(self.selection.recording, stream) {
            return self.write(frame);
        }
        say(&format!(
            "note: stream {}: {cut_by} ends within frame {}, which is left out",
            stream.name, frame.number
        ));
        Ok(())
    }
}

fn is_in(part: &StreamPart, bytes: &Span<u64>) -> bool {
    part.offset_bytes() < bytes.end && part.end_bytes() > bytes.start
}

fn is_gap(part: &StreamPart) -> bool {
    matches!(part, StreamPart::Gap { .. })
}

fn create(path: &Path, frame: &Frame) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    write_whole(&mut file, path, frame.body())?;
    // A file system that cannot store such a time has the frame all the same.
    let _ = file.set_modified(time_of(frame.time_ns));
    Ok(())
}

/// Writes a new file, or removes it: a part of a frame would look like one.
fn write_whole(file: &mut impl Write, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}

fn time_of(unix_ns: i64) -> SystemTime {
    let distance = Duration::from_nanos(unix_ns.unsigned_abs());
    let moved = if unix_ns < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    moved.unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file on a file system that has room for 3 bytes more.
    struct AlmostFull(File);

    impl Write for AlmostFull {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let room = 3 - self.0.metadata()?.len() as usize;
            match room {
                0 => Err(std::io::ErrorKind::StorageFull.into()),
                _ => self.0.write(&bytes[..bytes.len().min(room)]),
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.0.flush()
        }
    }

    #[test]
    fn a_frame_for_which_there_is_no_room_leaves_no_part_behind() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = place.path().join(name);
            let mut file = AlmostFull(File::create_new(&path).unwrap());
            let written = write_whole(&mut file, &path, bytes);
            (written.map_err(|error| error.kind()), path.exists())
        };
        assert_eq!(write("whole", b"abc"), (Ok(()), true));
        let full = std::io::ErrorKind::StorageFull;
        assert_eq!(write("part", b"abcd"), (Err(full), false));
    }

    #[test]
    fn times_before_1970_are_times() {
        assert_eq!(time_of(0), SystemTime::UNIX_EPOCH);
        let second = Duration::from_secs(1);
        assert_eq!(time_of(-1_000_000_000) + second, SystemTime::UNIX_EPOCH);
    }
}
