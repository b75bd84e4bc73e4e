//! The bytes of one simulated disk, and the state of each write: in flight, completed but only in a
//! volatile cache, or durable. The shared machine reports the beginning and end of each request. It
//! must promise no more than a disk does, so that code that relies on more loses data at a power
//! cut.

#[cfg(test)]
mod tests;

use std::fmt;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::pages::Pages;
use super::survival;

/// The contents of one simulated disk. A clone is cheap and independent.
#[derive(Clone)]
pub struct Medium {
    capacity_bytes: u64,
    /// Whether completed writes are durable only when flushed.
    volatile_cache: bool,
    durable: Pages,
    /// Writes completed and not durable, in order of completion; each with the count of completions
    /// before it.
    unflushed: Vec<(u64, MediumExtent)>,
    /// Writes in flight, in order of submission.
    in_flight: Vec<InFlight>,
    /// Flushes in flight: id, and the count of completions when it was submitted.
    flushes: Vec<(u64, u64)>,
    /// Writes completed so far.
    completions: u64,
}

#[derive(Clone)]
struct InFlight {
    id: u64,
    durable: bool,
    extent: MediumExtent,
}

/// A stretch of bytes with its place.
#[derive(Clone)]
struct MediumExtent {
    offset_bytes: u64,
    bytes: Vec<u8>,
}

impl Medium {
    pub(crate) fn new(capacity_bytes: u64, volatile_cache: bool) -> Self {
        Self {
            capacity_bytes,
            volatile_cache,
            durable: Pages::default(),
            unflushed: Vec::new(),
            in_flight: Vec::new(),
            flushes: Vec::new(),
            completions: 0,
        }
    }

