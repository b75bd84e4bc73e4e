//! What the programs that record from a pipe are given: 64 MiB of random bytes in memory, over and
//! over.

use std::fs::File;
use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, splice};
use sustain::disk::clock::{Clock, Timestamp};
use sustain::disk::data::FreshData;

use crate::interrupt::Interrupt;

const POOL_BYTES: u64 = 64 << 20;
/// The largest that an ordinary user may have.
const PIPE_BYTES: usize = 1 << 20;

/// How often a paced source gives something.
const TICK_NS: u64 = 10_000_000;

/// The first seconds of a stream.
pub(crate) const EARLY_NS: u64 = 2_000_000_000;

/// How the data comes into the pipe.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pouring {
    /// Where it lies, without a copy: so all that is copied is what the reader copies, and this
    /// side is never what limits.
    Splice,
    /// Copied by `write`, as nearly all programs do that have data for another one.
    Write,
}

/// The data.
#[derive(Debug)]
pub(crate) struct Source {
    pool: File,
    bytes: Vec<u8>,
    pouring: Pouring,
}

/// What went into a pipe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Poured {
    pub(crate) bytes: u64,
    /// When the reader took its first byte: then the full pipe took one more. None if it never was
    /// full.
    pub(crate) first_taken: Option<Timestamp>,
    /// What was taken within [`EARLY_NS`] from then on, if it went on for so long.
    pub(crate) early_bytes: Option<u64>,
}

impl Source {
    pub(crate) fn new(pouring: Pouring) -> anyhow::Result<Source> {
        let mut bytes = vec![0; POOL_BYTES as usize];
        FreshData::new(POOL_BYTES).fill(&mut bytes);
        let pool = memfd_create("sustain-benchmarks", MemfdFlags::CLOEXEC)
            .context("cannot make a file in memory")?;
        let mut pool = File::from(pool);
        pool.write_all(&bytes)
            .context("cannot write a file in memory")?;
        Ok(Source {
            pool,
            bytes,
            pouring,
        })
    }

