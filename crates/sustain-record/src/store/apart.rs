//! Members of a store with parity are to fail one by one, so they may not share a disk.

use std::path::Path;

use sustain_document::setting::SAME_DISK;
use sustain_host::Roots;
use sustain_targets::shared_disks;

use super::create::Site;
use super::{OpenMember, Store};
use crate::error::RecordError;

/// Refuses new members that would fail together with others.
pub(super) fn check_apart(
    store: &Store,
    sites: &[Site<'_>],
    roots: &Roots,
) -> Result<(), RecordError> {
    let there = store.members.iter().filter(|member| member.is_there());
    let there: Vec<&OpenMember> = there.collect();
    let members = there
        .iter()
        .map(|member| (&member.target, Some(Path::new(&member.name))));
    let new = sites
        .iter()
        .map(|site| (&site.target, Some(site.path.as_path())));
    let shared = shared_disks(members.chain(new), roots);
    // What members share that are there already was allowed before.
    let is_new = |index: &usize| *index >= there.len();
    let Some(shared) = shared.iter().find(|one| one.targets.iter().any(is_new)) else {
        return Ok(());
    };
    let name = |index: &usize| match there.get(*index) {
        Some(member) => member.name.as_str(),
        None => sites[*index - there.len()].name,
    };
    let new = shared.targets.iter().find(|index| is_new(index));
    let new = new.expect("one of them is new");
    let others = shared.targets.iter().filter(|index| *index != new);
    let others: Vec<&str> = others.map(name).collect();
    Err(RecordError::Usage(format!(
        "{} is on the same disk as {}, and they would fail together: use a member on a disk of \
         its own, or {SAME_DISK} if this is a trial",
        name(new),
        others.join(" and "),
    )))
}
