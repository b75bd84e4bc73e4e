//! How much of a recording parity protects by now: whether all appends of each group are there.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use sustain_disk::units::Size;

use crate::format::{GroupList, Kind};
use crate::opening::Recording;
use crate::reading::part::Origin;

/// How a recording is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct VerifiedProtection {
    /// Appends of parity that each of its groups was to have.
    pub parities: u16,
    /// Bytes in groups of which every append is there and whole: any so many members may be lost.
    pub protected_bytes: u64,
    /// Bytes in no group, or in one that lacks some append by now.
    pub unprotected_bytes: u64,
}

/// What was found of each group. One of which all is there is only counted.
#[derive(Default)]
pub(super) struct ProtectionTally {
    groups: BTreeMap<u64, GroupTally>,
    parities: u16,
    protected_bytes: u64,
    ungrouped_bytes: u64,
}

#[derive(Default)]
struct GroupTally {
    data: usize,
    data_bytes: u64,
    /// The roles of those that are there. One may lie in two places, where a repair has made it
    /// again.
    parities: BTreeSet<u16>,
    /// How much of both it should have, once its list is known.
    wanted: Option<(usize, u16)>,
}

impl ProtectionTally {
    /// An append was found, and it is whole or not.
    pub(super) fn found(&mut self, origin: &Origin, is_whole: bool) {
        let descriptor = &origin.descriptor;
        let is_there = is_whole && !origin.is_restored && origin.marks.is_some();
        let bytes = u64::from(descriptor.payload_bytes);
        match (descriptor.kind, descriptor.parity_group) {
            (Kind::Data, 0) => self.ungrouped_bytes += bytes,
            (Kind::Data, id) => {
                let group = self.groups.entry(id).or_default();
                group.data += usize::from(is_there);
                group.data_bytes += bytes;
                self.forget_if_whole(id);
            }
            (Kind::Parity, id) if is_there => {
                let list = origin.marks.as_deref().map(GroupList::decode);
                if let Some(Ok(list)) = list {
                    let group = self.groups.entry(id).or_default();
                    group.parities.insert(descriptor.parity_role);
                    group.wanted = Some((list.entries.len(), list.parities));
                    self.parities = self.parities.max(list.parities);
                    self.forget_if_whole(id);
                }
            }
            (Kind::Parity | Kind::Start | Kind::End, _) => {}
        }
    }

    fn forget_if_whole(&mut self, id: u64) {
        let is_whole = |group: &&GroupTally| {
            let there = (group.data, group.parities.len() as u16);
            group.wanted == Some(there)
        };
        if let Some(group) = self.groups.get(&id).filter(is_whole) {
            self.protected_bytes += group.data_bytes;
            self.groups.remove(&id);
        }
    }

    /// Whether anything of it is in groups, as far as was seen.
    pub(super) fn has_groups(&self) -> bool {
        self.parities > 0 || !self.groups.is_empty()
    }

    /// All was seen. None if it has nothing to do with parity.
    pub(super) fn finish(self) -> Option<VerifiedProtection> {
        let lacking: u64 = self.groups.values().map(|group| group.data_bytes).sum();
        self.has_groups().then_some(VerifiedProtection {
            parities: self.parities,
            protected_bytes: self.protected_bytes,
            unprotected_bytes: self.ungrouped_bytes + lacking,
        })
    }
}

/// Says so where parity protects less of a recording than when that ended. Parity that is missing
/// behind all else of a member leaves no other trace. Where a ring has gone round, it may have
/// overwritten some.
pub(super) fn lessened(recording: &Recording, now: Option<VerifiedProtection>) -> Option<String> {
    let then_bytes = recording.end.as_ref()?.protected_bytes?;
    let now_bytes = now.map_or(0, |now| now.protected_bytes);
    (now_bytes < then_bytes).then(|| {
        format!(
            "parity protected {} when it ended, and protects {} now: some of it is damaged or \
             missing, or a member has an old state. No data is lost; `sustain repair` onto that \
             member makes it again",
            Size(then_bytes),
            Size(now_bytes)
        )
    })
}
