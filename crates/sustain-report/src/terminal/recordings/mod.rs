//! Shows the results of `create`, `list`, `verify` and `recover` as text and tables. The commands
//! print them; they must fit the width that they are given.

mod create;
mod pins;
mod places;
mod recover;
mod repair;
mod retire;
mod scrub;
mod verify;

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, presets};
use sustain_document::list::{
    ListDocument, ListedMember, ListedPin, ListedRecording, ListedStream,
};
use sustain_document::record::RecordingEnd;

pub use self::create::create_text;
use self::pins::only_pinned_line;
pub use self::pins::unpin_text;
pub use self::places::places_text;
pub use self::recover::recover_text;
pub use self::repair::repair_text;
pub use self::retire::retire_text;
pub use self::scrub::scrub_text;
pub use self::verify::verify_text;
use super::columns::text_of;
use super::control::mark_line;
use super::without_controls;
use super::wrapped::wrapped;
use crate::format::position;

/// A narrower table would break its figures over two lines: one block per stream is easier to read.
const TABLE_WIDTH_MIN: usize = 78;
/// A table of this width has space for the time of the last byte.
const TABLE_WIDTH_FULL: usize = 110;

/// The recordings of a store, oldest first.
#[must_use]
pub fn list_text(document: &ListDocument, width: usize) -> String {
    let mut text = wrapped(&store_line(&document.store, &document.members), width);
    if document.recordings.is_empty() {
        text.push_str("the store has no recordings\n");
    } else if width < TABLE_WIDTH_MIN {
        text.push_str(&list_blocks(document));
    } else {
        text.push_str(&list_table(document, width));
    }
    // Only of the newest recording the end of a pin can be still to come.
    let running = document.recordings.last().and_then(|one| one.running);
    let pins = document.pins.iter();
    let pins = pins.flat_map(|pin| pins::pin_lines(pin, running));
    for line in mark_lines(document)
        .chain(pins)
        .chain(list_remarks(document))
    {
        text.push_str(&wrapped(&line, width));
    }
    text
}

/// The marks of users, and how many more there are.
fn mark_lines(document: &ListDocument) -> impl Iterator<Item = String> {
    document.recordings.iter().flat_map(|recording| {
        let number = recording.recording;
        let marks = recording.marks.iter();
        let lines = marks
            .map(move |mark| without_controls(&format!("recording {number}, {}", mark_line(mark))));
        let more = unshown_marks(recording, &document.pins)
            .map(move |words| format!("recording {number}: {words}"));
        lines.chain(more)
    })
}

/// What became of the marks that are not listed.
fn unshown_marks(
    recording: &ListedRecording,
    pins: &[ListedPin],
) -> impl Iterator<Item = String> + use<> {
    let gone = [
        recording.marks_overwritten,
        recording.marks_not_kept,
        recording.marks_not_found,
    ];
    let known = recording.marks.len() as u64 + gone.iter().sum::<u64>();
    let older = recording.marks_made.saturating_sub(known);
    let [overwritten, not_kept, not_found] = gone;
    let number = recording.recording;
    let is_pinned = pins.iter().any(|pin| pin.recordings.contains(&number));
    let overwritten_words = match is_pinned {
        true => format!(
            "overwritten by the ring (`sustain extract --recording {number} --pin N --stream \
             marks` gives those in the time of a pin)"
        ),
        false => "overwritten by the ring".to_owned(),
    };
    let not_kept_words = match recording.ring {
        true => {
            "not kept: no member took what was set when pins kept all of the ring or its members \
             had failed"
        }
        false => {
            "not kept: no member took what was set when the store was full or its members had \
             failed"
        }
    };
    let words = [
        (overwritten, overwritten_words.as_str()),
        (not_kept, not_kept_words),
        (
            not_found,
            "not found: damaged, not durable when a crash came, or on a member that is not here \
             (`sustain verify` tells)",
        ),
        (
            older,
            "not shown, older than these (`sustain extract --stream marks` gives what is there)",
        ),
    ];
    let words = words.into_iter().filter(|(count, _)| *count > 0);
    let mark = match recording.marks.is_empty() {
        true => "mark",
        false => "more mark",
    };
    let words = words.map(|(count, words)| format!("{} {words}", counted(count as usize, mark)));
    words.collect::<Vec<String>>().into_iter()
}

fn store_line(store: &str, members: &[ListedMember]) -> String {
    let missing = members.iter().filter(|member| !member.is_present()).count();
    let all = counted(members.len(), "member");
    match missing {
        0 => format!("store {store}: {all}"),
        missing => format!("store {store}: {all}, {missing} of them missing"),
    }
}

