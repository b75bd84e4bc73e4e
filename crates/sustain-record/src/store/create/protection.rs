//! Whether parity can protect a new store: it needs enough members, on disks of their own.

use sustain_disk::units::Size;
use sustain_document::setting::{PARITY, SAME_DISK, SLOT};
use sustain_targets::SharedDisk;

use super::Site;
use crate::error::RecordError;
use crate::format::{Geometry, PARITIES_MAX};

/// Refuses parity that so many members cannot have.
pub(super) fn check_parities(parities: u16, members: usize) -> Result<(), RecordError> {
    let parities = usize::from(parities);
    if parities > PARITIES_MAX {
        let most = format_args!("from 0 to {PARITIES_MAX}");
        return Err(RecordError::Usage(PARITY.must_be(most)));
    }
    if parities > 0 && parities >= members {
        return Err(RecordError::Usage(format!(
            "{} needs at least {} members, because each append of a group lies on another one, and \
             {members} {} given: name more of them, or use {}",
            PARITY.of(parities),
            parities + 1,
            if members == 1 { "was" } else { "were" },
            PARITY.of(members.saturating_sub(1)),
        )));
    }
    Ok(())
}

/// Refuses parity over members that fail together.
pub(super) fn check_disks(sites: &[Site<'_>], shared: Vec<SharedDisk>) -> Result<(), RecordError> {
    let Some(shared) = shared.into_iter().next() else {
        return Ok(());
    };
    let members = shared.targets.iter().map(|index| sites[*index].name);
    let members: Vec<&str> = members.collect();
    let disk = shared.words();
    Err(RecordError::Usage(format!(
        "{} are on {disk}, which takes all of them with it when it fails, so {PARITY} would \
         protect nothing: use members on disks of their own, or {SAME_DISK} if this is a trial",
        members.join(" and "),
    )))
}

/// Refuses members of which the others could not tell how many slots they have.
pub(in crate::store) fn check_slots(
    parities: u16,
    sites: &[Site<'_>],
    geometries: &[Geometry],
) -> Result<(), RecordError> {
    let is_large = |geometry: &Geometry| geometry.slot_count > u64::from(u32::MAX);
    match geometries.iter().position(is_large) {
        Some(index) if parities > 0 => Err(RecordError::member(
            sites[index].name,
            format!("with {PARITY} a member has at most 2^32 slots: use a larger {SLOT}"),
        )),
        _ => Ok(()),
    }
}

/// Notes for members of which a tenth or more is of no use with parity: each group has one append
/// on a member, so none can take more than as many others together let it.
pub(in crate::store) fn unusable(parities: u16, members: &[(&str, &Geometry)]) -> Vec<String> {
    let mut by_size: Vec<u64> = members.iter().map(|(_, one)| one.slot_count).collect();
    by_size.sort_unstable_by(|one, other| other.cmp(one));
    let Some(usable) = by_size.get(usize::from(parities)).copied() else {
        return Vec::new();
    };
    let too_large = members.iter().filter(|(_, geometry)| {
        parities > 0 && geometry.slot_count - geometry.slot_count / 10 > usable
    });
    let words = too_large.map(|(name, geometry)| {
        let slot_bytes = u64::from(geometry.slot_bytes);
        format!(
            "of the {} of {name} only about {} are of use with {}: a group has one append on a \
             member, and the others have no place for more groups",
            Size(geometry.slot_count * slot_bytes),
            Size(usable * slot_bytes),
            PARITY.of(parities)
        )
    });
    words.collect()
}
