//! Tries any bytes as the list of a group.

use std::collections::BTreeSet;

use sustain_record::format::GroupList;

/// Panics unless the answer is an error, or a list of appends on different members that is written
/// again the same.
pub fn attempt(bytes: &[u8]) {
    let Ok(list) = GroupList::decode(bytes) else {
        return;
    };
    assert_eq!(GroupList::bytes_of(list.entries.len()), bytes.len());
    assert!((1..=GroupList::ENTRIES_MAX).contains(&list.entries.len()));
    let members: BTreeSet<u16> = list.entries.iter().map(|entry| entry.member).collect();
    assert_eq!(members.len(), list.entries.len());
    assert!(list.parity_bytes() > 0);
    let again = GroupList::decode(&list.encode());
    assert_eq!(again.as_ref(), Ok(&list));
}
