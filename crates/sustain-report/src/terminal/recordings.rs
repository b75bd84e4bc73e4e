//! What a store holds, in words and tables: the results of `create`, `list`, `verify` and
//! `recover`. The command prints them; they must fit the width they are given.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use sustain_record::document::{
    BadRange, CreateDocument, ListDocument, ListedMember, ListedRecording, ListedStream, NewMember,
    RecoverDocument, VerifyDocument,
};

use super::summary::wrapped;
use super::without_controls;
use crate::format::size;

/// Below this a table wraps its figures apart: one block per stream is easier to read.
const TABLE_WIDTH_MIN: usize = 78;
/// From here on there is room for the time of the last byte.
const TABLE_WIDTH_FULL: usize = 110;
/// Flaws worth a line each; the rest is in the document.
const BAD_SHOWN: usize = 20;

/// The store that was made, or with no UUID would be.
#[must_use]
pub fn create_text(document: &CreateDocument, width: usize) -> String {
    let mut text = String::new();
    let members = counted(document.members.len(), "member");
    let room = size(document.room_bytes());
    let slots = size(u64::from(document.slot_bytes));
    let first = match &document.store {
        Some(store) => format!("store {store}: {members}, {room} of room, slots of {slots}"),
        None => format!("would make a store of {members}: {room} of room, slots of {slots}"),
    };
    text.push_str(&wrapped(&first, width));
    for member in &document.members {
        text.push_str("  ");
        text.push_str(&wrapped(&new_member(member), width));
    }
    text
}

fn new_member(member: &NewMember) -> String {
    let name = without_controls(&member.name);
    let file = member.path.as_deref().filter(|path| *path != member.name);
    let file = file.map_or_else(String::new, |path| format!(" ({})", without_controls(path)));
    let new = if member.new { "a new file, " } else { "" };
    let slots = counted(member.slots as usize, "slot");
    format!("{name}{file}: {new}{} in {slots}", size(member.bytes))
}

