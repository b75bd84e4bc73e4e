//! The write cache of a simulated disk: a fill level between the incoming data and the rate of the
//! media. The disk calls it and tells it the rate of the incoming data. It must account for every
//! byte: a burst is exactly as long as the cache makes it.

use std::collections::VecDeque;

use super::fluid::{Amount, FlowRate, amount, flow_rate, moved, time_ns};
use super::machine_file::CacheDescription;
use super::zone::{MediumDirection, Zones};

/// It absorbs data at its own rate while there is space, and drains to the media at the same time;
/// once it is full, it takes in only what it drains. The media is written in the order of arrival,
/// even while the request that brings the data is still coming in.
pub(super) struct Cache {
    capacity: Amount,
    fill_rate: FlowRate,
    volatile: bool,
    /// Bytes absorbed and not yet drained.
    level: Amount,
    /// The pieces to be written after the current one: offset and length in bytes.
    extents: VecDeque<(u64, u64)>,
    /// Left of the piece being written; zero or below when there is none.
    piece_left: Amount,
    /// A byte of that piece.
    piece_offset_bytes: u64,
    /// The media's rate at that piece.
    media_rate: FlowRate,
    /// The rate at which the level is drained now.
    drain_rate: FlowRate,
}

impl Cache {
    /// `factor` is the run's noise on every rate.
    pub(super) fn new(description: &CacheDescription, factor: f64) -> Self {
        Self {
            capacity: amount(description.capacity_bytes),
            fill_rate: fill_rate(description, factor),
            volatile: description.volatile,
            level: 0,
            extents: VecDeque::new(),
            piece_left: 0,
            piece_offset_bytes: 0,
            media_rate: 0,
            drain_rate: 0,
        }
    }

    /// Continues with another noise on every rate.
    pub(super) fn set_noise(&mut self, description: &CacheDescription, factor: f64, zones: &Zones) {
        self.fill_rate = fill_rate(description, factor);
        if self.piece_left > 0 {
            self.media_rate = zones
                .piece(MediumDirection::Write, self.piece_offset_bytes, 1)
                .1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.level <= 0
    }

    /// Whether acknowledged data would survive a power cut only after draining.
    pub(super) fn needs_draining(&self) -> bool {
        self.volatile && !self.is_empty()
    }

    /// Announces a write whose bytes begin to come in now.
    pub(super) fn announce(&mut self, offset_bytes: u64, length_bytes: u64, zones: &Zones) {
        match self.extents.back_mut() {
            Some((offset, length)) if *offset + *length == offset_bytes => *length += length_bytes,
            _ => self.extents.push_back((offset_bytes, length_bytes)),
        }
        self.next_pieces(zones);
    }

    /// Takes back bytes that were counted as absorbed beyond the end of a request: less than one
    /// nanosecond's worth.
    pub(super) fn take_back(&mut self, surplus: Amount) {
        self.level -= surplus;
    }

    /// Forgets everything that it holds.
    pub(super) fn clear(&mut self) {
        self.level = 0;
        self.extents.clear();
        self.piece_left = 0;
        self.drain_rate = 0;
    }

    /// Lets time pass, in which `absorbed` came in.
    pub(super) fn integrate(&mut self, absorbed: Amount, duration_ns: u64) {
        let drained = moved(self.drain_rate, duration_ns);
        self.level += absorbed - drained;
        self.piece_left -= drained;
    }

    /// Goes on to the next piece when one is written.
    pub(super) fn next_pieces(&mut self, zones: &Zones) {
        while self.piece_left <= 0 {
            let Some((offset, length)) = self.extents.front_mut() else {
                return;
            };
            let (piece_bytes, rate) = zones.piece(MediumDirection::Write, *offset, *length);
            self.piece_offset_bytes = *offset;
            *offset += piece_bytes;
            *length -= piece_bytes;
            if *length == 0 {
                self.extents.pop_front();
            }
            self.piece_left += amount(piece_bytes);
            self.media_rate = rate;
        }
    }

    /// The rate at which it can take in data now.
    pub(super) fn accept_rate(&self) -> FlowRate {
        if self.level >= self.capacity {
            self.media_rate.min(self.fill_rate)
        } else {
            self.fill_rate
        }
    }

    /// Sets the draining for the data now coming in; `media_free` is false while the disk is held
    /// or its media serves a read.
    pub(super) fn set_drain(&mut self, incoming: FlowRate, media_free: bool) {
        self.drain_rate = if !media_free || self.piece_left <= 0 {
            0
        } else if self.is_empty() {
            // Data goes straight through: no more can be drained than comes in.
            self.media_rate.min(incoming)
        } else {
            self.media_rate
        };
    }

    /// How long until something changes here if nothing else does.
    pub(super) fn next_change_ns(&self, incoming: FlowRate) -> u64 {
        let mut next_ns = u64::MAX;
        if self.drain_rate > 0 {
            next_ns = time_ns(self.piece_left, self.drain_rate);
        }
        if incoming > self.drain_rate && self.level < self.capacity {
            let rise = incoming - self.drain_rate;
            next_ns = next_ns.min(time_ns(self.capacity - self.level, rise));
        } else if incoming < self.drain_rate && !self.is_empty() {
            next_ns = next_ns.min(time_ns(self.level, self.drain_rate - incoming));
        }
        next_ns
    }
}

fn fill_rate(description: &CacheDescription, factor: f64) -> FlowRate {
    // Without a rate of its own, the fastest that a machine file may state.
    flow_rate(factor * description.rate_bytes_per_s.unwrap_or(10e12))
}
