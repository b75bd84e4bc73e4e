//! The chain of a diagnosis: what each hop between the disks and the memory carried, and whether a
//! limit is there. The diagnosis fills it, and the reports show it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::devices::HopKind;

/// One hop of a topology path that several targets may share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopologyHop {
    /// The same for all targets that pass it.
    pub id: String,
    /// In plain words.
    pub name: String,
    /// Its kind.
    pub kind: HopKind,
    /// The rate that it carries after encoding, if known.
    pub rate_bytes_per_s: Option<f64>,
    /// How that rate is computed.
    pub formula: Option<String>,
}

/// What one hop carried for the targets whose data passes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChainLink {
    /// The hop.
    pub hop: TopologyHop,
    /// The targets whose data passes it.
    pub targets: Vec<String>,
    /// The most that these targets reached together in one reading.
    pub carried_bytes_per_s: f64,
    /// Whether a limit is there.
    pub verdict: ChainVerdict,
    /// With `guilty`: the position of its wall in `walls`, from 0.
    pub wall: Option<usize>,
}

closed_set! {
    /// Whether a limit is at a link of the chain.
    pub enum ChainVerdict {
        /// A wall is there.
        Guilty,
        /// It carried clearly less than it can.
        Cleared,
        /// It carried clearly less than it can, but some of its targets reach less together than
        /// one of them alone: what they miss there may begin well below what it can carry.
        Suspect,
        /// It is not known what it can carry, or it carried nearly that.
        Open,
    }
}
