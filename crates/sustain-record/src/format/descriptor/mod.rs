//! The descriptor: the first block of every append, with all that is known of it.
//!
//! The recorder encodes one for each append (its hot path). Opening, reading and checking decode
//! blocks that may be one. A descriptor counts only if it lies where it says that it lies: ask
//! [`Descriptor::fits`] before using one.

use std::fmt;
use std::mem::offset_of;

use uuid::Uuid;
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use self::layout::{DriftFields, Fields, MAGIC, PositionFields};
use super::checksum::crc32c_without_field;
use super::drift::ClockDrift;
use super::geometry::{AppendPlace, Geometry};
use super::{
    BLOCK_BYTES, CONTROL_STREAM, PIECE_BYTES, SEAL_BYTES, SLOT_BYTES_MAX, STREAMS_MAX, VERSION,
};

mod layout;
#[cfg(test)]
mod tests;

/// The kind of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Bytes of a stream, or the account of a gap, or both.
    Data,
    /// The start of a recording; its payload is a [`StartNote`](super::StartNote).
    Start,
    /// The end of a recording; its payload is an [`EndNote`](super::EndNote).
    End,
    /// Parity over a group of appends of data. Its frame marks are a
    /// [`GroupList`](super::GroupList).
    Parity,
}

/// Why bytes of a stream were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// The buffer was full: the members were too slow.
    BufferFull,
    /// The members could not be written.
    NotWritten,
    /// The members had no place left for them: the store was full, or pins kept all of its ring.
    /// Older readers take this for [`GapReason::NotWritten`].
    NoRoom,
    /// The source declared them lost.
    Source,
    /// They came while the recording was paused. Older readers take this for [`GapReason::Source`].
    Paused,
}

impl fmt::Display for GapReason {
    /// In words that follow "bytes 0 to 10 are lost: ".
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            GapReason::BufferFull => "they were never recorded, because the buffer was full",
            GapReason::NotWritten => "they were never recorded, because they could not be written",
            GapReason::NoRoom => "they were never recorded, because no place was left for them",
            GapReason::Source => "the source had lost them already",
            GapReason::Paused => "they came while the recording was paused",
        })
    }
}

/// A stretch of a stream that was offered, but lost before it reached a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Number of bytes, just before the first payload byte.
    pub bytes: u64,
    /// Number of frames of a framed stream.
    pub frames: u64,
    /// The reason.
    pub reason: GapReason,
    /// When the first lost byte arrived, in nanoseconds since 1970.
    pub first_time_ns: i64,
    /// When the last lost byte arrived, in nanoseconds since 1970.
    pub last_time_ns: i64,
}

/// How far a stream had come when a descriptor was made, its append included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The end of what was handed out to members.
    pub next_offset_bytes: u64,
    /// Below it every byte was durable, or was a gap whose account was.
    pub settled_offset_bytes: u64,
    /// Frames begun.
    pub frames: u64,
    /// Bytes lost in all.
    pub gap_bytes: u64,
    /// Payload of this stream that this recording has put on this member.
    pub member_bytes: u64,
}

