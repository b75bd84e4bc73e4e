//! Finds lines: each is a frame, with its newline. The framer calls it. A line that has not ended
//! is an open frame, however long it is.

use super::MarkCollector;

#[derive(Debug, Clone, Default)]
pub(super) struct LinesFramer {
    in_line: bool,
}

impl LinesFramer {
    /// Takes all bytes.
    pub(super) fn push(&mut self, bytes: &[u8], marks: &mut MarkCollector<'_>) -> usize {
        if !self.in_line && !bytes.is_empty() {
            marks.begin(0);
            self.in_line = true;
        }
        for newline in memchr::memchr_iter(b'\n', bytes) {
            let line_end = newline + 1;
            marks.end(line_end);
            self.in_line = line_end < bytes.len();
            if self.in_line {
                marks.begin(line_end);
            }
        }
        bytes.len()
    }
}
