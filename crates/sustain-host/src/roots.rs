//! The mount points of sysfs and procfs, and the few functions that read their small files.
//! Everything in this crate reads them through here, so that tests can show it a made-up host. It
//! must never cache: the facts behind a guard are read anew each time.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::HostError;

/// The mount points of sysfs and procfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// The mount point of sysfs, usually `/sys`.
    pub sys: PathBuf,
    /// The mount point of procfs, usually `/proc`.
    pub proc: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Roots {
            sys: PathBuf::from("/sys"),
            proc: PathBuf::from("/proc"),
        }
    }
}

/// Reads a whole file as text; bytes that are not UTF-8 are replaced.
///
/// # Errors
/// `HostError::Read` when the file cannot be opened or read.
pub(crate) fn read_text(path: &Path) -> Result<String, HostError> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(HostError::Read {
            path: path.to_owned(),
            error,
        }),
    }
}

/// Reads a file whose absence is an answer: `None` if it does not exist.
///
/// # Errors
/// `HostError::Read` if the file exists but cannot be read.
pub(crate) fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, HostError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        // ENXIO and ENODEV mean that the device has just disappeared.
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(HostError::Read {
            path: path.to_owned(),
            error,
        }),
    }
}

fn is_absent(error: &io::Error) -> bool {
    let gone = [rustix::io::Errno::NXIO, rustix::io::Errno::NODEV];
    error.kind() == io::ErrorKind::NotFound
        || gone
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// A trimmed, non-empty attribute that is only for information; any failure counts as "not stated".
pub(crate) fn attribute(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// A decimal attribute that is only for information; any failure counts as "not stated".
pub(crate) fn number(path: &Path) -> Option<u64> {
    attribute(path)?.parse().ok()
}

/// Names in a directory, sorted; an absent directory has none.
///
/// # Errors
/// `HostError::Read` if the directory exists but cannot be listed.
pub(crate) fn names_in(path: &Path) -> Result<Vec<String>, HostError> {
    let failed = |error| HostError::Read {
        path: path.to_owned(),
        error,
    };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(
            entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    Ok(names)
}

/// Opens a file for a parser of the `procfs` crate and runs it.
///
/// # Errors
/// `HostError::Read` when it cannot be read, `HostError::Malformed` when the parser refuses it.
pub(crate) fn parse_file<T>(
    path: &Path,
    parser: impl FnOnce(&[u8]) -> procfs::ProcResult<T>,
) -> Result<T, HostError> {
    let mut content = Vec::new();
    fs::File::open(path)
        .and_then(|mut file| file.read_to_end(&mut content))
        .map_err(|error| HostError::Read {
            path: path.to_owned(),
            error,
        })?;
    parser(&content).map_err(|error| HostError::Malformed {
        path: path.to_owned(),
        why: error.to_string(),
    })
}
