//! Pieces of a read of a missing member: which bytes of which append, what must be read for them,
//! and how they are computed. Pure.

use std::ops::Range;

use sustain_disk::buffer::Buffer;
use sustain_parity::{ParityError, Recovery, Sums};

use super::found::GroupPart;
use super::groups::BrokenGroup;
use super::{ComputedAppend, RebuiltMember, StandIn};
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor};

/// The longest piece. Several are in flight at once, each with a buffer for every read that it
/// takes.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// A stretch of a read that is computed. All others are zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ComputedPiece {
    /// Where it begins in the read.
    pub(super) start: usize,
    pub(super) length: usize,
    /// The append of which it is.
    pub(super) append: ComputedAppend,
    /// Where it begins there.
    pub(super) from: u32,
    /// The place at which a descriptor stands that is made of it, if it is not given as it is.
    pub(super) stands_at: Option<AppendPlace>,
}

/// What is read for a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PiecePlan {
    /// The positions that are computed.
    lost: Vec<usize>,
    /// The numbers of the parities that are read. Their reads come first.
    parities: Vec<usize>,
    pub(super) reads: Vec<PieceRead>,
}

/// The parts of a group without which a piece is computed: whether each is parity, and its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FailedParts {
    /// Those that could not be read.
    pub(super) unreadable: Vec<(bool, usize)>,
    /// One that may be damaged: with all the others, something else came out than the group names.
    suspect: Option<(bool, usize)>,
}

/// A read of a part of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PieceRead {
    pub(super) part: GroupPart,
    pub(super) is_parity: bool,
    /// How much of the piece the part has.
    pub(super) length: usize,
}

impl RebuiltMember {
    /// The pieces of a read of so many bytes from this offset on, in their order.
    pub(super) fn pieces(&self, offset_bytes: u64, length: usize) -> Vec<ComputedPiece> {
        let end_bytes = offset_bytes.saturating_add(length as u64);
        let mut pieces = Vec::new();
        let end_of = |append: &ComputedAppend| append.offset_bytes + u64::from(append.append_bytes);
        let first = self
            .appends
            .partition_point(|one| end_of(one) <= offset_bytes);
        let within = self.appends[first..].iter();
        for append in within.take_while(|one| one.offset_bytes < end_bytes) {
            let mut at = append.offset_bytes.max(offset_bytes);
            let end = end_of(append).min(end_bytes);
            while at < end {
                let length = (end - at).min(PIECE_BYTES as u64);
                pieces.push(ComputedPiece {
                    start: (at - offset_bytes) as usize,
                    length: length as usize,
                    append: *append,
                    from: (at - append.offset_bytes) as u32,
                    stands_at: None,
                });
                at += length;
            }
        }
        let block_bytes = BLOCK_BYTES as u64;
        let first = self
            .stand_ins
            .partition_point(|one| one.offset_bytes < offset_bytes);
        let within = self.stand_ins[first..].iter();
        let is_within = |one: &&StandIn| one.offset_bytes + block_bytes <= end_bytes;
        pieces.extend(within.take_while(is_within).map(|stand_in| ComputedPiece {
            start: (stand_in.offset_bytes - offset_bytes) as usize,
            length: BLOCK_BYTES,
            append: self.appends[stand_in.next],
            from: 0,
            stands_at: Some(stand_in.place),
        }));
        pieces.sort_by_key(|piece| piece.start);
        pieces
    }

    /// Itself among its sources, if it has anything of a range.
    pub(super) fn own_source(&self, range: Range<u64>) -> Option<usize> {
        let own = self.own.as_ref()?;
        let mut at = range.start;
        for superseded in &own.superseded {
            if superseded.start <= at && at < superseded.end {
                at = superseded.end;
            }
        }
        (at < range.end).then_some(own.source)
    }

    /// The stretches of a range in which there is nothing but what is computed.
    pub(super) fn blank(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let Some(own) = &self.own else {
            return vec![range];
        };
        let within = own
            .superseded
            .iter()
            .map(|one| one.start.max(range.start)..one.end.min(range.end));
        within.filter(|one| !one.is_empty()).collect()
    }
}

