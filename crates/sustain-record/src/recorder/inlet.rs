//! The interface through which appends come to the recorder: from the threads of sources behind a
//! channel, or from a simulated source that the feed itself runs in virtual time.

use sustain_disk::clock::Timestamp;
use sustain_disk::driver::Ending;

use super::filled::{Filled, PayloadMemory};

/// The answer of an inlet.
#[allow(
    clippy::large_enum_variant,
    reason = "moving a few hundred bytes is nothing beside an append"
)]
#[derive(Debug)]
pub enum Polled {
    /// An append.
    Append(Filled),
    /// There is nothing now. A source that keeps a timetable says when to ask again.
    Nothing(Option<Timestamp>),
    /// There will be nothing more in this recording, and another one follows it without a break.
    Cut,
    /// There will be nothing more, and this is why.
    Ended(Ending),
}

/// What a stream's source has offered by now, including what the recorder has not polled yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offered {
    /// All bytes that it has offered.
    pub bytes: u64,
    /// Those bytes that are lost by now.
    pub lost_bytes: u64,
    /// Of these, the bytes that found no memory.
    pub without_memory_bytes: u64,
}

/// The side of the sources, as the recorder sees it.
pub trait Inlet {
    /// Returns the next append, if there is one.
    fn poll(&mut self, now: Timestamp) -> Polled;

    /// Takes back memory of a stream whose append is on its member, or lost.
    fn give_back(&mut self, stream: u16, memory: PayloadMemory);

    /// Takes nothing more. From now on polling returns only what was accepted before.
    fn close(&mut self);

    /// Begins the recording that follows the one that was cut. An inlet that never returns
    /// [`Polled::Cut`] does not need to implement it.
    fn begin_next(&mut self) {}

    /// Returns what a stream's source has offered by now. An inlet that holds nothing back does not
    /// need to implement it.
    fn offered(&self, _stream: usize) -> Offered {
        Offered::default()
    }

    /// Returns how far a stream's source has come, with what it has taken and not handed over yet.
    /// An inlet that holds nothing back does not need to implement it.
    fn taken_bytes(&self, _stream: usize) -> u64 {
        0
    }

    /// Whether a stream was cut, so that what it sends now waits for the next recording. An inlet
    /// that holds nothing back does not need to implement it.
    fn is_cutting(&self) -> bool {
        false
    }

    /// Share of the buffer that waits for members, from 0 to 1.
    fn buffer_fill(&self) -> f64;

    /// Notes how many lent buffers members keep although nothing in them waits any more. An inlet
    /// whose buffer nobody watches does not need to implement it.
    fn set_kept(&mut self, _buffers: usize) {}
}
