//! The document of `sustain scrub --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::repair::{RepairedAppends, RepairedMember};
use crate::verify::VerifyDocument;

/// The version of [`ScrubDocument`].
pub const SCRUB_SCHEMA: &str = "sustain.scrub/1";

/// What was damaged in a store, what was put back, and what is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScrubDocument {
    /// Always `sustain.scrub/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// Places that were found to be bad at first.
    pub bad_places: u64,
    /// The members on which something was put back.
    pub members: Vec<ScrubbedMemberResult>,
    /// What a check of the whole store finds afterwards; the first check, if nothing was written.
    pub check: VerifyDocument,
}

/// A member on which something was put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScrubbedMemberResult {
    /// The member.
    pub member: RepairedMember,
    /// The appends that were written to their places again, byte for byte.
    pub put_back: RepairedAppends,
}