/// What is recorded, oldest first.
#[must_use]
pub fn list_text(document: &ListDocument, width: usize) -> String {
    let mut text = wrapped(&store_line(&document.store, &document.members), width);
    if document.recordings.is_empty() {
        text.push_str("nothing is recorded on it\n");
        return text;
    }
    if width < TABLE_WIDTH_MIN {
        text.push_str(&list_blocks(document));
    } else {
        text.push_str(&list_table(document, width));
    }
    for line in list_remarks(document) {
        text.push_str(&wrapped(&line, width));
    }
    text
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
        "stream",
        "bytes",
        "frames",
        "lost",
        "missing",
    ];
    table.set_header(columns(header.map(str::to_owned), is_full));
    for recording in &document.recordings {
        for (index, stream) in recording.streams.iter().enumerate() {
            table.add_row(columns(list_row(recording, index, stream), is_full));
        }
        if recording.streams.is_empty() {
            let mut row = <[String; 9]>::default();
            row[..4].clone_from_slice(&recording_cells(recording));
            table.add_row(columns(row, is_full));
        }
    }
    let right: &[usize] = if is_full {
        &[0, 5, 6, 7, 8]
    } else {
        &[0, 4, 5, 6, 7]
    };
    for index in right {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// All nine columns, or without the time of the last byte.
fn columns(cells: [String; 9], is_full: bool) -> Vec<String> {
    let is_shown = |(index, _): &(usize, String)| is_full || *index != 2;
    let shown = cells.into_iter().enumerate().filter(is_shown);
    shown.map(|(_, cell)| cell).collect()
}

fn recording_cells(recording: &ListedRecording) -> [String; 4] {
    [
        recording.recording.to_string(),
        recording
            .started
            .as_deref()
            .map_or_else(|| "?".to_owned(), seconds_of),
        String::new(),
        ended_words(recording.ended.as_deref()),
    ]
}

fn list_row(recording: &ListedRecording, index: usize, stream: &ListedStream) -> [String; 9] {
    let [number, started, _, ended] = if index == 0 {
        recording_cells(recording)
    } else {
        <[String; 4]>::default()
    };
    [
        number,
        started,
        stream
            .last_time
            .as_deref()
            .map_or_else(String::new, seconds_of),
        ended,
        without_controls(&stream.name),
        size(stream.bytes),
        if has_frames(stream) {
            stream.frames.to_string()
        } else {
            String::new()
        },
        lost_words(stream),
        lost(stream.hole_bytes),
    ]
}

/// A source may give frames without any framing of its bytes.
fn has_frames(stream: &ListedStream) -> bool {
    let framing = stream.framing.as_deref();
    stream.frames > 0 || framing.is_some_and(|framing| framing != "none")
}

fn ended_words(ended: Option<&str>) -> String {
    ended.map_or_else(
        || "open end".to_owned(),
        |ended| without_controls(ended).replace('_', " "),
    )
}

fn lost(bytes: u64) -> String {
    if bytes == 0 {
        "-".to_owned()
    } else {
        size(bytes)
    }
}

/// What is lost, as far as the members tell without being read.
fn lost_words(stream: &ListedStream) -> String {
    let up_to = if stream.given_up_bytes > 0 {
        "up to "
    } else {
        ""
    };
    format!("{up_to}{}", lost(stream.gap_bytes))
}

fn list_blocks(document: &ListDocument) -> String {
    let mut text = String::new();
    for recording in &document.recordings {
        let [number, started, _, ended] = recording_cells(recording);
        let _ = writeln!(
            text,
            "recording {number}\n  started    {started}\n  ended      {ended}"
        );
        for stream in &recording.streams {
            let _ = writeln!(text, "  stream     {}", without_controls(&stream.name));
            let _ = writeln!(text, "    bytes    {}", size(stream.bytes));
            if has_frames(stream) {
                let _ = writeln!(text, "    frames   {}", stream.frames);
            }
            if stream.gap_bytes > 0 {
                let _ = writeln!(text, "    lost     {}", lost_words(stream));
            }
            if stream.hole_bytes > 0 {
                let _ = writeln!(text, "    missing  {}", size(stream.hole_bytes));
            }
        }
    }
    text
}

fn list_remarks(document: &ListDocument) -> Vec<String> {
    let mut lines = Vec::new();
    let streams = || {
        document
            .recordings
            .iter()
            .flat_map(|recording| &recording.streams)
    };
    if document
        .recordings
        .iter()
        .any(|recording| recording.ended.is_none())
    {
        lines.push(
            "open end: a crash or a kill ended it, or it is still running; what is there can be \
             read"
                .to_owned(),
        );
    }
    if streams().any(|stream| stream.gap_bytes > 0) {
        lines.push("lost: before it reached a member, with its account kept".to_owned());
    }
    let given_up_bytes: u64 = streams().map(|stream| stream.given_up_bytes).sum();
    if given_up_bytes > 0 {
        lines.push(format!(
            "lost up to: the members were given {} more than counts as recorded: a member that was \
             given up has it, so it may be there all the same, or it is copies of what lay on a slow \
             one; `sustain verify` reads it and tells, and `sustain extract` gives what is whole",
            size(given_up_bytes)
        ));
    }
    let is_missing = |member: &ListedMember| !member.is_present();
    if document.members.iter().any(is_missing) && streams().any(|stream| stream.gap_bytes > 0) {
        lines.push(
            "while members are missing it is not known whether one that was given up has some of \
             what is lost"
                .to_owned(),
        );
    }
    if streams().any(|stream| stream.hole_bytes > 0) {
        lines.push("missing: was on members, or parts of them, that are not here".to_owned());
    }
    for recording in &document.recordings {
        for stream in recording
            .streams
            .iter()
            .filter(|stream| stream.readable_from_byte > 0)
        {
            lines.push(format!(
                "recording {}, stream {}: the ring has written over what lies before byte {}",
                recording.recording,
                without_controls(&stream.name),
                stream.readable_from_byte
            ));
        }
    }
    lines
}

/// The second of a time, without the parts of it.
fn seconds_of(time: &str) -> String {
    time.get(..19).unwrap_or(time).replace('T', " ")
}

/// What the check of a store has found.
#[must_use]
pub fn verify_text(document: &VerifyDocument, width: usize) -> String {
    let mut text = wrapped(&store_line(&document.store, &document.members), width);
    for bad in document.bad.iter().take(BAD_SHOWN) {
        text.push_str(&wrapped(&bad_line(bad), width));
    }
    for torn in document.not_durable.iter().take(BAD_SHOWN) {
        let line = range_line("not durable:", torn);
        text.push_str(&wrapped(&line, width));
    }
    let more =
        document.not_durable.len().saturating_sub(BAD_SHOWN) as u64 + document.not_durable_unlisted;
    if more > 0 {
        text.push_str(&wrapped(
            &format!("not durable: {more} more, which --json lists"),
            width,
        ));
    }
    let more = document.bad.len().saturating_sub(BAD_SHOWN) as u64 + document.bad_unlisted;
    if more > 0 {
        text.push_str(&wrapped(
            &format!("bad: {more} more, which --json lists"),
            width,
        ));
    }
    for recording in &document.recordings {
        for stream in &recording.streams {
            let mut parts = vec![format!("{} whole", size(stream.whole_bytes))];
            let damaged_bytes = stream.hole_bytes.saturating_sub(stream.not_durable_bytes);
            let others = [
                (stream.gap_bytes, "lost before they reached a member"),
                (damaged_bytes, "damaged or missing"),
                (
                    stream.not_durable_bytes,
                    if recording.open_end {
                        "lost in the crash, or damaged since"
                    } else {
                        "lost in a crash before they were durable"
                    },
                ),
                (stream.overwritten_bytes, "written over by the ring"),
            ];
            for (bytes, what) in others.into_iter().filter(|(bytes, _)| *bytes > 0) {
                parts.push(format!("{} {what}", size(bytes)));
            }
            let open = if recording.open_end { "; open end" } else { "" };
            let line = format!(
                "recording {}, stream {}: {} = {}{open}",
                recording.recording,
                without_controls(&stream.name),
                size(stream.bytes),
                parts.join(" + ")
            );
            text.push_str(&wrapped(&line, width));
        }
    }
    let mut last = verdict(document);
    last.push_str(&crash_words(document));
    text.push_str(&wrapped(&last, width));
    text
}

/// What a crash took before it was durable is no fault of the store, and should be known. Where
/// the end is open it may be more than a crash that did it.
fn crash_words(document: &VerifyDocument) -> String {
    let bytes_of = |open_end: bool| -> u64 {
        let recordings = document.recordings.iter();
        recordings
            .filter(|recording| recording.open_end == open_end)
            .flat_map(|recording| &recording.streams)
            .map(|stream| stream.not_durable_bytes)
            .sum()
    };
    let (open_bytes, recovered_bytes) = (bytes_of(true), bytes_of(false));
    let mut words = String::new();
    if recovered_bytes > 0 {
        words.push_str(&format!(
            "; {} were on their way when a crash came: the members had not called them durable \
             yet, and `sustain recover` found them missing",
            size(recovered_bytes)
        ));
    }
    if open_bytes > 0 {
        words.push_str(&format!(
            "; {} that no mark calls durable were lost in the crash, or damaged since: the members \
             cannot tell",
            size(open_bytes)
        ));
    }
    words
}

/// Whether it cannot be said what became of some of a recording.
fn is_uncertain(document: &VerifyDocument) -> bool {
    let is_open = |recording: Option<u32>| {
        let mut recordings = document.recordings.iter();
        recordings.any(|one| one.open_end && Some(one.recording) == recording)
    };
    let mut not_durable = document.not_durable.iter();
    not_durable.any(|torn| is_open(torn.recording))
}

fn verdict(document: &VerifyDocument) -> String {
    let checked = size(document.checked_bytes);
    let flaws = document.bad.len() as u64 + document.bad_unlisted;
    match (document.complete, flaws) {
        (false, 0) => format!("interrupted: {checked} checked so far, and nothing bad found"),
        (false, flaws) => format!("interrupted: {checked} checked so far, {flaws} bad"),
        (true, 0) if document.recordings.is_empty() => "nothing is recorded on it".to_owned(),
        (true, 0) if is_uncertain(document) => {
            format!("ok: {checked} checked, nothing that was durable is damaged or missing")
        }
        (true, 0) => format!("ok: {checked} checked, every byte is accounted for"),
        (true, flaws) => format!("not ok: {checked} checked, {flaws} bad"),
    }
}

fn bad_line(bad: &BadRange) -> String {
    range_line("bad:", bad)
}

fn range_line(what: &str, bad: &BadRange) -> String {
    let mut line = what.to_owned();
    if let Some(recording) = bad.recording {
        let _ = write!(line, " recording {recording},");
    }
    if let Some(stream) = &bad.stream {
        let _ = write!(line, " stream {},", without_controls(stream));
    }
    match (bad.from_byte, bad.to_byte) {
        (Some(from), Some(to)) if from < to => {
            let _ = write!(line, " bytes {from} to {to},");
        }
        (Some(from), _) if bad.stream.is_some() => {
            let _ = write!(line, " at byte {from},");
        }
        _ => {}
    }
    if let Some(member) = &bad.member {
        let _ = write!(line, " member {}", without_controls(member));
        if let Some(offset_bytes) = bad.offset_bytes {
            let _ = write!(line, " at byte {offset_bytes}");
        }
    }
    let line = line.trim_end_matches(',');
    let separator = if line == what { "" } else { ":" };
    format!("{line}{separator} {}", without_controls(&bad.why))
}

/// What opening the store has found, and what was written down.
#[must_use]
pub fn recover_text(document: &RecoverDocument, width: usize) -> String {
    let mut lines = vec![format!("store {}", document.store)];
    for recording in &document.recordings {
        let ended = ended_words(recording.ended.as_deref());
        for stream in &recording.streams {
            let mut line = format!(
                "recording {}, stream {}: {}",
                recording.recording,
                without_controls(&stream.name),
                size(stream.bytes)
            );
            if stream.gap_bytes > 0 {
                let up_to = if stream.given_up_bytes > 0 {
                    "up to "
                } else {
                    ""
                };
                let _ = write!(
                    line,
                    ", {up_to}{} of it lost before a member",
                    size(stream.gap_bytes)
                );
            }
            if stream.hole_bytes > 0 {
                let _ = write!(line, ", {} of it missing", size(stream.hole_bytes));
            }
            lines.push(format!("{line}; ended: {ended}"));
        }
    }
    if let Some(recording) = document.recording {
        let members: Vec<String> = document
            .marked
            .iter()
            .map(|name| without_controls(name))
            .collect();
        lines.push(format!(
            "recording {recording} had an open end: its end mark is written on {}",
            members.join(", ")
        ));
    }
    if document.superblocks_renewed {
        lines.push("the superblocks are renewed".to_owned());
    }
    if document.recording.is_none() && !document.superblocks_renewed {
        lines.push("there was nothing to write down".to_owned());
    }
    lines.iter().map(|line| wrapped(line, width)).collect()
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
