//! The findings of a check of a store, in words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use sustain_document::list::ListedMember;
use sustain_document::verify::{
    BadRange, CheckedPin, CheckedProtection, CheckedStream, VerifyDocument,
};

use super::pins::found_line;
use super::store_line;
use crate::format::position;
use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// The number of flaws that have a line each; the document has all.
pub(super) const BAD_SHOWN: usize = 20;

/// The result of checking a store.
#[must_use]
pub fn verify_text(document: &VerifyDocument, width: usize) -> String {
    checked_text(document, mending_words(document), width)
}

/// The same with other words on what to do about it.
pub(super) fn checked_text(document: &VerifyDocument, mending: &str, width: usize) -> String {
    let mut text = wrapped(&store_line(&document.store, &document.members), width);
    text.push_str(&flaws_text(document, width));
    for recording in &document.recordings {
        // A recording without marks has an empty stream for them, which says nothing.
        let is_reported = |stream: &&CheckedStream| !stream.marks || stream.bytes > 0;
        for stream in recording.streams.iter().filter(is_reported) {
            let mut parts = vec![format!("{} whole", position(stream.whole_bytes))];
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
                (stream.overwritten_bytes, "overwritten by the ring"),
            ];
            for (bytes, what) in others.into_iter().filter(|(bytes, _)| *bytes > 0) {
                parts.push(format!("{} {what}", position(bytes)));
            }
            let open = if recording.open_end { "; open end" } else { "" };
            let which = format!(
                "recording {}, stream {}",
                recording.recording,
                without_controls(&stream.name)
            );
            let sum = parts.join(" + ");
            let line = format!("{which}: {} = {sum}{open}", position(stream.bytes));
            text.push_str(&wrapped(&line, width));
            if let Some(below) = below_readable(stream) {
                text.push_str(&wrapped(&format!("{which}: {below}"), width));
            }
        }
        if let Some(protection) = &recording.protection {
            let mut streams = recording.streams.iter();
            let is_whole = streams.all(|one| one.hole_bytes == 0);
            let line = protection_line(recording.recording, protection, is_whole);
            text.push_str(&wrapped(&line, width));
        }
    }
    for pin in &document.pins {
        text.push_str(&wrapped(&pin_line(pin, document.complete), width));
        text.push_str(&wrapped(&found_line(pin.pin, pin.open, &pin.found), width));
    }
    let mut last = verdict(document);
    last.push_str(&crash_words(document));
    last.push_str(&rest_words(document));
    last.push_str(mending);
    text.push_str(&wrapped(&last, width));
    text
}

/// What is bad, and what was not durable, as far as it is shown.
fn flaws_text(document: &VerifyDocument, width: usize) -> String {
    let mut text = String::new();
    let (lines, shown) = bad_lines(&document.bad);
    for line in &lines {
        text.push_str(&wrapped(line, width));
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
    let more = (document.bad.len() - shown) as u64 + document.bad_unlisted;
    if more > 0 {
        text.push_str(&wrapped(
            &format!("bad: {more} more, which --json lists"),
            width,
        ));
    }
    text
}

/// What protects a recording of which nothing is damaged or missing, or what is left of one.
fn protection_line(recording: u32, protection: &CheckedProtection, is_whole: bool) -> String {
    let members = match protection.parities {
        // No parity is found that would tell.
        0 => "a further member".to_owned(),
        1 => "any one member".to_owned(),
        count => format!("any {count} members"),
    };
    let protected_bytes = protection.protected_bytes;
    let rest = match (protected_bytes, protection.unprotected_bytes) {
        (_, 0) if is_whole => "all of it".to_owned(),
        (_, 0) => "all that is left of it".to_owned(),
        (0, _) => "none of it, because something of each group is missing, or it never had parity"
            .to_owned(),
        (protected_bytes, bytes) => format!(
            "{} of it. Of the other {} something of the group is missing, or it never had parity",
            position(protected_bytes),
            position(bytes)
        ),
    };
    // Of two appends of parity one may be left.
    let still = match protection.protected_from_one_bytes {
        0 => String::new(),
        bytes => format!(
            ". {} of that still outlast the loss of any one further member",
            position(bytes)
        ),
    };
    format!("recording {recording}: protected from the loss of {members}: {rest}{still}")
}

fn pin_line(pin: &CheckedPin, is_complete: bool) -> String {
    let outcome = match (pin.whole, is_complete) {
        (true, _) => "whole",
        (false, true) => "not whole",
        (false, false) => "not checked to its end",
    };
    let open = match pin.open {
        true => " (its end was not reached yet)",
        false => "",
    };
    format!(
        "pin {} from {} to {}{open}: keeps {}, {outcome}",
        pin.pin,
        pin.from_time,
        pin.to_time,
        position(pin.kept_bytes)
    )
}

/// A ring of unequal members is overwritten in part only below its readable range.
fn below_readable(stream: &CheckedStream) -> Option<String> {
    let end = stream.readable_from_byte;
    (stream.below_readable_bytes > 0).then(|| {
        format!(
            "readable from byte {end} on; below it {} are still there, and the ring may have \
             overwritten some between them: `sustain extract --from-byte 0 --to-byte {end} --holes \
             fill` returns them",
            position(stream.below_readable_bytes)
        )
    })
}

/// Names the bytes that a crash took before they were durable. They are no fault of the store, but
/// a reader should know of them. Where the end is open, something else may have damaged them since.
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
            "; {} were lost in a crash before they were durable, as `sustain recover` found",
            position(recovered_bytes)
        ));
    }
    if open_bytes > 0 {
        words.push_str(&format!(
            "; {} that were not known to be durable were lost in the crash or damaged since: which \
             of the two cannot be told",
            position(open_bytes)
        ));
    }
    words
}

