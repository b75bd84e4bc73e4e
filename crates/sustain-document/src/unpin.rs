//! The document of `sustain unpin --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::ListedPin;

/// The version of [`UnpinDocument`].
pub const UNPIN_SCHEMA: &str = "sustain.unpin/1";

/// A pin that was freed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnpinDocument {
    /// Always `sustain.unpin/1`.
    pub schema: String,
    /// UUID of the store.
    pub store: String,
    /// The pin as it was.
    pub pin: ListedPin,
    /// The space of the ring that may be overwritten now: less than the pin kept where others keep
    /// it, too.
    pub freed_bytes: u64,
    /// Notes for the user.
    pub notes: Vec<String>,
}
