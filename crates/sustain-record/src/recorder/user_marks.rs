//! The marks of users: each is a line of JSON in a stream of the recorder's own, handed over as an
//! append by itself. So a mark is as durable as data, lies beside data of its time, and goes with
//! it in a ring.
//!
//! An append of a mark brings its own memory: a buffer that is full of data holds up no mark.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sustain_disk::buffer::AlignedBytes;
use sustain_document::control::{MarkedOffset, UserMark};

use super::board::{RecordingBoard, RecordingProgress};
use super::filled::{Filled, PayloadMemory};
use super::stream_writer::StreamWriter;
use crate::format::{BLOCK_BYTES, MarksWriter, PayloadMark, PieceChecksums, append_bytes_for};
use crate::time_text::time_text;

/// The longest text of a mark.
pub const MARK_TEXT_BYTES_MAX: usize = 1000;
/// Marks that may wait until they are durable.
const WAITING_MAX: u64 = 1000;
/// The newest marks, whose times are known without reading them back.
const REMEMBERED_MAX: usize = 1000;

/// Sets marks in a running recording. Their stream ends when this is dropped.
pub struct MarkKeeper {
    kept: Mutex<KeptMarks>,
    board: Arc<RecordingBoard>,
    /// The names of the streams whose offsets a mark has, in the order of their numbers.
    streams: Vec<String>,
}

struct KeptMarks {
    writer: StreamWriter,
    /// Marks in this recording.
    made: u64,
    /// Recordings before this one in the same run.
    cuts: u32,
    /// The number of the first recording of the run.
    first_recording: u32,
    /// The newest ones, oldest first.
    remembered: VecDeque<RememberedMark>,
}

/// A mark as far as it can be asked for later.
struct RememberedMark {
    recording: u32,
    number: u64,
    text: String,
    time_ns: i64,
}

impl KeptMarks {
    /// The number of the recording whose marks are set now.
    fn recording(&self) -> u32 {
        self.first_recording.saturating_add(self.cuts)
    }

    fn remember(&mut self, mark: &UserMark) {
        if self.remembered.len() == REMEMBERED_MAX {
            self.remembered.pop_front();
        }
        self.remembered.push_back(RememberedMark {
            recording: self.recording(),
            number: mark.number,
            text: mark.text.clone(),
            time_ns: mark.time_ns,
        });
    }

    /// How many marks of this recording are settled. From the first cut of a stream on, the board
    /// shows the recording before for a while.
    fn settled(&self, standing: &RecordingProgress) -> u64 {
        let is_shown = standing.recording == self.recording();
        let marks = standing.marks.as_ref().filter(|_| is_shown);
        marks.map_or(0, |marks| marks.settled)
    }
}

/// Says why a text cannot be a mark.
///
/// # Errors
/// In words, with what is allowed.
pub fn check_mark_text(text: &str) -> Result<(), String> {
    let length = text.len();
    let allowed = format!("a mark is 1 to {MARK_TEXT_BYTES_MAX} bytes of text in one line");
    if length == 0 {
        return Err(format!("the text of the mark is empty: {allowed}"));
    }
    if length > MARK_TEXT_BYTES_MAX {
        return Err(format!(
            "the text of the mark has {length} bytes: {allowed}"
        ));
    }
    match text.chars().find(|one| one.is_control()) {
        Some(control) => Err(format!(
            "the text of the mark has the control character {}: {allowed}, without any",
            control.escape_unicode()
        )),
        None => Ok(()),
    }
}

impl MarkKeeper {
    /// Keeps marks in the stream of this writer, beside the other streams that the board shows.
    pub fn new(writer: StreamWriter, board: Arc<RecordingBoard>) -> MarkKeeper {
        let standing = board.read();
        let streams = standing.streams.into_iter().map(|stream| stream.name);
        MarkKeeper {
            streams: streams.collect(),
            kept: Mutex::new(KeptMarks {
                writer,
                made: 0,
                cuts: 0,
                first_recording: standing.recording,
                remembered: VecDeque::new(),
            }),
            board,
        }
    }

