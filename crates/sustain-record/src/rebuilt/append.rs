//! One append computed from what is left of its group, where nothing of that is believed before its
//! checksums were right: a second damaged append costs a further parity, and never gives wrong
//! bytes. Reading is the caller's.

use std::ops::{Deref, Range};

use sustain_parity::{Recovery, Sums};

use super::found::GroupPart;
use super::groups::FoundGroup;
use crate::format::{
    BLOCK_BYTES, Descriptor, GroupEntry, is_filled_with_zeros, is_sealed, marks_are_whole,
    marks_range, payload_range, verify_payload,
};
use crate::walk::{AppendIdentity, Head};

/// An append of data that is to be computed.
pub(crate) struct WantedAppend<'a> {
    /// The sequence of the append that joined its group first.
    pub(crate) group_id: u64,
    pub(crate) group: &'a FoundGroup,
    /// Its position in the group.
    pub(crate) position: usize,
    /// Of each member in the table, the identity that descriptors there carry, if it is known.
    pub(crate) identities: &'a [Option<AppendIdentity>],
}

impl WantedAppend<'_> {
    /// What the list of the group says of it.
    pub(crate) fn entry(&self) -> &GroupEntry {
        &self.group.list.entries[self.position]
    }

    /// Whether these bytes are it, undamaged.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        is_whole(self.identities, self.entry(), bytes)
    }

    /// Computes it; none if too much of its group cannot be read or is damaged. `read` is given a
    /// member among those that are there, and a range there, and returns none for what cannot be
    /// read.
    pub(crate) fn compute<B: Deref<Target = [u8]>, E>(
        &self,
        mut read: impl FnMut(usize, Range<u64>) -> Result<Option<B>, E>,
    ) -> Result<Option<Vec<u8>>, E> {
        let mut lost = vec![self.position];
        let mut data = Vec::new();
        for (position, part) in self.group.data.iter().enumerate() {
            if position == self.position {
                continue;
            }
            let entry = &self.group.list.entries[position];
            let bytes = match part {
                Some(part) => read(part.source, part.range())?,
                None => None,
            };
            match bytes.filter(|bytes| is_whole(self.identities, entry, bytes)) {
                Some(bytes) => data.push((position, bytes)),
                None => lost.push(position),
            }
            if lost.len() > self.group.parities.len() {
                return Ok(None);
            }
        }
        let mut numbers = Vec::new();
        let mut sums = Vec::new();
        for parity in self.group.parities.iter() {
            if numbers.len() == lost.len() {
                break;
            }
            // The sum is the payload, and the descriptor before it has its checksums.
            let sum = parity.range();
            let whole = read(parity.source, sum.start - BLOCK_BYTES as u64..sum.end)?;
            if let Some(bytes) = whole.filter(|bytes| self.is_whole_parity(parity, bytes)) {
                numbers.push(parity.number);
                sums.push(bytes[BLOCK_BYTES..].to_vec());
            }
        }
        if numbers.len() < lost.len() {
            return Ok(None);
        }
        Ok(self.computed_from(&lost, &numbers, sums, &data))
    }

    /// Computes its descriptor alone, from the first blocks of the others but for these positions;
    /// none if too many of these cannot be read, or what comes out is not the descriptor that the
    /// group names. `read` is as that of [`WantedAppend::compute`].
    pub(crate) fn compute_descriptor<B: Deref<Target = [u8]>, E>(
        &self,
        lacking: &[usize],
        mut read: impl FnMut(usize, Range<u64>) -> Result<Option<B>, E>,
    ) -> Result<Option<Descriptor>, E> {
        let mut first_block = |part: &GroupPart| {
            let range = part.offset_bytes..part.offset_bytes + BLOCK_BYTES as u64;
            read(part.source, range)
        };
        let mut lost = vec![self.position];
        let mut data = Vec::new();
        let others = self.group.data.iter().enumerate();
        for (position, part) in others.filter(|(position, _)| *position != self.position) {
            let part = part.as_ref().filter(|_| !lacking.contains(&position));
            match part.map(&mut first_block).transpose()?.flatten() {
                Some(block) => data.push((position, block)),
                None => lost.push(position),
            }
        }
        let (mut numbers, mut sums) = (Vec::new(), Vec::new());
        for parity in &self.group.parities {
            if numbers.len() == lost.len() {
                break;
            }
            if let Some(block) = first_block(parity)? {
                numbers.push(parity.number);
                sums.push(block.to_vec());
            }
        }
        if numbers.len() < lost.len() {
            return Ok(None);
        }
        let block = added_up(&lost, &numbers, sums, &data);
        Ok(block.and_then(|block| self.descriptor_in(&block)))
    }

    /// Its descriptor, if this is its first block.
    fn descriptor_in(&self, block: &[u8]) -> Option<Descriptor> {
        let entry = self.entry();
        let identity = self.identities.get(usize::from(entry.member))?;
        let head = identity.as_ref()?.head_at(entry.place, block)?;
        let Head::Append(descriptor, crc) = head else {
            return None;
        };
        (crc == entry.descriptor_crc).then_some(*descriptor)
    }

    fn computed_from<B: Deref<Target = [u8]>>(
        &self,
        lost: &[usize],
        numbers: &[usize],
        sums: Vec<Vec<u8>>,
        data: &[(usize, B)],
    ) -> Option<Vec<u8>> {
        let mut append = added_up(lost, numbers, sums, data)?;
        append.truncate(self.entry().append_bytes as usize);
        is_whole(self.identities, self.entry(), &append).then_some(append)
    }

    /// Whether these bytes are the descriptor and the sum of this parity, undamaged.
    fn is_whole_parity(&self, parity: &GroupPart, bytes: &[u8]) -> bool {
        let mut identities = self.identities.iter().flatten();
        let head = identities.find_map(|identity| identity.head(bytes));
        let Some(Head::Append(descriptor, _)) = head else {
            return false;
        };
        descriptor.parity_group == self.group_id
            && usize::from(descriptor.parity_role) == parity.number + 1
            && bytes
                .get(payload_range(&descriptor))
                .is_some_and(|sum| verify_payload(&descriptor, sum).is_empty())
    }
}

