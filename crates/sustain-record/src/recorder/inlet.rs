//! Where appends come from: source threads behind a channel, or a simulated source that the feed
//! itself runs in virtual time.

use sustain_disk::clock::Timestamp;
use sustain_disk::driver::Ending;

use super::filled::{Filled, Memory};

/// What an inlet has for the recorder.
#[allow(
    clippy::large_enum_variant,
    reason = "moving a few hundred bytes is nothing beside an append"
)]
#[derive(Debug)]
pub enum Polled {
    /// An append.
    Append(Filled),
    /// Nothing now; a source that keeps a timetable says when to ask again.
    Nothing(Option<Timestamp>),
    /// Nothing any more, and why.
    Ended(Ending),
}

/// What a stream's source has offered by now, also what the recorder has not polled yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offered {
    /// All of it.
    pub bytes: u64,
    /// What of it found no memory and is lost.
    pub lost_bytes: u64,
}

/// The sources' side of the recorder.
pub trait Inlet {
    /// The next append, if there is one.
    fn poll(&mut self, now: Timestamp) -> Polled;

    /// Takes memory of a stream back whose append is on its member, or lost.
    fn give_back(&mut self, stream: u16, memory: Memory);

    /// The recording takes no more: what is polled from now on is only what was accepted before.
    fn close(&mut self);

    /// What a stream's source has offered by now. An inlet that holds nothing back need not say it.
    fn offered(&self, _stream: usize) -> Offered {
        Offered::default()
    }

    /// Share of the buffer that is waiting for members, from 0 to 1.
    fn buffer_fill(&self) -> f64;
}
