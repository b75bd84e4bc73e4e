//! What is found of groups on the members that are there, as one look through them tells. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::format::{AppendPlace, Descriptor, Geometry, GroupEntry, GroupList};

/// The members of a store, in the order of their table.
pub(crate) struct StoreShape<'a> {
    /// How each is divided into slots; none if that is not told.
    pub(crate) geometries: Vec<Option<Geometry>>,
    /// Those that are there.
    pub(crate) there: Vec<Option<MemberThere<'a>>>,
    /// Those that were retired, or are to be.
    pub(crate) retired: BTreeSet<usize>,
}

/// A member that is there.
#[derive(Clone, Copy)]
pub(crate) struct MemberThere<'a> {
    /// Its index among those.
    pub(crate) source: usize,
    /// The serial that each of its slots has, also where its first block is damaged.
    pub(crate) serials: &'a [Option<u64>],
    /// The serials of the slots of which nothing is left.
    pub(crate) gone: &'a BTreeSet<u64>,
    /// The appends of data that a power cut has left half written.
    pub(crate) torn: &'a BTreeSet<AppendPlace>,
    /// Its last append.
    pub(crate) last: Option<AppendPlace>,
    /// The sequence of that; 0 if it is in no order with what lies around it.
    pub(crate) last_sequence: u64,
    /// Whether its superblock is older than that of another member.
    pub(crate) is_old: bool,
}

impl MemberThere<'_> {
    /// Whether the member was given an append behind its end, and failed before it had it, or was
    /// put back to an earlier state.
    ///
    /// On a member, appends that came later lie farther on. So what lies behind the last append and
    /// came before it was taken by a crash, and a later recording has begun in its place, with a
    /// start or parity, of which no list tells.
    pub(super) fn lacks_behind_end(&self, entry: &GroupEntry) -> bool {
        Some(entry.place) > self.last && entry.sequence > self.last_sequence
    }
}

/// An append of parity that was found, with its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundParity {
    /// The sequence of the append that joined its group first.
    pub(crate) group: u64,
    /// The number of its recording.
    pub(crate) recording: u32,
    /// Its own sequence.
    pub(crate) sequence: u64,
    /// Which parity of the group it is, from 0.
    pub(crate) number: usize,
    /// The member that has it, among those that are there.
    pub(crate) source: usize,
    /// Where the sum begins there.
    pub(crate) payload_offset_bytes: u64,
    pub(crate) payload_bytes: u32,
    pub(crate) list: GroupList,
}

/// The group of an append of data that joined this one. If it joined none, which is 0, it is a
/// group of its own, of which a repair makes parity.
pub(crate) fn group_of_data(joined: u64, sequence: u64) -> u64 {
    match joined {
        0 => sequence,
        joined => joined,
    }
}

/// An append of data that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundData {
    /// The sequence of the append that joined its group first; 0 if it joined none.
    pub(crate) group: u64,
    /// The member that has it, among those that are there.
    pub(crate) source: usize,
    /// The number of its recording.
    pub(crate) recording: u32,
    pub(crate) place: AppendPlace,
    pub(crate) append_bytes: u32,
    pub(crate) sequence: u64,
    pub(crate) descriptor_crc: u32,
}

/// A start or an end mark that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundMark {
    /// The member that has it, among those that are there.
    pub(crate) source: usize,
    pub(crate) descriptor: Descriptor,
}

/// An append of data, or a sum, that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupPart {
    /// Position of the data, or number of the parity.
    pub(crate) number: usize,
    /// The member that has it, among those that are there.
    pub(crate) source: usize,
    /// Where it begins there.
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u32,
}

impl GroupPart {
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset_bytes..self.offset_bytes + u64::from(self.length_bytes)
    }
}
