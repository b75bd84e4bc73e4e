//! The destination of a stream: standard output, a file, or a directory of frames. It is checked
//! before anything is read, and must never harm what is there already.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rustix::fs::{Mode, OFlags, fcntl_setfl, major, minor, open};
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt;
use sustain::Stop;
use sustain::record::RecordError;
use sustain::record::source::framing::Framing;
use sustain::record::store::check_takes_writes;

use super::super::output::{self, no_directory};
use super::frame_names::first_existing;
use super::selection::Selection;
use crate::flags::extract::{ExtractFlags, HolesFlag};
use crate::usage_error::UsageError;

/// The destination of a stream.
pub(super) enum Destination {
    StandardOutput,
    /// A new file, an empty one, or a pipe.
    File(PathBuf),
    /// A directory that gets a file for each frame.
    Frames(PathBuf),
}

impl Destination {
    /// The destination that a typed path means.
    pub(super) fn of(typed: Option<&Path>) -> Destination {
        let Some(path) = typed.filter(|path| !output::is_standard_output(path)) else {
            return Destination::StandardOutput;
        };
        let names_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if names_directory || path.is_dir() {
            Destination::Frames(path.to_owned())
        } else {
            Destination::File(path.to_owned())
        }
    }

    /// Checks that the selection may be written there, and returns an error in words if not.
    pub(super) fn check(
        &self,
        selection: &Selection<'_>,
        flags: &ExtractFlags,
    ) -> Result<(), UsageError> {
        if let Destination::File(path) | Destination::Frames(path) = self {
            check_takes_writes(path).map_err(|error| UsageError(error.to_string()))?;
        }
        match self {
            Destination::StandardOutput => check_standard_output(selection),
            Destination::File(path) => check_file(path).map_err(|why| {
                let path = path.display();
                UsageError(format!("cannot write {path}: {why}"))
            }),
            Destination::Frames(directory) => check_frames(directory, selection, flags),
        }
    }

    /// Checks that an index of frames may be written there, and returns an error in words if not.
    pub(super) fn check_index(&self) -> Result<(), UsageError> {
        match self {
            Destination::StandardOutput => output::check_standard_output(),
            Destination::Frames(path) => Err(UsageError(format!(
                "--index {} is a directory: name a file",
                path.display()
            ))),
            Destination::File(path) => {
                check_takes_writes(path).map_err(|error| UsageError(error.to_string()))?;
                let why = |why| UsageError(format!("cannot write {}: {why}", path.display()));
                check_file(path).map_err(why)
            }
        }
    }

    /// Opens what bytes go to. The path is given back if it is a new file.
    ///
    /// # Errors
    /// [`RecordError::Interrupted`] if the user ends it before a pipe has a reader.
    pub(super) fn open(&self, stop: &Stop) -> anyhow::Result<(File, Option<&Path>)> {
        let path = match self {
            Destination::File(path) | Destination::Frames(path) => path,
            Destination::StandardOutput => {
                let descriptor = std::io::stdout().as_fd().try_clone_to_owned();
                return Ok((
                    descriptor.context("cannot use standard output")?.into(),
                    None,
                ));
            }
        };
        let cannot = || format!("cannot write {}", path.display());
        match File::options().write(true).create_new(true).open(path) {
            Ok(file) => Ok((file, Some(path))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // It is checked again, because a file may have been made since.
                check_file(path).map_err(|why| UsageError(format!("{}: {why}", cannot())))?;
                let file = open_existing(path, stop).with_context(cannot)?;
                Ok((file.into(), None))
            }
            Err(error) => Err(error).with_context(cannot),
        }
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Destination::StandardOutput => "standard output".to_owned(),
            Destination::File(path) | Destination::Frames(path) => path.display().to_string(),
        }
    }
}

/// Opening a pipe waits for its reader: here by asking again, so that the user can end it.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells when another process opens a pipe, so it is asked in real time"
)]
fn open_existing(path: &Path, stop: &Stop) -> anyhow::Result<OwnedFd> {
    const ASK_AGAIN: Duration = Duration::from_millis(20);
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    loop {
        match open(path, flags, Mode::empty()) {
            Ok(file) => {
                fcntl_setfl(&file, OFlags::empty())?;
                return Ok(file);
            }
            Err(Errno::NXIO) if stop.reason().is_none() => std::thread::sleep(ASK_AGAIN),
            Err(Errno::NXIO) => {
                let what = "ended before it had a reader".to_owned();
                return Err(RecordError::Interrupted(what).into());
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn check_standard_output(selection: &Selection<'_>) -> Result<(), UsageError> {
    // Lines were recorded as text, so a terminal can show them.
    if selection.framing() == Framing::Lines || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(UsageError(
        "the stream is not text, and standard output is a terminal: write it to a file with \
         -o FILE, or pipe it to a program"
            .to_owned(),
    ))
}

fn check_file(path: &Path) -> Result<(), String> {
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if path.is_symlink() {
                let why = "it is a link to a file that does not exist; choose another file";
                return Err(why.to_owned());
            }
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            return match parent.filter(|parent| !parent.is_dir()) {
                Some(parent) => Err(no_directory(parent)),
                None => Ok(()),
            };
        }
        Err(error) => return Err(error.to_string()),
    };
    let kind = found.file_type();
    if kind.is_file() && found.len() > 0 {
        Err("it exists; choose another file, or remove it".to_owned())
    } else if kind.is_block_device() {
        Err("it is a disk; choose a file".to_owned())
    } else if kind.is_file() || kind.is_fifo() || is_null_or_full(found.rdev()) {
        Ok(())
    } else {
        Err("it is a device or a socket; choose a file".to_owned())
    }
}

/// Whether it is one of the two devices that accept all writes and keep nothing.
fn is_null_or_full(device: u64) -> bool {
    const MEMORY_MAJOR: u32 = 1;
    const NULL: u32 = 3;
    const FULL: u32 = 7;
    major(device) == MEMORY_MAJOR && matches!(minor(device), NULL | FULL)
}

fn check_frames(
    directory: &Path,
    selection: &Selection<'_>,
    flags: &ExtractFlags,
) -> Result<(), UsageError> {
    let name = &selection.stream.name;
    let shown = directory.display();
    if !selection.has_frames() {
        return Err(UsageError(format!(
            "{shown} is a directory, which is for one file per frame, but the stream {name} has \
             no frames: write to a file with -o FILE"
        )));
    }
    if flags.holes == Some(HolesFlag::Fill) {
        return Err(UsageError(
            "a frame is written whole or not at all: use --holes skip to leave damaged frames out, \
             or --holes fill with a file"
                .to_owned(),
        ));
    }
    // A path with a slash at its end does not find a file.
    let named: PathBuf = directory.components().collect();
    if named.symlink_metadata().is_ok() && !named.is_dir() {
        return Err(UsageError(format!(
            "cannot write the frames to {shown}: it exists and is not a directory; choose another"
        )));
    }
    let parent = directory
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if !directory.exists() {
        return match parent {
            Some(parent) if !parent.is_dir() => Err(UsageError(format!(
                "cannot write {shown}: {}",
                no_directory(parent)
            ))),
            _ => Ok(()),
        };
    }
    match first_existing(directory, name) {
        Ok(None) => Ok(()),
        Ok(Some(file)) => Err(UsageError(format!(
            "{} exists: choose another directory, or remove the frames in it",
            directory.join(file).display()
        ))),
        Err(error) => Err(UsageError(format!("cannot read {shown}: {error}"))),
    }
}