/// How to get what is whole of the recordings in which bytes are bad.
fn rest_words(document: &VerifyDocument) -> String {
    let lacks_bytes = |bad: &&BadRange| bad.from_byte < bad.to_byte;
    let bad = document.bad.iter().filter(lacks_bytes);
    let recordings: BTreeSet<u32> = bad.filter_map(|bad| bad.recording).collect();
    let number = match recordings.len() {
        0 => return String::new(),
        1 => recordings.first().map_or_else(String::new, u32::to_string),
        _ => "N".to_owned(),
    };
    let recordings: Vec<String> = recordings.iter().map(u32::to_string).collect();
    let whose = match recordings.as_slice() {
        [one] => format!("recording {one}"),
        several => format!("recordings {}", several.join(", ")),
    };
    format!(
        ". `sustain extract --recording {number} --holes fill` returns the rest of {whose}, with \
         zeros in the place of what is bad"
    )
}

/// How to put back what parity gives, if anything of recordings of a store with parity is bad.
fn mending_words(document: &VerifyDocument) -> &'static str {
    let mut recordings = document.recordings.iter();
    let has_parity = recordings.any(|one| one.protection.is_some());
    let is_bad = document.complete && !document.ok;
    // A copy of a superblock is none of these: its own words say what repairs it.
    let mut bad = document.bad.iter();
    let is_of_recordings = document.bad_unlisted > 0 || bad.any(|one| one.recording.is_some());
    match document.members.iter().all(ListedMember::is_present) {
        _ if !has_parity || !is_bad => "",
        true if !is_of_recordings => "",
        true => {
            ". `sustain scrub` puts back what parity gives, where it lay; where it cannot, \
             `sustain repair` with the others rebuilds a member onto itself"
        }
        false => {
            ". `sustain repair` puts back what a missing member had, as far as parity gives it"
        }
    }
}

/// Whether it is uncertain what became of a part of a recording.
fn is_uncertain(document: &VerifyDocument) -> bool {
    let is_open = |recording: Option<u32>| {
        let mut recordings = document.recordings.iter();
        recordings.any(|one| one.open_end && Some(one.recording) == recording)
    };
    let mut not_durable = document.not_durable.iter();
    not_durable.any(|torn| is_open(torn.recording))
}

fn verdict(document: &VerifyDocument) -> String {
    let checked = format!("{} were checked", position(document.checked_bytes));
    let flaws = document.bad.len() as u64 + document.bad_unlisted;
    match (document.complete, flaws) {
        (false, 0) => format!("interrupted: {checked} so far, and nothing bad was found"),
        (false, _) => format!("interrupted: {checked} so far, {}", bad_places(document)),
        (true, 0) if document.recordings.is_empty() => "the store has no recordings".to_owned(),
        (true, 0) if is_uncertain(document) => format!(
            "ok: nothing that was durable is damaged or missing; {checked} (the data and the \
             store's own blocks)"
        ),
        (true, 0) => format!(
            "ok: every byte is accounted for{}; {checked} (the data and the store's own blocks)",
            without_missing(document)
        ),
        (true, _) => format!(
            "not ok: {}; {checked} (the data and the store's own blocks)",
            bad_places(document)
        ),
    }
}

/// What a check that finds no fault means for members that were not there.
fn without_missing(document: &VerifyDocument) -> &'static str {
    match document.members.iter().all(ListedMember::is_present) {
        true => "",
        false => ", and nothing that was recorded lies on missing members alone",
    }
}

