//! The format of the members of a store, byte by byte. It follows docs/format.md section by
//! section.
//!
//! The recorder encodes with it; readers and the check decode with it. Nothing here does input or
//! output. Decoding takes any bytes: it refuses what is wrong and never panics.

mod append;
mod checksum;
mod descriptor;
mod drift;
mod geometry;
mod group;
mod marks;
mod notes;
mod pins;
mod seal;
mod slot_course;
mod superblock;

pub use append::{
    append_bytes_for, encode_append, is_filled_with_zeros, is_sealed, marks_are_whole, marks_range,
    payload_range, payload_room, verify_payload,
};
pub use checksum::{PieceChecksums, crc32c};
pub use descriptor::{Descriptor, DescriptorError, Gap, GapReason, Kind, Position, Skip};
pub use drift::ClockDrift;
pub use geometry::{AppendPlace, Geometry, GeometryError};
pub use group::{GroupEntry, GroupList, GroupListError};
pub use marks::{
    MARK_BYTES_MAX, MarkKind, MarkReader, MarksError, MarksRefused, MarksWriter, PayloadMark,
    check_marks,
};
pub use notes::{
    EarlierNote, EndNote, MARKS_FRAMING, MARKS_STREAM, NoteError, PlaceNote, StartNote, StreamNote,
    StreamTotal, TornNote,
};
pub use pins::{PINS_MAX, Pin};
pub use seal::Seal;
pub use slot_course::SlotCourse;
pub use superblock::{Superblock, SuperblockError, newest};

/// The unit of every write, in bytes. A superblock and a descriptor take one each.
pub const BLOCK_BYTES: usize = 4096;
/// Payload that one checksum covers, in bytes.
pub const PIECE_BYTES: usize = 64 * 1024;
/// Length of a seal, which ends an append, in bytes.
pub const SEAL_BYTES: usize = 64;
/// The most streams of a recording.
pub const STREAMS_MAX: usize = 64;
/// The most members of a store.
pub const MEMBERS_MAX: usize = 128;
/// The smallest slot, in bytes.
pub const SLOT_BYTES_MIN: u32 = 64 * 1024;
/// The largest slot, in bytes.
pub const SLOT_BYTES_MAX: u32 = 16 * 1024 * 1024;
/// The most appends of parity of a group.
pub const PARITIES_MAX: usize = 2;
/// The most copies of an append that was on a member which was retired: one more than parities.
pub const COPIES_MAX: usize = PARITIES_MAX + 1;
/// The version of the format. Only a superblock with pins or parity has a later one.
pub const VERSION: u32 = 1;
/// The stream number of control records, which belong to no stream.
pub const CONTROL_STREAM: u16 = 0xFFFF;
