//! The outputs of a command: they are checked before the work and written as a whole after it.
//! Every command uses it. It must never harm a file that is not a result of this tool, and the
//! check must leave nothing behind.

use std::ffi::OsString;
use std::fs::{File, Metadata, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{Mode, OFlags, fcntl_setfl, major, minor, open};
use rustix::io::Errno;
use sustain::disk::simulated::parse_target;
use sustain::document::reader::DocumentError;
use sustain::record::store::{check_takes_writes, write_within_bound};
use sustain::report::ReportError;

pub(crate) use super::prose::{answered, prose, width};
use super::say;
use crate::flags::shared::OutputFlags;
use crate::startup::is_output_closed;
use crate::usage_error::UsageError;

/// The kind of document to write, which also decides what kind of file it may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputKind {
    Json,
    Page,
}

/// Where the result of a run on targets goes, besides the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outputs<'a> {
    pub(crate) json: Option<&'a Path>,
    pub(crate) report: Option<&'a Path>,
}

impl<'a> From<&'a OutputFlags> for Outputs<'a> {
    fn from(flags: &'a OutputFlags) -> Outputs<'a> {
        Outputs {
            json: flags.json.as_deref(),
            report: flags.report.as_deref(),
        }
    }
}

impl Outputs<'_> {
    /// Whether standard output is for the result, so that the text must go elsewhere.
    pub(crate) fn json_on_standard_output(&self) -> bool {
        self.json.is_some_and(is_standard_output)
    }

    /// Whether a document was asked for.
    fn is_any(&self) -> bool {
        self.json.is_some() || self.report.is_some()
    }

    /// Writes the documents that were asked for, then the text.
    pub(crate) fn deliver(
        &self,
        text: &str,
        json: impl FnOnce() -> Result<String, DocumentError>,
        page: impl FnOnce() -> Result<String, ReportError>,
    ) -> anyhow::Result<()> {
        let saved = self.write_files(json, page);
        let said = if self.json_on_standard_output() {
            say(text.trim_end());
            Ok(())
        } else if self.is_any() && is_output_closed() {
            // Nothing is lost: the result is in the documents.
            say(text.trim_end());
            Ok(())
        } else {
            write(Path::new("-"), text)
        };
        saved?;
        self.say_report();
        said
    }

    /// Writes the documents that were asked for. This comes before any text, because a closed pipe
    /// must not cost the result of hours. If one document cannot be written, the other one and the
    /// text are still written.
    ///
    /// # Errors
    /// What could not be written, and where it was put instead. Print this after the text.
    pub(crate) fn write_files(
        &self,
        json: impl FnOnce() -> Result<String, DocumentError>,
        page: impl FnOnce() -> Result<String, ReportError>,
    ) -> anyhow::Result<()> {
        let json = self.json.map(|path| save(path, &json()?));
        let page = self.report.map(|path| save(path, &page()?));
        let failed: Vec<String> = [json, page]
            .into_iter()
            .flatten()
            .filter_map(|saved| saved.err().map(|error| format!("{error:#}")))
            .collect();
        if failed.is_empty() {
            return Ok(());
        }
        Err(anyhow::Error::msg(failed.join("; ")))
    }

    /// Says where the report is.
    pub(crate) fn say_report(&self) {
        if let Some(path) = self.report {
            say(&format!("report: {}", path.display()));
        }
    }

    /// Checks the outputs. Hours of measuring must not end at a path that cannot be written, nor
    /// with a result in the place of what was measured.
    pub(crate) fn check(&self, targets: &[String]) -> Result<(), UsageError> {
        let usage = |why: &str| Err(UsageError(why.to_owned()));
        if self.report.is_some_and(is_standard_output) {
            return usage("--report needs the name of a file, such as --report sustain.html");
        }
        if !self.is_any() || self.json_on_standard_output() {
            check_standard_output()?;
        }
        if let (Some(json), Some(report)) = (self.json, self.report)
            && is_same(json, report)
        {
            return usage("--json and --report name the same file: use two different files");
        }
        for (path, kind) in [
            (self.json, OutputKind::Json),
            (self.report, OutputKind::Page),
        ] {
            let Some(path) = path.filter(|path| !is_standard_output(path)) else {
                continue;
            };
            for target in targets {
                // A malformed name is reported by the plan.
                let (file, what) = match parse_target(target) {
                    Ok((machine, _disk)) => (machine, "the file of a simulated machine"),
                    Err(_) => (PathBuf::from(target), "a target"),
                };
                if is_same(&file, path) {
                    let path = path.display();
                    return usage(&format!(
                        "{path} is {what}: write the result to another file"
                    ));
                }
            }
            check(path, kind)?;
        }
        Ok(())
    }
}