/// Adds the data, by positions, to the sums with these numbers, and computes the first of what is
/// lost. All sums are equally long, and no data is longer.
fn added_up<B: Deref<Target = [u8]>>(
    lost: &[usize],
    numbers: &[usize],
    sums: Vec<Vec<u8>>,
    data: &[(usize, B)],
) -> Option<Vec<u8>> {
    let length = sums.first()?.len();
    let mut sums = Sums::holding(numbers, sums, length).ok()?;
    for (position, bytes) in data {
        sums.add(*position, 0, bytes).ok()?;
    }
    let computed = Recovery::of(lost, numbers).ok()?.apply(sums).ok()?;
    computed.into_iter().next()
}

/// Whether these bytes are the append that a list names, undamaged. `identities` are those of the
/// members in the table.
pub(crate) fn is_whole(
    identities: &[Option<AppendIdentity>],
    entry: &GroupEntry,
    bytes: &[u8],
) -> bool {
    let identity = identities.get(usize::from(entry.member));
    let head = identity.and_then(|identity| identity.as_ref()?.head_at(entry.place, bytes));
    let Some(Head::Append(descriptor, crc)) = head else {
        return false;
    };
    let within = |range: Range<usize>| bytes.get(range);
    crc == entry.descriptor_crc
        && descriptor.append_bytes as usize == bytes.len()
        && is_sealed(&descriptor, crc, bytes)
        && within(payload_range(&descriptor))
            .is_some_and(|payload| verify_payload(&descriptor, payload).is_empty())
        && within(marks_range(&descriptor)).is_some_and(|marks| marks_are_whole(&descriptor, marks))
        && is_filled_with_zeros(&descriptor, bytes)
}
