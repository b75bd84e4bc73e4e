//! What there is to read on each member, and each read of it until it is done.

use std::collections::VecDeque;
use std::ops::Range;

use sustain_disk::buffer::Buffer;
use sustain_disk::error::IoFault;

use super::mend::ReadPiece;
use crate::format::{Geometry, SlotCourse};
use crate::reading::examine::Unreadable;

/// The slots to read on a member.
#[derive(Debug, Clone)]
pub struct MemberReads {
    /// The member's index in the store, by which messages name it.
    pub member: usize,
    /// Its name as typed.
    pub name: String,
    /// How it is divided into slots.
    pub geometry: Geometry,
    /// The order in which they are written: what pins leave out is not read.
    pub course: SlotCourse,
    /// Serials of the slots.
    pub slots: Range<u64>,
}

/// A member, and how far it is read.
pub(super) struct PumpedMember {
    pub(super) reads: MemberReads,
    /// The next slot to ask for.
    pub(super) next: u64,
    /// Reads in flight or done, in order: indices into `reads`.
    pub(super) order: VecDeque<usize>,
    pub(super) dead_reads: u32,
    pub(super) failed: Option<IoFault>,
}

/// A read of slots that lie one after the other.
pub(super) struct Read {
    pub(super) member: usize,
    pub(super) first_serial: u64,
    pub(super) offset_bytes: u64,
    pub(super) length: usize,
    pub(super) state: PumpState,
    pub(super) unreadable: Vec<Unreadable>,
}

/// How far a read is.
pub(super) enum PumpState {
    InFlight,
    /// The read is tried again in pieces: how many are still to come, and those that failed.
    Mending(Buffer, usize, Vec<ReadPiece>),
    Done(Buffer),
}

impl PumpedMember {
    /// Takes the next slots that lie one after the other on the member and fit one read. Returns
    /// the first serial and the number of slots.
    pub(super) fn take_run(&mut self, read_bytes: usize) -> Option<(u64, u64)> {
        let geometry = &self.reads.geometry;
        let slots_end = self.reads.slots.end;
        let course = &self.reads.course;
        self.next = course.at_or_after(self.next).unwrap_or(slots_end);
        let left = slots_end.saturating_sub(self.next);
        let to_lap = geometry.slot_count - self.next % geometry.slot_count;
        let fit = (read_bytes as u64 / u64::from(geometry.slot_bytes)).max(1);
        let most = left.min(to_lap).min(fit);
        let first = self.next;
        let follows = |count: &u64| course.after(first + count - 1) == Some(first + count);
        let count = match course.is_plain() || most == 0 {
            true => most,
            false => 1 + (1..most).take_while(follows).count() as u64,
        };
        self.next += count;
        (count > 0).then_some((first, count))
    }
}

impl Read {
    /// Notes that a part could not be read.
    pub(super) fn lose(&mut self, member: usize, range: Range<usize>, errno: Option<IoFault>) {
        let range = self.offset_bytes + range.start as u64..self.offset_bytes + range.end as u64;
        match self.unreadable.last_mut() {
            Some(last) if last.range.end == range.start && last.errno == errno => {
                last.range.end = range.end;
            }
            _ => self.unreadable.push(Unreadable {
                member,
                range,
                errno,
            }),
        }
    }
}