/// What is at a path to which a document may be written.
enum OutputDestination {
    /// There is nothing yet.
    New,
    File(Metadata),
    /// A pipe, a terminal or /dev/null: nothing is replaced by what is written there.
    Stream,
}

/// The identity of a file, however its path is spelled.
#[derive(PartialEq, Eq)]
enum OutputIdentity {
    Existing {
        device: u64,
        inode: u64,
    },
    New {
        directory: (u64, u64),
        name: OsString,
    },
}

/// Whether the path stands for standard output. That is not opened by its name: text was printed
/// there before, and opening a file again would overwrite it.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Whether two paths are the same file under any name, or the same new name.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    // A path that cannot be looked up counts as different; it cannot be written either.
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

fn identity(path: &Path) -> Option<OutputIdentity> {
    match path.metadata() {
        Ok(found) => Some(OutputIdentity::Existing {
            device: found.dev(),
            inode: found.ino(),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let directory = directory_of(path).metadata().ok()?;
            Some(OutputIdentity::New {
                directory: (directory.dev(), directory.ino()),
                name: path.file_name()?.to_owned(),
            })
        }
        Err(_) => None,
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Checks that the document may and can be written there, and returns an error in words if not.
pub(crate) fn check(path: &Path, kind: OutputKind) -> Result<(), UsageError> {
    if is_standard_output(path) {
        return check_standard_output();
    }
    check_takes_writes(path).map_err(|error| UsageError(error.to_string()))?;
    let checked = find(path).and_then(|place| match place {
        OutputDestination::New => check_new(path),
        OutputDestination::File(_) => check_existing(path, kind),
        OutputDestination::Stream => Ok(()),
    });
    checked.map_err(|why| {
        let path = path.display();
        UsageError(format!("cannot write {path}: {why}; choose another file"))
    })
}

/// Checks that what is printed on standard output goes somewhere.
pub(crate) fn check_standard_output() -> Result<(), UsageError> {
    if is_output_closed() {
        return Err(UsageError(
            "standard output is closed, or open for reading only, so the result would be lost: \
             open it, or give a file for the result"
                .to_owned(),
        ));
    }
    Ok(())
}

fn find(path: &Path) -> Result<OutputDestination, String> {
    let entry = match path.symlink_metadata() {
        Ok(entry) => entry,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(OutputDestination::New),
        Err(error) => return Err(error.to_string()),
    };
    let found = path.metadata().map_err(|error| {
        if entry.is_symlink() && error.kind() == ErrorKind::NotFound {
            "it is a link to a file that does not exist".to_owned()
        } else {
            error.to_string()
        }
    })?;
    let kind = found.file_type();
    if kind.is_file() {
        Ok(OutputDestination::File(found))
    } else if kind.is_fifo() || is_terminal_or_null(&found) {
        Ok(OutputDestination::Stream)
    } else if kind.is_dir() {
        Err("it is a directory".to_owned())
    } else if kind.is_block_device() {
        Err("it is a disk".to_owned())
    } else {
        Err("it is a device or a socket, not a file".to_owned())
    }
}

/// Whether a device is a terminal or /dev/null, by the numbers that the kernel has fixed for them.
/// Opening a device may already move it.
fn is_terminal_or_null(found: &Metadata) -> bool {
    const TERMINAL_MAJORS: [u32; 2] = [4, 5];
    const PSEUDO_TERMINAL_MAJORS: std::ops::RangeInclusive<u32> = 136..=143;
    const NULL: (u32, u32) = (1, 3);
    let number = (major(found.rdev()), minor(found.rdev()));
    found.file_type().is_char_device()
        && (number == NULL
            || TERMINAL_MAJORS.contains(&number.0)
            || PSEUDO_TERMINAL_MAJORS.contains(&number.0))
}

fn check_new(path: &Path) -> Result<(), String> {
    let directory = directory_of(path);
    let names_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if names_directory || path.file_name().is_none() {
        let why = "it names a directory, and there is none of that name";
        return Err(why.to_owned());
    }
    if !directory.is_dir() {
        return Err(format!(
            "the directory {} does not exist",
            directory.display()
        ));
    }
    // The file has no name, so that it is gone with its descriptor.
    tempfile::tempfile_in(directory)
        .map(drop)
        .map_err(|error| error.to_string())
}

/// Says which directory is missing, and what to do.
pub(crate) fn no_directory(directory: &Path) -> String {
    format!(
        "the directory {} does not exist: create it first",
        directory.display()
    )
}

fn check_existing(path: &Path, kind: OutputKind) -> Result<(), String> {
    let expected: &[u8] = match kind {
        OutputKind::Json => b"{",
        OutputKind::Page => b"<!doctype html>",
    };
    let mut start = Vec::new();
    File::options()
        .read(true)
        .write(true)
        .open(path)
        .and_then(|file| file.take(expected.len() as u64).read_to_end(&mut start))
        .map_err(|error| error.to_string())?;
    if start.is_empty() || start.eq_ignore_ascii_case(expected) {
        Ok(())
    } else {
        Err("it exists and is not a report of sustain".to_owned())
    }
}

/// Writes a result. If that fails, writes it to a temporary file instead, so that the result of
/// hours is not lost for want of space.
///
/// # Errors
/// What could not be written, and where it was put instead.
pub(crate) fn save(path: &Path, text: &str) -> anyhow::Result<()> {
    let Err(error) = write(path, text) else {
        return Ok(());
    };
    let ending = if text.starts_with('{') {
        ".json"
    } else {
        ".html"
    };
    let elsewhere = tempfile::Builder::new()
        .prefix("sustain-result-")
        .suffix(ending)
        .tempfile()
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            Ok(file.keep().map_err(|error| error.error)?.1)
        });
    Err(match elsewhere {
        Ok(place) => anyhow::anyhow!("{error:#}; the result is in {} instead", place.display()),
        Err(also) => {
            anyhow::anyhow!("{error:#}; it could not be written to a temporary file either: {also}")
        }
    })
}

/// Writes a document to a path that [`check`] has accepted. A file is replaced as a whole or not at
/// all.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if is_standard_output(path) {
        if is_output_closed() {
            anyhow::bail!(
                "cannot write to standard output: it is closed, or open for reading only"
            );
        }
        let mut output = std::io::stdout().lock();
        let written = output.write_all(text.as_bytes());
        return match written.and_then(|()| output.flush()) {
            // The reader of the output has closed it on purpose. The work is done all the same, and
            // the exit code is that of the work.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write to standard output"),
        };
    }
    let (found, bytes) = (path.to_owned(), text.as_bytes().to_vec());
    let written = match find(path) {
        // A pipe is waited for as long as it takes.
        Ok(OutputDestination::Stream) => write_found(path, &bytes),
        _ => write_within_bound(path, move || write_found(&found, &bytes))
            .map_err(anyhow::Error::from)
            .and_then(|written| written),
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn write_found(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    // The path is looked up again, because a run may have taken hours.
    let replaced = match find(path).map_err(anyhow::Error::msg)? {
        OutputDestination::Stream => write_stream(path, bytes),
        OutputDestination::New => replace(path, None, bytes),
        OutputDestination::File(found) => {
            // A link stays a link: the file to which it leads is replaced.
            let replaced = replace(&path.canonicalize()?, Some(found.permissions()), bytes);
            match replaced {
                // The file may be written, but its directory may not, or something is mounted on
                // the file.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::PermissionDenied | ErrorKind::ResourceBusy
                    ) =>
                {
                    std::fs::write(path, bytes)
                }
                other => other,
            }
        }
    };
    Ok(replaced?)
}

