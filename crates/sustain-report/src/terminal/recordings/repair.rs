//! What was rebuilt onto a new member, in words.

use sustain_document::repair::{RepairCopies, RepairDocument, RepairedAppends};
use sustain_document::retire::{RETIRE_SCHEMA, RetireDocument, RetiredMember};

use super::retire::retire_text;
use crate::format::{position, stretch};
use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// The result of `repair`.
#[must_use]
pub fn repair_text(document: &RepairDocument, width: usize) -> String {
    if let Some(copies) = document.copies {
        return retire_text(&retired(document, copies), width);
    }
    let name = without_controls(&document.member.name);
    let mut lines = vec![
        format!("store {}", document.store),
        format!(
            "{name} is member {} of it now. After {} it has {} of data, and {} of parity. `sustain \
             verify` tells how much is protected",
            document.member.number,
            stretch(document.elapsed_s),
            appends(document.data),
            appends(document.parity),
        ),
    ];
    if document.kept_bytes > 0 {
        lines.push(format!(
            "slots of {} in all, with what is free in them, were whole there already and stayed as \
             they were",
            position(document.kept_bytes)
        ));
    }
    if document.lost.appends > 0 {
        lines.push(format!(
            "lost: {} of data, some perhaps only in part, because more of their groups is missing \
             than parity replaces. `sustain verify` names the bytes",
            appends(document.lost)
        ));
    }
    if let Some(missing_bytes) = document.missing_bytes.filter(|bytes| *bytes > 0) {
        lines.push(format!(
            "{} of recordings are on none of the members: parity did not protect them, or too much \
             of it is lost. `sustain verify` names the bytes",
            position(missing_bytes)
        ));
    }
    if document.unprotected_groups > 0 {
        let groups = match document.unprotected_groups {
            1 => "group",
            _ => "groups",
        };
        lines.push(format!(
            "{} {groups} of appends got less parity than before, because there was no place for \
             it. Nothing of that is lost, but the next loss of a member may take some of it",
            document.unprotected_groups
        ));
    }
    for missing in &document.still_missing {
        lines.push(format!(
            "member {} (UUID {}) is missing still: repair it onto another new member",
            missing.number, missing.uuid
        ));
    }
    lines.iter().map(|line| wrapped(line, width)).collect()
}

/// The same as what was retired, because none took its place.
fn retired(document: &RepairDocument, copies: RepairCopies) -> RetireDocument {
    RetireDocument {
        schema: RETIRE_SCHEMA.to_owned(),
        store: document.store.clone(),
        member: RetiredMember {
            name: None,
            number: document.member.number,
            uuid: document.member.uuid.clone(),
        },
        recording: copies.recording,
        data: document.data,
        parity: document.parity,
        written_bytes: copies.written_bytes,
        lost_appends: document.lost.appends,
        lost_bytes: document.lost.bytes,
        elapsed_s: document.elapsed_s,
        notes: document.notes.clone(),
    }
}

fn appends(appends: RepairedAppends) -> String {
    let words = match appends.appends {
        1 => "append",
        _ => "appends",
    };
    format!("{} {words} ({})", appends.appends, position(appends.bytes))
}
