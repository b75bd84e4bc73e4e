//! A recording beside programs that use every CPU: with what the recorder takes for itself, and
//! without. The source does not wait, as a camera does not: what finds no room in the pipe is lost.

use std::io::{ErrorKind, PipeWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, bail};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::ioctl_fionread;
use sustain::disk::clock::Clock;
use sustain::disk::data::FreshData;
use sustain::disk::engine::take_cpu_priority;
use sustain::disk::units::Size;

use super::rows::rate;
use crate::group::Group;
use crate::interrupt::Interrupt;
use crate::pairs::{Compared, Side, order};
use crate::places::WrittenFile;
use crate::progress::progress;
use crate::setting::Setting;
use crate::table::{Row, Section, Verdict};
use crate::tools::store_tool::{self, Recording};

const RATE_BYTES_PER_S: u64 = 70_000_000;
const BUFFER_BYTES: u64 = 64 << 20;
const FILE_BYTES: u64 = 1 << 30;
/// Threads that never rest, for each CPU.
const HOGS_PER_CPU: usize = 2;
const TICK_NS: u64 = 1_000_000;
/// What is not given because this program was late itself is no loss of the recorder's.
const CATCH_UP_NS: u64 = 5_000_000;
/// In this time any recorder takes its first byte, or something else is wrong.
const FIRST_BYTE_NS: u64 = 30_000_000_000;

/// What came of one recording.
#[derive(Debug, Clone, Copy)]
struct Beside {
    offered_bytes: u64,
    lost_bytes: u64,
    /// 999 of 1000 appends were written within this time.
    written_ns: u64,
}

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let file = WrittenFile::new(&setting.directory, FILE_BYTES, &setting.interrupt)?;
    store_tool::create(&[file.path()], &[], setting)?;
    let mut bytes = vec![0; 1 << 20];
    FreshData::new(1).fill(&mut bytes);
    let hogs = Hogs::start()?;
    let (mut first, mut fair) = (Vec::new(), Vec::new());
    for side in order(setting.effort.cpu_rounds).flatten() {
        let recording = Recording {
            members: &[file.path()],
            ring: true,
            buffer_bytes: Some(BUFFER_BYTES),
            time_s: None,
        };
        let (share, runs) = match side {
            Side::Ours => ("first", &mut first),
            Side::Theirs => ("fair", &mut fair),
        };
        let feed = |pipe| {
            feed(
                pipe,
                &bytes,
                setting.effort.record_run_s,
                &setting.interrupt,
            )
        };
        let flags = ["--share", share];
        let (fed, result) = store_tool::record_fed(recording, (&flags, &[0]), feed, setting)?;
        let [stream] = result.streams.as_slice() else {
            bail!("one stream was recorded, and sustain tells of others");
        };
        let run = Beside {
            written_ns: stream.written_latency_ns.p99_9,
            ..fed
        };
        progress(&format!("  {share}: {run:?}"));
        runs.push(run);
    }
    Ok(Section {
        name: Group::Share.name(),
        columns: ["", "--share first", "--share fair", "ratio [95 %]"],
        rows: vec![lost_row(&first, &fair), written_row(&first, &fair)],
        notes: vec![format!(
            "{} from a source that does not wait, with --buffer {}, beside {} threads that never \
             rest.",
            rate(RATE_BYTES_PER_S as f64),
            Size(BUFFER_BYTES),
            hogs.threads.len()
        )],
    })
}

fn lost_row(first: &[Beside], fair: &[Beside]) -> Row {
    let lost = |runs: &[Beside]| runs.iter().map(|run| run.lost_bytes).sum::<u64>();
    let offered = |runs: &[Beside]| runs.iter().map(|run| run.offered_bytes).sum::<u64>();
    let words = |runs| format!("{} of {}", Size(lost(runs)), Size(offered(runs)));
    let row = Row {
        what: "lost, in all runs".to_owned(),
        ours: words(first),
        other: words(fair),
        ratio: String::new(),
        goal: "nothing".to_owned(),
        verdict: Verdict::of(lost(first) == 0),
    };
    progress(&row.line());
    row
}

fn written_row(first: &[Beside], fair: &[Beside]) -> Row {
    let written =
        |runs: &[Beside]| -> Vec<f64> { runs.iter().map(|run| run.written_ns as f64).collect() };
    let compared = Compared::of(&written(first), &written(fair));
    let what = "999 of 1000 appends written within".to_owned();
    let row = Row::shown(what, &compared, |ns| format!("{:.1} ms", ns / 1e6));
    progress(&row.line());
    row
}

/// Gives bytes at the rate for so long, from when the first one was taken on.
fn feed(
    mut pipe: PipeWriter,
    bytes: &[u8],
    time_s: u64,
    interrupt: &Interrupt,
) -> anyhow::Result<Beside> {
    // A device is not held up by the programs on the CPUs. Where this is refused, less is given.
    let _ = take_cpu_priority();
    fcntl_setfl(&pipe, OFlags::NONBLOCK).context("cannot make a pipe that does not wait")?;
    await_reader(&mut pipe, interrupt)?;
    let clock = Clock::Real;
    let start = clock.now();
    let mut given = Beside {
        offered_bytes: 1,
        lost_bytes: 0,
        written_ns: 0,
    };
    let mut last = start;
    while last.since_ns(start) < time_s * 1_000_000_000 {
        interrupt.check()?;
        clock.wait_until(last + TICK_NS);
        let now = clock.now();
        let due_ns = now.since_ns(last).min(CATCH_UP_NS);
        last = now;
        let due = ((due_ns * RATE_BYTES_PER_S / 1_000_000_000) as usize).min(bytes.len());
        let taken = put(&mut pipe, &bytes[..due])?;
        given.offered_bytes += due as u64;
        given.lost_bytes += (due - taken) as u64;
    }
    Ok(given)
}

/// Waits until the recorder has taken a byte: what comes before it has begun says nothing of how it
/// goes on.
fn await_reader(pipe: &mut PipeWriter, interrupt: &Interrupt) -> anyhow::Result<()> {
    put(pipe, &[0])?;
    let clock = Clock::Real;
    let until = clock.now() + FIRST_BYTE_NS;
    while ioctl_fionread(&*pipe).context("cannot look into a pipe")? > 0 {
        interrupt.check()?;
        if clock.now() >= until {
            bail!("sustain record took no byte");
        }
        clock.wait_until(clock.now() + TICK_NS);
    }
    Ok(())
}

/// Puts into the pipe what finds room; the answer is how much.
fn put(pipe: &mut PipeWriter, bytes: &[u8]) -> anyhow::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        match pipe.write(&bytes[taken..]) {
            Ok(count) => taken += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("cannot write into a pipe"),
        }
    }
    Ok(taken)
}

/// Threads that use every CPU, until they are dropped.
struct Hogs {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    fn start() -> anyhow::Result<Hogs> {
        let cpus = std::thread::available_parallelism().context("cannot count the CPUs")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let threads = (0..cpus.get() * HOGS_PER_CPU).map(|_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        });
        Ok(Hogs {
            threads: threads.collect(),
            is_over,
        })
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_in_the_pipe_is_not_counted_as_taken() {
        let (_reader, mut writer) = crate::source::pipe().unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let bytes = vec![7; 3 << 20];
        assert_eq!(put(&mut writer, &bytes).unwrap(), 1 << 20);
        assert_eq!(put(&mut writer, &bytes).unwrap(), 0);
    }
}