impl ComputedPiece {
    /// Whether these bytes, which were computed, may be those of the append. A part of its group
    /// that is not what it was in the sum is not always found out by checksums of what is computed:
    /// they are linear, so the sum of an odd number of whole descriptors has a right one. But it is
    /// not the one that the list of the group names.
    pub(super) fn may_be(&self, bytes: &[u8]) -> bool {
        let is_whole = self.from == 0 && bytes.len() >= BLOCK_BYTES;
        !is_whole || Descriptor::checksum_in(bytes) == self.append.descriptor_crc
    }
}

impl FailedParts {
    /// Suspects the next part of a group that it can do without; false if there is none.
    pub(super) fn suspect_next(&mut self, piece: &ComputedPiece, group: &BrokenGroup) -> bool {
        let data = group.data.iter().map(|part| (false, part.number));
        let parities = group.parities.iter().map(|part| (true, part.number));
        let suspects: Vec<(bool, usize)> = data.chain(parities).collect();
        let is_last = |one: &(bool, usize)| self.suspect == Some(*one);
        let tried = suspects.iter().position(is_last);
        let from = tried.map_or(0, |tried| tried + 1);
        let unreadable = &self.unreadable;
        let of = |suspect| {
            let failed = FailedParts {
                unreadable: unreadable.clone(),
                suspect,
            };
            PiecePlan::of(piece, group, &failed)
        };
        // Without a part that was not read, the same comes out again.
        let all = of(None);
        let can_do_without = |suspect: &&(bool, usize)| {
            let without = of(Some(**suspect));
            without.is_some() && without != all
        };
        self.suspect = suspects[from..].iter().find(can_do_without).copied();
        self.suspect.is_some()
    }
}

impl PiecePlan {
    /// What to read for a piece without these parts; none if what is left is not
    /// enough.
    pub(super) fn of(
        piece: &ComputedPiece,
        group: &BrokenGroup,
        failed: &FailedParts,
    ) -> Option<PiecePlan> {
        let has_failed = |is_parity: bool, part: &GroupPart| {
            let part = (is_parity, part.number);
            failed.unreadable.contains(&part) || failed.suspect == Some(part)
        };
        let lost_now = group.data.iter().filter(|part| has_failed(false, part));
        let mut lost = group.lost.clone();
        lost.extend(lost_now.map(|part| part.number));
        let parities = group.parities.iter().filter(|part| !has_failed(true, part));
        let parities: Vec<GroupPart> = parities.copied().take(lost.len()).collect();
        if parities.len() < lost.len() {
            return None;
        }
        let data = group.data.iter().filter(|part| !has_failed(false, part));
        let read = |is_parity| {
            move |part: &GroupPart| PieceRead {
                part: *part,
                is_parity,
                length: (part.length_bytes.saturating_sub(piece.from) as usize).min(piece.length),
            }
        };
        let reads = parities.iter().map(read(true)).chain(data.map(read(false)));
        Some(PiecePlan {
            lost,
            parities: parities.iter().map(|part| part.number).collect(),
            // Of an append that is shorter than the piece's beginning nothing is added.
            reads: reads
                .filter(|read| read.is_parity || read.length > 0)
                .collect(),
        })
    }

    /// Computes the piece in the memory of the first parities, and returns where it is. `buffers`
    /// are those of the reads.
    pub(super) fn compute(
        &self,
        piece: &ComputedPiece,
        buffers: &mut [Option<Buffer>],
    ) -> Result<usize, ParityError> {
        let (parities, data) = buffers.split_at_mut(self.parities.len().min(buffers.len()));
        let memory: Vec<&mut [u8]> = parities
            .iter_mut()
            .flatten()
            .map(|buffer| &mut buffer.bytes_mut()[..piece.length])
            .collect();
        let mut sums = Sums::holding(&self.parities, memory, piece.length)?;
        for (buffer, read) in data.iter().zip(&self.reads[self.parities.len()..]) {
            let bytes = buffer
                .as_ref()
                .map_or(&[][..], |buffer| &buffer.bytes()[..read.length]);
            sums.add(read.part.number, 0, bytes)?;
        }
        Recovery::of(&self.lost, &self.parities)?.apply(sums)?;
        let found = self
            .lost
            .iter()
            .position(|lost| *lost == piece.append.position);
        found.ok_or(ParityError::NoSuchPosition {
            position: piece.append.position,
        })
    }
}
