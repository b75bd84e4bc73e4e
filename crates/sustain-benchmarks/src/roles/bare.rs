//! What somebody writes by hand instead of a recorder: reads a pipe, takes checksums, writes past
//! the page cache, in one thread. No format, no frames, and nothing to recover by. It must do no
//! more and no less than that, for it is the control that recording is compared with.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context, bail};
use rustix::fs::{FileType, RawMode};
use serde::{Deserialize, Serialize};
use sustain::disk::buffer::{BUFFER_ALIGNMENT, Buffer, BufferPool};
use sustain::disk::clock::{Clock, Timestamp};
use sustain::disk::engine::{
    Completion, Engine, EngineChoice, Limits, Operation, Request, Until, Vector, Vectors, open,
};
use sustain::disk::target::{DataPath, Direction, OpenRequest, Target, WriteCandidate, open_path};

const BUFFERS: usize = 16;
const BUFFER_BYTES: usize = 1 << 20;
const IN_FLIGHT_MAX: u32 = 8;
/// Read at once: what the CPU's cache holds until its checksums are taken.
const READ_BYTES_MAX: usize = 256 << 10;
/// How much one checksum covers, as in a store.
const PIECE_BYTES: usize = 64 << 10;
/// How long one wait lasts before the next begins; a disk may take its time.
const WAIT_NS: u64 = 3_600_000_000_000;

/// What came of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct BarelyWritten {
    /// What was read, and is durable in the file.
    pub(crate) bytes: u64,
    /// From the first byte read to after the flush.
    pub(crate) seconds: f64,
    /// All pieces' checksums, added up: none can be left out and this still be known.
    pub(crate) checksum: u32,
}

/// Puts standard input into `path`, a file that is there, and what came of it into `json`.
pub(super) fn bare(path: &Path, json: &Path) -> anyhow::Result<()> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = File::from(input.context("there is no standard input")?);
    let poured = pour(input, path, EngineChoice::IoUring)?;
    let text = serde_json::to_string(&poured)?;
    std::fs::write(json, text).with_context(|| format!("cannot write {}", json.display()))
}

/// Direct I/O takes whole blocks, so zeros fill up the last one.
fn pour(input: impl Read, path: &Path, choice: EngineChoice) -> anyhow::Result<BarelyWritten> {
    let mut intake = Intake {
        input,
        bytes: 0,
        checksum: 0,
        first_at: None,
    };
    let mut writer = Writer::open(&open_file(path)?, choice)?;
    loop {
        let mut buffer = writer.free_buffer()?;
        let count = intake.fill(buffer.bytes_mut())?;
        if count > 0 {
            let length = count.next_multiple_of(BUFFER_ALIGNMENT);
            buffer.bytes_mut()[count..length].fill(0);
            writer.write(Vector::new(buffer, 0, length))?;
        }
        if count < BUFFER_BYTES {
            break;
        }
    }
    writer.finish()?;
    let end = Clock::Real.now();
    Ok(BarelyWritten {
        bytes: intake.bytes,
        seconds: end.since_s(intake.first_at.unwrap_or(end)),
        checksum: intake.checksum,
    })
}

/// Opens a file past the page cache.
fn open_file(path: &Path) -> anyhow::Result<Target> {
    let request = OpenRequest {
        direction: Direction::Write,
        path: DataPath::Direct,
        create: false,
    };
    let name = path.display().to_string();
    let mut guard = |candidate: &WriteCandidate<'_>| refuse_devices(candidate.stat.st_mode);
    Ok(open_path(&name, path, request, &mut guard)?)
}

/// Nobody is asked whether a device may be overwritten, so it may not.
fn refuse_devices(mode: RawMode) -> Result<(), String> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Ok(()),
        _ => Err("only files are written here; name one".to_owned()),
    }
}

/// The side of the pipe.
struct Intake<R> {
    input: R,
    bytes: u64,
    checksum: u32,
    first_at: Option<Timestamp>,
}

