//! Members of a store with parity that are not there, or do not have all that they were given.

use super::{Checkable, Discrepancy, VerifyResult};

/// Tells of the members of a store with parity that are not there. All of what they had may be
/// found, and yet the store is not whole: the next loss may be one too many.
pub(super) fn check_missing(store: Checkable<'_>, result: &mut VerifyResult) {
    let mut members = store.members.iter();
    if !members.any(|member| member.superblock.has_parity()) {
        return;
    }
    let behind = store
        .members
        .iter()
        .filter(|member| member.is_there() && member.rebuilt.is_some());
    for member in behind {
        let why = "it does not have all that it was given: the rest is computed from the others \
                   and checked, where parity protects it, and is protected against fewer further \
                   losses";
        result.add(Discrepancy {
            member: Some(member.name.clone()),
            ..Discrepancy::of_store(None, why)
        });
    }
    for (index, uuid) in store.missing() {
        let mut members = store.members.iter();
        let what = match members.any(|member| member.index() == index) {
            true => {
                "what it had is computed from the others and checked, where parity protects it, \
                 and is"
            }
            false => "nothing is known of what it had, and what it helped to protect is",
        };
        let why = format!(
            "member {} (UUID {uuid}) is missing: {what} protected against fewer further losses",
            index + 1,
        );
        result.add(Discrepancy::of_store(None, &why));
    }
}
