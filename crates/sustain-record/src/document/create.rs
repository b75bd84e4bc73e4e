//! The document of `sustain create --json`.

use super::uuid_text;
use crate::store::{Created, CreatedMember};

/// The version of [`CreateDocument`].
pub const CREATE_SCHEMA: &str = "sustain.create/1";

/// A store that was created, or that would be created.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct CreateDocument {
    /// Always `sustain.create/1`.
    pub schema: String,
    /// UUID of the store; null in a dry run.
    pub store: Option<String>,
    /// Size of the slots.
    pub slot_bytes: u32,
    /// Its members, in their order.
    pub members: Vec<NewMember>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A member of a new store.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct NewMember {
    /// The name as typed.
    pub name: String,
    /// The file or device; null for a simulated disk.
    pub path: Option<String>,
    /// Bytes of it that the store uses, superblocks included.
    pub bytes: u64,
    /// Number of slots.
    pub slots: u64,
    /// Bytes of all slots: the space for recordings and their descriptions.
    pub room_bytes: u64,
    /// Whether the file is new.
    pub new: bool,
}

impl CreateDocument {
    /// Makes the document of a store that was created.
    pub fn of(created: &Created, slot_bytes: u32, notes: &[String]) -> CreateDocument {
        CreateDocument {
            schema: CREATE_SCHEMA.to_owned(),
            store: created.store.map(uuid_text),
            slot_bytes,
            members: created.members.iter().map(NewMember::of).collect(),
            notes: notes.to_vec(),
        }
    }

    /// Bytes of all slots of all members.
    pub fn room_bytes(&self) -> u64 {
        self.members.iter().map(|member| member.room_bytes).sum()
    }
}

impl NewMember {
    fn of(member: &CreatedMember) -> NewMember {
        let geometry = &member.geometry;
        NewMember {
            name: member.name.clone(),
            path: member.path.as_ref().map(|path| path.display().to_string()),
            bytes: geometry.member_bytes,
            slots: geometry.slot_count,
            room_bytes: geometry.slot_count * u64::from(geometry.slot_bytes),
            new: member.is_new,
        }
    }
}
