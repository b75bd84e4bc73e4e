//! The list in an append of parity: the appends of data over which the parity is. It lies where
//! other appends have their frame marks.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::geometry::AppendPlace;
use super::{BLOCK_BYTES, COPIES_MAX, MEMBERS_MAX, PARITIES_MAX, SLOT_BYTES_MAX};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct ListBytes {
    entry_count: U16,
    parity_count: U16,
    reserved: [u8; 4],
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct EntryBytes {
    member: U16,
    reserved: [u8; 2],
    append_bytes: U32,
    slot_serial: U64,
    slot_offset: U32,
    descriptor_crc: U32,
    sequence: U64,
}

const _: () = assert!(size_of::<ListBytes>() == 8);
const _: () = assert!(size_of::<EntryBytes>() == 32);

/// An append of data of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupEntry {
    /// The place of its member in the table of members.
    pub member: u16,
    /// Where it lies there.
    pub place: AppendPlace,
    /// Its length; a multiple of a block.
    pub append_bytes: u32,
    /// Its sequence.
    pub sequence: u64,
    /// The checksum that its descriptor carries. That covers all others of the append.
    pub descriptor_crc: u32,
}

/// The appends of data of a group, in the order in which they joined it. The place in this list
/// decides by what an append is multiplied in each parity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupList {
    /// How many appends of parity the group was to have.
    pub parities: u16,
    /// At least one, on members that differ.
    pub entries: Vec<GroupEntry>,
}

