//! The documents that the commands on stores write with `--json`: one type for each command, made
//! of what the library has found, for scripts and for terminal output. Nothing here reads a medium.
//!
//! Names end with their unit, and a byte range ends before its second number.

mod create;
mod extract;
mod list;
mod recover;
mod verify;

use sustain_disk::target::Target;
use uuid::Uuid;

use crate::store::{Missing, OpenMember, Store};

pub use create::{CREATE_SCHEMA, CreateDocument, NewMember};
pub use extract::{EXTRACT_SCHEMA, ExtractDocument, LOST_MAX, Lost, LostKind};
pub use list::{LIST_SCHEMA, ListDocument, ListedRecording, ListedStream};
pub use recover::{RECOVER_SCHEMA, RecoverDocument, RecoveredRecording, RecoveredStream};
pub use verify::{BadRange, CheckedRecording, CheckedStream, VERIFY_SCHEMA, VerifyDocument};

/// A member of a store, present or missing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct ListedMember {
    /// The name as typed; null for a member that was not given.
    pub name: Option<String>,
    /// Its place in the store, from 0.
    pub index: u64,
    /// UUID of the member.
    pub member: String,
    /// `present` or `missing`.
    pub state: String,
    /// Bytes of it that the store uses, superblocks included; null if it is missing.
    pub bytes: Option<u64>,
    /// Number of slots; null if it is missing.
    pub slots: Option<u64>,
}

impl ListedMember {
    fn all_of(store: &Store) -> Vec<ListedMember> {
        let present = store.members.iter().map(ListedMember::present);
        let missing = store.missing.iter().map(ListedMember::missing);
        let mut members: Vec<ListedMember> = present.chain(missing).collect();
        members.sort_by_key(|member| member.index);
        members
    }

    fn present(member: &OpenMember) -> ListedMember {
        let OpenMember {
            target: Target { name, .. },
            superblock,
            ..
        } = member;
        ListedMember {
            name: Some(name.clone()),
            index: member.index() as u64,
            member: superblock.member.to_string(),
            state: "present".to_owned(),
            bytes: Some(superblock.geometry.member_bytes),
            slots: Some(superblock.geometry.slot_count),
        }
    }

    fn missing(missing: &Missing) -> ListedMember {
        ListedMember {
            name: None,
            index: missing.index as u64,
            member: missing.member.to_string(),
            state: "missing".to_owned(),
            bytes: None,
            slots: None,
        }
    }

    /// Whether the member was given.
    pub fn is_present(&self) -> bool {
        self.bytes.is_some()
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
