//! What was damaged in a store and put back, in words.

use sustain_document::scrub::{ScrubDocument, ScrubbedMemberResult};

use super::verify::checked_text;
use crate::format::position;
use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// The result of `scrub`.
#[must_use]
pub fn scrub_text(document: &ScrubDocument, width: usize) -> String {
    let places = match document.bad_places {
        1 => "place was",
        _ => "places were",
    };
    let found = match document.bad_places {
        0 => "nothing is damaged, and nothing was written".to_owned(),
        count if document.members.is_empty() => format!(
            "{count} {places} bad, and nothing was written: `sustain scrub` cannot put back what \
             lay there. If all of it is on one member, `sustain repair` with the others may still \
             rebuild that one onto itself"
        ),
        count => format!("{count} {places} bad"),
    };
    let members = document.members.iter().map(put_back);
    let lines = [found].into_iter().chain(members);
    let lines = lines.map(|line| wrapped(&line, width));
    let is_bad = document.check.complete && !document.check.ok && !document.members.is_empty();
    let mending = match is_bad {
        true => {
            ". What could not be put back is bad still: if all of it is on one member, `sustain \
             repair` with the others may rebuild that one onto itself"
        }
        false => "",
    };
    lines.collect::<String>() + &checked_text(&document.check, mending, width)
}

fn put_back(scrubbed: &ScrubbedMemberResult) -> String {
    let name = without_controls(&scrubbed.member.name);
    let bytes = position(scrubbed.put_back.bytes);
    match scrubbed.put_back.appends {
        1 => format!("{name}: 1 append ({bytes}) was put back"),
        appends => format!("{name}: {appends} appends ({bytes}) were put back"),
    }
}