    /// Sees to it that marks from now on belong to the recording behind so many cuts. Each stream
    /// asks for this before it is cut itself. So as long as a mark is set, no stream goes on to a
    /// recording behind the mark's.
    pub(super) fn cut_to(&self, cuts: u32) {
        let mut kept = self.lock();
        if kept.cuts < cuts {
            kept.writer.cut();
            kept.made = 0;
            kept.cuts = cuts;
        }
    }

    /// Marks handed over so far in this recording.
    pub fn made(&self) -> u64 {
        self.lock().made
    }

    /// Sets a mark. It is handed to the recorder when this returns, and durable a little later.
    ///
    /// # Errors
    /// In words: the text cannot be a mark, the recording takes nothing more, too many marks wait
    /// for members, or there is no memory.
    pub fn set(&self, text: &str) -> Result<UserMark, String> {
        check_mark_text(text)?;
        let mut kept = self.lock();
        if kept.writer.is_closed() {
            return Err("the recording takes nothing more: it is full, or it ends".to_owned());
        }
        let settled = kept.settled(&self.board.read());
        if kept.made.saturating_sub(settled) >= WAITING_MAX {
            return Err(format!(
                "{WAITING_MAX} marks wait until members take them, and no more may: set it again \
                 when `status` says that they are settled"
            ));
        }
        let time_ns = kept.writer.now_ns();
        let mark = UserMark {
            number: kept.made + 1,
            time_ns,
            time: time_text(time_ns),
            text: text.to_owned(),
            streams: self.offsets(&kept),
        };
        kept.writer.send_mark(&line_of(&mark), time_ns)?;
        kept.made += 1;
        kept.remember(&mark);
        Ok(mark)
    }

    /// The time of day by the recorder's clock, in nanoseconds since 1970.
    pub fn now_ns(&self) -> i64 {
        self.lock().writer.now_ns()
    }

    /// When the mark of this recording was set that has this number, or else is the only one with
    /// this text, in nanoseconds since 1970.
    ///
    /// # Errors
    /// In words, if there is none, or there are several.
    pub fn time_ns_of(&self, wanted: &str) -> Result<i64, String> {
        let kept = self.lock();
        time_ns_of(&kept.remembered, kept.recording(), wanted)
    }

