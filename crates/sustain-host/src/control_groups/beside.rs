//! Finds the groups whose limits do not limit the group that asks.

use std::path::{Path, PathBuf};

use super::files::LIMITS;
use crate::error::HostError;
use crate::roots::names_in;

/// In version 1 each group has its limits to itself, whatever lies around it. The root is left out,
/// because the kernel's own threads are there, those that write journals and what was cached.
pub(super) fn all_but(root: &Path, own: &Path) -> Result<Vec<PathBuf>, HostError> {
    let mut found = groups_in(root, Path::new(""))?;
    let mut next = 0;
    while let Some(group) = found.get(next) {
        let below = groups_in(root, group)?;
        found.extend(below);
        next += 1;
    }
    found.retain(|group| group != own);
    Ok(found)
}

/// In version 2 a limit holds for a group and all below it: the groups beside those that contain
/// this one, from the root down, and the groups within it. Groups without limits are left out.
pub(super) fn largest_without(root: &Path, own: &Path) -> Result<Vec<PathBuf>, HostError> {
    let mut found = Vec::new();
    let mut around = PathBuf::new();
    let mut steps = own.components();
    loop {
        let inwards = steps.next().map(|step| around.join(step));
        for group in groups_in(root, &around)? {
            if Some(&group) != inwards.as_ref() && root.join(&group).join(LIMITS).exists() {
                found.push(group);
            }
        }
        match inwards {
            Some(inwards) => around = inwards,
            None => return Ok(found),
        }
    }
}

/// The groups directly within a group.
fn groups_in(root: &Path, group: &Path) -> Result<Vec<PathBuf>, HostError> {
    let names = names_in(&root.join(group))?.into_iter();
    let groups = names.map(|name| group.join(name));
    Ok(groups.filter(|one| root.join(one).is_dir()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(groups: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for group in groups {
            let directory = root.path().join(group);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(LIMITS), "").unwrap();
        }
        root
    }

    fn names(groups: &[PathBuf]) -> Vec<&str> {
        groups.iter().map(|group| group.to_str().unwrap()).collect()
    }

    #[test]
    fn a_limit_of_version_two_never_holds_the_one_who_asks() {
        let root = tree(&[
            "system.slice/a.service",
            "system.slice/b.service",
            "user.slice/me/own.scope/inner",
            "user.slice/me/other.scope",
            "user.slice/me",
            "system.slice",
            "user.slice",
            "user.slice/you",
        ]);
        std::fs::create_dir(root.path().join("unlimited")).unwrap();
        let own = Path::new("user.slice/me/own.scope");
        let found = largest_without(root.path(), own).unwrap();
        assert_eq!(
            names(&found),
            [
                "system.slice",
                "user.slice/you",
                "user.slice/me/other.scope",
                "user.slice/me/own.scope/inner",
            ]
        );
        let of_root = largest_without(root.path(), Path::new("")).unwrap();
        assert_eq!(names(&of_root), ["system.slice", "user.slice"]);
    }

    #[test]
    fn in_version_one_every_other_group_can_be_limited_but_the_root() {
        let root = tree(&["a/within", "b"]);
        let found = all_but(root.path(), Path::new("b")).unwrap();
        assert_eq!(names(&found), ["a", "a/within"]);
        let of_root = all_but(root.path(), Path::new("")).unwrap();
        assert_eq!(names(&of_root), ["a", "b", "a/within"]);
    }
}
