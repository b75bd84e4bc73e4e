//! A store that was created, or that members were added to, in words.

use sustain_document::create::{CreateDocument, NewMember};

use super::counted;
use crate::format::{position, size};
use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// The store that was created, or, without a UUID, the one that would be.
#[must_use]
pub fn create_text(document: &CreateDocument, width: usize) -> String {
    let mut text = String::new();
    let members = counted(document.members.len(), "member");
    let room = position(document.data_bytes);
    let slots = size(u64::from(document.slot_bytes));
    let lost = match document.parity {
        0 => String::new(),
        1 => ", any one of which may be lost".to_owned(),
        count => format!(", any {count} of which may be lost"),
    };
    let added = document.members.iter().filter(|member| member.added);
    let added = counted(added.count(), "member");
    let is_larger = document.members.iter().any(|member| member.added);
    let what = match &document.store {
        Some(store) => format!("store {store}: {members}{lost},"),
        None if is_larger => format!("would add {added}, which makes {members}{lost}:"),
        None => format!("would create a store of {members}{lost}:"),
    };
    let room = match is_larger {
        true => format!(
            "room for recordings of {room} in all, of which {} are left now, in slots of {slots}",
            position(document.free_bytes.unwrap_or(document.data_bytes))
        ),
        false => format!(
            "room for one recording of {room}, in slots of {slots}; for several it is a little \
             less, because each begins in a new slot of each member and may leave its last slot \
             there partly empty"
        ),
    };
    text.push_str(&wrapped(&format!("{what} {room}"), width));
    for member in &document.members {
        text.push_str("  ");
        text.push_str(&wrapped(&new_member(member), width));
    }
    if let Some(kept) = kept_by_ring(document) {
        text.push_str(&wrapped(&kept, width));
    }
    text
}

/// Members of one ring take parts by their sizes as long as their rates allow that. A stream that
/// needs the full rate of them all gives equally fast ones equal parts, so that the smallest comes
/// round first. Said where that costs at least a tenth of the room.
fn kept_by_ring(document: &CreateDocument) -> Option<String> {
    let smallest = document.members.iter().min_by_key(|one| one.data_bytes)?;
    let kept_bytes = smallest
        .data_bytes
        .saturating_mul(document.members.len() as u64 - u64::from(document.parity));
    let data_bytes = document.data_bytes;
    (kept_bytes < data_bytes - data_bytes / 10).then(|| {
        format!(
            "the members differ in size: a ring keeps about the last {} of a stream as long as the \
             larger members are fast enough for their larger parts. A stream that needs the full \
             rate of all members fills equally fast ones at the same pace: of that a ring keeps \
             about the last {} whole, because {} is the smallest and is overwritten first",
            position(data_bytes),
            position(kept_bytes),
            without_controls(&smallest.name)
        )
    })
}

fn new_member(member: &NewMember) -> String {
    let name = without_controls(&member.name);
    let file = member.path.as_deref().filter(|path| *path != member.name);
    let file = file.map_or_else(String::new, |path| format!(" ({})", without_controls(path)));
    let new = if member.new { "a new file, " } else { "" };
    let added = if member.added { "added, " } else { "" };
    let slots = counted(member.slots as usize, "slot");
    format!(
        "{name}{file}: {added}{new}{} in {slots}",
        size(member.bytes)
    )
}
