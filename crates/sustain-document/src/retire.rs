//! The document of `sustain retire --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::repair::RepairedAppends;

/// The version of [`RetireDocument`].
pub const RETIRE_SCHEMA: &str = "sustain.retire/1";

/// What was copied from a member that is none of the store any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetireDocument {
    /// Always `sustain.retire/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// The member that was retired.
    pub member: RetiredMember,
    /// The number of the recording that has the copies; null if nothing had to be copied any more.
    pub recording: Option<u32>,
    /// Appends of data that others have copies of now, each counted once.
    pub data: RepairedAppends,
    /// Appends of parity that others have now instead, each counted once.
    pub parity: RepairedAppends,
    /// Bytes that were written to the others.
    pub written_bytes: u64,
    /// Appends of data that could neither be read nor computed. If there are any, the exit code
    /// is 1.
    pub lost_appends: u64,
    /// The bytes that they took on the member.
    pub lost_bytes: u64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The member that was retired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetiredMember {
    /// Its name, as typed; null if it was not there.
    pub name: Option<String>,
    /// Its number in the store, from 1.
    pub number: u64,
    /// Its UUID.
    pub uuid: String,
}
