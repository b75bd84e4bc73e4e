//! The range of time around a mark that a user has set.

use std::ops::Range;

use sustain::document::control::UserMark;
use sustain::record::opening::Recording;
use sustain::record::reading::user_marks::{FoundMarks, MarkLoss, find_marks};
use sustain::record::store::Store;

use super::kept_elsewhere::KeptElsewhere;
use super::selection;
use crate::flags::extract::ExtractFlags;
use crate::usage_error::UsageError;

/// More marks than this are not named in an error.
const NAMED_MAX: usize = 12;

/// The range of time that the flags ask for around a mark, in nanoseconds since 1970; `None` if
/// they ask for none.
pub(super) fn range(
    flags: &ExtractFlags,
    store: &Store,
    recordings: &[Recording],
    elsewhere: &KeptElsewhere,
) -> anyhow::Result<Option<Range<i64>>> {
    let Some(wanted) = &flags.around else {
        return Ok(None);
    };
    let recording = selection::chosen(flags, recordings)?;
    let found = find_marks(store, recording, u64::MAX)?;
    let mark = choose(wanted, &found, recording.number).map_err(|why| {
        let is_asked_for = flags.recording.is_some() || flags.pin.is_some();
        let other = (!is_asked_for).then(|| recording_with(wanted, store, recordings));
        let why = match flags.pin {
            None => elsewhere.add_to_lost_mark(why, &found),
            Some(pin) => format!("{why} (as far as pin {pin} keeps it)"),
        };
        UsageError(match other.flatten() {
            Some(number) => format!(
                "recording {}, the newest, has no such mark; recording {number} has it: add \
                 --recording {number}",
                recording.number
            ),
            None => why,
        })
    })?;
    let before_ns = i64::try_from(flags.before).unwrap_or(i64::MAX);
    let after_ns = i64::try_from(flags.after).unwrap_or(i64::MAX);
    if before_ns == 0 && after_ns == 0 {
        let why = "--before and --after are both 0: there is nothing between them";
        return Err(UsageError(why.to_owned()).into());
    }
    let start = mark.time_ns.saturating_sub(before_ns);
    Ok(Some(start..mark.time_ns.saturating_add(after_ns)))
}

/// The newest recording that has a mark with this text, or this number.
fn recording_with(wanted: &str, store: &Store, recordings: &[Recording]) -> Option<u32> {
    let has_mark = |recording: &&Recording| {
        let found = find_marks(store, recording, u64::MAX);
        found.is_ok_and(|found| choose(wanted, &found, recording.number).is_ok())
    };
    let found = recordings.iter().rev().find(has_mark);
    found.map(|recording| recording.number)
}

/// The mark with this number, or else the only one with this text.
fn choose<'a>(wanted: &str, found: &'a FoundMarks, recording: u32) -> Result<&'a UserMark, String> {
    if found.made == 0 {
        return Err(format!(
            "recording {recording} has no marks: they are set with `sustain control SOCKET mark` \
             while it is recorded with --control SOCKET"
        ));
    }
    let number = wanted.parse::<u64>().ok();
    let mut marks = found.marks.iter();
    if let Some(mark) = marks.find(|mark| Some(mark.number) == number) {
        return Ok(mark);
    }
    let with_text = found.marks.iter().filter(|mark| mark.text == wanted);
    let with_text: Vec<&UserMark> = with_text.collect();
    if let Some(number) = number.filter(|number| (1..=found.made).contains(number)) {
        return Err(why_lost(number, found, recording, &with_text));
    }
    match with_text.as_slice() {
        [mark] => Ok(mark),
        [] => Err(format!(
            "recording {recording} has no mark {wanted:?}; it has {}",
            names(&found.marks.iter().collect::<Vec<_>>())
        )),
        several => Err(format!(
            "{} marks of recording {recording} have this text: choose one by its number: {}",
            several.len(),
            names(several)
        )),
    }
}

/// Why a mark that was made is not there. Others that have its number as their text are another
/// moment, so they are named and not taken.
fn why_lost(number: u64, found: &FoundMarks, recording: u32, with_text: &[&UserMark]) -> String {
    let why = match found.loss_of(number) {
        Some(MarkLoss::Overwritten) => "is gone: a ring has overwritten it",
        Some(MarkLoss::NotKept) => {
            "could not be kept: no member took it, because the store was full, pins kept all of \
             its ring, or its members had failed"
        }
        Some(MarkLoss::NotFound) | None => {
            "cannot be read: it is damaged, was not durable when a crash came, or is on a member \
             that is not here, which `sustain verify` tells"
        }
    };
    let others = match with_text {
        [] => String::new(),
        others => format!(". With this text there is {}", names(others)),
    };
    format!("mark {number} of recording {recording} {why}{others}")
}

fn names(marks: &[&UserMark]) -> String {
    let named = marks.iter().take(NAMED_MAX);
    let mut names: Vec<String> = named
        .map(|mark| format!("{} ({:?} at {})", mark.number, mark.text, mark.time))
        .collect();
    if marks.is_empty() {
        names.push("none that can be read".to_owned());
    }
    if let Some(more @ 1..) = marks.len().checked_sub(NAMED_MAX) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(texts: &[&str]) -> FoundMarks {
        let marks = (1..).zip(texts).map(|(number, text)| UserMark {
            number,
            time_ns: 0,
            time: String::new(),
            text: (*text).to_owned(),
            streams: Vec::new(),
        });
        FoundMarks {
            marks: marks.collect(),
            made: texts.len() as u64,
            ..FoundMarks::default()
        }
    }

    #[test]
    fn a_mark_is_chosen_by_its_number_or_its_text() {
        let found = marks(&["door", "2", "door", "1"]);
        let number = |wanted| choose(wanted, &found, 7).map(|mark| mark.number);
        assert_eq!(number("1"), Ok(1), "a number comes before a text");
        assert_eq!(number("2"), Ok(2));
        let why = number("door").unwrap_err();
        assert!(
            why.contains("2 marks") && why.contains("1 (\"door\""),
            "{why}"
        );
        let why = number("gate").unwrap_err();
        assert!(why.contains("no mark \"gate\""), "{why}");
        assert!(
            choose("1", &marks(&[]), 7)
                .unwrap_err()
                .contains("no marks")
        );
    }

    #[test]
    fn of_a_mark_that_is_not_there_the_reason_is_said() {
        let mut found = marks(&["a", "b", "c", "d"]);
        found.marks.truncate(1);
        found.marks[0].number = 4;
        found.overwritten_first = 1;
        found.missing.insert(2, MarkLoss::NotKept);
        found.missing.insert(3, MarkLoss::NotFound);
        let why = choose("3", &found, 7).unwrap_err();
        assert!(!why.contains("With this text"), "{why}");
        // What happens to be the text of another mark is that mark's number all the same.
        found.marks[0].text = "3".to_owned();
        for (wanted, words) in [
            (
                "1",
                "mark 1 of recording 7 is gone: a ring has overwritten it",
            ),
            (
                "2",
                "mark 2 of recording 7 could not be kept: no member took it",
            ),
            ("3", "mark 3 of recording 7 cannot be read: it is damaged"),
            ("3", ". With this text there is 4 (\"3\" at "),
            ("5", "it has 4 (\"3\""),
        ] {
            let why = choose(wanted, &found, 7).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
