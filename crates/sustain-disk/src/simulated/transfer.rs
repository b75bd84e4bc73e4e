//! The data of one request on its way between a simulated disk and its host, piece by piece. The
//! disk uses it, and lets time pass. A piece is in one zone and, on a disk that rotates, is no
//! longer than a track.

use super::fluid::{Amount, FlowRate, amount, time_ns};
use super::rotation::Rotation;
use super::zone::{MediumDirection, Zones};

/// The other end of a transfer, within the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferEnd {
    Media,
    /// The write cache.
    Cache,
    /// What was read ahead.
    Segment,
}

pub(super) struct SimulatedTransfer {
    pub(super) direction: MediumDirection,
    pub(super) end: TransferEnd,
    /// The rest of the current piece; below zero for bytes that were moved beyond its end.
    pub(super) piece_left: Amount,
    /// The media's rate at this piece.
    pub(super) media_rate: FlowRate,
    /// The time when the piece has passed under the head, if nothing holds it up.
    piece_passed_ns: u64,
    /// The offset after the piece.
    next_offset_bytes: u64,
    next_length_bytes: u64,
}

impl SimulatedTransfer {
    /// A transfer of a range to or from the media, before its first piece.
    pub(super) fn of_media(
        direction: MediumDirection,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Self {
        Self {
            direction,
            end: TransferEnd::Media,
            piece_left: 0,
            media_rate: 0,
            piece_passed_ns: 0,
            next_offset_bytes: offset_bytes,
            next_length_bytes: length_bytes,
        }
    }

    /// A transfer of a range into the cache: one piece.
    pub(super) fn into_cache(offset_bytes: u64, length_bytes: u64) -> Self {
        let whole = Self::of_media(MediumDirection::Write, offset_bytes, length_bytes);
        whole.in_one_piece(TransferEnd::Cache)
    }

    /// A transfer of a range from what was read ahead: one piece.
    pub(super) fn from_segment(offset_bytes: u64, length_bytes: u64) -> Self {
        let whole = Self::of_media(MediumDirection::Read, offset_bytes, length_bytes);
        whole.in_one_piece(TransferEnd::Segment)
    }

    fn in_one_piece(self, end: TransferEnd) -> Self {
        Self {
            end,
            piece_left: amount(self.next_length_bytes),
            next_offset_bytes: self.next_offset_bytes + self.next_length_bytes,
            next_length_bytes: 0,
            ..self
        }
    }

    /// Whether there is another piece after the current one.
    pub(super) fn has_next_piece(&self) -> bool {
        self.next_length_bytes > 0
    }

    /// The time when the next piece comes under the head; now, on a disk that does not rotate.
    pub(super) fn comes_ns(&self, zones: &Zones, rotation: Option<&Rotation>, now_ns: u64) -> u64 {
        let Some(rotation) = rotation else {
            return now_ns;
        };
        let offset_bytes = self.next_offset_bytes;
        let rate = zones.piece(self.direction, offset_bytes, 1).1;
        rotation.comes_ns(offset_bytes, rate, now_ns)
    }

    /// Begins the next piece: the part of the range that is in one zone, and on one track.
    pub(super) fn begin_piece(&mut self, zones: &Zones, rotation: Option<&Rotation>, now_ns: u64) {
        let (zone_bytes, media_rate) = zones.piece(
            self.direction,
            self.next_offset_bytes,
            self.next_length_bytes,
        );
        let track_bytes = rotation.map_or(u64::MAX, |rotation| rotation.track_bytes(media_rate));
        let piece_bytes = zone_bytes.min(track_bytes);
        self.piece_left += amount(piece_bytes);
        self.media_rate = media_rate;
        self.piece_passed_ns = now_ns.saturating_add(time_ns(self.piece_left, media_rate));
        self.next_offset_bytes += piece_bytes;
        self.next_length_bytes -= piece_bytes;
    }

    /// Notes where the head was at the end of the piece, which may be before the data was through.
    pub(super) fn end_piece(&self, rotation: Option<&mut Rotation>) {
        if let Some(rotation) = rotation.filter(|_| self.end == TransferEnd::Media) {
            rotation.passes(self.next_offset_bytes, self.piece_passed_ns);
        }
    }

    /// Reads the rate of the current piece from zones that have changed. Data that goes into a
    /// cache, or comes from a segment, has none.
    pub(super) fn look_up_rate(&mut self, zones: &Zones) {
        if self.end == TransferEnd::Media {
            let last_byte = self.next_offset_bytes - 1;
            self.media_rate = zones.piece(self.direction, last_byte, 1).1;
        }
    }
}