/// Why bytes are no list of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the list of a group contradicts itself: {0}")]
pub struct GroupListError(&'static str);

impl GroupList {
    /// The most appends of data of a group: so many that the list fits a block beside a seal.
    pub const ENTRIES_MAX: usize = MEMBERS_MAX - PARITIES_MAX - 1;

    /// The length of a list of so many appends, in bytes.
    pub const fn bytes_of(entries: usize) -> usize {
        size_of::<ListBytes>() + entries * size_of::<EntryBytes>()
    }

    /// Encodes the list.
    pub fn encode(&self) -> Vec<u8> {
        let list = ListBytes {
            entry_count: (self.entries.len() as u16).into(),
            parity_count: self.parities.into(),
            reserved: [0; 4],
        };
        let mut bytes = list.as_bytes().to_vec();
        for entry in &self.entries {
            let entry = EntryBytes {
                member: entry.member.into(),
                reserved: [0; 2],
                append_bytes: entry.append_bytes.into(),
                slot_serial: entry.place.slot_serial.into(),
                slot_offset: entry.place.slot_offset_bytes.into(),
                descriptor_crc: entry.descriptor_crc.into(),
                sequence: entry.sequence.into(),
            };
            bytes.extend_from_slice(entry.as_bytes());
        }
        bytes
    }

    /// Reads a list. What is returned is consistent in itself: its places and lengths are possible,
    /// and no two appends lie on one member.
    ///
    /// # Errors
    /// If the bytes are no such list.
    pub fn decode(bytes: &[u8]) -> Result<GroupList, GroupListError> {
        let (list, rest) =
            ListBytes::ref_from_prefix(bytes).map_err(|_| GroupListError("it is too short"))?;
        let count = usize::from(list.entry_count.get());
        let (entries, rest) = <[EntryBytes]>::ref_from_prefix_with_elems(rest, count)
            .map_err(|_| GroupListError("it is too short"))?;
        let list = GroupList {
            parities: list.parity_count.get(),
            entries: entries.iter().map(GroupEntry::of_bytes).collect(),
        };
        match rest.is_empty() {
            true => list.check().map(|()| list),
            false => Err(GroupListError("it is too long")),
        }
    }

    /// The length of the parity: that of the longest of its appends.
    pub fn parity_bytes(&self) -> u32 {
        let lengths = self.entries.iter().map(|entry| entry.append_bytes);
        lengths.max().unwrap_or(0)
    }

    fn check(&self) -> Result<(), GroupListError> {
        let is_possible = |entry: &GroupEntry| {
            let end_bytes = entry
                .place
                .slot_offset_bytes
                .checked_add(entry.append_bytes);
            entry.place.is_valid()
                && usize::from(entry.member) < MEMBERS_MAX
                && entry.append_bytes >= 2 * BLOCK_BYTES as u32
                && entry.append_bytes.is_multiple_of(BLOCK_BYTES as u32)
                && end_bytes.is_some_and(|end| end <= SLOT_BYTES_MAX)
        };
        let mut members: Vec<u16> = self.entries.iter().map(|entry| entry.member).collect();
        members.sort_unstable();
        // Every parity of a single append is a copy of it.
        let parities_max = match self.entries.len() {
            1 => COPIES_MAX,
            _ => PARITIES_MAX,
        };
        let checks = [
            (
                (1..=parities_max).contains(&usize::from(self.parities)),
                "there are no so many parities",
            ),
            (
                (1..=GroupList::ENTRIES_MAX).contains(&self.entries.len()),
                "it has too few or too many appends",
            ),
            (
                self.entries.iter().all(is_possible),
                "one of its appends lies nowhere",
            ),
            (
                members.windows(2).all(|pair| pair[0] != pair[1]),
                "two of its appends lie on one member",
            ),
        ];
        checks
            .into_iter()
            .try_for_each(|(is_so, what)| is_so.then_some(()).ok_or(GroupListError(what)))
    }
}

impl GroupEntry {
    fn of_bytes(bytes: &EntryBytes) -> GroupEntry {
        GroupEntry {
            member: bytes.member.get(),
            place: AppendPlace {
                slot_serial: bytes.slot_serial.get(),
                slot_offset_bytes: bytes.slot_offset.get(),
            },
            append_bytes: bytes.append_bytes.get(),
            sequence: bytes.sequence.get(),
            descriptor_crc: bytes.descriptor_crc.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::SEAL_BYTES;

    fn entry(member: u16) -> GroupEntry {
        GroupEntry {
            member,
            place: AppendPlace {
                slot_serial: 7 + u64::from(member),
                slot_offset_bytes: 8192,
            },
            append_bytes: 4096 * (2 + u32::from(member)),
            sequence: 1 << 20 | u64::from(member),
            descriptor_crc: 0xC0FF_EE00 + u32::from(member),
        }
    }

    fn list(members: impl IntoIterator<Item = u16>) -> GroupList {
        GroupList {
            parities: 2,
            entries: members.into_iter().map(entry).collect(),
        }
    }

    #[test]
    fn a_list_comes_back_and_the_largest_fits_beside_a_seal() {
        for list in [
            list([3]),
            list([5, 0, 2]),
            list(0..GroupList::ENTRIES_MAX as u16),
        ] {
            let bytes = list.encode();
            assert_eq!(bytes.len(), GroupList::bytes_of(list.entries.len()));
            assert!(bytes.len() + SEAL_BYTES <= BLOCK_BYTES);
            assert_eq!(GroupList::decode(&bytes), Ok(list));
        }
        assert_eq!(list([0, 4, 1]).parity_bytes(), 4096 * 6);
    }

    #[test]
    fn the_fields_lie_where_the_format_says() {
        let bytes = list([0x0102]).encode();
        assert_eq!(bytes[..8], [1, 0, 2, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[8..12], [2, 1, 0, 0]);
        assert_eq!(bytes[16], 9, "the serial of the slot: 7 + 0x0102");
        assert_eq!(bytes[24..28], 8192_u32.to_le_bytes());
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let refused = |list: &GroupList| GroupList::decode(&list.encode()).is_err();
        assert!(refused(&list([])), "no appends");
        assert!(refused(&list([4, 2, 4])), "two on one member");
        assert!(refused(&list([MEMBERS_MAX as u16])), "no such member");
        assert!(refused(&list(0..=GroupList::ENTRIES_MAX as u16)));
        let mut changed = list([1]);
        changed.parities = 0;
        assert!(refused(&changed));
        changed.parities = COPIES_MAX as u16;
        assert!(!refused(&changed), "copies of one append");
        changed.parities += 1;
        assert!(refused(&changed));
        let mut changed = list([1, 2]);
        changed.parities = 1 + PARITIES_MAX as u16;
        assert!(refused(&changed));
        for append_bytes in [0, 4096, 4097 * 2, SLOT_BYTES_MAX] {
            let mut changed = list([1]);
            changed.entries[0].append_bytes = append_bytes;
            assert!(refused(&changed), "{append_bytes} bytes behind offset 8192");
        }
        let mut longer = list([1]).encode();
        longer.push(0);
        assert!(GroupList::decode(&longer).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_list_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(list) = GroupList::decode(&bytes) {
                // Reserved bytes are ignored.
                prop_assert_eq!(list.encode().len(), bytes.len());
            }
        }
    }
}
