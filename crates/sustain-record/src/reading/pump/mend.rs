//! Tries reads that failed again in pieces, so that a bad sector costs no more than its block. Only
//! the pump uses it.

use std::collections::VecDeque;
use std::ops::Range;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::engine::{Completion, Engine};
use sustain_disk::error::{Error, IoFault};

use super::memory::take_buffer;
use super::read_request;
use crate::format::BLOCK_BYTES;

/// Length of the pieces that are tried first.
pub(super) const PIECE_LARGE: usize = 64 * 1024;
/// Length of the pieces into which those that failed are cut.
pub(super) const PIECE_SMALL: usize = BLOCK_BYTES;

/// A piece of a read.
pub(super) struct ReadPiece {
    pub(super) read: usize,
    pub(super) target: usize,
    /// Offset on the target at which the read begins.
    pub(super) base_bytes: u64,
    /// The range within the read.
    pub(super) range: Range<usize>,
    /// The error, if it has failed.
    pub(super) errno: Option<IoFault>,
}

/// The pieces in flight and those that wait.
pub(super) struct Mending {
    pool: BufferPool,
    waiting: VecDeque<ReadPiece>,
}

impl ReadPiece {
    /// Cuts a range of a read into pieces of at most `piece_bytes`.
    pub(super) fn cut(
        read: usize,
        target: usize,
        base_bytes: u64,
        range: Range<usize>,
        piece_bytes: usize,
    ) -> Vec<ReadPiece> {
        range
            .clone()
            .step_by(piece_bytes)
            .map(|start| ReadPiece {
                read,
                target,
                base_bytes,
                range: start..range.end.min(start + piece_bytes),
                errno: None,
            })
            .collect()
    }
}

impl Mending {
    pub(super) fn new(in_flight_max: usize) -> Result<Mending, Error> {
        Ok(Mending {
            pool: BufferPool::new(in_flight_max, PIECE_LARGE)?,
            waiting: VecDeque::new(),
        })
    }

    pub(super) fn push(&mut self, pieces: Vec<ReadPiece>) {
        self.waiting.extend(pieces);
    }

    /// Submits pieces as long as there are buffers for them.
    pub(super) fn refill(&mut self, engine: &mut dyn Engine) {
        while !self.waiting.is_empty() {
            let Some(buffer) = self.pool.take() else {
                return;
            };
            let Some(piece) = self.waiting.pop_front() else {
                self.pool.give(buffer);
                return;
            };
            let offset_bytes = piece.base_bytes + piece.range.start as u64;
            let length = piece.range.len();
            engine.submit(read_request(
                piece.target,
                offset_bytes,
                buffer,
                length,
                piece.read as u64,
            ));
        }
    }

    /// Takes the buffer of a piece that has returned.
    pub(super) fn take_back(&mut self, completion: Completion) -> Option<Buffer> {
        take_buffer(completion)
    }

    /// Gives back the buffer of a piece whose bytes have been copied.
    pub(super) fn give(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
    }
}
