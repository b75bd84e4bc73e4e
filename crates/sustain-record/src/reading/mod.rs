//! Reads recordings back: every byte that was recorded, and every byte that was lost, by name.
//!
//! The pump reads members, `examine` checks what it reads, and the merge puts it in order. Streams,
//! frames and the check of a whole store are made of these. No byte is returned unless its checksum
//! was right.

pub mod bytes;
mod checkable;
mod choice;
pub mod examine;
pub mod file;
mod frame;
pub mod frames;
mod joiner;
mod kept;
mod locate;
mod located_byte;
pub mod merge;
mod missed;
mod order;
pub mod part;
pub mod parts;
mod placed_marks;
pub mod pump;
mod range;
pub mod readable;
mod restorer;
pub mod scope;
pub mod stream;
pub mod user_marks;
pub mod verify;
mod window;
