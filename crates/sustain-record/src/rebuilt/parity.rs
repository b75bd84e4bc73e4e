//! One append of parity made again from the data of its group, where nothing of that is believed
//! before its checksums were right. Reading is the caller's.

use std::ops::{Deref, Range};

use sustain_parity::Sums;

use super::append::{WantedAppend, is_whole};
use super::groups::FoundGroup;
use super::lacking::LackingParity;
use crate::format::{BLOCK_BYTES, Descriptor, GroupList};
use crate::walk::AppendIdentity;

/// An append of parity that is to be made again.
pub(crate) struct WantedParity<'a> {
    pub(crate) lacking: &'a LackingParity,
    /// The group, if other parity of it is there.
    pub(crate) group: Option<&'a FoundGroup>,
    /// Of each member in the table, the identity that descriptors there carry, if it is known.
    pub(crate) identities: &'a [Option<AppendIdentity>],
}

/// An append of parity without its descriptor.
pub(crate) struct MadeParity {
    pub(crate) list: GroupList,
    pub(crate) sum: Vec<u8>,
    /// The descriptor of the newest append of data in it; of a copy, its own one.
    pub(crate) newest: Descriptor,
}

impl WantedParity<'_> {
    /// Makes it; none if some of its data can neither be read nor computed. `read` is given a
    /// member among those that are there, and a range there, and returns none for what cannot be
    /// read.
    pub(crate) fn make<B: Deref<Target = [u8]>, E>(
        &self,
        mut read: impl FnMut(usize, Range<u64>) -> Result<Option<B>, E>,
    ) -> Result<Option<MadeParity>, E> {
        let mut list = GroupList {
            parities: self.lacking.list.parities,
            entries: Vec::new(),
        };
        let mut all = Vec::new();
        for (position, entry) in self.lacking.list.entries.iter().enumerate() {
            let there = match self.lacking.data[position] {
                Some(part) => match (read(part.source, part.range())?, self.group) {
                    // It may be whole, and a list without it would leave it out for good.
                    (None, None) => return Ok(None),
                    (there, _) => there,
                },
                None => None,
            };
            let there = there.filter(|bytes| is_whole(self.identities, entry, bytes));
            let bytes = match (there, self.group) {
                (Some(bytes), _) => bytes.to_vec(),
                (None, Some(group)) => {
                    let wanted = WantedAppend {
                        group_id: self.lacking.group,
                        group,
                        position,
                        identities: self.identities,
                    };
                    match wanted.compute(&mut read)? {
                        Some(bytes) => bytes,
                        None => return Ok(None),
                    }
                }
                // A power cut has left it half written, before the group was closed.
                (None, None) => continue,
            };
            list.entries.push(*entry);
            all.push(bytes);
        }
        Ok(self.sum(list, &all))
    }

    fn sum(&self, list: GroupList, all: &[Vec<u8>]) -> Option<MadeParity> {
        let numbers = [self.lacking.number];
        let memory = vec![vec![0; list.parity_bytes() as usize]];
        let mut sums = Sums::empty(&numbers, memory).ok()?;
        for (position, bytes) in all.iter().enumerate() {
            sums.add(position, 0, bytes).ok()?;
        }
        let entries = list.entries.iter().enumerate();
        let (newest, _) = entries.max_by_key(|(_, entry)| entry.sequence)?;
        let (newest, _) = Descriptor::decode(&all[newest][..BLOCK_BYTES]).ok()?;
        Some(MadeParity {
            list,
            sum: sums.into_memory().pop()?,
            newest,
        })
    }
}
