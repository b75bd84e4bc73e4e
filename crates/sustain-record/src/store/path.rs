//! The I/O path by which the recorder drives the members of a store. Opening, and whatever reads,
//! always goes by direct I/O where it can.

use sustain_disk::engine::{EngineChoice, passthrough_engine};
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_host::Roots;
use sustain_targets::open_passthrough;

use super::Store;
use crate::error::RecordError;

impl Store {
    /// Lets recordings on this store go by another I/O path than direct I/O, which they take
    /// without this. Of passthrough, the claims on the members' disks last as long as the store is
    /// open.
    ///
    /// # Errors
    /// [`RecordError::Target`] for a member that cannot be driven by it, and [`RecordError::Usage`]
    /// if this engine cannot do it for all of them, saying why.
    pub fn take_path(
        &mut self,
        path: DataPath,
        engine: EngineChoice,
        roots: &Roots,
    ) -> Result<(), RecordError> {
        for member in &mut self.members {
            match path {
                // It was opened so, or its file system refuses it, which a note says.
                DataPath::Direct => {}
                DataPath::Buffered => member.target.switch_path(path)?,
                DataPath::Passthrough => {
                    let found = open_passthrough(&member.target, Direction::Write, roots)?;
                    member.passthrough = Some(found);
                }
            }
        }
        let disks = self
            .members
            .iter()
            .filter_map(|one| one.passthrough.as_ref());
        if path == DataPath::Passthrough {
            passthrough_engine(engine, disks).map_err(RecordError::Usage)?;
        }
        Ok(())
    }

    /// The I/O path by which recordings drive the members.
    pub fn path(&self) -> DataPath {
        let is_cached = |kind: TargetKind| kind != TargetKind::Simulated;
        let mut members = self.members.iter();
        if members.clone().any(|member| member.passthrough.is_some()) {
            return DataPath::Passthrough;
        }
        match members.any(|one| is_cached(one.target.kind) && one.target.is_cached()) {
            true => DataPath::Buffered,
            false => DataPath::Direct,
        }
    }
}