    /// Puts `bytes` into the pipe; ends early when nobody reads it any more or somebody wants to
    /// stop.
    pub(crate) fn pour(
        &self,
        pipe: &PipeWriter,
        bytes: u64,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Poured> {
        let mut poured = Poured {
            bytes: 0,
            first_taken: None,
            early_bytes: None,
        };
        while poured.bytes < bytes && !interrupt.is_set() {
            let position = poured.bytes % POOL_BYTES;
            let count = (bytes - poured.bytes)
                .min(POOL_BYTES - position)
                .min(PIPE_BYTES as u64);
            match self.pour_some(pipe, position, count as usize) {
                Ok(0) => bail!("the file in memory has become shorter"),
                Ok(moved) => poured.bytes += moved as u64,
                Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("cannot write into a pipe"),
            }
            if poured.first_taken.is_none() && poured.bytes > PIPE_BYTES as u64 {
                poured.first_taken = Some(Clock::Real.now());
            }
            if poured.early_bytes.is_none()
                && let Some(first_taken) = poured.first_taken
                && Clock::Real.now() >= first_taken + EARLY_NS
            {
                poured.early_bytes = Some(poured.bytes - PIPE_BYTES as u64);
            }
        }
        Ok(poured)
    }

    /// Puts `bytes` into the pipe, so many a second.
    pub(crate) fn pour_paced(
        &self,
        pipe: &PipeWriter,
        bytes: u64,
        bytes_per_s: u64,
        interrupt: &Interrupt,
    ) -> anyhow::Result<()> {
        let (clock, begun_at) = (Clock::Real, Clock::Real.now());
        let each = bytes_per_s * TICK_NS / 1_000_000_000;
        for tick in 1..=bytes / each {
            self.pour(pipe, each, interrupt)?;
            clock.wait_until(begun_at + tick * TICK_NS);
            interrupt.check()?;
        }
        Ok(())
    }

    /// How many bytes of a file are missing, or are not what was poured: so many, and then anew so
    /// many.
    pub(crate) fn differing_bytes(&self, poured: &[u64], path: &Path) -> anyhow::Result<u64> {
        let mut file = File::open(path).context("nothing was given back")?;
        let mut read = vec![0; PIPE_BYTES];
        let mut differing_bytes = 0;
        for bytes in poured {
            let mut position = 0;
            while position < *bytes {
                let start = (position % POOL_BYTES) as usize;
                let count = (bytes - position).min(PIPE_BYTES as u64) as usize;
                let count = count.min(self.bytes.len() - start);
                let read = &mut read[..count];
                let there = read_up_to(&mut file, read)?;
                let wanted = &self.bytes[start..start + there];
                let differ = read
                    .iter()
                    .zip(wanted)
                    .filter(|(read, wanted)| read != wanted);
                differing_bytes += (differ.count() + count - there) as u64;
                position += count as u64;
            }
        }
        Ok(differing_bytes)
    }

    fn pour_some(
        &self,
        mut pipe: &PipeWriter,
        position: u64,
        count: usize,
    ) -> std::io::Result<usize> {
        match self.pouring {
            Pouring::Splice => {
                let from = Some(&mut { position });
                let moved = splice(&self.pool, from, pipe, None, count, SpliceFlags::empty())?;
                Ok(moved)
            }
            Pouring::Write => pipe.write(&self.bytes[position as usize..][..count]),
        }
    }
}

/// Fills `to` as far as the file goes.
fn read_up_to(file: &mut File, to: &mut [u8]) -> anyhow::Result<usize> {
    let mut there = 0;
    while there < to.len() {
        match file.read(&mut to[there..]).context("cannot read a file")? {
            0 => break,
            count => there += count,
        }
    }
    Ok(there)
}

/// A pipe of the size that all programs are given.
pub(crate) fn pipe() -> anyhow::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let size = fcntl_setpipe_size(&writer, PIPE_BYTES)
        .with_context(|| format!("cannot make a pipe of {PIPE_BYTES} bytes"))?;
    if size != PIPE_BYTES {
        bail!("a pipe of {PIPE_BYTES} bytes became one of {size}");
    }
    Ok((reader, writer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gets_the_pool_over_and_over() {
        for pouring in [Pouring::Splice, Pouring::Write] {
            check_pouring(pouring);
        }
    }

    fn check_pouring(pouring: Pouring) {
        let source = Source::new(pouring).unwrap();
        let (mut reader, writer) = pipe().unwrap();
        let bytes = POOL_BYTES + 5000;
        let pouring =
            std::thread::spawn(move || source.pour(&writer, bytes, &Interrupt::default()));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        let poured = pouring.join().unwrap().unwrap();
        assert_eq!((poured.bytes, read.len() as u64), (bytes, bytes));
        assert!(poured.first_taken.is_some());
        let (pool, again) = read.split_at(POOL_BYTES as usize);
        assert_eq!(again, &pool[..5000]);
        assert_ne!(pool[..4096], pool[4096..8192]);
    }

    #[test]
    fn each_byte_that_differs_or_is_missing_is_counted() {
        let source = Source::new(Pouring::Write).unwrap();
        let mut given = [
            &source.bytes[..],
            &source.bytes[..5000],
            &source.bytes[..70],
        ]
        .concat();
        let poured = [POOL_BYTES + 5000, 100];
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &given).unwrap();
        assert_eq!(source.differing_bytes(&poured, file.path()).unwrap(), 30);
        given[7] ^= 1;
        std::fs::write(file.path(), &given).unwrap();
        assert_eq!(source.differing_bytes(&poured, file.path()).unwrap(), 31);
    }

    #[test]
    fn nothing_is_poured_where_nobody_reads() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let source = Source::new(Pouring::Splice).unwrap();
        let poured = source.pour(&writer, POOL_BYTES, &Interrupt::default());
        assert_eq!(poured.unwrap().bytes, 0);
    }
}
