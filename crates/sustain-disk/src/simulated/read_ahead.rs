//! The segment buffer of a simulated disk: what its head has read ahead of the host. The disk calls
//! it for reads, and tells it how much was fetched. It must account for every byte: the head stops
//! exactly when the buffer is full, and the host waits exactly while it is empty.

use super::fluid::{Amount, FlowRate, amount, flow_rate, moved, time_ns, whole_bytes};
use super::rotation::Rotation;
use super::zone::{MediumDirection, Zones};

/// How fast the buffer is fetched where no limit is in the way: faster than any interface.
const FETCH_BYTES_PER_S: f64 = 10e9;

/// A stream that is read on behind what was asked for, until the buffer is full. The sector that
/// follows has then gone on below the head, and reading goes on when it comes round again.
pub(super) struct ReadAhead {
    capacity: Amount,
    /// Bytes read and not fetched. Slightly negative for what was fetched beyond it, because events
    /// fall on whole nanoseconds.
    level: Amount,
    /// Where a request must begin that goes on with the stream; `None` if there is none.
    next_fetch_offset_bytes: Option<u64>,
    head: HeadState,
    /// The rest of the piece that the head reads: in one zone, and no longer than a track.
    piece_left: Amount,
    /// The offset after that piece.
    piece_end_bytes: u64,
    media_rate: FlowRate,
    disk_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadState {
    Resting,
    /// The next sector comes under it at this time.
    Turning(u64),
    Reading,
}

impl ReadAhead {
    pub(super) fn new(segment_bytes: u64, disk_bytes: u64) -> Self {
        Self {
            capacity: amount(segment_bytes),
            level: 0,
            next_fetch_offset_bytes: None,
            head: HeadState::Resting,
            piece_left: 0,
            piece_end_bytes: 0,
            media_rate: 0,
            disk_bytes,
        }
    }

    /// Begins a request. One that does not go on with the stream begins another one: what was read
    /// ahead is of no use, and the head turns to the new place.
    pub(super) fn begin(
        &mut self,
        offset_bytes: u64,
        length_bytes: u64,
        zones: &Zones,
        rotation: &mut Rotation,
        now_ns: u64,
    ) {
        if self.next_fetch_offset_bytes != Some(offset_bytes) {
            self.drop_all(rotation, now_ns);
            self.piece_end_bytes = offset_bytes;
            self.turn(zones, rotation, now_ns);
        }
        self.next_fetch_offset_bytes = Some(offset_bytes + length_bytes);
    }

    /// Forgets the stream. The head is free for something else.
    pub(super) fn drop_all(&mut self, rotation: &mut Rotation, now_ns: u64) {
        self.rest(rotation, now_ns);
        self.level = 0;
        self.piece_left = 0;
        self.next_fetch_offset_bytes = None;
    }

    /// Lets time pass, in which `fetched` went to the host.
    pub(super) fn integrate(&mut self, fetched: Amount, duration_ns: u64) {
        let read = match self.head {
            HeadState::Reading => moved(self.media_rate, duration_ns),
            HeadState::Resting | HeadState::Turning(_) => 0,
        };
        self.level += read - fetched;
        self.piece_left -= read;
    }

    /// Puts bytes back that were counted as fetched beyond the end of a request: less than one
    /// nanosecond's worth.
    pub(super) fn put_back(&mut self, surplus: Amount) {
        self.level += surplus;
    }

    /// Does with the head what is due. `is_fetched` while the host takes from the buffer, so that
    /// there is room again.
    pub(super) fn step(
        &mut self,
        zones: &Zones,
        rotation: &mut Rotation,
        now_ns: u64,
        is_fetched: bool,
    ) {
        match self.head {
            HeadState::Reading if self.level >= self.capacity => self.rest(rotation, now_ns),
            HeadState::Reading if self.piece_left <= 0 => self.next_piece(zones, rotation, now_ns),
            HeadState::Turning(until_ns) if until_ns <= now_ns => {
                self.head = HeadState::Resting;
                if self.level < self.capacity {
                    self.read_on(zones, rotation);
                }
            }
            HeadState::Resting | HeadState::Turning(_) | HeadState::Reading => {}
        }
        if self.head == HeadState::Resting && is_fetched && self.is_before_end() {
            // The sector has just gone on, if it was under the head.
            self.turn(zones, rotation, now_ns.saturating_add(1));
        }
    }

