//! What a repair has written, and what it could not.

use crate::format::{Descriptor, Kind};

/// What was written, and what could not be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepairTally {
    /// Appends of data that were computed and are on the member now, those included that were there
    /// already.
    pub data_appends: u64,
    /// Their bytes, descriptors included.
    pub data_bytes: u64,
    /// Appends of parity that were made again.
    pub parity_appends: u64,
    /// Their bytes, descriptors included.
    pub parity_bytes: u64,
    /// Appends of data that are lost, because too much of their groups is.
    pub lost_appends: u64,
    /// Their bytes, descriptors included.
    pub lost_bytes: u64,
    /// Groups that lack parity and for which no place was left.
    pub unprotected_groups: u64,
    /// Groups of which no parity is left, while more members are missing than that replaces:
    /// nothing tells what the lost member had of them.
    pub unknown_groups: u64,
    /// Slots that were whole on the member already, in bytes.
    pub kept_bytes: u64,
}

impl RepairTally {
    pub(super) fn count(&mut self, descriptor: &Descriptor) {
        let bytes = u64::from(descriptor.append_bytes);
        match (descriptor.kind, descriptor.parity_group) {
            (Kind::Data, _) => {
                self.data_appends += 1;
                self.data_bytes += bytes;
            }
            (Kind::Parity, group) if group > 0 => {
                self.parity_appends += 1;
                self.parity_bytes += bytes;
            }
            // What only fills a place.
            (Kind::Parity | Kind::Start | Kind::End, _) => {}
        }
    }
}
