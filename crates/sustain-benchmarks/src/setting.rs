//! What all groups share: how long and how often, where, with which programs.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::interrupt::Interrupt;
use crate::machine::Machine;

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// ABBA pairs of a comparison of rates.
    pub(crate) pairs: usize,
    /// Length of one run in them.
    pub(crate) run_s: u64,
    /// Pairs or rounds of a comparison of CPU time.
    pub(crate) cpu_rounds: usize,
    /// Length of one run in them with large records, which cost little CPU.
    pub(crate) cpu_large_run_s: u64,
    /// The same with small records; long enough that the start-up hardly counts.
    pub(crate) cpu_small_run_s: u64,
    /// Rounds over all set sizes.
    pub(crate) set_rounds: usize,
    /// How long a sweep measures a setting each time.
    pub(crate) sweep_point: &'static str,
    /// Length of the stream that is recorded from a pipe, in whole MiB; half of it is read back.
    pub(crate) stream_bytes: u64,
    /// Rounds over all that take it from the pipe.
    pub(crate) stream_rounds: usize,
    /// Recordings of which only the start is timed.
    pub(crate) starts: usize,
    /// ABBA pairs of recording through the library and measuring: many and short, since a disk may
    /// change its rate within seconds by more than what is asked about.
    pub(crate) library_pairs: usize,
    /// Length of one run in them: long beside what is in flight at its end.
    pub(crate) library_run_s: u64,
    /// Length of a recording that is to end by itself.
    pub(crate) record_run_s: u64,
    /// ABBA pairs of giving back a recording and reading as much.
    pub(crate) extract_pairs: usize,
}

const FULL: Effort = Effort {
    pairs: 12,
    run_s: 2,
    cpu_rounds: 6,
    cpu_large_run_s: 20,
    cpu_small_run_s: 4,
    set_rounds: 6,
    sweep_point: "1s",
    stream_bytes: 7680 << 20,
    stream_rounds: 5,
    starts: 12,
    library_pairs: 30,
    library_run_s: 3,
    record_run_s: 8,
    extract_pairs: 10,
};

const QUICK: Effort = Effort {
    pairs: 6,
    run_s: 1,
    cpu_rounds: 3,
    cpu_large_run_s: 5,
    cpu_small_run_s: 2,
    set_rounds: 3,
    sweep_point: "500ms",
    stream_bytes: 1920 << 20,
    stream_rounds: 3,
    starts: 6,
    library_pairs: 8,
    library_run_s: 3,
    record_run_s: 4,
    extract_pairs: 6,
};

/// Everything that a group needs from outside.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) effort: Effort,
    pub(crate) quick: bool,
    /// The file system that is measured.
    pub(crate) directory: PathBuf,
    /// The release build of `sustain`.
    pub(crate) sustain: PathBuf,
    /// Another build of it, to be compared with.
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) machine: Machine,
    pub(crate) interrupt: Interrupt,
    scratch: TempDir,
}

/// The programs that are compared.
pub(crate) struct Programs {
    /// The release build of `sustain`.
    pub(crate) sustain: PathBuf,
    /// Another build of it, to be compared with.
    pub(crate) baseline: Option<PathBuf>,
    /// The version of fio that is installed.
    pub(crate) fio_version: String,
}

impl Setting {
    /// Describes the machine on which the programs run.
    pub(crate) fn prepare(
        directory: &Path,
        quick: bool,
        programs: Programs,
        interrupt: Interrupt,
    ) -> anyhow::Result<Setting> {
        if cfg!(debug_assertions) {
            bail!(
                "this is a build without optimisation: cargo run --release -p sustain-benchmarks"
            );
        }
        let directory = directory.canonicalize().with_context(|| {
            format!(
                "cannot use {}: give an existing directory",
                directory.display()
            )
        })?;
        Ok(Setting {
            effort: if quick { QUICK } else { FULL },
            quick,
            sustain: programs.sustain,
            baseline: programs.baseline,
            machine: Machine::describe(&directory, programs.fio_version)?,
            directory,
            interrupt,
            scratch: TempDir::new().context("cannot make a scratch directory")?,
        })
    }

    /// Where the programs' results and words go, away from what is measured.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }
}
