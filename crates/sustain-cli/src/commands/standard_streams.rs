//! Standard output and standard error, looked at before a store or a target is: what is printed
//! there must not take the place of what lies there, whatever name the shell has opened.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{FileType, Stat, fstat, stat};
use sustain::host::{Refusal, Roots, inspect_stat};
use sustain::record::store::FILE_NAME;

use crate::exit::Exit;
use crate::usage_error::UsageError;

/// What a command was given, where nothing may be printed.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    /// Members of a store, or directories with one.
    Members(&'a [String]),
    /// What is measured.
    Targets(&'a [String]),
}

/// Fails in words if standard output leads to what was given. If standard error does, they are told
/// on standard output, and the process ends: nothing may be said there.
pub(crate) fn check(given: Given<'_>) -> Result<(), UsageError> {
    let mut output = std::io::stdout();
    let of_output = harm(output.as_fd(), given);
    if let Some(why) = harm(std::io::stderr().as_fd(), given) {
        if of_output.is_none() {
            // Whoever does not read it sees the exit code.
            let _ = writeln!(output, "sustain: standard error {why}");
        }
        std::process::exit(Exit::Usage.code().into());
    }
    of_output.map_or(Ok(()), |why| {
        Err(UsageError(format!("standard output {why}")))
    })
}

/// Why nothing may be printed there, if so.
fn harm(stream: BorrowedFd<'_>, given: Given<'_>) -> Option<String> {
    let found = fstat(stream).ok()?;
    match FileType::from_raw_mode(found.st_mode) {
        // Which bytes of which members a disk shares is not asked: results go to files.
        FileType::BlockDevice => Some(
            "is a disk, and what is printed would be written over what lies there: send it to a \
             file, or pipe it to a program"
                .to_owned(),
        ),
        FileType::RegularFile if given.has(&found) => Some(format!(
            "is {}: send it to another file",
            match given {
                Given::Members(_) =>
                    "a member of the store, and what is printed would be written over what is \
                     recorded",
                Given::Targets(_) =>
                    "a target, and what is printed would be written over what lies there",
            }
        )),
        FileType::RegularFile => loop_over(&found).map(|name| {
            format!(
                "is the file under the loop device {name}, and what is printed would be written \
                 over what lies there: send it to another file"
            )
        }),
        _ => None,
    }
}

impl Given<'_> {
    fn has(self, found: &Stat) -> bool {
        let is_it = |path: &Path| {
            stat(path).is_ok_and(|one| (one.st_dev, one.st_ino) == (found.st_dev, found.st_ino))
        };
        match self {
            Given::Members(members) => members
                .iter()
                .map(Path::new)
                .any(|member| is_it(member) || is_it(&member.join(FILE_NAME))),
            Given::Targets(targets) => targets.iter().any(|target| is_it(Path::new(target))),
        }
    }
}

/// The kernel's name of a loop device over a file. Where none can be told there is none to harm.
fn loop_over(found: &Stat) -> Option<String> {
    let inspection = inspect_stat(&Roots::default(), Path::new("-"), found).ok()?;
    let mut refusals = inspection.refusals.into_iter();
    refusals.find_map(|refusal| match refusal {
        Refusal::FileBacksLoop { loop_device } => Some(loop_device),
        _ => None,
    })
}