/// The first block of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The kind of the append.
    pub kind: Kind,
    /// The store it belongs to.
    pub store: Uuid,
    /// The member it lies on.
    pub member: Uuid,
    /// The place of the append on that member.
    pub place: AppendPlace,
    /// The length of the whole append, with descriptor and seal; a multiple of a block.
    pub append_bytes: u32,
    /// Its number, counted over all members.
    pub sequence: u64,
    /// The recording's number in the store, from 1.
    pub recording: u32,
    /// The recording's identity.
    pub recording_id: Uuid,
    /// The stream's number in the recording; [`CONTROL_STREAM`] for start and end.
    pub stream: u16,
    /// The gap just before the first payload byte.
    pub gap: Option<Gap>,
    /// The offset of the first payload byte in its stream, counting lost bytes.
    pub stream_offset_bytes: u64,
    /// Length of the payload.
    pub payload_bytes: u32,
    /// Length of the frame marks.
    pub marks_bytes: u32,
    /// CRC-32C of the frame marks.
    pub marks_crc: u32,
    /// When the first payload byte arrived, in nanoseconds since 1970.
    pub first_time_ns: i64,
    /// When the last payload byte arrived, in nanoseconds since 1970.
    pub last_time_ns: i64,
    /// When this descriptor was made, in nanoseconds since 1970.
    pub made_time_ns: i64,
    /// The place of the append before this one on this member.
    pub previous: Option<AppendPlace>,
    /// The newest start on this member; for a start, its own place.
    pub start: Option<AppendPlace>,
    /// Appends of this member up to this sequence were durable when this one was made.
    pub flushed_sequence: u64,
    /// The group of appends that parity protects to which it belongs, by the sequence of the append
    /// that joined it first; 0 if there is none.
    pub parity_group: u64,
    /// Which parity of its group it is, from 1; 0 for all else.
    pub parity_role: u16,
    /// The number of the first frame that begins here, or would begin here: the frames of its
    /// stream that began before, lost ones included.
    pub first_frame: u64,
    /// One position for each stream of the recording, at most [`STREAMS_MAX`].
    pub positions: Vec<Position>,
    /// One checksum for each 64 KiB of payload; the last one covers the rest.
    pub checksums: Vec<u32>,
    /// One drift for each stream of the recording, over all its appends up to this one. Empty where
    /// the block cannot hold them.
    pub drifts: Vec<ClockDrift>,
}

/// An append of a kind that only a later version knows, with what is needed to pass over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skip {
    /// The number of its kind.
    pub kind: u16,
    /// The store it belongs to.
    pub store: Uuid,
    /// The member it lies on.
    pub member: Uuid,
    /// The place of the append on that member.
    pub place: AppendPlace,
    /// The length of the whole append, with descriptor and seal; a multiple of a block.
    pub append_bytes: u32,
    /// Its number, counted over all members.
    pub sequence: u64,
}

/// Why a block is not a descriptor that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DescriptorError {
    /// It is something else.
    #[error("no append begins here")]
    NotADescriptor,
    /// It begins like a descriptor, but a bit of it is wrong, or it was written only in part.
    #[error("the descriptor's checksum is wrong")]
    WrongChecksum,
    /// It is whole, but of a later version.
    #[error("the append has format version {version}: use a newer sustain to read it")]
    Newer {
        /// Its version.
        version: u16,
    },
    /// It is whole, but of a kind that only a later version knows. It must be passed over.
    #[error("the append is of kind {}, which only a newer sustain can read", .0.kind)]
    UnknownKind(Skip),
    /// Its checksum is right, but it contradicts itself.
    #[error("the descriptor contradicts itself: {0}")]
    Inconsistent(&'static str),
}

impl Descriptor {
    /// Fills one block and returns the checksum that it carries.
    ///
    /// # Panics
    /// If `block` is not one block, or if the descriptor is not one that could be decoded again.
    pub fn encode_into(&self, block: &mut [u8]) -> u32 {
        if let Err(what) = self.check() {
            panic!("a descriptor is consistent, but {what}: {self:?}");
        }
        assert_eq!(block.len(), BLOCK_BYTES, "a descriptor takes one block");
        let (fields, tables) = Fields::mut_from_prefix(block).expect("they fit a block");
        *fields = Fields::of(self);
        let positions_bytes = self.positions.len() * size_of::<PositionFields>();
        let (positions, rest) = tables.split_at_mut(positions_bytes);
        let (checksums, unused) = rest.split_at_mut(self.checksums.len() * size_of::<U32>());
        let positions = <[PositionFields]>::mut_from_bytes(positions).expect("they fit exactly");
        for (to, position) in positions.iter_mut().zip(&self.positions) {
            *to = position.into();
        }
        let checksums = <[U32]>::mut_from_bytes(checksums).expect("they fit exactly");
        for (to, checksum) in checksums.iter_mut().zip(&self.checksums) {
            to.set(*checksum);
        }
        let drifts_bytes = self.drifts.len() * size_of::<DriftFields>();
        let (drifts, unused) = unused.split_at_mut(drifts_bytes);
        let drifts = <[DriftFields]>::mut_from_bytes(drifts).expect("they fit exactly");
        for (to, drift) in drifts.iter_mut().zip(&self.drifts) {
            *to = drift.into();
        }
        unused.fill(0);
        let crc = crc32c_without_field(block, offset_of!(Fields, crc));
        block[offset_of!(Fields, crc)..][..4].copy_from_slice(&crc.to_le_bytes());
        crc
    }

