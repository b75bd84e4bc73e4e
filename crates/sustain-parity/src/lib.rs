//! Parity over appends: computed while they are filled, and what was lost computed from it.
//!
//! A group has up to [`POSITIONS_MAX`] data appends, each with a position of its own, and up to
//! [`PARITIES_MAX`] parity appends. A parity is the sum of all data appends, each multiplied by a
//! [`coefficient`], byte by byte in the field of 256 elements. Data that is shorter than the
//! longest counts as filled up with zeros. [`Sums`] adds the data up. Any p appends of a group that
//! has p parities may be lost, data or parities: a [`Recovery`] computes the data from what is
//! left.
//!
//! Everything here is a pure function of bytes and numbers. Nothing panics, whatever a damaged disk
//! says: numbers that cannot be are refused with a [`ParityError`].
//!
//! ```
//! use sustain_parity::{Recovery, Sums};
//!
//! let appends: [&[u8]; 3] = [b"one append", b"another", b"the third of them"];
//! let mut parity = Sums::empty(&[0, 1], vec![vec![0; 32]; 2])?;
//! for (position, append) in appends.iter().enumerate() {
//!     parity.add(position, 0, append)?;
//! }
//! assert_eq!(parity.length_bytes(), 17);
//! let parity = parity.into_memory();
//!
//! // Appends 0 and 2 are lost. What is left of the data is added to the parities.
//! let mut left = Sums::holding(&[0, 1], parity, 17)?;
//! left.add(1, 0, appends[1])?;
//! let lost = Recovery::of(&[0, 2], &[0, 1])?.apply(left)?;
//! assert_eq!(&lost[0][..10], appends[0]);
//! assert_eq!(&lost[1][..17], appends[2]);
//! # Ok::<(), sustain_parity::ParityError>(())
//! ```

mod coefficient;
mod error;
mod field;
mod kernel;
mod limits;
mod recovery;
mod sums;

pub use coefficient::coefficient;
pub use error::ParityError;
pub use kernel::Kernel;
pub use limits::{PARITIES_MAX, POSITIONS_MAX};
pub use recovery::Recovery;
pub use sums::Sums;
