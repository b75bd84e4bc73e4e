//! How large a group may be.

/// Parities of a group.
pub const PARITIES_MAX: usize = 3;

/// Data appends of a group.
pub const POSITIONS_MAX: usize = 128;
