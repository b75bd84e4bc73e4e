//! Decides which target and offset take the next record.

/// How several targets are used together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Each target has its own stream; a fast one never waits for a slow one.
    Independent,
    /// Each target has its own stream, and one driver submits one record to each in turn: while the
    /// target whose turn it is has its full number in flight, all others wait with it.
    Turns,
    /// One stream in chunks over the targets in order, as RAID 0: in lockstep by nature.
    Stripe {
        /// Bytes on one target before the next one takes over.
        chunk_bytes: u64,
    },
    /// One stream, one target after the other.
    Span,
}

impl Layout {
    /// Whether each target has a stream of its own, and ends by itself. Otherwise one stream lies
    /// on all of them.
    pub fn has_own_streams(self) -> bool {
        matches!(self, Layout::Independent | Layout::Turns)
    }
}

/// Whose turn it is among queues of which each submits one record after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    order: Vec<usize>,
    holder: usize,
}

impl Turns {
    /// The first turn is that of the first queue of `order`.
    pub fn new(order: Vec<usize>) -> Turns {
        Turns { order, holder: 0 }
    }

    /// The queue whose turn it is; none if all have left.
    pub fn holder(&self) -> Option<usize> {
        self.order.get(self.holder).copied()
    }

    /// Whether a queue still takes turns.
    pub fn has(&self, queue: usize) -> bool {
        self.order.contains(&queue)
    }

    /// Gives the turn to the next queue.
    pub fn pass(&mut self) {
        self.holder = (self.holder + 1) % self.order.len().max(1);
    }

    /// Removes the queue whose turn it is, which has ended; the next one has the turn.
    pub fn leave(&mut self) {
        if self.holder < self.order.len() {
            self.order.remove(self.holder);
        }
        if self.holder >= self.order.len() {
            self.holder = 0;
        }
    }
}

/// A contiguous part of a record on one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPiece {
    /// Index among the members of the queue.
    pub member: usize,
    /// Offset on that member.
    pub offset_bytes: u64,
    /// Length.
    pub length_bytes: u64,
}

/// Maps positions of one stream to its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Members one after the other; with one member, that member.
    Span {
        /// Bytes used on each member.
        sizes_bytes: Vec<u64>,
    },
    /// Chunks over the members in order.
    Stripe {
        /// Bytes on one member before the next one takes over.
        chunk_bytes: u64,
        /// How many members.
        members: usize,
        /// Bytes used on each member; all alike, as lockstep wants it.
        member_size_bytes: u64,
    },
}

impl Placement {
    /// Bytes from one end of the stream to the other.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Placement::Span { sizes_bytes } => sizes_bytes
                .iter()
                .fold(0, |sum, size| sum.saturating_add(*size)),
            Placement::Stripe {
                members,
                member_size_bytes,
                ..
            } => member_size_bytes.saturating_mul(*members as u64),
        }
    }

    /// Appends the pieces where `length_bytes` at `position_bytes` of the stream are, in stream
    /// order; a part that is contiguous on a member is one piece, as a RAID driver would merge it.
    ///
    /// # Panics
    /// Panics if the range reaches past the end of the stream.
    pub fn pieces(&self, position_bytes: u64, length_bytes: u64, pieces: &mut Vec<RecordPiece>) {
        let end = position_bytes
            .checked_add(length_bytes)
            .expect("a range of a stream");
        assert!(end <= self.size_bytes(), "a record lies within its stream");
        match self {
            Placement::Span { sizes_bytes } => {
                span(sizes_bytes, position_bytes, length_bytes, pieces);
            }
            Placement::Stripe {
                chunk_bytes,
                members,
                ..
            } => {
                stripe(*chunk_bytes, *members, position_bytes, length_bytes, pieces);
            }
        }
    }
}

fn span(sizes: &[u64], mut position: u64, mut length: u64, pieces: &mut Vec<RecordPiece>) {
    for (member, size) in sizes.iter().enumerate() {
        if position >= *size {
            position -= size;
            continue;
        }
        let here = length.min(size - position);
        pieces.push(RecordPiece {
            member,
            offset_bytes: position,
            length_bytes: here,
        });
        length -= here;
        position = 0;
        if length == 0 {
            return;
        }
    }
}

