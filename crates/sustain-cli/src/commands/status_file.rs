//! The machine-readable status of a recording. Its lines are written by a thread of their own: the
//! file system that they go to may be frozen, or a pipe's reader may rest, and neither may delay or
//! end the recording.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};

use sustain::disk::clock::Clock;
use sustain::document::reader;
use sustain::record::RecordingProgress;
use sustain::record::document::status_line;

use super::{output, say};
use crate::usage_error::UsageError;

/// A status line is written at least this often.
const STATUS_EVERY_S: f64 = 1.0;
/// Lines that wait while what they go to does not take them. More are left out.
const WAITING_MAX: usize = 1024;
/// After so long without a line taken it is told.
const REPORTED_AFTER_S: f64 = 5.0;
/// At the end lines are waited for as long as a member is for a write.
const GIVEN_UP_AFTER_S: f64 = 30.0;
const PAUSE_NS: u64 = 20_000_000;

/// Where status lines go to.
type Lines = Box<dyn Write + Send>;

/// The machine-readable status while a recording runs.
pub(super) struct StatusWriter {
    name: String,
    thread: Option<StatusThread>,
    written_at_s: f64,
    flushes: u64,
    /// The last line, which must not be left out.
    last_line: Option<String>,
    left_out: u64,
    /// Lines taken when it was looked last, and since when there were no more.
    taken: u64,
    still_since_s: f64,
    is_reported: bool,
    /// Why no more status is written, if so.
    failure: Option<String>,
}

/// The thread that writes, and what is known of it.
struct StatusThread {
    lines: SyncSender<String>,
    given: u64,
    taken: Arc<AtomicU64>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl StatusThread {
    fn start(writer: Lines) -> std::io::Result<StatusThread> {
        let (lines, received) = sync_channel(WAITING_MAX);
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&taken);
        let thread = Builder::new()
            .name("status".to_owned())
            .spawn(move || write_lines(writer, &received, &counted))?;
        Ok(StatusThread {
            lines,
            given: 0,
            taken,
            thread,
        })
    }

