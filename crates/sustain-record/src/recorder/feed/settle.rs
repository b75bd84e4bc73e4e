//! What becomes of a request that is over for good. The feed calls it when a request has come back
//! and is not tried again.

use sustain_disk::clock::Timestamp;
use sustain_disk::engine::{Completion, Operation, Vectors};

use super::data::Written;
use super::{RecordFeed, RequestPurpose};
use crate::format::CONTROL_STREAM;
use crate::recorder::inlet::Inlet;
use crate::recorder::write;

impl<I: Inlet> RecordFeed<I> {
    /// A request is over for good.
    pub(super) fn settle(&mut self, queue: usize, completion: Completion) {
        let now = completion.completed_at;
        let Some(flying) = self.in_flight.remove(&completion.request.token) else {
            return;
        };
        let write_ns = flying.write_ns(now).unwrap_or(0);
        self.longest_returned_ns = self.longest_returned_ns.max(write_ns);
        let wanted = completion.request.vectors.len_bytes();
        let is_short =
            completion.request.operation == Operation::Write && completion.bytes < wanted;
        // A file that was deleted or cut off takes every write and flush.
        let is_harmed = self.makes_durable(&flying.purpose) && self.is_harmed(queue, now);
        let has_failed = completion.error.is_some() || is_short || is_harmed;
        let is_unwritten = self.is_kernels_own(queue, &completion);
        let is_fatal = match flying.purpose {
            RequestPurpose::Data { place, .. } | RequestPurpose::Parity { place, .. }
                if is_unwritten =>
            {
                self.members[queue].note_never_taken(place)
            }
            _ => true,
        };
        if has_failed && is_fatal {
            self.fail(queue, &completion);
        }
        match flying.purpose {
            RequestPurpose::Flush => self.flush_landed(queue, now, !has_failed),
            RequestPurpose::Control {
                kind,
                place,
                bytes,
                sequence,
            } => {
                self.end_waits_since = self.end_waits_since.max(now);
                self.give_back_own(queue, completion.request.vectors);
                self.members[queue].landed(place, bytes);
                self.marked(queue, kind, place, sequence);
            }
            RequestPurpose::Data {
                filled,
                place,
                sequence,
                payload,
                is_sole,
                ..
            } => {
                // As long as they are viewed, the bytes cannot be given back.
                drop(payload);
                let written = Written {
                    filled,
                    place,
                    sequence,
                    is_sole,
                    has_failed,
                };
                self.landed(queue, written, completion);
            }
            RequestPurpose::Parity {
                parity,
                place,
                sequence,
            } => self.parity_landed(queue, (parity, place, sequence), has_failed, completion),
            RequestPurpose::Superblock => {
                self.give_back_own(queue, completion.request.vectors);
                self.superblock_written(queue, has_failed);
            }
            RequestPurpose::Abandoned { stream, is_own, .. } => {
                if let Some(memory) = write::take_apart(completion.request.vectors, is_own) {
                    self.give_back(queue, stream, memory);
                }
            }
        }
    }

    fn flush_landed(&mut self, queue: usize, now: Timestamp, is_ok: bool) {
        // Of copies only, it brings nothing nearer.
        let mut flushed = self.members[queue].flushing.iter().flatten();
        if flushed.any(|one| one.is_sole || one.is_parity()) {
            self.end_waits_since = self.end_waits_since.max(now);
        }
        self.flushed(queue, now, is_ok);
    }

    /// Whether all that was written before is durable if this has come back without an error.
    fn makes_durable(&self, purpose: &RequestPurpose) -> bool {
        match purpose {
            RequestPurpose::Flush | RequestPurpose::Control { .. } | RequestPurpose::Superblock => {
                true
            }
            RequestPurpose::Data { .. } | RequestPurpose::Parity { .. } => {
                self.setup.durability.each
            }
            RequestPurpose::Abandoned { .. } => false,
        }
    }

    /// Gives back the memory of a mark or a superblock.
    fn give_back_own(&mut self, queue: usize, vectors: Vectors) {
        if let Some(memory) = write::take_apart(vectors, true) {
            self.give_back(queue, CONTROL_STREAM, memory);
        }
    }
}
