//! Whether parity can protect a new store: it needs enough members, on disks of their own.

use sustain_document::setting::{PARITY, SAME_DISK};
use sustain_targets::SharedDisk;

use super::Site;
use crate::error::RecordError;
use crate::format::PARITIES_MAX;

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
    let disk = shared.disk.map_or("one file system".to_owned(), |disk| {
        format!("one disk, {disk}")
    });
    Err(RecordError::Usage(format!(
        "{} are on {disk}, which takes all of them with it when it fails, so {PARITY} would \
         protect nothing: use members on disks of their own, or {SAME_DISK} if this is a trial",
        members.join(" and "),
    )))
}
