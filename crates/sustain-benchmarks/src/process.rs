//! Runs the programs that are compared, one at a time, and says what each used as a whole: the
//! kernel's own account of the process and its children, start-up and all.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use sustain::disk::clock::Clock;
use wait4::Wait4;

use crate::interrupt::Interrupt;

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

/// Runs `command` to its end; its words go to a file in `scratch`, to be shown if it fails.
pub(crate) fn run(
    command: &mut Command,
    scratch: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Used> {
    interrupt.check()?;
    let words_path = scratch.join("words");
    let words = File::create(&words_path).context("cannot write to the scratch directory")?;
    let name = command.get_program().display().to_string();
    let start = Clock::Real.now();
    let mut child = command
        .stdin(std::process::Stdio::null())
        .stdout(words.try_clone()?)
        .stderr(words)
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let ended = child
        .wait4()
        .with_context(|| format!("cannot wait for {name}"))?;
    let wall_s = Clock::Real.now().since_s(start);
    interrupt.check()?;
    if !ended.status.success() {
        let said = std::fs::read_to_string(&words_path).unwrap_or_default();
        let mut last: Vec<&str> = said.lines().rev().take(LINES_SHOWN).collect();
        last.reverse();
        bail!("{name} failed ({}): {}", ended.status, last.join(" / "));
    }
    Ok(Used {
        cpu_s: (ended.rusage.utime + ended.rusage.stime).as_secs_f64(),
        wall_s,
        memory_bytes_max: ended.rusage.maxrss,
    })
}
