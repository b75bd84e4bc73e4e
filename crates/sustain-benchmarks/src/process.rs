//! Runs the programs that are compared and says what each used as a whole: the kernel's own account
//! of the process and its children, start-up and all. One at a time, or two with a pipe between
//! them. None outlives its owner.

use std::fs::File;
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use sustain::disk::clock::{Clock, Timestamp};
use wait4::Wait4;

use crate::interrupt::Interrupt;
use crate::setting::Setting;
use crate::source::{self, Source};

/// Lines of a failed program's words that are shown.
const LINES_SHOWN: usize = 6;

/// What a whole process used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    /// User and system time of the process and its children.
    pub(crate) cpu_s: f64,
    /// From start to end.
    pub(crate) wall_s: f64,
    /// The most memory that was resident at once.
    pub(crate) memory_bytes_max: u64,
}

/// What came of a program that read from a pipe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fed {
    /// What went into the pipe.
    pub(crate) bytes: u64,
    /// From the first byte that the program took to its end.
    pub(crate) elapsed_s: f64,
    /// From the program's start to when it took its first byte, if the pipe was full by then.
    pub(crate) first_byte_s: Option<f64>,
    /// What it took in its first two seconds from then on, if it took so long.
    pub(crate) early_bytes: Option<u64>,
    pub(crate) used: Used,
}

/// Runs `command` to its end; its words go to a file in `scratch`, to be shown if it fails.
pub(crate) fn run(
    command: &mut Command,
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Used> {
    command.stdin(Stdio::null());
    let running = Running::start(command, None, scratch.join("words"), interrupt)?;
    Ok(running.end(interrupt)?.used)
}

/// Runs `command` with `bytes` of `source` as its standard input, if it takes that many, and with
/// `output` as its standard output.
pub(crate) fn run_fed(
    mut command: Command,
    output: Option<File>,
    source: &Source,
    bytes: u64,
    setting: &Setting,
) -> anyhow::Result<Fed> {
    let interrupt = &setting.interrupt;
    let (reader, writer) = source::pipe()?;
    command.stdin(reader);
    let words = setting.scratch().join("words");
    let running = Running::start(&mut command, output, words, interrupt)?;
    let start = running.start;
    // It holds the end that is read: the pipe would not break when the program is gone.
    drop(command);
    let (ended, poured) = std::thread::scope(|scope| {
        let pouring = scope.spawn(move || source.pour(&writer, bytes, interrupt));
        let ended = running.end(interrupt);
        let poured = pouring.join();
        (
            ended,
            poured.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    });
    let (ended, poured) = (ended?, poured?);
    Ok(Fed {
        bytes: poured.bytes,
        elapsed_s: ended.at.since_s(poured.first_taken.unwrap_or(start)),
        first_byte_s: poured.first_taken.map(|taken| taken.since_s(start)),
        early_bytes: poured.early_bytes,
        used: ended.used,
    })
}

/// Runs `command` to its end, which must be one of these exit codes, with what `feed` puts into a
/// pipe as its standard input.
pub(crate) fn run_beside<T: Send>(
    mut command: Command,
    exit_codes: &[i32],
    feed: impl FnOnce(PipeWriter) -> anyhow::Result<T> + Send,
    setting: &Setting,
) -> anyhow::Result<T> {
    let (reader, writer) = source::pipe()?;
    command.stdin(reader);
    let words = setting.scratch().join("words");
    let running = Running::start(&mut command, None, words, &setting.interrupt)?;
    drop(command);
    std::thread::scope(|scope| {
        let feeding = scope.spawn(move || feed(writer));
        let ended = running.end_with(exit_codes, &setting.interrupt);
        let fed = feeding.join();
        let fed = fed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended.and(fed)
    })
}

/// Gives `command` so many bytes and kills it then, while it waits for more.
pub(crate) fn run_fed_and_kill(
    mut command: Command,
    source: &Source,
    bytes: u64,
    setting: &Setting,
) -> anyhow::Result<()> {
    let (reader, writer) = source::pipe()?;
    command.stdin(reader);
    let words = setting.scratch().join("words");
    let running = Running::start(&mut command, None, words, &setting.interrupt)?;
    drop(command);
    let poured = source.pour(&writer, bytes, &setting.interrupt)?;
    if poured.bytes < bytes {
        running.end(&setting.interrupt)?;
        bail!("the program ended before it was killed");
    }
    drop(running);
    setting.interrupt.check()
}

/// Runs both, the output of `from` being the input of `into`; the answer is the time from the start
/// of `from` to the end of both.
pub(crate) fn run_into(
    mut from: Command,
    mut into: Command,
    setting: &Setting,
) -> anyhow::Result<f64> {
    let interrupt = &setting.interrupt;
    let (reader, writer) = source::pipe()?;
    into.stdin(reader);
    let words = |name| setting.scratch().join(name);
    let sink = Running::start(&mut into, None, words("words-into"), interrupt)?;
    drop(into);
    from.stdin(Stdio::null());
    let output = File::from(std::os::fd::OwnedFd::from(writer));
    let running = Running::start(&mut from, Some(output), words("words"), interrupt)?;
    let start = running.start;
    // Its end of the pipe must be closed for the reader to see an end.
    drop(from);
    running.end(interrupt)?;
    Ok(sink.end(interrupt)?.at.since_s(start))
}

/// A program under way; killed when dropped.
#[derive(Debug)]
struct Running {
    child: Child,
    name: String,
    words: PathBuf,
    start: Timestamp,
    is_over: bool,
}

/// A program that ended well.
struct Ended {
    used: Used,
    at: Timestamp,
}

impl Running {
    /// Starts `command`, whose standard input the caller has chosen.
    fn start(
        command: &mut Command,
        output: Option<File>,
        words_path: PathBuf,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Running> {
        interrupt.check()?;
        let words = File::create(&words_path).context("cannot write to the scratch directory")?;
        let name = command.get_program().display().to_string();
        let output = output.map_or_else(|| words.try_clone(), Ok)?;
        let start = Clock::Real.now();
        let child = command
            .stdout(output)
            .stderr(words)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Running {
            child,
            name,
            words: words_path,
            start,
            is_over: false,
        })
    }

    fn end(self, interrupt: &Interrupt) -> anyhow::Result<Ended> {
        self.end_with(&[0], interrupt)
    }

    fn end_with(mut self, exit_codes: &[i32], interrupt: &Interrupt) -> anyhow::Result<Ended> {
        let name = &self.name;
        let ended = self
            .child
            .wait4()
            .with_context(|| format!("cannot wait for {name}"))?;
        let at = Clock::Real.now();
        self.is_over = true;
        interrupt.check()?;
        if !ended
            .status
            .code()
            .is_some_and(|code| exit_codes.contains(&code))
        {
            let said = std::fs::read_to_string(&self.words).unwrap_or_default();
            let mut last: Vec<&str> = said.lines().rev().take(LINES_SHOWN).collect();
            last.reverse();
            bail!("{name} failed ({}): {}", ended.status, last.join(" / "));
        }
        Ok(Ended {
            used: Used {
                cpu_s: (ended.rusage.utime + ended.rusage.stime).as_secs_f64(),
                wall_s: at.since_s(self.start),
                memory_bytes_max: ended.rusage.maxrss,
            },
            at,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            // It may have ended just now.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