    /// The checksum that the descriptor in the first block of `bytes` carries, as it was encoded.
    ///
    /// # Panics
    /// If there is not so much.
    pub fn checksum_in(bytes: &[u8]) -> u32 {
        let crc = bytes[offset_of!(Fields, crc)..].first_chunk();
        u32::from_le_bytes(*crc.expect("it is a block"))
    }

    /// Reads the descriptor in the first block of `bytes`, and the checksum that it carries. The
    /// descriptor that is returned is consistent in itself: the lengths fit each other and the
    /// largest slot.
    ///
    /// # Errors
    /// If the block is not a descriptor, or is damaged, or has a version or kind that is not known
    /// here.
    pub fn decode(bytes: &[u8]) -> Result<(Descriptor, u32), DescriptorError> {
        let block = bytes
            .get(..BLOCK_BYTES)
            .ok_or(DescriptorError::NotADescriptor)?;
        let (fields, tables) =
            Fields::ref_from_prefix(block).map_err(|_| DescriptorError::NotADescriptor)?;
        if fields.magic != MAGIC {
            return Err(DescriptorError::NotADescriptor);
        }
        let crc = fields.crc.get();
        if crc != crc32c_without_field(block, offset_of!(Fields, crc)) {
            return Err(DescriptorError::WrongChecksum);
        }
        let version = fields.version.get();
        if u32::from(version) > VERSION {
            return Err(DescriptorError::Newer { version });
        }
        if u32::from(version) != VERSION {
            return Err(DescriptorError::Inconsistent("there is no such version"));
        }
        let Some(kind) = Kind::from_number(fields.kind.get()) else {
            return Err(fields.unknown_kind());
        };
        let descriptor = fields
            .descriptor(kind, tables)
            .and_then(|descriptor| descriptor.check().map(|()| descriptor))
            .map_err(DescriptorError::Inconsistent)?;
        Ok((descriptor, crc))
    }

    /// Whether this descriptor belongs where it was found: to this store, member and place, and
    /// whole within its slot.
    pub fn fits(&self, geometry: &Geometry, member: Uuid, store: Uuid, place: AppendPlace) -> bool {
        let is_in_slot = |place: AppendPlace| place.slot_offset_bytes < geometry.slot_bytes;
        self.store == store
            && self.member == member
            && self.place == place
            && fits_slot(place, self.append_bytes, geometry.slot_bytes)
            && self.previous.is_none_or(is_in_slot)
            && self.start.is_none_or(is_in_slot)
    }