/// Writes to a pipe or a device.
fn write_stream(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let words = "the result waits for a reader (Ctrl-C twice gives it up)";
    open_stream(path, words)?.write_all(bytes)
}

/// Opens a pipe or a device for writing. A pipe opens only when someone reads it: these words say
/// what waits for that.
fn open_stream(path: &Path, words: &str) -> std::io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = match open(path, flags | OFlags::NONBLOCK, Mode::empty()) {
        // A socket, or a terminal that is gone, says the same and never opens.
        Err(Errno::NXIO) if path.metadata()?.file_type().is_fifo() => {
            say(&format!(
                "{} is a pipe that nobody reads: {words}",
                path.display()
            ));
            open(path, flags, Mode::empty())?
        }
        opened => opened?,
    };
    // From now on a reader that is slow is waited for.
    fcntl_setfl(&opened, OFlags::empty())?;
    Ok(File::from(opened))
}

/// Creates a file of lines of JSON that are written one by one, or replaces an earlier one. Where a
/// pipe waits for its reader, these words say what waits.
///
/// # Errors
/// What [`check`] says, or why it cannot be opened.
pub(crate) fn create_lines(path: &Path, words: &str) -> Result<File, UsageError> {
    check(path, OutputKind::Json)?;
    let opened = match find(path) {
        Ok(OutputDestination::Stream) => open_stream(path, words),
        Ok(OutputDestination::New | OutputDestination::File(_)) | Err(_) => File::create(path),
    };
    opened.map_err(|error| UsageError(format!("cannot write {}: {error}", path.display())))
}

fn replace(path: &Path, permissions: Option<Permissions>, bytes: &[u8]) -> std::io::Result<()> {
    /// The mode of a new file, from which the user's umask is subtracted.
    const MODE: u32 = 0o666;
    let mut file = tempfile::Builder::new()
        .prefix(".sustain-result-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(directory_of(path))?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests;