    /// Ends what the head does: the disk is held, or the buffer is full.
    pub(super) fn rest(&mut self, rotation: &mut Rotation, now_ns: u64) {
        if self.head == HeadState::Reading {
            rotation.passes(self.position_bytes(), now_ns);
        }
        self.head = HeadState::Resting;
    }

    /// The rate at which the host can fetch now.
    pub(super) fn fetch_rate(&self) -> FlowRate {
        match self.head {
            // Of the last bytes of a disk nothing more comes, whatever was rounded before.
            _ if self.level > 0 || self.has_read_all() => flow_rate(FETCH_BYTES_PER_S),
            HeadState::Reading => self.media_rate,
            HeadState::Resting | HeadState::Turning(_) => 0,
        }
    }

    /// Whether the head is busy, and so no write can pass.
    pub(super) fn is_busy(&self) -> bool {
        self.head != HeadState::Resting
    }

    /// How long until something changes here, at this rate of fetching.
    pub(super) fn next_change_ns(&self, now_ns: u64, fetched: FlowRate) -> u64 {
        let read = match self.head {
            HeadState::Reading => self.media_rate,
            HeadState::Resting | HeadState::Turning(_) => 0,
        };
        let turn_ns = match self.head {
            HeadState::Turning(until_ns) => until_ns.saturating_sub(now_ns),
            HeadState::Reading => time_ns(self.piece_left, read),
            HeadState::Resting => u64::MAX,
        };
        let level_ns = if fetched > read {
            let is_empty = self.level <= 0;
            if is_empty {
                u64::MAX
            } else {
                time_ns(self.level, fetched - read)
            }
        } else if read > fetched {
            time_ns(self.capacity - self.level, read - fetched)
        } else {
            u64::MAX
        };
        turn_ns.min(level_ns)
    }

    /// Reads the rate of the medium from zones that have changed.
    pub(super) fn look_up_rate(&mut self, zones: &Zones) {
        if self.head == HeadState::Reading {
            self.media_rate = zones
                .piece(MediumDirection::Read, self.piece_end_bytes - 1, 1)
                .1;
        }
    }

    /// The byte that the head reads next.
    fn position_bytes(&self) -> u64 {
        self.piece_end_bytes
            .saturating_sub(whole_bytes(self.piece_left))
    }

    fn is_before_end(&self) -> bool {
        self.next_fetch_offset_bytes.is_some() && self.position_bytes() < self.disk_bytes
    }

    fn has_read_all(&self) -> bool {
        self.next_fetch_offset_bytes.is_some() && self.position_bytes() >= self.disk_bytes
    }

    /// Waits until the next byte comes under the head.
    fn turn(&mut self, zones: &Zones, rotation: &Rotation, from_ns: u64) {
        let position_bytes = self.position_bytes();
        let rate = zones.piece(MediumDirection::Read, position_bytes, 1).1;
        self.head = HeadState::Turning(rotation.comes_ns(position_bytes, rate, from_ns));
    }

    /// Goes on after a piece without a pause, or ends at the end of the disk.
    fn next_piece(&mut self, zones: &Zones, rotation: &mut Rotation, now_ns: u64) {
        rotation.passes(self.piece_end_bytes, now_ns);
        self.head = HeadState::Resting;
        if self.piece_end_bytes < self.disk_bytes {
            self.read_on(zones, rotation);
        }
    }

    /// Reads the rest of the piece that was interrupted, or the next one.
    fn read_on(&mut self, zones: &Zones, rotation: &Rotation) {
        let offset_bytes = self.position_bytes();
        let left_bytes = self.disk_bytes - offset_bytes;
        let (zone_bytes, rate) = zones.piece(MediumDirection::Read, offset_bytes, left_bytes);
        if self.piece_left <= 0 {
            let piece_bytes = zone_bytes.min(rotation.track_bytes(rate));
            self.piece_left += amount(piece_bytes);
            self.piece_end_bytes = offset_bytes + piece_bytes;
        }
        self.media_rate = rate;
        self.head = HeadState::Reading;
    }
}