impl<R: Read> Intake<R> {
    /// Fills `bytes`, up to the input's end only if that comes before, and takes the checksums.
    fn fill(&mut self, bytes: &mut [u8]) -> anyhow::Result<usize> {
        let (mut filled, mut summed) = (0, 0);
        while filled < bytes.len() {
            let end = bytes.len().min(filled + READ_BYTES_MAX);
            match self.input.read(&mut bytes[filled..end]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("cannot read standard input"),
            }
            self.first_at.get_or_insert_with(|| Clock::Real.now());
            let whole = filled - filled % PIECE_BYTES;
            self.sum(&bytes[summed..whole]);
            summed = whole;
        }
        self.sum(&bytes[summed..filled]);
        self.bytes += filled as u64;
        Ok(filled)
    }

    fn sum(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE_BYTES) {
            let checksum = crc_fast::crc32_iscsi(piece);
            self.checksum = self.checksum.wrapping_add(checksum);
        }
    }
}

/// The side of the file.
struct Writer {
    engine: Box<dyn Engine>,
    /// In rotation: the one that has been free for longest is filled first.
    free: VecDeque<Buffer>,
    /// Filled, while as many are in flight as may be.
    ready: VecDeque<Vector>,
    in_flight: u32,
    next_offset_bytes: u64,
    completions: Vec<Completion>,
}

impl Writer {
    fn open(target: &Target, choice: EngineChoice) -> anyhow::Result<Writer> {
        let file = target.file.clone().context("a real target has a file")?;
        let limits = Limits {
            depth: IN_FLIGHT_MAX,
            in_flight_max: IN_FLIGHT_MAX,
        };
        let mut pool = BufferPool::new(BUFFERS, BUFFER_BYTES)?;
        let opened = open(choice, vec![file], limits, pool.regions(), &Clock::Real)?;
        Ok(Writer {
            engine: opened.engine,
            free: std::iter::from_fn(|| pool.take()).collect(),
            ready: VecDeque::new(),
            in_flight: 0,
            next_offset_bytes: 0,
            completions: Vec::new(),
        })
    }

    /// A buffer to be filled; waits for a write to end where there is none.
    fn free_buffer(&mut self) -> anyhow::Result<Buffer> {
        loop {
            if let Some(buffer) = self.free.pop_front() {
                return Ok(buffer);
            }
            self.turn(Until::CompletionOr(Clock::Real.now() + WAIT_NS))?;
        }
    }

    /// Writes what was filled behind what was written before, as soon as may be.
    fn write(&mut self, filled: Vector) -> anyhow::Result<()> {
        self.ready.push_back(filled);
        self.turn(Until::Now)
    }

    /// Waits for all writes, and makes them durable.
    fn finish(&mut self) -> anyhow::Result<()> {
        self.drain()?;
        self.submit(Request::flush(0));
        self.drain()
    }

    fn drain(&mut self) -> anyhow::Result<()> {
        while self.in_flight > 0 || !self.ready.is_empty() {
            self.turn(Until::CompletionOr(Clock::Real.now() + WAIT_NS))?;
        }
        Ok(())
    }

    /// Hands over what may be, and takes back what is complete.
    fn turn(&mut self, until: Until) -> anyhow::Result<()> {
        self.submit_ready();
        self.engine.wait(until, &mut self.completions)?;
        for completion in std::mem::take(&mut self.completions) {
            self.in_flight -= 1;
            self.free.extend(written(completion)?);
        }
        Ok(())
    }

    fn submit_ready(&mut self) {
        while self.in_flight < IN_FLIGHT_MAX
            && let Some(vector) = self.ready.pop_front()
        {
            let length_bytes = vector.len() as u64;
            self.submit(Request {
                target: 0,
                operation: Operation::Write,
                offset_bytes: self.next_offset_bytes,
                vectors: Vectors::One(vector),
                durable: false,
                due_at: None,
                token: 0,
            });
            self.next_offset_bytes += length_bytes;
        }
    }

