//! Opens a store again that is open already, to see what has become of it since.

use sustain_disk::clock::Clock;
use sustain_disk::engine::SharedMachine;

use super::open::OpenedBefore;
use super::read_members::read_members;
use super::{Mode, OpenMember, Store};
use crate::error::RecordError;

impl Store {
    /// Opens members again for reading that are open already, to see what a recorder has done to
    /// them since.
    ///
    /// # Errors
    /// The same as of [`Store::open`].
    pub(crate) fn open_anew(
        members: &[OpenMember],
        machines: &[SharedMachine],
        clock: &Clock,
    ) -> Result<Store, RecordError> {
        let (there, rebuilt): (Vec<_>, Vec<_>) =
            members.iter().partition(|member| member.is_there());
        let target_of = |member: &&OpenMember| (member.target.clone(), member.simulated);
        let targets = there.iter().map(target_of).collect();
        let rebuilt: Vec<OpenMember> = rebuilt.into_iter().cloned().collect();
        let all = (machines.to_vec(), clock.clone());
        let opened = Store::of(
            targets,
            Mode::Read,
            all.clone(),
            OpenedBefore {
                rebuilt: rebuilt.clone(),
                ..OpenedBefore::default()
            },
        );
        if !matches!(opened, Err(RecordError::Member { .. })) {
            return opened;
        }
        // One that was cut off meanwhile is none any more. Where parity protects it, the others
        // have what it had.
        let is_member = |member: &&&OpenMember| {
            let target = vec![target_of(member)];
            !member.superblock.has_parity()
                || read_members(target, Mode::Read, machines, clock).is_ok()
        };
        let left: Vec<_> = there.iter().filter(is_member).map(target_of).collect();
        match left.is_empty() || left.len() == there.len() {
            true => opened,
            false => {
                let before = OpenedBefore {
                    rebuilt,
                    ..OpenedBefore::default()
                };
                Store::of(left, Mode::Read, all, before)
            }
        }
    }
}
