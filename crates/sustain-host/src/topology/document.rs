//! The document that `devices --json` writes: the topology with a version of its own. The command
//! makes and writes it, and the terminal draws it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::{DeviceFacts, DiskFacts, Topology};

/// The version of [`DevicesDocument`].
pub const DEVICES_SCHEMA: &str = "sustain.devices/1";

/// The disks of a machine, how they are connected, and what is built on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DevicesDocument {
    /// Always `sustain.devices/1`.
    pub schema: String,
    /// The disks, in the order in which they are connected.
    pub disks: Vec<DiskFacts>,
    /// Devices built on them: partitions, RAID, volumes, loop devices.
    pub layers: Vec<DeviceFacts>,
    /// Notes on what could not be read.
    pub notes: Vec<String>,
}

impl DevicesDocument {
    /// Makes the document of a topology.
    #[must_use]
    pub fn of(topology: Topology) -> DevicesDocument {
        DevicesDocument {
            schema: DEVICES_SCHEMA.to_owned(),
            disks: topology.disks,
            layers: topology.layers,
            notes: topology.notes,
        }
    }
}
