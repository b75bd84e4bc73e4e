//! What one pin keeps, as plain data.

use crate::opening::Recording;
use crate::store::StorePin;

/// What one pin keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptByPin {
    /// The pin.
    pub pin: StorePin,
    /// What it keeps of recordings, newest first, as far as that can be read.
    pub recordings: Vec<Recording>,
}
