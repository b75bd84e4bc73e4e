//! The fields of a descriptor as they lie in its block, and their conversion.

use uuid::Uuid;
use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{
    ClockDrift, Descriptor, DescriptorError, Gap, GapReason, Kind, Position, Skip, fits_slot,
};
use crate::format::geometry::AppendPlace;
use crate::format::{BLOCK_BYTES, PIECE_BYTES, SLOT_BYTES_MAX, STREAMS_MAX, VERSION};

pub(super) const MAGIC: [u8; 8] = *b"SUSTAPND";
const NO_SERIAL: u64 = u64::MAX;
/// The detail of a gap that came while the recording was paused.
const PAUSED: u16 = 1;
/// The detail of a gap that could not be written because there was no place for it.
const NO_ROOM: u16 = 1;
const CHECKSUMS_MAX: usize = SLOT_BYTES_MAX as usize / PIECE_BYTES;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Fields {
    pub(super) magic: [u8; 8],
    pub(super) crc: U32,
    pub(super) version: U16,
    pub(super) kind: U16,
    pub(super) store: [u8; 16],
    pub(super) member: [u8; 16],
    pub(super) slot_serial: U64,
    pub(super) slot_offset: U32,
    pub(super) append_bytes: U32,
    pub(super) sequence: U64,
    pub(super) recording: U32,
    pub(super) stream: U16,
    pub(super) gap_reason: U16,
    pub(super) recording_id: [u8; 16],
    pub(super) stream_offset: U64,
    pub(super) payload_bytes: U32,
    pub(super) marks_bytes: U32,
    pub(super) marks_crc: U32,
    pub(super) position_count: U16,
    pub(super) checksum_count: U16,
    pub(super) gap_bytes: U64,
    pub(super) gap_frames: U64,
    pub(super) gap_first_time: I64,
    pub(super) gap_last_time: I64,
    pub(super) first_time: I64,
    pub(super) last_time: I64,
    pub(super) made_time: I64,
    pub(super) previous_serial: U64,
    pub(super) previous_offset: U32,
    pub(super) start_offset: U32,
    pub(super) start_serial: U64,
    pub(super) flushed_sequence: U64,
    pub(super) parity_group: U64,
    pub(super) parity_role: U16,
    pub(super) first_frame: U64,
    pub(super) drift_count: U16,
    pub(super) gap_detail: U16,
    pub(super) reserved: [u8; 26],
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct PositionFields {
    pub(super) next_offset: U64,
    pub(super) settled_offset: U64,
    pub(super) frames: U64,
    pub(super) gap_bytes: U64,
    pub(super) member_bytes: U64,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct DriftFields {
    pub(super) earliest: I64,
    pub(super) latest: I64,
}

const _: () = assert!(size_of::<Fields>() == 256);
const _: () = assert!(size_of::<PositionFields>() == 40);
const _: () = assert!(256 + STREAMS_MAX * 40 + CHECKSUMS_MAX * 4 <= BLOCK_BYTES);

impl Fields {
    /// Sets all fields but the checksum, which also covers the tables behind them.
    pub(super) fn of(descriptor: &Descriptor) -> Fields {
        let gap = descriptor.gap;
        Fields {
            magic: MAGIC,
            crc: U32::ZERO,
            version: (VERSION as u16).into(),
            kind: descriptor.kind.number().into(),
            store: descriptor.store.into_bytes(),
            member: descriptor.member.into_bytes(),
            slot_serial: descriptor.place.slot_serial.into(),
            slot_offset: descriptor.place.slot_offset_bytes.into(),
            append_bytes: descriptor.append_bytes.into(),
            sequence: descriptor.sequence.into(),
            recording: descriptor.recording.into(),
            stream: descriptor.stream.into(),
            gap_reason: gap.map_or(0, |gap| gap.reason.number()).into(),
            recording_id: descriptor.recording_id.into_bytes(),
            stream_offset: descriptor.stream_offset_bytes.into(),
            payload_bytes: descriptor.payload_bytes.into(),
            marks_bytes: descriptor.marks_bytes.into(),
            marks_crc: descriptor.marks_crc.into(),
            position_count: (descriptor.positions.len() as u16).into(),
            checksum_count: (descriptor.checksums.len() as u16).into(),
            gap_bytes: gap.map_or(0, |gap| gap.bytes).into(),
            gap_frames: gap.map_or(0, |gap| gap.frames).into(),
            gap_first_time: gap.map_or(0, |gap| gap.first_time_ns).into(),
            gap_last_time: gap.map_or(0, |gap| gap.last_time_ns).into(),
            first_time: descriptor.first_time_ns.into(),
            last_time: descriptor.last_time_ns.into(),
            made_time: descriptor.made_time_ns.into(),
            previous_serial: serial_of(descriptor.previous).into(),
            previous_offset: slot_offset_of(descriptor.previous).into(),
            start_offset: slot_offset_of(descriptor.start).into(),
            start_serial: serial_of(descriptor.start).into(),
            flushed_sequence: descriptor.flushed_sequence.into(),
            parity_group: descriptor.parity_group.into(),
            parity_role: descriptor.parity_role.into(),
            first_frame: descriptor.first_frame.into(),
            drift_count: (descriptor.drifts.len() as u16).into(),
            gap_detail: gap.map_or(0, |gap| gap.reason.detail()).into(),
            reserved: [0; 26],
        }
    }

    /// Returns the descriptor, with the tables that follow the fields. It is not checked yet.
    pub(super) fn descriptor(&self, kind: Kind, tables: &[u8]) -> Result<Descriptor, &'static str> {
        let position_count = usize::from(self.position_count.get());
        let checksum_count = usize::from(self.checksum_count.get());
        // Drifts only make reading faster, so an impossible number of them counts as none.
        let drift_count = usize::from(self.drift_count.get());
        let drift_count = if drift_count == position_count {
            drift_count
        } else {
            0
        };
        if position_count > STREAMS_MAX || checksum_count > CHECKSUMS_MAX {
            return Err("its tables are too long");
        }
        let (positions, rest) =
            <[PositionFields]>::ref_from_prefix_with_elems(tables, position_count)
                .map_err(|_| "its tables are too long")?;
        let (checksums, rest) = <[U32]>::ref_from_prefix_with_elems(rest, checksum_count)
            .map_err(|_| "its tables are too long")?;
        let drifts = <[DriftFields]>::ref_from_prefix_with_elems(rest, drift_count);
        let drifts = drifts.map_or(&[][..], |(drifts, _)| drifts);
        Ok(Descriptor {
            kind,
            store: Uuid::from_bytes(self.store),
            member: Uuid::from_bytes(self.member),
            place: self.place(),
            append_bytes: self.append_bytes.get(),
            sequence: self.sequence.get(),
            recording: self.recording.get(),
            recording_id: Uuid::from_bytes(self.recording_id),
            stream: self.stream.get(),
            gap: self.gap()?,
            stream_offset_bytes: self.stream_offset.get(),
            payload_bytes: self.payload_bytes.get(),
            marks_bytes: self.marks_bytes.get(),
            marks_crc: self.marks_crc.get(),
            first_time_ns: self.first_time.get(),
            last_time_ns: self.last_time.get(),
            made_time_ns: self.made_time.get(),
            previous: place_at(self.previous_serial, self.previous_offset),
            start: place_at(self.start_serial, self.start_offset),
            flushed_sequence: self.flushed_sequence.get(),
            parity_group: self.parity_group.get(),
            parity_role: self.parity_role.get(),
            first_frame: self.first_frame.get(),
            positions: positions.iter().map(Position::from).collect(),
            checksums: checksums.iter().map(|checksum| checksum.get()).collect(),
            drifts: drifts.iter().map(ClockDrift::from).collect(),
        })
    }

    fn place(&self) -> AppendPlace {
        AppendPlace {
            slot_serial: self.slot_serial.get(),
            slot_offset_bytes: self.slot_offset.get(),
        }
    }

    fn gap(&self) -> Result<Option<Gap>, &'static str> {
        let reason = match self.gap_reason.get() {
            0 if self.gap_bytes.get() == 0 && self.gap_frames.get() == 0 => return Ok(None),
            0 => return Err("its gap has no reason"),
            1 => GapReason::BufferFull,
            2 if self.gap_detail.get() == NO_ROOM => GapReason::NoRoom,
            2 => GapReason::NotWritten,
            3 if self.gap_detail.get() == PAUSED => GapReason::Paused,
            3 => GapReason::Source,
            _ => return Err("its gap has an unknown reason"),
        };
        Ok(Some(Gap {
            bytes: self.gap_bytes.get(),
            frames: self.gap_frames.get(),
            reason,
            first_time_ns: self.gap_first_time.get(),
            last_time_ns: self.gap_last_time.get(),
        }))
    }

    /// Returns what is known of an append of an unknown kind.
    pub(super) fn unknown_kind(&self) -> DescriptorError {
        let skip = Skip {
            kind: self.kind.get(),
            store: Uuid::from_bytes(self.store),
            member: Uuid::from_bytes(self.member),
            place: self.place(),
            append_bytes: self.append_bytes.get(),
            sequence: self.sequence.get(),
        };
        if skip.place.is_valid() && fits_slot(skip.place, skip.append_bytes, SLOT_BYTES_MAX) {
            DescriptorError::UnknownKind(skip)
        } else {
            DescriptorError::Inconsistent("its append does not fit a slot")
        }
    }
}