fn list_table(document: &ListDocument, width: usize) -> String {
    let is_full = width >= TABLE_WIDTH_FULL;
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let header = [
        "recording",
        "started (UTC)",
        "last byte",
        "ended",
        "parity",
        "stream",
        "bytes",
        "frames",
        "lost",
        "missing",
    ];
    let streams = || document.recordings.iter().flat_map(|one| &one.streams);
    let is_shown = |column: &usize| match *column {
        LAST_BYTE => is_full,
        PARITY => document.recordings.iter().any(has_parity),
        FRAMES => streams().any(has_frames),
        MISSING => streams().any(|stream| stream.hole_bytes > 0),
        _ => true,
    };
    let shown: Vec<usize> = (0..header.len()).filter(is_shown).collect();
    let cells = |row: [String; 10]| shown.iter().map(move |column| row[*column].clone());
    table.set_header(cells(header.map(str::to_owned)));
    for recording in &document.recordings {
        for (index, stream) in recording.streams.iter().enumerate() {
            table.add_row(cells(list_row(recording, index, stream)));
        }
        if recording.streams.is_empty() {
            let mut row = <[String; 10]>::default();
            row[..5].clone_from_slice(&recording_cells(recording));
            table.add_row(cells(row));
        }
    }
    let is_figure = |(_, column): &(usize, &usize)| FIGURES.contains(column);
    let figures = shown.iter().enumerate().filter(is_figure);
    text_of(table, figures.map(|(at, _)| at).collect::<Vec<_>>())
}

/// The columns of the list that are left out where nothing is in them, or the terminal is narrow.
const LAST_BYTE: usize = 2;
const PARITY: usize = 4;
const FRAMES: usize = 7;
const MISSING: usize = 9;
/// The columns with figures, which end at one line.
const FIGURES: [usize; 6] = [0, PARITY, 6, FRAMES, 8, MISSING];

fn has_parity(recording: &ListedRecording) -> bool {
    recording.parity > Some(0)
}

fn recording_cells(recording: &ListedRecording) -> [String; 5] {
    [
        recording.recording.to_string(),
        recording
            .started
            .as_deref()
            .map_or_else(|| "?".to_owned(), seconds_of),
        String::new(),
        state_words(recording),
        recording
            .parity
            .map_or_else(|| "?".to_owned(), |parity| parity.to_string()),
    ]
}

fn list_row(recording: &ListedRecording, index: usize, stream: &ListedStream) -> [String; 10] {
    let [number, started, _, ended, parity] = if index == 0 {
        recording_cells(recording)
    } else {
        <[String; 5]>::default()
    };
    [
        number,
        started,
        stream
            .last_time
            .as_deref()
            .map_or_else(String::new, seconds_of),
        ended,
        parity,
        without_controls(&stream.name),
        position(stream.bytes),
        if has_frames(stream) {
            stream.frames.to_string()
        } else {
            String::new()
        },
        lost_words(stream),
        lost(stream.hole_bytes),
    ]
}

/// Whether the stream has frames. A source may deliver frames although its bytes have no framing.
fn has_frames(stream: &ListedStream) -> bool {
    let framing = stream.framing.as_deref();
    stream.frames > 0 || framing.is_some_and(|framing| framing != "none")
}

fn ended_words(ended: Option<RecordingEnd>) -> String {
    ended.map_or_else(|| "open end".to_owned(), |ended| ended.to_string())
}

fn state_words(recording: &ListedRecording) -> String {
    match (recording.ended, recording.running) {
        (None, Some(true)) => "running".to_owned(),
        (ended, _) => ended_words(ended),
    }
}

fn lost(bytes: u64) -> String {
    if bytes == 0 {
        "-".to_owned()
    } else {
        position(bytes)
    }
}

fn lost_bytes(stream: &ListedStream) -> u64 {
    stream.gap_bytes + stream.crash_bytes
}

/// The lost bytes, as far as the members show them without being read.
fn lost_words(stream: &ListedStream) -> String {
    let up_to = if stream.given_up_bytes > 0 {
        "up to "
    } else {
        ""
    };
    format!("{up_to}{}", lost(lost_bytes(stream)))
}

fn list_blocks(document: &ListDocument) -> String {
    let mut text = String::new();
    for recording in &document.recordings {
        let [number, started, _, ended, parity] = recording_cells(recording);
        let _ = writeln!(
            text,
            "recording {number}\n  started    {started}\n  ended      {ended}"
        );
        if has_parity(recording) {
            let _ = writeln!(text, "  parity     {parity}");
        }
        for stream in &recording.streams {
            let _ = writeln!(text, "  stream     {}", without_controls(&stream.name));
            let _ = writeln!(text, "    bytes    {}", position(stream.bytes));
            if has_frames(stream) {
                let _ = writeln!(text, "    frames   {}", stream.frames);
            }
            if lost_bytes(stream) > 0 {
                let _ = writeln!(text, "    lost     {}", lost_words(stream));
            }
            if stream.hole_bytes > 0 {
                let _ = writeln!(text, "    missing  {}", position(stream.hole_bytes));
            }
        }
    }
    text
}

