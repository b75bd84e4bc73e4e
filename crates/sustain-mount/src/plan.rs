//! What is to be mounted, where and how.

use std::path::PathBuf;

use crate::shelf::LossReading;

/// A mount, as the user wants it.
#[derive(Debug, Clone)]
pub struct MountPlan {
    /// Members of the store, in any order; some may be missing.
    pub members: Vec<String>,
    /// The mount point: an empty directory.
    pub directory: PathBuf,
    /// What a read returns for bytes that are lost.
    pub losses: LossReading,
    /// Shows each stream as files of this size; as one file without it. At least
    /// [`SPLIT_BYTES_MIN`](crate::SPLIT_BYTES_MIN).
    pub split_bytes: Option<u64>,
}

impl MountPlan {
    /// Mounts the store of these members at a directory: lost bytes are errors, and each stream is
    /// one file.
    pub fn new(
        members: impl IntoIterator<Item = impl Into<String>>,
        directory: impl Into<PathBuf>,
    ) -> MountPlan {
        MountPlan {
            members: members.into_iter().map(Into::into).collect(),
            directory: directory.into(),
            losses: LossReading::Error,
            split_bytes: None,
        }
    }
}