    /// Takes the bytes of a write that was submitted, as they are now. Bytes beyond the end of the
    /// disk are left out.
    pub(crate) fn begin_write<'a>(
        &mut self,
        id: u64,
        offset_bytes: u64,
        durable: bool,
        parts: impl Iterator<Item = &'a [u8]> + Clone,
    ) {
        let room_bytes = self.capacity_bytes.saturating_sub(offset_bytes);
        let length: usize = parts.clone().map(<[u8]>::len).sum();
        let mut bytes = Vec::with_capacity(length);
        parts.for_each(|part| bytes.extend_from_slice(part));
        bytes.truncate(usize::try_from(room_bytes).unwrap_or(usize::MAX));
        let extent = MediumExtent {
            offset_bytes,
            bytes,
        };
        self.in_flight.push(InFlight {
            id,
            durable,
            extent,
        });
    }

    /// Notes that the first `bytes` of a write are done. A write that began before another
    /// [`Medium`] was put in place is ignored.
    pub(crate) fn complete_write(&mut self, id: u64, bytes: u64) {
        let Some(mut write) = self.take_in_flight(id) else {
            return;
        };
        write
            .extent
            .bytes
            .truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        self.settle(write.extent, write.durable);
    }

    /// Notes that a write failed, and may have left any part of itself.
    pub(crate) fn fail_write(&mut self, id: u64) {
        let Some(write) = self.take_in_flight(id) else {
            return;
        };
        let MediumExtent {
            offset_bytes,
            bytes,
        } = write.extent;
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(self.completions ^ offset_bytes);
        for range in survival::remains(&mut generator, offset_bytes, bytes.len()) {
            let part = MediumExtent {
                offset_bytes: offset_bytes + range.start as u64,
                bytes: bytes[range].to_vec(),
            };
            self.settle(part, write.durable);
        }
    }

    /// Notes that a flush was submitted: it covers what completed before.
    pub(crate) fn begin_flush(&mut self, id: u64) {
        self.flushes.push((id, self.completions));
    }

    /// Notes that a flush is done, or failed and so promises nothing.
    pub(crate) fn end_flush(&mut self, id: u64, done: bool) {
        let Some(place) = self.flushes.iter().position(|flush| flush.0 == id) else {
            return;
        };
        let (_, before) = self.flushes.remove(place);
        if !done {
            return;
        }
        let covered = self
            .unflushed
            .partition_point(|(completion, _)| *completion < before);
        for (_, extent) in self.unflushed.drain(..covered) {
            self.durable.write(extent.offset_bytes, &extent.bytes);
        }
    }

    /// The bytes that a read returns: the newest that have completed.
    pub(crate) fn read(&self, offset_bytes: u64, bytes: &mut [u8]) {
        self.durable.read(offset_bytes, bytes);
        for (_, extent) in &self.unflushed {
            extent.lay_over(offset_bytes, bytes);
        }
    }

    /// Puts bytes there as if they had always been there.
    pub(crate) fn write(&mut self, offset_bytes: u64, bytes: &[u8]) {
        self.supersede(offset_bytes, offset_bytes + bytes.len() as u64);
        self.durable.write(offset_bytes, bytes);
    }

    /// Cuts the power: of what is not durable, any part survives, and is durable then.
    pub(crate) fn cut_power(&mut self, generator: &mut Xoshiro256PlusPlus) {
        let unflushed = std::mem::take(&mut self.unflushed);
        let in_flight = std::mem::take(&mut self.in_flight);
        self.flushes.clear();
        let extents: Vec<MediumExtent> = unflushed
            .into_iter()
            .map(|(_, extent)| extent)
            .chain(in_flight.into_iter().map(|write| write.extent))
            .collect();
        let places: Vec<(u64, usize)> = extents
            .iter()
            .map(|extent| (extent.offset_bytes, extent.bytes.len()))
            .collect();
        for (index, range) in survival::survivors(generator, &places) {
            let extent = &extents[index];
            let offset_bytes = extent.offset_bytes + range.start as u64;
            self.durable.write(offset_bytes, &extent.bytes[range]);
        }
    }

    /// The state as a read sees it now, all of it durable and nothing in flight.
    pub(crate) fn snapshot(&self) -> Self {
        let mut durable = self.durable.clone();
        for (_, extent) in &self.unflushed {
            durable.write(extent.offset_bytes, &extent.bytes);
        }
        Self {
            durable,
            ..Self::new(self.capacity_bytes, self.volatile_cache)
        }
    }

    fn take_in_flight(&mut self, id: u64) -> Option<InFlight> {
        let place = self.in_flight.iter().position(|write| write.id == id)?;
        Some(self.in_flight.remove(place))
    }

    /// Makes a write readable, and durable if nothing volatile stands between.
    fn settle(&mut self, extent: MediumExtent, durable: bool) {
        if durable || !self.volatile_cache {
            self.write(extent.offset_bytes, &extent.bytes);
        } else {
            self.unflushed.push((self.completions, extent));
        }
        self.completions += 1;
    }

    /// Drops older data in the cache for a range that is now on the medium, because a cache has one
    /// state of each place.
    fn supersede(&mut self, start: u64, end: u64) {
        if !self
            .unflushed
            .iter()
            .any(|(_, extent)| extent.overlaps(start, end))
        {
            return;
        }
        self.unflushed = std::mem::take(&mut self.unflushed)
            .into_iter()
            .flat_map(|(completion, extent)| {
                let parts = extent.without(start, end);
                parts.into_iter().map(move |part| (completion, part))
            })
            .collect();
    }
}

impl fmt::Debug for Medium {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Medium")
            .field("capacity_bytes", &self.capacity_bytes)
            .field("pages", &self.durable.count())
            .field("unflushed", &self.unflushed.len())
            .field("in_flight", &self.in_flight.len())
            .finish_non_exhaustive()
    }
}

impl MediumExtent {
    fn end(&self) -> u64 {
        self.offset_bytes + self.bytes.len() as u64
    }

    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.offset_bytes < end && start < self.end()
    }

    /// Copies what lies in a range that begins at `offset_bytes` over it.
    fn lay_over(&self, offset_bytes: u64, bytes: &mut [u8]) {
        let start = self.offset_bytes.max(offset_bytes);
        let end = self.end().min(offset_bytes + bytes.len() as u64);
        if start >= end {
            return;
        }
        let length = (end - start) as usize;
        let (to, from) = (start - offset_bytes, start - self.offset_bytes);
        bytes[to as usize..][..length].copy_from_slice(&self.bytes[from as usize..][..length]);
    }

    /// The parts of it outside a range: itself, or up to two parts.
    fn without(mut self, start: u64, end: u64) -> Vec<MediumExtent> {
        if !self.overlaps(start, end) {
            return vec![self];
        }
        let mut parts = Vec::new();
        if end < self.end() {
            parts.push(MediumExtent {
                offset_bytes: end,
                bytes: self.bytes.split_off((end - self.offset_bytes) as usize),
            });
        }
        if self.offset_bytes < start {
            self.bytes.truncate((start - self.offset_bytes) as usize);
            parts.push(self);
        }
        parts
    }
}
