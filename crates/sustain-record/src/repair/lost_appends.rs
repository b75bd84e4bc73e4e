//! What a lost member had that cannot be computed. Pure.

use super::append::is_filler;
use crate::format::{Descriptor, GroupEntry};
use crate::rebuilt::Overwritten;

/// Counts the appends that are lost. In a ring that has gone round, what lies before the first one
/// that is left of the member counts as overwritten, as it does for readers.
#[derive(Debug, Default)]
pub(super) struct LostAppends {
    appends: u64,
    bytes: u64,
    /// By sequence and length, those that were found before it is known with which append the
    /// member begins: what is computed is a slot ahead of what is written.
    in_front: Vec<(u64, u32)>,
    /// Whether that is known.
    has_begun: bool,
}

impl LostAppends {
    /// Notes an append that cannot be computed.
    pub(super) fn note(&mut self, entry: &GroupEntry, overwritten: &Overwritten) {
        let may_be_passed = overwritten.is_any() && !overwritten.is_kept(entry.sequence);
        match may_be_passed && !self.has_begun {
            true => self.in_front.push((entry.sequence, entry.append_bytes)),
            false => self.count(entry.append_bytes),
        }
    }

    /// Notes an append that is on the member now, in the order of its slots.
    pub(super) fn pass(&mut self, append: &Descriptor, overwritten: &Overwritten) {
        if self.has_begun || is_filler(append) || overwritten.is_kept(append.sequence) {
            return;
        }
        self.has_begun = true;
        for (sequence, append_bytes) in std::mem::take(&mut self.in_front) {
            if sequence > append.sequence {
                self.count(append_bytes);
            }
        }
    }

    /// How many appends are lost, and their bytes. Where nothing is left of the member, nothing
    /// tells that the ring had passed any.
    pub(super) fn total(&self) -> (u64, u64) {
        let bytes = self.in_front.iter().map(|(_, bytes)| u64::from(*bytes));
        let appends = self.appends + self.in_front.len() as u64;
        (appends, self.bytes + bytes.sum::<u64>())
    }

    fn count(&mut self, append_bytes: u32) {
        self.appends += 1;
        self.bytes += u64::from(append_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::AppendPlace;
    use crate::opening::tests::image::Image;

    /// The total of what is lost with these sequences, on a member that begins with 500.
    fn total(overwritten: &Overwritten, sequences: &[u64]) -> (u64, u64) {
        let mut lost = LostAppends::default();
        for sequence in sequences {
            let entry = GroupEntry {
                member: 0,
                place: AppendPlace::of_slot(0),
                append_bytes: 1 << 20,
                sequence: *sequence,
                descriptor_crc: 0,
            };
            lost.note(&entry, overwritten);
        }
        let mut image = Image::new(&[1 << 20], 64 << 10);
        image.begin(1);
        let first = Descriptor {
            sequence: 500,
            ..image.put(0, 0, &[0x5A; 100])
        };
        lost.pass(&first, overwritten);
        lost.total()
    }

    #[test]
    fn what_a_ring_may_have_passed_is_not_counted() {
        let mut overwritten = Overwritten::default();
        assert_eq!(total(&overwritten, &[400, 600]), (2, 2 << 20));
        overwritten.note(1, 0, 300);
        assert_eq!(total(&overwritten, &[400, 600]), (1, 1 << 20));
        overwritten.note_kept(1, 390..410);
        assert_eq!(total(&overwritten, &[400, 600]), (2, 2 << 20));
    }
}