    fn offsets(&self, kept: &KeptMarks) -> Vec<MarkedOffset> {
        let offered = self.streams.iter().zip(&kept.writer.exchange.offered);
        offered
            .map(|(name, offered)| MarkedOffset {
                name: name.clone(),
                offset_bytes: offered.taken_bytes_behind(kept.cuts),
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, KeptMarks> {
        // What a panic elsewhere leaves here is whole: a mark is counted once it was sent.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn time_ns_of(
    remembered: &VecDeque<RememberedMark>,
    recording: u32,
    wanted: &str,
) -> Result<i64, String> {
    let number = wanted.parse::<u64>().ok();
    let own = || remembered.iter().filter(|mark| mark.recording == recording);
    if let Some(mark) = own().find(|mark| Some(mark.number) == number) {
        return Ok(mark.time_ns);
    }
    let with_text: Vec<&RememberedMark> = own().filter(|mark| mark.text == wanted).collect();
    match with_text[..] {
        [mark] => return Ok(mark.time_ns),
        [] => {}
        [.., newest] => {
            return Err(format!(
                "{} marks of this recording say {wanted:?}: name one by its number, such as {}, \
                 which is the newest of them",
                with_text.len(),
                newest.number
            ));
        }
    }
    let mut all = remembered.iter().rev();
    if let Some(mark) = all.find(|mark| mark.text == wanted) {
        return Err(format!(
            "recording {recording}, the running one, has no mark {wanted:?}; recording {} before \
             it has one at {}: give times around that",
            mark.recording,
            time_text(mark.time_ns)
        ));
    }
    Err(match own().next_back() {
        None => format!(
            "no mark was set in recording {recording}, the running one: set one (`mark`), or give \
             times"
        ),
        Some(newest) => format!(
            "there is no mark {wanted:?} among the last {REMEMBERED_MAX} of recording {recording}, \
             the running one: its newest is {} ({:?}). Name one of them, or give times",
            newest.number, newest.text
        ),
    })
}

/// The longest line that a mark may take beside streams of these names.
pub(super) fn line_bytes_max<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    let streams = names.map(|name| MarkedOffset {
        name: name.to_owned(),
        offset_bytes: u64::MAX,
    });
    let longest = UserMark {
        number: u64::MAX,
        time_ns: i64::MIN,
        time: time_text(i64::MIN),
        // JSON writes two bytes for a quote.
        text: "\"".repeat(MARK_TEXT_BYTES_MAX),
        streams: streams.collect(),
    };
    line_of(&longest).len()
}

fn line_of(mark: &UserMark) -> Vec<u8> {
    let mut line = serde_json::to_vec(mark).expect("its keys are strings");
    line.push(b'\n');
    line
}

impl StreamWriter {
    /// Hands over a line as an append by itself, and as a frame by itself.
    fn send_mark(&mut self, line: &[u8], time_ns: i64) -> Result<(), String> {
        let mut marks = MarksWriter::new();
        marks.push(PayloadMark::begin(0, time_ns), time_ns);
        marks.push(PayloadMark::end(line.len() as u64), time_ns);
        let append_bytes = append_bytes_for(line.len() as u32, marks.len_bytes() as u32);
        let mut memory =
            AlignedBytes::new(append_bytes as usize).map_err(|error| error.to_string())?;
        memory[BLOCK_BYTES..BLOCK_BYTES + line.len()].copy_from_slice(line);
        let mut checksums = PieceChecksums::new();
        checksums.push(line);
        let now = self.clock.now();
        let stream_offset_bytes = self.next_offset_bytes;
        self.next_offset_bytes += line.len() as u64;
        self.send(Filled {
            stream: self.stream,
            stream_offset_bytes,
            memory: Some(PayloadMemory::Copied(memory)),
            payload_bytes: line.len() as u32,
            checksums: checksums.take(),
            frames_begun: 1,
            first_frame: None,
            frame_times_ns: marks.times_ns(),
            marks: marks.bytes().to_vec(),
            gap: None,
            first_time_ns: time_ns,
            last_time_ns: time_ns,
            begun_at: now,
            accepted_at: now,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_again_by_its_number_or_its_text() {
        let marks = [
            (1, 1, "gate", 5),
            (2, 1, "door", 10),
            (2, 2, "1", 20),
            (2, 3, "door", 30),
            (2, 4, "7", 40),
        ];
        let marks = marks.map(|(recording, number, text, time_ns)| RememberedMark {
            recording,
            number,
            text: text.to_owned(),
            time_ns,
        });
        let marks = VecDeque::from(marks);
        let find = |wanted| time_ns_of(&marks, 2, wanted);
        assert_eq!(find("1"), Ok(10), "a number comes before a text");
        assert_eq!(find("7"), Ok(40), "no mark has this number");
        let why = find("door").unwrap_err();
        assert!(why.contains("2 marks") && why.contains("as 3,"), "{why}");
        let why = find("gate").unwrap_err();
        let words = "recording 1 before it has one at 1970-01-01T00:00:00.000000005Z";
        assert!(why.contains(words), "{why}");
        let why = find("window").unwrap_err();
        assert!(why.contains("newest is 4 (\"7\")"), "{why}");
        let why = time_ns_of(&marks, 3, "window").unwrap_err();
        assert!(why.contains("no mark was set in recording 3"), "{why}");
    }

    #[test]
    fn a_mark_is_a_line_of_text() {
        for text in ["a", "T\u{fc}r \u{201e}A\u{201c} \"auf\"", &"x".repeat(1000)] {
            assert_eq!(check_mark_text(text), Ok(()), "{text}");
        }
        for (text, word) in [
            ("", "empty"),
            ("two\nlines", "\\u{a}"),
            ("\u{1b}[2J", "\\u{1b}"),
            ("\u{85}", "\\u{85}"),
            ("nul\0", "\\u{0}"),
            (&"x".repeat(1001), "1001 bytes"),
            (&"x".repeat(1 << 20), "1048576 bytes"),
        ] {
            let why = check_mark_text(text).unwrap_err();
            assert!(
                why.contains(word) && why.contains("1 to 1000 bytes"),
                "{why}"
            );
        }
    }
}
