//! Makes the documents that the commands on stores write with `--json`, of what the library has
//! found: one function for each command. Nothing here reads a medium. The types are those of
//! `sustain-document`.

mod create;
mod list;
mod recover;
mod status;
mod verify;

use sustain_disk::target::Target;
use sustain_document::list::{ListedMember, MemberPresence};
use uuid::Uuid;

use crate::store::{Missing, OpenMember, Store};

pub use create::create_document;
pub use list::list_document;
pub use recover::recover_document;
pub use status::status_line;
pub use verify::verify_document;

/// All members of a store, missing ones included, in their order.
fn listed_members(store: &Store) -> Vec<ListedMember> {
    let present = store.members.iter().map(present_member);
    let missing = store.missing.iter().map(missing_member);
    let mut members: Vec<ListedMember> = present.chain(missing).collect();
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

/// Formats a time of day as RFC 3339, in UTC, with nanoseconds.
pub fn time_text(unix_ns: i64) -> String {
    // Every such number is within the years that `jiff` supports.
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns))
        .map_or_else(|_| String::new(), |time| format!("{time:.9}"))
}

fn uuid_text(uuid: Uuid) -> String {
    uuid.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_all_their_nanoseconds() {
        assert_eq!(time_text(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(
            time_text(1_700_000_000_000_000_001),
            "2023-11-14T22:13:20.000000001Z"
        );
        assert_eq!(time_text(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(time_text(i64::MAX), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(time_text(i64::MIN), "1677-09-21T00:12:43.145224192Z");
    }
}
