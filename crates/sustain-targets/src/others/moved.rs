//! Bytes that were moved, by direction, and how many of them between two moments were foreign.

use sustain_disk::clock::Timestamp;
use sustain_disk::target::Direction;

/// Slower foreign I/O is ignored, because any system has that now and then.
const RATE_MIN_BYTES_PER_S: f64 = 1e6;
/// Up to this part of this process's bytes may be metadata and journal of a file system, written
/// for this process.
const SHARE_OF_OWN_MIN: f64 = 0.05;
/// If this process moves less than this in an interval, foreign I/O cannot be in its way.
const OWN_MIN_BYTES_PER_S: f64 = 64e3;

/// Bytes by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MovedBytes {
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
}

impl MovedBytes {
    pub(super) fn bytes(self) -> u64 {
        self.read_bytes + self.written_bytes
    }

    pub(super) fn plus(self, other: MovedBytes) -> MovedBytes {
        MovedBytes {
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
        }
    }

    pub(super) fn in_direction(direction: Direction, bytes: u64) -> MovedBytes {
        match direction {
            Direction::Read => MovedBytes {
                read_bytes: bytes,
                written_bytes: 0,
            },
            Direction::Write => MovedBytes {
                read_bytes: 0,
                written_bytes: bytes,
            },
        }
    }

    pub(super) fn most(self, other: MovedBytes) -> MovedBytes {
        MovedBytes {
            read_bytes: self.read_bytes.max(other.read_bytes),
            written_bytes: self.written_bytes.max(other.written_bytes),
        }
    }

    pub(super) fn least(self, other: MovedBytes) -> MovedBytes {
        MovedBytes {
            read_bytes: self.read_bytes.min(other.read_bytes),
            written_bytes: self.written_bytes.min(other.written_bytes),
        }
    }

    pub(super) fn less(self, other: MovedBytes) -> MovedBytes {
        MovedBytes {
            read_bytes: self.read_bytes.saturating_sub(other.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(other.written_bytes),
        }
    }
}

/// The bytes that were moved between two moments.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransferWindow {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) others: MovedBytes,
    pub(super) own: MovedBytes,
}

impl TransferWindow {
    pub(super) fn joined(self, next: TransferWindow) -> TransferWindow {
        TransferWindow {
            from: self.from,
            to: next.to,
            others: self.others.plus(next.others),
            own: self.own.plus(next.own),
        }
    }

    pub(super) fn seconds(self) -> f64 {
        self.to.since_s(self.from).max(1e-9)
    }

    pub(super) fn others_bytes_per_s(self) -> f64 {
        self.others.bytes() as f64 / self.seconds()
    }

    /// Whether other programs moved more than a file system may have written for this process.
    pub(super) fn is_shared(self) -> bool {
        let others = self.others.bytes() as f64;
        others > self.own.bytes() as f64 * SHARE_OF_OWN_MIN
            && self.others_bytes_per_s() > RATE_MIN_BYTES_PER_S
            && self.own.bytes() as f64 > OWN_MIN_BYTES_PER_S * self.seconds()
    }
}
