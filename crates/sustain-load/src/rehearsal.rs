//! Says what a load would do to its targets without doing it. Every experiment's `--dry-run` begins
//! with these statements.

use sustain_disk::target::{Direction, TargetKind};
use sustain_host::Roots;

use crate::error::LoadError;
use crate::open_target::OpenTarget;
use crate::plan::LoadPlan;
use crate::session::Session;

impl Session {
    /// Opens the targets of a plan so that nothing is created or written.
    ///
    /// # Errors
    /// As for [`Session::open`].
    pub fn rehearse(plan: &LoadPlan, roots: &Roots) -> Result<Session, LoadError> {
        let plan = LoadPlan {
            dry_run: true,
            ..plan.clone()
        };
        Session::open(&plan, roots)
    }

    /// The notes of opening, and then what would be done to each target: `extent` says to which
    /// part of it, and how often.
    pub fn would(&self, verb: &str, extent: impl Fn(&OpenTarget) -> String) -> Vec<String> {
        let would = self.targets.iter().map(|target| {
            let name = &target.target.name;
            let what = match target.target.kind {
                TargetKind::ScratchFile => format!("a scratch file in {name}"),
                kind => format!("{name} ({})", kind.to_string().replace('_', " ")),
            };
            format!("would {verb} {what}: {}", extent(target))
        });
        self.notes.iter().cloned().chain(would).collect()
    }
}

/// The verb for what a load does to a target in these directions.
pub fn verb(is_used: impl Fn(Direction) -> bool) -> &'static str {
    match (is_used(Direction::Write), is_used(Direction::Read)) {
        (true, true) => "write and read",
        (true, false) => "write",
        _ => "read",
    }
}
