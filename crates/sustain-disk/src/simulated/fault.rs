//! A place on a simulated disk at which requests fail, and with what error.
//! Called by the disk when a request's turn comes, and by the engine for the error's number.

/// A byte position at which requests fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultDescription {
    /// A request that covers this byte fails.
    pub at_bytes: u64,
    /// The error.
    pub kind: FaultKind,
    /// Only the first such request fails.
    pub once: bool,
}

/// The reason why a simulated request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// EIO.
    InputOutput,
    /// ENOSPC; a write at the end of the disk gets this as well.
    NoSpace,
    /// ENODATA: the medium cannot be read there.
    NoData,
    /// ENXIO: the disk is gone.
    NoDevice,
    /// ETIMEDOUT.
    TimedOut,
    /// EROFS.
    ReadOnly,
}

impl FaultKind {
    /// Each kind with its name in machine files.
    pub(super) const BY_NAME: &[(&str, Self)] = &[
        ("eio", Self::InputOutput),
        ("enospc", Self::NoSpace),
        ("enodata", Self::NoData),
        ("enxio", Self::NoDevice),
        ("etimedout", Self::TimedOut),
        ("erofs", Self::ReadOnly),
    ];

    /// The number by which Linux reports it.
    #[must_use]
    pub fn raw_os_error(self) -> i32 {
        match self {
            Self::InputOutput => libc::EIO,
            Self::NoSpace => libc::ENOSPC,
            Self::NoData => libc::ENODATA,
            Self::NoDevice => libc::ENXIO,
            Self::TimedOut => libc::ETIMEDOUT,
            Self::ReadOnly => libc::EROFS,
        }
    }
}

/// The failing place, which remembers whether it has failed.
pub(super) struct Fault {
    at_bytes: u64,
    kind: FaultKind,
    once: bool,
    spent: bool,
}

impl Fault {
    pub(super) fn new(description: FaultDescription) -> Self {
        let FaultDescription {
            at_bytes,
            kind,
            once,
        } = description;
        Self {
            at_bytes,
            kind,
            once,
            spent: false,
        }
    }

    /// The error of a request for these bytes, if it covers the place.
    pub(super) fn strike(&mut self, offset_bytes: u64, length_bytes: u64) -> Option<FaultKind> {
        let covered = self.at_bytes >= offset_bytes && self.at_bytes - offset_bytes < length_bytes;
        if !covered || self.spent {
            return None;
        }
        self.spent = self.once;
        Some(self.kind)
    }
}