    fn submit(&mut self, request: Request) {
        self.engine.submit(request);
        self.in_flight += 1;
    }
}

/// The buffer of a write that went well; a flush has none.
fn written(completion: Completion) -> anyhow::Result<Option<Buffer>> {
    let request = completion.request;
    if let Some(errno) = completion.error {
        bail!("a {} failed: {errno}", request.operation);
    }
    if completion.bytes < request.vectors.len_bytes() {
        bail!("the file took only a part of a write");
    }
    match request.vectors {
        Vectors::One(vector) => Ok(Some(vector.into_buffer())),
        Vectors::None | Vectors::Many(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use sustain::disk::data::FreshData;
    use tempfile::{Builder, NamedTempFile};

    use super::*;

    /// Beside the test itself: the system's place is often memory, which may refuse direct I/O.
    fn file() -> NamedTempFile {
        let own = std::env::current_exe().unwrap();
        let directory = own.parent().unwrap();
        Builder::new().tempfile_in(directory).unwrap()
    }

    /// The best engine that this system allows: what is poured does not depend on it.
    fn pour_through_a_pipe(bytes: &[u8], into: &NamedTempFile) -> BarelyWritten {
        let (reader, mut writer) = std::io::pipe().unwrap();
        std::thread::scope(|scope| {
            // No portion fits a pipe, a piece or a buffer.
            scope.spawn(move || {
                for portion in bytes.chunks(77_777) {
                    writer.write_all(portion).unwrap();
                }
            });
            pour(reader, into.path(), EngineChoice::Auto).unwrap()
        })
    }

    fn noise(length_bytes: usize) -> Vec<u8> {
        let mut bytes = vec![0; length_bytes];
        FreshData::new(3).fill(&mut bytes);
        bytes
    }

    #[test]
    fn what_comes_through_a_pipe_is_in_the_file_with_zeros_up_to_a_block() {
        let bytes = noise((BUFFERS + 3) * BUFFER_BYTES + 70_000);
        let file = file();
        let poured = pour_through_a_pipe(&bytes, &file);
        assert_eq!(poured.bytes, bytes.len() as u64);
        let in_file = std::fs::read(file.path()).unwrap();
        let (stream, padding) = in_file.split_at(bytes.len());
        assert!(stream == bytes, "the file holds other bytes");
        assert_eq!(in_file.len(), bytes.len().next_multiple_of(4096));
        assert!(padding.iter().all(|byte| *byte == 0));
        let sums = bytes.chunks(PIECE_BYTES).map(crc_fast::crc32_iscsi);
        assert_eq!(poured.checksum, sums.fold(0, u32::wrapping_add));
    }

    #[test]
    fn a_stream_of_whole_buffers_leaves_what_lies_behind_it_alone() {
        let bytes = noise(3 * BUFFER_BYTES);
        let file = file();
        std::fs::write(file.path(), vec![7; 4 * BUFFER_BYTES]).unwrap();
        assert_eq!(pour_through_a_pipe(&bytes, &file).bytes, 3 << 20);
        let in_file = std::fs::read(file.path()).unwrap();
        assert!(
            in_file[..bytes.len()] == bytes,
            "the file holds other bytes"
        );
        assert!(in_file[bytes.len()..] == [7; BUFFER_BYTES]);
    }

    #[test]
    fn of_no_bytes_nothing_is_written_and_no_time_passes() {
        let file = file();
        let poured = pour_through_a_pipe(&[], &file);
        assert_eq!((poured.bytes, poured.checksum), (0, 0));
        assert!(poured.seconds.abs() < f64::EPSILON);
        assert_eq!(std::fs::read(file.path()).unwrap(), [0; 0]);
    }

    #[test]
    fn a_device_is_not_overwritten() {
        refuse_devices(FileType::RegularFile.as_raw_mode() | 0o600).unwrap();
        refuse_devices(FileType::BlockDevice.as_raw_mode() | 0o600).unwrap_err();
        open_file(Path::new("/dev/null")).map(drop).unwrap_err();
    }
}
