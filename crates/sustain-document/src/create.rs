//! The document of `sustain create --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`CreateDocument`].
pub const CREATE_SCHEMA: &str = "sustain.create/1";

/// A store that was created or that members were added to, or that would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateDocument {
    /// Always `sustain.create/1`.
    pub schema: String,
    /// UUID of the store; null in a dry run.
    pub store: Option<String>,
    /// Size of the slots.
    pub slot_bytes: u32,
    /// Data that one recording of one stream without frames finds space for on all members. Short
    /// appends, frames and further recordings make it less; a ring never ends.
    #[serde(default)]
    pub data_bytes: u64,
    /// The same of the slots in which nothing was ever recorded: less than `data_bytes` where
    /// members were added to a store with recordings.
    #[serde(default)]
    pub free_bytes: Option<u64>,
    /// How many members may be lost without loss of data that is protected.
    #[serde(default)]
    pub parity: u16,
    /// Its members, in their order.
    pub members: Vec<NewMember>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A member of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Data that one recording of one stream without frames finds space for in them.
    #[serde(default)]
    pub data_bytes: u64,
    /// Whether the file is new.
    pub new: bool,
    /// Whether it was added to a store that was there, of which the other members are.
    #[serde(default)]
    pub added: bool,
}
