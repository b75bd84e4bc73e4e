//! How much of a recording parity protects by now: whether all appends of each group are there.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use sustain_disk::units::Size;

use super::stretches::ByteStretches;
use crate::format::{GroupList, Kind};
use crate::opening::Recording;
use crate::reading::part::Origin;
use crate::rebuilt::{CopiedParities, group_of_data};

/// How a recording is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct VerifiedProtection {
    /// Appends of parity that each of its groups was to have.
    pub parities: u16,
    /// Bytes in groups of which every append is there and whole: any so many members may be lost.
    pub protected_bytes: u64,
    /// Other bytes that are whole: in no group, or in one that lacks some append by now, be it that
    /// the append can be computed.
    pub unprotected_bytes: u64,
    /// Those of them in groups that have more appends of parity than they lack appends: any one
    /// further member may be lost.
    pub protected_from_one_bytes: u64,
}

/// What was found of each group. One of which all is there is only counted.
#[derive(Default)]
pub(super) struct ProtectionTally {
    groups: BTreeMap<u64, GroupTally>,
    /// Whether groups of the recording were to have parity.
    is_wanted: bool,
    parities: u16,
    /// What is in groups that are whole, by stream. An append may be on two members.
    protected: BTreeMap<u16, ByteStretches>,
}

#[derive(Default)]
struct GroupTally {
    data: usize,
    /// The bytes of its appends, each with its stream.
    bytes: Vec<(u16, Range<u64>)>,
    /// The roles of those that are there. One may lie in two places, where a repair has made it
    /// again.
    parities: BTreeSet<u16>,
    /// How much of both it should have, once its list is known.
    wanted: Option<(usize, u16)>,
}

impl GroupTally {
    /// Whether it lacks fewer appends than it was to have of parity.
    fn outlasts_one(&self) -> bool {
        self.wanted.is_some_and(|(data, parities)| {
            let lacking_data = data.saturating_sub(self.data);
            let lacking_parity = usize::from(parities).saturating_sub(self.parities.len());
            lacking_data + lacking_parity < usize::from(parities)
        })
    }
}

impl ProtectionTally {
    pub(super) fn of(recording: &Recording) -> ProtectionTally {
        ProtectionTally {
            is_wanted: recording.parities.is_some_and(|parities| parities > 0),
            ..ProtectionTally::default()
        }
    }

    /// An append was found, and it is whole on its member or not.
    pub(super) fn found(&mut self, origin: &Origin, is_whole: bool) {
        let descriptor = &origin.descriptor;
        let is_there = is_whole && !origin.is_restored && origin.marks.is_some();
        match (descriptor.kind, descriptor.parity_group) {
            (Kind::Data, 0) if !self.is_wanted => {}
            (Kind::Data, joined) => {
                let id = group_of_data(joined, descriptor.sequence);
                let group = self.groups.entry(id).or_default();
                group.data += usize::from(is_there);
                group.bytes.push((descriptor.stream, bytes_of(origin)));
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

    /// An append was found that its copies protect, and no group.
    pub(super) fn found_copied(&mut self, origin: &Origin, is_whole: bool) {
        let descriptor = &origin.descriptor;
        if is_whole && descriptor.kind == Kind::Data && descriptor.parity_group > 0 {
            let protected = self.protected.entry(descriptor.stream).or_default();
            protected.add(bytes_of(origin));
        }
    }

    /// Parity of a group of which an append is found was copied from a member that was retired.
    pub(super) fn copied(&mut self, id: u64, copied: CopiedParities) {
        let group = self.groups.entry(id).or_default();
        let roles = copied.copied.into_iter().map(|number| number as u16 + 1);
        group.parities.extend(roles);
        group.wanted = Some((copied.data, copied.parities));
        self.parities = self.parities.max(copied.parities);
    }

    fn forget_if_whole(&mut self, id: u64) {
        let is_whole = |group: &&GroupTally| {
            let there = (group.data, group.parities.len() as u16);
            group.wanted == Some(there)
        };
        if self.groups.get(&id).is_some_and(|group| is_whole(&group))
            && let Some(group) = self.groups.remove(&id)
        {
            for (stream, range) in group.bytes {
                self.protected.entry(stream).or_default().add(range);
            }
        }
    }

    /// Whether anything of it is in groups, as far as was seen.
    pub(super) fn has_groups(&self) -> bool {
        self.parities > 0 || !self.groups.is_empty()
    }

    /// All was seen, and so many bytes are whole. None if it has nothing to do with parity.
    pub(super) fn finish(self, whole_bytes: u64) -> Option<VerifiedProtection> {
        let protected = self.protected.values().map(ByteStretches::bytes);
        let protected_bytes = protected.sum::<u64>().min(whole_bytes);
        let unprotected_bytes = whole_bytes - protected_bytes;
        let mut from_one: BTreeMap<u16, ByteStretches> = BTreeMap::new();
        for group in self.groups.values().filter(|group| group.outlasts_one()) {
            for (stream, range) in &group.bytes {
                from_one.entry(*stream).or_default().add(range.clone());
            }
        }
        let from_one_bytes: u64 = from_one.values().map(ByteStretches::bytes).sum();
        self.has_groups().then_some(VerifiedProtection {
            parities: self.parities,
            protected_bytes,
            unprotected_bytes,
            protected_from_one_bytes: from_one_bytes.min(unprotected_bytes),
        })
    }
}

/// The bytes of its stream that an append has.
fn bytes_of(origin: &Origin) -> Range<u64> {
    let from = origin.descriptor.stream_offset_bytes;
    from..from + u64::from(origin.descriptor.payload_bytes)
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