/// Returns the place, or `None` for the serial that no slot has.
fn place_at(serial: U64, offset: U32) -> Option<AppendPlace> {
    (serial.get() != NO_SERIAL).then(|| AppendPlace {
        slot_serial: serial.get(),
        slot_offset_bytes: offset.get(),
    })
}

fn serial_of(place: Option<AppendPlace>) -> u64 {
    place.map_or(NO_SERIAL, |place| place.slot_serial)
}

fn slot_offset_of(place: Option<AppendPlace>) -> u32 {
    place.map_or(0, |place| place.slot_offset_bytes)
}

impl From<&Position> for PositionFields {
    fn from(position: &Position) -> PositionFields {
        PositionFields {
            next_offset: position.next_offset_bytes.into(),
            settled_offset: position.settled_offset_bytes.into(),
            frames: position.frames.into(),
            gap_bytes: position.gap_bytes.into(),
            member_bytes: position.member_bytes.into(),
        }
    }
}

impl From<&PositionFields> for Position {
    fn from(fields: &PositionFields) -> Position {
        Position {
            next_offset_bytes: fields.next_offset.get(),
            settled_offset_bytes: fields.settled_offset.get(),
            frames: fields.frames.get(),
            gap_bytes: fields.gap_bytes.get(),
            member_bytes: fields.member_bytes.get(),
        }
    }
}

