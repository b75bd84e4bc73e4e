//! The control groups that come into question, and who of them uses a disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use sustain_host::{ControlGroups, DeviceNumber, GroupBytes, GroupLimits, Roots};

use super::HoldBackSetup;
use crate::error::HoldBackError;

pub(super) fn usable_groups(
    setup: &HoldBackSetup,
    roots: &Roots,
) -> Result<ControlGroups, HoldBackError> {
    if setup.devices.is_empty() {
        return Err(HoldBackError::NoDisk);
    }
    let groups = ControlGroups::find(roots)?.ok_or(HoldBackError::NoControlGroups)?;
    let beside = groups.beside()?;
    let Some(first) = beside.first() else {
        return Err(HoldBackError::NobodyBeside {
            own: Path::new("/").join(groups.own()),
        });
    };
    // Of which one is written to it does not matter; whoever may limit one of them can be useful.
    let files = |group: &PathBuf| groups.setting(group, setup.devices[0].1, GroupLimits::default());
    let may_limit = |group: &PathBuf| {
        let mut files = files(group).into_iter();
        files.all(|(path, _)| access(&path, Access::WRITE_OK).is_ok())
    };
    if beside.iter().any(may_limit) {
        return Ok(groups);
    }
    let path = files(first).swap_remove(0).0;
    let error = access(&path, Access::WRITE_OK).err().map_or_else(
        || std::io::Error::from(std::io::ErrorKind::NotFound),
        std::io::Error::from,
    );
    Err(HoldBackError::NotAllowed { path, error })
}

pub(super) fn devices(setup: &HoldBackSetup) -> BTreeMap<DeviceNumber, String> {
    let devices = setup.devices.iter();
    devices
        .map(|(name, number)| (*number, name.clone()))
        .collect()
}

/// The groups that have used one of these disks, with what they have used of it.
pub(super) fn users(
    groups: &ControlGroups,
    devices: &BTreeMap<DeviceNumber, String>,
) -> Result<Vec<(PathBuf, DeviceNumber, GroupBytes)>, HoldBackError> {
    let mut found = Vec::new();
    for group in groups.beside()? {
        for (device, bytes) in groups.used(&group)? {
            if devices.contains_key(&device) && bytes != GroupBytes::default() {
                found.push((group.clone(), device, bytes));
            }
        }
    }
    Ok(found)
}

/// A group's name as users know it, from the root.
pub(super) fn name_of(group: &Path) -> String {
    Path::new("/").join(group).display().to_string()
}
