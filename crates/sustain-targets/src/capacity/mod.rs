//! Checks capacity: the free space for files that will grow, and the memory for buffers.

use std::collections::BTreeMap;
use std::path::Path;

use sustain_disk::error::Error;
use sustain_disk::target::{Target, TargetKind};
use sustain_disk::units::Size;
use sustain_host::Roots;

use crate::error::OpenError;
use crate::guard::folder_of;

/// Files leave this part of the free space alone.
const FREE_SHARE_KEPT: u64 = 20;

/// A file that will grow as it is written.
#[derive(Debug, Clone, Copy)]
pub struct Growing<'a> {
    /// The file, or the scratch file.
    pub target: &'a Target,
    /// Its path; for a scratch file, its directory.
    pub path: &'a Path,
    /// The size that it should reach.
    pub wanted_bytes: u64,
    /// The file is shrunk by whole units of this, and refused if not even one fits.
    pub unit_bytes: u64,
}

/// The space that a file can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The size that the file may reach: the wanted size, or less, in whole units.
    pub size_bytes: u64,
    /// The free space on its file system.
    pub free_bytes: u64,
    /// A note for the user: what is free, and what will be written.
    pub note: String,
}

/// Fits files into the free space of their file systems; files on the same one share it evenly. The
/// answers are in the order of `files`; `None` for a file system that does not report its free
/// space.
///
/// # Errors
/// [`OpenError::Disk`] if there is no space for one unit, or if the free space cannot be read.
pub fn fit_free_space(files: &[Growing<'_>]) -> Result<Vec<Option<Fitted>>, OpenError> {
    let mut file_systems: BTreeMap<Option<(u32, u32)>, Vec<usize>> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let members = file_systems.entry(file.target.device).or_default();
        members.push(index);
    }
    let mut fitted = vec![None; files.len()];
    for members in file_systems.values() {
        let first = &files[members[0]];
        let place = if first.path.is_dir() {
            first.path
        } else {
            folder_of(first.path)
        };
        let free_bytes = sustain_host::free_bytes(place)
            .map_err(|error| Error::target(&first.target.name, error.to_string()))?;
        let Some(free_bytes) = free_bytes else {
            continue;
        };
        let usable_bytes = (free_bytes - free_bytes / FREE_SHARE_KEPT) / members.len() as u64;
        for index in members {
            fitted[*index] = Some(fit_one(&files[*index], free_bytes, usable_bytes)?);
        }
    }
    Ok(fitted)
}

/// Shrinks a file that will grow to the space that it can use, and says so in words that are true
/// before anything is written, in a rehearsal too.
fn fit_one(file: &Growing<'_>, free: u64, usable: u64) -> Result<Fitted, Error> {
    let (name, wanted, unit) = (&file.target.name, file.wanted_bytes, file.unit_bytes);
    let allowed = reach_bytes(
        usable,
        file.target.capacity_bytes.unwrap_or(0),
        missing_bytes(file.target),
    );
    if allowed < wanted.min(unit) {
        let why = format!("no space left: {} free; free some first", Size(free));
        return Err(Error::target(name, why));
    }
    let size_bytes = wanted.min(allowed) / unit * unit;
    let fate = match file.target.kind {
        TargetKind::ScratchFile => ", which disappears at the end",
        _ => "",
    };
    let sort = match file.target.kind {
        TargetKind::ScratchFile => "an unnamed scratch file",
        _ => "a file",
    };
    let (size, free_size) = (Size(size_bytes), Size(free));
    let note = if wanted > allowed {
        format!(
            "{name}: {sort} of {size}{fate}, instead of {}: only {free_size} are free",
            Size(wanted)
        )
    } else {
        format!("{name}: {sort} of {size}{fate} ({free_size} free)")
    };
    Ok(Fitted {
        size_bytes,
        free_bytes: free,
        note,
    })
}

/// The size that a file may reach with this much more space. Blocks that it lacks take space like
/// those behind its end. Nobody knows where they lack, so they count for every part of it.
fn reach_bytes(usable: u64, capacity: u64, missing: u64) -> u64 {
    match usable.checked_sub(missing) {
        Some(behind_end) => capacity.saturating_add(behind_end),
        None => usable,
    }
}

/// Whether an existing file has blocks for all its bytes; reading a hole touches no disk. True for
/// everything that is not a file.
pub fn has_all_blocks(target: &Target) -> bool {
    missing_bytes(target) == 0
}

/// Bytes of an existing file for which the file system has no blocks yet: writing there takes free
/// space. None for everything that is not a file.
fn missing_bytes(target: &Target) -> u64 {
    const STAT_BLOCK_BYTES: u64 = 512;
    let (TargetKind::File, Some(file)) = (target.kind, &target.file) else {
        return 0;
    };
    // If a file can no longer be examined, it is taken to have none.
    rustix::fs::fstat(file).map_or(target.capacity_bytes.unwrap_or(u64::MAX), |found| {
        let held_bytes = (found.st_blocks as u64).saturating_mul(STAT_BLOCK_BYTES);
        (found.st_size as u64).saturating_sub(held_bytes)
    })
}

/// The buffer of a recorder whose user asks for none: 512 MiB, or a quarter of the memory in whole
/// MiB on a machine that has less than 2 GiB.
#[must_use]
pub fn usual_buffer_bytes(roots: &Roots) -> u64 {
    const USUAL_BYTES: u64 = 512 << 20;
    const UNIT_BYTES: u64 = 1 << 20;
    sustain_host::describe_host(roots).map_or(USUAL_BYTES, |host| {
        let units = (host.memory_bytes / 4 / UNIT_BYTES).max(1);
        USUAL_BYTES.min(units * UNIT_BYTES)
    })
}

/// Refuses buffers that do not fit into memory, because they would bring down the machine rather
/// than the run. `what` names what needs them, with that verb, and `instead` says what to do: "4
/// streams need" and "use a smaller buffer".
///
/// # Errors
/// [`OpenError::Usage`] if they need more than half of the machine's memory.
pub fn check_memory(
    wanted_bytes: u64,
    what: &str,
    instead: &str,
    roots: &Roots,
) -> Result<(), OpenError> {
    // If the machine does not report its memory, the kernel will refuse what is too much.
    let Ok(description) = sustain_host::describe_host(roots) else {
        return Ok(());
    };
    if wanted_bytes <= description.memory_bytes / 2 {
        return Ok(());
    }
    Err(OpenError::Usage(format!(
        "{what} more than half of this machine's {} of memory: {instead}",
        Size(description.memory_bytes)
    )))
}

#[cfg(test)]
mod tests;
