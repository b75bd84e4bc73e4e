//! Reads that failed, tried again in pieces: a bad sector costs no more than its block. The pump's
//! own.

use std::collections::VecDeque;
use std::ops::Range;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::engine::{Completion, Engine};
use sustain_disk::error::{Errno, Error};

use super::memory::take_buffer;
use super::read_request;
use crate::format::BLOCK_BYTES;

/// The pieces that are tried first, in bytes.
pub(super) const PIECE_LARGE: usize = 64 * 1024;
/// The pieces of these that failed, in bytes.
pub(super) const PIECE_SMALL: usize = BLOCK_BYTES;

/// A piece of a read.
pub(super) struct Piece {
    pub(super) read: usize,
    pub(super) target: usize,
    /// Where the read begins on the target.
    pub(super) base_bytes: u64,
    /// Within the read.
    pub(super) range: Range<usize>,
    /// Why it failed, if it has.
    pub(super) errno: Option<Errno>,
}

/// Pieces under way and waiting.
pub(super) struct Mending {
    pool: BufferPool,
    waiting: VecDeque<Piece>,
}

impl Piece {
    /// A range of a read in pieces of at most `piece_bytes`.
    pub(super) fn cut(
        read: usize,
        target: usize,
        base_bytes: u64,
        range: Range<usize>,
        piece_bytes: usize,
    ) -> Vec<Piece> {
        range
            .clone()
            .step_by(piece_bytes)
            .map(|start| Piece {
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

    pub(super) fn push(&mut self, pieces: Vec<Piece>) {
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

    /// The buffer of a piece that is back.
    pub(super) fn take_back(&mut self, completion: Completion) -> Option<Buffer> {
        take_buffer(completion)
    }

    /// A piece's bytes have been copied.
    pub(super) fn give(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
    }
}
