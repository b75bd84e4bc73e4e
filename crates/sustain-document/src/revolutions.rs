//! Revolutions of a platter that disks wait for because their data is fetched or brought too late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The revolutions that each record waits for while several disks are active.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostRevolutions {
    /// The revolutions that a platter makes in a minute.
    pub revolutions_per_minute: u32,
    /// How many more of them a record takes than alone.
    pub revolutions_per_record: u32,
    /// Bytes of a record.
    pub record_bytes: u64,
    /// The time of a record of one disk alone.
    pub record_alone_s: f64,
    /// The time of a record while others are active: the mean of the readings that show it.
    pub record_beside_others_s: f64,
}