    /// Checks what everyone relies on who uses the lengths and places of a descriptor.
    fn check(&self) -> Result<(), &'static str> {
        let checks = [
            (self.place.is_valid(), "its place is none"),
            (
                fits_slot(self.place, self.append_bytes, SLOT_BYTES_MAX),
                "its append does not fit a slot",
            ),
            (
                self.content_bytes() <= u64::from(self.append_bytes),
                "its content does not fit the append",
            ),
            (
                self.checksums.len() == (self.payload_bytes as usize).div_ceil(PIECE_BYTES),
                "it has too few or too many checksums",
            ),
            (
                self.positions.len() <= STREAMS_MAX,
                "it has too many positions",
            ),
            (
                self.positions
                    .iter()
                    .all(|position| position.settled_offset_bytes <= position.next_offset_bytes),
                "more of a stream is settled than was handed out",
            ),
            (
                self.drifts.is_empty() || self.has_room_for_drifts(),
                "its drifts do not fit",
            ),
            (self.recording > 0, "recordings count from 1"),
            (self.is_stream_valid(), "its stream has no position"),
            (
                (self.kind == Kind::Parity) == (self.parity_role > 0),
                "only parity has a place among the parities of its group",
            ),
            (
                self.is_within_position(),
                "its payload lies beyond its stream's position",
            ),
            (
                self.gap
                    .is_none_or(|gap| gap.bytes <= self.stream_offset_bytes),
                "its gap begins before its stream",
            ),
            (
                self.previous
                    .is_none_or(|place| place.is_valid() && place < self.place),
                "the append before it lies behind it",
            ),
            (
                self.start
                    .is_none_or(|place| place.is_valid() && place <= self.place),
                "the newest start lies behind it",
            ),
            (
                self.flushed_sequence <= self.sequence,
                "later appends than itself are durable",
            ),
        ];
        checks
            .into_iter()
            .try_for_each(|(is_so, what)| if is_so { Ok(()) } else { Err(what) })
    }

    /// How far a stream had come before this append was handed out, in the order of sequence. An
    /// append may repeat what was handed out before, as the copy of an append on a slow member or
    /// the account of lost data. Then the position is that of the time at which it is made: what
    /// lies between the two is in other appends.
    pub fn position_before(&self, stream: usize) -> Position {
        let mut position = self.positions.get(stream).copied().unwrap_or_default();
        let is_own = self.kind == Kind::Data && usize::from(self.stream) == stream;
        let end_bytes = self
            .stream_offset_bytes
            .saturating_add(u64::from(self.payload_bytes));
        if !is_own || end_bytes < position.next_offset_bytes {
            return position;
        }
        let (gap_bytes, gap_frames) = self.gap.map_or((0, 0), |gap| (gap.bytes, gap.frames));
        position.next_offset_bytes = self.stream_offset_bytes.saturating_sub(gap_bytes);
        position.gap_bytes = position.gap_bytes.saturating_sub(gap_bytes);
        position.frames = self.first_frame.saturating_sub(gap_frames);
        position
    }

    /// Whether this append and another one are of one recording.
    pub fn is_of_recording_of(&self, other: &Descriptor) -> bool {
        (self.recording, self.recording_id) == (other.recording, other.recording_id)
    }

    /// Whether it is the start with which a recording begins on a member, and none that repeats it.
    pub fn is_first_start(&self) -> bool {
        let mut positions = self.positions.iter();
        self.kind == Kind::Start && positions.all(|position| position.member_bytes == 0)
    }

    /// Whether the block can hold a drift for each stream.
    pub fn has_room_for_drifts(&self) -> bool {
        let streams = self.positions.len();
        let tables_bytes = streams * (size_of::<PositionFields>() + size_of::<DriftFields>())
            + self.checksums.len() * size_of::<U32>();
        let is_complete = self.drifts.is_empty() || self.drifts.len() == streams;
        is_complete && size_of::<Fields>() + tables_bytes <= BLOCK_BYTES
    }

    fn content_bytes(&self) -> u64 {
        (BLOCK_BYTES + SEAL_BYTES) as u64
            + u64::from(self.payload_bytes)
            + u64::from(self.marks_bytes)
    }

    fn is_stream_valid(&self) -> bool {
        match self.kind {
            Kind::Data => usize::from(self.stream) < self.positions.len(),
            Kind::Start | Kind::End | Kind::Parity => self.stream == CONTROL_STREAM,
        }
    }

    fn is_within_position(&self) -> bool {
        let end = self
            .stream_offset_bytes
            .checked_add(u64::from(self.payload_bytes));
        let position = self.positions.get(usize::from(self.stream));
        end.is_some_and(|end| position.is_none_or(|position| end <= position.next_offset_bytes))
    }
}

impl Skip {
    /// Whether this append belongs where it was found; see [`Descriptor::fits`].
    pub fn fits(&self, geometry: &Geometry, member: Uuid, store: Uuid, place: AppendPlace) -> bool {
        self.store == store
            && self.member == member
            && self.place == place
            && fits_slot(place, self.append_bytes, geometry.slot_bytes)
    }
}

fn fits_slot(place: AppendPlace, append_bytes: u32, slot_bytes: u32) -> bool {
    append_bytes > 0
        && append_bytes.is_multiple_of(BLOCK_BYTES as u32)
        && place
            .slot_offset_bytes
            .checked_add(append_bytes)
            .is_some_and(|end| end <= slot_bytes)
}
