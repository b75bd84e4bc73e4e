//! Decides how large each member of a new store becomes: devices keep their size, files must fit
//! into the free space. `create` calls it.

use std::collections::BTreeMap;

use sustain_disk::error::Error;
use sustain_disk::target::TargetKind;
use sustain_disk::units::Size;
use sustain_document::setting::{SIZE, SLOT};
use sustain_targets::{Fitted, Growing, fit_free_space, has_all_blocks};

use super::{CreatePlan, Site};
use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, Geometry, GeometryError};

/// Size of a new file if none is given, where enough space is free.
const FILE_BYTES_DEFAULT: u64 = 10 << 30;
/// New files whose size nobody gave leave so much of the free space: one part of this many.
const FREE_PARTS: u64 = 2;

/// Divides each site into slots. Notes for the user are added to `notes`.
///
/// # Errors
/// [`RecordError::Usage`] if a size is given and there is no file, or not enough free space;
/// [`RecordError::Target`] where no space is left; [`RecordError::Member`] for a member that is too
/// small.
pub(in crate::store) fn divide(
    plan: &CreatePlan,
    sites: &[Site<'_>],
    notes: &mut Vec<String>,
) -> Result<Vec<Geometry>, RecordError> {
    let is_file = |site: &Site<'_>| site.target.kind == TargetKind::File;
    if plan.size_bytes.is_some() && !sites.iter().any(is_file) {
        return Err(RecordError::Usage(format!(
            "{} applies to files only, and devices are used whole: leave it out",
            SIZE.the()
        )));
    }
    let mut sizes: Vec<u64> = sites.iter().map(|site| wanted_bytes(plan, site)).collect();
    let growing: Vec<usize> = (0..sites.len())
        .filter(|index| is_file(&sites[*index]) && grows(&sites[*index], sizes[*index]))
        .collect();
    let files: Vec<Growing<'_>> = growing
        .iter()
        .map(|index| Growing {
            target: &sites[*index].target,
            path: &sites[*index].path,
            wanted_bytes: sizes[*index],
            unit_bytes: BLOCK_BYTES as u64,
        })
        .collect();
    for (index, fitted) in growing.iter().zip(fit_free_space(&files)?) {
        let site = &sites[*index];
        match fitted {
            Some(fitted) => {
                check_fits(plan, site, &fitted)?;
                let is_beside = |other: &&usize| sites[**other].target.device == site.target.device;
                let beside = growing.iter().filter(is_beside).count() as u64;
                let (size_bytes, note) = match has_default_size(plan, site) {
                    true => default_size(plan, site.name, &fitted, beside),
                    false => (fitted.size_bytes, fitted.note),
                };
                sizes[*index] = size_bytes;
                notes.push(note);
            }
            None if plan.size_bytes.is_some() => {}
            None => {
                let why = format!(
                    "its file system does not say how much space is free: give {}",
                    SIZE.the()
                );
                return Err(Error::target(sites[*index].name, why).into());
            }
        }
    }
    sites
        .iter()
        .zip(sizes)
        .map(|(site, size_bytes)| {
            Geometry::of_member(size_bytes, plan.slot_bytes).map_err(|error| {
                // A size that is too small is reported as it was asked for, not in whole blocks.
                let asked = Geometry::of_member(wanted_bytes(plan, site), plan.slot_bytes);
                RecordError::member(site.name, asked.err().unwrap_or(error).to_string())
            })
        })
        .collect()
}

/// Whether nobody has given the size of a file, and it has none itself.
fn has_default_size(plan: &CreatePlan, site: &Site<'_>) -> bool {
    plan.size_bytes.is_none() && site.target.capacity_bytes.unwrap_or(0) == 0
}

/// The size of a new file for which none was given, one of so many on a file system, and the note
/// that says it. Others need space too, so that these files take half of what is free at most, or
/// what the smallest member needs where that is more.
fn default_size(plan: &CreatePlan, name: &str, fitted: &Fitted, files: u64) -> (u64, String) {
    let block_bytes = BLOCK_BYTES as u64;
    let half_bytes = fitted.free_bytes / FREE_PARTS / files / block_bytes * block_bytes;
    let smallest_bytes = Geometry::member_bytes_min(plan.slot_bytes);
    let size_bytes = fitted.size_bytes.min(half_bytes.max(smallest_bytes));
    let why = match size_bytes {
        FILE_BYTES_DEFAULT => "",
        _ if half_bytes < smallest_bytes => ", the smallest member with slots of this size",
        _ if files > 1 => ", its share of half of what is free",
        _ => ", half of what is free",
    };
    let note = format!(
        "{name}: {} free, a file of {}{why}; give {} to have another",
        Size(fitted.free_bytes),
        Size(size_bytes),
        SIZE.the()
    );
    (size_bytes, note)
}

/// The default size of a new file may shrink to the free space, down to the smallest member. A size
/// that the user gave and the size that a file has are used exactly, or refused.
fn check_fits(plan: &CreatePlan, site: &Site<'_>, fitted: &Fitted) -> Result<(), RecordError> {
    let wanted_bytes = wanted_bytes(plan, site);
    let in_blocks = wanted_bytes / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
    if fitted.size_bytes >= in_blocks {
        return Ok(());
    }
    let (free, fits) = (Size(fitted.free_bytes), Size(fitted.size_bytes));
    let why = match Geometry::of_member(fitted.size_bytes, plan.slot_bytes) {
        Err(GeometryError::TooSmall { needed_bytes, .. }) => format!(
            "only {free} are free, and with this slot size the smallest member needs {}: free some \
             space, choose another place, or use `sustain create` with a smaller {SLOT}",
            Size(needed_bytes)
        ),
        _ if has_default_size(plan, site) => return Ok(()),
        _ => format!(
            "only {free} are free, enough for a file of {fits} but not of {}: give a smaller \
             {SIZE}, or free some space",
            Size(wanted_bytes)
        ),
    };
    Err(RecordError::Usage(format!("{}: {why}", site.name)))
}

fn wanted_bytes(plan: &CreatePlan, site: &Site<'_>) -> u64 {
    let capacity_bytes = site.target.capacity_bytes.filter(|bytes| *bytes > 0);
    match (site.target.kind, plan.size_bytes) {
        (TargetKind::File, Some(size_bytes)) => size_bytes,
        (TargetKind::File, None) => capacity_bytes.unwrap_or(FILE_BYTES_DEFAULT),
        _ => capacity_bytes.unwrap_or(0),
    }
}

fn grows(site: &Site<'_>, wanted_bytes: u64) -> bool {
    let capacity_bytes = site.target.capacity_bytes.unwrap_or(0);
    site.is_new || wanted_bytes > capacity_bytes || !has_all_blocks(&site.target)
}

/// Warns of members on one file system: they share its disk, and fail together.
pub(in crate::store) fn note_shared_file_systems(sites: &[Site<'_>], notes: &mut Vec<String>) {
    let mut by_device: BTreeMap<(u32, u32), Vec<&str>> = BTreeMap::new();
    for site in sites
        .iter()
        .filter(|site| site.target.kind == TargetKind::File)
    {
        if let Some(device) = site.target.device {
            by_device.entry(device).or_default().push(site.name);
        }
    }
    for names in by_device.values().filter(|names| names.len() > 1) {
        notes.push(format!(
            "{} are on the same file system: together they are no faster than its disk",
            names.join(" and ")
        ));
    }
}
