//! Why something was refused. Nothing has been changed then.

use crate::limits::{PARITIES_MAX, POSITIONS_MAX};

/// Numbers or lengths that do not describe a group; on a disk they are damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParityError {
    /// A parity has a number that none can have.
    #[error("there is no parity {parity}: they are numbered from 0 to {}", PARITIES_MAX - 1)]
    NoSuchParity {
        /// The number.
        parity: usize,
    },
    /// A data append has a position that none can have.
    #[error("there is no position {position}: they are numbered from 0 to {}", POSITIONS_MAX - 1)]
    NoSuchPosition {
        /// The position.
        position: usize,
    },
    /// A parity, or a position, is named twice.
    #[error("{number} is named twice, and it can be there only once")]
    NamedTwice {
        /// The number of the parity, or the position.
        number: usize,
    },
    /// Every sum needs memory of its own.
    #[error("{parities} sums need as many pieces of memory, and {pieces} were given")]
    UnequalMemory {
        /// Sums that were asked for.
        parities: usize,
        /// Pieces of memory.
        pieces: usize,
    },
    /// Data, or what a sum holds, is longer than the memory of the sums.
    #[error("{end_bytes} bytes do not fit into sums of {room_bytes}")]
    NoRoom {
        /// Where the data would end.
        end_bytes: usize,
        /// What the memory of each sum has room for.
        room_bytes: usize,
    },
    /// As many appends can be computed as there are parities.
    #[error("{lost} lost appends are computed from as many parities, and {parities} were given")]
    UnequalParities {
        /// Data appends that are lost.
        lost: usize,
        /// Parities that are to be used.
        parities: usize,
    },
    /// The sums are not those of the parities that the recovery was made for, in its order.
    #[error(
        "these sums are of other parities, or in another order, than the recovery was made for"
    )]
    OtherParities,
}