impl From<&ClockDrift> for DriftFields {
    fn from(drift: &ClockDrift) -> DriftFields {
        DriftFields {
            earliest: drift.earliest_ns.into(),
            latest: drift.latest_ns.into(),
        }
    }
}

impl From<&DriftFields> for ClockDrift {
    fn from(fields: &DriftFields) -> ClockDrift {
        ClockDrift {
            earliest_ns: fields.earliest.get(),
            latest_ns: fields.latest.get(),
        }
    }
}

impl Kind {
    pub(super) fn number(self) -> u16 {
        match self {
            Kind::Data => 1,
            Kind::Start => 2,
            Kind::End => 3,
            Kind::Parity => 4,
        }
    }

    pub(super) fn from_number(number: u16) -> Option<Kind> {
        match number {
            1 => Some(Kind::Data),
            2 => Some(Kind::Start),
            3 => Some(Kind::End),
            4 => Some(Kind::Parity),
            _ => None,
        }
    }
}

impl GapReason {
    pub(super) fn number(self) -> u16 {
        match self {
            GapReason::BufferFull => 1,
            GapReason::NotWritten | GapReason::NoRoom => 2,
            GapReason::Source | GapReason::Paused => 3,
        }
    }

    /// What later readers know of the reason. To older ones it is reserved.
    fn detail(self) -> u16 {
        match self {
            GapReason::Paused => PAUSED,
            GapReason::NoRoom => NO_ROOM,
            GapReason::BufferFull | GapReason::NotWritten | GapReason::Source => 0,
        }
    }
}
