//! The document of `sustain repair --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`RepairDocument`].
pub const REPAIR_SCHEMA: &str = "sustain.repair/1";

/// What was rebuilt onto a new member, and what could not be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepairDocument {
    /// Always `sustain.repair/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// The member that was rebuilt.
    pub member: RepairedMember,
    /// Appends of data that are on the new member now: computed from the others, or there already.
    pub data: RepairedAppends,
    /// Appends of parity that groups lacked and that were made again.
    pub parity: RepairedAppends,
    /// Appends of data that are lost, some in part, because more of their groups is missing than
    /// parity replaces. If there are any, the exit code is 1.
    pub lost: RepairedAppends,
    /// Bytes of streams that should be on a member and are on none now, as far as that shows
    /// without reading all: they were in no group, or too much of that is lost. If there are any,
    /// the exit code is 1. Rings that have overwritten something do not count: a note says how much
    /// may be missing of them. null while members are missing still.
    pub missing_bytes: Option<u64>,
    /// Groups of appends that lack parity still, because no place was left for it.
    pub unprotected_groups: u64,
    /// Bytes of slots that were whole on the member already.
    pub kept_bytes: u64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// The members that are missing still.
    pub still_missing: Vec<MissingMember>,
    /// What was written of the member to the others, if none took its place: it is retired. null if
    /// one did.
    #[serde(default)]
    pub copies: Option<RepairCopies>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The member that was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepairedMember {
    /// Its name, as typed.
    pub name: String,
    /// Its number in the store, from 1.
    pub number: u64,
    /// Its UUID, which is that of the member whose place it takes.
    pub uuid: String,
}

/// A member that is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingMember {
    /// Its number in the store, from 1.
    pub number: u64,
    /// Its UUID.
    pub uuid: String,
}

/// Copies of what a retired member had, on the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepairCopies {
    /// The number of the recording that has them; null if nothing had to be copied any more.
    pub recording: Option<u32>,
    /// Bytes that were written to the others.
    pub written_bytes: u64,
}

/// Appends of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RepairedAppends {
    /// How many there are.
    pub appends: u64,
    /// The bytes that they take on the member.
    pub bytes: u64,
}
