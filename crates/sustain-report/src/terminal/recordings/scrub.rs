//! What was damaged in a store and put back, in words.

use sustain_document::scrub::{ScrubDocument, ScrubbedMember};

use super::verify_text;
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
            "{count} {places} bad, and nothing was written: no member that is there has them"
        ),
        count => format!("{count} {places} bad"),
    };
    let members = document.members.iter().map(written);
    let lines = [found].into_iter().chain(members);
    let lines = lines.map(|line| wrapped(&line, width));
    lines.collect::<String>() + &verify_text(&document.check, width)
}

fn written(scrubbed: &ScrubbedMember) -> String {
    let name = without_controls(&scrubbed.member.name);
    let slots = position(scrubbed.written_bytes);
    match scrubbed.lost.appends {
        0 => format!("{name}: {slots} of slots were written again"),
        count => format!(
            "{name}: {slots} of slots were written again. {count} appends of data are lost, \
             because more of their groups is damaged than parity replaces"
        ),
    }
}