/// How many places are bad, and how much of what was recorded is lost by them.
fn bad_places(document: &VerifyDocument) -> String {
    let flaws = document.bad.len() as u64 + document.bad_unlisted;
    let places = if flaws == 1 { "place is" } else { "places are" };
    match lost_bytes(document) {
        0 => format!("{flaws} {places} bad, but no data was found to be damaged or missing"),
        bytes => format!(
            "{flaws} {places} bad: {} of data are damaged or missing",
            position(bytes)
        ),
    }
}

/// Bytes of streams that are damaged or missing, and that were durable as far as the members show.
fn lost_bytes(document: &VerifyDocument) -> u64 {
    let of_pins = document.pins.iter().flat_map(|pin| &pin.recordings);
    let recordings = document.recordings.iter().chain(of_pins);
    let streams = recordings.flat_map(|recording| &recording.streams);
    streams
        .map(|stream| stream.hole_bytes.saturating_sub(stream.not_durable_bytes))
        .sum()
}

/// The first flaws, a line each, and how many have been told so. Ranges of a stream that are lost
/// in the same way and lie on no member that can be named share a line.
fn bad_lines(bad: &[BadRange]) -> (Vec<String>, usize) {
    let mut groups: Vec<Vec<&BadRange>> = Vec::new();
    for one in bad {
        let is_alike = |group: &&mut Vec<&BadRange>| shares_line_with(group[0], one);
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.truncate(BAD_SHOWN);
    let shown = groups.iter().map(Vec::len).sum();
    let lines = groups.iter().map(|group| match group.as_slice() {
        [one] => bad_line(one),
        several => group_line(several),
    });
    (lines.collect(), shown)
}

fn shares_line_with(one: &BadRange, other: &BadRange) -> bool {
    let is_nowhere = |bad: &BadRange| bad.member.is_none() && bad.stream.is_some();
    is_nowhere(one)
        && is_nowhere(other)
        && one.pin == other.pin
        && (one.recording, &one.stream, &one.why) == (other.recording, &other.stream, &other.why)
}

fn group_line(group: &[&BadRange]) -> String {
    let ends = |bad: &&BadRange| bad.to_byte.zip(bad.from_byte);
    let lengths = group.iter().filter_map(ends).map(|(to, from)| to - from);
    let bytes = lengths.sum();
    let whole = BadRange {
        from_byte: None,
        to_byte: None,
        ..group[0].clone()
    };
    let count = group.len();
    range_line("bad:", &whole).replacen(
        ':',
        &format!(": {} in {count} places,", position(bytes)),
        1,
    )
}

pub(super) fn bad_line(bad: &BadRange) -> String {
    range_line("bad:", bad)
}

fn range_line(what: &str, bad: &BadRange) -> String {
    let mut line = what.to_owned();
    if let Some(pin) = bad.pin {
        let _ = write!(line, " pin {pin},");
    }
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
        // One that is computed has no name of its own.
        let article = match member.starts_with("member ") {
            true => "",
            false => "member ",
        };
        let _ = write!(line, " {article}{}", without_controls(member));
        if let Some(offset_bytes) = bad.offset_bytes {
            let _ = write!(line, " at byte {offset_bytes}");
        }
    }
    let line = line.trim_end_matches(',');
    let separator = if line == what { "" } else { ":" };
    format!("{line}{separator} {}", without_controls(&bad.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protection_is_told_with_what_lacks_it() {
        let mut protection = CheckedProtection {
            parities: 1,
            protected_bytes: 300_000_000,
            unprotected_bytes: 0,
            protected_from_one_bytes: 0,
        };
        assert_eq!(
            protection_line(3, &protection, true),
            "recording 3: protected from the loss of any one member: all of it"
        );
        assert_eq!(
            protection_line(3, &protection, false),
            "recording 3: protected from the loss of any one member: all that is left of it"
        );
        protection.parities = 2;
        protection.unprotected_bytes = 15_000_000;
        assert_eq!(
            protection_line(3, &protection, false),
            "recording 3: protected from the loss of any 2 members: 300 MB of it. Of the other \
             15.0 MB something of the group is missing, or it never had parity"
        );
        protection.protected_bytes = 0;
        assert_eq!(
            protection_line(3, &protection, false),
            "recording 3: protected from the loss of any 2 members: none of it, because something \
             of each group is missing, or it never had parity"
        );
        protection.protected_from_one_bytes = 14_000_000;
        let told = protection_line(3, &protection, false);
        let still = ". 14.0 MB of that still outlast the loss of any one further member";
        assert!(told.ends_with(still), "{told}");
    }
}
