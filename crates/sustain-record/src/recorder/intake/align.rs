//! Frames that begin at block boundaries of members: an append ends where a frame begins, and the
//! payload of the next one begins behind its descriptor, which is a block.

use super::{Intake, PACKET_BYTES_MAX};
use crate::format::MarkKind;
use crate::source::framing::FrameMark;

/// Bytes that lie in one append, with the marks in them, whose offsets count from the first.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    count: usize,
    marks: Vec<FrameMark>,
}

impl Piece {
    fn begins_frame(&self) -> bool {
        let first = self.marks.first();
        first.is_some_and(|mark| mark.offset == 0 && mark.kind.is_begin())
    }
}

impl Intake {
    /// The most bytes to be read at once. What is left of a frame is read by itself where it is
    /// known, so that the next frame is read to where it is written from. A packet is never cut.
    pub(super) fn read_bytes_max(&self, at_most: usize) -> usize {
        let left = self
            .framer
            .frame_left_bytes()
            .filter(|_| self.setup.align_frames);
        left.map_or(at_most, |left| at_most.min(left.max(PACKET_BYTES_MAX)))
    }

    /// Takes the first `count` bytes of the spare memory with the marks in them. Frames that are to
    /// be aligned begin an append each.
    pub(super) fn enter(&mut self, count: usize, found: &[FrameMark]) {
        if !self.setup.align_frames || !self.is_framed || count == 0 {
            return self.enter_here(count, found);
        }
        let ends_frame = found.last().is_some_and(|mark| mark.offset == count);
        let pieces = pieces(count, found);
        let filling = self.filling.as_ref();
        let is_behind_others = filling.is_some_and(|filling| !filling.is_empty());
        let stays_bytes = match is_behind_others && pieces[0].begins_frame() {
            true => 0,
            false => pieces[0].count,
        };
        // Whatever goes into other appends is copied, once.
        let moved = filling.map(|filling| filling.behind(count)[stays_bytes..].to_vec());
        let moved = moved.unwrap_or_default();
        let mut at = 0;
        for piece in pieces {
            if at + piece.count <= stays_bytes {
                self.enter_here(piece.count, &piece.marks);
            } else if self.dropping.is_some() {
                // Once something is lost, so is the rest: frames are kept again from the next read
                // on.
                self.lose_piece(&piece);
            } else {
                let start = at - stays_bytes;
                self.enter_moved(&moved[start..start + piece.count], &piece);
            }
            at += piece.count;
        }
        if ends_frame {
            self.commit_filling();
        }
    }

    /// Takes bytes into an append of their own.
    fn enter_moved(&mut self, bytes: &[u8], piece: &Piece) {
        self.commit_filling();
        if self.has_filling()
            && let Some(next) = &mut self.filling
        {
            next.spare_mut()[..bytes.len()].copy_from_slice(bytes);
        }
        self.enter_here(piece.count, &piece.marks);
    }

    fn commit_filling(&mut self) {
        if let Some(filling) = self.filling.take_if(|filling| !filling.is_empty()) {
            self.writer.commit(filling);
        }
    }

    fn lose_piece(&mut self, piece: &Piece) {
        let begins = piece.marks.iter().filter(|mark| mark.kind.is_begin());
        let frames = begins.count() as u64;
        self.lose_frames(piece.count as u64, frames, self.reason_of_loss());
    }

    /// How many of `count` bytes of a source that makes its own belong into the append that is
    /// open: those of one frame, if frames are to be aligned. Takes away the marks behind.
    pub(super) fn made_before_frame(&self, count: usize, found: &mut Vec<FrameMark>) -> usize {
        let is_next = |mark: &FrameMark| mark.offset > 0 && mark.kind.is_begin();
        let index = found.iter().position(is_next);
        let Some(index) = index.filter(|_| self.setup.align_frames) else {
            return count;
        };
        let at = found[index].offset;
        found.truncate(index + 1);
        end_there(found);
        at
    }
}

/// Of the last mark, only what ends a frame is left.
fn end_there(marks: &mut Vec<FrameMark>) {
    match marks.last_mut() {
        Some(last) if last.kind == MarkKind::EndAndBegin => last.kind = MarkKind::End,
        _ => {
            marks.pop();
        }
    }
}

/// Divides bytes where frames begin. None of the pieces is empty.
fn pieces(count: usize, found: &[FrameMark]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut start, mut marks) = (0, Vec::new());
    for mark in found {
        let mut kind = mark.kind;
        if kind.is_begin() && mark.offset > start && mark.offset < count {
            if kind == MarkKind::EndAndBegin {
                marks.push(FrameMark {
                    offset: mark.offset - start,
                    kind: MarkKind::End,
                });
            }
            pieces.push(Piece {
                count: mark.offset - start,
                marks: std::mem::take(&mut marks),
            });
            start = mark.offset;
            kind = MarkKind::Begin;
        }
        marks.push(FrameMark {
            offset: mark.offset - start,
            kind,
        });
    }
    pieces.push(Piece {
        count: count - start,
        marks,
    });
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(places: &[(usize, MarkKind)]) -> Vec<FrameMark> {
        let places = places.iter();
        places
            .map(|&(offset, kind)| FrameMark { offset, kind })
            .collect()
    }

    fn divided(count: usize, found: &[(usize, MarkKind)]) -> Vec<(usize, Vec<FrameMark>)> {
        let pieces = pieces(count, &marks(found)).into_iter();
        pieces.map(|piece| (piece.count, piece.marks)).collect()
    }

    #[test]
    fn bytes_are_divided_where_frames_begin_and_nowhere_else() {
        use MarkKind::{Begin, End, EndAndBegin};
        assert_eq!(divided(9, &[]), [(9, marks(&[]))]);
        assert_eq!(
            divided(9, &[(0, Begin), (9, End)]),
            [(9, marks(&[(0, Begin), (9, End)]))]
        );
        assert_eq!(
            divided(
                9,
                &[(2, EndAndBegin), (5, End), (7, Begin), (8, EndAndBegin)]
            ),
            [
                (2, marks(&[(2, End)])),
                (5, marks(&[(0, Begin), (3, End)])),
                (1, marks(&[(0, Begin), (1, End)])),
                (1, marks(&[(0, Begin)])),
            ]
        );
        // A begin behind the last byte belongs to what comes next.
        assert_eq!(
            divided(4, &[(0, EndAndBegin), (4, EndAndBegin)]),
            [(4, marks(&[(0, EndAndBegin), (4, EndAndBegin)]))]
        );
    }
}
