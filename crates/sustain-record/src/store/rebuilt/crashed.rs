//! What crashes have taken from the members of a store with parity, and what these lack although it
//! was durable.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::RecordError;
use crate::format::{Descriptor, Superblock};
use crate::member_io::ReadOrder;
use crate::opening::{Recording, was_durable};
use crate::rebuilt::{Crashed, FoundGroups, WantedAppend};
use crate::store::groups::StoreGroups;
use crate::store::{Mode, Store, is_full};

pub(super) const WHY: &str =
    "a member may lack what it was given, and that is computed from the others";

impl Store {
    /// The groups that tell what members may lack, and what crashes took, if they may lack any of
    /// it.
    pub(super) fn found_of_lacking(
        &self,
        recordings: &[Recording],
        groups: &StoreGroups,
    ) -> Result<Option<(Arc<FoundGroups>, Crashed)>, RecordError> {
        let found = match self.may_lack(recordings) {
            true => Some(groups.find(WHY)?),
            false => self.found_behind_crash(recordings, groups)?,
        };
        let Some(found) = found else {
            return Ok(None);
        };
        let crashed = self.crashed(recordings, groups, &found)?;
        Ok(Some((found, crashed)))
    }

    /// The groups behind the end of any member, if a crash has ended the newest recording and bytes
    /// of it are missing. Members that have failed before, or were put back to what they were
    /// before it, tell so by their superblocks, so nothing else can be lacking.
    fn found_behind_crash(
        &self,
        recordings: &[Recording],
        groups: &StoreGroups,
    ) -> Result<Option<Arc<FoundGroups>>, RecordError> {
        let newest = recordings.iter().max_by_key(|recording| recording.number);
        let newest = newest.filter(|newest| is_crashed(newest));
        let Some(newest) =
            newest.filter(|newest| newest.streams.iter().any(|stream| stream.absent_bytes > 0))
        else {
            return Ok(None);
        };
        let members = self.members.iter().zip(&self.tails);
        // A full one got nothing behind its end, but in a ring.
        let may_lack = members
            .filter(|(member, tail)| member.is_there() && (newest.ring || !is_full(member, tail)));
        let Some(first) = may_lack.map(|(_, tail)| tail.max_sequence).min() else {
            return Ok(None);
        };
        Ok(Some(match groups.known() {
            Some(found) => found,
            None => Arc::new(groups.find_behind(first, WHY)?),
        }))
    }

    /// What crashes have taken from the members, and what they cannot have taken.
    ///
    /// For reading, a crash has taken nothing that can be computed: whoever is given a member gets
    /// at least what he gets without it. Of a ring it may have, because what is put in there hides
    /// the lap before; and of a recording that `recover` has ended, which has found it lost.
    pub(super) fn crashed(
        &self,
        recordings: &[Recording],
        groups: &StoreGroups,
        found: &FoundGroups,
    ) -> Result<Crashed, RecordError> {
        let of_crash = recordings.iter().filter(|recording| is_crashed(recording));
        // To who only reads it is no matter why a member lacks what can be computed.
        let is_read = |recording: &&Recording| {
            self.mode == Mode::Read && recording.open_end && !recording.ring
        };
        let of_crash = of_crash.filter(|recording| !is_read(recording));
        let superblocks = || self.members.iter().map(|member| &member.superblock);
        let is_behind =
            |own: &&Superblock| superblocks().any(|one| one.behind.contains(&own.member_index));
        // A member was not behind before the recording that began when its superblock was written.
        let behind = superblocks().filter(is_behind);
        let behind = behind.map(|own| (own.member_index, own.recordings_begun));
        let crashed = Crashed {
            recordings: of_crash.map(|recording| recording.number).collect(),
            behind: behind.collect(),
            durable: BTreeSet::new(),
        };
        let durable = durable_of(recordings, groups, found, &crashed)?;
        Ok(Crashed { durable, ..crashed })
    }
}

/// Whether a crash has ended a recording of streams. Of one that only has copies, nothing was given
/// to members that they could lack.
fn is_crashed(recording: &Recording) -> bool {
    recording.is_crashed() && recording.has_streams()
}

/// The sequences of the appends that were durable, of those that crashes seem to have taken. What
/// they have of which stream is in their descriptors, which are computed from their groups.
fn durable_of(
    recordings: &[Recording],
    groups: &StoreGroups,
    found: &FoundGroups,
    crashed: &Crashed,
) -> Result<BTreeSet<u64>, RecordError> {
    let mut durable = BTreeSet::new();
    let taken = found.taken_by(crashed);
    if taken.is_empty() {
        return Ok(durable);
    }
    let identities = groups.identities();
    let mut io = groups.io()?;
    for (id, position) in taken {
        let Some(group) = found.group(id) else {
            continue;
        };
        let wanted = WantedAppend {
            group_id: id,
            group,
            position,
            identities: &identities,
        };
        let lacking = found.lacking_in(id);
        let descriptor = wanted.compute_descriptor(&lacking, |member, range| {
            let order = ReadOrder {
                member,
                offset_bytes: range.start,
                length_bytes: (range.end - range.start) as usize,
            };
            let read = io.read_all(&[order]).swap_remove(0).ok();
            io.check_engine().map(|()| read)
        })?;
        let recording = recordings.iter().find(|one| one.number == group.recording);
        let (Some(descriptor), Some(recording)) = (descriptor, recording) else {
            continue;
        };
        if has_durable_bytes(recording, &descriptor) {
            durable.insert(descriptor.sequence);
        }
    }
    Ok(durable)
}

/// Whether the bytes of an append, or the gap before them of which it tells, were durable.
fn has_durable_bytes(recording: &Recording, descriptor: &Descriptor) -> bool {
    let start = descriptor.stream_offset_bytes;
    let end = start + u64::from(descriptor.payload_bytes);
    was_durable(recording, descriptor.stream, start..end)
}