fn stripe(chunk: u64, members: usize, position: u64, length: u64, pieces: &mut Vec<RecordPiece>) {
    let first = pieces.len();
    let mut done = 0;
    while done < length {
        let at = position + done;
        let (number, within) = (at / chunk, at % chunk);
        let member = (number % members as u64) as usize;
        let offset_bytes = number / members as u64 * chunk + within;
        let here = (chunk - within).min(length - done);
        let earlier = pieces[first..].iter_mut().find(|piece| {
            piece.member == member && piece.offset_bytes + piece.length_bytes == offset_bytes
        });
        match earlier {
            Some(piece) => piece.length_bytes += here,
            None => pieces.push(RecordPiece {
                member,
                offset_bytes,
                length_bytes: here,
            }),
        }
        done += here;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(placement: &Placement, position: u64, length: u64) -> Vec<(usize, u64, u64)> {
        let mut pieces = Vec::new();
        placement.pieces(position, length, &mut pieces);
        pieces
            .iter()
            .map(|piece| (piece.member, piece.offset_bytes, piece.length_bytes))
            .collect()
    }

    #[test]
    fn turns_go_round_without_those_that_have_left() {
        let mut turns = Turns::new(vec![2, 0, 1]);
        let next = |turns: &mut Turns| {
            let holder = turns.holder();
            turns.pass();
            holder
        };
        let seen: Vec<_> = (0..4).map(|_| next(&mut turns)).collect();
        assert_eq!(seen, [Some(2), Some(0), Some(1), Some(2)]);
        turns.leave();
        assert!(!turns.has(0) && turns.has(1));
        let seen: Vec<_> = (0..3).map(|_| next(&mut turns)).collect();
        assert_eq!(seen, [Some(1), Some(2), Some(1)]);
        turns.leave();
        turns.leave();
        assert_eq!(next(&mut turns), None);
    }

    #[test]
    fn the_last_in_the_order_may_leave_too() {
        let mut turns = Turns::new(vec![0, 1]);
        turns.pass();
        turns.leave();
        assert_eq!(turns.holder(), Some(0));
    }

    #[test]
    fn a_stripe_goes_over_the_members_in_order() {
        let stripe = Placement::Stripe {
            chunk_bytes: 4,
            members: 3,
            member_size_bytes: 40,
        };
        assert_eq!(pieces(&stripe, 0, 4), [(0, 0, 4)]);
        assert_eq!(pieces(&stripe, 4, 4), [(1, 0, 4)]);
        assert_eq!(pieces(&stripe, 12, 4), [(0, 4, 4)]);
        assert_eq!(pieces(&stripe, 2, 4), [(0, 2, 2), (1, 0, 2)]);
    }

    #[test]
    fn a_record_of_many_chunks_is_one_piece_per_member() {
        let stripe = Placement::Stripe {
            chunk_bytes: 4,
            members: 2,
            member_size_bytes: 40,
        };
        assert_eq!(pieces(&stripe, 0, 32), [(0, 0, 16), (1, 0, 16)]);
    }

    #[test]
    fn a_span_fills_one_member_after_the_other() {
        let span = Placement::Span {
            sizes_bytes: vec![10, 5, 20],
        };
        assert_eq!(span.size_bytes(), 35);
        assert_eq!(pieces(&span, 8, 10), [(0, 8, 2), (1, 0, 5), (2, 0, 3)]);
        assert_eq!(pieces(&span, 15, 20), [(2, 0, 20)]);
    }

    proptest! {
        #[test]
        fn a_stripe_covers_every_byte_of_every_member_once(
            chunk in 1u64..9, members in 1usize..6, rows in 1u64..6, record in 1u64..40,
        ) {
            let member_size_bytes = chunk * rows;
            let stripe =
                Placement::Stripe { chunk_bytes: chunk, members, member_size_bytes };
            let mut seen = vec![vec![0u8; member_size_bytes as usize]; members];
            let mut position = 0;
            while position < stripe.size_bytes() {
                let length = record.min(stripe.size_bytes() - position);
                for (member, offset, length) in pieces(&stripe, position, length) {
                    for at in offset..offset + length {
                        seen[member][at as usize] += 1;
                    }
                }
                position += length;
            }
            prop_assert!(seen.iter().flatten().all(|count| *count == 1));
        }
    }
}
