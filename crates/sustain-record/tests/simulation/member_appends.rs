//! Where the history finds the appends of a member, as numbers among all appends, so that a check
//! of one append need not look at all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sustain_record::format::AppendPlace;

/// The appends of one member.
#[derive(Debug, Default)]
pub struct MemberAppends {
    /// By slot on the medium: what is there, and some that is gone by now.
    in_slot: HashMap<u64, Vec<usize>>,
    /// By slot serial: what the ring was not seen to have passed.
    not_passed: BTreeMap<u64, Vec<usize>>,
    /// Of the last recording, by sequence and place.
    written: HashMap<(u64, AppendPlace), usize>,
    /// Of the last recording, the starts in the order of their submission.
    pub starts: Vec<usize>,
    /// Of the last recording, what is not durable.
    pub unflushed: BTreeSet<usize>,
    /// The bytes of what was completed of it.
    pub unflushed_bytes: u64,
    /// The newest slot that begins with a durable append of the last recording.
    pub newest_durable_head: u64,
    /// The slots that the last recording has begun.
    pub begun: BTreeSet<u64>,
}

impl MemberAppends {
    /// A recording begins.
    pub fn begin(&mut self) {
        *self = MemberAppends {
            in_slot: std::mem::take(&mut self.in_slot),
            not_passed: std::mem::take(&mut self.not_passed),
            ..MemberAppends::default()
        };
    }

    /// An append is submitted for the first time, to this slot on the medium.
    pub fn add(&mut self, index: usize, slot: u64, sequence: u64, place: AppendPlace) {
        self.in_slot.entry(slot).or_default().push(index);
        let of_serial = self.not_passed.entry(place.slot_serial).or_default();
        of_serial.push(index);
        self.written.insert((sequence, place), index);
        self.unflushed.insert(index);
    }

    /// The append that was submitted to this place before.
    pub fn at(&self, sequence: u64, place: AppendPlace) -> Option<usize> {
        self.written.get(&(sequence, place)).copied()
    }

    /// Takes what was passed, because its slot serial is this one or lies before it.
    pub fn take_passed(&mut self, serial: u64) -> Vec<usize> {
        let left = self.not_passed.split_off(&(serial + 1));
        let passed = std::mem::replace(&mut self.not_passed, left);
        passed.into_values().flatten().collect()
    }

    /// Takes what is in a slot on the medium.
    pub fn take_slot(&mut self, slot: u64) -> Vec<usize> {
        self.in_slot.remove(&slot).unwrap_or_default()
    }

    /// Gives back what stays in a slot.
    pub fn put_slot(&mut self, slot: u64, appends: Vec<usize>) {
        self.in_slot.insert(slot, appends);
    }
}