    /// Whether the line was taken to be written.
    fn give(&mut self, line: String) -> Result<(), TrySendError<String>> {
        self.lines.try_send(line)?;
        self.given += 1;
        Ok(())
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn waiting(&self) -> u64 {
        self.given - self.taken()
    }
}

/// Each line is one write, so that a reader never sees half of one.
fn write_lines(
    mut writer: Lines,
    lines: &Receiver<String>,
    taken: &AtomicU64,
) -> std::io::Result<()> {
    for line in lines {
        writer.write_all(line.as_bytes())?;
        taken.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

impl StatusWriter {
    /// Opens the file, or the pipe, that the lines go to; `-` is standard error.
    pub(super) fn open(path: Option<&Path>) -> anyhow::Result<StatusWriter> {
        let writer: Option<Lines> = match path {
            None => None,
            Some(path) if path == Path::new("-") => Some(Box::new(std::io::stderr())),
            Some(path) => {
                let words = "the recording begins when someone does (Ctrl-C ends it)";
                Some(Box::new(output::create_lines(path, words)?))
            }
        };
        let name = path.map_or_else(String::new, |path| path.display().to_string());
        StatusWriter::to(name, writer)
    }

    fn to(name: String, writer: Option<Lines>) -> anyhow::Result<StatusWriter> {
        let thread = writer.map(StatusThread::start).transpose();
        let thread = thread.map_err(|error| {
            UsageError(format!("cannot start a thread to write {name}: {error}"))
        })?;
        Ok(StatusWriter {
            name,
            thread,
            written_at_s: f64::NEG_INFINITY,
            flushes: 0,
            last_line: None,
            left_out: 0,
            taken: 0,
            still_since_s: 0.0,
            is_reported: false,
            failure: None,
        })
    }

    /// Hands a line on if one is due. Returns what the user should know, once.
    pub(super) fn write(&mut self, standing: &RecordingProgress) -> Option<String> {
        let reported = self.look(standing.time_s);
        let is_due = standing.time_s >= self.written_at_s + STATUS_EVERY_S;
        if !is_due && standing.flushes == self.flushes && !standing.is_over {
            return reported;
        }
        self.written_at_s = standing.time_s;
        self.flushes = standing.flushes;
        if let (Some(thread), Ok(line)) =
            (&mut self.thread, reader::write_line(&status_line(standing)))
        {
            match thread.give(line) {
                Err(TrySendError::Full(line)) if standing.is_over => self.last_line = Some(line),
                Err(TrySendError::Full(_)) => self.left_out += 1,
                Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            }
        }
        reported
    }

    /// Whether lines are taken; if not, why not, once.
    fn look(&mut self, now_s: f64) -> Option<String> {
        let thread = self.thread.as_ref()?;
        if thread.thread.is_finished() {
            self.end();
            return self.failure.clone();
        }
        if thread.taken() != self.taken || thread.waiting() == 0 {
            self.taken = thread.taken();
            self.still_since_s = now_s;
        }
        if self.is_reported || now_s - self.still_since_s < REPORTED_AFTER_S {
            return None;
        }
        self.is_reported = true;
        Some(format!(
            "{} has taken no line of the status for {REPORTED_AFTER_S:.0} s: its file system may \
             be frozen, or nobody may read it. The recording goes on; {WAITING_MAX} lines wait, \
             and more are left out",
            self.name
        ))
    }

    /// The recording is over. What waits is waited for within a bound. Returns why the status is
    /// not whole, if so.
    pub(super) fn finish(mut self) -> Option<String> {
        let mut waited_s = 0.0;
        while let Some(thread) = &mut self.thread {
            let taken = thread.taken();
            if let Some(line) = self.last_line.take()
                && let Err(TrySendError::Full(line)) = thread.give(line)
            {
                self.last_line = Some(line);
            }
            if thread.thread.is_finished() || self.last_line.is_none() && thread.waiting() == 0 {
                self.end();
                break;
            }
            if waited_s >= GIVEN_UP_AFTER_S {
                self.thread = None;
                self.failure = Some(format!(
                    "{} has taken no line of the status for {GIVEN_UP_AFTER_S:.0} s: the last \
                     lines are not in it. The recording is over, and was not held up by that. \
                     Until its file system answers, the kernel may keep this process from ending",
                    self.name
                ));
                break;
            }
            Clock::Real.wait_until(Clock::Real.now() + PAUSE_NS);
            let before_s = waited_s;
            waited_s += PAUSE_NS as f64 / 1e9;
            if thread.taken() != taken {
                waited_s = 0.0;
            } else if before_s < REPORTED_AFTER_S && waited_s >= REPORTED_AFTER_S {
                say(&format!(
                    "note: the recording is over, and {} takes no line of its status: it is \
                     waited for up to {GIVEN_UP_AFTER_S:.0} s",
                    self.name
                ));
            }
        }
        if self.failure.is_none() && self.left_out > 0 {
            self.failure = Some(format!(
                "{} lines of the status were left out, because {} did not take them in time",
                self.left_out, self.name
            ));
        }
        self.failure
    }

    /// The thread has ended, or does so now. If a line could not be written, the recording matters
    /// more: half a line stays the last one, and the reason is reported once.
    fn end(&mut self) {
        let Some(StatusThread { lines, thread, .. }) = self.thread.take() else {
            return;
        };
        drop(lines);
        let Ok(Err(error)) = thread.join() else {
            return;
        };
        // The reader has closed the pipe on purpose, and needs no message.
        if error.kind() != ErrorKind::BrokenPipe {
            self.failure = Some(format!(
                "cannot write the status to {}: {error}; the status ends there, and the recording \
                 goes on without it",
                self.name
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use sustain::document::record::LimitedBy;

    use super::*;

    /// Takes no line before it is let go, and keeps those that it takes.
    struct HeldBack {
        let_go: Receiver<()>,
        is_held: bool,
        kept: Sender<String>,
    }

    impl Write for HeldBack {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.is_held {
                // Whoever holds it lets it go by dropping the other end.
                let _ = self.let_go.recv();
                self.is_held = false;
            }
            let line = String::from_utf8(bytes.to_vec()).unwrap();
            self.kept.send(line).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Refuses all lines.
    struct Refusing(ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn standing(time_s: f64, is_over: bool) -> RecordingProgress {
        RecordingProgress {
            time_s,
            streams: Vec::new(),
            members: Vec::new(),
            parities: 0,
            buffer_fill: 0.0,
            longest_write_ns: 0,
            is_longest_write_under_way: false,
            limited_by: LimitedBy::Source,
            others_bytes_per_s: None,
            marks: None,
            pins: None,
            recording: 1,
            begun_at: sustain::disk::clock::Timestamp(0),
            is_paused: false,
            flushes: 0,
            is_over,
        }
    }

    fn status_to(writer: impl Write + Send + 'static) -> StatusWriter {
        StatusWriter::to("status.jsonl".to_owned(), Some(Box::new(writer))).unwrap()
    }

    #[test]
    fn a_file_that_takes_no_lines_holds_nothing_up_and_is_named_once() {
        let (hold, let_go) = sync_channel(0);
        let (kept, lines) = channel();
        let mut status = status_to(HeldBack {
            let_go,
            is_held: true,
            kept,
        });
        // One line is being written, unless its thread has not come to it yet, and so many wait.
        let left_out = 7;
        let seconds = 1 + WAITING_MAX + left_out;
        let mut reported = Vec::new();
        for second in 0..seconds {
            reported.extend(status.write(&standing(second as f64, false)));
        }
        assert_eq!(reported.len(), 1, "{reported:?}");
        let words = "status.jsonl has taken no line of the status for 5 s: ";
        assert!(reported[0].starts_with(words), "{reported:?}");
        // The last line finds no room either, and is waited for.
        assert_eq!(status.write(&standing(seconds as f64, true)), None);
        drop(hold);
        let left_out_words = status.finish().unwrap();
        let lines: Vec<String> = lines.iter().collect();
        let given = seconds + 1;
        let count = given - lines.len();
        assert!(count == left_out || count == left_out + 1, "{count}");
        let words = format!("{count} lines of the status were left out, ");
        assert!(left_out_words.starts_with(&words), "{left_out_words}");
        assert!(lines.iter().all(|line| line.ends_with("}\n")));
        let last: serde_json::Value = serde_json::from_str(&lines[lines.len() - 1]).unwrap();
        assert_eq!(last["time_s"], seconds as f64);
    }

    #[test]
    fn a_file_that_refuses_lines_is_named_and_a_reader_that_has_gone_is_not() {
        for (refusal, is_named) in [
            (ErrorKind::StorageFull, true),
            (ErrorKind::BrokenPipe, false),
        ] {
            let mut status = status_to(Refusing(refusal));
            assert_eq!(status.write(&standing(0.0, false)), None);
            let reported = status.finish();
            assert_eq!(reported.is_some(), is_named, "{refusal}: {reported:?}");
            let words = "cannot write the status to status.jsonl: ";
            assert!(reported.is_none_or(|reported| reported.starts_with(words)));
        }
    }

    #[test]
    fn a_line_is_due_each_second_and_after_each_flush() {
        let (hold, let_go) = sync_channel(0);
        drop(hold);
        let (kept, lines) = channel();
        let mut status = status_to(HeldBack {
            let_go,
            is_held: false,
            kept,
        });
        for (time_s, flushes, is_over) in [
            (0.0, 0, false),
            (0.4, 0, false),
            (0.5, 1, false),
            (0.6, 1, false),
            (1.5, 1, false),
            (1.6, 1, true),
        ] {
            let at = RecordingProgress {
                flushes,
                ..standing(time_s, is_over)
            };
            assert_eq!(status.write(&at), None);
        }
        assert_eq!(status.finish(), None);
        let times: Vec<f64> = lines
            .iter()
            .map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap())
            .map(|line| line["time_s"].as_f64().unwrap())
            .collect();
        assert_eq!(times, [0.0, 0.5, 1.5, 1.6]);
    }
}
