//! Opens the members of a store that is to be created: under the guard, within a bound.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sustain_disk::error::Error;
use sustain_disk::target::{DataPath, Direction, OpenRequest, Target};
use sustain_disk::units::Size;
use sustain_host::Roots;
use sustain_targets::{CreatedFiles, Permission, is_new, open_under_guard, rehearse_under_guard};

use super::{CreatePlan, CreatedMember};
use crate::error::RecordError;
use crate::format::Geometry;
use crate::member_io::GIVEN_UP_AFTER_NS;
use crate::store::bounded::Bounded;
use crate::store::candidate::{MemberCandidate, check_locked};
use crate::store::takes_blocks;

/// A member to be, opened.
pub(in crate::store) struct Site<'a> {
    pub(in crate::store) name: &'a str,
    pub(in crate::store) path: PathBuf,
    pub(in crate::store) target: Target,
    pub(in crate::store) is_new: bool,
}

impl Site<'_> {
    /// The member that is made of it.
    pub(in crate::store) fn created(&self, geometry: Geometry) -> CreatedMember {
        CreatedMember {
            name: self.name.to_owned(),
            path: Some(self.path.clone()),
            geometry,
            is_new: self.is_new,
            is_added: false,
            free_slots: geometry.slot_count,
        }
    }
}

/// Opens a member to be within a bound, and checks that it can be one.
pub(super) fn open_site<'a>(
    plan: &CreatePlan,
    candidate: MemberCandidate<'a>,
    roots: &Roots,
    created: &mut CreatedFiles,
    notes: &mut Vec<String>,
) -> Result<Site<'a>, RecordError> {
    let MemberCandidate { name, path } = candidate;
    let opener = Opener {
        name: name.to_owned(),
        path: path.clone(),
        destroy: plan.destroy.clone(),
        dry_run: plan.dry_run,
        roots: roots.clone(),
    };
    let bounded = Bounded {
        what: &format!("opening {name}"),
        name,
        patience_ns: GIVEN_UP_AFTER_NS,
        progress: None,
    };
    let may_make = Arc::new(AtomicBool::new(!plan.dry_run));
    let finds = Arc::clone(&may_make);
    let opened = bounded.call(move || {
        if opener.path.symlink_metadata().is_ok() {
            finds.store(false, Ordering::Relaxed);
        }
        opener.open()
    });
    let (target, told) = opened.map_err(|error| match may_make.load(Ordering::Relaxed) {
        true => note_made_late(error, &path),
        false => error,
    })??;
    notes.extend(told);
    let is_new = is_new(&target);
    if is_new && !plan.dry_run {
        created.add(&path);
    }
    check_locked(&target)?;
    if !takes_blocks(target.alignment_bytes) {
        let unit = Size(u64::from(target.alignment_bytes));
        let why = format!(
            "it accepts only requests in units of {unit}, and a store needs blocks of 4 KiB: use \
             another place"
        );
        return Err(RecordError::member(name, why));
    }
    Ok(Site {
        name,
        path,
        target,
        is_new,
    })
}

/// A call that was given up may still make the file, once it comes back.
fn note_made_late(error: RecordError, path: &Path) -> RecordError {
    match error {
        RecordError::Silent(words) => RecordError::Silent(format!(
            "{words}. If there is an empty {} by then, this has made it: remove it",
            path.display()
        )),
        other => other,
    }
}

/// Opens a member to be, with all that this takes.
struct Opener {
    name: String,
    path: PathBuf,
    destroy: Vec<String>,
    dry_run: bool,
    roots: Roots,
}

impl Opener {
    /// Returns the target, with notes for the user. Where only direct I/O is refused, buffered I/O
    /// is good enough to create the store.
    fn open(&self) -> Result<(Target, Vec<String>), Error> {
        match self.open_with(DataPath::Direct) {
            Err(Error::Target { target, why }) => {
                let buffered = self.open_with(DataPath::Buffered);
                buffered.map_err(|_| Error::Target { target, why })
            }
            opened => opened,
        }
    }

    fn open_with(&self, path_kind: DataPath) -> Result<(Target, Vec<String>), Error> {
        let request = OpenRequest {
            direction: Direction::Write,
            path: path_kind,
            create: true,
        };
        let permission = Permission::Destroy {
            names: &self.destroy,
            instead: "name another member",
        };
        let open = if self.dry_run {
            rehearse_under_guard
        } else {
            open_under_guard
        };
        let (path, roots, mut notes) = (&self.path, &self.roots, Vec::new());
        let target = open(&self.name, path, request, permission, roots, &mut notes)?;
        Ok((target, notes))
    }
}
