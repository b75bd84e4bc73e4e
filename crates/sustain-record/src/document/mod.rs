//! Makes the documents that the commands on stores write with `--json`, of what the library has
//! found: one function for each command. Nothing here reads a medium. The types are those of
//! `sustain-document`.

mod create;
mod list;
mod recover;
mod repair;
mod retire;
mod scrub;
mod status;
mod unpin;
mod verify;

use sustain_disk::target::Target;
use sustain_document::list::{KeptTimes, ListedMember, MemberPresence, PinFindings};
use uuid::Uuid;

use crate::reading::readable::FoundOfPin;
use crate::store::{Missing, OpenMember, Store};

pub use create::create_document;
pub use list::{list_document, list_notes, listed_pins};
pub use recover::recover_document;
pub use repair::{repair_document, spread_document};
pub use retire::retire_document;
pub use scrub::scrub_document;
pub use status::status_line;
pub use unpin::unpin_document;
pub use verify::verify_document;

pub use crate::time_text::{TimeTextError, time_ns_of_text, time_text};

/// All members of a store, missing ones included, in their order.
fn listed_members(store: &Store) -> Vec<ListedMember> {
    let present = store.members.iter().filter(|member| member.is_there());
    let not_given = store.not_given();
    let missing = not_given.iter().map(missing_member);
    let mut members: Vec<ListedMember> = present.map(present_member).chain(missing).collect();
    members.sort_by_key(|member| member.index);
    members
}

fn present_member(member: &OpenMember) -> ListedMember {
    let OpenMember {
        target: Target { name, .. },
        superblock,
        ..
    } = member;
    ListedMember {
        name: Some(name.clone()),
        index: member.index() as u64,
        member: superblock.member.to_string(),
        state: MemberPresence::Present,
        bytes: Some(superblock.geometry.member_bytes),
        slots: Some(superblock.geometry.slot_count),
    }
}

fn missing_member(missing: &Missing) -> ListedMember {
    ListedMember {
        name: None,
        index: missing.index as u64,
        member: missing.member.to_string(),
        state: MemberPresence::Missing,
        bytes: None,
        slots: None,
    }
}

fn pin_findings(found: &FoundOfPin) -> PinFindings {
    PinFindings {
        kept: found.times_ns.map(|(from_ns, to_ns)| KeptTimes {
            from: time_text(from_ns),
            to: time_text(to_ns),
        }),
        absent: found.times_ns.is_none(),
        kept_recordings: found.recordings.clone(),
    }
}

fn uuid_text(uuid: Uuid) -> String {
    uuid.to_string()
}