/// What the recordings that have not ended in order are. One that another one follows is over.
fn open_ends(document: &ListDocument) -> impl Iterator<Item = String> {
    let open = || {
        let recordings = document.recordings.iter();
        recordings.filter(|recording| recording.ended.is_none())
    };
    let numbers = document.recordings.iter();
    let newest = numbers.map(|recording| recording.recording).max();
    let is_newest = |recording: &ListedRecording| Some(recording.recording) == newest;
    let is_running = open().any(|recording| recording.running == Some(true));
    let is_unknown = open().any(|recording| is_newest(recording) && recording.running.is_none());
    let has_crashed = open().any(|recording| recording.running != Some(true));
    let may_run = match is_unknown {
        true => ", or is still running",
        false => "",
    };
    let running = "running: it is being recorded now, and what is there can be read".to_owned();
    let crashed = format!(
        "open end: the recording was ended by a crash or a kill{may_run}; what is there can be \
         read, and `sustain recover` notes where it ends"
    );
    let is_whole = document.members.iter().all(ListedMember::is_present);
    let elsewhere = "a missing member may have the end, or more, of such a recording";
    let elsewhere = (has_crashed && !is_whole).then(|| elsewhere.to_owned());
    let running = is_running.then_some(running);
    let crashed = has_crashed.then_some(crashed);
    running.into_iter().chain(crashed).chain(elsewhere)
}

fn list_remarks(document: &ListDocument) -> Vec<String> {
    let mut lines: Vec<String> = open_ends(document).collect();
    lines.extend(of_losses(document));
    let only_pinned = document.only_pinned();
    let others = document.recordings.iter();
    let others = others.filter(|one| !only_pinned.contains_key(&one.recording));
    lines.extend(others.flat_map(of_overwritten));
    let only_pinned = only_pinned.iter();
    lines.extend(only_pinned.map(|(recording, pins)| only_pinned_line(*recording, pins)));
    lines
}

/// What the columns of lost and missing bytes mean, as far as they are filled.
fn of_losses(document: &ListDocument) -> Vec<String> {
    let mut lines = Vec::new();
    let streams = || {
        document
            .recordings
            .iter()
            .flat_map(|recording| &recording.streams)
    };
    if streams().any(|stream| stream.gap_bytes > 0) {
        lines.push(
            "lost: bytes that did not reach a member; the store records how many and where"
                .to_owned(),
        );
    }
    let crash_bytes: u64 = streams().map(|stream| stream.crash_bytes).sum();
    if crash_bytes > 0 {
        lines.push(format!(
            "lost: a crash took {}, as `sustain recover` found afterwards",
            position(crash_bytes)
        ));
    }
    let given_up_bytes: u64 = streams().map(|stream| stream.given_up_bytes).sum();
    if given_up_bytes > 0 {
        lines.push(format!(
            "lost up to: {} of these may still exist on a member that was given up, or are copies \
             of what lay on a slow member. `sustain verify` reads them and tells, and `sustain \
             extract` returns what is whole",
            position(given_up_bytes)
        ));
    }
    let is_missing = |member: &ListedMember| !member.is_present();
    if document.members.iter().any(is_missing) && streams().any(|stream| stream.gap_bytes > 0) {
        lines.push(
            "some of what is lost may be on a member that the recorder gave up: that is not known \
             as long as members are missing"
                .to_owned(),
        );
    }
    if streams().any(|stream| stream.hole_bytes > 0) {
        lines.push(
            "missing: bytes that were recorded on members, or parts of members, that are not here"
                .to_owned(),
        );
    }
    lines
}

/// What newer data has taken from a recording.
fn of_overwritten(recording: &ListedRecording) -> Vec<String> {
    let mut lines = Vec::new();
    if recording.started.is_none() {
        lines.push(format!(
            "recording {}: none of its starts can be read, because they are overwritten or \
             damaged, and only these have the names of its streams: they are called by their \
             numbers (--stream \"stream 0\")",
            recording.recording
        ));
    }
    let cut = recording.streams.iter();
    let cut = cut.filter(|stream| stream.readable_from_byte > 0);
    lines.extend(cut.map(|stream| {
        format!(
            "recording {}, stream {}: readable from byte {} on; earlier bytes are overwritten, all \
             or in part",
            recording.recording,
            without_controls(&stream.name),
            stream.readable_from_byte
        )
    }));
    lines
}

/// A time without the fraction of its second.
fn seconds_of(time: &str) -> String {
    time.get(..19).unwrap_or(time).replace('T', " ")
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

#[cfg(test)]
mod tests;
