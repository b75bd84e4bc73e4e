//! Shows long work on bytes as one line: how much is done of how much, how fast, and how long it
//! still takes. The command calls it as the work goes on; it must never slow or fail the work.

use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{LiveKind, noted, without_controls};
use crate::format::{percent, rate, stretch};

/// The seconds between two lines in a pipe.
const PLAIN_EVERY_S: f64 = 10.0;
/// The seconds between two drawings in a terminal.
const REDRAW_EVERY_S: f64 = 0.1;
/// The seconds before the first drawing in a terminal: short work needs no line.
const REDRAW_FIRST_S: f64 = 0.3;

/// Shows running work.
pub struct ProgressView {
    /// The kind of work, such as `checking` or `writing`.
    what: String,
    bar: Option<ProgressBar>,
    writer: Option<Box<dyn Write + Send>>,
    due_s: f64,
}

impl ProgressView {
    /// A view of this kind for work that is called `what`. `writer` takes the lines of the plain
    /// kinds; the lines of a terminal are drawn on standard error.
    #[must_use]
    pub fn new(what: &str, kind: LiveKind, writer: Box<dyn Write + Send>) -> ProgressView {
        let bar = (kind == LiveKind::Terminal).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{wide_msg}");
            bar.with_style(style.expect("the template is a constant that indicatif takes"))
        });
        let is_plain = matches!(kind, LiveKind::Plain | LiveKind::PlainSimulated);
        ProgressView {
            what: what.to_owned(),
            due_s: if is_plain {
                PLAIN_EVERY_S
            } else {
                REDRAW_FIRST_S
            },
            bar,
            writer: is_plain.then_some(writer),
        }
    }

    /// Shows this moment: the bytes done, all bytes if that is known, and the seconds since the
    /// start.
    pub fn update(&mut self, done_bytes: u64, all_bytes: Option<u64>, elapsed_s: f64) {
        if elapsed_s < self.due_s {
            return;
        }
        let line = line(&self.what, done_bytes, all_bytes, elapsed_s);
        if let Some(bar) = &self.bar {
            self.due_s = elapsed_s + REDRAW_EVERY_S;
            bar.set_message(line);
        } else if let Some(writer) = &mut self.writer {
            self.due_s = (elapsed_s / PLAIN_EVERY_S).floor() * PLAIN_EVERY_S + PLAIN_EVERY_S;
            // Nothing can be done about a pipe that was closed.
            let _ = writeln!(writer, "{line}");
        }
    }

    /// Prints a line that stays, above the redrawn one.
    pub fn note(&mut self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.println(noted(text));
        } else if let Some(writer) = &mut self.writer {
            // A closed pipe is no error, as in `update`.
            let _ = writeln!(writer, "{}", without_controls(text));
        }
    }

    /// Removes the redrawn line, so that the result stands alone.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn line(what: &str, done_bytes: u64, all_bytes: Option<u64>, elapsed_s: f64) -> String {
    let per_s = done_bytes as f64 / elapsed_s.max(1e-9);
    let done = amount(done_bytes);
    let Some(all_bytes) = all_bytes.filter(|all| *all > 0) else {
        return format!("{what}: {done}, {}", rate(per_s));
    };
    let part = (done_bytes as f64 / all_bytes as f64).min(1.0);
    let left_s = all_bytes.saturating_sub(done_bytes) as f64 / per_s;
    format!(
        "{what}: {done} of {}, {}, {}, {} to go",
        amount(all_bytes),
        percent(part),
        rate(per_s),
        stretch(left_s)
    )
}

/// An amount that changes, always in powers of 10, so that it is easily compared with the whole.
fn amount(bytes: u64) -> String {
    rate(bytes as f64).trim_end_matches("/s").to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Pipe(Arc<Mutex<Vec<u8>>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_says_how_much_how_fast_and_how_long() {
        assert_eq!(
            line("checking", 5_000_000_000, Some(20_000_000_000), 10.0),
            "checking: 5.00 GB of 20.0 GB, 25 %, 500 MB/s, 30 s to go"
        );
        assert_eq!(
            line("writing", 1_000_000, None, 2.0),
            "writing: 1.00 MB, 500 kB/s"
        );
        insta::assert_snapshot!(line("checking", 0, Some(10), 0.0), @"checking: 0 B of 10 B, 0 %, 0 B/s, ? to go");
        insta::assert_snapshot!(line("checking", 11, Some(10), 1.0), @"checking: 11 B of 10 B, 100 %, 11 B/s, 0 s to go");
    }

    #[test]
    fn a_pipe_gets_a_line_in_ten_seconds_and_every_note() {
        let pipe = Pipe::default();
        let mut view = ProgressView::new("checking", LiveKind::Plain, Box::new(pipe.clone()));
        for tenth in 0..250_u64 {
            view.update(tenth * 1000, Some(250_000), tenth as f64 / 10.0);
        }
        view.note("one\u{1b}[2Jnote");
        view.finish();
        let text = String::from_utf8(pipe.0.lock().unwrap().clone()).unwrap();
        insta::assert_snapshot!(text, @"
        checking: 100 kB of 250 kB, 40 %, 10.0 kB/s, 15 s to go
        checking: 200 kB of 250 kB, 80 %, 10.0 kB/s, 5 s to go
        one�[2Jnote
        ");
    }

    #[test]
    fn a_silent_view_says_nothing() {
        let pipe = Pipe::default();
        let mut view = ProgressView::new("checking", LiveKind::Silent, Box::new(pipe.clone()));
        view.update(1, Some(2), 100.0);
        view.note("a note");
        view.finish();
        assert!(pipe.0.lock().unwrap().is_empty());
    }
}
