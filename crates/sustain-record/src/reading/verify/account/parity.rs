//! What parity adds to the account: appends that were computed because they are not there, and
//! parity that is damaged or missing.

use super::Account;
use crate::format::Kind;
use crate::reading::part::Origin;
use crate::reading::verify::on_member::MemberSurroundings;

const PARITY_IS_DAMAGED: &str =
    "parity is damaged: what it should protect would be lost with the member that has it";
const PARITY_IS_MISSING: &str = "an append that has no bytes of a stream is damaged or missing, \
     most likely parity: no data is lost, and less is protected";
const IS_RESTORED: &str = "an append is damaged, missing or cannot be read: nothing is lost, \
     because it is computed from the others of its group";

impl Account<'_> {
    /// Looks at an append that was found. What a ring may have written over in part is no fault.
    pub(super) fn check_parity(&mut self, member: usize, origin: &Origin, is_whole: bool) {
        let (index, _) = self.names.in_scope[member];
        let (place, group) = (origin.descriptor.place, origin.descriptor.parity_group);
        let is_there = !self.names.is_absent(index, place, group);
        if let Some(copied) = self.names.copied_parities(group) {
            self.protection.copied(group, copied);
        }
        match self.names.is_protected_by_copies(index, place, group) {
            true => self.protection.found_copied(origin, is_whole),
            false => self.protection.found(origin, is_whole && is_there),
        }
        let is_parity = origin.descriptor.kind == Kind::Parity;
        // Without its list, parity protects nothing.
        let is_damaged = is_parity && !(is_whole && origin.marks.is_some());
        let why = match (origin.is_restored, is_damaged) {
            (true, _) => IS_RESTORED,
            (false, true) => PARITY_IS_DAMAGED,
            (false, false) => return,
        };
        if !self.is_kept(origin) {
            return;
        }
        let (index, _) = self.names.in_scope[member];
        let place = Some(origin.offset_bytes);
        let bad = self.names.bad_of(Some(index), place, None, why.to_owned());
        let sequence = origin.descriptor.sequence;
        let is_by_crash = self.recording.is_crashed() || self.recording.is_recovered();
        match origin.is_restored && is_by_crash {
            true => self.flaws.add_undurable_mark(member, sequence, bad),
            false if origin.is_restored => self.flaws.add(bad),
            false => self.flaws.add_or_torn(bad, Some((member, sequence))),
        }
    }

    /// Tells of an append without bytes that is missing before one that was found, where it may
    /// have been parity.
    pub(super) fn check_before(
        &mut self,
        member: usize,
        origin: &Origin,
        surroundings: &MemberSurroundings,
    ) {
        let lacking = self.members[member].lacks_without_bytes(origin, surroundings);
        if let Some(at) = lacking.filter(|_| self.protection.has_groups()) {
            let (index, _) = self.names.in_scope[member];
            let why = PARITY_IS_MISSING.to_owned();
            let bad = self.names.bad_of(Some(index), Some(at), None, why);
            let append = Some((member, origin.descriptor.sequence));
            self.flaws.add_or_torn(bad, append);
        }
    }
}
